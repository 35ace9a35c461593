/* SPDX-License-Identifier: MIT */
/*
 * statistics_test.c: the communication statistics against a second, naive implementation on random recordings, and on
 * small recordings with known results.
 *
 *      random records --> a source per origin --> history --> communication_read_history --> lines --+
 *                                                     |                                        equal? +
 *           in the order of the causal stream <-------'--> naive_lines (scans them repeatedly) -------+
 */
#include "analysis/statistics/files.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/statistics_state.h"

#include "communication_lines.h"
#include "seeded.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

/* ---- a recording in memory ---- */

union any_record {
    struct record_header header;
    struct record event;
    struct stream_record stream;
    struct path_record path;
    struct image_record image;
    struct name_record name;
    struct machine_record machine;
    struct end_record end;
};

#define MAX_RECORDS 900
#define MAX_ORIGINS 3

#define MAX_STREAMS 10

/* The records of one origin. */
struct tape {
    struct source source; /* first: next() casts back */
    struct recording *recording;
    uint32_t origin;
    int64_t wall_offset;
    size_t at;
};

struct recording {
    struct tape tapes[MAX_ORIGINS];
    struct source_state states[MAX_ORIGINS];
    union any_record records[MAX_RECORDS];
    uint32_t origin_of[MAX_RECORDS];
    uint32_t sequences[MAX_ORIGINS][MAX_STREAMS];
    uint32_t origins;
    size_t count;
};

static int tape_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                     struct problem *problem)
{
    struct tape *tape = (struct tape *)source;
    const struct recording *recording = tape->recording;

    (void)ret_complete;
    (void)problem;
    while (tape->at < recording->count && recording->origin_of[tape->at] != tape->origin)
        tape->at++;
    if (tape->at == recording->count)
        return SOURCE_END;
    ret_event->header = &recording->records[tape->at++].header;
    ret_event->origin = 0;
    ret_event->wall_offset = tape->wall_offset;
    return SOURCE_RECORD;
}

static void recording_begin(struct recording *recording, uint32_t origins)
{
    memset(recording, 0, sizeof(*recording));
    recording->origins = origins;
    for (uint32_t i = 0; i < origins; i++) {
        struct source source = {tape_next, 1, &recording->states[i]};
        recording->tapes[i] = (struct tape){
            .source = source, .recording = recording, .origin = i, .wall_offset = 1000};
    }
}

/* Rewinds all sources to their first records. */
static void begin_tapes(struct recording *recording, struct source *sources[MAX_ORIGINS])
{
    for (uint32_t i = 0; i < recording->origins; i++) {
        recording->tapes[i].at = 0;
        sources[i] = &recording->tapes[i].source;
    }
}

static struct history *new_history(struct recording *recording)
{
    struct source *sources[MAX_ORIGINS];
    struct history *history;
    struct problem problem;

    begin_tapes(recording, sources);
    assert_int_equal(history_new(sources, recording->origins, &history, &problem), 0);
    return history;
}

/* Sorts the records into the causal stream, the order in which the statistics read them. */
static void put_in_order(struct recording *recording)
{
    struct recording *ordered = malloc(sizeof(*ordered));
    struct history *history = new_history(recording);
    struct history_event event;
    struct problem problem;

    assert_non_null(ordered);
    memcpy(ordered, recording, sizeof(*ordered));
    for (size_t i = 0; i < recording->count; i++) {
        assert_int_equal(history_next(history, &event, &problem), SOURCE_RECORD);
        memset(&ordered->records[i], 0, sizeof(ordered->records[i]));
        memcpy(&ordered->records[i], event.event.header, event_size(event.event.header->id));
        ordered->origin_of[i] = event.event.origin;
    }
    assert_int_equal(history_next(history, &event, &problem), SOURCE_END);
    history_free(history);
    memcpy(recording->records, ordered->records, sizeof(recording->records));
    memcpy(recording->origin_of, ordered->origin_of, sizeof(recording->origin_of));
    free(ordered);
}

/* Adds a record with its type set; the caller fills in the rest. */
static union any_record *add(struct recording *recording, uint32_t origin, enum event_id id,
                             uint32_t stream)
{
    assert_true(recording->count < MAX_RECORDS);
    recording->origin_of[recording->count] = origin;
    union any_record *record = &recording->records[recording->count++];
    record->header.id = (uint8_t)id;
    record->header.time = recording->count * 10;
    record->header.stream = stream;
    if (event_size(id) == sizeof(struct record) && stream < MAX_STREAMS)
        record->header.sequence = recording->sequences[origin][stream]++;
    return record;
}

static void add_machine(struct recording *recording, uint32_t origin, uint8_t identity)
{
    union any_record *record = add(recording, origin, EVENT_MACHINE, 0);

    memset(record->machine.machine_id, identity, sizeof(record->machine.machine_id));
    snprintf(record->machine.name, sizeof(record->machine.name), "host");
    snprintf(record->machine.addresses, sizeof(record->machine.addresses), "fd00::1 10.0.0.%d",
             identity);
}

static void add_stream(struct recording *recording, uint32_t origin, uint32_t stream,
                       uint32_t process, uint32_t parent)
{
    union any_record *record = add(recording, origin, EVENT_STREAM, stream);

    record->stream.pid = 1000 + process;
    record->stream.tid = 1000 + stream;
    record->stream.process = process;
    record->stream.parent = parent;
    snprintf(record->stream.name, sizeof(record->stream.name), "p%u", stream);
}

static struct record *add_message(struct recording *recording, uint32_t origin, enum event_id id,
                                  uint32_t stream, uint32_t path, uint32_t bytes)
{
    struct record *record = &add(recording, origin, id, stream)->event;

    record->message.path = path;
    record->message.bytes = bytes;
    return record;
}

static struct path_record *add_tcp(struct recording *recording, uint32_t origin, uint32_t path,
                                   unsigned local_host, unsigned local_port, unsigned remote_host,
                                   unsigned remote_port)
{
    struct path_record *record = &add(recording, origin, EVENT_PATH, 0)->path;

    record->header.flags = RECORD_NO_STREAM;
    record->path = path;
    record->kind = PATH_TCP;
    record->family = AF_INET;
    record->network = 1;
    record->local_port = (uint16_t)local_port;
    record->remote_port = (uint16_t)remote_port;
    /* Host 0 is the machine itself. */
    memcpy(record->local, (uint8_t[]){local_host ? 10 : 127, 0, 0, local_host ? local_host : 1}, 4);
    memcpy(record->remote, (uint8_t[]){remote_host ? 10 : 127, 0, 0, remote_host ? remote_host : 1},
           4);
    return record;
}

static struct path_record *add_unix(struct recording *recording, uint32_t origin, uint32_t path,
                                    enum path_kind kind, uint64_t cookie, uint64_t peer)
{
    struct path_record *record = &add(recording, origin, EVENT_PATH, 0)->path;

    record->header.flags = RECORD_NO_STREAM;
    record->path = path;
    record->kind = (uint8_t)kind;
    record->family = AF_UNIX;
    record->cookie = cookie;
    record->peer = peer;
    return record;
}

static struct communication *read_all(struct recording *recording)
{
    struct communication *result = NULL;
    struct history *history = new_history(recording);
    struct problem problem;

    assert_int_equal(communication_read_history(history, recording->origins, 0, &result, &problem),
                     0);
    history_free(history);
    return result;
}

/* ---- the naive implementation ---- */

struct naive {
    const struct recording *recording;
    /* Processes in order of appearance. */
    uint32_t process_origin[MAX_RECORDS];
    uint32_t process_number[MAX_RECORDS];
    uint32_t process_count;
    uint32_t process_at[MAX_RECORDS]; /* of the event record i */
    bool known_at[MAX_RECORDS];       /* its stream was described before */
    /* An end of a path is identified by its first PATH record. */
    size_t partner[MAX_RECORDS];     /* the other end, or NONE */
    size_t description[MAX_RECORDS]; /* its latest PATH record, or NONE */
};

#define NONE SIZE_MAX

static uint32_t naive_process(struct naive *naive, uint32_t origin, uint32_t number)
{
    for (uint32_t i = 0; i < naive->process_count; i++)
        if (naive->process_origin[i] == origin && naive->process_number[i] == number)
            return i;
    naive->process_origin[naive->process_count] = origin;
    naive->process_number[naive->process_count] = number;
    return naive->process_count++;
}

static bool naive_is_event(const union any_record *record)
{
    return record->header.id <= EVENT_TERMINATION;
}

static bool has_stream(const union any_record *record)
{
    return !(record->header.flags & RECORD_NO_STREAM);
}

static void naive_find_processes(struct naive *naive)
{
    const struct recording *recording = naive->recording;

    for (size_t i = 0; i < recording->count; i++) {
        const union any_record *record = &recording->records[i];
        if (record->header.id == EVENT_STREAM)
            naive_process(naive, recording->origin_of[i], record->stream.process);
        if (!naive_is_event(record) || !has_stream(record))
            continue;
        uint32_t number = record->header.stream;
        for (size_t j = 0; j < i; j++)
            if (recording->records[j].header.id == EVENT_STREAM &&
                recording->origin_of[j] == recording->origin_of[i] &&
                recording->records[j].header.stream == record->header.stream) {
                number = recording->records[j].stream.process;
                naive->known_at[i] = true;
            }
        naive->process_at[i] = naive_process(naive, recording->origin_of[i], number);
    }
}

static uint8_t naive_machine(const struct naive *naive, uint32_t origin)
{
    for (size_t i = 0; i < naive->recording->count; i++)
        if (naive->recording->origin_of[i] == origin &&
            naive->recording->records[i].header.id == EVENT_MACHINE)
            return naive->recording->records[i].machine.machine_id[0];
    fail();
    return 0;
}

static uint32_t naive_machine_index(const struct naive *naive, uint32_t origin)
{
    uint8_t seen[MAX_ORIGINS];
    uint32_t count = 0;

    for (uint32_t at = 0; at < naive->recording->origins; at++) {
        uint8_t machine = naive_machine(naive, at);
        uint32_t index = 0;
        while (index < count && seen[index] != machine)
            index++;
        if (index == count)
            seen[count++] = machine;
        if (at == origin)
            return index;
    }
    fail();
    return 0;
}

/* The end that PATH record i describes. */
static size_t naive_end(const struct recording *recording, size_t i)
{
    size_t end = 0;

    while (recording->records[end].header.id != EVENT_PATH ||
           recording->origin_of[end] != recording->origin_of[i] ||
           recording->records[end].path.path != recording->records[i].path.path)
        end++;
    return end;
}

static bool naive_is_end(const struct naive *naive, size_t i)
{
    return naive->recording->records[i].header.id == EVENT_PATH &&
           naive_end(naive->recording, i) == i;
}

static const struct path_record *naive_path(const struct naive *naive, size_t end)
{
    return &naive->recording->records[naive->description[end]].path;
}

/* Whether an end was destroyed before record `now`, which may still be handed out after that. */
static bool naive_destroyed(const struct naive *naive, size_t end, size_t now)
{
    const struct recording *recording = naive->recording;

    for (size_t i = 0; i < recording->count; i++)
        if (recording->records[i].header.id == EVENT_DESTROYPATH &&
            recording->records[i].header.time < recording->records[now].header.time &&
            recording->origin_of[i] == recording->origin_of[end] &&
            recording->records[i].event.message.path == naive_path(naive, end)->path)
            return true;
    return false;
}

/* Whether two TCP ends have known starting positions that agree. */
static bool naive_same_starts(const struct path_record *a, const struct path_record *b)
{
    return !((a->header.flags | b->header.flags) & RECORD_OLDER) && a->start_out != 0 &&
           a->start_in != 0 && a->start_in == b->start_out && a->start_out == b->start_in;
}

/* How certain it is, at record `now`, that two ends belong to one connection. 3: certain; 2: certain, by positions
 * alone; 1: probable; 0: not. */
