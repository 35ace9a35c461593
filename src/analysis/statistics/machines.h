/* SPDX-License-Identifier: MIT */
/* machines.h: the machines of a result. Private to statistics/. */
#ifndef DPM_MACHINES_H
#define DPM_MACHINES_H

#include "analysis/statistics/statistics.h"

struct statistics;

/* Origins of one machine have the same; one that has not said which is a machine of its own. */
uint32_t machine_key(const struct statistics *statistics, uint32_t origin);

/* Index into a result's machines: these are in the order of their first origins. */
uint32_t machine_index(const struct statistics *statistics, uint32_t origin);

/* Makes them, with how far their clocks are apart by now. Returns 0 or -ENOMEM. */
int machines_build(const struct statistics *statistics, struct communication *result);

#endif
