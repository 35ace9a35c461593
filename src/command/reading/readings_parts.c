/* SPDX-License-Identifier: MIT */
/* readings_parts.c: the analyses of a reading. See readings_parts.h. */
#include "command/reading/readings_parts.h"

#include <errno.h>

int readings_settle(struct part *part, int result, const struct problem *problem)
{
    if (result >= 0 || part->may_fail == NULL)
        return result;
    *part->may_fail = *problem;
    part->failed = true;
    return 0;
}

static int add_to_part(void *self, const struct history_event *event, struct problem *problem)
{
    struct part *part = self;

    return part->failed
               ? 0
               : readings_settle(part, analysis_add(&part->analysis, event, problem), problem);
}

static bool is_there(const struct part *part)
{
    return part->analysis.self != NULL && !part->failed;
}

/* ---- before the first event ---- */

static int out_of_memory(struct problem *problem)
{
    return problem_set(problem, -ENOMEM, "out of memory");
}

static int begin_statistics(struct readings *readings, struct problem *problem)
{
    const struct analyses_wanted *wanted = readings->wanted;

    if (!wanted->statistics)
        return 0;
    if (statistics_new(readings->history, wanted->every, &readings->statistics) < 0)
        return out_of_memory(problem);
    readings->parts[STATISTICS].analysis = statistics_analysis(readings->statistics);
    return 0;
}

static bool is_selected(void *context, uint32_t origin, const struct stream_record *stream)
{
    const struct readings *readings = context;

    return dump_choice_accepts_process(&readings->wanted->selection->choice,
                                       history_identities(readings->history), origin, stream);
}

static bool is_not_selected(void *context, uint32_t origin, const struct stream_record *stream)
{
    struct selecting *selecting = context;
    struct readings *readings = selecting->readings;

    if (selecting->leaves_out != NULL && selecting->leaves_out(selecting->context, origin, stream))
        return true;
    return !is_selected(readings, origin, stream);
}

static bool selects_processes(const struct readings *readings)
{
    const struct selection *selection = readings->wanted->selection;

    return selection != NULL && selection->choice.processes.count > 0;
}

static void select_processes(struct readings *readings, struct selecting *selecting,
                             struct parallelism_options *options)
{
    if (!selects_processes(readings))
        return;
    *selecting = (struct selecting){readings, options->leaves_out, options->context};
    options->leaves_out = is_not_selected;
    options->context = selecting;
}

static int begin_parallelism(struct readings *readings, bool threads,
                             struct parallelism_analysis **analysis, struct part *part,
                             struct problem *problem)
{
    struct parallelism_options options = *readings->wanted->parallelism;
    int result;

    options.threads = threads;
    select_processes(readings, &readings->selecting_parallelism, &options);
    result = parallelism_new(readings->history, &options, analysis, problem);
    if (result == 0)
        part->analysis = parallelism_analysis(*analysis);
    return result;
}

static int begin_threads(struct readings *readings, struct problem *problem)
{
    const struct analyses_wanted *wanted = readings->wanted;

    if (wanted->one_graph) { /* begin_path makes it */
        readings->parts[THREADS].analysis = (struct analysis){.self = readings};
        return 0;
    }
    return wanted->parallelism == NULL
               ? 0
               : begin_parallelism(readings, wanted->streams != STREAMS_PROCESSES,
                                   &readings->threads, &readings->parts[THREADS], problem);
}

/* A recording that is still running may have some later. */
static bool may_have_threads(const struct readings *readings)
{
    return readings->traces.count == 0 || traces_may_have_threads(&readings->traces);
}

/* Without threads, the result would equal that of begin_threads. */
static int begin_processes(struct readings *readings, struct problem *problem)
{
    const struct analyses_wanted *wanted = readings->wanted;

    return wanted->parallelism == NULL || wanted->streams != STREAMS_BOTH ||
                   !may_have_threads(readings)
               ? 0
               : begin_parallelism(readings, false, &readings->processes,
                                   &readings->parts[PROCESSES], problem);
}

static int begin_path(struct readings *readings, struct problem *problem)
{
    if (readings->wanted->path == NULL)
        return 0;
    readings->path_options = *readings->wanted->path;
    if (readings->wanted->one_graph) {
        readings->path_options.parallelism = *readings->wanted->parallelism;
        readings->path_options.parallelism.threads = true;
    }
    select_processes(readings, &readings->selecting_path, &readings->path_options.parallelism);
    int result =
        critical_path_new(readings->history, &readings->path_options, &readings->path, problem);
    if (result == 0)
        readings->parts[PATH].analysis = critical_path_analysis(readings->path);
    return result;
}

