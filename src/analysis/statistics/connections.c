/* SPDX-License-Identifier: MIT */
/*
 * connections.c: what is to be counted of a connection, and adds it to its row, its pairs and its processes.
 * See connections.h.
 *
 *      path 4  client's socket  uses: client 3 sends            \  one connection
 *      path 5  server's socket  uses: worker 1, worker 2 receive /
 *
 *      paths:  client's address > server's address, ends {client}, {worker 1, worker 2}
 *      pairs:  client > {worker 1, worker 2}, shared: 3
 *              worker 1 > client ... (each process that sends is known)
 */
#include "analysis/statistics/connections.h"
#include "analysis/statistics/queues.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* One end of a connection: its path, or none if that end was not metered. */
struct connection_end {
    uint32_t path; /* index into paths, or NO_END */
    struct path_end end;
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
    switch (path_at(statistics, end->path)->role) {
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
    const struct statistics_path *a = path_at(statistics, end->path);
    const struct statistics_path *b = path_at(statistics, other->path);
    return a->origin != b->origin ? a->origin < b->origin : a->number <= b->number;
}

/* The address of an end in the words of the end that knows it best: a UNIX socket without a name
 * may be known to its peer by one. */
static void end_address(const struct connection_end *mine, const struct connection_end *other,
                        char text[ENDPOINT_SIZE])
{
    const struct path_record *own = mine->end.record;
    const struct path_record *peer = other->end.record;

    if (own != NULL && (own->family != AF_UNIX || own->name_end == PATH_NAME_LOCAL ||
                        peer == NULL || peer->name_end != PATH_NAME_REMOTE))
        endpoint_local(own, text);
    else
        endpoint_remote(peer, text);
}

static uint32_t first_use(const struct statistics *statistics, uint32_t path)
{
    return path == NO_END ? 0 : path_at(statistics, path)->first_use;
}

/* A party of processes, which are in order. NULL in it: out of memory. */
static struct party party_of(struct communication *rows, const uint32_t *processes, uint32_t count)
{
    return (struct party){
        .processes = communication_keep(rows, processes, count * sizeof(*processes)),
        .count = count,
    };
}

static uint32_t count_uses(const struct statistics *statistics, uint32_t first)
{
    uint32_t count = 0;

    for (const struct statistics_use *use = use_at(statistics, first); use != NULL;
         use = next_use(statistics, use))
        count++;
    return count;
}

#define FEW_HOLDERS 16

/* The processes that used an end are its party. */
static int list_holders(const struct statistics *statistics, struct communication *rows,
                        uint32_t first, struct party *ret_party)
{
    uint32_t count = count_uses(statistics, first);
    uint32_t few[FEW_HOLDERS];
    uint32_t *holders = count <= FEW_HOLDERS ? few : calloc(count, sizeof(*holders));
    uint32_t *at = holders;

    if (holders == NULL)
        return -ENOMEM;
    for (const struct statistics_use *use = use_at(statistics, first); use != NULL;
         use = next_use(statistics, use))
        *at++ = use->process;
    *ret_party = party_of(rows, holders, sort_numbers(holders, count));
    if (holders != few)
        free(holders);
    return ret_party->processes == NULL ? -ENOMEM : 0;
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
        identities_machine(statistics->identities, path_at(statistics, end->path)->origin);
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
                                const struct connection_end ends[2])
{
    if (ends[0].path == NO_END)
        return peer_is_local(statistics, &ends[1]);
    if (ends[1].path == NO_END)
        return peer_is_local(statistics, &ends[0]);
    return ends[0].end.machine == ends[1].end.machine;
}

/* ---- what went from one end to the other ---- */

static bool counts_by_sends(const struct statistics *statistics, uint32_t path)
{
    return first_use(statistics, path) != 0 && sends_are_metered(statistics, path);
}

static void sum_direction(const struct statistics *statistics, uint32_t first, bool by_sends,
                          struct traffic *sum)
{
    for (const struct statistics_use *use = use_at(statistics, first); use != NULL;
         use = next_use(statistics, use))
        add_traffic(sum, by_sends ? &use->sent : &use->received);
}

/* *there: what the local end has sent to the remote one. */
static void sum_directions(const struct statistics *statistics, const uint32_t paths[2],
                           struct traffic *there, struct traffic *back)
{
    for (int i = 0; i < (paths[0] == paths[1] ? 1 : 2); i++) {
        bool by_sends = counts_by_sends(statistics, paths[i]);
        uint32_t first = first_use(statistics, by_sends ? paths[i] : paths[1 - i]);
        sum_direction(statistics, first, by_sends, i == 0 ? there : back);
    }
}

struct traffic connection_traffic(const struct statistics *statistics, const uint32_t paths[2])
{
    struct traffic sum = {0};

