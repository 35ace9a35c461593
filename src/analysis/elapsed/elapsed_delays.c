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
 * say so, then something else happened in between, or the wait ended later than it seems.
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>

/* A delay of less than this may have no SCHEDULE yet. */
#define UNTOLD 1000000u /* ns */

/* Further ones stay what the thread waited for. So many may come while its next event is held back. */
#define DELAYS_MOST 4096

int elapsed_note_delay(struct elapsed_thread *thread, uint64_t time, uint64_t runnable)
{
    uint64_t before = thread->runnable;

    thread->runnable = runnable;
    if (thread->last == 0)
        thread->before = runnable;
    /* what was before its first event says nothing of its waits */
    if (thread->last == 0 || runnable <= before || thread->delay_count == DELAYS_MOST)
        return 0;
    if (array_reserve(&thread->delays, &thread->delay_room, thread->delay_count + 1,
                      sizeof(*thread->delays)) < 0)
        return -ENOMEM;
    thread->delays[thread->delay_count++] = (struct delay){time, runnable - before};
    return 0;
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
        if (earlier > 0 && !last->asleep)
            add_to(last, earlier);
        if (delay->time > waits_from)
            add_to(interval, delay->length - earlier);
    }
    thread->delay_count -= taken;
    for (size_t i = 0; i < thread->delay_count; i++)
        thread->delays[i] = thread->delays[i + taken];
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
        thread->unwalked = thread->runnable - thread->before + UNTOLD;
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
    if (time > thread->unwalked)
        time = thread->unwalked;
    thread->unwalked -= time;
    return time;
}
