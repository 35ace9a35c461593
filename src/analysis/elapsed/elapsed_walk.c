/* SPDX-License-Identifier: MIT */
/*
 * elapsed_walk.c: from the end backwards, along what was being waited for. For requests see elapsed_walk_requests.c.
 *
 *      now                                              <--- end
 *       |  cpu  |  no CPU  | in flight |   cpu ...
 *       '-- of the receiver ----------' '-- of the sender, from its send backwards
 *
 * A thread that waits for a lock is left for the thread that released it, the holder. A sleep of the holder for a time of
 * its own choice counts if the other thread waited during it, or if the holder slept with a request in hand. Otherwise it
 * had woken before the other one came to wait, and the way goes back to that one, which did not sleep (a JVM's VM thread
 * sleeps for a second, and then stops the others for a moment).
 *
 *      worker      ==compute====(3)======| waits |==(1)
 *      VM thread   ........timer.......(2)==awake==|
 */
#include "analysis/elapsed/elapsed_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void keep_hop(struct walk *walk, uint64_t from, enum elapsed_kind kind, uint32_t detail)
{
    struct hop *last = walk->hop_count == 0 ? NULL : &walk->hops[walk->hop_count - 1];

    if (last != NULL && last->kind == kind && last->detail == detail && last->begin == walk->now) {
        last->begin = from;
        return;
    }
    if (array_reserve(&walk->hops, &walk->hop_room, walk->hop_count + 1, sizeof(*walk->hops)) < 0)
        walk->failed = true;
    else
        walk->hops[walk->hop_count++] = (struct hop){from, walk->now, kind, detail};
}

/* Whether a thread waited for a lock until the one that is followed released it, from `from` or later until now. */
static void note_hold(struct walk *walk, uint64_t from, enum elapsed_kind kind, uint32_t detail)
{
    for (unsigned i = walk->holds == NULL ? 0 : walk->waiter_count; i > 0; i--) {
        uint32_t *wait = &walk->waits[i - 1];
        uint64_t time = elapsed_waited_within(walk->analysis, wait, from, walk->now);
        if (time == 0)
            continue;
        const struct part part = {detail, kind, time, 1};
        const struct interval *waiter = interval_at(walk->analysis, *wait);
        enum elapsed_kind waited = elapsed_is_wait_for_interpreter(walk->analysis, waiter)
                                       ? ELAPSED_INTERPRETER
                                       : ELAPSED_LOCK;
        walk->failed =
            elapsed_note_hold(walk->holds, &part, waited, waiter->waits) < 0 || walk->failed;
        return;
    }
}

static void note_releaser(struct walk *walk, uint64_t time, uint32_t detail)
{
    const struct part part = {walk->releaser, ELAPSED_COMPUTES, time, 1};

    if (walk->releasers != NULL && walk->releaser != 0 &&
        elapsed_note_hold(walk->releasers, &part, ELAPSED_INTERPRETER, detail) < 0)
        walk->failed = true;
}

_Static_assert(ELAPSED_KIND_COUNT <= 32, "interval.counted has a bit for each kind");

static bool counts(const struct walk *walk, enum elapsed_kind kind)
{
    struct interval *interval =
        walk->counts_once && walk->at != 0 ? interval_at(walk->analysis, walk->at) : NULL;
    bool again = interval != NULL && (interval->counted & 1u << kind) != 0;

    if (interval != NULL)
        interval->counted |= 1u << kind;
    return !again;
}

