/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * schedule.bpf.h: leaving and entering a CPU: SENDCALL, RECEIVECALL, BLOCK, STOPPROCESS, STARTPROCESS.
 */
#ifndef DPM_SCHEDULE_BPF_H
#define DPM_SCHEDULE_BPF_H

#include "meter/call.bpf.h"

static __always_inline bool is_send(uint32_t call)
{
    return call == CALL_SENDTO || call == CALL_SENDMSG || call == CALL_SENDMMSG ||
           call == CALL_WRITE || call == CALL_WRITEV || call == CALL_SENDFILE;
}

static __always_inline bool is_receive(uint32_t call)
{
    return call == CALL_RECVFROM || call == CALL_RECVMSG || call == CALL_RECVMMSG ||
           call == CALL_READ || call == CALL_READV;
}

/* Inside a send with bytes out, or waiting for room. Told once per progress. */
static __always_inline bool leave_send(struct stream *stream, struct task_struct *task,
                                       uint32_t descriptor)
{
    struct send_call *call = &stream->send;
    struct message message = {};

    if (call->socket == 0) {
        /* no room for the first byte */
        message.path = path_of_descriptor(stream, task, descriptor);
    } else {
        if (call->path == 0)
            call->path = path_of_descriptor(stream, task, descriptor);
        message.path = call->path;
        message.offset = call->first + call->out;
        message.bytes = call->done + call->out;
        message.begin = call->begin;
        if (call->told == message.bytes + 1)
            return true;
        call->told = message.bytes + 1;
    }
    if (message.path == 0)
        return false;
    write_message(stream, task, EVENT_SENDCALL, &message);
    return true;
}

static __always_inline bool leave_receive(struct stream *stream, struct task_struct *task,
                                          uint32_t descriptor)
{
    struct message message = {};

    if (stream->receivecall)
        return true;
    message.path = path_of_descriptor(stream, task, descriptor);
    if (message.path == 0)
        return false;
    write_message(stream, task, EVENT_RECEIVECALL, &message);
    stream->receivecall = 1;
    return true;
}

/* `task` is current and about to leave the CPU. */
static __noinline int leave(struct stream *stream, struct task_struct *task, uint32_t state)
{
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    uint32_t call = registers->orig_ax;
    bool told = false;

    if (state & TASK_STOPPED_OR_TRACED) {
        if (!stream->stopped) {
            stream->stopped = 1;
            write_process_event(stream, task, EVENT_STOPPROCESS, 0, 0);
        }
        return 0;
    }
    if (state == 0) {
        /* preempted: matters only inside a send whose first bytes are out */
        if (wants(stream, EVENT_FLAG(EVENT_SENDCALL)) && stream->send.socket != 0 &&
            stream->send.out != 0 && is_send(call))
            leave_send(stream, task, registers->di);
        return 0;
    }
    if ((state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)) == 0)
        return 0;
    if (state & TASK_INTERRUPTIBLE) {
        if (is_send(call) && wants(stream, EVENT_FLAG(EVENT_SENDCALL)))
            told = leave_send(stream, task, registers->di);
        else if (is_receive(call) && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
            told = leave_receive(stream, task, registers->di);
    }
    if (!told && wants(stream, EVENT_FLAG(EVENT_BLOCK))) {
        stream->block_call = call;
        stream->block_state = state;
        stream->blocked_at = bpf_ktime_get_ns();
        stream->blocked_pc = stream_pc(stream, task);
    }
    return 0;
}

/* `task` is about to run: it starts, continues, or its BLOCK is over. */
static __noinline int enter(struct stream *stream, struct task_struct *task)
{
    if (!stream->started || stream->stopped) {
        stream->started = 1;
        stream->stopped = 0;
        write_process_event(stream, task, EVENT_STARTPROCESS, 0, 0);
    }
    if (stream->blocked_at != 0) {
        write_block(stream, task);
        stream->blocked_at = 0;
    }
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *previous, struct task_struct *next,
             unsigned int state)
{
    struct stream *stream = stream_of(previous);
    struct rq *queue = next->se.cfs_rq->rq;

    uint64_t clock = *(volatile uint64_t *)&queue->clock;

    look_at_clock(clock, bpf_ktime_get_ns());
    if (stream != NULL)
        leave(stream, previous, preempt ? 0 : state);
    stream = stream_of(next);
    if (stream != NULL && (!stream->started || stream->stopped || stream->blocked_at != 0))
        enter(stream, next);
    return 0;
}

#endif
