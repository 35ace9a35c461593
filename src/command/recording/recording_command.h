/* SPDX-License-Identifier: MIT */
/*
 * recording_command.h: a command that records, and reports on it. `dpm run` and `dpm acquire` share it; they differ in
 * the processes that they mark, and in when they end. Private to command/.
 *
 *      recording_command_init    signals, destination of messages
 *      recording_command_open    recorder.h: the meter, an empty trace
 *      recording_command_begin
 *      recording_command_wait    until there is something to do
 *      recording_command_step    as recording_step; with --interval, prints interval reports
 *      recording_command_end
 *      recording_report          recording_report.h: the report on the trace, or on what was followed
 *      recording_command_close
 */
#ifndef DPM_RECORDING_COMMAND_H
#define DPM_RECORDING_COMMAND_H

#include "command/reading/whole_report.h"
#include "command/recording/recording_options.h"
#include "command/shared/json_lines.h"
#include "command/shared/rules_file.h"

#include "analysis/statistics/statistics.h"

struct feeding;
struct view_display;

struct recording_command {
    const struct recording_command_options *options;
    const char *subject; /* "the command runs on": ends the message that recording stopped */
    struct recording recording;
    struct rules_file rules_file;
    FILE *messages;         /* standard error, or the report's file */
    int signals;            /* signalfd: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD */
    struct feeding *filter; /* --filter; NULL: none */
    /* analyses that follow the recording; NULL: none */
    struct history *history;
    struct statistics *statistics; /* for interval reports */
    struct live *live;             /* ... as lines of JSON */
    uint64_t analysed;             /* CLOCK_MONOTONIC: up to then, all records were */
    struct json_lines lines;       /* that they go to */
    uint32_t origins;              /* traces that these see */
    struct communication *before;  /* what the last interval report said; NULL: there was none */
    struct view_display *views;    /* instead of these reports; NULL: none, or not begun */
    uint64_t views_begin;          /* wall clock, ns, of the first record that these have seen */
    uint64_t last_report;
    /* gets what an interval report would print, in its place; NULL: it is printed. Returns 0 or a negative errno */
    int (*summarize)(struct recording_command *command, const struct communication *so_far);
    void *context; /* of it */
    struct whole_report
        *whole; /* for the report at the end, if there is no trace to read it from */
};

/* Blocks the signals that end a recording, opens `signals` and `messages`. `options` must outlive `command`. Returns 0,
 * or -1 after printing an error. */
int recording_command_init(struct recording_command *command,
                           const struct recording_command_options *options, const char *subject,
                           sigset_t *ret_old_mask);

/* As recording_open; also prints what the meter cannot record. */
int recording_command_open(struct recording_command *command, const char *name, pid_t pid,
                           struct problem *problem);

/* Prints what the user should know about the meter before the command `name` runs: which one --meter auto chose and
 * why, its overhead, and what happens to the command if dpm is killed. */
void recording_command_announce(const struct recording_command *command, const char *name);

void recording_command_begin(struct recording_command *command);

/* As recording_wait; also until the next interval report. */
void recording_command_wait(struct recording_command *command, struct pollfd *files, size_t count,
                            uint64_t until);

/* As recording_step; prints a report if an interval has passed, and a message if the recording has ended itself. */
void recording_command_step(struct recording_command *command);

/* As recording_catch_up; prints a message if the recording has ended itself. */
void recording_command_catch_up(struct recording_command *command);

/* Ends the recording. `names_the_rest`: also prints the metered processes that are still running; `offers_wait`: and that
 * --wait records until they end. Returns 0, or a negative errno after printing the error. */
int recording_command_end(struct recording_command *command, bool names_the_rest, bool offers_wait);

/* Begins the report of a recording without a trace: from now on it is among recording_command_analyses. Returns 0, or a
 * negative errno with a line in `problem`. */
int recording_command_begin_whole(struct recording_command *command, struct history *history,
                                  struct problem *problem);

/* Begins reports while it goes on, from this history, which is unread. Returns 0, or a negative errno with a line in
 * `problem`. */
int recording_command_begin_intervals(struct recording_command *command, struct history *history,
                                      struct problem *problem);

/* Whether it is time for such a report. From then on the next one is waited for. */
bool recording_command_is_due(struct recording_command *command);

/* The analyses that are to be fed while recording. */
#define RECORDING_ANALYSES_MOST (1 + READINGS_MOST)
size_t recording_command_analyses(const struct recording_command *command,
                                  struct analysis ret_analyses[RECORDING_ANALYSES_MOST]);

/* Frees them. */
void recording_command_stop_following(struct recording_command *command);

/* After the end of a recording without a trace: completes `whole`. Returns 0, or a negative errno with a line in
 * `problem`. */
int recording_command_finish_report(struct recording_command *command, struct problem *problem);

/* Prints a report on what `statistics` have seen so far, and on the time since the last such report; or which views
 * hold. Returns 0, or a negative errno with a line in `problem`. */
int recording_command_report_so_far(struct recording_command *command, struct problem *problem);
void recording_command_stop_intervals(struct recording_command *command);

/* With `live`: prints the line of the whole recording, which was read with this result: of analyses_read; negative: `problem`
 * has its line, which is printed instead. Waits for a slow reader, and ends the lines. Returns 0, or, if lines could not be
 * written, a negative errno, which it has said. */
int recording_command_print_last(struct recording_command *command, int result,
                                 struct problem *problem);

void recording_command_close(struct recording_command *command);

#endif
