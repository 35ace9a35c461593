/* SPDX-License-Identifier: MIT */
/*
 * unmonitored.h: messages of an unmonitored peer, as MESSAGEQUEUED reports them. Private to statistics/.
 *
 *      MESSAGEQUEUED [100,180)  MESSAGEQUEUED [180,200)      RECEIVE [100,190)
 *           a message                a message                 takes the first, and half of the second
 *
 * Without SEND records, the data of one MESSAGEQUEUED counts as one message.
 */
#ifndef DPM_UNMONITORED_H
#define DPM_UNMONITORED_H

#include "analysis/statistics/queues.h"

struct strangers {
    struct queue queue;
    struct stranger_message {
        uint64_t queued;
        uint32_t end; /* position after it */
        uint32_t left;
    } * list; /* [first .. count), in order of arrival */
    size_t capacity;
    uint32_t first;
    uint32_t count;
};

/* Count a MESSAGEQUEUED and a RECEIVE of an endpoint whose peer is not known. Return 0 or -ENOMEM. */
int strangers_arrived(struct statistics *statistics, struct endpoint *endpoint,
                      const struct record *record);
int strangers_received(struct statistics *statistics, struct endpoint *endpoint,
                       struct usage *usage, const struct history_event *event);

/* The peer is now known: removes the messages that have arrived, which count for the peer's endpoint instead. */
void strangers_are_known(struct statistics *statistics, struct endpoint *endpoint);

/* `strangers` may be NULL. */
void strangers_free(struct strangers *strangers);

#endif
