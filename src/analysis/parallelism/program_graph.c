/* SPDX-License-Identifier: MIT */
/*
 * program_graph.c: from the causal stream to the program history graph: what each event makes longer.
 *
 *      event   -- CPU time since the stream's last event ----------o
 *      edges   -- a message, buffer space, a creation ... ---------'   the longest counts
 *      outside -- elapsed time, if nothing metered explains a wait
 */
#include "analysis/parallelism/graph_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and freeing ---- */

/* Prepares for the events of this history. */
static void listen_to(struct graph *graph, struct history *history)
{
    size_t lengths = graph->lengths * sizeof(uint64_t);

    graph->history = history;
    graph->value =
        history_keep_values(history, sizeof(struct reached) + lengths, METER_EVENT_FLAGS);
    history_find_rooms(history);
}

static bool has_delays(const struct delays *delays)
{
    return delays->local.count > 0 || delays->remote.count > 0 || delays->between_count > 0;
}

/* Without delays, on machines as fast as those of the recording, step delay is step max. */
static bool needs_lengths(const struct parallelism_options *options)
{
    bool needs = has_delays(&options->delays);

    for (size_t i = 0; i < options->assignment_count; i++) {
        const struct assignment *assignment = &options->assignments[i];
        for (size_t k = 0; assignment->kind == ASSIGNED && k < assignment->machine_count; k++)
            needs = needs || assignment->machines[k].speed != 1;
    }
    return needs;
}

int graph_init(struct graph *graph, const struct parallelism_options *options,
               struct history *history, struct parallelism *result, struct problem *problem)
{
    size_t count = options->assignment_count;
    int made = 0;

    *graph = (struct graph){
        .options = options,
        .result = result,
        .lengths = needs_lengths(options) ? 1 + (uint32_t)count : 1,
        .has_delays = has_delays(&options->delays),
        .keeps = options->sharing,
        .stretches = {.file = -1},
        .moments = {.file = -1},
    };
    size_t lengths = graph->lengths * sizeof(uint64_t);
    graph->streams.size = sizeof(struct graph_stream) + lengths;
    graph->chains.size = sizeof(struct chain) + lengths;
    graph->requests.size = sizeof(struct request) + lengths;
    graph->longest = calloc(graph->lengths, sizeof(*graph->longest));
    graph->arrive = calloc(graph->lengths, sizeof(*graph->arrive));
    graph->placed = calloc(count + 1, sizeof(*graph->placed));
    graph->here = calloc(1, sizeof(*graph->here) + lengths);
    if (graph->longest == NULL || graph->arrive == NULL || graph->here == NULL ||
        graph->placed == NULL)
        made = -ENOMEM;
    for (size_t i = 0; i < count && made == 0; i++)
        made = placed_init(&graph->placed[i], &options->assignments[i], &options->delays);
    if (made < 0)
        return problem_set(problem, made, "out of memory");
    listen_to(graph, history);
    if (options->other_load == OTHER_LOAD_SEEN)
        made = other_load_open(graph, problem);
    return made == 0 && graph->keeps
               ? stretches_open(&graph->stretches, options->directory, problem)
               : made;
}

static void forget_everybody(struct graph *graph)
{
    lookup_done(&graph->stream_numbers);
    lookup_done(&graph->process_numbers);
    lookup_done(&graph->process_chains);
    lookup_done(&graph->paths);
    pool_done(&graph->streams);
    pool_done(&graph->chains);
    pool_done(&graph->requests);
}

void graph_done(struct graph *graph)
{
    for (size_t i = 0; graph->placed != NULL && i < graph->options->assignment_count; i++)
        placed_done(&graph->placed[i]);
    forget_everybody(graph);
    lookup_done(&graph->turn_rows);
    stretches_close(&graph->stretches);
    scratch_close(&graph->moments);
    free(graph->turn_places);
    free(graph->result_again.processes);
    free(graph->placed);
    free(graph->origins);
    free(graph->machines);
    free(graph->starts);
    free(graph->longest);
    free(graph->arrive);
    free(graph->here);
}

