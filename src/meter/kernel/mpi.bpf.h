/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mpi.bpf.h: messages of MPI, by probes at the entry and the end of its functions in libmpi and
 * libmpich (src/libraries).
 *
 *      rank 0                                                     rank 1
 *      MPI_Send(.., 1, tag 7, world)  SEND, number 0              MPI_Recv(.., 0, tag 7, world)  RECEIVECALL, RECEIVE, number 0
 *                 '--- path of 0 with 1, tag 7: cookie h(0, 1, 7) ... h(1, 0, 7): path of 1 with 0, tag 7 ---'
 *
 * MPI delivers the messages of one sender, receiver, communicator and tag in order: so each of these is a path, joined by
 * cookies that both ends compute, and the n-th message sent is the n-th received. A receive that does not say from whom gets its
 * path from the status, if the program asks for that.
 *
 * Messages go through shared memory, and a receiver spins: so the wait is between RECEIVECALL, at the entry, and RECEIVE, at the
 * end; or BLOCK, if the call ends without a message that can be recorded. Ranks in MPI_COMM_WORLD are those of the environment;
 * other communicators: mpi_communicator.bpf.h.
 */
#ifndef DPM_MPI_BPF_H
#define DPM_MPI_BPF_H

#include "meter/kernel/mpi_collective.bpf.h"
#include "meter/kernel/mpi_repeated.bpf.h"

/* ---- a process ends ---- */

static long end_mpi_path(void *map, struct mpi_path_key *key, struct mpi_path *path,
                         struct mpi_key *process)
{
    if (key->process.start != process->start || key->process.pid != process->pid)
        return 0;
    if (path->number != 0 && is_told_now(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, path->number, 0);
    bpf_map_delete_elem(map, key);
    return 0;
}

static __noinline int end_mpi_paths(const struct mpi_call *call)
{
    struct mpi_key process;

    if (call == NULL)
        return 0;
    process = call->path.process;
    bpf_for_each_map_elem(&mpi_paths, end_mpi_path, &process, 0);
    return 0;
}

/* ---- the entry of a call ---- */

static __always_inline void enter_send(struct stream *stream, struct mpi_process *process,
                                       struct mpi_path_key *key, struct mpi_call *call,
                                       struct pt_regs *registers)
{
    key->peer = registers->cx;
    key->tag = registers->r8;
    call->send_bytes = mpi_bytes(registers->si, registers->dx, call->mpich);
    mpi_send(stream, process, key, call);
}

static __always_inline bool begin_receive(struct mpi_call *call, const struct mpi_path_key *key,
                                          int32_t source, int32_t tag, uint32_t count,
                                          uint64_t type)
{
    if (is_nobody(source, call->mpich))
        return false;
    call->receive = (struct mpi_receive){
        .source = source, .tag = tag, .rank = key->rank, .communicator = key->communicator};
    call->receive.bytes = mpi_bytes(count, type, call->mpich);
    return true;
}

struct request_look {
    struct mpi_call *call;
    struct mpi_request_key key;
    uint32_t receives;
    uint32_t path; /* of the last receive; 0: not known */
};

static long look_at_request(uint32_t index, struct request_look *look)
{
    struct mpi_call *call = look->call;
    struct mpi_receive *receive;

    if (index >= MPI_MOST_REQUESTS || index >= call->count)
        return 1;
    look->key.request = call->requests[index] = read_request(call, index);
    receive = bpf_map_lookup_elem(&mpi_requests, &look->key);
    if (receive == NULL || !is_awaited(receive))
        return 0;
    look->receives++;
    look->path = receive->path;
    return 0;
}

/* A call that waits for requests, or asks whether they have ended. */
static __noinline int enter_wait(struct stream *stream, struct mpi_call *call,
                                 const struct mpi_key *process, uint32_t waits)
{
    struct request_look look = {.call = call};

    if (stream == NULL || call == NULL || process == NULL)
        return 0;
    look.key.process = *process;
    bpf_loop(MPI_MOST_REQUESTS, look_at_request, &look, 0);
    if (waits && look.receives > 0)
        tell_mpi_waits(stream, call, look.receives == 1 ? look.path : 0);
    if (look.receives == 0)
        call->function = MPI_NO_FUNCTION;
    return 0;
}

static __always_inline void take_requests(struct mpi_call *call, const struct pt_regs *registers)
{
    uint64_t first = registers->di, second = registers->si, third = registers->dx;
    uint64_t fourth = registers->cx, fifth = registers->r8;

    /* else the compiler selects a register's address, and verifiers refuse that */
    barrier_var(second);
    barrier_var(third);
    barrier_var(fourth);
    barrier_var(fifth);
    call->count = 1;
    call->request = first;
    call->statuses = 0;
    call->flag = call->indices = call->outcount = 0;
    switch (call->function) {
    case MPI_WAIT:
        call->status = second;
        return;
    case MPI_TEST:
        call->flag = second;
        call->status = third;
        return;
    }
    call->count = first;
    call->request = second;
    switch (call->function) {
    case MPI_WAITALL:
        call->status = third;
        call->statuses = 1;
        return;
    case MPI_TESTALL:
        call->flag = third;
        call->status = fourth;
        call->statuses = 1;
        return;
    case MPI_WAITANY:
        call->indices = third;
        call->status = fourth;
        return;
    case MPI_TESTANY:
        call->indices = third;
        call->flag = fourth;
        call->status = fifth;
        return;
    default:
        call->outcount = third;
        call->indices = fourth;
        call->status = fifth;
        call->statuses = 1;
    }
}

static __always_inline bool has_communicator(uint32_t function)
{
    return function == MPI_SEND || function == MPI_ISEND || function == MPI_RECV ||
           function == MPI_IRECV || function == MPI_SENDRECV || function == MPI_SENDRECV_REPLACE ||
           function == MPI_SEND_INIT || function == MPI_RECV_INIT || function == MPI_MPROBE ||
           function == MPI_IMPROBE;
}

static __always_inline bool makes_request(uint32_t function)
{
    return function == MPI_ISEND || function == MPI_IRECV || function == MPI_SEND_INIT ||
           function == MPI_RECV_INIT;
}

/* A call whose message is not recorded. Its request has to be known not to be one of a receive. */
static __always_inline void pass_over(struct mpi_call *call)
{
    call->passed_over = 1;
    if (!makes_request(call->function))
        call->function = MPI_NO_FUNCTION;
}

static __always_inline void enter_messages(struct stream *stream, struct mpi_process *process,
                                           struct mpi_path_key *key, struct mpi_call *call,
                                           struct pt_regs *registers)
{
    struct mpi_receive *receive = &call->receive;

