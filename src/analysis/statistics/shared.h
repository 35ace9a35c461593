/* SPDX-License-Identifier: MIT */
/* shared.h: which processes share memory that they may write to, as NAMEs report. Private to statistics/. */
#ifndef DPM_STATISTICS_SHARED_H
#define DPM_STATISTICS_SHARED_H

#include "analysis/statistics/statistics.h"

struct shared_memories {
    struct shared_user {
        uint32_t origin, number; /* of the memory, from 1 */
        uint32_t process;        /* index into communication.processes */
        const char *name;        /* kept by the statistics' rows */
    } * users;
    size_t count, capacity;
};

/* These return 0 or -ENOMEM. */

/* A process shares the memory with this number. */
int shared_count(struct shared_memories *shared, struct communication *rows, uint32_t origin,
                 uint32_t process, const struct name_record *name);

/* Fills in the shared memory of a result, whose pairs are known: memory of processes between which some messages are missing. */
int shared_build(const struct shared_memories *shared, struct communication *result);

void shared_done(struct shared_memories *shared);

#endif
