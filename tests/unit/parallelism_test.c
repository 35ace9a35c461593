/* SPDX-License-Identifier: MIT */
/*
 * parallelism_test.c: T, t_max and P (the papers' parallelism factor): small computations with known answers, including
 * those of the papers, and random ones against naive algorithms.
 *
 *      a computation, as a list of steps for each stream --+--> tapes --> history --> parallelism
 *                                                          |                              =
 *                                                          '--> critical path, by definition
 *                                                          '--> processor sharing, step by step
 */
#include "computations.h"

#define MACHINES 3

/* ---- naive: processor sharing ---- */

enum phase { UNBORN, BEFORE, WAITING, BEHIND, DONE };

struct stage {
    uint32_t step;
    enum phase phase;
    double left; /* of CPU time */
    double ends[STEPS];
};

/* When everything that a step waits for has come; INFINITY: unknown so far. */
static double arrival(const struct world *world, const struct stage *stages, uint32_t stream)
{
    const struct step *step = &world->computation->steps[stream][stages[stream].step];
    double last = 0;

    for (uint32_t i = 0; i < step->source_count; i++) {
        uint32_t from = step->sources[i].chain;
        double delay = delay_of_arc(world, step, i, stream);
        if (delay < 0)
            continue;
        if (stages[from].step <= step->sources[i].step)
            return INFINITY;
        double comes = stages[from].ends[step->sources[i].step] + delay;
        last = comes > last ? comes : last;
    }
    return last;
}

static void begin_stage(const struct world *world, struct stage *stages, uint32_t stream)
{
    struct stage *stage = &stages[stream];
    const struct step *step = &world->computation->steps[stream][stage->step];

    if (stage->step == world->computation->count[stream]) {
        stage->phase = DONE;
        return;
    }
    stage->phase = step->slept ? WAITING : BEFORE;
    stage->left = (double)step->cpu;
}

/* Whether anything changed now. */
static bool go_on(const struct world *world, struct stage *stages, uint32_t stream, double now)
{
    struct stage *stage = &stages[stream];
    bool slept = stage->phase != DONE && world->computation->steps[stream][stage->step].slept;
    const struct place_of_step *creator = &world->computation->creator[stream];

    if (stage->phase == UNBORN && stages[creator->chain].step <= creator->step)
        return false;
    if (stage->phase == UNBORN) {
        begin_stage(world, stages, stream);
        return true;
    }

    if ((stage->phase == BEFORE || stage->phase == BEHIND) && stage->left > 1e-6)
        return false;
    if (stage->phase == BEFORE) {
        stage->phase = WAITING;
        return true;
    }
    if (stage->phase == WAITING && arrival(world, stages, stream) <= now + 1e-6 && slept) {
        stage->phase = BEHIND;
        return true;
    }
    if (stage->phase == BEHIND ||
        (stage->phase == WAITING && arrival(world, stages, stream) <= now + 1e-6)) {
        stage->ends[stage->step++] = now;
        begin_stage(world, stages, stream);
        return true;
    }
    return false;
}

static bool is_running(const struct stage *stage)
{
    return stage->phase == BEFORE || stage->phase == BEHIND;
}

static double share_of(const struct world *world, const struct stage *stages, uint32_t stream)
{
    uint32_t machine = machine_of(world, stream);
    double running = 0;

    for (uint32_t i = 0; i < world->computation->chains; i++)
        running += machine_of(world, i) == machine && is_running(&stages[i]);
    double share = world->cores[machine] / running;
    return (share < 1 ? share : 1) * world->speed[machine];
}

static double simulate(const struct world *world)
{
    uint32_t streams = world->computation->chains;
    struct stage stages[STREAMS];
    double now = 0;

    memset(stages, 0, sizeof(stages));
    for (uint32_t i = 0; i < streams; i++)
        if (!begins_at_creation(world, i))
            begin_stage(world, stages, i);
    for (;;) {
        bool changed = true;
        while (changed) {
            changed = false;
            for (uint32_t i = 0; i < streams; i++)
                changed = go_on(world, stages, i, now) || changed;
        }
        double next = INFINITY;
        for (uint32_t i = 0; i < streams; i++) {
            double at = stages[i].phase == WAITING ? arrival(world, stages, i)
                        : is_running(&stages[i]) ? now + stages[i].left / share_of(world, stages, i)
                                                 : INFINITY;
            next = at < next ? at : next;
        }
        if (next == INFINITY)
            return now;
        double shares[STREAMS];
        for (uint32_t i = 0; i < streams; i++)
            shares[i] = is_running(&stages[i]) ? share_of(world, stages, i) : 0;
        for (uint32_t i = 0; i < streams; i++)
            stages[i].left -= (next - now) * shares[i];
        now = next;
    }
}

/* ---- the thesis' appendix A ---- */

/* The arcs are given new weights: all running streams advance by the same slice of process time, and with k of them
 * on a machine the slice weighs k times as much there; delays are counted down in process time. Then the longest
 * path is taken. It agrees with step sharing in elapsed time on one machine without delays, and with one stream on
 * each machine. */
static double reweight(const struct world *world)
{
    struct computation *heavier = malloc(sizeof(*heavier));
    uint32_t streams = world->computation->streams;
    struct stage stages[STREAMS];
    double now = 0;

    assert_non_null(heavier);
    *heavier = *world->computation;
    for (uint32_t i = 0; i < streams; i++)
        for (uint32_t k = 0; k < heavier->count[i]; k++)
            heavier->steps[i][k].cpu = 0;
    memset(stages, 0, sizeof(stages));
    for (uint32_t i = 0; i < streams; i++)
        begin_stage(world, stages, i);
    for (;;) {
        bool changed = true;
        while (changed) {
            changed = false;
            for (uint32_t i = 0; i < streams; i++)
                changed = go_on(world, stages, i, now) || changed;
        }
        double slice = INFINITY;
        for (uint32_t i = 0; i < streams; i++) {
            double left = is_running(&stages[i])       ? stages[i].left
                          : stages[i].phase == WAITING ? arrival(world, stages, i) - now
                                                       : INFINITY;
            slice = left < slice ? left : slice;
        }
        if (slice == INFINITY)
            break;
        for (uint32_t i = 0; i < streams; i++) {
            uint32_t running = 0;
            for (uint32_t k = 0; k < streams; k++)
                running += is_running(&stages[k]) && machine_of(world, k) == machine_of(world, i);
            if (!is_running(&stages[i]))
                continue;
            heavier->steps[i][stages[i].step].cpu += (uint64_t)slice * running;
            stages[i].left -= slice;
        }
        now += slice;
    }
    struct world heavy = *world;
    heavy.computation = heavier;
    double longest = longest_path(&heavy);
    free(heavier);
    return longest;
}

/* ---- running the analysis ---- */

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

static uint64_t longest(const struct parallelism *parallelism, uint32_t assignment,
                        enum parallelism_step step)
{
    for (size_t i = 0; i < parallelism->row_count; i++)
        if (parallelism->rows[i].assignment == assignment && parallelism->rows[i].step == step)
            return parallelism->rows[i].longest;
    fail_msg("there is no such row");
    return 0;
}

