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
 * One thread makes every call of ptrace and waits for all children of the process: no other thread may wait for any,
 * and SIGCHLD tells of their ends, not of stops. If the process ends, in whatever way, the traced processes are killed
 * with it; but with `survive`, which does without the filter and stops at each call, they run on.
 *
 * docs/architecture.md says what this meter cannot know.
 */
#ifndef DPM_PTRACEMETER_H
#define DPM_PTRACEMETER_H

#include "meter/shared/meter_interface.h"

struct ptracemeter_options {
    uint32_t flags; /* EVENT_FLAG bits and METER_FLAG_PC */
    uint32_t kinds; /* METER_TCP ...: other paths are let through; 0 = all */
    bool survive;   /* without the filter, slower: who is traced outlives the tracer */
};

/* Why this program cannot be metered here, in one line; its return value is then -ENOEXEC (a program
 * of 32 bits). `command` is looked up in PATH; one that cannot be found is not refused. */
int ptracemeter_refuses(const char *command, struct problem *problem);

/* Makes the filter. Nothing is traced yet. Errors: -ENOMEM, -ENOTSUP (it cannot record any of these flags) ... with a
 * line in `problem`. What meter_interface.h leaves open: `enter` loads the filter; `mark` starts the tracer. `detach`
 * releases all processes with `survive`: they run on untraced, and it returns when that is done. Else it kills them:
 * without a tracer the filter would make their calls fail. The source ends after that, when no process is traced any
 * more, or after `stop`. `lost` is known then: records that were dropped while processes were released, when nothing
 * reads them. `close` detaches. */
int ptracemeter_open(const struct ptracemeter_options *options, struct meter_interface **ret_meter,
                     struct problem *problem);

/* Makes children of this process that have not executed anything yet traceable for us, also if our program has
 * capabilities of its own (setcap). Whoever has fewer than we have may not trace us nor them for that. */
void ptracemeter_allow_tracing(void);

#endif
