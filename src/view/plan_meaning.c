/* SPDX-License-Identifier: MIT */
/* plan_meaning.c: which plans keep the meaning of a view (section IV.B, step 1). Times do not matter here. */
#include "view/plan_world.h"

bool plan_part_keeps_meaning(const struct plan_world *world, const struct view_plan *plan,
                             uint32_t entity)
{
    const struct view_part_plan *part = &plan->parts[entity];

    /* the resident monitor computes figures at the end of each interval: no sensor does, and nothing is to be probed */
    if (world->conditions->view->entities[entity].builtin != VIEW_PROGRAM &&
        (part->collection != VIEW_TRACED || part->evaluates == VIEW_IN_SENSOR ||
         part->route != VIEW_BY_RESIDENT))
        return false;
    /* what has no condition of its own can only be evaluated as part of the whole */
    if (part->evaluates > plan->top ||
        (!world->places[entity].filtered && part->evaluates != plan->top))
        return false;
    if (part->evaluates == VIEW_IN_SENSOR && world->places[entity].sensor_passes)
        return false;
    /* the predicate of a single instance is its condition: there is nothing left to evaluate elsewhere */
    if (world->count == 1 && part->evaluates != plan->top)
        return false;
    /* a resident monitor sees no record that goes straight to the central one */
    if (part->route == VIEW_STRAIGHT &&
        (part->evaluates == VIEW_IN_RESIDENT || plan->top == VIEW_IN_RESIDENT ||
         plan->notifies == VIEW_IN_RESIDENT))
        return false;
    if (part->route == VIEW_SHARED && !world->costs->shared)
        return false;
    /* a probe is code of the resident monitor, outside of the program */
    return part->collection != VIEW_PROBED ||
           (part->evaluates != VIEW_IN_SENSOR && part->route == VIEW_BY_RESIDENT);
}

/* All instances are where the predicate is evaluated. */
static bool is_within_reach(const struct plan_world *world, const struct view_plan *plan)
{
    for (uint32_t i = 1; i < world->count && plan->top != VIEW_IN_CENTRAL; i++) {
        const struct plan_place *first = &world->places[0], *other = &world->places[i];
        if (first->machine != other->machine ||
            (plan->top == VIEW_IN_SENSOR && first->process != other->process))
            return false;
    }
    return true;
}

bool plan_keeps_meaning(const struct plan_world *world, const struct view_plan *plan)
{
    uint32_t probed = plan_probed(world, plan);

    if (!is_within_reach(world, plan) || (plan->dedicated && !world->costs->spare))
        return false;
    for (uint32_t i = 0; i < world->count && world->costs->central_notifies; i++)
        if (plan->notifies == VIEW_IN_RESIDENT && world->places[i].to_central != VIEW_ON_MACHINE)
            return false;
    if (plan->notifies == VIEW_IN_SENSOR ||
        (plan->notifies == VIEW_IN_RESIDENT && plan->top == VIEW_IN_CENTRAL))
        return false;
    for (uint32_t i = 0; i < world->count; i++)
        if (!plan_part_keeps_meaning(world, plan, i))
            return false;
    /* something must show when to probe: a condition without which the predicate cannot be true */
    return probed == 0 || !plan_may_hold(world, world->conditions->predicate, probed);
}
