/* SPDX-License-Identifier: MIT */
/*
 * communication.c: makes the communication statistics' result from what was collected.
 *
 *      statistics --> rows so far, and what their uses counted (alike.c) --+
 *            '------> connections in the tables (connections.c) ----------+--> with machines and totals: the result
 */
#include "analysis/statistics/connections.h"

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

static int build_machines(const struct statistics *statistics, struct communication *result)
{
    result->machine_count = statistics->machine_count;
    result->machines = calloc(result->machine_count + 1, sizeof(*result->machines));
    if (result->machines == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < result->machine_count; i++) {
        char name[MACHINE_NAME_SIZE + 1] = "";
        memcpy(name, statistics->machines[i].name, MACHINE_NAME_SIZE);
        name_machine(result, i, name[0] == '\0' ? "unknown" : name);
    }
    return 0;
}

/* Of the process that a stream is of, or was the first of if it has left; NO_PROCESS: nobody knows. */
static uint32_t process_of_stream(const struct statistics *statistics, uint32_t origin,
                                  uint32_t number)
{
    uint32_t stream = number_table_find(&statistics->stream_numbers, origin, number);

    if (stream != LOOKUP_NONE)
        return stream_at(statistics, stream)->process;
    uint32_t process = number_table_find(&statistics->process_numbers, origin, number);
    return process != LOOKUP_NONE && statistics->processes[process].left ? process : NO_PROCESS;
}

void find_parent(const struct statistics *statistics, struct communication *rows, uint32_t process)
{
    struct communication_process *row = &rows->processes[process];

    if (row->parent != NO_PROCESS || row->parent_number == 0 || row->group != NULL ||
        statistics->processes[process].left)
        return;
    uint32_t parent = process_of_stream(statistics, row->origin, row->parent_number);
    row->parent = parent == process ? NO_PROCESS : parent;
}

/* The rows' copy of a text of the identities. No text: NULL. */
static int copy_text(struct communication *rows, const char *text, const char **ret_copy)
{
    if (text == NULL)
        return 0;
    *ret_copy = communication_keep_text(rows, text);
    return *ret_copy == NULL ? -ENOMEM : 0;
}

static int name_process(const struct identities *identities, struct communication *rows,
                        uint32_t image, struct communication_process *row)
{
    int result =
        copy_text(rows, identities_user_name(identities, row->origin, row->user), &row->user_name);

    if (result == 0)
        result = copy_text(rows, identities_cgroup_name(identities, row->origin, row->cgroup),
                           &row->cgroup_name);
    if (result == 0)
        result = copy_text(rows, identities_program(identities, row->origin, image), &row->program);
    return result;
}

int describe_process(const struct statistics *statistics, struct communication *rows,
                     uint32_t process)
{
    struct communication_process *row = &rows->processes[process];

    if (row->group != NULL)
        return 0;
    row->ended = row->ended || statistics->processes[process].ended;
    return row->pid == 0 ? 0
                         : name_process(statistics->identities, rows,
                                        statistics->processes[process].image, row);
}

static int describe_processes(const struct statistics *statistics, struct communication *rows)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < rows->process_count; i++) {
        find_parent(statistics, rows, i);
        if (!statistics->processes[i].left)
            result = describe_process(statistics, rows, i);
    }
    return result;
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

