/* SPDX-License-Identifier: MIT */
/*
 * elapsed_walk_requests.c: the way from the end of a request to its beginning. See elapsed_walk.h.
 *
 * A request is walked from its last answer back to its beginning. In each process that it passes, the way leads back to
 * where the process received it, and from there along its message. What the thread received for other requests in
 * between is work that comes first.
 *
 *      front   o<--(4) RECEIVE      call SEND o<--(3)    answer o<--- SEND (1): from here
 *              request 1                       \               / (2)
 *      back                             RECEIVE o=============o SEND
 */
#include "analysis/elapsed/elapsed_walk.h"

#include <errno.h>
#include <stdlib.h>

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
    walk_charge(walk, walk->now - no_cpu, ELAPSED_NO_CPU, receives->computes);
    walk_charge(walk, walk->now - interpreter, ELAPSED_INTERPRETER, lock);
    walk_charge(walk, arrival, ELAPSED_QUEUED, receives->waits);
}

/* Along the message that was received. */
static uint32_t step_to_sender(struct walk *walk, const struct interval *interval)
{
    uint64_t sent =
        interval->source == 0 ? 0 : begun_at(interval_at(walk->analysis, interval->source));
    uint64_t arrival = interval->arrival != 0 ? interval->arrival : sent;

    if (interval->asleep) {
        walk_charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
        walk_charge_from_arrival(walk, arrival, interval);
    } else {
        charge_queued(walk, arrival, interval);
    }
    if (interval->source == 0)
        return interval->previous;
    walk_charge(walk, sent,
                walk_flight(walk, interval, interval_at(walk->analysis, interval->source)),
                interval->waits);
    walk->waiter_count = 0;
    return interval->source;
}

/* A wait for a condition that another thread ended. A lock that is known as one passes from thread to thread: the last of
 * them need not have had it for long. */
static bool waits_for_condition(const struct walk *walk, const struct interval *interval)
{
    return elapsed_is_wait_for_lock(walk->analysis, interval) &&
           walk->analysis->details[interval->waits - 1].object == 0 &&
           elapsed_kind_in_runtime(walk->analysis, ELAPSED_LOCK, interval->waits) == ELAPSED_LOCK;
}

/* Whether the interval's thread is the one that received the request that is followed. */
static bool has_request(const struct walk *walk, const struct interval *interval)
{
    return walk->depth > 0 &&
           interval_at(walk->analysis, walk->received[walk->depth - 1])->thread == interval->thread;
}

/* Whether the thread has woken or created, with the request in hand, the one that has ended its wait: that one works for the
 * request, whatever it waits for meanwhile.
 *
 *      client's thread   RECEIVE o==o wakes ....... waits ....... o=====o SEND
 *      one of a pool      waits ...'-o===== works =====o wakes ---'
 */
static bool is_handed_over(const struct walk *walk, const struct interval *interval)
{
    uint32_t at = interval->source;

    if (!has_request(walk, interval) || !waits_for_condition(walk, interval))
        return false;
    uint64_t received = interval_at(walk->analysis, walk->received[walk->depth - 1])->end;
    for (int i = 0; i < QUEUED_MOST && at != 0; i++) {
        const struct interval *other = interval_at(walk->analysis, at);
        if (other->end < received || other->serves)
            return false;
        const struct interval *woke =
            other->source != 0 && (other->previous == 0 || waits_for_condition(walk, other))
                ? interval_at(walk->analysis, other->source)
                : NULL;
        if (woke != NULL && woke->thread == interval->thread)
            return woke->end >= received && woke->end <= elapsed_wait_began(interval);
        at = other->previous;
    }
    return false;
}

/* The thread had the request, and waited for a lock that another thread held. The other thread's work is not part of the
 * request, unlike the work of a thread that hands the request over, or is handed it. */
static bool waits_for_lock(const struct walk *walk, const struct interval *interval)
{
    return interval->in_request && elapsed_is_wait_for_lock(walk->analysis, interval) &&
           !is_handed_over(walk, interval);
}

/* For how long, within a wait for a condition, the holders of what is waited for waited themselves for the next messages of
 * their clients: the thread that ended the wait, before that one the thread that it waited for, and so on.
 *
 *      first    answers o ... thinks: the client ... o COMMIT, wakes the second
 *      second              |......... waits .........|=answers=o .. client .. o COMMIT, wakes the third
 *      third                |................... waits .......................|
 */
