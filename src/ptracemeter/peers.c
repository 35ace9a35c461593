/* SPDX-License-Identifier: MIT */
/*
 * peers.c: the other end of a connection.
 *
 *      client    connect ends: asks the kernel for its peer ............ close: asks once more if it does not know
 *                  |                                                       '-- it is kept until it is accepted
 *      server      '---- in the queue ----------------------------------------------------> accept ends
 *
 * When. Each end is asked for its peer when its path is reported, and not later: a client may have sent, closed and
 * ended before it is accepted. Such a client is kept (`gone`), within a limit.
 *
 * Where. In the network namespace of the socket (networks.c), never in ours. Ends in two namespaces are compared by
 * their addresses.
 *
 * By what. A socket's cookie: the kernel uses none twice, and an accepted socket has it before it is accepted. Ports,
 * addresses, names and inode numbers are used again. In detail:
 *
 *      TCP    the kernel gives the cookie of the socket with the connection's addresses in opposite order. If the
 *             kernel cannot be asked, addresses count: for certain if both ends are open in one namespace, and no other
 *             socket had them before.
 *      UNIX   an accepted socket's peer has an inode as long as it is open. One that has been closed is the first in the
 *             queue of that listening socket (as the kernel listed it when connect ended), of the process that connected
 *             (SO_PEERCRED), which has sent as many bytes as are there to be received.
 *
 * What is only probable is joined, and all of its messages are marked as doubtful, so that no edge is exact. What is
 * contradicted, or has several candidates, is not joined.
 */
#include "ptracemeter/peers.h"

#include "ptracemeter/addresses.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/diagnosis.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/tracer.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- UNIX: open peers ---- */

/* The cookie of a UNIX socket by its inode. The peer may be in another namespace. */
static uint64_t cookie_of_inode(struct ptracemeter *meter, const struct object *like,
                                uint64_t inode)
{
    const struct object *known = object_of_inode(meter, like->device, inode);
    uint64_t cookie = known != NULL ? known->cookie : 0;

    if (cookie == 0)
        cookie = diagnosis_cookie(meter, like->facts.network, inode);
    for (size_t i = 0; cookie == 0 && i < meter->network_count; i++)
        if (meter->networks[i].inode != like->facts.network)
            cookie = diagnosis_cookie(meter, meter->networks[i].inode, inode);
    return cookie;
}

enum open_peer { PEER_UNKNOWN, PEER_NOT_OPEN, PEER_FOUND };

static enum open_peer look_for_open(struct ptracemeter *meter, struct object *object)
{
    uint64_t inode;

    if (object->peer != 0)
        return PEER_FOUND;
    if (!diagnosis_peer(meter, object->facts.network, object->inode, &inode))
        return PEER_UNKNOWN;
    if (inode == 0)
        return PEER_NOT_OPEN;
    object->peer = cookie_of_inode(meter, object, inode);
    return object->peer != 0 ? PEER_FOUND : PEER_UNKNOWN;
}

void peer_look(struct ptracemeter *meter, struct object *object)
{
    if (object->family == AF_UNIX && object->connected)
        look_for_open(meter, object);
}

/* ---- UNIX: clients that may be closed before they are accepted ---- */

static bool is_unix_stream(const struct object *object)
{
    return object->kind == PATH_UNIX_STREAM || object->kind == PATH_UNIX_SEQPACKET;
}

/* The listening socket may be in another namespace than its client. */
static uint64_t listener_of(struct ptracemeter *meter, const struct object *object)
{
    uint64_t cookie = diagnosis_listener(meter, object->facts.network, object->inode);

    for (size_t i = 0; cookie == 0 && i < meter->network_count; i++)
        if (meter->networks[i].inode != object->facts.network)
            cookie = diagnosis_listener(meter, meter->networks[i].inode, object->inode);
    return cookie;
}

static void look_for_listener(struct ptracemeter *meter, struct object *object)
{
    if (look_for_open(meter, object) != PEER_NOT_OPEN)
        return;
    object->listener = listener_of(meter, object);
    if (object->listener == 0) /* it has been accepted meanwhile */
        look_for_open(meter, object);
}

