/* SPDX-License-Identifier: MIT */
/* rows.h: what makers of a result share. Private to statistics/. */
#ifndef DPM_STATISTICS_ROWS_H
#define DPM_STATISTICS_ROWS_H

#include "analysis/statistics/statistics.h"

/* ---- sums.c ---- */

void add_traffic(struct traffic *sum, const struct traffic *more);
void add_network(struct network *sum, const struct network *more);
void add_queue(struct queue_length *sum, const struct queue_length *more);
void times_done(struct times *times);

/* All sums of a row of connections, except what is distributed. */
void add_path_sums(struct communication_path *sum, const struct communication_path *more);

/* These return 0 or -ENOMEM. */
int add_times(struct times *sum, const struct times *more);
int add_process_sums(struct communication_process *sum, const struct communication_process *more);

/* ---- arranging.c ---- */

/* The pair of these parties, a new one if there is none: valid until the next is asked for. NULL: out of memory. */
struct communication_pair *communication_pair(struct communication *communication,
                                              const struct party *from, const struct party *to);

/* Pairs and paths in order, and what each has sent in all: the last step to a result. Returns 0 or -ENOMEM. */
int communication_arrange(struct communication *communication);

/* How a party lists its processes: ascending, each once. Returns how many are left. */
uint32_t sort_numbers(uint32_t *numbers, uint32_t count);

/* Texts and lists are kept once: parties are equal if these are. */
const void *party_identity(const struct party *party);

/* For qsort: most bytes first, of as many most messages. */
int compare_traffic(const struct traffic *a, const struct traffic *b);

#endif
