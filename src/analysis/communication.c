/* SPDX-License-Identifier: MIT */
/*
 * communication.c: makes the communication statistics' result from what was collected.
 *
 *      path 4  client's socket  uses: client 3 sends            \  one connection
 *      path 5  server's socket  uses: worker 1, worker 2 receive /
 *
 *      paths:  client's address > server's address, ends {client}, {worker 1, worker 2}
 *      pairs:  client > {worker 1, worker 2}, shared: 3
 *              worker 1 > client ... (each process that sends is known)
 */
#include "analysis/statistics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct builder {
    const struct statistics *statistics;
    struct communication *result;
    bool leaving; /* only paths that leave */
    size_t path_capacity;
};

/* One end of the connection that is being built: its path, or none if that end was not metered. */
struct connection_end {
    uint32_t path; /* index into statistics->paths, or NO_END */
    struct path_end end;
    struct party party;
};

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

/* Adds all values of a kind that a use has. */
static int add_values(const struct statistics_use *use, enum value_kind kind,
                      struct histogram *histogram)
{
    const struct histogram *own = use_histogram(use, kind);
    int result = own == NULL ? 0 : histogram_merge(histogram, own, HISTOGRAM_MOST);

    return result < 0 ? result : statistics_add_latest(use, kind, histogram);
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
    return add_times(&sum->times, &more->times);
}