static int naive_match(const struct naive *naive, size_t i, size_t j, size_t now)
{
    const struct recording *recording = naive->recording;
    const struct path_record *a = naive_path(naive, i);
    const struct path_record *b = naive_path(naive, j);
    bool same_machine = naive_machine(naive, recording->origin_of[i]) ==
                        naive_machine(naive, recording->origin_of[j]);

    if (a->kind != b->kind)
        return 0;
    if (a->kind != PATH_TCP) {
        if (!same_machine || a->cookie == 0 || b->cookie == 0)
            return 0;
        if (a->kind == PATH_UNIX_DATAGRAM && (a->peer == 0 || b->peer == 0))
            return 0; /* it has no peer */
        if (a->peer == b->cookie && b->peer == a->cookie)
            return 3;
        return (a->peer == b->cookie && b->peer == 0) || (b->peer == a->cookie && a->peer == 0);
    }
    if (memcmp(a->local, b->remote, 4) != 0 || memcmp(a->remote, b->local, 4) != 0 ||
        a->local_port != b->remote_port || a->remote_port != b->local_port)
        return naive_same_starts(a, b) ? 2 : 0;
    if ((a->local[0] == 127 || a->remote[0] == 127) && (!same_machine || a->network != b->network))
        return naive_same_starts(a, b) ? 2 : 0;
    if (a->start_in == b->start_out && a->start_out == b->start_in)
        return 3;
    bool may_live = recording->origin_of[i] != recording->origin_of[j] ||
                    (!naive_destroyed(naive, i, now) && !naive_destroyed(naive, j, now));
    return ((a->header.flags | b->header.flags) & RECORD_OLDER) && may_live;
}

/* A socket that is connected to itself. */
static bool naive_is_own_partner(const struct path_record *path)
{
    if (path->kind != PATH_TCP)
        return path->cookie != 0 && path->cookie == path->peer;
    return path->local_port == path->remote_port && memcmp(path->local, path->remote, 4) == 0;
}

/* Whether `other` is on the machine of `end`. */
static bool naive_is_near(const struct naive *naive, size_t end, size_t other)
{
    return naive_machine(naive, naive->recording->origin_of[end]) ==
           naive_machine(naive, naive->recording->origin_of[other]);
}

/* The latest described unjoined end among those that match this well: of the same machine, or else of any. */
static size_t naive_partner(const struct naive *naive, size_t end, int wanted, size_t now)
{
    size_t found = NONE;

    for (size_t other = 0; other < now; other++) {
        if (!naive_is_end(naive, other) || other == end || naive->partner[other] != NONE ||
            naive_match(naive, end, other, now) < wanted)
            continue;
        bool near = naive_is_near(naive, end, other);
        bool as_near = found != NONE && near == naive_is_near(naive, end, found);
        if (found == NONE ||
            (as_near ? naive->description[other] > naive->description[found] : near))
            found = other;
    }
    return found;
}

static void naive_join(struct naive *naive)
{
    const struct recording *recording = naive->recording;

    for (size_t i = 0; i < recording->count; i++)
        naive->partner[i] = naive->description[i] = NONE;
    for (size_t i = 0; i < recording->count; i++) {
        if (recording->records[i].header.id != EVENT_PATH)
            continue;
        size_t end = naive_end(recording, i);
        naive->description[end] = i;
        if (naive->partner[end] != NONE)
            continue;
        size_t partner = naive_is_own_partner(naive_path(naive, end)) ? end : NONE;
        for (int wanted = 3; partner == NONE && wanted > 0; wanted--)
            partner = naive_partner(naive, end, wanted, i);
        naive->partner[end] = partner;
        if (partner != NONE)
            naive->partner[partner] = end;
    }
}

static bool naive_on_path(const struct naive *naive, size_t i, size_t path)
{
    const union any_record *record = &naive->recording->records[i];

    return (record->header.id == EVENT_SEND || record->header.id == EVENT_RECEIVE ||
            record->header.id == EVENT_SENDCALL || record->header.id == EVENT_RECEIVECALL ||
            record->header.id == EVENT_CONNECT || record->header.id == EVENT_ACCEPT) &&
           has_stream(record) &&
           naive->recording->origin_of[i] == naive->recording->origin_of[path] &&
           record->event.message.path == naive_path(naive, path)->path;
}

/* The end that record i uses, or NONE. */
static size_t naive_path_of(const struct naive *naive, size_t i)
{
    for (size_t path = 0; path < naive->recording->count; path++)
        if (naive_is_end(naive, path) && naive_on_path(naive, i, path))
            return path;
    return NONE;
}

static void naive_count(const struct naive *naive, size_t i, struct traffic *traffic)
{
    const struct record *record = &naive->recording->records[i].event;
    size_t path = naive_path_of(naive, i);

    if (record->header.id == EVENT_RECEIVE && record->message.bytes == 0) {
        if (path == NONE)
            return;
        unsigned kind = naive_path(naive, path)->kind;
        if (kind == PATH_TCP || kind == PATH_UNIX_STREAM)
            return;
    }
    traffic->messages += !(record->header.flags & RECORD_CONTINUED);
    traffic->bytes += record->message.bytes;
}

/* The processes that used the path: "3+4+"; "" if there is no such path, or none did. */
static uint32_t naive_holders(const struct naive *naive, size_t path, char text[300])
{
    uint32_t count = 0;
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t process = 0; path != NONE && process < naive->process_count; process++)
        for (size_t i = 0; i < naive->recording->count; i++)
            if (naive_on_path(naive, i, path) && naive->process_at[i] == process) {
                length += (size_t)snprintf(text + length, 300 - length, "%u+", process);
                count++;
                break;
            }
    return count;
}

static void naive_address(const struct naive *naive, size_t mine, size_t other,
                          char text[ENDPOINT_SIZE])
{
    const struct path_record *own = mine == NONE ? NULL : naive_path(naive, mine);
    const struct path_record *peer = other == NONE ? NULL : naive_path(naive, other);

    if (own == NULL)
        endpoint_remote(peer, text);
    else if (own->kind != PATH_TCP && own->name_end != PATH_NAME_LOCAL && peer != NULL &&
             peer->name_end == PATH_NAME_REMOTE)
        endpoint_remote(peer, text);
    else
        endpoint_local(own, text);
}

static bool naive_is_local(const struct naive *naive, size_t a, size_t b)
{
    const struct recording *recording = naive->recording;

    if (a != NONE && b != NONE)
        return naive_machine(naive, recording->origin_of[a]) ==
               naive_machine(naive, recording->origin_of[b]);
    size_t known = a != NONE ? a : b;
    const struct path_record *path = naive_path(naive, known);
    if (path->kind != PATH_TCP || path->remote[0] == 127)
        return true;
    /* add_machine: a machine's address is 10.0.0.identity */
    return path->remote[3] == naive_machine(naive, recording->origin_of[known]) ||
           memcmp(path->remote, path->local, 4) == 0;
}

struct naive_pair {
    char from[300];
    char to[300];
    struct traffic sent;
    bool local;
    bool shared;
};

struct naive_pairs {
    struct naive_pair rows[MAX_RECORDS];
    size_t count;
};

static struct naive_pair *naive_pair(struct naive_pairs *pairs, const char *from, const char *to)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->rows[i].from, from) == 0 && strcmp(pairs->rows[i].to, to) == 0)
            return &pairs->rows[i];
    struct naive_pair *row = &pairs->rows[pairs->count++];
    memset(row, 0, sizeof(*row));
    row->local = true;
    snprintf(row->from, sizeof(row->from), "%s", from);
    snprintf(row->to, sizeof(row->to), "%s", to);
    return row;
}

/* Adds the traffic from end a to end b of a connection. One may be NONE: it is unmonitored. */
static struct traffic naive_direction(const struct naive *naive, size_t a, size_t b,
                                      const char *a_address, const char *b_address,
                                      struct naive_pairs *pairs)
{
    const struct recording *recording = naive->recording;
    char a_text[300];
    char b_text[300];
    bool a_shared = naive_holders(naive, a, a_text) > 1;
    bool b_shared = naive_holders(naive, b, b_text) > 1;
    bool by_sends = a_text[0] != '\0';
    struct traffic sum = {0};

    if (a_text[0] == '\0')
        strcpy(a_text, a_address);
    if (b_text[0] == '\0')
        strcpy(b_text, b_address);
    for (size_t i = 0; i < recording->count; i++) {
        size_t path = by_sends ? a : b;
        if (path == NONE || !naive_on_path(naive, i, path) ||
            recording->records[i].header.id != (by_sends ? EVENT_SEND : EVENT_RECEIVE))
            continue;
        char user[300];
        struct traffic one = {0};
        naive_count(naive, i, &one);
        naive_count(naive, i, &sum);
        if (one.messages == 0 && one.bytes == 0)
            continue;
        snprintf(user, sizeof(user), "%u+", naive->process_at[i]);
        struct naive_pair *pair =
            naive_pair(pairs, by_sends ? user : a_text, by_sends ? b_text : user);
        pair->sent.messages += one.messages;
        pair->sent.bytes += one.bytes;
        pair->local = pair->local && naive_is_local(naive, a, b);
        pair->shared = by_sends ? b_shared : a_shared;
    }
    return sum;
}

/* Whether end i is the local one. */
static bool naive_comes_first(const struct naive *naive, size_t i)
{
    static const int rank[] = {[PATH_ROLE_UNKNOWN] = 1, [PATH_ROLE_CONNECTED] = 2};
    size_t other = naive->partner[i];
    const struct recording *recording = naive->recording;
    const struct path_record *a = naive_path(naive, i);

    if (other == NONE)
        return a->role != PATH_ROLE_ACCEPTED;
    const struct path_record *b = naive_path(naive, other);
    int a_rank = a->role == PATH_ROLE_ACCEPTED ? 0 : rank[a->role];
    int b_rank = b->role == PATH_ROLE_ACCEPTED ? 0 : rank[b->role];
    if (a_rank != b_rank)
        return a_rank > b_rank;
    if (recording->origin_of[i] != recording->origin_of[other])
        return recording->origin_of[i] < recording->origin_of[other];
    return a->path <= b->path;
}

/* A connection: its ends, or NONE, and what its row shows. */
struct naive_connection {
    size_t ends[2];
    unsigned kind;
    char addresses[2][ENDPOINT_SIZE];
    char common[2][ENDPOINT_SIZE]; /* without what the kernel chose */
    char holders[2][300];
    bool local;
};

static void naive_common(struct naive_connection *connection)
{
    const char *colon = strrchr(connection->addresses[0], ':');
    int host = colon == NULL ? 0 : (int)(colon - connection->addresses[0]);
    bool is_tcp = connection->kind == PATH_TCP;

    snprintf(connection->common[0], ENDPOINT_SIZE, "%.*s*", is_tcp ? host + 1 : 0,
             connection->addresses[0]);
    snprintf(connection->common[1], ENDPOINT_SIZE, "%s",
             strncmp(connection->addresses[1], "socket#", 7) == 0 ? "*" : connection->addresses[1]);
}

static void naive_describe(const struct naive *naive, size_t a, size_t b,
                           struct naive_connection *connection)
{
    memset(connection, 0, sizeof(*connection));
    connection->ends[0] = a;
    connection->ends[1] = b;
    connection->kind = naive_path(naive, a != NONE ? a : b)->kind;
    connection->local = naive_is_local(naive, a, b);
    naive_address(naive, a, b, connection->addresses[0]);
    naive_address(naive, b, a, connection->addresses[1]);
    naive_holders(naive, a, connection->holders[0]);
    naive_holders(naive, b, connection->holders[1]);
    naive_common(connection);
}

static bool naive_is_like(const struct naive_connection *a, const struct naive_connection *b)
{
    return a->kind == b->kind && a->local == b->local &&
           memcmp(a->common, b->common, sizeof(a->common)) == 0 &&
           memcmp(a->holders, b->holders, sizeof(a->holders)) == 0 &&
           (a->ends[0] == a->ends[1]) == (b->ends[0] == b->ends[1]);
}

static size_t naive_connections(const struct naive *naive, struct naive_connection *list)
{
    size_t count = 0;

    for (size_t i = 0; i < naive->recording->count; i++) {
        if (!naive_is_end(naive, i))
            continue;
        if (naive_comes_first(naive, i))
            naive_describe(naive, i, naive->partner[i], &list[count++]);
        else if (naive->partner[i] == NONE)
            naive_describe(naive, NONE, i, &list[count++]);
    }
    return count;
}

static void naive_add(struct traffic *sum, struct traffic more)
{
    sum->messages += more.messages;
    sum->bytes += more.bytes;
}

