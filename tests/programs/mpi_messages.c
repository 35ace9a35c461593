/* SPDX-License-Identifier: MIT */
/*
 * mpi_messages.c: a program of MPI whose messages its own PMPI wrapper counts (mpi_test.sh compiles it with each MPI): blocking
 * and not, large and small, of several tags and communicators, received from anybody, polled for, waited for one by one, by requests
 * that are started many times, matched before they are received. Each rank writes
 * truth.RANK: messages sent and their bytes, received and their bytes. With an argument, ranks first do what is
 * not recorded: "cancel" a receive; "anybody", messages received without a status.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static long sent, sent_bytes, received, received_bytes;

static void note_sent(int count, MPI_Datatype type, int to)
{
    int size;

    if (to == MPI_PROC_NULL)
        return;
    PMPI_Type_size(type, &size);
    sent++;
    sent_bytes += (long)count * size;
}

static void note_received(MPI_Status *status)
{
    int bytes;

    PMPI_Get_count(status, MPI_BYTE, &bytes);
    received++;
    received_bytes += bytes;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm of)
{
    note_sent(count, type, to);
    return PMPI_Send(buffer, count, type, to, tag, of);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm of,
              MPI_Request *request)
{
    note_sent(count, type, to);
    return PMPI_Isend(buffer, count, type, to, tag, of, request);
}

static char large[200000];
static int rank, size, next, before;

/* Each rank with both neighbours, in types of 4 and 8 bytes. */
static void halo(void)
{
    int in[100], out[100];
    double reals_in[50], reals_out[50];
    MPI_Request requests[4];
    MPI_Status statuses[4];

    MPI_Irecv(in, 100, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(reals_in, 50, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 100, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(reals_out, 50, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    note_received(&statuses[0]);
    note_received(&statuses[1]);
}

static void exchange(void)
{
    MPI_Status status;

    note_sent(1000, MPI_BYTE, next);
    MPI_Sendrecv(large, 1000, MPI_BYTE, next, 3, large + 5000, 1000, MPI_BYTE, before, 3,
                 MPI_COMM_WORLD, &status);
    note_received(&status);
}

/* To rank 0, which takes them from anybody; every second one is too large to be sent before it is asked for. */
static void farm(void)
{
    MPI_Status status;

    for (int i = 0; rank != 0 && i < 10; i++)
        MPI_Send(large, i % 2 ? 150000 : 10, MPI_BYTE, 0, 4 + i % 2, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 10 * (size - 1); i++) {
        MPI_Recv(large, sizeof(large), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        note_received(&status);
    }
}

/* Rank 0 polls for what rank 1 has sent, the later one first. */
static void poll_for(void)
{
    MPI_Request request;
    MPI_Status status;

    for (int tag = 6; rank == 1 && tag <= 7; tag++)
        MPI_Send(large, tag, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    for (int tag = 7; rank == 0 && tag >= 6; tag--) {
        int done = 0;
        MPI_Irecv(large, 100, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, &status);
        note_received(&status);
    }
}

static void any_of_two(void)
{
    int number;
    double real;
    MPI_Request requests[2];
    MPI_Status status;

    MPI_Irecv(&number, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&real, 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Send(large, 1, MPI_DOUBLE, before, 2, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        int which;
        MPI_Waitany(2, requests, &which, &status);
        note_received(&status);
    }
}

/* Each with the next one of this communicator. */
static void around(MPI_Comm of, int own)
{
    int members, number = own, in;
    MPI_Request request;
    MPI_Status status;

    MPI_Comm_size(of, &members);
    for (int i = 0; members > 1 && i < 5; i++) {
        MPI_Irecv(&in, 1, MPI_INT, (own + members - 1) % members, 1, of, &request);
        MPI_Send(&number, 1, MPI_INT, (own + 1) % members, 1, of);
        MPI_Wait(&request, &status);
        note_received(&status);
    }
}

static int rank_in(MPI_Comm of)
{
    int own;

    MPI_Comm_rank(of, &own);
    return own;
}

/* All use the same ranks and tags. Ranks of the same and of the line are those of the world. */
static void communicators(void)
{
    MPI_Comm same, part, node, line, again, none;
    int ends = 0;

    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    around(same, rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    around(part, rank_in(part));
    MPI_Comm_split_type(same, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    around(node, rank_in(node));
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ends, 0, &line);
    around(line, rank);
    MPI_Comm_split(line, rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
    MPI_Comm_free(&same);
    MPI_Comm_dup(part, &again);
    around(again, rank_in(again));
    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    around(same, rank);
}

static void replaced(void)
{
    int number = rank;
    MPI_Status status;

    note_sent(1, MPI_INT, next);
    MPI_Sendrecv_replace(&number, 1, MPI_INT, next, 8, before, 8, MPI_COMM_WORLD, &status);
    note_received(&status);
}

/* Requests that are started many times, and end in each of the ways. */
static void persistent(void)
{
    int in[2], out[2] = {rank, rank}, which[4], count, done = 0;
    MPI_Request requests[4], never;
    MPI_Status statuses[4];

    MPI_Recv_init(&in[0], 1, MPI_INT, before, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&out[0], 1, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &requests[2]);
    MPI_Ssend_init(&out[1], 1, MPI_INT, next, 10, MPI_COMM_WORLD, &requests[3]);
    MPI_Recv_init(&in[1], 1, MPI_INT, next, 9, MPI_COMM_WORLD, &never);
    for (int i = 0; i < 5; i++) {
        note_sent(1, MPI_INT, next);
        note_sent(1, MPI_INT, next);
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, statuses);
        note_received(&statuses[0]);
        note_received(&statuses[2]);
    }
    for (int i = 0; i < 5; i++) { /* only the first two: the others are not active */
        note_sent(1, MPI_INT, next);
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
        for (int ended = 0; ended < 2; ended += count) {
            MPI_Waitsome(4, requests, &count, which, statuses);
            for (int k = 0; k < count; k++)
                if (which[k] == 0)
                    note_received(&statuses[k]);
        }
    }
    note_sent(1, MPI_INT, next);
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    while (!done)
        MPI_Test(&requests[0], &done, &statuses[0]);
    note_received(&statuses[0]);
    MPI_Wait(&requests[1], &statuses[1]);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
    MPI_Request_free(&never);
}

static void matched(void)
{
    char in[20];
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int found = 0;

    MPI_Isend(large, 11, MPI_BYTE, next, 11, MPI_COMM_WORLD, &request);
    MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, sizeof(in), MPI_BYTE, &message, &status);
    note_received(&status);
    MPI_Wait(&request, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(large, 12, MPI_BYTE, next, 12, MPI_COMM_WORLD, &request);
    while (!found)
        MPI_Improbe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &found, &message, &status);
    MPI_Wait(&request, &status);
    MPI_Imrecv(in, sizeof(in), MPI_BYTE, &message, &request);
    MPI_Wait(&request, &status);
    note_received(&status);
}

/* On the path of the halo's first tag. */
static void unrecorded(const char *how)
{
    int number = rank;
    MPI_Request request;
    MPI_Status status;

    if (strcmp(how, "cancel") == 0) {
        MPI_Irecv(&number, 1, MPI_INT, before, 13, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        return;
    }
    for (int to = 0; to < size; to++)
        if (rank == 0 && to != 0)
            MPI_Send(&number, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    char name[32];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    if (argc > 1) {
        unrecorded(argv[1]);
        MPI_Barrier(MPI_COMM_WORLD); /* else what follows is taken from anybody, too */
    }
    for (int i = 0; i < 20; i++)
        halo();
    for (int i = 0; i < 10; i++)
        exchange();
    MPI_Barrier(MPI_COMM_WORLD); /* the farm takes whatever comes */
    farm();
    MPI_Barrier(MPI_COMM_WORLD);
    poll_for();
    MPI_Send(large, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    any_of_two();
    MPI_Barrier(MPI_COMM_WORLD);
    replaced();
    persistent();
    MPI_Barrier(MPI_COMM_WORLD);
    matched();
    communicators();
    snprintf(name, sizeof(name), "truth.%d", rank);
    FILE *file = fopen(name, "w");
    fprintf(file, "%ld %ld %ld %ld\n", sent, sent_bytes, received, received_bytes);
    fclose(file);
    MPI_Finalize();
    return 0;
}
