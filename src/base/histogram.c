/* SPDX-License-Identifier: MIT */
/*
 * histogram.c: the distribution of values, in little memory. See histogram.h.
 *
 *      value 5,000 = binary 1 0011100010 00:   octave 12, and part 226 (0 to 1023) of it  --> slot 12514
 *      value 5     = binary 1 01:              octave 2, and part 256                     --> slot 2304
 *
 *      buckets:   [2304 | 17] [12514 | 3] [20123 | 1] ...    slot | count, ascending, without empty slots
 *
 * So a few values, as sizes of messages often are, stay exact, or nearly so. If there are more buckets than allowed, or
 * narrow ones than are worth their memory, each two neighbouring slots are merged. `shift` is the number of such merges:
 * with shift 1, slot 2304 is slot 1152. A bucket has 16 bits of slot (`place` in the code) and 48 of count.
 */
#include "base/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_BITS  48
#define COUNT_MASK  ((1ULL << COUNT_BITS) - 1)
#define PARTS_SHIFT 10 /* 1,024 parts per octave: 16 bits of slot allow no more */
#define PARTS       (1u << PARTS_SHIFT)

/* ---- slots ---- */

/* The slot of a value: its octave, and the part of it. Below 2,048 every value has a slot of its own; 0 shares the octave
 * of 1. */
static unsigned place_of(uint64_t value)
{
    if (value < 2)
        return (unsigned)value * (PARTS / 2);
    unsigned octave = 63 - (unsigned)__builtin_clzll(value);
    unsigned part = octave <= PARTS_SHIFT ? (unsigned)(value << (PARTS_SHIFT - octave))
                                          : (unsigned)(value >> (octave - PARTS_SHIFT));
    return octave * PARTS + (part - PARTS);
}

/* The least value in this slot, or a higher one if that is empty. */
static uint64_t place_begin(unsigned place)
{
    unsigned octave = place / PARTS, part = place % PARTS + PARTS;

    if (octave == 0)
        return (place + PARTS / 2 - 1) / (PARTS / 2);
    if (octave > 63)
        return UINT64_MAX;
    if (octave >= PARTS_SHIFT)
        return (uint64_t)part << (octave - PARTS_SHIFT);
    unsigned values = PARTS_SHIFT - octave;
    return (part + (1u << values) - 1) >> values;
}

/* ---- buckets ---- */

static uint64_t make_bucket(unsigned place, uint64_t count)
{
    return (uint64_t)place << COUNT_BITS | count;
}

static unsigned bucket_place(uint64_t bucket)
{
    return (unsigned)(bucket >> COUNT_BITS);
}

static uint64_t bucket_count(uint64_t bucket)
{
    return bucket & COUNT_MASK;
}

#define NARROW 6 /* shift: narrower buckets than a sixteenth of an octave ... */

/* ... are for few values. */
static unsigned allowed(unsigned shift, unsigned most)
{
    return shift < NARROW && most > HISTOGRAM_EXACT ? HISTOGRAM_EXACT : most;
}

/* Merges each two neighbouring slots. Returns how many buckets are left. */
static unsigned coarsen(uint64_t *buckets, unsigned used)
{
    unsigned left = 0;

    for (unsigned i = 0; i < used; i++) {
        unsigned place = bucket_place(buckets[i]) >> 1;
        if (left > 0 && bucket_place(buckets[left - 1]) == place)
            buckets[left - 1] += bucket_count(buckets[i]);
        else
            buckets[left++] = make_bucket(place, bucket_count(buckets[i]));
    }
    return left;
}

/* ---- memory ---- */

static int resize(struct histogram *histogram, unsigned capacity)
{
    struct histogram_body *resized =
        realloc(histogram->body, sizeof(*resized) + capacity * sizeof(*resized->buckets));

    if (resized == NULL)
        return -ENOMEM;
    if (histogram->body == NULL)
        *resized = (struct histogram_body){.min = UINT64_MAX};
    resized->capacity = (uint8_t)capacity;
    histogram->body = resized;
    return 0;
}

#define FIRST_BUCKETS 8

/* Gives it a body if it has none. */
static int begin(struct histogram *histogram, unsigned most)
{
    return histogram->body != NULL ? 0
                                   : resize(histogram, most < FIRST_BUCKETS ? most : FIRST_BUCKETS);
}

