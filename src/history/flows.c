/* SPDX-License-Identifier: MIT */
/*
 * flows.c: what one end sends: the SENDs in flight, by position.
 *
 *      position  0        10       25        40      60 = out_end
 *                | SEND 0 | SEND 1 | SEND 2  | SEND 3 |.......... |
 *                |<------ received ----->|<-- left -->|<- ahead ->|
 *                                                       sent according to a SENDCALL, and received
 *
 * A received SEND is freed, unless it still counts for the order of others.
 *
 * Example, a TCP connection that two streams write to:
 *
 *      stream 1   SEND [0,60)         left 60
 *      stream 2   SENDCALL [60,100)   its call goes on; [60,100) can already be received
 *      peer       RECEIVE [0,80)      two edges: 60 bytes from the SEND (left 0, freed), 20 from the SENDCALL;
 *                                     [60,80) is noted as received ahead of its SEND
 *      stream 2   SEND [60,110)       the call ends: left 50 - 20 = 30
 */
#include "history/flows.h"

#include "history/arrivals.h"
#include "history/copies.h"
#include "history/ends.h"
#include "history/holding.h"
#include "history/positions.h"
#include "history/receiving.h"
#include "history/streams.h"
#include "history/unpaired.h"
#include "history/values.h"
#include "meter/shared/message.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* ---- noting ---- */

/* Whether the span of this record begins with its call, and not only with the first byte in the queue. */
static bool span_is_whole_call(const struct history *history, const struct stream *stream,
                               const struct record *record)
{
    bool sends = record->header.id == EVENT_SEND;

    if (history->origins[stream->origin].meter == METER_PTRACE)
        return sends;
    return (sends || record->header.id == EVENT_SENDCALL) &&
           (record->header.flags & RECORD_WHOLE_CALL);
}

/* The call that this record ends, or is in the middle of, began no earlier than this. */
static uint64_t began_of(const struct history *history, const struct stream *stream,
                         const struct record *record, uint64_t known)
{
    uint64_t time = record->header.time;
    uint64_t began =
        span_is_whole_call(history, stream, record) ? time - message_span(record) : known;

    return began < time ? began : time;
}

/* A single sender needs no list; the second one makes a list of both. */
static int note_sender(struct history *history, struct end *end, const struct stream *stream)
{
    struct who who = who_is(stream);
    struct who before = end->sender;

    end->sender = who;
    end->sender_number = stream->number;
    if (is_same_who(before, who) || !end->counted)
        return 0;
    if (before.life == 0)
        return 0;
    struct sharing *sharing = sharing_of(end);
    if (sharing == NULL)
        return -ENOMEM;
    end->several = true;
    if (sharing->sender_count == 0 &&
        sharing_add_who(history, &sharing->senders, &sharing->sender_count,
                        &sharing->sender_capacity, before) < 0)
        return -ENOMEM;
    return sharing_add_who(history, &sharing->senders, &sharing->sender_count,
                           &sharing->sender_capacity, who);
}

/* Senders of IPv4 may use no identifications. Numbers that differ by a multiple of 65,536 are then counted, not read
 * from the packets, and neither is certain between machines. */
static void note_repeated(struct end *end, struct sent *sent)
{
    if (end->kind != PATH_UDP || !end->has_sent || (uint16_t)(sent->position - end->out_last) != 0)
        return;
    sent->repeated = true;
    if (end->sends.first < end->sends.end)
        end->sends.at[end->sends.end - 1].repeated = true;
}

/* With UDP_SEGMENT the kernel cuts one send into datagrams. The first gets an IPv4 identification, the others the
 * following ones, which the next send uses again. */
static void note_cut(struct end *end, const struct record *record)
{
    if (end->kind == PATH_UDP && end->record->family == AF_INET &&
        (record->header.flags & RECORD_CONTINUED))
        end->repeats = true;
}

/* Whether some that happen there are not recorded: a flag or the kind was off. */
static bool end_receives_partly(const struct history *history, const struct end *end)
{
    const struct origin *origin = &history->origins[end->origin];

    return origin->receives_partly || (origin->kinds_partly & METER_KIND_OF(end->kind)) != 0;
}

