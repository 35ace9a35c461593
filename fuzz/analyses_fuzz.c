/* SPDX-License-Identifier: MIT */
/*
 * analyses_fuzz.c: the input is the records of up to three sources. Whatever they contain, the analyses of the history
 * terminate with consistent results.
 */
#include "analysis/causality/causality.h"
#include "analysis/elapsed/elapsed.h"
#include "analysis/parallelism/critical_path.h"
#include "analysis/patterns/patterns.h"
#include "analysis/statistics/statistics.h"
#include "analysis/whatif/whatif.h"
#include "live/live.h"
#include "records.h"

#include <errno.h>

/* Live tapes pause; analyses of time read finished traces. */
static int next_without_pause(struct source *source, struct event *ret_event,
                              uint64_t *ret_complete, struct problem *problem)
{
    int result;

    do
        result = tape_next(source, ret_event, ret_complete, problem);
    while (result == SOURCE_NONE_YET);
    return result;
}

static const struct assignment assignments[] = {
    {.name = "one-each", .kind = ONE_EACH},
    {.name = "as-recorded", .kind = AS_RECORDED},
    {.name = "one-machine", .kind = ONE_MACHINE, .cores = 2},
    {.name = "search-2", .kind = SEARCHED, .per_machine = 2},
};

static struct parallelism_options options_of(bool threads, bool messages_only)
{
    return (struct parallelism_options){
        .assignments = assignments,
        .assignment_count = ARRAY_SIZE(assignments),
        .threads = threads,
        .messages_only = messages_only,
        .sharing = true,
        .appendix_a = true,
        .delays.remote = {.points = {{0, 1000}, {100, 2000}}, .count = 2},
    };
}

static uint64_t find_longest(const struct parallelism *parallelism, uint32_t assignment,
                             enum parallelism_step step)
{
    for (size_t i = 0; i < parallelism->row_count; i++)
        if (parallelism->rows[i].assignment == assignment && parallelism->rows[i].step == step)
            return parallelism->rows[i].longest;
    PROMISE(false);
    return 0;
}

static uint64_t check_parallelism(struct tape *tapes, bool threads, bool messages_only)
{
    const struct parallelism_options options = options_of(threads, messages_only);
    struct history *history = tapes_history(tapes);
    struct parallelism *parallelism = NULL;
    struct problem problem = {""};

    PROMISE(parallelism_read_history(history, &options, &parallelism, &problem) == 0);
    uint64_t longest = find_longest(parallelism, 0, STEP_MAX);
    PROMISE(parallelism->row_count == ARRAY_SIZE(assignments) * STEP_COUNT);
    PROMISE(longest <= find_longest(parallelism, 0, STEP_DELAY));
    PROMISE(find_longest(parallelism, 2, STEP_DELAY) <= find_longest(parallelism, 0, STEP_DELAY));
    PROMISE(parallelism->largest <= parallelism->total && parallelism->largest <= longest);
    const struct parallelism_search *search = &parallelism->searches[0];
    PROMISE(search->bound <=
            search->longest + 1 + (search->longest >> 40)); /* it is simulated in doubles */
    parallelism_free(parallelism);
    history_free(history);
    return longest;
}

static void check_path(struct tape *tapes, uint64_t longest)
{
    const struct critical_path_options options = {
        .parallelism = {.assignments = assignments, .assignment_count = 1, .threads = true},
        .offered = 2,
    };
    struct critical_path_reading *reading = NULL;
    struct critical_path *path = NULL;
    struct problem problem = {""};
    struct history *history = tapes_history(tapes);

    PROMISE(critical_path_new(history, &options, &reading, &problem) == 0);
    const struct analysis analysis = critical_path_analysis(reading);
    PROMISE(analyses_read_all(history, &analysis, 1, &problem) == 0);
    PROMISE(critical_path_find(reading, &problem) == 0);
    history_free(history);
    history = tapes_history(tapes);
    critical_path_again(reading, history);
    PROMISE(analyses_read_all(history, &analysis, 1, &problem) == 0);
    PROMISE(critical_path_finish(reading, &path, &problem) == 0);
    PROMISE(path->whole == longest);
    PROMISE(path->longest <= longest);
    PROMISE(path->cpu + path->delay + path->outside == path->longest);
    critical_path_free(path);
    critical_path_reading_free(reading);
    history_free(history);
}

/* Parts are no more than what they are of. */
static void check_patterns(const struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->exchange_count; i++) {
        const struct exchange_row *row = &patterns->exchanges[i];
        PROMISE(row->surplus <= row->trip_time);
        PROMISE(row->connections <= row->exchanges && row->resent <= row->connects);
        PROMISE(row->requests == histogram_count(&row->each));
        PROMISE(row->requests == 0 || histogram_min(&row->each) >= TRIPS_MANY);
    }
    for (size_t i = 0; i < patterns->pool_count; i++)
        PROMISE(histogram_count(&patterns->pools[i].waits) <= patterns->pools[i].requests);
    for (size_t i = 0; i < patterns->nap_count; i++) {
        const struct nap_row *row = &patterns->naps[i];
        PROMISE(row->naps >= 2 * row->series && row->lost_most <= row->time);
    }
}

