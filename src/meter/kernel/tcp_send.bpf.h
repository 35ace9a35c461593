/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tcp_send.bpf.h: SEND over TCP: the position of its bytes, and its result. See send.bpf.h. */
#ifndef DPM_TCP_SEND_BPF_H
#define DPM_TCP_SEND_BPF_H

#include "meter/kernel/number.bpf.h"
#include "meter/kernel/order.bpf.h"
#include "meter/kernel/sent.bpf.h"

static __always_inline void write_tcp_send(struct stream *stream, struct sock *sk, uint32_t bytes)
{
    struct send_call *call = &stream->send;
    struct path *path;

    if (silent(stream)) {
        path = bpf_sk_storage_get(&paths, sk, NULL, 0);
        if (path != NULL)
            begin_behind(path, PATH_MOVED_OUT, call->first + bytes);
        return;
    }
    if (call->path == 0) {
        /* paths were not recorded yet when it began */
        path = tcp_path(stream, sk, -1, call->first);
        call->path = path == NULL ? 0 : path->number;
    }
    write_send(stream, call, bytes);
}

/* The same, for rare cases. */
static __noinline int write_rare_tcp_send(struct stream *stream, struct sock *sk, uint32_t bytes)
{
    write_tcp_send(stream, sk, bytes);
    return 0;
}

/* Called with the socket locked: the call has `left` bytes to send, from the socket's position on. `begins`: the call
 * is not the one in stream->send. */
static __always_inline int tcp_sends(struct stream *stream, struct task_struct *task,
                                     struct sock *sk, uint32_t left, uint64_t msg, bool begins)
{
    struct send_call *call;
    struct tcp_sock *tcp;
    uint32_t position;

    tcp = plain_tcp_sock(sk);
    if (tcp == NULL || (begins && is_of_kernel(sk)))
        return 0;
    tell_spliced(stream);
    call = &stream->send;
    position = tcp->write_seq;
    if (begins) {
        struct path *path = known_tcp_path(stream, sk);

        if (path == NULL)
            return 0;
        call->socket = (uint64_t)sk;
        /* a silent stream asks for the path again when it is recorded, because it may have moved */
        call->path = silent(stream) ? 0 : path->number;
        call->done = 0;
        call->told = 0;
        call->call = call_of(task, registers_of(task));
        call->flags = continues_call(stream, task, call->call);
    } else {
        call->out = call->left - left;
        if (position == call->first + call->out)
            return 0;
        if (call->out != 0)
            write_rare_tcp_send(stream, sk, call->out);
        call->done += call->out;
    }
    call->first = position;
    call->left = left;
    call->out = 0;
    call->message = msg;
    call->begin = bpf_ktime_get_ns();
    return 0;
}

#define SINGLE_BUFFER 0 /* ITER_UBUF, in kernels that have this tracepoint */

/* Whether stream->send is an earlier call, whose end hook the kernel has skipped (skipped.c). A call that goes on has
 * less left than before, and is not at the beginning of its buffer. */
static __always_inline bool is_earlier_call(const struct send_call *call,
                                            const struct iov_iter *buffers)
{
    uint32_t left = buffers->count;

    return left > call->left ||
           (left < call->left && buffers->iter_type == SINGLE_BUFFER && buffers->iov_offset == 0);
}

/* Runs with the socket locked, once per round of the kernel's copying loop, and so also after each wait for space,
 * during which other senders may have come in between. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(tcp_sendmsg_locked, struct sock *sk, struct msghdr *msg)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);

    if (stream == NULL || !wants(stream, FLAGS_OF_SEND))
        return 0;
    return tcp_sends(stream, task, sk, msg->msg_iter.count, (uint64_t)msg,
                     stream->send.socket != (uint64_t)sk ||
                         is_earlier_call(&stream->send, &msg->msg_iter));
}

/* The same before Linux 6.16: the call begins ... */
static __always_inline int tcp_send_begins(struct sock *sk, uint32_t left, uint64_t msg)
{
    const uint32_t can_send = 1 << TCP_ESTABLISHED | 1 << TCP_CLOSE_WAIT;
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);

    if (stream == NULL || !wants(stream, FLAGS_OF_SEND) || left == 0 ||
        !(can_send >> (sk->__sk_common.skc_state & 31) & 1))
        return 0;
    return tcp_sends(stream, task, sk, left, msg, true);
}

