/* SPDX-License-Identifier: MIT */
/*
 * elapsed_requests.c: requests, and when they begin and end.
 *
 *      client, metered and no server   SEND o------------------------------------o RECEIVE, the last one before the next
 *      server, of a client                     arrival o---o RECEIVE ... SEND o    SEND; or before the next RECEIVE
 *      that is not metered
 *
 * What a client asks, and asks again, client_requests.h knows. What a server asks of others is part of its own requests. See
 * elapsed.h.
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

static struct elapsed_thread *thread_of(const struct elapsed_analysis *analysis,
                                        const struct exchange *exchange)
{
    return exchange->thread == 0 ? NULL : pool_at(&analysis->threads, exchange->thread - 1);
}

static void forget_received(struct elapsed_analysis *analysis, struct exchange *exchange)
{
    if (!exchange->is_received)
        return;
    exchange->is_received = false;
    thread_of(analysis, exchange)->requests--;
}

/* `in_progress`: it is only the recording that ends. */
static int end_exchange(struct elapsed_analysis *analysis, struct exchange *exchange,
                        bool in_progress)
{
    forget_received(analysis, exchange);
    if (!exchange->is_open)
        return 0;
    exchange->is_open = false;
    if (exchange->request.last == 0) {
        bool serves = exchange->side == ASKING_SERVES; /* else client_requests.h counts it */
        analysis->unfinished += serves && in_progress;
        analysis->unanswered += serves && !in_progress;
        return 0;
    }
    int64_t index = scratch_add(&analysis->requests);
    if (index < 0)
        return (int)index;
    ((struct request *)analysis->requests.at)[index] = exchange->request;
    if (exchange->request.connected != 0)
        exchange->first = (uint32_t)index + 1;
    return 0;
}

void elapsed_note_resent(struct elapsed_analysis *analysis, uint32_t end_place)
{
    struct exchange *exchange = end_place == 0 || end_place > analysis->exchange_room
                                    ? NULL
                                    : &analysis->exchanges[end_place - 1];

    if (exchange == NULL)
        return;
    if (exchange->first != 0)
        ((struct request *)analysis->requests.at)[exchange->first - 1].is_resent = true;
    else
        exchange->request.is_resent = true;
}

static void begin_exchange(struct exchange *exchange, uint64_t begin)
{
    exchange->is_open = true;
    exchange->request = (struct request){.begin = begin, .sent = begin};
}

/* ---- tries without an answer ---- */

static int64_t no_answer_of(struct elapsed_analysis *analysis, const struct history_event *event,
                            uint32_t path)
{
    const struct waited waited = {.kind = ELAPSED_NO_ANSWER, .call = NO_SYSTEM_CALL, .path = path};

    return detail_of(analysis, event, &waited);
}

#define WAITS_MOST 10000 /* intervals of a thread, from a question on */

static int note_try(struct elapsed_analysis *analysis, struct request *request, uint32_t detail)
{
    int64_t index = scratch_add(&analysis->tries);

    if (index < 0)
        return (int)index;
    ((struct try *)analysis->tries.at)[index] =
        (struct try){.begin = request->sent, .detail = detail, .previous = request->tries};
    request->tries = (uint32_t)index + 1;
    return 0;
}

/* ---- ends of paths, and of the recording ---- */

/* The detail of what a thread waits for in vain. */
static int64_t no_answer_for(struct elapsed_analysis *analysis, const struct history_event *event,
                             const struct elapsed_thread *thread, uint32_t path)
{
    const struct detail *asks =
        &analysis->details[interval_at(analysis, thread->latest)->computes - 1];
    struct record record = {.header.stream = asks->stream};
    struct history_event asking = *event;

    asking.event.header = &record.header;
    return no_answer_of(analysis, &asking, path);
}

/* The thread has waited for an answer at an end that is closed now. */
static int note_closed(struct elapsed_analysis *analysis, const struct history_event *event,
                       const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    struct elapsed_thread *thread = thread_of(analysis, exchange);

    if (thread == NULL || !exchange->is_open || thread->latest == 0)
        return 0;
    int64_t detail = no_answer_for(analysis, event, thread, exchange->path);
    if (detail < 0)
        return (int)detail;
    thread->closed = *request;
    return note_try(analysis, &thread->closed, (uint32_t)detail);
}

int elapsed_end_path(struct elapsed_analysis *analysis, const struct history_event *event)
{
    struct exchange *exchange = exchange_at(analysis, event->end_place);
    int result = 0;

    if (exchange == NULL)
        return event->end_place == 0 ? 0 : -ENOMEM;
    if (analysis->asking.may_ask_again)
        result = note_closed(analysis, event, exchange);
    if (result == 0)
        result = end_exchange(analysis, exchange, false);
    *exchange = (struct exchange){0};
    return result;
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

/* Whether a client asked that turned out to serve others: it was at work on a request from before the recording. */
static bool is_of_server(const struct elapsed_analysis *analysis, const struct request *request)
{
    if (request->first == 0)
        return false;
    const struct detail *client =
        &analysis->details[interval_at(analysis, request->first)->computes - 1];
    return lookup_find(&analysis->servers, number_key(client->origin, client->process_number)) !=
           LOOKUP_NONE;
}

static void leave_out_those_of_servers(struct elapsed_analysis *analysis)
{
    struct request *requests = analysis->requests.at;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < analysis->requests.count; i++)
        if (!is_of_server(analysis, &requests[i]))
            requests[kept++] = requests[i];
    analysis->requests.count = kept;
}

