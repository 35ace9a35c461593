/* SPDX-License-Identifier: MIT */
/*
 * intervals.h: what was sent in each interval of time. Private to statistics/.
 *
 *      SEND of the first machine     | 12 messages | 7 | 0 | 31 | ...      as long as in the result
 *      SEND of another machine       |2|1|0|0|5|1|0|0| ...                 shorter, by its own clock
 *                                       '--for a result: clocks as known by then--> the first machine's
 *
 * The offset between two clocks may be known only once messages have gone both ways.
 */
#ifndef DPM_INTERVALS_H
#define DPM_INTERVALS_H

#include "analysis/statistics/statistics.h"

struct statistics;

/* Intervals of one length, in order of time. Their length doubles whenever there would be too many. */
struct stretches {
    struct traffic *list;
    size_t count;
    size_t capacity;
    uint64_t length; /* ns */
    uint64_t begin;  /* of the first, ns after CLOCK_BASE */
};

struct intervals {
    uint64_t every;           /* ns; 0: not asked for */
    struct stretches first;   /* of the first origin's machine */
    struct stretches *others; /* by origin: of other machines, by their own clocks */
    size_t other_capacity;
};

/* These return 0 or -ENOMEM. */

/* Counts what was sent. `when`: by its origin's clock. */
int intervals_count(struct statistics *statistics, uint32_t origin, const struct traffic *sent,
                    uint64_t when);

/* Fills in the intervals of a result, by the first origin's clock. `begin`: time of the first record by that clock. */
int intervals_build(const struct statistics *statistics, uint64_t begin,
                    struct communication *result);

void intervals_done(struct intervals *intervals);

#endif
