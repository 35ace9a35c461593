/* SPDX-License-Identifier: MIT */
/*
 * connection_calls.c: connections made, refused, accepted; listeners.
 *
 *      connect    0             a path, with its role
 *                 EINPROGRESS   open; later: the first use, SO_ERROR, another connect, or close shows how it ended
 *                 other errors  PATH, CONNECTFAILED, DESTROYPATH
 *      accept                   a path, with its role
 *      listen                   a path that has no other end
 */
#include "ptracemeter/connection_calls.h"

#include "ptracemeter/addresses.h"
#include "ptracemeter/calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/paths.h"
#include "ptracemeter/peers.h"
#include "ptracemeter/socket_facts.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The object of a descriptor in the call's first argument; NULL: none that is metered. */
static struct object *object_of(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct object *object = descriptor_object(meter, tracee, descriptor);

    return is_object(object) ? object : NULL;
}

/* ---- connections that fail ---- */

/* Notes the address that the tracee passes to connect. */
static void take_address(const struct tracee *tracee, struct object *object)
{
    struct path_record *facts = &object->facts;
    struct sockaddr_storage address = {0};
    size_t size = (size_t)tracee->call.arguments[2];

    if (size > sizeof(address) || !tracer_read(tracee, tracee->call.arguments[1], &address, size))
        return;
    if (address.ss_family != AF_UNIX) {
        facts->family = address_take(&address, facts->remote, &facts->remote_port);
        return;
    }
    facts->family = AF_UNIX;
    if (facts->name_end != PATH_NAME_LOCAL &&
        address_take_name(facts, (const void *)&address, (socklen_t)size))
        facts->name_end = PATH_NAME_REMOTE;
}

/* Whether connect with this error leaves no connection behind, and none that is still being made: a signal only
 * interrupts the wait for it, whether the call is restarted or not. */
static bool is_connect_failure(int error)
{
    return error != 0 && !call_restarts(-error) && error != EINPROGRESS && error != EALREADY &&
           error != EINTR && error != EISCONN;
}

static bool makes_connections(const struct object *object)
{
    return object->object_kind == OBJECT_SOCKET && !is_datagram(object);
}

/* The stream that called connect, if it still lives. */
static struct tracee *connector_of(struct ptracemeter *meter, const struct object *object)
{
    struct tracee *tracee = tracee_find(meter, object->connecting_tid);

    return tracee != NULL && tracee->number == object->connecting_stream ? tracee : NULL;
}

static void fail(struct ptracemeter *meter, struct object *object, int error)
{
    struct tracee *connector = connector_of(meter, object);
    uint32_t path = path_of_failure(meter, object);

    object->connecting = false;
    object->role = PATH_ROLE_UNKNOWN;
    tell_failed(meter, connector, object->connecting_stream, path, (uint32_t)error,
                object->connect_began);
    tell_unowned(meter, EVENT_DESTROYPATH, path);
}

/* ---- connect ---- */

static void note_connect(struct tracee *tracee, struct object *object)
{
    object->connecting_stream = tracee->number;
    object->connecting_tid = tracee->tid;
    object->connect_began = tracee->call.began;
    take_address(tracee, object);
}

/* A connect() of before is still open, and this one asks how it ended. */
static bool asks_again(const struct object *object)
{
    return object->connecting && object->paths == NULL;
}

/* ---- sockets that are connected to another address, or to none ---- */

/* Whether the address says that the socket is to be connected no more. */
static bool disconnects(const struct tracee *tracee)
{
    sa_family_t family;

    return tracee->call.arguments[2] >= sizeof(family) &&
           tracer_read(tracee, tracee->call.arguments[1], &family, sizeof(family)) &&
           family == AF_UNSPEC;
}

/* The socket may have been connected before, to another peer and from another port. */
static void datagrams_connected(struct ptracemeter *meter, struct tracee *tracee,
                                struct object *object, int descriptor)
{
    object_look_again(meter, tracee, object, descriptor);
    object_moved(meter, object);
}

void connect_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    int descriptor = (int)tracee->call.arguments[0], error = result < 0 ? (int)-result : 0;
    struct object *object = object_of(meter, tracee, descriptor);

    if (object == NULL || error == EALREADY || (error == EISCONN && object->paths != NULL))
        return;
    if (!makes_connections(object)) {
        if (error == 0)
            datagrams_connected(meter, tracee, object, descriptor);
        return;
    }
    if (error == 0 && disconnects(tracee)) {
        object_disconnected(meter, object);
        object_look_again(meter, tracee, object, descriptor);
        return;
    }
    if (!asks_again(object)) {
        object_look_again(meter, tracee, object, descriptor);
        note_connect(tracee, object);
    } else if (!is_connect_failure(error)) {
        object_look_again(meter, tracee, object, descriptor);
    }
    if (is_connect_failure(error)) {
        fail(meter, object, error);
        return;
    }
    object->role = PATH_ROLE_CONNECTED;
    object->connecting = true;
    if (error == 0 || error == EISCONN || object->connected) { /* already, on one machine */
        peer_of_connected(meter, tracee, object);
        path_of(meter, tracee, object, 0);
    }
}

bool option_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct call *call = &tracee->call;

    if ((int)call->arguments[1] != SOL_SOCKET || (int)call->arguments[2] != SO_ERROR)
        return false;
    struct object *object = object_of(meter, tracee, (int)call->arguments[0]);
    return object != NULL && asks_again(object);
}

void option_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    const struct call *call = &tracee->call;
    struct object *object = object_of(meter, tracee, (int)call->arguments[0]);
    int error = 0;

    if (result < 0 || object == NULL || !asks_again(object) ||
        !tracer_read(tracee, call->arguments[3], &error, sizeof(error)))
        return;
    if (is_connect_failure(error))
        fail(meter, object, error);
    else if (object->connected)
        path_of(meter, tracee, object, 0);
}

void connection_closes(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct object *object = object_of(meter, tracee, descriptor);
    struct socket_facts facts;

    if (object == NULL || !asks_again(object) || object->holders > 1)
        return;
    if (object->connected) { /* descriptor_object has looked again */
        path_of(meter, tracee, object, 0);
        return;
    }
    /* a program that does not ask for the error of a failed connect() does not learn it, and neither do we */
    if (socket_facts(meter, tracee, object->inode, descriptor, &facts))
        fail(meter, object, facts.state == TCP_SYN_SENT ? ECANCELED : 0);
}

/* ---- accept and listen ---- */

void accept_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct call *call = &tracee->call;

    if (!call->told && call_slept(tracee))
        call_tell_wait(meter, tracee, 0, (uint32_t)call->number);
    if (result < 0)
        return;
    const struct object *listener = descriptor_object(meter, tracee, (int)call->arguments[0]);
    if (!is_object(listener))
        listener = NULL;
    struct object *object = object_made(meter, tracee, (int)result);
    if (!is_object(object))
        return;
    object->role = PATH_ROLE_ACCEPTED;
    peer_of_accepted(meter, tracee, object, listener, (int)result);
    if (tracee->table->changing == 0)
        descriptor_set(meter, tracee->table, (int)result, object);
    path_of(meter, tracee, object, 0);
}

/* As the kernel meter, which knows no listeners of other kinds. */
void listen_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    int descriptor = (int)tracee->call.arguments[0];
    struct object *object = result < 0 ? NULL : object_of(meter, tracee, descriptor);

    if (object == NULL || object->kind != PATH_TCP || object->listener_path != 0)
        return;
    object_look_again(meter, tracee, object, descriptor);
    object->listener_path = path_of_listener(meter, tracee, object);
}
