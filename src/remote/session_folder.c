/* SPDX-License-Identifier: MIT */
/* session_folder.c: where sessions are. See remote.h. */
#include "remote/session_folder.h"
#include "remote/remote.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL: the folder of all sessions. */
static int session_path(const char *session, char path[PATH_MAX], struct problem *problem)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool own = state != NULL && state[0] == '/';

    if (!own && (home == NULL || home[0] != '/'))
        return problem_set(problem, -EINVAL, "HOME is not set: there is no place for the session");
    int length = snprintf(path, PATH_MAX, "%s%s/dpm/sessions%s%s", own ? state : home,
                          own ? "" : "/.local/state", session == NULL ? "" : "/",
                          session == NULL ? "" : session);
    return length < PATH_MAX ? 0
                             : problem_set(problem, -ENAMETOOLONG, "the path of HOME is too long");
}

/* Creates the folders above the session's; others may not read them. */
static int make_parents(char *path)
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

int session_folder_make(const char *session, char path[PATH_MAX], struct problem *problem)
{
    int result = session_path(session, path, problem);

    if (result < 0)
        return result;
    result = make_parents(path);
    if (result == 0 && mkdir(path, 0700) < 0)
        result = -errno;
    if (result == -EEXIST)
        return problem_set(problem, -EEXIST, "there is a session %s already, in %s", session, path);
    return result == 0 ? 0
                       : problem_set(problem, result, "cannot create the folder %s: %s", path,
                                     strerror(-result));
}

/* ---- sessions that there are ---- */

static void name_sessions(char *text, size_t size)
{
    char path[PATH_MAX];
    size_t used = 0;
    DIR *folder = session_path(NULL, path, NULL) < 0 ? NULL : opendir(path);
    struct dirent *entry;

    text[0] = '\0';
    while (folder != NULL && (entry = readdir(folder)) != NULL && used + 64 < size)
        if (fabric_name_valid(entry->d_name))
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     used == 0 ? "; there are: " : " ", entry->d_name);
    if (folder != NULL)
        closedir(folder);
}

int remote_session_attach(const char *session, struct fabric_server **ret_server,
                          struct problem *problem)
{
    char path[PATH_MAX], others[256];
    struct stat status;
    int result = fabric_name_valid(session) ? session_path(session, path, problem) : -ENOENT;

    if (result == -EINVAL || result == -ENAMETOOLONG)
        return result;
    if (result == 0 && lstat(path, &status) == 0)
        return fabric_server_attach(path, ret_server, problem);
    name_sessions(others, sizeof(others));
    return problem_set(problem, -ENOENT, "there is no session '%s' of yours on this machine%s",
                       session, others[0] == '\0' ? "; there is none at all" : others);
}
