/* SPDX-License-Identifier: MIT */
/* mpi_ring.c: mpi_ring ROUNDS SLOW: a message goes around all ranks so many times; each computes for 1 ms before it passes it on, the
 * slow one for 20. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_time(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void compute(uint64_t milliseconds)
{
    uint64_t end = cpu_time() + milliseconds * 1000000;

    while (cpu_time() < end)
        ;
}

int main(int argc, char **argv)
{
    int rank, ranks, token = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks < 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int rounds = atoi(argv[1]), slow = atoi(argv[2]), before = (rank + ranks - 1) % ranks;
    for (int i = 0; i < rounds; i++) {
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(rank == slow ? 20 : 1);
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
