/* SPDX-License-Identifier: MIT */
/*
 * lookup.h: lookup tables with removal, pools of objects, and memory for many short lists.
 *
 *      key --lookup--> index --pool--> object, whose address never changes
 *                                        '--rooms--> list, usually empty
 */
#ifndef DPM_LOOKUP_H
#define DPM_LOOKUP_H

#include "base/base.h"

/* Maps a 64-bit key to an index. An all-zero struct is empty. */
struct lookup {
    struct lookup_slot *slots;
    uint32_t count;
    uint32_t slot_count; /* a power of two, or 0 */
};

#define LOOKUP_NONE UINT32_MAX

/* The index of `key`, or LOOKUP_NONE. */
uint32_t lookup_find(const struct lookup *lookup, uint64_t key);

/* Adds or replaces the index of `key`. Returns 0 or -ENOMEM. */
int lookup_set(struct lookup *lookup, uint64_t key, uint32_t index);
void lookup_remove(struct lookup *lookup, uint64_t key);
void lookup_done(struct lookup *lookup);

/* Objects of one size that are reused after release. A struct with `size` set and everything else zero is empty. */
struct pool {
    size_t size;
    char **chunks;
    size_t chunk_capacity;
    uint32_t used; /* objects ever handed out */
    uint32_t *free;
    uint32_t free_count;
    size_t free_capacity;
};

#define POOL_CHUNK 256u /* objects */

/* A constant `size` spares the multiplication. */
static inline void *pool_at_sized(const struct pool *pool, uint32_t index, size_t size)
{
    return pool->chunks[index / POOL_CHUNK] + (index % POOL_CHUNK) * size;
}

static inline void *pool_at(const struct pool *pool, uint32_t index)
{
    return pool_at_sized(pool, index, pool->size);
}

/* Returns the index of an all-zero object, or -ENOMEM. */
int64_t pool_take(struct pool *pool);

/* Releases the object and zeroes it. */
void pool_give(struct pool *pool, uint32_t index);
void pool_done(struct pool *pool);

/* Memory for many lists of objects of one size. Most lists are short and usually empty, so a list that becomes empty
 * passes its memory on to the next one. A struct with `size` set and everything else zero is empty. */
struct rooms {
    size_t size;
    void *spare; /* free memory of lists; each piece begins with the address of the next */
};

#define ROOMS_FIRST 2u /* objects */

/* Returns the list with a larger capacity and the same contents, or NULL (out of memory; the list is unchanged). A
 * list without memory is NULL with capacity 0. */
void *rooms_grow(struct rooms *rooms, void *list, uint32_t *capacity);
/* Takes back the memory of an empty list. */
void rooms_give(struct rooms *rooms, void *list, uint32_t capacity);
void rooms_done(struct rooms *rooms);

#endif
