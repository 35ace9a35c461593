/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mpi_communicator.bpf.h: communicators other than MPI_COMM_WORLD. All members of a communicator make others of it with the
 * same calls in the same order, so each can compute the same number for the new one; and programs ask for their rank in it.
 *
 *      rank 2: MPI_Comm_split(world, color 1, ..)   the first one of world: h(h(world, 1), color 1) = 0x5a..   rank not known
 *              MPI_Comm_rank(0x5a.., &rank)                                                                    rank 0
 *      rank 3: MPI_Comm_split(world, color 1, ..)                           h(h(world, 1), color 1) = 0x5a..
 *              MPI_Comm_rank(0x5a.., &rank)                                                                    rank 1
 *
 * Only a process that was seen to initialize MPI has seen all calls. Handles are of the process: a pointer, or an int.
 */
#ifndef DPM_MPI_COMMUNICATOR_BPF_H
#define DPM_MPI_COMMUNICATOR_BPF_H

#include "meter/kernel/mpi_process.bpf.h"

#define MPI_FIRST_HASH 0x8f1bbcdcbfa53e0bULL

struct mpi_communicator {
    uint64_t id;    /* the same in all members; 0: MPI_COMM_WORLD */
    uint32_t rank;  /* + 1; 0: not known */
    uint32_t makes; /* communicators that were made of it */
    uint32_t size;  /* how many ranks it has; 0: not known */
    uint32_t calls; /* of collective functions */
};

/* The call of a thread that makes one, or asks for a rank. */
struct mpi_making {
    uint32_t function; /* 0: none */
    uint32_t mpich;
    uint64_t of;     /* a handle */
    uint64_t result; /* address of the new handle, or of the rank */
    uint64_t group;  /* which part of the members has this new one; the same for all of these */
    uint32_t same;   /* ranks are as in `of` */
    uint32_t unused;
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct mpi_communicator_key);
    __type(value, struct mpi_communicator);
} mpi_communicators SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct mpi_making);
} mpi_makings SEC(".maps");

static __always_inline uint64_t mpi_handle(uint64_t communicator, uint32_t mpich)
{
    return mpich ? (uint32_t)communicator : communicator;
}

/* NULL: it is not known. */
static __noinline struct mpi_communicator *
mpi_communicator_of(struct mpi_process *process, struct mpi_communicator_key *key, uint32_t mpich)
{
    struct mpi_communicator *known;

    if (process == NULL || key == NULL)
        return NULL;
    known = bpf_map_lookup_elem(&mpi_communicators, key);
    if (known == NULL && is_world(process, key->handle, mpich)) {
        struct mpi_communicator world = {.rank = process->rank + 1, .size = process->size};
        bpf_map_update_elem(&mpi_communicators, key, &world, BPF_NOEXIST);
        known = bpf_map_lookup_elem(&mpi_communicators, key);
    }
    return known;
}

/* ---- calls that make them ---- */

/* Processes of one machine, for MPI_COMM_TYPE_SHARED. */
static __always_inline uint64_t mpi_machine(struct task_struct *task)
{
    char name[65] = {};
    uint64_t hash = 1;

    BPF_CORE_READ_INTO(&name, task, nsproxy, uts_ns, name.nodename);
    for (uint32_t i = 0; i < sizeof(name) && name[i] != '\0'; i++)
        hash = mpi_mix(hash, (uint8_t)name[i]);
    return hash;
}

static __always_inline void note_making(struct mpi_making *making, struct task_struct *task,
                                        const struct pt_regs *registers)
{
    making->of = registers->di;
    making->group = 0;
    making->same = 0;
    switch (making->function) {
    case MPI_MAKES_DUP:
        making->result = registers->si;
        making->same = 1;
        break;
    case MPI_MAKES_SPLIT:
        making->result = registers->cx;
        making->group = 1 + (uint32_t)registers->si;
        break;
    case MPI_MAKES_SPLIT_TYPE:
        making->result = registers->r8;
        making->group = mpi_mix(mpi_machine(task), (uint32_t)registers->si);
        break;
    case MPI_MAKES_CART:
        making->result = registers->r9;
        making->same = (uint32_t)registers->r8 == 0; /* not reordered */
        break;
    default: /* MPI_TELLS_RANK, MPI_TELLS_SIZE */
        making->result = registers->si;
    }
    making->of = mpi_handle(making->of, making->mpich);
}

