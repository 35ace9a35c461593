/* SPDX-License-Identifier: MIT */
/*
 * elapsed_test.c: where the elapsed time went: in small computations whose answer is known, category by category, and in
 * random ones, where the parts must add up.
 */
#include "analysis/elapsed/elapsed.h"

#include "computations.h"

#define MS 1000000u

/* ---- a computation with known times ---- */

struct scene {
    struct tape tape;
    uint32_t sequences[8];
};

static void begin_scene(struct scene *scene, uint32_t streams)
{
    *scene = (struct scene){0};
    tape_init(&scene->tape);
    add_machine(&scene->tape, T0, 1, ALL);
    for (uint32_t stream = 1; stream <= streams; stream++)
        add_stream(&scene->tape, T0, stream, stream, stream == 1 ? 0 : 1);
}

/* A record of a stream at so many ms, when it has used so much CPU time. */
static struct record *at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu,
                         enum event_id id)
{
    struct record *record =
        add_event(&scene->tape, T0 + (uint64_t)ms * MS, id, stream, scene->sequences[stream]++);

    record->header.proc_time_and_pc = (uint64_t)cpu * MS;
    return record;
}

static struct record *message_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu,
                                 enum event_id id, uint32_t path, uint32_t offset, uint32_t bytes)
{
    struct record *record = at(scene, ms, stream, cpu, id);

    record->message.path = path;
    record->message.offset = offset;
    record->message.bytes = bytes;
    return record;
}

static struct record *block_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu,
                               uint32_t call, uint32_t state, uint32_t duration)
{
    struct record *record = at(scene, ms, stream, cpu, EVENT_BLOCK);

    record->block.system_call = call;
    record->block.state = state;
    record->block.duration = (uint64_t)duration * MS;
    return record;
}

static void queued_at(struct scene *scene, uint32_t ms, uint32_t path, uint32_t offset,
                      uint32_t bytes)
{
    struct record *record =
        add_event(&scene->tape, T0 + (uint64_t)ms * MS, EVENT_MESSAGEQUEUED, 0, 0);

    record->header.flags = RECORD_NO_STREAM;
    record->queued.path = path;
    record->queued.offset = offset;
    record->queued.bytes = bytes;
}

static void schedule_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t waited)
{
    struct record *record =
        add_event(&scene->tape, T0 + (uint64_t)ms * MS, EVENT_SCHEDULE, stream, 0);

    record->header.flags = RECORD_NO_STREAM;
    record->schedule.runnable = (uint64_t)waited * MS;
}

/* Processes that begin their programs at 0 ms. */
static void begin_programs(struct scene *scene, uint32_t streams)
{
    begin_scene(scene, streams);
    for (uint32_t stream = 1; stream <= streams; stream++)
        at(scene, 0, stream, 0, EVENT_EXEC);
}

/* Two processes with a pipe between them, whose ends have their numbers. */
static void begin_pipe(struct scene *scene)
{
    begin_programs(scene, 2);
    add_unix(&scene->tape, T0, 1, PATH_PIPE, 1, 2);
    add_unix(&scene->tape, T0, 2, PATH_PIPE, 2, 1);
}

static void end_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t cpu)
{
    at(scene, ms, stream, cpu, EVENT_TERMINATION)->termination.last = 1;
}

/* ---- reading ---- */

static struct elapsed *read_tape(struct tape *tape, uint64_t *ret_events)
{
    struct source *source = &tape->source;
    struct history *history = NULL;
    struct elapsed_analysis *reading = NULL;
    struct elapsed *elapsed = NULL;
    struct history_counts counts;
    struct problem problem = {""};

    tape->at = 0;
    tape->source.states = &tape->state;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    if (elapsed_new(history, NULL, &reading, &problem) < 0)
        fail_msg("%s", problem.text);
    const struct analysis analysis = elapsed_analysis(reading);
    if (analyses_read_all(history, &analysis, 1, &problem) != 0)
        fail_msg("%s", problem.text);
    assert_int_equal(elapsed_finish(reading, &elapsed), 0);
    history_counts(history, &counts);
    *ret_events = counts.events;
    elapsed_analysis_free(reading);
    history_free(history);
    return elapsed;
}

static void check_account(const struct elapsed_account *account)
{
    uint64_t by_kind = 0, rows = 0;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        by_kind += account->by_kind[kind];
    for (size_t i = 0; i < account->row_count; i++) {
        rows += account->rows[i].time;
        assert_true(i == 0 || account->rows[i].time <= account->rows[i - 1].time);
        assert_true(account->rows[i].count > 0);
    }
    assert_int_equal(by_kind, account->time);
    assert_int_equal(rows, account->time);
}

/* Parts of the run, each at most once. */
static void check_holders(const struct elapsed *elapsed)
{
    uint64_t time = 0;

    for (size_t i = 0; i < elapsed->holder_count; i++) {
        const struct elapsed_holder *holder = &elapsed->holders[i];
        time += holder->did.time;
        assert_true(holder->threads > 0 && holder->did.count > 0);
        assert_true(i == 0 || holder->did.time <= elapsed->holders[i - 1].did.time);
    }
    assert_true(time <= elapsed->run.time);
}