/* Of each kind of time. */
static int add_latest_times(const struct statistics_use *use, struct times *times)
{
    int result = 0;

    for (unsigned kind = VALUE_ANSWER; result == 0 && kind < VALUE_KINDS; kind++)
        result = statistics_add_latest(use, kind, times_of(times, use, kind));
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
        int result = add_latest_times(use, &process->times);
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- the two ends of a connection ---- */

static struct connection_end connection_end(const struct statistics *statistics, uint32_t path)
{
    struct connection_end end = {.path = path, .end = {.partner = NO_END}};

    if (path != NO_END)
        end.end = joiner_end(&statistics->joiner, path);
    return end;
}

/* The end that connected has the greater rank. */
static int role_rank(const struct statistics *statistics, const struct connection_end *end)
{
    switch (statistics->paths[end->path].role) {
    case PATH_ROLE_CONNECTED:
    case PATH_ROLE_WRITES:
        return 2;
    case PATH_ROLE_ACCEPTED:
    case PATH_ROLE_READS:
        return 0;
    default:
        return 1;
    }
}

/* Whether `end`, which is metered, is the one to be called local. */
static bool is_local_end(const struct statistics *statistics, const struct connection_end *end,
                         const struct connection_end *other)
{
    if (other->path == NO_END)
        return role_rank(statistics, end) != 0;
    int difference = role_rank(statistics, end) - role_rank(statistics, other);
    if (difference != 0)
        return difference > 0;
    const struct statistics_path *a = &statistics->paths[end->path];
    const struct statistics_path *b = &statistics->paths[other->path];
    return a->origin != b->origin ? a->origin < b->origin : a->number <= b->number;
}

/* The address of an end in the words of the end that knows it best: a UNIX socket without a name
 * may be known to its peer by one. */
static const char *end_address(struct builder *builder, const struct connection_end *mine,
                               const struct connection_end *other)
{
    const struct path_record *own = mine->end.record;
    const struct path_record *peer = other->end.record;
    char text[ENDPOINT_SIZE];

    if (own != NULL && (own->family != AF_UNIX || own->name_end == PATH_NAME_LOCAL ||
                        peer == NULL || peer->name_end != PATH_NAME_REMOTE))
        endpoint_local(own, text);
    else
        endpoint_remote(peer, text);
    return communication_keep_text(builder->result, text);
}

/* A party of processes, which are in order. NULL in it: out of memory. */
static struct party party_of(struct builder *builder, const uint32_t *processes, uint32_t count)
{
    return (struct party){
        .processes = communication_keep(builder->result, processes, count * sizeof(*processes)),
        .count = count,
    };
}

static uint32_t count_holders(const struct statistics *statistics, uint32_t path)
{
    uint32_t count = 0;

    if (path != NO_END)
        for (uint32_t use = statistics->paths[path].first_use; use != 0;
             use = statistics->uses[use - 1].next)
            count++;
    return count;
}

#define FEW_HOLDERS 16

/* Notes the processes that used the end as its party. */
static int list_holders(struct builder *builder, struct connection_end *end)
{
    const struct statistics *statistics = builder->statistics;
    uint32_t count = count_holders(statistics, end->path);
    uint32_t few[FEW_HOLDERS];
    uint32_t *holders = count <= FEW_HOLDERS ? few : calloc(count, sizeof(*holders));
    uint32_t *at = holders;

    if (holders == NULL)
        return -ENOMEM;
    if (count > 0)
        for (uint32_t use = statistics->paths[end->path].first_use; use != 0;
             use = statistics->uses[use - 1].next)
            *at++ = statistics->uses[use - 1].process;
    sort_numbers(holders, count);
    end->party = party_of(builder, holders, count);
    if (holders != few)
        free(holders);
    return end->party.processes == NULL ? -ENOMEM : 0;
}

/* Whether a machine has an address, in its long form. */
static bool has_address(const struct machine_record *machine, const uint8_t address[16])
{
    char list[MACHINE_ADDRESSES_SIZE + 1] = "";
    char *rest = NULL;

    memcpy(list, machine->addresses, MACHINE_ADDRESSES_SIZE);
    for (char *word = strtok_r(list, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        int family = strchr(word, ':') == NULL ? AF_INET : AF_INET6;
        uint8_t own[16];
        uint8_t own_long[16];
        if (inet_pton(family, word, own) != 1)
            continue;
        long_address((unsigned)family, own, own_long);
        if (memcmp(own_long, address, sizeof(own_long)) == 0)
            return true;
    }
    return false;
}

/* Whether the other end of a path, which is not metered, is on the same machine. */
static bool peer_is_local(const struct statistics *statistics, const struct connection_end *end)
{
    const struct path_record *record = end->end.record;
    const struct machine_record *machine =
        identities_machine(statistics->identities, statistics->paths[end->path].origin);
    uint8_t local[16];
    uint8_t remote[16];

    if (record->kind != PATH_TCP && record->kind != PATH_UDP)
        return true;
    long_address(record->family, record->local, local);
    long_address(record->family, record->remote, remote);
    return is_loopback(remote) || memcmp(local, remote, sizeof(local)) == 0 ||
           (machine != NULL && has_address(machine, remote));
}

static bool is_local_connection(const struct statistics *statistics,
                                const struct connection_end ends[2])
{
    if (ends[0].path == NO_END)
        return peer_is_local(statistics, &ends[1]);
    if (ends[1].path == NO_END)
        return peer_is_local(statistics, &ends[0]);
    return ends[0].end.machine == ends[1].end.machine;
}

/* ---- what went from one end to the other ---- */

/* Sends are what is counted; where they are not recorded, receives must do. */
static bool sends_are_metered(const struct statistics *statistics, const struct connection_end *end)
{
    if (end->party.count == 0)
        return false;
    uint32_t flags = statistics->lasting.origins[statistics->paths[end->path].origin].meter_flags;
    return flags == 0 || flags & EVENT_FLAG(EVENT_SEND);
}

/* How long what a receiver took has waited, and he for it. */
static int add_waits(struct communication_pair *pair, const struct statistics_use *receiver)
{
    static const enum value_kind kinds[] = {VALUE_MESSAGE_WAIT, VALUE_RECEIVER_WAIT,
                                            VALUE_DELIVERY};
    int result = 0;

    for (size_t i = 0; result == 0 && i < ARRAY_SIZE(kinds); i++)
        result = add_values(receiver, kinds[i], times_of(&pair->times, receiver, kinds[i]));
    return result;
}

static int add_pair(struct builder *builder, const struct party *from, const struct party *to,
                    const struct statistics_use *use, enum value_kind kind, bool local)
{
    const struct traffic *sent = kind == VALUE_SENT ? &use->sent : &use->received;

    if (sent->messages == 0 && sent->bytes == 0)
        return 0;
    struct communication_pair *pair = communication_pair(builder->result, from, to);
    if (pair == NULL)
        return -ENOMEM;
    add_traffic(&pair->sent, sent);
    pair->local = pair->local && local;
    int result = add_values(use, kind, &pair->sizes);
    return result < 0 || kind == VALUE_SENT ? result : add_waits(pair, use);
}

static bool sends(const struct statistics_use *use)
{
    return use->sent.messages > 0 || use->sent.bytes > 0;
}

/* What one process has sent took its receivers so long. Of several senders that is nobody's own. */
static int add_waits_of_receivers(struct builder *builder, const struct connection_end *from,
                                  const struct connection_end *to)
{
    const struct statistics *statistics = builder->statistics;
    const struct statistics_use *sender = NULL;
    int result = 0;

    for (uint32_t at = statistics->paths[from->path].first_use; at != 0;
         at = statistics->uses[at - 1].next) {
        if (sender != NULL && sends(&statistics->uses[at - 1]))
            return 0;
        if (sends(&statistics->uses[at - 1]))
            sender = &statistics->uses[at - 1];
    }
    if (sender == NULL || to->path == NO_END)
        return 0;
    struct party user = party_of(builder, &sender->process, 1);
    struct communication_pair *pair =
        user.processes == NULL ? NULL : communication_pair(builder->result, &user, &to->party);
    if (pair == NULL)
        return -ENOMEM;
    for (uint32_t at = statistics->paths[to->path].first_use; result == 0 && at != 0;
         at = statistics->uses[at - 1].next)
        result = add_waits(pair, &statistics->uses[at - 1]);
    return result;
}

static int build_direction(struct builder *builder, const struct connection_end *from,
                           const struct connection_end *to, bool local, struct traffic *ret_sum)
{
    const struct statistics *statistics = builder->statistics;
    bool by_sends = sends_are_metered(statistics, from);
    uint32_t path = by_sends ? from->path : to->path;
    int result = 0;

    if (path == NO_END)
        return 0;
    for (uint32_t at = statistics->paths[path].first_use; result == 0 && at != 0;) {
        const struct statistics_use *use = &statistics->uses[at - 1];
        const struct traffic *traffic = by_sends ? &use->sent : &use->received;
        struct party user = party_of(builder, &use->process, 1);
        if (user.processes == NULL)
            return -ENOMEM;
        add_traffic(ret_sum, traffic);
        add_traffic(local ? &builder->result->local : &builder->result->remote, traffic);
        result = add_pair(builder, by_sends ? &user : &from->party, by_sends ? &to->party : &user,
                          use, by_sends ? VALUE_SENT : VALUE_RECEIVED, local);
        at = use->next;
    }
    return result < 0 || !by_sends ? result : add_waits_of_receivers(builder, from, to);
}

/* ---- connections ---- */

/* Makes room for a connection in the result, with its addresses and the holders of its ends. */
static struct communication_path *new_path(struct builder *builder, struct connection_end ends[2])
{
    struct communication *result = builder->result;

    if (array_reserve(&result->paths, &builder->path_capacity, result->path_count + 1,
                      sizeof(*result->paths)) < 0)
        return NULL;
    struct communication_path *path = &result->paths[result->path_count++];
    *path = (struct communication_path){
        .local = end_address(builder, &ends[0], &ends[1]),
        .remote = end_address(builder, &ends[1], &ends[0]),
        .connections = 1,
    };
    if (path->local == NULL || path->remote == NULL)
        return NULL;
    for (int i = 0; i < 2; i++) {
        if (list_holders(builder, &ends[i]) < 0)
            return NULL;
        path->ends[i] = ends[i].party;
        if (ends[i].party.count == 0)
            ends[i].party.address = i == 0 ? path->local : path->remote;
    }
    return path;
}

/* Whether an end is closed; one that is not metered does not say. */
static bool is_closed(const struct connection_end *end)
{
    return end->path == NO_END || end->end.destroyed;
}

static int sum_times(struct builder *builder, const struct connection_end ends[2],
                     struct communication_path *path)
{
    const struct statistics *statistics = builder->statistics;
    int result = 0;

    for (int i = 0; i < 2; i++) {
        if (ends[i].path == NO_END || (i == 1 && ends[1].path == ends[0].path))
            continue;
        for (uint32_t at = statistics->paths[ends[i].path].first_use; result == 0 && at != 0;
             at = statistics->uses[at - 1].next) {
            const struct statistics_use *use = &statistics->uses[at - 1];
            for (unsigned kind = VALUE_ANSWER; result == 0 && kind < VALUE_KINDS; kind++)
                result = add_values(use, kind, times_of(&path->times, use, kind));
        }
    }
    return result;
}

/* What never was received is no process's any more when its path leaves. */
static void add_queue_row(struct builder *builder, const struct queue *queue,
                          struct communication_path *row)
{
    struct queue_length length;

    if (queue == NULL)
        return;
    queue_result(queue, builder->statistics->lasting.latest, &length);
    add_queue(&row->queue, &length);
    if (queue->owner == NO_PROCESS)
        return;
    struct communication_process *owner = &builder->result->processes[queue->owner];
    owner->queue.wait += length.wait - queue->length.wait;
    owner->queue.unreceived += length.unreceived;
}

/* ends[0] is the local one. */
static int build_connection(struct builder *builder, struct connection_end ends[2])
{
    const struct statistics *statistics = builder->statistics;
    const struct connection_end *known = ends[0].path != NO_END ? &ends[0] : &ends[1];
    struct communication_path *path = new_path(builder, ends);

    if (path == NULL)
        return -ENOMEM;
    path->kind = known->end.record->kind;
    path->number = statistics->paths[known->path].number;
    path->ended = is_closed(&ends[0]) && is_closed(&ends[1]);
    for (int i = 0; i < 2; i++)
        if (ends[i].path != NO_END && (i == 0 || ends[0].path != ends[1].path)) {
            add_queue_row(builder, statistics->paths[ends[i].path].outgoing, path);
            add_queue_row(builder, statistics->paths[ends[i].path].incoming, path);
            path->dropped += statistics->paths[ends[i].path].dropped;
            path->duplicates += statistics->paths[ends[i].path].duplicates;
            add_network(&path->network, &statistics->paths[ends[i].path].network);
        }
    builder->result->dropped += path->dropped;
    builder->result->duplicates += path->duplicates;
    builder->result->connections++;
    builder->result->ended += path->ended;
    bool local = is_local_connection(statistics, ends);
    int result = sum_times(builder, ends, path);
    if (result == 0)
        result = build_direction(builder, &ends[0], &ends[1], local, &path->sent);
    /* A socket that is connected to itself has one direction only. */
    if (result == 0 && ends[0].path != ends[1].path)
        result = build_direction(builder, &ends[1], &ends[0], local, &path->received);
    return result;
}

/* A UDP socket while it waited for anybody: nobody talked to anybody on this path. */
static bool is_idle_without_peer(const struct statistics *statistics, uint32_t path)
{
    const struct path_record *record = joiner_end(&statistics->joiner, path).record;

    return record->kind == PATH_UDP && record->remote_port == 0 &&
           statistics->paths[path].messages == 0;
}

static int build_connections(struct builder *builder)
{
    const struct statistics *statistics = builder->statistics;
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < statistics->path_numbers.numbers.count; i++) {
        if (builder->leaving && !statistics->paths[i].leaves)
            continue;
        if (!statistics->paths[i].known) {
            builder->result->unknown_paths += statistics->paths[i].messages;
            builder->result->dropped += statistics->paths[i].dropped;
            continue;
        }
        if (is_idle_without_peer(statistics, i))
            continue;
        struct connection_end mine = connection_end(statistics, i);
        struct connection_end other = connection_end(statistics, mine.end.partner);
        if (is_local_end(statistics, &mine, &other))
            result = build_connection(builder, (struct connection_end[2]){mine, other});
        else if (other.path == NO_END)
            result = build_connection(builder, (struct connection_end[2]){other, mine});
        /* else its partner builds, or has built, the connection */
    }
    return result;
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

/* What the recording of an origin has cost, for all its records. */
static void add_cost(struct own_cost *sum, const struct statistics_origin *origin)
{
    if (!origin->has_cost)
        return;
    sum->recordings++;
    sum->cpu += origin->cost.cost.cpu;
    sum->wakeups += origin->cost.cost.wakeups;
    sum->records += origin->records;
    sum->hook_records += origin->cost.cost.hook == 0 ? 0 : origin->records;
    sum->hook += origin->cost.cost.hook * origin->records;
}

static void build_totals(const struct statistics *statistics, struct communication *result,
                         const struct source_state *states, uint32_t origins)
{
    for (size_t i = 0; i < result->process_count; i++) {
        result->cpu += result->processes[i].cpu;
        add_traffic(&result->sent, &result->processes[i].sent);
    }
    for (uint32_t i = 0; i < statistics->lasting.origin_count; i++)
        add_cost(&result->own_cost, &statistics->lasting.origins[i]);
    result->traces = origins;
    result->events = statistics->lasting.events;
    result->unknown_streams = statistics->lasting.unknown_streams;
    result->unseen_bytes = statistics->lasting.unseen_bytes;
    result->duration = duration(statistics);
    result->complete = true;
    for (uint32_t i = 0; i < statistics->lasting.origin_count; i++)
        result->kinds_left_out |= statistics->lasting.origins[i].kinds_left_out;
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

static int add_history_event(struct statistics *statistics, const struct history *history,
                             const struct event *event)
{
    int64_t offset = 0;
    uint64_t error;

    if (event->origin != 0)
        history_clock(history, event->origin, event->header->time, &offset, &error);
    return statistics_add_at(statistics, event, offset);
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
    history_counts(history, &(*ret_communication)->matching);
    return 0;
}

int communication_read_history(struct history *history, uint32_t origins, uint64_t every,
                               struct communication **ret_communication, struct problem *problem)
{
    struct statistics *statistics = NULL;
    struct history_event event;
    int result = statistics_new(&statistics);

    if (result < 0)
        goto done;
    statistics_every(statistics, every);
    /* holds unless whoever fails knows better: not everybody has a line for it */
    problem_set(problem, -ENOMEM, "out of memory for the history of the recording");
    while ((result = history_next(history, &event, problem)) == SOURCE_RECORD) {
        result = add_history_event(statistics, history, &event.event);
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
done:
    statistics_free(statistics);
    return explain(result, problem);
}
