/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * receive.bpf.h: RECEIVE.
 *
 *      TCP    tcp_rcv_space_adjust (socket locked: position) ......... sock_recv_length (result)
 *      UNIX   skb_copy_datagram_iovec (socket locked: who, position) . sock_recv_length (result)
 *      UDP    ingress (who, number; udp.bpf.h) ....................... sock_recv_length (result)
 */
#ifndef DPM_RECEIVE_BPF_H
#define DPM_RECEIVE_BPF_H

#include "meter/udp.bpf.h"

static __always_inline void write_receive(struct stream *stream, struct task_struct *task,
                                          struct receive_call *call, uint32_t bytes, bool ends)
{
    struct message message = {
        .path = call->path,
        .offset = call->first,
        .bytes = bytes,
        .flags = call->flags | (call->done != 0 ? RECORD_CONTINUED : 0),
    };

    if (call->done == 0 && !stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message.flags |= RECORD_CALL_IMPLIED;
    write_message(stream, task, EVENT_RECEIVE, &message);
    if (!ends)
        return;
    stream->receivecall = 0;
    call->flags = 0;
}

static __always_inline uint32_t first_argument(struct task_struct *task)
{
    return ((struct pt_regs *)bpf_task_pt_regs(task))->di;
}

/* Adds [first, next) to what the receive call in progress has taken; what does not join on was
 * taken by another receiver in between, and the piece so far is told. */
static __always_inline void take(struct stream *stream, struct task_struct *task, uint64_t socket,
                                 uint32_t path, uint32_t first, uint32_t next)
{
    struct receive_call *call = &stream->receive;

    if (call->socket != socket) {
        call->socket = socket;
        call->done = 0;
    } else if (call->next == first) {
        call->next = next;
        return;
    } else {
        /* a UNIX message does not say which socket it came to: the call does */
        if (call->path == 0)
            call->path = path_of_descriptor(stream, task, first_argument(task));
        write_receive(stream, task, call, call->next - call->first, false);
        call->done += call->next - call->first;
    }
    call->path = path;
    call->first = first;
    call->next = next;
}

/* Runs with the socket locked whenever the process has taken bytes. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_rcv_space_adjust, struct sock *sk)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct tcp_sock *tcp;
    struct path *path;
    uint32_t next, first;

    if (stream == NULL || !wants(stream, FLAGS_OF_RECEIVE))
        return 0;
    tcp = bpf_skc_to_tcp_sock(sk);
    if (tcp == NULL)
        return 0;
    path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    next = tcp->copied_seq;
    if (path != NULL && path->number == 0 && (path->state & PATH_ESTABLISHED))
        path = tcp_path(stream, task, sk, -1, 0);
    if (path == NULL || path->number == 0) {
        /* how much was taken, and so where the path begins, is known when the call ends */
        stream->receive.socket = (uint64_t)sk;
        stream->receive.path = 0;
        stream->receive.next = next;
        return 0;
    }
    first = path->state & PATH_KNOWS_IN ? path->in : next;
    path->in = next;
    if (first == next && (path->state & PATH_KNOWS_IN))
        return 0; /* a peek */
    path->state |= PATH_KNOWS_IN;
    take(stream, task, (uint64_t)sk, path->number, first, next);
    return 0;
}

static __always_inline bool is_peek(struct task_struct *task)
{
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);

    switch (registers->orig_ax) {
    case CALL_RECVFROM:
    case CALL_RECVMMSG:
        return registers->r10 & MSG_PEEK;
    case CALL_RECVMSG:
        return registers->dx & MSG_PEEK;
    default:
        return false;
    }
}

/* Cookie of the socket a message came from. A receiver may be quicker than the sender's own hooks
 * and be the first to ask; the way over the socket gives a pointer the kernel lets us ask with. A
 * sender that has closed its socket has been asked before. */
