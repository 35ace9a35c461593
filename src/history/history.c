/* SPDX-License-Identifier: MIT */
/*
 * history.c: reads the sources, and hands out their records in causal order. See history_types.h.
 *
 *      source --next--> record --note--> may it be handed out? --yes--> event
 *                                           | no
 *                                        held, until something wakes its stream
 *
 * Which of several sources is read: sources.c.
 */
#include "history/arrivals.h"
#include "history/collectives.h"
#include "history/copies.h"
#include "history/ends.h"
#include "history/file_writers.h"
#include "history/flows.h"
#include "history/holding.h"
#include "history/processes.h"
#include "history/receiving.h"
#include "history/reduced.h"
#include "history/room.h"
#include "history/sources.h"
#include "history/streams.h"
#include "history/unpaired.h"
#include "history/values.h"
#include "history/wakeups.h"
#include "meter/shared/message.h"

#include <errno.h>

/* ---- handing out ---- */

#define MESSAGES (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVE))

_Static_assert(EVENT_ID_END <= 62, "each type has a bit, and sources only hand out known types");

static inline bool is_any_of(unsigned id, uint64_t event_flags)
{
    return event_flags >> (id % 64) & 1;
}

static bool has_stream(const struct record_header *header)
{
    return !(header->flags & RECORD_NO_STREAM) && header->stream != 0 &&
           is_any_of(header->id, ~(EVENT_IDENTITY_FLAGS | EVENT_FLAG(EVENT_END)));
}

/* The end at which an event happens; NULL: none, or an unknown one. */
static struct end *end_of(struct history *history, uint32_t origin, const struct record *record)
{
    const uint64_t at_ends = MESSAGES | EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_CONNECT) |
                             EVENT_FLAG(EVENT_ACCEPT) | EVENT_FLAG(EVENT_CONNECTFAILED);

    return is_any_of(record->header.id, at_ends) ? ends_find(history, origin, record->message.path)
                                                 : NULL;
}

/* Events without a stream that refer to an end. */
#define OF_ENDS                                                                                    \
    (EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_DROPPED) | EVENT_FLAG(EVENT_NETWORK) |     \
     EVENT_FLAG(EVENT_DESTROYPATH) | EVENT_FLAG(EVENT_CONNECTFAILED))

static struct end *end_without_stream(struct history *history, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (record->header.id == EVENT_PATH)
        return ends_find(history, event->origin, ((const struct path_record *)event->header)->path);
    return is_any_of(record->header.id, OF_ENDS)
               ? ends_find(history, event->origin, record->message.path)
               : NULL;
}

/* Fills in the indexes by which an analysis finds its own state of the stream and the end. */
static void note_places(struct history *history, const struct stream *stream, const struct end *end,
                        struct history_event *event)
{
    if (end == NULL && event->event.header->id == EVENT_DESTROYPATH)
        end = end_without_stream(history, &event->event);
    if (stream == NULL && record_is_of_stream(event->event.header))
        stream = streams_find(history, event->event.origin, event->event.header->stream);
    /* analyses know one receiver of a sender; a further one seems to have an unknown partner */
    event->joined = end != NULL && end->partner != NULL && !end->partner->is_copy;
    event->not_found = end != NULL && unpaired_may_be_partners(history, end);
    event->stream_place = stream == NULL ? 0 : stream->index + 1;
    event->end_place = end == NULL ? 0 : end->index + 1;
    event->partner_place = event->joined ? end->partner->index + 1 : 0;
}

static int hand_out_arrival(struct history *history, struct end *end, const struct record *record)
{
    int result = end == NULL ? 0 : arrivals_note(history, end, record);

    return result < 0 || end == NULL || !history->follows_queues
               ? result
               : flows_arrive(history, end, record);
}

static void note_hook(const struct record *cost, uint64_t records, struct hook_cost *hook)
{
    uint64_t time = cost->cost.hook * records;

    if (cost->cost.hook == 0)
        return;
    hook->each = cost->cost.hook;
    hook->records = records;
    if (time > hook->time)
        hook->time = time;
}

/* A recorder that has not looked for records yet has only loaded the meter. */
static void note_cost(struct origin *origin, const struct record *cost)
{
    if (cost->cost.wakeups == 0)
        origin->load = *cost;
    origin->cost = *cost;
    note_hook(cost, origin->made, &origin->hook);
}