/* Whether a RECEIVE may still come for what it sends. If not, *ret_count is the count to increment. */
static bool keeps_sends(struct history *history, const struct end *end, uint64_t **ret_count)
{
    const struct end *partner = end->partner;

    *ret_count = unpaired_may_be_partners(history, end) ? &history->counts.not_found
                                                        : &history->counts.external;
    if (partner == NULL)
        return !end_leads_away(history, end) || unpaired_are_kept(history, end);
    if (history->origins[partner->origin].leaves_out_receives)
        return false;
    *ret_count = end_receives_partly(history, partner) || history->origins[partner->origin].discards
                     ? &history->counts.unselected
                     : &history->counts.unmatched_sends;
    return !history->origins[partner->origin].ended || partner->held > 0;
}

static void count_in(struct history *history, struct end *end)
{
    if (end->partner == NULL) {
        history->unjoined_sends++;
    } else if (end->partner->origin != end->origin) {
        history->origins[end->origin].in_flight++;
    }
}

static void count_out(struct history *history, struct end *end, uint32_t count)
{
    if (end->partner == NULL)
        history->unjoined_sends -= end->is_unjoined ? count : 0;
    else if (end->partner->origin != end->origin)
        history->origins[end->origin].in_flight -= count;
}

#define SPARE_MOST 64u /* SENDs that wait for a further receiver of copies */

/* Limits SENDs that may have no metered receiver: the other end is unknown, or an unmonitored process reads from it. */
static void limit_sends(struct history *history, struct end *end)
{
    uint32_t most = end->partner != NULL ? IN_FLIGHT_MOST
                    : end->is_copy       ? SPARE_MOST
                                         : UNJOINED_MOST;

    if (sends_count(&end->sends) > most && (end->partner == NULL || end->partner->held == 0))
        flows_drop_first(history, end);
    if (history->unjoined_sends > UNJOINED_MOST_ALL) {
        struct end *oldest = ends_first(history, ENDS_UNJOINED);
        flows_drop_first(history, oldest);
        ends_settle(history, oldest);
    }
}

/* Counts a SEND that will not be received. */
static void count_dropped(struct history *history, const struct end *end, const struct sent *sent)
{
    if (sent->left == 0 || end->is_copy)
        return;
    if (end->partner == NULL && unpaired_may_be_partners(history, end))
        history->counts.not_found++;
    else if (end->partner == NULL || history->origins[end->partner->origin].leaves_out_receives)
        history->counts.external++;
    else if (history->origins[end->partner->origin].discards ||
             end_receives_partly(history, end->partner))
        history->counts.unselected++;
    else
        history->counts.unmatched_sends++;
}

static void drop(struct history *history, struct end *end, const struct sent *sent)
{
    count_dropped(history, end, sent);
    if (sent->position + sent_length(end, sent) > end->forgotten)
        end->forgotten = sent->position + sent_length(end, sent);
}

/* No recorded program produces positions that far out of order. Keeping them sorted would take quadratic time, and what
 * they say about others is not to be trusted either. */
static void leave_out(struct history *history, struct end *end, const struct sent *sent)
{
    drop(history, end, sent);
    end->disordered = end->packets = true;
}

/* Keeps a SEND until all of it has been received, within the limits. */
static int keep_send(struct history *history, struct end *end, const struct sent *sent)
{
    int64_t index = sends_insert(&history->sends, &end->sends, sent);

    if (index == -ERANGE) {
        leave_out(history, end, sent);
        return 0;
    }
    if (index < 0)
        return -ENOMEM;
    if (index < (int64_t)end->sends.first + end->done)
        end->done = (uint32_t)index - end->sends.first;
    count_in(history, end);
    if (end->counted && sends_count(&end->sends) > 1 && end->partner != NULL)
        sends_compare_order(end, &end->sends, (uint32_t)index);
    limit_sends(history, end);
    return 0;
}

