/* SPDX-License-Identifier: MIT */
/*
 * queue_lengths.c: how many messages and bytes are in a queue, and in all queues of the process that receives from
 * them. See queues.h.
 *
 *      queue --owner--> process          queue->length             4 messages, 400 bytes
 *      queue --owner---^                 row of the process        5 messages, 440 bytes: the sum
 *
 * The mean length is that after each operation, as messages come and are taken.
 */
#include "analysis/statistics/queues.h"

static void lengthen(struct queue_length *length, uint64_t messages, uint64_t bytes)
{
    length->messages += messages;
    length->bytes += bytes;
    if (length->messages > length->messages_max)
        length->messages_max = length->messages;
    if (length->bytes > length->bytes_max)
        length->bytes_max = length->bytes;
}

static void shorten(struct queue_length *length, uint64_t messages, uint64_t bytes)
{
    length->messages -= messages < length->messages ? messages : length->messages;
    length->bytes -= bytes < length->bytes ? bytes : length->bytes;
}

/* Into the queues of a process. */
static void lengthen_process(struct statistics *statistics, uint32_t process, uint64_t messages,
                             uint64_t bytes, uint64_t time)
{
    struct queue_length *length = &process_row(statistics, process)->queue;
    const struct queue_length before = *length;

    lengthen(length, messages, bytes);
    if (length->messages_max > before.messages_max)
        statistics->processes[process].most_messages_at = time;
    if (length->bytes_max > before.bytes_max)
        statistics->processes[process].most_bytes_at = time;
}

static void note_operation(struct queue_length *length)
{
    length->operations++;
    length->messages_sum += length->messages;
}

static struct queue_length *length_of_owner(struct statistics *statistics,
                                            const struct queue *queue)
{
    return queue->owner == NO_PROCESS || queue->closed
               ? NULL
               : &process_row(statistics, queue->owner)->queue;
}

uint64_t queue_bytes_left(const struct queue *queue, const struct queue_message *message)
{
    int32_t left = (int32_t)(message->end - queue->taken);

    if (queue->numbered || !queue->has_taken)
        return message->bytes;
    return left <= 0 ? 0 : (uint32_t)left < message->bytes ? (uint32_t)left : message->bytes;
}

void queue_put_in(struct statistics *statistics, struct queue *queue, struct queue_message *message,
                  uint64_t time, bool told)
{
    struct queue_length *owner = length_of_owner(statistics, queue);
    uint64_t bytes = queue_bytes_left(queue, message);

    message->queued = time;
    message->told = told;
    lengthen(&queue->length, 1, bytes);
    note_operation(&queue->length);
    if (owner == NULL)
        return;
    lengthen_process(statistics, queue->owner, 1, bytes, time);
    note_operation(owner);
}

void queue_lengthen_message(struct statistics *statistics, struct queue *queue,
                            struct queue_message *message, uint32_t more, uint64_t time)
{
    uint64_t before = queue_bytes_left(queue, message);

    message->end += more;
    message->bytes += more;
    if (message->queued == 0)
        return;
    lengthen(&queue->length, 0, queue_bytes_left(queue, message) - before);
    if (length_of_owner(statistics, queue) != NULL)
        lengthen_process(statistics, queue->owner, 0, queue_bytes_left(queue, message) - before,
                         time);
}

void queue_take_out(struct statistics *statistics, struct queue *queue, uint64_t wait)
{
    struct queue_length *lengths[] = {&queue->length, length_of_owner(statistics, queue)};

    for (size_t i = 0; i < ARRAY_SIZE(lengths) && lengths[i] != NULL; i++) {
        shorten(lengths[i], 1, 0);
        note_operation(lengths[i]);
        lengths[i]->wait += wait;
    }
}

