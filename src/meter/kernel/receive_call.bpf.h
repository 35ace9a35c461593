/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * receive_call.bpf.h: the receive call in progress, which may receive in several pieces.
 *
 *      positions   | first ... next |      | first ... next |         another receiver was in between
 *      RECEIVE      a piece                 the rest, continued       together the call's result
 */
#ifndef DPM_RECEIVE_CALL_BPF_H
#define DPM_RECEIVE_CALL_BPF_H

#include "meter/kernel/call.bpf.h"

/* The message for `bytes` that the receive call in progress has received. */
static __always_inline struct message received_message(const struct stream *stream, uint32_t bytes)
{
    const struct receive_call *call = &stream->receive;
    struct message message = {
        .path = call->path,
        .offset = call->first,
        .bytes = bytes,
        .flags = call->flags | (call->done != 0 ? RECORD_CONTINUED : 0),
        .begin = call->when,
    };

    if (call->done == 0 && !stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message.flags |= RECORD_CALL_IMPLIED;
    return message;
}

static __always_inline void end_receive(struct stream *stream)
{
    stream->receivecall = 0;
    stream->receive.flags = 0;
}

/* Records it; `ends`: as the last piece. (Not static, so that the verifier checks it once.) */
__noinline int write_receive(struct stream *stream, uint32_t bytes, bool ends)
{
    if (stream == NULL)
        return 0;
    const struct message message = received_message(stream, bytes);
    write_message(stream, EVENT_RECEIVE, &message);
    if (ends)
        end_receive(stream);
    return 0;
}

/* Descriptor of the receive call that the task is in; NO_CALL, which is no descriptor: it is in none. */
static __always_inline uint32_t receiving_descriptor(struct task_struct *task)
{
    struct pt_regs *registers = registers_of(task);

    return is_receive(call_of(task, registers)) ? registers->di : NO_CALL;
}

/* An io_uring worker does not show which request it works on. If the bytes that it took from a TCP socket do not match
 * the result of a receive, they were spliced, and are recorded now. */
static __always_inline void tell_spliced(struct stream *stream)
{
    struct receive_call *call = &stream->receive;

    if (call->when == 0)
        return;
    if (call->socket != 0 && call->path != 0 && call->next != call->first)
        write_receive(stream, call->next - call->first, true);
    call->socket = 0;
    call->done = 0;
    call->when = 0;
}

/* A piece of the receive call in progress is complete, and the call goes on. */
static __always_inline void end_piece(struct stream *stream, struct task_struct *task)
{
    struct receive_call *call = &stream->receive;

    if (silent(stream) || call->next == call->first) {
        call->behind = call->next;
        call->untold = UNTOLD_PIECES;
    } else {
        /* a UNIX message does not show which socket it came to, but the call does */
        if (call->path == 0)
            call->path = path_of_descriptor(stream, receiving_descriptor(task), true);
        if (call->path != 0)
            write_receive(stream, call->next - call->first, false);
        else
            miss_messages(stream, EVENT_RECEIVE, METER_UNIX, 1);
    }
    call->done += call->next - call->first;
}

/* What a call has received while its stream was silent lies before the recorded part of the path. */
static __always_inline void begin_behind_call(struct path *path, struct receive_call *call)
{
    if (call->untold != UNTOLD_PIECES || path == NULL)
        return;
    begin_behind(path, PATH_MOVED_IN, call->behind);
    call->untold = UNTOLD_BEHIND;
}

/* Adds [first, next) to what the receive call in progress has received. If it does not follow the last piece, another
 * receiver was in between, and that piece is complete. An empty range means that only the end is known. */
static __always_inline void take(struct stream *stream, struct task_struct *task, uint64_t socket,
                                 uint32_t path, uint32_t first, uint32_t next)
{
    struct receive_call *call = &stream->receive;

    if (call->socket != socket || (call->when != 0 && call->next != first)) {
        tell_spliced(stream);
        call->socket = socket;
        call->done = 0;
        call->untold = UNTOLD_NONE;
        call->older = first == next;
    } else if (call->next == first) {
        call->next = next;
        return;
    } else {
        end_piece(stream, task);
    }
    call->path = path;
    call->first = first;
    call->next = next;
}

/* Bytes of the last piece of a call that has received `result` bytes. */
static __always_inline uint32_t last_piece(const struct receive_call *call, uint32_t result)
{
    return call->older && (call->done != 0 || call->untold != UNTOLD_NONE)
               ? call->next - call->first
               : result - call->done;
}

/* Bytes copied of a message that may have been truncated. A caller that asks for the true length (MSG_TRUNC) gets it as
 * the call's result. */
static __always_inline uint32_t bytes_copied(struct receive_call *call, uint32_t result)
{
    uint32_t copied = call->copied;

    call->copied = 0;
    return copied != 0 && copied - 1 < result ? copied - 1 : result;
}

#endif
