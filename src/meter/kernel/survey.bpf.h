/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* survey.bpf.h: iterators that list what is alive. User space runs them. */
#ifndef DPM_SURVEY_BPF_H
#define DPM_SURVEY_BPF_H

#include "meter/kernel/cpu_wait.bpf.h"
#include "meter/kernel/unseen.bpf.h"

/* after call.bpf.h, which declares the types */
#include "meter/shared/survey.h"

/* Lists the live metered streams, with their losses that no record has reported yet. */
SEC("iter/task")
int survey_streams(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream = task == NULL ? NULL : bpf_task_storage_get(&streams, task, NULL, 0);
    struct survey_stream line = {};

    if (stream == NULL || stream->flags == 0)
        return 0;
    if (listing && is_silent_now(stream) &&
        __sync_val_compare_and_swap(&stream->listed, STREAM_UNLISTED, STREAM_LISTED) ==
            STREAM_NEVER_LISTED)
        return 0;
    fill_stream(&line.identity, stream, task);
    line.lost[0] = stream->lost[0];
    line.lost[1] = stream->lost[1];
    line.sequence = stream->sequence;
    line.silent = is_silent_now(stream);
    line.runnable = waited_for_cpu(task);
    line.voluntary = task->nvcsw;
    line.involuntary = task->nivcsw;
    line.load = BPF_CORE_READ(task, mm, start_code);
    line.inode = BPF_CORE_READ(task, mm, exe_file, f_inode, i_ino);
    line.device = BPF_CORE_READ(task, mm, exe_file, f_inode, i_sb, s_dev);
    bpf_seq_write(context->meta->seq, &line, sizeof(line));
    return 0;
}

/* Lists the live UNIX sockets that the meter knows. Records on the way what was taken from them unseen. */
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

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct record);
} network_line SEC(".maps");

/* Lists the TCP connections that outlive the recording, each once: NETWORK. */
SEC("iter/task_file")
int survey_connections(struct bpf_iter__task_file *context)
{
    struct task_struct *task = context->task;
    struct file *file = context->file;
    struct tcp_sock *tcp;
    struct record *line;
    struct path *path;
    struct sock *sk;
    uint32_t zero = 0;

    if (task == NULL || file == NULL || stream_of(task) == NULL)
        return 0;
    sk = sock_of_file(file);
    if (sk == NULL || sk->sk_protocol != IPPROTO_TCP)
        return 0;
    path = bpf_sk_storage_get(&paths, sk, NULL, 0);
    tcp = bpf_skc_to_tcp_sock(sk);
    line = bpf_map_lookup_elem(&network_line, &zero);
    if (path == NULL || tcp == NULL || line == NULL || path->number == 0 || path->listed)
        return 0;
    path->listed = 1;
    fill_network(line, path->number, tcp);
    bpf_seq_write(context->meta->seq, line, sizeof(*line));
    return 0;
}

#endif
