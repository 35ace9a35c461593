/* SPDX-License-Identifier: MIT */
/*
 * check.h: which parts of DPM work on this machine, which do not and why, and what to do about it.
 *
 *      facts about the machine (probe.h) --+
 *      a trial of the kernel meter --------+--> judgement --> struct meter_check, one for each thing that matters
 *      a trial of the ptrace meter --------+
 *      a session of dpmd ------------------+
 */
#ifndef DPM_CHECK_H
#define DPM_CHECK_H

#include "base/base.h"

enum meter_check_state {
    METER_CHECK_OK,
    METER_CHECK_LIMITED, /* metering works, with restrictions */
    METER_CHECK_MISSING, /* some or all flags cannot be metered */
    METER_CHECK_UNKNOWN, /* could not be determined */
};

struct meter_check {
    const char *group; /* the subject in one word: "Kernel", "Hooks" ... */
    char name[64];
    enum meter_check_state state;
    char detail[512];
    char advice[1024]; /* what to do; "" if there is nothing to do */
};

/* Checks whether this process can use the kernel meter, and calls `tell` for each thing that matters. Unless a fact
 * already rules it out, the check loads and attaches the meter with no process marked, and removes it again. Texts may
 * contain any byte that files and paths can contain. Returns the flags that can be metered, 0 if none. */
uint64_t check_kernel_meter(void (*tell)(const struct meter_check *check, void *context),
                            void *context);

/* Whether a known fact rules out the kernel meter here; if so, ret_missing names the checks that fail, as
 * check_kernel_meter does: "CAP_BPF, CAP_PERFMON". Fast, and safe where a seccomp filter kills a process that calls
 * bpf(). False does not prove that the meter works; only meter_open does. */
bool check_hinders_kernel_meter(char *ret_missing, size_t size);

#define PTRACE_CHECKS "Ptrace meter" /* the group of check_ptrace_meter's results */

/* Tries the ptrace meter, and calls `tell` for each thing that matters. Returns whether the meter works. */
bool check_ptrace_meter(void (*tell)(const struct meter_check *check, void *context),
                        void *context);

#define SERVICE_CHECKS "Service" /* the group of check_service's result */

/* Checks whether dpmd loads the kernel meter for us, if that is `needed`: asks for a session, and ends it. Calls `tell`
 * once. Returns the flags that it can meter; 0 if none, or if it is not needed. */
uint64_t check_service(bool needed, void (*tell)(const struct meter_check *check, void *context),
                       void *context);

#endif