/* The row of connection `first` and all others of its like. */
static void naive_row(const struct naive *naive, const struct naive_connection *list, size_t count,
                      size_t first, struct naive_pairs *pairs, struct lines *lines)
{
    struct traffic sent = {0}, received = {0};
    size_t alike = 0;

    for (size_t i = first; i < count; i++)
        alike += naive_is_like(&list[first], &list[i]);
    const char *local = alike > 1 ? list[first].common[0] : list[first].addresses[0];
    const char *remote = alike > 1 ? list[first].common[1] : list[first].addresses[1];
    for (size_t i = first; i < count; i++) {
        size_t a = list[i].ends[0], b = list[i].ends[1];
        if (!naive_is_like(&list[first], &list[i]))
            continue;
        naive_add(&sent, naive_direction(naive, a, b, local, remote, pairs));
        if (a != b)
            naive_add(&received, naive_direction(naive, b, a, remote, local, pairs));
    }
    line(lines, "path %u %s > %s (%s > %s) " TRAFFIC " " TRAFFIC, list[first].kind, local, remote,
         list[first].holders[0], list[first].holders[1], TRAFFIC_OF(sent), TRAFFIC_OF(received));
}

static void naive_paths(const struct naive *naive, struct naive_pairs *pairs, struct lines *lines)
{
    struct naive_connection *list = calloc(MAX_RECORDS, sizeof(*list));

    assert_non_null(list);
    size_t count = naive_connections(naive, list);
    for (size_t i = 0; i < count; i++) {
        bool is_first = true;
        for (size_t before = 0; before < i; before++)
            is_first = is_first && !naive_is_like(&list[before], &list[i]);
        if (is_first)
            naive_row(naive, list, count, i, pairs, lines);
    }
    free(list);
}

/* The identity of a process: the last one of its first stream; otherwise the first of any stream. */
static const struct stream_record *naive_identity(const struct naive *naive, uint32_t process)
{
    const struct stream_record *found = NULL;

    for (size_t i = 0; i < naive->recording->count; i++) {
        const struct stream_record *record = &naive->recording->records[i].stream;
        if (record->header.id != EVENT_STREAM ||
            naive->recording->origin_of[i] != naive->process_origin[process] ||
            record->process != naive->process_number[process])
            continue;
        if (found == NULL || record->header.stream == record->process)
            found = record;
    }
    return found;
}

/* A stream without identity is the first of its process. */
static uint32_t naive_parent(const struct naive *naive, uint32_t process)
{
    const struct stream_record *identity = naive_identity(naive, process);
    const struct recording *recording = naive->recording;

    if (identity == NULL || identity->header.stream != identity->process || identity->parent == 0)
        return NO_PROCESS;
    uint32_t number = identity->parent;
    for (size_t i = 0; i < recording->count; i++) {
        const union any_record *record = &recording->records[i];
        if (record->header.id == EVENT_STREAM && record->header.stream == identity->parent &&
            recording->origin_of[i] == naive->process_origin[process])
            number = record->stream.process;
    }
    for (uint32_t other = 0; other < naive->process_count; other++)
        if (naive->process_origin[other] == naive->process_origin[process] &&
            naive->process_number[other] == number)
            return other == process ? NO_PROCESS : other;
    return NO_PROCESS;
}

/* Sum of the unwrapped CPU times of the process's streams. */
static uint64_t naive_cpu(const struct naive *naive, uint32_t process)
{
    const struct recording *recording = naive->recording;
    uint64_t sum = 0;

    for (size_t i = 0; i < recording->count; i++) {
        if (!naive_is_event(&recording->records[i]) || !has_stream(&recording->records[i]) ||
            naive->process_at[i] != process)
            continue;
        uint64_t now = record_proc_time(&recording->records[i].header);
        uint64_t before = 0;
        for (size_t j = 0; j < i; j++)
            if (naive_is_event(&recording->records[j]) && has_stream(&recording->records[j]) &&
                recording->origin_of[j] == recording->origin_of[i] &&
                recording->records[j].header.stream == recording->records[i].header.stream)
                before = record_proc_time(&recording->records[j].header);
        sum += now >= before ? now - before : now + (1ULL << 48) - before;
    }
    return sum;
}

static void naive_processes(const struct naive *naive, struct lines *lines)
{
    for (uint32_t process = 0; process < naive->process_count; process++) {
        const struct stream_record *identity = naive_identity(naive, process);
        struct traffic sent = {0};
        struct traffic received = {0};
        for (size_t i = 0; i < naive->recording->count; i++) {
            const union any_record *record = &naive->recording->records[i];
            if (!has_stream(record) || naive->process_at[i] != process)
                continue;
            if (record->header.id == EVENT_SEND)
                naive_count(naive, i, &sent);
            if (record->header.id == EVENT_RECEIVE)
                naive_count(naive, i, &received);
        }
        line(lines, "process %u: %u %s %u parent %u cpu %" PRIu64 " " TRAFFIC " " TRAFFIC, process,
             naive_machine_index(naive, naive->process_origin[process]),
             identity == NULL ? "" : identity->name, identity == NULL ? 0 : identity->pid,
             naive_parent(naive, process), naive_cpu(naive, process), TRAFFIC_OF(sent),
             TRAFFIC_OF(received));
    }
}

static void naive_total(const struct naive *naive, struct lines *lines)
{
    uint64_t events = 0;
    uint64_t unknown_streams = 0;
    uint64_t unknown_paths = 0;
    uint64_t unseen_bytes = 0;
    uint64_t unseen_sent_bytes = 0;

    for (size_t i = 0; i < naive->recording->count; i++) {
        const union any_record *record = &naive->recording->records[i];
        bool message = record->header.id == EVENT_SEND || record->header.id == EVENT_RECEIVE;
        bool unseen = message && !has_stream(record);
        events += naive_is_event(record);
        *(record->header.id == EVENT_SEND ? &unseen_sent_bytes : &unseen_bytes) +=
            unseen ? record->event.message.bytes : 0;
        unknown_streams += message && !unseen && !naive->known_at[i];
        unknown_paths += message && has_stream(record) && naive_path_of(naive, i) == NONE;
    }
    line(lines,
         "total %" PRIu64 " events, unknown %" PRIu64 " %" PRIu64 ", unseen %" PRIu64 " %" PRIu64,
         events, unknown_streams, unknown_paths, unseen_bytes, unseen_sent_bytes);
}

static void naive_lines(const struct recording *recording, struct lines *lines)
{
    struct naive *naive = calloc(1, sizeof(*naive));
    struct naive_pairs *pairs = calloc(1, sizeof(*pairs));

    assert_true(naive != NULL && pairs != NULL);
    lines->count = 0;
    naive->recording = recording;
    naive_find_processes(naive);
    naive_join(naive);
    naive_processes(naive, lines);
    naive_paths(naive, pairs, lines);
    for (size_t i = 0; i < pairs->count; i++)
        line(lines, "pair %s > %s " TRAFFIC " %d %d", pairs->rows[i].from, pairs->rows[i].to,
             TRAFFIC_OF(pairs->rows[i].sent), pairs->rows[i].local, pairs->rows[i].shared);
    naive_total(naive, lines);
    qsort(lines->text, lines->count, LINE_SIZE, compare_lines);
    free(pairs);
    free(naive);
}

/* ---- random recordings ---- */

static uint64_t seed;

static unsigned pick(unsigned count)
{
    return (unsigned)random_below(&seed, count);
}

