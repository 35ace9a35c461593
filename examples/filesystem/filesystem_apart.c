/* SPDX-License-Identifier: MIT */
/*
 * filesystem_apart.c: one role on this machine, the others elsewhere.
 *
 *     web1: filesystem --part buffer ...  ── listens on port 7401, connects to disk's host, port 7400
 *
 * The parts have nothing but messages in common: each has the same options, counts its own messages, and prints these.
 */
#include "filesystem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int find_server(const struct launch *launch, unsigned server, struct address *address,
                       struct problem *problem)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char port[8];
    snprintf(port, sizeof(port), "%u", launch->port + server);
    const int error = getaddrinfo(launch->hosts[server], port, &wanted, &found);
    if (error != 0)
        return problem_set(problem, -ENOENT, "the host of %s, %s: %s", role_names[server],
                           launch->hosts[server], gai_strerror(error));
    memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
    address->size = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int listen_on(uint16_t port)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int yes = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(descriptor, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
        listen(descriptor, PROCESSES) < 0) {
        const int error = -errno;
        close(descriptor);
        return error;
    }
    return descriptor;
}

int apart_make_listeners(struct launch *launch, struct problem *problem)
{
    launch->shared->settings.apart = true;
    for (unsigned server = 0; server < SERVERS; server++) {
        const uint16_t port = (uint16_t)(launch->port + server);
        const int error = find_server(launch, server, &launch->shared->addresses[server], problem);
        if (error < 0)
            return error;
        if (!launch_has(launch, server))
            continue;
        launch->listeners[server] = listen_on(port);
        if (launch->listeners[server] < 0)
            return problem_set(problem, launch->listeners[server], "cannot listen on port %u: %s",
                               port, strerror(-launch->listeners[server]));
    }
    return 0;
}
