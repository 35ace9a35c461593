/* SPDX-License-Identifier: MIT */
/* statistics_figures.h: figures derived from rows of the communication statistics. */
#ifndef DPM_STATISTICS_FIGURES_H
#define DPM_STATISTICS_FIGURES_H

#include "analysis/statistics/statistics.h"

/* ns that a process, or several that share a row, lived in the recording: rates and queues are over this (thesis,
 * 5.2.2). */
uint64_t process_life(const struct communication_process *process);

/* The same for the sender of a pair; if that is not metered, for the receiver. Several processes: from the first one's
 * beginning to the last one's end. */
uint64_t pair_life(const struct communication *communication,
                   const struct communication_pair *pair);

/* Mean number of messages in the queues of a process over its life. */
double queue_mean(const struct communication_process *process);

/* ns that the receiver waited for messages, plus the time that the receiver kept messages or the sender waiting. Several
 * waits at the same time count once. */
uint64_t pair_waited(const struct communication_pair *pair);

/* Whether the blocked sender waited longer than its messages in the receive queue. */
bool sender_is_blocked(const struct communication_pair *pair);

/* Whether the receiver waited longer than the messages or the sender. An idle receiver (receiver_is_idle) makes its sender late only
 * if these waited for next to nothing: then neither is late. */
bool sender_is_late(const struct communication *communication,
                    const struct communication_pair *pair);

/* Whether a receiver that waits is idle, and nobody late: a server that the sender has connected to, which waits for requests;
 * one of several that take jobs from one end, as the workers of a pool do; or the sender itself. */
bool receiver_is_idle(const struct communication *communication,
                      const struct communication_pair *pair);

/* A pipe of tokens, or one by which a process wakes itself: its messages wait until they are wanted. */
bool pair_is_to_itself(const struct communication_pair *pair);

/* Whether neither side is late: nothing waited, the receiver is idle, or a process keeps its own messages. */
bool neither_is_late(const struct communication *communication,
                     const struct communication_pair *pair);

/* Whether `unused` is right: all messages were recorded, and those of all processes counted. */
bool knows_unused(const struct communication *communication);

/* Whether it is known which connections have ended: not if selection rules may have removed their DESTROYPATH. */
bool knows_ended(const struct communication *communication);

/* All pairs, the longest pair_waited first. The caller frees it; NULL: out of memory. */
const struct communication_pair **pairs_by_wait(const struct communication *communication);

/* Messages over TCP between ranks of MPI: what MPI sends over TCP is counted as its own messages, and as those of TCP. */
uint64_t messages_below_mpi(const struct communication *communication);

#endif
