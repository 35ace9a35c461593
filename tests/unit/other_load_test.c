/* SPDX-License-Identifier: MIT */
/*
 * other_load_test.c: tasks of others on the machines of step sharing: what a given number of them changes, and how many
 * the records show, against streams whose every state is known.
 *
 *      stream   awake . asleep . awake        own: how many are awake now
 *      record       o          o              load = own + others
 */
#include "computations.h"

static struct parallelism *ask(struct computation *computation,
                               const struct parallelism_options *options)
{
    struct source *source = &computation->tape.source;
    struct parallelism *parallelism = NULL;
    struct history *history = NULL;
    struct problem problem = {""};

    computation->tape.at = 0;
    computation->tape.source.states = &computation->tape.state;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    if (parallelism_read_history(history, options, &parallelism, &problem) != 0)
        fail_msg("%s", problem.text);
    history_free(history);
    return parallelism;
}

static const struct assignment plain[] = {
    {.name = "as-recorded", .kind = AS_RECORDED},
    {.name = "one-machine", .kind = ONE_MACHINE},
    {.name = "2-per-machine", .kind = PER_MACHINE, .per_machine = 2},
};

static struct parallelism_options with_load(enum other_load kind, double tasks)
{
    return (struct parallelism_options){.assignments = plain,
                                        .assignment_count = ARRAY_SIZE(plain),
                                        .threads = true,
                                        .sharing = true,
                                        .appendix_a = true,
                                        .other_load = kind,
                                        .other_tasks = tasks};
}

/* The rows with so many tasks of others on each machine. */
static void rows_with(struct computation *computation, enum other_load kind, double tasks,
                      struct parallelism_row rows[12])
{
    struct parallelism_options options = with_load(kind, tasks);
    struct parallelism *parallelism = ask(computation, &options);

    assert_int_equal(parallelism->row_count, 12);
    memcpy(rows, parallelism->rows, 12 * sizeof(*rows));
    parallelism_free(parallelism);
}

static uint64_t longest(const struct parallelism_row rows[12], uint32_t assignment,
                        enum parallelism_step step)
{
    for (size_t i = 0; i < 12; i++)
        if (rows[i].assignment == assignment && rows[i].step == step)
            return rows[i].longest;
    fail_msg("there is no such row");
    return 0;
}

/* ---- a given number ---- */

static void nobody_changes_nothing(void **state)
{
    struct computation *computation = *state;
    uint64_t seed = seed_of_run("nobody else");
    struct parallelism_row without[12], with[12];

    for (uint64_t i = 0; i < rounds_of_run(200); i++) {
        make(computation, false, &seed);
        rows_with(computation, OTHER_LOAD_NONE, 0, without);
        rows_with(computation, OTHER_LOAD_GIVEN, 0, with);
        assert_memory_equal(without, with, sizeof(with));
        rows_with(computation, OTHER_LOAD_GIVEN, 2, with);
        for (uint32_t k = 0; k < 12; k++) /* only sharing */
            if (with[k].step == STEP_MAX || with[k].step == STEP_DELAY)
                assert_int_equal(with[k].longest, without[k].longest);
        tape_done(&computation->tape);
    }
    begin(computation, 1);
}

/* One stream on one processor takes (1 + L) times as long. */
static void alone_among_others(void **state)
{
    struct computation *computation = *state;
    struct parallelism_row rows[12];

    begin(computation, 1);
    run_on(computation, 0, 1000);
    run_on(computation, 0, 2000);
    for (uint32_t others = 0; others < 8; others++) {
        rows_with(computation, OTHER_LOAD_GIVEN, others / 2.0, rows);
        for (uint32_t a = 0; a < ARRAY_SIZE(plain); a++)
            assert_int_equal(longest(rows, a, STEP_SHARING), 3000 + 1500 * others);
    }
}

/*
 * One processor, and no waits but for messages: k streams and L others advance by dv in (k + L) dv. So all take T + L *
 * (the longest path), which is never less for more of them.
 */
