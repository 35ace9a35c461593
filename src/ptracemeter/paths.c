/* SPDX-License-Identifier: MIT */
/*
 * paths.c: the paths of sockets and pipes, and their other ends.
 *
 *      pipe                    two ends, two paths
 *      TCP, UNIX streams       one path, once connected
 *      datagrams               a path for each peer, and one for unknown peers
 *
 * A path is reported when it is first used. If no tracee made it, it is older than the metering: untraced processes
 * may use it, too, and its offsets are doubtful.
 */
#include "ptracemeter/paths.h"

#include "meter/shared/message.h"
#include "ptracemeter/addresses.h"
#include "ptracemeter/diagnosis.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- paths ---- */

/* The key of a connection in this direction; `turned`: as the other end has it. */
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
    key.network = record->network;
    return hash_bytes(record->kind, &key, sizeof(key));
}

static uint8_t role_of(const struct object *object, const struct path *path)
{
    if (object->object_kind == OBJECT_PIPE)
        return path == object->ends[PIPE_READ] ? PATH_ROLE_READS : PATH_ROLE_WRITES;
    return object->kind == PATH_UDP || object->kind == PATH_UNIX_DATAGRAM ? PATH_ROLE_UNKNOWN
                                                                          : object->role;
}

/* Whose call made the connection: if another stream finds it made, it still belongs to the one that called connect. */
static struct tracee *maker_of(struct ptracemeter *meter, struct tracee *tracee,
                               const struct object *object)
{
    struct tracee *connector =
        object->connecting ? tracee_find(meter, object->connector_tid) : NULL;

    return connector != NULL && connector->number == object->connector ? connector : tracee;
}

static void tell_beginning(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                           const struct path *path)
{
    struct tracee *maker = maker_of(meter, tracee, object);
    struct message message = {.path = path->number};

    tell_message(meter, maker, EVENT_CREATEPATH, &message);
    message.begin = object->connecting ? object->called : 0;
    object->connecting = false;
    if (path->older)
        return;
    if (path->record.role == PATH_ROLE_CONNECTED)
        tell_message(meter, maker, EVENT_CONNECT, &message);
    else if (path->record.role == PATH_ROLE_ACCEPTED)
        tell_message(meter, maker, EVENT_ACCEPT, &message);
}

static void tell_path(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                      struct path *path)
{
    struct path_record *record = &path->record;

    path->number = ++meter->last_path;
    path->kind = object->kind;
    record->header = (struct record_header){
        .time = tell_time(meter),
        .id = EVENT_PATH,
        .flags = (uint16_t)(RECORD_NO_STREAM | (path->older ? RECORD_OLDER : 0) |
                            (object->kind == PATH_TCP ? RECORD_COUNTED : 0) |
                            (object->packets ? RECORD_PACKETS : 0)),
    };
    record->path = path->number;
    record->kind = object->kind;
    record->role = role_of(object, path);
    record->cookie = object->cookie | (path == object->ends[PIPE_READ] ? 1 : 0);
    record->peer = object->object_kind == OBJECT_PIPE ? record->cookie ^ 1 : path->peer;
    record->inode = object->inode;
    tell(meter, &record->header);
    tell_beginning(meter, tracee, object, path);
}

/* ---- sockets that never become connections ---- */

/* PATH with these facts of a socket; returns its number. */
static uint32_t tell_unconnected(struct ptracemeter *meter, const struct object *object,
                                 uint8_t role)
{
    struct path_record record = object->facts;

    record.header = (struct record_header){
        .time = tell_time(meter), .id = EVENT_PATH, .flags = RECORD_NO_STREAM};
    record.path = ++meter->last_path;
    record.kind = object->kind;
    record.role = role;
    record.cookie = object->cookie;
    record.inode = object->inode;
    tell(meter, &record.header);
    return record.path;
}

uint32_t path_of_failure(struct ptracemeter *meter, const struct object *object)
{
    return tell_unconnected(meter, object, PATH_ROLE_CONNECTED);
}

