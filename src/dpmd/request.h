/* SPDX-License-Identifier: MIT */
/* request.h: what a peer may ask. Private to dpmd. */
#ifndef DPM_REQUEST_H
#define DPM_REQUEST_H

#include "meter/shared/session_protocol.h"

/*
 * How far a session is:
 *      NEW --OPEN--> OPENED --DETACH--> DETACHED
 */
enum session_state {
    SESSION_NEW,
    SESSION_OPENED,
    SESSION_DETACHED,
};

/* Checks a message, of any bytes, and the number of descriptors that came with it. `ring_most`: the largest data ring
 * allowed, in bytes. Returns 0, and then `request` is valid for this state; or a negative errno with a line in `problem`
 * for the peer: -EPROTO (not a request, or of another version), -EINVAL, -EPERM (not in this state). */
int request_check(const struct session_request *request, size_t size, size_t descriptors,
                  enum session_state state, uint32_t ring_most, struct problem *problem);

#endif
