/* SPDX-License-Identifier: MIT */
/*
 * intervals_test.c: what was sent in each stretch of time by machines whose clocks differ, and are known late or never,
 * against a plain count of the same sends.
 *
 *      sends at true times, told by the clock of each machine --> statistics --> stretches
 *                          '--> counted one by one, by the true time -----------'
 *
 * What somebody sends who is not metered is told where it is received.
 */
#include "analysis/statistics/statistics.h"

#include "seeded.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define MACHINES 3
#define SENDS    2000
#define BOOT     1000000000000000ULL /* of the first machine's clock, before anything is sent */

struct machine {
    int64_t offset; /* of its clock, to be added for the true time */
    int64_t of_day; /* the same, as the clocks of the day say */
    uint32_t known; /* from this send of all on; SENDS: never */
};

struct send {
    uint64_t when; /* true time */
    uint32_t machine;
    uint32_t bytes;
    bool by_a_stranger;
};

struct world {
    uint64_t seed;
    struct machine machines[MACHINES];
    struct send sends[SENDS];
    uint64_t first; /* true time of the first record */
    struct communication *result;
};

static void tell(struct statistics *statistics, const struct machine *machine, uint32_t origin,
                 uint64_t when, bool known, void *record)
{
    struct record_header *header = record;
    const struct event event = {header, origin, 0};
    int64_t offset = known ? machine->offset : machine->of_day;

    header->time = when - (uint64_t)machine->offset;
    assert_int_equal(statistics_add_at(statistics, &event, offset, known ? 0 : origin), 0);
}

static void tell_machine(struct statistics *statistics, const struct world *world, uint32_t origin)
{
    struct machine_record record = {
        .header = {.id = EVENT_MACHINE},
        .machine_id = {(uint8_t)(origin + 1)},
        .meter_flags = UINT32_MAX,
        .name = "host",
    };

    tell(statistics, &world->machines[origin], origin, world->first,
         world->machines[origin].known == 0, &record);
}

/* All sends, in the order of the true time. */
static void tell_all(struct world *world, uint64_t interval)
{
    struct source_state states[MACHINES] = {{.complete = true}};
    struct statistics *statistics;

    assert_int_equal(statistics_new(&statistics), 0);
    statistics_every(statistics, interval);
    for (uint32_t origin = 0; origin < MACHINES; origin++)
        tell_machine(statistics, world, origin);
    for (uint32_t i = 0; i < SENDS; i++) {
        const struct send *send = &world->sends[i];
        const struct machine *machine = &world->machines[send->machine];
        struct record record = {
            .header = {.id = send->by_a_stranger ? EVENT_RECEIVE : EVENT_SEND, .stream = 1},
            .message = {.path = 1, .bytes = send->bytes},
        };
        tell(statistics, machine, send->machine, send->when, i >= machine->known, &record);
    }
    assert_int_equal(statistics_finish(statistics, states, MACHINES, &world->result), 0);
    statistics_free(statistics);
}

static int64_t some_hours(struct world *world)
{
    return (int64_t)random_below(&world->seed, 200000) * 1000000000 - 100000000000000;
}

/* `step`: ns between two sends, at most. In the end each machine sends once more. */
static void begin(struct world *world, uint64_t seed, uint64_t step)
{
    uint64_t when = world->first = BOOT;

    world->seed = seed;
    for (uint32_t i = 0; i < MACHINES; i++)
        world->machines[i] = (struct machine){
            .offset = i == 0 ? 0 : some_hours(world),
            .of_day = i == 0 ? 0 : some_hours(world),
            .known = i == 0 ? 0 : (uint32_t)random_below(&world->seed, SENDS - MACHINES),
        };
    when += random_below(&world->seed, 100 * step);
    for (uint32_t i = 0; i < SENDS; i++)
        world->sends[i] = (struct send){
            .when = when += random_below(&world->seed, step),
            .machine = i < SENDS - MACHINES ? (uint32_t)random_below(&world->seed, MACHINES)
                                            : SENDS - 1 - i,
            .bytes = 1 + (uint32_t)random_below(&world->seed, 1000),
            .by_a_stranger = random_below(&world->seed, 3) == 0,
        };
}

static void count_plainly(const struct world *world, struct traffic *counts)
{
    const struct communication *result = world->result;
    uint64_t begin = world->first + (uint64_t)result->interval_begin;

    for (uint32_t i = 0; i < SENDS; i++) {
        const struct send *send = &world->sends[i];
        assert_true(send->when >= begin);
        uint64_t index = (send->when - begin) / result->interval;
        assert_true(index < result->interval_count);
        counts[index].messages++;
        counts[index].bytes += send->bytes;
    }
}