/* Hops follow each other from the beginning to the end. */
static void check_hops(const struct elapsed_request *request)
{
    uint64_t at = 0;

    for (size_t i = 0; i < request->hop_count && !request->cut; i++) {
        assert_int_equal(request->hops[i].begin, at);
        assert_true(request->hops[i].part.time > 0);
        at += request->hops[i].part.time;
    }
    if (!request->cut)
        assert_int_equal(at, request->time);
}

/* The parts add up, whatever the computation. */
static void check_sums(const struct elapsed *elapsed, uint64_t events)
{
    const struct elapsed_requests *requests = &elapsed->requests;

    check_account(&elapsed->run);
    check_holders(elapsed);
    assert_true(elapsed->run.intervals <= events);
    check_account(&requests->account);
    assert_int_equal(requests->followed, requests->count);
    assert_true(requests->median <= requests->p99 && requests->p99 <= requests->slowest.time);
    assert_true(requests->slowest.time <= requests->account.time);
    assert_int_equal(requests->typical.time, requests->median);
    check_hops(&requests->typical);
    check_hops(&requests->slowest);
    for (size_t i = 0; i < elapsed->wait_count; i++) {
        const struct elapsed_wait *wait = &elapsed->waits[i];
        assert_true(i == 0 || wait->what.time <= elapsed->waits[i - 1].what.time);
        assert_true(wait->what.count > 0 && wait->longest <= wait->what.time);
    }
}

/* "computing 3 disk 5", in ms. */
static void kinds_text(const struct elapsed_account *account, char text[400])
{
    text[0] = '\0';
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (account->by_kind[kind] != 0)
            snprintf(text + strlen(text), 400 - strlen(text), "%s%s %" PRIu64,
                     text[0] == '\0' ? "" : " ", elapsed_kind_key(kind),
                     account->by_kind[kind] / MS);
}

static struct elapsed *read_scene(struct scene *scene)
{
    uint64_t events;
    struct elapsed *elapsed = read_tape(&scene->tape, &events);

    check_sums(elapsed, events);
    tape_done(&scene->tape);
    return elapsed;
}

/* Checks the ms of each kind of the whole run. */
static void check_scene(struct scene *scene, const char *expected)
{
    char found[400];
    struct elapsed *elapsed = read_scene(scene);

    kinds_text(&elapsed->run, found);
    assert_string_equal(found, expected);
    elapsed_free(elapsed);
}

/* The same of the requests, and their number; in_progress: at the end of the recording. */
static void check_requests(struct scene *scene, uint64_t count, uint64_t in_progress,
                           const char *expected)
{
    char found[400];
    struct elapsed *elapsed = read_scene(scene);

    kinds_text(&elapsed->requests.account, found);
    assert_string_equal(found, expected);
    assert_int_equal(elapsed->requests.count, count);
    assert_int_equal(elapsed->requests.unanswered, 0);
    assert_int_equal(elapsed->requests.unfinished, in_progress);
    elapsed_free(elapsed);
}

/* ---- known answers ---- */

static void one_process(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 1);
    block_at(&scene, 50, 1, 10, 75, 2, 30);   /* fdatasync: computes 10, has no CPU for 10 */
    block_at(&scene, 150, 1, 30, 230, 1, 80); /* clock_nanosleep */
    block_at(&scene, 160, 1, 30, 202, 1, 10); /* futex */
    end_at(&scene, 200, 1, 60);               /* computes 30, has no CPU for 10 */
    check_scene(&scene, "computing 60 no_cpu 20 disk 30 lock 10 timer 80");
}

/* A condition that is waited for with a time limit, and nothing wakes: so Java sleeps. Another is woken. */
static void locks_with_time_limits(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    block_at(&scene, 50, 1, 0, 202, 1, 50)->header.flags |= RECORD_TIME_LIMIT;
    at(&scene, 80, 2, 80, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 80, 1, 0, 202, 1, 30)->header.flags |= RECORD_TIME_LIMIT;
    block_at(&scene, 100, 1, 0, 202, 1, 20)->header.flags |= RECORD_TIME_LIMIT;
    end_at(&scene, 100, 1, 0);
    check_scene(&scene, "computing 80 time_limit 20");
}

static void stops(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 1);
    at(&scene, 10, 1, 10, EVENT_STOPPROCESS);
    at(&scene, 60, 1, 10, EVENT_STARTPROCESS);
    end_at(&scene, 70, 1, 20);
    check_scene(&scene, "computing 20 stopped 50");
}

/* A client asks, the message takes 20 ms, the server computes for 30, its answer arrives at once. */
static void a_request(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 2);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 4000, 1, 80);
    add_internet(&scene.tape, T0, 2, PATH_TCP, 1, 80, 1, 4000);
    at(&scene, 0, 1, 0, EVENT_EXEC);
    message_at(&scene, 1, 2, 0, EVENT_RECEIVECALL, 2, 0, 0);
    message_at(&scene, 10, 1, 10, EVENT_SEND, 1, 0, 100);
    message_at(&scene, 11, 1, 11, EVENT_RECEIVECALL, 1, 0, 0);
    queued_at(&scene, 30, 2, 0, 100);
    message_at(&scene, 35, 2, 2, EVENT_RECEIVE, 2, 0, 100); /* woken late by 3 ms, computes for 2 */
    message_at(&scene, 63, 2, 30, EVENT_SEND, 2, 0, 50);
    queued_at(&scene, 63, 1, 0, 50);
    message_at(&scene, 64, 1, 11, EVENT_RECEIVE, 1, 0, 50); /* 1 ms late */
    end_at(&scene, 70, 1, 17);
    check_scene(&scene, "computing 46 no_cpu 4 in_flight 20");
}

