/* SPDX-License-Identifier: MIT */
/*
 * intervals.h: what was sent in each stretch of time. Private to statistics/.
 *
 *      SEND of the first machine     | 12 messages | 7 | 0 | 31 | ...      as wide as they are shown
 *      SEND of another one           |2|1|0|0|5|1|0|0| ...                 finer, by its own clock
 *                                       '--at a result, by what is known of the clocks--> the first one's
 *
 * How far clocks are apart may be known only once messages have gone both ways.
 */
#ifndef DPM_INTERVALS_H
#define DPM_INTERVALS_H

#include "analysis/statistics/statistics.h"

struct statistics;

/* Stretches of one length, the first first; twice as long whenever there would be too many. */
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

/* Counts a SEND, or the RECEIVE of what an unmonitored peer has sent. `when`: by its origin's clock. */
int intervals_count(struct statistics *statistics, uint32_t origin, const struct record *record,
                    uint64_t when);

/* All of it by the first origin's clock, into a result. `begin`: the first record's time by that. */
int intervals_build(const struct statistics *statistics, uint64_t begin,
                    struct communication *result);

void intervals_done(struct intervals *intervals);

#endif
