/* SPDX-License-Identifier: MIT */
/* pauses.c: when processes did not answer. See pauses.h. */
#include "analysis/pauses/pauses.h"
#include "base/lookup.h"
#include "event/system_calls.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ARRIVALS 256 /* of a process, the latest; of earlier ones only struct displaced is kept */

struct pause_thread {
    uint32_t process; /* index */
    bool runs;        /* since `begin`, when it had used `cpu` */
    bool awake;       /* from `begin` on */
    uint64_t begin, cpu;
    uint64_t latest; /* CPU time at its latest event */
    uint64_t piece;  /* the most between two events of the interval, ns ... */
    uint64_t pc;     /* ... and where the later one was */
    /* since then it waits in a call for a message at one end; 0: it does not */
    uint64_t waits_since;
    uint32_t waits_at; /* end_place */
    uint32_t waits_in; /* system call */
};

struct arrival {
    uint64_t time;
    uint32_t place; /* end_place */
};

/* Messages that came since a time, and that ARRIVALS later ones have displaced. */
struct displaced {
    uint64_t since; /* 0: none are counted */
    uint64_t count;
    uint64_t after; /* how long after `since` they came: sum, ns */
};

struct pause_sender {
    uint32_t signal, pid;
    char name[STREAM_NAME_SIZE];
};

struct pause_process {
    struct pause_row row;
    uint32_t receiver;          /* the only stream that has received; 0: none yet */
    bool shares;                /* several have: what came is not for one of them */
    uint64_t stopped;           /* since then; 0: it is not stopped */
    struct pause_sender latest; /* of a signal that may stop it, and may be handled instead */
    uint64_t pc;                /* at the end of the longest interval */
    uint32_t image;
    struct arrival *came; /* [ARRIVALS], circular; NULL: none */
    uint64_t arrivals;
    struct displaced of_interval; /* of the receiver */
    uint32_t ends;                /* at which it has received, as in LOOP_ENDS */
    uint32_t loops;               /* as in LOOP_WAITS */
    uint32_t waiting;             /* ends with a message that it has not received */
    uint64_t block_pc;            /* of the longest block */
    uint32_t block_image;
    struct displaced of_collection, of_safepoint; /* since 0: it is in none */
};

struct receiver {
    uint32_t process; /* index, + 1; 0: none yet */
    bool waits;       /* a message has come there since its latest receive */
};

struct pauses_analysis {
    struct history *history;
    struct lookup thread_numbers;
    struct pool threads;
    struct lookup process_numbers;
    struct pool processes;
    struct receiver *receivers; /* [end_place - 1] */
    size_t receiver_room;
};

/* ---- threads and processes ---- */

static int64_t process_of(struct pauses_analysis *analysis, uint32_t origin, uint32_t number)
{
    uint32_t found = lookup_find(&analysis->process_numbers, number_key(origin, number));

    if (found != LOOKUP_NONE)
        return found;
    int64_t index = pool_take(&analysis->processes);
    if (index < 0 ||
        lookup_set(&analysis->process_numbers, number_key(origin, number), (uint32_t)index) < 0)
        return -ENOMEM;
    struct pause_process *process = pool_at(&analysis->processes, (uint32_t)index);
    memset(process, 0, sizeof(*process));
    process->row.origin = origin;
    process->row.stream = number;
    return index;
}

static int64_t find_process(struct pauses_analysis *analysis, uint32_t origin, uint32_t stream)
{
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), origin, stream);

    return process_of(analysis, origin,
                      identity == NULL || identity->process == 0 ? stream : identity->process);
}

static struct pause_thread *thread_of(struct pauses_analysis *analysis, const struct event *event)
{
    uint64_t key = number_key(event->origin, event->header->stream);
    uint32_t found = lookup_find(&analysis->thread_numbers, key);

    if (found != LOOKUP_NONE)
        return pool_at(&analysis->threads, found);
    int64_t process = find_process(analysis, event->origin, event->header->stream);
    int64_t index = process < 0 ? process : pool_take(&analysis->threads);
    if (index < 0 || lookup_set(&analysis->thread_numbers, key, (uint32_t)index) < 0)
        return NULL;
    struct pause_thread *thread = pool_at(&analysis->threads, (uint32_t)index);
    *thread = (struct pause_thread){.process = (uint32_t)process};
    return thread;
}

static struct pause_process *process_at(const struct pauses_analysis *analysis, uint32_t index)
{
    return pool_at(&analysis->processes, index);
}

/* ---- messages ---- */

