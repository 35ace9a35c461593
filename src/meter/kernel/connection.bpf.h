/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * connection.bpf.h: how TCP connections begin, fail and end.
 *
 *      listen()   LISTEN                           PATH and CREATEPATH of the listener
 *      connect()  SYN_SENT ... ESTABLISHED         PATH, and CREATEPATH and CONNECT of the stream that called
 *                              or CLOSE            PATH, CONNECTFAILED, DESTROYPATH        (outcome.bpf.h)
 *      accept()   ESTABLISHED ... sys_exit         PATH, CREATEPATH, ACCEPT; without sys_exit at the path's first use
 *
 * SYN_SENT and LISTEN are set by their callers, the other states mostly in interrupts.
 */
#ifndef DPM_CONNECTION_BPF_H
#define DPM_CONNECTION_BPF_H

#include "meter/kernel/call.bpf.h"

#define FLAGS_OF_CONNECT (FLAGS_OF_CONNECTION | EVENT_FLAG(EVENT_CONNECTFAILED))

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

    if (is_told_now(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, path->number, 0);
    path->number = 0;
    path->ahead = 0;
    bpf_map_delete_elem(&path_of_inode, &inode);
}

/* ---- the outcome of connect() ---- */

/* The facts of a connection that just began or failed, wherever that is noticed. */
static __always_inline void connection_facts(struct socket_facts *facts, struct sock *sk)
{
    *facts = (struct socket_facts){
        .sk = sk,
        .cookie = bpf_get_socket_cookie(sk),
        .inode = inode_of_socket(sk),
        .family = sk->__sk_common.skc_family,
        .kind = PATH_TCP,
        .connected = true,
    };
}

/* Gives the path its number and writes PATH. If its socket was waited on before, CREATEPATH was made then. */
static __always_inline bool make_path_of_outcome(struct path *path, struct sock *sk, bool failed)
{
    struct socket_facts facts;
    uint32_t number, given;
    bool made;

    connection_facts(&facts, sk);
    number = given = made_or_new_number(&facts, &made);
    if (!failed && facts.inode != 0)
        number = claim_inode(&facts, given, false);
    if (!write_path(path, &facts, NULL, 0, number))
        return false;
    if (!failed && facts.inode != 0)
        find_by_inode(path, &facts);
    return made || number != given;
}

/* Whether a failure without an error happens in the connect() of the stream, which then returns it: for example, no
 * local port is free. Otherwise a call has closed the socket. */
static __always_inline bool fails_in_call(struct task_struct *task)
{
    uint32_t call = call_of(task, registers_of(task));

    return call == CALL_CONNECT || is_send(call) || call == CALL_IO_URING_ENTER ||
           !has_user_registers(task);
}

/* FAILURE_EXPECTED: connect() will return the error of this failure, which is no other one then. FAILURE_TOLD: it has, and the
 * socket may still end as one whose outcome is not known. */
static __always_inline void note_failure(uint64_t cookie, uint8_t what)
{
    bpf_map_update_elem(&failed_connects, &cookie, &what, BPF_ANY);
}

/* Only an answer to the first packet acknowledges it. */
static __always_inline bool was_established(struct sock *sk)
{
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

    return tcp != NULL && tcp->bytes_acked > 0;
}

/* The socket is destroyed, and this hook would have told of the outcome before, but was skipped (skipped.c says so). */
static __always_inline bool was_skipped(struct sock *sk)
{
    uint64_t cookie = bpf_get_socket_cookie(sk);
    const uint8_t *noted = bpf_map_lookup_elem(&failed_connects, &cookie);

    return was_established(sk) || (noted != NULL && *noted == FAILURE_TOLD);
}

/* A connect() was successful or has failed. */
static __noinline int end_connect(struct path *path, struct sock *sk, uint32_t error, bool failed)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = stream_of(task);
    uint32_t connector = path->connector;
    struct outcome outcome = {
        .begin = path->called_at,
        .pc = path->caller_pc,
        .error = error,
        .failed = failed,
    };
    bool here = stream != NULL && stream->number == connector &&
                stream->connecting == bpf_get_socket_cookie(sk);

    path->connector = 0;
    if (failed && was_skipped(sk)) {
        outcome.failed = 0; /* without a path, no record is made */
    } else {
        outcome.created = path->number != 0 /* data was sent ahead */
                          || make_path_of_outcome(path, sk, failed);
        outcome.path = path->number;
    }
    if (outcome.failed) {
        uint64_t inode = path->inode;

        path->number = 0;
        bpf_map_delete_elem(&path_of_inode, &inode);
        if (error == 0 && !(here && fails_in_call(task)))
            outcome.error = ECANCELED;
        else if (calls_end)
            note_failure(bpf_get_socket_cookie(sk), FAILURE_EXPECTED);
        here = here && outcome.error != 0;
    }
    if (here) {
        stream->connecting = 0;
        look_whether_silent(stream);
        tell_outcome(stream, &outcome);
    } else if (!note_outcome(connector, &outcome)) {
        tell_outcome_of_ended(connector, &outcome);
    }
    return 0;
}