int flows_keep_copy(struct history *history, struct end *end, const struct sent *sent)
{
    if (!end->is_unjoined && end->partner == NULL)
        ends_list_unjoined(history, end);
    return keep_send(history, end, sent);
}

/* What was sent before has been received without a record, and its positions are used again. */
static void begin_anew(struct history *history, struct end *end, uint64_t position)
{
    flows_drop_all(history, end);
    end->out_end = end->forgotten = position;
}

int flows_note_send(struct history *history, struct end *end, struct stream *stream,
                    const struct record *record)
{
    uint32_t bytes = length_of(end->kind, record->message.bytes);
    uint64_t position = unwrap(end->out_last, record->message.offset);
    uint64_t *lost_at;
    struct sent sent = {
        .position = position,
        .number = NO_NUMBER,
        .path = end->number,
        .time = record->header.time,
        .began =
            stream == NULL || !(end->counted || end->kind == PATH_UDP)
                ? record->header.time
                : began_of(history, stream, record, stream_call_began(history, stream, record)),
        .bytes = record->message.bytes,
        .left = bytes,
        .concurrent = (record->header.flags & RECORD_CONCURRENT) != 0,
        .doubtful = is_doubtful(end, record),
        .stream = stream == NULL ? 0 : record->header.stream,
        .sequence = record->header.sequence,
    };

    if (stream != NULL && stream->open == end)
        flows_close_call(history, stream);
    if (stream != NULL && note_sender(history, end, stream) < 0)
        return -ENOMEM;
    note_repeated(end, &sent);
    note_cut(end, record);
    end->out_last = position;
    end->out_time = record->header.time;
    if (bytes == 0)
        return 0;
    if (sends_count_anew(end, &sent))
        begin_anew(history, end, position);
    end->has_sent = true;
    unpaired_note(history, end);
    if (position + bytes > end->out_end)
        end->out_end = position + bytes;
    if (end->partner != NULL)
        end->partner->external = false;
    if (!keeps_sends(history, end, &lost_at)) {
        *lost_at += !end->is_copy;
        return 0;
    }
    if (end->sharing != NULL && end->sharing->ahead_count > 0) {
        int64_t taken = sharing_take_back(history, end->sharing, position, position + bytes);
        if (taken < 0)
            return (int)taken;
        sent.left -= (uint32_t)taken;
    }
    if (!end->is_unjoined && end->partner == NULL)
        ends_list_unjoined(history, end);
    return keep_send(history, end, &sent);
}

/* A stream in a send call is metered, even if it has sent nothing yet. */
static void note_metered_sender(struct end *end, const struct stream *stream)
{
    if (end->sender.life == 0) {
        end->sender = who_is(stream);
        end->sender_number = stream->number;
    }
    if (end->partner != NULL)
        end->partner->external = false;
}

/* How many bytes of a SENDCALL belong to its own call, at most. In the kernel, a pipe does not say which call wrote its
 * bytes: SENDCALL reports all that were written since the call first slept. Other calls that have ended meanwhile have
 * reported their part of these. */
static uint32_t own_bytes(const struct history *history, const struct end *end, uint64_t to,
                          uint32_t bytes)
{
    bool all = kind_is_pipe(end->kind) && history->origins[end->origin].meter == METER_KERNEL;
    uint64_t untold = end->out_end < to ? to - end->out_end : 0;

    return all && untold < bytes ? (uint32_t)untold : bytes;
}

/* Positions are counted when calls end, so those of a SENDCALL may meanwhile belong to other calls. Its own bytes are
 * sent in addition to all SENDs. */
