/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * doubt.bpf.h: counts of a UNIX socket's messages that may be wrong, because calls were in progress when the metering
 * began, and those are not recorded.
 *
 *      older sends     in progress at the mark: their queued bytes may be received before any record of them
 *      silent sends    begun since, and blocked before recording started
 *      settled         several threads may have been sending at that time: too much may be counted
 *
 *      in doubt ----> no such send in progress, and received + queued = sent ----> certain
 *
 * While in doubt, SENDs and RECEIVEs of a byte stream are flagged RECORD_OLDER. A datagram or packet is queued whole,
 * so its sender looks for it in the queue (number.bpf.h); its SEND is flagged unless that confirms the count.
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

/* Whether a receive is half done: data taken, but not yet removed from the queue. `receiver` may be known only by
 * address. */
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

/* A half-done receive makes the end seem too large. The result is therefore the least of many samples, or the first one
 * during which no receive was half done. */
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

/* The count of bytes that a socket sends may be wrong from now on, and its records are flagged. */
static __always_inline void begin_doubt(struct path *sender, uint64_t socket, struct taken *taken)
{
    sender->socket = socket;
    sender->state |= PATH_IN_DOUBT;
    taken->doubt = RECORD_OLDER;
}

/* Both counts, `taken` and what is sent, are right, unless an unrecorded send is in progress: one that is older, or one
 * that may yet begin and block before recording starts. */
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

/* Counts a send of `bytes` that was in progress when its path's positions were settled, and now ends. Part of it is
 * counted already, as queued. The end of the send is therefore what was received plus what is queued:
 *
 *      100 bytes sent from offset 1000 on
 *      settled after 30 bytes      received 1000 + queued 30 = out 1030
 *      at the end of the send      received 1060 + queued 40 = out 1100, not 1030 + 100
 *
 * Returns the offset of its first byte. Bytes that a later send has queued meanwhile are included, and are counted
 * again when that send ends; hence the doubt. */
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

/* A send in doubt ends, or begins with `uncounted` bytes queued. If no other send is in progress and no receive is half
 * done, the two counts can be compared. */
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
