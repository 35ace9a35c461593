/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * survey.bpf.h: iterators, run when the program outside asks: listing what is alive.
 */
#ifndef DPM_SURVEY_BPF_H
#define DPM_SURVEY_BPF_H

#include "meter/unseen.bpf.h"

/* after call.bpf.h, which brings the types */
#include "meter/survey.h"

/* Lists the metered streams that are alive, with what they lost and could not yet tell. */
SEC("iter/task")
int survey_streams(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream = task == NULL ? NULL : bpf_task_storage_get(&streams, task, NULL, 0);
    struct survey_stream line = {};

    if (stream == NULL || stream->flags == 0)
        return 0;
    fill_stream(&line.identity, stream, task);
    line.lost[0] = stream->lost[0];
    line.lost[1] = stream->lost[1];
    line.sequence = stream->sequence;
    line.silent = silent(stream);
    line.load = BPF_CORE_READ(task, mm, start_code);
    line.inode = BPF_CORE_READ(task, mm, exe_file, f_inode, i_ino);
    line.device = BPF_CORE_READ(task, mm, exe_file, f_inode, i_sb, s_dev);
    bpf_seq_write(context->meta->seq, &line, sizeof(line));
    return 0;
}

/* Lists the UNIX sockets that are alive and known to the meter; what was taken from them unseen is
 * told on the way. */
SEC("iter/unix")
int survey_sockets(struct bpf_iter__unix *context)
{
    struct unix_sock *sk = context->unix_sk;
    struct survey_socket line = {};
    struct path *path = sk == NULL ? NULL : bpf_sk_storage_get(&paths, (struct sock *)sk, NULL, 0);

    if (path == NULL)
        return 0;
    line.cookie = bpf_get_socket_cookie(sk);
    if (path->kind == PATH_UNIX_STREAM && sk->peer != NULL)
        look_for_unseen(path, line.cookie, sk->peer);
    bpf_seq_write(context->meta->seq, &line, sizeof(line));
    return 0;
}

#endif
