/* SPDX-License-Identifier: MIT */
/*
 * elapsed_requests.c: requests, and when they begin and end.
 *
 *      client, metered and no server   SEND o------------------------------------o RECEIVE, the last one before the next
 *      server, of a client                     arrival o---o RECEIVE ... SEND o    SEND; or before the next RECEIVE
 *      that is not metered
 *
 * What a server asks of others is part of its own requests. See elapsed.h.
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <string.h>

/* ---- ends of connections ---- */

static struct exchange *exchange_at(struct elapsed_analysis *analysis, uint32_t place)
{
    if (place == 0 || array_reserve(&analysis->exchanges, &analysis->exchange_room, place,
                                    sizeof(*analysis->exchanges)) < 0)
        return NULL;
    return &analysis->exchanges[place - 1];
}

static void forget_received(struct elapsed_analysis *analysis, struct exchange *exchange)
{
    if (!exchange->is_received)
        return;
    exchange->is_received = false;
    ((struct elapsed_thread *)pool_at(&analysis->threads, exchange->thread - 1))->requests--;
}

static int end_exchange(struct elapsed_analysis *analysis, struct exchange *exchange)
{
    forget_received(analysis, exchange);
    if (!exchange->is_open)
        return 0;
    exchange->is_open = false;
    if (exchange->last == 0) {
        analysis->unanswered++;
        return 0;
    }
    int64_t index = scratch_add(&analysis->requests);
    if (index < 0)
        return (int)index;
    ((struct request *)analysis->requests.at)[index] =
        (struct request){.begin = exchange->begin, .last = exchange->last};
    return 0;
}

static void begin_exchange(struct exchange *exchange, uint64_t begin)
{
    exchange->is_open = true;
    exchange->begin = begin;
    exchange->last = 0;
}

int elapsed_end_path(struct elapsed_analysis *analysis, uint32_t end_place)
{
    struct exchange *exchange = exchange_at(analysis, end_place);

    if (exchange == NULL)
        return end_place == 0 ? 0 : -ENOMEM;
    int result = end_exchange(analysis, exchange);
    *exchange = (struct exchange){0};
    return result;
}

int elapsed_end_requests(struct elapsed_analysis *analysis)
{
    int result = 0;

    for (size_t i = 0; i < analysis->exchange_room && result == 0; i++)
        result = end_exchange(analysis, &analysis->exchanges[i]);
    return result;
}

/* If no record shows which end called, it is the one that sends first. */
static enum side side_of(const struct elapsed_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    const struct path_record *path = identities_path(history_identities(analysis->history),
                                                     event->event.origin, record->message.path);
    bool guessed;

    if (path == NULL || kind_is_pipe(path->kind) || kind_is_mq(path->kind) ||
        path->kind == PATH_FILE)
        return SIDE_NONE;
    switch (path_side(path, &guessed)) {
    case PATH_SIDE_CALLS:
        return SIDE_CALLS;
    case PATH_SIDE_SERVES:
        return SIDE_SERVES;
    default:
        return record->header.id == EVENT_SEND ? SIDE_CALLS : SIDE_SERVES;
    }
}

bool elapsed_calls_on(const struct elapsed_analysis *analysis, uint32_t end_place)
{
    return end_place != 0 && end_place <= analysis->exchange_room &&
           analysis->exchanges[end_place - 1].side == SIDE_CALLS;
}

/* ---- processes that serve ---- */

static uint64_t process_of(const struct elapsed_analysis *analysis,
                           const struct history_event *event)
{
    const struct record_header *header = event->event.header;
    const struct stream_record *identity = identities_stream(history_identities(analysis->history),
                                                             event->event.origin, header->stream);

    return number_key(event->event.origin, identity == NULL ? header->stream : identity->process);
}

static bool is_server(const struct elapsed_analysis *analysis, const struct history_event *event)
{
    return lookup_find(&analysis->servers, process_of(analysis, event)) != LOOKUP_NONE;
}

/* ---- messages ---- */

static bool is_from_metered(const struct history_event *event)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].kind <= EDGE_INFERRED)
            return true;
    return false;
}

/* On the side that serves. */
static int note_request(struct elapsed_analysis *analysis, const struct history_event *event,
                        struct elapsed_thread *thread, struct exchange *exchange, uint32_t index)
{
    struct interval *interval = interval_at(analysis, index);
    int result = 0;

    if (exchange->is_received)
        return 0; /* more of it */
    result = end_exchange(analysis, exchange);
    if (result == 0)
        result = lookup_set(&analysis->servers, process_of(analysis, event), 1);
    if (result < 0)
        return result;
    interval->serves = true;
    exchange->received = index;
    exchange->is_received = true;
    exchange->thread = lookup_find(&analysis->thread_numbers,
                                   number_key(event->event.origin, event->event.header->stream)) +
                       1;
    thread->requests++;
    if (!is_from_metered(event))
        begin_exchange(exchange, interval->arrival != 0 ? interval->arrival : interval->end);
    return 0;
}

static void note_answer(struct elapsed_analysis *analysis, struct exchange *exchange,
                        uint32_t index)
{
    forget_received(analysis, exchange);
    if (exchange->side == SIDE_SERVES)
        interval_at(analysis, index)->request = exchange->received;
    if (exchange->is_open)
        exchange->last = index;
}

/* On the side that calls. */
static int note_call(struct elapsed_analysis *analysis, const struct history_event *event,
                     struct exchange *exchange, uint32_t index)
{
    int result = 0;

    if (exchange->is_open && exchange->last == 0)
        return 0; /* more of it */
    result = end_exchange(analysis, exchange);
    if (result == 0 && !is_server(analysis, event))
        begin_exchange(exchange, begun_at(interval_at(analysis, index)));
    return result;
}

int elapsed_note_message(struct elapsed_analysis *analysis, const struct history_event *event,
                         struct elapsed_thread *thread, uint32_t interval)
{
    const struct record *record = (const struct record *)event->event.header;
    bool sends = record->header.id == EVENT_SEND;
    struct exchange *exchange = exchange_at(analysis, event->end_place);

    if (exchange == NULL)
        return event->end_place == 0 ? 0 : -ENOMEM;
    if (exchange->side == SIDE_NOT_KNOWN)
        exchange->side = (uint8_t)side_of(analysis, event);
    switch ((enum side)exchange->side) {
    case SIDE_SERVES:
        if (!sends)
            return note_request(analysis, event, thread, exchange, interval);
        note_answer(analysis, exchange, interval);
        return 0;
    case SIDE_CALLS:
        if (sends)
            return note_call(analysis, event, exchange, interval);
        note_answer(analysis, exchange, interval);
        return 0;
    default:
        return 0;
    }
}
