/* SPDX-License-Identifier: MIT */
/*
 * mpi_late.c: before each collective function one rank is late (mpi_test.sh compiles it with each MPI). Rank 0 writes to the file
 * `expected` which process has waited in which function for which one, a line for each, as far as their own clocks confirm it:
 *
 *      4711 MPI_Barrier 4712
 *
 * With an argument it names them by rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEPS 9
#define LATE  0.2 /* s */

enum waiters { ALL, FIRST }; /* all others wait, or only rank 0 */

static const struct step {
    const char *name;
    int late;
    enum waiters waiters;
} steps[STEPS] = {
    {"MPI_Barrier", 1, ALL},   {"MPI_Allreduce", 2, ALL}, {"MPI_Bcast", 1, ALL},
    {"MPI_Reduce", 2, FIRST},  {"MPI_Gather", 1, FIRST},  {"MPI_Scatter", 2, ALL},
    {"MPI_Allgather", 1, ALL}, {"MPI_Alltoall", 2, ALL},  {"MPI_Barrier", 1, ALL},
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void call(int step, MPI_Comm other, int *in, int *out)
{
    switch (step) {
    case 0:
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    case 1:
        MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        return;
    case 2:
        MPI_Bcast(in, 1, MPI_INT, 1, MPI_COMM_WORLD);
        return;
    case 3:
        MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        return;
    case 4:
        MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return;
    case 5:
        MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, 2, MPI_COMM_WORLD);
        return;
    case 6:
        MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        return;
    case 7:
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        return;
    default:
        MPI_Barrier(other);
    }
}

static void expect(FILE *file, const struct step *step, int size, const double *began,
                   const int *pids)
{
    for (int rank = 0; rank < size; rank++)
        if (rank != step->late && began[rank * STEPS] > began[step->late * STEPS])
            return; /* it had no CPU, and was later */
    for (int rank = 0; rank < (step->waiters == ALL ? size : 1); rank++)
        if (rank != step->late && began[rank * STEPS] + LATE / 2 < began[step->late * STEPS])
            fprintf(file, "%d %s %d\n", pids[rank], step->name, pids[step->late]);
}

int main(int argc, char **argv)
{
    int rank, size, pid;
    double began[STEPS];
    MPI_Comm other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pid = argc > 1 ? rank : getpid();
    int *in = calloc((size_t)size, sizeof(int)), *out = calloc((size_t)size, sizeof(int));
    int *pids = calloc((size_t)size, sizeof(int));
    double *all = calloc((size_t)size * STEPS, sizeof(double));
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int step = 0; step < STEPS; step++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (double end = now() + LATE; rank == steps[step].late && now() < end;)
            ;
        began[step] = now();
        call(step, other, in, out);
    }
    MPI_Gather(began, STEPS, MPI_DOUBLE, all, STEPS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    FILE *file = rank == 0 ? fopen("expected", "w") : NULL;
    for (int step = 0; file != NULL && step < STEPS; step++)
        expect(file, &steps[step], size, all + step, pids);
    if (file != NULL)
        fclose(file);
    MPI_Finalize();
    return 0;
}
