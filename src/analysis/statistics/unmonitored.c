/* SPDX-License-Identifier: MIT */
/* unmonitored.c: messages of an unmonitored peer. See unmonitored.h. */
#include "analysis/statistics/unmonitored.h"

#include "analysis/statistics/statistics_state.h"

#include <stdlib.h>
#include <string.h>

#define STRANGERS_MOST 65536 /* messages; older ones count as never received */

void strangers_free(struct strangers *strangers)
{
    if (strangers != NULL)
        free(strangers->list);
    free(strangers);
}

static struct strangers *strangers_of(struct endpoint *endpoint)
{
    if (endpoint->strangers != NULL)
        return endpoint->strangers;
    endpoint->strangers = calloc(1, sizeof(*endpoint->strangers));
    if (endpoint->strangers == NULL)
        return NULL;
    endpoint->strangers->queue.begun = true;
    endpoint->strangers->queue.owner = NO_PROCESS;
    endpoint->strangers->queue.numbered = endpoint->numbered;
    return endpoint->strangers;
}

static bool is_empty(const struct strangers *strangers)
{
    return strangers->first == strangers->count;
}

static void drop_first(struct strangers *strangers)
{
    strangers->first++;
    if (is_empty(strangers))
        strangers->first = strangers->count = 0;
}

static void give_up_first(struct statistics *statistics, struct strangers *strangers)
{
    const struct stranger_message first = strangers->list[strangers->first];

    drop_first(strangers);
    queue_forget(statistics, &strangers->queue, first.left, first.queued);
}

static int reserve_one(struct strangers *strangers)
{
    if (strangers->first > 64 && strangers->first * 2 > strangers->count) {
        memmove(strangers->list, strangers->list + strangers->first,
                (strangers->count - strangers->first) * sizeof(*strangers->list));
        strangers->count -= strangers->first;
        strangers->first = 0;
    }
    return array_reserve(&strangers->list, &strangers->capacity, strangers->count + 1UL,
                         sizeof(*strangers->list));
}

int strangers_arrived(struct statistics *statistics, struct endpoint *endpoint,
                      const struct record *record)
{
    struct strangers *strangers = strangers_of(endpoint);
    uint64_t time = record->header.time;

    if (strangers == NULL || reserve_one(strangers) < 0)
        return -ENOMEM;
    if (strangers->count - strangers->first >= STRANGERS_MOST)
        give_up_first(statistics, strangers);
    queue_note_told_length(statistics, &strangers->queue, record->queued.queue, time);
    strangers->list[strangers->count++] = (struct stranger_message){
        .queued = time,
        .end = record->queued.offset + (endpoint->numbered ? 1 : record->queued.bytes),
        .left = record->queued.bytes,
    };
    strangers->queue.sent++;
    queue_put_in(statistics, &strangers->queue, record->queued.bytes, time);
    return 0;
}

static int take_first(struct statistics *statistics, struct strangers *strangers,
                      struct usage *usage, uint64_t now)
{
    const struct stranger_message first = strangers->list[strangers->first];
    uint64_t wait = time_since(first.queued, now);

    drop_first(strangers);
    queue_take_out(statistics, &strangers->queue, first.left, first.queued, wait);
    strangers->queue.taken++;
    if (coverings_add(&statistics->coverings, COVERING_MESSAGE_WAIT, usage->process, NO_PROCESS,
                      now - wait, now) < 0)
        return -ENOMEM;
    return usage_values_add(usage, VALUE_MESSAGE_WAIT, wait);
}

static int take_bytes(struct statistics *statistics, struct strangers *strangers,
                      struct usage *usage, uint32_t end, uint64_t now)
{
    int result = 0;

    while (result == 0 && !is_empty(strangers) &&
           (int32_t)(end - strangers->list[strangers->first].end) >= 0)
        result = take_first(statistics, strangers, usage, now);
    if (result < 0 || is_empty(strangers))
        return result;
    struct stranger_message *first = &strangers->list[strangers->first];
    int32_t left = (int32_t)(first->end - end);
    if ((uint32_t)left < first->left) {
        queue_take_bytes(statistics, &strangers->queue, first->left - (uint32_t)left);
        first->left = (uint32_t)left;
    }
    return 0;
}

#define STRANGERS_LOOKED_AT 64 /* datagrams that a later one may overtake */

static int take_datagram(struct statistics *statistics, struct strangers *strangers,
                         struct usage *usage, uint32_t end, uint64_t now)
{
    uint32_t at = strangers->first;

    while (at < strangers->count && strangers->list[at].end != end)
        at++;
    if (at == strangers->count)
        return 0;
    while (at - strangers->first > STRANGERS_LOOKED_AT)
        give_up_first(statistics, strangers);
    const struct stranger_message message = strangers->list[at];
    memmove(&strangers->list[strangers->first + 1], &strangers->list[strangers->first],
            (at - strangers->first) * sizeof(message));
    strangers->list[strangers->first] = message;
    return take_first(statistics, strangers, usage, now);
}

int strangers_received(struct statistics *statistics, struct endpoint *endpoint,
                       struct usage *usage, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct strangers *strangers = endpoint->strangers;

    if (strangers == NULL)
        return 0;
    int result = queue_set_owner(statistics, &strangers->queue, usage->process, event->when);
    if (result < 0 || record->header.flags & RECORD_END_OF_FILE)
        return result;
    return endpoint->numbered
               ? take_datagram(statistics, strangers, usage, record->message.offset + 1,
                               event->when)
               : take_bytes(statistics, strangers, usage,
                            record->message.offset + record->message.bytes, event->when);
}

void strangers_are_known(struct statistics *statistics, struct endpoint *endpoint)
{
    struct strangers *strangers = endpoint->strangers;

    for (; strangers != NULL && !is_empty(strangers); drop_first(strangers)) {
        const struct stranger_message *first = &strangers->list[strangers->first];
        queue_undo_put_in(statistics, &strangers->queue, first->queued);
        queue_take_bytes(statistics, &strangers->queue, first->left);
        strangers->queue.sent--;
    }
}
