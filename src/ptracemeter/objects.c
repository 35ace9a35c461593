/* SPDX-License-Identifier: MIT */
/*
 * objects.c: sockets and pipes that are known, by their inodes, and their paths.
 *
 *      pipe                    two ends, two paths
 *      TCP, UNIX streams       one path, once connected
 *      datagrams               a path for each peer, and one for nobody in particular
 *
 * What a socket is, a copy of its descriptor tells (pidfd_getfd), closed again before its owner runs on. A path is told when it
 * is first used. What was not made by who is traced is older: others may use it, too, and its positions are doubtful.
 */
#include "event/socket_kind.h"
#include "ptracemeter/ptracemeter_private.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- addresses ---- */

static bool is_mapped(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

/* Of an internet address: its bytes, as a PATH has them, and its port. Returns the family, 0: it is none. IPv4 spoken
 * through an IPv6 socket is IPv4. */
static uint8_t take_address(const struct sockaddr_storage *from, uint8_t bytes[16], uint16_t *port)
{
    const struct sockaddr_in *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;

    memset(bytes, 0, 16);
    if (from->ss_family == AF_INET) {
        memcpy(bytes, &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
        return AF_INET;
    }
    if (from->ss_family != AF_INET6)
        return 0;
    *port = ntohs(v6->sin6_port);
    if (is_mapped(v6->sin6_addr.s6_addr)) {
        memcpy(bytes, v6->sin6_addr.s6_addr + 12, 4);
        return AF_INET;
    }
    memcpy(bytes, &v6->sin6_addr, 16);
    return AF_INET6;
}

static void take_internet(struct path_record *facts, const struct sockaddr_storage *own,
                          const struct sockaddr_storage *other)
{
    uint8_t own_family = take_address(own, facts->local, &facts->local_port);

    facts->family =
        other == NULL ? own_family : take_address(other, facts->remote, &facts->remote_port);
    if (other != NULL && facts->family == AF_INET && own_family == AF_INET6)
        memset(facts->local, 0, sizeof(facts->local)); /* bound to any */
}

static bool is_any(const uint8_t address[16])
{
    static const uint8_t none[16];

    return memcmp(address, none, sizeof(none)) == 0;
}

/* A UDP socket that is bound to any address is told with that which packets to and from this peer have, as
 * far as routing tells. */
static void find_local(struct path_record *facts, const struct sockaddr_storage *peer,
                       socklen_t length)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof(own);
    uint16_t port;

    if (!is_any(facts->local))
        return;
    int probe = socket(peer->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, (const struct sockaddr *)peer, length) == 0 &&
        getsockname(probe, (struct sockaddr *)&own, &size) == 0)
        take_address(&own, facts->local, &port);
    if (probe >= 0)
        close(probe);
}

