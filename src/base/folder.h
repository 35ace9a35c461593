/* SPDX-License-Identifier: MIT */
/* folder.h: a folder with all that is in it. Links are not followed. */
#ifndef DPM_FOLDER_H
#define DPM_FOLDER_H

#include <time.h>

/* Removes as much as the user may remove. */
void folder_remove(const char *path);

/* When something in it last changed (seconds since 1970); 0: there is no such folder. */
time_t folder_changed(const char *path);

#endif
