/* SPDX-License-Identifier: MIT */
/*
 * tsp_problem.c: the problem to solve: a random cost matrix, and an independent solver to check the search.
 *
 * The costs are asymmetric and independent. On such matrices the bound of tsp_paths.c is tight, so few choices prove
 * wrong, and the computation divides into N-1, N-2, ... pieces as the paper describes, with some backtracking.
 */
#include "tsp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define GENERATED_COST_LARGEST 1000

int problem_set(struct problem *problem, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    va_end(arguments);
    return error;
}

/* splitmix64 (Steele, Lea and Flood 2014): every seed is a good one. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

void costs_generate(struct costs *costs, unsigned cities, uint64_t seed)
{
    uint64_t state = seed;
    costs->cities = cities;
    for (unsigned from = 0; from < cities; from++)
        for (unsigned to = 0; to < cities; to++)
            costs->cost[from][to] =
                from == to ? FORBIDDEN
                           : 1 + (int32_t)(random_next(&state) % GENERATED_COST_LARGEST);
}

/* Dynamic programming over the sets of cities without city 0, bit city - 1:
 *
 *     least[set][last] = cost of the cheapest path 0 → ... → last through exactly the cities of set
 */
int32_t costs_exact(const struct costs *costs)
{
    if (costs->cities > EXACT_CITIES_LIMIT)
        return -E2BIG;
    const unsigned others = costs->cities - 1;
    const uint32_t set_count = 1u << others;
    int32_t(*least)[EXACT_CITIES_LIMIT] = malloc(set_count * sizeof(*least));
    if (!least)
        return -ENOMEM;

    for (uint32_t set = 1; set < set_count; set++)
        for (unsigned last = 0; last < others; last++) {
            const uint32_t before = set & ~(1u << last);
            int32_t best = FORBIDDEN;
            if (!(set & (1u << last))) {
                least[set][last] = FORBIDDEN;
                continue;
            }
            if (!before)
                best = costs->cost[0][last + 1];
            for (unsigned middle = 0; middle < others; middle++)
                if (before & (1u << middle)) {
                    int32_t cost = least[before][middle] + costs->cost[middle + 1][last + 1];
                    best = cost < best ? cost : best;
                }
            least[set][last] = best;
        }

    int32_t optimum = FORBIDDEN;
    for (unsigned last = 0; last < others; last++) {
        int32_t cost = least[set_count - 1][last] + costs->cost[last + 1][0];
        optimum = cost < optimum ? cost : optimum;
    }
    free(least);
    return optimum;
}
