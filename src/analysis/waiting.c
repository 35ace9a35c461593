/* SPDX-License-Identifier: MIT */
/*
 * waiting.c: brings events into the tables, some at a time. See statistics.h.
 *
 *      all that wait:  their streams and paths are found
 *                      --> uses and the other end --> latest values and queues --> messages: fetched
 *      each:           is counted (statistics.c)
 *
 * What each of them needs stands somewhere else in memory: when it is fetched for all at the same time, that takes
 * hardly longer than for one.
 */
#include "analysis/statistics.h"

#include <errno.h>
#include <string.h>

/* A RECEIVECALL of no path waits for any of several. */
static bool uses_path(const struct record *record)
{
    const uint32_t users = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) |
                           EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_RECEIVE) |
                           EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT);

    return (users >> record->header.id & 1) &&
           (record->header.id != EVENT_RECEIVECALL || record->message.path != 0);
}

/* A stream without identity counts as a process of its own: in a process of one stream it is its
 * first, and the identity will find it when it comes late. */
static int find_tables(struct statistics *statistics, struct waiting_event *event)
{
    const struct record *record = &event->record;
    int64_t index;

    event->stream = event->path = NO_END;
    if (record->header.id == EVENT_MESSAGEQUEUED) {
        index = statistics_path_index(statistics, event->origin, record->queued.path);
        event->path = (uint32_t)index;
        return index < 0 ? (int)index : 0;
    }
    if (record->header.flags & RECORD_NO_STREAM)
        return 0;
    index = statistics_stream_index(statistics, event->origin, record->header.stream,
                                    record->header.stream);
    if (index < 0)
        return (int)index;
    event->stream = (uint32_t)index;
    if (!uses_path(record))
        return 0;
    index = statistics_path_index(statistics, event->origin, record->message.path);
    if (index < 0)
        return (int)index;
    event->path = (uint32_t)index;
    __builtin_prefetch(path_at(statistics, (uint32_t)index));
    return 0;
}

/* The use that an event most likely belongs to; NULL: nothing tells. */
static struct statistics_use *likely_use(const struct statistics *statistics,
                                         const struct waiting_event *event)
{
    return event->path == NO_END ? NULL
                                 : use_at(statistics, path_at(statistics, event->path)->last_used);
}

/* The end that sent what an event is about; NULL: it is not metered, or nothing is sent. */
static struct statistics_path *sender_of(const struct statistics *statistics,
                                         const struct waiting_event *event)
{
    unsigned id = event->record.header.id;

    if (event->path == NO_END || (id != EVENT_SEND && id != EVENT_RECEIVE))
        return NULL;
    uint32_t sender = id == EVENT_SEND ? event->path : path_at(statistics, event->path)->partner;
    return sender == NO_END ? NULL : path_at(statistics, sender);
}

/* The queue that an event most likely changes; NULL: none, or nothing tells. */
static struct queue *likely_queue(const struct statistics *statistics,
                                  const struct waiting_event *event)
{
    const struct statistics_path *sender = sender_of(statistics, event);

    return sender == NULL ? NULL : queue_at(statistics, sender->outgoing);
}

#define LINE 64 /* bytes, of the processor's cache */

static void fetch_lines(const void *object, size_t lines)
{
    for (size_t i = 0; object != NULL && i < lines; i++)
        __builtin_prefetch((const char *)object + i * LINE, 1);
}

/* What is behind what was fetched before, for all that wait. */
static void fetch(const struct statistics *statistics)
{
    const struct waiting_events *waiting = &statistics->waiting;

    for (uint32_t i = 0; i < waiting->count; i++) {
        fetch_lines(sender_of(statistics, &waiting->list[i]), 1);
        fetch_lines(likely_use(statistics, &waiting->list[i]), 1);
    }
    for (uint32_t i = 0; i < waiting->count; i++) {
        const struct statistics_use *use = likely_use(statistics, &waiting->list[i]);
        if (use != NULL) {
            const struct use_latest *latest = latest_of(statistics, use);
            fetch_lines(latest, 1);
            fetch_lines(&latest->values[use->latest_count], 1);
        }
        fetch_lines(likely_queue(statistics, &waiting->list[i]), 2);
    }
    for (uint32_t i = 0; i < waiting->count; i++) {
        const struct queue *queue = likely_queue(statistics, &waiting->list[i]);
        if (queue != NULL && queue->messages != NULL)
            fetch_lines(&queue->messages[queue->first], 1);
    }
}

/* The more lives the dearer it is to look at all of it, which is done once processes have ended. */
static bool has_ended_enough(const struct statistics *statistics)
{
    uint32_t looked_at = statistics->lingering == 0 ? 0 : statistics->path_numbers.numbers.count;

    return statistics->ended > statistics->limits.ended && statistics->ended > looked_at / 8;
}

int statistics_bring_in(struct statistics *statistics)
{
    struct waiting_events *waiting = &statistics->waiting;
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < waiting->count; i++)
        result = find_tables(statistics, &waiting->list[i]);
    if (result == 0)
        fetch(statistics);
    for (uint32_t i = 0; result == 0 && i < waiting->count; i++)
        result = statistics_add_event(statistics, &waiting->list[i]);
    waiting->count = 0;
    if (result == 0 && has_ended_enough(statistics))
        result = statistics_fold(statistics);
    return result;
}

int statistics_let_wait(struct statistics *statistics, const struct event *event,
                        int64_t clock_offset)
{
    struct waiting_event *last = &statistics->waiting.list[statistics->waiting.count++];

    memcpy(&last->record, event->header, sizeof(last->record));
    last->origin = event->origin;
    last->wall_offset = event->wall_offset;
    last->clock_offset = clock_offset;
    return statistics->waiting.count < WAITING_MOST ? 0 : statistics_bring_in(statistics);
}
