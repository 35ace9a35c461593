/* SPDX-License-Identifier: MIT */
/*
 * truth_connection.c: sockets of every transport, their names, and ends of connections.
 *
 *      transport   socket                name
 *      tcp4, tcp6  stream                a free port of the loopback address
 *      udp4, udp6  datagram              the same
 *      UNIX        stream, seqpacket,    FOLDER/<pid>-<n>, or abstract "truth-<pid>-<n>";
 *                  datagram              pairs have none
 */
#include "truth.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool transport_is_tcp(enum transport transport)
{
    return transport == TRANSPORT_TCP4 || transport == TRANSPORT_TCP6;
}

bool transport_drops(enum transport transport)
{
    return transport == TRANSPORT_UDP4 || transport == TRANSPORT_UDP6;
}

static bool is_internet(enum transport transport)
{
    return transport_is_tcp(transport) || transport_drops(transport);
}

bool transport_is_pair(enum transport transport)
{
    return transport == TRANSPORT_STREAM_PAIR || transport == TRANSPORT_SEQPACKET_PAIR ||
           transport == TRANSPORT_DATAGRAM_PAIR;
}

static int socket_type(enum transport transport)
{
    switch (transport) {
    case TRANSPORT_SEQPACKET:
    case TRANSPORT_SEQPACKET_ABSTRACT:
    case TRANSPORT_SEQPACKET_PAIR:
        return SOCK_SEQPACKET;
    case TRANSPORT_DATAGRAM:
    case TRANSPORT_DATAGRAM_ABSTRACT:
    case TRANSPORT_DATAGRAM_PAIR:
    case TRANSPORT_UDP4:
    case TRANSPORT_UDP6:
        return SOCK_DGRAM;
    default:
        return SOCK_STREAM;
    }
}

static int socket_family(enum transport transport)
{
    if (transport == TRANSPORT_TCP4 || transport == TRANSPORT_UDP4)
        return AF_INET;
    return is_internet(transport) ? AF_INET6 : AF_UNIX;
}

static bool name_is_abstract(enum transport transport)
{
    return transport == TRANSPORT_STREAM_ABSTRACT || transport == TRANSPORT_SEQPACKET_ABSTRACT ||
           transport == TRANSPORT_DATAGRAM_ABSTRACT;
}

bool transport_keeps_messages(enum transport transport)
{
    return socket_type(transport) != SOCK_STREAM;
}

struct end end_of(struct scene *scene, enum transport transport, int descriptor)
{
    struct end end = {
        .descriptor = descriptor, .scene = scene, .messages = transport_keeps_messages(transport)};
    struct stat status;

    if (fstat(descriptor, &status) < 0)
        truth_fail("fstat: %s", strerror(errno));
    end.inode = status.st_ino;
    if (S_ISFIFO(status.st_mode))
        end.object = transport == TRANSPORT_FIFO ? OBJECT_FIFO : OBJECT_PIPE;
    end.packets = transport == TRANSPORT_PIPE_PACKET;
    return end;
}

struct end end_inherited(const struct end *end)
{
    struct end inherited = *end;

    inherited.sent = 0;
    inherited.several_readers = true;
    return inherited;
}

void end_close(struct end *end)
{
    close(end->descriptor);
    end->descriptor = -1;
}

int socket_new(enum transport transport)
{
    int descriptor = socket(socket_family(transport), socket_type(transport) | SOCK_CLOEXEC, 0);

    if (descriptor < 0)
        truth_fail("socket: %s", strerror(errno));
    return descriptor;
}

static void address_loopback(enum transport transport, struct address *address)
{
    struct sockaddr_in *in4 = (struct sockaddr_in *)&address->storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->storage;

    memset(address, 0, sizeof(*address));
    if (socket_family(transport) == AF_INET) {
        in4->sin_family = AF_INET;
        in4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address->length = sizeof(*in4);
    } else {
        in6->sin6_family = AF_INET6;
        in6->sin6_addr = in6addr_loopback;
        address->length = sizeof(*in6);
    }
}

static void address_named(enum transport transport, struct address *address)
{
    static _Atomic unsigned count;
    struct sockaddr_un *name = (struct sockaddr_un *)&address->storage;
    unsigned number = atomic_fetch_add(&count, 1);
    int length;

    memset(address, 0, sizeof(*address));
    name->sun_family = AF_UNIX;
    if (name_is_abstract(transport))
        length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "truth-%d-%u",
                          (int)getpid(), number);
    else
        length = snprintf(name->sun_path, sizeof(name->sun_path), "%s/%d-%u", socket_folder,
                          (int)getpid(), number);
    if (length < 0 || (size_t)length >= sizeof(name->sun_path) - 1)
        truth_fail("%s is too long for the name of a socket", socket_folder);
    /* For an abstract name the length includes its leading 0, for a path its trailing 0. */
    address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 1);
}