void walk_charge(struct walk *walk, uint64_t from, enum elapsed_kind kind, uint32_t detail)
{
    kind = elapsed_kind_in_runtime(walk->analysis, kind, detail);
    if (from < walk->floor)
        from = walk->floor;
    if (from >= walk->now || walk->failed)
        return;
    uint64_t time = walk->now - from;
    int64_t index = intern_add(&walk->keys, (uint64_t)kind << 32 | detail);
    if (index < 0 || array_reserve(&walk->parts, &walk->part_room, (size_t)index + 1,
                                   sizeof(*walk->parts)) < 0) {
        walk->failed = true;
        return;
    }
    struct part *part = &walk->parts[index];
    part->detail = detail;
    part->kind = kind;
    part->time += time;
    part->count += counts(walk, kind) || part->count == 0;
    walk->account->by_kind[kind] += time;
    note_hold(walk, from, kind, detail);
    if (walk->tells)
        walk->failed =
            elapsed_tell_piece(walk->analysis, &(struct part){detail, kind, time, 1}, from) < 0 ||
            walk->failed;
    if (kind == ELAPSED_INTERPRETER)
        note_releaser(walk, time, detail);
    if (walk->keeps_hops)
        keep_hop(walk, from, kind, detail);
    walk->now = from;
}

void walk_charge_no_cpu(struct walk *walk, uint64_t from, const struct interval *interval)
{
    from = from < walk->floor ? walk->floor : from;
    if (from >= walk->now)
        return;
    uint64_t time = walk->now - from;
    if (walk->holds != NULL)
        time = elapsed_take_no_cpu(walk->analysis, interval, time);
    walk_charge(walk, walk->now - time, ELAPSED_NO_CPU, interval->computes);
}

void walk_charge_awake(struct walk *walk, uint64_t begin, const struct interval *interval)
{
    uint64_t length = walk->now > begin ? walk->now - begin : 0;
    uint64_t cpu = interval->cpu < length ? interval->cpu : length;

    walk_charge(walk, walk->now - cpu, ELAPSED_COMPUTES, interval->computes);
    walk_charge_no_cpu(walk, begin, interval);
    walk_charge(walk, begin, ELAPSED_UNKNOWN, interval->computes);
}

/* A process makes its last record before it closes its files and wakes its parent, and may have no CPU meanwhile: then the
 * others still wait for its end. But the end of a file that comes much later than its memory takes to free is that of another
 * process. */
static enum elapsed_kind kind_after_arrival(const struct walk *walk,
                                            const struct interval *interval)
{
    if (interval->source == 0 || interval->is_message || interval->is_likely ||
        !interval_at(walk->analysis, interval->source)->terminates)
        return ELAPSED_UNKNOWN;
    return interval->asleep && !interval->by_ending && interval->end > interval->arrival + ENDING
               ? ELAPSED_UNKNOWN
               : ELAPSED_CHILD;
}

void walk_charge_from_arrival(struct walk *walk, uint64_t arrival, const struct interval *interval)
{
    walk_charge_no_cpu(walk, elapsed_runnable_since(walk->analysis, interval, arrival), interval);
    walk_charge(walk, arrival, kind_after_arrival(walk, interval), interval->waits);
}

enum elapsed_kind walk_kind_of(const struct walk *walk, uint32_t detail)
{
    return detail == 0 ? ELAPSED_UNKNOWN : walk->analysis->details[detail - 1].kind;
}

static uint32_t origin_of(const struct walk *walk, const struct interval *interval)
{
    return interval->computes == 0 ? 0 : walk->analysis->details[interval->computes - 1].origin;
}

/* Between machines whose clocks no messages compare, the difference of clocks may be what seems to be a time in flight. */
enum elapsed_kind walk_flight(const struct walk *walk, const struct interval *interval,
                              const struct interval *source)
{
    uint32_t from = origin_of(walk, source), to = origin_of(walk, interval);
    int64_t offset;
    uint64_t error;

    return from == to || history_clock_between(walk->analysis->history, from, source->end, to,
                                               &offset, &error)
               ? ELAPSED_IN_FLIGHT
               : ELAPSED_UNKNOWN;
}

