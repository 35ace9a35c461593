/* SPDX-License-Identifier: MIT */
/*
 * waiting.c: lets events wait for each other, some at a time, before they are counted. See statistics_private.h.
 *
 *      all that wait:  path --> use and other end --> latest values and queue --> messages    fetched
 *      each:           counted (events.c)
 *
 * What each of them needs stands somewhere else in memory: when it is fetched for all at the same time, that takes
 * hardly longer than for one.
 */
#include "analysis/statistics/queues.h"

#include <string.h>

/* The path that an event uses; NULL: none that is known. It stays known until all that wait are counted. */
static inline struct statistics_path *find_path(const struct statistics *statistics,
                                                struct waiting_event *event)
{
    event->path = record_uses_path(&event->record)
                      ? number_table_find(&statistics->path_numbers, event->origin,
                                          event->record.message.path)
                      : LOOKUP_NONE;
    return event->path == LOOKUP_NONE ? NULL : path_at(statistics, event->path);
}

/* The queue that a message is put into or taken from, most likely. */
static struct queue *queue_of(const struct statistics *statistics,
                              const struct statistics_path *path, const struct record *record)
{
    if (path == NULL || statistics->counts_only ||
        (record->header.id == EVENT_RECEIVE && path->partner == NO_END))
        return NULL;
    const struct statistics_path *sender =
        record->header.id == EVENT_RECEIVE ? path_at(statistics, path->partner) : path;
    return queue_at(statistics, sender->outgoing);
}

/* Each step reads what the one before has fetched. */
static void fetch_all(struct statistics *statistics)
{
    struct waiting_events *waiting = &statistics->waiting;
    const struct statistics_path *paths[WAITING_MOST];
    const struct queue *queues[WAITING_MOST];

    for (uint32_t i = 0; i < waiting->count; i++) {
        struct waiting_event *event = &waiting->list[i];
        event->stream = number_table_find(&statistics->stream_numbers, event->origin,
                                          event->record.header.stream);
        paths[i] = find_path(statistics, event);
        fetch(paths[i], 1);
    }
    for (uint32_t i = 0; i < waiting->count; i++) {
        const struct statistics_path *path = paths[i];
        fetch(path == NULL ? NULL : use_at(statistics, path->last_used), 1);
        if (path != NULL && path->partner != NO_END && !statistics->counts_only)
            fetch(path_at(statistics, path->partner), 1);
    }
    for (uint32_t i = 0; i < waiting->count; i++) {
        const struct statistics_use *use =
            paths[i] == NULL ? NULL : use_at(statistics, paths[i]->last_used);
        const struct use_latest *latest = use == NULL ? NULL : latest_of(statistics, use);
        fetch(latest, 1);
        fetch(latest == NULL ? NULL : &latest->values[use->latest_count], 1);
        queues[i] = queue_of(statistics, paths[i], &waiting->list[i].record);
        fetch(queues[i], 2);
    }
    for (uint32_t i = 0; i < waiting->count; i++)
        if (queues[i] != NULL && queues[i]->messages != NULL)
            fetch(&queues[i]->messages[queues[i]->first], 1);
}

int statistics_bring_in(struct statistics *statistics)
{
    struct waiting_events *waiting = &statistics->waiting;
    int result = 0;

    fetch_all(statistics);
    for (uint32_t i = 0; result == 0 && i < waiting->count; i++)
        result = statistics_add_event(statistics, &waiting->list[i]);
    waiting->count = 0;
    return result == 0 && statistics_have_ended_enough(statistics) ? statistics_fold(statistics)
                                                                   : result;
}

int statistics_let_wait(struct statistics *statistics, const struct event *event)
{
    struct waiting_event *last = &statistics->waiting.list[statistics->waiting.count++];

    memcpy(&last->record, event->header, sizeof(last->record));
    last->origin = event->origin;
    return statistics->waiting.count < WAITING_MOST ? 0 : statistics_bring_in(statistics);
}
