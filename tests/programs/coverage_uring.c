/* SPDX-License-Identifier: MIT */
/*
 * coverage_uring.c: sending and receiving through io_uring: each operation for sockets, and each way a request can be
 * carried out:
 *
 *      plain    the submitting call carries it out
 *      poll     no data yet: the request completes when data comes, on the way out of the
 *               kernel
 *      async    a worker thread, iou-wrk, carries it out (IOSQE_ASYNC)
 *      sqpoll   a thread of the ring, iou-sqp, submits and carries out
 */
#include "coverage.h"

#define NOT_TO_BE_HAD 77

#ifdef HAVE_LIBURING
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct io_uring ring;
static unsigned request_flags;
static bool receive_first;

static struct io_uring_sqe *request(void)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);

    must(entry != NULL);
    return entry;
}

static void submit(struct io_uring_sqe *entry)
{
    io_uring_sqe_set_flags(entry, entry->flags | request_flags);
    must(io_uring_submit(&ring) >= 1);
}

/* The result of the request; skips the later notification of a zero-copy send. */
static int result_of_request(void)
{
    struct io_uring_cqe *entry;
    int result;

    do {
        must(io_uring_wait_cqe(&ring, &entry) == 0);
        bool notice = (entry->flags & IORING_CQE_F_NOTIF) != 0;
        result = entry->res;
        io_uring_cqe_seen(&ring, entry);
        if (!notice)
            return result;
    } while (true);
}

/* ---- the operations ---- */

static struct iovec vector;
static struct msghdr message;

enum operation { PLAIN, MESSAGE, FILE_LIKE, FIXED, ZERO_COPY, OPERATIONS };

static void prepare_send(struct io_uring_sqe *entry, enum operation operation, int socket,
                         unsigned bytes)
{
    vector = (struct iovec){buffer, bytes};
    message = (struct msghdr){.msg_iov = &vector, .msg_iovlen = 1};
    switch (operation) {
    case MESSAGE:
        io_uring_prep_sendmsg(entry, socket, &message, 0);
        break;
    case FILE_LIKE:
        io_uring_prep_write(entry, socket, buffer, bytes, 0);
        break;
    case FIXED:
        io_uring_prep_write_fixed(entry, socket, buffer, bytes, 0, 0);
        break;
    case ZERO_COPY:
        io_uring_prep_send_zc(entry, socket, buffer, bytes, 0, 0);
        break;
    default:
        io_uring_prep_send(entry, socket, buffer, bytes, 0);
    }
}

static void prepare_receive(struct io_uring_sqe *entry, enum operation operation, int socket,
                            unsigned bytes, int flags)
{
    vector = (struct iovec){buffer, bytes};
    message = (struct msghdr){.msg_iov = &vector, .msg_iovlen = 1};
    switch (operation) {
    case MESSAGE:
        io_uring_prep_recvmsg(entry, socket, &message, (unsigned)flags);
        break;
    case FILE_LIKE:
        io_uring_prep_read(entry, socket, buffer, bytes, 0);
        break;
    case FIXED:
        io_uring_prep_read_fixed(entry, socket, buffer, bytes, 0, 0);
        break;
    default:
        io_uring_prep_recv(entry, socket, buffer, bytes, flags);
    }
}

/* Sends by a request and receives by another; or receives before the send, which is then a plain call: both use the
 * same ring, and the request has to wait. */
static void go(const int *pair, enum operation operation, unsigned bytes)
{
    struct io_uring_sqe *entry = request();
    int result;

    if (receive_first) {
        prepare_receive(entry, operation, pair[RECEIVER], bytes, 0);
        submit(entry);
        nap();
        sent(pair[SENDER], send(pair[SENDER], buffer, bytes, 0), (ssize_t)bytes);
    } else {
        prepare_send(entry, operation, pair[SENDER], bytes);
        submit(entry);
        result = result_of_request();
        sent(pair[SENDER], result, (ssize_t)bytes);
        entry = request();
        prepare_receive(entry, operation, pair[RECEIVER], bytes, 0);
        submit(entry);
    }
    result = result_of_request();
    received(pair[RECEIVER], result, (ssize_t)bytes);
}

/* A peek, which is no message, by a request; and one by a call while a request waits. */
static void look(const int *pair)
{
    for (enum operation operation = PLAIN; operation <= MESSAGE; operation++) {
        struct io_uring_sqe *entry = request();

        sent(pair[SENDER], send(pair[SENDER], buffer, 9, 0), 9);
        nap();
        prepare_receive(entry, operation, pair[RECEIVER], 5, MSG_PEEK);
        submit(entry);
        must(result_of_request() == 5);
        must(recv(pair[RECEIVER], buffer, 9, MSG_PEEK) == 9);
        received(pair[RECEIVER], recv(pair[RECEIVER], buffer, 9, 0), 9);
    }
}

