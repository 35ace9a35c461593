/* SPDX-License-Identifier: MIT */
/*
 * live_waits.c: what threads wait for, in one pass. See live.h.
 *
 *      thread 7   RECEIVECALL ............................ RECEIVE     BLOCK (futex, 30 ms)
 *                 |--- message, so far ---|                 |           |
 *                                     snapshot          it has ended    12 ms of it in this interval, 18 ms before
 */
#include "live/live_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t live_common_time(const struct live *live, uint32_t origin, uint64_t time)
{
    /* of an origin without records the clock is not known */
    if (live->waits.origin_count == 0 || !live->waits.origins[0].seen)
        return time;
    return history_common_time(live->history, origin, time);
}

/* ---- threads, processes ---- */

static struct live_process *process_of(struct live_waits *waits, uint32_t origin, uint32_t number,
                                       uint32_t *ret_index)
{
    uint64_t key = number_key(origin, number);
    uint32_t index = lookup_find(&waits->numbers, key);

    if (index == LOOKUP_NONE) {
        int64_t taken = pool_take(&waits->processes);
        if (taken < 0 || lookup_set(&waits->numbers, key, (uint32_t)taken) < 0)
            return NULL;
        index = (uint32_t)taken;
        struct live_process *process = pool_at(&waits->processes, index);
        process->origin = origin;
        process->number = number;
    }
    *ret_index = index;
    return pool_at(&waits->processes, index);
}

static int begin_thread(struct live *live, struct live_thread *thread, uint32_t origin,
                        uint32_t number)
{
    const struct stream_record *identity =
        identities_stream(history_identities(live->history), origin, number);
    uint32_t index;
    struct live_process *process =
        process_of(&live->waits, origin, identity == NULL ? number : identity->process, &index);

    if (process == NULL)
        return -ENOMEM;
    process->threads++;
    *thread = (struct live_thread){.origin = origin, .number = number, .process = index + 1};
    return 0;
}

/* The sum of those that have ended and had this row; NULL: out of memory. */
static struct live_process *sum_of(struct live_waits *waits, uint32_t row)
{
    uint32_t index = lookup_find(&waits->sums, row);

    if (index == LOOKUP_NONE) {
        int64_t taken = pool_take(&waits->processes);
        if (taken < 0 || lookup_set(&waits->sums, row, (uint32_t)taken) < 0)
            return NULL;
        index = (uint32_t)taken;
        ((struct live_process *)pool_at(&waits->processes, index))->row = row + 1;
    }
    return pool_at(&waits->processes, index);
}

static void add_process(struct live_process *sum, const struct live_process *process)
{
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
        sum->ended_waits[kind] += process->ended_waits[kind];
        sum->told[kind] += process->told[kind];
        sum->counted[kind] += process->counted[kind];
        sum->now[kind] += process->now[kind];
        if (process->now[kind] > 0)
            sum->about[kind] = process->about[kind];
    }
    sum->correction += process->correction;
    sum->cpu_earlier += process->cpu_earlier;
    sum->waited_ended += process->waited_ended;
    sum->waited_now += process->waited_now;
}

/* With its last record, since the statistics forget it then. */
static int end_process(struct live *live, struct live_process *process)
{
    bool shared;
    int64_t row =
        statistics_process_row(live->statistics, process->origin, process->number, &shared);

    if (row < 0)
        return (int)row;
    process->ended = true;
    process->keeps_row = row != NO_PROCESS && !shared;
    process->row = row != NO_PROCESS && shared ? (uint32_t)row + 1 : 0;
    return 0;
}

/* No thread has its index any more. */
static int release_process(struct live_waits *waits, uint32_t index)
{
    struct live_process *process = pool_at(&waits->processes, index);

    if (process->keeps_row)
        return 0;
    if (process->row != 0) {
        struct live_process *sum = sum_of(waits, process->row - 1);
        if (sum == NULL)
            return -ENOMEM;
        add_process(sum, process);
    }
    lookup_remove(&waits->numbers, number_key(process->origin, process->number));
    pool_give(&waits->processes, index);
    return 0;
}

