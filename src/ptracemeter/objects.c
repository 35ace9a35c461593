/* SPDX-License-Identifier: MIT */
/*
 * objects.c: the known sockets and pipes, by their inodes, until they are closed.
 *
 *      descriptor --> device, inode --> object --> paths (paths.c)
 *                                         '-- what it is: socket_facts.c, addresses.c
 */
#include "ptracemeter/objects.h"
#include "meter/shared/socket_kind.h"

#include "ptracemeter/addresses.h"
#include "ptracemeter/datagram_names.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/networks.h"
#include "ptracemeter/paths.h"
#include "ptracemeter/peers.h"
#include "ptracemeter/pipe_facts.h"
#include "ptracemeter/socket_facts.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"

#include "base/mapping.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- sockets ---- */

static void take_names(struct ptracemeter *meter, struct object *object,
                       const struct socket_facts *found)
{
    struct path_record *facts = &object->facts;
    bool has_own = found->own_size > 0, has_other = found->other_size > 0;

    /* it may have been connected elsewhere before, and have had another port */
    object->connected = has_other;
    memset(facts->local, 0, sizeof(facts->local));
    facts->local_port = 0;
    if (has_other ||
        !object->connecting) { /* else it is the address that connect was called with */
        memset(facts->remote, 0, sizeof(facts->remote));
        facts->remote_port = 0;
    }
    if (object->family == AF_UNIX) {
        const struct sockaddr_un *own = (const void *)&found->own,
                                 *other = (const void *)&found->other;
        facts->family = AF_UNIX;
        facts->name_end = PATH_NAME_NONE;
        if (has_own && address_take_name(facts, own, found->own_size))
            facts->name_end = PATH_NAME_LOCAL;
        else if (has_other && address_take_name(facts, other, found->other_size))
            facts->name_end = PATH_NAME_REMOTE;
        return;
    }
    if (has_own)
        address_take_both(facts, &found->own, has_other ? &found->other : NULL);
    if (has_other && object->kind == PATH_UDP)
        address_find_local(meter, facts, &found->other, found->other_size);
}

static int take_cookie(struct ptracemeter *meter, struct object *object, uint64_t cookie)
{
    object->cookie = cookie;
    return cookie == 0 ? 0 : lookup_set(&meter->cookies, cookie, object->index);
}

/* Finds out what a socket is. Returns false if it is not metered, or cannot be looked at. */
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
    object->facts.network = found.network;
    object->v6_only = found.v6_only;
    object->unmetered = (uint8_t)unmetered_socket_kind((uint32_t)found.family, (uint32_t)found.type,
                                                       (uint32_t)found.protocol);
    if (object->kind == 0)
        return false;
    take_names(meter, object, &found);
    return take_cookie(meter, object, found.cookie) == 0;
}

void object_look_again(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       int descriptor)
{
    struct socket_facts found;

    if (object->object_kind != OBJECT_SOCKET ||
        !socket_facts(meter, tracee, object->inode, descriptor, &found))
        return;
    take_names(meter, object, &found);
    if (object->cookie == 0 && take_cookie(meter, object, found.cookie) < 0)
        meter->shortfalls.no_memory++;
}

/* ---- objects ---- */

static uint64_t key_of(uint64_t device, uint64_t inode)
{
    const uint64_t words[2] = {device, inode};

    return hash_bytes(0, words, sizeof(words));
}

struct object *object_of_inode(const struct ptracemeter *meter, uint64_t device, uint64_t inode)
{
    uint32_t found = lookup_find(&meter->inodes, key_of(device, inode));

    return found == LOOKUP_NONE ? NULL : pool_at(&meter->objects, found);
}

static void free_paths(struct path *paths)
{
    for (struct path *path = paths, *next; path != NULL; path = next) {
        next = path->next;
        free(path);
    }
}

/* Its number may be another object's by now. */
static void remove_if_own(struct lookup *lookup, uint64_t key, const struct object *object)
{
    if (lookup_find(lookup, key) == object->index)
        lookup_remove(lookup, key);
}

