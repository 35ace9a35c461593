/* SPDX-License-Identifier: MIT */
/* messages.c: counts a message. See messages.h. */
#include "analysis/statistics/messages.h"

#include "analysis/statistics/endpoints.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/statistics_state.h"

#include <errno.h>
#include <stdlib.h>

/* ---- sizes ---- */

static bool is_of(const struct open_message *open, enum value_kind kind, uint32_t stream)
{
    return open->any && open->stream == stream && open->kind == kind;
}

/* The open message of a stream; NULL: none is known. */
static struct open_message *find_open(struct open_messages *open, enum value_kind kind,
                                      uint32_t stream)
{
    if (is_of(&open->latest[kind], kind, stream))
        return &open->latest[kind];
    for (uint32_t i = 0; open->aside != NULL && i < open->aside->count; i++)
        if (is_of(&open->aside->list[i], kind, stream))
            return &open->aside->list[i];
    return NULL;
}

/* Closes a message that is complete, or that is treated so because the list of open ones is full. */
static int close_message(struct usage *usage, struct open_message *open)
{
    bool any = open->any;

    open->any = false;
    return any ? usage_values_add(usage, open->kind, open->size) : 0;
}

/* A free entry; if there is none, closes one. NULL: out of memory. */
static struct open_message *take_aside(struct usage *usage)
{
    struct open_aside *aside = usage->open.aside;

    if (aside == NULL)
        aside = usage->open.aside = calloc(1, sizeof(*aside));
    if (aside == NULL)
        return NULL;
    if (aside->count < OPEN_MOST)
        return &aside->list[aside->count++];
    struct open_message *oldest = &aside->list[aside->next++ % OPEN_MOST];
    return close_message(usage, oldest) < 0 ? NULL : oldest;
}

static int open_message(struct usage *usage, struct open_message message)
{
    struct open_message *before = &usage->open.latest[message.kind];
    struct open_message *own = find_open(&usage->open, message.kind, message.stream);
    int result = own == NULL ? 0 : close_message(usage, own);

    if (result == 0 && before->any) { /* another stream's, which may get further pieces */
        own = own == NULL ? take_aside(usage) : own;
        if (own == NULL)
            return -ENOMEM;
        *own = *before;
    }
    *before = message;
    return result;
}

/* Whether the other end's sends are counted. That may have changed since both ends were joined (FLAGS). */
static bool partner_counts(const struct statistics *statistics, const struct endpoint *endpoint)
{
    return endpoint->partner_tells &&
           (endpoint->partner == NULL || endpoint_sends_are_metered(statistics, endpoint->partner));
}

/* Messages are counted where they are sent, if that end is metered and in use. */
static int note_size(const struct statistics *statistics, struct usage *usage,
                     const struct endpoint *endpoint, const struct record *record)
{
    enum value_kind kind = record->header.id == EVENT_SEND ? VALUE_SENT : VALUE_RECEIVED;

    if (kind == VALUE_RECEIVED && partner_counts(statistics, endpoint))
        return 0;
    if (record->header.flags & RECORD_CONTINUED) {
        struct open_message *open = find_open(&usage->open, kind, record->header.stream);
        if (open != NULL)
            open->size += record->message.bytes;
        return 0;
    }
    return open_message(usage, (struct open_message){.size = record->message.bytes,
                                                     .stream = record->header.stream,
                                                     .kind = (uint8_t)kind,
                                                     .any = true});
}

/* The answer in progress, so far. */
static uint64_t answer_took(const struct usage *usage)
{
    return usage->last_time > usage->asked ? usage->last_time - usage->asked : 0;
}

static int add_if_open(struct usage *to, const struct open_message *open)
{
    return open->any ? usage_values_add(to, open->kind, open->size) : 0;
}

int messages_close(struct usage *to, const struct usage *from)
{
    const struct open_messages *open = &from->open;
    int result = from->asked == 0 ? 0 : usage_values_add(to, VALUE_ANSWER_WHOLE, answer_took(from));

    for (unsigned i = 0; result == 0 && i < ARRAY_SIZE(open->latest); i++)
        result = add_if_open(to, &open->latest[i]);
    for (uint32_t i = 0; result == 0 && open->aside != NULL && i < open->aside->count; i++)
        result = add_if_open(to, &open->aside->list[i]);
    return result;
}

