/* SPDX-License-Identifier: MIT */
/*
 * ended_values.c: values of connections that have ended wait until there are many, and are then added to the rows that
 * connections share. See statistics_private.h, alike.c.
 *
 *      words   | use 7, -, 3 | v v v | use 9, -, 2 | v v | use 7, 0, 4 | v v v v | ...     runs, as they come
 *                   ^------------------------------------------'  the one before of the same use
 *      use 7   values_wait: its latest run
 *
 * There are many rows, and each has more than a line of the processor's cache: whoever adds few values at a time to one of
 * them fetches all of it for these.
 */
#include "statistics/statistics_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOST (1u << 20)

/* What a run begins with. */
struct run {
    uint32_t use;    /* index into uses: of a shared row */
    uint32_t before; /* where the run before of the same use begins, + 1; 0: this is the first */
    uint32_t count;  /* of the values that follow */
};

#define RUN_WORDS (sizeof(struct run) / sizeof(uint32_t))

static struct run *run_at(const struct ended_values *ended, uint32_t place_and_1)
{
    return (struct run *)(void *)&ended->words[place_and_1 - 1];
}

int ended_values_add(struct statistics *statistics, uint32_t alike, const uint32_t *values,
                     uint32_t count)
{
    struct ended_values *ended = &statistics->ended_values;
    struct statistics_use *use = pool_at(&statistics->uses, alike);

    if (count == 0)
        return 0;
    if (ended->used + RUN_WORDS + count > WORDS_MOST && ended_values_count(statistics) < 0)
        return -ENOMEM;
    if (array_reserve(&ended->words, &ended->capacity, ended->used + RUN_WORDS + count,
                      sizeof(*ended->words)) < 0)
        return -ENOMEM;
    uint32_t place_and_1 = ended->used + 1;
    *run_at(ended, place_and_1) = (struct run){alike, use->values_wait, count};
    memcpy(&ended->words[ended->used + RUN_WORDS], values, count * sizeof(*values));
    use->values_wait = place_and_1;
    ended->used += (uint32_t)RUN_WORDS + count;
    return 0;
}

/* Of one kind, until they are added together. */
struct gathered {
    uint32_t values[VALUE_KINDS][HISTOGRAM_TOGETHER];
    uint32_t counts[VALUE_KINDS];
};

static int add_gathered(struct statistics *statistics, struct statistics_use *use,
                        enum value_kind kind, struct gathered *gathered)
{
    int result = statistics_add_together(statistics, use, kind, gathered->values[kind],
                                         gathered->counts[kind]);

    gathered->counts[kind] = 0;
    return result;
}

static int count_run(struct statistics *statistics, struct statistics_use *use,
                     const struct run *run, struct gathered *gathered)
{
    const uint32_t *values = (const uint32_t *)(run + 1);
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < run->count; i++) {
        enum value_kind kind = kept_kind(values[i]);
        gathered->values[kind][gathered->counts[kind]++] = kept_value(values[i]);
        if (gathered->counts[kind] == HISTOGRAM_TOGETHER)
            result = add_gathered(statistics, use, kind, gathered);
    }
    return result;
}

/* All runs of a use. */
static int count_use(struct statistics *statistics, struct statistics_use *use)
{
    struct gathered gathered;
    int result = 0;

    memset(gathered.counts, 0, sizeof(gathered.counts));
    for (uint32_t at = use->values_wait; result == 0 && at != 0;) {
        const struct run *run = run_at(&statistics->ended_values, at);
        result = count_run(statistics, use, run, &gathered);
        at = run->before;
    }
    for (enum value_kind kind = 0; result == 0 && kind < VALUE_KINDS; kind++)
        if (gathered.counts[kind] > 0)
            result = add_gathered(statistics, use, kind, &gathered);
    use->values_wait = 0;
    return result;
}

int ended_values_count(struct statistics *statistics)
{
    struct ended_values *ended = &statistics->ended_values;
    int result = 0;

    for (uint32_t at = 0; result == 0 && at < ended->used;) {
        const struct run *run = run_at(ended, at + 1);
        struct statistics_use *use = pool_at(&statistics->uses, run->use);
        if (use->values_wait != 0)
            result = count_use(statistics, use);
        at += (uint32_t)RUN_WORDS + run->count;
    }
    ended->used = 0;
    return result;
}