/* The end of the wait, and the way to what ended it. */
static void charge_arrival(struct walk *walk, const struct interval *interval)
{
    const struct interval *source = interval_at(walk->analysis, interval->source);
    uint64_t begun = begun_at(source), sent = begun < walk->now ? begun : walk->now;

    walk_charge_from_arrival(walk, interval->arrival > sent ? interval->arrival : sent, interval);
    walk_charge(walk, sent,
                interval->is_message ? walk_flight(walk, interval, source) : ELAPSED_UNKNOWN,
                interval->waits);
}

/* ---- waits for locks ---- */

uint64_t walk_begin_of(const struct walk *walk, const struct interval *interval)
{
    return interval->previous != 0 ? interval_at(walk->analysis, interval->previous)->end
           : interval->source != 0 ? interval_at(walk->analysis, interval->source)->end
                                   : interval->end;
}

static void note_waiter(struct walk *walk, uint32_t index)
{
    if (index == walk->killed)
        return;
    if (!elapsed_is_wait_for_any_lock(walk->analysis, interval_at(walk->analysis, index))) {
        walk->waiter_count = 0; /* for a message, with all that led to it */
        return;
    }
    if (walk->waiter_count == DEPTH_MOST) {
        walk->waiter_count--;
        memmove(walk->waiters, walk->waiters + 1, walk->waiter_count * sizeof(*walk->waiters));
        memmove(walk->waits, walk->waits + 1, walk->waiter_count * sizeof(*walk->waits));
    }
    walk->waits[walk->waiter_count] = index;
    walk->waiters[walk->waiter_count++] = index;
}

/* The thread slept until `now`: whether another one came to wait for it only then. Returns that one's interval, and
 * forgets it and those after it; 0: none. */
static uint32_t take_waiter_since(struct walk *walk)
{
    for (unsigned i = walk->waiter_count; i > 0; i--) {
        uint32_t index = walk->waiters[i - 1];
        if (elapsed_wait_began(interval_at(walk->analysis, index)) < walk->now)
            continue;
        walk->waiter_count = i - 1;
        return index;
    }
    return 0;
}

/* A wait for a lock that ended with the call's time limit, and began again at once, was for that lock (Python's). */
static void note_retry(struct walk *walk, const struct interval *interval, uint32_t lock)
{
    walk->in_vain = interval->cpu < RETRY ? interval->previous : 0;
    walk->lock = lock;
}

static bool is_retried(const struct walk *walk, const struct interval *interval)
{
    return walk->in_vain != 0 && interval == interval_at(walk->analysis, walk->in_vain) &&
           interval->waits != 0 && walk->lock != 0 &&
           walk->analysis->details[interval->waits - 1].call ==
               walk->analysis->details[walk->lock - 1].call &&
           walk->analysis->details[interval->waits - 1].object ==
               walk->analysis->details[walk->lock - 1].object;
}

/* What a thread did before it waited. */
static uint32_t step_before_wait(struct walk *walk, const struct interval *interval)
{
    walk_charge_awake(walk, walk_begin_of(walk, interval), interval);
    return interval->previous;
}

/* ---- intervals ---- */

static uint32_t step_over_wait(struct walk *walk, const struct interval *interval)
{
    enum elapsed_kind kind = walk_kind_of(walk, interval->waits);

    walk_charge_no_cpu(
        walk, walk->now - (interval->queued < walk->now ? interval->queued : walk->now), interval);
    if (elapsed_is_wait_for_interpreter(walk->analysis, interval)) {
        walk->releaser = is_retried(walk, interval) ? walk->releaser : 0;
        note_retry(walk, interval, interval->waits);
        walk_charge(walk, elapsed_wait_began(interval), ELAPSED_INTERPRETER, interval->waits);
        return step_before_wait(walk, interval);
    }
    if (kind == ELAPSED_LIMIT && is_retried(walk, interval)) {
        note_retry(walk, interval, walk->lock);
        walk_charge(walk, elapsed_wait_began(interval), ELAPSED_LOCK, walk->lock);
        return step_before_wait(walk, interval);
    }
    walk->releaser = 0;
    bool is_own_sleep = (kind == ELAPSED_TIMER || kind == ELAPSED_LIMIT) &&
                        !interval->in_request; /* for no request */
    uint32_t waiter = is_own_sleep ? take_waiter_since(walk) : 0;
    if (waiter != 0)
        return step_before_wait(walk, interval_at(walk->analysis, waiter));
    walk_charge(walk,
                interval->asleep ? walk_begin_of(walk, interval) : elapsed_wait_began(interval),
                kind, interval->waits);
    return interval->asleep ? interval->previous : step_before_wait(walk, interval);
}