int flows_note_sendcall(struct history *history, struct end *end, struct stream *stream,
                        const struct record *record)
{
    /* end of an earlier piece, if this one has sent nothing yet */
    uint64_t to = unwrap(end->out_last, record->message.offset);
    uint32_t bytes = own_bytes(history, end, to, record->message.bytes);
    uint64_t before = to - record->message.bytes; /* had been sent when the call began */

    note_metered_sender(end, stream);
    if (kind_counts_messages(end->kind) || record->message.bytes == 0)
        return 0;
    if (end->counted && before > end->out_end) /* SENDs before the call were lost */
        end->out_end = before;
    if (bytes == 0)
        return 0;
    if (stream->open != NULL && stream->open != end)
        flows_close_call(history, stream);
    if (stream->open == NULL) {
        stream->open = end;
        stream->next_open = end->opens;
        end->opens = stream;
        stream->open_began = began_of(history, stream, record, stream->began_time);
        stream->open_from = to - bytes;
        stream->open_handed_to = stream->open_from;
        stream->open_handed_bytes = 0;
        stream->open_call.number = NO_NUMBER;
    }
    if (!is_same_who(end->sender, who_is(stream)) && note_sender(history, end, stream) < 0)
        return -ENOMEM;
    stream->open_to = to;
    stream->open_bytes = bytes;
    return 0;
}

void flows_close_call(struct history *history, struct stream *stream)
{
    if (stream->open == NULL)
        return;
    for (struct stream **link = &stream->open->opens; *link != NULL; link = &(*link)->next_open)
        if (*link == stream) {
            *link = stream->next_open;
            break;
        }
    stream->open = NULL;
    stream->next_open = NULL;
    values_spend(history, &stream->open_call.value);
}

int flows_note_receive(struct history *history, struct end *end, struct stream *stream,
                       const struct record *record)
{
    uint64_t position = unwrap(end->in_last, record->message.offset);

    if (record->message.bytes == 0 && !kind_counts_messages(end->kind))
        return 0;
    end->in_last = position;
    unpaired_note(history, end);
    end->has_received = true;
    if (stream == NULL || !end->counted_in)
        return 0;
    struct sharing *sharing = sharing_of(end);
    if (sharing == NULL || sharing_add_who(history, &sharing->takers, &sharing->taker_count,
                                           &sharing->taker_capacity, who_is(stream)) < 0)
        return -ENOMEM;
    const struct sent taken = {
        .position = position,
        .number = NO_NUMBER,
        .time = record->header.time,
        .began = began_of(history, stream, record, stream_call_began(history, stream, record)),
        .bytes = record->message.bytes,
        .left = length_of(end->kind, record->message.bytes),
        .concurrent = (record->header.flags & RECORD_CONCURRENT) != 0,
        .stream = record->header.stream,
        .sequence = record->header.sequence,
    };
    int64_t index = sends_insert(&history->sends, &sharing->takes, &taken);
    if (index == -ERANGE) {
        end->doubtful = true; /* its overlaps will not be known */
        return 0;
    }
    if (index < 0)
        return -ENOMEM;
    sends_compare_order(end, &sharing->takes, (uint32_t)index);
    return 0;
}

/* ---- handing out ---- */

/* The noted SEND that is handed out now, mostly the last; NULL: it is not kept. A record has the low 32 bits of its
 * position. If all kept SENDs lie within half that range, the full position is known, and smaller ones need not be
 * looked at. */
static struct sent *find_noted(const struct sends *sends, const struct record *record,
                               uint32_t stream)
{
    uint64_t position = 0; /* not known */

    for (uint32_t i = sends->end; i > sends->first && sends->at[i - 1].position >= position; i--) {
        struct sent *sent = &sends->at[i - 1];
        if (sent->number == NO_NUMBER && sent->sequence == record->header.sequence &&
            sent->stream == stream && (uint32_t)sent->position == record->message.offset)
            return sent;
        if (i == sends->end && sent->position - sends->at[sends->first].position < INT32_MAX)
            position = unwrap(sent->position, record->message.offset);
    }
    return NULL;
}

struct sent *flows_find_noted(const struct end *end, const struct record *record)
{
    return find_noted(&end->sends, record,
                      record->header.flags & RECORD_NO_STREAM ? 0 : record->header.stream);
}

/* Looks up an earlier MESSAGEQUEUED. Its positions are in the receiving end's terms. */
static void note_come(const struct history *history, const struct end *end, struct sent *sent,
                      struct history_event *event)
{
    const struct end *partner = end->partner;
    uint32_t length = sent_length(end, sent);

