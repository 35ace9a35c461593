/* SPDX-License-Identifier: MIT */
/* statistics_figures.h: figures derived from rows of the communication statistics. */
#ifndef DPM_STATISTICS_FIGURES_H
#define DPM_STATISTICS_FIGURES_H

#include "analysis/statistics/statistics.h"

/* Mean number of messages in the queue over time. */
double queue_mean(const struct queue_length *queue, uint64_t duration);

/* ns that the receiver waited for messages, plus the time that the receiver kept messages or the sender waiting. */
uint64_t pair_waited(const struct communication_pair *pair);

/* Whether the blocked sender waited longer than its messages in the receive queue. */
bool sender_is_blocked(const struct communication_pair *pair);

/* Whether the receiver waited longer than the messages or the sender. */
bool sender_is_late(const struct communication_pair *pair);

/* Whether `unused` is right: all messages were recorded. */
bool knows_unused(const struct communication *communication);

/* All pairs, the longest pair_waited first. The caller frees it; NULL: out of memory. */
const struct communication_pair **pairs_by_wait(const struct communication *communication);

#endif