uint32_t path_of_listener(struct ptracemeter *meter, struct tracee *tracee,
                          const struct object *object)
{
    const struct message message = {.path = tell_unconnected(meter, object, PATH_ROLE_LISTENS)};

    tell_message(meter, tracee, EVENT_CREATEPATH, &message);
    return message.path;
}

void path_tell_again(struct ptracemeter *meter, struct object *object)
{
    for (unsigned end = 0; end < 2; end++) {
        struct path *path = object->ends[end];
        if (path == NULL)
            continue;
        path->record.header.time = tell_time(meter);
        path->record.header.flags |= RECORD_PACKETS;
        tell(meter, &path->record.header);
    }
}

static struct path *new_path(struct ptracemeter *meter, struct object *object)
{
    struct path *path = calloc(1, sizeof(*path));

    if (path == NULL) {
        meter->shortfalls.no_memory++;
        return NULL;
    }
    path->object = object;
    path->record = object->facts;
    path->record.kind = object->kind;
    path->older = object->older;
    path->doubtful = object->missed;
    return path;
}

static struct path *pipe_path(struct ptracemeter *meter, struct tracee *tracee,
                              struct object *object, unsigned end)
{
    if (object->ends[end] != NULL)
        return object->ends[end];
    struct path *path = object->ends[end] = new_path(meter, object);
    if (path != NULL)
        tell_path(meter, tracee, object, path);
    return path;
}

/* Finds the other end of a UNIX connection, if it is not known yet. */
static void look_for_peer(struct ptracemeter *meter, struct object *object)
{
    if (object->family != AF_UNIX || object->peer != 0 || !object->connected)
        return;
    uint64_t inode = diagnosis_peer(meter, object->inode);
    if (inode != 0)
        object->peer = diagnosis_cookie(meter, inode);
}

/* A socket may be connected to itself: it receives what it sends. */
static bool leads_to_itself(const struct path_record *path)
{
    return path->local_port == path->remote_port &&
           memcmp(path->local, path->remote, sizeof(path->local)) == 0;
}

/* Whether a closed end belongs to this connection, and not to an earlier one with the same addresses. A client may close
 * its end before the server accepts the connection, and a server before the client's connect() is seen to end. */
static bool is_other_end(const struct object *object, const struct path *closed)
{
    if (object->role == PATH_ROLE_ACCEPTED)
        return closed->record.role == PATH_ROLE_CONNECTED;
    return closed->record.role == PATH_ROLE_ACCEPTED && object->called != 0 &&
           closed->record.header.time >= object->called;
}

/* The two ends of a TCP connection have the same pair of start offsets, in opposite order. These are random numbers,
 * so that the ends match each other even if the same ports were used before. */
