/* SPDX-License-Identifier: MIT */
/*
 * communication.c: makes the communication statistics' result from what was collected, and reads a whole
 * history for it.
 *
 *      history --> statistics --> what lives --- processes, machines (here)
 *                     |               '--------- paths, pairs (connections.c)     --+
 *                     '---------> what has ended: rows already (folding.c)        --+--> with totals:
 *                                                                                        the result
 */
#include "analysis/connections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- processes and machines ---- */

static void name_machine(struct communication *result, size_t index, const char *name)
{
    struct communication_machine *machine = &result->machines[index];
    bool taken = true;

    for (unsigned attempt = 1; taken; attempt++) {
        if (attempt == 1)
            snprintf(machine->name, sizeof(machine->name), "%s", name);
        else
            snprintf(machine->name, sizeof(machine->name), "%s (%u)", name, attempt);
        taken = false;
        for (size_t other = 0; other < index; other++)
            taken = taken || strcmp(machine->name, result->machines[other].name) == 0;
    }
}

static int build_machines(struct builder *builder)
{
    const struct statistics *statistics = builder->statistics;
    struct communication *result = builder->result;

    result->machine_count = statistics->lasting.machine_count;
    result->machines = calloc(result->machine_count + 1, sizeof(*result->machines));
    if (result->machines == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < result->machine_count; i++) {
        char name[MACHINE_NAME_SIZE + 1] = "";
        memcpy(name, statistics->lasting.machines[i].name, MACHINE_NAME_SIZE);
        name_machine(result, i, name[0] == '\0' ? "unknown" : name);
    }
    return 0;
}

static uint32_t parent_of(const struct statistics *statistics, uint32_t index)
{
    const struct statistics_process *process = &statistics->processes[index];

    if (process->parent == 0)
        return NO_PROCESS;
    int64_t stream = intern_find(&statistics->stream_numbers.numbers,
                                 number_key(process->origin, process->parent));
    if (stream < 0 || statistics->streams[stream].process == index)
        return NO_PROCESS;
    return statistics->streams[stream].process;
}

/* The result's copy of a text of the identities. No text: NULL. */
static int copy_text(struct builder *builder, const char *text, const char **ret_copy)
{
    if (text == NULL)
        return 0;
    *ret_copy = communication_keep_text(builder->result, text);
    return *ret_copy == NULL ? -ENOMEM : 0;
}

static int name_process(struct builder *builder, const struct statistics_process *from,
                        struct communication_process *to)
{
    const struct identities *identities = builder->statistics->identities;

    to->user = from->user;
    to->pid_inside = from->pid_inside;
    to->pid_namespace = from->pid_namespace;
    to->cgroup = from->cgroup;
    int result = copy_text(builder, identities_user_name(identities, from->origin, from->user),
                           &to->user_name);
    if (result == 0)
        result = copy_text(builder, identities_cgroup_name(identities, from->origin, from->cgroup),
                           &to->cgroup_name);
    if (result == 0)
        result = copy_text(builder, identities_program(identities, from->origin, from->image),
                           &to->program);
    return result;
}

static int build_processes(struct builder *builder)
{
    const struct statistics *statistics = builder->statistics;
    struct communication *result = builder->result;

    uint32_t count = statistics->process_numbers.numbers.count;

    result->processes = calloc((size_t)count + 1, sizeof(*result->processes));
    if (result->processes == NULL)
        return -ENOMEM;
    result->process_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct statistics_process *from = &statistics->processes[i];
        struct communication_process *to = &result->processes[i];
        to->origin = from->origin;
        to->machine = statistics->lasting.origins[from->origin].machine;
        to->pid = from->pid;
        to->stream = from->number;
        to->parent = parent_of(statistics, i);
        to->parent_number = from->parent;
        memcpy(to->name, from->name, sizeof(to->name));
        to->group_size = 1;
        to->cpu = from->cpu;
        to->failed_sends = from->failed_sends;
        to->failed_receives = from->failed_receives;
        to->ended = from->ended;
        to->queue = from->queue;
        if (builder->leaving)
            to->queue.messages = to->queue.bytes = 0; /* they stay */
        if (add_times(&to->times, &from->times) < 0 ||
            (from->pid != 0 && name_process(builder, from, to) < 0))
            return -ENOMEM;
    }
    return 0;
}

