/* SPDX-License-Identifier: MIT */
/*
 * recording_command.h: a command that records and says how it goes: what `dpm run` and `dpm acquire` have in common;
 * they differ in whom they mark, and when they end. Private to control/.
 *
 *      recording_command_init    signals, where messages go
 *      recording_command_open    recorder.h: the meter, an empty trace
 *      recording_command_begin
 *      recording_command_step    every RECORDING_INTERVAL ms; with --interval a report now and then
 *      recording_command_end
 *      recording_report          recording_report.h: what the trace says
 *      recording_command_close
 */
#ifndef DPM_RECORDING_COMMAND_H
#define DPM_RECORDING_COMMAND_H

#include "control/recording_options.h"

#include "analysis/statistics/statistics.h"

struct recording_command {
    const struct recording_command_options *options;
    const char *subject; /* "the command runs on", whatever becomes of the recording */
    struct recording recording;
    FILE *messages; /* standard error, or the report's file */
    int signals;    /* descriptor: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD */
    /* for reports while it goes on; NULL: there are none */
    struct history *history;
    struct statistics *statistics;
    uint64_t last_report;
};

/* Blocks the signals that end a recording and opens `signals`; opens `messages`. `options` must live as long. Returns
 * 0, or -1 after an error has been said. */
int recording_command_init(struct recording_command *command,
                           const struct recording_command_options *options, const char *subject,
                           sigset_t *ret_old_mask);

/* As recording_open; says what the meter leaves out. */
int recording_command_open(struct recording_command *command, const char *name, pid_t pid,
                           struct problem *problem);

/* Says, before a command of this name runs, what its user should know of the meter: which one it is if it was not
 * named, why, what it costs, and what becomes of the command if we are killed. */
void recording_command_announce(const struct recording_command *command, const char *name);

void recording_command_begin(struct recording_command *command);

/* As recording_step, and a report if an interval has passed. If the recording ends itself that is said. */
void recording_command_step(struct recording_command *command);

/* As recording_catch_up. If the recording ends itself that is said. */
void recording_command_catch_up(struct recording_command *command);

/* Ends the recording in order. Names those of the metered that run on, if `name_the_rest` says why they may be of
 * interest. Returns 0, or a negative errno after the error has been said. */
int recording_command_end(struct recording_command *command, const char *name_the_rest);

void recording_command_close(struct recording_command *command);

#endif
