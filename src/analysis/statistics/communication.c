/* SPDX-License-Identifier: MIT */
/*
 * communication.c: builds the communication statistics' result. The collected state remains unchanged.
 *
 *      rows of ended connections --+
 *      live endpoints -------------+--> connections --by like--> rows of paths --> pairs, processes
 *
 * The rows are complete before their pairs are made: a row of a single connection is named by its full addresses.
 */
#include "analysis/statistics/machines.h"
#include "analysis/statistics/rows.h"
#include "analysis/statistics/statistics_clocks.h"
#include "analysis/statistics/statistics_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- connections ---- */

struct building {
    struct statistics *statistics;
    struct communication *result;
    struct likes likes; /* of the result's paths, by their indexes */
    size_t path_capacity;
    struct connection *connections; /* all connections ... */
    uint32_t *paths;                /* ... and the index of the path of each */
    struct senders {
        uint32_t of[2]; /* connection_note_senders */
    } * senders;        /* of each path */
    size_t sender_capacity;
    uint32_t each; /* live connections with a row of their own */
    size_t connection_capacity, index_capacity;
    uint32_t count;
};

/* Adds a connection to its row, which is created if it is the first. */
static int add_to_path(struct building *building, const struct connection *connection,
                       uint32_t index)
{
    struct communication *result = building->result;

    if (array_reserve(&result->paths, &building->path_capacity, index + 1UL,
                      sizeof(*result->paths)) < 0 ||
        array_reserve(&building->senders, &building->sender_capacity, index + 1UL,
                      sizeof(*building->senders)) < 0)
        return -ENOMEM;
    struct communication_path *path = &result->paths[index];
    const struct like *like = &connection->like;
    if (index == result->path_count) {
        *path = connection->sums;
        for (int i = 0; i < 2; i++)
            path->ends[i] =
                (struct party){.processes = like->processes[i], .count = like->counts[i]};
        building->senders[index] = (struct senders){{NO_PROCESS, NO_PROCESS}};
        result->path_count++;
    } else {
        add_path_sums(path, &connection->sums);
    }
    connection_note_senders(connection, building->senders[index].of);
    if (path->connections > 1) {
        path->local = like->addresses[0];
        path->remote = like->addresses[1];
        path->number = 0;
    }
    return 0;
}

/* The texts and lists of `connection` belong to the result. */
static int add_connection(struct building *building, const struct connection *connection)
{
    int64_t path = likes_add(&building->likes, &connection->like);

    if (path < 0 || add_to_path(building, connection, (uint32_t)path) < 0 ||
        array_reserve(&building->connections, &building->connection_capacity, building->count + 1UL,
                      sizeof(*building->connections)) < 0 ||
        array_reserve(&building->paths, &building->index_capacity, building->count + 1UL,
                      sizeof(*building->paths)) < 0)
        return -ENOMEM;
    building->connections[building->count] = *connection;
    building->paths[building->count++] = (uint32_t)path;
    return 0;
}

static int add_ended(struct building *building, const struct connection *row)
{
    struct connection connection = *row;
    struct communication *result = building->result;

    if (like_copy(result, &row->like, &connection.like) < 0)
        return -ENOMEM;
    connection.sums.local = communication_keep_text(result, row->sums.local);
    connection.sums.remote = communication_keep_text(result, row->sums.remote);
    if (connection.sums.local == NULL || connection.sums.remote == NULL)
        return -ENOMEM;
    return add_connection(building, &connection);
}

static int add_living(struct building *building, struct endpoint *const ends[2])
{
    struct connection connection;
    char addresses[2][ADDRESS_SIZE];

    if (connection_describe(building->statistics, building->result, ends, KEEP_ALL, &connection,
                            addresses) < 0 ||
        connection_name(building->result, &connection, addresses) < 0)
        return -ENOMEM;
    if (building->statistics->ended.each)
        connection.like.connection = building->statistics->ended.each_count + ++building->each;
    return add_connection(building, &connection);
}

/* An endpoint without a connection counts for its processes, an unknown one for the totals. */
static int add_alone(struct building *building, const struct endpoint *endpoint)
{
    if (!endpoint->known) {
        building->result->unknown_paths += endpoint->messages;
        building->result->dropped += endpoint->dropped;
        building->result->refused += endpoint->refused;
    }
    return usages_add_to_processes(building->result, endpoint->usages, NULL, NULL);
}

