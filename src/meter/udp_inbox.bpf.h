/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * udp_inbox.bpf.h: UDP datagrams that come to a socket, and what becomes of them.
 *
 *      [ingress] ---> inbox: 0 1 2 3 ... ---> [sock_recv_length]   taken by a receive call
 *                            |          '---> [kfree_skb]          the queue was full: dropped
 *                          taken
 *
 * What a receive call takes from its socket's queue no hook tells, but a queue is one: the n-th
 * datagram taken is the n-th that came.
 */
#ifndef DPM_UDP_INBOX_BPF_H
#define DPM_UDP_INBOX_BPF_H

#include "meter/udp.bpf.h"

/* ---- coming ---- */

#define QUEUED_CHANGED (1ULL << 32)
#define LOOK_BACK      8 /* others that may come to a queue while one is on its way there */

/* The number its sender gave the datagram, if it was sent here. */
static __always_inline bool number_of_flight(struct sk_buff *buffer, const struct packet *packet,
                                             const struct udp_key *key, uint32_t *number)
{
    uint64_t bytes = bytes_of(buffer);
    struct flight *flight = bpf_map_lookup_elem(&flights, &bytes);
    const uint64_t *here, *there;

    if (flight == NULL)
        return false;
    /* one that was lost on the way leaves its note to the next one whose bytes lie there */
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

/* A datagram is about to enter the queue of a socket. */
SEC("cgroup_skb/ingress")
int udp_ingress(struct __sk_buff *context)
{
    struct bpf_sock *socket = context->sk;
    struct numbered_key place = {};
    struct datagram datagram = {};
    struct path *own, *path;
    struct sk_buff *buffer;
    struct packet packet;

    if (socket == NULL)
        return 1;
    socket = bpf_sk_fullsock(socket);
    if (socket == NULL || !is_udp(socket))
        return 1;
    own = bpf_sk_storage_get(&paths, socket, NULL, 0);
    if (own == NULL || (own->state & PATH_INBOX) == 0)
        return 1;
    buffer = bpf_cast_to_kern_ctx(context);
    read_packet(buffer, &packet);
    place.socket = bpf_get_socket_cookie(context);
    key_of_packet(&packet, place.socket, false, &datagram.key);
    datagram.buffer = (uint64_t)buffer;
    datagram.bytes = packet.bytes;
    count_segments(&datagram, context->gso_size);
    path = udp_path_noted(own, &datagram.key);
    if (path != NULL && number_of_flight(buffer, &packet, &datagram.key, &datagram.number)) {
        path->in = datagram.number + datagram.segments - 1;
        path->state |= PATH_KNOWS_IN;
    } else if (path != NULL) {
        datagram.number = next_number(path, &path->in, PATH_KNOWS_IN, &packet, datagram.segments);
    }
    __sync_fetch_and_add(&own->filling, 1);
    place.number = (uint32_t)__sync_fetch_and_add(&own->queued, QUEUED_CHANGED + 1);
    if (bpf_map_update_elem(&inbox, &place, &datagram, BPF_ANY) != 0)
        __sync_fetch_and_add(&lost_datagrams, 1);
    __sync_fetch_and_add(&own->filling, -1);
    return 1;
}

/* ---- taken ---- */

#define EMPTY_AT_ONCE 4096 /* places that may be empty between two datagrams */
#define WINDOW        16   /* datagrams that may have changed places */
#define PLACES_MOST   128 /* are looked at: one that is long on its way leaves empty ones behind it */
#define BEHIND_MOST   8   /* receives that others in progress may explain */
#define NO_PLACE      (~0ULL)
#define DOUBT_LENGTH  1 /* it was longer than what the call returned, and cut */
#define DOUBT_TIME    2 /* it is on its way to the queue */

struct search {
    struct path *own;
    struct sock *sk;
    uint64_t socket; /* cookie */
    uint32_t from;   /* the first place that is not empty */
    uint32_t result; /* bytes the receive call returned */
    uint64_t place;  /* of the likeliest among those that do not wait any more; or NO_PLACE */
    uint16_t doubt;  /* about that one: DOUBT_... */
    uint16_t beyond; /* places from that of the first that waits on */
    uint32_t taken;  /* how many without doubt about time there are that do not wait */
    uint64_t waiting[WINDOW]; /* buffers that wait in the queue, the next to be taken first */
};

static long skip_empty(uint32_t index, struct search *search)
{
    struct numbered_key place = {.socket = search->socket, .number = search->own->taken};
    struct datagram *datagram;

    /* the last may be empty because they are being filled */
    if ((int32_t)((uint32_t)search->own->queued - search->own->taken) <= LOOK_BACK)
        return 1;
    datagram = bpf_map_lookup_elem(&inbox, &place);
    if (datagram != NULL && datagram->segments != 0)
        return 1;
    bpf_map_delete_elem(&inbox, &place);
    __sync_val_compare_and_swap(&search->own->taken, (uint32_t)place.number,
                                (uint32_t)place.number + 1);
    return 0;
}

/* The buffer after `buffer` in the socket's queue, which has two parts; after 0 the first. 0: none. */
static __always_inline uint64_t next_buffer(struct sock *sk, uint64_t buffer)
{
    struct udp_sock *udp = (struct udp_sock *)sk;
    uint64_t front = (uint64_t)__builtin_preserve_access_index(&udp->reader_queue);
    uint64_t back = (uint64_t)__builtin_preserve_access_index(&sk->sk_receive_queue);
    uint64_t next = (uint64_t)(buffer == 0 ? BPF_CORE_READ(udp, reader_queue.next)
                                           : BPF_CORE_READ((struct sk_buff *)buffer, next));

    if (next == front)
        next = (uint64_t)BPF_CORE_READ(sk, sk_receive_queue.next);
    return next == back ? 0 : next;
}

static long note_waiting(uint32_t index, struct search *search)
{
    uint64_t before = index == 0 ? 0 : search->waiting[(index - 1) % WINDOW];

    search->waiting[index % WINDOW] = next_buffer(search->sk, before);
    return search->waiting[index % WINDOW] == 0;
}

static __always_inline struct datagram *datagram_at(const struct search *search, uint32_t number)
{
    struct numbered_key place = {.socket = search->socket, .number = number};
    struct datagram *datagram;

    if ((int32_t)((uint32_t)search->own->queued - number) <= 0)
        return NULL;
    datagram = bpf_map_lookup_elem(&inbox, &place);
    return datagram == NULL || datagram->segments == 0 ? NULL : datagram;
}

/* Whether a noted datagram has not yet entered the queue, where the kernel writes something else over
 * the pointer to its device. If the buffer serves another datagram by now this tells of that one. */
static __always_inline bool is_on_its_way(const struct datagram *datagram)
{
    struct sk_buff *buffer = (struct sk_buff *)datagram->buffer;

    return (int64_t)BPF_CORE_READ(buffer, dev) < 0; /* an address of the kernel */
}

static __always_inline bool waits(const struct search *search, uint64_t buffer)
{
    for (uint32_t i = 0; i < WINDOW; i++)
        if (search->waiting[i] == buffer)
            return true;
    return false;
}

/* Somebody has taken it whose call was told of another one's. */
static __always_inline void give_up(const struct search *search)
{
    struct numbered_key place = {.socket = search->socket, .number = (uint32_t)search->place};

    bpf_map_delete_elem(&inbox, &place);
}

static long look_at_place(uint32_t index, struct search *search)
{
    uint32_t number = search->from + index, doubt;
    struct datagram *datagram;
    bool late;

    if ((int32_t)((uint32_t)search->own->queued - number) <= 0 || search->beyond >= WINDOW)
        return 1;
    datagram = datagram_at(search, number);
    if (search->beyond > 0 || (datagram != NULL && datagram->buffer == search->waiting[0]))
        search->beyond++;
    if (datagram == NULL || datagram->bytes < search->result || waits(search, datagram->buffer))
        return 0;
    late = is_on_its_way(datagram);
    doubt = (late ? DOUBT_TIME : 0) | (datagram->bytes != search->result ? DOUBT_LENGTH : 0);
    search->taken += !late;
    if (search->place != NO_PLACE && doubt == search->doubt && !late &&
        search->own->behind > BEHIND_MOST)
        give_up(search);
    else if (search->place != NO_PLACE && doubt >= search->doubt)
        return 0;
    search->place = number;
    search->doubt = doubt;
    return 0;
}

/* Which of the noted datagrams a receive call has taken. Two that come at the same time on two
 * processors may change places on their way into the queue: it is the first that does not wait
 * there any more. If one is noted and not yet in the queue, the buffers and lengths must tell.
 * Others that do not wait either are those of receives in progress. If there always are such, one call was told of
 * another one's datagram, and so each has been since: then the last is taken for this call's, and others are given up. */
static __always_inline uint64_t taken_place(struct search *search)
{
    struct path *own = search->own;
    struct datagram *first, *second;

    bpf_loop(EMPTY_AT_ONCE, skip_empty, search, 0);
    search->from = own->taken;
    search->waiting[0] = next_buffer(search->sk, 0);
    first = datagram_at(search, search->from);
    second = datagram_at(search, search->from + 1);
    if (first != NULL && first->buffer != search->waiting[0] && first->bytes >= search->result &&
        (second != NULL ? second->buffer == search->waiting[0]
                        : (uint32_t)own->queued == search->from + 1)) {
        own->behind = 0;
        return search->from;
    }
    search->place = NO_PLACE;
    bpf_loop(WINDOW, note_waiting, search, 0);
    bpf_loop(PLACES_MOST, look_at_place, search, 0);
    own->behind = search->taken > 1 && own->behind <= BEHIND_MOST ? own->behind + 1 : 0;
    return search->place;
}

/* A receive call that has just ended. */
struct taker {
    struct sock *sk; /* in memory: the verifier takes no pointer to a socket as an argument */
    uint64_t socket; /* cookie */
    uint32_t result;
};

enum taking {
    TAKING_NOTHING, /* nothing has come */
    TAKING_UNNOTED, /* something has, unnoted */
    TAKING_KNOWN,
};

/* Finds what a receive call has just taken from its socket's queue, and takes it out of the inbox:
 * *ret_datagram if it is known. `own` is the socket's storage. */
__noinline enum taking take_datagram(struct path *own, const struct taker *taker,
                                     struct datagram *ret_datagram)
{
    struct search search = {.own = own};
    struct numbered_key place = {};
    struct datagram *datagram;

    if (own == NULL || taker == NULL || ret_datagram == NULL)
        return TAKING_NOTHING;
    if (own->older > 0) {
        own->older--;
        return TAKING_UNNOTED;
    }
    search.sk = taker->sk;
    search.socket = place.socket = taker->socket;
    search.result = taker->result;
    place.number = taken_place(&search);
    if (place.number == NO_PLACE)
        return TAKING_NOTHING;
    datagram = bpf_map_lookup_elem(&inbox, &place);
    if (datagram == NULL)
        return TAKING_UNNOTED;
    *ret_datagram = *datagram;
    bpf_map_delete_elem(&inbox, &place);
    __sync_val_compare_and_swap(&own->taken, (uint32_t)place.number, (uint32_t)place.number + 1);
    return TAKING_KNOWN;
}

/* ---- not taken in ---- */

/* Strikes out the datagram that was noted in `buffer` a moment ago. */
static __always_inline void strike_out(uint64_t cookie, uint32_t queued, uint64_t buffer)
{
    struct numbered_key place = {.socket = cookie};

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

/* Gives back the places at the inbox's end that are struck out, so that a queue that stays full
 * leaves no long row of them. A place is emptied before it is free for the next that comes; if that
 * has come meanwhile, the place stays empty. */
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
        if ((int32_t)((uint32_t)queued - own->taken) <= 0 ||
            __sync_val_compare_and_swap(&own->queued, queued, queued - 1 + QUEUED_CHANGED) !=
                queued)
            return;
    }
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(kfree_skb, struct sk_buff *buffer, void *location, int reason, struct sock *receiver)
{
    struct udp_key key = {};
    struct path *own, *path;
    struct packet packet;

    if (receiver == NULL || receiver->sk_protocol != IPPROTO_UDP)
        return 0;
    own = bpf_sk_storage_get(&paths, receiver, NULL, 0);
    if (own == NULL || (own->state & PATH_INBOX) == 0)
        return 0;
    read_packet(buffer, &packet);
    key_of_packet(&packet, bpf_get_socket_cookie(receiver), false, &key);
    path = udp_path_noted(own, &key);
    if (path != NULL)
        __sync_fetch_and_add(&path->dropped, 1);
    strike_out(key.socket, own->queued, (uint64_t)buffer);
    give_back_places(own, key.socket);
    return 0;
}

/* ---- the beginning and end of sockets ---- */

/* In socket(), of the stream that makes it. */
SEC("cgroup/sock_create")
int udp_create(struct bpf_sock *socket)
{
    struct stream *stream;
    struct path *own;

    if (!is_udp(socket))
        return 1;
    stream = stream_of(bpf_get_current_task_btf());
    if (stream == NULL || !wants(stream, FLAGS_OF_UDP))
        return 1;
    own = bpf_sk_storage_get(&paths, socket, NULL, BPF_SK_STORAGE_GET_F_CREATE);
    if (own != NULL)
        own->state |= PATH_INBOX;
    bpf_get_socket_cookie(socket);
    return 1;
}

struct closing {
    uint64_t socket; /* cookie */
    uint32_t from;
    uint32_t last; /* of its places in udp_peers */
    struct sock *sk;
};

/* `sk`: NULL = not known. */
static __noinline int close_path(const struct udp_key *key, struct sock *sk)
{
    struct path *path = bpf_map_lookup_elem(&udp_paths, key);
    uint32_t number;

    if (path == NULL)
        return 0;
    if (path->dropped != path->told)
        tell_dropped(path, sk, key);
    number = path->number;
    if (number != 0 && __sync_val_compare_and_swap(&path->number, number, 0) == number &&
        (flags_in_force & EVENT_FLAG(EVENT_DESTROYPATH)))
        write_unowned(EVENT_DESTROYPATH, number, 0);
    if (bpf_map_delete_elem(&udp_paths, key) == 0)
        __sync_fetch_and_add(&udp_known, -1);
    return 0;
}

static long close_peer(uint32_t index, struct closing *closing)
{
    struct numbered_key place = {.socket = closing->socket, .number = closing->last - index};
    struct udp_key *known = bpf_map_lookup_elem(&udp_peers, &place);
    struct udp_key key;

    if (known == NULL)
        return 0;
    key = *known;
    close_path(&key, closing->sk);
    bpf_map_delete_elem(&udp_peers, &place);
    return 0;
}

static long forget_datagram(uint32_t index, struct closing *closing)
{
    struct numbered_key place = {.socket = closing->socket, .number = closing->from + index};

    bpf_map_delete_elem(&inbox, &place);
    return 0;
}

/* The path of a socket without a peer is in no list: only blocked calls made it. */
static __always_inline void close_without_peer(struct closing *closing)
{
    struct udp_key key = {};

    key_of_socket(&key, closing->sk, closing->socket);
    if (key.remote_port == 0)
        close_path(&key, closing->sk);
}

/* The last holder closes the socket. */
SEC("cgroup/sock_release")
int udp_release(struct bpf_sock *socket)
{
    struct closing closing = {};
    struct path *own;
    uint32_t waiting;

    if (!is_udp(socket))
        return 1;
    own = bpf_sk_storage_get(&paths, socket, NULL, 0);
    if (own == NULL)
        return 1;
    own->state &= ~PATH_INBOX;
    closing.socket = bpf_get_socket_cookie(socket);
    closing.from = own->taken;
    closing.sk = bpf_cast_to_kern_ctx(socket);
    closing.last = own->peers - 1;
    bpf_loop(own->peers < MOST_UDP_PATHS ? own->peers : MOST_UDP_PATHS, close_peer, &closing, 0);
    close_without_peer(&closing);
    waiting = (uint32_t)own->queued - own->taken;
    if ((int32_t)waiting > 0)
        bpf_loop(waiting, forget_datagram, &closing, 0);
    return 1;
}

/* ---- paths that nobody uses any more ---- */

#define UDP_IDLE 60 /* sweeps */

static long end_idle_path(void *map, struct udp_key *key, struct path *path, void *context)
{
    struct numbered_key place = {.socket = key->socket, .number = path->place};
    struct udp_key own_key = *key;

    if (sweeps - path->used <= UDP_IDLE)
        return 0;
    if (path->state & PATH_LISTED)
        bpf_map_delete_elem(&udp_peers, &place);
    close_path(&own_key, NULL);
    return 0;
}

/* A server may meet new clients without end, with a path for each: when there are many, those that were
 * not used for a minute are ended. What comes from such a client after that has a new path. */
SEC("syscall")
int sweep_udp_paths(void *context)
{
    if (udp_known > MOST_UDP_PATHS / 2)
        bpf_for_each_map_elem(&udp_paths, end_idle_path, NULL, 0);
    return 0;
}

#endif
