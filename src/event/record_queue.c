/* SPDX-License-Identifier: MIT */
/* record_queue.c: a FIFO of record copies. See record_queue.h. */
#include "event/record_queue.h"

#include <stdlib.h>
#include <string.h>

void record_queue_done(struct record_queue *queue)
{
    free(queue->bytes);
    *queue = (struct record_queue){0};
}

/* Moves what is left to the front, if that is no more than has been taken. This is cheaper than growing: it copies at
 * most one byte for each byte taken. */
static void reuse_taken(struct record_queue *queue)
{
    size_t left = queue->end - queue->first;

    if (left > queue->first)
        return;
    if (left > 0)
        memcpy(queue->bytes, queue->bytes + queue->first, left);
    queue->first = 0;
    queue->end = left;
}

int record_queue_add(struct record_queue *queue, const struct record_header *record)
{
    size_t size = event_size(record->id);

    if (queue->first == queue->end || queue->end + size > queue->capacity)
        reuse_taken(queue);
    int result = array_reserve(&queue->bytes, &queue->capacity, queue->end + size, 1);
    if (result < 0)
        return result;
    memcpy(queue->bytes + queue->end, record, size);
    queue->end += size;
    return 0;
}

const struct record_header *record_queue_peek(const struct record_queue *queue)
{
    return queue->first == queue->end ? NULL
                                      : (const struct record_header *)(queue->bytes + queue->first);
}

void record_queue_take(struct record_queue *queue)
{
    queue->first += event_size(record_queue_peek(queue)->id);
}
