/* SPDX-License-Identifier: MIT */
/*
 * receiving_counts.c: a RECEIVE of a UDP datagram whose number is only a count. The ptrace meter does not see packets:
 * it counts the datagrams that each end has sent and received, so a lost one shifts all later numbers. Sizes show it:
 *
 *      SENDs      d0: 60 bytes   d1: 70 (lost)   d2: 80   d3: 90
 *      RECEIVEs   d0: 60                         d1: 80   d2: 90
 *                                                 '-- not d1, whose size differs: from here on one is added
 *
 * A datagram is received as a whole, or cut to what its receiver has asked for. So the SEND has the size of the RECEIVE
 * if there is one, and is not smaller; and its call has begun before the RECEIVE, if both have one clock. Among these
 * the next one counts, in the order of numbers. All such edges are inferred.
 *
 * The meter may learn later how many datagrams the socket has dropped, and then skips as many numbers. Those that were
 * already skipped because of sizes (`skipped`) are not skipped again.
 */
#include "history/positions.h"
#include "history/receiving_look.h"

/* SENDs: how far a RECEIVE may be behind, if datagrams overtake each other; and how many that began after the RECEIVE
 * are looked at until it is clear that all others did, too. */
#define LOOKED_BACK 1024u
#define LATER_MOST  64u

bool look_counts(const struct look *look)
{
    const struct origin *origins = look->history->origins;

    return look->end->kind == PATH_UDP && (origins[look->end->origin].meter == METER_PTRACE ||
                                           origins[look->from->origin].meter == METER_PTRACE);
}

static bool began_later(const struct look *look, const struct sent *sent)
{
    return look->one_clock && sent->began >= look->record->header.time;
}

/* Whether the RECEIVE may have taken this one; `whole`: all of it. */
static bool may_be(const struct look *look, const struct sent *sent, bool whole)
{
    uint32_t bytes = look->record->message.bytes;

    return sent->left > 0 && (whole ? sent->bytes == bytes : sent->bytes >= bytes) &&
           !began_later(look, sent);
}

/* The first one from this index on. */
static const struct sent *find_ahead(const struct look *look, uint32_t index, bool whole)
{
    const struct sends *sends = &look->from->sends;
    uint32_t later = 0;

    for (uint32_t i = index; i < sends->end && later < LATER_MOST; i++) {
        if (may_be(look, &sends->at[i], whole))
            return &sends->at[i];
        later += began_later(look, &sends->at[i]);
    }
    return NULL;
}

/* The last one before this index. */
static const struct sent *find_behind(const struct look *look, uint32_t index)
{
    const struct sends *sends = &look->from->sends;
    uint32_t first = index - sends->first > LOOKED_BACK ? index - LOOKED_BACK : sends->first;

    for (uint32_t i = index; i > first; i--)
        if (may_be(look, &sends->at[i - 1], true))
            return &sends->at[i - 1];
    return NULL;
}

/* How many of the numbers that the RECEIVE's meter has skipped are skipped here, too. */
static uint32_t skipped_twice(const struct look *look)
{
    const struct end *end = look->end;
    uint64_t position = look->low - end->in_shift;
    uint64_t gap = position > end->in_handed + 1 ? position - end->in_handed - 1 : 0;

    return gap < end->skipped ? (uint32_t)gap : end->skipped;
}

/* From now on, positions of the end are those of the SEND. */
static void align(struct look *look, const struct sent *sent)
{
    struct end *end = look->end;
    uint32_t twice = skipped_twice(look);
    int64_t further = (int64_t)(sent->position - (look->low - twice));

    end->skipped -= twice;
    if (further > 0)
        end->skipped += (uint32_t)further;
    else
        end->skipped -= (uint64_t)-further < end->skipped ? (uint32_t)-further : end->skipped;
    end->aligned = true;
    end->in_shift += sent->position - look->low;
    look->low = sent->position;
    look->high = look->low + 1;
}

/* Whether no SEND of this size can come any more. */
static bool is_complete(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    const struct sent *last = sends->first < sends->end ? &sends->at[sends->end - 1] : NULL;

    if (last != NULL && last->time < look->record->header.time)
        last = NULL;
    if (!look_is_missing(look, last))
        return false;
    look->waits = false;
    return true;
}

/* A receiver that has cut a datagram to this size does it again. */
static bool cuts_again(const struct look *look, const struct sent *next, uint64_t low)
{
    return next != NULL && next->position == low &&
           look->end->cut_to == look->record->message.bytes + 1;
}

static const struct sent *find_datagram(struct look *look)
{
    const struct sends *sends = &look->from->sends;
    /* before the first edge, numbers do not tell anything */
    uint64_t low = look->low - skipped_twice(look);
    uint32_t index = look->end->aligned ? sends_search(sends, low) : sends->first;
    const struct sent *next = find_ahead(look, index, false);

    if (cuts_again(look, next, low))
        return next;
    const struct sent *found = find_ahead(look, index, true);
    if (found == NULL)
        found = find_behind(look, index);
    if (found != NULL || !is_complete(look))
        return found;
    return next;
}

void look_at_counts(struct look *look)
{
    struct end *end = look->end;
    uint32_t bytes = look->record->message.bytes;
    const struct sent *sent = find_datagram(look);

    if (look->waits)
        return;
    if (sent == NULL) {
        look_note_missing(look, 1, look_why_missing(look));
        look_note_silence(look);
        look->high = look->low; /* what has this number was not received */
        return;
    }
    look_add_send(look, EDGE_INFERRED, sent, bytes);
    if (look->waits)
        return;
    if (sent->bytes > bytes)
        end->cut_to = bytes + 1;
    align(look, sent);
}
