/* SPDX-License-Identifier: MIT */
/*
 * session_kept.h: what is kept of a session for the next controller (fabric_keep), whichever command began it: `dpm job`, or `dpm run` and
 * `dpm acquire` with --host, whose recording is a job called main.
 *
 *      session   {"version": 1, "next_job": 3, "next_filter": 2, "heard": 812, "used": {...}, "filters": [...],
 *                 "machines": ["web1"], "notes": {"web1": {"1b3f77a0": true}}, "reach": {"rsh": "ssh -F config"},
 *                 "lines": [{"machine": "web1", "pid": 812, "err": false, "text": "aGFsZiBh"}],
 *                 "recording": {"until": 0, "alone": 60000000000}}    only of run and acquire
 *      job.1     {"number": 1, "name": "sort", "recording": "f1-sort", "filter": "default", "flags": "send", "flags_set": true,
 *                 "processes": [{"name": "sort", "pid": 812, "machine": "web1", "state": "running", ...}],
 *                 "recordings": [{"machine": "web1"}]}
 */
#ifndef DPM_SESSION_KEPT_H
#define DPM_SESSION_KEPT_H

#include "conduct/filter_process.h"

#include <jansson.h>

#define KEPT_NAME_SIZE 64 /* of a job, a filter or a process */

#define KEPT_VERSION 1

/* Whether all that is kept of a session has this form: 0, or -EPROTONOSUPPORT with a line in `problem`. */
int kept_check(json_t *kept, const char *session, struct problem *problem);

/* ---- filters ---- */

struct kept_filter {
    unsigned number;
    char name[KEPT_NAME_SIZE];
    char machine[256];     /* where it runs */
    char folder[PATH_MAX]; /* there; on another machine: seen from the user's home */
    char *program;         /* "filter": dpm's own */
    char *files[2];        /* descriptions, templates; NULL. They are files of this machine. */
    char prefix[16];       /* of its recordings (filter_recording_name): "f1-"; "": all are its */
    struct trace_copy_limits limits; /* of its copies */
    struct filter_process process;
    bool watched; /* it ends with the controller that has started it */
    bool ended;   /* a program of the user's own: that was printed, and it is not started again */
    bool lacks;   /* then: it may not have stored all that was recorded for it */
};

json_t *kept_filter_json(const struct kept_filter *filter);

/* Returns 0, -EBADMSG or -ENOMEM. kept_filter_done in any case. */
int kept_filter_read(json_t *kept, struct kept_filter *ret_filter);
void kept_filter_done(struct kept_filter *filter);

/* ---- jobs ---- */

struct kept_job {
    unsigned number;
    const char *name, *recording, *filter;
    uint64_t flags;
    bool flags_set;
    const void *processes; /* those whose context this is; NULL: all */
    json_t *machines;      /* an array of names: of its recordings */
};

/* Takes over the array. */
json_t *kept_job_json(const struct conduct *conduct, const struct kept_job *job);

/* Knows a process again, of a machine that was added. Returns 0, -EBADMSG or -ENOMEM. */
int kept_process_read(struct conduct *conduct, struct remote_host *host, json_t *kept,
                      struct conduct_process **ret_process);

/* ---- the session ---- */

struct kept_session {
    unsigned next_job, next_filter;
    bool warned;
    json_t *used, *reach;       /* objects */
    json_t *filters, *machines; /* taken over */
    json_t *recording;          /* NULL: it is none of run and acquire */
};

/* With what was heard and noted, and the lines that are not complete yet. */
json_t *kept_session_json(const struct conduct *conduct, const struct kept_session *session);

/* Takes these lines again; their processes are known. */
void kept_lines_read(struct conduct *conduct, json_t *kept);

/* How machines are reached, as the next controller needs it, which may be started in another folder: "./rsh -v" is
 * "/home/me/./rsh -v" for it, for the key "rsh"; "machines" names a file. (dpm is a path on the other machines.) */
void kept_reach_set(json_t *reach, const char *key, const char *text);

/* Stores a value, which is taken over. NULL: removes it. */
int conduct_keep(struct conduct *conduct, const char *key, json_t *value, struct problem *problem);

/* ---- reading ---- */

/* "" if it is missing. */
const char *kept_text(json_t *object, const char *key);

#endif
