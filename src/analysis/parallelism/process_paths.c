/* SPDX-License-Identifier: MIT */
/*
 * process_paths.c: t_max of each process (thesis, 5.2.3): the longest path from where it begins to any end, its own or
 * that of a process that it led to; messages take no time, as in step max.
 *
 *      A   o-- 20 --o SEND                    t_max of A: 20 + 10 = 30
 *                    \
 *      B   o-- 5 -- RECEIVE o-- 10 --o        t_max of B: 5 + 10 = 15
 *
 * One pass over the stretches in reverse. For each it finds the longest path that begins at its end: along its chain,
 * or by an arc to a stretch that waits for it. Stretches stand behind all that they wait for.
 */
#include "analysis/parallelism/program_graph.h"
#include "base/scratch.h"

/* The time of an arc to the end of a stretch, if messages take none. */
static uint64_t time_of_arc(const struct stretch *stretch)
{
    return stretch->wait == STRETCH_SINCE ? stretch_time(stretch) : 0;
}

/* The longest path that begins before a stretch, on its chain. */
static uint64_t path_before(const struct stretch *stretch, uint64_t behind)
{
    return stretch->cpu + (stretch->wait == STRETCH_SLEEP ? stretch_time(stretch) : 0) + behind;
}

static void lengthen(uint64_t *path, uint64_t to)
{
    if (to > *path)
        *path = to;
}

/* paths[index] has what comes by arcs; adds what comes along the chain, and from a chain that it creates. */
static void continue_path(const struct graph *graph, uint64_t *paths, uint32_t index)
{
    const struct stretch *all = graph->stretches.at, *stretch = &all[index];

    if (stretch->next != 0)
        lengthen(&paths[index], path_before(stretch + stretch->next, paths[index + stretch->next]));
    if (stretch->wait != STRETCH_CREATES || stretch->weight == 0)
        return;
    uint32_t first = graph->starts[stretch->weight - 1].first;
    if (first != NO_STRETCH)
        lengthen(&paths[index], path_before(&all[first], paths[first]));
}

static void find_paths(const struct graph *graph, uint64_t *paths)
{
    for (uint32_t i = graph->stretches.count; i-- > 0;) {
        const struct stretch *stretch = &graph->stretches.at[i];
        continue_path(graph, paths, i);
        if (stretch->wait >= STRETCH_MESSAGE && stretch->wait <= STRETCH_SINCE)
            lengthen(&paths[stretch->source], time_of_arc(stretch) + paths[i]);
    }
}

int process_paths_find(const struct graph *graph, struct parallelism *parallelism,
                       struct problem *problem)
{
    struct scratch scratch;
    int result = scratch_open(&scratch, sizeof(uint64_t), graph->options->directory, problem);

    if (result == 0)
        result = scratch_reserve(&scratch, (size_t)graph->stretches.count + 1);
    if (result == 0) {
        uint64_t *paths = scratch.at;
        find_paths(graph, paths);
        for (uint32_t i = 0; i < graph->chain_count; i++) {
            const struct chain_start *start = &graph->starts[i];
            if (start->first != NO_STRETCH)
                lengthen(&parallelism->processes[start->process].longest,
                         path_before(&graph->stretches.at[start->first], paths[start->first]));
        }
        parallelism->has_process_paths = true;
    }
    scratch_close(&scratch);
    return result;
}
