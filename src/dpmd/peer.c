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

/* Whether root may meter everything. The status is read while the process lives. */
static bool is_whole_root(int connection, pid_t pid)
{
    char status[4096];
    int process = open_peer(connection, pid);

    if (process < 0)
        return false;
    process_read(pid, "status", status, sizeof(status));
    bool ended = has_ended(process);
    close(process);
    return !ended && is_in_our_namespace(status) && may_trace(status);
}

int peer_of(int connection, struct peer *ret_peer, struct problem *problem)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);

    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0 ||
        credentials.pid <= 0)
        return problem_set(problem, -EPERM, "dpmd cannot tell who you are");
    *ret_peer = (struct peer){
        .pid = credentials.pid,
        .user = {.user = credentials.uid, .group = credentials.gid},
        .everybody = credentials.uid == 0 && is_whole_root(connection, credentials.pid),
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
