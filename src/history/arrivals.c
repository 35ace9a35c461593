/* SPDX-License-Identifier: MIT */
/*
 * arrivals.c: when data had arrived, as MESSAGEQUEUED reports: from another machine or an unmonitored sender, or, for
 * history_follow_queues, from anywhere. See history_types.h.
 *
 *      sent ---- in flight ----> arrived ---- in the queue ------> received
 *                                  |                                  '-- a receiver may be late
 *                                  '-- bounds the difference of the two machines' clocks most closely
 */
#include "history/arrivals.h"

#include "history/clock_origins.h"
#include "history/positions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARRIVALS_MOST 8192u /* older ones are dropped, as if nothing had reported them */

/* Data that has arrived and is not received, in order of arrival. */
struct arrivals {
    struct arrival {
        uint64_t time;
        /* all bytes before this position had arrived by then; datagram: its number + 1 */
        uint32_t end;
    } * at; /* [first .. count) */
    size_t capacity;
    uint32_t first;
    uint32_t count;
};

void arrivals_free(struct arrivals *arrivals)
{
    if (arrivals != NULL)
        free(arrivals->at);
    free(arrivals);
}

bool end_receives_from_elsewhere(const struct history *history, const struct end *end)
{
    return (kind_is_internet(end->kind) || kind_is_channel(end->kind)) &&
           (end->partner == NULL ||
            !history_have_one_clock(history, end->origin, end->partner->origin));
}

/* Makes space for one more at the end. */
static int reserve(struct arrivals *arrivals)
{
    if (arrivals->count - arrivals->first >= ARRIVALS_MOST)
        arrivals->first++;
    if (arrivals->count == arrivals->capacity && arrivals->first > arrivals->count / 2) {
        memmove(arrivals->at, arrivals->at + arrivals->first,
                (arrivals->count - arrivals->first) * sizeof(*arrivals->at));
        arrivals->count -= arrivals->first;
        arrivals->first = 0;
    }
    return array_reserve(&arrivals->at, &arrivals->capacity, arrivals->count + 1UL,
                         sizeof(*arrivals->at));
}

int arrivals_note(const struct history *history, struct end *end, const struct record *record)
{
    if (!history->follows_queues && !end_receives_from_elsewhere(history, end))
        return 0;
    if (end->arrivals == NULL)
        end->arrivals = calloc(1, sizeof(*end->arrivals));
    if (end->arrivals == NULL || reserve(end->arrivals) < 0)
        return -ENOMEM;
    end->arrivals->at[end->arrivals->count++] = (struct arrival){
        record->header.time,
        record->queued.offset + length_of(end->kind, record->queued.bytes),
    };
    return 0;
}

/* Index of the first one beyond a position; `count`: none is. */
static uint32_t search(const struct arrivals *arrivals, uint32_t position)
{
    uint32_t low = arrivals->first, high = arrivals->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((int32_t)(arrivals->at[middle].end - position) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define OVERTAKEN_DATAGRAMS 64

static bool is_datagram(const struct arrivals *arrivals, uint32_t index, uint32_t number)
{
    return index < arrivals->count && arrivals->at[index].end == number + 1;
}

/* The same for a datagram, which others may have overtaken, since IPv4 identifications may jump. */
static uint32_t search_datagram(const struct arrivals *arrivals, uint32_t number)
{
    uint32_t count = arrivals->count - arrivals->first;
    uint32_t index = search(arrivals, number);

    if (is_datagram(arrivals, index, number))
        return index;
    for (uint32_t i = 0; i < count && i < OVERTAKEN_DATAGRAMS; i++) {
        if (is_datagram(arrivals, arrivals->first + i, number))
            return arrivals->first + i;
        if (is_datagram(arrivals, arrivals->count - 1 - i, number))
            return arrivals->count - 1 - i;
    }
    return arrivals->count;
}

static uint32_t find(const struct end *end, uint32_t position)
{
    return kind_counts_messages(end->kind) ? search_datagram(end->arrivals, position)
                                           : search(end->arrivals, position);
}

uint64_t arrivals_find(const struct end *end, uint32_t position)
{
    if (end->arrivals == NULL)
        return 0;
    uint32_t index = find(end, position);
    return index < end->arrivals->count ? end->arrivals->at[index].time : 0;
}

uint64_t arrivals_time(const struct end *end, uint32_t position, uint64_t received)
{
    uint64_t time = arrivals_find(end, position);

    return time != 0 && time < received ? time : received;
}

static uint32_t last_of(const struct end *end, const struct record *record)
{
    uint32_t length = length_of(end->kind, record->message.bytes);

    return record->message.offset + (length > 0 ? length - 1 : 0);
}

uint64_t arrivals_of_all(const struct end *end, const struct record *record)
{
    return arrivals_time(end, last_of(end, record), record->header.time);
}

/* Removes a datagram. Earlier ones, which it has overtaken, remain, but at most OVERTAKEN_DATAGRAMS of them. */
static void take_datagram(struct arrivals *arrivals, uint32_t number)
{
    uint32_t index = search_datagram(arrivals, number);

    if (index == arrivals->count)
        return;
    memmove(&arrivals->at[arrivals->first + 1], &arrivals->at[arrivals->first],
            (index - arrivals->first) * sizeof(*arrivals->at));
    arrivals->first++;
    if (index - arrivals->first > OVERTAKEN_DATAGRAMS && index > arrivals->first)
        arrivals->first = index - OVERTAKEN_DATAGRAMS;
}

void arrivals_take(struct end *end, const struct record *record)
{
    struct arrivals *arrivals = end->arrivals;

    if (arrivals == NULL || arrivals->first == arrivals->count)
        return;
    if (kind_counts_messages(end->kind))
        take_datagram(arrivals, record->message.offset);
    else if (record->message.bytes > 0)
        arrivals->first = search(arrivals, last_of(end, record) + 1);
    if (arrivals->first == arrivals->count)
        arrivals->first = arrivals->count = 0;
}
