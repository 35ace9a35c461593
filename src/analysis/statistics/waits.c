/* SPDX-License-Identifier: MIT */
/*
 * waits.c: waits of streams: receivers for messages, blocked senders for buffer space. See waits.h.
 *
 *      RECEIVECALL ----- STOP ... ------------ RECEIVE      a receiver's wait; most other records would end it
 *      SENDCALL -- SENDCALL ------------------ SEND         a sender's, from the first SENDCALL on
 *
 * A call may end without a message (timeout or signal), which is not recorded. So a wait also ends when the stream uses
 * another path, or sleeps in another call. CPU time that the stream has used since its call is not waiting. All times
 * are by the stream's own clock.
 */
#include "analysis/statistics/waits.h"

#include "analysis/statistics/statistics_state.h"
#include "meter/shared/message.h"

static void begin(struct stream_wait *wait, const struct stream *stream, uint32_t path,
                  uint64_t time)
{
    *wait = (struct stream_wait){.since = time, .proc_time = stream->proc_time, .path = path};
}

/* A UDP socket has a path for each peer, and may wait on its path without a peer. */
static bool are_of_one_socket(const struct statistics *statistics, uint32_t origin, uint32_t a,
                              uint32_t b)
{
    const struct path_record *one = identities_path(statistics->identities, origin, a),
                             *other = identities_path(statistics->identities, origin, b);

    return one != NULL && other != NULL && one->inode != 0 && one->inode == other->inode;
}

static bool is_for(const struct statistics *statistics, const struct stream_wait *wait,
                   const struct stream *stream, uint32_t path)
{
    return wait->path == 0 || wait->path == path ||
           are_of_one_socket(statistics, stream->origin, wait->path, path);
}

/* The receiver of a blocked sender may not be known yet: NO_PROCESS. */
static int cover(struct statistics *statistics, const struct endpoint *endpoint,
                 const struct usage *usage, enum value_kind kind, uint64_t waited, uint64_t time)
{
    return kind == VALUE_RECEIVER_WAIT
               ? cover_at(statistics, endpoint, COVERING_RECEIVER_WAIT, usage->process,
                          time - waited, time)
               : coverings_add(&statistics->coverings, COVERING_SENDER_BLOCKED, usage->process,
                               peer_of(endpoint), time - waited, time);
}

/* Ends a wait with a message received or sent on this path. Returns 0 or -ENOMEM. */
static int end(struct statistics *statistics, const struct stream_wait *wait,
               const struct stream *stream, const struct endpoint *endpoint, struct usage *usage,
               enum value_kind kind, uint64_t time, uint32_t path)
{
    if (wait->since == 0 || usage == NULL || !is_for(statistics, wait, stream, path))
        return 0;
    uint64_t waited = time_since(wait->since, time);
    /* a receiver of MPI spins */
    uint64_t used =
        endpoint->kind == PATH_MPI ? 0 : proc_time_used(wait->proc_time, stream->proc_time);
    waited = waited > used ? waited - used : 0;
    int result = usage_values_add(usage, kind, waited);
    return result < 0 ? result : cover(statistics, endpoint, usage, kind, waited, time);
}

static void forget(struct stream *stream)
{
    stream->waits.since = stream->blocked.since = 0;
}

/* Excludes time asleep for a disk or a lock within the call. */
static void leave_out(struct stream *stream, uint64_t slept)
{
    if (stream->waits.since != 0)
        stream->waits.since += slept;
    if (stream->blocked.since != 0)
        stream->blocked.since += slept;
}

static int follow(struct statistics *statistics, struct stream *stream,
                  const struct endpoint *endpoint, struct usage *usage, const struct record *record)
{
    unsigned id = record->header.id;
    /* a SEND is recorded at the end of its call */
    uint64_t span = id <= EVENT_RECEIVE && id != EVENT_SEND ? message_span(record) : 0;
    uint64_t time = record->header.time - span;
    uint32_t path = id <= EVENT_RECEIVE ? record->message.path : 0;
    const struct stream_wait waits = stream->waits, blocked = stream->blocked;

    switch (id) {
    case EVENT_RECEIVECALL:
        stream->blocked.since = 0; /* the blocked send ended without a message */
        begin(&stream->waits, stream, path, time);
        return 0;
    case EVENT_RECEIVE:
        stream->waits.since = 0;
        if (record->header.flags & RECORD_END_OF_FILE && record->message.bytes == 0)
            return 0; /* not a message */
        return end(statistics, &waits, stream, endpoint, usage, VALUE_RECEIVER_WAIT, time, path);
    case EVENT_SENDCALL:
        stream->waits.since = 0;
        if (blocked.since == 0 || blocked.path != path)
            begin(&stream->blocked, stream, path, time);
        stream->blocked.out = record->message.bytes;
        return 0;
    case EVENT_SEND:
        forget(stream);
        return end(statistics, &blocked, stream, endpoint, usage, VALUE_SENDER_BLOCKED, time, path);
    case EVENT_BLOCK:
        if (record->block.state & 1) /* interruptible */
            forget(stream);
        else
            leave_out(stream, record->block.duration);
        return 0;
    case EVENT_STOPPROCESS:
    case EVENT_STARTPROCESS:
    case EVENT_CREATEPATH: /* recorded when a path is first used, within the receiving call */
    case EVENT_CONNECT:
    case EVENT_CONNECTFAILED:
    case EVENT_ACCEPT:
    case EVENT_WAKEUP: /* a receiving call may wake another stream */
    case EVENT_SIGNAL: /* a stop in a receiving call is reported to the parent */
        return 0;
    default:
        stream->waits.since = 0;
        return 0;
    }
}

uint64_t waits_first_byte(const struct stream *stream, const struct record *record)
{
    const struct stream_wait *blocked = &stream->blocked;
    bool was_full = record->header.flags & RECORD_WHOLE_CALL && blocked->since != 0 &&
                    blocked->path == record->message.path && blocked->out == 0;

    return record->header.time - (was_full ? 0 : message_span(record));
}

int waits_note(struct statistics *statistics, struct stream *stream,
               const struct endpoint *endpoint, struct usage *usage, const struct record *record)
{
    bool is_message = record->header.id == EVENT_SEND || record->header.id == EVENT_RECEIVE;

    return is_message && (stream->waits.since | stream->blocked.since) == 0
               ? 0
               : follow(statistics, stream, endpoint, usage, record);
}
