/* SPDX-License-Identifier: MIT */
/*
 * resolve.c: replaces addresses of unmonitored ends by host names from this machine's resolver. See resolve.h.
 *
 *      "10.0.0.7:6379"  -->  "cache-7.example:6379"
 */
#include "command/shared/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Addresses that were looked up, and their names. Each address is stored once, so its pointer is the key. */
struct resolver {
    struct communication *communication;
    struct intern known;
    const char **names;
    size_t capacity;
};

/* Parses "1.2.3.4:80" or "[::1]:80" into a socket address; false: neither. */
static bool parse_endpoint(const char *text, struct sockaddr_storage *ret_address,
                           const char **ret_port)
{
    char host[INET6_ADDRSTRLEN] = "";
    const char *colon = strrchr(text, ':');
    const char *begin = text[0] == '[' ? text + 1 : text;
    const char *end = text[0] == '[' ? strchr(text, ']') : colon;

    if (colon == NULL || end == NULL || (size_t)(end - begin) >= sizeof(host))
        return false;
    memcpy(host, begin, (size_t)(end - begin));
    memset(ret_address, 0, sizeof(*ret_address));
    *ret_port = colon;
    struct sockaddr_in *four = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_address;
    ret_address->ss_family = text[0] == '[' ? AF_INET6 : AF_INET;
    return inet_pton(ret_address->ss_family, host,
                     text[0] == '[' ? (void *)&six->sin6_addr : (void *)&four->sin_addr) == 1;
}

/* The name of an endpoint; or the text itself: "*:80" and UNIX sockets have no other name. */
static const char *look_up(struct resolver *resolver, const char *text)
{
    struct sockaddr_storage address;
    char host[NI_MAXHOST];
    char name[NI_MAXHOST + 16];
    const char *port;

    if (!parse_endpoint(text, &address, &port) ||
        getnameinfo((struct sockaddr *)&address,
                    address.ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                 : sizeof(struct sockaddr_in6),
                    host, sizeof(host), NULL, 0, NI_NAMEREQD) != 0)
        return text;
    snprintf(name, sizeof(name), "%s%s", host, port);
    return communication_keep_text(resolver->communication, name);
}

static int resolve(struct resolver *resolver, const char **text)
{
    uint32_t count = resolver->known.count;
    int64_t index = intern_add(&resolver->known, (uintptr_t)*text);

    if (index < 0 || array_reserve(&resolver->names, &resolver->capacity, (size_t)index + 1,
                                   sizeof(*resolver->names)) < 0)
        return -ENOMEM;
    if (index == count)
        resolver->names[index] = look_up(resolver, *text);
    if (resolver->names[index] == NULL)
        return -ENOMEM;
    *text = resolver->names[index];
    return 0;
}

static int resolve_party(struct resolver *resolver, struct party *party)
{
    return party->count > 0 || party->address == NULL ? 0 : resolve(resolver, &party->address);
}

int resolve_addresses(struct communication *communication)
{
    struct resolver resolver = {.communication = communication};
    int result = 0;

    for (size_t i = 0; result == 0 && i < communication->pair_count; i++) {
        result = resolve_party(&resolver, &communication->pairs[i].from);
        if (result == 0)
            result = resolve_party(&resolver, &communication->pairs[i].to);
    }
    for (size_t i = 0; result == 0 && i < communication->path_count; i++) {
        struct communication_path *path = &communication->paths[i];
        if (path->ends[0].count == 0)
            result = resolve(&resolver, &path->local);
        if (result == 0 && path->ends[1].count == 0)
            result = resolve(&resolver, &path->remote);
    }
    intern_done(&resolver.known);
    free(resolver.names);
    return result;
}
