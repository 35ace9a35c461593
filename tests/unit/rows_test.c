/* SPDX-License-Identifier: MIT */
/*
 * rows_test.c: which connections and processes share a row of the communication statistics, whenever they end, and that
 * shared rows count everything.
 *
 *      client [1] --- connections, some of which are closed ---> server [2]        one row, or one each
 */
#include "analysis/statistics/statistics.h"

#include "communication_lines.h"
#include "tapes.h"

#include <errno.h>

#define CLIENT 1
#define SERVER 2

#define START 1000000000ULL

struct world {
    struct tape tape;
    uint64_t time;
    uint32_t sequences[3]; /* by stream: 1 is the client's, 2 the server's */
};

static void begin(struct world *world)
{
    *world = (struct world){.time = START};
    tape_init(&world->tape);
    add_machine(&world->tape, START, 1, UINT32_MAX);
    add_stream(&world->tape, START, CLIENT, CLIENT, 0);
    add_stream(&world->tape, START, SERVER, SERVER, 0);
}

static void send_or_receive(struct world *world, enum event_id id, uint32_t stream, uint32_t path,
                            uint32_t bytes)
{
    add_message(&world->tape, world->time += 10, id, stream, world->sequences[stream]++, path, 0,
                bytes);
}

/* Adds path `path` of the client and path + 1 of the server. Port 0: the server at address `host` is unmonitored. */
static void connect_both(struct world *world, uint32_t path, uint8_t host, uint16_t port)
{
    uint16_t own = (uint16_t)(32768 + path % 32768);

    add_internet(&world->tape, world->time, path, PATH_TCP, 1, own, host, port)->role =
        PATH_ROLE_CONNECTED;
    send_or_receive(world, EVENT_SEND, CLIENT, path, 10 + path % 7);
    if (host != 1)
        return;
    add_internet(&world->tape, world->time, path + 1, PATH_TCP, host, port, 1, own)->role =
        PATH_ROLE_ACCEPTED;
    send_or_receive(world, EVENT_RECEIVE, SERVER, path + 1, 10 + path % 7);
}

static void close_path(struct world *world, uint32_t path)
{
    struct record *record =
        add_message(&world->tape, world->time, EVENT_DESTROYPATH, 0, 0, path, 0, 0);

    record->header.flags = RECORD_NO_STREAM;
}

static struct communication *read_all(struct world *world, bool each)
{
    struct source *source = &world->tape.source;
    struct communication *result;
    struct statistics *statistics;
    struct history *history;
    struct problem problem;

    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    assert_int_equal(statistics_new(history, 0, &statistics), 0);
    if (each)
        statistics_each_connection(statistics);
    const struct analysis analysis = statistics_analysis(statistics);
    assert_int_equal(analyses_read_all(history, &analysis, 1, &problem), 0);
    history_finish(history);
    assert_int_equal(statistics_finish(statistics, 1, &result), 0);
    statistics_free(statistics);
    history_free(history);
    tape_done(&world->tape);
    return result;
}

static uint64_t messages_of(const struct communication *result)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < result->path_count; i++)
        sum += result->paths[i].sent.messages + result->paths[i].received.messages;
    return sum;
}

/* ---- connections ---- */

#define FEW 20

/* The first ones are each closed before the next opens, the following ones at the end. */
static struct communication *read_few(uint32_t early, uint32_t late, bool each)
{
    struct world world;

    begin(&world);
    for (uint32_t i = 0; i < FEW; i++) {
        connect_both(&world, 10 + 2 * i, 1, 80);
        if (i < early) {
            close_path(&world, 10 + 2 * i);
            close_path(&world, 11 + 2 * i);
        }
    }
    for (uint32_t i = early; i < early + late; i++) {
        close_path(&world, 11 + 2 * i);
        close_path(&world, 10 + 2 * i);
    }
    return read_all(&world, each);
}

static void when_they_end_makes_no_difference(void **state)
{
    static struct lines first, lines;

    (void)state;
    for (uint32_t early = 0; early <= FEW; early += 5)
        for (uint32_t late = 0; late <= FEW - early; late += 5) {
            struct communication *result = read_few(early, late, false);
            result_lines(result, early + late == 0 ? &first : &lines);
            assert_int_equal(result->path_count, 1);
            assert_int_equal(result->paths[0].connections, FEW);
            assert_int_equal(result->paths[0].ended, early + late);
            assert_string_equal(result->paths[0].local, "10.0.0.1:*");
            assert_string_equal(result->paths[0].remote, "10.0.0.1:80");
            assert_int_equal(histogram_count(&result->paths[0].sizes), FEW);
            for (size_t i = 0; early + late > 0 && i < first.count; i++)
                if (strncmp(first.text[i], "total", 5) != 0) /* this line counts events */
                    assert_string_equal(lines.text[i], first.text[i]);
            communication_free(result);
        }
}

