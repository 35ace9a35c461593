/* SPDX-License-Identifier: MIT */
/* statistics.c: collects the communication statistics, event by event. See statistics.h. */
#include "analysis/statistics/queues.h"
#include "analysis/statistics/statistics_state.h"
#include "analysis/statistics/unmonitored.h"

#include <stdlib.h>
#include <string.h>

int statistics_new(struct history *history, uint64_t every, struct statistics **ret_statistics)
{
    struct statistics *statistics = calloc(1, sizeof(*statistics));

    if (statistics == NULL)
        return -ENOMEM;
    statistics->rows = calloc(1, sizeof(*statistics->rows));
    if (statistics->rows == NULL) {
        free(statistics);
        return -ENOMEM;
    }
    statistics->history = history;
    statistics->identities = history_share_identities(history);
    statistics->message_value =
        history_keep_values(history, sizeof(struct queued_message), EVENT_FLAG(EVENT_SEND));
    statistics->writer_value =
        history_keep_values(history, sizeof(uint32_t), EVENT_FLAG(EVENT_WRITE));
    history_follow_queues(history);
    statistics->intervals.every = every;
    statistics->streams.size = sizeof(struct stream);
    statistics->endpoints.size = sizeof(struct endpoint);
    statistics->processes.pool.size = sizeof(struct process);
    *ret_statistics = statistics;
    return 0;
}

void statistics_each_connection(struct statistics *statistics)
{
    statistics->ended.each = true;
}

void statistics_free(struct statistics *statistics)
{
    if (statistics == NULL)
        return;
    for (uint32_t i = 0; i < places_end(&statistics->endpoints); i++) {
        struct endpoint *endpoint = places_find(&statistics->endpoints, i);
        if (endpoint != NULL && endpoint->present)
            endpoint_forget(statistics, endpoint);
    }
    places_done(&statistics->endpoints);
    places_done(&statistics->streams);
    endpoint_forget(statistics, &statistics->unknown);
    process_rows_done(&statistics->processes);
    ended_done(&statistics->ended);
    intervals_done(&statistics->intervals);
    cgroup_states_done(&statistics->cgroups);
    decisions_done(&statistics->decisions);
    procedures_done(&statistics->procedures);
    failures_done(&statistics->failures);
    files_done(&statistics->files);
    inputs_done(&statistics->inputs);
    shared_done(&statistics->shared);
    coverings_done(&statistics->coverings);
    askings_done(&statistics->askings);
    communication_free(statistics->rows);
    free(statistics->origins);
    free(statistics);
}

int64_t statistics_clock_between(const struct statistics *statistics, uint32_t from, uint64_t time,
                                 uint32_t to, bool *ret_known)
{
    uint64_t error;
    int64_t offset, other;

    *ret_known = history_clock_between(statistics->history, from, time, to, &offset, &error);
    if (*ret_known)
        return offset;
    history_clock(statistics->history, from, time, &offset, &error);
    history_clock(statistics->history, to, statistics->origins[to].last_time, &other, &error);
    return (int64_t)((uint64_t)offset - (uint64_t)other);
}

/* ---- origins ---- */

static struct statistics_origin *find_origin(struct statistics *statistics, uint32_t number)
{
    if (number < statistics->origin_count)
        return &statistics->origins[number];
    if (array_reserve(&statistics->origins, &statistics->origin_capacity, (size_t)number + 1,
                      sizeof(*statistics->origins)) < 0)
        return NULL;
    statistics->origin_count = number + 1;
    return &statistics->origins[number];
}

/* COST and END after the names of procedures: these were looked up when the meter had stopped, which takes seconds for large
 * programs. */
static bool is_after_naming(const struct statistics_origin *origin,
                            const struct record_header *header)
{
    bool last = header->id == EVENT_COST || header->id == EVENT_END;

    return last && origin->named != 0 && origin->named >= origin->last_time;
}

