/* SPDX-License-Identifier: MIT */
/*
 * causality_thesis_test.c: the thesis' figures on paths of causality.
 *
 *      5.7           two requests, and their strings ABA and ABCBA
 *      5.18, 5.19    the file system: who sends to whom next
 */
#include "causality_world.h"

/* ---- figure 5.7: ABA and ABCBA ---- */

/* Requestors are unmonitored, or are process 4. */
static void figure(struct world *world, bool metered, uint32_t *paths)
{
    begin(world, 4);
    paths[0] = metered ? connect_to(world) : connect_outside(world, PATH_ROLE_ACCEPTED);
    paths[1] = connect_to(world); /* A to B */
    paths[2] = connect_to(world); /* B to C */
}

static void request(struct world *world, bool metered, uint32_t path)
{
    if (metered)
        pass(world, 4, path, 1);
    else
        do_receive(world, 1, path, 10);
}

static void reply(struct world *world, bool metered, uint32_t path)
{
    if (metered)
        pass(world, 1, path + 1, 4);
    else
        do_send(world, 1, path, 10);
}

static void figure_5_7(void **state)
{
    (void)state;
    for (int metered = 0; metered < 2; metered++) {
        struct world world;
        uint32_t paths[3];

        figure(&world, metered, paths);
        request(&world, metered, paths[0]);
        pass(&world, 1, paths[1], 2);
        pass(&world, 2, paths[1] + 1, 1);
        reply(&world, metered, paths[0]);
        request(&world, metered, paths[0]);
        pass(&world, 1, paths[1], 2);
        pass(&world, 2, paths[2], 3);
        pass(&world, 3, paths[2] + 1, 2);
        pass(&world, 2, paths[1] + 1, 1);
        reply(&world, metered, paths[0]);
        struct causality *result = finish_plainly(&world);
        assert_int_equal(result->requests, 2);
        assert_int_equal(result->requests_of_strangers, metered ? 0 : 2);
        assert_int_equal(result->replies, 2);
        assert_int_equal(result->path_count, 2);
        assert_int_equal(count_of(result, "ABA"), 1);
        assert_int_equal(count_of(result, "ABCBA"), 1);
        assert_int_equal(substrings_of(result, "AB"), 2);
        assert_int_equal(substrings_of(result, "BA"), 2);
        assert_int_equal(substrings_of(result, "ABA"), 1);
        assert_int_equal(substrings_of(result, "BCB"), 1);
        assert_int_equal(substrings_of(result, "ABCBA"), 1);
        assert_int_equal(transitions_of(result, "requestor", "A", "B"), 2);
        assert_int_equal(transitions_of(result, "A", "B", "A"), 1);
        assert_int_equal(transitions_of(result, "A", "B", "C"), 1);
        assert_int_equal(transition_of(result, "A", "B", "C")->of, 2);
        assert_int_equal(transitions_of(result, "C", "B", "A"), 1);
        assert_int_equal(transitions_of(result, "B", "A", NULL), 2);
        assert_int_equal(proved(result), result->arcs);
        assert_int_equal(result->arcs, 6);
        assert_string_equal(result->processes[0].letter, "A");
        assert_int_equal(result->processes[0].pid, 101);
        causality_free(result);
    }
}

/* ---- the file system, figures 5.18 and 5.19 ---- */

/* Requests that make up a part of its figures, in tens: users ask RI, which asks BM, which may ask DI; DI is asked
 * again for an indirect block. */
static void file_system(void **state)
{
    enum { RI = 1, BM, DI };
    const unsigned requests = 345, misses = 89, indirect = 16;
    struct world world;

    (void)state;
    begin(&world, 3);
    uint32_t user = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t buffers = connect_to(&world), disk = connect_to(&world);
    for (unsigned i = 0; i < requests; i++) {
        do_receive(&world, RI, user, 10);
        pass(&world, RI, buffers, BM);
        for (unsigned k = 0; k < (i < indirect ? 2u : i < misses ? 1u : 0u); k++) {
            pass(&world, BM, disk, DI);
            pass(&world, DI, disk + 1, BM);
        }
        pass(&world, BM, buffers + 1, RI);
        do_send(&world, RI, user, 10);
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(transitions_of(result, "B", "C", "B"), misses + indirect); /* DI: only to BM */
    assert_int_equal(transitions_of(result, "A", "B", "C"), misses);            /* 26 % ... */
    assert_int_equal(transitions_of(result, "A", "B", "A"), requests - misses); /* 74 %: a hit */
    assert_int_equal(transition_of(result, "A", "B", "A")->of, requests);
    assert_int_equal(transitions_of(result, "C", "B", "C"), indirect); /* 15 %: one more */
    assert_int_equal(transitions_of(result, "C", "B", "A"), misses);
    assert_int_equal(transitions_of(result, "requestor", "A", "B"), requests);
    assert_int_equal(transitions_of(result, "B", "A", NULL), requests);
    assert_int_equal(count_of(result, "ABA"), requests - misses); /* most involve two processes */
    assert_int_equal(count_of(result, "ABCBA"), misses - indirect);
    assert_int_equal(count_of(result, "ABCBCBA"), indirect);
    causality_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_5_7),
        cmocka_unit_test(file_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
