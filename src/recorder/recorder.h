/* SPDX-License-Identifier: MIT */
/*
 * recorder.h: a recording in progress. It knows no options of commands and prints nothing: the caller chooses which
 * processes to mark, for how long, and what to say.
 *
 *      meter --> names, trace writer --> TRACE
 *                  '-- live history --> analyses, while it goes on (recording_follow)
 *
 *      recording_open     hooks in the kernel, an empty trace
 *      recording_begin    from now on there is something to record
 *      recording_step     empties the rings: at least every RECORDING_INTERVAL ms
 *      recording_end      the rest of the records, END
 *      recording_close
 */
#ifndef DPM_RECORDER_H
#define DPM_RECORDER_H

#include "analysis/analysis.h"
#include "meter/load/meter.h"
#include "symbols/symbols.h"
#include "trace/trace.h"

#include <limits.h>
#include <signal.h>

#define RECORDING_INTERVAL 10 /* ms */

/* ---- which meter ---- */

enum meter_wish {
    WISH_AUTO, /* the kernel meter where it works, else ptrace */
    WISH_KERNEL,
    WISH_PTRACE,
};

struct meter_choice {
    enum meter_wish wish;
    bool survive; /* ptrace: the metered outlive us */
    struct meter_options options;
};

#define METER_REFUSED_SIZE 512

/* Opens the meter that is wished for. Whether the kernel meter works is tried, not guessed: what is open is then used.
 * refused: why WISH_AUTO is not the kernel meter; "" if it is, or if the meter was named.
 * Errors: with a line in `problem`; nothing is open then. */
int meter_choose(const struct meter_choice *choice, struct meter_interface **ret_meter,
                 char refused[METER_REFUSED_SIZE], struct problem *problem);

/* ---- the recording ---- */

struct recording_options {
    const char *trace; /* NULL: ./dpm-NAME-PID.trace */
    uint64_t max_size; /* bytes of the trace at most */
    struct meter_choice meter;
};

struct live;

/* All zero but for `options`, which must live as long, is one that has not been opened. */
struct recording {
    const struct recording_options *options;
    struct meter_interface *meter;           /* NULL: not opened */
    char kernel_refused[METER_REFUSED_SIZE]; /* as meter_choose says */
    char path[PATH_MAX];                     /* of the trace */
    struct trace_writer *writer;
    struct machine_record machine;
    struct names names;      /* of users and cgroups that are recorded so far */
    struct symbols *symbols; /* names of program counters; NULL without the flag pc */
    struct live *live;       /* NULL: nothing follows it */
    uint64_t records;        /* in the trace */
    uint32_t wakeups;        /* how often records were looked for */
    uint64_t cost_told;      /* `records` when the last COST was written; 0: none was */
    uint64_t last_flush;
    uint64_t complete; /* all records up to this time are stored */
    bool active;
    enum end_reason reason;
};

/* Opens the meter, ahead of recording_open: where something must be ready before the command's process is made. */
int recording_open_meter(struct recording *recording, struct problem *problem);

/* Opens the meter, if it is not open, and makes the trace: as asked for, or ./dpm-NAME-PID.trace, NAME being the last
 * part of `name`. Errors: with a line in `problem`; recording_discard is then to be called. */
int recording_open(struct recording *recording, const char *name, pid_t pid,
                   struct problem *problem);

void recording_begin(struct recording *recording);

/* Moves what the meter has into the trace; flushes it once a second. Errors: a write error, or -EFBIG: the largest
 * size, with a line in `problem`. The recording has then ended itself, and is not active any more; the metered run on.
 * A recording that is not active does nothing. */
int recording_step(struct recording *recording, struct problem *problem);

/* The same until all is stored that there is now, a second at most. The files of programs that are recorded are open
 * then: a process that ends a moment later has names for its program counters. */
int recording_catch_up(struct recording *recording, struct problem *problem);

/* Ends the recording in order: detaches the meter, stores the rest of the records, the names of program counters and
 * END. Errors: as recording_step; or END cannot be written; the trace is closed in any case. */
int recording_end(struct recording *recording, struct problem *problem);

/* Removes the trace of a recording that did not begin. */
void recording_discard(struct recording *recording);

void recording_close(struct recording *recording);

/* ---- analyses while it goes on ---- */

/* From now on what is recorded goes into a history, too, matched as that of the trace will be. To be called between
 * recording_open and recording_begin. The history is the recording's: analyses are made for it (analysis.h). Without
 * this call nothing is kept for any. Returns 0, or -ENOMEM with a line in `problem`. */
int recording_follow(struct recording *recording, struct history **ret_history,
                     struct problem *problem);

/* Hands the analyses what has been stored since, in order of cause and effect; of much a part only, so that the rings
 * do not wait long: the next call goes on. To be called after each step. Errors: -ENOMEM and those of analyses_read,
 * with a line in `problem`: then it is over (recording_unfollow). */
int recording_analyse(struct recording *recording, const struct analysis *analyses, size_t count,
                      struct problem *problem);

/* Frees the history and what waits for it; the recording goes on. Analyses of it are to be freed before. */
void recording_unfollow(struct recording *recording);

/* ---- signals ---- */

/* Blocks the signals that end a recording, and SIGCHLD, and opens a descriptor (signalfd) that shows them. SIGHUP stays
 * ignored where nohup has said so. Returns it or a negative errno; *ret_old_mask: what was blocked before. */
int recording_signals(sigset_t *ret_old_mask);

#endif
