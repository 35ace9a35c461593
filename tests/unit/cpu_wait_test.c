/* SPDX-License-Identifier: MIT */
/*
 * cpu_wait_test.c: how long a thread was awake without a CPU at the end of its waits, against a thread of which the truth
 * is known.
 *
 *      event   runs, perhaps waits for a CPU   sleeps         no CPU      event
 *        o=====....=======================o~~~~~~~~~~~~~~~~~~.........SCHEDULE BLOCK
 *                                         |------------ duration -------------|
 */
#include "event/cpu_wait.h"

#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000u

static uint64_t seed;

/* ---- a thread, and what the kernel meter records of it ---- */

struct thread {
    struct cpu_wait wait;
    uint64_t now;      /* ns */
    uint64_t runnable; /* ns that it has waited for CPUs */
    uint64_t told;     /* ... as its latest SCHEDULE says */
};

static void tell_schedule(struct thread *thread, bool from_birth)
{
    struct record schedule = {.header = {.id = EVENT_SCHEDULE, .stream = 7, .time = thread->now}};

    schedule.schedule.runnable = thread->runnable;

    cpu_wait_schedule(&thread->wait, &schedule, from_birth);
    thread->told = thread->runnable;
}

/* It has no CPU, and then one: the meter makes a SCHEDULE if it has waited for 1 ms or more since the last one. */
static void lack_cpu(struct thread *thread, uint64_t time)
{
    thread->now += time;
    thread->runnable += time;
    if (thread->runnable - thread->told >= MS)
        tell_schedule(thread, true);
}

static struct no_cpu end_event(struct thread *thread, uint16_t id, uint64_t duration)
{
    struct record record = {.header = {.id = id, .stream = 7, .time = thread->now}};

    if (id == EVENT_BLOCK)
        record.block.duration = duration;
    return cpu_wait_take(&thread->wait, &record);
}

/* 0, a bit, or more than the meter's 1 ms */
static uint64_t some_time(void)
{
    const uint64_t most[] = {1, MS / 2, 3 * MS, 100 * MS};

    return random_below(&seed, most[random_below(&seed, ARRAY_SIZE(most))]);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* ---- properties ---- */

/* What is said of a wait is within 1 ms of the truth, for any load; all waits together are never said to be longer than they were. */
static void waits_are_split_to_a_millisecond(void **state)
{
    (void)state;
    seed = seed_of_run("split");
    for (unsigned round = 0; round < 300; round++) {
        struct thread thread = {.now = 1 + some_time()};
        uint64_t lacked = 0, said = 0;
        end_event(&thread, EVENT_SEND, 0);
        for (unsigned i = 0; i < 100; i++) {
            uint64_t began = thread.now, before = some_time(), at_end = some_time();
            thread.now += some_time(); /* it runs */
            lack_cpu(&thread, before);
            uint64_t asleep = thread.now;
            thread.now += some_time();
            lack_cpu(&thread, at_end);
            struct no_cpu is = end_event(&thread, EVENT_BLOCK, thread.now - asleep);
            lacked += before + at_end;
            said += is.time;
            assert_true(distance(is.of_block, at_end) <= MS);
            assert_true(is.of_block <= is.time);
            assert_true(is.time <= thread.now - began);
            assert_true(said <= lacked);
        }
    }
}

/* The same sleep counts as the same, whether or not other programs delay its end. */
static void sleep_does_not_depend_on_the_load(void **state)
{
    (void)state;
    seed = seed_of_run("load");
    for (unsigned round = 0; round < 1000; round++) {
        struct thread quiet = {.now = MS}, busy = {.now = MS};
        uint64_t sleep = some_time(), load = MS + some_time();
        end_event(&quiet, EVENT_SEND, 0);
        end_event(&busy, EVENT_SEND, 0);
        quiet.now += sleep;
        busy.now += sleep;
        lack_cpu(&busy, load);
        struct no_cpu is = end_event(&quiet, EVENT_BLOCK, sleep);
        struct no_cpu beside = end_event(&busy, EVENT_BLOCK, sleep + load);
        assert_int_equal(is.of_block, 0);
        assert_int_equal(sleep + load - beside.of_block, sleep);
    }
}

/* Counts and durations that contradict each other, as a foreign trace may have them: no part is longer than its whole. */
static void any_records_are_bounded(void **state)
{
    (void)state;
    seed = seed_of_run("any");
    for (unsigned round = 0; round < 1000; round++) {
        struct thread thread = {0};
        uint64_t latest = 0;
        for (unsigned i = 0; i < 50; i++) {
            thread.now += some_time();
            thread.runnable = some_time();
            if (random_below(&seed, 2) == 0) {
                tell_schedule(&thread, random_below(&seed, 2) == 0);
                continue;
            }
            bool blocks = random_below(&seed, 2) == 0;
            uint64_t duration = some_time();
            struct no_cpu is = end_event(&thread, blocks ? EVENT_BLOCK : EVENT_RECEIVE, duration);
            assert_true(is.of_block <= (blocks ? duration : 0));
            assert_true(is.time <= thread.now - latest);
            latest = thread.now;
        }
    }
}

/* ---- examples ---- */

/* Before the recording saw it, a thread may have waited for hours. */
static void the_first_schedule_of_an_older_thread_says_nothing(void **state)
{
    struct thread thread = {.now = 100 * MS, .runnable = 80 * MS};

    (void)state;
    tell_schedule(&thread, false);
    assert_int_equal(end_event(&thread, EVENT_BLOCK, 100 * MS).time, 0);
    thread.now += 10 * MS;
    lack_cpu(&thread, 5 * MS);
    assert_int_equal(end_event(&thread, EVENT_BLOCK, 15 * MS).of_block, 5 * MS);
}

/* Preempted before it fell asleep: no part of the BLOCK. */
static void what_was_before_a_block_is_none_of_it(void **state)
{
    struct thread thread = {.now = MS};

    (void)state;
    end_event(&thread, EVENT_SEND, 0);
    lack_cpu(&thread, 20 * MS);
    thread.now += 30 * MS;
    struct no_cpu is = end_event(&thread, EVENT_BLOCK, 30 * MS);
    assert_int_equal(is.time, 20 * MS);
    assert_int_equal(is.of_block, 0);
}

/* ---- of all threads ---- */

static struct no_cpu note(struct cpu_waits *waits, uint32_t origin, const struct record *record)
{
    const struct event event = {.header = &record->header, .origin = origin};

    return cpu_waits_note(waits, &event);
}

/* Each as if it were alone, as long as there are not more than are kept. */
static void threads_are_apart(void **state)
{
    enum { THREADS = 100 };
    static struct cpu_waits waits;
    static struct thread threads[THREADS];

    (void)state;
    seed = seed_of_run("apart");
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t stream = (uint32_t)random_below(&seed, THREADS);
        struct thread *thread = &threads[stream];
        bool is_schedule = random_below(&seed, 2) == 0;
        struct record record = {
            .header = {.id = is_schedule ? EVENT_SCHEDULE : EVENT_BLOCK, .stream = stream + 1}};
        thread->now += some_time();
        thread->runnable += some_time();
        record.header.time = thread->now;
        if (is_schedule)
            record.schedule.runnable = thread->runnable;
        else
            record.block.duration = some_time();
        struct no_cpu is = note(&waits, 1, &record);
        if (is_schedule) {
            assert_int_equal(is.time + is.of_block, 0);
            cpu_wait_schedule(&thread->wait, &record, thread->wait.time != 0);
            continue;
        }
        struct no_cpu alone = cpu_wait_take(&thread->wait, &record);
        assert_int_equal(is.time, alone.time);
        assert_int_equal(is.of_block, alone.of_block);
    }
}

