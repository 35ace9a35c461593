/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * unseen.bpf.h: bytes that left a UNIX stream's queue without passing any hook: splice takes them.
 *
 *      out: what was sent
 *      |------------------------|------------------|------------------|
 *      received by calls          taken unseen       inq_len: queued
 *      |--- struct taken, in ---|
 *
 * The meter looks for them whenever one end is used, and once a second. A RECEIVE without a stream reports them, and
 * offsets are correct again from there on. A send in progress may be in the queue and not yet in `out`. Then fewer
 * bytes seem to be missing than are, never more, and the rest is reported later.
 *
 * While the counts are in doubt (doubt.bpf.h), what seems to be missing is subtracted from the sender's count.
 */
#ifndef DPM_UNSEEN_BPF_H
#define DPM_UNSEEN_BPF_H

#include "meter/kernel/doubt.bpf.h"

/* A sample of a sender's byte stream. */
struct look {
    uint32_t out;   /* bytes sent */
    uint32_t least; /* at least the bytes up to here have left the receiver's queue */
};

static __always_inline struct look look_at_queue(const struct path *sender,
                                                 struct unix_sock *receiver)
{
    struct look look = {.out =
                            *(volatile const uint32_t *)&sender->out}; /* read before the queue */

    look.least = look.out - *(volatile int *)&receiver->inq_len;
    return look;
}

/* Ends the doubt if everything counted as sent was received. Sends in progress may have queued bytes that are counted
 * now, and again when they end. */
static __always_inline void end_doubt_if_empty(struct path *sender, struct taken *taken,
                                               const struct look *look, uint32_t in)
{
    if ((sender->state & PATH_IN_DOUBT) && look->least == look->out && in == look->out)
        end_doubt(sender, taken, bpf_ktime_get_ns());
}

/* Counts the bytes before look->least as received; returns how many were uncounted. */
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

/* Looks for unseen bytes when a receive of [first, next) has ended. Most likely they precede it: returns by how much
 * the receive moves back. `key`: cookie of the sender. */
static __always_inline uint32_t unseen_before(struct path *sender, struct unix_sock *receiver,
                                              uint64_t key, uint32_t path, uint32_t first,
                                              uint32_t next)
{
    struct taken *taken;
    struct look look;
    uint32_t unseen, in = 0;

    /* an unmetered sender that is older than the metering may have had a call in progress when its positions were
     * settled */
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

/* Looks for unseen bytes of `sender`, the path of the socket with the cookie `key`, when nothing is received. Does
 * nothing for a receiver that no metered stream has used. */
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
