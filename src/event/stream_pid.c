/* SPDX-License-Identifier: MIT */
/* stream_pid.c: finds a process in /proc by its STREAM record. */
#include "event/event.h"

#include <sys/stat.h>

pid_t stream_pid_here(const struct stream_record *stream)
{
    struct stat own;

    /* of all others only the initial one shows every process */
    if (stat("/proc/self/ns/pid", &own) != 0)
        return 0;
    if (stream->pid_namespace == own.st_ino)
        return (pid_t)stream->pid_inside;
    return own.st_ino == INITIAL_PID_NAMESPACE ? (pid_t)stream->pid : 0;
}
