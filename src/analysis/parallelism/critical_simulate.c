/* SPDX-License-Identifier: MIT */
/*
 * critical_simulate.c: how long the run would take after a change. The condensed graph is simulated (processor_sharing.c), and
 * then followed back from the end of the path, at each step to what determined when it ended:
 *
 *      by its wait       the message was in flight, or time passed, since its source ended --> that source
 *      by its own chain  it computed, had no CPU, or slept --> the stretch before it, or the one that created the chain
 */
#include "analysis/parallelism/critical_path_private.h"

#include <errno.h>
#include <math.h>

struct simulating {
    struct critical_path_reading *reading;
    const struct run_changes *changes;
};

static uint32_t process_of(const struct graph *graph, const struct stretch *stretch)
{
    return graph->starts[stretch->chain].process;
}

static double changed(const struct simulating *simulating, const struct run_wait *wait)
{
    const struct run_changes *changes = simulating->changes;

    return changes->wait == NULL ? (double)wait->time : changes->wait(changes->context, wait);
}

/* Within a machine, a receiver that was late has not noted when this message arrived, only a later one. */
static uint64_t time_in_flight(const struct graph *graph, const struct stretch *stretch,
                               const struct run_wait *wait, const struct fact *fact)
{
    const struct parallelism_process *processes = graph->result->processes;
    bool is_near = processes[wait->from].machine == processes[wait->process].machine;

    return fact->flight == FLIGHT_UNKNOWN || (is_near && !stretch->meets) ? 0 : fact->flight;
}

static double wait_of(void *context, uint32_t index)
{
    const struct simulating *simulating = context;
    const struct graph *graph = &simulating->reading->graph;
    const struct stretch *stretch = &graph->stretches.at[index];
    const struct fact *fact = critical_fact(simulating->reading, index);
    struct run_wait wait = {.process = process_of(graph, stretch), .from = NO_PARENT};

    switch ((enum stretch_wait)stretch->wait) {
    case STRETCH_MESSAGE:
        wait.from = process_of(graph, &graph->stretches.at[stretch->source]);
        wait.time = time_in_flight(graph, stretch, &wait, fact);
        return changed(simulating, &wait);
    case STRETCH_SINCE:
    case STRETCH_SLEEP:
        wait.time = stretch_time(stretch);
        wait.kind = (unsigned)fact->flight;
        return changed(simulating, &wait);
    default:
        return 0;
    }
}

/* Whether it waited in the recording, and does no more. */
static bool ends_waiting(void *context, uint32_t index)
{
    const struct simulating *simulating = context;
    const struct stretch *stretch = &simulating->reading->graph.stretches.at[index];

    return (stretch->wait == STRETCH_SINCE || stretch->wait == STRETCH_SLEEP) &&
           stretch_time(stretch) > 0 && wait_of(context, index) == 0;
}

static double cpu_of(void *context, uint32_t index)
{
    const struct simulating *simulating = context;
    const struct run_changes *changes = simulating->changes;
    const struct graph *graph = &simulating->reading->graph;
    const struct stretch *stretch = &graph->stretches.at[index];

    if (changes->calls_go && stretch->cpu > 0 && ends_waiting(context, index))
        return 0;
    return (double)stretch->cpu / changes->speeds[process_of(graph, stretch)];
}

static double no_cpu_of(void *context, uint32_t index)
{
    const struct simulating *simulating = context;
    const struct run_changes *changes = simulating->changes;
    const struct graph *graph = &simulating->reading->graph;
    const struct stretch *stretch = &graph->stretches.at[index];
    double time = changes->no_cpu * (double)((const float *)simulating->reading->no_cpu.at)[index];

    if (changes->no_cpu_stays || time == 0)
        return time;
    return ends_waiting(context, index) ? 0 : time / changes->speeds[process_of(graph, stretch)];
}

/* ---- the way back ---- */

struct walking {
    const struct simulating *simulating;
    const double *ends;
    uint32_t wanted;  /* this stretch; NO_STRETCH: ... */
    uint32_t chain;   /* ... the next one to be met of this chain ... */
    uint32_t creates; /* ... or the one that creates it: number + 1 */
    uint32_t last;    /* which came before that: its own chain determined when it ended */
};

static void tell(const struct walking *walking, uint32_t process, enum run_what what, unsigned kind,
                 double time)
{
    const struct run_changes *changes = walking->simulating->changes;

    if (time > 0)
        changes->part(changes->context, process, what, kind, time);
}

