/* SPDX-License-Identifier: MIT */
/*
 * scheduling.h: how long threads waited for a CPU, from SCHEDULE records. Private to statistics/.
 *
 *      STREAM      SCHEDULE        SCHEDULE        totals since the thread's birth
 *      |-----------|---------------|
 *      created     1 s, waited 0.2 2 s, waited 0.7       counts 0.7 s of 2 s
 *      before      base: 0.2                             counts 0.5 s of 1 s
 */
#ifndef DPM_SCHEDULING_H
#define DPM_SCHEDULING_H

#include "analysis/statistics/statistics.h"

/* The totals that a thread's next SCHEDULE is compared with. */
struct stream_schedule {
    bool begun;   /* it has such totals */
    bool counted; /* its process counts it */
    uint64_t time, proc_time, runnable;
    uint32_t voluntary, involuntary;
};

/* A STREAM record. A thread that is created during the recording begins with 0. `first`: time of the recording's first
 * record. */
void scheduling_begin(struct stream_schedule *schedule, const struct stream_record *record,
                      uint64_t first);

/* A SCHEDULE record; adds to the sums of the thread's process. */
void scheduling_add(struct stream_schedule *schedule, const struct record *record,
                    struct scheduled *sums);

void add_scheduled(struct scheduled *sum, const struct scheduled *more);

#endif
