/* SPDX-License-Identifier: MIT */
/*
 * writer.c: writes a trace. Each stream has one buffer, the packet being filled:
 *
 *      0      88            used           room                       TRACE_PACKET_SIZE
 *      +------+--------------+--------------+ - - - - - - - - - - - - - -+
 *      | head | records      | free         | not granted yet           |
 *      +------+--------------+--------------+ - - - - - - - - - - - - - -+
 *
 * The pages of a packet are granted one by one from what is left of max_size. Every accepted record can therefore be
 * written even when the maximum size is reached, and appending is a bounds check and a copy. A page for END is
 * reserved at the beginning.
 *
 *      max_size >= committed = metadata + packets written + pages granted + page of END
 */
#include "trace/writer_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *const trace_file_names[RING_COUNT] = {[RING_CONTROL] = "control", [RING_DATA] = "data"};

void trace_name(const char *path, char ret_name[TRACE_NAME_SIZE])
{
    size_t length = strlen(path);
    const char *end = length < TRACE_NAME_SIZE ? path : path + length - (TRACE_NAME_SIZE - 1);

    memcpy(ret_name, end, strlen(end) + 1);
}

/* ---- packets ---- */

int trace_packet_write(int file, const void *packet, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t written =
            pwrite(file, (const char *)packet + done, size - done, (off_t)(offset + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int error = written == 0 ? -EIO : -errno;
            /* If this fails, too, a partial packet remains, which readers skip. */
            if (ftruncate(file, (off_t)offset) < 0)
                return error;
            return error;
        }
        done += (size_t)written;
    }
    return 0;
}

struct trace_packet_context *trace_packet_finish(void *packet, const uint8_t uuid[TRACE_UUID_SIZE],
                                                 enum ring_id ring, size_t content, size_t size,
                                                 uint64_t last_time)
{
    struct trace_packet_header *header = packet;
    struct trace_packet_context *context = (struct trace_packet_context *)(header + 1);
    const struct record_header *first = (const struct record_header *)(context + 1);

    assert(content > TRACE_CONTENT && content <= size);
    *header = (struct trace_packet_header){.magic = TRACE_MAGIC, .stream = ring};
    memcpy(header->uuid, uuid, TRACE_UUID_SIZE);
    *context = (struct trace_packet_context){
        .timestamp_begin = first->time,
        .timestamp_end = last_time,
        .content_size = content * 8,
        .packet_size = size * 8,
    };
    memset((char *)packet + content, 0, size - content);
    return context;
}

static size_t round_to_pages(size_t size)
{
    return (size + TRACE_PAGE_SIZE - 1) & ~(size_t)(TRACE_PAGE_SIZE - 1);
}

static void empty_buffer(struct stream_buffer *stream)
{
    stream->used = TRACE_CONTENT;
    stream->room = 0;
    stream->records = 0;
}

int writer_stop_for_disk(struct trace_writer *writer, enum ring_id ring, int error,
                         struct problem *problem)
{
    writer->stopped = END_DISK;
    return problem_set(problem, error,
                       "%s/%s: cannot be written: %s; the trace ends here, with its last whole "
                       "packet",
                       writer->name, trace_file_names[ring], strerror(-error));
}

/* Writes the buffer, if it contains records, as one packet, and empties it, even on error. */
static int write_packet(struct trace_writer *writer, enum ring_id ring, struct problem *problem)
{
    struct stream_buffer *stream = &writer->streams[ring];
    size_t size = stream->room;

    if (stream->used == TRACE_CONTENT)
        return 0;
    struct trace_packet_context *context =
        trace_packet_finish(stream->packet, writer->uuid, ring, stream->used, size,
                            trace_writer_last_time(writer, ring));
    context->packet_seq_num = stream->packets;
    context->events_discarded = stream->discarded;
    context->monotonic =
        writer->is_past ? trace_writer_last_time(writer, ring) : clock_now(CLOCK_MONOTONIC);
    context->real_time = writer->is_past ? context->monotonic + (uint64_t)writer->wall_offset
                                         : clock_now(CLOCK_REALTIME);
    int result = trace_packet_write(stream->file, stream->packet, size, stream->file_size);
    if (result < 0) {
        writer->dropped += stream->records;
        empty_buffer(stream);
        return writer_stop_for_disk(writer, ring, result, problem);
    }
    writer->written += stream->records;
    stream->file_size += size;
    stream->packets++;
    empty_buffer(stream);
    return 0;
}

