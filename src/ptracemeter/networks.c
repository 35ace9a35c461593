/* SPDX-License-Identifier: MIT */
/*
 * networks.c: network namespaces.
 *
 *      socket --SO_NETNS_COOKIE--> cookie --> | cookie 1   inode 4026531840   ours                     |
 *                                             | cookie 7   inode 4026532177   file, netlink socket     |
 *
 * A socket stays in the namespace in which it was made; threads change theirs at any time, and sockets are passed on. So
 * each socket is asked itself. Its namespace has two names: the cookie, which needs no privilege, and the inode, which
 * PATHs have. Which belong together is learned from a socket that shows both (SIOCGSKNS, as root), or from one that its
 * thread has just made. If neither is possible, the namespace counts as unknown: 0.
 *
 * The kernel answers questions about sockets in the namespace of the netlink socket that asks, so there is one for each.
 * Entering a namespace to make it needs CAP_SYS_ADMIN. Without that, ends of connections there are found by their
 * addresses only, and UNIX sockets not at all: the report says so.
 */
#include "ptracemeter/networks.h"

#include "ptracemeter/tracees.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NETWORKS_MOST                                                                              \
    256 /* each holds two descriptors; of more than that, only addresses are compared */

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static struct network *find(const struct ptracemeter *meter, uint32_t inode)
{
    for (size_t i = 0; i < meter->network_count; i++)
        if (meter->networks[i].inode == inode)
            return &meter->networks[i];
    return NULL;
}

/* Notes a namespace; `file`, which it takes over, is open on it. */
static struct network *add(struct ptracemeter *meter, uint32_t inode, int file)
{
    struct network *known = find(meter, inode);

    if (known != NULL || meter->network_count == NETWORKS_MOST ||
        array_reserve(&meter->networks, &meter->network_capacity, meter->network_count + 1,
                      sizeof(*meter->networks)) < 0) {
        close(file);
        return known;
    }
    meter->networks[meter->network_count] =
        (struct network){.inode = inode, .file = file, .diag = -1};
    return &meter->networks[meter->network_count++];
}

static uint32_t inode_of(int file)
{
    struct stat status;

    return fstat(file, &status) < 0 ? 0 : (uint32_t)status.st_ino;
}

static struct network *add_file(struct ptracemeter *meter, int file)
{
    uint32_t inode = inode_of(file);
    struct network *known = inode == 0 ? NULL : find(meter, inode);

    if (inode != 0 && known == NULL)
        return add(meter, inode, file);
    close(file);
    return known;
}

/* ---- of a socket, of a thread ---- */

uint32_t network_of_tracee(struct ptracemeter *meter, const struct tracee *tracee)
{
    struct stat status;
    char path[64];

    if (meter->no_proc)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/ns/net", tracee->tid);
    if (stat(path, &status) < 0)
        return 0;
    if (find(meter, (uint32_t)status.st_ino) == NULL) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0)
            add_file(meter, file);
    }
    return (uint32_t)status.st_ino;
}

static uint64_t cookie_of(int socket)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);

    return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

uint32_t network_of_socket(struct ptracemeter *meter, const struct tracee *tracee, int copy,
                           bool made)
{
    uint64_t cookie = cookie_of(copy);

    for (size_t i = 0; cookie != 0 && i < meter->network_count; i++)
        if (meter->networks[i].cookie == cookie)
            return meter->networks[i].inode;
    int file = ioctl(copy, SIOCGSKNS);
    if (file < 0 && !made && meter->identities_change)
        return 0;
    uint32_t inode = file >= 0 ? inode_of(file) : network_of_tracee(meter, tracee);
    if (file >= 0)
        add_file(meter, file);
    struct network *known = find(meter, inode);
    if (known != NULL && known->cookie != 0 && cookie != 0)
        return 0; /* the thread's is not the socket's */
    if (known != NULL)
        known->cookie = cookie;
    return inode;
}

/* ---- questions ---- */

static void close_all(struct ptracemeter *meter)
{
    for (size_t i = 0; i < meter->network_count; i++)
        meter->networks[i].closed = true;
}

int network_socket(struct ptracemeter *meter, uint32_t network, int family, int type)
{
    struct network *known = find(meter, network);
    int protocol = family == AF_NETLINK ? NETLINK_SOCK_DIAG : 0;

    if (known == NULL || known->closed)
        return -1;
    if (known->is_ours)
        return socket(family, type | SOCK_CLOEXEC, protocol);
    const struct network *ours = &meter->networks[0];
    if (!ours->is_ours || setns(ours->file, CLONE_NEWNET) < 0 ||
        setns(known->file, CLONE_NEWNET) < 0) {
        known->closed = true;
        meter->shortfalls.networks++;
        return -1;
    }
    int made = socket(family, type | SOCK_CLOEXEC, protocol);
    if (setns(ours->file, CLONE_NEWNET) < 0) /* no memory: never ask in the wrong one */
        close_all(meter);
    return made;
}

int network_diag(struct ptracemeter *meter, uint32_t network)
{
    struct network *known = find(meter, network);
    const struct timeval limit = {.tv_sec = 1};

    if (known == NULL)
        return -1;
    if (known->diag < 0 && !known->tried) {
        known->diag = network_socket(meter, network, AF_NETLINK, SOCK_RAW);
        if (known->diag >= 0)
            setsockopt(known->diag, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    }
    known->tried = true;
    return known->diag;
}

/* ---- all of them ---- */

void networks_open(struct ptracemeter *meter)
{
    int file = meter->no_proc ? -1 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    struct network *ours = add(meter, file < 0 ? 0 : inode_of(file), file);

    if (ours == NULL)
        return;
    ours->is_ours = true;
    network_diag(meter, ours->inode);
    if (ours->diag >= 0)
        ours->cookie = cookie_of(ours->diag);
}

static void close_network(const struct network *network)
{
    if (network->file >= 0)
        close(network->file);
    if (network->diag >= 0)
        close(network->diag);
}

void networks_sweep(struct ptracemeter *meter)
{
    size_t kept = 0;

    for (size_t i = 0; i < meter->network_count; i++)
        meter->networks[i].used = meter->networks[i].is_ours;
    for (uint32_t i = 0; meter->network_count > 1 && i < meter->objects.used; i++) {
        const struct object *object = pool_at(&meter->objects, i);
        struct network *network =
            object->inode == 0 || object->gone || object->object_kind != OBJECT_SOCKET
                ? NULL
                : find(meter, object->facts.network);
        if (network != NULL)
            network->used = true;
    }
    for (size_t i = 0; i < meter->network_count; i++)
        if (meter->networks[i].used)
            meter->networks[kept++] = meter->networks[i];
        else
            close_network(&meter->networks[i]);
    meter->network_count = kept;
}

void networks_close(struct ptracemeter *meter)
{
    for (size_t i = 0; i < meter->network_count; i++)
        close_network(&meter->networks[i]);
    free(meter->networks);
    meter->networks = NULL;
    meter->network_count = meter->network_capacity = 0;
}