static int add_endpoint(struct building *building, struct endpoint *endpoint)
{
    struct endpoint *ends[2];

    switch (connection_of(endpoint, ends)) {
    case PART_FIRST:
        return add_living(building, ends);
    case PART_NONE:
        return add_alone(building, endpoint);
    default:
        return 0;
    }
}

static int add_all_endpoints(struct building *building)
{
    struct places *endpoints = &building->statistics->endpoints;
    int result = add_alone(building, &building->statistics->unknown);

    for (uint32_t i = 0; result == 0 && i < places_end(endpoints); i++) {
        struct endpoint *endpoint = places_find(endpoints, i);
        if (endpoint != NULL && endpoint->present)
            result = add_endpoint(building, endpoint);
    }
    return result;
}

static int add_all(struct building *building)
{
    const struct ended_rows *ended = &building->statistics->ended;
    int result = usages_add_to_processes(building->result, ended->alone, NULL, NULL);

    for (uint32_t i = 0; result == 0 && i < ended->likes.keys.count; i++)
        result = add_ended(building, &ended->rows[i]);
    if (result == 0)
        result = add_all_endpoints(building);
    for (uint32_t i = 0; result == 0 && i < building->count; i++)
        result = connection_add(building->result, &building->connections[i],
                                building->senders[building->paths[i]].of,
                                &building->result->paths[building->paths[i]]);
    return result;
}

static int build_connections(struct statistics *statistics, struct communication *result)
{
    struct building building = {.statistics = statistics, .result = result};
    int error = add_all(&building);

    likes_done(&building.likes);
    free(building.connections);
    free(building.paths);
    free(building.senders);
    return error;
}

/* ---- waits at the same time ---- */

/* The party's process of this index; NO_PROCESS: it has no known ones. */
static uint32_t process_of(const struct party *party, uint32_t i)
{
    return party->count == 0 ? NO_PROCESS : party->processes[i];
}

/* At most the duration: a wait may have begun before the recording. */
static uint64_t covered_of(const struct statistics *statistics, enum covering_kind kind,
                           uint32_t process, uint32_t peer, uint64_t sum, uint64_t duration)
{
    return coverings_time(&statistics->coverings, kind, process, peer,
                          sum < duration ? sum : duration);
}

static void cover_process(const struct statistics *statistics, struct communication *result,
                          uint32_t process)
{
    struct communication_process *row = &result->processes[process];
    const struct histogram *of = row->times.of;
    const struct {
        enum covering_kind kind;
        uint64_t sum;
        uint64_t *covered;
    } times[] = {
        {COVERING_RESPONSE, histogram_sum(&of[TIME_RESPONSE_WHOLE]), &row->covered.response},
        {COVERING_REQUEST, histogram_sum(&of[TIME_REQUEST_WHOLE]), &row->covered.request},
        {COVERING_READS, UINT64_MAX, &row->covered.reads},
        {COVERING_WRITES, UINT64_MAX, &row->covered.writes},
        {COVERING_HELD, UINT64_MAX, &row->covered.held},
    };

    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        *times[i].covered = covered_of(statistics, times[i].kind, process, NO_PROCESS, times[i].sum,
                                       result->duration);
}

/* Covered by waits between these. Several processes may take turns at one end, whose waits were kept together: of several
 * such ends, what one of them covers is known. 0: none is. */
static uint64_t covered_between(const struct statistics *statistics, enum covering_kind kind,
                                const struct communication_pair *pair, uint64_t sum)
{
    const struct party *from = &pair->from, *to = &pair->to;
    uint64_t most = 0;
    uint32_t i = 0;

    if (from->count <= 1 && to->count <= 1)
        return coverings_time(&statistics->coverings, kind, process_of(to, 0), process_of(from, 0),
                              sum);
    if (to->count > 1)
        kind = kind == COVERING_RECEIVER_WAIT ? COVERING_SHARED_RECEIVER_WAIT
                                              : COVERING_SHARED_MESSAGE_WAIT;
    do {
        uint32_t k = 0;
        do {
            uint64_t time = coverings_known(&statistics->coverings, kind, process_of(to, i),
                                            process_of(from, k));
            most = time > most ? time : most;
        } while (++k < from->count);
    } while (++i < to->count);
    return most < sum ? most : sum;
}

