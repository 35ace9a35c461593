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

static int reserve(struct histogram *histogram, unsigned most)
{
    unsigned wanted = histogram->capacity < 4 ? 8 : histogram->capacity * 2u;

    if (histogram->used < histogram->capacity)
        return 0;
    if (wanted > most)
        wanted = most;
    uint64_t *grown = realloc(histogram->buckets, wanted * sizeof(*grown));
    if (grown == NULL)
        return -ENOMEM;
    histogram->buckets = grown;
    histogram->capacity = (uint8_t)wanted;
    return 0;
}

/* Index of the first bucket whose place is not less. */
static unsigned find_bucket(const struct histogram *histogram, unsigned place)
{
    unsigned low = 0;
    unsigned high = histogram->used;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (bucket_place(histogram->buckets[middle]) < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the bucket of this place was when it was last looked for: to be believed only if it is. */
static uint8_t *guess_of(struct histogram *histogram, unsigned place)
{
    return &histogram->guesses[place % ARRAY_SIZE(histogram->guesses)];
}

/* `place` is one without shift. */
static int add_at(struct histogram *histogram, unsigned place, uint64_t count, unsigned most)
{
    for (;;) {
        unsigned at = find_bucket(histogram, place >> histogram->shift);
        *guess_of(histogram, place >> histogram->shift) = (uint8_t)at;
        if (at < histogram->used &&
            bucket_place(histogram->buckets[at]) == place >> histogram->shift) {
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
    uint8_t guess = *guess_of(histogram, place >> histogram->shift);
    if (guess < histogram->used &&
        bucket_place(histogram->buckets[guess]) == place >> histogram->shift) {
        histogram->buckets[guess]++;
        return 0;
    }
    return add_at(histogram, place, 1, most);
}

static int copy(struct histogram *to, const struct histogram *from)
{
    uint64_t *buckets = realloc(to->buckets, from->used * sizeof(*buckets));

    if (buckets == NULL)
        return -ENOMEM;
    memcpy(buckets, from->buckets, from->used * sizeof(*buckets));
    *to = *from;
    to->buckets = buckets;
    to->capacity = from->used;
    return 0;
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    if (from->used == 0)
        return 0;
    if (to->used == 0 && from->used <= most)
        return copy(to, from);
    if (to->used == 0 || from->min < to->min)
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
    to->sum += from->sum;
    while (to->shift < from->shift)
        coarsen(to);
    for (unsigned i = 0; i < from->used; i++) {
        unsigned place = bucket_place(from->buckets[i]) << from->shift;
        int result = add_at(to, place, from->buckets[i] & COUNT_MASK, most);
        if (result < 0)
            return result;
    }
    return 0;
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