    sum_directions(statistics, paths, &sum, &sum);
    return sum;
}

/* ---- which paths are a connection ---- */

/* A UDP socket while it waited for anybody: nobody talked to anybody on this path. */
static bool is_idle_without_peer(const struct statistics *statistics, uint32_t path)
{
    const struct path_record *record = joiner_end(&statistics->joiner, path).record;

    return record->kind == PATH_UDP && record->remote_port == 0 &&
           path_at(statistics, path)->messages == 0;
}

enum path_part connection_of(const struct statistics *statistics, uint32_t path,
                             uint32_t ret_paths[2])
{
    if (!path_at(statistics, path)->known || is_idle_without_peer(statistics, path))
        return PART_NONE;
    struct connection_end mine = connection_end(statistics, path);
    struct connection_end other = connection_end(statistics, mine.end.partner);
    bool is_local = is_local_end(statistics, &mine, &other);
    ret_paths[0] = is_local ? mine.path : other.path;
    ret_paths[1] = is_local ? other.path : mine.path;
    return is_local || other.path == NO_END ? PART_FIRST : PART_OTHER;
}

/* ---- what is to be counted ---- */

/* Whether an end is closed; one that is not metered does not say. */
static bool is_closed(const struct connection_end *end)
{
    return end->path == NO_END || end->end.destroyed;
}

/* Since when nobody receives from an end: it was closed, or all who have used it have ended, which is all that is
 * told of pipes. 0: somebody may. */
static uint64_t closed_since(const struct statistics *statistics, uint32_t index)
{
    const struct statistics_path *path = path_at(statistics, index);
    uint64_t last = 0;

    if (path->closed != 0)
        return path->closed;
    for (const struct statistics_use *use = use_at(statistics, path->first_use); use != NULL;
         use = next_use(statistics, use)) {
        const struct statistics_process *process = &statistics->processes[use->process];
        if (!process->ended)
            return 0;
        if (process->ended_at > last)
            last = process->ended_at;
    }
    return last;
}

/* What is left in a queue waits until its receiver's end is closed. What never was received is no process's
 * any more when its path leaves. */
static void add_queue_row(const struct statistics *statistics, struct communication *rows,
                          uint32_t index_and_1, uint64_t closed, struct communication_path *sums)
{
    const struct queue *queue = queue_at(statistics, index_and_1);
    struct queue_length length;

    if (queue == NULL)
        return;
    queue_result(queue, closed != 0 ? closed : statistics->latest_time, &length);
    if (closed != 0)
        length.messages = length.bytes = 0;
    add_queue(&sums->queue, &length);
    if (queue->owner == NO_PROCESS)
        return;
    struct queue_length *of_owner = &rows->processes[queue->owner].queue;
    of_owner->wait += length.wait - queue->length.wait;
    of_owner->unreceived += length.unreceived;
    if (closed != 0)
        queue_is_over(queue, of_owner);
}

/* What both ends have counted. */
static void sum_ends(const struct statistics *statistics, struct communication *rows,
                     const uint32_t paths[2], struct communication_path *sums)
{
    for (int i = 0; i < 2; i++) {
        if (paths[i] == NO_END || (i == 1 && paths[1] == paths[0]))
            continue;
        const struct statistics_path *mine = path_at(statistics, paths[i]);
        const struct path_told *told = told_of(statistics, mine);
        /* whether somebody who is not metered has received what was sent nobody knows */
        if (paths[1 - i] != NO_END && receives_are_told(statistics, paths[1 - i]))
            add_queue_row(statistics, rows, mine->outgoing, closed_since(statistics, paths[1 - i]),
                          sums);
        if (receives_are_told(statistics, paths[i]))
            add_queue_row(statistics, rows, mine->incoming, closed_since(statistics, paths[i]),
                          sums);
        sums->dropped += told == NULL ? 0 : told->dropped;
        sums->duplicates += mine->duplicates;
        sums->reused = sums->reused || mine->reuses;
        if (told != NULL)
            add_network(&sums->network, &told->network);
    }
}

static void add_to_totals(struct communication *rows, const struct communication_path *sums,
                          bool local)
{
    struct traffic *traffic = local ? &rows->local : &rows->remote;

    add_traffic(traffic, &sums->sent);
    add_traffic(traffic, &sums->received);
    rows->dropped += sums->dropped;
    rows->duplicates += sums->duplicates;
    rows->connections++;
    rows->ended += sums->ended;
    rows->reused += sums->reused;
}

int describe_connection(const struct statistics *statistics, struct communication *rows,
                        const uint32_t paths[2], struct connection *ret_connection,
                        char addresses[2][ADDRESS_SIZE])
{
    const struct connection_end ends[2] = {connection_end(statistics, paths[0]),
                                           connection_end(statistics, paths[1])};
    const struct connection_end *known = paths[0] != NO_END ? &ends[0] : &ends[1];
    struct connection connection = {
        .sums = {.kind = known->end.record->kind,
                 .number = path_at(statistics, known->path)->number,
                 .connections = 1,
                 .ended = is_closed(&ends[0]) && is_closed(&ends[1])},
        .local = is_local_connection(statistics, ends),
        .to_itself = paths[0] == paths[1],
    };

    for (int i = 0; i < 2; i++) {
        connection.first_use[i] = first_use(statistics, paths[i]);
        connection.by_sends[i] = counts_by_sends(statistics, paths[i]);
        end_address(&ends[i], &ends[1 - i], addresses[i]);
        if (list_holders(statistics, rows, connection.first_use[i], &connection.sums.ends[i]) < 0)
            return -ENOMEM;
    }
    sum_ends(statistics, rows, paths, &connection.sums);
    sum_directions(statistics, paths, &connection.sums.sent, &connection.sums.received);
    add_to_totals(rows, &connection.sums, connection.local);
    *ret_connection = connection;
    return 0;
}

int name_connection(struct communication *rows, struct connection *connection, const char *local,
                    const char *remote)
{
    struct communication_path *sums = &connection->sums;

    sums->local = communication_keep_text(rows, local);
    sums->remote = communication_keep_text(rows, remote);
    for (int i = 0; i < 2; i++) {
        connection->parties[i] = sums->ends[i];
        if (sums->ends[i].count == 0)
            connection->parties[i].address = i == 0 ? sums->local : sums->remote;
    }
    return sums->local == NULL || sums->remote == NULL ? -ENOMEM : 0;
}

/* ---- what its uses have counted ---- */

/* Its times are counted for the process already, but for the latest. */
static int add_to_process(const struct statistics *statistics, struct communication *rows,
                          const struct statistics_use *use)
{
    struct communication_process *row = &rows->processes[use->process];
    int result;

    add_traffic(&row->sent, &use->sent);
    add_traffic(&row->received, &use->received);
    result = statistics_add_values(statistics, use, VALUE_SENT, &row->sizes, HISTOGRAM_MOST);
    for (enum value_kind kind = VALUE_ANSWER; result == 0 && kind < VALUE_KINDS; kind++)
        result = statistics_add_latest(statistics, use, kind, times_of(&row->times, use, kind),
                                       HISTOGRAM_MOST);
    return result;
}

static int add_times_of(const struct statistics *statistics, const struct statistics_use *use,
                        struct times *times)
{
    int result = 0;