/* What came there has been received, or never will be. */
static void forget_waiting(struct pauses_analysis *analysis, uint32_t place)
{
    struct receiver *receiver = &analysis->receivers[place - 1];

    if (receiver->process != 0 && receiver->waits)
        process_at(analysis, receiver->process - 1)->waiting--;
    receiver->waits = false;
}

static int note_receiver(struct pauses_analysis *analysis, const struct history_event *event,
                         const struct pause_thread *thread)
{
    struct pause_process *process = process_at(analysis, thread->process);
    uint32_t stream = event->event.header->stream;

    process->shares = process->shares || (process->receiver != 0 && process->receiver != stream);
    process->receiver = stream;
    if (event->end_place == 0)
        return 0;
    if (array_reserve(&analysis->receivers, &analysis->receiver_room, event->end_place,
                      sizeof(*analysis->receivers)) < 0)
        return -ENOMEM;
    forget_waiting(analysis, event->end_place);
    process->ends += analysis->receivers[event->end_place - 1].process == 0;
    analysis->receivers[event->end_place - 1].process = thread->process + 1;
    return 0;
}

static void count_displaced(struct displaced *displaced, uint64_t time)
{
    if (displaced->since == 0 || time <= displaced->since)
        return;
    displaced->count++;
    displaced->after += time - displaced->since;
}

static void displace(struct pause_process *process, uint64_t time)
{
    count_displaced(&process->of_interval, time);
    count_displaced(&process->of_collection, time);
    count_displaced(&process->of_safepoint, time);
}

static int note_arrival(struct pauses_analysis *analysis, const struct history_event *event)
{
    uint32_t place = event->end_place;

    if (place == 0 || place > analysis->receiver_room ||
        analysis->receivers[place - 1].process == 0)
        return 0;
    struct pause_process *process =
        process_at(analysis, analysis->receivers[place - 1].process - 1);
    if (process->came == NULL && (process->came = calloc(ARRIVALS, sizeof(*process->came))) == NULL)
        return -ENOMEM;
    process->waiting += !analysis->receivers[place - 1].waits;
    analysis->receivers[place - 1].waits = true;
    if (process->arrivals >= ARRIVALS)
        displace(process, process->came[process->arrivals % ARRIVALS].time);
    process->came[process->arrivals++ % ARRIVALS] =
        (struct arrival){event->event.header->time, place};
    return 0;
}

static uint64_t kept_arrivals(const struct pause_process *process)
{
    return process->arrivals < ARRIVALS ? process->arrivals : ARRIVALS;
}

/* Counts only messages that are still in the ring. */
static uint64_t count_arrivals(const struct pause_process *process, uint64_t begin, uint64_t end)
{
    uint64_t kept = kept_arrivals(process), count = 0;

    for (uint64_t i = 0; i < kept; i++)
        count += process->came[i].time > begin && process->came[i].time <= end;
    return count;
}

/* How long those had waited that came in the interval, at its end, all together. */
static uint64_t sum_delays(const struct pause_process *process, uint64_t begin, uint64_t end)
{
    const struct displaced *displaced = &process->of_interval;
    uint64_t kept = kept_arrivals(process), sum = displaced->count * (end - begin);

    sum = sum > displaced->after ? sum - displaced->after : 0;
    for (uint64_t i = 0; i < kept; i++)
        if (process->came[i].time > begin && process->came[i].time <= end)
            sum += end - process->came[i].time;
    return sum;
}

/* The first one at an end since `begin`; 0: none. */
static uint64_t first_arrival(const struct pause_process *process, uint64_t begin, uint32_t place)
{
    uint64_t kept = kept_arrivals(process), first = 0;

    for (uint64_t i = 0; i < kept; i++)
        if (process->came[i].place == place && process->came[i].time > begin &&
            (first == 0 || process->came[i].time < first))
            first = process->came[i].time;
    return first;
}

/* ---- intervals of CPU time ---- */

/* Events before which a thread asks for something new, or waits. */
static bool ends_interval(const struct record *record)
{
    switch (record->header.id) {
    case EVENT_RECEIVE:
    case EVENT_RECEIVECALL:
    case EVENT_ACCEPT:
    case EVENT_BLOCK:
    case EVENT_EXEC:
    case EVENT_TERMINATION:
        return true;
    default:
        return false;
    }
}

static void note_piece(struct pause_thread *thread, const struct history_event *event)
{
    uint64_t piece = event->proc_time > thread->latest ? event->proc_time - thread->latest : 0;

    if (piece >= thread->piece) {
        thread->piece = piece;
        thread->pc = record_pc(event->event.header);
    }
    thread->latest = event->proc_time;
}

