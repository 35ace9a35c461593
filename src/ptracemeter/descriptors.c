/* SPDX-License-Identifier: MIT */
/*
 * descriptors.c: finds the object behind a descriptor, and caches it until the descriptor is closed.
 *
 *      table    [0] NO_OBJECT  [1] -> pipe  [2] NULL  [3] -> socket ...
 *                 no path                   not looked at yet
 *
 * Threads share a table; a fork copies it. While a thread is inside a call that closes descriptors, nothing is cached:
 * a number may refer to another file before that call ends.
 */
#include "ptracemeter/descriptors.h"

#include "ptracemeter/objects.h"
#include "ptracemeter/tracees.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_DESCRIPTORS (1u << 20) /* in a table; higher ones are looked up at each use */

struct table *table_new(void)
{
    struct table *table = calloc(1, sizeof(*table));

    if (table != NULL)
        table->users = 1;
    return table;
}

struct table *table_copy(struct ptracemeter *meter, const struct table *table)
{
    struct table *copy = table_new();

    if (copy == NULL || table == NULL)
        return copy;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->at[i] != NULL)
            descriptor_set(meter, copy, (int)i, table->at[i]);
    return copy;
}

static void release(struct ptracemeter *meter, struct object **place)
{
    struct object *object = *place;

    *place = NULL;
    if (is_object(object))
        object_released(meter, object);
}

void table_leave(struct ptracemeter *meter, struct table *table)
{
    if (table == NULL || --table->users > 0)
        return;
    for (size_t i = 0; i < table->capacity; i++)
        release(meter, &table->at[i]);
    free(table->at);
    free(table);
}

void descriptor_set(struct ptracemeter *meter, struct table *table, int descriptor,
                    struct object *object)
{
    if (descriptor < 0 || (unsigned)descriptor >= MOST_DESCRIPTORS ||
        array_reserve(&table->at, &table->capacity, (size_t)descriptor + 1, sizeof(table->at[0])) <
            0)
        return;
    if (is_object(object))
        object->holders++;
    release(meter, &table->at[descriptor]);
    table->at[descriptor] = object;
}

void descriptor_forget(struct ptracemeter *meter, struct table *table, int descriptor)
{
    if (descriptor >= 0 && (size_t)descriptor < table->capacity)
        release(meter, &table->at[descriptor]);
}

void descriptors_forget_range(struct ptracemeter *meter, struct table *table, uint32_t first,
                              uint32_t last)
{
    for (size_t i = first; i < table->capacity && i <= last; i++)
        release(meter, &table->at[i]);
}

static void path_of_descriptor(const struct tracee *tracee, int descriptor, char path[64])
{
    snprintf(path, 64, "/proc/%d/fd/%d", tracee->tid, descriptor);
}

void descriptors_after_exec(struct ptracemeter *meter, struct tracee *tracee)
{
    struct table *table = tracee->table;
    struct stat link;
    char path[64];

    for (size_t i = 0; i < table->capacity; i++) {
        if (table->at[i] == NULL)
            continue;
        path_of_descriptor(tracee, (int)i, path);
        if (!is_object(table->at[i]) || meter->no_proc || lstat(path, &link) < 0)
            release(meter, &table->at[i]);
    }
}

/* ---- copies ---- */

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

/* Whether its process's first thread has the same descriptors. It need not: a thread may have unshared its own, and
 * the first one may have ended. */
static bool shares_with_first(const struct ptracemeter *meter, const struct tracee *tracee)
{
    if (tracee->tid == tracee->process->pid)
        return true;
    const struct tracee *first = tracee_find(meter, tracee->process->pid);
    return first != NULL && first->table == tracee->table;
}

int descriptor_borrow(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    bool shares = shares_with_first(meter, tracee);
    int *pid_fd = shares ? &tracee->process->pid_fd : &tracee->thread_fd;

    if (*pid_fd == -1)
        *pid_fd = (int)syscall(SYS_pidfd_open, shares ? tracee->process->pid : tracee->tid,
                               shares ? 0 : PIDFD_THREAD);
    if (*pid_fd == -1 && !shares)
        *pid_fd = -2;
    if (*pid_fd == -2)
        errno = ENOTSUP;
    return *pid_fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, *pid_fd, descriptor, 0);
}

bool descriptors_have_proc(void)
{
    char name[32];
    ssize_t length = readlink("/proc/self", name, sizeof(name) - 1);

    name[length < 0 ? 0 : length] = '\0';
    return atoi(name) == getpid();
}

bool descriptor_is_written(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct stat link;
    char path[64];

    if (!meter->no_proc) {
        path_of_descriptor(tracee, descriptor, path);
        return lstat(path, &link) == 0 && (link.st_mode & S_IWUSR);
    }
    int copy = descriptor_borrow(meter, tracee, descriptor);
    int flags = copy < 0 ? -1 : fcntl(copy, F_GETFL);
    if (copy >= 0)
        close(copy);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

bool descriptor_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                     struct stat *ret_file)
{
    char path[64];

    if (!meter->no_proc) {
        path_of_descriptor(tracee, descriptor, path);
        return stat(path, ret_file) == 0;
    }
    int copy = descriptor_borrow(meter, tracee, descriptor);
    if (copy < 0)
        return false;
    bool found = fstat(copy, ret_file) == 0;
    close(copy);
    return found;
}

/* Checks whether the process's descriptors can be looked at. Reports once per process if not. (A /proc mounted with
 * hidepid=invisible hides a process that may not be looked into.) */
static void look_whether_readable(struct ptracemeter *meter, struct tracee *tracee, int error)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", tracee->tid);
    if (tracee->process->unreadable || error == EBADF ||
        (!meter->no_proc && access(path, R_OK | X_OK) == 0))
        return;
    tracee->process->unreadable = true;
    meter->doubtful = true; /* its sends and receives are not counted */
    tracee_falls_short(tracee, &meter->shortfalls.unreadable);
}

static struct object *look_at(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct stat file;

    if (!descriptor_file(meter, tracee, descriptor, &file)) {
        look_whether_readable(meter, tracee, errno);
        return NULL;
    }
    if (!S_ISSOCK(file.st_mode) && !S_ISFIFO(file.st_mode))
        return NO_OBJECT;
    return object_of_file(meter, tracee, descriptor, &file);
}

struct object *descriptor_object(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct table *table = tracee->table;

    if (descriptor < 0)
        return NO_OBJECT;
    if ((size_t)descriptor < table->capacity && table->at[descriptor] != NULL) {
        struct object *known = table->at[descriptor];
        if (is_object(known) && !known->connected)
            object_look_again(meter, tracee, known, descriptor);
        return known;
    }
    struct object *object = look_at(meter, tracee, descriptor);
    if (object != NULL && table->changing == 0)
        descriptor_set(meter, table, descriptor, object);
    return object;
}
