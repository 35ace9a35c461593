/* SPDX-License-Identifier: MIT */
/*
 * work.c: a loop that uses a given CPU time, by the thread's own clock.
 *
 *     left  |------ half ------|--- half ---|- ... -|   the clock is read between the pieces
 */
#include "work.h"

#include <time.h>

static uint64_t cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void turn(uint64_t count)
{
    static volatile uint64_t sink;
    uint64_t state = sink;
    while (count-- > 0)
        state = state * 6364136223846793005u + 1442695040888963407u;
    sink = state;
}

#define CALIBRATION_TURNS 20000u

/* Turns that take 1024 ns of CPU time: the maximum of some measurements, since the first ones are slow. */
static uint64_t turns_per_1024_ns(void)
{
    static uint64_t turns;
    if (turns)
        return turns;
    for (int attempt = 0; attempt < 3; attempt++) {
        const uint64_t begin = cpu_now();
        turn(CALIBRATION_TURNS);
        const uint64_t measured = CALIBRATION_TURNS * 1024 / (cpu_now() - begin + 1) + 1;
        if (measured > turns)
            turns = measured;
    }
    return turns;
}

/* The loop is calibrated, so the clock is read only a few times. It does half of the rest at a time, so it stays
 * accurate when the CPU slows down. */
void work(uint64_t cpu_ns)
{
    const uint64_t turns = turns_per_1024_ns();
    const uint64_t end = cpu_now() + cpu_ns;
    for (uint64_t now = cpu_now(); now < end; now = cpu_now())
        turn(((end - now) / 2 + 500) * turns / 1024);
}
