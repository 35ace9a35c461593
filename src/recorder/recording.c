/* SPDX-License-Identifier: MIT */
/* recording.c: a running recording. See recorder.h. */
#include "recorder/followed.h"
#include "recorder/recorder.h"
#include "recorder/recording_libraries.h"
#include "recorder/recording_state.h"
#include "recorder/recording_wait.h"
#include "recorder/shared_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COST_EVERY 1024 /* records, and at most once a second */

#define FOLLOW_COST_EVERY 100000000ULL /* ns */

#define TITLE_AGE 500000000ULL /* ns: programs have written their titles by then */

/* ---- while recording ---- */

/* A write error, the size limit, or any other error (of the meter, or our own) ends the recording, never the metered
 * processes. */
static int give_up(struct recording *recording, int error)
{
    const struct trace_writer *writer = recording->writer;
    bool stopped = writer != NULL && trace_writer_stopped(writer) != 0;

    recording->active = false;
    recording->reason = stopped ? trace_writer_stopped(writer) : END_METER;
    recording->meter->stop(recording->meter);
    return error;
}

/* Writes a record, which may lack fields, into the trace, if there is one. */
static int append(struct recording *recording, const struct record_header *record, uint64_t absent,
                  struct problem *problem)
{
    if (record->time > recording->last_time)
        recording->last_time = record->time;
    if (event_type(record->id)->ring == RING_CONTROL)
        recording->last_control = record->time;
    recording->records++;
    return recording->writer == NULL
               ? 0
               : trace_writer_append_without(recording->writer, record, absent, problem);
}

/* A new control record of our own is no earlier than this. */
static uint64_t last_control(const struct recording *recording)
{
    return recording->writer == NULL ? recording->last_control
                                     : trace_writer_last_time(recording->writer, RING_CONTROL);
}

/* The meter's records come in order of time, so none is before this. It is later than last_control() if there are data:
 * babeltrace2 puts packets of a stream that begin at one time in any order. */
static uint64_t last_of_all(const struct recording *recording)
{
    uint64_t control = last_control(recording);

    return recording->last_time > control ? recording->last_time : control;
}

/* Stores what the rules let through of a record that was put in; NULL: only what they say of themselves. */
static int store_selected(struct recording *recording, const struct record_header *record,
                          struct problem *problem)
{
    struct event event;
    bool removed = record != NULL;
    int result = 0;

    while (rules_stage_get(recording->stage, &event)) {
        removed = removed && event.header != record;
        if (event.header->id == EVENT_MACHINE) /* is in the trace already */
            continue;
        int stored = append(recording, event.header, event.absent, result < 0 ? NULL : problem);
        followed_add_event(recording->followed, &event);
        result = result < 0 ? result : stored;
    }
    if (removed && result >= 0 && recording->writer != NULL && rules_decide_about(record->id))
        result = trace_writer_omit(recording->writer, record, problem);
    return result;
}

static int select_one(struct recording *recording, const struct record_header *record,
                      int64_t wall_offset, struct problem *problem)
{
    const struct event event = {record, 0, wall_offset, 0};
    int result = rules_stage_put(recording->stage, &event, problem);

    return result < 0 ? result : store_selected(recording, record, problem);
}

static int store_one(struct recording *recording, const struct record_header *record,
                     int64_t wall_offset, struct problem *problem)
{
    if (recording->stage != NULL)
        return select_one(recording, record, wall_offset, problem);
    int result = append(recording, record, 0, problem);

    followed_add(recording->followed, record, wall_offset);
    return result;
}

/* Stores the state of the machine as read before this time. */
static int store_state(struct recording *recording, uint64_t before, struct problem *problem)
{
    struct record_queue *read = &recording->state.read;
    const struct record_header *record;
    int result = 0;

    if (recording->state.failed)
        return problem_set(problem, -ENOMEM, "out of memory for the state of the machine");
    while (result >= 0 && (record = record_queue_peek(read)) != NULL && record->time < before) {
        if (recording_state_counts(recording, record)) {
            recording->state.unflushed++;
            result = store_one(recording, record, recording->wall_offset, problem);
            symbols_note(recording->symbols, record);
        }
        record_queue_take(read);
    }
    return result;
}

