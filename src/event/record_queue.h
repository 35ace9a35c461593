/* SPDX-License-Identifier: MIT */
/*
 * record_queue.h: a FIFO of record copies, stored one after the other. An all-zero struct is empty.
 *
 *      | taken | STREAM | PATH   | SEND | ...  | free
 *              ^first                          ^end
 */
#ifndef DPM_RECORD_QUEUE_H
#define DPM_RECORD_QUEUE_H

#include "event/event.h"

struct record_queue {
    char *bytes;
    size_t first;
    size_t end;
    size_t capacity;
};

void record_queue_done(struct record_queue *queue);

/* Appends a copy of a record of a known type. Returns 0 or -ENOMEM. */
int record_queue_add(struct record_queue *queue, const struct record_header *record);

/* record_queue_peek returns the first record, or NULL if the queue is empty; record_queue_take removes it. It stays
 * valid until the next one is added. */
const struct record_header *record_queue_peek(const struct record_queue *queue);
void record_queue_take(struct record_queue *queue);

#endif