/* A parent waits for its child, which waits for a timer. */
static void a_child(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 2);
    at(&scene, 0, 1, 0, EVENT_EXEC);
    at(&scene, 10, 1, 10, EVENT_CREATEPROCESS)->create.child = 2;
    at(&scene, 15, 2, 3, EVENT_EXEC); /* begins 2 ms late */
    block_at(&scene, 45, 2, 3, 35, 1, 30);
    end_at(&scene, 50, 2, 8);
    block_at(&scene, 51, 1, 10, 61, 1, 41); /* wait4: 1 ms late */
    end_at(&scene, 60, 1, 19);
    check_scene(&scene, "computing 27 no_cpu 3 timer 30");
}

/* Answers of an unmonitored peer, and a wait for any of several paths that a timeout ends. */
static void a_stranger(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 1);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 4000, 9, 80);
    message_at(&scene, 10, 1, 10, EVENT_SEND, 1, 0, 100);
    message_at(&scene, 10, 1, 10, EVENT_RECEIVECALL, 1, 0, 0);
    message_at(&scene, 50, 1, 10, EVENT_RECEIVE, 1, 0, 100);
    message_at(&scene, 50, 1, 10, EVENT_RECEIVECALL, 0, 232, 0); /* epoll_wait */
    message_at(&scene, 75, 1, 15, EVENT_SEND, 1, 100, 100);
    end_at(&scene, 75, 1, 15);
    check_scene(&scene, "computing 15 outside 40 event 20");
}

/* A thread that slept for another's wakeup: the other computed meanwhile. An older message did not end the wait. */
static void a_wakeup(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    at(&scene, 40, 2, 40, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 42, 1, 5, 202, 1,
             37); /* computes 5, sleeps from 5 on, runs 2 ms after the wakeup */
    end_at(&scene, 50, 1, 13);
    check_scene(&scene, "computing 48 no_cpu 2");
}

/* A helper sleeps for 100 ms, and then holds a lock for 6, which the command waits for. If the command began to wait only
 * when the helper was awake, the sleep has cost nothing, and the command computed meanwhile. What the helper did while the
 * command waited is known by itself. */
static void a_holder_that_had_slept(void **state)
{
    static const struct {
        uint32_t wait;
        uint64_t asleep, awake; /* of the helper, while the command waited */
        const char *expected;
    } cases[] = {{4, 0, 4, "computing 120"},
                 {6, 0, 6, "computing 120"},
                 {8, 2, 6, "computing 20 time_limit 100"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t cpu = 106 - cases[i].wait;
        struct scene scene;
        char found[400];
        begin_programs(&scene, 2);
        block_at(&scene, 100, 2, 0, 202, 1, 100)->header.flags |= RECORD_TIME_LIMIT;
        at(&scene, 106, 2, 6, EVENT_WAKEUP)->wakeup.woken = 1;
        block_at(&scene, 106, 1, cpu, 202, 1, cases[i].wait);
        end_at(&scene, 120, 1, cpu + 14);
        struct elapsed *elapsed = read_scene(&scene);
        kinds_text(&elapsed->run, found);
        assert_string_equal(found, cases[i].expected);
        assert_int_equal(elapsed->holder_count, cases[i].asleep > 0 ? 2 : 1);
        assert_int_equal(elapsed->holders[0].did.kind, ELAPSED_COMPUTES);
        assert_int_equal(elapsed->holders[0].did.time, cases[i].awake * MS);
        assert_int_equal(elapsed->holders[0].waited.call, 202);
        assert_int_equal(elapsed->holders[0].threads, 1);
        assert_int_equal(elapsed->holders[1].did.time, cases[i].asleep * MS);
        elapsed_free(elapsed);
    }
}

/* The process's last thread slept, with a time limit, until exit(2) in another thread woke it to end. It did not wait for that
 * one; so when the other had slept, the way does not go back to it. */
static void a_thread_that_is_ended(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    for (uint32_t ms = 25; ms <= 50; ms += 25)
        block_at(&scene, ms, 1, 0, 202, 1, 25)->header.flags |= RECORD_TIME_LIMIT;
    block_at(&scene, 60, 2, 55, 230, 1, 5);
    block_at(&scene, 75, 1, 0, 202, 1, 25)->header.flags |= RECORD_TIME_LIMIT;
    at(&scene, 100, 2, 95, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 100, 1, 0, 202, 1, 25)->header.flags |= RECORD_TIME_LIMIT;
    end_at(&scene, 100, 1, 0);
    check_scene(&scene, "computing 95 timer 5");
}

/* The holder wakes another one each 20 ms, and takes the lock again before that one does, which has waited all along. */
static void a_wait_in_vain(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 3);
    for (uint32_t stream = 3; stream > 0; stream--)
        at(&scene, 0, stream, 0, EVENT_EXEC);
    for (uint32_t ms = 20; ms <= 100; ms += 20) {
        at(&scene, ms, 2, ms, EVENT_WAKEUP)->wakeup.woken = 3;
        block_at(&scene, ms, 3, 0, 202, 1, 20);
    }
    at(&scene, 120, 3, 20, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 120, 1, 0, 65, 1, 120); /* semop: a row of its own */
    end_at(&scene, 120, 1, 0);
    struct elapsed *elapsed = read_scene(&scene);
    assert_int_equal(elapsed->holder_count, 2);
    assert_int_equal(elapsed->holders[0].did.time, 100 * MS);
    assert_int_equal(elapsed->holders[0].waited.call, 202);
    assert_int_equal(elapsed->holders[1].did.time, 20 * MS);
    elapsed_free(elapsed);
}

