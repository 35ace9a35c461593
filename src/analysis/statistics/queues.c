/* SPDX-License-Identifier: MIT */
/*
 * queues.c: messages on their way to an end of a path and in its queue. How long that is: queue_lengths.c; who waits
 * for whom: waits.c.
 *
 *      sent:     SEND ----------------> | on its way | in the queue | ----> RECEIVE: taken
 *      arrived:  MESSAGEQUEUED, which may come before its SEND is told      wait = taken - queued
 *
 *      positions  |-- taken --|== message ==|== message ==|
 *                             first                       end
 *
 * A byte stream's message is the bytes of one call; where its sender is not metered, what came at once.
 * Where nothing tells what has come (pipes, or without the receiver's flag), a message is in the queue when it is
 * sent, and how long it was on its way is not known. Of UNIX sockets its coming is told before its SEND, or
 * never. Times are those of the first trace's clock, as near as messages tell (history.h, clocks).
 */
#include "analysis/statistics/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MESSAGES 65536 /* of a queue; older ones are given up: nobody takes them ... */
#define MOST_UNJOINED 1024  /* ... as long as the other end is not known */
#define LOOK_AHEAD    64    /* messages that may have overtaken another, or are told before it */

/* What one end of a path sends is kept with it, for its other end may be told of later. What comes from
 * somebody who is not metered is kept with the end that it comes to. NULL: out of memory. */
static struct queue *queue_of(struct statistics *statistics, uint32_t path, uint32_t *index_and_1)
{
    if (*index_and_1 != 0)
        return queue_at(statistics, *index_and_1);
    const struct path_record *record = joiner_end(&statistics->joiner, path).record;
    int64_t index = pool_take(&statistics->queues);
    if (index < 0)
        return NULL;
    *index_and_1 = (uint32_t)index + 1;
    struct queue *queue = queue_at(statistics, *index_and_1);
    queue->owner = NO_PROCESS;
    if (record == NULL)
        return queue;
    queue->numbered = kind_counts_messages(record->kind);
    queue->travels = kind_is_internet(record->kind);
    return queue;
}

static struct queue *outgoing(struct statistics *statistics, uint32_t path)
{
    return queue_of(statistics, path, &path_at(statistics, path)->outgoing);
}

static struct queue *incoming(struct statistics *statistics, uint32_t path)
{
    return queue_of(statistics, path, &path_at(statistics, path)->incoming);
}

void queue_free(struct statistics *statistics, uint32_t index_and_1)
{
    struct queue *queue = queue_at(statistics, index_and_1);

    if (queue == NULL)
        return;
    free(queue->messages);
    if (queue->rest != NULL) {
        free(queue->rest->arrivals);
        free(queue->rest->seen);
    }
    free(queue->rest);
    pool_give(&statistics->queues, index_and_1 - 1);
}

/* Made if there is none; NULL: out of memory. */
static struct queue_rest *rest_of(struct queue *queue)
{
    if (queue->rest == NULL)
        queue->rest = calloc(1, sizeof(*queue->rest));
    return queue->rest;
}

/* Which datagrams were received; NULL: nobody watches. */
static struct numbers_seen *seen_by(const struct queue *queue)
{
    return queue->rest == NULL ? NULL : queue->rest->seen;
}

/* What is to be subtracted from the receiver's numbers. */
static uint32_t shift_of(const struct queue *queue)
{
    return queue->rest == NULL ? 0 : queue->rest->shift;
}

/* Whether the coming of what has just been sent may still be told, by the machine of the other end. */
static bool will_be_told(const struct statistics *statistics, const struct queue *queue,
                         uint32_t partner)
{
    if (!queue->travels || partner == NO_END)
        return queue->travels;
    uint32_t origin = path_at(statistics, partner)->origin;
    return statistics->origins[origin].meter_flags & EVENT_FLAG(EVENT_MESSAGEQUEUED);
}

bool receives_are_told(const struct statistics *statistics, uint32_t path)
{
    uint32_t flags = statistics->origins[path_at(statistics, path)->origin].meter_flags;

    return flags == 0 ||
           (flags & EVENT_FLAG(EVENT_RECEIVE)) != 0; /* 0: there is no record that tells */
}

