/* SPDX-License-Identifier: MIT */
/*
 * queue_lengths.c: numbers of messages and bytes in a queue, and in all queues of the process that receives from
 * them. See queues.h.
 *
 *      queue --owner--> process          queue->length             4 messages, 400 bytes
 *      queue --owner---^                 row of the process        5 messages, 440 bytes: the sum
 *
 * The mean length is taken after each operation, which is a message entering or leaving. The queues of a process are
 * summed in the order of their events.
 */
#include "analysis/statistics/queues.h"

#include "analysis/statistics/statistics_state.h"

#include <string.h>

static void lengthen(struct queue_length *length, uint64_t messages, uint64_t bytes)
{
    length->messages += (uint32_t)messages;
    length->bytes += bytes;
    if (length->messages > length->messages_max)
        length->messages_max = length->messages;
    if (length->bytes > length->bytes_max)
        length->bytes_max = length->bytes;
}

static void shorten(struct queue_length *length, uint64_t messages, uint64_t bytes)
{
    length->messages -= messages < length->messages ? (uint32_t)messages : length->messages;
    length->bytes -= bytes < length->bytes ? bytes : length->bytes;
}

static void note_operation(struct queue_length *length)
{
    length->operations++;
    length->messages_sum += length->messages;
}

/* The length of all queues of its owner; NULL: it has no owner. */
static struct queue_length *of_owner(const struct statistics *statistics, const struct queue *queue)
{
    return queue->owner == NO_PROCESS || queue->closed
               ? NULL
               : &statistics->rows->processes[queue->owner].queue;
}

static void lengthen_process(struct statistics *statistics, uint32_t process, uint64_t messages,
                             uint64_t bytes, uint64_t time)
{
    struct queue_length *length = &statistics->rows->processes[process].queue;
    struct process_state *state = &statistics->processes.states[process];
    const struct queue_length before = *length;

    lengthen(length, messages, bytes);
    if (length->messages_max > before.messages_max)
        state->most_messages_at = time;
    if (length->bytes_max > before.bytes_max)
        state->most_bytes_at = time;
}

static void add(struct statistics *statistics, struct queue *queue, uint64_t messages,
                uint64_t bytes, uint64_t time)
{
    lengthen(&queue->length, messages, bytes);
    if (of_owner(statistics, queue) != NULL)
        lengthen_process(statistics, queue->owner, messages, bytes, time);
    /* a long send is counted after shorter ones that were queued later */
    if (time > queue->last_queued)
        queue->last_queued = time;
}

static void take(const struct statistics *statistics, struct queue *queue, uint64_t messages,
                 uint64_t bytes)
{
    struct queue_length *owner = of_owner(statistics, queue);

    if (bytes > queue->length.bytes)
        bytes = queue->length.bytes;
    shorten(&queue->length, messages, bytes);
    if (owner != NULL)
        shorten(owner, messages, bytes);
}

static void note_operations(const struct statistics *statistics, struct queue *queue)
{
    struct queue_length *owner = of_owner(statistics, queue);

    note_operation(&queue->length);
    if (owner != NULL)
        note_operation(owner);
}

/* A long send is recorded when it ends, which is mostly after the previous message has left the queue. Before that, both
 * were in it. The owner's other queues may have changed since then. */
static void note_both(struct statistics *statistics, struct queue *queue)
{
    struct queue_length *owner = of_owner(statistics, queue);

    if (queue->length.messages >= queue->length.messages_max)
        queue->length.messages_max = queue->length.messages + 1;
    if (owner == NULL || owner->messages != queue->length.messages ||
        owner->messages < owner->messages_max)
        return;
    owner->messages_max = owner->messages + 1;
    statistics->processes.states[queue->owner].most_messages_at = queue->last_taken;
}

void queue_put_in(struct statistics *statistics, struct queue *queue, uint64_t bytes, uint64_t time)
{
    bool with_taken = time < queue->last_taken && queue->last_queued < queue->last_taken;

    add(statistics, queue, 1, bytes, time);
    if (with_taken)
        note_both(statistics, queue);
    note_operations(statistics, queue);
    queue->queued_sum += time;
}

