/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * socket_path.bpf.h: the path of a socket that a metered stream uses; the first use records it.
 *
 *      TCP, UNIX streams   the socket's own storage: one path
 *      UNIX datagrams      pairs, by the cookies of the socket and of a peer: a path for each peer
 *      UDP                 udp_paths, by the addresses of both ends: a path for each peer
 */
#ifndef DPM_SOCKET_PATH_BPF_H
#define DPM_SOCKET_PATH_BPF_H

#include "meter/kernel/path.bpf.h"

/* Most sockets have nothing stored: checking that first is quicker than calling the helper. */
static __always_inline bool has_stored(struct sock *sk)
{
    return plain_sock(sk)->sk_bpf_storage != NULL;
}

/* The storage of a socket, created if it has none; NULL: no memory. If both ends create it at the same time, the slower
 * one gets an error, but then finds it. */
static __always_inline struct path *storage_of(struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

    return path != NULL ? path : bpf_sk_storage_get(&paths, sk, NULL, 0);
}

/* Positions of a TCP socket that the meter meets in mid-life. */
static __always_inline void take_positions(struct path *path, struct tcp_sock *tcp)
{
    path->start_out = tcp->write_seq;
    path->start_in = tcp->copied_seq;
}

/* The same for a socket that silent streams may have used; for `start_in` and `start_out` see tcp_path. */
static __always_inline void take_positions_behind(struct path *path, struct tcp_sock *tcp,
                                                  int64_t start_in, int64_t start_out)
{
    uint32_t moved = path->moved, sent = path->start_out, taken = path->start_in;

    take_positions(path, tcp);
    if (start_in >= 0)
        path->start_in = start_in;
    if ((path->state & PATH_KNOWS_IN) == 0)
        path->in = path->start_in;
    path->state |= PATH_KNOWS_IN;
    if (start_out >= 0)
        path->start_out = start_out;
    if ((moved & PATH_MOVED_OUT) && (int32_t)(sent - path->start_out) > 0)
        path->start_out = sent;
    if ((moved & PATH_MOVED_IN) && (int32_t)(taken - path->start_in) > 0)
        path->start_in = taken;
}

static __always_inline bool is_to_be_told_again(const struct path *path)
{
    return path->moved != 0 || is_told_ahead(path);
}

static __always_inline void tell_if_moved(struct stream *stream, struct path *path, struct sock *sk)
{
    if (!is_to_be_told_again(path))
        return;
    stream->scratch.facts.sk = sk;
    tell_again(stream, path);
}

static __always_inline void fill_facts(struct socket_facts *facts, struct sock *sk, uint32_t kind)
{
    *facts = (struct socket_facts){
        .sk = sk,
        .cookie = bpf_get_socket_cookie(sk),
        .inode = inode_of_socket(sk),
        .family = sk->__sk_common.skc_family,
        .kind = kind,
    };
}

/* As make_path, for a connection. */
static __always_inline uint32_t make_tcp_path(struct stream *stream, struct path *path,
                                              struct sock *sk)
{
    struct scratch *scratch = scratch_of(stream);

    if (scratch == NULL)
        return 0;
    fill_facts(&scratch->facts, sk, PATH_TCP);
    scratch->facts.connected = true;
    return make_path(stream, path, &scratch->facts, NULL);
}

/* The storage of a TCP socket, whose path is recorded; NULL: no memory (counted). For a connection whose beginning was
 * not seen, `start_in` is the position of what the stream now receives; -1: nothing was received yet. `start_out` is
 * the position of what it now sends, if that has gone out already (with fast open even before the beginning that was
 * seen); -1: it has not. */
static __always_inline struct path *tcp_path(struct stream *stream, struct sock *sk,
                                             int64_t start_in, int64_t start_out)
{
    struct path *path = storage_of(sk);

    if (path == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return NULL;
    }
    if (path->number != 0) {
        tell_if_moved(stream, path, sk);
        return path;
    }
    if (path->established < begun_at)
        path->state &= ~PATH_ESTABLISHED;
    if ((path->state & PATH_ESTABLISHED) == 0) {
        struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

        if (tcp == NULL)
            return NULL;
        take_positions_behind(path, tcp, start_in, start_out);
    } else if (start_out >= 0 && (int32_t)((uint32_t)start_out - path->start_out) < 0) {
        path->start_out = start_out;
    }
    make_tcp_path(stream, path, sk);
    return path;
}