    switch (call->function) {
    case MPI_SEND:
    case MPI_ISEND:
        enter_send(stream, process, key, call, registers);
        return;
    case MPI_SEND_INIT:
        call->receive = (struct mpi_receive){.source = (int32_t)registers->cx,
                                             .tag = (int32_t)registers->r8,
                                             .rank = key->rank,
                                             .communicator = key->communicator,
                                             .how = MPI_PERSISTENT | MPI_SENDS};
        call->receive.bytes = mpi_bytes(registers->si, registers->dx, call->mpich);
        return;
    case MPI_RECV_INIT:
        if (begin_receive(call, key, registers->cx, registers->r8, registers->si, registers->dx))
            receive->how = MPI_PERSISTENT;
        else
            pass_over(call);
        return;
    case MPI_MPROBE:
    case MPI_IMPROBE:
        begin_probe(call, key, registers);
        return;
    case MPI_SENDRECV_REPLACE:
        call->status = status_at(on_stack(registers, 2), call->mpich);
        enter_send(stream, process, key, call, registers);
        if (call->send_path != 0)
            tell_mpi(stream, EVENT_SEND, call->send_path, call->send_number, call->send_bytes, 0);
        if (!begin_receive(call, key, registers->r9, on_stack(registers, 0), registers->si,
                           registers->dx)) {
            call->function = MPI_NO_FUNCTION;
            return;
        }
        break;
    case MPI_SENDRECV:
        call->status = status_at(on_stack(registers, 5), call->mpich);
        enter_send(stream, process, key, call, registers);
        if (call->send_path != 0)
            tell_mpi(stream, EVENT_SEND, call->send_path, call->send_number, call->send_bytes, 0);
        if (!begin_receive(call, key, on_stack(registers, 2), on_stack(registers, 3),
                           on_stack(registers, 0), on_stack(registers, 1))) {
            call->function = MPI_NO_FUNCTION;
            return;
        }
        break;
    default:
        if (call->function != MPI_IRECV)
            call->status = status_at(on_stack(registers, 0), call->mpich);
        if (!begin_receive(call, key, registers->cx, registers->r8, registers->si, registers->dx)) {
            pass_over(call);
            return;
        }
    }
    mpi_post(stream, process, key, receive);
    if (call->function != MPI_IRECV)
        tell_mpi_waits(stream, call, receive->path);
}

SEC("uprobe")
int mpi_begins(struct pt_regs *registers)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);
    uint64_t cookie = bpf_get_attach_cookie(registers), communicator = registers->r9;
    struct mpi_communicator *known;
    struct mpi_process *process;
    struct mpi_call *call;

    if (stream == NULL || silent(stream))
        return 0;
    call = bpf_task_storage_get(&mpi_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (call == NULL)
        return 0;
    call->path.process = call->communicator.process = mpi_key_of(task);
    call->function = cookie & MPI_FUNCTION_MASK;
    call->mpich = (cookie & MPI_OF_MPICH) != 0;
    process = mpi_process_of(&call->path.process, call->function);
    if (process != NULL && call->function == MPI_UNCOUNTED)
        process->doubtful = 1;
    if (process == NULL || call->function == MPI_INIT || call->function == MPI_UNCOUNTED) {
        call->function = MPI_NO_FUNCTION;
        return 0;
    }
    call->begin = bpf_ktime_get_ns();
    call->proc_time = time_used(task, call->begin) & PROC_TIME_MASK;
    call->status = 0;
    call->send_path = 0;
    call->awaits = 0;
    call->passed_over = 0;
    if (call->function >= MPI_WAITING_FIRST)
        return collective_begins(stream, process, call, registers);
    if (call->function == MPI_FINALIZE) {
        call->function = MPI_NO_FUNCTION;
        end_mpi_paths(call);
        return 0;
    }
    if (!has_communicator(call->function)) {
        take_requests(call, registers);
        call->status = status_at(call->status, call->mpich);
        if (call->count > MPI_MOST_REQUESTS)
            process->doubtful = 1; /* receives from anybody may be among the others */
        enter_wait(stream, call, &call->path.process, call->function <= MPI_WAIT_LAST);
        return 0;
    }
    if (call->function == MPI_SENDRECV)
        communicator = on_stack(registers, 4);
    if (call->function == MPI_SENDRECV_REPLACE)
        communicator = on_stack(registers, 1);
    if (call->function == MPI_MPROBE || call->function == MPI_IMPROBE)
        communicator = registers->dx;
    if (makes_request(call->function))
        call->request = on_stack(registers, 0);
    call->communicator.handle = mpi_handle(communicator, call->mpich);
    known = mpi_communicator_of(process, &call->communicator, call->mpich);
    if (known == NULL || known->rank == 0) {
        __sync_fetch_and_add(&mpi_other_communicators, 1);
        pass_over(call);
        return 0;
    }
    call->path.communicator = known->id;
    call->path.rank = known->rank - 1;
    enter_messages(stream, process, &call->path, call, registers);
    return 0;
}

