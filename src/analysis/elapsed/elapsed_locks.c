/* SPDX-License-Identifier: MIT */
/*
 * elapsed_locks.c: locks that the end of the run waited for, and what that cost at most. See elapsed.h.
 *
 *      job 1   ==with the lock==o
 *      job 2   |......wait......|==with the lock==o                     The account leads from job 3's end to job 1.
 *      job 3   |..............wait................|==with the lock==o   Job 3 itself waited so long: without the lock,
 *                                                                       the run would take at most that less.
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS_FEW 3 /* each takes a walk */
#define WAITS_MOST                                                                                 \
    1000000u /* of one lock, that are counted by how many there are at the same time */

/* Waits for one lock on the way of the account, which goes back in time. */
struct lock_sum {
    uint32_t detail; /* of one of them */
    uint64_t begin;  /* of the earliest of them so far */
    uint64_t time;   /* ns in which there was at least one */
};

static uint64_t key_of(const struct detail *detail)
{
    return (uint64_t)detail->origin << 32 | detail->object;
}

static bool is_named_lock(const struct elapsed_analysis *analysis, const struct detail *detail)
{
    const char *name;

    if (detail->object == 0)
        return false;
    return kind_of_call(detail->call, 0) == ELAPSED_FILE_LOCK ||
           identities_object(history_identities(analysis->history), detail->origin, detail->object,
                             &name) == WAIT_ON_LOCK;
}

bool elapsed_is_for_lock(const struct elapsed_analysis *analysis, uint32_t waits, uint32_t lock)
{
    return waits != 0 && lock != 0 &&
           key_of(&analysis->details[waits - 1]) == key_of(&analysis->details[lock - 1]);
}

int elapsed_note_lock(const struct elapsed_analysis *analysis, struct locks *locks,
                      const struct interval *wait, uint64_t now)
{
    const struct detail *detail = wait->waits == 0 ? NULL : &analysis->details[wait->waits - 1];
    uint64_t begin = elapsed_wait_began(wait);
    uint32_t before = locks->keys.count;

    if (detail == NULL || begin >= now || !is_named_lock(analysis, detail))
        return 0;
    int64_t index = intern_add(&locks->keys, key_of(detail));
    if (index < 0 ||
        array_reserve(&locks->sums, &locks->room, (size_t)index + 1, sizeof(*locks->sums)) < 0)
        return -ENOMEM;
    struct lock_sum *sum = &locks->sums[index];
    if (index == before)
        *sum = (struct lock_sum){.detail = wait->waits, .begin = now};
    if (begin < sum->begin) {
        sum->time += (now < sum->begin ? now : sum->begin) - begin;
        sum->begin = begin;
    }
    return 0;
}

void elapsed_forget_locks(struct locks *locks)
{
    intern_done(&locks->keys);
    free(locks->sums);
}

/* ---- all waits for a lock, on the way or not ---- */

/* A wait begins or ends. */
struct edge {
    uint64_t time;
    int change;
};

static int by_time(const void *one, const void *other)
{
    const struct edge *a = one, *b = other;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->change - b->change; /* one that ends makes room for one that begins */
}

static uint32_t most_at_once(struct edge *edges, size_t count)
{
    int now = 0, most = 0;

    qsort(edges, count, sizeof(*edges), by_time);
    for (size_t i = 0; i < count; i++) {
        now += edges[i].change;
        most = now > most ? now : most;
    }
    return (uint32_t)most;
}

/* Those that waited, by what they are numbered with. */
struct waiters {
    struct intern threads, processes;
    struct edge *edges;
    size_t count, room;
};

static int add_wait(const struct elapsed_analysis *analysis, const struct interval *interval,
                    struct waiters *waiters)
{
    const struct detail *detail = &analysis->details[interval->waits - 1];

    if (intern_add(&waiters->threads, number_key(detail->origin, detail->stream)) < 0 ||
        intern_add(&waiters->processes, number_key(detail->origin, detail->process_number)) < 0)
        return -ENOMEM;
    if (waiters->count >= 2 * WAITS_MOST)
        return 0;
    if (array_reserve(&waiters->edges, &waiters->room, waiters->count + 2,
                      sizeof(*waiters->edges)) < 0)
        return -ENOMEM;
    uint64_t begin = elapsed_wait_began(interval);
    uint64_t end = interval->arrival > begin && interval->arrival < interval->end
                       ? interval->arrival /* then it had the lock, or tried once more */
                       : interval->end;
    waiters->edges[waiters->count++] = (struct edge){begin, 1};
    waiters->edges[waiters->count++] = (struct edge){end, -1};
    return 0;
}

