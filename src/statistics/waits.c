/* SPDX-License-Identifier: MIT */
/*
 * waits.c: how long streams wait: receivers for messages, senders for room. See statistics_private.h.
 *
 *      RECEIVECALL ----- BLOCK, STOP ... ----- RECEIVE      a receiver's wait; most other records end it
 *      SENDCALL -- SENDCALL ------------------ SEND         a sender's, from the first SENDCALL on
 *
 * Times are those of the stream's own clock, whatever is known of others.
 */
#include "statistics/statistics_private.h"

int waits_note(struct statistics *statistics, struct statistics_stream *stream,
               struct statistics_use *use, const struct record *record)
{
    unsigned id = record->header.id;
    /* a send is over when it is told */
    uint64_t span = id <= EVENT_RECEIVE && id != EVENT_SEND ? record->message.span : 0;
    uint64_t time = record->header.time - span, begin;

    switch (id) {
    case EVENT_RECEIVECALL:
        stream->waits_since = time;
        return 0;
    case EVENT_RECEIVE:
        begin = stream->waits_since;
        stream->waits_since = 0;
        return begin == 0 || use == NULL
                   ? 0
                   : statistics_add_value(statistics, use, VALUE_RECEIVER_WAIT,
                                          time_since(begin, time));
    case EVENT_SENDCALL:
        stream->waits_since = 0;
        if (stream->blocked_since == 0)
            stream->blocked_since = time;
        return 0;
    case EVENT_SEND:
        begin = stream->blocked_since;
        stream->waits_since = stream->blocked_since = 0;
        return begin == 0 || use == NULL
                   ? 0
                   : statistics_add_value(statistics, use, VALUE_SENDER_BLOCKED,
                                          time_since(begin, time));
    case EVENT_BLOCK:
    case EVENT_STOPPROCESS:
    case EVENT_STARTPROCESS:
    case EVENT_CREATEPATH: /* these are told when a path is first used: in the call that receives */
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
        return 0;
    default:
        stream->waits_since = 0;
        return 0;
    }
}
