/* SPDX-License-Identifier: MIT */
/*
 * covered.h: how much time is covered by at least one of many intervals, in constant memory.
 *
 *      [10 ------ 30]
 *              [20 ------ 40]            [70 - 80]     the sum is 50, 40 are covered
 *
 * Intervals come in any order, mostly that of their ends. What was covered until a time is kept as a polyline of few
 * knots, so an interval knows how much of it was covered before. Until there are more knots than fit, the result is
 * exact. Afterwards knots are dropped without which the line changes little (recent ones count more), and the result is
 * an estimate: never more than the sum of all intervals or the time from the first begin to the last end, never less
 * than the longest interval.
 */
#ifndef DPM_COVERED_H
#define DPM_COVERED_H

#include "base/base.h"

#define COVERED_KNOTS 24

/* All zero: nothing is covered. */
struct covered {
    uint64_t from, to; /* the latest interval, which grows while others overlap it */
    uint32_t count;
    struct covered_knot {
        uint64_t time;
        uint64_t before;        /* how much is covered before that time */
    } knots[COVERED_KNOTS + 2]; /* of the earlier intervals */
};

void covered_add(struct covered *covered, uint64_t from, uint64_t to);
uint64_t covered_time(const struct covered *covered);

#endif
