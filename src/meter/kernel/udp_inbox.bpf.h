/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * udp_inbox.bpf.h: UDP datagrams that arrive at a socket, and what becomes of them.
 *
 *      [arrives] ---> inbox: 0 1 2 3 ... ---> [sock_recv_length]   received by a call
 *                            |          '---> [kfree_skb, refused] the queue was full: dropped
 *                         received
 *
 * No hook shows what a receive call takes from its socket's queue. But a queue keeps its order: the n-th datagram
 * received is the n-th that arrived. Which call received it is certain as long as only one call receives at a time.
 */
#ifndef DPM_UDP_INBOX_BPF_H
#define DPM_UDP_INBOX_BPF_H

#include "meter/kernel/room.bpf.h"
#include "meter/kernel/udp.bpf.h"

/* ---- arriving ---- */

#define QUEUED_CHANGED (1ULL << 32)
#define LOOK_BACK      8 /* datagrams that may reach a queue while another is on its way there */

/* The number that the sender gave the datagram, if it was sent on this machine. */
static __always_inline bool number_of_flight(struct sk_buff *buffer, const struct packet *packet,
                                             const struct udp_key *key, uint32_t *number)
{
    uint64_t bytes = bytes_of(buffer);
    struct flight *flight = bpf_map_lookup_elem(&flights, &bytes);
    const uint64_t *here, *there;

    if (flight == NULL)
        return false;
    /* a datagram lost on the way leaves its entry to the next one with bytes at the same address */
    if (flight->bytes != packet->bytes ||
        (packet->identification != 0 && packet->identification != (uint16_t)flight->number))
        return false;
    if (flight->key.local_port != key->remote_port || flight->key.remote_port != key->local_port)
        return false;
    here = (const uint64_t *)key->local;
    there = (const uint64_t *)flight->key.remote;
    if (here[0] != there[0] || here[1] != there[1])
        return false;
    here = (const uint64_t *)key->remote;
    there = (const uint64_t *)flight->key.local;
    if (here[0] != there[0] || here[1] != there[1])
        return false;
    *number = flight->number;
    bpf_map_delete_elem(&flights, &bytes);
    return true;
}

static __always_inline struct served *served_by(uint64_t buffer)
{
    return &served[(buffer >> 8 ^ buffer >> (8 + SERVED_BITS)) & ((1 << SERVED_BITS) - 1)];
}

static __always_inline void note_last(const struct numbered_key *place, uint64_t buffer)
{
    uint32_t zero = 0;
    struct last_noted *last = bpf_map_lookup_elem(&last_noted, &zero);
    struct served *entry;

    if (last == NULL)
        return;
    last->place = *place;
    last->buffer = buffer;
    /* read again it is a number, with which the verifier permits arithmetic */
    entry = served_by(*(volatile uint64_t *)&last->buffer);
    entry->buffer = buffer;
    entry->number = place->number;
    entry->socket = place->socket;
}

/* A datagram is about to enter the queue of a socket with this cookie and storage. */
static __always_inline void datagram_comes(struct path *own, uint64_t cookie,
                                           struct sk_buff *buffer)
{
    struct numbered_key place = {.socket = cookie};
    struct datagram datagram = {};
    struct packet packet;
    struct path *path;

    read_packet(buffer, &packet);
    key_of_packet(&packet, cookie, false, &datagram.key);
    datagram.buffer = (uint64_t)buffer;
    datagram.bytes = packet.bytes;
    count_segments(&datagram, packet.segment);
    path = udp_path_noted(own, &datagram.key);
    if (path != NULL && number_of_flight(buffer, &packet, &datagram.key, &datagram.number)) {
        path->in = datagram.number + datagram.segments - 1;
        path->state |= PATH_KNOWS_IN;
    } else if (path != NULL) {
        datagram.number = next_number(path, &path->in, PATH_KNOWS_IN, &packet, datagram.segments);
    }
    datagram.processor = bpf_get_smp_processor_id();
    datagram.node = bpf_get_numa_node_id();
    __sync_fetch_and_add(&own->filling, 1);
    place.number = (uint32_t)__sync_fetch_and_add(&own->queued, QUEUED_CHANGED + 1);
    note_last(&place, datagram.buffer); /* before others can find it */
    /* if that fails, the datagram will not be known when it is received */
    bpf_map_update_elem(&inbox, &place, &datagram, BPF_ANY);
    __sync_fetch_and_add(&own->filling, -1);
}

/* The storage of a socket whose datagrams are noted; NULL: it is not such a socket. */
static __always_inline struct path *noting(struct path *own)
{
    return own == NULL || (own->state & PATH_INBOX) == 0 ? NULL : own;
}

