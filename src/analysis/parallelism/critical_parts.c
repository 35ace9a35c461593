/* SPDX-License-Identifier: MIT */
/*
 * critical_parts.c: what the critical path consists of. Each event is read again and makes the same stretches as
 * before. Those on the path count for their process, procedure and path.
 *
 *      event --> graph (replayed) --stretch 17--> on the path? --> process, PC, arc
 */
#include "analysis/parallelism/critical_path_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void critical_parts_done(struct critical_parts *parts)
{
    intern_done(&parts->pc_keys);
    intern_done(&parts->arc_keys);
    free(parts->pcs);
    free(parts->arcs);
    free(parts->arrived);
}

/* ---- counting ---- */

static uint64_t mix(uint64_t key, uint64_t more)
{
    return hash_bytes(key, &more, sizeof(more));
}

#define MOST_PCS  16384 /* of all processes; CPU time of further ones has no procedure */
#define MOST_ARCS 65536

static int count_pc(struct critical_path_reading *reading, const struct chain *chain, uint64_t cpu)
{
    struct critical_parts *parts = &reading->parts;
    uint64_t key =
        mix(mix(mix(0, chain->pc), (uint64_t)chain->origin << 32 | chain->image), chain->process);
    uint32_t count = parts->pc_keys.count;
    int64_t index =
        count >= MOST_PCS ? intern_find(&parts->pc_keys, key) : intern_add(&parts->pc_keys, key);

    if (index < 0)
        return index == -ENOMEM ? -ENOMEM : 0;
    if (array_reserve(&parts->pcs, &parts->pc_room, (size_t)index + 1, sizeof(*parts->pcs)) < 0)
        return -ENOMEM;
    if (index == count)
        parts->pcs[index] = (struct critical_pc){.pc = chain->pc,
                                                 .origin = chain->origin,
                                                 .image = chain->image,
                                                 .process = chain->process};
    parts->pcs[index].cpu += cpu;
    return 0;
}

static int count_arc(struct critical_path_reading *reading, const struct critical_arcs *arc)
{
    struct critical_parts *parts = &reading->parts;
    uint64_t key = mix(mix(0, (uint64_t)arc->from << 32 | arc->to),
                       (uint64_t)arc->kind << 32 | arc->path_kind);
    uint32_t count = parts->arc_keys.count;
    int64_t index =
        count >= MOST_ARCS ? intern_find(&parts->arc_keys, key) : intern_add(&parts->arc_keys, key);

    if (index < 0)
        return index == -ENOMEM ? -ENOMEM : 0;
    if (array_reserve(&parts->arcs, &parts->arc_room, (size_t)index + 1, sizeof(*parts->arcs)) < 0)
        return -ENOMEM;
    if (index == count) {
        parts->arcs[index] = *arc;
        return 0;
    }
    parts->arcs[index].count += arc->count;
    parts->arcs[index].bytes += arc->bytes;
    parts->arcs[index].delay += arc->delay;
    parts->arcs[index].in_flight += arc->in_flight;
    return 0;
}

/* How long the message of an edge was in flight, as recorded: from its send to its arrival in the queue of the
 * receiver. */
static uint64_t flight_time(struct critical_path_reading *reading,
                            const struct history_event *event, const struct history_edge *edge)
{
    uint64_t arrived = reading->parts.arrived_now, error;
    int64_t offset;

    if (arrived == 0)
        arrived = event->came < event->event.header->time ? event->came : 0;
    if (arrived == 0 || !history_clock_between(reading->again, edge->origin, edge->time,
                                               event->event.origin, &offset, &error)) {
        reading->result->unknown_flights++;
        return 0;
    }
    uint64_t sent = edge->time + (uint64_t)offset;
    uint64_t time = arrived > sent ? arrived - sent : 0;
    reading->result->in_flight += time;
    return time;
}

