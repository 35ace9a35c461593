/* SPDX-License-Identifier: MIT */
/*
 * pipe_facts.c: what a pipe or FIFO is, and whether it is still the same one.
 *
 *      inode 4711, generation 1   closed by all, removed     |   inode 4711, generation 2     another FIFO
 *      inode 4711, generation 1   closed by all: emptied     |   opened again                 another path, too
 */
#include "ptracemeter/pipe_facts.h"

#include "ptracemeter/descriptors.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200 /* Linux 6.5 */
#endif

/* Whether it is a pipe rather than a FIFO. `name`: of its file; empty without /proc. */
static bool is_nameless(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                        const char *name)
{
    struct statfs system;

    if (!meter->no_proc)
        return strncmp(name, "pipe:", 5) == 0;
    int copy = descriptor_borrow(meter, tracee, descriptor);
    bool nameless = copy >= 0 && fstatfs(copy, &system) == 0 && system.f_type == PIPEFS_MAGIC;
    if (copy >= 0)
        close(copy);
    return nameless;
}

/* What distinguishes a FIFO from others that have had its inode number before: the file system's handle, with a
 * generation, or else the time of its creation. 0: not known. */
uint64_t pipe_generation(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct {
        struct file_handle handle;
        unsigned char bytes[MAX_HANDLE_SZ];
    } one = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
    struct statx times;
    char path[64];
    int mount;

    if (meter->no_proc)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", tracee->tid, descriptor);
    if (name_to_handle_at(AT_FDCWD, path, &one.handle, &mount, AT_SYMLINK_FOLLOW) == 0 ||
        name_to_handle_at(AT_FDCWD, path, &one.handle, &mount, AT_SYMLINK_FOLLOW | AT_HANDLE_FID) ==
            0)
        return hash_bytes((uint64_t)one.handle.handle_type, one.handle.f_handle,
                          one.handle.handle_bytes);
    if (statx(AT_FDCWD, path, 0, STATX_BTIME, &times) < 0 || !(times.stx_mask & STATX_BTIME))
        return 0;
    const uint64_t words[2] = {(uint64_t)times.stx_btime.tv_sec, times.stx_btime.tv_nsec};
    return hash_bytes(0, words, sizeof(words));
}

bool pipe_look(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
               int descriptor)
{
    char path[64], name[4096];

    if ((meter->options.kinds & METER_PIPE) == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", tracee->tid, descriptor);
    ssize_t length = meter->no_proc ? 0 : readlink(path, name, sizeof(name) - 1);
    name[length < 0 ? 0 : length] = '\0';
    object->kind = is_nameless(meter, tracee, descriptor, name) ? PATH_PIPE : PATH_FIFO;
    object->connected = true;
    object->cookie = (uint64_t)++meter->last_pipe << 1;
    if (object->kind == PATH_PIPE)
        return true;
    const char *last = strrchr(name, '/');
    object->generation = pipe_generation(meter, tracee, descriptor);
    object->facts.name_end = PATH_NAME_LOCAL;
    snprintf(object->facts.name, sizeof(object->facts.name), "%.*s", PATH_NAME_SIZE - 1,
             last == NULL ? name : last + 1);
    return true;
}

/* Whether the kernel has emptied a FIFO that was open before: it does so when all have closed it. When it did is
 * unknown, but bytes that should be in it and are not show that it did. */
bool pipe_was_emptied(struct ptracemeter *meter, struct tracee *tracee, const struct object *fifo,
                      int descriptor)
{
    const struct path *written = fifo->ends[PIPE_WRITTEN], *read = fifo->ends[PIPE_READ];
    uint32_t left = (written == NULL ? 0 : written->out) - (read == NULL ? 0 : read->in);
    int copy, bytes = 0;

    if (left == 0 || fifo->packets || meter->no_copies)
        return false;
    copy = descriptor_borrow(meter, tracee, descriptor);
    bool emptied = copy >= 0 && ioctl(copy, FIONREAD, &bytes) == 0 && (uint32_t)bytes < left;
    if (copy >= 0)
        close(copy);
    return emptied;
}
