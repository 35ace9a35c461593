/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * descriptor.bpf.h: what is behind a descriptor: its file, its socket, that socket's path. Of a task that
 * is about to sleep only the descriptor is known, and what is behind it by its address only.
 */
#ifndef DPM_DESCRIPTOR_BPF_H
#define DPM_DESCRIPTOR_BPF_H

#include "meter/socket_path.bpf.h"

/* ---- the socket behind a listed descriptor ---- */

/* For iterators over files, whose pointers the kernel trusts. NULL: not a socket. */
static __always_inline struct sock *sock_of_file(struct file *file)
{
    struct socket *socket = bpf_sock_from_file(file);

    return socket == NULL ? NULL : socket->sk;
}

/* ---- a socket known by a blocked task's descriptor only ---- */

/* The open file behind a descriptor, to be read from; NULL: there is none. */
static __always_inline struct file *file_of_descriptor(struct task_struct *task,
                                                       uint32_t descriptor)
{
    struct files_struct *files = plain_task(task)->files;
    struct fdtable *table = files == NULL ? NULL : files->fdt;
    uint64_t slot = 0;

    if (table == NULL || descriptor >= table->max_fds ||
        bpf_probe_read_kernel(&slot, sizeof(slot), &table->fd[descriptor]) != 0 || slot == 0)
        return NULL;
    return PLAIN(struct file, slot);
}

static __always_inline bool is_socket(struct file *file)
{
    struct inode *inode = file->f_inode;

    return inode != NULL && (inode->i_mode & S_IFMT) == S_IFSOCK;
}

/* The socket behind a descriptor, known by its address; NULL: it is none. */
static __always_inline struct sock *socket_of_descriptor(struct task_struct *task,
                                                         uint32_t descriptor)
{
    struct file *file = file_of_descriptor(task, descriptor);
    struct socket *socket;

    if (file == NULL || !is_socket(file))
        return NULL;
    socket = file->private_data;
    return BPF_CORE_READ(socket, sk);
}

/* Cookie of the socket behind a descriptor; 0: it is none, or nobody has asked for its cookie yet. */
static __always_inline uint64_t cookie_of_descriptor(struct task_struct *task, uint32_t descriptor)
{
    struct sock *sk = socket_of_descriptor(task, descriptor);

    return sk == NULL ? 0 : BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

/* Number of the path of a UDP socket: to its peer if it is connected, else that without a peer.
 * -1: it is no UDP socket. */
static __always_inline int udp_path_of_file(struct stream *stream, struct file *file)
{
    struct sock *sk = PLAIN(struct socket, file->private_data)->sk;
    struct udp_key key = {};
    struct path *path;
    uint64_t cookie;

    if (sk == NULL ||
        kind_of_socket(sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol) != PATH_UDP)
        return -1;
    cookie = sk->__sk_common.skc_cookie.counter;
    /* nobody has asked for its cookie: it is older than the metering and was not used yet */
    if (cookie == 0)
        return 0;
    key_of_socket(&key, sk, cookie);
    path = udp_path(stream, NULL, sk, &key);
    return path == NULL ? 0 : path->number;
}

/* Number of the path behind descriptor `fd` of the current task (which is about to sleep), told if
 * it is new; 0: not a socket of a kind we meter. */
__noinline uint32_t path_of_descriptor(struct stream *stream, uint32_t fd)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), fd);
    struct socket_facts facts = {};
    struct message message = {};
    struct inode_path *known;
    struct path path = {};
    uint32_t number;
    struct sock *sk;

    if (stream == NULL || file == NULL || !is_socket(file))
        return 0;
    facts.inode = file->f_inode->i_ino;
    if (kinds_in_force & METER_UDP) {
        int udp = udp_path_of_file(stream, file);

        if (udp >= 0)
            return udp;
    }
    known = bpf_map_lookup_elem(&path_of_inode, &facts.inode);
    if (known != NULL)
        return known->number;
    sk = PLAIN(struct socket, file->private_data)->sk;
    if (sk == NULL)
        return 0;
    facts.sk = sk;
    facts.family = sk->__sk_common.skc_family;
    facts.kind = kind_of_socket(facts.family, sk->sk_type, sk->sk_protocol);
    if (facts.kind == 0)
        return 0;
    facts.cookie = sk->__sk_common.skc_cookie.counter;
    if (facts.family == AF_UNIX) {
        struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);

        facts.peer = BPF_CORE_READ(peer, __sk_common.skc_cookie.counter);
    } else {
        path.start_out = BPF_CORE_READ((struct tcp_sock *)sk, write_seq);
        path.start_in = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq);
    }
    message.path = new_path_number();
    number = claim_inode(facts.inode, message.path, true);
    if (number != message.path)
        return number; /* somebody was quicker */
    if (!write_path(&path, &facts, NULL, 0, number)) {
        bpf_map_delete_elem(&path_of_inode, &facts.inode);
        return 0;
    }
    write_message(stream, EVENT_CREATEPATH, &message);
    return path.number;
}

#endif
