/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mark.bpf.h: acquiring running processes: iterators that mark tasks and find the sockets they hold.
 *
 *      mark_tasks      repeated until a pass marks no new task. Marked tasks are silent: their positions are
 *                      tracked, but nothing is recorded. Their calls in progress on UNIX sockets are noted
 *      survey_files    repeated until all positions are settled; lists each path once
 *      begun = N       one store, and all of them record. A path that was used since it was listed is
 *                      recorded again at its next use (path.bpf.h, moved)
 *      begun = 0       one store, and all of them are silent: the metering is over
 */
#ifndef DPM_MARK_BPF_H
#define DPM_MARK_BPF_H

#include "meter/kernel/call.bpf.h"
#include "meter/kernel/file.bpf.h"
#include "meter/kernel/pipe.bpf.h"
#include "meter/kernel/rights.bpf.h"
#include "meter/kernel/schedule.bpf.h"
#include "meter/kernel/settle.bpf.h"
#include "meter/kernel/udp_socket.bpf.h"

/* after these, which declare the types */
#include "meter/shared/survey.h"

/* ---- marking ---- */

/* Addresses of the inodes of DPM's own program files: the one of who loads the meter, and of who reads it. */
#define OWN_PROGRAMS 2
uint64_t own_programs[OWN_PROGRAMS];

static __always_inline uint64_t program_of(struct task_struct *task)
{
    return (uint64_t)BPF_CORE_READ(task, mm, exe_file, f_inode);
}

SEC("iter/task")
int note_own(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    uint64_t program = task == NULL ? 0 : program_of(task);

    note_own_pids();
    if (program == 0) /* the call after the last task has none */
        return 0;
    note_own_root(task); /* who reads comes last */
    if (own_programs[0] == 0)
        own_programs[0] = program;
    else if (own_programs[0] != program)
        own_programs[1] = program;
    return 0;
}

static __always_inline bool is_own(struct task_struct *task)
{
    uint64_t program = program_of(task);

    return task->tgid == bpf_get_current_task_btf()->tgid ||
           (mark_all && (program == own_programs[0] || program == own_programs[1]));
}

/* DPM does not meter itself, unless a user names one of its processes. */
static __always_inline bool to_be_marked(struct task_struct *task)
{
    return (task->flags & (PF_KTHREAD | PF_EXITING)) == 0 && !is_own(task);
}

/* A call that is already asleep: its RECEIVE did not find data at once. */
static __always_inline bool sleeps_in_receive(struct task_struct *task)
{
    struct pt_regs *registers = registers_of(task);

    return (task->__state & TASK_INTERRUPTIBLE) != 0 && is_receive(call_of(task, registers));
}

/* Notes a call in progress on a UNIX socket when a task is marked. */
static __always_inline void note_older_calls(struct stream *stream, struct task_struct *task)
{
    struct pt_regs *registers = registers_of(task);
    uint32_t call = call_of(task, registers), nothing = 0, *count;
    bool sends = is_send(call) || call == CALL_SPLICE;
    struct sock *sk;
    uint64_t key;

    stream->older_send = 1;
    if (!sends && !is_receive(call))
        return;
    sk = socket_of_descriptor(task, sends ? sending_descriptor(call, registers) : registers->di);
    if (sk == NULL || BPF_CORE_READ(sk, __sk_common.skc_family) != AF_UNIX)
        return;
    key = (uint64_t)sk;
    if (!sends) {
        stream->older_receive = key;
        return;
    }
    if (BPF_CORE_READ(sk, sk_type) != SOCK_STREAM || (mark_flags & FLAGS_OF_UNIX_SEND) == 0)
        return;
    bpf_map_update_elem(&older_sends, &key, &nothing, BPF_NOEXIST);
    count = bpf_map_lookup_elem(&older_sends, &key);
    if (count == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return;
    }
    __sync_fetch_and_add(count, 1);
    stream->older_socket = key;
}

/* Takes over what the threads of a process share: the number of the process and of its image. Both are stored with the
 * first thread, whether that is still running or not. */
static __always_inline void join_process(struct stream *stream, struct task_struct *task)
{
    struct stream *leader = storage_of_task(task->group_leader);

    if (leader == NULL)
        leader = stream;
    if (leader->image == 0)
        __sync_val_compare_and_swap(&leader->image, 0, __sync_fetch_and_add(&last_image, 1) + 1);
    stream->process = number_of(leader);
    stream->image = leader->image;
}

/* The threads of a process come one after the other. */
static __always_inline void count_refused(struct task_struct *task)
{
    if (last_refused != (uint32_t)task->tgid)
        __sync_fetch_and_add(&refused, 1);
    last_refused = task->tgid;
}