/* The same if nothing was received yet and nothing has gone out. */
static __noinline struct path *meet_tcp_path(struct stream *stream, struct sock *sk)
{
    return tcp_path(stream, sk, -1, -1);
}

/* The same, quick if there is nothing to record. */
static __always_inline struct path *known_tcp_path(struct stream *stream, struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    return path != NULL && path->number != 0 && !is_to_be_told_again(path)
               ? path
               : meet_tcp_path(stream, sk);
}

/* The storage of a UNIX stream or seqpacket socket, whose path is recorded. */
static __always_inline struct path *unix_path(struct stream *stream, struct sock *sk, uint32_t kind)
{
    struct path *path = storage_of(sk);
    struct socket_facts *facts = &stream->scratch.facts;
    struct unix_sock *unix_socket;

    if (path == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return NULL;
    }
    if (path->number != 0) {
        tell_if_moved(stream, path, sk);
        return path;
    }
    unix_socket = bpf_skc_to_unix_sock(sk);
    if (unix_socket == NULL)
        return NULL;
    struct sock *peer = unix_socket->peer;
    fill_facts(facts, sk, kind);
    facts->peer = peer == NULL ? 0 : bpf_get_socket_cookie(peer);
    facts->connected = true;
    make_path(stream, path, facts, NULL);
    return path;
}

/* What was received from the socket with the cookie `key`; created as `fresh` if it is new. NULL: no memory
 * (counted). */
static __always_inline struct taken *taken_noted(uint64_t key, const struct taken *fresh)
{
    struct taken *taken = bpf_map_lookup_elem(&incoming, &key);

    if (taken != NULL)
        return taken;
    bpf_map_update_elem(&incoming, &key, fresh, BPF_NOEXIST);
    taken = bpf_map_lookup_elem(&incoming, &key);
    if (taken == NULL)
        __sync_fetch_and_add(&lost_paths, 1);
    return taken;
}

/* Initial values of a new path. */
static const struct path path_fresh, path_in_doubt = {.state = PATH_IN_DOUBT};

/* The path of a UNIX datagram socket and a peer, created if it is new; it is recorded when a metered stream has used
 * it. A path created before recording starts is in doubt, because older calls may be in progress. NULL: no memory. */
static __noinline struct path *pair_noted(const struct pair_key *key)
{
    struct path *path = bpf_map_lookup_elem(&pairs, key);

    if (path != NULL)
        return path;
    /* the other end may create it at the same time: it only has to exist */
    bpf_map_update_elem(&pairs, key, begun < mark_generation ? &path_in_doubt : &path_fresh,
                        BPF_NOEXIST);
    return bpf_map_lookup_elem(&pairs, key);
}

/* The path of a UNIX datagram socket and one peer (cookie, 0 = unknown). The socket's own storage only marks it as
 * known. */
static __always_inline struct path *datagram_path(struct stream *stream, struct sock *sk,
                                                  uint64_t peer)
{
    struct pair_key key = {.socket = bpf_get_socket_cookie(sk), .peer = peer};
    struct path *path = pair_noted(&key);
    struct socket_facts *facts = &stream->scratch.facts;
    struct unix_sock *unix_socket;
    struct sock *connected_to;

    if (path == NULL)
        __sync_fetch_and_add(&lost_paths, 1);
    if (path == NULL || path->number != 0)
        return path;
    path->socket = (uint64_t)sk;
    path->listed = is_in_own_network(sk);
    storage_of(sk);
    fill_facts(facts, sk, PATH_UNIX_DATAGRAM);
    facts->peer = peer;
    unix_socket = bpf_skc_to_unix_sock(sk);
    if (unix_socket == NULL)
        return NULL;
    connected_to = unix_socket->peer;
    facts->connected = connected_to != NULL && bpf_get_socket_cookie(connected_to) == peer;
    make_path(stream, path, facts, NULL);
    return path;
}

/* ---- UDP ---- */

/* Adds a path to the list of its socket, if it is new there. Also adds it again if it was added so many paths ago that
 * the end of the socket would not find it. */
