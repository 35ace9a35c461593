/* SPDX-License-Identifier: MIT */
/*
 * wakeups.c: which stream ended which stream's sleep.
 *
 *      waker    ------------o WAKEUP ---          or  ----o TERMINATION   (a child, a thread that is joined)
 *                            \ edge: wakeup                 \
 *      woken    -----o ~~~~~~~o BLOCK ------          ~~~~~~~~o RECEIVE, BLOCK ...   its first event since then
 *
 *      stream --first_wakeup--> oldest --> ... --> latest <--last_wakeup--       their edges end at events that are
 *                                                                                held or not read yet
 */
#include "history/wakeups.h"

#include "history/ends.h"
#include "history/holding.h"
#include "history/receiving.h"
#include "history/values.h"

#include <errno.h>

static struct wakeup *wakeup_at(const struct history *history, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&history->wakeups, index_and_1 - 1);
}

static struct stream *find_stream(const struct history *history, uint32_t origin, uint32_t number)
{
    uint32_t found = lookup_find(&history->stream_numbers, number_key(origin, number));

    return found == LOOKUP_NONE ? NULL : pool_at(&history->streams, found);
}

static void remove_first(struct history *history, struct stream *stream)
{
    uint32_t index = stream->first_wakeup - 1;
    struct wakeup *first = wakeup_at(history, stream->first_wakeup);

    stream->first_wakeup = first->next;
    if (first->next == 0)
        stream->last_wakeup = 0;
    values_spend(history, &first->waker.value);
    pool_give(&history->wakeups, index);
}

void wakeups_forget(struct history *history, struct stream *stream)
{
    while (stream->first_wakeup != 0)
        remove_first(history, stream);
}

/* ---- noting ---- */

static bool is_held(const struct stream *stream)
{
    return stream->held_count > 0 || stream->waits != WAITS_NOT;
}

int wakeups_note(struct history *history, uint32_t origin, const struct record *record)
{
    struct stream *woken = find_stream(history, origin, record->wakeup.woken);
    bool after_end = record->header.flags & RECORD_NO_STREAM;
    uint32_t waker = after_end ? record->wakeup.waker : record->header.stream;

    if (woken == NULL || waker == 0 || waker == woken->number)
        return 0;
    if (!is_held(woken)) /* the stream has had no record since the previous one */
        wakeups_forget(history, woken);
    if (woken->waits_for_any && record->header.time > woken->began_time)
        /* its next call, whatever it is, began no earlier */
        woken->began_time = record->header.time;
    int64_t index = pool_take(&history->wakeups);
    if (index < 0)
        return -ENOMEM;
    *(struct wakeup *)pool_at(&history->wakeups, (uint32_t)index) = (struct wakeup){
        .waker = {.number = NO_NUMBER,
                  .time = record->header.time,
                  .stream = waker,
                  .sequence = record->header.sequence,
                  .id = EVENT_WAKEUP},
        .after_end = after_end,
    };
    if (woken->last_wakeup == 0)
        woken->first_wakeup = (uint32_t)index + 1;
    else
        wakeup_at(history, woken->last_wakeup)->next = (uint32_t)index + 1;
    woken->last_wakeup = (uint32_t)index + 1;
    return 0;
}

/* ---- the event that follows ---- */

/* The WAKEUP that led to a record of the stream: the latest one that is older. Removes older ones from the list. NULL:
 * none. */
static struct wakeup *latest_before(struct history *history, struct stream *stream,
                                    const struct record *record)
{
    struct wakeup *first = wakeup_at(history, stream->first_wakeup), *next;

    if (first == NULL || !event_is_metered(record->header.id) ||
        first->waker.time > record->header.time)
        return NULL;
    while ((next = wakeup_at(history, first->next)) != NULL &&
           next->waker.time <= record->header.time) {
        remove_first(history, stream);
        first = next;
    }
    return first;
}

/* Whether it came before the sleep that this record ends: it ended the wait before that, whose end made no record. */
static bool is_of_wait_before(const struct wakeup *wakeup, const struct record *record)
{
    return record->header.id == EVENT_BLOCK &&
           wakeup->waker.time + record->block.duration < record->header.time;
}

bool wakeups_wait(struct history *history, struct stream *stream, const struct record *record,
                  struct stream **ret_waker)
{
    const struct wakeup *wakeup = latest_before(history, stream, record);

    *ret_waker = NULL;
    if (wakeup == NULL || wakeup->waker.number != NO_NUMBER)
        return false;
    if (!wakeup->after_end)
        return true;
    *ret_waker = find_stream(history, stream->origin, wakeup->waker.stream);
    return *ret_waker != NULL && is_held(*ret_waker);
}

void wakeups_give_up(struct history *history, struct stream *stream, const struct record *record)
{
    if (latest_before(history, stream, record) != NULL)
        remove_first(history, stream);
}

/* Where the edge begins; NULL: no longer known. */
static const struct beginning *begins_at(const struct history *history, const struct stream *stream,
                                         const struct wakeup *wakeup)
{
    if (!wakeup->after_end)
        return &wakeup->waker;
    const struct stream *waker = find_stream(history, stream->origin, wakeup->waker.stream);
    return waker != NULL ? &waker->latest
                         : history_faded(history, stream->origin, wakeup->waker.stream);
}

bool wakeups_show_end(struct history *history, struct stream *stream, const struct record *record,
                      const struct beginning **ret_by_end)
{
    const struct wakeup *wakeup = latest_before(history, stream, record);

    *ret_by_end = NULL;
    if (wakeup == NULL || is_of_wait_before(wakeup, record))
        return false;
    if (wakeup->after_end)
        *ret_by_end = begins_at(history, stream, wakeup);
    return true;
}

int wakeups_end_sleep(struct history *history, struct stream *stream, const struct record *record)
{
    const struct wakeup *wakeup = latest_before(history, stream, record);

    if (wakeup == NULL)
        return 0;
    const struct beginning *from = begins_at(history, stream, wakeup);
    int result = from == NULL || from->stream == 0 || from->number == NO_NUMBER
                     ? 0
                     : history_add_edge_from(history, EDGE_WAKEUP, stream->origin, 0, from);
    remove_first(history, stream);
    return result;
}

int wakeups_hand_out(struct history *history, const struct stream *stream,
                     const struct record *record, struct history_event *event)
{
    struct stream *woken = find_stream(history, stream->origin, record->wakeup.woken);

    if (woken == NULL)
        return 0;
    for (uint32_t at = woken->first_wakeup; at != 0; at = wakeup_at(history, at)->next) {
        struct beginning *waker = &wakeup_at(history, at)->waker;
        if (waker->number != NO_NUMBER || waker->stream != stream->number ||
            waker->sequence != record->header.sequence || wakeup_at(history, at)->after_end)
            continue;
        if (woken->waits == WAITS_WAKEUP)
            holding_wake(history, woken);
        return values_begin_at(history, waker, event);
    }
    return 0;
}