void add_path_sums(struct communication_path *sum, const struct communication_path *more)
{
    add_traffic(&sum->sent, &more->sent);
    add_traffic(&sum->received, &more->received);
    sum->connections += more->connections;
    sum->ended += more->ended;
    sum->reused += more->reused;
    sum->dropped += more->dropped;
    sum->duplicates += more->duplicates;
    add_network(&sum->network, &more->network);
    add_queue(&sum->queue, &more->queue);
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

/* ---- the recording as a whole ---- */

/* When the first record of all was made, by the first origin's clock; 0: there is none. */
static uint64_t beginning(const struct statistics *statistics)
{
    uint64_t begin = 0;

    for (uint32_t i = 0; i < statistics->origin_count; i++) {
        const struct statistics_origin *origin = &statistics->origins[i];
        if (origin->seen && (begin == 0 || first_time_of(origin) < begin))
            begin = first_time_of(origin);
    }
    return begin;
}

static uint64_t duration(const struct statistics *statistics)
{
    uint64_t begin = beginning(statistics), end = begin;

    for (uint32_t i = 0; i < statistics->origin_count; i++) {
        const struct statistics_origin *origin = &statistics->origins[i];
        if (origin->seen && latest_time_of(origin) > end)
            end = latest_time_of(origin);
    }
    return end - begin;
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

static void add_meter(struct communication *result, const struct statistics_origin *origin)
{
    result->kinds_left_out |= origin->kinds_left_out;
    if (origin->meter_flags != 0) /* 0: there is no record that tells */
        result->flags_left_out |= METER_EVENT_FLAGS & ~origin->meter_flags;
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
    result->events = statistics->events;
    result->unknown_streams = statistics->unknown_streams;
    result->unseen_bytes = statistics->unseen_bytes;
    result->unseen_sent_bytes = statistics->unseen_sent_bytes;
    result->duration = duration(statistics);
    result->complete = true;
    for (uint32_t i = 0; i < statistics->origin_count; i++)
        add_meter(result, &statistics->origins[i]);
    result->counts_only = statistics->counts_only;
    result->split = statistics->halves.split;
    for (uint32_t i = 0; i < origins && i < statistics->origin_count; i++)
        own_cost_add(&result->matching.own_cost, &statistics->origins[i].cost, states[i].records);
    for (uint32_t i = 0; i < origins; i++) {
        result->lost += states[i].lost;
        result->skipped += states[i].skipped;
        result->complete = result->complete && source_is_whole(&states[i]);
    }
}

static int copy_intervals(const struct statistics *statistics, struct communication *result)
{
    size_t size = statistics->interval_count * sizeof(*result->intervals);

    if (statistics->interval == 0)
        return 0;
    result->interval = statistics->interval;
    result->interval_count = statistics->interval_count;
    if (statistics->interval_count > 0)
        result->interval_begin = (int64_t)(statistics->interval_begin - beginning(statistics));
    result->intervals = malloc(size + 1);
    if (result->intervals != NULL && size > 0)
        memcpy(result->intervals, statistics->intervals, size);
    return result->intervals == NULL ? -ENOMEM : 0;
}

/* Adds a row. */
static int build_connection(const struct statistics *statistics, struct communication *rows,
                            const uint32_t paths[2], size_t *capacity)
{
    struct connection connection;
    char addresses[2][ADDRESS_SIZE];

    if (array_reserve(&rows->paths, capacity, rows->path_count + 1, sizeof(*rows->paths)) < 0 ||
        describe_connection(statistics, rows, paths, &connection, addresses) < 0 ||
        name_connection(rows, &connection, addresses[0], addresses[1]) < 0)
        return -ENOMEM;
    struct communication_path *row = &rows->paths[rows->path_count++];
    *row = connection.sums;
    return add_connection(statistics, rows, &connection, row);
}

/* Of what is in the tables. */
static int build_connections(const struct statistics *statistics, struct communication *rows)
{
    size_t capacity = rows->path_count;
    uint32_t paths[2];
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < statistics->paths.used; i++) {
        if (!path_at(statistics, i)->present)
            continue;
        enum path_part part = connection_of(statistics, i, paths);
        if (part == PART_FIRST)
            result = build_connection(statistics, rows, paths, &capacity);
        else if (part == PART_NONE)
            result = add_path_alone(statistics, rows, i);
    }
    return result;
}

static int build_rows(const struct statistics *statistics, struct communication *rows)
{
    if (build_machines(statistics, rows) < 0 || describe_processes(statistics, rows) < 0 ||
        build_connections(statistics, rows) < 0)
        return -ENOMEM;
    return 0;
}

/* What is the same of a result that is asked for now and then, and of the last one. */
static int finish_rows(const struct statistics *statistics, struct communication *rows,
                       const struct source_state *states, uint32_t origins)
{
    if (build_rows(statistics, rows) < 0)
        return -ENOMEM;
    build_totals(statistics, rows, states, origins);
    if (communication_arrange(rows) < 0 || copy_intervals(statistics, rows) < 0 ||
        procedures_build(&statistics->procedures, statistics->identities, rows) < 0)
        return -ENOMEM;
    return 0;
}

/* Of connections that share rows. */
static int build_shared(struct statistics *statistics, struct communication *rows)
{
    uint32_t shared = (uint32_t)rows->path_count;
    int result = 0;

    for (uint32_t i = 0; i < shared; i++) {
        if (result == 0)
            result = alike_build(statistics, rows, i);
        if (rows == statistics->rows)
            alike_forget(statistics, i);
    }
    return result;
}

/* `rows`: a copy of the statistics' own, or these: they are taken over then, which takes less memory, and the
 * statistics can only be freed. */
static int finish(struct statistics *statistics, struct communication *rows,
                  const struct source_state *states, uint32_t origins,
                  struct communication **ret_communication)
{
    int result = intervals_count_early(statistics);

    if (result == 0)
        result = build_shared(statistics, rows);
    if (rows == statistics->rows)
        statistics->rows = NULL;
    if (result == 0)
        result = finish_rows(statistics, rows, states, origins);
    if (result < 0) {
        communication_free(rows);
        return result;
    }
    *ret_communication = rows;
    return 0;
}

/* Counts all that has waited. */
static int count_all(struct statistics *statistics)
{
    int result = statistics_bring_in(statistics);

    if (result == 0)
        result = value_runs_count_many(statistics);
    statistics_count_told_times(statistics);
    return result;
}

int statistics_finish(struct statistics *statistics, const struct source_state *states,
                      uint32_t origins, struct communication **ret_communication)
{
    struct communication *rows;
    int result = count_all(statistics);

    if (result == 0)
        result = communication_copy(statistics->rows, NULL, &rows);
    return result < 0 ? result : finish(statistics, rows, states, origins, ret_communication);
}

int statistics_finish_last(struct statistics *statistics, const struct source_state *states,
                           uint32_t origins, struct communication **ret_communication)
{
    int result = count_all(statistics);

    return result < 0 ? result
                      : finish(statistics, statistics->rows, states, origins, ret_communication);
}
