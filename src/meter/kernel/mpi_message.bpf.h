/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* mpi_message.bpf.h: the paths of MPI's messages, their numbers and records. See mpi.bpf.h. */
#ifndef DPM_MPI_MESSAGE_BPF_H
#define DPM_MPI_MESSAGE_BPF_H

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

/* Counts a message to a rank. */
static __always_inline int mpi_count_send(struct stream *stream, struct mpi_process *process,
                                          struct mpi_path_key *key, struct mpi_call *call)
{
    struct mpi_path *path;

    if (stream == NULL || process == NULL || key == NULL || call == NULL)
        return 0;
    if (key->peer >= MPI_MOST_RANK)
        return 0; /* MPI_PROC_NULL */
    path = mpi_path_with(key);
    if (path == NULL) {
        miss_messages(stream, EVENT_SEND, METER_MPI, 1);
        return 0;
    }
    note_thread_of_path(process, &path->sender);
    call->send_number = __sync_fetch_and_add(&path->sent, 1);
    call->send_path = mpi_path_number(stream, path, process, key);
    return 1;
}

static __noinline int mpi_send(struct stream *stream, struct mpi_process *process,
                               struct mpi_path_key *key, struct mpi_call *call)
{
    return mpi_count_send(stream, process, key, call);
}

/* Posts a receive: if its source and tag are known, it is the next one on its path. 0: it has no path; receive->path may also be 0
 * if it has one, whose record was lost. */
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

/* A received message is not recorded. `posted`: what mpi_post returned. */
static __always_inline void mpi_miss_receive(struct stream *stream, struct mpi_process *process,
                                             const struct mpi_receive *receive, int posted)
{
    if (posted)
        lose_message(stream, EVENT_RECEIVE, METER_MPI);
    else if (receive->source >= 0 && receive->tag >= 0)
        miss_messages(stream, EVENT_RECEIVE, METER_MPI, 1);
    else
        __sync_fetch_and_add(&mpi_unknown_sources, 1);
    process->doubtful = 1;
}

/* The call's receive has ended. `status`: its address; 0: none. */
static __always_inline int mpi_received(struct stream *stream, struct mpi_process *process,
                                        struct mpi_path_key *key, struct mpi_call *call,
                                        uint64_t status)
{
    struct mpi_receive *receive;
    int32_t words[6] = {};
    uint32_t mpich;
    int posted = 0;

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
        posted = mpi_post(stream, process, key, receive);
    if (receive->path == 0) {
        mpi_miss_receive(stream, process, receive, posted);
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
    struct record *record;
    uint32_t object;
    uint64_t spun;

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
    /* time - duration is when the call began, exactly: a WAKEUP of the call came after that */
    record->block.duration_and_object =
        ((record->header.time - call->begin) & BLOCK_LONGEST) | (uint64_t)object << 48;
    submit(record);
    return 0;
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

static __always_inline uint64_t read_request(const struct mpi_call *call, uint32_t index)
{
    uint64_t request = 0;

    if (call->mpich)
        bpf_probe_read_user(&request, 4, (void *)(call->request + index * 4));
    else
        bpf_probe_read_user(&request, 8, (void *)(call->request + index * 8));
    return request;
}

#endif
