/* SPDX-License-Identifier: MIT */
/*
 * readings.h: any number of analyses of the same traces, which are read once, or twice for the critical path. Private to
 * control/.
 *
 *      traces --+--> statistics
 *               +--> parallelism, each thread a stream
 *               +--> parallelism, each process one (if it matters)
 *               +--> critical path: the graph, and the path in it
 *               '--> requests
 *
 *      traces --+--> critical path: what it goes through
 *               '--> picture, with the path in it
 */
#ifndef DPM_READINGS_H
#define DPM_READINGS_H

#include "control/picture.h"
#include "control/traces.h"
#include "show/show.h"

enum streams { STREAMS_BOTH, STREAMS_THREADS, STREAMS_PROCESSES };

/* What is wanted of the traces. All that is pointed to stays the caller's. */
struct analyses_wanted {
    bool statistics;
    uint64_t
        every; /* ns: statistics also count what is sent in each interval of this length; 0: they do not */
    const struct parallelism_options
        *parallelism; /* NULL: not wanted, here and below; `threads` is not looked at */
    enum streams streams;
    const struct critical_path_options *path;
    const struct causality_options *causality;
    /* With the path marked in it: `path` is wanted, too. `busiest`: if there are more events than it has room for, from the
     * interval on in which most was sent. */
    struct picture *picture;
    bool busiest;
    /* Only the statistics must succeed: of other parts the error is left in the result, which has none of theirs. */
    bool goes_on;
};

/* What was found; what was not wanted is NULL. */
struct analyses_found {
    struct communication *communication;
    struct parallelism_run run; /* `recorded` in any case */
    struct critical_path *path;
    struct causality *causality;
    uint64_t records;
    /* Why the parts are missing, with `goes_on`; "" if they are not. */
    struct problem parallelism_problem, path_problem, causality_problem;
};

/* Reads the traces for all that is wanted, and says which recordings are not whole. *found is to be freed with found_done
 * in any case. Errors: those of traces_open, the history and the analyses. */
int read_analyses(const struct trace_names *names, const struct analyses_wanted *wanted,
                  struct analyses_found *found, struct problem *problem);
void found_done(struct analyses_found *found);

/* What reports ask of the critical path: a machine for each stream, messages that take no time, and which processes are
 * worth making faster. */
extern const struct critical_path_options report_path_options;

#endif
