/* SPDX-License-Identifier: MIT */
/*
 * critical_path_test.c: the critical path, what is on it and what is not: in small computations with known answers, and
 * in random ones, where every claim is tested. A step with slack may take that much longer and no more; halving the
 * speed of a part makes the path as long as predicted.
 */
#include "analysis/parallelism/critical_path.h"

#include "computations.h"

#include <errno.h>

static struct history *open_history(struct computation *computation)
{
    struct source *source = &computation->tape.source;
    struct history *history = NULL;
    struct problem problem;

    computation->tape.at = 0;
    computation->tape.source.states = &computation->tape.state;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    return history;
}

/* What was on the path. */
struct seen {
    struct critical_path_reading *reading;
    uint64_t critical;
    uint64_t by_edge;
};

static int see(void *context, const struct history_event *event, struct problem *problem)
{
    struct seen *seen = context;
    uint32_t edge;
    bool critical = critical_path_passes(seen->reading, &edge);

    (void)problem;
    seen->critical += critical;
    seen->by_edge += edge != UINT32_MAX;
    assert_true(edge == UINT32_MAX || (critical && edge < event->edge_count));
    return 0;
}

/* Reads the history, and finds the path. */
static struct history *find_path(struct computation *computation,
                                 const struct critical_path_options *options, struct seen *seen)
{
    struct problem problem = {""};
    struct history *history = open_history(computation);

    *seen = (struct seen){0};
    assert_int_equal(critical_path_new(history, options, &seen->reading, &problem), 0);
    const struct analysis analyses[] = {critical_path_analysis(seen->reading), {"", seen, see}};
    if (analyses_read_all(history, analyses, 2, &problem) != 0 ||
        critical_path_find(seen->reading, &problem) != 0)
        fail_msg("%s", problem.text);
    assert_int_equal(seen->critical, 0);
    return history;
}

/* Frees the reading and its history. */
static struct critical_path *finish_path(struct history *history, const struct seen *seen)
{
    struct critical_path *path = NULL;
    struct problem problem = {""};

    if (critical_path_finish(seen->reading, &path, &problem) != 0)
        fail_msg("%s", problem.text);
    history_free(history);
    critical_path_reading_free(seen->reading);
    return path;
}

/* With a second reading, which shows what is on the path. */
static struct critical_path *ask_and_see(struct computation *computation,
                                         const struct critical_path_options *options,
                                         struct seen *seen)
{
    struct problem problem = {""};

    history_free(find_path(computation, options, seen));
    struct history *history = open_history(computation);
    critical_path_again(seen->reading, history);
    const struct analysis analyses[] = {critical_path_analysis(seen->reading), {"", seen, see}};
    if (analyses_read_all(history, analyses, 2, &problem) != 0)
        fail_msg("%s", problem.text);
    return finish_path(history, seen);
}

static struct critical_path *ask(struct computation *computation,
                                 const struct critical_path_options *options)
{
    struct seen seen;
    struct history *history = find_path(computation, options, &seen);

    return finish_path(history, &seen);
}

static const struct assignment one_each = {.name = "one-each", .kind = ONE_EACH};

static struct critical_path_options plain_options(void)
{
    return (struct critical_path_options){
        .parallelism = {.assignments = &one_each, .assignment_count = 1, .threads = true}};
}

/* A sends to B, which has been waiting; C is independent of both. */
static void what_is_on_it(void **state)
{
    struct computation *computation = *state;
    struct what_if_asked asked[] = {{"A", 2, NULL}, {"A", 0, "B"}, {"C", 10, NULL}};
    struct critical_path_options options = plain_options();

    options.parallelism.delays.remote = (struct delay){.points = {{0, 7}}, .count = 1};
    options.delays = true;
    options.asked = asked;
    options.asked_count = 3;
    begin(computation, 3);
    run_on(computation, 2, 20);
    send_to(computation, 0, 1, 30, 5);
    run_on(computation, 0, 4);
    receive(computation, 1, 0, 1, 5, true);
    run_on(computation, 1, 50);
    struct critical_path *path = ask(computation, &options);
    assert_int_equal(path->longest, 30 + 7 + 1 + 50);
    assert_int_equal(path->cpu, 81);
    assert_int_equal(path->delay, 7);
    assert_int_equal(path->outside, 0);
    assert_int_equal(path->processes[0].cpu, 30);
    assert_int_equal(path->processes[1].cpu, 51);
    assert_int_equal(path->processes[2].cpu, 0);
    assert_int_equal(path->processes[0].slack, 0);
    assert_int_equal(path->processes[2].slack, 88 - 20);
    assert_int_equal(path->arc_count, 1);
    assert_int_equal(path->arcs[0].from, 0);
    assert_int_equal(path->arcs[0].to, 1);
    assert_int_equal(path->arcs[0].count, 1);
    assert_int_equal(path->arcs[0].bytes, 5);
    assert_int_equal(path->arcs[0].delay, 7);
    assert_int_equal(path->arcs[0].path_kind, PATH_UNIX_STREAM);
    assert_int_equal(path->what_if_count, 3);
    assert_int_equal(path->what_ifs[0].longest, 15 + 7 + 51);
    assert_int_equal(path->what_ifs[1].longest, 81);
    assert_int_equal(path->what_ifs[2].longest, 88);
    /* what is twice as fast uses half of its CPU time, and no delay is none */
    assert_int_equal(path->total, path->parallelism->total);
    assert_int_equal(path->what_ifs[0].total,
                     path->total - path->parallelism->processes[0].cpu / 2);
    assert_int_equal(path->what_ifs[1].total, path->total);
    critical_path_free(path);
}

