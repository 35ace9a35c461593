/* SPDX-License-Identifier: MIT */
/*
 * tsp_search.c: the controller's search, after Miller's thesis, section 5.3.3.
 *
 * The set of all tours is divided into N-1 pieces (0 → 1, 0 → 2, ...), one request each. A server answers with the most
 * promising path of its piece; piece and path together are an open choice. The search takes the most promising open
 * choice and divides its piece, one city longer, into N-2 pieces, and so on. If the best choice is not one of the
 * pieces just made, the previous choice was wrong: the search backtracks to the piece that is now the most promising.
 *
 *     step 1   0 is divided            0-1: 0-1-4-2 (71)   0-2: 0-2-4-1 (63)*  0-3: ...
 *     step 2   0-2 is divided          0-2-1: 0-2-1-3-4 (75)   0-2-4: 0-2-4-1-3 (72)   ...
 *     step 3   0-1 is now the most promising (71): backtrack
 *
 * The value of a choice is a lower bound for all tours of its piece. So when the best open choice is a tour, its cost
 * is the optimum: every other tour is in an open piece whose bound is no lower.
 *
 * At the end of a step the controller waits for all pieces: this is the synchronization point.
 *
 * The three versions differ in two places only, open_choice_value() and requests_at_once():
 *
 *     version 1   keeps the paths; recalculates their values for every decision
 *     version 2   keeps a cache: the value of each path
 *     version 3   as 2, and gives each server a second request while it computes the first
 */
#include "tsp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct open_choice {
    struct path piece;
    struct choice best;
};

struct search {
    const struct costs *costs;
    unsigned version;
    struct crew *crew;
    struct open_choice *open; /* in no order */
    size_t open_count;
    size_t open_capacity;
    struct search_result result;
};

/* ---- the differences between the versions ---- */

/* Version 1 has kept only the path and must recalculate its value. */
static int32_t open_choice_value(const struct search *search, const struct open_choice *choice)
{
    if (search->version == 1)
        return path_value(search->costs, &choice->best.path);
    return choice->best.value;
}

static unsigned requests_at_once(const struct search *search)
{
    return search->version == 3 ? 2 : 1;
}

/* ---- one step: divide a set of paths and have the pieces computed ---- */

struct step {
    unsigned piece_count;
    unsigned sent;
    unsigned answered;
    bool done[CITIES_LIMIT];
    struct open_choice *choices; /* one per piece, at the end of search->open */
};

static int reserve_open(struct search *search, size_t count, struct problem *problem)
{
    if (count <= search->open_capacity)
        return 0;
    size_t capacity = 2 * search->open_capacity + CITIES_LIMIT;
    if (capacity < count)
        capacity = count;
    struct open_choice *open = realloc(search->open, capacity * sizeof(*open));
    if (!open)
        return problem_set(problem, -ENOMEM, "no memory for %zu open choices", capacity);
    search->open = open;
    search->open_capacity = capacity;
    return 0;
}

/* The pieces of `set`: its path continued by every city that is not on it. */
static int divide(struct search *search, const struct path *set, struct step *ret_step,
                  struct problem *problem)
{
    struct step step = {.piece_count = 0};
    int error = reserve_open(search, search->open_count + CITIES_LIMIT, problem);
    if (error < 0)
        return error;
    step.choices = search->open + search->open_count;
    for (unsigned city = 1; city < search->costs->cities; city++) {
        struct path *piece = &step.choices[step.piece_count].piece;
        *piece = *set;
        piece->cities[piece->length++] = (uint8_t)city;
        if (path_valid(piece, search->costs->cities))
            step.piece_count++;
    }
    *ret_step = step;
    return 0;
}

static int send_next(struct search *search, struct step *step, unsigned server,
                     struct problem *problem)
{
    int error =
        crew_request(search->crew, server, step->sent, &step->choices[step->sent].piece, problem);
    if (error < 0)
        return error;
    step->sent++;
    search->result.requests++;
    return 0;
}

/* A round for the first requests, then one for the second: no server gets two while another has none. */
static int send_first(struct search *search, struct step *step, struct problem *problem)
{
    for (unsigned round = 0; round < requests_at_once(search); round++)
        for (unsigned server = 0; server < search->crew->used_count; server++) {
            if (step->sent == step->piece_count)
                return 0;
            int error = send_next(search, step, server, problem);
            if (error < 0)
                return error;
        }
    return 0;
}

/* Accepts a server's answer only if it is a possible one. */
static int accept_answer(struct search *search, struct step *step, uint32_t number,
                         const struct choice *best, struct problem *problem)
{
    if (number >= step->sent || step->done[number])
        return problem_set(problem, -EPROTO, "a server answered request %u, which is not open",
                           number);
    struct open_choice *choice = &step->choices[number];
    const bool is_tour = best->path.length == search->costs->cities;
    if (!path_begins(&best->path, &choice->piece) || best->value < 0 ||
        (is_tour && best->value != tour_cost(search->costs, &best->path)))
        return problem_set(problem, -EPROTO, "a server's answer to request %u is wrong", number);
    choice->best = *best;
    step->done[number] = true;
    step->answered++;
    return 0;
}

static int run_step(struct search *search, const struct path *set, struct problem *problem)
{
    struct step step;
    int error = divide(search, set, &step, problem);
    if (error == 0)
        error = send_first(search, &step, problem);
    while (error == 0 && step.answered < step.piece_count) {
        unsigned server;
        uint32_t number;
        struct choice best;
        error = crew_reply(search->crew, search->costs->cities, &server, &number, &best, problem);
        if (error == 0)
            error = accept_answer(search, &step, number, &best, problem);
        if (error == 0 && step.sent < step.piece_count)
            error = send_next(search, &step, server, problem);
    }
    if (error < 0)
        return error;
    const unsigned servers = search->crew->used_count;
    search->open_count += step.piece_count;
    search->result.steps++;
    search->result.waits += step.piece_count < servers ? step.piece_count : servers;
    return 0;
}

/* ---- the branching decision ---- */

/* Removes the most promising choice from the open ones. */
static struct open_choice choose(struct search *search)
{
    struct choice best = {.value = INT32_MAX};
    size_t best_index = 0;

    assert(search->open_count > 0);
    for (size_t index = 0; index < search->open_count; index++) {
        const struct open_choice *open = &search->open[index];
        struct choice choice = {.value = open_choice_value(search, open), .path = open->best.path};
        if (choice_better(&choice, &best)) {
            best = choice;
            best_index = index;
        }
    }
    struct open_choice chosen = search->open[best_index];
    chosen.best = best;
    search->open[best_index] = search->open[--search->open_count];
    return chosen;
}

static int search_tours(struct search *search, struct problem *problem)
{
    struct open_choice chosen = {.piece = {.length = 1}};
    for (;;) {
        const struct path divided = chosen.piece;
        int error = run_step(search, &divided, problem);
        if (error < 0)
            return error;
        chosen = choose(search);
        if (chosen.best.path.length == search->costs->cities)
            break;
        if (!path_begins(&chosen.piece, &divided))
            search->result.backtracks++;
    }
    search->result.tour = chosen.best.path;
    search->result.cost = chosen.best.value;
    return 0;
}

int search_run(struct crew *crew, const struct costs *costs, unsigned version,
               struct search_result *ret_result, struct problem *problem)
{
    struct search search = {.costs = costs, .version = version, .crew = crew};
    int error = search_tours(&search, problem);
    if (error == 0)
        *ret_result = search.result;
    free(search.open);
    return error;
}