/* Before the first receive, the thread may be the one that will receive. */
static void begin_interval(struct pauses_analysis *analysis, const struct history_event *event,
                           const struct pause_thread *thread)
{
    struct pause_process *process = process_at(analysis, thread->process);

    if (process->receiver == 0 || process->receiver == event->event.header->stream)
        process->of_interval = (struct displaced){.since = thread->begin};
}

static void end_interval(struct pauses_analysis *analysis, const struct history_event *event,
                         const struct pause_thread *thread)
{
    struct pause_process *process = process_at(analysis, thread->process);
    const struct record_header *header = event->event.header;
    uint64_t cpu = event->proc_time > thread->cpu ? event->proc_time - thread->cpu : 0;

    if (cpu < PAUSE_LONG || process->shares || process->receiver != header->stream)
        return;
    uint64_t messages =
        count_arrivals(process, thread->begin, event->when) + process->of_interval.count;
    if (messages < PAUSE_MESSAGES)
        return;
    process->row.bursts++;
    process->row.cpu += cpu;
    process->row.messages = messages > process->row.messages ? messages : process->row.messages;
    process->row.delayed += messages;
    process->row.delay += sum_delays(process, thread->begin, event->when);
    if (thread->awake && event->when - thread->begin > process->row.longest_away)
        process->row.longest_away = event->when - thread->begin;
    if (cpu <= process->row.longest)
        return;
    const struct stream_record *identity = identities_stream(history_identities(analysis->history),
                                                             event->event.origin, header->stream);
    process->row.longest = cpu;
    process->pc = thread->pc;
    process->image = identity == NULL ? 0 : identity->image;
}

/* ---- event loops that block ---- */

static void add_block(struct pauses_analysis *analysis, const struct history_event *event,
                      const struct pause_thread *thread, uint64_t begin, uint64_t end,
                      uint32_t call, uint32_t except)
{
    struct pause_process *process = process_at(analysis, thread->process);
    const struct record_header *header = event->event.header;

    if (end < begin + PAUSE_LONG || process->shares || process->receiver != header->stream)
        return;
    /* ends where one had come by then */
    uint64_t messages = process->waiting, later = count_arrivals(process, end, header->time);
    later += except != 0 && analysis->receivers[except - 1].waits;
    if (messages < PAUSE_MESSAGES + later)
        return;
    messages -= later;
    process->row.blocks++;
    process->row.blocked += end - begin;
    if (messages > process->row.block_messages)
        process->row.block_messages = messages;
    if (end - begin <= process->row.longest_block)
        return;
    const struct stream_record *identity = identities_stream(history_identities(analysis->history),
                                                             event->event.origin, header->stream);
    process->row.longest_block = end - begin;
    process->row.block_call = call;
    process->block_pc = record_pc(header);
    process->block_image = identity == NULL ? 0 : identity->image;
}

/* A wait for one end is over when a message has arrived there, even if its thread has no CPU then. */
static void end_wait(struct pauses_analysis *analysis, const struct history_event *event,
                     struct pause_thread *thread)
{
    uint64_t since = thread->waits_since;
    uint64_t end =
        since == 0 || event->end_place != thread->waits_at
            ? 0
            : first_arrival(process_at(analysis, thread->process), since, thread->waits_at);

    thread->waits_since = 0;
    if (end != 0)
        add_block(analysis, event, thread, since, end, thread->waits_in, thread->waits_at);
}

static void note_wait(struct pauses_analysis *analysis, const struct history_event *event,
                      struct pause_thread *thread)
{
    const struct record *record = (const struct record *)event->event.header;
    struct pause_process *process = process_at(analysis, thread->process);

    if (record->header.id == EVENT_RECEIVECALL && record->message.path == 0) {
        process->loops += call_waits_for_any(any_call(record));
    } else if (record->header.id == EVENT_RECEIVECALL) {
        thread->waits_since = record->header.time;
        thread->waits_at = event->end_place;
        thread->waits_in = NO_SYSTEM_CALL;
    } else if (record->header.id == EVENT_BLOCK && !call_waits_for_any(record->block.system_call)) {
        uint64_t end = record->header.time - event->no_cpu.of_block;
        add_block(analysis, event, thread, record->header.time - record->block.duration, end,
                  record->block.system_call, 0);
    }
}

/* ---- stops ---- */

