/* SPDX-License-Identifier: MIT */
/*
 * histogram.c: how values are distributed, in little memory. See analysis.h.
 *
 *      value 5,000 = binary 1 0011 10001000:   octave 12, and of it the 4th of 16 parts  --> place 195
 *
 *      buckets:   [195 | 17] [196 | 3] [301 | 1] ...    place | count, ascending, the empty ones left out
 *
 * If there are more buckets than allowed, each two neighbouring places become one: `shift` says how
 * often that was done.
 */
#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_SHIFT 4 /* 16 parts an octave */
#define COUNT_BITS  48
#define COUNT_MASK  ((1ULL << COUNT_BITS) - 1)

static unsigned bucket_place(uint64_t bucket)
{
    return (unsigned)(bucket >> COUNT_BITS);
}

/* Below 32 every value has a place of its own. */
static unsigned place_of(uint64_t value)
{
    if (value < 1u << PARTS_SHIFT)
        return (unsigned)value;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value);
    unsigned part = (unsigned)(value >> (octave - PARTS_SHIFT)) & ((1u << PARTS_SHIFT) - 1);
    return (octave - PARTS_SHIFT + 1) << PARTS_SHIFT | part;
}

/* The least value with this place. */
static uint64_t place_begin(unsigned place)
{
    if (place < 1u << PARTS_SHIFT)
        return place;
    unsigned octave = (place >> PARTS_SHIFT) + PARTS_SHIFT - 1;
    uint64_t part = place & ((1u << PARTS_SHIFT) - 1);
    return octave > 63 ? UINT64_MAX : (1ULL << octave) + (part << (octave - PARTS_SHIFT));
}

/* Makes one of each two neighbouring places. */
static void coarsen(struct histogram *histogram)
{
    unsigned used = 0;

    histogram->shift++;
    for (unsigned i = 0; i < histogram->used; i++) {
        uint64_t place = bucket_place(histogram->buckets[i]) >> 1;
        uint64_t count = histogram->buckets[i] & COUNT_MASK;
        if (used > 0 && bucket_place(histogram->buckets[used - 1]) == place)
            histogram->buckets[used - 1] += count;
        else
            histogram->buckets[used++] = place << COUNT_BITS | count;
    }
    histogram->used = (uint8_t)used;
}

static int resize(struct histogram *histogram, unsigned capacity)
{
    uint64_t *resized = realloc(histogram->buckets, capacity * sizeof(*resized));

    if (resized == NULL)
        return -ENOMEM;
    histogram->buckets = resized;
    histogram->capacity = (uint8_t)capacity;
    return 0;
}

static int reserve(struct histogram *histogram, unsigned most)
{
    unsigned wanted = histogram->capacity < 4 ? 8 : histogram->capacity * 2u;

    if (histogram->used < histogram->capacity)
        return 0;
    if (wanted > most)
        wanted = most;
    return resize(histogram, wanted);
}

/* Index of the first bucket whose place is not less. (Without a branch, which nobody could predict.) */
static unsigned find_bucket(const struct histogram *histogram, unsigned place)
{
    const uint64_t *buckets = histogram->buckets;
    uint64_t wanted = (uint64_t)place << COUNT_BITS;
    unsigned at = 0;

    for (unsigned left = histogram->used; left > 0;) {
        unsigned half = (left + 1) / 2;
        at += (buckets[at + half - 1] < wanted) * half;
        left -= half;
    }
    return at;
}

static bool is_bucket(const struct histogram *histogram, unsigned index, unsigned place)
{
    return index < histogram->used && bucket_place(histogram->buckets[index]) == place;
}

/* `place` is one without shift. */
static int add_at(struct histogram *histogram, unsigned place, uint64_t count, unsigned most)
{
    if (is_bucket(histogram, histogram->latest, place >> histogram->shift)) {
        histogram->buckets[histogram->latest] += count;
        return 0;
    }
    for (;;) {
        unsigned at = find_bucket(histogram, place >> histogram->shift);
        histogram->latest = (uint8_t)at;
        if (is_bucket(histogram, at, place >> histogram->shift)) {
            histogram->buckets[at] += count;
            return 0;
        }
        if (histogram->used < most) {
            if (reserve(histogram, most) < 0)
                return -ENOMEM;
            memmove(&histogram->buckets[at + 1], &histogram->buckets[at],
                    (histogram->used - at) * sizeof(*histogram->buckets));
            histogram->buckets[at] = (uint64_t)(place >> histogram->shift) << COUNT_BITS | count;
            histogram->used++;
            return 0;
        }
        coarsen(histogram);
    }
}