/* A thread of a process that has ended may still end: a trace may say so. */
static int end_thread(struct live *live, struct live_thread *thread, bool last)
{
    uint32_t index = thread->process - 1;
    struct live_process *process = pool_at(&live->waits.processes, index);

    *thread = (struct live_thread){0};
    process->threads--;
    if (last && !process->ended && end_process(live, process) < 0)
        return -ENOMEM;
    return process->ended && process->threads == 0 ? release_process(&live->waits, index) : 0;
}

/* NULL: out of memory. */
static struct live_thread *thread_of(struct live *live, const struct history_event *event)
{
    struct live_waits *waits = &live->waits;
    uint32_t place = event->stream_place, number = event->event.header->stream;

    if (array_reserve(&waits->threads, &waits->thread_room, place, sizeof(*waits->threads)) < 0)
        return NULL;
    if (place > waits->thread_count)
        waits->thread_count = place;
    struct live_thread *thread = &waits->threads[place - 1];
    if (thread->number == number && thread->origin == event->event.origin)
        return thread;
    if (thread->number != 0 && end_thread(live, thread, false) < 0) /* its end was lost */
        return NULL;
    return begin_thread(live, thread, event->event.origin, number) < 0 ? NULL : thread;
}

/* ---- counting ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t boundary_of(const struct live_waits *waits, uint32_t origin)
{
    return origin < waits->origin_count ? waits->origins[origin].boundary : 0;
}

/* A wait has ended, or a time without a CPU. `counted`: ns of it that snapshots have counted. */
static void count(struct live_waits *waits, struct live_thread *thread, enum elapsed_kind kind,
                  uint64_t end, uint64_t length, uint64_t counted)
{
    struct live_process *process = pool_at(&waits->processes, thread->process - 1);
    uint64_t boundary = boundary_of(waits, thread->origin);
    uint64_t inside = end > boundary ? least(length, end - boundary) : 0;

    process->now[kind] += inside;
    process->ended_waits[kind] += length;
    process->told[kind] += length - least(length, counted);
    process->correction += (int64_t)(length - inside) - (int64_t)counted;
}

static void note_about(struct live_waits *waits, struct live_thread *thread, enum elapsed_kind kind,
                       const struct live_about *about)
{
    struct live_process *process = pool_at(&waits->processes, thread->process - 1);

    process->about[kind] = *about;
}

/* ---- what a wait was for ---- */

static bool is_message(const struct history_edge *edge)
{
    return edge_is_message(edge);
}

static bool is_send(const struct history_event *event)
{
    return event->event.header->id == EVENT_SEND || event->event.header->id == EVENT_SENDCALL;
}

static enum elapsed_kind outside(const struct history_event *event)
{
    return event->not_found ? ELAPSED_NOT_FOUND : ELAPSED_OUTSIDE;
}

/* Whether something is known to have ended the sleep of a BLOCK; or, with `earlier`, a wait that was over before that. */
static bool is_ended(const struct history_event *event, bool earlier)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].earlier == earlier)
            return true;
    return false;
}

/* Whether a wait for any of several paths was over, unseen, before another one began. */
static bool has_ended_unseen(const struct live_thread *thread, const struct record *record)
{
    return record->header.id == EVENT_BLOCK && thread->sleep == FOR_ANY &&
           record->block.system_call != thread->about.call;
}

