/* SPDX-License-Identifier: MIT */
/*
 * receiving.c: looks at a RECEIVE: which SENDs its bytes are of, and whether what is missing still comes.
 *
 *      RECEIVE       |<------------- bytes ------------->|
 *      SENDs     | SEND 4  |          | SEND 5 |              edges
 *      SENDCALL                                |<- out ->|    an edge: the SEND comes later
 *                          |<- gap -->|                       wait; or it is proven missing
 *
 * A gap is proven missing when
 *      its sender's end was closed, or its recording has ended, and all that is told is known;
 *      it lies before what was recorded of the path;
 *      sender and receiver have one clock, and the sender's recording is known a moment beyond the RECEIVE: within
 *      a moment SEND or SENDCALL tells of what is out;
 *      a later SEND of the direction is known, and the sender's recording a moment beyond that;
 *      records of the sender were lost, and its recording is known a moment beyond that.
 *
 * Where the order of SENDs (or of a pipe's RECEIVEs) is not certain (flows.c), all that may be meant
 * get an edge, and for that the RECEIVE waits until no other can come.
 */
#include "history/history_private.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct look {
    struct history *history;
    struct end *end;
    struct end *from; /* its partner */
    const struct record *record;
    uint64_t low; /* what it took: [low, high), in terms of `from` */
    uint64_t high;
    struct wait *wait;
    bool forced;
    bool waits;
    bool one_clock;
    int error;
    uint32_t missing;       /* bytes, or messages */
    enum history_rest rest; /* of the missing */
};

struct history_edge *history_add_edge(struct history *history)
{
    if (array_reserve(&history->edges, &history->edge_capacity, history->edge_count + 1,
                      sizeof(*history->edges)) < 0)
        return NULL;
    return &history->edges[history->edge_count++];
}

/* ---- waiting ---- */

static void wait_until(struct look *look, uint32_t origin, uint64_t deadline)
{
    struct wait *wait = look->wait;

    if (!look->waits || deadline < wait->deadline) {
        wait->origin = origin;
        wait->deadline = deadline;
    }
    look->waits = true;
}

/* Whether an origin is known beyond a moment after `time`; if not, that is waited for. */
static bool moment_over(struct look *look, uint32_t number, uint64_t time)
{
    const struct origin *origin = &look->history->origins[number];
    uint64_t deadline = time > UINT64_MAX - 2 * MOMENT ? UINT64_MAX - MOMENT : time + MOMENT;

    if (origin->progress > deadline)
        return true;
    wait_until(look, number, deadline);
    return false;
}

/* Among the gaps of one RECEIVE, what says most. */
static void note_missing(struct look *look, uint64_t bytes, enum history_rest rest)
{
    look->missing += (uint32_t)bytes;
    if (rest > look->rest)
        look->rest = rest;
}

/* ---- edges ---- */

static void add_edge(struct look *look, enum edge_kind kind, const struct history_edge *like)
{
    struct history_edge *edge = history_add_edge(look->history);

    if (edge == NULL) {
        look->error = -ENOMEM;
        return;
    }
    *edge = *like;
    edge->kind = look->from->packets || is_doubtful(look->end, look->record) ? EDGE_INFERRED : kind;
    edge->origin = look->from->origin;
    edge->path = look->from->number;
}

static void add_send(struct look *look, enum edge_kind kind, const struct sent *sent,
                     uint64_t bytes)
{
    if (sent->number == NO_NUMBER) {
        if (look->forced)
            note_missing(look, bytes, REST_UNMATCHED);
        else
            wait_until(look, look->from->origin, UINT64_MAX - 1);
        return;
    }
    const struct history_edge edge = {
        .id = EVENT_SEND,
        .stream = sent->stream,
        .sequence = sent->sequence,
        .bytes = (uint32_t)bytes,
        .number = sent->number,
        .time = sent->when,
        .proc_time = sent->proc_time,
    };
    add_edge(look, sent->doubtful ? EDGE_INFERRED : kind, &edge);
}

static void add_call(struct look *look, enum edge_kind kind, const struct stream *stream,
                     uint64_t bytes)
{
    const struct beginning *call = &stream->open_call;
    const struct history_edge edge = {
        .id = EVENT_SENDCALL,
        .stream = call->stream,
        .sequence = call->sequence,
        .bytes = (uint32_t)bytes,
        .number = call->number,
        .time = call->when,
        .proc_time = call->proc_time,
    };
    add_edge(look, kind, &edge);
}

/* ---- gaps ---- */

static enum history_rest why_missing(const struct look *look)
{
    const struct end *from = look->from;
    const struct stream *sender = stream_who(look->history, from->sender);

