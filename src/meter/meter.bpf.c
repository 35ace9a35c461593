// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * meter.bpf.c: the meter: one program per kernel hook. Nothing here is attached unless a meter
 * flag in force needs it (meter.c, table of hooks).
 *
 *      TCP send       tcp_sendmsg_locked ...  sock_send_length      -> SEND
 *      TCP receive    tcp_rcv_space_adjust .. sock_recv_length      -> RECEIVE
 *      UNIX send      sk_data_ready ........  sock_send_length      -> SEND
 *      UNIX receive   skb_copy_datagram_iovec sock_recv_length      -> RECEIVE
 *      leaving a CPU  sched_switch    -> SENDCALL, RECEIVECALL, BLOCK, STOPPROCESS, STARTPROCESS
 *      connections    inet_sock_set_state, tcp_destroy_sock -> CONNECT, ACCEPT, DESTROYPATH
 *      processes      task_newtask, sched_process_exec, sched_process_exit
 *
 * The first hook of each pair runs where positions are exact (the socket is locked, or the message
 * is just becoming visible), the second where the call's result is known.
 */
#include "meter/path.bpf.h"
/* after path.bpf.h, which brings the types */
#include "meter/survey.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The metered stream that is `task`; NULL: not metered. */
static __always_inline struct stream *stream_of(struct task_struct *task)
{
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);

    return stream == NULL || stream->from_exec ? NULL : stream;
}

static __always_inline bool wants(const struct stream *stream, uint32_t flags)
{
    return (stream->flags & flags) != 0;
}

#define FLAGS_OF_SEND    (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL))
#define FLAGS_OF_RECEIVE (EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_RECEIVECALL))

/* ---- calls of many messages, and calls that fail ---- */

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

#define FLAGS_OF_CONNECTION                                                                        \
    (EVENT_FLAG(EVENT_CREATEPATH) | EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT))

/* ---- sending ---- */

static __always_inline void write_send(struct stream *stream, struct task_struct *task,
                                       struct send_call *call, uint32_t bytes)
{
    struct message message = {
        .path = call->path,
        .offset = call->first,
        .bytes = bytes,
        .flags = call->flags | (call->done != 0 ? RECORD_CONTINUED : 0),
        .begin = call->begin,
    };

    write_message(stream, task, EVENT_SEND, &message);
}

/* A sendfile call reaches the socket in several sends. They are one message: the count of calls
 * that wrote, which the kernel advances at the end of sendfile, tells whether it is still the same
 * call. */
static __always_inline uint32_t continues_sendfile(struct stream *stream, struct task_struct *task,
                                                   const struct pt_regs *registers)
{
    uint64_t call;
    bool same;

    if (registers->orig_ax != CALL_SENDFILE || !bpf_core_field_exists(task->ioac)) {
        stream->sendfile = 0;
        return 0;
    }
    call = task->ioac.syscw + 1;
    same = stream->sendfile == call;
    stream->sendfile = call;
    return same ? RECORD_CONTINUED : 0;
}

/* Runs with the socket locked, once per turn of the kernel's copying loop: also after each wait
 * for room, in which other senders may have got in between. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(tcp_sendmsg_locked, struct sock *sk, struct msghdr *msg)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct send_call *call;
    struct tcp_sock *tcp;
    uint32_t left, position;

    if (stream == NULL || !wants(stream, FLAGS_OF_SEND))
        return 0;
    tcp = bpf_skc_to_tcp_sock(sk);
    if (tcp == NULL)
        return 0;
    call = &stream->send;
    left = msg->msg_iter.count;
    position = tcp->write_seq;
    if (call->socket != (uint64_t)sk) {
        struct path *path = tcp_path(stream, task, sk, -1, 0);

        if (path == NULL)
            return 0;
        call->socket = (uint64_t)sk;
        call->path = path->number;
        call->done = 0;
        call->told = 0;
        call->flags = continues_sendfile(stream, task, (struct pt_regs *)bpf_task_pt_regs(task));
    } else {
        call->out = call->left - left;
        if (position == call->first + call->out)
            return 0;
        if (call->out != 0)
            write_send(stream, task, call, call->out);
        call->done += call->out;
    }
    call->first = position;
    call->left = left;
    call->out = 0;
    call->begin = bpf_ktime_get_ns();
    return 0;
}

static __always_inline int tcp_sent(struct stream *stream, struct task_struct *task,
                                    struct sock *sk, int result)
{
    struct send_call *call = &stream->send;

    if (call->socket != (uint64_t)sk) {
        /* no turn of the loop was seen: nothing to send, or metered since */
        struct path *path = tcp_path(stream, task, sk, -1, result);
        struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

        if (path == NULL || tcp == NULL)
            return 0;
        call->path = path->number;
        call->first = tcp->write_seq - result;
        call->done = 0;
        call->begin = 0;
    } else if ((uint32_t)result < call->done + call->left) {
        /* a message sent in part ends a sendmmsg call without an error */
        stream->send_many.arguments = 0;
    }
    write_send(stream, task, call, result - call->done);
    call->socket = 0;
    return 0;
}

