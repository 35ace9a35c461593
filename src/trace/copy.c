/* SPDX-License-Identifier: MIT */
/*
 * copy.c: stores packets as a copy of their trace. See packets.h.
 *
 *      packet --> of this trace? --> newer than the last one? --> of this pair of files? --> fits? --> written
 *                  -EBADMSG           no: a double                the next one begins         -EFBIG
 *
 * As in the trace itself, a pair of files gets its name when what it repeats is complete, and one of the control files is
 * locked all the time.
 */
#include "trace/copy_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void copy_hidden_name(uint32_t number, char ret_name[COPY_NAME_SIZE])
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(RING_CONTROL, number, name);
    snprintf(ret_name, COPY_NAME_SIZE, ".%s", name);
}

static int refuse(const struct trace_copy *copy, enum ring_id ring, uint32_t file, int error,
                  const char *what, struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(ring, file, name);
    return problem_set(problem, error, "%s/%s: %s", copy->name, name, what);
}

static int cannot_write(const struct trace_copy *copy, enum ring_id ring, uint32_t file, int error,
                        struct problem *problem)
{
    char what[120];

    snprintf(what, sizeof(what), "cannot be written: %s", strerror(-error));
    return refuse(copy, ring, file, error, what, problem);
}

/* ---- what a packet is ---- */

bool copy_begins_pair(const void *packet, uint32_t file, uint64_t *ret_repeated)
{
    const struct trace_packet_context *context = packet_context(packet);
    const char *first = (const char *)(context + 1);
    size_t size = (size_t)(context->content_size / 8) - TRACE_CONTENT;
    const struct begin_record *begin =
        (const struct begin_record *)(first + sizeof(struct machine_record));

    if (size < sizeof(struct record_header) ||
        ((const struct record_header *)first)->id != EVENT_MACHINE)
        return false;
    *ret_repeated = 0;
    if (file == 0)
        return true;
    if (size < sizeof(struct machine_record) + sizeof(*begin) || begin->header.id != EVENT_BEGIN)
        return false;
    *ret_repeated = 2 + (uint64_t)begin->repeated;
    return true;
}

uint64_t copy_count_records(const void *packet)
{
    const struct trace_packet_context *context = packet_context(packet);
    size_t at = TRACE_CONTENT, end = (size_t)(context->content_size / 8);
    uint64_t count = 0;

    for (; end - at >= sizeof(struct record_header); count++) {
        size_t size = event_size(((const struct record_header *)((const char *)packet + at))->id);
        if (size == 0 || size > end - at)
            return 0;
        at += size;
    }
    return at == end ? count : 0;
}

/* Checks everything that does not depend on what is stored. */
static const char *wrong_packet(const struct trace_copy *copy, enum ring_id ring, uint32_t file,
                                const void *packet, size_t size)
{
    const struct trace_packet_context *context = packet_context(packet);
    const struct trace_packet_header expected = packet_header(copy->uuid, ring);

    if (size < TRACE_CONTENT)
        return "the packet is cut";
    if (file == UINT32_MAX)
        return "the number of the file is impossible";
    const char *wrong = packet_wrong_header(packet, sizeof(expected), &expected);
    if (wrong == NULL)
        wrong = packet_wrong_context(context, 0);
    if (wrong == NULL && context->packet_size / 8 != size)
        wrong = "the packet's size is not that of its bytes";
    return wrong;
}

/* ---- writing ---- */

/* Cuts off what an earlier write may have left behind the last whole packet. */
static int cut_torn(struct copy_file *file)
{
    if (file->torn && ftruncate(file->file, (off_t)file->size) < 0)
        return -errno;
    file->torn = false;
    return 0;
}

static int write_packet(struct copy_file *file, const void *bytes, size_t size)
{
    struct stat status;
    int result = cut_torn(file);

    if (result < 0)
        return result;
    result = trace_packet_write(file->file, bytes, size, file->size);
    if (result < 0) {
        file->torn = fstat(file->file, &status) < 0 || (uint64_t)status.st_size != file->size;
        return result;
    }
    file->size += size;
    return 0;
}

static int append(struct trace_copy *copy, enum ring_id ring, const void *packet, size_t size,
                  struct problem *problem)
{
    const struct trace_packet_context *context = packet_context(packet);
    struct copy_file *file = &copy->files[ring];
    int result = write_packet(file, packet, size);

    if (result < 0)
        return cannot_write(copy, ring, copy->here, result, problem);
    if (file->last.known)
        copy->counts.missing += context->packet_seq_num - file->last.number - 1;
    else if (copy->has_first)
        copy->counts.missing += context->packet_seq_num;
    file->last = (struct trace_position){true, copy->here, context->packet_seq_num};
    copy->counts.bytes += size;
    copy->counts.stored++;
    /* the writer flushes control before data */
    if (ring == RING_DATA || !copy->files[RING_DATA].last.known)
        copy->counts.until = context->timestamp_end + context->real_time - context->monotonic;
    if (copy->packets_here++ == 0)
        copy->begin_here = context->timestamp_begin;
    copy->ended = copy->ended || (ring == RING_CONTROL && packet_ends(packet));
    return 1;
}