/* Much as elapsed_waited_for does, which knows more. */
static enum elapsed_kind kind_of_sleep(const struct live_thread *thread,
                                       const struct history_event *event, uint64_t wait)
{
    const struct record *record = (const struct record *)event->event.header;
    uint8_t id = record->header.id;
    bool ended = has_ended_unseen(thread, record) ? is_ended(event, true) : event->edge_count > 0;

    switch (thread->sleep) {
    case IN_STOP:
        return ELAPSED_STOPPED;
    case IN_SEND:
        return is_send(event) && !event->joined ? outside(event) : ELAPSED_SPACE;
    default:
        break;
    }
    if (ended && (thread->sleep == IN_RECEIVE || is_message(&event->edges[0])))
        return ELAPSED_IN_FLIGHT;
    if (ended)
        return ELAPSED_EVENT;
    if (id == EVENT_ACCEPT || (id == EVENT_RECEIVE && !event->joined))
        return outside(event);
    if (thread->sleep == IN_RECEIVE)
        return ELAPSED_UNKNOWN;
    if (id == EVENT_CONNECT || id == EVENT_CONNECTFAILED)
        return ELAPSED_CONNECT;
    return thread->limit != 0 && thread->limit != UINT64_MAX &&
                   wait >= thread->limit - thread->limit / 4
               ? ELAPSED_TIMER
               : ELAPSED_EVENT;
}

static enum elapsed_kind kind_of_block(const struct live *live, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if ((record->header.flags & RECORD_TIME_LIMIT) != 0 && !is_ended(event, false))
        return ELAPSED_LIMIT;
    return elapsed_kind_of_block(live->history, &live->waits.recorded, event);
}

/* The path of a record of this event; 0: it has none. */
static uint32_t path_of(const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    const uint64_t with_path = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) |
                               EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_RECEIVE) |
                               EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT) |
                               EVENT_FLAG(EVENT_CONNECTFAILED);

    return with_path >> record->header.id & 1 ? record->message.path : 0;
}

static struct live_end *end_at(const struct live_waits *waits, uint32_t place)
{
    return place == 0 || place > waits->end_count ? NULL : &waits->ends[place - 1];
}

static struct live_about about_event(const struct live_waits *waits,
                                     const struct history_event *event)
{
    const struct live_end *own = end_at(waits, event->end_place);
    const struct live_end *partner = end_at(waits, event->partner_place);
    struct live_about about = {
        .origin = event->event.origin, .path = path_of(event), .call = NO_SYSTEM_CALL};

    if (about.path != 0 && partner != NULL) {
        about.partner = event->partner_place;
        about.partner_origin = partner->origin;
        about.partner_path = partner->path;
    }
    about.is_idle = own != NULL && own->serves && !is_send(event);
    return about;
}

/* The end at the other side, if it is still the same. */
const struct live_end *live_waits_partner(const struct live_waits *waits,
                                          const struct live_about *about)
{
    const struct live_end *partner = end_at(waits, about->partner);

    return partner != NULL && partner->path == about->partner_path &&
                   partner->origin == about->partner_origin && partner->path != 0
               ? partner
               : NULL;
}

/* NULL: it is not known, or has ended. */
static struct live_process *process_at(const struct live_waits *waits, const struct live_end *end)
{
    struct live_process *process =
        end->process == 0 ? NULL : pool_at(&waits->processes, end->process - 1);

    return process != NULL && process->origin == end->origin &&
                   process->number == end->process_number
               ? process
               : NULL;
}

/* The process that uses the other end, which is waited for; NULL: none that is known. */
static struct live_process *waited_for(const struct live_waits *waits,
                                       const struct live_about *about)
{
    const struct live_end *partner = about->is_idle ? NULL : live_waits_partner(waits, about);

    return partner == NULL ? NULL : process_at(waits, partner);
}

static bool is_of_other_end(enum elapsed_kind kind)
{
    return kind == ELAPSED_IN_FLIGHT || kind == ELAPSED_SPACE;
}

/* ---- events ---- */

/* As elapsed.c: the event is inside a wait that goes on. */
static bool is_within(const struct live_thread *thread, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (thread->sleep == AWAKE || thread->sleep == IN_STOP || event->edge_count > 0)
        return false;
    switch (record->header.id) {
    case EVENT_CREATEPATH:
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
    case EVENT_WAKEUP:
    case EVENT_SIGNAL:
        return true;
    case EVENT_BLOCK:
        return (record->block.state & 1) == 0;
    default:
        return false;
    }
}

