/* SPDX-License-Identifier: MIT */
/*
 * live.h: the history of a recording that goes on. Private to recorder/.
 *
 *      recording --add--> queue of records --source--> history --> analyses
 *
 * The trace is written first, and rings are emptied into it between two readings of LIVE_MOST records each (some 10
 * ms). What the history has not taken yet stays in the queue, which is all the memory that this needs besides the
 * history's.
 */
#ifndef DPM_LIVE_H
#define DPM_LIVE_H

#include "analysis/analysis.h"
#include "event/record_queue.h"

struct live {
    struct source source; /* first: it is cast */
    struct source_state state;
    struct record_queue queue;
    struct history *history;
    int64_t wall_offset;
    uint64_t last_time; /* of the queue's last record */
    uint64_t last_cost; /* when COST was added last */
    uint64_t complete;  /* no record older than this will be added */
    size_t budget;      /* records that may still be taken in this reading */
    int error;          /* of adding */
};

/* Returns 0 or -ENOMEM. Free with live_free, which accepts NULL. */
int live_new(struct live **ret_live, struct problem *problem);
void live_free(struct live *live);

/* Adds a record that is no older than the last. Without memory live_read fails, not this. NULL: nothing is kept. */
void live_add(struct live *live, const struct record_header *record, int64_t wall_offset);

/* Hands the analyses what was added, but no more records at once than LIVE_MOST: returns as analyses_read does. */
#define LIVE_MOST 20000
int live_read(struct live *live, const struct analysis *analyses, size_t count,
              struct problem *problem);

#endif
