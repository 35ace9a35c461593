/* SPDX-License-Identifier: MIT */
/* objects.h: the known sockets and pipes. See ptracemeter_types.h. */
#ifndef DPM_OBJECTS_H
#define DPM_OBJECTS_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/stat.h>

/* The object of this file, which is behind `descriptor` of the tracee; it is created if it is new. Not is_object(): it is
 * not metered or cannot be looked at, or there is no memory. */
struct object *object_of_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                              const struct stat *file);
/* The same for a file that the tracee has just made: the object is known from its beginning. NULL: the descriptor
 * cannot be looked at. */
struct object *object_made(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
void object_pair(struct object *one, struct object *other);
/* The object with this inode; NULL: it is not known. */
struct object *object_of_inode(const struct ptracemeter *meter, uint64_t device, uint64_t inode);
/* A connected socket is not connected any more (connect(2) with AF_UNSPEC). */
void object_disconnected(struct ptracemeter *meter, struct object *object);
/* A datagram socket has been connected or disconnected, and its facts are those of now. */
void object_moved(struct ptracemeter *meter, struct object *object);
/* Looks again at what a socket is connected to. */
void object_look_again(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       int descriptor);
/* An entry of a descriptor table no longer refers to the object. */
void object_released(struct ptracemeter *meter, struct object *object);
/* From now on the object's offsets may be wrong, in both directions. */
void object_doubt(struct ptracemeter *meter, struct object *object);
/* Records DESTROYPATH for all objects that are closed; with `all`, for every object. */
void objects_sweep(struct ptracemeter *meter, bool all);
void objects_free(struct ptracemeter *meter);
struct object *object_of_cookie(const struct ptracemeter *meter, uint64_t cookie);

static inline bool is_message(const struct object *object)
{
    return kind_counts_messages(object->kind);
}

static inline bool is_datagram(const struct object *object)
{
    return object->kind == PATH_UNIX_DATAGRAM || object->kind == PATH_UDP;
}

#endif
