/* SPDX-License-Identifier: MIT */
/* copying.h: takes rows of one result over into another. Private to statistics/. */
#ifndef DPM_STATISTICS_COPYING_H
#define DPM_STATISTICS_COPYING_H

#include "analysis/statistics/statistics.h"

/* Adds the pairs and paths of `from`, of whose processes number i is map[i] in the result. Returns 0 or -ENOMEM. */
int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from);

#endif
