/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * receive.bpf.h: RECEIVE.
 *
 *      TCP    tcp_rcv_space_adjust (socket locked: position) ............ sock_recv_length (result)
 *      UNIX   skb_copy_datagram_iovec (socket locked: sender, position) . sock_recv_length (result)
 *      UDP    ingress (sender, number; udp_inbox.bpf.h) ................. sock_recv_length (result)
 *
 * A splice out of a TCP socket passes only the first of each pair, and a splice out of a UNIX stream socket neither:
 * unseen.bpf.h.
 */
#ifndef DPM_RECEIVE_BPF_H
#define DPM_RECEIVE_BPF_H

#include "meter/kernel/receive_call.bpf.h"
#include "meter/kernel/udp_receive.bpf.h"
#include "meter/kernel/unseen.bpf.h"

/* Calls that take bytes from a TCP socket without passing sock_recv_length; the last one is TCP_ZEROCOPY_RECEIVE. */
static __always_inline bool is_splice(uint32_t call)
{
    return call == CALL_SPLICE || call == CALL_SENDFILE || call == CALL_GETSOCKOPT;
}

/* Such a call looks into the socket when it begins, after each wait, and after it has taken bytes. Those are recorded
 * at once. */
static __always_inline int tcp_spliced(struct stream *stream, struct sock *sk, struct path *path,
                                       uint32_t first, uint32_t next, uint64_t identity)
{
    struct receive_call *call = &stream->receive;

    if (identity == 0 || stream->taken_by != identity) {
        stream->taken_by = identity;
        stream->has_taken = 0;
    }
    if (first == next && (stream->has_taken || !(sk->sk_shutdown & RCV_SHUTDOWN)))
        return 0;
    call->path = path->number;
    call->first = first;
    call->done = stream->has_taken;
    call->flags = first == next ? RECORD_END_OF_FILE : 0;
    call->when = 0;
    if (silent(stream))
        begin_behind(path, PATH_MOVED_IN, next);
    else
        write_receive(stream, next - first, true);
    stream->has_taken = first != next;
    call->socket = 0;
    call->done = 0;
    return 0;
}

/* Position up to which the stream was received. Its end also has a sequence number, but is not a byte. */
static __always_inline uint32_t taken_up_to(struct sock *sk, struct tcp_sock *tcp)
{
    uint32_t next = tcp->copied_seq;
    bool ended = (sk->__sk_common.skc_flags & 1UL << SOCK_DONE) != 0;

    return ended && next == tcp->rcv_nxt ? next - 1 : next;
}

/* Runs with the socket locked whenever the process has taken bytes. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_rcv_space_adjust, struct sock *sk)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);
    struct tcp_sock *tcp;
    struct path *path;
    uint32_t next, first, call;
    bool knows_in;

    if (stream == NULL || !wants(stream, FLAGS_OF_RECEIVE))
        return 0;
    tcp = plain_tcp_sock(sk);
    if (tcp == NULL)
        return 0;
    call = stream->receive.call = call_of(task, registers_of(task));
    path = silent(stream) ? storage_of(sk) : bpf_sk_storage_get(&paths, sk, NULL, 0);
    next = taken_up_to(sk, tcp);
    if ((path == NULL || path->number == 0) &&
        (is_splice(call) || (path != NULL && (path->state & PATH_ESTABLISHED))))
        path = meet_tcp_path(stream, sk);
    if (path == NULL || (path->number == 0 && !silent(stream))) {
        /* the end of the call shows how much was received, and so where the path begins */
        stream->receive.socket = (uint64_t)sk;
        stream->receive.path = 0;
        stream->receive.next = next;
        stream->receive.done = 0;
        stream->receive.untold = UNTOLD_NONE;
        return 0;
    }
    if (stream->receive.socket == (uint64_t)sk && !silent(stream))
        begin_behind_call(path, &stream->receive);
    if (path->number != 0 && is_to_be_told_again(path))
        meet_tcp_path(stream, sk);
    knows_in = (path->state & PATH_KNOWS_IN) != 0;
    first = knows_in ? path->in : next;
    path->in = next;
    path->state |= PATH_KNOWS_IN;
    if (is_splice(call))
        return tcp_spliced(stream, sk, path, first, next, identity_of_call(task, call));
    if (first == next && knows_in) {
        /* a peek; or the end of a worker's splice */
        tell_spliced(stream);
        return 0;
    }
    /* a silent stream asks for the path again when it is recorded, because it may have moved */
    take(stream, task, (uint64_t)sk, silent(stream) ? 0 : path->number, first, next);
    if (!has_user_registers(task))
        stream->receive.when = bpf_ktime_get_ns();
    return 0;
}

