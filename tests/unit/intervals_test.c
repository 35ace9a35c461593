/* SPDX-License-Identifier: MIT */
/*
 * intervals_test.c: what was sent in each interval by machines whose clocks differ, against a plain count of the same
 * sends.
 *
 *      sends at true times, by the clock of each machine --> history --> statistics --> intervals
 *                          '--> counted one by one, by the true time ---------------'
 *
 * Clock offsets come from messages in both directions between the first machine and each other one, at the end only.
 * Messages of an unmonitored peer are counted where they are received.
 */
#include "analysis/statistics/statistics.h"

#include "tapes.h"

#include <inttypes.h>
#include <stddef.h>

#define MACHINES 3
#define SENDS    2000
#define BOOT     1000000000000000ULL /* true time of the first record */
#define DELAY    1000ULL             /* ns that a message between machines takes */

struct send {
    uint64_t when; /* true time */
    uint32_t machine;
    uint32_t bytes;
    bool by_a_stranger;
};

struct world {
    uint64_t seed;
    int64_t offsets[MACHINES]; /* ns to add to a machine's time to get the true time */
    struct tape tapes[MACHINES];
    uint32_t sequences[MACHINES];
    struct send sends[SENDS];
    struct communication *result;
};

/* ---- recordings ---- */

static uint64_t own_time(const struct world *world, uint32_t machine, uint64_t when)
{
    return when - (uint64_t)world->offsets[machine];
}

static void tell_message(struct world *world, uint32_t machine, uint64_t when, enum event_id id,
                         uint32_t path, uint32_t offset, uint32_t bytes)
{
    add_message(&world->tapes[machine], own_time(world, machine, when), id, 1,
                world->sequences[machine]++, path, offset, bytes);
}

/* Path 1 leads to an unmonitored peer. Path 1 + i of the first machine and path 2 of machine i are one connection. */
static void begin_machine(struct world *world, uint32_t machine)
{
    struct tape *tape = &world->tapes[machine];
    uint64_t time = own_time(world, machine, BOOT);
    uint8_t host = (uint8_t)(machine + 1);

    tape_init(tape);
    add_machine(tape, time, host, UINT32_MAX);
    add_stream(tape, time, 1, 1, 0);
    add_internet(tape, time, 1, PATH_TCP, host, 4000, 99, 80);
    for (uint8_t i = 1; machine == 0 && i < MACHINES; i++)
        add_internet(tape, time, 1u + i, PATH_TCP, host, 5000, (uint8_t)(i + 1), 80);
    if (machine > 0)
        add_internet(tape, time, 2, PATH_TCP, host, 80, 1, 5000);
}

/* Sends a message each way between the first machine and another one: 16 bytes in all. */
static uint64_t exchange(struct world *world, uint32_t machine, uint64_t when)
{
    tell_message(world, 0, when, EVENT_SEND, 1 + machine, 0, 8);
    tell_message(world, machine, when + DELAY, EVENT_RECEIVE, 2, 0, 8);
    tell_message(world, machine, when + 2 * DELAY, EVENT_SEND, 2, 0, 8);
    tell_message(world, 0, when + 3 * DELAY, EVENT_RECEIVE, 1 + machine, 0, 8);
    return when + 4 * DELAY;
}

static int64_t some_hours(struct world *world)
{
    return (int64_t)random_below(&world->seed, 200000) * 1000000000 - 100000000000000;
}

/* `step`: most ns between two sends. `apart`: the clocks differ. */
static void begin(struct world *world, uint64_t seed, uint64_t step, uint32_t machines, bool apart)
{
    uint64_t when = BOOT + 1 + random_below(&seed, 100 * step);

    memset(world, 0, sizeof(*world));
    world->seed = seed;
    for (uint32_t i = 0; i < machines; i++) {
        world->offsets[i] = i == 0 || !apart ? 0 : some_hours(world);
        begin_machine(world, i);
        world->tapes[i].wall_offset = apart ? some_hours(world) : 0;
    }
    for (uint32_t i = 0; i < SENDS; i++)
        world->sends[i] = (struct send){
            .when = when += random_below(&world->seed, step),
            .machine = (uint32_t)random_below(&world->seed, machines),
            .bytes = 1 + (uint32_t)random_below(&world->seed, 1000),
            .by_a_stranger = random_below(&world->seed, 3) == 0,
        };
}

static void tell_sends(struct world *world)
{
    uint32_t offsets[MACHINES][2] = {{0}};

    for (uint32_t i = 0; i < SENDS; i++) {
        const struct send *send = &world->sends[i];
        uint32_t *offset = &offsets[send->machine][send->by_a_stranger];
        tell_message(world, send->machine, send->when,
                     send->by_a_stranger ? EVENT_RECEIVE : EVENT_SEND, 1, *offset, send->bytes);
        *offset += send->bytes;
    }
}