static int begin_requests(struct readings *readings, struct problem *problem)
{
    const struct causality_options *options = readings->wanted->causality;

    if (options == NULL)
        return 0;
    if (causality_new(readings->history, options, &readings->causality) < 0)
        return out_of_memory(problem);
    readings->parts[REQUESTS].analysis = causality_analysis(readings->causality);
    return 0;
}

static int begin_elapsed(struct readings *readings, struct problem *problem)
{
    if (!readings->wanted->elapsed)
        return 0;
    int result = elapsed_new(readings->history, NULL, &readings->elapsed, problem);
    if (result == 0 && selects_processes(readings))
        elapsed_end_with(readings->elapsed, is_selected, readings);
    if (result == 0)
        readings->parts[ELAPSED].analysis = elapsed_analysis(readings->elapsed);
    return result;
}

static int begin_lanes(struct readings *readings, struct problem *problem)
{
    if (!readings->wanted->lanes || readings->elapsed == NULL)
        return 0;
    if (lanes_new(readings->history, readings->elapsed, &readings->lanes) < 0)
        return out_of_memory(problem);
    readings->parts[LANES].analysis = lanes_analysis(readings->lanes);
    return 0;
}

static int begin_pauses(struct readings *readings, struct problem *problem)
{
    if (!readings->wanted->pauses)
        return 0;
    if (pauses_new(readings->history, &readings->pauses) < 0)
        return out_of_memory(problem);
    readings->parts[PAUSES].analysis = pauses_analysis(readings->pauses);
    return 0;
}

static int begin_patterns(struct readings *readings, struct problem *problem)
{
    if (!readings->wanted->patterns)
        return 0;
    if (patterns_new(readings->history, &readings->patterns) < 0)
        return out_of_memory(problem);
    readings->parts[PATTERNS].analysis = patterns_analysis(readings->patterns);
    return 0;
}

/* ---- after the last event: each part frees its memory and graph before the next one is finished ---- */

static int finish_statistics(struct readings *readings, struct problem *problem)
{
    history_finish(readings->history); /* the results need the memory */
    int result =
        statistics_finish(readings->statistics, readings->origins, &readings->found->communication);

    statistics_free(readings->statistics);
    readings->statistics = NULL;
    return result < 0 ? out_of_memory(problem) : 0;
}

/* Once, after the last event. */
static int find_path(struct readings *readings, struct problem *problem)
{
    int result = readings->path_found ? 0 : critical_path_find(readings->path, problem);

    readings->path_found = true;
    return result;
}

/* The graph is that of the path. If that has failed, so has this. */
static int finish_threads_of_path(struct readings *readings, struct problem *problem)
{
    struct part *path = &readings->parts[PATH];
    int result = !is_there(path) ? 0 : readings_settle(path, find_path(readings, problem), problem);

    if (result == 0 && !is_there(path)) {
        *problem = readings->found->path_problem;
        return -ECANCELED;
    }
    return result < 0
               ? result
               : critical_path_parallelism(readings->path, &readings->found->run.threads, problem);
}

static int finish_threads(struct readings *readings, struct problem *problem)
{
    if (readings->wanted->one_graph)
        return finish_threads_of_path(readings, problem);
    int result = parallelism_finish(readings->threads, &readings->found->run.threads, problem);

    parallelism_analysis_free(readings->threads);
    readings->threads = NULL;
    return result;
}

static int finish_processes(struct readings *readings, struct problem *problem)
{
    struct parallelism_run *run = &readings->found->run;
    int result = 0;

    if (run->threads != NULL && parallelism_has_threads(run->threads))
        result = parallelism_finish(readings->processes, &run->processes, problem);
    parallelism_analysis_free(readings->processes);
    readings->processes = NULL;
    return result;
}

static int finish_path(struct readings *readings, struct problem *problem)
{
    return find_path(readings, problem);
}

static int finish_requests(struct readings *readings, struct problem *problem)
{
    int result =
        causality_finish(readings->causality, readings->origins, &readings->found->causality);

    causality_analysis_free(readings->causality);
    readings->causality = NULL;
    return result < 0 ? out_of_memory(problem) : 0;
}

static int finish_elapsed(struct readings *readings, struct problem *problem)
{
    int result = elapsed_finish(readings->elapsed, &readings->found->elapsed);

    if (result == 0 && readings->wanted->whatif)
        result = whatif_model_new(readings->elapsed, readings->wanted->whatif,
                                  !readings->found->elapsed->from_start, &readings->found->whatif);
    return result < 0 ? out_of_memory(problem) : 0;
}