void add_traffic(struct traffic *sum, const struct traffic *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
}

void add_network(struct network *sum, const struct network *more)
{
    sum->known = sum->known || more->known;
    sum->retransmitted += more->retransmitted;
    sum->unacknowledged += more->unacknowledged;
    if (more->round_trip > sum->round_trip)
        sum->round_trip = more->round_trip;
}

int add_times(struct times *sum, const struct times *more)
{
    int result = 0;

    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++)
        result = histogram_merge(&sum->of[kind], &more->of[kind], HISTOGRAM_MOST);
    return result;
}

/* Of several queues the longest is told, for when they were longest is not known any more. */
void add_queue(struct queue_length *sum, const struct queue_length *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
    if (more->messages_max > sum->messages_max)
        sum->messages_max = more->messages_max;
    if (more->bytes_max > sum->bytes_max)
        sum->bytes_max = more->bytes_max;
    sum->operations += more->operations;
    sum->messages_sum += more->messages_sum;
    sum->wait += more->wait;
    sum->unreceived += more->unreceived;
}

int add_process_sums(struct communication_process *sum, const struct communication_process *more)
{
    sum->cpu += more->cpu;
    add_traffic(&sum->sent, &more->sent);
    add_traffic(&sum->received, &more->received);
    sum->failed_sends += more->failed_sends;
    sum->failed_receives += more->failed_receives;
    add_queue(&sum->queue, &more->queue);
    int result = histogram_merge(&sum->sizes, &more->sizes, HISTOGRAM_MOST);
    return result < 0 ? result : add_times(&sum->times, &more->times);
}

/* Of each kind of time. */
static int add_latest_times(const struct statistics_use *use, struct times *times)
{
    int result = 0;

    for (unsigned kind = VALUE_ANSWER; result == 0 && kind < VALUE_KINDS; kind++)
        result = statistics_add_latest(use, kind, times_of(times, use, kind), HISTOGRAM_MOST);
    return result;
}

