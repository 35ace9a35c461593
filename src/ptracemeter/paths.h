/* SPDX-License-Identifier: MIT */
/* paths.h: an object's paths, and who is at their other end. See ptracemeter_types.h. */
#ifndef DPM_PATHS_H
#define DPM_PATHS_H

#include "ptracemeter/ptracemeter_types.h"

/* The path of this end, told if it is new, in the name of the tracee. NULL: it has none (a socket that is not
 * connected), or no memory. `end`: of a pipe. */
struct path *path_of(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     unsigned end);
/* The path of whoever has sent the datagram that a socket has received without asking: the one known sender. */
struct path *path_from_anybody(struct ptracemeter *meter, struct tracee *tracee,
                               struct object *object);
/* The path of a datagram socket to the peer with this address; NULL: to the one that it is connected to, or to nobody
 * known. */
struct path *path_to(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     const void *address, size_t length);
/* PATH once more, of the ends of a pipe that have been told. */
void path_tell_again(struct ptracemeter *meter, struct object *object);
/* The other end of a path; NULL: not known. */
struct path *path_partner(struct ptracemeter *meter, const struct path *path);
/* DESTROYPATH of a socket's path. */
void path_ends(struct ptracemeter *meter, struct path *path);

#endif
