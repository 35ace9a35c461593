/* SPDX-License-Identifier: MIT */
/*
 * causality_memory_test.c: request paths of twice as many messages take no more memory, for every kind of request and
 * by either rule.
 *
 *      flood: | MACHINE STREAM ... PATH ... | round | round | round ... (made as they are asked for)
 */
#include "analysis/causality/causality.h"

#include "tapes.h"

#include <malloc.h>

#define PROCESSES 12

enum kind {
    KIND_ENDLESS,    /* one endless request goes from process to process at random */
    KIND_CONNECTED,  /* each request has its own connection, which is closed afterwards */
    KIND_UNANSWERED, /* the same, without a reply */
    KIND_PIPELINED,  /* one connection carries all of them, and none is answered */
    KIND_BY_ITSELF,  /* no request: a process sends, and its connection ends */
    KIND_COUNT,
};

union any_record {
    struct record_header header;
    struct machine_record machine;
    struct stream_record stream;
    struct path_record path;
    struct record record;
};

#define ROUND_MOST (1 + PROCESSES + 2 * PROCESSES * PROCESSES)

/* A source that makes its records round by round. */
struct flood {
    struct source source;
    struct source_state state;
    enum kind kind;
    uint64_t rounds, left; /* rounds in all, and still to be made */
    uint64_t seed, time;
    union any_record records[ROUND_MOST];
    size_t count, at;
    uint32_t sequences[PROCESSES + 1];
    uint32_t sent[2 * PROCESSES * PROCESSES + 1]; /* bytes, by path of the sender */
    uint32_t asked;                               /* bytes sent on the pipelined connection */
    uint32_t process;                             /* the process that has the endless request */
    uint32_t next_path;
};

static union any_record *add(struct flood *flood, enum event_id id, uint32_t stream)
{
    union any_record *record = &flood->records[flood->count++];

    memset(record, 0, sizeof(*record));
    record->header.time = flood->time += 100;
    record->header.id = (uint8_t)id;
    record->header.stream = stream;
    if (id >= EVENT_SEND && id <= EVENT_TERMINATION)
        record->header.sequence = flood->sequences[stream]++;
    else
        record->header.flags = RECORD_NO_STREAM;
    return record;
}

static void add_bytes(struct flood *flood, enum event_id id, uint32_t stream, uint32_t path,
                      uint32_t offset, uint32_t bytes)
{
    struct record *record = &add(flood, id, stream)->record;

    record->message.path = path;
    record->message.offset = offset;
    record->message.bytes = bytes;
}

static void add_path(struct flood *flood, uint32_t number, uint64_t cookie, uint64_t peer,
                     enum path_role role)
{
    union any_record *record = add(flood, EVENT_PATH, 0);

    record->path.path = number;
    record->path.kind = PATH_UNIX_STREAM;
    record->path.family = AF_UNIX;
    record->path.cookie = cookie;
    record->path.peer = peer;
    record->path.role = (uint8_t)role;
}

/* Adds an unmonitored requestor. */
static uint32_t add_client(struct flood *flood)
{
    struct path_record *path = &add(flood, EVENT_PATH, 0)->path;

    path->path = flood->next_path;
    path->kind = PATH_TCP;
    path->family = AF_INET;
    path->local[0] = path->remote[0] = 10;
    path->local[3] = 1;
    path->remote[2] = (uint8_t)(flood->next_path >> 16);
    path->remote[3] = 2;
    path->local_port = 80;
    path->remote_port = (uint16_t)flood->next_path;
    path->role = PATH_ROLE_ACCEPTED;
    return flood->next_path++;
}

/* The end that `from` uses to call `to`; the next number is the other end. */
static uint32_t path_between(uint32_t from, uint32_t to)
{
    return 1 + 2 * ((from - 1) * PROCESSES + to - 1);
}

static void begin(struct flood *flood)
{
    struct machine_record *machine = &add(flood, EVENT_MACHINE, 0)->machine;

    machine->meter_flags = METER_EVENT_FLAGS;
    machine->machine_id[0] = machine->boot_id[0] = 1;
    snprintf(machine->addresses, sizeof(machine->addresses), "10.0.0.1");
    for (uint32_t i = 1; i <= PROCESSES; i++) {
        union any_record *record = add(flood, EVENT_STREAM, 0);
        record->header.stream = record->stream.process = i;
        record->header.flags = 16;
        record->stream.pid = record->stream.tid = 100 + i;
    }
    for (uint32_t path = 1; path <= 2 * PROCESSES * PROCESSES; path += 2) {
        add_path(flood, path, path, path + 1, PATH_ROLE_CONNECTED);
        add_path(flood, path + 1, path + 1, path, PATH_ROLE_ACCEPTED);
    }
    flood->next_path = 2 * PROCESSES * PROCESSES + 1;
    flood->process = 1;
}