int writer_write_buffers(struct trace_writer *writer, struct problem *problem)
{
    int control = write_packet(writer, RING_CONTROL, problem);
    int data = write_packet(writer, RING_DATA, control < 0 ? NULL : problem);

    return control < 0 ? control : data;
}

/* ---- appending ---- */

int writer_stop_for_size(struct trace_writer *writer, struct problem *problem)
{
    const uint64_t size = writer->max_size;
    unsigned shift = size % (1U << 30) == 0 ? 30 : size % (1U << 20) == 0 ? 20 : 10;
    bool newest = writer->rotation != NULL;

    writer->stopped = END_SIZE;
    /* --max-size alone would keep only the newest records */
    return problem_set(
        problem, -EFBIG,
        "%s: the trace has reached its largest size, %" PRIu64
        " %ciB, and ends here; allow more (%s--max-size N)%s or record less (--flags, --kinds)",
        writer->name, size >> shift, "KMG"[shift / 10 - 1], newest ? "" : "--store all ",
        newest ? "" : ", keep only the newest records (--store newest)");
}

/* Grants pages until a record of `size` bytes fits. Writes the buffer first if its packet is full. */
static int make_room(struct trace_writer *writer, enum ring_id ring, size_t size,
                     struct problem *problem)
{
    struct stream_buffer *stream = &writer->streams[ring];

    if (stream->used + size > TRACE_PACKET_SIZE) {
        int result = writer_write_buffers(writer, problem);
        if (result < 0)
            return result;
    }
    size_t room = round_to_pages(stream->used + size);
    if (room - stream->room > writer->max_size - writer->committed)
        return writer_stop_for_size(writer, problem);
    writer->committed += room - stream->room;
    stream->room = room;
    return 0;
}

/* Copies a record that fits. */
static void put_record(struct trace_writer *writer, enum ring_id ring,
                       const struct record_header *record, size_t size)
{
    struct stream_buffer *stream = &writer->streams[ring];

    memcpy(stream->packet + stream->used, record, size);
    /* a record that the other ring has overtaken, just as the files began */
    if (record->time < writer->least_time)
        ((struct record_header *)(stream->packet + stream->used))->time = writer->least_time;
    stream->used += size;
    stream->last_time = record->time;
    stream->records++;
    writer->accepted++;
}

static bool written_by_trace(const struct event_type *type)
{
    return type->id == EVENT_MACHINE || type->id == EVENT_END || type->id == EVENT_CLASS ||
           type->id == EVENT_BEGIN;
}

static int refuse_record(const struct trace_writer *writer, const struct record_header *record,
                         const struct event_type *type, struct problem *problem)
{
    if (type == NULL)
        return problem_set(problem, -EINVAL, "%s: unknown type of record: %u", writer->name,
                           record->id);
    if (written_by_trace(type))
        return problem_set(problem, -EINVAL, "%s: %s is written by the trace itself", writer->name,
                           type->name);
    return problem_set(problem, -EINVAL,
                       "%s/%s: a %s of time %" PRIu64 " follows a record of time %" PRIu64,
                       writer->name, trace_file_names[type->ring], type->name, record->time,
                       writer->streams[type->ring].last_time);
}

int writer_put(struct trace_writer *writer, enum ring_id ring, const struct record_header *record,
               size_t size, struct problem *problem)
{
    const struct stream_buffer *stream = &writer->streams[ring];

    if (stream->used + size > stream->room) {
        int result = make_room(writer, ring, size, problem);
        if (result < 0)
            return result;
    }
    put_record(writer, ring, record, size);
    return 0;
}

/* Before records of `size` bytes: they come into one file, and fit. */
static int advance(struct trace_writer *writer, enum ring_id ring, uint64_t time, size_t size,
                   struct problem *problem)
{
    const struct stream_buffer *stream = &writer->streams[ring];