static uint64_t follow_holders(struct walk *walk, const struct interval *interval, bool charges)
{
    uint64_t began = elapsed_wait_began(interval), time = 0;
    uint32_t at = interval->source;

    for (int i = 0; i < QUEUED_MOST && at != 0; i++) {
        const struct interval *holder = interval_at(walk->analysis, at);
        uint64_t idle = walk_begin_of(walk, holder);
        if (holder->end <= began)
            break;
        if (holder->serves && holder->asleep && holder->wait > 0) {
            idle = idle > began ? idle : began;
            time += holder->end - idle;
            walk->at = at;
            if (charges) {
                walk_charge(walk, holder->end, ELAPSED_LOCK, interval->waits);
                walk_charge(walk, idle, ELAPSED_CLIENT, holder->waits);
            }
        }
        at = waits_for_condition(walk, holder) ? holder->source : holder->previous;
    }
    return time;
}

/* The holders waited for their clients, if that was most of the wait: otherwise it may be a coincidence. */
static uint32_t step_over_lock(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);

    if (waits_for_condition(walk, interval) &&
        follow_holders(walk, interval, false) > interval->wait / 2) {
        walk_charge_from_arrival(walk, interval->arrival, interval);
        follow_holders(walk, interval, true);
    }
    walk->at = index;
    return walk_step_over_lock(walk, interval);
}

/* Whether the thread had asked before the interval ended, and the answer came later: an event loop receives other requests
 * meanwhile. */
static bool waits_for_answer(const struct walk *walk, uint32_t index)
{
    return walk->answer != 0 && index > interval_at(walk->analysis, walk->answer)->asked;
}

static enum elapsed_kind kind_of_answer(const struct walk *walk)
{
    return walk_kind_of(walk, interval_at(walk->analysis, walk->answer)->waits);
}

/* An answer from outside that was waited for with the request in hand. */
static void note_outside_answer(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);
    enum elapsed_kind kind = walk_kind_of(walk, interval->waits);

    if (interval->wait > 0 && interval->source == 0 && walk->depth > 0 &&
        interval->asked > walk->received[walk->depth - 1] &&
        (kind == ELAPSED_OUTSIDE || kind == ELAPSED_NOT_FOUND) && has_request(walk, interval) &&
        !waits_for_answer(walk, index))
        walk->answer = index;
}

/* The thread received another request, or the next one: it did not wait for this one. If it has the request in hand, it
 * waited for an answer that came later, or else for the other one, or a time limit has come, too. Otherwise the way has led to it
 * because something waited for what it did then: a lock that it held while it waited for its own client. */
static uint32_t step_over_other(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);
    uint64_t begin = interval->previous == 0 ? walk->floor
                                             : interval_at(walk->analysis, interval->previous)->end;

    if (interval->wait == 0) {
        walk_charge_awake(walk, begin, interval);
        return interval->previous;
    }
    walk_charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    bool has = has_request(walk, interval);
    *(has ? &walk->other : &walk->idle) = index;
    if (has && waits_for_answer(walk, index))
        walk_charge(walk, begin, kind_of_answer(walk),
                    interval_at(walk->analysis, walk->answer)->waits);
    walk_charge(walk, begin, has ? ELAPSED_OTHER_CONNECTION : ELAPSED_CLIENT, interval->waits);
    return interval->previous;
}

/* Whether the wait until `other` was received was interrupted here: by a signal, or by a time limit after which the thread
 * waited again. */
static bool is_interrupted(const struct walk *walk, const struct interval *interval, uint32_t other)
{
    enum elapsed_kind kind = walk_kind_of(walk, interval->waits);

    return other != 0 && interval->wait > 0 && interval->asleep && interval->source == 0 &&
           (kind == ELAPSED_EVENT || kind == ELAPSED_TIMER) &&
           interval->thread == interval_at(walk->analysis, other)->thread;
}

static bool is_idle_still(const struct walk *walk, const struct interval *interval)
{
    return !interval->in_request && is_interrupted(walk, interval, walk->idle);
}

#define CHORES                                                                                     \
    1000000u /* ns of CPU time after a time limit that is no part of a request, at most */

static bool waits_for_other(const struct walk *walk, const struct interval *interval)
{
    return interval->cpu < CHORES && has_request(walk, interval) &&
           is_interrupted(walk, interval, walk->other);
}

static uint32_t step_over_part(struct walk *walk, const struct interval *interval,
                               enum elapsed_kind kind, uint32_t other)
{
    walk_charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    walk_charge_no_cpu(
        walk, walk->now - (interval->queued < walk->now ? interval->queued : walk->now), interval);
    walk_charge(walk, walk_begin_of(walk, interval), kind,
                interval_at(walk->analysis, other)->waits);
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

    walk->other = walk->answer = 0;
    if (request != 0 && walk->depth < DEPTH_MOST)
        walk->received[walk->depth++] = request;
}

