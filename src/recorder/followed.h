/* SPDX-License-Identifier: MIT */
/*
 * followed.h: the history of a running recording. Private to recorder/.
 *
 *      recording --add--> queue of records --source--> history --> analyses
 *
 * The trace is written first. The rings are emptied into it between two readings of at most FOLLOWED_MOST records each
 * (some 10 ms). The queue holds the records that the history has not read yet. It is all the memory needed besides the
 * history's.
 */
#ifndef DPM_FOLLOWED_H
#define DPM_FOLLOWED_H

#include "analysis/analysis.h"
#include "event/record_queue.h"

struct followed {
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

/* Returns 0 or -ENOMEM. Free with followed_free, which accepts NULL. */
int followed_new(struct followed **ret_followed, struct problem *problem);
void followed_free(struct followed *followed);

/* Adds a record that is no older than the last. If memory runs out, the next followed_read fails. `followed` NULL: does
 * nothing. */
void followed_add(struct followed *followed, const struct record_header *record,
                  int64_t wall_offset);

/* The same for an event whose record may lack fields. */
void followed_add_event(struct followed *followed, const struct event *event);

/* Whether records wait for the next followed_read. NULL: no. */
bool followed_lags(const struct followed *followed);

/* Adds the last two records: COST and END. The source ends with them. */
void followed_end(struct followed *followed, const struct record *cost, enum end_reason reason);

/* Feeds the analyses with the records that were added, at most FOLLOWED_MOST per call. Returns as analyses_read does. */
#define FOLLOWED_MOST 20000
int followed_read(struct followed *followed, const struct analysis *analyses, size_t count,
                  struct problem *problem);

#endif
