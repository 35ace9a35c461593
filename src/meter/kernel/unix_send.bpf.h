/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* unix_send.bpf.h: SEND over UNIX sockets: its message becomes visible, and its result. See send.bpf.h. */
#ifndef DPM_UNIX_SEND_BPF_H
#define DPM_UNIX_SEND_BPF_H

#include "meter/kernel/number.bpf.h"
#include "meter/kernel/order.bpf.h"
#include "meter/kernel/sent.bpf.h"

/* ---- a send ends ---- */

/* A quicker receiver's note may concern another send in progress. It is used if it is no earlier than this. */
#define NOT_MUCH_LATER 1000000 /* ns */

/* A send has ended. Returns whether others were in progress on the path at the same time. */
static __always_inline bool end_counted(struct sends *sends, const struct send_call *call)
{
    __sync_fetch_and_add(&sends->ended, 1);
    return call->others != 0 || *(volatile uint32_t *)&sends->visible != call->seen;
}

/* The same for a send that began when the path had no entry: all sends counted at the path have begun since. */
static __always_inline bool end_first(struct path *path, const struct send_call *call)
{
    bool others = end_counted(&first_sends[(call->first_sends - 1) % FIRST_SENDS], call);

    return others || *(volatile uint32_t *)&path->sends.visible != 0;
}

/* A send has ended. */
static __always_inline void end_visible(struct path *path, struct send_call *call)
{
    uint64_t early = path->early.time;

    if (call->seen == 0)
        return;
    if (!(call->first_sends != 0 ? end_first(path, call) : end_counted(&path->sends, call)))
        return;
    call->flags |= RECORD_CONCURRENT;
    if (early != 0 && early < call->begin && call->begin - early < NOT_MUCH_LATER)
        call->begin = early;
}

/* Minimum duration of doubt. A thread that had queued a message when the metering began, and was then held up, counts
 * that message when it goes on. Until then the queue is searched for each message. */
#define LEAST_DOUBT 100000000 /* ns */

/* Whether a call that was in progress when the metering began may still go on. Then a new path's count is in doubt,
 * too. */
static __always_inline bool may_be_older(uint64_t begin)
{
    return begun_at != 0 && (begin < begun_at || begin - begun_at < LEAST_DOUBT);
}

/* Counts a message that was sent while the path's count is in doubt, by its position in the queue. If that is unknown
 * because the message was received too soon, or uncertain because other sends were in progress, the record is
 * flagged. */
static __always_inline void count_doubtful(struct path *path, struct sock *sk,
                                           struct send_call *call)
{
    uint32_t number = call->number;

    if (!call->numbered || call->seen == 0 || call->others != 0 ||
        *(volatile uint32_t *)&path->sends.visible != call->seen) {
        call->first = __sync_fetch_and_add(&path->out, 1);
        call->flags |= RECORD_OLDER;
        return;
    }
    call->first = number;
    note_counted_ahead(path, sk, number);
    if (path->out != number)
        call->flags |= RECORD_OLDER; /* one of the two is wrong; the next send shows which */
    else if (begun >= mark_generation && call->begin - begun_at >= LEAST_DOUBT)
        path->state &= ~PATH_IN_DOUBT;
    path->out = number + 1;
}

/* Whether a message in doubt is counted by its position in the queue, if that was found. */
static __always_inline bool is_looked_for(const struct stream *stream, const struct path *path,
                                          uint32_t kind)
{
    return (path->state & PATH_IN_DOUBT) && kind != PATH_UNIX_STREAM &&
           (stream->send.numbered || kind == PATH_UNIX_DATAGRAM) &&
           ((path->state & PATH_SETTLED) || !silent(stream));
}

/* `begin`: when the message could first be received, 0: unknown. */
static __always_inline void count_sent(struct stream *stream, struct path *path, struct sock *sk,
                                       uint32_t kind, uint32_t step, uint64_t begin)
{
    struct send_call *call = &stream->send;

    if (kind != PATH_UNIX_DATAGRAM && (path->state & PATH_SETTLED) &&
        (begin < path->settled || stream->older_socket == (uint64_t)sk))
        call->first = count_again(path, sk, kind, step);
    else
        call->first = __sync_fetch_and_add(&path->out, step);
    if (path->state & PATH_IN_DOUBT)
        call->flags |= RECORD_OLDER;
}