/* Blocked while sending to these, at most the sum. Waits whose receiver was not known are those for unmonitored ones; they may be
 * for these only if no others are. */
static uint64_t covered_by_sending(const struct statistics *statistics,
                                   const struct communication_pair *pair, uint64_t sum)
{
    const struct coverings *coverings = &statistics->coverings;
    const struct party *from = &pair->from, *to = &pair->to;

    if (from->count != 1)
        return sum;
    uint64_t time = 0;
    for (uint32_t i = 0; i < to->count; i++)
        time += coverings_known(coverings, COVERING_SENDER_BLOCKED, from->processes[0],
                                to->processes[i]);
    if (time == 0)
        time = coverings_known(coverings, COVERING_SENDER_BLOCKED, from->processes[0], NO_PROCESS);
    return time > 0 && time < sum ? time : sum;
}

static void cover_pair(const struct statistics *statistics, struct communication_pair *pair,
                       uint64_t duration)
{
    const struct histogram *of = pair->times.of;
    uint64_t receiver = histogram_sum(&of[TIME_RECEIVER_WAIT]);
    uint64_t message = histogram_sum(&of[TIME_MESSAGE_WAIT]);
    uint64_t sender = histogram_sum(&of[TIME_SENDER_BLOCKED]);

    pair->covered = (struct covered_waits){
        .receiver = covered_between(statistics, COVERING_RECEIVER_WAIT, pair,
                                    receiver < duration ? receiver : duration),
        .message = covered_between(statistics, COVERING_MESSAGE_WAIT, pair,
                                   message < duration ? message : duration),
        .sender = covered_by_sending(statistics, pair, sender < duration ? sender : duration),
    };
}

static void cover(const struct statistics *statistics, struct communication *result)
{
    for (size_t i = 0; i < result->process_count; i++)
        cover_process(statistics, result, (uint32_t)i);
    for (size_t i = 0; i < result->pair_count; i++)
        cover_pair(statistics, &result->pairs[i], result->duration);
}

/* ---- the recording as a whole ---- */

/* The time of the very first record, by the first origin's clock; 0: there is none. */
static uint64_t beginning(const struct statistics *statistics)
{
    uint64_t begin = 0;

    for (uint32_t i = 0; i < statistics->origin_count; i++)
        if (statistics->origins[i].seen && (begin == 0 || first_time_of(statistics, i) < begin))
            begin = first_time_of(statistics, i);
    return begin;
}

static uint64_t duration(const struct statistics *statistics)
{
    uint64_t begin = beginning(statistics), end = begin;

    for (uint32_t i = 0; i < statistics->origin_count; i++)
        if (statistics->origins[i].seen && last_time_of(statistics, i) > end)
            end = last_time_of(statistics, i);
    return end - begin;
}

/* Types whose absence changes results. The others have results of their own. */
#define EVENTS_OF_INTERACTION                                                                      \
    (METER_EVENT_FLAGS & ((EVENT_FLAG(EVENT_TERMINATION + 1) - 1) | EVENT_FLAG(EVENT_WAKEUP)))

static void add_meter(struct communication *result, const struct statistics_origin *origin)
{
    result->kinds_left_out |= origin->recorded.kinds_left_out & METER_ALL_KINDS;
    result->kinds_partly |= recorded_kinds_partly(&origin->recorded) & METER_ALL_KINDS;
    result->mpi_recorded = result->mpi_recorded || (origin->recorded.known &&
                                                    !(origin->recorded.kinds_left_out & METER_MPI));
    result->unmetered |= origin->recorded.unmetered;
    result->has_rules = result->has_rules || origin->recorded.rules > 0;
    if (origin->recorded.known) {
        uint64_t left_out = EVENTS_OF_INTERACTION & ~origin->recorded.always;
        if (origin->recorded.rules > 0) /* what they removed is reported as such */
            left_out &= ~origin->recorded.ever;
        result->flags_left_out |= left_out;
        result->flags_partly |= left_out & origin->recorded.ever;
    }
    result->traces_of_ptrace += origin->meter == METER_PTRACE;
    result->traces_of_others += origin->meter == METER_OTHER;
}

