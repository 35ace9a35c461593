/* SPDX-License-Identifier: MIT */
/*
 * coverage_message.c: differences of sockets with message boundaries: UDP, UNIX datagram, UNIX seqpacket. See
 * coverage.c.
 *
 *      send(40, MSG_MORE)  send(60)     one datagram of 100: one SEND, of the call that sent it off
 *      send(1000), UDP_SEGMENT 300      four datagrams: one SEND in four records, 300 300 300 100
 */
#include "coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void send_message(int socket, size_t bytes)
{
    sent(socket, send(socket, buffer, bytes, 0), (ssize_t)bytes);
}

static void receive_message(int socket, size_t bytes)
{
    must(recv(socket, buffer, sizeof(buffer), 0) == (ssize_t)bytes);
    note("RECEIVE", socket, (long)bytes); /* also a message of no bytes: it is no end of file */
}

static void switch_option(int socket, int level, int option, int value)
{
    must(setsockopt(socket, level, option, &value, sizeof(value)) == 0);
}

/* ---- all three ---- */

int message_empty(const int *pair)
{
    struct iovec vector = {buffer, 0};

    send_message(pair[SENDER], 0);
    must(writev(pair[SENDER], &vector, 1) == 0); /* sends none */
    must(pwritev2(pair[SENDER], &vector, 1, -1, 0) == 0);
    send_message(pair[SENDER], 5);
    receive_message(pair[RECEIVER], 0);
    receive_message(pair[RECEIVER], 5);
    return 0;
}

/* A peek takes nothing, with every call and for any number of bytes. */
int message_peek(const int *pair)
{
    int to = pair[RECEIVER];
    struct iovec vector = {buffer, 10};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    struct mmsghdr two[2] = {{.msg_hdr = message}, {.msg_hdr = message}};

    send_message(pair[SENDER], 100);
    send_message(pair[SENDER], 50);
    must(recv(to, buffer, 10, MSG_PEEK) == 10);
    must(recv(to, buffer, 10, MSG_PEEK | MSG_TRUNC) == 100);
    must(recvmsg(to, &message, MSG_PEEK) == 10);
    must(recvmmsg(to, two, 2, MSG_PEEK, NULL) == 2);
    receive_message(to, 100);
    must(recv(to, buffer, 100, MSG_PEEK) == 50);
    receive_message(to, 50);
    return 0;
}

/* The bytes of a truncated message are those copied, even if the call returns its full length. */
int message_cut(const int *pair)
{
    int to = pair[RECEIVER];
    struct iovec vector = {buffer, 30};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

    for (int i = 0; i < 4; i++)
        send_message(pair[SENDER], 100);
    must(recv(to, buffer, 20, 0) == 20);
    note("RECEIVE", to, 20);
    must(recv(to, buffer, 25, MSG_TRUNC) == 100);
    note("RECEIVE", to, 25);
    must(recvmsg(to, &message, MSG_TRUNC) == 100);
    note("RECEIVE", to, 30);
    receive_message(to, 100);
    return 0;
}

static int file_of(size_t bytes)
{
    int file = memfd_create("coverage", 0);

    must(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
    return file;
}

/* One message for each call, as long as the kernel passes all of it to the socket at once. */
int message_splice(const int *pair)
{
    int from = pair[SENDER], pipes[2], file = file_of(20000);

    must(pipe(pipes) == 0);
    for (int i = 0; i < 2; i++) {
        off_t at = 0;
        sent(pipes[1], write(pipes[1], buffer, 100), 100);
        sent(from, splice(pipes[0], NULL, from, NULL, 100, 0), 100);
        note("RECEIVE", pipes[0], 100);
        receive_message(pair[RECEIVER], 100);
        sent(from, sendfile(from, file, &at, 200), 200);
        receive_message(pair[RECEIVER], 200);
    }
    sent(from, sendfile(from, file, NULL, 20000), 20000);
    receive_message(pair[RECEIVER], 20000);
    return 0;
}

/* And out of a socket: splices of this kind pass the same hook as receives. */
int message_splice_out(const int *pair)
{
    int to = pair[RECEIVER], pipes[2];

    must(pipe(pipes) == 0);
    for (int i = 1; i <= 2; i++) {
        send_message(pair[SENDER], 100);
        ssize_t got = splice(to, NULL, pipes[1], NULL, 1000, 0);
        must(got == 100);
        note("RECEIVE", to, 100);
        note("SEND", pipes[1], 100);
    }
    received(pipes[0], read(pipes[0], buffer, 1000), 200);
    return 0;
}

/* ---- specific to UDP ---- */

/* Several calls build a datagram: it belongs to the call that sends it off. */
int udp_more(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER];
    struct iovec vector = {buffer, 7};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

    for (int i = 0; i < 2; i++) {
        must(send(from, buffer, 40, MSG_MORE) == 40);
        must(sendmsg(from, &message, MSG_MORE) == 7);
        must(recv(to, buffer, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN); /* no failure */
        must(write(from, buffer, 60) == 60);
        note("SEND", from, 107);
        receive_message(to, 107);
    }
    send_message(from, 9);
    receive_message(to, 9);
    switch_option(from, IPPROTO_UDP, UDP_CORK, 1);
    must(send(from, buffer, 30, 0) == 30 && write(from, buffer, 50) == 50);
    switch_option(from, IPPROTO_UDP, UDP_CORK, 0);
    note("SEND", from, 80);
    receive_message(to, 80);
    send_message(from, 10);
    receive_message(to, 10);
    must(send(from, buffer, 40, MSG_MORE) == 40); /* it never leaves */
    return 0;
}

enum {
    AT_ONCE = 16,
    EACH = 10
}; /* how many pieces of a pipe the kernel passes to a socket at once */

static void splice_pieces(const int *pair, int pieces)
{
    int pipes[2];
    static char pages[2 * AT_ONCE][4096];
    struct iovec vectors[2 * AT_ONCE];

    for (int i = 0; i < pieces; i++)
        vectors[i] = (struct iovec){pages[i], EACH};
    must(pipe(pipes) == 0 && fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20) > 0);
    sent(pipes[1], vmsplice(pipes[1], vectors, (size_t)pieces, 0), pieces * EACH);
    sent(pair[SENDER], splice(pipes[0], NULL, pair[SENDER], NULL, (size_t)(pieces * EACH), 0),
         pieces * EACH);
    note("RECEIVE", pipes[0], pieces * EACH);
}

