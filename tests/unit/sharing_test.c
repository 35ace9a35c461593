/* SPDX-License-Identifier: MIT */
/*
 * sharing_test.c: bytes that are received before their SEND is recorded, against a plain array of bytes.
 *
 *      noted   ..###..#####......##...
 *      taken       [          )          counts the # in it and removes them
 */
#include "history/history_types.h"

#include "seeded.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POSITIONS 2000
#define STEPS     3000

struct world {
    uint64_t seed;
    struct history history;
    struct end end;
    bool noted[POSITIONS];
};

static uint32_t below(struct world *world, uint32_t limit)
{
    return (uint32_t)random_below(&world->seed, limit);
}

/* Bytes received once: those that are there already are not counted. */
static void note(struct world *world)
{
    uint32_t from = below(world, POSITIONS), to = from;

    while (to < POSITIONS && to - from < 40 && !world->noted[to])
        world->noted[to++] = true;
    if (to > from)
        assert_int_equal(sharing_note_ahead(&world->history, &world->end, from, to), 0);
}

static void take(struct world *world, uint64_t seed)
{
    uint32_t from = below(world, POSITIONS), to = from + 1 + below(world, 30);
    uint32_t count = 0;

    for (uint32_t i = from; i < to && i < POSITIONS; i++) {
        count += world->noted[i];
        world->noted[i] = false;
    }
    int64_t taken = sharing_take_back(&world->history, sharing_of(&world->end), from, to);
    if (taken != count)
        fail_msg("DPM_SEED=%" PRIu64 ": [%u, %u): %" PRId64 ", not %u", seed, from, to, taken,
                 count);
}

static void done(struct world *world)
{
    free(world->end.sharing->ahead);
    free(world->end.sharing);
}

static void taken_back_as_noted(void **state)
{
    uint64_t seed = seed_of_run("received ahead");
    struct world world = {.seed = seed};

    (void)state;
    assert_non_null(sharing_of(&world.end));
    for (uint32_t i = 0; i < STEPS; i++)
        if (below(&world, 2) == 0 && world.end.sharing->ahead_count < 200)
            note(&world);
        else
            take(&world, seed);
    assert_int_equal(world.history.counts.forgotten_ranges, 0);
    done(&world);
}

/* Every second byte is taken, so that ranges increase: those beyond the limit are counted. */
static void too_many_ranges(void **state)
{
    struct world world = {0};
    uint32_t left = 0;

    (void)state;
    assert_int_equal(sharing_note_ahead(&world.history, &world.end, 0, POSITIONS), 0);
    for (uint32_t i = 1; i < POSITIONS - 1; i += 2) {
        int64_t taken = sharing_take_back(&world.history, world.end.sharing, i, i + 1);
        left += taken == 1;
    }
    assert_true(world.history.counts.forgotten_ranges > 0);
    assert_in_range(left, 200, POSITIONS / 2 - 1);
    done(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_back_as_noted),
        cmocka_unit_test(too_many_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
