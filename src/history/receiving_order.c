/* SPDX-License-Identifier: MIT */
/*
 * receiving_order.c: a RECEIVE, if the order of its SENDs (or, of a pipe, its own position) is not certain (sends.c).
 *
 *      RECEIVE          low |<---------->| high
 *      SENDs      |--- p ---|--- s ---|--- t ---|
 *                   <-------------> after         bytes of p may be in it, those of s are: each gets an edge
 *
 * Every possible sender gets an edge. For that the RECEIVE waits until no further one can come.
 */
#include "history/positions.h"
#include "history/receiving_look.h"

/* How much calls in progress may put before the end of a SEND that ended at `time`, in addition to its position. */
static uint64_t calls_before(const struct end *from, uint64_t time)
{
    uint64_t bytes = 0;

    for (const struct stream *open = from->opens; open != NULL; open = open->next_open)
        if (open->open_began < time)
            bytes += open->open_bytes;
    return bytes;
}

/* Everything before this has been sent, as SENDs and SENDCALLs report; `handed`: those handed out. A call that began
 * after the RECEIVE does not count: it is unrelated, or even an effect of it. */
static uint64_t told_up_to(const struct look *look, bool handed)
{
    const struct end *from = look->from;
    uint64_t position = from->out_end;

    for (const struct stream *open = from->opens; open != NULL; open = open->next_open)
        if (open->open_began < look->record->header.time)
            position += handed ? open->open_handed_bytes : open->open_bytes;
    return position;
}

/* Looks for holes among the SENDs, and for bytes beyond them and the calls in progress. Returns when the last SEND in
 * the range ended. */
static uint64_t look_for_gaps(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    uint64_t told = told_up_to(look, look->forced);
    uint64_t at = look->low;
    uint64_t last = 0;
    uint32_t index;

    for (index = sends_first_behind(look->from, look->low);
         index < sends->end && sends->at[index].position < look->high; index++) {
        const struct sent *sent = &sends->at[index];
        uint64_t end = sent->position + sent_length(look->from, sent);
        if (sent->position > at)
            look_missing(look, at, sent->position, sent);
        if (sent->time > last)
            last = sent->time;
        at = end > at ? end : at;
    }
    if (at < look->high &&
        at < look->from->out_end) { /* the rest was received and freed long ago */
        const struct sent *next = index < sends->end ? &sends->at[index] : NULL;
        uint64_t end = look->high < look->from->out_end ? look->high : look->from->out_end;
        look_missing(look, at, end, next);
        at = end;
    }
    if (at < look->high && told < look->high)
        look_missing(look, at > told ? at : told, look->high, NULL);
    else if (at < look->high && told_up_to(look, true) < look->high)
        look_wait(look, look->from->origin, UINT64_MAX - 1);
    return last;
}

static void wait_for_others(struct look *look, const struct end *end, const struct who *who,
                            uint32_t count, uint64_t time)
{
    if (look->forced || streams_are_past(look->history, end, who, count, time, false))
        return;
    look->wait->impatient = true;
    if (look->history->origins[end->origin].tells)
        look_wait(look, end->origin, time > UINT64_MAX - 2 * MOMENT ? time : time + MOMENT);
    else
        look_wait(look, end->origin, UINT64_MAX - 1);
}

/* A SEND reports that another one was in progress, whose stream is not known yet. */
static void wait_for_another(struct look *look, uint64_t time)
{
    if (look->forced || !look->history->origins[look->from->origin].tells)
        return;
    look->wait->impatient = true;
    look_moment_over(look, look->from->origin, time);
}

/* Whether something took the bytes before this RECEIVE from the pipe in a call that is not known yet: the two calls may
 * have overlapped. */
static bool follows_another(const struct look *look)
{
    const struct end *end = look->end;
    uint64_t begins = end->in_start + end->in_shift;

    return end->counted_in && !look->from->packets && end->sharing != NULL &&
           end->sharing->taker_count == 1 &&
           look->low > (end->in_end > begins ? end->in_end : begins);
}

