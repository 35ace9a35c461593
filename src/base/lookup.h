/* SPDX-License-Identifier: MIT */
/*
 * lookup.h: tables that forget: numbers that are found, places for what they stand for, and room for lists of it.
 *
 *      key --lookup--> index --pool--> object, which stays where it is
 *                                        '--rooms--> list, empty at most times
 */
#ifndef DPM_LOOKUP_H
#define DPM_LOOKUP_H

#include "base/base.h"

/* A 64-bit key to an index; all zero is empty. */
struct lookup {
    struct lookup_slot *slots;
    uint32_t count;
    uint32_t slot_count; /* a power of two, or 0 */
};

#define LOOKUP_NONE UINT32_MAX

/* LOOKUP_NONE: it is not there. */
uint32_t lookup_find(const struct lookup *lookup, uint64_t key);

/* Sets it, whether it is there or not. Returns 0 or -ENOMEM. */
int lookup_set(struct lookup *lookup, uint64_t key, uint32_t index);
void lookup_remove(struct lookup *lookup, uint64_t key);
void lookup_done(struct lookup *lookup);

/* Objects of one size, which are used again. An all-zero one with its size is empty. */
struct pool {
    size_t size;
    char **chunks;
    size_t chunk_capacity;
    uint32_t used; /* objects that have been in use */
    uint32_t *free;
    uint32_t free_count;
    size_t free_capacity;
};

#define POOL_CHUNK 256u /* objects */

/* Where the compiler knows the size it need not multiply. */
static inline void *pool_at_sized(const struct pool *pool, uint32_t index, size_t size)
{
    return pool->chunks[index / POOL_CHUNK] + (index % POOL_CHUNK) * size;
}

static inline void *pool_at(const struct pool *pool, uint32_t index)
{
    return pool_at_sized(pool, index, pool->size);
}

/* Returns the index of an object that is all zero, or -ENOMEM. */
int64_t pool_take(struct pool *pool);

/* Makes it free, and all zero. */
void pool_give(struct pool *pool, uint32_t index);
void pool_done(struct pool *pool);

/* Memory of many lists of objects of one size, which are short and empty at most times: the room of one that has become
 * empty is the next one's. All-zero ones with a size are empty. */
struct rooms {
    size_t size;
    void *spare; /* each begins with the address of the next */
};

#define ROOMS_FIRST 2u /* objects */

/* The list with a larger capacity; what is in it stays the same. NULL: out of memory, and the list is as it was.
 * A list without room is NULL with a capacity of 0. */
void *rooms_grow(struct rooms *rooms, void *list, uint32_t *capacity);
/* The list is empty, and without room from now on. */
void rooms_give(struct rooms *rooms, void *list, uint32_t capacity);
void rooms_done(struct rooms *rooms);

#endif
