/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * send.bpf.h: SEND.
 *
 *      TCP    tcp_sendmsg_locked (socket locked: position) ... sock_send_length (result)
 *      UNIX   sk_data_ready (the message becomes visible) .... sock_send_length (result)
 *      UDP    egress (the datagram leaves; udp.bpf.h) ........ sock_send_length (result)
 */
#ifndef DPM_SEND_BPF_H
#define DPM_SEND_BPF_H

#include "meter/kernel/tcp_send.bpf.h"
#include "meter/kernel/udp.bpf.h"
#include "meter/kernel/unix_send.bpf.h"

static __always_inline int send_ended(struct sock *sk, int result)
{
    uint32_t family = sk->__sk_common.skc_family;
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);
    uint32_t kind, call;

    if (stream == NULL && family != AF_UNIX)
        return 0;
    if (stream != NULL && family != AF_UNIX && is_of_kernel(sk)) {
        /* a UDP datagram has set it */
        if (stream->send.socket == (uint64_t)sk)
            stream->send.socket = 0;
        return 0;
    }
    kind = kind_of_socket(family, sk->sk_type, sk->sk_protocol);
    if (kind == 0)
        return result < 0 || stream == NULL || !wants(stream, FLAGS_OF_SEND)
                   ? 0
                   : note_unmetered(stream, family, sk->sk_type, sk->sk_protocol);
    if (stream == NULL)
        return unix_sent_unmetered(sk, kind, result);
    if (!wants(stream, family == AF_UNIX ? FLAGS_OF_UNIX_SEND : FLAGS_OF_SEND))
        return 0;
    tell_spliced(stream);
    if (kind == PATH_TCP && stream->send.socket == (uint64_t)sk) {
        call = stream->send.call;
    } else {
        call = call_of(task, registers_of(task));
        /* a UDP call has already sent its datagram and set the socket, but not its flags */
        if (kind == PATH_UDP || stream->send.socket != (uint64_t)sk)
            stream->send.flags = continues_call(stream, task, call);
    }
    if (result < 0) {
        stream->send.seen = 0;
        if (stream->send.flags == 0 && is_failure(result) &&
            !(call == CALL_SENDMMSG && ends_part(&stream->send_many, identity_of_many(task, call))))
            count_failed(stream, &stream->failed_sends);
        if (kind == PATH_TCP)
            meet_reset(stream, sk, false);
        stream->send.socket = 0;
        end_older_send(stream);
        return 0;
    }
    if (call == CALL_SENDMMSG)
        count_message(&stream->send_many, task, call);
    if (kind == PATH_TCP)
        tcp_sent(stream, task, sk, result);
    else if (kind == PATH_UDP)
        udp_sent(stream, sk, result);
    else
        unix_sent(stream, sk, kind, result);
    end_older_send(stream);
    return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sk, int result)
{
    return send_ended(sk, result);
}

/* The same before Linux 6.3: the send functions of each family. */
static __always_inline int sendmsg_ended(struct socket *socket, int result)
{
    struct sock *sk = socket->sk;

    return sk == NULL ? 0 : send_ended(sk, result);
}

SEC("fexit/inet_sendmsg")
int BPF_PROG(inet_sendmsg_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int result)
{
    return sendmsg_ended(socket, result);
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(inet6_sendmsg_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int result)
{
    return sendmsg_ended(socket, result);
}

SEC("fexit/inet_sendpage")
int BPF_PROG(inet_sendpage_ends, struct socket *socket, void *page, int offset, uint64_t size,
             int flags, int result)
{
    return sendmsg_ended(socket, result);
}

SEC("fexit/unix_stream_sendmsg")
int BPF_PROG(unix_stream_send_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int result)
{
    return sendmsg_ended(socket, result);
}

/* The kernel also calls it for packets; those are recorded when its caller ends. */
SEC("fexit/unix_dgram_sendmsg")
int BPF_PROG(unix_datagram_send_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int result)
{
    return socket->type == SOCK_SEQPACKET ? 0 : sendmsg_ended(socket, result);
}

SEC("fexit/unix_seqpacket_sendmsg")
int BPF_PROG(unix_packet_send_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int result)
{
    return sendmsg_ended(socket, result);
}

/* A page may be appended to a queued buffer, whose length then does not show how much is new. */
SEC("fentry/unix_stream_sendpage")
int BPF_PROG(unix_sendpage_begins, struct socket *socket, void *page, int offset, uint64_t size)
{
    struct stream *stream = stream_of(bpf_get_current_task_btf());

    if (stream != NULL)
        stream->send.page = size;
    return 0;
}

SEC("fexit/unix_stream_sendpage")
int BPF_PROG(unix_sendpage_ends, struct socket *socket, void *page, int offset, uint64_t size,
             int flags, int result)
{
    struct stream *stream = stream_of(bpf_get_current_task_btf());

    if (stream != NULL)
        stream->send.page = 0;
    return sendmsg_ended(socket, result);
}

#endif