static bool may_stop(uint8_t signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* The signal that has stopped it, and its sender. */
static void take_sender(struct pause_process *process)
{
    process->row.signal = process->latest.signal;
    process->row.sender_pid = process->latest.pid;
    memcpy(process->row.sender, process->latest.name, STREAM_NAME_SIZE);
}

static int note_signal(struct pauses_analysis *analysis, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (!may_stop(record->signal.number) || record->signal.receiver == 0)
        return 0;
    int64_t index = find_process(analysis, event->origin, record->signal.receiver);
    if (index < 0)
        return -ENOMEM;
    struct pause_process *process = process_at(analysis, (uint32_t)index);
    struct pause_sender *latest = &process->latest;
    const struct stream_record *sender =
        record->header.flags & RECORD_NO_STREAM
            ? NULL
            : identities_stream(history_identities(analysis->history), event->origin,
                                record->header.stream);
    *latest = (struct pause_sender){.signal = record->signal.number};
    latest->pid = sender != NULL                                ? sender->pid
                  : record->signal.sender_pid == SENDER_UNKNOWN ? 0
                                                                : record->signal.sender_pid;
    if (sender != NULL)
        memcpy(latest->name, sender->name, STREAM_NAME_SIZE);
    if (process->stopped != 0 && record->header.time <= process->stopped)
        take_sender(process); /* its stop was read first */
    return 0;
}

/* The first thread of a process counts: all are stopped together. */
static void note_stop(struct pauses_analysis *analysis, const struct history_event *event,
                      const struct pause_thread *thread)
{
    struct pause_process *process = process_at(analysis, thread->process);
    const struct record_header *header = event->event.header;

    if (header->stream != process->row.stream)
        return;
    if (header->id == EVENT_STOPPROCESS) {
        process->stopped = header->time;
        take_sender(process);
    } else if (process->stopped != 0) {
        process->row.stops++;
        process->row.stopped += header->time - process->stopped;
        process->stopped = 0;
    }
}

/* ---- stops of a JVM ---- */

/* Those that began before the probes were there are left out, as one that goes on at the end. */
static void end_jvm_stop(const struct pause_process *process, struct pause_stops *stops,
                         struct displaced *stop, uint64_t now)
{
    if (stop->since == 0)
        return;
    uint64_t time = now - stop->since;
    uint64_t messages = count_arrivals(process, stop->since, now) + stop->count;
    stops->count++;
    stops->time += time;
    stops->longest = time > stops->longest ? time : stops->longest;
    stops->messages = messages > stops->messages ? messages : stops->messages;
    stop->since = 0;
}

static int note_sensor(struct pauses_analysis *analysis, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (record->header.stream == 0 || event_sensor_name(record->sensor.sensor) == NULL)
        return 0;
    int64_t index = find_process(analysis, event->origin, record->header.stream);
    if (index < 0)
        return -ENOMEM;
    struct pause_process *process = process_at(analysis, (uint32_t)index);
    switch (record->sensor.sensor) {
    case SENSOR_GC_BEGIN:
        process->of_collection = (struct displaced){.since = record->header.time};
        break;
    case SENSOR_GC_END:
        end_jvm_stop(process, &process->row.collections, &process->of_collection,
                     record->header.time);
        break;
    case SENSOR_SAFEPOINT_BEGIN:
        process->of_safepoint = (struct displaced){.since = record->header.time};
        break;
    case SENSOR_SAFEPOINT_END:
        end_jvm_stop(process, &process->row.safepoints, &process->of_safepoint,
                     record->header.time);
        break;
    default:
        break;
    }
    return 0;
}

/* A thread has ended: memory is for those that live. */
static void forget(struct pauses_analysis *analysis, const struct history_event *event,
                   const struct pause_thread *thread)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t key = number_key(event->event.origin, record->header.stream);
    struct pause_process *process = process_at(analysis, thread->process);
    uint32_t index = lookup_find(&analysis->thread_numbers, key);

    if (record->termination.last) {
        free(process->came);
        process->came = NULL;
        process->arrivals = 0;
    }
    lookup_remove(&analysis->thread_numbers, key);
    pool_give(&analysis->threads, index);
}

/* ---- as an analysis ---- */

