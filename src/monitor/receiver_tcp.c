/* SPDX-License-Identifier: MIT */
/*
 * receiver_tcp.c: lines to a TCP port of a host. Nothing here waits: names are looked up by getaddrinfo_a(3), and the
 * socket does not block.
 *
 *      a line is queued --> look the host up --> connect --> when a line is due: write all --> stay connected
 *                ^                                 |
 *                '------ a second later -----------'-- fails, or the receiver closes
 */
#include "monitor/receiver.h"

#include "monitor/notifier.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct receiver_address {
    char host[VIEW_HOST_MOST + 1], port[8];
    struct addrinfo hints;
    struct gaicb request;
    bool asked;
    int error;                   /* of the last look-up: EAI_...; 0: none */
    const struct addrinfo *next; /* of the host's addresses, to be tried */
};

/* "seventh@cis.ohio-state.edu": the user is not needed to connect. */
static struct receiver_address *new_address(const struct view *view)
{
    struct receiver_address *address = calloc(1, sizeof(*address));
    const char *at = strrchr(view->host, '@');

    if (address == NULL)
        return NULL;
    snprintf(address->host, sizeof(address->host), "%s", at == NULL ? view->host : at + 1);
    snprintf(address->port, sizeof(address->port), "%u", view->port);
    address->hints.ai_socktype = SOCK_STREAM;
    address->request.ar_name = address->host;
    address->request.ar_service = address->port;
    address->request.ar_request = &address->hints;
    return address;
}

/* Returns 0 when the name is known, -EAGAIN while it is looked up, or another negative errno. */
static int look_up(struct receiver *receiver)
{
    if (receiver->address == NULL && (receiver->address = new_address(receiver->view)) == NULL)
        return -ENOMEM;
    struct receiver_address *address = receiver->address;
    struct gaicb *list[] = {&address->request};

    if (!address->asked) {
        if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) != 0)
            return -EHOSTUNREACH;
        address->asked = true;
    }
    int state = gai_error(&address->request);
    if (state == EAI_INPROGRESS)
        return -EAGAIN;
    address->asked = state == 0; /* else it is asked again, later */
    address->error = state;
    if (state == 0 && address->next == NULL)
        address->next = address->request.ar_result;
    return state == 0 ? 0 : -EHOSTUNREACH;
}

void receiver_tcp_close(struct receiver *receiver)
{
    if (receiver->descriptor >= 0)
        close(receiver->descriptor); /* which removes it from epoll */
    receiver->descriptor = -1;
    receiver->connected = false;
    receiver->written = 0; /* a line that was cut is sent again, whole */
}

void receiver_tcp_done(struct receiver *receiver)
{
    struct receiver_address *address = receiver->address;

    receiver_tcp_close(receiver);
    if (address == NULL)
        return;
    /* what cannot be cancelled still writes to it: it stays until the program ends (one that is done may not be cancelled, either) */
    if (address->asked && gai_error(&address->request) == EAI_INPROGRESS &&
        gai_cancel(&address->request) == EAI_NOTCANCELED)
        return;
    if (address->request.ar_result != NULL)
        freeaddrinfo(address->request.ar_result);
    free(address);
}

static void failed(struct receiver *receiver, int result, uint64_t now)
{
    struct receiver_address *address = receiver->address;

    receiver_tcp_close(receiver);
    if (address != NULL)
        address->next = NULL;
    receiver_failed(receiver,
                    address != NULL && address->error != 0 ? gai_strerror(address->error)
                                                           : strerror(-result),
                    now);
}

/* Tries the addresses of the host, from the next one on, until one can be begun with. */
static int begin_connecting(struct receiver *receiver)
{
    int result = -EHOSTUNREACH;

    while (receiver->address->next != NULL) {
        const struct addrinfo *to = receiver->address->next;
        receiver->address->next = to->ai_next;
        receiver->descriptor = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (receiver->descriptor < 0) {
            result = -errno;
            continue;
        }
        if (connect(receiver->descriptor, to->ai_addr, to->ai_addrlen) == 0 ||
            errno == EINPROGRESS) {
            receiver_watch(receiver, true);
            return 0;
        }
        result = -errno;
        receiver_tcp_close(receiver);
    }
    return result;
}

/* Returns 0 when connected, -EAGAIN meanwhile, or another negative errno. */
static int connecting(struct receiver *receiver)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof(peer), error_size = sizeof(int);
    int error = 0, result = 0;

    if (receiver->connected)
        return 0;
    if (receiver->descriptor < 0) {
        result = look_up(receiver);
        return result < 0 ? result : (result = begin_connecting(receiver)) < 0 ? result : -EAGAIN;
    }
    getsockopt(receiver->descriptor, SOL_SOCKET, SO_ERROR, &error, &error_size);
    if (error != 0) {
        receiver_tcp_close(receiver);
        return receiver->address->next == NULL  ? -error
               : begin_connecting(receiver) < 0 ? -error
                                                : -EAGAIN;
    }
    if (getpeername(receiver->descriptor, (struct sockaddr *)&peer, &size) < 0)
        return errno == ENOTCONN ? -EAGAIN : -errno;
    receiver->connected = true;
    receiver->address->next = NULL; /* the next connection begins with the first one again */
    receiver_watch(receiver, false);
    return 0;
}

/* Reads and forgets what the receiver says. Returns -ENOTCONN if it has closed. */
static int drain(struct receiver *receiver)
{
    char bytes[4096];

    for (int i = 0; i < 16; i++) {
        ssize_t got = recv(receiver->descriptor, bytes, sizeof(bytes), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return -ENOTCONN;
        if (got < 0)
            return 0;
    }
    return 0;
}

static int write_lines(struct receiver *receiver)
{
    while (receiver->count > 0) {
        const struct receiver_line *line = &receiver->lines[receiver->first];
        ssize_t put = send(receiver->descriptor, line->text + receiver->written,
                           line->size - receiver->written, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -errno;
        receiver->written += (size_t)put;
        if (receiver->written < line->size)
            continue;
        receiver_sent(receiver);
    }
    return 0;
}

#define LOOK_UP_AGAIN 5000000u /* ns: getaddrinfo_a has no descriptor */

uint64_t receiver_tcp_work(struct receiver *receiver, uint64_t now)
{
    if (receiver->connected && drain(receiver) < 0)
        receiver_tcp_close(receiver);
    if (receiver->count == 0)
        return UINT64_MAX;
    if (receiver->retry > now)
        return receiver->retry;
    int result = connecting(receiver);
    if (result == 0 && receiver->flush <= now) {
        result = write_lines(receiver);
        if (result != -EAGAIN)
            receiver_watch(receiver, false);
        else
            receiver_watch(receiver, true);
    } else if (result == 0) {
        return receiver->flush;
    }
    if (result == -EAGAIN)
        return receiver->descriptor < 0 ? now + LOOK_UP_AGAIN : UINT64_MAX;
    if (result < 0)
        failed(receiver, result, now);
    return result < 0 ? receiver->retry : UINT64_MAX;
}