/* One request, a completion for each message, in buffers that the ring provides. */
static void many_at_one_request(const int *pair)
{
    enum { BUFFERS = 8, EACH = 64 };
    struct io_uring_sqe *entry = request();

    io_uring_prep_provide_buffers(entry, buffer, EACH, BUFFERS, 1, 0);
    submit(entry);
    must(result_of_request() >= 0);
    entry = request();
    io_uring_prep_recv_multishot(entry, pair[RECEIVER], NULL, 0, 0);
    entry->buf_group = 1;
    io_uring_sqe_set_flags(entry, IOSQE_BUFFER_SELECT);
    submit(entry);
    for (int i = 1; i <= 3; i++) {
        nap();
        sent(pair[SENDER], send(pair[SENDER], buffer, (size_t)i * 10, 0), i * 10);
        received(pair[RECEIVER], result_of_request(), i * 10);
    }
}

static bool prepare_ring(const char *how)
{
    struct io_uring_params parameters = {0};
    struct iovec whole = {buffer, 1 << 16};

    if (strcmp(how, "sqpoll") == 0) {
        parameters.flags = IORING_SETUP_SQPOLL;
        parameters.sq_thread_idle = 1000;
    }
    request_flags = strcmp(how, "async") == 0 ? IOSQE_ASYNC : 0;
    receive_first = strcmp(how, "poll") == 0;
    int result = io_uring_queue_init_params(8, &ring, &parameters);
    if (result == -EPERM || result == -ENOSYS)
        return false;
    must(result == 0 && io_uring_register_buffers(&ring, &whole, 1) == 0);
    return true;
}

int through_uring(const char *how, const int *pair)
{
    if (!prepare_ring(how))
        return NOT_TO_BE_HAD;
    for (enum operation operation = PLAIN; operation < OPERATIONS; operation++)
        if (operation != ZERO_COPY || domain != AF_UNIX)
            go(pair, operation, 100 + (unsigned)operation);
    look(pair);
    many_at_one_request(pair);
    io_uring_queue_exit(&ring);
    return 0;
}

/* Always done by a worker thread, which does not report its calls. */
int splice_through_uring(const char *how, const int *pair)
{
    int pipes[2];

    if (!prepare_ring(how))
        return NOT_TO_BE_HAD;
    must(pipe(pipes) == 0);
    for (int i = 0; i < 3; i++) {
        struct io_uring_sqe *entry = request();

        sent(pair[SENDER], send(pair[SENDER], buffer, 100, 0), 100);
        io_uring_prep_splice(entry, pair[RECEIVER], -1, pipes[1], -1, i == 1 ? 60 : 1000, 0);
        submit(entry);
        must(result_of_request() == (i == 1 ? 60 : 100));
        note("RECEIVE", pair[RECEIVER], i == 1 ? 60 : 100);
        if (i == 1)
            received(pair[RECEIVER], recv(pair[RECEIVER], buffer, 100, 0), 40);
    }
    struct io_uring_sqe *entry = request();
    io_uring_prep_splice(entry, pipes[0], -1, pair[SENDER], -1, 260, 0);
    submit(entry);
    sent(pair[SENDER], result_of_request(), 260);
    received(pair[RECEIVER], recv(pair[RECEIVER], buffer, 1000, 0), 260);
    io_uring_queue_exit(&ring);
    return 0;
}

static int result_of(struct io_uring_sqe *entry)
{
    submit(entry);
    return result_of_request();
}

static void write_by_request(int to, unsigned bytes)
{
    struct io_uring_sqe *entry = request();

    io_uring_prep_write(entry, to, buffer, bytes, 0);
    must(result_of(entry) == (int)bytes);
}

static void read_by_request(int from, unsigned bytes)
{
    struct io_uring_sqe *entry = request();

    io_uring_prep_read(entry, from, buffer, bytes, 0);
    must(result_of(entry) == (int)bytes);
}

/* A pipe that requests write, one that they read, and one that they write and read; the same again some time later.
 * What went through the last one is unknown to any meter. */
int pipe_through_uring(const int *pair)
{
    int written[2], read_by[2], both[2];

    (void)pair;
    if (!prepare_ring("plain"))
        return NOT_TO_BE_HAD;
    must(pipe(written) == 0 && pipe(read_by) == 0 && pipe(both) == 0);
    for (unsigned turn = 1; turn <= 2; turn++) {
        unsigned bytes = 1000 * turn;
        write_by_request(written[1], bytes);
        note("UNSEEN_SEND", written[1], bytes);
        received(written[0], read(written[0], buffer, bytes), bytes);
        sent(read_by[1], write(read_by[1], buffer, bytes), bytes);
        read_by_request(read_by[0], bytes);
        note("UNSEEN", read_by[0], bytes);
        write_by_request(both[1], bytes);
        read_by_request(both[0], bytes);
        usleep(
            /* the meter checks them once a second, and accepts a count that has not changed */
            6000000);
    }
    for (int i = 0; i < 2; i++) { /* as before: the counts agree again */
        int *pipes = i == 0 ? written : read_by;
        sent(pipes[1], write(pipes[1], buffer, 77), 77);
        received(pipes[0], read(pipes[0], buffer, 100), 77);
    }
    io_uring_queue_exit(&ring);
    return 0;
}

#else

int pipe_through_uring(const int *pair)
{
    return through_uring("plain", pair);
}

int through_uring(const char *how, const int *pair)
{
    (void)how;
    (void)pair;
    return NOT_TO_BE_HAD;
}

int splice_through_uring(const char *how, const int *pair)
{
    return through_uring(how, pair);
}
#endif
