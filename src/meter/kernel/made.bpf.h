/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * made.bpf.h: sockets that were made and not used yet.
 *
 *      socket() = 3             PATH (unused) and CREATEPATH, number 7      made_call.bpf.h
 *      connect(3, ...)          PATH of number 7, now with addresses; CONNECT
 *      close(3), never used     DESTROYPATH of number 7, by the next sweep
 *
 * The call that has made a socket knows it only by its address, which the next socket may have when this one is closed. So an
 * entry counts only for the socket with its inode: these numbers are not used again soon. In the same way the sweep finds used
 * sockets that are closed, if nothing else does.
 */
#ifndef DPM_MADE_BPF_H
#define DPM_MADE_BPF_H

#include "meter/kernel/write.bpf.h"

/* `sk` may be known only by address. */
static __always_inline uint64_t inode_of_socket(struct sock *sk)
{
    struct socket_alloc *socket = (struct socket_alloc *)BPF_CORE_READ(sk, sk_socket);

    return socket == NULL ? 0 : BPF_CORE_READ(socket, vfs_inode.i_ino);
}

/* The last number that a path gets. Tasks that draw one at the same time may come to lie behind it; none comes round to 0. */
#define LAST_PATH_NUMBER ((kinds_change ? ~0u >> PATH_KIND_BITS : ~0u) - (1u << 16))

/* 0: they are used up, and the path's record is lost. A reader would take a second path of the same number for the first. */
static __always_inline uint32_t new_path_number(uint32_t kind)
{
    uint32_t number;

    if (*(volatile uint32_t *)&last_path >= LAST_PATH_NUMBER) {
        numbers_ended = 1;
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    number = __sync_fetch_and_add(&last_path, 1) + 1;
    return kinds_change ? number << PATH_KIND_BITS | meter_kind_bit(kind) : number;
}

struct made_socket {
    uint64_t inode;
    uint32_t number; /* of its path */
    uint32_t unused;
};

/* By the socket's address. User space sets how many entries it has. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, uint64_t);
    __type(value, struct made_socket);
} made_sockets SEC(".maps");

uint32_t made_known; /* entries of made_sockets */

/* The socket is closed, or its path got another number. */
static __always_inline void end_made(uint32_t number)
{
    if (is_told_now(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, number, 0);
}

/* The entry's number, for the one caller that removes it; 0: another one did. */
static __always_inline uint32_t remove_made(const struct made_socket *made, uint64_t address)
{
    uint32_t number = made->number;

    if (bpf_map_delete_elem(&made_sockets, &address) != 0)
        return 0;
    __sync_fetch_and_add(&made_known, -1);
    return number;
}

/* The number that the path of `facts->sk`, with this inode, got when the socket was made: the caller uses it, or ends it. 0:
 * none, or it was used already. */
__noinline uint32_t take_made(const struct socket_facts *facts)
{
    const struct made_socket *made;
    uint64_t address;

    if (facts == NULL || made_known == 0)
        return 0;
    address = (uint64_t)facts->sk;
    made = bpf_map_lookup_elem(&made_sockets, &address);
    if (made == NULL)
        return 0;
    bool same = made->inode == facts->inode;
    uint32_t number = remove_made(made, address);
    if (number == 0 || same)
        return number;
    end_made(number);
    return 0;
}

/* As take_made, or else a new number. `*ret_made`: which of these. */
static __always_inline uint32_t made_or_new_number(const struct socket_facts *facts, bool *ret_made)
{
    uint32_t number = take_made(facts);

    *ret_made = number != 0;
    return number != 0 ? number : new_path_number(facts->kind);
}

/* Gives a number (0: none) back that no path has got; it is lost if another was drawn since. */
static __always_inline void return_path_number(uint32_t number)
{
    uint32_t drawn = kinds_change ? number >> PATH_KIND_BITS : number;

    __sync_val_compare_and_swap(&last_path, drawn, drawn - 1);
}

/* User space lists the UNIX sockets of its own network namespace, and ends their paths (load/sockets.c). */
static __always_inline bool is_in_own_network(struct sock *sk)
{
    return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) == own_network;
}

/* Whether the sweep has to find out that a used socket is closed. TCP has a hook for that, and datagrams have sweep_pairs, but not
 * for a `provisional` path, which only a wait has used. */
static __always_inline bool is_swept(const struct socket_facts *facts, bool provisional)
{
    if (!provisional && facts->kind != PATH_UNIX_STREAM && facts->kind != PATH_UNIX_SEQPACKET)
        return false;
    /* user space knows a socket by its cookie; one that has another inode (SMC, over TCP) would always look closed */
    return !(facts->family == AF_UNIX && facts->cookie != 0 && is_in_own_network(facts->sk)) &&
           inode_of_socket(facts->sk) == facts->inode;
}

uint32_t inodes_to_sweep; /* path_of_inode may have entries with an address */

/* Ends the paths of closed sockets that user space cannot list: those of other network namespaces, and those that only a wait has
 * used. */
static long sweep_inode(void *map, const uint64_t *key, struct inode_path *known, void *context)
{
    uint64_t inode = *key, peer = known->peer;
    uint32_t number = known->number;

    if (known->address == 0)
        return 0;
    inodes_to_sweep = 1;
    if (inode_of_socket((struct sock *)known->address) == inode) {
        known->gone = 0;
        return 0;
    }
    if (!known->gone) {
        known->gone = 1;
        return 0;
    }
    if (bpf_map_delete_elem(&path_of_inode, &inode) != 0)
        return 0;
    bpf_map_delete_elem(&incoming, &peer);
    end_made(number);
    return 0;
}

static long sweep_made_socket(void *map, const uint64_t *key, struct made_socket *made,
                              void *context)
{
    uint64_t address = *key;
    uint32_t number;

    if (inode_of_socket((struct sock *)address) == made->inode)
        return 0;
    number = remove_made(made, address);
    if (number != 0)
        end_made(number);
    return 0;
}

/* About once a second. */
SEC("syscall")
int sweep_made(void *context)
{
    /* else all buckets would be looked at, also where the ends of calls are not hooked */
    if (made_known != 0)
        bpf_for_each_map_elem(&made_sockets, sweep_made_socket, NULL, 0);
    if (inodes_to_sweep != 0) {
        inodes_to_sweep = 0;
        bpf_for_each_map_elem(&path_of_inode, sweep_inode, NULL, 0);
    }
    return 0;
}

#endif
