/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cpu_wait.bpf.h: how long a stream has waited for a CPU (SCHEDULE), and how many tasks are runnable (`load`).
 *
 *      woken, or preempted        gets its CPU                  leaves it
 *      last_queued = clock        run_delay += what it waited
 *      |--------- waits ----------|------------ runs -----------|
 *                                 ^ sched_switch comes just before the kernel adds this wait to run_delay
 *
 * Both clocks are the run queue's, and it does not move between the hook and the kernel's own addition: the hook adds
 * the wait itself and gets the same sum.
 */
#ifndef DPM_CPU_WAIT_BPF_H
#define DPM_CPU_WAIT_BPF_H

#include "meter/kernel/call.bpf.h"

/* A stream that has waited so much longer than its last SCHEDULE says gets another one. */
#define SCHEDULE_STEP 1000000ULL /* ns */

static __always_inline bool kernel_knows_waits(void)
{
    return bpf_core_field_exists(((struct sched_info *)0)->run_delay);
}

/* From Linux 6.12 a task that sleeps may stay in the queue for a while. If it is moved to another CPU meanwhile, last_queued
 * says that it waits, and says so until it is woken. */
static __always_inline bool may_run(struct task_struct *task)
{
    return task->on_rq != 0 &&
           !(bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed != 0);
}

/* ns that the task has waited for a CPU, a wait that is in progress or just over included. */
static __always_inline uint64_t waited_for_cpu(struct task_struct *task)
{
    uint64_t waited, since, clock;

    if (!kernel_knows_waits())
        return 0;
    waited = task->sched_info.run_delay;
    since = task->sched_info.last_queued;
    clock = plain_task(task)->se.cfs_rq->rq->clock;
    return since == 0 || clock < since || !may_run(task) ? waited : waited + (clock - since);
}

/* SCHEDULE. As a STREAM record, it says something about the stream and is no event in it: it has no sequence number, but
 * the CPU time used so far. */
static __noinline int write_schedule(struct stream *stream, struct task_struct *task)
{
    struct record *record;
    uint64_t runnable;

    if (!kernel_knows_waits() || !tells(stream, EVENT_SCHEDULE) || is_silent_now(stream))
        return 0;
    runnable = waited_for_cpu(task);
    if (drops(stream, EVENT_SCHEDULE, runnable, two_words(task->nvcsw, task->nivcsw))) {
        stream->told_runnable = runnable;
        return 0;
    }
    record = begin_unowned(RING_DATA, EVENT_SCHEDULE);
    if (record == NULL)
        return 0;
    record->header.stream = stream->number;
    record->header.proc_time_and_pc = time_used(task, record->header.time) & PROC_TIME_MASK;
    record->schedule.runnable = stream->told_runnable = runnable;
    record->schedule.voluntary = task->nvcsw;
    record->schedule.involuntary = task->nivcsw;
    submit(record);
    return 0;
}

/* `task` is about to run. */
static __always_inline void note_cpu_wait(struct stream *stream, struct task_struct *task)
{
    if ((flags_in_force & EVENT_FLAG(EVENT_SCHEDULE)) != 0 &&
        waited_for_cpu(task) - stream->told_runnable >= SCHEDULE_STEP)
        write_schedule(stream, task);
}

/* ---- runnable tasks of the machine ---- */

/* The run queue of `next`, which is this CPU's, is locked: nothing else changes this CPU's count now. */
static __always_inline void note_runnable(struct task_struct *next)
{
    const struct rq *queue = plain_task(next)->se.cfs_rq->rq;
    uint32_t now = queue->nr_running, cpu = queue->cpu;
    uint32_t *before;

    if (cpu >= CPUS_MOST)
        return;
    before = &runnable_seen[cpu].count;
    if (now == *before)
        return;
    __sync_fetch_and_add(&runnable, now - *before);
    *before = now;
}

#endif
