/* SPDX-License-Identifier: MIT */
/*
 * follow.c: reads a trace while it grows.
 *
 *      the last record was read --> more in these files?  --> the next pair of files?  --> is it still being written?
 *                                   read on                   go to it                     ask again later, or the end
 *
 * The writer writes control before data, so data is looked at first: what it refers to is then there.
 */
#include "trace/packet_check.h"
#include "trace/reader_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* ---- copies ---- */

/* When the last of the packets of data that are there was written. */
static uint64_t data_written(const struct stream_file *data)
{
    struct trace_packet_context context;
    uint64_t written = data->written, offset = data->next;
    const char *wrong;

    for (; packet_look(data->file, data->size, offset, &data->header, 0, &context, &wrong) > 0;
         offset += context.packet_size / 8)
        written = context.monotonic;
    return written;
}

/* Whether the packet at this place is that of END. */
static bool ends_at(const struct stream_file *control, uint64_t offset, uint64_t size)
{
    _Alignas(8) char packet[TRACE_PAGE_SIZE];

    return size <= sizeof(packet) && trace_file_read(control->file, packet, size, offset) == 0 &&
           packet_ends(packet);
}

/* control   | 0 | 1 | 2 |     data 0 are there, so 0 may be read: what was written with it has come
 * data      | 0 |             1 may if 2 was there before the data were looked at; 2 waits
 *
 * The writer writes control before data, and both come in that order. */
static void hold_back_control(struct origin *origin)
{
    struct stream_file *control = &origin->files[RING_CONTROL];
    uint64_t written = data_written(&origin->files[RING_DATA]), seen = origin->seen;
    uint64_t size = control->size, offset = control->next;
    struct trace_packet_context context;
    const char *wrong;

    while (packet_look(control->file, size, offset, &control->header, 0, &context, &wrong) > 0) {
        uint64_t bytes = context.packet_size / 8;
        if (context.monotonic > written && offset + bytes >= seen &&
            !ends_at(control, offset, bytes)) {
            control->size = control->sizes_of_files[control->at] = offset;
            break;
        }
        offset += bytes;
    }
    origin->seen = size;
}

/* ---- files that grow ---- */

/* Whether the last of the packets of control that are there is that of END. */
static bool has_end(const struct stream_file *control)
{
    struct trace_packet_context context;
    uint64_t next = control->next, last = next;
    const char *wrong;

    while (packet_look(control->file, control->size, next, &control->header, 0, &context, &wrong) >
           0) {
        last = next;
        next += context.packet_size / 8;
    }
    return next > last && ends_at(control, last, next - last);
}

/* `all`: no more will come into these files. */
static int look_again(struct origin *origin, bool all, struct problem *problem)
{
    int result = 0;

    for (enum ring_id ring = RING_COUNT; result == 0 && ring-- > 0;)
        result = stream_file_look_again(&origin->files[ring], problem);
    /* data that were written after they were looked at, and then END */
    if (result == 0 && has_end(&origin->files[RING_CONTROL]))
        result = stream_file_look_again(&origin->files[RING_DATA], problem);
    if (result == 0 && origin->is_copy && !all)
        hold_back_control(origin);
    return result;
}

static int go_on(struct origin *origin, uint32_t number, struct problem *problem)
{
    uint32_t here = origin->files[RING_CONTROL].here;
    int files[RING_COUNT];
    int result = trace_pair_open(origin->directory, origin->name, number, files, problem);

    if (result < 0)
        return result;
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct stream_file *file = &origin->files[ring];
        int gone_on = stream_file_go_on(file, files[ring], number, number != here + 1, problem);
        result = result < 0 ? result : gone_on;
        file->numbered &= !origin->overtaken; /* what was removed is not missing in a copy */
    }
    origin->seen = 0;
    return result;
}

/* Goes to the next pair of files: 1, 0: there is none, or a negative errno. */
static int find_next_pair(struct origin *origin, struct problem *problem)
{
    uint32_t here = origin->files[RING_CONTROL].here;
    struct trace_numbers numbers;

    for (int i = 0;; i++) {
        int result = trace_numbers_find(origin->directory, origin->name, &numbers, problem);
        if (result < 0)
            return result;
        uint32_t next = trace_numbers_after(&numbers, here);
        if (next == here)
            return 0;
        origin->overtaken = next != here + 1 && next == numbers.at[0];
        result = go_on(origin, next, problem);
        if (result != -ENOENT || i == OPEN_TRIES)
            return result < 0 ? result : 1;
    }
}

