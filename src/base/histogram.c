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
    unsigned place = place_of(value);

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

static void note_extent(struct histogram *to, const struct histogram *from)
{
    if (to->used == 0 || from->min < to->min)
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
    to->sum += from->sum;
}

static void add_to_buckets(struct histogram *to, const struct histogram *from, const uint8_t *found)
{
    note_extent(to, from);
    for (unsigned i = 0; i < from->used; i++)
        to->buckets[found[i]] += from->buckets[i] & COUNT_MASK;
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    uint64_t buckets[2 * UINT8_MAX];
    uint8_t found[UINT8_MAX];
    struct histogram merged = *to;

    if (from->used == 0)
        return 0;
    if (to->used == 0 && from->used <= most)
        return copy(to, from);
    if (to->shift >= from->shift && find_buckets(to, from, found)) {
        add_to_buckets(to, from, found);
        return 0;
    }
    merged.shift = to->shift > from->shift ? to->shift : from->shift;
    unsigned used = interleave(to, from, merged.shift, buckets);
    for (; used > most; merged.shift++)
        used = coarsen(buckets, used);
    if (used > to->capacity && resize(&merged, with_room(used, most)) < 0)
        return -ENOMEM;
    memcpy(merged.buckets, buckets, used * sizeof(*buckets));
    merged.used = to->used; /* says whether there is an extent */
    note_extent(&merged, from);
    merged.used = (uint8_t)used;
    *to = merged;
    return 0;
}

_Static_assert(HISTOGRAM_TOGETHER <= UINT8_MAX, "a count of values gathered has room");

void histogram_gather(struct histogram_gathering *gathering, const uint32_t *values, unsigned count,
                      struct histogram_together *ret_together)
{
    struct histogram *histogram = &ret_together->histogram;

    *histogram = (struct histogram){.min = UINT64_MAX, .buckets = ret_together->buckets};
    for (unsigned i = 0; i < count; i++) {
        unsigned place = place_of(values[i]);
        gathering->marks[place / 64] |= 1ULL << place % 64;
        gathering->counts[place]++;
        histogram->sum += values[i];
        histogram->min = values[i] < histogram->min ? values[i] : histogram->min;
        histogram->max = values[i] > histogram->max ? values[i] : histogram->max;
    }
    for (unsigned word = 0; word < ARRAY_SIZE(gathering->marks); word++)
        for (; gathering->marks[word] != 0; gathering->marks[word] &= gathering->marks[word] - 1) {
            uint64_t place = word * 64 + (unsigned)__builtin_ctzll(gathering->marks[word]);
            histogram->buckets[histogram->used++] = place << COUNT_BITS | gathering->counts[place];
            gathering->counts[place] = 0;
        }
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
