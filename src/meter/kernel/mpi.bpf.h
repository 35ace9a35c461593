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

#include "meter/kernel/mpi_communicator.bpf.h"

/* ---- paths ---- */

static __always_inline uint64_t mpi_cookie(const struct mpi_process *process,
                                           const struct mpi_path_key *key, uint32_t from,
                                           uint32_t to)
{
    uint64_t job = key->communicator == 0 ? process->job : mpi_mix(process->job, key->communicator);

    return mpi_mix(mpi_mix(mpi_mix(job, from), to), (uint32_t)key->tag) >> 1 | 1;
}

/* The path with a rank; NULL: no memory (counted). */
static __noinline struct mpi_path *mpi_path_with(struct mpi_path_key *key)
{
    struct mpi_path *path = bpf_map_lookup_elem(&mpi_paths, key);

    if (path == NULL) {
        struct mpi_path fresh = {};
        bpf_map_update_elem(&mpi_paths, key, &fresh, BPF_NOEXIST);
        path = bpf_map_lookup_elem(&mpi_paths, key);
    }
    if (path == NULL)
        __sync_fetch_and_add(&lost_paths, 1);
    return path;
}

/* Its number. If it is new, it is recorded. 0: the ring is full. */
__noinline uint32_t mpi_path_number(struct stream *stream, struct mpi_path *path,
                                    const struct mpi_process *process,
                                    const struct mpi_path_key *key)
{
    struct path_record *record;
    uint32_t number;

    if (stream == NULL || path == NULL || process == NULL || key == NULL)
        return 0;
    if (path->number != 0)
        return path->number;
    record = claim_path(&path->number, PATH_MPI);
    if (record == NULL)
        return path->number;
    number = record->path;
    record->header.flags = RECORD_NO_STREAM;
    record->kind = PATH_MPI;
    record->cookie = mpi_cookie(process, key, key->rank, key->peer);
    record->peer = mpi_cookie(process, key, key->peer, key->rank);
    *(uint32_t *)record->local = key->rank;
    *(uint32_t *)record->remote = key->peer;
    *(int32_t *)(record->local + 4) = key->tag;
    *(uint64_t *)(record->local + 8) = key->communicator;
    submit(record);
    stream->scratch.beginning = (struct message){.path = number};
    write_message(stream, EVENT_CREATEPATH, &stream->scratch.beginning);
    return number;
}

/* ---- records ---- */

static __always_inline uint32_t doubt_of_mpi(void)
{
    struct mpi_key key = mpi_key_of(bpf_get_current_task_btf());
    const struct mpi_process *process = bpf_map_lookup_elem(&mpi_processes, &key);

    return process == NULL || process->doubtful ? RECORD_OLDER : 0;
}

/* If two threads take numbers of a path, MPI may take their messages in the other order. `last`: the thread that took the last one. */
static __always_inline void note_thread_of_path(struct mpi_process *process, uint32_t *last)
{
    uint32_t thread = (uint32_t)bpf_get_current_pid_tgid();

    if (*last != 0 && *last != thread)
        process->doubtful = 1;
    *last = thread;
}

static __always_inline void tell_mpi(struct stream *stream, uint32_t id, uint32_t path,
                                     uint32_t number, uint32_t bytes, uint64_t begin)
{
    struct message *message = &stream->scratch.message;

    if (path == 0 && id != EVENT_RECEIVECALL) {
        lose_message(stream, id, METER_MPI);
        return;
    }
    *message = (struct message){.path = path, .offset = number, .bytes = bytes, .begin = begin};
    message->flags = doubt_of_mpi();
    if (id == EVENT_RECEIVECALL && path == 0)
        message->offset = MPI_ANY_CALL | LIMIT_NONE << 16;
    write_message(stream, id, message);
}

static __always_inline void tell_mpi_waits(struct stream *stream, struct mpi_call *call,
                                           uint32_t path)
{
    tell_mpi(stream, EVENT_RECEIVECALL, path, 0, 0, 0);
    call->awaits = 1;
    call->begin = bpf_ktime_get_ns();
    call->proc_time = time_used(bpf_get_current_task_btf(), call->begin) & PROC_TIME_MASK;
}

