/* SPDX-License-Identifier: MIT */
/*
 * history_cases_test.c: what the history does with few records, one case each. (Random histories:
 * history_test.c.)
 *
 *      tape of machine 1 --+--> history --> outcome: events, in their order, with edges
 *      tape of machine 2 --+
 */
#include "meter/shared/message.h"
#include "tapes.h"

#include <errno.h>

#define SECOND         1000000000ull
#define MOMENT_OF_TEST SECOND
#define T0             (100 * SECOND)
#define ALL            METER_EVENT_FLAGS
#define MOST_OUT       2048

/* What came out, of few records. */
struct outcome {
    struct history_event events[MOST_OUT];
    struct record records[MOST_OUT];
    struct history_edge edges[MOST_OUT][4];
    uint32_t count;
    struct history_counts counts;
    int64_t offset; /* of the second tape's clock to the first one's, at the end ... */
    uint64_t error; /* ... and how far that may be wrong */
};

static struct outcome outcome;
static struct tape first, second;
static bool find_rooms;

static void begin(void)
{
    find_rooms = true;
    tape_init(&first);
    tape_init(&second);
}

static void run(bool two)
{
    struct source *sources[2] = {&first.source, &second.source};
    struct history *history;
    struct problem problem;
    struct history_event event;

    memset(&outcome, 0, sizeof(outcome));
    assert_int_equal(history_new(sources, two ? 2 : 1, &history, &problem), 0);
    if (find_rooms)
        history_find_rooms(history);
    while (history_next(history, &event, &problem) == SOURCE_RECORD) {
        uint32_t at = outcome.count++;
        assert_true(at < MOST_OUT && event.edge_count <= 4);
        outcome.events[at] = event;
        memcpy(&outcome.records[at], event.event.header, sizeof(struct record));
        if (event.edge_count > 0)
            memcpy(outcome.edges[at], event.edges, event.edge_count * sizeof(*event.edges));
    }
    history_counts(history, &outcome.counts);
    if (two)
        history_clock(history, 1, second.last_time, &outcome.offset, &outcome.error);
    history_free(history);
    tape_done(&first);
    tape_done(&second);
}

/* Where the record with this stream and sequence came out. */
static uint32_t found(uint32_t origin, uint32_t stream, uint32_t sequence)
{
    for (uint32_t i = 0; i < outcome.count; i++)
        if (outcome.events[i].event.origin == origin &&
            !(outcome.records[i].header.flags & RECORD_NO_STREAM) &&
            outcome.records[i].header.stream == stream &&
            outcome.records[i].header.sequence == sequence)
            return i;
    fail_msg("stream %u, sequence %u did not come out", stream, sequence);
    return 0;
}

static void assert_edge(uint32_t at, uint32_t edge, enum edge_kind kind, uint32_t from,
                        uint32_t bytes)
{
    assert_true(edge < outcome.events[at].edge_count);
    assert_int_equal(outcome.edges[at][edge].kind, kind);
    assert_int_equal(outcome.edges[at][edge].number, from);
    assert_int_equal(outcome.edges[at][edge].bytes, bytes);
}

static void assert_rest(uint32_t at, enum history_rest rest, uint32_t bytes)
{
    assert_int_equal(outcome.events[at].rest, rest);
    assert_int_equal(outcome.events[at].rest_bytes, bytes);
}

/* Streams 1 and 2 of one machine, joined by a path of `kind`: 1 sends on path 1, 2 receives on 2. */
static void add_pair(uint8_t kind, uint32_t flags)
{
    add_machine(&first, T0, 1, flags);
    add_stream(&first, T0, 1, 1, 0);
    add_stream(&first, T0, 2, 2, 0);
    add_unix(&first, T0, 1, kind, 7, 8);
    add_unix(&first, T0, 2, kind, 8, 7);
}

/* A RECEIVE that is recorded before its SEND waits for it, and only its stream does. */
static void receive_waits_for_send(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_RECEIVE, 2, 1, 2, 0, 60);
    add_event(&first, T0 + 20, EVENT_EXEC, 2, 2);
    add_event(&first, T0 + 30, EVENT_EXEC, 3, 1);
    add_message(&first, T0 + 40, EVENT_SEND, 1, 1, 1, 0, 100)->message.span = 35;
    add_message(&first, T0 + 50, EVENT_RECEIVE, 2, 3, 2, 60, 40);
    run(false);
    uint32_t send = found(0, 1, 1);
    assert_true(found(0, 3, 1) < send && send < found(0, 2, 1) && found(0, 2, 1) < found(0, 2, 2));
    assert_edge(found(0, 2, 1), 0, EDGE_EXACT, send, 60);
    assert_edge(found(0, 2, 3), 0, EDGE_EXACT, send, 40);
    assert_int_equal(outcome.edges[found(0, 2, 1)][0].time, T0 + 5);
    assert_int_equal(outcome.edges[found(0, 2, 1)][0].path, 1);
    assert_int_equal(outcome.counts.stalls, 0);
}

static void add_waits_that_no_message_ends(void)
{
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 5, EVENT_CONNECT, 1, 1, 1, 0, 0);
    add_message(&first, T0 + 8, EVENT_ACCEPT, 2, 1, 2, 0, 0);
    add_message(&first, T0 + 10, EVENT_SEND, 1, 2, 1, 0, 60);
    add_message(&first, T0 + 15, EVENT_RECEIVE, 2, 2, 2, 0, 20);
    add_message(&first, T0 + 20, EVENT_SENDCALL, 1, 3, 1, 60, 0);
    add_message(&first, T0 + 30, EVENT_RECEIVE, 2, 3, 2, 20, 20);
    add_message(&first, T0 + 40, EVENT_SENDCALL, 1, 4, 1, 80, 20);
    add_message(&first, T0 + 50, EVENT_RECEIVE, 2, 4, 2, 40, 20);
    add_message(&first, T0 + 60, EVENT_SEND, 1, 5, 1, 60, 40);
    add_message(&first, T0 + 70, EVENT_SENDCALL, 1, 6, 1, 110, 10)->header.flags |=
        RECORD_PREEMPTED;
    add_message(&first, T0 + 80, EVENT_RECEIVE, 2, 5, 2, 60, 20);
    add_message(&first, T0 + 90, EVENT_SEND, 1, 7, 1, 100, 40);
    add_message(&first, T0 + 91, EVENT_RECEIVE, 2, 6, 2, 80, 60);
    add_event(&first, T0 + 95, EVENT_EXEC, 1, 8);
    add_event(&first, T0 + 96, EVENT_TERMINATION, 1, 9)->termination.last = 1;
    add_message(&first, T0 + 99, EVENT_RECEIVE, 2, 7, 2, 140, 0)->header.flags |=
        RECORD_END_OF_FILE;
}

/* What ends a wait for room, and for a connection. */
static void waits_that_no_message_ends(void **state)
{
    (void)state;
    add_waits_that_no_message_ends();
    run(false);
    assert_edge(found(0, 2, 7), 0, EDGE_END, found(0, 1, 9), 0);
    assert_int_equal(outcome.edges[found(0, 2, 7)][0].id, EVENT_TERMINATION);
    assert_edge(found(0, 2, 1), 0, EDGE_CONNECTION, found(0, 1, 1), 0);
    assert_int_equal(outcome.edges[found(0, 2, 1)][0].id, EVENT_CONNECT);
    assert_int_equal(outcome.events[found(0, 1, 2)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 1, 3)].edge_count, 0); /* its wait begins */
    assert_edge(found(0, 1, 4), 0, EDGE_ROOM, found(0, 2, 3), 0);
    assert_edge(found(0, 1, 5), 0, EDGE_ROOM, found(0, 2, 4), 0);
    assert_int_equal(outcome.edges[found(0, 1, 5)][0].id, EVENT_RECEIVE);
    assert_int_equal(outcome.events[found(0, 1, 7)].edge_count, 0); /* it did not wait */
}

