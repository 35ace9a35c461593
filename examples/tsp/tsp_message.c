/* SPDX-License-Identifier: MIT */
/*
 * tsp_message.c: frames on a TCP connection.
 *
 *      0          4      5
 *      +----------+------+-------------------+
 *      | length   | type | body              |   length counts type and body
 *      +----------+------+-------------------+
 *
 * A message is sent by one call and usually received by one: the connection reads all available bytes into `input` and
 * returns one frame at a time. An incomplete frame stays there.
 */
#include "tsp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- numbers ---- */

static void message_put(struct message *message, const void *bytes, size_t size)
{
    if (message->bad || size > sizeof(message->bytes) - message->size) {
        message->bad = true;
        return;
    }
    memcpy(message->bytes + message->size, bytes, size);
    message->size += size;
}

/* Past the end it reads zeros. */
static void message_get(struct message *message, void *ret_bytes, size_t size)
{
    if (message->bad || size > message->size - message->position) {
        message->bad = true;
        memset(ret_bytes, 0, size);
        return;
    }
    memcpy(ret_bytes, message->bytes + message->position, size);
    message->position += size;
}

void message_put_u8(struct message *message, uint8_t value)
{
    message_put(message, &value, sizeof(value));
}

void message_put_u32(struct message *message, uint32_t value)
{
    value = htonl(value);
    message_put(message, &value, sizeof(value));
}

uint8_t message_get_u8(struct message *message)
{
    uint8_t value;
    message_get(message, &value, sizeof(value));
    return value;
}

uint32_t message_get_u32(struct message *message)
{
    uint32_t value;
    message_get(message, &value, sizeof(value));
    return ntohl(value);
}

/* ---- messages ---- */

void message_begin(struct message *message, enum message_type type)
{
    message->size = FRAME_HEADER; /* written by connection_send */
    message->position = 0;
    message->bad = false;
    message_put_u8(message, (uint8_t)type);
}

enum message_type message_type(const struct message *message)
{
    return (enum message_type)message->bytes[FRAME_HEADER];
}

bool message_complete(const struct message *message)
{
    return !message->bad && message->position == message->size;
}

void message_put_path(struct message *message, const struct path *path)
{
    message_put_u8(message, path->length);
    message_put(message, path->cities, path->length);
}

void message_get_path(struct message *message, struct path *ret_path, unsigned cities)
{
    struct path path = {.length = message_get_u8(message)};
    if (path.length > CITIES_LIMIT) {
        message->bad = true;
        return;
    }
    message_get(message, path.cities, path.length);
    if (!path_valid(&path, cities)) {
        message->bad = true;
        return;
    }
    *ret_path = path;
}

void message_put_matrix(struct message *message, const struct costs *costs)
{
    message_put_u8(message, (uint8_t)costs->cities);
    for (unsigned from = 0; from < costs->cities; from++)
        for (unsigned to = 0; to < costs->cities; to++)
            message_put_u32(message, (uint32_t)costs->cost[from][to]);
}

int message_get_matrix(struct message *message, struct costs *ret_costs)
{
    struct costs costs = {.cities = message_get_u8(message)};
    if (costs.cities < CITIES_LEAST || costs.cities > CITIES_LIMIT)
        return -EPROTO;
    for (unsigned from = 0; from < costs.cities; from++)
        for (unsigned to = 0; to < costs.cities; to++) {
            uint32_t cost = message_get_u32(message);
            if (from != to && cost > COST_LIMIT)
                return -EPROTO;
            costs.cost[from][to] = from == to ? FORBIDDEN : (int32_t)cost;
        }
    if (!message_complete(message))
        return -EPROTO;
    *ret_costs = costs;
    return 0;
}

/* ---- connections ---- */

static int set_option(int descriptor, int level, int option, int value)
{
    return setsockopt(descriptor, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

int connection_open(struct connection *connection, int descriptor, unsigned timeout_seconds)
{
    const struct timeval timeout = {.tv_sec = timeout_seconds};
    int error;

    connection->descriptor = descriptor;
    connection->filled = 0;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
        return -errno;
    /* Otherwise the second of two outstanding requests would wait for an acknowledgement. */
    if ((error = set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1)) < 0)
        return error;
    /* Both ends may have nothing to send for long: only keepalive detects that a machine is gone. */
    if ((error = set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)) < 0 ||
        (error = set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 10)) < 0 ||
        (error = set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5)) < 0 ||
        (error = set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4)) < 0)
        return error;
    return 0;
}

void connection_close(struct connection *connection)
{
    if (connection->descriptor >= 0)
        close(connection->descriptor);
    connection->descriptor = -1;
}

/* The error of a failed send or receive. */
static int transfer_error(void)
{
    switch (errno) {
    case EAGAIN: /* SO_RCVTIMEO, SO_SNDTIMEO */
        return -ETIMEDOUT;
    case ETIMEDOUT: /* keepalive */
        return -EHOSTDOWN;
    case EPIPE:
        return -ECONNRESET;
    default:
        return -errno;
    }
}

int connection_send(struct connection *connection, struct message *message)
{
    const uint32_t length = htonl((uint32_t)(message->size - FRAME_HEADER));
    size_t sent = 0;

    if (message->bad)
        return -EMSGSIZE;
    memcpy(message->bytes, &length, sizeof(length));
    while (sent < message->size) {
        ssize_t part =
            send(connection->descriptor, message->bytes + sent, message->size - sent, MSG_NOSIGNAL);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return transfer_error();
        sent += (size_t)part;
    }
    return 0;
}

/* Size of the first frame in `input`, header included; 0 if its length has not arrived, -EPROTO if the length is
 * invalid. */
static ssize_t first_frame_size(const struct connection *connection)
{
    uint32_t length;
    if (connection->filled < FRAME_HEADER)
        return 0;
    memcpy(&length, connection->input, sizeof(length));
    length = ntohl(length);
    if (length < 1 || length > MESSAGE_LIMIT)
        return -EPROTO;
    return FRAME_HEADER + (ssize_t)length;
}

bool connection_has_message(const struct connection *connection)
{
    ssize_t size = first_frame_size(connection);
    return size > 0 && connection->filled >= (size_t)size;
}

static void take_frame(struct connection *connection, size_t size, struct message *ret_message)
{
    memcpy(ret_message->bytes, connection->input, size);
    ret_message->size = size;
    ret_message->position = FRAME_HEADER + 1; /* after the type */
    ret_message->bad = false;
    connection->filled -= size;
    memmove(connection->input, connection->input + size, connection->filled);
}

int connection_receive(struct connection *connection, struct message *ret_message)
{
    for (;;) {
        ssize_t size = first_frame_size(connection);
        if (size < 0)
            return (int)size;
        if (size > 0 && connection->filled >= (size_t)size) {
            take_frame(connection, (size_t)size, ret_message);
            return 0;
        }
        ssize_t part = recv(connection->descriptor, connection->input + connection->filled,
                            sizeof(connection->input) - connection->filled, 0);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return transfer_error();
        if (part == 0)
            return -ECONNRESET;
        connection->filled += (size_t)part;
    }
}