/* The first message since the last RECEIVE of an end is the one that its receiver waited for. */
static int note_arrival(struct critical_parts *parts, const struct history_event *event)
{
    const struct record_header *header = event->event.header;
    uint32_t place = event->end_place;

    parts->arrived_now = 0;
    if (place == 0 || (header->id != EVENT_MESSAGEQUEUED && header->id != EVENT_RECEIVE &&
                       header->id != EVENT_PATH))
        return 0;
    if (array_reserve(&parts->arrived, &parts->arrived_room, place, sizeof(*parts->arrived)) < 0)
        return -ENOMEM;
    uint64_t *arrived = &parts->arrived[place - 1];
    if (header->id == EVENT_MESSAGEQUEUED) {
        *arrived = *arrived == 0 ? header->time : *arrived;
        return 0;
    }
    parts->arrived_now = header->id == EVENT_RECEIVE ? *arrived : 0;
    *arrived = 0; /* also if the index is another end's from now on */
    return 0;
}

/* Counts an arc of the path to an event. */
static int count_wait(struct critical_path_reading *reading, const struct stretch *stretch,
                      const struct history_event *event, const struct history_edge *edge)
{
    const struct graph *graph = &reading->graph;
    struct critical_path *result = reading->result;
    const struct record *record = (const struct record *)event->event.header;
    uint64_t delay = critical_delay(reading, NULL, stretch);
    uint32_t from = graph->starts[graph->stretches.at[stretch->source].chain].process;

    if (stretch->wait == STRETCH_SINCE) {
        result->outside += delay;
        /* with an edge, the time is that of the other end's process, until it closed a file */
        result->processes[edge == NULL ? graph->starts[stretch->chain].process : from].outside +=
            delay;
        if (edge == NULL)
            return 0;
        delay = 0;
    }
    bool message = stretch->wait == STRETCH_MESSAGE;
    struct critical_arcs arc = {
        .kind = edge == NULL || message ? EDGE_EXACT : edge->kind,
        .from = from,
        .to = graph->starts[stretch->chain].process,
        .count = 1,
        .bytes = message ? stretch->weight : 0,
        .delay = delay,
    };
    const struct path_record *path =
        message ? identities_path(history_identities(graph->history), event->event.origin,
                                  record->message.path)
                : NULL;
    arc.path_kind = path == NULL ? 0 : path->kind;
    result->delay += delay;
    if (message)
        arc.in_flight = flight_time(reading, event, edge);
    return count_arc(reading, &arc);
}

/* Called when the replay comes to a stretch again. */
static int see_stretch(void *context, uint32_t index, const struct chain *chain, uint32_t edge)
{
    struct critical_path_reading *reading = context;
    const struct history_event *event = reading->event;
    const struct place *place = &reading->places[index];
    const struct stretch *stretch = &reading->graph.stretches.at[index];
    struct critical_process *process = &reading->result->processes[chain->process];

    if (index == reading->end)
        reading->end_time = reading->time;
    if (!place->critical)
        return 0;
    reading->critical = true;
    if (place->by_wait) {
        reading->edge = edge;
        return count_wait(reading, stretch, event,
                          edge < event->edge_count ? &event->edges[edge] : NULL);
    }
    process->cpu += stretch->cpu;
    reading->result->cpu += stretch->cpu;
    if (stretch->wait == STRETCH_SLEEP || (!reading->plain && place->rule == ARC_WAITED)) {
        process->outside += stretch_time(stretch);
        reading->result->outside += stretch_time(stretch);
    }
    return stretch->cpu == 0 ? 0 : count_pc(reading, chain, stretch->cpu);
}

/* ---- results ---- */

static int by_cpu(const void *left, const void *right)
{
    const struct critical_procedure *a = left, *b = right;

    return a->cpu < b->cpu ? 1 : a->cpu > b->cpu ? -1 : strcmp(a->name, b->name);
}

static int by_count(const void *left, const void *right)
{
    const struct critical_arcs *a = left, *b = right;

    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to < b->to ? -1 : a->to > b->to);
}

static bool is_same(const struct critical_procedure *a, const struct critical_procedure *b)
{
    return a->process == b->process && strcmp(a->name, b->name) == 0 &&
           strcmp(a->module, b->module) == 0;
}

static void name_procedure(const struct identities *identities, const struct critical_pc *pc,
                           struct critical_procedure *row)
{
    const struct module_record *module = NULL;
    const struct procedure_record *procedure =
        identities_procedure_of(identities, pc->origin, pc->image, pc->pc, &module);

