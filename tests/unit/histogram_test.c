/* SPDX-License-Identifier: MIT */
/* histogram_test.c: histograms against the sorted values. */
#include "base/histogram.h"

#include "seeded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MOST_VALUES 3000

static uint64_t seed;

static int compare_values(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Random values of all magnitudes up to 2^octaves. */
static size_t random_values(uint64_t values[MOST_VALUES], unsigned octaves)
{
    size_t count = 1 + random_below(&seed, MOST_VALUES);

    for (size_t i = 0; i < count; i++)
        values[i] = random_below(&seed, 1ULL << random_below(&seed, octaves + 1));
    return count;
}

static void check_bars(const struct histogram *histogram, const uint64_t *sorted, size_t count)
{
    size_t at = 0;

    for (unsigned i = 0; i < histogram_bars(histogram); i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        assert_true(bar.from <= bar.to && bar.count > 0);
        for (uint64_t k = 0; k < bar.count; k++, at++) {
            assert_true(at < count);
            assert_true(sorted[at] >= bar.from && sorted[at] <= bar.to);
        }
    }
    assert_int_equal(at, count);
}

static void bars_hold_the_values(void **state)
{
    static uint64_t values[MOST_VALUES];
    const unsigned most[] = {2, 3, 12, HISTOGRAM_SOME, 64, HISTOGRAM_MOST};

    (void)state;
    seed = seed_of_run("bars");
    for (unsigned round = 0; round < 300; round++) {
        struct histogram histogram = {0};
        unsigned buckets = most[random_below(&seed, ARRAY_SIZE(most))];
        size_t count = random_values(values, (unsigned)random_below(&seed, 63));
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(histogram_add(&histogram, values[i], buckets), 0);
            sum += values[i];
        }
        qsort(values, count, sizeof(*values), compare_values);
        assert_int_equal(histogram_count(&histogram), count);
        assert_int_equal(histogram_sum(&histogram), sum);
        assert_int_equal(histogram_min(&histogram), values[0]);
        assert_int_equal(histogram_max(&histogram), values[count - 1]);
        assert_true(histogram_bars(&histogram) <= buckets);
        check_bars(&histogram, values, count);
        histogram_done(&histogram);
    }
}

/* With enough buckets, a quantile is within a sixteenth of the value at its rank. */
static void quantiles_are_near(void **state)
{
    static uint64_t values[MOST_VALUES];

    (void)state;
    seed = seed_of_run("quantiles");
    for (unsigned round = 0; round < 200; round++) {
        struct histogram histogram = {0};
        size_t count = random_values(values, 8);
        for (size_t i = 0; i < count; i++)
            histogram_add(&histogram, values[i], HISTOGRAM_MOST);
        qsort(values, count, sizeof(*values), compare_values);
        for (double share = 0; share < 1; share += 0.01) {
            size_t rank = (size_t)ceil(share * (double)count - 1e-6);
            uint64_t expected = values[rank == 0 ? 0 : rank - 1];
            uint64_t found = histogram_quantile(&histogram, share);
            assert_true(found + expected / 16 + 1 >= expected);
            assert_true(found <= expected + expected / 16 + 1);
        }
        histogram_done(&histogram);
    }
}

/* As long as there are no more different values than HISTOGRAM_EXACT, or buckets, each of them is exact below 2,048, else to 1/1,024. */
static void few_values_are_exact(void **state)
{
    (void)state;
    seed = seed_of_run("few");
    for (unsigned round = 0; round < 200; round++) {
        struct histogram histogram = {0};
        unsigned most = random_below(&seed, 2) == 0 ? HISTOGRAM_SOME : HISTOGRAM_MOST;
        uint64_t distinct[HISTOGRAM_EXACT], values[300];
        unsigned many =
            1 + (unsigned)random_below(&seed, most < HISTOGRAM_EXACT ? most : HISTOGRAM_EXACT);
        unsigned octaves = (unsigned)random_below(&seed, 40);
        size_t count = 1 + random_below(&seed, ARRAY_SIZE(values));
        for (unsigned i = 0; i < many; i++)
            distinct[i] = random_below(&seed, 1ULL << octaves);
        for (size_t i = 0; i < count; i++) {
            values[i] = distinct[random_below(&seed, many)];
            histogram_add(&histogram, values[i], most);
        }
        qsort(values, count, sizeof(*values), compare_values);
        for (size_t rank = 1; rank <= count; rank++) {
            uint64_t expected = values[rank - 1];
            uint64_t found = histogram_quantile(&histogram, (double)rank / (double)count);
            uint64_t far = found > expected ? found - expected : expected - found;
            assert_true(far <= (expected < 2048 ? 0 : expected / 1024));
        }
        histogram_done(&histogram);
    }
}