/* ---- a new pair of files ---- */

static int make_file(const struct trace_copy *copy, const char *name)
{
    unlinkat(copy->directory, name,
             0); /* what an earlier run has left does not belong to the copy */
    int file =
        openat(copy->directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return file < 0 ? -errno : file;
}

void copy_release_reserved(struct trace_copy *copy)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        if (copy->reserved[ring] >= 0)
            close(copy->reserved[ring]);
        copy->reserved[ring] = -1;
    }
}

int copy_give_name(struct trace_copy *copy, struct problem *problem)
{
    char hidden[COPY_NAME_SIZE], name[TRACE_FILE_NAME_SIZE];

    if (!copy->hidden || copy->packets_here == 0 || copy->repeats_left > 0)
        return 0;
    copy_hidden_name(copy->here, hidden);
    trace_file_name(RING_CONTROL, copy->here, name);
    if (renameat(copy->directory, hidden, copy->directory, name) < 0)
        return cannot_write(copy, RING_CONTROL, copy->here, -errno, problem);
    copy->hidden = false;
    if (copy->named >= 0)
        close(copy->named);
    copy->named = -1;
    return 0;
}

/* A pair whose beginning has never been complete. */
static void drop_hidden(struct trace_copy *copy)
{
    char hidden[COPY_NAME_SIZE], name[TRACE_FILE_NAME_SIZE];

    copy_hidden_name(copy->here, hidden);
    trace_file_name(RING_DATA, copy->here, name);
    unlinkat(copy->directory, hidden, 0);
    unlinkat(copy->directory, name, 0);
    copy->counts.bytes -= copy->files[RING_CONTROL].size;
    copy->counts.missing += copy->packets_here;
    copy->pairs--;
}

/* Another pair follows. If memory is short, this one is never removed. */
static void note_earlier(struct trace_copy *copy)
{
    const struct copy_pair pair = {
        .number = copy->here,
        .bytes = copy->files[RING_CONTROL].size + copy->files[RING_DATA].size,
        .begin = copy->begin_here,
    };

    (void)copy_newest_note(copy, &pair);
}

static void take_files(struct trace_copy *copy, const int files[RING_COUNT], uint32_t number)
{
    int *control = &copy->files[RING_CONTROL].file;

    if (!copy->hidden)
        copy->named = *control; /* -1: there is none yet */
    else
        close(*control);
    if (copy->files[RING_DATA].file >= 0)
        close(copy->files[RING_DATA].file);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        copy->files[ring].file = files[ring];
        copy->files[ring].size = 0;
        copy->files[ring].torn = false;
    }
    copy->has_first = copy->has_first || number == 0;
    copy->here = number;
    copy->pairs++;
    copy->packets_here = 0;
    copy->hidden = true;
}

static int begin_pair(struct trace_copy *copy, uint32_t number, struct problem *problem)
{
    char hidden[COPY_NAME_SIZE], name[TRACE_FILE_NAME_SIZE];
    int files[RING_COUNT];

    if (!copy->limits.newest && copy->pairs - copy->hidden >= TRACE_FILES_MOST)
        return refuse(copy, RING_CONTROL, number, -EFBIG, "too many files", problem);
    trace_file_name(RING_DATA, number, name);
    copy_hidden_name(number, hidden);
    copy_release_reserved(copy);
    files[RING_DATA] = make_file(copy, name);
    if (files[RING_DATA] < 0)
        return cannot_write(copy, RING_DATA, number, files[RING_DATA], problem);
    files[RING_CONTROL] = make_file(copy, hidden);
    if (files[RING_CONTROL] < 0) {
        close(files[RING_DATA]);
        unlinkat(copy->directory, name, 0);
        return cannot_write(copy, RING_CONTROL, number, files[RING_CONTROL], problem);
    }
    (void)flock(files[RING_CONTROL], LOCK_EX | LOCK_NB);
    if (copy->hidden)
        drop_hidden(copy);
    else if (copy->pairs > 0)
        note_earlier(copy);
    take_files(copy, files, number);
    return 0;
}

/* ---- adding ---- */

static bool fits(const struct trace_copy *copy, uint64_t size, bool ends)
{
    uint64_t kept = copy->counts.bytes + (ends ? 0 : TRACE_PAGE_SIZE); /* for END */

    uint64_t most = copy->limits.max_bytes;

    return most == 0 || (kept <= most && size <= most - kept);
}

static int too_large(const struct trace_copy *copy, enum ring_id ring, uint32_t file,
                     struct problem *problem)
{
    char what[120];

    snprintf(what, sizeof(what), "does not fit into the copy's largest size, %" PRIu64 " bytes",
             copy->limits.max_bytes);
    return refuse(copy, ring, file, -EFBIG, what, problem);
}

static int lacks_beginning(const struct trace_copy *copy, uint32_t file, struct problem *problem)
{
    return refuse(copy, RING_CONTROL, file, -ENODATA, "the beginning of this file has not arrived",
                  problem);
}

