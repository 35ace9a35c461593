/* SPDX-License-Identifier: MIT */
/*
 * keeping.c: texts and lists that the rows of a result point to, each kept once; and freeing a result.
 *
 *      pairs:   client > {1, 2}   server > {1, 2}   ...
 *                          \__________ | ___
 *      pieces:  "client"          {1, 2}        ...       found by the hash of their bytes
 */
#include "analysis/statistics/files.h"
#include "analysis/statistics/rows.h"

#include <stdlib.h>
#include <string.h>

/* In the rare case of a hash collision, the later one uses the next key. */
const void *communication_keep(struct communication *communication, const void *bytes, size_t size)
{
    for (uint64_t key = hash_bytes(size, bytes, size);; key++) {
        uint32_t count = communication->piece_keys.count;
        if (array_reserve(&communication->pieces, &communication->piece_capacity, (size_t)count + 1,
                          sizeof(*communication->pieces)) < 0)
            return NULL;
        int64_t index = intern_add(&communication->piece_keys, key);
        if (index < 0)
            return NULL;
        struct communication_piece *piece = &communication->pieces[index];
        if (piece->bytes == NULL) {
            piece->size = size;
            piece->bytes = arena_allocate(&communication->memory, size + 1);
            if (piece->bytes != NULL && size > 0)
                memcpy(piece->bytes, bytes, size);
            return piece->bytes;
        }
        if (piece->size == size && memcmp(piece->bytes, bytes, size) == 0)
            return piece->bytes;
    }
}

const void *communication_find(const struct communication *communication, const void *bytes,
                               size_t size)
{
    for (uint64_t key = hash_bytes(size, bytes, size);; key++) {
        int64_t index = intern_find(&communication->piece_keys, key);
        const struct communication_piece *piece = index < 0 ? NULL : &communication->pieces[index];
        if (piece == NULL || piece->bytes == NULL)
            return NULL;
        if (piece->size == size && memcmp(piece->bytes, bytes, size) == 0)
            return piece->bytes;
    }
}

const char *communication_keep_text(struct communication *communication, const char *text)
{
    return communication_keep(communication, text, strlen(text) + 1);
}

static void drop_processes(struct communication *communication)
{
    for (size_t i = 0; i < communication->process_count; i++) {
        histogram_done(&communication->processes[i].sizes);
        times_done(&communication->processes[i].times);
    }
    free(communication->processes);
    communication->processes = NULL;
    communication->process_count = 0;
}

static void drop_pairs(struct communication *communication)
{
    for (size_t i = 0; i < communication->pair_count; i++) {
        histogram_done(&communication->pairs[i].sizes);
        times_done(&communication->pairs[i].times);
    }
    intern_done(&communication->pair_keys);
    free(communication->pairs);
    communication->pairs = NULL;
    communication->pair_count = communication->pair_capacity = 0;
}

static void drop_paths(struct communication *communication)
{
    for (size_t i = 0; i < communication->path_count; i++) {
        histogram_done(&communication->paths[i].sizes);
        histogram_done(&communication->paths[i].open_responses);
        histogram_done(&communication->paths[i].open_requests);
        times_done(&communication->paths[i].times);
    }
    free(communication->paths);
}

static void drop_failures(struct communication *communication)
{
    for (size_t i = 0; i < communication->failure_count; i++)
        histogram_done(&communication->failures[i].times);
    free(communication->failures);
}

void communication_free(struct communication *communication)
{
    if (communication == NULL)
        return;
    drop_processes(communication);
    drop_pairs(communication);
    drop_paths(communication);
    drop_failures(communication);
    arena_done(&communication->memory);
    free(communication->pieces);
    intern_done(&communication->piece_keys);
    free(communication->machines);
    free(communication->cgroups);
    free(communication->decisions);
    free(communication->intervals);
    free(communication->procedures);
    if (communication->files != NULL)
        file_rows_done(communication->files, communication->file_count);
    free(communication->files);
    free(communication->inputs);
    free(communication->shared);
    free(communication);
}