/* Makes space for one more bucket. */
static int reserve(struct histogram *histogram, unsigned most)
{
    unsigned wanted = histogram->body->capacity * 2u;

    if (histogram->body->used < histogram->body->capacity)
        return 0;
    return resize(histogram, wanted < most ? wanted : most);
}

/* Replaces its buckets. */
static int store(struct histogram *histogram, const uint64_t *buckets, unsigned used,
                 unsigned shift, unsigned most)
{
    unsigned wanted = (used + 7) / 8 * 8;

    if (used > histogram->body->capacity && resize(histogram, wanted < most ? wanted : most) < 0)
        return -ENOMEM;
    memcpy(histogram->body->buckets, buckets, used * sizeof(*buckets));
    histogram->body->used = (uint8_t)used;
    histogram->body->shift = (uint8_t)shift;
    return 0;
}

/* ---- one value ---- */

/* Index of the first bucket whose slot is not less. Branchless, since a branch would be mispredicted. */
static unsigned find_bucket(const struct histogram_body *body, unsigned place)
{
    unsigned at = 0;

    for (unsigned left = body->used; left > 0;) {
        unsigned half = (left + 1) / 2;
        at += (bucket_place(body->buckets[at + half - 1]) < place) * half;
        left -= half;
    }
    return at;
}

static bool is_bucket(const struct histogram_body *body, unsigned index, unsigned place)
{
    return index < body->used && bucket_place(body->buckets[index]) == place;
}

static int insert(struct histogram *histogram, unsigned at, uint64_t bucket, unsigned most)
{
    if (reserve(histogram, most) < 0)
        return -ENOMEM;
    struct histogram_body *body = histogram->body;
    memmove(&body->buckets[at + 1], &body->buckets[at], (body->used - at) * sizeof(*body->buckets));
    body->buckets[at] = bucket;
    body->used++;
    return 0;
}

/* `place` is not shifted yet. */
static int add_at(struct histogram *histogram, unsigned place, unsigned most)
{
    struct histogram_body *body = histogram->body;
    unsigned at = body->latest;

    while (!is_bucket(body, at, place >> body->shift)) {
        at = find_bucket(body, place >> body->shift);
        body->latest = (uint8_t)at;
        if (is_bucket(body, at, place >> body->shift))
            break;
        if (body->used < allowed(body->shift, most))
            return insert(histogram, at, make_bucket(place >> body->shift, 1), most);
        body->used = (uint8_t)coarsen(body->buckets, body->used);
        body->shift++;
    }
    body->buckets[at]++;
    return 0;
}

static void note_extent(struct histogram_body *body, uint64_t sum, uint64_t min, uint64_t max)
{
    body->sum += sum;
    body->min = min < body->min ? min : body->min;
    body->max = max > body->max ? max : body->max;
}

int histogram_add(struct histogram *histogram, uint64_t value, unsigned most)
{
    if (begin(histogram, most) < 0 || add_at(histogram, place_of(value), most) < 0)
        return -ENOMEM;
    note_extent(histogram->body, value, value, value);
    return 0;
}

/* ---- many ---- */

/* Merges the buckets of both in order, with a common shift that is no less than theirs. Returns how many there are. */
static unsigned interleave(const struct histogram_body *a, const struct histogram_body *b,
                           unsigned shift, uint64_t *buckets)
{
    unsigned used = 0, i = 0, k = 0;
    unsigned by_a = shift - a->shift, by_b = shift - b->shift;

    while (i < a->used || k < b->used) {
        bool is_left = k == b->used || (i < a->used && bucket_place(a->buckets[i]) >> by_a <=
                                                           bucket_place(b->buckets[k]) >> by_b);
        uint64_t bucket = is_left ? a->buckets[i++] : b->buckets[k++];
        unsigned place = bucket_place(bucket) >> (is_left ? by_a : by_b);
        if (used > 0 && bucket_place(buckets[used - 1]) == place)
            buckets[used - 1] += bucket_count(bucket);
        else
            buckets[used++] = make_bucket(place, bucket_count(bucket));
    }
    return used;
}

/* Finds the bucket of `to` for each bucket of `from`; false: some are missing. */
static bool find_buckets(const struct histogram_body *to, const struct histogram_body *from,
                         uint8_t *found)
{
    unsigned by = to->shift - from->shift, at = 0;

    for (unsigned i = 0; i < from->used; i++) {
        unsigned place = bucket_place(from->buckets[i]) >> by;
        while (at < to->used && bucket_place(to->buckets[at]) < place)
            at++;
        if (!is_bucket(to, at, place))
            return false;
        found[i] = (uint8_t)at;
    }
    return true;
}