/* MACHINE and the first COST are made before the meter is loaded, which takes seconds on a busy machine: they are no part of
 * the recording's time. */
static void note_time(struct statistics_origin *origin, const struct record_header *header)
{
    bool before = header->id == EVENT_MACHINE || header->id == EVENT_COST;
    bool after = is_after_naming(origin, header);
    uint64_t time = header->time;

    if (!origin->seen || (!before && (!origin->began || time < origin->first_time)))
        origin->first_time = time;
    if (!origin->seen || (!after && time > origin->last_time))
        origin->last_time = time;
    if (header->id == EVENT_MODULE || header->id == EVENT_PROCEDURE)
        origin->named = time;
    origin->seen = true;
    origin->began = origin->began || !before;
}

/* MACHINE is the first record of its trace; a second or late one is ignored. */
static int add_machine(struct statistics_origin *origin, const struct event *event)
{
    const struct machine_record *record = (const struct machine_record *)event->header;

    if (origin->machine_known)
        return 0;
    origin->machine_known = true;
    recorded_note(&origin->recorded, &record->header);
    origin->recorded.kinds_left_out = record->kinds_left_out;
    origin->meter = record->meter;
    return 0;
}

/* ---- paths ---- */

#define FIRST_EPHEMERAL 32768 /* first port for clients, by the kernel's default */

/* For a connection older than the recording, the ports may be all that indicates the server. */
static uint8_t likely_role(const struct path_record *record)
{
    if (record->role != PATH_ROLE_UNKNOWN || !kind_is_internet(record->kind))
        return record->role;
    if (record->local_port < FIRST_EPHEMERAL && record->remote_port >= FIRST_EPHEMERAL)
        return PATH_ROLE_ACCEPTED;
    if (record->local_port >= FIRST_EPHEMERAL && record->remote_port < FIRST_EPHEMERAL)
        return PATH_ROLE_CONNECTED;
    return PATH_ROLE_UNKNOWN;
}

/* NULL: out of memory. */
static struct endpoint *partner_of(struct statistics *statistics, const struct history_event *event)
{
    struct endpoint *partner = places_at(&statistics->endpoints, event->partner_place - 1);

    return partner != NULL && partner->present ? partner : NULL;
}

/* A path may have a second PATH record once more is known (the peer of a UNIX socket). */
static int add_path(struct statistics *statistics, const struct history_event *event)
{
    const struct path_record *record = (const struct path_record *)event->event.header;

    if (event->end_place == 0)
        return 0;
    struct endpoint *endpoint = endpoint_of(statistics, event, record->path);
    if (endpoint == NULL)
        return -ENOMEM;
    if (!endpoint->known) {
        identities_keep_path(statistics->identities, event->event.origin, record->path);
        endpoint->next[0] = record->start_in;
        endpoint->next[1] = record->start_out;
        endpoint->has_next[0] = endpoint->has_next[1] = true;
        endpoint->older = (record->header.flags & RECORD_OLDER) != 0;
    }
    endpoint->known = true;
    endpoint->kind = record->kind;
    endpoint->role = likely_role(record);
    endpoint->byte_stream = record->kind == PATH_TCP || record->kind == PATH_UNIX_STREAM ||
                            record->kind == PATH_BYTE_CHANNEL;
    endpoint->numbered = kind_counts_messages(record->kind);
    endpoint->travels = kind_is_internet(record->kind);
    endpoint->unconnected = record->role == PATH_ROLE_LISTENS;
    endpoint->waits_for_any = record->kind == PATH_UDP && record->remote_port == 0;
    struct endpoint *partner = event->partner_place == 0 ? NULL : partner_of(statistics, event);
    if (partner == NULL || endpoint->partner != NULL)
        return 0;
    if (partner->partner != NULL && endpoint_begin_again(statistics, partner) < 0)
        return -ENOMEM;
    endpoint_join(statistics, endpoint, partner);
    strangers_are_known(statistics, endpoint);
    strangers_are_known(statistics, partner);
    return 0;
}

