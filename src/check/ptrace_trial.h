/* SPDX-License-Identifier: MIT */
/* ptrace_trial.h: what the ptrace meter needs, tried. Private to check/. */
#ifndef DPM_PTRACE_TRIAL_H
#define DPM_PTRACE_TRIAL_H

#include "base/base.h"

#include <limits.h>

#define PTRACE_KILLED INT_MIN /* whoever asks is ended, or was before it came so far */

/* What came of each, tried in this order: 0, a negative errno, or PTRACE_KILLED. */
struct ptrace_trial {
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
int ptrace_try(struct ptrace_trial *ret_trial, struct problem *problem);

/* Whether all is there that it cannot do without. */
bool ptrace_works(const struct ptrace_trial *trial);

#endif
