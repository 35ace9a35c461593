/* SPDX-License-Identifier: MIT */
/*
 * reuse_test.c: of a great many addresses the latest are known, as many as was promised, and no older ones.
 */
#include "analysis/statistics/reuse.h"
#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ALL (5 * ADDRESSES_KNOWN)

/* Each number has another one. */
static uint64_t hash_of(uint64_t first, uint64_t number)
{
    uint64_t state = first + number * 0x9e3779b97f4a7c15u;

    return random_number(&state);
}

static void the_latest_are_known(void **unused)
{
    struct addresses_had had = {0};
    uint64_t state = seed_of_run("reuse"), first = state;

    (void)unused;
    assert_false(addresses_are_noted(&had, hash_of(first, 0)));
    for (uint64_t i = 0; i < ALL; i++) {
        addresses_fetch(&had, hash_of(first, i));
        assert_int_equal(addresses_note(&had, hash_of(first, i)), 0);
        uint64_t back = random_below(&state, i < ADDRESSES_KNOWN ? i + 1 : ADDRESSES_KNOWN);
        assert_true(addresses_are_noted(&had, hash_of(first, i - back)));
        if (i >= 2 * ADDRESSES_KNOWN) {
            uint64_t old = random_below(&state, i - 2 * ADDRESSES_KNOWN + 1);
            assert_false(addresses_are_noted(&had, hash_of(first, old)));
        }
    }
    addresses_done(&had);
    assert_false(addresses_are_noted(&had, hash_of(first, ALL - 1)));
}

/* Those that come again and again are known however many others come in between, if not too many. */
static void what_comes_again_stays_known(void **unused)
{
    struct addresses_had had = {0};
    uint64_t first = seed_of_run("reuse again");

    (void)unused;
    for (uint64_t i = 0; i < ALL; i++) {
        bool again = i % (ADDRESSES_KNOWN - 1) == 0;
        int known = addresses_note(&had, again ? 0 : hash_of(first, i));
        assert_int_equal(known, again && i > 0);
    }
    addresses_done(&had);
}

static void a_hash_is_of_an_end_in_its_recording(void **unused)
{
    struct path_record one = {.local = {127, 0, 0, 1}, .remote = {127, 0, 0, 1}};
    struct path_record other;

    (void)unused;
    one.local_port = 4000;
    one.remote_port = 80;
    uint64_t hash = hash_addresses(0, &one);
    other = one;
    other.cookie = 7; /* another socket */
    assert_int_equal(hash_addresses(0, &other), hash);
    assert_int_not_equal(hash_addresses(1, &one), hash);
    other.network = 5;
    assert_int_not_equal(hash_addresses(0, &other), hash);
    other = one;
    other.local_port = 80;
    other.remote_port = 4000;
    assert_int_not_equal(hash_addresses(0, &other), hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_are_known),
        cmocka_unit_test(what_comes_again_stays_known),
        cmocka_unit_test(a_hash_is_of_an_end_in_its_recording),
    };

    return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
