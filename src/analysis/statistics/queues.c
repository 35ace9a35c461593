/* SPDX-License-Identifier: MIT */
/* queues.c: messages enter queues and leave them. See queues.h. */
#include "analysis/statistics/queues.h"

#include "analysis/statistics/duplicates.h"
#include "analysis/statistics/machines.h"
#include "analysis/statistics/statistics_state.h"
#include "analysis/statistics/unmonitored.h"

/* The queue of what this endpoint sends. */
static struct queue *queue_of(struct endpoint *endpoint)
{
    struct queue *queue = &endpoint->queue;

    if (!queue->begun) {
        queue->begun = true;
        queue->owner = NO_PROCESS;
        queue->numbered = endpoint->numbered;
    }
    return queue;
}

/* NULL: not a message of a queue. */
static struct queued_message *message_of(const struct statistics *statistics, const void *value)
{
    struct queued_message *message = history_value_at(value, statistics->message_value);

    return message == NULL || message->serial == 0 ? NULL : message;
}

/* Whether the other end's machine records the arrival of what this endpoint sends. */
static bool will_be_told(const struct statistics *statistics, const struct endpoint *endpoint)
{
    const struct endpoint *partner = endpoint->partner;

    return endpoint->travels &&
           (partner == NULL ||
            (recorded_always(&statistics->origins[partner->origin].recorded, EVENT_MESSAGEQUEUED) &&
             (recorded_kinds_partly(&statistics->origins[partner->origin].recorded) &
              METER_KIND_OF(partner->kind)) == 0));
}

/* Converts a time from the sender's clock to the receiver's. *ret_known: their offset is known from messages. */
static uint64_t there(const struct statistics *statistics, const struct endpoint *sender,
                      const struct endpoint *receiver, uint64_t time, bool *ret_known)
{
    *ret_known = true;
    if (receiver == NULL || receiver->origin == sender->origin)
        return time;
    return time + (uint64_t)statistics_clock_between(statistics, sender->origin, time,
                                                     receiver->origin, ret_known);
}

static void put_in(struct statistics *statistics, struct queue *queue,
                   struct queued_message *message, uint64_t time, bool told)
{
    message->queued = time;
    message->told = told;
    message->in_queue = !message->goes_on;
    if (message->in_queue)
        queue_put_in(statistics, queue, message->left, time);
    else
        queue_add_bytes(statistics, queue, message->left, time);
}

/* ---- SEND ---- */

/* The previous piece of the same message, unless it is received whole. */
static struct queued_message *piece_before(const struct queue *queue, const struct record *record)
{
    struct queued_message *last = queue->last;

    return record->header.flags & RECORD_CONTINUED && !queue->numbered && last != NULL &&
                   last->number == queue->last_number && queue->last_end == record->message.offset
               ? last
               : NULL;
}

/* A message enters the queue when all of it has arrived (MESSAGEQUEUED); if that is not recorded, with its first
 * piece. */
static void go_on_sending(struct statistics *statistics, struct queue *queue,
                          struct queued_message *before, struct queued_message *message,
                          bool will_be_told)
{
    before->goes_on = true;
    message->sent = before->sent;
    if (!before->in_queue)
        return;
    before->in_queue = false;
    if (will_be_told) {
        queue_undo_put_in(statistics, queue, before->queued);
        return;
    }
    message->queued = before->queued;
    message->in_queue = true;
    queue_add_bytes(statistics, queue, message->left, queue->last_queued);
}

/* Notes what is known of its arrival. Within one machine, a message cannot arrive before it is sent. */
static void note_coming(struct statistics *statistics, const struct endpoint *endpoint,
                        struct queue *queue, struct queued_message *message, uint64_t first_byte,
                        const struct history_event *event)
{
    const struct endpoint *partner = endpoint->partner;
    bool known;

    if (event->came == 0) {
        if (message->queued == 0 && !will_be_told(statistics, endpoint))
            put_in(statistics, queue, message,
                   there(statistics, endpoint, partner, first_byte, &known), false);
        return;
    }
    bool one_clock =
        partner == NULL || partner->origin == endpoint->origin ||
        machine_key(statistics, endpoint->origin) == machine_key(statistics, partner->origin);
    put_in(statistics, queue, message,
           event->came < first_byte && one_clock ? first_byte : event->came, true);
}