    for (enum value_kind kind = VALUE_ANSWER; result == 0 && kind < VALUE_KINDS; kind++)
        result = statistics_add_values(statistics, use, kind, times_of(times, use, kind),
                                       HISTOGRAM_MOST);
    return result;
}

/* How long what a receiver took has waited, and he for it. */
static int add_waits(const struct statistics *statistics, struct communication_pair *pair,
                     const struct statistics_use *receiver)
{
    static const enum value_kind kinds[] = {VALUE_MESSAGE_WAIT, VALUE_RECEIVER_WAIT,
                                            VALUE_DELIVERY};
    int result = 0;

    for (size_t i = 0; result == 0 && i < ARRAY_SIZE(kinds); i++)
        result = statistics_add_values(statistics, receiver, kinds[i],
                                       times_of(&pair->times, receiver, kinds[i]), HISTOGRAM_MOST);
    return result;
}

static int add_pair(const struct statistics *statistics, struct communication *rows,
                    const struct party *from, const struct party *to,
                    const struct statistics_use *use, enum value_kind kind, bool local)
{
    const struct traffic *sent = kind == VALUE_SENT ? &use->sent : &use->received;

    if (sent->messages == 0 && sent->bytes == 0)
        return 0;
    struct communication_pair *pair = communication_pair(rows, from, to);
    if (pair == NULL)
        return -ENOMEM;
    add_traffic(&pair->sent, sent);
    pair->local = pair->local && local;
    int result = statistics_add_values(statistics, use, kind, &pair->sizes, HISTOGRAM_MOST);
    if (result < 0 || kind != VALUE_SENT)
        return result < 0 ? result : add_waits(statistics, pair, use);
    return statistics_add_values(statistics, use, VALUE_SENDER_BLOCKED,
                                 times_of(&pair->times, use, VALUE_SENDER_BLOCKED), HISTOGRAM_MOST);
}

static bool sends(const struct statistics_use *use)
{
    return use->sent.messages > 0 || use->sent.bytes > 0;
}

/* The only process that has sent; NULL: nobody, or several. */
static const struct statistics_use *only_sender(const struct statistics *statistics, uint32_t first)
{
    const struct statistics_use *sender = NULL;

    for (const struct statistics_use *use = use_at(statistics, first); use != NULL;
         use = next_use(statistics, use)) {
        if (!sends(use))
            continue;
        if (sender != NULL && sender->process != use->process)
            return NULL;
        sender = use;
    }
    return sender;
}

/* What one process has sent took its receivers so long. Of several senders that is nobody's own. */
static int add_waits_of_receivers(const struct statistics *statistics, struct communication *rows,
                                  const struct connection *connection, int from)
{
    const struct statistics_use *sender = only_sender(statistics, connection->first_use[from]);
    uint32_t first = connection->first_use[1 - from];
    int result = 0;

    if (sender == NULL || first == 0)
        return 0;
    struct party user = party_of(rows, &sender->process, 1);
    struct communication_pair *pair =
        user.processes == NULL ? NULL
                               : communication_pair(rows, &user, &connection->parties[1 - from]);
    if (pair == NULL)
        return -ENOMEM;
    for (const struct statistics_use *use = use_at(statistics, first); result == 0 && use != NULL;
         use = next_use(statistics, use))
        result = add_waits(statistics, pair, use);
    return result;
}

/* What end `from` has sent to the other one. */
static int add_direction(const struct statistics *statistics, struct communication *rows,
                         const struct connection *connection, int from, struct histogram *sizes)
{
    bool by_sends = connection->by_sends[from];
    enum value_kind kind = by_sends ? VALUE_SENT : VALUE_RECEIVED;
    uint32_t first = connection->first_use[by_sends ? from : 1 - from];
    int result = 0;

    for (const struct statistics_use *use = use_at(statistics, first); result == 0 && use != NULL;
         use = next_use(statistics, use)) {
        struct party user = party_of(rows, &use->process, 1);
        if (user.processes == NULL)
            return -ENOMEM;
        result = statistics_add_values(statistics, use, kind, sizes, HISTOGRAM_MOST);
        if (result == 0)
            result = add_pair(statistics, rows, by_sends ? &user : &connection->parties[from],
                              by_sends ? &connection->parties[1 - from] : &user, use, kind,
                              connection->local);
    }
    return result < 0 || !by_sends ? result
                                   : add_waits_of_receivers(statistics, rows, connection, from);
}

static int add_uses(const struct statistics *statistics, struct communication *rows, uint32_t first,
                    struct times *times)
{
    int result = 0;

    for (const struct statistics_use *use = use_at(statistics, first); result == 0 && use != NULL;
         use = next_use(statistics, use)) {
        result = add_to_process(statistics, rows, use);
        if (result == 0 && times != NULL)
            result = add_times_of(statistics, use, times);
    }
    return result;
}

int add_connection(const struct statistics *statistics, struct communication *rows,
                   const struct connection *connection, struct communication_path *path)
{
    int ends = connection->to_itself ? 1 : 2;
    int result = 0;

    for (int i = 0; result == 0 && i < ends; i++)
        result = add_uses(statistics, rows, connection->first_use[i], &path->times);
    for (int i = 0; result == 0 && i < ends; i++)
        result = add_direction(statistics, rows, connection, i, &path->sizes);
    return result;
}

int add_path_alone(const struct statistics *statistics, struct communication *rows, uint32_t path)
{
    const struct statistics_path *alone = path_at(statistics, path);
    const struct path_told *told = told_of(statistics, alone);

    if (!alone->known) {
        rows->unknown_paths += alone->messages;
        rows->dropped += told == NULL ? 0 : told->dropped;
    }
    return add_uses(statistics, rows, alone->first_use, NULL);
}
