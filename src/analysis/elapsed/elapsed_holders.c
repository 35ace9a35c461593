/* SPDX-License-Identifier: MIT */
/*
 * elapsed_holders.c: what threads did while others waited for them to release a lock. See elapsed.h.
 *
 *      app worker-*     computing 1.2 s    3 threads of app waited: futex in Mutex::lock_contended (app)
 *
 * A thread that is woken may find the lock taken again, often by the thread that has woken it, and waits once more. It
 * has waited for that lock all along:
 *
 *      holder   ====compute====o====compute====o====compute====o
 *      waiter   |....wait......|=|....wait.....|=|....wait.....|=got it==
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One detail of a holder, one wait of a thread. */
struct hold_sum {
    uint32_t detail, waits;
    enum elapsed_kind kind, waited;
    uint64_t time, count;
};

bool elapsed_is_wait_for_any_lock(const struct elapsed_analysis *analysis,
                                  const struct interval *interval)
{
    if (interval->wait == 0 || interval->asleep || interval->source == 0 ||
        interval->previous == 0 || interval->is_message || interval->waits == 0)
        return false;
    enum elapsed_kind kind = kind_of_call(analysis->details[interval->waits - 1].call, 0);
    return kind == ELAPSED_LOCK || kind == ELAPSED_FILE_LOCK;
}

bool elapsed_is_wait_for_lock(const struct elapsed_analysis *analysis,
                              const struct interval *interval)
{
    return elapsed_is_wait_for_any_lock(analysis, interval) &&
           kind_of_call(analysis->details[interval->waits - 1].call, 0) == ELAPSED_LOCK;
}

/* Whether both are for the same lock. Python waits for its interpreter lock for 5 ms at a time. */
static bool are_for_one_lock(const struct elapsed_analysis *analysis, const struct interval *before,
                             const struct interval *after)
{
    if (elapsed_is_wait_for_interpreter(analysis, after))
        return elapsed_is_wait_for_interpreter(analysis, before) && before->previous != 0;
    return elapsed_is_wait_for_any_lock(analysis, before) && before->waits == after->waits;
}

/* The wait before this one, if the thread did next to nothing in between; 0: there is none. */
static uint32_t wait_in_vain(const struct elapsed_analysis *analysis, uint32_t wait)
{
    const struct interval *after = interval_at(analysis, wait);
    const struct interval *before = interval_at(analysis, after->previous);

    return are_for_one_lock(analysis, before, after) && after->cpu < after->wait / 10
               ? after->previous
               : 0;
}

uint64_t elapsed_waited_within(const struct elapsed_analysis *analysis, uint32_t *wait,
                               uint64_t from, uint64_t to)
{
    uint64_t time = 0;

    while (elapsed_wait_began(interval_at(analysis, *wait)) >= to) {
        uint32_t before = wait_in_vain(analysis, *wait);
        if (before == 0)
            return 0;
        *wait = before;
    }
    for (uint32_t at = *wait; at != 0; at = wait_in_vain(analysis, at)) {
        const struct interval *interval = interval_at(analysis, at);
        uint64_t began = elapsed_wait_began(interval);
        uint64_t begin = began > from ? began : from;
        uint64_t end = interval->end < to ? interval->end : to;
        if (begin < end)
            time += end - begin;
        if (began <= from)
            break;
    }
    return time;
}

int elapsed_note_hold(struct holds *holds, const struct part *part, enum elapsed_kind waited,
                      uint32_t waits)
{
    const uint64_t key[] = {(uint64_t)part->kind << 32 | part->detail,
                            (uint64_t)waited << 32 | waits};
    uint32_t before = holds->keys.count;
    int64_t index = intern_add(&holds->keys, hash_bytes(0, key, sizeof(key)));

    if (index < 0 ||
        array_reserve(&holds->sums, &holds->room, (size_t)index + 1, sizeof(*holds->sums)) < 0)
        return -ENOMEM;
    struct hold_sum *sum = &holds->sums[index];
    if (index == before)
        *sum = (struct hold_sum){
            .detail = part->detail, .waits = waits, .kind = part->kind, .waited = waited};
    sum->time += part->time;
    sum->count += part->count;
    return 0;
}

void elapsed_forget_holds(struct holds *holds)
{
    intern_done(&holds->keys);
    free(holds->sums);
}

static int compare_whole(const struct elapsed_holder *a, const struct elapsed_holder *b)
{
    int order = elapsed_compare_rows(&a->did, &b->did);

    return order == 0 ? elapsed_compare_rows(&a->waited, &b->waited) : order;
}

static int by_what(const void *one, const void *other)
{
    const struct elapsed_holder *a = one, *b = other;
    int order = compare_whole(a, b);

    return order == 0 ? (a->waited.tid > b->waited.tid) - (a->waited.tid < b->waited.tid) : order;
}

static int by_time(const void *one, const void *other)
{
    const struct elapsed_holder *a = one, *b = other;

    if (a->did.time != b->did.time)
        return a->did.time > b->did.time ? -1 : 1;
    return compare_whole(a, b);
}

/* Sorted by what they say, and then by the thread that waited. */
static size_t merge(struct elapsed_holder *holders, size_t count)
{
    size_t kept = 0;
    uint32_t tid = count == 0 ? 0 : holders[0].waited.tid;

    for (size_t i = 1; i < count; i++) {
        if (compare_whole(&holders[kept], &holders[i]) != 0) {
            holders[++kept] = holders[i];
        } else {
            holders[kept].threads += holders[i].waited.tid != tid;
            elapsed_add_row(&holders[kept].did, &holders[i].did);
            elapsed_add_row(&holders[kept].waited, &holders[i].waited);
        }
        tid = holders[i].waited.tid;
    }
    return count == 0 ? 0 : kept + 1;
}

int elapsed_make_holders(const struct elapsed_analysis *analysis, const struct holds *holds,
                         struct elapsed_holder **ret_holders, size_t *ret_count)
{
    struct elapsed_holder *holders = calloc((size_t)holds->keys.count + 1, sizeof(*holders));
    size_t count = 0;

    if (holders == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < holds->keys.count; i++) {
        const struct hold_sum *sum = &holds->sums[i];
        const struct part did = {sum->detail, sum->kind, sum->time, sum->count};
        const struct part waited = {sum->waits,
                                    elapsed_kind_in_runtime(analysis, sum->waited, sum->waits),
                                    sum->time, sum->count};
        if (waited.kind != ELAPSED_IDLE)
            holders[count++] = (struct elapsed_holder){elapsed_row_of(analysis, &did),
                                                       elapsed_row_of(analysis, &waited), 1};
    }
    qsort(holders, count, sizeof(*holders), by_what);
    *ret_count = merge(holders, count);
    qsort(holders, *ret_count, sizeof(*holders), by_time);
    *ret_holders = holders;
    return 0;
}