void queue_undo_put_in(struct statistics *statistics, struct queue *queue, uint64_t queued)
{
    struct queue_length *lengths[] = {&queue->length, of_owner(statistics, queue)};

    take(statistics, queue, 1, 0);
    queue->queued_sum -= queued;
    for (size_t i = 0; i < ARRAY_SIZE(lengths) && lengths[i] != NULL; i++) {
        lengths[i]->operations--;
        lengths[i]->messages_sum -= lengths[i]->messages + 1;
    }
}

/* How much of the time from `queued` on its process lived: it may have inherited the queue. */
static uint64_t wait_in_life(const struct statistics *statistics, const struct queue *queue,
                             uint64_t queued, uint64_t wait)
{
    uint64_t before = time_since(queued, statistics->processes.states[queue->owner].began_at);

    return wait > before ? wait - before : 0;
}

void queue_take_out(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                    uint64_t queued, uint64_t wait)
{
    struct queue_length *owner = of_owner(statistics, queue);

    take(statistics, queue, 1, bytes);
    note_operations(statistics, queue);
    queue->queued_sum -= queued;
    if (wait > 0 && queued + wait > queue->last_taken)
        queue->last_taken = queued + wait;
    queue->length.wait += wait;
    if (owner != NULL)
        owner->wait += wait_in_life(statistics, queue, queued, wait);
}

void queue_add_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                     uint64_t time)
{
    add(statistics, queue, 0, bytes, time);
}

void queue_take_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes)
{
    take(statistics, queue, 0, bytes);
}

void queue_forget(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                  uint64_t queued)
{
    take(statistics, queue, 1, bytes);
    queue->queued_sum -= queued;
}

/* The bytes and times of single messages are not kept, so their mean is used. */
void queue_give_up(struct statistics *statistics, struct queue *queue, uint32_t messages)
{
    uint32_t all = queue->length.messages;

    queue->queued_sum -= queue->queued_sum / all * messages;
    take(statistics, queue, messages, queue->length.bytes * messages / all);
}

void queue_begin_with(struct statistics *statistics, struct queue *queue, uint32_t messages)
{
    queue_give_up(statistics, queue, messages);
    queue->length.messages_max = queue->length.messages;
    queue->length.bytes_max = queue->length.bytes;
}

void queue_note_told_length(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                            uint64_t time)
{
    struct queue_length *owner = of_owner(statistics, queue);

    if (queue->numbered || bytes <= queue->length.bytes)
        return;
    uint64_t more = bytes - queue->length.bytes;
    if (bytes > queue->length.bytes_max)
        queue->length.bytes_max = bytes;
    if (owner == NULL || owner->bytes + more <= owner->bytes_max)
        return;
    owner->bytes_max = owner->bytes + more;
    statistics->processes.states[queue->owner].most_bytes_at = time;
}

/* A connection has no owner before its first receive. If all its messages had arrived by the time at which the
 * process's queues were longest, they belong to that maximum: adds them. Otherwise adds none. */
static void count_earlier(struct statistics *statistics, const struct queue *queue,
                          uint32_t process)
{
    const struct process_state *when = &statistics->processes.states[process];
    struct queue_length *length = &statistics->rows->processes[process].queue;

    if (queue->last_queued <= when->most_messages_at)
        length->messages_max += queue->length.messages;
    if (queue->last_queued <= when->most_bytes_at)
        length->bytes_max += queue->length.bytes;
}

/* Connections are accepted in the order in which they came: what was accepted before the latest message of this queue is
 * no longer queued together with it, or with that of a later one. */
static void leave_out_earlier(struct early_queues *early, uint64_t queued)
{
    while (early->first < early->end && early->list[early->first].until <= queued) {
        early->messages -= early->list[early->first].messages;
        early->bytes -= early->list[early->first++].bytes;
    }
    if (early->first * 2 < early->end)
        return;
    early->end -= early->first;
    if (early->end > 0)
        memmove(early->list, early->list + early->first, early->end * sizeof(*early->list));
    early->first = 0;
}

