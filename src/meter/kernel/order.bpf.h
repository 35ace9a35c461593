/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * order.bpf.h: whether the sends on a UNIX socket are counted in the order in which they were queued.
 *
 *      thread a   queues ........ (its processor is taken away) ........ is counted: behind b's, overtaken
 *      thread b             queues, is counted
 *
 * The kernel queues a message with the queue locked, and the sender's hook runs when it is unlocked again. So a send is
 * counted in order if, when it is counted, nothing else is queued that is not: taken + queued = counted + this one. If not,
 * neither it nor those that are counted next are certain to be in order, up to the first one for which that holds: it is the
 * last of those that were out of step.
 *
 * While the count is in doubt it is mended by a message's place in the queue, and what has been queued and not counted is
 * counted ahead: when its own send is, less is queued than is counted, and it is not counted again.
 *
 * Nobody else can be in a call on a socket whose file nobody else holds: of most sockets that is all that is looked at.
 */
#ifndef DPM_ORDER_BPF_H
#define DPM_ORDER_BPF_H

#include "meter/kernel/number.bpf.h"

/* How many hold the file of a socket, which can be read from; 0: there is none. */
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

/* The same of a socket known by its address. */
static __always_inline uint64_t holders_at(struct sock *sk)
{
    struct file *file = BPF_CORE_READ(sk, sk_socket, file);

    if (file == NULL)
        return 0;
    if (bpf_core_field_exists(file->f_ref))
        return BPF_CORE_READ(file, f_ref.refcnt.counter) + 1;
    return BPF_CORE_READ((struct file___counted *)file, f_count.counter);
}

/* Whether another call on a socket than that of `task` may be in progress: it holds the file, where its descriptors are
 * those of several threads; else they hold it all the time, or nobody else does. */
static __always_inline bool is_shared(struct task_struct *task, uint64_t holders)
{
    struct files_struct *files;

    if (holders < 2)
        return false;
    files = plain_task(task)->files;
    return holders > 2 || files == NULL || files->count.counter == 1;
}

/* Before the count of a socket, known by its address, is mended by a message's place in the queue: what is queued before it
 * and not counted may be a send's that is in progress. */
static __always_inline void note_counted_ahead(struct path *path, struct sock *sk, uint32_t number)
{
    if ((int32_t)(number - path->out) > 0 && is_shared(bpf_get_current_task_btf(), holders_at(sk)))
        path->counted_ahead += number - path->out;
}

/* What has been sent, and is to be held to what is counted. */
struct order {
    struct path *path;     /* the sender's */
    struct sock *receiver; /* known by its address only */
    const uint32_t *in;    /* what is taken of it, NULL: nobody has taken anything */
    uint64_t sender;       /* cookie */
    uint32_t kind;
    uint32_t step;     /* what the send will count: bytes, or 1 message */
    int32_t uncounted; /* by how much more is queued than is counted ... */
    bool known;        /* ... if no receive was between its steps in one of the looks */
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
    uint32_t counted = *(volatile uint32_t *)&order->path->out + order->step; /* before the queue */
    bool taken = is_taken_from((struct unix_sock *)receiver);
    uint32_t before = *(volatile const uint32_t *)in;
    struct sk_buff *first = BPF_CORE_READ(receiver, sk_receive_queue.next);

    order->uncounted = before + queued_of(order) - counted;
    if (order->in == NULL && order->uncounted < 0)
        order->uncounted = 0; /* who takes them is not metered: no order is asked for */
    /* bytes are counted as taken before they leave the queue: a receive between its steps makes it more, never less */
    if (order->kind == PATH_UNIX_STREAM && order->uncounted == 0)
        return order->known = true;
    order->known = !taken && before == *(volatile const uint32_t *)in &&
                   first == BPF_CORE_READ(receiver, sk_receive_queue.next) &&
                   !is_taken_from((struct unix_sock *)receiver);
    return order->known;
}

/* A receive takes some microseconds, if it is not held up itself. (Then nothing is said: that one send is held up, and a
 * receive just when another send is counted, is too rare to put each send in doubt that meets a receive.) */
#define LOOKS_FOR_UNCOUNTED 100

/* Returns what is to be said of the send. */
static __noinline uint32_t hold_to_queue(struct path *path, struct order *order)
{
    bool overtaken = path->out_of_step;

    bpf_loop(LOOKS_FOR_UNCOUNTED, look_for_uncounted, order, 0);
    if (order->known)
        path->out_of_step = order->uncounted != 0;
    if (order->known && order->uncounted < 0 && path->counted_ahead != 0) {
        uint32_t again = -order->uncounted;

        path->counted_ahead -= again < path->counted_ahead ? again : path->counted_ahead;
        __sync_fetch_and_add(&path->out, order->uncounted);
        return RECORD_CONCURRENT | RECORD_OLDER;
    }
    return overtaken || path->out_of_step ? RECORD_CONCURRENT : 0;
}

/* A send is about to be counted: what is to be said of its place. `receiver`: address of the socket it was queued to; `step`:
 * what it will count. */
static __noinline uint32_t doubt_of_order(struct path *path, struct sock *sk,
                                          const struct send_call *call, uint64_t receiver,
                                          uint32_t step)
{
    uint32_t kind = kind_of_socket(AF_UNIX, sk->sk_type, 0);
    struct order order = {.path = path, .kind = kind, .step = step};
    struct pair_key reverse = {.socket = call->peer};

    if (receiver == 0 || (!path->out_of_step && path->counted_ahead == 0 &&
                          !is_shared(bpf_get_current_task_btf(), holders_of(plain_sock(sk)))))
        return 0;
    order.receiver = (struct sock *)receiver;
    order.sender = bpf_get_socket_cookie(sk);
    reverse.peer = order.sender;
    if (kind == PATH_UNIX_DATAGRAM) {
        struct path *taken = bpf_map_lookup_elem(&pairs, &reverse);

        order.in = taken == NULL ? NULL : &taken->in;
    } else {
        struct taken *taken = bpf_map_lookup_elem(&incoming, &order.sender);

        order.in = taken == NULL ? NULL : &taken->in;
    }
    if (kind == PATH_UNIX_STREAM &&
        !bpf_core_field_exists(((struct unix_sock *)order.receiver)->inq_len))
        return 0;
    return hold_to_queue(path, &order);
}

#endif
