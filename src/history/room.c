/* SPDX-License-Identifier: MIT */
/*
 * room.c: what ends a wait at the other end of a path, though it is no message to it.
 *
 *      sender    SENDCALL ~~~~ full ~~~~ SENDCALL ~~~~~~~~~~~ SEND
 *                                         /                    /      EDGE_ROOM
 *      receiver           RECEIVE --------'    RECEIVE -------'
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
    struct beginning *latest = &end->rooms[0];
    uint32_t value = end->rooms[ROOMS - 1].value;

    for (unsigned i = ROOMS - 1; i > 0; i--)
        end->rooms[i] = end->rooms[i - 1];
    *latest = (struct beginning){
        .number = event->number,
        .time = record->header.time,
        .when = event->when,
        .proc_time = event->proc_time,
        .stream = stream->number,
        .sequence = record->header.sequence,
        .value = value,
        .id = record->header.id,
    };
    return values_take(history, &latest->value, event);
}

void room_forget(struct history *history, struct end *end)
{
    for (unsigned i = 0; i < ROOMS; i++)
        values_spend(history, &end->rooms[i].value);
}

static bool is_same_machine(const struct history *history, uint32_t a, uint32_t b)
{
    uint32_t machine = history->origins[a].machine;

    return a == b || (machine != NO_MACHINE && machine == history->origins[b].machine);
}

/* The latest of this type in [from, to], as far as clocks can be compared; NULL: none. */
static const struct beginning *find(const struct history *history, const struct end *other,
                                    const struct stream *stream, uint8_t id, uint64_t from,
                                    uint64_t to)
{
    bool comparable = is_same_machine(history, other->origin, stream->origin);

    for (unsigned i = 0; i < ROOMS; i++) {
        const struct beginning *room = &other->rooms[i];
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
    struct history_edge *edge = history_add_edge(history);

    if (edge == NULL)
        return -ENOMEM;
    *edge = (struct history_edge){
        .id = from->id,
        .kind = kind,
        .origin = other->origin,
        .stream = from->stream,
        .sequence = from->sequence,
        .path = other->number,
        .number = from->number,
        .time = from->when,
        .proc_time = from->proc_time,
        .value = values_at(history, from->value),
    };
    return 0;
}

/* The end of a wait of this stream. */
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

int room_hand_out(struct history *history, struct stream *stream, const struct record *record,
                  struct history_event *event)
{
    struct end *end;
    int result;

    switch (record->header.id) {
    case EVENT_RECEIVE:
    case EVENT_CONNECT:
        stream->full = 0;
        end = ends_find(history, stream->origin, record->message.path);
        if (end == NULL || end->external ||
            (record->header.id == EVENT_RECEIVE && record->message.bytes == 0))
            return 0;
        return note(history, end, stream, record, event);
    case EVENT_SENDCALL:
    case EVENT_SEND:
    case EVENT_ACCEPT:
        end = ends_find(history, stream->origin, record->message.path);
        result = end == NULL ? 0 : add_cause(history, end, stream, record);
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
