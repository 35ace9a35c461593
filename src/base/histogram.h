/* SPDX-License-Identifier: MIT */
/*
 * histogram.h: how values are distributed, in little memory.
 *
 *      values --histogram_add()--> histogram --histogram_quantile()--> p50, p99 ...
 */
#ifndef DPM_HISTOGRAM_H
#define DPM_HISTOGRAM_H

#include "base/base.h"

/* How values are distributed. All zero is an empty one. Its memory is its owner's, histogram_done(). */
struct histogram {
    struct histogram_body *body; /* NULL: it has no values */
};

struct histogram_body {
    uint64_t sum;
    uint64_t min, max;
    uint8_t used; /* buckets */
    uint8_t capacity;
    uint8_t shift;
    uint8_t latest;     /* bucket, in which the next value often is, too */
    uint64_t buckets[]; /* histogram.c */
};

/* Of no values they are 0. */
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

/* How many bars it has, or buckets. */
static inline unsigned histogram_bars(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->used;
}

/* The most buckets of a histogram; of one of which there are many. A bucket is a sixteenth of an octave, if there are enough
 * for that, else an eighth ... Within a bucket values are taken as evenly spread. */
#define HISTOGRAM_MOST 160
#define HISTOGRAM_SOME 24

/* Values `from` to `to`, both included. */
struct histogram_bar {
    uint64_t from, to, count;
};

/* To at most so many buckets. Return 0, or -ENOMEM: then it is counted in part, and can only be freed. */
int histogram_add(struct histogram *histogram, uint64_t value, unsigned most);
int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most);

uint64_t histogram_count(const struct histogram *histogram);

/* The value below which this share (0 to 1) of the values lies; 0 of an empty one. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* The bar number `index` of histogram_bars(), ascending. */
struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index);

void histogram_done(struct histogram *histogram);

#endif
