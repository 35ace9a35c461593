/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * queue.bpf.h: MESSAGEQUEUED of TCP and UDP: data that has entered a receiver's queue. For UNIX sockets this is the
 * beginning of a SEND, and the sender's own call records it (unix_send.bpf.h).
 *
 *      TCP   received |--- in the queue ---| brought by this segment and those it joined |
 *                                          ^ path->arrived                       rcv_nxt ^
 *      UDP   inbox: received ... announced ... in the queue | on their way to it
 *
 * The hook runs in interrupts, and in any task. The record belongs to the path of the receiving socket. If that has no
 * PATH record yet (a connection that waits to be accepted), PATH is made now.
 */
#ifndef DPM_QUEUE_BPF_H
#define DPM_QUEUE_BPF_H

#include "meter/kernel/receive.bpf.h"
#include "meter/kernel/udp_taken.bpf.h"
#include "meter/kernel/unix_send.bpf.h"

/* Nothing can be recorded for a path whose own record was lost. */
static __always_inline void tell_queued(const struct queued *queued)
{
    if (queued->path != 0)
        write_queued(queued);
    else
        count_lost(NULL, RING_DATA);
}

/* A path is recorded here from its connection's beginning; if that was not seen, only from its first use. */
static __always_inline bool may_be_told(const struct path *path)
{
    return path->number != 0 ||
           ((path->state & PATH_ESTABLISHED) != 0 && path->established >= begun_at);
}

static __always_inline void tcp_queued(struct path *path, struct sock *sk)
{
    struct tcp_sock *tcp = plain_tcp_sock(sk);
    struct queued queued = {};
    uint32_t next;

    if (tcp == NULL || sk->__sk_common.skc_state == TCP_LISTEN ||
        (path->state & PATH_ARRIVING) == 0)
        return;
    /* the end of the stream also has a sequence number, but is not a byte */
    next = tcp->rcv_nxt - ((sk->sk_shutdown & RCV_SHUTDOWN) != 0);
    if ((int32_t)(next - path->arrived) <= 0)
        return;
    queued.offset = path->arrived;
    queued.bytes = next - path->arrived;
    queued.queue = next - tcp->copied_seq;
    path->arrived = next;
    if (!may_be_told(path))
        return;
    queued.path = path->number != 0 ? path->number : make_tcp_path(NULL, path, sk);
    tell_queued(&queued);
}

/* ---- UDP ---- */

#define MOST_ANNOUNCED 64 /* datagrams that arrive together */

struct announcing {
    struct path *own;
    struct sock *sk;
    uint64_t socket; /* cookie */
};

static __always_inline uint32_t udp_path_ahead(struct announcing *announcing, struct path *path,
                                               const struct udp_key *key)
{
    struct scratch *scratch = scratch_of(NULL);

    if (path->number != 0 || scratch == NULL)
        return path->number;
    udp_facts(&scratch->facts, announcing->sk, key);
    return make_path(NULL, path, &scratch->facts, key);
}

static long announce(uint32_t index, struct announcing *announcing)
{
    struct path *own = announcing->own;
    uint32_t number = *(volatile uint32_t *)&own->announced;
    struct numbered_key place = {.socket = announcing->socket, .number = number};
    struct sock *sk = announcing->sk;
    struct udp_sock *udp = (struct udp_sock *)sk;
    struct datagram *datagram;
    struct queued queued = {};
    struct path *path;

    if ((int32_t)((uint32_t)own->queued - number) <= 0)
        return 1;
    datagram = bpf_map_lookup_elem(&inbox, &place);
    if (datagram != NULL && datagram->segments != 0 && is_on_its_way(datagram))
        return 1;
    if (__sync_val_compare_and_swap(&own->announced, number, number + 1) != number)
        return 0; /* another CPU records it */
    if (datagram == NULL || datagram->segments == 0)
        return 0; /* dropped, or received already */
    path = bpf_map_lookup_elem(&udp_paths, &datagram->key);
    if (path == NULL)
        return 0; /* there was no memory to note it, which was counted */
    queued.path = udp_path_ahead(announcing, path, &datagram->key);
    queued.offset = datagram->number;
    queued.bytes = datagram->bytes;
    queued.queue = BPF_CORE_READ(sk, sk_receive_queue.qlen) + BPF_CORE_READ(udp, reader_queue.qlen);
    tell_queued(&queued);
    return 0;
}

static __always_inline void udp_queued(struct path *own, struct sock *sk)
{
    struct announcing announcing = {.own = own, .sk = sk};
    uint32_t announced = *(volatile uint32_t *)&own->announced, taken = own->taken;

    if ((own->state & PATH_INBOX) == 0)
        return;
    announcing.socket = bpf_get_socket_cookie(sk);
    if ((int32_t)(taken - announced) > 0)
        __sync_val_compare_and_swap(&own->announced, announced, taken);
    bpf_loop(MOST_ANNOUNCED, announce, &announcing, 0);
}

static __always_inline int internet_queued(struct sock *sk)
{
    struct path *path;

    if (begun < mark_generation || !has_stored(sk))
        return 0;
    path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    if (path == NULL)
        return 0;
    if (sk->sk_protocol == IPPROTO_TCP)
        tcp_queued(path, sk);
    else if (sk->sk_protocol == IPPROTO_UDP)
        udp_queued(path, sk);
    return 0;
}

/* Data has just entered the queue of `sk`. */
static __always_inline int is_queued(struct sock *sk)
{
    struct stream *stream;

    if (sk->__sk_common.skc_family != AF_UNIX)
        return flags_in_force & FLAGS_OF_QUEUE ? internet_queued(sk) : 0;
    if (sk->__sk_common.skc_state == TCP_LISTEN || (kinds_in_force & METER_UNIX) == 0)
        return 0;
    stream = stream_of(bpf_get_current_task_btf());
    return stream != NULL && wants(stream, FLAGS_OF_UNIX_SEND) ? unix_visible(stream, sk) : 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(sk_data_ready, struct sock *sk)
{
    return is_queued(sk);
}

/* The same before Linux 6.3. */
SEC("fentry/sock_def_readable")
int BPF_PROG(sock_readable, struct sock *sk)
{
    return is_queued(sk);
}

#endif