    if (!history->follows_queues || partner == NULL || length == 0)
        return;
    event->came =
        arrivals_find(partner, (uint32_t)(sent->position + length - 1 - partner->in_shift));
    sent->come = event->came != 0;
}

int flows_hand_out_send(struct history *history, struct end *end, const struct record *record,
                        struct history_event *event)
{
    struct sent *sent = flows_find_noted(end, record);
    int result = 0;

    if (sent != NULL) {
        note_come(history, end, sent, event);
        event->left = sent->left;
        sent->number = event->number;
        sent->when = event->when;
        sent->proc_time = event->proc_time;
        result = values_take(history, &sent->value, event);
    }
    if (end->partner != NULL && end->partner->waiters != NULL)
        holding_wake_all(history, &end->partner->waiters);
    return result < 0 || end->sharing == NULL
               ? result
               : copies_hand_out_send(history, end, record, sent == NULL ? 0 : sent->value, event);
}

int flows_hand_out_sendcall(struct history *history, struct end *end, struct stream *stream,
                            const struct record *record, struct history_event *event)
{
    if (stream->open != end || record->message.bytes == 0)
        return 0;
    uint64_t to = unwrap(end->out_last, record->message.offset);
    if (to > stream->open_to || to < stream->open_from)
        return 0;
    stream->open_handed_to = to;
    stream->open_handed_bytes = (uint32_t)(to - stream->open_from);
    stream->open_call = beginning_here(event, stream, record, stream->open_call.value);
    if (end->partner != NULL && end->partner->waiters != NULL)
        holding_wake_all(history, &end->partner->waiters);
    return values_take(history, &stream->open_call.value, event);
}

/* ---- arrivals ---- */

int flows_note_whole(struct history *history, const struct sent *sent)
{
    if (!history->follows_queues || sent->value == 0 || sent->number == NO_NUMBER)
        return 0;
    if (array_reserve(&history->whole, &history->whole_capacity, history->whole_count + 1UL,
                      sizeof(*history->whole)) < 0)
        return -ENOMEM;
    history->whole[history->whole_count++] = values_at(history, sent->value);
    return 0;
}

static int note_arrived(struct history *history, struct sent *sent)
{
    sent->come = true;
    return flows_note_whole(history, sent);
}

/* A SEND that is not handed out yet will find its arrival later. */
static bool has_come_now(const struct sent *sent)
{
    return !sent->come && sent->number != NO_NUMBER;
}

static int datagram_arrives(struct history *history, struct end *from, uint64_t position)
{
    const struct sends *sends = &from->sends;

    for (uint32_t i = sends_search(sends, position);
         i < sends->end && sends->at[i].position == position; i++)
        if (has_come_now(&sends->at[i]))
            return note_arrived(history, &sends->at[i]);
    return 0;
}

/* Handles all SENDs up to this position. */
static int bytes_arrive(struct history *history, struct end *from, uint64_t up_to)
{
    const struct sends *sends = &from->sends;
    int result = 0;

    for (uint32_t i = sends_search(sends, up_to);
         result == 0 && i > sends->first && !sends->at[i - 1].come; i--) {
        struct sent *sent = &sends->at[i - 1];
        if (has_come_now(sent) && sent->position + sent->bytes <= up_to)
            result = note_arrived(history, sent);
    }
    return result;
}

int flows_arrive(struct history *history, struct end *end, const struct record *record)
{
    struct end *from = end->partner;

    if (from == NULL || from->is_copy) /* analyses follow the first receiver's queue */
        return 0;
    uint64_t position = unwrap(end->in_last, record->queued.offset) + end->in_shift;
    return kind_counts_messages(end->kind)
               ? datagram_arrives(history, from, position)
               : bytes_arrive(history, from, position + record->queued.bytes);
}

/* ---- receiving and freeing ---- */

void end_done(struct end *end)
{
    free(end->sends.at);
    arrivals_free(end->arrivals);
    if (end->sharing != NULL) {
        free(end->sharing->senders);
        free(end->sharing->ahead);
        free(end->sharing->takes.at);
        free(end->sharing->takers);
        free(end->sharing->record);
        free(end->sharing);
    }
    end->sends = (struct sends){0};
    end->sharing = NULL;
    end->arrivals = NULL;
}

