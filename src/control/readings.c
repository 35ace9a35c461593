/* SPDX-License-Identifier: MIT */
/* readings.c: several analyses of the same traces. See readings.h. */
#include "control/readings.h"

#include "control/readings_progress.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define OFFERED 5 /* what-ifs */

static const struct assignment one_each = {.name = "one-each", .kind = ONE_EACH};

const struct critical_path_options report_path_options = {
    .parallelism = {.assignments = &one_each, .assignment_count = 1, .threads = true},
    .offered = OFFERED,
};

/* ---- parts ---- */

/* In the order in which they are finished. The path comes last: it needs disk space for more files than its copy of the
 * graph, and the others have released theirs by then. */
enum {
    STATISTICS,
    REQUESTS,
    ELAPSED,
    LANES,
    PAUSES,
    PATTERNS,
    THREADS,
    PROCESSES,
    PATH,
    PART_COUNT
};

/*
 * Two readings of the traces, side by side, share nothing: each has a history of its own. The history is a small part of
 * the work, so to read it twice is cheap. The first one is repeated for the path.
 */
#define TEAMS     2
#define ALL_PARTS ((1u << PART_COUNT) - 1)
static const unsigned parts_of_team[TEAMS] = {
    1u << PATH | 1u << THREADS | 1u << PROCESSES,
    1u << STATISTICS | 1u << REQUESTS | 1u << ELAPSED | 1u << LANES | 1u << PAUSES | 1u << PATTERNS,
};

/* One analysis in a reading. */
struct part {
    struct analysis analysis; /* its `self` is NULL: not requested */
    /* If it fails, its error is stored here and the others continue; NULL: it must not fail. */
    struct problem *may_fail;
    bool failed;
};

/* Leaves out processes that are not selected, besides those that the command leaves out itself. */
struct selecting {
    struct readings *readings;
    bool (*leaves_out)(void *context, uint32_t origin, const struct stream_record *stream);
    void *context;
};

struct readings {
    const struct analyses_wanted *wanted;
    struct analyses_found *found;
    struct traces traces;    /* all zero: `history` is the caller's */
    struct history *history; /* that is read now */
    uint32_t origins;
    unsigned its_parts;                 /* bits of the parts that it begins, if they are wanted */
    struct readings_progress *progress; /* NULL: another thread shows it */
    struct part parts[PART_COUNT];
    struct statistics *statistics;
    struct parallelism_analysis *threads;
    struct parallelism_analysis *processes;
    struct critical_path_reading *path;
    struct causality_analysis *causality;
    struct elapsed_analysis *elapsed;
    struct lanes_analysis *lanes;
    struct pauses_analysis *pauses;
    struct patterns_analysis *patterns;
    struct critical_path_options path_options;
    struct selecting selecting_parallelism, selecting_path;
};

/* What a part's error means for the whole reading: 0 if the others continue. */
static int settle(struct part *part, int result, const struct problem *problem)
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

    return part->failed ? 0 : settle(part, analysis_add(&part->analysis, event, problem), problem);
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

