/* SPDX-License-Identifier: MIT */
/*
 * process_rows.h: the processes, and which row of a result each one has. Private to statistics/.
 *
 *      the first MOST_OWN_ROWS   a row of its own each
 *      later ones                a row that all of their like share: machine, program, user, cgroup
 *
 * Which is its like is decided when a later one first uses a path, or ends: by then it executes its own program as a rule. What
 * its row is stays so.
 */
#ifndef DPM_PROCESS_ROWS_H
#define DPM_PROCESS_ROWS_H

#include "analysis/statistics/statistics.h"
#include "base/lookup.h"

#define MOST_OWN_ROWS    8192
#define MOST_SHARED_ROWS 1024 /* then all others of a machine share one */

struct statistics;

struct process {
    uint32_t origin;
    uint32_t number;
    uint32_t index; /* in the pool */
    uint32_t row;   /* NO_PROCESS: not decided yet */
    uint32_t image; /* that it executes */
    bool ended;
    struct communication_process *told; /* who it is, until it has a row; then NULL */
};

/* Beside each row of a process. */
struct process_state {
    uint64_t most_messages_at; /* when the most were in its queues, by its origin's clock */
    uint64_t most_bytes_at;
    uint64_t ended_at; /* of several the latest */
    uint32_t image;
    uint32_t living; /* processes that have not ended */
};

struct process_rows {
    struct lookup numbers; /* by origin and number: indexes into the pool */
    struct pool pool;
    struct process_state *states; /* [rows->process_count] */
    size_t state_capacity;
    size_t row_capacity;
    struct intern likes; /* of shared rows ... */
    uint32_t *like_rows; /* ... which */
    size_t like_capacity;
};

/* A process by its number; made if it is not known. NULL: out of memory. */
struct process *process_rows_find(struct statistics *statistics, uint32_t origin, uint32_t number);

/* Index of its row, which is decided now at the latest; or -ENOMEM. */
int64_t process_rows_decide(struct statistics *statistics, struct process *process);

/* Where its sums are kept. */
struct communication_process *process_sums(const struct statistics *statistics,
                                           const struct process *process);

/* A STREAM record of it. Returns 0 or -ENOMEM. */
int process_rows_note_identity(struct statistics *statistics, struct process *process,
                               const struct stream_record *record);

/* It has ended. Returns 0 or -ENOMEM. */
int process_rows_end(struct statistics *statistics, struct process *process, uint64_t when);

/* Copies all rows into a result, with what is known of them by now; those of processes that live are decided then. Returns 0
 * or -ENOMEM. */
int process_rows_build(struct statistics *statistics, struct communication *result);

void process_rows_done(struct process_rows *processes);

#endif
