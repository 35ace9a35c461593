/* SPDX-License-Identifier: MIT */
/*
 * graph_arcs.c: what leads to an event besides its own stream's CPU time: edges of the history, answers from
 * unmonitored peers, and sleep that nothing metered explains.
 *
 *      edges    --+
 *      outside  --+--> how far along each longest path the event is (graph->arrive), and stretches that wait
 *      asleep   --+
 */
#include "analysis/parallelism/graph_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- arcs ---- */

/* Adds an arc to all lengths. `weight`: bytes for MESSAGE, ns for SINCE; for others, how long it slept. */
static int add_arc(struct graph *graph, struct arrival *arrival, const struct reached *from,
                   enum stretch_wait wait, uint64_t weight)
{
    const struct parallelism_options *options = graph->options;
    uint64_t most[2] = {from->length[0], 0};

    most[1] = wait == STRETCH_SINCE ? weight : 0;
    if (most[0] + most[1] > graph->arrive[0])
        graph->arrive[0] = most[0] + most[1];
    for (uint32_t i = 1; i < graph->lengths; i++) {
        const struct placed *placed = &graph->placed[i - 1];
        uint64_t delay = most[1];
        if (wait == STRETCH_MESSAGE || wait == STRETCH_SIGNAL)
            delay = placed_delay(placed, &options->delays,
                                 graph_machine_of(graph, placed, from->process),
                                 graph_machine_of(graph, placed, arrival->chain->process),
                                 wait == STRETCH_MESSAGE ? weight : 0);
        if (from->length[i] + delay > graph->arrive[i])
            graph->arrive[i] = from->length[i] + delay;
    }
    if (from->stretch == 0)
        return 0;
    int64_t added = graph_add_stretch(graph, arrival->chain, wait, from->stretch - 1, weight);
    return added < 0 ? (int)added : 0;
}

/* Whether this can have ended the wait. */
static bool may_have_woken(const struct arrival *arrival, const struct history_edge *edge);

/* How long the stream slept, if the edge may have ended that. */
static uint64_t waited_for(const struct arrival *arrival, const struct history_edge *edge)
{
    if (!may_have_woken(arrival, edge))
        return 0;
    return edge->earlier ? arrival->waited_before : arrival->waited;
}

static int add_message_arc(struct graph *graph, struct arrival *arrival,
                           const struct history_edge *edge)
{
    const struct reached *from = graph_value(graph, edge->value);

    graph->result->messages++;
    graph->result->ordered += edge->kind == EDGE_ORDERED;
    graph->result->inferred += edge->kind == EDGE_INFERRED;
    int result = add_arc(graph, arrival, from, STRETCH_MESSAGE, edge->bytes);
    if (result == 0 && from->stretch != 0 && graph->keeps && !graph->again)
        graph->stretches.at[arrival->chain->last - 1].meets = waited_for(arrival, edge) > 0;
    return result;
}

void graph_count_wait(struct waits *waits, struct covered *covered, const struct arrival *arrival,
                      uint64_t end, uint64_t time)
{
    uint64_t to = end + (uint64_t)arrival->event->event.wall_offset;

    waits->count++;
    waits->time += time;
    covered_add(covered, to - time, to);
    waits->covered = covered_time(covered);
}

/*
 * A stream that slept until the end of a file waited for what the sender did after its latest event. Nothing records
 * that but the time it took. Unknown, too, if clocks may differ, or other threads of its process are in the same chain.
 */
static uint64_t time_until_end(const struct graph *graph, const struct arrival *arrival,
                               const struct graph_stream *sender, const struct history_edge *edge)
{
    bool alone = graph->options->threads || graph->result->processes[sender->process].streams == 1;
    uint64_t when = arrival->event->when;

    return alone && arrival->slept && !arrival->woken && edge->origin == arrival->stream->origin &&
                   when > edge->time
               ? stretch_whole_time(when - edge->time)
               : 0;
}

/* For the end of a file: an arc from the sender's latest event. The same for a wakeup whose waker has terminated. */
static int add_end_arc(struct graph *graph, struct arrival *arrival,
                       const struct history_edge *edge)
{
    struct graph_stream *sender = graph_find_stream(graph, edge->origin, edge->stream);
    uint64_t time = time_until_end(graph, arrival, sender, edge);

    graph->result->other_arcs++;
    if (sender->ended)
        return add_arc(graph, arrival, &sender->at, STRETCH_ORDER, waited_for(arrival, edge));
    int64_t last = graph_end_here(graph, graph_chain_of(graph, sender));
    if (last < 0)
        return (int)last;
    graph_reach(graph, graph->here, graph_chain_of(graph, sender), (uint32_t)last);
    if (time > 0)
        graph_count_wait(&graph->result->asleep, &graph->asleep, arrival, arrival->event->when,
                         time);
    return add_arc(graph, arrival, graph->here, time == 0 ? STRETCH_ORDER : STRETCH_SINCE,
                   time == 0 ? waited_for(arrival, edge) : time);
}