static bool rarely(void)
{
    return pick(12) == 0;
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* By cgroup2 id. Some are nested, some have the same last part. */
static const struct {
    const char *path; /* NULL: its name is not recorded */
    const char *container;
} cgroups[] = {
    {NULL, "cgroup 0"},
    {"/", "/"},
    {"/a/x.service", "/a/x.service"},
    {"/a/x.service/sub", "/a/x.service"},
    {"/docker/" ID, "0123456789ab"},
    {"/docker/" ID "/inner", "0123456789ab"},
    {"/b/x.service", "/b/x.service"},
    {NULL, "cgroup 7"},
};

static void add_name(struct recording *recording, uint32_t origin, enum name_kind kind,
                     uint64_t number, const char *name)
{
    struct name_record *record = &add(recording, origin, EVENT_NAME, 0)->name;

    record->header.flags = RECORD_NO_STREAM;
    record->kind = kind;
    record->number = number;
    snprintf(record->name, sizeof(record->name), "%s", name);
}

/* User 1 is anna, user 2 has no name. Image 1 is /bin/p1, which is also the name of another stream. */
static void random_names(struct recording *recording, uint32_t origin)
{
    static const char *const images[] = {"/bin/p1", "/sbin/p1", "server"};

    add_name(recording, origin, NAME_USER, 1, "anna");
    for (uint64_t i = 0; i < ARRAY_SIZE(cgroups); i++)
        if (cgroups[i].path != NULL)
            add_name(recording, origin, NAME_CGROUP, i, cgroups[i].path);
    for (uint32_t i = 0; i < ARRAY_SIZE(images); i++) {
        struct image_record *image = &add(recording, origin, EVENT_IMAGE, 0)->image;
        image->image = 1 + i;
        snprintf(image->name, sizeof(image->name), "%s", images[i]);
    }
}

static void random_streams(struct recording *recording, uint32_t origin, uint32_t streams)
{
    random_names(recording, origin);
    for (uint32_t stream = 1; stream <= streams; stream++) {
        if (rarely())
            continue; /* a control record may be lost */
        add_stream(recording, origin, stream, 1 + pick(stream), pick(stream));
        struct stream_record *record = &recording->records[recording->count - 1].stream;
        record->user = 1 + pick(2);
        record->cgroup = pick(ARRAY_SIZE(cgroups));
        record->image = pick(4);
    }
}

/* Few hosts, ports and positions, to provoke confusion between connections. */
static void random_tcp(struct recording *recording, uint32_t origins, uint32_t next_path[])
{
    unsigned hosts[2] = {pick(origins > 1 ? 3 : 2), pick(origins > 1 ? 3 : 2)};
    unsigned ports[2] = {pick(3), pick(3)};
    uint32_t starts[2] = {pick(4), pick(4)};
    unsigned order = pick(2);

    for (unsigned i = 0; i < 2; i++) {
        unsigned end = i ^ order;
        uint32_t origin = pick(origins);
        if (pick(4) == 0)
            continue; /* an unmonitored end */
        /* A later record may correct the first one. */
        bool twice = rarely();
        uint32_t number = next_path[origin]++;
        for (unsigned times = twice ? 2 : 1; times > 0; times--) {
            struct path_record *path = add_tcp(recording, origin, number, hosts[end], ports[end],
                                               hosts[1 - end], ports[1 - end]);
            path->network = 1 + rarely();
            path->role = (uint8_t)pick(3);
            path->start_out = times == 2 ? pick(4) : starts[end];
            path->start_in = starts[1 - end];
            if (pick(3) == 0) {
                path->header.flags |= RECORD_OLDER;
                path->start_in = pick(100);
            }
        }
    }
}

static void random_unix(struct recording *recording, uint32_t origins, uint32_t next_path[])
{
    uint64_t cookies[2] = {1 + pick(6), 1 + pick(6)};
    unsigned kind = PATH_UNIX_STREAM + pick(3);

    uint32_t origin_of[2] = {pick(origins), pick(origins)};
    uint32_t numbers[2] = {0, 0};

    /* Some are first known by name only, and fully later. */
    for (unsigned step = 0; step < 4; step++) {
        unsigned end = step % 2;
        bool full = step >= 2;
        if (numbers[end] == 0)
            numbers[end] = next_path[origin_of[end]]++;
        if (pick(4) == 0 && !full)
            continue;
        uint64_t peer = pick(5) == 0 ? 0 : cookies[1 - end];
        struct path_record *path = add_unix(recording, origin_of[end], numbers[end], kind,
                                            full ? cookies[end] : 0, full ? peer : 0);
        path->role = (uint8_t)pick(3);
        path->name_end = (uint8_t)pick(3);
        snprintf(path->name, sizeof(path->name), "/run/%u", pick(3));
        if (pick(4) == 0)
            step++; /* an end is unmonitored, or never fully known */
    }
}

/* Streams that have ended and paths that were destroyed. */
struct ended {
    bool streams[MAX_ORIGINS][MAX_STREAMS];
    bool paths[MAX_ORIGINS][MAX_RECORDS];
};

static void random_event(struct recording *recording, uint32_t origin, uint32_t streams,
                         uint32_t paths, struct ended *ended, uint64_t cpu[])
{
    static const enum event_id ids[] = {
        EVENT_SEND,    EVENT_SEND,    EVENT_SEND,   EVENT_RECEIVE,     EVENT_RECEIVE,
        EVENT_RECEIVE, EVENT_CONNECT, EVENT_ACCEPT, EVENT_RECEIVECALL, EVENT_SENDCALL,
        EVENT_BLOCK,   EVENT_LOST,    EVENT_IMAGE,  EVENT_DESTROYPATH, EVENT_TERMINATION,
    };
    uint32_t stream = 1 + pick(streams);
    enum event_id id = ids[pick(ARRAY_SIZE(ids))];
    uint32_t path = paths == 0 || rarely() ? 1000 : 1 + pick(paths);

    if (ended->streams[origin][stream] || (path != 1000 && ended->paths[origin][path]))
        return;
    struct record *record = add_message(recording, origin, id, stream, path, pick(4) * pick(100));
    if (id == EVENT_IMAGE || id == EVENT_LOST)
        return;
    if (id == EVENT_DESTROYPATH && path != 1000)
        ended->paths[origin][path] = true;
    ended->streams[origin][stream] = id == EVENT_TERMINATION;
    bool has_stream = id == EVENT_TERMINATION || (id != EVENT_DESTROYPATH && !rarely());
    record->header.flags = has_stream ? 0 : RECORD_NO_STREAM;
    record->header.flags |= pick(4) == 0 ? RECORD_CONTINUED : 0;
    if (record->header.flags & RECORD_NO_STREAM)
        return;
    /* Steps of up to a quarter of the range: the 48 bits wrap around in most recordings. */
    cpu[stream] += ((uint64_t)pick(1u << 23) << 23) + pick(1000);
    record->header.proc_time_and_pc = (cpu[stream] & 0xffffffffffffULL) | 0xabcULL << 48;
}

static void random_recording(struct recording *recording)
{
    uint32_t origins = 1 + pick(MAX_ORIGINS);
    uint32_t streams = 1 + pick(MAX_STREAMS - 1);
    uint32_t next_path[MAX_ORIGINS] = {1, 1, 1};
    uint64_t cpu[MAX_ORIGINS][MAX_STREAMS] = {0};
    struct ended ended = {0};

    recording_begin(recording, origins);
    for (uint32_t origin = 0; origin < origins; origin++) {
        /* every host is a recorded machine */
        add_machine(recording, origin, (uint8_t)(1 + (origin < 2 ? origin : pick(2))));
        random_streams(recording, origin, streams);
    }
    for (unsigned steps = 20 + pick(120); steps > 0; steps--) {
        uint32_t origin = pick(origins);
        if (rarely())
            random_tcp(recording, origins, next_path);
        else if (rarely())
            random_unix(recording, origins, next_path);
        else
            random_event(recording, origin, streams, next_path[origin] - 1, &ended, cpu[origin]);
    }
}

/* `result`: of the recording. Its records are in the order in which they were read. */
static void compare_with_naive(const struct recording *recording, struct communication *result,
                               uint64_t round_seed)
{
    struct lines *found = calloc(1, sizeof(*found));
    struct lines *expected = calloc(1, sizeof(*expected));

    assert_true(found != NULL && expected != NULL);
    result_lines(result, found);
    naive_lines(recording, expected);
    for (size_t i = 0; i < found->count && i < expected->count; i++)
        if (strcmp(found->text[i], expected->text[i]) != 0)
            fail_msg("DPM_SEED=%" PRIu64 ": found '%s', expected '%s'", round_seed, found->text[i],
                     expected->text[i]);
    assert_int_equal(found->count, expected->count);
    communication_free(result);
    free(expected);
    free(found);
}

static void agrees_with_naive(void **state)
{
    struct recording *recording = malloc(sizeof(*recording));
    uint64_t first = seed_of_run("statistics");

    (void)state;
    assert_non_null(recording);
    for (uint64_t round = 0; round < rounds_of_run(400); round++) {
        seed = first + round;
        random_recording(recording);
        struct communication *result = read_all(recording);
        put_in_order(recording);
        compare_with_naive(recording, result, first + round);
    }
    free(recording);
}

/* Every byte sent over a path is in exactly one pair, and the rows are sorted, largest first. */
static void pairs_and_paths_agree(void **state)
{
    struct recording *recording = malloc(sizeof(*recording));

    (void)state;
    assert_non_null(recording);
    seed = seed_of_run("pairs and paths");
    for (uint64_t round = 0; round < rounds_of_run(200); round++) {
        random_recording(recording);
        struct communication *result = read_all(recording);
        uint64_t pairs = 0;
        uint64_t paths = 0;
        uint64_t messages = 0;
        for (size_t i = 0; i < result->pair_count; i++) {
            pairs += result->pairs[i].sent.bytes;
            messages += result->pairs[i].sent.messages;
            assert_true(i == 0 || result->pairs[i - 1].sent.bytes >= result->pairs[i].sent.bytes);
        }
        for (size_t i = 0; i < result->path_count; i++) {
            const struct communication_path *path = &result->paths[i];
            paths += path->sent.bytes + path->received.bytes;
            messages -= path->sent.messages + path->received.messages;
            assert_true(i == 0 || path[-1].sent.bytes + path[-1].received.bytes >=
                                      path->sent.bytes + path->received.bytes);
        }
        assert_int_equal(pairs, paths);
        assert_int_equal(messages, 0);
        communication_free(result);
    }
    free(recording);
}

/* For the sanitizers: arbitrary records cause no crash, and the result can be freed. */
static void any_bytes_are_survived(void **state)
{
    struct recording *recording = malloc(sizeof(*recording));

    (void)state;
    assert_non_null(recording);
    seed = seed_of_run("any bytes");
    for (uint64_t round = 0; round < rounds_of_run(300); round++) {
        recording_begin(recording, MAX_ORIGINS);
        for (unsigned i = 0; i < 300; i++) {
            union any_record *record = add(recording, pick(MAX_ORIGINS), EVENT_SEND, 0);
            for (size_t at = 0; at < sizeof(*record); at++)
                ((uint8_t *)record)[at] = (uint8_t)(pick(3) == 0 ? pick(256) : pick(3));
            record->header.id = (uint8_t)(1 + pick(EVENT_ID_END - 1));
        }
        struct communication *result = read_all(recording);
        for (unsigned by = BY_USER; by <= BY_PROGRAM; by++) {
            struct communication *grouped = NULL;
            assert_int_equal(communication_group(result, by, &grouped), 0);
            communication_free(grouped);
        }
        communication_free(result);
    }
    free(recording);
}

/* ---- groups, computed naively ---- */

#define MAX_GROUPS 64

/* The name of the process's group. Two processes of one machine are in one group if these are equal. */
static void naive_group_name(const struct communication_process *process, enum communication_by by,
                             char text[100])
{
    if (process->pid == 0)
        snprintf(text, 100, "unknown");
    else if (by == BY_USER)
        snprintf(text, 100, "%s", process->user == 1 ? "anna" : "2");
    else if (by == BY_CONTAINER)
        snprintf(text, 100, "%s", cgroups[process->cgroup].container);
    else
        snprintf(text, 100, "%s", process->program != NULL ? process->program : process->name);
}

struct naive_groups {
    uint32_t machines[MAX_GROUPS];
    char names[MAX_GROUPS][100];
    uint32_t count;
    uint32_t of[MAX_GROUPS]; /* of process i */
};

static void naive_groups(const struct communication *result, enum communication_by by,
                         struct naive_groups *groups)
{
    groups->count = 0;
    assert_true(result->process_count <= MAX_GROUPS);
    for (uint32_t i = 0; i < result->process_count; i++) {
        uint32_t group = 0;
        char name[100];
        naive_group_name(&result->processes[i], by, name);
        while (group < groups->count && (groups->machines[group] != result->processes[i].machine ||
                                         strcmp(groups->names[group], name) != 0))
            group++;
        groups->of[i] = group;
        if (group < groups->count)
            continue;
        groups->machines[groups->count] = result->processes[i].machine;
        strcpy(groups->names[groups->count++], name);
    }
}

/* Finds the groups with a process in the party. Returns how many there are. */
static unsigned naive_group_party(const struct naive_groups *groups, const struct party *party,
                                  char text[300])
{
    size_t length = 0;
    unsigned count = 0;

    text[0] = '\0';
    for (uint32_t group = 0; group < groups->count; group++) {
        bool has = false;
        for (uint32_t i = 0; i < party->count; i++)
            has = has || groups->of[party->processes[i]] == group;
        if (has)
            length += (size_t)snprintf(text + length, 300 - length, "%u+", group);
        count += has;
    }
    if (party->count == 0 && party->address != NULL)
        snprintf(text, 300, "%s", party->address);
    return count;
}

static void naive_group_pairs(const struct communication *result, const struct naive_groups *groups,
                              struct lines *lines)
{
    size_t count = result->pair_count + 1;
    struct party_names {
        char from[300];
        char to[300];
    } *names = calloc(count, sizeof(*names));
    bool *shared = calloc(count, sizeof(*shared));

    assert_true(names != NULL && shared != NULL);
    for (size_t i = 0; i < result->pair_count; i++) {
        shared[i] = naive_group_party(groups, &result->pairs[i].from, names[i].from) > 1;
        shared[i] |= naive_group_party(groups, &result->pairs[i].to, names[i].to) > 1;
    }
    for (size_t i = 0; i < result->pair_count; i++) {
        struct traffic sum = {0};
        bool local = true;
        bool first = true;
        for (size_t j = 0; j < result->pair_count; j++) {
            if (memcmp(&names[i], &names[j], sizeof(names[i])) != 0)
                continue;
            first = first && j >= i;
            sum.messages += result->pairs[j].sent.messages;
            sum.bytes += result->pairs[j].sent.bytes;
            local = local && result->pairs[j].local;
        }
        if (first)
            line(lines, "pair %s > %s " TRAFFIC " %d %d", names[i].from, names[i].to,
                 TRAFFIC_OF(sum), local, shared[i]);
    }
    free(shared);
    free(names);
}

/* A container is named by its path only if another one has the same last part. */
static const char *naive_shown_name(const struct naive_groups *groups, uint32_t group)
{
    unsigned alike = 0;

    for (uint32_t other = 0; other < groups->count; other++)
        alike += groups->machines[other] == groups->machines[group] &&
                 strstr(groups->names[other], "/x.service") != NULL;
    return strstr(groups->names[group], "/x.service") != NULL && alike == 1 ? "x.service"
                                                                            : groups->names[group];
}

static void naive_group_lines(const struct communication *result, enum communication_by by,
                              struct lines *lines)
{
    struct naive_groups groups;
    char from[300];
    char to[300];

    lines->count = 0;
    naive_groups(result, by, &groups);
    for (uint32_t group = 0; group < groups.count; group++) {
        struct traffic sums[2] = {{0}};
        uint64_t cpu = 0;
        unsigned size = 0;
        for (uint32_t i = 0; i < result->process_count; i++) {
            const struct communication_process *process = &result->processes[i];
            if (groups.of[i] != group)
                continue;
            size++;
            cpu += process->cpu;
            sums[0].messages += process->sent.messages;
            sums[0].bytes += process->sent.bytes;
            sums[1].messages += process->received.messages;
            sums[1].bytes += process->received.bytes;
        }
        line(lines, "group %u: %u %s, %u cpu %" PRIu64 " " TRAFFIC " " TRAFFIC, group,
             groups.machines[group], naive_shown_name(&groups, group), size, cpu,
             TRAFFIC_OF(sums[0]), TRAFFIC_OF(sums[1]));
    }
    naive_group_pairs(result, &groups, lines);
    for (size_t i = 0; i < result->path_count; i++) {
        const struct communication_path *path = &result->paths[i];
        naive_group_party(&groups, &path->ends[0], from);
        naive_group_party(&groups, &path->ends[1], to);
        line(lines, "path %u %s > %s (%s > %s) " TRAFFIC " " TRAFFIC, path->kind, path->local,
             path->remote, from, to, TRAFFIC_OF(path->sent), TRAFFIC_OF(path->received));
    }
    qsort(lines->text, lines->count, LINE_SIZE, compare_lines);
}

/* The lines of a result by group, in the format of naive_group_lines. */
static void group_lines(const struct communication *grouped, struct lines *lines)
{
    struct lines *all = calloc(1, sizeof(*all));

    assert_non_null(all);
    result_lines(grouped, all);
    lines->count = 0;
    for (uint32_t i = 0; i < grouped->process_count; i++) {
        const struct communication_process *group = &grouped->processes[i];
        line(lines, "group %u: %u %s, %u cpu %" PRIu64 " " TRAFFIC " " TRAFFIC, i, group->machine,
             group->group, group->group_size, group->cpu, TRAFFIC_OF(group->sent),
             TRAFFIC_OF(group->received));
    }
    for (size_t i = 0; i < all->count; i++)
        if (strncmp(all->text[i], "pair ", 5) == 0 || strncmp(all->text[i], "path ", 5) == 0)
            line(lines, "%s", all->text[i]);
    qsort(lines->text, lines->count, LINE_SIZE, compare_lines);
    free(all);
}

static void compare_groups(const struct communication *result, enum communication_by by,
                           uint64_t round_seed)
{
    struct lines *found = calloc(1, sizeof(*found));
    struct lines *expected = calloc(1, sizeof(*expected));
    struct communication *grouped = NULL;

    assert_true(found != NULL && expected != NULL);
    assert_int_equal(communication_group(result, by, &grouped), 0);
    assert_int_equal(grouped->by, by);
    group_lines(grouped, found);
    naive_group_lines(result, by, expected);
    for (size_t i = 0; i < found->count && i < expected->count; i++)
        if (strcmp(found->text[i], expected->text[i]) != 0)
            fail_msg("DPM_SEED=%" PRIu64 ", by %s: found '%s', expected '%s'", round_seed,
                     communication_by_name(by), found->text[i], expected->text[i]);
    assert_int_equal(found->count, expected->count);
    for (size_t i = 1; i < grouped->pair_count; i++)
        assert_true(grouped->pairs[i - 1].sent.bytes >= grouped->pairs[i].sent.bytes);
    communication_free(grouped);
    free(expected);
    free(found);
}

static void groups_agree_with_naive(void **state)
{
    struct recording *recording = malloc(sizeof(*recording));
    uint64_t first = seed_of_run("groups");

    (void)state;
    assert_non_null(recording);
    for (uint64_t round = 0; round < rounds_of_run(200); round++) {
        seed = first + round;
        random_recording(recording);
        struct communication *result = read_all(recording);
        for (unsigned by = BY_USER; by <= BY_PROGRAM; by++)
            compare_groups(result, by, first + round);
        communication_free(result);
    }
    free(recording);
}

/* ---- recordings with known results ---- */

static struct recording *known(void **state)
{
    struct recording *recording = *state;

    recording_begin(recording, 1);
    add_machine(recording, 0, 1);
    add_stream(recording, 0, 1, 1, 0);
    add_stream(recording, 0, 2, 2, 1);
    add_stream(recording, 0, 3, 3, 2);
    return recording;
}

static void expect(struct recording *recording, const char *wanted)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    struct communication *result = read_all(recording);

    assert_non_null(lines);
    result_lines(result, lines);
    bool found = false;
    for (size_t i = 0; i < lines->count; i++)
        found = found || strcmp(lines->text[i], wanted) == 0;
    for (size_t i = 0; !found && i < lines->count; i++)
        print_error("%s\n", lines->text[i]);
    if (!found)
        fail_msg("missing: %s", wanted);
    communication_free(result);
    free(lines);
}

