/* SPDX-License-Identifier: MIT */
/*
 * plans.c: enumerates plans, prunes them on the way, and chooses (section IV.B). With two instances on different
 * machines: 1944 combinations, 140 feasible, 24 groups.
 */
#include "view/plan_world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MOST (VIEW_COLLECTIONS * VIEW_SITES * VIEW_ROUTES)
#define PRODUCT_MOST 200000.0 /* plans with the same top, notifier and processor */

struct option {
    struct view_part_plan part;
    double busy, delay;
};

struct options {
    struct option list[OPTIONS_MOST];
    size_t count;
};

struct search {
    const struct plan_world *world;
    struct view_plans *plans;
    struct view_plan plan; /* being made */
    struct options options[VIEW_ENTITIES_MOST];
    struct intern groups; /* index: of the group's best plan in plans->list */
    int error;
};

static int by_busy(const void *one, const void *other)
{
    double left = ((const struct option *)one)->busy, right = ((const struct option *)other)->busy;

    return (left > right) - (left < right);
}

/* The options of an instance that keep the meaning, given top, notifier and processor; the cheapest first. */
static void find_options(struct search *search, uint32_t entity)
{
    struct options *options = &search->options[entity];
    struct view_plan *plan = &search->plan;

    options->count = 0;
    for (unsigned i = 0; i < OPTIONS_MOST; i++) {
        const struct view_part_plan part = {i % VIEW_COLLECTIONS, i / VIEW_COLLECTIONS % VIEW_SITES,
                                            i / VIEW_COLLECTIONS / VIEW_SITES};
        plan->parts[entity] = part;
        plan->period = 10e6; /* some: only to put options in order */
        if (plan_part_keeps_meaning(search->world, plan, entity))
            options->list[options->count++] =
                (struct option){part, plan_part_busy(search->world, plan, entity),
                                plan_part_delay(search->world, plan, entity)};
    }
    qsort(options->list, options->count, sizeof(options->list[0]), by_busy);
}

/* Keeps the cheapest, and the one with the least delay. */
static void reduce(struct options *options, size_t most)
{
    size_t quickest = 0;

    for (size_t i = 1; i < options->count; i++)
        if (options->list[i].delay < options->list[quickest].delay)
            quickest = i;
    if (quickest >= most)
        options->list[most - 1] = options->list[quickest];
    options->count = most < options->count ? most : options->count;
}

/* The better of two plans: less of the first that differs. `first` is CPU time per record or per notification. */
static bool is_better(double first, double other, const struct view_plan *one,
                      const struct view_plan *two)
{
    if (fabs(first - other) > 1e-9 * fmax(first, other))
        return first < other;
    if (fabs(one->traffic - two->traffic) > 1e-9 * fmax(one->traffic, two->traffic))
        return one->traffic < two->traffic;
    return one->notice < two->notice;
}

/* Whether a plan that is not in time is nearer to that. */
static bool is_nearer(const struct view_plan *one, const struct view_plan *other)
{
    if (one->load > 1 || other->load > 1)
        return one->load < other->load;
    return one->window < other->window;
}

/* Steps 2 and 3. */
static void take_plan(struct search *search)
{
    struct view_plans *plans = search->plans;
    struct view_plan plan = search->plan;

    if (!plan_keeps_meaning(search->world, &plan))
        return;
    bool in_time = plan_figures(search->world, plans->correct, &plan);
    if (plans->feasible++ == 0 || is_nearer(&plan, &plans->latest))
        plans->latest = plan;
    if (!in_time)
        return;
    plans->in_time++;
    int64_t index = intern_add(&search->groups, plan.group);
    if (index < 0 || array_reserve(&plans->list, &plans->capacity, (size_t)index + 1,
                                   sizeof(*plans->list)) < 0) {
        search->error = -ENOMEM;
        return;
    }
    struct view_plan *best = &plans->list[index];
    if ((size_t)index == plans->count) {
        *best = plan;
        plans->count++;
    } else if (is_better(plan.per_record, best->per_record, &plan, best)) {
        *best = plan;
    }
}

