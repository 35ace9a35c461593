/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * order.bpf.h: whether the sends on a UNIX socket are counted in the order in which they were queued.
 *
 *      thread a   queues ........ (preempted) ........ is counted, behind b: overtaken
 *      thread b             queues, is counted
 *
 * The kernel queues a message while the queue is locked; the sender's hook runs after the unlock. A send is counted in
 * order if no other message is queued but uncounted at that time: received + queued = counted + this one. For example,
 * with 10 messages counted and received, a and b queue one each. When b is counted, 10 + 2 differs from 10 + 1. When a
 * is counted, 10 + 2 = 11 + 1. If the sums differ, neither this send nor the following ones are certain to be in order,
 * up to and including the first send for which the sums agree: that is the last one out of step.
 *
 * While the count is in doubt, a message's position in the queue corrects it. Messages that are queued but not counted
 * are then counted ahead. When their own sends are counted, fewer messages are queued than counted, and these sends are
 * not counted again.
 *
 * No other call can be in progress on a socket whose file has only one holder. For most sockets nothing else is
 * checked.
 */
#ifndef DPM_ORDER_BPF_H
#define DPM_ORDER_BPF_H

#include "meter/kernel/number.bpf.h"

/* Number of holders of the file of a socket that may be read directly; 0: it has no file. */
static __always_inline uint64_t holders_of(struct sock *sk)
{
    struct socket *socket = sk->sk_socket;
    struct file *file = socket == NULL ? NULL : socket->file;

    if (file == NULL)
        return 0;
    if (bpf_core_field_exists(file->f_ref))
        return file->f_ref.refcnt.counter + 1;
    return ((struct file___counted *)file)->f_count.counter;
}

/* The same for a socket known by address. */
static __always_inline uint64_t holders_at(struct sock *sk)
{
    struct file *file = BPF_CORE_READ(sk, sk_socket, file);

    if (file == NULL)
        return 0;
    if (bpf_core_field_exists(file->f_ref))
        return BPF_CORE_READ(file, f_ref.refcnt.counter) + 1;
    return BPF_CORE_READ((struct file___counted *)file, f_count.counter);
}

/* Whether another call than that of `task` may be in progress on a socket. A call in progress holds the file only if
 * several threads share the descriptors; otherwise only the descriptors hold it. */
static __always_inline bool is_shared(struct task_struct *task, uint64_t holders)
{
    struct files_struct *files;

    if (holders < 2)
        return false;
    files = plain_task(task)->files;
    return holders > 2 || files == NULL || files->count.counter == 1;
}

/* Call it before a socket's count is corrected by a message's position in the queue. Uncounted messages queued before
 * it may belong to a send in progress. The socket is known by address. */
static __always_inline void note_counted_ahead(struct path *path, struct sock *sk, uint32_t number)
{
    if ((int32_t)(number - path->out) > 0 && is_shared(bpf_get_current_task_btf(), holders_at(sk)))
        path->counted_ahead += number - path->out;
}

/* A send, and the queue to compare its count with. */
struct order {
    struct path *path;     /* the sender's */
    struct sock *receiver; /* known only by address */
    const uint32_t *in;    /* what was received from it, NULL: nothing was */
    uint64_t sender;       /* cookie */
    uint32_t kind;
    uint32_t step;     /* what the send will count: bytes, or 1 message */
    int32_t uncounted; /* how much more is queued than counted ... */
    bool known;        /* ... valid if no receive was half done during one sample */
};

static __always_inline uint32_t queued_of(const struct order *order)
{
    struct queue_walk walk = {.sender = order->sender};

    if (order->kind != PATH_UNIX_DATAGRAM)
        return queued_in((struct unix_sock *)order->receiver, order->kind);
    begin_walk(&walk, order->receiver);
    bpf_loop(LONGEST_QUEUE, count_of_sender, &walk, 0);
    return walk.of_sender;
}

