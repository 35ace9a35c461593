/* SPDX-License-Identifier: MIT */
/* job_private.h: a controller's jobs, processes, machines and filters: shared by the files of this folder only. */
#ifndef DPM_JOB_PRIVATE_H
#define DPM_JOB_PRIVATE_H

#include "conduct/session_kept.h"
#include "job/job.h"

#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define JOB_NESTED 16 /* scripts within scripts (appendix A) */

struct job_machine {
    char *name; /* as in commands; this machine's own name for any name it has */
    struct remote_host *host;
    bool has_agent;  /* it was reached, now or by an earlier controller */
    bool distrusted; /* its agent has said what makes no sense, and that was printed */
    bool unsure;     /* its agent may know of other states than we do */
    time_t away;     /* when its connection ended; 0: it has one, or has had none yet */
};

/* A recording of a job. */
struct job_recording {
    struct job_machine *machine;
};

struct job {
    unsigned number;
    char name[JOB_NAME_SIZE];
    char recording[FABRIC_NAME_MOST + 1];
    struct kept_filter *filter;
    uint64_t flags;
    bool flags_set; /* on all machines */
    bool adopted;   /* it has a process that an agent has listed, without our flags */
    bool changed;   /* and not stored yet */
    bool cut;       /* a recording of it has ended early, and that was printed */
    struct conduct_process **processes; /* each has the job as its context */
    size_t count, capacity;
    struct job_recording *recordings;
    size_t recording_count, recording_capacity;
};

struct jobs {
    struct job_options options;
    char *session;
    struct conduct *conduct;
    char self[PATH_MAX]; /* the program dpm */
    FILE *sink;          /* NULL: none */
    json_t *reach;       /* "rsh", "dpm", "machines" of the options: for the next controller, too */
    json_t *recording; /* of a session that run or acquire has begun: what is kept of that; NULL */
    struct job_machine **machines;
    size_t machine_count, machine_capacity;
    struct kept_filter **filters;
    size_t filter_count, filter_capacity;
    struct job **list;
    size_t count, capacity;
    unsigned next_job, next_filter;
    json_t *used;  /* names of recordings */
    json_t *turns; /* of choices of machines (job_group) */
    bool meta_changed;
    uint64_t kept_heard; /* what had been heard when that was last stored */
    const char
        *connecting; /* a machine that is waited for: why that fails is in `why`, not printed */
    char why[640];
    unsigned depth; /* of scripts */
    bool warned;    /* by die, just now */
    bool at_end;    /* die was not typed: no more commands come */
    bool dead;
    bool ended;        /* the session, too: nothing is kept */
    bool typing;       /* the user is at the prompt */
    bool progress;     /* a line without its end says how far a command is */
    uint64_t kept;     /* when the state was last stored, CLOCK_MONOTONIC */
    uint64_t looked;   /* when it was last looked whether the server answers */
    uint64_t silence;  /* ns that passed while it answered nothing */
    bool said_silence; /* that was printed */
};

/* ---- job_events.c ---- */

/* What happens in the session, and in each step of it; the context is a struct jobs. */
void jobs_happen(void *context, const struct conduct_event *event);
void jobs_work(void *context);