/* Unless these edges are asked for there are none, and all else is as it was. */
static void waits_for_room_are_left_out(void **state)
{
    static struct outcome with;

    (void)state;
    add_waits_that_no_message_ends();
    run(false);
    with = outcome;
    add_waits_that_no_message_ends();
    find_rooms = false;
    run(false);
    assert_int_equal(outcome.count, with.count);
    assert_memory_equal(&outcome.counts, &with.counts, sizeof(with.counts));
    for (uint32_t at = 0; at < with.count; at++) {
        enum edge_kind kind = with.edges[at][0].kind;
        bool left_out = kind == EDGE_ROOM || kind == EDGE_CONNECTION;
        assert_memory_equal(&outcome.records[at], &with.records[at], sizeof(struct record));
        assert_int_equal(outcome.events[at].edge_count, left_out ? 0 : with.events[at].edge_count);
    }
}

/* Bytes that nobody tells of within a moment were sent by nobody metered. */
static void moment_is_a_proof(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 5, EVENT_SEND, 1, 1, 1, 0, 10);
    add_message(&first, T0 + 10, EVENT_RECEIVE, 2, 1, 2, 0, 30);
    add_event(&first, T0 + MOMENT_OF_TEST, EVENT_EXEC, 3, 1);
    add_event(&first, T0 + MOMENT_OF_TEST + 20, EVENT_EXEC, 3, 2);
    add_event(&first, T0 + MOMENT_OF_TEST + 30, EVENT_EXEC, 3, 3);
    run(false);
    uint32_t at = found(0, 2, 1);
    assert_edge(at, 0, EDGE_EXACT, found(0, 1, 1), 10);
    assert_rest(at, REST_UNMATCHED, 20);
    assert_true(at > found(0, 3, 1) && at < found(0, 3, 3));
    assert_int_equal(outcome.counts.stalls, 0);
    assert_int_equal(outcome.counts.unmatched_receives, 1);
}

/* The end of file is no message, an empty datagram is one. */
static void nothing_received(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_RECEIVE, 2, 1, 2, 0, 0)->header.flags = RECORD_END_OF_FILE;
    run(false);
    assert_rest(found(0, 2, 1), REST_NONE, 0);
    assert_int_equal(outcome.events[found(0, 2, 1)].edge_count, 0);
    begin();
    add_pair(PATH_UNIX_DATAGRAM, ALL);
    add_message(&first, T0 + 10, EVENT_SEND, 1, 1, 1, 0, 0);
    add_message(&first, T0 + 11, EVENT_SEND, 1, 2, 1, 1, 500);
    add_message(&first, T0 + 12, EVENT_RECEIVE, 2, 1, 2, 0, 0);
    add_message(&first, T0 + 13, EVENT_RECEIVE, 2, 2, 2, 1, 100); /* truncated */
    run(false);
    assert_edge(found(0, 2, 1), 0, EDGE_EXACT, found(0, 1, 1), 0);
    assert_edge(found(0, 2, 2), 0, EDGE_EXACT, found(0, 1, 2), 100);
    assert_rest(found(0, 2, 2), REST_NONE, 0);
}

/* A reader of a blocked send has an edge to what the SENDCALL told, later ones to the SEND. */
static void blocked_send(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_SENDCALL, 1, 1, 1, 200, 200);
    add_message(&first, T0 + 20, EVENT_RECEIVE, 2, 1, 2, 0, 150);
    add_message(&first, T0 + 30, EVENT_SEND, 1, 2, 1, 0, 300);
    add_message(&first, T0 + 40, EVENT_RECEIVE, 2, 2, 2, 150, 150);
    run(false);
    assert_edge(found(0, 2, 1), 0, EDGE_EXACT, found(0, 1, 1), 150);
    assert_edge(found(0, 2, 2), 0, EDGE_EXACT, found(0, 1, 2), 150);
    assert_int_equal(outcome.counts.unmatched_sends, 0);
}

/* Two calls overlap in time: whose bytes came first cannot be told. */
static void concurrent_senders(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_PIPE, ALL);
    add_message(&first, T0 + 10, EVENT_SEND, 1, 1, 1, 0, 10);
    add_event(&first, T0 + 11, EVENT_EXEC, 3, 0);
    add_message(&first, T0 + 20, EVENT_SEND, 3, 1, 1, 10, 10);
    add_event(&first, T0 + 21, EVENT_EXEC, 1, 11);
    add_message(&first, T0 + 30, EVENT_RECEIVE, 2, 1, 2, 0, 20);
    add_message(&first, T0 + 40, EVENT_SEND, 1, 12, 1, 20, 10);
    add_message(&first, T0 + 50, EVENT_SEND, 3, 2, 1, 30, 10); /* began at 20 or later */
    add_message(&first, T0 + 60, EVENT_RECEIVE, 2, 2, 2, 20, 10);
    add_message(&first, T0 + 70, EVENT_RECEIVE, 2, 3, 2, 30, 10);
    run(false);
    uint32_t at = found(0, 2, 2);
    assert_int_equal(outcome.events[at].edge_count, 2);
    assert_edge(found(0, 2, 1), 0, EDGE_EXACT, found(0, 1, 1), 10);
    assert_edge(found(0, 2, 1), 1, EDGE_EXACT, found(0, 3, 1), 10);
    assert_edge(at, 0, EDGE_ORDERED, found(0, 1, 12), 10);
    assert_edge(at, 1, EDGE_ORDERED, found(0, 3, 2), 10);
    assert_int_equal(outcome.events[found(0, 2, 3)].edge_count, 2);
}

/* A call in progress is overtaken by two that end: the SENDCALL tells what is its own, whatever position that has when it
 * is told. In the queue are 40 bytes of the call in progress and of the first of the others, then 10 of the second. */
static void blocked_and_overtaken(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_SEND, 1, 1, 1, 0, 10);
    add_message(&first, T0 + 20, EVENT_SEND, 3, 1, 1, 10, 10);
    add_message(&first, T0 + 40, EVENT_SEND, 3, 2, 1, 20, 10);
    add_message(&first, T0 + 50, EVENT_SENDCALL, 1, 2, 1, 50, 30); /* began when 20 were counted */
    add_message(&first, T0 + 70, EVENT_SEND, 3, 3, 1, 30, 10);
    add_message(&first, T0 + 80, EVENT_RECEIVE, 2, 1, 2, 20, 40);
    add_message(&first, T0 + 90, EVENT_RECEIVE, 2, 2, 2, 60, 10);
    add_event(&first, T0 + 3 * MOMENT_OF_TEST, EVENT_EXEC, 4, 1);
    add_message(&first, T0 + 4 * MOMENT_OF_TEST, EVENT_SEND, 1, 3, 1, 40, 30);
    run(false);
    uint32_t at = found(0, 2, 2);
    assert_int_equal(outcome.events[at].edge_count, 2);
    assert_edge(at, 0, EDGE_ORDERED, found(0, 3, 3), 10);
    assert_edge(at, 1, EDGE_ORDERED, found(0, 1, 2), 10);
    assert_rest(at, REST_NONE, 0);
    assert_int_equal(outcome.counts.inferred, 0);
    assert_int_equal(outcome.counts.stalls, 0);
}

/* A call that began when the RECEIVE was over has nothing to do with it, however long it lasts. */
static void long_call_begun_later(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_SEND, 1, 1, 1, 0, 10);
    add_message(&first, T0 + 20, EVENT_SEND, 3, 1, 1, 10, 10);
    add_event(&first, T0 + 21, EVENT_EXEC, 1, 2);
    add_message(&first, T0 + 25, EVENT_SENDCALL, 1, 3, 1, 30, 10);
    add_message(&first, T0 + 30, EVENT_RECEIVE, 2, 1, 2, 20, 10);
    add_event(&first, T0 + 40, EVENT_EXEC, 3, 2);
    add_message(&first, T0 + 50, EVENT_SENDCALL, 3, 3, 1, 20, 0);
    add_message(&first, T0 + 6 * SECOND, EVENT_SEND, 3, 4, 1, 20, 10);
    add_message(&first, T0 + 7 * SECOND, EVENT_SEND, 1, 4, 1, 30, 10);
    run(false);
    assert_int_equal(outcome.events[found(0, 2, 1)].edge_count, 1);
    assert_edge(found(0, 2, 1), 0, EDGE_ORDERED, found(0, 1, 4), 10);
}

