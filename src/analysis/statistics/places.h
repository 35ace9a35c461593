/* SPDX-License-Identifier: MIT */
/*
 * places.h: objects of streams or ends, by the indexes that the history gives them. Private to statistics/.
 *
 *      index 300 --> chunk 1, object 44        300 = 1 * 256 + 44; objects never move; the indexes are dense
 */
#ifndef DPM_PLACES_H
#define DPM_PLACES_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_CHUNK 256u /* objects */

/* All zero except `size`: empty. */
struct places {
    size_t size; /* of an object, bytes */
    char **chunks;
    size_t capacity; /* chunks */
};

/* A chunk of zeros, aligned to a cache line of 64 bytes. NULL: out of memory. */
static inline char *places_chunk(size_t size)
{
    void *chunk = NULL;

    if (posix_memalign(&chunk, 64, PLACES_CHUNK * size) != 0)
        return NULL;
    return memset(chunk, 0, PLACES_CHUNK * size);
}

/* The object at an index, all zero if it was never used. NULL: out of memory. */
static inline void *places_at(struct places *places, uint32_t place)
{
    uint32_t chunk = place / PLACES_CHUNK;

    if (chunk >= places->capacity &&
        array_reserve(&places->chunks, &places->capacity, chunk + 1UL, sizeof(*places->chunks)) < 0)
        return NULL;
    if (places->chunks[chunk] == NULL)
        places->chunks[chunk] = places_chunk(places->size);
    return places->chunks[chunk] == NULL
               ? NULL
               : places->chunks[chunk] + (place % PLACES_CHUNK) * places->size;
}

/* All objects have a smaller index than this. */
static inline uint32_t places_end(const struct places *places)
{
    return (uint32_t)(places->capacity * PLACES_CHUNK);
}

/* The object at an index; NULL: no object of its chunk was ever used. */
static inline void *places_find(const struct places *places, uint32_t place)
{
    uint32_t chunk = place / PLACES_CHUNK;

    return chunk >= places->capacity || places->chunks[chunk] == NULL
               ? NULL
               : places->chunks[chunk] + (place % PLACES_CHUNK) * places->size;
}

/* Prefetches an object that is needed soon, all its cache lines at once, so that their loads overlap. */
static inline void places_fetch(const struct places *places, uint32_t place)
{
    const char *object = places_find(places, place);

    for (size_t at = 0; object != NULL && at < places->size; at += 64)
        __builtin_prefetch(object + at, 1);
}

static inline void places_done(struct places *places)
{
    for (size_t i = 0; i < places->capacity; i++)
        free(places->chunks[i]);
    free(places->chunks);
    places->chunks = NULL;
    places->capacity = 0;
}

#endif