static int finish_lanes(struct readings *readings, struct problem *problem)
{
    const struct elapsed *elapsed = readings->found->elapsed;

    return elapsed != NULL && lanes_finish(readings->lanes, elapsed, &readings->found->lanes) < 0
               ? out_of_memory(problem)
               : 0;
}

/* Lanes are made of what the account still holds. */
static void forget_elapsed(struct readings *readings)
{
    lanes_analysis_free(readings->lanes);
    elapsed_analysis_free(readings->elapsed);
    readings->lanes = NULL;
    readings->elapsed = NULL;
}

static int finish_pauses(struct readings *readings, struct problem *problem)
{
    int result = pauses_finish(readings->pauses, &readings->found->pauses);

    pauses_analysis_free(readings->pauses);
    readings->pauses = NULL;
    return result < 0 ? out_of_memory(problem) : 0;
}

static int finish_patterns(struct readings *readings, struct problem *problem)
{
    int result = patterns_finish(readings->patterns, &readings->found->patterns);

    patterns_analysis_free(readings->patterns);
    readings->patterns = NULL;
    return result < 0 ? out_of_memory(problem) : 0;
}

/* ---- all of them ---- */

typedef int step_function(struct readings *readings, struct problem *problem);

static step_function *const begins[PART_COUNT] = {
    [STATISTICS] = begin_statistics, [REQUESTS] = begin_requests,   [ELAPSED] = begin_elapsed,
    [LANES] = begin_lanes,           [PAUSES] = begin_pauses,       [PATTERNS] = begin_patterns,
    [THREADS] = begin_threads,       [PROCESSES] = begin_processes, [PATH] = begin_path,
};
static step_function *const finishes[PART_COUNT] = {
    [STATISTICS] = finish_statistics, [REQUESTS] = finish_requests,   [ELAPSED] = finish_elapsed,
    [LANES] = finish_lanes,           [PAUSES] = finish_pauses,       [PATTERNS] = finish_patterns,
    [THREADS] = finish_threads,       [PROCESSES] = finish_processes, [PATH] = finish_path,
};

void readings_hide_secrets(struct readings *readings)
{
    if (readings->wanted->hides_secrets)
        identities_hide_secrets(history_share_identities(readings->history));
}

int readings_begin_parts(struct readings *readings, struct problem *problem)
{
    struct analyses_found *found = readings->found;
    struct problem *const may_fail[PART_COUNT] = {
        [THREADS] = &found->parallelism_problem, [PROCESSES] = &found->parallelism_problem,
        [PATH] = &found->path_problem,           [REQUESTS] = &found->causality_problem,
        [ELAPSED] = &found->elapsed_problem,     [PAUSES] = &found->elapsed_problem,
        [LANES] = &found->elapsed_problem,       [PATTERNS] = &found->elapsed_problem,
    };
    int result = 0;

    readings_hide_secrets(readings);
    for (unsigned i = 0; i < PART_COUNT && result == 0; i++) {
        if ((readings->its_parts & 1u << i) == 0)
            continue;
        readings->parts[i].may_fail = readings->wanted->goes_on ? may_fail[i] : NULL;
        result = readings_settle(&readings->parts[i], begins[i](readings, problem), problem);
    }
    return result;
}

_Static_assert(READINGS_MOST == PART_COUNT, "readings_analyses has space for all parts");

size_t readings_analyses(struct readings *readings, struct analysis ret_analyses[READINGS_MOST])
{
    size_t count = 0;

    for (unsigned i = 0; i < PART_COUNT; i++)
        if (is_there(&readings->parts[i]) && readings->parts[i].analysis.add != NULL)
            ret_analyses[count++] = (struct analysis){readings->parts[i].analysis.name,
                                                      &readings->parts[i], add_to_part};
    return count;
}

int readings_finish_parts(struct readings *readings, struct problem *problem)
{
    int result = 0;

    history_finish(readings->history); /* results need the memory */
    for (unsigned i = 0; i < PART_COUNT && result == 0; i++) {
        if (i > LANES)
            forget_elapsed(readings);
        if (is_there(&readings->parts[i]))
            result = readings_settle(&readings->parts[i], finishes[i](readings, problem), problem);
    }
    return result;
}

void readings_forget_parts(struct readings *readings)
{
    statistics_free(readings->statistics);
    parallelism_analysis_free(readings->threads);
    parallelism_analysis_free(readings->processes);
    critical_path_reading_free(readings->path);
    causality_analysis_free(readings->causality);
    forget_elapsed(readings);
    pauses_analysis_free(readings->pauses);
    patterns_analysis_free(readings->patterns);
}

bool readings_has(const struct readings *readings, unsigned part)
{
    return is_there(&readings->parts[part]);
}
