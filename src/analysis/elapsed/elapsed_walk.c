/* SPDX-License-Identifier: MIT */
/*
 * elapsed_walk.c: from the end backwards, along what was being waited for.
 *
 *      now                                              <--- end
 *       |  cpu  |  no CPU  | in flight |   cpu ...
 *       '-- of the receiver ----------' '-- of the sender, from its send backwards
 *
 * A request is walked from its last answer back to its beginning. In each process that it passes, the way leads back to
 * where the process received it, and from there along its message. What the thread received for other requests in
 * between is work that comes first.
 *
 *      front   o<--(4) RECEIVE      call SEND o<--(3)    answer o<--- SEND (1): from here
 *              request 1                       \               / (2)
 *      back                             RECEIVE o=============o SEND
 *
 * A thread that waits for a lock is left for the thread that released it, the holder. A sleep of the holder for a time of
 * its own choice counts if the other thread waited during it, or if the holder slept with a request in hand. Otherwise it
 * had woken before the other one came to wait, and the way goes back to that one, which did not sleep (a JVM's VM thread
 * sleeps for a second, and then stops the others for a moment).
 *
 *      worker      ==compute====(3)======| waits |==(1)
 *      VM thread   ........timer.......(2)==awake==|
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A part of the request that is followed. */
struct hop {
    uint64_t begin, end;
    enum elapsed_kind kind;
    uint32_t detail;
};

#define DEPTH_MOST 64 /* processes that call each other */

struct walk {
    struct elapsed_analysis *analysis;
    struct elapsed_account *account;
    uint64_t now;   /* everything after this is accounted for */
    uint64_t floor; /* nothing before this counts */
    struct intern keys;
    struct part *parts;
    size_t part_room;
    bool keeps_hops;
    struct hop *hops;
    size_t hop_count, hop_room;
    /* intervals that received the request, in the processes that it is in now: the latest one last */
    uint32_t received[DEPTH_MOST];
    unsigned depth;
    /* intervals that waited for a lock, on the way from the latest message or creation to here: the latest one last */
    uint32_t waiters[DEPTH_MOST];
    uint32_t
        waits[DEPTH_MOST]; /* ... and where each waited at the time that the walk has come to */
    unsigned waiter_count;
    uint32_t
        killed; /* the wait with which the account begins, if its thread did nothing after it; 0: none */
    /* The wait before one for a lock that another thread ended, if its thread did next to nothing in between; 0: none ... */
    uint32_t in_vain;
    uint32_t lock;       /* ... and the detail of that one */
    struct holds *holds; /* NULL: not asked for */
    struct locks *locks; /* likewise */
    bool tells;          /* elapsed_watch gets its pieces */
    /* of requests: an interval that several of them went through counts once for a kind */
    bool counts_once;
    uint32_t at;      /* the interval that is accounted for; 0: none */
    uint32_t without; /* detail of a lock whose holders are not followed; 0: none */
    /* The request that is followed waited for a thread that waited for its own client: the interval that received that
     * client's message; 0: none. */
    uint32_t idle;
    /* of requests: detail of the thread that released the interpreter lock; 0: none ... */
    uint32_t releaser;
    struct holds *releasers; /* ... and of all; NULL: not asked for */
    bool failed;
};

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

static void charge(struct walk *walk, uint64_t from, enum elapsed_kind kind, uint32_t detail)
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

/* The thread had no CPU from `from` until now, as far as the kernel's figures allow. Those are of all its time, and the
 * way through one request shares that with others. */
static void charge_no_cpu(struct walk *walk, uint64_t from, const struct interval *interval)
{
    from = from < walk->floor ? walk->floor : from;
    if (from >= walk->now)
        return;
    uint64_t time = walk->now - from;
    if (walk->holds != NULL)
        time = elapsed_take_no_cpu(walk->analysis, interval, time);
    charge(walk, walk->now - time, ELAPSED_NO_CPU, interval->computes);
}

/* From `now` back to `begin`: the thread of the interval computed for its CPU time, and had no CPU for the rest. */
static void charge_awake(struct walk *walk, uint64_t begin, const struct interval *interval)
{
    uint64_t length = walk->now > begin ? walk->now - begin : 0;
    uint64_t cpu = interval->cpu < length ? interval->cpu : length;

    charge(walk, walk->now - cpu, ELAPSED_COMPUTES, interval->computes);
    charge_no_cpu(walk, begin, interval);
    charge(walk, begin, ELAPSED_UNKNOWN, interval->computes);
}

