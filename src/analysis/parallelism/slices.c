/* SPDX-License-Identifier: MIT */
/*
 * slices.c: the simulated run of step sharing, cut where the rate of some stream changes (thesis, figure 5.5).
 *
 *      stream A   | 1/2   | 1     |  -    |     on one processor, with B
 *      stream B   | 1/2   | -     |  1    |
 *      slice        0       1        2
 */
#include "analysis/parallelism/program_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_machine(const struct slicing *slicing, struct parallelism_lane *lane)
{
    const struct assignment *assignment = slicing->placed->assignment;
    uint32_t machine = lane->machine;

    if (assignment->kind == AS_RECORDED && machine < slicing->graph->machine_count)
        snprintf(lane->machine_name, sizeof(lane->machine_name), "%s",
                 slicing->graph->machines[machine].name);
    else if (assignment->kind == ASSIGNED)
        snprintf(lane->machine_name, sizeof(lane->machine_name), "%.*s", MACHINE_NAME_SIZE,
                 assignment->machines[machine].name);
    else
        snprintf(lane->machine_name, sizeof(lane->machine_name), "machine %u", machine + 1);
}

void slices_begin_chain(struct slicing *slicing, uint32_t chain, uint32_t machine, double now)
{
    struct parallelism_lane *lane = &slicing->slices->lanes[chain];

    *lane = (struct parallelism_lane){.process = slicing->graph->starts[chain].process,
                                      .machine = machine,
                                      .begin = now,
                                      .end = now};
    name_machine(slicing, lane);
}

void slices_end_chain(struct slicing *slicing, uint32_t chain, double now)
{
    slicing->slices->lanes[chain].end = now;
}

/* Whether the latest slice has these rates. */
static bool goes_on(const struct parallelism_slices *slices, const double *rates)
{
    size_t lanes = slices->lane_count;

    for (size_t i = 0; slices->count > 0 && i < lanes; i++)
        if (slices->rates[(slices->count - 1) * lanes + i] != rates[i])
            return false;
    return slices->count > 0;
}

int slices_pass(struct slicing *slicing, double until)
{
    struct parallelism_slices *slices = slicing->slices;
    size_t lanes = slices->lane_count;

    if (!goes_on(slices, slicing->rates)) {
        if (slices->count == PARALLELISM_SLICES_MOST)
            return -E2BIG;
        memcpy(slices->rates + slices->count * lanes, slicing->rates, lanes * sizeof(double));
        slices->count++;
    }
    slices->ends[slices->count - 1] = until;
    memset(slicing->rates, 0, lanes * sizeof(double));
    return 0;
}

int slices_arc(struct slicing *slicing, uint32_t from, uint32_t to, double sent, double came,
               bool message)
{
    struct parallelism_slices *slices = slicing->slices;

    if (from == to)
        return 0;
    if (slices->arc_count == PARALLELISM_SLICE_ARCS_MOST)
        return -E2BIG;
    slices->arcs[slices->arc_count++] =
        (struct parallelism_slice_arc){from, to, sent, came, message};
    return 0;
}

void slices_free(struct parallelism_slices *slices)
{
    if (slices == NULL)
        return;
    free(slices->lanes);
    free(slices->ends);
    free(slices->rates);
    free(slices->arcs);
    free(slices);
}

static struct parallelism_slices *slices_new(uint32_t lanes)
{
    struct parallelism_slices *slices = calloc(1, sizeof(*slices));

    if (slices == NULL)
        return NULL;
    slices->lane_count = lanes;
    slices->lanes = calloc((size_t)lanes + 1, sizeof(*slices->lanes));
    slices->ends = calloc(PARALLELISM_SLICES_MOST, sizeof(*slices->ends));
    slices->rates = calloc(((size_t)lanes + 1) * PARALLELISM_SLICES_MOST, sizeof(*slices->rates));
    slices->arcs = calloc(PARALLELISM_SLICE_ARCS_MOST, sizeof(*slices->arcs));
    if (slices->lanes == NULL || slices->ends == NULL || slices->rates == NULL ||
        slices->arcs == NULL) {
        slices_free(slices);
        return NULL;
    }
    return slices;
}

static int explain(const struct graph *graph, uint32_t assignment, int error,
                   struct problem *problem)
{
    if (error == -E2BIG)
        return problem_set(problem, error,
                           "step sharing of %s has more than %u slices, %u threads or %u arcs, too "
                           "many for a picture: choose a part of the run with --from and --to",
                           graph->options->assignments[assignment].name, PARALLELISM_SLICES_MOST,
                           PARALLELISM_LANES_MOST, PARALLELISM_SLICE_ARCS_MOST);
    return graph_explain(error, problem);
}

int slices_find(const struct graph *graph, struct parallelism *parallelism, struct problem *problem)
{
    uint32_t assignment = (uint32_t)graph->options->assignment_count - 1;
    struct slicing slicing = {.graph = graph, .placed = &graph->placed[assignment]};
    int result = -ENOMEM;

    if (graph->chain_count > PARALLELISM_LANES_MOST)
        return explain(graph, assignment, -E2BIG, problem);
    slicing.slices = parallelism->slices = slices_new(graph->chain_count);
    slicing.rates = calloc((size_t)graph->chain_count + 1, sizeof(*slicing.rates));
    if (slicing.slices != NULL && slicing.rates != NULL)
        result = sharing_slice(graph, slicing.placed, &slicing);
    free(slicing.rates);
    if (result < 0)
        return explain(graph, assignment, result, problem);
    parallelism->slices->assignment = assignment;
    return 0;
}
