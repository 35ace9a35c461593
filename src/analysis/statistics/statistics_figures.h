/* SPDX-License-Identifier: MIT */
/* statistics_figures.h: what follows from rows of the communication statistics. */
#ifndef DPM_STATISTICS_FIGURES_H
#define DPM_STATISTICS_FIGURES_H

#include "analysis/statistics/statistics.h"

/* Messages in the queue: the average over time, and over message operations, as the thesis has it. */
double queue_mean(const struct queue_length *queue, uint64_t duration);
double queue_mean_over_operations(const struct queue_length *queue);

/* ns: how long the receiver waited for messages, and messages, or the sender without buffer space, for the receiver. */
uint64_t pair_waited(const struct communication_pair *pair);

/* Of these two the sender waited longer. */
bool sender_is_blocked(const struct communication_pair *pair);

/* Of a pair that waited: its receiver did, rather than its messages or its sender. */
bool sender_is_late(const struct communication_pair *pair);

/* All pairs, the longest pair_waited first. The caller frees it; NULL: out of memory. */
const struct communication_pair **pairs_by_wait(const struct communication *communication);

#endif