/* Whether the receive call that `task` is in only peeks. For an io_uring request this cannot be seen here: it counts as
 * no peek, and is undone at the end (unpeek). */
static __always_inline bool is_peek(struct task_struct *task)
{
    struct pt_regs *registers = registers_of(task);

    switch (call_of(task, registers)) {
    case CALL_RECVFROM:
    case CALL_RECVMMSG:
        return registers->r10 & MSG_PEEK;
    case CALL_RECVMSG:
        return registers->dx & MSG_PEEK;
    default:
        return false;
    }
}

/* Cookie of the socket that sent a message. A receiver may be quicker than the sender's own hooks, and the first to
 * request the cookie. The detour through the socket yields a pointer that the kernel accepts for that. The cookie of a
 * sender that has closed its socket was requested before. */
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

/* A datagram is received, with the receiving socket's queue locked, so its number is certain. If the cookie of that
 * socket was never requested, or if the stream is being marked, it is numbered when the call ends. */
static __always_inline void number_datagram(struct stream *stream, struct task_struct *task,
                                            uint64_t peer, struct sock *sender)
{
    struct receive_call *call = &stream->receive;
    struct pair_key key = {.peer = peer};
    struct path *path = NULL;

    call->peer = peer;
    call->numbered = 0;
    key.socket = cookie_of_descriptor(task, receiving_descriptor(task));
    if (is_peek(task))
        return;
    if (key.socket != 0 && peer != 0 && wants(stream, FLAGS_OF_UNIX_RECEIVE))
        path = pair_noted(&key);
    if (path == NULL) {
        call->late = bpf_ktime_get_ns();
        return;
    }
    path->sender = (uint64_t)sender;
    call->first = __sync_fetch_and_add(&path->in, 1);
    call->numbered = 1;
}

/* Copies a message to the receiving process. For UNIX sockets the buffer still refers to the socket that sent it, and
 * the receiving socket's read lock is held. */
SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(skb_copy_datagram_iovec, struct sk_buff *skb, int bytes)
{
    struct task_struct *task;
    struct sock *sender = skb->sk;
    struct stream *stream;
    struct taken *taken;
    uint64_t key;

    if (sender == NULL || sender->__sk_common.skc_family != AF_UNIX)
        return 0;
    task = bpf_get_current_task_btf();
    stream = stream_of(task);
    if (stream != NULL && sender->sk_type != SOCK_STREAM)
        stream->receive.copied = bytes + 1;
    if (sender->sk_type == SOCK_DGRAM) {
        if (stream != NULL)
            number_datagram(stream, task, cookie_of_sender(sender), sender);
        return 0;
    }
    key = cookie_of_sender(sender);
    taken = bpf_map_lookup_elem(&incoming, &key);
    if (taken == NULL) {
        struct taken nothing = {};

        /* an unmetered sender has no cookie yet: unix_received counts for it */
        if (key == 0 || stream == NULL || !wants(stream, FLAGS_OF_UNIX_RECEIVE))
            return 0;
        taken = taken_noted(key, &nothing);
    }
    if (taken == NULL || is_peek(task))
        return 0;
    if (sender->sk_type == SOCK_SEQPACKET)
        bytes = 1;
    uint32_t first = taken->in;
    taken->in = first + bytes;
    if (stream == NULL || !wants(stream, FLAGS_OF_UNIX_RECEIVE))
        return 0;
    take(stream, task, key, taken->path, first, first + bytes);
    stream->receive.flags |= taken->doubt;
    return 0;
}

