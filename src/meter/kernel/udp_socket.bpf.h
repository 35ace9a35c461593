/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* udp_socket.bpf.h: the beginning and end of UDP sockets, and of paths that are no longer used. */
#ifndef DPM_UDP_SOCKET_BPF_H
#define DPM_UDP_SOCKET_BPF_H

#include "meter/kernel/udp_inbox.bpf.h"

/* ---- the beginning and end of sockets ---- */

/* In socket(), called by a metered stream: datagrams are noted from the first one on. */
static __always_inline bool notes_from_beginning(void)
{
    struct stream *stream = stream_of(bpf_get_current_task_btf());

    return stream != NULL && wants(stream, FLAGS_OF_UDP);
}

static __always_inline int socket_begins(struct sock *sk)
{
    struct path *own;

    if (!notes_from_beginning())
        return 0;
    own = storage_of(sk);
    if (own != NULL)
        begin_inbox(own);
    bpf_get_socket_cookie(sk);
    return 0;
}

SEC("fentry/udp_init_sock")
int BPF_PROG(udp_begins, struct sock *sk)
{
    return socket_begins(sk);
}

SEC("fentry/udpv6_init_sock")
int BPF_PROG(udp6_begins, struct sock *sk)
{
    return socket_begins(sk);
}

SEC("cgroup/sock_create")
int udp_create(struct bpf_sock *socket)
{
    struct path *own;

    if (!is_udp(socket->protocol, socket->type) || !notes_from_beginning())
        return 1;
    own = bpf_sk_storage_get(&paths, socket, NULL, BPF_SK_STORAGE_GET_F_CREATE);
    if (own != NULL)
        begin_inbox(own);
    bpf_get_socket_cookie(socket);
    return 1;
}

struct closing {
    uint64_t socket; /* cookie */
    uint32_t from;
    uint32_t last; /* its last index in udp_peers */
    struct sock *sk;
    struct path *own; /* its storage */
};

/* `sk`: NULL = unknown. */
static __noinline int close_path(const struct udp_key *key, struct sock *sk)
{
    struct path *path = bpf_map_lookup_elem(&udp_paths, key);
    uint32_t number;

    if (path == NULL)
        return 0;
    if (path->dropped + path->refused != path->told)
        tell_dropped(path, sk, key);
    number = path->number;
    if (number != 0 && __sync_val_compare_and_swap(&path->number, number, 0) == number &&
        is_told_now(EVENT_DESTROYPATH))
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

static long forget_aside(uint32_t index, struct closing *closing)
{
    struct numbered_key place = {.socket = closing->socket,
                                 .number = closing->own->aside[index % ASIDE_MOST]};

    if (place.number != 0)
        bpf_map_delete_elem(&inbox, &place);
    return 0;
}

/* The path of a socket without a peer is in no list: only blocked calls create it. */
static __always_inline void close_without_peer(struct closing *closing)
{
    struct udp_key key = {};

    key_of_socket(&key, closing->sk, closing->socket);
    if (key.remote_port == 0)
        close_path(&key, closing->sk);
}

/* The last holder closes the socket with this cookie and storage. */
static __always_inline void socket_ends(struct path *own, uint64_t cookie, struct sock *sk)
{
    struct closing closing = {
        .socket = cookie,
        .from = own->taken,
        .sk = sk,
        .own = own,
        .last = own->peers - 1,
    };
    uint32_t waiting;

    own->state &= ~PATH_INBOX;
    bpf_loop(own->peers < most_udp_paths ? own->peers : most_udp_paths, close_peer, &closing, 0);
    close_without_peer(&closing);
    waiting = (uint32_t)own->queued - own->taken;
    bpf_loop(ASIDE_MOST, forget_aside, &closing, 0);
    if ((int32_t)waiting > 0)
        bpf_loop(waiting, forget_datagram, &closing, 0);
}

static __always_inline int socket_closes(struct sock *sk)
{
    struct path *own = has_stored(sk) ? bpf_sk_storage_get(&paths, sk, NULL, 0) : NULL;

    if (own != NULL)
        socket_ends(own, bpf_get_socket_cookie(sk), sk);
    return 0;
}

SEC("fentry/udp_destroy_sock")
int BPF_PROG(udp_ends, struct sock *sk)
{
    return socket_closes(sk);
}

SEC("fentry/udpv6_destroy_sock")
int BPF_PROG(udp6_ends, struct sock *sk)
{
    return socket_closes(sk);
}

SEC("cgroup/sock_release")
int udp_release(struct bpf_sock *socket)
{
    struct path *own;

    if (!is_udp(socket->protocol, socket->type))
        return 1;
    own = bpf_sk_storage_get(&paths, socket, NULL, 0);
    if (own != NULL)
        socket_ends(own, bpf_get_socket_cookie(socket), bpf_cast_to_kern_ctx(socket));
    return 1;
}

/* ---- unused paths ---- */

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

/* A server may meet new clients without end, with a path for each. When there are many, those unused for a minute are
 * ended. What such a client sends later gets a new path. */
SEC("syscall")
int sweep_udp_paths(void *context)
{
    if (udp_known > most_udp_paths / 2)
        bpf_for_each_map_elem(&udp_paths, end_idle_path, NULL, 0);
    return 0;
}

#endif
