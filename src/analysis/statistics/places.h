/* SPDX-License-Identifier: MIT */
/*
 * places.h: what an analysis knows of streams or ends, by the places that the history gives them. Private to statistics/.
 *
 *      place 300 --> chunk 1, object 44        objects stay where they are; the places are dense
 */
#ifndef DPM_PLACES_H
#define DPM_PLACES_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_CHUNK 256u /* objects */

/* All zero with a size is empty. */
struct places {
    size_t size; /* of an object */
    char **chunks;
    size_t capacity; /* of them */
};

/* For objects that are aligned to lines of the cache. NULL: out of memory. */
static inline char *places_chunk(size_t size)
{
    void *chunk = NULL;

    if (posix_memalign(&chunk, 64, PLACES_CHUNK * size) != 0)
        return NULL;
    return memset(chunk, 0, PLACES_CHUNK * size);
}

/* The object at a place, all zero if it was never used; NULL: out of memory. */
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

/* One behind the last place that there is an object at. */
static inline uint32_t places_end(const struct places *places)
{
    return (uint32_t)(places->capacity * PLACES_CHUNK);
}

/* NULL: it was never used. */
static inline void *places_find(const struct places *places, uint32_t place)
{
    uint32_t chunk = place / PLACES_CHUNK;

    return chunk >= places->capacity || places->chunks[chunk] == NULL
               ? NULL
               : places->chunks[chunk] + (place % PLACES_CHUNK) * places->size;
}

/* What is asked for together arrives together: the object at a place will be needed. */
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