/* The recorded count wraps at 2^32. */
static void add_dropped(struct endpoint *endpoint, const struct record *record)
{
    endpoint->dropped += (uint32_t)(record->dropped.count - endpoint->last_dropped);
    endpoint->last_dropped = record->dropped.count;
    endpoint->refused += (uint32_t)(record->dropped.refused - endpoint->last_refused);
    endpoint->last_refused = record->dropped.refused;
}

/* TCP counts retransmits from the beginning of the connection on, which may have been days before. */
static void add_network_record(struct endpoint *endpoint, const struct record *record)
{
    endpoint->network = (struct network){
        .known = true,
        .counted = !endpoint->older,
        .retransmitted = endpoint->older ? 0 : record->network.retransmitted,
        .round_trip = record->network.round_trip * 1000ULL,
        .unacknowledged = record->network.unacknowledged,
    };
}

/* Records of the kernel about a path. */
static int add_of_kernel(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct endpoint *endpoint = event->end_place == 0
                                    ? &statistics->unknown
                                    : endpoint_of(statistics, event, record->dropped.path);

    if (endpoint == NULL)
        return -ENOMEM;
    if (record->header.id == EVENT_NETWORK && event->end_place != 0) {
        if (askings_see(&statistics->askings, statistics->identities, event, &statistics->asking) <
            0)
            return -ENOMEM;
        answers_note_network(endpoint->last_used, &statistics->asking);
    }
    if (record->header.id == EVENT_NETWORK)
        add_network_record(endpoint, record);
    else
        add_dropped(endpoint, record);
    return 0;
}

static int add_name(struct statistics *statistics, const struct event *event)
{
    const struct name_record *name = (const struct name_record *)event->header;

    if (event->header->id != EVENT_NAME || name->kind != NAME_SHARED)
        return 0;
    struct process *process = process_rows_find(statistics, event->origin, (uint32_t)name->number);
    int64_t row = process == NULL ? -ENOMEM : process_rows_decide(statistics, process);
    return row < 0 ? -ENOMEM
                   : shared_count(&statistics->shared, statistics->rows, event->origin,
                                  (uint32_t)row, name);
}

/* ---- all of it ---- */

int statistics_add(struct statistics *statistics, const struct history_event *event)
{
    struct statistics_origin *origin = find_origin(statistics, event->event.origin);

    if (origin == NULL)
        return -ENOMEM;
    note_time(origin, event->event.header);
    switch (event->event.header->id) {
    case EVENT_MACHINE:
        return add_machine(origin, &event->event);
    case EVENT_FLAGS:
        message_gap_note(&origin->gap, event->event.header);
        recorded_note(&origin->recorded, event->event.header);
        return askings_see(&statistics->askings, statistics->identities, event,
                           &statistics->asking);
    case EVENT_NAME:
        recorded_note(&origin->recorded, event->event.header);
        return add_name(statistics, &event->event);
    case EVENT_SUMMARY:
        machine_load_note(&origin->load, (const struct summary_record *)event->event.header);
        return 0;
    case EVENT_CGROUP:
        return cgroup_note(&statistics->cgroups, event->event.origin,
                           (const struct cgroup_record *)event->event.header);
    case EVENT_DECISION:
        return decision_note(&statistics->decisions, event->event.origin,
                             (const struct decision_record *)event->event.header);
    case EVENT_PATH:
        return add_path(statistics, event);
    case EVENT_NETWORK:
    case EVENT_DROPPED:
        return add_of_kernel(statistics, event);
    case EVENT_STREAM:
        return events_add_stream(statistics, event);
    default:
        return event_is_metered(event->event.header->id) ? events_count(statistics, event) : 0;
    }
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    (void)problem;
    return statistics_add(self, event);
}

struct analysis statistics_analysis(struct statistics *statistics)
{
    return (struct analysis){
        .name = "the communication statistics", .self = statistics, .add = add};
}
