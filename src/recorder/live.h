/* SPDX-License-Identifier: MIT */
/*
 * live.h: the history of a running recording. Private to recorder/.
 *
 *      recording --add--> queue of records --source--> history --> analyses
 *
 * The trace is written first. The rings are emptied into it between two readings of at most LIVE_MOST records each
 * (some 10 ms). The queue holds the records that the history has not read yet. It is all the memory needed besides the
 * history's.
 */
#ifndef DPM_LIVE_H
#define DPM_LIVE_H

#include "analysis/analysis.h"
#include "event/record_queue.h"

struct live {
    struct source source; /* must be first: it is cast */
    struct source_state state;
    struct record_queue queue;
    struct history *history;
    int64_t wall_offset;
    uint64_t last_time; /* of the queue's last record */
    uint64_t last_cost; /* when the last COST was added */
    uint64_t complete;  /* no record older than this will be added */
    size_t budget;      /* records that this reading may still take */
    uint64_t added;     /* records */
    bool ended;         /* END is the queue's last record */
    int error;          /* of adding */
};

/* Returns 0 or -ENOMEM. Free with live_free, which accepts NULL. */
int live_new(struct live **ret_live, struct problem *problem);
void live_free(struct live *live);

/* Adds a record that is no older than the last. If memory runs out, the next live_read fails. `live` NULL: does
 * nothing. */
void live_add(struct live *live, const struct record_header *record, int64_t wall_offset);

/* The same for an event whose record may lack fields. */
void live_add_event(struct live *live, const struct event *event);

/* Whether records wait for the next live_read. NULL: no. */
bool live_lags(const struct live *live);

/* Adds the last two records: COST and END. The source ends with them. */
void live_end(struct live *live, const struct record *cost, enum end_reason reason);

/* Feeds the analyses with the records that were added, at most LIVE_MOST per call. Returns as analyses_read does. */
#define LIVE_MOST 20000
int live_read(struct live *live, const struct analysis *analyses, size_t count,
              struct problem *problem);

#endif
