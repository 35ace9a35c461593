/* SPDX-License-Identifier: MIT */
/*
 * truth_failure.c: failures of every call: nothing to receive, buffer full, no peer, peer gone, too large. One process
 * holds both ends.
 *
 *      EAGAIN       receive from an empty socket, send into a full one: not counted, since it only would have to wait
 *      ENOTCONN...  a socket that was never connected
 *      EPIPE, ECONNRESET, ECONNREFUSED   the partner has closed, with data unread
 *      EMSGSIZE     a datagram larger than the send buffer
 *
 * Only failures of the socket itself are counted; a call that is rejected before it reaches the socket (EBADF, EFAULT)
 * is no interaction.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* UDP is never full and has a scenario of its own: see udp_failure_run. */
enum { ROLE_FAILURE = 1, SENT_AT_ONCE = 3000, FILL_LIMIT = 20000, TOO_LARGE = 4 << 20 };

/* One end of each side, and how many bytes or messages are in flight. */
struct sides {
    struct end sending;
    struct end receiving;
    size_t on_the_way;
    struct random random;
};

static void open_sides(struct sides *sides, struct scene *scene, enum transport transport)
{
    struct address address;
    int descriptors[2];

    if (transport_is_pair(transport)) {
        socket_pair(transport, descriptors);
    } else if (transport_drops(transport) || transport == TRANSPORT_DATAGRAM ||
               transport == TRANSPORT_DATAGRAM_ABSTRACT) {
        descriptors[1] = socket_bound(transport, &address);
        descriptors[0] = socket_connected(transport, &address);
        address_remove(&address);
    } else {
        int listener = socket_bound(transport, &address);
        descriptors[0] = socket_connected(transport, &address);
        descriptors[1] = socket_accepted(listener, false);
        close(listener);
        address_remove(&address);
    }
    sides->sending = end_of(scene, transport, descriptors[0]);
    sides->receiving = end_of(scene, transport, descriptors[1]);
    sides->receiving.messages_left = INT64_MAX;
    sides->on_the_way = 0;
}

static void close_sides(struct sides *sides)
{
    end_close(&sides->sending);
    end_close(&sides->receiving);
}

static void set_nonblocking(const struct end *end)
{
    fcntl(end->descriptor, F_SETFL, fcntl(end->descriptor, F_GETFL) | O_NONBLOCK);
}

/* One send by the call with this number: the simple calls, then sendmmsg, then sendfile. Returns the bytes or
 * messages sent, or a negative errno. */
static ssize_t send_by(struct sides *sides, struct end *end, unsigned call, size_t size)
{
    const size_t sizes[] = {size, size, size};
    size_t bytes;

    if (call < SEND_CALL_COUNT) {
        ssize_t result = operation_send(end, &sides->random, (enum send_call)call, size, 0, NULL);
        return result > 0 && end->messages ? 1 : result;
    }
    if (call == SEND_CALL_COUNT) {
        ssize_t result = operation_send_several(end, &sides->random, sizes, 3, 0, NULL, &bytes);
        return result < 0 || end->messages ? result : (ssize_t)bytes;
    }
    return operation_send_file(end, size, size);
}

static unsigned send_calls(const struct end *end)
{
    return SEND_CALL_COUNT + (end->messages ? 1 : 2);
}

static ssize_t receive_by(struct sides *sides, struct end *end, unsigned call, size_t size)
{
    size_t bytes;

    if (call < RECEIVE_CALL_COUNT) {
        ssize_t result =
            operation_receive(end, &sides->random, (enum receive_call)call, size, 0, NULL);
        return result > 0 && end->messages ? 1 : result;
    }
    ssize_t result = operation_receive_several(end, &sides->random, 3, size, 0, &bytes);
    return result < 0 || end->messages ? result : (ssize_t)bytes;
}

/* Receives from an empty socket. */
static void receive_nothing(struct sides *sides)
{
    set_nonblocking(&sides->receiving);
    for (unsigned call = 0; call <= RECEIVE_CALL_COUNT; call++)
        if (receive_by(sides, &sides->receiving, call, 100) != -EAGAIN)
            truth_fail("a receive from an empty socket did not fail");
}

/* Sends by every call until it fails. Data queued at the sender may move on in the meantime, so that another call
 * succeeds after one has failed. */
static void fill(struct sides *sides)
{
    set_nonblocking(&sides->sending);
    for (unsigned call = 0; call < send_calls(&sides->sending); call++) {
        ssize_t result = 0;
        for (unsigned i = 0; i < FILL_LIMIT && result >= 0; i++) {
            result = send_by(sides, &sides->sending, call, SENT_AT_ONCE);
            sides->on_the_way += result < 0 ? 0 : (size_t)result;
        }
        if (result != -EAGAIN)
            truth_fail("the socket never got full");
    }
}

