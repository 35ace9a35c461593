/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * schedule.bpf.h: leaving and entering a CPU: SENDCALL, RECEIVECALL, BLOCK, STOPPROCESS, STARTPROCESS; and which stream
 * has ended a sleep: WAKEUP.
 */
#ifndef DPM_SCHEDULE_BPF_H
#define DPM_SCHEDULE_BPF_H

#include "meter/kernel/cpu_wait.bpf.h"
#include "meter/kernel/mq_call.bpf.h"
#include "meter/kernel/object.bpf.h"
#include "meter/kernel/pipe_call.bpf.h"
#include "meter/kernel/receive.bpf.h"

#define TOLD_AS_PREEMPTED (1u << 31)

/* SENDCALL of a send that has bytes out, or waits for buffer space. Made once for each progress, and once more if the
 * send was recorded as preempted and now waits. */
static __always_inline bool leave_send(struct stream *stream, uint32_t descriptor, uint32_t flags)
{
    struct send_call *call = &stream->send;
    uint32_t progress = call->done + call->out + 1;
    struct message *message = &stream->scratch.leaving;

    if (silent(stream))
        return true;
    *message = (struct message){.flags = flags};
    if (call->socket == 0) {
        /* no space for the first byte */
        message->path = path_of_descriptor(stream, descriptor, true);
    } else {
        if (call->path == 0)
            call->path = path_of_descriptor(stream, descriptor, true);
        message->path = call->path;
        message->offset = call->first + call->out;
        message->bytes = call->out; /* of this piece: earlier ones have their records */
        message->begin = call->begin;
        if (call->told == progress ||
            ((flags & RECORD_PREEMPTED) && call->told == (progress | TOLD_AS_PREEMPTED)))
            return true;
        call->told = flags & RECORD_PREEMPTED ? progress | TOLD_AS_PREEMPTED : progress;
    }
    if (message->path == 0)
        return false;
    write_message(stream, EVENT_SENDCALL, message);
    return true;
}

static __always_inline bool leave_receive(struct stream *stream, uint32_t descriptor)
{
    struct message *message = &stream->scratch.leaving;

    if (stream->receivecall)
        return true;
    *message = (struct message){};
    if (silent(stream)) {
        stream->receivecall = 1; /* it does block, though silently */
        return true;
    }
    message->path = path_of_descriptor(stream, descriptor, true);
    if (message->path == 0)
        return false;
    write_message(stream, EVENT_RECEIVECALL, message);
    stream->receivecall = 1;
    return true;
}

/* A splice that has looked into its TCP socket without taking anything waits for bytes. */
static __always_inline bool waits_in_splice(const struct stream *stream, struct task_struct *task,
                                            uint32_t call)
{
    return call == CALL_SPLICE && stream->taken_by != 0 && !stream->has_taken &&
           stream->taken_by == identity_of_call(task, call);
}

/* Calls that wait for any of several paths, or for a new one. */
static __always_inline bool waits_for_any(uint32_t call, const struct pt_regs *registers)
{
    switch (call) {
    case CALL_ACCEPT:
    case CALL_ACCEPT4:
    case CALL_EPOLL_WAIT:
    case CALL_EPOLL_PWAIT:
    case CALL_EPOLL_PWAIT2:
        return true;
    case CALL_POLL:
    case CALL_PPOLL:
        return registers->si != 0; /* else the call only sleeps */
    case CALL_SELECT:
    case CALL_PSELECT:
        return registers->di != 0;
    default: /* each type of message is a path of its own */
        return receives_from_queue(call);
    }
}

struct timespec64 {
    int64_t seconds, nanoseconds;
};

/* The time limit in a program's struct timespec. */
static __noinline uint32_t limit_at(uint64_t address)
{
    struct timespec64 time;

    if (address == 0)
        return LIMIT_NONE;
    if (bpf_probe_read_user(&time, sizeof(time), (const void *)address) != 0 || time.seconds < 0)
        return LIMIT_NOT_KNOWN;
    return limit_of_ms((uint64_t)time.seconds * 1000 + (uint64_t)time.nanoseconds / 1000000);
}

