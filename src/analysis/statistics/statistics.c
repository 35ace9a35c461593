/* SPDX-License-Identifier: MIT */
/* statistics.c: collects the communication statistics, record by record. See statistics.h. */
#include "analysis/statistics/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What has ended is taken out soon, for more tables leave the cache, and reading is slower. */
static const struct statistics_limits default_limits = {
    .ended = 128,
    .processes = 8192,
    .pairs = 16384,
    .largest = 1024,
    .paths = 4096,
};

#define COUNTED_PATHS 10240 /* without queues there is room for more */

int statistics_new(struct statistics **ret_statistics)
{
    struct statistics *statistics = calloc(1, sizeof(*statistics));

    if (statistics == NULL)
        return -ENOMEM;
    statistics->limits = default_limits;
    statistics->rows = calloc(1, sizeof(*statistics->rows));
    if (statistics_tables_new(statistics) < 0 || statistics->rows == NULL ||
        identities_new(&statistics->identities) < 0) {
        statistics_free(statistics);
        return -ENOMEM;
    }
    *ret_statistics = statistics;
    return 0;
}

void statistics_every(struct statistics *statistics, uint64_t interval)
{
    statistics->interval = interval;
}

void statistics_count_only(struct statistics *statistics)
{
    statistics->counts_only = true;
    statistics->limits.paths = COUNTED_PATHS;
    statistics->joiner.closed_too = true; /* sources are read in turns */
}

void statistics_share_identities(struct statistics *statistics, struct identities *identities)
{
    identities_free(statistics->identities);
    statistics->identities = identities;
    statistics->shares_identities = true;
}

void statistics_free(struct statistics *statistics)
{
    if (statistics == NULL)
        return;
    alike_done(statistics);
    value_runs_done(statistics);
    statistics_tables_done(statistics);
    if (!statistics->shares_identities)
        identities_free(statistics->identities);
    for (uint32_t i = 0; i < statistics->origin_count; i++)
        free(statistics->origins[i].early.list);
    free(statistics->origins);
    free(statistics->machines);
    free(statistics->intervals);
    procedures_done(&statistics->procedures);
    addresses_done(&statistics->addresses);
    addresses_done(&statistics->halves.ends);
    communication_free(statistics->rows);
    free(statistics);
}

/* ---- origins and machines ---- */

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

static void note_time(struct statistics_origin *origin, const struct event *event)
{
    uint64_t time = event->header->time;

    if (!origin->seen || time < origin->first_time)
        origin->first_time = time;
    if (!origin->seen || time > origin->last_time)
        origin->last_time = time;
    origin->seen = true;
}

/* A machine is its machine id and its boot id; without both, its name must do. */
static bool same_machine(const struct statistics_machine *a, const struct statistics_machine *b)
{
    static const uint8_t none[16];
    bool anonymous = memcmp(a->machine_id, none, sizeof(none)) == 0 &&
                     memcmp(a->boot_id, none, sizeof(none)) == 0;

    return a->known && b->known && memcmp(a->machine_id, b->machine_id, sizeof(none)) == 0 &&
           memcmp(a->boot_id, b->boot_id, sizeof(none)) == 0 &&
           (!anonymous || memcmp(a->name, b->name, sizeof(a->name)) == 0);
}

/* Finds the machine of an origin, or adds it; an origin that has not said which (`record` is NULL)
 * is a machine of its own. */
static int note_machine(struct statistics *statistics, struct statistics_origin *origin,
                        const struct machine_record *record)
{
    struct statistics_machine machine = {.known = record != NULL};
    uint32_t index = 0;

    if (record != NULL) {
        memcpy(machine.machine_id, record->machine_id, sizeof(machine.machine_id));
        memcpy(machine.boot_id, record->boot_id, sizeof(machine.boot_id));
        memcpy(machine.name, record->name, sizeof(machine.name));
    }
    while (index < statistics->machine_count &&
           !same_machine(&statistics->machines[index], &machine))
        index++;
    if (array_reserve(&statistics->machines, &statistics->machine_capacity, (size_t)index + 1,
                      sizeof(*statistics->machines)) < 0)
        return -ENOMEM;
    if (index == statistics->machine_count)
        statistics->machines[statistics->machine_count++] = machine;
    origin->machine = index;
    origin->machine_known = true;
    return 0;
}