/* In one reading they find the same as separately. */
static void check_together(struct tape *tapes, uint64_t longest)
{
    const struct parallelism_options options = options_of(true, false);
    const struct causality_options requests = {0};
    struct history *history = tapes_history(tapes);
    struct parallelism_analysis *parallelism = NULL;
    struct causality_analysis *causality = NULL;
    struct statistics *statistics = NULL;
    struct communication *communication = NULL;
    struct parallelism *factors = NULL;
    struct causality *paths = NULL;
    struct patterns_analysis *habits = NULL;
    struct patterns *patterns = NULL;
    struct problem problem = {""};

    PROMISE(causality_new(history, &requests, &causality) == 0);
    PROMISE(statistics_new(history, 0, &statistics) == 0);
    PROMISE(parallelism_new(history, &options, &parallelism, &problem) == 0);
    PROMISE(patterns_new(history, &habits) == 0);
    const struct analysis analyses[] = {causality_analysis(causality), patterns_analysis(habits),
                                        statistics_analysis(statistics),
                                        parallelism_analysis(parallelism)};
    PROMISE(analyses_read_all(history, analyses, ARRAY_SIZE(analyses), &problem) == 0);
    PROMISE(parallelism_finish(parallelism, &factors, &problem) == 0);
    PROMISE(find_longest(factors, 0, STEP_MAX) == longest);
    PROMISE(causality_finish(causality, SOURCES, &paths) == 0);
    PROMISE(patterns_finish(habits, &patterns) == 0);
    check_patterns(patterns);
    PROMISE(statistics_finish(statistics, SOURCES, &communication) == 0);
    PROMISE(paths->matching.exact == communication->matching.exact &&
            paths->matching.exact == factors->matching.exact);
    parallelism_free(factors);
    causality_free(paths);
    patterns_free(patterns);
    patterns_analysis_free(habits);
    communication_free(communication);
    parallelism_analysis_free(parallelism);
    causality_analysis_free(causality);
    statistics_free(statistics);
    history_free(history);
}

static void check_account(const struct elapsed_account *account)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < account->row_count; i++)
        rows += account->rows[i].time;
    PROMISE(rows == account->time);
}

static void check_whatif(const struct whatif_model *model)
{
    const struct whatif_change changes[] = {
        {.kind = WHATIF_SPEED, .name = "name", .amount = 2},
        {.kind = WHATIF_REPLICAS, .name = "name", .amount = 1},
        {.kind = WHATIF_NO_HOLDBACK},
        {.kind = WHATIF_WAIT, .name = "name", .wait = ELAPSED_DISK},
        {.kind = WHATIF_MERGE, .name = "name", .to = "name"},
        {.kind = WHATIF_MERGE, .name = "name", .to = "name", .amount = 3},
        {.kind = WHATIF_DELAY, .name = "name", .to = "name", .amount = 1e6},
        {.kind = WHATIF_PLACE, .name = "name"},
        {.kind = WHATIF_BUFFER, .name = "name", .to = "name", .amount = 65536},
    };
    struct whatif_answer answer;
    struct problem problem = {""};

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        int result = whatif_ask(model, &changes[i], 1, 2, &answer, &problem);
        PROMISE(result == 0 || (result == -EINVAL && problem.text[0] != '\0'));
        PROMISE(result != 0 || answer.then.requests == answer.recorded.requests);
        PROMISE(result != 0 || (answer.low.median <= answer.then.median &&
                                answer.then.median <= answer.high.median));
    }
    struct whatif_found found;
    int result = whatif_search(model, 2, 20, 1000000, &found, &problem);
    PROMISE(result == 0 || (result == -EINVAL && problem.text[0] != '\0'));
    PROMISE(found.count <= found.tried && found.tried <= 20);
    for (size_t i = 0; i < found.count; i++)
        PROMISE(found.trials[i].answer.then.requests == found.now.recorded.requests);
    whatif_found_done(&found);
}

static const struct assignment as_recorded = {.name = "as-recorded", .kind = AS_RECORDED};

