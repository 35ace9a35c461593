/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * unseen.bpf.h: bytes that left a UNIX stream's queue without any hook having run: splice takes them.
 *
 *      out, what was sent
 *      |------------------------|------------------|------------------|
 *      what receives have taken   taken unseen       inq_len, queued
 *      |--- struct taken, in ---|
 *
 * They are looked for whenever one end is used, and once a second; a RECEIVE that belongs to no
 * stream tells of them, and offsets are right again from there on. A send in progress may be in
 * the queue and not yet in `out`: then fewer seem to be missing than are, and the rest is told
 * later; never more.
 *
 * What a stream older than the metering has sent is counted from where its positions were settled
 * (settle.bpf.h), and if several were sending then, too much may be counted; and what a send in progress had
 * queued before may be received before anything of that send is told. Until no such send is left, and the counts
 * were once seen to agree, records say that their positions are in doubt, and what seems to be missing is taken
 * from the count.
 */
#ifndef DPM_UNSEEN_BPF_H
#define DPM_UNSEEN_BPF_H

#include "meter/call.bpf.h"

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
    if (sent.taken != NULL)
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

/* A look at the stream of bytes of a sender. */
struct look {
    uint32_t out;   /* what it has sent */
    uint32_t least; /* up to where, at least, its bytes have left the receiver's queue */
};

static __always_inline struct look look_at_queue(const struct path *sender,
                                                 struct unix_sock *receiver)
{
    struct look look = {.out = *(volatile const uint32_t *)&sender->out}; /* before the queue */

    look.least = look.out - *(volatile int *)&receiver->inq_len;
    return look;
}

/* What sends still in progress have queued is counted now; they count again when they end. */
static __always_inline void end_doubt_if_empty(struct path *sender, struct taken *taken,
                                               const struct look *look, uint32_t in)
{
    if ((sender->state & PATH_IN_DOUBT) && look->least == look->out && in == look->out)
        end_doubt(sender, taken, bpf_ktime_get_ns());
}

/* Counts the bytes before look->least as taken; returns how many nobody had counted. */
static __always_inline uint32_t claim_unseen(struct path *sender, struct taken *taken,
                                             const struct look *look, uint32_t *ret_in)
{
    uint32_t in = *(volatile uint32_t *)&taken->in;
    uint32_t unseen = look->least - in;

    end_doubt_if_empty(sender, taken, look, in);
    if ((int32_t)unseen <= 0)
        return 0;
    if (sender->state & PATH_IN_DOUBT) {
        if (__sync_val_compare_and_swap(&sender->out, look->out, look->out - unseen) == look->out)
            __sync_fetch_and_add(&resettled, 1);
        return 0;
    }
    if (__sync_val_compare_and_swap(&taken->in, in, look->least) != in)
        return 0;
    *ret_in = in;
    return unseen;
}

/* Looks for unseen bytes when a receive of [first, next) has ended. Most likely they were before
 * it: returns by how much it then stands later. `key`: cookie of the sender. */
static __always_inline uint32_t unseen_before(struct path *sender, struct unix_sock *receiver,
                                              uint64_t key, uint32_t path, uint32_t first,
                                              uint32_t next)
{
    struct taken *taken;
    struct look look;
    uint32_t unseen, in = 0;

    /* of a sender that is older than the metering and not metered, a call may have been in progress
     * when its positions were settled */
    if (!bpf_core_field_exists(receiver->inq_len) ||
        ((sender->state & PATH_SETTLED) && sender->number == 0))
        return 0;
    look = look_at_queue(sender, receiver);
    if ((int32_t)(look.least - next) <= 0 && (sender->state & PATH_IN_DOUBT) == 0)
        return 0;
    taken = bpf_map_lookup_elem(&incoming, &key);
    if (taken == NULL)
        return 0;
    end_doubt_if_empty(sender, taken, &look, next);
    if ((int32_t)(look.least - next) <= 0)
        return 0;
    unseen = claim_unseen(sender, taken, &look, &in);
    if (unseen == 0)
        return 0;
    write_unseen(EVENT_RECEIVE, path, in == next ? first : in, unseen);
    return in == next ? unseen : 0;
}

/* Looks for unseen bytes of `sender`, the path of the socket with the cookie `key`, where nothing is
 * received. Of a receiver that no metered stream has used nothing is known, nor told. */
static __always_inline void look_for_unseen(struct path *sender, uint64_t key, struct sock *peer)
{
    struct unix_sock *receiver = bpf_skc_to_unix_sock(peer);
    struct taken *taken, nothing = {};
    struct path *path;
    struct look look;
    uint32_t unseen, in = 0;

    if (receiver == NULL || !bpf_core_field_exists(receiver->inq_len) ||
        (flags_in_force & FLAGS_OF_RECEIVE) == 0)
        return;
    look = look_at_queue(sender, receiver);
    if ((int32_t)(look.least - sender->seen_out) <= 0)
        return;
    path = bpf_sk_storage_get(&paths, peer, NULL, 0);
    if (path == NULL || path->number == 0)
        return;
    nothing.path = path->number;
    taken = taken_noted(key, &nothing);
    if (taken == NULL)
        return;
    unseen = claim_unseen(sender, taken, &look, &in);
    if (unseen != 0)
        write_unseen(EVENT_RECEIVE, path->number, in, unseen);
    sender->seen_out = taken->in;
}

#endif
