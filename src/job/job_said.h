/* SPDX-License-Identifier: MIT */
/*
 * job_said.h: what agents answer and report, read with distrust: an agent may be of another version, or not be one.
 * Private to job/.
 *
 *      {"pid": 812, "signal": 9} --job_said_end--> {pid 812, by_signal, number 9}; else -EPROTO, and a line that says why
 */
#ifndef DPM_JOB_SAID_H
#define DPM_JOB_SAID_H

#include "job/job.h"

#include <jansson.h>
#include <sys/types.h>

/* A number of a process: "pid". */
int job_said_pid(json_t *said, pid_t *ret_pid, struct problem *problem);

/* How a process has ended: "signal", or else "status". */
struct job_end {
    bool by_signal;
    int number; /* the signal, 1 to 64, or the exit status, 0 to 255 */
};

int job_said_end(json_t *said, struct job_end *ret_end, struct problem *problem);

enum job_said_state { JOB_SAID_NEW, JOB_SAID_RUNNING, JOB_SAID_STOPPED, JOB_SAID_ENDED };

/* One of the processes that process.list has listed. */
struct job_listed {
    pid_t pid;
    const char *recording;    /* of the JSON */
    char name[JOB_NAME_SIZE]; /* the last part of its command, safe for terminals */
    enum job_said_state state;
    struct job_end end; /* JOB_SAID_ENDED */
};

int job_said_listed(json_t *said, struct job_listed *ret_listed, struct problem *problem);

/* What a notice reports. */
enum job_notice_kind {
    JOB_NOTICE_OTHER, /* not for a controller of jobs */
    JOB_NOTICE_ENDED,
    JOB_NOTICE_STOPPED,
    JOB_NOTICE_CONTINUED,
    JOB_NOTICE_RECORDING_ENDED,
    JOB_NOTICE_NOTE,
};

struct job_notice {
    enum job_notice_kind kind;
    pid_t pid;
    struct job_end end;
    const char *text; /* of the JSON: of a note, or why a recording has ended */
};

int job_said_notice(const char *method, json_t *params, struct job_notice *ret_notice,
                    struct problem *problem);

#endif