/* ---- records ---- */

/* Who shares them with others is told of what they know already. */
static int know(struct statistics *statistics, const struct event *event)
{
    if (!statistics->shares_identities)
        return identities_add(statistics->identities, event);
    if (event->header->id == EVENT_PATH)
        identities_keep_path(statistics->identities, event->origin,
                             ((const struct path_record *)event->header)->path);
    return 0;
}

/* MACHINE is the first record of its trace; a second one, or one that comes late, says nothing. */
static int add_machine(struct statistics *statistics, const struct event *event)
{
    const struct machine_record *record = (const struct machine_record *)event->header;
    struct statistics_origin *origin = &statistics->origins[event->origin];

    if (origin->machine_known)
        return 0;
    origin->meter_flags = record->meter_flags;
    origin->kinds_left_out = record->kinds_left_out;
    origin->meter = record->meter;
    int result = know(statistics, event);
    return result < 0 ? result : note_machine(statistics, origin, record);
}

/* procTime has 48 bits and only grows: a difference of more than half of the range is not two days
 * of work but a record that overtook another. */
void note_cpu_time(struct statistics *statistics, struct statistics_stream *stream,
                   uint64_t proc_time)
{
    uint64_t more = stream->running ? proc_time_used(stream->proc_time, proc_time) : proc_time;

    if (stream->running && more == 0)
        return;
    process_row(statistics, stream->process)->cpu += more;
    stream->proc_time = proc_time;
    stream->running = true;
}

/* The identity of the first stream speaks for its process, and that of another which has become its
 * main thread by an exec; any other only while the first one's is missing. */
static void note_identity(struct statistics *statistics, uint32_t process,
                          const struct stream_record *record)
{
    struct communication_process *row = process_row(statistics, process);
    bool first = record->header.stream == record->process;

    if (row->group != NULL)
        return; /* it had ended before, and shares its row */
    if (first || row->pid == 0 || record->tid == record->pid) {
        row->pid = record->pid;
        row->pid_inside = record->pid_inside;
        row->pid_namespace = record->pid_namespace;
        row->user = record->user;
        statistics->processes[process].image = record->image;
        row->cgroup = record->cgroup;
        memcpy(row->name, record->name, sizeof(row->name));
    }
    if (first)
        row->parent_number = record->parent;
    find_parent(statistics, statistics->rows, process);
}

static int add_stream(struct statistics *statistics, const struct event *event)
{
    const struct stream_record *record = (const struct stream_record *)event->header;
    int64_t process = statistics_process_index(statistics, event->origin, record->process);
    int64_t index =
        statistics_stream_index(statistics, event->origin, record->header.stream, record->process);

    if (process < 0 || index < 0)
        return -ENOMEM;
    struct statistics_stream *stream = stream_at(statistics, (uint32_t)index);
    stream->process = (uint32_t)process;
    stream->known = true;
    stream->image = record->image;
    note_identity(statistics, (uint32_t)process, record);
    /* What the stream had used before it was metered does not count. Told again it may be the last that is heard of it,
     * though events that are older may still come. */
    if (!stream->running) {
        stream->proc_time = record_proc_time(&record->header);
        stream->running = true;
    } else if (record_proc_time(&record->header) != 0) {
        stream->told_time = record_proc_time(&record->header);
    }
    return 0;
}

void statistics_count_told_times(struct statistics *statistics)
{
    for (uint32_t i = 0; i < statistics->streams.used; i++) {
        struct statistics_stream *stream = stream_at(statistics, i);
        if (stream->present && stream->told_time != 0 && !stream->ended)
            note_cpu_time(statistics, stream, stream->told_time);
        stream->told_time = 0;
    }
}

#define FIRST_EPHEMERAL 32768 /* ports that the kernel gives to clients, unless told otherwise */

/* Of connections older than the recording nothing tells which end is the server, but its port. */
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

