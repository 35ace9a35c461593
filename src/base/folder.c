/* SPDX-License-Identifier: MIT */
/* folder.c: see folder.h. */
#include "base/folder.h"

#include <ftw.h>
#include <stdio.h>

#define OPEN_MOST 16 /* folders at once */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

void folder_remove(const char *path)
{
    nftw(path, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static _Thread_local time_t newest;

static int note_change(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)path;
    (void)at;
    if (kind != FTW_NS && status->st_mtime > newest)
        newest = status->st_mtime;
    return 0;
}

time_t folder_changed(const char *path)
{
    newest = 0;
    nftw(path, note_change, OPEN_MOST, FTW_PHYS | FTW_MOUNT);
    return newest;
}