/* When the message became visible: the stamp of sk_data_ready, or of a receiver that was quicker
 * than it (state.bpf.h, early). */
static __always_inline uint64_t visible_since(struct path *path, uint32_t first, uint64_t begin)
{
    uint64_t early = path->early;

    if (early == 0)
        return begin;
    path->early = 0;
    return (int32_t)(path->early_in - first) > 0 && (begin == 0 || early < begin) ? early : begin;
}

static __always_inline int unix_sent(struct stream *stream, struct task_struct *task,
                                     struct sock *sk, uint32_t kind, int result)
{
    struct send_call *call = &stream->send;
    uint64_t begin = call->socket != 0 ? call->begin : 0;
    struct path *path = kind == PATH_UNIX_DATAGRAM ? datagram_path(stream, task, sk, call->peer)
                                                   : unix_path(stream, task, sk, kind);

    call->socket = 0;
    if (path == NULL)
        return 0;
    call->path = path->number;
    call->first = __sync_fetch_and_add(&path->out, kind == PATH_UNIX_STREAM ? result : 1);
    call->done = 0;
    call->begin = visible_since(path, call->first, begin);
    write_send(stream, task, call, result);
    return 0;
}

/* A stream that is not metered uses a UNIX socket: keep its positions right if it is known. */
static __always_inline int unix_sent_unmetered(struct sock *sk, uint32_t kind, int result)
{
    struct path *path;

    if (kind == PATH_UNIX_DATAGRAM || result < 0)
        return 0;
    path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    if (path != NULL)
        __sync_fetch_and_add(&path->out, kind == PATH_UNIX_STREAM ? result : 1);
    return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sk, int result)
{
    uint32_t family = sk->__sk_common.skc_family;
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct pt_regs *registers;
    uint32_t kind;

    if (stream == NULL && family != AF_UNIX)
        return 0;
    kind = kind_of_socket(family, sk->sk_type, sk->sk_protocol);
    if (kind == 0)
        return 0;
    if (stream == NULL)
        return unix_sent_unmetered(sk, kind, result);
    if (!wants(stream, FLAGS_OF_SEND))
        return 0;
    registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (stream->send.socket != (uint64_t)sk)
        stream->send.flags = continues_sendfile(stream, task, registers);
    if (result < 0) {
        if (stream->send.flags == 0 && !restarts(result) &&
            !(registers->orig_ax == CALL_SENDMMSG && ends_part(&stream->send_many, registers)))
            stream->failed_sends++;
        stream->send.socket = 0;
        return 0;
    }
    if (registers->orig_ax == CALL_SENDMMSG)
        count_message(&stream->send_many, registers);
    return kind == PATH_TCP ? tcp_sent(stream, task, sk, result)
                            : unix_sent(stream, task, sk, kind, result);
}

