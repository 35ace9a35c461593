/* SPDX-License-Identifier: MIT */
/*
 * causality.c: paths of causality, event by event. See causality.h, and causality_private.h for its parts.
 *
 *      history --> causality_add --+--> SEND, SENDCALL  causality_sending.c
 *                                  +--> RECEIVE         causality_receiving.c
 *                                  '--> participants    causality_parties.c
 *              --> causality_finish --> struct causality causality_result.c
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and freeing ---- */

static void set_defaults(struct causality_options *options)
{
    if (options->length == 0)
        options->length = CAUSALITY_LENGTH_MOST;
    if (options->context == 0)
        options->context = 2;
}

int causality_new(struct history *history, const struct causality_options *options,
                  struct causality_analysis **ret_analysis)
{
    struct causality_analysis *analysis = calloc(1, sizeof(*analysis));

    if (analysis == NULL)
        return -ENOMEM;
    analysis->options = *options;
    analysis->history = history;
    set_defaults(&analysis->options);
    analysis->moments.wanted = options->moments;
    analysis->processes.size = sizeof(struct causality_live_process);
    analysis->streams.size = sizeof(struct causality_stream);
    analysis->ends.size = sizeof(struct causality_end);
    analysis->steps.size = sizeof(struct step);
    analysis->requests.size = sizeof(struct request);
    analysis->slow = calloc(options->slowest + 1UL, sizeof(*analysis->slow));
    if (analysis->slow == NULL || strings_init(&analysis->strings) < 0) {
        causality_analysis_free(analysis);
        return -ENOMEM;
    }
    analysis->value = history_keep_values(history, sizeof(struct sent_value),
                                          EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) |
                                              EVENT_FLAG(EVENT_CREATEPROCESS));
    *ret_analysis = analysis;
    return 0;
}

void causality_analysis_free(struct causality_analysis *analysis)
{
    if (analysis == NULL)
        return;
    for (uint32_t i = 0; i < analysis->slow_count; i++) {
        free(analysis->slow[i].steps);
        free(analysis->slow[i].letters);
    }
    free(analysis->slow);
    pools_done(analysis);
    strings_done(&analysis->strings);
    moments_done(&analysis->moments);
    for (uint32_t i = 0; i < analysis->streams.used; i++)
        free(((struct causality_stream *)pool_at(&analysis->streams, i))->past);
    pool_done(&analysis->processes);
    pool_done(&analysis->streams);
    pool_done(&analysis->ends);
    pool_done(&analysis->steps);
    pool_done(&analysis->requests);
    lookup_done(&analysis->process_numbers);
    lookup_done(&analysis->stream_numbers);
    lookup_done(&analysis->end_numbers);
    free(analysis->stream_places.at);
    free(analysis->end_places.at);
    lookup_done(&analysis->program_letters);
    free(analysis->members);
    free(analysis->extents);
    free(analysis);
}

/* ---- events ---- */

/* A new process or thread continues what its creator was doing. */
static void create(struct causality_analysis *analysis, const struct causality_event *at)
{
    struct sent_value *value = causality_value(analysis, at->event->value);

    if (value == NULL || step_of(analysis, at->stream->current) == NULL)
        return;
    value->kind = SENT_STEP;
    value->step = at->stream->current;
    value->member = at->process->index;
}

static void note_creation(const struct causality_analysis *analysis,
                          const struct causality_event *at)
{
    for (uint32_t i = 0; i < at->event->edge_count; i++) {
        const struct history_edge *edge = &at->event->edges[i];
        const struct sent_value *value = causality_value(analysis, edge->value);
        if (edge->kind != EDGE_CREATION || value == NULL || value->kind != SENT_STEP)
            continue;
        if (value->member == at->process->index)
            at->stream->current = value->step;
        else
            at->stream->inherited = value->step;
    }
}

static int add_of_stream(struct causality_analysis *analysis, const struct history_event *event)
{
    struct causality_event at;

    if (parties_find(analysis, event, &at) < 0)
        return -ENOMEM;
    if (event->edge_count > 0)
        note_creation(analysis, &at);
    switch (at.record->header.id) {
    case EVENT_SEND:
    case EVENT_SENDCALL:
        return causality_sent(analysis, &at);
    case EVENT_RECEIVE:
        return causality_received(analysis, &at);
    case EVENT_CONNECT:
        return causality_connected(analysis, &at);
    case EVENT_CREATEPROCESS:
        create(analysis, &at);
        return 0;
    case EVENT_TERMINATION:
        parties_forget_stream(analysis, event->event.origin, at.record->header.stream,
                              at.record->termination.last);
        return 0;
    default:
        return 0;
    }
}

static bool has_stream(const struct record_header *header)
{
    return !(header->flags & RECORD_NO_STREAM) && header->stream != 0;
}

