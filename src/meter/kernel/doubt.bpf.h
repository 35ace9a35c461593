/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * doubt.bpf.h: counts of a UNIX socket's messages that may be wrong, because calls were in progress of which nothing was
 * told when the metering began.
 *
 *      older sends    marked in a call: what they had queued may be received before anything of them is told
 *      silent sends   begun since, and blocked before anything is told at all
 *      settled        several may have been sending then: too much may be counted
 *
 *      in doubt ----> no such send in progress, and taken + queued = sent ----> certain
 *
 * In doubt SENDs and RECEIVEs of a stream of bytes are RECORD_OLDER, and so are SENDs of a datagram or packet, which is
 * queued whole and looked for there: number.bpf.h.
 */
#ifndef DPM_DOUBT_BPF_H
#define DPM_DOUBT_BPF_H

#include "meter/kernel/call.bpf.h"

/* Bytes or messages in the receive queue. */
static __always_inline uint32_t queued_in(struct unix_sock *receiver, uint32_t kind)
{
    if (kind == PATH_UNIX_STREAM)
        return bpf_core_field_exists(receiver->inq_len) ? BPF_CORE_READ(receiver, inq_len) : 0;
    return BPF_CORE_READ((struct sock *)receiver, sk_receive_queue.qlen);
}

/* Whether a receiver is between the steps of its call: taken, and not out of the queue yet. `receiver`
 * may be known by its address only. */
static __always_inline bool is_taken_from(struct unix_sock *receiver)
{
    return bpf_core_field_exists(receiver->iolock.owner.counter) &&
           BPF_CORE_READ(receiver, iolock.owner.counter) != 0;
}

#define LOOKS_FOR_END 1000

struct end_of_sent {
    struct taken *taken;
    struct unix_sock *receiver;
    uint32_t kind;
    uint32_t end;
};

/* A receiver between its steps makes it seem to be more: so it is the least of many looks, or what
 * is seen while there is none. */
static long look_for_end(uint32_t index, struct end_of_sent *sent)
{
    bool taken_from = is_taken_from(sent->receiver);
    uint32_t before = *(volatile uint32_t *)&sent->taken->in;
    uint32_t queued = queued_in(sent->receiver, sent->kind);
    uint32_t in = *(volatile uint32_t *)&sent->taken->in;

    if ((int32_t)(queued + in - sent->end) < 0)
        sent->end = queued + in;
    return !taken_from && before == in && !is_taken_from(sent->receiver);
}

/* The counts of the bytes that a socket sends may be wrong from now on, and its records say so. */
static __always_inline void begin_doubt(struct path *sender, uint64_t socket, struct taken *taken)
{
    sender->socket = socket;
    sender->state |= PATH_IN_DOUBT;
    taken->doubt = RECORD_OLDER;
}

/* They are right, `taken` as well as what is sent, unless a send is in progress of which nothing has been told: it is
 * older, or may yet begin and block before anything is told at all. */
static __always_inline void end_doubt(struct path *sender, struct taken *taken, uint64_t when)
{
    uint64_t socket = sender->socket;
    uint32_t *older = bpf_map_lookup_elem(&older_sends, &socket);

    if (begun < mark_generation || (older != NULL && *(volatile uint32_t *)older != 0))
        return;
    sender->state &= ~PATH_IN_DOUBT;
    sender->settled = when;
    taken->doubt = 0;
}

/* A send of [first, first + bytes) that was in progress when its path's positions were settled ends:
 * part of it had been counted already, as queued. Returns `first`, and counts on from its end: that
 * is what has been taken and what is queued. What a send begun since has queued is in it, and counts
 * once more when that ends: hence the doubt. */
static __always_inline uint32_t count_again(struct path *path, struct sock *sk, uint32_t kind,
                                            uint32_t bytes)
{
    struct unix_sock *own = bpf_skc_to_unix_sock(sk);
    uint64_t key = bpf_get_socket_cookie(sk);
    struct sock *peer = own == NULL ? NULL : own->peer;
    struct end_of_sent sent = {.kind = kind, .end = path->out + bytes};

    sent.taken = bpf_map_lookup_elem(&incoming, &key);
    sent.receiver = (struct unix_sock *)peer;
    if (sent.taken != NULL && sent.receiver != NULL)
        bpf_loop(LOOKS_FOR_END, look_for_end, &sent, 0);
    path->out = sent.end;
    if (kind == PATH_UNIX_STREAM && sent.taken != NULL)
        begin_doubt(path, (uint64_t)sk, sent.taken);
    return sent.end - bytes;
}

/* A send in doubt has ended, or begins, and the first `uncounted` bytes of it are queued. If no other is in progress,
 * and no receive is between its steps, the counts can be held to each other. */
static __always_inline void end_doubt_of_sender(struct path *path, uint64_t key,
                                                struct unix_sock *receiver, uint32_t uncounted,
                                                uint64_t when)
{
    struct taken *taken = bpf_map_lookup_elem(&incoming, &key);
    bool taken_from = is_taken_from(receiver);
    uint32_t in, queued;

    if (taken == NULL || taken_from ||
        *(volatile uint32_t *)&path->sends.visible != *(volatile uint32_t *)&path->sends.ended)
        return;
    in = *(volatile uint32_t *)&taken->in;
    queued = queued_in(receiver, PATH_UNIX_STREAM) - uncounted;
    if (in + queued == path->out && in == *(volatile uint32_t *)&taken->in &&
        !is_taken_from(receiver))
        end_doubt(path, taken, when);
}

#endif
