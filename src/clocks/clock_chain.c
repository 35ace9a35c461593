/* SPDX-License-Identifier: MIT */
/*
 * clock_chain.c: the clocks of several machines, each converted to that of the first machine that messages tie it to.
 * See clock.h.
 *
 *      origin 2 --clock--> machine 2 ---pair--- machine 1 ---pair--- machine 0
 *      origin 3 ----'                               '-------pair-------'
 *                                          a route: the pairs from a machine to machine 0, its reference
 *
 *      machine 4 ---pair--- machine 3          other machines have another reference: here 3
 *
 * The errors of the pairs of a route add up. The Bellman-Ford algorithm finds routes (Ford 1956, Bellman 1958):
 * machines are few, and messages do not affect its cost.
 */
#include "clocks/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ns: for times within this distance a route is taken to stay the best */
#define ROUTE_TIME 100000000

/* Larger values are damaged, and not used. */
#define MOST_TIME  (1LL << 62)
#define MOST_ERROR (1ULL << 60)

/* Two machines that have exchanged messages. */
struct link {
    uint32_t a; /* the larger number: routes lead to smaller ones */
    uint32_t b;
    bool known; /* messages have gone both ways */
    struct clock_pair pair;
};

struct route {
    bool found; /* the search has been done, though it may have failed */
    bool exists;
    uint64_t time;     /* the time that it was searched for */
    uint64_t messages; /* messages so far, at that time */
    uint32_t known;    /* known links, at that time */
    uint32_t to;       /* the machine that it leads to */
    uint32_t count;
    uint32_t *links; /* [count], beginning at the machine */
    /* the latest result */
    uint64_t found_for; /* its time */
    uint64_t changes;   /* `changes` of the clocks at that time; 0: no result */
    int64_t offset;
    uint64_t error;
};

/* A moment, by some machine's clock. */
struct moment {
    int64_t time;
    uint64_t error; /* upper bound; UINT64_MAX: not known */
};

struct step {
    struct moment moment;
    uint32_t link; /* the link that leads here ... */
    uint32_t from; /* ... from this machine */
};

struct clocks {
    uint32_t count;
    uint32_t *machines;   /* [count]: origin -> first origin of its machine */
    struct route *routes; /* [count]: by machine */
    struct route *aside;  /* [count]: the same, for clocks_offset_aside */
    struct step *steps;   /* [count]: used in the search */
    /* [count]: machine -> first machine that messages in both directions tie it to, as of told_for */
    uint32_t *references;
    uint32_t told_for;
    struct intern keys; /* a << 32 | b */
    struct link **links;
    size_t link_capacity;
    uint32_t link_count;
    uint32_t known; /* how many links are known */
    uint64_t messages;
    uint64_t changes; /* messages that added information, + 1 */
};