/* A wait for the other end is over. */
static void count_waited_for(const struct live_waits *waits, const struct live_about *about,
                             uint64_t end, uint64_t length)
{
    struct live_process *process = waited_for(waits, about);
    uint64_t boundary = boundary_of(waits, about->origin);

    if (process == NULL)
        return;
    process->waited_now += end > boundary ? least(length, end - boundary) : 0;
    process->waited_ended += length;
}

/* The wait that began with the thread's latest event is over at `end`. Returns how long it was. */
static uint64_t end_sleep(struct live *live, struct live_thread *thread,
                          const struct history_event *event, uint64_t end, uint64_t cpu,
                          uint64_t no_cpu)
{
    struct live_waits *waits = &live->waits;
    uint64_t rest = end - thread->last - cpu;
    uint64_t wait = rest - least(rest, no_cpu);
    enum elapsed_kind kind = kind_of_sleep(thread, event, wait);
    struct live_about about = about_event(waits, event);

    if (about.path == 0)
        about.path = thread->about.path;
    about.call = thread->about.call;
    count(waits, thread, kind, thread->last + wait, wait, thread->counted);
    note_about(waits, thread, kind, &about);
    if (is_of_other_end(kind))
        count_waited_for(waits, &about, thread->last + wait, wait);
    return wait;
}

/* Delays of less than this together may have no SCHEDULE yet. */
#define UNTOLD 1000000u /* ns */

/* It was awake, used no CPU, and no record says why not. Nothing but SCHEDULE says how long it waited for a CPU: `no_cpu` ns. If
 * records were lost, it may have slept. */
static void count_awake(struct live_waits *waits, struct live_thread *thread, uint64_t end,
                        uint64_t length, uint64_t no_cpu)
{
    bool is_bounded = waits->origins[thread->origin].has_delays &&
                      recorded_always(&waits->recorded, EVENT_SCHEDULE);
    uint64_t untold = no_cpu > 0 ? 0 : thread->untold;
    uint64_t lacked = is_bounded ? least(length, no_cpu + UNTOLD - untold) : length;

    if (is_bounded)
        thread->untold = untold + (lacked > no_cpu ? lacked - no_cpu : 0);
    count(waits, thread, ELAPSED_NO_CPU, end, lacked, 0);
    if (lacked == length)
        return;
    count(waits, thread, ELAPSED_UNKNOWN, end - lacked, length - lacked, 0);
    note_about(waits, thread, ELAPSED_UNKNOWN, &(struct live_about){.call = NO_SYSTEM_CALL});
}

static void end_block(struct live *live, struct live_thread *thread,
                      const struct history_event *event, uint64_t rest)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t time = record->header.time, whole = least(record->block.duration, rest);
    uint64_t no_cpu = least(event->no_cpu.of_block, whole);
    enum elapsed_kind kind = kind_of_block(live, event);
    const struct live_about about = {.origin = event->event.origin,
                                     .object = record->block.object,
                                     .call = record->block.system_call};

    count(&live->waits, thread, kind, time - no_cpu, whole - no_cpu, 0);
    count(&live->waits, thread, ELAPSED_NO_CPU, time, no_cpu, 0);
    count_awake(&live->waits, thread, time - whole, rest - whole,
                event->no_cpu.time - least(event->no_cpu.time, no_cpu));
    note_about(&live->waits, thread, kind, &about);
}

/* CPU time is known with the next event: some of it may be of before this interval. `time`: when the last of it was used, at
 * the latest. */
static void note_cpu(struct live_waits *waits, const struct live_thread *thread, uint64_t time,
                     uint64_t cpu)
{
    struct live_process *process = pool_at(&waits->processes, thread->process - 1);
    uint64_t boundary = boundary_of(waits, thread->origin);
    uint64_t inside = time > boundary ? least(cpu, time - boundary) : 0;

    process->cpu_earlier += cpu - inside;
}