#define CLOSING_MOST                                                                               \
    1000 /* intervals of a thread, from its answer until the other side sees its end */

/* Whether the thread of the answer had received another request when it came to `source`. */
static bool is_at_next_request(const struct walk *walk, uint32_t source, uint32_t answer)
{
    for (int i = 0; i < CLOSING_MOST && source > answer; i++) {
        const struct interval *interval = interval_at(walk->analysis, source);
        if (interval->serves)
            return interval->thread == interval_at(walk->analysis, answer)->thread;
        source = interval->previous;
    }
    return false;
}

/* The end of a file, after an answer. Its edge begins at what the sender did last: for this request, or else it had closed
 * before, right after the answer. */
static uint32_t step_over_end_of_file(struct walk *walk, uint32_t index)
{
    const struct interval *interval = interval_at(walk->analysis, index);
    uint32_t answer = interval->request, next = answer;

    if (is_at_next_request(walk, interval->source, answer)) {
        walk_charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
        walk_charge_from_arrival(walk, begun_at(interval_at(walk->analysis, answer)), interval);
        walk->waiter_count = 0;
    } else {
        next = walk_step(walk, index);
    }
    if (next == answer || next == interval->source)
        enter_request(walk, answer);
    return next;
}

static uint32_t step_of_request(struct walk *walk, uint32_t index, bool first)
{
    const struct interval *interval = interval_at(walk->analysis, index);

    walk->at = index;
    if (has_come_to_request(walk)) {
        walk->at = walk->received[--walk->depth];
        walk->other = walk->answer = 0;
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
        return step_over_part(walk, interval, ELAPSED_CLIENT, walk->idle);
    if (waits_for_other(walk, interval) && waits_for_answer(walk, index))
        return step_over_part(walk, interval, kind_of_answer(walk), walk->answer);
    if (waits_for_other(walk, interval))
        return step_over_part(walk, interval, ELAPSED_OTHER_CONNECTION, walk->other);
    if (waits_for_lock(walk, interval))
        return step_over_lock(walk, index);
    if (interval->ends_file && interval->asleep && interval->source != 0)
        return step_over_end_of_file(walk, index);
    note_outside_answer(walk, index);
    if (interval->receives && interval->arrival != 0 && interval->source != 0 &&
        (first || interval->wait == 0))
        index = step_to_sender(walk, interval);
    else
        index = walk_step(walk, index);
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
    walk->idle = walk->other = walk->answer = 0;
    enter_request(walk, index);
    for (uint32_t i = 0; index != 0 && walk->now > floor && i < STEPS_MOST && !walk->failed; i++) {
        index = step_of_request(walk, index, i == 0);
        walk->account->intervals++;
    }
    walk->at = 0;
    walk_charge(walk, floor, ELAPSED_UNKNOWN, 0);
}

/* The tries that had no answer, to the first one. */
static void charge_tries(struct walk *walk, const struct request *request)
{
    for (uint32_t at = request->tries; at != 0 && !walk->failed;) {
        const struct try *try = (const struct try *)walk->analysis->tries.at + (at - 1);
        walk_charge(walk, try->begin, ELAPSED_NO_ANSWER, try->detail);
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
    walk_charge(walk, request->begin + resent, ELAPSED_CONNECT, request->connects);
    walk_charge(walk, request->begin, ELAPSED_RESENT_SYN, request->connects);
}

/* Not after its end, if clocks differ. */
static uint64_t begin_of(const struct elapsed_analysis *analysis, const struct request *request)
{
    uint64_t end = interval_at(analysis, request->last)->end;

    return request->begin < end ? request->begin : end;
}

static void walk_request(struct walk *walk, const struct request *request)
{
    uint64_t end = interval_at(walk->analysis, request->last)->end;
    uint64_t begin = begin_of(walk->analysis, request);

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
    walk_charge(walk, begin, ELAPSED_UNKNOWN, 0);
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
    int ended = walk_end(&walk);
    ret_request->rows = account.rows;
    ret_request->row_count = account.row_count;
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

struct span {
    uint64_t begin, end;
};

static int by_begin(const void *one, const void *other)
{
    const struct span *a = one, *b = other;

    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* The time in which at least one request was in progress. */
static int cover_requests(const struct elapsed_analysis *analysis, uint64_t *ret_covered)
{
    size_t count = analysis->requests.count;
    struct span *spans = calloc(count + 1, sizeof(*spans));
    uint64_t covered = 0, until = 0;

    for (uint32_t i = 0; i < count && spans != NULL; i++) {
        const struct request *request = request_at(analysis, i);
        spans[i].begin = begin_of(analysis, request);
        spans[i].end = interval_at(analysis, request->last)->end;
    }
    if (spans != NULL)
        qsort(spans, count, sizeof(*spans), by_begin);
    for (size_t i = 0; i < count && spans != NULL; i++) {
        uint64_t begin = spans[i].begin > until ? spans[i].begin : until;
        if (spans[i].end <= begin)
            continue;
        covered += spans[i].end - begin;
        until = spans[i].end;
    }
    *ret_covered = covered;
    int result = spans == NULL ? -ENOMEM : 0;
    free(spans);
    return result;
}

int elapsed_walk_requests(struct elapsed_analysis *analysis, struct elapsed_requests *requests)
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
    walk.failed = lengths == NULL || cover_requests(analysis, &requests->covered) < 0;
    for (uint32_t i = 0; i < count && !walk.failed; i += stride) {
        const struct request *request = request_at(analysis, i);
        walk_request(&walk, request);
        lengths[requests->followed++] =
            (struct length){interval_at(analysis, request->last)->end - walk.floor, i};
    }
    int result = walk_end(&walk);
    if (result == 0)
        result = elapsed_make_holders(analysis, &releasers, &requests->releasers,
                                      &requests->releaser_count);
    elapsed_forget_holds(&releasers);
    if (result == 0 && requests->followed > 0)
        result = describe_lengths(analysis, lengths, requests->followed, requests);
    free(lengths);
    return result;
}

/* ---- each by itself ---- */

/* The hops were found from the end backwards. */
static int make_steps(const struct walk *walk, struct elapsed_step **ret_steps)
{
    struct elapsed_step *steps = calloc(walk->hop_count + 1, sizeof(*steps));

    *ret_steps = steps;
    for (size_t i = 0; steps != NULL && i < walk->hop_count; i++) {
        const struct hop *hop = &walk->hops[walk->hop_count - 1 - i];
        steps[i] = (struct elapsed_step){hop->begin, hop->end, hop->kind, hop->detail};
    }
    return steps == NULL ? -ENOMEM : 0;
}

static int give_request(struct elapsed_analysis *analysis, const struct request *request,
                        elapsed_take_request *take, void *context)
{
    struct elapsed_account account = {0};
    struct walk walk = {.analysis = analysis, .account = &account, .keeps_hops = true};
    struct elapsed_step *steps = NULL;
    const struct interval *first =
        request->first == 0 ? NULL : interval_at(analysis, request->first);

    walk_request(&walk, request);
    int result = walk.failed ? -ENOMEM : make_steps(&walk, &steps);
    if (result == 0) {
        const struct elapsed_followed followed = {
            .begin = walk.floor,
            .end = walk.floor + account.time,
            .client = first == NULL ? 0 : first->computes,
            .steps = steps,
            .step_count = walk.hop_count,
        };
        result = take(context, &followed);
    }
    free(steps);
    int ended = walk_end(&walk);
    free(account.rows);
    return result != 0 ? result : ended;
}

int elapsed_each_request(struct elapsed_analysis *analysis, size_t most, elapsed_take_request *take,
                         void *context, uint64_t *ret_count)
{
    uint32_t count = analysis->requests.count;
    struct length *order = calloc((size_t)count + 1, sizeof(*order));
    int result = order == NULL ? -ENOMEM : 0;

    *ret_count = count;
    for (uint32_t i = 0; i < count && order != NULL; i++)
        order[i] = (struct length){begin_of(analysis, request_at(analysis, i)), i};
    if (order != NULL)
        qsort(order, count, sizeof(*order), by_length); /* of their beginnings */
    for (uint32_t i = 0; i < count && i < most && result == 0; i++)
        result = give_request(analysis, request_at(analysis, order[i].request), take, context);
    free(order);
    return result;
}

struct elapsed_row elapsed_step_row(const struct elapsed_analysis *analysis, uint32_t detail)
{
    const struct part part = {detail, ELAPSED_UNKNOWN, 0, 0};

    return elapsed_row_of(analysis, &part);
}

const char *elapsed_step_address(const struct elapsed_analysis *analysis, uint32_t detail)
{
    return detail == 0 ? NULL : analysis->details[detail - 1].address;
}

void elapsed_step_received(const struct elapsed_analysis *analysis, uint32_t detail,
                           uint32_t *ret_received, uint32_t *ret_beside)
{
    const struct detail *of = detail == 0 ? NULL : &analysis->details[detail - 1];
    const struct elapsed_thread *thread =
        of == NULL ? NULL : elapsed_find_thread(analysis, of->origin, of->stream);

    *ret_received = thread == NULL ? 0 : thread->received;
    *ret_beside = thread == NULL ? 0 : thread->beside;
}