/* A process makes its last record before it closes its files and wakes its parent, and may have no CPU meanwhile: then the
 * others still wait for its end. But the end of a file that comes much later is that of another process. */
static enum elapsed_kind kind_after_arrival(const struct walk *walk,
                                            const struct interval *interval)
{
    if (interval->source == 0 || interval->is_message || interval->is_likely ||
        !interval_at(walk->analysis, interval->source)->terminates)
        return ELAPSED_UNKNOWN;
    return interval->asleep && interval->end > interval->arrival + ENDING ? ELAPSED_UNKNOWN
                                                                          : ELAPSED_CHILD;
}

/* The thread's wait was over at `arrival`, as it seems: the rest that the kernel's figures do not cover is unknown,
 * unless it is the end of a process. */
static void charge_from_arrival(struct walk *walk, uint64_t arrival,
                                const struct interval *interval)
{
    charge_no_cpu(walk, elapsed_runnable_since(walk->analysis, interval, arrival), interval);
    charge(walk, arrival, kind_after_arrival(walk, interval), interval->waits);
}

static enum elapsed_kind kind_of(const struct walk *walk, uint32_t detail)
{
    return detail == 0 ? ELAPSED_UNKNOWN : walk->analysis->details[detail - 1].kind;
}

/* The end of the wait, and the way to what ended it. */
static void charge_arrival(struct walk *walk, const struct interval *interval)
{
    const struct interval *source = interval_at(walk->analysis, interval->source);
    uint64_t begun = begun_at(source), sent = begun < walk->now ? begun : walk->now;

    charge_from_arrival(walk, interval->arrival > sent ? interval->arrival : sent, interval);
    charge(walk, sent, interval->is_message ? ELAPSED_IN_FLIGHT : ELAPSED_UNKNOWN, interval->waits);
}

/* ---- waits for locks ---- */

static uint64_t begin_of(const struct walk *walk, const struct interval *interval)
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
    charge_awake(walk, begin_of(walk, interval), interval);
    return interval->previous;
}

/* ---- intervals ---- */

static uint32_t step_over_wait(struct walk *walk, const struct interval *interval)
{
    enum elapsed_kind kind = kind_of(walk, interval->waits);

    charge_no_cpu(walk, walk->now - (interval->queued < walk->now ? interval->queued : walk->now),
                  interval);
    if (elapsed_is_wait_for_interpreter(walk->analysis, interval)) {
        walk->releaser = is_retried(walk, interval) ? walk->releaser : 0;
        note_retry(walk, interval, interval->waits);
        charge(walk, elapsed_wait_began(interval), ELAPSED_INTERPRETER, interval->waits);
        return step_before_wait(walk, interval);
    }
    if (kind == ELAPSED_LIMIT && is_retried(walk, interval)) {
        note_retry(walk, interval, walk->lock);
        charge(walk, elapsed_wait_began(interval), ELAPSED_LOCK, walk->lock);
        return step_before_wait(walk, interval);
    }
    walk->releaser = 0;
    bool is_own_sleep = (kind == ELAPSED_TIMER || kind == ELAPSED_LIMIT) &&
                        !interval->in_request; /* for no request */
    uint32_t waiter = is_own_sleep ? take_waiter_since(walk) : 0;
    if (waiter != 0)
        return step_before_wait(walk, interval_at(walk->analysis, waiter));
    charge(walk, interval->asleep ? begin_of(walk, interval) : elapsed_wait_began(interval), kind,
           interval->waits);
    return interval->asleep ? interval->previous : step_before_wait(walk, interval);
}

static enum elapsed_kind kind_of_lock(const struct walk *walk, const struct interval *interval)
{
    return elapsed_is_wait_for_interpreter(walk->analysis, interval) ? ELAPSED_INTERPRETER
           : elapsed_is_stop(walk->analysis, interval)
               ? ELAPSED_VM_STOP
               : kind_of_call(walk->analysis->details[interval->waits - 1].call, 0);
}

