/* SPDX-License-Identifier: MIT */
/*
 * addresses.c: converts socket addresses of calls and of the kernel to the form in a PATH.
 *
 *      struct sockaddr --> family, 16 bytes, port      IPv4 on an IPv6 socket is IPv4
 *      struct sockaddr_un --> name                     '@' for NULs
 */
#include "ptracemeter/addresses.h"

#include "ptracemeter/networks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_mapped(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

uint8_t address_take(const struct sockaddr_storage *from, uint8_t bytes[16], uint16_t *port)
{
    const struct sockaddr_in *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;

    memset(bytes, 0, 16);
    if (from->ss_family == AF_INET) {
        memcpy(bytes, &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
        return AF_INET;
    }
    if (from->ss_family != AF_INET6)
        return 0;
    *port = ntohs(v6->sin6_port);
    if (is_mapped(v6->sin6_addr.s6_addr)) {
        memcpy(bytes, v6->sin6_addr.s6_addr + 12, 4);
        return AF_INET;
    }
    memcpy(bytes, &v6->sin6_addr, 16);
    return AF_INET6;
}

void address_take_both(struct path_record *facts, const struct sockaddr_storage *own,
                       const struct sockaddr_storage *other)
{
    uint8_t own_family = address_take(own, facts->local, &facts->local_port);

    facts->family =
        other == NULL ? own_family : address_take(other, facts->remote, &facts->remote_port);
    if (other != NULL && facts->family == AF_INET && own_family == AF_INET6)
        memset(facts->local, 0, sizeof(facts->local)); /* bound to any address */
}

bool address_is_any(const uint8_t address[16])
{
    static const uint8_t none[16];

    return memcmp(address, none, sizeof(none)) == 0;
}

/* The loopback address that others are reached from, where the route cannot be asked for. */
static void take_loopback(struct path_record *facts, const struct sockaddr_storage *peer)
{
    uint8_t bytes[16];
    uint16_t port;

    if (address_take(peer, bytes, &port) == AF_INET && bytes[0] == 127)
        memcpy(facts->local, (const uint8_t[]){127, 0, 0, 1}, 4);
    else if (memcmp(bytes, &in6addr_loopback, sizeof(bytes)) == 0)
        memcpy(facts->local, bytes, sizeof(bytes));
}

void address_find_local(struct ptracemeter *meter, struct path_record *facts,
                        const struct sockaddr_storage *peer, socklen_t length)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof(own);
    uint16_t port;

    if (!address_is_any(facts->local))
        return;
    int probe = network_socket(meter, facts->network, peer->ss_family, SOCK_DGRAM);
    if (probe >= 0 && connect(probe, (const struct sockaddr *)peer, length) == 0 &&
        getsockname(probe, (struct sockaddr *)&own, &size) == 0)
        address_take(&own, facts->local, &port);
    else
        take_loopback(facts, peer);
    if (probe >= 0)
        close(probe);
}

bool address_is_broadcast(struct ptracemeter *meter, const struct path_record *facts)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(facts->remote_port)};
    bool refused;

    if (facts->family != AF_INET || facts->remote_port == 0)
        return false;
    int probe = network_socket(meter, facts->network, AF_INET, SOCK_DGRAM);
    if (probe < 0)
        return false;
    memcpy(&peer.sin_addr, facts->remote, sizeof(peer.sin_addr));
    /* only of such an address the kernel asks for SO_BROADCAST */
    refused = connect(probe, (const struct sockaddr *)&peer, sizeof(peer)) < 0 && errno == EACCES;
    close(probe);
    return refused;
}

bool address_take_name(struct path_record *facts, const struct sockaddr_un *address, socklen_t size)
{
    size_t length = size > offsetof(struct sockaddr_un, sun_path)
                        ? size - offsetof(struct sockaddr_un, sun_path)
                        : 0;

    if (length == 0)
        return false;
    if (length > sizeof(address->sun_path))
        length = sizeof(address->sun_path);
    memset(facts->name, 0, sizeof(facts->name));
    memcpy(facts->name, address->sun_path, length);
    if (facts->name[0] != '\0')
        return true;
    while (length > 1 && facts->name[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (facts->name[i] == '\0')
            facts->name[i] = '@';
    return true;
}
