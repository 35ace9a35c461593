/* SPDX-License-Identifier: MIT */
/*
 * view_rates_test.c: a plan that is chosen never needs more than can be read and carried if there is one that does not; higher
 * rates and smaller capacities leave fewer plans. All plans of random instances are looked at, one by one.
 */
#include "view/planner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seeded.h"

#define ROUNDS 60

static const char *const views[] = {
    "VIEW DEF V (t: Q[1].a) ACTIVE WHEN (Q[1].a > 24) AND (Q[2].a > 24); CORRECT TO WITHIN 25 MS; "
    "END VIEW DEF",
    "VIEW DEF V (t: Q[1].a) ACTIVE WHEN Q[1].a > Q[2].a; CORRECT TO WITHIN 200 MS; END VIEW DEF",
    "VIEW DEF V (t: Q[1].a) ACTIVE WHEN Q[1].a > Q[2].a; END VIEW DEF",
    "VIEW DEF V (t: Q[1].a) ACTIVE WHEN Q[1].a > 3; CORRECT TO WITHIN 50 MS; NOTIFY 9 OF h WITHIN "
    "90 MS; END VIEW DEF",
    "VIEW DEF V (t: Q[1].a) ACTIVE WHEN (Q[1].a > 3) OR (Q[2].a > 3); CORRECT TO WITHIN 1 S; END "
    "VIEW DEF",
};

struct world {
    struct view_file *file;
    struct view_costs costs;
    struct view_conditions conditions;
};

/* Instances with these figures, on one machine or on two. */
struct figures {
    double changes[2], passes[2], reads[2], carries[2];
    bool together, sensor_passes;
};

static void place(struct world *world, const struct figures *figures)
{
    struct view_costs *costs = &world->costs;

    view_costs_done(costs);
    view_costs_init(costs);
    costs->placed = calloc(2, sizeof(*costs->placed));
    assert_non_null(costs->placed);
    costs->placed_count = costs->placed_capacity = 2;
    for (int i = 0; i < 2; i++) {
        costs->placed[i] = (struct view_placed){.changes = figures->changes[i],
                                                .selectivity = 0.1,
                                                .passes = figures->passes[i],
                                                .reads = figures->reads[i],
                                                .carries = figures->carries[i],
                                                .sensor_passes = figures->sensor_passes};
        sprintf(costs->placed[i].entity, "Q[%d]", i + 1);
        sprintf(costs->placed[i].machine, "m%d", figures->together ? 0 : i);
    }
}

static void make(struct world *world, const char *view)
{
    struct problem problem = {""};

    view_costs_init(&world->costs);
    if (view_parse("view", view, strlen(view), &world->file, &problem) < 0 ||
        view_conditions_make(&world->file->views[0], &world->conditions, &problem) < 0)
        fail_msg("%s", problem.text);
}

static void unmake(struct world *world)
{
    view_conditions_done(&world->conditions);
    view_costs_done(&world->costs);
    view_file_free(world->file);
}

static struct view_plans plan(const struct world *world)
{
    struct view_plans plans = {0};

    assert_int_equal(0, view_plans_make(&world->conditions, &world->costs, &plans, NULL));
    return plans;
}

static double random_between(uint64_t *random, double least, double most)
{
    return least * pow(most / least, (double)random_below(random, 1000) / 999);
}

static struct figures random_figures(uint64_t *random)
{
    struct figures figures = {.together = random_below(random, 2) == 0,
                              .sensor_passes = random_below(random, 4) == 0};
    double reads = random_between(random, 10, 1e6), carries = random_between(random, 10, 1e5);

    for (int i = 0; i < 2; i++) {
        figures.changes[i] = random_between(random, 0.1, 1e6);
        figures.passes[i] = random_between(random, 1e-4, 1);
        figures.reads[i] = figures.together ? reads : random_between(random, 10, 1e6);
        figures.carries[i] = figures.together ? carries : random_between(random, 10, 1e5);
    }
    return figures;
}

