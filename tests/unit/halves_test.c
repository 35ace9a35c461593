/* SPDX-License-Identifier: MIT */
/*
 * halves_test.c: connections between two machines that are read by their clocks of the day: each is one while these are
 * about the same; where they are not, as many as are counted twice are said to be.
 *
 *      client   PATH SEND DESTROYPATH  PATH SEND DESTROYPATH ...     one connection after the other
 *      server     PATH RECEIVE DESTROYPATH  PATH RECEIVE ...         the same, by a clock that may be apart
 */
#include "analysis/statistics/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define CONNECTIONS 20000u
#define BETWEEN     1000000u /* ns from one to the next */
#define BYTES       100u
#define BOOTED      5000000000000u /* ns that the machines' own clocks are apart */

union any_record {
    struct record_header header;
    struct record event;
    struct stream_record stream;
    struct path_record path;
    struct machine_record machine;
};

/* What one machine tells. */
struct machine {
    struct source source; /* first: next() casts back */
    struct source_state state;
    bool server;
    bool older;  /* its recording has no starting positions */
    int64_t day; /* how far its clock of the day is ahead */
    uint32_t told;
    union any_record record;
};

static void tell_path(const struct machine *machine, uint32_t number, struct path_record *path)
{
    path->header = (struct record_header){.id = EVENT_PATH, .flags = RECORD_NO_STREAM};
    path->header.flags |= machine->older ? RECORD_OLDER : 0;
    path->path = number;
    path->kind = PATH_TCP;
    path->family = AF_INET;
    path->role = machine->server ? PATH_ROLE_ACCEPTED : PATH_ROLE_CONNECTED;
    memcpy(path->local, machine->server ? "\x0a\0\0\2" : "\x0a\0\0\1", 4);
    memcpy(path->remote, machine->server ? "\x0a\0\0\1" : "\x0a\0\0\2", 4);
    path->local_port = (uint16_t)(machine->server ? 80 : 10000 + number);
    path->remote_port = (uint16_t)(machine->server ? 10000 + number : 80);
    path->start_out = machine->server ? 2 * number : 2 * number + 1;
    path->start_in = machine->server ? 2 * number + 1 : 2 * number;
    if (machine->older)
        path->start_out = path->start_in = 0;
}

/* Record number 2 on: three for each connection. */
static void tell_of_connection(struct machine *machine, uint32_t told)
{
    uint32_t number = 1 + told / 3;

    if (told % 3 == 0) {
        tell_path(machine, number, &machine->record.path);
        return;
    }
    machine->record.event = (struct record){
        .header = {.id = EVENT_DESTROYPATH, .flags = RECORD_NO_STREAM},
        .message = {.path = number},
    };
    if (told % 3 == 1) {
        machine->record.header.id = machine->server ? EVENT_RECEIVE : EVENT_SEND;
        machine->record.header.flags = 0;
        machine->record.header.stream = 1;
        machine->record.event.message.bytes = BYTES;
    }
}

static int tell(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                struct problem *problem)
{
    struct machine *machine = (struct machine *)source;
    uint32_t told = machine->told++;

    (void)ret_complete;
    (void)problem;
    memset(&machine->record, 0, sizeof(machine->record));
    if (told == 0) {
        machine->record.header.id = EVENT_MACHINE;
        snprintf(machine->record.machine.name, sizeof(machine->record.machine.name), "%s",
                 machine->server ? "server" : "client");
    } else if (told == 1) {
        machine->record.header.id = EVENT_STREAM;
        machine->record.header.stream = machine->record.stream.process = 1;
        machine->record.stream.pid = 100;
    } else if (told < 2 + 3 * CONNECTIONS) {
        tell_of_connection(machine, told - 2);
    } else {
        return SOURCE_END;
    }
    /* all three in a third of the time, the server's a little later */
    uint64_t at =
        (told / 3) * (uint64_t)BETWEEN + told % 3 * (BETWEEN / 9) + machine->server * 1000;
    machine->record.header.time = at + (machine->server ? BOOTED : 2 * (uint64_t)BOOTED);
    ret_event->header = &machine->record.header;
    ret_event->origin = 0;
    ret_event->wall_offset =
        machine->day - (int64_t)(machine->server ? BOOTED : 2 * (uint64_t)BOOTED);
    return SOURCE_RECORD;
}

static void begin(struct machine *machine, bool server, int64_t day, bool older)
{
    *machine = (struct machine){.server = server, .day = day, .older = older};
    machine->source = (struct source){tell, 1, &machine->state};
}

/* `day`: how far the server's clock of the day is ahead, ns. */
static struct communication *read_both(int64_t day, bool older)
{
    static struct machine machines[2];
    struct source *sources[] = {&machines[0].source, &machines[1].source};
    struct communication *result;
    struct problem problem;

    begin(&machines[0], false, 0, false);
    begin(&machines[1], true, day, older);
    assert_int_equal(communication_read_counts(sources, 2, 0, &result, &problem), 0);
    return result;
}

static void expect_whole(int64_t day, bool older)
{
    struct communication *result = read_both(day, older);

    assert_int_equal(result->split, 0);
    assert_int_equal(result->connections, CONNECTIONS);
    assert_int_equal(result->ended, CONNECTIONS);
    assert_int_equal(result->remote.messages, CONNECTIONS);
    assert_int_equal(result->remote.bytes, CONNECTIONS * BYTES);
    assert_int_equal(result->pair_count, 1);
    communication_free(result);
}

/* Half a second is more than a folding waits for. */
static void clocks_may_be_a_little_apart(void **state)
{
    static const int64_t days[] = {0, 1000000, -1000000, 500000000, -500000000};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
        expect_whole(days[i], false);
        expect_whole(days[i], true);
    }
}

static void expect_split(int64_t day, bool older)
{
    struct communication *result = read_both(day, older);
    uint64_t received = 0;

    assert_true(result->split > CONNECTIONS / 4);
    assert_int_equal(result->connections, CONNECTIONS + result->split);
    for (size_t i = 0; i < result->process_count; i++)
        received += result->processes[i].received.messages;
    assert_int_equal(received, CONNECTIONS); /* what each process did is right all the same */
    assert_int_equal(result->sent.messages, CONNECTIONS);
    communication_free(result);
}

static void what_is_counted_twice_is_said(void **state)
{
    static const int64_t days[] = {3600000000000, -3600000000000, 2000000000};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
        expect_split(days[i], false);
        expect_split(days[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_may_be_a_little_apart),
        cmocka_unit_test(what_is_counted_twice_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