/* For the first event of a chain that another one has created: the chain begins there. */
static void begin_after(struct graph *graph, const struct arrival *arrival,
                        const struct reached *from)
{
    uint32_t number = arrival->chain->number;

    if (from->stretch == 0 || graph->starts[number].first != NO_STRETCH ||
        graph->stretches.at[from->stretch - 1].chain == number)
        return;
    graph->stretches.at[from->stretch - 1].weight = number + 1;
    graph->starts[number].created = true;
}

static void add_creation(struct graph *graph, const struct arrival *arrival,
                         const struct reached *from)
{
    graph->result->other_arcs++;
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (from->length[i] > arrival->chain->length[i])
            arrival->chain->length[i] = from->length[i];
    if (graph->keeps && !graph->again)
        begin_after(graph, arrival, from);
}

static int add_other_arc(struct graph *graph, struct arrival *arrival,
                         const struct history_edge *edge)
{
    bool signal = edge->kind == EDGE_ROOM || edge->kind == EDGE_CONNECTION;

    graph->result->other_arcs++;
    return add_arc(graph, arrival, graph_value(graph, edge->value),
                   signal ? STRETCH_SIGNAL : STRETCH_ORDER, waited_for(arrival, edge));
}

#define SOON 1000000 /* ns; a message may be slightly older than the wait that it ends */

/*
 * Whether this can have ended the wait. A wait for any of several paths is not ended by an older message. Nor is any
 * wait if its stream has computed for longer than the message is old: then it timed out, or something else had arrived.
 */
static bool may_have_woken(const struct arrival *arrival, const struct history_edge *edge)
{
    const struct graph_stream *stream = arrival->stream;

    if (edge->kind == EDGE_WAKEUP)
        return !edge->earlier || stream->sleeps != AWAKE;
    if (edge->kind == EDGE_FILE)
        return false; /* a read finds what is there */
    if (stream->sleeps == AWAKE || edge->origin != stream->origin)
        return true;
    return edge->time + arrival->cpu <= arrival->event->event.header->time + SOON &&
           (stream->sleeps != WAITS_FOR_ANY || edge->time + SOON >= stream->since);
}

/* Whether the edge begins at the latest event of a stream, of any type: the end of a file, or a wakeup whose waker has
 * terminated. */
static bool begins_at_end(const struct history_edge *edge)
{
    return edge->kind == EDGE_END || (edge->kind == EDGE_WAKEUP && edge->value == NULL);
}

/* Whether the edge begins at an event of the graph. */
static bool is_of_graph(struct graph *graph, const struct arrival *arrival,
                        const struct history_edge *edge)
{
    const struct reached *from = graph_value(graph, edge->value);

    if (begins_at_end(edge)) {
        const struct graph_stream *sender = graph_find_stream(graph, edge->origin, edge->stream);
        return sender != NULL && (sender->chain != 0 || sender->ended) && sender != arrival->stream;
    }
    return from != NULL && from->process != NO_PROCESS_NUMBER;
}

/* Whether the edge is an arc. */
static bool counts(struct graph *graph, const struct arrival *arrival,
                   const struct history_edge *edge)
{
    return (edge_is_message(edge) || !graph->options->messages_only) &&
           is_of_graph(graph, arrival, edge);
}

void graph_look_at_edges(struct graph *graph, struct arrival *arrival)
{
    const struct history_event *event = arrival->event;

    arrival->answered = arrival->woken = arrival->ends_block = arrival->ended_before = false;
    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        if (edge->kind == EDGE_CREATION || !is_of_graph(graph, arrival, edge) ||
            !may_have_woken(arrival, edge))
            continue;
        *(edge->kind == EDGE_WAKEUP ? &arrival->woken : &arrival->answered) = true;
        *(edge->earlier ? &arrival->ended_before : &arrival->ends_block) = true;
    }
    arrival->explained = arrival->answered || arrival->woken;
}

void graph_add_creation(struct graph *graph, const struct arrival *arrival)
{
    const struct history_event *event = arrival->event;

    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].kind == EDGE_CREATION && counts(graph, arrival, &event->edges[i]))
            add_creation(graph, arrival, graph_value(graph, event->edges[i].value));
}

