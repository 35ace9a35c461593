/* SPDX-License-Identifier: MIT */
/*
 * hosts_live.h: reports over all machines while they record, from the copies of their traces while these grow. Private to
 * command/.
 *
 *      FOLDER/web1, FOLDER/db1 ... --trace_follow_copy--> history --+--> statistics, or live --> a report, or a line, every interval
 *                                                              '--> with --store none: the report at the end
 */
#ifndef DPM_HOSTS_LIVE_H
#define DPM_HOSTS_LIVE_H

#include "history/history.h"

#include <stdbool.h>

struct hosts;

struct hosts_live {
    struct source **sources; /* in the order in which they have begun; NULL: none has */
    size_t count;
    bool *joined; /* by host: it is among these */
    struct history *history;
    uint64_t overtaken; /* records that were removed before they were read, and reported */
    bool failed;        /* was reported */
};

/* Begins when a host has sent something; the others join when they have. Prints a report if an interval has passed. */
void hosts_live_step(struct hosts *hosts);

/* Whether the analyses go on until everything has come: for the report of --store none, and for the last line of JSON. */
bool hosts_live_is_whole(const struct hosts *hosts);

/* Then: after the filter has ended, reads the rest, prints the last line, and finishes hosts->recorder.whole. Returns
 * 0, or a negative errno with a line in `problem`. */
int hosts_live_finish(struct hosts *hosts, struct problem *problem);

/* Also if it has not begun. */
void hosts_live_end(struct hosts *hosts);

#endif