void graph_replay(struct graph *graph, struct history *again, see_stretch_function *see,
                  void *context)
{
    size_t streams = graph->streams.size, chains = graph->chains.size,
           requests = graph->requests.size;

    forget_everybody(graph);
    graph->stream_numbers = graph->process_numbers = (struct lookup){0};
    graph->process_chains = graph->paths = (struct lookup){0};
    graph->streams = (struct pool){.size = streams};
    graph->chains = (struct pool){.size = chains};
    graph->requests = (struct pool){.size = requests};
    memset(graph->recent, 0, sizeof(graph->recent));
    graph->ended_first = graph->ended_count = 0;
    graph->machine_count = graph->chain_count = graph->replayed = 0;
    graph->process_room = 0;
    if (graph->origin_room > 0)
        memset(graph->origins, 0, graph->origin_room * sizeof(*graph->origins));
    graph->command = (struct command_seen){0};
    graph->result = &graph->result_again;
    graph->again = true;
    graph->see = see;
    graph->context = context;
    listen_to(graph, again);
}

/* ---- events ---- */

static void leave_out(const struct graph *graph, const struct history_event *event)
{
    if (event->value != NULL)
        graph_value(graph, event->value)->process = NO_PROCESS_NUMBER;
}

static int add_identity(struct graph *graph, const struct event *event)
{
    int result =
        graph_note_identity(graph, event->origin, (const struct stream_record *)event->header);

    if (result == 0)
        graph_note_time(graph, event);
    return result;
}

int graph_add(struct graph *graph, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint32_t origin = event->event.origin;
    unsigned id = record->header.id;

    graph->answers = false;
    if (id == EVENT_MACHINE)
        return graph_note_machine(graph, origin,
                                  (const struct machine_record *)event->event.header);
    if (id == EVENT_FLAGS && origin < graph->origin_room)
        graph_note_flags(graph, origin, &record->header);
    if (id == EVENT_STREAM)
        return record->header.stream == 0 ? 0 : add_identity(graph, &event->event);
    if (id == EVENT_DESTROYPATH)
        graph_forget_path(graph, origin, record->message.path);
    if (!event_is_metered(id) || (record->header.flags & RECORD_NO_STREAM) ||
        record->header.stream == 0) {
        leave_out(graph, event);
        return other_load_add(graph, &event->event);
    }
    struct graph_stream *stream = graph_find_or_add_stream(graph, origin, record->header.stream);
    if (stream == NULL || array_reserve(&graph->origins, &graph->origin_room, (size_t)origin + 1,
                                        sizeof(*graph->origins)) < 0)
        return -ENOMEM;
    if (stream->process == NO_PROCESS_NUMBER - 1) {
        int64_t process = graph_find_or_add_process(graph, origin, record->header.stream, NULL);
        if (process < 0)
            return -ENOMEM;
        stream->process = (uint32_t)process;
    }
    if (stream->process == NO_PROCESS_NUMBER || stream->ended) {
        leave_out(graph, event);
        return 0;
    }
    int result = other_load_add(graph, &event->event);
    return result < 0 ? result : graph_add_event(graph, stream, event);
}

int graph_finish(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->streams.used; i++) {
        struct graph_stream *stream = pool_at(&graph->streams, i);
        if (graph_add_rest(graph, stream) < 0)
            return -ENOMEM;
        if (stream->chain == 0)
            continue;
        int64_t last = graph_end_here(graph, graph_chain_of(graph, stream));
        if (last < 0)
            return (int)last;
        graph_count_life(graph, stream);
        graph_end_chain(graph, graph_chain_of(graph, stream));
    }
    graph->result->stretches = graph->stretches.count;
    return graph->again && graph->replayed != graph->stretches.count ? -ESTALE : 0;
}

int graph_explain(int error, struct problem *problem)
{
    const char *text = strerror(-error);

    switch (error) {
    case -ENOMEM:
        return problem_set(problem, error, "out of memory");
    case -ESTALE:
        return problem_set(problem, error, "the traces have changed while they were read");
    default:
        return problem_set(problem, error, "the copy of the graph: %s; set TMPDIR", text);
    }
}
