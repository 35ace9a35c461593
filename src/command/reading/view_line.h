/* SPDX-License-Identifier: MIT */
/* view_line.h: a change of a view as a line of text or JSON, as dpm-view(1) describes. Private to command/. */
#ifndef DPM_VIEW_LINE_H
#define DPM_VIEW_LINE_H

#include "view/watching.h"

#include <stdio.h>

/* `begin`: the time from which text counts, wall clock in ns. Returns 0 or -ENOMEM. */
int view_line_print(FILE *out, bool json, uint64_t begin, const struct view_change *change);

#endif