static __always_inline void forget_communicator(struct mpi_communicator_key *key, uint64_t address,
                                                uint32_t mpich)
{
    uint64_t handle = 0;

    bpf_probe_read_user(&handle, sizeof(handle), (void *)address);
    key->handle = mpi_handle(handle, mpich);
    bpf_map_delete_elem(&mpi_communicators, key);
}

SEC("uprobe")
int mpi_making_begins(struct pt_regs *registers)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint64_t cookie = bpf_get_attach_cookie(registers);
    struct mpi_communicator_key key = {};
    struct mpi_making *making;

    if (running_stream(task) == NULL)
        return 0;
    key.process = mpi_key_of(task);
    if ((cookie & MPI_FUNCTION_MASK) == MPI_FREES) {
        forget_communicator(&key, registers->di, (cookie & MPI_OF_MPICH) != 0);
        return 0;
    }
    making = bpf_task_storage_get(&mpi_makings, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (making == NULL)
        return 0;
    making->function = cookie & MPI_FUNCTION_MASK;
    making->mpich = (cookie & MPI_OF_MPICH) != 0;
    note_making(making, task, registers);
    return 0;
}

static __always_inline void take_rank(struct mpi_communicator *of, const struct mpi_making *making)
{
    uint32_t rank = 0;

    if (of->rank == 0 && bpf_probe_read_user(&rank, sizeof(rank), (void *)making->result) == 0 &&
        rank < MPI_MOST_RANK)
        of->rank = rank + 1;
}

static __always_inline void take_size(struct mpi_communicator *of, const struct mpi_making *making)
{
    uint32_t size = 0;

    if (bpf_probe_read_user(&size, sizeof(size), (void *)making->result) == 0 &&
        size <= MPI_MOST_RANK)
        of->size = size;
}

static __always_inline void take_communicator(struct mpi_communicator *of,
                                              struct mpi_communicator_key *key,
                                              const struct mpi_making *making)
{
    struct mpi_communicator made = {.rank = making->same ? of->rank : 0,
                                    .size = making->same ? of->size : 0};
    uint64_t handle = 0;

    made.id = mpi_mix(mpi_mix(MPI_FIRST_HASH, of->id), __sync_fetch_and_add(&of->makes, 1));
    made.id = mpi_mix(made.id, making->group);
    made.id |= 1; /* not MPI_COMM_WORLD's */
    if (bpf_probe_read_user(&handle, making->mpich ? 4 : 8, (void *)making->result) != 0)
        return;
    key->handle = handle;
    bpf_map_update_elem(&mpi_communicators, key, &made, BPF_ANY);
}

SEC("uretprobe")
int mpi_making_ends(struct pt_regs *registers)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct mpi_making *making = bpf_task_storage_get(&mpi_makings, task, NULL, 0);
    struct mpi_communicator_key key = {};
    struct mpi_communicator *of;
    struct mpi_process *process;
    uint32_t function;

    if (making == NULL || making->function == 0)
        return 0;
    function = making->function;
    making->function = 0;
    if (function != (bpf_get_attach_cookie(registers) & MPI_FUNCTION_MASK) ||
        (uint32_t)registers->ax != 0)
        return 0;
    key.process = mpi_key_of(task);
    key.handle = making->of;
    process = bpf_map_lookup_elem(&mpi_processes, &key.process);
    if (process == NULL || !process->whole)
        return 0;
    of = mpi_communicator_of(process, &key, making->mpich);
    if (of == NULL)
        return 0;
    if (function == MPI_TELLS_RANK)
        take_rank(of, making);
    else if (function == MPI_TELLS_SIZE)
        take_size(of, making);
    else
        take_communicator(of, &key, making);
    return 0;
}

#endif
