/* SPDX-License-Identifier: MIT */
/*
 * graph_chains.c: machines, processes and streams of the program history graph, and the chain of stretches of each
 * stream.
 *
 *      origin, stream --> stream --> chain --> last stretch, CPU time after it
 *                            '-----> process --> a row of the result
 */
#include "analysis/parallelism/graph_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines, processes, streams ---- */

void graph_note_flags(struct graph *graph, uint32_t origin, const struct record_header *record)
{
    struct recorded_types *recorded = &graph->origins[origin].recorded;

    recorded_note(recorded, record);
    graph->origins[origin].tells_ends = recorded_always(recorded, EVENT_TERMINATION);
    graph->origins[origin].tells_wakeups = recorded_always(recorded, EVENT_WAKEUP);
}

int graph_note_machine(struct graph *graph, uint32_t origin, const struct machine_record *record)
{
    uint32_t machine = 0;

    if (array_reserve(&graph->origins, &graph->origin_room, (size_t)origin + 1,
                      sizeof(*graph->origins)) < 0 ||
        array_reserve(&graph->machines, &graph->machine_room, (size_t)graph->machine_count + 1,
                      sizeof(*graph->machines)) < 0)
        return -ENOMEM;
    while (machine < graph->machine_count &&
           (memcmp(graph->machines[machine].machine_id, record->machine_id, 16) != 0 ||
            memcmp(graph->machines[machine].boot_id, record->boot_id, 16) != 0))
        machine++;
    if (machine == graph->machine_count) {
        struct graph_machine *added = &graph->machines[graph->machine_count++];
        memcpy(added->machine_id, record->machine_id, 16);
        memcpy(added->boot_id, record->boot_id, 16);
        added->cpus = record->cpus;
        snprintf(added->name, sizeof(added->name), "%.*s", MACHINE_NAME_SIZE, record->name);
        snprintf(added->addresses, sizeof(added->addresses), "%.*s", MACHINE_ADDRESSES_SIZE,
                 record->addresses);
        for (size_t i = 0; i < graph->options->assignment_count; i++)
            if (placed_note_machines(&graph->placed[i], &graph->options->delays, graph->machines,
                                     graph->machine_count) < 0)
                return -ENOMEM;
    }
    graph->origins[origin].machine = machine;
    graph_note_flags(graph, origin, &record->header);
    graph->result->machines = graph->machine_count;
    return 0;
}

struct graph_stream *graph_find_stream(struct graph *graph, uint32_t origin, uint32_t number)
{
    struct graph_stream **recent = &graph->recent[number % RECENT_STREAMS];

    if (*recent != NULL && (*recent)->number == number && (*recent)->origin == origin)
        return *recent;
    uint32_t found = lookup_find(&graph->stream_numbers, number_key(origin, number));
    return found == LOOKUP_NONE ? NULL : (*recent = pool_at(&graph->streams, found));
}

struct graph_stream *graph_find_or_add_stream(struct graph *graph, uint32_t origin, uint32_t number)
{
    struct graph_stream *stream = graph_find_stream(graph, origin, number);

    if (stream != NULL)
        return stream;
    int64_t index = pool_take(&graph->streams);
    if (index < 0 ||
        lookup_set(&graph->stream_numbers, number_key(origin, number), (uint32_t)index) < 0)
        return NULL;
    stream = pool_at(&graph->streams, (uint32_t)index);
    stream->origin = origin;
    stream->number = number;
    stream->process = NO_PROCESS_NUMBER - 1; /* not known yet */
    return graph->recent[number % RECENT_STREAMS] = stream;
}

static int place(struct graph *graph, uint32_t process)
{
    for (size_t i = 0; i < graph->options->assignment_count; i++)
        if (placed_add(&graph->placed[i], process, &graph->result->processes[process]) < 0)
            return -ENOMEM;
    return 0;
}

