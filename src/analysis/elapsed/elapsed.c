/* SPDX-License-Identifier: MIT */
/* elapsed.c: the intervals of threads, and what ended their waits. See elapsed_private.h. */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>

/* ---- threads ---- */

struct elapsed_thread *elapsed_find_thread(const struct elapsed_analysis *analysis, uint32_t origin,
                                           uint32_t number)
{
    uint32_t index = lookup_find(&analysis->thread_numbers, number_key(origin, number));

    return index == LOOKUP_NONE ? NULL : pool_at(&analysis->threads, index);
}

static struct elapsed_thread *thread_of(struct elapsed_analysis *analysis, uint32_t origin,
                                        uint32_t number)
{
    struct elapsed_thread *thread = elapsed_find_thread(analysis, origin, number);

    if (thread != NULL)
        return thread;
    int64_t index = pool_take(&analysis->threads);
    if (index < 0 ||
        lookup_set(&analysis->thread_numbers, number_key(origin, number), (uint32_t)index) < 0)
        return NULL;
    thread = pool_at(&analysis->threads, (uint32_t)index);
    *thread = (struct elapsed_thread){.index = (uint32_t)index};
    return thread;
}

/* ---- arrivals ---- */

static uint64_t *arrival_at(struct elapsed_analysis *analysis, uint32_t place)
{
    if (place == 0 || array_reserve(&analysis->arrived, &analysis->arrived_room, place,
                                    sizeof(*analysis->arrived)) < 0)
        return NULL;
    return &analysis->arrived[place - 1];
}

/* The first message since the last RECEIVE of this end is the one that wakes its receiver. */
static void note_arrival(struct elapsed_analysis *analysis, const struct history_event *event)
{
    uint64_t *arrived = arrival_at(analysis, event->end_place);

    if (arrived != NULL && *arrived == 0)
        *arrived =
            history_common_time(analysis->history, event->event.origin, event->event.header->time);
}

static uint64_t take_arrival(struct elapsed_analysis *analysis, const struct history_event *event)
{
    uint64_t *arrived = arrival_at(analysis, event->end_place), time;

    if (arrived == NULL)
        return 0;
    time = *arrived;
    *arrived = 0;
    return time;
}

/* ---- intervals ---- */

/* Whether the event is inside a wait that goes on: it comes to a path, or sleeps for a lock in the kernel. */
static bool is_within(const struct elapsed_thread *thread, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (!thread->asleep)
        return false;
    switch (record->header.id) {
    case EVENT_CREATEPATH:
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
    case EVENT_WAKEUP:
    case EVENT_SIGNAL:
        return event->edge_count == 0;
    case EVENT_BLOCK:
        return event->edge_count == 0 && (record->block.state & 1) == 0; /* not interruptible */
    default:
        return false;
    }
}

static void find_wait(const struct elapsed_thread *thread, const struct history_event *event,
                      uint64_t length, struct interval *interval)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t awake = length - interval->cpu; /* or waited */

    interval->asleep = thread->asleep;
    interval->limited =
        record->header.id == EVENT_BLOCK && (record->header.flags & RECORD_TIME_LIMIT) != 0;
    interval->terminates = record->header.id == EVENT_TERMINATION;
    if (thread->asleep || thread->stopped)
        interval->wait = awake;
    else if (record->header.id == EVENT_BLOCK)
        interval->wait = smaller_of(record->block.duration, awake);
    interval->queued =
        smaller_of(interval->wait, record->header.id == EVENT_BLOCK && !thread->asleep
                                       ? event->no_cpu.of_block
                                       : thread->no_cpu + event->no_cpu.time);
}

static void note_sleep(struct elapsed_thread *thread, const struct record *record)
{
    bool receives = record->header.id == EVENT_RECEIVECALL;
    bool sends = record->header.id == EVENT_SENDCALL && !(record->header.flags & RECORD_PREEMPTED);

    thread->asleep = receives || sends;
    thread->for_any = receives && record->message.path == 0;
    thread->sends = sends;
    thread->receives = receives && !thread->for_any;
    thread->pc = elapsed_pc_of(&record->header);
    thread->call = thread->for_any ? any_call(record) : NO_SYSTEM_CALL;
    thread->awaited = thread->for_any ? record->any.only_path : receives ? record->message.path : 0;
    thread->limit = thread->for_any ? any_limit(record) : 0;
    thread->connected = thread->accepted = thread->woken = 0;
    thread->no_cpu = 0;
    thread->stopped = record->header.id == EVENT_STOPPROCESS;
}