/* connect() in its caller. */
static __always_inline void begin_connect(struct stream *stream, struct task_struct *task,
                                          struct path *path, struct sock *sk)
{
    path->connector = 0;
    path->called_at = bpf_ktime_get_ns();
    path->caller_pc = 0;
    if (silent(stream) || !wants(stream, FLAGS_OF_CONNECT) || !may_have_outcomes(stream))
        return;
    path->caller_pc = stream_pc(stream, task);
    path->connector = stream->number;
    stream->connects++;
    stream->away |= AWAY_CONNECTS;
    stream->connect_error = 0;
    stream->connecting = bpf_get_socket_cookie(sk);
    bpf_map_delete_elem(&failed_connects, &stream->connecting);
}

/* ---- MPTCP ---- */

/* A part of an MPTCP connection: sends on it pass no TCP hook. Or the listener of some, and perhaps of others. */
static __always_inline bool is_part_of_mptcp(struct sock *sk)
{
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

    return tcp != NULL && bpf_core_field_exists(tcp->is_mptcp) && tcp->is_mptcp;
}

/* ---- listeners ---- */

static __always_inline void begin_listening(struct stream *stream, struct sock *sk)
{
    struct message *message = &stream->scratch.beginning;
    struct socket_facts facts;
    struct path *listener;
    bool made;

    if (silent(stream) || !wants(stream, FLAGS_OF_CONNECTION) || is_part_of_mptcp(sk))
        return;
    listener = bpf_sk_storage_get(&listeners, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
    if (listener == NULL) {
        __sync_fetch_and_add(&lost_paths, 1);
        return;
    }
    listener->role = PATH_ROLE_LISTENS;
    connection_facts(&facts, sk);
    if (!write_path(listener, &facts, NULL, 0, made_or_new_number(&facts, &made)) || made)
        return;
    *message = (struct message){.path = listener->number};
    write_message(stream, EVENT_CREATEPATH, message);
}

static __always_inline void end_listening(struct sock *sk)
{
    struct path *listener = bpf_sk_storage_get(&listeners, sk, NULL, 0);

    if (listener != NULL && listener->number != 0)
        end_path(listener);
}

/* ---- connections ---- */

/* accept may return this connection before anything else is known of it but its address. Its number is kept where that
 * leads to. */
static __always_inline void expect_accept(struct path *path, struct sock *sk)
{
    uint64_t cookie = bpf_get_socket_cookie(sk);
    struct accepted connection = {};

    path->reserved = 0;
    if (!calls_end || (flags_in_force & FLAGS_OF_CONNECTION) == 0 || begun < mark_generation)
        return;
    connection.number = new_path_number(PATH_TCP);
    if (connection.number == 0)
        return;
    if (bpf_map_update_elem(&accepted, &cookie, &connection, BPF_ANY) == 0)
        path->reserved = connection.number;
    else
        __sync_fetch_and_add(&lost_paths, 1);
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
    else if (path->role == PATH_ROLE_ACCEPTED)
        expect_accept(path, sk);
    if (path->role == PATH_ROLE_CONNECTED && path->connector != 0)
        end_connect(path, sk, 0, false);
}

/* Why the connection of a socket is closed, or 0 if a call closes it, which owns the socket then. What comes from the
 * network sets the error first: the program may have taken it (SO_ERROR) before this hook. It was a refusal, because no
 * other error comes so soon. */
static __always_inline uint32_t error_of(struct sock *sk)
{
    uint32_t error = sk->sk_err;

    return error == 0 && sk->sk_lock.owned == 0 ? ECONNREFUSED : error;
}

/* The connection of a connect() is closed before it was established. */
static __always_inline void note_failed(struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    if (path != NULL && path->role == PATH_ROLE_CONNECTED && path->connector != 0)
        end_connect(path, sk, error_of(sk), true);
}

/* connect or listen, in their caller. Connections inherit a copy of what their listener gets. */
static __always_inline void note_beginning(struct stream *stream, struct task_struct *task,
                                           struct sock *sk, uint32_t role)
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
    path->established = 0;
    if (role == PATH_ROLE_CONNECTED) {
        begin_connect(stream, task, path, sk);
    } else {
        path->connector = 0;
        begin_listening(stream, sk);
    }
}

