/* SPDX-License-Identifier: MIT */
/* lanes_test.c: the lanes of the chart: where pieces lie, which processes share a lane, and that nothing is lost in bins. */
#include "analysis/lanes/lanes.h"

#include "computations.h"

#include <math.h>

#define MS 1000000u

struct result {
    struct elapsed *elapsed;
    struct lanes *lanes;
};

static struct result read_tape(struct tape *tape)
{
    struct source *source = &tape->source;
    struct history *history = NULL;
    struct elapsed_analysis *elapsed = NULL;
    struct lanes_analysis *lanes = NULL;
    struct problem problem = {""};
    struct result result = {0};

    tape->at = 0;
    tape->source.states = &tape->state;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(elapsed_new(history, NULL, &elapsed, &problem), 0);
    assert_int_equal(lanes_new(history, elapsed, &lanes), 0);
    const struct analysis analyses[] = {elapsed_analysis(elapsed), lanes_analysis(lanes)};
    if (analyses_read_all(history, analyses, 2, &problem) != 0)
        fail_msg("%s", problem.text);
    assert_int_equal(elapsed_finish(elapsed, &result.elapsed), 0);
    assert_int_equal(lanes_finish(lanes, result.elapsed, &result.lanes), 0);
    lanes_analysis_free(lanes);
    elapsed_analysis_free(elapsed);
    history_free(history);
    return result;
}

static void free_result(struct result *result)
{
    lanes_free(result->lanes);
    elapsed_free(result->elapsed);
}

/* ---- processes with names, at times in ms ---- */

struct scene {
    struct tape tape;
    uint32_t sequences[64];
};

static void add_process(struct scene *scene, uint32_t stream, const char *name)
{
    struct stream_record record = {
        .header = {.time = T0, .id = EVENT_STREAM, .flags = 16, .stream = stream},
        .process = stream,
        .parent = stream == 1 ? 0 : 1,
        .pid = 100 + stream,
        .tid = 100 + stream};

    strncpy(record.name, name, STREAM_NAME_SIZE);
    tape_add(&scene->tape, &record);
}

static struct record *at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu,
                         enum event_id id)
{
    struct record *record =
        add_event(&scene->tape, T0 + (uint64_t)ms * MS, id, stream, scene->sequences[stream]++);

    record->header.proc_time_and_pc = (uint64_t)cpu * MS;
    return record;
}

static void block_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu, uint32_t call,
                     uint32_t state, uint32_t duration)
{
    struct record *record = at(scene, ms, stream, cpu, EVENT_BLOCK);

    record->block.system_call = call;
    record->block.state = state;
    record->block.duration = (uint64_t)duration * MS;
}

static void begin_named(struct scene *scene, const char *const *names, uint32_t count)
{
    *scene = (struct scene){0};
    tape_init(&scene->tape);
    add_machine(&scene->tape, T0, 1, ALL);
    for (uint32_t stream = 1; stream <= count; stream++)
        add_process(scene, stream, names[stream - 1]);
    for (uint32_t stream = 1; stream <= count; stream++)
        at(scene, 0, stream, 0, EVENT_EXEC);
}

static void end_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu)
{
    at(scene, ms, stream, cpu, EVENT_TERMINATION)->termination.last = 1;
}

static double sum_of(const float *bins, unsigned from, unsigned to)
{
    double sum = 0;

    for (unsigned bin = from; bins != NULL && bin < to; bin++)
        sum += (double)bins[bin];
    return sum;
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1 + expected * 1e-4)
        fail_msg("%f instead of %f", found, expected);
}

static const struct lane *lane_named(const struct lanes *lanes, const char *name)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (strcmp(lanes->list[i].name, name) == 0)
            return &lanes->list[i];
    fail_msg("no lane %s", name);
    return NULL;
}

/* ---- known answers ---- */

