/* SPDX-License-Identifier: MIT */
/*
 * asked_clock_test.c: a clock that drifts as much as it may, and sometimes is set, is asked over a network with random delays. At
 * each moment the estimate is right to its bound; a clock that was set is noticed, and no other one.
 */
#include "clocks/asked_clock.h"
#include "clocks/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "seeded.h"

#define SECOND 1000000000ull

/* A machine whose clock is ahead by `ahead`, which changes as time passes. */
struct world {
    uint64_t now;
    double ahead;
    double drift; /* ns in a ns */
    uint64_t random;
    uint64_t jumps, noticed;
};

static void pass(struct world *world, uint64_t time)
{
    world->now += time;
    world->ahead += world->drift * (double)time;
    if (random_below(&world->random, 4) == 0)
        world->drift =
            ((double)random_below(&world->random, 2001) - 1000) / 1000 * CLOCK_DRIFT_PPM / 1e6;
}

static void check(const struct world *world, const struct asked_clock *clock)
{
    double wrong = world->ahead - (double)clock->ahead;

    if (wrong < 0)
        wrong = -wrong;
    if (wrong > (double)asked_clock_bound(clock, world->now) + 2) /* rounded to ns, twice */
        fail_msg("wrong by %.0f ns, bound %" PRIu64, wrong, asked_clock_bound(clock, world->now));
}

/* The question takes its time, and so does the answer. */
static void ask(struct world *world, struct asked_clock *clock, bool jumped)
{
    uint64_t most = 1 + random_below(&world->random, 20000000), begin = world->now;

    pass(world, random_below(&world->random, most));
    double there = (double)world->now + world->ahead;
    pass(world, random_below(&world->random, most));
    uint64_t bound = (world->now - begin) / 2;
    const struct asked_clock answer = {
        .ahead = (int64_t)(there - (double)(world->now - bound)),
        /* clocks drift during the question, too */
        .bound = bound + (world->now - begin) * CLOCK_DRIFT_PPM / 1000000 + 1,
        .time = world->now};
    enum asked_answer taken = asked_clock_take(clock, &answer);
    if (!jumped)
        assert_int_not_equal(ASKED_JUMP, taken);
    world->noticed += taken == ASKED_JUMP;
}

static void estimates_are_right_to_their_bounds(void **state)
{
    struct world world = {.now = 1, .random = seed_of_run("clocks that are asked")};

    (void)state;
    for (uint64_t round = 0; round < rounds_of_run(300); round++) {
        struct asked_clock clock = {0};
        world.ahead = (double)random_below(&world.random, 1000 * SECOND) - 500.0 * SECOND;
        assert_true(asked_clock_bound(&clock, world.now) == UINT64_MAX);
        ask(&world, &clock, false);
        for (int i = 0; i < 100; i++) {
            check(&world, &clock);
            bool jumps = random_below(&world.random, 50) == 0;
            if (jumps) {
                world.ahead += (double)SECOND; /* more than all bounds here */
                world.jumps++;
            }
            if (jumps || random_below(&world.random, 3) == 0)
                ask(&world, &clock, jumps);
            else
                pass(&world, random_below(&world.random, 3 * SECOND));
        }
    }
    assert_true(world.jumps > 0 && world.jumps == world.noticed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_right_to_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