/* Updates first and last time of its origin. */
static int note_extent(struct causality_analysis *analysis, const struct event *event)
{
    if (event->origin >= analysis->extent_count) {
        if (array_reserve(&analysis->extents, &analysis->extent_capacity, event->origin + 1UL,
                          sizeof(*analysis->extents)) < 0)
            return -ENOMEM;
        analysis->extent_count = event->origin + 1;
    }
    struct causality_extent *extent = &analysis->extents[event->origin];
    if (extent->first == 0 || event->header->time < extent->first)
        extent->first = event->header->time;
    if (event->header->time > extent->last)
        extent->last = event->header->time;
    return 0;
}

int causality_add(struct causality_analysis *analysis, const struct history_event *event)
{
    const struct record_header *header = event->event.header;
    bool of_stream = has_stream(header);

    if (note_extent(analysis, &event->event) < 0)
        return -ENOMEM;
    analysis->sums.events += event_is_metered(header->id);
    switch (header->id) {
    case EVENT_SEND:
    case EVENT_SENDCALL:
    case EVENT_RECEIVE:
    case EVENT_CONNECT:
    case EVENT_CREATEPROCESS:
    case EVENT_TERMINATION:
        return of_stream ? add_of_stream(analysis, event) : 0;
    case EVENT_DESTROYPATH:
        return parties_forget_end(analysis, event->event.origin,
                                  ((const struct record *)header)->message.path);
    case EVENT_STREAM:
        return parties_renamed(analysis, event);
    default:
        /* the first event of a new stream has the edge from its creator */
        return of_stream && event_is_created(event) ? add_of_stream(analysis, event) : 0;
    }
}

/* ---- the result ---- */

static void sum_up(const struct causality_analysis *analysis, uint32_t origins,
                   struct causality *result)
{
    result->traces = origins;
    result->complete = true;
    for (uint32_t i = 0; i < origins; i++) {
        const struct source_state *state = history_state(analysis->history, i);
        result->lost += state->lost;
        result->complete = result->complete && source_is_whole(state);
    }
    for (uint32_t i = 0; i < analysis->extent_count; i++) {
        uint64_t duration = analysis->extents[i].last - analysis->extents[i].first;
        if (duration > result->duration)
            result->duration = duration;
    }
    history_counts(analysis->history, &result->matching);
}

int causality_finish(struct causality_analysis *analysis, uint32_t origins,
                     struct causality **ret_causality)
{
    struct causality *result = calloc(1, sizeof(*result));

    if (result == NULL || requests_finish(analysis) < 0) {
        free(result);
        return -ENOMEM;
    }
    *result = analysis->sums;
    result->length = analysis->options.length;
    result->context = analysis->options.context;
    result->moments_begin = analysis->moments.begin;
    result->moment_width = analysis->moments.wanted ? analysis->moments.width : 0;
    result->by_program = analysis->options.by_program;
    result->each_send = analysis->options.each_send;
    result->last = analysis->options.last;
    sum_up(analysis, origins, result);
    if (causality_build(analysis, result) < 0 || causality_build_substrings(analysis, result) < 0 ||
        causality_build_transitions(analysis, result) < 0) {
        causality_free(result);
        return -ENOMEM;
    }
    *ret_causality = result;
    return 0;
}

void causality_free(struct causality *causality)
{
    if (causality == NULL)
        return;
    for (size_t i = 0; i < causality->path_count; i++)
        histogram_done(&causality->paths[i].latency);
    free(causality->processes);
    free(causality->paths);
    free(causality->substrings);
    free(causality->transitions);
    free(causality->entries);
    free(causality->slowest);
    for (size_t i = 0; i < causality->pool_count; i++)
        histogram_done(&causality->pools[i].waits);
    free(causality->pools);
    arena_done(&causality->memory);
    free(causality);
}

static int add_event(void *analysis, const struct history_event *event, struct problem *problem)
{
    (void)problem; /* analyses_read reports that memory ran out */
    return causality_add(analysis, event) < 0 ? -ENOMEM : 0;
}

struct analysis causality_analysis(struct causality_analysis *analysis)
{
    return (struct analysis){"the paths of causality", analysis, add_event};
}

int causality_read_history(struct history *history, uint32_t origins,
                           const struct causality_options *options,
                           struct causality **ret_causality, struct problem *problem)
{
    struct causality_analysis *analysis = NULL;

    if (causality_new(history, options, &analysis) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    const struct analysis reads = causality_analysis(analysis);
    int result = analyses_read_all(history, &reads, 1, problem);
    if (result == 0 && causality_finish(analysis, origins, ret_causality) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory for the paths of causality");
    causality_analysis_free(analysis);
    return result;
}
