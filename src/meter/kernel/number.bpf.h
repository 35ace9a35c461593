/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * number.bpf.h: finds the number of a UNIX datagram or packet that was just queued, from its position in the queue.
 *
 *      received |<- in ->|  a  b  a  b  a  <- the one just queued, from sender a
 *                           0     1     2     its number: in + 2
 *
 * Its RECEIVE will have the same number, whatever other calls are in progress. A sender looks while its own count is in
 * doubt (doubt.bpf.h); the result confirms the count or corrects it.
 */
#ifndef DPM_NUMBER_BPF_H
#define DPM_NUMBER_BPF_H

#include "meter/kernel/doubt.bpf.h"

struct queue_walk {
    struct sk_buff *next;
    uint64_t head;
    uint64_t socket;  /* cookie of the receiver ... */
    uint64_t address; /* ... and address of its socket */
    uint64_t sender;  /* cookie */
    uint32_t passed;  /* number of messages */
    uint32_t of_sender;
};

#define LONGEST_QUEUE 65536 /* messages; net.unix.max_dgram_qlen is usually 10 to 512 */

static __always_inline void begin_walk(struct queue_walk *walk, struct sock *receiver)
{
    walk->head = (uint64_t)__builtin_preserve_access_index(&receiver->sk_receive_queue);
    walk->next = BPF_CORE_READ(receiver, sk_receive_queue.next);
}

/* The sender of the next message (cookie; 0 = a socket that no metered process holds); false: there is none. */
static __always_inline bool next_message(struct queue_walk *walk, uint64_t *ret_sender)
{
    struct sk_buff *message = walk->next;

    if (message == NULL || (uint64_t)message == walk->head)
        return false;
    *ret_sender = BPF_CORE_READ(message, sk, __sk_common.skc_cookie.counter);
    walk->next = BPF_CORE_READ(message, next);
    walk->passed++;
    return true;
}

static long count_of_sender(uint32_t index, struct queue_walk *walk)
{
    uint64_t sender;

    if (!next_message(walk, &sender))
        return 1;
    walk->of_sender += sender == walk->sender;
    return 0;
}

/* Finds the number of the message that `call` has just queued, the last one of its sender (`cookie`), if it is still
 * queued and no receive is half done. `in`: how many of the sender's messages were received. `path`: the sender's. */
static __noinline bool look_for_number(struct send_call *call, struct path *path,
                                       struct sock *receiver, uint64_t cookie, const uint32_t *in)
{
    struct queue_walk walk = {.sender = cookie};
    uint64_t now = bpf_ktime_get_ns();
    bool taken = is_taken_from((struct unix_sock *)receiver);
    uint32_t before = *(volatile const uint32_t *)in;
    struct sk_buff *first;

    begin_walk(&walk, receiver);
    first = walk.next;
    bpf_loop(LONGEST_QUEUE, count_of_sender, &walk, 0);
    if (taken || walk.of_sender == 0 || before != *(volatile const uint32_t *)in ||
        first != BPF_CORE_READ(receiver, sk_receive_queue.next) ||
        is_taken_from((struct unix_sock *)receiver))
        return false;
    call->number = before + walk.of_sender - 1;
    call->numbered = 1;
    path->settled = now;
    return true;
}

/* Tries twice: a receive in progress does not take long. */
static __always_inline bool find_number(struct send_call *call, struct path *path,
                                        struct sock *receiver, uint64_t cookie, const uint32_t *in)
{
    return look_for_number(call, path, receiver, cookie, in) ||
           look_for_number(call, path, receiver, cookie, in);
}

#endif
