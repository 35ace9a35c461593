/* SPDX-License-Identifier: MIT */
/*
 * histogram.c: how values are distributed, in little memory. See histogram.h.
 *
 *      value 5,000 = binary 1 0011 10001000:   octave 12, and of it the 4th of 16 parts  --> place 147
 *
 *      buckets:   [147 | 17] [148 | 3] [301 | 1] ...    place | count, ascending, the empty ones left out
 *
 * If there are more buckets than allowed, each two neighbouring places become one: `shift` says how
 * often that was done.
 */
#include "base/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_SHIFT HISTOGRAM_PARTS_SHIFT
#define COUNT_BITS  48
#define COUNT_MASK  ((1ULL << COUNT_BITS) - 1)

static unsigned bucket_place(uint64_t bucket)
{
    return (unsigned)(bucket >> COUNT_BITS);
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

/* Makes one of each two neighbouring places; returns how many buckets are left. */
static unsigned coarsen(uint64_t *buckets, unsigned used)
{
    unsigned left = 0;

    for (unsigned i = 0; i < used; i++) {
        uint64_t place = bucket_place(buckets[i]) >> 1;
        uint64_t count = buckets[i] & COUNT_MASK;
        if (left > 0 && bucket_place(buckets[left - 1]) == place)
            buckets[left - 1] += count;
        else
            buckets[left++] = place << COUNT_BITS | count;
    }
    return left;
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

/* Room for so many buckets, and some more. */
static unsigned with_room(unsigned used, unsigned most)
{
    unsigned room = (used + 7) / 8 * 8;

    return room < most ? room : most;
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

/* Index of the first bucket, not before `at`, whose place is not less. (Without a branch, which nobody could
 * predict.) */
static unsigned find_bucket(const struct histogram *histogram, unsigned at, unsigned place)
{
    const uint64_t *buckets = histogram->buckets;
    uint64_t wanted = (uint64_t)place << COUNT_BITS;

    for (unsigned left = histogram->used - at; left > 0;) {
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
        unsigned at = find_bucket(histogram, 0, place >> histogram->shift);
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
        histogram->used = (uint8_t)coarsen(histogram->buckets, histogram->used);
        histogram->shift++;
    }
}

int histogram_add(struct histogram *histogram, uint64_t value, unsigned most)
{
    unsigned place = histogram_place(value);

    if (histogram->used == 0 || value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
    histogram->sum += value;
    return add_at(histogram, place, 1, most);
}

/* The buckets of both, in order, with the same shift, which none of theirs is greater than; returns how many. */
static unsigned interleave(const struct histogram *a, const struct histogram *b, unsigned shift,
                           uint64_t *buckets)
{
    unsigned used = 0, i = 0, k = 0;
    unsigned by_a = shift - a->shift, by_b = shift - b->shift;

    while (i < a->used || k < b->used) {
        bool is_left = k == b->used || (i < a->used && bucket_place(a->buckets[i]) >> by_a <=
                                                           bucket_place(b->buckets[k]) >> by_b);
        uint64_t bucket = is_left ? a->buckets[i++] : b->buckets[k++];
        uint64_t place = bucket_place(bucket) >> (is_left ? by_a : by_b);
        if (used > 0 && bucket_place(buckets[used - 1]) == place)
            buckets[used - 1] += bucket & COUNT_MASK;
        else
            buckets[used++] = place << COUNT_BITS | (bucket & COUNT_MASK);
    }
    return used;
}

/* The buckets of the other one, for it has none. */
static int copy_buckets(struct histogram *to, const struct histogram *from)
{
    if (from->used > to->capacity && resize(to, from->used) < 0)
        return -ENOMEM;
    memcpy(to->buckets, from->buckets, from->used * sizeof(*from->buckets));
    to->used = from->used;
    to->shift = from->shift;
    return 0;
}

#define FEW_TIMES 6

/* Finds the bucket of `to` for each one of `from`; false: it lacks some. From one to the next it is few steps if
 * there are about as many of both. */
static bool find_buckets(const struct histogram *to, const struct histogram *from, uint8_t *found)
{
    unsigned by = to->shift - from->shift, at = 0;
    bool few_steps = to->used <= FEW_TIMES * from->used;

    for (unsigned i = 0; i < from->used; i++) {
        unsigned place = bucket_place(from->buckets[i]) >> by;
        if (few_steps)
            while (at < to->used && bucket_place(to->buckets[at]) < place)
                at++;
        else
            at = find_bucket(to, at, place);
        if (!is_bucket(to, at, place))
            return false;
        found[i] = (uint8_t)at;
    }
    return true;
}

static void add_to_buckets(struct histogram *to, const struct histogram *from, const uint8_t *found)
{
    for (unsigned i = 0; i < from->used; i++)
        to->buckets[found[i]] += from->buckets[i] & COUNT_MASK;
}

/* Of `from`, which has some, only what is in its buckets. */
static int merge_buckets(struct histogram *to, const struct histogram *from, unsigned most)
{
    uint64_t buckets[2 * UINT8_MAX];
    uint8_t found[UINT8_MAX];

    if (to->used == 0 && from->used <= most)
        return copy_buckets(to, from);
    if (to->shift >= from->shift && find_buckets(to, from, found)) {
        add_to_buckets(to, from, found);
        return 0;
    }
    unsigned shift = to->shift > from->shift ? to->shift : from->shift;
    unsigned used = interleave(to, from, shift, buckets);
    for (; used > most; shift++)
        used = coarsen(buckets, used);
    if (used > to->capacity && resize(to, with_room(used, most)) < 0)
        return -ENOMEM;
    memcpy(to->buckets, buckets, used * sizeof(*buckets));
    to->used = (uint8_t)used;
    to->shift = (uint8_t)shift;
    return 0;
}

/* `first`: of the values that it has. */
static void note_extent(struct histogram *histogram, bool first, uint64_t sum, uint64_t min,
                        uint64_t max)
{
    if (first || min < histogram->min)
        histogram->min = min;
    if (max > histogram->max)
        histogram->max = max;
    histogram->sum += sum;
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    bool first = to->used == 0;

    if (from->used == 0)
        return 0;
    int result = merge_buckets(to, from, most);
    if (result == 0)
        note_extent(to, first, from->sum, from->min, from->max);
    return result;
}

/* ---- values that were gathered ---- */

void histogram_gather_more(struct histogram_gathering *gathering,
                           const struct histogram_gathering *more)
{
    unsigned end = histogram_place(more->max) + 1;

    for (unsigned place = histogram_place(more->min); place < end; place++)
        gathering->counts[place] += more->counts[place];
    if (gathering->count == 0 || more->min < gathering->min)
        gathering->min = more->min;
    if (more->max > gathering->max)
        gathering->max = more->max;
    gathering->count += more->count;
    gathering->sum += more->sum;
}

static uint32_t take_counts(uint32_t *counts, unsigned begin, unsigned end)
{
    uint32_t taken = 0;

    for (unsigned place = begin; place < end; place++) {
        taken += counts[place];
        counts[place] = 0;
    }
    return taken;
}

/* What belongs into buckets that are there already; returns how many that is. (Each bucket looks for what is its own:
 * the other way round nobody could predict how far it is from one to the next.) */
static uint32_t add_to_known(struct histogram *histogram, uint32_t *counts, unsigned begin,
                             unsigned end)
{
    unsigned shift = histogram->shift;
    uint32_t taken = 0;

    for (unsigned i = find_bucket(histogram, 0, begin >> shift); i < histogram->used; i++) {
        unsigned place = bucket_place(histogram->buckets[i]) << shift,
                 after = place + (1u << shift);
        if (place >= end)
            break;
        uint32_t more = take_counts(counts, place, after < end ? after : end);
        histogram->buckets[i] += more;
        taken += more;
    }
    return taken;
}

/* What has no bucket yet. */
static int add_unknown(struct histogram *histogram, uint32_t *counts, unsigned begin, unsigned end,
                       unsigned most)
{
    uint64_t buckets[UINT8_MAX];
    int result = 0;

    for (unsigned place = begin; result == 0 && place < end;) {
        struct histogram some = {.buckets = buckets};
        for (; place < end && some.used < UINT8_MAX; place++)
            if (counts[place] != 0) {
                buckets[some.used++] = (uint64_t)place << COUNT_BITS | counts[place];
                counts[place] = 0;
            }
        if (some.used > 0)
            result = merge_buckets(histogram, &some, most);
    }
    return result;
}

int histogram_add_gathered(struct histogram *histogram, struct histogram_gathering *gathering,
                           unsigned most)
{
    bool first = histogram->used == 0;
    int result = 0;

    if (gathering->count == 0)
        return 0;
    unsigned begin = histogram_place(gathering->min), end = histogram_place(gathering->max) + 1;
    uint32_t taken = add_to_known(histogram, gathering->counts, begin, end);
    if (taken < gathering->count)
        result = add_unknown(histogram, gathering->counts, begin, end, most);
    if (result == 0)
        note_extent(histogram, first, gathering->sum, gathering->min, gathering->max);
    memset(gathering, 0, offsetof(struct histogram_gathering, counts));
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