int histogram_add(struct histogram *histogram, uint64_t value, unsigned most)
{
    unsigned place = place_of(value);

    if (histogram->used == 0 || value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
    histogram->sum += value;
    return add_at(histogram, place, 1, most);
}

/* The buckets of both, in order, with the same shift; returns how many. */
static unsigned interleave(const struct histogram *a, const struct histogram *b, unsigned shift,
                           uint64_t *buckets)
{
    unsigned used = 0, i = 0, k = 0;

    while (i < a->used || k < b->used) {
        uint64_t left =
            i < a->used ? (uint64_t)bucket_place(a->buckets[i]) << a->shift >> shift : UINT64_MAX;
        uint64_t right =
            k < b->used ? (uint64_t)bucket_place(b->buckets[k]) << b->shift >> shift : UINT64_MAX;
        uint64_t place = left < right ? left : right;
        uint64_t count = (left <= right ? a->buckets[i++] : b->buckets[k++]) & COUNT_MASK;
        if (used > 0 && bucket_place(buckets[used - 1]) == place)
            buckets[used - 1] += count;
        else
            buckets[used++] = place << COUNT_BITS | count;
    }
    return used;
}

static int copy(struct histogram *to, const struct histogram *from)
{
    struct histogram copied = *from;

    copied.buckets = to->buckets;
    copied.capacity = to->capacity;
    if (from->used > to->capacity && resize(&copied, from->used) < 0)
        return -ENOMEM;
    memcpy(copied.buckets, from->buckets, from->used * sizeof(*from->buckets));
    *to = copied;
    return 0;
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    uint64_t buckets[2 * UINT8_MAX];
    struct histogram merged = *to;

    if (from->used == 0)
        return 0;
    if (to->used == 0 && from->used <= most)
        return copy(to, from);
    merged.shift = to->shift > from->shift ? to->shift : from->shift;
    for (;; merged.shift++) {
        unsigned used = interleave(to, from, merged.shift, buckets);
        merged.used = (uint8_t)used;
        if (used <= most)
            break;
    }
    if (merged.used > to->capacity && resize(&merged, merged.used) < 0)
        return -ENOMEM;
    memcpy(merged.buckets, buckets, merged.used * sizeof(*buckets));
    if (to->used == 0 || from->min < to->min)
        merged.min = from->min;
    if (from->max > to->max)
        merged.max = from->max;
    merged.sum += from->sum;
    *to = merged;
    return 0;
}

int histogram_take(struct histogram *to, struct histogram *from, unsigned most)
{
    int result = 0;

    if (to->used == 0 && from->used <= most) {
        free(to->buckets);
        *to = *from;
        *from = (struct histogram){0};
    } else {
        result = histogram_merge(to, from, most);
    }
    histogram_done(from);
    return result;
}

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < histogram->used; i++)
        count += histogram->buckets[i] & COUNT_MASK;
    return count;
}

struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index)
{
    uint64_t bucket = histogram->buckets[index];
    unsigned place = bucket_place(bucket) << histogram->shift;
    uint64_t begin = place_begin(place);
    uint64_t end = place_begin(place + (1u << histogram->shift)) - 1;

    return (struct histogram_bar){
        .from = begin < histogram->min ? histogram->min : begin,
        .to = end > histogram->max ? histogram->max : end,
        .count = bucket & COUNT_MASK,
    };
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    uint64_t count = histogram_count(histogram);
    uint64_t rank = (uint64_t)(share * (double)count);
    uint64_t seen = 0;

    if (rank >= count)
        return histogram->max;
    for (unsigned i = 0; i < histogram->used; i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        double place = ((double)(rank - seen) + 0.5) / (double)bar.count;
        if (rank - seen < bar.count)
            return bar.from + (uint64_t)(place * (double)(bar.to - bar.from));
        seen += bar.count;
    }
    return histogram->max;
}

void histogram_done(struct histogram *histogram)
{
    free(histogram->buckets);
    memset(histogram, 0, sizeof(*histogram));
}
