/* SPDX-License-Identifier: MIT */
/* elapsed_waits.c: what threads waited for, how often and how long, and which process ended it. See elapsed.h. */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUMS_MOST 262144u /* beyond this, what ended a wait is not told */

/* The process at whose interval something began that ended the wait. */
static uint32_t ender_of(const struct elapsed_analysis *analysis, const struct interval *interval)
{
    return interval->source == 0 ? 0 : interval_at(analysis, interval->source)->computes;
}

static uint64_t key_of(const struct elapsed_analysis *analysis, uint32_t detail, uint32_t ender)
{
    const struct detail *of = ender == 0 ? NULL : &analysis->details[ender - 1];
    const uint64_t key[] = {detail, of == NULL ? 0 : (uint64_t)of->origin << 32 | of->pid};

    return hash_bytes(0, key, sizeof(key));
}

int elapsed_note_wait(struct elapsed_analysis *analysis, const struct history_event *event,
                      const struct interval *interval, enum elapsed_kind kind)
{
    const struct detail *of = interval->waits == 0 ? NULL : &analysis->details[interval->waits - 1];
    uint32_t ender = ender_of(analysis, interval), before = analysis->wait_keys.count;

    if (interval->wait == 0 || of == NULL)
        return 0;
    if (elapsed_is_wait_for_interpreter(analysis, interval))
        kind = ELAPSED_INTERPRETER;
    const struct waited waited = {kind,       of->call,   of->path, of->object,
                                  of->signal, of->sender, true,     of->pc};
    int64_t detail = detail_of(analysis, event, &waited);
    if (before >= SUMS_MOST)
        ender = 0;
    int64_t index =
        detail < 0 ? detail
                   : intern_add(&analysis->wait_keys, key_of(analysis, (uint32_t)detail, ender));
    if (index < 0 || array_reserve(&analysis->wait_sums, &analysis->wait_room, (size_t)index + 1,
                                   sizeof(*analysis->wait_sums)) < 0)
        return -ENOMEM;
    struct wait_sum *sum = &analysis->wait_sums[index];
    if (index == before)
        *sum = (struct wait_sum){.detail = (uint32_t)detail, .ender = ender};
    sum->time += interval->wait;
    sum->count++;
    if (interval->wait > sum->longest)
        sum->longest = interval->wait;
    return 0;
}

/* ---- the result ---- */

static int compare_whole(const struct elapsed_wait *a, const struct elapsed_wait *b)
{
    int order = elapsed_compare_rows(&a->what, &b->what);

    if (order == 0)
        order = a->ender_origin < b->ender_origin ? -1 : a->ender_origin > b->ender_origin;
    if (order == 0)
        order = a->ender_pid < b->ender_pid ? -1 : a->ender_pid > b->ender_pid;
    return order == 0 ? strcmp(a->ender, b->ender) : order;
}

static int by_what(const void *one, const void *other)
{
    return compare_whole(one, other);
}

static int by_time(const void *one, const void *other)
{
    const struct elapsed_wait *a = one, *b = other;

    if (a->what.time != b->what.time)
        return a->what.time > b->what.time ? -1 : 1;
    return compare_whole(a, b);
}

static struct elapsed_wait wait_of(const struct elapsed_analysis *analysis,
                                   const struct wait_sum *sum)
{
    enum elapsed_kind kind =
        sum->detail == 0 ? ELAPSED_UNKNOWN : analysis->details[sum->detail - 1].kind;
    const struct part part = {sum->detail, elapsed_kind_in_runtime(analysis, kind, sum->detail),
                              sum->time, sum->count};
    struct elapsed_wait wait = {.what = elapsed_row_of(analysis, &part), .longest = sum->longest};

    if (sum->ender != 0) {
        const struct detail *ender = &analysis->details[sum->ender - 1];
        wait.ender_origin = ender->origin;
        wait.ender_pid = ender->pid;
        memcpy(wait.ender, ender->process, sizeof(wait.ender));
        elapsed_machine_of(analysis, ender->origin, wait.ender_machine);
    }
    return wait;
}

/* Several PCs may be in one procedure, and several threads may wait for the same. */
static size_t merge(struct elapsed_wait *waits, size_t count)
{
    size_t kept = 0;

    for (size_t i = 1; i < count; i++) {
        if (compare_whole(&waits[kept], &waits[i]) != 0) {
            waits[++kept] = waits[i];
            continue;
        }
        elapsed_add_row(&waits[kept].what, &waits[i].what);
        if (waits[i].longest > waits[kept].longest)
            waits[kept].longest = waits[i].longest;
    }
    return count == 0 ? 0 : kept + 1;
}

int elapsed_make_waits(const struct elapsed_analysis *analysis, struct elapsed *elapsed)
{
    size_t count = analysis->wait_keys.count;

    elapsed->waits = calloc(count + 1, sizeof(*elapsed->waits));
    if (elapsed->waits == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        elapsed->waits[i] = wait_of(analysis, &analysis->wait_sums[i]);
    qsort(elapsed->waits, count, sizeof(*elapsed->waits), by_what);
    elapsed->wait_count = merge(elapsed->waits, count);
    qsort(elapsed->waits, elapsed->wait_count, sizeof(*elapsed->waits), by_time);
    return 0;
}