/* What led to a message counts, also a sleep that ended before its receiver waited for it. */
static void a_sender_that_had_slept(void **state)
{
    struct scene scene;

    (void)state;
    begin_pipe(&scene);
    block_at(&scene, 100, 2, 0, 230, 1, 100);
    message_at(&scene, 102, 1, 102, EVENT_RECEIVECALL, 1, 0, 0);
    message_at(&scene, 106, 2, 6, EVENT_SEND, 2, 0, 10);
    message_at(&scene, 106, 1, 102, EVENT_RECEIVE, 1, 0, 10);
    end_at(&scene, 120, 1, 116);
    check_scene(&scene, "computing 20 timer 100");
}

/* A wait for any of several paths that a timeout ends, before something is sent to a metered process: it was not for
 * buffer space. So postgres sleeps (pg_sleep). */
static void a_sleep_before_a_send(void **state)
{
    struct scene scene;

    (void)state;
    begin_pipe(&scene);
    message_at(&scene, 10, 1, 10, EVENT_RECEIVECALL, 0, 232, 0); /* epoll_wait */
    message_at(&scene, 50, 1, 10, EVENT_SEND, 1, 0, 100);
    message_at(&scene, 50, 2, 5, EVENT_RECEIVE, 2, 0, 100);
    end_at(&scene, 70, 1, 30);
    check_scene(&scene, "computing 30 event 40");
}

/* A send finds the buffer full until the receiver, which computes, takes what is there. Then the receiver waits for what
 * is sent only now, though the send was called long ago. The command is the sender, or the receiver. */
static void a_full_buffer(void **state)
{
    static const char *const expected[] = {"computing 75 no_cpu 5", "computing 85 no_cpu 5"};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t sender = 1 + i, receiver = 2 - i;
        struct scene scene;
        begin_pipe(&scene);
        message_at(&scene, 10, sender, 10, EVENT_SEND, sender, 0, 100);
        message_at(&scene, 12, sender, 12, EVENT_SENDCALL, sender, 100, 0)->message.span = MS;
        message_at(&scene, 60, receiver, 60, EVENT_RECEIVE, receiver, 0, 100);
        message_at(&scene, 60, receiver, 60, EVENT_RECEIVECALL, receiver, 0, 0);
        message_at(&scene, 65, sender, 12, EVENT_SEND, sender, 100, 100)->message.span = 54 * MS;
        message_at(&scene, 65, receiver, 60, EVENT_RECEIVE, receiver, 100, 100);
        end_at(&scene, 80, sender, 27);
        end_at(&scene, 90, receiver, 85);
        check_scene(&scene, expected[i]);
    }
}

/* The first bytes are out, and the receiver takes them, while the rest waits for space. */
static void a_send_in_pieces(void **state)
{
    struct scene scene;

    (void)state;
    begin_pipe(&scene);
    message_at(&scene, 1, 2, 0, EVENT_RECEIVECALL, 2, 0, 0);
    message_at(&scene, 12, 1, 12, EVENT_SENDCALL, 1, 100, 100)->message.span = 2 * MS;
    message_at(&scene, 12, 2, 0, EVENT_RECEIVE, 2, 0, 50);
    message_at(&scene, 60, 2, 48, EVENT_RECEIVE, 2, 50, 50);
    message_at(&scene, 62, 1, 12, EVENT_SEND, 1, 0, 200)->message.span = 52 * MS;
    end_at(&scene, 80, 1, 30);
    check_scene(&scene, "computing 76 no_cpu 4");
}

/* ---- requests ---- */

/* Of a client that is metered, as it sees them. Its own work between them is not part of them. */
static void a_clients_requests(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 2);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 40000, 1, 80);
    add_internet(&scene.tape, T0, 2, PATH_TCP, 1, 80, 1, 40000);
    at(&scene, 0, 1, 0, EVENT_EXEC);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t ms = 100 * i, own = 10 * i, of_server = 30 * i;
        message_at(&scene, ms + 1, 2, of_server, EVENT_RECEIVECALL, 2, 0, 0);
        message_at(&scene, ms + 10, 1, own + 10, EVENT_SEND, 1, 100 * i, 100);
        message_at(&scene, ms + 10, 1, own + 10, EVENT_RECEIVECALL, 1, 0, 0);
        queued_at(&scene, ms + 30, 2, 100 * i, 100);
        message_at(&scene, ms + 31, 2, of_server, EVENT_RECEIVE, 2, 100 * i, 100);
        message_at(&scene, ms + 61, 2, of_server + 30, EVENT_SEND, 2, 50 * i, 50);
        queued_at(&scene, ms + 61, 1, 50 * i, 50);
        message_at(&scene, ms + 62, 1, own + 10, EVENT_RECEIVE, 1, 50 * i, 50);
    }
    check_requests(&scene, 2, 0, "computing 60 no_cpu 4 in_flight 40");
}

