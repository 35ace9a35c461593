/* SPDX-License-Identifier: MIT */
/*
 * tsp_paths.c: lower bounds for sets of paths.
 *
 * A set of paths is all tours that begin with one path, here 0 → 3 → 1 of 5 cities. The rest of such a tour leaves
 * every city of {1, 2, 4} once and enters every city of {2, 4, 0} once:
 *
 *                 to  0    2    4      prices of the rows
 *     from 1         ---  c12  c14     u1          a city may not be left for itself, and the path's
 *     from 2         c20  ---  c24     u2          end not for 0 while cities are left (---)
 *     from 4         c40  c42  ---     u4
 *     prices          v0   v2   v4                 u + v <= c everywhere
 *
 * Bound: the cost of the path + the cheapest choice of one entry in every row and column (the assignment problem). A
 * tour is such a choice, so none costs less; a choice need not be a tour, since it may consist of several circuits.
 * Little, Murty, Sweeney and Karel (1963) reduce the matrix, which gives some prices. Here the reduction continues
 * until the sum of the prices is largest, which is the assignment's cost (Eastman 1958; Carpaneto and Toth 1980). This
 * bound is much tighter on asymmetric costs, so the number of steps stays near N. And it does not depend on the order
 * of the reductions: server and controller get the same value for the same path.
 *
 * When a path grows by a city, one row and one column are removed, and one or two rows need a new column along a
 * shortest augmenting path: O(N^2), whereas starting again is O(N^3).
 */
#include "tsp.h"

#include <assert.h>
#include <string.h>

#define NO_COLUMN CITIES_LIMIT

struct path_set {
    struct path path;
    uint32_t left;         /* bit per city that is not on the path */
    uint32_t free_columns; /* bit per column that has no row */
    int32_t bound;
    int32_t row_price[CITIES_LIMIT];
    int32_t column_price[CITIES_LIMIT];
    uint8_t row_of[CITIES_LIMIT]; /* by column: the row that chose it */
};

/* for (each city in the mask) */
#define FOR_EACH_CITY(city, mask)                                                                  \
    for (uint32_t rest_ = (mask), city; rest_ && (city = (uint32_t)__builtin_ctz(rest_), true);    \
         rest_ &= rest_ - 1)

static uint32_t path_end(const struct path_set *set)
{
    return set->path.cities[set->path.length - 1];
}

/* The tree of shortest ways from one row to columns, by reduced cost (c - u - v). */
struct way_tree {
    uint32_t open;                  /* columns without a final distance */
    int32_t distance[CITIES_LIMIT]; /* of columns */
    uint8_t from[CITIES_LIMIT];     /* the column before, NO_COLUMN: the row itself */
};

/* Relaxes all open columns from `row`, which is reached through column `through` at `distance`. Returns the nearest
 * open column. */
static uint32_t way_tree_grow(const struct costs *costs, const struct path_set *set,
                              struct way_tree *tree, uint32_t row, uint8_t through,
                              int32_t distance)
{
    const bool may_return = !set->left || row != path_end(set);
    uint32_t nearest = NO_COLUMN;
    int32_t nearest_distance = INT32_MAX;

    FOR_EACH_CITY(column, tree->open)
    {
        int32_t cost = column == 0 && !may_return ? FORBIDDEN : costs->cost[row][column];
        int32_t reached = distance + cost - set->row_price[row] - set->column_price[column];
        if (reached < tree->distance[column]) {
            tree->distance[column] = reached;
            tree->from[column] = through;
        }
        if (tree->distance[column] < nearest_distance) {
            nearest_distance = tree->distance[column];
            nearest = column;
        }
    }
    return nearest;
}

/* Raises the prices so that the way found costs nothing and no reduced cost becomes negative. */
static void raise_prices(struct path_set *set, const struct way_tree *tree, uint32_t row,
                         uint32_t reached, int32_t length)
{
    set->row_price[row] += length;
    FOR_EACH_CITY(column, reached)
    {
        int32_t rise = length - tree->distance[column];
        set->row_price[set->row_of[column]] += rise;
        set->column_price[column] -= rise;
    }
    set->bound += length;
}

/* Finds a column for a row without one: along the shortest way to a free column, every row on the way moves one
 * column on. */
static void place_row(const struct costs *costs, struct path_set *set, uint32_t row)
{
    const uint32_t columns = set->left | 1u;
    struct way_tree tree = {.open = columns};
    uint32_t current = row;
    uint8_t through = NO_COLUMN;
    int32_t distance = 0;
    uint32_t column;

    assert(set->free_columns & columns);
    FOR_EACH_CITY(each, columns)
    tree.distance[each] = INT32_MAX;
    for (;;) {
        column = way_tree_grow(costs, set, &tree, current, through, distance);
        distance = tree.distance[column];
        if (set->free_columns & (1u << column))
            break;
        tree.open &= ~(1u << column);
        current = set->row_of[column];
        through = (uint8_t)column;
    }

    raise_prices(set, &tree, row, columns & ~tree.open, distance);
    set->free_columns &= ~(1u << column);
    while (tree.from[column] != NO_COLUMN) {
        set->row_of[column] = set->row_of[tree.from[column]];
        column = tree.from[column];
    }
    set->row_of[column] = (uint8_t)row;
}