static const struct assignment plain[] = {
    {.name = "one-each", .kind = ONE_EACH},
    {.name = "one-machine", .kind = ONE_MACHINE},
    {.name = "2-per-machine", .kind = PER_MACHINE, .per_machine = 2},
};

static struct parallelism_options plain_options(void)
{
    return (struct parallelism_options){
        .assignments = plain, .assignment_count = 3, .threads = true, .sharing = true};
}

static uint64_t longest_of(const struct parallelism *parallelism, const char *name)
{
    for (size_t i = 0; i < parallelism->process_count; i++)
        if (strcmp(parallelism->processes[i].name, name) == 0)
            return parallelism->processes[i].longest;
    fail_msg("there is no process %s", name);
    return 0;
}

/* ---- known answers ---- */

/* The thesis' appendix A gives 35 here; sharing in elapsed time gives 40. */
static void sharing_is_in_elapsed_time(void **state)
{
    struct computation *computation = *state;
    struct assigned_machine machines[] = {{"one", 1, 1}, {"other", 1, 1}};
    struct assigned_process processes[] = {{"C", 1}, {"*", 0}};
    struct assignment assignment = {.name = "papers",
                                    .kind = ASSIGNED,
                                    .machines = machines,
                                    .machine_count = 2,
                                    .processes = processes,
                                    .process_count = 2};
    struct parallelism_options options = {
        .assignments = &assignment, .assignment_count = 1, .threads = true, .sharing = true};

    options.appendix_a = true;
    begin(computation, 3);
    run_on(computation, 0, 20);
    send_to(computation, 2, 1, 15, 1);
    receive(computation, 1, 2, 10, 1, false);
    run_on(computation, 1, 10);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 55);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 25);
    assert_int_equal(longest(parallelism, 0, STEP_DELAY), 25);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 40);
    assert_int_equal(longest(parallelism, 0, STEP_APPENDIX_A), 35);
    assert_true(parallelism->has_process_paths);
    assert_int_equal(longest_of(parallelism, "A"), 20);
    assert_int_equal(longest_of(parallelism, "B"), 20);
    assert_int_equal(longest_of(parallelism, "C"), 25); /* it sends, and B computes 10 */
    assert_int_equal(parallelism->streams, 3);
    assert_int_equal(parallelism->messages, 1);
    parallelism_free(parallelism);
}

static void nothing_in_common(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();
    struct parallelism_efficiency efficiency;

    begin(computation, 4);
    for (uint32_t i = 0; i < 4; i++)
        run_on(computation, i, 10 * (i + 1));
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 100);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(longest(parallelism, i, STEP_MAX), 40);
        assert_int_equal(longest(parallelism, i, STEP_DELAY), 40);
    }
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 40);
    assert_int_equal(longest(parallelism, 1, STEP_SHARING), 100);
    assert_int_equal(longest(parallelism, 2, STEP_SHARING), 70);
    parallelism_efficiency(parallelism, 0, &efficiency);
    assert_true(fabs(efficiency.load_balance - 0.625) < 1e-9);
    assert_true(efficiency.serialisation == 1 && efficiency.transfer == 1);
    parallelism_free(parallelism);
}

/* Delays by length, local and remote, and between two machines. */
static void messages_take_time(void **state)
{
    struct computation *computation = *state;
    struct assigned_machine machines[] = {{"one", 1, 1}, {"other", 1, 2}};
    struct assigned_process processes[] = {{"101", 1}, {"*", 0}};
    struct delay_between between = {"other", "one", {.points = {{0, 70}}, .count = 1}};
    struct assignment assignments[] = {plain[0],
                                       plain[1],
                                       {.name = "assigned",
                                        .kind = ASSIGNED,
                                        .machines = machines,
                                        .machine_count = 2,
                                        .processes = processes,
                                        .process_count = 2}};
    struct parallelism_options options = {
        .assignments = assignments,
        .assignment_count = 3,
        .threads = true,
        .sharing = true,
        .delays = {.local = {.points = {{0, 5}, {10, 15}}, .count = 2},
                   .remote = {.points = {{0, 100}, {10, 300}, {20, 320}}, .count = 3},
                   .between = &between,
                   .between_count = 1}};

    begin(computation, 2);
    send_to(computation, 0, 1, 40, 15);
    receive(computation, 1, 0, 1, 15, true);
    struct parallelism_efficiency efficiency;
    struct parallelism *parallelism = ask(computation, &options);
    /* T is 42: A has 40, and B 1 before its wait and 1 after it. Without delay they take 41, because B waits for A. */
    parallelism_efficiency(parallelism, 0, &efficiency);
    assert_true(fabs(efficiency.load_balance - 42.0 / (2 * 40)) < 1e-9);
    assert_true(fabs(efficiency.serialisation - 40.0 / 41) < 1e-9);
    assert_true(fabs(efficiency.transfer - 41.0 / 351) < 1e-9);
    parallelism_efficiency(parallelism, 1, &efficiency);
    assert_true(fabs(efficiency.transfer - 41.0 / 61) < 1e-9);
    double share = parallelism_factor(&parallelism->rows[1]) / parallelism->streams;
    parallelism_efficiency(parallelism, 0, &efficiency);
    assert_true(fabs(efficiency.load_balance * efficiency.serialisation * efficiency.transfer -
                     share) < 1e-9); /* that of step delay */
    /* on a machine of twice the speed, A has 20 of 22, which is no better transfer */
    parallelism_efficiency(parallelism, 2, &efficiency);
    assert_true(fabs(efficiency.transfer - 41.0 * 22 / 42 / 91) < 1e-9);
    share = parallelism_factor(&parallelism->rows[7]) / parallelism->streams;
    assert_true(fabs(share - 22.0 / 91 / 2) < 1e-9);
    assert_true(fabs(efficiency.load_balance * efficiency.serialisation * efficiency.transfer -
                     share) < 1e-9);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 41);
    assert_int_equal(longest(parallelism, 0, STEP_DELAY), 40 + 310 + 1);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 40 + 310 + 1);
    assert_int_equal(longest(parallelism, 1, STEP_DELAY), 40 + 20 + 1);
    assert_int_equal(longest(parallelism, 1, STEP_SHARING), 41 + 20 + 1);
    assert_int_equal(longest(parallelism, 2, STEP_DELAY), 20 + 70 + 1);
    assert_int_equal(longest(parallelism, 2, STEP_SHARING), 20 + 70 + 1);
    parallelism_free(parallelism);
}

/* An answer from outside takes its elapsed time, in addition to the CPU time (thesis, figure 5.3). */
static void outside_takes_elapsed_time(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();
    struct path_record path = {.header = {.time = T0, .id = EVENT_PATH, .flags = 16},
                               .path = 99,
                               .kind = PATH_TCP,
                               .family = AF_INET,
                               .local = {10, 0, 0, 1},
                               .remote = {192, 0, 2, 9},
                               .local_port = 1,
                               .remote_port = 2};

    begin(computation, 1);
    path.header.time = computation->now;
    tape_add(&computation->tape, &path);
    computation->stream[0].cpu = 10;
    tell(computation, 0, EVENT_SEND, 99, 0, 5);
    computation->stream[0].cpu = 30;
    tell(computation, 0, EVENT_RECEIVECALL, 99, 0, 0);
    computation->now += 499;
    computation->stream[0].cpu = 31;
    tell(computation, 0, EVENT_RECEIVE, 99, 0, 5);
    computation->stream[0].cpu = 40;
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 40);
    assert_int_equal(parallelism->outside.count, 1);
    assert_int_equal(parallelism->outside.time, 500); /* and 1 awake */
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 10 + 500 + 1 + 9);
    assert_int_equal(longest(parallelism, 1, STEP_SHARING), 10 + 500 + 1 + 9);
    parallelism_free(parallelism);
    options.messages_only = true;
    parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 40);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 40);
    parallelism_free(parallelism);
}