/* ---- the end of a call ---- */

struct ended_look {
    struct stream *stream;
    struct mpi_process *process;
    struct mpi_call *call;
    struct mpi_request_key key;
    uint32_t most; /* that have ended, of those in `indices` */
    uint32_t unused;
};

static __always_inline int32_t int_at(uint64_t address)
{
    int32_t value = 0;

    bpf_probe_read_user(&value, sizeof(value), (void *)address);
    return value;
}

/* The call says which requests have ended: all, or those with these indices. */
static long take_ended(uint32_t index, struct ended_look *look)
{
    struct mpi_call *call = look->call;
    struct mpi_receive *receive;
    uint32_t which = index;
    uint64_t status;

    if (index >= look->most)
        return 1;
    if (call->indices != 0)
        which = int_at(call->indices + 4 * index);
    if (which >= MPI_MOST_REQUESTS || which >= call->count)
        return 0;
    status = call->status;
    if (status != 0 && call->statuses != 0)
        status += (call->mpich ? MPI_STATUS_SIZE_MPICH : MPI_STATUS_SIZE_OPEN) * index;
    look->key.request = call->requests[which];
    receive = bpf_map_lookup_elem(&mpi_requests, &look->key);
    if (receive == NULL)
        return 0;
    call->receive = *receive;
    receive->how &= ~MPI_ACTIVE;
    if ((receive->how & MPI_PERSISTENT) == 0)
        bpf_map_delete_elem(&mpi_requests, &look->key);
    if (is_awaited(&call->receive))
        mpi_received(look->stream, look->process, &call->path, call, status);
    return 0;
}

