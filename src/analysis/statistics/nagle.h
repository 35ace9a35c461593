/* SPDX-License-Identifier: MIT */
/*
 * nagle.h: messages over TCP that Nagle's algorithm holds back until a delayed acknowledgement. Private to statistics/.
 *
 *      sender     SEND 150   SEND 1000 ......... held back .........
 *                      \                            ^               \
 *      receiver         arrives, RECEIVE 150   acknowledges,         arrives, RECEIVE 1000
 *                                              40 ms later
 *
 * While bytes of a connection are unacknowledged, the kernel sends no further segment that is not full, unless
 * TCP_NODELAY is set. A receiver that has nothing to send delays its acknowledgement. Neither is recorded; what is
 * recorded is a message that takes so long as such an acknowledgement, shortly after one that took next to no time and
 * was received at once, while the receiver sends nothing.
 */
#ifndef DPM_STATISTICS_NAGLE_H
#define DPM_STATISTICS_NAGLE_H

#include "analysis/statistics/statistics.h"

struct endpoint;
struct statistics;

/* The latest message that was received whole, of one direction, by the receiver's clock. */
struct nagle_state {
    uint64_t sent;   /* 0: nothing is known */
    uint64_t queued; /* when it had arrived */
    uint64_t taken;  /* when it was received */
    struct held_messages held;
};

/* A message with these times has been received at an endpoint. Returns 0 or -ENOMEM. */
int nagle_note(struct statistics *statistics, const struct endpoint *receiver, uint64_t sent,
               uint64_t queued, uint64_t taken);

#endif
