/* SPDX-License-Identifier: MIT */
/*
 * receiving_look.c: what all looks at a RECEIVE share: its edges, what it waits for, and the gaps among SENDs.
 *
 *      RECEIVE       |<------------- bytes ------------->|
 *      SENDs     | SEND 4  |          | SEND 5 |              edges
 *      SENDCALL                                |<- sent ->|   an edge: its SEND comes later
 *                          |<- gap -->|                       the RECEIVE waits, unless it is proven missing
 *
 * A gap is proven missing if one of these holds:
 * - The sender's end was closed or its recording has ended, so everything reported is known.
 * - It lies before the recorded part of the path.
 * - The sender's recording has no SENDs at all.
 * - Sender and receiver have one clock, and the sender's recording is known MOMENT beyond the RECEIVE: within that time
 *   a SEND or SENDCALL reports what was sent.
 * - A later SEND of the direction is known, and the sender's recording MOMENT beyond that.
 * - Records of the sender were lost, and its recording is known MOMENT beyond the loss and beyond the RECEIVE.
 */
#include "history/receiving_look.h"
#include "history/clock_origins.h"
#include "history/positions.h"
#include "history/receiving.h"
#include "history/streams.h"
#include "history/values.h"

#include <errno.h>

struct history_edge *history_add_edge(struct history *history)
{
    if (array_reserve(&history->edges, &history->edge_capacity, history->edge_count + 1,
                      sizeof(*history->edges)) < 0)
        return NULL;
    return &history->edges[history->edge_count++];
}

int history_add_edge_from(struct history *history, enum edge_kind kind, uint32_t origin,
                          uint32_t path, const struct beginning *from)
{
    struct history_edge *edge = history_add_edge(history);

    if (edge == NULL)
        return -ENOMEM;
    *edge = (struct history_edge){
        .id = from->id,
        .kind = kind,
        .origin = origin,
        .stream = from->stream,
        .sequence = from->sequence,
        .path = path,
        .number = from->number,
        .time = from->when,
        .proc_time = from->proc_time,
        .value = values_at(history, from->value),
    };
    return 0;
}

/* ---- waiting ---- */

void look_wait(struct look *look, uint32_t origin, uint64_t deadline)
{
    struct wait *wait = look->wait;

    if (!look->waits || deadline < wait->deadline) {
        wait->origin = origin;
        wait->deadline = deadline;
    }
    look->waits = true;
}

bool look_moment_over(struct look *look, uint32_t number, uint64_t time)
{
    const struct origin *origin = &look->history->origins[number];
    uint64_t deadline = time > UINT64_MAX - 2 * MOMENT ? UINT64_MAX - MOMENT : time + MOMENT;

    if (origin->progress > deadline)
        return true;
    look_wait(look, number, deadline);
    return false;
}

void look_note_missing(struct look *look, uint64_t bytes, enum history_rest rest)
{
    look->missing += (uint32_t)bytes;
    if (rest > look->rest)
        look->rest = rest;
}

/* ---- edges ---- */

bool look_is_confused(const struct look *look)
{
    return look->end->kind == PATH_UDP && (look->record->header.flags & RECORD_CONCURRENT) &&
           look->history->origins[look->end->origin].meter != METER_PTRACE;
}

/* Whether positions may be wrong since a hook was skipped. Hooks count the positions of all paths but TCP. */
static bool may_be_miscounted(const struct look *look)
{
    const struct origin *origins = look->history->origins;

    return look->end->kind != PATH_TCP &&
           (origins[look->end->origin].skips || origins[look->from->origin].skips);
}

static void add_edge(struct look *look, enum edge_kind kind, const struct history_edge *like)
{
    struct history_edge *edge = history_add_edge(look->history);

    if (edge == NULL) {
        look->error = -ENOMEM;
        return;
    }
    *edge = *like;
    bool inferred = look->from->packets || look->end->doubtful ||
                    is_doubtful(look->end, look->record) || look_is_confused(look) ||
                    may_be_miscounted(look);
    edge->kind = inferred ? EDGE_INFERRED : kind;
    edge->origin = look->from->origin;
    edge->path = like->path != 0 ? like->path : look->from->number;
}

