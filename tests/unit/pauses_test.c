/* SPDX-License-Identifier: MIT */
/*
 * pauses_test.c: when processes did not answer. Random servers, whose intervals and stops are added up here as they are
 * made; and examples of what does not count.
 *
 *      client  SEND  SEND          SEND SEND
 *      server  RECEIVE == 12 ms == RECEIVE STOPPROCESS - 7 ms - STARTPROCESS == 3 ms == RECEIVE ...
 */
#include "analysis/pauses/pauses.h"

#include <signal.h>

#include "computations.h"
#include "seeded.h"

#define MS       1000000u
#define SERVERS  300
#define MOST     30 /* intervals of a server */
#define CLIENT   1
#define SERVER   2
#define HELPER   3 /* the server's second thread */
#define OF_THEIR 1 /* path: the client's end, ... */
#define OF_OURS  2 /* ... and the server's */

/* ---- a client and a server ---- */

struct scene {
    struct tape tape;
    uint32_t sequences[4];
    uint32_t came, taken; /* bytes: one for each message */
    uint32_t ms;
    uint32_t cpu; /* of the server's threads, ms */
};

static struct record *at(struct scene *scene, uint32_t stream, enum event_id id)
{
    struct record *record = add_event(&scene->tape, T0 + (uint64_t)scene->ms * MS, id, stream,
                                      scene->sequences[stream]++);

    record->header.proc_time_and_pc = stream == CLIENT ? 0 : (uint64_t)scene->cpu * MS;
    return record;
}

static void begin_scene(struct scene *scene)
{
    *scene = (struct scene){.ms = 1};
    tape_init(&scene->tape);
    add_machine(&scene->tape, T0, 1, ALL);
    add_stream(&scene->tape, T0, CLIENT, CLIENT, 0);
    add_stream(&scene->tape, T0, SERVER, SERVER, CLIENT);
    add_stream(&scene->tape, T0, HELPER, SERVER, SERVER);
    add_internet(&scene->tape, T0, OF_THEIR, PATH_TCP, 1, 4000, 1, 80);
    add_internet(&scene->tape, T0, OF_OURS, PATH_TCP, 1, 80, 1, 4000);
}

/* The client sends a byte, which comes at once. */
static void come(struct scene *scene)
{
    struct record *record = at(scene, CLIENT, EVENT_SEND);

    record->message.path = OF_THEIR;
    record->message.offset = scene->came;
    record->message.bytes = 1;
    record = add_event(&scene->tape, T0 + (uint64_t)scene->ms * MS, EVENT_MESSAGEQUEUED, 0, 0);
    record->header.flags = RECORD_NO_STREAM;
    record->queued.path = OF_OURS;
    record->queued.offset = scene->came++;
    record->queued.bytes = 1;
}

/* A thread of the server takes all that has come. */
static void take(struct scene *scene, uint32_t stream)
{
    struct record *record = at(scene, stream, EVENT_RECEIVE);

    record->message.path = OF_OURS;
    record->message.offset = scene->taken;
    record->message.bytes = scene->came - scene->taken;
    scene->taken = scene->came;
}

/* The server computes while messages come, and then takes them. */
static void compute(struct scene *scene, uint32_t cpu, uint32_t messages)
{
    for (uint32_t i = 0; i < messages; i++) {
        scene->ms++;
        come(scene);
    }
    scene->ms += cpu + 1;
    scene->cpu += cpu;
    take(scene, SERVER);
}

static void stop(struct scene *scene, uint32_t ms)
{
    at(scene, SERVER, EVENT_STOPPROCESS);
    scene->ms += ms;
    at(scene, SERVER, EVENT_STARTPROCESS);
}

static struct pauses *read_scene(struct scene *scene)
{
    struct source *source = &scene->tape.source;
    struct history *history = NULL;
    struct pauses_analysis *reading = NULL;
    struct pauses *pauses = NULL;
    struct problem problem = {""};

    scene->ms++;
    at(scene, SERVER, EVENT_TERMINATION)->termination.last = 1;
    scene->tape.at = 0;
    scene->tape.source.states = &scene->tape.state;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(pauses_new(history, &reading), 0);
    const struct analysis analysis = pauses_analysis(reading);
    if (analyses_read_all(history, &analysis, 1, &problem) != 0)
        fail_msg("%s", problem.text);
    assert_int_equal(pauses_finish(reading, &pauses), 0);
    pauses_analysis_free(reading);
    history_free(history);
    tape_done(&scene->tape);
    return pauses;
}

/* ---- random servers ---- */

