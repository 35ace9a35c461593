/* SPDX-License-Identifier: MIT */
/* system_call.h: names of system calls, of what they wait for, and of signals. Private to show/. */
#ifndef DPM_SYSTEM_CALL_H
#define DPM_SYSTEM_CALL_H

#include "show/show.h"

/* "fdatasync"; "system call 999" if it has no name; "no system call". */
void system_call_text(uint32_t call, char text[UNIT_SIZE]);

#define OBJECT_TEXT_SIZE (NAME_SIZE + 40)

/* What a call waits for: "/run/lock/app", "timerfd", "semaphore 3"; "": not known. */
void object_text(enum wait_object kind, const char *name, char text[OBJECT_TEXT_SIZE]);

/* "SIGTERM"; "signal 34" if it has no name, as real-time signals. */
void signal_text(unsigned number, char text[UNIT_SIZE]);

#endif