int elapsed_end_requests(struct elapsed_analysis *analysis)
{
    int result = 0;

    for (uint32_t place = 1; place <= analysis->exchange_room && result == 0; place++) {
        struct exchange *exchange = &analysis->exchanges[place - 1];
        analysis->unfinished += askings_waits(&analysis->askings, place);
        result = end_exchange(analysis, exchange, true);
    }
    leave_out_those_of_servers(analysis);
    return result;
}

/* ---- messages ---- */

static bool is_from_metered(const struct history_event *event)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (edge_is_message(&event->edges[i]))
            return true;
    return false;
}

static uint32_t number_of_thread(const struct elapsed_analysis *analysis,
                                 const struct history_event *event)
{
    return lookup_find(&analysis->thread_numbers,
                       number_key(event->event.origin, event->event.header->stream)) +
           1;
}

/* Whether an end is older than the recording, or not known. */
static bool is_older(const struct elapsed_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    const struct path_record *path = identities_path(history_identities(analysis->history),
                                                     event->event.origin, record->message.path);

    return path == NULL || (path->header.flags & RECORD_OLDER) != 0;
}

/* Whether the client does not count the request. What a metered client has sent before the recording is left out; what it
 * has sent before it was metered itself counts as one of a client that is not metered. `first`: of this end. */
static bool is_of_unmetered(const struct elapsed_analysis *analysis,
                            const struct history_event *event, bool first)
{
    if (is_from_metered(event))
        return false;
    return !event->joined ||
           (event->rest == REST_EXTERNAL && !(first && is_older(analysis, event)));
}

/* On the side that serves. */
static int note_request(struct elapsed_analysis *analysis, const struct history_event *event,
                        struct elapsed_thread *thread, struct exchange *exchange, uint32_t index)
{
    struct interval *interval = interval_at(analysis, index);
    bool first = exchange->received == 0;
    int result = 0;

    if (exchange->is_received)
        return 0; /* more of it */
    result = end_exchange(analysis, exchange, false);
    if (result == 0)
        result = lookup_set(&analysis->servers, process_of(analysis, event), 1);
    if (result < 0)
        return result;
    interval->serves = true;
    exchange->received = index;
    exchange->is_received = true;
    exchange->thread = number_of_thread(analysis, event);
    thread->received++;
    thread->beside += thread->requests > 0;
    thread->requests++;
    if (is_of_unmetered(analysis, event, first))
        begin_exchange(exchange, interval->arrival != 0 ? interval->arrival : interval->end);
    return 0;
}

static void note_answer(struct elapsed_analysis *analysis, struct exchange *exchange,
                        uint32_t index)
{
    forget_received(analysis, exchange);
    interval_at(analysis, index)->request = exchange->received;
    if (exchange->is_open)
        exchange->request.last = index;
}

/* What was asked before at another end goes on here. */
static void take_over(struct exchange *exchange, const struct request *before)
{
    exchange->request = (struct request){.begin = before->begin,
                                         .connected = before->connected,
                                         .connects = before->connects,
                                         .sent = before->sent,
                                         .first = before->first,
                                         .tries = before->tries};
}

/* The thread asks again, at this end or another. */
static int ask_again(struct elapsed_analysis *analysis, const struct history_event *event,
                     struct exchange *exchange)
{
    const struct asking_step *step = &analysis->asking;
    struct elapsed_thread *thread = thread_of(analysis, exchange);
    const struct exchange *from = step->from == 0 ? NULL : exchange_at(analysis, step->from);

    if (step->from_closed) {
        take_over(exchange, &thread->closed);
        return 0;
    }
    if (from == NULL)
        return 0;
    int64_t detail = no_answer_of(analysis, event, from->path);
    if (detail < 0)
        return (int)detail;
    if (from != exchange)
        take_over(exchange, &from->request);
    return note_try(analysis, &exchange->request, (uint32_t)detail);
}

static int begin_call(struct elapsed_analysis *analysis, const struct history_event *event,
                      struct exchange *exchange)
{
    const struct question *question = analysis->asking.question;
    uint32_t origin = event->event.origin;

    begin_exchange(exchange, history_common_time(analysis->history, origin, question->begin));
    exchange->request.first = exchange->own;
    if (question->connected == 0 || question->connected <= question->begin)
        return 0;
    const struct waited waited = {.kind = ELAPSED_CONNECT,
                                  .call = NO_SYSTEM_CALL,
                                  .path =
                                      ((const struct record *)event->event.header)->message.path};
    int64_t detail = detail_of(analysis, event, &waited);
    exchange->request.connected =
        history_common_time(analysis->history, origin, question->connected);
    exchange->request.connects = detail < 0 ? 0 : (uint32_t)detail;
    return detail < 0 ? (int)detail : 0;
}

