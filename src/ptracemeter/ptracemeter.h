/* SPDX-License-Identifier: MIT */
/*
 * ptracemeter.h: the meter that needs no privilege. It traces commands and all their descendants with ptrace(2), and
 * provides the same records as the kernel meter, as a source.
 *
 *      command ---- system calls that matter stop it (seccomp) ----> tracer, a thread of its own
 *      command <--- resumed -----------------------------------------  |
 *                                                                     records, under a lock
 *      source  <------------------------------------------------------'
 *
 * One thread makes all ptrace calls and waits for what it traces. No other thread may wait for these children, and
 * SIGCHLD reports only the ends of children, not stops. If the process ends, in whatever way, the traced processes
 * are killed with it. With `survive`, which uses no filter and stops at each call, they run on instead.
 *
 * docs/architecture.md says what this meter cannot record.
 */
#ifndef DPM_PTRACEMETER_H
#define DPM_PTRACEMETER_H

#include "meter/shared/meter_interface.h"

struct ptracemeter_options {
    uint64_t flags; /* EVENT_FLAG bits and METER_FLAG_PC */
    uint32_t kinds; /* METER_TCP ...: other paths are ignored; 0: all */
    bool survive;   /* no filter, slower: the traced processes outlive the tracer */
};

/* Whether the meter refuses this program. Returns 0, or -ENOEXEC with a line in `problem` (a 32-bit program).
 * `command` is looked up in PATH; a program that is not found is not refused. */
int ptracemeter_refuses(const char *command, struct problem *problem);

/*
 * Opens the meter and makes its filter. Nothing is traced yet. Errors, with a line in `problem`: -ENOMEM, -ENOTSUP (it
 * cannot record any of these flags) ... The functions of meter_interface.h work as follows:
 *   - `enter` loads the filter; `mark` starts the tracer, or tells it of one more command: at most 256, and none once all
 *     that it traces have ended (-ECHILD).
 *   - `detach` kills all traced processes, because without a tracer the filter would make their calls fail.
 *     With `survive` it releases them instead: they run on untraced, and `detach` returns when that is done.
 *   - The source ends when no process is traced any more, or after `stop`.
 *   - `lost` is final then. It counts records dropped while processes are released, when nothing reads them.
 *   - `close` detaches.
 */
int ptracemeter_open(const struct ptracemeter_options *options, struct meter_interface **ret_meter,
                     struct problem *problem);

/* Makes children of this process that have not executed anything yet traceable for us, even if our program has
 * capabilities of its own (setcap). A process with fewer capabilities still cannot trace us or them. */
void ptracemeter_allow_tracing(void);

#endif
