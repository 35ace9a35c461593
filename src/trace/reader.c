/* SPDX-License-Identifier: MIT */
/*
 * reader.c: reads one or more traces as one source.
 *
 *      file:    | packet | packet | packet | packet | partial |
 *                        |<-- window -->|                        pread, at most 1 MiB
 *                          ^record                               the file's next record
 *
 *      origin (a trace):  control --+ earlier time, control first    --> head
 *                         data    --+ (END after all data)
 *      source:            heap of origins by their heads' wall-clock time, then by number
 *
 * Nothing a file says is believed before it is checked: every packet's header when it is entered,
 * every record's type, size and time when it becomes the file's next record.
 */
#include "trace/trace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_SIZE  TRACE_PACKET_SIZE /* grows to TRACE_LAST_PACKET where a packet needs it */
#define ORIGINS_MOST 4096u
#define TYPES        256

struct stream_file {
    const unsigned char *record;  /* the next record, NULL: none is left */
    const unsigned char *content; /* end of the packet's records */
    size_t record_size;
    uint64_t time; /* of the next record, or of the last one */
    int64_t wall_offset;
    const uint16_t *sizes; /* [TYPES] of the records of this stream, 0: none of it */

    unsigned char *window;
    size_t capacity;
    size_t filled;
    uint64_t window_offset; /* where the window begins in the file */

    uint64_t size;    /* of the file when it was opened */
    uint64_t next;    /* where the next packet begins */
    uint64_t packets; /* entered so far = number of the next one */
    uint64_t discarded;
    uint64_t partial;
    uint64_t last;                     /* where the last record began that was left behind */
    struct trace_packet_header header; /* as each packet must have it */
    int file;
    char name[TRACE_NAME_SIZE + 16];
};

struct origin {
    struct stream_file files[RING_COUNT];
    struct stream_file *head; /* whose record is next, NULL: none is left */
    int64_t wall;             /* wall-clock time of it */
    bool ended;               /* END has been handed out */
    char name[TRACE_NAME_SIZE];
};

struct trace_source {
    struct source source;
    struct origin *origins;
    uint32_t *heap; /* numbers of origins with a head; heap[0] is next */
    uint32_t heap_count;
    bool handed; /* the head of heap[0] has been handed out */
    int failed;  /* the error that ended the source, with its problem */
    struct problem problem;
    uint16_t sizes[RING_COUNT][TYPES];
};

/* ---- files ---- */

