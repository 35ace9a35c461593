/* SPDX-License-Identifier: MIT */
/*
 * coverage_wait.c: every call that waits for any of several sockets, or for a new one; and other waits. See coverage.c.
 * The log also has:
 *
 *      WAIT call      a system call that had to wait for a socket, by its number
 *      BLOCK call     one that waited for time to pass, or for a child
 */
#include "coverage.h"

#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- for any of several sockets ---- */

static void send_later(const int *pair)
{
    sent(pair[SENDER], send(pair[SENDER], buffer, 10, 0), 10);
    nap();
}

static void wait_for_end(void)
{
    siginfo_t child;

    must(waitid(P_ALL, 0, &child, WEXITED) == 0 && child.si_status == 0);
    note_wait("BLOCK", SYS_waitid);
}

static long poll_by(long call, int socket)
{
    struct pollfd ready = {.fd = socket, .events = POLLIN};

    return call == SYS_poll ? syscall(call, &ready, 1, -1)
                            : syscall(call, &ready, 1, NULL, NULL, 0);
}

static long select_by(long call, int socket)
{
    fd_set ready;

    FD_ZERO(&ready);
    FD_SET(socket, &ready);
    return call == SYS_select ? syscall(call, socket + 1, &ready, NULL, NULL, NULL)
                              : syscall(call, socket + 1, &ready, NULL, NULL, NULL, NULL);
}

static long epoll_by(long call, int socket)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(EPOLL_CLOEXEC);

    must(set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, socket, &event) == 0);
    long result = call == SYS_epoll_pwait2 ? syscall(call, set, &event, 1, NULL, NULL, 0)
                                           : syscall(call, set, &event, 1, -1, NULL, 0);
    close(set);
    return result;
}

int wait_for_any(const int *pair)
{
    static const struct {
        long call;
        long (*by)(long call, int socket);
    } ways[] = {
        {SYS_poll, poll_by},          {SYS_ppoll, poll_by},       {SYS_select, select_by},
        {SYS_pselect6, select_by},    {SYS_epoll_wait, epoll_by}, {SYS_epoll_pwait, epoll_by},
        {SYS_epoll_pwait2, epoll_by},
    };
    int to = pair[RECEIVER];

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        in_child(send_later, pair);
        must(ways[i].by(ways[i].call, to) == 1);
        note_wait("WAIT", ways[i].call);
        received(to, recv(to, buffer, 100, MSG_DONTWAIT), 10);
        wait_for_end();
    }
    return 0;
}

/* ---- for a new one ---- */

static struct sockaddr_storage address;
static socklen_t address_length;

static int listen_anywhere(void)
{
    struct sockaddr_un *name = (struct sockaddr_un *)&address;
    int family = is_tcp ? AF_INET : AF_UNIX;
    int listener = socket(family, SOCK_STREAM, 0);

    address.ss_family = (sa_family_t)family;
    address_length = sizeof(struct sockaddr_in);
    if (!is_tcp)
        address_length = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
                         (socklen_t)sprintf(name->sun_path + 1, "coverage-%d", (int)getpid());
    must(bind(listener, (void *)&address, address_length) == 0 && listen(listener, 1) == 0);
    must(getsockname(listener, (void *)&address, &address_length) == 0);
    return listener;
}

static void connect_later(const int *unused)
{
    int from = socket(address.ss_family, SOCK_STREAM, 0);

    (void)unused;
    must(connect(from, (void *)&address, address_length) == 0);
    sent(from, send(from, buffer, 20, 0), 20);
    nap();
}

int wait_for_new(const int *pair)
{
    static const long calls[] = {SYS_accept, SYS_accept4};
    int listener = listen_anywhere();

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        in_child(connect_later, pair);
        int to = (int)syscall(calls[i], listener, NULL, NULL, 0);
        must(to >= 0);
        note_wait("WAIT", calls[i]);
        /* no sleep: the child would take it for the wait for its end */
        for (int there = 0; there < 20; sched_yield())
            must(ioctl(to, FIONREAD, &there) == 0);
        received(to, recv(to, buffer, 100, MSG_DONTWAIT), 20);
        close(to);
        wait_for_end();
    }
    return 0;
}

/* ---- for something else ---- */

int wait_for_time(const int *pair)
{
    struct timeval time = {.tv_usec = 20000};
    struct timespec pause = {.tv_nsec = 20000000};

    (void)pair;
    must(syscall(SYS_poll, NULL, 0, 20) == 0);
    note_wait("BLOCK", SYS_poll);
    must(syscall(SYS_select, 0, NULL, NULL, NULL, &time) == 0);
    note_wait("BLOCK", SYS_select);
    must(syscall(SYS_nanosleep, &pause, NULL) == 0);
    note_wait("BLOCK", SYS_nanosleep);
    return 0;
}
