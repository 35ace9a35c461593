/* SPDX-License-Identifier: MIT */
/* planning.h: chooses the plan of a row, for where its instances are and what was measured. Private to monitor/. */
#ifndef DPM_PLANNING_H
#define DPM_PLANNING_H

#include "view/planner.h"

struct planning_place {
    const char *machine; /* NULL: unknown */
    uint32_t process;    /* 0: unknown */
    /* as in struct view_placed, of this view; 0: not measured */
    double changes, passes, reads, carries;
    bool sensor_passes;
};

/* `costs`: their places say how often an instance changes if that was not measured; where it is, `places` says, by entity. `central`:
 * machine of the central monitor. If no plan is in time, chooses the one that is nearest to that, and `note` gets a line
 * for the user. Returns 0 or a negative errno with a line in `problem`. */
int planning_choose(const struct view_conditions *conditions, const struct view_costs *costs,
                    const struct planning_place *places, const char *central,
                    struct view_plan *ret_plan, char note[512], struct problem *problem);

/* The figures of a plan with what is measured now. Returns 1 if it is in time, else 0, or a negative errno. */
int planning_look(const struct view_conditions *conditions, const struct view_costs *costs,
                  const struct planning_place *places, const char *central, struct view_plan *plan);

/* "QueueManager[1] changes 4400 times/s, and the way from web1 can carry 1200 records/s": why a plan cannot be carried. */
#define PLANNING_WHY_SIZE 400
void planning_why(const struct view_conditions *conditions, const struct view_costs *costs,
                  const struct planning_place *places, const char *central,
                  const struct view_plan *plan, char text[PLANNING_WHY_SIZE]);

#endif