int messages_add_open(const struct usage *usage, enum value_kind kind, struct histogram *histogram,
                      unsigned most)
{
    const struct open_messages *open = &usage->open;

    if (kind == VALUE_ANSWER_WHOLE)
        return usage->asked == 0 ? 0 : histogram_add(histogram, answer_took(usage), most);
    if (kind >= VALUE_ANSWER)
        return 0;
    uint32_t aside = open->aside == NULL ? 0 : open->aside->count;
    int result =
        open->latest[kind].any ? histogram_add(histogram, open->latest[kind].size, most) : 0;

    for (uint32_t i = 0; result == 0 && i < aside; i++)
        if (open->aside->list[i].any && open->aside->list[i].kind == kind)
            result = histogram_add(histogram, open->aside->list[i].size, most);
    return result;
}

/* ---- messages ---- */

int messages_cover_answer(struct statistics *statistics, const struct usage *usage)
{
    return usage->asked == 0
               ? 0
               : coverings_add(&statistics->coverings,
                               usage->serves ? COVERING_RESPONSE : COVERING_REQUEST, usage->process,
                               NO_PROCESS, usage->asked, usage->last_time);
}

/* Response time of a server: from receive to send. Request latency of a client: from send to receive. The role is that
 * of the path; if unknown, a process that receives first is the server.
 *
 *      client   SEND ........... RECEIVE ... RECEIVE ... RECEIVE   SEND
 *               |-- VALUE_ANSWER -->|                       |      the next request
 *               |-- VALUE_ANSWER_WHOLE -------------------->|
 */
static int note_answer(struct statistics *statistics, struct usage *usage,
                       const struct endpoint *endpoint, uint8_t id, uint64_t when)
{
    uint8_t before = usage->last;
    uint64_t last_time = usage->last_time;
    int result = 0;

    if (kind_is_pipe(endpoint->kind))
        return 0; /* of messages one way none is an answer */
    if (before == 0)
        usage->serves = endpoint->role == PATH_ROLE_ACCEPTED ||
                        (endpoint->role == PATH_ROLE_UNKNOWN && id == EVENT_RECEIVE);
    uint8_t asks = usage->serves ? EVENT_RECEIVE : EVENT_SEND;
    if (id == asks && usage->asked != 0) {
        result = usage_values_add(usage, VALUE_ANSWER_WHOLE, answer_took(usage));
        if (result == 0)
            result = messages_cover_answer(statistics, usage);
        usage->asked = 0;
    } else if (id != asks && before == asks && when >= last_time) {
        result = usage_values_add(usage, VALUE_ANSWER, when - last_time);
        usage->asked = last_time;
    }
    usage->last = id;
    usage->last_time = when;
    return result;
}

/* The kind of a path without a PATH record is unknown: a receive of 0 bytes is then taken for the end of the file, by
 * far the more common case. */
static bool is_message(const struct endpoint *endpoint, const struct record *record)
{
    return record->header.id == EVENT_SEND || record->message.bytes != 0 ||
           ((record->header.flags & RECORD_END_OF_FILE) == 0 && endpoint->known &&
            !endpoint->byte_stream);
}

/* Messages count where they are sent; those of an unmonitored peer, where they are received. */
static bool counts_in_intervals(const struct statistics *statistics,
                                const struct endpoint *endpoint, const struct record *record)
{
    return record->header.id == EVENT_SEND ||
           (!partner_counts(statistics, endpoint) && endpoint->partner != endpoint);
}

int messages_count(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                   const struct record *record, uint64_t when)
{
    int result = 0;

    endpoint->messages++;
    if (!is_message(endpoint, record))
        return 0;
    count_message(record->header.id == EVENT_SEND ? &usage->sent : &usage->received, record);
    result = note_size(statistics, usage, endpoint, record);
    if (result == 0 && counts_in_intervals(statistics, endpoint, record))
        result = intervals_count(statistics, endpoint->origin, record, when);
    /* all unknown paths share one endpoint, so messages cannot be distinguished */
    return result < 0 || !endpoint->known
               ? result
               : note_answer(statistics, usage, endpoint, record->header.id, when);
}
