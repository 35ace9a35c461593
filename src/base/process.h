/* SPDX-License-Identifier: MIT */
/*
 * process.h: what /proc tells of a process, or of a thread.
 *
 *      /proc/PID/status, comm, cgroup ...   --> text
 *      /proc/PID/stat   4711 (a name) S 1 ... --> its fields
 *      /proc/PID/exe --> /usr/bin/redis-server (deleted)
 */
#ifndef DPM_PROCESS_H
#define DPM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads the file `name` of a process as text, as far as it has room. Returns how long that is; 0: nothing can be read, and
 * the text is empty. */
size_t process_read(pid_t pid, const char *name, char *text, size_t size);

/* Where a field of the text of /proc/PID/stat begins, counted from 1 as in proc(5), behind the name (2); NULL: it has not so
 * many. */
const char *process_stat_field(const char *stat, unsigned field);

/* The path of the program that it executes, whether or not the file has been replaced since. Returns whether that can be
 * read; if not, the path is empty. */
bool process_program(pid_t pid, char *path, size_t size);

#endif