/* Of a client that is not metered: from the arrival on. The second message waits while the server works for the first;
 * the third has no answer. The answers come in two pieces. */
static void a_servers_requests(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 1);
    for (uint32_t path = 1; path <= 3; path++)
        add_internet(&scene.tape, T0, path, PATH_TCP, 1, 80, 9, 40000 + path);
    at(&scene, 0, 1, 0, EVENT_EXEC);
    message_at(&scene, 1, 1, 0, EVENT_RECEIVECALL, 0, 232, 0);
    queued_at(&scene, 10, 1, 0, 100);
    message_at(&scene, 11, 1, 0, EVENT_RECEIVE, 1, 0, 100);
    queued_at(&scene, 15, 2, 0, 100);
    message_at(&scene, 20, 1, 9, EVENT_SEND, 1, 0, 10);
    message_at(&scene, 31, 1, 20, EVENT_SEND, 1, 10, 10);
    message_at(&scene, 31, 1, 20, EVENT_RECEIVE, 2, 0, 100);
    message_at(&scene, 40, 1, 29, EVENT_SEND, 2, 0, 10);
    message_at(&scene, 41, 1, 30, EVENT_RECEIVE, 3, 0, 100);
    end_at(&scene, 50, 1, 39);
    check_requests(&scene, 2, 1, "computing 29 no_cpu 1 queued 16");
}

/* What a server asks of another is part of its own request, also if another thread has it do so. Pipes make none. */
static void a_request_in_two_processes(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 2);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 80, 9, 40000);
    add_internet(&scene.tape, T0, 2, PATH_TCP, 1, 40001, 1, 81);
    add_internet(&scene.tape, T0, 3, PATH_TCP, 1, 81, 1, 40001);
    at(&scene, 0, 1, 0, EVENT_EXEC);
    message_at(&scene, 0, 2, 0, EVENT_RECEIVECALL, 3, 0, 0);
    message_at(&scene, 1, 1, 0, EVENT_RECEIVECALL, 1, 0, 0);
    queued_at(&scene, 10, 1, 0, 100);
    message_at(&scene, 10, 1, 0, EVENT_RECEIVE, 1, 0, 100);
    message_at(&scene, 15, 1, 5, EVENT_SEND, 2, 0, 10);
    message_at(&scene, 15, 1, 5, EVENT_RECEIVECALL, 2, 0, 0);
    message_at(&scene, 15, 2, 0, EVENT_RECEIVE, 3, 0, 10);
    block_at(&scene, 55, 2, 0, 75, 2, 40); /* fdatasync */
    message_at(&scene, 55, 2, 0, EVENT_SEND, 3, 0, 10);
    message_at(&scene, 55, 1, 5, EVENT_RECEIVE, 2, 0, 10);
    message_at(&scene, 60, 1, 10, EVENT_SEND, 1, 0, 10);
    check_requests(&scene, 1, 0, "computing 10 disk 40");
}

/* An event loop takes two requests, and then answers both: what it does for the other one is computing, too; and the wait
 * for another request is no wait for a message of this one. */
static void an_event_loop(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 1);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 80, 9, 40001);
    add_internet(&scene.tape, T0, 2, PATH_TCP, 1, 80, 9, 40002);
    message_at(&scene, 1, 1, 0, EVENT_RECEIVECALL, 0, 232, 0);
    queued_at(&scene, 10, 1, 0, 100);
    message_at(&scene, 10, 1, 0, EVENT_RECEIVE, 1, 0, 100);
    message_at(&scene, 12, 1, 2, EVENT_RECEIVECALL, 0, 232, 0);
    queued_at(&scene, 20, 2, 0, 100);
    message_at(&scene, 20, 1, 2, EVENT_RECEIVE, 2, 0, 100);
    message_at(&scene, 30, 1, 12, EVENT_SEND, 1, 0, 10); /* 20 ms */
    message_at(&scene, 32, 1, 14, EVENT_SEND, 2, 0, 10); /* 12 ms */
    check_requests(&scene, 2, 0, "computing 24 other_connection 8");
}

/* A thread waits for a lock within its request: that is the request's wait, and what the other one does meanwhile is
 * not. But a thread that is woken to work on a request gets it from the one that wakes it. */
static void locks_in_requests(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 80, 9, 40000);
    message_at(&scene, 10, 1, 0, EVENT_RECEIVE, 1, 0, 100);
    at(&scene, 40, 2, 40, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 40, 1, 5, 202, 1, 25);
    message_at(&scene, 45, 1, 10, EVENT_SEND, 1, 0, 10);
    /* the other one hands over */
    message_at(&scene, 50, 2, 40, EVENT_RECEIVE, 1, 100, 100);
    at(&scene, 58, 2, 48, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 58, 1, 10, 202, 1, 13);
    message_at(&scene, 60, 1, 12, EVENT_SEND, 1, 10, 10);
    check_requests(&scene, 2, 0, "computing 20 lock 25");
}

/* A thread receives a request, sleeps for 20 ms, and hands it over to one that came to wait after the sleep. The sleep is
 * the request's, for a client that is not metered and for one that is. */