    return writer->rotation != NULL &&
                   (stream->used + size > stream->room || rotation_is_due(writer, time))
               ? rotation_advance(writer, time, problem)
               : 0;
}

static int note(struct trace_writer *writer, const struct record_header *record,
                struct problem *problem)
{
    return writer->rotation == NULL || rotation_note(writer, record) == 0
               ? 0
               : problem_set(problem, -ENOMEM, "%s: out of memory", writer->name);
}

static int append_rotating(struct trace_writer *writer, enum ring_id ring,
                           const struct record_header *record, size_t size, struct problem *problem)
{
    int result = advance(writer, ring, record->time, size, problem);

    if (result == 0)
        result = writer_put(writer, ring, record, size, problem);
    return result == 0 ? note(writer, record, problem) : result;
}

/* Appends `size` bytes to a ring. */
static inline int append(struct trace_writer *writer, enum ring_id ring,
                         const struct record_header *record, size_t size, struct problem *problem)
{
    return writer->rotation == NULL ? writer_put(writer, ring, record, size, problem)
                                    : append_rotating(writer, ring, record, size, problem);
}

static inline int check_record(const struct trace_writer *writer,
                               const struct record_header *record, const struct event_type *type,
                               struct problem *problem)
{
    if (type == NULL || written_by_trace(type) ||
        record->time < writer->streams[type->ring].last_time)
        return refuse_record(writer, record, type, problem);
    if (writer->stopped != 0)
        return problem_set(problem, -EPIPE, "%s: the trace has already ended", writer->name);
    return 0;
}

int trace_writer_append(struct trace_writer *writer, const struct record_header *record,
                        struct problem *problem)
{
    const struct event_type *type = event_type(record->id);
    int result = check_record(writer, record, type, problem);

    return result < 0 ? result : append(writer, type->ring, record, type->size, problem);
}

int trace_writer_omit(struct trace_writer *writer, const struct record_header *record,
                      struct problem *problem)
{
    return note(writer, record, problem);
}

/* ---- records without some of their fields ---- */

int writer_replace_metadata(struct trace_writer *writer, struct problem *problem)
{
    int result = trace_metadata_replace(writer->directory, writer->name, writer->metadata,
                                        writer->metadata_size, problem);

    if (result < 0)
        writer->stopped = END_DISK;
    return result;
}

/* Adds a class to the metadata. */
static int describe_class(struct trace_writer *writer, unsigned number, unsigned type,
                          uint64_t absent, struct problem *problem)
{
    char *text, *longer;
    size_t length;
    int result = trace_metadata_make_class(number, type, absent, &text, &length);

    if (result < 0)
        return problem_set(problem, result, "%s: out of memory", writer->name);
    if (length > writer->max_size - writer->committed) {
        free(text);
        return writer_stop_for_size(writer, problem);
    }
    longer = realloc(writer->metadata, writer->metadata_size + length);
    if (longer == NULL) {
        free(text);
        return problem_set(problem, -ENOMEM, "%s: out of memory", writer->name);
    }
    writer->metadata = longer;
    memcpy(longer + writer->metadata_size, text, length);
    free(text);
    writer->metadata_size += length;
    writer->committed += length;
    return writer_replace_metadata(writer, problem);
}

/* The index of a ring's class, new or not; or CLASSES_MOST. Both files are one CTF stream class, so an ID means the same in
 * both. */
static unsigned find_class(const struct trace_writer *writer, enum ring_id ring, unsigned type,
                           uint64_t absent)
{
    const struct classes *classes = &writer->classes[ring];
    const struct classes *others =
        &writer->classes[ring == RING_CONTROL ? RING_DATA : RING_CONTROL];
    unsigned index = 0;

    while (index < CLASSES_MOST &&
           (others->at[index].type != 0 ||
            (classes->at[index].type != 0 &&
             (classes->at[index].type != type || classes->at[index].absent != absent))))
        index++;
    return index;
}

