/* SPDX-License-Identifier: MIT */
/*
 * events.c: counts an event for its stream, its process, and the path that it speaks of. See statistics_private.h.
 *
 *      record --> stream, process: CPU time, where it was sent from, how long it waited (waits.c)
 *            '--> path, use:       what was sent and received (messages.c), what is in the queue (queues.c)
 */
#include "analysis/statistics/queues.h"

#include <errno.h>

/* ---- what it speaks of ---- */

/* When it happened, by the first origin's clock. */
static uint64_t common_time(const struct statistics *statistics, uint32_t origin,
                            const struct record *record)
{
    bool has_span = record->header.id <= EVENT_RECEIVE;

    return CLOCK_BASE + record->header.time + (uint64_t)statistics->origins[origin].clock_offset -
           (has_span ? message_span(record) : 0);
}

/* ---- what has ended ---- */

static void end_stream(struct statistics *statistics, struct statistics_stream *stream,
                       const struct record *record, uint64_t time)
{
    struct statistics_process *process = &statistics->processes[stream->process];
    struct communication_process *row = process_row(statistics, stream->process);

    stream->ended = true;
    statistics->lingering += record->termination.last && !process->ended;
    process->ended = process->ended || record->termination.last;
    process->ended_at = time;
    statistics->ended += record->termination.last;
    row->failed_sends += record->termination.failed_sends;
    row->failed_receives += record->termination.failed_receives;
}

static int end_path(struct statistics *statistics, uint32_t origin, uint32_t number, uint64_t time)
{
    uint32_t index = number_table_find(&statistics->path_numbers, origin, number);

    if (index == LOOKUP_NONE)
        return 0;
    joiner_destroyed(&statistics->joiner, index);
    struct statistics_path *path = path_at(statistics, index);
    path->closed = time;
    queue_leaves(statistics, queue_at(statistics, path->incoming));
    if (path->partner != NO_END)
        queue_leaves(statistics,
                     queue_at(statistics, path_at(statistics, path->partner)->outgoing));
    statistics->ended++;
    return indexes_add(&statistics->ended_paths, index);
}

/* The more is looked at the dearer it is: all that lives, once processes have ended; else ends that wait. */
bool statistics_have_ended_enough(const struct statistics *statistics)
{
    uint32_t looked_at = statistics->lingering == 0 ? statistics->ended_paths.count
                                                    : statistics->path_numbers.numbers.count;

    return statistics->ended > statistics->limits.ended && statistics->ended > looked_at / 8;
}

/* ---- what it counts for ---- */

/* The kernel has told of what nobody's call took. */
static int add_without_stream(struct statistics *statistics, uint32_t origin,
                              const struct record *record, uint64_t time)
{
    if (record->header.id == EVENT_MESSAGEQUEUED) {
        if (statistics->counts_only)
            return 0;
        int64_t path = statistics_path_index(statistics, origin, record->queued.path);
        return path < 0 ? (int)path : queues_arrived(statistics, (uint32_t)path, record, time);
    }
    if (record->header.id == EVENT_RECEIVE)
        statistics->unseen_bytes += record->message.bytes;
    else if (record->header.id == EVENT_SEND)
        statistics->unseen_sent_bytes += record->message.bytes;
    return 0;
}

static int add_to_stream(struct statistics *statistics, struct statistics_stream *stream,
                         const struct waiting_event *event, uint64_t time)
{
    const struct record *record = &event->record;
    unsigned id = record->header.id;
    int result = 0;

    note_cpu_time(statistics, stream, record_proc_time(&record->header));
    if (id == EVENT_TERMINATION)
        end_stream(statistics, stream, record, time);
    if (!record_is_message(record))
        return 0;
    statistics->unknown_streams += !stream->known;
    result = procedures_count(&statistics->procedures, &stream->recent[id == EVENT_RECEIVE],
                              event->origin, stream->image, record);
    return result < 0 || statistics->interval == 0 || id != EVENT_SEND
               ? result
               : intervals_count(statistics, event->origin, record, time);
}

/* NULL in *ret_use: it is on no path. */
static int find_use(struct statistics *statistics, const struct statistics_stream *stream,
                    const struct waiting_event *event, struct statistics_use **ret_use)
{
    int64_t path = event->path;

    *ret_use = NULL;
    if (!record_uses_path(&event->record))
        return 0;
    if (path == LOOKUP_NONE)
        path = statistics_path_index(statistics, event->origin, event->record.message.path);
    if (path < 0)
        return (int)path;
    *ret_use = statistics_find_use(statistics, (uint32_t)path, stream->process);
    return *ret_use == NULL ? -ENOMEM : 0;
}

static int add_to_use(struct statistics *statistics, struct statistics_use *use,
                      const struct record *record, uint64_t time)
{
    int result =
        record_is_message(record) ? statistics_add_message(statistics, use, record, time) : 0;

    if (result < 0 || statistics->counts_only)
        return result;
    if (record->header.id == EVENT_SEND)
        return queues_sent(statistics, use->path, record, time);
    return record->header.id == EVENT_RECEIVE ? queues_received(statistics, use, record, time) : 0;
}

/* A stream without identity counts as a process of its own: in a process of one stream it is its
 * first, and the identity will find it when it comes late. */
static int add_of_stream(struct statistics *statistics, const struct waiting_event *event,
                         uint64_t time)
{
    const struct record *record = &event->record;
    uint32_t number = record->header.stream;
    int64_t index = event->stream;
    struct statistics_use *use;

    if (index == LOOKUP_NONE)
        index = statistics_stream_index(statistics, event->origin, number, number);
    if (index < 0)
        return (int)index;
    struct statistics_stream *stream = stream_at(statistics, (uint32_t)index);
    if (add_to_stream(statistics, stream, event, time) < 0 ||
        find_use(statistics, stream, event, &use) < 0)
        return -ENOMEM;
    int result = waits_note(statistics, stream, use, record);
    return result < 0 || use == NULL ? result : add_to_use(statistics, use, record, time);
}

int statistics_add_event(struct statistics *statistics, const struct waiting_event *event)
{
    const struct record *record = &event->record;
    uint64_t time = common_time(statistics, event->origin, record);
    int result = 0;

    statistics->events++;
    if (time > statistics->latest_time)
        statistics->latest_time = time;
    if (record->header.id == EVENT_DESTROYPATH)
        result = end_path(statistics, event->origin, record->message.path, time);
    if (result < 0)
        return result;
    return record->header.id == EVENT_MESSAGEQUEUED || record->header.flags & RECORD_NO_STREAM
               ? add_without_stream(statistics, event->origin, record, time)
               : add_of_stream(statistics, event, time);
}