/* Process 0 connects to process 1, which replies. The PATH of the accepting end comes last. */
static void joins_a_tcp_connection(void **state)
{
    struct recording *recording = known(state);
    struct path_record *server = add_tcp(recording, 0, 1, 0, 80, 0, 4000);
    struct path_record *client = add_tcp(recording, 0, 2, 0, 4000, 0, 80);

    server->role = PATH_ROLE_ACCEPTED;
    client->role = PATH_ROLE_CONNECTED;
    server->start_in = client->start_out = 7;
    add_message(recording, 0, EVENT_SEND, 1, 2, 100);
    add_message(recording, 0, EVENT_SEND, 1, 2, 50)->header.flags = RECORD_CONTINUED;
    add_message(recording, 0, EVENT_RECEIVE, 2, 1, 150);
    add_message(recording, 0, EVENT_SEND, 2, 1, 9);
    add_message(recording, 0, EVENT_RECEIVE, 1, 2, 9);
    add_message(recording, 0, EVENT_RECEIVE, 1, 2, 0);
    expect(recording, "path 1 127.0.0.1:4000 > 127.0.0.1:80 (0+ > 1+) 1/150 1/9");
    expect(recording, "pair 0+ > 1+ 1/150 1 0");
    expect(recording, "pair 1+ > 0+ 1/9 1 0");
    expect(recording, "process 0: 0 p1 1001 parent 4294967295 cpu 0 1/150 1/9");
    expect(recording, "process 1: 0 p2 1002 parent 0 cpu 0 1/9 1/150");
}

static const struct communication_path *largest_path(const struct communication *result)
{
    assert_true(result->path_count > 0);
    return &result->paths[0];
}

static void check_sizes(const struct histogram *sizes, uint64_t count, uint64_t min, uint64_t max)
{
    assert_int_equal(histogram_count(sizes), count);
    assert_int_equal(histogram_min(sizes), min);
    assert_int_equal(histogram_max(sizes), max);
}

/* Two threads of process 0 send into one socket, and their pieces of calls interleave. */
static void sizes_are_those_of_calls(void **state)
{
    struct recording *recording = known(state);

    add_stream(recording, 0, 4, 1, 0); /* the other thread */
    add_tcp(recording, 0, 1, 0, 80, 0, 4000);
    add_tcp(recording, 0, 2, 0, 4000, 0, 80);
    add_message(recording, 0, EVENT_SEND, 1, 2, 1000);
    add_message(recording, 0, EVENT_SEND, 4, 2, 10);
    add_message(recording, 0, EVENT_SEND, 1, 2, 2000)->header.flags = RECORD_CONTINUED;
    add_message(recording, 0, EVENT_SEND, 4, 2, 20);
    add_message(recording, 0, EVENT_SEND, 1, 2, 3000)->header.flags = RECORD_CONTINUED;
    add_message(recording, 0, EVENT_SEND, 4, 2, 70)->header.flags = RECORD_CONTINUED;
    add_message(recording, 0, EVENT_RECEIVE, 2, 1, 6100);
    struct communication *result = read_all(recording);
    check_sizes(&largest_path(result)->sizes, 3, 10, 6000);
    communication_free(result);
}

/* The same with more threads than open calls are kept: no message is missed. */
static void sizes_of_many_threads_are_all_there(void **state)
{
    enum { THREADS = 40, ROUNDS = 4 };
    struct recording *recording = known(state);

    add_tcp(recording, 0, 2, 0, 4000, 0, 80);
    for (uint32_t i = 0; i < THREADS; i++)
        add_stream(recording, 0, 10 + i, 1, 0);
    for (uint32_t i = 0; i < THREADS * ROUNDS; i++)
        add_message(recording, 0, EVENT_SEND, 10 + i % THREADS, 2, 100 + i);
    struct communication *result = read_all(recording);
    check_sizes(&largest_path(result)->sizes, THREADS * ROUNDS, 100, 99 + THREADS * ROUNDS);
    communication_free(result);
}

/* Many processes, or few, share a socket. Each sends a request; responses come after all requests. */
static void answers_are_those_who_asked(void **state)
{
    enum { MOST = 9, ROUNDS = 5 };

    for (uint32_t users = 1; users <= MOST; users++) {
        struct recording *recording = known(state);
        add_tcp(recording, 0, 2, 0, 4000, 0, 80);
        for (uint32_t i = 0; i < users; i++)
            add_stream(recording, 0, 10 + i, 10 + i, 0);
        for (uint32_t i = 0; i < users * ROUNDS * 2; i++)
            add_message(recording, 0, i / users % 2 == 0 ? EVENT_SEND : EVENT_RECEIVE,
                        10 + i % users, 2, 100);
        struct communication *result = read_all(recording);
        for (size_t i = 0; i < result->process_count; i++)
            assert_int_equal(histogram_count(&result->processes[i].times.of[TIME_REQUEST]),
                             result->processes[i].stream >= 10 ? ROUNDS : 0);
        communication_free(result);
    }
}

/* Answers in any number of pieces, at any time: each lasts from its request to its first piece, and to its last one: for
 * a client from the request's first part, for a server from its last one. The last answer ends with the recording, or with the connection. */
static void answers_end_with_their_last_byte(void **state)
{
    enum { ROUNDS = 40, MOST_PIECES = 4 };
    uint64_t numbers = seed_of_run("answers in pieces");

    for (int round = 0; round < 20; round++) {
        struct recording *recording = known(state);
        bool serves = random_below(&numbers, 2) == 0, closes = random_below(&seed, 2) == 0;
        uint64_t first = 0, last = 0;
        uint8_t asks = serves ? EVENT_RECEIVE : EVENT_SEND;
        uint8_t answers = serves ? EVENT_SEND : EVENT_RECEIVE;
        add_tcp(recording, 0, 2, 0, 4000, 0, 80)->role =
            serves ? PATH_ROLE_ACCEPTED : PATH_ROLE_CONNECTED;
        for (int i = 0; i < ROUNDS; i++) {
            uint64_t asked = 0;
            for (uint64_t left = 1 + random_below(&numbers, MOST_PIECES); left > 0; left--) {
                uint64_t now = add_message(recording, 0, asks, 1, 2, 10)->header.time;
                asked = serves || asked == 0 ? now : asked;
            }
            for (uint64_t left = 1 + random_below(&numbers, MOST_PIECES), all = left; left > 0;
                 left--) {
                uint64_t now = add_message(recording, 0, answers, 1, 2, 10)->header.time;
                first += left == all ? now - asked : 0;
                last += left == 1 ? now - asked : 0;
            }
        }
        if (closes)
            add_message(recording, 0, EVENT_DESTROYPATH, 1, 2, 0);
        struct communication *result = read_all(recording);
        const struct histogram *times[] = {
            &largest_path(result)->times.of[serves ? TIME_RESPONSE : TIME_REQUEST],
            &largest_path(result)->times.of[serves ? TIME_RESPONSE_WHOLE : TIME_REQUEST_WHOLE]};
        assert_int_equal(histogram_count(times[0]), ROUNDS);
        assert_int_equal(histogram_count(times[1]), ROUNDS);
        assert_int_equal(histogram_sum(times[0]), first);
        assert_int_equal(histogram_sum(times[1]), last);
        communication_free(result);
    }
}

/* The threads of a process wait at the same time, each for a connection from the same process, and their requests are
 * answered at the same time: the sums are several times the elapsed time, what is covered is not. */