/* io_uring has only peeked at a UNIX socket's message, which was counted as received: undoes that. */
static __always_inline void unpeek(struct task_struct *task, struct sock *sk, int result)
{
    struct unix_sock *unix_socket;
    struct taken *taken;
    struct sock *peer;
    uint64_t key;

    if (result <= 0 || sk->sk_type == SOCK_DGRAM || is_peek(task))
        return;
    unix_socket = bpf_skc_to_unix_sock(sk);
    peer = unix_socket == NULL ? NULL : unix_socket->peer;
    if (peer == NULL)
        return;
    key = bpf_get_socket_cookie(peer);
    taken = bpf_map_lookup_elem(&incoming, &key);
    if (taken != NULL)
        __sync_fetch_and_add(&taken->in, sk->sk_type == SOCK_STREAM ? -result : -1);
}

static __always_inline void write_tcp_receive(struct stream *stream, struct task_struct *task,
                                              struct sock *sk, uint32_t bytes)
{
    struct path *path;

    if (!silent(stream)) {
        const struct message message = received_message(stream, bytes);
        tell_message(stream, task, EVENT_RECEIVE, &message);
    } else if ((path = bpf_sk_storage_get(&paths, sk, NULL, 0)) != NULL) {
        begin_behind(path, PATH_MOVED_IN, stream->receive.first + bytes);
    }
    end_receive(stream);
}

/* The end of a call whose path was unknown when it received its first bytes, if it has received any: its stream was
 * silent, or the path is recorded now. */
static __noinline bool tcp_received_first(struct stream *stream, struct sock *sk, uint32_t bytes)
{
    struct receive_call *call = &stream->receive;
    bool taken = call->socket == (uint64_t)sk;
    struct path *path;

    if (taken && call->untold == UNTOLD_PIECES)
        begin_behind_call(bpf_sk_storage_get(&paths, sk, NULL, 0), call);
    path = tcp_path(stream, sk, taken ? (int64_t)(uint32_t)(call->next - bytes) : -1, -1);
    if (path == NULL) {
        miss_messages(stream, EVENT_RECEIVE, METER_TCP, 1);
        return false;
    }
    if (taken && (int32_t)(call->next - path->in) > 0)
        path->in = call->next;
    call->path = path->number;
    call->first = taken ? call->next - bytes : path->in;
    /* bytes whose copy no hook has seen: kernel TLS had them, or the hook was skipped */
    call->flags = taken || bytes != 0 ? 0 : RECORD_END_OF_FILE;
    if (!taken)
        call->done = 0;
    return true;
}

static __always_inline int tcp_received(struct stream *stream, struct task_struct *task,
                                        struct sock *sk, int result)
{
    struct receive_call *call = &stream->receive;
    uint32_t bytes = call->socket == (uint64_t)sk ? last_piece(call, result) : result;

    if (call->socket != (uint64_t)sk || call->path == 0) {
        if (!tcp_received_first(stream, sk, bytes))
            return 0;
    } else {
        if (call->done == 0 && call->untold == UNTOLD_NONE) {
            /* also correct if the first piece's beginning was unknown, or an urgent byte was skipped */
            uint32_t first = call->next - bytes;

            if (call->when != 0 && (int32_t)(first - call->first) > 0) {
                /* a worker spliced, and then received from the same socket */
                uint32_t next = call->next;

                call->next = first;
                tell_spliced(stream);
                call->next = next;
            }
            call->first = first;
        }
    }
    call->when = 0;
    write_tcp_receive(stream, task, sk, bytes);
    call->socket = 0;
    return 0;
}

