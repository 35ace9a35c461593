/* SPDX-License-Identifier: MIT */
/* process.c: reads a process's files in /proc. See process.h. */
#include "base/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int process_each(int (*found)(pid_t pid, void *context), void *context, struct problem *problem)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    int result = 0;

    if (folder == NULL)
        return problem_set(problem, -errno, "cannot list /proc: %s", strerror(errno));
    while (result >= 0 && (entry = readdir(folder)) != NULL) {
        pid_t pid =
            isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (pid != 0 && pid != getpid())
            result = found(pid, context);
    }
    closedir(folder);
    return result < 0 ? result : 0;
}

size_t process_read(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t length = 0;
    ssize_t got = 1;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        while (got > 0 && length < size - 1) {
            got = read(file, text + length, size - 1 - length);
            length += got > 0 ? (size_t)got : 0;
        }
        close(file);
    }
    text[length] = '\0';
    return length;
}

size_t process_name(pid_t pid, char *text, size_t size)
{
    size_t length = process_read(pid, "comm", text, size);

    if (length > 0 && text[length - 1] == '\n') /* others belong to the name */
        text[--length] = '\0';
    return length;
}

void process_shown(pid_t pid, char text[PROCESS_SHOWN_SIZE])
{
    char name[17];

    process_name(pid, name, sizeof(name));
    for (char *at = name; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    snprintf(text, PROCESS_SHOWN_SIZE, "%s[%d]", name, pid);
}

#define PERFMON_BIT (1u << CAP_PERFMON % 32)

/* Takes CAP_PERFMON from this thread's effective capabilities, or gives it back. Returns whether it had it. */
static bool set_perfmon(bool wanted)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    uint32_t *effective = &data[CAP_PERFMON / 32].effective;
    bool had = *effective & PERFMON_BIT;
    *effective = wanted ? *effective | PERFMON_BIT : *effective & ~PERFMON_BIT;
    return syscall(SYS_capset, &header, data) == 0 && had;
}

FILE *process_maps(pid_t pid)
{
    char path[64];
    bool had = set_perfmon(false);

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    int error = errno;
    if (had)
        set_perfmon(true);
    errno = error;
    return file;
}

const char *process_stat_field(const char *stat, unsigned field)
{
    const char *at = strrchr(stat, ')'); /* the name may contain ')': the last one ends it */

    for (unsigned is = 2; at != NULL && is < field; is++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

uint64_t process_stat_number(pid_t pid, enum process_stat field)
{
    char stat[1024];

    if (process_read(pid, "stat", stat, sizeof(stat)) == 0)
        return 0;
    const char *at = process_stat_field(stat, field);
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

pid_t process_parent(pid_t pid)
{
    return (pid_t)process_stat_number(pid, PROCESS_PARENT);
}

uint64_t process_started(pid_t pid)
{
    char stat[1024];

    if (process_read(pid, "stat", stat, sizeof(stat)) == 0)
        return 0;
    const char *state = process_stat_field(stat, 3),
               *start = process_stat_field(stat, PROCESS_START);
    return start == NULL || *state == 'Z' || *state == 'X' ? 0 : strtoull(start, NULL, 10);
}

bool process_lives(pid_t pid)
{
    char stat[1024];

    if (process_read(pid, "stat", stat, sizeof(stat)) == 0)
        return false;
    const char *state = process_stat_field(stat, 3), *threads = process_stat_field(stat, 20);
    return threads != NULL && ((*state != 'Z' && *state != 'X') || strtoul(threads, NULL, 10) > 1);
}

bool process_program(pid_t pid, char *path, size_t size)
{
    static const char deleted[] =
        " (deleted)"; /* the file has been replaced since, for example by an upgrade */
    const size_t more = strlen(deleted);
    char link[64];

    snprintf(link, sizeof(link), "/proc/%d/exe", pid);
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = '\0';
    if (length > (ssize_t)more && strcmp(path + length - more, deleted) == 0)
        path[(size_t)length - more] = '\0';
    return length > 0;
}

int process_open(pid_t pid)
{
    int descriptor = (int)syscall(SYS_pidfd_open, pid, 0);

    return descriptor < 0 ? -errno : descriptor;
}

bool process_has_ended(pid_t pid, int *ret_status)
{
    return waitpid(pid, ret_status, WNOHANG) == pid;
}

bool process_await_end(pid_t pid, int timeout_ms, int *ret_status)
{
    pid_t reaped = waitpid(pid, ret_status, WNOHANG);

    if (reaped != 0)
        return reaped == pid;
    struct pollfd file = {.fd = process_open(pid), .events = POLLIN};
    while (file.fd >= 0 && poll(&file, 1, timeout_ms) < 0 && errno == EINTR)
        continue;
    if (file.fd >= 0)
        close(file.fd);
    return process_has_ended(pid, ret_status);
}

bool process_has_stopped(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid;
}