/* Before a record of this class: it is in the metadata, and then in the file that the record goes to. */
static int say_class(struct trace_writer *writer, enum ring_id ring, unsigned index,
                     const struct record_header *record, uint64_t absent, struct problem *problem)
{
    const struct record class = {
        .header = {.time = record->time, .id = EVENT_CLASS, .flags = RECORD_NO_STREAM},
        .class = {.number = EVENT_CLASS_FIRST + index, .type = record->id, .absent = absent},
    };
    const size_t size = sizeof(class) + event_size(record->id);
    int result = advance(writer, ring, record->time, size, problem);

    if (result == 0 && writer->classes[ring].at[index].type == 0) {
        result = describe_class(writer, class.class.number, record->id, absent, problem);
        if (result == 0) /* the metadata may have taken the last page */
            result = advance(writer, ring, record->time, size, problem);
    }
    if (result < 0)
        return result;
    classes_note(&writer->classes[ring], &class);
    if (writer->said[ring][index])
        return 0;
    writer->said[ring][index] = true;
    return writer_put(writer, ring, &class.header, sizeof(class), problem);
}

int trace_writer_append_without(struct trace_writer *writer, const struct record_header *record,
                                uint64_t absent, struct problem *problem)
{
    const struct event_type *type = event_type(record->id);
    union {
        struct record_header header;
        char bytes[RECORD_SIZE_MOST];
    } copy;
    int result = check_record(writer, record, type, problem);

    if (result < 0 || absent == 0)
        return result < 0 ? result : trace_writer_append(writer, record, problem);
    if (!class_is_possible(record->id, absent))
        return problem_set(problem, -EINVAL, "%s: a %s cannot lack these fields", writer->name,
                           type->name);
    unsigned index = find_class(writer, type->ring, record->id, absent);
    if (index == CLASSES_MOST)
        return problem_set(problem, -E2BIG,
                           "%s: the rules remove more than %u different sets of fields: remove "
                           "fewer",
                           writer->name, CLASSES_MOST);
    result = say_class(writer, type->ring, index, record, absent, problem);
    memcpy(&copy, record, type->size);
    class_clear_fields(record->id, absent, &copy.header);
    copy.header.id = (uint8_t)(EVENT_CLASS_FIRST + index);
    if (result == 0)
        result = writer_put(writer, type->ring, &copy.header, type->size, problem);
    /* later files repeat what is valid, whatever fields the record lacks here */
    return result == 0 ? note(writer, record, problem) : result;
}

void trace_writer_set_last(struct trace_writer *writer, const struct record *record)
{
    const struct event_type *type = event_type(record->header.id);

    assert(type != NULL && type->ring == RING_CONTROL && type->size == sizeof(*record));
    writer->last = *record;
}

void trace_writer_lost(struct trace_writer *writer, enum ring_id ring, uint64_t total)
{
    writer->streams[ring].discarded = total;
}

int trace_writer_flush(struct trace_writer *writer, struct problem *problem)
{
    return writer_write_buffers(writer, problem);
}

uint64_t trace_writer_last_time(const struct trace_writer *writer, enum ring_id ring)
{
    return larger_of(writer->streams[ring].last_time, writer->least_time);
}

enum end_reason trace_writer_stopped(const struct trace_writer *writer)
{
    return writer->stopped;
}

/* ---- the beginning ---- */

static void free_writer(struct trace_writer *writer)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        if (writer->streams[ring].file >= 0)
            close(writer->streams[ring].file);
        free(writer->streams[ring].packet);
    }
    rotation_free(writer->rotation);
    free(writer->metadata);
    if (writer->directory >= 0)
        close(writer->directory);
    free(writer);
}

static struct trace_writer *allocate_writer(const char *path, uint64_t max_size)
{
    struct trace_writer *writer = calloc(1, sizeof(*writer));

    if (writer == NULL)
        return NULL;
    bool complete = true;
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct stream_buffer *stream = &writer->streams[ring];
        stream->file = -1;
        stream->packet = aligned_alloc(TRACE_PAGE_SIZE, TRACE_PACKET_SIZE);
        complete = complete && stream->packet != NULL;
        empty_buffer(stream);
    }
    writer->directory = -1;
    writer->max_size = max_size;
    trace_name(path, writer->name);
    if (!complete) {
        free_writer(writer);
        return NULL;
    }
    return writer;
}