/* The time since the thread's event before. */
static void count_time(struct live *live, struct live_thread *thread,
                       const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t time = record->header.time, cpu = 0, no_cpu = thread->no_cpu + event->no_cpu.time;
    bool blocks = record->header.id == EVENT_BLOCK;

    if (!thread->runs || time < thread->last ||
        (thread->sleep == AWAKE && thread->last < live->waits.origins[thread->origin].gap.end))
        return;
    uint64_t length = time - thread->last;
    if (event->proc_time > thread->cpu)
        cpu = least(event->proc_time - thread->cpu, length);
    uint64_t rest = length - cpu, slept = blocks ? least(record->block.duration, rest) : 0;
    note_cpu(&live->waits, thread, time - slept, cpu);
    if (thread->sleep == AWAKE) {
        if (blocks)
            end_block(live, thread, event, rest);
        else
            count_awake(&live->waits, thread, time, rest, event->no_cpu.time);
        return;
    }
    if (has_ended_unseen(thread, record)) {
        end_sleep(live, thread, event, time - slept, cpu,
                  no_cpu - least(no_cpu, event->no_cpu.of_block));
        thread->counted = 0;
        end_block(live, thread, event, slept);
        return;
    }
    uint64_t wait = end_sleep(live, thread, event, time, cpu, no_cpu);
    count(&live->waits, thread, ELAPSED_NO_CPU, time, rest - wait, 0);
}

/* Whether the thread falls asleep with this event, and what for. */
static void begin_sleep(struct live_waits *waits, struct live_thread *thread,
                        const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    thread->sleep = AWAKE;
    thread->no_cpu = thread->counted = thread->limit = 0;
    switch (record->header.id) {
    case EVENT_STOPPROCESS:
        thread->sleep = IN_STOP;
        thread->kind = ELAPSED_STOPPED;
        return;
    case EVENT_SENDCALL:
        if ((record->header.flags & RECORD_PREEMPTED) != 0)
            return;
        thread->sleep = IN_SEND;
        thread->kind = event->joined ? ELAPSED_SPACE : outside(event);
        break;
    case EVENT_RECEIVECALL:
        thread->sleep = record->message.path == 0 ? FOR_ANY : IN_RECEIVE;
        thread->kind = thread->sleep == FOR_ANY ? ELAPSED_EVENT
                       : event->joined          ? ELAPSED_IN_FLIGHT
                                                : outside(event);
        break;
    default:
        return;
    }
    thread->about = about_event(waits, event);
    if (thread->sleep == FOR_ANY) {
        thread->about.path = record->any.only_path;
        thread->about.call = any_call(record);
        thread->limit = any_limit(record);
    }
}

static void note_path(struct live_end *end, const struct event *event)
{
    const struct path_record *path = (const struct path_record *)event->header;
    bool guessed;

    if (end->path == path->path && end->origin == event->origin)
        return; /* more is known of it now */
    *end = (struct live_end){.origin = event->origin,
                             .path = path->path,
                             .serves = path_side(path, &guessed) == PATH_SIDE_SERVES};
}

#define REQUEST_MOST 1000000000u /* ns: what comes later begins another request */

/* A client that mostly sends the next request without an answer does not wait for answers: it writes a log, for example. */
static bool sends_on(const struct live_end *end)
{
    return end->unanswered > 0 && end->unanswered >= end->answered;
}

/* Its answer may have been sent while no messages were recorded. */
static bool is_before_gap(const struct live_waits *waits, const struct live_end *end)
{
    return end->asked < waits->origins[end->origin].gap.end;
}

/* The process that an unmonitored client waits for while its request is open; NULL: it does not wait, as far as is known. */
static struct live_process *asked_of(const struct live_waits *waits, const struct live_end *end)
{
    struct live_process *process =
        end->asked == 0 || is_before_gap(waits, end) ? NULL : process_at(waits, end);

    if (process == NULL || !process->answers || sends_on(end))
        return NULL;
    return process;
}

/* It was answered, or its client does not wait any more. `process`: for which it counts; NULL: none. */
static void end_request(const struct live_waits *waits, struct live_end *end,
                        struct live_process *process, uint64_t time)
{
    uint64_t boundary = boundary_of(waits, end->origin);
    uint64_t length = end->asked == 0 || time < end->asked ? 0 : time - end->asked;

