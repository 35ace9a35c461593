/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* tcp_send.bpf.h: SEND over TCP: where its bytes lie, and its result. See send.bpf.h. */
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
        /* when it began, paths were not told yet */
        path = tcp_path(stream, sk, -1, call->first);
        call->path = path == NULL ? 0 : path->number;
    }
    write_send(stream, call, bytes);
}

/* The same, where that is rare. */
static __noinline int write_rare_tcp_send(struct stream *stream, struct sock *sk, uint32_t bytes)
{
    write_tcp_send(stream, sk, bytes);
    return 0;
}

/* With the socket locked: the call has `left` bytes to send, from the socket's position on. `begins`: it is another call than
 * the one that is noted. */
static __always_inline int tcp_sends(struct stream *stream, struct task_struct *task,
                                     struct sock *sk, uint32_t left, uint64_t msg, bool begins)
{
    struct send_call *call;
    struct tcp_sock *tcp;
    uint32_t position;

    tcp = plain_tcp_sock(sk);
    if (tcp == NULL)
        return 0;
    tell_spliced(stream);
    call = &stream->send;
    position = tcp->write_seq;
    if (begins) {
        struct path *path = known_tcp_path(stream, sk);

        if (path == NULL)
            return 0;
        call->socket = (uint64_t)sk;
        /* of a silent stream it is asked for again when it is told: it may have moved */
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

/* Whether the noted call is an earlier one: the kernel has skipped the hook at its end (skipped.c). One that goes on
 * has less left than it had, and is not at the beginning of its buffer. */
static __always_inline bool is_earlier_call(const struct send_call *call,
                                            const struct iov_iter *buffers)
{
    uint32_t left = buffers->count;

    return left > call->left ||
           (left < call->left && buffers->iter_type == SINGLE_BUFFER && buffers->iov_offset == 0);
}

/* Runs with the socket locked, once per turn of the kernel's copying loop: also after each wait
 * for room, in which other senders may have got in between. */
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

/* (Before 6.5 sendfile and splice go a way of their own, a page at a time.) */
SEC("fentry/do_tcp_sendpages")
int BPF_PROG(tcp_sendpage_begins, struct sock *sk, void *page, int offset, uint64_t size)
{
    return tcp_send_begins(sk, size, 0);
}

/* ... it is about to unlock the socket and to wait for room ... */
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

/* Of a connection. */
static __always_inline bool is_seen_from_its_beginning(struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    return path != NULL && (path->state & PATH_ESTABLISHED) && path->established >= begun_at;
}

/* Of the bytes that a call had left when its piece began, those that it still has at its end. What is sent stands
 * in the frame of the hook's caller. */
static __always_inline uint32_t never_sent(const struct send_call *call)
{
    const struct msghdr *message = (const struct msghdr *)call->message;

    return BPF_CORE_READ(message, msg_iter.count);
}

/* No turn of the kernel's loop was seen: nothing to send, or nothing since the stream is metered: that lies nobody knows
 * where, for other senders may have got in between; and before what is told of the path. */
static __noinline int tcp_sent_unseen(struct stream *stream, struct sock *sk, int result)
{
    struct send_call *call = &stream->send;
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    struct path *path;

    if (tcp == NULL || (result != 0 && stream->older_send && !is_seen_from_its_beginning(sk)))
        return 0;
    call->first = tcp->write_seq - result;
    path = tcp_path(stream, sk, -1, call->first);
    if (path == NULL)
        return 0;
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
    if ((uint32_t)result < call->done) /* of an earlier call, if it has several buffers */
        call->done = 0;
    bytes = result - call->done;
    if (stream->older_send && !is_seen_from_its_beginning(sk))
        bytes = call->left - never_sent(call);
    else if ((uint32_t)result < call->done + call->left)
        /* a message sent in part ends a sendmmsg call without an error */
        stream->send_many.identity = 0;
    else if (bytes != call->left && is_seen_from_its_beginning(sk))
        call->first -= bytes - call->left; /* fast open: they were in the first packet */
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
