/* SPDX-License-Identifier: MIT */
/* planning.h: chooses the plan of a row, for where its instances are. Private to monitor/. */
#ifndef DPM_PLANNING_H
#define DPM_PLANNING_H

#include "view/planner.h"

struct planning_place {
    const char *machine; /* NULL: unknown */
    uint32_t process;    /* 0: unknown */
};

/* `costs`: their places say how often an instance changes; where it is, `places` says, by entity. `central`: machine of
 * the central monitor. If no plan is in time, chooses the one whose values are the least apart, and `note` gets a line
 * for the user. Returns 0 or a negative errno with a line in `problem`. */
int planning_choose(const struct view_conditions *conditions, const struct view_costs *costs,
                    const struct planning_place *places, const char *central,
                    struct view_plan *ret_plan, char note[512], struct problem *problem);

#endif
