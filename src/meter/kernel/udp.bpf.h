/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * udp.bpf.h: UDP datagrams: the contents of their packets, their numbers, and how they leave. Arrival is in
 * udp_inbox.bpf.h.
 *
 *      sendto ... [leaves] ... sock_send_length        [arrives] ... sock_recv_length ... recvfrom
 *                    |   '--> SEND                        |  '------------.   '--> RECEIVE
 *                    '------- flights: bytes, number -----'--> inbox: 0 1 2 3 ...
 *
 * The packet hooks are at the entry of kernel functions (ip_send_skb, ip6_send_skb, __udp_enqueue_schedule_skb). If the
 * kernel refuses trampolines, they are programs of the root control group, which TCP's packets also pass. A datagram
 * leaves in the send call that releases it, before it is fragmented or waits for a neighbour's address. It arrives when
 * it is about to enter a socket's queue.
 *
 * A datagram's number is its IP identification, extended beyond 16 bits, if the packet has one (IPv4), else a count.
 * Both ends of a path find the same number, because both look at the same packets. On one machine the sender's number
 * is passed on with the buffer, so that it agrees even if datagrams were lost in between.
 */
#ifndef DPM_UDP_BPF_H
#define DPM_UDP_BPF_H

#include "meter/kernel/call.bpf.h"

#define FLAGS_OF_UDP (FLAGS_OF_SEND | FLAGS_OF_RECEIVE | FLAGS_OF_QUEUE)

extern void *bpf_cast_to_kern_ctx(void *context) __ksym __weak;

/* ---- contents of a packet ---- */

struct packet {
    uint32_t family;
    uint16_t identification;
    uint16_t source_port;
    uint16_t destination_port;
    uint8_t source[16];
    uint8_t destination[16];
    uint32_t bytes;   /* payload */
    uint16_t segment; /* bytes of each datagram in the buffer but the last; 0 = only one */
};

struct ip4_header {
    uint8_t version;
    uint8_t service;
    __be16 length;
    __be16 identification;
    __be16 fragment;
    uint8_t lifetime;
    uint8_t protocol;
    __be16 checksum;
    uint32_t source;
    uint32_t destination;
};

struct ip6_header {
    uint8_t version;
    uint8_t flow[3];
    __be16 length;
    uint8_t next;
    uint8_t lifetime;
    uint8_t source[16];
    uint8_t destination[16];
};

struct udp_header {
    __be16 source;
    __be16 destination;
    __be16 length;
    __be16 checksum;
};

/* Bytes after the UDP header. The buffer may begin there, or at the IP header. */
static __always_inline uint32_t payload_of(struct sk_buff *buffer, const unsigned char *transport)
{
    const unsigned char *payload = transport + sizeof(struct udp_header);

    return MEMBER(struct sk_buff, buffer, len) - (payload - MEMBER(struct sk_buff, buffer, data));
}

static __noinline int read_packet(struct sk_buff *buffer, struct packet *packet)
{
    unsigned char *head = MEMBER(struct sk_buff, buffer, head);
    unsigned char *transport = head + MEMBER(struct sk_buff, buffer, transport_header);
    struct skb_shared_info *shared = (void *)(head + MEMBER(struct sk_buff, buffer, end));
    struct udp_header udp = {};
    struct ip6_header ip6 = {}; /* the longer of the two headers */
    const struct ip4_header *ip4 = (struct ip4_header *)&ip6;

    if (packet == NULL)
        return 0;
    bpf_probe_read_kernel(&ip6, sizeof(ip6), head + MEMBER(struct sk_buff, buffer, network_header));
    bpf_probe_read_kernel(&udp, sizeof(udp), transport);
    __builtin_memset(packet, 0, sizeof(*packet));
    if (ip6.version >> 4 == 4) {
        packet->family = AF_INET;
        packet->identification = __builtin_bswap16(ip4->identification);
        *(uint32_t *)packet->source = ip4->source;
        *(uint32_t *)packet->destination = ip4->destination;
    } else {
        packet->family = AF_INET6;
        __builtin_memcpy(packet->source, ip6.source, 16);
        __builtin_memcpy(packet->destination, ip6.destination, 16);
    }
    packet->source_port = __builtin_bswap16(udp.source);
    packet->destination_port = __builtin_bswap16(udp.destination);
    packet->bytes = payload_of(buffer, transport);
    packet->segment = BPF_CORE_READ(shared, gso_size);
    return 0;
}

/* Identifies the path of the socket that sends or receives the packet. */
static __always_inline void key_of_packet(const struct packet *packet, uint64_t socket, bool sent,
                                          struct udp_key *key)
{
    key->socket = socket;
    key->family = packet->family;
    key->local_port = sent ? packet->source_port : packet->destination_port;
    key->remote_port = sent ? packet->destination_port : packet->source_port;
    __builtin_memcpy(key->local, sent ? packet->source : packet->destination, 16);
    __builtin_memcpy(key->remote, sent ? packet->destination : packet->source, 16);
}