void queue_take_out_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes)
{
    struct queue_length *owner = length_of_owner(statistics, queue);

    if (bytes > queue->length.bytes)
        bytes = queue->length.bytes;
    shorten(&queue->length, 0, bytes);
    if (owner != NULL)
        shorten(owner, 0, bytes);
}

void queue_give_up(struct statistics *statistics, struct queue *queue,
                   const struct queue_message *message)
{
    struct queue_length *owner = length_of_owner(statistics, queue);

    if (message->queued == 0)
        return;
    queue_take_out_bytes(statistics, queue, queue_bytes_left(queue, message));
    shorten(&queue->length, 1, 0);
    if (owner != NULL)
        shorten(owner, 1, 0);
}

void queue_undo_put_in(struct statistics *statistics, struct queue *queue,
                       const struct queue_message *message)
{
    struct queue_length *lengths[] = {&queue->length, length_of_owner(statistics, queue)};
    uint64_t bytes = queue_bytes_left(queue, message);

    for (size_t i = 0; i < ARRAY_SIZE(lengths) && lengths[i] != NULL; i++) {
        shorten(lengths[i], 1, bytes);
        lengths[i]->operations--;
        lengths[i]->messages_sum -= lengths[i]->messages + 1;
    }
}

void queue_note_told_length(struct statistics *statistics, struct queue *queue, uint32_t bytes,
                            uint64_t time)
{
    struct queue_length *owner = length_of_owner(statistics, queue);

    if (queue->numbered || bytes <= queue->length.bytes)
        return;
    uint64_t more = bytes - queue->length.bytes;
    if (bytes > queue->length.bytes_max)
        queue->length.bytes_max = bytes;
    if (owner == NULL || owner->bytes + more <= owner->bytes_max)
        return;
    owner->bytes_max = owner->bytes + more;
    statistics->processes[queue->owner].most_bytes_at = time;
}

/* What was in the queue when a process's queues were longest, though nobody knew then that it was the process's: a
 * connection is nobody's before its first receive. */
static void count_earlier(struct statistics *statistics, const struct queue *queue,
                          uint32_t process)
{
    const struct statistics_process *when = &statistics->processes[process];
    struct queue_length *length = &process_row(statistics, process)->queue;

    for (uint32_t i = queue->first; i < queue->count; i++) {
        const struct queue_message *message = &queue->messages[i];
        if (message->queued == 0)
            continue;
        length->messages_max += message->queued <= when->most_messages_at;
        if (message->queued <= when->most_bytes_at)
            length->bytes_max += queue_bytes_left(queue, message);
    }
}

void queue_set_owner(struct statistics *statistics, struct queue *queue, uint32_t process,
                     uint64_t time)
{
    struct queue_length *before = length_of_owner(statistics, queue);

    if (queue->owner == process && !queue->closed)
        return;
    if (before != NULL)
        shorten(before, queue->length.messages, queue->length.bytes);
    if (queue->owner == NO_PROCESS)
        count_earlier(statistics, queue, process);
    queue->owner = process;
    queue->closed = false; /* what was received before may be told after */
    lengthen_process(statistics, process, queue->length.messages, queue->length.bytes, time);
}

void queue_leaves(struct statistics *statistics, struct queue *queue)
{
    struct queue_length *owner = queue == NULL ? NULL : length_of_owner(statistics, queue);

    if (owner == NULL)
        return;
    shorten(owner, queue->length.messages, queue->length.bytes);
    queue->closed = true;
}

void queue_is_over(const struct queue *queue, struct queue_length *of_owner)
{
    if (!queue->closed)
        shorten(of_owner, queue->length.messages, queue->length.bytes);
}

void queue_result(const struct queue *queue, uint64_t now, struct queue_length *ret_length)
{
    *ret_length = queue->length;
    for (uint32_t i = queue->first; i < queue->count; i++)
        if (queue->messages[i].queued != 0)
            ret_length->wait += time_since(queue->messages[i].queued, now);
    ret_length->unreceived += queue->count - queue->first;
}
