/* SPDX-License-Identifier: MIT */
/*
 * process.h: what /proc says about a process or a thread.
 *
 *      /proc/PID/status, comm, cgroup ...   --> text
 *      /proc/PID/stat   4711 (a name) S 1 ... --> its fields
 *      /proc/PID/exe --> /usr/bin/redis-server (deleted)
 */
#ifndef DPM_PROCESS_H
#define DPM_PROCESS_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Calls `found` for each process that /proc lists, except our own, until it returns a negative errno. Returns that, 0, or
 * the error of listing /proc with a line in `problem`. */
int process_each(int (*found)(pid_t pid, void *context), void *context, struct problem *problem);

/* Reads the file /proc/PID/`name` as text, cut to `size` - 1 bytes. Returns the length of the text. If nothing can be
 * read, returns 0 and the text is empty. */
size_t process_read(pid_t pid, const char *name, char *text, size_t size);

/* Reads the name of a process or thread, as ps(1) shows it: any byte may be in it. The same. */
size_t process_name(pid_t pid, char *text, size_t size);

#define PROCESS_SHOWN_SIZE 32

/* "nginx[812]", for messages: with '?' for what is not printable ASCII. */
void process_shown(pid_t pid, char text[PROCESS_SHOWN_SIZE]);

/* Opens /proc/PID/maps. Since Linux 6.14 the kernel shows it to CAP_PERFMON, too, which dpm may have and its user not: so
 * it is opened without. The caller closes it. NULL: see errno. */
FILE *process_maps(pid_t pid);

/* Returns where field number `field` of /proc/PID/stat begins, counted from 1 as in proc(5); `field` must be greater
 * than 2, the name. NULL: there are fewer fields. */
const char *process_stat_field(const char *stat, unsigned field);

enum process_stat {
    PROCESS_PARENT = 4,
    PROCESS_FLAGS = 9, /* PF_... of the kernel */
    PROCESS_MAJOR_FAULTS = 12,
    PROCESS_START = 22,    /* ticks (sysconf(_SC_CLK_TCK)) since boot: with the pid, unique */
    PROCESS_RESIDENT = 24, /* pages */
    /* addresses; 0: exec has not mapped the program yet, or there is none; 1: not for us to see */
    PROCESS_CODE = 26,
    PROCESS_STACK = 28,
};

#define PROCESS_OF_KERNEL 0x00200000u /* PF_KTHREAD, in PROCESS_FLAGS: it has no program */

/* Reads this number of /proc/PID/stat. 0: it cannot be read. */
uint64_t process_stat_number(pid_t pid, enum process_stat field);

/* 0: it cannot be read, or lies outside of our PID namespace. */
pid_t process_parent(pid_t pid);

/* PROCESS_START; 0: the process has ended, though perhaps nobody has waited for it. */
uint64_t process_started(pid_t pid);

/* Whether one of its threads lives, perhaps not the first one: then it is a zombie in /proc, with several threads. */
bool process_lives(pid_t pid);

/* Writes the path of the program that the process executes, without the " (deleted)" of a replaced file. If it cannot
 * be read, returns false and the path is empty. */
bool process_program(pid_t pid, char *path, size_t size);

/* Opens a pidfd. Returns it or a negative errno. */
int process_open(pid_t pid);

/* Whether our child has ended. If so, *ret_status is as wait(2) returns it, and the child is reaped. */
bool process_has_ended(pid_t pid, int *ret_status);

/* The same, and waits for it. A process whose first thread has ended is a zombie in /proc, but has no status until all its
 * threads have ended. Returns false at once if it is not our child. */
bool process_await_end(pid_t pid, int timeout_ms, int *ret_status);

/* Whether a signal has stopped our child since the last call. */
bool process_has_stopped(pid_t pid);

#endif