static void drain(struct sides *sides)
{
    struct pollfd poll_entry = {sides->receiving.descriptor, POLLIN, 0};

    while (sides->on_the_way > 0) {
        unsigned call = (unsigned)random_between(&sides->random, 0, RECEIVE_CALL_COUNT);
        ssize_t result = receive_by(sides, &sides->receiving, call, 10000);
        if (result >= 0)
            sides->on_the_way -= (size_t)result;
        else if (result != -EAGAIN || poll(&poll_entry, 1, -1) < 0)
            truth_fail("draining failed: %s", strerror((int)-result));
    }
}

/* The partner closes and leaves the sent data unread. */
static void lose_partner(struct sides *sides)
{
    unsigned failures = 0;

    if (operation_send(&sides->sending, &sides->random, CALL_SEND, 1000, 0, NULL) < 0)
        truth_fail("the last send failed");
    end_close(&sides->receiving);
    for (unsigned call = 0; call < send_calls(&sides->sending); call++)
        failures += send_by(sides, &sides->sending, call, 100) < 0;
    if (failures == 0)
        truth_fail("sends to a closed partner succeeded");
    /* A datagram socket does not report that the partner is gone: it receives nothing. On others 0 bytes are the end
     * of file. */
    sides->sending.messages_left = 0;
    set_nonblocking(&sides->sending);
    for (unsigned call = 0; call <= RECEIVE_CALL_COUNT; call++)
        receive_by(sides, &sides->sending, call, 100);
    end_close(&sides->sending);
}

/* Sockets that were never connected; then a datagram to an address without a socket. */
static void have_no_partner(struct sides *sides, struct scene *scene, enum transport transport)
{
    struct end alone = end_of(scene, transport, socket_new(transport));
    struct address nobody;

    set_nonblocking(&alone);
    for (unsigned call = 0; call < SEND_CALL_COUNT; call++)
        if (send_by(sides, &alone, call, 100) >= 0)
            truth_fail("a send without partner succeeded");
    for (unsigned call = 0; call < RECEIVE_CALL_COUNT; call++)
        if (receive_by(sides, &alone, call, 100) >= 0)
            truth_fail("a receive without partner succeeded");
    if (transport == TRANSPORT_DATAGRAM || transport == TRANSPORT_DATAGRAM_ABSTRACT) {
        close(socket_bound(transport, &nobody));
        if (operation_send(&alone, &sides->random, CALL_SENDTO, 100, 0, &nobody) >= 0)
            truth_fail("a datagram to nobody was accepted");
        address_remove(&nobody);
    }
    end_close(&alone);
}

/* Every second call on a socket whose partner is gone reports it; the others succeed. (recvmmsg checks for such an
 * error before it calls the socket, where no meter sees it.) */
static void be_refused(struct sides *sides)
{
    unsigned failures = 0;

    end_close(&sides->receiving);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned call = 0; call < send_calls(&sides->sending); call++)
            failures += send_by(sides, &sides->sending, call, 100) < 0;
    set_nonblocking(&sides->sending);
    for (unsigned call = 0; call < RECEIVE_CALL_COUNT; call++) {
        operation_send(&sides->sending, &sides->random, CALL_SEND, 0, 0, NULL);
        failures += receive_by(sides, &sides->sending, call, 100) == -ECONNREFUSED;
    }
    if (failures == 0)
        truth_fail("nobody was told that the partner is gone");
    end_close(&sides->sending);
}

void udp_failure_run(struct scene *scene, enum transport transport)
{
    struct sides sides = {.random = scene_random(scene, ROLE_FAILURE)};

    open_sides(&sides, scene, transport);
    receive_nothing(&sides);
    if (operation_send(&sides.sending, &sides.random, CALL_SENDMSG, 70000, 0, NULL) != -EMSGSIZE)
        truth_fail("a datagram of 70000 bytes was accepted");
    be_refused(&sides);
    have_no_partner(&sides, scene, transport);
}

void failure_run(struct scene *scene, enum transport transport)
{
    struct sides sides = {.random = scene_random(scene, ROLE_FAILURE)};

    open_sides(&sides, scene, transport);
    receive_nothing(&sides);
    fill(&sides);
    drain(&sides);
    if (sides.sending.messages && operation_send(&sides.sending, &sides.random, CALL_SENDMSG,
                                                 TOO_LARGE, 0, NULL) != -EMSGSIZE)
        truth_fail("a message of %d bytes was accepted", TOO_LARGE);
    receive_nothing(&sides);
    close_sides(&sides);

    open_sides(&sides, scene, transport);
    lose_partner(&sides);
    have_no_partner(&sides, scene, transport);
}