static void a_sleep_before_handing_over(void **state)
{
    (void)state;
    for (uint32_t metered = 0; metered < 2; metered++) {
        struct scene scene;
        begin_programs(&scene, 3);
        add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 80, metered != 0 ? 1 : 9, 40000);
        add_internet(&scene.tape, T0, 2, PATH_TCP, 1, 40000, 1, 80);
        if (metered != 0) {
            message_at(&scene, 10, 1, 10, EVENT_SEND, 2, 0, 100);
            message_at(&scene, 10, 1, 10, EVENT_RECEIVECALL, 2, 0, 0);
        }
        queued_at(&scene, 10, 1, 0, 100);
        message_at(&scene, 10, 2, 10, EVENT_RECEIVE, 1, 0, 100);
        block_at(&scene, 30, 2, 10, 230, 1, 20);
        at(&scene, 36, 2, 16, EVENT_WAKEUP)->wakeup.woken = 3;
        block_at(&scene, 36, 3, 33, 202, 1, 3);
        message_at(&scene, 40, 3, 37, EVENT_SEND, 1, 0, 10);
        if (metered != 0) {
            queued_at(&scene, 40, 2, 0, 10);
            message_at(&scene, 40, 1, 10, EVENT_RECEIVE, 2, 0, 10);
            end_at(&scene, 50, 1, 20);
            check_scene(&scene, "computing 30 timer 20");
        } else {
            check_requests(&scene, 1, 0, "computing 10 timer 20");
        }
    }
}

/* A thread without a request sleeps for 100 ms, and then holds the one that answers for 2: the sleep is no part of the
 * request, as in a_holder_that_had_slept. */
static void a_holder_without_a_request(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 80, 9, 40000);
    queued_at(&scene, 60, 1, 0, 100);
    message_at(&scene, 60, 1, 60, EVENT_RECEIVE, 1, 0, 100);
    block_at(&scene, 100, 2, 0, 230, 1, 100);
    message_at(&scene, 101, 1, 101, EVENT_SEND, 1, 0, 5); /* the rest follows */
    at(&scene, 105, 2, 5, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 105, 1, 103, 202, 1, 2);
    message_at(&scene, 110, 1, 108, EVENT_SEND, 1, 5, 5);
    check_requests(&scene, 1, 0, "computing 50");
}

/* A wait ends when the thread could run again, and not when it gets a CPU. */
static void a_delay_is_no_part_of_a_wait(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene, 1);
    add_internet(&scene.tape, T0, 1, PATH_TCP, 1, 4000, 9, 80);
    schedule_at(&scene, 0, 1, 5); /* before its first event: of no wait */
    at(&scene, 0, 1, 0, EVENT_EXEC);
    schedule_at(&scene, 20, 1, 12); /* preempted for 7, computes 13 ... */
    schedule_at(&scene, 60, 1, 22); /* 10 of this */
    block_at(&scene, 60, 1, 23, 230, 1, 30);
    schedule_at(&scene, 90, 1, 34); /* 12 of this */
    block_at(&scene, 90, 1, 23, 75, 2, 30);
    message_at(&scene, 90, 1, 23, EVENT_SEND, 1, 0, 100);
    message_at(&scene, 90, 1, 23, EVENT_RECEIVECALL, 1, 0, 0);
    schedule_at(&scene, 120, 1, 42); /* 8 of the answer's */
    message_at(&scene, 120, 1, 23, EVENT_RECEIVE, 1, 0, 100);
    schedule_at(&scene, 130, 1, 47); /* not more than it has waited */
    block_at(&scene, 130, 1, 31, 35, 1, 2);
    end_at(&scene, 130, 1, 31);
    check_scene(&scene, "computing 31 no_cpu 39 outside 22 disk 18 timer 20");
}

/* Two writers of one pipe, seen at the ends of their calls only: each RECEIVE has an edge from both, because the second
 * one may have been in its call since its last record. It has computed. */
static void writers_in_no_certain_order(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 3);
    add_unix(&scene.tape, T0, 1, PATH_PIPE, 1, 2);
    add_unix(&scene.tape, T0, 2, PATH_PIPE, 2, 1);
    message_at(&scene, 0, 3, 0, EVENT_SEND, 1, 0, 10);
    message_at(&scene, 0, 1, 0, EVENT_RECEIVECALL, 2, 0, 0);
    message_at(&scene, 10, 2, 10, EVENT_SEND, 1, 10, 10);
    message_at(&scene, 10, 1, 0, EVENT_RECEIVE, 2, 0, 20);
    message_at(&scene, 10, 1, 0, EVENT_RECEIVECALL, 2, 20, 0);
    message_at(&scene, 100, 3, 100, EVENT_SEND, 1, 20, 10);
    message_at(&scene, 100, 1, 0, EVENT_RECEIVE, 2, 20, 10);
    end_at(&scene, 100, 1, 0);
    check_scene(&scene, "computing 100");
}

/* SCHEDULEs say how long threads waited for a CPU: what else they did when they were awake is unknown. */
static void no_cpu_as_the_kernel_says(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    at(&scene, 10, 2, 10, EVENT_WAKEUP)->wakeup.woken = 1;
    schedule_at(&scene, 100, 1, 3);
    block_at(&scene, 100, 1, 0, 202, 1, 100); /* futex */
    schedule_at(&scene, 200, 1, 23);
    block_at(&scene, 200, 1, 50, 202, 1, 0); /* awake */
    end_at(&scene, 200, 1, 50);
    check_scene(&scene, "computing 60 no_cpu 24 unknown 116");
}

