/* SPDX-License-Identifier: MIT */
/*
 * clock.c: the offset between two clocks, from bounds that messages give. See clock.h.
 *
 *      pieces                                 the latest bounds
 *      [ polygons | polygons | polygons ]     o   o  o     o   from above
 *                                        ^      x   x   x      from below
 *                                      begin
 *
 * A message of A bounds B - A from above, one of B from below, and convex hulls find the straight lines between these
 * bounds: Duda, Harrus, Haddad, Bernard: Estimating global time in distributed systems (ICDCS 1987). But slewed clocks
 * do not follow straight lines, so a line may lie between all bounds and still be wrong.
 *
 * What is certain is how fast a clock may drift. So each bound v at time x implies v + drift |t - x| at any time t, and
 * the least of these is optimal (Patt-Shamir, Rajsbaum: A theory of clock synchronization, STOC 1994; Ostrovsky,
 * Patt-Shamir: Optimal and efficient clock synchronization under drifting clocks, PODC 1999).
 *
 * The corridor of such bounds is kept exactly for the latest messages. Older parts are pieces, each between two convex
 * hulls of few corners: these widen the corridor, but are never wrong. Bounds that contradict each other prove that a
 * clock has jumped in between: one corridor ends there, and another one begins.
 */
#include "clocks/clock.h"

#include <string.h>

#define TIME_END     (1ULL << 61)
#define VALUE_END    (1LL << 62) /* no bound is that far away */
#define NO_BOUND     INT64_MAX
#define MOST_CORNERS (CLOCK_BOUNDS + 2 * CLOCK_CORNERS)

static uint64_t distance(uint64_t time, uint64_t other)
{
    return time < other ? other - time : time - other;
}

/* The bound that holds `duration` earlier or later. */
static int64_t grown(int64_t value, uint64_t duration)
{
    int64_t sum;

    if (value == NO_BOUND)
        return NO_BOUND;
    sum = value + clock_growth(duration);
    return sum >= VALUE_END ? NO_BOUND : sum;
}

static int64_t least(int64_t value, int64_t other)
{
    return value < other ? value : other;
}

static int64_t largest(int64_t value, int64_t other)
{
    return value > other ? value : other;
}

static int64_t bound_at(const struct clock_bound *bound, uint64_t time)
{
    return grown(bound->value, distance(bound->time, time));
}

/* ---- the latest bounds ---- */

/* How many bounds are not later than `time`. */
static unsigned place_of(const struct clock_side *side, uint64_t time)
{
    unsigned place = side->count;

    while (place > 0 && side->bounds[place - 1].time > time)
        place--;
    return place;
}

/* The least bound at `time`. As no bound follows from another one, it comes from one of the two neighbours. */
static int64_t side_at(const struct clock_side *side, uint64_t time)
{
    unsigned place = place_of(side, time);
    int64_t value = NO_BOUND;

    if (place > 0)
        value = bound_at(&side->bounds[place - 1], time);
    if (place < side->count)
        value = least(value, bound_at(&side->bounds[place], time));
    return value;
}

/* Adds a bound that does not follow from others, and removes those that follow from it. */
static void side_insert(struct clock_side *side, struct clock_bound bound)
{
    unsigned end = place_of(side, bound.time);
    unsigned begin = end;

    while (begin > 0 &&
           side->bounds[begin - 1].value >= bound_at(&bound, side->bounds[begin - 1].time))
        begin--;
    while (end < side->count && side->bounds[end].value >= bound_at(&bound, side->bounds[end].time))
        end++;
    memmove(&side->bounds[begin + 1], &side->bounds[end], (side->count - end) * sizeof(bound));
    side->bounds[begin] = bound;
    side->count = side->count - (end - begin) + 1;
}

static void side_keep_from(struct clock_side *side, uint64_t time)
{
    unsigned first = 0;

    while (first < side->count && side->bounds[first].time < time)
        first++;
    side->count -= first;
    memmove(side->bounds, side->bounds + first, side->count * sizeof(*side->bounds));
}

static void side_keep_to(struct clock_side *side, uint64_t time)
{
    side->count = place_of(side, time);
}

/* ---- convex hulls ---- */

/* A hull with space for all corners that it may have while it is built. */
struct long_hull {
    unsigned count;
    struct clock_bound corners[MOST_CORNERS];
};

