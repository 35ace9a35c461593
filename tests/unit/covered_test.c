/* SPDX-License-Identifier: MIT */
/* covered_test.c: what intervals cover, against each unit of time. */
#include "base/covered.h"

#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MOST_TIME 20000

static uint64_t seed;

/* Which units of time are covered, and what is known of the intervals. */
struct naive {
    bool is[MOST_TIME];
    uint64_t sum, longest, first, last;
};

static uint64_t naive_covered(const struct naive *naive)
{
    uint64_t count = 0;

    for (size_t i = 0; i < MOST_TIME; i++)
        count += naive->is[i];
    return count;
}

static void add(struct covered *covered, struct naive *naive, uint64_t from, uint64_t to)
{
    covered_add(covered, from, to);
    for (uint64_t i = from; i < to; i++)
        naive->is[i] = true;
    naive->sum += to - from;
    naive->longest = to - from > naive->longest ? to - from : naive->longest;
    naive->first = from < naive->first ? from : naive->first;
    naive->last = to > naive->last ? to : naive->last;
}

static void random_interval(uint64_t most, uint64_t *from, uint64_t *to)
{
    uint64_t length = random_below(&seed, most);

    *from = random_below(&seed, MOST_TIME - length);
    *to = *from + length;
}

/* As many intervals as there are knots for, in any order, of any length. */
static void few_intervals_are_exact(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct covered covered = {0};
        struct naive naive = {.first = MOST_TIME};
        uint64_t most = 1 + random_below(&seed, MOST_TIME - 1), from, to;
        for (int i = 0; i < COVERED_KNOTS / 2; i++) {
            random_interval(most, &from, &to);
            add(&covered, &naive, from, to);
            assert_int_equal(covered_time(&covered), naive_covered(&naive));
        }
    }
}

/* Any number, in any order: never more than can be, nor less than must be. */
static void many_intervals_stay_possible(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct covered covered = {0};
        struct naive naive = {.first = MOST_TIME};
        uint64_t most = 1 + random_below(&seed, MOST_TIME - 1), from, to;
        for (int i = 0; i < 400; i++) {
            random_interval(most, &from, &to);
            add(&covered, &naive, from, to);
            assert_true(covered_time(&covered) <= naive.sum);
            assert_true(covered_time(&covered) <= naive.last - naive.first);
            assert_true(covered_time(&covered) >= naive.longest);
        }
    }
}

/* Threads wait, each again and again. Their waits come in the order of their ends; the estimate is close. */
static void waits_of_threads_are_close(void **state)
{
    enum { THREADS = 5 };

    (void)state;
    for (int round = 0; round < 50; round++) {
        struct covered covered = {0};
        struct naive naive = {.first = MOST_TIME};
        uint64_t begin[THREADS] = {0}, until[THREADS], least[THREADS];
        for (int i = 0; i < THREADS; i++) {
            least[i] = 1 + random_below(&seed, 300);
            until[i] = least[i] + random_below(&seed, least[i]);
        }
        for (;;) {
            int next = 0;
            for (int i = 1; i < THREADS; i++)
                next = until[i] < until[next] ? i : next;
            if (until[next] >= MOST_TIME)
                break;
            add(&covered, &naive, begin[next], until[next]);
            begin[next] = until[next] + random_below(&seed, 8 * least[next]);
            until[next] = begin[next] + least[next] + random_below(&seed, least[next]);
        }
        uint64_t is = naive_covered(&naive), found = covered_time(&covered);
        assert_true((is > found ? is - found : found - is) * 50 <= MOST_TIME);
    }
}

/* One thread waits all the time, others for moments, which end first. */
static void a_long_wait_covers_short_ones(void **state)
{
    struct covered covered = {0};

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        covered_add(&covered, 100 + 10 * i, 101 + 10 * i);
    assert_int_equal(covered_time(&covered), 1000);
    covered_add(&covered, 50, 20000);
    assert_int_equal(covered_time(&covered), 19950);
    covered_add(&covered, 60, 19000);
    covered_add(&covered, 0, 0);
    covered_add(&covered, 5, 4);
    assert_int_equal(covered_time(&covered), 19950);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_intervals_are_exact),
        cmocka_unit_test(many_intervals_stay_possible),
        cmocka_unit_test(waits_of_threads_are_close),
        cmocka_unit_test(a_long_wait_covers_short_ones),
    };

    seed = seed_of_run("intervals");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
