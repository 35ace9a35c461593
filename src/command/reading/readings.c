/* SPDX-License-Identifier: MIT */
/* readings.c: several analyses of the same traces. See readings.h. */
#include "command/reading/readings_parts.h"
#include "command/shared/interrupt.h"

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

/* Two readings of the traces, side by side, share nothing: each has a history of its own. With one thread, they come one after
 * the other, so that results are the same: offsets of clocks depend, by some ns, on what was asked before. */
#define TEAMS     2
#define ALL_PARTS ((1u << PART_COUNT) - 1)
static const unsigned parts_of_team[TEAMS] = {
    1u << PATH | 1u << THREADS | 1u << PROCESSES,
    1u << STATISTICS | 1u << REQUESTS | 1u << ELAPSED | 1u << LANES | 1u << PAUSES | 1u << PATTERNS,
};

/* Reads the traces once, for the parts that are there. */
static int feed(struct readings *readings, struct problem *problem)
{
    struct analysis analyses[READINGS_MOST + 1];
    size_t count = readings_analyses(readings, analyses);

    if (readings->progress == NULL)
        return analyses_read_all(readings->history, analyses, count, problem);
    readings_progress_init(readings->progress, &readings->traces,
                           readings_has(readings, PATH) && readings->wanted->picture != NULL ? 2
                                                                                             : 1);
    analyses[count++] = readings_progress_analysis(readings->progress);
    int result = analyses_read_all(readings->history, analyses, count, problem);
    readings_progress_pass(readings->progress);
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
    readings_hide_secrets(readings);
    critical_path_again(readings->path, readings->history);
    if (wanted->busiest)
        choose_begin(wanted->picture, readings->found);
    return picture_begin(wanted->picture, &readings->traces, readings->path, problem);
}

static int read_again(struct readings *readings, struct problem *problem)
{
    int result = begin_again(readings, problem);

    if (result < 0)
        return result;
    const struct analysis analyses[] = {
        critical_path_analysis(readings->path),
        readings_progress_analysis(readings->progress),
        picture_analysis(readings->wanted->picture),
    };
    result = analyses_read_all(readings->history, analyses, ARRAY_SIZE(analyses), problem);
    readings_progress_pass(readings->progress);
    return result;
}

/* The path has been found: draws the picture, if there is to be one. */
static int finish_path(struct readings *readings, struct problem *problem)
{
    int result = readings->wanted->picture == NULL ? 0 : read_again(readings, problem);

    if (result == 0)
        result = critical_path_finish(readings->path, &readings->found->path, problem);
    if (result == 0 && readings->wanted->keeps_path) {
        readings->found->path_reading = readings->path;
        readings->path = NULL;
    }
    return result;
}

/* ---- both readings ---- */

static void readings_done(struct readings *readings)
{
    readings_forget_parts(readings);
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
        result = readings_begin_parts(readings, &team->problem);
    if (result == 0)
        result = feed(readings, &team->problem);
    if (result == 0)
        result = readings_finish_parts(readings, &team->problem);
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
    if (result == 0 && joined == 0 && readings_has(readings, PATH))
        result = readings_settle(path, finish_path(readings, &teams[0].problem), &teams[0].problem);
    if (!waits)
        joined = join(teams, count, problem);
    if (result < 0)
        *problem = teams[0].problem;
    return result < 0 ? result : joined;
}

/* Those whose parts are wanted, or one that only counts records. Returns how many there are. */
static unsigned make_teams(struct team *teams, const struct trace_names *names,
                           const struct analyses_wanted *wanted, struct analyses_found *found)
{
    unsigned count = 0, parts = parts_wanted(wanted);

    for (unsigned i = 0; i < TEAMS; i++)
        if ((parts_of_team[i] & parts) != 0 || (count == 0 && i + 1 == TEAMS))
            teams[count++] = (struct team){
                .readings = {.wanted = wanted, .found = found, .its_parts = parts_of_team[i]},
                .names = names};
    return count;
}

int read_analyses(const struct trace_names *names, const struct analyses_wanted *wanted,
                  struct analyses_found *found, struct problem *problem)
{
    struct team teams[TEAMS] = {0};
    struct readings_progress progress;
    unsigned count = make_teams(teams, names, wanted, found);

    *found = (struct analyses_found){.run.name = names->at[0]};
    teams[0].readings.progress = &progress;
    interrupt_begin(wanted->interrupted != NULL
                        ? wanted->interrupted
                        : "dpm: interrupted while reading: there is no result",
                    NULL);
    if (count > 1 && is_side_by_side(wanted))
        teams[1].has_thread =
            pthread_create(&teams[1].thread, NULL, read_in_thread, &teams[1]) == 0;
    int result = lead(teams, count, problem);
    for (unsigned i = 0; i < count; i++)
        readings_done(&teams[i].readings);
    interrupt_end();
    return result;
}

/* ---- one reading of a recording that runs ---- */

int readings_new(struct history *history, const struct analyses_wanted *wanted,
                 struct analyses_found *found, struct readings **ret_readings,
                 struct problem *problem)
{
    struct readings *readings = calloc(1, sizeof(*readings));

    if (readings == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    *readings = (struct readings){
        .wanted = wanted, .found = found, .history = history, .its_parts = ALL_PARTS};
    *found = (struct analyses_found){.run.name = ""};
    int result = readings_begin_parts(readings, problem);
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
    int result = readings_finish_parts(readings, problem);

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

uint32_t found_cpus(const struct analyses_found *found)
{
    const struct communication *communication = found->communication;
    uint64_t most = 0;

    for (uint32_t i = 0; i < communication->machine_count; i++) {
        uint64_t cpus = communication->machines[i].load.cpus;
        if (cpus != NOT_KNOWN && cpus > most && cpus <= UINT32_MAX)
            most = cpus;
    }
    return (uint32_t)most;
}

void found_done(struct analyses_found *found)
{
    communication_free(found->communication);
    parallelism_free(found->run.threads);
    parallelism_free(found->run.processes);
    critical_path_reading_free(found->path_reading);
    critical_path_free(found->path);
    causality_free(found->causality);
    elapsed_free(found->elapsed);
    lanes_free(found->lanes);
    whatif_model_free(found->whatif);
    pauses_free(found->pauses);
    patterns_free(found->patterns);
}
