/* SPDX-License-Identifier: MIT */
/*
 * agent_requests.h: the parameters of what agents are asked about processes and recordings. docs/control-protocol.md describes them.
 *
 *      request_signal(812, "KILL")    {"pid": 812, "signal": "KILL"}
 */
#ifndef DPM_AGENT_REQUESTS_H
#define DPM_AGENT_REQUESTS_H

#include "base/base.h"

#include <jansson.h>
#include <sys/types.h>

json_t *request_process(pid_t pid); /* process.start */
json_t *request_signal(pid_t pid, const char *signal);

/* process.input. `end`: nothing follows. NULL: out of memory. */
json_t *request_input(pid_t pid, const void *bytes, size_t size, bool end);

json_t *request_recording(const char *recording); /* recording.state, .end, .flush */

/* recording.flags of a recording. */
json_t *request_flags(const char *recording, uint64_t flags);

#endif