    if (look->history->origins[from->origin].discards &&
        (sender == NULL || sender->discarded || !from->has_sent))
        return REST_UNSELECTED;
    return from->has_sent ? REST_UNMATCHED : REST_EXTERNAL;
}

/* Whether the sender's records that would fill a gap were lost, as far as is known. */
static bool were_lost(struct look *look)
{
    const struct end *from = look->from;
    const struct stream *sender = stream_who(look->history, from->sender);

    return sender != NULL && sender->lost_time >= from->out_time && sender->lost_time > 0 &&
           moment_over(look, from->origin, sender->lost_time);
}

/* Whether nothing comes any more to fill a gap; `next` is a SEND behind it, or NULL. */
static bool is_missing(struct look *look, const struct sent *next)
{
    const struct end *from = look->from;
    const struct origin *origin = &look->history->origins[from->origin];

    if (look->forced || from->destroyed || origin->ended || look->end->external)
        return true;
    if (look->one_clock && origin->tells &&
        moment_over(look, from->origin, look->record->header.time))
        return true;
    if (next != NULL && moment_over(look, from->origin, next->time))
        return true;
    if (were_lost(look))
        return true;
    wait_until(look, from->origin, UINT64_MAX - 1);
    return false;
}

/* A SENDCALL tells least what is out (send.bpf.h): when nothing else comes, it is its call's. */
static const struct stream *call_in_progress(const struct look *look)
{
    for (const struct stream *open = look->from->opens; open != NULL; open = open->next_open)
        if (is_counted(look->from->kind) && open->open_call.number != NO_NUMBER)
            return open;
    return NULL;
}

static void look_at_missing(struct look *look, uint64_t low, uint64_t high, const struct sent *next)
{
    const struct end *from = look->from;
    uint64_t begins = from->out_start;
    uint64_t recorded = look->end->in_start + look->end->in_shift;

    if (recorded > begins)
        begins = recorded;
    if (low < begins && !is_datagram(from->kind)) {
        note_missing(look, (high < begins ? high : begins) - low, REST_EXTERNAL);
        low = begins;
    }
    if (low < from->forgotten && low < high) {
        note_missing(look, (high < from->forgotten ? high : from->forgotten) - low, REST_UNMATCHED);
        low = from->forgotten;
    }
    if (low >= high || !is_missing(look, next))
        return;
    const struct stream *open = next == NULL ? call_in_progress(look) : NULL;
    if (open != NULL) {
        add_call(look, EDGE_ORDERED, open, high - low);
        return;
    }
    note_missing(look, high - low, why_missing(look));
    if (!from->has_sent)
        look->end->external = true;
}

/* The call in progress that position `low` is of; or the next one, which begins at *ret_next. */
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

static void look_at_gap(struct look *look, uint64_t low, uint64_t high, const struct sent *next)
{
    while (low < high && look->error == 0) {
        uint64_t end = high;
        const struct stream *open = find_call(look->from, low, &end);
        if (open == NULL) {
            look_at_missing(look, low, end, next);
            low = end;
            continue;
        }
        end = open->open_to < high ? open->open_to : high;
        if (open->open_handed_to <= low && !look->forced) {
            wait_until(look, look->from->origin, UINT64_MAX - 1);
        } else if (open->open_handed_to <= low) {
            note_missing(look, end - low, REST_UNMATCHED);
        } else {
            end = open->open_handed_to < end ? open->open_handed_to : end;
            add_call(look, EDGE_EXACT, open, end - low);
        }
        low = end;
    }
}

/* ---- positions that are certain ---- */

static uint64_t sent_length(const struct look *look, const struct sent *sent)
{
    return length_of(look->from->kind, sent->bytes);
}