/* Two connections from A to B are one row. */
static void connections_share_a_row(void **state)
{
    struct computation *computation = *state;
    struct critical_path_options options = plain_options();

    begin(computation, 2);
    for (uint32_t path = 900; path < 904; path += 2) {
        add_unix(&computation->tape, computation->now, path, PATH_UNIX_STREAM, path, path + 1);
        add_unix(&computation->tape, computation->now, path + 1, PATH_UNIX_STREAM, path + 1, path);
    }
    for (uint32_t path = 900; path < 904; path += 2) {
        computation->stream[0].cpu += 1000;
        tell(computation, 0, EVENT_SEND, path, 0, 5);
        tell(computation, 1, EVENT_RECEIVE, path + 1, 0, 5);
        computation->stream[1].cpu += 1000;
        tell(computation, 1, EVENT_SEND, path + 1, 0, 7);
        tell(computation, 0, EVENT_RECEIVE, path, 0, 7);
    }
    struct critical_path *path = ask(computation, &options);
    assert_int_equal(path->longest, 4000);
    assert_int_equal(path->arc_count, 2);
    for (size_t i = 0; i < path->arc_count; i++) {
        assert_int_equal(path->arcs[i].count, 2);
        assert_int_equal(path->arcs[i].bytes, path->arcs[i].from == 0 ? 10 : 14);
    }
    critical_path_free(path);
}

#define MS 1000000u

/* A asks B, which computes; C only sleeps until all is over, and matters to no other process. */
static void play_with_an_idler(struct computation *computation, bool ends)
{
    begin(computation, 3);
    run_on(computation, 2, MS);
    for (int i = 0; i < 4; i++) {
        wait_for(computation, 1, 0, 0);
        send_to(computation, 0, 1, MS, 5);
        computation->now += 6 * MS;
        receive(computation, 1, 0, 5 * MS, 5, false);
        wait_for(computation, 0, 1, 0);
        send_to(computation, 1, 0, 0, 7);
        computation->now += 2 * MS;
        receive(computation, 0, 1, MS, 7, false);
        block_in(computation, 2, 0, CALL_SLEEP, 100 * MS);
    }
    if (ends)
        terminate(computation, 0, MS);
    for (int i = 0; i < 4; i++)
        block_in(computation, 2, 0, CALL_SLEEP, 100 * MS);
}

static void check_idler(struct computation *computation, enum critical_end end, uint64_t longest)
{
    struct critical_path_options options = plain_options();
    struct critical_path *path;

    options.offered = 1;
    path = ask(computation, &options);
    assert_int_equal(path->end, end);
    assert_int_equal(path->longest, longest);
    assert_int_equal(path->outside, 0);
    assert_true(path->whole >= 800 * MS);
    assert_int_equal(path->processes[2].cpu, 0);
    assert_false(path->processes[2].has_slack); /* it could take any time */
    assert_int_equal(path->what_ifs[0].process, 1);
    assert_true(path->what_ifs[0].longest < longest && path->what_ifs[0].whole >= 800 * MS);
    critical_path_free(path);
    options.whole = true;
    path = ask(computation, &options);
    assert_int_equal(path->end, END_LONGEST);
    assert_int_equal(path->longest, path->whole);
    assert_true(path->outside >= 800 * MS);
    assert_int_equal(path->processes[1].cpu, 0);
    critical_path_free(path);
}

static void an_idler_is_not_on_it(void **state)
{
    play_with_an_idler(*state, false);
    check_idler(*state, END_OF_WORK, 4 * 7 * MS);
}

