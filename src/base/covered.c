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
               ? covered->knots[after - 1].before
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

/* Drops about half of the knots: never two neighbours at once, as one supports the line without the other. */
static void drop_some(struct covered *covered)
{
    double shifts[COVERED_KNOTS + 2], sum = 0;
    uint32_t kept = 1, count = covered->count;
    bool dropped = false;

    for (uint32_t i = 1; i + 1 < count; i++)
        sum += shifts[i] = shift_without(covered, i);
    double mean = sum / (count - 2);
    for (uint32_t i = 1; i < count; i++) {
        dropped = !dropped && i + 1 < count && shifts[i] <= mean;
        if (!dropped)
            covered->knots[kept++] = covered->knots[i];
    }
    covered->count = kept;
}

/* What is covered until the end of the latest interval, with it. *ret_begin: until its begin. */
static uint64_t covered_with(const struct covered *covered, uint64_t *ret_begin)
{
    uint64_t begin = covered_before(covered, covered->from);
    uint64_t without = covered_before(covered, covered->to);
    uint64_t with = begin + (covered->to - covered->from);

    *ret_begin = begin;
    return with > without ? with : without;
}

/* Makes knots of the interval that was still growing. */
static void settle(struct covered *covered)
{
    uint32_t after = knot_after(covered, covered->to), first = after;
    uint64_t begin, end = covered_with(covered, &begin);

    if (covered->from == covered->to)
        return;
    uint64_t gain = after == covered->count ? 0 : end - covered_before(covered, covered->to);
    while (first > 0 && covered->knots[first - 1].time >= covered->from)
        first--;
    for (uint32_t i = after; i < covered->count; i++)
        covered->knots[i].before += gain;
    /* those from `first` to `after` are within the interval: two knots take their place */
    memmove(&covered->knots[first + 2], &covered->knots[after],
            (covered->count - after) * sizeof(*covered->knots));
    covered->knots[first] = (struct covered_knot){covered->from, begin};
    covered->knots[first + 1] = (struct covered_knot){covered->to, end};
    covered->count = first + 2 + covered->count - after;
    if (covered->count > COVERED_KNOTS)
        drop_some(covered);
}

void covered_add(struct covered *covered, uint64_t from, uint64_t to)
{
    if (to <= from)
        return;
    if (from > covered->to || to < covered->from) { /* apart from the latest one */
        settle(covered);
        covered->from = from;
        covered->to = to;
        return;
    }
    covered->from = from < covered->from ? from : covered->from;
    covered->to = to > covered->to ? to : covered->to;
}

uint64_t covered_time(const struct covered *covered)
{
    uint64_t begin, end = covered_with(covered, &begin);

    return end + covered_before(covered, UINT64_MAX) - covered_before(covered, covered->to);
}
