/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * call.bpf.h: who makes a call, and what the kernel's hooks do not say of it: whether it is metered,
 * whether it has failed or only ended.
 */
#ifndef DPM_CALL_BPF_H
#define DPM_CALL_BPF_H

#include "meter/path.bpf.h"

/* The metered stream that is `task`; NULL: not metered. */
static __always_inline struct stream *stream_of(struct task_struct *task)
{
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);

    return stream == NULL || stream->from_exec ? NULL : stream;
}

/* ---- streams begin and end ---- */

static __always_inline struct stream *storage_of_task(struct task_struct *task)
{
    struct stream *stream =
        bpf_task_storage_get(&streams, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

    /* refused to the slower of two that create it at the same time */
    return stream != NULL ? stream : bpf_task_storage_get(&streams, task, NULL, 0);
}

static __always_inline uint32_t number_of(struct stream *stream)
{
    if (stream->number == 0)
        __sync_val_compare_and_swap(&stream->number, 0, __sync_fetch_and_add(&last_stream, 1) + 1);
    return stream->number;
}

/* Whether the caller is the one that begins this stream: its creator and an iterator that marks may
 * come at the same time. Who is fills it in, then enlivens it. */
static __always_inline bool claim(struct stream *stream)
{
    if (__sync_val_compare_and_swap(&stream->life, STREAM_UNCLAIMED, STREAM_CLAIMED) !=
        STREAM_UNCLAIMED)
        return false;
    number_of(stream);
    stream->sequence = first_sequence;
    return true;
}

/* When all else is set: from now on its calls are metered. */
static __always_inline void enliven(struct stream *stream, uint32_t flags)
{
    __sync_fetch_and_add(&live, 1);
    __sync_val_compare_and_swap(&stream->life, STREAM_CLAIMED, STREAM_ALIVE);
    stream->flags = flags;
}

/* Nothing of the way out counts. May be called by the ending task and by an iterator at once. */
static __always_inline void end_stream(struct stream *stream)
{
    stream->flags = 0;
    if (__sync_val_compare_and_swap(&stream->life, STREAM_ALIVE, STREAM_ENDED) == STREAM_ALIVE)
        __sync_fetch_and_add(&live, -1);
}

static __always_inline bool wants(const struct stream *stream, uint32_t flags)
{
    return (stream->flags & flags) != 0;
}

#define FLAGS_OF_SEND    (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL))
#define FLAGS_OF_RECEIVE (EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_RECEIVECALL))

/* Failed calls are counted with the streams that tell of calls. */
static __always_inline void count_failed(const struct stream *stream, uint32_t *count)
{
    if (!silent(stream))
        ++*count;
}

/* Interrupted by a signal, most often to begin again unseen by the program. */
static __always_inline bool restarts(int result)
{
    return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
}

static __always_inline uint64_t arguments_of(const struct pt_regs *registers)
{
    return (registers->si ^ registers->sp << 20 ^ registers->dx << 8) | 1;
}

/* A message of a sendmmsg or recvmmsg call is done. */
static __always_inline void count_message(struct many_call *many, const struct pt_regs *registers)
{
    uint64_t arguments = arguments_of(registers);

    if (many->arguments != arguments || many->count >= many->of) {
        many->arguments = arguments;
        many->count = 0;
        many->of = registers->dx;
    }
    many->count++;
}

/* Whether an error only ends a call that has done part of what it was asked for: then the call has
 * not failed. */
static __always_inline bool ends_part(struct many_call *many, const struct pt_regs *registers)
{
    bool part = many->arguments == arguments_of(registers) && many->count < many->of;

    many->arguments = 0;
    return part;
}

#endif