SEC("iter/task")
int mark_tasks(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream;

    if (task == NULL || !to_be_marked(task))
        return 0;
    /* before its exec the command is dpm itself */
    if ((for_others || !mark_from_exec) && !may_meter(task)) {
        count_refused(task);
        return 0;
    }
    stream = storage_of_task(task);
    if (stream == NULL) {
        __sync_fetch_and_add(&unmarkable, 1);
        return 0;
    }
    if (!claim(stream))
        return 0;
    if (mark_from_exec) {
        stream->process = stream->number;
    } else {
        join_process(stream, task);
        stream->receivecall = sleeps_in_receive(task);
        note_older_calls(stream, task);
    }
    stream->from_exec = mark_from_exec;
    stream->mark = mark_generation;
    stream->user = BPF_CORE_READ(task, cred, uid.val);
    stream->told_runnable = waited_for_cpu(task);
    look_whether_silent(stream);
    enliven(stream, mark_flags, mark_told, mark_kinds);
    /* the hooks of its exit or exec may have run before it was alive */
    if ((task->flags & PF_EXITING) || (!mark_from_exec && !may_meter(task)))
        end_stream(stream);
    __sync_fetch_and_add(&marked, 1);
    return 0;
}

/* ---- what they record ---- */

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct survey_change);
} change_line SEC(".maps");

/* Makes streams record something else from now on, or lets them go. Lists those that it has changed. */
SEC("iter/task")
int change_tasks(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct stream *stream = task == NULL ? NULL : marked_stream(task);
    uint32_t zero = 0;
    struct survey_change *line = bpf_map_lookup_elem(&change_line, &zero);
    uint64_t told;
    uint32_t kinds;

    if (stream == NULL || stream->life != STREAM_ALIVE || line == NULL)
        return 0;
    told =
        change_leaves ? 0 : ((stream->told & ~change_flags_off) | change_flags_on) & stream->flags;
    kinds = (stream->kinds & ~change_kinds_off) | change_kinds_on;
    if (!change_leaves && stream->told == told && stream->kinds == kinds)
        return 0;
    stream->told = told;
    stream->kinds = kinds;
    line->told = told;
    line->kinds = kinds;
    line->stream = stream->number;
    line->process = stream->process;
    line->sequence = stream->sequence;
    line->lost[0] = stream->lost[0];
    line->lost[1] = stream->lost[1];
    bpf_seq_write(context->meta->seq, line, sizeof(*line));
    if (!change_leaves)
        return 0;
    if (kinds_in_force & METER_PIPE)
        __sync_fetch_and_add(&watched_pipes, 1); /* it may hold any of the pipes */
    end_stream(stream);
    bpf_task_storage_delete(&streams, task);
    return 0;
}

/* ---- the sockets and pipes they hold ---- */

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct path_record);
} path_line SEC(".maps");

/* Lists a path that has no number yet, as its PATH record; header.stream is a stream that holds it. */
static __noinline int list_path(struct seq_file *file, struct path *path,
                                const struct socket_facts *facts, uint32_t holder)
{
    struct inode_path entry = {};
    struct path_record *line;
    uint64_t inode = facts->inode;
    uint32_t zero = 0;

    line = bpf_map_lookup_elem(&path_line, &zero);
    if (line == NULL || path->number != 0)
        return 0;
    entry.number = new_path_number(facts->kind);
    if (entry.number == 0)
        return 0;
    entry.peer = facts->peer;
    if (is_swept(facts, false)) {
        entry.address = (uint64_t)facts->sk;
        inodes_to_sweep = 1;
    }
    if (bpf_map_update_elem(&path_of_inode, &inode, &entry, BPF_ANY) != 0) {
        __sync_fetch_and_add(&unsettled, 1); /* out of memory for now: the next pass tries again */
        return 0;
    }
    path->moved = 0;
    path->number = entry.number;
    fill_path(line, path, facts, NULL, RECORD_OLDER, bpf_ktime_get_ns());
    line->header.stream = holder;
    bpf_seq_write(file, line, sizeof(*line));
    return 0;
}

static __always_inline bool is_connected(uint32_t state)
{
    return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 ||
           state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING;
}

/* Its connections inherit the role in `paths`. */
static __always_inline int survey_listener(struct seq_file *file, struct path *path,
                                           struct sock *sk, uint64_t inode, uint32_t holder)
{
    struct path *listener = bpf_sk_storage_get(&listeners, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
    struct socket_facts facts = {.sk = sk, .inode = inode, .kind = PATH_TCP};

    if (path->number == 0)
        path->role = PATH_ROLE_ACCEPTED;
    if (listener == NULL || listener->number != 0 || is_part_of_mptcp(sk) ||
        (mark_flags & FLAGS_OF_CONNECTION) == 0)
        return 0;
    facts.cookie = bpf_get_socket_cookie(sk);
    facts.family = sk->__sk_common.skc_family;
    listener->role = PATH_ROLE_LISTENS;
    return list_path(file, listener, &facts, holder);
}

/* The role of a connection that is older than the metering: an accepted socket has its listener's limit for connections that wait for accept(), and
 * connect() marks the port that it chose itself. Not known: a client that chose its port, or a listener with the limit 0. */
static __always_inline uint8_t role_of(struct sock *sk)
{
    struct inet_bind_bucket *port =
        BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_bind_hash);

