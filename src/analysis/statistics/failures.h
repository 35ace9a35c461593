/* SPDX-License-Identifier: MIT */
/*
 * failures.h: connections that failed, by process and by the address that it tried. Private to statistics/.
 *
 *      CONNECTFAILED --> row of (process, address) --> struct communication_failure
 *
 * The first MOST_FAILURES pairs have a row each; later ones share the row of their process, with the address "*".
 */
#ifndef DPM_STATISTICS_FAILURES_H
#define DPM_STATISTICS_FAILURES_H

#include "analysis/statistics/statistics.h"

#define MOST_FAILURES 4096

struct statistics;

struct failures {
    struct intern addresses; /* of texts that are kept once */
    struct intern keys;      /* process and address of each row */
    struct communication_failure *rows;
    size_t capacity;
};

/* Counts a CONNECTFAILED of the process with this row; NO_PROCESS: unknown. Returns 0 or -ENOMEM. */
int failures_count(struct statistics *statistics, uint32_t process,
                   const struct history_event *event);

/* Copies the rows into a result, most failures first. Returns 0 or -ENOMEM. */
int failures_build(const struct failures *failures, struct communication *result);

/* The same for the rows of another result, whose process i is process map[i] of this one. */
int failures_transfer(struct communication *result, const uint32_t *map,
                      const struct communication *from);

void failures_done(struct failures *failures);

#endif