/* A UNIX message has just entered its receiver's queue; runs in the sender's call. `sk` is the
 * receiving socket. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(sk_data_ready, struct sock *sk)
{
    struct stream *stream;
    struct send_call *call;
    struct sk_buff *last;

    if (sk->__sk_common.skc_family != AF_UNIX || sk->__sk_common.skc_state == TCP_LISTEN)
        return 0;
    stream = stream_of(bpf_get_current_task_btf());
    if (stream == NULL || !wants(stream, FLAGS_OF_SEND))
        return 0;
    call = &stream->send;
    if (call->socket == 0) {
        call->socket = (uint64_t)sk;
        call->begin = bpf_ktime_get_ns();
        call->peer = bpf_get_socket_cookie(sk);
        call->out = 0;
        call->done = 0;
        call->told = 0;
        call->path = 0;
        call->first = 0; /* a path not told yet begins there */
        if (wants(stream, EVENT_FLAG(EVENT_SENDCALL)) && sk->sk_type == SOCK_STREAM) {
            struct unix_sock *receiver = bpf_skc_to_unix_sock(sk);
            struct sock *sender = receiver == NULL ? NULL : receiver->peer;
            struct path *path = sender == NULL ? NULL : bpf_sk_storage_get(&paths, sender, NULL, 0);

            if (path != NULL) {
                call->path = path->number;
                call->first = path->out;
            }
        }
    }
    /* Exact for one sender at a time; less than the truth if the receiver has already taken it. */
    last = sk->sk_receive_queue.prev;
    if ((void *)last != (void *)&sk->sk_receive_queue)
        call->out += BPF_CORE_READ(last, len);
    return 0;
}

/* ---- receiving ---- */

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

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int result, int flags)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct pt_regs *registers;
    uint32_t kind;

    if (stream == NULL || !wants(stream, FLAGS_OF_RECEIVE))
        return 0;
    kind = kind_of_socket(sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol);
    if (kind == 0)
        return 0;
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
            stream->failed_receives++;
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
    default:
        return unix_received(stream, task, sk, kind, result);
    }
}

/* ---- connections ---- */

/* PATH of a TCP socket outside its owner's calls. */
static __always_inline bool tell_tcp_path(struct path *path, struct sock *sk)
{
    struct socket_facts facts = {
        .sk = sk,
        .cookie = bpf_get_socket_cookie(sk),
        .inode = path->inode,
        .family = sk->__sk_common.skc_family,
        .kind = PATH_TCP,
        .connected = true,
    };

    return write_path(path, &facts, 0);
}

static __always_inline void end_path(struct path *path)
{
    uint64_t inode = path->inode;

    if (flags_in_force & EVENT_FLAG(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, path->number);
    path->number = 0;
    bpf_map_delete_elem(&path_of_inode, &inode);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sk, int old_state, int new_state)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream;
    struct path *path;
    struct tcp_sock *tcp;

    if (sk->sk_protocol != IPPROTO_TCP)
        return 0;
    if (new_state == TCP_ESTABLISHED) {
        /* in interrupt context as a rule: whose task this is says nothing */
        path = bpf_sk_storage_get(&paths, sk, NULL, 0);
        tcp = bpf_skc_to_tcp_sock(sk);
        if (path == NULL || tcp == NULL)
            return 0;
        if (path->number == 0)
            take_positions(path, tcp);
        else if (path->role == PATH_ROLE_CONNECTED)
            /* fast open: data went ahead, and only now it is known where the answers begin */
            path->start_in = tcp->copied_seq;
        path->in = path->number == 0 ? path->start_in : tcp->copied_seq;
        path->established = bpf_ktime_get_ns();
        path->state = PATH_KNOWS_IN | PATH_ESTABLISHED;
        if (path->number != 0)
            tell_tcp_path(path, sk);
        return 0;
    }
    if (new_state != TCP_SYN_SENT && new_state != TCP_LISTEN && new_state != TCP_FIN_WAIT1 &&
        new_state != TCP_LAST_ACK)
        return 0;
    /* connect, listen and close run in their caller */
    stream = stream_of(task);
    if (stream == NULL)
        return 0;
    if (new_state == TCP_FIN_WAIT1 || new_state == TCP_LAST_ACK) {
        /* a connection that is closed without a message is told now */
        if (bpf_sk_storage_get(&paths, sk, NULL, 0) != NULL && wants(stream, FLAGS_OF_CONNECTION))
            tcp_path(stream, task, sk, -1, 0);
        return 0;
    }
    path = storage_of(sk);
    if (path == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return 0;
    }
    /* a socket may connect again, to another peer: another path */
    if (path->number != 0)
        end_path(path);
    path->role = new_state == TCP_SYN_SENT ? PATH_ROLE_CONNECTED : PATH_ROLE_ACCEPTED;
    path->state = new_state == TCP_LISTEN ? PATH_LISTENS : 0;
    return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(tcp_destroy_sock, struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    if (path != NULL && path->number != 0)
        end_path(path);
    return 0;
}

/* ---- leaving and entering a CPU ---- */

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

/* ---- processes ---- */

/* Runs in the parent, before the child can run. */
SEC("tp_btf/task_newtask")
int BPF_PROG(task_newtask, struct task_struct *child, uint64_t clone_flags)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *parent = stream_of(task), *stream;
    uint32_t thread = (clone_flags & CLONE_THREAD) != 0;

    if (parent == NULL)
        return 0;
    stream = bpf_task_storage_get(&streams, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (stream == NULL) {
        /* the child cannot be metered: counted as a lost record, so that it is not silent */
        count_lost(parent, RING_CONTROL);
        parent->sequence++;
        return 0;
    }
    stream->flags = parent->flags;
    stream->number = __sync_fetch_and_add(&last_stream, 1) + 1;
    stream->process = thread ? parent->process : stream->number;
    stream->parent = parent->number;
    stream->started = (flags_in_force & FLAGS_OF_SWITCH) == 0;
    __sync_fetch_and_add(&live, 1);
    write_stream(stream, child);
    write_process_event(parent, task, EVENT_CREATEPROCESS, stream->number | (uint64_t)thread << 32,
                        0);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_pid,
             struct linux_binprm *program)
{
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);
    uint32_t image;

    if (stream == NULL)
        return 0;
    if (stream->from_exec) {
        stream->from_exec = 0;
        stream->started = 1;
        stream->blocked_at = 0;
        write_stream(stream, task);
        write_process_event(stream, task, EVENT_STARTPROCESS, 0, 0);
    } else {
        write_stream(stream, task);
    }
    image = wants(stream, EVENT_FLAG(EVENT_EXEC)) ? write_image(task, program) : 0;
    write_process_event(stream, task, EVENT_EXEC, image, 0);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task, bool last)
{
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);

    if (stream == NULL)
        return 0;
    if (!stream->from_exec && !wants(stream, EVENT_FLAG(EVENT_TERMINATION)))
        write_stream(stream, task); /* for its processor time */
    else if (!stream->from_exec)
        write_process_event(stream, task, EVENT_TERMINATION,
                            (uint32_t)task->exit_code | (uint64_t)last << 32,
                            stream->failed_sends | (uint64_t)stream->failed_receives << 32);
    if ((stream->lost[RING_CONTROL] | stream->lost[RING_DATA]) != 0)
        write_lost(stream, task, RING_CONTROL, stream->sequence);
    stream->flags = 0; /* nothing of the way out counts */
    __sync_fetch_and_add(&live, -1);
    return 0;
}