static bool lies_under(const struct clock_bound *middle, const struct clock_bound *left,
                       const struct clock_bound *right)
{
    __int128 climb = (__int128)middle->value - left->value;
    __int128 rise = (__int128)right->value - left->value;

    return climb * (int64_t)(right->time - left->time) <=
           rise * (int64_t)(middle->time - left->time);
}

/* Adds a corner that is not earlier, and restores the hull as seen from above (Andrew's monotone chain, 1979). */
static void hull_add(struct long_hull *hull, struct clock_bound corner)
{
    struct clock_bound *corners = hull->corners;

    if (hull->count > 0 && corners[hull->count - 1].time == corner.time) {
        if (corners[hull->count - 1].value >= corner.value)
            return;
        hull->count--;
    }
    while (hull->count >= 2 &&
           lies_under(&corners[hull->count - 1], &corners[hull->count - 2], &corner))
        hull->count--;
    corners[hull->count++] = corner;
}

/* The straight line through two corners, rounded up. */
static __int128 line_at(const struct clock_bound *left, const struct clock_bound *right,
                        uint64_t time)
{
    __int128 width = (int64_t)(right->time - left->time);
    __int128 rise = (__int128)right->value - left->value;
    __int128 product = rise * ((int64_t)time - (int64_t)left->time);

    return left->value + product / width + (product % width > 0);
}

/* Where the edge from corners[0] to [1] and the edge from [2] to [3] meet, if extended: above the edge between them. */
static struct clock_bound meeting(const struct clock_bound *corners)
{
    double left = ((double)corners[1].value - (double)corners[0].value) /
                  (double)(corners[1].time - corners[0].time);
    double right = ((double)corners[3].value - (double)corners[2].value) /
                   (double)(corners[3].time - corners[2].time);
    double width = (double)(corners[2].time - corners[1].time);
    double rise = (double)corners[2].value - (double)corners[1].value;
    double part = left > right ? (rise - right * width) / (left - right) : 0;
    uint64_t time = corners[1].time + (uint64_t)(part < 0 ? 0 : part > width ? width : part);

    /* Rounding of `time` is harmless: the value is above both lines there. */
    __int128 before = line_at(&corners[0], &corners[1], time);
    __int128 after = line_at(&corners[2], &corners[3], time);
    __int128 value = before > after ? before : after;
    return (struct clock_bound){time, value >= VALUE_END ? NO_BOUND : (int64_t)value};
}

static double trapezoid(const struct clock_bound *left, const struct clock_bound *right)
{
    return ((double)left->value + (double)right->value) / 2 * (double)(right->time - left->time);
}

/* Removes the edge whose neighbours meet above it at the least cost in area. */
static void hull_simplify(struct long_hull *hull)
{
    struct clock_bound *corners = hull->corners;
    struct clock_bound best = {0, 0};
    double least_area = 0;
    unsigned place = 0;

    for (unsigned i = 0; i + 3 < hull->count; i++) {
        struct clock_bound corner = meeting(&corners[i]);
        double area = trapezoid(&corners[i + 1], &corner) + trapezoid(&corner, &corners[i + 2]) -
                      trapezoid(&corners[i + 1], &corners[i + 2]);
        if (corner.value == NO_BOUND || (place > 0 && area >= least_area))
            continue;
        least_area = area;
        best = corner;
        place = i + 1;
    }
    if (place == 0) { /* all meetings are too far away to matter */
        hull->count = 0;
        return;
    }
    corners[place] = best;
    hull->count--;
    memmove(&corners[place + 1], &corners[place + 2], (hull->count - place - 1) * sizeof(*corners));
}

/* Stores the hull with at most CLOCK_CORNERS corners. A bound that is too far away counts as none. */
static void hull_store(struct long_hull *hull, struct clock_hull *to)
{
    while (hull->count > CLOCK_CORNERS)
        hull_simplify(hull);
    for (unsigned i = 0; i < hull->count; i++)
        if (hull->corners[i].value == NO_BOUND)
            hull->count = 0;
    to->count = hull->count;
    memcpy(to->corners, hull->corners, hull->count * sizeof(*to->corners));
}

static int64_t hull_at(const struct clock_hull *hull, uint64_t time)
{
    unsigned right = 1;

    if (hull->count < 2)
        return hull->count == 0 ? NO_BOUND : hull->corners[0].value;
    while (right + 1 < hull->count && hull->corners[right].time < time)
        right++;
    return (int64_t)line_at(&hull->corners[right - 1], &hull->corners[right], time);
}

