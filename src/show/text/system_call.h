/* SPDX-License-Identifier: MIT */
/* system_call.h: names of system calls. Private to show/. */
#ifndef DPM_SYSTEM_CALL_H
#define DPM_SYSTEM_CALL_H

#include "show/show.h"

/* "fdatasync"; "system call 999" if it has no name; "no system call". */
void system_call_text(uint32_t call, char text[UNIT_SIZE]);

#endif