/* A path may be described again when more is known of it (the peer of a UNIX socket). */
static int add_path(struct statistics *statistics, const struct event *event)
{
    const struct path_record *record = (const struct path_record *)event->header;
    int64_t index = statistics_path_index(statistics, event->origin, record->path);

    if (index < 0)
        return (int)index;
    struct statistics_path *path = path_at(statistics, (uint32_t)index);
    bool is_new = !path->known, has_ports = is_new && record->kind == PATH_TCP;
    uint64_t addresses = has_ports ? hash_addresses(event->origin, record) : 0;
    if (has_ports)
        addresses_fetch(&statistics->addresses, addresses);
    int result = know(statistics, event);
    if (result < 0)
        return result;
    path->known = true;
    path->role = likely_role(record);
    path->byte_stream = record->kind == PATH_TCP || record->kind == PATH_UNIX_STREAM;
    result = joiner_add(&statistics->joiner, (uint32_t)index,
                        identities_path(statistics->identities, event->origin, record->path),
                        statistics->origins[event->origin].machine, event->origin);
    uint32_t partner = joiner_end(&statistics->joiner, (uint32_t)index).partner;
    if (result == 0 && partner != NO_END) {
        path->partner = partner;
        path_at(statistics, partner)->partner = (uint32_t)index;
        statistics_note_used(statistics, (uint32_t)index);
        statistics_note_used(statistics, partner);
    }
    if (result == 0 && partner == NO_END && is_new)
        halves_came(statistics, record);
    if (result < 0 || !has_ports)
        return result;
    result = addresses_note(&statistics->addresses, addresses);
    path->reuses = result > 0;
    return result < 0 ? result : 0;
}

/* What is told of a path, made if there is none; NULL: out of memory. */
static struct path_told *find_told(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    int64_t index = statistics_path_index(statistics, origin, number);

    if (index < 0)
        return NULL;
    struct statistics_path *path = path_at(statistics, (uint32_t)index);
    int64_t told = path->told == 0 ? pool_take(&statistics->told) : path->told - 1;
    if (told < 0)
        return NULL;
    path->told = (uint32_t)told + 1;
    return told_of(statistics, path);
}

/* Counts go on over 2^32. */
static int add_dropped(struct statistics *statistics, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    struct path_told *told = find_told(statistics, event->origin, record->dropped.path);

    if (told == NULL)
        return -ENOMEM;
    told->dropped += (uint32_t)(record->dropped.count - told->last_dropped);
    told->last_dropped = record->dropped.count;
    return 0;
}

static int add_network_record(struct statistics *statistics, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    struct path_told *told = find_told(statistics, event->origin, record->network.path);

    if (told == NULL)
        return -ENOMEM;
    told->network = (struct network){
        .known = true,
        .retransmitted = record->network.retransmitted,
        .round_trip = record->network.round_trip * 1000ULL,
        .unacknowledged = record->network.unacknowledged,
    };
    return 0;
}

int statistics_add(struct statistics *statistics, const struct event *event)
{
    return statistics_add_at(statistics, event, 0, 0);
}

int statistics_add_at(struct statistics *statistics, const struct event *event,
                      int64_t clock_offset, uint32_t clock_reference)
{
    struct statistics_origin *origin = find_origin(statistics, event->origin);

    if (origin == NULL ||
        statistics_note_clock(statistics, event->origin, clock_offset, clock_reference) < 0)
        return -ENOMEM;
    note_time(origin, event);
    if (event_is_metered(event->header->id) && origin->machine_known)
        return statistics_let_wait(statistics, event);
    int result = statistics_bring_in(statistics);
    if (result < 0)
        return result;
    origin = &statistics->origins[event->origin];
    if (event->header->id == EVENT_MACHINE)
        return add_machine(statistics, event);
    if (!origin->machine_known) {
        result = note_machine(statistics, origin, NULL);
        if (result < 0)
            return result;
    }
    switch (event->header->id) {
    case EVENT_STREAM:
        return add_stream(statistics, event);
    case EVENT_PATH:
        return add_path(statistics, event);
    case EVENT_NETWORK:
        return add_network_record(statistics, event);
    case EVENT_DROPPED:
        return add_dropped(statistics, event);
    case EVENT_IMAGE:
    case EVENT_NAME:
    case EVENT_MODULE:
    case EVENT_PROCEDURE:
        return know(statistics, event);
    case EVENT_COST:
        memcpy(&origin->cost, event->header, sizeof(origin->cost));
        return 0;
    case EVENT_LOST:
    case EVENT_DISCARDED:
    case EVENT_END:
        return 0;
    default:
        return statistics_let_wait(statistics, event);
    }
}
