/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mpi_process.bpf.h: processes of an MPI job, as the kernel side of mpi.bpf.h knows them: rank and job, by the environment that
 * the launcher made; MPI_COMM_WORLD; sizes of types; and what is kept of each, of its paths, requests and calls.
 *
 *      OMPI_COMM_WORLD_RANK=1  PMIX_NAMESPACE=prterun-web1-4711@1      rank 1, job h("prterun-web1-4711@1")
 *      PMI_RANK=1, below hydra_pmi_proxy 4711                          rank 1, job h(4711, its start)
 */
#ifndef DPM_MPI_PROCESS_BPF_H
#define DPM_MPI_PROCESS_BPF_H

#include "meter/kernel/object.bpf.h"

/* Numbers that differ between Open MPI and MPICH. */
enum {
    MPI_TAG_ANY = -1, /* of both */
    MPI_MOST_RANK = 1 << 24,
    MPICH_WORLD = 0x44000000,
    MPICH_BUILTIN = 0x4c, /* first byte of the handle of a type; the third is its size */
    OPEN_MPI_TYPE_SIZE =
        24, /* offset of the size in a type: behind a class, a count, flags, an id and a use count */
    MPI_MOST_REQUESTS = 64, /* of one call that are looked at */
    MPI_STATUS_SIZE_OPEN = 24,
    MPI_STATUS_SIZE_MPICH = 20,
    ENVIRONMENT_MOST = 16384, /* pieces */
    ENVIRONMENT_PIECE = 64,
    ANCESTORS_MOST = 8,
    MPI_WAIT_LEAST = 10000, /* ns: shorter calls did not wait */
};

struct mpi_key {
    uint64_t start; /* of the process's first thread */
    uint64_t pid;
};

struct mpi_process {
    uint64_t job; /* a hash; 0: it has no rank */
    uint32_t rank;
    uint32_t looked; /* at its environment */
    /* not all its messages are counted, or two threads may have taken each other's numbers: edges are inferred */
    uint32_t doubtful;
    uint32_t whole; /* was seen to initialize MPI */
    uint64_t world; /* Open MPI: address of MPI_COMM_WORLD; 0: not seen yet ... */
    uint64_t other; /* ... and of the last other communicator */
    uint32_t size;  /* of MPI_COMM_WORLD; 0: not known */
    uint32_t unused;
};

struct mpi_path_key {
    struct mpi_key process;
    uint64_t communicator; /* its number; 0: MPI_COMM_WORLD */
    uint32_t rank;         /* of the process, in it */
    uint32_t peer;
    int32_t tag;
    uint32_t unused;
};

struct mpi_communicator_key {
    struct mpi_key process;
    uint64_t handle;
};

struct mpi_path {
    uint32_t number; /* of its PATH; 0: none yet */
    uint32_t sent;   /* messages ... */
    uint32_t received;
    uint32_t unused;
    uint32_t sender; /* thread that has sent the last message ... */
    uint32_t receiver;
};

struct mpi_request_key {
    struct mpi_key process;
    uint64_t request;
};

/* A receive that was posted, or what a persistent request will do. */
struct mpi_receive {
    int32_t source, tag; /* negative: any */
    uint32_t path;       /* 0: not known yet */
    uint32_t number;
    uint32_t bytes; /* at most */
    uint32_t rank;  /* of the process, in this communicator: */
    uint64_t communicator;
    uint32_t how; /* MPI_PERSISTENT ... */
    uint32_t unused;
};

/* A request that may be started many times; and whether it was, and has not ended; and whether it sends to `source`. */
enum { MPI_PERSISTENT = 1, MPI_ACTIVE = 2, MPI_SENDS = 4 };