static int add_of_thread(struct pauses_analysis *analysis, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct pause_thread *thread = thread_of(analysis, &event->event);

    if (thread == NULL)
        return -ENOMEM;
    if (record->header.id == EVENT_STOPPROCESS || record->header.id == EVENT_STARTPROCESS ||
        record->header.id == EVENT_TERMINATION)
        note_stop(analysis, event, thread);
    if (record->header.id == EVENT_STOPPROCESS)
        thread->awake = false;
    note_piece(thread, event);
    end_wait(analysis, event, thread);
    note_wait(analysis, event, thread);
    if (ends_interval(record)) {
        if (thread->runs)
            end_interval(analysis, event, thread);
        thread->runs = true;
        thread->awake = record->header.id != EVENT_RECEIVECALL;
        thread->begin = event->when;
        thread->cpu = event->proc_time;
        thread->piece = thread->pc = 0;
        begin_interval(analysis, event, thread);
    }
    if (record->header.id == EVENT_TERMINATION)
        forget(analysis, event, thread);
    return record->header.id == EVENT_RECEIVE ? note_receiver(analysis, event, thread) : 0;
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct pauses_analysis *analysis = self;
    const struct record_header *header = event->event.header;
    int result = 0;

    (void)problem;
    if (header->id == EVENT_MESSAGEQUEUED)
        result = note_arrival(analysis, event);
    if ((header->id == EVENT_PATH || header->id == EVENT_DESTROYPATH) && event->end_place != 0 &&
        event->end_place <= analysis->receiver_room) {
        forget_waiting(analysis, event->end_place);
        analysis->receivers[event->end_place - 1].process = 0; /* the index is another end's now */
    }
    if (result == 0 && header->id == EVENT_SIGNAL)
        result = note_signal(analysis, &event->event);
    if (result == 0 && header->id == EVENT_SENSOR)
        result = note_sensor(analysis, &event->event);
    if (result == 0 && record_is_of_thread(header))
        result = add_of_thread(analysis, event);
    return result;
}

struct analysis pauses_analysis(struct pauses_analysis *analysis)
{
    return (struct analysis){"the pauses", analysis, add};
}

int pauses_new(struct history *history, struct pauses_analysis **ret_analysis)
{
    struct pauses_analysis *analysis = calloc(1, sizeof(*analysis));

    if (analysis == NULL)
        return -ENOMEM;
    analysis->history = history;
    analysis->threads.size = sizeof(struct pause_thread);
    analysis->processes.size = sizeof(struct pause_process);
    *ret_analysis = analysis;
    return 0;
}

void pauses_analysis_free(struct pauses_analysis *analysis)
{
    if (analysis == NULL)
        return;
    for (uint32_t i = 0; i < analysis->processes.used; i++)
        free(process_at(analysis, i)->came);
    lookup_done(&analysis->thread_numbers);
    lookup_done(&analysis->process_numbers);
    pool_done(&analysis->threads);
    pool_done(&analysis->processes);
    free(analysis->receivers);
    free(analysis);
}

static void name_procedure(const struct pauses_analysis *analysis, uint32_t origin, uint32_t image,
                           uint64_t pc, char name[PROCEDURE_NAME_SIZE + 1])
{
    const struct module_record *module = NULL;
    const struct procedure_record *procedure =
        pc == 0 ? NULL
                : identities_procedure_of(history_identities(analysis->history), origin, image, pc,
                                          &module);

    if (procedure != NULL)
        memcpy(name, procedure->name, PROCEDURE_NAME_SIZE);
}

static uint32_t pid_of(const struct pauses_analysis *analysis, const struct pause_row *row)
{
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), row->origin, row->stream);

    return identity == NULL ? 0 : identity->pid;
}

int pauses_finish(struct pauses_analysis *analysis, struct pauses **ret_pauses)
{
    struct pauses *pauses = calloc(1, sizeof(*pauses));
    uint32_t count = analysis->processes.used;

    if (pauses != NULL)
        pauses->rows = calloc((size_t)count + 1, sizeof(*pauses->rows));
    if (pauses == NULL || pauses->rows == NULL) {
        free(pauses);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct pause_process *process = process_at(analysis, i);
        struct pause_row *row = &process->row;
        if (process->ends < LOOP_ENDS || process->loops < LOOP_WAITS || process->shares)
            row->blocks = row->blocked = 0; /* it is no event loop */
        if (row->bursts == 0 && row->stops == 0 && row->blocks == 0 && row->safepoints.count == 0 &&
            row->collections.count == 0)
            continue;
        row->pid = pid_of(analysis, row);
        name_procedure(analysis, row->origin, process->image, process->pc, row->procedure);
        name_procedure(analysis, row->origin, process->block_image, process->block_pc,
                       row->block_procedure);
        pauses->rows[pauses->count++] = *row;
    }
    *ret_pauses = pauses;
    return 0;
}

void pauses_free(struct pauses *pauses)
{
    if (pauses == NULL)
        return;
    free(pauses->rows);
    free(pauses);
}