/* Index of the first SEND that ends behind `position`. */
static uint32_t first_behind(const struct look *look, uint64_t position)
{
    const struct sends *sends = &look->from->sends;
    uint32_t index = sends_search(sends, position + 1);

    while (index > sends->first &&
           sends->at[index - 1].position + sent_length(look, &sends->at[index - 1]) > position)
        index--;
    return index;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void look_at_bytes(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    uint64_t at = look->low;
    uint32_t index;

    for (index = first_behind(look, look->low);
         index < sends->end && sends->at[index].position < look->high && look->error == 0;
         index++) {
        const struct sent *sent = &sends->at[index];
        uint64_t end = sent->position + sent_length(look, sent);
        if (sent->position > at)
            look_at_gap(look, at, sent->position, sent);
        if (end <= at)
            continue;
        uint64_t begin = sent->position > at ? sent->position : at;
        uint64_t bytes = (end < look->high ? end : look->high) - begin;
        if (is_datagram(look->from->kind))
            bytes = least(sent->bytes, look->record->message.bytes);
        add_send(look, EDGE_EXACT, sent, bytes);
        at = end;
    }
    if (at < look->high)
        look_at_gap(look, at, look->high, index < sends->end ? &sends->at[index] : NULL);
}

/* ---- order that is not certain ---- */

/* What calls in progress may put before the end of a SEND that ended at `time`, beyond its position. */
static uint64_t calls_before(const struct end *from, uint64_t time)
{
    uint64_t bytes = 0;

    for (const struct stream *open = from->opens; open != NULL; open = open->next_open)
        if (open->open_began < time)
            bytes += open->open_bytes;
    return bytes;
}

/* Everything up to here is out, as told by SENDs and SENDCALLs; by those handed out. A call that began
 * after the RECEIVE has nothing to do with it, and may come from it. */
static uint64_t told_up_to(const struct look *look, bool handed)
{
    const struct end *from = look->from;
    uint64_t position = from->out_end;

    for (const struct stream *open = from->opens; open != NULL; open = open->next_open)
        if (open->open_began < look->record->header.time)
            position += handed ? open->open_handed_bytes : open->open_bytes;
    return position;
}

/* Holes among the SENDs, and what lies beyond them and the calls in progress. Returns when the last SEND in
 * the range ended. */
static uint64_t look_for_gaps(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    uint64_t told = told_up_to(look, look->forced);
    uint64_t at = look->low;
    uint64_t last = 0;
    uint32_t index;

    for (index = first_behind(look, look->low);
         index < sends->end && sends->at[index].position < look->high; index++) {
        const struct sent *sent = &sends->at[index];
        uint64_t end = sent->position + sent_length(look, sent);
        if (sent->position > at)
            look_at_missing(look, at, sent->position, sent);
        if (sent->time > last)
            last = sent->time;
        at = end > at ? end : at;
    }
    if (at < look->high &&
        at < look->from->out_end) { /* the rest was received and freed long ago */
        const struct sent *next = index < sends->end ? &sends->at[index] : NULL;
        uint64_t end = look->high < look->from->out_end ? look->high : look->from->out_end;
        look_at_missing(look, at, end, next);
        at = end;
    }
    if (at < look->high && told < look->high)
        look_at_missing(look, at > told ? at : told, look->high, NULL);
    else if (at < look->high && told_up_to(look, true) < look->high)
        wait_until(look, look->from->origin, UINT64_MAX - 1);
    return last;
}

static void wait_for_others(struct look *look, const struct end *end, const struct who *who,
                            uint32_t count, uint64_t time)
{
    if (look->forced || streams_are_past(look->history, end, who, count, time, false))
        return;
    look->wait->impatient = true;
    if (look->history->origins[end->origin].tells)
        wait_until(look, end->origin, time > UINT64_MAX - 2 * MOMENT ? time : time + MOMENT);
    else
        wait_until(look, end->origin, UINT64_MAX - 1);
}

/* A SEND has told of another one in progress, whose stream is not known yet. */
static void wait_for_another(struct look *look, uint64_t time)
{
    if (look->forced || !look->history->origins[look->from->origin].tells)
        return;
    look->wait->impatient = true;
    moment_over(look, look->from->origin, time);
}

/* Somebody has taken what comes before a RECEIVE from a pipe, and the call that did so is not known yet:
 * it may have been in progress at the same time. */
static bool follows_another(const struct look *look)
{
    const struct end *end = look->end;
    uint64_t begins = end->in_start + end->in_shift;

    return is_counted_in(end->kind) && !look->from->packets && end->sharing != NULL &&
           end->sharing->taker_count == 1 &&
           look->low > (end->in_end > begins ? end->in_end : begins);
}

/* The RECEIVE's own place among those of its pipe; NULL: there is none. */
static const struct sent *own_place(const struct look *look)
{
    const struct end *end = look->end;

    if (!is_counted_in(end->kind) || end->sharing == NULL)
        return NULL;
    const struct sends *takes = &end->sharing->takes;
    uint64_t position = look->low - end->in_shift;
    for (uint32_t i = sends_search(takes, position);
         i < takes->end && takes->at[i].position == position; i++)
        if (takes->at[i].sequence == look->record->header.sequence)
            return &takes->at[i];
    return NULL;
}

static void add_candidate(struct look *look, const struct sent *sent, uint64_t low, uint64_t high,
                          bool range_is_certain)
{
    uint64_t calls = calls_before(look->from, sent->time);
    uint64_t begin =
        sent->position - (sent->before < sent->position ? sent->before : sent->position);
    uint64_t end = sent->position + sent_length(look, sent) + sent->after + calls;
    bool exact = range_is_certain && !sent->concurrent && sent->before == 0 && sent->after == 0 &&
                 calls == 0;

    if (begin >= high || end <= low)
        return;
    if (!exact && call_began(sent) >= look->record->header.time)
        return; /* it began when the RECEIVE was over */
    uint64_t bytes = (end < high ? end : high) - (begin > low ? begin : low);
    if (is_datagram(look->from->kind) || bytes > sent->bytes)
        bytes = sent->bytes;
    if (bytes > look->record->message.bytes)
        bytes = look->record->message.bytes;
    add_send(look, exact ? EDGE_EXACT : EDGE_ORDERED, sent, bytes);
}

/* A call in progress may lie before all SENDs that ended after it began. */
static void add_call_candidate(struct look *look, const struct stream *open, uint64_t low,
                               uint64_t high)
{
    const struct end *from = look->from;
    uint64_t begin = from->out_end;

    if (open->open_began >= look->record->header.time)
        return;
    for (uint32_t i = from->sends.end; i > from->sends.first; i--)
        if (from->sends.at[i - 1].time > open->open_began && from->sends.at[i - 1].position < begin)
            begin = from->sends.at[i - 1].position;
        else if (from->sends.at[i - 1].time + MOMENT < open->open_began)
            break;
    if (begin >= high || told_up_to(look, false) <= low || open->open_bytes == 0)
        return;
    if (open->open_call.number != NO_NUMBER)
        add_call(look, EDGE_ORDERED, open, least(look->record->message.bytes, open->open_bytes));
    else if (!look->forced)
        wait_until(look, from->origin, UINT64_MAX - 1);
}

/* The same of what lies behind the RECEIVE's own place, and may be what it took. */
static uint64_t look_behind(struct look *look, uint64_t high)
{
    struct look behind = *look;

    behind.low = look->high;
    behind.high = high;
    uint64_t last = look_for_gaps(&behind);
    look->waits = behind.waits;
    look->error = behind.error;
    return last;
}

static void look_at_order(struct look *look)
{
    const struct end *from = look->from;
    const struct sends *sends = &from->sends;
    const struct sent *place = own_place(look);
    bool certain = place == NULL || (place->before == 0 && place->after == 0);
    uint64_t low = look->low - (place == NULL ? 0 : place->before);
    uint64_t high = look->high + (place == NULL ? 0 : place->after);
    uint64_t last = look_for_gaps(look);

    if (high > look->high) {
        uint64_t behind = look_behind(look, high);
        last = behind > last ? behind : last;
    }
    /* calls in progress: others may have put bytes among theirs, and not told */
    if (from->opens != NULL && last < look->record->header.time)
        last = look->record->header.time;
    if (from->several)
        wait_for_others(look, from, from->sharing->senders, from->sharing->sender_count, last);
    else if (place == NULL)
        wait_for_another(look, last);
    if (place != NULL && look->end->sharing->taker_count > 1)
        wait_for_others(look, look->end, look->end->sharing->takers,
                        look->end->sharing->taker_count, look->record->header.time);
    else if (follows_another(look))
        wait_for_another(look, look->record->header.time);
    if (look->waits)
        return;
    uint64_t reach = from->most_after + calls_before(from, UINT64_MAX);
    for (uint32_t i = first_behind(look, low > reach ? low - reach : 0);
         i < sends->end && look->error == 0; i++) {
        if (sends->at[i].position >= high + from->most_before)
            break;
        add_candidate(look, &sends->at[i], low, high, certain);
    }
    for (const struct stream *open = from->opens; open != NULL; open = open->next_open)
        add_call_candidate(look, open, low, high);
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

/* The nearest datagram that has the same identification (IPv4), or, where they are counted, the next
 * of the same size. */
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
        if (!is_missing(look, next))
            return;
        look->waits = false;
        sent = find_like(look);
    }
    if (sent == NULL) {
        note_missing(look, 1, why_missing(look));
        if (!from->has_sent)
            look->end->external = true;
        return;
    }
    bool counted = from->record->family == AF_INET6 || sent->repeated;
    add_send(look, counted ? EDGE_INFERRED : EDGE_EXACT, sent, look->record->message.bytes);
    if (look->waits)
        return;
    look->end->aligned = true;
    look->end->in_shift += sent->position - look->low;
    look->low = sent->position;
    look->high = look->low + 1;
}

