/* SPDX-License-Identifier: MIT */
/*
 * seeded.h: repeatable random input for tests: the seed is printed, and DPM_SEED=N in the environment sets it.
 */
#ifndef DPM_SEEDED_H
#define DPM_SEEDED_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The seed of this run; printed once by each caller, on standard error. */
static inline uint64_t seed_of_run(const char *what)
{
    const char *given = getenv("DPM_SEED");
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0)
                                  : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    fprintf(stderr, "# %s: DPM_SEED=%" PRIu64 "\n", what, seed);
    return seed;
}

/* The next number of the generator splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_number(uint64_t *state)
{
    uint64_t number = *state += 0x9e3779b97f4a7c15u;

    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

/* 0 .. limit - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return random_number(state) % limit;
}

/* How many rounds of random input, each with an input of its own: all with ./dev test --all, otherwise a fifth. */
static inline uint64_t rounds_of_run(uint64_t all)
{
    return getenv("DPM_LONG") != NULL ? all : (all + 4) / 5;
}

/* Whether to try this one of many inputs: each with ./dev test --all, otherwise a random fifth. */
static inline bool is_tried(uint64_t *state)
{
    return getenv("DPM_LONG") != NULL || random_below(state, 5) == 0;
}

#endif