/* How many were queued together although each was counted only when its process received: at `until`. The latest of them
 * entered at `queued`. */
static int count_together(struct statistics *statistics, uint32_t process,
                          const struct early_queue *queue, uint64_t queued)
{
    struct process_state *state = &statistics->processes.states[process];
    struct queue_length *length = &statistics->rows->processes[process].queue;
    struct early_queues *early = &state->early;

    leave_out_earlier(early, queued);
    if (array_reserve(&early->list, &early->capacity, early->end + 1, sizeof(*early->list)) < 0)
        return -ENOMEM;
    early->list[early->end++] = *queue;
    early->messages += queue->messages;
    early->bytes += queue->bytes;
    if (early->messages > length->messages_max) {
        length->messages_max = (uint32_t)early->messages;
        state->most_messages_at = queued;
    }
    if (early->bytes > length->bytes_max) {
        length->bytes_max = early->bytes;
        state->most_bytes_at = queued;
    }
    return 0;
}

int queue_count_late(struct statistics *statistics, const struct queue *queue, uint64_t bytes,
                     uint64_t queued, uint64_t now)
{
    const struct early_queue early = {.until = now, .messages = 1, .bytes = bytes};

    return queue->owner == NO_PROCESS ? 0
                                      : count_together(statistics, queue->owner, &early, queued);
}

int queue_set_owner(struct statistics *statistics, struct queue *queue, uint32_t process,
                    uint64_t time)
{
    int result = 0;

    if (queue->owner == process && !queue->closed)
        return 0;
    queue_leave(statistics, queue);
    if (queue->owner == NO_PROCESS && queue->length.messages > 0) {
        count_earlier(statistics, queue, process);
        const struct early_queue early = {
            .until = time, .messages = queue->length.messages, .bytes = queue->length.bytes};
        result = count_together(statistics, process, &early, queue->last_queued);
    }
    queue->owner = process;
    queue->closed = false; /* receives from before may be recorded after */
    lengthen_process(statistics, process, queue->length.messages, queue->length.bytes, time);
    return result;
}

void queue_leave(struct statistics *statistics, struct queue *queue)
{
    struct queue_length *owner = of_owner(statistics, queue);

    if (owner == NULL)
        return;
    shorten(owner, queue->length.messages, queue->length.bytes);
    queue->closed = true;
}

/* Until when what is still queued waits: its process may have ended before the queue's end was seen. */
static uint64_t waits_until(const struct statistics *statistics, const struct queue *queue,
                            uint64_t now)
{
    if (queue->owner == NO_PROCESS)
        return now;
    const struct process_state *process = &statistics->processes.states[queue->owner];
    bool ended = process->living == 0 && process->ended_at != 0;
    return ended && process->ended_at < now ? process->ended_at : now;
}

void queue_result(const struct statistics *statistics, const struct queue *queue, uint64_t now,
                  bool closed, struct communication *rows, struct queue_length *ret_length)
{
    uint64_t until = waits_until(statistics, queue, now);
    uint64_t waits = until * queue->length.messages - queue->queued_sum;

    if (queue->length.messages == 0 || (int64_t)waits < 0)
        waits = 0;
    *ret_length = queue->length;
    ret_length->wait += waits;
    ret_length->unreceived = queue->sent - queue->taken;
    if (closed)
        ret_length->messages = ret_length->bytes = 0;
    if (queue->owner == NO_PROCESS)
        return;
    struct queue_length *owner = &rows->processes[queue->owner].queue;
    uint64_t began = statistics->processes.states[queue->owner].began_at;
    uint64_t in_life = time_since(began, until) * queue->length.messages;
    owner->wait += waits < in_life ? waits : in_life;
    owner->unreceived += ret_length->unreceived;
    if (closed && !queue->closed)
        shorten(owner, queue->length.messages, queue->length.bytes);
}