/* An answer in pieces is one wait, from the request to the last piece; the next answer is another. */
static void pieces_of_an_answer_are_one_wait(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();
    struct path_record path = {.header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
                               .path = 99,
                               .kind = PATH_TCP,
                               .family = 2,
                               .network = 1,
                               .local = {10, 0, 0, 1},
                               .remote = {192, 0, 2, 9},
                               .local_port = 1,
                               .remote_port = 2};
    uint32_t received = 0;

    begin(computation, 1);
    path.header.time = computation->now;
    tape_add(&computation->tape, &path);
    for (uint32_t answer = 0; answer < 2; answer++) {
        tell(computation, 0, EVENT_SEND, 99, 5 * answer, 5);
        for (int piece = 0; piece < 10; piece++) {
            tell(computation, 0, EVENT_RECEIVECALL, 99, 0, 0);
            computation->now += 99;
            tell(computation, 0, EVENT_RECEIVE, 99, received++, 1);
        }
    }
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->outside.count, 2);
    assert_int_equal(parallelism->outside.time, parallelism->outside.covered);
    assert_in_range(parallelism->outside.time, 2 * 10 * 99, 2 * 10 * 102);
    parallelism_free(parallelism);
}

static struct record *block(struct computation *computation, uint32_t stream, uint32_t call,
                            uint64_t duration)
{
    computation->now += duration;
    struct record *record = tell(computation, stream, EVENT_BLOCK, 0, 0, 0);
    record->block.system_call = call;
    record->block.state = 1;
    record->block.duration = duration;
    return record;
}

/* Timers count, and a single-threaded process waits for no other thread. Locks between threads do not count: without
 * WAKEUP it is not known what they wait for. */
static void sleeping_is_an_arc(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin_threads(computation, 3, 3, (const uint32_t[]){0, 0, 1}, false);
    leave_out(computation, EVENT_WAKEUP);
    block(computation, 2, 202, 700); /* futex, alone in its process */
    computation->stream[0].cpu = 10;
    block(computation, 0, 230, 1000); /* clock_nanosleep */
    computation->stream[0].cpu = 15;
    block(computation, 0, 202, 5000); /* futex */
    computation->stream[0].cpu = 20;
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    tell(computation, 0, EVENT_RECEIVECALL, 0, 7, 0); /* poll */
    computation->now += 299;
    computation->stream[0].cpu = 22;
    tell(computation, 0, EVENT_RECEIVECALL, 0, 7, 0); /* its time has passed */
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 3);
    assert_int_equal(parallelism->asleep.time, 700 + 1000 + 298);
    assert_int_equal(parallelism->locks.count, 1);
    assert_int_equal(parallelism->locks.time, 5000);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 20 + 1000 + 298 + 2);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 20 + 1000 + 298 + 2);
    parallelism_free(parallelism);
}

/* Two threads alternate, as with a lock: a thread that wakes the other records it; a timer has no waker. */
static void wakeups_are_arcs(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin_threads(computation, 2, 2, (const uint32_t[]){0, 0}, false);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t awake = i % 2;
        computation->now += 100;
        wake_up(computation, awake, 1 - awake, 100);
        block_in(computation, 1 - awake, 0, CALL_LOCK, 50);
    }
    block_in(computation, 0, 0, CALL_LOCK, 300); /* in vain */
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->locks.count, 0);
    assert_int_equal(parallelism->asleep.time, 300);
    assert_int_equal(parallelism->total, 1000);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 1000 + 300);
    parallelism_free(parallelism);
}

/* A stream that waits for any of several paths, and wakes another one before it receives what has come, still waits
 * until then. */
static void a_wakeup_within_a_wait(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 3);
    wait_for(computation, 1, NOBODY, 0);
    computation->now += 1000;
    send_to(computation, 0, 1, 1000, 1);
    tell(computation, 1, EVENT_WAKEUP, 3, 0, 0);
    receive(computation, 1, 0, 10, 1, false);
    run_on(computation, 2, 5);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 0);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 1010);
    parallelism_free(parallelism);
}

/* A joined thread, or a child: its end is recorded before it wakes the waiting one. */
static void a_wakeup_after_the_end(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin_threads(computation, 2, 2, (const uint32_t[]){0, 0}, false);
    computation->now += 1000;
    terminate(computation, 1, 1000);
    wake_another(computation, 1, 0, true);
    block_in(computation, 0, 0, CALL_LOCK, 900);
    run_on(computation, 0, 7);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 0);
    assert_int_equal(parallelism->other_arcs, 1);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 1007);
    parallelism_free(parallelism);
}

static void tell_identity(struct computation *computation, uint32_t stream, uint64_t used)
{
    struct stream_record record = {.header = {.time = ++computation->now,
                                              .id = EVENT_STREAM,
                                              .flags = 16,
                                              .stream = stream,
                                              .proc_time_and_pc = used},
                                   .process = stream};

    tape_add(&computation->tape, &record);
}

/* A record of a path that is first seen during a wait does not end the wait: data on the path does. */
static void a_path_is_met_in_a_wait(void **state)
{
    static const enum event_id told[] = {EVENT_CREATEPATH, EVENT_ACCEPT, EVENT_CONNECT};
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    computation->stream[1].cpu = 10;
    tell(computation, 1, EVENT_RECEIVECALL, 0, 7, 0); /* poll */
    computation->now += 500;
    send_to(computation, 0, 1, 40, 15);
    for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
        computation->stream[1].cpu++;
        tell(computation, 1, told[i], path_of(0, 1, true), 0, 0);
    }
    computation->stream[1].cpu = 15;
    tell(computation, 1, EVENT_RECEIVE, path_of(0, 1, true), 0, 15);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 55);
    assert_int_equal(parallelism->asleep.count, 0);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 45);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 45);
    parallelism_free(parallelism);
}

/* ... but a stream that has seen a new path is awake: if no data comes on it, the wait ended then. */
static void nothing_comes_by_a_path(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    computation->stream[1].cpu = 10;
    tell(computation, 1, EVENT_RECEIVECALL, 0, 43, 0); /* accept */
    computation->now += 99;
    computation->stream[1].cpu = 12;
    tell(computation, 1, EVENT_CREATEPATH, path_of(0, 1, true), 0, 0);
    computation->now += 500;
    computation->stream[1].cpu = 40;
    tell(computation, 1, EVENT_RECEIVECALL, 0, 43, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 1);
    assert_int_equal(parallelism->asleep.time, 98);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 10 + 98 + 30);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 10 + 98 + 30);
    parallelism_free(parallelism);
}

