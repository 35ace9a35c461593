/* SPDX-License-Identifier: MIT */
/* usage_values.c: values of a usage, and their histograms. See usage_values.h. */
#include "analysis/statistics/usage_values.h"

#include "analysis/statistics/endpoints.h"

#include <errno.h>
#include <stdlib.h>

#define KIND_SHIFT 29
#define VALUE_MASK ((1u << KIND_SHIFT) - 1)

_Static_assert(VALUE_KINDS <= 1u << (32 - KIND_SHIFT), "each kind has a number");

static enum value_kind kind_of(uint32_t latest)
{
    return latest >> KIND_SHIFT;
}

enum time_kind time_kind_of(const struct usage *usage, enum value_kind kind)
{
    if (kind == VALUE_ANSWER)
        return usage->serves ? TIME_RESPONSE : TIME_REQUEST;
    if (kind == VALUE_ANSWER_WHOLE)
        return usage->serves ? TIME_RESPONSE_WHOLE : TIME_REQUEST_WHOLE;
    return TIME_MESSAGE_WAIT + (kind - VALUE_WAITS);
}

/* The usage's histogram of a kind; NULL: out of memory. */
static struct histogram *histogram_of(struct usage *usage, enum value_kind kind)
{
    if (usage->histograms == NULL)
        usage->histograms = calloc(1, sizeof(*usage->histograms));
    return usage->histograms == NULL ? NULL : &usage->histograms->of[kind];
}

static int add_to_histogram(struct usage *usage, enum value_kind kind, uint64_t value)
{
    struct histogram *histogram = histogram_of(usage, kind);

    return histogram == NULL ? -ENOMEM : histogram_add(histogram, value, USAGE_BUCKETS);
}

/* Insertion sort: the list is short. */
static void sort(uint32_t *list, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t value = list[i], at = i;
        for (; at > 0 && list[at - 1] > value; at--)
            list[at] = list[at - 1];
        list[at] = value;
    }
}

static int flush(struct usage *usage)
{
    struct latest_values *latest = &usage->latest;
    int result = 0;

    sort(latest->list, latest->count);
    for (uint32_t i = 0; result == 0 && i < latest->count; i++)
        result = add_to_histogram(usage, kind_of(latest->list[i]), latest->list[i] & VALUE_MASK);
    latest->count = 0;
    return result;
}

int usage_values_add(struct usage *usage, enum value_kind kind, uint64_t value)
{
    struct latest_values *latest = &usage->latest;

    if (value > VALUE_MASK)
        return add_to_histogram(usage, kind, value);
    if (latest->count == LATEST_MOST && flush(usage) < 0)
        return -ENOMEM;
    latest->list[latest->count++] = (uint32_t)kind << KIND_SHIFT | (uint32_t)value;
    return 0;
}

int usage_values_merge(struct usage *to, const struct usage *from)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < from->latest.count; i++)
        result =
            usage_values_add(to, kind_of(from->latest.list[i]), from->latest.list[i] & VALUE_MASK);
    for (enum value_kind kind = 0; result == 0 && from->histograms != NULL && kind < VALUE_KINDS;
         kind++) {
        const struct histogram *more = &from->histograms->of[kind];
        if (histogram_bars(more) == 0)
            continue;
        struct histogram *histogram = histogram_of(to, kind);
        result = histogram == NULL ? -ENOMEM : histogram_merge(histogram, more, USAGE_BUCKETS);
    }
    return result;
}

int usage_values_add_to(const struct usage *usage, enum value_kind kind,
                        struct histogram *histogram, unsigned most)
{
    int result = usage->histograms == NULL
                     ? 0
                     : histogram_merge(histogram, &usage->histograms->of[kind], most);

    for (uint32_t i = 0; result == 0 && i < usage->latest.count; i++)
        if (kind_of(usage->latest.list[i]) == kind)
            result = histogram_add(histogram, usage->latest.list[i] & VALUE_MASK, most);
    return result;
}