/* Hands out an event; its message edges, if any, are in history->edges. */
static int hand_out(struct history *history, struct stream *stream, struct end *end,
                    const struct event *event, struct history_event *ret_event)
{
    const struct record *record = (const struct record *)event->header;
    unsigned id = record->header.id;
    uint64_t span = is_any_of(id, MESSAGES) ? message_span(record) : 0;
    int result = 0;

    ret_event->event = *event;
    ret_event->number = history->counts.events++;
    ret_event->when = record->header.time > span ? record->header.time - span : 0;
    ret_event->came =
        id == EVENT_RECEIVE && end != NULL && end_receives_from_elsewhere(history, end)
            ? arrivals_of_all(end, record)
        : id == EVENT_SEND && history->follows_queues ? 0
                                                      : record->header.time;
    if (id == EVENT_RECEIVE && end != NULL)
        arrivals_take(end, record);
    if (stream != NULL)
        result = streams_hand_out(history, stream, record, ret_event);
    if (result == 0 && stream != NULL && is_of_collective(record))
        result = collectives_hand_out(history, stream, record, ret_event);
    if (result == 0 && stream != NULL && id == EVENT_WRITE)
        result = file_writers_hand_out_write(history, stream, record, ret_event);
    if (result == 0 && stream != NULL && id == EVENT_READ)
        result = file_writers_hand_out_read(history, stream, record);
    if (result == 0 && id == EVENT_SEND && end != NULL)
        result = flows_hand_out_send(history, end, record, ret_event);
    if (result == 0 && id == EVENT_SENDCALL && end != NULL && stream != NULL)
        result = flows_hand_out_sendcall(history, end, stream, record, ret_event);
    if (result == 0 && end != NULL && stream != NULL)
        result = room_hand_out(history, end, stream, record, ret_event);
    if (result == 0 && id == EVENT_MESSAGEQUEUED)
        result = hand_out_arrival(history, end, record);
    note_places(history, stream, end, ret_event);
    if (id == EVENT_COST)
        note_cost(&history->origins[event->origin], record);
    if (id == EVENT_LOST)
        history->counts.lost += record->lost.count;
    if (id == EVENT_DISCARDED)
        history->counts.discarded += record->lost.count;
    ret_event->edges = history->edges;
    ret_event->edge_count = history->edge_count;
    ret_event->whole = history->whole;
    ret_event->whole_count = history->whole_count;
    return result;
}

static int look_at_end(struct history *history, struct stream *stream, const struct end *end,
                       const struct record *record, bool forced)
{
    struct process *process;
    int result = room_look_at_end(history, end, stream, record, forced, &process);

    if (result == 0)
        holding_wait(stream, WAITS_TERMINATION, &process->waiters);
    return result;
}

/* Whether the stream's next record can be handed out. 1: yes; 0: the stream waits now; -ENOMEM. */
static int look(struct history *history, struct stream *stream, struct end *end,
                const struct record *record, bool forced, struct history_event *event)
{
    struct process *process;
    struct stream *waker, **waiters;
    struct wait wait;

    history->edge_count = 0;
    if (!forced && streams_wait_for_creation(stream)) {
        holding_wait(stream, WAITS_CREATION, NULL);
        return 0;
    }
    if (!forced && processes_wait_for_end(history, stream, record, &process)) {
        holding_wait(stream, WAITS_TERMINATION, &process->waiters);
        return 0;
    }
    if (!forced && stream->first_wakeup != 0 && wakeups_wait(history, stream, record, &waker)) {
        holding_wait_wakeup(history, stream, waker);
        return 0;
    }
    if (!forced && collectives_wait_for_machines(history, stream, record, &wait))
        return holding_wait_bytes(history, stream, NULL, &wait);
    if (!forced && (file_writers_wait(history, stream, record, &waiters) ||
                    collectives_wait(history, stream, record, &waiters))) {
        holding_wait_write(history, stream, waiters);
        return 0;
    }
    if (record->header.id != EVENT_RECEIVE)
        return 1;
    int result = receiving_look(history, end, record, stream->origin, forced, &wait, event);
    if (result > 0 && (record->header.flags & RECORD_END_OF_FILE))
        return look_at_end(history, stream, end, record, forced);
    return result != 0 ? result : holding_wait_bytes(history, stream, end, &wait);
}

/* To be called when nothing of the stream may be held any more. */
static void settle(struct history *history, struct stream *stream)
{
    if (stream->held_count > 0 || stream->waits != WAITS_NOT)
        return;
    holding_wake_all(history, &stream->waiters);
    if (stream->terminated)
        streams_forget(history, stream);
}