static void waits_at_once_are_covered_once(void **state)
{
    enum { THREADS = 7 };
    struct recording *recording = known(state);
    uint64_t asked = 0, called = 0, sent = 0, received = 0, waits = 0;

    for (uint32_t i = 0; i < THREADS; i++) {
        add_tcp(recording, 0, 10 + 2 * i, 0, 4000 + i, 0, 80)->role = PATH_ROLE_CONNECTED;
        add_tcp(recording, 0, 11 + 2 * i, 0, 80, 0, 4000 + i)->role = PATH_ROLE_ACCEPTED;
        add_stream(recording, 0, 20 + i, 1, 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t now = add_message(recording, 0, EVENT_SEND, 20 + i, 10 + 2 * i, 5)->header.time;
        asked = asked == 0 ? now : asked;
        add_message(recording, 0, EVENT_RECEIVE, 2, 11 + 2 * i, 5);
        now = add_message(recording, 0, EVENT_RECEIVECALL, 20 + i, 10 + 2 * i, 0)->header.time;
        called = called == 0 ? now : called;
        waits -= now;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t now = add_message(recording, 0, EVENT_SEND, 2, 11 + 2 * i, 5)->header.time;
        sent = sent == 0 ? now : sent;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        received = add_message(recording, 0, EVENT_RECEIVE, 20 + i, 10 + 2 * i, 5)->header.time;
        waits += received;
        add_message(recording, 0, i % 2 == 0 ? EVENT_DESTROYPATH : EVENT_SEND, 20 + i, 10 + 2 * i,
                    i % 2 == 0 ? 0 : 5);
    }
    struct communication *result = read_all(recording);
    const struct communication_pair *pair = NULL;
    for (size_t i = 0; i < result->pair_count; i++)
        if (result->pairs[i].from.processes[0] == 1)
            pair = &result->pairs[i];
    assert_non_null(pair);
    assert_int_equal(histogram_sum(&pair->times.of[TIME_RECEIVER_WAIT]), waits);
    assert_int_equal(pair->covered.receiver, received - called);
    assert_int_equal(pair->covered.message, received - sent);
    assert_true(histogram_sum(&result->processes[0].times.of[TIME_REQUEST_WHOLE]) >
                3 * (received - asked));
    assert_int_equal(result->processes[0].covered.request, received - asked);
    communication_free(result);
}

/* A message of a connection, in ms: when it is sent, arrives, and is received. */
struct delivery {
    uint32_t sent, queued, taken;
};

static uint64_t held_of(uint8_t kind, uint32_t answered, const struct delivery messages[2])
{
    struct statistics statistics = {.history = NULL};
    struct endpoint ends[2] = {{.kind = kind, .partner = &ends[1]}, {.partner = &ends[0]}};
    const uint64_t ms = 1000000, base = 5000 * ms;

    ends[0].queue.latest_sent = answered == 0 ? 0 : base + answered * ms;
    for (int i = 0; i < 2; i++)
        assert_int_equal(nagle_note(&statistics, &ends[0], base + messages[i].sent * ms,
                                    base + messages[i].queued * ms, base + messages[i].taken * ms),
                         0);
    const struct held_messages held = ends[1].queue.nagle.held;
    assert_int_equal(held.time,
                     held.messages == 0 ? 0 : (messages[1].queued - messages[1].sent) * ms);
    coverings_done(&statistics.coverings);
    return held.messages;
}

/* Only a message that is late by as much as an acknowledgement is delayed, shortly after one that was not late. */
static void nagle_is_told_from_other_delays(void **state)
{
    static const struct {
        uint64_t held;
        uint8_t kind;
        uint32_t answered; /* when the receiver sent last; 0: never */
        struct delivery messages[2];
    } cases[] = {
        {1, PATH_TCP, 0, {{0, 0, 1}, {1, 41, 42}}},
        {1, PATH_TCP, 0, {{0, 0, 1}, {1, 50, 60}}}, /* a slow tick of the kernel */
        {1, PATH_TCP, 0, {{0, 5, 6}, {1, 48, 48}}},
        {0, PATH_UNIX_STREAM, 0, {{0, 0, 1}, {1, 41, 42}}},
        {0, PATH_TCP, 0, {{0, 0, 1}, {1, 2, 3}}},      /* TCP_NODELAY */
        {0, PATH_TCP, 0, {{0, 0, 1}, {41, 41, 42}}},   /* the sender sleeps */
        {0, PATH_TCP, 0, {{0, 40, 41}, {41, 82, 83}}}, /* a slow network */
        {0, PATH_TCP, 0, {{0, 0, 45}, {1, 41, 45}}},   /* the receiver has not received the first */
        {0, PATH_TCP, 0, {{0, 0, 1}, {1, 210, 211}}},  /* a retransmission, or a corked segment */
        {0, PATH_TCP, 0, {{0, 0, 1}, {900, 941, 942}}}, /* acknowledged long ago */
        {0, PATH_TCP, 10, {{0, 0, 1}, {1, 41, 42}}},    /* the receiver's answer acknowledged */
        {1, PATH_TCP, 10, {{20, 20, 21}, {21, 61, 62}}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (held_of(cases[i].kind, cases[i].answered, cases[i].messages) != cases[i].held)
            fail_msg("case %zu", i);
}

/* Two processes that talk by two pipes do not ask and answer as far as a pipe goes. */
static void pipes_have_no_answers(void **state)
{
    struct recording *recording = known(state);

    struct path_record *path = add_tcp(recording, 0, 2, 0, 4000, 0, 80);
    path->kind = PATH_PIPE;
    path->role = PATH_ROLE_UNKNOWN;
    for (int i = 0; i < 10; i++)
        add_message(recording, 0, i % 2 == 0 ? EVENT_SEND : EVENT_RECEIVE, 1, 2, 10);
    struct communication *result = read_all(recording);
    for (size_t i = 0; i < result->process_count; i++)
        for (enum time_kind kind = TIME_RESPONSE; kind <= TIME_REQUEST_WHOLE; kind++)
            assert_int_equal(histogram_count(&result->processes[i].times.of[kind]), 0);
    communication_free(result);
}

/* Many different sizes, the first ones close together: precise to a sixteenth of an octave. */
static void sizes_are_told_precisely(void **state)
{
    struct recording *recording = known(state);

    add_tcp(recording, 0, 2, 0, 4000, 0, 80);
    for (uint32_t i = 0; i < 300; i++)
        add_message(recording, 0, EVENT_SEND, 1, 2, 10 + i);
    struct communication *result = read_all(recording);
    const struct histogram *sizes = &largest_path(result)->sizes;
    check_sizes(sizes, 300, 10, 309);
    for (unsigned i = 0; i < histogram_bars(sizes); i++) {
        struct histogram_bar bar = histogram_bar(sizes, i);
        assert_true((bar.to - bar.from) * 16 <= bar.from);
    }
    communication_free(result);
}

/* Process 0 sends requests to a UDP socket of process 1 that has no peer. Half are dropped. A TCP connection uses the
 * same addresses. */
static void joins_udp_and_counts_what_was_dropped(void **state)
{
    struct recording *recording = known(state);
    struct path_record *waiting = add_tcp(recording, 0, 1, 0, 53, 0, 0);
    struct path_record *client = add_tcp(recording, 0, 2, 0, 4000, 0, 53);
    struct path_record *server = add_tcp(recording, 0, 3, 0, 53, 0, 4000);
    struct record *dropped;

    waiting->kind = client->kind = server->kind = PATH_UDP;
    memset(waiting->remote, 0, sizeof(waiting->remote));
    add_tcp(recording, 0, 4, 0, 4000, 0, 53);
    add_message(recording, 0, EVENT_RECEIVECALL, 2, 1, 0);
    add_message(recording, 0, EVENT_SEND, 1, 2, 100);
    add_message(recording, 0, EVENT_RECEIVE, 2, 3, 100);
    for (uint32_t count = 1; count <= 3; count += 2) {
        dropped = add_message(recording, 0, EVENT_DROPPED, 0, 3, 0);
        dropped->header.flags = RECORD_NO_STREAM;
        dropped->dropped.count = count;
    }
    add_message(recording, 0, EVENT_SEND, 2, 3, 7);
    expect(recording, "path 5 127.0.0.1:4000 > 127.0.0.1:53 (0+ > 1+) 1/100 1/7");
    struct communication *result = read_all(recording);
    assert_int_equal(result->path_count, 2);
    assert_int_equal(result->paths[0].kind, PATH_UDP);
    assert_int_equal(result->paths[0].dropped, 3);
    assert_int_equal(result->dropped, 3);
    communication_free(result);
}

/* ---- connections that are not used, or not made ---- */

static struct record *add_failure(struct recording *recording, uint32_t stream, uint32_t path,
                                  uint32_t error, uint32_t span)
{
    struct record *record = &add(recording, 0, EVENT_CONNECTFAILED, stream)->event;

    record->failed.path = path;
    record->failed.error = error;
    record->failed.span = span;
    add_message(recording, 0, EVENT_DESTROYPATH, 0, path, 0)->header.flags = RECORD_NO_STREAM;
    return record;
}

/* Process 0 fails four times at one address and once at another, process 1 once, after its end. */
static void counts_connections_that_fail(void **state)
{
    static const uint32_t errors[] = {ECONNREFUSED, ETIMEDOUT, ECANCELED, 0};
    struct recording *recording = known(state);

    for (uint32_t i = 0; i < ARRAY_SIZE(errors); i++) {
        add_tcp(recording, 0, 10 + i, 0, 4000 + i, 0, 81)->role = PATH_ROLE_CONNECTED;
        add_failure(recording, 1, 10 + i, errors[i], 100 * (i + 1));
    }
    add_tcp(recording, 0, 20, 0, 5000, 9, 81)->role = PATH_ROLE_CONNECTED;
    add_failure(recording, 1, 20, EHOSTUNREACH, 5);
    add(recording, 0, EVENT_TERMINATION, 2)->event.termination.last = 1;
    add_tcp(recording, 0, 21, 0, 5000, 0, 81)->role = PATH_ROLE_CONNECTED;
    add_failure(recording, 2, 21, ECONNREFUSED, 7)->header.flags = RECORD_NO_STREAM;
    struct communication *result = read_all(recording);
    assert_int_equal(result->failed, 6);
    assert_int_equal(result->failure_count, 3);
    assert_int_equal(result->connections, 0);
    assert_int_equal(result->path_count, 0);
    const struct communication_failure *row = &result->failures[0];
    assert_int_equal(row->process, 0);
    assert_string_equal(row->address, "127.0.0.1:81");
    assert_int_equal(row->count, 4);
    assert_int_equal(row->of[FAILURE_REFUSED], 1);
    assert_int_equal(row->of[FAILURE_TIMED_OUT], 1);
    assert_int_equal(row->of[FAILURE_GIVEN_UP], 1);
    assert_int_equal(row->of[FAILURE_OTHER], 1);
    assert_int_equal(histogram_sum(&row->times), 1000);
    assert_string_equal(result->failures[1].address, "10.0.0.9:81");
    assert_int_equal(result->failures[1].of[FAILURE_UNREACHABLE], 1);
    assert_int_equal(result->failures[2].process, 1);
    assert_int_equal(result->failures[2].of[FAILURE_REFUSED], 1);
    struct communication *groups;
    assert_int_equal(communication_group(result, BY_MACHINE, &groups), 0);
    assert_int_equal(groups->failure_count, 2);
    assert_int_equal(groups->failures[0].count, 5);
    assert_int_equal(groups->failed, 6);
    communication_free(groups);
    communication_free(result);
}

/* Of three connections one has a message, one only the end of the file, and one nothing. A listener is none. */
static void counts_connections_without_messages(void **state)
{
    struct recording *recording = known(state);

    add_tcp(recording, 0, 1, 0, 80, 0, 0)->role = PATH_ROLE_LISTENS;
    add_message(recording, 0, EVENT_CREATEPATH, 2, 1, 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct path_record *client = add_tcp(recording, 0, 10 + i, 0, 4000 + i, 0, 80);
        struct path_record *server = add_tcp(recording, 0, 20 + i, 0, 80, 0, 4000 + i);
        client->role = PATH_ROLE_CONNECTED;
        server->role = PATH_ROLE_ACCEPTED;
        client->start_out = server->start_in = i;
        add_message(recording, 0, EVENT_CONNECT, 1, 10 + i, 0);
        add_message(recording, 0, EVENT_ACCEPT, 2, 20 + i, 0);
    }
    add_message(recording, 0, EVENT_SEND, 1, 10, 5);
    add_message(recording, 0, EVENT_RECEIVE, 2, 20, 5);
    add_message(recording, 0, EVENT_RECEIVE, 2, 21, 0)->header.flags = RECORD_END_OF_FILE;
    struct communication *result = read_all(recording);
    assert_int_equal(result->connections, 3);
    assert_int_equal(result->unused, 2);
    assert_int_equal(result->path_count, 1);
    communication_free(result);
}

/* Only the name of an accepted UNIX socket is known until its peer has sent. */
static void joins_what_is_known_later(void **state)
{
    struct recording *recording = known(state);
    struct path_record *server = add_unix(recording, 0, 1, PATH_UNIX_STREAM, 0, 0);

    server->role = PATH_ROLE_ACCEPTED;
    add_message(recording, 0, EVENT_ACCEPT, 2, 1, 0);
    add_unix(recording, 0, 2, PATH_UNIX_STREAM, 8, 9)->role = PATH_ROLE_CONNECTED;
    add_message(recording, 0, EVENT_SEND, 1, 2, 50);
    add_unix(recording, 0, 1, PATH_UNIX_STREAM, 9, 8)->role = PATH_ROLE_ACCEPTED;
    add_message(recording, 0, EVENT_RECEIVE, 2, 1, 50);
    expect(recording, "path 2 socket#8 > socket#9 (0+ > 1+) 1/50 0/0");
}

/* A port is reused. Positions distinguish the two connections, in any order of records. */
static void tells_reused_ports_apart(void **state)
{
    struct recording *recording = known(state);

    for (uint32_t path = 1; path <= 2; path++) {
        struct path_record *client = add_tcp(recording, 0, path, 0, 4000, 0, 80);
        client->role = PATH_ROLE_CONNECTED;
        client->start_out = path;
        add_message(recording, 0, EVENT_SEND, 1, path, 100 * path);
    }
    for (uint32_t path = 3; path <= 4; path++) {
        struct path_record *server = add_tcp(recording, 0, path, 0, 80, 0, 4000);
        server->role = PATH_ROLE_ACCEPTED;
        server->start_in = path - 2;
        add_message(recording, 0, EVENT_RECEIVE, path - 1, path, 1);
    }
    expect(recording, "path 1 127.0.0.1:4000 > 127.0.0.1:80 (0+ > 1+) 1/100 0/0");
    expect(recording, "path 1 127.0.0.1:4000 > 127.0.0.1:80 (0+ > 2+) 1/200 0/0");
}

/* The positions of an end older than the metering are unknown: addresses decide, unless it was closed before the other
 * end appeared. */
static void joins_older_ends_while_they_live(void **state)
{
    for (unsigned closed = 0; closed < 2; closed++) {
        struct recording *recording = known(state);
        struct path_record *older = add_tcp(recording, 0, 1, 0, 80, 0, 4000);
        older->header.flags |= RECORD_OLDER;
        older->start_in = 55;
        add_message(recording, 0, EVENT_SEND, 2, 1, 3);
        if (closed)
            add_message(recording, 0, EVENT_DESTROYPATH, 2, 1, 0);
        add_tcp(recording, 0, 2, 0, 4000, 0, 80)->role = PATH_ROLE_CONNECTED;
        add_message(recording, 0, EVENT_SEND, 1, 2, 4);
        expect(recording, closed ? "path 1 127.0.0.1:4000 > 127.0.0.1:80 (0+ > ) 1/4 0/0"
                                 : "path 1 127.0.0.1:4000 > 127.0.0.1:80 (0+ > 1+) 1/4 1/3");
    }
}

/* An end with equal positions is preferred to the latest older end. */
static void prefers_what_is_certain(void **state)
{
    struct recording *recording = known(state);

    add_tcp(recording, 0, 1, 0, 80, 0, 4000)->start_in = 7;
    add_message(recording, 0, EVENT_RECEIVE, 2, 1, 4);
    add_tcp(recording, 0, 2, 0, 80, 0, 4000)->header.flags |= RECORD_OLDER;
    add_message(recording, 0, EVENT_RECEIVE, 3, 2, 9);
    struct path_record *client = add_tcp(recording, 0, 3, 0, 4000, 0, 80);
    client->role = PATH_ROLE_CONNECTED;
    client->start_out = 7;
    add_message(recording, 0, EVENT_SEND, 1, 3, 4);
    expect(recording, "path 1 127.0.0.1:4000 > 127.0.0.1:80 (0+ > 1+) 1/4 0/0");
}

/* procTime wraps at 48 bits (78 hours); a record that overtook another does not count as a wrap. */
static void unwraps_cpu_time(void **state)
{
    struct recording *recording = known(state);
    static const uint64_t times[] = {0x7fffffffff00, 0xfffffffffe00, 0xfffffffffd00, 0x10};

    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        add(recording, 0, EVENT_BLOCK, 1)->header.proc_time_and_pc = times[i];
    expect(recording, "process 0: 0 p1 1001 parent 4294967295 cpu 281474976710672 0/0 0/0");
}

/* CPU time from before metering does not count; what a later STREAM record adds does. */
static void counts_cpu_time_while_metered(void **state)
{
    struct recording *recording = known(state);

    add_stream(recording, 0, 9, 9, 0);
    recording->records[recording->count - 1].header.proc_time_and_pc = 5000;
    add(recording, 0, EVENT_BLOCK, 9)->header.proc_time_and_pc = 5700;
    add_stream(recording, 0, 9, 9, 0);
    recording->records[recording->count - 1].header.proc_time_and_pc = 6000;
    expect(recording, "process 3: 0 p9 1009 parent 4294967295 cpu 1000 0/0 0/0");
}

/* A client with an IPv4 socket and a server with a dual-stack IPv6 one. */
static void joins_both_forms_of_an_address(void **state)
{
    struct recording *recording = known(state);
    struct path_record *client = add_tcp(recording, 0, 1, 0, 4000, 0, 80);
    struct path_record *server = add_tcp(recording, 0, 2, 0, 80, 0, 4000);

    client->role = PATH_ROLE_CONNECTED;
    server->family = AF_INET6;
    inet_pton(AF_INET6, "::ffff:127.0.0.1", server->local);
    inet_pton(AF_INET6, "::ffff:127.0.0.1", server->remote);
    add_message(recording, 0, EVENT_SEND, 1, 1, 5);
    add_message(recording, 0, EVENT_RECEIVE, 2, 2, 5);
    expect(recording, "path 1 127.0.0.1:4000 > [::ffff:127.0.0.1]:80 (0+ > 1+) 1/5 0/0");
}

/* Only the server is metered: messages of clients are counted where they are received. */
static void counts_for_an_unmetered_end(void **state)
{
    struct recording *recording = known(state);

    add_tcp(recording, 0, 1, 0, 80, 9, 4000)->role = PATH_ROLE_ACCEPTED;
    add_message(recording, 0, EVENT_RECEIVE, 2, 1, 30);
    add_message(recording, 0, EVENT_SEND, 2, 1, 7);
    expect(recording, "path 1 10.0.0.9:4000 > 127.0.0.1:80 ( > 1+) 1/30 1/7");
    expect(recording, "pair 10.0.0.9:4000 > 1+ 1/30 0 0");
    expect(recording, "pair 1+ > 10.0.0.9:4000 1/7 0 0");
}

/* Two processes have the receiving end open: both are listed. */
static void names_all_holders(void **state)
{
    struct recording *recording = known(state);

    add_unix(recording, 0, 1, PATH_UNIX_SEQPACKET, 8, 9);
    add_unix(recording, 0, 2, PATH_UNIX_SEQPACKET, 9, 8);
    add_message(recording, 0, EVENT_SEND, 1, 1, 0); /* empty messages count here */
    add_message(recording, 0, EVENT_RECEIVE, 3, 2, 0);
    add_message(recording, 0, EVENT_RECEIVECALL, 2, 2, 0);
    expect(recording, "pair 0+ > 1+2+ 1/0 1 1");
    expect(recording, "path 4 socket#8 > socket#9 (0+ > 1+2+) 1/0 0/0");
}

static void add_file(struct recording *recording, uint32_t path, uint64_t inode, const char *name)
{
    struct path_record *record = &add(recording, 0, EVENT_PATH, 0)->path;

    record->header.flags = RECORD_NO_STREAM;
    record->path = path;
    record->kind = PATH_FILE;
    record->inode = inode;
    record->network = 8;
    snprintf(record->name, sizeof(record->name), "%s", name);
}

static void close_file(struct recording *recording, uint32_t path, uint32_t closes)
{
    struct record *record = add_message(recording, 0, EVENT_DESTROYPATH, 0, path, closes);

    record->header.flags = RECORD_NO_STREAM;
}

static void expect_file(const struct communication_file *file, uint32_t process, const char *name,
                        uint64_t opens, uint64_t closes, const uint64_t figures[6])
{
    assert_int_equal(file->process, process);
    assert_string_equal(file->name, name);
    assert_int_equal(file->opens, opens);
    assert_int_equal(file->closes, closes);
    assert_int_equal(file->reads.calls, figures[0]);
    assert_int_equal(file->reads.bytes, figures[1]);
    assert_int_equal(histogram_sum(&file->reads.times), figures[2]);
    assert_int_equal(file->writes.calls, figures[3]);
    assert_int_equal(file->writes.bytes, figures[4]);
    assert_int_equal(histogram_sum(&file->writes.times), figures[5]);
}

/* Two paths of one process to one file share a row; another process has its own; groups add them up. */
static void files_have_rows(void **state)
{
    struct recording *recording = known(state);
    struct communication *result, *groups;

    add_file(recording, 1, 70, "/data/one");
    add_message(recording, 0, EVENT_CREATEPATH, 1, 1, 0);
    add_message(recording, 0, EVENT_READ, 1, 1, 100)->message.span = 5;
    add_message(recording, 0, EVENT_READ, 1, 1, 0)->message.span = 1;
    close_file(recording, 1, 1);
    add_file(recording, 2, 70, "/data/one");
    add_message(recording, 0, EVENT_CREATEPATH, 1, 2, 0)->header.flags = RECORD_OLDER;
    add_message(recording, 0, EVENT_WRITE, 1, 2, 30)->message.span = 7;
    add_file(recording, 3, 70, "/data/one");
    add_message(recording, 0, EVENT_CREATEPATH, 2, 3, 0);
    add_message(recording, 0, EVENT_WRITE, 2, 3, 40)->message.span = 2;
    close_file(recording, 3, 1);
    add_message(recording, 0, EVENT_READ, 3, 99, 1000); /* its PATH was lost */
    result = read_all(recording);
    assert_int_equal(result->file_count, 2);
    expect_file(&result->files[0], 0, "/data/one", 1, 1, (uint64_t[]){2, 100, 6, 1, 30, 7});
    expect_file(&result->files[1], 1, "/data/one", 1, 1, (uint64_t[]){0, 0, 0, 1, 40, 2});
    assert_int_equal(result->path_count, 0);
    assert_int_equal(result->connections, 0);
    assert_int_equal(communication_group(result, BY_MACHINE, &groups), 0);
    assert_int_equal(groups->file_count, 1);
    expect_file(&groups->files[0], 0, "/data/one", 2, 2, (uint64_t[]){2, 100, 6, 2, 70, 9});
    communication_free(groups);
    communication_free(result);
}

/* More files than rows: the sums stay. */
static void very_many_files_share_a_row(void **state)
{
    struct files files = {0};
    struct communication rows = {0}, result = {0};
    struct identities *identities;
    struct path_record path = {.header = {.id = EVENT_PATH}, .path = 1, .kind = PATH_FILE};
    struct record record = {.header = {.id = EVENT_READ}, .message = {.path = 1, .bytes = 3}};
    uint64_t calls = 0;

    (void)state;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t i = 0; i < MOST_FILES + 50; i++) {
        const struct event event = {&path.header, 0, 0};
        path.inode = i + 1;
        assert_int_equal(identities_add(identities, &event), 0);
        for (int k = 0; k < 2; k++)
            assert_int_equal(files_count(&files, identities, &rows, 0, 0, &record), 0);
    }
    assert_int_equal(files_build(&files, &result), 0);
    assert_int_equal(result.file_count, MOST_FILES + 1);
    assert_string_equal(result.files[0].name, "*");
    assert_int_equal(result.files[0].process, NO_PROCESS);
    assert_int_equal(result.files[0].reads.bytes, 50 * 2 * 3);
    for (size_t i = 0; i < result.file_count; i++)
        calls += result.files[i].reads.calls;
    assert_int_equal(calls, (MOST_FILES + 50) * 2);
    files_done(&files);
    file_rows_done(result.files, result.file_count);
    free(result.files);
    arena_done(&result.memory);
    arena_done(&rows.memory);
    intern_done(&result.piece_keys);
    intern_done(&rows.piece_keys);
    free(result.pieces);
    free(rows.pieces);
    identities_free(identities);
}

/* `--flags receive`: sends are not recorded, so receives are counted. */
static void counts_receives_without_sends(void **state)
{
    struct recording *recording = known(state);

    recording->records[0].machine.meter_flags = EVENT_FLAG(EVENT_RECEIVE);
    add_unix(recording, 0, 1, PATH_UNIX_STREAM, 8, 9);
    add_unix(recording, 0, 2, PATH_UNIX_STREAM, 9, 8);
    add_message(recording, 0, EVENT_RECEIVE, 1, 1, 4);
    add_message(recording, 0, EVENT_RECEIVE, 2, 2, 6);
    expect(recording, "path 2 socket#8 > socket#9 (0+ > 1+) 1/6 1/4");
    expect(recording, "pair 0+ > 1+ 1/6 1 0");
    struct communication *result = read_all(recording);
    for (size_t i = 0; i < result->pair_count; i++)
        assert_int_equal(histogram_sum(&result->pairs[i].sizes), result->pairs[i].sent.bytes);
    communication_free(result);
}

/* The latest identity of the first stream, and the names of its numbers, recorded early or late. */
static void processes_have_names(void **state)
{
    struct recording *recording = *state;

    recording_begin(recording, 1);
    add_machine(recording, 0, 1);
    random_names(recording, 0);
    add_stream(recording, 0, 1, 1, 0);
    add_stream(recording, 0, 1, 1, 0);
    struct stream_record *stream = &recording->records[recording->count - 1].stream;
    stream->user = 5;
    stream->cgroup = 1ULL << 40;
    stream->pid_inside = 17;
    stream->pid_namespace = 4026531836u;
    stream->image = 2;
    add_stream(recording, 0, 2, 2, 1);
    add_name(recording, 0, NAME_USER, 5, "berta");
    add_name(recording, 0, NAME_CGROUP, 1ULL << 40, "/late");
    struct communication *result = read_all(recording);
    assert_int_equal(result->process_count, 2);
    const struct communication_process *process = &result->processes[0];
    assert_int_equal(process->user, 5);
    assert_string_equal(process->user_name, "berta");
    assert_true(process->cgroup == 1ULL << 40);
    assert_string_equal(process->cgroup_name, "/late");
    assert_int_equal(process->pid_inside, 17);
    assert_int_equal(process->pid_namespace, 4026531836u);
    assert_string_equal(process->program, "p1");
    assert_null(process->group);
    assert_int_equal(process->group_size, 1);
    process = &result->processes[1];
    assert_null(process->user_name);
    assert_null(process->cgroup_name);
    assert_null(process->program);
    communication_free(result);
}

static void says_what_the_recording_was(void **state)
{
    struct recording *recording = known(state);
    struct communication *result = NULL;

    recording->states[0] =
        (struct source_state){.lost = 4, .skipped = 3, .complete = true, .end_reason = END_SIZE};
    recording->records[3].header.time = 5000;
    result = read_all(recording);
    assert_int_equal(result->lost, 4);
    assert_int_equal(result->skipped, 3);
    assert_false(result->complete);
    assert_int_equal(result->duration, 5000 - 20); /* MACHINE, at 10, is older than the recording */
    assert_string_equal(result->machines[0].name, "host");
    communication_free(result);
    recording->states[0].end_reason = END_COMPLETE;
    result = read_all(recording);
    assert_true(result->complete);
    communication_free(result);
}

/* Two machines of the same name are distinguished. */
static void names_machines_apart(void **state)
{
    struct recording *recording = *state;

    recording_begin(recording, 3);
    add_machine(recording, 0, 1);
    add_machine(recording, 1, 2);
    add_machine(recording, 2, 1);
    struct communication *result = read_all(recording);
    assert_int_equal(result->machine_count, 2);
    assert_string_equal(result->machines[0].name, "host");
    assert_string_equal(result->machines[1].name, "host (2)");
    communication_free(result);
}

static int broken_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                       struct problem *problem)
{
    (void)source;
    (void)ret_event;
    (void)ret_complete;
    return problem_set(problem, -EIO, "the disk is on fire");
}

static int silent_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                       struct problem *problem)
{
    (void)source;
    (void)ret_event;
    (void)ret_complete;
    (void)problem;
    return -ENOMEM;
}