/* On the side that calls. */
static int note_call(struct elapsed_analysis *analysis, const struct history_event *event,
                     struct exchange *exchange, uint32_t index)
{
    const struct asking_step *step = &analysis->asking;
    int result = 0;

    if (step->what != ASKING_BEGINS && step->what != ASKING_REPEATS)
        return 0; /* more of it */
    exchange->thread = number_of_thread(analysis, event);
    exchange->reply = 0;
    if (step->what == ASKING_BEGINS) {
        result = end_exchange(analysis, exchange, false);
        exchange->own = index;
        if (result < 0 || is_server(analysis, event))
            return result;
        result = begin_call(analysis, event, exchange);
    }
    if (result == 0 && exchange->is_open)
        result = ask_again(analysis, event, exchange);
    exchange->request.sent = begun_at(interval_at(analysis, index));
    return result;
}

/* Another end was asked again, and the first one has answered after all. */
static void begin_with_own_try(struct exchange *exchange)
{
    uint64_t sent = exchange->request.sent;

    exchange->request = (struct request){.begin = sent, .sent = sent, .first = exchange->own};
}

/* An answer came: `index` received it. */
static void note_reply(struct elapsed_analysis *analysis, struct exchange *exchange, uint32_t index)
{
    const struct asking_step *step = &analysis->asking;

    if (step->instead != 0 && step->instead <= analysis->exchange_room)
        begin_with_own_try(&analysis->exchanges[step->instead - 1]);
    exchange->reply = index;
    interval_at(analysis, index)->asked = exchange->own;
    if (exchange->is_open && (step->what == ASKING_ANSWERED || step->what == ASKING_MORE))
        exchange->request.last = index;
}

bool elapsed_calls_on(const struct elapsed_analysis *analysis, uint32_t end_place)
{
    return end_place != 0 && end_place <= analysis->exchange_room &&
           analysis->exchanges[end_place - 1].side == ASKING_CALLS;
}

/* What the other side had sent before its end. */
static void note_end_of_reply(struct elapsed_analysis *analysis, const struct exchange *exchange,
                              uint32_t index)
{
    const struct interval *reply =
        exchange->reply == 0 ? NULL : interval_at(analysis, exchange->reply);
    struct interval *interval = interval_at(analysis, index);

    if (reply == NULL || !reply->is_message)
        return;
    interval->ends_file = true;
    interval->request = reply->source;
}

void elapsed_note_end_of_file(struct elapsed_analysis *analysis, const struct history_event *event,
                              uint32_t interval)
{
    const struct record *record = (const struct record *)event->event.header;

    if (event->end_place == 0 || event->end_place > analysis->exchange_room)
        return;
    struct exchange *exchange = &analysis->exchanges[event->end_place - 1];
    if (exchange->path != record->message.path)
        return;
    forget_received(analysis, exchange);
    note_end_of_reply(analysis, exchange, interval);
}

/* What was open when messages were not recorded for a time has no end that is known. */
static void forget_before_gap(struct elapsed_analysis *analysis, uint32_t origin,
                              struct exchange *exchange)
{
    uint64_t gap = askings_gap(&analysis->askings, origin);

    if (gap == 0)
        return;
    gap = history_common_time(analysis->history, origin, gap);
    if (exchange->is_received && interval_at(analysis, exchange->received)->end < gap) {
        forget_received(analysis, exchange);
        exchange->received = 0;
        exchange->is_open = false;
    }
    if (exchange->side == ASKING_CALLS && exchange->reply == 0 && exchange->request.sent < gap)
        exchange->is_open = false;
}

int elapsed_note_message(struct elapsed_analysis *analysis, const struct history_event *event,
                         struct elapsed_thread *thread, uint32_t interval)
{
    const struct record *record = (const struct record *)event->event.header;
    bool sends = record->header.id == EVENT_SEND;
    struct exchange *exchange = exchange_at(analysis, event->end_place);

    if (exchange == NULL)
        return event->end_place == 0 ? 0 : -ENOMEM;
    if (exchange->path != 0 &&
        exchange->path != record->message.path) { /* its end was not recorded */
        int result = end_exchange(analysis, exchange, false);
        *exchange = (struct exchange){0};
        if (result < 0)
            return result;
    }
    exchange->path = record->message.path;
    exchange->side = (uint8_t)analysis->asking.side;
    forget_before_gap(analysis, event->event.origin, exchange);
    switch (analysis->asking.side) {
    case ASKING_SERVES:
        if (!sends)
            return note_request(analysis, event, thread, exchange, interval);
        note_answer(analysis, exchange, interval);
        return 0;
    case ASKING_CALLS:
        if (sends)
            return note_call(analysis, event, exchange, interval);
        note_reply(analysis, exchange, interval);
        return 0;
    default:
        return 0;
    }
}
