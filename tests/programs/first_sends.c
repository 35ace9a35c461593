/* SPDX-License-Identifier: MIT */
/*
 * first_sends.c: two threads send at once through a socket that was never used before; then the next socket.
 *
 *      usage: first-sends datagram|stream|seqpacket COUNT
 *
 *      thread 1 --- 100 bytes --\
 *                                one socket --> parent
 *      thread 2 --- 200 bytes --/
 *
 * The size of a message identifies its sender; on a byte stream, every byte is the sender's number. The parent prints
 * the sizes it receives, in order.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SENDERS 2

static pthread_barrier_t barrier;
static int ends[2]; /* receiving end, sending end */
static int count;

/* Waits until the receiver sleeps in its call, and both senders are awake. */
#define MOMENT 60000 /* ns */

static void let_a_moment_pass(void)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < MOMENT);
}

static void *send_first(void *number)
{
    char message[SENDERS * 100];
    size_t size = (size_t)(*(const int *)number * 100);

    memset(message, *(const int *)number, sizeof(message));
    for (int i = 0; i < count; i++) {
        pthread_barrier_wait(&barrier);
        let_a_moment_pass();
        if (write(ends[1], message, size) != (ssize_t)size)
            abort();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static int make_ends(const char *kind)
{
    int pair[2];

    int type = strcmp(kind, "stream") == 0      ? SOCK_STREAM
               : strcmp(kind, "seqpacket") == 0 ? SOCK_SEQPACKET
                                                : SOCK_DGRAM;
    int result = socketpair(AF_UNIX, type, 0, pair);
    ends[0] = pair[0];
    ends[1] = pair[1];
    return result;
}

/* Receives one message and no byte of the next: its first byte gives its size. */
static void receive_one(bool bytes)
{
    char message[SENDERS * 100];
    ssize_t size = read(ends[0], message, bytes ? 1 : sizeof(message));

    if (size <= 0)
        abort();
    if (bytes)
        for (ssize_t all = message[0] * 100, got; size < all; size += got)
            if ((got = read(ends[0], message, (size_t)(all - size))) <= 0)
                abort();
    printf("%zd\n", size);
}

int main(int argument_count, char **arguments)
{
    static int numbers[SENDERS] = {1, 2};
    pthread_t threads[SENDERS];

    if (argument_count != 3) {
        fprintf(stderr, "usage: first-sends datagram|stream|seqpacket COUNT\n");
        return 2;
    }
    count = atoi(arguments[2]);
    bool bytes = strcmp(arguments[1], "stream") == 0;
    pthread_barrier_init(&barrier, NULL, SENDERS + 1);
    for (int i = 0; i < SENDERS; i++)
        pthread_create(&threads[i], NULL, send_first, &numbers[i]);
    for (int i = 0; i < count; i++) {
        if (make_ends(arguments[1]) < 0)
            abort();
        pthread_barrier_wait(&barrier);
        for (int j = 0; j < SENDERS; j++)
            receive_one(bytes);
        pthread_barrier_wait(&barrier);
        close(ends[0]);
        close(ends[1]);
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