static void forget_object(struct ptracemeter *meter, struct object *object)
{
    peer_forget(meter, object);
    free_paths(object->paths);
    free_paths(object->former);
    free(object->ends[0]);
    free(object->ends[1]);
    remove_if_own(&meter->inodes, key_of(object->device, object->inode), object);
    if (object->object_kind == OBJECT_SOCKET && object->cookie != 0)
        remove_if_own(&meter->cookies, object->cookie, object);
    pool_give(&meter->objects, object->index);
}

/* An unused entry of the pool has inode 0. */
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
    if (--object->holders > 0)
        return;
    meter->closings = true;
    peer_ask_once_more(meter, object);
}

static bool is_in_use(const struct ptracemeter *meter, const struct object *object)
{
    if (object->sending > 0 || object->receiving > 0)
        return true;
    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        const struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0 && tracee->call.what != NULL &&
            (tracee->call.from == object || tracee->call.to == object))
            return true;
    }
    return false;
}

/* Adds the sockets and pipes in a tracee's table of descriptors to `held`. */
static int note_files(pid_t tid, struct intern *held)
{
    struct dirent *entry;
    char path[32];
    int result = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", tid);
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

/* Looks at each table once, by any of the tracees that share it. */
static int note_all_files(struct ptracemeter *meter, struct intern *held)
{
    int result = 0;

    meter->sweeps++;
    for (uint32_t i = 0; i < meter->tracees.used && result >= 0; i++) {
        const struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid == 0 || tracee->table == NULL || tracee->table->noted == meter->sweeps)
            continue;
        tracee->table->noted = meter->sweeps;
        result = note_files(tracee->tid, held);
    }
    return result;
}

#define GONE_MOST 8192u

/* Keeps an object whose socket has been closed, and forgets the one that is kept longest if there are many. */
static void keep_gone(struct ptracemeter *meter, struct object *object)
{
    if (meter->gone == NULL)
        meter->gone = calloc(GONE_MOST, sizeof(*meter->gone));
    if (meter->gone == NULL) {
        meter->shortfalls.no_memory++;
        forget_object(meter, object);
        return;
    }
    uint32_t *place = &meter->gone[meter->gone_count++ % GONE_MOST];
    if (meter->gone_count > GONE_MOST) {
        struct object *oldest = pool_at(&meter->objects, *place);
        if (oldest->gone && oldest->gone_at == meter->gone_count - GONE_MOST)
            forget_object(meter, oldest);
    }
    *place = object->index;
    object->gone = true;
    object->gone_at = meter->gone_count;
    remove_if_own(&meter->inodes, key_of(object->device, object->inode), object);
}

/* Whether the other end may find out later that it was this one. */
static bool is_awaited(const struct ptracemeter *meter, const struct object *object)
{
    return peer_may_be_accepted(object) || name_has_unreceived(meter, object);
}

static void destroy(struct ptracemeter *meter, struct object *object)
{
    for (struct path *path = object->paths; path != NULL; path = path->next)
        path_ends(meter, path);
    for (unsigned end = 0; end < 2; end++)
        if (object->ends[end] != NULL)
            tell_unowned(meter, EVENT_DESTROYPATH, object->ends[end]->number);
    if (object->listener_path != 0)
        tell_unowned(meter, EVENT_DESTROYPATH, object->listener_path);
    if (is_awaited(meter, object))
        keep_gone(meter, object);
    else
        forget_object(meter, object);
}