int clocks_new(uint32_t count, struct clocks **ret_clocks)
{
    struct clocks *clocks = calloc(1, sizeof(*clocks));

    if (clocks == NULL)
        return -ENOMEM;
    clocks->count = count;
    clocks->changes = 1;
    clocks->machines = calloc(count + 1UL, sizeof(*clocks->machines));
    clocks->routes = calloc(count + 1UL, sizeof(*clocks->routes));
    clocks->aside = calloc(count + 1UL, sizeof(*clocks->aside));
    clocks->steps = calloc(count + 1UL, sizeof(*clocks->steps));
    clocks->references = calloc(count + 1UL, sizeof(*clocks->references));
    if (clocks->machines == NULL || clocks->routes == NULL || clocks->aside == NULL ||
        clocks->steps == NULL || clocks->references == NULL) {
        clocks_free(clocks);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        clocks->machines[i] = i;
    *ret_clocks = clocks;
    return 0;
}

/* Routes that exist get room for links to all machines. */
static int grow_routes(struct route **routes, uint32_t old, uint32_t count)
{
    struct route *grown = realloc(*routes, (count + 1UL) * sizeof(*grown));

    if (grown == NULL)
        return -ENOMEM;
    *routes = grown;
    memset(&grown[old], 0, (count + 1UL - old) * sizeof(*grown));
    for (uint32_t i = 0; i < old; i++) {
        if (grown[i].links == NULL)
            continue;
        uint32_t *links = realloc(grown[i].links, count * sizeof(*links));
        if (links == NULL)
            return -ENOMEM;
        grown[i].links = links;
    }
    return 0;
}

/* Makes an array longer, by elements that are 0. */
static int grow_array(void *array, uint32_t old, uint32_t count, size_t size)
{
    char *grown;

    memcpy(&grown, array, sizeof(grown));
    grown = realloc(grown, (count + 1UL) * size);
    if (grown == NULL)
        return -ENOMEM;
    memset(grown + old * size, 0, (count + 1UL - old) * size);
    memcpy(array, &grown, sizeof(grown));
    return 0;
}

int clocks_grow(struct clocks *clocks, uint32_t count)
{
    uint32_t old = clocks->count;

    if (grow_routes(&clocks->routes, old, count) < 0 ||
        grow_routes(&clocks->aside, old, count) < 0 ||
        grow_array(&clocks->machines, old, count, sizeof(*clocks->machines)) < 0 ||
        grow_array(&clocks->steps, old, count, sizeof(*clocks->steps)) < 0 ||
        grow_array(&clocks->references, old, count, sizeof(*clocks->references)) < 0)
        return -ENOMEM;
    for (uint32_t i = old; i < count; i++)
        clocks->machines[i] = i;
    clocks->count = count;
    clocks->told_for = 0;
    return 0;
}

void clocks_free(struct clocks *clocks)
{
    if (clocks == NULL)
        return;
    for (uint32_t i = 0; clocks->routes != NULL && i < clocks->count; i++)
        free(clocks->routes[i].links);
    for (uint32_t i = 0; clocks->aside != NULL && i < clocks->count; i++)
        free(clocks->aside[i].links);
    for (uint32_t i = 0; i < clocks->link_count; i++)
        free(clocks->links[i]);
    free(clocks->links);
    intern_done(&clocks->keys);
    free(clocks->machines);
    free(clocks->routes);
    free(clocks->aside);
    free(clocks->steps);
    free(clocks->references);
    free(clocks);
}

/* A machine has the number of its first origin, so origin 0 is always on machine 0. */
void clocks_share(struct clocks *clocks, uint32_t origin, uint32_t with)
{
    uint32_t machine = clocks->machines[origin];
    uint32_t other = clocks->machines[with];
    uint32_t first = machine < other ? machine : other;

    for (uint32_t i = 0; i < clocks->count; i++)
        if (clocks->machines[i] == machine || clocks->machines[i] == other)
            clocks->machines[i] = first;
    clocks->told_for = 0;
}

/* ---- messages ---- */

static int make_route(struct route *route, uint32_t count)
{
    if (route->links == NULL)
        route->links = calloc(count, sizeof(*route->links));
    return route->links == NULL ? -ENOMEM : 0;
}

static int make_routes(struct clocks *clocks, uint32_t machine)
{
    return make_route(&clocks->routes[machine], clocks->count) < 0 ||
                   make_route(&clocks->aside[machine], clocks->count) < 0
               ? -ENOMEM
               : 0;
}

/* Makes a link between two machines. Appends it only when all memory is allocated. */
static int make_link(struct clocks *clocks, uint32_t a, uint32_t b)
{
    struct link *link;

    if (make_routes(clocks, a) < 0 || make_routes(clocks, b) < 0 ||
        array_reserve(&clocks->links, &clocks->link_capacity, clocks->link_count + 1UL,
                      sizeof(struct link *)) < 0)
        return -ENOMEM;
    link = calloc(1, sizeof(*link));
    if (link == NULL || intern_add(&clocks->keys, (uint64_t)a << 32 | b) < 0) {
        free(link);
        return -ENOMEM;
    }
    link->a = a;
    link->b = b;
    clocks->links[clocks->link_count++] = link;
    return 0;
}

int clocks_add(struct clocks *clocks, uint32_t from, uint64_t sent, uint32_t to, uint64_t received)
{
    uint32_t sender = clocks->machines[from];
    uint32_t receiver = clocks->machines[to];
    bool forward = sender > receiver;
    uint32_t a = forward ? sender : receiver;
    uint32_t b = forward ? receiver : sender;
    int64_t index;

    if (a == b)
        return 0;
    index = intern_find(&clocks->keys, (uint64_t)a << 32 | b);
    if (index < 0) {
        if (make_link(clocks, a, b) < 0)
            return -ENOMEM;
        index = clocks->link_count - 1;
    }
    struct link *link = clocks->links[index];
    if (forward)
        clocks->changes += clock_pair_add(&link->pair, sent, received, CLOCK_A_TO_B);
    else
        clocks->changes += clock_pair_add(&link->pair, received, sent, CLOCK_B_TO_A);
    clocks->messages++;
    if (!link->known && link->pair.sides[0].count > 0 && link->pair.sides[1].count > 0) {
        link->known = true;
        clocks->known++;
    }
    return 0;
}

/* ---- from one clock to another ---- */

static uint64_t add_errors(uint64_t error, uint64_t more)
{
    uint64_t sum;

    return __builtin_add_overflow(error, more, &sum) ? UINT64_MAX : sum;
}

/* B - A at any time that is at most `around` from `time`. */
static struct moment offset_around(const struct clock_pair *pair, int64_t time, uint64_t around)
{
    __int128 lowest = INT64_MAX;
    __int128 highest = INT64_MIN;
    uint64_t before = 0; /* time before the clock was started, for which there are no bounds */

    for (int end = around == 0 ? 1 : -1; end <= 1; end += 2) {
        __int128 at = (__int128)time + (__int128)around * end;
        int64_t offset;
        uint64_t error;
        if (at < 0)
            before = (uint64_t)-at;
        clock_pair_offset(pair, at < 0 ? 0 : (uint64_t)at, &offset, &error);
        if (error == UINT64_MAX)
            return (struct moment){0, UINT64_MAX};
        lowest = offset - (__int128)error < lowest ? offset - (__int128)error : lowest;
        highest = offset + (__int128)error > highest ? offset + (__int128)error : highest;
    }
    uint64_t error = (uint64_t)((highest - lowest + 1) / 2);
    return (struct moment){(int64_t)((highest + lowest) / 2),
                           error + (uint64_t)clock_growth(before + 2 * around) + 1};
}

/* Converts A's clock to B's. */
static struct moment to_b(const struct clock_pair *pair, struct moment a)
{
    struct moment offset = offset_around(pair, a.time, a.error);

    if (offset.error == UINT64_MAX)
        return offset;
    return (struct moment){a.time + offset.time, add_errors(a.error, offset.error)};
}

/* Converts B's clock to A's: searches the time a with a + offset(a) = b. The offset hardly changes, so each guess is
 * thousands of times better than the one before, unless a clock has jumped. */
static struct moment to_a(const struct clock_pair *pair, struct moment b)
{
    int64_t guess = (int64_t)pair->begin;
    uint64_t around = 0;
    struct moment offset;

    for (unsigned i = 0; i < 5; i++) {
        offset = offset_around(pair, guess, 0);
        if (offset.error == UINT64_MAX)
            return offset;
        int64_t better = b.time - offset.time;
        uint64_t step = (uint64_t)(better > guess ? better - guess : guess - better);
        around = add_errors(offset.error + step, b.error);
        guess = better;
        if (step == 0)
            break;
    }
    /* adds how much the offset may change within it */
    around = add_errors(around, 2 * (uint64_t)clock_growth(around));
    if (around > MOST_ERROR)
        return (struct moment){0, UINT64_MAX};
    offset = offset_around(pair, guess, around);
    if (offset.error == UINT64_MAX)
        return offset;
    return (struct moment){b.time - offset.time, add_errors(b.error, offset.error)};
}

/* Converts a moment to the clock of the machine at the other end of the link. */
static struct moment over_link(const struct link *link, uint32_t from, struct moment moment)
{
    if (moment.error > MOST_ERROR || moment.time > MOST_TIME || moment.time < -MOST_TIME)
        return (struct moment){0, UINT64_MAX};
    return from == link->a ? to_b(&link->pair, moment) : to_a(&link->pair, moment);
}

/* ---- which machines are tied to each other ---- */

static bool tie(struct clocks *clocks, const struct link *link)
{
    uint32_t *a = &clocks->references[link->a], *b = &clocks->references[link->b];
    bool changes = link->known && *a != *b;

    if (changes)
        *a = *b = *a < *b ? *a : *b;
    return changes;
}

static void find_references(struct clocks *clocks)
{
    bool changed = true;

    for (uint32_t i = 0; i < clocks->count; i++)
        clocks->references[i] = clocks->machines[i];
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < clocks->link_count; i++)
            changed |= tie(clocks, clocks->links[i]);
    }
    clocks->told_for = clocks->known + 1;
}