static long look_for_uncounted(uint32_t index, struct order *order)
{
    const uint32_t none = 0;
    const uint32_t *in = order->in == NULL ? &none : order->in;
    struct sock *receiver = order->receiver;
    uint32_t counted = *(volatile uint32_t *)&order->path->out + order->step; /* read first */
    bool taken = is_taken_from((struct unix_sock *)receiver);
    uint32_t before = *(volatile const uint32_t *)in;
    struct sk_buff *first = BPF_CORE_READ(receiver, sk_receive_queue.next);

    order->uncounted = before + queued_of(order) - counted;
    if (order->in == NULL && order->uncounted < 0)
        order->uncounted = 0; /* an unmetered receiver takes them: their order does not matter */
    /* bytes count as received before they leave the queue, so a half-done receive can only make the result larger */
    if (order->kind == PATH_UNIX_STREAM && order->uncounted == 0)
        return order->known = true;
    order->known = !taken && before == *(volatile const uint32_t *)in &&
                   first == BPF_CORE_READ(receiver, sk_receive_queue.next) &&
                   !is_taken_from((struct unix_sock *)receiver);
    return order->known;
}

/* A receive takes some microseconds unless it is held up. If it is held up longer, nothing is flagged: a held-up send
 * that coincides with a receive while another send is counted is too rare to doubt every send that meets a receive. */
#define LOOKS_FOR_UNCOUNTED 100

/* Compares the count of a send, that is about to be counted, with the queue of `receiver` (an address). `sender`: cookie.
 * `step`: what it will count. Returns its record flags. (Not static: the verifier takes long for it.) */
__noinline uint32_t hold_to_queue(struct path *path, const struct send_call *call,
                                  uint64_t receiver, uint64_t sender, uint32_t step)
{
    struct sock *queue = (struct sock *)receiver;
    struct order order = {.path = path, .receiver = queue, .sender = sender, .step = step};
    bool overtaken;

    if (path == NULL || call == NULL)
        return 0;
    order.kind = kind_of_socket(AF_UNIX, BPF_CORE_READ(queue, sk_type), 0);
    if (order.kind == PATH_UNIX_DATAGRAM) {
        struct pair_key reverse = {.socket = call->peer, .peer = sender};
        struct path *taken = bpf_map_lookup_elem(&pairs, &reverse);

        order.in = taken == NULL ? NULL : &taken->in;
    } else {
        struct taken *taken = bpf_map_lookup_elem(&incoming, &sender);

        order.in = taken == NULL ? NULL : &taken->in;
    }
    overtaken = path->out_of_step;
    bpf_loop(LOOKS_FOR_UNCOUNTED, look_for_uncounted, &order, 0);
    if (order.known)
        path->out_of_step = order.uncounted != 0;
    if (order.known && order.uncounted < 0 && path->counted_ahead != 0) {
        uint32_t again = -order.uncounted;

        path->counted_ahead -= again < path->counted_ahead ? again : path->counted_ahead;
        __sync_fetch_and_add(&path->out, order.uncounted);
        return RECORD_CONCURRENT | RECORD_OLDER;
    }
    return overtaken || path->out_of_step ? RECORD_CONCURRENT : 0;
}

/* Returns the record flags for a send that is about to be counted. `receiver`: address of the socket it was queued to.
 * `step`: what it will count. */
static __always_inline uint32_t doubt_of_order(struct path *path, struct sock *sk,
                                               const struct send_call *call, uint64_t receiver,
                                               uint32_t step)
{
    bool follows = bpf_core_field_exists(((struct unix_sock *)sk)->inq_len);

    if (receiver == 0 || (!path->out_of_step && path->counted_ahead == 0 &&
                          !is_shared(bpf_get_current_task_btf(), holders_of(plain_sock(sk)))))
        return 0;
    if (sk->sk_type == SOCK_STREAM && !follows)
        return 0;
    return hold_to_queue(path, call, receiver, bpf_get_socket_cookie(sk), step);
}

#endif