static __always_inline uint64_t cookie_of_sender(struct sock *sender)
{
    uint64_t cookie = sender->__sk_common.skc_cookie.counter;
    struct socket *socket;
    struct sock *same;

    if (cookie != 0)
        return cookie;
    socket = sender->sk_socket;
    if (socket == NULL)
        return 0;
    same = socket->sk;
    return same == NULL ? 0 : bpf_get_socket_cookie(same);
}

/* A message's bytes go to the process that receives it. For UNIX sockets the buffer still names
 * the socket that sent it, and the receiving socket's read lock is held. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(skb_copy_datagram_iovec, struct sk_buff *skb, int bytes)
{
    struct task_struct *task;
    struct sock *sender = skb->sk;
    struct stream *stream;
    uint64_t key;
    uint32_t *in;

    if (sender == NULL || sender->__sk_common.skc_family != AF_UNIX)
        return 0;
    task = bpf_get_current_task_btf();
    stream = stream_of(task);
    if (stream != NULL)
        stream->receive.copied = bytes + 1;
    if (sender->sk_type == SOCK_DGRAM) {
        if (stream != NULL)
            stream->receive.peer = cookie_of_sender(sender);
        return 0;
    }
    key = cookie_of_sender(sender);
    in = bpf_map_lookup_elem(&incoming, &key);
    if (in == NULL) {
        uint32_t zero = 0;

        /* a sender that is not metered has no cookie yet: unix_received counts for it */
        if (key == 0 || stream == NULL || !wants(stream, FLAGS_OF_RECEIVE))
            return 0;
        bpf_map_update_elem(&incoming, &key, &zero, BPF_NOEXIST);
        in = bpf_map_lookup_elem(&incoming, &key);
    }
    if (in == NULL || is_peek(task))
        return 0;
    if (sender->sk_type == SOCK_SEQPACKET)
        bytes = 1;
    uint32_t first = *in;
    *in = first + bytes;
    if (stream != NULL && wants(stream, FLAGS_OF_RECEIVE))
        take(stream, task, key, 0, first, first + bytes);
    return 0;
}

/* Bytes handed over of a message that may have been cut: a caller that asks for the true length
 * (MSG_TRUNC) gets that as its result. */
static __always_inline uint32_t bytes_copied(struct receive_call *call, uint32_t result)
{
    uint32_t copied = call->copied;

    call->copied = 0;
    return copied != 0 && copied - 1 < result ? copied - 1 : result;
}

/* Tells the other end that bytes of a send still in progress have been received. */
static __always_inline void note_early(struct path *sender, uint32_t in)
{
    if ((int32_t)(in - sender->out) <= 0 || sender->early != 0)
        return;
    sender->early_in = in;
    sender->early = bpf_ktime_get_ns();
}

static __always_inline int tcp_received(struct stream *stream, struct task_struct *task,
                                        struct sock *sk, int result)
{
    struct receive_call *call = &stream->receive;
    uint32_t bytes = result;

    if (call->socket != (uint64_t)sk || call->path == 0) {
        /* the path's first receive; or end of file, nothing taken */
        bool taken = call->socket == (uint64_t)sk;
        struct path *path =
            tcp_path(stream, task, sk, taken ? (int64_t)(uint32_t)(call->next - bytes) : -1, 0);

        if (path == NULL)
            return 0;
        if (taken) {
            path->in = call->next;
            path->state |= PATH_KNOWS_IN;
        }
        call->path = path->number;
        call->first = path->in - bytes;
        call->done = 0;
        call->flags = taken ? 0 : RECORD_END_OF_FILE;
    } else {
        bytes -= call->done;
        if (call->done == 0)
            /* also where the first piece's beginning was not known */
            call->first = call->next - bytes;
    }
    write_receive(stream, task, call, bytes, true);
    call->socket = 0;
    return 0;
}

static __always_inline int unix_received(struct stream *stream, struct task_struct *task,
                                         struct sock *sk, uint32_t kind, int result)
{
    struct receive_call *call = &stream->receive;
    struct path *path = unix_path(stream, task, sk, kind);
    struct unix_sock *unix_socket = bpf_skc_to_unix_sock(sk);
    struct path *sender;
    uint32_t bytes = result, next;
    struct sock *peer;
    uint64_t key;