/* ---- iterators: run when the program outside asks ---- */

/* Marks tasks as metered: those the iterator was told to visit. */
SEC("iter/task")
int mark_tasks(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream;

    if (task == NULL)
        return 0;
    if (bpf_task_storage_get(&streams, task, NULL, 0) != NULL)
        return 0;
    stream = bpf_task_storage_get(&streams, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (stream == NULL)
        return 0;
    stream->number = __sync_fetch_and_add(&last_stream, 1) + 1;
    stream->process = stream->number;
    stream->flags = mark_flags;
    stream->started = 1;
    stream->from_exec = mark_from_exec;
    __sync_fetch_and_add(&live, 1);
    __sync_fetch_and_add(&marked, 1);
    if (!stream->from_exec)
        write_stream(stream, task);
    return 0;
}

/* Lists the metered streams that are alive, with what they lost and could not yet tell. */
SEC("iter/task")
int survey_streams(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream = task == NULL ? NULL : bpf_task_storage_get(&streams, task, NULL, 0);
    struct survey_stream line = {};

    if (stream == NULL || stream->flags == 0)
        return 0;
    fill_stream(&line.identity, stream, task);
    line.lost[0] = stream->lost[0];
    line.lost[1] = stream->lost[1];
    line.sequence = stream->sequence;
    bpf_seq_write(context->meta->seq, &line, sizeof(line));
    return 0;
}

/* Lists the UNIX sockets that are alive and known to the meter. */
SEC("iter/unix")
int survey_sockets(struct bpf_iter__unix *context)
{
    struct unix_sock *sk = context->unix_sk;
    struct survey_socket line = {};

    if (sk == NULL || bpf_sk_storage_get(&paths, (struct sock *)sk, NULL, 0) == NULL)
        return 0;
    line.cookie = bpf_get_socket_cookie(sk);
    bpf_seq_write(context->meta->seq, &line, sizeof(line));
    return 0;
}
