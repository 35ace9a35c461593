/* SPDX-License-Identifier: MIT */
/*
 * pingpong.c: two processes pass one message to and fro, pinned to one CPU: the cost of a round
 * trip (two sends, two receives, two switches) without the noise of two CPUs.
 *
 *      pingpong tcp|udp|unix ROUNDS [GATE]    prints nanoseconds per round trip
 *
 * With GATE, a file name, it waits until that file exists: time to set up what is to be measured.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 64

static int tcp_pair(int pair[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (void *)&address, &length) < 0 ||
        connect(pair[0], (void *)&address, length) < 0 ||
        (pair[1] = accept(listener, NULL, NULL)) < 0)
        return -1;
    close(listener);
    setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(pair[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return 0;
}

static int udp_pair(int pair[2])
{
    struct sockaddr_in address[2] = {{.sin_family = AF_INET}, {.sin_family = AF_INET}};
    socklen_t length = sizeof(address[0]);

    for (int i = 0; i < 2; i++) {
        address[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        pair[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (bind(pair[i], (void *)&address[i], length) < 0 ||
            getsockname(pair[i], (void *)&address[i], &length) < 0)
            return -1;
    }
    return connect(pair[0], (void *)&address[1], length) < 0 ||
                   connect(pair[1], (void *)&address[0], length) < 0
               ? -1
               : 0;
}

static int unix_pair(int pair[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static const struct {
    const char *name;
    int (*make)(int pair[2]);
} kinds[] = {{"tcp", tcp_pair}, {"udp", udp_pair}, {"unix", unix_pair}};

static int make_pair(const char *name, int pair[2])
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i].make(pair);
    return -1;
}

static void serve(int socket)
{
    char message[MESSAGE];
    ssize_t got;

    while ((got = recv(socket, message, sizeof(message), 0)) > 0)
        if (send(socket, message, (size_t)got, 0) != got)
            break;
}

static int play(int socket, long rounds)
{
    char message[MESSAGE] = "";

    for (long i = 0; i < rounds; i++)
        if (send(socket, message, sizeof(message), 0) != sizeof(message) ||
            recv(socket, message, sizeof(message), MSG_WAITALL) != sizeof(message))
            return -1;
    return 0;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    cpu_set_t cpu;
    int pair[2];

    if (argc < 3 || make_pair(argv[1], pair) < 0) {
        fprintf(stderr, "usage: pingpong tcp|udp|unix ROUNDS [GATE]\n");
        return 2;
    }
    long rounds = atol(argv[2]);
    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    sched_setaffinity(0, sizeof(cpu), &cpu);
    alarm(120);
    for (int i = 0; argc > 3 && i < 1000 && access(argv[3], F_OK) < 0; i++)
        usleep(10000);
    if (fork() == 0) {
        close(pair[0]);
        serve(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    if (play(pair[0], rounds / 10) < 0) /* warm */
        return 1;
    double begin = now();
    if (play(pair[0], rounds) < 0)
        return 1;
    printf("%.1f\n", (now() - begin) / (double)rounds);
    send(pair[0], "", 0, 0); /* the end, of datagrams */
    close(pair[0]);
    wait(NULL);
    return 0;
}