static void combine(struct search *search, uint32_t entity)
{
    if (search->error < 0)
        return;
    if (entity == search->world->count) {
        take_plan(search);
        return;
    }
    for (size_t i = 0; i < search->options[entity].count; i++) {
        search->plan.parts[entity] = search->options[entity].list[i].part;
        combine(search, entity + 1);
    }
}

static void search_top(struct search *search, enum view_site top, enum view_site notifies,
                       bool dedicated)
{
    const struct plan_world *world = search->world;
    double product = 1;

    search->plan = (struct view_plan){.top = top, .notifies = notifies, .dedicated = dedicated};
    for (uint32_t i = 0; i < world->count; i++) {
        find_options(search, i);
        product *= (double)search->options[i].count;
    }
    if (product > PRODUCT_MOST) {
        search->plans->pruned = true;
        for (uint32_t i = 0; i < world->count; i++)
            reduce(&search->options[i], (size_t)pow(PRODUCT_MOST, 1.0 / (double)world->count));
    }
    combine(search, 0);
}

/* Step 4: the chosen plan first, then the others in order. */
static int by_notification(const void *one, const void *other)
{
    const struct view_plan *left = one, *right = other;

    if (is_better(left->per_notification, right->per_notification, left, right))
        return -1;
    return is_better(right->per_notification, left->per_notification, right, left) ? 1 : 0;
}

int view_plans_make(const struct view_conditions *conditions, const struct view_costs *costs,
                    struct view_plans *ret_plans, struct problem *problem)
{
    struct view_plans plans = {0};
    struct plan_world world;
    struct search *search = calloc(1, sizeof(*search));

    if (search == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for plans");
    plan_world_make(conditions, costs, &world);
    search->world = &world;
    search->plans = &plans;
    plans.correct = conditions->view->has_correct ? (double)conditions->view->correct
                                                  : view_largest_delay(conditions->view, costs);
    plans.all = pow(VIEW_COLLECTIONS * VIEW_SITES * (costs->shared ? 3 : 2), (double)world.count) *
                VIEW_SITES * 2 * (costs->spare ? 2 : 1);
    for (int top = 0; top < VIEW_SITES; top++)
        for (int notifies = VIEW_IN_RESIDENT; notifies <= VIEW_IN_CENTRAL; notifies++)
            for (int dedicated = 0; dedicated <= costs->spare; dedicated++)
                search_top(search, (enum view_site)top, (enum view_site)notifies, dedicated != 0);
    int error = search->error;
    intern_done(&search->groups);
    free(search);
    if (error < 0) {
        view_plans_done(&plans);
        return problem_set(problem, error, "out of memory for plans");
    }
    if (plans.count > 1)
        qsort(plans.list, plans.count, sizeof(*plans.list), by_notification);
    *ret_plans = plans;
    return 0;
}

void view_plans_done(struct view_plans *plans)
{
    free(plans->list);
    plans->list = NULL;
    plans->count = 0;
}

bool view_plan_figures(const struct view_conditions *conditions, const struct view_costs *costs,
                       struct view_plan *plan, bool *ret_in_time)
{
    struct plan_world world;
    double correct = conditions->view->has_correct ? (double)conditions->view->correct
                                                   : view_largest_delay(conditions->view, costs);

    plan_world_make(conditions, costs, &world);
    *ret_in_time = plan_figures(&world, correct, plan);
    return plan_keeps_meaning(&world, plan);
}

void view_part_text(const struct view_part_plan *part, enum view_builtin builtin,
                    bool has_condition, char text[VIEW_PART_SIZE])
{
    static const char *const collections[] = {"traced", "sampled", "probed"};
    static const char *const sites[] = {"in the sensor", "in the resident monitor",
                                        "in the central monitor"};
    static const char *const routes[] = {"by the resident monitor",
                                         "straight to the central monitor", "in shared memory"};

    snprintf(text, VIEW_PART_SIZE, "%s, %s%s, records %s",
             builtin == VIEW_PROGRAM ? collections[part->collection] : "figures of each interval",
             has_condition ? "condition " : "no condition of its own",
             has_condition ? sites[part->evaluates] : "", routes[part->route]);
}
