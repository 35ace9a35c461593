/* SPDX-License-Identifier: MIT */
/* view_explain.h: `dpm view explain`. Private to command/. */
#ifndef DPM_VIEW_EXPLAIN_H
#define DPM_VIEW_EXPLAIN_H

#include "command/shared/command.h"
#include "view/planner.h"

/* Prints the plans of each view of a file. `costs`: a file, or NULL for the defaults. Returns the exit status. */
int view_explain(const char *file, const char *costs, bool json);

#endif
