/* SPDX-License-Identifier: MIT */
/* waits.h: how long streams wait: receivers for messages, senders for buffer space. Private to statistics/. */
#ifndef DPM_STATISTICS_WAITS_H
#define DPM_STATISTICS_WAITS_H

#include "analysis/statistics/statistics.h"

struct statistics;
struct stream;
struct usage;

struct stream_wait {
    uint64_t since; /* by its own clock; 0: it does not wait */
    uint64_t proc_time;
    uint32_t path; /* number, 0: for any of several */
};

/* Any record of a stream: how long it has waited by then. `usage`: of the path that it speaks of, or NULL. Returns 0 or
 * -ENOMEM. */
int waits_note(struct statistics *statistics, struct stream *stream, struct usage *usage,
               const struct record *record);

#endif
