/* SPDX-License-Identifier: MIT */
/*
 * critical_parts.c: what the critical path consists of. While events are read, a fact is noted for each stretch; when the path
 * is known, those of its stretches count for their process, procedure and path.
 *
 *      event --> graph --stretch 17--> fact 17: PC, edge, time in flight
 *      stretch 17 is on the path? --> process, PC, arc
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

static int count_pc(struct critical_path_reading *reading, const struct critical_pc *pc)
{
    struct critical_parts *parts = &reading->parts;
    uint64_t key = mix(mix(mix(0, pc->pc), (uint64_t)pc->origin << 32 | pc->image), pc->process);
    uint32_t count = parts->pc_keys.count;
    int64_t index =
        count >= MOST_PCS ? intern_find(&parts->pc_keys, key) : intern_add(&parts->pc_keys, key);

    if (index < 0)
        return index == -ENOMEM ? -ENOMEM : 0;
    if (array_reserve(&parts->pcs, &parts->pc_room, (size_t)index + 1, sizeof(*parts->pcs)) < 0)
        return -ENOMEM;
    if (index == count)
        parts->pcs[index] = *pc;
    else
        parts->pcs[index].cpu += pc->cpu;
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
static uint64_t flight_time(const struct critical_path_reading *reading,
                            const struct history_event *event, const struct history_edge *edge)
{
    uint64_t arrived = reading->parts.arrived_now, error;
    int64_t offset;

    if (arrived == 0)
        arrived = event->came < event->event.header->time ? event->came : 0;
    if (arrived == 0 || !history_clock_between(reading->graph.history, edge->origin, edge->time,
                                               event->event.origin, &offset, &error))
        return FLIGHT_UNKNOWN;
    uint64_t sent = edge->time + (uint64_t)offset;
    return arrived > sent ? arrived - sent : 0;
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

/* ---- while events are read ---- */

static uint16_t kind_of_path(const struct critical_path_reading *reading,
                             const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    const struct path_record *path = identities_path(history_identities(reading->graph.history),
                                                     event->event.origin, record->message.path);

    return path == NULL ? 0 : path->kind;
}

/* Of a wait that has a length of its own. */
static unsigned kind_of_wait(const struct critical_path_reading *reading, uint32_t index)
{
    const struct history_event *event = reading->event;
    unsigned wait = reading->graph.stretches.at[index].wait;

    if (reading->options.kind_of_wait == NULL || event == NULL ||
        (wait != STRETCH_SINCE && wait != STRETCH_SLEEP))
        return 0;
    return reading->options.kind_of_wait(
        reading->graph.history, &reading->graph.origins[event->event.origin].recorded, event);
}

int critical_note(void *context, uint32_t index, const struct chain *chain, uint32_t edge)
{
    struct critical_path_reading *reading = context;
    const struct history_event *event = reading->event;
    int64_t added = scratch_add(&reading->facts);

    if (added != index)
        return added < 0 ? (int)added : -EINVAL;
    if (!reading->timed)
        reading->time = history_common_time(reading->graph.history, reading->latest.origin,
                                            reading->latest.time);
    struct fact *fact = critical_fact(reading, index);
    *fact = (struct fact){.time = reading->time,
                          .pc = chain->pc,
                          .image = chain->image,
                          .edge_kind = EDGE_KIND_COUNT,
                          .begins = !reading->timed,
                          .after = event == NULL};
    reading->timed = true;
    fact->flight = kind_of_wait(reading, index);
    if (reading->options.kind_of_wait != NULL) {
        int64_t noted = scratch_add(&reading->no_cpu);
        if (noted < 0)
            return (int)noted;
        ((float *)reading->no_cpu.at)[noted] = (float)chain->no_cpu;
    }
    if (event == NULL || edge >= event->edge_count)
        return 0;
    fact->edge_kind = (uint8_t)event->edges[edge].kind;
    if (reading->graph.stretches.at[index].wait != STRETCH_MESSAGE)
        return 0;
    fact->path_kind = kind_of_path(reading, event);
    fact->flight = flight_time(reading, event, &event->edges[edge]);
    return 0;
}

int critical_add(struct critical_path_reading *reading, const struct history_event *event)
{
    if (note_arrival(&reading->parts, event) < 0)
        return -ENOMEM;
    reading->event = event;
    reading->timed = false;
    reading->latest.origin = event->event.origin;
    reading->latest.time = event->event.header->time;
    int added = graph_add(&reading->graph, event);
    reading->event = NULL;
    return added;
}

/* ---- when the path is known ---- */