static void pair_connection(struct ptracemeter *meter, struct path *path)
{
    struct path_record *own = &path->record;
    uint32_t found = lookup_find(&meter->addresses, connection_key(own, true));
    struct object *other = found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
    uint32_t starts[2] = {0};

    if (path->older)
        return;
    if (other != NULL && other->paths != NULL && !other->paths->paired && !other->paths->older &&
        (other->holders > 0 || is_other_end(path->object, other->paths))) {
        own->start_out = other->paths->record.start_in;
        own->start_in = other->paths->record.start_out;
        path->paired = other->paths->paired = true;
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

/* If the peer is known by now, the connection is reported with it. */
static struct path *connection_path(struct ptracemeter *meter, struct tracee *tracee,
                                    struct object *object)
{
    if (object->paths != NULL)
        return object->paths;
    if (!object->connected)
        return NULL;
    if (object->role != PATH_ROLE_CONNECTED)
        look_for_peer(meter, object);
    struct path *path = object->paths = new_path(meter, object);
    if (path == NULL)
        return NULL;
    if (object->role == PATH_ROLE_CONNECTED)
        path->older = false;
    path->peer = object->peer;
    struct object *other = object_of_cookie(meter, object->peer);
    if (other != NULL && other->peer == 0) {
        other->peer = object->cookie;
        if (other->paths != NULL)
            other->paths->peer = object->cookie;
    }
    if (object->kind == PATH_TCP)
        pair_connection(meter, path);
    tell_path(meter, tracee, object, path);
    if (object->kind == PATH_TCP &&
        lookup_set(&meter->addresses, connection_key(&path->record, false), object->index) < 0)
        meter->shortfalls.no_memory++;
    return path;
}

struct path *path_of(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     unsigned end)
{
    if (object->object_kind == OBJECT_PIPE)
        return pipe_path(meter, tracee, object, end);
    if (object->kind == PATH_UDP || object->kind == PATH_UNIX_DATAGRAM)
        return NULL; /* see path_to */
    return connection_path(meter, tracee, object);
}

/* ---- datagrams ---- */

/* The socket of a tracee that had this name: it may have been closed since the datagram was sent. */
static uint64_t cookie_of_closed(const struct ptracemeter *meter, const struct sockaddr_un *address,
                                 size_t length)
{
    struct path_record named = {0};
    uint64_t found = 0;

    if (!address_take_name(&named, address, (socklen_t)length))
        return 0;
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *object = pool_at(&meter->objects, i);
        if (object->inode != 0 && object->kind == PATH_UNIX_DATAGRAM &&
            object->facts.name_end == PATH_NAME_LOCAL && object->cookie > found &&
            memcmp(object->facts.name, named.name, sizeof(named.name)) == 0)
            found = object->cookie; /* the youngest has the greatest cookie */
    }
    return found;
}

static uint64_t cookie_of_name(struct ptracemeter *meter, const struct sockaddr_un *address,
                               size_t length)
{
    size_t size = length > offsetof(struct sockaddr_un, sun_path)
                      ? length - offsetof(struct sockaddr_un, sun_path)
                      : 0;

    if (size > 0 && address->sun_path[0] != '\0')
        size = strnlen(address->sun_path, size);
    uint64_t cookie = size == 0 ? 0 : diagnosis_named(meter, address->sun_path, size);
    return cookie != 0 || size == 0 ? cookie : cookie_of_closed(meter, address, length);
}

static struct path *pair_path(struct ptracemeter *meter, struct tracee *tracee,
                              struct object *object, const void *address, size_t length)
{
    uint64_t peer = 0;

    if (address != NULL) {
        peer = cookie_of_name(meter, address, length);
    } else {
        look_for_peer(meter, object);
        peer = object->peer;
    }
    for (struct path *path = object->paths; path != NULL; path = path->next)
        if (path->peer == peer)
            return path;
    struct path *path = new_path(meter, object);
    if (path == NULL)
        return NULL;
    path->peer = peer;
    path->next = object->paths;
    object->paths = path;
    tell_path(meter, tracee, object, path);
    return path;
}

static struct path *udp_path(struct ptracemeter *meter, struct tracee *tracee,
                             struct object *object, const struct sockaddr_storage *address,
                             size_t length)
{
    struct path_record facts = object->facts;

    if (address != NULL) {
        facts.family = address_take(address, facts.remote, &facts.remote_port);
        if (facts.family == 0)
            return NULL;
        address_find_local(&facts, address, (socklen_t)length);
    }
    for (struct path *path = object->paths; path != NULL; path = path->next)
        if (path->record.remote_port == facts.remote_port &&
            memcmp(path->record.remote, facts.remote, sizeof(facts.remote)) == 0)
            return path;
    struct path *path = new_path(meter, object);
    if (path == NULL)
        return NULL;
    path->record = facts;
    path->record.kind = object->kind;
    path->doubtful = true; /* datagrams may be lost */
    path->next = object->paths;
    object->paths = path;
    tell_path(meter, tracee, object, path);
    return path;
}

struct path *path_to(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     const void *address, size_t length)
{
    return object->kind == PATH_UDP ? udp_path(meter, tracee, object, address, length)
                                    : pair_path(meter, tracee, object, address, length);
}

/* Whether datagrams sent on a path arrive at this socket. */
static bool leads_to(const struct path *path, const struct object *object)
{
    const struct path_record *from = &path->record, *to = &object->facts;

    if (object->kind == PATH_UNIX_DATAGRAM)
        return path->peer == object->cookie;
    return from->remote_port == to->local_port && from->family == to->family &&
           from->network == to->network &&
           (address_is_any(to->local) || memcmp(from->remote, to->local, sizeof(to->local)) == 0);
}

/* The only path that leads to this socket; NULL: there is none, or several. */
static const struct path *find_only_sender(const struct ptracemeter *meter,
                                           const struct object *object)
{
    const struct path *found = NULL;

    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *other = pool_at(&meter->objects, i);
        if (other->inode == 0 || other->kind != object->kind || other == object)
            continue;
        for (const struct path *path = other->paths; path != NULL; path = path->next)
            if (leads_to(path, object) && found != NULL)
                return NULL;
            else if (leads_to(path, object))
                found = path;
    }
    return found;
}

