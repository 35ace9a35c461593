/* SPDX-License-Identifier: MIT */
/*
 * paths.c: the paths of sockets and pipes. (peers.c: who is at the other end of a connection.)
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
#include "ptracemeter/datagram_names.h"
#include "ptracemeter/diagnosis.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/peers.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- paths ---- */

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
        object->connecting ? tracee_find(meter, object->connecting_tid) : NULL;

    return connector != NULL && connector->number == object->connecting_stream ? connector : tracee;
}

static void tell_beginning(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                           const struct path *path)
{
    struct tracee *maker = maker_of(meter, tracee, object);
    struct message message = {.path = path->number};

    tell_message(meter, maker, EVENT_CREATEPATH, &message);
    message.begin = object->connecting ? object->connect_began : 0;
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
        .flags =
            (uint16_t)(RECORD_NO_STREAM | (path->older ? RECORD_OLDER : 0) |
                       (object->kind == PATH_TCP ? RECORD_COUNTED : 0) |
                       (object->packets ? RECORD_PACKETS : 0) | (path->many ? RECORD_MANY : 0)),
    };
    record->path = path->number;
    record->kind = object->kind;
    record->role = role_of(object, path);
    record->cookie = object->cookie | (path == object->ends[PIPE_READ] ? 1 : 0);
    record->peer = object->object_kind == OBJECT_PIPE ? record->cookie ^ 1
                   : object->kind == PATH_TCP         ? object->peer
                                                      : path->peer;
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

/* Each end of a UNIX connection knows the other one. */
static void join_unix(struct ptracemeter *meter, struct object *object, struct path *path)
{
    struct object *other = object_of_cookie(meter, object->peer);

    path->peer = object->peer;
    if (other == NULL || other->peer != 0)
        return;
    other->peer = object->cookie;
    if (other->paths == NULL)
        return;
    other->paths->peer = object->cookie;
    path->peer_gone = other->gone;
    path->peer_out = other->paths->out;
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
        peer_look(meter, object);
    struct path *path = object->paths = new_path(meter, object);
    if (path == NULL)
        return NULL;
    if (object->role == PATH_ROLE_CONNECTED)
        path->older = false;
    if (object->family == AF_UNIX)
        join_unix(meter, object, path);
    if (object->kind == PATH_TCP)
        peer_pair(meter, path);
    tell_path(meter, tracee, object, path);
    if (object->kind == PATH_TCP)
        peer_note_addresses(meter, path);
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

static struct path *pair_path(struct ptracemeter *meter, struct tracee *tracee,
                              struct object *object, uint64_t peer)
{
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

static uint64_t peer_at(struct ptracemeter *meter, const struct tracee *tracee,
                        struct object *object, const void *address, size_t length)
{
    if (address != NULL)
        return name_of_receiver(meter, tracee, object, address, length);
    peer_look(meter, object);
    return object->peer;
}

/* Whether datagrams sent on a path arrive at this socket. */
static bool leads_to(const struct path *path, const struct object *object)
{
    const struct path_record *from = &path->record, *to = &object->facts;

    if (object->kind == PATH_UNIX_DATAGRAM)
        return path->peer == object->cookie;
    if (from->remote_port != to->local_port || from->network != to->network)
        return false;
    /* an IPv6 socket with any address also gets what is sent to an IPv4 address */
    if (address_is_any(to->local))
        return from->family == to->family || (to->family == AF_INET6 && !object->v6_only);
    return from->family == to->family && memcmp(from->remote, to->local, sizeof(to->local)) == 0;
}

/* The only path that leads to this socket from the peer in `facts`; NULL: there is none, or several. */
static struct path *find_opposite(const struct ptracemeter *meter, const struct object *object,
                                  const struct path_record *facts)
{
    struct path *found = NULL;

    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *other = pool_at(&meter->objects, i);
        if (other->inode == 0 || other->kind != PATH_UDP)
            continue;
        for (struct path *path = other->paths; path != NULL; path = path->next) {
            if (path->record.local_port != facts->remote_port || !leads_to(path, object) ||
                (!path->guessed && memcmp(path->record.local, facts->remote, 16) != 0))
                continue;
            if (found != NULL)
                return NULL;
            found = path;
        }
    }
    return found;
}

/* The only path from the peer in `facts` whose own peer is nobody's address: it is translated on the way (DNAT). NULL: there is
 * none, or several. */
static const struct path *find_translated(const struct ptracemeter *meter,
                                          const struct path_record *facts)
{
    const struct path *found = NULL;

    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *other = pool_at(&meter->objects, i);
        if (other->inode == 0 || other->kind != PATH_UDP)
            continue;
        for (const struct path *path = other->paths; path != NULL; path = path->next) {
            if (path->record.local_port != facts->remote_port || path->record.remote_port == 0 ||
                path->record.network != facts->network || path->translated ||
                memcmp(path->record.local, facts->remote, 16) != 0 || !path->leads_nowhere)
                continue;
            if (found != NULL)
                return NULL;
            found = path;
        }
    }
    return found;
}