static __always_inline void take_all_ended(struct ended_look *look)
{
    struct mpi_call *call = look->call;

    if (call->flag != 0 && int_at(call->flag) == 0)
        return;
    look->most = call->outcount != 0  ? int_at(call->outcount)
                 : call->indices != 0 ? 1
                                      : call->count;
    if (look->most <= MPI_MOST_RANK) /* else MPI_UNDEFINED */
        bpf_loop(MPI_MOST_REQUESTS, take_ended, look, 0);
}

/* Not inline, for its stack. */
static __noinline int leave_recv(struct ended_look *look)
{
    return mpi_received(look->stream, look->process, &look->call->path, look->call,
                        look->call->status);
}

/* Its request may have the value of a receive that ended unseen. */
static __always_inline void forget_request(struct mpi_call *call, struct mpi_request_key *key)
{
    call->count = 1;
    key->request = read_request(call, 0);
    bpf_map_delete_elem(&mpi_requests, key);
}

static __always_inline void leave_irecv(struct mpi_call *call, struct mpi_request_key *key)
{
    call->count = 1;
    key->request = read_request(call, 0);
    if (bpf_map_update_elem(&mpi_requests, key, &call->receive, BPF_ANY) != 0)
        __sync_fetch_and_add(&lost_paths, 1);
}

/* A call of MPI that passes messages has ended well. Inline: there are few frames. */
static __always_inline int mpi_has_passed(struct stream *stream, struct mpi_call *call,
                                          struct task_struct *task, uint32_t function)
{
    struct ended_look look = {.stream = stream,
                              .call = call}; /* has all keys: there is little stack */

    if (stream == NULL || call == NULL || task == NULL)
        return 0;
    look.key.process = mpi_key_of(task);
    look.process = bpf_map_lookup_elem(&mpi_processes, &look.key.process);
    if (look.process == NULL)
        return 0;
    if (function == MPI_ISEND || call->passed_over)
        forget_request(call, &look.key);
    if (call->passed_over)
        return 0;
    if (function == MPI_SEND || function == MPI_ISEND) {
        if (call->send_path == 0)
            return 0;
        if (function == MPI_SEND && bpf_ktime_get_ns() - call->begin > MPI_WAIT_LEAST)
            mpi_send_waited(stream, call);
        tell_mpi(stream, EVENT_SEND, call->send_path, call->send_number, call->send_bytes,
                 call->begin);
    } else if (function == MPI_IRECV || function == MPI_IMRECV || function == MPI_SEND_INIT ||
               function == MPI_RECV_INIT) {
        leave_irecv(call, &look.key);
    } else if (function == MPI_MPROBE || function == MPI_IMPROBE) {
        leave_probe(stream, look.process, call, &look.key);
    } else if (function == MPI_START || function == MPI_STARTALL) {
        return 0;
    } else if (!has_communicator(function) && function != MPI_MRECV) {
        take_all_ended(&look);
    } else {
        leave_recv(&look);
    }
    return 0;
}

/* A call has failed: its message has a number, and may not have been passed. */
static __noinline int mpi_has_failed(struct task_struct *task)
{
    struct mpi_process *process;
    struct mpi_key key;

    if (task == NULL)
        return 0;
    key = mpi_key_of(task);
    process = bpf_map_lookup_elem(&mpi_processes, &key);
    if (process != NULL)
        process->doubtful = 1;
    return 0;
}

SEC("uretprobe")
int mpi_ends(struct pt_regs *registers)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream = running_stream(task);
    struct mpi_call *call;
    uint32_t function;

    if (stream == NULL || silent(stream))
        return 0;
    call = bpf_task_storage_get(&mpi_calls, task, NULL, 0);
    if (call == NULL || call->function == MPI_NO_FUNCTION)
        return 0;
    function = call->function;
    call->function = MPI_NO_FUNCTION;
    if (function != (bpf_get_attach_cookie(registers) & MPI_FUNCTION_MASK))
        return 0;
    if (function >= MPI_WAITING_FIRST) {
        if (bpf_ktime_get_ns() - call->begin > MPI_WAIT_LEAST && (uint32_t)registers->ax == 0)
            mpi_has_blocked(stream, call, function);
        return 0;
    }
    if ((uint32_t)registers->ax == 0)
        mpi_has_passed(stream, call, task, function);
    else
        mpi_has_failed(task);
    if (call->awaits)
        mpi_has_blocked(stream, call, function);
    else if (function == MPI_MPROBE && bpf_ktime_get_ns() - call->begin > MPI_WAIT_LEAST)
        mpi_has_blocked(stream, call, MPI_PROBE);
    return 0;
}

#endif