/* Two recordings of the first machine, whose wall clock was set by 5000 ns in between. The other machine's is then 9000
 * ns ahead of it. */
static void compares_clocks_of_machines(void **state)
{
    struct recording *recording = *state;

    recording_begin(recording, 3);
    recording->tapes[1].wall_offset = 15000;
    recording->tapes[2].wall_offset = 6000;
    for (uint32_t origin = 0; origin < 3; origin++) {
        add_machine(recording, origin, origin == 1 ? 2 : 1);
        add_stream(recording, origin, 1, 1, 0);
    }
    add_tcp(recording, 0, 2, 1, 4000, 2, 80)->role = PATH_ROLE_CONNECTED;
    add_tcp(recording, 1, 2, 2, 80, 1, 4000)->role = PATH_ROLE_ACCEPTED;
    add_message(recording, 0, EVENT_SEND, 1, 2, 8);
    add_message(recording, 1, EVENT_RECEIVE, 1, 2, 8);
    add_message(recording, 1, EVENT_SEND, 1, 2, 8);
    add_message(recording, 0, EVENT_RECEIVE, 1, 2, 8);
    add(recording, 2, EVENT_TERMINATION, 1);
    struct communication *result = read_all(recording);
    assert_int_equal(result->machine_count, 2);
    const struct communication_machine *first = &result->machines[0], *other = first + 1;
    assert_int_equal(first->clock_offset, 0);
    assert_int_equal(first->clock_ahead, 0);
    assert_int_equal(first->clock_error, 0);
    assert_in_range(other->clock_error, 1, 100);
    assert_in_range(other->clock_ahead + (int64_t)other->clock_error, 9000,
                    9000 + 2 * other->clock_error);
    communication_free(result);
}

