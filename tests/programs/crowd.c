/* SPDX-License-Identifier: MIT */
/*
 * crowd.c: a process to be acquired: it creates and ends threads all the time, or holds many connections.
 *
 *      usage: crowd threads SECONDS         for this long
 *             crowd connections COUNT       COUNT TCP connections to a child, over loopback; from 20,001 on to
 *                                           several of its addresses
 *
 * threads: two threads create short-lived threads without pause, for at most SECONDS. Each thread ends by sending one
 * byte over the socket pair with which the process was started. SIGUSR1 opens a gate; the program ends 0.1 s later, or
 * when the first thread created since has sent. It then prints "created N sent N gated N", where gated counts the bytes
 * sent by threads that were created after the gate opened. connections: prints "ready" when all are connected; for each
 * line of standard input it sends one byte over every connection, and prints "done" when the child has received them;
 * ends at the end of the input.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CREATORS = 2, CONNECTIONS_PER_ADDRESS = 20000 };

static atomic_ulong created, sent, gated;
static atomic_bool gate, over;
static int pair[2];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- threads ---- */

static void *live_shortly(void *argument)
{
    char byte = argument != NULL ? 'G' : '.';

    if (send(pair[0], &byte, 1, 0) == 1) {
        atomic_fetch_add(&sent, 1);
        atomic_fetch_add(&gated, argument != NULL);
    }
    return NULL;
}

static void *create_threads(void *argument)
{
    (void)argument;
    while (!atomic_load(&over)) {
        pthread_t thread;
        void *after = atomic_load(&gate) ? &gate : NULL;
        if (pthread_create(&thread, NULL, live_shortly, after) != 0)
            continue;
        atomic_fetch_add(&created, 1);
        pthread_join(thread, NULL);
    }
    return NULL;
}

/* Keeps the socket from filling up. */
static void *receive_all(void *argument)
{
    char bytes[4096];

    (void)argument;
    while (recv(pair[1], bytes, sizeof(bytes), 0) > 0)
        ;
    return NULL;
}

static int crowd_of_threads(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    pthread_t creators[CREATORS], receiver;
    sigset_t signals;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        fail("socketpair");
    /* for the main thread alone, and also if it comes before the main thread waits for it */
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    printf("ready\n");
    fflush(stdout);
    pthread_create(&receiver, NULL, receive_all, NULL);
    for (int i = 0; i < CREATORS; i++)
        pthread_create(&creators[i], NULL, create_threads, NULL);
    if (sigtimedwait(&signals, NULL, &pause) == SIGUSR1) {
        atomic_store(&gate, true);
        do
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        while (atomic_load(&gated) == 0);
    }
    atomic_store(&over, true);
    for (int i = 0; i < CREATORS; i++)
        pthread_join(creators[i], NULL);
    shutdown(pair[0], SHUT_WR);
    pthread_join(receiver, NULL);
    printf("created %lu sent %lu gated %lu\n", created, sent, gated);
    return 0;
}

/* ---- connections ---- */

static void say(const char *word)
{
    printf("%s\n", word);
    fflush(stdout);
}

/* The accepting process: takes one byte from each connection, again and again. */
static int accept_and_receive(int listener, int *ends, size_t count)
{
    char byte;

    for (size_t i = 0; i < count; i++)
        if ((ends[i] = accept(listener, NULL, NULL)) < 0)
            fail("accept");
    say("ready");
    for (;;) {
        for (size_t i = 0; i < count; i++)
            if (recv(ends[i], &byte, 1, 0) != 1)
                return 0;
        say("done");
    }
}

static int connect_and_send(struct sockaddr_in address, int *ends, size_t count)
{
    char line[16], byte = 'x';

    for (size_t i = 0; i < count; i++) {
        /* each address has some 28,000 ports to connect from */
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(i / CONNECTIONS_PER_ADDRESS));
        ends[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (ends[i] < 0 || connect(ends[i], (struct sockaddr *)&address, sizeof(address)) != 0)
            fail("connect");
    }
    while (fgets(line, sizeof(line), stdin) != NULL)
        for (size_t i = 0; i < count; i++)
            if (send(ends[i], &byte, 1, 0) != 1)
                fail("send");
    return 0;
}

static int crowd_of_connections(size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof(address);
    int *ends = calloc(count, sizeof(*ends));
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (ends == NULL || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        fail("listen");
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    int result = child == 0 ? accept_and_receive(listener, ends, count)
                            : connect_and_send(address, ends, count);
    free(ends);
    return result;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "threads") == 0)
        return crowd_of_threads(strtod(argv[2], NULL));
    if (argc == 3 && strcmp(argv[1], "connections") == 0)
        return crowd_of_connections(strtoul(argv[2], NULL, 10));
    fprintf(stderr, "usage: crowd threads SECONDS | crowd connections COUNT\n");
    return 2;
}
