/* SPDX-License-Identifier: MIT */
/* peers.h: the other end of a connection. See ptracemeter_types.h. */
#ifndef DPM_PEERS_H
#define DPM_PEERS_H

#include "ptracemeter/ptracemeter_types.h"

/* Finds the peer of a connected UNIX socket, if it is not known yet. */
void peer_look(struct ptracemeter *meter, struct object *object);
/* The same for one that the tracee has just connected, or accepted from this listening socket (NULL: not known). */
void peer_of_connected(struct ptracemeter *meter, const struct tracee *tracee,
                       struct object *object);
void peer_of_accepted(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                      const struct object *listener, int descriptor);
/* The two ends of a TCP connection get the same pair of start offsets, in opposite order. To be called before the path
 * is reported. */
void peer_pair(struct ptracemeter *meter, struct path *path);
/* The last descriptor of a socket is closed, or it is disconnected: the last chance to ask for its peer. */
void peer_ask_once_more(struct ptracemeter *meter, struct object *object);
/* Whether the other end may still be accepted, so that the closed socket must not be forgotten. */
bool peer_may_be_accepted(const struct object *object);
/* Notes how to find the path by its addresses, and that it is to be forgotten. */
void peer_note_addresses(struct ptracemeter *meter, const struct path *path);
void peer_forget(struct ptracemeter *meter, const struct object *object);
/* The object whose path has these addresses in opposite order; NULL: none is known. */
struct object *peer_by_addresses(const struct ptracemeter *meter, const struct path_record *record);

#endif
