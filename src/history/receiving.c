/* SPDX-License-Identifier: MIT */
/*
 * receiving.c: looks at a RECEIVE: which SENDs its bytes came from.
 *
 *      position     low |<------ RECEIVE ------>| high
 *      SENDs       |  SEND 4   |  SEND 5  |  SEND 6   |       three edges
 *
 * The way depends on the path: by position (here); by the datagram's identification, if its sender has another clock
 * (here); by its size, if numbers are only counts (receiving_counts.c); among candidates, if the order is not certain
 * (receiving_order.c). What is not known may come later, or is missing (receiving_look.c).
 */
#include "history/receiving.h"

#include "history/arrivals.h"
#include "history/clock_origins.h"
#include "history/ends.h"
#include "history/flows.h"
#include "history/positions.h"
#include "history/receiving_look.h"
#include "history/unpaired.h"

#include <errno.h>
#include <sys/socket.h>

/* ---- positions that are certain ---- */

static void look_at_bytes(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    uint64_t at = look->low;
    uint32_t index;

    for (index = sends_first_behind(look->from, look->low);
         index < sends->end && sends->at[index].position < look->high && look->error == 0;
         index++) {
        const struct sent *sent = &sends->at[index];
        uint64_t end = sent->position + sent_length(look->from, sent);
        if (sent->position > at)
            look_gap(look, at, sent->position, sent);
        if (end <= at)
            continue;
        uint64_t begin = sent->position > at ? sent->position : at;
        uint64_t bytes = (end < look->high ? end : look->high) - begin;
        if (kind_counts_messages(look->from->kind))
            bytes = least(sent->bytes, look->record->message.bytes);
        look_add_send(look, EDGE_EXACT, sent, bytes);
        at = end;
    }
    if (at < look->high)
        look_gap(look, at, look->high, index < sends->end ? &sends->at[index] : NULL);
}

/* ---- UDP between machines ---- */

static bool fits(const struct look *look, const struct sent *sent)
{
    return sent->left > 0 && look->record->message.bytes <= sent->bytes;
}

static const struct sent *find_datagram(const struct look *look, uint64_t position)
{
    const struct sends *sends = &look->from->sends;

    for (uint32_t i = sends_search(sends, position);
         i < sends->end && sends->at[i].position == position; i++)
        if (fits(look, &sends->at[i]))
            return &sends->at[i];
    return NULL;
}

/* The nearest datagram with the same identification (IPv4); or, if datagrams are counted (IPv6), the next of the same
 * size. */
static const struct sent *find_like(const struct look *look)
{
    const struct sends *sends = &look->from->sends;
    bool counted = look->from->record->family == AF_INET6;
    const struct sent *nearest = NULL;
    uint64_t distance = UINT64_MAX;

    for (uint32_t i = sends->first; i < sends->end; i++) {
        const struct sent *sent = &sends->at[i];
        uint64_t away =
            sent->position > look->low ? sent->position - look->low : look->low - sent->position;
        bool like = counted
                        ? sent->position > look->low && sent->bytes == look->record->message.bytes
                        : away % 65536 == 0;
        if (like && fits(look, sent) && away < distance) {
            nearest = sent;
            distance = away;
        }
    }
    return nearest;
}

/* Whether another datagram has the same identification: IPv4 counts only to 65,536, and as many may have been lost. */
static bool is_ambiguous(const struct look *look, const struct sent *sent)
{
    const struct sends *sends = &look->from->sends;
    uint64_t first = sends->at[sends->first].position;
    uint64_t last = sends->at[sends->end - 1].position;

    for (uint64_t at = sent->position; at >= first + 65536;)
        if (find_datagram(look, at -= 65536) != NULL)
            return true;
    for (uint64_t at = sent->position + 65536; at <= last; at += 65536)
        if (find_datagram(look, at) != NULL)
            return true;
    return false;
}

static void look_at_datagram(struct look *look)
{
    struct end *from = look->from;
    const struct sent *sent = find_datagram(look, look->low);
    const struct sends *sends = &from->sends;

    if (sent == NULL && !look->end->aligned)
        sent = find_like(look);
    if (sent == NULL) {
        uint32_t index = sends_search(sends, look->low + 1);
        const struct sent *next = index < sends->end ? &sends->at[index] : NULL;
        if (!look_is_missing(look, next))
            return;
        look->waits = false;
        sent = find_like(look);
    }
    if (sent == NULL) {
        look_note_missing(look, 1, look_why_missing(look));
        look_note_silence(look);
        return;
    }
    bool counted = from->record->family == AF_INET6 || sent->repeated || from->repeats ||
                   is_ambiguous(look, sent);
    look_add_send(look, counted ? EDGE_INFERRED : EDGE_EXACT, sent, look->record->message.bytes);
    if (look->waits)
        return;
    look->end->aligned = true;
    look->end->in_shift += sent->position - look->low;
    look->low = sent->position;
    look->high = look->low + 1;
}

