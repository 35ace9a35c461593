/* SPDX-License-Identifier: MIT */
/*
 * duplicates.h: datagrams that a network has duplicated. Private to statistics/.
 *
 *      RECEIVE 17 <-- SEND      RECEIVE 18 <-- SEND      RECEIVE 17, no SEND: a duplicate
 */
#ifndef DPM_DUPLICATES_H
#define DPM_DUPLICATES_H

#include "analysis/statistics/statistics.h"

struct endpoint;

/* Counts a RECEIVE of an endpoint with a partner if its datagram is a duplicate. Returns 0 or -ENOMEM. */
int duplicates_note(struct statistics *statistics, struct endpoint *endpoint,
                    const struct history_event *event);

#endif