    if (path == NULL || unix_socket == NULL)
        return 0;
    peer = unix_socket->peer;
    key = peer == NULL ? 0 : bpf_get_socket_cookie(peer);
    if (call->socket == key && key != 0) {
        bytes -= call->done;
        next = call->next;
    } else {
        /* end of file, or a sender that had no cookie when its message was copied */
        uint32_t *in = bpf_map_lookup_elem(&incoming, &key);

        call->first = in == NULL ? path->in : *in;
        call->done = 0;
        call->flags = bytes == 0 ? RECORD_END_OF_FILE : 0;
        next = call->first + (kind == PATH_UNIX_STREAM ? bytes : bytes != 0);
        if (next != call->first)
            bpf_map_update_elem(&incoming, &key, &next, BPF_NOEXIST);
    }
    call->socket = 0;
    call->path = path->number;
    path->in = next;
    if (kind == PATH_UNIX_SEQPACKET)
        bytes = bytes_copied(call, bytes);
    sender = peer == NULL ? NULL : storage_of(peer);
    if (sender != NULL)
        note_early(sender, next);
    write_receive(stream, task, call, bytes, true);
    return 0;
}

static __always_inline int datagram_received(struct stream *stream, struct task_struct *task,
                                             struct sock *sk, int result)
{
    struct receive_call *call = &stream->receive;
    struct path *path = datagram_path(stream, task, sk, call->peer);
    struct pair_key reverse = {};
    struct path *sender;

    if (path == NULL)
        return 0;
    reverse.socket = call->peer;
    reverse.peer = bpf_get_socket_cookie(sk);
    call->peer = 0;
    call->socket = 0;
    call->done = 0;
    call->path = path->number;
    if (result == 0 && call->copied == 0) {
        /* no message was handed over, not even an empty one: the socket is shut down */
        call->first = path->in;
        call->flags = RECORD_END_OF_FILE;
        write_receive(stream, task, call, 0, true);
        return 0;
    }
    call->first = __sync_fetch_and_add(&path->in, 1);
    sender = bpf_map_lookup_elem(&pairs, &reverse);
    if (sender == NULL) {
        /* its first message is here before its own hooks have run */
        struct path fresh = {};

        bpf_map_update_elem(&pairs, &reverse, &fresh, BPF_NOEXIST);
        sender = bpf_map_lookup_elem(&pairs, &reverse);
    }
    if (sender != NULL)
        note_early(sender, call->first + 1);
    write_receive(stream, task, call, bytes_copied(call, result), true);
    return 0;
}

/* ---- UDP ---- */

struct user_vector {
    uint64_t base;
    uint64_t length;
};

struct user_message {
    uint64_t name;
    uint64_t name_length;
    uint64_t vectors;
    uint64_t vector_count;
    uint64_t control;
    uint64_t control_length;
    uint64_t flags;
    uint64_t length; /* recvmmsg only */
};

#define VECTOR_LIMIT 64

/* Room the receive call in progress has for a message; so much that it does not matter where that
 * cannot be told. */
static __noinline uint64_t room_of_call(struct task_struct *task, uint32_t message_number)
{
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    uint32_t call = registers->orig_ax;
    struct user_message message = {};
    struct user_vector vector = {};
    uint64_t room = 0;

    if (call == CALL_RECVFROM)
        return registers->dx;
    if (call != CALL_RECVMSG && call != CALL_RECVMMSG)
        return 0xffffffff;
    /* the two structs begin alike; recvmsg is given the shorter one */
    if (bpf_probe_read_user(
            &message, sizeof(message) - sizeof(message.length),
            (void *)(registers->si +
                     (call == CALL_RECVMMSG ? message_number * sizeof(message) : 0))) != 0 ||
        message.vector_count > VECTOR_LIMIT)
        return 0xffffffff;
    for (uint32_t i = 0; i < VECTOR_LIMIT && i < message.vector_count; i++) {
        if (bpf_probe_read_user(&vector, sizeof(vector),
                                (void *)(message.vectors + i * sizeof(vector))) != 0)
            return 0xffffffff;
        room += vector.length;
    }
    return room;
}

