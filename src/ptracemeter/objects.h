/* SPDX-License-Identifier: MIT */
/* objects.h: sockets and pipes that are known. See ptracemeter_types.h. */
#ifndef DPM_OBJECTS_H
#define DPM_OBJECTS_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/stat.h>

/* Of this file, which descriptor `descriptor` of the tracee is; made if it is new. NULL: no memory. */
struct object *object_of_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                              const struct stat *file);
/* It is made by who is traced: known from its beginning. */
struct object *object_made(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
void object_pair(struct object *one, struct object *other);
/* What a socket is connected to, looked at again. */
void object_look_again(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       int descriptor);
/* An entry of a table leads there no more. */
void object_released(struct ptracemeter *meter, struct object *object);
/* From now on its positions may be wrong, in both directions. */
void object_doubt(struct ptracemeter *meter, struct object *object);
/* DESTROYPATH of what is closed. `all`: of everything. */
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
