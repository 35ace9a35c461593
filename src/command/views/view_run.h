/* SPDX-License-Identifier: MIT */
/* view_run.h: `dpm view run`. Private to command/. */
#ifndef DPM_VIEW_RUN_H
#define DPM_VIEW_RUN_H

#include "command/hosts/hosts_options.h"

#define VIEW_RUN_OBJECTS_MOST 256

struct view_run_options {
    const char *costs;                          /* file; NULL: the defaults */
    const char *objects[VIEW_RUN_OBJECTS_MOST]; /* "NAME=PROGRAM,PID" */
    size_t object_count;
    uint64_t every;    /* ns between values that cannot be traced */
    uint64_t interval; /* ns: of the figures of DPM's own objects */
    uint64_t limit;    /* ns after which it ends; 0: none */
    const char *save;  /* file for the model at the end; NULL: none */
    bool json;
    const char *control;        /* socket for requests; NULL: none */
    struct hosts_options hosts; /* none: this machine */
};

/* Carries out the views of a file until a signal comes, `limit` has passed, or the command has ended. `command`: its words,
 * or NULL. Returns the exit status, which is that of the command. */
int view_run(const char *file, char *const *command, const struct view_run_options *options);

#endif
