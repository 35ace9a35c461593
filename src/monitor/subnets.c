/* SPDX-License-Identifier: MIT */
/* subnets.c: subnets of this machine's addresses. See subnets.h. */
#include "monitor/subnets.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

/* As view_subnet_of takes it; false: no address of a network. */
static bool address_text(const struct sockaddr *address, char text[INET6_ADDRSTRLEN + 8])
{
    char host[INET6_ADDRSTRLEN];

    if (address != NULL && address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        snprintf(text, INET6_ADDRSTRLEN + 8, "%s:0", host);
        return true;
    }
    if (address == NULL || address->sa_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
    snprintf(text, INET6_ADDRSTRLEN + 8, "[%s]:0", host);
    return !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static bool is_listed(const struct subnet *list, size_t count, const struct subnet *subnet)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, subnet->name) == 0 &&
            strcmp(list[i].interface, subnet->interface) == 0)
            return true;
    return false;
}

size_t subnets_list(struct subnet list[SUBNETS_MOST])
{
    struct ifaddrs *addresses = NULL;
    size_t count = 0;

    if (getifaddrs(&addresses) < 0)
        return 0;
    for (const struct ifaddrs *at = addresses; at != NULL && count < SUBNETS_MOST;
         at = at->ifa_next) {
        char text[INET6_ADDRSTRLEN + 8];
        struct subnet subnet = {0};
        if ((at->ifa_flags & IFF_UP) == 0 || !address_text(at->ifa_addr, text) ||
            !view_subnet_of(text, subnet.name))
            continue;
        /* "eth0:1" is another address of eth0 */
        snprintf(subnet.interface, sizeof(subnet.interface), "%.*s",
                 (int)strcspn(at->ifa_name, ":"), at->ifa_name);
        subnet.number = (pid_t)(hash_bytes(0, subnet.name, strlen(subnet.name)) % INT32_MAX) + 1;
        if (!is_listed(list, count, &subnet))
            list[count++] = subnet;
    }
    freeifaddrs(addresses);
    return count;
}
