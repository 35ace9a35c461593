/* SPDX-License-Identifier: MIT */
/*
 * streams.c: streams: which created which, and when a call may have begun.
 *
 *      parent   o--- CREATEPROCESS ----o--
 *                        \ edge: creation
 *      child              o STARTPROCESS ... TERMINATION
 *
 * A record is made when a call ends. The call began after the stream's previous record. But some records are made in
 * the middle of a call (SENDCALL, a BLOCK, the CREATEPATH when a path is met), and these do not count.
 */
#include "history/streams.h"

#include "history/ends.h"
#include "history/flows.h"
#include "history/holding.h"
#include "history/processes.h"
#include "history/receiving.h"
#include "history/values.h"
#include "history/wakeups.h"
#include "meter/shared/message.h"

#include <errno.h>

#define SILENT      60000000000ull /* ns */
#define FEW_STREAMS 16384u

/* If terminations are not recorded, streams that have long been silent are forgotten. This happens whenever the number
 * of live streams has doubled since the last time. */
static void forget_silent(struct history *history)
{
    if (history->swept_at == 0)
        history->swept_at = FEW_STREAMS;
    if (history->stream_count < history->swept_at)
        return;
    for (uint32_t i = 0; i < history->streams.used; i++) {
        struct stream *stream = pool_at(&history->streams, i);
        const struct origin *origin = &history->origins[stream->origin];
        if (stream->life != 0 && origin->leaves_out_terminations && stream->held_count == 0 &&
            stream->waits == WAITS_NOT && stream->open == NULL &&
            stream->read_time + SILENT < origin->read_time)
            streams_forget(history, stream);
    }
    history->swept_at = 2 * history->stream_count;
    if (history->swept_at < FEW_STREAMS)
        history->swept_at = FEW_STREAMS;
}

struct stream *streams_find_or_add(struct history *history, uint32_t origin, uint32_t number)
{
    uint64_t key = number_key(origin, number);

    struct stream **recent = &history->recent_streams[place_of_recent(origin, number)];

    if (*recent != NULL && (*recent)->number == number && (*recent)->origin == origin)
        return *recent;
    uint32_t found = lookup_find(&history->stream_numbers, key);
    if (found != LOOKUP_NONE)
        return *recent = pool_at(&history->streams, found);
    forget_silent(history);
    int64_t index = pool_take(&history->streams);
    if (index < 0)
        return NULL;
    if (lookup_set(&history->stream_numbers, key, (uint32_t)index) < 0) {
        pool_give(&history->streams, (uint32_t)index);
        return NULL;
    }
    struct stream *stream = pool_at(&history->streams, (uint32_t)index);
    stream->life = ++history->lives == 0 ? ++history->lives : history->lives;
    stream->index = (uint32_t)index;
    stream->origin = origin;
    stream->number = number;
    stream->place = NO_PLACE;
    history->stream_count++;
    return *recent = stream;
}

struct stream *streams_find(const struct history *history, uint32_t origin, uint32_t number)
{
    uint32_t found = lookup_find(&history->stream_numbers, number_key(origin, number));

    return found == LOOKUP_NONE ? NULL : pool_at(&history->streams, found);
}

bool streams_is_known(const struct history *history, uint32_t origin, uint32_t number)
{
    return lookup_find(&history->stream_numbers, number_key(origin, number)) != LOOKUP_NONE;
}

struct stream *stream_who(const struct history *history, struct who who)
{
    if (who.life == 0 || who.index >= history->streams.used)
        return NULL;
    struct stream *stream = pool_at(&history->streams, who.index);
    return stream->life == who.life ? stream : NULL;
}

bool streams_wait_for_creation(const struct stream *stream)
{
    return stream->creation == CREATION_NOTED;
}

/* ---- noting ---- */

int streams_note_identity(struct history *history, uint32_t origin,
                          const struct stream_record *record)
{
    struct stream *stream = streams_find_or_add(history, origin, record->header.stream);

    return stream == NULL ? -ENOMEM : processes_note_identity(history, stream, record);
}

/* System calls that may send or receive: read, write, readv, writev, sendfile, sendto, recvfrom, sendmsg, recvmsg,
 * msgsnd, msgrcv, mq_timedsend, mq_timedreceive, splice, tee, vmsplice, recvmmsg, sendmmsg, preadv2, pwritev2,
 * io_uring_enter; and NO_SYSTEM_CALL, to be safe. */
