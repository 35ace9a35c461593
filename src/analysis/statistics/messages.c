/* SPDX-License-Identifier: MIT */
/* messages.c: counts a message. See messages.h. */
#include "analysis/statistics/messages.h"

#include "analysis/statistics/answers.h"
#include "analysis/statistics/endpoints.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/rows.h"
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

/* What the record counts for the traffic of its direction. Messages are counted where they are sent, if that end is
 * metered and in use; but those whose SENDs a selection has removed, where they are received.
 *
 *      SEND 2000 B     (SEND 10 B)                  rules keep large sends, and all receives
 *      RECEIVE 2000 B  RECEIVE 10 B                 2 messages: the SEND, and the second RECEIVE
 */
static struct traffic share_of(const struct statistics *statistics, const struct endpoint *endpoint,
                               const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct traffic share = {0};

    if (record->header.id == EVENT_SEND || !partner_counts(statistics, endpoint))
        count_message(&share, record);
    else if (event->rest == REST_UNSELECTED)
        share = (struct traffic){(record->header.flags & RECORD_CONTINUED) == 0, event->rest_bytes};
    return share;
}

static int note_size(struct usage *usage, const struct record *record, struct traffic share)
{
    enum value_kind kind = record->header.id == EVENT_SEND ? VALUE_SENT : VALUE_RECEIVED;

    if (record->header.flags & RECORD_CONTINUED) {
        struct open_message *open = find_open(&usage->open, kind, record->header.stream);
        if (open != NULL)
            open->size += share.bytes;
        return 0;
    }
    if (share.messages == 0)
        return 0;
    return open_message(usage, (struct open_message){.size = share.bytes,
                                                     .stream = record->header.stream,
                                                     .kind = (uint8_t)kind,
                                                     .any = true});
}

static int add_if_open(struct usage *to, const struct open_message *open)
{
    return open->any ? usage_values_add(to, open->kind, open->size) : 0;
}

int messages_close(struct usage *to, const struct usage *from)
{
    const struct open_messages *open = &from->open;
    int result = answers_close(to, from);

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
        return answers_add_open(usage, histogram, most);
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

/* The kind of a path without a PATH record is unknown: a receive of 0 bytes is then taken for the end of the file, by
 * far the more common case. */
static bool is_message(const struct endpoint *endpoint, const struct record *record)
{
    return record->header.id == EVENT_SEND || record->message.bytes != 0 ||
           ((record->header.flags & RECORD_END_OF_FILE) == 0 && endpoint->known &&
            !endpoint->byte_stream);
}

int messages_count(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                   const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    bool is_sent = record->header.id == EVENT_SEND;
    int result = 0;

    endpoint->messages++;
    if (!is_message(endpoint, record))
        return 0;
    struct traffic share = share_of(statistics, endpoint, event);
    count_message(is_sent ? &usage->sent : &usage->received, record);
    if (!is_sent && event->rest == REST_UNSELECTED)
        add_traffic(&usage->unselected, &share);
    result = note_size(usage, record, share);
    if (result == 0 && (is_sent || (has_any(&share) && endpoint->partner != endpoint)))
        result = intervals_count(statistics, endpoint->origin, &share, event->when);
    /* all unknown paths share one endpoint, so messages cannot be distinguished */
    return result < 0 || !endpoint->known ? result
                                          : answers_note(statistics, endpoint, usage, record,
                                                         event->when, &statistics->asking);
}