/* Counts an arc of the path. */
static int count_wait(struct critical_path_reading *reading, uint32_t index)
{
    const struct graph *graph = &reading->graph;
    const struct stretch *stretch = &graph->stretches.at[index];
    const struct fact *fact = critical_fact(reading, index);
    struct critical_path *result = reading->result;
    bool has_edge = fact->edge_kind != EDGE_KIND_COUNT;
    uint64_t delay = critical_delay(reading, NULL, stretch);
    uint32_t from = graph->starts[graph->stretches.at[stretch->source].chain].process;

    if (stretch->wait == STRETCH_SINCE) {
        result->outside += delay;
        /* with an edge, the time is that of the other end's process, until it closed a file */
        result->processes[!has_edge ? graph->starts[stretch->chain].process : from].outside +=
            delay;
        if (!has_edge)
            return 0;
        delay = 0;
    }
    bool message = stretch->wait == STRETCH_MESSAGE;
    struct critical_arcs arc = {
        .kind = !has_edge || message ? EDGE_EXACT : fact->edge_kind,
        .from = from,
        .to = graph->starts[stretch->chain].process,
        .count = 1,
        .bytes = message ? stretch->weight : 0,
        .delay = delay,
        .path_kind = fact->path_kind,
    };
    result->delay += delay;
    if (message && fact->flight == FLIGHT_UNKNOWN) {
        result->unknown_flights++;
    } else if (message) {
        result->in_flight += fact->flight;
        arc.in_flight = fact->flight;
    }
    return count_arc(reading, &arc);
}

/* Counts the CPU time of a stretch of the path, and the wait of its own. */
static int count_cpu(struct critical_path_reading *reading, uint32_t index)
{
    const struct stretch *stretch = &reading->graph.stretches.at[index];
    const struct fact *fact = critical_fact(reading, index);
    uint32_t process = reading->graph.starts[stretch->chain].process;
    struct critical_path *result = reading->result;

    result->processes[process].cpu += stretch->cpu;
    result->cpu += stretch->cpu;
    if (stretch->wait == STRETCH_SLEEP ||
        (!reading->plain && reading->places[index].rule == ARC_WAITED)) {
        result->processes[process].outside += stretch_time(stretch);
        result->outside += stretch_time(stretch);
    }
    if (stretch->cpu == 0)
        return 0;
    const struct critical_pc pc = {
        .pc = fact->pc,
        .cpu = stretch->cpu,
        .origin = fact->pc == 0 ? 0 : reading->parallelism->processes[process].origin,
        .image = fact->image,
        .process = process};
    return count_pc(reading, &pc);
}

int critical_count(struct critical_path_reading *reading)
{
    bool is_counted = false; /* the event */
    int result = 0;

    for (uint32_t i = 0; i < reading->graph.stretches.count && result == 0; i++) {
        const struct fact *fact = critical_fact(reading, i);
        is_counted = is_counted && !fact->begins;
        if (!reading->places[i].critical)
            continue;
        reading->result->events += !is_counted && !fact->after;
        is_counted = true;
        result = reading->places[i].by_wait ? count_wait(reading, i) : count_cpu(reading, i);
    }
    return result;
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

/* ---- the second reading, for a picture ---- */

static int see_again(void *context, uint32_t index, const struct chain *chain, uint32_t edge)
{
    struct critical_path_reading *reading = context;
    const struct place *place = &reading->places[index];

    (void)chain;
    if (!place->critical)
        return 0;
    reading->critical = true;
    if (place->by_wait)
        reading->edge = edge;
    return 0;
}

void critical_path_again(struct critical_path_reading *reading, struct history *again)
{
    graph_replay(&reading->graph, again, see_again, reading);
}

int critical_add_again(struct critical_path_reading *reading, const struct history_event *event)
{
    reading->critical = false;
    reading->edge = UINT32_MAX;
    return graph_add(&reading->graph, event);
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

/* ---- the result ---- */

/* ns from the first event of all traces to the end of the path. */
static uint64_t elapsed_until_end(const struct critical_path_reading *reading)
{
    const struct graph *graph = &reading->graph;
    uint64_t end = reading->end == NO_STRETCH ? 0 : critical_fact(reading, reading->end)->time;
    uint64_t first = end;

    for (uint32_t i = 0; i < graph->origin_room; i++) {
        if (graph->origins[i].first == 0)
            continue;
        uint64_t time = history_common_time(reading->graph.history, i, graph->origins[i].first);
        if (time < first)
            first = time;
    }
    return end - first;
}

static int make_result(struct critical_path_reading *reading)
{
    struct critical_path *path = reading->result;

    if (make_procedures(reading, history_identities(reading->graph.history)) < 0)
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
    history_counts(reading->graph.history, &path->parallelism->matching);
    return 0;
}

int critical_path_finish(struct critical_path_reading *reading, struct critical_path **ret_path,
                         struct problem *problem)
{
    int result = reading->graph.again ? graph_finish(&reading->graph) : 0;

    if (result == 0)
        result = make_result(reading);
    if (result < 0)
        return graph_explain(result, problem);
    *ret_path = reading->result;
    reading->result = NULL;
    return 0;
}