static void it_ends_with_the_command(void **state)
{
    play_with_an_idler(*state, true);
    check_idler(*state, END_COMMAND, 4 * 7 * MS + MS);
}

/* A thread C wakes up now and then, and takes a lock for a moment; A computes all the time but for naps, and waits 1 ms for
 * it. */
static void hand_to_an_idler(struct computation *computation, uint64_t nap)
{
    struct critical_path_options options = plain_options();

    begin(computation, 3);
    for (int i = 0; i < 4; i++) {
        run_on(computation, 0, 20 * MS);
        block_in(computation, 2, 0, CALL_SLEEP, 100 * MS);
        if (nap > 0)
            block_in(computation, 0, 0, CALL_SLEEP, nap);
        wake_up(computation, 2, 0, 0);
        block_in(computation, 0, 0, CALL_LOCK, MS);
    }
    send_to(computation, 0, 1, 0, 1);
    receive(computation, 1, 0, 0, 1, true);
    struct critical_path *path = ask(computation, &options);
    assert_int_equal(path->cpu, 4 * 20 * MS);
    assert_int_equal(path->outside, 4 * (MS + nap));
    assert_int_equal(path->processes[2].outside, 0);
    assert_true(path->whole >= 400 * MS);
    critical_path_free(path);
}

static void a_moment_for_an_idler(void **state)
{
    hand_to_an_idler(*state, 0);
}

static void a_moment_for_an_idler_after_a_nap(void **state)
{
    hand_to_an_idler(*state, MS / 50);
}

/* C sleeps, then waits for A, and A for C: the path goes to C and back, not to its timers. */
static void an_idler_that_waits(void **state)
{
    struct computation *computation = *state;
    struct critical_path_options options = plain_options();

    begin(computation, 3);
    for (int i = 0; i < 4; i++) {
        block_in(computation, 2, 0, CALL_SLEEP, 100 * MS);
        run_on(computation, 0, 20 * MS);
        wake_up(computation, 0, 2, 0);
        block_in(computation, 2, 0, CALL_LOCK, MS);
        wake_up(computation, 2, 0, 2 * MS);
        block_in(computation, 0, 0, CALL_LOCK, 2 * MS);
    }
    send_to(computation, 0, 1, 0, 1);
    receive(computation, 1, 0, 0, 1, true);
    struct critical_path *path = ask(computation, &options);
    assert_int_equal(path->cpu, 4 * 22 * MS);
    assert_int_equal(path->processes[2].cpu, 4 * 2 * MS);
    assert_int_equal(path->outside, 0);
    critical_path_free(path);
}

/* One process that often waits for its disk: there is nothing else. Its few messages do not make it shorter. */
static void alone_with_a_disk(void **state)
{
    struct computation *computation = *state;
    struct critical_path_options options = plain_options();

    begin(computation, 2);
    send_to(computation, 0, 1, MS, 5);
    receive(computation, 1, 0, MS, 5, true);
    for (int i = 0; i < 10; i++) {
        run_on(computation, 1, MS);
        block_in(computation, 1, 0, CALL_SLEEP, 2 * MS);
    }
    struct critical_path *path = ask(computation, &options);
    assert_int_equal(path->end, END_BUSIEST);
    assert_true(path->cpu >= 11 * MS && path->outside >= 20 * MS);
    critical_path_free(path);
}

static void nobody_is_called_so(void **state)
{
    struct computation *computation = *state;
    struct what_if_asked asked = {"nobody", 2, NULL};
    struct critical_path_options options = plain_options();
    struct critical_path_reading *reading = NULL;
    struct problem problem = {""};

    options.asked = &asked;
    options.asked_count = 1;
    begin(computation, 1);
    run_on(computation, 0, 1);
    struct history *history = open_history(computation);
    assert_int_equal(critical_path_new(history, &options, &reading, &problem), 0);
    const struct analysis analysis = critical_path_analysis(reading);
    assert_int_equal(analyses_read_all(history, &analysis, 1, &problem), 0);
    assert_int_equal(critical_path_find(reading, &problem), -EINVAL);
    assert_non_null(strstr(problem.text, "nobody"));
    critical_path_reading_free(reading);
    history_free(history);
}

/* ---- random computations ---- */

static double longer_by(struct world *world, struct computation *computation, uint32_t chain,
                        uint32_t step, uint64_t cpu)
{
    computation->steps[chain][step].cpu += cpu;
    double longest = longest_path(world);
    computation->steps[chain][step].cpu -= cpu;
    return longest;
}