/* A thread waits for a CPU for 60 ms, and then for a lock, whose holder computes meanwhile: the way goes along the holder.
 * The 60 ms are no reason to believe that the thread had no CPU later, when no SCHEDULE says so. */
static void no_cpu_is_not_carried_over(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 2);
    schedule_at(&scene, 70, 1, 60);
    at(&scene, 90, 1, 30, EVENT_WAKEUP)->wakeup.woken = 0;
    at(&scene, 100, 2, 100, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 100, 1, 30, 202, 1, 10);
    for (uint32_t ms = 110; ms <= 130; ms += 10)
        block_at(&scene, ms, 1, 30, 230, 1, 5);
    end_at(&scene, 130, 1, 30);
    check_scene(&scene, "computing 100 no_cpu 1 timer 15 unknown 14");
}

/* A child's first event comes after its SCHEDULEs: its parent's record before it is held back by a receive. */
static void no_cpu_of_a_child(void **state)
{
    struct scene scene;

    (void)state;
    begin_pipe(&scene);
    add_stream(&scene.tape, T0, 3, 3, 1);
    message_at(&scene, 10, 1, 10, EVENT_RECEIVE, 2, 0, 10);
    at(&scene, 10, 1, 10, EVENT_CREATEPROCESS)->create.child = 3;
    at(&scene, 10, 3, 0, EVENT_STARTPROCESS);
    schedule_at(&scene, 30, 3, 20);
    schedule_at(&scene, 60, 3, 40);
    message_at(&scene, 70, 2, 60, EVENT_SEND, 1, 0, 10)->message.span = 61 * MS;
    end_at(&scene, 90, 3, 40);
    at(&scene, 90, 3, 40, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 90, 1, 10, 61, 1, 80);
    end_at(&scene, 90, 1, 10);
    check_scene(&scene, "computing 50 no_cpu 40");
}

/* A poll that has timed out makes no record; a wait in another call comes after it. */
static void a_poll_ends_before_the_next_wait(void **state)
{
    struct scene scene;

    (void)state;
    begin_programs(&scene, 1);
    message_at(&scene, 0, 1, 0, EVENT_RECEIVECALL, 0, 7, 0);
    block_at(&scene, 50, 1, 10, 75, 2, 15); /* fdatasync */
    message_at(&scene, 50, 1, 10, EVENT_RECEIVECALL, 0, 7, 0);
    block_at(&scene, 90, 1, 15, 230, 1, 5); /* nanosleep */
    message_at(&scene, 90, 1, 15, EVENT_RECEIVECALL, 0, 7, 0);
    block_at(&scene, 95, 1, 15, 7, 2, 1); /* of the poll itself */
    message_at(&scene, 99, 1, 15, EVENT_RECEIVECALL, 0, 7, 0);
    end_at(&scene, 99, 1, 15);
    check_scene(&scene, "computing 15 disk 15 timer 5 event 64");
}

/* Programs with process IDs, 101 and so on, of which the first one polls from 0 ms on; the second one's end at 20 ms wakes it. */
static void begin_poll(struct scene *scene, uint32_t streams)
{
    begin_scene(scene, 0);
    for (uint32_t stream = 1; stream <= streams; stream++) {
        const struct stream_record record = {
            .header = {.time = T0, .id = EVENT_STREAM, .flags = 16, .stream = stream},
            .process = stream,
            .parent = stream == 1 ? 0 : 1,
            .pid = 100 + stream};
        tape_add(&scene->tape, &record);
        at(scene, 0, stream, 0, EVENT_EXEC);
    }
    message_at(scene, 0, 1, 0, EVENT_RECEIVECALL, 0, 7, 0);
    end_at(scene, 20, 2, 20);
}

static void wake_by_end(struct scene *scene, uint32_t ms)
{
    struct record *record = add_event(&scene->tape, T0 + (uint64_t)ms * MS, EVENT_WAKEUP, 0, 0);

    record->header.flags = RECORD_NO_STREAM;
    record->wakeup.woken = 1;
    record->wakeup.waker = 2;
}

/* Checks which processes ended the poll, and the wait in that call. */
static void check_enders(struct scene *scene, uint32_t of_poll, uint32_t call, uint32_t of_call)
{
    struct elapsed *elapsed = read_scene(scene);
    unsigned found = 0;

    for (size_t i = 0; i < elapsed->wait_count; i++) {
        uint32_t waits_in = elapsed->waits[i].what.call;
        if (waits_in != 7 && waits_in != call)
            continue;
        found++;
        assert_int_equal(elapsed->waits[i].ender_pid, waits_in == 7 ? of_poll : of_call);
    }
    assert_int_equal(found, 2);
    elapsed_free(elapsed);
}

/* A process ends a poll by its own end; another one then ends the wait for a lock that follows. */
static void a_poll_and_the_wait_after_it(void **state)
{
    struct scene scene;

    (void)state;
    begin_poll(&scene, 3);
    wake_by_end(&scene, 21);
    at(&scene, 40, 3, 40, EVENT_WAKEUP)->wakeup.woken = 1;
    block_at(&scene, 40, 1, 4, 202, 1, 15);
    end_at(&scene, 50, 1, 14);
    check_enders(&scene, 102, 202, 103);
}

