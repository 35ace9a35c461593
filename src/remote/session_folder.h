/* SPDX-License-Identifier: MIT */
/* session_folder.h: creates the folder of a session. Private to remote/. */
#ifndef DPM_SESSION_FOLDER_H
#define DPM_SESSION_FOLDER_H

#include "base/base.h"

#include <limits.h>

/* Creates the folder of a new session, mode 0700, and those above it. Returns 0, or a negative errno with a line in
 * `problem`; -EEXIST: there is one. */
int session_folder_make(const char *session, char path[PATH_MAX], struct problem *problem);

#endif
