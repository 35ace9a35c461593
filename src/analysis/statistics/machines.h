/* SPDX-License-Identifier: MIT */
/* machines.h: the machines of a result. Private to statistics/. */
#ifndef DPM_MACHINES_H
#define DPM_MACHINES_H

#include "analysis/statistics/statistics.h"

struct statistics;

/* Equal for all origins of one machine. An origin without a MACHINE record counts as a machine of its own. */
uint32_t machine_key(const struct statistics *statistics, uint32_t origin);

/* Index into a result's machines, which are in the order of their first origins. */
uint32_t machine_index(const struct statistics *statistics, uint32_t origin);

/* Fills in the machines of a result, with the clock offsets known by now. Returns 0 or -ENOMEM. */
int machines_build(const struct statistics *statistics, struct communication *result);

#endif
