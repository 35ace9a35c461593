/* SPDX-License-Identifier: MIT */
/*
 * truth_traffic.c: many operations on one end, each call and its size chosen at random.
 *
 *      send:     send sendto sendmsg write writev sendmmsg sendfile
 *      receive:  recv recvfrom recvmsg read readv recvmmsg      (+ MSG_PEEK, not logged)
 *
 * A call that finds the buffer full or empty is retried at once, or after poll().
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

/* How calls on this end wait: in the call, or not at all because of the descriptor's or the call's flags. */
enum waiting {
    WAITING_BLOCKS,
    WAITING_NOT_BY_DESCRIPTOR,
    WAITING_NOT_BY_FLAGS, /* only calls with flags can be used */
};

static void set_nonblocking(const struct end *end, bool on)
{
    int flags = fcntl(end->descriptor, F_GETFL);

    fcntl(end->descriptor, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

static enum waiting waiting_begin(const struct end *end, struct random *random,
                                  const struct traffic *traffic)
{
    if (!traffic->nonblocking)
        return WAITING_BLOCKS;
    /* The descriptor's flag would affect every stream that shares the socket. */
    if (end->several_readers || random_chance(random, 50))
        return WAITING_NOT_BY_FLAGS;
    set_nonblocking(end, true);
    return WAITING_NOT_BY_DESCRIPTOR;
}

static void waiting_end(const struct end *end, enum waiting waiting)
{
    if (waiting == WAITING_NOT_BY_DESCRIPTOR)
        set_nonblocking(end, false);
}

static int waiting_flags(enum waiting waiting)
{
    return waiting == WAITING_NOT_BY_FLAGS ? MSG_DONTWAIT : 0;
}

/* After a failed call: only a full or an empty buffer is expected. */
static void wait_ready(const struct end *end, struct random *random, ssize_t result, short events,
                       const struct traffic *traffic)
{
    struct pollfd poll_entry = {end->descriptor, events, 0};

    if (result != -EAGAIN)
        truth_fail("a call on socket %llu failed: %s", (unsigned long long)end->inode,
                   strerror((int)-result));
    if (random_chance(random, 20))
        return;
    if (traffic->to != NULL)
        sleep_milliseconds(1); /* poll does not report whether a peer's queue is full */
    else if (poll(&poll_entry, 1, -1) < 0)
        truth_fail("poll: %s", strerror(errno));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- byte streams ---- */

static size_t block_size(struct random *random, size_t limit, const struct traffic *traffic)
{
    /* If a signal interrupts a blocking call (a tracer causes this), part of a block is left. */
    if (traffic->whole_blocks)
        return smaller(limit, traffic->largest);
    return random_between(random, 1, smaller(limit, traffic->largest));
}

static ssize_t send_bytes_several(struct end *end, struct random *random, size_t limit,
                                  const struct traffic *traffic, int flags)
{
    size_t sizes[SEVERAL_LIMIT];
    unsigned wanted = (unsigned)random_between(random, 2, traffic->nonblocking ? 20 : 6);
    unsigned count = 0;
    size_t bytes;

    while (count < wanted && limit > 0) {
        sizes[count] = block_size(random, limit, traffic);
        limit -= sizes[count++];
    }
    ssize_t result = operation_send_several(end, random, sizes, count, flags, NULL, &bytes);
    return result < 0 ? result : (ssize_t)bytes;
}

/* One call for at most `limit` bytes. */
static ssize_t send_bytes(struct end *end, struct random *random, size_t limit,
                          const struct traffic *traffic, enum waiting waiting)
{
    bool flags_only = waiting == WAITING_NOT_BY_FLAGS;
    int flags = waiting_flags(waiting);
    size_t size = block_size(random, limit, traffic);

    if (random_chance(random, 15))
        return send_bytes_several(end, random, limit, traffic, flags);
    if (traffic->files && !flags_only && random_chance(random, 30))
        return operation_send_file(end, size, size);
    enum send_call call =
        (enum send_call)random_between(random, 0, flags_only ? CALL_SENDMSG : SEND_CALL_COUNT - 1);
    return operation_send(end, random, call, size, flags, NULL);
}

void traffic_send(struct end *end, struct random *random, size_t total, struct traffic traffic)
{
    enum waiting waiting = waiting_begin(end, random, &traffic);

    while (total > 0) {
        ssize_t result = send_bytes(end, random, total, &traffic, waiting);
        if (result < 0)
            wait_ready(end, random, result, POLLOUT, &traffic);
        else
            total -= (size_t)result;
    }
    waiting_end(end, waiting);
}

static ssize_t receive_bytes_several(struct end *end, struct random *random, size_t limit,
                                     const struct traffic *traffic, enum waiting waiting)
{
    unsigned count = (unsigned)random_between(random, 2, 6);
    size_t size = random_between(random, 1, smaller(limit / count, traffic->largest));
    int flags = waiting == WAITING_BLOCKS ? MSG_WAITFORONE : waiting_flags(waiting);
    size_t bytes;
    ssize_t result = operation_receive_several(end, random, count, size, flags, &bytes);

    return result < 0 ? result : (ssize_t)bytes;
}

static ssize_t receive_bytes(struct end *end, struct random *random, size_t limit,
                             const struct traffic *traffic, enum waiting waiting)
{
    bool flags_only = waiting == WAITING_NOT_BY_FLAGS;
    size_t size = random_between(random, 1, smaller(limit, traffic->largest));
    enum receive_call call = (enum receive_call)random_between(
        random, 0, flags_only ? CALL_RECVMSG : RECEIVE_CALL_COUNT - 1);
    int flags = waiting_flags(waiting);

    if (traffic->peek && waiting == WAITING_BLOCKS && random_chance(random, 10))
        operation_peek(end, random, call, size);
    if (limit >= 12 && random_chance(random, 15))
        return receive_bytes_several(end, random, limit, traffic, waiting);
    if (traffic->wait_all && call <= CALL_RECVMSG)
        flags |= MSG_WAITALL;
    return operation_receive(end, random, call, size, flags, NULL);
}

void traffic_receive(struct end *end, struct random *random, size_t total, struct traffic traffic)
{
    enum waiting waiting = waiting_begin(end, random, &traffic);

    while (total > 0 && !end->ended) {
        ssize_t result = receive_bytes(end, random, total, &traffic, waiting);
        if (result < 0)
            wait_ready(end, random, result, POLLIN, &traffic);
        else
            total -= (size_t)result;
    }
    waiting_end(end, waiting);
    if (total > 0)
        truth_fail("the end of file came %zu bytes early", total);
}

size_t traffic_receive_rest(struct end *end, struct random *random, struct traffic traffic)
{
    enum waiting waiting = waiting_begin(end, random, &traffic);
    unsigned again = (unsigned)random_between(random, 0, 2);
    size_t bytes = 0;

    while (!end->ended || again-- > 0) {
        ssize_t result = receive_bytes(end, random, SIZE_MAX, &traffic, waiting);
        if (result < 0)
            wait_ready(end, random, result, POLLIN, &traffic);
        else
            bytes += (size_t)result;
    }
    waiting_end(end, waiting);
    return bytes;
}

/* ---- messages ---- */

static size_t message_size(struct random *random, const struct traffic *traffic)
{
    if (traffic->whole_blocks)
        return traffic->largest;
    if (random_chance(random, 10))
        return 0;
    return random_between(random, 1, traffic->largest);
}

/* One call for at most `limit` messages; returns how many were sent. */
static ssize_t send_messages(struct end *end, struct random *random, size_t limit,
                             const struct traffic *traffic, enum waiting waiting)
{
    size_t sizes[SEVERAL_LIMIT];
    int flags = waiting_flags(waiting);
    size_t size = message_size(random, traffic);
    size_t bytes;

    if (random_chance(random, 25)) {
        unsigned count = (unsigned)random_between(random, 1, smaller(limit, SEVERAL_LIMIT));
        for (unsigned i = 0; i < count; i++)
            sizes[i] = message_size(random, traffic);
        return operation_send_several(end, random, sizes, count, flags, traffic->to, &bytes);
    }
    enum send_call call = (enum send_call)random_between(random, 0, SEND_CALL_COUNT - 1);
    /* write and writev have neither flags nor a destination, and writev of nothing sends nothing */
    if (call > CALL_SENDMSG && (waiting == WAITING_NOT_BY_FLAGS || traffic->to != NULL))
        call = CALL_SENDMSG;
    if (call == CALL_WRITEV && size == 0)
        call = CALL_WRITE;
    if (call == CALL_SEND && traffic->to != NULL)
        call = CALL_SENDTO;
    ssize_t result = operation_send(end, random, call, size, flags, traffic->to);
    return result < 0 ? result : 1;
}

void traffic_send_messages(struct end *end, struct random *random, size_t count,
                           struct traffic traffic)
{
    enum waiting waiting = waiting_begin(end, random, &traffic);

    while (count > 0) {
        ssize_t result = send_messages(end, random, count, &traffic, waiting);
        if (result < 0)
            wait_ready(end, random, result, POLLOUT, &traffic);
        else
            count -= (size_t)result;
    }
    waiting_end(end, waiting);
}

/* One call for at most `limit` messages; returns how many were received. */
static ssize_t receive_messages(struct end *end, struct random *random, size_t limit,
                                const struct traffic *traffic, enum waiting waiting)
{
    enum receive_call call = (enum receive_call)random_between(random, 0, RECEIVE_CALL_COUNT - 1);
    size_t size =
        random_chance(random, 25) ? random_between(random, 1, traffic->largest) : traffic->largest;
    int flags = waiting_flags(waiting) | (random_chance(random, 15) ? MSG_TRUNC : 0);
    size_t bytes;

    if (traffic->peek && waiting == WAITING_BLOCKS && random_chance(random, 10))
        operation_peek(end, random, call, size);
    if (random_chance(random, 20)) {
        flags |= waiting == WAITING_BLOCKS ? MSG_WAITFORONE : 0;
        unsigned count = (unsigned)random_between(random, 1, smaller(limit, SEVERAL_LIMIT));
        return operation_receive_several(end, random, count, size, flags, &bytes);
    }
    if (call > CALL_RECVMSG && waiting == WAITING_NOT_BY_FLAGS)
        call = CALL_RECV;
    if (call > CALL_RECVMSG)
        flags = 0;
    ssize_t result = operation_receive(end, random, call, size, flags, NULL);
    return result < 0 ? result : 1;
}

void traffic_receive_messages(struct end *end, struct random *random, size_t count,
                              struct traffic traffic)
{
    enum waiting waiting = waiting_begin(end, random, &traffic);

    while (count > 0) {
        ssize_t result = receive_messages(end, random, count, &traffic, waiting);
        if (result < 0)
            wait_ready(end, random, result, POLLIN, &traffic);
        else
            count -= (size_t)result;
    }
    waiting_end(end, waiting);
}

/* Takes up to `wanted` of the messages that no receiver has claimed yet. */
static size_t claim(struct scene *scene, size_t wanted)
{
    int64_t left = atomic_load(&scene->unclaimed);

    while (left > 0) {
        int64_t taken = (int64_t)smaller(wanted, (size_t)left);
        if (atomic_compare_exchange_weak(&scene->unclaimed, &left, left - taken))
            return (size_t)taken;
    }
    return 0;
}

void traffic_receive_claimed(struct end *end, struct random *random, struct traffic traffic)
{
    enum waiting waiting = waiting_begin(end, random, &traffic);
    size_t claimed;

    end->messages_left = INT64_MAX; /* no end of file here */
    while ((claimed = claim(end->scene, random_between(random, 1, 4))) > 0) {
        ssize_t result = receive_messages(end, random, claimed, &traffic, waiting);
        if (result < 0)
            wait_ready(end, random, result, POLLIN, &traffic);
        int64_t not_received = (int64_t)claimed - (result < 0 ? 0 : result);
        atomic_fetch_add(&end->scene->unclaimed, not_received);
    }
    waiting_end(end, waiting);
}