/* Stays with the thread that waited. */
static uint32_t step_over_lock(struct walk *walk, const struct interval *interval)
{
    walk->releaser = interval_at(walk->analysis, interval->source)->computes;
    charge_from_arrival(walk, interval->arrival, interval);
    charge(walk, elapsed_wait_began(interval), kind_of_lock(walk, interval), interval->waits);
    note_retry(walk, interval, interval->waits);
    return step_before_wait(walk, interval);
}

/* Accounts for an interval; returns the one before it. */
static uint32_t step(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);
    uint64_t begin = begin_of(walk, interval);

    if (interval->previous == 0) { /* its first one: created there */
        charge_awake(walk, begin, interval);
        walk->waiter_count = 0;
        return interval->source;
    }
    if (begin >= walk->now)
        return interval->previous; /* it had sent before, or another one waited later */
    if (interval->wait == 0 || (!interval->asleep && elapsed_wait_began(interval) >= walk->now))
        return step_before_wait(walk, interval);
    if (interval->asleep)
        charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    if (interval->source == 0)
        return step_over_wait(walk, interval);
    if (elapsed_is_wait_for_any_lock(walk->analysis, interval)) {
        if (elapsed_is_for_lock(walk->analysis, interval->waits, walk->without))
            return step_over_lock(walk, interval);
        if (walk->locks != NULL &&
            elapsed_note_lock(walk->analysis, walk->locks, interval, walk->now) < 0)
            walk->failed = true;
    }
    charge_arrival(walk, interval);
    note_waiter(walk, index);
    return interval->source;
}

static int end_account(struct walk *walk)
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

    charge(walk, analysis->first, is_command ? ELAPSED_NOT_STARTED : ELAPSED_UNKNOWN,
           is_command ? last->computes : 0);
}

#define DYING 1000000u /* ns: what a thread takes that is woken to end */

/* The last thread of a process may be one that slept for a time until exit(2), in another thread, ended it: then it did not
 * wait for what that thread did. (It did if it waited for that thread's end.) */
static uint32_t find_killed(const struct elapsed_analysis *analysis, uint32_t end)
{
    const struct interval *last = end == 0 ? NULL : interval_at(analysis, end);
    const struct interval *wait = last == NULL || !last->terminates || last->previous == 0
                                      ? NULL
                                      : interval_at(analysis, last->previous);

    if (wait == NULL || !wait->limited || wait->source == 0 || wait->is_message ||
        last->end - wait->end > DYING || interval_at(analysis, wait->source)->terminates)
        return 0;
    return last->previous;
}

int elapsed_walk_lock(struct elapsed_analysis *analysis, uint32_t lock, uint64_t *ret_time)
{
    struct elapsed_account account = {0};
    struct walk walk = {.analysis = analysis, .account = &account, .without = lock};
    uint32_t index = analysis->root_end != 0 ? analysis->root_end : analysis->last;

    if (index != 0)
        walk.now = interval_at(analysis, index)->end;
    walk.killed = find_killed(analysis, index);
    while (index != 0 && !walk.failed)
        index = step(&walk, index);
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
        index = step(&walk, index);
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
    elapsed_forget_holds(&holds);
    elapsed_forget_locks(&locks);
    int ended = end_account(&walk);
    return result < 0 ? result : ended;
}

/* ---- requests ---- */

#define QUEUED_MOST 1000 /* intervals of a thread that lets a message wait */

/* For how long the thread had no CPU in an interval, as far as it lies between the two times. */
static uint64_t no_cpu_between(const struct interval *before, const struct interval *interval,
                               uint64_t from, uint64_t to)
{
    uint64_t length = to > from ? to - from : 0;
    uint64_t said =
        interval->runnable > before->runnable ? interval->runnable - before->runnable : 0;
    uint64_t time = interval->wait > 0       ? interval->queued
                    : interval->cpu < length ? length - interval->cpu
                                             : 0;

    time = time < said ? time : said;
    return time < length ? time : length;
}

/* For how long, between the two times, the thread waited for Python's interpreter lock, with no request in hand: in a
 * send whose answer was out already. */
