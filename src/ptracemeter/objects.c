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
#include "ptracemeter/calls.h"
#include "ptracemeter/paths.h"
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
        if (has_own && address_take_name(facts, own, found->own_size))
            facts->name_end = PATH_NAME_LOCAL;
        else if (has_other && address_take_name(facts, other, found->other_size))
            facts->name_end = PATH_NAME_REMOTE;
        return;
    }
    if (has_own)
        address_take_both(facts, &found->own, has_other ? &found->other : NULL);
    if (has_other && object->kind == PATH_UDP)
        address_find_local(facts, &found->other, found->other_size);
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
    if (object->kind == 0)
        return false;
    take_names(object, &found);
    return take_cookie(meter, object, found.cookie) == 0;
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
    object->facts.network = is_socket ? tracee->process->network : file_device(file->st_dev);
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

/* Adds the sockets and pipes that a process holds to `held`. */
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
    for (struct path *path = object->paths; path != NULL; path = path->next)
        path_ends(meter, path);
    for (unsigned end = 0; end < 2; end++)
        if (object->ends[end] != NULL)
            tell_unowned(meter, EVENT_DESTROYPATH, object->ends[end]->number);
    if (object->listener != 0)
        tell_unowned(meter, EVENT_DESTROYPATH, object->listener);
    forget_object(meter, object);
}

static bool any_connects(const struct ptracemeter *meter)
{
    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        const struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0 && tracee->call.what != NULL &&
            tracee->call.what->what == CALL_CONNECTS)
            return true;
    }
    return false;
}

/* Whether this is the listener of a traced process that a connection leads to. */
static bool is_listener_of(const struct object *listener, const struct path_record *path)
{
    return listener->inode != 0 && listener->listener != 0 && listener->holders > 0 &&
           listener->facts.local_port == path->remote_port &&
           listener->facts.network == path->network;
}

static bool has_listener(const struct ptracemeter *meter, const struct path_record *path)
{
    for (uint32_t i = 0; i < meter->objects.used; i++)
        if (is_listener_of(pool_at(&meter->objects, i), path))
            return true;
    return false;
}

/* A connection may be closed before the other end is seen, which must still find it: by a client before the server
 * accepts it, or by the server before the client's connect() is seen to end (`connects`: any is in progress). */
static bool awaits_other_end(const struct ptracemeter *meter, const struct object *object,
                             bool connects)
{
    const struct path *path = object->paths;

    if (object->kind != PATH_TCP || path == NULL || path->paired || path->older)
        return false;
    return object->role == PATH_ROLE_ACCEPTED ? connects : has_listener(meter, &path->record);
}

void objects_sweep(struct ptracemeter *meter, bool all)
{
    struct intern held = {0};

    if (!all && !meter->closings)
        return;
    meter->closings = false;
    bool connects = !all && any_connects(meter);
    bool known = all || note_all_files(meter, &held) >= 0;
    for (uint32_t i = 0; known && i < meter->objects.used; i++) {
        struct object *object = pool_at(&meter->objects, i);
        if (object->inode != 0 &&
            (all || (object->holders == 0 && !object->in_flight && !is_in_use(meter, object) &&
                     intern_find(&held, key_of(object->device, object->inode)) < 0))) {
            if (!all && awaits_other_end(meter, object, connects))
                meter->postponed = true;
            else
                destroy(meter, object);
        }
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