/* Begins the totals with ended connections. */
static void begin_totals(const struct statistics *statistics, struct communication *result)
{
    const struct communication *ended = statistics->rows;

    result->dropped = ended->dropped;
    result->refused = ended->refused;
    result->duplicates = ended->duplicates;
    result->connections = ended->connections;
    result->ended = ended->ended;
    result->unused = ended->unused;
    result->local = ended->local;
    result->remote = ended->remote;
    result->unknown_paths = statistics->ended.unknown_messages;
}

static void build_totals(const struct statistics *statistics, struct communication *result,
                         uint32_t origins)
{
    for (size_t i = 0; i < result->process_count; i++) {
        result->cpu += result->processes[i].cpu;
        result->spun += result->processes[i].spun;
        result->processes[i].queue.unknown =
            statistics->origins[result->processes[i].origin].recorded.rules > 0;
        add_traffic(&result->sent, &result->processes[i].sent);
    }
    result->traces = origins;
    result->unknown_streams = statistics->unknown_streams;
    result->left = statistics->left;
    result->unseen_bytes = statistics->unseen_bytes;
    result->unseen_sent_bytes = statistics->unseen_sent_bytes;
    uint64_t begin = beginning(statistics);
    result->begin = begin == 0 ? 0 : begin - CLOCK_BASE;
    result->duration = duration(statistics);
    result->complete = true;
    for (uint32_t i = 0; i < statistics->origin_count; i++)
        add_meter(result, &statistics->origins[i]);
    for (uint32_t i = 0; i < origins; i++) {
        const struct source_state *state = history_state(statistics->history, i);
        result->lost += state->lost;
        result->skipped += state->skipped;
        result->complete = result->complete && source_is_whole(state);
        result->cpu_unknown = result->cpu_unknown || history_lacks_cpu_time(statistics->history, i);
        for (unsigned id = 0; id < EVENT_ID_END; id++)
            result->sizes_unknown =
                result->sizes_unknown || history_lacking(statistics->history, i)->unsized[id] > 0;
    }
    result->matched = true;
    history_counts(statistics->history, &result->matching);
    result->not_known_yet = result->matching.held;
    result->events = statistics->events + result->not_known_yet;
}

static int build(struct statistics *statistics, uint32_t origins, struct communication *result)
{
    begin_totals(statistics, result);
    if (machines_build(statistics, result) < 0 || cgroups_build(statistics, result) < 0 ||
        decisions_build(statistics, beginning(statistics), result) < 0 ||
        process_rows_build(statistics, result) < 0 || build_connections(statistics, result) < 0)
        return -ENOMEM;
    machine_loads_build(statistics, result);
    build_totals(statistics, result, origins);
    cover(statistics, result);
    if (communication_arrange(result) < 0 ||
        intervals_build(statistics, beginning(statistics), result) < 0 ||
        failures_build(&statistics->failures, result) < 0)
        return -ENOMEM;
    if (files_build(&statistics->files, result) < 0 ||
        inputs_build(&statistics->inputs, result) < 0 ||
        shared_build(&statistics->shared, result) < 0)
        return -ENOMEM;
    return procedures_build(&statistics->procedures, statistics->identities, result);
}

int statistics_finish(struct statistics *statistics, uint32_t origins,
                      struct communication **ret_communication)
{
    struct communication *result = calloc(1, sizeof(*result));

    if (result == NULL)
        return -ENOMEM;
    events_count_told_times(statistics);
    if (build(statistics, origins, result) < 0) {
        communication_free(result);
        return -ENOMEM;
    }
    *ret_communication = result;
    return 0;
}

/* ---- from beginning to end ---- */

static int read_all(struct history *history, struct statistics *statistics, uint32_t origins,
                    struct communication **ret_communication, struct problem *problem)
{
    const struct analysis analysis = statistics_analysis(statistics);
    int result = analyses_read_all(history, &analysis, 1, problem);

    if (result < 0)
        return result;
    history_finish(history); /* frees memory for the result */
    result = statistics_finish(statistics, origins, ret_communication);
    return result < 0 ? problem_set(problem, result, "out of memory for %s", analysis.name) : 0;
}

int communication_read_history(struct history *history, uint32_t origins, uint64_t every,
                               struct communication **ret_communication, struct problem *problem)
{
    struct statistics *statistics;
    int result = statistics_new(history, every, &statistics);

    if (result < 0)
        return problem_set(problem, result, "out of memory");
    result = read_all(history, statistics, origins, ret_communication, problem);
    statistics_free(statistics);
    return result;
}
