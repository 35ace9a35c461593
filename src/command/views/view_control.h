/* SPDX-License-Identifier: MIT */
/* view_control.h: `dpm view control`: asks a running monitor. Private to command/. */
#ifndef DPM_VIEW_CONTROL_H
#define DPM_VIEW_CONTROL_H

#include "command/shared/command.h"

/* SOCKET, and: views | counts | sensor VIEW on|off | threshold VIEW N VALUE | probe ATTRIBUTE | value ATTRIBUTE. Prints the
 * answer. Returns the exit status. */
int view_control(char *const *words, size_t count);

#endif
