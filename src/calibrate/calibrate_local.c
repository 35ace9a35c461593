/* SPDX-License-Identifier: MIT */
/*
 * calibrate_local.c: `dpm calibrate` within this machine: a child echoes over each kind of connection. See calibrate.h.
 */
#include "calibrate/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* A pair of connected TCP sockets. */
static int tcp_pair(int pair[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    pair[0] = listener < 0 ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair[1] = -1;
    if (listener >= 0 && pair[0] >= 0 &&
        bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
        connect(pair[0], (struct sockaddr *)&address, size) == 0)
        pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    int error = pair[1] < 0 ? -errno : 0;
    for (int i = 0; i < 2 && error == 0; i++)
        setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (listener >= 0)
        close(listener);
    if (error < 0)
        close_pair(pair);
    return error;
}

/* One pipe for each direction. */
static int pipe_pair(int there[2], int back[2])
{
    if (pipe2(there, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(back, O_CLOEXEC) == 0)
        return 0;
    int error = -errno;
    close_pair(there);
    return error;
}

/* Makes both ends of a connection. Returns 0 or a negative errno. */
static int make_links(enum calibrate_kind kind, struct link links[2])
{
    int pair[2], back[2];

    if (kind == CALIBRATE_PIPE) {
        int result = pipe_pair(pair, back);
        if (result < 0)
            return result;
        links[0] = (struct link){back[0], pair[1]};
        links[1] = (struct link){pair[0], back[1]};
        return 0;
    }
    int result = kind == CALIBRATE_TCP                                          ? tcp_pair(pair)
                 : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno
                                                                                : 0;
    if (result < 0)
        return result;
    links[0] = (struct link){pair[0], pair[0]};
    links[1] = (struct link){pair[1], pair[1]};
    return 0;
}

static void close_link(struct link link)
{
    close(link.in);
    if (link.out != link.in)
        close(link.out);
}

int calibrate_local(enum calibrate_kind kind, uint64_t time, uint64_t medians[CALIBRATE_SIZES],
                    struct calibrate_cpu *cpu)
{
    struct link links[2];
    int result = make_links(kind, links);

    if (result < 0)
        return result;
    pid_t child = fork();
    if (child == 0) {
        char *buffer = malloc(CALIBRATE_SIZE_MOST);
        close_link(links[0]);
        _exit(buffer == NULL || calibrate_echo(links[1], buffer) < 0);
    }
    result = child < 0 ? -errno : 0;
    close_link(links[1]);
    if (result == 0)
        result = calibrate_measure(links[0], time, medians, cpu);
    close_link(links[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return result;
}