/* An identity that is recorded at the end comes before older events, because these wait for their RECEIVE. */
static void an_identity_comes_early(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    computation->stream[1].cpu = 10;
    tell(computation, 1, EVENT_RECEIVECALL, 0, 43, 0); /* accept */
    tell_identity(computation, 2, 400000);
    computation->now += 99;
    computation->stream[1].cpu = 12;
    tell(computation, 1, EVENT_CREATEPATH, path_of(0, 1, true), 0, 0);
    computation->now += 500;
    computation->stream[1].cpu = 40;
    tell(computation, 1, EVENT_RECEIVECALL, 0, 43, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 400000);
    assert_int_equal(parallelism->asleep.count, 1);
    assert_in_range(parallelism->asleep.time, 98, 100);
    assert_in_range(longest(parallelism, 0, STEP_MAX), 400098, 400100);
    parallelism_free(parallelism);
}

/* A child begins where it is created, and ends its parent's wait. */
static void creation_and_end(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    computation->stream[0].cpu = 10;
    struct stream_record child = {
        .header = {.time = computation->now, .id = EVENT_STREAM, .flags = 16, .stream = 2},
        .process = 2,
        .pid = 102,
        .parent = 1,
        .name = "child"};
    tape_add(&computation->tape, &child);
    tell(computation, 0, EVENT_CREATEPROCESS, 2, 0, 0);
    computation->stream[1].cpu = 50;
    tell(computation, 1, EVENT_TERMINATION, 0, 1, 0);
    computation->stream[0].cpu = 12;
    block(computation, 0, 61, 1);
    computation->stream[0].cpu = 15;
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 65);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 10 + 50 + 3);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 10 + 50 + 3);
    assert_int_equal(longest(parallelism, 1, STEP_SHARING), 65);
    parallelism_free(parallelism);
    options.messages_only = true;
    parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 50);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 50);
    assert_int_equal(longest(parallelism, 1, STEP_SHARING), 65);
    parallelism_free(parallelism);
}

static bool is_b(void *context, uint32_t origin, const struct stream_record *stream)
{
    (void)context;
    (void)origin;
    return strcmp(stream->name, "B") == 0;
}

/* Processes that are left out are outside. */
static void a_part_of_it(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    send_to(computation, 0, 1, 10, 1);
    receive(computation, 1, 0, 500, 1, false);
    send_to(computation, 1, 0, 100, 1);
    receive(computation, 0, 1, 5, 1, true);
    options.leaves_out = is_b;
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->total, 20);
    assert_int_equal(parallelism->process_count, 1);
    assert_int_equal(parallelism->asleep.count, 1);
    assert_int_equal(parallelism->messages, 0);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 20);
    parallelism_free(parallelism);
}

/* Two threads of a process run in parallel, or as one. */
static void threads_or_processes(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    struct stream_record thread = {
        .header = {.time = computation->now, .id = EVENT_STREAM, .flags = 16, .stream = 2},
        .process = 1,
        .pid = 101,
        .parent = 1,
        .name = "A"};
    tape_add(&computation->tape, &thread);
    tell(computation, 0, EVENT_CREATEPROCESS, 2, 1, 0);
    computation->stream[1].cpu = 50;
    tell(computation, 1, EVENT_EXEC, 0, 0, 0);
    computation->stream[0].cpu = 30;
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_true(parallelism_has_threads(parallelism));
    assert_int_equal(parallelism->streams, 2);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 50);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 80); /* one machine for the process */
    parallelism_free(parallelism);
    options.threads = false;
    parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 80);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 80);
    parallelism_free(parallelism);
}

/* Whether T, t_max and step sharing equal those of the naive algorithms, with one machine for each process. */
static void is_as_naive(struct computation *computation)
{
    struct parallelism_options options = plain_options();
    struct world world = {.computation = computation, .delays = &options.delays};

    options.threads = !computation->whole_processes;
    for (uint32_t i = 0; i < STREAMS; i++) {
        world.machine[i] = i;
        world.cores[i] = world.speed[i] = 1;
    }
    struct parallelism *parallelism = ask(computation, &options);
    assert_true((double)longest(parallelism, 0, STEP_MAX) == longest_path(&world));
    assert_true((double)longest(parallelism, 0, STEP_SHARING) == simulate(&world));
    parallelism_free(parallelism);
}

/* A WAKEUP ends a poll, whose end makes no record; a sleep that begins after that is not ended by it. */
static void a_wakeup_of_the_wait_before(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    wait_for(computation, 1, NOBODY, 0);
    computation->now += 1000;
    wake_up(computation, 0, 1, 1000);
    computation->stream[1].woken_before = true;
    block_in(computation, 1, 0, CALL_SLEEP, 5000);
    is_as_naive(computation);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 1);
    assert_int_equal(parallelism->asleep.time, 5000);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 1000 + 5000);
    parallelism_free(parallelism);
}

/* A sends 10 bytes into a pipe of 4, and continues when B has made buffer space; B is slow. */
static void a_full_pipe(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    send_waits(computation, 0, 1, 10, 10, 4);
    receive(computation, 1, 0, 100, 4, false); /* at 100 */
    send_waits(computation, 0, 1, 1, 10, 4);   /* at 101 */
    receive(computation, 1, 0, 200, 4, false); /* at 300 */
    send_ends(computation, 0, 2);              /* at 302 */
    run_on(computation, 0, 50);                /* at 352 */
    receive(computation, 1, 0, 5, 2, true);    /* asks at 305, and gets it at 305 + 5 */
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->messages, 3);
    assert_int_equal(parallelism->other_arcs, 2);
    assert_int_equal(parallelism->asleep.count, 0);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 352);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 352);
    parallelism_free(parallelism);
    /* the news of buffer space is a message of no length: to B, back, to B, back, to B; B computes meanwhile */
    options.delays.remote = (struct delay){.points = {{0, 1000}}, .count = 1};
    parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_DELAY),
                     10 + 1000 + 1000 + 1 + 1000 + 1000 + 2 + 1000 + 5);
    parallelism_free(parallelism);
    options.delays = (struct delays){0};
    options.messages_only = true; /* A never waits; B only computes */
    parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 310);
    parallelism_free(parallelism);
}

/* A waits for any of several paths, and receives data older than that wait: a timer ended it. Its time began when A
 * fell asleep, not when the message came. */
static void an_old_message(void **state)
{
    struct computation *computation = *state;

    begin(computation, 2);
    send_to(computation, 1, 0, 5000, 8);
    computation->now += 2 * SOON_ENOUGH;
    wait_for(computation, 0, NOBODY, 7);
    computation->now += 1000;
    receive(computation, 0, 1, 1, 8, false);
    is_as_naive(computation);
    struct parallelism_options options = plain_options();
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 5000);
    parallelism_free(parallelism);
}

/* B waits for an end of file until A closes it, which is not recorded: all the time since A's latest event. */
static void an_end_of_file_that_is_waited_for(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    send_to(computation, 0, 1, 10, 5);
    uint64_t sent = computation->now;
    receive(computation, 1, 0, 1, 5, false);
    wait_for(computation, 1, 0, 2);
    computation->now += 5000;
    receive_end(computation, 1, 0, 3);
    uint64_t since = computation->now - sent;
    run_on(computation, 0, 4000);
    is_as_naive(computation);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 1);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 10 + since + 3);
    assert_int_equal(longest(parallelism, 0, STEP_SHARING), 10 + since + 3);
    parallelism_free(parallelism);
}

