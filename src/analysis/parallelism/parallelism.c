/* SPDX-License-Identifier: MIT */
/* parallelism.c: P = T / t_max of a history, for several assignments at once. See parallelism.h. */
#include "analysis/parallelism/program_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *parallelism_step_name(enum parallelism_step step)
{
    static const char *const names[] = {"max", "delay", "sharing", "appendix-a"};

    return step < STEP_COUNT ? names[step] : "unknown";
}

double parallelism_factor(const struct parallelism_row *row)
{
    return row->longest == 0 ? 0 : (double)row->total / (double)row->longest;
}

static double ratio(double part, double whole)
{
    return whole == 0 ? 0 : part / whole;
}

static struct parallelism_row row_of(const struct parallelism *parallelism, uint32_t assignment,
                                     enum parallelism_step step)
{
    for (size_t i = 0; i < parallelism->row_count; i++)
        if (parallelism->rows[i].assignment == assignment && parallelism->rows[i].step == step)
            return parallelism->rows[i];
    return (struct parallelism_row){0};
}

void parallelism_efficiency(const struct parallelism *parallelism, uint32_t assignment,
                            struct parallelism_efficiency *ret_efficiency)
{
    const struct parallelism_row max = row_of(parallelism, assignment, STEP_MAX);
    const struct parallelism_row delay = row_of(parallelism, assignment, STEP_DELAY);
    double largest = (double)parallelism->largest;
    /* machines of another speed are no better or worse transfer */
    double scale = parallelism->total == 0 ? 1 : (double)delay.total / (double)parallelism->total;

    *ret_efficiency = (struct parallelism_efficiency){
        .load_balance = ratio((double)parallelism->total, parallelism->streams * largest),
        .serialisation = ratio(largest, (double)max.longest),
        .transfer = ratio((double)max.longest * scale, (double)delay.longest),
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
    for (size_t i = 0; i < parallelism->search_count; i++)
        free(parallelism->searches[i].machines);
    free(parallelism->searches);
    for (size_t i = 0; i < parallelism->process_count; i++)
        free(parallelism->processes[i].command);
    free(parallelism->processes);
    free(parallelism->paths);
    free(parallelism->other_loads);
    slices_free(parallelism->slices);
    free(parallelism->rows);
    free(parallelism);
}

static int copy_commands(struct parallelism *parallelism, const struct identities *identities)
{
    for (size_t i = 0; i < parallelism->process_count; i++) {
        struct parallelism_process *process = &parallelism->processes[i];
        const char *command = identities_command(identities, process->origin, process->number);
        process->command = command == NULL ? NULL : strdup(command);
        if (command != NULL && process->command == NULL)
            return -ENOMEM;
    }
    return 0;
}

int parallelism_name_processes(struct parallelism *parallelism, const struct identities *identities)
{
    size_t count = parallelism->process_count;
    struct named_process *list = calloc(count + 1, sizeof(*list));
    int result = list == NULL ? -ENOMEM : copy_commands(parallelism, identities);

    for (size_t i = 0; result == 0 && i < count; i++)
        list[i] = (struct named_process){.name = parallelism->processes[i].name,
                                         .command = parallelism->processes[i].command};
    if (result == 0)
        result = processes_find_alike(list, count);
    for (size_t i = 0; result == 0 && i < count; i++)
        parallelism->processes[i].named_alike = list[i].alike;
    free(list);
    return result;
}

/* All CPU time at the speeds of the machines of an assignment. */
static uint64_t total_on(const struct graph *graph, const struct placed *placed)
{
    const struct parallelism *recorded = graph->result;
    double total = 0;

    if (placed->same_speed)
        return recorded->total;
    for (uint32_t i = 0; i < recorded->process_count; i++)
        total += (double)recorded->processes[i].cpu /
                 placed_speed(placed, graph_machine_of(graph, placed, i));
    return (uint64_t)(total + 0.5);
}

/* Step max has the speeds of the recording on each assignment. */
static void add_row(const struct graph *graph, struct parallelism *parallelism, size_t assignment,
                    enum parallelism_step step, uint64_t longest)
{
    parallelism->rows[parallelism->row_count++] = (struct parallelism_row){
        .assignment = (uint32_t)assignment,
        .step = step,
        .longest = longest,
        .total =
            step == STEP_MAX ? parallelism->total : total_on(graph, &graph->placed[assignment]),
    };
}

static int explain(const struct graph *graph, size_t assignment, int error, struct problem *problem)
{
    if (error != -EDEADLK)
        return graph_explain(error, problem);
    return problem_set(problem, error, "%s: the graph has a circle",
                       graph->options->assignments[assignment].name);
}

/* The last step of an assignment, if it is wanted. */
static int add_appendix_a(const struct graph *graph, size_t assignment,
                          struct parallelism *parallelism, struct problem *problem)
{
    uint64_t longest;