int trace_file_open(int directory, const char *path, const char *name, int flags,
                    uint64_t *ret_size, struct problem *problem)
{
    struct stat status;
    /* O_NONBLOCK: the name may lead to a FIFO, whose opening would wait for a writer. */
    int file = openat(directory, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error;

    if (file < 0) {
        error = -errno;
        return problem_set(problem, error, "%s/%s: cannot be opened: %s%s", path, name,
                           strerror(-error),
                           error == -ENOENT ? "; is this a trace, and all of it?" : "");
    }
    if (fstat(file, &status) < 0) {
        error = problem_set(problem, -errno, "%s/%s: cannot be examined: %s", path, name,
                            strerror(errno));
        close(file);
        return error;
    }
    if (!S_ISREG(status.st_mode)) {
        close(file);
        return problem_set(problem, -EINVAL,
                           "%s/%s: is not a regular file: this is no trace of dpm; name a "
                           "directory that dpm made",
                           path, name);
    }
    *ret_size = (uint64_t)status.st_size;
    return file;
}

int trace_file_read(int file, void *buffer, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(file, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -ENODATA;
        done += (size_t)got;
    }
    return 0;
}

static int damaged(const struct stream_file *file, uint64_t offset, const char *what,
                   struct problem *problem)
{
    return problem_set(problem, -EBADMSG,
                       "%s: at byte %" PRIu64 ": %s: the file is damaged here; restore it from a "
                       "copy",
                       file->name, offset, what);
}

/* ---- windows ---- */

static int grow_window(struct stream_file *file, size_t size)
{
    size_t capacity = size > WINDOW_SIZE ? TRACE_LAST_PACKET : WINDOW_SIZE;

    /* A small file needs no large window. */
    if (capacity > file->size)
        capacity = (size_t)file->size;
    if (capacity <= file->capacity)
        return 0;
    free(file->window);
    file->window = malloc(capacity);
    file->capacity = file->window == NULL ? 0 : capacity;
    file->filled = 0;
    return file->window == NULL ? -ENOMEM : 0;
}

/* Brings bytes offset .. offset + size, which the file has, into the window; gives where they are.
 * What the window showed before is gone. */
static int show(struct stream_file *file, uint64_t offset, size_t size,
                const unsigned char **ret_bytes, struct problem *problem)
{
    if (offset < file->window_offset || offset + size > file->window_offset + file->filled) {
        int result = grow_window(file, size);
        if (result < 0)
            return problem_set(problem, result, "%s: out of memory", file->name);
        uint64_t left = file->size - offset;
        file->filled = 0;
        file->window_offset = offset;
        size_t wanted = left < file->capacity ? (size_t)left : file->capacity;
        result = trace_file_read(file->file, file->window, wanted, offset);
        if (result == -ENODATA)
            return problem_set(problem, result,
                               "%s: has become shorter while it was read; try again", file->name);
        if (result < 0)
            return problem_set(problem, result, "%s: at byte %" PRIu64 ": cannot be read: %s",
                               file->name, offset, strerror(-result));
        file->filled = wanted;
    }
    *ret_bytes = file->window + (offset - file->window_offset);
    return 0;
}

/* ---- packets ---- */

/* Whether everything from `offset` to the file's end is zero; 1, 0 or a negative errno. A machine
 * that loses power can leave such a tail. Holes are skipped, however large they are. */
static int is_zero_to_end(struct stream_file *file, uint64_t offset, struct problem *problem)
{
    while (offset < file->size) {
        off_t data = lseek(file->file, (off_t)offset, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return 1;
        if (data >= 0)
            offset = (uint64_t)data;
        if (offset >= file->size)
            return 1;
        uint64_t left = file->size - offset;
        size_t size = left < TRACE_PAGE_SIZE ? (size_t)left : TRACE_PAGE_SIZE;
        const unsigned char *bytes;
        int result = show(file, offset, size, &bytes, problem);
        if (result < 0)
            return result;
        for (size_t i = 0; i < size; i++)
            if (bytes[i] != 0)
                return 0;
        offset += size;
    }
    return 1;
}

static const char *wrong_header(const unsigned char *bytes, const unsigned char *expected)
{
    size_t at = 0;

    while (bytes[at] == expected[at])
        at++;
    if (at < offsetof(struct trace_packet_header, uuid))
        return "packet magic is wrong";
    if (at < offsetof(struct trace_packet_header, stream))
        return "the packet's uuid is not the trace's";
    return "the packet is of another stream";
}

static const char *wrong_context(const struct stream_file *file,
                                 const struct trace_packet_context *context)
{
    if (context->packet_size % 64 != 0 || context->packet_size < TRACE_CONTENT * 8 ||
        context->packet_size > (uint64_t)TRACE_LAST_PACKET * 8)
        return "the packet's size is impossible";
    if (context->content_size % 64 != 0 || context->content_size < TRACE_CONTENT * 8 ||
        context->content_size > context->packet_size)
        return "the packet's content size is impossible";
    if (context->packet_seq_num != file->packets)
        return "the packet does not have the next packet number";
    return NULL;
}

/* What is left at file->next is no whole packet: notes it as the partial tail. */
static int end_file(struct stream_file *file)
{
    file->partial = file->size - file->next;
    file->record = NULL;
    file->record_size = 0;
    return 0;
}

static void enter_packet(struct stream_file *file, const unsigned char *bytes,
                         const struct trace_packet_context *context)
{
    if (context->events_discarded > file->discarded)
        file->discarded = context->events_discarded;
    file->wall_offset = (int64_t)(context->real_time - context->monotonic);
    file->packets++;
    file->next += context->packet_size / 8;
    file->record = bytes + TRACE_CONTENT;
    file->content = bytes + context->content_size / 8;
}

/* Enters the packet at file->next. Returns 1, 0 at the file's end, or a negative errno. */
static int load_packet(struct stream_file *file, struct problem *problem)
{
    uint64_t left = file->size - file->next;
    size_t size = left < TRACE_CONTENT ? (size_t)left : TRACE_CONTENT;
    size_t head = size < sizeof(file->header) ? size : sizeof(file->header);
    const unsigned char *bytes;
    int result;

    if (left == 0)
        return end_file(file);
    result = show(file, file->next, size, &bytes, problem);
    if (result < 0)
        return result;
    if (memcmp(bytes, &file->header, head) != 0) {
        const char *what = wrong_header(bytes, (const unsigned char *)&file->header);
        result = is_zero_to_end(file, file->next, problem);
        if (result < 0)
            return result;
        return result == 0 ? damaged(file, file->next, what, problem) : end_file(file);
    }
    if (size < TRACE_CONTENT)
        return end_file(file);
    struct trace_packet_context context;
    memcpy(&context, bytes + sizeof(file->header), sizeof(context));
    const char *wrong = wrong_context(file, &context);
    if (wrong != NULL)
        return damaged(file, file->next, wrong, problem);
    if (context.packet_size / 8 > left)
        return end_file(file);
    result = show(file, file->next, (size_t)(context.packet_size / 8), &bytes, problem);
    if (result < 0)
        return result;
    enter_packet(file, bytes, &context);
    return 1;
}

/* ---- records ---- */

static uint64_t record_offset(const struct stream_file *file)
{
    return file->window_offset + (uint64_t)(file->record - file->window);
}

static int record_damaged(const struct stream_file *file, struct problem *problem)
{
    const struct record_header *header = (const struct record_header *)file->record;
    size_t left = (size_t)(file->content - file->record);
    char what[100];

    if (left < sizeof(*header) || file->sizes[header->id] > left)
        snprintf(what, sizeof(what), "the packet ends within a record");
    else if (file->sizes[header->id] == 0)
        snprintf(what, sizeof(what), "a record has type %u, which does not belong here",
                 header->id);
    else
        snprintf(what, sizeof(what), "time goes back from %" PRIu64 " to %" PRIu64, file->time,
                 header->time);
    return damaged(file, record_offset(file), what, problem);
}

/* Checks the record at file->record. */
static inline int take_record(struct stream_file *file, struct problem *problem)
{
    const struct record_header *header = (const struct record_header *)file->record;
    size_t left = (size_t)(file->content - file->record);

    if (left < sizeof(*header))
        return record_damaged(file, problem);
    size_t size = file->sizes[header->id];
    if (size == 0 || size > left || header->time < file->time)
        return record_damaged(file, problem);
    file->record_size = size;
    file->time = header->time;
    return 0;
}

static int next_packet(struct stream_file *file, struct problem *problem)
{
    int result;

    if (file->record_size != 0)
        file->last = record_offset(file) - file->record_size;
    do /* a packet without records is allowed */
        result = load_packet(file, problem);
    while (result > 0 && file->record == file->content);
    return result <= 0 ? result : take_record(file, problem);
}

/* Goes on from a record to the file's next one; file->record is then NULL if there is none. */
static inline int advance(struct stream_file *file, struct problem *problem)
{
    file->record += file->record_size;
    if (file->record == file->content)
        return next_packet(file, problem);
    return take_record(file, problem);
}

/* ---- one trace ---- */

static unsigned record_id(const struct stream_file *file)
{
    return ((const struct record_header *)file->record)->id;
}

/* Whose record is next; NULL: none is left. Of the same time control comes first, but for END. */
static inline struct stream_file *earlier(struct origin *origin)
{
    struct stream_file *control = &origin->files[RING_CONTROL];
    struct stream_file *data = &origin->files[RING_DATA];

    if (control->record == NULL)
        return data->record == NULL ? NULL : data;
    if (data->record == NULL || control->time < data->time)
        return control;
    return control->time > data->time || record_id(control) == EVENT_END ? data : control;
}

/* Chooses whose record is next. */
static inline int choose_head(struct origin *origin, struct problem *problem)
{
    struct stream_file *head = origin->head = earlier(origin);

    if (head == NULL)
        return 0;
    if (origin->ended)
        return damaged(head, record_offset(head), "a record follows END", problem);
    origin->wall = (int64_t)(head->time + (uint64_t)head->wall_offset);
    return 0;
}

static uint64_t add_saturating(uint64_t one, uint64_t other)
{
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

/* END counts all records. If there are fewer, then a file was cut after it had been written, for
 * instance by a copy to a full disk: those records are lost as well. */
static int note_end(struct origin *origin, struct source_state *state, struct problem *problem)
{
    uint64_t records = state->records + 1; /* with END, which is about to be handed out */
    const struct stream_file *control = &origin->files[RING_CONTROL];
    const struct end_record *end = (const struct end_record *)control->record;

    if (end->records < records)
        return damaged(control, record_offset(control), "END counts fewer records than there are",
                       problem);
    if (end->reason < END_COMPLETE || end->reason > END_REPAIRED)
        return damaged(control, record_offset(control), "END has an unknown reason", problem);
    uint64_t missing = end->records - records;
    origin->ended = true;
    state->lost = add_saturating(end->lost, missing);
    state->complete = missing == 0;
    state->end_reason = state->complete ? end->reason : 0;
    return 0;
}

static int open_stream(struct origin *origin, int directory, enum ring_id ring,
                       const uint8_t uuid[TRACE_UUID_SIZE], struct problem *problem)
{
    struct stream_file *file = &origin->files[ring];

    snprintf(file->name, sizeof(file->name), "%s/%s", origin->name, trace_file_names[ring]);
    file->file = trace_file_open(directory, origin->name, trace_file_names[ring], O_RDONLY,
                                 &file->size, problem);
    if (file->file < 0)
        return file->file;
    if (file->size > INT64_MAX - TRACE_LAST_PACKET)
        return problem_set(problem, -EFBIG, "%s: is too large", file->name);
    file->header.magic = TRACE_MAGIC;
    file->header.stream = ring;
    memcpy(file->header.uuid, uuid, TRACE_UUID_SIZE);
    return 0;
}

static int read_beginning(struct origin *origin, struct problem *problem)
{
    struct stream_file *control = &origin->files[RING_CONTROL];

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        int result = next_packet(&origin->files[ring], problem);
        if (result < 0)
            return result;
    }
    if (control->record == NULL)
        return problem_set(problem, -ENODATA,
                           "%s: holds no whole packet: nothing of this trace can be read",
                           control->name);
    if (record_id(control) != EVENT_MACHINE)
        return damaged(control, record_offset(control), "the first record is not MACHINE", problem);
    return choose_head(origin, problem);
}

static int open_origin(struct origin *origin, const char *path, unsigned rings,
                       struct problem *problem)
{
    uint8_t uuid[TRACE_UUID_SIZE];

    trace_name(path, origin->name);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return problem_set(problem, -errno, "%s: cannot be opened: %s; a trace is a directory",
                           origin->name, strerror(errno));
    int result = trace_metadata_read(directory, origin->name, uuid, problem);
    /* Control first: what it says of data is then already there, if the trace is being written. */
    for (enum ring_id ring = 0; ring < rings && result == 0; ring++)
        result = open_stream(origin, directory, ring, uuid, problem);
    close(directory);
    return result < 0 ? result : read_beginning(origin, problem);
}

/* The writer holds a lock as long as it writes (writer.c). */
static bool is_being_written(const struct origin *origin)
{
    int file = origin->files[RING_CONTROL].file;

    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
        flock(file, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

static void rewind_file(struct stream_file *file)
{
    *file = (struct stream_file){
        .sizes = file->sizes,
        .window = file->window,
        .capacity = file->capacity,
        .size = file->size,
        .header = file->header,
        .file = file->file,
    };
}

/* ---- the source ---- */

static bool is_before(const struct trace_source *traces, uint32_t one, uint32_t other)
{
    int64_t one_wall = traces->origins[one].wall;
    int64_t other_wall = traces->origins[other].wall;
    return one_wall < other_wall || (one_wall == other_wall && one < other);
}

/* Restores the heap below `at`, whose origin may now be later. */
static void sift_down(struct trace_source *traces, uint32_t at)
{
    uint32_t *heap = traces->heap;

    for (;;) {
        uint32_t first = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < traces->heap_count && is_before(traces, heap[child], heap[first]))
                first = child;
        if (first == at)
            return;
        uint32_t number = heap[at];
        heap[at] = heap[first];
        heap[first] = number;
        at = first;
    }
}

/* Packets tell what was lost so far, and END in the end. */
static void note_lost(struct trace_source *traces, uint32_t number)
{
    const struct origin *origin = &traces->origins[number];

    if (!origin->ended)
        traces->source.states[number].lost = add_saturating(origin->files[RING_CONTROL].discarded,
                                                            origin->files[RING_DATA].discarded);
}

/* Goes on from the record handed out last to the next one of its trace. */
static int leave_record(struct trace_source *traces)
{
    uint32_t number = traces->heap[0];
    struct origin *origin = &traces->origins[number];
    struct stream_file *left = origin->head;
    uint64_t packets = left->packets;

    traces->handed = false;
    int result = advance(left, &traces->problem);
    if (result == 0)
        result = choose_head(origin, &traces->problem);
    if (result < 0)
        return result;
    if (left->packets != packets)
        note_lost(traces, number);
    if (origin->head == NULL)
        traces->heap[0] = traces->heap[--traces->heap_count];
    if (traces->heap_count > 1)
        sift_down(traces, 0);
    return 0;
}

/* Counts the record at the head of heap[0]. */
static int hand_out(struct trace_source *traces, struct event *ret_event)
{
    uint32_t number = traces->heap[0];
    struct origin *origin = &traces->origins[number];
    struct source_state *state = &traces->source.states[number];

    if (record_id(origin->head) == EVENT_END) {
        int result = note_end(origin, state, &traces->problem);
        if (result < 0)
            return result;
    }
    state->records++;
    traces->handed = true;
    ret_event->header = (const struct record_header *)origin->head->record;
    ret_event->origin = number;
    ret_event->wall_offset = origin->head->wall_offset;
    return SOURCE_RECORD;
}

static int trace_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                      struct problem *problem)
{
    struct trace_source *traces = (struct trace_source *)source;
    int result = traces->failed;

    (void)ret_complete; /* a finished trace has no NONE_YET */
    if (result == 0 && traces->handed)
        result = leave_record(traces);
    if (result == 0 && traces->heap_count == 0)
        return SOURCE_END;
    if (result == 0)
        result = hand_out(traces, ret_event);
    if (result > 0)
        return result;
    traces->failed = result;
    return problem_set(problem, result, "%s", traces->problem.text);
}

static void fill_sizes(struct trace_source *traces)
{
    for (unsigned id = 0; id < TYPES; id++) {
        const struct event_type *type = event_type(id);
        if (type != NULL)
            traces->sizes[type->ring][id] = type->size;
    }
}

static struct trace_source *allocate_source(size_t count)
{
    struct trace_source *traces = calloc(1, sizeof(*traces));

    if (traces == NULL)
        return NULL;
    traces->source.next = trace_next;
    traces->source.states = calloc(count, sizeof(*traces->source.states));
    traces->origins = calloc(count, sizeof(*traces->origins));
    traces->heap = calloc(count, sizeof(*traces->heap));
    if (traces->source.states == NULL || traces->origins == NULL || traces->heap == NULL) {
        trace_close(&traces->source);
        return NULL;
    }
    traces->source.origins = (uint32_t)count;
    fill_sizes(traces);
    for (size_t number = 0; number < count; number++)
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
            traces->origins[number].files[ring].file = -1;
            traces->origins[number].files[ring].sizes = traces->sizes[ring];
        }
    return traces;
}

static void make_heap(struct trace_source *traces)
{
    traces->heap_count = traces->source.origins;
    for (uint32_t number = 0; number < traces->heap_count; number++)
        traces->heap[number] = number;
    for (uint32_t at = traces->heap_count; at-- > 0;)
        sift_down(traces, at);
}

/* Each trace is at its first record. */
static void begin(struct trace_source *traces)
{
    make_heap(traces);
    for (uint32_t number = 0; number < traces->source.origins; number++)
        note_lost(traces, number);
}

/* Opens the first `rings` files of each trace; one that is not opened has no records. */
static int open_traces(const char *const *paths, size_t count, unsigned rings,
                       struct source **ret_source, struct problem *problem)
{
    if (count == 0 || count > ORIGINS_MOST)
        return problem_set(problem, -EINVAL, "name 1 to %u traces, not %zu", ORIGINS_MOST, count);
    struct trace_source *traces = allocate_source(count);
    if (traces == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", paths[0]);
    for (uint32_t number = 0; number < count; number++) {
        int result = open_origin(&traces->origins[number], paths[number], rings, problem);
        if (result < 0) {
            trace_close(&traces->source);
            return result;
        }
        traces->source.states[number].being_written = is_being_written(&traces->origins[number]);
    }
    begin(traces);
    *ret_source = &traces->source;
    return 0;
}

int trace_open(const char *const *paths, size_t count, struct source **ret_source,
               struct problem *problem)
{
    return open_traces(paths, count, RING_COUNT, ret_source, problem);
}

int trace_open_control(const char *const *paths, size_t count, struct source **ret_source,
                       struct problem *problem)
{
    return open_traces(paths, count, RING_CONTROL + 1, ret_source, problem);
}

int trace_rewind(struct source *source, struct problem *problem)
{
    struct trace_source *traces = (struct trace_source *)source;

    traces->handed = false;
    traces->failed = 0;
    for (uint32_t number = 0; number < source->origins; number++) {
        struct origin *origin = &traces->origins[number];
        source->states[number] =
            (struct source_state){.being_written = source->states[number].being_written};
        origin->head = NULL;
        origin->ended = false;
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
            rewind_file(&origin->files[ring]);
        int result = read_beginning(origin, problem);
        if (result < 0)
            return traces->failed = result;
    }
    begin(traces);
    return 0;
}

void trace_close(struct source *source)
{
    struct trace_source *traces = (struct trace_source *)source;

    if (traces == NULL)
        return;
    for (uint32_t number = 0; number < traces->source.origins; number++)
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
            struct stream_file *file = &traces->origins[number].files[ring];
            if (file->file >= 0)
                close(file->file);
            free(file->window);
        }
    free(traces->source.states);
    free(traces->origins);
    free(traces->heap);
    free(traces);
}

uint64_t trace_partial_tail(const struct source *source, uint32_t origin)
{
    uint64_t partial = 0;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        partial += trace_source_tail(source, origin, ring).partial;
    return partial;
}

struct trace_tail trace_source_tail(const struct source *source, uint32_t origin, enum ring_id ring)
{
    const struct trace_source *traces = (const struct trace_source *)source;
    const struct stream_file *file = &traces->origins[origin].files[ring];

    return (struct trace_tail){
        .end = file->next,
        .partial = file->partial,
        .packets = file->packets,
        .time = file->time,
        .discarded = file->discarded,
        .last = file->last,
        .wall_offset = file->wall_offset,
    };
}