/* This RECEIVE among the takes of its pipe; NULL: it is not there. */
static const struct sent *own_place(const struct look *look)
{
    const struct end *end = look->end;

    if (!end->counted_in || end->sharing == NULL)
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
    uint64_t end = sent->position + sent_length(look->from, sent) + sent->after + calls;
    bool exact = range_is_certain && !sent->concurrent && sent->before == 0 && sent->after == 0 &&
                 calls == 0;

    if (begin >= high || end <= low)
        return;
    if (!exact && sent->began >= look->record->header.time)
        return; /* it began after the RECEIVE */
    uint64_t bytes = (end < high ? end : high) - (begin > low ? begin : low);
    if (kind_counts_messages(look->from->kind) || bytes > sent->bytes)
        bytes = sent->bytes;
    if (bytes > look->record->message.bytes)
        bytes = look->record->message.bytes;
    look_add_send(look, exact ? EDGE_EXACT : EDGE_ORDERED, sent, bytes);
}

/* Bytes of a call in progress may precede all SENDs that ended after it began. */
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
        look_add_call(look, EDGE_ORDERED, open,
                      least(look->record->message.bytes, open->open_bytes));
    else if (!look->forced)
        look_wait(look, from->origin, UINT64_MAX - 1);
}

/* The same for what lies behind the RECEIVE's own position, as it may have taken that. */
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

/* Whether a SEND in the range reports that another one was in progress. */
static bool is_concurrent(const struct look *look, uint64_t low, uint64_t high)
{
    const struct sends *sends = &look->from->sends;

    for (uint32_t i = sends_first_behind(look->from, low);
         i < sends->end && sends->at[i].position < high; i++)
        if (sends->at[i].concurrent)
            return true;
    return false;
}

static bool sees_calls_only(const struct look *look)
{
    return look->history->origins[look->from->origin].meter == METER_PTRACE;
}

/* Whether the RECEIVE reports that another one was in progress, whose stream may not be known yet. */
static bool is_concurrent_receive(const struct look *look)
{
    return (look->record->header.flags & RECORD_CONCURRENT) && !look_is_confused(look);
}

/* Notes bytes that no candidate can have sent: a sender has lost a record, and others have its position. */
static void note_shortfall(struct look *look)
{
    uint64_t found = look->missing;
    uint64_t length = length_of(look->end->kind, look->record->message.bytes);

    for (uint32_t i = 0; i < look->history->edge_count; i++)
        found += length_of(look->end->kind, look->history->edges[i].bytes);
    if (found < length)
        look_note_missing(look, length - found, look_why_missing(look));
}

void look_order(struct look *look)
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
    /* during calls in progress others may have sent among their bytes, and not reported it yet */
    if (from->opens != NULL && last < look->record->header.time)
        last = look->record->header.time;
    if (from->several)
        wait_for_others(look, from, from->sharing->senders, from->sharing->sender_count, last);
    if (is_concurrent(look, low, high) ||
        (!sees_calls_only(look) && !from->several && place == NULL))
        wait_for_another(look, last);
    if (place != NULL && look->end->sharing->taker_count > 1)
        wait_for_others(look, look->end, look->end->sharing->takers,
                        look->end->sharing->taker_count, look->record->header.time);
    if (is_concurrent_receive(look) ||
        (place != NULL && look->end->sharing->taker_count == 1 && follows_another(look)))
        wait_for_another(look, look->record->header.time);
    if (look->waits)
        return;
    uint64_t reach = sends->most_after + calls_before(from, UINT64_MAX);
    for (uint32_t i = sends_first_behind(look->from, low > reach ? low - reach : 0);
         i < sends->end && look->error == 0; i++) {
        if (sends->at[i].position >= high + sends->most_before)
            break;
        add_candidate(look, &sends->at[i], low, high, certain);
    }
    for (const struct stream *open = from->opens; open != NULL; open = open->next_open)
        add_call_candidate(look, open, low, high);
    if (!look->waits)
        note_shortfall(look);
}

bool look_needs_order(const struct look *look)
{
    const struct end *end = look->end;

    return look->from->several || (end->sharing != NULL && end->sharing->taker_count > 1) ||
           follows_another(look) || is_concurrent_receive(look) ||
           (look->from->counted && is_concurrent(look, look->low, look->high));
}
