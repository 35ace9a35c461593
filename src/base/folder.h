/* SPDX-License-Identifier: MIT */
/* folder.h: a folder with all that is in it. Links are not followed. */
#ifndef DPM_FOLDER_H
#define DPM_FOLDER_H

#include "base/base.h"

#include <limits.h>
#include <time.h>

/* Removes as much as the user may remove. */
void folder_remove(const char *path);

/* A name for the folder of what belongs to this host, where several hosts share a home folder (NFS): its host name, or the
 * beginning of a long one, as paths of sockets are short. */
#define FOLDER_HOST_SIZE 21
void folder_of_host(char ret_name[FOLDER_HOST_SIZE]);

/* Where DPM keeps things of this user on this host, from XDG_STATE_HOME or HOME: "/home/a/.local/state/dpm/web1/sessions/NAME".
 * `name` NULL: the folder of all of this kind. Returns 0, or a negative errno with a line in `problem`. */
int folder_of_user(const char *kind, const char *name, char path[PATH_MAX],
                   struct problem *problem);

/* Creates the folders above this path; others may not read those. Returns 0 or a negative errno. */
int folder_make_parents(char *path);

/* When something in it last changed (seconds since 1970); 0: there is no such folder. */
time_t folder_changed(const char *path);

#endif