/* Whether this is the path of a receiver that has guessed its own address, from this sender. */
static bool guessed_from(const struct path *path, const struct path_record *sender)
{
    const struct path_record *record = &path->record;

    return path->guessed && record->remote_port == sender->local_port &&
           record->local_port == sender->remote_port && record->network == sender->network &&
           record->family == sender->family &&
           (address_is_any(sender->local) ||
            memcmp(record->remote, sender->local, sizeof(sender->local)) == 0);
}

/* A receiver may have been met before its sender: then its own address was guessed, and now turns out to be that of several
 * (multicast, broadcast). Where no route says what the sender's address is, its receivers know. */
static void correct_receivers(struct ptracemeter *meter, struct path_record *facts)
{
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        struct object *other = pool_at(&meter->objects, i);
        if (other->inode == 0 || other->kind != PATH_UDP)
            continue;
        for (struct path *path = other->paths; path != NULL; path = path->next) {
            struct path_record *record = &path->record;
            if (!guessed_from(path, facts))
                continue;
            memcpy(facts->local, record->remote, sizeof(facts->local));
            if (memcmp(record->local, facts->remote, sizeof(record->local)) == 0)
                continue;
            path->guessed = false;
            memcpy(record->local, facts->remote, sizeof(record->local));
            record->header.time = tell_time(meter);
            tell(meter, &record->header);
        }
    }
}

/* The route does not decide alone which local address a datagram has: options of the socket do, too, and what is sent to
 * several goes to an address of theirs. If both ends are traced, each knows the other's. */
static void correct_addresses(struct ptracemeter *meter, const struct object *object,
                              struct path_record *facts, bool guessed)
{
    struct path *opposite = facts->remote_port == 0 ? NULL : find_opposite(meter, object, facts);

    if (opposite == NULL)
        return;
    if (guessed)
        memcpy(facts->local, opposite->record.remote, sizeof(facts->local));
    if (!opposite->guessed || memcmp(opposite->record.local, facts->remote, 16) == 0)
        return;
    opposite->guessed = false;
    memcpy(opposite->record.local, facts->remote, sizeof(facts->remote));
    opposite->record.header.time = tell_time(meter);
    tell(meter, &opposite->record.header);
}

/* A socket that is connected again may have another port than before. */
static bool is_same_udp(const struct path_record *one, const struct path_record *other)
{
    return one->remote_port == other->remote_port && one->family == other->family &&
           memcmp(one->remote, other->remote, sizeof(one->remote)) == 0;
}

/* A closed socket may have had this address: its end is recorded before another one is its successor. */
static void end_predecessor(struct ptracemeter *meter, const struct object *object,
                            const struct path_record *facts)
{
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *other = pool_at(&meter->objects, i);
        if (other == object || other->inode == 0 || other->kind != PATH_UDP || other->holders > 0 ||
            other->gone || other->paths == NULL || other->facts.local_port != facts->local_port ||
            other->facts.network != facts->network)
            continue;
        objects_sweep(meter, false);
        return;
    }
}

/* `receives`: the peer has sent. That peer's path to here would be known; if it has none, its only path to nobody's address leads
 * here. Of who is sent to, nothing like that is known. */