void look_add_send(struct look *look, enum edge_kind kind, const struct sent *sent, uint64_t bytes)
{
    if (sent->number == NO_NUMBER) {
        if (look->forced)
            look_note_missing(look, bytes, REST_UNMATCHED);
        else
            look_wait(look, look->from->origin, UINT64_MAX - 1);
        return;
    }
    const struct history_edge edge = {
        .id = EVENT_SEND,
        .stream = sent->stream,
        .sequence = sent->sequence,
        .path = sent->path,
        .bytes = (uint32_t)bytes,
        .number = sent->number,
        .value = values_at(look->history, sent->value),
        .time = sent->when,
        .proc_time = sent->proc_time,
    };
    add_edge(look, sent->doubtful ? EDGE_INFERRED : kind, &edge);
}

void look_add_call(struct look *look, enum edge_kind kind, const struct stream *stream,
                   uint64_t bytes)
{
    const struct beginning *call = &stream->open_call;

    for (uint32_t i = 0; i < look->history->edge_count; i++) {
        struct history_edge *known = &look->history->edges[i];
        if (known->number == call->number) { /* it has filled another gap */
            known->bytes = least(known->bytes + (uint32_t)bytes, look->record->message.bytes);
            if (kind > known->kind) /* an edge is as certain as the least certain of its bytes */
                known->kind = kind;
            return;
        }
    }
    const struct history_edge edge = {
        .id = EVENT_SENDCALL,
        .stream = call->stream,
        .sequence = call->sequence,
        .bytes = (uint32_t)bytes,
        .number = call->number,
        .value = values_at(look->history, call->value),
        .time = call->when,
        .proc_time = call->proc_time,
    };
    add_edge(look, kind, &edge);
}

/* ---- gaps ---- */

/* Whether a metered process may have sent here although no SEND reports it: a SENDCALL does, or records were lost or
 * removed by a selection since the path is known. */
static bool may_have_sent(const struct look *look)
{
    const struct end *from = look->from;
    uint64_t gap_time = look->history->origins[from->origin].gap_time;

    return from->has_sent || from->sender.life != 0 ||
           (gap_time != 0 && gap_time >= from->record->header.time);
}

void look_note_silence(struct look *look)
{
    if (!may_have_sent(look))
        look->end->external = true;
}

enum history_rest look_why_missing(const struct look *look)
{
    const struct end *from = look->from;
    const struct origin *origin = &look->history->origins[from->origin];
    const struct stream *sender = stream_who(look->history, from->sender);

    /* what the kernel removes by rules is counted for no stream */
    if (origin->discards && (!origin->loses || sender == NULL || sender->discarded ||
                             !from->has_sent || origin->recorded.rules > 0))
        return REST_UNSELECTED;
    if ((origin->sends_partly || (origin->kinds_partly & METER_KIND_OF(from->kind)) != 0) &&
        !origin->loses)
        return REST_UNSELECTED;
    return may_have_sent(look) ? REST_UNMATCHED : REST_EXTERNAL;
}

/* Whether the sender's recording is known beyond the RECEIVE. If no message relates the clocks, this is assumed once
 * PATIENCE records are held. */
static bool is_sender_beyond(struct look *look)
{
    const struct history *history = look->history;
    uint32_t number = look->from->origin;
    uint64_t beyond =
        history_known_beyond(history, number, look->end->origin, look->record->header.time);

    if (beyond == UNRELATED && history->held_count >= PATIENCE) {
        look->gave_up = true;
        return true;
    }
    if (beyond != UNRELATED && history->origins[number].progress > beyond)
        return true;
    look->wait->impatient = true;
    look_wait(look, number, beyond == UNRELATED ? UINT64_MAX - 1 : beyond);
    return false;
}

/* Whether the sender's records that would fill a gap were lost, as far as is known. */
static bool were_lost(struct look *look)
{
    const struct end *from = look->from;
    const struct stream *sender = stream_who(look->history, from->sender);

    return sender != NULL && sender->lost_time >= from->out_time && sender->lost_time > 0 &&
           look_moment_over(look, from->origin, sender->lost_time) && is_sender_beyond(look);
}

