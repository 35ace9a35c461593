/* SPDX-License-Identifier: MIT */
/*
 * sessions.h: which sessions there are, and whose. Private to dpmd.
 *
 *      /run/dpm/sessions/81726354   "1000 4711\n": the user, and the process that serves the session, which holds a lock
 *
 * A file of a session that has ended has no lock. So dpmd, killed and started again, still knows all sessions: their
 * processes have gone on.
 */
#ifndef DPM_SESSIONS_H
#define DPM_SESSIONS_H

#include "base/base.h"

#include <sys/types.h>

struct sessions {
    int folder;
};

struct session_count {
    unsigned all;
    unsigned of_user;
};

/* Opens the folder, and makes it if necessary. Returns 0, or a negative errno with a line in `problem`. */
int sessions_open(struct sessions *sessions, const char *folder, struct problem *problem);
void sessions_close(struct sessions *sessions);

/* Counts the sessions, and removes the files of those that have ended. Returns 0 or a negative errno. */
int sessions_count(const struct sessions *sessions, uid_t user, struct session_count *ret_count);

/* Adds a session. Returns a descriptor, which holds the lock as long as any process has it open; or a negative errno. */
int sessions_add(const struct sessions *sessions, uid_t user);

/* Notes in the session's file that this process serves it. */
void sessions_serve(int session, uid_t user);

/* Sends a signal to all processes that serve sessions. */
void sessions_signal(const struct sessions *sessions, int signal);

#endif
