/* SPDX-License-Identifier: MIT */
/*
 * room.c: what ends a wait at the other end of a path without being a message to it.
 *
 *      sender    SENDCALL ~~~~ full ~~~~ SENDCALL ~~~~~~~~~~~ SEND
 *                                         /                    /      EDGE_ROOM
 *      receiver           RECEIVE --------'    RECEIVE -------'
 *
 *      sender    SEND ---- latest event ~~ closes
 *                                 \                                   EDGE_END
 *      receiver                    '--------- RECEIVE, end of file
 *                                  |
 *      relative  .... TERMINATION -'   if nothing was sent, or the sender terminated long before
 *
 *      client    CONNECT -----------------.
 *                                          \                          EDGE_CONNECTION
 *      server              ~~ waits ~~~~~~ ACCEPT
 *
 * Which RECEIVE freed the buffer space is not reported: the latest one during the sender's wait is taken. Nor is it
 * reported which process holds an end without using it: pipes are inherited, so a relative that terminated just before
 * is taken, unless a WAKEUP says which thread ended a poll.
 */
#include "history/room.h"

#include "history/clock_origins.h"
#include "history/ends.h"
#include "history/processes.h"
#include "history/receiving.h"
#include "history/streams.h"
#include "history/values.h"
#include "history/wakeups.h"

#include <errno.h>

#define CLOCK_ERROR_MOST 1000000000    /* ns: with a larger error, clocks are not compared */
#define FREEING_MOST     2000000000ull /* ns: in this time, a process frees any memory */

static struct latest_rooms *rooms_of(const struct history *history, const struct end *end)
{
    return end->rooms == 0 ? NULL : pool_at(&history->rooms, end->rooms - 1);
}

static int note(struct history *history, struct end *end, const struct stream *stream,
                const struct record *record, struct history_event *event)
{
    int64_t index = end->rooms == 0 ? pool_take(&history->rooms) : end->rooms - 1;

    if (index < 0)
        return -ENOMEM;
    end->rooms = (uint32_t)index + 1;
    struct latest_rooms *rooms = rooms_of(history, end);
    rooms->latest = (rooms->latest + 1) % ROOMS;
    struct beginning *latest = &rooms->at[rooms->latest];
    *latest = beginning_here(event, stream, record, latest->value);
    return values_take(history, &latest->value, event);
}

void room_forget(struct history *history, struct end *end)
{
    struct latest_rooms *rooms = rooms_of(history, end);

    if (rooms == NULL)
        return;
    for (unsigned i = 0; i < ROOMS; i++)
        values_spend(history, &rooms->at[i].value);
    pool_give(&history->rooms, end->rooms - 1);
    end->rooms = 0;
}

/* The latest of this type in [from, to]; if clocks cannot be compared, the CONNECT, since there is only one: a RECEIVE may
 * lie before the wait. NULL: none. */
static const struct beginning *find(const struct history *history, const struct end *other,
                                    const struct stream *stream, uint8_t id, uint64_t from,
                                    uint64_t to)
{
    const struct latest_rooms *rooms = rooms_of(history, other);
    uint64_t error;
    int64_t ahead;
    bool comparable =
        history_clock_between(history, stream->origin, to, other->origin, &ahead, &error) &&
        error <= CLOCK_ERROR_MOST;

    for (unsigned i = 0; rooms != NULL && i < ROOMS; i++) {
        const struct beginning *room = &rooms->at[(rooms->latest + ROOMS - i) % ROOMS];
        if (room->stream == 0 || room->id != id)
            continue;
        uint64_t time = room->time - (uint64_t)ahead, when = room->when - (uint64_t)ahead;
        bool within = (int64_t)(time + error - from) >= 0 && (int64_t)(to + error - when) >= 0;
        if (comparable ? within : id == EVENT_CONNECT)
            return room;
    }
    return NULL;
}

static int add_edge(struct history *history, enum edge_kind kind, const struct end *other,
                    const struct beginning *from)
{
    return history_add_edge_from(history, kind, other->origin, other->number, from);
}

/* Adds the edge to the end of a stream's wait for buffer space or for a connection. */
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

static int hand_out_receive(struct history *history, struct end *end, struct stream *stream,
                            const struct record *record, struct history_event *event)
{
    stream->full = 0;
    if (record->header.id == EVENT_RECEIVE && record->message.bytes == 0)
        return 0;
    return end->external || !history->finds_rooms ? 0 : note(history, end, stream, record, event);
}

/* ---- the end of a file ---- */

/* Whether the other end is held only by relatives of the process that holds this one, or by processes that got it from
 * them: both ends were created in one call, after metering began. */
