/* SPDX-License-Identifier: MIT */
/*
 * socket_facts.c: finds out what a tracee's socket is: kind, cookie, addresses. It tries in this order:
 *
 *      a copy of its descriptor (pidfd_getfd)          everything; refused in many containers
 *      the kernel's list of sockets (sock_diag(7))     by inode; contains TCP and UDP only if they have a port
 *      the arguments of socket(2), at its end          the kind
 */
#include "ptracemeter/socket_facts.h"

#include "ptracemeter/descriptors.h"
#include "ptracemeter/diagnosis.h"
#include "ptracemeter/networks.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int option(int socket, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);

    return getsockopt(socket, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

static int state_of_tcp(int socket)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ? 0 : info.tcpi_state;
}

/* A thread in that call has just made the socket, so it is in the thread's namespace. */
static bool has_just_made_it(const struct tracee *tracee)
{
    const struct call *call = &tracee->call;

    return call->what != NULL && (call->number == SYS_socket || call->number == SYS_socketpair);
}

static void facts_of_copy(struct ptracemeter *meter, const struct tracee *tracee, int socket,
                          struct socket_facts *facts)
{
    int v6_only = 0;
    socklen_t v6_size = sizeof(v6_only);
    socklen_t size = sizeof(facts->cookie);

    facts->family = option(socket, SO_DOMAIN);
    facts->type = option(socket, SO_TYPE);
    facts->protocol = option(socket, SO_PROTOCOL);
    getsockopt(socket, SOL_SOCKET, SO_COOKIE, &facts->cookie, &size);
    facts->network = network_of_socket(meter, tracee, socket, has_just_made_it(tracee));
    facts->v6_only =
        getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, &v6_size) == 0 && v6_only != 0;
    facts->state = facts->protocol == IPPROTO_TCP ? state_of_tcp(socket) : 0;
    facts->own_size = sizeof(facts->own);
    if (getsockname(socket, (struct sockaddr *)&facts->own, &facts->own_size) < 0)
        facts->own_size = 0;
    facts->other_size = sizeof(facts->other);
    if (getpeername(socket, (struct sockaddr *)&facts->other, &facts->other_size) < 0)
        facts->other_size = 0;
}

static int usual_protocol(int family, int type)
{
    if (family != AF_INET && family != AF_INET6)
        return 0;
    return type == SOCK_STREAM ? IPPROTO_TCP : type == SOCK_DGRAM ? IPPROTO_UDP : 0;
}

/* For a socket that has just been made. */
static bool facts_of_call(const struct tracee *tracee, struct socket_facts *facts)
{
    const struct call *call = &tracee->call;

    if (!has_just_made_it(tracee))
        return false;
    facts->family = (int)call->arguments[0];
    facts->type = (int)call->arguments[1] & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    facts->protocol = call->arguments[2] != 0 ? (int)call->arguments[2]
                                              : usual_protocol(facts->family, facts->type);
    return true;
}

#define ANONYMOUS offsetof(struct sockaddr_un, sun_path)

/* The list lacks a peer that has not been accepted yet, but the connect call has its address. */
static void take_connected(const struct tracee *tracee, struct socket_facts *facts)
{
    const struct call *call = &tracee->call;
    struct sockaddr_storage other = {0};
    size_t size = (size_t)call->arguments[2];

    if (call->what == NULL || call->number != SYS_connect || size > sizeof(other) ||
        !tracer_read(tracee, call->arguments[1], &other, size))
        return;
    facts->other = other;
    facts->other_size = (socklen_t)size;
}

/* A copy may be of another thread's descriptor with the same number. */
static bool is_that_file(int copy, uint64_t inode)
{
    struct stat file;

    return fstat(copy, &file) == 0 && file.st_ino == inode;
}

bool socket_facts(struct ptracemeter *meter, struct tracee *tracee, uint64_t inode, int descriptor,
                  struct socket_facts *ret_facts)
{
    *ret_facts = (struct socket_facts){0};
    int socket = meter->no_copies ? -1 : descriptor_borrow(meter, tracee, descriptor);
    if (socket >= 0 && is_that_file(socket, inode)) {
        facts_of_copy(meter, tracee, socket, ret_facts);
        close(socket);
        return true;
    }
    if (socket >= 0) {
        close(socket);
        errno = ENOTSUP;
    }
    if (!meter->no_copies && errno == EBADF)
        return false;
    /* in general: a filter refuses the call, or the kernel is too old */
    if (!meter->no_copies && (errno == EPERM || errno == ENOSYS))
        meter->no_copies = true;
    if (!diagnosis_facts(meter, network_of_tracee(meter, tracee), inode, ret_facts))
        return facts_of_call(tracee, ret_facts);
    if (ret_facts->other_size == ANONYMOUS)
        take_connected(tracee, ret_facts);
    return true;
}

bool socket_drops(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                  uint32_t *ret_drops)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t size = sizeof(memory);
    int copy = meter->no_copies ? -1 : descriptor_borrow(meter, tracee, descriptor);

    if (copy < 0)
        return false;
    bool known = getsockopt(copy, SOL_SOCKET, SO_MEMINFO, memory, &size) == 0 &&
                 size > SK_MEMINFO_DROPS * sizeof(memory[0]);
    close(copy);
    *ret_drops = memory[SK_MEMINFO_DROPS];
    return known && memory[SK_MEMINFO_RMEM_ALLOC] == 0;
}
