/* SPDX-License-Identifier: MIT */
/*
 * load.c: sends many messages over a socket pair and counts them: the truth for tests of losses, truncation and sizes.
 *
 *      load MESSAGES BYTES    a child receives what the parent sends; prints
 *                             `sends N receives M` (calls that moved data) on standard output
 *
 * The program ends after at most 60 seconds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int receive_all(int socket, size_t buffer_size)
{
    char *buffer = malloc(buffer_size);
    long receives = 0;
    ssize_t got;

    if (buffer == NULL)
        return -1;
    while ((got = recv(socket, buffer, buffer_size, 0)) > 0)
        receives++;
    free(buffer);
    printf("receives %ld\n", receives);
    return got < 0 ? -1 : 0;
}

static int send_all(int socket, long messages, size_t bytes)
{
    char *buffer = calloc(1, bytes);

    if (buffer == NULL)
        return -1;
    for (long i = 0; i < messages; i++)
        if (send(socket, buffer, bytes, 0) != (ssize_t)bytes)
            return -1;
    free(buffer);
    printf("sends %ld\n", messages);
    return 0;
}

int main(int argc, char **argv)
{
    int pair[2], status;

    if (argc != 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) {
        fprintf(stderr, "usage: load MESSAGES BYTES\n");
        return 2;
    }
    long messages = atol(argv[1]);
    size_t bytes = (size_t)atol(argv[2]);
    alarm(60);
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        return receive_all(pair[1], bytes) < 0;
    }
    close(pair[1]);
    if (child < 0 || send_all(pair[0], messages, bytes) < 0) {
        perror("load");
        return 1;
    }
    close(pair[0]);
    return waitpid(child, &status, 0) < 0 || status != 0;
}
