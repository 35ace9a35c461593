/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * descriptor.bpf.h: from a descriptor to its file, its socket, and the socket's path. For a task that is about to sleep
 * only the descriptor is known, and the objects behind it only by address.
 */
#ifndef DPM_DESCRIPTOR_BPF_H
#define DPM_DESCRIPTOR_BPF_H

#include "meter/kernel/socket_path.bpf.h"

/* ---- sockets of listed descriptors ---- */

/* For iterators over files, whose pointers the kernel trusts. NULL: not a socket. */
static __always_inline struct sock *sock_of_file(struct file *file)
{
    struct socket *socket = bpf_sock_from_file(file);

    return socket == NULL ? NULL : socket->sk;
}

/* ---- sockets known only by a blocked task's descriptor ---- */

/* The open file of a descriptor, for reading only; NULL: there is none. */
static __always_inline struct file *file_of_descriptor(struct task_struct *task,
                                                       uint32_t descriptor)
{
    struct files_struct *files = plain_task(task)->files;
    struct fdtable *table = files == NULL ? NULL : files->fdt;
    uint64_t slot = 0;

    if (table == NULL || descriptor >= table->max_fds ||
        bpf_probe_read_kernel(&slot, sizeof(slot), &table->fd[descriptor]) != 0 || slot == 0)
        return NULL;
    return (struct file *)slot;
}

static __always_inline bool is_socket(struct file *file)
{
    struct inode *inode = MEMBER(struct file, file, f_inode);

    return inode != NULL && (MEMBER(struct inode, inode, i_mode) & S_IFMT) == S_IFSOCK;
}

/* The kind of the socket at this address. */
static __always_inline uint32_t kind_at(struct sock *sk)
{
    return kind_of_socket(MEMBER(struct sock, sk, __sk_common.skc_family),
                          MEMBER(struct sock, sk, sk_type), MEMBER(struct sock, sk, sk_protocol));
}

/* Address of the socket behind a descriptor; NULL: not a socket. */
static __always_inline struct sock *socket_of_descriptor(struct task_struct *task,
                                                         uint32_t descriptor)
{
    struct file *file = file_of_descriptor(task, descriptor);
    struct socket *socket;

    if (file == NULL || !is_socket(file))
        return NULL;
    socket = MEMBER(struct file, file, private_data);
    return BPF_CORE_READ(socket, sk);
}

/* Cookie of the socket behind a descriptor; 0: not a socket, or its cookie was never requested. */
static __always_inline uint64_t cookie_of_descriptor(struct task_struct *task, uint32_t descriptor)
{
    struct sock *sk = socket_of_descriptor(task, descriptor);

    return sk == NULL ? 0 : BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

/* Path number of a UDP socket: the path to its peer if it is connected, else the one without a peer. */
static __always_inline uint32_t udp_path_of_socket(struct stream *stream, struct sock *sk)
{
    struct scratch *scratch = scratch_of(stream);
    uint64_t cookie = MEMBER(struct sock, sk, __sk_common.skc_cookie.counter);
    struct path *path;

    /* its cookie was never requested: it is older than the metering and was not used yet */
    if (cookie == 0 || scratch == NULL)
        return 0;
    __builtin_memset(&scratch->key, 0, sizeof(scratch->key));
    key_of_socket(&scratch->key, sk, cookie);
    path = udp_path(stream, NULL, sk, &scratch->key);
    return path == NULL ? 0 : path->number;
}

/* Fills in the facts and starting positions of the socket at this address. */
static __always_inline void fill_facts_at(struct scratch *scratch, struct sock *sk, uint64_t inode)
{
    struct socket_facts *facts = &scratch->facts;

    *facts = (struct socket_facts){
        .sk = sk,
        .cookie = MEMBER(struct sock, sk, __sk_common.skc_cookie.counter),
        .inode = inode,
        .family = MEMBER(struct sock, sk, __sk_common.skc_family),
        .kind = kind_at(sk),
    };
    __builtin_memset(&scratch->path, 0, sizeof(scratch->path));
    if (facts->family == AF_UNIX) {
        struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);

        facts->peer = BPF_CORE_READ(peer, __sk_common.skc_cookie.counter);
    } else {
        scratch->path.start_out = BPF_CORE_READ((struct tcp_sock *)sk, write_seq);
        scratch->path.start_in = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq);
    }
}

/* Records the path of a socket for a blocked call that knows only its descriptor. */
static __noinline uint32_t make_path_at(struct stream *stream, struct sock *sk, uint64_t inode)
{
    struct scratch *scratch = &stream->scratch;
    struct message *message = &scratch->beginning;
    uint32_t number;
    bool made;

    fill_facts_at(scratch, sk, inode);
    *message = (struct message){.path = made_or_new_number(&scratch->facts, &made)};
    number = claim_inode(&scratch->facts, message->path, true);
    if (number == 0 || number != message->path) {
        /* another stream was quicker; or there is no room, or no number, and then the wait is a BLOCK */
        if (made)
            end_made(message->path);
        else
            return_path_number(message->path);
        return number;
    }
    if (!write_path(&scratch->path, &scratch->facts, NULL, 0, number)) {
        bpf_map_delete_elem(&path_of_inode, &inode);
        return 0;
    }
    if (!made)
        write_message(stream, EVENT_CREATEPATH, message);
    return number;
}

/* Path number for descriptor `fd` of the current task, which is about to sleep. `make`: records the path if it is new; not in a
 * poll, before which a connection may be in the making. 0: not a socket of a metered kind, or a new one. */
__noinline uint32_t path_of_descriptor(struct stream *stream, uint32_t fd, bool make)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), fd);
    struct inode_path *known;
    uint64_t inode;
    struct sock *sk;
    uint8_t kind;
    void *data;

    if (stream == NULL || file == NULL || !is_socket(file))
        return 0;
    data = MEMBER(struct file, file, f_inode);
    inode = MEMBER(struct inode, data, i_ino);
    data = MEMBER(struct file, file, private_data);
    sk = MEMBER(struct socket, data, sk);
    kind = sk == NULL ? 0 : kind_at(sk);
    if (kind == PATH_UDP)
        return udp_path_of_socket(stream, sk);
    known = bpf_map_lookup_elem(&path_of_inode, &inode);
    if (known != NULL)
        return known->number;
    return kind == 0 || !make ? 0 : make_path_at(stream, sk, inode);
}

#endif