static void read_all(struct world *world, uint32_t machines, uint64_t every)
{
    struct source *sources[MACHINES];
    struct history *history;
    struct problem problem;

    for (uint32_t i = 0; i < machines; i++)
        sources[i] = &world->tapes[i].source;
    assert_int_equal(history_new(sources, machines, &history, &problem), 0);
    assert_int_equal(communication_read_history(history, machines, every, &world->result, &problem),
                     0);
    history_free(history);
    assert_true(world->result->interval_count <= MOST_INTERVALS);
}

static void done(struct world *world, uint32_t machines)
{
    communication_free(world->result);
    for (uint32_t i = 0; i < machines; i++)
        tape_done(&world->tapes[i]);
}

/* ---- a plain count ---- */

/* Number of sends before a true time. */
static uint64_t sent_before(const struct world *world, uint64_t when)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < SENDS; i++)
        count += world->sends[i].when < when;
    return count;
}

/* Checks the number of messages sent by the end of each interval; those within `near` ns of it may differ. */
static void expect_about(const struct world *world, uint64_t seed, uint64_t near)
{
    const struct communication *result = world->result;
    uint64_t end = BOOT + (uint64_t)result->interval_begin, sum = 0;

    for (size_t i = 0; i + 1 < result->interval_count; i++) {
        sum += result->intervals[i].messages;
        end += result->interval;
        if (end + near > world->sends[SENDS - 1].when)
            return; /* the messages after this are only for the clocks */
        if (sum < sent_before(world, end - near) || sum > sent_before(world, end + near))
            fail_msg("DPM_SEED=%" PRIu64 ": %" PRIu64 " were sent up to stretch %zu, not %" PRIu64,
                     seed, sum, i, sent_before(world, end));
    }
}

static void one_clock_counts_exactly(void **state)
{
    uint64_t first = seed_of_run("one_clock_counts_exactly");
    static struct world world;

    (void)state;
    for (uint64_t seed = first; seed < first + 50; seed++) {
        begin(&world, seed, 1000000, 1, false);
        tell_sends(&world);
        read_all(&world, 1, 1 + random_below(&world.seed, 10000000));
        expect_about(&world, seed, 0);
        done(&world, 1);
    }
}

/* Clock offsets from messages do not depend on the wall clocks. */
static void stretches_are_those_of_one_clock(void **state)
{
    uint64_t first = seed_of_run("stretches_are_those_of_one_clock");
    static struct world world;

    (void)state;
    for (uint64_t seed = first; seed < first + 50; seed++) {
        begin(&world, seed, 1000000, MACHINES, true);
        tell_sends(&world);
        uint64_t when = world.sends[SENDS - 1].when + 1;
        for (uint32_t i = 1; i < MACHINES; i++)
            when = exchange(&world, i, when);
        read_all(&world, MACHINES, 1000000 + random_below(&world.seed, 10000000));
        assert_in_range(world.result->duration, when - BOOT - 10 * DELAY, when - BOOT + 10 * DELAY);
        expect_about(&world, seed, world.result->interval / 16 + 10 * DELAY);
        done(&world, MACHINES);
    }
}

/* Without them only the wall clocks relate the machines; nothing is left out. */
static void clocks_are_never_known(void **state)
{
    uint64_t first = seed_of_run("clocks_are_never_known");
    static struct world world;

    (void)state;
    for (uint64_t seed = first; seed < first + 20; seed++) {
        uint64_t messages = 0, bytes = 0;
        begin(&world, seed, 1000000, MACHINES, true);
        tell_sends(&world);
        read_all(&world, MACHINES, 1000000000);
        for (size_t i = 0; i < world.result->interval_count; i++) {
            messages += world.result->intervals[i].messages;
            bytes += world.result->intervals[i].bytes;
        }
        assert_int_equal(messages, SENDS);
        assert_int_equal(bytes, world.result->remote.bytes);
        done(&world, MACHINES);
    }
}

/* A message counts once on a path with two metered ends, and on one connected to itself. */
static void received_by_who_is_metered(void **state)
{
    static struct world world;

    (void)state;
    for (uint32_t ends = 1; ends <= 2; ends++) {
        memset(&world, 0, sizeof(world));
        begin_machine(&world, 0);
        add_stream(&world.tapes[0], BOOT, 2, 2, 0);
        for (uint32_t end = 1; end <= ends; end++)
            add_unix(&world.tapes[0], BOOT, 10 + end, PATH_UNIX_STREAM, 10 + end, 11 + ends - end);
        for (uint32_t i = 0; i < 100; i++) {
            tell_message(&world, 0, BOOT + 20 * i + 10, EVENT_SEND, 11, 10 * i, 10);
            add_message(&world.tapes[0], BOOT + 20 * i + 20, EVENT_RECEIVE, 2, i, 10 + ends, 10 * i,
                        10);
        }
        read_all(&world, 1, 1000000);
        assert_int_equal(world.result->interval_count, 1);
        assert_int_equal(world.result->intervals[0].messages, 100);
        assert_int_equal(world.result->intervals[0].bytes, 1000);
        done(&world, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_clock_counts_exactly),
        cmocka_unit_test(stretches_are_those_of_one_clock),
        cmocka_unit_test(clocks_are_never_known),
        cmocka_unit_test(received_by_who_is_metered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