/* What the server of the scene did, added up in `row`. */
static void make_server(struct scene *scene, uint64_t *seed, struct pause_row *row)
{
    begin_scene(scene);
    come(scene);
    take(scene, SERVER);
    for (uint64_t left = 1 + random_below(seed, MOST); left > 0; left--) {
        uint32_t cpu = (uint32_t)random_below(seed, 30);
        uint32_t messages = 1 + (uint32_t)random_below(seed, 4);
        bool stops = random_below(seed, 4) == 0;
        if (stops) {
            uint32_t ms = 1 + (uint32_t)random_below(seed, 100);
            stop(scene, ms);
            row->stops++;
            row->stopped += (uint64_t)ms * MS;
        }
        compute(scene, cpu, messages);
        uint64_t ns = (uint64_t)cpu * MS;
        if (ns < PAUSE_LONG || messages < PAUSE_MESSAGES)
            continue;
        row->bursts++;
        row->cpu += ns;
        row->longest = ns > row->longest ? ns : row->longest;
        row->messages = messages > row->messages ? messages : row->messages;
        uint64_t away = (messages + cpu + 1) * MS;
        row->longest_away = !stops && away > row->longest_away ? away : row->longest_away;
        row->delayed += messages;
        for (uint32_t i = 1; i <= messages; i++)
            row->delay += away - i * MS;
    }
}

static void intervals_and_stops_add_up(void **state)
{
    uint64_t seed = seed_of_run("pauses_test");

    (void)state;
    for (unsigned n = 0; n < SERVERS; n++) {
        struct pause_row expected = {.stream = SERVER};
        struct scene scene;
        make_server(&scene, &seed, &expected);
        struct pauses *pauses = read_scene(&scene);
        bool any = expected.bursts > 0 || expected.stops > 0;
        assert_int_equal(pauses->count, any ? 1 : 0);
        if (any)
            assert_memory_equal(&pauses->rows[0], &expected, sizeof(expected));
        pauses_free(pauses);
    }
}

/* ---- examples ---- */

static void expect_nothing(struct scene *scene)
{
    struct pauses *pauses = read_scene(scene);

    assert_int_equal(pauses->count, 0);
    pauses_free(pauses);
}

/* It computed twice for 8 ms, and slept between. */
static void a_sleep_ends_an_interval(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene);
    come(&scene);
    take(&scene, SERVER);
    scene.ms += 8;
    scene.cpu += 8;
    come(&scene);
    scene.ms += 2;
    struct record *record = at(&scene, SERVER, EVENT_BLOCK);
    record->block.system_call = 230; /* clock_nanosleep */
    record->block.state = 1;
    record->block.duration = 2 * MS;
    compute(&scene, 8, 4);
    expect_nothing(&scene);
}

/* What came is for any of its threads, so that nothing need have waited for the one that computed. */
static void messages_of_several_threads_do_not_count(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene);
    come(&scene);
    take(&scene, HELPER);
    come(&scene);
    take(&scene, SERVER);
    compute(&scene, 50, 5);
    expect_nothing(&scene);
}

/* Far more messages come than are kept one by one: all count, with the time that they waited. */
static void a_flood_of_messages_is_counted(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene);
    come(&scene);
    take(&scene, SERVER);
    compute(&scene, 20, 2);
    compute(&scene, 100, 700);
    compute(&scene, 30, 3);
    struct pauses *pauses = read_scene(&scene);
    assert_int_equal(pauses->count, 1);
    assert_int_equal(pauses->rows[0].bursts, 3);
    assert_int_equal(pauses->rows[0].messages, 700);
    assert_int_equal(pauses->rows[0].delayed, 705);
    uint64_t delay = 0; /* ms: one comes each ms, and then it still computes */
    for (uint64_t i = 0; i < 700; i++)
        delay += 101 + i;
    delay += 21 + 22 + 31 + 32 + 33;
    assert_int_equal(pauses->rows[0].delay, delay * MS);
    pauses_free(pauses);
}

static void the_sender_of_the_signal_is_named(void **state)
{
    struct scene scene;

    (void)state;
    begin_scene(&scene);
    struct record *record = add_event(&scene.tape, T0 + MS, EVENT_SIGNAL, 0, 0);
    record->header.flags = RECORD_NO_STREAM; /* its sender is not metered */
    record->signal.number = SIGSTOP;
    record->signal.receiver = SERVER;
    record->signal.sender_pid = 77;
    stop(&scene, 70);
    record = at(&scene, CLIENT, EVENT_SIGNAL);
    record->signal.number = SIGUSR1; /* stops nothing */
    record->signal.receiver = SERVER;
    struct pauses *pauses = read_scene(&scene);
    assert_int_equal(pauses->count, 1);
    assert_int_equal(pauses->rows[0].stream, SERVER);
    assert_int_equal(pauses->rows[0].stops, 1);
    assert_int_equal(pauses->rows[0].stopped, 70 * MS);
    assert_int_equal(pauses->rows[0].signal, SIGSTOP);
    assert_int_equal(pauses->rows[0].sender_pid, 77);
    pauses_free(pauses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_and_stops_add_up),
        cmocka_unit_test(a_sleep_ends_an_interval),
        cmocka_unit_test(messages_of_several_threads_do_not_count),
        cmocka_unit_test(a_flood_of_messages_is_counted),
        cmocka_unit_test(the_sender_of_the_signal_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
