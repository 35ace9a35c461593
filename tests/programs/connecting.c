/* SPDX-License-Identifier: MIT */
/*
 * connecting.c: makes TCP connections that are used, unused, refused, given up and timed out, and prints what it did.
 *
 *      connecting SECONDS      also waits this long for a connection that times out; 0: does not
 *
 *      connect PORT BEFORE AFTER      a connection from this local port; BEFORE and AFTER the call, CLOCK_MONOTONIC
 *      accept PID PORT                a worker has accepted the connection from this port
 *      fail ERRNO PORT                a connection to this port failed
 *      listen PORT
 *      unused COUNT                   connections without a message
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 3
#define EACH    10 /* connections of each sort */
#define ASKED   50 /* refused ones that are asked for their error */

static unsigned unused;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct sockaddr_in address_of(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static uint16_t port_of(int socket)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);

    if (getsockname(socket, (struct sockaddr *)&address, &size) < 0)
        fail("getsockname");
    return ntohs(address.sin_port);
}

static int make_socket(bool blocks)
{
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK), 0);

    if (made < 0)
        fail("socket");
    return made;
}

static int make_bound(void)
{
    struct sockaddr_in address = address_of(0);
    int made = make_socket(true);

    if (bind(made, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail("bind");
    return made;
}

static int make_listener(int backlog)
{
    int made = make_bound();

    if (listen(made, backlog) < 0)
        fail("listen");
    printf("listen %u\n", port_of(made));
    return made;
}

/* ---- the workers ---- */

/* Accepts until it finds nothing for long. Each message is one byte; the others are closed unused. */
static void work(int listener)
{
    int connection;

    while ((connection = accept(listener, NULL, NULL)) >= 0) {
        struct sockaddr_in peer;
        socklen_t size = sizeof(peer);
        char byte;
        if (getpeername(connection, (struct sockaddr *)&peer, &size) < 0)
            fail("getpeername");
        dprintf(STDOUT_FILENO, "accept %d %u\n", getpid(), ntohs(peer.sin_port));
        bool last = read(connection, &byte, 1) == 1 && byte == 'q';
        close(connection);
        if (last)
            _exit(0);
    }
    fail("accept");
}

/* ---- connections ---- */

/* Returns an errno. */
static int try_to_connect(int socket, uint16_t port)
{
    struct sockaddr_in address = address_of(port);
    uint64_t before = now();
    int error = connect(socket, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;

    if (error == EINPROGRESS) {
        struct pollfd poll_for = {.fd = socket, .events = POLLOUT};
        socklen_t size = sizeof(error);
        uint64_t after = now();
        if (poll(&poll_for, 1, 10000) != 1)
            fail("poll");
        if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
            fail("getsockopt");
        if (error == 0)
            printf("connect %u %" PRIu64 " %" PRIu64 "\n", port_of(socket), before, after);
    } else if (error == 0) {
        printf("connect %u %" PRIu64 " %" PRIu64 "\n", port_of(socket), before, now());
    }
    if (error != 0)
        printf("fail %d %u\n", error, port);
    return error;
}

/* A connection that sends `byte`; 0: nothing. */
static void use(uint16_t port, bool blocks, char byte)
{
    int made = make_socket(blocks);

    if (try_to_connect(made, port) != 0)
        fail("connect");
    if (byte != 0 && write(made, &byte, 1) != 1)
        fail("write");
    unused += byte == 0;
    close(made);
}

static void be_refused(uint16_t port, bool blocks)
{
    int made = make_socket(blocks);

    if (try_to_connect(made, port) != ECONNREFUSED)
        fail("a connection is not refused");
    close(made);
}

/* The error is taken as soon as it is there, perhaps before the kernel has closed the connection. */
static void be_refused_while_asking(uint16_t port)
{
    struct sockaddr_in address = address_of(port);
    int made = make_socket(false), error = 0;
    socklen_t size = sizeof(error);

    if (connect(made, (struct sockaddr *)&address, sizeof(address)) == 0)
        fail("a connection is not refused");
    error = errno == EINPROGRESS ? 0 : errno;
    for (uint64_t end = now() + 10000000000; error == 0 && now() < end;)
        if (getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
            fail("getsockopt");
    if (error != ECONNREFUSED)
        fail("a connection is not refused");
    printf("fail %d %u\n", error, port);
    close(made);
}

/* A listener whose queue is full answers no more: what comes then stays open. */
static uint16_t full_listener(void)
{
    uint16_t port = port_of(make_listener(0));
    struct sockaddr_in address = address_of(port);

    for (;;) {
        int filler = make_socket(false);
        uint64_t before = now();
        connect(filler, (struct sockaddr *)&address, sizeof(address));
        struct pollfd poll_for = {.fd = filler, .events = POLLOUT};
        uint64_t after = now();
        if (poll(&poll_for, 1, 200) == 0) {
            close(filler);
            printf("fail %d %u\n", ECANCELED, port);
            return port;
        }
        printf("connect %u %" PRIu64 " %" PRIu64 "\n", port_of(filler), before, after);
        unused++;
    }
}

static void give_up(uint16_t port)
{
    struct sockaddr_in address = address_of(port);
    int made = make_socket(false);

    if (connect(made, (struct sockaddr *)&address, sizeof(address)) == 0 || errno != EINPROGRESS)
        fail("a connection to a full queue");
    close(made);
    printf("fail %d %u\n", ECANCELED, port);
}

static void time_out(uint16_t port)
{
    int tries = 1, made = make_socket(true);

    setsockopt(made, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
    if (try_to_connect(made, port) != ETIMEDOUT)
        fail("a connection does not time out");
    close(made);
}

/* A thread begins a connection and ends; the socket is closed by another one. */
static uint16_t port_of_thread;
static int socket_of_thread;

static void *begin_and_end(void *nothing)
{
    struct sockaddr_in address = address_of(port_of_thread);

    (void)nothing;
    socket_of_thread = make_socket(false);
    connect(socket_of_thread, (struct sockaddr *)&address, sizeof(address));
    return NULL;
}

static void give_up_for_another(uint16_t port)
{
    pthread_t thread;

    port_of_thread = port;
    if (pthread_create(&thread, NULL, begin_and_end, NULL) != 0)
        fail("pthread_create");
    pthread_join(thread, NULL);
    close(socket_of_thread);
    printf("fail %d %u\n", ECANCELED, port);
}

int main(int argc, char **argv)
{
    int listener = make_listener(128), dead = make_bound(), closed = make_listener(1);
    pid_t workers[WORKERS];

    if (argc != 2)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    close(closed);
    fflush(stdout);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        if (workers[i] < 0)
            fail("fork");
        if (workers[i] == 0)
            work(listener);
    }
    for (int i = 0; i < EACH; i++) {
        use(port_of(listener), true, 'x');
        use(port_of(listener), true, 0);
        use(port_of(listener), false, 'x');
        use(port_of(listener), false, 0);
        be_refused(port_of(dead), true);
        be_refused(port_of(dead), false);
    }
    for (int i = 0; i < ASKED; i++)
        be_refused_while_asking(port_of(dead));
    uint16_t full = full_listener();
    for (int i = 0; i < EACH; i++)
        give_up(full);
    give_up_for_another(full);
    if (atoi(argv[1]) > 0)
        time_out(full);
    for (int i = 0; i < WORKERS; i++)
        use(port_of(listener), true, 'q');
    for (int i = 0; i < WORKERS; i++)
        waitpid(workers[i], NULL, 0);
    printf("unused %u\n", unused);
    return 0;
}