static void expect_same(const struct world *world, uint64_t seed)
{
    const struct communication *result = world->result;
    struct traffic *counts = calloc(result->interval_count, sizeof(*counts));

    assert_non_null(counts);
    count_plainly(world, counts);
    for (size_t i = 0; i < result->interval_count; i++)
        if (counts[i].messages != result->intervals[i].messages ||
            counts[i].bytes != result->intervals[i].bytes)
            fail_msg("DPM_SEED=%" PRIu64 ": stretch %zu has %" PRIu64 " messages, not %" PRIu64,
                     seed, i, result->intervals[i].messages, counts[i].messages);
    free(counts);
}

/* Whatever the clocks of the day say. */
static void stretches_are_those_of_one_clock(void **state)
{
    uint64_t first = seed_of_run("stretches_are_those_of_one_clock");
    static struct world world;

    (void)state;
    for (uint64_t seed = first; seed < first + 100; seed++) {
        begin(&world, seed, 1000000);
        tell_all(&world, 1 + random_below(&world.seed, 10000000));
        uint64_t last = world.sends[SENDS - 1].when;
        assert_int_equal(world.result->duration, last - world.first);
        assert_true(world.result->interval_count <= MOST_INTERVALS);
        expect_same(&world, seed);
        communication_free(world.result);
    }
}

/* Then the clocks of the day are all there is, and nothing is left out. */
static void clocks_are_never_known(void **state)
{
    uint64_t first = seed_of_run("clocks_are_never_known");
    static struct world world;

    (void)state;
    for (uint64_t seed = first; seed < first + 20; seed++) {
        uint64_t messages = 0;
        begin(&world, seed, 1000000);
        for (uint32_t i = 1; i < MACHINES; i++)
            world.machines[i].known = SENDS;
        tell_all(&world, 1000000000);
        for (size_t i = 0; i < world.result->interval_count; i++)
            messages += world.result->intervals[i].messages;
        assert_int_equal(messages, SENDS);
        assert_true(world.result->interval_count <= MOST_INTERVALS);
        communication_free(world.result);
    }
}

/* More than may wait. */
static void many_are_early(void **state)
{
    const uint32_t many = 200000;
    const struct machine machines[2] = {{.known = 0}, {.offset = 3600000000000, .of_day = 5}};
    struct source_state states[2] = {{.complete = true}};
    struct communication *result;
    struct statistics *statistics;
    uint64_t messages = 0, bytes = 0;

    (void)state;
    assert_int_equal(statistics_new(&statistics), 0);
    statistics_every(statistics, 1000);
    for (uint32_t i = 0; i < many; i++) {
        struct record record = {
            .header = {.id = EVENT_SEND, .stream = 1, .flags = i % 4 == 3 ? RECORD_CONTINUED : 0},
            .message = {.path = 1, .bytes = i},
        };
        tell(statistics, &machines[1], 1, BOOT + i, false, &record);
    }
    assert_int_equal(statistics_finish(statistics, states, 2, &result), 0);
    for (size_t i = 0; i < result->interval_count; i++) {
        messages += result->intervals[i].messages;
        bytes += result->intervals[i].bytes;
    }
    assert_int_equal(messages, many / 4 * 3);
    assert_int_equal(bytes, (uint64_t)many * (many - 1) / 2);
    communication_free(result);
    statistics_free(statistics);
}

/* Of a path with two ends that are metered, and of one that leads back to itself, what was sent counts once. */
static void received_by_who_is_metered(void **state)
{
    const struct machine machine = {.known = 0};

    (void)state;
    for (uint32_t ends = 1; ends <= 2; ends++) {
        struct source_state states[1] = {{.complete = true}};
        struct communication *result;
        struct statistics *statistics;
        assert_int_equal(statistics_new(&statistics), 0);
        statistics_every(statistics, 1000000);
        for (uint32_t end = 1; end <= ends; end++) {
            struct path_record path = {
                .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
                .path = end,
                .kind = PATH_UNIX_STREAM,
                .family = AF_UNIX,
                .cookie = 10 + end,
                .peer = 11 + ends - end,
            };
            tell(statistics, &machine, 0, BOOT, true, &path);
        }
        for (uint32_t i = 0; i < 100; i++) {
            struct record send = {.header = {.id = EVENT_SEND, .stream = 1},
                                  .message = {.path = 1, .offset = 10 * i, .bytes = 10}};
            struct record receive = {.header = {.id = EVENT_RECEIVE, .stream = 2},
                                     .message = {.path = ends, .offset = 10 * i, .bytes = 10}};
            tell(statistics, &machine, 0, BOOT + 20 * i + 10, true, &send);
            tell(statistics, &machine, 0, BOOT + 20 * i + 20, true, &receive);
        }
        assert_int_equal(statistics_finish(statistics, states, 1, &result), 0);
        assert_int_equal(result->interval_count, 1);
        assert_int_equal(result->intervals[0].messages, 100);
        assert_int_equal(result->intervals[0].bytes, 1000);
        communication_free(result);
        statistics_free(statistics);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stretches_are_those_of_one_clock),
        cmocka_unit_test(clocks_are_never_known),
        cmocka_unit_test(many_are_early),
        cmocka_unit_test(received_by_who_is_metered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