/* Prints a result: into the sink. */
void jobs_print(struct jobs *jobs, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what comes by itself. */
void jobs_tell(struct jobs *jobs, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* On a terminal: a line that says how far a command is, which the next one replaces. */
void jobs_progress(struct jobs *jobs, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void jobs_progress_end(struct jobs *jobs);

/* Prints an error; returns -1. */
int jobs_error(struct jobs *jobs, const char *format, ...) __attribute__((format(printf, 2, 3)));

void jobs_poll(struct jobs *jobs, int timeout_ms);

/* Prints a line about a machine once. */
void jobs_say_once(struct jobs *jobs, struct job_machine *machine, const char *text);

/* What an agent has said makes no sense; `why` is a part of it. Printed once. */
void jobs_distrust(struct jobs *jobs, struct job_machine *machine, const char *why);

/* ---- job_session.c ---- */

/* The machine of this name, as it is; NULL: out of memory. */
struct job_machine *jobs_name_machine(struct jobs *jobs, const char *name);

/* Begins to connect to it. Errors: as of remote_add. */
int jobs_add_host(struct jobs *jobs, struct job_machine *machine, struct problem *problem);

/* The machine of this name, connected. Returns 0, or a negative errno with a line in `problem`. */
int jobs_machine(struct jobs *jobs, const char *name, struct job_machine **ret_machine,
                 struct problem *problem);

/* ---- job_parse.c ---- */

/* How long a line is without the comment at its end: # after a blank, and not within quotes. */
size_t job_line_length(const char *line);

/* ---- job_records.c ---- */

struct job *jobs_find(const struct jobs *jobs, const char *name);
struct job *jobs_find_recording(const struct jobs *jobs, const char *recording); /* its name */
struct kept_filter *jobs_find_filter(const struct jobs *jobs, const char *name);
struct conduct_process *job_find(const struct job *job, const char *name);

/* NULL: there is no such job, or process of it; that, and which there are, was printed. */
struct job *jobs_need(struct jobs *jobs, const char *name);
struct conduct_process *jobs_need_process(struct jobs *jobs, const char *job, const char *name);

struct job *jobs_new_job(struct jobs *jobs, const char *name);

/* Makes a process part of the job: of several that are called "sort" the second one becomes "sort.2". Returns 0, or -ENOMEM, and it
 * is forgotten. */
int job_take_process(struct job *job, struct conduct_process *process);
void job_remove_process(struct conduct_process *process);
struct job *job_of(const struct conduct_process *process);
void jobs_free_job(struct jobs *jobs, struct job *job);

/* ---- job_machines.c ---- */

/* The machines that a name stands for: those of a group, the next one of a choice, or itself. `turns`: an object, for whose turn it is.
 * The caller frees *ret_names with one free(). */
int job_group(const char *path, const char *name, json_t *turns, char ***ret_names,
              size_t *ret_count, struct problem *problem);

/* ---- job_filters.c ---- */

int filters_create(struct jobs *jobs, const char *name, char **words, size_t count,
                   struct kept_filter **ret_filter, struct problem *problem);
bool filters_alive(const struct kept_filter *filter);

/* Whether it runs on this machine. */
bool filters_are_here(const struct kept_filter *filter);

/* Starts its process unless it runs. */
int filters_start(struct jobs *jobs, struct kept_filter *filter, struct problem *problem);

/* Reports programs of the user's own that have ended. */
void filters_look(struct jobs *jobs);

/* Waits until it has stored all that the server has. */
int filters_settle(struct jobs *jobs, const struct kept_filter *filter, struct problem *problem);
void filters_end_all(struct jobs *jobs);

/* ---- job_kept.c ---- */

/* Takes from what is kept how machines are reached, unless the options say it; keeps what they say. */
void jobs_reach(struct jobs *jobs, json_t *kept);

/* Stores what has changed. */
void jobs_keep(struct jobs *jobs);

/* Reads what an earlier controller has stored, and asks the agents what has happened since. */
int jobs_resume(struct jobs *jobs, json_t *kept, struct problem *problem);

/* ---- job_listing.c ---- */

/* After an interruption: machines may be in other states than we know. */
void jobs_doubt(struct jobs *jobs);

/* Asks the agents of unsure machines for the states of their processes. */
void jobs_look_again(struct jobs *jobs);

/* ---- job_commands.c ---- */

/* The machine has a recording of the job, with all flags. */
void job_note_recording(struct job *job, struct job_machine *machine);

/* Sets the job's flags on all its machines. Returns -1 after an error, which was printed. */
int jobs_set_flags(struct jobs *jobs, struct job *job);

int command_filter(struct jobs *jobs, const struct job_command *command);
int command_newjob(struct jobs *jobs, const struct job_command *command);
int command_addprocess(struct jobs *jobs, const struct job_command *command);
int command_acquire(struct jobs *jobs, const struct job_command *command);
int command_setflags(struct jobs *jobs, const struct job_command *command);
int command_jobs(struct jobs *jobs, const struct job_command *command);

/* ---- job_control.c ---- */

/* Ends what is recorded of a job; all of it reaches the server. Returns -1 after an error, which was printed; a recording that had
 * ended early is none, and makes the job cut. */
int jobs_end_recordings(struct jobs *jobs, struct job *job);

int command_startjob(struct jobs *jobs, const struct job_command *command);
int command_stopjob(struct jobs *jobs, const struct job_command *command);
int command_removejob(struct jobs *jobs, const struct job_command *command);
int command_removeprocess(struct jobs *jobs, const struct job_command *command);
int command_wait(struct jobs *jobs, const struct job_command *command);
int command_input(struct jobs *jobs, const struct job_command *command,
                  const struct job_reader *reader);

/* Gives a process something to read; `end`: nothing follows. Takes what fits: a process that does not read makes us wait. */
int jobs_give(struct jobs *jobs, struct conduct_process *process, const char *text, size_t size,
              bool end);

/* ---- job_logs.c ---- */

/* Copies what a filter has stored to a folder that does not exist yet; it has settled. Returns 0, or a negative errno with
 * a line in `problem`. */
int logs_copy(struct jobs *jobs, const struct kept_filter *filter, const char *destination,
              struct problem *problem);

int command_getlog(struct jobs *jobs, const struct job_command *command);

/* ---- job_results.c ---- */

int command_analyse(struct jobs *jobs, const struct job_command *command);

/* Whether the options of an analysis are right, one by one: 0, or -1, after an error, which was printed. */
int jobs_check_analysis(struct jobs *jobs, const struct job_command *command);

/* What the job's machines have recorded until now reaches its filter. */
int jobs_bring(struct jobs *jobs, const struct job *job, struct problem *problem);

/* Waits until the server has what the machine's recording had at its last flush, or at its end. */
int jobs_await_published(struct jobs *jobs, const struct job *job, struct job_machine *machine,
                         struct problem *problem);

/* Waits for a process that was started, and does meanwhile what happens. Returns its status as a shell has it. */
int jobs_reap(struct jobs *jobs, pid_t pid);

/* Runs a program and waits for it; its output goes where results go. Returns its status as a shell has it. */
int jobs_spawn(struct jobs *jobs, char *const *words);

#endif