/* ---- numbers ---- */

/* The number of the packet after `last`: the nearest of those that end with its identification. It may be smaller than
 * `last`, because packets may overtake. For example, 0x1fffe is followed by 0x20001 for identification 0x0001. Packets
 * without a fresh identification (IPv6; an IPv4 socket that forbids fragments and is not connected) are counted.
 * `known` is the state bit which is set if there is a last number. */
static __always_inline uint32_t next_number(struct path *path, uint32_t *last, uint8_t known,
                                            const struct packet *packet, uint32_t segments)
{
    uint32_t before = *last, number;
    int16_t step = packet->identification - (uint16_t)before;

    if ((path->state & known) == 0) {
        path->state |= known;
        number = packet->identification;
        *last = number + segments - 1;
        return number;
    }
    if (packet->family == AF_INET6)
        return __sync_fetch_and_add(last, segments) + 1;
    number = before + (step == 0 ? 0x10000 : step);
    *last = number + segments - 1;
    return number;
}

static __always_inline void count_segments(struct datagram *datagram, uint32_t segment)
{
    datagram->segment = segment;
    datagram->segments = segment == 0 ? 1 : (datagram->bytes + segment - 1) / segment;
    if (datagram->segments == 0)
        datagram->segments = 1;
}

/* ---- the socket's own storage ---- */

/* Indexes count from 1: 0 means none. (Two threads may open it at the same time.) */
static __always_inline void begin_inbox(struct path *socket)
{
    __sync_val_compare_and_swap(&socket->queued, 0, 1);
    __sync_val_compare_and_swap(&socket->taken, 0, 1);
    __sync_val_compare_and_swap(&socket->announced, 0, 1);
    socket->state |= PATH_INBOX;
}

/* Arriving datagrams are noted from now on; of those already queued only the number is known. */
static __always_inline void open_inbox(struct path *socket, struct sock *sk)
{
    if (socket->state & PATH_INBOX)
        return;
    socket->older = BPF_CORE_READ(sk, sk_receive_queue.qlen) +
                    BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen);
    begin_inbox(socket);
}

/* ---- SEND ---- */

/* One piece of a message that was cut into datagrams: a SEND or RECEIVE of its own. */
struct pieces {
    struct stream *stream;
    struct message *message;
    uint32_t id; /* EVENT_SEND or EVENT_RECEIVE */
    uint32_t left;
    uint32_t segment;
};

static long write_piece(uint32_t index, struct pieces *pieces)
{
    uint32_t bytes = pieces->left < pieces->segment ? pieces->left : pieces->segment;

    if (index != 0 && bytes == 0)
        return 1;
    pieces->message->bytes = bytes;
    write_message(pieces->stream, pieces->id, pieces->message);
    pieces->message->offset++;
    pieces->message->flags = (pieces->message->flags & ~RECORD_CALL_IMPLIED) | RECORD_CONTINUED;
    pieces->left -= bytes;
    return 0;
}

/* Records a message of `bytes`, in one record for each datagram that it was cut into. */
static __always_inline void write_datagrams(struct stream *stream, uint32_t id,
                                            struct message *message, uint32_t bytes)
{
    const struct datagram *datagram = &stream->datagram;

    message->offset = datagram->number;
    message->bytes = bytes;
    if (datagram->segments <= 1) {
        write_message(stream, id, message);
    } else {
        struct pieces pieces = {
            .stream = stream,
            .message = message,
            .id = id,
            .left = bytes,
            .segment = datagram->segment,
        };

        bpf_loop(datagram->segments, write_piece, &pieces, 0);
    }
}

static __always_inline void write_udp_send(struct stream *stream, struct sock *sk)
{
    const struct datagram *datagram = &stream->datagram;
    struct path *path = udp_path(stream, NULL, sk, &datagram->key);
    struct message *message = &stream->scratch.message;

    if (path == NULL) {
        miss_messages(stream, EVENT_SEND, METER_UDP, datagram->segments);
        return;
    }
    *message = (struct message){
        .path = path->number,
        .flags = stream->send.flags,
        .begin = datagram->time,
    };
    write_datagrams(stream, EVENT_SEND, message, datagram->bytes);
}

/* A send call ends. Data added to a datagram that waits for more (MSG_MORE, UDP_CORK) is recorded with that datagram,
 * when it leaves. */
static __noinline int udp_sent(struct stream *stream, struct sock *sk, int result)
{
    if (stream->send.socket == (uint64_t)sk) {
        write_udp_send(stream, sk);
    } else if (BPF_CORE_READ((struct udp_sock *)sk, pending) != 0) {
        stream->sent_by = 0;
    } else {
        /* it left without passing a hook */
        struct datagram *datagram = &stream->datagram;

        key_of_socket(&datagram->key, sk, bpf_get_socket_cookie(sk));
        datagram->number = 0;
        datagram->segments = 1;
        datagram->bytes = result;
        datagram->time = 0;
        write_udp_send(stream, sk);
    }
    stream->send.socket = 0;
    return 0;
}