/* The slack of a process is the least slack of its steps: the most that each may take longer without a longer path. */
static bool slack_is_right(struct world *world, struct computation *computation, uint32_t process,
                           uint64_t slack, double longest)
{
    bool tight = false, computes = false;

    for (uint32_t k = 0; k < computation->step_count; k++) {
        uint32_t chain = computation->order[k].chain, step = computation->order[k].step;
        if (computation->process_of[chain] != process || computation->steps[chain][step].cpu == 0)
            continue;
        computes = true;
        if (longer_by(world, computation, chain, step, slack) > longest)
            return false;
        tight = tight || longer_by(world, computation, chain, step, slack + 1) > longest;
    }
    return tight || !computes;
}

static void compare(struct computation *computation, uint64_t seed)
{
    uint64_t first = seed;
    struct what_if_asked asked[2] = {{"A", 0.5, NULL}, {"B", 0, "A"}};
    struct critical_path_options options = plain_options();
    struct seen seen;

    if (random_below(&seed, 2) == 0) {
        options.delays = true;
        options.parallelism.delays.remote =
            (struct delay){.points = {{0, (double)random_below(&seed, 1000)}}, .count = 1};
    }
    options.parallelism.threads = random_below(&seed, 2) == 0;
    options.parallelism.messages_only = random_below(&seed, 4) == 0;
    options.whole = random_below(&seed, 3) != 0;
    make(computation, !options.parallelism.threads, &seed);
    options.asked = asked;
    options.asked_count = computation->processes > 1 ? 2 : 1;
    struct critical_path *path = ask_and_see(computation, &options, &seen);
    struct world world = {.computation = computation,
                          .delays = &options.parallelism.delays,
                          .free = !options.delays,
                          .messages_only = options.parallelism.messages_only};
    for (uint32_t i = 0; i < STREAMS; i++) {
        world.machine[i] = i;
        world.speed[i] = 1;
    }
    double longest = longest_path(&world);
    uint64_t cpu = 0, count = 0;
    for (size_t i = 0; i < path->parallelism->process_count; i++)
        cpu += path->processes[i].cpu;
    for (size_t i = 0; i < path->arc_count; i++)
        count += path->arcs[i].count;
    bool right = (double)path->whole == longest && path->longest <= path->whole &&
                 (path->longest == path->whole || !options.whole) && path->cpu == cpu &&
                 path->cpu + path->delay + path->outside == path->longest &&
                 seen.critical == path->events && seen.by_edge <= count;
    for (size_t i = 0; i < path->parallelism->process_count && right; i++)
        right = !path->processes[i].has_slack || path->processes[i].slack <= path->longest;
    for (uint32_t i = 0; i < computation->processes && right && options.whole; i++)
        right = slack_is_right(&world, computation, i, path->processes[i].slack, longest);
    for (uint32_t k = 0; k < computation->step_count; k++)
        if (computation->process_of[computation->order[k].chain] == 0)
            computation->steps[computation->order[k].chain][computation->order[k].step].cpu *= 2;
    right = right && (double)path->what_ifs[0].whole == longest_path(&world) &&
            (path->what_ifs[0].longest == path->what_ifs[0].whole || !options.whole) &&
            path->what_ifs[0].longest >= path->longest;
    if (!right)
        print_steps(computation);
    if (!right)
        fail_msg("DPM_SEED=%" PRIu64 ": %" PRIu64 " (%.0f), cpu %" PRIu64 ", delay %" PRIu64
                 ", A slower %" PRIu64 " (%.0f)",
                 first, path->longest, longest, path->cpu, path->delay, path->what_ifs[0].longest,
                 longest_path(&world));
    critical_path_free(path);
    tape_done(&computation->tape);
}

#define COMPUTATIONS 1000

static void every_claim_is_true(void **state)
{
    uint64_t seed = seed_of_run("critical path");

    for (uint64_t i = 0; i < rounds_of_run(COMPUTATIONS); i++)
        compare(*state, getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed));
    begin(*state, 1); /* for teardown */
}

/* ---- the same run, simulated ---- */

static unsigned any_kind(const struct history *history, const struct recorded_types *recorded,
                         const struct history_event *event)
{
    (void)history;
    (void)recorded;
    (void)event;
    return 1;
}

struct account {
    double sum;     /* of the parts */
    double message; /* ns that each takes */
};

static double wait_of(void *context, const struct run_wait *wait)
{
    const struct account *account = context;

    return wait->from == NO_PARENT ? (double)wait->time : account->message;
}

static void add_part(void *context, uint32_t process, enum run_what what, unsigned kind,
                     double time)
{
    struct account *account = context;

    (void)process;
    assert_true(time > 0 && (kind == 0 || what == RUN_WAITS || what == RUN_IN_FLIGHT));
    account->sum += time;
}

