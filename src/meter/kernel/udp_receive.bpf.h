/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* udp_receive.bpf.h: RECEIVE of UDP datagrams, and datagrams that unmetered streams receive. */
#ifndef DPM_UDP_RECEIVE_BPF_H
#define DPM_UDP_RECEIVE_BPF_H

#include "meter/kernel/call.bpf.h"
#include "meter/kernel/udp_taken.bpf.h"

/* A caller that asks for the true length (MSG_TRUNC) gets it as the call's result. */
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

static __noinline int take_received(struct stream *stream, struct path *own, struct sock *sk,
                                    int result, int flags)
{
    struct taker *taker = &stream->scratch.taker;

    *taker = (struct taker){
        .sk = sk,
        .socket = bpf_get_socket_cookie(sk),
        .idle_at = stream->idle_at,
        .stream = stream->number,
        .result = result,
        .message_number = stream->receive_many.count - 1,
        .length = flags & MSG_TRUNC ? LENGTH_TRUE : LENGTH_HANDED,
    };
    return take_datagram(own, taker, &stream->datagram);
}

static __noinline int udp_received(struct stream *stream, struct task_struct *task, struct sock *sk,
                                   int result, int flags)
{
    struct path *own = storage_of(sk), *path;
    struct datagram *datagram = &stream->datagram;
    struct message *message = &stream->scratch.message;
    enum taking taking;

    if (own == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        miss_messages(stream, EVENT_RECEIVE, METER_UDP, 1);
        return 0;
    }
    *message = (struct message){};
    taking = take_received(stream, own, sk, result, flags);
    stream->idle_at = bpf_ktime_get_ns();
    if (taking != TAKING_KNOWN) {
        /* it arrived before the inbox was opened; or is unknown; or there is none, because the socket is shut down */
        if (result > 0 && taking == TAKING_NOTHING && (own->state & PATH_INBOX)) {
            __sync_fetch_and_add(&lost_datagrams, 1);
            message->flags = RECORD_CONCURRENT;
        }
        __builtin_memset(datagram, 0, sizeof(*datagram));
        datagram->segments = 1;
        key_of_socket(&datagram->key, sk, bpf_get_socket_cookie(sk));
        if (result == 0 && taking == TAKING_NOTHING && (own->state & PATH_INBOX))
            message->flags = RECORD_END_OF_FILE;
        open_inbox(own, sk);
    } else if (datagram->doubtful) {
        message->flags = RECORD_CONCURRENT;
    }
    if (!stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message->flags |= RECORD_CALL_IMPLIED;
    stream->receivecall = 0;
    path = udp_path(stream, own, sk, &datagram->key);
    if (path == NULL) {
        miss_messages(stream, EVENT_RECEIVE, METER_UDP, datagram->segments);
        return 0;
    }
    if (path->dropped + path->refused != path->told &&
        bpf_ktime_get_ns() - path->told_at > DROPPED_INTERVAL)
        tell_dropped(path, sk, &datagram->key);
    message->path = path->number;
    write_datagrams(stream, EVENT_RECEIVE, message, bytes_handed(stream, task, result, flags));
    return 0;
}

/* Accounts for a datagram that an unmetered stream received from a known queue, or that was received but could not be
 * copied to the program's buffer. */
static __noinline int udp_passed_over(struct sock *sk, int result, int flags)
{
    struct path *own = bpf_sk_storage_get(&paths, sk, NULL, 0);
    struct taker taker = {
        .sk = sk, .result = result, .length = LENGTH_UNKNOWN, .stream = SEVERAL_TAKERS};
    struct datagram datagram = {};

    if (own == NULL || (own->state & PATH_INBOX) == 0 || (flags & (MSG_PEEK | MSG_ERRQUEUE)) ||
        (result < 0 && result != -EFAULT))
        return 0;
    taker.socket = bpf_get_socket_cookie(sk);
    take_datagram(own, &taker, &datagram);
    return 0;
}

#endif
