/* SPDX-License-Identifier: MIT */
/*
 * appendix_a.c: the reweighting algorithm of the thesis' appendix A, as printed, to imitate published numbers.
 *
 *      weigh    all running chains, on all machines, advance by the same slices of process time; with k of them on a
 *               machine, a slice of t weighs k * t there. Delays are counted down in process time
 *      path     the longest path through the graph with these weights, and the delays
 *
 * Example: A computes 20; B computes 10, receives from C, computes 10; C computes 15, sends. A and B share a machine, C
 * has its own, and messages take no time:
 *
 *      process time   0 ..... 10 .... 15 ..... 20 .... 25
 *      A              10 * 2   5 * 1   5 * 2                 35
 *      B              10 * 2   waits   5 * 2    5 * 1        max(20, 15) + 15 = 35
 *      C              10 * 1   5 * 1                         15
 *
 * t_max is 35, although A and B have 40 of work for one processor: the 5 that A computes alone fall into the 20 that B
 * has spent on its first 10. processor_sharing.c has what elapses: 40.
 *
 * The thesis knows one processor of one speed for each machine; here a slice weighs 1 / (the part of a processor that
 * each chain would have).
 */
#include "analysis/parallelism/program_graph.h"
#include "base/scratch.h"

#include <errno.h>
#include <stdlib.h>

/* When a stretch ends, if its chain has come to `own`, its CPU time included. */
static double end_of(const struct graph *graph, const struct placed *placed, const double *ends,
                     const struct stretch *stretch, double own)
{
    double arrives;

    switch (stretch->wait) {
    case STRETCH_RUNS:
    case STRETCH_CREATES:
        return own;
    case STRETCH_SLEEP:
        return own + (double)stretch_time(stretch);
    default:
        arrives = ends[stretch->source] + (double)placed_delay_of_arc(graph, placed, stretch);
        return arrives > own ? arrives : own;
    }
}

/* `weights`: of the stretches; then has their ends. `chains`: how far each chain has come, all zero. */
static double longest_path(const struct graph *graph, const struct placed *placed, double *weights,
                           double *chains)
{
    double longest = 0;

    for (uint32_t i = 0; i < graph->stretches.count; i++) {
        const struct stretch *stretch = &graph->stretches.at[i];
        double own = chains[stretch->chain] + weights[i];
        double end = end_of(graph, placed, weights, stretch, own);
        weights[i] = chains[stretch->chain] = end;
        if (stretch->wait == STRETCH_CREATES && stretch->weight != 0)
            chains[stretch->weight - 1] = end;
        longest = end > longest ? end : longest;
    }
    return longest;
}

int appendix_a_reweight(const struct graph *graph, const struct placed *placed,
                        uint64_t *ret_longest, struct problem *problem)
{
    double *chains = calloc((size_t)graph->chain_count + 1, sizeof(*chains));
    struct scratch weights = {.file = -1};
    int result = chains == NULL
                     ? -ENOMEM
                     : scratch_open(&weights, sizeof(double), graph->options->directory, problem);

    if (result == 0)
        result = scratch_reserve(&weights, (size_t)graph->stretches.count + 1);
    if (result == 0)
        result = sharing_weigh(graph, placed, weights.at);
    if (result == 0)
        *ret_longest = (uint64_t)(longest_path(graph, placed, weights.at, chains) + 0.5);
    scratch_close(&weights);
    free(chains);
    return result;
}
