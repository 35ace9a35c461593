/* SPDX-License-Identifier: MIT */
/*
 * job.h: the controller of Macrander's paper (section 6, appendix A): jobs of processes on several machines, what is
 * metered of them, and the filters that store it.
 *
 *      line --job_parse--> command --jobs_run--> agents (remote/)      process.create, process.start ...
 *                                           +--> filters               `dpm filter`, processes of their own
 *                                           '--> the session's store   so that a later controller goes on
 *
 *      new --startjob--> running <--stopjob, startjob--> stopped --removejob--> killed        acquired
 *       '--stopjob--> stopped       '--ends by itself--> killed                               (figure 6.2)
 */
#ifndef DPM_JOB_H
#define DPM_JOB_H

#include "base/base.h"
#include "conduct/conduct.h"

#include <limits.h>
#include <stdio.h>

/* ---- states ---- */

/* What is done to each process of a job, or to one. */
enum job_action {
    JOB_START,
    JOB_STOP,
    JOB_REMOVE,
    JOB_SET_FLAGS,
    JOB_GIVE_INPUT,
    JOB_ACTIONS,
};

enum job_verdict {
    JOB_DOES,   /* the process takes part */
    JOB_PASSES, /* it is left as it is */
    JOB_REFUSES,
};

/* Whether an action is possible in a state. `ret_says` (may be NULL): what is reported of the process. */
enum job_verdict job_rule(enum job_action action, enum process_state state, const char **ret_says);

/* The same of a process: of one that is lost nothing is reported that is not known. */
enum job_verdict job_rule_of(enum job_action action, const struct conduct_process *process,
                             const char **ret_says);

/* ---- commands ---- */

enum job_kind {
    JOB_NOTHING, /* a blank line, or a comment: # ... */
    JOB_HELP,
    JOB_FILTER,
    JOB_NEWJOB,
    JOB_ADDPROCESS,
    JOB_ACQUIRE,
    JOB_SETFLAGS,
    JOB_STARTJOB,
    JOB_STOPJOB,
    JOB_REMOVEJOB,
    JOB_REMOVEPROCESS,
    JOB_JOBS,
    JOB_GETLOG,
    JOB_SOURCE,
    JOB_SINK,
    JOB_DIE,
    JOB_INPUT,
    JOB_WAIT,
    JOB_ANALYSE, /* why, stats, parallelism, causality, report */
    JOB_KINDS,
};

#define JOB_WORDS_MOST 4096
#define JOB_NAME_SIZE  64 /* of a job, a filter or a process */

struct job_command {
    enum job_kind kind;
    char **words; /* the arguments after the command's name; NULL at the end */
    size_t count;
    char name[16]; /* as the user wrote it, in its full form: "addprocess" */
    char **owned;
};

/* Reads one line. Words are separated by blanks; quotes are as in a shell; # after a blank begins a comment. Returns 0; -EINVAL with a line in `problem`:
 * no such command, too few or too many arguments, a name or a flag that is none; -ENOMEM. */
int job_parse(const char *line, struct job_command *ret_command, struct problem *problem);
void job_command_done(struct job_command *command);

/* The commands' names, with their synonyms; NULL after the last. `ret_usage`, `ret_help` (may be NULL). */
const char *job_command_word(size_t index, const char **ret_usage, const char **ret_help);

/* ---- a controller ---- */

struct jobs;

/* Where commands come from. Returns a line without its end, to be freed; NULL: there are no more. `prompt` is for a
 * terminal. */
struct job_reader {
    char *(*line)(void *context, const char *prompt);
    void *context;
};

/* The `line` of a reader whose context is a FILE. */
char *jobs_read_file(void *context, const char *prompt);

struct job_options {
    const char *session;
    const char *rsh, *dpm; /* as of remote_options */
    const char *machines; /* the file of groups; NULL: ${XDG_CONFIG_HOME:-~/.config}/dpm/machines */
    bool attach;          /* go on with the session, which must exist */
    bool either;          /* attach if there is one */
    int signals;          /* a signalfd: one signal interrupts what is waited for */
    FILE *out;            /* what commands and processes write */
    FILE *err;
    /* Called before and after lines that come by themselves, while the user types; or NULL. */
    void (*around)(void *context, bool begins);
    void *context;
};

/* Starts the session, or attaches. Errors, with a line in `problem`: -EEXIST: the session has jobs, and `attach` is
 * not set; -ENOENT: there is none; -EBUSY: another controller is attached; as remote_new. */
int jobs_open(const struct job_options *options, struct jobs **ret_jobs, struct problem *problem);

/* Executes commands until `die`, or the last line. Returns how many failed. */
unsigned jobs_run(struct jobs *jobs, const struct job_reader *reader);

/* Executes one command. Returns 0, or -1: it failed, and why was printed. */
int jobs_line(struct jobs *jobs, const char *line, const struct job_reader *reader);

/* At the end of a script: as `die`, without a warning before it. What is active stays, and is reported. */
void jobs_end(struct jobs *jobs);

/* Reads the file of `dpm job run`; nothing happens. `path` is its name, for errors. Returns 0; -EINVAL with a line in
 * `problem`, which names the line; -ENOMEM. */
int job_file_check(const char *path, FILE *from, struct problem *problem);

/* Executes what a file of `dpm job run` describes. Returns as jobs_line. */
int jobs_file(struct jobs *jobs, const char *path);

/* Waits until `file` is readable, and does meanwhile what happens. Returns false: a signal came instead. */
bool jobs_wait_for(struct jobs *jobs, int file);

/* Whether a program of the user's own, as a filter, has ended and may not have stored all that was recorded for it. */
bool jobs_lack(const struct jobs *jobs);

/* Whether `die` has ended it. */
bool jobs_dead(const struct jobs *jobs);

/* Names that could stand at this place of a line, for completion: calls `found` for each. `words` are those before. */
void jobs_complete(const struct jobs *jobs, const char *const *words, size_t count,
                   void (*found)(void *context, const char *word), void *context);

#define JOB_RECORDING_SIZE 64

/* For a reader that is no controller: the folder in which the traces of a job of this user are, and what they are called there:
 * MACHINE.RECORDING, or MACHINE.RECORDING.N; FILTER_MAIN: MACHINE, or MACHINE.N; `name` NULL: of all jobs, if the session has one
 * filter: "". Errors, with a line in
 * `problem`: -ENOENT: there is no such session or job, or the session has a site's server; -EREMOTE: the filter is on another
 * machine. */
int job_where(const char *session, const char *name, char folder[PATH_MAX],
              char recording[JOB_RECORDING_SIZE], struct problem *problem);

/* Leaves the session as it is, unless `die` ended it. NULL is allowed. */
void jobs_close(struct jobs *jobs);

#endif