/* Its corner at either end. */
static const struct clock_bound *hull_begin(const struct clock_hull *hull)
{
    return &hull->corners[0];
}

static const struct clock_bound *hull_end(const struct clock_hull *hull)
{
    return &hull->corners[hull->count - 1];
}

/* ---- pieces ---- */

static bool piece_is_known(const struct clock_piece *piece)
{
    return piece->hulls[0].count > 0 && piece->hulls[1].count > 0;
}

/* Area of the corridor within the piece, ns * ns. */
static double piece_area(const struct clock_piece *piece)
{
    double area = 0;

    if (!piece_is_known(piece))
        return 0;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i + 1 < piece->hulls[side].count; i++)
            area += trapezoid(&piece->hulls[side].corners[i], &piece->hulls[side].corners[i + 1]);
    return area;
}

/* Covers one side of two neighbours. If a clock jumped between them, it did so at an unknown time between the end of
 * the left one and the beginning of the right one. */
static void cover_both(const struct clock_piece *left, const struct clock_piece *right,
                       unsigned side, struct clock_hull *to)
{
    const struct clock_hull *before = &left->hulls[side];
    const struct clock_hull *after = &right->hulls[side];
    struct long_hull hull = {0};

    to->count = 0;
    if (after->count == 0 || (before->count == 0 && (left->jumped || right->after_jump)))
        return;
    if (before->count == 0) /* the bounds after it also hold before it, with drift */
        hull_add(&hull,
                 (struct clock_bound){left->begin, bound_at(hull_begin(after), left->begin)});
    for (unsigned i = 0; i < before->count; i++)
        hull_add(&hull, before->corners[i]);
    if (right->after_jump) {
        hull_add(&hull, (struct clock_bound){left->end, bound_at(hull_begin(after), left->end)});
        hull_add(&hull,
                 (struct clock_bound){right->begin, bound_at(hull_end(before), right->begin)});
    }
    for (unsigned i = 0; i < after->count; i++)
        hull_add(&hull, after->corners[i]);
    hull_store(&hull, to);
}

static struct clock_piece piece_merge(const struct clock_piece *left,
                                      const struct clock_piece *right)
{
    struct clock_piece both = {
        .begin = left->begin,
        .end = right->end,
        .after_jump = left->after_jump,
        .jumped = left->jumped || right->jumped || right->after_jump,
    };

    cover_both(left, right, 0, &both.hulls[0]);
    cover_both(left, right, 1, &both.hulls[1]);
    return both;
}

static void set_cost(struct clock_pair *pair, unsigned index)
{
    struct clock_piece *left = &pair->pieces[index];

    if (index + 1 >= pair->piece_count)
        return;
    struct clock_piece both = piece_merge(left, left + 1);
    left->cost = piece_area(&both) - piece_area(left) - piece_area(left + 1);
    if (!piece_is_known(&both) && (piece_is_known(left) || piece_is_known(left + 1)))
        left->cost = 1e300; /* merge all others first */
}

/* Merges the two neighbours for which it costs least. */
static void merge_two(struct clock_pair *pair)
{
    unsigned cheapest = 0;

    for (unsigned i = 1; i + 1 < pair->piece_count; i++)
        if (pair->pieces[i].cost < pair->pieces[cheapest].cost)
            cheapest = i;
    struct clock_piece *left = &pair->pieces[cheapest];
    *left = piece_merge(left, left + 1);
    pair->piece_count--;
    memmove(left + 1, left + 2, (pair->piece_count - cheapest - 1) * sizeof(*left));
    set_cost(pair, cheapest);
    if (cheapest > 0)
        set_cost(pair, cheapest - 1);
}

/* ---- from bounds to pieces ---- */

/* Between two bounds the corridor is widest where both imply the same value: adds that corner if it lies between
 * `begin` and `end`. Two more ns make up for rounding. */
