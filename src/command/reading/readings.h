/* SPDX-License-Identifier: MIT */
/*
 * readings.h: runs any number of analyses on the same traces, side by side.
 * Private to command/.
 *
 *      traces --+--> statistics                                    thread 1
 *               +--> requests
 *               +--> where the elapsed time went; when processes did not answer; patterns
 *               |
 *               +--> parallelism, each thread a stream             thread 2
 *               +--> parallelism, each process a stream (if there are threads)
 *               '--> critical path
 *
 *      traces -----> picture, with the path in it                  then
 *
 * Each thread has a history of its own. With one thread, one reading follows the other: the results are the same.
 */
#ifndef DPM_READINGS_H
#define DPM_READINGS_H

#include "command/reading/picture.h"
#include "command/reading/traces.h"
#include "show/show.h"

enum streams { STREAMS_BOTH, STREAMS_THREADS, STREAMS_PROCESSES };

/* Which analyses to run. Everything that the pointers refer to belongs to the caller. */
struct analyses_wanted {
    /* The part of the traces to look at; NULL: all. Times and paths restrict what is read; processes restrict the
     * statistics, parallelism, the critical path, and whose end the elapsed time leads to. */
    struct selection *selection;
    bool statistics;
    /* Length in ns of the intervals in which the statistics also count messages. 0: no intervals. */
    uint64_t every;
    /* NULL: no such analysis, as for the pointers below. `threads` is ignored: `streams` decides. */
    const struct parallelism_options *parallelism;
    enum streams streams;
    const struct critical_path_options *path;
    bool keeps_path; /* found.path_reading, for critical_path_simulate */
    /* The path is that of `parallelism`, whose first assignment counts: there is one graph for both, of threads. */
    bool one_graph;
    const struct causality_options *causality;
    bool elapsed;
    bool lanes;      /* needs `elapsed` */
    uint32_t whatif; /* likewise; of so many requests at most; 0: none */
    bool pauses;
    bool patterns;
    /* Draws the history and marks the path; needs `path`. `busiest`: if not all events fit, begin at the interval with
     * the most messages; needs `statistics` and `every`. */
    struct picture *picture;
    bool busiest;
    /* Only the statistics must succeed. If another analysis fails, its error is stored in the result and its own result
     * is missing. */
    bool goes_on;
    bool hides_secrets;      /* in command lines: identities_hide_secrets */
    const char *interrupted; /* what is said after Ctrl-C; NULL: that there is no result */
    unsigned threads;        /* 1 or more; 0: as there are processors */
};

/* Results; NULL if an analysis was not requested. */
struct analyses_found {
    struct communication *communication;
    struct parallelism_run run; /* `recorded` is always set */
    struct critical_path *path;
    struct critical_path_reading *path_reading;
    struct causality *causality;
    struct elapsed *elapsed;
    struct lanes *lanes;
    struct whatif_model *whatif;
    struct pauses *pauses;
    struct patterns *patterns;
    uint64_t records;
    uint64_t removed, removed_time; /* as in struct source_state, of all traces */
    /* With `goes_on`: why a result is missing; "" if it is not. */
    struct problem parallelism_problem, path_problem, causality_problem, elapsed_problem;
};

/* Reads the traces, runs the analyses, and prints which recordings are incomplete. Call found_done in any case. Errors:
 * those of traces_open, the history and the analyses. */
int read_analyses(const struct trace_names *names, const struct analyses_wanted *wanted,
                  struct analyses_found *found, struct problem *problem);
void found_done(struct analyses_found *found);

/* The CPUs of the largest machine; 0: not known. Needs the statistics. */
uint32_t found_cpus(const struct analyses_found *found);

/* The same of a recording while it runs, without a trace: whoever reads the history feeds the analyses.
 *
 *      readings_new       before the first event
 *      readings_analyses  for recording_analyse, each time
 *      readings_finish    after the last event
 *
 * `origins`: how many the history has by then. A history can be read only once: `wanted` has no critical path, no picture and
 * no selection. It, `history` and `found` must outlive the readings. Errors: those of the analyses. */
struct readings;

#define READINGS_MOST 9

int readings_new(struct history *history, const struct analyses_wanted *wanted,
                 struct analyses_found *found, struct readings **ret_readings,
                 struct problem *problem);
size_t readings_analyses(struct readings *readings, struct analysis ret_analyses[READINGS_MOST]);
int readings_finish(struct readings *readings, uint32_t origins, struct problem *problem);
void readings_free(struct readings *readings); /* NULL is allowed */

/* The critical path in reports: each stream has its own machine, messages take no time, and what-ifs predict which
 * processes are worth making faster. */
extern const struct critical_path_options report_path_options;

#endif
