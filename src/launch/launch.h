/* SPDX-License-Identifier: MIT */
/*
 * launch.h: starts a program that waits, suspended before its exec, until it is released: time to
 * meter it from its first instruction.
 *
 *      launch_suspended:  fork ---------------- child reads the gate, waits
 *      launch_release:    writes a byte ------> child execs   (closed without one, as by launch_cancel, it ends)
 *                         reads the error  <--- errno, or end of file: exec has succeeded
 */
#ifndef DPM_LAUNCH_H
#define DPM_LAUNCH_H

#include "base/base.h"

#include <signal.h>
#include <sys/types.h>

/* To be called first in main: makes our own process independent of how it was started; programs that are launched are
 * started as we were. A write beyond the largest size of a file (ulimit -f) fails, as on a full disk, instead of ending
 * us by SIGXFSZ, and with us what ptrace meters. Closed standard files stay unusable, but no other file takes their
 * place. As many files may be open as the hard limit allows. */
void launch_settle(void);

/* From now on the terminal's stops (Ctrl-Z) are for the programs that are launched, not for us. */
void launch_ignore_stops(void);

struct launch_options {
    char *const *arguments;      /* NULL-terminated; the first is looked up in PATH */
    const char *user;            /* run as this user (needs root); NULL = as we are */
    const sigset_t *signal_mask; /* of the program; NULL = ours */
    /* Called in the program's process, last before its exec: returns 0, or a negative errno and the program is not
     * executed. It must not allocate. NULL = nothing. */
    int (*prepare)(void *context);
    void *context;
    bool reaped_elsewhere; /* once released the process is waited for by somebody else */
};

struct launched {
    pid_t pid;
    int pid_fd; /* readable when the program has ended; the caller closes it */
    int gate;
    int error;
    bool reaped_elsewhere;
};

/* Forks the program's process. Errors: -EINVAL (no such user), -EPERM, -EAGAIN, ... with a line in
 * `problem`. */
int launch_suspended(const struct launch_options *options, struct launched *ret_launched,
                     struct problem *problem);

/* Lets it run. Errors: what exec said (-ENOENT, -EACCES, ...) or becoming the user (-EPERM); the
 * process has then ended and is reaped, unless that is somebody else's; pid_fd is closed. */
int launch_release(struct launched *launched, struct problem *problem);

/* Ends a program that was not released, and reaps it. */
void launch_cancel(struct launched *launched);

#endif