static void ask_run(struct whatif_run *run)
{
    const struct whatif_change changes[] = {
        {.kind = WHATIF_SPEED, .name = "name", .amount = 2},
        {.kind = WHATIF_NO_HOLDBACK},
        {.kind = WHATIF_WAIT, .name = "name", .wait = ELAPSED_DISK},
        {.kind = WHATIF_DELAY, .name = "name", .to = "name", .amount = 1e6},
        {.kind = WHATIF_PLACE, .name = "name"},
        {.kind = WHATIF_BUFFER, .name = "name", .to = "name", .amount = 65536},
        {.kind = WHATIF_REPLICAS, .name = "name", .amount = 2},
    };
    struct whatif_run_answer answer;
    struct whatif_run_found found;
    struct problem problem = {""};

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        int result = whatif_run_ask(run, &changes[i], 1, &answer, &problem);
        PROMISE(result == 0 || (result == -EINVAL && problem.text[0] != '\0'));
        PROMISE(result != 0 || (answer.low <= answer.then.time && answer.then.time <= answer.high));
    }
    int result = whatif_run_search(run, 20, 1000000, &found, &problem);
    PROMISE(result == 0 || (result == -EINVAL && problem.text[0] != '\0'));
    PROMISE(found.count <= found.tried && found.tried <= 20);
    whatif_run_found_done(&found);
}

static void check_run(struct tape *tapes)
{
    const struct critical_path_options options = {
        .parallelism = {.assignments = &as_recorded, .assignment_count = 1, .threads = true},
        .kind_of_wait = whatif_kind_of_wait};
    struct history *history = tapes_history(tapes);
    struct critical_path_reading *reading = NULL;
    struct critical_path *path = NULL;
    struct statistics *statistics = NULL;
    struct communication *communication = NULL;
    struct whatif_run *run = NULL;
    struct problem problem = {""};

    PROMISE(critical_path_new(history, &options, &reading, &problem) == 0);
    PROMISE(statistics_new(history, 0, &statistics) == 0);
    const struct analysis analyses[] = {critical_path_analysis(reading),
                                        statistics_analysis(statistics)};
    PROMISE(analyses_read_all(history, analyses, ARRAY_SIZE(analyses), &problem) == 0);
    PROMISE(critical_path_find(reading, &problem) == 0);
    PROMISE(critical_path_finish(reading, &path, &problem) == 0);
    PROMISE(statistics_finish(statistics, SOURCES, &communication) == 0);
    PROMISE(whatif_run_new(reading, path, communication, 2, &run) == 0);
    ask_run(run);
    whatif_run_free(run);
    communication_free(communication);
    critical_path_reading_free(reading);
    critical_path_free(path);
    statistics_free(statistics);
    history_free(history);
}

static void check_elapsed(struct tape *tapes)
{
    struct history *history = tapes_history(tapes);
    struct elapsed_analysis *analysis = NULL;
    struct elapsed *elapsed = NULL;
    struct whatif_model *model = NULL;
    struct problem problem = {""};

    PROMISE(elapsed_new(history, NULL, &analysis, &problem) == 0);
    const struct analysis analyses[] = {elapsed_analysis(analysis)};
    PROMISE(analyses_read_all(history, analyses, ARRAY_SIZE(analyses), &problem) == 0);
    PROMISE(elapsed_finish(analysis, &elapsed) == 0);
    check_account(&elapsed->run);
    check_account(&elapsed->requests.account);
    PROMISE(whatif_model_new(analysis, WHATIF_REQUESTS_FEW, !elapsed->from_start, &model) == 0);
    check_whatif(model);
    whatif_model_free(model);
    elapsed_free(elapsed);
    elapsed_analysis_free(analysis);
    history_free(history);
}

static void keep_name(const char *name, size_t size, char *to)
{
    size_t length = strnlen(name, size);

    memcpy(to, name, length);
    to[length] = '\0';
}

/* Snapshots, whenever a tape pauses: what intervals say of waits adds up. */
static void check_live(struct tape *tapes)
{
    struct history *history = tapes_history(tapes);
    struct problem problem = {""};
    struct live *live = NULL;
    uint64_t waits = 0, so_far;
    int result;

    PROMISE(live_new(history, &live) == 0);
    const struct analysis analysis = live_analysis(live);
    live_count(live, keep_name);
    do {
        result = analyses_read(history, &analysis, 1, &problem);
        PROMISE(result == SOURCE_END || result == SOURCE_NONE_YET);
        PROMISE(live_take(live, SOURCES, 0, result == SOURCE_END) == 0);
        const struct live_row *total = &live_snapshot(live, 0)->tables[LIVE_PROCESSES].total;
        so_far = 0;
        waits += total->interval[LIVE_CORRECTION];
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
            waits += total->interval[LIVE_WAITS + kind];
            so_far += total->so_far[LIVE_WAITS + kind];
        }
    } while (result != SOURCE_END);
    PROMISE(waits == so_far);
    live_free(live);
    history_free(history);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tape tapes[SOURCES];

    if (tapes_make(tapes, bytes, size) < 0)
        return 0;
    check_live(tapes);
    for (unsigned i = 0; i < SOURCES; i++)
        tapes[i].source.next = next_without_pause;
    uint64_t longest = check_parallelism(tapes, true, false);
    check_parallelism(tapes, false, false);
    check_parallelism(tapes, true, true);
    check_path(tapes, longest);
    check_together(tapes, longest);
    check_elapsed(tapes);
    check_run(tapes);
    tapes_done(tapes);
    return 0;
}
