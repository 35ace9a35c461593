/* SPDX-License-Identifier: MIT */
/* rows.h: functions for building results. Private to statistics/. */
#ifndef DPM_STATISTICS_ROWS_H
#define DPM_STATISTICS_ROWS_H

#include "analysis/statistics/statistics.h"

/* ---- sums.c ---- */

void add_traffic(struct traffic *sum, const struct traffic *more);

static inline bool has_any(const struct traffic *traffic)
{
    return traffic->messages > 0 || traffic->bytes > 0;
}

void add_network(struct network *sum, const struct network *more);
void add_held(struct held_messages *sum, const struct held_messages *more);
void add_queue(struct queue_length *sum, const struct queue_length *more);
void times_done(struct times *times);

/* Adds all sums of a row of connections, without its histograms. */
void add_path_sums(struct communication_path *sum, const struct communication_path *more);

/* These return 0 or -ENOMEM. */
void add_asked(struct request_parts *sum, const struct request_parts *more);
int add_times(struct times *sum, const struct times *more);
int add_process_sums(struct communication_process *sum, const struct communication_process *more);

/* ---- arranging.c ---- */

/* The pair of these parties, added if there is none. Valid until the next call. NULL: out of memory. */
struct communication_pair *communication_pair(struct communication *communication,
                                              const struct party *from, const struct party *to);

/* The last step to a result: sorts pairs and paths, and sums up what each `from` sent. Returns 0 or -ENOMEM. */
int communication_arrange(struct communication *communication);

/* Sorts the processes of a party and removes duplicates. Returns how many are left. */
uint32_t sort_numbers(uint32_t *numbers, uint32_t count);

/* Parties are equal if this pointer is, since texts and lists are kept once (communication_keep). */
const void *party_identity(const struct party *party);

/* For qsort: most bytes first, then most messages. */
int compare_traffic(const struct traffic *a, const struct traffic *b);

#endif