    *row = (struct critical_procedure){.process = pc->process, .cpu = pc->cpu};
    if (module != NULL)
        memcpy(row->module, module->name, MODULE_NAME_SIZE);
    if (procedure != NULL)
        memcpy(row->name, procedure->name, PROCEDURE_NAME_SIZE);
}

static int make_procedures(struct critical_path_reading *reading,
                           const struct identities *identities)
{
    struct critical_path *result = reading->result;
    uint32_t count = reading->parts.pc_keys.count;

    result->procedures = calloc((size_t)count + 1, sizeof(*result->procedures));
    if (result->procedures == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct critical_procedure row;
        size_t k = 0;
        name_procedure(identities, &reading->parts.pcs[i], &row);
        while (k < result->procedure_count && !is_same(&result->procedures[k], &row))
            k++;
        if (k == result->procedure_count)
            result->procedures[result->procedure_count++] = row;
        else
            result->procedures[k].cpu += row.cpu;
    }
    qsort(result->procedures, result->procedure_count, sizeof(*result->procedures), by_cpu);
    return 0;
}

/* ---- the second reading ---- */

void critical_path_again(struct critical_path_reading *reading, struct history *again)
{
    reading->again = again;
    graph_replay(&reading->graph, again, see_stretch, reading);
}

/* A time of an origin by the first origin's clock. */
static uint64_t common_time(const struct critical_path_reading *reading, uint32_t origin,
                            uint64_t time)
{
    uint64_t error;
    int64_t offset = 0;

    if (origin != 0)
        history_clock(reading->again, origin, time, &offset, &error);
    return time + (uint64_t)offset;
}

/* ns from the first event of all traces to the end of the path. */
static uint64_t elapsed_until_end(const struct critical_path_reading *reading)
{
    const struct graph *graph = &reading->graph;
    uint64_t first = reading->end_time;

    for (uint32_t i = 0; i < graph->origin_room; i++) {
        if (graph->origins[i].first == 0)
            continue;
        uint64_t time = common_time(reading, i, graph->origins[i].first);
        if (time < first)
            first = time;
    }
    return reading->end_time - first;
}

int critical_add_again(struct critical_path_reading *reading, const struct history_event *event)
{
    reading->event = event;
    reading->critical = false;
    reading->edge = UINT32_MAX;
    if (note_arrival(&reading->parts, event) < 0)
        return -ENOMEM;
    reading->time = common_time(reading, event->event.origin, event->event.header->time);
    int added = graph_add(&reading->graph, event);
    if (added == 0 && reading->critical)
        reading->result->events++;
    return added;
}

bool critical_path_passes(const struct critical_path_reading *reading, uint32_t *ret_edge)
{
    *ret_edge = reading->edge;
    return reading->critical;
}

bool critical_path_answers(const struct critical_path_reading *reading, struct outside_arc *ret_arc)
{
    *ret_arc = reading->graph.answer;
    return reading->graph.answers;
}

static int make_result(struct critical_path_reading *reading)
{
    struct critical_path *path = reading->result;

    if (make_procedures(reading, history_identities(reading->again)) < 0)
        return -ENOMEM;
    path->arcs = reading->parts.arcs;
    path->arc_count = reading->parts.arc_keys.count;
    reading->parts.arcs = NULL;
    if (path->arc_count > 0)
        qsort(path->arcs, path->arc_count, sizeof(*path->arcs), by_count);
    if (reading->options.asked_count == 0 && critical_offer(reading) < 0)
        return -ENOMEM;
    if (critical_find_carrier(reading) < 0)
        return -ENOMEM;
    path->elapsed = elapsed_until_end(reading);
    history_counts(reading->again, &path->parallelism->matching);
    return 0;
}

int critical_path_finish(struct critical_path_reading *reading, struct critical_path **ret_path,
                         struct problem *problem)
{
    int result = graph_finish(&reading->graph);

    if (result == 0)
        result = make_result(reading);
    if (result < 0)
        return graph_explain(result, problem);
    *ret_path = reading->result;
    reading->result = NULL;
    return 0;
}
