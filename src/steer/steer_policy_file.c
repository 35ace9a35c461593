/* SPDX-License-Identifier: MIT */
/*
 * steer_policy_file.c: policies, and the commands that they name, must be files that no other user can change. See steer.h.
 *
 *      /usr/local/bin/w -> /home/deploy/current/w      with  current -> /srv/x     checks the folders of
 *      /usr/local/bin/w, /home/deploy/current/w, /srv/x/w
 */
#include "steer/steer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* ---- owners ---- */

/* A user who may write it may do what we may. */
static int check_owner(const char *file, const struct stat *status, struct problem *problem)
{
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return problem_set(
            problem, -EACCES,
            "%.300s: it belongs to another user (uid %u): make it your own, or root's", file,
            status->st_uid);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return problem_set(problem, -EACCES, "%.300s: others may write it: chmod go-w", file);
    return 0;
}

static int read_file(const char *file, char *text, size_t *ret_size, struct problem *problem)
{
    int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    ssize_t got = 1;
    size_t size = 0;

    if (descriptor < 0 || fstat(descriptor, &status) < 0) {
        int error = -errno;
        if (descriptor >= 0)
            close(descriptor);
        return problem_set(problem, error, "%.300s: cannot be read: %s", file, strerror(-error));
    }
    int result = S_ISREG(status.st_mode)
                     ? check_owner(file, &status, problem)
                     : problem_set(problem, -EINVAL, "%.300s: it is no file", file);
    while (result == 0 && got > 0 && size <= POLICY_SIZE_MOST) {
        got = read(descriptor, text + size, POLICY_SIZE_MOST + 1 - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (result == 0 && got < 0)
        result = problem_set(problem, -errno, "%.300s: cannot be read: %s", file, strerror(errno));
    close(descriptor);
    *ret_size = size;
    return result;
}

/* A user who may write a folder puts another file in its place, except where the sticky bit keeps the files of others. */
static int check_folders(const char *file, struct problem *problem)
{
    char path[PATH_MAX];
    struct stat status;
    int result = 0;

    for (const char *at = file; result == 0 && (at = strchr(at, '/')) != NULL; at++) {
        snprintf(path, sizeof(path), "%.*s", at == file ? 1 : (int)(at - file), file);
        if (stat(path, &status) < 0)
            return problem_set(problem, -errno, "%.200s: %s", path, strerror(errno));
        if ((status.st_mode & S_ISVTX) != 0)
            status.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
        result = check_owner(path, &status, problem);
    }
    return result;
}

/* ---- links ---- */

/* The first of the folders, or the file itself, that is a link: the size of its path; 0: there is none. */
static size_t find_link(const char *file, struct stat *ret_status)
{
    char path[PATH_MAX];

    for (const char *at = file; *at != '\0';) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        snprintf(path, sizeof(path), "%.*s", (int)(at - file), file);
        if (lstat(path, ret_status) == 0 && S_ISLNK(ret_status->st_mode))
            return (size_t)(at - file);
    }
    return 0;
}

/* Puts where it leads in the place of the link: /opt/now/bin/w --/opt/now -> v2--> /opt/v2/bin/w. Returns 0 or a negative errno. */
static int follow_link(char file[PATH_MAX], size_t link)
{
    char path[PATH_MAX], to[PATH_MAX];
    size_t folder = link;

    snprintf(path, sizeof(path), "%.*s", (int)link, file);
    ssize_t size = readlink(path, to, sizeof(to) - 1);
    if (size <= 0)
        return size < 0 ? -errno : -ENOENT;
    to[size] = '\0';
    while (file[folder - 1] != '/')
        folder--;
    if (to[0] == '/')
        folder = 0;
    if (folder + (size_t)size + strlen(file + link) >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(path, file, folder);
    memcpy(path + folder, to, (size_t)size);
    strcpy(path + folder + size, file + link);
    strcpy(file, path);
    return 0;
}

#define LINKS_MOST 40 /* as the kernel */

/* A user who may write a folder, or owns a link in one with the sticky bit, on any way that its links take, decides what runs. */
static int check_way(const char *file, struct problem *problem)
{
    char path[PATH_MAX];
    struct stat status;
    size_t link;

    if ((size_t)snprintf(path, sizeof(path), "%s", file) >= sizeof(path))
        return problem_set(problem, -ENAMETOOLONG, "%.200s: %s", file, strerror(ENAMETOOLONG));
    for (unsigned i = 0; i <= LINKS_MOST; i++) {
        int result = check_folders(path, problem);
        if (result < 0 || (link = find_link(path, &status)) == 0)
            return result;
        status.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH); /* nothing is written through these */
        result = check_owner(path, &status, problem);
        if (result < 0)
            return result;
        result = follow_link(path, link);
        if (result < 0)
            return problem_set(problem, result, "%.200s: %s", path, strerror(-result));
    }
    return problem_set(problem, -ELOOP, "%.200s: %s", file, strerror(ELOOP));
}

static int check_command(const char *file, struct problem *problem)
{
    struct stat status;

    if (stat(file, &status) < 0)
        return problem_set(problem, -errno, "%.200s: %s", file, strerror(errno));
    if (access(file, X_OK) < 0)
        return problem_set(problem, -errno, "%.200s: cannot be executed: %s", file,
                           strerror(errno));
    int result = check_owner(file, &status, problem);
    return result < 0 ? result : check_way(file, problem);
}

static int check_cgroup(const char *folder, struct problem *problem)
{
    struct statfs status;

    if (statfs(folder, &status) < 0)
        return problem_set(problem, -errno, "%.200s: %s", folder, strerror(errno));
    if (status.f_type != CGROUP_SUPER_MAGIC && status.f_type != CGROUP2_SUPER_MAGIC)
        return problem_set(problem, -EINVAL,
                           "%.200s: it is no cgroup: give its folder below "
                           "/sys/fs/cgroup",
                           folder);
    return 0;
}

/* And cgroups. */
static int check_commands(const struct steer_policy *policy, struct problem *problem)
{
    struct problem why;

    for (size_t i = 0; i < policy->act_count; i++) {
        const struct steer_act *act = &policy->acts[i];
        int result = act->words != NULL    ? check_command(act->words[0], &why)
                     : act->cgroup != NULL ? check_cgroup(act->cgroup, &why)
                                           : 0;
        if (result < 0)
            return problem_set(problem, result, "%.150s:%u: %.300s", policy->file, act->line,
                               why.text);
    }
    return 0;
}

int steer_policy_read(const char *file, struct steer_policy **ret_policy, struct problem *problem)
{
    struct steer_policy *policy = NULL;
    char *text = malloc(POLICY_SIZE_MOST + 1);
    size_t size = 0;
    int result = text == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                              : read_file(file, text, &size, problem);

    if (result == 0)
        result = steer_policy_parse(file, text, size, &policy, problem);
    free(text);
    if (result == 0)
        result = check_commands(policy, problem);
    if (result < 0) {
        if (policy != NULL)
            steer_policy_free(policy);
        return result;
    }
    *ret_policy = policy;
    return 0;
}
