/* SPDX-License-Identifier: MIT */
/*
 * connections.c: makes the rows of paths and pairs. See connections.h.
 *
 *      path 4  client's socket  uses: client 3 sends            \  one connection
 *      path 5  server's socket  uses: worker 1, worker 2 receive /
 *
 *      paths:  client's address > server's address, ends {client}, {worker 1, worker 2}
 *      pairs:  client > {worker 1, worker 2}, shared: 3
 *              worker 1 > client ... (each process that sends is known)
 */
#include "analysis/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* One end of the connection that is being built: its path, or none if that end was not metered. */
struct connection_end {
    uint32_t path; /* index into statistics->paths, or NO_END */
    struct path_end end;
    struct party party;
};

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
        result = statistics_add_values(receiver, kinds[i],
                                       times_of(&pair->times, receiver, kinds[i]), HISTOGRAM_MOST);
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
    int result = statistics_add_values(use, kind, &pair->sizes, HISTOGRAM_MOST);
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

/* Counts it for the row, in *sum and its sizes, and for the pairs that have sent so. */
static int build_direction(struct builder *builder, const struct connection_end *from,
                           const struct connection_end *to, bool local, struct traffic *sum,
                           struct histogram *sizes)
{
    const struct statistics *statistics = builder->statistics;
    bool by_sends = sends_are_metered(statistics, from);
    enum value_kind kind = by_sends ? VALUE_SENT : VALUE_RECEIVED;
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
        add_traffic(sum, traffic);
        add_traffic(local ? &builder->result->local : &builder->result->remote, traffic);
        result = statistics_add_values(use, kind, sizes, HISTOGRAM_SOME);
        if (result == 0)
            result = add_pair(builder, by_sends ? &user : &from->party,
                              by_sends ? &to->party : &user, use, kind, local);
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
                result = statistics_add_values(use, kind, times_of(&path->times, use, kind),
                                               HISTOGRAM_MOST);
        }
    }
    return result;
}

/* What is left in a queue waits until its receiver's end is closed. What never was received is no process's
 * any more when its path leaves. */
static void add_queue_row(struct builder *builder, const struct queue *queue, uint64_t closed,
                          struct communication_path *row)
{
    struct queue_length length;

    if (queue == NULL)
        return;
    queue_result(queue, closed != 0 ? closed : builder->statistics->lasting.latest, &length);
    if (closed != 0)
        length.messages = length.bytes = 0;
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
            /* whether somebody who is not metered has received what was sent nobody knows */
            if (ends[1 - i].path != NO_END)
                add_queue_row(builder, statistics->paths[ends[i].path].outgoing,
                              statistics->paths[ends[1 - i].path].closed, path);
            add_queue_row(builder, statistics->paths[ends[i].path].incoming,
                          statistics->paths[ends[i].path].closed, path);
            path->dropped += statistics->paths[ends[i].path].dropped;
            path->duplicates += statistics->paths[ends[i].path].duplicates;
            path->reused = path->reused || statistics->paths[ends[i].path].reuses;
            add_network(&path->network, &statistics->paths[ends[i].path].network);
        }
    builder->result->dropped += path->dropped;
    builder->result->duplicates += path->duplicates;
    builder->result->connections++;
    builder->result->ended += path->ended;
    builder->result->reused += path->reused;
    bool local = is_local_connection(statistics, ends);
    int result = sum_times(builder, ends, path);
    if (result == 0)
        result = build_direction(builder, &ends[0], &ends[1], local, &path->sent, &path->sizes);
    /* A socket that is connected to itself has one direction only. */
    if (result == 0 && ends[0].path != ends[1].path)
        result = build_direction(builder, &ends[1], &ends[0], local, &path->received, &path->sizes);
    return result;
}

/* A UDP socket while it waited for anybody: nobody talked to anybody on this path. */
static bool is_idle_without_peer(const struct statistics *statistics, uint32_t path)
{
    const struct path_record *record = joiner_end(&statistics->joiner, path).record;

    return record->kind == PATH_UDP && record->remote_port == 0 &&
           statistics->paths[path].messages == 0;
}

int build_connections(struct builder *builder)
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