static int sum_processes(struct builder *builder)
{
    const struct statistics *statistics = builder->statistics;

    for (uint32_t i = 0; i < statistics->use_keys.count; i++) {
        const struct statistics_use *use = &statistics->uses[i];
        struct communication_process *process = &builder->result->processes[use->process];
        if (builder->leaving && !statistics->paths[use->path].leaves)
            continue;
        add_traffic(&process->sent, &use->sent);
        add_traffic(&process->received, &use->received);
        int result = statistics_add_values(use, VALUE_SENT, &process->sizes, HISTOGRAM_MOST);
        if (result == 0)
            result = add_latest_times(use, &process->times);
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- the recording as a whole ---- */

/* One trace is measured by its own clock, which nobody sets; several only share wall time. */
static uint64_t duration(const struct statistics *statistics)
{
    const struct statistics_origin *first = statistics->lasting.origins;
    int64_t begin = INT64_MAX;
    int64_t end = INT64_MIN;

    if (statistics->lasting.origin_count == 1)
        return first->last_time - first->first_time;
    for (uint32_t i = 0; i < statistics->lasting.origin_count; i++) {
        const struct statistics_origin *origin = &statistics->lasting.origins[i];
        if (origin->seen && origin->first_wall < begin)
            begin = origin->first_wall;
        if (origin->seen && origin->last_wall > end)
            end = origin->last_wall;
    }
    return end > begin ? (uint64_t)end - (uint64_t)begin : 0;
}

void add_totals(struct communication *sum, const struct communication *more)
{
    sum->dropped += more->dropped;
    sum->duplicates += more->duplicates;
    sum->unknown_paths += more->unknown_paths;
    sum->connections += more->connections;
    sum->ended += more->ended;
    sum->reused += more->reused;
    add_traffic(&sum->local, &more->local);
    add_traffic(&sum->remote, &more->remote);
}

/* Puts the rows of what has ended before those of now. */
static int add_past(const struct statistics *statistics, struct communication **now)
{
    struct communication *all = calloc(1, sizeof(*all));
    int result = all == NULL ? -ENOMEM : communication_merge(all, statistics->past);

    if (result == 0)
        result = communication_take(all, *now);
    if (result < 0) {
        communication_free(all);
        communication_free(*now);
        return result;
    }
    all->machines = (*now)->machines;
    all->machine_count = (*now)->machine_count;
    add_totals(all, statistics->past);
    add_totals(all, *now);
    (*now)->machines = NULL;
    communication_free(*now);
    *now = all;
    return 0;
}

static void add_meter(struct communication *result, const struct statistics_origin *origin)
{
    result->kinds_left_out |= origin->kinds_left_out;
    result->traces_of_ptrace += origin->meter == METER_PTRACE;
}

static void build_totals(const struct statistics *statistics, struct communication *result,
                         const struct source_state *states, uint32_t origins)
{
    for (size_t i = 0; i < result->process_count; i++) {
        result->cpu += result->processes[i].cpu;
        add_traffic(&result->sent, &result->processes[i].sent);
    }
    result->traces = origins;
    result->events = statistics->lasting.events;
    result->unknown_streams = statistics->lasting.unknown_streams;
    result->unseen_bytes = statistics->lasting.unseen_bytes;
    result->unseen_sent_bytes = statistics->lasting.unseen_sent_bytes;
    result->duration = duration(statistics);
    result->complete = true;
    for (uint32_t i = 0; i < statistics->lasting.origin_count; i++)
        add_meter(result, &statistics->lasting.origins[i]);
    for (uint32_t i = 0; i < origins; i++) {
        result->lost += states[i].lost;
        result->complete =
            result->complete && states[i].complete && states[i].end_reason == END_COMPLETE;
    }
}

int statistics_build(const struct statistics *statistics, bool leaving,
                     struct communication **ret_communication)
{
    struct builder builder = {
        .statistics = statistics, .leaving = leaving, .result = calloc(1, sizeof(*builder.result))};
    int result = -ENOMEM;

    if (builder.result == NULL || build_machines(&builder) < 0 || build_processes(&builder) < 0)
        goto done;
    result = sum_processes(&builder);
    if (result == 0)
        result = build_connections(&builder);
    if (result < 0)
        goto done;
    *ret_communication = builder.result;
    builder.result = NULL;
done:
    communication_free(builder.result);
    return result;
}

static int copy_intervals(const struct statistics *statistics, struct communication *result)
{
    size_t size = statistics->lasting.interval_count * sizeof(*result->intervals);

    if (statistics->lasting.interval == 0)
        return 0;
    result->interval = statistics->lasting.interval;
    result->interval_count = statistics->lasting.interval_count;
    result->intervals = malloc(size + 1);
    if (result->intervals != NULL && size > 0)
        memcpy(result->intervals, statistics->lasting.intervals, size);
    return result->intervals == NULL ? -ENOMEM : 0;
}

int statistics_finish(struct statistics *statistics, const struct source_state *states,
                      uint32_t origins, struct communication **ret_communication)
{
    struct communication *now;
    int result = statistics_bring_in(statistics);

    if (result == 0)
        result = statistics_build(statistics, false, &now);

    if (result == 0 && statistics->past != NULL)
        result = add_past(statistics, &now);
    if (result < 0)
        return result;
    build_totals(statistics, now, states, origins);
    if (communication_arrange(now) < 0 || copy_intervals(statistics, now) < 0 ||
        procedures_build(&statistics->lasting.procedures, statistics->identities, now) < 0) {
        communication_free(now);
        return -ENOMEM;
    }
    *ret_communication = now;
    return 0;
}

/* ---- reading ---- */

static int explain(int result, struct problem *problem)
{
    if (result == -EAGAIN)
        problem_set(problem, result, "the recording has not ended yet");
    else if (result < 0)
        problem_set(problem, result, "out of memory for the communication statistics");
    return result;
}

/* *error: of the clocks, as known last. */
static int add_history_event(struct statistics *statistics, const struct history *history,
                             const struct event *event, uint64_t *error)
{
    int64_t offset = 0;

    if (event->origin != 0)
        history_clock(history, event->origin, event->header->time, &offset, error);
    return statistics_add_at(statistics, event, offset);
}

/* The recording of a machine that says the latest of its clocks. */
static uint32_t latest_origin(const struct statistics *statistics, uint32_t origins,
                              uint32_t machine)
{
    const struct statistics_origin *all = statistics->lasting.origins;
    uint32_t latest = origins;

    for (uint32_t i = 0; i < origins; i++)
        if (all[i].seen && all[i].machine == machine &&
            (latest == origins || all[i].last_time > all[latest].last_time))
            latest = i;
    return latest;
}

/* How far the clocks of machines are apart. The first machine is compared with itself: another recording of
 * it, made later, may tell of a clock of the day that was set since. */
static void compare_clocks(const struct statistics *statistics, const struct history *history,
                           uint32_t origins, struct communication *result)
{
    const struct statistics_origin *all = statistics->lasting.origins;

    if (origins > statistics->lasting.origin_count)
        origins = statistics->lasting.origin_count;
    uint32_t first =
        origins > 0 && all[0].seen ? latest_origin(statistics, origins, all[0].machine) : 0;
    for (uint32_t i = 0; i < result->machine_count; i++) {
        struct communication_machine *machine = &result->machines[i];
        uint32_t origin = latest_origin(statistics, origins, i);
        if (origin == origins)
            continue;
        history_clock(history, origin, all[origin].last_time, &machine->clock_offset,
                      &machine->clock_error);
        machine->clock_ahead = (int64_t)((uint64_t)history_wall_offset(history, origin) -
                                         (uint64_t)history_wall_offset(history, first) -
                                         (uint64_t)machine->clock_offset);
    }
}

static int finish_history(struct statistics *statistics, const struct history *history,
                          uint32_t origins, struct communication **ret_communication)
{
    struct source_state *states = calloc(origins + 1UL, sizeof(*states));
    int result = -ENOMEM;

    for (uint32_t i = 0; states != NULL && i < origins; i++)
        states[i] = *history_state(history, i);
    if (states != NULL)
        result = statistics_finish(statistics, states, origins, ret_communication);
    free(states);
    if (result < 0)
        return result;
    (*ret_communication)->matched = true;
    compare_clocks(statistics, history, origins, *ret_communication);
    history_counts(history, &(*ret_communication)->matching);
    return 0;
}

int communication_read_history(struct history *history, uint32_t origins, uint64_t every,
                               struct communication **ret_communication, struct problem *problem)
{
    struct statistics *statistics = NULL;
    struct history_event event;
    uint64_t clock_error = 0;
    int result = statistics_new(&statistics);

    if (result < 0)
        goto done;
    statistics_every(statistics, every);
    /* holds unless whoever fails knows better: not everybody has a line for it */
    problem_set(problem, -ENOMEM, "out of memory for the history of the recording");
    while ((result = history_next(history, &event, problem)) == SOURCE_RECORD) {
        result = add_history_event(statistics, history, &event.event, &clock_error);
        if (result < 0)
            goto done;
    }
    if (result < 0) {
        statistics_free(statistics);
        return result; /* the source has said why */
    }
    result = result == SOURCE_NONE_YET
                 ? -EAGAIN
                 : finish_history(statistics, history, origins, ret_communication);
    if (result == 0)
        (*ret_communication)->clock_error = clock_error;
done:
    statistics_free(statistics);
    return explain(result, problem);
}