/* The same in a pipe, which does not say whose its bytes are: the SENDCALL tells also those of the call that ended after the
 * other one had first slept. */
static void blocked_in_a_pipe(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_PIPE, ALL);
    add_message(&first, T0 + 10, EVENT_SEND, 3, 1, 1, 0, 40);
    add_message(&first, T0 + 20, EVENT_SENDCALL, 1, 1, 1, 40, 0);
    add_message(&first, T0 + 30, EVENT_RECEIVE, 2, 1, 2, 0, 40);
    add_message(&first, T0 + 40, EVENT_SEND, 3, 2, 1, 40, 10);
    add_message(&first, T0 + 50, EVENT_SENDCALL, 1, 2, 1, 55, 15); /* 5 of them are its own */
    add_message(&first, T0 + 60, EVENT_RECEIVE, 2, 2, 2, 40, 15);
    add_event(&first, T0 + 3 * MOMENT_OF_TEST, EVENT_EXEC, 4, 1);
    add_message(&first, T0 + 4 * MOMENT_OF_TEST, EVENT_SEND, 1, 3, 1, 50, 20);
    run(false);
    uint32_t at = found(0, 2, 2);
    assert_int_equal(outcome.events[at].edge_count, 2);
    assert_edge(at, 0, EDGE_ORDERED, found(0, 3, 2), 10);
    assert_edge(at, 1, EDGE_ORDERED, found(0, 1, 2), 5);
    assert_rest(at, REST_NONE, 0);
    assert_int_equal(outcome.counts.stalls, 0);
}

static struct record *add_block(uint64_t time, uint32_t stream, uint32_t sequence, uint32_t call,
                                uint64_t duration)
{
    struct record *block = add_event(&first, time, EVENT_BLOCK, stream, sequence);

    block->block.system_call = call;
    block->block.duration = duration;
    block->block.state = 1;
    return block;
}

static void add_creation(uint64_t time, uint32_t parent, uint32_t sequence, uint32_t child)
{
    add_stream(&first, time, child, child, parent);
    add_event(&first, time, EVENT_CREATEPROCESS, parent, sequence)->create.child = child;
}

static struct record *add_end(uint64_t time, uint32_t stream, uint32_t sequence)
{
    struct record *record = add_event(&first, time, EVENT_TERMINATION, stream, sequence);

    record->termination.last = 1;
    return record;
}

static void add_child(uint64_t created, uint64_t ended, uint32_t sequence, uint32_t child)
{
    add_creation(created, 1, sequence, child);
    add_end(ended, child, 1);
}

enum {
    READ = 0,
    WRITE = 1,
    PAUSE = 34,
    NANOSLEEP = 35,
    WAIT4 = 61,
    SIGTIMEDWAIT = 128,
    SIGSUSPEND = 130
};

#define MILLISECOND 1000000ull

/* A child begins with its creation; its end ends its parent's wait. */
static void parents_and_children(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_stream(&first, T0 + 5, 2, 2, 1);
    add_event(&first, T0 + 10, EVENT_CREATEPROCESS, 1, 1)->create.child = 2;
    add_event(&first, T0 + 20, EVENT_STARTPROCESS, 2, 1);
    add_event(&first, T0 + 30, EVENT_TERMINATION, 2, 2)->termination.last = 1;
    add_block(T0 + 40, 1, 2, WAIT4, 25);
    add_block(T0 + 50, 1, 3, WAIT4, 5);
    run(false);
    assert_edge(found(0, 2, 1), 0, EDGE_CREATION, found(0, 1, 1), 0);
    assert_edge(found(0, 1, 2), 0, EDGE_TERMINATION, found(0, 2, 2), 0);
    assert_int_equal(outcome.events[found(0, 1, 3)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 2, 2)].edge_count, 0);
}

static struct record *add_wakeup(uint64_t time, uint32_t stream, uint32_t sequence, uint32_t woken)
{
    struct record *record = add_event(&first, time, EVENT_WAKEUP, stream, sequence);

    record->wakeup.woken = woken;
    return record;
}

/* Who is woken tells of it next, whatever that is; of several the last one has done it. What it has told before has
 * nothing to do with it. */
static void wakeups(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_event(&first, T0 + 5, EVENT_EXEC, 2, 1);
    add_wakeup(T0 + 10, 1, 1, 2);
    add_block(T0 + 12, 2, 2, NANOSLEEP, 6);
    add_event(&first, T0 + 13, EVENT_EXEC, 2, 3);
    add_wakeup(T0 + 20, 1, 2, 2);
    add_wakeup(T0 + 21, 1, 3, 2);
    add_wakeup(T0 + 22, 1, 4, 1);  /* itself: damage */
    add_wakeup(T0 + 23, 1, 5, 99); /* nobody */
    add_event(&first, T0 + 24, EVENT_EXEC, 1, 6);
    add_message(&first, T0 + 25, EVENT_CREATEPATH, 2, 4, 2, 0, 0);
    run(false);
    assert_int_equal(outcome.events[found(0, 2, 1)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 2, 2)].edge_count, 1);
    assert_edge(found(0, 2, 2), 0, EDGE_WAKEUP, found(0, 1, 1), 0);
    assert_int_equal(outcome.edges[found(0, 2, 2)][0].id, EVENT_WAKEUP);
    assert_int_equal(outcome.edges[found(0, 2, 2)][0].time, T0 + 10);
    assert_int_equal(outcome.events[found(0, 2, 3)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 2, 4)].edge_count, 1);
    assert_edge(found(0, 2, 4), 0, EDGE_WAKEUP, found(0, 1, 3), 0);
    assert_int_equal(outcome.events[found(0, 1, 6)].edge_count, 0);
}

/* Who was woken comes behind who has done it, though that is held: for a SEND that is told late. */
static void wakeups_of_who_is_held(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_stream(&first, T0, 3, 3, 0);
    add_message(&first, T0 + 10, EVENT_RECEIVE, 2, 1, 2, 0, 60);
    add_wakeup(T0 + 12, 2, 2, 3);
    add_block(T0 + 14, 3, 1, NANOSLEEP, 6);
    add_wakeup(T0 + 15, 2, 3, 3);
    add_block(T0 + 16, 3, 2, NANOSLEEP, 1);
    add_end(T0 + 17, 2, 4);
    struct record *last = add_wakeup(T0 + 18, 0, 0, 3);
    last->header.flags = RECORD_NO_STREAM;
    last->wakeup.waker = 2;
    add_block(T0 + 19, 3, 3, NANOSLEEP, 1);
    add_message(&first, T0 + 40, EVENT_SEND, 1, 1, 1, 0, 60)->message.span = 35;
    run(false);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(found(0, 2, i + 1) < found(0, 3, i));
        assert_int_equal(outcome.events[found(0, 3, i)].edge_count, 1);
        assert_edge(found(0, 3, i), 0, EDGE_WAKEUP, found(0, 2, i + 1), 0);
    }
    assert_int_equal(outcome.edges[found(0, 3, 3)][0].id, EVENT_TERMINATION);
    assert_int_equal(outcome.counts.stalls, 0);
}

/* Where ends are not recorded, its latest event stands for it, and nobody waits for what does not come. */
static void wakeups_after_an_end_that_is_not_told(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL & ~EVENT_FLAG(EVENT_TERMINATION));
    add_stream(&first, T0, 1, 1, 0);
    add_stream(&first, T0, 2, 1, 1);
    add_event(&first, T0 + 5, EVENT_EXEC, 2, 1);
    struct record *wakeup = add_wakeup(T0 + 10, 0, 0, 1);
    wakeup->header.flags = RECORD_NO_STREAM;
    wakeup->wakeup.waker = 2;
    add_block(T0 + 12, 1, 1, NANOSLEEP, 6);
    add_event(&first, T0 + 20, EVENT_EXEC, 3, 1);
    run(false);
    assert_edge(found(0, 1, 1), 0, EDGE_WAKEUP, found(0, 2, 1), 0);
    assert_true(found(0, 1, 1) < found(0, 3, 1));
}