/* The call in progress of a thread. */
struct mpi_call {
    uint32_t function; /* enum mpi_function; 0: none */
    uint32_t mpich;
    uint64_t begin;
    uint64_t status;   /* address; 0: none */
    uint64_t request;  /* address of the request, or of the first one of an array */
    uint32_t count;    /* of these */
    uint32_t statuses; /* 1: a status for each request that has ended */
    uint64_t flag;     /* address of what says whether any has; 0: they have */
    uint64_t indices;  /* address of which have ended; 0: all ... */
    uint64_t outcount; /* ... and of how many these are; 0: one */
    struct mpi_receive receive;
    uint32_t send_path, send_number, send_bytes;
    uint32_t awaits;      /* its RECEIVECALL is written, and no RECEIVE yet */
    uint32_t passed_over; /* its message is not recorded */
    uint64_t proc_time;   /* at `begin` */
    /* keys that are looked up: here, since there is little stack */
    struct mpi_path_key path;
    struct mpi_communicator_key communicator;
    uint64_t requests[MPI_MOST_REQUESTS]; /* before the call */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct mpi_key);
    __type(value, struct mpi_process);
} mpi_processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct mpi_path_key);
    __type(value, struct mpi_path);
} mpi_paths SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct mpi_request_key);
    __type(value, struct mpi_receive);
} mpi_requests SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct mpi_call);
} mpi_calls SEC(".maps");

uint32_t mpi_other_communicators; /* messages that are not recorded: in another communicator ... */
uint32_t mpi_unknown_sources;     /* ... and received from anybody, without a status */

/* ---- arguments ---- */

static __always_inline uint64_t on_stack(const struct pt_regs *registers, uint32_t index)
{
    uint64_t value = 0;

    bpf_probe_read_user(&value, sizeof(value), (void *)(registers->sp + 8 + 8 * index));
    return value;
}

/* ---- processes ---- */

static __always_inline struct mpi_key mpi_key_of(struct task_struct *task)
{
    struct mpi_key key = {BPF_CORE_READ(task, group_leader, start_time), (uint32_t)task->tgid};

    return key;
}

static __always_inline uint64_t mpi_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 29;
}

struct environment {
    uint64_t at, end;
    uint64_t job;
    uint32_t rank;   /* + 1 */
    uint32_t inside; /* of a long variable */
    uint32_t size;   /* + 1 */
    uint32_t unused;
    char text[ENVIRONMENT_PIECE];
};

/* The number that a text begins with, + 1; 0: none. */
static __always_inline uint32_t mpi_number(const char *text)
{
    uint32_t number = 0, digits = 0;

    for (int i = 0; i < 8; i++) {
        uint32_t digit = (uint8_t)text[i] - '0';
        if (digit > 9)
            break;
        number = number * 10 + digit;
        digits++;
    }
    return digits == 0 ? 0 : number + 1;
}

static __always_inline bool begins_with(const char *text, const char *with, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        if (text[i] != with[i])
            return false;
    return true;
}

static long look_at_variable(uint32_t index, struct environment *environment)
{
    long length;
    char *text = environment->text;

    if (environment->at >= environment->end)
        return 1;
    length = bpf_probe_read_user_str(text, ENVIRONMENT_PIECE, (void *)environment->at);
    if (length <= 0)
        return 1;
    if (!environment->inside) {
        if (begins_with(text, "OMPI_COMM_WORLD_RANK=", 21))
            environment->rank = mpi_number(text + 21);
        else if (begins_with(text, "PMI_RANK=", 9) && environment->rank == 0)
            environment->rank = mpi_number(text + 9);
        else if (begins_with(text, "OMPI_COMM_WORLD_SIZE=", 21))
            environment->size = mpi_number(text + 21);
        else if (begins_with(text, "PMI_SIZE=", 9) && environment->size == 0)
            environment->size = mpi_number(text + 9);
        else if (begins_with(text, "PMIX_NAMESPACE=", 15)) {
            environment->job = 1;
            for (int i = 15; i < ENVIRONMENT_PIECE && text[i] != '\0'; i++)
                environment->job = mpi_mix(environment->job, (uint8_t)text[i]);
        }
    }
    environment->inside = length == ENVIRONMENT_PIECE;
    environment->at += environment->inside ? length - 1 : length;
    return 0;
}