/* On one machine datagrams arrive in the order in which they were sent. */
static void look_at_repeated(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    const struct sent *sent =
        flows_next_datagram(look->from, look->low, look->record->message.bytes);
    uint32_t behind = sends_search(sends, look->low + 1);

    if (sent != NULL)
        look_add_send(look, EDGE_INFERRED, sent, look->record->message.bytes);
    else
        look_gap(look, look->low, look->high, behind < sends->end ? &sends->at[behind] : NULL);
}

/* ---- an end without a partner ---- */

/* Where the partner of an end may be recorded. */
struct elsewhere {
    uint32_t origin;  /* of the known end */
    bool local;       /* only on the machine of that end ... */
    uint32_t machine; /* ... or only on this one; NO_MACHINE: anywhere */
    bool patient;     /* waits for origins even if their clocks are not known */
};

static bool may_be_there(const struct history *history, const struct elsewhere *where,
                         uint32_t number)
{
    uint32_t own = history->origins[where->origin].machine;
    uint32_t machine = history->origins[number].machine;

    if (where->local && own == NO_MACHINE)
        return number == where->origin;
    return machine == NO_MACHINE || machine == (where->local ? own : where->machine) ||
           (!where->local && where->machine == NO_MACHINE);
}

/* Without SENDCALL, silence is no proof: a metered sender may be in its call for long. But the meter announces the ends of
 * metered processes when they are connected, or first used, and a sender that has been silent until now is rare. A
 * RECEIVE that waits for it would hold back its stream, while reports say that nothing happens. */
static uint64_t announced_by(uint64_t time)
{
    return time > UINT64_MAX / 2 ? UNRELATED : time + MOMENT;
}

/* Live: an origin whose clock no message relates is known beyond a time when it is by the wall clocks, give or take the
 * patience. */
static uint64_t beyond_by_wall_clock(const struct history *history, uint32_t number,
                                     uint32_t origin, uint64_t time)
{
    if (history->patience == 0 || time > UINT64_MAX / 2)
        return UNRELATED;
    return time + (uint64_t)history_wall_offset(history, origin) -
           (uint64_t)history_wall_offset(history, number) + history->patience;
}

/* Live: nothing has come from it so far. */
static bool has_nothing_yet(const struct history *history, const struct origin *origin)
{
    return history->patience > 0 && !origin->begun && !origin->has_next;
}

/* The origin that is known least far, among those where the partner may be recorded. *ret_deadline: how far it must be
 * known. -1: none has anything to add. */
static int64_t least_known(const struct look *look, const struct elsewhere *where,
                           uint64_t *ret_deadline)
{
    const struct history *history = look->history;
    int64_t found = -1;

    for (uint32_t i = 0; i < history->origin_count; i++) {
        const struct origin *other = &history->origins[i];
        if (other->ended || other->quiet || has_nothing_yet(history, other) ||
            !may_be_there(history, where, i))
            continue;
        uint64_t time = look->record->header.time;
        uint64_t beyond = history_known_beyond(history, i, where->origin, time);
        if (beyond == UNRELATED && other->astray)
            continue;
        if (beyond == UNRELATED && history_have_one_clock(history, i, where->origin))
            beyond = announced_by(time);
        if (beyond == UNRELATED)
            beyond = beyond_by_wall_clock(history, i, where->origin, time);
        if (other->progress > beyond || (beyond == UNRELATED && !where->patient))
            continue;
        if (found < 0 || other->progress < history->origins[found].progress) {
            found = i;
            *ret_deadline = beyond;
        }
    }
    return found;
}

static struct elsewhere where_is_partner(const struct look *look, uint32_t origin)
{
    struct elsewhere where = {.origin = origin, .patient = true};

    where.local = end_is_local(look->history, look->end, &where.machine);
    if (end_has_foreign_peer(look->history, look->end)) {
        where.patient = look->history->held_count < PATIENCE;
        look->wait->impatient = true;
    }
    return where;
}

static void look_alone(struct look *look, uint32_t origin)
{
    struct end *end = look->end;

    if (!look->forced && !end->external && !end_leads_away(look->history, end)) {
        const struct elsewhere where = where_is_partner(look, origin);
        uint64_t deadline;
        int64_t known = least_known(look, &where, &deadline);
        if (known >= 0) {
            look_wait(look, (uint32_t)known, deadline);
            return;
        }
    }
    if (look_is_confused(look)) { /* which sender it came from is unknown */
        look_note_missing(look, length_of(end->kind, look->record->message.bytes), REST_UNMATCHED);
        return;
    }
    end->external = true;
    if (end_has_foreign_peer(look->history, end) && !unpaired_are_kept(look->history, end))
        flows_drop_all(look->history, end); /* what it sends has no metered receiver either */
    look_note_missing(look, length_of(end->kind, look->record->message.bytes),
                      unpaired_may_be_partners(look->history, end) ? REST_NOT_FOUND
                                                                   : REST_EXTERNAL);
}

