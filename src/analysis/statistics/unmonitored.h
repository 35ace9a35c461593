/* SPDX-License-Identifier: MIT */
/*
 * unmonitored.h: what an unmonitored peer has sent, as MESSAGEQUEUED shows. Private to statistics/.
 *
 *      MESSAGEQUEUED [100,180)  MESSAGEQUEUED [180,200)      RECEIVE [100,190)
 *           a message                a message                 takes the first
 *
 * No SEND says what a message was: it is what came at once.
 */
#ifndef DPM_UNMONITORED_H
#define DPM_UNMONITORED_H

#include "analysis/statistics/queues.h"

struct strangers {
    struct queue queue;
    struct stranger_message {
        uint64_t queued;
        uint32_t end; /* position behind it */
        uint32_t left;
    } * list; /* [first .. count), in the order in which they came */
    size_t capacity;
    uint32_t first;
    uint32_t count;
};

/* These return 0 or -ENOMEM. A MESSAGEQUEUED of an endpoint whose peer is not known; a RECEIVE. */
int strangers_arrived(struct statistics *statistics, struct endpoint *endpoint,
                      const struct record *record);
int strangers_received(struct statistics *statistics, struct endpoint *endpoint,
                       struct usage *usage, const struct history_event *event);

/* The peer is known now: what has come is its messages. */
void strangers_are_known(struct statistics *statistics, struct endpoint *endpoint);

/* `strangers` may be NULL. */
void strangers_free(struct strangers *strangers);

#endif
