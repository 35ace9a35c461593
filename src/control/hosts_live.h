/* SPDX-License-Identifier: MIT */
/*
 * hosts_live.h: interval reports over all machines, from the copies of their traces while these grow. Private to
 * control/.
 *
 *      FOLDER/web1, FOLDER/db1 ... --trace_follow--> history --> statistics --> a report every interval
 */
#ifndef DPM_HOSTS_LIVE_H
#define DPM_HOSTS_LIVE_H

#include "history/history.h"

struct hosts;

struct hosts_live {
    struct source **sources; /* in the order in which they have begun; NULL: none has */
    size_t count;
    bool *joined; /* by host: it is among these */
    struct history *history;
    bool failed; /* was reported */
};

/* Begins when a host has sent something; the others join when they have. Prints a report if an interval has passed. */
void hosts_live_step(struct hosts *hosts);

/* Also if it has not begun. */
void hosts_live_end(struct hosts *hosts);

#endif