static enum elapsed_kind kind_of_lock(const struct walk *walk, const struct interval *interval)
{
    return elapsed_is_wait_for_interpreter(walk->analysis, interval) ? ELAPSED_INTERPRETER
           : elapsed_is_stop(walk->analysis, interval)
               ? ELAPSED_VM_STOP
               : kind_of_call(walk->analysis->details[interval->waits - 1].call, 0);
}

uint32_t walk_step_over_lock(struct walk *walk, const struct interval *interval)
{
    walk->releaser = interval_at(walk->analysis, interval->source)->computes;
    walk_charge_from_arrival(walk, interval->arrival, interval);
    walk_charge(walk, elapsed_wait_began(interval), kind_of_lock(walk, interval), interval->waits);
    note_retry(walk, interval, interval->waits);
    return step_before_wait(walk, interval);
}

uint32_t walk_step(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);
    uint64_t begin = walk_begin_of(walk, interval);

    if (interval->previous == 0) { /* its first one: created there */
        walk_charge_awake(walk, begin, interval);
        walk->waiter_count = 0;
        return interval->source;
    }
    if (begin >= walk->now)
        return interval->previous; /* it had sent before, or another one waited later */
    if (interval->wait == 0 || (!interval->asleep && elapsed_wait_began(interval) >= walk->now))
        return step_before_wait(walk, interval);
    if (interval->asleep)
        walk_charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    if (interval->source == 0)
        return step_over_wait(walk, interval);
    if (elapsed_is_wait_for_any_lock(walk->analysis, interval)) {
        if (elapsed_is_for_lock(walk->analysis, interval->waits, walk->without))
            return walk_step_over_lock(walk, interval);
        if (walk->locks != NULL &&
            elapsed_note_lock(walk->analysis, walk->locks, interval, walk->now) < 0)
            walk->failed = true;
    }
    charge_arrival(walk, interval);
    note_waiter(walk, index);
    return interval->source;
}

int walk_end(struct walk *walk)
{
    int result = walk->failed ? -ENOMEM
                              : elapsed_make_rows(walk->analysis, walk->parts, walk->keys.count,
                                                  walk->account);

    intern_done(&walk->keys);
    free(walk->parts);
    free(walk->hops);
    return result;
}

/* ---- the whole run ---- */

/* The time before the first event of the thread where the account ends: of one machine's command among several, until it was
 * started. */
static void charge_before(struct walk *walk, const struct interval *last)
{
    const struct elapsed_analysis *analysis = walk->analysis;
    const struct detail *detail = last == NULL || last->previous != 0 || last->computes == 0
                                      ? NULL
                                      : &analysis->details[last->computes - 1];
    bool is_command = detail != NULL && detail->origin < COMMANDS_MOST && detail->stream == 1 &&
                      analysis->command.of[detail->origin].process == 1;

    walk_charge(walk, analysis->first, is_command ? ELAPSED_NOT_STARTED : ELAPSED_UNKNOWN,
                is_command ? last->computes : 0);
}

#define KILLED_WITHIN 1000000u /* ns: what a thread takes that is woken to end */

/* The last thread of a process may be one that slept for a time until exit(2), in another thread, ended it: then it did not
 * wait for what that thread did. (It did if it waited for that thread's end.) */