/* Bytes of which two may have been the sender, one of whom the receiver has let go: he waits in his call for the pipe, and
 * that he has sent nothing before is not told. All messages keep their edges. But who waited for any of several paths
 * has certainly begun to send after that. */
static void wakeups_in_a_circle(void **state)
{
    (void)state;
    for (unsigned for_any = 0; for_any < 2; for_any++) {
        begin();
        add_pair(PATH_PIPE, ALL);
        add_event(&first, T0 + 5, EVENT_EXEC, 1, 1);
        add_event(&first, T0 + 6, EVENT_EXEC, 3, 1);
        if (for_any)
            add_message(&first, T0 + 10, EVENT_RECEIVECALL, 3, 2, 0, 7, 0);
        add_message(&first, T0 + 20, EVENT_RECEIVE, 2, 1, 2, 0, 10);
        add_wakeup(T0 + 22, 2, 2, 3);
        if (!for_any)
            add_block(T0 + 24, 3, 2, WRITE, 10);
        add_message(&first, T0 + 26, EVENT_SEND, 3, 3, 1, 0, 10);
        add_message(&first, T0 + 30, EVENT_SEND, 1, 2, 1, 10, 10);
        add_event(&first, T0 + 31, EVENT_EXEC, 1, 3);
        run(false);
        uint32_t received = found(0, 2, 1), woken = found(0, 3, for_any ? 3 : 2);
        assert_rest(received, REST_NONE, 0);
        assert_int_equal(outcome.counts.stalls, 0);
        assert_edge(received, for_any ? 0 : 1, EDGE_ORDERED, found(0, 1, 2), 10);
        assert_int_equal(outcome.events[received].edge_count, for_any ? 1 : 2);
        assert_int_equal(outcome.events[woken].edge_count, for_any ? 1 : 0);
        if (for_any)
            assert_edge(woken, 0, EDGE_WAKEUP, found(0, 2, 2), 0);
    }
}

/* A wait for a signal ends with the child that ended just before; it tells which one it was. */
static void waits_for_signals(void **state)
{
    static const uint32_t calls[] = {SIGSUSPEND, PAUSE, SIGTIMEDWAIT, READ};
    uint64_t time = T0;
    uint32_t sequence = 1, child = 2;

    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++, time += SECOND, sequence += 4, child++) {
        add_child(time, time + 20, sequence, child);
        add_block(time + 30, 1, sequence + 1, calls[i], 25);
        add_block(time + 40, 1, sequence + 2, calls[i], 5); /* another signal */
        add_block(time + 50, 1, sequence + 3, NANOSLEEP, 45);
    }
    run(false);
    for (uint32_t i = 0; i < ARRAY_SIZE(calls); i++) {
        assert_edge(found(0, 1, 4 * i + 2), 0, EDGE_TERMINATION, found(0, i + 2, 1), 0);
        assert_int_equal(outcome.events[found(0, 1, 4 * i + 3)].edge_count, 0);
        assert_int_equal(outcome.events[found(0, 1, 4 * i + 4)].edge_count, 0);
    }
}

/* A child that had ended long before the wait for a signal did has not ended it; nor any child a
 * read of a disk. */
static void waits_for_other_signals(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_child(T0 + 10, T0 + 20, 1, 2);
    add_block(T0 + 11 * MILLISECOND, 1, 2, READ, 11 * MILLISECOND);
    add_block(T0 + 200 * MILLISECOND, 1, 3, SIGSUSPEND, 150 * MILLISECOND);
    add_child(T0 + 210 * MILLISECOND, T0 + 220 * MILLISECOND, 4, 3);
    add_block(T0 + 221 * MILLISECOND, 1, 5, READ, 11 * MILLISECOND)->block.state = 2;
    run(false);
    assert_int_equal(outcome.events[found(0, 1, 2)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 1, 3)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 1, 5)].edge_count, 0);
}

/* However much a child has worked, a wait for a signal that goes on after its end was for another one. */
static void a_signal_after_a_child(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_creation(T0 + 10, 1, 1, 2);
    add_end(T0 + 4 * SECOND, 2, 1)->header.proc_time_and_pc = 1500 * MILLISECOND;
    add_block(T0 + 5 * SECOND, 1, 2, PAUSE, 5 * SECOND - 20);
    run(false);
    assert_int_equal(outcome.events[found(0, 1, 2)].edge_count, 0);
}

/* A damaged trace may say that a process was created by one that it has created. */
static void nobody_is_his_own_ancestor(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_stream(&first, T0, 2, 2, 1);
    add_stream(&first, T0, 3, 3, 2);
    add_stream(&first, T0, 1, 1, 3);
    add_event(&first, T0 + 10, EVENT_SENDCALL, 1, 1);
    add_end(T0 + 20, 2, 1);
    add_end(T0 + 30, 3, 1);
    add_end(T0 + 40, 1, 2);
    run(false);
    assert_int_equal(outcome.events[found(0, 1, 2)].edge_count, 0);
}

/* A child that had ended, and was waited for, before a wait began has not ended that; one that has much to give back
 * may take long to die. */
static void waits_for_children(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_child(T0 + 1, T0 + 10, 1, 2);
    add_block(T0 + 20 + 110 * MILLISECOND, 1, 2, WAIT4, 110 * MILLISECOND);
    add_child(T0 + SECOND, T0 + SECOND + 10, 3, 3);
    add_block(T0 + SECOND + 10 * MILLISECOND, 1, 4, WAIT4, 10 * MILLISECOND - 20);
    add_creation(T0 + 2 * SECOND, 1, 5, 4);
    add_end(T0 + 2 * SECOND + 10, 4, 1)->header.proc_time_and_pc = 400 * MILLISECOND;
    add_block(T0 + 2 * SECOND + 500 * MILLISECOND, 1, 6, WAIT4, 500 * MILLISECOND);
    add_creation(T0 + 3 * SECOND, 1, 7, 5);
    add_end(T0 + 3 * SECOND + 10, 5, 1)->header.proc_time_and_pc = 300 * MILLISECOND;
    add_block(T0 + 3 * SECOND + 500 * MILLISECOND, 1, 8, WAIT4, 500 * MILLISECOND);
    run(false);
    assert_int_equal(outcome.events[found(0, 1, 2)].edge_count, 0);
    assert_edge(found(0, 1, 4), 0, EDGE_TERMINATION, found(0, 3, 1), 0);
    assert_edge(found(0, 1, 6), 0, EDGE_TERMINATION, found(0, 4, 1), 0);
    assert_int_equal(outcome.events[found(0, 1, 8)].edge_count, 0);
}

/* Whoever is above may take the child of one that has ended: 1 creates 2, that 3, and that 4. */
static void waits_for_orphans(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_stream(&first, T0, 9, 9, 0);
    add_creation(T0 + 1, 1, 1, 2);
    add_creation(T0 + 2, 2, 1, 3);
    add_creation(T0 + 3, 3, 1, 4);
    add_creation(T0 + 4, 4, 1, 5);
    add_end(T0 + 10, 4, 2);
    add_block(T0 + 11, 3, 2, WAIT4, 5);
    add_end(T0 + 20, 3, 3);
    add_block(T0 + 30, 2, 2, WAIT4, 5); /* of 3, which was dying */
    add_end(T0 + 40, 5, 1);
    add_block(T0 + 45, 9, 1, WAIT4, 25); /* it is not above */
    add_block(T0 + 50, 1, 2, WAIT4, 45);
    add_block(T0 + 55, 2, 3, WAIT4, 20); /* one end ends one wait */
    run(false);
    assert_edge(found(0, 3, 2), 0, EDGE_TERMINATION, found(0, 4, 2), 0);
    assert_edge(found(0, 2, 2), 0, EDGE_TERMINATION, found(0, 3, 3), 0);
    assert_edge(found(0, 1, 2), 0, EDGE_TERMINATION, found(0, 5, 1), 0);
    assert_int_equal(outcome.events[found(0, 9, 1)].edge_count, 0);
    assert_int_equal(outcome.events[found(0, 2, 3)].edge_count, 0);
}