/* A caller that asks for the true length (MSG_TRUNC) gets that as its result. */
static __always_inline uint32_t bytes_handed(struct stream *stream, struct task_struct *task,
                                             uint32_t result, int flags)
{
    uint64_t room;

    if ((flags & MSG_TRUNC) == 0)
        return result;
    room = room_of_call(task, stream->receive_many.count - 1);
    return room < result ? room : result;
}

#define DROPPED_INTERVAL 100000000ULL /* ns */

static __always_inline int udp_received(struct stream *stream, struct task_struct *task,
                                        struct sock *sk, int result, int flags)
{
    struct path *own = storage_of(sk), *path;
    struct datagram *datagram = &stream->datagram;
    struct message message = {};
    bool came = false;

    if (own == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return 0;
    }
    if (!take_datagram(own, sk, result, datagram, &came)) {
        /* older than the noting of what comes; or nothing at all: the socket is shut down */
        __builtin_memset(datagram, 0, sizeof(*datagram));
        datagram->segments = 1;
        key_of_socket(&datagram->key, sk, bpf_get_socket_cookie(sk));
        if (result == 0 && !came && (own->state & PATH_INBOX))
            message.flags = RECORD_END_OF_FILE;
        open_inbox(own, sk);
    }
    path = udp_path(stream, task, own, sk, &datagram->key);
    if (path == NULL)
        return 0;
    if (path->dropped != path->told && bpf_ktime_get_ns() - path->told_at > DROPPED_INTERVAL)
        tell_dropped(path, sk, &datagram->key);
    if (!stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message.flags |= RECORD_CALL_IMPLIED;
    message.path = path->number;
    write_datagrams(stream, task, EVENT_RECEIVE, &message,
                    bytes_handed(stream, task, result, flags));
    stream->receivecall = 0;
    return 0;
}

/* What a stream that is not metered takes from a known queue; and what was taken, but could not be
 * copied to where the program said. */
static __noinline int udp_passed_over(struct sock *sk, int result, int flags)
{
    struct path *own = bpf_sk_storage_get(&paths, sk, NULL, 0);
    struct datagram datagram;
    bool came;

    if (own == NULL || (own->state & PATH_INBOX) == 0 || (flags & (MSG_PEEK | MSG_ERRQUEUE)) ||
        (result < 0 && result != -EFAULT))
        return 0;
    take_datagram(own, sk, result, &datagram, &came);
    return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int result, int flags)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct pt_regs *registers;
    uint32_t kind;

    if (stream == NULL || !wants(stream, FLAGS_OF_RECEIVE)) {
        if (sk->sk_protocol == IPPROTO_UDP)
            udp_passed_over(sk, result, flags);
        return 0;
    }
    kind = kind_of_socket(sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol);
    if (kind == 0)
        return 0;
    if (kind == PATH_UDP && result == -EFAULT)
        udp_passed_over(sk, result, flags);
    if (flags & (MSG_PEEK | MSG_ERRQUEUE)) {
        stream->receivecall = 0;
        stream->receive.socket = 0;
        stream->receive.copied = 0;
        stream->receive.peer = 0;
        return 0;
    }
    registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (result < 0) {
        if (!restarts(result) &&
            !(registers->orig_ax == CALL_RECVMMSG && ends_part(&stream->receive_many, registers)))
            count_failed(stream, &stream->failed_receives);
        stream->receivecall = 0;
        stream->receive.socket = 0;
        return 0;
    }
    if (registers->orig_ax == CALL_RECVMMSG)
        count_message(&stream->receive_many, registers);
    switch (kind) {
    case PATH_TCP:
        return tcp_received(stream, task, sk, result);
    case PATH_UNIX_DATAGRAM:
        return datagram_received(stream, task, sk, result);
    case PATH_UDP:
        return udp_received(stream, task, sk, result, flags);
    default:
        return unix_received(stream, task, sk, kind, result);
    }
}

#endif