/* The urgent byte was received out of order; the receive that reaches its position skips it. */
static __noinline int urgent_received(struct stream *stream, struct sock *sk, int result)
{
    struct receive_call *call = &stream->receive;
    struct path *path = tcp_path(stream, sk, -1, -1);
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    uint32_t urgent;

    if (path == NULL || tcp == NULL)
        return 0;
    urgent = tcp->urg_seq;
    /* keeps clang from making one load of two kinds of pointer, which the verifier forbids */
    asm volatile("" : "+r"(urgent));
    call->path = path->number;
    call->first = result == 0 ? path->in : urgent;
    call->done = 0;
    call->flags = result == 0 ? RECORD_END_OF_FILE : 0;
    call->when = 0;
    write_receive(stream, result, true);
    call->socket = 0;
    return 0;
}

/* A receive up to `next` on `sk` has ended; `sender`: the path of the sending socket. Returns `next`, plus the bytes
 * that were taken unseen. */
static __noinline uint32_t hold_to_sender(struct stream *stream, struct path *sender,
                                          struct sock *sk, uint32_t path, uint32_t next)
{
    struct unix_sock *receiver = bpf_skc_to_unix_sock(sk);
    struct receive_call *call = &stream->receive;
    struct sock *peer = receiver == NULL ? NULL : receiver->peer;
    uint32_t unseen;

    note_early(&sender->early, next, sender->out);
    if (sk->sk_type != SOCK_STREAM || silent(stream) || peer == NULL)
        return next;
    unseen = unseen_before(sender, receiver, bpf_get_socket_cookie(peer), path, call->first, next);
    call->first += unseen;
    next += unseen;
    sender->seen_out = next;
    return next;
}

/* A receive of `step` bytes, or of one message, whose copy no hook has seen. Either it is the end of file; or the
 * sender had no cookie when its message was copied; or the copy was made before this stream was marked, and lies before
 * the counted part (`older`). `key`: the sender's cookie. Returns the offset after it. */
static __noinline uint32_t received_unseen(struct stream *stream, struct path *path, uint64_t key,
                                           uint32_t step, bool older)
{
    struct receive_call *call = &stream->receive;
    struct taken *taken = bpf_map_lookup_elem(&incoming, &key);
    struct taken fresh = {.path = path->number};

    older = older && step != 0;
    call->first = taken == NULL ? path->in : taken->in;
    fresh.in = call->first + (older ? 0 : step);
    if (older)
        call->first = path->start_in - step;
    call->done = 0;
    call->flags = step == 0 ? RECORD_END_OF_FILE : 0;
    if (step != 0 && !older)
        taken_noted(key, &fresh);
    return fresh.in;
}

/* `older`: the call began before its stream was marked, and may have received uncounted bytes. */
static __noinline int unix_received(struct stream *stream, struct sock *sk, uint32_t kind,
                                    int result, bool older)
{
    struct receive_call *call = &stream->receive;
    struct unix_sock *unix_socket = bpf_skc_to_unix_sock(sk);
    struct path *path, *sender;
    uint32_t bytes = result, next;
    struct sock *peer;
    uint64_t key;

    if (call->untold == UNTOLD_PIECES)
        begin_behind_call(bpf_sk_storage_get(&paths, sk, NULL, 0), call);
    path = unix_path(stream, sk, kind);
    if (path == NULL)
        miss_messages(stream, EVENT_RECEIVE, METER_UNIX, 1);
    if (path == NULL || unix_socket == NULL)
        return 0;
    peer = unix_socket->peer;
    key = peer == NULL ? 0 : bpf_get_socket_cookie(peer);
    if (call->socket == key && key != 0) {
        next = call->next;
        /* for an older call, the part that was seen */
        bytes = older && kind == PATH_UNIX_STREAM ? next - call->first : bytes - call->done;
        if (call->path == 0) {
            struct taken *taken = bpf_map_lookup_elem(&incoming, &key);

            if (taken != NULL)
                taken->path = path->number;
        }
    } else {
        next = received_unseen(stream, path, key, kind == PATH_UNIX_STREAM ? bytes : bytes != 0,
                               older);
    }
    call->socket = 0;
    call->path = path->number;
    if (kind == PATH_UNIX_SEQPACKET)
        bytes = bytes_copied(call, bytes);
    sender = peer == NULL ? NULL : storage_of(peer);
    if (sender != NULL)
        next = hold_to_sender(stream, sender, sk, path->number, next);
    path->in = next;
    if (silent(stream))
        begin_behind(path, PATH_MOVED_IN, next);
    write_receive(stream, bytes, true);
    return 0;
}

