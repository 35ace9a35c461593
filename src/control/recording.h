/* SPDX-License-Identifier: MIT */
/*
 * recording.h: a recording in progress: meter --> trace writer --> TRACE --> report. What `dpm run`
 * and `dpm acquire` have in common; they differ in whom they mark, and when they end. Private to
 * control/.
 *
 *      recording_open     hooks in the kernel, an empty trace
 *      recording_begin    from now on there is something to record
 *      recording_step     empties the rings: at least every RECORDING_INTERVAL ms
 *      recording_end      the rest of the records, END
 *      recording_report   what the trace says (recording_report.h)
 *      recording_close
 */
#ifndef DPM_RECORDING_H
#define DPM_RECORDING_H

#include "control/metering.h"

#include "analysis/statistics/statistics.h"
#include "symbols/symbols.h"
#include "trace/trace.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

#define RECORDING_INTERVAL 10 /* ms */

struct recording_options {
    const char *trace;  /* NULL = made from a name and a pid */
    const char *report; /* NULL = standard error */
    const char *flags;
    const char *kinds;
    uint64_t max_size;
    uint64_t interval; /* ns between reports while it goes on, 0 = none */
    struct metering_options metering;
};

struct recording {
    const struct recording_options *options;
    const char *subject; /* "the command runs on", whatever becomes of the recording */
    struct metering metering;
    struct trace_writer *writer;
    struct names names;            /* of users and cgroups, told so far */
    struct symbols *symbols;       /* names of program counters; NULL without the flag pc */
    struct statistics *statistics; /* for reports while it goes on, or NULL */
    char path[PATH_MAX];
    FILE *messages;     /* standard error, or the report's file */
    uint64_t records;   /* in the trace */
    int signals;        /* descriptor: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD */
    uint32_t wakeups;   /* how often records were looked for */
    uint64_t cost_told; /* `records` when the last COST was told; 0: none was */
    uint64_t last_flush;
    uint64_t last_report;
    uint64_t complete; /* all records up to this time are stored */
    bool active;
    enum end_reason reason;
};

/* ---- options ---- */

/* The options that both commands have; recording_option reads them. */
enum recording_option_value {
    RECORDING_FLAGS = OPTION_HELP + 1,
    RECORDING_KINDS,
    RECORDING_REPORT,
    RECORDING_RING,
    RECORDING_MAX_SIZE,
    RECORDING_INTERVAL_OPTION,
    RECORDING_CPU_TIME,
    RECORDING_OPTION_END, /* a command's own options begin here */
};

extern const struct command_option recording_options[];

/* The defaults: every flag, a trace of at most 4 GiB, the kernel meter. */
void recording_options_init(struct recording_options *options);

/* Takes what command_next_option has found (its argument is in optarg). Returns -1, or the exit status with
 * which the command ends: its help was asked for, or it is used wrongly, which has been said. */
int recording_option(const char *command, int option, struct recording_options *options);

/* To be called after the last option: reads the flags. Returns as recording_option. */
int recording_options_done(const char *command, struct recording_options *options);

/* ---- the recording ---- */

/* Blocks the signals that end a recording and opens `signals`; opens `messages`. Returns 0, or -1
 * after an error has been said. */
int recording_init(struct recording *recording, const struct recording_options *options,
                   sigset_t *ret_old_mask);

/* Opens the meter, ahead of recording_open: where something must be ready before the command's process is made. */
int recording_open_meter(struct recording *recording, struct problem *problem);

/* Opens the meter, if it is not open, and makes the trace: as asked for, or ./dpm-NAME-PID.trace.
 * Errors: with a line in `problem`; recording_discard is then to be called. */
int recording_open(struct recording *recording, const char *name, pid_t pid,
                   struct problem *problem);

void recording_begin(struct recording *recording);

/* Moves what the meter has into the trace; once a second flushes it; reports if an interval has
 * passed. A write error or the largest size ends the recording and is said, never the subject. */
void recording_step(struct recording *recording);

/* The same until all is stored that there is now, a second at most. The files of programs that are told of are open then:
 * a process that ends a moment later has names for its program counters. */
void recording_catch_up(struct recording *recording);

/* Ends the recording in order: the rest of the records and END. Names on standard error those of the
 * metered that run on, if `name_the_rest` says why they may be of interest.
 * Errors: a line in `problem`. */
int recording_end(struct recording *recording, const char *name_the_rest, struct problem *problem);

/* Removes the trace of a recording that did not begin. */
void recording_discard(struct recording *recording);

void recording_close(struct recording *recording);

#endif
