/* SPDX-License-Identifier: MIT */
/*
 * repair.c: closes a trace that was truncated by kill -9, a full disk, a power failure or an interrupted copy. It
 * first reads the whole trace, with all checks, and changes nothing if anything but its end is damaged. Then:
 *
 *      | packet | packet | parti       the partial packet is cut off
 *      | packet | packet | END |       control: END is added, or corrected if it counts records
 *                                      that were cut off `data` later
 *
 * After each step the trace can be read, and repaired again.
 */
#include "trace/trace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct repair {
    char name[TRACE_NAME_SIZE];
    int directory;
    int files[RING_COUNT];
    /* the results of reading the trace */
    struct source_state state;
    struct trace_numbers numbers;
    uint64_t records, lost; /* of the whole recording */
    struct trace_tail tails[RING_COUNT];
    bool has_end;
    struct end_record end;
};

static int open_stream(struct repair *repair, enum ring_id ring, struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];
    uint64_t size;

    trace_file_name(ring, trace_numbers_last(&repair->numbers), name);
    int file =
        trace_file_open(repair->directory, repair->name, name, O_RDWR | O_NOFOLLOW, &size, problem);

    if (file < 0)
        return file;
    repair->files[ring] = file;
    return 0;
}

/* The writer holds this lock while it writes. */
static int lock_trace(struct repair *repair, struct problem *problem)
{
    if (flock(repair->files[RING_CONTROL], LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return problem_set(problem, -EBUSY, "%s: still being written; end the recording first",
                           repair->name);
    return problem_set(problem, -errno,
                       "%s/control: cannot be locked: %s; a recorder might still write the trace: "
                       "copy it to another file system",
                       repair->name, strerror(errno));
}

static int open_trace(struct repair *repair, const char *path, struct problem *problem)
{
    repair->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (repair->directory < 0)
        return problem_set(problem, -errno, "%s: cannot be opened: %s; a trace is a directory",
                           repair->name, strerror(errno));
    int result = trace_numbers_find(repair->directory, repair->name, &repair->numbers, problem);
    if (result == 0)
        result = open_stream(repair, RING_CONTROL, problem);
    if (result == 0)
        result = lock_trace(repair, problem);
    if (result == 0)
        result = open_stream(repair, RING_DATA, problem);
    return result;
}

static int read_records(struct repair *repair, struct source *source, struct problem *problem)
{
    struct event event;
    uint64_t complete;
    int result;

    while ((result = source->next(source, &event, &complete, problem)) == SOURCE_RECORD)
        if (event.header->id == EVENT_END) {
            memcpy(&repair->end, event.header, sizeof(repair->end));
            repair->has_end = true;
        }
    if (result < 0)
        return result;
    repair->state = source->states[0];
    trace_source_counts(source, 0, &repair->records, &repair->lost);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        repair->tails[ring] = trace_source_tail(source, 0, ring);
    return 0;
}

static int read_trace(struct repair *repair, const char *path, struct problem *problem)
{
    struct source *source;
    int result = trace_open(&path, 1, &source, problem);

    if (result < 0)
        return result;
    result = read_records(repair, source, problem);
    trace_close(source);
    return result;
}

static int trim(struct repair *repair, enum ring_id ring, struct problem *problem)
{
    const struct trace_tail *tail = &repair->tails[ring];

    if (tail->partial > 0 && ftruncate(repair->files[ring], (off_t)tail->end) < 0)
        return problem_set(problem, -errno, "%s/%s: the unfinished packet cannot be removed: %s",
                           repair->name, trace_file_names[ring], strerror(errno));
    return 0;
}

static int cannot_write_end(const struct repair *repair, int error, struct problem *problem)
{
    return problem_set(problem, error, "%s/control: END cannot be written: %s", repair->name,
                       strerror(-error));
}

static int correct_end(struct repair *repair, struct problem *problem)
{
    struct end_record end = repair->end;

    end.records = repair->records;
    end.lost = repair->lost;
    end.reason = END_REPAIRED;
    ssize_t written = pwrite(repair->files[RING_CONTROL], &end, sizeof(end),
                             (off_t)repair->tails[RING_CONTROL].last);
    if (written != sizeof(end))
        return cannot_write_end(repair, written < 0 ? -errno : -EIO, problem);
    return 0;
}

/* Fills in a packet that contains only END. */
static void make_end_packet(const struct repair *repair, const uint8_t uuid[TRACE_UUID_SIZE],
                            unsigned char packet[TRACE_PAGE_SIZE])
{
    const struct trace_tail *control = &repair->tails[RING_CONTROL];
    const struct trace_tail *data = &repair->tails[RING_DATA];
    uint64_t time = control->time > data->time ? control->time : data->time;

    /* the last packet may hold only what a file repeats: babeltrace2 needs the next one to begin later */
    time += trace_numbers_last(&repair->numbers) > 0;
    struct end_record end = {
        .header = {.time = time, .id = EVENT_END, .flags = RECORD_NO_STREAM},
        .records = repair->records + 1,
        .lost = repair->lost,
        .reason = END_REPAIRED,
    };

    memcpy(packet + TRACE_CONTENT, &end, sizeof(end));
    struct trace_packet_context *context = trace_packet_finish(
        packet, uuid, RING_CONTROL, TRACE_CONTENT + sizeof(end), TRACE_PAGE_SIZE, time);
    context->packet_seq_num = control->packets;
    context->events_discarded = control->discarded;
    /* This may be another machine. Its clocks do not fit the trace, but the trace's last packet does. */
    context->monotonic = time;
    context->real_time = time + (uint64_t)control->wall_offset;
}

static int add_end(struct repair *repair, struct problem *problem)
{
    uint8_t uuid[TRACE_UUID_SIZE];
    unsigned format;
    int result = trace_metadata_read(repair->directory, repair->name, uuid, &format, problem);

    if (result < 0)
        return result;
    unsigned char *packet = aligned_alloc(TRACE_PAGE_SIZE, TRACE_PAGE_SIZE);
    if (packet == NULL)
        return cannot_write_end(repair, -ENOMEM, problem);
    make_end_packet(repair, uuid, packet);
    result = trace_packet_write(repair->files[RING_CONTROL], packet, TRACE_PAGE_SIZE,
                                repair->tails[RING_CONTROL].end);
    free(packet);
    return result < 0 ? cannot_write_end(repair, result, problem) : 0;
}

static int mend(struct repair *repair, struct trace_repair *ret_repair, struct problem *problem)
{
    int result = trim(repair, RING_DATA, problem);

    if (result == 0)
        result = trim(repair, RING_CONTROL, problem);
    if (result == 0 && !repair->has_end)
        result = add_end(repair, problem);
    else if (result == 0 && !repair->state.complete)
        result = correct_end(repair, problem);
    if (result < 0)
        return result;
    ret_repair->trimmed = repair->tails[RING_DATA].partial + repair->tails[RING_CONTROL].partial;
    ret_repair->end_written = !repair->state.complete;
    ret_repair->end_corrected = repair->has_end && !repair->state.complete;
    ret_repair->lost = repair->state.lost;
    ret_repair->skipped = repair->state.skipped;
    return 0;
}

static void close_trace(struct repair *repair)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        if (repair->files[ring] >= 0)
            close(repair->files[ring]);
    if (repair->directory >= 0)
        close(repair->directory);
}

int trace_repair(const char *path, struct trace_repair *ret_repair, struct problem *problem)
{
    struct repair repair = {.directory = -1, .files = {-1, -1}};

    trace_name(path, repair.name);
    int result = open_trace(&repair, path, problem);
    if (result == 0)
        result = read_trace(&repair, path, problem);
    if (result == 0)
        result = mend(&repair, ret_repair, problem);
    close_trace(&repair);
    return result;
}