int flows_take(struct history *history, struct end *end, uint64_t from, uint64_t to)
{
    struct sends *sends = &end->sends;

    for (uint32_t i = sends_first_behind(end, from); i < sends->end; i++) {
        struct sent *sent = &sends->at[i];
        uint64_t sent_end = sent->position + sent_length(end, sent);
        uint64_t low = sent->position > from ? sent->position : from;
        uint64_t high = sent_end < to ? sent_end : to;
        if (sent->position >= to)
            break;
        if (low >= high || sent->left == 0)
            continue;
        sent->left -= high - low < sent->left ? (uint32_t)(high - low) : sent->left;
        if (sent->left == 0 && !end->is_copy && flows_note_whole(history, sent) < 0)
            return -ENOMEM;
    }
    if (to > end->out_end && end->opens != NULL && !kind_counts_messages(end->kind))
        return sharing_note_ahead(history, end, from > end->out_end ? from : end->out_end, to);
    if (end->kind == PATH_TCP && end->opens != NULL)
        for (const struct stream *open = end->opens; open != NULL; open = open->next_open) {
            uint64_t low = open->open_from > from ? open->open_from : from;
            uint64_t high = open->open_to < to ? open->open_to : to;
            if (low < high && sharing_note_ahead(history, end, low, high) < 0)
                return -ENOMEM;
        }
    return 0;
}

struct sent *flows_next_datagram(const struct end *end, uint64_t position, uint32_t bytes)
{
    const struct sends *sends = &end->sends;
    struct sent *first = NULL;

    for (uint32_t i = sends_search(sends, position);
         i < sends->end && sends->at[i].position == position; i++) {
        struct sent *sent = &sends->at[i];
        if (sent->left == 0 || sent->bytes < bytes)
            continue;
        if (sent->time > end->received_sent)
            return sent;
        first = first == NULL ? sent : first;
    }
    return first;
}

void flows_took(struct end *end, uint64_t position, uint32_t sequence)
{
    struct sends *takes = &end->sharing->takes;

    for (uint32_t i = sends_search(takes, position);
         i < takes->end && takes->at[i].position == position; i++)
        if (takes->at[i].sequence == sequence)
            takes->at[i].left = 0;
}

/* Whether another send or receive was in progress, possibly of a stream without a record so far. */
static bool waits_for_unknown(const struct history *history, const struct end *end,
                              const struct sent *sent)
{
    const struct origin *origin = &history->origins[end->origin];

    return sent->concurrent && origin->meter == METER_PTRACE && origin->progress != UINT64_MAX &&
           (origin->progress < sent->time || origin->progress - sent->time <= MOMENT);
}

uint64_t flows_release_takes(struct history *history, struct end *end, uint64_t up_to)
{
    struct sharing *sharing = end->sharing;

    if (sharing == NULL)
        return up_to;
    struct sends *takes = &sharing->takes;
    while (takes->first < takes->end) {
        const struct sent *first = &takes->at[takes->first];
        uint64_t reaches = first->position + sent_length(end, first) + first->after + end->in_shift;
        if (first->left > 0 || (first->after > 0 && reaches > up_to) ||
            waits_for_unknown(history, end, first) ||
            !streams_are_past(history, end, sharing->takers, sharing->taker_count, first->time,
                              false))
            break;
        takes->first++;
    }
    if (takes->first < takes->end) {
        const struct sent *first = &takes->at[takes->first];
        uint64_t begins = first->position + end->in_shift;
        /* a later one, whose call took longer, may reach further back */
        uint64_t before = takes->most_before;
        begins -= before < begins ? before : begins;
        up_to = begins < up_to ? begins : up_to;
    }
    sends_reset_if_empty(&history->sends, takes);
    return up_to;
}

/* Everything below this is received, in whatever order. The first RECEIVE that is still to be looked at, or counts
 * for others, begins here or later. */