/* MPICH's launcher, which is an ancestor of all ranks of a job on this machine. 0: none. */
static __noinline uint64_t job_of_hydra(void)
{
    struct task_struct *task = bpf_get_current_task_btf();
    char name[16];

    task = BPF_CORE_READ(task, group_leader);
    for (int i = 0; i < ANCESTORS_MOST; i++) {
        task = BPF_CORE_READ(task, real_parent);
        if (task == NULL)
            return 0;
        task = BPF_CORE_READ(task, group_leader);
        bpf_core_read(name, sizeof(name), &task->comm);
        if (begins_with(name, "hydra_pmi_proxy", 15))
            return mpi_mix(BPF_CORE_READ(task, start_time), BPF_CORE_READ(task, tgid)) | 1;
    }
    return 0;
}

/* Finds its rank and job in the environment that it was executed with. */
static __noinline int look_at_environment(struct mpi_process *process)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct environment environment = {};

    if (process == NULL)
        return 0;
    environment.at = BPF_CORE_READ(task, mm, env_start);
    environment.end = BPF_CORE_READ(task, mm, env_end);
    bpf_loop(ENVIRONMENT_MOST, look_at_variable, &environment, 0);
    if (environment.rank != 0) {
        process->rank = environment.rank - 1;
        process->size = environment.size == 0 ? 0 : environment.size - 1;
        process->job = environment.job != 0 ? environment.job : job_of_hydra();
    }
    process->looked = 1;
    return 0;
}

/* A process that was not seen to initialize MPI may have passed messages that were not counted. */
static __always_inline struct mpi_process *mpi_process_of(const struct mpi_key *key,
                                                          uint32_t function)
{
    struct mpi_process *process = bpf_map_lookup_elem(&mpi_processes, key);

    if (process == NULL) {
        struct mpi_process fresh = {.doubtful = function != MPI_INIT,
                                    .whole = function == MPI_INIT};
        bpf_map_update_elem(&mpi_processes, key, &fresh, BPF_NOEXIST);
        process = bpf_map_lookup_elem(&mpi_processes, key);
        if (process == NULL)
            return NULL;
    }
    if (!process->looked)
        look_at_environment(process);
    return process->job == 0 ? NULL : process;
}

/* ---- communicators and types ---- */

#define WORDS_OF_COMMUNICATOR 64

struct communicator_look {
    uint64_t address;
    uint32_t found;
    uint32_t unused;
};

/* Its name stands in it: "MPI_COMM_WORLD", in 64 bytes, somewhere behind its locks. */
static long look_for_name(uint32_t index, struct communicator_look *look)
{
    char text[16];

    if (bpf_probe_read_user(text, sizeof(text), (void *)(look->address + index * 4)) != 0)
        return 1;
    look->found = begins_with(text, "MPI_COMM_WORLD", 15);
    return look->found;
}

static __noinline int is_world(struct mpi_process *process, uint64_t communicator, uint32_t mpich)
{
    struct communicator_look look = {.address = communicator};

    if (process == NULL)
        return 0;
    if (mpich)
        return (uint32_t)communicator == MPICH_WORLD;
    if (communicator == process->world)
        return 1;
    if (communicator == process->other || communicator == 0)
        return 0;
    bpf_loop(WORDS_OF_COMMUNICATOR, look_for_name, &look, 0);
    if (look.found)
        process->world = communicator;
    else
        process->other = communicator;
    return look.found;
}

/* Bytes of so many elements; 0: not known. */
static __always_inline uint32_t mpi_bytes(uint32_t count, uint64_t type, uint32_t mpich)
{
    uint64_t size = 0;

    if (mpich)
        size = ((uint32_t)type >> 24) == MPICH_BUILTIN ? (uint32_t)type >> 8 & 0xff : 0;
    else
        bpf_probe_read_user(&size, sizeof(size), (void *)(type + OPEN_MPI_TYPE_SIZE));
    size *= count;
    return size > 0x7fffffff ? 0x7fffffff : size;
}

#endif