int64_t graph_find_or_add_process(struct graph *graph, uint32_t origin, uint32_t first,
                                  const struct stream_record *record)
{
    struct parallelism *result = graph->result;
    uint32_t found = lookup_find(&graph->process_numbers, number_key(origin, first));
    uint32_t number = found == LOOKUP_NONE ? (uint32_t)result->process_count : found;

    if (found == LOOKUP_NONE &&
        (array_reserve(&result->processes, &graph->process_room, (size_t)number + 1,
                       sizeof(*result->processes)) < 0 ||
         lookup_set(&graph->process_numbers, number_key(origin, first), number) < 0))
        return -ENOMEM;
    struct parallelism_process *process = &result->processes[number];
    if (found == LOOKUP_NONE) {
        result->process_count++;
        *process = (struct parallelism_process){
            .origin = origin,
            .number = first,
            .machine = origin < graph->origin_room ? graph->origins[origin].machine : 0,
            .parent = NO_PARENT};
        if (process->machine < graph->machine_count)
            memcpy(process->machine_name, graph->machines[process->machine].name,
                   sizeof(process->machine_name));
    }
    if (record != NULL && (found == LOOKUP_NONE || record->header.stream == record->process)) {
        memcpy(process->name, record->name, STREAM_NAME_SIZE);
        process->pid = record->pid;
    }
    int placed = place(graph, number);
    return placed < 0 ? placed : (int64_t)number;
}

static void note_parent(struct graph *graph, uint32_t origin, const struct stream_record *record,
                        uint32_t process)
{
    const struct graph_stream *parent =
        record->header.stream == record->process && record->parent != 0
            ? graph_find_stream(graph, origin, record->parent)
            : NULL;

    if (parent != NULL && parent->process < NO_PROCESS_NUMBER - 1 && parent->process != process)
        graph->result->processes[process].parent = parent->process;
}

int graph_note_identity(struct graph *graph, uint32_t origin, const struct stream_record *record)
{
    const struct parallelism_options *options = graph->options;
    struct graph_stream *stream = graph_find_or_add_stream(graph, origin, record->header.stream);

    if (stream == NULL)
        return -ENOMEM;
    stream->start = record->start;
    /* this changes, as a child has its parent's name until it executes a program */
    if (options->leaves_out != NULL && options->leaves_out(options->context, origin, record)) {
        stream->process = NO_PROCESS_NUMBER;
        return 0;
    }
    int64_t process = graph_find_or_add_process(graph, origin, record->process, record);
    if (process < 0)
        return -ENOMEM;
    stream->process = (uint32_t)process;
    note_parent(graph, origin, record, stream->process);
    return 0;
}

/* ---- chains ---- */

uint32_t graph_machine_of(const struct graph *graph, const struct placed *placed, uint32_t process)
{
    return placed_machine(placed, process, graph->result->processes[process].machine);
}

struct chain *graph_chain_of(const struct graph *graph, const struct graph_stream *stream)
{
    return pool_at(&graph->chains, stream->chain - 1);
}

/* Replay: the same stretch as in the first reading. */
static int64_t come_again(struct graph *graph, struct chain *chain)
{
    uint32_t index = graph->replayed++;

    if (index >= graph->stretches.count || graph->stretches.at[index].chain != chain->number)
        return -ESTALE;
    chain->pending -= graph->stretches.at[index].cpu < chain->pending
                          ? graph->stretches.at[index].cpu
                          : chain->pending;
    chain->last = index + 1;
    int result = graph->see(graph->context, index, chain, graph->edge);
    return result < 0 ? result : (int64_t)index + 1;
}

int64_t graph_add_stretch(struct graph *graph, struct chain *chain, enum stretch_wait wait,
                          uint32_t source, uint64_t weight)
{
    struct stretches *stretches = &graph->stretches;
    uint64_t cpu = chain->pending < STRETCH_CPU_MOST ? chain->pending : STRETCH_CPU_MOST;
    unsigned shift = 0;

    if (!graph->keeps)
        return 0;
    if (graph->again)
        return come_again(graph, chain);
    int64_t index = stretches_add(stretches);
    if (index < 0)
        return index;
    while (weight >> shift > UINT32_MAX)
        shift++;
    stretches->at[index] = (struct stretch){
        .cpu = cpu,
        .wait = wait & 7,
        .shift = shift & 31,
        .chain = chain->number,
        .source = source,
        .weight = (uint32_t)(weight >> shift),
    };
    chain->pending -= cpu;
    if (chain->last != 0)
        stretches->at[chain->last - 1].next = (uint32_t)index + 1 - chain->last;
    else
        graph->starts[chain->number].first = (uint32_t)index;
    chain->last = (uint32_t)index + 1;
    if (source != NO_STRETCH && stretches->at[source].users < STRETCH_USERS_MOST)
        stretches->at[source].users++;
    int result =
        graph->see == NULL ? 0 : graph->see(graph->context, (uint32_t)index, chain, graph->edge);
    chain->no_cpu = 0;
    return result < 0 ? result : index + 1;
}

