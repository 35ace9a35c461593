/* SPDX-License-Identifier: MIT */
/*
 * notices.h: what agents answer and report, read with distrust: an agent may be of another version, or not be one.
 *
 *      {"pid": 812, "signal": 9} --notice_end--> {pid 812, by_signal, number 9}; else -EPROTO, and a line that says why
 */
#ifndef DPM_NOTICES_H
#define DPM_NOTICES_H

#include "base/base.h"

#include <jansson.h>
#include <sys/types.h>

/* A number of a process: "pid". */
int notice_pid(json_t *said, pid_t *ret_pid, struct problem *problem);

/* How a process has ended: "signal", or else "status". */
struct process_end {
    bool by_signal;
    int number; /* the signal, 1 to 64, or the exit status, 0 to 255 */
};

int notice_end(json_t *said, struct process_end *ret_end, struct problem *problem);

/* Where a process is on its way: figure 6.2 of Macrander's paper. Agents know the first four; they say "ended". */
enum process_state {
    PROCESS_NEW, /* suspended before its first instruction */
    PROCESS_RUNNING,
    PROCESS_STOPPED,
    PROCESS_KILLED,
    PROCESS_ACQUIRED,
    PROCESS_STATES,
};

/* "new", "running", "stopped", "killed", "acquired". */
const char *process_state_word(enum process_state state);

/* What recording.state says, and recording.end of the trace; what is missing is 0. */
struct recording_said {
    bool active, begun, caught_up;
    bool failed;        /* not all of it can be sent */
    const char *reason; /* of the JSON, of its end: "complete", "disk" ...; "": not known */
    uint64_t records, lost, processes;
};

/* Why a recording that has begun has ended by itself; NULL: it has not, as far as is known. */
const char *notice_early_end(const struct recording_said *said);

struct recording_said notice_recording(json_t *said);

#define LISTED_NAME_SIZE 64

/* One of the processes that process.list has listed. */
struct listed_process {
    pid_t pid;
    const char *recording;       /* of the JSON */
    char name[LISTED_NAME_SIZE]; /* the last part of its command, safe for terminals */
    enum process_state state;
    struct process_end end; /* PROCESS_KILLED */
};

int notice_listed(json_t *said, struct listed_process *ret_listed, struct problem *problem);

/* What a notice reports. */
enum notice_kind {
    NOTICE_OTHER, /* read by who knows it */
    NOTICE_ENDED,
    NOTICE_STOPPED,
    NOTICE_CONTINUED,
    NOTICE_RECORDING_ENDED, /* by itself */
    NOTICE_RECORDING_IDLE,  /* no metered process lives there */
    NOTICE_RECORDING_BUSY,  /* and now one does again */
    NOTICE_NOTE,
};

struct conduct_notice {
    enum notice_kind kind;
    pid_t pid;
    struct process_end end;
    const char *text;      /* of the JSON: of a note, or why a recording has ended */
    const char *recording; /* of the JSON: RECORDING_ENDED, IDLE, BUSY: its name; "": not known */
    const char *reason;    /* RECORDING_ENDED: "disk", "agent" ...; "": not known */
};

int notice_read(const char *method, json_t *params, struct conduct_notice *ret_notice,
                struct problem *problem);

#endif