SEC("fentry/__udp_enqueue_schedule_skb")
int BPF_PROG(udp_comes, struct sock *sk, struct sk_buff *buffer)
{
    struct path *own;

    if (!has_stored(sk))
        return 0;
    own = noting(bpf_sk_storage_get(&paths, sk, NULL, 0));
    if (own != NULL)
        datagram_comes(own, bpf_get_socket_cookie(sk), buffer);
    return 0;
}

SEC("cgroup_skb/ingress")
int udp_ingress(struct __sk_buff *context)
{
    struct bpf_sock *socket = context->sk;
    struct path *own;

    if (socket == NULL)
        return 1;
    socket = bpf_sk_fullsock(socket);
    if (socket == NULL || !is_udp(socket->protocol, socket->type))
        return 1;
    own = noting(bpf_sk_storage_get(&paths, socket, NULL, 0));
    if (own != NULL)
        datagram_comes(own, bpf_get_socket_cookie(context), bpf_cast_to_kern_ctx(context));
    return 1;
}

/* ---- refused ---- */

/* Marks a datagram as dropped (segments = 0). It was noted in `buffer` a moment ago, nearly always by this CPU. */
static __always_inline void strike_out(uint64_t cookie, uint32_t queued, uint64_t buffer)
{
    struct numbered_key place = {.socket = cookie};
    uint32_t zero = 0;
    struct last_noted *last = bpf_map_lookup_elem(&last_noted, &zero);

    if (last != NULL && last->buffer == buffer && last->place.socket == cookie) {
        struct datagram *datagram;

        place.number = last->place.number;
        datagram = bpf_map_lookup_elem(&inbox, &place);
        if (datagram != NULL && datagram->buffer == buffer) {
            datagram->segments = 0;
            return;
        }
    }
    for (uint32_t back = 1; back <= LOOK_BACK; back++) {
        struct datagram *datagram;

        place.number = (uint32_t)(queued - back);
        datagram = bpf_map_lookup_elem(&inbox, &place);
        if (datagram != NULL && datagram->buffer == buffer) {
            datagram->segments = 0;
            return;
        }
    }
}

/* Frees the indexes of dropped datagrams at the inbox's end, so that a queue that stays full leaves no long row of
 * them. An entry is deleted before its index is free for the next arrival. If that has arrived meanwhile, the index
 * stays unused. */
static __always_inline void give_back_places(struct path *own, uint64_t cookie)
{
    struct numbered_key place = {.socket = cookie};

    for (uint32_t i = 0; i < LOOK_BACK; i++) {
        uint64_t queued = *(volatile uint64_t *)&own->queued;
        struct datagram *last;

        place.number = (uint32_t)(queued - 1);
        last = bpf_map_lookup_elem(&inbox, &place);
        if (last == NULL ? *(volatile uint32_t *)&own->filling != 0
                         : last->segments != 0 || bpf_map_delete_elem(&inbox, &place) != 0)
            return;
        /* the first index may be taken meanwhile */
        if ((int32_t)((uint32_t)queued - own->taken) <= 1 ||
            __sync_val_compare_and_swap(&own->queued, queued, queued - 1 + QUEUED_CHANGED) !=
                queued)
            return;
    }
}

enum skb_drop_reason {
    SKB_DROP_REASON_SOCKET_RCVBUFF,
    SKB_DROP_REASON_PROTO_MEM,
};

/* Whether a datagram is dropped for lack of buffer space, and not by the receiver's filter or as damaged. */
static __always_inline bool lacks_space(unsigned int reason)
{
    return reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_SOCKET_RCVBUFF) ||
           reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_PROTO_MEM);
}

/* A datagram was noted, but its socket refuses it; `full`: for lack of space. */
static __always_inline void datagram_dropped(struct sock *receiver, struct sk_buff *buffer,
                                             bool full)
{
    struct path *own = noting(bpf_sk_storage_get(&paths, receiver, NULL, 0)), *path;
    struct udp_key key = {};
    struct packet packet;

    if (own == NULL)
        return;
    read_packet(buffer, &packet);
    key_of_packet(&packet, bpf_get_socket_cookie(receiver), false, &key);
    path = udp_path_noted(own, &key);
    if (path != NULL)
        __sync_fetch_and_add(full ? &path->dropped : &path->refused, 1);
    strike_out(key.socket, own->queued, (uint64_t)buffer);
    give_back_places(own, key.socket);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(kfree_skb, struct sk_buff *buffer, void *location, int reason, struct sock *receiver)
{
    if (receiver != NULL && receiver->sk_protocol == IPPROTO_UDP)
        datagram_dropped(receiver, buffer, lacks_space(reason));
    return 0;
}

/* For kernels whose tracepoint does not show the socket (before Linux 6.11). */
SEC("fexit/__udp_enqueue_schedule_skb")
int BPF_PROG(udp_refused, struct sock *receiver, struct sk_buff *buffer, int result)
{
    if (result < 0)
        datagram_dropped(receiver, buffer, true);
    return 0;
}

#endif