uint32_t clocks_reference(struct clocks *clocks, uint32_t origin)
{
    if (clocks->told_for != clocks->known + 1)
        find_references(clocks);
    return clocks->references[clocks->machines[origin]];
}

/* ---- routes ---- */

/* Follows a link if that improves what is known of its other end. */
static bool try_link(struct clocks *clocks, uint32_t index, uint32_t from)
{
    const struct link *link = clocks->links[index];
    struct step *step = &clocks->steps[from == link->a ? link->b : link->a];
    const struct moment *begin = &clocks->steps[from].moment;

    if (!link->known || begin->error >= step->moment.error)
        return false;
    struct moment moment = over_link(link, from, *begin);
    if (moment.error >= step->moment.error)
        return false;
    *step = (struct step){moment, index, from};
    return true;
}

static void find_route(struct clocks *clocks, struct route *route, uint32_t machine, uint32_t to,
                       uint64_t time)
{
    bool better = true;

    for (uint32_t i = 0; i < clocks->count; i++)
        clocks->steps[i].moment.error = UINT64_MAX;
    clocks->steps[machine].moment = (struct moment){(int64_t)time, 0};
    for (uint32_t pass = 0; better && pass < clocks->count; pass++) {
        better = false;
        for (uint32_t i = 0; i < clocks->link_count; i++) {
            better |= try_link(clocks, i, clocks->links[i]->a);
            better |= try_link(clocks, i, clocks->links[i]->b);
        }
    }
    route->found = true;
    route->exists = clocks->steps[to].moment.error != UINT64_MAX;
    route->to = to;
    route->time = time;
    route->messages = clocks->messages;
    route->known = clocks->known;
    route->count = 0;
    if (!route->exists)
        return;
    for (uint32_t at = to; at != machine; at = clocks->steps[at].from)
        route->count++;
    uint32_t place = route->count;
    for (uint32_t at = to; at != machine; at = clocks->steps[at].from)
        route->links[--place] = clocks->steps[at].link;
}