/* Merged histograms equal one with all the values, within the precision of the coarser one. */
static void merging_loses_nothing(void **state)
{
    static uint64_t values[MOST_VALUES];

    (void)state;
    seed = seed_of_run("merging");
    for (unsigned round = 0; round < 200; round++) {
        struct histogram parts[3] = {{0}}, all = {0};
        const unsigned most[] = {12, HISTOGRAM_SOME, HISTOGRAM_MOST};
        size_t count = random_values(values, (unsigned)random_below(&seed, 40));
        for (size_t i = 0; i < count; i++) {
            unsigned part = (unsigned)random_below(&seed, 3);
            histogram_add(&parts[part], values[i], most[part]);
        }
        for (unsigned part = 0; part < 3; part++)
            assert_int_equal(histogram_merge(&all, &parts[part], HISTOGRAM_MOST), 0);
        qsort(values, count, sizeof(*values), compare_values);
        assert_int_equal(histogram_min(&all), values[0]);
        assert_int_equal(histogram_max(&all), values[count - 1]);
        check_bars(&all, values, count);
        histogram_done(&all);
        for (unsigned part = 0; part < 3; part++)
            histogram_done(&parts[part]);
    }
}

static void empty_ones(void **state)
{
    struct histogram histogram = {0}, other = {0};

    (void)state;
    assert_int_equal(histogram_count(&histogram), 0);
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
    assert_int_equal(histogram_merge(&histogram, &other, 12), 0);
    assert_int_equal(histogram_count(&histogram), 0);
    histogram_add(&histogram, UINT64_MAX, 12);
    histogram_add(&histogram, 0, 12);
    assert_int_equal(histogram_quantile(&histogram, 0), 0);
    assert_int_equal(histogram_quantile(&histogram, 1), UINT64_MAX);
    histogram_done(&histogram);
}

/* What is left after an earlier state is removed are the values that came later. */
static void later_values_are_left(void **state)
{
    static uint64_t values[MOST_VALUES];

    (void)state;
    seed = seed_of_run("subtract");
    for (unsigned round = 0; round < 300; round++) {
        struct histogram whole = {0}, earlier = {0};
        unsigned most = random_below(&seed, 2) == 0 ? HISTOGRAM_SOME : HISTOGRAM_MOST;
        size_t count = random_values(values, 40), before = random_below(&seed, count + 1);
        uint64_t sum = 0;
        for (size_t i = 0; i < before; i++) {
            assert_int_equal(histogram_add(&whole, values[i], most), 0);
            assert_int_equal(histogram_add(&earlier, values[i], most), 0);
        }
        for (size_t i = before; i < count; i++) {
            assert_int_equal(histogram_add(&whole, values[i], most), 0);
            sum += values[i];
        }
        histogram_subtract(&whole, &earlier);
        assert_int_equal(histogram_count(&whole), count - before);
        assert_int_equal(histogram_sum(&whole), sum);
        qsort(values + before, count - before, sizeof(*values), compare_values);
        check_bars(&whole, values + before, count - before);
        histogram_done(&whole);
        histogram_done(&earlier);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_hold_the_values),  cmocka_unit_test(later_values_are_left),
        cmocka_unit_test(quantiles_are_near),    cmocka_unit_test(few_values_are_exact),
        cmocka_unit_test(merging_loses_nothing), cmocka_unit_test(empty_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