static int make_uuid(uint8_t uuid[TRACE_UUID_SIZE])
{
    if (getrandom(uuid, TRACE_UUID_SIZE, 0) != TRACE_UUID_SIZE)
        return -errno;
    uuid[6] = (uuid[6] & 0x0f) | 0x40; /* version 4, variant 1: random (RFC 4122) */
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
    return 0;
}

int writer_make_file(struct trace_writer *writer, const char *name, struct problem *problem)
{
    int file =
        openat(writer->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (file < 0)
        return problem_set(problem, -errno, "%s/%s: cannot be created: %s", writer->name, name,
                           strerror(errno));
    return file;
}

static int make_metadata(struct trace_writer *writer, const struct machine_record *machine,
                         struct problem *problem)
{
    uint64_t offset = writer->is_past ? (uint64_t)writer->wall_offset
                                      : clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC);
    size_t length;
    int result =
        trace_metadata_make(writer->uuid, machine->name, offset, &writer->metadata, &length);

    if (result < 0)
        return problem_set(problem, result, "%s: out of memory", writer->name);
    result =
        trace_metadata_replace(writer->directory, writer->name, writer->metadata, length, problem);
    if (result < 0)
        return result;
    writer->metadata_size = length;
    writer->committed = length + TRACE_PAGE_SIZE;
    assert(writer->committed + TRACE_PAGE_SIZE <= TRACE_SMALLEST_MAX_SIZE);
    return 0;
}

static int make_streams(struct trace_writer *writer, struct problem *problem)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        int file = writer_make_file(writer, trace_file_names[ring], problem);
        if (file < 0)
            return file;
        writer->streams[ring].file = file;
    }
    /* The lock shows trace_repair that the trace is being written. A file system without locks is no reason not to
     * record: trace_repair then refuses, as it cannot know. */
    (void)flock(writer->streams[RING_CONTROL].file, LOCK_EX | LOCK_NB);
    return 0;
}

static int write_machine(struct trace_writer *writer, const struct machine_record *machine,
                         struct problem *problem)
{
    struct machine_record record = *machine;

    record.header = (struct record_header){
        .time = machine->header.time, .id = EVENT_MACHINE, .flags = RECORD_NO_STREAM};
    int result = make_room(writer, RING_CONTROL, sizeof(record), problem);
    if (result < 0)
        return result;
    put_record(writer, RING_CONTROL, &record.header, sizeof(record));
    /* Written at once: from now on the trace is readable, whatever happens. */
    return writer_write_buffers(writer, problem);
}

static void remove_trace(const struct trace_writer *writer, const char *path)
{
    unlinkat(writer->directory, "metadata", 0);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        unlinkat(writer->directory, trace_file_names[ring], 0);
    rmdir(path);
}

static int make_directory(struct trace_writer *writer, const char *path, struct problem *problem)
{
    if (mkdir(path, 0700) < 0)
        return problem_set(problem, -errno, "%s: cannot be created: %s%s", writer->name,
                           strerror(errno),
                           errno == EEXIST ? "; remove it or choose another name" : "");
    writer->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (writer->directory < 0) {
        int error = -errno;
        rmdir(path);
        return problem_set(problem, error, "%s: cannot be opened: %s", writer->name,
                           strerror(-error));
    }
    return 0;
}

