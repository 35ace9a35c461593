/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mpi_repeated.bpf.h: persistent requests of MPI, and messages that are matched before they are received. See mpi.bpf.h.
 *
 *      MPI_Recv_init(.., 1, tag 7, world, &r)   r: what it will do      MPI_Mprobe(1, tag 7, world, &m, &status)   m: number 3
 *      MPI_Start(&r)                            number 3                MPI_Mrecv(.., &m, ..)                      RECEIVE of 3
 *      MPI_Wait(&r, ..)                         RECEIVE of 3
 */
#ifndef DPM_MPI_REPEATED_BPF_H
#define DPM_MPI_REPEATED_BPF_H

#include "meter/kernel/mpi_message.bpf.h"

/* A receive that its owner may wait for. */
static __always_inline bool is_awaited(const struct mpi_receive *receive)
{
    return (receive->how & MPI_SENDS) == 0 &&
           ((receive->how & MPI_PERSISTENT) == 0 || (receive->how & MPI_ACTIVE) != 0);
}

/* ---- persistent requests ---- */

struct start_look {
    struct stream *stream;
    struct mpi_process *process;
    struct mpi_call *call;
    struct mpi_request_key key;
};

/* As mpi_send, with its record; inline: there are few frames. */
static __always_inline void start_send(struct start_look *look, const struct mpi_receive *request)
{
    struct mpi_call *call = look->call;

    call->path.communicator = request->communicator;
    call->path.rank = request->rank;
    call->path.peer = request->source;
    call->path.tag = request->tag;
    if (mpi_count_send(look->stream, look->process, &call->path, call))
        tell_mpi(look->stream, EVENT_SEND, call->send_path, call->send_number, request->bytes, 0);
}

static long start_request(uint32_t index, struct start_look *look)
{
    struct mpi_call *call = look->call;
    struct mpi_receive *request;

    if (index >= call->count)
        return 1;
    look->key.request = read_request(call, index);
    request = bpf_map_lookup_elem(&mpi_requests, &look->key);
    if (request == NULL || (request->how & MPI_PERSISTENT) == 0)
        return 0;
    request->how |= MPI_ACTIVE;
    if (request->how & MPI_SENDS) {
        start_send(look, request);
        return 0;
    }
    request->path = 0;
    mpi_post(look->stream, look->process, &call->path, request);
    return 0;
}

static __always_inline void free_request(struct mpi_process *process, struct mpi_call *call,
                                         struct mpi_request_key *key)
{
    const struct mpi_receive *request;

    key->request = read_request(call, 0);
    request = bpf_map_lookup_elem(&mpi_requests, key);
    if (request == NULL)
        return;
    if (is_awaited(request))
        process->doubtful = 1; /* its message will not be recorded */
    bpf_map_delete_elem(&mpi_requests, key);
}

/* ---- messages that are matched first ---- */

/* MPI_Mprobe, MPI_Improbe. */
static __always_inline void begin_probe(struct mpi_call *call, const struct mpi_path_key *key,
                                        const struct pt_regs *registers)
{
    uint64_t fourth = registers->cx, fifth = registers->r8, sixth = registers->r9;
    bool asks = call->function == MPI_IMPROBE;

    /* as in take_requests */
    barrier_var(fourth);
    barrier_var(fifth);
    barrier_var(sixth);
    call->receive = (struct mpi_receive){.source = (int32_t)registers->di,
                                         .tag = (int32_t)registers->si,
                                         .rank = key->rank,
                                         .communicator = key->communicator};
    call->flag = asks ? fourth : 0;
    call->request = asks ? fifth : fourth;
    call->status = status_at(asks ? sixth : fifth, call->mpich);
}

/* A message was found: it is the next one on its path. */
static __noinline int leave_probe(struct stream *stream, struct mpi_process *process,
                                  struct mpi_call *call, struct mpi_request_key *key)
{
    struct mpi_receive *receive;
    int32_t words[6] = {}, found = 1;
    int posted;

    if (stream == NULL || process == NULL || call == NULL || key == NULL)
        return 0;
    receive = &call->receive;
    if (call->flag != 0)
        bpf_probe_read_user(&found, sizeof(found), (void *)call->flag);
    if (!found || is_nobody(receive->source, call->mpich))
        return 0;
    if (call->status != 0 &&
        bpf_probe_read_user(words, MPI_STATUS_SIZE_MPICH, (void *)call->status) == 0) {
        receive->source = words[call->mpich ? 2 : 0];
        receive->tag = words[call->mpich ? 3 : 1];
    }
    posted = mpi_post(stream, process, &call->path, receive);
    if (receive->path == 0) {
        mpi_miss_receive(stream, process, receive, posted);
        return 0;
    }
    key->request = read_request(call, 0);
    if (bpf_map_update_elem(&mpi_requests, key, receive, BPF_ANY) != 0)
        __sync_fetch_and_add(&lost_paths, 1);
    return 0;
}

/* MPI_Mrecv, MPI_Imrecv: the message that was matched. */
static __always_inline void begin_matched(struct mpi_call *call, struct mpi_request_key *key,
                                          const struct pt_regs *registers)
{
    const struct mpi_receive *message;
    uint64_t fourth = registers->cx, fifth = registers->r8;

    barrier_var(fourth);
    barrier_var(fifth);
    call->request = fourth;
    key->request = read_request(call, 0);
    message = bpf_map_lookup_elem(&mpi_requests, key);
    if (message == NULL) {
        call->function = MPI_NO_FUNCTION;
        return;
    }
    call->receive = *message;
    call->receive.bytes = mpi_bytes(registers->si, registers->dx, call->mpich);
    bpf_map_delete_elem(&mpi_requests, key);
    if (call->function == MPI_MRECV)
        call->status = status_at(fifth, call->mpich);
    else
        call->request = fifth;
}

/* ---- calls with a request or a matched message, and no communicator ---- */

/* A program of its own, for its stack. */
SEC("uprobe")
int mpi_request_begins(struct pt_regs *registers)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct start_look look = {.stream = running_stream(task)};
    uint64_t cookie = bpf_get_attach_cookie(registers), second = registers->si;
    struct mpi_call *call;

    barrier_var(second);
    if (look.stream == NULL || silent(look.stream))
        return 0;
    call = look.call = bpf_task_storage_get(&mpi_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (call == NULL)
        return 0;
    call->path.process = look.key.process = mpi_key_of(task);
    call->function = cookie & MPI_FUNCTION_MASK;
    call->mpich = (cookie & MPI_OF_MPICH) != 0;
    look.process = mpi_process_of(&call->path.process, call->function);
    if (look.process == NULL) {
        call->function = MPI_NO_FUNCTION;
        return 0;
    }
    call->begin = bpf_ktime_get_ns();
    call->awaits = call->passed_over = call->status = 0;
    if (call->function == MPI_MRECV || call->function == MPI_IMRECV) {
        begin_matched(call, &look.key, registers);
        return 0;
    }
    call->count = call->function == MPI_STARTALL ? (uint32_t)registers->di : 1;
    call->request = call->function == MPI_STARTALL ? second : registers->di;
    if (call->function == MPI_REQUEST_FREE) {
        free_request(look.process, call, &look.key);
        call->function = MPI_NO_FUNCTION;
        return 0;
    }
    if (call->count > MPI_MOST_REQUESTS)
        look.process->doubtful = 1; /* the others are not counted */
    bpf_loop(MPI_MOST_REQUESTS, start_request, &look, 0);
    return 0;
}

#endif