static struct record *add_end_of_file(uint64_t time, uint32_t stream, uint32_t sequence,
                                      uint32_t path)
{
    struct record *record = add_message(&first, time, EVENT_RECEIVE, stream, sequence, path, 0, 0);

    record->header.flags = RECORD_END_OF_FILE;
    return record;
}

/* Process 1 has created 2, that 3, and 1 also 4, which ends with 3 at `ended`; 2 waits for the end of a file until then. */
static void add_silent_file(uint8_t kind, uint64_t ended)
{
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_creation(T0 + 1, 1, 1, 2);
    add_creation(T0 + 2, 1, 2, 4);
    add_creation(T0 + 3, 2, 1, 3);
    add_unix(&first, T0 + 4, 2, kind, 8, 7);
    add_message(&first, T0 + 5, EVENT_RECEIVECALL, 2, 2, 2, 0, 0);
    add_end(T0 + 10, 3, 1);
    add_end(T0 + 20, 4, 1);
    add_end_of_file(ended, 2, 3, 2);
}

/* Nobody has used the other end: who held it is taken to be a relative that ended just before, the nearest one. */
static void a_file_that_nobody_wrote(void **state)
{
    static const struct {
        uint8_t kind;
        uint64_t ended; /* the file */
        uint32_t by;    /* stream; 0: it is not told */
    } cases[] = {
        {PATH_PIPE, T0 + 30, 3},
        {PATH_UNIX_STREAM, T0 + 30, 3},
        {PATH_FIFO, T0 + 30, 0},
        {PATH_PIPE, T0 + 200 * MILLISECOND, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        add_silent_file(cases[i].kind, cases[i].ended);
        run(false);
        uint32_t at = found(0, 2, 3);
        assert_int_equal(outcome.events[at].edge_count, cases[i].by != 0);
        if (cases[i].by != 0)
            assert_edge(at, 0, EDGE_END, found(0, cases[i].by, 1), 0);
    }
    add_silent_file(PATH_PIPE, T0 + 30); /* 2 does not wait for this one, and 4 is its sibling */
    add_end_of_file(T0 + 40, 2, 4, 2);
    add_message(&first, T0 + 105 * MILLISECOND, EVENT_RECEIVECALL, 2, 5, 2, 0, 0);
    add_creation(T0 + 106 * MILLISECOND, 1, 3, 5);
    add_end(T0 + 107 * MILLISECOND, 5, 1);
    add_end_of_file(T0 + 110 * MILLISECOND, 2, 6, 2);
    run(false);
    assert_int_equal(outcome.events[found(0, 2, 4)].edge_count, 0);
    assert_edge(found(0, 2, 6), 0, EDGE_END, found(0, 5, 1), 0);
}

/* Who sent last ended long before the file did: a relative held the other end, too. */
static void a_file_that_outlives_its_writer(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_stream(&first, T0, 1, 1, 0);
    add_creation(T0 + 1, 1, 1, 2);
    add_creation(T0 + 2, 1, 2, 3);
    add_unix(&first, T0 + 4, 1, PATH_PIPE, 7, 8);
    add_unix(&first, T0 + 4, 2, PATH_PIPE, 8, 7);
    add_message(&first, T0 + 5, EVENT_SEND, 2, 1, 1, 0, 10);
    add_message(&first, T0 + 6, EVENT_RECEIVE, 1, 3, 2, 0, 10);
    add_message(&first, T0 + 7, EVENT_RECEIVECALL, 1, 4, 2, 0, 0);
    add_end(T0 + 8, 2, 2);
    add_end(T0 + SECOND, 3, 1);
    add_end_of_file(T0 + SECOND + 10, 1, 5, 2);
    run(false);
    assert_int_equal(outcome.events[found(0, 1, 5)].edge_count, 1);
    assert_edge(found(0, 1, 5), 0, EDGE_END, found(0, 3, 1), 0);
}

/* Clocks are hours apart, and the receiver is read first. */
static void two_machines(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 1, PATH_TCP, 1, 4000, 2, 80)->start_in = 5;
    add_message(&first, T0 + 1, EVENT_RECEIVE, 1, 1, 1, 5, 10);
    add_message(&first, T0 + 2, EVENT_RECEIVE, 1, 2, 1, 15, 10);
    add_machine(&second, T0 * 100, 2, ALL);
    add_internet(&second, T0 * 100, 1, PATH_TCP, 2, 80, 1, 4000)->start_out = 5;
    add_message(&second, T0 * 100 + 5, EVENT_SEND, 1, 1, 1, 5, 20);
    run(true);
    assert_edge(found(0, 1, 1), 0, EDGE_EXACT, found(1, 1, 1), 10);
    assert_edge(found(0, 1, 2), 0, EDGE_EXACT, found(1, 1, 1), 10);
    assert_int_equal(outcome.counts.unmatched_sends, 0);
}

/* What was received at the beginning of a call that has lasted for longer than 32 bits of ns tells of the clocks, too. */
static void sent_long_ago(void **state)
{
    const enum event_id ids[] = {EVENT_SENDCALL, EVENT_SEND};
    const uint64_t there = T0 * 100;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        begin();
        add_machine(&first, T0, 1, ALL);
        add_internet(&first, T0, 1, PATH_TCP, 1, 4000, 2, 80);
        add_internet(&first, T0, 2, PATH_TCP, 1, 4001, 2, 80);
        add_machine(&second, there, 2, ALL);
        add_internet(&second, there, 1, PATH_TCP, 2, 80, 1, 4000);
        add_internet(&second, there, 2, PATH_TCP, 2, 80, 1, 4001);
        add_message(&second, there + 20, EVENT_RECEIVE, 1, 1, 1, 0, 50);
        add_message(&second, there + 50, EVENT_SEND, 1, 2, 2, 0, 10);
        add_message(&first, T0 + 8 * SECOND, EVENT_RECEIVE, 2, 1, 2, 0, 10);
        set_span(add_message(&first, T0 + 10 * SECOND, ids[i], 1, 1, 1,
                             ids[i] == EVENT_SEND ? 0 : 50, 50),
                 T0 + 10);
        run(true);
        assert_edge(found(1, 1, 1), 0, EDGE_EXACT, found(0, 1, 1), 50);
        assert_true(outcome.error < 5 * SECOND); /* by the other one, received 8 s later */
        assert_true((uint64_t)llabs(outcome.offset + (int64_t)(there - T0)) <= outcome.error);
    }
}

/* Between machines, too, what made room is what was received while the sender waited, once messages have told how far
 * the clocks are apart. */
static void room_on_another_machine(void **state)
{
    const uint64_t there = T0 * 100;
    const uint32_t rounds = 20;

    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 1, PATH_TCP, 1, 4000, 2, 80);
    add_machine(&second, there, 2, ALL);
    add_internet(&second, there, 1, PATH_TCP, 2, 80, 1, 4000);
    for (uint32_t i = 0; i < rounds;
         i++) { /* until the clocks are known, and who is read goes by them */
        add_message(&first, T0 + 100 * i + 10, EVENT_SEND, 1, 2 * i, 1, 10 * i, 10);
        add_message(&second, there + 100 * i + 20, EVENT_RECEIVE, 1, 2 * i, 1, 10 * i, 10);
        add_message(&second, there + 100 * i + 30, EVENT_SEND, 1, 2 * i + 1, 1, 10 * i, 10);
        add_message(&first, T0 + 100 * i + 40, EVENT_RECEIVE, 1, 2 * i + 1, 1, 10 * i, 10);
    }
    const uint32_t next = 2 * rounds, sent = 10 * rounds;
    add_message(&first, T0 + 50000, EVENT_SENDCALL, 1, next, 1, sent, 0);
    add_message(&first, T0 + 60000, EVENT_SEND, 1, next + 1, 1, sent, 20); /* nobody had received */
    add_message(&second, there + 60010, EVENT_RECEIVE, 1, next, 1, sent, 10);
    add_message(&first, T0 + 70000, EVENT_SENDCALL, 1, next + 2, 1, sent + 20, 0);
    add_message(&second, there + 75000, EVENT_RECEIVE, 1, next + 1, 1, sent + 10, 10);
    add_message(&first, T0 + 80000, EVENT_SEND, 1, next + 3, 1, sent + 20, 20);
    run(true);
    assert_int_equal(outcome.events[found(0, 1, next + 1)].edge_count, 0);
    assert_edge(found(0, 1, next + 3), 0, EDGE_ROOM, found(1, 1, next + 1), 0);
}