static void pieces_lie_where_they_were(void **state)
{
    static const char *const names[] = {"main"};
    struct scene scene;

    (void)state;
    begin_named(&scene, names, 1);
    block_at(&scene, 120, 1, 40, 230, 1, 80); /* computes until 40, sleeps until 120 */
    end_at(&scene, 240, 1, 160);
    struct result result = read_tape(&scene.tape);
    const struct lane *lane = lane_named(result.lanes, "main");

    assert_int_equal(result.lanes->end - result.lanes->begin, 240 * MS);
    assert_near(sum_of(lane->account_bins[ELAPSED_TIMER], 80, 240), 80 * MS);
    assert_near(sum_of(lane->account_bins[ELAPSED_TIMER], 0, LANES_BINS), 80 * MS);
    assert_near(sum_of(lane->account_bins[ELAPSED_COMPUTES], 0, 80), 40 * MS);
    assert_near(sum_of(lane->account_bins[ELAPSED_COMPUTES], 240, LANES_BINS), 120 * MS);
    assert_near(sum_of(lane->bins[ELAPSED_TIMER], 80, 240), 80 * MS);
    assert_null(lane->account_bins[ELAPSED_DISK]);
    assert_int_equal(lane->pid, 101);
    assert_int_equal(lane->member_count, 0);
    free_result(&result);
    tape_done(&scene.tape);
}

/* The others: of 20 names twelve have lanes, those with the most work. Three of one name share one, and are its members. */
static void the_busiest_names_have_lanes(void **state)
{
    char texts[22][STREAM_NAME_SIZE];
    const char *names[22];
    struct scene scene;

    (void)state;
    for (uint32_t i = 0; i < 22; i++) {
        snprintf(texts[i], sizeof(texts[i]), "p%u", i < 3 ? 0 : i);
        names[i] = texts[i];
    }
    begin_named(&scene, names, 22);
    for (uint32_t stream = 2; stream <= 22; stream++)
        end_at(&scene, 4 * stream, stream, 4 * stream);
    end_at(&scene, 100, 1, 100);
    struct result result = read_tape(&scene.tape);
    assert_int_equal(result.lanes->count, LANES_MOST);
    assert_int_equal(lane_named(result.lanes, "p21")->pid, 122);
    const struct lane *lane = lane_named(result.lanes, "p0"); /* one of them is the account's */
    assert_ptr_equal(lane, &result.lanes->list[0]);
    assert_string_equal(result.lanes->list[1].name, "p21");
    assert_int_equal(lane->processes, 3);
    assert_int_equal(lane->pid, 0);
    assert_int_equal(lane->member_count, 3);
    assert_int_equal(lane->members[0].pid, 101);
    assert_int_equal(result.lanes->others.processes, 20 - LANES_MOST);
    assert_near((double)lane->time[ELAPSED_COMPUTES], (100 + 8 + 12) * MS);
    free_result(&result);
    tape_done(&scene.tape);
}

/* ---- any computation ---- */

static void check_bins(const struct lane *lane)
{
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
        assert_near(sum_of(lane->bins[kind], 0, LANES_BINS), (double)lane->time[kind]);
        assert_near(sum_of(lane->account_bins[kind], 0, LANES_BINS), (double)lane->account[kind]);
    }
    for (size_t i = 0; i < lane->member_count; i++)
        check_bins(&lane->members[i]);
}

static void add_lane(const struct lane *lane, uint64_t account[ELAPSED_KIND_COUNT],
                     uint64_t time[ELAPSED_KIND_COUNT])
{
    check_bins(lane);
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
        account[kind] += lane->account[kind];
        time[kind] += lane->time[kind];
    }
}

static void check_sums(const struct result *result)
{
    const struct lanes *lanes = result->lanes;
    const struct elapsed_account *account =
        lanes->of_requests ? &result->elapsed->requests.account : &result->elapsed->run;
    uint64_t accounts[ELAPSED_KIND_COUNT] = {0}, times[ELAPSED_KIND_COUNT] = {0};

    for (size_t i = 0; i < lanes->count; i++)
        add_lane(&lanes->list[i], accounts, times);
    add_lane(&lanes->others, accounts, times);
    assert_memory_equal(accounts, account->by_kind, sizeof(accounts));
    assert_memory_equal(times, lanes->profile.by_kind, sizeof(times));
    assert_int_equal(lanes->account, account->time);
}

#define COMPUTATIONS 200

static void any_computation_adds_up(void **state)
{
    uint64_t seed = seed_of_run("lanes");
    struct computation *computation = calloc(1, sizeof(*computation));

    (void)state;
    for (int i = 0; i < COMPUTATIONS; i++) {
        uint64_t own = getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed);
        make_plain(computation, &own);
        struct result result = read_tape(&computation->tape);
        if (result.lanes->end > result.lanes->begin)
            check_sums(&result);
        free_result(&result);
        tape_done(&computation->tape);
    }
    free(computation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_lie_where_they_were),
        cmocka_unit_test(the_busiest_names_have_lanes),
        cmocka_unit_test(any_computation_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
