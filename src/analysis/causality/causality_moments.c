/* SPDX-License-Identifier: MIT */
/*
 * causality_moments.c: when messages of a string came, and were answered, in intervals of the whole time.
 *
 *      width 1 ms   |3|1|0| ... |2|       CAUSALITY_MOMENTS intervals from the first message on
 *      one at 80 ms: width 2 ms |4|0| ...   they are too short now, so neighbours become one
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_FIRST  1024u       /* ns */
#define MOMENTS_MOST (1u << 20u) /* counters; with more, or without memory, the result has none */

static int add(struct moments *moments, const struct moment *moment)
{
    uint64_t key = (uint64_t)moment->string << 8 | (uint64_t)moment->at << 1 | moment->reply;
    uint32_t before = moments->keys.count;
    int64_t index = intern_add(&moments->keys, key);

    if (index < 0 || array_reserve(&moments->list, &moments->room, (size_t)index + 1,
                                   sizeof(*moments->list)) < 0)
        return -ENOMEM;
    if (index == before)
        moments->list[index] = *moment;
    else
        moments->list[index].count += moment->count;
    return 0;
}

static int fold(struct moments *moments)
{
    struct moments folded = {.wanted = true, .begin = moments->begin, .width = 2 * moments->width};
    int result = 0;

    for (uint32_t i = 0; i < moments->keys.count && result == 0; i++) {
        struct moment moment = moments->list[i];
        moment.at /= 2;
        result = add(&folded, &moment);
    }
    if (result < 0) {
        moments_done(&folded);
        return result;
    }
    moments_done(moments);
    *moments = folded;
    return 0;
}

void moments_count(struct causality_analysis *analysis, uint32_t origin, uint64_t when,
                   uint32_t string, bool reply)
{
    struct moments *moments = &analysis->moments;

    if (!moments->wanted)
        return;
    when = history_common_time(analysis->history, origin, when);
    if (moments->width == 0) {
        moments->width = WIDTH_FIRST;
        moments->begin = when;
    }
    uint64_t since = when > moments->begin ? when - moments->begin : 0;
    while (moments->wanted && since / moments->width >= CAUSALITY_MOMENTS)
        moments->wanted = fold(moments) == 0;
    const struct moment moment = {string, 1, (uint8_t)(since / moments->width), reply};
    if (moments->wanted)
        moments->wanted = add(moments, &moment) == 0 && moments->keys.count < MOMENTS_MOST;
}

int moments_of(const struct causality_analysis *analysis, struct arena *arena,
               const uint32_t *row_of, bool replies, uint32_t rows, const uint32_t **ret_counts)
{
    const struct moments *moments = &analysis->moments;
    size_t size = (rows + 1UL) * CAUSALITY_MOMENTS * sizeof(uint32_t);

    *ret_counts = NULL;
    if (!moments->wanted)
        return 0;
    uint32_t *counts = arena_allocate(arena, size);
    if (counts == NULL)
        return -ENOMEM;
    memset(counts, 0, size);
    for (uint32_t i = 0; i < moments->keys.count; i++) {
        const struct moment *moment = &moments->list[i];
        uint32_t row_and_1 = moment->reply == replies ? row_of[moment->string] : 0;
        if (row_and_1 != 0)
            counts[(row_and_1 - 1) * CAUSALITY_MOMENTS + moment->at] += moment->count;
    }
    *ret_counts = counts;
    return 0;
}

void moments_done(struct moments *moments)
{
    intern_done(&moments->keys);
    free(moments->list);
    *moments = (struct moments){0};
}