/* Whether the sender's recording, if it has the same clock, is read up to the time of the RECEIVE. */
static bool is_read_up_to(struct look *look)
{
    uint32_t number = look->from->origin;
    uint64_t time = look->record->header.time;

    if (!look->one_clock || look->history->origins[number].progress >= time)
        return true;
    look_wait(look, number, time - 1);
    return false;
}

/* Whether a gap will never be filled; `next` is a SEND behind it, or NULL. */
bool look_is_missing(struct look *look, const struct sent *next)
{
    const struct end *from = look->from;
    const struct origin *origin = &look->history->origins[from->origin];

    if (look->forced || from->destroyed || origin->ended || origin->quiet ||
        origin->leaves_out_sends)
        return true;
    if (look->end->external && !may_have_sent(look)) /* a loss may have been reported since */
        return is_read_up_to(look);
    if (look->one_clock && origin->tells &&
        look_moment_over(look, from->origin, look->record->header.time))
        return true;
    if (next != NULL && look_moment_over(look, from->origin, next->time))
        return true;
    if (were_lost(look))
        return true;
    look_wait(look, from->origin, UINT64_MAX - 1);
    return false;
}

/* SENDCALL reports a lower bound of what was sent (send.bpf.h). Further bytes that nothing else explains came from its
 * call. */
static const struct stream *call_in_progress(const struct look *look)
{
    for (const struct stream *open = look->from->opens; open != NULL; open = open->next_open)
        if (look->from->counted && open->open_call.number != NO_NUMBER)
            return open;
    return NULL;
}

void look_missing(struct look *look, uint64_t low, uint64_t high, const struct sent *next)
{
    const struct end *from = look->from;
    uint64_t begins = from->out_start;
    uint64_t recorded = look->end->in_start + look->end->in_shift;

    if (recorded > begins)
        begins = recorded;
    if (low < begins && !kind_counts_messages(from->kind)) {
        look_note_missing(look, (high < begins ? high : begins) - low, REST_EXTERNAL);
        low = begins;
    }
    if (low < from->forgotten && low < high) {
        look_note_missing(look, (high < from->forgotten ? high : from->forgotten) - low,
                          REST_UNMATCHED);
        low = from->forgotten;
    }
    if (low >= high || !look_is_missing(look, next))
        return;
    const struct stream *open = next == NULL ? call_in_progress(look) : NULL;
    if (open != NULL) {
        /* it may also be of a SEND that was lost */
        bool loses = look->history->origins[from->origin].gap_time > from->out_time;
        look_add_call(look, loses ? EDGE_INFERRED : EDGE_ORDERED, open, high - low);
        return;
    }
    look_note_missing(look, high - low, look_why_missing(look));
    look_note_silence(look);
}

/* The call in progress that has position `low`; or NULL, and *ret_next is lowered to the beginning of the next one. */
static const struct stream *find_call(const struct end *from, uint64_t low, uint64_t *ret_next)
{
    for (const struct stream *open = from->opens; open != NULL; open = open->next_open) {
        if (open->open_from <= low && low < open->open_to)
            return open;
        if (open->open_from > low && open->open_from < *ret_next)
            *ret_next = open->open_from;
    }
    return NULL;
}

void look_gap(struct look *look, uint64_t low, uint64_t high, const struct sent *next)
{
    while (low < high && look->error == 0) {
        uint64_t end = high;
        const struct stream *open = find_call(look->from, low, &end);
        if (open == NULL) {
            look_missing(look, low, end, next);
            low = end;
            continue;
        }
        end = open->open_to < high ? open->open_to : high;
        if (open->open_handed_to <= low && !look->forced) {
            look_wait(look, look->from->origin, UINT64_MAX - 1);
        } else if (open->open_handed_to <= low) {
            look_note_missing(look, end - low, REST_UNMATCHED);
        } else {
            end = open->open_handed_to < end ? open->open_handed_to : end;
            look_add_call(look, EDGE_EXACT, open, end - low);
        }
        low = end;
    }
}
