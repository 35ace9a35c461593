/* SPDX-License-Identifier: MIT */
/* serve.h: one session. Private to dpmd. */
#ifndef DPM_SERVE_H
#define DPM_SERVE_H

#include "dpmd/peer.h"

/* Serves a peer's session until the peer closes the connection. Runs in a process of its own. */
void serve(int connection, const struct peer *peer, uint32_t ring_most);

/* Refuses a session: answers the peer's first request with this error. Does not wait for long. */
void serve_refusal(int connection, int error, const char *text);

#endif
