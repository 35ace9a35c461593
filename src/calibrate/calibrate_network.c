/* SPDX-License-Identifier: MIT */
/* calibrate_network.c: addresses and sockets of `dpm calibrate` between machines. See calibrate.h. */
#include "calibrate/calibrate.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- addresses ---- */

/* Splits "host:port" or "[::1]:port"; cuts the text. Returns false if it is neither. */
static bool split_address(char *text, char **ret_host, char **ret_port)
{
    char *colon = strrchr(text, ':');

    if (colon == NULL || colon == text || colon[1] == '\0')
        return false;
    *colon = '\0';
    *ret_port = colon + 1;
    *ret_host = text;
    size_t length = strlen(text);
    if (text[0] == '[' && text[length - 1] == ']') {
        text[length - 1] = '\0';
        *ret_host = text + 1;
    }
    return true;
}

/* Reports an address that getaddrinfo refused; -EINVAL if the port is invalid, which is wrong usage. */
static int no_address(const char *address, int error, struct problem *problem)
{
    return error == EAI_SERVICE
               ? problem_set(problem, -EINVAL, "%s: no such port", address)
               : problem_set(problem, -ENOENT, "%s: %s", address, gai_strerror(error));
}

/* As getaddrinfo, which would take the lowest 16 bits of a larger port number. */
static int find_addresses(const char *name, const char *port, const struct addrinfo *wanted,
                          struct addrinfo **ret_found)
{
    char *end;
    unsigned long number = strtoul(port, &end, 10);

    if (*end == '\0' && (number == 0 || number > UINT16_MAX))
        return EAI_SERVICE;
    return getaddrinfo(name, port, wanted, ret_found);
}

void calibrate_set_patience(int socket)
{
    const struct timeval patience = {.tv_sec = CALIBRATE_PATIENCE};
    int one = 1;

    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int calibrate_read_host(const char *address, struct calibrate_host *host, struct problem *problem)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    char *name, *port;

    if ((size_t)snprintf(host->text, sizeof(host->text), "%s", address) >= sizeof(host->text) ||
        !split_address(host->text, &name, &port))
        return problem_set(problem, -EINVAL, "%s: give HOST:PORT", address);
    /* files of --delays consist of words, and '#' begins a comment */
    if (*name == '\0' || strlen(name) >= MACHINE_NAME_SIZE || strpbrk(name, " \t\n#") != NULL)
        return problem_set(problem, -EINVAL, "%s: not a host name", address);
    int error = find_addresses(name, port, &wanted, &host->found);
    if (error != 0)
        return no_address(address, error, problem);
    host->name = name;
    host->port = port;
    return 0;
}

/* A connected socket, or a negative errno with a line in `problem`. */
static int connect_to(const struct calibrate_host *host, struct problem *problem)
{
    int error = 0, file = -1;

    for (const struct addrinfo *at = host->found; at != NULL && file < 0; at = at->ai_next) {
        file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
        if (file < 0) {
            error = errno;
            continue;
        }
        calibrate_set_patience(file);
        if (connect(file, at->ai_addr, at->ai_addrlen) < 0) {
            error = errno == EINPROGRESS ? ETIMEDOUT : errno;
            close(file);
            file = -1;
        }
    }
    return file >= 0 ? file
                     : problem_set(problem, -error,
                                   "%s:%s: %s; does `dpm calibrate --listen %s` run there?",
                                   host->name, host->port, strerror(error), host->port);
}

int calibrate_remote(const struct calibrate_host *host, uint64_t time,
                     uint64_t medians[CALIBRATE_SIZES], struct problem *problem)
{
    int file = connect_to(host, problem);

    if (file < 0)
        return file;
    int result = calibrate_measure((struct link){file, file}, time, medians, NULL);
    close(file);
    if (result == -ETIMEDOUT)
        return problem_set(problem, result,
                           "%s:%s: no answer within %d s: is it busy with another peer?",
                           host->name, host->port, CALIBRATE_PATIENCE);
    return result < 0 ? problem_set(problem, result, "%s:%s: %s", host->name, host->port,
                                    strerror(-result))
                      : 0;
}

/* The bytes of an IPv4 or IPv6 address; NULL: another kind. */
static const uint8_t *address_bytes(const struct sockaddr *address, size_t *ret_size)
{
    if (address == NULL || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return NULL;
    *ret_size = address->sa_family == AF_INET ? 4 : 16;
    return address->sa_family == AF_INET
               ? (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr
               : (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
}

static bool is_in_network(const struct sockaddr *address, const struct ifaddrs *own)
{
    size_t size = 0, other = 0, masked = 0;
    const uint8_t *bytes = address_bytes(address, &size),
                  *here = address_bytes(own->ifa_addr, &other);
    const uint8_t *mask = address_bytes(own->ifa_netmask, &masked);

    if (bytes == NULL || here == NULL || mask == NULL || other != size || masked != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (((bytes[i] ^ here[i]) & mask[i]) != 0)
            return false;
    return true;
}

bool calibrate_is_on_subnet(const struct calibrate_host *host)
{
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) < 0)
        return false;
    for (const struct addrinfo *at = host->found; at != NULL && !found; at = at->ai_next)
        for (const struct ifaddrs *own = list; own != NULL && !found; own = own->ifa_next)
            found = is_in_network(at->ai_addr, own);
    freeifaddrs(list);
    return found;
}

/* ---- listening ---- */

int calibrate_open_listener(const char *address, struct problem *problem)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    char text[256], *host = NULL, *port = text;
    struct addrinfo *found = NULL;
    int one = 1, file = -1;

    snprintf(text, sizeof(text), "%s", address);
    if (strchr(text, ':') != NULL && !split_address(text, &host, &port))
        return problem_set(problem, -EINVAL, "--listen %s: give PORT or ADDRESS:PORT", address);
    int error = find_addresses(host, port, &wanted, &found);
    if (error != 0)
        return no_address(address, error, problem);
    file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file >= 0)
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (file < 0 || bind(file, found->ai_addr, found->ai_addrlen) < 0 || listen(file, 4) < 0) {
        error = errno;
        if (file >= 0)
            close(file);
        file = problem_set(problem, -error, "--listen %s: %s", address, strerror(error));
    }
    freeaddrinfo(found);
    return file;
}
