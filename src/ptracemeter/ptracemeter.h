/* SPDX-License-Identifier: MIT */
/*
 * ptracemeter.h: the meter without privilege: traces a command and all its descendants with ptrace(2), and
 * hands out the same records as the kernel meter, as a source.
 *
 *      command ---- system calls that matter stop it (seccomp) ----> tracer, a thread of its own
 *      command <--- let go ------------------------------------------  |
 *                                                                     records, under a lock
 *      source  <------------------------------------------------------'
 *
 * One thread makes every call of ptrace and waits for all children of the process: no other thread may wait for
 * any. If the process ends, in whatever way, the traced processes are killed with it; but with `survive`, which
 * does without the filter and stops at each call, they run on.
 *
 * docs/architecture.md says what this meter cannot know.
 */
#ifndef DPM_PTRACEMETER_H
#define DPM_PTRACEMETER_H

#include "event/event.h"

#include <limits.h>
#include <sys/types.h>

struct ptracemeter;

struct ptracemeter_options {
    uint32_t flags; /* EVENT_FLAG bits and METER_FLAG_PC */
    uint32_t kinds; /* METER_TCP ...: other paths are let through; 0 = all */
    bool survive;   /* without the filter, slower: who is traced outlives the tracer */
};

/* Why this program cannot be metered here, in one line; its return value is then -ENOEXEC (a program
 * of 32 bits). `command` is looked up in PATH; one that cannot be found is not refused. */
int ptracemeter_refuses(const char *command, struct problem *problem);

/* Makes the filter. Nothing is traced yet. Errors: -ENOMEM, -ENOTSUP ... with a line in `problem`. */
int ptracemeter_open(const struct ptracemeter_options *options, struct ptracemeter **ret_meter,
                     struct problem *problem);

/* To be called in the command's process, when it is about to execute its program: loads the filter. `meter` is a
 * struct ptracemeter. Allocates nothing. Returns 0 or a negative errno. */
int ptracemeter_enter(void *meter);

/* Starts the tracer on a process that is suspended and has one thread, a child of ours: its metering begins when it next
 * executes a program. From now on nobody else may wait for children, and SIGCHLD tells of their ends, not of stops. Errors: -ESRCH, -EPERM (another
 * tracer has it, or it may not be traced) ... with a line in `problem`. */
int ptracemeter_mark(struct ptracemeter *meter, pid_t pid, struct problem *problem);

/* Whether the marked process has ended; then *ret_status is as wait(2) gives it, and it is reaped. */
bool ptracemeter_ended(const struct ptracemeter *meter, int *ret_status);

/* Whether a signal has stopped it since that was asked last. */
bool ptracemeter_stopped(struct ptracemeter *meter);

/* Readable once the marked process has ended, and again when the last of all has. The meter's. */
int ptracemeter_descriptor(const struct ptracemeter *meter);

/* As the options said; the kinds of paths that are metered. */
bool ptracemeter_survives(const struct ptracemeter *meter);
uint32_t ptracemeter_kinds(const struct ptracemeter *meter);

/* Streams that are traced now. */
uint32_t ptracemeter_live(const struct ptracemeter *meter);

/* The records, in order of time. One origin. Belongs to the meter. next() never waits. It ends when nobody is
 * traced any more, or after ptracemeter_stop. */
struct source *ptracemeter_source(struct ptracemeter *meter);

/* No more records are made or kept; whoever is traced is let go on, still traced. */
void ptracemeter_stop(struct ptracemeter *meter);

/* With `survive`: lets go of everybody, who run on untraced, and returns when it is done. Else kills them: without a tracer
 * the filter would have their calls fail. The source ends when that is done. */
void ptracemeter_detach(struct ptracemeter *meter);

struct ptracemeter_process {
    pid_t pid;
    char name[STREAM_NAME_SIZE];
};

/* The processes that were let go of; *ret_list is the meter's. Returns how many. */
size_t ptracemeter_left(const struct ptracemeter *meter,
                        const struct ptracemeter_process **ret_list);

/* Records that were dropped, for while everybody is let go of (`survive`) nobody reads. To be called when the source has
 * ended. */
uint64_t ptracemeter_lost(const struct ptracemeter *meter);

/* What was not metered, or is not certain, each in a line without its end: calls `tell` once for each. To be called
 * when the source has ended. */
void ptracemeter_report(const struct ptracemeter *meter,
                        void (*tell)(const char *sentence, void *context), void *context);

/* Ends the tracer and frees all. Who is traced still is killed, with `survive` let go. NULL is allowed. */
void ptracemeter_close(struct ptracemeter *meter);

/* ---- what works on this machine ---- */

#define PTRACEMETER_KILLED INT_MIN /* whoever asks is ended, or was before it came so far */

/* What came of each, tried in this order: 0, a negative errno, or PTRACEMETER_KILLED. */
struct ptracemeter_trial {
    int trace;       /* PTRACE_SEIZE of a child */
    int filter;      /* the meter's own filter stops it at its call */
    int information; /* PTRACE_GET_SYSCALL_INFO */
    int memory;      /* process_vm_readv() */
    int files;       /* /proc/PID/fd */
    int descriptors; /* pidfd_getfd(): without it pipes are metered, sockets are not */
    int schedule; /* /proc/PID/schedstat: without it there are no CPU times; -ENODATA: it does not count */
    int scope; /* Yama's ptrace_scope, 0 to 3, or a negative errno: there is no Yama */
};

/* Tries the meter on a process of its own, which takes some milliseconds. Errors: it could not be tried, with a line in
 * `problem`. */
int ptracemeter_try(struct ptracemeter_trial *ret_trial, struct problem *problem);

/* Whether all is there that it cannot do without. */
bool ptracemeter_works(const struct ptracemeter_trial *trial);

#endif
