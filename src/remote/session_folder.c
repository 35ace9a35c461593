/* SPDX-License-Identifier: MIT */
/* session_folder.c: where sessions are. See remote.h. */
#include "remote/session_folder.h"
#include "base/folder.h"
#include "remote/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_FOR (7 * 24 * 3600) /* s */

/* NULL: the folder of all sessions. */
static int session_path(const char *session, char path[PATH_MAX], struct problem *problem)
{
    return folder_of_user("sessions", session, path, problem);
}

int session_folder_make(const char *session, char path[PATH_MAX], struct problem *problem)
{
    int result = session_path(session, path, problem);

    if (result < 0)
        return result;
    result = folder_make_parents(path);
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
                                     used == 0 ? "; your sessions: " : " ", entry->d_name);
    if (folder != NULL)
        closedir(folder);
}

int remote_session_find(const char *session, char path[PATH_MAX], struct problem *problem)
{
    char others[256];
    struct stat status;
    int result = fabric_name_valid(session) ? session_path(session, path, problem) : -ENOENT;

    if (result == -EINVAL || result == -ENAMETOOLONG)
        return result;
    if (result == 0 && lstat(path, &status) == 0)
        return 0;
    name_sessions(others, sizeof(others));
    return problem_set(problem, -ENOENT, "there is no session '%s' of yours on this machine%s",
                       session, others[0] == '\0' ? "; there is none at all" : others);
}

int session_folder_attach(const char *session, struct fabric_server **ret_server,
                          struct problem *problem)
{
    char path[PATH_MAX], file[PATH_MAX + 16];
    int result = remote_session_find(session, path, problem);

    if (result < 0)
        return result;
    snprintf(file, sizeof(file), "%s/session.json", path);
    if (access(file, F_OK) < 0)
        return problem_set(problem, -ENOENT,
                           "session '%s' has no server of its own: give --fabric and --credentials",
                           session);
    return fabric_server_attach(path, ret_server, problem);
}

/* ---- controllers ---- */

#define LOCK_TRIES 10

static int open_lock(const char *path, int flags)
{
    char file[PATH_MAX + 16];

    snprintf(file, sizeof(file), "%s/controller", path);
    int descriptor = open(file, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    return descriptor < 0 ? -errno : descriptor;
}

/* 0: nobody. */
static pid_t holder_of(int descriptor)
{
    struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(descriptor, F_GETLK, &asked) == 0 && asked.l_type != F_UNLCK ? asked.l_pid : 0;
}

/* A lock that children do not inherit: the server's supervisor is a fork of the controller. Who holds it is asked after
 * it was refused; if nobody does any more, it is tried again. */
static int lock_file(const char *path, pid_t *ret_holder)
{
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int descriptor = open_lock(path, O_RDWR | O_CREAT);

    for (int i = 0; descriptor >= 0 && i < LOCK_TRIES; i++) {
        if (fcntl(descriptor, F_SETLK, &lock) == 0)
            return descriptor;
        if ((*ret_holder = holder_of(descriptor)) != 0)
            break;
    }
    if (descriptor >= 0)
        close(descriptor);
    return descriptor < 0 ? descriptor : -EBUSY;
}

int session_folder_lock(const char *session, const char *path, struct problem *problem)
{
    pid_t holder = 0;
    int descriptor = lock_file(path, &holder);

    if (descriptor >= 0)
        return descriptor;
    if (descriptor == -EBUSY)
        return problem_set(
            problem, descriptor,
            "session %s has a controller already: process %d; end it first, or choose "
            "another name with --session",
            session, (int)holder);
    return problem_set(problem, descriptor, "%s/controller: %s", path, strerror(-descriptor));
}

/* Only asks: a lock taken here would refuse a controller that begins just now. */
bool remote_session_controlled(const char *path)
{
    int descriptor = open_lock(path, O_RDWR);
    bool held = descriptor >= 0 && holder_of(descriptor) != 0;

    if (descriptor >= 0)
        close(descriptor);
    return held;
}

ssize_t remote_sessions(struct remote_session **ret_list, struct problem *problem)
{
    char path[PATH_MAX];
    struct remote_session *list = NULL;
    size_t count = 0, capacity = 0;
    struct dirent *entry;
    int result = session_path(NULL, path, problem);
    DIR *folder = result < 0 ? NULL : opendir(path);

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (!fabric_name_valid(entry->d_name))
            continue;
        if (array_reserve(&list, &capacity, count + 1, sizeof(*list)) < 0) {
            result = problem_set(problem, -ENOMEM, "out of memory");
            break;
        }
        struct remote_session *one = &list[count];
        snprintf(one->name, sizeof(one->name), "%.63s", entry->d_name);
        if (session_path(one->name, one->folder, NULL) < 0)
            continue;
        one->controlled = remote_session_controlled(one->folder);
        one->changed = (uint64_t)folder_changed(one->folder);
        count++;
    }
    if (folder != NULL)
        closedir(folder);
    if (result < 0) {
        free(list);
        return result;
    }
    *ret_list = list;
    return (ssize_t)count;
}

void session_folders_remove_old(void)
{
    struct remote_session *list = NULL;
    struct problem ignored;
    ssize_t count = remote_sessions(&list, &ignored);

    for (ssize_t i = 0; i < count; i++)
        if (!list[i].controlled && list[i].changed + KEPT_FOR < (uint64_t)time(NULL) &&
            fabric_server_stop(list[i].folder, &ignored) == 0)
            folder_remove(list[i].folder);
    if (count >= 0)
        free(list);
}