/* A thread that takes another one's place knows nothing of it, and neither do records of no thread. */
static void nothing_is_taken_from_another(void **state)
{
    static struct cpu_waits waits;
    struct record event = {.header = {.id = EVENT_SEND, .stream = 1, .time = MS}};
    struct record schedule = {.header = {.id = EVENT_SCHEDULE, .stream = 1, .time = 9 * MS}};
    struct record block = {.header = {.id = EVENT_BLOCK, .stream = 1, .time = 10 * MS}};

    (void)state;
    schedule.schedule.runnable = 5 * MS;
    block.block.duration = 9 * MS;
    note(&waits, 1, &event);
    note(&waits, 1, &schedule);
    struct record lost = {.header = {.id = EVENT_LOST, .stream = 1, .time = 9 * MS}};
    assert_int_equal(note(&waits, 1, &lost).time, 0);
    block.header.stream = 1 + CPU_WAITS_SIZE;
    assert_int_equal(note(&waits, 1, &block).time, 0);
    block.header.stream = 0;
    assert_int_equal(note(&waits, 1, &block).time, 0);
    block.header.stream = 1;
    assert_int_equal(note(&waits, 1, &block).time, 0); /* forgotten: sleep, not another's wait */

    note(&waits, 1, &event);
    note(&waits, 1, &schedule);
    assert_int_equal(note(&waits, 2, &block).time, 0); /* of another machine */
    assert_int_equal(note(&waits, 1, &lost).time, 0);
    assert_int_equal(note(&waits, 1, &block).of_block, 5 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_split_to_a_millisecond),
        cmocka_unit_test(sleep_does_not_depend_on_the_load),
        cmocka_unit_test(any_records_are_bounded),
        cmocka_unit_test(the_first_schedule_of_an_older_thread_says_nothing),
        cmocka_unit_test(what_was_before_a_block_is_none_of_it),
        cmocka_unit_test(threads_are_apart),
        cmocka_unit_test(nothing_is_taken_from_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