bool transport_available(enum transport transport)
{
    struct address address;

    if (!is_internet(transport))
        return true;
    int descriptor = socket(socket_family(transport), socket_type(transport) | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return false;
    address_loopback(transport, &address);
    int result = bind(descriptor, (struct sockaddr *)&address.storage, address.length);
    close(descriptor);
    return result == 0;
}

int socket_bound(enum transport transport, struct address *ret_address)
{
    int descriptor = socket_new(transport);

    if (is_internet(transport))
        address_loopback(transport, ret_address);
    else
        address_named(transport, ret_address);
    if (bind(descriptor, (struct sockaddr *)&ret_address->storage, ret_address->length) < 0)
        truth_fail("bind: %s", strerror(errno));
    if (socket_type(transport) != SOCK_DGRAM && listen(descriptor, 8) < 0)
        truth_fail("listen: %s", strerror(errno));
    ret_address->length = sizeof(ret_address->storage);
    if (getsockname(descriptor, (struct sockaddr *)&ret_address->storage, &ret_address->length) < 0)
        truth_fail("getsockname: %s", strerror(errno));
    return descriptor;
}

static int connect_to(int descriptor, const struct address *address)
{
    return connect(descriptor, (const struct sockaddr *)&address->storage, address->length);
}

int socket_connected(enum transport transport, const struct address *address)
{
    int descriptor = socket_new(transport);

    if (connect_to(descriptor, address) < 0)
        truth_fail("connect: %s", strerror(errno));
    return descriptor;
}

int socket_connected_from(enum transport transport, const struct address *address,
                          struct address *local)
{
    int descriptor = socket_new(transport);
    int yes = 1;

    if (transport_is_tcp(transport) && local->length != 0) {
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (bind(descriptor, (struct sockaddr *)&local->storage, local->length) < 0 ||
            connect_to(descriptor, address) < 0) {
            close(descriptor);
            local->length = 0; /* another process has the port now */
            return socket_connected(transport, address);
        }
        return descriptor;
    }
    if (connect_to(descriptor, address) < 0)
        truth_fail("connect: %s", strerror(errno));
    local->length = sizeof(local->storage);
    if (getsockname(descriptor, (struct sockaddr *)&local->storage, &local->length) < 0)
        truth_fail("getsockname: %s", strerror(errno));
    return descriptor;
}

int socket_accepted(int listener, bool ask_address)
{
    struct address peer = {.length = sizeof(peer.storage)};
    int descriptor;

    if (ask_address)
        descriptor =
            accept4(listener, (struct sockaddr *)&peer.storage, &peer.length, SOCK_CLOEXEC);
    else
        descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor < 0)
        truth_fail("accept: %s", strerror(errno));
    return descriptor;
}

void socket_pair(enum transport transport, int descriptors[2])
{
    if (socketpair(AF_UNIX, socket_type(transport) | SOCK_CLOEXEC, 0, descriptors) < 0)
        truth_fail("socketpair: %s", strerror(errno));
}

void socket_small_buffers(int descriptor)
{
    int size = 32768;

    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

void address_remove(const struct address *address)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address->storage;

    if (name->sun_family == AF_UNIX && name->sun_path[0] == '/')
        unlink(name->sun_path);
}

static _Noreturn void run_child(struct end *end, void (*run)(struct scene *, struct end *))
{
    run(end->scene, end);
    process_end(0);
}

static pid_t connect_child_by_pair(struct scene *scene, enum transport transport,
                                   void (*run)(struct scene *, struct end *), struct end *ret_end)
{
    int descriptors[2];

    socket_pair(transport, descriptors);
    pid_t child = process_fork();
    close(descriptors[child == 0 ? 0 : 1]);
    struct end end = end_of(scene, transport, descriptors[child == 0 ? 1 : 0]);
    if (child == 0)
        run_child(&end, run);
    *ret_end = end;
    return child;
}

pid_t connect_child(struct scene *scene, enum transport transport, bool small_buffers,
                    void (*run)(struct scene *scene, struct end *end), struct end *ret_end)
{
    struct address address;
    struct random random = scene_random(scene, 900);
    struct end end;

    if (transport_is_pair(transport))
        return connect_child_by_pair(scene, transport, run, ret_end);
    int listener = socket_bound(transport, &address);
    if (small_buffers)
        socket_small_buffers(listener);
    pid_t child = process_fork();
    if (child == 0) {
        close(listener);
        int descriptor = socket_new(transport);
        if (small_buffers)
            socket_small_buffers(descriptor);
        if (connect_to(descriptor, &address) < 0)
            truth_fail("connect: %s", strerror(errno));
        end = end_of(scene, transport, descriptor);
        run_child(&end, run);
    }
    *ret_end = end_of(scene, transport, socket_accepted(listener, random_chance(&random, 50)));
    if (small_buffers)
        socket_small_buffers(ret_end->descriptor);
    close(listener);
    address_remove(&address);
    return child;
}
