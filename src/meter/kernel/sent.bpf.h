/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sent.bpf.h: the common part of all kinds of SEND. See send.bpf.h. */
#ifndef DPM_SENT_BPF_H
#define DPM_SENT_BPF_H

#include "meter/kernel/receive.bpf.h"

/* The message for `bytes` that the send call in progress has sent. */
static __always_inline struct message sent_message(const struct send_call *call, uint32_t bytes)
{
    return (struct message){
        .path = call->path,
        .offset = call->first,
        .bytes = bytes,
        .flags = call->flags | (call->done != 0 ? RECORD_CONTINUED : 0),
        .begin = call->begin,
    };
}

static __always_inline void write_send(struct stream *stream, struct send_call *call,
                                       uint32_t bytes)
{
    const struct message message = sent_message(call, bytes);

    write_message(stream, EVENT_SEND, &message);
}

/* Whether it is a socket of the kernel itself, which the current task only happens to send for: a network file system's. SMB's
 * have no file. NFS's have one, but must not use the task's own memory. */
static __always_inline bool is_of_kernel(struct sock *sk)
{
    struct sock *plain = plain_sock(sk);
    struct socket *socket = plain->sk_socket;

    return socket == NULL || socket->file == NULL ||
           (bpf_core_field_exists(plain->sk_use_task_frag) && !plain->sk_use_task_frag);
}

/* A sendfile or splice call reaches the socket in several sends, which are one message. */
static __always_inline uint32_t continues_call(struct stream *stream, struct task_struct *task,
                                               uint32_t call)
{
    bool pieces = call == CALL_SENDFILE || call == CALL_SPLICE;
    uint64_t identity = pieces ? identity_of_call(task, call) : 0;
    bool same = identity != 0 && stream->sent_by == identity;

    stream->sent_by = identity;
    return same ? RECORD_CONTINUED : 0;
}

#endif