/* A timer's sleep has a different state from other waits (freezable), so it is not taken for a lock inside a call,
 * even after a wait in vain. */
static void timers_sleep_in_their_own_state(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    wait_for(computation, 0, NOBODY, 7);
    computation->now += 20000000;
    computation->stream[0].cpu += 1;
    block(computation, 0, CALL_SLEEP, 400000000)->block.state = 0x2001;
    computation->stream[0].cpu += 5;
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 2);
    assert_in_range(longest(parallelism, 0, STEP_MAX), 420000000, 420000020);
    parallelism_free(parallelism);
}

/* A lock within a call, in a state that only a fatal signal ends, does not end the call's own wait. */
static void a_lock_within_a_wait(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    wait_for(computation, 0, 1, 7);
    computation->now += 1000;
    computation->stream[0].cpu += 1;
    block(computation, 0, 0, 300)->block.state = 0x102;
    send_to(computation, 1, 0, 5000, 8);
    receive(computation, 0, 1, 3, 8, false);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 0);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 5000 + 1 + 3);
    parallelism_free(parallelism);
}

/* A request from before the other end was known does not belong to an answer long after it. */
static void a_question_of_long_ago(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    add_internet(&computation->tape, computation->now, 990, PATH_TCP, 1, 1, 1, 2);
    computation->stream[0].cpu = 10;
    tell(computation, 0, EVENT_SEND, 990, 0, 5);
    add_internet(&computation->tape, computation->now, 991, PATH_TCP, 1, 2, 1, 1);
    computation->now += 900000;
    computation->stream[0].cpu = 20;
    tell(computation, 0, EVENT_SEND, 990, 5, 5);
    computation->now += 50;
    computation->stream[0].cpu = 30;
    tell(computation, 0, EVENT_RECEIVE, 990, 0, 5); /* of a process whose recording has ended */
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->outside.count, 0);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 30);
    parallelism_free(parallelism);
}

/* If data was queued for a busy receiver, the data waited for the receiver, not the receiver for the data. */
static void an_answer_waits_itself(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    add_internet(&computation->tape, computation->now, 990, PATH_TCP, 1, 1, 9, 2);
    computation->stream[0].cpu = 10;
    tell(computation, 0, EVENT_SEND, 990, 0, 5);
    struct record *queued = add_message(&computation->tape, computation->now += 50,
                                        EVENT_MESSAGEQUEUED, 0, 0, 990, 0, 5);
    queued->header.flags = RECORD_NO_STREAM;
    computation->now += 5000;
    computation->stream[0].cpu = 4000; /* not all the time: it was preempted */
    tell(computation, 0, EVENT_RECEIVE, 990, 0, 5);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->outside.count, 1);
    assert_int_equal(parallelism->outside.time, 50);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 4000);
    parallelism_free(parallelism);
}

/* What is told of answers while the history is read. */
struct listener {
    const struct parallelism_analysis *analysis;
    uint64_t sent, received; /* numbers of the events of the latest one */
    uint64_t time;
    unsigned count;
};

static int listen_for_answers(void *self, const struct history_event *event,
                              struct problem *problem)
{
    struct listener *listener = self;
    struct outside_arc arc;

    (void)problem;
    if (!parallelism_answers(listener->analysis, &arc))
        return 0;
    assert_int_equal(event->event.header->id, EVENT_RECEIVE);
    listener->sent = arc.from;
    listener->received = event->number;
    listener->time = arc.time;
    listener->count++;
    return 0;
}

/* Each arc of an answer is told of, with its events, when its RECEIVE is added. */
static void answers_are_told_of(void **state)
{
    struct computation *computation = *state;
    const struct parallelism_options options = plain_options();
    struct source *source = &computation->tape.source;
    struct history *history = NULL;
    struct parallelism_analysis *analysis = NULL;
    struct listener listener = {0};
    struct problem problem = {""};

    begin(computation, 1);
    add_internet(&computation->tape, computation->now, 990, PATH_TCP, 1, 1, 9, 2);
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    tell(computation, 0, EVENT_SEND, 990, 0, 5);
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    tell(computation, 0, EVENT_RECEIVECALL, 990, 0, 0);
    computation->now += 499;
    tell(computation, 0, EVENT_RECEIVE, 990, 0, 5);
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    computation->tape.at = 0;
    computation->tape.source.states = &computation->tape.state;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(parallelism_new(history, &options, &analysis, &problem), 0);
    listener.analysis = analysis;
    const struct analysis reads[] = {parallelism_analysis(analysis),
                                     {"a listener", &listener, listen_for_answers}};
    assert_int_equal(analyses_read_all(history, reads, 2, &problem), 0);
    assert_int_equal(listener.count, 1);
    assert_int_equal(listener.received - listener.sent, 3);
    assert_in_range(listener.time, 499, 503);
    parallelism_analysis_free(analysis);
    history_free(history);
}

/* The ptrace meter records a wait when it is over. */
static void a_wait_is_told_when_it_is_over(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    for (uint32_t i = 0; i < 3; i++) {
        computation->now += 50000;
        computation->stream[0].cpu += 10;
        tell(computation, 0, EVENT_RECEIVECALL, 0, 7, 0)->message.span = 49000;
    }
    computation->now += 100;
    tell(computation, 0, EVENT_EXEC, 0, 0, 0);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 3);
    assert_in_range(longest(parallelism, 0, STEP_MAX), 3 * 49000, 3 * 50200);
    parallelism_free(parallelism);
}

/* A waits for B, but times out, and computes before it receives what has come since. */
static void a_wait_in_vain(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    wait_for(computation, 0, 1, 7);
    computation->now += 50000000;
    send_to(computation, 1, 0, 20000000, 8);
    computation->now += 60000000;
    receive(computation, 0, 1, 80000000, 8, false);
    struct parallelism *parallelism = ask(computation, &options);
    uint64_t slept = 110000000 - 80000000;
    assert_int_equal(parallelism->asleep.count, 1);
    assert_in_range(longest(parallelism, 0, STEP_MAX), 7 + slept + 80000000, 7 + slept + 80000010);
    assert_in_range(longest(parallelism, 0, STEP_SHARING), 7 + slept + 80000000,
                    7 + slept + 80000010);
    parallelism_free(parallelism);
}

/* A stream that is older than the recording and outlives it, as identities show. */
static void older_and_younger(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    for (unsigned tells = 0; tells < 2; tells++) {
        begin(computation, 1);
        if (!tells)
            leave_out(computation, EVENT_TERMINATION);
        tell_identity(computation, 9, 1000);
        add_event(&computation->tape, computation->now += 500, EVENT_EXEC, 9, 0)
            ->header.proc_time_and_pc = 1300;
        add_event(&computation->tape, computation->now += 500, EVENT_EXEC, 9, 1)
            ->header.proc_time_and_pc = 1400;
        tell_identity(computation, 9, 1450);
        computation->now += 500;
        tell_identity(computation, 9, 1900);
        struct parallelism *parallelism = ask(computation, &options);
        assert_int_equal(parallelism->total, tells ? 900 : 100);
        assert_int_equal(parallelism->streams, 2);
        assert_int_equal(longest(parallelism, 0, STEP_MAX), tells ? 900 : 100);
        assert_int_equal(longest(parallelism, 0, STEP_SHARING), tells ? 900 : 100);
        parallelism_free(parallelism);
        tape_done(&computation->tape);
    }
    begin(computation, 1); /* freed by the teardown */
}

