/* SPDX-License-Identifier: MIT */
/*
 * arrivals.c: when data from another machine, or from an unmonitored sender, had arrived, as MESSAGEQUEUED reports. See
 * history_types.h.
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

#define ARRIVALS 16 /* the latest, circular */

struct arrivals {
    struct arrival {
        uint64_t time;
        /* all bytes before this position had arrived by then; datagram: its number + 1 */
        uint32_t end;
    } at[ARRIVALS];
    uint32_t count; /* so far */
};

static bool comes_from_elsewhere(const struct history *history, const struct end *end)
{
    return kind_is_internet(end->kind) &&
           (end->partner == NULL ||
            !history_have_one_clock(history, end->origin, end->partner->origin));
}

int arrivals_note(const struct history *history, struct end *end, const struct record *record)
{
    if (!comes_from_elsewhere(history, end))
        return 0;
    if (end->arrivals == NULL)
        end->arrivals = calloc(1, sizeof(*end->arrivals));
    if (end->arrivals == NULL)
        return -ENOMEM;
    end->arrivals->at[end->arrivals->count++ % ARRIVALS] = (struct arrival){
        record->header.time,
        record->queued.offset + length_of(end->kind, record->queued.bytes),
    };
    return 0;
}

uint64_t arrivals_time(const struct end *end, uint32_t position, uint64_t received)
{
    const struct arrivals *arrivals = end->arrivals;

    if (arrivals == NULL)
        return received;
    for (uint32_t i = arrivals->count > ARRIVALS ? arrivals->count - ARRIVALS : 0;
         i < arrivals->count; i++) {
        const struct arrival *arrival = &arrivals->at[i % ARRIVALS];
        int32_t behind = (int32_t)(arrival->end - position);
        if (kind_counts_messages(end->kind) ? behind == 1 : behind > 0)
            return arrival->time < received ? arrival->time : received;
    }
    return received;
}

uint64_t arrivals_of_all(const struct end *end, const struct record *record)
{
    uint32_t length = length_of(end->kind, record->message.bytes);

    return arrivals_time(end, record->message.offset + (length > 0 ? length - 1 : 0),
                         record->header.time);
}