static bool may_pass_messages(uint32_t call)
{
    static const uint32_t calls[] = {
        0,   1,   19,  20,  40,  44,  45,  46,  47,  69,  70,
        242, 243, 275, 276, 278, 299, 307, 327, 328, 426, NO_SYSTEM_CALL};

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* A wait in a call that passes no message itself, such as poll. (A receive from a message queue has no path either,
 * because it takes messages of several.) */
static bool waits_for_any(const struct record *record)
{
    return record->header.id == EVENT_RECEIVECALL && record->message.path == 0 &&
           !may_pass_messages(any_call(record));
}

/* Whether a record is never made in the middle of a call that passes messages. */
static bool is_between_calls(const struct record *record)
{
    switch (record->header.id) {
    case EVENT_SEND:
    case EVENT_RECEIVE:
    case EVENT_CREATEPROCESS:
    case EVENT_EXEC:
    case EVENT_TERMINATION:
        return true;
    case EVENT_RECEIVECALL:
        return waits_for_any(record);
    case EVENT_BLOCK:
        return !may_pass_messages(record->block.system_call);
    default:
        return false;
    }
}

static int note_creation(struct history *history, const struct stream *stream,
                         const struct record *record)
{
    if (record->create.child == 0 || record->create.child == stream->number)
        return 0;
    struct stream *child = streams_find_or_add(history, stream->origin, record->create.child);
    if (child == NULL)
        return -ENOMEM;
    if (!child->has_records && child->creation == CREATION_UNKNOWN) {
        child->creation = CREATION_NOTED;
        child->began_time = record->header.time;
        child->creator = (struct beginning){
            .number = NO_NUMBER,
            .stream = stream->number,
            .sequence = record->header.sequence,
            .id = EVENT_CREATEPROCESS,
        };
    }
    return 0;
}

/* The time up to which the stream's calls are known. The ptrace meter reports a wait in a call when the call ends, just
 * before what it has sent or received. */
static uint64_t told_up_to(const struct history *history, const struct stream *stream,
                           const struct record *record)
{
    uint64_t time = record->header.time;
    bool waits = record->header.id == EVENT_SENDCALL || record->header.id == EVENT_RECEIVECALL;

    if (!waits || history->origins[stream->origin].meter != METER_PTRACE)
        return time;
    uint64_t span = message_span(record);
    uint64_t began = span < time ? time - span : 0;
    return began > stream->read_time ? began : stream->read_time;
}

/* A SCHEDULE of the ptrace meter is the sum at the thread's end, and says nothing of single waits. */
void streams_note_schedule(struct history *history, uint32_t origin, const struct record *record)
{
    struct stream *stream = streams_find(history, origin, record->header.stream);

    if (stream == NULL)
        return;
    if (history->origins[origin].meter == METER_PTRACE)
        stream->cpu_wait.count = record->schedule.runnable;
    else
        cpu_wait_schedule(&stream->cpu_wait, record,
                          stream->has_records || stream->creator.stream != 0);
}

int streams_note(struct history *history, struct stream *stream, const struct record *record)
{
    const struct record_header *header = &record->header;

    stream->has_records = true;
    if (header->id != EVENT_LOST && header->id != EVENT_DISCARDED)
        stream->no_cpu = cpu_wait_take(&stream->cpu_wait, record);
    stream->waits_for_any = waits_for_any(record);
    /* these may come in the middle of a call */
    if (header->id != EVENT_LOST && header->id != EVENT_DISCARDED)
        stream->read_time = told_up_to(history, stream, record);
    if (header->id == EVENT_LOST || header->id == EVENT_DISCARDED) {
        stream->lost_time = header->time;
        stream->discarded = stream->discarded || header->id == EVENT_DISCARDED;
        flows_close_call(history, stream); /* its SEND may be among the lost records */
    } else if (header->id == EVENT_SENDCALL || header->id == EVENT_RECEIVECALL) {
        stream->sendcall = true;
    }
    if (is_between_calls(record)) {
        if (!(header->flags & RECORD_SAME_CALL))
            stream->previous_began = stream->began_time;
        stream->began_time = header->time;
        stream->sendcall = false;
        flows_close_call(history, stream);
    }
    if (header->id == EVENT_CREATEPROCESS)
        return note_creation(history, stream, record);
    if (header->id == EVENT_TERMINATION) {
        stream->terminated = true;
        if (record->termination.last)
            return processes_note_end(history, stream, record);
    }
    return 0;
}

uint64_t stream_call_began(const struct history *history, const struct stream *stream,
                           const struct record *record)
{
    uint64_t time = record->header.time;
    bool told = history->origins[stream->origin].tells && !stream->sendcall;
    uint64_t least = told && time > MOMENT ? time - MOMENT : 0;
    uint64_t began =
        record->header.flags & RECORD_SAME_CALL ? stream->previous_began : stream->began_time;

    return began > least ? began : least;
}

/* ---- handing out ---- */

/* procTime has 48 bits and only grows. A small step backwards is a record that overtook another one. */
static uint64_t unwrap_proc_time(struct stream *stream, const struct record_header *header)
{
    uint64_t now = record_proc_time(header);

    stream->proc_time =
        stream->runs ? stream->proc_time + proc_time_used(stream->proc_time, now) : now;
    stream->runs = true;
    return stream->proc_time;
}

/* A call of MPI spins until its message has come, or other processes have made the same call. That is waiting, not work:
 * no other processor would make it shorter. */
static void note_spinning(const struct history *history, struct stream *stream,
                          const struct record *record)
{
    unsigned id = record->header.id;

    if (id == EVENT_RECEIVECALL && record->message.path == 0) {
        stream->spins = stream->spins || any_call(record) == MPI_ANY_CALL;
        return;
    }
    if (block_is_of_mpi(record) || id == EVENT_LOST || id == EVENT_DISCARDED) {
        stream->spins = false; /* the call has ended, without a message, or its end may be lost */
        return;
    }
    if (id != EVENT_SEND && id != EVENT_SENDCALL && id != EVENT_RECEIVE && id != EVENT_RECEIVECALL)
        return;
    const struct path_record *path =
        identities_path(history->identities, stream->origin, record->message.path);
    if (path != NULL && path->kind == PATH_MPI)
        stream->spins = id == EVENT_RECEIVECALL || id == EVENT_SENDCALL;
}

/* Without the CPU time that it spun. */
static uint64_t working_time(const struct history *history, struct stream *stream,
                             const struct record *record)
{
    uint64_t before = stream->proc_time;
    uint64_t now = unwrap_proc_time(stream, &record->header), used = now - before;

    if (!history->has_mpi)
        return now;
    if (block_is_of_mpi(record))
        stream->spun += block_spun(record) < used ? block_spun(record) : used;
    else if (stream->spins)
        stream->spun += used;
    note_spinning(history, stream, record);
    return now - stream->spun;
}

static int hand_out_creation(struct history *history, const struct stream *stream,
                             const struct record *record, struct history_event *event)
{
    uint32_t found =
        lookup_find(&history->stream_numbers, number_key(stream->origin, record->create.child));

    if (found == LOOKUP_NONE)
        return 0;
    struct stream *child = pool_at(&history->streams, found);
    if (child->creation != CREATION_NOTED || child->creator.stream != stream->number ||
        child->creator.sequence != record->header.sequence)
        return 0;
    child->creation = CREATION_HANDED;
    if (child->waits == WAITS_CREATION)
        holding_wake(history, child);
    return values_begin_at(history, &child->creator, event);
}

int streams_hand_out(struct history *history, struct stream *stream, const struct record *record,
                     struct history_event *event)
{
    int result = 0;

    event->proc_time = working_time(history, stream, record);
    event->spun = stream->spun;
    stream->latest = beginning_here(event, stream, record, 0);
    if (stream->creation == CREATION_HANDED) {
        result = values_add_edge(history, EDGE_CREATION, stream->origin, &stream->creator);
        stream->creation = CREATION_UNKNOWN;
    }
    if (is_between_calls(record) && record->header.id != EVENT_SEND)
        stream->full = 0; /* it has given up the send that waited for buffer space */
    if (result == 0 && record->header.id == EVENT_BLOCK)
        result = processes_end_wait(history, stream, record);
    if (result == 0 && stream->first_wakeup != 0)
        result = wakeups_end_sleep(history, stream, record);
    if (result == 0 && record->header.id == EVENT_WAKEUP)
        result = wakeups_hand_out(history, stream, record, event);
    if (result == 0 && record->header.id == EVENT_CREATEPROCESS)
        result = hand_out_creation(history, stream, record, event);
    if (result == 0 && record->header.id == EVENT_TERMINATION && record->termination.last)
        result = processes_hand_out_end(history, stream, record, event);
    return result;
}

void streams_forget(struct history *history, struct stream *stream)
{
    flows_close_call(history, stream);
    values_spend(history, &stream->creator.value);
    wakeups_forget(history, stream);
    processes_leave(history, stream);
    *history_fade(history, stream->origin, stream->number) = stream->latest;
    lookup_remove(&history->stream_numbers, number_key(stream->origin, stream->number));
    struct stream **recent =
        &history->recent_streams[place_of_recent(stream->origin, stream->number)];
    if (*recent == stream)
        *recent = NULL;
    history->stream_count--;
    pool_give(&history->streams, stream->index);
}