static void add_peak(struct long_hull *hull, const struct clock_bound *left,
                     const struct clock_bound *right, uint64_t begin, uint64_t end)
{
    uint64_t width = right->time - left->time;
    int64_t growth = clock_growth(width);
    int64_t ahead = right->value - left->value + growth;
    __int128 place = (__int128)ahead * (int64_t)width / (2 * (__int128)growth);
    uint64_t time = left->time + (uint64_t)(place < 0 ? 0 : place);

    if (time > begin && time < end)
        hull_add(hull, (struct clock_bound){time, left->value + ahead / 2 + 3});
}

static void cover_side(const struct clock_side *side, uint64_t begin, uint64_t end,
                       struct clock_hull *to)
{
    struct long_hull hull = {0};

    to->count = 0;
    if (side->count == 0)
        return;
    hull_add(&hull, (struct clock_bound){begin, side_at(side, begin)});
    for (unsigned i = 0; i + 1 < side->count; i++)
        add_peak(&hull, &side->bounds[i], &side->bounds[i + 1], begin, end);
    hull_add(&hull, (struct clock_bound){end, side_at(side, end)});
    hull_store(&hull, to);
}

/* Turns the time from pair->begin to `end` into a piece. */
static void add_piece(struct clock_pair *pair, uint64_t end)
{
    struct clock_piece piece = {.begin = pair->begin, .end = end, .after_jump = pair->after_jump};

    cover_side(&pair->sides[0], pair->begin, end, &piece.hulls[0]);
    cover_side(&pair->sides[1], pair->begin, end, &piece.hulls[1]);
    if (pair->piece_count == CLOCK_PIECES)
        merge_two(pair);
    pair->pieces[pair->piece_count++] = piece;
    if (pair->piece_count > 1)
        set_cost(pair, pair->piece_count - 2);
}

/* Turns the older half of the bounds into a piece. What they imply at its end stays as a bound. */
static void make_room(struct clock_pair *pair, const struct clock_side *full)
{
    uint64_t end = full->bounds[CLOCK_BOUNDS / 2].time;

    add_piece(pair, end);
    for (unsigned i = 0; i < 2; i++) {
        struct clock_side *side = &pair->sides[i];
        struct clock_bound bound = {end, side_at(side, end)};
        side_keep_from(side, end);
        if (bound.value != NO_BOUND)
            side_insert(side, bound);
    }
    pair->begin = end;
    pair->after_jump = false;
}

/* ---- jumps ---- */

static bool contradict(const struct clock_bound *bound, const struct clock_bound *other)
{
    int64_t value = bound_at(other, bound->time);

    return value != NO_BOUND && bound->value + value < 0;
}

/* Handles a bound that contradicts some of the other side: a clock jumped between it and the nearest of these. Bounds
 * in between may be from before or after the jump, and are dropped. */
static void split_at_jump(struct clock_pair *pair, unsigned index, struct clock_bound bound)
{
    const struct clock_side *other = &pair->sides[!index];
    unsigned place = place_of(other, bound.time);
    unsigned before = place;
    unsigned after = place;

    while (before > 0 && !contradict(&bound, &other->bounds[before - 1]))
        before--;
    while (after < other->count && !contradict(&bound, &other->bounds[after]))
        after++;
    bool is_new = before > 0;
    uint64_t end = is_new ? other->bounds[before - 1].time : bound.time;
    uint64_t begin = is_new ? bound.time : other->bounds[after].time;
    bool forget = is_new && after < other->count; /* there was another jump */

    struct clock_side kept[2] = {pair->sides[0], pair->sides[1]};
    for (unsigned i = 0; i < 2; i++) {
        side_keep_from(&kept[i], begin);
        if (forget)
            kept[i].count = 0;
        side_keep_to(&pair->sides[i], end);
    }
    if (!is_new)
        side_insert(&pair->sides[index], bound);
    add_piece(pair, end);
    memcpy(pair->sides, kept, sizeof(kept));
    if (is_new)
        side_insert(&pair->sides[index], bound);
    pair->begin = pair->since = begin;
    pair->after_jump = true;
}

/* ---- adding ---- */

/* Moves a late bound to where bounds are kept. Returns false if it implies nothing there. */
static bool bring_forward(struct clock_pair *pair, struct clock_bound *bound)
{
    if (!pair->begun) {
        pair->begun = true;
        pair->begin = bound->time;
    }
    if (bound->time >= pair->begin)
        return true;
    if (bound->time < pair->since)
        return false;
    if (pair->piece_count == 0) {
        pair->begin = bound->time;
        return true;
    }
    bound->value = bound_at(bound, pair->begin);
    bound->time = pair->begin;
    return true;
}

