/* SPDX-License-Identifier: MIT */
/*
 * ended.h: ended connections; those of the same like share a row. Private to statistics/.
 *
 *      endpoints --ended_add()--> like --> row: sums, one usage for each process and end
 *
 *      the first MOST_LIKES likes                a row each
 *      later ones, the first MOST_WIDER_LIKES    a row for each kind of path and set of processes
 *      all others                                a row for each kind of path
 */
#ifndef DPM_ENDED_H
#define DPM_ENDED_H

#include "analysis/statistics/connections.h"
#include "base/lookup.h"

#define MOST_LIKES       4096
#define MOST_WIDER_LIKES 1024

struct ended_rows {
    bool each;           /* each connection has a row of its own, while there are few ... */
    uint32_t each_count; /* ... so far these */
    struct likes likes;
    struct connection *rows; /* by index of the like */
    size_t row_capacity;
    struct lookup usages; /* by row, end, process and role: indexes into the list */
    struct usage **usage_list;
    uint32_t usage_count;
    size_t usage_capacity;
    struct usage *alone; /* of endpoints without a connection; in usage_list, too */
    uint64_t unknown_messages;
};

/* These return 0 or -ENOMEM. */

/* A connection has ended: adds its counts to the row of its like, and frees its endpoints. */
int ended_add(struct statistics *statistics, struct endpoint *endpoint);

/* An endpoint was closed: does the same if both ends are closed now. */
int ended_note_closed(struct statistics *statistics, struct endpoint *endpoint);

void ended_done(struct ended_rows *ended);

#endif