int queues_sent(struct statistics *statistics, struct endpoint *endpoint, uint64_t first_byte,
                const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct queued_message *message = history_value_at(event->value, statistics->message_value);

    if ((endpoint->partner != NULL &&
         !endpoint_receives_are_metered(statistics, endpoint->partner)) ||
        (!endpoint->numbered && record->message.bytes == 0))
        return 0;
    struct queue *queue = queue_of(endpoint);
    if (message == NULL) { /* it will not be received */
        queue->sent++;
        return 0;
    }
    if (event->left == 0)
        return 0; /* it was received before its SEND was recorded */
    struct queued_message *before = piece_before(queue, record);
    *message = (struct queued_message){
        .number = event->number,
        .sent = first_byte,
        .left = endpoint->numbered ? record->message.bytes : event->left,
        .serial = ++queue->serial,
    };
    queue->sent += before == NULL;
    queue->latest_sent = first_byte;
    queue->last = message;
    queue->last_number = message->number;
    queue->last_end = record->message.offset + record->message.bytes;
    if (before != NULL)
        go_on_sending(statistics, queue, before, message, will_be_told(statistics, endpoint));
    note_coming(statistics, endpoint, queue, message, first_byte, event);
    return 0;
}

/* ---- MESSAGEQUEUED ---- */

/* If the receiver's recording began later than the sender's, what precedes its queue as first recorded was received
 * before, at an unknown time. `behind`: bytes that have arrived after the message. */
static bool was_taken_before(const struct queue *queue, const struct record *record,
                             uint64_t behind)
{
    return !queue->numbered && !queue->is_taken && record->queued.queue > 0 &&
           behind >= record->queued.queue;
}

int queues_arrived(struct statistics *statistics, struct endpoint *endpoint,
                   const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t behind = 0;

    if (endpoint->partner == NULL)
        return strangers_arrived(statistics, endpoint, record);
    struct queue *queue = queue_of(endpoint->partner);
    queue_note_told_length(statistics, queue, record->queued.queue, event->when);
    for (uint32_t i = 0; i < event->whole_count; i++) { /* the latest first */
        struct queued_message *message = message_of(statistics, event->whole[i]);
        if (message == NULL || message->queued != 0)
            continue;
        if (was_taken_before(queue, record, behind)) {
            queue->sent -= !message->goes_on;
            message->serial = 0;
            continue;
        }
        behind += message->left;
        put_in(statistics, queue, message, event->when, true);
    }
    return 0;
}

/* ---- RECEIVE ---- */

#define OVERTAKEN_MOST 64

/* A message that OVERTAKEN_MOST later ones have overtaken is lost, or the record of its RECEIVE is.
 *
 *      received serial 5   highest 5
 *                      8   highest 8, overtaken 0b11: bit 0 is serial 7, bit 1 is serial 6
 *                      6   highest 8, overtaken 0b01: 7 is still missing
 *
 * The queue then has at most the messages after `highest` and the missing ones. Any others are given up. */
static void note_overtaken(struct statistics *statistics, struct queue *queue, uint32_t serial)
{
    uint32_t ahead = serial - queue->highest;

    if ((int32_t)ahead > 0) {
        uint64_t skipped = ahead > OVERTAKEN_MOST ? UINT64_MAX : (1ULL << (ahead - 1)) - 1;
        queue->overtaken = ahead >= OVERTAKEN_MOST ? skipped : queue->overtaken << ahead | skipped;
        queue->highest = serial;
    } else if (-ahead - 1 < OVERTAKEN_MOST) {
        queue->overtaken &= ~(1ULL << (-ahead - 1));
    }
    uint32_t most =
        queue->serial - queue->highest + (uint32_t)__builtin_popcountll(queue->overtaken);
    if (queue->length.messages > most)
        queue_give_up(statistics, queue, queue->length.messages - most);
}

/* A message was received whole. If the offset between the clocks of both ends is unknown, only times by the receiver's
 * clock count. */
