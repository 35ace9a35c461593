/* SPDX-License-Identifier: MIT */
/*
 * room.c: what ends a wait at the other end of a path, though it is no message to it.
 *
 *      sender    SENDCALL ~~~~ full ~~~~ SENDCALL ~~~~~~~~~~~ SEND
 *                                         /                    /      EDGE_ROOM
 *      receiver           RECEIVE --------'    RECEIVE -------'
 *
 *      sender    SEND ---- latest event ~~ closes
 *                                 \                                   EDGE_END
 *      receiver                    '--------- RECEIVE, end of file
 *
 *      client    CONNECT -----------------.
 *                                          \                          EDGE_CONNECTION
 *      server              ~~ waits ~~~~~~ ACCEPT
 *
 * Whose RECEIVE it was that made room is not told: it is the latest that happened while the sender was waiting.
 */
#include "history/history_private.h"

#include <errno.h>

static int note(struct history *history, struct end *end, const struct stream *stream,
                const struct record *record, struct history_event *event)
{
    end->latest_room = (end->latest_room + 1) % ROOMS;
    struct beginning *latest = &end->rooms[end->latest_room];
    *latest = beginning_here(event, stream, record, latest->value);
    return values_take(history, &latest->value, event);
}

void room_forget(struct history *history, struct end *end)
{
    for (unsigned i = 0; i < ROOMS; i++)
        values_spend(history, &end->rooms[i].value);
}

/* The latest of this type in [from, to], as far as clocks can be compared; NULL: none. */
static const struct beginning *find(const struct history *history, const struct end *other,
                                    const struct stream *stream, uint8_t id, uint64_t from,
                                    uint64_t to)
{
    bool comparable = history_have_one_clock(history, other->origin, stream->origin);

    for (unsigned i = 0; i < ROOMS; i++) {
        const struct beginning *room = &other->rooms[(other->latest_room + ROOMS - i) % ROOMS];
        if (room->stream == 0 || room->id != id)
            continue;
        if (!comparable || (room->time >= from && room->when <= to))
            return room;
    }
    return NULL;
}

static int add_edge(struct history *history, enum edge_kind kind, const struct end *other,
                    const struct beginning *from)
{
    return history_add_edge_from(history, kind, other->origin, other->number, from);
}

/* The end of a stream's wait for room, or for a connection. */
static int add_cause(struct history *history, const struct end *end, const struct stream *stream,
                     const struct record *record)
{
    const struct end *other = end->partner;
    bool sends = record->header.id != EVENT_ACCEPT;

    if (other == NULL || (sends && stream->full != end->number))
        return 0;
    const struct beginning *from =
        find(history, other, stream, sends ? EVENT_RECEIVE : EVENT_CONNECT,
             sends ? stream->full_since : 0, record->header.time);
    return from == NULL ? 0 : add_edge(history, sends ? EDGE_ROOM : EDGE_CONNECTION, other, from);
}

/* Nothing more comes: who sent last has closed his end since, or has ended. */
static int add_end(struct history *history, const struct end *end, const struct stream *stream)
{
    const struct end *other = end->partner;
    if (other == NULL || other->sender.life == 0)
        return 0;
    const struct stream *sender = stream_who(history, other->sender);
    const struct beginning *latest =
        sender != NULL ? &sender->latest
                       : history_faded(history, other->origin, other->sender_number);
    return sender == stream || latest == NULL || latest->stream == 0
               ? 0
               : add_edge(history, EDGE_END, other, latest);
}

static int hand_out_receive(struct history *history, struct end *end, struct stream *stream,
                            const struct record *record, struct history_event *event)
{
    stream->full = 0;
    if (record->header.id == EVENT_RECEIVE && record->message.bytes == 0)
        return record->header.flags & RECORD_END_OF_FILE ? add_end(history, end, stream) : 0;
    return end->external ? 0 : note(history, end, stream, record, event);
}

int room_hand_out(struct history *history, struct end *end, struct stream *stream,
                  const struct record *record, struct history_event *event)
{
    int result;

    switch (record->header.id) {
    case EVENT_RECEIVE:
    case EVENT_CONNECT:
        return hand_out_receive(history, end, stream, record, event);
    case EVENT_SENDCALL:
    case EVENT_SEND:
    case EVENT_ACCEPT:
        result = add_cause(history, end, stream, record);
        stream->full =
            record->header.id == EVENT_SENDCALL && !(record->header.flags & RECORD_PREEMPTED)
                ? record->message.path
                : 0;
        stream->full_since = record->header.time;
        return result;
    default:
        return 0;
    }
}