/* A trace that keeps only the newest repeats names of users and cgroups only while they are used. */
static void begin_names_again(struct recording *recording)
{
    uint32_t files = recording->writer == NULL ? 0 : trace_writer_files(recording->writer);

    if (files != recording->files)
        names_again(&recording->names);
    recording->files = files;
}

/* Stores a record after the names that it needs. */
static int store(struct recording *recording, const struct event *event, struct problem *problem)
{
    struct name_record names[3];

    begin_names_again(recording);
    size_t count = names_before(&recording->names, event->header, names);
    int result;

    count += commands_before(&recording->commands, event->header, &names[count]);
    recording->wall_offset = event->wall_offset;
    result = store_state(recording, event->header->time, problem);
    for (size_t i = 0; result >= 0 && i < count; i++)
        result = store_one(recording, &names[i].header, event->wall_offset, problem);
    if (result >= 0)
        result = store_one(recording, event->header, event->wall_offset, problem);
    symbols_note(recording->symbols, event->header);
    recording_state_note(recording, event->header);
    recording_libraries_note(recording, event->header);
    recording_wait_note(recording, event->header);
    return result;
}

static void note_lost(struct recording *recording)
{
    for (unsigned ring = 0; recording->writer != NULL && ring < RING_COUNT; ring++)
        trace_writer_lost(recording->writer, ring,
                          recording->meter->lost(recording->meter, (enum ring_id)ring));
}

/* Moves the meter's records into the trace. Returns an enum source_result or a negative errno. */
static int drain(struct recording *recording, struct problem *problem)
{
    struct source *source = &recording->meter->source;
    struct event event;
    int result;

    while ((result = source->next(source, &event, &recording->complete, problem)) ==
           SOURCE_RECORD) {
        result = store(recording, &event, problem);
        if (result < 0)
            return result;
    }
    note_lost(recording);
    int stored = result < 0 ? 0 : store_state(recording, recording->complete, problem);
    return stored < 0 ? stored : result;
}

/* DPM's own overhead so far. */
static struct record cost_so_far(const struct recording *recording)
{
    const struct meter_interface *meter = recording->meter;
    struct rusage used;
    struct record cost = {
        .header = {.time = clock_now(CLOCK_MONOTONIC), .id = EVENT_COST, .flags = RECORD_NO_STREAM},
        .cost = {.wakeups = recording->wakeups},
    };

