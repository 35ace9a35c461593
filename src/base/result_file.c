/* SPDX-License-Identifier: MIT */
/* result_file.c: a file of results that is whole, or not there. See result_file.h. */
#include "base/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- where it lies ---- */

/* The folder of a path, with its slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (int)(slash - path) + 1;
}

/* /dev/stdout and /proc/self/fd/1 are links to open files, whose names count for nothing. */
static bool is_open_file(const char *path)
{
    char folder[PATH_MAX];
    struct statfs status;
    int length = folder_length(path);

    snprintf(folder, sizeof(folder), "%.*s", length, path);
    return length > 0 && statfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

#define LINKS_MOST 40 /* as the kernel follows */

/* Replaces the path of a symbolic link by what it leads to, also if that does not exist. Returns whether it has a name; or a
 * negative errno. */
static int follow_links(char path[PATH_MAX])
{
    char link[PATH_MAX], next[PATH_MAX];

    for (int i = 0; i < LINKS_MOST; i++) {
        ssize_t length = readlink(path, link, sizeof(link) - 1);
        if (length < 0)
            return 1; /* no link */
        if (is_open_file(path))
            return 0;
        link[length] = '\0';
        int folder = link[0] == '/' ? 0 : folder_length(path);
        if (snprintf(next, sizeof(next), "%.*s%s", folder, path, link) >= PATH_MAX)
            return -ENAMETOOLONG;
        memcpy(path, next, sizeof(next));
    }
    return -ELOOP;
}

static bool is_mount_point(const char *path)
{
    struct statx status;

    return statx(AT_FDCWD, path, 0, 0, &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* ---- the file beside it ---- */

#define NAME_MOST  200 /* bytes of the name that the file beside it has, too */
#define NAMES_MOST 100 /* files that earlier ones of the same process id have left */

/* Creates an empty file in the same folder. Returns a descriptor or a negative errno. */
static int create_beside(const char *target, char **ret_path)
{
    int folder = folder_length(target), file = -1;

    for (unsigned i = 0; i < NAMES_MOST; i++) {
        char *path;
        if (asprintf(&path, "%.*s.%.*s.%d%s%.*u.part", folder, target, NAME_MOST, target + folder,
                     getpid(), i == 0 ? "" : "-", i == 0 ? 0 : 1, i) < 0)
            return -ENOMEM;
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file >= 0) {
            *ret_path = path;
            return file;
        }
        int error = errno;
        free(path);
        if (error != EEXIST)
            return -error;
    }
    return -EEXIST;
}

/* As the file whose place it takes. Returns false if that is not possible. */
static bool make_alike(int file, const struct stat *old)
{
    struct stat new;

    if (fstat(file, &new) < 0)
        return false;
    if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
        fchown(file, old->st_uid, old->st_gid) < 0)
        return false;
    return fchmod(file, old->st_mode & 0777) == 0; /* last: a change of the owner clears bits */
}

/* Returns whether there is such a file now, or a negative errno. `old` NULL: the target does not exist. */
static int begin_beside(struct result_file *file, const char *target, const struct stat *old)
{
    if (old != NULL && is_mount_point(target))
        return 0;
    int descriptor = create_beside(target, &file->path);
    bool refused = descriptor == -EACCES || descriptor == -EPERM || descriptor == -EROFS;
    if (descriptor < 0) /* what is there can be written nevertheless */
        return old != NULL && refused ? 0 : descriptor;
    bool alike = old == NULL || make_alike(descriptor, old);
    close(descriptor);
    if (!alike) {
        unlink(file->path);
        free(file->path);
        file->path = NULL;
        return 0;
    }
    file->target = strdup(target);
    if (file->target != NULL)
        return 1;
    unlink(file->path);
    return -ENOMEM;
}

/* ---- from beginning to end ---- */

static int begin(struct result_file *file, const char *name)
{
    char target[PATH_MAX];
    struct stat old;
    int result;

    if (snprintf(target, sizeof(target), "%s", name) >= PATH_MAX)
        return -ENAMETOOLONG;
    bool exists = stat(name, &old) == 0;
    if (!exists && errno != ENOENT)
        return -errno;
    if (exists && S_ISDIR(old.st_mode))
        return -EISDIR;
    /* what may not be written is not to be replaced either */
    if (exists && faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) < 0)
        return -errno;
    result = exists && !S_ISREG(old.st_mode) ? 0 : follow_links(target);
    if (result > 0)
        result = begin_beside(file, target, exists ? &old : NULL);
    if (result == 0) {
        file->path = strdup(name);
        result = file->path == NULL ? -ENOMEM : 0;
    }
    return result < 0 ? result : 0;
}

static void done(struct result_file *file)
{
    free(file->path);
    free(file->target);
    *file = (struct result_file){0};
}

int result_file_begin(struct result_file *file, const char *name)
{
    *file = (struct result_file){0};
    int result = begin(file, name);
    if (result < 0)
        done(file);
    return result;
}

int result_file_end(struct result_file *file, int result)
{
    if (file->target != NULL && result >= 0 && rename(file->path, file->target) < 0)
        result = -errno;
    if (file->target != NULL && result < 0)
        unlink(file->path);
    done(file);
    return result;
}

int result_file_check(const char *name)
{
    struct result_file file;
    int result = result_file_begin(&file, name);

    if (result < 0)
        return result;
    if (file.target != NULL)
        unlink(file.path);
    done(&file);
    return 0;
}