/* ---- all of it ---- */

static void count_rest(struct history_counts *counts, enum history_rest rest)
{
    counts->external += rest == REST_EXTERNAL;
    counts->not_found += rest == REST_NOT_FOUND;
    counts->unselected += rest == REST_UNSELECTED;
    counts->unmatched_receives += rest == REST_UNMATCHED;
}

/* An exact edge between two machines bounds the difference of their clocks. What counts is when the bytes arrived, if
 * that was reported, not when the RECEIVE took them. `position`: of the first byte that the edge brought, or one behind
 * it, unless some bytes are missing. */
static int note_clocks(const struct look *look, const struct history_edge *edge, uint32_t position)
{
    uint64_t received = look->record->header.time;
    uint64_t come = look->missing > 0 ? received : arrivals_time(look->end, position, received);

    return history_clock_note(look->history, edge->origin, edge->time, look->end->origin, come);
}

static void count_edges(struct look *look)
{
    struct history *history = look->history;
    uint32_t position = look->record->message.offset;

    for (uint32_t i = 0; i < history->edge_count; i++) {
        const struct history_edge *edge = &history->edges[i];
        history->counts.exact += edge->kind == EDGE_EXACT;
        history->counts.ordered += edge->kind == EDGE_ORDERED;
        history->counts.inferred += edge->kind == EDGE_INFERRED;
        if (edge->kind == EDGE_EXACT && !look->one_clock && note_clocks(look, edge, position) < 0)
            look->error = -ENOMEM;
        position += edge->bytes;
    }
}

static int take_repeated(const struct look *look)
{
    struct sent *sent = flows_next_datagram(look->from, look->low, look->record->message.bytes);

    if (sent == NULL)
        return 0;
    sent->left = 0;
    look->from->received_sent = sent->time;
    return flows_note_whole(look->history, sent);
}

/* Removes what was taken from the direction; in_low follows with a delay of MOMENT. */
static int take(struct look *look)
{
    struct end *end = look->end;
    uint64_t time = look->record->header.time;

    if (end->sharing != NULL && end->sharing->takes.at != NULL)
        flows_took(end, look->low - end->in_shift, look->record->header.sequence);
    if (look->from == NULL) {
        flows_release_takes(look->history, end, UINT64_MAX);
        return 0;
    }
    if (look->from->repeats ? take_repeated(look) < 0
                            : flows_take(look->history, look->from, look->low, look->high) < 0)
        return -ENOMEM;
    if (look->high > end->in_end)
        end->in_end = look->high;
    flows_release(look->history, look->from);
    if (time > end->in_low_time && time - end->in_low_time > MOMENT) {
        end->in_low[1] = end->in_low_time == 0 ? 0 : end->in_low[0];
        end->in_low[0] = end->in_end;
        end->in_low_time = time;
        flows_drop_old(look->history, end);
    }
    return 0;
}

static bool tells_of_bytes(const struct end *end, const struct record *record)
{
    return record->message.bytes > 0 || (end != NULL && kind_counts_messages(end->kind) &&
                                         !(record->header.flags & RECORD_END_OF_FILE));
}

int receiving_look(struct history *history, struct end *end, const struct record *record,
                   uint32_t origin, bool forced, struct wait *wait, struct history_event *event)
{
    struct look look = {history, end, end == NULL ? NULL : end->partner, record};

    history->edge_count = 0;
    if (!tells_of_bytes(end, record))
        return 1;
    if (end == NULL) { /* its PATH was lost */
        event->rest = REST_UNMATCHED;
        event->rest_bytes = record->message.bytes;
        count_rest(&history->counts, event->rest);
        return 1;
    }
    uint64_t position = unwrap(end->in_handed, record->message.offset);
    *wait = (struct wait){.origin = origin, .deadline = UINT64_MAX};
    look.wait = wait;
    look.forced = forced;
    look.low = position + end->in_shift;
    look.high = look.low + length_of(end->kind, record->message.bytes);
    if (look.from == NULL) {
        look_alone(&look, origin);
    } else {
        look.one_clock = history_have_one_clock(history, look.from->origin, origin);
        if (look_counts(&look))
            look_at_counts(&look);
        else if (end->kind == PATH_UDP && !look.one_clock)
            look_at_datagram(&look);
        else if (look.from->repeats)
            look_at_repeated(&look);
        else if (look_needs_order(&look))
            look_order(&look);
        else
            look_at_bytes(&look);
    }
    if (look.error < 0)
        return look.error;
    if (look.waits && !forced)
        return 0;
    history->counts.stalls += look.gave_up;
    event->rest = look.rest;
    event->rest_bytes =
        kind_counts_messages(end->kind) && look.missing > 0 ? record->message.bytes : look.missing;
    count_rest(&history->counts, event->rest);
    count_edges(&look);
    end->in_handed = position;
    return take(&look) < 0 || look.error < 0 ? -ENOMEM : 1;
}
