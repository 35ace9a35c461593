/* SPDX-License-Identifier: MIT */
/*
 * patterns_naps.c: sleeps of one length, one after the other, of a thread or of processes that it makes for that. See
 * patterns.h.
 *
 *      sh      CREATEPROCESS o . . . BLOCK (wait4) o=o CREATEPROCESS . . . BLOCK o
 *      sleep        EXEC o - BLOCK (nanosleep) - TERMINATION
 */
#include "analysis/patterns/patterns_private.h"

#include "event/system_calls.h"

#include <errno.h>

#define NAP_SHORT 10000000u /* ns: below, it gives others a turn */
#define NAP_RATIO 1.5       /* of the longest and shortest of a series */
#define NAP_CPU   5         /* a thread that computes for this part of a nap does some work */

static bool is_sleep(const struct record *record)
{
    return record->header.id == EVENT_BLOCK && (record->block.system_call == CALL_NANOSLEEP ||
                                                record->block.system_call == CALL_CLOCK_NANOSLEEP);
}

static int row_of(struct patterns_analysis *analysis, struct pattern_process *process,
                  struct nap_row **ret_row)
{
    *ret_row = NULL;
    if (process->naps == 0) {
        if (analysis->nap_count == PATTERN_ROWS)
            return 0;
        if (array_reserve(&analysis->naps, &analysis->nap_room, analysis->nap_count + 1,
                          sizeof(*analysis->naps)) < 0)
            return -ENOMEM;
        analysis->naps[analysis->nap_count++] =
            (struct nap_row){.origin = process->origin, .stream = process->number};
        process->naps = (uint32_t)analysis->nap_count;
    }
    *ret_row = &analysis->naps[process->naps - 1];
    return 0;
}

/* A nap alone is no series. */
static int end_series(struct patterns_analysis *analysis, struct pattern_thread *thread)
{
    struct nap_series series = thread->naps;
    struct nap_row *row = NULL;
    int result = 0;

    thread->naps = (struct nap_series){0};
    if (series.count >= 2)
        result = row_of(analysis, pattern_process_at(analysis, thread->process), &row);
    if (row == NULL)
        return result;
    row->by_children = series.by_children;
    row->naps += series.count;
    row->series++;
    row->time += series.time;
    row->lost_most += series.longest;
    row->length = series.longest > row->length ? series.longest : row->length;
    return 0;
}

static int add_nap(struct patterns_analysis *analysis, struct pattern_thread *thread,
                   uint64_t length, uint64_t cpu, bool by_child)
{
    struct nap_series *series = &thread->naps;
    uint64_t shortest = series->shortest < length ? series->shortest : length;
    uint64_t longest = series->longest > length ? series->longest : length;
    int result = 0;

    if (series->count > 0 &&
        (series->by_children != by_child || (double)longest > NAP_RATIO * (double)shortest ||
         cpu - series->cpu > length / NAP_CPU))
        result = end_series(analysis, thread);
    if (series->count == 0)
        shortest = longest = length;
    *series = (struct nap_series){.count = series->count + 1,
                                  .shortest = shortest,
                                  .longest = longest,
                                  .time = series->time + length,
                                  .cpu = cpu,
                                  .by_children = by_child};
    return result;
}

/* A process that did nothing but sleep has ended: its creator napped. */
static int end_child(struct patterns_analysis *analysis, const struct history_event *event,
                     const struct pattern_thread *thread)
{
    struct pattern_thread *parent =
        pattern_find_thread(analysis, event->event.origin, thread->parent);

    if (parent == NULL || parent->child != thread->number)
        return 0;
    parent->child = 0;
    if (thread->works || thread->nap == 0)
        return end_series(analysis, parent);
    return add_nap(analysis, parent, thread->nap, parent->naps.count == 0 ? 0 : parent->naps.cpu,
                   true);
}

/* It writes something down, or takes something that others give it. */
static bool is_work(uint32_t call)
{
    return call == CALL_FSYNC || call == CALL_FDATASYNC || call_is_futex(call);
}

/* What a script does for a nap: it makes a process, and waits for it. */
static bool is_for_nap(const struct record *record)
{
    switch (record->header.id) {
    case EVENT_STARTPROCESS:
    case EVENT_WAKEUP:
        return true; /* see naps_note for one that sleeps itself */
    case EVENT_BLOCK:
        return record->block.system_call == CALL_VFORK || record->block.system_call == CALL_WAIT4 ||
               record->block.system_call == CALL_WAITID ||
               (record->block.duration < NAP_SHORT && !is_work(record->block.system_call));
    default:
        return false;
    }
}

int naps_note(struct patterns_analysis *analysis, const struct history_event *event,
              struct pattern_thread *thread)
{
    const struct record *record = (const struct record *)event->event.header;

    if (is_sleep(record) && record->block.duration >= NAP_SHORT) {
        thread->works = thread->works || thread->nap != 0;
        thread->nap = record->block.duration - event->no_cpu.of_block;
        return add_nap(analysis, thread, thread->nap, event->proc_time, false);
    }
    if (record->header.id == EVENT_TERMINATION)
        return end_child(analysis, event, thread);
    if (record->header.id == EVENT_CREATEPROCESS) {
        bool goes_on = thread->child != 0; /* the process before, which is no nap */
        thread->works = true;
        thread->child = record->create.child;
        return goes_on ? end_series(analysis, thread) : 0;
    }
    if (record->header.id == EVENT_WAKEUP && !thread->naps.by_children)
        return end_series(analysis,
                          thread); /* what it does at intervals, it does for another thread */
    if (is_for_nap(record) || record->header.id == EVENT_EXEC)
        return 0;
    thread->works = true;
    return end_series(analysis, thread);
}

int naps_end_thread(struct patterns_analysis *analysis, struct pattern_thread *thread)
{
    return end_series(analysis, thread);
}
