/* SPDX-License-Identifier: MIT */
/*
 * value_runs.c: values of uses wait until there are many, and are then distributed, all of a use at once. See
 * value_runs.h.
 *
 *      words   | use 7, -, 3 | v v v | use 9, -, 2 | v v | use 7, 1, 4 | v v v v | ...     runs, as they come
 *                   ^------------------------------------------'  the one before of the same use
 *      use 7   its latest run
 *
 * There are many uses, and the histograms of each have more than a line of the processor's cache: whoever adds few
 * values at a time to one of them fetches all of it for these. What has ended meanwhile needs no histograms at all: its
 * runs are handed over to the row that it shares (alike.c).
 */
#include "analysis/statistics/statistics_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* That wait. Without queues there is room for more, and distributing more at once takes less time. */
#define WORDS_MOST    (3u << 17)
#define WORDS_COUNTED (3u << 19)
#define RUN_WORDS     (sizeof(struct value_run) / sizeof(uint32_t))
#define FEW_RUNS      3 /* of a use that lives: not worth histograms before a result */

static struct value_run *run_at(const struct statistics *statistics, uint32_t run_and_1)
{
    return run_and_1 == 0 ? NULL : (void *)&statistics->value_runs.words[run_and_1 - 1];
}

/* Where a use has its latest run + 1. */
static uint32_t *latest_run(const struct statistics *statistics, struct statistics_use *use)
{
    struct use_latest *latest = latest_of(statistics, use);

    return latest == NULL ? &use->run : &latest->run;
}

const struct value_run *value_run_latest(const struct statistics *statistics,
                                         const struct statistics_use *use)
{
    const struct use_latest *latest = latest_of(statistics, use);

    return run_at(statistics, latest == NULL ? use->run : latest->run);
}

const struct value_run *value_run_before(const struct statistics *statistics,
                                         const struct value_run *run)
{
    return run_at(statistics, run->before);
}

int value_runs_add(struct statistics *statistics, uint32_t use, const uint32_t *values,
                   uint32_t count)
{
    struct value_runs *runs = &statistics->value_runs;
    uint32_t *latest = latest_run(statistics, pool_at(&statistics->uses, use));

    if (count == 0)
        return 0;
    uint32_t most = statistics->counts_only ? WORDS_COUNTED : WORDS_MOST;
    if (runs->used + RUN_WORDS + count > most && value_runs_count(statistics) < 0)
        return -ENOMEM;
    if (array_reserve(&runs->words, &runs->capacity, runs->used + RUN_WORDS + count,
                      sizeof(*runs->words)) < 0)
        return -ENOMEM;
    uint32_t run_and_1 = runs->used + 1;
    struct value_run *run = run_at(statistics, run_and_1);
    *run = (struct value_run){.use = use, .before = *latest, .count = count};
    memcpy(run->values, values, count * sizeof(*values));
    *latest = run_and_1;
    runs->used += (uint32_t)RUN_WORDS + count;
    return 0;
}

void value_runs_hand_over(struct statistics *statistics, struct statistics_use *from, uint32_t to)
{
    uint32_t *left = latest_run(statistics, from);
    uint32_t *taken = latest_run(statistics, pool_at(&statistics->uses, to));
    struct value_run *run = run_at(statistics, *left);

    if (run == NULL)
        return;
    for (run->use = to; run->before != 0; run->use = to)
        run = run_at(statistics, run->before);
    run->before = *taken;
    *taken = *left;
    *left = 0;
}

/* ---- distributing ---- */

#define GATHERED_TIMES 512 /* a power of two */

/* What is to be added to histograms next. */
struct gathered_values {
    struct histogram_gathering of_use[VALUE_KINDS]; /* that is being counted */
    /* of processes and kinds of times, each where its number says, until another one is to stand there: */
    struct gathered_times {
        uint32_t process;
        enum time_kind kind;
        struct histogram_gathering values;
    } times[GATHERED_TIMES];
};

static int add_times_gathered(struct statistics *statistics, struct gathered_times *times)
{
    struct communication_process *process;

    if (times->values.count == 0)
        return 0;
    process = process_row(statistics, times->process);
    return histogram_add_gathered(&process->times.of[times->kind], &times->values, HISTOGRAM_MOST);
}

static int gather_times(struct statistics *statistics, const struct statistics_use *use,
                        enum value_kind kind, const struct histogram_gathering *values)
{
    enum time_kind time_kind = time_kind_of(use, kind);
    uint32_t place = (use->process * TIME_KINDS + time_kind) % GATHERED_TIMES;
    struct gathered_times *times = &statistics->value_runs.gathered->times[place];
    int result = 0;