static int take_message(struct statistics *statistics, const struct endpoint *endpoint,
                        struct usage *usage, struct queued_message *message,
                        const struct history_event *event)
{
    struct queue *queue = &endpoint->partner->queue;
    uint64_t now = event->when;
    bool known;
    uint64_t sent = there(statistics, endpoint->partner, endpoint, message->sent, &known);

    if (!message->in_queue) {
        bool told = event->came < event->event.header->time;
        put_in(statistics, queue, message, told ? event->came : known ? sent : now, told);
        if (queue_count_late(statistics, queue, message->left, message->queued, now) < 0)
            return -ENOMEM;
    }
    uint64_t wait = message->told ? time_since(message->queued, now)
                    : known       ? time_since(sent, now)
                                  : 0;
    queue_take_out(statistics, queue, message->left, message->queued, wait);
    queue->taken++;
    note_overtaken(statistics, queue, message->serial);
    if (cover_at(statistics, endpoint, COVERING_MESSAGE_WAIT, usage->process, now - wait, now) < 0)
        return -ENOMEM;
    int result = message->told || known ? usage_values_add(usage, VALUE_MESSAGE_WAIT, wait) : 0;
    if (result < 0 || !message->told || !known)
        return result;
    result = usage_values_add(usage, VALUE_DELIVERY, time_since(sent, message->queued));
    return result < 0 ? result : nagle_note(statistics, endpoint, sent, message->queued, now);
}

/* Part of a message was received: its other bytes stay in the queue. */
static void take_bytes(struct statistics *statistics, const struct history_edge *edge,
                       struct queue *queue)
{
    struct queued_message *message =
        edge->kind == EDGE_EXACT ? message_of(statistics, edge->value) : NULL;

    if (message == NULL || edge->id != EVENT_SEND)
        return;
    uint32_t bytes = edge->bytes < message->left ? edge->bytes : message->left;
    if (message->queued != 0)
        queue_take_bytes(statistics, queue, bytes);
    message->left -= bytes;
}

/* A piece with a further one is not a message by itself. */
static int take(struct statistics *statistics, const struct endpoint *endpoint, struct usage *usage,
                struct queued_message *message, const struct history_event *event)
{
    struct queue *queue = &endpoint->partner->queue;
    int result = 0;

    if (!message->goes_on)
        result = take_message(statistics, endpoint, usage, message, event);
    else if (message->queued != 0)
        queue_take_bytes(statistics, queue, message->left);
    queue->last = queue->last == message ? NULL : queue->last;
    message->serial = 0;
    return result;
}

/* The serial of the earliest message that a RECEIVE took, at least in part; 0: not known. */
static uint32_t first_serial(const struct statistics *statistics, const struct history_event *event)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < event->whole_count; i++) {
        const struct queued_message *message = message_of(statistics, event->whole[i]);
        if (message != NULL && message->serial != 0 && (first == 0 || message->serial < first))
            first = message->serial;
    }
    return first;
}

/* Bytes are received in their order. So what was sent before the first of them that the recording shows was received earlier,
 * before the receiver was metered. */
static void forget_taken_before(struct statistics *statistics, const struct endpoint *endpoint,
                                struct queue *queue, const struct history_event *event)
{
    uint32_t first =
        endpoint->byte_stream && !queue->is_taken ? first_serial(statistics, event) : 0;
    uint32_t left = queue->serial - first + 1;

    if (first == 0 || queue->length.messages <= left)
        return;
    uint32_t taken = queue->length.messages - left;
    queue->sent -= taken;
    queue_begin_with(statistics, queue, taken);
}

int queues_received(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                    const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    int result = 0;

    if (endpoint->partner == NULL)
        return strangers_received(statistics, endpoint, usage, event);
    struct queue *queue = queue_of(endpoint->partner);
    if (!(record->header.flags & RECORD_END_OF_FILE))
        forget_taken_before(statistics, endpoint, queue, event);
    result = queue_set_owner(statistics, queue, usage->process, event->when);
    if (record->header.flags & RECORD_END_OF_FILE)
        return result;
    queue->is_taken = true;
    for (uint32_t i = 0; result == 0 && i < event->whole_count; i++) {
        struct queued_message *message = message_of(statistics, event->whole[i]);
        if (message != NULL)
            result = take(statistics, endpoint, usage, message, event);
    }
    for (uint32_t i = 0; i < event->edge_count; i++)
        take_bytes(statistics, &event->edges[i], queue);
    return result < 0 ? result : duplicates_note(statistics, endpoint, event);
}

void queues_close(struct statistics *statistics, struct endpoint *endpoint)
{
    if (endpoint->strangers != NULL)
        queue_leave(statistics, &endpoint->strangers->queue);
    if (endpoint->partner != NULL && endpoint->partner->queue.begun)
        queue_leave(statistics, &endpoint->partner->queue);
}
