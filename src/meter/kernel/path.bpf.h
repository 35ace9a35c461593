/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * path.bpf.h: paths: met for the first time, recorded with all that is known of them, and found again.
 *
 * A path's PATH, CREATEPATH and CONNECT or ACCEPT records are made when a metered stream first uses the socket, and always
 * precede its first message. Earlier events (the connection's beginning) were stored with the socket. TCP connections are
 * recorded before that, when they are made, if that is seen (connection.bpf.h).
 */
#ifndef DPM_PATH_BPF_H
#define DPM_PATH_BPF_H

#include "meter/kernel/made.bpf.h"
#include "meter/kernel/outcome.bpf.h"

#include "meter/shared/socket_kind.h"

/* 0: a kind that is not metered. */
static __always_inline uint8_t kind_of_socket(uint32_t family, uint32_t type, uint32_t protocol)
{
    return socket_kind(kinds_in_force, family, type, protocol);
}

/* ---- addresses; `sk` may be known only by address, so everything is probed ---- */

static __always_inline bool is_mapped(const uint8_t address[16])
{
    const uint32_t *word = (const uint32_t *)address;

    return word[0] == 0 && word[1] == 0 && word[2] == __builtin_bswap32(0xffff);
}

static __always_inline void fill_internet(struct path_record *record, struct sock *sk)
{
    record->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
    if (record->local_port ==
        0) /* given back when a connection is reset or fails, but not forgotten */
        record->local_port = __builtin_bswap16(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
    record->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
    if (record->family == AF_INET6) {
        BPF_CORE_READ_INTO(&record->local, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
        BPF_CORE_READ_INTO(&record->remote, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
        if (!is_mapped(record->remote))
            return;
        /* IPv4 over an IPv6 socket: the other end records IPv4, so this end does, too */
        record->family = AF_INET;
        __builtin_memset(record->local, 0, sizeof(record->local));
        __builtin_memset(record->remote, 0, sizeof(record->remote));
    }
    *(uint32_t *)record->local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
    *(uint32_t *)record->remote = BPF_CORE_READ(sk, __sk_common.skc_daddr);
}

static __always_inline void fill_udp(struct path_record *record, const struct udp_key *key)
{
    record->family = key->family;
    record->local_port = key->local_port;
    record->remote_port = key->remote_port;
    __builtin_memcpy(record->local, key->local, sizeof(record->local));
    __builtin_memcpy(record->remote, key->remote, sizeof(record->remote));
}

/* An abstract name begins with a NUL and may contain more. '@' replaces them, except trailing ones: those come from
 * programs that pass the whole array as the name. (A separate function, so that the verifier checks it once.) */
__noinline int show_abstract(struct path_record *record)
{
    uint32_t seen = 0;

    if (record == NULL)
        return 0;
    for (int i = sizeof(((struct sockaddr_un *)0)->sun_path) - 1; i >= 0; i--) {
        uint32_t byte = (uint8_t)record->name[i];

        /* no branch, because the verifier would follow every combination */
        seen |= byte;
        record->name[i] = byte | ('@' & ((byte - 1) >> 8) & (0 - seen) >> 8);
    }
    record->name[0] = '@';
    return 0;
}

/* Copies the address that a UNIX socket is bound to; false if it is not bound. */
static __always_inline bool fill_unix_name(struct path_record *record, struct unix_sock *sk)
{
    struct unix_address *address = BPF_CORE_READ(sk, addr);
    uint32_t length;

    if (address == NULL)
        return false;
    length = BPF_CORE_READ(address, len) - sizeof(unsigned short);
    /* keeps clang from checking one value and using another: the verifier must see the check */
    asm volatile("" : "+r"(length));
    /* the kernel adds a NUL to a name that fills all of its place */
    if (length > sizeof(((struct sockaddr_un *)0)->sun_path) + 1)
        return false;
    /* and from merging both comparisons, which verifiers before Linux 7.0 cannot follow */
    asm volatile("" : "+r"(length));
    if (length == 0)
        return false;
    bpf_core_read(record->name, length, &address->name[0].sun_path);
    if (record->name[0] == '\0')
        show_abstract(record);
    return true;
}

/* Name of a UNIX socket, and its role if that is not known yet. Only an accepted socket shares its address with another
 * one (its listener); connecting clients are usually not bound. */
static __always_inline void fill_unix(struct path_record *record, struct unix_sock *sk)
{
    struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ(sk, peer);
    struct unix_address *own = BPF_CORE_READ(sk, addr);
    struct unix_address *others = peer == NULL ? NULL : BPF_CORE_READ(peer, addr);

    if (fill_unix_name(record, sk))
        record->name_end = PATH_NAME_LOCAL;
    else if (peer != NULL && fill_unix_name(record, peer))
        record->name_end = PATH_NAME_REMOTE;
    if (record->kind == PATH_UNIX_DATAGRAM || (own == NULL && others == NULL))
        return;
    if (others == NULL)
        record->role = PATH_ROLE_ACCEPTED;
    else if (own == NULL)
        record->role = PATH_ROLE_CONNECTED;
    else if (BPF_CORE_READ(own, refcnt.refs.counter) > 1)
        record->role = PATH_ROLE_ACCEPTED;
    else if (BPF_CORE_READ(others, refcnt.refs.counter) > 1)
        record->role = PATH_ROLE_CONNECTED;
    /* both are bound and the listener is closed: the role stays unknown */
}

/* Reserves the PATH record of an end that is used for the first time, with its number, which becomes `*number`. NULL:
 * `*number` is the one that another CPU has given it, or 0 if the ring is full or numbers are used up. */
static __always_inline struct path_record *claim_path(uint32_t *number, uint32_t kind)
{
    struct path_record *record = bpf_ringbuf_reserve(&control_ring, sizeof(struct path_record), 0);
    uint64_t time = bpf_ktime_get_ns();
    uint32_t given;

    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return NULL;
    }
    given = new_path_number(kind);
    if (given == 0 || __sync_val_compare_and_swap(number, 0, given) != 0) {
        bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
        return NULL;
    }
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = time;
    record->header.id = EVENT_PATH;
    record->path = given;
    return record;
}

static __always_inline void fill_path(struct path_record *record, struct path *path,
                                      const struct socket_facts *facts, const struct udp_key *udp,
                                      uint32_t flags, uint64_t time)
{
    struct sock *sk = facts->sk;

    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = time;
    record->header.id = EVENT_PATH;
    record->header.flags = RECORD_NO_STREAM | flags;
    record->path = path->number;
    record->kind = facts->kind;
    record->family = facts->family;
    record->role = path->role;
    record->cookie = facts->cookie;
    record->peer = facts->peer;
    record->inode = facts->inode;
    record->network = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
    record->start_out = path->start_out;
    record->start_in = path->start_in;
    if (udp != NULL && (path->state & PATH_MANY))
        record->header.flags |= RECORD_MANY;
    if (facts->family == AF_UNIX)
        fill_unix(record, (struct unix_sock *)sk);
    else if (udp != NULL)
        fill_udp(record, udp);
    else
        fill_internet(record, sk);
    path->role = record->role;
    path->kind = facts->kind;
    path->inode = facts->inode;
}

/* Writes the PATH record of `path` (`udp`: the addresses of a UDP path, else NULL). A `number` other than 0 becomes the
 * path's number. The time is taken before that, so that every CPU that sees the number has a later time. Returns false
 * if the ring is full, if it has no number, or if another stream has numbered and recorded the path first. */
__noinline bool write_path(struct path *path, const struct socket_facts *facts,
                           const struct udp_key *udp, uint32_t flags, uint32_t number)
{
    struct path_record *record;
    uint64_t time;

    if (path == NULL || facts == NULL || (number == 0 && path->number == 0))
        return false;
    record = bpf_ringbuf_reserve(&control_ring, sizeof(struct path_record), 0);
    time = bpf_ktime_get_ns();
    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return false;
    }
    if (number != 0 && __sync_val_compare_and_swap(&path->number, 0, number) != 0) {
        bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
        return false;
    }
    path->moved = 0;
    fill_path(record, path, facts, udp, flags, time);
    submit(record);
    return true;
}

/* A silent stream has sent or received (`moved`) everything before `next`. The recorded part of the path begins
 * there. */
static __always_inline void begin_behind(struct path *path, enum path_moved moved, uint32_t next)
{
    uint32_t *start = moved == PATH_MOVED_OUT ? &path->start_out : &path->start_in;

    if ((path->number == 0 && (path->moved & moved) == 0) || (int32_t)(next - *start) > 0)
        *start = next;
    __sync_fetch_and_or(&path->moved, moved);
}

/* For a path whose PATH record was just made. */
static __always_inline void tell_beginning(struct stream *stream, struct path *path, bool created,
                                           uint32_t role)
{
    struct message *message = &stream->scratch.beginning;

    *message = (struct message){.path = path->number};
    if (created)
        write_message(stream, EVENT_CREATEPATH, message);
    if (role == PATH_ROLE_CONNECTED) {
        message->begin = path->kind == PATH_TCP ? path->called_at : 0;
        write_message(stream, EVENT_CONNECT, message);
    } else if (role == PATH_ROLE_ACCEPTED) {
        message->begin = path->established;
        write_message(stream, EVENT_ACCEPT, message);
    }
}

/* The same at the path's first use, if PATH was made ahead of that. */
__noinline int tell_beginning_now(struct stream *stream, struct path *path, bool created)
{
    if (stream != NULL && path != NULL)
        tell_beginning(stream, path, created, path->role);
    return 0;
}

/* ---- paths recorded ahead of their first use ---- */

/* A task that finds such a path's number must also find that it was recorded ahead. So `ahead` is set first, to the
 * future number. If the first use comes in between, the path gets another number, and is not ahead. Returns the number
 * to use: two tasks that do this at once agree on one. */
static __always_inline uint32_t tell_ahead(struct path *path, uint32_t number)
{
    uint32_t others = __sync_val_compare_and_swap(&path->ahead, 0, number);

    return others != 0 ? others : number;
}

static __always_inline void not_told_ahead(struct path *path, uint32_t number)
{
    if (path->number != number)
        __sync_val_compare_and_swap(&path->ahead, number, 0);
}

static __always_inline bool is_told_ahead(const struct path *path)
{
    return path->ahead != 0 && path->ahead == path->number;
}

/* Whether the caller has to record the path's beginning. */
static __always_inline bool begins_now(struct path *path)
{
    uint32_t number = path->number;

    return is_told_ahead(path) && __sync_val_compare_and_swap(&path->ahead, number, 0) == number;
}

/* Returns the number of a path whose socket's inode is known: the one that a blocked call has given it (with `any`: or
 * any other), else `number`, which is provisional with `any`. 0, only with `any`: it cannot be stored, and each call that
 * blocks there would give it another number. */
__noinline uint32_t claim_inode(const struct socket_facts *facts, uint32_t number, bool any)
{
    struct inode_path entry = {.number = number, .provisional = any}, *known;
    uint64_t inode;

    if (facts == NULL)
        return number;
    inode = facts->inode;
    entry.peer = facts->peer;
    if (is_swept(facts, any))
        entry.address = (uint64_t)facts->sk;
    if (number != 0 && bpf_map_update_elem(&path_of_inode, &inode, &entry, BPF_NOEXIST) == 0) {
        if (entry.address != 0)
            inodes_to_sweep = 1;
        return number;
    }
    known = bpf_map_lookup_elem(&path_of_inode, &inode);
    if (known == NULL) {
        if (number != 0)
            __sync_fetch_and_add(&lost_paths, 1);
        return any ? 0 : number;
    }
    return any || known->provisional ? known->number : number;
}

/* From now on the descriptor alone identifies the path. */
__noinline int find_by_inode(struct path *path, const struct socket_facts *facts)
{
    struct inode_path entry = {};
    uint64_t inode;

    if (path == NULL || facts == NULL)
        return 0;
    entry.number = path->number;
    inode = path->inode;
    if (is_swept(facts, false)) {
        entry.address = (uint64_t)facts->sk;
        entry.peer = facts->peer;
        inodes_to_sweep = 1;
    }
    if (bpf_map_update_elem(&path_of_inode, &inode, &entry, BPF_ANY) != 0)
        __sync_fetch_and_add(&lost_paths, 1);
    return 0;
}

/* ---- connections whose accept was seen ---- */

/* Whether the caller has to record that the connection of this cookie was accepted: it is not recorded yet. */
static __always_inline bool claim_accepted(struct accepted *connection)
{
    return __sync_val_compare_and_swap(&connection->told, 0, 1) == 0;
}

/* The path takes the number under which its connection was recorded when accept returned it. False: it was not; then
 * the number is free for the first use (`keep`: or for accept, if that comes first). */
static __noinline bool take_accepted(struct path *path, uint64_t cookie, bool keep)
{
    struct accepted *connection = bpf_map_lookup_elem(&accepted, &cookie);

    if (connection == NULL || (keep && connection->told == 0)) {
        path->reserved = connection == NULL ? 0 : path->reserved;
        return false;
    }
    bool told = !claim_accepted(connection);
    if (told) {
        path->kind = PATH_TCP;
        path->inode = connection->inode;
        __sync_val_compare_and_swap(&path->number, 0, connection->number);
    }
    path->reserved = 0;
    bpf_map_delete_elem(&accepted, &cookie);
    return told;
}

/* Repeats PATH for a connection that has `moved`, if it is time. The scratch facts hold the socket: the verifier lets a
 * pointer in memory pass, as a number. */
__noinline int tell_again(struct stream *stream, struct path *path)
{
    struct socket_facts *facts;
    struct sock *sk;
    uint32_t moved;
    bool begins;

    if (stream == NULL || path == NULL || silent(stream))
        return 0;
    facts = &stream->scratch.facts;
    sk = facts->sk;
    begins = begins_now(path);
    moved = __sync_fetch_and_and(&path->moved, ~PATH_CREATED);
    facts->connected = false;
    facts->peer = 0;
    facts->cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
    facts->inode = begins ? inode_of_socket(sk) : path->inode;
    facts->family = BPF_CORE_READ(sk, __sk_common.skc_family);
    facts->kind = path->kind;
    if (facts->family == AF_UNIX) {
        struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);

        facts->peer = peer == NULL ? 0 : BPF_CORE_READ(peer, __sk_common.skc_cookie.counter);
    }
    if (begins && path->reserved != 0 && take_accepted(path, facts->cookie, false)) {
        if ((moved & (PATH_MOVED_OUT | PATH_MOVED_IN)) == 0)
            return 0;
        begins = false;
    }
    write_path(path, facts, NULL, moved & (PATH_MOVED_OUT | PATH_MOVED_IN) ? RECORD_OLDER : 0, 0);
    if (begins) {
        find_by_inode(path, facts);
        tell_beginning(stream, path, (moved & PATH_CREATED) == 0, path->role);
    }
    return 0;
}

/* Records a path that `stream` uses for the first time. `stream` NULL: data was queued for it, ahead of its first use.
 * Takes over the number that a blocked call has already given to the socket's inode (`provisional`). */
__noinline uint32_t make_path(struct stream *stream, struct path *path,
                              const struct socket_facts *facts, const struct udp_key *udp)
{
    uint32_t number, given, role, flags = 0;
    bool created;

    if (path == NULL || facts == NULL || (stream != NULL && silent(stream)))
        return 0; /* recorded at its next use */
    number = take_made(facts);
    given = 0; /* with a number that it got when it was made, CREATEPATH is not repeated */
    if (number == 0)
        given = number = new_path_number(facts->kind);
    if (path->reserved != 0 && facts->kind == PATH_TCP) {
        given = number = path->reserved;
        if (take_accepted(path, facts->cookie, stream == NULL))
            return path->number;
    }
    if (facts->kind == PATH_TCP && (path->state & PATH_ESTABLISHED) == 0)
        flags = RECORD_OLDER;
    if (facts->family == AF_UNIX) {
        /* it may have been used while the stream was silent; a recording stream's datagram may be numbered already */
        path->start_out = path->out;
        if (facts->kind != PATH_UNIX_DATAGRAM)
            path->start_in = path->in;
        flags = (path->start_out | path->start_in) != 0 ? RECORD_OLDER : 0;
    }
    if (facts->connected && facts->inode != 0)
        number = claim_inode(facts, number, false);
    created = number == given;
    if (stream == NULL)
        number = tell_ahead(path, number);
    /* if two streams use the socket for the first time at once, one records it; if the ring is full, the next use tries
     * again */
    if (!write_path(path, facts, udp, flags, number)) {
        if (stream == NULL)
            not_told_ahead(path, number);
        if (given == 0 && path->number != number)
            end_made(number);
        return path->number;
    }
    /* connected or accepted before recording started? */
    role = flags != 0 && path->established < begun_at ? PATH_ROLE_UNKNOWN : path->role;
    if (facts->kind == PATH_TCP && role == PATH_ROLE_CONNECTED && path->connector != 0)
        role = PATH_ROLE_UNKNOWN; /* fast open: data goes out before the outcome is known */
    if (stream != NULL)
        tell_beginning(stream, path, created, role);
    else if (!created)
        __sync_fetch_and_or(&path->moved, PATH_CREATED);
    if (facts->connected && facts->inode != 0)
        find_by_inode(path, facts);
    return path->number;
}

/* Network statistics of a connection. */
static __always_inline void fill_network(struct record *record, uint32_t path, struct tcp_sock *tcp)
{
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = bpf_ktime_get_ns();
    record->header.id = EVENT_NETWORK;
    record->header.flags = RECORD_NO_STREAM;
    record->network.path = path;
    record->network.retransmitted = tcp->total_retrans;
    record->network.round_trip = tcp->srtt_us >> 3;
    record->network.unacknowledged = tcp->snd_nxt - tcp->snd_una;
}

#endif