    if (meter->time_per_record != NULL)
        cost.cost.hook = meter->time_per_record(meter);
    cost.cost.cpu = meter->service_time;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        cost.cost.cpu += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
                         (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
    return cost;
}

/* Writes a COST record. If the trace is truncated, its last COST is all that is known of the overhead. Not every second
 * if there are few records: a page for each COST would be most of the trace. */
static int tell_cost(struct recording *recording, struct problem *problem)
{
    struct record cost = cost_so_far(recording);

    if (recording->cost_told > 0 && recording->records - recording->cost_told < COST_EVERY)
        return 0;
    cost.header.time = last_of_all(recording);
    int result = append(recording, &cost.header, 0, problem);
    recording->cost_told = recording->records;
    return result;
}

/* The first COST: what it took to load the meter. Errors show with the next record. */
static void tell_load(struct recording *recording)
{
    struct record cost = cost_so_far(recording);
    struct problem problem;

    cost.cost.wakeups = cost.cost.hook = 0;
    cost.header.time = last_control(recording) + 1; /* a packet of its own: see last_of_all */
    store_one(recording, &cost.header, recording->wall_offset, &problem);
}

/* Records closed paths for which there may be no hook. */
static int sweep(struct recording *recording, struct problem *problem)
{
    struct meter_interface *meter = recording->meter;

    return meter->sweep == NULL ? 0 : meter->sweep(meter, problem);
}

/* A flush writes at least a page. Of a recording in which nothing else happens, 14 SUMMARYs fill one. */
#define STATES_OF_PAGE 14

static bool only_state_is_new(const struct recording *recording)
{
    uint64_t states = recording->state.unflushed;

    return states < STATES_OF_PAGE && recording->records - recording->flushed <= states;
}

static void look_at_memory(void *context, uint32_t process, pid_t pid)
{
    struct recording *recording = context;

    if (recording->shared == NULL)
        recording->shared = calloc(1, sizeof(*recording->shared));
    if (recording->shared != NULL)
        shared_memory_look(recording->shared, process, pid);
}

/* Records command lines that have become titles, and which memory processes share: of programs that are `age` ns old, at
 * least. */
static int tell_titles(struct recording *recording, uint64_t age, struct problem *problem)
{
    uint64_t time = last_control(recording);
    int64_t wall_offset = recording->followed == NULL ? 0 : recording->followed->wall_offset;
    struct name_record name;
    int result = 0;

    if (recording->followed != NULL && recording->followed->last_time > time)
        time = recording->followed->last_time;
    recording->commands.looks_at = look_at_memory;
    recording->commands.context = recording;
    while (result >= 0 &&
           commands_changed(&recording->commands, clock_now(CLOCK_MONOTONIC), age, time, &name))
        result = store_one(recording, &name.header, wall_offset, problem);
    while (result >= 0 && recording->shared != NULL &&
           shared_memory_next(recording->shared, time, &name))
        result = store_one(recording, &name.header, wall_offset, problem);
    return result;
}

/* What is done about once a second. */
static int take_care(struct recording *recording, uint64_t now, struct problem *problem)
{
    if (now - recording->last_care < CARE_INTERVAL)
        return 0;
    recording->last_care = now;
    int result = sweep(recording, problem);
    if (result >= 0)
        result = tell_titles(recording, TITLE_AGE, problem);
    return result < 0 ? result : tell_cost(recording, problem);
}

static int flush(struct recording *recording, uint64_t now, struct problem *problem)
{
    bool nothing_new = recording->options->latest == 0 ? only_state_is_new(recording)
                                                       : recording->records == recording->flushed;

    if (now - recording->last_flush < recording_flush_interval(recording))
        return 0;
    recording->last_flush = now;
    if (nothing_new)
        return 0;
    recording->flushed = recording->records;
    recording->state.unflushed = 0;
    return recording->writer == NULL ? 0 : trace_writer_flush(recording->writer, problem);
}

int recording_step(struct recording *recording, struct problem *problem)
{
    struct meter_interface *meter = recording->meter;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (!recording->active)
        return 0;
    recording->wakeups++;
    recording->last_step = now;
    recording->measure_due = meter->measure == NULL ? UINT64_MAX : meter->measure(meter, now);
    recording_state_step(recording, now);
    int result = drain(recording, problem);
    recording_libraries_step(recording, now);
    if (result >= 0)
        result = take_care(recording, now, problem);
    if (result >= 0)
        result = flush(recording, now, problem);
    return result < 0 ? give_up(recording, result) : 0;
}

int recording_catch_up(struct recording *recording, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int result = recording_step(recording, problem);

    for (int i = 0; i < 1000 && recording->active && recording->complete < now; i++) {
        usleep(1000); /* a record is being written */
        result = recording_step(recording, problem);
    }
    return result;
}

int recording_flush(struct recording *recording, struct problem *problem)
{
    recording->flushed = recording->records;
    recording->state.unflushed = 0;
    return recording->writer == NULL ? 0 : trace_writer_flush(recording->writer, problem);
}

/* ---- analyses while recording ---- */

int recording_follow(struct recording *recording, struct history **ret_history,
                     struct problem *problem)
{
    int result = followed_new(&recording->followed, problem);

    if (result < 0)
        return result;
    /* the trace writer adds this record to the trace itself */
    followed_add(recording->followed, &recording->machine.header, 0);
    *ret_history = recording->followed->history;
    return 0;
}

/* Adds a COST record to the history. It takes the last record's time, so that the order by time holds. */
static void follow_cost(struct recording *recording)
{
    struct followed *followed = recording->followed;
    struct record cost = cost_so_far(recording);
    uint64_t now = cost.header.time;

    if (now - followed->last_cost < FOLLOW_COST_EVERY)
        return;
    followed->last_cost = now;
    cost.header.time = followed->last_time;
    followed_add(followed, &cost.header, followed->wall_offset);
}

int recording_analyse(struct recording *recording, const struct analysis *analyses, size_t count,
                      struct problem *problem)
{
    struct followed *followed = recording->followed;