/* ---- messages ---- */

static void drop_first(struct statistics *statistics, struct queue *queue)
{
    queue->first++;
    if (queue->first < queue->count)
        return;
    rooms_give(&statistics->messages, queue->messages, queue->capacity);
    queue->messages = NULL;
    queue->first = queue->count = queue->capacity = 0;
}

/* Nobody takes the first message any more. */
static void give_up_first(struct statistics *statistics, struct queue *queue)
{
    queue_give_up(statistics, queue, &queue->messages[queue->first]);
    queue->length.unreceived++;
    drop_first(statistics, queue);
}

static int make_room(struct statistics *statistics, struct queue *queue)
{
    if (queue->first > 64 && queue->first * 2 > queue->count) {
        memmove(queue->messages, queue->messages + queue->first,
                (queue->count - queue->first) * sizeof(*queue->messages));
        queue->count -= queue->first;
        queue->first = 0;
    }
    if (queue->count < queue->capacity)
        return 0;
    struct queue_message *messages =
        rooms_grow(&statistics->messages, queue->messages, &queue->capacity);
    if (messages == NULL)
        return -ENOMEM;
    queue->messages = messages;
    return 0;
}

/* Where a message belongs: calls that overlap in time are told in the order of their ends. Numbers that
 * jump back (identifications of IPv4) begin anew, and stand behind the others. */
static uint32_t place_for(const struct queue *queue, uint32_t end)
{
    uint32_t place = queue->count;

    if (place > queue->first && queue->numbered &&
        (int32_t)(queue->messages[place - 1].end - end) > LOOK_AHEAD)
        return place;
    while (place > queue->first && queue->count - place < LOOK_AHEAD &&
           (int32_t)(queue->messages[place - 1].end - end) > 0)
        place--;
    return place;
}

/* NULL: out of memory. */
static struct queue_message *add_message(struct statistics *statistics, struct queue *queue,
                                         const struct queue_message *message, uint32_t most)
{
    if (queue->count - queue->first >= most)
        give_up_first(statistics, queue);
    if (make_room(statistics, queue) < 0)
        return NULL;
    uint32_t place = place_for(queue, message->end);
    memmove(&queue->messages[place + 1], &queue->messages[place],
            (queue->count - place) * sizeof(*message));
    queue->messages[place] = *message;
    queue->count++;
    return &queue->messages[place];
}

/* Index of the first message that ends at this position or later. */
static uint32_t search(const struct queue *queue, uint32_t end)
{
    uint32_t low = queue->first, high = queue->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((int32_t)(queue->messages[middle].end - end) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct queue *queue, uint32_t index, uint32_t end)
{
    return index < queue->count && queue->messages[index].end == end;
}

/* Index of the datagram with this number, or queue->count. Where numbers jump the search may miss it;
 * it is then among the oldest or the latest, or the others before it are lost and will be given up. */
static uint32_t find_datagram(const struct queue *queue, uint32_t end)
{
    uint32_t count = queue->count - queue->first, at = queue->first;

    if (is_at(queue, at, end))
        return at;
    at = search(queue, end);
    if (is_at(queue, at, end))
        return at;
    for (uint32_t i = 0; i < count && i < LOOK_AHEAD; i++) {
        if (is_at(queue, queue->first + i, end))
            return queue->first + i;
        if (is_at(queue, queue->count - 1 - i, end))
            return queue->count - 1 - i;
    }
    return queue->count;
}

/* Whether what came up to `arrived` holds the message that ends at `end`. */
static bool covers(const struct queue *queue, uint32_t arrived, uint32_t end)
{
    return queue->numbered ? arrived == end : (int32_t)(arrived - end) >= 0;
}

/* ---- MESSAGEQUEUED ---- */

static void drop_arrivals(struct queue *queue, uint32_t up_to)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < queue->arrival_count; i++)
        if ((int32_t)(queue->rest->arrivals[i].end - up_to) > 0)
            queue->rest->arrivals[kept++] = queue->rest->arrivals[i];
    queue->arrival_count = kept;
}

/* When the message came, as far as that was told before its SEND; 0: it was not. What speaks of messages
 * before it only has served. */