/* The edge by which the first event of a thread follows its creation. */
static uint32_t creator_of(const struct elapsed_analysis *analysis,
                           const struct history_event *event)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].kind == EDGE_CREATION)
            return elapsed_source_of(analysis, &event->edges[i]);
    return 0;
}

/* CPU time since the thread's last interval. */
static uint64_t cpu_since(struct elapsed_thread *thread, const struct history_event *event,
                          bool created)
{
    uint64_t before = thread->runs ? thread->cpu : created ? 0 : event->proc_time;

    return event->proc_time > before ? event->proc_time - before : 0;
}

/* When the message that is received came. */
static uint64_t arrival_of(const struct elapsed_analysis *analysis,
                           const struct history_event *event, uint64_t arrived)
{
    if (arrived != 0)
        return arrived;
    return event->came != 0 && event->came < event->event.header->time
               ? history_common_time(analysis->history, event->event.origin, event->came)
               : 0;
}

static bool receives(const struct record *record)
{
    return record->header.id == EVENT_RECEIVE && record->message.path != 0 &&
           !(record->header.flags & RECORD_END_OF_FILE);
}

#define SIGNAL_WAKES 1000000u /* ns: that a signal takes at most to make a thread runnable */

/* Whether the signal that came last has ended the wait. One that is blocked does not end what waits for something else: so only
 * if the thread could run right after it. */
static bool is_ended_by_signal(const struct elapsed_thread *thread, const struct interval *interval,
                               enum elapsed_kind kind)
{
    uint64_t end = interval->end - (interval->asleep ? interval->cpu : 0);
    uint64_t woken = end - interval->queued;
    bool may_end = kind == ELAPSED_TIMER || kind == ELAPSED_LIMIT || kind == ELAPSED_FILE_LOCK ||
                   kind == ELAPSED_EVENT || (kind == ELAPSED_UNKNOWN && thread->receives);

    if (thread->signalled < end - interval->wait || thread->signalled > woken + SIGNAL_WAKES)
        return false; /* before the wait, or after it */
    return kind == ELAPSED_SIGNAL || (may_end && woken <= thread->signalled + SIGNAL_WAKES);
}

/* What its wait was for. */
static int64_t detail_of_wait(struct elapsed_analysis *analysis, struct elapsed_thread *thread,
                              const struct history_event *event, const struct interval *interval)
{
    const struct record *record = (const struct record *)event->event.header;
    enum elapsed_kind kind = interval->source == 0 && interval->wait > 0
                                 ? elapsed_unexplained(analysis, thread, event, interval)
                                 : ELAPSED_IN_FLIGHT;
    struct waited waited = {.kind = kind,
                            .call = elapsed_call_of_wait(thread, event),
                            .path = elapsed_path_of_wait(thread, event, kind),
                            .has_pc = thread->asleep && thread->for_any,
                            .pc = thread->pc};

    if (record->header.id == EVENT_BLOCK && !thread->asleep)
        waited.object = record->block.object;
    if (is_ended_by_signal(thread, interval, kind)) {
        waited.signal = thread->signal;
        waited.sender = thread->sender;
    }

    return detail_of(analysis, event, &waited);
}

static int describe_interval(struct elapsed_analysis *analysis, struct elapsed_thread *thread,
                             const struct history_event *event, struct interval *interval)
{
    int64_t computes = detail_of_computing(analysis, event);
    int64_t waits = 0;

    if (computes >= 0 && (interval->wait > 0 || interval->receives))
        waits = detail_of_wait(analysis, thread, event, interval);
    if (computes < 0 || waits < 0)
        return -ENOMEM;
    interval->computes = (uint32_t)computes;
    interval->waits = (uint32_t)waits;
    if (elapsed_find_interpreter(analysis, interval) < 0)
        return -ENOMEM;
    if (waits > 0 && interval->is_message && interval->source != 0)
        analysis->details[waits - 1].peer = interval_at(analysis, interval->source)->computes;
    return 0;
}

/* A SEND happens when its first byte becomes visible, but its thread may wait for buffer space until the call ends. */
static uint64_t end_of(const struct elapsed_analysis *analysis, const struct history_event *event)
{
    return history_common_time(analysis->history, event->event.origin,
                               is_send(event) ? event->event.header->time : event->when);
}