/* ---- an end without a partner ---- */

/* The least known of the origins where the partner may be recorded; -1: nothing more is to come of them. */
static int64_t least_known(const struct look *look, uint32_t origin, bool local, uint32_t machine)
{
    const struct history *history = look->history;
    uint32_t own = history->origins[origin].machine;
    int64_t found = -1;

    for (uint32_t i = 0; i < history->origin_count; i++) {
        const struct origin *other = &history->origins[i];
        bool may_be = other->machine == NO_MACHINE || (!local && machine == NO_MACHINE) ||
                      other->machine == (local ? own : machine);
        if (local && own == NO_MACHINE)
            may_be = i == origin;
        if (!may_be || other->ended ||
            (local && other->tells && other->progress > look->record->header.time &&
             other->progress - look->record->header.time > MOMENT))
            continue;
        if (found < 0 || other->progress < history->origins[found].progress)
            found = i;
    }
    return found;
}

static void look_alone(struct look *look, uint32_t origin)
{
    struct end *end = look->end;
    uint32_t machine;
    uint64_t time = look->record->header.time;

    if (!look->forced && !end->external && !end_leads_away(look->history, end)) {
        bool local = end_is_local(look->history, end, &machine);
        int64_t known = least_known(look, origin, local, machine);
        if (known >= 0) {
            bool tells = local && look->history->origins[known].tells && time < UINT64_MAX / 2;
            wait_until(look, (uint32_t)known, tells ? time + MOMENT : UINT64_MAX - 1);
            return;
        }
    }
    end->external = true;
    note_missing(look, length_of(end->kind, look->record->message.bytes), REST_EXTERNAL);
}

