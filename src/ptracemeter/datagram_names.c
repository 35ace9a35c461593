/* SPDX-License-Identifier: MIT */
/*
 * datagram_names.c: which UNIX datagram socket has a name, or had it.
 *
 *      sender, in /srv/a                                     receiver
 *      bind "reply", sendto "/run/log"  --- datagram --->    bind "/run/log", recvfrom: from "reply"
 *                           |                                                                |
 *                           '-- the file at that name, as the sender sees it                 '-- as the sender wrote it
 *
 * A receiver is found by its file: names are relative to folders, and new sockets get old names. A sender's name is all
 * that its receiver learns; it may have been closed, and its name may be another's by now. So the sender is the one
 * socket with this name that has sent more than was received. If there are several, none of them is.
 */
#include "ptracemeter/datagram_names.h"

#include "ptracemeter/addresses.h"
#include "ptracemeter/diagnosis.h"
#include "ptracemeter/objects.h"

#include "base/mapping.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

static size_t size_of_name(const struct sockaddr_un *address, size_t length)
{
    size_t size = length > offsetof(struct sockaddr_un, sun_path)
                      ? length - offsetof(struct sockaddr_un, sun_path)
                      : 0;

    if (size > sizeof(address->sun_path))
        size = sizeof(address->sun_path);
    return size > 0 && address->sun_path[0] != '\0' ? strnlen(address->sun_path, size) : size;
}

/* The file at a name, as the tracee sees it. */
static bool find_file(const struct ptracemeter *meter, const struct tracee *tracee,
                      const char *name, size_t size, struct stat *ret_file)
{
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 64];

    if (meter->no_proc || name[0] == '\0')
        return false;
    snprintf(path, sizeof(path), "/proc/%d/%s/%.*s", tracee->tid, name[0] == '/' ? "root" : "cwd",
             (int)size, name);
    return stat(path, ret_file) == 0;
}

/* Looks in the socket's own namespace first. One that is bound to a file may be in another one. */
static uint64_t find_named(struct ptracemeter *meter, const struct object *object,
                           const struct diagnosis_name *name)
{
    uint64_t cookie = diagnosis_named(meter, object->facts.network, name);

    for (size_t i = 0; cookie == 0 && name->name[0] != '\0' && i < meter->network_count; i++)
        if (meter->networks[i].inode != object->facts.network)
            cookie = diagnosis_named(meter, meter->networks[i].inode, name);
    return cookie;
}

static bool has_name(const struct object *object, const struct path_record *named)
{
    return object->inode != 0 && object->kind == PATH_UNIX_DATAGRAM &&
           object->facts.name_end == PATH_NAME_LOCAL &&
           memcmp(object->facts.name, named->name, sizeof(named->name)) == 0;
}

uint64_t name_of_receiver(struct ptracemeter *meter, const struct tracee *tracee,
                          const struct object *object, const struct sockaddr_un *address,
                          size_t length)
{
    size_t size = size_of_name(address, length);
    struct diagnosis_name name = {.name = address->sun_path, .length = size};
    struct path_record named = {0};
    struct stat file;
    uint64_t found = 0;

    if (size == 0)
        return 0;
    if (find_file(meter, tracee, address->sun_path, size, &file)) {
        name.device = file_device(file.st_dev);
        name.inode = (uint32_t)file.st_ino;
        found = find_named(meter, object, &name);
        name.inode = 0; /* some file systems tell different devices: then by its name */
    }
    if (found == 0)
        found = find_named(meter, object, &name);
    /* the youngest has the greatest cookie */
    address_take_name(&named, address, (socklen_t)length);
    for (uint32_t i = 0, end = found == 0 ? meter->objects.used : 0; i < end; i++) {
        const struct object *other = pool_at(&meter->objects, i);
        if (has_name(other, &named) && other->cookie > found)
            found = other->cookie;
    }
    return found;
}

/* What the sender has sent to this socket and is not received yet. */
static bool has_sent(const struct object *sender, const struct object *object)
{
    uint32_t out = 0, in = 0;

    for (const struct path *path = sender->paths; path != NULL; path = path->next)
        if (path->peer == object->cookie)
            out = path->out;
    for (const struct path *path = object->paths; path != NULL; path = path->next)
        if (path->peer == sender->cookie)
            in = path->in;
    return out != in || sender->sending > 0;
}

bool name_of_sender(struct ptracemeter *meter, const struct object *object,
                    const struct sockaddr_un *address, size_t length, uint64_t *ret_cookie)
{
    const struct diagnosis_name name = {.name = address->sun_path,
                                        .length = size_of_name(address, length)};
    struct path_record named = {0};
    uint32_t count = 0;

    *ret_cookie = 0;
    if (!address_take_name(&named, address, (socklen_t)length))
        return false;
    for (uint32_t i = 0; i < meter->objects.used; i++) {
        const struct object *sender = pool_at(&meter->objects, i);
        if (!has_name(sender, &named) || !has_sent(sender, object))
            continue;
        *ret_cookie = sender->cookie;
        count++;
    }
    if (count == 0)
        *ret_cookie = find_named(meter, object, &name);
    return count <= 1;
}

bool name_has_unreceived(const struct ptracemeter *meter, const struct object *object)
{
    for (const struct path *path = object->paths;
         object->kind == PATH_UNIX_DATAGRAM && path != NULL; path = path->next) {
        const struct object *receiver = object_of_cookie(meter, path->peer);
        if (receiver != NULL && !receiver->gone && has_sent(object, receiver))
            return true;
    }
    return false;
}