static uint32_t find_killed(const struct elapsed_analysis *analysis, uint32_t end)
{
    const struct interval *last = end == 0 ? NULL : interval_at(analysis, end);
    const struct interval *wait = last == NULL || !last->terminates || last->previous == 0
                                      ? NULL
                                      : interval_at(analysis, last->previous);

    if (wait == NULL || !wait->limited || wait->source == 0 || wait->is_message ||
        last->end - wait->end > KILLED_WITHIN || interval_at(analysis, wait->source)->terminates)
        return 0;
    return last->previous;
}

int elapsed_walk_lock(struct elapsed_analysis *analysis, uint32_t lock, uint64_t *ret_time)
{
    struct elapsed_account account = {0};
    struct walk walk = {
        .analysis = analysis, .account = &account, .floor = analysis->first, .without = lock};
    uint32_t index = analysis->root_end != 0 ? analysis->root_end : analysis->last;

    if (index != 0)
        walk.now = interval_at(analysis, index)->end;
    walk.killed = find_killed(analysis, index);
    while (index != 0 && !walk.failed)
        index = walk_step(&walk, index);
    *ret_time = 0;
    for (uint32_t i = 0; i < walk.keys.count && !walk.failed; i++)
        if ((walk.parts[i].kind == ELAPSED_LOCK || walk.parts[i].kind == ELAPSED_FILE_LOCK) &&
            elapsed_is_for_lock(analysis, walk.parts[i].detail, lock))
            *ret_time += walk.parts[i].time;
    intern_done(&walk.keys);
    free(walk.parts);
    return walk.failed ? -ENOMEM : 0;
}

static int walk_run(struct elapsed_analysis *analysis, struct elapsed *elapsed)
{
    struct holds holds = {0};
    struct locks locks = {0};
    struct walk walk = {
        .analysis = analysis,
        .account = &elapsed->run,
        .floor = analysis->first, /* a wait may have begun before the recording */
        .holds = &holds,
        .locks = &locks,
        .tells = analysis->root_end != 0 || analysis->requests.count == 0,
    };
    uint32_t index = analysis->root_end != 0 ? analysis->root_end : analysis->last;

    elapsed_begin_delays(analysis);
    walk.killed = find_killed(analysis, index);
    if (index != 0) {
        walk.now = interval_at(analysis, index)->end;
        elapsed->run.time = walk.now - analysis->first;
    }
    const struct interval *last = NULL;
    while (index != 0 && !walk.failed) {
        last = interval_at(analysis, index);
        index = walk_step(&walk, index);
        elapsed->run.intervals++;
    }
    charge_before(&walk, last);
    if (analysis->root_end != 0) {
        elapsed->pid = analysis->root_pid;
        memcpy(elapsed->process, analysis->root_name, sizeof(elapsed->process));
        elapsed->from_start = true;
        elapsed->chosen = analysis->chosen != NULL;
        elapsed->commands = analysis->commands;
    }
    int result = elapsed_make_holders(analysis, &holds, &elapsed->holders, &elapsed->holder_count);
    if (result == 0)
        result = elapsed_make_locks(analysis, &locks, elapsed);
    if (result == 0 && !walk.failed)
        result = elapsed_find_item(analysis, walk.parts, walk.keys.count, elapsed);
    if (result == 0 && !walk.failed)
        result = elapsed_find_files(analysis, walk.parts, walk.keys.count, elapsed);
    elapsed_forget_holds(&holds);
    elapsed_forget_locks(&locks);
    int ended = walk_end(&walk);
    return result < 0 ? result : ended;
}

int elapsed_walk(struct elapsed_analysis *analysis, struct elapsed *elapsed)
{
    if (analysis->root_served && analysis->requests.count > 0)
        analysis->root_end = 0; /* a service that is ended has no end that its work leads to */
    int result = walk_run(analysis, elapsed);

    return result < 0 ? result : elapsed_walk_requests(analysis, &elapsed->requests);
}
