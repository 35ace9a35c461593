/* SPDX-License-Identifier: MIT */
/*
 * histogram.c: how values are distributed, in little memory. See histogram.h.
 *
 *      value 5,000 = binary 1 0011 10001000:   octave 12, and of it the 4th of 16 parts  --> place 147
 *
 *      buckets:   [147 | 17] [148 | 3] [301 | 1] ...    place | count, ascending, the empty ones left out
 *
 * If there are more buckets than allowed, each two neighbouring places become one: `shift` says how
 * often that was done. A bucket is narrow, 10 bits and 22, as long as all values together can be counted so; then all
 * become wide, 16 and 48.
 */
#include "base/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_SHIFT HISTOGRAM_PARTS_SHIFT
#define COUNT_BITS  48
#define COUNT_MASK  ((1ULL << COUNT_BITS) - 1)
#define NARROW_BITS 22
#define NARROW_MASK ((1u << NARROW_BITS) - 1)
#define WIDE        UINT32_MAX /* in place of how many were counted */

_Static_assert(HISTOGRAM_PLACES <= 1 << (32 - NARROW_BITS), "a narrow bucket has room for its place");

/* ---- buckets: in functions a number, as the wide ones are ---- */

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

static bool is_wide(const struct histogram *histogram)
{
    return histogram->counted == WIDE;
}

static size_t bucket_size(const struct histogram *histogram)
{
    return is_wide(histogram) ? sizeof(uint64_t) : sizeof(uint32_t);
}

static uint64_t get_bucket(const struct histogram *histogram, unsigned index)
{
    if (is_wide(histogram))
        return ((const uint64_t *)histogram->buckets)[index];
    uint32_t narrow = ((const uint32_t *)histogram->buckets)[index];
    return make_bucket(narrow >> NARROW_BITS, narrow & NARROW_MASK);
}

static void put_bucket(struct histogram *histogram, unsigned index, uint64_t bucket)
{
    if (is_wide(histogram))
        ((uint64_t *)histogram->buckets)[index] = bucket;
    else
        ((uint32_t *)histogram->buckets)[index] =
            bucket_place(bucket) << NARROW_BITS | (uint32_t)bucket_count(bucket);
}

static unsigned place_at(const struct histogram *histogram, unsigned index)
{
    return is_wide(histogram) ? bucket_place(((const uint64_t *)histogram->buckets)[index])
                              : ((const uint32_t *)histogram->buckets)[index] >> NARROW_BITS;
}

