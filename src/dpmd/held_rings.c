/* SPDX-License-Identifier: MIT */
/*
 * held_rings.c: who still has the rings. See held_rings.h.
 *
 * The kernel takes a file from an epoll instance when nobody has it any longer: no descriptor, no mapping, no message that
 * carries it. /proc lists what is left:
 *
 *      /proc/self/fdinfo/12    tfd:       17 events:       18 data: ...
 */
#include "dpmd/held_rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOOK_INTERVAL 100000 /* us */

int held_rings_add(struct held_rings *rings, int ring)
{
    struct epoll_event nothing = {0};

    if (rings->watch < 0)
        rings->watch = epoll_create1(EPOLL_CLOEXEC);
    if (rings->watch < 0 || epoll_ctl(rings->watch, EPOLL_CTL_ADD, ring, &nothing) < 0)
        return -errno;
    return 0;
}

static bool are_held(const struct held_rings *rings)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", rings->watch);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    return strstr(text, "tfd:") != NULL;
}

void held_rings_wait(struct held_rings *rings)
{
    if (rings->watch < 0)
        return;
    while (are_held(rings))
        usleep(LOOK_INTERVAL);
    close(rings->watch);
    rings->watch = -1;
}
