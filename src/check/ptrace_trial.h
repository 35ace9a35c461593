/* SPDX-License-Identifier: MIT */
/* ptrace_trial.h: tries the kernel features that the ptrace meter needs. Private to check/. */
#ifndef DPM_PTRACE_TRIAL_H
#define DPM_PTRACE_TRIAL_H

#include "base/base.h"

#include <limits.h>

#define PTRACE_KILLED INT_MIN /* the calling process was killed here, or at an earlier step */

/* The result of each step, in the order of trying: 0, a negative errno, or PTRACE_KILLED. */
struct ptrace_trial {
    int trace;       /* PTRACE_SEIZE of a child */
    int filter;      /* the meter's own filter stops the child at its call */
    int information; /* PTRACE_GET_SYSCALL_INFO */
    int memory;      /* process_vm_readv() */
    int files;       /* /proc/PID/fd */
    int descriptors; /* pidfd_getfd(): without it only pipes are metered, not sockets */
    /* /proc/PID/schedstat: without it there are no CPU times; -ENODATA: the kernel does not count them */
    int schedule;
    int scope; /* Yama's ptrace_scope, 0 to 3, or a negative errno if there is no Yama */
};

/* Tries the meter on a process of its own, which takes some milliseconds. Errors: the trial could not run, with a line
 * in `problem`. */
int ptrace_try(struct ptrace_trial *ret_trial, struct problem *problem);

/* Whether everything works that the ptrace meter requires. */
bool ptrace_works(const struct ptrace_trial *trial);

#endif
