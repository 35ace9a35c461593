/* SPDX-License-Identifier: MIT */
/* inputs.h: what processes read from files that other processes had written. Private to statistics/. */
#ifndef DPM_INPUTS_H
#define DPM_INPUTS_H

#include "analysis/statistics/statistics.h"
#include "base/lookup.h"

/* Rows of their own; what is read later shares one row. */
#define MOST_INPUTS 16384

/* One file that one process has written and another has read. */
struct input_row {
    uint32_t from, to; /* indexes into communication.processes */
    uint32_t origin;   /* of the reader */
    uint32_t device;
    uint64_t inode;
    struct communication_input sums; /* its names are kept by the statistics' rows */
};

struct inputs {
    struct intern keys;
    struct input_row *rows; /* [keys.count] */
    size_t capacity;
    struct communication_input others; /* of all files beyond MOST_INPUTS */
};

/* These return 0 or -ENOMEM. */

/* Counts the edge to a READ of the process `to` from a WRITE of the process `from`, both indexes into
 * communication.processes. */
int inputs_count(struct inputs *inputs, const struct identities *identities,
                 struct communication *rows, uint32_t from, uint32_t to,
                 const struct history_event *event, const struct history_edge *edge);

/* Fills in the inputs of a result. */
int inputs_build(const struct inputs *inputs, struct communication *result);

/* Fills in the inputs of groups of processes: process i is in group group_of[i]. */
int inputs_group(const struct communication *from, const uint32_t *group_of,
                 struct communication *result);

void inputs_done(struct inputs *inputs);

#endif