int64_t graph_end_here(struct graph *graph, struct chain *chain)
{
    if ((chain->pending == 0 && chain->last != 0) || !graph->keeps)
        return chain->last;
    return graph_add_stretch(graph, chain, STRETCH_RUNS, NO_STRETCH, 0);
}

int graph_begin_chain(struct graph *graph, struct graph_stream *stream)
{
    uint64_t key = stream->process;
    uint32_t found =
        graph->options->threads ? LOOKUP_NONE : lookup_find(&graph->process_chains, key);

    if (found == LOOKUP_NONE) {
        int64_t index = pool_take(&graph->chains);
        if (index < 0 || array_reserve(&graph->starts, &graph->start_room,
                                       (size_t)graph->chain_count + 1, sizeof(*graph->starts)) < 0)
            return -ENOMEM;
        if (!graph->options->threads &&
            lookup_set(&graph->process_chains, key, (uint32_t)index) < 0)
            return -ENOMEM;
        struct chain *chain = pool_at(&graph->chains, (uint32_t)index);
        chain->number = graph->chain_count++;
        graph->result->streams++;
        chain->process = stream->process;
        if (!graph->again)
            graph->starts[chain->number] =
                (struct chain_start){.first = NO_STRETCH, .process = stream->process};
        found = (uint32_t)index;
    }
    stream->chain = found + 1;
    graph_chain_of(graph, stream)->streams++;
    graph_chain_of(graph, stream)->began++;
    graph->result->processes[stream->process].streams++;
    return 0;
}

void graph_end_chain(struct graph *graph, struct chain *chain)
{
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (chain->length[i] > graph->longest[i])
            graph->longest[i] = chain->length[i];
    if (chain->cpu > graph->result->largest)
        graph->result->largest = chain->cpu;
}

void graph_count_life(struct graph *graph, const struct graph_stream *stream)
{
    const struct graph_origin *origin = &graph->origins[stream->origin];
    uint64_t begin = stream->start > origin->first ? stream->start : origin->first;

    if (origin->last > begin)
        graph->result->lived += origin->last - begin;
}

void graph_reach(struct graph *graph, struct reached *reached, const struct chain *chain,
                 uint32_t stretch)
{
    reached->stretch = stretch;
    reached->process = chain->process;
    memcpy(reached->length, chain->length, graph->lengths * sizeof(uint64_t));
}

static void forget_stream(struct graph *graph, uint32_t index)
{
    struct graph_stream *stream = pool_at(&graph->streams, index);

    if (graph->recent[stream->number % RECENT_STREAMS] == stream)
        graph->recent[stream->number % RECENT_STREAMS] = NULL;
    lookup_remove(&graph->stream_numbers, number_key(stream->origin, stream->number));
    pool_give(&graph->streams, index);
}

/* The stream has ended, but streams that wait for the end of its file may still need it. */
int graph_end_stream(struct graph *graph, struct graph_stream *stream, bool last_of_process)
{
    struct chain *chain = graph_chain_of(graph, stream);
    uint32_t index =
        lookup_find(&graph->stream_numbers, number_key(stream->origin, stream->number));
    int64_t last = graph_end_here(graph, chain);

    if (last < 0)
        return (int)last;
    graph_reach(graph, &stream->at, chain, (uint32_t)last);
    stream->ended = true;
    graph_count_life(graph, stream);
    graph_end_chain(graph, chain);
    /* the chain of a process continues with threads that have had no event yet */
    if (--chain->streams == 0 && (graph->options->threads || last_of_process)) {
        if (!graph->options->threads)
            lookup_remove(&graph->process_chains, chain->process);
        pool_give(&graph->chains, stream->chain - 1);
    }
    stream->chain = 0;
    if (graph->ended_count == ENDED_STREAMS) {
        forget_stream(graph, graph->ended[graph->ended_first]);
        graph->ended_first = (graph->ended_first + 1) % ENDED_STREAMS;
        graph->ended_count--;
    }
    graph->ended[(graph->ended_first + graph->ended_count++) % ENDED_STREAMS] = index;
    return 0;
}
