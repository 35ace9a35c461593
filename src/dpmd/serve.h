/* SPDX-License-Identifier: MIT */
/* serve.h: one session. Private to dpmd. */
#ifndef DPM_SERVE_H
#define DPM_SERVE_H

#include "dpmd/peer.h"

/* Serves a peer's session until the peer has closed the connection and its rings. Runs in a process of its own. */
void serve(int connection, const struct peer *peer, uint32_t ring_most);

#endif