/* A stream that computes all the time without any event, as identities show at the beginning and the end. */
static void without_any_event(void **state)
{
    struct computation *computation = *state;

    for (unsigned threads = 0; threads < 2; threads++) {
        struct parallelism_options options = plain_options();
        options.threads = threads != 0;
        begin(computation, 1);
        tell_identity(computation, 9, 1000);
        tell_identity(computation, 10, 5000);
        run_on(computation, 0, 400);
        tell_identity(computation, 9, 1700);
        tell_identity(computation, 10, 5000); /* idle */
        tell_identity(computation, 9, 1900);
        struct parallelism *parallelism = ask(computation, &options);
        assert_int_equal(parallelism->total, 400 + 900);
        assert_int_equal(parallelism->streams, 2);
        assert_int_equal(longest(parallelism, 0, STEP_MAX), 900);
        assert_int_equal(longest(parallelism, 0, STEP_SHARING), 900);
        assert_int_equal(longest(parallelism, 1, STEP_SHARING), 400 + 900); /* one machine */
        parallelism_free(parallelism);
        tape_done(&computation->tape);
    }
    begin(computation, 1); /* freed by the teardown */
}

/* Stopped by a signal: if it is awake, that counts as elapsed time; during a wait it is part of the wait. */
static void stopped_for_a_while(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 2);
    stop_for(computation, 0, 10, 1000);
    run_on(computation, 0, 20);
    wait_for(computation, 0, 1, 7);
    tell(computation, 0, EVENT_STOPPROCESS, 0, 0, 0);
    computation->now += 3000;
    tell(computation, 0, EVENT_STARTPROCESS, 0, 0, 0);
    send_to(computation, 1, 0, 5000, 8);
    receive(computation, 0, 1, 3, 8, false);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 1);
    assert_int_equal(parallelism->asleep.time, 1001);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 5000 + 3);
    parallelism_free(parallelism);
    options.messages_only = true;
    parallelism = ask(computation, &options);
    assert_int_equal(parallelism->asleep.count, 0);
    parallelism_free(parallelism);
}

/* A process as one stream: time when two threads sleep at once passes once. */
static void threads_sleep_at_once(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();
    const uint32_t process = 0;
    uint64_t began;

    begin_threads(computation, 2, 1, &process, true);
    create(computation, 0, 1, true, 10);
    run_on(computation, 1, 5);
    began = computation->now;
    block(computation, 0, CALL_SLEEP, 10000);
    computation->now -= 9000; /* the other one began when this one had slept for about 1,000 */
    block(computation, 1, CALL_SLEEP, 10000);
    uint64_t elapsed = computation->now - began;
    options.threads = false;
    struct parallelism *parallelism = ask(computation, &options);
    assert_in_range(longest(parallelism, 0, STEP_MAX), elapsed, elapsed + 15);
    assert_in_range(longest(parallelism, 0, STEP_SHARING), elapsed, elapsed + 15);
    parallelism_free(parallelism);
}

/* A process is one stream, even if its first thread ends before anything of the other is recorded. */
static void a_late_thread(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();
    const uint32_t process = 0;

    begin_threads(computation, 2, 1, &process, true);
    create(computation, 0, 1, true, 10);
    terminate(computation, 0, 20);
    run_on(computation, 1, 40);
    is_as_naive(computation);
    options.threads = false;
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(parallelism->streams, 1);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 70);
    parallelism_free(parallelism);
}

/* While a thread waits for an answer, another thread of its process finds the end of file: the wait began where the
 * first one's had begun. */
static void the_end_of_a_waiting_thread(void **state)
{
    struct computation *computation = *state;
    const uint32_t processes[] = {0, 0};

    begin_threads(computation, 2, 2, processes, true);
    send_to(computation, 0, 1, 10, 1);
    wait_for(computation, 0, NOBODY, 20);
    receive(computation, 1, 0, 3, 1, false);
    receive_end(computation, 1, 0, 100);
    computation->now += 5000;
    run_on(computation, 0, 7);
    is_as_naive(computation);
}

/* A child's first event is its waking from a sleep: its creation does not explain the sleep. */
static void a_child_sleeps_first(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();
    const uint32_t process = 0;

    begin_threads(computation, 2, 1, &process, false);
    create(computation, 0, 1, false, 10);
    block_in(computation, 1, 3, CALL_SLEEP, 1000);
    is_as_naive(computation);
    struct parallelism *parallelism = ask(computation, &options);
    assert_int_equal(longest(parallelism, 0, STEP_MAX), 1013);
    parallelism_free(parallelism);
}

/* ---- which senders wait at once for the answer ---- */

static void assert_turns(const struct parallelism *parallelism, uint32_t process, uint64_t count,
                         uint64_t synchronous)
{
    assert_int_equal(parallelism->processes[process].turns.count, count);
    assert_int_equal(parallelism->processes[process].turns.synchronous, synchronous);
}

/* B answers two requests; A sends the second before it has the first answer, or after. A third request goes to B
 * while A works. */
static void two_requests(struct computation *computation, bool at_once)
{
    begin(computation, 2);
    send_to(computation, 0, 1, 10, 1);
    if (at_once)
        send_to(computation, 0, 1, 10, 1);
    receive(computation, 1, 0, 10, 1, false);
    send_to(computation, 1, 0, 100, 1);
    if (!at_once) {
        wait_for(computation, 1, 0, 10);
        receive(computation, 0, 1, 10, 1, false);
        send_to(computation, 0, 1, 10, 1);
    }
    receive(computation, 1, 0, 10, 1, false);
    send_to(computation, 1, 0, 100, 1);
    receive(computation, 0, 1, 10, 1, false);
    if (at_once)
        receive(computation, 0, 1, 10, 1, false);
    send_to(computation, 0, 1, 10, 1);
    run_on(computation, 0, 1000000);
    receive(computation, 1, 0, 10, 1, false);
    send_to(computation, 1, 0, 100, 1);
    receive(computation, 0, 1, 10, 1, false);
}

static void who_waits_for_an_answer(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    two_requests(computation, false);
    struct parallelism *parallelism = ask(computation, &options);
    assert_turns(parallelism, 0, 3, 2);
    assert_turns(parallelism, 1, 2, 2);
    parallelism_free(parallelism);
}

/* The next request was there before the answer to the first was sent. */
static void who_has_a_queue_does_not(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    two_requests(computation, true);
    struct parallelism *parallelism = ask(computation, &options);
    assert_turns(parallelism, 0, 2, 1);
    assert_turns(parallelism, 1, 2, 1);
    parallelism_free(parallelism);
}

