/* SPDX-License-Identifier: MIT */
/*
 * elapsed_delays.c: for how long the walk may say that a thread could run, but had no CPU. (The history says how much of
 * each wait that was: event/cpu_wait.h.)
 *
 * Nothing but SCHEDULE says how long a thread waited for a CPU. If its wait ended long before it ran, and the SCHEDULEs do not
 * say so, then something else happened in between, or the wait ended later than it seems. So the walk charges an interval
 * with no more than the thread's count grew in it, and a series of short intervals with less than 1 ms more than that:
 *
 *      count 40 ms   | 41 | 41 | 41 | 41 | 41 | 43 ms       most: 4 ms without a CPU
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <string.h>

/* A delay of less than this may have no SCHEDULE yet. */
#define UNTOLD 1000000u /* ns */

/* ---- what the walk may say ---- */

static bool knows_delays(const struct elapsed_analysis *analysis)
{
    return analysis->has_delays && recorded_always(&analysis->recorded, EVENT_SCHEDULE);
}

void elapsed_begin_delays(const struct elapsed_analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->threads.used; i++) {
        struct elapsed_thread *thread = pool_at(&analysis->threads, i);
        thread->unwalked = thread->runnable + UNTOLD;
    }
}

uint64_t elapsed_runnable_since(const struct elapsed_analysis *analysis,
                                const struct interval *interval, uint64_t arrival)
{
    uint64_t ran = interval->end - (interval->asleep ? interval->cpu : 0);
    uint64_t most = interval->queued + UNTOLD;

    if (!knows_delays(analysis) || ran < most || arrival >= ran - most)
        return arrival;
    return ran - most;
}

uint64_t elapsed_take_no_cpu(const struct elapsed_analysis *analysis,
                             const struct interval *interval, uint64_t time)
{
    if (interval->thread == 0 || !knows_delays(analysis))
        return time;
    struct elapsed_thread *thread = pool_at(&analysis->threads, interval->thread - 1);
    uint64_t most = interval->runnable + UNTOLD;
    uint64_t least = interval->previous == 0 ? thread->before
                                             : interval_at(analysis, interval->previous)->runnable;
    if (thread->unwalked > most)
        thread->unwalked = most; /* what came later, the walk has not passed through */
    uint64_t left = thread->unwalked > least ? thread->unwalked - least : 0;
    if (time > left)
        time = left;
    thread->unwalked -= time;
    return time;
}