static int hand_out_streamless(struct history *history, const struct held *held,
                               struct history_event *ret_event)
{
    const struct event event = {&held->record.header, held->origin, held->wall_offset};

    *ret_event = (struct history_event){0};
    history->edge_count = 0;
    int result = hand_out(history, NULL, end_without_stream(history, &event), &event, ret_event);
    return result < 0 ? result : SOURCE_RECORD;
}

/* A closed end is forgotten once its DESTROYPATH was handed out. */
static void settle_end(struct history *history, const struct event *event)
{
    struct end *end = end_without_stream(history, event);

    if (end != NULL)
        ends_settle(history, end);
}

/* Hands out a record that holding_keep has kept. */
static int hand_out_kept(struct history *history, const struct held *kept,
                         struct history_event *ret_event)
{
    struct end *end = ends_find(history, kept->origin, kept->record.message.path);
    int result = hand_out_streamless(history, kept, ret_event);

    if (end != NULL)
        holding_forget_kept(history, end);
    return result;
}

/* The first held record of a stream was handed out: continues with the next one. */
static void go_on_holding(struct history *history, struct stream *stream)
{
    holding_remove_first(history, stream);
    if (stream->held_count > 0)
        holding_ready(history, stream);
    else
        settle(history, stream);
}

/* Hands out the first held record of a stream, if possible. Returns SOURCE_RECORD; 0: not now; or -ENOMEM. */
static int hand_out_held(struct history *history, struct stream *stream, bool forced,
                         struct history_event *ret_event)
{
    const struct held *held = holding_first(history, stream);

    if (held == NULL)
        return 0;
    if (held->record.header.flags & RECORD_NO_STREAM) {
        int result = hand_out_kept(history, held, ret_event);
        if (result == SOURCE_RECORD)
            go_on_holding(history, stream);
        return result;
    }
    struct end *end = end_of(history, stream->origin, &held->record);
    /* older records of the same end without a stream go first */
    if (end != NULL && held->record.header.id == EVENT_RECEIVE &&
        holding_release_older(history, end, &held->record)) {
        holding_ready(history, stream);
        return 0;
    }
    *ret_event = (struct history_event){0};
    int result = look(history, stream, end, &held->record, forced, ret_event);
    if (result <= 0)
        return result;
    const struct event event = {&held->record.header, stream->origin, held->wall_offset};
    ret_event->no_cpu = held->no_cpu;
    ret_event->runnable = held->runnable;
    result = hand_out(history, stream, end, &event, ret_event);
    if (result < 0)
        return result;
    if (event.header->id == EVENT_DESTROYPATH)
        settle_end(history, &event);
    go_on_holding(history, stream);
    return SOURCE_RECORD;
}

/* ---- noting ---- */

static bool leads_ahead(const struct stream *stream)
{
    return stream->held_count > 0 || stream->waits != WAITS_NOT;
}

static int note_message(struct history *history, struct stream *stream, struct end *end,
                        const struct record *record)
{
    int result;

    if (end == NULL) { /* its PATH was lost, so its receiver is unknown */
        history->counts.unmatched_sends += record->header.id == EVENT_SEND;
        return 0;
    }
    switch (record->header.id) {
    case EVENT_SEND:
        /* it reports bytes that were sent before, and perhaps received */
        if (!has_stream(&record->header))
            return 0;
        result = flows_note_send(history, end, stream, record);
        return result < 0 || end->sharing == NULL ? result
                                                  : copies_note_send(history, end, stream, record);
    case EVENT_SENDCALL:
        return stream == NULL ? 0 : flows_note_sendcall(history, end, stream, record);
    default:
        return flows_note_receive(history, end, stream, record);
    }
}

/* A file has no end here, only a name. */
static void forget_file(struct history *history, uint32_t origin, uint32_t number)
{
    const struct path_record *path = identities_path(history->identities, origin, number);

    if (path != NULL && path->kind == PATH_FILE)
        identities_fade_path(history->identities, origin, number);
}