    if (!graph->options->appendix_a)
        return 0;
    int result = appendix_a_reweight(graph, &graph->placed[assignment], &longest, problem);
    if (result == 0)
        add_row(graph, parallelism, assignment, STEP_APPENDIX_A, longest);
    return result;
}

/* For an assignment that has to be searched first; its steps are simulated afterwards. */
static int add_searched(struct graph *graph, size_t assignment, struct parallelism *parallelism)
{
    struct parallelism_search *search = &parallelism->searches[parallelism->search_count];
    struct placed *placed = &graph->placed[assignment];
    uint64_t delayed;
    int result = assignment_search(graph, placed, search);

    if (result < 0)
        return result;
    search->assignment = (uint32_t)assignment;
    parallelism->search_count++;
    placed->unlimited = true;
    result = sharing_simulate(graph, placed, &delayed);
    placed->unlimited = false;
    if (result < 0)
        return result;
    add_row(graph, parallelism, assignment, STEP_MAX, graph->longest[0]);
    add_row(graph, parallelism, assignment, STEP_DELAY, delayed);
    add_row(graph, parallelism, assignment, STEP_SHARING, search->longest);
    return 0;
}

static int add_given(const struct graph *graph, size_t assignment, struct parallelism *parallelism)
{
    uint64_t longest;

    add_row(graph, parallelism, assignment, STEP_MAX, graph->longest[0]);
    add_row(graph, parallelism, assignment, STEP_DELAY,
            graph->longest[graph->lengths == 1 ? 0 : 1 + assignment]);
    if (!graph->options->sharing)
        return 0;
    int result = sharing_simulate(graph, &graph->placed[assignment], &longest);
    if (result == 0)
        add_row(graph, parallelism, assignment, STEP_SHARING, longest);
    return result;
}

static int make_rows(struct graph *graph, struct parallelism *parallelism, struct problem *problem)
{
    const struct parallelism_options *options = graph->options;

    parallelism->rows =
        calloc(options->assignment_count * STEP_COUNT + 1, sizeof(*parallelism->rows));
    parallelism->searches = calloc(options->assignment_count + 1, sizeof(*parallelism->searches));
    if (parallelism->rows == NULL || parallelism->searches == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->assignment_count; i++) {
        int result = options->assignments[i].kind == SEARCHED ? add_searched(graph, i, parallelism)
                                                              : add_given(graph, i, parallelism);
        if (result == 0)
            result = add_appendix_a(graph, i, parallelism, problem);
        if (result < 0)
            return explain(graph, i, result, problem);
    }
    return 0;
}

/* ---- as an analysis ---- */

struct parallelism_analysis {
    struct parallelism_options options;
    struct graph graph;
    struct parallelism *result;
};

int parallelism_new(struct history *history, const struct parallelism_options *options,
                    struct parallelism_analysis **ret_analysis, struct problem *problem)
{
    struct parallelism_analysis *analysis = calloc(1, sizeof(*analysis));
    struct parallelism *result = calloc(1, sizeof(*result));

    if (analysis == NULL || result == NULL) {
        free(analysis);
        free(result);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    analysis->options = *options;
    analysis->result = result;
    int made = graph_init(&analysis->graph, &analysis->options, history, result, problem);
    if (made < 0)
        parallelism_analysis_free(analysis);
    else
        *ret_analysis = analysis;
    return made;
}

void parallelism_analysis_free(struct parallelism_analysis *analysis)
{
    if (analysis == NULL)
        return;
    graph_done(&analysis->graph);
    parallelism_free(analysis->result);
    free(analysis);
}

int parallelism_add(struct parallelism_analysis *analysis, const struct history_event *event,
                    struct problem *problem)
{
    int added = graph_add(&analysis->graph, event);

    return added < 0 ? graph_explain(added, problem) : 0;
}

static int add_event(void *analysis, const struct history_event *event, struct problem *problem)
{
    return parallelism_add(analysis, event, problem);
}

bool parallelism_answers(const struct parallelism_analysis *analysis, struct outside_arc *ret_arc)
{
    *ret_arc = analysis->graph.answer;
    return analysis->graph.answers;
}

struct analysis parallelism_analysis(struct parallelism_analysis *analysis)
{
    return (struct analysis){"the parallelism", analysis, add_event};
}

int parallelism_complete(struct graph *graph, struct parallelism *result, struct problem *problem)
{
    const struct parallelism_options *options = graph->options;
    int made;

    if (options->other_load == OTHER_LOAD_SEEN && other_load_find(graph) < 0)
        return graph_explain(-ENOMEM, problem);
    made = make_rows(graph, result, problem);
    if (made < 0)
        return made;
    if (options->slices)
        made = slices_find(graph, result, problem);
    if (made < 0)
        return made;
    if (options->sharing)
        made = process_paths_find(graph, result, problem);
    if (made < 0)
        return graph_explain(made, problem);
    history_counts(graph->history, &result->matching);
    return 0;
}

int parallelism_finish(struct parallelism_analysis *analysis, struct parallelism **ret_parallelism,
                       struct problem *problem)
{
    struct graph *graph = &analysis->graph;
    int finished = graph_finish(graph);

    if (finished < 0)
        return graph_explain(finished, problem);
    finished = parallelism_complete(graph, analysis->result, problem);
    if (finished < 0)
        return finished;
    finished = parallelism_name_processes(analysis->result, history_identities(graph->history));
    if (finished < 0)
        return graph_explain(finished, problem);
    *ret_parallelism = analysis->result;
    analysis->result = NULL;
    return 0;
}

int parallelism_read_history(struct history *history, const struct parallelism_options *options,
                             struct parallelism **ret_parallelism, struct problem *problem)
{
    struct parallelism_analysis *analysis = NULL;
    int result = parallelism_new(history, options, &analysis, problem);

    if (result == 0) {
        const struct analysis reads = parallelism_analysis(analysis);
        result = analyses_read_all(history, &reads, 1, problem);
    }
    if (result == 0)
        result = parallelism_finish(analysis, ret_parallelism, problem);
    parallelism_analysis_free(analysis);
    return result;
}
