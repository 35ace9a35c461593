/* SPDX-License-Identifier: MIT */
/*
 * values.c: what an analysis keeps with events at which edges may begin.
 *
 *      SEND, SENDCALL, CREATEPROCESS, TERMINATION --value--> | bytes of the caller | (a pool)
 *                                                                   ^
 *      RECEIVE ... --edge->value------------------------------------'
 *
 * A value lives as long as its event matters: until that is received or dropped, or has ended its wait. The last edge
 * may still show the value, so it is freed only when the next event is asked for.
 */
#include "history/values.h"

#include "history/receiving.h"

#include <errno.h>

size_t history_keep_values(struct history *history, size_t size, uint64_t event_flags)
{
    size_t offset = history->values.size;

    history->values.size += (size + 7) / 8 * 8; /* keeps the next one aligned */
    history->value_flags |= event_flags;
    return offset;
}

int values_take(struct history *history, uint32_t *index_and_1, struct history_event *event)
{
    if (!(history->value_flags >> event->event.header->id & 1))
        return 0;
    if (*index_and_1 == 0) {
        int64_t index = pool_take(&history->values);
        if (index < 0)
            return -ENOMEM;
        *index_and_1 = (uint32_t)index + 1;
    }
    event->value = values_at(history, *index_and_1);
    return 0;
}

int values_share(struct history *history, uint32_t index_and_1)
{
    if (index_and_1 == 0)
        return 0;
    uint32_t more = lookup_find(&history->shared_values, index_and_1);
    return lookup_set(&history->shared_values, index_and_1, more == LOOKUP_NONE ? 1 : more + 1);
}

/* Whether others still need the value. */
static bool is_shared(struct history *history, uint32_t index_and_1)
{
    uint32_t more = history->shared_values.count == 0
                        ? LOOKUP_NONE
                        : lookup_find(&history->shared_values, index_and_1);

    if (more == LOOKUP_NONE)
        return false;
    if (more == 1)
        lookup_remove(&history->shared_values, index_and_1);
    else
        lookup_set(&history->shared_values, index_and_1, more - 1);
    return true;
}

void values_spend(struct history *history, uint32_t *index_and_1)
{
    if (*index_and_1 == 0)
        return;
    if (is_shared(history, *index_and_1)) {
        *index_and_1 = 0;
        return;
    }
    /* on -ENOMEM the pool never gets it back; nothing else happens */
    if (array_reserve(&history->spent, &history->spent_capacity, history->spent_count + 1,
                      sizeof(*history->spent)) == 0)
        history->spent[history->spent_count++] = *index_and_1;
    *index_and_1 = 0;
}

void values_give_spent(struct history *history)
{
    while (history->spent_count > 0)
        pool_give(&history->values, history->spent[--history->spent_count] - 1);
}

int values_begin_at(struct history *history, struct beginning *beginning,
                    struct history_event *event)
{
    beginning->number = event->number;
    beginning->when = event->when;
    beginning->proc_time = event->proc_time;
    return values_take(history, &beginning->value, event);
}

int values_add_edge(struct history *history, enum edge_kind kind, uint32_t origin,
                    struct beginning *beginning)
{
    int result = history_add_edge_from(history, kind, origin, 0, beginning);

    if (result == 0)
        values_spend(history, &beginning->value);
    return result;
}
