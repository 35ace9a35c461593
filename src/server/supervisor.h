/* SPDX-License-Identifier: MIT */
/* supervisor.h: the process that keeps a session's server running. Private to server/. */
#ifndef DPM_SUPERVISOR_H
#define DPM_SUPERVISOR_H

#include "base/base.h"

#include <sys/types.h>

/* Starts it, detached. `folder` is absolute; `server`: the path of nats-server. A supervisor that finds another one at work
 * ends at once. */
int supervisor_start(const char *folder, const char *server, uint64_t memory_bytes,
                     unsigned idle_seconds, struct problem *problem);

/* The process ID of the folder's supervisor; 0: none runs; or a negative errno. */
pid_t supervisor_find(const char *folder);

#endif
