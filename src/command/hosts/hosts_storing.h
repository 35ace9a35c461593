/* SPDX-License-Identifier: MIT */
/*
 * hosts_storing.h: what is kept of a recording on several machines (--store), by a filter: a process of its own, whose lines say
 * what it has stored. Private to command/.
 *
 *      all      agent: the newest 1 GiB      here: everything, up to --max-size for each host
 *      newest   agent: the same limits ...   here: ... as a trace on one machine
 *      none     agent: the newest 1 GiB      here: the newest few MiB, in the session's folder, until the report has read
 *               in many small files                them
 *
 *      dpm filter --from SESSION --output FOLDER --json --pipe--> {"packets": 12, "copies": [{"machine": "web1", ...}], ...}
 */
#ifndef DPM_HOSTS_STORING_H
#define DPM_HOSTS_STORING_H

#include "conduct/filter_process.h"
#include "trace/packets.h"

#include <jansson.h>
#include <stdbool.h>

struct hosts;
struct metered_host;

struct hosts_storing {
    struct filter_process process;
    int lines;  /* what it writes; negative: nothing any more */
    char *text; /* of a line that is not complete yet */
    size_t length, capacity;
    json_t *state;        /* its last line; NULL: none */
    uint64_t bytes;       /* that all runs before this one have stored */
    uint64_t started;     /* when this one was */
    unsigned short_lived; /* runs in a row */
    char told[512];       /* its last problem */
    bool runs;            /* nothing is stored otherwise */
    bool ending;          /* it ends by itself, or was asked to */
    bool full;            /* a copy has its largest size */
};

/* Starts the filter, in place of that of an earlier controller. Errors have a line in `problem`. */
int hosts_storing_begin(struct hosts *hosts, struct problem *problem);

/* Reads what the filter says. Starts it again if it has ended. */
void hosts_storing_step(struct hosts *hosts);

/* Waits until the filter has stored all, and ends; no longer than it gets on, and not if it was not `told` that the session has
 * ended. Returns whether it has all. */
bool hosts_storing_finish(struct hosts *hosts, bool told);

/* Ends the filter, if it runs. */
void hosts_storing_end(struct hosts *hosts);

/* How much has come. */
uint64_t hosts_storing_bytes(const struct hosts *hosts);

/* A copy, as dpm-filter(1) describes it for --json; NULL: the last one was before. */
json_t *hosts_storing_copy(const struct hosts *hosts, size_t index);

/* The host of which it is; NULL: none. */
struct metered_host *hosts_storing_host(const struct hosts *hosts, json_t *copy);

/* Whether only the report while recording sees the records (--store none). */
bool hosts_only_reports(const struct hosts *hosts);

/* What the copies keep. */
struct trace_copy_limits hosts_copy_limits(const struct hosts *hosts);

/* Adds to the parameters of recording.open what the agent is to keep. */
void hosts_set_spool(const struct hosts *hosts, json_t *params);

#endif
