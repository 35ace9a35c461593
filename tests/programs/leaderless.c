/* SPDX-License-Identifier: MIT */
/*
 * leaderless.c: `leaderless GO COUNT [leader]`: a thread sends COUNT messages to itself, once the file GO exists. Unless
 * `leader` is given, the main thread ends at once: then /proc/PID has no files of the program any more, but
 * /proc/PID/task/TID has.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *go;
static int count;

/* A PC of each send is in this function. */
__attribute__((noinline)) static void talk_to_itself(int ends[2])
{
    char byte = 1;

    for (int i = 0; i < count; i++)
        if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
            exit(1);
}

static void *work(void *unused)
{
    int ends[2];

    (void)unused;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        exit(1);
    for (int i = 0; i < 6000 && access(go, F_OK) < 0; i++)
        usleep(10000);
    talk_to_itself(ends);
    printf("sent %d\n", count);
    exit(0);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 3)
        return 2;
    go = argv[1];
    count = atoi(argv[2]);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    if (argc > 3 && strcmp(argv[3], "leader") == 0)
        pthread_join(thread, NULL);
    pthread_exit(NULL);
}
