/* SPDX-License-Identifier: MIT */
/*
 * remote_shell.h: a remote shell that runs dpm on another machine: ssh, or what the user chose instead.
 * Private to remote/.
 *
 *      in  --> standard input  of ssh HOST dpm agent
 *      out <-- standard output
 *      err <-- standard error: lines for the user
 */
#ifndef DPM_REMOTE_SHELL_H
#define DPM_REMOTE_SHELL_H

#include "base/base.h"

#include <sys/types.h>

#define REMOTE_LINE_SIZE 400

struct remote_shell {
    pid_t pid;                   /* 0: there is none */
    int in, out;                 /* ours; -1: closed, or handed over */
    int err;                     /* does not block; -1: at its end */
    char line[REMOTE_LINE_SIZE]; /* of standard error, not complete yet */
    size_t length;
    char last[REMOTE_LINE_SIZE]; /* the last complete line; "" */
    bool holds;                  /* `last`: if the connection fails, it is part of the error */
};

#define REMOTE_SHELL_NONE                                                                          \
    {                                                                                              \
        .in = -1, .out = -1, .err = -1                                                             \
    }

/* Starts `rsh` HOST `dpm` `arguments`; `rsh` and `dpm` may be several words each. A remote shell takes the arguments apart
 * once more: words without blanks and quotes are safe. It has a session of its own: it gets no signals of the terminal,
 * and cannot ask there. Returns 0, or a negative errno with a line in `problem`. */
int remote_shell_start(struct remote_shell *shell, const char *rsh, const char *host,
                       const char *dpm, const char *const *arguments, struct problem *problem);

/* Reads standard error, and calls `said` for each complete line. */
void remote_shell_read(struct remote_shell *shell, void (*said)(void *context, const char *line),
                       void *context);

/* The agent has answered. */
void remote_shell_connected(struct remote_shell *shell,
                            void (*said)(void *context, const char *line), void *context);

/* Why it ended before it connected, from its exit status and its last line. Waits a moment for its end. */
void remote_shell_why(struct remote_shell *shell, const char *host, const char *dpm,
                      struct problem *problem);

/* Ends it, reaps it, and closes what is open. Returns its exit status, or -1: it had not ended by itself. */
int remote_shell_end(struct remote_shell *shell);

#endif