    end->asked = 0;
    if (process == NULL)
        return;
    process->waited_now += time > boundary ? least(length, time - boundary) : 0;
    process->waited_ended += length;
}

/* A request of an unmonitored client comes, or is answered. */
static void note_request(struct live_waits *waits, struct live_end *end,
                         const struct history_event *event)
{
    uint64_t time = event->event.header->time;
    struct live_process *process = process_at(waits, end);

    if (!end->serves || event->joined || process == NULL)
        return;
    if (is_before_gap(waits, end))
        end->asked = 0;
    if (event->event.header->id == EVENT_RECEIVE) {
        if (event->event.header->flags & RECORD_END_OF_FILE)
            return;
        if (end->asked != 0 && time > end->asked + REQUEST_MOST) {
            end_request(waits, end, asked_of(waits, end), time);
            end->unanswered++;
        }
        if (end->asked == 0)
            end->asked = time;
        return;
    }
    if (end->asked == 0)
        return;
    process->answers = true;
    end->answered++;
    end_request(waits, end, process, time);
}

static int note_end(struct live_waits *waits, const struct history_event *event)
{
    uint8_t id = event->event.header->id;

    if (event->end_place == 0)
        return 0;
    if (array_reserve(&waits->ends, &waits->end_room, event->end_place, sizeof(*waits->ends)) < 0)
        return -ENOMEM;
    if (event->end_place > waits->end_count)
        waits->end_count = event->end_place;
    struct live_end *end = &waits->ends[event->end_place - 1];
    if (id == EVENT_PATH) {
        note_path(end, &event->event);
    } else if (id == EVENT_DESTROYPATH) {
        end_request(waits, end, asked_of(waits, end), event->event.header->time);
        *end = (struct live_end){0};
    }
    return 0;
}

/* A thread uses an end. */
static void use_end(struct live_waits *waits, const struct live_thread *thread,
                    const struct history_event *event)
{
    struct live_end *end = end_at(waits, event->end_place);
    uint8_t id = event->event.header->id;

    if (end == NULL || (id != EVENT_SEND && id != EVENT_RECEIVE && id != EVENT_RECEIVECALL))
        return;
    end->origin = event->event.origin;
    end->path = path_of(event);
    end->stream = thread->number;
    end->process = thread->process;
    end->process_number =
        ((const struct live_process *)pool_at(&waits->processes, thread->process - 1))->number;
    if (id != EVENT_RECEIVECALL)
        note_request(waits, end, event);
}

#define COST_LEAST 500000000u /* ns: the last COST may come right after the one before */

#define ROUNDING 100 /* times what rounding may have added, so that it is 1% of a CPU at most */

/* What COST says is in whole ns for each record: of many records, these are much. So it is compared with what was said long enough ago. */
static void note_hooks(struct live_origin *origin, uint64_t time, const struct hook_cost *hook)
{
    const struct hook_cost *before = &origin->cost_hook;
    uint64_t since = time - origin->hook_time;
    uint64_t all = hook->each * hook->records, earlier = before->each * before->records;

    if (hook->each == 0 ||
        (before->each != 0 && (since < COST_LEAST || since / ROUNDING < hook->records)))
        return;
    if (before->each != 0) {
        origin->has_hook_rate = true;
        origin->hook_rate =
            all > earlier ? (uint64_t)((double)(all - earlier) * 1e9 / (double)since) : 0;
    }
    origin->cost_hook = *hook;
    origin->hook_time = time;
}

/* A recorder that writes little says it seldom: what it says is of all the time since it did so before. */
static void note_cost(struct live_origin *origin, const struct record *record)
{
    uint64_t time = record->header.time, since = time - origin->cost_time;

    if (origin->cost_time != 0 && time < origin->cost_time + COST_LEAST)
        return;
    if (origin->cost_time != 0 && record->cost.cpu >= origin->cost_cpu) {
        origin->has_rate = true;
        origin->rate =
            (uint64_t)((double)(record->cost.cpu - origin->cost_cpu) * 1e9 / (double)since);
    }
    origin->cost_time = time;
    origin->cost_cpu = record->cost.cpu;
}