static uint64_t arrival_of(struct queue *queue, const struct queue_message *message)
{
    uint32_t begin = message->end - message->bytes, kept = 0;
    uint64_t time = 0;

    for (uint32_t i = 0; i < queue->arrival_count; i++) {
        struct queue_arrival arrival = queue->rest->arrivals[i];
        bool has_come = covers(queue, arrival.end, message->end);
        if (has_come && time == 0)
            time = arrival.time;
        if (queue->numbered ? !has_come : (int32_t)(arrival.end - begin) > 0)
            queue->rest->arrivals[kept++] = arrival;
    }
    queue->arrival_count = kept;
    return time;
}

static int note_arrival(struct queue *queue, uint32_t end, uint64_t time)
{
    struct queue_rest *rest = rest_of(queue);

    if (rest == NULL)
        return -ENOMEM;
    if (queue->arrival_count >= LOOK_AHEAD) {
        memmove(rest->arrivals, rest->arrivals + 1,
                (queue->arrival_count - 1) * sizeof(*rest->arrivals));
        queue->arrival_count--;
    }
    if (array_reserve(&rest->arrivals, &rest->arrival_capacity, queue->arrival_count + 1,
                      sizeof(*rest->arrivals)) < 0)
        return -ENOMEM;
    rest->arrivals[queue->arrival_count++] = (struct queue_arrival){time, end};
    return 0;
}

/* All that is covered and was not in the queue yet. */
static void bytes_arrived(struct statistics *statistics, struct queue *queue, uint32_t end,
                          uint64_t time)
{
    uint32_t at = search(queue, end + 1);

    while (at > queue->first && queue->messages[at - 1].queued == 0)
        at--;
    for (; at < queue->count && covers(queue, end, queue->messages[at].end); at++)
        queue_put_in(statistics, queue, &queue->messages[at], time, true);
}

/* What is told to have come is in the queue, if its SEND was told before. Returns whether that is all it
 * says. */
static bool put_in_arrived(struct statistics *statistics, struct queue *queue, uint32_t end,
                           uint64_t time)
{
    if (queue->numbered) {
        uint32_t at = find_datagram(queue, end);
        if (at < queue->count && queue->messages[at].queued == 0)
            queue_put_in(statistics, queue, &queue->messages[at], time, true);
        return at < queue->count;
    }
    bytes_arrived(statistics, queue, end, time);
    return false;
}

/* The receiver's recording begins later than the sender's: what lies before its queue as that tells of it first was taken
 * before, nobody knows when. */
static void drop_taken_before(struct statistics *statistics, struct queue *queue, uint32_t begin)
{
    while (queue->first < queue->count && queue->messages[queue->first].queued == 0 &&
           (int32_t)(begin - queue->messages[queue->first].end) >= 0)
        drop_first(statistics, queue);
}

int queues_arrived(struct statistics *statistics, uint32_t path, const struct record *record,
                   uint64_t time)
{
    uint32_t partner = path_at(statistics, path)->partner;
    struct queue *queue =
        partner == NO_END ? incoming(statistics, path) : outgoing(statistics, partner);

    if (queue == NULL)
        return -ENOMEM;
    uint32_t end =
        record->queued.offset + (queue->numbered ? 1 : record->queued.bytes) - shift_of(queue);
    if (!queue->numbered && !queue->has_taken && record->queued.queue > 0)
        drop_taken_before(statistics, queue, end - record->queued.queue);
    queue_note_told_length(statistics, queue, record->queued.queue, time);
    if (put_in_arrived(statistics, queue, end, time))
        return 0;
    if (partner != NO_END)
        return note_arrival(queue, end, time);
    struct queue_message message = {.end = end, .bytes = record->queued.bytes};
    struct queue_message *added = add_message(statistics, queue, &message, MOST_MESSAGES);
    if (added == NULL)
        return -ENOMEM;
    queue_put_in(statistics, queue, added, time, true);
    return 0;
}

/* ---- numbers of both ends ---- */

/* Whether they end with the same identification. */
static bool is_alike(uint32_t a, uint32_t b)
{
    return (uint16_t)(a - b) == 0;
}