/* A client and a server on machines whose clocks differ by this. Their wall clocks differ by something else. */
#define SERVER_AHEAD 5000000000ULL

/* Two recordings of one machine, whose wall clock was set by five seconds in between: they have one clock. */
static void one_machine_has_one_clock(void **state)
{
    struct recording *recording = *state;

    recording_begin(recording, 2);
    recording->tapes[1].wall_offset = 5000000000;
    for (uint32_t origin = 0; origin < 2; origin++) {
        add_machine(recording, origin, 1);
        struct machine_record *machine = &recording->records[recording->count - 1].machine;
        memset(machine->boot_id, 7, sizeof(machine->boot_id));
        add_stream(recording, origin, 1, 1, 0);
        add_message(recording, origin, EVENT_SEND, 1, 2, 8);
    }
    struct communication *result = read_all(recording);
    assert_in_range(result->duration, 1, 1000000000);
    communication_free(result);
}

static void begin_server(struct recording *recording)
{
    recording_begin(recording, 2);
    recording->tapes[1].wall_offset = 3600000000000;
    for (uint32_t origin = 0; origin < 2; origin++) {
        add_machine(recording, origin, (uint8_t)(origin + 1));
        union any_record *machine = &recording->records[recording->count - 1];
        machine->machine.meter_flags = UINT32_MAX;
        machine->header.time = origin * SERVER_AHEAD + 1;
        add_stream(recording, origin, 1, 1, 0);
        recording->records[recording->count - 1].header.time = origin * SERVER_AHEAD + 2;
    }
    add_tcp(recording, 0, 2, 1, 4000, 2, 80)->role = PATH_ROLE_CONNECTED;
    recording->records[recording->count - 1].header.time = 3;
    add_tcp(recording, 1, 2, 2, 80, 1, 4000)->role = PATH_ROLE_ACCEPTED;
    recording->records[recording->count - 1].header.time = SERVER_AHEAD + 3;
}

/* Sends message `number` of 8 bytes. It arrives after 10 ns and is received after a given wait. */
static void pass(struct recording *recording, uint32_t from, uint32_t number, uint64_t sent,
                 uint64_t taken_after)
{
    uint64_t own = from * SERVER_AHEAD, other = (1 - from) * SERVER_AHEAD;
    struct record *record = add_message(recording, from, EVENT_SEND, 1, 2, 8);

    record->message.offset = 8 * number;
    record->header.time = own + sent;
    record = &add(recording, 1 - from, EVENT_MESSAGEQUEUED, 0)->event;
    record->header.flags = RECORD_NO_STREAM;
    record->header.time = other + sent + 10;
    record->queued.path = 2;
    record->queued.offset = 8 * number;
    record->queued.bytes = record->queued.queue = 8;
    record = add_message(recording, 1 - from, EVENT_RECEIVE, 1, 2, 8);
    record->message.offset = 8 * number;
    record->header.time = other + sent + 10 + taken_after;
}

static const struct communication_pair *pair_to(const struct communication *result, uint32_t to)
{
    for (size_t i = 0; i < result->pair_count; i++)
        if (result->pairs[i].to.count == 1 &&
            result->processes[result->pairs[i].to.processes[0]].origin == to)
            return &result->pairs[i];
    fail_msg("nobody sends to machine %u", to);
    return NULL;
}

#define MOST_WRONG 600 /* ns: the drift of a millisecond */

/* A server receives requests a millisecond after they arrive: only it is late, neither the network nor its clock. */
static void a_late_server_is_no_clock(void **state)
{
    const uint32_t requests = 20;
    struct recording *recording = *state;

    begin_server(recording);
    for (uint32_t i = 0; i < requests; i++) {
        pass(recording, 0, i, 100 + 2000000ULL * i, 1000000);
        pass(recording, 1, i, 100 + 2000000ULL * i + 1000100, 20);
    }
    struct communication *result = read_all(recording);
    assert_in_range(result->machines[1].clock_error, 1, MOST_WRONG);
    const struct histogram *waits = &pair_to(result, 1)->times.of[TIME_MESSAGE_WAIT];
    assert_int_equal(histogram_count(waits), requests);
    assert_int_equal(histogram_sum(waits),
                     1000000ULL * requests); /* by its own clock, regardless of clock offsets */
    for (uint32_t to = 0; to < 2; to++) {
        const struct histogram *deliveries = &pair_to(result, to)->times.of[TIME_DELIVERY];
        assert_in_range(histogram_count(deliveries), requests / 2, requests);
        assert_true(histogram_max(deliveries) <= 10 + 2 * MOST_WRONG);
    }
    communication_free(result);
}

/* The last message counts for the clock offset although no record follows it. */
static void clocks_are_told_by_the_last_message(void **state)
{
    struct recording *recording = *state;

    begin_server(recording);
    pass(recording, 0, 0, 100, 500);
    pass(recording, 1, 0, 1000, 700);
    struct communication *result = read_all(recording);
    assert_in_range(result->duration, 1000, 3000);
    communication_free(result);
}

/* After any failure there is a line for the user. */
static void says_something_for_who_says_nothing(void **state)
{
    struct recording *recording = *state;
    struct communication *result = NULL;
    struct problem problem = {""};

    recording_begin(recording, 1);
    recording->tapes[0].source.next = silent_next;
    struct history *history = new_history(recording);
    assert_int_equal(communication_read_history(history, 1, 0, &result, &problem), -ENOMEM);
    assert_string_equal(problem.text, "out of memory");
    history_free(history);
}

static void passes_on_what_the_source_says(void **state)
{
    struct recording *recording = *state;
    struct communication *result = NULL;
    struct problem problem;

    recording_begin(recording, 1);
    recording->tapes[0].source.next = broken_next;
    struct history *history = new_history(recording);
    assert_int_equal(communication_read_history(history, 1, 0, &result, &problem), -EIO);
    history_free(history);
    assert_string_equal(problem.text, "the disk is on fire");
    assert_null(result);
}

static int make_recording(void **state)
{
    *state = malloc(sizeof(struct recording));
    return *state == NULL ? -1 : 0;
}

static int free_recording(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_naive),
        cmocka_unit_test(pairs_and_paths_agree),
        cmocka_unit_test(groups_agree_with_naive),
        cmocka_unit_test(processes_have_names),
        cmocka_unit_test(any_bytes_are_survived),
        cmocka_unit_test(joins_a_tcp_connection),
        cmocka_unit_test(sizes_are_those_of_calls),
        cmocka_unit_test(sizes_of_many_threads_are_all_there),
        cmocka_unit_test(answers_are_those_who_asked),
        cmocka_unit_test(answers_end_with_their_last_byte),
        cmocka_unit_test(waits_at_once_are_covered_once),
        cmocka_unit_test(nagle_is_told_from_other_delays),
        cmocka_unit_test(pipes_have_no_answers),
        cmocka_unit_test(sizes_are_told_precisely),
        cmocka_unit_test(joins_udp_and_counts_what_was_dropped),
        cmocka_unit_test(joins_what_is_known_later),
        cmocka_unit_test(tells_reused_ports_apart),
        cmocka_unit_test(joins_older_ends_while_they_live),
        cmocka_unit_test(prefers_what_is_certain),
        cmocka_unit_test(unwraps_cpu_time),
        cmocka_unit_test(counts_cpu_time_while_metered),
        cmocka_unit_test(counts_connections_that_fail),
        cmocka_unit_test(counts_connections_without_messages),
        cmocka_unit_test(joins_both_forms_of_an_address),
        cmocka_unit_test(counts_for_an_unmetered_end),
        cmocka_unit_test(names_all_holders),
        cmocka_unit_test(files_have_rows),
        cmocka_unit_test(very_many_files_share_a_row),
        cmocka_unit_test(counts_receives_without_sends),
        cmocka_unit_test(says_what_the_recording_was),
        cmocka_unit_test(names_machines_apart),
        cmocka_unit_test(compares_clocks_of_machines),
        cmocka_unit_test(one_machine_has_one_clock),
        cmocka_unit_test(a_late_server_is_no_clock),
        cmocka_unit_test(clocks_are_told_by_the_last_message),
        cmocka_unit_test(passes_on_what_the_source_says),
        cmocka_unit_test(says_something_for_who_says_nothing),
    };

    return cmocka_run_group_tests_name("statistics", tests, make_recording, free_recording);
}
