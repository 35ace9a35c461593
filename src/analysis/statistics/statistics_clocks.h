/* SPDX-License-Identifier: MIT */
/*
 * statistics_clocks.h: times by the first origin's clock. Private to statistics/.
 *
 *      time of an origin + CLOCK_BASE + offset = time of the first origin's clock
 *
 * Times are kept by their origin's own clock. Only a result converts them, with the clock offsets known by then.
 */
#ifndef DPM_STATISTICS_CLOCKS_H
#define DPM_STATISTICS_CLOCKS_H

#include "analysis/statistics/statistics_state.h"

/* Added to all times to keep them positive: an event of another machine may be older than the boot of the first
 * machine, at which its clock was 0. */
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

/* Times of the first and the last record of an origin, by the first origin's clock. */
static inline uint64_t first_time_of(const struct statistics *statistics, uint32_t origin)
{
    return CLOCK_BASE + statistics->origins[origin].first_time + clock_offset(statistics, origin);
}

static inline uint64_t last_time_of(const struct statistics *statistics, uint32_t origin)
{
    return CLOCK_BASE + statistics->origins[origin].last_time + clock_offset(statistics, origin);
}

#endif
