/* SPDX-License-Identifier: MIT */
/*
 * intervals.c: what was sent in each stretch of time, by the first origin's clock. See statistics_private.h.
 *
 *      SEND --clock known--> | 12 messages | 7 | 0 | 31 | ...      stretches of one length, the first first
 *           '--not yet-----> early sends of its origin, until the result is made, or there are too many
 *
 * Before messages have gone both ways clocks of the day may be hours apart: what was sent so early waits, for it would
 * stand in a stretch of its own far from all others.
 */
#include "analysis/statistics/statistics_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EARLY 65536 /* of an origin */

/* Two become one. */
static void double_interval(struct statistics *statistics)
{
    for (size_t i = 0; i < statistics->interval_count; i++) {
        struct traffic one = statistics->intervals[i];
        if (i % 2 == 0)
            statistics->intervals[i / 2] = one;
        else
            add_traffic(&statistics->intervals[i / 2], &one);
    }
    size_t left = (statistics->interval_count + 1) / 2;
    memset(&statistics->intervals[left], 0,
           (statistics->interval_count - left) * sizeof(*statistics->intervals));
    statistics->interval_count = left;
    statistics->interval *= 2;
}

static int reserve(struct statistics *statistics, uint64_t count)
{
    return array_reserve(&statistics->intervals, &statistics->interval_capacity, count,
                         sizeof(*statistics->intervals));
}

/* How many stretches lie between. */
static uint64_t stretches(const struct statistics *statistics, uint64_t time)
{
    return time / statistics->interval + (time % statistics->interval != 0);
}

/* Stretches before the first one, so that they cover `time`, too. Returns 0 or -ENOMEM. */
static int begin_earlier(struct statistics *statistics, uint64_t time)
{
    uint64_t earlier = statistics->interval_begin - time;

    while (stretches(statistics, earlier) + statistics->interval_count > MOST_INTERVALS)
        double_interval(statistics);
    uint64_t more = stretches(statistics, earlier);
    if (reserve(statistics, statistics->interval_count + more) < 0)
        return -ENOMEM;
    memmove(statistics->intervals + more, statistics->intervals,
            statistics->interval_count * sizeof(*statistics->intervals));
    memset(statistics->intervals, 0, more * sizeof(*statistics->intervals));
    statistics->interval_count += more;
    statistics->interval_begin -= more * statistics->interval;
    return 0;
}

static int count_at(struct statistics *statistics, uint64_t time, const struct traffic *sent)
{
    if (statistics->interval_count == 0)
        statistics->interval_begin = time;
    if (time < statistics->interval_begin && begin_earlier(statistics, time) < 0)
        return -ENOMEM;
    uint64_t since = time - statistics->interval_begin;
    while (since / statistics->interval >= MOST_INTERVALS)
        double_interval(statistics);
    size_t index = since / statistics->interval;
    if (reserve(statistics, index + 1) < 0)
        return -ENOMEM;
    if (index >= statistics->interval_count)
        statistics->interval_count = index + 1;
    add_traffic(&statistics->intervals[index], sent);
    return 0;
}

static int count_early(struct statistics *statistics, uint32_t origin)
{
    struct early_sends *early = &statistics->origins[origin].early;
    uint64_t base = CLOCK_BASE + (uint64_t)statistics->origins[origin].clock_offset;
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < early->count; i++)
        result = count_at(statistics, base + early->list[i].time, &early->list[i].sent);
    free(early->list);
    *early = (struct early_sends){0};
    return result;
}

int intervals_count_early(struct statistics *statistics)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < statistics->origin_count; i++)
        result = count_early(statistics, i);
    return result;
}

static int wait_for_clock(struct statistics *statistics, uint32_t origin,
                          const struct early_send *send)
{
    struct early_sends *early = &statistics->origins[origin].early;

    if (array_reserve(&early->list, &early->capacity, early->count + 1UL, sizeof(*early->list)) < 0)
        return -ENOMEM;
    early->list[early->count++] = *send;
    return early->count < MOST_EARLY ? 0 : count_early(statistics, origin);
}

int intervals_count(struct statistics *statistics, uint32_t origin, const struct record *record,
                    uint64_t time)
{
    struct traffic sent = {0};

    count_message(&sent, record);
    if (statistics->origins[origin].reference == 0)
        return count_at(statistics, time, &sent);
    const struct early_send send = {record->header.time - message_span(record), sent};
    return wait_for_clock(statistics, origin, &send);
}
