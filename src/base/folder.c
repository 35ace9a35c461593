/* SPDX-License-Identifier: MIT */
/* folder.c: see folder.h. */
#include "base/folder.h"

#include "base/base.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

void folder_of_host(char ret_name[FOLDER_HOST_SIZE])
{
    char host[HOST_NAME_MAX + 1] = "";

    gethostname(host, sizeof(host) - 1);
    size_t length = strlen(host);
    for (char *at = host; (at = strchr(at, '/')) != NULL; *at = '-')
        ;
    if (length == 0 || host[0] == '.')
        snprintf(ret_name, FOLDER_HOST_SIZE, "host");
    else if (length < FOLDER_HOST_SIZE)
        snprintf(ret_name, FOLDER_HOST_SIZE, "%.*s", FOLDER_HOST_SIZE - 1, host);
    else
        snprintf(ret_name, FOLDER_HOST_SIZE, "%.11s-%08" PRIx32, host,
                 (uint32_t)hash_bytes(0, host, length));
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

/* ---- of the user ---- */

int folder_of_user(const char *kind, const char *name, char path[PATH_MAX], struct problem *problem)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool own = state != NULL && state[0] == '/';
    char host[FOLDER_HOST_SIZE];

    if (!own && (home == NULL || home[0] != '/'))
        return problem_set(problem, -EINVAL, "HOME is not set: there is no place for %s", kind);
    folder_of_host(host);
    int length = snprintf(path, PATH_MAX, "%s%s/dpm/%s/%s%s%s", own ? state : home,
                          own ? "" : "/.local/state", host, kind, name == NULL ? "" : "/",
                          name == NULL ? "" : name);
    return length < PATH_MAX ? 0
                             : problem_set(problem, -ENAMETOOLONG, "the path of HOME is too long");
}

int folder_make_parents(char *path)
{
    for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST) {
            int error = errno;
            *slash = '/';
            return -error;
        }
    }
    return 0;
}