static uint64_t interpreter_between(const struct walk *walk, const struct interval *interval,
                                    uint64_t from, uint64_t to)
{
    uint64_t end = interval->end - interval->queued;

    if (interval->in_request || !elapsed_is_wait_for_interpreter(walk->analysis, interval))
        return 0;
    if (from < elapsed_wait_began(interval))
        from = elapsed_wait_began(interval);
    if (end > to)
        end = to;
    return end > from ? end - from : 0;
}

/* Detail of the thread that released the interpreter lock at the end of a wait, or right after its time limit; 0: not
 * known. */
static uint32_t releaser_of(const struct walk *walk, const struct interval *interval,
                            const struct interval *after)
{
    if (interval->source == 0 && !after->asleep && !after->is_message && after->cpu < RETRY)
        interval = after;
    return interval->source == 0 ? 0 : interval_at(walk->analysis, interval->source)->computes;
}

/* A message waited for its receiver, which had no CPU, or did something else. */
static void charge_queued(struct walk *walk, uint64_t arrival, const struct interval *receives)
{
    const struct interval *interval = receives, *after = receives;
    uint64_t to = walk->now, no_cpu = 0, interpreter = 0;
    uint32_t lock = 0;

    for (int i = 0; i < QUEUED_MOST && to > arrival && interval->previous != 0; i++) {
        const struct interval *before = interval_at(walk->analysis, interval->previous);
        uint64_t from = before->end > arrival ? before->end : arrival;
        no_cpu += no_cpu_between(before, interval, from, to);
        uint64_t waited = interpreter_between(walk, interval, from, to);
        if (lock == 0 && waited > 0) {
            lock = interval->waits;
            walk->releaser = releaser_of(walk, interval, after);
        }
        interpreter += waited;
        to = from < to ? from : to;
        after = interval;
        interval = before;
    }
    charge(walk, walk->now - no_cpu, ELAPSED_NO_CPU, receives->computes);
    charge(walk, walk->now - interpreter, ELAPSED_INTERPRETER, lock);
    charge(walk, arrival, ELAPSED_QUEUED, receives->waits);
}

/* Along the message that was received. */
static uint32_t step_to_sender(struct walk *walk, const struct interval *interval)
{
    uint64_t sent =
        interval->source == 0 ? 0 : begun_at(interval_at(walk->analysis, interval->source));
    uint64_t arrival = interval->arrival != 0 ? interval->arrival : sent;

    if (interval->asleep) {
        charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
        charge_from_arrival(walk, arrival, interval);
    } else {
        charge_queued(walk, arrival, interval);
    }
    if (interval->source == 0)
        return interval->previous;
    charge(walk, sent, ELAPSED_IN_FLIGHT, interval->waits);
    walk->waiter_count = 0;
    return interval->source;
}

/* The thread had the request, and waited for a lock that another thread held. The other thread's work is not part of the
 * request, unlike the work of a thread that hands the request over. */
static bool waits_for_lock(const struct walk *walk, const struct interval *interval)
{
    return interval->in_request && elapsed_is_wait_for_lock(walk->analysis, interval);
}

/* Whether the interval's thread is the one that received the request that is followed. */
static bool has_request(const struct walk *walk, const struct interval *interval)
{
    return walk->depth > 0 &&
           interval_at(walk->analysis, walk->received[walk->depth - 1])->thread == interval->thread;
}

/* The thread received another request, or the next one: it did not wait for this one. If it has the request in hand, a time
 * limit or an event will have come, too. Otherwise the way has led to it because something waited for what it did then: a
 * lock that it held while it waited for its own client. */
static uint32_t step_over_other(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);
    uint64_t begin = interval->previous == 0 ? walk->floor
                                             : interval_at(walk->analysis, interval->previous)->end;

    if (interval->wait == 0) {
        charge_awake(walk, begin, interval);
        return interval->previous;
    }
    charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    bool has = has_request(walk, interval);
    if (!has)
        walk->idle = index;
    charge(walk, begin, has ? ELAPSED_EVENT : ELAPSED_CLIENT, interval->waits);
    return interval->previous;
}

/* The wait for that client was interrupted: by a signal, or by a time limit after which the thread waited again. */
static bool is_idle_still(const struct walk *walk, const struct interval *interval)
{
    enum elapsed_kind kind = kind_of(walk, interval->waits);

    return walk->idle != 0 && interval->wait > 0 && interval->asleep && interval->source == 0 &&
           !interval->in_request && (kind == ELAPSED_EVENT || kind == ELAPSED_TIMER) &&
           interval->thread == interval_at(walk->analysis, walk->idle)->thread;
}