/* From now on the receiver's numbers, which are watched, are so much higher; those that were told ahead are, too. */
static void shift_numbers(struct statistics *statistics, struct queue *queue, uint32_t by)
{
    uint32_t kept = 0;

    queue->rest->shift += by;
    for (uint32_t i = 0; i < queue->arrival_count; i++) {
        struct queue_arrival arrival = {queue->rest->arrivals[i].time,
                                        queue->rest->arrivals[i].end - by};
        if (!put_in_arrived(statistics, queue, arrival.end, arrival.time))
            queue->rest->arrivals[kept++] = arrival;
    }
    queue->arrival_count = kept;
}

/* The receiver's number was given by its packet's identification: it is that of another message, which has
 * a number like it. Returns queue->count if there is none. */
static uint32_t find_alike(struct statistics *statistics, struct queue *queue, uint32_t number)
{
    uint32_t first = queue->first < queue->count ? queue->messages[queue->first].end - 1 : number;
    uint32_t like = first + (uint32_t)(int16_t)(uint16_t)(number - first);
    uint32_t at = like == number ? queue->count : find_datagram(queue, like + 1);

    if (at < queue->count)
        shift_numbers(statistics, queue, number - like);
    return at;
}

/* Nothing that was sent and not yet received has this number, between machines: it comes a second time,
 * or late, or is another one's. A packet with the identification of the one before is given the number
 * that is 65,536 higher. */
static uint32_t explain_number(struct statistics *statistics, struct queue *queue,
                               struct statistics_path *receiver, uint32_t number)
{
    struct numbers_seen *seen = seen_by(queue);
    bool again = seen->any && !queue->repeats && number == seen->last + 65536;

    if (again)
        shift_numbers(statistics, queue, 65536);
    if (again || numbers_have(seen, number)) {
        receiver->duplicates++;
        return queue->count;
    }
    if (numbers_cover(seen, number)) {
        queue->length.unreceived -= queue->length.unreceived > 0; /* it was given up too early */
        numbers_note(seen, number);
        return queue->count;
    }
    return find_alike(statistics, queue, number);
}

/* ---- SEND ---- */

/* What came before it was known from where was taken for a message of somebody who is not metered: it is
 * this one, or a part of it. Returns when it came, or 0. */
static uint64_t adopt(struct statistics *statistics, struct queue *strangers, uint32_t end)
{
    uint64_t time = 0;

    while (strangers != NULL && strangers->first < strangers->count &&
           covers(strangers, end, strangers->messages[strangers->first].end)) {
        const struct queue_message *message = &strangers->messages[strangers->first];
        time = message->queued;
        queue_undo_put_in(statistics, strangers, message);
        drop_first(statistics, strangers);
    }
    return time;
}

/* Whether times of both ends are. */
static bool is_comparable(const struct statistics *statistics, uint32_t path, uint32_t partner)
{
    return partner == NO_END ||
           have_comparable_clocks(statistics, path_at(statistics, path)->origin,
                                  path_at(statistics, partner)->origin);
}

/* Whether both ends are on one machine. */
static bool has_one_clock(const struct statistics *statistics, uint32_t path, uint32_t partner)
{
    const struct statistics_origin *origins = statistics->origins;

    return partner == NO_END || origins[path_at(statistics, path)->origin].machine ==
                                    origins[path_at(statistics, partner)->origin].machine;
}

/* A call in progress has sent more of its message, which is in the queue when all of it has come; `told`: as
 * MESSAGEQUEUED will tell. */
static void go_on_sending(struct statistics *statistics, struct queue *queue,
                          struct queue_message *message, uint32_t more, uint64_t time, bool told)
{
    if (message->queued != 0 && told) {
        queue_undo_put_in(statistics, queue, message);
        message->queued = 0;
    }
    queue_lengthen_message(statistics, queue, message, more, time);
    uint64_t came = queue->arrival_count == 0 ? 0 : arrival_of(queue, message);
    if (came != 0)
        queue_put_in(statistics, queue, message, came, true);
}