static void together_among_others(void **state)
{
    struct computation *computation = *state;
    uint64_t seed = seed_of_run("others");
    struct parallelism_row rows[12];

    for (uint64_t i = 0; i < rounds_of_run(300); i++) {
        uint64_t first = seed, before = 0, total = 0;
        make_plain(computation, &seed);
        for (uint32_t k = 0; k < computation->streams; k++)
            total += computation->stream[k].cpu;
        for (uint32_t quarters = 0; quarters < 12; quarters += 1 + quarters) {
            rows_with(computation, OTHER_LOAD_GIVEN, quarters / 4.0, rows);
            uint64_t now = longest(rows, 1, STEP_SHARING);
            double wanted = (double)total + quarters / 4.0 * (double)longest(rows, 1, STEP_MAX);
            if (fabs((double)now - wanted) > 2 || now < before)
                fail_msg("DPM_SEED=%" PRIu64 ", %u quarters: %" PRIu64 ", not %.2f", first,
                         quarters, now, wanted);
            before = now;
        }
        tape_done(&computation->tape);
    }
    begin(computation, 1);
}

/* ---- what the records show ---- */

enum what { AWAKE_NOW, IN_CALL, IN_BLOCK };

struct known {
    struct computation *computation;
    uint64_t seed;
    enum what what[STREAMS];
    uint64_t since[STREAMS]; /* IN_BLOCK */
};

static uint32_t count_awake(const struct known *known)
{
    uint32_t awake = 0;

    for (uint32_t i = 0; i < known->computation->streams; i++)
        awake += known->what[i] == AWAKE_NOW;
    return awake;
}

static struct record *tell_load(struct known *known, uint32_t stream, enum event_id id,
                                uint32_t others)
{
    struct record *record = tell(known->computation, stream, id, 0, 0, 0);

    record->header.load = (uint8_t)(count_awake(known) + others);
    return record;
}

/* All streams that are awake use CPU time for a while. */
static void pass(struct known *known, uint64_t time)
{
    for (uint32_t i = 0; i < known->computation->streams; i++)
        if (known->what[i] == AWAKE_NOW)
            known->computation->stream[i].cpu += time;
    known->computation->now += time - 1; /* tell() adds one */
}

/* One of them records something, falls asleep, or wakes up: in a call, it records that only later. */
static void do_something(struct known *known, uint32_t stream, uint32_t others)
{
    switch (known->what[stream]) {
    case IN_CALL:
        known->what[stream] = AWAKE_NOW;
        known->computation->now++;
        break;
    case IN_BLOCK: {
        known->what[stream] = AWAKE_NOW;
        struct record *record = tell_load(known, stream, EVENT_BLOCK, others);
        record->block.system_call = CALL_SLEEP;
        record->block.state = 1;
        record->block.duration = record->header.time - known->since[stream];
        break;
    }
    default:
        if (random_below(&known->seed, 2) == 0) {
            tell_load(known, stream, EVENT_EXEC, others);
        } else if (random_below(&known->seed, 2) == 0) {
            tell_load(known, stream, EVENT_RECEIVECALL, others);
            known->what[stream] = IN_CALL;
        } else {
            known->what[stream] = IN_BLOCK;
            known->since[stream] = ++known->computation->now;
        }
    }
}

static void assert_tasks(struct computation *computation, double wanted, double error)
{
    struct parallelism_options options = with_load(OTHER_LOAD_SEEN, 0);
    struct parallelism *parallelism = ask(computation, &options);

    assert_int_equal(parallelism->other_load_count, 1);
    assert_true(parallelism->other_loads[0].known);
    if (fabs(parallelism->other_loads[0].tasks - wanted) > error)
        fail_msg("%.6f other tasks, not %.6f", parallelism->other_loads[0].tasks, wanted);
    parallelism_free(parallelism);
}

/* However the streams run and sleep, what is constant is found. */
static void others_are_found(void **state)
{
    struct computation *computation = *state;
    uint64_t seed = seed_of_run("load");

    for (uint64_t i = 0; i < rounds_of_run(200); i++) {
        struct known known = {.computation = computation, .seed = random_number(&seed)};
        uint32_t others = (uint32_t)random_below(&seed, 4);
        begin(computation, 1 + (uint32_t)random_below(&seed, STREAMS));
        pass(&known, 1000);
        for (uint32_t k = 0; k < computation->streams; k++)
            tell_load(&known, k, EVENT_EXEC, others);
        for (uint32_t k = 0; k < 200; k++) {
            pass(&known, 1000 + random_below(&seed, 1000));
            do_something(&known, (uint32_t)random_below(&seed, computation->streams), others);
        }
        for (uint32_t k = 0; k < computation->streams; k++)
            if (known.what[k] != IN_CALL) { /* else nobody would know that it woke, or slept */
                pass(&known, 1000);
                if (known.what[k] == IN_BLOCK)
                    do_something(&known, k, others);
                tell_load(&known, k, EVENT_EXEC, others);
            }
        assert_tasks(computation, others, 1e-9);
        tape_done(&computation->tape);
    }
    begin(computation, 1);
}

