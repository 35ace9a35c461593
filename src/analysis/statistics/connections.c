/* SPDX-License-Identifier: MIT */
/*
 * connections.c: computes what a connection counts, and adds it to its row, pairs and processes.
 * See connections.h.
 *
 *      client's socket  usages: client 3 sends             \  one connection
 *      server's socket  usages: worker 1, worker 2 receive /
 *
 *      paths:  client's address > server's address, ends {client}, {worker 1, worker 2}
 *      pairs:  client > {worker 1, worker 2}, shared: 3
 *              worker 1 > client ... (each process that sends is known)
 */
#include "analysis/statistics/connections.h"

#include "analysis/statistics/answers.h"
#include "analysis/statistics/machines.h"
#include "analysis/statistics/queues.h"
#include "analysis/statistics/rows.h"
#include "analysis/statistics/statistics_clocks.h"
#include "analysis/statistics/statistics_state.h"
#include "analysis/statistics/unmonitored.h"
#include "ends/joining.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- the two ends of a connection ---- */

/* Greater for the end that connected. */
static int role_rank(const struct endpoint *end)
{
    switch (end->role) {
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

/* Whether `end` is the local end. */
static bool is_local_end(const struct endpoint *end, const struct endpoint *other)
{
    if (other == NULL)
        return role_rank(end) != 0;
    int difference = role_rank(end) - role_rank(other);
    if (difference != 0)
        return difference > 0;
    return end->origin != other->origin ? end->origin < other->origin
                                        : end->number <= other->number;
}

static const struct path_record *record_of(const struct statistics *statistics,
                                           const struct endpoint *end)
{
    return end == NULL ? NULL : identities_path(statistics->identities, end->origin, end->number);
}

/* A UDP socket without a peer: no messages between processes on this path. */
static bool is_idle_without_peer(const struct endpoint *endpoint)
{
    return endpoint->waits_for_any && endpoint->messages == 0;
}

/* A record that contradicts itself may have messages of one. */
static bool is_unconnected(const struct endpoint *endpoint)
{
    return endpoint->unconnected && endpoint->messages == 0;
}

enum connection_part connection_of(struct endpoint *endpoint, struct endpoint *ret_ends[2])
{
    if (!endpoint->known || is_unconnected(endpoint) || is_idle_without_peer(endpoint))
        return PART_NONE;
    bool is_local = is_local_end(endpoint, endpoint->partner);
    ret_ends[0] = is_local ? endpoint : endpoint->partner;
    ret_ends[1] = is_local ? endpoint->partner : endpoint;
    return is_local || endpoint->partner == NULL ? PART_FIRST : PART_OTHER;
}

/* ---- addresses ---- */

/* The address of an end, as reported by the end that knows it best: only the peer may know the name of a UNIX
 * socket. */
static void end_address(const struct path_record *own, const struct path_record *peer,
                        char text[ENDPOINT_SIZE])
{
    if (own != NULL && (own->family != AF_UNIX || own->name_end == PATH_NAME_LOCAL ||
                        peer == NULL || peer->name_end != PATH_NAME_REMOTE))
        endpoint_local(own, text);
    else
        endpoint_remote(peer, text);
}

/* Replaces what the kernel chose by "*": the port of the connecting end; the number of an unnamed socket or pipe. */
static void keep_common(unsigned kind, char local[ADDRESS_SIZE], char remote[ADDRESS_SIZE])
{
    char *colon = strrchr(local, ':');

    if (kind == PATH_FIFO || kind_is_mq(kind))
        return;
    if (kind == PATH_PIPE) {
        strcpy(local, "pipe:*");
        strcpy(remote, "pipe:*");
        return;
    }
    strcpy(kind_is_internet(kind) && colon != NULL ? colon + 1 : local, "*");
    if (strncmp(remote, "socket#", strlen("socket#")) == 0)
        strcpy(remote, "*");
}

/* NULL in *ret_kept: `only_known`, and it is not kept yet. Returns 0 or -ENOMEM. */
static int keep(struct communication *rows, bool only_known, const void *bytes, size_t size,
                const void **ret_kept)
{
    *ret_kept =
        only_known ? communication_find(rows, bytes, size) : communication_keep(rows, bytes, size);
    return *ret_kept == NULL && !only_known ? -ENOMEM : 0;
}

static int note_addresses(const struct statistics *statistics, struct communication *rows,
                          struct endpoint *const ends[2], bool only_known, struct like *like,
                          char addresses[2][ADDRESS_SIZE])
{
    const struct path_record *records[] = {record_of(statistics, ends[0]),
                                           record_of(statistics, ends[1])};
    char common[2][ADDRESS_SIZE];
    int result = 0;

    for (int i = 0; i < 2; i++) {
        end_address(records[i], records[1 - i], addresses[i]);
        strcpy(common[i], addresses[i]);
    }
    keep_common(like->kind, common[0], common[1]);
    for (int i = 0; result == 0 && i < 2; i++) {
        const void *kept;
        result = keep(rows, only_known, common[i], strlen(common[i]) + 1, &kept);
        like->addresses[i] = kept;
    }
    return result;
}

int connection_name(struct communication *rows, struct connection *connection,
                    char addresses[2][ADDRESS_SIZE])
{
    connection->sums.local = communication_keep_text(rows, addresses[0]);
    connection->sums.remote = communication_keep_text(rows, addresses[1]);
    return connection->sums.local == NULL || connection->sums.remote == NULL ? -ENOMEM : 0;
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

/* Whether the unmonitored other end is on the same machine. */
static bool peer_is_local(const struct statistics *statistics, const struct endpoint *end)
{
    const struct path_record *record = record_of(statistics, end);
    const struct machine_record *machine = identities_machine(statistics->identities, end->origin);
    uint8_t local[16];
    uint8_t remote[16];

    if (!kind_is_internet(record->kind))
        return true;
    long_address(record->family, record->local, local);
    long_address(record->family, record->remote, remote);
    return is_loopback(remote) || memcmp(local, remote, sizeof(local)) == 0 ||
           (machine != NULL && has_address(machine, remote));
}

static bool is_local_connection(const struct statistics *statistics,
                                const struct endpoint *const ends[2])
{
    if (ends[0] == NULL || ends[1] == NULL)
        return peer_is_local(statistics, ends[0] == NULL ? ends[1] : ends[0]);
    return machine_key(statistics, ends[0]->origin) == machine_key(statistics, ends[1]->origin);
}

/* ---- traffic from one end to the other ---- */

static bool counts_by_sends(const struct statistics *statistics, const struct endpoint *end)
{
    return end != NULL && end->usages != NULL && endpoint_sends_are_metered(statistics, end);
}

/* The traffic sent by end `i`. */
static struct traffic sum_direction(const struct connection *connection, int i)
{
    bool by_sends = connection->like.by_sends[i];
    struct traffic sum = {0};

    for (const struct usage *usage = connection->usages[by_sends ? i : 1 - i]; usage != NULL;
         usage = usage->next)
        add_traffic(&sum, by_sends ? &usage->sent : &usage->received);
    for (const struct usage *usage = connection->usages[1 - i]; by_sends && usage != NULL;
         usage = usage->next)
        add_traffic(&sum, &usage->unselected);
    return sum;
}

#define FEW_HOLDERS 16

/* The party of an end: the processes that have used it. */
static int list_holders(struct communication *rows, const struct usage *first, bool only_known,
                        const uint32_t **ret_processes, uint32_t *ret_count)
{
    uint32_t few[FEW_HOLDERS], count = 0;
    const void *kept = NULL;
    int result = 0;

    for (const struct usage *usage = first; usage != NULL; usage = usage->next)
        count++;
    uint32_t *holders = count <= FEW_HOLDERS ? few : calloc(count, sizeof(*holders));
    if (holders == NULL)
        return -ENOMEM;
    uint32_t *at = holders;
    for (const struct usage *usage = first; usage != NULL; usage = usage->next)
        *at++ = usage->process;
    *ret_count = sort_numbers(holders, count);
    if (count > 0)
        result = keep(rows, only_known, holders, *ret_count * sizeof(*holders), &kept);
    *ret_processes = kept;
    if (holders != few)
        free(holders);
    return result;
}

/* ---- queues ---- */

/* Since when no process can receive from an end: it was closed, or all its users have ended. 0: one still can. */
static uint64_t closed_since(const struct statistics *statistics, const struct endpoint *end)
{
    uint64_t last = 0;

    if (end->closed != 0)
        return end->closed;
    for (const struct usage *usage = end->usages; usage != NULL; usage = usage->next) {
        const struct process_state *process = &statistics->processes.states[usage->process];
        if (process->living > 0)
            return 0;
        if (process->ended_at > last)
            last = process->ended_at;
    }
    return last;
}

/* The time of the latest event of all origins, by the clock of this one. */
static uint64_t latest_time(const struct statistics *statistics, uint32_t origin)
{
    uint64_t latest = 0;

    for (uint32_t i = 0; i < statistics->origin_count; i++) {
        const struct statistics_origin *other = &statistics->origins[i];
        uint64_t time = CLOCK_BASE + other->last_event + clock_offset(statistics, i);
        if (other->seen && time > latest)
            latest = time;
    }
    return latest - CLOCK_BASE - clock_offset(statistics, origin);
}

/* Messages left in a queue wait until its receiver's end is closed. */
static void add_queue_row(const struct statistics *statistics, struct communication *rows,
                          const struct queue *queue, const struct endpoint *receiver,
                          struct communication_path *sums)
{
    struct queue_length length;

    if (!queue->begun)
        return;
    uint64_t closed = closed_since(statistics, receiver);
    uint64_t now = closed != 0 || queue->length.messages == 0
                       ? closed
                       : latest_time(statistics, receiver->origin);
    queue_result(statistics, queue, now, closed != 0, rows, &length);
    add_queue(&sums->queue, &length);
}

static bool has_rules(const struct statistics *statistics, const struct endpoint *end)
{
    return statistics->origins[end->origin].recorded.rules > 0;
}

/* Whether every message that this end takes leaves its queue: after selection rules, any RECEIVE may be missing. */
static bool knows_queue(const struct statistics *statistics, const struct endpoint *end)
{
    return endpoint_receives_are_metered(statistics, end) && !has_rules(statistics, end);
}

/* Adds up both ends. Whether an unmonitored peer has received its messages is unknown. */
static void sum_ends(const struct statistics *statistics, struct communication *rows,
                     struct endpoint *const ends[2], struct communication_path *sums)
{
    for (int i = 0; i < 2; i++) {
        const struct endpoint *end = ends[i], *other = ends[1 - i];
        if (end == NULL || (i == 1 && other == end))
            continue;
        sums->queue.unknown = sums->queue.unknown || has_rules(statistics, end);
        if (other != NULL && knows_queue(statistics, other))
            add_queue_row(statistics, rows, &end->queue, other, sums);
        if (knows_queue(statistics, end) && end->strangers != NULL)
            add_queue_row(statistics, rows, &end->strangers->queue, end, sums);
        sums->dropped += end->dropped;
        sums->refused += end->refused;
        sums->duplicates += end->duplicates;
        add_network(&sums->network, &end->network);
        add_held(i == 0 ? &sums->held_sent : &sums->held_received, &end->queue.nagle.held);
    }
}

/* Pipes are often made only to be inherited or to show an end, and datagram sockets need no connection. */
static bool is_unused(const struct communication_path *sums)
{
    return (sums->kind == PATH_TCP || sums->kind == PATH_UNIX_STREAM ||
            sums->kind == PATH_UNIX_SEQPACKET) &&
           sums->sent.messages + sums->received.messages == 0;
}

static void add_to_totals(struct communication *rows, const struct communication_path *sums,
                          bool local)
{
    struct traffic *traffic = local ? &rows->local : &rows->remote;

    add_traffic(traffic, &sums->sent);
    add_traffic(traffic, &sums->received);
    rows->dropped += sums->dropped;
    rows->refused += sums->refused;
    rows->duplicates += sums->duplicates;
    rows->connections++;
    rows->ended += sums->ended;
    rows->unused += is_unused(sums);
}

/* ---- what is to be counted ---- */

/* An unmonitored end (NULL) counts as closed, since its end is not recorded. */
static bool is_closed(const struct endpoint *end)
{
    return end == NULL || end->closed != 0;
}

int connection_describe(const struct statistics *statistics, struct communication *rows,
                        struct endpoint *const ends[2], enum keeping keeping,
                        struct connection *ret_connection, char addresses[2][ADDRESS_SIZE])
{
    const struct endpoint *known = ends[0] != NULL ? ends[0] : ends[1];
    struct connection *connection = ret_connection;
    struct like *like = &connection->like;

    memset(connection, 0, sizeof(*connection));
    connection->sums.kind = like->kind = known->kind;
    connection->sums.number = known->number;
    connection->sums.connections = 1;
    connection->sums.ended = is_closed(ends[0]) && is_closed(ends[1]);
    like->local = is_local_connection(statistics, (const struct endpoint *const *)ends);
    like->to_itself = ends[0] == ends[1];
    for (int i = 0; i < 2; i++) {
        connection->usages[i] = ends[i] == NULL ? NULL : ends[i]->usages;
        like->by_sends[i] = counts_by_sends(statistics, ends[i]);
        if (list_holders(rows, connection->usages[i], keeping == KEEP_NOTHING, &like->processes[i],
                         &like->counts[i]) < 0)
            return -ENOMEM;
    }
    if (note_addresses(statistics, rows, ends, keeping != KEEP_ALL, like, addresses) < 0)
        return -ENOMEM;
    sum_ends(statistics, rows, ends, &connection->sums);
    connection->sums.sent = sum_direction(connection, 0);
    if (!like->to_itself)
        connection->sums.received = sum_direction(connection, 1);
    add_to_totals(rows, &connection->sums, like->local);
    return 0;
}

/* ---- the counts of its usages ---- */

static int add_most(const struct usage *usage, enum value_kind kind, struct histogram *histogram,
                    unsigned most)
{
    int result = usage_values_add_to(usage, kind, histogram, most);

    return result < 0 ? result : messages_add_open(usage, kind, histogram, most);
}

/* Adds the values to a row's histogram, with few buckets since there are many rows. */
static int add_values(const struct usage *usage, enum value_kind kind, struct histogram *histogram)
{
    return add_most(usage, kind, histogram, USAGE_BUCKETS);
}

static int add_all_times(const struct usage *usage, struct times *times, unsigned most)
{
    int result = 0;

    for (enum value_kind kind = VALUE_ANSWER; result == 0 && kind < VALUE_KINDS; kind++)
        result = add_most(usage, kind, &times->of[time_kind_of(usage, kind)], most);
    return result;
}

static int add_to_process(struct communication *rows, const struct usage *usage)
{
    struct communication_process *row = &rows->processes[usage->process];
    int result = add_most(usage, VALUE_SENT, &row->sizes, HISTOGRAM_MOST);

    add_traffic(&row->sent, &usage->sent);
    add_traffic(&row->received, &usage->received);
    add_asked(&row->asked, &usage->asked);
    return result < 0 ? result : add_all_times(usage, &row->times, HISTOGRAM_MOST);
}

int usages_add_to_processes(struct communication *rows, const struct usage *first,
                            struct times *times, struct request_parts *asked)
{
    int result = 0;

    for (const struct usage *usage = first; result == 0 && usage != NULL; usage = usage->next) {
        result = add_to_process(rows, usage);
        if (result == 0 && times != NULL)
            result = add_all_times(usage, times, USAGE_BUCKETS);
        if (asked != NULL)
            add_asked(asked, &usage->asked);
    }
    return result;
}

/* Adds the waits of a receiver, and of the messages that it took. */
static int add_waits(struct communication_pair *pair, const struct usage *receiver)
{
    static const enum value_kind kinds[] = {VALUE_MESSAGE_WAIT, VALUE_RECEIVER_WAIT,
                                            VALUE_DELIVERY};
    int result = 0;

    for (size_t i = 0; result == 0 && i < ARRAY_SIZE(kinds); i++)
        result = add_values(receiver, kinds[i], &pair->times.of[time_kind_of(receiver, kinds[i])]);
    return result;
}

static int add_pair(struct communication *rows, const struct party *from, const struct party *to,
                    const struct usage *usage, enum value_kind kind, bool local)
{
    const struct traffic *sent = kind == VALUE_SENT ? &usage->sent : &usage->received;

    if (!has_any(sent))
        return 0;
    struct communication_pair *pair = communication_pair(rows, from, to);
    if (pair == NULL)
        return -ENOMEM;
    add_traffic(&pair->sent, sent);
    pair->local = pair->local && local;
    int result = add_values(usage, kind, &pair->sizes);
    if (result < 0 || kind != VALUE_SENT)
        return result < 0 ? result : add_waits(pair, usage);
    return add_values(usage, VALUE_SENDER_BLOCKED, &pair->times.of[TIME_SENDER_BLOCKED]);
}

/* A party of one process. Its list is NULL: out of memory. */
static struct party party_of(struct communication *rows, uint32_t process)
{
    return (struct party){
        .processes = communication_keep(rows, &process, sizeof(process)),
        .count = 1,
    };
}

void connection_note_senders(const struct connection *connection, uint32_t senders[2])
{
    for (int i = 0; i < 2; i++)
        for (const struct usage *usage = connection->usages[i]; usage != NULL; usage = usage->next)
            if (has_any(&usage->sent))
                senders[i] = senders[i] == NO_PROCESS || senders[i] == usage->process
                                 ? usage->process
                                 : SEVERAL_PROCESSES;
}

/* Adds the receivers' waits to a pair with a single sender. With several senders, no single one caused them. */
static int add_waits_of_receivers(struct communication *rows, uint32_t sender,
                                  const struct usage *first, const struct party *receivers)
{
    int result = 0;

    if (sender == NO_PROCESS || sender == SEVERAL_PROCESSES || first == NULL)
        return 0;
    struct party user = party_of(rows, sender);
    struct communication_pair *pair =
        user.processes == NULL ? NULL : communication_pair(rows, &user, receivers);
    if (pair == NULL)
        return -ENOMEM;
    for (const struct usage *usage = first; result == 0 && usage != NULL; usage = usage->next)
        result = add_waits(pair, usage);
    return result;
}

/* Adds what arrived although its SENDs were removed by a selection. Which process sent it is known if only one uses that end. */
static int add_unselected(struct communication *rows, const struct usage *first,
                          const struct party *from, const struct party *to, bool local,
                          struct histogram *sizes)
{
    int result = 0;

    for (const struct usage *usage = first; result == 0 && usage != NULL; usage = usage->next) {
        if (!has_any(&usage->unselected))
            continue;
        struct communication_pair *pair = communication_pair(rows, from, to);
        if (pair == NULL)
            return -ENOMEM;
        add_traffic(&pair->sent, &usage->unselected);
        pair->local = pair->local && local;
        result = add_values(usage, VALUE_RECEIVED, sizes);
        if (result == 0)
            result = add_values(usage, VALUE_RECEIVED, &pair->sizes);
    }
    return result;
}

/* Adds the traffic from end `from` to the other end. */
static int add_direction(struct communication *rows, const struct connection *connection, int from,
                         uint32_t sender, const struct party parties[2], struct histogram *sizes)
{
    const struct like *like = &connection->like;
    bool by_sends = like->by_sends[from];
    enum value_kind kind = by_sends ? VALUE_SENT : VALUE_RECEIVED;
    int result = 0;

    for (const struct usage *usage = connection->usages[by_sends ? from : 1 - from];
         result == 0 && usage != NULL; usage = usage->next) {
        struct party user = party_of(rows, usage->process);
        if (user.processes == NULL)
            return -ENOMEM;
        result = add_values(usage, kind, sizes);
        if (result == 0)
            result = add_pair(rows, by_sends ? &user : &parties[from],
                              by_sends ? &parties[1 - from] : &user, usage, kind, like->local);
    }
    if (result == 0 && by_sends)
        result = add_unselected(rows, connection->usages[1 - from], &parties[from],
                                &parties[1 - from], like->local, sizes);
    return result < 0 || !by_sends
               ? result
               : add_waits_of_receivers(rows, sender, connection->usages[1 - from],
                                        &parties[1 - from]);
}

static int add_open_answers(struct communication_path *path, const struct usage *first)
{
    int result = 0;

    for (const struct usage *usage = first; result == 0 && usage != NULL; usage = usage->next)
        result = answers_add_open(
            usage, usage->serves ? &path->open_responses : &path->open_requests, USAGE_BUCKETS);
    return result;
}

int connection_add(struct communication *rows, const struct connection *connection,
                   const uint32_t senders[2], struct communication_path *path)
{
    const char *addresses[] = {path->local, path->remote};
    int ends = connection->like.to_itself ? 1 : 2, result = 0;
    struct party parties[2];

    for (int i = 0; i < 2; i++) {
        parties[i] = path->ends[i];
        if (parties[i].count == 0) {
            parties[i].address = addresses[i];
            parties[i].common = connection->like.addresses[i];
        }
    }
    for (int i = 0; result == 0 && i < ends; i++)
        result = usages_add_to_processes(rows, connection->usages[i], &path->times, &path->asked);
    for (int i = 0; result == 0 && i < ends; i++)
        result = add_open_answers(path, connection->usages[i]);
    for (int i = 0; result == 0 && i < ends; i++)
        result = add_direction(rows, connection, i, senders[i], parties, &path->sizes);
    return result;
}
