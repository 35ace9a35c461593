/* SPDX-License-Identifier: MIT */
/*
 * histogram.h: how values are distributed, in little memory.
 *
 *      values --histogram_add()---------------------------------> histogram --histogram_quantile()--> p50, p99 ...
 *             --histogram_gather()--histogram_add_gathered()--'
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
    uint32_t min, max; /* the low halves, if buckets are wide */
    uint32_t counted;  /* values, as long as buckets are narrow */
    uint8_t used;      /* buckets */
    uint8_t capacity;
    uint8_t shift;
    uint8_t latest; /* bucket, in which the next value often is, too */
    uint32_t buckets
        []; /* histogram.c; if they are wide, the high halves of `min` and `max` come first */
};

#define HISTOGRAM_WIDE UINT32_MAX /* `counted`, if buckets are wide */

/* Of no values they are 0. */
static inline uint64_t histogram_sum(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->sum;
}

static inline uint64_t histogram_min(const struct histogram *histogram)
{
    const struct histogram_body *body = histogram->body;

    if (body == NULL || body->counted != HISTOGRAM_WIDE)
        return body == NULL ? 0 : body->min;
    return (uint64_t)body->buckets[0] << 32 | body->min;
}

static inline uint64_t histogram_max(const struct histogram *histogram)
{
    const struct histogram_body *body = histogram->body;

    if (body == NULL || body->counted != HISTOGRAM_WIDE)
        return body == NULL ? 0 : body->max;
    return (uint64_t)body->buckets[1] << 32 | body->max;
}

/* How many bars it has, or buckets. */
static inline unsigned histogram_bars(const struct histogram *histogram)
{
    return histogram->body == NULL ? 0 : histogram->body->used;
}

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

/* Return 0, or -ENOMEM: then it, or what was gathered, is counted in part, and can only be freed. */
int histogram_add(struct histogram *histogram, uint64_t value, unsigned most);
int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most);

/* The same, and `from` is empty then: if `to` is, it takes all as it is. */
int histogram_move(struct histogram *to, struct histogram *from, unsigned most);

#define HISTOGRAM_PARTS_SHIFT 4 /* 16 parts an octave */
#define HISTOGRAM_PLACES      ((64 - HISTOGRAM_PARTS_SHIFT + 1) << HISTOGRAM_PARTS_SHIFT)

/* Where a value belongs: the octave, and which part of it. Below 32 every value has a place of its own. */
static inline unsigned histogram_place(uint64_t value)
{
    if (value < 1u << HISTOGRAM_PARTS_SHIFT)
        return (unsigned)value;
    unsigned shift = 63 - HISTOGRAM_PARTS_SHIFT - (unsigned)__builtin_clzll(value);
    return (shift << HISTOGRAM_PARTS_SHIFT) + (unsigned)(value >> shift);
}

/* Values that are added to a histogram all together, which takes less time than one by one. All zero is none. */
#define GATHERED_BITS   29 /* of a value at most */
#define GATHERED_PLACES ((GATHERED_BITS - HISTOGRAM_PARTS_SHIFT + 1) << HISTOGRAM_PARTS_SHIFT)
struct histogram_gathering {
    uint64_t sum;
    uint32_t min, max;
    uint32_t count;
    uint32_t counts[GATHERED_PLACES];
};

/* `value`: less than 1 << GATHERED_BITS. */
static inline void histogram_gather(struct histogram_gathering *gathering, uint32_t value)
{
    bool least = gathering->count == 0 || value < gathering->min;

    gathering->counts[histogram_place(value)]++;
    gathering->count++;
    gathering->sum += value;
    gathering->min = least ? value : gathering->min;
    gathering->max = value > gathering->max ? value : gathering->max;
}

/* Adds all of `more`, which has some. */
void histogram_gather_more(struct histogram_gathering *gathering,
                           const struct histogram_gathering *more);

/* Adds all, and leaves none. Returns as histogram_merge(). */
int histogram_add_gathered(struct histogram *histogram, struct histogram_gathering *gathering,
                           unsigned most);

uint64_t histogram_count(const struct histogram *histogram);

/* The value below which this share (0 to 1) of the values lies; 0 of an empty one. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* The bar number `index` of histogram_bars(), ascending. */
struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index);

void histogram_done(struct histogram *histogram);

#endif