static struct path *find_mirror(struct object *object, const struct path *sender)
{
    for (struct path *path = object->paths; path != NULL; path = path->next)
        if (object->kind == PATH_UNIX_DATAGRAM
                ? path->peer == sender->object->cookie
                : path->record.remote_port == sender->record.local_port &&
                      memcmp(path->record.remote, sender->record.local, 16) == 0)
            return path;
    return NULL;
}

struct path *path_from_anybody(struct ptracemeter *meter, struct tracee *tracee,
                               struct object *object)
{
    if (object->connected)
        return path_to(meter, tracee, object, NULL, 0);
    if (!object->missed) /* others may send to it, too: no pair's count is certain any more */
        object_doubt(meter, object);
    const struct path *sender = find_only_sender(meter, object);
    struct path *path = sender == NULL ? NULL : find_mirror(object, sender);
    /* if all datagrams of this sender have been received, this one is another sender's */
    if (sender == NULL ||
        (sender->object->sending == 0 && sender->out == (path == NULL ? 0 : path->in))) {
        meter->shortfalls.anonymous++;
        return path_to(meter, tracee, object, NULL, 0);
    }
    if (path != NULL)
        return path;
    path = new_path(meter, object);
    if (path == NULL)
        return NULL;
    if (object->kind == PATH_UDP) {
        memcpy(path->record.remote, sender->record.local, sizeof(path->record.remote));
        memcpy(path->record.local, sender->record.remote, sizeof(path->record.local));
        path->record.remote_port = sender->record.local_port;
    }
    path->peer = object->kind == PATH_UDP ? 0 : sender->object->cookie;
    path->doubtful = true; /* others may send to it, too */
    path->next = object->paths;
    object->paths = path;
    tell_path(meter, tracee, object, path);
    return path;
}

/* ---- the other end ---- */

struct path *path_partner(struct ptracemeter *meter, const struct path *path)
{
    struct object *object = path->object, *other = NULL;

    if (object->object_kind == OBJECT_PIPE)
        return path == object->ends[PIPE_READ] ? object->ends[PIPE_WRITTEN]
                                               : object->ends[PIPE_READ];
    if (object->family == AF_UNIX) {
        other = object_of_cookie(meter, path->peer);
    } else {
        uint32_t found = lookup_find(&meter->addresses, connection_key(&path->record, true));
        other = found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
    }
    if (other == NULL)
        return NULL;
    for (struct path *each = other->paths; each != NULL; each = each->next)
        if (object->kind != PATH_UNIX_DATAGRAM || each->peer == object->cookie)
            return each;
    return NULL;
}

void path_ends(struct ptracemeter *meter, struct path *path)
{
    struct path *partner = path_partner(meter, path);
    uint64_t key = connection_key(&path->record, false);

    if (partner != NULL) {
        partner->peer_gone = true;
        partner->peer_out = path->out;
    }
    tell_unowned(meter, EVENT_DESTROYPATH, path->number);
    if (path->kind == PATH_TCP && lookup_find(&meter->addresses, key) == path->object->index)
        lookup_remove(&meter->addresses, key);
}
