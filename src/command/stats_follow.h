/* SPDX-License-Identifier: MIT */
/* stats_follow.h: statistics of a trace while it grows. Private to command/. */
#ifndef DPM_STATS_FOLLOW_H
#define DPM_STATS_FOLLOW_H

#include "command/reading/traces.h"

#include "analysis/statistics/statistics.h"

/* Reads the history of a trace that is followed (traces_follow) until its recording has ended, and prints a report every
 * `interval` ns, 0: none. Says when records were removed before they were read. Returns 0, or a negative errno with a line
 * in `problem`. */
int stats_follow(const struct traces *traces, struct statistics *statistics, uint64_t interval,
                 struct problem *problem);

/* The same as lines of JSON: one every `interval` ns, and one at the end. */
int stats_follow_lines(const struct traces *traces, uint64_t interval, struct problem *problem);

/* The same of finished traces: a line for every `interval` ns of their time. */
int stats_lines(const char *const *names, size_t count, uint64_t interval, struct problem *problem);

#endif