static int finish_threads(struct readings *readings, struct problem *problem)
{
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
    return critical_path_find(readings->path, problem);
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
    return elapsed_finish(readings->elapsed, &readings->found->elapsed) < 0 ? out_of_memory(problem)
                                                                            : 0;
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

/* ---- the first reading ---- */

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

static void hide_secrets(struct readings *readings)
{
    if (readings->wanted->hides_secrets)
        identities_hide_secrets(history_share_identities(readings->history));
}

static int begin_parts(struct readings *readings, struct problem *problem)
{
    struct analyses_found *found = readings->found;
    struct problem *const may_fail[PART_COUNT] = {
        [THREADS] = &found->parallelism_problem, [PROCESSES] = &found->parallelism_problem,
        [PATH] = &found->path_problem,           [REQUESTS] = &found->causality_problem,
        [ELAPSED] = &found->elapsed_problem,     [PAUSES] = &found->elapsed_problem,
        [LANES] = &found->elapsed_problem,       [PATTERNS] = &found->elapsed_problem,
    };
    int result = 0;

    hide_secrets(readings);
    for (unsigned i = 0; i < PART_COUNT && result == 0; i++) {
        if ((readings->its_parts & 1u << i) == 0)
            continue;
        readings->parts[i].may_fail = readings->wanted->goes_on ? may_fail[i] : NULL;
        result = settle(&readings->parts[i], begins[i](readings, problem), problem);
    }
    return result;
}

_Static_assert(READINGS_MOST == PART_COUNT, "readings_analyses has space for all parts");

size_t readings_analyses(struct readings *readings, struct analysis ret_analyses[READINGS_MOST])
{
    size_t count = 0;

    for (unsigned i = 0; i < PART_COUNT; i++)
        if (is_there(&readings->parts[i]))
            ret_analyses[count++] = (struct analysis){readings->parts[i].analysis.name,
                                                      &readings->parts[i], add_to_part};
    return count;
}

/* Reads the traces once, for the parts that are there. */
static int feed(struct readings *readings, struct problem *problem)
{
    struct analysis analyses[READINGS_MOST + 1];
    size_t count = readings_analyses(readings, analyses);

    if (readings->progress == NULL)
        return analyses_read_all(readings->history, analyses, count, problem);
    readings_progress_init(readings->progress, &readings->traces,
                           is_there(&readings->parts[PATH]) ? 2 : 1);
    analyses[count++] = readings_progress_analysis(readings->progress);
    int result = analyses_read_all(readings->history, analyses, count, problem);
    readings_progress_pass(readings->progress);
    return result;
}

static int finish_parts(struct readings *readings, struct problem *problem)
{
    int result = 0;

    history_finish(readings->history); /* results need the memory */
    for (unsigned i = 0; i < PART_COUNT && result == 0; i++) {
        if (i > LANES)
            forget_elapsed(readings);
        if (is_there(&readings->parts[i]))
            result = settle(&readings->parts[i], finishes[i](readings, problem), problem);
    }
    return result;
}

/* After everything is read: counts records and losses. */
static void note_losses(const struct readings *readings)
{
    struct analyses_found *found = readings->found;
    struct recorded *recorded = &found->run.recorded;

    recorded->complete = true;
    for (uint32_t i = 0; i < readings->origins; i++) {
        const struct source_state *state = history_state(readings->history, i);
        recorded->lost += state->lost;
        recorded->complete = recorded->complete && source_is_whole(state);
        found->records += state->records;
        found->removed += state->removed;
        found->removed_time += state->removed_time;
    }
}

/* ---- the second reading ---- */

/* If there are more events than the picture may show, begins it with the slowest request, or else at the interval with the
 * most messages. */
static void choose_begin(struct picture *picture, const struct analyses_found *found)
{
    const struct communication *communication = found->communication;
    size_t busiest = 0;

    if (communication->events <= picture->choice.most)
        return;
    for (size_t i = 1; i < communication->interval_count; i++)
        if (communication->intervals[i].messages > communication->intervals[busiest].messages)
            busiest = i;
    picture->choice.from =
        communication->interval_begin + (int64_t)(busiest * communication->interval);
    const struct elapsed_requests *requests =
        found->elapsed == NULL || found->elapsed->from_start ? NULL : &found->elapsed->requests;
    if (requests != NULL && requests->count > 0 && found->lanes != NULL &&
        requests->slowest.begin > found->lanes->first_record)
        picture->choice.from = (int64_t)(requests->slowest.begin - found->lanes->first_record);
}

static int begin_again(struct readings *readings, struct problem *problem)
{
    const struct analyses_wanted *wanted = readings->wanted;
    int result = traces_rewind(&readings->traces, problem);

    if (result < 0)
        return result;
    readings->history = readings->traces.history;
    hide_secrets(readings);
    critical_path_again(readings->path, readings->history);
    if (wanted->picture == NULL)
        return 0;
    if (wanted->busiest)
        choose_begin(wanted->picture, readings->found);
    return picture_begin(wanted->picture, &readings->traces, readings->path, problem);
}

static int read_again(struct readings *readings, struct problem *problem)
{
    const struct analyses_wanted *wanted = readings->wanted;
    int result = begin_again(readings, problem);

    if (result == 0) {
        const struct analysis analyses[] = {
            critical_path_analysis(readings->path),
            readings_progress_analysis(readings->progress),
            picture_analysis(wanted->picture),
        };
        result = analyses_read_all(readings->history, analyses, wanted->picture == NULL ? 2 : 3,
                                   problem);
        readings_progress_pass(readings->progress);
    }
    if (result == 0)
        result = critical_path_finish(readings->path, &readings->found->path, problem);
    return result;
}

/* ---- both readings ---- */

static void readings_done(struct readings *readings)
{
    statistics_free(readings->statistics);
    parallelism_analysis_free(readings->threads);
    parallelism_analysis_free(readings->processes);
    critical_path_reading_free(readings->path);
    causality_analysis_free(readings->causality);
    forget_elapsed(readings);
    pauses_analysis_free(readings->pauses);
    patterns_analysis_free(readings->patterns);
    traces_close(&readings->traces);
}

/* ---- several readings of the same traces, side by side ---- */

struct team {
    struct readings readings;
    const struct trace_names *names;
    pthread_t thread;
    bool has_thread;
    int result;
    struct problem problem;
};

/* Reads the traces once, and finishes all but the path. */
static int read_once(struct team *team)
{
    struct readings *readings = &team->readings;
    const struct trace_names *names = team->names;
    int result = traces_open(names->at, names->count, readings->wanted->selection,
                             &readings->traces, &team->problem);

    readings->history = readings->traces.history;
    readings->origins = (uint32_t)names->count;
    if (result == 0)
        result = begin_parts(readings, &team->problem);
    if (result == 0)
        result = feed(readings, &team->problem);
    if (result == 0)
        result = finish_parts(readings, &team->problem);
    return result;
}

static void *read_in_thread(void *self)
{
    struct team *team = self;

    team->result = read_once(team);
    return NULL;
}

/* Bits of the parts that are wanted. */
static unsigned parts_wanted(const struct analyses_wanted *wanted)
{
    const bool has[PART_COUNT] = {
        [STATISTICS] = wanted->statistics,
        [REQUESTS] = wanted->causality != NULL,
        [ELAPSED] = wanted->elapsed,
        [LANES] = wanted->lanes,
        [PAUSES] = wanted->pauses,
        [PATTERNS] = wanted->patterns,
        [THREADS] = wanted->parallelism != NULL,
        [PROCESSES] = wanted->parallelism != NULL,
        [PATH] = wanted->path != NULL,
    };
    unsigned bits = 0;

    for (unsigned i = 0; i < PART_COUNT; i++)
        bits |= has[i] ? 1u << i : 0;
    return bits;
}

/* A selection notes what was found of it, so it is used by one thread. */
static bool is_side_by_side(const struct analyses_wanted *wanted)
{
    cpu_set_t processors;

    if (wanted->selection != NULL && selection_restricts(wanted->selection))
        return false;
    if (wanted->threads > 0)
        return wanted->threads > 1;
    return sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
}

/* Waits for the second team, if there is one; without a thread, it reads now. Returns its error, with a line in `problem`. */
static int join(struct team *teams, unsigned count, struct problem *problem)
{
    struct team *second = &teams[1];

    if (count < 2)
        return 0;
    if (second->has_thread)
        pthread_join(second->thread, NULL);
    else
        read_in_thread(second);
    if (second->result < 0)
        *problem = second->problem;
    return second->result;
}

/* The first team, in the caller's thread, while the second one reads. A picture is made of what both have found. */
static int lead(struct team *teams, unsigned count, struct problem *problem)
{
    struct readings *readings = &teams[0].readings;
    struct part *path = &readings->parts[PATH];
    bool waits = readings->wanted->picture != NULL;
    int result = read_once(&teams[0]);

    if (result == 0 && !teams[0].names->quiet)
        traces_report_losses(&readings->traces);
    if (result == 0)
        note_losses(readings);
    int joined = waits ? join(teams, count, problem) : 0;
    if (result == 0 && joined == 0 && is_there(path))
        result = settle(path, read_again(readings, &teams[0].problem), &teams[0].problem);
    if (!waits)
        joined = join(teams, count, problem);
    if (result < 0)
        *problem = teams[0].problem;
    return result < 0 ? result : joined;
}

int read_analyses(const struct trace_names *names, const struct analyses_wanted *wanted,
                  struct analyses_found *found, struct problem *problem)
{
    struct team teams[TEAMS] = {0};
    struct readings_progress progress;
    unsigned count = 0, parts = parts_wanted(wanted);
    bool side_by_side = is_side_by_side(wanted);

    *found = (struct analyses_found){.run.name = names->at[0]};
    for (unsigned i = 0; i < TEAMS; i++)
        if ((parts_of_team[i] & parts) != 0 || (count == 0 && i + 1 == TEAMS))
            teams[count++] = (struct team){
                .readings = {.wanted = wanted, .found = found, .its_parts = parts_of_team[i]},
                .names = names};
    teams[0].readings.progress = &progress;
    if (count > 1 && side_by_side)
        teams[1].has_thread =
            pthread_create(&teams[1].thread, NULL, read_in_thread, &teams[1]) == 0;
    int result = lead(teams, count, problem);
    for (unsigned i = 0; i < count; i++)
        readings_done(&teams[i].readings);
    return result;
}

/* ---- one reading of a recording that runs ---- */

int readings_new(struct history *history, const struct analyses_wanted *wanted,
                 struct analyses_found *found, struct readings **ret_readings,
                 struct problem *problem)
{
    struct readings *readings = calloc(1, sizeof(*readings));

    if (readings == NULL)
        return out_of_memory(problem);
    *readings = (struct readings){
        .wanted = wanted, .found = found, .history = history, .its_parts = ALL_PARTS};
    *found = (struct analyses_found){.run.name = ""};
    int result = begin_parts(readings, problem);
    if (result < 0) {
        readings_free(readings);
        return result;
    }
    *ret_readings = readings;
    return 0;
}

int readings_finish(struct readings *readings, uint32_t origins, struct problem *problem)
{
    readings->origins = origins;
    int result = finish_parts(readings, problem);

    if (result == 0)
        note_losses(readings);
    return result;
}

void readings_free(struct readings *readings)
{
    if (readings == NULL)
        return;
    readings_done(readings);
    free(readings);
}

void found_done(struct analyses_found *found)
{
    communication_free(found->communication);
    parallelism_free(found->run.threads);
    parallelism_free(found->run.processes);
    critical_path_free(found->path);
    causality_free(found->causality);
    elapsed_free(found->elapsed);
    lanes_free(found->lanes);
    pauses_free(found->pauses);
    patterns_free(found->patterns);
}