/* A send on a UNIX stream has been counted: compares the counts of both ends. */
static __noinline int look_after_sent(struct path *path, struct sock *sk)
{
    struct unix_sock *unix_socket = bpf_skc_to_unix_sock(sk);
    struct sock *peer = unix_socket == NULL ? NULL : unix_socket->peer;

    if (peer == NULL)
        return 0;
    look_for_unseen(path, bpf_get_socket_cookie(sk), peer);
    if (path->state & PATH_IN_DOUBT)
        end_doubt_of_sender(path, bpf_get_socket_cookie(sk), (struct unix_sock *)peer, 0,
                            bpf_ktime_get_ns());
    return 0;
}

static __noinline int unix_sent(struct stream *stream, struct sock *sk, uint32_t kind, int result)
{
    struct send_call *call = &stream->send;
    uint64_t begin = call->socket != 0 ? call->begin : 0;
    uint64_t receiver = call->socket;
    uint32_t step = kind == PATH_UNIX_STREAM ? result : 1;
    struct path *path = kind == PATH_UNIX_DATAGRAM ? datagram_path(stream, sk, call->peer)
                                                   : unix_path(stream, sk, kind);

    call->socket = 0;
    if (path == NULL) {
        miss_messages(stream, EVENT_SEND, METER_UNIX, 1);
        return 0;
    }
    call->path = path->number;
    if (kind == PATH_UNIX_DATAGRAM && call->first_sends != 0 && path->out == 0 &&
        may_be_older(begin))
        path->state |= PATH_IN_DOUBT;
    call->flags |= doubt_of_order(path, sk, call, receiver, step);
    if (is_looked_for(stream, path, kind))
        count_doubtful(path, sk, call);
    else
        count_sent(stream, path, sk, kind, step, begin);
    call->numbered = 0;
    call->done = 0;
    call->begin = visible_since(&path->early, call->first, begin);
    end_visible(path, call);
    pass_early(&path->early, call->first, step);
    call->seen = 0;
    if (silent(stream))
        begin_behind(path, PATH_MOVED_OUT, call->first + step);
    else
        write_send(stream, call, result);
    end_older_send(stream); /* before the counts are compared */
    return kind == PATH_UNIX_STREAM ? look_after_sent(path, sk) : 0;
}

/* A stream that is not metered uses a UNIX socket: keeps the positions correct if the socket is known. */
static __always_inline int unix_sent_unmetered(struct sock *sk, uint32_t kind, int result)
{
    uint32_t step = kind == PATH_UNIX_STREAM ? result : 1;
    struct path *path;

    if (kind == PATH_UNIX_DATAGRAM || result < 0)
        return 0;
    path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    if (path != NULL)
        pass_early(&path->early, __sync_fetch_and_add(&path->out, step), step);
    return 0;
}

/* ---- its message becomes visible ---- */

/* The storage of the socket that is connected to `sk`, created for the same reason if it has none; NULL: no such
 * socket. */
static __always_inline struct path *peer_noted(struct sock *sk)
{
    struct unix_sock *unix_socket = bpf_skc_to_unix_sock(sk);
    struct sock *peer = unix_socket == NULL ? NULL : unix_socket->peer;

    return peer == NULL ? NULL : storage_of(peer);
}

/* The first bytes of a send have become visible. It is counted before anything that takes time. */
static __always_inline void begin_counted(struct send_call *call, struct sends *sends)
{
    call->seen = __sync_fetch_and_add(&sends->visible, 1) + 1;
    call->others = call->seen - 1 - *(volatile uint32_t *)&sends->ended;
}

/* The path of a datagram socket and a peer it sends to, created if it is new. If the peer has already received from the
 * socket, a new path has missed the first messages. */
static __always_inline struct path *sending_pair(const struct pair_key *key, uint64_t begin)
{
    struct pair_key reverse = {.socket = key->peer, .peer = key->socket};
    struct path *path = bpf_map_lookup_elem(&pairs, key);

    if (path != NULL)
        return path;
    path = pair_noted(key);
    if (path != NULL && begun_at != 0 &&
        (may_be_older(begin) || bpf_map_lookup_elem(&pairs, &reverse) != NULL))
        path->state |= PATH_IN_DOUBT;
    return path;
}