/* Reads on in the files that are open, then in the next ones. `all`: no more will come. Returns 1, 0 or a negative errno. */
static int read_on(struct trace_source *traces, bool all, struct problem *problem)
{
    struct origin *origin = &traces->origins[0];

    for (;;) {
        int result = look_again(origin, all, problem);
        if (result == 0)
            result = reader_continue(traces, problem);
        if (result != 0)
            return result;
        /* a later pair means that these files have their last packets; some may have come just before */
        struct trace_numbers numbers;
        result = trace_numbers_find(origin->directory, origin->name, &numbers, problem);
        if (result < 0 || trace_numbers_last(&numbers) <= origin->files[RING_CONTROL].here)
            return result;
        result = look_again(origin, true, problem);
        if (result == 0)
            result = reader_continue(traces, problem);
        if (result == 0)
            result = find_next_pair(origin, problem);
        if (result < 0 || origin->head != NULL)
            return result;
    }
}

/* ---- waiting for more ---- */

/* Where notices of changes cannot be had (of a file system of another machine, or too many are watched), readers still
 * look from time to time. */
static void watch(struct origin *origin, const char *path)
{
    origin->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (origin->changes >= 0 &&
        inotify_add_watch(origin->changes, path,
                          IN_MODIFY | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE) < 0) {
        close(origin->changes);
        origin->changes = -1;
    }
}

static void forget_changes(const struct origin *origin)
{
    char notices[4096];

    while (origin->changes >= 0 && read(origin->changes, notices, sizeof(notices)) > 0)
        ;
}

static int changes_of(const struct source *source)
{
    return ((const struct trace_source *)source)->origins[0].changes;
}

/* ---- how far it is complete ---- */

/*
 * The writer writes control, then data, each only if it has records. Data that were written after the last packet of control
 * show that nothing is missing before it. Otherwise such data may still come; but not those that belong to the packet of
 * control before, once another one was there when the data were looked at again.
 */
void follow_note_idle(struct origin *origin)
{
    const struct stream_file *control = &origin->files[RING_CONTROL];
    const struct stream_file *data = &origin->files[RING_DATA];
    struct look_at now = {control->written,
                          control->time > data->time ? control->time : data->time};
    uint64_t complete = 0;

    if (data->written >= control->written)
        complete = now.time;
    else if (origin->looks[0].written > origin->looks[1].written)
        complete = origin->looks[1].time;
    if (complete > origin->complete)
        origin->complete = complete;
    origin->looks[1] = origin->looks[0];
    origin->looks[0] = now;
}

int follow_next(struct trace_source *traces, struct problem *problem)
{
    struct origin *origin = &traces->origins[0];

    forget_changes(origin);
    if (origin->ended) {
        traces->source.states[0].being_written = false;
        return SOURCE_END;
    }
    /* Once these files are closed: the last packets, or the next files, may have come just before, and the next ones may have
     * nothing new yet. */
    bool closed = false, same;
    do {
        uint32_t here = origin->files[RING_CONTROL].here;
        int result = read_on(traces, closed, problem);
        if (result != 0)
            return result < 0 ? result : SOURCE_RECORD;
        if (reader_is_being_written(origin))
            return SOURCE_NONE_YET;
        same = closed && origin->files[RING_CONTROL].here == here;
        closed = true;
    } while (!same);
    if (origin->until_end && !origin->ended)
        return SOURCE_NONE_YET;
    traces->source.states[0].being_written = false;
    return SOURCE_END;
}

void trace_follow_until_end(struct source *source, bool waits)
{
    ((struct trace_source *)source)->origins[0].until_end = waits;
}

int trace_follow(const char *path, struct source **ret_source, struct problem *problem)
{
    struct source *source;
    int result = reader_open(&path, 1, RING_COUNT, &source, problem);

    if (result < 0)
        return result;
    struct origin *origin = &((struct trace_source *)source)->origins[0];
    origin->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (origin->directory < 0) {
        result =
            problem_set(problem, -errno, "%s: cannot be opened: %s", origin->name, strerror(errno));
        trace_close(source);
        return result;
    }
    watch(origin, path);
    source->descriptor = changes_of;
    *ret_source = source;
    return 0;
}

int trace_follow_copy(const char *path, struct source **ret_source, struct problem *problem)
{
    struct source *source;
    int result = trace_follow(path, &source, problem);

    if (result < 0)
        return result;
    struct origin *origin = &((struct trace_source *)source)->origins[0];
    origin->is_copy = true;
    result = look_again(origin, false, problem); /* control was looked at before data */
    if (result < 0) {
        trace_close(source);
        return result;
    }
    *ret_source = source;
    return 0;
}