/* The set of all tours. */
static void path_set_all(const struct costs *costs, struct path_set *set)
{
    memset(set, 0, sizeof(*set));
    set->path.length = 1;
    set->left = (uint32_t)((UINT64_C(1) << costs->cities) - 2);
    set->free_columns = set->left | 1u;
    for (uint32_t row = 0; row < costs->cities; row++)
        place_row(costs, set, row);
}

/* The part of `set` whose path continues with `city`. */
static void path_set_extend(const struct costs *costs, const struct path_set *set, uint32_t city,
                            struct path_set *ret_part)
{
    struct path_set *part = ret_part;
    const uint32_t end = path_end(set);
    const uint32_t row_without_column = set->row_of[city];

    *part = *set;
    part->path.cities[part->path.length++] = (uint8_t)city;
    part->left &= ~(1u << city);
    part->bound += costs->cost[end][city] - set->row_price[end] - set->column_price[city];

    /* Row `end` and column `city` are gone: their partners are free. */
    FOR_EACH_CITY(column, part->left | 1u)
    if (part->row_of[column] == end)
        part->free_columns = 1u << column;
    /* The new end may not return to 0 yet. */
    const bool end_must_move = part->left && part->row_of[0] == city;
    if (end_must_move)
        part->free_columns |= 1u;

    if (row_without_column != end)
        place_row(costs, part, row_without_column);
    if (end_must_move)
        place_row(costs, part, city);
}

static void path_set_of(const struct costs *costs, const struct path *path,
                        struct path_set *ret_set)
{
    struct path_set set;
    path_set_all(costs, ret_set);
    for (unsigned position = 1; position < path->length; position++) {
        set = *ret_set;
        path_set_extend(costs, &set, path->cities[position], ret_set);
    }
}

/* The least bound among the parts of `set` whose paths are `depth` cities longer. */
static int32_t look_ahead(const struct costs *costs, const struct path_set *set, unsigned depth)
{
    int32_t least = INT32_MAX;
    if (!set->left || depth == 0)
        return set->bound;
    FOR_EACH_CITY(city, set->left)
    {
        struct path_set part;
        path_set_extend(costs, set, city, &part);
        int32_t value = look_ahead(costs, &part, depth - 1);
        least = value < least ? value : least;
    }
    return least;
}

/* Values all paths of `set` that are `depth` cities longer. There is no pruning, although the bounds would allow it:
 * the CPU time of a request then depends only on the number of cities left, as a study of parallelism needs. */
static void explore(const struct costs *costs, const struct path_set *set, unsigned depth,
                    struct choice *best)
{
    if (!set->left || depth == 0) {
        struct choice choice = {.value = look_ahead(costs, set, LOOK_AHEAD), .path = set->path};
        if (choice_better(&choice, best))
            *best = choice;
        return;
    }
    FOR_EACH_CITY(city, set->left)
    {
        struct path_set part;
        path_set_extend(costs, set, city, &part);
        explore(costs, &part, depth - 1, best);
    }
}

struct choice piece_explore(const struct costs *costs, const struct path *piece)
{
    struct choice best = {.value = INT32_MAX};
    struct path_set set;
    path_set_of(costs, piece, &set);
    explore(costs, &set, CHOICE_DEPTH, &best);
    return best;
}

int32_t path_value(const struct costs *costs, const struct path *path)
{
    struct path_set set;
    path_set_of(costs, path, &set);
    return look_ahead(costs, &set, LOOK_AHEAD);
}

int32_t tour_cost(const struct costs *costs, const struct path *tour)
{
    int32_t cost = costs->cost[tour->cities[tour->length - 1]][0];
    for (unsigned position = 1; position < tour->length; position++)
        cost += costs->cost[tour->cities[position - 1]][tour->cities[position]];
    return cost;
}

bool path_valid(const struct path *path, unsigned cities)
{
    uint32_t seen = 0;
    if (path->length < 1 || path->length > cities || path->cities[0] != 0)
        return false;
    for (unsigned position = 0; position < path->length; position++) {
        const unsigned city = path->cities[position];
        if (city >= cities || (seen & (1u << city)))
            return false;
        seen |= 1u << city;
    }
    return true;
}

bool path_begins(const struct path *path, const struct path *beginning)
{
    return path->length >= beginning->length &&
           memcmp(path->cities, beginning->cities, beginning->length) == 0;
}

bool choice_better(const struct choice *left, const struct choice *right)
{
    if (left->value != right->value)
        return left->value < right->value;
    if (left->path.length != right->path.length)
        return left->path.length > right->path.length;
    return memcmp(left->path.cities, right->path.cities, left->path.length) < 0;
}
