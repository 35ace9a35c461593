/* SPDX-License-Identifier: MIT */
/* listening.h: where dpmd listens. Private to dpmd. */
#ifndef DPM_LISTENING_H
#define DPM_LISTENING_H

#include "base/base.h"

struct listening {
    int socket;
    const char *path; /* of a socket that we have made; NULL: systemd has made it */
};

/* Takes the socket that systemd has passed (sd_listen_fds(3)), or makes one at `path`, which everybody may connect to. The
 * folder is made if necessary; a socket that nobody listens at is replaced. Returns 0, or a negative errno with a line in
 * `problem`: -EADDRINUSE (another dpmd runs) ... */
int listening_open(struct listening *listening, const char *path, struct problem *problem);

/* In a child: the parent goes on listening. */
void listening_close(struct listening *listening);

/* Nobody listens any longer; removes the socket that we have made. */
void listening_remove(struct listening *listening);

#endif