    if (times->process != use->process || times->kind != time_kind)
        result = add_times_gathered(statistics, times);
    times->process = use->process;
    times->kind = time_kind;
    histogram_gather_more(&times->values, values);
    return result;
}

/* All runs of a use. */
static int count_use(struct statistics *statistics, struct statistics_use *use)
{
    struct histogram_gathering *of_use = statistics->value_runs.gathered->of_use;
    int result = 0;

    for (const struct value_run *run = value_run_latest(statistics, use); run != NULL;
         run = value_run_before(statistics, run)) {
        fetch(value_run_before(statistics, run), 2);
        for (uint32_t i = 0; i < run->count; i++)
            histogram_gather(&of_use[kept_kind(run->values[i])], kept_value(run->values[i]));
    }
    *latest_run(statistics, use) = 0;
    for (enum value_kind kind = 0; result == 0 && kind < VALUE_KINDS; kind++) {
        if (of_use[kind].count == 0)
            continue;
        if (kind >= VALUE_ANSWER)
            result = gather_times(statistics, use, kind, &of_use[kind]);
        if (result == 0)
            result = statistics_add_gathered(statistics, use, kind, &of_use[kind]);
    }
    return result;
}

/* Whether a use lives, and has had few values. */
static bool has_few(const struct statistics *statistics, const struct statistics_use *use)
{
    const struct value_run *run = value_run_latest(statistics, use);
    unsigned runs = 0;

    for (; run != NULL && runs <= FEW_RUNS; run = value_run_before(statistics, run))
        runs++;
    return use->latest != 0 && runs <= FEW_RUNS;
}

/* As many as are looked at together: what each needs is fetched for all of them. */
#define USES_TOGETHER 16

struct uses {
    struct statistics_use *list[USES_TOGETHER];
    unsigned count;
};

/* The uses of the runs from `at` on, some of them more than once; returns where the others begin. A run may be left of a
 * use that was freed, or has had its runs counted: whatever use has taken its place is counted a little earlier. */
static uint32_t list_uses(const struct statistics *statistics, uint32_t at, struct uses *uses)
{
    uses->count = 0;
    while (at < statistics->value_runs.used && uses->count < USES_TOGETHER) {
        const struct value_run *run = run_at(statistics, at + 1);
        uses->list[uses->count] = pool_at(&statistics->uses, run->use);
        fetch(uses->list[uses->count++], 1);
        at += (uint32_t)RUN_WORDS + run->count;
    }
    return at;
}

#define HISTOGRAM_LINES 3 /* that a histogram of a shared row has mostly */

static void fetch_histograms(const struct statistics *statistics, const struct uses *uses)
{
    for (unsigned i = 0; i < uses->count; i++) {
        fetch(value_run_latest(statistics, uses->list[i]), 2);
        fetch(values_of(statistics, uses->list[i]), 1);
    }
    for (unsigned i = 0; i < uses->count; i++) {
        const struct use_values *values = values_of(statistics, uses->list[i]);
        for (enum value_kind kind = 0; values != NULL && kind < VALUE_WAITS; kind++)
            fetch(values->of[kind].body, HISTOGRAM_LINES);
    }
}

static int count_listed(struct statistics *statistics, const struct uses *uses, bool all)
{
    int result = 0;

    for (unsigned i = 0; result == 0 && i < uses->count; i++)
        if (value_run_latest(statistics, uses->list[i]) != NULL &&
            (all || !has_few(statistics, uses->list[i])))
            result = count_use(statistics, uses->list[i]);
    return result;
}

static int count_runs(struct statistics *statistics, bool all)
{
    struct value_runs *runs = &statistics->value_runs;
    struct uses uses;
    int result = 0;

    if (runs->gathered == NULL)
        runs->gathered = calloc(1, sizeof(*runs->gathered));
    if (runs->gathered == NULL)
        return -ENOMEM;
    for (uint32_t at = 0; result == 0 && at < runs->used;) {
        at = list_uses(statistics, at, &uses);
        fetch_histograms(statistics, &uses);
        result = count_listed(statistics, &uses, all);
    }
    for (unsigned i = 0; result == 0 && i < GATHERED_TIMES; i++)
        result = add_times_gathered(statistics, &runs->gathered->times[i]);
    return result;
}

int value_runs_count(struct statistics *statistics)
{
    int result = count_runs(statistics, true);

    statistics->value_runs.used = 0;
    return result;
}

int value_runs_count_many(struct statistics *statistics)
{
    return count_runs(statistics, false);
}

void value_runs_done(struct statistics *statistics)
{
    free(statistics->value_runs.words);
    free(statistics->value_runs.gathered);
}