static uint32_t step_over_idle(struct walk *walk, const struct interval *interval)
{
    charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    charge_no_cpu(walk, walk->now - (interval->queued < walk->now ? interval->queued : walk->now),
                  interval);
    charge(walk, begin_of(walk, interval), ELAPSED_CLIENT,
           interval_at(walk->analysis, walk->idle)->waits);
    return interval->previous;
}

/* Whether the way has come to where the request was received in this process. */
static bool has_come_to_request(const struct walk *walk)
{
    return walk->depth > 0 &&
           walk->now <= interval_at(walk->analysis, walk->received[walk->depth - 1])->end;
}

/* The answer `index` was sent for what is followed. */
static void enter_request(struct walk *walk, uint32_t index)
{
    uint32_t request = index == 0 ? 0 : interval_at(walk->analysis, index)->request;

    if (request != 0 && walk->depth < DEPTH_MOST)
        walk->received[walk->depth++] = request;
}

static uint32_t step_of_request(struct walk *walk, uint32_t index, bool first)
{
    const struct interval *interval = interval_at(walk->analysis, index);

    walk->at = index;
    if (has_come_to_request(walk)) {
        walk->at = walk->received[--walk->depth];
        interval = interval_at(walk->analysis, walk->at);
        if (interval->arrival == 0 && interval->source == 0)
            return 0;
        index = step_to_sender(walk, interval);
        return interval->source == 0 ? 0
                                     : index; /* else from outside, or its sender is not known */
    }
    if (interval->serves)
        return step_over_other(walk, index);
    if (is_idle_still(walk, interval))
        return step_over_idle(walk, interval);
    if (waits_for_lock(walk, interval))
        return step_over_lock(walk, interval);
    if (interval->receives && interval->arrival != 0 && interval->source != 0 &&
        (first || interval->wait == 0))
        index = step_to_sender(walk, interval);
    else
        index = step(walk, index);
    if (interval->is_message && index == interval->source)
        enter_request(walk, index);
    return index;
}

#define STEPS_MOST 1000000 /* of one request */

/* Back to `floor`, from an interval of the request. */
static void walk_part(struct walk *walk, uint32_t index, uint64_t floor)
{
    walk->floor = floor;
    walk->depth = walk->waiter_count = 0;
    walk->idle = 0;
    enter_request(walk, index);
    for (uint32_t i = 0; index != 0 && walk->now > floor && i < STEPS_MOST && !walk->failed; i++) {
        index = step_of_request(walk, index, i == 0);
        walk->account->intervals++;
    }
    walk->at = 0;
    charge(walk, floor, ELAPSED_UNKNOWN, 0);
}

/* The tries that had no answer, to the first one. */
static void charge_tries(struct walk *walk, const struct request *request)
{
    for (uint32_t at = request->tries; at != 0 && !walk->failed;) {
        const struct try *try = (const struct try *)walk->analysis->tries.at + (at - 1);
        charge(walk, try->begin, ELAPSED_NO_ANSWER, try->detail);
        at = try->previous;
    }
}

/* What the client did between the connect and the first try, and the connect. */
static void charge_connect(struct walk *walk, const struct request *request)
{
    if (request->connected < walk->now)
        walk_part(walk, request->first, request->connected);
    walk->floor = request->begin;
    uint64_t resent = request->is_resent ? asking_resent(request->connected - request->begin) : 0;
    charge(walk, request->begin + resent, ELAPSED_CONNECT, request->connects);
    charge(walk, request->begin, ELAPSED_RESENT_SYN, request->connects);
}

static void walk_request(struct walk *walk, const struct request *request)
{
    uint64_t end = interval_at(walk->analysis, request->last)->end;
    uint64_t begin = request->begin < end ? request->begin : end;

    walk->now = end;
    walk->account->time += end - begin;
    walk_part(walk, request->last,
              request->sent < begin ? begin
              : request->sent < end ? request->sent
                                    : end);
    walk->floor = begin;
    charge_tries(walk, request);
    if (request->connected != 0)
        charge_connect(walk, request);
    walk->floor = begin;
    charge(walk, begin, ELAPSED_UNKNOWN, 0);
}

