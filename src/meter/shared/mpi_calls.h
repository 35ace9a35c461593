/* SPDX-License-Identifier: MIT */
/* mpi_calls.h: which function of MPI a probe is at: what the kernel program is told (src/libraries, meter/kernel/mpi.bpf.h). */
#ifndef DPM_MPI_CALLS_H
#define DPM_MPI_CALLS_H

enum mpi_function {
    MPI_NO_FUNCTION = 0,
    MPI_SEND = 1, /* and MPI_Bsend, Ssend, Rsend */
    MPI_ISEND = 2,
    MPI_RECV = 3,
    MPI_IRECV = 4,
    MPI_SENDRECV = 5,
    MPI_WAIT = 6,
    MPI_WAITALL = 7,
    MPI_WAITANY = 8,
    MPI_WAITSOME = 9,
    MPI_WAIT_LAST = 9, /* the others only ask */
    MPI_TEST = 10,
    MPI_TESTALL = 11,
    MPI_TESTANY = 12,
    MPI_TESTSOME = 13,
    MPI_FINALIZE = 14,
    MPI_UNCOUNTED = 15, /* passes a message that is not recorded, which shifts later numbers */
    MPI_INIT = 16,
    MPI_SENDRECV_REPLACE = 17,
    MPI_SEND_INIT = 18, /* and MPI_Bsend_init ...: a request that may be started many times */
    MPI_RECV_INIT = 19,
    MPI_START = 20,
    MPI_STARTALL = 21,
    MPI_REQUEST_FREE = 22,
    MPI_MPROBE = 23,
    MPI_IMPROBE = 24,
    MPI_MRECV = 25,
    MPI_IMRECV = 26,
    /* those in which a process waits for others, without messages of its own: see MPI_WAITING_NAMES */
    MPI_WAITING_FIRST = 32,
    /* calls that make communicators, or ask for the rank in one; see mpi_communicator.bpf.h */
    MPI_MAKES_FIRST = 64,
    MPI_MAKES_DUP = 64,
    MPI_MAKES_SPLIT = 65,
    MPI_MAKES_SPLIT_TYPE = 66,
    MPI_MAKES_CART = 67,
    MPI_TELLS_RANK = 68,
    MPI_FREES = 69,
    MPI_TELLS_SIZE = 70,
    MPI_FUNCTION_MASK = 0xff,
    MPI_OF_MPICH = 0x100, /* not Open MPI */
};

/* Some of MPI_WAITING_NAMES. */
enum {
    MPI_BARRIER = 32,
    MPI_BCAST,
    MPI_REDUCE,
    MPI_ALLREDUCE,
    MPI_GATHER,
    MPI_GATHERV,
    MPI_ALLGATHER,
    MPI_ALLGATHERV,
    MPI_SCATTER,
    MPI_SCATTERV,
    MPI_ALLTOALL,
    MPI_ALLTOALLV,
    MPI_ALLTOALLW,
    MPI_REDUCE_SCATTER,
    MPI_REDUCE_SCATTER_BLOCK,
    MPI_PROBE = 49,
    MPI_SPLITS = 50,
    MPI_DUPLICATES = 51,
    MPI_CREATES = 52,
};

#define MPI_WAITING_NAME_SIZE 24

/* The functions from MPI_WAITING_FIRST on. */
/* clang-format off */
#define MPI_WAITING(EACH) \
    EACH(Barrier, 32) EACH(Bcast, 33) EACH(Reduce, 34) EACH(Allreduce, 35) \
    EACH(Gather, 36) EACH(Gatherv, 37) EACH(Allgather, 38) EACH(Allgatherv, 39) \
    EACH(Scatter, 40) EACH(Scatterv, 41) EACH(Alltoall, 42) EACH(Alltoallv, 43) \
    EACH(Alltoallw, 44) EACH(Reduce_scatter, 45) EACH(Reduce_scatter_block, 46) EACH(Scan, 47) \
    EACH(Exscan, 48) EACH(Probe, 49) EACH(Comm_split, 50) EACH(Comm_dup, 51) \
    EACH(Comm_create, 52) EACH(Comm_free, 53) EACH(Win_fence, 54)
/* clang-format on */

#define MPI_WAITING_COUNT 23

#endif