static __always_inline void list_udp_path(struct path *socket, struct path *path,
                                          const struct udp_key *key)
{
    struct numbered_key place = {.socket = key->socket, .number = path->place};

    if (path->state & PATH_LISTED) {
        if (socket->peers - path->place < most_udp_paths / 2)
            return;
        bpf_map_delete_elem(&udp_peers, &place);
    }
    path->state |= PATH_LISTED;
    path->place = __sync_fetch_and_add(&socket->peers, 1);
    place.number = path->place;
    if (bpf_map_update_elem(&udp_peers, &place, key, BPF_ANY) == 0)
        return;
    path->state &= ~PATH_LISTED;
    __sync_fetch_and_add(&lost_paths, 1);
}

/* The path with these addresses, created if it is new; it is recorded when a metered stream uses it. `socket` is the
 * storage of its socket. NULL: no memory. */
static __noinline struct path *udp_path_noted(struct path *socket, const struct udp_key *key)
{
    struct path *path = bpf_map_lookup_elem(&udp_paths, key);

    if (path == NULL) {
        if (bpf_map_update_elem(&udp_paths, key, &path_fresh, BPF_NOEXIST) == 0)
            __sync_fetch_and_add(&udp_known, 1);
        path = bpf_map_lookup_elem(&udp_paths, key);
        if (path == NULL) {
            __sync_fetch_and_add(&lost_paths, 1);
            return NULL;
        }
    }
    if (path->used != sweeps)
        path->used = sweeps;
    if (socket != NULL)
        list_udp_path(socket, path, key);
    return path;
}

static __always_inline void udp_facts(struct socket_facts *facts, struct sock *sk,
                                      const struct udp_key *key)
{
    *facts = (struct socket_facts){
        .sk = sk,
        .cookie = key->socket,
        .inode = inode_of_socket(sk),
        .family = key->family,
        .kind = PATH_UDP,
    };
}

/* The path with these addresses, recorded. */
static __always_inline struct path *udp_path(struct stream *stream, struct path *socket,
                                             struct sock *sk, const struct udp_key *key)
{
    struct path *path = udp_path_noted(socket, key);
    struct socket_facts *facts = &stream->scratch.facts;

    if (path == NULL)
        return NULL;
    if (path->number != 0) {
        if (is_told_ahead(path) && !silent(stream) && begins_now(path))
            tell_beginning_now(stream, path,
                               (__sync_fetch_and_and(&path->moved, ~PATH_CREATED) & PATH_CREATED) ==
                                   0);
        return path;
    }
    udp_facts(facts, sk, key);
    make_path(stream, path, facts, key);
    return path;
}

/* The addresses of a socket itself. Without a peer it is a path of its own, for calls that block and receive nothing.
 * `sk` may be known only by address. */
static __always_inline void key_of_socket(struct udp_key *key, struct sock *sk, uint64_t cookie)
{
    key->socket = cookie;
    key->family = BPF_CORE_READ(sk, __sk_common.skc_family);
    key->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
    key->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
    if (key->family == AF_INET6) {
        BPF_CORE_READ_INTO(&key->local, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
        if (key->remote_port != 0)
            BPF_CORE_READ_INTO(&key->remote, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
        if (!is_mapped(key->remote) && !is_mapped(key->local))
            return;
        key->family = AF_INET;
        __builtin_memset(key->local, 0, sizeof(key->local));
        __builtin_memset(key->remote, 0, sizeof(key->remote));
    }
    *(uint32_t *)key->local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
    if (key->remote_port != 0)
        *(uint32_t *)key->remote = BPF_CORE_READ(sk, __sk_common.skc_daddr);
}

/* Records how many datagrams found the receive queue full or were refused, since the meter met the path. `sk`: NULL = unknown. */
static __noinline int tell_dropped(struct path *path, struct sock *sk, const struct udp_key *key)
{
    struct socket_facts facts = {};

    if (path == NULL || key == NULL)
        return 0;
    if (path->number == 0) {
        /* none of its datagrams was received */
        if (sk == NULL)
            return 0;
        udp_facts(&facts, sk, key);
        if (!write_path(path, &facts, key, 0, new_path_number(PATH_UDP)))
            return 0;
    }
    path->told = path->dropped + path->refused;
    path->told_at = bpf_ktime_get_ns();
    write_dropped(path->number, path->dropped, path->refused);
    return 0;
}

#endif
