/* SPDX-License-Identifier: MIT */
/* patterns.c: threads, processes and ends of connections, and what becomes of their events. See patterns.h. */
#include "analysis/patterns/patterns_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads, processes and ends ---- */

static int64_t process_of(struct patterns_analysis *analysis, uint32_t origin, uint32_t stream)
{
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), origin, stream);
    uint32_t number = identity == NULL || identity->process == 0 ? stream : identity->process;
    uint64_t key = number_key(origin, number);
    uint32_t found = lookup_find(&analysis->process_numbers, key);

    if (found != LOOKUP_NONE)
        return found;
    int64_t index = pool_take(&analysis->processes);
    if (index < 0 || lookup_set(&analysis->process_numbers, key, (uint32_t)index) < 0)
        return -ENOMEM;
    *pattern_process_at(analysis, (uint32_t)index) =
        (struct pattern_process){.origin = origin, .number = number};
    return index;
}

struct pattern_thread *pattern_find_thread(const struct patterns_analysis *analysis,
                                           uint32_t origin, uint32_t number)
{
    uint32_t found = lookup_find(&analysis->thread_numbers, number_key(origin, number));

    return found == LOOKUP_NONE ? NULL : pool_at(&analysis->threads, found);
}

static struct pattern_thread *thread_of(struct patterns_analysis *analysis,
                                        const struct event *event)
{
    uint32_t number = event->header->stream;
    struct pattern_thread *thread = pattern_find_thread(analysis, event->origin, number);

    if (thread != NULL)
        return thread;
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), event->origin, number);
    int64_t process = process_of(analysis, event->origin, number);
    int64_t index = process < 0 ? process : pool_take(&analysis->threads);
    if (index < 0 || lookup_set(&analysis->thread_numbers, number_key(event->origin, number),
                                (uint32_t)index) < 0)
        return NULL;
    thread = pool_at(&analysis->threads, (uint32_t)index);
    *thread = (struct pattern_thread){.process = (uint32_t)process,
                                      .number = number,
                                      .parent = identity == NULL ? 0 : identity->parent};
    return thread;
}

/* NULL: there is no such end, or no memory. */
static struct pattern_place *place_of(struct patterns_analysis *analysis, uint32_t end_place)
{
    if (end_place == 0 || array_reserve(&analysis->places, &analysis->place_room, end_place,
                                        sizeof(*analysis->places)) < 0)
        return NULL;
    return &analysis->places[end_place - 1];
}

/* ---- events ---- */

static int end_thread(struct patterns_analysis *analysis, struct pattern_thread *thread)
{
    int result = trips_end_thread(analysis, thread);

    if (result == 0)
        result = naps_end_thread(analysis, thread);
    pools_end_thread(analysis, thread);
    return result;
}

/* Memory is for those that live. */
static int forget(struct patterns_analysis *analysis, const struct history_event *event,
                  struct pattern_thread *thread)
{
    uint64_t key = number_key(event->event.origin, event->event.header->stream);
    uint32_t index = lookup_find(&analysis->thread_numbers, key);
    int result = end_thread(analysis, thread);

    lookup_remove(&analysis->thread_numbers, key);
    pool_give(&analysis->threads, index);
    return result;
}

static int note_message(struct patterns_analysis *analysis, const struct history_event *event,
                        struct pattern_thread *thread)
{
    const struct record *record = (const struct record *)event->event.header;
    struct pattern_place *place = place_of(analysis, event->end_place);

    if (place == NULL)
        return event->end_place == 0 ? 0 : -ENOMEM;
    if (place->side == ASKING_SIDE_NOT_KNOWN)
        place->side =
            (uint8_t)asking_side_of(identities_path(history_identities(analysis->history),
                                                    event->event.origin, record->message.path),
                                    record);
    if (place->side == ASKING_NO_SIDE)
        return 0;
    int result = trips_note_message(analysis, event, thread, place);
    return result < 0 ? result : pools_note_message(analysis, event, thread, place);
}

static int note_connect(struct patterns_analysis *analysis, const struct history_event *event,
                        struct pattern_thread *thread)
{
    struct pattern_place *place = place_of(analysis, event->end_place);

    if (place == NULL)
        return event->end_place == 0 ? 0 : -ENOMEM;
    return trips_note_connect(analysis, event, thread, place);
}

static int add_of_thread(struct patterns_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct pattern_thread *thread = thread_of(analysis, &event->event);

    if (thread == NULL)
        return -ENOMEM;
    int result = naps_note(analysis, event, thread);
    if (result < 0)
        return result;
    switch (record->header.id) {
    case EVENT_SEND:
        return note_message(analysis, event, thread);
    case EVENT_RECEIVE:
        return record->message.bytes == 0 ? 0 : note_message(analysis, event, thread);
    case EVENT_CONNECT:
        return note_connect(analysis, event, thread);
    case EVENT_BLOCK:
    case EVENT_RECEIVECALL:
        pools_note_wait(event, thread);
        return 0;
    case EVENT_TERMINATION:
        return forget(analysis, event, thread);
    default:
        return 0;
    }
}

