/* SPDX-License-Identifier: MIT */
/*
 * lookup.c: lookup tables with removal. See lookup.h.
 *
 *      slots   | . | k | k | . | k | . | . | k |     open addressing: a key is in its own slot or after it,
 *                    '-------'                       with no free slot in between
 */
#include "base/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Packed: padding would take a quarter of the memory of the many slots. */
struct __attribute__((packed, aligned(4))) lookup_slot {
    uint64_t key;
    uint32_t index_and_1; /* 0: free */
};

static uint32_t own_slot(const struct lookup *lookup, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (lookup->slot_count - 1);
}

static uint32_t find_slot(const struct lookup *lookup, uint64_t key)
{
    uint32_t slot = own_slot(lookup, key);

    while (lookup->slots[slot].index_and_1 != 0 && lookup->slots[slot].key != key)
        slot = (slot + 1) & (lookup->slot_count - 1);
    return slot;
}

uint32_t lookup_find(const struct lookup *lookup, uint64_t key)
{
    return lookup->slot_count == 0 ? LOOKUP_NONE
                                   : lookup->slots[find_slot(lookup, key)].index_and_1 - 1;
}

#define FULL_AT 3 /* quarters: fuller tables are slower, emptier ones larger */

static int grow(struct lookup *lookup)
{
    struct lookup old = *lookup;
    uint32_t slot_count = old.slot_count == 0 ? 16 : old.slot_count * 2;
    struct lookup_slot *slots = slot_count == 0 ? NULL : calloc(slot_count, sizeof(*slots));

    if (slots == NULL)
        return -ENOMEM;
    lookup->slots = slots;
    lookup->slot_count = slot_count;
    for (uint32_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].index_and_1 != 0)
            slots[find_slot(lookup, old.slots[i].key)] = old.slots[i];
    free(old.slots);
    return 0;
}

int lookup_set(struct lookup *lookup, uint64_t key, uint32_t index)
{
    if (lookup->count >= lookup->slot_count / 4 * FULL_AT && grow(lookup) < 0)
        return -ENOMEM;
    struct lookup_slot *slot = &lookup->slots[find_slot(lookup, key)];
    lookup->count += slot->index_and_1 == 0;
    *slot = (struct lookup_slot){key, index + 1};
    return 0;
}

/* Knuth, The Art of Computer Programming 3, 6.4, algorithm R: moves up the entries that the hole would hide. */
void lookup_remove(struct lookup *lookup, uint64_t key)
{
    if (lookup->slot_count == 0)
        return;
    uint32_t mask = lookup->slot_count - 1;
    uint32_t empty = find_slot(lookup, key);
    if (lookup->slots[empty].index_and_1 == 0)
        return;
    for (uint32_t at = (empty + 1) & mask; lookup->slots[at].index_and_1 != 0;
         at = (at + 1) & mask) {
        uint32_t own = own_slot(lookup, lookup->slots[at].key);
        if (((at - own) & mask) >= ((at - empty) & mask)) {
            lookup->slots[empty] = lookup->slots[at];
            empty = at;
        }
    }
    lookup->slots[empty].index_and_1 = 0;
    lookup->count--;
}

void lookup_done(struct lookup *lookup)
{
    free(lookup->slots);
    *lookup = (struct lookup){0};
}

/* Aligned to a cache line. */
static void *new_chunk(size_t size)
{
    size_t whole = (POOL_CHUNK * size + 63) / 64 * 64;
    void *chunk = aligned_alloc(64, whole);

    return chunk == NULL ? NULL : memset(chunk, 0, whole);
}

int64_t pool_take(struct pool *pool)
{
    if (pool->free_count > 0)
        return pool->free[--pool->free_count];
    uint32_t chunk = pool->used / POOL_CHUNK;
    if (pool->used == UINT32_MAX - 1 ||
        array_reserve(&pool->free, &pool->free_capacity, (size_t)pool->used + 1,
                      sizeof(*pool->free)) < 0 ||
        array_reserve(&pool->chunks, &pool->chunk_capacity, (size_t)chunk + 1,
                      sizeof(*pool->chunks)) < 0)
        return -ENOMEM;
    if (pool->chunks[chunk] == NULL)
        pool->chunks[chunk] = new_chunk(pool->size);
    return pool->chunks[chunk] == NULL ? -ENOMEM : (int64_t)pool->used++;
}

void pool_give(struct pool *pool, uint32_t index)
{
    memset(pool_at(pool, index), 0, pool->size);
    pool->free[pool->free_count++] = index;
}

void pool_done(struct pool *pool)
{
    for (size_t i = 0; i < pool->chunk_capacity; i++)
        free(pool->chunks[i]);
    free(pool->chunks);
    free(pool->free);
    *pool = (struct pool){.size = pool->size};
}

/* ---- lists ---- */

static void *take_spare(struct rooms *rooms)
{
    void *room = rooms->spare;

    memcpy(&rooms->spare, room, sizeof(rooms->spare));
    return room;
}

void *rooms_grow(struct rooms *rooms, void *list, uint32_t *capacity)
{
    uint32_t wanted = *capacity == 0 ? ROOMS_FIRST : *capacity + *capacity / 2 + 1;
    void *grown;

    if (wanted > UINT32_MAX / 2)
        return NULL;
    if (*capacity == 0 && rooms->spare != NULL)
        grown = take_spare(rooms);
    else if (*capacity > ROOMS_FIRST)
        grown = realloc(list, wanted * rooms->size);
    else
        grown = malloc(wanted * rooms->size);
    if (grown == NULL)
        return NULL;
    if (*capacity == ROOMS_FIRST) {
        memcpy(grown, list, ROOMS_FIRST * rooms->size);
        rooms_give(rooms, list, ROOMS_FIRST);
    }
    *capacity = wanted;
    return grown;
}

void rooms_give(struct rooms *rooms, void *list, uint32_t capacity)
{
    if (capacity != ROOMS_FIRST) {
        free(list);
        return;
    }
    memcpy(list, &rooms->spare, sizeof(rooms->spare));
    rooms->spare = list;
}

void rooms_done(struct rooms *rooms)
{
    while (rooms->spare != NULL)
        free(take_spare(rooms));
}