static void pass(struct flood *flood, uint32_t from, uint32_t to)
{
    uint32_t path = path_between(from, to);

    add_bytes(flood, EVENT_SEND, from, path, flood->sent[path], 10);
    add_bytes(flood, EVENT_RECEIVE, to, path + 1, flood->sent[path], 10);
    flood->sent[path] += 10;
}

static void make_round(struct flood *flood)
{
    uint32_t to = 1 + (uint32_t)random_below(&flood->seed, PROCESSES);

    if (flood->kind == KIND_ENDLESS) {
        if (flood->left + 1 == flood->rounds) {
            add_bytes(flood, EVENT_RECEIVE, flood->process, add_client(flood), 0, 10);
        }
        pass(flood, flood->process, to);
        flood->process = to;
        return;
    }
    uint32_t client = flood->kind == KIND_PIPELINED && flood->asked > 0 ? flood->next_path - 1
                                                                        : add_client(flood);
    if (flood->kind == KIND_BY_ITSELF) {
        pass(flood, 1, 2 + to % (PROCESSES - 1));
        add_bytes(flood, EVENT_RECEIVE, 1, client, 0, 0);
        flood->records[flood->count - 1].header.flags |= RECORD_END_OF_FILE;
    } else {
        add_bytes(flood, EVENT_RECEIVE, 1, client, flood->asked, 10);
        flood->asked += flood->kind == KIND_PIPELINED ? 10 : 0;
        pass(flood, 1, 2 + to % (PROCESSES - 1));
    }
    if (flood->kind == KIND_CONNECTED)
        add_bytes(flood, EVENT_SEND, 1, client, 0, 10);
    if (flood->kind != KIND_PIPELINED)
        add_bytes(flood, EVENT_DESTROYPATH, 1, client, 0, 0);
}

static int flood_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                      struct problem *problem)
{
    struct flood *flood = (struct flood *)source;

    (void)problem;
    (void)ret_complete;
    if (flood->at == flood->count) {
        if (flood->left == 0)
            return SOURCE_END;
        flood->at = flood->count = 0;
        flood->left--;
        make_round(flood);
    }
    *ret_event = (struct event){&flood->records[flood->at++].header, 0, 0};
    return SOURCE_RECORD;
}

/* Bytes of memory in use after this many rounds. */
static size_t memory_of(enum kind kind, bool last, uint64_t rounds)
{
    struct flood *flood = calloc(1, sizeof(*flood));
    static const char *const servers[PROCESSES] = {"101", "102", "103", "104", "105", "106",
                                                   "107", "108", "109", "110", "111", "112"};
    const struct causality_options options = {.last = last,
                                              .each_send = true,
                                              .slowest = 10,
                                              .servers = servers,
                                              .server_count = PROCESSES};
    struct source *sources[1] = {&flood->source};
    struct causality_analysis *analysis;
    struct history *history;
    struct history_event event;
    struct problem problem;

    flood->source = (struct source){.next = flood_next, .origins = 1, .states = &flood->state};
    flood->kind = kind;
    flood->rounds = flood->left = rounds;
    flood->time = 1000;
    begin(flood);
    assert_int_equal(history_new(sources, 1, &history, &problem), 0);
    assert_int_equal(causality_new(history, &options, &analysis), 0);
    while (history_next(history, &event, &problem) == SOURCE_RECORD)
        assert_int_equal(causality_add(analysis, &event), 0);
    size_t used = mallinfo2().uordblks + mallinfo2().hblkhd;
    struct causality *result;
    assert_int_equal(causality_finish(analysis, 1, &result), 0);
    assert_int_equal(result->requests, kind == KIND_ENDLESS     ? 1
                                       : kind == KIND_BY_ITSELF ? 0
                                                                : rounds);
    assert_int_equal(result->arcs + result->without_request + result->late, rounds);
    causality_free(result);
    causality_analysis_free(analysis);
    history_free(history);
    free(flood);
    return used;
}

static void memory_has_a_bound(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int last = 0; last < 2; last++) {
            size_t once = memory_of((enum kind)kind, last, 150000);
            size_t twice = memory_of((enum kind)kind, last, 300000);
            if (twice >= once + (1 << 20))
                fail_msg("kind %d, %s: %zu bytes, and of twice as much %zu", kind,
                         last ? "last" : "requests", once, twice);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