/* The hops were found from the end backwards. */
static int make_hops(const struct walk *walk, struct elapsed_request *request)
{
    size_t count = walk->hop_count < ELAPSED_HOPS_MOST ? walk->hop_count : ELAPSED_HOPS_MOST;

    request->hops = calloc(count + 1, sizeof(*request->hops));
    if (request->hops == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct hop *hop = &walk->hops[count - 1 - i];
        const struct part part = {hop->detail, hop->kind, hop->end - hop->begin, 1};
        request->hops[i] =
            (struct elapsed_hop){hop->begin - walk->floor, elapsed_row_of(walk->analysis, &part)};
    }
    request->hop_count = count;
    request->cut = count < walk->hop_count;
    return 0;
}

static int describe_request(struct elapsed_analysis *analysis, const struct request *request,
                            struct elapsed_request *ret_request)
{
    struct elapsed_account account = {0};
    struct walk walk = {.analysis = analysis, .account = &account, .keeps_hops = true};

    walk_request(&walk, request);
    ret_request->begin = walk.floor;
    ret_request->time = account.time;
    int result = walk.failed ? -ENOMEM : make_hops(&walk, ret_request);
    int ended = end_account(&walk);
    free(account.rows);
    return result < 0 ? result : ended;
}

/* If there are more, only every second, third ... is followed. */
#define REQUESTS_MOST 200000u

struct length {
    uint64_t time;
    uint32_t request; /* index */
};

static int by_length(const void *one, const void *other)
{
    const struct length *a = one, *b = other;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->request < b->request ? -1 : a->request > b->request;
}

static const struct request *request_at(const struct elapsed_analysis *analysis, uint32_t index)
{
    return (const struct request *)analysis->requests.at + index;
}

static int describe_lengths(struct elapsed_analysis *analysis, struct length *lengths, size_t count,
                            struct elapsed_requests *requests)
{
    qsort(lengths, count, sizeof(*lengths), by_length);
    const struct length *median = &lengths[(count - 1) / 2]; /* nearest ranks */
    requests->median = median->time;
    requests->p99 = lengths[(count * 99 + 99) / 100 - 1].time;
    int result =
        describe_request(analysis, request_at(analysis, median->request), &requests->typical);
    return result < 0 ? result
                      : describe_request(analysis, request_at(analysis, lengths[count - 1].request),
                                         &requests->slowest);
}

static int walk_requests(struct elapsed_analysis *analysis, struct elapsed_requests *requests)
{
    struct holds releasers = {0};
    struct walk walk = {
        .analysis = analysis,
        .account = &requests->account,
        .releasers = &releasers,
        .tells = analysis->root_end == 0,
        .counts_once = true,
    };
    uint32_t count = analysis->requests.count, stride = count / REQUESTS_MOST + 1;
    struct length *lengths = calloc(count / stride + 1, sizeof(*lengths));

    requests->count = count;
    requests->unanswered = analysis->unanswered;
    requests->unfinished = analysis->unfinished;
    for (uint32_t i = 0; i < count; i++) {
        requests->retried += request_at(analysis, i)->tries != 0;
        requests->connects += request_at(analysis, i)->connected != 0;
    }
    walk.failed = lengths == NULL;
    for (uint32_t i = 0; i < count && !walk.failed; i += stride) {
        const struct request *request = request_at(analysis, i);
        walk_request(&walk, request);
        lengths[requests->followed++] =
            (struct length){interval_at(analysis, request->last)->end - walk.floor, i};
    }
    int result = end_account(&walk);
    if (result == 0)
        result = elapsed_make_holders(analysis, &releasers, &requests->releasers,
                                      &requests->releaser_count);
    elapsed_forget_holds(&releasers);
    if (result == 0 && requests->followed > 0)
        result = describe_lengths(analysis, lengths, requests->followed, requests);
    free(lengths);
    return result;
}

int elapsed_walk(struct elapsed_analysis *analysis, struct elapsed *elapsed)
{
    int result = walk_run(analysis, elapsed);

    return result < 0 ? result : walk_requests(analysis, &elapsed->requests);
}
