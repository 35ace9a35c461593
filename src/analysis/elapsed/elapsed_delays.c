/* SPDX-License-Identifier: MIT */
/*
 * elapsed_delays.c: how much of a wait was over already: the thread could have run, but had no CPU.
 *
 *      |-------------- wait ---------------|
 *      fdatasync ......... done ... delay ..| BLOCK
 *                                           ^ SCHEDULE: has waited so long for a CPU so far
 *
 * A SCHEDULE is no event of its thread, and may come from the history before events that were earlier: they are kept
 * until the thread's next event. One just after a wait's end means that wait, as far as the time in between is too short
 * for it. Delays of less than a millisecond have no SCHEDULE, and count with the next one.
 *
 * Nothing else says how long a thread waited for a CPU. If its wait ended long before it ran, and the SCHEDULEs do not
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

/* Further ones stay what the thread waited for. So many may come while its next event is held back. */
#define DELAYS_MOST 4096

int elapsed_note_delay(struct elapsed_thread *thread, uint64_t time, uint64_t runnable)
{
    uint64_t before = thread->runnable;

    thread->runnable = runnable;
    if (runnable <= before || thread->delay_count == DELAYS_MOST)
        return 0;
    if (array_reserve(&thread->delays, &thread->delay_room, thread->delay_count + 1,
                      sizeof(*thread->delays)) < 0)
        return -ENOMEM;
    thread->delays[thread->delay_count++] = (struct delay){time, runnable - before, before};
    return 0;
}

void elapsed_leave_out_first_delay(struct elapsed_thread *thread)
{
    if (thread->delay_count == 0)
        return;
    thread->before = thread->delays[0].length;
    thread->delay_count--;
    memmove(thread->delays, thread->delays + 1, thread->delay_count * sizeof(*thread->delays));
}

static void add_to(struct interval *interval, uint64_t delay)
{
    uint64_t fits = interval->wait - interval->queued;

    interval->queued += delay < fits ? delay : fits;
}

void elapsed_take_delays(const struct elapsed_analysis *analysis, struct elapsed_thread *thread,
                         struct interval *interval)
{
    struct interval *last = thread->last == 0 ? NULL : interval_at(analysis, thread->last);
    /* what was before the wait began was preemption */
    uint64_t waits_from = interval->asleep ? 0 : interval->end - interval->wait;
    size_t taken = 0;

    for (; taken < thread->delay_count && thread->delays[taken].time <= interval->end; taken++) {
        const struct delay *delay = &thread->delays[taken];
        uint64_t since = last != NULL && delay->time > last->end ? delay->time - last->end : 0;
        uint64_t earlier = last != NULL && delay->length > since ? delay->length - since : 0;
        if (earlier > 0)
            last->runnable = delay->before + earlier;
        if (earlier > 0 && !last->asleep)
            add_to(last, earlier);
        if (delay->time > waits_from)
            add_to(interval, delay->length - earlier);
    }
    interval->runnable =
        taken < thread->delay_count ? thread->delays[taken].before : thread->runnable;
    thread->delay_count -= taken;
    if (taken > 0)
        memmove(thread->delays, thread->delays + taken,
                thread->delay_count * sizeof(*thread->delays));
}

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
