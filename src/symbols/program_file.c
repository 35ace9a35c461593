/* SPDX-License-Identifier: MIT */
/*
 * program_file.c: opens the file that a process executes, and verifies that it is that file.
 *
 * The process's own link in /proc leads to the right file even if the name now leads to another one. If the process
 * has ended, or has executed something else since, the name may still lead to the file.
 */
#include "symbols/symbols_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const struct stat *status, struct file_identity identity)
{
    const struct file_identity own = {file_device(status->st_dev), status->st_ino};

    return S_ISREG(status->st_mode) && file_is_same(&own, &identity);
}

int program_file_open_path(const char *path, struct file_identity identity)
{
    struct stat status;
    /* the name may lead to a FIFO or a device by now: opening it must not block */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (file < 0)
        return -ENOENT;
    if (fstat(file, &status) < 0 || !is_file(&status, identity)) {
        close(file);
        return -ENOENT;
    }
    return file;
}

int program_file_open(const struct image_record *image, pid_t pid)
{
    struct file_identity identity = {image->device, image->inode};
    char path[64 + IMAGE_NAME_SIZE];
    int name_size = (int)strnlen(image->name, sizeof(image->name));

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    int file = program_file_open_path(path, identity);
    if (file < 0) {
        snprintf(path, sizeof(path), "/proc/%d/%s/%.*s", pid,
                 image->name[0] == '/' ? "root" : "cwd", name_size, image->name);
        file = program_file_open_path(path, identity);
    }
    if (file < 0) {
        snprintf(path, sizeof(path), "%.*s", name_size, image->name);
        file = program_file_open_path(path, identity);
    }
    return file;
}

void program_file_name(int file, char name[MODULE_NAME_SIZE])
{
    char link[64], path[PATH_MAX];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof(path));
    size_t size = length < 0 ? 0 : (size_t)length;
    /* the end of a long path is the more specific part */
    size_t skipped = size < MODULE_NAME_SIZE ? 0 : size - (MODULE_NAME_SIZE - 1);
    memset(name, 0, MODULE_NAME_SIZE);
    memcpy(name, path + skipped, size - skipped);
}