/* Adds to a control file what it repeats: it gets its name with the last packet of it. */
static int append_hidden(struct trace_copy *copy, const void *packet, size_t size,
                         struct problem *problem)
{
    const struct trace_packet_context *context = packet_context(packet);
    const struct trace_position *last = &copy->files[RING_CONTROL].last;
    uint64_t records = copy->here == 0 ? 1 : copy_count_records(packet);
    bool first = copy->packets_here == 0;
    uint64_t repeated = copy->repeats_left;

    if (first ? !copy_begins_pair(packet, copy->here, &repeated)
              : context->packet_seq_num != last->number + 1)
        return lacks_beginning(copy, copy->here, problem);
    if (records == 0)
        return refuse(copy, RING_CONTROL, copy->here, -EBADMSG, "impossible records", problem);
    int result = append(copy, RING_CONTROL, packet, size, problem);
    if (result < 0)
        return result;
    copy->repeats_left = repeated - (records < repeated ? records : repeated);
    (void)copy_give_name(copy, NULL); /* else with the next packet */
    return result;
}

static int add_control(struct trace_copy *copy, uint32_t file, const void *packet, size_t size,
                       struct problem *problem)
{
    uint64_t repeated;

    if (copy->pairs == 0 || file > copy->here) {
        if (!copy_begins_pair(packet, file, &repeated))
            return lacks_beginning(copy, file, problem);
        int result = begin_pair(copy, file, problem);
        if (result < 0)
            return result;
    }
    if (file < copy->here)
        return refuse(copy, RING_CONTROL, file, -ENODATA, "a later file has begun", problem);
    return copy->hidden ? append_hidden(copy, packet, size, problem)
                        : append(copy, RING_CONTROL, packet, size, problem);
}

static int add_data(struct trace_copy *copy, uint32_t file, const void *packet, size_t size,
                    struct problem *problem)
{
    if (copy->pairs == 0 || file > copy->here || copy->hidden)
        return refuse(copy, RING_DATA, file, -ENODATA,
                      "the control file of the same number has not arrived", problem);
    if (file < copy->here)
        return refuse(copy, RING_DATA, file, -ENODATA, "a later file has begun", problem);
    return append(copy, RING_DATA, packet, size, problem);
}

/* For a ring of which nothing is stored: whether this was stored once, in a pair that is removed, or would have been. */
static bool is_before_kept(const struct trace_copy *copy, uint32_t file)
{
    return copy->limits.newest && copy->pairs > 0 && file < copy->here;
}

/* `packet` is aligned. */
static int add(struct trace_copy *copy, enum ring_id ring, uint32_t file, const void *packet,
               size_t size, struct problem *problem)
{
    const struct trace_packet_context *context = packet_context(packet);
    const char *wrong = wrong_packet(copy, ring, file, packet, size);
    const struct trace_position *last = &copy->files[ring].last;

    if (wrong != NULL)
        return refuse(copy, ring, file, -EBADMSG, wrong, problem);
    if (last->known ? context->packet_seq_num <= last->number : is_before_kept(copy, file)) {
        copy->counts.doubles++;
        return 0;
    }
    if (copy->ended && ring == RING_CONTROL)
        return refuse(copy, ring, file, -EBADMSG, "a packet follows END", problem);
    int result = copy_give_name(copy, problem);
    if (result < 0)
        return result;
    if (copy->limits.newest)
        copy_newest_make_space(copy, size, context->timestamp_end);
    bool ends = ring == RING_CONTROL && packet_ends(packet);
    if ((copy->full && !ends) || !fits(copy, size, ends)) {
        copy->full = !copy->limits.newest; /* a smaller one that follows would leave a hole */
        return too_large(copy, ring, file, problem);
    }
    return ring == RING_CONTROL ? add_control(copy, file, packet, size, problem)
                                : add_data(copy, file, packet, size, problem);
}

int trace_copy_add(struct trace_copy *copy, enum ring_id ring, uint32_t file, const void *bytes,
                   size_t size, struct problem *problem)
{
    int result;

    if ((unsigned)ring >= RING_COUNT || size > TRACE_LAST_PACKET || size < TRACE_CONTENT) {
        result = problem_set(problem, -EBADMSG, "%s: %zu bytes for file %u: not a packet",
                             copy->name, size, (unsigned)ring);
    } else if ((uintptr_t)bytes % 8 == 0) {
        result = add(copy, ring, file, bytes, size, problem);
    } else {
        void *aligned = malloc(size);
        result =
            aligned == NULL ? problem_set(problem, -ENOMEM, "%s: out of memory", copy->name) : 0;
        if (aligned != NULL)
            result = add(copy, ring, file, memcpy(aligned, bytes, size), size, problem);
        free(aligned);
    }
    copy->counts.refused += result < 0;
    return result;
}

struct trace_position trace_copy_position(const struct trace_copy *copy, enum ring_id ring)
{
    return copy->files[ring].last;
}

bool trace_copy_ended(const struct trace_copy *copy)
{
    return copy->ended;
}

struct trace_copy_counts trace_copy_counts(const struct trace_copy *copy)
{
    return copy->counts;
}