static uint64_t span_of(const struct elapsed_thread *thread, const struct history_event *event,
                        const struct interval *interval)
{
    uint64_t span = is_send(event) ? event->event.header->time - event->when : 0;

    if (thread->sends && span > interval->cpu)
        span = interval->cpu; /* of the rest: it had found no space before */
    return span;
}

static int fill(struct elapsed_analysis *analysis, struct elapsed_thread *thread,
                const struct history_event *event, struct interval *interval)
{
    uint64_t end = end_of(analysis, event);
    uint64_t arrived = event->event.header->id == EVENT_RECEIVE ? take_arrival(analysis, event) : 0;
    uint32_t creator = thread->last == 0 ? creator_of(analysis, event) : 0;
    uint32_t before = thread->last != 0 ? thread->last : creator;
    uint64_t begin = before != 0 ? interval_at(analysis, before)->end : end;

    interval->end = end > begin ? end : begin;
    interval->cpu = cpu_since(thread, event, creator != 0);
    if (interval->cpu > interval->end - begin)
        interval->cpu = interval->end - begin;
    if (thread->last == 0 && creator == 0)
        thread->before = event->runnable; /* perhaps before the recording */
    interval->previous = thread->last;
    interval->thread = thread->index + 1;
    interval->runnable = event->runnable;
    interval->receives = receives((const struct record *)event->event.header);
    interval->in_request = thread->requests > 0;
    find_wait(thread, event, interval->end - begin, interval);
    if (creator != 0)
        interval->source = creator;
    else if (interval->wait > 0)
        elapsed_find_cause(analysis, event,
                           interval->end - (interval->asleep ? interval->cpu : 0) - interval->wait,
                           arrived, false, interval);
    else if (interval->receives)
        elapsed_find_cause(analysis, event, 0, arrived, false, interval);
    if (interval->receives && (interval->source == 0 || interval->wait == 0))
        interval->arrival = arrival_of(analysis, event, arrived); /* of its rest it is not known */
    interval->span = span_of(thread, event, interval);
    return describe_interval(analysis, thread, event, interval);
}

/* Whether a wait for any of several paths is over since some time: its end makes no record if it has found none. */
static bool has_ended_unseen(const struct elapsed_thread *thread, const struct record *record)
{
    return thread->asleep && thread->for_any && record->header.id == EVENT_BLOCK &&
           record->block.system_call != thread->call;
}

/* What ended it, if that was before the BLOCK began: then it did not end the BLOCK. */
static void find_unseen_cause(struct elapsed_analysis *analysis,
                              const struct elapsed_thread *thread,
                              const struct history_event *event, struct interval *interval)
{
    struct interval cause = {0};

    if (thread->woken != 0)
        cause = (struct interval){.source = thread->woken,
                                  .arrival = begun_at(interval_at(analysis, thread->woken))};
    if (cause.source == 0 || cause.arrival > interval->end)
        elapsed_find_cause(analysis, event, interval->end - interval->wait, 0, true, &cause);
    if (cause.source == 0 || cause.is_message || cause.arrival > interval->end)
        return;
    interval->source = cause.source;
    interval->arrival = cause.arrival;
}

/* It ended before the BLOCK in another call began. */
static int end_unseen(struct elapsed_analysis *analysis, struct elapsed_thread *thread,
                      const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t end = history_common_time(analysis->history, event->event.origin, event->when);
    uint64_t begin = interval_at(analysis, thread->last)->end;
    int64_t computes = detail_of_computing(analysis, event);
    int64_t index = scratch_add(&analysis->intervals);

    if (computes < 0 || index < 0)
        return -ENOMEM;
    end = record->block.duration < end - begin ? end - record->block.duration : begin;
    struct interval *interval = interval_at(analysis, (uint32_t)index + 1);
    *interval = (struct interval){.end = end,
                                  .cpu = cpu_since(thread, event, false),
                                  .previous = thread->last,
                                  .thread = thread->index + 1,
                                  .asleep = true,
                                  .computes = (uint32_t)computes};
    if (interval->cpu > end - begin)
        interval->cpu = end - begin;
    interval->wait = end - begin - interval->cpu;
    interval->queued =
        smaller_of(thread->no_cpu + event->no_cpu.time - event->no_cpu.of_block, interval->wait);
    interval->runnable = event->runnable - event->no_cpu.of_block;
    find_unseen_cause(analysis, thread, event, interval);
    enum elapsed_kind kind = interval->source != 0
                                 ? ELAPSED_EVENT
                                 : elapsed_unexplained_of_any(analysis, thread, event, interval);
    int64_t waits = detail_of(analysis, event,
                              &(struct waited){.kind = kind,
                                               .call = thread->call,
                                               .path = elapsed_path_of_wait(thread, event, kind),
                                               .has_pc = true,
                                               .pc = thread->pc});
    if (waits < 0)
        return -ENOMEM;
    interval->waits = (uint32_t)waits;
    interval->waited_for = (uint8_t)kind;
    thread->last = (uint32_t)index + 1;
    thread->cpu = event->proc_time;
    thread->asleep = thread->for_any = false;
    return elapsed_note_wait(analysis, event, interval, kind);
}

