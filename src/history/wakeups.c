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
 *
 * The end of a poll makes no record if it has found nothing. Then the next BLOCK has the edge from what ended the poll, as
 * an earlier one, and that from what ended its own sleep:
 *
 *      wakers            o WAKEUP                  o WAKEUP
 *                         \ edge: wakeup, earlier   \ edge: wakeup
 *      woken    o ~~~~~~~~ ------------- ~~~~~~~~~~~ o BLOCK
 *               RECEIVECALL              its sleep
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

static void remove_second(struct history *history, struct wakeup *first)
{
    uint32_t index = first->next - 1;
    struct wakeup *second = wakeup_at(history, first->next);

    first->next = second->next;
    values_spend(history, &second->waker.value);
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
    /* The stream has had no record since the previous ones, and one of them may have ended the wait before. A sleep has one
     * WAKEUP, with few exceptions, so two are enough. If the stream is held, its records may be between them: all are kept. */
    while (!is_held(woken) && woken->first_wakeup != woken->last_wakeup)
        remove_first(history, woken);
    if (woken->waits_for_any && record->header.time > woken->began_time) {
        /* its next call, whatever it is, began no earlier */
        woken->began_time = record->header.time;
        woken->waits_for_any = false; /* a later WAKEUP may come within that call */
    }
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

/* Whether it came before the sleep that this record ends: it ended the wait before that, whose end made no record. */
static bool is_of_wait_before(const struct wakeup *wakeup, const struct record *record)
{
    return record->header.id == EVENT_BLOCK &&
           wakeup->waker.time + record->block.duration < record->header.time;
}

/* The WAKEUPs that led to a record of the stream: the latest that is older, and before it, if the record is a BLOCK, the
 * latest of the wait before. Removes other older ones from the list, so that these are its first ones. Returns how many
 * these are. */
static unsigned led_to(struct history *history, struct stream *stream, const struct record *record)
{
    struct wakeup *first = wakeup_at(history, stream->first_wakeup), *second, *third;
    uint64_t time = record->header.time;

    if (first == NULL || !event_is_metered(record->header.id) || first->waker.time > time)
        return 0;
    while ((second = wakeup_at(history, first->next)) != NULL && second->waker.time <= time &&
           (!is_of_wait_before(first, record) || is_of_wait_before(second, record))) {
        remove_first(history, stream);
        first = second;
    }
    if (second == NULL || second->waker.time > time)
        return 1;
    while ((third = wakeup_at(history, second->next)) != NULL && third->waker.time <= time) {
        remove_second(history, first);
        second = third;
    }
    return 2;
}

/* Whether a record must wait until the WAKEUP, or the waker's latest event, is handed out; *ret_waker as in wakeups_wait. */
static bool is_awaited(const struct history *history, const struct stream *stream,
                       const struct wakeup *wakeup, struct stream **ret_waker)
{
    if (wakeup->waker.number != NO_NUMBER)
        return false;
    if (!wakeup->after_end)
        return true;
    struct stream *waker = find_stream(history, stream->origin, wakeup->waker.stream);
    if (waker == NULL || !is_held(waker))
        return false;
    *ret_waker = waker;
    return true;
}

bool wakeups_wait(struct history *history, struct stream *stream, const struct record *record,
                  struct stream **ret_waker)
{
    unsigned count = led_to(history, stream, record);

    *ret_waker = NULL;
    for (uint32_t at = stream->first_wakeup; count > 0; count--) {
        const struct wakeup *wakeup = wakeup_at(history, at);
        if (is_awaited(history, stream, wakeup, ret_waker))
            return true;
        at = wakeup->next;
    }
    return false;
}

void wakeups_give_up(struct history *history, struct stream *stream, const struct record *record)
{
    unsigned count = led_to(history, stream, record);
    struct wakeup *first = wakeup_at(history, stream->first_wakeup);
    struct stream *waker;

    if (count == 2 && !is_awaited(history, stream, first, &waker)) {
        if (first->next == stream->last_wakeup)
            stream->last_wakeup = stream->first_wakeup;
        remove_second(history, first);
    } else if (count > 0) {
        remove_first(history, stream);
    }
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
    unsigned count = led_to(history, stream, record);
    const struct wakeup *wakeup = wakeup_at(history, stream->first_wakeup);

    *ret_by_end = NULL;
    if (count == 2)
        wakeup = wakeup_at(history, wakeup->next);
    if (count == 0 || is_of_wait_before(wakeup, record))
        return false;
    if (wakeup->after_end)
        *ret_by_end = begins_at(history, stream, wakeup);
    return true;
}

static int add_edge(struct history *history, const struct stream *stream,
                    const struct wakeup *wakeup, const struct record *record)
{
    const struct beginning *from = begins_at(history, stream, wakeup);

    if (from == NULL || from->stream == 0 || from->number == NO_NUMBER)
        return 0;
    int result = history_add_edge_from(history, EDGE_WAKEUP, stream->origin, 0, from);
    if (result == 0)
        history->edges[history->edge_count - 1].earlier = is_of_wait_before(wakeup, record);
    return result;
}

int wakeups_end_sleep(struct history *history, struct stream *stream, const struct record *record)
{
    int result = 0;

    for (unsigned count = led_to(history, stream, record); count > 0; count--) {
        if (result == 0)
            result = add_edge(history, stream, wakeup_at(history, stream->first_wakeup), record);
        remove_first(history, stream);
    }
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