int queues_sent(struct statistics *statistics, uint32_t path, const struct record *record,
                uint64_t time)
{
    uint32_t partner = path_at(statistics, path)->partner;

    if (partner != NO_END && !receives_are_told(statistics, partner))
        return 0;
    struct queue *queue = outgoing(statistics, path);
    if (queue == NULL)
        return -ENOMEM;
    struct queue_message message = {
        .sent = time,
        .end = record->message.offset + (queue->numbered ? 1 : record->message.bytes),
        .bytes = record->message.bytes,
    };
    struct queue_message *last =
        queue->count > queue->first ? &queue->messages[queue->count - 1] : NULL;
    if (!queue->numbered && message.bytes == 0)
        return 0;
    queue->repeats |= queue->sent_last != 0 && message.end != queue->sent_last &&
                      is_alike(message.end, queue->sent_last);
    queue->sent_last = message.end;
    if (!queue->numbered && queue->has_taken && (int32_t)(queue->taken - message.end) >= 0)
        return 0; /* its receiver was quicker, and told first */
    if ((record->header.flags & RECORD_CONTINUED) && last != NULL && !queue->numbered &&
        last->end == record->message.offset) {
        go_on_sending(statistics, queue, last, message.bytes, time,
                      will_be_told(statistics, queue, partner));
        return 0;
    }
    last =
        add_message(statistics, queue, &message, partner != NO_END ? MOST_MESSAGES : MOST_UNJOINED);
    if (last == NULL)
        return -ENOMEM;
    uint64_t queued = queue->arrival_count == 0 ? 0 : arrival_of(queue, &message);
    uint64_t adopted =
        partner == NO_END
            ? 0
            : adopt(statistics, queue_at(statistics, path_at(statistics, partner)->incoming),
                    message.end);
    if (queued == 0)
        queued = adopted;
    bool earlier = queued < time && has_one_clock(statistics, path, partner);
    if (queued != 0)
        queue_put_in(statistics, queue, last, earlier ? time : queued, true);
    else if (!will_be_told(statistics, queue, partner))
        queue_put_in(statistics, queue, last, time, false);
    return 0;
}

/* ---- RECEIVE ---- */

/* How long it is from a moment of the sender's to one of the receiver's, of a message that somebody metered sent. */
static uint64_t time_between(const struct statistics *statistics,
                             const struct statistics_use *receiver, uint64_t sent, uint64_t then)
{
    const struct statistics_path *path = path_at(statistics, receiver->path);
    int64_t more = path->partner == NO_END
                       ? 0
                       : clock_correction(statistics, path_at(statistics, path->partner)->origin,
                                          path->origin);

    return time_since(sent, then + (uint64_t)more);
}

/* A message that was in the queue, or must have been, was taken whole. Where it is not known how far the clocks of sender
 * and receiver are apart, only the receiver's tell something. */
static int taken(struct statistics *statistics, struct queue *queue, struct queue_message *message,
                 struct statistics_use *use, uint64_t time)
{
    bool comparable = message->sent == 0 ||
                      is_comparable(statistics, use->path, path_at(statistics, use->path)->partner);
    int result = 0;

    if (message->queued == 0)
        queue_put_in(statistics, queue, message,
                     message->sent != 0 && comparable ? message->sent : time, false);
    bool known = message->told || comparable;
    uint64_t wait = message->told || message->sent == 0 ? time_since(message->queued, time)
                    : known ? time_between(statistics, use, message->queued, time)
                            : 0;
    queue_take_out_bytes(statistics, queue, queue_bytes_left(queue, message));
    queue_take_out(statistics, queue, wait);
    if (known)
        result = statistics_add_value(statistics, use, VALUE_MESSAGE_WAIT, wait);
    if (result == 0 && message->told && message->sent != 0 && comparable)
        result =
            statistics_add_value(statistics, use, VALUE_DELIVERY,
                                 time_between(statistics, use, message->sent, message->queued));
    return result;
}

/* What a datagram has left behind was lost: a queue is one, but for those that overtook it on the way. */
static void give_up_before(struct statistics *statistics, struct queue *queue, uint32_t index)
{
    uint32_t end = queue->messages[index].end, before = index - queue->first;

    for (; before > 0; before--) {
        if (before <= LOOK_AHEAD &&
            (int32_t)(end - queue->messages[queue->first].end) <= LOOK_AHEAD)
            return;
        give_up_first(statistics, queue);
    }
}

