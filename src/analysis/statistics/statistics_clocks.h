/* SPDX-License-Identifier: MIT */
/*
 * statistics_clocks.h: times by the first origin's clock. Private to statistics/.
 *
 *      time of an origin + CLOCK_BASE + offset = time of the first origin's clock
 *
 * What is kept is kept by its origin's own clock: only a result compares, by what is known of the clocks then.
 */
#ifndef DPM_STATISTICS_CLOCKS_H
#define DPM_STATISTICS_CLOCKS_H

#include "analysis/statistics/statistics_state.h"

/* Another machine's event may be older than the first one's boot, where its clock began: so that no time is negative, all are
 * counted from here. */
#define CLOCK_BASE (1ULL << 62)

static inline uint64_t clock_offset(const struct statistics *statistics, uint32_t origin)
{
    uint64_t error;
    int64_t offset = 0;

    if (origin != 0 && origin < statistics->origin_count)
        history_clock(statistics->history, origin, statistics->origins[origin].last_time, &offset,
                      &error);
    return (uint64_t)offset;
}

/* Of its records. */
static inline uint64_t first_time_of(const struct statistics *statistics, uint32_t origin)
{
    return CLOCK_BASE + statistics->origins[origin].first_time + clock_offset(statistics, origin);
}

static inline uint64_t last_time_of(const struct statistics *statistics, uint32_t origin)
{
    return CLOCK_BASE + statistics->origins[origin].last_time + clock_offset(statistics, origin);
}

#endif
