/* SPDX-License-Identifier: MIT */
/*
 * duplicates.h: datagrams that a network has doubled. Private to statistics/.
 *
 *      RECEIVE 17 <-- SEND      RECEIVE 18 <-- SEND      RECEIVE 17, no SEND: it has come before
 */
#ifndef DPM_DUPLICATES_H
#define DPM_DUPLICATES_H

#include "analysis/statistics/statistics.h"

struct endpoint;

/* A RECEIVE of an endpoint with a partner: counts it if it comes a second time. Returns 0 or -ENOMEM. */
int duplicates_note(struct statistics *statistics, struct endpoint *endpoint,
                    const struct history_event *event);

#endif
