/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * receive_call.bpf.h: the receive call in progress, which may take what it receives in pieces.
 *
 *      positions   | first ... next |      | first ... next |         another receiver was in between
 *      RECEIVE      a piece                 the rest, continued       together what the call returns
 */
#ifndef DPM_RECEIVE_CALL_BPF_H
#define DPM_RECEIVE_CALL_BPF_H

#include "meter/kernel/call.bpf.h"

/* What is to be told of `bytes` that the receive call in progress has taken. */
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

/* Tells of it; `ends`: and of no more. (Not static: the verifier then looks at it once.) */
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

/* Descriptor that a receive call was given; NO_CALL, which is none: the task is in no such call. */
static __always_inline uint32_t receiving_descriptor(struct task_struct *task)
{
    struct pt_regs *registers = registers_of(task);

    return is_receive(call_of(task, registers)) ? registers->di : NO_CALL;
}

/* A worker of io_uring does not say which request it works on. What it took of a TCP socket was
 * spliced, if it comes to something else than the result of a receive: it is told then. */
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
        /* a UNIX message does not say which socket it came to: the call does */
        if (call->path == 0)
            call->path = path_of_descriptor(stream, receiving_descriptor(task));
        if (call->path != 0)
            write_receive(stream, call->next - call->first, false);
        else
            __sync_fetch_and_add(&lost_paths, 1);
    }
    call->done += call->next - call->first;
}

/* What a call has taken while its stream was silent lies before what is told of the path. */
static __always_inline void begin_behind_call(struct path *path, struct receive_call *call)
{
    if (call->untold != UNTOLD_PIECES || path == NULL)
        return;
    begin_behind(path, PATH_MOVED_IN, call->behind);
    call->untold = UNTOLD_BEHIND;
}

/* Adds [first, next) to what the receive call in progress has taken; what does not join on was
 * taken by another receiver in between, and the piece so far is complete. An empty range: of what it
 * has taken only the end is known. */
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

/* Bytes of the last piece of a call that has taken `result` bytes. */
static __always_inline uint32_t last_piece(const struct receive_call *call, uint32_t result)
{
    return call->older && (call->done != 0 || call->untold != UNTOLD_NONE)
               ? call->next - call->first
               : result - call->done;
}

/* Bytes handed over of a message that may have been cut: a caller that asks for the true length
 * (MSG_TRUNC) gets that as its result. */
static __always_inline uint32_t bytes_copied(struct receive_call *call, uint32_t result)
{
    uint32_t copied = call->copied;

    call->copied = 0;
    return copied != 0 && copied - 1 < result ? copied - 1 : result;
}

#endif
