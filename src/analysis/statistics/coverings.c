/* SPDX-License-Identifier: MIT */
/* coverings.c: the time covered by waits of each kind, process and peer. See coverings.h. */
#include "analysis/statistics/coverings.h"

#include <errno.h>
#include <stdlib.h>

#define ROW_BITS 28 /* there are fewer rows */

static uint64_t key_of(enum covering_kind kind, uint32_t process, uint32_t peer)
{
    const uint64_t mask = (1u << ROW_BITS) - 1;

    return (uint64_t)kind << (2 * ROW_BITS) | (process & mask) << ROW_BITS | (peer & mask);
}

/* LOOKUP_NONE: there are too many. Returns 0 or -ENOMEM. */
static int find(struct coverings *coverings, uint64_t key, uint32_t *ret_index)
{
    *ret_index = lookup_find(&coverings->keys, key);
    if (*ret_index != LOOKUP_NONE || coverings->count == MOST_COVERINGS)
        return 0;
    if (array_reserve(&coverings->list, &coverings->capacity, coverings->count + 1UL,
                      sizeof(*coverings->list)) < 0 ||
        lookup_set(&coverings->keys, key, coverings->count) < 0)
        return -ENOMEM;
    coverings->list[coverings->count] = (struct covered){0};
    *ret_index = coverings->count++;
    return 0;
}

int coverings_add(struct coverings *coverings, enum covering_kind kind, uint32_t process,
                  uint32_t peer, uint64_t from, uint64_t to)
{
    uint32_t index;

    if (to <= from)
        return 0;
    int result = find(coverings, key_of(kind, process, peer), &index);
    if (result == 0 && index != LOOKUP_NONE)
        covered_add(&coverings->list[index], from, to);
    return result;
}

uint64_t coverings_time(const struct coverings *coverings, enum covering_kind kind,
                        uint32_t process, uint32_t peer, uint64_t sum)
{
    uint32_t index = lookup_find(&coverings->keys, key_of(kind, process, peer));
    uint64_t time = index == LOOKUP_NONE ? sum : covered_time(&coverings->list[index]);

    return time < sum ? time : sum;
}

uint64_t coverings_known(const struct coverings *coverings, enum covering_kind kind,
                         uint32_t process, uint32_t peer)
{
    uint32_t index = lookup_find(&coverings->keys, key_of(kind, process, peer));

    return index == LOOKUP_NONE ? 0 : covered_time(&coverings->list[index]);
}

void coverings_done(struct coverings *coverings)
{
    lookup_done(&coverings->keys);
    free(coverings->list);
    *coverings = (struct coverings){0};
}
