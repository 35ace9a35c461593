/* SPDX-License-Identifier: MIT */
/*
 * sharing.c: what an end needs only if several streams use it, or if bytes are received before their SEND is
 * reported.
 *
 *      senders  | stream 3 | stream 8 |     takers  | stream 5 | stream 9 |
 *      ahead    | 60..75 | 80..96 |         received; their SENDs have not been noted yet
 */
#include "history/positions.h"
#include "history/streams.h"

#include <errno.h>
#include <stdlib.h>

struct sharing *sharing_of(struct end *end)
{
    if (end->sharing == NULL)
        end->sharing = calloc(1, sizeof(*end->sharing));
    return end->sharing;
}

#define WHO_MOST 4096u

int sharing_add_who(struct history *history, struct who **list, uint32_t *count, size_t *capacity,
                    struct who who)
{
    for (uint32_t i = 0; i < *count; i++)
        if (is_same_who((*list)[i], who))
            return 0;
    for (uint32_t i = 0; i < *count; i++)
        if (stream_who(history, (*list)[i]) == NULL) {
            (*list)[i] = who;
            return 0;
        }
    if (*count == WHO_MOST) {
        history->counts.forgotten_streams++;
        return 0;
    }
    if (array_reserve(list, capacity, *count + 1, sizeof(**list)) < 0)
        return -ENOMEM;
    (*list)[(*count)++] = who;
    return 0;
}

bool streams_are_past(const struct history *history, const struct end *end, const struct who *who,
                      uint32_t count, uint64_t time, bool in_calls)
{
    const struct origin *origin = &history->origins[end->origin];
    bool moment_over =
        origin->progress == UINT64_MAX ||
        (origin->tells && origin->progress > time && origin->progress - time > MOMENT);

    for (uint32_t i = 0; i < count; i++) {
        const struct stream *stream = stream_who(history, who[i]);
        if (stream == NULL || stream->terminated)
            continue;
        if (in_calls && stream->open == end && stream->open_began < time)
            return false;
        if (!moment_over && stream->read_time < time)
            return false;
    }
    return true;
}

#define RANGES_MOST 256

static int add_range(struct history *history, struct sharing *sharing, struct range range)
{
    if (sharing->ahead_count == RANGES_MOST) {
        history->counts.forgotten_ranges++;
        return 0;
    }
    if (array_reserve(&sharing->ahead, &sharing->ahead_capacity, sharing->ahead_count + 1,
                      sizeof(*sharing->ahead)) < 0)
        return -ENOMEM;
    sharing->ahead[sharing->ahead_count++] = range;
    return 0;
}

int64_t sharing_take_back(struct history *history, struct sharing *sharing, uint64_t from,
                          uint64_t to)
{
    struct range above = {0};
    uint32_t kept = 0;
    uint32_t taken = 0;

    for (uint32_t i = 0; i < sharing->ahead_count; i++) {
        struct range range = sharing->ahead[i];
        uint64_t low = range.from > from ? range.from : from;
        uint64_t high = range.to < to ? range.to : to;
        if (low >= high) {
            sharing->ahead[kept++] = range;
            continue;
        }
        taken += (uint32_t)(high - low);
        if (range.from < low)
            sharing->ahead[kept++] = (struct range){range.from, low};
        if (range.to > high && range.from < low)
            above = (struct range){high, range.to};
        else if (range.to > high)
            sharing->ahead[kept++] = (struct range){high, range.to};
    }
    sharing->ahead_count = kept;
    return above.to > 0 && add_range(history, sharing, above) < 0 ? -ENOMEM : (int64_t)taken;
}

int sharing_note_ahead(struct history *history, struct end *end, uint64_t from, uint64_t to)
{
    struct sharing *sharing = sharing_of(end);

    if (sharing == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < sharing->ahead_count; i++) {
        struct range *range = &sharing->ahead[i];
        if (range->to == from || range->from == to) {
            range->from = range->from < from ? range->from : from;
            range->to = range->to > to ? range->to : to;
            return 0;
        }
    }
    return add_range(history, sharing, (struct range){from, to});
}
