/* SPDX-License-Identifier: MIT */
/* session_folder.h: the folders of sessions. Private to remote/. */
#ifndef DPM_SESSION_FOLDER_H
#define DPM_SESSION_FOLDER_H

#include "base/base.h"
#include "server/server.h"

#include <limits.h>

/* Creates the folder of a new session, mode 0700, and those above it. Returns 0, or a negative errno with a line in
 * `problem`; -EEXIST: there is one. */
int session_folder_make(const char *session, char path[PATH_MAX], struct problem *problem);

/* Attaches to a session with a server of its own. -ENOENT: there is none of this name; the line names those there are. */
int session_folder_attach(const char *session, struct fabric_server **ret_server,
                          struct problem *problem);

/* Becomes the session's one controller, as long as the descriptor that is returned is open. -EBUSY: another process is. */
int session_folder_lock(const char *session, const char *path, struct problem *problem);

/* Removes sessions that have had no controller, server or filter for a week. */
void session_folders_remove_old(void);

#endif
