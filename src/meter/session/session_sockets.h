/* SPDX-License-Identifier: MIT */
/*
 * session_sockets.h: UNIX sockets that have begun or ended in the records read so far, and that dpmd has not been told
 * of. It looks for those that are closed. Private to meter/session.
 */
#ifndef DPM_SESSION_SOCKETS_H
#define DPM_SESSION_SOCKETS_H

#include "meter/shared/session_protocol.h"

/* All zero: empty. */
struct session_sockets {
    struct session_socket *list;
    size_t count;
    size_t capacity;
    size_t taken;
    struct intern known; /* numbers of the paths of UNIX sockets that dpmd knows */
};

void session_sockets_done(struct session_sockets *sockets);

/* Notes a PATH or DESTROYPATH record; ignores others. Returns 0 or -ENOMEM. */
int session_sockets_note(struct session_sockets *sockets, const struct record_header *record);

/* Moves some into the request; false: there are none. */
bool session_sockets_take(struct session_sockets *sockets, struct session_request *request);

#endif