static struct path *udp_path(struct ptracemeter *meter, struct tracee *tracee,
                             struct object *object, const struct sockaddr_storage *address,
                             size_t length, bool receives)
{
    struct path_record facts = object->facts;
    bool guessed = address_is_any(facts.local), translated = false;

    if (address != NULL) {
        facts.family = address_take(address, facts.remote, &facts.remote_port);
        if (facts.family == 0)
            return NULL;
        address_find_local(meter, &facts, address, (socklen_t)length);
    }
    for (struct path *path = object->paths; path != NULL; path = path->next)
        if (is_same_udp(&path->record, &facts) &&
            (path->translated || path->record.local_port == facts.local_port))
            return path;
    end_predecessor(meter, object, &facts);
    correct_addresses(meter, object, &facts, guessed);
    if (facts.remote_port != 0) {
        const struct path *sender = receives && find_opposite(meter, object, &facts) == NULL
                                        ? find_translated(meter, &facts)
                                        : NULL;
        translated = sender != NULL && sender->object != object;
        if (translated) {
            memcpy(facts.local, sender->record.remote, sizeof(facts.local));
            facts.local_port = sender->record.remote_port;
        } else {
            correct_receivers(meter, &facts);
        }
    }
    struct path *path = new_path(meter, object);
    if (path == NULL)
        return NULL;
    path->guessed = guessed;
    path->translated = translated;
    path->many = address_is_broadcast(meter, &facts);
    path->leads_nowhere = !receives && !path->many && !translated && facts.remote_port != 0 &&
                          diagnosis_leads_nowhere(meter, &facts);
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
    return object->kind == PATH_UDP
               ? udp_path(meter, tracee, object, address, length, false)
               : pair_path(meter, tracee, object, peer_at(meter, tracee, object, address, length));
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
        path->record.family = sender->record.family;
    }
    path->peer = object->kind == PATH_UDP ? 0 : sender->object->cookie;
    path->doubtful = true; /* others may send to it, too */
    path->next = object->paths;
    object->paths = path;
    tell_path(meter, tracee, object, path);
    return path;
}

struct path *path_from(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       const void *address, size_t length)
{
    uint64_t peer;

    if (object->kind == PATH_UDP)
        return udp_path(meter, tracee, object, address, length, true);
    if (object->kind != PATH_UNIX_DATAGRAM)
        return path_to(meter, tracee, object, address, length);
    return name_of_sender(meter, object, address, length, &peer)
               ? pair_path(meter, tracee, object, peer)
               : path_from_anybody(meter, tracee, object);
}

void path_note_drops(struct ptracemeter *meter, struct object *object, struct path *path,
                     uint32_t drops)
{
    uint32_t lost = drops - object->drops;

    /* if several ends have sent, it is not known which of them sent these */
    if (lost > 0 && (object->drops_known || !object->older) &&
        (object->connected || find_only_sender(meter, object) != NULL))
        path->in += lost;
    object->drops = drops;
    object->drops_known = true;
}

/* ---- the other end ---- */

/* A socket that has been connected elsewhere since is not the other end any more. */
static struct path *tcp_partner(const struct ptracemeter *meter, const struct path *path)
{
    struct object *other = object_of_cookie(meter, path->peer);

    if (path->peer != 0)
        return other != NULL && other->paths != NULL && other->paths->peer == path->object->cookie
                   ? other->paths
                   : NULL;
    other = peer_by_addresses(meter, &path->record);
    return other == NULL || other->gone || other->facts.network != path->record.network
               ? NULL
               : other->paths;
}

struct path *path_partner(struct ptracemeter *meter, const struct path *path)
{
    struct object *object = path->object;

    if (object->object_kind == OBJECT_PIPE)
        return path == object->ends[PIPE_READ] ? object->ends[PIPE_WRITTEN]
                                               : object->ends[PIPE_READ];
    if (object->kind == PATH_TCP)
        return tcp_partner(meter, path);
    const struct object *other = object_of_cookie(meter, path->peer);
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

    if (partner != NULL) {
        partner->peer_gone = true;
        partner->peer_out = path->out;
    }
    tell_unowned(meter, EVENT_DESTROYPATH, path->number);
}