/* Looks at all plans; the least load of those that keep the meaning, and of those that are in time, or infinite. */
static void look_at_all(const struct world *world, double *ret_least, size_t *ret_in_time)
{
    size_t count = world->conditions.view->entity_count, all = count == 2 ? 324 : 18;

    *ret_least = INFINITY;
    *ret_in_time = 0;
    for (size_t number = 0; number < all * 6; number++) {
        struct view_plan one = {.top = number % 3,
                                .notifies =
                                    number / 3 % 2 == 0 ? VIEW_IN_RESIDENT : VIEW_IN_CENTRAL};
        size_t rest = number / 6;
        bool in_time;
        for (size_t i = 0; i < count; i++, rest /= 18)
            one.parts[i] = (struct view_part_plan){rest % 3, rest / 3 % 3, rest / 9 % 2};
        if (!view_plan_figures(&world->conditions, &world->costs, &one, &in_time))
            continue;
        *ret_least = fmin(*ret_least, one.load);
        *ret_in_time += in_time;
        assert_true(!in_time || one.load <= 1);
    }
}

static void what_is_chosen_can_be_carried(void **state)
{
    uint64_t random = seed_of_run("view_rates");

    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct world world = {0};
        double least;
        size_t in_time;
        make(&world, views[round % ARRAY_SIZE(views)]);
        const struct figures figures = random_figures(&random);
        place(&world, &figures);
        struct view_plans plans = plan(&world);
        look_at_all(&world, &least, &in_time);
        assert_true((size_t)plans.in_time == in_time);
        assert_true((plans.count > 0) == (in_time > 0));
        for (size_t i = 0; i < plans.count; i++)
            assert_true(plans.list[i].load <= 1);
        if (plans.count == 0) { /* it is said that nothing can be carried only if that is so */
            assert_true((plans.latest.load > 1) == (least > 1));
            assert_true(plans.latest.load <= 1 || plans.latest.load <= least * (1 + 1e-9));
        }
        view_plans_done(&plans);
        unmake(&world);
    }
}

static void more_leaves_fewer_plans(void **state)
{
    uint64_t random = seed_of_run("view_rates");

    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct world world = {0};
        double least, least_of_more, least_of_wider;
        size_t in_time, of_more, of_wider;
        make(&world, views[round % ARRAY_SIZE(views)]);
        struct figures figures = random_figures(&random);
        place(&world, &figures);
        look_at_all(&world, &least, &in_time);
        for (int i = 0; i < 2; i++)
            figures.changes[i] *= random_between(&random, 1, 100);
        place(&world, &figures);
        look_at_all(&world, &least_of_more, &of_more);
        assert_true(of_more <= in_time && least_of_more >= least * (1 - 1e-9));
        for (int i = 0; i < 2; i++) {
            figures.reads[i] *= 1.5;
            figures.carries[i] *= 1.5;
        }
        place(&world, &figures);
        look_at_all(&world, &least_of_wider, &of_wider);
        assert_true(of_wider >= of_more && least_of_wider <= least_of_more * (1 + 1e-9));
        unmake(&world);
    }
}

/* A sensor that cannot evaluate conditions is given none; a condition that is measured to pass little makes its plan carried. */
static void what_is_measured_counts(void **state)
{
    struct world world = {0};
    struct figures figures = {
        .changes = {5000, 5000}, .passes = {0.01, 0.01}, .carries = {100, 100}};
    double least;
    size_t filtered, unfiltered;

    (void)state;
    make(&world, views[0]);
    place(&world, &figures);
    look_at_all(&world, &least, &filtered);
    assert_true(filtered > 0);
    figures.passes[0] = figures.passes[1] = 0.5;
    place(&world, &figures);
    look_at_all(&world, &least, &unfiltered);
    assert_true(unfiltered < filtered);
    figures.passes[0] = figures.passes[1] = 0.01;
    figures.sensor_passes = true;
    place(&world, &figures);
    struct view_plans plans = plan(&world);
    assert_true(plans.count > 0);
    for (size_t i = 0; i < plans.count; i++)
        for (size_t k = 0; k < 2; k++)
            assert_true(plans.list[i].parts[k].evaluates != VIEW_IN_SENSOR);
    view_plans_done(&plans);
    figures.carries[0] = figures.carries[1] = 0.01;
    place(&world, &figures);
    plans = plan(&world);
    assert_true(plans.count == 0 && plans.latest.load > 1 && !plans.latest.by_reading);
    view_plans_done(&plans);
    unmake(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_chosen_can_be_carried),
                                       cmocka_unit_test(more_leaves_fewer_plans),
                                       cmocka_unit_test(what_is_measured_counts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