/* Finds the number of a datagram. If the peer has not received anything yet, the doubt ends here; most likely the peer
 * is not metered. */
static __noinline int number_datagram_sent(struct send_call *call, struct path *path,
                                           struct sock *sk, struct sock *receiver,
                                           const struct pair_key *key)
{
    struct pair_key reverse = {.socket = key->peer, .peer = key->socket};
    struct path *taken = bpf_map_lookup_elem(&pairs, &reverse);
    const uint32_t none = 0;

    if (!find_number(call, path, receiver, key->socket, taken == NULL ? &none : &taken->in) ||
        taken != NULL || begun < mark_generation)
        return 0;
    if (bpf_map_lookup_elem(&pairs, &reverse) != NULL) {
        call->numbered = 0; /* now it has received */
        return 0;
    }
    note_counted_ahead(path, sk, call->number);
    path->out = call->number;
    path->state &= ~PATH_IN_DOUBT;
    return 0;
}

/* On a datagram socket, known by its descriptor; `receiver` is the peer's. */
static __always_inline void begin_datagram(struct send_call *call, struct sock *receiver)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct pt_regs *registers = registers_of(task);
    struct sock *sk =
        socket_of_descriptor(task, sending_descriptor(call_of(task, registers), registers));
    struct pair_key key = {.peer = call->peer};
    /* spreads neighbours in memory */
    uint32_t place = (uint64_t)sk * 0x9e3779b97f4a7c15ull >> (64 - FIRST_SENDS_BITS);
    struct sends *first = &first_sends[place % FIRST_SENDS];
    struct path *path;

    if (sk == NULL)
        return;
    key.socket = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
    if (key.socket == 0) {
        call->first_sends = place + 1;
        begin_counted(call, first);
        return;
    }
    path = sending_pair(&key, call->begin);
    if (path == NULL)
        return;
    begin_counted(call, &path->sends);
    if (*(volatile uint32_t *)&first->visible != *(volatile uint32_t *)&first->ended)
        call->others++;
    if (path->state & PATH_IN_DOUBT)
        number_datagram_sent(call, path, sk, receiver, &key);
}

/* The same on a seqpacket socket, which has the receiver's queue to itself. */
static __always_inline void number_packet(struct send_call *call, struct path *path,
                                          struct sock *receiver)
{
    struct unix_sock *unix_socket = bpf_skc_to_unix_sock(receiver);
    struct sock *sender = unix_socket == NULL ? NULL : unix_socket->peer;
    struct taken nothing = {};
    struct taken *taken;
    uint64_t key;

    if (sender == NULL)
        return;
    key = bpf_get_socket_cookie(sender);
    taken = taken_noted(key, &nothing);
    if (taken != NULL)
        find_number(call, path, receiver, key, &taken->in);
}

/* A send to the socket `sk` begins; `path` is the sending socket's. A silent send may block for long, and be received
 * when others have started recording: then the counts are in doubt. A recording send without concurrent ones can end a
 * doubt. */
static __always_inline void look_for_doubt(struct stream *stream, struct path *path,
                                           struct sock *sk)
{
    struct unix_sock *receiver = bpf_skc_to_unix_sock(sk);
    struct sock *sender = receiver == NULL ? NULL : receiver->peer;
    struct sk_buff *last = plain_sock(sk)->sk_receive_queue.prev;
    bool in_doubt = (path->state & PATH_IN_DOUBT) != 0;
    struct taken nothing = {};
    struct taken *taken;

    if (sender == NULL || in_doubt == is_silent_now(stream))
        return;
    if (!in_doubt) {
        taken = taken_noted(bpf_get_socket_cookie(sender), &nothing);
        if (taken != NULL)
            begin_doubt(path, (uint64_t)sender, taken);
    } else if ((void *)last != (void *)&sk->sk_receive_queue) { /* it was not received already */
        end_doubt_of_sender(path, bpf_get_socket_cookie(sender), receiver, BPF_CORE_READ(last, len),
                            stream->send.begin);
    }
}