/* UDP holds the datagram back until all pieces have come. */
int udp_splice_pieces(const int *pair)
{
    splice_pieces(pair, AT_ONCE + 1);
    receive_message(pair[RECEIVER], (AT_ONCE + 1) * EACH);
    return 0;
}

/* A UNIX socket does not: one call makes several messages. */
int unix_splice_pieces(const int *pair)
{
    splice_pieces(pair, 2 * AT_ONCE);
    receive_message(pair[RECEIVER], AT_ONCE * EACH);
    receive_message(pair[RECEIVER], AT_ONCE * EACH);
    return 0;
}

static ssize_t send_cut(int socket, size_t bytes, uint16_t segment)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
    } control = {.header = {CMSG_LEN(sizeof(segment)), IPPROTO_UDP, UDP_SEGMENT}};
    struct iovec vector = {buffer, bytes};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    memcpy(CMSG_DATA(&control.header), &segment, sizeof(segment));
    return sendmsg(socket, &message, 0);
}

static void receive_segments(int socket)
{
    for (int i = 0; i < 3; i++)
        receive_message(socket, 300);
    receive_message(socket, 100);
}

/* One send of 1000 bytes is four datagrams; a receiver with UDP_GRO gets them in one call as well. */
int udp_segments(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER];

    sent(from, send_cut(from, 1000, 300), 1000);
    receive_segments(to);
    switch_option(from, IPPROTO_UDP, UDP_SEGMENT, 300);
    send_message(from, 1000);
    receive_segments(to);
    send_message(from, 200); /* less than one segment */
    receive_message(to, 200);
    switch_option(to, IPPROTO_UDP, UDP_GRO, 1);
    for (int i = 0; i < 2; i++) {
        send_message(from, 1000);
        receive_message(to, 1000);
    }
    send_message(from, 200);
    receive_message(to, 200);
    switch_option(from, IPPROTO_UDP, UDP_SEGMENT, 0);
    send_message(from, 1000);
    receive_message(to, 1000);
    return 0;
}

int udp_zero_copy(const int *pair)
{
    int from = pair[SENDER];
    struct pollfd ready = {.fd = from};
    char control[100];
    struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};

    switch_option(from, SOL_SOCKET, SO_ZEROCOPY, 1);
    for (int i = 1; i <= 2; i++) {
        sent(from, send(from, buffer, (size_t)i * 10000, MSG_ZEROCOPY), i * 10000);
        receive_message(pair[RECEIVER], (size_t)i * 10000);
    }
    must(poll(&ready, 1, 20000) == 1);
    /* not a message: a notification about sent ones */
    must(recvmsg(from, &message, MSG_ERRQUEUE) == 0);
    return 0;
}

/* Sends to an unused port; the ICMP refusal makes the next call fail. The error queue holds the datagram again: it
 * is not received. */
int udp_refused(const int *pair)
{
    int from = pair[SENDER];
    char control[200];
    struct iovec vector = {buffer, 100};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};

    close(pair[RECEIVER]);
    send_message(from, 10);
    must(recv(from, buffer, 100, 0) < 0 && errno == ECONNREFUSED);
    note("FAILED_RECEIVE", from, 0);
    send_message(from, 20);
    must(send(from, buffer, 30, 0) < 0 && errno == ECONNREFUSED);
    note("FAILED_SEND", from, 0);
    switch_option(from, IPPROTO_IP, IP_RECVERR, 1);
    if (domain == AF_INET6)
        switch_option(from, IPPROTO_IPV6, IPV6_RECVERR, 1);
    send_message(from, 40);
    must(recv(from, buffer, 100, 0) < 0 && errno == ECONNREFUSED);
    note("FAILED_RECEIVE", from, 0);
    must(recvmsg(from, &message, MSG_ERRQUEUE) == 40 && (message.msg_flags & MSG_ERRQUEUE) != 0);
    must(recv(from, buffer, 100, MSG_ERRQUEUE) < 0 && errno == EAGAIN);
    return 0;
}
