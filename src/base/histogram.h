/* SPDX-License-Identifier: MIT */
/*
 * histogram.h: how values are distributed, in little memory.
 *
 *      values --histogram_add()-------------------------> histogram --histogram_quantile()--> p50, p99 ...
 *             --histogram_gather()--histogram_merge()--'
 */
#ifndef DPM_HISTOGRAM_H
#define DPM_HISTOGRAM_H

#include "base/base.h"

/* How values are distributed. All zero is an empty one. Its memory is its owner's, histogram_done(). */
struct histogram {
    uint64_t sum, min, max;
    uint64_t *buckets; /* histogram.c */
    uint8_t used;
    uint8_t capacity;
    uint8_t shift;
    uint8_t latest; /* bucket, in which the next value often is, too */
};

/* The most buckets of a histogram: of what there is much of, few. A bucket is a sixteenth of an octave,
 * if there are enough for that, else an eighth ... Within a bucket values are taken as evenly spread. */
#define HISTOGRAM_FEW  12
#define HISTOGRAM_SOME 24
#define HISTOGRAM_MANY 64
#define HISTOGRAM_MOST 160

/* Values `from` to `to`, both included. */
struct histogram_bar {
    uint64_t from, to, count;
};

/* Return 0, or -ENOMEM: then the value, or the rest of `from`, is not counted. */
int histogram_add(struct histogram *histogram, uint64_t value, unsigned most);
int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most);

/* A few values that are added to several histograms: more quickly together than one by one. */
#define HISTOGRAM_TOGETHER 192
struct histogram_together {
    struct histogram histogram; /* to be merged into others, and not to be done with */
    uint64_t buckets[HISTOGRAM_TOGETHER];
};

/* Where they are gathered: all zero before, and afterwards again. */
struct histogram_gathering {
    uint64_t marks[16];
    uint8_t counts[16 * 64];
};

/* At most HISTOGRAM_TOGETHER values. */
void histogram_gather(struct histogram_gathering *gathering, const uint32_t *values, unsigned count,
                      struct histogram_together *ret_together);

uint64_t histogram_count(const struct histogram *histogram);

/* The value below which this share (0 to 1) of the values lies; 0 of an empty one. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* The bar number `index` of histogram->used, ascending. */
struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index);

void histogram_done(struct histogram *histogram);

#endif