static bool sends(const struct record *record)
{
    return record->header.id == EVENT_SEND && record->message.path != 0;
}

static int note_messages_and_waits(struct elapsed_analysis *analysis,
                                   const struct history_event *event, struct elapsed_thread *thread,
                                   const struct interval *interval)
{
    const struct record *record = (const struct record *)event->event.header;
    int result = interval->receives || sends(record)
                     ? elapsed_note_message(analysis, event, thread, thread->latest)
                     : 0;

    if (record->header.id == EVENT_RECEIVE && (record->header.flags & RECORD_END_OF_FILE) != 0)
        elapsed_note_end_of_file(analysis, event, thread->latest);
    if (result < 0 || interval->previous == 0 || is_within(thread, event))
        return result;
    enum elapsed_kind kind = elapsed_waited_for(analysis, thread, event, interval);
    if (kind == ELAPSED_CONNECT && interval->wait > 0 && !thread->asleep &&
        record->header.id == EVENT_BLOCK) {
        thread->connecting = thread->latest; /* its next event may say which path */
        return 0;
    }
    return elapsed_note_wait(analysis, event, interval, kind);
}

/* A wait in connect() is over: the next record of its thread says what it was for. */
static int name_connection(struct elapsed_analysis *analysis, const struct history_event *event,
                           struct elapsed_thread *thread)
{
    uint16_t id = event->event.header->id;
    struct interval *wait =
        thread->connecting == 0 ? NULL : interval_at(analysis, thread->connecting);

    if (wait == NULL || id == EVENT_CREATEPATH || id == EVENT_WAKEUP)
        return 0;
    thread->connecting = 0;
    if (id == EVENT_CONNECT || id == EVENT_CONNECTFAILED) {
        const struct detail *detail = &analysis->details[wait->waits - 1];
        const struct waited waited = {.kind = detail->kind,
                                      .call = detail->call,
                                      .path = elapsed_path_of_wait(thread, event, detail->kind)};
        int64_t waits = detail_of(analysis, event, &waited);
        if (waits < 0)
            return -ENOMEM;
        wait->waits = (uint32_t)waits;
    }
    return elapsed_note_wait(analysis, event, wait, ELAPSED_CONNECT);
}

/* The first wakeup in a wait for any of several paths ends it; later ones may end waits after it, whose BLOCK is the next
 * record of the thread. */
static void note_wakeup(const struct elapsed_analysis *analysis, const struct history_event *event,
                        uint32_t interval)
{
    const struct record *record = (const struct record *)event->event.header;
    struct elapsed_thread *woken =
        record->header.id == EVENT_WAKEUP
            ? elapsed_find_thread(analysis, event->event.origin, record->wakeup.woken)
            : NULL;

    if (woken != NULL && woken->asleep && woken->for_any && woken->woken == 0)
        woken->woken = interval;
}

/* Whether the thread has asked something, as a client, and has no answer yet. */
static void note_question(const struct elapsed_analysis *analysis,
                          const struct history_event *event, struct elapsed_thread *thread)
{
    const struct record *record = (const struct record *)event->event.header;

    if (sends(record))
        thread->asked = elapsed_calls_on(analysis, event->end_place) ? record->message.path : 0;
    else if (record->header.id == EVENT_RECEIVE && thread->asked != 0 &&
             elapsed_is_one_socket(analysis, event->event.origin, thread->asked,
                                   record->message.path))
        thread->asked = 0;
}

