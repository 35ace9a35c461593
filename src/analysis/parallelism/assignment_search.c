/* SPDX-License-Identifier: MIT */
/*
 * assignment_search.c: a good assignment of processes to so many machines: one with a small t_max of step sharing.
 *
 *      begin    the best of: all on one machine; as recorded; largest processes first, each to the least loaded machine
 *      climb    move one process to another machine, or exchange two, while that makes it shorter
 *
 * Every step simulates the whole graph, so the number of steps is limited. The result need not be the optimum. No
 * assignment can be better than the bound: work spread evenly, or the longest path without delays.
 */
#include "analysis/parallelism/program_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRETCHES_MOST 400000000ull /* simulated in all ... */
#define TRIALS_LEAST   30           /* ... but at least so many trials */
#define TRIALS_MOST    2000
#define MOVED_MOST     48 /* processes that are moved, the largest ones */

struct search {
    const struct graph *graph;
    struct placed *placed;
    uint32_t machines;
    uint32_t processes;
    uint32_t *order; /* processes, largest first */
    uint32_t *best;  /* [processes] machines */
    uint64_t longest;
    uint32_t trials;
    uint32_t trials_most;
};

/* Simulates the assignment in placed->machines, and keeps it if it is the best so far. Returns 1 if it is, 0 or an
 * error. */
static int try_it(struct search *search)
{
    uint64_t longest;
    int result = sharing_simulate(search->graph, search->placed, &longest);

    if (result < 0)
        return result;
    search->trials++;
    if (longest >= search->longest)
        return 0;
    search->longest = longest;
    memcpy(search->best, search->placed->machines, search->processes * sizeof(*search->best));
    return 1;
}

static void go_back(struct search *search)
{
    memcpy(search->placed->machines, search->best, search->processes * sizeof(*search->best));
}

static int by_cpu(const void *left, const void *right, void *context)
{
    const struct parallelism_process *processes = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (processes[a].cpu != processes[b].cpu)
        return processes[a].cpu < processes[b].cpu ? 1 : -1;
    return a < b ? -1 : 1;
}

/* Assigns processes, largest first, each to the machine with the least work so far. */
static int spread_evenly(struct search *search)
{
    uint64_t *loads = calloc(search->machines, sizeof(*loads));

    if (loads == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < search->processes; i++) {
        uint32_t process = search->order[i], least = 0;
        for (uint32_t k = 1; k < search->machines; k++)
            least = loads[k] < loads[least] ? k : least;
        search->placed->machines[process] = least;
        loads[least] += search->graph->result->processes[process].cpu;
    }
    free(loads);
    return 0;
}

static int begin(struct search *search)
{
    memset(search->placed->machines, 0, search->processes * sizeof(*search->placed->machines));
    int result = try_it(search);
    if (result >= 0 && search->graph->machine_count <= search->machines) {
        for (uint32_t i = 0; i < search->processes; i++)
            search->placed->machines[i] = search->graph->result->processes[i].machine;
        result = try_it(search);
    }
    if (result >= 0)
        result = spread_evenly(search);
    return result < 0 ? result : try_it(search);
}

static bool has_time(const struct search *search)
{
    return search->trials < search->trials_most;
}

/* Returns how many moves were improvements, or an error. */
static int move_each(struct search *search, uint32_t moved)
{
    int better = 0;

    for (uint32_t i = 0; i < moved; i++)
        for (uint32_t machine = 0; machine < search->machines && has_time(search); machine++) {
            go_back(search);
            if (search->best[search->order[i]] == machine)
                continue;
            search->placed->machines[search->order[i]] = machine;
            int result = try_it(search);
            if (result < 0)
                return result;
            better += result;
        }
    return better;
}

static int exchange_pairs(struct search *search, uint32_t moved)
{
    int better = 0;

    for (uint32_t i = 0; i < moved; i++)
        for (uint32_t k = i + 1; k < moved && has_time(search); k++) {
            uint32_t one = search->order[i], other = search->order[k];
            go_back(search);
            if (search->best[one] == search->best[other])
                continue;
            search->placed->machines[one] = search->best[other];
            search->placed->machines[other] = search->best[one];
            int result = try_it(search);
            if (result < 0)
                return result;
            better += result;
        }
    return better;
}

static int climb(struct search *search)
{
    uint32_t moved = search->processes < MOVED_MOST ? search->processes : MOVED_MOST;
    int better = 1;

    while (better > 0 && has_time(search)) {
        better = move_each(search, moved);
        if (better == 0)
            better = exchange_pairs(search, moved);
    }
    return better < 0 ? better : 0;
}

static uint64_t bound_of(const struct search *search)
{
    const struct assignment *assignment = search->placed->assignment;
    uint64_t processors =
        (uint64_t)search->machines * (assignment->cores == 0 ? 1 : assignment->cores);
    uint64_t even = (search->graph->result->total + processors - 1) / processors;

    return even > search->graph->longest[0] ? even : search->graph->longest[0];
}

int assignment_search(const struct graph *graph, struct placed *placed,
                      struct parallelism_search *ret_search)
{
    struct search search = {
        .graph = graph,
        .placed = placed,
        .machines = placed->assignment->per_machine,
        .processes = (uint32_t)graph->result->process_count,
        .longest = UINT64_MAX,
        .trials_most = TRIALS_MOST,
    };
    uint64_t stretches = graph->stretches.count;
    int result = -ENOMEM;

    if (stretches > 0 && STRETCHES_MOST / stretches < TRIALS_MOST)
        search.trials_most = (uint32_t)(STRETCHES_MOST / stretches);
    if (search.trials_most < TRIALS_LEAST)
        search.trials_most = TRIALS_LEAST;
    search.order = calloc(search.processes + 1UL, sizeof(*search.order));
    search.best = calloc(search.processes + 1UL, sizeof(*search.best));
    free(placed->machines);
    placed->process_room = search.processes;
    placed->machines = calloc(search.processes + 1UL, sizeof(*placed->machines));
    if (search.order != NULL && search.best != NULL && placed->machines != NULL) {
        for (uint32_t i = 0; i < search.processes; i++)
            search.order[i] = i;
        qsort_r(search.order, search.processes, sizeof(*search.order), by_cpu,
                graph->result->processes);
        result = begin(&search);
    }
    if (result >= 0)
        result = climb(&search);
    free(search.order);
    if (result < 0) {
        free(search.best);
        return result;
    }
    go_back(&search);
    *ret_search = (struct parallelism_search){
        .machines = search.best,
        .trials = search.trials,
        .longest = search.longest,
        .bound = bound_of(&search),
    };
    return 0;
}