static void each_has_a_row_of_its_own(void **state)
{
    (void)state;
    for (uint32_t early = 0; early <= FEW; early += 5) {
        struct communication *result = read_few(early, (FEW - early) / 2, true);
        assert_int_equal(result->path_count, FEW);
        for (size_t i = 0; i < result->path_count; i++) {
            assert_int_equal(result->paths[i].connections, 1);
            assert_null(strchr(result->paths[i].local, '*'));
        }
        assert_int_equal(result->pair_count, 1);
        communication_free(result);
    }
}

/* ---- many ---- */

#define MANY  10000
#define LIKES 4096

static void only_so_many_have_a_row_each(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < MANY; i++) {
        connect_both(&world, 10 + 2 * i, 1, 80);
        close_path(&world, 10 + 2 * i);
        close_path(&world, 11 + 2 * i);
    }
    struct communication *result = read_all(&world, true);
    assert_int_equal(result->path_count, LIKES + 1);
    assert_int_equal(result->connections, MANY);
    assert_int_equal(messages_of(result), MANY);
    assert_int_equal(result->paths[0].connections, MANY - LIKES);
    assert_string_equal(result->paths[0].remote, "10.0.0.1:80");
    communication_free(result);
}

/* Unmonitored servers on many ports: rows beyond the limit share one of any address. */
static void many_addresses_share_a_row(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < MANY; i++) {
        connect_both(&world, 10 + i, 99, (uint16_t)(1 + i));
        close_path(&world, 10 + i);
    }
    struct communication *result = read_all(&world, false);
    assert_in_range(result->path_count, LIKES + 1, LIKES + 2);
    assert_int_equal(result->connections, MANY);
    assert_int_equal(messages_of(result), MANY);
    assert_string_equal(result->paths[0].local, "*");
    assert_string_equal(result->paths[0].remote, "*");
    assert_int_equal(result->paths[0].ends[0].count, 1); /* but the client is known */
    assert_int_equal(result->processes[0].sent.messages, MANY);
    communication_free(result);
}

/* Short jobs, each of which sends one message to the server. */
static void many_processes_share_rows(void **state)
{
    const uint32_t own = 8192;
    struct world world;

    (void)state;
    begin(&world);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t job = 10 + i, path = 10 + 2 * i;
        add_stream(&world.tape, world.time, job, job, CLIENT);
        add_unix(&world.tape, world.time, path, PATH_UNIX_STREAM, path, path + 1);
        add_unix(&world.tape, world.time, path + 1, PATH_UNIX_STREAM, path + 1, path);
        add_message(&world.tape, world.time += 10, EVENT_SEND, job, 0, path, 0, 5);
        send_or_receive(&world, EVENT_RECEIVE, SERVER, path + 1, 5);
        add_event(&world.tape, world.time += 10, EVENT_TERMINATION, job, 1)->termination.last = 1;
        close_path(&world, path);
        close_path(&world, path + 1);
    }
    struct communication *result = read_all(&world, false);
    assert_int_equal(result->process_count, own + 1);
    const struct communication_process *shared = &result->processes[own];
    assert_non_null(shared->group);
    assert_int_equal(shared->group_size, MANY + 2 - own);
    assert_int_equal(shared->sent.messages, MANY + 2 - own);
    assert_true(shared->ended);
    assert_int_equal(result->processes[1].received.messages, MANY);
    assert_int_equal(messages_of(result), MANY);
    communication_free(result);
}

/* ---- failures ---- */

#define MANY_ADDRESSES 10000

/* A client that tries one address after the other: the first ones have rows, all others share one. */
static void many_failures_share_a_row(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    for (uint32_t path = 1; path <= MANY_ADDRESSES; path++) {
        add_internet(&world.tape, world.time, path, PATH_TCP, 1, 40000, 2, (uint16_t)path)->role =
            PATH_ROLE_CONNECTED;
        struct record *record = add_message(&world.tape, world.time += 10, EVENT_CONNECTFAILED,
                                            CLIENT, world.sequences[CLIENT]++, path, 0, 0);
        record->failed.error = ECONNREFUSED;
        close_path(&world, path);
    }
    struct communication *result = read_all(&world, false);
    assert_int_equal(result->failed, MANY_ADDRESSES);
    assert_int_equal(result->path_count, 0);
    assert_in_range(result->failure_count, 4096, 4097);
    assert_string_equal(result->failures[0].address, "*");
    assert_int_equal(result->failures[0].count, MANY_ADDRESSES - (result->failure_count - 1));
    communication_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_they_end_makes_no_difference),
        cmocka_unit_test(each_has_a_row_of_its_own),
        cmocka_unit_test(only_so_many_have_a_row_each),
        cmocka_unit_test(many_addresses_share_a_row),
        cmocka_unit_test(many_processes_share_rows),
        cmocka_unit_test(many_failures_share_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
