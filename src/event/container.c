/* SPDX-License-Identifier: MIT */
/*
 * container.c: derives a container's short name from the path of its cgroup.
 *
 *      /system.slice/docker-8f3a...64 digits.scope          8f3a0c17d2e4   as `docker ps` shows it
 *      /kubepods/burstable/pod1-2/8f3a...64 digits          8f3a0c17d2e4
 *      /system.slice/nginx.service/workers                  nginx.service
 *      /site/web                                            web
 */
#include "event/event.h"

#include <ctype.h>
#include <string.h>

#define ID_DIGITS    64 /* of a container ID, hexadecimal */
#define SHORT_DIGITS 12

/* One component of a path, between two '/'. */
struct part {
    const char *begin;
    size_t length;
};

static bool ends_with(const struct part *part, const char *suffix)
{
    size_t length = strlen(suffix);

    return part->length > length &&
           memcmp(part->begin + part->length - length, suffix, length) == 0;
}

/* Returns where the container ID begins in a component of the form ID or RUNTIME-ID.scope, or NULL. A monitor
 * (libpod-conmon-ID.scope) has a cgroup next to its container's; it is not a container. */
static const char *find_id(const struct part *part)
{
    size_t length = part->length - (ends_with(part, ".scope") ? strlen(".scope") : 0);

    if (length < ID_DIGITS)
        return NULL;
    const char *id = part->begin + length - ID_DIGITS;
    for (size_t i = 0; i < ID_DIGITS; i++)
        if (!isxdigit((unsigned char)id[i]))
            return NULL;
    if (id != part->begin && isalnum((unsigned char)id[-1]))
        return NULL;
    return memmem(part->begin, length, "conmon", strlen("conmon")) == NULL ? id : NULL;
}

/* How well a component names the unit its processes belong to: 3 container, 2 systemd unit, 1 anything else. */
static int rank_of(const struct part *part)
{
    if (find_id(part) != NULL)
        return 3;
    return ends_with(part, ".service") || ends_with(part, ".scope") ? 2 : 1;
}

size_t container_name(const char *cgroup, char name[CONTAINER_SIZE])
{
    struct part best = {cgroup, 0};
    int best_rank = 0;

    for (const char *at = cgroup + strspn(cgroup, "/"); *at != '\0'; at += strspn(at, "/")) {
        struct part part = {at, strcspn(at, "/")};
        int rank = rank_of(&part);
        if (rank >= best_rank) { /* among equals the innermost */
            best = part;
            best_rank = rank;
        }
        at += part.length;
    }
    const char *id = find_id(&best);
    if (id != NULL)
        snprintf(name, CONTAINER_SIZE, "%.*s", SHORT_DIGITS, id);
    else
        snprintf(name, CONTAINER_SIZE, "%.*s", best.length == 0 ? 1 : (int)best.length,
                 best.length == 0 ? "/" : best.begin);
    return (size_t)(best.begin - cgroup) + best.length;
}