/* Counts a message to a rank, and records it. */
static __noinline int mpi_send(struct stream *stream, struct mpi_process *process,
                               struct mpi_path_key *key, struct mpi_call *call)
{
    struct mpi_path *path;

    if (stream == NULL || process == NULL || key == NULL || call == NULL)
        return 0;
    if (key->peer >= MPI_MOST_RANK)
        return 0; /* MPI_PROC_NULL */
    path = mpi_path_with(key);
    if (path == NULL)
        return 0;
    note_thread_of_path(process, &path->sender);
    call->send_number = __sync_fetch_and_add(&path->sent, 1);
    call->send_path = mpi_path_number(stream, path, process, key);
    return 1;
}

/* Posts a receive: if its source and tag are known, it is the next one on its path. */
static __always_inline int mpi_post(struct stream *stream, struct mpi_process *process,
                                    struct mpi_path_key *key, struct mpi_receive *receive)
{
    struct mpi_path *path;

    if (stream == NULL || process == NULL || key == NULL || receive == NULL)
        return 0;
    if (receive->source < 0 || receive->tag < 0)
        return 0;
    key->communicator = receive->communicator;
    key->rank = receive->rank;
    key->peer = receive->source;
    key->tag = receive->tag;
    path = mpi_path_with(key);
    if (path == NULL)
        return 0;
    note_thread_of_path(process, &path->receiver);
    receive->number = __sync_fetch_and_add(&path->received, 1);
    receive->path = mpi_path_number(stream, path, process, key);
    return 1;
}

/* The call's receive has ended. `status`: its address; 0: none. */
static __always_inline int mpi_received(struct stream *stream, struct mpi_process *process,
                                        struct mpi_path_key *key, struct mpi_call *call,
                                        uint64_t status)
{
    struct mpi_receive *receive;
    int32_t words[6] = {};
    uint32_t mpich;

    if (stream == NULL || process == NULL || key == NULL || call == NULL)
        return 0;
    receive = &call->receive;
    mpich = call->mpich;
    if (status != 0 && bpf_probe_read_user(words, MPI_STATUS_SIZE_MPICH, (void *)status) == 0) {
        uint64_t bytes = 0;
        if (mpich)
            bytes = (uint32_t)words[0];
        else
            bpf_probe_read_user(&bytes, sizeof(bytes), (void *)(status + 16));
        if (receive->path == 0) {
            receive->source = words[mpich ? 2 : 0];
            receive->tag = words[mpich ? 3 : 1];
        }
        if (bytes <= receive->bytes || receive->bytes == 0)
            receive->bytes = bytes;
    }
    if (receive->path == 0)
        mpi_post(stream, process, key, receive);
    if (receive->path == 0) {
        __sync_fetch_and_add(&mpi_unknown_sources, 1);
        process->doubtful = 1;
        return 0;
    }
    call->awaits = 0;
    tell_mpi(stream, EVENT_RECEIVE, receive->path, receive->number, receive->bytes, 0);
    return 0;
}

/* SENDCALL of a send that has ended, as of its beginning: it spun until the receiver took the message. */
static __noinline int mpi_send_waited(struct stream *stream, const struct mpi_call *call)
{
    struct record *record;

    if (stream == NULL || call == NULL || silent(stream) ||
        !tells_of_kind(stream, EVENT_SENDCALL, METER_MPI))
        return 0;
    record = begin_record(stream, NULL, RING_DATA, sizeof(*record), EVENT_SENDCALL, 0);
    if (record == NULL)
        return 0;
    record->header.proc_time_and_pc &= ~PROC_TIME_MASK;
    record->header.proc_time_and_pc |= call->proc_time;
    record->message.path = call->send_path;
    record->message.offset = call->send_number;
    record->message.bytes = 0;
    set_span(record, call->begin);
    submit(record);
    return 0;
}