static uint64_t received_up_to(struct history *history, struct end *end)
{
    const struct sends *sends = &end->sends;
    const struct end *partner = end->partner;

    while (end->done < sends_count(sends) && sends->at[sends->first + end->done].left == 0)
        end->done++;
    uint64_t up_to = end->done < sends_count(sends) ? sends->at[sends->first + end->done].position
                                                    : end->out_end;
    return partner == NULL || !end->counted_in ? up_to
                                               : flows_release_takes(history, end->partner, up_to);
}

static bool is_ordered(const struct end *end)
{
    return end->several ||
           (end->counted_in && end->partner != NULL && end->partner->sharing != NULL &&
            end->partner->sharing->taker_count > 1);
}

static void take_out_first(struct history *history, struct end *end)
{
    count_out(history, end, 1);
    values_spend(history, &end->sends.at[end->sends.first].value);
    end->sends.first++;
    end->done -= end->done > 0;
    if (end->sends.first == end->sends.end) {
        sends_reset_if_empty(&history->sends, &end->sends);
        end->done = 0;
        if (end->partner == NULL)
            ends_unlist_unjoined(history, end);
    }
}

/* Removes received SENDs after unreceived ones, since those may stay forever. */
static void close_gaps(struct history *history, struct end *end)
{
    struct sends *sends = &end->sends;
    uint32_t kept = sends->first;

    for (uint32_t i = sends->first; i < sends->end; i++)
        if (sends->at[i].left > 0)
            sends->at[kept++] = sends->at[i];
        else
            values_spend(history, &sends->at[i].value);
    count_out(history, end, sends->end - kept);
    sends->end = kept;
    end->done = 0;
}

/* Another stream's call, possibly not known yet, may have put its bytes after those of this one. */
static bool counts_for_others(const struct history *history, const struct end *end,
                              const struct sent *sent)
{
    if (sends_count(&end->sends) >= RETAINED_MOST)
        return false;
    return waits_for_unknown(history, end, sent) ||
           (end->several && !streams_are_past(history, end, end->sharing->senders,
                                              end->sharing->sender_count, sent->time, true));
}

#define GAPS_CLOSED_AT 64

void flows_release(struct history *history, struct end *end)
{
    struct sends *sends = &end->sends;

    if (end->counted_in || is_ordered(end)) {
        uint64_t up_to = received_up_to(history, end);
        while (sends->first < sends->end) {
            const struct sent *first = &sends->at[sends->first];
            if (first->left > 0 || counts_for_others(history, end, first) ||
                (is_ordered(end) &&
                 first->position + sent_length(end, first) + first->after > up_to))
                break;
            take_out_first(history, end);
        }
        return;
    }
    while (sends->first < sends->end && sends->at[sends->first].left == 0)
        take_out_first(history, end);
    if (sends->end == sends->capacity && sends_count(sends) >= GAPS_CLOSED_AT)
        close_gaps(history, end);
}

void flows_drop_first(struct history *history, struct end *end)
{
    drop(history, end, &end->sends.at[end->sends.first]);
    take_out_first(history, end);
}

void flows_drop_all(struct history *history, struct end *end)
{
    while (end->sends.first < end->sends.end)
        flows_drop_first(history, end);
}

#define OVERTAKEN_MOST 1024 /* overtaken datagrams that may still arrive */

/* Drops SENDs that the receiver has long passed: they will not be received, since the RECEIVE or a datagram was lost.
 * `end` receives. */
void flows_drop_old(struct history *history, struct end *end)
{
    struct end *from = end->partner;

    if (end->held > 0 || from == NULL)
        return;
    while (from->sends.first < from->sends.end) {
        const struct sent *first = &from->sends.at[from->sends.first];
        if ((end->kind == PATH_UDP && sends_count(&from->sends) <= OVERTAKEN_MOST) ||
            first->number == NO_NUMBER || counts_for_others(history, from, first) ||
            first->position + sent_length(from, first) + first->after > end->in_low[1])
            return;
        flows_drop_first(history, from);
    }
}