/* Whether the route need not be searched again. If there was no route, few new messages may have made one. */
static bool is_current(const struct clocks *clocks, const struct route *route, uint32_t to,
                       uint64_t time)
{
    uint64_t distance = time > route->time ? time - route->time : route->time - time;
    uint64_t more = clocks->messages - route->messages;

    return route->found && route->to == to && distance <= ROUTE_TIME &&
           route->known == clocks->known &&
           (route->exists ? more <= route->messages / 8 : more < clocks->link_count);
}

static struct moment follow(const struct clocks *clocks, const struct route *route,
                            uint32_t machine, uint64_t time)
{
    struct moment moment = {(int64_t)time, route->exists ? 0 : UINT64_MAX};

    for (uint32_t i = 0; i < route->count; i++) {
        const struct link *link = clocks->links[route->links[i]];
        moment = over_link(link, machine, moment);
        machine = machine == link->a ? link->b : link->a;
    }
    return moment;
}

#define NEAR_TIME 100000 /* ns */

/* Whether the latest result also holds for this time. */
static bool is_found(const struct clocks *clocks, const struct route *route, uint64_t time,
                     uint64_t *ret_distance)
{
    *ret_distance = time > route->found_for ? time - route->found_for : route->found_for - time;
    return route->changes == clocks->changes && *ret_distance <= NEAR_TIME;
}

/* Uses and updates one set of routes. Its results depend on what was asked of the same set before. */
static void find_offset(struct clocks *clocks, struct route *routes, uint32_t origin, uint64_t time,
                        int64_t *ret_offset, uint64_t *ret_error)
{
    uint32_t machine = clocks->machines[origin], to = clocks_reference(clocks, origin);
    struct route *route = &routes[machine];

    *ret_offset = 0;
    *ret_error = machine == to ? 0 : UINT64_MAX;
    if (machine == to || time >= (uint64_t)MOST_TIME || route->links == NULL)
        return;
    uint64_t distance;
    if (is_found(clocks, route, time, &distance)) {
        *ret_offset = route->offset;
        *ret_error = add_errors(route->error, (uint64_t)clock_growth(distance));
        return;
    }
    if (!is_current(clocks, route, to, time))
        find_route(clocks, route, machine, to, time);
    struct moment moment = follow(clocks, route, machine, time);
    /* it uses a link that is no longer known */
    if (moment.error == UINT64_MAX && route->exists) {
        find_route(clocks, route, machine, to, time);
        moment = follow(clocks, route, machine, time);
    }
    if (moment.error == UINT64_MAX)
        return;
    *ret_offset = route->offset = moment.time - (int64_t)time;
    *ret_error = route->error = moment.error;
    route->found_for = time;
    route->changes = clocks->changes;
}

void clocks_offset(struct clocks *clocks, uint32_t origin, uint64_t time, int64_t *ret_offset,
                   uint64_t *ret_error)
{
    find_offset(clocks, clocks->routes, origin, time, ret_offset, ret_error);
}

void clocks_offset_aside(struct clocks *clocks, uint32_t origin, uint64_t time, int64_t *ret_offset,
                         uint64_t *ret_error)
{
    find_offset(clocks, clocks->aside, origin, time, ret_offset, ret_error);
}