static bool is_inherited(const struct end *end)
{
    const struct path_record *path = end->record;

    if (path == NULL || (path->header.flags & RECORD_OLDER))
        return false;
    return path->kind == PATH_PIPE ||
           ((path->kind == PATH_UNIX_STREAM || path->kind == PATH_UNIX_SEQPACKET) &&
            path->role == PATH_ROLE_UNKNOWN && path->name_end == PATH_NAME_NONE);
}

/* The process that terminated last before the end of the file for which the stream waited: among descendants of the
 * stream's own process, else of its parent, and so on. NULL: none terminated shortly before. */
static const struct beginning *holder_that_ended(const struct history *history,
                                                 const struct stream *stream, uint64_t time,
                                                 struct process **ret_process)
{
    const struct beginning *last = NULL;
    struct process *process = stream->process;

    if (stream->latest.id != EVENT_RECEIVECALL && stream->latest.id != EVENT_CREATEPATH)
        return NULL;
    for (; process != NULL && last == NULL; process = processes_parent(history, process)) {
        last = processes_last_below(history, process, time);
        *ret_process = process;
    }
    return last;
}

/* The latest event of the stream that sent last at the other end, if that is another stream; NULL: not known. */
static const struct beginning *latest_of_sender(const struct history *history,
                                                const struct end *other,
                                                const struct stream *stream)
{
    const struct beginning *latest;

    if (other == NULL || other->sender.life == 0)
        return NULL;
    const struct stream *sender = stream_who(history, other->sender);
    latest = sender != NULL ? &sender->latest
                            : history_faded(history, other->origin, other->sender_number);
    return sender == stream || latest == NULL || latest->stream == 0 ? NULL : latest;
}

/* Whether it happened, as far as clocks show, after the end of the file was found, so that it did not lead there. */
static bool is_later(const struct history *history, const struct end *end,
                     const struct beginning *latest, uint64_t time)
{
    uint64_t error;
    int64_t ahead;

    if (!history_clock_between(history, end->partner->origin, latest->time, end->origin, &ahead,
                               &error))
        return false;
    int64_t later = (int64_t)(latest->time + (uint64_t)ahead - time);
    return later > 0 && (uint64_t)later > error;
}

/* Its memory is freed before its files are closed, and faster than it was filled; however long it has computed, that takes
 * FREEING_MOST at most. */
uint64_t history_closing_most(uint64_t proc_time)
{
    uint64_t frees = proc_time < FREEING_MOST ? proc_time : FREEING_MOST;

    return DYING + frees;
}

/* Whether it terminated so long before that another process must have closed the file. */
static bool has_ended_before(const struct history *history, const struct end *end,
                             const struct beginning *latest, uint64_t time)
{
    return latest->id == EVENT_TERMINATION &&
           latest->time + history_closing_most(latest->proc_time) < time &&
           history_have_one_clock(history, end->origin, end->partner->origin);
}

/* The end of the process that closed the file, if that is not the one that sent last; NULL: it is, or nothing shows which. */
static const struct beginning *holder_of(struct history *history, const struct end *end,
                                         struct stream *stream, const struct record *record,
                                         const struct beginning *latest,
                                         struct process **ret_process)
{
    uint64_t time = record->header.time;
    const struct beginning *by_end;

    if (!is_inherited(end) || (latest != NULL && latest->id != EVENT_TERMINATION))
        return NULL;
    bool shown = wakeups_show_end(history, stream, record, &by_end);
    if (shown && by_end == NULL)
        return NULL; /* no process has ended the poll by its own end */
    if (shown && by_end->id == EVENT_TERMINATION)
        return latest != NULL && by_end->number == latest->number ? NULL : by_end;
    return latest == NULL || has_ended_before(history, end, latest, time)
               ? holder_that_ended(history, stream, time, ret_process)
               : NULL;
}

int room_look_at_end(struct history *history, const struct end *end, struct stream *stream,
                     const struct record *record, bool forced, struct process **ret_process)
{
    int result = 0;

    if (end == NULL)
        return 1;
    const struct beginning *latest = latest_of_sender(history, end->partner, stream);
    if (latest != NULL && is_later(history, end, latest, record->header.time))
        return 1; /* this RECEIVE was held, while the sender, which had closed the file, went on */
    const struct beginning *holder = holder_of(history, end, stream, record, latest, ret_process);
    if (holder != NULL && holder->number == NO_NUMBER)
        return forced;
    if (holder != NULL)
        result = history_add_edge_from(history, EDGE_END, stream->origin, 0, holder);
    else if (latest != NULL)
        result = add_edge(history, EDGE_END, end->partner, latest);
    return result < 0 ? result : 1;
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
        if (kind_is_mq(end->kind))
            return 0; /* a message of any other type makes room, too, and WAKEUP says which */
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