static double run(struct critical_path_reading *reading, const double *speeds,
                  struct account *account)
{
    const struct run_changes changes = {
        .speeds = speeds, .wait = wait_of, .part = add_part, .context = account};
    struct problem problem = {""};
    double time = 0;

    account->sum = 0;
    if (critical_path_simulate(reading, &changes, &time, &problem) != 0)
        fail_msg("%s", problem.text);
    return time;
}

/* With enough CPUs, any computation takes as long as its longest path, by definition, and its parts add up to that. */
static void simulate_any(struct computation *computation, uint64_t seed)
{
    struct critical_path_options options = plain_options();
    struct account account = {.message = 0};
    double speeds[STREAMS] = {1, 1, 1, 1, 1, 1};
    uint64_t first = seed;
    struct seen seen;

    options.whole = true;
    options.kind_of_wait = any_kind;
    make(computation, false, &seed);
    struct history *history = find_path(computation, &options, &seen);
    struct critical_path *path = NULL;
    struct problem problem = {""};
    assert_int_equal(critical_path_finish(seen.reading, &path, &problem), 0);
    struct world world = {
        .computation = computation, .delays = &options.parallelism.delays, .free = true};
    for (uint32_t i = 0; i < STREAMS; i++) {
        world.machine[i] = i;
        world.speed[i] = 1;
    }
    double time = run(seen.reading, speeds, &account), longest = longest_path(&world);
    if (fabs(time - longest) > 1 || fabs(account.sum - time) > 1)
        fail_msg("DPM_SEED=%" PRIu64 ": %.0f ns, by definition %.0f, parts %.0f", first, time,
                 longest, account.sum);
    speeds[0] = 0.5;
    for (uint32_t k = 0; k < computation->step_count; k++)
        if (computation->process_of[computation->order[k].chain] == 0)
            computation->steps[computation->order[k].chain][computation->order[k].step].cpu *= 2;
    double slower = run(seen.reading, speeds, &account); /* to where the path ended before */
    if (slower < time - 1 || slower > longest_path(&world) + 1 || fabs(account.sum - slower) > 1)
        fail_msg("DPM_SEED=%" PRIu64 ": slower %.0f ns, by definition at most %.0f, parts %.0f",
                 first, slower, longest_path(&world), account.sum);
    history_free(history);
    critical_path_reading_free(seen.reading);
    critical_path_free(path);
    tape_done(&computation->tape);
}

static void a_simulated_run_is_as_long_as_its_path(void **state)
{
    uint64_t seed = seed_of_run("simulated run");

    for (uint64_t i = 0; i < rounds_of_run(COMPUTATIONS); i++)
        simulate_any(*state, getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed));
    begin(*state, 1); /* for teardown */
}

/* A computes 100 ns and sends to B, which computes 50 after that; both speeds, and a message that takes 30. */
static void a_run_with_changes(void **state)
{
    struct computation *computation = *state;
    struct critical_path_options options = plain_options();
    const double as_recorded[] = {1, 1}, faster[] = {2, 1};
    struct account account = {.message = 0};
    struct critical_path *path = NULL;
    struct problem problem = {""};
    struct seen seen;

    options.kind_of_wait = any_kind;
    options.whole = true;
    begin(computation, 2);
    send_to(computation, 0, 1, 100, 5);
    receive(computation, 1, 0, 0, 5, true);
    run_on(computation, 1, 50);
    struct history *history = find_path(computation, &options, &seen);
    assert_int_equal(critical_path_finish(seen.reading, &path, &problem), 0);
    assert_true(fabs(run(seen.reading, as_recorded, &account) - 150) < 1);
    assert_true(fabs(run(seen.reading, faster, &account) - 100) < 1);
    account.message = 30;
    assert_true(fabs(run(seen.reading, faster, &account) - 130) < 1);
    history_free(history);
    critical_path_reading_free(seen.reading);
    critical_path_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPUTATION_TEST(what_is_on_it),
        COMPUTATION_TEST(connections_share_a_row),
        COMPUTATION_TEST(an_idler_is_not_on_it),
        COMPUTATION_TEST(it_ends_with_the_command),
        COMPUTATION_TEST(a_moment_for_an_idler),
        COMPUTATION_TEST(an_idler_that_waits),
        COMPUTATION_TEST(a_moment_for_an_idler_after_a_nap),
        COMPUTATION_TEST(alone_with_a_disk),
        COMPUTATION_TEST(nobody_is_called_so),
        COMPUTATION_TEST(every_claim_is_true),
        COMPUTATION_TEST(a_run_with_changes),
        COMPUTATION_TEST(a_simulated_run_is_as_long_as_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
