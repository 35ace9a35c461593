/* SPDX-License-Identifier: MIT */
/* intervals.c: what was sent in each interval of time. See intervals.h. */
#include "analysis/statistics/intervals.h"

#include "analysis/statistics/messages.h"
#include "analysis/statistics/rows.h"
#include "analysis/statistics/statistics_clocks.h"
#include "analysis/statistics/statistics_state.h"

#include <stdlib.h>
#include <string.h>

#define FINER 16 /* intervals of another machine's clock per interval of the result */

void intervals_done(struct intervals *intervals)
{
    free(intervals->first.list);
    for (size_t i = 0; i < intervals->other_capacity; i++)
        free(intervals->others[i].list);
    free(intervals->others);
}

/* Merges each two neighbouring intervals. */
static void double_length(struct stretches *stretches)
{
    for (size_t i = 0; i < stretches->count; i++) {
        struct traffic one = stretches->list[i];
        if (i % 2 == 0)
            stretches->list[i / 2] = one;
        else
            add_traffic(&stretches->list[i / 2], &one);
    }
    size_t left = (stretches->count + 1) / 2;
    memset(&stretches->list[left], 0, (stretches->count - left) * sizeof(*stretches->list));
    stretches->count = left;
    stretches->length *= 2;
}

static int reserve(struct stretches *stretches, uint64_t count)
{
    return array_reserve(&stretches->list, &stretches->capacity, count, sizeof(*stretches->list));
}

static uint64_t count_between(const struct stretches *stretches, uint64_t time)
{
    return time / stretches->length + (time % stretches->length != 0);
}

/* Adds intervals before the first one, so that they cover `time`. */
static int begin_earlier(struct stretches *stretches, uint64_t time)
{
    uint64_t earlier = stretches->begin - time;

    while (count_between(stretches, earlier) + stretches->count > MOST_INTERVALS)
        double_length(stretches);
    uint64_t more = count_between(stretches, earlier);
    if (reserve(stretches, stretches->count + more) < 0)
        return -ENOMEM;
    memmove(stretches->list + more, stretches->list, stretches->count * sizeof(*stretches->list));
    memset(stretches->list, 0, more * sizeof(*stretches->list));
    stretches->count += more;
    stretches->begin -= more * stretches->length;
    return 0;
}

static int count_at(struct stretches *stretches, uint64_t time, const struct traffic *sent)
{
    if (stretches->count == 0)
        stretches->begin = time;
    if (time < stretches->begin && begin_earlier(stretches, time) < 0)
        return -ENOMEM;
    uint64_t since = time - stretches->begin;
    while (since / stretches->length >= MOST_INTERVALS)
        double_length(stretches);
    size_t index = since / stretches->length;
    if (reserve(stretches, index + 1) < 0)
        return -ENOMEM;
    if (index >= stretches->count)
        stretches->count = index + 1;
    add_traffic(&stretches->list[index], sent);
    return 0;
}

/* NULL: out of memory. */
static struct stretches *stretches_of(struct statistics *statistics, uint32_t origin)
{
    struct intervals *intervals = &statistics->intervals;
    bool is_first = origin == 0 || (history_machine(statistics->history, origin) != NO_MACHINE &&
                                    history_machine(statistics->history, origin) ==
                                        history_machine(statistics->history, 0));
    struct stretches *stretches = &intervals->first;

    if (!is_first && array_reserve(&intervals->others, &intervals->other_capacity, origin + 1UL,
                                   sizeof(*intervals->others)) < 0)
        return NULL;
    if (!is_first)
        stretches = &intervals->others[origin];
    if (stretches->length == 0)
        stretches->length = is_first ? intervals->every : (intervals->every + FINER - 1) / FINER;
    return stretches;
}

int intervals_count(struct statistics *statistics, uint32_t origin, const struct traffic *sent,
                    uint64_t when)
{
    if (statistics->intervals.every == 0)
        return 0;
    struct stretches *stretches = stretches_of(statistics, origin);
    if (stretches == NULL)
        return -ENOMEM;
    return count_at(stretches, CLOCK_BASE + when, sent);
}

/* ---- the result ---- */

/* An interval of another machine counts in the first machine's interval that contains its middle. */
static int add_other(const struct statistics *statistics, uint32_t origin, struct stretches *sum)
{
    const struct stretches *other = &statistics->intervals.others[origin];
    uint64_t offset = clock_offset(statistics, origin);
    int result = 0;

    for (size_t i = 0; result == 0 && i < other->count; i++)
        if (other->list[i].messages > 0 || other->list[i].bytes > 0)
            result = count_at(sum, other->begin + i * other->length + other->length / 2 + offset,
                              &other->list[i]);
    return result;
}

static int copy_first(const struct stretches *first, struct stretches *copy)
{
    if (first->count > 0 && reserve(copy, first->count) < 0)
        return -ENOMEM;
    if (first->count > 0)
        memcpy(copy->list, first->list, first->count * sizeof(*first->list));
    copy->count = first->count;
    copy->begin = first->begin;
    copy->length = first->length;
    return 0;
}

int intervals_build(const struct statistics *statistics, uint64_t begin,
                    struct communication *result)
{
    const struct intervals *intervals = &statistics->intervals;
    struct stretches sum = {0};

    if (intervals->every == 0)
        return 0;
    int error = copy_first(&intervals->first, &sum);
    if (sum.length == 0)
        sum.length = intervals->every;
    for (uint32_t i = 0; error == 0 && i < intervals->other_capacity; i++)
        error = add_other(statistics, i, &sum);
    result->intervals = sum.list;
    result->interval = sum.length;
    result->interval_count = sum.count;
    if (sum.count > 0)
        result->interval_begin = (int64_t)(sum.begin - begin);
    return error;
}
