/* SPDX-License-Identifier: MIT */
/*
 * live_counters_test.c: each counter has labels of its own, whatever programs are called; pairs of programs count what their
 * rows have; and none becomes less, or grows by what it has counted before. And machines that join, and what hooks cost.
 */
#include "show/live/live_face.h"

#include "tapes.h"

#define MS       1000000u
#define T0       1000000000u
#define PROGRAMS (LIVE_COUNTED_MOST + 50)

/* As show_text does: what could control a terminal is a question mark. */
static void clean(const char *name, size_t size, char *to)
{
    for (size_t i = 0; i < size && *name != '\0'; i++, name++)
        *to++ = *name < ' ' ? '?' : *name;
    *to = '\0';
}

static void add_program(struct tape *tape, uint32_t stream, const char *name)
{
    struct stream_record record = {
        .header = {.time = T0, .id = EVENT_STREAM, .flags = 16, .stream = stream},
        .process = stream,
        .pid = stream,
        .tid = stream};

    snprintf(record.name, sizeof(record.name), "%s", name);
    tape_add(tape, &record);
    add_event(tape, T0, EVENT_CREATEPATH, stream, 0)->header.proc_time_and_pc = stream;
}

/* A snapshot's counters of programs. */
static const struct live_counter *count(struct tape *tape, struct history **ret_history,
                                        struct live **ret_live, size_t *ret_count)
{
    struct source *source = &tape->source;
    struct problem problem = {""};

    assert_int_equal(history_new(&source, 1, ret_history, &problem), 0);
    assert_int_equal(live_new(*ret_history, ret_live), 0);
    live_count(*ret_live, clean);
    const struct analysis analysis = live_analysis(*ret_live);
    assert_int_equal(analyses_read_all(*ret_history, &analysis, 1, &problem), 0);
    assert_int_equal(live_take(*ret_live, 1, 0, true), 0);
    return live_counters(*ret_live, LIVE_COUNTED_PROGRAMS, ret_count);
}

static void check_different(const struct live_counter *counters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(strcmp(counters[i].name, counters[k].name) == 0 &&
                         strcmp(counters[i].other, counters[k].other) == 0);
}