/* They count by the CPU time that the computation uses meanwhile: 4 for 3000, then 1 for 1000; and not while it sleeps.
 * Where they end is known to half the time between two records. */
static void others_come_and_go(void **state)
{
    struct computation *computation = *state;
    struct known known = {.computation = computation};

    begin(computation, 1);
    pass(&known, 100);
    tell_load(&known, 0, EVENT_EXEC, 4);
    for (uint32_t i = 0; i < 30; i++) {
        pass(&known, 100);
        tell_load(&known, 0, EVENT_EXEC, 4);
    }
    tell_load(&known, 0, EVENT_RECEIVECALL, 4);
    known.what[0] = IN_CALL;
    pass(&known, 1000000);
    known.what[0] = AWAKE_NOW;
    for (uint32_t i = 0; i < 10; i++) {
        pass(&known, 100);
        tell_load(&known, 0, EVENT_EXEC, 1);
    }
    assert_tasks(computation, (3000 * 4 + 1000 * 1) / 4000.0, 0.05);
}

/* A stream of the computation that has been woken and waits for a CPU is none of the others. */
static void own_streams_wait(void **state)
{
    struct computation *computation = *state;
    struct known known = {.computation = computation};

    begin(computation, 2);
    pass(&known, 100);
    tell_load(&known, 0, EVENT_EXEC, 0);
    tell_load(&known, 1, EVENT_RECEIVECALL, 0);
    struct record schedule = {.header = {.time = ++computation->now,
                                         .id = EVENT_SCHEDULE,
                                         .flags = RECORD_NO_STREAM,
                                         .stream = 2,
                                         .load = 1},
                              .schedule = {.runnable = 5000}};
    tape_add(&computation->tape, &schedule.header);
    /* it is woken now; the other one uses the CPU */
    uint64_t woken = computation->now;
    for (uint32_t i = 0; i < 20; i++) {
        computation->now += 100000;
        computation->stream[0].cpu += 100000;
        tell_load(&known, 0, EVENT_EXEC, 0);
    }
    schedule.header.time = ++computation->now;
    schedule.header.load = 2;
    schedule.schedule.runnable += computation->now - woken;
    tape_add(&computation->tape, &schedule.header);
    computation->now += 10;
    computation->stream[1].cpu += 10;
    tell_load(&known, 1, EVENT_EXEC, 0);
    assert_tasks(computation, 0, 0.01);
}

/* Without any load in the records, nothing is said. */
static void nothing_is_known(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = with_load(OTHER_LOAD_SEEN, 0);

    begin(computation, 1);
    run_on(computation, 0, 1000);
    struct parallelism *parallelism = ask(computation, &options);
    assert_false(parallelism->other_loads[0].known);
    assert_true(parallelism->other_load == 0);
    parallelism_free(parallelism);
}

/* Slices: the rates of all streams, over time, add up to their CPU time; and the last slice ends with the run. */
static void slices_add_up(void **state)
{
    struct computation *computation = *state;
    uint64_t seed = seed_of_run("slices");

    for (uint64_t i = 0; i < rounds_of_run(200); i++) {
        struct parallelism_options options = with_load(OTHER_LOAD_GIVEN, i % 3);
        double sum = 0, since = 0;
        options.slices = true;
        make_plain(computation, &seed);
        struct parallelism *parallelism = ask(computation, &options);
        const struct parallelism_slices *slices = parallelism->slices;
        for (uint32_t k = 0; k < slices->count; k++) {
            for (uint32_t lane = 0; lane < slices->lane_count; lane++)
                sum += (slices->ends[k] - since) * slices->rates[k * slices->lane_count + lane];
            assert_true(slices->ends[k] > since);
            since = slices->ends[k];
        }
        assert_int_equal(slices->assignment, ARRAY_SIZE(plain) - 1);
        assert_true(fabs(sum - (double)parallelism->total) < 1);
        assert_true(fabs(since - (double)longest(parallelism->rows, 2, STEP_SHARING)) < 1);
        parallelism_free(parallelism);
        tape_done(&computation->tape);
    }
    begin(computation, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPUTATION_TEST(nobody_changes_nothing), COMPUTATION_TEST(alone_among_others),
        COMPUTATION_TEST(together_among_others),  COMPUTATION_TEST(others_are_found),
        COMPUTATION_TEST(others_come_and_go),     COMPUTATION_TEST(own_streams_wait),
        COMPUTATION_TEST(nothing_is_known),       COMPUTATION_TEST(slices_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
