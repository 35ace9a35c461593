/* SPDX-License-Identifier: MIT */
/*
 * session.h: the kernel meter for users who may not load it: dpmd loads it and hands out its rings. See
 * session_protocol.h for the exchange. Everything except opening is in meter_interface.h.
 *
 *      dpmd --descriptors--> rings --+
 *           --records-------------->-+--> sorted by time --> source
 */
#ifndef DPM_SESSION_H
#define DPM_SESSION_H

#include "meter/shared/meter_interface.h"

struct session_options {
    uint64_t flags;       /* EVENT_FLAG bits and METER_FLAG_PC, for all marked processes */
    uint64_t later_flags; /* that `change` may set, besides these */
    uint32_t kinds;       /* METER_TCP ...; 0 = all */
    uint32_t later_kinds; /* as in struct meter_options */
    uint32_t ring_size;   /* bytes of the data ring; 0 = the default */
    bool selects;         /* selection rules may be put in force: meter_interface.selection */
};

/* Where dpmd listens: $DPM_SOCKET, else SESSION_SOCKET. */
const char *session_socket(void);

/* Whether there is a socket that we may connect to. Whether dpmd answers is another question. */
bool session_is_offered(void);

/* Asks dpmd for a meter. Errors: -ECONNREFUSED, -ENOENT (dpmd does not run), -EPERM, -EUSERS (too many sessions) ..., with
 * a line in `problem`. The kernel removes everything when the caller ends, even by kill -9. If dpmd ends the session,
 * the source ends with -ECONNRESET after the last record. */
int session_open(const struct session_options *options, struct meter_interface **ret_meter,
                 struct problem *problem);

#endif
