/* SPDX-License-Identifier: MIT */
/*
 * histogram.h: the distribution of values, in little memory.
 *
 *      values --histogram_add()--> histogram --histogram_quantile()--> p50, p99 ...
 */
#ifndef DPM_HISTOGRAM_H
#define DPM_HISTOGRAM_H

#include "base/base.h"

/* All zero: empty. The owner frees its memory with histogram_done(). */
struct histogram {
    struct histogram_body *body; /* NULL: no values */
};

struct histogram_body {
    uint64_t sum;
    uint64_t min, max;
    uint8_t used; /* buckets */
    uint8_t capacity;
    uint8_t shift;
    uint8_t latest;     /* bucket of the latest value: the next one is often in it, too */
    uint64_t buckets[]; /* [capacity], see histogram.c */
};

/* All three are 0 without values. */
static inline uint64_t histogram_sum(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->sum;
}

static inline uint64_t histogram_min(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->min;
}

static inline uint64_t histogram_max(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->max;
}

/* Number of its bars (buckets). */
static inline unsigned histogram_bars(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->used;
}

/* The most buckets of a histogram; and of one of which there are many. Up to HISTOGRAM_EXACT buckets are a 1,024th of an
 * octave, or one value. If there are more values, they become twice as wide, and so on, up to a sixteenth of an octave;
 * then so wide that `most` suffice. Values are assumed to be evenly spread within a bucket. */
#define HISTOGRAM_MOST  160
#define HISTOGRAM_SOME  24
#define HISTOGRAM_EXACT 32

/* Values `from` to `to`, both included. */
struct histogram_bar {
    uint64_t from, to, count;
};

/* Add a value, or all of `from`, with at most `most` buckets. Return 0 or -ENOMEM. After an error the histogram is
 * incomplete and can only be freed. */
int histogram_add(struct histogram *histogram, uint64_t value, unsigned most);
int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most);

/* Removes the values of an earlier state of the same histogram. The extremes of those that are left are known to a bucket,
 * unless they are new ones. */
void histogram_subtract(struct histogram *histogram, const struct histogram *earlier);

uint64_t histogram_count(const struct histogram *histogram);

/* The value of nearest rank: at least this share (0 to 1) of the values is not greater. 0 if there are none. Exact to the
 * width of its bucket; the least and the largest value are exact. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* Bar `index` (below histogram_bars()), in ascending order of values. */
struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index);

void histogram_done(struct histogram *histogram);

#endif
