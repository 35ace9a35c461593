/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mpi_collective.bpf.h: WAKEUP: a rank begins a collective function, for which others may wait.
 *
 *      rank 0: MPI_Bcast(.., root 0, world)    the 4th of world; it gives          WAKEUP call 3, communicator h(job, world)
 *      rank 1: MPI_Bcast(.., root 0, world)    the 4th of world; it takes          WAKEUP call 3, communicator h(job, world)
 *
 * All members of a communicator call these functions in the same order. So they are counted from MPI_Init on, in all processes
 * alike.
 */
#ifndef DPM_MPI_COLLECTIVE_BPF_H
#define DPM_MPI_COLLECTIVE_BPF_H

#include "meter/kernel/mpi_communicator.bpf.h"

#define NO_ROOT (-1)

struct collective {
    uint64_t communicator; /* a handle; 0: not a function that is counted */
    int64_t root;
    uint32_t part; /* of one that is not the root */
    uint32_t unused;
};

/* The arguments of the function. One stack slot or register for each: see mpi.h. */
static __noinline int look_at_collective(struct collective *collective, uint32_t function,
                                         struct pt_regs *registers)
{
    uint64_t first = registers->di, fourth = registers->cx, fifth = registers->r8,
             sixth = registers->r9;

    /* as in take_requests */
    barrier_var(first);
    barrier_var(fourth);
    barrier_var(fifth);
    barrier_var(sixth);
    collective->root = NO_ROOT;
    collective->part = COLLECTIVE_ALL;
    switch (function) {
    case MPI_BARRIER:
    case MPI_SPLITS:
    case MPI_DUPLICATES:
    case MPI_CREATES:
        collective->communicator = first;
        return 0;
    case MPI_ALLREDUCE:
    case MPI_REDUCE_SCATTER:
    case MPI_REDUCE_SCATTER_BLOCK:
        collective->communicator = sixth;
        return 0;
    case MPI_ALLGATHER:
    case MPI_ALLTOALL:
        collective->communicator = on_stack(registers, 0);
        return 0;
    case MPI_ALLGATHERV:
        collective->communicator = on_stack(registers, 1);
        return 0;
    case MPI_ALLTOALLV:
    case MPI_ALLTOALLW:
        collective->communicator = on_stack(registers, 2);
        return 0;
    case MPI_BCAST:
        collective->part = COLLECTIVE_TAKES;
        collective->root = (int32_t)fourth;
        collective->communicator = fifth;
        return 0;
    case MPI_REDUCE:
        collective->part = COLLECTIVE_BRINGS;
        collective->root = (int32_t)sixth;
        collective->communicator = on_stack(registers, 0);
        return 0;
    case MPI_GATHER:
    case MPI_SCATTER:
        collective->part = function == MPI_GATHER ? COLLECTIVE_BRINGS : COLLECTIVE_TAKES;
        collective->root = (int32_t)on_stack(registers, 0);
        collective->communicator = on_stack(registers, 1);
        return 0;
    case MPI_GATHERV:
    case MPI_SCATTERV:
        collective->part = function == MPI_GATHERV ? COLLECTIVE_BRINGS : COLLECTIVE_TAKES;
        collective->root = (int32_t)on_stack(registers, 1);
        collective->communicator = on_stack(registers, 2);
        return 0;
    }
    return 0;
}

static __always_inline uint32_t part_of_rank(const struct collective *collective,
                                             const struct mpi_communicator *of)
{
    if (collective->root == NO_ROOT || of->rank == 0 || of->rank - 1 != (uint32_t)collective->root)
        return collective->part;
    return collective->part == COLLECTIVE_TAKES ? COLLECTIVE_GIVES : COLLECTIVE_COLLECTS;
}

/* A call of a collective function by the current task: counts it, and records it. */
static __noinline int collective_begins(struct stream *stream, struct mpi_process *process,
                                        struct mpi_call *call, struct pt_regs *registers)
{
    struct collective collective = {};
    struct mpi_communicator *of;
    struct record *record;
    uint32_t number, hash;

    if (stream == NULL || process == NULL || call == NULL || registers == NULL || !process->whole)
        return 0;
    look_at_collective(&collective, call->function, registers);
    if (collective.communicator == 0)
        return 0;
    call->communicator.handle = mpi_handle(collective.communicator, call->mpich);
    of = mpi_communicator_of(process, &call->communicator, call->mpich);
    if (of == NULL)
        return 0;
    number = __sync_fetch_and_add(&of->calls, 1);
    if (silent(stream) || !tells_of_kind(stream, EVENT_WAKEUP, METER_MPI))
        return 0;
    record = begin_record(stream, NULL, RING_DATA, sizeof(*record), EVENT_WAKEUP, 0);
    if (record == NULL)
        return 0;
    hash = mpi_mix(mpi_mix(process->job, of->id), 1) >> 32;
    record->wakeup.woken = 0;
    record->wakeup.waker = of->size;
    record->wakeup.call = number;
    record->wakeup.communicator = (hash | COLLECTIVE_PART_MASK + 1) & ~COLLECTIVE_PART_MASK;
    record->wakeup.communicator |= part_of_rank(&collective, of);
    submit(record);
    return 0;
}

#endif