/* When a call ends that waits for any of several, at the latest: as in the record. */
static __always_inline uint32_t limit_of_call(uint32_t call, const struct pt_regs *registers)
{
    int32_t ms;

    switch (call) {
    case CALL_POLL:
        ms = registers->dx;
        break;
    case CALL_EPOLL_WAIT:
    case CALL_EPOLL_PWAIT:
        ms = registers->r10;
        break;
    case CALL_PPOLL:
        return limit_at(registers->dx);
    case CALL_PSELECT:
        return limit_at(registers->r8);
    case CALL_EPOLL_PWAIT2:
        return limit_at(registers->r10);
    default: /* select has a struct timeval; accept a limit of its socket */
        return LIMIT_NOT_KNOWN;
    }
    return ms < 0 ? LIMIT_NONE : limit_of_ms(ms);
}

/* The path of the only descriptor that a poll waits for; 0: there are several, or it has none. */
static __always_inline uint32_t only_path(struct stream *stream, uint32_t call,
                                          const struct pt_regs *registers)
{
    int32_t descriptor = -1;

    if ((call != CALL_POLL && call != CALL_PPOLL) || registers->si != 1)
        return 0;
    bpf_probe_read_user(&descriptor, sizeof(descriptor), (const void *)registers->di);
    return descriptor < 0 ? 0 : path_of_descriptor(stream, descriptor, false);
}

static __always_inline void leave_for_any(struct stream *stream, uint32_t call,
                                          const struct pt_regs *registers)
{
    struct message *message = &stream->scratch.leaving;

    if (receives_from_queue(call)) {
        if (stream->receivecall)
            return;
        stream->receivecall = 1;
        if (kinds_change && (stream->kinds & METER_MQ) == 0)
            return;
    }
    *message = (struct message){
        .offset = call | limit_of_call(call, registers) << 16,
        .bytes = only_path(stream, call, registers),
    };
    write_message(stream, EVENT_RECEIVECALL, message);
}

/* Whether a sleep for a lock ends after some time at the latest. */
static __always_inline bool has_time_limit(uint32_t call, const struct pt_regs *registers)
{
    return (call == CALL_FUTEX || call == CALL_FUTEX_WAITV || call == CALL_SEMTIMEDOP) &&
           registers->r10 != 0;
}

/* `task` is current and about to leave the CPU. (Inline, because calls may nest eight deep: pc.bpf.h needs four of
 * these levels, and recording a path here the others.) */