static int take_datagram(struct statistics *statistics, struct queue *queue,
                         struct statistics_use *use, const struct record *record, uint64_t time)
{
    uint32_t number = record->message.offset - shift_of(queue),
             at = find_datagram(queue, number + 1);

    if (at == queue->count && seen_by(queue) != NULL)
        at = explain_number(statistics, queue, path_at(statistics, use->path), number);
    if (at == queue->count)
        return 0;
    if (seen_by(queue) != NULL)
        numbers_note(seen_by(queue), queue->messages[at].end - 1);
    give_up_before(statistics, queue, at);
    struct queue_message message = queue->messages[at];
    memmove(&queue->messages[queue->first + 1], &queue->messages[queue->first],
            (at - queue->first) * sizeof(message));
    drop_first(statistics, queue);
    return taken(statistics, queue, &message, use, time);
}

/* Bytes up to `end` have left the queue, of messages that are not taken whole, too. */
static void note_taken(struct statistics *statistics, struct queue *queue, uint32_t end)
{
    const struct queue_message *first =
        queue->first < queue->count ? &queue->messages[queue->first] : NULL;
    uint64_t before = first == NULL || first->queued == 0 ? 0 : queue_bytes_left(queue, first);

    if (queue->has_taken && (int32_t)(end - queue->taken) <= 0)
        return;
    queue->taken = end;
    queue->has_taken = true;
    if (before > 0)
        queue_take_out_bytes(statistics, queue, before - queue_bytes_left(queue, first));
}

static int take_bytes(struct statistics *statistics, struct queue *queue,
                      struct statistics_use *use, const struct record *record, uint64_t time)
{
    uint32_t end = record->message.offset + record->message.bytes;
    int result = 0;

    while (result == 0 && queue->first < queue->count &&
           (int32_t)(end - queue->messages[queue->first].end) >= 0) {
        struct queue_message message = queue->messages[queue->first];
        drop_first(statistics, queue);
        result = taken(statistics, queue, &message, use, time);
    }
    note_taken(statistics, queue, end);
    return result;
}

static int take(struct statistics *statistics, struct queue *queue, struct statistics_use *use,
                const struct record *record, uint64_t time)
{
    queue_set_owner(statistics, queue, use->process, time);
    if (record->header.flags & RECORD_END_OF_FILE)
        return 0;
    int result = queue->numbered ? take_datagram(statistics, queue, use, record, time)
                                 : take_bytes(statistics, queue, use, record, time);
    if (queue->arrival_count > 0)
        drop_arrivals(queue, record->message.offset +
                                 (queue->numbered ? 1 : record->message.bytes) - shift_of(queue));
    return result;
}

/* Between machines a datagram may come twice. */
static int watch_numbers(const struct statistics *statistics, struct queue *queue,
                         const struct statistics_path *sender,
                         const struct statistics_path *receiver)
{
    const struct statistics_origin *origins = statistics->origins;

    if (!queue->numbered || !queue->travels || seen_by(queue) != NULL ||
        origins[sender->origin].machine == origins[receiver->origin].machine)
        return 0;
    struct queue_rest *rest = rest_of(queue);
    if (rest != NULL)
        rest->seen = calloc(1, sizeof(*rest->seen));
    return rest == NULL || rest->seen == NULL ? -ENOMEM : 0;
}

int queues_received(struct statistics *statistics, struct statistics_use *use,
                    const struct record *record, uint64_t time)
{
    uint32_t partner = path_at(statistics, use->path)->partner;
    struct queue *queue = queue_at(statistics, path_at(statistics, use->path)->incoming);
    int result = queue == NULL ? 0 : take(statistics, queue, use, record, time);

    if (result < 0 || partner == NO_END)
        return result;
    queue = outgoing(statistics, partner);
    if (queue == NULL || watch_numbers(statistics, queue, path_at(statistics, partner),
                                       path_at(statistics, use->path)) < 0)
        return -ENOMEM;
    return take(statistics, queue, use, record, time);
}
