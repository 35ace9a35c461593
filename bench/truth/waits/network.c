/* SPDX-License-Identifier: MIT */
/* network.c: waits for sockets. See own.h. */
#include "own.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ROUNDS 20
#define PAUSE  (50 * MS)

static struct sockaddr_in address_of(long port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

static int bound(int type, long *ret_port)
{
    int one = (int)must(socket(AF_INET, type, 0), "socket");
    struct sockaddr_in address = address_of(0);
    socklen_t size = sizeof(address);

    must(bind(one, (struct sockaddr *)&address, size), "bind");
    getsockname(one, (struct sockaddr *)&address, &size);
    *ret_port = ntohs(address.sin_port);
    return one;
}

int connected(int type, long port)
{
    int one = (int)must(socket(AF_INET, type, 0), "socket");
    struct sockaddr_in address = address_of(port);

    must(connect(one, (struct sockaddr *)&address, sizeof(address)), "connect");
    return one;
}

int listening(int backlog, long *ret_port)
{
    int listener = bound(SOCK_STREAM, ret_port);

    must(listen(listener, backlog), "listen");
    return listener;
}

/* ---- answers ---- */

static void ask(int server)
{
    char text[10];

    for (int i = 0; i < ROUNDS; i++) {
        must(send(server, "q", 1, 0), "send");
        OWN(must(recv(server, text, sizeof(text), 0), "recv"));
    }
}

/* Answers what comes after a while; each of them, or none. */
static void answer(int socket, int how_late)
{
    struct sockaddr_in client;
    socklen_t size = sizeof(client);
    char text[10];

    while (recvfrom(socket, text, sizeof(text), 0, (struct sockaddr *)&client, &size) > 0)
        if (how_late > 0) {
            sleep_own((uint64_t)how_late * MS);
            sendto(socket, "a", 1, 0, (struct sockaddr *)&client, size);
        }
}

static void serve_udp(int how_late)
{
    long port;
    int socket = bound(SOCK_DGRAM, &port);

    tell("ready", port);
    answer(socket, how_late);
}

static void run_udp(void)
{
    ask(connected(SOCK_DGRAM, told("ready")));
}

static void peer_udp(void)
{
    serve_udp(PAUSE / MS);
}

/* The server is metered, and sleeps. */
static void run_udp_slow(void)
{
    pid_t server = (pid_t)must(fork(), "fork");

    if (server == 0) {
        own_blame(getpid());
        serve_udp(PAUSE / MS);
    }
    int one = connected(SOCK_DGRAM, told("ready"));
    char text[10];
    for (int i = 0; i < ROUNDS; i++) {
        must(send(one, "q", 1, 0), "send");
        must(recv(one, text, sizeof(text), 0), "recv");
    }
    shutdown(one, SHUT_RDWR);
    kill(server, SIGKILL);
}

/* Nothing answers: poll and its time limit. */
static void run_udp_lost(void)
{
    int server = connected(SOCK_DGRAM, told("ready"));
    struct pollfd wait = {.fd = server, .events = POLLIN};

    for (int i = 0; i < ROUNDS; i++) {
        must(send(server, "q", 1, 0), "send");
        OWN(poll(&wait, 1, PAUSE / MS));
    }
}

/* ... and the socket's own time limit. */
static void run_udp_limit(void)
{
    int server = connected(SOCK_DGRAM, told("ready"));
    struct timeval limit = {.tv_usec = PAUSE / 1000};
    char text[10];

    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    for (int i = 0; i < ROUNDS; i++) {
        must(send(server, "q", 1, 0), "send");
        OWN(recv(server, text, sizeof(text), 0));
    }
}

static void peer_udp_lost(void)
{
    serve_udp(0);
}

static void run_tcp(void)
{
    ask(connected(SOCK_STREAM, told("ready")));
}

static void peer_tcp(void)
{
    long port;
    int listener = listening(5, &port);

    tell("ready", port);
    int client = (int)must(accept(listener, NULL, NULL), "accept");
    char text[10];
    while (recv(client, text, sizeof(text), 0) > 0) {
        sleep_ns(PAUSE);
        send(client, "a", 1, 0);
    }
}

/* ---- connections ---- */

static void run_accept(void)
{
    long port;
    int listener = listening(5, &port);

    tell("asks", port);
    for (int i = 0; i < ROUNDS; i++) {
        int client;
        OWN(client = (int)must(accept(listener, NULL, NULL), "accept"));
        close(client);
    }
}

static void peer_accept(void)
{
    tell("ready", 0);
    for (long port = told("asks");;) {
        sleep_ns(PAUSE);
        close(connected(SOCK_STREAM, port));
    }
}

/* The listener's queue is full, and takes no SYN until the next one after a second. */
static void run_connect(void)
{
    long port = told("ready");

    tell("asks", 0);
    OWN(connected(SOCK_STREAM, port));
}

static void peer_connect(void)
{
    long port;
    int listener = listening(0, &port);

    connected(SOCK_STREAM, port);
    tell("ready", port);
    told("asks");
    for (sleep_ns(400 * MS);;)
        must(accept(listener, NULL, NULL), "accept");
}

/* ---- buffer space ---- */

#define PART (256u << 10)

/* Takes a part after each pause. */
static void peer_full(void)
{
    static char text[PART];
    long port;
    int listener = listening(5, &port), size = PART / 4;

    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    tell("ready", port);
    int client = (int)must(accept(listener, NULL, NULL), "accept");
    do
        sleep_ns(PAUSE);
    while (recv(client, text, sizeof(text), MSG_WAITALL) > 0);
}

static int connected_small(void)
{
    int server = connected(SOCK_STREAM, told("ready")), size = PART / 4;

    setsockopt(server, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return server;
}

static void run_full(void)
{
    static char text[PART];
    int server = connected_small();

    for (int i = 0; i < ROUNDS; i++)
        OWN(must(send(server, text, sizeof(text), 0), "send"));
}

static void run_sendfile(void)
{
    int server = connected_small(), file = (int)must(open("sent", O_RDWR | O_CREAT, 0600), "sent");

    must(ftruncate(file, ROUNDS * PART), "ftruncate");
    for (off_t at = 0; at < (off_t)(ROUNDS * PART);)
        OWN(must(sendfile(server, file, &at, PART), "sendfile"));
}

const struct wait_case network_cases[] = {
    {"udp", run_udp, peer_udp},
    {"udp-slow", run_udp_slow, NULL},
    {"udp-lost", run_udp_lost, peer_udp_lost},
    {"udp-limit", run_udp_limit, peer_udp_lost},
    {"tcp", run_tcp, peer_tcp},
    {"accept", run_accept, peer_accept},
    {"connect", run_connect, peer_connect},
    {"full", run_full, peer_full},
    {"sendfile", run_sendfile, peer_full},
    {NULL, NULL, NULL},
};