/* No machine has the other's address; nothing is waited for. */
static void other_end_is_not_metered(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 1, PATH_TCP, 1, 4000, 77, 80);
    add_message(&first, T0 + 1, EVENT_RECEIVE, 1, 1, 1, 0, 10);
    add_message(&first, T0 + 2, EVENT_SEND, 1, 2, 1, 0, 10);
    add_event(&first, T0 + 3, EVENT_EXEC, 2, 1);
    run(false);
    assert_rest(found(0, 1, 1), REST_EXTERNAL, 10);
    assert_true(found(0, 1, 1) < found(0, 2, 1));
    assert_int_equal(outcome.counts.external, 2);
}

/* What sent it was removed by a selection, or lost. */
static void removed_and_lost(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        begin();
        add_pair(PATH_UNIX_STREAM, ALL);
        add_message(&first, T0 + 5, EVENT_SEND, 1, 1, 1, 0, 10);
        add_message(&first, T0 + 6, EVENT_RECEIVE, 2, 1, 2, 0, 10);
        add_event(&first, T0 + 20, lost ? EVENT_LOST : EVENT_DISCARDED, 1, 3)->lost.count = 1;
        add_message(&first, T0 + 21, EVENT_SEND, 1, 3, 1, 30, 10);
        add_message(&first, T0 + 22, EVENT_RECEIVE, 2, 2, 2, 10, 30);
        run(false);
        assert_rest(found(0, 2, 2), lost ? REST_UNMATCHED : REST_UNSELECTED, 20);
        assert_edge(found(0, 2, 2), 0, EDGE_EXACT,
                    found(0, 1, 3) + (outcome.records[found(0, 1, 3)].header.id != EVENT_SEND), 10);
        assert_int_equal(lost ? outcome.counts.lost : outcome.counts.discarded, 1);
    }
}

/* Once hooks were skipped, positions that hooks count may be wrong; TCP's are the kernel's. Full rings do no harm. */
static void skipped_hooks(void **state)
{
    static const uint8_t kinds[] = {PATH_TCP, PATH_UNIX_STREAM, PATH_UNIX_DATAGRAM, PATH_PIPE};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        begin();
        if (kinds[i] == PATH_TCP) {
            add_machine(&first, T0, 1, ALL);
            add_internet(&first, T0, 1, PATH_TCP, 1, 4000, 1, 80);
            add_internet(&first, T0, 2, PATH_TCP, 1, 80, 1, 4000);
        } else {
            add_pair(kinds[i], ALL);
        }
        for (uint32_t n = 0; n < 3; n++) {
            uint32_t position = kinds[i] == PATH_UNIX_DATAGRAM ? n : 10 * n;
            add_message(&first, T0 + 100 * n + 5, EVENT_SEND, 1, n + 1, 1, position, 10);
            add_message(&first, T0 + 100 * n + 6, EVENT_RECEIVE, 2, n + 1, 2, position, 10);
            struct record *lost = add_event(&first, T0 + 100 * n + 50, EVENT_LOST, 0, 0);
            lost->header.flags = RECORD_NO_STREAM;
            lost->lost.count = 4;
            lost->lost.reason = n == 0 ? LOST_RING_FULL : LOST_SKIPPED;
        }
        run(false);
        for (uint32_t n = 1; n <= 3; n++)
            assert_edge(found(0, 2, n), 0,
                        n < 3 || kinds[i] == PATH_TCP ? EDGE_EXACT : EDGE_INFERRED, found(0, 1, n),
                        10);
        assert_int_equal(outcome.counts.lost, 12);
        assert_int_equal(outcome.counts.stalls, 0);
    }
}

/* Nobody has told of a SEND, so who sends is taken not to be metered; until it is told that records were lost. */
static void silence_is_explained(void **state)
{
    const uint64_t later = T0 + 2 * MOMENT_OF_TEST;

    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_RECEIVE, 2, 1, 2, 0, 10);
    add_event(&first, later, EVENT_EXEC, 3, 1);
    add_event(&first, later + 10, EVENT_LOST, 1, 2)->lost.count = 1;
    add_event(&first, later + 10, EVENT_EXEC, 1, 2);
    add_message(&first, later + 20, EVENT_RECEIVE, 2, 2, 2, 10, 10);
    add_message(&first, later + 30, EVENT_SEND, 1, 3, 1, 10, 10)->message.span = 15;
    run(false);
    assert_rest(found(0, 2, 1), REST_EXTERNAL, 10);
    assert_edge(found(0, 2, 2), 0, EDGE_EXACT, found(0, 1, 3), 10);
    assert_rest(found(0, 2, 2), REST_NONE, 0);
}

/* Of sequence numbers that pass 2^32 many are missing, removed and lost: each record tells of as many as 32 bits hold. */
static void counts_beyond_32_bits(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 5, EVENT_SEND, 1, UINT32_MAX - 1, 1, UINT32_MAX - 4, 10);
    add_message(&first, T0 + 6, EVENT_RECEIVE, 2, UINT32_MAX, 2, UINT32_MAX - 4, 10);
    for (uint32_t i = 0; i < 3; i++) {
        add_event(&first, T0 + 20 + i, EVENT_DISCARDED, 1, 3)->lost.count = UINT32_MAX - i;
        add_event(&first, T0 + 20 + i, EVENT_LOST, 1, 3)->lost.count = UINT32_MAX - 10 * i;
    }
    add_message(&first, T0 + 31, EVENT_SEND, 1, 3, 1, 5, 10);
    add_message(&first, T0 + 32, EVENT_RECEIVE, 2, 0, 2, 5, 10);
    run(false);
    assert_edge(found(0, 2, UINT32_MAX), 0, EDGE_EXACT, found(0, 1, UINT32_MAX - 1), 10);
    assert_edge(found(0, 2, 0), 0, EDGE_EXACT, found(0, 1, 3) + 6, 10);
    assert_int_equal(outcome.counts.discarded, 3ULL * UINT32_MAX - 3);
    assert_int_equal(outcome.counts.lost, 3ULL * UINT32_MAX - 30);
}

/* A path is closed after all that is told of it, though its RECEIVE waits. */
static void closed_after_what_is_held(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_RECEIVE, 2, 1, 2, 0, 10);
    struct record *closed = add_message(&first, T0 + 20, EVENT_DESTROYPATH, 0, 0, 2, 0, 0);
    closed->header.flags = RECORD_NO_STREAM;
    add_event(&first, T0 + 30, EVENT_EXEC, 3, 1);
    add_message(&first, T0 + 40, EVENT_SEND, 1, 1, 1, 0, 10);
    run(false);
    uint32_t at = found(0, 2, 1);
    assert_edge(at, 0, EDGE_EXACT, found(0, 1, 1), 10);
    assert_int_equal(outcome.records[at + 1].header.id, EVENT_DESTROYPATH);
    assert_int_equal(outcome.count, 9);
}

/* Arrivals that are told while RECEIVEs are held come out between them, in order of time, whatever ends of paths they are
 * at. */
static void arrivals_keep_their_place(void **state)
{
    const uint32_t rounds = 20;

    (void)state;
    for (uint32_t ends = 1; ends <= 4; ends++) {
        uint64_t last = 0;
        uint32_t arrivals = 0;
        begin();
        add_machine(&first, T0, 1, ALL);
        for (uint32_t end = 1; end <= ends; end++)
            add_unix(&first, T0, end, PATH_UNIX_STREAM, 10 + end, 20 + end);
        for (uint32_t i = 0; i < rounds; i++) {
            uint64_t time = T0 + 100 * i;
            for (uint32_t end = 1; end <= ends; end++)
                add_message(&first, time + end, EVENT_MESSAGEQUEUED, 0, 0, end, 10 * i, 10)
                    ->header.flags = RECORD_NO_STREAM;
            for (uint32_t end = 1; end <= ends; end++)
                add_message(&first, time + 50 + end, EVENT_RECEIVE, 1, i * ends + end, end, 10 * i,
                            10);
        }
        add_event(&first, T0 + 2 * MOMENT_OF_TEST, EVENT_EXEC, 3, 1);
        add_message(&first, T0 + 3 * MOMENT_OF_TEST, EVENT_MESSAGEQUEUED, 0, 0, 1, 10 * rounds, 10)
            ->header.flags = RECORD_NO_STREAM;
        run(false);
        for (uint32_t i = 0; i < outcome.count; i++)
            if (outcome.records[i].header.id == EVENT_MESSAGEQUEUED ||
                outcome.records[i].header.id == EVENT_RECEIVE) {
                assert_true(outcome.records[i].header.time > last);
                last = outcome.records[i].header.time;
                arrivals += outcome.records[i].header.id == EVENT_MESSAGEQUEUED;
            }
        assert_int_equal(arrivals, rounds * ends + 1);
    }
}