bool clock_pair_add(struct clock_pair *pair, uint64_t time_a, uint64_t time_b,
                    enum clock_direction direction)
{
    unsigned index = direction == CLOCK_A_TO_B ? 0 : 1;
    struct clock_side *side = &pair->sides[index];
    struct clock_bound bound = {time_a, 0};

    if (time_a >= TIME_END || time_b >= TIME_END)
        return false;
    bound.value = direction == CLOCK_A_TO_B ? (int64_t)time_b - (int64_t)time_a
                                            : (int64_t)time_a - (int64_t)time_b;
    if (!bring_forward(pair, &bound) || bound.value >= side_at(side, bound.time))
        return false;
    int64_t other = side_at(&pair->sides[!index], bound.time);
    if (other != NO_BOUND && bound.value + other < 0)
        split_at_jump(pair, index, bound);
    else
        side_insert(side, bound);
    if (side->count == CLOCK_BOUNDS)
        make_room(pair, side);
    if (pair->sides[!index].count == CLOCK_BOUNDS)
        make_room(pair, &pair->sides[!index]);
    return true;
}

/* ---- asking ---- */

/* The bound at a time within a piece. If this side has none there, bounds that follow without a jump in between may
 * apply. */
static int64_t within_piece(const struct clock_pair *pair, unsigned index, unsigned side,
                            uint64_t time)
{
    const struct clock_piece *piece = &pair->pieces[index];

    while (piece->hulls[side].count == 0) {
        bool last = ++index == pair->piece_count;
        if (piece->jumped || (last ? pair->after_jump : piece[1].after_jump))
            return NO_BOUND;
        if (last)
            return grown(side_at(&pair->sides[side], pair->begin), pair->begin - time);
        piece++;
    }
    return time < piece->begin ? bound_at(hull_begin(&piece->hulls[side]), time)
                               : hull_at(&piece->hulls[side], time);
}

/* How many pieces begin at `time` or before. */
static unsigned pieces_before(const struct clock_pair *pair, uint64_t time)
{
    unsigned low = 0;
    unsigned high = pair->piece_count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (pair->pieces[middle].begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The bound between the end of a piece and what follows a jump: the weaker one, since either may apply. */
static int64_t around_jump(const struct clock_pair *pair, unsigned index, unsigned side,
                           uint64_t time)
{
    uint64_t end = pair->pieces[index].end;
    int64_t before = grown(within_piece(pair, index, side, end), time - end);
    int64_t after;

    if (index + 1 == pair->piece_count) {
        after = side_at(&pair->sides[side], time);
    } else {
        uint64_t begin = pair->pieces[index + 1].begin;
        after = grown(within_piece(pair, index + 1, side, begin), begin - time);
    }
    return largest(before, after);
}

static int64_t pair_at(const struct clock_pair *pair, unsigned side, uint64_t time)
{
    unsigned count = pieces_before(pair, time);
    const struct clock_piece *pieces = pair->pieces;

    if (pair->piece_count == 0 || time > pair->begin || (time == pair->begin && !pair->after_jump))
        return side_at(&pair->sides[side], time);
    if (count == 0)
        return grown(within_piece(pair, 0, side, pieces[0].begin), pieces[0].begin - time);
    if (time > pieces[count - 1].end || time == pair->begin)
        return around_jump(pair, count - 1, side, time);
    if (count > 1 && time == pieces[count - 1].begin && pieces[count - 1].after_jump)
        return around_jump(pair, count - 2, side, time);
    return within_piece(pair, count - 1, side, time);
}

void clock_pair_offset(const struct clock_pair *pair, uint64_t time_a, int64_t *ret_offset,
                       uint64_t *ret_error)
{
    int64_t above = time_a < TIME_END ? pair_at(pair, 0, time_a) : NO_BOUND;
    int64_t below = time_a < TIME_END ? pair_at(pair, 1, time_a) : NO_BOUND;

    *ret_offset = 0;
    *ret_error = UINT64_MAX;
    if (above == NO_BOUND || below == NO_BOUND)
        return;
    __int128 width = (__int128)above + below;
    *ret_offset = (int64_t)(((__int128)above - below) / 2);
    *ret_error = (uint64_t)((width < 0 ? -width : width) / 2) + 1;
}
