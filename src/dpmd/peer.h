/* SPDX-License-Identifier: MIT */
/* peer.h: who asks for a session. Private to dpmd. */
#ifndef DPM_PEER_H
#define DPM_PEER_H

#include "meter/load/meter.h"

struct peer {
    pid_t pid;
    /* without any capabilities: what needs them is not metered for an ordinary user */
    struct meter_user user;
    bool everybody; /* may meter all processes */
    bool elsewhere; /* in another PID namespace than we are, or we cannot tell */
};

/*
 * Finds out who is at the other end of a connection, as the kernel knows it. User 0 may meter all processes if it has
 * CAP_SYS_PTRACE and is in our PID and user namespaces, so not from within a container. Otherwise it is refused (-EPERM): it would
 * count as the owner of all of root's processes. Errors come with a line in `problem` for the peer.
 */
int peer_of(int connection, struct peer *ret_peer, struct problem *problem);

/* The process of a pidfd, as a number in our PID namespace. Returns it, or a negative errno: -EBADF (not a pidfd), -ESRCH
 * (it has ended, or is in no PID namespace that we see). */
pid_t peer_process(int descriptor);

#endif