static int note_event(struct history *history, struct stream *stream, struct end *end,
                      uint32_t number, const struct record *record)
{
    struct origin *origin = &history->origins[number];
    unsigned id = record->header.id;
    int result = 0;

    if (is_any_of(id, MESSAGES))
        result = note_message(history, stream, end, record);
    if (id == EVENT_WAKEUP)
        result = wakeups_note(history, number, record);
    if (id == EVENT_SCHEDULE)
        streams_note_schedule(history, number, record);
    if (result == 0 && stream != NULL)
        result = streams_note(history, stream, record);
    if (result == 0 && stream != NULL && is_of_collective(record))
        result = collectives_note(history, stream, record);
    if (result == 0 && stream != NULL && is_of_file(record))
        result = file_writers_note(history, stream, record);
    /* a RECEIVE may wait for this SEND, even while the SEND itself is held */
    if (result == 0 && id == EVENT_SEND && stream != NULL && leads_ahead(stream) && end != NULL &&
        end->partner != NULL) {
        holding_wake_all(history, &end->partner->waiters);
        copies_wake(history, end);
    }
    if (id == EVENT_DISCARDED)
        origin->discards = true;
    if (id == EVENT_LOST) {
        origin->loses = true;
        origin->skips = origin->skips || record->lost.reason == LOST_SKIPPED;
    }
    if (id == EVENT_DISCARDED || id == EVENT_LOST) {
        origin->gap_time = record->header.time;
        holding_wake_origin(history, origin);
    }
    if (id == EVENT_DESTROYPATH) {
        end = ends_find(history, number, record->message.path);
        if (end != NULL)
            ends_note_destroyed(history, end);
        else
            forget_file(history, number, record->message.path);
    }
    return result;
}

/* Whether a record without a stream must wait. 0: no; 1: it is kept now; or -ENOMEM. */
static int keep(struct history *history, struct end *end, const struct event *event)
{
    const uint64_t wait = EVENT_FLAG(EVENT_DESTROYPATH) | EVENT_FLAG(EVENT_MESSAGEQUEUED);

    if (!is_any_of(event->header->id, wait) || end == NULL || end->held == 0)
        return 0;
    return holding_keep(history, end, event) < 0 ? -ENOMEM : 1;
}

static int note_identity(struct history *history, const struct event *event)
{
    int result = identities_add(history->identities, event);

    if (result < 0)
        return result;
    switch (event->header->id) {
    case EVENT_MACHINE:
        return ends_note_machine(history, event->origin,
                                 (const struct machine_record *)event->header);
    case EVENT_FLAGS:
        ends_note_flags(history, event->origin, event->header);
        return 0;
    case EVENT_STREAM:
        return event->header->stream == 0
                   ? 0
                   : streams_note_identity(history, event->origin,
                                           (const struct stream_record *)event->header);
    case EVENT_NAME:
        history->has_mpi =
            history->has_mpi || ((const struct name_record *)event->header)->what == WAIT_ON_MPI;
        return 0;
    case EVENT_PATH:
        history->has_mpi =
            history->has_mpi || ((const struct path_record *)event->header)->kind == PATH_MPI;
        return ends_note_path(history, event->origin, (const struct path_record *)event->header);
    default:
        return 0;
    }
}

/* ---- one record of a source ---- */

/* A RECEIVE without a stream is matched with what is there. */
static int look_at_streamless(struct history *history, struct end *end, const struct event *event,
                              struct history_event *ret_event)
{
    const struct record *record = (const struct record *)event->header;
    struct wait wait;

    if (record->header.id != EVENT_RECEIVE)
        return 1;
    return receiving_look(history, end, record, event->origin, true, &wait, ret_event);
}

/* Losses of an ended stream are reported after its end, and make no new stream. */
static bool is_of_nobody(const struct history *history, uint32_t origin,
                         const struct record_header *header)
{
    return (header->id == EVENT_LOST || header->id == EVENT_DISCARDED) &&
           !streams_is_known(history, origin, header->stream);
}

/* Returns SOURCE_RECORD; 0: it is held; or -ENOMEM. */
static int take_record(struct history *history, const struct event *event,
                       struct history_event *ret_event)
{
    const struct record *record = (const struct record *)event->header;
    struct stream *stream = NULL;
    int result;