/* ---- leaving ---- */

static __always_inline bool is_udp(uint32_t protocol, uint32_t type)
{
    return protocol == IPPROTO_UDP && type == SOCK_DGRAM;
}

/* Address of a packet's bytes. The buffer may be cloned on its way (if a program captures packets), but the clone
 * shares the bytes. */
static __always_inline uint64_t bytes_of(struct sk_buff *buffer)
{
    return (uint64_t)MEMBER(struct sk_buff, buffer, head);
}

static __always_inline int note_flight(struct sk_buff *buffer, const struct datagram *datagram)
{
    uint64_t bytes = bytes_of(buffer);
    struct flight flight = {};

    flight.key = datagram->key;
    flight.number = datagram->number;
    flight.bytes = datagram->bytes;
    return bpf_map_update_elem(&flights, &bytes, &flight, BPF_ANY);
}

/* Whether a packet of IPv4 goes to several receivers. */
static __always_inline bool leads_to_many(struct sk_buff *buffer)
{
    struct rtable *route = (struct rtable *)(MEMBER(struct sk_buff, buffer, _skb_refdst) & ~1UL);

    return (BPF_CORE_READ(route, rt_flags) & (RTCF_BROADCAST | RTCF_MULTICAST)) != 0;
}

static __always_inline bool releases_cork(struct task_struct *task)
{
    return call_of(task, registers_of(task)) == CALL_SETSOCKOPT;
}

/* The datagram that leaves has no path. The end of a send call finds that itself. */
static __always_inline void miss_datagram(struct stream *stream, struct task_struct *task)
{
    if (releases_cork(task))
        miss_messages(stream, EVENT_SEND, METER_UDP, 1);
}

/* A datagram leaves. This is usually inside the send call, and SEND is made at the call's end. Releasing a socket's
 * cork is no send call, so SEND is made at once. `own`: the storage of the socket with this cookie, NULL: no memory. */
static __always_inline void datagram_leaves(struct stream *stream, struct task_struct *task,
                                            struct path *own, uint64_t cookie,
                                            struct sk_buff *buffer)
{
    struct datagram *datagram = &stream->datagram;
    struct sock *sk = MEMBER(struct sk_buff, buffer, sk);
    struct packet packet;
    struct path *path;

    if (own == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        miss_datagram(stream, task);
        return;
    }
    open_inbox(own, sk);
    read_packet(buffer, &packet);
    key_of_packet(&packet, cookie, true, &datagram->key);
    path = udp_path_noted(own, &datagram->key);
    if (path == NULL) {
        miss_datagram(stream, task);
        return;
    }
    if (path->number == 0 && packet.family == AF_INET && leads_to_many(buffer))
        path->state |= PATH_MANY;
    datagram->time = bpf_ktime_get_ns();
    datagram->bytes = packet.bytes;
    datagram->buffer = (uint64_t)buffer;
    count_segments(datagram, packet.segment);
    datagram->number = next_number(path, &path->out, PATH_KNOWS_OUT, &packet, datagram->segments);
    note_flight(buffer, datagram);
    stream->send.socket = (uint64_t)sk;
    stream->send.path = path->number;
    stream->send.out = 0;
    if (releases_cork(task)) {
        stream->send.flags = 0;
        write_udp_send(stream, sk);
        stream->send.socket = 0;
    }
}

/* For UDP packets, and others that take the same way. */
static __always_inline int packet_leaves(struct sk_buff *buffer)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    struct sock *sk = buffer->sk;

    if (stream == NULL || sk == NULL || !wants(stream, FLAGS_OF_SEND) ||
        !is_udp(sk->sk_protocol, sk->sk_type))
        return 0;
    datagram_leaves(stream, task, storage_of(sk), bpf_get_socket_cookie(sk), buffer);
    return 0;
}

SEC("fentry/ip_send_skb")
int BPF_PROG(udp_leaves, void *net, struct sk_buff *buffer)
{
    return packet_leaves(buffer);
}

SEC("fentry/ip6_send_skb")
int BPF_PROG(udp6_leaves, struct sk_buff *buffer)
{
    return packet_leaves(buffer);
}

SEC("cgroup_skb/egress")
int udp_egress(struct __sk_buff *context)
{
    struct bpf_sock *socket = context->sk;
    struct task_struct *task;
    struct stream *stream;

    if (socket == NULL)
        return 1;
    socket = bpf_sk_fullsock(socket);
    if (socket == NULL || !is_udp(socket->protocol, socket->type))
        return 1;
    task = bpf_get_current_task_btf();
    stream = stream_of(task);
    if (stream == NULL || !wants(stream, FLAGS_OF_SEND))
        return 1;
    datagram_leaves(stream, task,
                    bpf_sk_storage_get(&paths, socket, NULL, BPF_SK_STORAGE_GET_F_CREATE),
                    bpf_get_socket_cookie(context), bpf_cast_to_kern_ctx(context));
    return 1;
}

#endif