static int merge_buckets(struct histogram *histogram, const struct histogram_body *from,
                         unsigned most)
{
    struct histogram_body *to = histogram->body;
    uint64_t buckets[2 * UINT8_MAX];
    uint8_t found[UINT8_MAX];

    if (to->used > 0 && to->shift >= from->shift && find_buckets(to, from, found)) {
        for (unsigned i = 0; i < from->used; i++)
            to->buckets[found[i]] += bucket_count(from->buckets[i]);
        return 0;
    }
    unsigned shift = to->shift > from->shift ? to->shift : from->shift;
    unsigned used = interleave(to, from, shift, buckets);
    for (; used > allowed(shift, most); shift++)
        used = coarsen(buckets, used);
    return store(histogram, buckets, used, shift, most);
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    if (histogram_bars(from) == 0)
        return 0;
    if (begin(to, most) < 0 || merge_buckets(to, from->body, most) < 0)
        return -ENOMEM;
    note_extent(to->body, from->body->sum, from->body->min, from->body->max);
    return 0;
}

/* Takes from each bucket what the earlier state has in it. */
static void subtract_buckets(struct histogram_body *body, const struct histogram_body *earlier)
{
    unsigned by = body->shift - earlier->shift, at = 0, left = 0;

    for (unsigned i = 0; i < earlier->used; i++) {
        unsigned place = bucket_place(earlier->buckets[i]) >> by;
        while (at < body->used && bucket_place(body->buckets[at]) < place)
            at++;
        if (!is_bucket(body, at, place))
            continue;
        uint64_t count = bucket_count(body->buckets[at]), less = bucket_count(earlier->buckets[i]);
        body->buckets[at] = make_bucket(place, count > less ? count - less : 0);
    }
    for (unsigned i = 0; i < body->used; i++)
        if (bucket_count(body->buckets[i]) > 0)
            body->buckets[left++] = body->buckets[i];
    body->used = (uint8_t)left;
    body->latest = 0;
}

void histogram_subtract(struct histogram *histogram, const struct histogram *earlier)
{
    struct histogram_body *body = histogram->body;

    if (histogram_bars(earlier) == 0 || body == NULL)
        return;
    for (; body->shift < earlier->body->shift; body->shift++)
        body->used = (uint8_t)coarsen(body->buckets, body->used);
    subtract_buckets(body, earlier->body);
    if (body->used == 0) {
        histogram_done(histogram);
        return;
    }
    body->sum -= earlier->body->sum < body->sum ? earlier->body->sum : body->sum;
    uint64_t least = histogram_bar(histogram, 0).from;
    uint64_t most = histogram_bar(histogram, body->used - 1u).to;
    body->min = least;
    body->max = most;
}

/* ---- queries ---- */

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < histogram_bars(histogram); i++)
        count += bucket_count(histogram->body->buckets[i]);
    return count;
}

struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index)
{
    const struct histogram_body *body = histogram->body;
    unsigned place = bucket_place(body->buckets[index]) << body->shift;
    uint64_t begin = place_begin(place), end = place_begin(place + (1u << body->shift)) - 1;

    return (struct histogram_bar){
        .from = begin < body->min ? body->min : begin,
        .to = end > body->max ? body->max : end,
        .count = bucket_count(body->buckets[index]),
    };
}

/* Nearest rank: the least value such that this share of the values is not greater; counted from 0. */
static uint64_t rank_of(double share, uint64_t count)
{
    double rank = share * (double)count;
    uint64_t whole = (uint64_t)rank;
    double rest = rank - (double)whole;

    whole += rest > 1e-6; /* 0.07 * 100 is a little more than 7 */
    return whole == 0 ? 0 : whole > count ? count - 1 : whole - 1;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    uint64_t count = histogram_count(histogram);
    uint64_t rank = count == 0 ? 0 : rank_of(share, count), seen = 0;

    if (rank == 0)
        return histogram_min(histogram);
    for (unsigned i = 0; rank < count - 1 && i < histogram_bars(histogram); i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        double place = ((double)(rank - seen) + 0.5) / (double)bar.count;
        if (rank - seen < bar.count)
            return bar.from + (uint64_t)(place * (double)(bar.to - bar.from));
        seen += bar.count;
    }
    return histogram_max(histogram);
}

void histogram_done(struct histogram *histogram)
{
    free(histogram->body);
    histogram->body = NULL;
}
