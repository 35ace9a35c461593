/* SPDX-License-Identifier: MIT */
/*
 * recorder.h: a running recording. It knows no command-line options and prints nothing: the caller decides which
 * processes to mark, for how long, and what to print.
 *
 *      meter ------------------> names --> rules --+--> trace writer --> TRACE, unless nothing is to be stored
 *      state of the machine --'                    '--> live history --> analyses, while recording (recording_follow)
 *
 *      recording_open     hooks in the kernel, an empty trace
 *      recording_begin    from now on there is something to record
 *      recording_wait     until there is something to do
 *      recording_step     empties the rings
 *      recording_end      the rest of the records, END
 *      recording_close
 */
#ifndef DPM_RECORDER_H
#define DPM_RECORDER_H

#include "analysis/analysis.h"
#include "event/record_queue.h"
#include "meter/load/meter.h"
#include "rules/rules.h"
#include "symbols/symbols.h"
#include "trace/trace.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>

/* ms between two steps, if nothing else hurries: */
#define RECORDING_INTERVAL 10  /* at least, and where nothing wakes the recorder */
#define RECORDING_PAUSE    100 /* at most */

/* ---- which meter ---- */

enum meter_wish {
    WISH_AUTO, /* the kernel meter if it works, else ptrace */
    WISH_KERNEL,
    WISH_PTRACE,
};

struct meter_choice {
    enum meter_wish wish;
    bool survive; /* ptrace: if dpm is killed, the metered processes run on */
    struct meter_options options;
};

#define METER_REFUSED_SIZE 512

/* Opens a meter. WISH_AUTO tries whether the kernel meter works, and keeps it open if it does. `refused`: why WISH_AUTO
 * did not choose the kernel meter; "" if it did, or if the meter was named. On an error nothing is open, and `problem`
 * has a line. */
int meter_choose(const struct meter_choice *choice, struct meter_interface **ret_meter,
                 char refused[METER_REFUSED_SIZE], struct problem *problem);

/* Appends `refused`, as meter_choose wrote it, to the line why the ptrace meter does not work; nothing if it is "". */
void meter_append_refused(struct problem *problem, const char *refused);

/* ---- the recording ---- */

enum recording_store {
    STORE_ALL,    /* a trace, which ends at its limit */
    STORE_NEWEST, /* a trace that keeps only the newest records within its limits */
    STORE_NONE,   /* no trace: only what follows the recording sees the records */
};

/* A trace that keeps only the newest needs to know which identities are still valid. */
#define STORE_NEWEST_FLAGS (EVENT_FLAG(EVENT_TERMINATION) | EVENT_FLAG(EVENT_DESTROYPATH))

struct recording_options {
    enum recording_store store;
    const char *trace;          /* NULL: ./dpm-NAME-PID.trace */
    uint64_t max_size;          /* limit on the trace, bytes */
    struct trace_limits limits; /* STORE_NEWEST; then the meter has STORE_NEWEST_FLAGS, too */
    /* ns from when a record is made until it is stored, or analysed; 0: a second, or RECORDING_PAUSE. Closed UNIX sockets
     * and pipes are found once a second in any case. */
    uint64_t latest;
    struct meter_choice meter;
    bool sensors; /* probes in libraries of runtimes, too; then meter.options.libraries, too */
    /* Which events are stored and analysed; NULL: all, and recording_select may not be called. Owned by the caller. With
     * meter.options.selects, the kernel meter makes no other records, as far as it can tell. */
    const struct rules *rules;
};

struct followed;
struct libraries;
struct host;
struct host_cgroups;

/* The state of the machine (recording_state.h). Without the flag summary, all is 0. */
struct recording_state {
    struct host *host;
    struct host_cgroups *cgroups;
    struct record_queue read; /* not stored yet: earlier records may follow */
    bool failed;              /* out of memory: a record is missing */
    uint64_t last;            /* when it was read */
    uint64_t unflushed;       /* records of it since the last flush */
};

/* All zero except `options` is a recording that is not open. `options` must outlive it. */
struct recording {
    const struct recording_options *options;
    struct meter_interface *meter;           /* NULL: not open */
    char kernel_refused[METER_REFUSED_SIZE]; /* as meter_choose writes it */
    char path[PATH_MAX];                     /* of the trace; "": there is none */
    struct trace_writer *writer;             /* NULL: nothing is stored */
    struct machine_record machine;
    struct names names;        /* of users and cgroups recorded so far */
    uint32_t files;            /* of the trace, when they were reported */
    struct symbols *symbols;   /* names of program counters; NULL without the flag pc */
    bool names_cut;            /* not all of these are in the trace */
    struct followed *followed; /* NULL: no analyses follow it */
    struct rules_stage *stage; /* NULL: no rules */
    struct recording_state state;
    struct libraries *libraries; /* probed; NULL: none are to be */
    uint64_t probes;             /* in force, in libraries */
    char probe_problem[256];     /* why one is not; "": all are */
    uint64_t records;            /* so far */
    uint64_t last_control;       /* time of the last control record */
    uint64_t last_time;          /* of the last record */
    uint32_t wakeups;            /* how often recording_step looked for records */
    uint64_t cost_told;          /* `records` when the last COST was written; 0: none yet */
    uint64_t last_step;
    uint64_t measure_due; /* when to call meter->measure again */
    uint64_t young_until; /* a program has begun shortly before this time */
    uint64_t last_care;   /* when the last sweep was, and what else is done from time to time */
    uint64_t last_flush;
    uint64_t flushed;    /* `records` then */
    uint64_t complete;   /* all records up to this time are stored */
    int64_t wall_offset; /* as of the latest record */
    bool active;
    enum end_reason reason;
    /* command lines recorded so far */
    struct commands commands;
    struct shared_memory *shared;
};