int graph_add_edges(struct graph *graph, struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    int result = 0;

    for (uint32_t i = 0; i < event->edge_count && result >= 0; i++) {
        const struct history_edge *edge = &event->edges[i];
        graph->edge = i;
        if (edge->kind == EDGE_CREATION || !counts(graph, arrival, edge))
            continue;
        if (begins_at_end(edge))
            result = add_end_arc(graph, arrival, edge);
        else if (edge_is_message(edge))
            result = add_message_arc(graph, arrival, edge);
        else
            result = add_other_arc(graph, arrival, edge);
    }
    graph->edge = UINT32_MAX;
    return result;
}

/* ---- unmonitored peers ---- */

static struct request *find_request(const struct graph *graph, uint32_t origin, uint32_t path)
{
    uint32_t found = lookup_find(&graph->paths, number_key(origin, path));

    return found == LOOKUP_NONE ? NULL : pool_at(&graph->requests, found);
}

int graph_note_request(struct graph *graph, const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    uint32_t origin = arrival->stream->origin, path = record->message.path;
    struct request *request = find_request(graph, origin, path);
    int64_t stretch = graph_end_here(graph, arrival->chain);

    if (stretch < 0)
        return (int)stretch;
    if (request == NULL) {
        int64_t index = pool_take(&graph->requests);
        if (index < 0 || lookup_set(&graph->paths, number_key(origin, path), (uint32_t)index) < 0)
            return -ENOMEM;
        request = pool_at(&graph->requests, (uint32_t)index);
    }
    request->number = arrival->event->number;
    request->time = record->header.time;
    request->heard = 0;
    graph_reach(graph, &request->at, arrival->chain, (uint32_t)stretch);
    return 0;
}

void graph_forget_path(struct graph *graph, uint32_t origin, uint32_t path)
{
    uint32_t found = lookup_find(&graph->paths, number_key(origin, path));

    if (found == LOOKUP_NONE)
        return;
    pool_give(&graph->requests, found);
    lookup_remove(&graph->paths, number_key(origin, path));
}

/* Whether the path's peer is a client: its next message is a request, not a reply. */
static bool is_request(const struct graph *graph, const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    const struct path_record *path = identities_path(history_identities(graph->history),
                                                     arrival->stream->origin, record->message.path);
    bool guessed;

    return path != NULL && path_side(path, &guessed) == PATH_SIDE_SERVES;
}

/* All pieces of an answer are one wait. */
static void count_reply(struct graph *graph, const struct arrival *arrival, struct request *request,
                        uint64_t time)
{
    uint64_t came = arrival->event->came;
    uint64_t since_heard = came > request->heard ? came - request->heard : 0;

    graph_count_wait(&graph->result->outside, &graph->outside, arrival, came,
                     time < since_heard ? time : since_heard);
    graph->result->outside.count -= request->heard != 0;
    request->heard = came;
}

int graph_add_outside(struct graph *graph, struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    struct request *request = find_request(graph, arrival->stream->origin, record->message.path);

    uint64_t came = arrival->event->came;
    if (request == NULL || request->at.process != arrival->chain->process || came < request->time)
        return 0;
    uint64_t since = record->header.time - request->time;
    uint64_t awake = arrival->slept ? arrival->cpu : 0; /* counts after the wait */
    since = since > awake ? since - awake : 0;
    /* time in its receive queue is the receiver's */
    uint64_t time = stretch_whole_time(since < came - request->time ? since : came - request->time);
    if (!is_request(graph, arrival))
        count_reply(graph, arrival, request, time);
    arrival->explained = true;
    graph->answers = true;
    graph->answer = (struct outside_arc){request->number, time};
    return add_arc(graph, arrival, &request->at, STRETCH_SINCE, time);
}

int graph_add_sleep(struct graph *graph, struct arrival *arrival, uint64_t time)
{
    struct graph_stream *stream = arrival->stream;
    int64_t added = 0;

    graph_count_wait(&graph->result->asleep, &graph->asleep, arrival,
                     arrival->event->event.header->time - arrival->event->no_cpu.of_block, time);
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (stream->at.length[i] + time > graph->arrive[i])
            graph->arrive[i] = stream->at.length[i] + time;
    if (stream->at.stretch != 0)
        added =
            graph_add_stretch(graph, arrival->chain, STRETCH_SINCE, stream->at.stretch - 1, time);
    else if (graph->options->threads || arrival->chain->last == 0)
        added = graph_add_stretch(graph, arrival->chain, STRETCH_SLEEP, NO_STRETCH, time);
    return added < 0 ? (int)added : 0;
}
