/* SPDX-License-Identifier: MIT */
/* peer.c: who asks for a session. See peer.h. */
#include "dpmd/peer.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* The value of a field ("CapEff:") in /proc/PID/status; NULL: there is none. */
static const char *status_field(const char *status, const char *field)
{
    const char *found = strstr(status, field);

    return found == NULL ? NULL : found + strlen(field);
}

/* NSpid lists a process's number in each PID namespace from ours inwards. */
static bool is_in_our_namespace(const char *status)
{
    const char *numbers = status_field(status, "\nNSpid:\t");

    return numbers != NULL && strcspn(numbers, "\t\n") == strcspn(numbers, "\n");
}

static bool may_trace(const char *status)
{
    const char *capabilities = status_field(status, "\nCapEff:\t");

    return capabilities != NULL && (strtoull(capabilities, NULL, 16) & 1ULL << CAP_SYS_PTRACE) != 0;
}

/* Whether all users map to themselves, as in our own user namespace. In another one capabilities are worth nothing here. */
static bool has_all_users(pid_t pid)
{
    char map[256];
    unsigned long inside, outside, count;

    process_read(pid, "uid_map", map, sizeof(map));
    return sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
           outside == 0 && count == UINT32_MAX;
}

static bool has_ended(int process)
{
    struct pollfd file = {.fd = process, .events = POLLIN};

    return poll(&file, 1, 0) != 0;
}

/* Opens the process that has connected; before Linux 6.5 by its number, which may be another's by now if it has ended. */
static int open_peer(int connection, pid_t pid)
{
    int process;
    socklen_t size = sizeof(process);

    if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &process, &size) == 0)
        return process;
    return process_open(pid);
}

/* What /proc says of the peer, read while it lives. */
struct standing {
    bool here;       /* in our PID namespace */
    bool whole_root; /* if it is user 0: may meter everything */
};

static struct standing standing_of(int connection, pid_t pid)
{
    char status[4096];
    int process = open_peer(connection, pid);

    if (process < 0)
        return (struct standing){0};
    process_read(pid, "status", status, sizeof(status));
    bool all_users = has_all_users(pid), here = is_in_our_namespace(status);
    bool ended = has_ended(process);
    close(process);
    if (ended)
        return (struct standing){0};
    return (struct standing){here, here && all_users && may_trace(status)};
}

int peer_of(int connection, struct peer *ret_peer, struct problem *problem)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);

    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0 ||
        credentials.pid <= 0)
        return problem_set(problem, -EPERM, "dpmd cannot tell who you are");
    const struct standing standing = standing_of(connection, credentials.pid);
    *ret_peer = (struct peer){
        .pid = credentials.pid,
        .user = {.user = credentials.uid, .group = credentials.gid},
        .everybody = credentials.uid == 0 && standing.whole_root,
        .elsewhere = !standing.here,
    };
    if (credentials.uid == 0 && !ret_peer->everybody)
        return problem_set(problem, -EPERM,
                           "root without CAP_SYS_PTRACE, or in a container: dpmd would have to "
                           "treat you as the owner of all of root's processes");
    return 0;
}

pid_t peer_process(int descriptor)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", descriptor);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    ssize_t got = read(file, text, sizeof(text) - 1);
    close(file);
    text[got < 0 ? 0 : got] = '\0';
    const char *number = status_field(text, "\nPid:\t");
    if (number == NULL)
        return -EBADF;
    long pid = strtol(number, NULL, 10);
    return pid > 0 ? (pid_t)pid : -ESRCH;
}