/* BLOCK: it waited for other processes, in a function without messages that are recorded; and how long it spun there. */
static __noinline int mpi_has_blocked(struct stream *stream, const struct mpi_call *call,
                                      uint32_t function)
{
    uint64_t now = bpf_ktime_get_ns(), spun;
    struct record *record;
    uint32_t object;

    if (stream == NULL || call == NULL || !tells(stream, EVENT_BLOCK) || silent(stream))
        return 0;
    stream->scratch.object = (struct object_key){.identity = function, .kind = WAIT_ON_MPI};
    object = object_number(stream, 0);
    record = begin_record(stream, NULL, RING_DATA, sizeof(*record), EVENT_BLOCK, 0);
    if (record == NULL)
        return 0;
    spun = proc_time_used(call->proc_time, record_proc_time(&record->header)) / 1000;
    record->block.system_call = MPI_ANY_CALL;
    record->block.state = block_state_of_spinning(spun);
    record->block.duration_and_object = ((now - call->begin) & BLOCK_LONGEST) | (uint64_t)object
                                                                                    << 48;
    submit(record);
    return 0;
}

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

static __always_inline uint64_t on_stack(const struct pt_regs *registers, uint32_t index)
{
    uint64_t value = 0;

    bpf_probe_read_user(&value, sizeof(value), (void *)(registers->sp + 8 + 8 * index));
    return value;
}

static __always_inline uint64_t status_at(uint64_t address, uint32_t mpich)
{
    return address <= mpich ? 0 : address; /* MPI_STATUS_IGNORE is 0, or 1 */
}

/* MPI_PROC_NULL: nothing is received. */
static __always_inline bool is_nobody(int32_t source, uint32_t mpich)
{
    return source == (mpich ? -1 : -2);
}

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

static __always_inline uint64_t read_request(const struct mpi_call *call, uint32_t index)
{
    uint64_t request = 0;

    if (call->mpich)
        bpf_probe_read_user(&request, 4, (void *)(call->request + index * 4));
    else
        bpf_probe_read_user(&request, 8, (void *)(call->request + index * 8));
    return request;
}

static long look_at_request(uint32_t index, struct request_look *look)
{
    struct mpi_call *call = look->call;
    struct mpi_receive *receive;

    if (index >= MPI_MOST_REQUESTS || index >= call->count)
        return 1;
    look->key.request = call->requests[index] = read_request(call, index);
    receive = bpf_map_lookup_elem(&mpi_requests, &look->key);
    if (receive == NULL)
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
    switch (call->function) {
    case MPI_WAIT:
        call->status = second;
        return;
    case MPI_TEST:
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
        call->status = fourth;
        call->statuses = 1;
        return;
    case MPI_WAITANY:
        call->status = fourth;
        return;
    case MPI_TESTANY:
        call->status = fifth;
        return;
    default:
        call->status = fifth;
        call->statuses = 2;
    }
}

static __always_inline bool has_communicator(uint32_t function)
{
    return function == MPI_SEND || function == MPI_ISEND || function == MPI_RECV ||
           function == MPI_IRECV || function == MPI_SENDRECV;
}

static __always_inline bool makes_request(uint32_t function)
{
    return function == MPI_ISEND || function == MPI_IRECV;
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
        return 0;
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
    uint32_t ended; /* requests so far */
    uint32_t unused;
};

/* A request that has ended was replaced by MPI_REQUEST_NULL. */
static long look_whether_ended(uint32_t index, struct ended_look *look)
{
    struct mpi_call *call = look->call;
    struct mpi_receive *receive;
    uint64_t status, size = call->mpich ? MPI_STATUS_SIZE_MPICH : MPI_STATUS_SIZE_OPEN;

    if (index >= MPI_MOST_REQUESTS || index >= call->count)
        return 1;
    if (read_request(call, index) == call->requests[index])
        return 0;
    status = call->status;
    if (status != 0 && call->statuses != 0)
        status += size * (call->statuses == 1 ? index : look->ended);
    look->ended++;
    look->key.request = call->requests[index];
    receive = bpf_map_lookup_elem(&mpi_requests, &look->key);
    if (receive == NULL)
        return 0;
    call->receive = *receive;
    bpf_map_delete_elem(&mpi_requests, &look->key);
    mpi_received(look->stream, look->process, &call->path, call, status);
    return 0;
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
    } else if (function == MPI_IRECV) {
        leave_irecv(call, &look.key);
    } else if (!has_communicator(function)) {
        bpf_loop(MPI_MOST_REQUESTS, look_whether_ended, &look, 0);
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
    return 0;
}

#endif
