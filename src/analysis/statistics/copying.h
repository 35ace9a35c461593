/* SPDX-License-Identifier: MIT */
/* copying.h: copies rows of one result into another. Private to statistics/. */
#ifndef DPM_STATISTICS_COPYING_H
#define DPM_STATISTICS_COPYING_H

#include "analysis/statistics/statistics.h"

/* Adds the pairs and paths of `from`. Its process i is process map[i] of `result`. Returns 0 or -ENOMEM. */
int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from);

#endif
