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
 * any, and SIGCHLD tells of their ends, not of stops. If the process ends, in whatever way, the traced processes are killed with it; but with `survive`, which
 * does without the filter and stops at each call, they run on.
 *
 * docs/architecture.md says what this meter cannot know.
 */
#ifndef DPM_PTRACEMETER_H
#define DPM_PTRACEMETER_H

#include "meter/shared/meter_interface.h"

#include <limits.h>

struct ptracemeter_options {
    uint32_t flags; /* EVENT_FLAG bits and METER_FLAG_PC */
    uint32_t kinds; /* METER_TCP ...: other paths are let through; 0 = all */
    bool survive;   /* without the filter, slower: who is traced outlives the tracer */
};

/* Why this program cannot be metered here, in one line; its return value is then -ENOEXEC (a program
 * of 32 bits). `command` is looked up in PATH; one that cannot be found is not refused. */
int ptracemeter_refuses(const char *command, struct problem *problem);

/* Makes the filter. Nothing is traced yet.
 *
 * Of meter_interface.h: `enter` loads the filter. `mark` starts the tracer. `detach` lets go of everybody with `survive`,
 * who run on untraced, and returns when it is done; else it kills them: without a tracer the filter would have their calls
 * fail. The source ends when that is done, when nobody is traced any more, or after `stop`; `lost` is known then: records
 * that were dropped, for while everybody is let go of nobody reads. `close` ends as `detach` does.
 * Errors: -ENOMEM, -ENOTSUP (it cannot record any of these flags) ... with a line in `problem`. */
int ptracemeter_open(const struct ptracemeter_options *options, struct meter_interface **ret_meter,
                     struct problem *problem);

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