    *ret_event = (struct history_event){0};
    history->edge_count = 0;
    if (is_any_of(record->header.id, EVENT_IDENTITY_FLAGS | EVENT_FLAG(EVENT_FLAGS))) {
        result = note_identity(history, event);
        if (result == 0)
            result = hand_out(history, NULL, end_without_stream(history, event), event, ret_event);
        return result < 0 ? result : SOURCE_RECORD;
    }
    if (has_stream(&record->header) && !is_of_nobody(history, event->origin, &record->header)) {
        stream = streams_find_or_add(history, event->origin, record->header.stream);
        if (stream == NULL)
            return -ENOMEM;
    }
    struct end *end = end_of(history, event->origin, record);
    result = note_event(history, stream, end, event->origin, record);
    if (result < 0)
        return result;
    if (end != NULL && end->number != record->message.path) /* forgotten, as it was closed */
        end = NULL;
    if (stream != NULL && leads_ahead(stream))
        return holding_add(history, stream, event);
    if (stream != NULL) {
        ret_event->no_cpu = stream->no_cpu;
        ret_event->runnable = stream->cpu_wait.count;
    }
    if (stream == NULL && end == NULL)
        end = end_without_stream(history, event);
    if (stream == NULL && (result = keep(history, end, event)) != 0)
        return result < 0 ? result : 0;
    result = stream == NULL ? look_at_streamless(history, end, event, ret_event)
                            : look(history, stream, end, record, false, ret_event);
    if (result == 0)
        return holding_add(history, stream, event);
    if (result > 0)
        result = hand_out(history, stream, end, event, ret_event);
    if (result < 0)
        return result;
    if (stream != NULL)
        settle(history, stream);
    if (record->header.id == EVENT_DESTROYPATH)
        settle_end(history, event);
    return SOURCE_RECORD;
}

#define LOOK_EACH 64 /* records */

/* The recorder makes the others itself. */
static bool is_made_in_kernel(unsigned id)
{
    return event_is_metered(id) || id == EVENT_STREAM || id == EVENT_PATH || id == EVENT_IMAGE;
}

/* Reads one record. Returns SOURCE_RECORD if it was handed out, 0 if there is more to do, or an error. */
static int read_one(struct history *history, struct origin *origin, struct history_event *ret_event)
{
    const struct event whole = sources_take(history, origin);
    const struct event event = reduced_take(history, origin, &whole);

    origin->records++;
    origin->made += is_made_in_kernel(event.header->id);
    if (history->impatient > 0 && ++history->since_looked >= LOOK_EACH) {
        history->since_looked = 0;
        holding_wake_impatient(history);
    }
    return take_record(history, &event, ret_event);
}

/* ---- when nothing can proceed ---- */

/* Everything is read: ends waits for a creation, or for a child's termination, that was not recorded. */
static bool release_others(struct history *history)
{
    bool released = false;

    for (uint32_t i = 0; i < history->streams.used; i++) {
        struct stream *stream = pool_at(&history->streams, i);
        if (stream->waits == WAITS_CREATION || stream->waits == WAITS_TERMINATION) {
            stream->creation = CREATION_UNKNOWN;
            processes_give_up(history, stream);
            holding_wake(history, stream);
            released = true;
        }
    }
    return released;
}

/* The stream that waits longest for a WAKEUP, or for a WRITE, gives up. This breaks a cycle: a RECEIVE that waits for all possible
 * senders may be waiting for one that its own stream has woken. */
static bool release_woken(struct history *history)
{
    struct stream *stream = history->for_wakeups.oldest;

    if (stream == NULL)
        return false;
    const struct record *record = &holding_first(history, stream)->record;
    if (!file_writers_give_up(history, stream, record) &&
        !collectives_give_up(history, stream, record))
        wakeups_give_up(history, stream, record);
    holding_wake(history, stream);
    return true;
}

/* Releases the RECEIVE that waits longest. Returns SOURCE_RECORD; 0: there is none; or -ENOMEM. */
static int release_oldest(struct history *history, struct history_event *ret_event)
{
    struct stream *stream = history->for_bytes.oldest;

    if (stream == NULL)
        return 0;
    const struct held *held = holding_first(history, stream);
    const struct end *end = held->record.header.id == EVENT_RECEIVE
                                ? ends_find(history, stream->origin, held->record.message.path)
                                : NULL;
    /* with an unmonitored sender, missing proof is no sign of a loss */
    bool is_stall = end != NULL && end->partner != NULL;
    holding_wake(history, stream);
    while (holding_take_ready(history) != stream)
        ;
    int result = hand_out_held(history, stream, true, ret_event);
    history->counts.stalls += result == SOURCE_RECORD && is_stall;
    return result;
}

/* Results of go_on(), besides 0 (there is more to do), SOURCE_RECORD and errors. */
enum { NOTHING_YET = SOURCE_NONE_YET, NOTHING_LEFT };