static __always_inline void write_network(struct path *path, struct sock *sk)
{
    struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
    struct record *record;

    if (tcp == NULL || !is_told_now(EVENT_DESTROYPATH))
        return;
    record = bpf_ringbuf_reserve(&control_ring, sizeof(*record), 0);
    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return;
    }
    fill_network(record, path->number, tcp);
    submit(record);
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
    else if (path->reserved != 0)
        take_accepted(path, bpf_get_socket_cookie(sk), true);
    if (path != NULL && path->number != 0)
        write_network(path, sk);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sk, int old_state, int new_state)
{
    const uint32_t closes = 1 << TCP_FIN_WAIT1 | 1 << TCP_LAST_ACK;
    const uint32_t calls = 1 << TCP_SYN_SENT | 1 << TCP_LISTEN | closes;
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream;

    if (sk->sk_protocol != IPPROTO_TCP || (new_state != TCP_LISTEN && is_part_of_mptcp(sk)))
        return 0;
    if (new_state == TCP_ESTABLISHED) {
        note_established(sk);
        return 0;
    }
    if (new_state == TCP_CLOSE) {
        if (old_state == TCP_SYN_SENT || old_state == TCP_SYN_RECV)
            note_failed(sk);
        else if (old_state == TCP_LISTEN)
            end_listening(sk);
        return 0;
    }
    /* connect, listen and close run in their caller (one branch, so that the verifier passes once) */
    if (!(calls >> (new_state & 31) & 1))
        return 0;
    stream = running_stream(task);
    if (closes >> (new_state & 31) & 1)
        note_close(stream, sk);
    else if (stream != NULL)
        note_beginning(stream, task, sk,
                       new_state == TCP_LISTEN ? PATH_ROLE_ACCEPTED : PATH_ROLE_CONNECTED);
    return 0;
}

/* A connection that came from a listener is gone, used or not, accepted or not. */
static __always_inline void end_accepted(struct path *path, struct sock *sk)
{
    uint64_t cookie = bpf_get_socket_cookie(sk);

    take_accepted(path, cookie, true);
    path->reserved = 0;
    bpf_map_delete_elem(&accepted, &cookie);
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(tcp_destroy_sock, struct sock *sk)
{
    struct path *path = bpf_sk_storage_get(&paths, sk, NULL, 0);

    if (path == NULL)
        return 0;
    if (path->connector != 0)
        note_failed(sk);
    if (path->reserved != 0)
        end_accepted(path, sk);
    if (path->number == 0)
        return 0;
    write_network(path, sk);
    end_path(path);
    return 0;
}

/* ---- accept() returns ---- */

/* The current task has accepted a connection: records it, unless it is recorded already. */
__noinline int connection_accepted(struct stream *stream, uint32_t descriptor)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct accepted *connection;
    struct scratch *scratch;
    struct inode *inode;
    struct sock *sk;
    uint64_t cookie;

    if (stream == NULL || file == NULL || !is_socket(file) || silent(stream) ||
        !wants(stream, FLAGS_OF_CONNECTION))
        return 0;
    sk = socket_of_descriptor(bpf_get_current_task_btf(), descriptor);
    scratch = &stream->scratch;
    if (sk == NULL || kind_at(sk) != PATH_TCP)
        return 0;
    cookie = MEMBER(struct sock, sk, __sk_common.skc_cookie.counter);
    connection = cookie == 0 ? NULL : bpf_map_lookup_elem(&accepted, &cookie);
    if (connection == NULL)
        return 0;
    inode = MEMBER(struct file, file, f_inode);
    connection->inode = MEMBER(struct inode, inode, i_ino);
    if (!claim_accepted(connection))
        return 0;
    fill_facts_at(scratch, sk, connection->inode);
    scratch->path.role = PATH_ROLE_ACCEPTED;
    scratch->path.number = connection->number;
    write_path(&scratch->path, &scratch->facts, NULL, 0, 0);
    find_by_inode(&scratch->path, &scratch->facts);
    tell_beginning(stream, &scratch->path, true, PATH_ROLE_ACCEPTED);
    return 0;
}

/* ---- connect() returns an error that no state has shown: no route, no such name ---- */

static __always_inline void fill_tried_internet(struct path_record *record, uint64_t address,
                                                struct sock *sk)
{
    uint16_t port = 0;

    bpf_probe_read_user(&port, sizeof(port), (void *)(address + 2));
    record->remote_port = __builtin_bswap16(port);
    record->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
    if (record->family == AF_INET) {
        bpf_probe_read_user(record->remote, 4, (void *)(address + 4));
        return;
    }
    bpf_probe_read_user(record->remote, sizeof(record->remote), (void *)(address + 8));
    if (!is_mapped(record->remote))
        return;
    record->family = AF_INET;
    *(uint32_t *)record->remote = *(uint32_t *)(record->remote + 12);
    __builtin_memset(record->remote + 4, 0, 12);
}