SEC("fentry/tcp_sendmsg_locked")
int BPF_PROG(tcp_sendmsg_begins, struct sock *sk, struct msghdr *msg, uint64_t size)
{
    return tcp_send_begins(sk, size, (uint64_t)msg);
}

/* (Before 6.5 sendfile and splice use another function, one page at a time.) */
SEC("fentry/do_tcp_sendpages")
int BPF_PROG(tcp_sendpage_begins, struct sock *sk, void *page, int offset, uint64_t size)
{
    return tcp_send_begins(sk, size, 0);
}

/* ... it is about to unlock the socket and to wait for space ... */
SEC("fentry/sk_stream_wait_memory")
int BPF_PROG(tcp_send_waits, struct sock *sk)
{
    struct stream *stream = stream_of(bpf_get_current_task_btf());
    struct tcp_sock *tcp;

    if (stream == NULL || stream->send.socket != (uint64_t)sk)
        return 0;
    tcp = plain_tcp_sock(sk);
    if (tcp != NULL)
        stream->send.out = tcp->write_seq - stream->send.first;
    return 0;
}

/* ... and goes on. */
SEC("fexit/sk_stream_wait_memory")
int BPF_PROG(tcp_send_goes_on, struct sock *sk)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);

    if (stream == NULL || stream->send.socket != (uint64_t)sk)
        return 0;
    return tcp_sends(stream, task, sk, stream->send.left - stream->send.out, stream->send.message,
                     false);
}

/* Whether the beginning of the connection was recorded. */
static __always_inline bool is_seen_from_its_beginning(struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    return path != NULL && (path->state & PATH_ESTABLISHED) && path->established >= begun_at;
}

/* Bytes that a call still has left at its end. Its msghdr is in the frame of the hook's caller. */
static __always_inline uint32_t never_sent(const struct send_call *call)
{
    const struct msghdr *message = (const struct msghdr *)call->message;

    return BPF_CORE_READ(message, msg_iter.count);
}

/* No round of the kernel's loop was seen: there was nothing to send, or nothing was sent since the stream is metered.
 * In the latter case the position is unknown, because other senders may have come in between, and lies before the
 * recorded part of the path. */
static __noinline int tcp_sent_unseen(struct stream *stream, struct sock *sk, int result)
{
    struct send_call *call = &stream->send;
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    struct path *path;

    if (tcp == NULL || (result != 0 && stream->older_send && !is_seen_from_its_beginning(sk)))
        return 0;
    call->first = tcp->write_seq - result;
    path = tcp_path(stream, sk, -1, call->first);
    if (path == NULL) {
        miss_messages(stream, EVENT_SEND, METER_TCP, 1);
        return 0;
    }
    call->path = path->number;
    call->done = 0;
    call->begin = 0;
    write_tcp_send(stream, sk, result);
    call->socket = 0;
    return 0;
}

static __always_inline int tcp_sent(struct stream *stream, struct task_struct *task,
                                    struct sock *sk, int result)
{
    struct send_call *call = &stream->send;
    uint32_t bytes;

    if (call->socket != (uint64_t)sk)
        return tcp_sent_unseen(stream, sk, result);
    if ((uint32_t)result < call->done) /* `done` is of an earlier call, if it has several buffers */
        call->done = 0;
    bytes = result - call->done;
    if (stream->older_send && !is_seen_from_its_beginning(sk))
        bytes = call->left - never_sent(call);
    else if ((uint32_t)result < call->done + call->left)
        /* a message that is sent in part ends a sendmmsg call without an error */
        stream->send_many.identity = 0;
    else if (bytes != call->left && is_seen_from_its_beginning(sk))
        call->first -= bytes - call->left; /* fast open: these bytes were in the first packet */
    else
        bytes = call->left;
    if (!silent(stream) && call->path != 0) {
        const struct message message = sent_message(call, bytes);
        tell_message(stream, task, EVENT_SEND, &message);
    } else {
        write_rare_tcp_send(stream, sk, bytes);
    }
    call->socket = 0;
    return 0;
}

#endif
