/* SPDX-License-Identifier: MIT */
/* plan_world.h: where the instances of a view are, as costs say, and what is estimated of its conditions. Private to
 * view/. */
#ifndef DPM_VIEW_PLAN_WORLD_H
#define DPM_VIEW_PLAN_WORLD_H

#include "view/planner.h"

struct plan_place {
    uint32_t machine; /* instances with the same number share a machine */
    uint32_t process; /* the same for processes */
    enum view_distance to_central;
    double changes;     /* per second */
    double selectivity; /* of a comparison */
    double comparisons; /* in its conditions */
    double
        passes; /* share of its values for which a condition is true; 1: all, it has none that can be alone */
    bool filtered;         /* its conditions can be evaluated before the whole predicate */
    bool sensor_passes;    /* ... but not by its sensors */
    double reads, carries; /* records per second; 0: no limit */
};

struct plan_world {
    const struct view_conditions *conditions;
    const struct view_costs *costs;
    struct plan_place places[VIEW_ENTITIES_MOST];
    size_t count;
    uint32_t in_predicate; /* set of instances */
    double comparisons;    /* in the predicate */
    double share;          /* of the time for which it is true */
    bool several_machines;
};

void plan_world_make(const struct view_conditions *conditions, const struct view_costs *costs,
                     struct plan_world *ret_world);

/* The share of evaluations for which an expression is true, if conditions on the instances in `assumed` are. AND
 * multiplies. */
double plan_share(const struct plan_world *world, const struct view_expression *expression,
                  uint32_t assumed);

/* Whether the predicate can be true if all conditions without an instance in `assumed` are false. */
bool plan_may_hold(const struct plan_world *world, const struct view_expression *expression,
                   uint32_t assumed);

/* plan_meaning.c: step 1. */
bool plan_keeps_meaning(const struct plan_world *world, const struct view_plan *plan);
/* The same for what concerns one instance alone. */
bool plan_part_keeps_meaning(const struct plan_world *world, const struct view_plan *plan,
                             uint32_t entity);

/* plan_figures.c: steps 2 to 4. Returns whether the plan is in time. */
bool plan_figures(const struct plan_world *world, double correct, struct view_plan *plan);
/* What one instance adds to `busy`, about. */
double plan_part_busy(const struct plan_world *world, const struct view_plan *plan,
                      uint32_t entity);
/* ns that a record of an instance takes to the place where the predicate is evaluated. */
double plan_part_delay(const struct plan_world *world, const struct view_plan *plan,
                       uint32_t entity);

uint32_t plan_probed(const struct plan_world *world, const struct view_plan *plan);

#endif
