/* SPDX-License-Identifier: MIT */
/*
 * sends.c: a list of SENDs in flight (or of a pipe's RECEIVEs), by position, and what is certain of their order.
 *
 *      at | (free) | first: 40..60 | 60..75 | 75..90 | end: (free) |
 *
 * Order. Positions of TCP are exact. Others are counted when the call ends, but the bytes may have entered the queue
 * earlier in the call. So if two calls overlap in time, the one that ends first has the smaller position, whichever
 * bytes are first in the queue. A call that began after another had ended is certainly behind it.
 *
 *      call p   |----------|              p and s: not certain
 *      call s        |----------|         s and t: certain
 *      call t                    |----|
 *
 * So `before` of a SEND is how much of what has smaller positions is not certain to be before it, `after` the same for
 * larger ones, and its bytes are somewhere in [position - before, position + length + after).
 *
 * Example: p sends 10 bytes and ends first: position 0. s sends 20: position 10. t sends 5: position 30.
 *
 *      p: before 0,  after 20:  its bytes are in [0, 30)
 *      s: before 10, after 0:   its bytes are in [0, 30)
 *      t: before 0,  after 0:   its bytes are in [30, 35)
 */
#include "history/positions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

uint32_t sends_search(const struct sends *sends, uint64_t position)
{
    uint32_t low = sends->first;
    uint32_t high = sends->end;

    if (low < high && sends->at[high - 1].position < position)
        return high;
    if (low < high && sends->at[low].position >= position)
        return low;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sends->at[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t sends_first_behind(const struct end *end, uint64_t position)
{
    const struct sends *sends = &end->sends;
    uint32_t index = sends_search(sends, position + 1);

    while (index > sends->first &&
           sends->at[index - 1].position + sent_length(end, &sends->at[index - 1]) > position)
        index--;
    return index;
}

/* Makes space for one more at the end. */
static int make_room(struct rooms *rooms, struct sends *sends)
{
    if (sends->end < sends->capacity)
        return 0;
    if (sends->first > sends->capacity / 4) {
        memmove(sends->at, sends->at + sends->first, sends_count(sends) * sizeof(*sends->at));
        sends->end -= sends->first;
        sends->first = 0;
        return 0;
    }
    struct sent *at = rooms_grow(rooms, sends->at, &sends->capacity);
    if (at == NULL)
        return -ENOMEM;
    sends->at = at;
    return 0;
}

/* Most directions have nothing in flight most of the time, so an empty list gives its memory back. */
void sends_reset_if_empty(struct rooms *rooms, struct sends *sends)
{
    if (sends->first < sends->end)
        return;
    if (sends->at != NULL)
        rooms_give(rooms, sends->at, sends->capacity);
    *sends = (struct sends){0};
}

int64_t sends_insert(struct rooms *rooms, struct sends *sends, const struct sent *sent)
{
    uint32_t index = sends_search(sends, sent->position) - sends->first;

    if (sends_count(sends) - index > OVERTAKEN_BY_MOST)
        return -ERANGE;
    if (make_room(rooms, sends) < 0)
        return -ENOMEM;
    index += sends->first; /* make_room may have moved them */
    while (index < sends->end && sends->at[index].position == sent->position)
        index++;
    memmove(sends->at + index + 1, sends->at + index, (sends->end - index) * sizeof(*sent));
    sends->at[index] = *sent;
    sends->end++;
    return index;
}

bool sends_count_anew(const struct end *end, const struct sent *sent)
{
    uint32_t index = sends_first_behind(end, sent->position);
    const struct sent *other = index < end->sends.end ? &end->sends.at[index] : NULL;

    return end->kind == PATH_UNIX_STREAM && !end->is_copy && other != NULL && sent->stream != 0 &&
           other->stream == sent->stream && other->position < sent->position + sent->bytes;
}

/* ---- order ---- */

static uint32_t add_up(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

#define LOOKED_BACK 8 /* times of neighbours may be a little out of order */

/* Notes that the one with the smaller position may be the later one. */
static void put_in_doubt(const struct end *end, struct sends *sends, struct sent *small,
                         struct sent *large)
{
    small->after = add_up(small->after, sent_length(end, large));
    large->before = add_up(large->before, sent_length(end, small));
    if (small->after > sends->most_after)
        sends->most_after = small->after;
    if (large->before > sends->most_before)
        sends->most_before = large->before;
}

static void compare_with_smaller(struct end *end, struct sends *sends, uint32_t index)
{
    struct sent *sent = &sends->at[index];
    uint32_t certain = 0;

    for (uint32_t i = index; i > sends->first && certain < LOOKED_BACK; i--) {
        struct sent *other = &sends->at[i - 1];
        if (other->time <= sent->began)
            certain++;
        else if (other->stream != sent->stream)
            put_in_doubt(end, sends, other, sent);
    }
}

void sends_compare_all(struct end *end, struct sends *sends)
{
    for (uint32_t i = sends->first; i < sends->end; i++)
        compare_with_smaller(end, sends, i);
}

void sends_compare_order(struct end *end, struct sends *sends, uint32_t index)
{
    struct sent *sent = &sends->at[index];

    compare_with_smaller(end, sends, index);
    for (uint32_t i = index + 1; i < sends->end; i++)
        if (sends->at[i].stream != sent->stream && sends->at[i].began < sent->time)
            put_in_doubt(end, sends, sent, &sends->at[i]);
}