/* Of the stretch `last`, which began at `begin`. */
static void tell_own(const struct walking *walking, double begin)
{
    const struct critical_path_reading *reading = walking->simulating->reading;
    const struct stretch *stretch = &reading->graph.stretches.at[walking->last];
    uint32_t process = process_of(&reading->graph, stretch);
    double time = fabs(walking->ends[walking->last]) - begin;
    double sleep =
        stretch->wait == STRETCH_SLEEP ? wait_of((void *)walking->simulating, walking->last) : 0;
    double cpu = cpu_of((void *)walking->simulating, walking->last);

    sleep = fmin(sleep, time);
    cpu = fmin(cpu, time - sleep);
    tell(walking, process, RUN_WAITS, (unsigned)critical_fact(reading, walking->last)->flight,
         sleep);
    tell(walking, process, RUN_COMPUTES, 0, cpu);
    tell(walking, process, RUN_NO_CPU, 0, time - sleep - cpu);
}

/* The path comes to this stretch. Returns whether it goes on. */
static bool walk_to(struct walking *walking, uint32_t index)
{
    const struct critical_path_reading *reading = walking->simulating->reading;
    const struct graph *graph = &reading->graph;
    const struct stretch *stretch = &graph->stretches.at[index];

    if (walking->last != NO_STRETCH)
        tell_own(walking, fabs(walking->ends[index]));
    walking->wanted = walking->last = walking->chain = NO_STRETCH;
    walking->creates = 0;
    if (signbit(walking->ends[index])) {
        double time = fabs(walking->ends[index]) - fabs(walking->ends[stretch->source]);
        double no_cpu = fmin(time, no_cpu_of((void *)walking->simulating, index));
        walking->wanted = stretch->source;
        time -= no_cpu;
        tell(walking, process_of(graph, stretch), RUN_NO_CPU, 0, no_cpu);
        tell(walking, process_of(graph, stretch),
             stretch->wait == STRETCH_SINCE ? RUN_WAITS : RUN_IN_FLIGHT,
             stretch->wait == STRETCH_SINCE
                 ? (unsigned)critical_fact(reading, index)->flight
                 : process_of(graph, &graph->stretches.at[stretch->source]),
             time);
        return true;
    }
    walking->last = index;
    if (graph->starts[stretch->chain].first != index)
        walking->chain = stretch->chain;
    else if (graph->starts[stretch->chain].created)
        walking->creates = stretch->chain + 1;
    else
        tell_own(walking, 0);
    return walking->chain != NO_STRETCH || walking->creates != 0;
}

static void walk_back(const struct simulating *simulating, const double *ends)
{
    const struct critical_path_reading *reading = simulating->reading;
    struct walking walking = {.simulating = simulating,
                              .ends = ends,
                              .wanted = reading->path_end,
                              .chain = NO_STRETCH,
                              .last = NO_STRETCH};

    for (uint32_t i = reading->path_end + 1; i > 0; i--) {
        const struct stretch *stretch = &reading->graph.stretches.at[i - 1];
        bool is_met = i - 1 == walking.wanted || stretch->chain == walking.chain ||
                      (stretch->wait == STRETCH_CREATES && walking.creates != 0 &&
                       stretch->weight == walking.creates);
        if (is_met && !walk_to(&walking, i - 1))
            return;
    }
}

/* ---- all of it ---- */

static int open_ends(struct critical_path_reading *reading)
{
    int result = 0;

    if (reading->run_ends.file < 0)
        result = scratch_open(&reading->run_ends, sizeof(double),
                              reading->options.parallelism.directory, NULL);
    return result < 0
               ? result
               : scratch_reserve(&reading->run_ends, (size_t)reading->graph.stretches.count + 1);
}

int critical_path_simulate(struct critical_path_reading *reading, const struct run_changes *changes,
                           double *ret_time, struct problem *problem)
{
    const struct graph *graph = &reading->graph;
    struct simulating simulating = {reading, changes};
    struct assignment assignment = *graph->placed[0].assignment;
    struct placed placed = graph->placed[0];
    int result = open_ends(reading);

    *ret_time = 0;
    if (result < 0)
        return graph_explain(result, problem);
    if (reading->path_end == NO_STRETCH)
        return 0;
    assignment.cores = changes->cpus;
    placed.assignment = &assignment;
    placed.unlimited = changes->cpus == 0;
    const struct sharing_run run = {.machines = changes->machines,
                                    .cpu = cpu_of,
                                    .wait = wait_of,
                                    .no_cpu = no_cpu_of,
                                    .context = &simulating,
                                    .ends = reading->run_ends.at};
    result = sharing_run(graph, &placed, &run);
    if (result < 0)
        return graph_explain(result, problem);
    *ret_time = fabs(run.ends[reading->path_end]);
    if (changes->part != NULL)
        walk_back(&simulating, run.ends);
    return 0;
}

uint64_t critical_path_size(const struct critical_path_reading *reading)
{
    return reading->graph.stretches.count;
}