void peer_of_connected(struct ptracemeter *meter, const struct tracee *tracee,
                       struct object *object)
{
    if (!is_unix_stream(object))
        return;
    object->connector = tracee->process->pid;
    object->connect_began = tracee->call.began;
    object->connect_ended = clock_now(CLOCK_MONOTONIC);
    look_for_listener(meter, object);
}

/* What is known of an accepted socket whose peer is not open, or cannot be asked for. */
struct accepted {
    const struct object *object;
    const struct object *listener;
    bool closed;   /* its peer has been closed */
    pid_t pid;     /* of the process that connected; 0: not known */
    int64_t bytes; /* there to be received; -1: not known */
};

static struct accepted look_at_accepted(struct ptracemeter *meter, struct tracee *tracee,
                                        const struct object *object, int descriptor)
{
    struct accepted accepted = {.object = object};
    int copy = meter->no_copies ? -1 : descriptor_borrow(meter, tracee, descriptor);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int bytes;

    accepted.bytes = diagnosis_waiting(meter, object->facts.network, object->inode);
    if (copy < 0)
        return accepted;
    if (getsockopt(copy, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        accepted.pid = peer.pid;
    if (accepted.bytes < 0 && ioctl(copy, FIONREAD, &bytes) == 0)
        accepted.bytes = bytes;
    close(copy);
    return accepted;
}

static bool has_same_name(const struct object *one, const struct object *other)
{
    return one->facts.name_end != PATH_NAME_NONE && other->facts.name_end != PATH_NAME_NONE &&
           memcmp(one->facts.name, other->facts.name, sizeof(one->facts.name)) == 0;
}

/* It is closed if no tracee has it; or if the kernel does not know it any more, as its process was killed. */
static bool is_closed(struct ptracemeter *meter, const struct object *object)
{
    return object->holders == 0 ||
           diagnosis_cookie(meter, object->facts.network, object->inode) != object->cookie;
}

static bool may_be_client(struct ptracemeter *meter, const struct object *client,
                          const struct accepted *accepted)
{
    const struct path *path = client->paths;

    if (client->inode == 0 || client->kind != accepted->object->kind || client->peer != 0 ||
        client->connect_ended == 0 || path == NULL || path->peer != 0)
        return false;
    if (client->listener != 0 && accepted->listener != NULL && accepted->listener->cookie != 0
            ? client->listener != accepted->listener->cookie
            : !has_same_name(client, accepted->object))
        return false;
    if (accepted->pid != 0 && client->connector != accepted->pid)
        return false;
    if (client->holders == 0 || accepted->closed)
        return (accepted->bytes < 0 || path->sent_bytes == (uint64_t)accepted->bytes) &&
               (!accepted->closed || is_closed(meter, client));
    return true;
}

/* The client that has connected first. */
static struct object *find_first_client(struct ptracemeter *meter, const struct accepted *accepted)
{
    struct object *first = NULL;

    for (uint32_t i = 0; i < meter->objects.used; i++) {
        struct object *client = pool_at(&meter->objects, i);
        if ((first == NULL || client->connect_ended < first->connect_ended) &&
            may_be_client(meter, client, accepted))
            first = client;
    }
    return first;
}

/* Whether no other client may be before it in the queue: their calls of connect do not overlap. Those which may be are
 * marked, as it is not certain any more whose peer they are. */
static bool is_certainly_first(struct ptracemeter *meter, const struct object *first,
                               const struct accepted *accepted)
{
    bool certain = !first->missed;

    for (uint32_t i = 0; i < meter->objects.used; i++) {
        struct object *client = pool_at(&meter->objects, i);
        if (client == first || client->connect_began >= first->connect_ended ||
            !may_be_client(meter, client, accepted))
            continue;
        client->missed = true;
        certain = false;
    }
    return certain;
}

/* Others may accept unseen from a socket that is older, or was passed on. */
static bool is_shared(const struct ptracemeter *meter, const struct object *listener)
{
    return listener == NULL || listener->older || listener->missed || meter->doubtful;
}

/* A client may have reset the connection before it was accepted. What it had sent can still be received, but the kernel
 * does not say any more whose peer the socket was: the client that awaits it does, or the address that accept has
 * written. */
static void take_reset(struct ptracemeter *meter, const struct tracee *tracee,
                       struct object *object)
{
    uint32_t found =
        object->cookie == 0 ? LOOKUP_NONE : lookup_find(&meter->awaited, object->cookie);
    const struct object *client = found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
    struct sockaddr_storage address = {0};
    int size = 0;

    if (client != NULL && client->paths != NULL) {
        const struct path_record *record = &client->paths->record;
        memcpy(object->facts.local, record->remote, sizeof(record->remote));
        memcpy(object->facts.remote, record->local, sizeof(record->local));
        object->facts.family = record->family;
        object->facts.local_port = record->remote_port;
        object->facts.remote_port = record->local_port;
        object->connected = true;
        return;
    }
    if (tracee->call.arguments[1] == 0 ||
        !tracer_read(tracee, tracee->call.arguments[2], &size, sizeof(size)) ||
        size < (int)sizeof(sa_family_t) || size > (int)sizeof(address) ||
        !tracer_read(tracee, tracee->call.arguments[1], &address, (size_t)size))
        return;
    object->connected =
        address_take(&address, object->facts.remote, &object->facts.remote_port) != 0;
}

void peer_of_accepted(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                      const struct object *listener, int descriptor)
{
    if (object->kind == PATH_TCP && !object->connected)
        take_reset(meter, tracee, object);
    if (!is_unix_stream(object))
        return;
    enum open_peer open = look_for_open(meter, object);
    if (open == PEER_FOUND)
        return;
    struct accepted accepted = look_at_accepted(meter, tracee, object, descriptor);
    accepted.listener = listener;
    accepted.closed = open == PEER_NOT_OPEN;
    struct object *client = find_first_client(meter, &accepted);
    if (client == NULL)
        return;
    bool first = is_certainly_first(meter, client, &accepted);
    bool certain = first && accepted.closed && client->listener != 0 && !is_shared(meter, listener);
    /* what has been sent must be there: that is not known here */
    if (!certain && (accepted.bytes < 0 || (!accepted.closed && !first)))
        return;
    object->peer = client->cookie;
    object->missed = object->missed || !certain;
    client->paths->doubtful = client->paths->doubtful || !certain;
}

/* ---- TCP ---- */

static bool is_loopback(const struct path_record *record)
{
    static const uint8_t one[16] = {[15] = 1};

    return record->family == AF_INET ? record->local[0] == 127 || record->remote[0] == 127
                                     : memcmp(record->local, one, sizeof(one)) == 0;
}

/* The key of a connection in this direction; `turned`: as the other end has it. A loopback address means another host
 * in each namespace. */
static uint64_t connection_key(const struct path_record *record, bool turned)
{
    struct {
        uint8_t addresses[2][16];
        uint16_t ports[2];
        uint32_t network;
    } key;

    memset(&key, 0, sizeof(key));
    memcpy(key.addresses[turned], record->local, 16);
    memcpy(key.addresses[!turned], record->remote, 16);
    key.ports[turned] = record->local_port;
    key.ports[!turned] = record->remote_port;
    key.network = is_loopback(record) ? record->network : 0;
    return hash_bytes(record->kind, &key, sizeof(key));
}

struct object *peer_by_addresses(const struct ptracemeter *meter, const struct path_record *record)
{
    uint32_t found = lookup_find(&meter->addresses, connection_key(record, true));

    return found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
}

void peer_note_addresses(struct ptracemeter *meter, const struct path *path)
{
    uint64_t key = connection_key(&path->record, false);
    uint32_t before = lookup_find(&meter->addresses, key);

    if (before != LOOKUP_NONE && before != path->object->index) {
        const struct object *other = pool_at(&meter->objects, before);
        path->object->reused = other->paths != NULL && !other->paths->paired;
    }
    if (lookup_set(&meter->addresses, key, path->object->index) < 0)
        meter->shortfalls.no_memory++;
}

static void forget_if_own(struct lookup *lookup, uint64_t key, uint32_t index)
{
    if (lookup_find(lookup, key) == index)
        lookup_remove(lookup, key);
}

void peer_forget(struct ptracemeter *meter, const struct object *object)
{
    if (object->kind != PATH_TCP)
        return;
    if (object->paths != NULL)
        forget_if_own(&meter->addresses, connection_key(&object->paths->record, false),
                      object->index);
    if (object->peer != 0)
        forget_if_own(&meter->awaited, object->peer, object->index);
}

/* A socket may be connected to itself: it receives what it sends. */
static bool leads_to_itself(const struct path_record *path)
{
    return path->local_port == path->remote_port &&
           memcmp(path->local, path->remote, sizeof(path->local)) == 0;
}

/* Asks for the other end's cookie. Returns false if the kernel cannot be asked: not in this namespace, or it has not even
 * found an end that asks, so far. */
static bool ask_for_cookie(struct ptracemeter *meter, const struct path_record *record,
                           uint64_t *ret_cookie)
{
    struct path_record turned = *record;
    uint64_t own;

    if (!diagnosis_connection(meter, record, ret_cookie))
        return false;
    if (*ret_cookie != 0)
        meter->tcp_answers = true;
    if (meter->tcp_answers)
        return true;
    memcpy(turned.local, record->remote, sizeof(turned.local));
    memcpy(turned.remote, record->local, sizeof(turned.remote));
    turned.local_port = record->remote_port;
    turned.remote_port = record->local_port;
    meter->tcp_answers = diagnosis_connection(meter, &turned, &own) && own != 0;
    return meter->tcp_answers;
}

static void await(struct ptracemeter *meter, struct object *object, uint64_t peer)
{
    object->peer = peer;
    if (peer != 0 && lookup_set(&meter->awaited, peer, object->index) < 0)
        meter->shortfalls.no_memory++;
}

/* The other end, found by its addresses. They may be those of another connection, in another namespace or at another
 * time. */
static struct object *find_by_addresses(const struct ptracemeter *meter,
                                        const struct object *object, const struct path_record *own,
                                        bool asked, bool *ret_certain)
{
    struct object *other = peer_by_addresses(meter, own);

    if (other == NULL || other == object || other->paths == NULL || other->peer != 0 ||
        object->peer != 0)
        return NULL;
    *ret_certain = !asked && !other->gone && other->holders > 0 && !other->reused &&
                   other->facts.network == own->network;
    return other;
}

static bool is_translated_end(const struct path_record *accepted,
                              const struct path_record *connected)
{
    return accepted->remote_port == connected->local_port &&
           accepted->network == connected->network && accepted->family == connected->family &&
           memcmp(accepted->remote, connected->local, sizeof(accepted->remote)) == 0;
}

/* The other end where the address that the client connected to is translated (DNAT): the accepted end's peer is the client all
 * the same. NULL: there is none, or several. */
static struct object *find_translated(const struct ptracemeter *meter, const struct object *object,
                                      const struct path_record *own)
{
    uint8_t wanted = object->role == PATH_ROLE_ACCEPTED ? PATH_ROLE_CONNECTED : PATH_ROLE_ACCEPTED;
    struct object *found = NULL;

    for (uint32_t i = 0; i < meter->objects.used; i++) {
        struct object *other = pool_at(&meter->objects, i);
        if (other->inode == 0 || other->kind != PATH_TCP || other->role != wanted || other->gone ||
            other->paths == NULL || other->paths->paired || other->paths->older || other->peer != 0)
            continue;
        const struct path_record *its = &other->paths->record;
        if (!is_translated_end(wanted == PATH_ROLE_CONNECTED ? own : its,
                               wanted == PATH_ROLE_CONNECTED ? its : own))
            continue;
        if (found != NULL)
            return NULL;
        found = other;
    }
    return found;
}

static struct object *find_other_end(struct ptracemeter *meter, struct object *object,
                                     const struct path_record *own, bool *ret_certain)
{
    uint32_t found =
        object->cookie == 0 ? LOOKUP_NONE : lookup_find(&meter->awaited, object->cookie);
    uint64_t cookie = 0;

    *ret_certain = true;
    if (found != LOOKUP_NONE)
        return pool_at(&meter->objects, found);
    bool asked = ask_for_cookie(meter, own, &cookie);
    await(meter, object, cookie);
    struct object *other = object_of_cookie(meter, cookie);
    if (other != NULL && (other->peer == 0 || other->peer == object->cookie))
        return other;
    other = find_by_addresses(meter, object, own, asked, ret_certain);
    if (other != NULL || cookie != 0)
        return other;
    *ret_certain = false;
    return asked ? find_translated(meter, object, own) : NULL;
}

static bool can_be_paired(const struct object *object)
{
    return object != NULL && object->kind == PATH_TCP && object->paths != NULL &&
           !object->paths->paired && !object->paths->older;
}

static void pair(struct ptracemeter *meter, struct path *path, struct path *other, bool certain)
{
    struct object *object = path->object, *peer = other->object;

    path->record.start_out = other->record.start_in;
    path->record.start_in = other->record.start_out;
    path->paired = other->paired = true;
    if (!certain)
        path->doubtful = other->doubtful = true;
    await(meter, object, peer->cookie);
    await(meter, peer, object->cookie);
    path->peer = peer->cookie;
    other->peer = object->cookie;
    path->peer_gone = peer->gone;
    path->peer_out = other->out;
}

/* The end that is recorded now gets the address that the other one uses, so that the two belong together. */
static void take_translated(struct path_record *own, const struct path_record *its, uint8_t role)
{
    if (role == PATH_ROLE_ACCEPTED) {
        memcpy(own->local, its->remote, sizeof(own->local));
        own->local_port = its->remote_port;
    } else {
        memcpy(own->remote, its->local, sizeof(own->remote));
        own->remote_port = its->local_port;
    }
}

/* The start offsets are random numbers, so that the ends match each other even if the same ports were used before. */
void peer_pair(struct ptracemeter *meter, struct path *path)
{
    struct path_record *own = &path->record;
    uint32_t starts[2] = {0};
    bool certain = false;

    if (path->older)
        return;
    struct object *other =
        leads_to_itself(own) ? NULL : find_other_end(meter, path->object, own, &certain);
    if (can_be_paired(other)) {
        pair(meter, path, other->paths, certain);
        take_translated(own, &other->paths->record, path->object->role);
    } else {
        while (starts[0] == 0 || starts[1] == 0)
            if (getrandom(starts, sizeof(starts), 0) < 0)
                break;
        own->start_out = starts[0];
        own->start_in = leads_to_itself(own) ? starts[0] : starts[1];
    }
    path->out = own->start_out;
    path->in = own->start_in;
}

/* ---- closing ---- */

void peer_ask_once_more(struct ptracemeter *meter, struct object *object)
{
    uint64_t cookie = 0;

    if (object->paths == NULL || object->older || object->peer != 0 ||
        object->role != PATH_ROLE_CONNECTED)
        return;
    if (is_unix_stream(object) && object->listener == 0)
        look_for_listener(meter, object);
    if (object->kind != PATH_TCP || object->paths->paired || object->cookie == 0)
        return;
    diagnosis_connection(meter, &object->paths->record, &cookie);
    await(meter, object, cookie);
}

bool peer_may_be_accepted(const struct object *object)
{
    const struct path *path = object->paths;

    if (path == NULL || path->older || object->role != PATH_ROLE_CONNECTED)
        return false;
    return object->kind == PATH_TCP
               ? !path->paired
               : is_unix_stream(object) && object->peer == 0 && path->peer == 0;
}
