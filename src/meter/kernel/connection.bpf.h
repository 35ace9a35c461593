/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * connection.bpf.h: how TCP connections begin and end. These hooks run mostly in interrupts. What they see is stored
 * with the socket, and recorded at the path's first use (path.bpf.h).
 */
#ifndef DPM_CONNECTION_BPF_H
#define DPM_CONNECTION_BPF_H

#include "meter/kernel/call.bpf.h"

#define FLAGS_OF_CONNECTION                                                                        \
    (EVENT_FLAG(EVENT_CREATEPATH) | EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT))

/* PATH of a TCP socket, outside its owner's calls. */
static __always_inline void tell_tcp_path(struct path *path, struct sock *sk)
{
    struct socket_facts facts = {
        .sk = sk,
        .cookie = bpf_get_socket_cookie(sk),
        .inode = path->inode,
        .family = sk->__sk_common.skc_family,
        .kind = PATH_TCP,
        .connected = true,
    };

    write_path(path, &facts, NULL, 0, 0);
}

static __always_inline void end_path(struct path *path)
{
    uint64_t inode = path->inode;

    if (flags_in_force & EVENT_FLAG(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, path->number, 0);
    path->number = 0;
    path->ahead = 0;
    bpf_map_delete_elem(&path_of_inode, &inode);
}

/* Usually runs in an interrupt, where the current task is unrelated. */
static __always_inline void note_established(struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

    if (path == NULL || tcp == NULL)
        return;
    if (path->number == 0)
        take_positions(path, tcp);
    else if (path->role == PATH_ROLE_CONNECTED)
        /* fast open: data was sent ahead, and only now it is known where the answers begin */
        path->start_in = tcp->copied_seq;
    path->in = path->number == 0 ? path->start_in : tcp->copied_seq;
    path->established = bpf_ktime_get_ns();
    path->arrived = path->in;
    path->state = PATH_KNOWS_IN | PATH_ESTABLISHED | PATH_ARRIVING;
    if (path->number != 0)
        tell_tcp_path(path, sk);
}

/* connect or listen, in their caller. Connections inherit a copy of what their listener gets. */
static __always_inline void note_beginning(struct sock *sk, uint32_t role)
{
    struct path *path = storage_of(sk);

    if (path == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return;
    }
    /* a socket may connect again, to another peer: a new path */
    if (path->number != 0)
        end_path(path);
    path->role = role;
    path->state = 0;
}

static __always_inline void write_network(struct path *path, struct sock *sk)
{
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    struct record *record;

    if (tcp == NULL || (flags_in_force & EVENT_FLAG(EVENT_DESTROYPATH)) == 0)
        return;
    record = bpf_ringbuf_reserve(&control_ring, sizeof(*record), 0);
    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return;
    }
    fill_network(record, path->number, tcp);
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* close or exit, in its caller. NETWORK is recorded now, because the connection may end later, when the metering is
 * over and no task has the socket open any more. `stream`: NULL if it is not metered; an exiting one has ended
 * already. */
static __always_inline void note_close(struct stream *stream, struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    if (path == NULL)
        return;
    if (stream != NULL && wants(stream, FLAGS_OF_CONNECTION))
        path = tcp_path(stream, sk, -1, -1); /* closed without a message: PATH is made now */
    if (path != NULL && path->number != 0)
        write_network(path, sk);
}

/* A part of an MPTCP connection: sends on it pass no TCP hook. A listener's connections need not be parts. */
static __always_inline bool is_part_of_mptcp(struct sock *sk, int new_state)
{
    struct tcp_sock *tcp = new_state == TCP_LISTEN ? NULL : bpf_skc_to_tcp_sock(sk);

    return tcp != NULL && bpf_core_field_exists(tcp->is_mptcp) && tcp->is_mptcp;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sk, int old_state, int new_state)
{
    const uint32_t closes = 1 << TCP_FIN_WAIT1 | 1 << TCP_LAST_ACK;
    const uint32_t calls = 1 << TCP_SYN_SENT | 1 << TCP_LISTEN | closes;
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream;

    if (sk->sk_protocol != IPPROTO_TCP || is_part_of_mptcp(sk, new_state))
        return 0;
    if (new_state == TCP_ESTABLISHED) {
        note_established(sk);
        return 0;
    }
    /* connect, listen and close run in their caller (one branch, so that the verifier passes once) */
    if (!(calls >> (new_state & 31) & 1))
        return 0;
    stream = running_stream(task);
    if (closes >> (new_state & 31) & 1)
        note_close(stream, sk);
    else if (stream != NULL)
        note_beginning(sk, new_state == TCP_LISTEN ? PATH_ROLE_ACCEPTED : PATH_ROLE_CONNECTED);
    return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(tcp_destroy_sock, struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    if (path == NULL || path->number == 0)
        return 0;
    write_network(path, sk);
    end_path(path);
    return 0;
}

#endif
