/* SPDX-License-Identifier: MIT */
/* view_load.h: `dpm view load`: the load of all machines, and the traffic of their subnets. Private to command/. */
#ifndef DPM_VIEW_LOAD_H
#define DPM_VIEW_LOAD_H

#include "command/hosts/hosts_options.h"

struct view_load_options {
    const struct hosts_options *site; /* the server, and the session */
    uint64_t every;                   /* ns between two tables */
    uint64_t limit;                   /* ns after which it ends; 0: at a signal */
    bool json;
};

/* Shows what agents that are services send. Returns the exit status. */
int view_load(const struct view_load_options *options);

#endif