/* A record that belongs to an end, not to a thread. */
static int add_of_place(struct patterns_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct pattern_place *place = place_of(analysis, event->end_place);

    if (place == NULL)
        return event->end_place == 0 ? 0 : -ENOMEM;
    switch (record->header.id) {
    case EVENT_MESSAGEQUEUED:
        if (place->came == 0)
            place->came = record->header.time;
        return 0;
    case EVENT_NETWORK:
        return trips_note_network(analysis, record, place);
    case EVENT_PATH: { /* repeated, or the index is another end's now */
        uint32_t number = ((const struct path_record *)event->event.header)->path;
        if (place->number != number)
            *place = (struct pattern_place){.number = number};
        return 0;
    }
    default:
        trips_end_path(analysis, place);
        *place = (struct pattern_place){0};
        return 0;
    }
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct patterns_analysis *analysis = self;
    const struct record_header *header = event->event.header;
    int result = 0;

    (void)problem;
    if (record_is_of_thread(header))
        result = add_of_thread(analysis, event);
    if (result == 0 && (header->id == EVENT_MESSAGEQUEUED || header->id == EVENT_NETWORK ||
                        header->id == EVENT_PATH || header->id == EVENT_DESTROYPATH))
        result = add_of_place(analysis, event);
    return result;
}

struct analysis patterns_analysis(struct patterns_analysis *analysis)
{
    return (struct analysis){"the patterns", analysis, add};
}

/* ---- the whole ---- */

int patterns_new(struct history *history, struct patterns_analysis **ret_analysis)
{
    struct patterns_analysis *analysis = calloc(1, sizeof(*analysis));

    if (analysis == NULL)
        return -ENOMEM;
    analysis->history = history;
    analysis->threads.size = sizeof(struct pattern_thread);
    analysis->processes.size = sizeof(struct pattern_process);
    *ret_analysis = analysis;
    return 0;
}

static void free_exchange(struct exchange_row *row)
{
    histogram_done(&row->trips);
    histogram_done(&row->each);
    histogram_done(&row->resent_times);
}

void patterns_analysis_free(struct patterns_analysis *analysis)
{
    if (analysis == NULL)
        return;
    for (uint32_t i = 0; i < analysis->exchange_keys.count; i++)
        free_exchange(&analysis->exchanges[i].row);
    for (size_t i = 0; i < analysis->pool_count; i++)
        histogram_done(&analysis->pools[i].row.waits);
    lookup_done(&analysis->thread_numbers);
    lookup_done(&analysis->process_numbers);
    pool_done(&analysis->threads);
    pool_done(&analysis->processes);
    intern_done(&analysis->exchange_keys);
    free(analysis->places);
    free(analysis->exchanges);
    free(analysis->pools);
    free(analysis->naps);
    arena_done(&analysis->memory);
    free(analysis);
}

/* Rows move, so that what they own is freed with the result. */
static void take_exchanges(struct patterns_analysis *analysis, struct patterns *patterns)
{
    for (uint32_t i = 0; i < analysis->exchange_keys.count; i++) {
        struct exchange_state *state = &analysis->exchanges[i];
        struct exchange_row *row = &patterns->exchanges[patterns->exchange_count++];
        int64_t process = process_of(analysis, state->row.origin, state->row.stream);
        *row = state->row;
        row->serves = process < 0 || pattern_process_at(analysis, (uint32_t)process)->serves;
        row->trips_covered = covered_time(&state->trips);
        row->many_covered = covered_time(&state->many);
        row->setup_covered = covered_time(&state->setup);
        row->connect_covered = covered_time(&state->connecting);
        row->resent_covered = covered_time(&state->resent);
        state->row = (struct exchange_row){0};
    }
}

static void take_pools(struct patterns_analysis *analysis, struct patterns *patterns)
{
    for (size_t i = 0; i < analysis->pool_count; i++) {
        struct pool_row *row = &patterns->pools[patterns->pool_count++];
        *row = analysis->pools[i].row;
        row->waited = covered_time(&analysis->pools[i].waited);
        analysis->pools[i].row = (struct pool_row){0};
    }
}

static int end_threads(struct patterns_analysis *analysis)
{
    int result = 0;

    for (uint32_t i = 0; i < analysis->threads.used && result == 0; i++) {
        struct pattern_thread *thread = pool_at(&analysis->threads, i);
        if (thread->number != 0)
            result = end_thread(analysis, thread);
    }
    return result;
}

int patterns_finish(struct patterns_analysis *analysis, struct patterns **ret_patterns)
{
    int result = end_threads(analysis);
    struct patterns *patterns = calloc(1, sizeof(*patterns));

    if (patterns != NULL) {
        patterns->exchanges =
            calloc(analysis->exchange_keys.count + 1UL, sizeof(*patterns->exchanges));
        patterns->pools = calloc(analysis->pool_count + 1, sizeof(*patterns->pools));
        patterns->naps = calloc(analysis->nap_count + 1, sizeof(*patterns->naps));
    }
    if (result < 0 || patterns == NULL || patterns->exchanges == NULL || patterns->pools == NULL ||
        patterns->naps == NULL) {
        patterns_free(patterns);
        return -ENOMEM;
    }
    take_exchanges(analysis, patterns);
    take_pools(analysis, patterns);
    if (analysis->nap_count > 0)
        memcpy(patterns->naps, analysis->naps, analysis->nap_count * sizeof(*patterns->naps));
    patterns->nap_count = analysis->nap_count;
    patterns->memory = analysis->memory;
    analysis->memory = (struct arena){0};
    *ret_patterns = patterns;
    return 0;
}

void patterns_free(struct patterns *patterns)
{
    if (patterns == NULL)
        return;
    for (size_t i = 0; i < patterns->exchange_count; i++)
        free_exchange(&patterns->exchanges[i]);
    for (size_t i = 0; i < patterns->pool_count; i++)
        histogram_done(&patterns->pools[i].waits);
    free(patterns->exchanges);
    free(patterns->pools);
    free(patterns->naps);
    arena_done(&patterns->memory);
    free(patterns);
}
