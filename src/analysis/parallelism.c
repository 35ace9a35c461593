/* SPDX-License-Identifier: MIT */
/* parallelism.c: P = T / t_max of a history, for several assignments at once. See parallelism.h. */
#include "analysis/program_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *parallelism_step_name(enum parallelism_step step)
{
    static const char *const names[] = {"max", "delay", "sharing"};

    return step < STEP_COUNT ? names[step] : "unknown";
}

double parallelism_factor(const struct parallelism *parallelism, const struct parallelism_row *row)
{
    return row->longest == 0 ? 0 : (double)parallelism->total / (double)row->longest;
}

static double ratio(double part, double whole)
{
    return whole == 0 ? 0 : part / whole;
}

static uint64_t longest_of(const struct parallelism *parallelism, uint32_t assignment,
                           enum parallelism_step step)
{
    for (size_t i = 0; i < parallelism->row_count; i++)
        if (parallelism->rows[i].assignment == assignment && parallelism->rows[i].step == step)
            return parallelism->rows[i].longest;
    return 0;
}

void parallelism_efficiency(const struct parallelism *parallelism, uint32_t assignment,
                            struct parallelism_efficiency *ret_efficiency)
{
    double most = (double)longest_of(parallelism, assignment, STEP_MAX);
    double delayed = (double)longest_of(parallelism, assignment, STEP_DELAY);
    double largest = (double)parallelism->largest;

    *ret_efficiency = (struct parallelism_efficiency){
        .load_balance = ratio((double)parallelism->total, parallelism->streams * largest),
        .serialisation = ratio(largest, most),
        .transfer = ratio(most, delayed),
    };
}

bool parallelism_has_threads(const struct parallelism *parallelism)
{
    for (size_t i = 0; i < parallelism->process_count; i++)
        if (parallelism->processes[i].streams > 1)
            return true;
    return false;
}

void parallelism_free(struct parallelism *parallelism)
{
    if (parallelism == NULL)
        return;
    free(parallelism->processes);
    free(parallelism->rows);
    free(parallelism);
}

static void add_row(struct parallelism *parallelism, size_t assignment, enum parallelism_step step,
                    uint64_t longest)
{
    parallelism->rows[parallelism->row_count++] = (struct parallelism_row){
        .assignment = (uint32_t)assignment, .step = step, .longest = longest};
}

static int make_rows(const struct graph *graph, struct parallelism *parallelism,
                     struct problem *problem)
{
    const struct parallelism_options *options = graph->options;

    parallelism->rows =
        calloc(options->assignment_count * STEP_COUNT + 1, sizeof(*parallelism->rows));
    if (parallelism->rows == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->assignment_count; i++) {
        uint64_t longest = 0;
        add_row(parallelism, i, STEP_MAX, graph->longest[0]);
        add_row(parallelism, i, STEP_DELAY, graph->longest[1 + i]);
        if (!options->sharing)
            continue;
        int result = sharing_simulate(graph, &graph->placed[i], &longest);
        if (result < 0)
            return problem_set(problem, result, "%s: %s", options->assignments[i].name,
                               result == -EDEADLK ? "the graph has a circle" : strerror(-result));
        add_row(parallelism, i, STEP_SHARING, longest);
    }
    return 0;
}

int parallelism_read_history(struct history *history, const struct parallelism_options *options,
                             struct parallelism **ret_parallelism, struct problem *problem)
{
    struct parallelism *parallelism = calloc(1, sizeof(*parallelism));
    struct graph *graph = calloc(1, sizeof(*graph));
    int result = -ENOMEM;

    if (parallelism == NULL || graph == NULL) {
        problem_set(problem, result, "out of memory");
        free(parallelism);
        free(graph);
        return result;
    }
    result = graph_init(graph, options, history, parallelism, problem);
    if (result == 0)
        result = graph_read(graph, history, problem);
    if (result == 0)
        result = make_rows(graph, parallelism, problem);
    history_counts(history, &parallelism->matching);
    graph_done(graph);
    free(graph);
    if (result < 0)
        parallelism_free(parallelism);
    else
        *ret_parallelism = parallelism;
    return result;
}