/* Opens the meter before recording_open does, if it must be ready before the command's process is created. */
int recording_open_meter(struct recording *recording, struct problem *problem);

/* Opens the meter, if it is not open yet, and creates the trace, if there is to be one: at the path in the options, or
 * ./dpm-NAME-PID.trace, where NAME is the last part of `name`. On an error `problem` has a line; call recording_discard then. */
int recording_open(struct recording *recording, const char *name, pid_t pid,
                   struct problem *problem);

void recording_begin(struct recording *recording);

/* Stores and analyses what other rules select, from now on; a FLAGS record and the rules' NAMEs say so. The rules must
 * outlive the recording, or other ones. Errors: -EINVAL (it was opened without rules); -ENOMEM;
 * and those of recording_step, which end the recording, all with a line in `problem`. After any error the rules may be
 * freed. */
int recording_select(struct recording *recording, const struct rules *rules,
                     struct problem *problem);

/* Waits until one of these files is ready (at most RECORDING_FILES_MOST), the time `until` (ns, CLOCK_MONOTONIC; UINT64_MAX:
 * never), or the next step: when the meter wakes us, or something is due. Sets `revents`. Returns the number of files that
 * are ready; -1 as poll(2) does. A recording that is not active has no step. */
#define RECORDING_FILES_MOST 8
int recording_wait(struct recording *recording, struct pollfd *files, size_t count, uint64_t until);

/* Moves the meter's records into the trace; flushes it as often as options->latest says. Errors, with a line in
 * `problem`: a write error, or -EFBIG at the size limit. The recording then has stopped and is no longer active; the metered processes run on.
 * Does nothing if the recording is not active. */
int recording_step(struct recording *recording, struct problem *problem);

/* Stores a record of the caller's, and analyses it, as the state of the machine: a control record without a stream, whose time
 * is now. -ENOMEM if it cannot be kept until the records before it are stored. */
int recording_add(struct recording *recording, const struct record_header *record);

/* Repeats recording_step until all records made before the call are stored, for about a second at most. After that the
 * program files of recorded processes are open: a process that ends a moment later has names for its program
 * counters. */
int recording_catch_up(struct recording *recording, struct problem *problem);

/* What was recorded becomes readable in the trace at once. */
int recording_flush(struct recording *recording, struct problem *problem);

/* Ends the recording: detaches the meter, and stores the remaining records, the names of program counters, and END. A
 * history that follows gets all of them, too, and ends: recording_analyse until it returns SOURCE_END.
 * Errors: as recording_step, or END cannot be written. The trace is closed in any case. */
int recording_end(struct recording *recording, struct problem *problem);

/* Cgroups whose limits were not recorded, because too many had metered processes. Before recording_close. */
uint64_t recording_cgroups_left_out(const struct recording *recording);

/* Removes the trace of a recording that did not begin. */
void recording_discard(struct recording *recording);

void recording_close(struct recording *recording);

/* ---- analyses while recording ---- */

/* Feeds everything that is recorded from now on into a history, too; it matches messages as the trace's history will.
 * Call it between recording_open and recording_begin. The recording owns the history; analyses are made for it
 * (analysis.h). Without this call no records are kept in memory. Returns 0, or -ENOMEM with a line in `problem`. */
int recording_follow(struct recording *recording, struct history **ret_history,
                     struct problem *problem);

/* Feeds the analyses with the events stored since the last call, in causal order. Call it after each step. It takes a
 * limited number of events so that the rings do not wait long; the next call continues. Returns SOURCE_NONE_YET;
 * SOURCE_END after recording_end and the last event; or an error: -ENOMEM and those of analyses_read, with a line in
 * `problem`; call recording_unfollow then. */
int recording_analyse(struct recording *recording, const struct analysis *analyses, size_t count,
                      struct problem *problem);

/* The time up to which the analyses have been given all records (ns, CLOCK_MONOTONIC): what has not ended by then goes on. 0: it is
 * not known, since some records wait for the next call. */
uint64_t recording_analysed(const struct recording *recording);

/* Frees the history and its queue; the recording continues. Free the analyses first. */
void recording_unfollow(struct recording *recording);

/* ---- signals ---- */

/* Blocks SIGCHLD and the signals that end a recording, and opens a signalfd for them. SIGHUP stays ignored if it is
 * (nohup). Returns the descriptor or a negative errno; *ret_old_mask: the previous mask. */
int recording_signals(sigset_t *ret_old_mask);

#endif