static int add_of_thread(struct elapsed_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct elapsed_thread *thread = thread_of(analysis, event->event.origin, record->header.stream);
    struct interval interval = {0};

    if (thread == NULL ||
        (has_ended_unseen(thread, record) && end_unseen(analysis, thread, event) < 0) ||
        fill(analysis, thread, event, &interval) < 0)
        return -ENOMEM;
    interval.within = is_within(thread, event);
    interval.waited_for = (uint8_t)elapsed_waited_for(analysis, thread, event, &interval);
    int64_t index = scratch_add(&analysis->intervals);
    if (index < 0)
        return (int)index;
    *interval_at(analysis, (uint32_t)index + 1) = interval;
    uint32_t *value = history_value_at(event->value, analysis->value);
    if (value != NULL)
        *value = (uint32_t)index + 1;
    thread->latest = (uint32_t)index + 1;
    elapsed_note_end(analysis, event, thread->latest);
    int result = name_connection(analysis, event, thread);
    if (result == 0)
        result = note_messages_and_waits(analysis, event, thread, &interval);
    note_question(analysis, event, thread);
    note_wakeup(analysis, event, thread->latest);
    if (result < 0)
        return result;
    if (is_within(thread, event)) {
        thread->no_cpu += event->no_cpu.time;
        if (record->header.id == EVENT_CONNECT &&
            elapsed_is_reply_to_connect(analysis, thread, event))
            thread->connected = record->message.path;
        if (record->header.id == EVENT_ACCEPT && thread->for_any && thread->accepted == 0)
            thread->accepted = record->message.path;
        return 0;
    }
    thread->last = thread->latest;
    if (event->runnable > thread->runnable)
        thread->runnable = event->runnable;
    thread->cpu = event->proc_time;
    thread->runs = true;
    note_sleep(thread, record);
    return 0;
}

/* A signal for a process: in its first thread. */
static int note_signal(struct elapsed_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct elapsed_thread *thread =
        record->signal.receiver == 0
            ? NULL
            : thread_of(analysis, event->event.origin, record->signal.receiver);

    if (thread == NULL)
        return record->signal.receiver == 0 ? 0 : -ENOMEM;
    if (record->signal.result != SIGNAL_DELIVERED)
        return 0; /* an ignored one wakes nothing: SIGCHLD, mostly */
    thread->signal = record->signal.number;
    thread->sender = record->signal.sender_pid;
    thread->signalled =
        history_common_time(analysis->history, event->event.origin, record->header.time);
    return 0;
}

static int note_lost(struct elapsed_analysis *analysis, const struct history_event *event)
{
    uint32_t origin = event->event.origin;

    if (array_reserve(&analysis->lost, &analysis->lost_room, (size_t)origin + 1,
                      sizeof(*analysis->lost)) < 0)
        return -ENOMEM;
    analysis->lost[origin] =
        history_common_time(analysis->history, origin, event->event.header->time);
    return 0;
}

int elapsed_add(struct elapsed_analysis *analysis, const struct history_event *event)
{
    const struct record_header *header = event->event.header;

    recorded_note(&analysis->recorded, header);
    if (header->id == EVENT_LOST && note_lost(analysis, event) < 0)
        return -ENOMEM;
    if (header->id == EVENT_PATH && event->end_place != 0) {
        uint64_t *arrived = arrival_at(analysis, event->end_place);
        if (arrived != NULL)
            *arrived = 0;
    }
    int result = askings_see(&analysis->askings, history_identities(analysis->history), event,
                             &analysis->asking);
    analysis->unanswered += analysis->asking.vain_end != 0;
    analysis->unanswered -= analysis->asking.is_late;
    if (analysis->asking.is_resent)
        elapsed_note_resent(analysis, event->end_place);
    if (result == 0 && header->id == EVENT_DESTROYPATH)
        result = elapsed_end_path(analysis, event);
    if (result < 0)
        return result;
    if (header->id == EVENT_MESSAGEQUEUED)
        note_arrival(analysis, event);
    if (header->id == EVENT_SIGNAL && note_signal(analysis, event) < 0)
        return -ENOMEM;
    if (header->id == EVENT_SCHEDULE) {
        analysis->has_delays = true;
        return 0;
    }
    if (!record_is_of_thread(header))
        return 0;
    result = add_of_thread(analysis, event);
    return result < 0 || header->id != EVENT_READ || event->edge_count == 0
               ? result
               : elapsed_note_inputs(analysis, event);
}