static int go_on(struct history *history, struct history_event *ret_event, struct problem *problem)
{
    const struct held *released = holding_take_released(history);

    if (released != NULL)
        return hand_out_kept(history, released, ret_event);
    struct stream *ready = holding_take_ready(history);
    if (ready != NULL)
        return hand_out_held(history, ready, false, ret_event);
    if (history->held_count >= HELD_FOR_WAKEUPS && release_woken(history))
        return 0;
    if (history->held_count >= HELD_MOST && history->for_bytes.oldest != NULL)
        return release_oldest(history, ret_event);
    struct origin *origin;
    uint32_t ended = history->ended_count;
    int result = sources_choose(history, &origin, problem);
    if (result < 0)
        return result;
    if (origin != NULL)
        return read_one(history, origin, ret_event);
    if (history->ended_count > ended)
        return 0; /* its end may have woken streams */
    if (history->ended_count < history->origin_count || history->expects)
        return NOTHING_YET;
    if (release_woken(history))
        return 0;
    if (history->for_bytes.oldest != NULL)
        return release_oldest(history, ret_event);
    return release_others(history) ? 0 : NOTHING_LEFT;
}

#define ASK_EACH 256 /* events: then live sources that had nothing are asked again */

int history_next(struct history *history, struct history_event *ret_event, struct problem *problem)
{
    int result;

    values_give_spent(history);
    history->whole_count = 0;
    if (history->handed != 0) {
        pool_give(&history->held, history->handed - 1);
        history->handed = 0;
    }
    if (history->counts.events % ASK_EACH == 0)
        sources_ask_again(history);
    do
        result = go_on(history, ret_event, problem);
    while (result == 0);
    if (result == NOTHING_YET)
        sources_ask_again(history);
    if (result == -ENOMEM)
        return problem_set(problem, result, "out of memory");
    if (result != NOTHING_LEFT)
        return result;
    if (!history->finished)
        ends_finish(history);
    history->finished = true;
    return SOURCE_END;
}

const struct identities *history_identities(const struct history *history)
{
    return history->identities;
}

void history_find_rooms(struct history *history)
{
    history->finds_rooms = true;
}

void history_follow_queues(struct history *history)
{
    history->follows_queues = true;
}

uint32_t history_machine(const struct history *history, uint32_t origin)
{
    return history->origins[origin].machine;
}

struct identities *history_share_identities(struct history *history)
{
    return history->identities;
}

const struct hook_cost *history_hook_cost(const struct history *history, uint32_t origin)
{
    return &history->origins[origin].hook;
}

void own_cost_add(struct own_cost *sum, const struct record *cost, const struct record *load,
                  const struct hook_cost *hook, uint64_t records)
{
    if (cost->header.id != EVENT_COST)
        return;
    if (load->header.id == EVENT_COST && load->cost.cpu <= cost->cost.cpu) {
        sum->loads++;
        sum->load += load->cost.cpu;
    }
    sum->recordings++;
    sum->cpu += cost->cost.cpu;
    sum->wakeups += cost->cost.wakeups;
    sum->records += records;
    sum->hook_records += hook->records;
    sum->hook += hook->time;
}

void history_counts(const struct history *history, struct history_counts *ret_counts)
{
    *ret_counts = history->counts;
    ret_counts->held = history->held_events;
    for (uint32_t i = 0; i < history->origin_count; i++) {
        const struct origin *origin = &history->origins[i];
        struct hook_cost hook = origin->hook;
        if (hook.records > 0 && origin->ended && source_is_whole(origin->source->states))
            note_hook(&origin->cost, origin->made, &hook); /* its last COST is of all */
        own_cost_add(&ret_counts->own_cost, &origin->cost, &origin->load, &hook, origin->records);
        ret_counts->has_rules = ret_counts->has_rules || origin->recorded.rules > 0;
    }
}

bool history_lacks_cpu_time(const struct history *history, uint32_t origin)
{
    const struct history_lacking *lacking = &history->origins[origin].lacking;
    const struct machine_record *machine = identities_machine(history->identities, origin);

    return machine != NULL && machine->meter == METER_OTHER && lacking->untimed > 0 &&
           lacking->timed == 0;
}

const struct source_state *history_state(const struct history *history, uint32_t origin)
{
    return history->origins[origin].source->states;
}

bool history_peer_not_found(const struct history *history, uint32_t origin, uint32_t path)
{
    const struct end *end = ends_find((struct history *)(uintptr_t)history, origin, path);

    return end != NULL && unpaired_may_be_partners(history, end);
}

const struct history_lacking *history_lacking(const struct history *history, uint32_t origin)
{
    return &history->origins[origin].lacking;
}