    if (!followed->ended)
        follow_cost(recording);
    followed->complete = recording->complete;
    followed->state.lost = recording->meter->state.lost;
    followed->state.skipped = recording->meter->state.skipped;
    return followed_read(followed, analyses, count, problem);
}

uint64_t recording_analysed(const struct recording *recording)
{
    return recording->active && !followed_lags(recording->followed) ? recording->complete : 0;
}

void recording_unfollow(struct recording *recording)
{
    followed_free(recording->followed);
    recording->followed = NULL;
}

/* ---- before and after ---- */

/* The trace's path: as requested, or ./dpm-NAME-PID.trace. */
static int name_trace(struct recording *recording, const char *name, pid_t pid,
                      struct problem *problem)
{
    const char *asked = recording->options->trace;
    const char *slash = strrchr(name, '/');
    int length = asked != NULL
                     ? snprintf(recording->path, sizeof(recording->path), "%s", asked)
                     : snprintf(recording->path, sizeof(recording->path), "./dpm-%.64s-%d.trace",
                                slash == NULL ? name : slash + 1, pid);

    if ((size_t)length >= sizeof(recording->path))
        return problem_set(problem, -ENAMETOOLONG, "the name of the trace is too long");
    return 0;
}

int recording_open_meter(struct recording *recording, struct problem *problem)
{
    return recording->meter != NULL ? 0
                                    : meter_choose(&recording->options->meter, &recording->meter,
                                                   recording->kernel_refused, problem);
}

static void describe(struct recording *recording)
{
    const struct meter_interface *meter = recording->meter;
    struct machine_record *machine = &recording->machine;

    machine_describe(machine);
    machine->meter_flags = recording->options->meter.options.flags & ~meter->unknown_flags;
    machine->kinds_left_out = METER_EVERY_KIND & ~meter->kinds;
    machine->meter = meter->kind;
}

static int open_trace(struct recording *recording, const char *name, pid_t pid,
                      struct problem *problem)
{
    const struct recording_options *options = recording->options;
    int result = name_trace(recording, name, pid, problem);

    if (result == 0)
        result = trace_writer_new(recording->path, &recording->machine, options->max_size,
                                  &recording->writer, problem);
    if (result == 0 && options->store == STORE_NEWEST)
        result = trace_writer_keep_newest(recording->writer, &options->limits, &recording->machine,
                                          problem);
    return result;
}

int recording_open(struct recording *recording, const char *name, pid_t pid,
                   struct problem *problem)
{
    const struct recording_options *options = recording->options;
    int result = recording_open_meter(recording, problem);