/* ---- all of it ---- */

static void count_rest(struct history_counts *counts, enum history_rest rest)
{
    counts->external += rest == REST_EXTERNAL;
    counts->unselected += rest == REST_UNSELECTED;
    counts->unmatched_receives += rest == REST_UNMATCHED;
}

static void count_edges(struct look *look)
{
    struct history *history = look->history;

    for (uint32_t i = 0; i < history->edge_count; i++) {
        const struct history_edge *edge = &history->edges[i];
        history->counts.exact += edge->kind == EDGE_EXACT;
        history->counts.ordered += edge->kind == EDGE_ORDERED;
        history->counts.inferred += edge->kind == EDGE_INFERRED;
        if (edge->kind == EDGE_EXACT && !look->one_clock &&
            history_clock_note(history, edge->origin, edge->time, look->end->origin,
                               look->record->header.time) < 0)
            look->error = -ENOMEM;
    }
}

/* What was taken leaves the direction; in_low follows, a moment late. */
static int take(struct look *look)
{
    struct end *end = look->end;
    uint64_t time = look->record->header.time;

    if (end->sharing != NULL && end->sharing->takes.at != NULL)
        flows_took(end, look->low - end->in_shift, look->record->header.sequence);
    if (look->from == NULL)
        return 0;
    if (flows_take(look->history, look->from, look->low, look->high) < 0)
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
    return record->message.bytes > 0 ||
           (end != NULL && is_datagram(end->kind) && !(record->header.flags & RECORD_END_OF_FILE));
}

/* Whether a SEND in the range says that another one was in progress. */
static bool is_concurrent(const struct look *look)
{
    const struct sends *sends = &look->from->sends;

    for (uint32_t i = first_behind(look, look->low);
         i < sends->end && sends->at[i].position < look->high; i++)
        if (sends->at[i].concurrent)
            return true;
    return false;
}

static bool is_ordered(const struct look *look)
{
    const struct end *end = look->end;

    return look->from->several || (end->sharing != NULL && end->sharing->taker_count > 1) ||
           follows_another(look) || (is_counted(look->from->kind) && is_concurrent(look));
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
        const struct origin *sender = &history->origins[look.from->origin];
        look.one_clock =
            look.from->origin == origin ||
            (sender->machine != NO_MACHINE && sender->machine == history->origins[origin].machine);
        if (end->kind == PATH_UDP && !look.one_clock)
            look_at_datagram(&look);
        else if (is_ordered(&look))
            look_at_order(&look);
        else
            look_at_bytes(&look);
    }
    if (look.error < 0)
        return look.error;
    if (look.waits && !forced)
        return 0;
    event->rest = look.rest;
    event->rest_bytes =
        is_datagram(end->kind) && look.missing > 0 ? record->message.bytes : look.missing;
    count_rest(&history->counts, event->rest);
    count_edges(&look);
    end->in_handed = position;
    return take(&look) < 0 || look.error < 0 ? -ENOMEM : 1;
}