    if (BPF_CORE_READ(sk, sk_max_ack_backlog) != 0)
        return PATH_ROLE_ACCEPTED;
    return port != NULL && bpf_core_field_exists(port->fastreuse) &&
                   BPF_CORE_READ(port, fastreuse) < 0
               ? PATH_ROLE_CONNECTED
               : PATH_ROLE_UNKNOWN;
}

static __always_inline int survey_tcp(struct seq_file *file, struct sock *sk, uint64_t inode,
                                      uint32_t holder)
{
    uint32_t state = sk->__sk_common.skc_state;
    struct path *path = storage_of(sk);
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    struct socket_facts facts = {};

    if (path == NULL || tcp == NULL)
        return 0;
    if (state == TCP_LISTEN)
        return survey_listener(file, path, sk, inode, holder);
    if (path->number != 0 || !is_connected(state))
        return 0;
    take_positions(path, tcp);
    path->arrived = tcp->rcv_nxt;
    path->state |= PATH_ARRIVING;
    facts.sk = sk;
    facts.cookie = bpf_get_socket_cookie(sk);
    facts.inode = inode;
    facts.family = sk->__sk_common.skc_family;
    facts.kind = PATH_TCP;
    path->role = role_of(sk);
    return list_path(file, path, &facts, holder);
}

/* Both directions of a connected UNIX stream or seqpacket socket; listed when both are settled. */
static __always_inline int survey_unix(struct seq_file *file, struct sock *sk, uint64_t inode,
                                       uint32_t kind, uint32_t holder)
{
    struct unix_sock *own = bpf_skc_to_unix_sock(sk), *other;
    struct path *path, *peer_path;
    struct socket_facts facts = {};
    struct taken *taken;
    struct sock *peer;

    if (own == NULL || sk->__sk_common.skc_state == TCP_LISTEN)
        return 0;
    peer = own->peer;
    if (peer == NULL)
        return 0;
    path = storage_of(sk);
    peer_path = storage_of(peer);
    other = bpf_skc_to_unix_sock(peer);
    if (path == NULL || peer_path == NULL || other == NULL || path->number != 0)
        return 0;
    facts.sk = sk;
    facts.cookie = bpf_get_socket_cookie(sk);
    facts.peer = bpf_get_socket_cookie(peer);
    facts.inode = inode;
    facts.family = AF_UNIX;
    facts.kind = kind;
    settle(path, sk, facts.cookie, other, kind);
    settle(peer_path, peer, facts.peer, own, kind);
    if ((path->state & peer_path->state & PATH_SETTLED) == 0)
        return 0;
    path->start_out = path->out;
    taken = bpf_map_lookup_elem(&incoming, &facts.peer);
    path->start_in = taken == NULL ? 0 : taken->in;
    return list_path(file, path, &facts, holder);
}

/* A UDP socket has a path for each peer, recorded when it is used. Arriving datagrams are noted from now on. */
static __always_inline int survey_udp(struct sock *sk)
{
    struct path *socket = storage_of(sk);

    bpf_get_socket_cookie(sk);
    if (socket != NULL)
        open_inbox(socket, sk);
    return 0;
}

/* The pipe is counted from now on. */
static __always_inline int survey_pipe(struct file *file)
{
    struct pipe_file found = {};

    if ((kinds_in_force & METER_PIPE) && look_at_file(file, &found) && known_pipe(&found) == NULL)
        make_pipe(NULL, &found, MEETING_OLDER);
    return 0;
}

/* A command that has not executed its program yet is still DPM: what it holds for itself, it closes then. */
static __always_inline bool is_closed_at_exec(struct task_struct *task, uint32_t descriptor)
{
    unsigned long *bits = BPF_CORE_READ(task, files, fdt, close_on_exec), word = 0;

    bpf_probe_read_kernel(&word, sizeof(word), &bits[descriptor / 64]);
    return (word & 1UL << descriptor % 64) != 0;
}

SEC("iter/task_file")
int survey_files(struct bpf_iter__task_file *context)
{
    struct task_struct *task = context->task;
    struct file *file = context->file;
    struct stream *stream;
    struct sock *sk;
    uint64_t inode;
    uint32_t kind;

    if (task == NULL || file == NULL)
        return 0;
    stream = bpf_task_storage_get(&streams, task, NULL, 0);
    if (stream == NULL || stream->flags == 0 ||
        (stream->from_exec && is_closed_at_exec(task, context->fd)))
        return 0;
    sk = sock_of_file(file);
    if (sk == NULL)
        return survey_pipe(file);
    inode = BPF_CORE_READ(file, f_inode, i_ino);
    kind = kind_of_socket(sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol);
    switch (kind) {
    case PATH_TCP:
        return survey_tcp(context->meta->seq, sk, inode, stream->number);
    case PATH_UNIX_STREAM:
    case PATH_UNIX_SEQPACKET:
        return survey_unix(context->meta->seq, sk, inode, kind, stream->number);
    case PATH_UNIX_DATAGRAM:
        return survey_datagrams(sk);
    case PATH_UDP:
        return survey_udp(sk);
    default:
        return 0;
    }
}

#endif
