/* SPDX-License-Identifier: MIT */
/*
 * histogram.c: how values are distributed, in little memory. See histogram.h.
 *
 *      value 5,000 = binary 1 0011 10001000:   octave 12, and of it the 4th of 16 parts  --> place 147
 *
 *      buckets:   [147 | 17] [148 | 3] [301 | 1] ...    place | count, ascending, the empty ones left out
 *
 * If there are more buckets than allowed, each two neighbouring places become one: `shift` says how
 * often that was done. A bucket is narrow, 10 bits and 22, as long as all values together can be counted so and each has
 * 32 bits; then all become wide, 16 and 48, and the high halves of the least and the greatest value stand before them.
 */
#include "base/histogram.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_BITS  48
#define COUNT_MASK  ((1ULL << COUNT_BITS) - 1)
#define NARROW_BITS 22
#define NARROW_MASK ((1u << NARROW_BITS) - 1)

_Static_assert(HISTOGRAM_PLACES <= 1 << (32 - NARROW_BITS),
               "a narrow bucket has room for its place");

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

static bool is_wide(const struct histogram_body *body)
{
    return body->counted == HISTOGRAM_WIDE;
}

static size_t bucket_size(const struct histogram_body *body)
{
    return is_wide(body) ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Behind the two high halves. */
static uint64_t *wide_bucket(const struct histogram_body *body, unsigned index)
{
    return (uint64_t *)(void *)body->buckets + 1 + index;
}

_Static_assert(offsetof(struct histogram_body, buckets) % sizeof(uint64_t) == 0 &&
                   2 * sizeof(uint32_t) == sizeof(uint64_t),
               "wide buckets lie behind the halves");

/* Where its first bucket lies. */
static void *first_bucket(const struct histogram_body *body)
{
    return is_wide(body) ? (void *)wide_bucket(body, 0) : (void *)body->buckets;
}

static uint64_t get_bucket(const struct histogram_body *body, unsigned index)
{
    if (is_wide(body))
        return *wide_bucket(body, index);
    return make_bucket(body->buckets[index] >> NARROW_BITS, body->buckets[index] & NARROW_MASK);
}

static void put_bucket(struct histogram_body *body, unsigned index, uint64_t bucket)
{
    if (is_wide(body))
        *wide_bucket(body, index) = bucket;
    else
        body->buckets[index] = bucket_place(bucket) << NARROW_BITS | (uint32_t)bucket_count(bucket);
}

static unsigned place_at(const struct histogram_body *body, unsigned index)
{
    return is_wide(body) ? bucket_place(*wide_bucket(body, index))
                         : body->buckets[index] >> NARROW_BITS;
}

/* The count stands in the low bits. */
static void add_count(struct histogram_body *body, unsigned index, uint64_t more)
{
    if (is_wide(body))
        *wide_bucket(body, index) += more;
    else
        body->buckets[index] += (uint32_t)more;
}

/* The least value with this place. */
static uint64_t place_begin(unsigned place)
{
    if (place < 1u << HISTOGRAM_PARTS_SHIFT)
        return place;
    unsigned octave = (place >> HISTOGRAM_PARTS_SHIFT) + HISTOGRAM_PARTS_SHIFT - 1;
    uint64_t part = place & ((1u << HISTOGRAM_PARTS_SHIFT) - 1);
    return octave > 63 ? UINT64_MAX : (1ULL << octave) + (part << (octave - HISTOGRAM_PARTS_SHIFT));
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
    bool wide = histogram->body != NULL && is_wide(histogram->body);
    size_t size = wide ? (1 + capacity) * sizeof(uint64_t) : capacity * sizeof(uint32_t);
    struct histogram_body *resized = realloc(histogram->body, sizeof(*resized) + size);

    if (resized == NULL)
        return -ENOMEM;
    if (histogram->body == NULL)
        *resized = (struct histogram_body){0};
    resized->capacity = (uint8_t)capacity;
    histogram->body = resized;
    return 0;
}

#define FIRST_BUCKETS 8

/* It has a body from now on. */
static int begin(struct histogram *histogram, unsigned most)
{
    return histogram->body != NULL ? 0
                                   : resize(histogram, most < FIRST_BUCKETS ? most : FIRST_BUCKETS);
}

/* Room for so many buckets, and some more. */
static unsigned with_room(unsigned used, unsigned most)
{
    unsigned room = (used + 7) / 8 * 8;

    return room < most ? room : most;
}

static int reserve(struct histogram *histogram, unsigned most)
{
    unsigned wanted = histogram->body->capacity * 2u;

    if (histogram->body->used < histogram->body->capacity)
        return 0;
    return resize(histogram, wanted < most ? wanted : most);
}

/* Returns how many there are. */
static unsigned load(const struct histogram_body *body, uint64_t *buckets)
{
    for (unsigned i = 0; i < body->used; i++)
        buckets[i] = get_bucket(body, i);
    return body->used;
}

static int store(struct histogram *histogram, const uint64_t *buckets, unsigned used,
                 unsigned shift, unsigned most)
{
    if (used > histogram->body->capacity && resize(histogram, with_room(used, most)) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < used; i++)
        put_bucket(histogram->body, i, buckets[i]);
    histogram->body->used = (uint8_t)used;
    histogram->body->shift = (uint8_t)shift;
    return 0;
}

static int widen(struct histogram *histogram)
{
    uint64_t buckets[UINT8_MAX];
    unsigned used = load(histogram->body, buckets);
    uint32_t counted = histogram->body->counted;

    histogram->body->counted = HISTOGRAM_WIDE;
    if (resize(histogram, histogram->body->capacity) < 0) {
        histogram->body->counted = counted;
        return -ENOMEM;
    }
    memset(histogram->body->buckets, 0, 2 * sizeof(uint32_t));
    return store(histogram, buckets, used, histogram->body->shift, histogram->body->capacity);
}

/* So many values are counted as well from now on, and it has a body. */
static int count_more(struct histogram *histogram, uint64_t more, unsigned most)
{
    if (begin(histogram, most) < 0)
        return -ENOMEM;
    if (is_wide(histogram->body))
        return 0;
    if (more > NARROW_MASK - histogram->body->counted)
        return widen(histogram);
    histogram->body->counted += (uint32_t)more;
    return 0;
}

/* ---- one value ---- */

/* Index of the first bucket whose place is not less. (Without a branch, which nobody could predict.) */
static unsigned find_bucket(const struct histogram_body *body, unsigned place)
{
    unsigned at = 0;

    for (unsigned left = body->used; left > 0;) {
        unsigned half = (left + 1) / 2;
        at += (place_at(body, at + half - 1) < place) * half;
        left -= half;
    }
    return at;
}

static bool is_bucket(const struct histogram_body *body, unsigned index, unsigned place)
{
    return index < body->used && place_at(body, index) == place;
}

static int insert(struct histogram *histogram, unsigned at, uint64_t bucket, unsigned most)
{
    size_t size = bucket_size(histogram->body);

    if (reserve(histogram, most) < 0)
        return -ENOMEM;
    char *place = (char *)first_bucket(histogram->body) + at * size;
    memmove(place + size, place, (histogram->body->used - at) * size);
    put_bucket(histogram->body, at, bucket);
    histogram->body->used++;
    return 0;
}

static int make_coarser(struct histogram *histogram, unsigned most)
{
    uint64_t buckets[UINT8_MAX];
    unsigned used = coarsen(buckets, load(histogram->body, buckets));

    return store(histogram, buckets, used, histogram->body->shift + 1u, most);
}

/* `place` is one without shift. */
static int add_at(struct histogram *histogram, unsigned place, unsigned most)
{
    struct histogram_body *body = histogram->body;

    if (is_bucket(body, body->latest, place >> body->shift)) {
        add_count(body, body->latest, 1);
        return 0;
    }
    for (;;) {
        unsigned at = find_bucket(body, place >> body->shift);
        body->latest = (uint8_t)at;
        if (is_bucket(body, at, place >> body->shift)) {
            add_count(body, at, 1);
            return 0;
        }
        if (body->used < most)
            return insert(histogram, at, make_bucket(place >> body->shift, 1), most);
        if (make_coarser(histogram, most) < 0)
            return -ENOMEM;
        body = histogram->body;
    }
}

/* `first`: of the values that it has. */
static int note_extent(struct histogram *histogram, bool first, uint64_t sum, uint64_t min,
                       uint64_t max)
{
    uint64_t least = first || min < histogram_min(histogram) ? min : histogram_min(histogram);
    uint64_t greatest = max > histogram_max(histogram) ? max : histogram_max(histogram);

    if (greatest > UINT32_MAX && !is_wide(histogram->body) && widen(histogram) < 0)
        return -ENOMEM;
    struct histogram_body *body = histogram->body;
    body->sum += sum;
    body->min = (uint32_t)least;
    body->max = (uint32_t)greatest;
    if (is_wide(body)) {
        body->buckets[0] = (uint32_t)(least >> 32);
        body->buckets[1] = (uint32_t)(greatest >> 32);
    }
    return 0;
}

int histogram_add(struct histogram *histogram, uint64_t value, unsigned most)
{
    bool first = histogram_bars(histogram) == 0;

    if (count_more(histogram, 1, most) < 0 || add_at(histogram, histogram_place(value), most) < 0)
        return -ENOMEM;
    return note_extent(histogram, first, value, value, value);
}

/* ---- many buckets ---- */

struct some_buckets {
    uint64_t list[UINT8_MAX];
    unsigned used;
    unsigned shift;
};

/* Those of both, in order, with the same shift, which none of theirs is greater than; returns how many. */
static unsigned interleave(const struct histogram_body *a, const struct some_buckets *b,
                           unsigned shift, uint64_t *buckets)
{
    unsigned used = 0, i = 0, k = 0;
    unsigned by_a = shift - a->shift, by_b = shift - b->shift;

    while (i < a->used || k < b->used) {
        bool is_left = k == b->used ||
                       (i < a->used && place_at(a, i) >> by_a <= bucket_place(b->list[k]) >> by_b);
        uint64_t bucket = is_left ? get_bucket(a, i++) : b->list[k++];
        unsigned place = bucket_place(bucket) >> (is_left ? by_a : by_b);
        if (used > 0 && bucket_place(buckets[used - 1]) == place)
            buckets[used - 1] += bucket_count(bucket);
        else
            buckets[used++] = make_bucket(place, bucket_count(bucket));
    }
    return used;
}

/* Finds the bucket of `to` for each one of `from`; false: it lacks some. */
static bool find_buckets(const struct histogram_body *to, const struct some_buckets *from,
                         uint8_t *found)
{
    unsigned by = to->shift - from->shift, at = 0;

    for (unsigned i = 0; i < from->used; i++) {
        unsigned place = bucket_place(from->list[i]) >> by;
        while (at < to->used && place_at(to, at) < place)
            at++;
        if (!is_bucket(to, at, place))
            return false;
        found[i] = (uint8_t)at;
    }
    return true;
}

/* That they are counted is known already. */
static int merge_buckets(struct histogram *histogram, const struct some_buckets *from,
                         unsigned most)
{
    const struct histogram_body *to = histogram->body;
    uint64_t buckets[2 * UINT8_MAX];
    uint8_t found[UINT8_MAX];

    if (to->used > 0 && to->shift >= from->shift && find_buckets(to, from, found)) {
        for (unsigned i = 0; i < from->used; i++)
            add_count(histogram->body, found[i], bucket_count(from->list[i]));
        return 0;
    }
    unsigned shift = to->shift > from->shift ? to->shift : from->shift;
    unsigned used = interleave(to, from, shift, buckets);
    for (; used > most; shift++)
        used = coarsen(buckets, used);
    return store(histogram, buckets, used, shift, most);
}

int histogram_merge(struct histogram *to, const struct histogram *from, unsigned most)
{
    bool first = histogram_bars(to) == 0;
    struct some_buckets more;

    if (histogram_bars(from) == 0)
        return 0;
    more.used = load(from->body, more.list);
    more.shift = from->body->shift;
    if (count_more(to, histogram_count(from), most) < 0 || merge_buckets(to, &more, most) < 0)
        return -ENOMEM;
    return note_extent(to, first, from->body->sum, histogram_min(from), histogram_max(from));
}

int histogram_move(struct histogram *to, struct histogram *from, unsigned most)
{
    int result = 0;

    if (to->body == NULL && histogram_bars(from) <= most) {
        *to = *from;
        from->body = NULL;
    } else {
        result = histogram_merge(to, from, most);
        histogram_done(from);
    }
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
static uint32_t add_to_known(struct histogram_body *body, uint32_t *counts, unsigned begin,
                             unsigned end)
{
    unsigned shift = body->shift;
    uint32_t taken = 0;

    for (unsigned i = find_bucket(body, begin >> shift); i < body->used; i++) {
        unsigned place = place_at(body, i) << shift, after = place + (1u << shift);
        if (place >= end)
            break;
        uint32_t more = take_counts(counts, place, after < end ? after : end);
        add_count(body, i, more);
        taken += more;
    }
    return taken;
}

/* What has no bucket yet. */
static int add_unknown(struct histogram *histogram, uint32_t *counts, unsigned begin, unsigned end,
                       unsigned most)
{
    struct some_buckets some = {.shift = 0};
    int result = 0;

    for (unsigned place = begin; result == 0 && place < end;) {
        for (some.used = 0; place < end && some.used < UINT8_MAX; place++)
            if (counts[place] != 0) {
                some.list[some.used++] = make_bucket(place, counts[place]);
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
    bool first = histogram_bars(histogram) == 0;
    int result = 0;

    if (gathering->count == 0)
        return 0;
    if (count_more(histogram, gathering->count, most) < 0)
        return -ENOMEM;
    unsigned begin = histogram_place(gathering->min), end = histogram_place(gathering->max) + 1;
    uint32_t taken = add_to_known(histogram->body, gathering->counts, begin, end);
    if (taken < gathering->count)
        result = add_unknown(histogram, gathering->counts, begin, end, most);
    if (result == 0)
        result = note_extent(histogram, first, gathering->sum, gathering->min, gathering->max);
    memset(gathering, 0, offsetof(struct histogram_gathering, counts));
    return result;
}

/* ---- what is asked ---- */

uint64_t histogram_count(const struct histogram *histogram)
{
    const struct histogram_body *body = histogram->body;
    uint64_t count = 0;

    if (body == NULL || !is_wide(body))
        return body == NULL ? 0 : body->counted;
    for (unsigned i = 0; i < body->used; i++)
        count += bucket_count(get_bucket(body, i));
    return count;
}

struct histogram_bar histogram_bar(const struct histogram *histogram, unsigned index)
{
    const struct histogram_body *body = histogram->body;
    uint64_t bucket = get_bucket(body, index);
    unsigned place = bucket_place(bucket) << body->shift;
    uint64_t begin = place_begin(place), min = histogram_min(histogram);
    uint64_t end = place_begin(place + (1u << body->shift)) - 1, max = histogram_max(histogram);

    return (struct histogram_bar){
        .from = begin < min ? min : begin,
        .to = end > max ? max : end,
        .count = bucket_count(bucket),
    };
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    uint64_t count = histogram_count(histogram);
    uint64_t rank = (uint64_t)(share * (double)count);
    uint64_t seen = 0;

    for (unsigned i = 0; rank < count && i < histogram_bars(histogram); i++) {
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
