/* SPDX-License-Identifier: MIT */
/* paths.h: an object's paths, and their other ends. See ptracemeter_types.h. */
#ifndef DPM_PATHS_H
#define DPM_PATHS_H

#include "ptracemeter/ptracemeter_types.h"

/* The path of this end; a new one is reported as the tracee's. NULL: there is none (a socket that is not connected),
 * or no memory. `end`: which end of a pipe. */
struct path *path_of(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     unsigned end);
/* The path of a received datagram whose sender's address was not asked for: from the only known sender, otherwise from
 * an unknown peer. */
struct path *path_from_anybody(struct ptracemeter *meter, struct tracee *tracee,
                               struct object *object);
/* The path of a received datagram whose sender has this address. */
struct path *path_from(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       const void *address, size_t length);
/* The path of a datagram socket to the peer with this address; if `address` is NULL, to the connected or an unknown
 * peer. */
struct path *path_to(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     const void *address, size_t length);
/* A UDP socket has dropped this many datagrams since its latest receive, all before the next one that it will receive. */
void path_note_drops(struct ptracemeter *meter, struct object *object, struct path *path,
                     uint32_t drops);
/* Reports PATH of a socket whose connection failed, or that listens, and CREATEPATH of the listener. Return its number. */
uint32_t path_of_failure(struct ptracemeter *meter, const struct object *object);
uint32_t path_of_listener(struct ptracemeter *meter, struct tracee *tracee,
                          const struct object *object);
/* Reports the PATH records of a pipe's ends again, if they have been reported. */
void path_tell_again(struct ptracemeter *meter, struct object *object);
/* The path of the other end; NULL: not known. */
struct path *path_partner(struct ptracemeter *meter, const struct path *path);
/* Records DESTROYPATH for a socket's path. */
void path_ends(struct ptracemeter *meter, struct path *path);

#endif