/* The ptrace meter reports the sum of all delays when a thread ends. */
static bool reports_delays_late(const struct live *live, uint32_t origin)
{
    const struct machine_record *machine =
        identities_machine(history_identities(live->history), origin);

    return machine != NULL && machine->meter == METER_PTRACE;
}

static int note_time(struct live *live, const struct event *event)
{
    struct live_waits *waits = &live->waits;

    if (event->origin >= waits->origin_count) {
        if (array_reserve(&waits->origins, &waits->origin_room, event->origin + 1UL,
                          sizeof(*waits->origins)) < 0)
            return -ENOMEM;
        waits->origin_count = event->origin + 1;
    }
    struct live_origin *origin = &waits->origins[event->origin];
    if (!origin->seen)
        origin->boundary = event->header->time;
    origin->seen = true;
    if (event->header->time > origin->latest)
        origin->latest = event->header->time;
    origin->ended = origin->ended || event->header->id == EVENT_END;
    origin->has_summaries = origin->has_summaries || event->header->id == EVENT_SUMMARY;
    if (event->header->id == EVENT_SCHEDULE && !origin->has_delays)
        origin->has_delays = !reports_delays_late(live, event->origin);
    if (event->header->id == EVENT_COST) {
        note_cost(origin, (const struct record *)event->header);
        note_hooks(origin, event->header->time, history_hook_cost(live->history, event->origin));
    }
    return 0;
}

/* After a time in which nothing was recorded, what was missing in it matters no more: what threads did is not counted (count_time). Of
 * several origins, another one may lack the same type. */
static void note_recorded(struct live_waits *waits, const struct event *event)
{
    if (message_gap_note(&waits->origins[event->origin].gap, event->header) &&
        waits->origin_count == 1)
        waits->recorded = (struct recorded_types){.rules = waits->recorded.rules,
                                                  .unmetered = waits->recorded.unmetered};
    recorded_note(&waits->recorded, event->header);
}

int live_waits_add(struct live *live, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct live_waits *waits = &live->waits;
    bool is_of_thread =
        event->stream_place != 0 && record->header.stream != 0 &&
        (record->header.id == EVENT_STREAM ||
         (event_is_metered(record->header.id) && !(record->header.flags & RECORD_NO_STREAM)));

    if (note_time(live, &event->event) < 0 || note_end(waits, event) < 0)
        return -ENOMEM;
    note_recorded(waits, &event->event);
    if (!is_of_thread)
        return 0;
    struct live_thread *thread = thread_of(live, event);
    if (thread == NULL)
        return -ENOMEM;
    if (record->header.id == EVENT_STREAM) {
        if (!thread->runs && thread->last == 0)
            thread->last = record->header.time; /* silent from then on */
        return 0;
    }
    if (is_within(thread, event)) {
        thread->no_cpu += event->no_cpu.time;
        return 0;
    }
    count_time(live, thread, event);
    use_end(waits, thread, event);
    thread->last = record->header.time;
    thread->cpu = event->proc_time;
    thread->runs = true;
    begin_sleep(waits, thread, event);
    return record->header.id == EVENT_TERMINATION
               ? end_thread(live, thread, record->termination.last != 0)
               : 0;
}

/* ---- a snapshot ---- */

/* The snapshot's time, by the clock of an origin. */
static uint64_t own_time(const struct live *live, uint32_t origin, uint64_t time)
{
    uint64_t latest = live->waits.origins[origin].latest;
    uint64_t common = live_common_time(live, origin, latest);

    return latest + (time > common ? time - common : 0);
}

#define GONE_AFTER 20000000000u /* ns: a recorder that lives writes its SUMMARYs each 14 s */

/* Up to when it is known what threads of an origin do: not beyond the end of its recording. While recordings go on, clocks of
 * machines may differ by more than a recorder is silent. */