/* As the kernel meter shows it: '@' for all NULs but the last ones. */
static bool take_unix_name(struct path_record *facts, const struct sockaddr_un *address,
                           socklen_t size)
{
    size_t length = size > offsetof(struct sockaddr_un, sun_path)
                        ? size - offsetof(struct sockaddr_un, sun_path)
                        : 0;

    if (length == 0)
        return false;
    if (length > sizeof(address->sun_path))
        length = sizeof(address->sun_path);
    memset(facts->name, 0, sizeof(facts->name));
    memcpy(facts->name, address->sun_path, length);
    if (facts->name[0] != '\0')
        return true;
    while (length > 1 && facts->name[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (facts->name[i] == '\0')
            facts->name[i] = '@';
    return true;
}

/* ---- sockets ---- */

static void take_names(struct object *object, const struct socket_facts *found)
{
    struct path_record *facts = &object->facts;
    bool has_own = found->own_size > 0, has_other = found->other_size > 0;

    object->connected = has_other;
    if (object->family == AF_UNIX) {
        const struct sockaddr_un *own = (const void *)&found->own,
                                 *other = (const void *)&found->other;
        facts->family = AF_UNIX;
        facts->name_end = PATH_NAME_NONE;
        if (has_own && take_unix_name(facts, own, found->own_size))
            facts->name_end = PATH_NAME_LOCAL;
        else if (has_other && take_unix_name(facts, other, found->other_size))
            facts->name_end = PATH_NAME_REMOTE;
        return;
    }
    if (has_own)
        take_internet(facts, &found->own, has_other ? &found->other : NULL);
    if (has_other && object->kind == PATH_UDP)
        find_local(facts, &found->other, found->other_size);
}

static int index_cookie(struct ptracemeter *meter, const struct object *object)
{
    return object->family == AF_UNIX ? lookup_set(&meter->cookies, object->cookie, object->index)
                                     : 0;
}

static int take_cookie(struct ptracemeter *meter, struct object *object, uint64_t cookie)
{
    object->cookie = cookie;
    return cookie == 0 ? 0 : index_cookie(meter, object);
}

/* What a socket is; false: nothing that is metered, or it cannot be looked at. */
static bool look_at_socket(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                           int descriptor)
{
    struct socket_facts found;

    if (!socket_facts(meter, tracee, object->inode, descriptor, &found)) {
        if (errno != EBADF)
            tracee_falls_short(tracee, &meter->shortfalls.unreadable);
        return false;
    }
    object->family = (uint8_t)found.family;
    object->kind = socket_kind(meter->options.kinds, (uint32_t)found.family, (uint32_t)found.type,
                               (uint32_t)found.protocol);
    if (object->kind == 0)
        return false;
    take_names(object, &found);
    return take_cookie(meter, object, found.cookie) == 0;
}

/* Who is at the other end of a UNIX connection, if nobody has told. */
static void look_for_peer(struct ptracemeter *meter, struct object *object)
{
    if (object->family != AF_UNIX || object->peer != 0 || !object->connected)
        return;
    uint64_t inode = diagnosis_peer(meter, object->inode);
    if (inode != 0)
        object->peer = diagnosis_cookie(meter, inode);
}

void object_look_again(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       int descriptor)
{
    struct socket_facts found;

    if (object->object_kind != OBJECT_SOCKET ||
        !socket_facts(meter, tracee, object->inode, descriptor, &found))
        return;
    take_names(object, &found);
    if (object->cookie == 0 && take_cookie(meter, object, found.cookie) < 0)
        meter->shortfalls.no_memory++;
}

/* ---- pipes ---- */

static bool look_at_pipe(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                         int descriptor)
{
    char path[64], name[4096];

    if ((meter->options.kinds & METER_PIPE) == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", tracee->tid, descriptor);
    ssize_t length = readlink(path, name, sizeof(name) - 1);
    name[length < 0 ? 0 : length] = '\0';
    object->kind = strncmp(name, "pipe:", 5) == 0 ? PATH_PIPE : PATH_FIFO;
    object->connected = true;
    object->cookie = (uint64_t)++meter->last_pipe << 1;
    if (object->kind == PATH_PIPE)
        return true;
    const char *last = strrchr(name, '/');
    object->facts.name_end = PATH_NAME_LOCAL;
    snprintf(object->facts.name, sizeof(object->facts.name), "%.*s", PATH_NAME_SIZE - 1,
             last == NULL ? name : last + 1);
    return true;
}

/* ---- objects ---- */

static uint64_t key_of(uint64_t device, uint64_t inode)
{
    const uint64_t words[2] = {device, inode};

    return hash_bytes(0, words, sizeof(words));
}

static void forget_object(struct ptracemeter *meter, struct object *object)
{
    for (struct path *path = object->paths, *next; path != NULL; path = next) {
        next = path->next;
        free(path);
    }
    free(object->ends[0]);
    free(object->ends[1]);
    lookup_remove(&meter->inodes, key_of(object->device, object->inode));
    if (object->family == AF_UNIX && object->cookie != 0)
        lookup_remove(&meter->cookies, object->cookie);
    pool_give(&meter->objects, object->index);
}

/* With device 0 where it is not in use. */
static struct object *add_object(struct ptracemeter *meter, const struct stat *file)
{
    int64_t index = pool_take(&meter->objects);

    if (index < 0)
        return NULL;
    struct object *object = pool_at(&meter->objects, (uint32_t)index);
    if (lookup_set(&meter->inodes, key_of(file->st_dev, file->st_ino), (uint32_t)index) < 0) {
        pool_give(&meter->objects, (uint32_t)index);
        return NULL;
    }
    object->index = (uint32_t)index;
    object->device = file->st_dev;
    object->inode = file->st_ino;
    return object;
}

struct object *object_of_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                              const struct stat *file)
{
    uint32_t found = lookup_find(&meter->inodes, key_of(file->st_dev, file->st_ino));
    bool is_socket = S_ISSOCK(file->st_mode);

    if (found != LOOKUP_NONE) {
        struct object *known = pool_at(&meter->objects, found);
        known->in_flight = false;
        if (!known->connected)
            object_look_again(meter, tracee, known, descriptor);
        return known;
    }
    struct object *object = add_object(meter, file);
    if (object == NULL) {
        meter->shortfalls.no_memory++;
        return NO_OBJECT;
    }
    object->object_kind = is_socket ? OBJECT_SOCKET : OBJECT_PIPE;
    object->older = true;
    object->facts.network =
        is_socket ? tracee->process->network : major(file->st_dev) << 20 | minor(file->st_dev);
    if (is_socket ? look_at_socket(meter, tracee, object, descriptor)
                  : look_at_pipe(meter, tracee, object, descriptor)) {
        if (object->kind == PATH_PIPE)
            object->facts.network = 0;
        return object;
    }
    forget_object(meter, object);
    return NO_OBJECT;
}

struct object *object_made(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct stat file;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", tracee->tid, descriptor);
    if (stat(path, &file) < 0)
        return NULL;
    if (!S_ISSOCK(file.st_mode) && !S_ISFIFO(file.st_mode))
        return NO_OBJECT;
    struct object *object = object_of_file(meter, tracee, descriptor, &file);
    if (object != NULL && object != NO_OBJECT)
        object->older = false;
    return object;
}

void object_pair(struct object *one, struct object *other)
{
    one->peer = other->cookie;
    other->peer = one->cookie;
}

struct object *object_of_cookie(const struct ptracemeter *meter, uint64_t cookie)
{
    uint32_t found = cookie == 0 ? LOOKUP_NONE : lookup_find(&meter->cookies, cookie);

    return found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
}

/* ---- paths ---- */

/* Where the ends of a connection find each other. */
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
    const struct message message = {.path = path->number};
    tell_message(meter, tracee, EVENT_CREATEPATH, &message);
    if (path->older)
        return;
    if (record->role == PATH_ROLE_CONNECTED)
        tell_message(meter, tracee, EVENT_CONNECT, &message);
    else if (record->role == PATH_ROLE_ACCEPTED)
        tell_message(meter, tracee, EVENT_ACCEPT, &message);
}

void path_tell_again(struct ptracemeter *meter, struct tracee *tracee, struct object *object)
{
    (void)tracee;
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

/* The two ends of a TCP connection find each other by their starting positions, whoever has used the same ports before: numbers
 * that nobody else has, and that each end has of the other. */
static void pair_connection(struct ptracemeter *meter, struct path *path)
{
    struct path_record *own = &path->record;
    uint32_t found = lookup_find(&meter->addresses, connection_key(own, true));
    struct object *other = found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
    uint32_t starts[2] = {0};

    if (path->older)
        return;
    if (other != NULL && other->paths != NULL && !other->paths->paired && !other->paths->older &&
        other->holders > 0) {
        own->start_out = other->paths->record.start_in;
        own->start_in = other->paths->record.start_out;
        path->paired = other->paths->paired = true;
    } else {
        while (starts[0] == 0 || starts[1] == 0)
            if (getrandom(starts, sizeof(starts), 0) < 0)
                break;
        own->start_out = starts[0];
        own->start_in = starts[1];
    }
    path->out = own->start_out;
    path->in = own->start_in;
}

/* A connection is told with its peer, if that is known by now. */
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
        return NULL; /* path_to */
    return connection_path(meter, tracee, object);
}

/* ---- datagrams ---- */

/* The socket of somebody traced that had this name: it may have been closed since it was sent to. */
static uint64_t cookie_of_closed(const struct ptracemeter *meter, const struct sockaddr_un *address,
                                 size_t length)
{
    struct path_record named = {0};
    uint64_t found = 0;

    if (!take_unix_name(&named, address, (socklen_t)length))
        return 0;
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *object = pool_at(&meter->objects, i);
        if (object->inode != 0 && object->kind == PATH_UNIX_DATAGRAM &&
            object->facts.name_end == PATH_NAME_LOCAL && object->cookie > found &&
            memcmp(object->facts.name, named.name, sizeof(named.name)) == 0)
            found = object->cookie; /* the youngest has the greatest */
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
        facts.family = take_address(address, facts.remote, &facts.remote_port);
        if (facts.family == 0)
            return NULL;
        find_local(&facts, address, (socklen_t)length);
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

/* Whether what is sent on a path comes to this socket. */
static bool leads_to(const struct path *path, const struct object *object)
{
    const struct path_record *from = &path->record, *to = &object->facts;

    if (object->kind == PATH_UNIX_DATAGRAM)
        return path->peer == object->cookie;
    return from->remote_port == to->local_port && from->family == to->family &&
           from->network == to->network &&
           (is_any(to->local) || memcmp(from->remote, to->local, sizeof(to->local)) == 0);
}

/* The only path that leads there; NULL: none, or several. */
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
    if (!object->missed) /* others may send there, too: no count of a pair is sure any more */
        object_doubt(meter, object);
    const struct path *sender = find_only_sender(meter, object);
    struct path *path = sender == NULL ? NULL : find_mirror(object, sender);
    /* somebody else's, if all that the sender has sent is received */
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
    path->doubtful = true; /* others may send there, too */
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

void object_doubt(struct ptracemeter *meter, struct object *object)
{
    object->missed = true;
    for (unsigned end = 0; end < 2; end++)
        if (object->ends[end] != NULL)
            object->ends[end]->doubtful = true;
    for (struct path *path = object->paths; path != NULL; path = path->next) {
        struct path *partner = path_partner(meter, path);
        path->doubtful = true;
        if (partner != NULL)
            partner->doubtful = true;
    }
}

/* ---- closing ---- */

void object_released(struct ptracemeter *meter, struct object *object)
{
    if (--object->holders == 0)
        meter->closings = true;
}

static bool is_in_use(const struct ptracemeter *meter, const struct object *object)
{
    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        const struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0 && tracee->call.what != NULL &&
            (tracee->call.from == object || tracee->call.to == object))
            return true;
    }
    return false;
}

