/* SPDX-License-Identifier: MIT */
/*
 * tsp_server.c: the server process: gets the matrix once, then computes one piece per request until FINISH. It does
 * nothing without a request.
 *
 *     connect → HELLO → (MATRIX) → { (REQUEST) → compute → REPLY } ... → (FINISH) → exit 0
 */
#include "tsp.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the connected socket, or -1 and the reason in words. */
static int connect_to(const char *host, const char *port, const char **ret_why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    int error = getaddrinfo(host, port, &hints, &addresses);
    if (error) {
        *ret_why = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
        return -1;
    }
    for (const struct addrinfo *address = addresses; address; address = address->ai_next) {
        int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (descriptor >= 0 && connect(descriptor, address->ai_addr, address->ai_addrlen) == 0) {
            freeaddrinfo(addresses);
            return descriptor;
        }
        *ret_why = strerror(errno);
        if (descriptor >= 0)
            close(descriptor);
    }
    freeaddrinfo(addresses);
    return -1;
}

static int send_hello(struct connection *connection)
{
    struct message message;
    message_begin(&message, MESSAGE_HELLO);
    message_put_u32(&message, HELLO_MAGIC);
    message_put_u32(&message, (uint32_t)getpid());
    return connection_send(connection, &message);
}

static int receive_matrix(struct connection *connection, struct costs *ret_costs)
{
    struct message message;
    int error = connection_receive(connection, &message);
    if (error < 0)
        return error;
    if (message_type(&message) != MESSAGE_MATRIX)
        return -EPROTO;
    return message_get_matrix(&message, ret_costs);
}

static int answer(struct connection *connection, const struct costs *costs, struct message *message)
{
    struct path piece = {0};
    const uint32_t number = message_get_u32(message);
    message_get_path(message, &piece, costs->cities);
    if (!message_complete(message))
        return -EPROTO;

    const struct choice best = piece_explore(costs, &piece);
    message_begin(message, MESSAGE_REPLY);
    message_put_u32(message, number);
    message_put_u32(message, (uint32_t)best.value);
    message_put_path(message, &best.path);
    return connection_send(connection, message);
}

static int serve(struct connection *connection)
{
    struct costs costs;
    struct message message;
    int error = send_hello(connection);
    if (error == 0)
        error = receive_matrix(connection, &costs);
    while (error == 0 && (error = connection_receive(connection, &message)) == 0) {
        if (message_type(&message) == MESSAGE_FINISH && message_complete(&message))
            return 0;
        error = message_type(&message) == MESSAGE_REQUEST ? answer(connection, &costs, &message)
                                                          : -EPROTO;
    }
    return error;
}

static int fail(const char *host, const char *port, const char *what)
{
    fprintf(stderr, "tsp-server: controller at %s port %s: %s\n", host, port, what);
    return 1;
}

int main(int argument_count, char **arguments)
{
    struct connection connection;
    const char *why = "";

    if (argument_count != 3) {
        fprintf(stderr, "usage: tsp-server HOST PORT\n");
        return 2;
    }
    const char *host = arguments[1], *port = arguments[2];
    const int descriptor = connect_to(host, port, &why);
    if (descriptor < 0)
        return fail(host, port, why);

    /* No time limit: the controller may be waiting for more servers, or for slower ones. */
    int error = connection_open(&connection, descriptor, 0);
    if (error == 0)
        error = serve(&connection);
    connection_close(&connection);
    if (error == -ECONNRESET)
        return fail(host, port, "connection lost before the end of the computation");
    if (error == -EPROTO)
        return fail(host, port, "sent something that is not understood; is it tsp?");
    return error < 0 ? fail(host, port, strerror(-error)) : 0;
}
