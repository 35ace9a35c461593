/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* made_call.bpf.h: the end of socket and socketpair: sockets that are not used yet (made.bpf.h). */
#ifndef DPM_MADE_CALL_BPF_H
#define DPM_MADE_CALL_BPF_H

#include "meter/kernel/call.bpf.h"

static __always_inline bool makes_sockets(uint32_t call)
{
    return (kinds_in_force & (METER_TCP | METER_UDP | METER_UNIX)) &&
           (call == CALL_SOCKET || call == CALL_SOCKETPAIR);
}

/* The current task has made the socket behind this descriptor: records it. */
__noinline int socket_made(struct stream *stream, uint32_t descriptor)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct made_socket made = {};
    struct scratch *scratch;
    struct message *message;
    struct inode *inode;
    struct sock *sk;
    uint64_t address;
    uint32_t kind;

    if (stream == NULL || file == NULL || !is_socket(file) || silent(stream))
        return 0;
    sk = socket_of_descriptor(bpf_get_current_task_btf(), descriptor);
    kind = sk == NULL ? 0 : kind_at(sk);
    if (kind == 0 || !tells_of_kind(stream, EVENT_CREATEPATH, METER_KIND_OF(kind)))
        return 0;
    address = (uint64_t)sk;
    inode = MEMBER(struct file, file, f_inode);
    made.inode = MEMBER(struct inode, inode, i_ino);
    scratch = &stream->scratch;
    scratch->facts = (struct socket_facts){.sk = sk};
    take_made(&scratch->facts); /* ends an older one with this address */
    made.number = new_path_number(kind);
    if (bpf_map_update_elem(&made_sockets, &address, &made, BPF_NOEXIST) != 0) {
        __sync_fetch_and_add(&lost_paths, 1);
        return 0;
    }
    __sync_fetch_and_add(&made_known, 1);
    fill_facts_at(scratch, sk, made.inode);
    scratch->path.start_out = scratch->path.start_in = 0;
    scratch->path.number = made.number;
    if (!write_path(&scratch->path, &scratch->facts, NULL, RECORD_UNUSED, 0)) {
        take_made(&scratch->facts);
        return 0;
    }
    message = &scratch->beginning;
    *message = (struct message){.path = made.number};
    write_message(stream, EVENT_CREATEPATH, message);
    return 0;
}

__noinline int sockets_made(struct stream *stream, uint64_t pair)
{
    int descriptors[2];

    if (stream == NULL ||
        bpf_probe_read_user(descriptors, sizeof(descriptors), (const void *)pair) != 0)
        return 0;
    socket_made(stream, descriptors[0]);
    return socket_made(stream, descriptors[1]);
}

/* The end of socket or socketpair: sys_exit. */
static __always_inline int making_call_ended(struct stream *stream, uint32_t call,
                                             const struct pt_regs *registers, int64_t result)
{
    if (stream == NULL || result < 0)
        return 0;
    return call == CALL_SOCKET ? socket_made(stream, result) : sockets_made(stream, registers->r10);
}

#endif