/* Notes the files that a process holds. */
static int note_files(pid_t pid, struct intern *held)
{
    struct dirent *entry;
    char path[32];
    int result = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    while (folder != NULL && result >= 0 && (entry = readdir(folder)) != NULL) {
        struct stat file;
        if (fstatat(dirfd(folder), entry->d_name, &file, 0) < 0 ||
            (!S_ISSOCK(file.st_mode) && !S_ISFIFO(file.st_mode)))
            continue;
        result = (int)intern_add(held, key_of(file.st_dev, file.st_ino)) < 0 ? -ENOMEM : 0;
    }
    if (folder != NULL)
        closedir(folder);
    return result;
}

static int note_all_files(const struct ptracemeter *meter, struct intern *held)
{
    int result = 0;

    for (uint32_t i = 0; i < meter->tracees.used && result >= 0; i++) {
        const struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0 && tracee->process != NULL && tracee->process->pid == tracee->tid)
            result = note_files(tracee->tid, held);
    }
    return result;
}

static void destroy(struct ptracemeter *meter, struct object *object)
{
    for (struct path *path = object->paths; path != NULL; path = path->next) {
        struct path *partner = path_partner(meter, path);
        if (partner != NULL) {
            partner->peer_gone = true;
            partner->peer_out = path->out;
        }
        tell_unowned(meter, EVENT_DESTROYPATH, path->number);
        uint64_t key = connection_key(&path->record, false);
        if (object->kind == PATH_TCP && lookup_find(&meter->addresses, key) == object->index)
            lookup_remove(&meter->addresses, key);
    }
    for (unsigned end = 0; end < 2; end++)
        if (object->ends[end] != NULL)
            tell_unowned(meter, EVENT_DESTROYPATH, object->ends[end]->number);
    forget_object(meter, object);
}

void objects_sweep(struct ptracemeter *meter, bool all)
{
    struct intern held = {0};

    if (!all && !meter->closings)
        return;
    meter->closings = false;
    bool known = all || note_all_files(meter, &held) >= 0;
    for (uint32_t i = 0; known && i < meter->objects.used; i++) {
        struct object *object = pool_at(&meter->objects, i);
        if (object->inode != 0 &&
            (all || (object->holders == 0 && !object->in_flight && !is_in_use(meter, object) &&
                     intern_find(&held, key_of(object->device, object->inode)) < 0)))
            destroy(meter, object);
    }
    intern_done(&held);
}

void objects_free(struct ptracemeter *meter)
{
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        struct object *object = pool_at(&meter->objects, i);
        if (object->inode != 0)
            forget_object(meter, object);
    }
    pool_done(&meter->objects);
}