static __always_inline int leave(struct stream *stream, struct task_struct *task, uint32_t state)
{
    struct pt_regs *registers = registers_of(task);
    uint32_t call = call_of(task, registers);
    bool sends = is_send(call) || (call == CALL_SPLICE && stream->send.socket != 0) ||
                 (call == NO_CALL && stream->send.socket != 0);
    bool told = false;

    look_whether_silent(stream);
    if (stream->away)
        arrive_unseen(stream);
    if (state & TASK_STOPPED_OR_TRACED) {
        write_process_event(stream, EVENT_STOPPROCESS, 0, 0);
        stream->away |= AWAY_STOPPED;
        return 0;
    }
    if ((kinds_in_force & METER_MQ) && known_queues != 0 && is_message_call(call))
        told = leave_queue_call(stream, call, (state & TASK_INTERRUPTIBLE) != 0);
    if (state == 0) {
        /* preempted: only matters in a send whose first bytes are out */
        if (wants(stream, EVENT_FLAG(EVENT_SENDCALL)) && stream->send.socket != 0 &&
            stream->send.out != 0 && sends)
            leave_send(stream, sending_descriptor(call, registers), RECORD_PREEMPTED);
        return 0;
    }
    if ((state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)) == 0)
        return 0;
    stream->asleep = 0;
    if (state & TASK_INTERRUPTIBLE) {
        stream->waits = is_receive(call);
        tell_spliced(stream);
        if (told)
            stream->asleep = tells(stream, EVENT_WAKEUP);
        else if (leave_pipe(stream, call, registers))
            told = true;
        else if (sends && wants(stream, EVENT_FLAG(EVENT_SENDCALL)))
            told = leave_send(stream, sending_descriptor(call, registers), 0);
        else if ((is_receive(call) || waits_in_splice(stream, task, call)) &&
                 wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
            told = leave_receive(stream, registers->di);
        else if (waits_for_any(call, registers) && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL))) {
            leave_for_any(stream, call, registers);
            told = true;
            stream->asleep = tells(stream, EVENT_WAKEUP);
        }
    }
    if (!told && tells(stream, EVENT_BLOCK)) {
        stream->block_call = has_user_registers(task) ? registers->orig_ax : NO_CALL;
        stream->block_state = state;
        stream->block_object = object_of_wait(stream, call, registers);
        stream->block_flags = has_time_limit(call, registers) ? RECORD_TIME_LIMIT : 0;
        stream->blocked_at = bpf_ktime_get_ns();
        stream->blocked_pc = stream_pc(stream, task);
        stream->away |= AWAY_BLOCKED;
        stream->asleep = tells(stream, EVENT_WAKEUP);
    }
    return 0;
}

/* `task` is about to run. */
static __noinline int enter(struct stream *stream, struct task_struct *task)
{
    look_whether_silent(stream);
    arrive(stream, task);
    return 0;
}

/* ---- wakeups ---- */

/* Whether the current task can have woken another itself: in a system call, or while it ends. An interrupt that hits it
 * while it computes runs on its stack. Threads without user registers (io_uring) are always in the kernel. */
static __always_inline bool acts_itself(struct task_struct *task, const struct stream *stream)
{
    return stream->life == STREAM_ENDED || !has_user_registers(task) ||
           call_of(task, registers_of(task)) != NO_CALL;
}

/* Runs in the waker's context, before the woken task can run. A wakeup in an interrupt (timer, disk, packet) does not
 * count as one by the interrupted task. */
SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *woken)
{
    struct stream *sleeper = stream_of(woken), *waker;
    struct task_struct *task;

    if (sleeper == NULL || !sleeper->asleep)
        return 0;
    sleeper->asleep = 0;
    task = bpf_get_current_task_btf();
    if (!is_on_stack_of(task, &task, &sleeper->woken_at))
        return 0;
    waker = running_stream(task);
    if (waker == NULL || waker == sleeper || !acts_itself(task, waker))
        return 0;
    if (waker->life == STREAM_ENDED)
        write_last_wakeup(sleeper, waker);
    else
        write_wakeup(waker, sleeper->number);
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *previous, struct task_struct *next,
             unsigned int state)
{
    bool next_has = has_storage(next);
    struct stream *stream = stream_of(previous);
    uint64_t now = 0;

    note_runnable(next);
    if (stream == NULL && !next_has)
        return 0;
    if (!coarse_time) {
        struct rq *queue = plain_task(next)->se.cfs_rq->rq;
        uint64_t clock = *(volatile uint64_t *)&queue->clock; /* read before the time */

        now = bpf_ktime_get_ns();
        look_at_clock(clock, now);
    }
    if (stream != NULL)
        leave(stream, previous, preempt ? 0 : state);
    stream = next_has ? stored_stream(next) : NULL;
    if (stream != NULL && stream->waits) {
        stream->waits = 0;
        stream->idle_at = coarse_time ? bpf_ktime_get_ns() : now;
    }
    /* how long it waited for this CPU comes before the wait that ends with it (event/cpu_wait.h) */
    if (stream != NULL)
        note_cpu_wait(stream, next);
    if (stream != NULL && stream->away)
        enter(stream, next);
    return 0;
}

#endif