/* The count stands in the low bits. */
static void add_count(struct histogram *histogram, unsigned index, uint64_t more)
{
    if (is_wide(histogram))
        ((uint64_t *)histogram->buckets)[index] += more;
    else
        ((uint32_t *)histogram->buckets)[index] += (uint32_t)more;
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
    void *resized = realloc(histogram->buckets, capacity * bucket_size(histogram));

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

static void load(const struct histogram *histogram, uint64_t *buckets)
{
    for (unsigned i = 0; i < histogram->used; i++)
        buckets[i] = get_bucket(histogram, i);
}

static int store(struct histogram *histogram, const uint64_t *buckets, unsigned used,
                 unsigned shift, unsigned most)
{
    if (used > histogram->capacity && resize(histogram, with_room(used, most)) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < used; i++)
        put_bucket(histogram, i, buckets[i]);
    histogram->used = (uint8_t)used;
    histogram->shift = (uint8_t)shift;
    return 0;
}

static int widen(struct histogram *histogram)
{
    uint64_t *wide = malloc((histogram->capacity + 1UL) * sizeof(*wide));

    if (wide == NULL)
        return -ENOMEM;
    load(histogram, wide);
    free(histogram->buckets);
    histogram->buckets = wide;
    histogram->counted = WIDE;
    return 0;
}

/* So many values are counted as well from now on. */
static int count_more(struct histogram *histogram, uint64_t more)
{
    if (is_wide(histogram))
        return 0;
    if (more > NARROW_MASK - histogram->counted)
        return widen(histogram);
    histogram->counted += (uint32_t)more;
    return 0;
}

/* ---- one value ---- */

/* Index of the first bucket, not before `at`, whose place is not less. (Without a branch, which nobody could
 * predict.) */
static unsigned find_bucket(const struct histogram *histogram, unsigned at, unsigned place)
{
    for (unsigned left = histogram->used - at; left > 0;) {
        unsigned half = (left + 1) / 2;
        at += (place_at(histogram, at + half - 1) < place) * half;
        left -= half;
    }
    return at;
}

static bool is_bucket(const struct histogram *histogram, unsigned index, unsigned place)
{
    return index < histogram->used && place_at(histogram, index) == place;
}

static int insert(struct histogram *histogram, unsigned at, uint64_t bucket, unsigned most)
{
    size_t size = bucket_size(histogram);

    if (reserve(histogram, most) < 0)
        return -ENOMEM;
    char *place = (char *)histogram->buckets + at * size;
    memmove(place + size, place, (histogram->used - at) * size);
    put_bucket(histogram, at, bucket);
    histogram->used++;
    return 0;
}

static int make_coarser(struct histogram *histogram, unsigned most)
{
    uint64_t buckets[UINT8_MAX];

    load(histogram, buckets);
    return store(histogram, buckets, coarsen(buckets, histogram->used), histogram->shift + 1u,
                 most);
}

/* `place` is one without shift. */
static int add_at(struct histogram *histogram, unsigned place, unsigned most)
{
    if (is_bucket(histogram, histogram->latest, place >> histogram->shift)) {
        add_count(histogram, histogram->latest, 1);
        return 0;
    }
    for (;;) {
        unsigned at = find_bucket(histogram, 0, place >> histogram->shift);
        histogram->latest = (uint8_t)at;
        if (is_bucket(histogram, at, place >> histogram->shift)) {
            add_count(histogram, at, 1);
            return 0;
        }
        if (histogram->used < most)
            return insert(histogram, at, make_bucket(place >> histogram->shift, 1), most);
        if (make_coarser(histogram, most) < 0)
            return -ENOMEM;
    }
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

int histogram_add(struct histogram *histogram, uint64_t value, unsigned most)
{
    bool first = histogram->used == 0;

    if (count_more(histogram, 1) < 0 || add_at(histogram, histogram_place(value), most) < 0)
        return -ENOMEM;
    note_extent(histogram, first, value, value, value);
    return 0;
}

/* ---- another histogram ---- */

/* The buckets of both, in order, with the same shift, which none of theirs is greater than; returns how many. */
static unsigned interleave(const struct histogram *a, const struct histogram *b, unsigned shift,
                           uint64_t *buckets)
{
    unsigned used = 0, i = 0, k = 0;
    unsigned by_a = shift - a->shift, by_b = shift - b->shift;

    while (i < a->used || k < b->used) {
        bool is_left = k == b->used ||
                       (i < a->used && place_at(a, i) >> by_a <= place_at(b, k) >> by_b);
        uint64_t bucket = is_left ? get_bucket(a, i++) : get_bucket(b, k++);
        unsigned place = bucket_place(bucket) >> (is_left ? by_a : by_b);
        if (used > 0 && bucket_place(buckets[used - 1]) == place)
            buckets[used - 1] += bucket_count(bucket);
        else
            buckets[used++] = make_bucket(place, bucket_count(bucket));
    }
    return used;
}

#define FEW_TIMES 6

/* Finds the bucket of `to` for each one of `from`; false: it lacks some. From one to the next it is few steps if
 * there are about as many of both. */
static bool find_buckets(const struct histogram *to, const struct histogram *from, uint8_t *found)
{
    unsigned by = to->shift - from->shift, at = 0;
    bool few_steps = to->used <= FEW_TIMES * from->used;

    for (unsigned i = 0; i < from->used; i++) {
        unsigned place = place_at(from, i) >> by;
        if (few_steps)
            while (at < to->used && place_at(to, at) < place)
                at++;
        else
            at = find_bucket(to, at, place);
        if (!is_bucket(to, at, place))
            return false;
        found[i] = (uint8_t)at;
    }
    return true;
}

/* Only what is in the buckets of `from`; that they are counted is known. */
static int merge_buckets(struct histogram *to, const struct histogram *from, unsigned most)
{
    uint64_t buckets[2 * UINT8_MAX];
    uint8_t found[UINT8_MAX];

    if (to->shift >= from->shift && to->used > 0 && find_buckets(to, from, found)) {
        for (unsigned i = 0; i < from->used; i++)
            add_count(to, found[i], bucket_count(get_bucket(from, i)));
        return 0;
    }
    unsigned shift = to->used > 0 && to->shift > from->shift ? to->shift : from->shift;
    unsigned used = interleave(to, from, shift, buckets);
    for (; used > most; shift++)
        used = coarsen(buckets, used);
    return store(to, buckets, used, shift, most);
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    bool first = to->used == 0;

    if (from->used == 0)
        return 0;
    if (count_more(to, histogram_count(from)) < 0 || merge_buckets(to, from, most) < 0)
        return -ENOMEM;
    note_extent(to, first, from->sum, from->min, from->max);
    return 0;
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
        unsigned place = place_at(histogram, i) << shift,
                 after = place + (1u << shift);
        if (place >= end)
            break;
        uint32_t more = take_counts(counts, place, after < end ? after : end);
        add_count(histogram, i, more);
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
        struct histogram some = {.buckets = buckets, .counted = WIDE};
        for (; place < end && some.used < UINT8_MAX; place++)
            if (counts[place] != 0) {
                buckets[some.used++] = make_bucket(place, counts[place]);
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
    if (count_more(histogram, gathering->count) < 0)
        return -ENOMEM;
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

    if (!is_wide(histogram))
        return histogram->counted;
    for (unsigned i = 0; i < histogram->used; i++)
        count += bucket_count(get_bucket(histogram, i));
    return count;
}

struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index)
{
    uint64_t bucket = get_bucket(histogram, index);
    unsigned place = bucket_place(bucket) << histogram->shift;
    uint64_t begin = place_begin(place);
    uint64_t end = place_begin(place + (1u << histogram->shift)) - 1;

    return (struct histogram_bar){
        .from = begin < histogram->min ? histogram->min : begin,
        .to = end > histogram->max ? histogram->max : end,
        .count = bucket_count(bucket),
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
