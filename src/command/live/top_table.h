/* SPDX-License-Identifier: MIT */
/*
 * top_table.h: what dpm top shows, as lines of text of a given width. The screen and the output without a terminal both
 * consist of them. Private to command/.
 *
 *      dpm top  2 processes  12.0 s  52,113 records/s, 0 lost
 *      DPM itself: 12% of a CPU, hooks 4.8%   vm: CPU 87% of 2
 *      PROCESS                 CPU  WAITED   REQ/S    P99  SENT/S WAITS FOR
 *      redis-server[7780]      38%     20%  22,743  159us  22,743 message of redis-benchmark[7814]
 */
#ifndef DPM_TOP_TABLE_H
#define DPM_TOP_TABLE_H

#include "live/live.h"

enum top_view {
    TOP_PROCESSES,
    TOP_PAIRS,
    TOP_CONNECTIONS,
    TOP_REQUESTS, /* connections with requests */
    TOP_PROGRAMS,
    TOP_CONTAINERS,
    TOP_MACHINES,
    TOP_STRIPS, /* views of running monitors: top_views.h has their lines */
    TOP_VIEWS,
};

#define TOP_WIDTH_MOST 500
#define TOP_LINE_SIZE  (TOP_WIDTH_MOST * 4 + 1)

/* What is looked at, and how. */
struct top_look {
    enum top_view view;
    unsigned sort[TOP_VIEWS]; /* enum live_value */
    bool changes;             /* the first derivative of all rates */
    bool so_far;              /* values of the whole recording, not of the interval */
    size_t back;              /* so many snapshots before the latest */
    char filter[LIVE_NAME_SIZE];
};

void top_look_init(struct top_look *look);

/* "processes", "requests" ... NULL: no view. */
const char *top_view_name(unsigned view);
enum live_table top_table_of(enum top_view view);

/* The order of rows that this look asks for. */
void top_choice(const struct top_look *look, struct live_choice *choice);

/* The next or previous column by which rows can be sorted. */
void top_sort_next(struct top_look *look, int step);

/* The rows of a snapshot that the look shows, in order. */
size_t top_rows(const struct top_look *look, const struct live_snapshot *snapshot,
                const struct live_row *rows[LIVE_ROWS_MOST]);

/* Each writes a line of at most `width` columns, safe to print. */
void top_heading(const struct top_look *look, size_t width, char line[TOP_LINE_SIZE]);

/* `before`: the snapshot before, for changes, or NULL. */
void top_row(const struct top_look *look, const struct live_snapshot *snapshot,
             const struct live_snapshot *before, const struct live_row *row, size_t width,
             char line[TOP_LINE_SIZE]);

/* The row of all that are left out; false: there are none. */
bool top_others(const struct top_look *look, const struct live_snapshot *snapshot, size_t width,
                char line[TOP_LINE_SIZE]);

/* Where the columns of the sorted value are in the heading; 0 columns: it is not shown. */
size_t top_sorted_column(const struct top_look *look, size_t width, size_t *ret_columns);

/* Whether the latest snapshot is the rest after the last whole interval: too short for rates. The one before is shown then. */
bool top_is_rest(const struct live *live);

/* Records, losses. `subject`: of what; `state`: "held", "x10", ""; `ended`: the recordings have. */
void top_head(const struct live_snapshot *snapshot, const char *subject, const char *state,
              bool ended, size_t width, char line[TOP_LINE_SIZE]);

/* The cost of DPM itself, and how busy the machines are. `records`: this program is the recorder, too. */
void top_costs(const struct live_snapshot *snapshot, bool records, size_t width,
               char line[TOP_LINE_SIZE]);

/* The latest decision of dpm steer. false: there is none, or it was long ago. */
bool top_mark(const struct live_snapshot *snapshot, size_t width, char line[TOP_LINE_SIZE]);

/* All that the threads of a row waited for in the interval. */
void top_details(const struct live_snapshot *snapshot, const struct live_row *row, size_t width,
                 char line[TOP_LINE_SIZE]);

/* Cuts a text that is safe to print to so many columns, and fills it up with blanks if `fill`. */
void top_fit(const char *text, size_t width, bool fill, char line[TOP_LINE_SIZE]);

#endif