static __always_inline void fill_tried_name(struct path_record *record, uint64_t address,
                                            uint32_t length)
{
    length -= sizeof(unsigned short);
    asm volatile("" : "+r"(length)); /* as in fill_unix_name */
    if (length > sizeof(((struct sockaddr_un *)0)->sun_path))
        return;
    asm volatile("" : "+r"(length));
    if (length == 0)
        return;
    record->name_end = PATH_NAME_REMOTE;
    bpf_probe_read_user(record->name, length, (void *)(address + sizeof(unsigned short)));
    if (record->name[0] == '\0')
        show_abstract(record);
}

/* PATH with the address in user memory that the current task has passed to connect(). Returns its number; 0: it was
 * lost. */
static __noinline uint32_t write_tried(struct stream *stream, struct sock *sk, uint64_t inode,
                                       uint64_t address, uint32_t length)
{
    struct path_record *record = bpf_ringbuf_reserve(&control_ring, sizeof(struct path_record), 0);
    uint32_t kind = kind_at(sk), number;
    uint16_t family = 0;
    bool made;

    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    stream->scratch.facts = (struct socket_facts){.sk = sk, .inode = inode, .kind = kind};
    number = made_or_new_number(&stream->scratch.facts, &made);
    if (number == 0) {
        bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
        return 0;
    }
    bpf_probe_read_user(&family, sizeof(family), (void *)address);
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = bpf_ktime_get_ns();
    record->header.id = EVENT_PATH;
    record->header.flags = RECORD_NO_STREAM;
    record->path = number;
    record->kind = kind;
    record->family = family;
    record->role = PATH_ROLE_CONNECTED;
    record->cookie = MEMBER(struct sock, sk, __sk_common.skc_cookie.counter);
    record->inode = inode;
    record->network = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
    if (family == AF_INET || family == AF_INET6)
        fill_tried_internet(record, address, sk);
    else if (family == AF_UNIX)
        fill_tried_name(record, address, length);
    submit(record);
    return number;
}

/* The connect() of the current task has failed. */
__noinline int connect_failed(struct stream *stream, uint32_t error)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const struct pt_regs *registers = registers_of(task);
    struct file *file = file_of_descriptor(task, registers->di);
    struct outcome outcome = {.error = error, .failed = 1};
    struct inode *inode;
    struct sock *sk;
    const uint8_t *noted;
    uint64_t cookie;
    uint32_t kind;

    if (stream == NULL || file == NULL || !is_socket(file) || silent(stream) ||
        !wants(stream, EVENT_FLAG(EVENT_CONNECTFAILED)))
        return 0;
    sk = socket_of_descriptor(task, registers->di);
    kind = sk == NULL ? 0 : kind_at(sk);
    if (kind != PATH_TCP && kind != PATH_UNIX_STREAM && kind != PATH_UNIX_SEQPACKET)
        return 0;
    cookie = MEMBER(struct sock, sk, __sk_common.skc_cookie.counter);
    noted = bpf_map_lookup_elem(&failed_connects, &cookie);
    if (noted != NULL && *noted == FAILURE_EXPECTED) {
        bpf_map_delete_elem(&failed_connects, &cookie);
        return 0;
    }
    if (kind == PATH_TCP)
        note_failure(cookie, FAILURE_TOLD);
    inode = MEMBER(struct file, file, f_inode);
    outcome.path =
        write_tried(stream, sk, MEMBER(struct inode, inode, i_ino), registers->si, registers->dx);
    if (outcome.path == 0)
        return 0;
    outcome.pc = stream_pc(stream, task);
    write_outcome(stream, EVENT_CONNECTFAILED, &outcome);
    end_failed(outcome.path);
    return 0;
}

/* Not if the connection is still being made, or was made before. */
static __always_inline bool is_connect_failure(int64_t result)
{
    return result < 0 && result != -EINPROGRESS && result != -EALREADY && result != -EINTR &&
           result != -EISCONN && !restarts(result);
}

/* The end of connect, accept or accept4: sys_exit. */
static __always_inline int connection_call_ended(struct task_struct *task, uint32_t call,
                                                 int64_t result)
{
    struct stream *stream = stream_of(task);

    if (stream == NULL)
        return 0;
    if (call == CALL_CONNECT)
        stream->connect_error = result < 0 ? -result : 0; /* before its outcome is recorded */
    stream = running_stream(task);
    if (stream == NULL)
        return 0;
    if (call != CALL_CONNECT && result >= 0)
        connection_accepted(stream, result);
    else if (call == CALL_CONNECT && is_connect_failure(result))
        connect_failed(stream, -result);
    return 0;
}

static __always_inline bool is_connection_call(uint32_t call)
{
    return (kinds_in_force & (METER_TCP | METER_UNIX)) &&
           (call == CALL_CONNECT || call == CALL_ACCEPT || call == CALL_ACCEPT4);
}

#endif