    if (result < 0)
        return result;
    describe(recording);
    if (options->rules != NULL && rules_stage_new(options->rules, &recording->stage) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    if (recording->stage != NULL)
        rules_stage_select(recording->stage, recording->meter->selection);
    recording->last_control = recording->machine.header.time;
    recording->records = recording->flushed = 1; /* MACHINE */
    if (options->store != STORE_NONE)
        result = open_trace(recording, name, pid, problem);
    if (result >= 0 && (options->meter.options.flags & METER_FLAG_PC) != 0 &&
        symbols_new(&recording->symbols) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for names of program counters");
    if (result >= 0)
        result = recording_libraries_open(recording, problem);
    return result < 0 ? result : recording_state_open(recording, problem);
}

/* Which rules there are follows MACHINE. Errors show with the next record. */
static void tell_rules(struct recording *recording)
{
    struct problem problem;

    if (recording->stage != NULL)
        select_one(recording, &recording->machine.header, recording->wall_offset, &problem);
}

void recording_begin(struct recording *recording)
{
    recording->wall_offset = (int64_t)(clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC));
    tell_rules(recording);
    tell_load(recording);
    recording_state_read(recording, false);
    recording->active = true;
    recording->reason = END_COMPLETE;
    recording->last_care = recording->last_flush = clock_now(CLOCK_MONOTONIC);
}

/* ---- rules ---- */

int recording_select(struct recording *recording, const struct rules *rules,
                     struct problem *problem)
{
    if (recording->stage == NULL)
        return problem_set(problem, -EINVAL, "the recording was opened without rules");
    rules_stage_let_all_pass(recording->stage);
    int result = recording->active ? recording_catch_up(recording, problem) : 0;
    if (result < 0)
        return result;
    result = rules_stage_change(recording->stage, rules, last_of_all(recording) + 1, problem);
    if (result < 0)
        return result;
    /* they are in force, but nothing asks for them any more if the recording has ended */
    result = store_selected(recording, NULL, problem);
    return result < 0 ? give_up(recording, result) : 0;
}

/* Of a trace that keeps only the newest, no more than this part makes room for names. */
#define NAMES_PART 4

/* Bytes for names. */
static uint64_t room_for_names(struct recording *recording)
{
    uint64_t most = recording->options->max_size / NAMES_PART, noted;

    if (recording->writer == NULL || recording->symbols == NULL)
        return UINT64_MAX;
    symbols_unnamed(recording->symbols, &noted);
    /* a PC in a library is not among these, and may need a name for each program */
    uint64_t wanted = (2 * noted + 256) * sizeof(struct module_record);
    return trace_writer_settle(recording->writer, wanted < most ? wanted : most);
}

/* The names of program counters follow the last record. */
static int append_names(struct recording *recording, struct problem *problem)
{
    uint64_t room = room_for_names(recording);
    const struct record_header *record;
    int result = 0;

    while (result >= 0 && (record = symbols_next(recording->symbols)) != NULL) {
        size_t size = event_size(record->id);
        recording->names_cut = recording->names_cut || size > room;
        if (recording->names_cut)
            continue; /* the rest is counted as unnamed */
        room -= size;
        result = store_one(recording, record, recording->wall_offset, problem);
    }
    return result;
}

/* Stores the remaining records, and names. */
static int store_rest(struct recording *recording, struct problem *problem)
{
    int result = sweep(recording, problem);

    if (result >= 0)
        result = tell_titles(recording, 0, problem);
    recording->active = false;
    recording->meter->detach(recording->meter);
    while (result >= 0 && (result = drain(recording, problem)) == SOURCE_NONE_YET)
        usleep(1000);
    recording_state_read(recording, true);
    if (result >= 0)
        result = store_state(recording, UINT64_MAX, problem);
    return result < 0 ? result : append_names(recording, problem);
}

/* What the rules removed since it was last told. */
static int tell_removed(struct recording *recording, struct problem *problem)
{
    int result = recording->stage == NULL ? 0 : rules_stage_end(recording->stage, problem);

    return result < 0 || recording->stage == NULL ? result
                                                  : store_selected(recording, NULL, problem);
}

/* Closes the trace. */
static int end_trace(struct recording *recording, const struct record *cost,
                     struct problem *problem)
{
    if (recording->writer == NULL)
        return 0;
    trace_writer_set_last(recording->writer, cost);
    note_lost(recording);
    int result = trace_writer_close(recording->writer, recording->reason, problem);
    recording->writer = NULL;
    return result;
}

int recording_end(struct recording *recording, struct problem *problem)
{
    struct problem of_end;
    int result = 0;

    if (recording->active)
        result = store_rest(recording, problem);
    else if (recording->reason == END_METER)
        result = append_names(recording, problem);
    if (result >= 0 && recording->reason != END_SIZE && recording->reason != END_DISK)
        result = tell_removed(recording, problem);

    if (result < 0)
        give_up(recording, result);
    const struct record cost = cost_so_far(recording);
    followed_end(recording->followed, &cost, recording->reason);
    int closed = end_trace(recording, &cost, &of_end);
    if (result < 0 || closed >= 0)
        return result;
    *problem = of_end;
    return closed;
}

void recording_discard(struct recording *recording)
{
    trace_writer_discard(recording->writer, recording->path);
    recording->writer = NULL;
}

void recording_close(struct recording *recording)
{
    recording_unfollow(recording);
    recording_state_close(recording);
    recording_libraries_close(recording);
    names_done(&recording->names);
    commands_done(&recording->commands);
    shared_memory_free(recording->shared);
    symbols_free(recording->symbols);
    rules_stage_free(recording->stage);
    recording->stage = NULL;
    meter_interface_close(recording->meter);
    recording->meter = NULL;
}
