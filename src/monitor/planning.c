/* SPDX-License-Identifier: MIT */
/* planning.c: a plan for a row. See planning.h. */
#include "monitor/planning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The instance as the user's costs have it, or with what is usual. */
static struct view_placed placed_of(const struct view_costs *costs, const char *entity,
                                    enum view_builtin builtin)
{
    struct view_placed placed = {.changes = view_usual_changes(costs, builtin),
                                 .selectivity = costs->selectivity};

    for (size_t i = 0; i < costs->placed_count; i++)
        if (view_same_name(costs->placed[i].entity, entity))
            placed = costs->placed[i];
    snprintf(placed.entity, sizeof(placed.entity), "%s", entity);
    return placed;
}

static void take_measured(struct view_placed *placed, const struct planning_place *place)
{
    placed->changes = place->changes > 0 ? place->changes : placed->changes;
    placed->passes = place->passes > 0 ? place->passes : placed->passes;
    placed->reads = place->reads > 0 ? place->reads : placed->reads;
    placed->carries = place->carries > 0 ? place->carries : placed->carries;
    placed->sensor_passes = place->sensor_passes;
}

static int place(const struct view_conditions *conditions, const struct view_costs *costs,
                 const struct planning_place *places, const char *central,
                 struct view_costs *ret_costs)
{
    size_t count = conditions->view->entity_count;
    struct view_placed *placed = calloc(count + 1, sizeof(*placed));

    if (placed == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        char entity[VIEW_ENTITY_SIZE];
        view_entity_text(&conditions->view->entities[i], entity);
        placed[i] = placed_of(costs, entity, conditions->view->entities[i].builtin);
        if (places[i].machine != NULL)
            snprintf(placed[i].machine, sizeof(placed[i].machine), "%s", places[i].machine);
        else if (placed[i].machine[0] == '\0') /* elsewhere: a machine of its own */
            snprintf(placed[i].machine, sizeof(placed[i].machine), "?%zu", i);
        if (places[i].process != 0)
            placed[i].process = places[i].process;
        take_measured(&placed[i], &places[i]);
    }
    *ret_costs = *costs;
    ret_costs->placed = placed;
    ret_costs->placed_count = ret_costs->placed_capacity = count;
    snprintf(ret_costs->central, sizeof(ret_costs->central), "%s", central);
    return 0;
}

/* `here`: as `place` makes them. */
static void why_full(const struct view *view, const struct view_costs *here,
                     const struct view_plan *plan, char text[PLANNING_WHY_SIZE])
{
    const struct view_placed *placed = &here->placed[plan->fullest];
    char entity[VIEW_ENTITY_SIZE];

    view_entity_text(&view->entities[plan->fullest], entity);
    int used =
        snprintf(text, PLANNING_WHY_SIZE, "%s changes %.0f times/s", entity, placed->changes);
    if (plan->most > 0 && used < PLANNING_WHY_SIZE)
        snprintf(text + used, PLANNING_WHY_SIZE - (size_t)used, ", and %s %s can %s %.0f records/s",
                 plan->by_reading ? "the monitor of" : "the way from", placed->machine,
                 plan->by_reading ? "read" : "carry", plan->most);
}

/* No plan is in time. */
static void say_why(const struct view *view, const struct view_costs *here,
                    const struct view_plans *plans, char line[512])
{
    char why[PLANNING_WHY_SIZE];

    if (plans->latest.load > 1) {
        why_full(view, here, &plans->latest, why);
        snprintf(line, 512, "view %s: cannot be kept: %s", view->name, why);
    } else if (plans->latest.window > plans->correct) {
        snprintf(line, 512,
                 "view %s: no plan is in time: values that are compared can be %.3g ms apart, "
                 "%.3g ms are allowed; see dpm view explain",
                 view->name, plans->latest.window / 1e6, plans->correct / 1e6);
    } else {
        snprintf(line, 512,
                 "view %s: no plan is in time: a notification arrives after %.3g ms, %.3g ms are "
                 "allowed; see dpm view explain",
                 view->name, plans->latest.notice / 1e6, (double)view->within / 1e6);
    }
}

int planning_choose(const struct view_conditions *conditions, const struct view_costs *costs,
                    const struct planning_place *places, const char *central,
                    struct view_plan *ret_plan, char line[512], struct problem *problem)
{
    struct view_costs here;
    struct view_plans plans = {0};

    if (place(conditions, costs, places, central, &here) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for plans");
    int result = view_plans_make(conditions, &here, &plans, problem);
    if (result == 0 && plans.count == 0)
        say_why(conditions->view, &here, &plans, line);
    if (result == 0)
        *ret_plan = plans.count > 0 ? plans.list[0] : plans.latest;
    view_plans_done(&plans);
    free(here.placed);
    return result;
}

int planning_look(const struct view_conditions *conditions, const struct view_costs *costs,
                  const struct planning_place *places, const char *central, struct view_plan *plan)
{
    struct view_costs here;
    bool in_time;

    if (place(conditions, costs, places, central, &here) < 0)
        return -ENOMEM;
    view_plan_figures(conditions, &here, plan, &in_time);
    free(here.placed);
    return in_time;
}

void planning_why(const struct view_conditions *conditions, const struct view_costs *costs,
                  const struct planning_place *places, const char *central,
                  const struct view_plan *plan, char text[PLANNING_WHY_SIZE])
{
    struct view_costs here;

    text[0] = '\0';
    if (place(conditions, costs, places, central, &here) < 0)
        return;
    why_full(conditions->view, &here, plan, text);
    free(here.placed);
}