/* Two names are the same label; one is called as the rest is; no name has its machine's in it. */
static void test_labels(void **context)
{
    const char *const names[] = {"a\001", "a\002", "others", "a"};
    struct live *live = NULL;
    struct history *history = NULL;
    struct tape tape;
    size_t found;

    (void)context;
    tape_init(&tape);
    add_machine(&tape, T0, 1, UINT32_MAX);
    for (uint32_t i = 0; i < ARRAY_SIZE(names); i++)
        add_program(&tape, i + 1, names[i]);
    const struct live_counter *counters = count(&tape, &history, &live, &found);
    assert_int_equal(found, 3);
    check_different(counters, found);
    assert_string_equal(counters[0].name, "a?");
    assert_int_equal(counters[0].so_far[LIVE_LIVING], 2);
    assert_string_equal(counters[2].name, "a");
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

/* All after the first ones are one, which a program's name cannot double. */
static void test_others(void **context)
{
    struct live *live = NULL;
    struct history *history = NULL;
    struct tape tape;
    uint64_t living = 0;
    size_t found;

    (void)context;
    tape_init(&tape);
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "others");
    for (uint32_t i = 2; i <= PROGRAMS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%u", i);
        add_program(&tape, i, name);
    }
    const struct live_counter *counters = count(&tape, &history, &live, &found);
    assert_int_equal(found, LIVE_COUNTED_MOST + 1);
    check_different(counters, found);
    for (size_t i = 0; i < found; i++)
        living += counters[i].so_far[LIVE_LIVING];
    assert_int_equal(living, PROGRAMS);
    assert_int_equal(counters[LIVE_COUNTED_MOST].so_far[LIVE_LIVING], PROGRAMS - LIVE_COUNTED_MOST);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

/* The values of a pair that the metrics have. */
static const enum live_value of_pair[] = {LIVE_SENT, LIVE_SENT_BYTES, LIVE_RECEIVER_WAIT,
                                          LIVE_QUEUE_DELAY, LIVE_SEND_BLOCKED};

/* Of a thread that uses no CPU. Stream and path have one number. */
static void add_idle(struct tape *tape, uint32_t ms, enum event_id id, uint32_t stream,
                     uint32_t sequence, uint32_t offset)
{
    add_message(tape, T0 + ms * MS, id, stream, sequence, stream, offset, 10)
        ->header.proc_time_and_pc = stream;
}

/* A message waits for 50 ms in the queue of the server, which then waits for 20 ms for another one. */
static void test_pairs(void **context)
{
    struct live *live = NULL;
    struct history *history = NULL;
    struct tape tape;
    size_t found;

    (void)context;
    tape_init(&tape);
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "client");
    add_program(&tape, 2, "server");
    add_unix(&tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    add_unix(&tape, T0, 2, PATH_UNIX_STREAM, 6, 5);
    add_idle(&tape, 10, EVENT_SEND, 1, 1, 0);
    add_idle(&tape, 60, EVENT_RECEIVE, 2, 1, 0);
    add_idle(&tape, 70, EVENT_RECEIVECALL, 2, 2, 10);
    add_idle(&tape, 90, EVENT_SEND, 1, 2, 10);
    add_idle(&tape, 90, EVENT_RECEIVE, 2, 3, 10);
    count(&tape, &history, &live, &found);
    const struct live_rows *rows = &live_snapshot(live, 0)->tables[LIVE_PAIRS];
    const struct live_counter *pairs = live_counters(live, LIVE_COUNTED_PAIRS, &found);
    assert_int_equal(found, 1);
    assert_int_equal(rows->count, 1);
    for (size_t i = 0; i < ARRAY_SIZE(of_pair); i++)
        assert_int_equal(pairs[0].so_far[of_pair[i]], rows->at[0].so_far[of_pair[i]]);
    assert_int_equal(pairs[0].so_far[LIVE_QUEUE_DELAY], 50 * MS);
    assert_int_equal(pairs[0].so_far[LIVE_RECEIVER_WAIT], 20 * MS);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

/* The clients of a UDP server are not monitored: it stands first, as a client of TCP does, and is the server. */
static void test_udp_server(void **context)
{
    struct live *live = NULL;
    struct history *history = NULL;
    struct tape tape;
    size_t found;

    (void)context;
    tape_init(&tape);
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "dnsmasq");
    add_internet(&tape, T0, 1, PATH_UDP, 1, 53, 7, 41234);
    for (uint32_t i = 0; i < 2; i++) {
        add_idle(&tape, 10 + 10 * i, EVENT_RECEIVE, 1, 1 + 2 * i, i);
        add_idle(&tape, 12 + 10 * i, EVENT_SEND, 1, 2 + 2 * i, i);
    }
    count(&tape, &history, &live, &found);
    const struct live_counter *calls = live_counters(live, LIVE_COUNTED_CALLS, &found);
    assert_int_equal(found, 1);
    assert_string_equal(calls[0].name, "unmonitored");
    assert_string_equal(calls[0].other, "dnsmasq");
    assert_true(calls[0].served.count > 0);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

/* So many records of a tape have come. */
static size_t come;

static int next_that_came(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                          struct problem *problem)
{
    struct tape *tape = (struct tape *)source;

    if (tape->at < come)
        return tape_next(source, ret_event, ret_complete, problem);
    *ret_complete = tape->records[tape->at]->time;
    return SOURCE_NONE_YET;
}

/* Takes a snapshot of them; time 0: the last one. */
static void take_at(struct history *history, struct live *live, uint64_t time)
{
    const struct analysis analysis = live_analysis(live);
    struct problem problem = {""};

    assert_true(analyses_read(history, &analysis, 1, &problem) >= 0);
    assert_int_equal(live_take(live, 1, time, time == 0), 0);
}

static const struct live_counter *only_one(const struct live *live, enum live_counted set)
{
    size_t found;
    const struct live_counter *counters = live_counters(live, set, &found);

    assert_int_equal(found, 1);
    return counters;
}

/* All metrics; the caller frees them. */
static char *metrics(const struct live *live)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(show_live_metrics(live, &(struct live_served){0}, false, file), 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Selection rules may have removed RECEIVEs: how many messages wait is not known, and is no metric. */
static void test_unknown_queues(void **context)
{
    const struct flags_record flags = {.header = {.time = T0, .id = EVENT_FLAGS, .flags = 16},
                                       .meter_flags = UINT32_MAX,
                                       .rules = 1};
    struct live *live = NULL;
    struct history *history = NULL;
    struct tape tape;
    size_t found;

    (void)context;
    tape_init(&tape);
    add_machine(&tape, T0, 1, UINT32_MAX);
    tape_add(&tape, &flags);
    add_program(&tape, 1, "client");
    add_program(&tape, 2, "server");
    add_unix(&tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    add_unix(&tape, T0, 2, PATH_UNIX_STREAM, 6, 5);
    add_idle(&tape, 10, EVENT_SEND, 1, 1, 0);
    count(&tape, &history, &live, &found);
    char *text = metrics(live);
    assert_non_null(strstr(text, "dpm_program_sent_messages_total{program=\"client\""));
    assert_null(strstr(text, "dpm_program_queue_messages{"));
    assert_null(strstr(text, "dpm_program_queue_bytes{"));
    free(text);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

/* It waits in epoll_wait for 1.1 s. That this was for an unmonitored client is known after a second of it was counted. */
static void test_wait_that_becomes_known(void **context)
{
    const uint64_t *waits;
    struct live *live = NULL;
    struct history *history = NULL;
    struct problem problem = {""};
    struct tape tape;
    struct source *source = &tape.source;

    (void)context;
    tape_init(&tape);
    tape.source.next = next_that_came;
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "nginx");
    add_internet(&tape, T0, 1, PATH_TCP, 1, 80, 7, 41234)->role = PATH_ROLE_ACCEPTED;
    struct record *call = add_event(&tape, T0 + 10 * MS, EVENT_RECEIVECALL, 1, 1);
    call->any.system_call = 232;
    call->header.proc_time_and_pc = 1;
    come = tape.count;
    add_idle(&tape, 1110, EVENT_RECEIVE, 1, 2, 0);
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(live_new(history, &live), 0);
    live_count(live, clean);
    take_at(history, live, T0 + 1010 * MS);
    waits = only_one(live, LIVE_COUNTED_PROGRAMS)->so_far + LIVE_WAITS;
    assert_int_equal(waits[ELAPSED_EVENT], 1000 * MS);
    come = SIZE_MAX;
    take_at(history, live, 0);
    waits = only_one(live, LIVE_COUNTED_PROGRAMS)->so_far + LIVE_WAITS;
    assert_int_equal(waits[ELAPSED_EVENT], 1000 * MS);
    assert_int_equal(waits[ELAPSED_OUTSIDE], 100 * MS);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

/* A server answers in pieces: the first one after 20 ms, the last one after 2 s. A bucket that had the first time would keep
 * it. */
static void test_answer_that_goes_on(void **context)
{
    struct live *live = NULL;
    struct history *history = NULL;
    struct problem problem = {""};
    struct tape tape;
    struct source *source = &tape.source;
    const struct live_counter *call;

    (void)context;
    tape_init(&tape);
    tape.source.next = next_that_came;
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "server");
    add_internet(&tape, T0, 1, PATH_TCP, 1, 80, 7, 41234)->role = PATH_ROLE_ACCEPTED;
    add_idle(&tape, 10, EVENT_RECEIVE, 1, 1, 0);
    add_idle(&tape, 30, EVENT_SEND, 1, 2, 0);
    come = tape.count;
    add_idle(&tape, 2010, EVENT_SEND, 1, 3, 10);
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(live_new(history, &live), 0);
    live_count(live, clean);
    take_at(history, live, T0 + 40 * MS);
    call = only_one(live, LIVE_COUNTED_CALLS);
    assert_int_equal(call->so_far[LIVE_REQUESTS], 1);
    assert_int_equal(call->served.count, 0);
    come = SIZE_MAX;
    take_at(history, live, 0);
    call = only_one(live, LIVE_COUNTED_CALLS);
    assert_int_equal(call->so_far[LIVE_REQUESTS], 1);
    assert_int_equal(call->served.count, 1);
    assert_int_equal(call->served.sum, 2000 * MS);
    for (size_t i = 0; i < LIVE_BOUNDS; i++)
        assert_int_equal(call->served.up_to[i], live_bounds[i] >= 2500 * MS);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

static void add_send(struct tape *tape, uint32_t ms, uint32_t stream, uint32_t sequence)
{
    add_idle(tape, ms, EVENT_SEND, stream, sequence, 10 * (sequence - 1));
}

static uint64_t sent_by(const struct live *live, const char *program)
{
    size_t found;
    const struct live_counter *counters = live_counters(live, LIVE_COUNTED_PROGRAMS, &found);

    for (size_t i = 0; i < found; i++)
        if (strcmp(counters[i].name, program) == 0)
            return counters[i].so_far[LIVE_SENT];
    fail_msg("no program %s", program);
    return 0;
}

/* A shell sends three messages, and then executes a server, which sends two; another shell sends two. */
static void test_another_program(void **context)
{
    const struct stream_record server = {
        .header = {.time = T0 + 40 * MS, .id = EVENT_STREAM, .flags = 16, .stream = 1},
        .process = 1,
        .pid = 1,
        .tid = 1,
        .name = "server"};
    struct live *live = NULL;
    struct history *history = NULL;
    struct problem problem = {""};
    struct tape tape;
    struct source *source = &tape.source;

    (void)context;
    tape_init(&tape);
    tape.source.next = next_that_came;
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "bash");
    add_program(&tape, 2, "bash");
    add_unix(&tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    add_unix(&tape, T0, 2, PATH_UNIX_STREAM, 6, 5);
    for (uint32_t i = 1; i <= 3; i++)
        add_send(&tape, 10 * i, 1, i);
    come = tape.count;
    tape_add(&tape, &server);
    add_send(&tape, 50, 1, 4);
    add_send(&tape, 60, 1, 5);
    add_send(&tape, 70, 2, 1);
    add_send(&tape, 80, 2, 2);
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(live_new(history, &live), 0);
    live_count(live, clean);
    take_at(history, live, T0 + 40 * MS);
    assert_int_equal(sent_by(live, "bash"), 3);
    come = SIZE_MAX;
    take_at(history, live, 0);
    assert_int_equal(sent_by(live, "server"), 2);
    assert_int_equal(sent_by(live, "bash"), 5);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

static void add_cost(struct tape *tape, uint32_t seconds, uint32_t hook)
{
    const struct record cost = {.header = {.time = T0 + seconds * (uint64_t)T0,
                                           .id = EVENT_COST,
                                           .flags = RECORD_NO_STREAM},
                                .cost = {.cpu = seconds * MS, .wakeups = seconds, .hook = hook}};

    tape_add(tape, &cost);
}

/* A COST says how long the hooks took for each record so far: the sum does not grow with records after it, and does not become less
 * when there are so many that each has less of it. */
static void test_costs_of_hooks(void **context)
{
    struct live *live = NULL;
    struct history *history = NULL;
    struct problem problem = {""};
    struct tape tape;
    struct source *source = &tape.source;

    (void)context;
    tape_init(&tape);
    tape.source.next = next_that_came;
    add_machine(&tape, T0, 1, UINT32_MAX);
    add_program(&tape, 1, "a");
    add_cost(&tape, 1, 1000); /* two records of the kernel before it */
    const size_t first = tape.count;
    add_cost(&tape, 2, 900);
    const size_t second = tape.count;
    for (uint32_t i = 1; i <= 5; i++)
        add_event(&tape, T0 + (uint64_t)2500 * MS, EVENT_CREATEPATH, 1, i)
            ->header.proc_time_and_pc = 1;
    const size_t burst = tape.count;
    add_cost(&tape, 3, 300); /* seven: 2,100 ns */
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(live_new(history, &live), 0);
    come = first;
    take_at(history, live, T0 + (uint64_t)1000 * MS);
    assert_int_equal(live_snapshot(live, 0)->own.hook, 2000);
    assert_int_equal(live_snapshot(live, 0)->hook_rate, NOT_KNOWN);
    come = second;
    take_at(history, live, T0 + (uint64_t)2000 * MS);
    assert_int_equal(live_snapshot(live, 0)->own.hook, 2000);
    assert_int_equal(live_snapshot(live, 0)->hook_rate, 0);
    come = burst;
    take_at(history, live, T0 + (uint64_t)2500 * MS);
    assert_int_equal(live_snapshot(live, 0)->own.hook, 2000);
    assert_int_equal(live_snapshot(live, 0)->hook_rate, 0);
    come = SIZE_MAX;
    take_at(history, live, 0);
    assert_int_equal(live_snapshot(live, 0)->own.hook, 2100);
    assert_int_equal(live_snapshot(live, 0)->hook_rate, 300);
    live_free(live);
    history_free(history);
    tape_done(&tape);
}

static void add_named_machine(struct tape *tape, uint64_t time, uint8_t number, const char *name)
{
    struct machine_record record = {.header = {.time = time, .id = EVENT_MACHINE, .flags = 16},
                                    .machine_id = {number},
                                    .boot_id = {number},
                                    .meter_flags = UINT32_MAX};

    snprintf(record.name, sizeof(record.name), "%s", name);
    tape_add(tape, &record);
}

static uint64_t key_of_program(const struct live *live, char first)
{
    const struct live_rows *rows = &live_snapshot(live, 0)->tables[LIVE_PROGRAMS];

    for (size_t i = 0; i < rows->count; i++)
        if (rows->at[i].name[0] == first)
            return rows->at[i].key;
    fail();
    return 0;
}

/* The second one is read first, and its recorder is killed; the first one comes later. */
static void test_machines_that_come_late(void **context)
{
    struct live *live = NULL;
    struct history *history = NULL;
    struct problem problem = {""};
    struct tape tapes[2];
    struct source *sources[] = {&tapes[0].source, &tapes[1].source};

    (void)context;
    for (size_t i = 0; i < 2; i++)
        tape_init(&tapes[i]);
    tapes[0].source.next = next_that_came;
    add_named_machine(&tapes[0], T0, 1, "alpha");
    add_program(&tapes[0], 1, "a");
    add_named_machine(&tapes[1], T0, 2, "beta");
    add_program(&tapes[1], 1, "b");
    come = 0;
    assert_int_equal(history_new(sources, 2, &history, &problem), 0);
    assert_int_equal(live_new(history, &live), 0);
    const struct analysis analysis = live_analysis(live);
    assert_true(analyses_read(history, &analysis, 1, &problem) >= 0);
    assert_int_equal(live_take(live, 2, T0 + 10 * MS, false), 0);
    assert_int_equal(live_snapshot(live, 0)->machine_count, 1);
    assert_string_equal(live_snapshot(live, 0)->machines[0].name, "beta");
    uint64_t key = key_of_program(live, 'b');
    come = SIZE_MAX;
    assert_true(analyses_read(history, &analysis, 1, &problem) >= 0);
    live_end_origin(live, 1);
    assert_int_equal(live_take(live, 2, T0 + 20 * MS, false), 0);
    const struct live_snapshot *snapshot = live_snapshot(live, 0);
    assert_int_equal(snapshot->machine_count, 2);
    assert_string_equal(snapshot->machines[0].name, "alpha");
    assert_false(snapshot->machines[0].ended);
    assert_string_equal(snapshot->machines[1].name, "beta");
    assert_true(snapshot->machines[1].ended);
    assert_int_equal(key_of_program(live, 'b'), key);
    live_free(live);
    history_free(history);
    for (size_t i = 0; i < 2; i++)
        tape_done(&tapes[i]);
}

static double silent_seconds(const struct live *live)
{
    char *text = metrics(live);
    const char *at = strstr(text, "\ndpm_recording_silent_seconds{");

    assert_non_null(at);
    at = strstr(at, "} ");
    assert_non_null(at);
    double seconds = strtod(at + 2, NULL);
    free(text);
    return seconds;
}

/* A recording of 1970 that broke off is silent until today; one that ended in order is not. */
static void test_silence_after_the_end(void **context)
{
    (void)context;
    for (int complete = 0; complete < 2; complete++) {
        struct live *live = NULL;
        struct history *history = NULL;
        struct tape tape;
        size_t found;

        tape_init(&tape);
        tape.state = (struct source_state){.complete = complete, .end_reason = END_COMPLETE};
        add_machine(&tape, T0, 1, UINT32_MAX);
        add_program(&tape, 1, "a");
        count(&tape, &history, &live, &found);
        if (complete)
            assert_true(silent_seconds(live) < 1);
        else
            assert_true(silent_seconds(live) > 1e9);
        live_free(live);
        history_free(history);
        tape_done(&tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_udp_server),
        cmocka_unit_test(test_unknown_queues),
        cmocka_unit_test(test_wait_that_becomes_known),
        cmocka_unit_test(test_answer_that_goes_on),
        cmocka_unit_test(test_another_program),
        cmocka_unit_test(test_costs_of_hooks),
        cmocka_unit_test(test_machines_that_come_late),
        cmocka_unit_test(test_silence_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