/* Number of a datagram that had none when it was received. It is counted now, unless its sender's count was settled in
 * the meantime: that added up what was received and what was queued, and this datagram was neither. */
static __always_inline uint32_t number_late(struct receive_call *call, struct path *path,
                                            const struct path *sender)
{
    if (call->copied == 0)
        return path->start_in - 1; /* received before its stream was marked */
    if (sender == NULL || sender->settled <= call->late)
        return __sync_fetch_and_add(&path->in, 1);
    call->flags |= RECORD_OLDER; /* others may have been received since */
    return path->in - 1;
}

static __noinline int datagram_received(struct stream *stream, struct sock *sk, int result)
{
    struct receive_call *call = &stream->receive;
    struct path *path = datagram_path(stream, sk, call->peer);
    struct pair_key reverse = {};
    struct path *sender;

    if (path == NULL) {
        miss_messages(stream, EVENT_RECEIVE, METER_UNIX, 1);
        return 0;
    }
    reverse.socket = call->peer;
    reverse.peer = bpf_get_socket_cookie(sk);
    call->peer = 0;
    call->socket = 0;
    call->done = 0;
    call->path = path->number;
    if (result == 0 && call->copied == 0) {
        /* no message was copied, not even an empty one: the socket is shut down */
        call->first = path->in;
        call->flags = RECORD_END_OF_FILE;
        write_receive(stream, 0, true);
        return 0;
    }
    /* the sender's first message may arrive before the sender's own hooks have run */
    sender = pair_noted(&reverse);
    if (!call->numbered)
        call->first = number_late(call, path, sender);
    call->numbered = 0;
    if (silent(stream))
        begin_behind(path, PATH_MOVED_IN, call->first + 1);
    if (sender != NULL)
        note_early(&sender->early, call->first + 1, sender->out);
    write_receive(stream, bytes_copied(call, result), true);
    return 0;
}

/* Whether a call on a byte stream returned 0 because it asked for no bytes, and not because of the end of the
 * stream. */
static __always_inline bool asked_for_nothing(const struct stream *stream, struct task_struct *task,
                                              uint32_t kind)
{
    return (kind == PATH_TCP || kind == PATH_UNIX_STREAM) &&
           room_of_call(task, stream->receive_many.count - 1) == 0;
}

/* A call has failed on a TCP socket. If the other end has reset the connection before its first byte, its path is recorded
 * now, as otherwise at close: so its end is seen, also of the path that a wait for its first byte has got (`waited`). */
static __always_inline void meet_reset(struct stream *stream, struct sock *sk, bool waited)
{
    struct path *path;

    if (sk->__sk_common.skc_state != TCP_CLOSE || !(waited || wants(stream, FLAGS_OF_CONNECTION)))
        return;
    path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    if (path != NULL && path->number == 0 && (path->state & PATH_ESTABLISHED))
        meet_tcp_path(stream, sk);
}