/* Paths that no call in progress uses are freed at once. */
static void drop_paths(struct object *object, struct path *paths)
{
    struct path **last = &object->former;

    if (object->sending == 0) {
        free_paths(paths);
        return;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = paths;
}

/* Moves the path of a connection that may be accepted later to an object of its own. */
static void keep_path(struct ptracemeter *meter, const struct object *object)
{
    int64_t index = pool_take(&meter->objects);

    if (index < 0) {
        meter->shortfalls.no_memory++;
        return;
    }
    struct object *kept = pool_at(&meter->objects, (uint32_t)index);
    *kept = *object;
    kept->index = (uint32_t)index;
    kept->holders = kept->sending = kept->receiving = 0;
    kept->former = NULL;
    kept->paths->object = kept;
    if (kept->peer != 0 && lookup_set(&meter->awaited, kept->peer, kept->index) < 0)
        meter->shortfalls.no_memory++;
    peer_note_addresses(meter, kept->paths);
    keep_gone(meter, kept);
}

void object_disconnected(struct ptracemeter *meter, struct object *object)
{
    struct path *paths = object->paths;

    peer_ask_once_more(meter, object);
    for (struct path *path = paths; path != NULL; path = path->next)
        path_ends(meter, path);
    if (peer_may_be_accepted(object) && object->sending == 0) {
        keep_path(meter, object);
    } else {
        peer_forget(meter, object);
        drop_paths(object, paths);
    }
    object->paths = NULL;
    object->peer = object->listener = object->connect_ended = 0;
    object->connecting = object->connected = object->shut_in = object->shut_out = object->reused =
        false;
    object->role = PATH_ROLE_UNKNOWN;
}

void object_moved(struct ptracemeter *meter, struct object *object)
{
    struct path *left = NULL;

    object->peer = 0;
    for (struct path **link = &object->paths; *link != NULL;) {
        struct path *path = *link;
        if (object->kind != PATH_UDP || path->translated ||
            path->record.local_port == object->facts.local_port) {
            link = &path->next;
            continue;
        }
        *link = path->next;
        path_ends(meter, path);
        path->next = left;
        left = path;
    }
    drop_paths(object, left);
}

void objects_sweep(struct ptracemeter *meter, bool all)
{
    struct intern held = {0};

    if (!all && !meter->closings)
        return;
    meter->closings = false;
    bool known = all || meter->no_proc || note_all_files(meter, &held) >= 0;
    for (uint32_t i = 0; known && i < meter->objects.used; i++) {
        struct object *object = pool_at(&meter->objects, i);
        if (object->gone && !is_awaited(meter, object))
            forget_object(meter, object);
        else if (object->inode != 0 && !object->gone &&
                 (all || (object->holders == 0 && !object->in_flight && !is_in_use(meter, object) &&
                          intern_find(&held, key_of(object->device, object->inode)) < 0)))
            destroy(meter, object);
    }
    intern_done(&held);
    networks_sweep(meter);
}

/* ---- finding ---- */

/* Whether a known object is not the one behind this descriptor, though it has the same number: inode numbers are used
 * again. */
static bool is_another(struct ptracemeter *meter, struct tracee *tracee, const struct object *known,
                       int descriptor)
{
    struct socket_facts found;

    if (known->holders > 0 || known->in_flight || is_in_use(meter, known))
        return false;
    if (known->object_kind == OBJECT_SOCKET)
        return socket_facts(meter, tracee, known->inode, descriptor, &found) && found.cookie != 0 &&
               known->cookie != 0 && found.cookie != known->cookie;
    if (known->kind != PATH_FIFO)
        return false;
    uint64_t generation = pipe_generation(meter, tracee, descriptor);
    return (generation != 0 && known->generation != 0 && generation != known->generation) ||
           pipe_was_emptied(meter, tracee, known, descriptor);
}

struct object *object_of_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                              const struct stat *file)
{
    struct object *known = object_of_inode(meter, file->st_dev, file->st_ino);
    bool is_socket = S_ISSOCK(file->st_mode);

    if (known != NULL && is_another(meter, tracee, known, descriptor)) {
        destroy(meter, known);
        known = NULL;
    }
    if (known != NULL) {
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
    if (!is_socket)
        object->facts.network = file_device(file->st_dev);
    if (is_socket ? look_at_socket(meter, tracee, object, descriptor)
                  : pipe_look(meter, tracee, object, descriptor)) {
        if (object->kind == PATH_PIPE)
            object->facts.network = 0;
        return object;
    }
    struct object *none =
        object->unmetered == UNMETERED_NONE ? NO_OBJECT : UNMETERED_SOCKET(object->unmetered);
    forget_object(meter, object);
    return none;
}

struct object *object_made(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct stat file;

    if (!descriptor_file(meter, tracee, descriptor, &file))
        return NULL;
    if (!S_ISSOCK(file.st_mode) && !S_ISFIFO(file.st_mode))
        return NO_OBJECT;
    struct object *object = object_of_file(meter, tracee, descriptor, &file);
    if (is_object(object))
        object->older = false;
    return object;
}

void objects_free(struct ptracemeter *meter)
{
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        struct object *object = pool_at(&meter->objects, i);
        if (object->inode != 0)
            forget_object(meter, object);
    }
    pool_done(&meter->objects);
    free(meter->gone);
}