/* Two recordings of one machine are told in the order of time, though one receives long after the other has sent. */
static void one_clock_is_followed(void **state)
{
    const uint32_t messages = 200;
    uint64_t last = 0;
    uint32_t told = 0;

    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 1, PATH_TCP, 1, 4000, 1, 80);
    add_machine(&second, T0, 1, ALL);
    add_internet(&second, T0, 1, PATH_TCP, 1, 80, 1, 4000);
    for (uint32_t i = 0; i < messages; i++) {
        add_message(&first, T0 + 10 * i + 10, EVENT_SEND, 1, i, 1, 10 * i, 10);
        add_message(&second, T0 + 10 * i + 15, EVENT_MESSAGEQUEUED, 0, 0, 1, 10 * i, 10)
            ->header.flags = RECORD_NO_STREAM;
    }
    for (uint32_t i = 0; i < messages; i++)
        add_message(&second, T0 + 10 * messages + 20 + i, EVENT_RECEIVE, 1, i, 1, 10 * i, 10);
    run(true);
    assert_int_equal(outcome.counts.exact, messages);
    for (uint32_t i = 0; i < outcome.count; i++)
        if (outcome.records[i].header.id <= EVENT_RECEIVE ||
            outcome.records[i].header.id == EVENT_MESSAGEQUEUED) {
            assert_true(outcome.records[i].header.time >= last);
            last = outcome.records[i].header.time;
            told++;
        }
    assert_int_equal(told, 3 * messages);
}

/* What a process sends first, it did not begin before it was created. */
static void not_sent_before_birth(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_PIPE, ALL);
    add_message(&first, T0 + 1, EVENT_SEND, 1, 1, 1, 0, 10);
    add_event(&first, T0 + 2, EVENT_EXEC, 3, 1);
    add_message(&first, T0 + 3, EVENT_RECEIVE, 2, 1, 2, 0, 10);
    add_event(&first, T0 + 4, EVENT_CREATEPROCESS, 3, 2)->create.child = 4;
    add_message(&first, T0 + 5, EVENT_SEND, 4, 1, 1, 10, 10);
    add_message(&first, T0 + 6, EVENT_RECEIVE, 2, 2, 2, 10, 10);
    run(false);
    assert_edge(found(0, 2, 1), 0, EDGE_EXACT, found(0, 1, 1), 10);
    assert_int_equal(outcome.events[found(0, 2, 1)].edge_count, 1);
    assert_edge(found(0, 2, 2), 0, EDGE_EXACT, found(0, 4, 1), 10);
}

/* In a container of its own address: a moment proves that no neighbour tells of the client. */
static void client_of_a_container(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 1, PATH_TCP, 200, 80, 77, 4000);
    add_message(&first, T0 + 1, EVENT_RECEIVE, 1, 1, 1, 0, 10);
    add_event(&first, T0 + MOMENT_OF_TEST + 2, EVENT_EXEC, 3, 1);
    add_event(&first, T0 + MOMENT_OF_TEST + 3, EVENT_EXEC, 3, 2);
    add_event(&first, T0 + MOMENT_OF_TEST + 4, EVENT_EXEC, 3, 3);
    run(false);
    assert_rest(found(0, 1, 1), REST_EXTERNAL, 10);
    assert_true(found(0, 1, 1) < found(0, 3, 3));
}

static struct path_record *add_translated(struct tape *tape, uint32_t path, uint8_t local,
                                          uint8_t remote, uint32_t out, uint32_t in)
{
    struct path_record *record =
        add_internet(tape, tape->last_time, path, PATH_TCP, local, 4000, remote, 80);

    record->start_out = out;
    record->start_in = in;
    return record;
}

/* Addresses were translated on the way, and lead to machines that nobody knows. */
static void translated(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_translated(&first, 1, 1, 77, 500, 900);
    add_machine(&second, T0 * 100, 2, ALL);
    add_translated(&second, 1, 2, 88, 900, 500);
    for (uint32_t i = 0; i < 20; i++) {
        add_message(&first, T0 + 4 * i, EVENT_SEND, 1, 2 * i, 1, 500 + 10 * i, 10);
        add_message(&second, T0 * 100 + 4 * i, EVENT_RECEIVE, 1, 2 * i, 1, 500 + 10 * i, 10);
        add_message(&second, T0 * 100 + 4 * i + 2, EVENT_SEND, 1, 2 * i + 1, 1, 900 + i, 1);
        add_message(&first, T0 + 4 * i + 3, EVENT_RECEIVE, 1, 2 * i + 1, 1, 900 + i, 1);
    }
    run(true);
    assert_int_equal(outcome.counts.exact, 40);
    assert_int_equal(outcome.counts.external + outcome.counts.unmatched_sends, 0);
}

/* The same, but the other end is nobody's; two others tell how the machines' clocks stand, and so that it
 * will not come. */
static void not_translated(void **state)
{
    const uint64_t far = T0 * 100;

    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 2, PATH_TCP, 1, 70, 2, 71)->start_out = 1;
    add_machine(&second, far, 2, ALL);
    add_internet(&second, far, 2, PATH_TCP, 2, 71, 1, 70)->start_in = 1;
    add_message(&first, T0 + 10, EVENT_SEND, 1, 1, 2, 1, 10);
    add_message(&second, far + 20, EVENT_RECEIVE, 1, 1, 2, 1, 10);
    add_message(&second, far + 30, EVENT_SEND, 1, 2, 2, 0, 10);
    add_message(&first, T0 + 40, EVENT_RECEIVE, 1, 2, 2, 0, 10);
    add_translated(&first, 1, 1, 77, 500, 900);
    add_message(&first, T0 + 50, EVENT_RECEIVE, 2, 1, 1, 900, 10);
    add_message(&first, T0 + 60, EVENT_SEND, 2, 2, 1, 500, 10);
    for (uint32_t i = 0; i < 200; i++)
        add_event(&second, far + (i + 1) * MOMENT_OF_TEST / 10, EVENT_EXEC, 1, 3 + i);
    run(true);
    assert_rest(found(0, 2, 1), REST_EXTERNAL, 10);
    assert_true(found(0, 2, 1) < found(1, 1, 150));
    assert_int_equal(outcome.counts.external, 2);
}

/* So many datagrams may be lost that their 16 bits begin anew, and another one seems to be meant. */
static void datagrams_begin_anew(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_internet(&first, T0, 1, PATH_UDP, 1, 4000, 2, 80);
    add_machine(&second, T0, 2, ALL);
    add_internet(&second, T0, 1, PATH_UDP, 2, 80, 1, 4000);
    add_message(&first, T0 + 1, EVENT_SEND, 1, 1, 1, 7, 10);
    add_message(&first, T0 + 2, EVENT_SEND, 1, 2, 1, 8, 10);
    add_message(&first, T0 + 2, EVENT_SEND, 1, 3, 1, 7 + 65536, 10);
    add_message(&second, T0 + 3, EVENT_RECEIVE, 1, 1, 1, 7, 10);
    run(true);
    assert_int_equal(outcome.counts.exact, 0);
    assert_int_equal(outcome.counts.inferred, 1);
}

