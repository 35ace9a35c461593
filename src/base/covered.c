/* SPDX-License-Identifier: MIT */
/*
 * covered.c: a polyline of what is covered. See covered.h.
 *
 *      before                        .------- o (80, 40)
 *        40            o------------o (70, 30)              30: nothing is covered from 40 to 70
 *                    / (40, 30)
 *         0  o------'
 *          (10, 0)                                  time
 */
#include "base/covered.h"

#include <math.h>
#include <string.h>

/* Between two knots. Exact where all of the time between them is covered, or nothing. */
static uint64_t interpolate(const struct covered_knot *a, const struct covered_knot *b,
                            uint64_t time)
{
    if (b->before - a->before == b->time - a->time)
        return a->before + (time - a->time);
    double part = (double)(time - a->time) / (double)(b->time - a->time);
    return a->before + (uint64_t)(part * (double)(b->before - a->before) + 0.5);
}

/* The first knot after a time, or `count`. */
static uint32_t knot_after(const struct covered *covered, uint64_t time)
{
    uint32_t i = covered->count; /* from the end: most intervals have just ended */

    while (i > 0 && covered->knots[i - 1].time > time)
        i--;
    return i;
}

static uint64_t covered_before(const struct covered *covered, uint64_t time)
{
    uint32_t after = knot_after(covered, time);

    if (after == 0)
        return 0;
    return after == covered->count
               ? covered_time(covered)
               : interpolate(&covered->knots[after - 1], &covered->knots[after], time);
}

/* How far the line moves without this knot. The longer ago, the less it matters: few intervals still begin there. */
static double shift_without(const struct covered *covered, uint32_t i)
{
    const struct covered_knot *knot = &covered->knots[i];
    uint64_t line = interpolate(knot - 1, knot + 1, knot->time);
    uint64_t shift = line > knot->before ? line - knot->before : knot->before - line;

    return (double)shift / (double)(covered->knots[covered->count - 1].time - knot->time);
}

static void drop(struct covered *covered, uint32_t i)
{
    covered->count--;
    memmove(&covered->knots[i], &covered->knots[i + 1],
            (covered->count - i) * sizeof(*covered->knots));
}

static void drop_one(struct covered *covered)
{
    uint32_t best = 1;
    double least = HUGE_VAL;

    for (uint32_t i = 1; i + 1 < covered->count; i++) {
        double shift = shift_without(covered, i);
        if (shift < least) {
            least = shift;
            best = i;
        }
    }
    drop(covered, best);
}

void covered_add(struct covered *covered, uint64_t from, uint64_t to)
{
    if (to <= from)
        return;
    uint64_t begin = covered_before(covered, from), end = covered_before(covered, to);
    uint64_t gain = to - from > end - begin ? to - from - (end - begin) : 0;
    uint32_t first = 0, after = knot_after(covered, to);
    while (first < covered->count && covered->knots[first].time < from)
        first++;
    for (uint32_t i = after; i < covered->count; i++)
        covered->knots[i].before += gain;
    /* those from `first` to `after` are within the interval: two knots take their place */
    memmove(&covered->knots[first + 2], &covered->knots[after],
            (covered->count - after) * sizeof(*covered->knots));
    covered->knots[first] = (struct covered_knot){from, begin};
    covered->knots[first + 1] = (struct covered_knot){to, end + gain};
    covered->count = first + 2 + covered->count - after;
    while (covered->count > COVERED_KNOTS)
        drop_one(covered);
}