static uint64_t known_time(const struct live *live, uint32_t origin, uint64_t time, bool goes_on)
{
    const struct live_origin *of = &live->waits.origins[origin];
    uint64_t own = own_time(live, origin, time);
    uint64_t ago = goes_on ? of->ago : own - of->latest;
    bool is_gone = of->has_summaries && ago > GONE_AFTER;

    return of->ended || is_gone ? of->latest : own;
}

static void look_at_thread(struct live *live, struct live_thread *thread, uint64_t time)
{
    struct live_process *process = pool_at(&live->waits.processes, thread->process - 1);
    uint64_t since = thread->last != 0 && time > thread->last ? time - thread->last : 0;
    uint64_t boundary = boundary_of(&live->waits, thread->origin);
    uint64_t inside = least(since, time > boundary ? time - boundary : 0);

    if (thread->sleep == AWAKE) {
        process->silent += inside;
        return;
    }
    process->now[thread->kind] += inside;
    process->told[thread->kind] += inside;
    thread->counted += inside;
    process->open[thread->kind] += thread->counted;
    if (since > process->since[thread->kind]) {
        process->since[thread->kind] = since;
        if (thread->sleep != IN_STOP)
            process->about[thread->kind] = thread->about;
    }
    struct live_process *other =
        is_of_other_end(thread->kind) ? waited_for(&live->waits, &thread->about) : NULL;
    if (other != NULL) {
        other->waited_now += inside;
        other->waited_open += since;
    }
}

/* A request of an unmonitored client that is not answered yet, if it is one that will be. */
static void look_at_end(struct live *live, const struct live_end *end, uint64_t time)
{
    uint64_t boundary = boundary_of(&live->waits, end->origin);
    struct live_process *process = asked_of(&live->waits, end);
    uint64_t since = time > end->asked ? time - end->asked : 0;

    if (process == NULL)
        return;
    process->waited_now += least(since, time > boundary ? time - boundary : 0);
    process->waited_open += since;
}

void live_waits_look(struct live *live, uint64_t time, bool goes_on)
{
    struct live_waits *waits = &live->waits;

    for (size_t i = 0; i < waits->thread_count; i++)
        if (waits->threads[i].number != 0)
            look_at_thread(live, &waits->threads[i],
                           known_time(live, waits->threads[i].origin, time, goes_on));
    for (size_t i = 0; i < waits->end_count; i++)
        if (waits->ends[i].asked != 0)
            look_at_end(live, &waits->ends[i],
                        known_time(live, waits->ends[i].origin, time, goes_on));
}

void live_waits_next(struct live *live, uint64_t time)
{
    struct live_waits *waits = &live->waits;

    for (uint32_t i = 0; i < waits->processes.used; i++) {
        struct live_process *process = pool_at(&waits->processes, i);
        memset(process->now, 0, sizeof(process->now));
        memset(process->open, 0, sizeof(process->open));
        memset(process->since, 0, sizeof(process->since));
        process->correction = 0;
        process->silent = process->waited_now = process->waited_open = process->cpu_earlier = 0;
    }
    for (uint32_t i = 0; i < waits->origin_count; i++)
        if (waits->origins[i].seen)
            waits->origins[i].boundary = own_time(live, i, time);
}

const struct live_process *live_waits_at(struct live *live, uint32_t index, uint32_t *ret_row,
                                         int *ret_error)
{
    struct live_process *process = pool_at(&live->waits.processes, index);
    int64_t row = NO_PROCESS;
    bool shared;

    if (process->row != 0)
        row = process->row - 1;
    else if (process->number != 0)
        row = statistics_process_row(live->statistics, process->origin, process->number, &shared);
    *ret_error = row < 0 ? (int)row : 0;
    if (row < 0 || row == NO_PROCESS)
        return NULL;
    *ret_row = (uint32_t)row;
    return process;
}

void live_waits_done(struct live_waits *waits)
{
    free(waits->threads);
    free(waits->ends);
    free(waits->origins);
    lookup_done(&waits->numbers);
    lookup_done(&waits->sums);
    pool_done(&waits->processes);
}