static int create(const char *path, const struct machine_record *machine, uint64_t max_size,
                  const int64_t *wall_offset, struct trace_writer **ret_writer,
                  struct problem *problem)
{
    if (max_size < TRACE_SMALLEST_MAX_SIZE)
        return problem_set(problem, -EINVAL, "the largest size of a trace must be at least 64 KiB");
    struct trace_writer *writer = allocate_writer(path, max_size);
    if (writer == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", path);
    writer->is_past = wall_offset != NULL;
    writer->wall_offset = wall_offset == NULL ? 0 : *wall_offset;
    int result = make_uuid(writer->uuid);
    if (result < 0)
        problem_set(problem, result, "%s: no random numbers: %s", writer->name, strerror(-result));
    else
        result = make_directory(writer, path, problem);
    if (result < 0) {
        free_writer(writer);
        return result;
    }
    result = make_metadata(writer, machine, problem);
    if (result == 0)
        result = make_streams(writer, problem);
    if (result == 0)
        result = write_machine(writer, machine, problem);
    if (result < 0) {
        remove_trace(writer, path);
        free_writer(writer);
        return result;
    }
    *ret_writer = writer;
    return 0;
}

int trace_writer_new(const char *path, const struct machine_record *machine, uint64_t max_size,
                     struct trace_writer **ret_writer, struct problem *problem)
{
    return create(path, machine, max_size, NULL, ret_writer, problem);
}

int trace_writer_new_of_past(const char *path, const struct machine_record *machine,
                             uint64_t max_size, int64_t wall_offset,
                             struct trace_writer **ret_writer, struct problem *problem)
{
    return create(path, machine, max_size, &wall_offset, ret_writer, problem);
}

void trace_writer_wall_offset(struct trace_writer *writer, int64_t wall_offset)
{
    writer->wall_offset = wall_offset;
}

/* ---- the end ---- */

/* The last record and END have a packet of their own. A page is reserved for it, so that they fit even if earlier
 * records did not. */
static int write_end(struct trace_writer *writer, enum end_reason reason, struct problem *problem)
{
    struct stream_buffer *control = &writer->streams[RING_CONTROL];
    struct record *last = &writer->last;

    control->room = TRACE_PAGE_SIZE;
    if (last->header.id != 0) {
        last->header.time =
            larger_of(last->header.time, trace_writer_last_time(writer, RING_CONTROL));
        put_record(writer, RING_CONTROL, &last->header, sizeof(*last));
    }
    struct end_record end = {
        .header = {.time = larger_of(trace_writer_last_time(writer, RING_CONTROL),
                                     writer->streams[RING_DATA].last_time),
                   .id = EVENT_END,
                   .flags = RECORD_NO_STREAM},
        .records = writer->written + control->records + 1 - writer->repeated,
        .lost = writer->streams[RING_CONTROL].discarded + writer->streams[RING_DATA].discarded +
                writer->dropped,
        .reason = writer->stopped != 0 ? writer->stopped : reason,
    };

    if (writer->rotation != NULL)
        rotation_end(writer, end.header.time);
    put_record(writer, RING_CONTROL, &end.header, sizeof(end));
    int result = writer_write_buffers(writer, NULL);
    if (result < 0)
        return problem_set(problem, result,
                           "%s/control: cannot write the end of the trace: %s; it can still be "
                           "read, and `dpm repair` adds the end once there is space",
                           writer->name, strerror(-result));
    return 0;
}

static int close_files(struct trace_writer *writer, struct problem *problem)
{
    int result = 0;

    /* The control stream last: its lock shows that the trace is being written. */
    for (enum ring_id ring = RING_COUNT; ring-- > 0;) {
        struct stream_buffer *stream = &writer->streams[ring];
        if (close(stream->file) < 0 && result == 0)
            result = problem_set(problem, -errno, "%s/%s: cannot be written: %s", writer->name,
                                 trace_file_names[ring], strerror(errno));
        stream->file = -1;
    }
    return result;
}

int trace_writer_close(struct trace_writer *writer, enum end_reason reason, struct problem *problem)
{
    if (writer == NULL)
        return 0;
    /* Each step is tried even if an earlier one failed. The first error is reported. */
    int result = writer_write_buffers(writer, problem);
    int ended = write_end(writer, reason, result < 0 ? NULL : problem);
    result = result < 0 ? result : ended;
    int closed = close_files(writer, result < 0 ? NULL : problem);
    free_writer(writer);
    return result < 0 ? result : closed;
}

void trace_writer_discard(struct trace_writer *writer, const char *path)
{
    if (writer == NULL)
        return;
    remove_trace(writer, path);
    free_writer(writer);
}
