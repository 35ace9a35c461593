/* SPDX-License-Identifier: MIT */
/*
 * launch.h: starts a program suspended before its exec, so that it can be metered from its first instruction.
 *
 *      launch_suspended:  fork ---------------- child waits, reading the gate
 *      launch_release:    writes a byte ------> child execs   (if the gate is closed, as by launch_cancel, it exits)
 *                         reads the error  <--- errno, or end of file: exec has succeeded
 */
#ifndef DPM_LAUNCH_H
#define DPM_LAUNCH_H

#include "base/base.h"

#include <pwd.h>
#include <signal.h>
#include <sys/types.h>

/* As the first process of a container: returns in a new process, and the first one reaps orphans, hands signals on and
 * exits as that one does. Otherwise it does nothing. Call it first in main. */
void launch_below_first_process(void);

/*
 * Call it next in main. It makes our own process independent of inherited settings; launched programs still get these
 * unchanged.
 *   - A write beyond the file size limit (ulimit -f) fails, as on a full disk. It no longer raises SIGXFSZ, which would
 *     kill us and all processes traced by ptrace.
 *   - Closed standard files stay unusable, but no other file takes their numbers.
 *   - The limit of open files is raised to the hard limit.
 */
void launch_settle(void);

/* From now on we ignore the terminal's stop signals (Ctrl-Z). Launched programs do not. */
void launch_ignore_stops(void);

struct launch_options {
    char *const *arguments;      /* NULL-terminated; the first is looked up in PATH */
    const int *folder;           /* open: the first is run from there, by its last part; or NULL */
    const char *user;            /* run as this user (requires root); NULL: the current one */
    const sigset_t *signal_mask; /* of the program; NULL: ours */
    const int *files;            /* [3]: standard input, output and error; NULL: ours */
    const char *directory;       /* where it runs; NULL: ours */
    char *const *environment;    /* "NAME=value" ..., NULL-terminated, added to ours; or NULL */
    bool
        own_session; /* it has no terminal, a process group of its own, SIGPIPE as usual, and none of our files */
    int death_signal; /* sent to it when the thread that launched it ends; 0: none */
    /* Called in the program's process just before its exec; must not allocate. Returns 0, or a negative errno, and
     * then the program is not executed. May be NULL. */
    int (*prepare)(void *context);
    void *context;
    bool reaped_elsewhere; /* once released, the process is reaped by another part of dpm */
};

struct launched {
    pid_t pid;
    int pid_fd; /* readable when the program has ended; closed by the caller */
    int gate;
    int error;
    bool reaped_elsewhere;
};

/* Forks the program's process. Errors: -EINVAL (no such user), -EPERM, -EAGAIN ..., with a line in `problem`. */
int launch_suspended(const struct launch_options *options, struct launched *ret_launched,
                     struct problem *problem);

/* Lets the program run. Errors: those of exec (-ENOENT, -EACCES ...) or of changing the user (-EPERM). After an error
 * the process has ended, is reaped unless `reaped_elsewhere` is set, and pid_fd is closed. */
int launch_release(struct launched *launched, struct problem *problem);

/* In a child: it is another user's from now on, with his groups and variables. Returns 0 or a negative errno. */
int launch_become(const struct passwd *user);

/* Ends a program that was not released, and reaps it. */
void launch_cancel(struct launched *launched);

#endif