static int count_waiters(const struct elapsed_analysis *analysis, uint32_t detail,
                         struct elapsed_lock *lock)
{
    struct waiters waiters = {0};
    int result = 0;

    for (uint32_t i = 1; i <= analysis->intervals.count && result == 0; i++) {
        const struct interval *interval = interval_at(analysis, i);
        if (interval->wait == 0 || interval->asleep ||
            !elapsed_is_for_lock(analysis, interval->waits, detail))
            continue;
        lock->waits++;
        result = add_wait(analysis, interval, &waiters);
    }
    lock->threads = waiters.threads.count;
    lock->processes = waiters.processes.count;
    lock->most = most_at_once(waiters.edges, waiters.count);
    intern_done(&waiters.threads);
    intern_done(&waiters.processes);
    free(waiters.edges);
    return result;
}

/* ---- what held it ---- */

static bool is_same_lock(const struct elapsed_row *a, const struct elapsed_row *b)
{
    return a->object == b->object && a->origin == b->origin &&
           strcmp(a->object_name, b->object_name) == 0 &&
           (a->object != WAIT_ON_LOCK || a->pid == b->pid);
}

static bool is_same_thread(const struct elapsed_row *a, const struct elapsed_row *b)
{
    return a->origin == b->origin && a->pid == b->pid && a->tid == b->tid &&
           strcmp(a->thread, b->thread) == 0;
}

/* Computing has a row for each procedure: so what the thread of the holder at `first`, and of those after it, did longest. */
static void add_up_holder(const struct elapsed *elapsed, size_t first, struct elapsed_lock *lock)
{
    const struct elapsed_row *did = &elapsed->holders[first].did;
    uint64_t by_kind[ELAPSED_KIND_COUNT] = {0}, time = 0;
    enum elapsed_kind most = did->kind;

    for (size_t i = first; i < elapsed->holder_count; i++) {
        const struct elapsed_holder *holder = &elapsed->holders[i];
        if (!is_same_lock(&holder->waited, &lock->what) || !is_same_thread(&holder->did, did))
            continue;
        time += holder->did.time;
        by_kind[holder->did.kind] += holder->did.time;
        if (by_kind[holder->did.kind] > by_kind[most])
            most = holder->did.kind;
    }
    if (time <= lock->holder_time)
        return;
    lock->holder = *did;
    lock->holder.kind = most;
    lock->holder_time = time;
    lock->holder_mostly = by_kind[most];
}

/* The one that held it longest while others waited. The rows are sorted by time. */
static void find_holder(const struct elapsed *elapsed, struct elapsed_lock *lock)
{
    for (size_t i = 0; i < elapsed->holder_count; i++) {
        if (!is_same_lock(&elapsed->holders[i].waited, &lock->what))
            continue;
        lock->held += elapsed->holders[i].did.time;
        add_up_holder(elapsed, i, lock);
    }
}

/* ---- the result ---- */

static int by_sum(const void *one, const void *other)
{
    const struct lock_sum *a = one, *b = other;

    return a->time != b->time ? (a->time > b->time ? -1 : 1)
                              : (a->detail > b->detail) - (a->detail < b->detail);
}

static int by_cost(const void *one, const void *other)
{
    const struct elapsed_lock *a = one, *b = other;

    return a->time != b->time ? (a->time > b->time ? -1 : 1)
                              : elapsed_compare_rows(&a->what, &b->what);
}

int elapsed_make_locks(struct elapsed_analysis *analysis, const struct locks *locks,
                       struct elapsed *elapsed)
{
    size_t count = locks->keys.count < LOCKS_FEW ? locks->keys.count : LOCKS_FEW;
    int result = 0;

    elapsed->locks = calloc(count + 1, sizeof(*elapsed->locks));
    if (elapsed->locks == NULL)
        return -ENOMEM;
    if (count > 0)
        qsort(locks->sums, locks->keys.count, sizeof(*locks->sums), by_sum);
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct lock_sum *sum = &locks->sums[i];
        struct elapsed_lock *lock = &elapsed->locks[elapsed->lock_count++];
        const struct part waits = {
            sum->detail, kind_of_call(analysis->details[sum->detail - 1].call, 0), sum->time, 1};
        lock->what = elapsed_row_of(analysis, &waits);
        lock->followed = sum->time;
        result = elapsed_walk_lock(analysis, sum->detail, &lock->time);
        if (result == 0)
            result = count_waiters(analysis, sum->detail, lock);
        find_holder(elapsed, lock);
    }
    qsort(elapsed->locks, elapsed->lock_count, sizeof(*elapsed->locks), by_cost);
    return result;
}
