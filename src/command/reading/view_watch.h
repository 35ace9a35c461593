/* SPDX-License-Identifier: MIT */
/* view_watch.h: `dpm view watch`. Private to command/. */
#ifndef DPM_VIEW_WATCH_H
#define DPM_VIEW_WATCH_H

#include "command/shared/command.h"

struct view_watch_options {
    uint64_t every;   /* ns: the interval whose figures the model has */
    const char *save; /* file for the model at the end; NULL: none */
    bool json;
};

/* Evaluates the views of a file over the intervals of traces, and prints what changes. Returns the exit status. */
int view_watch_traces(const char *file, const char *const *traces, size_t count,
                      const struct view_watch_options *options);

/* Runs a command as `dpm run` does, without a trace, and prints what changes in its intervals. Returns the command's
 * exit status. */
int view_watch_command(const char *file, char *const *words, size_t count,
                       const struct view_watch_options *options);

#endif
