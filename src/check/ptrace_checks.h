/* SPDX-License-Identifier: MIT */
/*
 * ptrace_checks.h: what to think of what the trial of the ptrace meter has found, and what to do about it.
 *
 *      ptracemeter_try --> struct ptracemeter_trial --> ptrace_checks --> struct meter_check
 */
#ifndef DPM_PTRACE_CHECKS_H
#define DPM_PTRACE_CHECKS_H

#include "meter/load/meter.h"

#define PTRACE_CHECKS "Ptrace meter" /* the group of all of them */

/* Tries the ptrace meter, and calls `tell` for each thing that matters. Returns whether it works. */
bool ptrace_checks(void (*tell)(const struct meter_check *check, void *context), void *context);

#endif