/* ---- as an analysis ---- */

int elapsed_new(struct history *history, const char *directory,
                struct elapsed_analysis **ret_analysis, struct problem *problem)
{
    struct elapsed_analysis *analysis = calloc(1, sizeof(*analysis));

    if (analysis == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    analysis->history = history;
    analysis->threads.size = sizeof(struct elapsed_thread);
    analysis->requests.file = analysis->tries.file = -1;
    int result = scratch_open(&analysis->intervals, sizeof(struct interval), directory, problem);
    if (result == 0)
        result = scratch_open(&analysis->requests, sizeof(struct request), directory, problem);
    if (result == 0)
        result = scratch_open(&analysis->tries, sizeof(struct try), directory, problem);
    if (result < 0) {
        elapsed_analysis_free(analysis);
        return result;
    }
    analysis->value = history_keep_values(history, sizeof(uint32_t), METER_EVENT_FLAGS);
    history_find_rooms(history);
    *ret_analysis = analysis;
    return 0;
}

void elapsed_analysis_free(struct elapsed_analysis *analysis)
{
    if (analysis == NULL)
        return;
    scratch_close(&analysis->intervals);
    scratch_close(&analysis->requests);
    scratch_close(&analysis->tries);
    askings_done(&analysis->askings);
    lookup_done(&analysis->servers);
    lookup_done(&analysis->switches);
    lookup_done(&analysis->contended);
    intern_done(&analysis->wait_keys);
    free(analysis->wait_sums);
    free(analysis->exchanges);
    intern_done(&analysis->input_keys);
    free(analysis->inputs);
    lookup_done(&analysis->thread_numbers);
    pool_done(&analysis->threads);
    intern_done(&analysis->detail_keys);
    arena_done(&analysis->texts);
    free(analysis->details);
    free(analysis->arrived);
    free(analysis->lost);
    free(analysis);
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    int result = elapsed_add(self, event);

    return result == -ENOSPC ? problem_set(problem, result,
                                           "the disk is full: the copy of the history does not "
                                           "fit; set TMPDIR")
                             : result;
}

struct analysis elapsed_analysis(struct elapsed_analysis *analysis)
{
    return (struct analysis){"where the time went", analysis, add};
}

#define TELL_OF_WAITS                                                                              \
    (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_SENDCALL) |             \
     EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_BLOCK) | EVENT_FLAG(EVENT_WAKEUP) |          \
     EVENT_FLAG(EVENT_TERMINATION) | EVENT_FLAG(EVENT_CREATEPROCESS))

int elapsed_finish(struct elapsed_analysis *analysis, struct elapsed **ret_elapsed)
{
    struct elapsed *elapsed = calloc(1, sizeof(*elapsed));

    if (elapsed == NULL)
        return -ENOMEM;
    if (analysis->recorded.known)
        elapsed->flags_left_out = TELL_OF_WAITS & ~analysis->recorded.always;
    elapsed->kinds_left_out = analysis->recorded.kinds_left_out & METER_ALL_KINDS;
    elapsed->has_rules = analysis->recorded.rules > 0;
    int result = elapsed_end_requests(analysis);
    if (result == 0)
        result = elapsed_find_labels(analysis);
    if (result == 0)
        result = elapsed_find_runtimes(analysis);
    if (result == 0)
        result = elapsed_walk(analysis, elapsed);
    if (result == 0)
        result = elapsed_make_waits(analysis, elapsed);
    if (result < 0) {
        elapsed_free(elapsed);
        return result;
    }
    *ret_elapsed = elapsed;
    return 0;
}

void elapsed_free(struct elapsed *elapsed)
{
    if (elapsed == NULL)
        return;
    free(elapsed->run.rows);
    free(elapsed->files);
    free(elapsed->holders);
    free(elapsed->locks);
    free(elapsed->requests.account.rows);
    free(elapsed->requests.releasers);
    free(elapsed->requests.typical.hops);
    free(elapsed->requests.typical.rows);
    free(elapsed->requests.slowest.hops);
    free(elapsed->requests.slowest.rows);
    free(elapsed->waits);
    free(elapsed);
}