/* For an unmonitored peer, a wait for the answer shows it. */
static void who_waits_for_somebody_outside(void **state)
{
    struct computation *computation = *state;
    struct parallelism_options options = plain_options();

    begin(computation, 1);
    ask_outside(computation, 0, 10, 1);
    hear_outside(computation, 0, 10, 1);
    ask_outside(computation, 0, 10, 1);
    wait_for(computation, 0, NOBODY, 10);
    hear_outside(computation, 0, 10, 1);
    struct parallelism *parallelism = ask(computation, &options);
    assert_turns(parallelism, 0, 2, 1);
    parallelism_free(parallelism);
}

/* ---- random computations ---- */

static bool is_near(uint64_t is, double wanted)
{
    return fabs((double)is - wanted) <= 2 + wanted * 1e-9;
}

static struct delay random_delay(uint64_t *seed)
{
    if (random_below(seed, 3) == 0)
        return (struct delay){0};
    return (struct delay){.points = {{0, (double)random_below(seed, 50000)},
                                     {50, 50000 + (double)random_below(seed, 50000)}},
                          .count = 1 + (uint32_t)random_below(seed, 2)};
}

/* Whether the analysis has the counts of the computation itself; prints differences. */
static bool counts_are(const struct parallelism *parallelism, const struct computation *computation,
                       bool messages_only)
{
    const struct {
        const char *what;
        uint64_t is, wanted;
    } counts[] = {
        {"messages", parallelism->messages, computation->messages},
        {"locks", parallelism->locks.count, computation->locks},
        {"other arcs", parallelism->other_arcs, messages_only ? 0 : computation->other_arcs},
        {"asleep", parallelism->asleep.count, messages_only ? 0 : computation->asleep_count},
        {"asleep, ns", parallelism->asleep.time, messages_only ? 0 : computation->asleep_time},
        {"outside", parallelism->outside.count, messages_only ? 0 : computation->outside_count},
        {"outside, ns", parallelism->outside.time, messages_only ? 0 : computation->outside_time},
    };
    bool right = true;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        right = right && counts[i].is == counts[i].wanted;
        if (counts[i].is != counts[i].wanted)
            fprintf(stderr, "# %s: %" PRIu64 ", not %" PRIu64 "\n", counts[i].what, counts[i].is,
                    counts[i].wanted);
    }
    return right;
}

/* t_max of each process, and what always holds for it (papers: t_proc,i <= t_max,i <= t_max); prints differences. */
static bool process_paths_are(const struct parallelism *parallelism, const struct world *world)
{
    uint64_t most = 0;
    bool right = parallelism->has_process_paths;

    for (uint32_t i = 0; i < parallelism->process_count; i++) {
        const struct parallelism_process *process = &parallelism->processes[i];
        double wanted = longest_path_of(world, (uint32_t)(process->name[0] - 'A'));
        bool fits = is_near(process->longest, wanted) &&
                    (process->streams > 1 || process->cpu <= process->longest);
        if (!fits)
            fprintf(stderr, "# t_max of %s: %" PRIu64 " (%.0f), CPU time %" PRIu64 "\n",
                    process->name, process->longest, wanted, process->cpu);
        right = right && fits;
        most = process->longest > most ? process->longest : most;
    }
    return right && most == longest(parallelism, 0, STEP_MAX);
}

static void compare(struct computation *computation, uint64_t seed)
{
    uint64_t first = seed;
    struct assigned_machine machines[MACHINES];
    struct assigned_process processes[STREAMS];
    struct assignment assignments[4] = {plain[0],
                                        plain[1],
                                        plain[2],
                                        {.name = "random",
                                         .kind = ASSIGNED,
                                         .machines = machines,
                                         .machine_count = MACHINES,
                                         .processes = processes,
                                         .process_count = STREAMS}};
    struct parallelism_options options = {
        .assignments = assignments,
        .assignment_count = 4,
        .threads = random_below(&seed, 2) == 0,
        .sharing = true,
        .appendix_a = true,
        .messages_only = random_below(&seed, 2) == 0,
        .delays = {.local = random_delay(&seed), .remote = random_delay(&seed)},
    };

    make(computation, !options.threads, &seed);
    for (uint32_t i = 0; i < MACHINES; i++)
        machines[i] = (struct assigned_machine){.cores = 1 + (uint32_t)random_below(&seed, 3),
                                                .speed = (double)(1 + random_below(&seed, 4)) / 2};
    for (uint32_t i = 0; i < STREAMS; i++)
        processes[i] =
            (struct assigned_process){{(char)('A' + i)}, (uint32_t)random_below(&seed, MACHINES)};
    for (uint32_t i = 0; i < 3; i++)
        assignments[i].cores = (uint32_t)random_below(&seed, 3);
    struct parallelism *parallelism = ask(computation, &options);
    uint64_t total = 0;
    for (uint32_t i = 0; i < computation->streams; i++)
        total += computation->stream[i].cpu;
    bool right =
        parallelism->total == total && counts_are(parallelism, computation, options.messages_only);
    for (uint32_t a = 0; a < 4; a++) {
        struct world world = {.computation = computation,
                              .delays = &options.delays,
                              .messages_only = options.messages_only};
        for (uint32_t i = 0; i < STREAMS; i++) {
            world.machine[i] = a == 0 ? i : a == 1 ? 0 : a == 2 ? i / 2 : processes[i].machine;
            world.cores[i] = a < 3          ? (assignments[a].cores == 0 ? 1 : assignments[a].cores)
                             : i < MACHINES ? machines[i].cores
                                            : 1;
            world.speed[i] = a == 3 && i < MACHINES ? machines[i].speed : 1;
        }
        world.free = true;
        right = right && is_near(longest(parallelism, a, STEP_MAX), longest_path(&world));
        right = right && (a > 0 || process_paths_are(parallelism, &world));
        world.free = false;
        /* speeds: each interval is rounded */
        right = right && fabs((double)longest(parallelism, a, STEP_DELAY) - longest_path(&world)) <=
                             2 + (a == 3 ? STREAMS * STEPS : 0);
        right = right && is_near(longest(parallelism, a, STEP_SHARING), simulate(&world));
        /* sharing a processor makes no weight less */
        right = right && longest(parallelism, a, STEP_APPENDIX_A) + 2 + STREAMS * STEPS >=
                             longest(parallelism, a, STEP_DELAY);
        if (!right)
            print_steps(computation);
        if (!right)
            fail_msg("DPM_SEED=%" PRIu64 ", assignment %u: T %" PRIu64 " max %" PRIu64 " (%.0f) "
                     "delay %" PRIu64 " (%.0f) sharing %" PRIu64 " (%.3f)",
                     first, a, parallelism->total, longest(parallelism, a, STEP_MAX), 0.0,
                     longest(parallelism, a, STEP_DELAY), longest_path(&world),
                     longest(parallelism, a, STEP_SHARING), simulate(&world));
    }
    /* what always holds (papers: 1 <= P(max) <= streams; one machine computes T) */
    double factor = parallelism_factor(&parallelism->rows[0]);
    assert_true(total == 0 || factor <= computation->streams);
    assert_true(total == 0 || factor >= 1 ||
                computation->asleep_time + computation->outside_time > 0);
    assert_true(longest(parallelism, 0, STEP_MAX) >= parallelism->largest);
    if (assignments[1].cores <= 1)
        assert_true(longest(parallelism, 1, STEP_SHARING) >= total);
    parallelism_free(parallelism);
    tape_done(&computation->tape);
}