/* Bytes or messages in the queue of a UNIX socket's path, up to the offset `end`. */
static __always_inline uint32_t unix_queue_length(struct unix_sock *receiver, struct sock *sk,
                                                  const struct path *path, uint32_t end)
{
    struct sock *sender;
    struct taken *taken;
    uint64_t key;

    if (sk->sk_type != SOCK_STREAM)
        return sk->sk_receive_queue.qlen;
    if (bpf_core_field_exists(receiver->inq_len))
        return receiver->inq_len;
    sender = receiver->peer;
    if (sender == NULL)
        return 0;
    key = bpf_get_socket_cookie(sender);
    taken = bpf_map_lookup_elem(&incoming, &key);
    return end - (taken == NULL ? path->start_in : taken->in);
}

/* MESSAGEQUEUED of `bytes`, if the receiver's path is known. */
static __always_inline void unix_queued(const struct send_call *call, struct sock *sk,
                                        struct sk_buff *last, uint32_t bytes)
{
    struct unix_sock *receiver = bpf_skc_to_unix_sock(sk);
    struct queued queued = {.bytes = bytes};
    struct path *path, *senders;

    if (receiver == NULL)
        return;
    if (sk->sk_type == SOCK_DGRAM) {
        struct pair_key key = {.socket = call->peer,
                               .peer = BPF_CORE_READ(last, sk, __sk_common.skc_cookie.counter)};
        struct pair_key reverse = {.socket = key.peer, .peer = key.socket};

        path = bpf_map_lookup_elem(&pairs, &key);
        senders = bpf_map_lookup_elem(&pairs, &reverse);
    } else {
        path = bpf_sk_storage_get(&paths, sk, NULL, 0);
        senders = peer_noted(sk);
    }
    if (path == NULL || senders == NULL || path->number == 0)
        return;
    queued.path = path->number;
    queued.offset = call->numbered ? call->number : senders->out;
    if (sk->sk_type == SOCK_STREAM)
        queued.offset += call->out - queued.bytes;
    queued.queue = unix_queue_length(receiver, sk, path, queued.offset + bytes);
    write_queued(&queued);
}

/* A UNIX message of the stream has just entered its receiver's queue; runs in the sender's call. `sk` is the receiving
 * socket. */
static __always_inline int unix_visible(struct stream *stream, struct sock *sk)
{
    struct send_call *call = &stream->send;
    struct sk_buff *last;
    struct path *path;
    uint32_t bytes;

    if (call->socket == 0) {
        call->socket = (uint64_t)sk;
        call->begin = bpf_ktime_get_ns();
        call->peer = bpf_get_socket_cookie(sk);
        call->out = 0;
        call->done = 0;
        call->told = 0;
        call->path = 0;
        call->first = 0; /* a path that is not recorded yet begins there */
        call->seen = 0;
        call->first_sends = 0;
        call->numbered = 0;
        path = sk->sk_type == SOCK_DGRAM ? NULL : peer_noted(sk);
        if (path != NULL && sk->sk_type == SOCK_STREAM)
            look_for_doubt(stream, path, sk);
        if (path != NULL)
            begin_counted(call, &path->sends);
        else if (sk->sk_type == SOCK_DGRAM)
            begin_datagram(call, sk);
        if (path != NULL && sk->sk_type == SOCK_SEQPACKET && (path->state & PATH_IN_DOUBT))
            number_packet(call, path, sk);
        if (path != NULL && sk->sk_type == SOCK_STREAM &&
            wants(stream, EVENT_FLAG(EVENT_SENDCALL))) {
            call->path = path->number;
            call->first = path->out;
        }
    }
    /* Exact for one sender at a time; too small if the receiver has already taken it. */
    last = plain_sock(sk)->sk_receive_queue.prev;
    if ((void *)last == (void *)&sk->sk_receive_queue)
        return 0;
    bytes = call->page != 0 ? call->page : last->len;
    call->out += bytes;
    if (wants(stream, FLAGS_OF_QUEUE) && !is_silent_now(stream))
        unix_queued(call, sk, last, bytes);
    return 0;
}

#endif
