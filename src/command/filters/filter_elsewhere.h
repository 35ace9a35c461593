/* SPDX-License-Identifier: MIT */
/*
 * filter_elsewhere.h: a filter on another machine than the session's. Private to command/.
 *
 *      here: dpm filter --host store1 --ssh--> store1: dpm filter --relayed NAME
 */
#ifndef DPM_FILTER_ELSEWHERE_H
#define DPM_FILTER_ELSEWHERE_H

#include "fabric/fabric.h"
#include "relay/relay.h"

struct filter_place {
    const char *host;      /* where the filter is to run; NULL: here */
    const char *rsh, *dpm; /* NULL: ssh, dpm */
    const char
        *relayed; /* it was started so, and this is the name of its consumer; NULL: it was not */
};

/* What the filter there gets as options. NULL, 0: left out. */
struct filter_there {
    const char *session, *folder, *prefix, *rules;
    const char *const *machines, *const *program;
    size_t machine_count, program_words;
};

/* Here: runs the filter there until a signal, or the end of the session. Returns the exit status. */
int filter_run_there(const struct filter_place *place, const struct filter_there *there);

/* There: opens the session through standard input and output. Both are to be closed, the fabric first. */
int filter_open_relayed(struct relay **ret_relay, struct fabric **ret_fabric,
                        struct problem *problem);

#endif