#define COMPUTATIONS 2000

static void as_the_naive_algorithms(void **state)
{
    uint64_t seed = seed_of_run("parallelism");

    for (uint64_t i = 0; i < rounds_of_run(COMPUTATIONS); i++)
        compare(*state, getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed));
    begin(*state, 1); /* for teardown */
}

static struct world world_of(const struct computation *computation, const struct delays *delays,
                             const uint32_t *machines)
{
    struct world world = {.computation = computation, .delays = delays};

    for (uint32_t i = 0; i < STREAMS; i++) {
        world.machine[i] = i < computation->processes ? machines[i] : 0;
        world.cores[i] = world.speed[i] = 1;
    }
    return world;
}

/* The best assignment, by trying all on two machines. */
static double best_of_all(const struct computation *computation, const struct delays *delays)
{
    double best = INFINITY;

    for (uint32_t all = 0; all < 1u << computation->processes; all++) {
        uint32_t machines[STREAMS];
        for (uint32_t i = 0; i < computation->processes; i++)
            machines[i] = all >> i & 1;
        struct world world = world_of(computation, delays, machines);
        double longest = simulate(&world);
        best = longest < best ? longest : best;
    }
    return best;
}

/* Appendix A: as printed, on any machines; and where it must agree with sharing in elapsed time. */
static void as_appendix_a(void **state)
{
    struct computation *computation = *state;
    uint64_t seed = seed_of_run("appendix A");
    const uint32_t together[STREAMS] = {0}, apart[STREAMS] = {0, 1, 2, 3, 4, 5},
                   pairs[STREAMS] = {0, 0, 1, 1, 2, 2};
    const uint32_t *const machines[] = {apart, together, pairs};
    uint32_t differ = 0;

    for (int i = 0; i < 500; i++) {
        uint64_t first = seed;
        struct parallelism_options options = plain_options();
        options.appendix_a = true;
        if (random_below(&seed, 2) == 0)
            options.delays.remote = random_delay(&seed);
        make_plain(computation, &seed);
        struct parallelism *parallelism = ask(computation, &options);
        for (uint32_t a = 0; a < ARRAY_SIZE(machines); a++) {
            struct world world = world_of(computation, &options.delays, machines[a]);
            uint64_t appendix = longest(parallelism, a, STEP_APPENDIX_A);
            bool agrees = is_near(appendix, (double)longest(parallelism, a, STEP_SHARING));
            if (!is_near(appendix, reweight(&world)) || (machines[a] != pairs && !agrees))
                fail_msg(
                    "DPM_SEED=%" PRIu64 ", assignment %u: %" PRIu64 " (%.0f), sharing %" PRIu64,
                    first, a, appendix, reweight(&world), longest(parallelism, a, STEP_SHARING));
            differ += !agrees;
        }
        parallelism_free(parallelism);
        tape_done(&computation->tape);
    }
    assert_true(differ > 0);
    begin(computation, 1);
}

/* The result is an assignment, as long as reported, and never below the bound. */
static void a_good_assignment(void **state)
{
    struct computation *computation = *state;
    uint64_t seed = seed_of_run("search");
    const struct assignment assignment = {.name = "search", .kind = SEARCHED, .per_machine = 2};
    uint32_t optimal = 0;

    for (int i = 0; i < 100; i++) {
        uint64_t first = seed;
        struct parallelism_options options = {
            .assignments = &assignment,
            .assignment_count = 1,
            .threads = true,
            .sharing = true,
            .delays = {.local = random_delay(&seed), .remote = random_delay(&seed)},
        };
        if (random_below(&seed, 2) == 0)
            make_plain(computation, &seed);
        else
            make(computation, false, &seed);
        struct parallelism *parallelism = ask(computation, &options);
        const struct parallelism_search *search = &parallelism->searches[0];
        struct world world = world_of(computation, &options.delays, search->machines);
        double best = best_of_all(computation, &options.delays);
        bool right = parallelism->search_count == 1 && is_near(search->longest, simulate(&world)) &&
                     longest(parallelism, 0, STEP_SHARING) == search->longest &&
                     is_near(longest(parallelism, 0, STEP_DELAY), longest_path(&world)) &&
                     (double)search->bound <= best + 2 && (double)search->longest >= best - 2;
        if (!right)
            fail_msg("DPM_SEED=%" PRIu64 ": %" PRIu64 " (%.1f), bound %" PRIu64 ", best %.1f",
                     first, search->longest, simulate(&world), search->bound, best);
        optimal += (double)search->longest <= best + 2;
        parallelism_free(parallelism);
        tape_done(&computation->tape);
    }
    assert_true(optimal >= 80); /* of 100: a good heuristic */
    begin(computation, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPUTATION_TEST(sharing_is_in_elapsed_time),
        COMPUTATION_TEST(nothing_in_common),
        COMPUTATION_TEST(messages_take_time),
        COMPUTATION_TEST(outside_takes_elapsed_time),
        COMPUTATION_TEST(answers_are_told_of),
        COMPUTATION_TEST(pieces_of_an_answer_are_one_wait),
        COMPUTATION_TEST(sleeping_is_an_arc),
        COMPUTATION_TEST(a_path_is_met_in_a_wait),
        COMPUTATION_TEST(nothing_comes_by_a_path),
        COMPUTATION_TEST(an_identity_comes_early),
        COMPUTATION_TEST(creation_and_end),
        COMPUTATION_TEST(a_part_of_it),
        COMPUTATION_TEST(threads_or_processes),
        COMPUTATION_TEST(a_full_pipe),
        COMPUTATION_TEST(an_old_message),
        COMPUTATION_TEST(an_answer_waits_itself),
        COMPUTATION_TEST(a_wait_is_told_when_it_is_over),
        COMPUTATION_TEST(a_wait_in_vain),
        COMPUTATION_TEST(an_end_of_file_that_is_waited_for),
        COMPUTATION_TEST(timers_sleep_in_their_own_state),
        COMPUTATION_TEST(a_lock_within_a_wait),
        COMPUTATION_TEST(wakeups_are_arcs),
        COMPUTATION_TEST(a_wakeup_within_a_wait),
        COMPUTATION_TEST(a_wakeup_of_the_wait_before),
        COMPUTATION_TEST(a_wakeup_after_the_end),
        COMPUTATION_TEST(a_question_of_long_ago),
        COMPUTATION_TEST(without_any_event),
        COMPUTATION_TEST(stopped_for_a_while),
        COMPUTATION_TEST(threads_sleep_at_once),
        COMPUTATION_TEST(older_and_younger),
        COMPUTATION_TEST(a_late_thread),
        COMPUTATION_TEST(the_end_of_a_waiting_thread),
        COMPUTATION_TEST(a_child_sleeps_first),
        COMPUTATION_TEST(who_waits_for_an_answer),
        COMPUTATION_TEST(who_has_a_queue_does_not),
        COMPUTATION_TEST(who_waits_for_somebody_outside),
        COMPUTATION_TEST(as_the_naive_algorithms),
        COMPUTATION_TEST(as_appendix_a),
        COMPUTATION_TEST(a_good_assignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
