/* SPDX-License-Identifier: MIT */
/*
 * process_rows.h: the processes, and the row of each in a result. Private to statistics/.
 *
 *      the first MOST_OWN_ROWS   a row of its own each
 *      later ones                share a row with those of the same machine, program, user and cgroup
 *
 * A later process gets its shared row when it first uses a path, or ends. By then it usually executes its final
 * program. It keeps that row.
 */
#ifndef DPM_PROCESS_ROWS_H
#define DPM_PROCESS_ROWS_H

#include "analysis/statistics/statistics.h"
#include "base/lookup.h"

#define MOST_OWN_ROWS    8192
#define MOST_SHARED_ROWS 1024 /* beyond these, all others of a machine share one */

struct statistics;

struct process {
    uint32_t origin;
    uint32_t number;
    uint32_t index; /* in the pool */
    uint32_t row;   /* NO_PROCESS: not yet decided */
    uint32_t image; /* number of its executable */
    uint64_t begin; /* its creation, or its first record, by its origin's clock */
    bool ended;
    struct communication_process *told; /* its identity until it has a row, then NULL */
};

/* The latest queues that had messages before their process first received from them, as it accepted the connection only
 * then: those of which the end may be later than what comes next. */
struct early_queues {
    struct early_queue {
        uint64_t until; /* when it received */
        uint32_t messages;
        uint64_t bytes;
    } * list; /* [first .. end - 1], the earliest `until` first */
    size_t first, end, capacity;
    uint64_t messages, bytes; /* sums */
};

/* Kept for each row in addition to its struct communication_process. */
struct process_state {
    uint64_t most_messages_at; /* when queue.messages_max was reached, by its origin's clock */
    uint64_t most_bytes_at;    /* when queue.bytes_max was */
    uint64_t began_at;         /* the earliest beginning of its processes */
    uint64_t ended_at;         /* the latest end of its processes */
    uint32_t image;
    uint32_t living; /* number of its processes that have not ended */
    struct early_queues early;
};

struct process_rows {
    struct lookup numbers; /* by origin and number: indexes into the pool */
    struct pool pool;
    struct process_state *states; /* [rows->process_count] */
    size_t state_count, state_capacity;
    size_t row_capacity;
    struct intern likes; /* what the processes of a shared row have in common */
    uint32_t *like_rows; /* the rows, by index of `likes` */
    size_t like_capacity;
};

/* A process by its number, created if it is new. NULL: out of memory. */
struct process *process_rows_find(struct statistics *statistics, uint32_t origin, uint32_t number);

/* It existed at this time: its creation, or one of its records. */
void process_rows_note_time(struct statistics *statistics, struct process *process, uint64_t time);

/* Index of its row, which is decided now if it was not before; or -ENOMEM. */
int64_t process_rows_decide(struct statistics *statistics, struct process *process);

/* The row of a stream's process; NO_PROCESS: unknown. */
uint32_t process_rows_of_stream(const struct statistics *statistics, uint32_t origin,
                                uint32_t stream);

/* The sums that it counts for: those of its row, or its own before it has one. */
struct communication_process *process_sums(const struct statistics *statistics,
                                           const struct process *process);

/* Notes one of its STREAM records. Returns 0 or -ENOMEM. */
int process_rows_note_identity(struct statistics *statistics, struct process *process,
                               const struct stream_record *record);

/* The process has ended. Returns 0 or -ENOMEM. */
int process_rows_end(struct statistics *statistics, struct process *process, uint64_t when);

/* Copies all rows into a result, with what is known by now. First decides the rows of live processes. Returns 0 or
 * -ENOMEM. */
int process_rows_build(struct statistics *statistics, struct communication *result);

void process_rows_done(struct process_rows *processes);

#endif
