/* SPDX-License-Identifier: MIT */
/*
 * truth_pipe_traffic.c: pipes and FIFOs, and many operations on one end of them, each call and its size chosen at
 * random.
 *
 *      send:     write writev pwritev2 vmsplice splice sendfile
 *      receive:  read readv preadv2 vmsplice splice
 *
 * A call that blocks reports at its end how much it did, often less than requested.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- making them ---- */

void fifo_new(char *path, size_t size)
{
    static _Atomic unsigned count;

    snprintf(path, size, "%s/fifo-%d-%u", socket_folder, (int)getpid(),
             atomic_fetch_add(&count, 1));
    if (mkfifo(path, 0600) < 0)
        truth_fail("mkfifo: %s", strerror(errno));
}

int fifo_open(const char *path, int flags)
{
    int descriptor = open(path, flags | O_CLOEXEC);

    if (descriptor < 0)
        truth_fail("%s: %s", path, strerror(errno));
    return descriptor;
}

void end_set_nonblocking(const struct end *end, bool on)
{
    int flags = fcntl(end->descriptor, F_GETFL);

    fcntl(end->descriptor, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

/* Its name remains until the program ends: in the logs of one process, an inode must stand for one FIFO only. */
static void fifo_open_both(int descriptors[2])
{
    char path[256];

    fifo_new(path, sizeof(path));
    descriptors[0] = fifo_open(path, O_RDONLY | O_NONBLOCK);
    descriptors[1] = fifo_open(path, O_WRONLY);
    fcntl(descriptors[0], F_SETFL, fcntl(descriptors[0], F_GETFL) & ~O_NONBLOCK);
}

void pipe_new(struct scene *scene, enum transport transport, struct end *ret_reading,
              struct end *ret_writing)
{
    int flags = O_CLOEXEC | (transport == TRANSPORT_PIPE_PACKET ? O_DIRECT : 0);
    int descriptors[2];

    if (transport == TRANSPORT_FIFO)
        fifo_open_both(descriptors);
    else if (pipe2(descriptors, flags) < 0)
        truth_fail("pipe2: %s", strerror(errno));
    *ret_reading = end_of(scene, transport, descriptors[0]);
    *ret_writing = end_of(scene, transport, descriptors[1]);
}

/* ---- traffic ---- */

static void wait_ready(const struct end *end, struct random *random, ssize_t result, short events)
{
    struct pollfd poll_entry = {end->descriptor, events, 0};

    if (result != -EAGAIN)
        truth_fail("a call on a pipe failed: %s", strerror((int)-result));
    /* there is less buffer space than PIPE_BUF, and poll does not report it */
    if (random_chance(random, 20))
        return;
    if (poll(&poll_entry, 1, 1000) < 0)
        truth_fail("poll: %s", strerror(errno));
}

static size_t piece_size(struct random *random, size_t limit, const struct traffic *traffic)
{
    size_t largest = limit < traffic->largest ? limit : traffic->largest;

    return traffic->whole_blocks ? largest : random_between(random, 1, largest);
}

/* Without files, only calls that have sent everything when they return. */
static enum pipe_send_call choose_send(struct random *random, const struct traffic *traffic)
{
    unsigned last = traffic->files ? PIPE_SEND_CALL_COUNT - 1 : PIPE_PWRITEV2;

    return (enum pipe_send_call)random_between(random, 0, last);
}

void traffic_pipe_send(struct end *end, struct random *random, size_t total, struct traffic traffic)
{
    if (traffic.nonblocking)
        end_set_nonblocking(end, true);
    while (total > 0) {
        ssize_t result =
            operation_pipe_send(end, random, choose_send(random, &traffic),
                                piece_size(random, total, &traffic), traffic.nonblocking);
        if (result < 0)
            wait_ready(end, random, result, POLLOUT);
        else
            total -= (size_t)result;
    }
    if (traffic.nonblocking)
        end_set_nonblocking(end, false);
}

static ssize_t receive_piece(struct end *end, struct random *random, size_t limit,
                             const struct traffic *traffic)
{
    /* vmsplice and splice do not keep the packets of a pipe apart */
    unsigned last = end->packets ? PIPE_PREADV2 : PIPE_RECEIVE_CALL_COUNT - 1;
    enum pipe_receive_call call = (enum pipe_receive_call)random_between(random, 0, last);

    if (call == PIPE_VMSPLICE_OUT && end->both_ways)
        call = PIPE_READ;
    return operation_pipe_receive(end, random, call, piece_size(random, limit, traffic),
                                  traffic->nonblocking);
}

void traffic_pipe_receive(struct end *end, struct random *random, size_t total,
                          struct traffic traffic)
{
    if (traffic.nonblocking)
        end_set_nonblocking(end, true);
    while (total > 0 && !end->ended) {
        ssize_t result = receive_piece(end, random, total, &traffic);
        if (result < 0)
            wait_ready(end, random, result, POLLIN);
        else
            total -= (size_t)result;
    }
    if (traffic.nonblocking)
        end_set_nonblocking(end, false);
    if (total > 0)
        truth_fail("the end of a pipe came %zu bytes early", total);
}

size_t traffic_pipe_receive_rest(struct end *end, struct random *random, struct traffic traffic)
{
    unsigned again = (unsigned)random_between(random, 0, 2);
    size_t bytes = 0;

    while (!end->ended || again-- > 0) {
        ssize_t result = receive_piece(end, random, SIZE_MAX, &traffic);
        if (result < 0)
            wait_ready(end, random, result, POLLIN);
        else
            bytes += (size_t)result;
    }
    return bytes;
}
