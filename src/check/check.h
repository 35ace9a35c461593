/* SPDX-License-Identifier: MIT */
/*
 * check.h: what works on this machine, what does not and why, and what to do about it.
 *
 *      the machine, asked (probe.h)  ---+
 *      the kernel meter, tried ---------+--> judged --> struct meter_check, one for each thing that matters
 *      the ptrace meter, tried ---------+
 */
#ifndef DPM_CHECK_H
#define DPM_CHECK_H

#include "base/base.h"

enum meter_check_state {
    METER_CHECK_OK,
    METER_CHECK_LIMITED, /* metering works, with less comfort */
    METER_CHECK_MISSING, /* some flags, or all, cannot be metered */
    METER_CHECK_UNKNOWN, /* could not be found out */
};

struct meter_check {
    const char *group; /* what it is about, in a word: "Kernel", "Hooks" ... */
    char name[64];
    enum meter_check_state state;
    char detail[512];
    char advice[1024]; /* what to do; "" if there is nothing to do */
};

/* Finds out what of the kernel meter works here for this process, and calls `tell` for each thing that matters. Where
 * nothing speaks against it the meter is truly loaded and attached, with no process marked, and
 * taken out again. Texts may hold any byte that files and paths hold.
 * Returns the flags that can be metered, 0 if none. */
uint32_t check_kernel_meter(void (*tell)(const struct meter_check *check, void *context),
                            void *context);

/* Whether something plainly speaks against the kernel meter here; names it, as check_kernel_meter does: "CAP_BPF,
 * CAP_PERFMON". It is quick, and safe where a filter kills whoever calls bpf(). Whether the meter works indeed only
 * meter_open tells. */
bool check_hinders_kernel_meter(char *ret_missing, size_t size);

#define PTRACE_CHECKS "Ptrace meter" /* the group of what check_ptrace_meter judges */

/* Tries the ptrace meter, and calls `tell` for each thing that matters. Returns whether it works. */
bool check_ptrace_meter(void (*tell)(const struct meter_check *check, void *context),
                        void *context);

#endif
