/* SPDX-License-Identifier: MIT */
/*
 * mpi_threads.c: four threads of each rank send to the same threads of the next rank at once (MPI_THREAD_MULTIPLE), each by its own
 * tag; message number n has n bytes, so that an order that is wrong shows in the sizes. Rank 0 prints how many messages there were,
 * and their bytes; "none" if this MPI has no such threads.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS  4
#define MESSAGES 100

static int rank, ranks;

static void *exchange(void *context)
{
    int tag = (int)(intptr_t)context, next = (rank + 1) % ranks,
        before = (rank + ranks - 1) % ranks;
    char out[MESSAGES] = {0}, in[MESSAGES];
    MPI_Request request;
    MPI_Status status; /* else its size is that of the buffer */

    for (int i = 1; i <= MESSAGES; i++) {
        MPI_Isend(out, i, MPI_BYTE, next, tag, MPI_COMM_WORLD, &request);
        MPI_Recv(in, MESSAGES, MPI_BYTE, before, tag, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (intptr_t i = 0; provided == MPI_THREAD_MULTIPLE && i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, (void *)i);
    for (int i = 0; provided == MPI_THREAD_MULTIPLE && i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (rank == 0 && provided == MPI_THREAD_MULTIPLE)
        printf("[%d,%d]\n", ranks * THREADS * MESSAGES,
               ranks * THREADS * MESSAGES * (MESSAGES + 1) / 2);
    else if (rank == 0)
        puts("none");
    MPI_Finalize();
    return 0;
}