static __always_inline int receive_ended(struct sock *sk, int result, int flags)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);
    bool is_unix = sk->__sk_common.skc_family == AF_UNIX;
    uint32_t kind, call;
    bool older;

    if ((flags & MSG_PEEK) && is_unix)
        unpeek(task, sk, result);
    if (stream == NULL || !wants(stream, is_unix ? FLAGS_OF_UNIX_RECEIVE : FLAGS_OF_RECEIVE)) {
        if (sk->sk_protocol == IPPROTO_UDP)
            udp_passed_over(sk, result, flags);
        return 0;
    }
    kind = kind_of_socket(sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol);
    if (kind == 0)
        return result < 0 ? 0
                          : note_unmetered(stream, sk->__sk_common.skc_family, sk->sk_type,
                                           sk->sk_protocol);
    if (stream->receive.socket != (uint64_t)sk)
        tell_spliced(stream);
    older = stream->older_receive == (uint64_t)sk;
    stream->older_receive = 0;
    if (kind == PATH_UDP && result == -EFAULT)
        udp_passed_over(sk, result, flags);
    if (flags & (MSG_PEEK | MSG_ERRQUEUE)) {
        stream->receivecall = 0;
        stream->receive.socket = 0;
        stream->receive.copied = 0;
        stream->receive.peer = 0;
        return 0;
    }
    call = kind == PATH_TCP && stream->receive.socket == (uint64_t)sk
               ? stream->receive.call
               : call_of(task, registers_of(task));
    if (result < 0) {
        if (is_failure(result) && !(call == CALL_RECVMMSG &&
                                    ends_part(&stream->receive_many, identity_of_many(task, call))))
            count_failed(stream, &stream->failed_receives);
        if (kind == PATH_TCP)
            meet_reset(stream, sk, stream->receivecall);
        stream->receivecall = 0;
        stream->receive.socket = 0;
        stream->receive.copied = 0;
        return 0;
    }
    if (call == CALL_RECVMMSG)
        count_message(&stream->receive_many, task, call);
    if (result == 0 && asked_for_nothing(stream, task, kind)) {
        stream->receivecall = 0;
        stream->receive.socket = 0;
        return 0;
    }
    switch (kind) {
    case PATH_TCP:
        return flags & MSG_OOB ? urgent_received(stream, sk, result)
                               : tcp_received(stream, task, sk, result);
    case PATH_UNIX_DATAGRAM:
        return datagram_received(stream, sk, result);
    case PATH_UDP:
        return udp_received(stream, task, sk, result, flags);
    default:
        return unix_received(stream, sk, kind, result, older);
    }
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int result, int flags)
{
    return receive_ended(sk, result, flags);
}

/* The same before Linux 6.3. (The tracepoint does not report what a peek finds, either.) */
static __always_inline int recvmsg_ended(struct socket *socket, int result, int flags)
{
    struct sock *sk = socket->sk;

    if ((flags & MSG_PEEK) && result > 0)
        result = 0;
    return sk == NULL ? 0 : receive_ended(sk, result, flags);
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(inet_recvmsg_ends, struct socket *socket, struct msghdr *msg, uint64_t size, int flags,
             int result)
{
    return recvmsg_ended(socket, result, flags);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(inet6_recvmsg_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int flags, int result)
{
    return recvmsg_ended(socket, result, flags);
}

SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(unix_stream_receive_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int flags, int result)
{
    return recvmsg_ended(socket, result, flags);
}

/* The kernel also calls it for packets; those are recorded when its caller ends. */
SEC("fexit/unix_dgram_recvmsg")
int BPF_PROG(unix_datagram_receive_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int flags, int result)
{
    return socket->type == SOCK_SEQPACKET ? 0 : recvmsg_ended(socket, result, flags);
}

SEC("fexit/unix_seqpacket_recvmsg")
int BPF_PROG(unix_packet_receive_ends, struct socket *socket, struct msghdr *msg, uint64_t size,
             int flags, int result)
{
    return recvmsg_ended(socket, result, flags);
}

#endif