/* Whose PATH was lost has sends that are not matched: nobody knows that they lead away. */
static void lost_path(void **state)
{
    (void)state;
    begin();
    add_machine(&first, T0, 1, ALL);
    add_message(&first, T0 + 1, EVENT_SEND, 1, 1, 9, 0, 10);
    add_message(&first, T0 + 2, EVENT_RECEIVE, 1, 2, 9, 0, 10);
    run(false);
    assert_int_equal(outcome.counts.unmatched_sends, 1);
    assert_int_equal(outcome.counts.unmatched_receives, 1);
    assert_int_equal(outcome.counts.external, 0);
}

/* Counts what becomes of more records than are kept in `outcome`. */
static void count(void)
{
    struct source *source = &first.source;
    struct history *history;
    struct problem problem;
    struct history_event event;

    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    while (history_next(history, &event, &problem) == SOURCE_RECORD)
        ;
    history_counts(history, &outcome.counts);
    history_free(history);
    tape_done(&first);
    tape_done(&second);
}

#define MOST_STREAMS 4096 /* of a direction, and */
#define MOST_RANGES  256  /* so much that is received before its SENDs are told */

/* What is beyond the limits of a path is forgotten, and counted. */
static void more_than_is_kept(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 3; more++) {
        begin();
        add_pair(PATH_UNIX_STREAM, ALL);
        for (uint32_t i = 0; i < MOST_STREAMS + more; i++)
            add_message(&first, T0 + i, EVENT_SEND, 10 + i, 1, 1, i, 1);
        count();
        assert_int_equal(outcome.counts.forgotten_streams, more);
        assert_int_equal(outcome.counts.forgotten_ranges, 0);
        begin();
        add_pair(PATH_UNIX_STREAM, ALL);
        add_message(&first, T0 + 1, EVENT_SENDCALL, 1, 1, 1, 1000, 1000);
        for (uint32_t i = 0; i < MOST_RANGES + more; i++)
            add_message(&first, T0 + 2 + i, EVENT_RECEIVE, 2, 1 + i, 2, 2 * i, 1);
        count();
        assert_int_equal(outcome.counts.forgotten_ranges, more);
        assert_int_equal(outcome.counts.forgotten_streams, 0);
    }
}

/* What a call in progress has put out is one edge, though its bytes lie in two places. */
static void one_edge_for_a_call(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_PIPE, ALL);
    add_message(&first, T0 + 1, EVENT_SEND, 3, 1, 1, 0, 100);
    add_message(&first, T0 + 2, EVENT_SEND, 1, 1, 1, 100, 50);
    add_message(&first, T0 + 3, EVENT_RECEIVE, 2, 1, 2, 0, 150);
    add_message(&first, T0 + 4, EVENT_SENDCALL, 1, 2, 1, 200, 50);
    add_message(&first, T0 + 5, EVENT_RECEIVE, 2, 2, 2, 150, 100);
    add_event(&first, T0 + 5 * MOMENT_OF_TEST, EVENT_EXEC, 4, 1);
    add_event(&first, T0 + 6 * MOMENT_OF_TEST, EVENT_EXEC, 4, 2);
    run(false);
    uint32_t at = found(0, 2, 2);
    for (uint32_t i = 0; i < outcome.events[at].edge_count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(outcome.edges[at][i].number, outcome.edges[at][j].number);
}

/* A SENDCALL has told of 50 bytes, and of those behind them nobody has: that they are its call's is likely, not certain. */
static void more_than_was_told(void **state)
{
    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    add_message(&first, T0 + 10, EVENT_SENDCALL, 1, 1, 1, 50, 50);
    add_message(&first, T0 + 20, EVENT_RECEIVE, 2, 1, 2, 0, 40);
    add_message(&first, T0 + 30, EVENT_RECEIVE, 2, 2, 2, 40, 40);
    add_event(&first, T0 + 3 * MOMENT_OF_TEST, EVENT_EXEC, 4, 1);
    run(false);
    assert_edge(found(0, 2, 1), 0, EDGE_EXACT, found(0, 1, 1), 40);
    assert_int_equal(outcome.events[found(0, 2, 2)].edge_count, 1);
    assert_edge(found(0, 2, 2), 0, EDGE_ORDERED, found(0, 1, 1), 40);
}

static void one_origin_each(void **state)
{
    struct source two = {.origins = 2};
    struct source *sources[1] = {&two};
    struct history *history;
    struct problem problem = {""};

    (void)state;
    assert_int_equal(history_new(sources, 1, &history, &problem), -EINVAL);
    assert_true(problem.text[0] != '\0');
    history_free(NULL);
}

/* Each SEND lies before all others: from the 1,025th behind it on, one is left out, and no order is certain any more. */
static void far_out_of_order(void **state)
{
    const uint32_t sends = 1030;

    (void)state;
    begin();
    add_pair(PATH_UNIX_STREAM, ALL);
    for (uint32_t i = 0; i < sends; i++)
        add_message(&first, T0 + 10 + i, EVENT_SEND, 1, 1 + i, 1, 10 * (sends - i), 10);
    add_message(&first, T0 + 10 + sends, EVENT_RECEIVE, 2, 1, 2, 10, 50);
    add_message(&first, T0 + 11 + sends, EVENT_RECEIVE, 2, 2, 2, 60, 10);
    add_message(&first, T0 + 12 + sends, EVENT_RECEIVE, 2, 3, 2, 10 * sends, 10);
    run(false);
    assert_int_equal(outcome.events[found(0, 2, 1)].edge_count, 0);
    assert_rest(found(0, 2, 1), REST_UNMATCHED, 50);
    assert_edge(found(0, 2, 2), 0, EDGE_INFERRED, found(0, 1, 1025), 10);
    assert_edge(found(0, 2, 3), 0, EDGE_INFERRED, found(0, 1, 1), 10);
    assert_int_equal(outcome.counts.unmatched_receives, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receive_waits_for_send),
        cmocka_unit_test(waits_that_no_message_ends),
        cmocka_unit_test(waits_for_room_are_left_out),
        cmocka_unit_test(moment_is_a_proof),
        cmocka_unit_test(nothing_received),
        cmocka_unit_test(blocked_send),
        cmocka_unit_test(concurrent_senders),
        cmocka_unit_test(blocked_and_overtaken),
        cmocka_unit_test(blocked_in_a_pipe),
        cmocka_unit_test(long_call_begun_later),
        cmocka_unit_test(parents_and_children),
        cmocka_unit_test(wakeups),
        cmocka_unit_test(wakeups_of_who_is_held),
        cmocka_unit_test(wakeups_after_an_end_that_is_not_told),
        cmocka_unit_test(wakeups_in_a_circle),
        cmocka_unit_test(waits_for_signals),
        cmocka_unit_test(waits_for_other_signals),
        cmocka_unit_test(a_signal_after_a_child),
        cmocka_unit_test(nobody_is_his_own_ancestor),
        cmocka_unit_test(waits_for_children),
        cmocka_unit_test(waits_for_orphans),
        cmocka_unit_test(a_file_that_nobody_wrote),
        cmocka_unit_test(a_file_that_outlives_its_writer),
        cmocka_unit_test(two_machines),
        cmocka_unit_test(sent_long_ago),
        cmocka_unit_test(room_on_another_machine),
        cmocka_unit_test(other_end_is_not_metered),
        cmocka_unit_test(removed_and_lost),
        cmocka_unit_test(skipped_hooks),
        cmocka_unit_test(silence_is_explained),
        cmocka_unit_test(counts_beyond_32_bits),
        cmocka_unit_test(closed_after_what_is_held),
        cmocka_unit_test(arrivals_keep_their_place),
        cmocka_unit_test(one_clock_is_followed),
        cmocka_unit_test(not_sent_before_birth),
        cmocka_unit_test(client_of_a_container),
        cmocka_unit_test(translated),
        cmocka_unit_test(not_translated),
        cmocka_unit_test(datagrams_begin_anew),
        cmocka_unit_test(lost_path),
        cmocka_unit_test(more_than_is_kept),
        cmocka_unit_test(far_out_of_order),
        cmocka_unit_test(one_edge_for_a_call),
        cmocka_unit_test(more_than_was_told),
        cmocka_unit_test(one_origin_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