/* A child's end closes a file, which ends a poll, and later ends the wait for the child. */
static void a_poll_and_the_wait_for_a_child(void **state)
{
    struct scene scene;

    (void)state;
    begin_poll(&scene, 2);
    wake_by_end(&scene, 21);
    wake_by_end(&scene, 40);
    block_at(&scene, 40, 1, 4, 61, 1, 15);
    end_at(&scene, 50, 1, 14);
    check_enders(&scene, 102, 61, 102);
}

/* ---- random computations ---- */

#define COMPUTATIONS 500

static void any_computation_adds_up(void **state)
{
    uint64_t seed = seed_of_run("elapsed");
    struct computation *computation = calloc(1, sizeof(*computation));

    (void)state;
    for (int i = 0; i < COMPUTATIONS; i++) {
        uint64_t own = getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed), events;
        make_plain(computation, &own);
        struct elapsed *elapsed = read_tape(&computation->tape, &events);
        check_sums(elapsed, events);
        elapsed_free(elapsed);
        tape_done(&computation->tape);
    }
    free(computation);
}

#define SCHEDULED 4u /* streams */

/* Streams that wake each other, sleep, compute or do nothing, with SCHEDULEs as the meter makes them. Returns for how
 * long they can have been without a CPU, ns. */
static uint64_t make_schedules(struct scene *scene, uint64_t *seed)
{
    uint32_t now = 0, last[SCHEDULED + 1] = {0}, cpu[SCHEDULED + 1] = {0},
             waited[SCHEDULED + 1] = {0};
    uint64_t most = SCHEDULED * MS;

    begin_programs(scene, SCHEDULED);
    schedule_at(scene, 0, 1, 0);
    for (unsigned i = 0; i < 60; i++) {
        uint32_t stream = 1 + (uint32_t)random_below(seed, SCHEDULED);
        now += (uint32_t)random_below(seed, 10);
        uint32_t length = now - last[stream];
        uint32_t computed = (uint32_t)random_below(seed, length + 1);
        last[stream] = now;
        cpu[stream] += computed;
        if (random_below(seed, 3) == 0) {
            waited[stream] += (uint32_t)random_below(seed, length - computed + 1);
            schedule_at(scene, now, stream, waited[stream]);
        }
        if (random_below(seed, 2) == 0)
            at(scene, now, stream, cpu[stream], EVENT_WAKEUP)->wakeup.woken =
                1 + (uint32_t)random_below(seed, SCHEDULED);
        else
            block_at(scene, now, stream, cpu[stream], 202, 1,
                     (uint32_t)random_below(seed, length - computed + 1));
    }
    end_at(scene, now, 1, cpu[1]);
    for (uint32_t stream = 1; stream <= SCHEDULED; stream++)
        most += (uint64_t)waited[stream] * MS;
    return most;
}

static void no_more_than_the_kernel_says(void **state)
{
    uint64_t seed = seed_of_run("schedules");

    (void)state;
    for (int i = 0; i < COMPUTATIONS; i++) {
        struct scene scene;
        uint64_t first = getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed);
        uint64_t own = first, most = make_schedules(&scene, &own);
        struct elapsed *elapsed = read_scene(&scene);
        if (elapsed->run.by_kind[ELAPSED_NO_CPU] > most)
            fail_msg("DPM_SEED=%" PRIu64 ": %" PRIu64 " ns without a CPU, of at most %" PRIu64,
                     first, elapsed->run.by_kind[ELAPSED_NO_CPU], most);
        elapsed_free(elapsed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process),
        cmocka_unit_test(locks_with_time_limits),
        cmocka_unit_test(stops),
        cmocka_unit_test(a_request),
        cmocka_unit_test(a_child),
        cmocka_unit_test(a_stranger),
        cmocka_unit_test(a_wakeup),
        cmocka_unit_test(a_thread_that_is_ended),
        cmocka_unit_test(a_holder_that_had_slept),
        cmocka_unit_test(a_wait_in_vain),
        cmocka_unit_test(a_sender_that_had_slept),
        cmocka_unit_test(a_sleep_before_a_send),
        cmocka_unit_test(a_full_buffer),
        cmocka_unit_test(a_send_in_pieces),
        cmocka_unit_test(a_clients_requests),
        cmocka_unit_test(a_servers_requests),
        cmocka_unit_test(a_request_in_two_processes),
        cmocka_unit_test(an_event_loop),
        cmocka_unit_test(locks_in_requests),
        cmocka_unit_test(a_sleep_before_handing_over),
        cmocka_unit_test(a_holder_without_a_request),
        cmocka_unit_test(a_delay_is_no_part_of_a_wait),
        cmocka_unit_test(a_poll_ends_before_the_next_wait),
        cmocka_unit_test(a_poll_and_the_wait_after_it),
        cmocka_unit_test(a_poll_and_the_wait_for_a_child),
        cmocka_unit_test(writers_in_no_certain_order),
        cmocka_unit_test(no_cpu_as_the_kernel_says),
        cmocka_unit_test(no_cpu_is_not_carried_over),
        cmocka_unit_test(no_cpu_of_a_child),
        cmocka_unit_test(any_computation_adds_up),
        cmocka_unit_test(no_more_than_the_kernel_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
