/* SPDX-License-Identifier: MIT */
/*
 * causality_test.c: request signatures (causality strings), and what follows from them, in small histories with known
 * results. (causality_random_test.c has random ones.)
 *
 *      a world of processes --records--> history --> causality analysis --> strings
 */
#include "causality_world.h"
#include "seeded.h"

/* ---- single cases ---- */

/* Latency is from the receive of the request to the send of the reply, or to the last event. */
static void latency_ends_with_the_reply(void **state)
{
    struct world world;
    uint64_t begun, ended;

    (void)state;
    begin(&world, 2);
    uint32_t path = connect_outside(&world, PATH_ROLE_ACCEPTED);
    do_receive(&world, 1, path, 10);
    begun = world.time;
    world.time += 5000;
    do_send(&world, 1, path, 10);
    world.time += 300;
    do_send(&world, 1, path, 10); /* more of the same reply */
    ended = world.time;
    const struct causality_options options = {.slowest = 2};
    struct causality *result = finish(&world, &options);
    assert_int_equal(result->path_count, 1);
    assert_int_equal(histogram_count(&result->paths[0].latency), 1);
    assert_int_equal(histogram_max(&result->paths[0].latency), ended - begun);
    assert_int_equal(result->replies, 1);
    assert_int_equal(result->slowest_count, 1);
    assert_int_equal(result->slowest[0].duration, ended - begun);
    assert_int_equal(result->slowest[0].step_count, 1);
    assert_string_equal(result->slowest[0].steps[0].from, "requestor");
    assert_string_equal(result->slowest[0].requestor, "10.0.0.200:1001");
    causality_free(result);
}

/* Answers of system processes do not end the interval: the request continues, and they have no letter. */
static void system_processes_are_ignored(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 2);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t disk = connect_outside(&world, PATH_ROLE_CONNECTED);
    uint32_t back = connect_to(&world);
    do_receive(&world, 1, client, 10);
    do_send(&world, 1, disk, 10);
    do_receive(&world, 1, disk, 10);
    pass(&world, 1, back, 2);
    pass(&world, 2, back + 1, 1);
    do_send(&world, 1, client, 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->path_count, 1);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(result->system_receives, 1);
    assert_int_equal(proved(result), 2);
    causality_free(result);
}

/* Two requests are open in an event loop; each answer returns on the connection of its request. */
static void event_loop_keeps_requests_apart(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 3);
    uint32_t clients[] = {connect_outside(&world, PATH_ROLE_ACCEPTED),
                          connect_outside(&world, PATH_ROLE_ACCEPTED)};
    uint32_t backs[] = {connect_to(&world), connect_to(&world)};
    for (int i = 0; i < 2; i++) {
        do_receive(&world, 1, clients[i], 10);
        do_send(&world, 1, backs[i], 10);
    }
    for (uint32_t i = 0; i < 2; i++)
        do_receive(&world, 2 + i, backs[i] + 1, 10);
    for (uint32_t i = 2; i > 0; i--) /* the second one first */
        pass(&world, 1 + i, backs[i - 1] + 1, 1);
    do_send(&world, 1, clients[0], 10);
    do_send(&world, 1, clients[1], 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(count_of(result, "ACA"), 1);
    assert_int_equal(result->path_count, 2);
    assert_int_equal(result->replies, 2);
    assert_int_equal(result->attributed[ATTRIBUTION_PATH], 2);
    assert_int_equal(result->attributed[ATTRIBUTION_ALONE], 1);
    assert_int_equal(result->attributed[ATTRIBUTION_LATEST], 1);
    assert_int_equal(result->pool_count, 0); /* each has a connection of its own */
    causality_free(result);
}

/* An answer belongs to the request that asked for it, even if that is answered already and the next request has come
 * on its connection. */
static void what_comes_late_is_of_its_own_request(void **state)
{
    const uint32_t rounds = 10;
    struct world world;

    (void)state;
    begin(&world, 2);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED), back = connect_to(&world);
    for (uint32_t i = 0; i < rounds; i++) {
        do_receive(&world, 1, client, 10);
        pass(&world, 1, back, 2);
        do_send(&world, 1, client, 10); /* it does not wait for 2 */
        do_receive(&world, 1, client, 10);
        pass(&world, 2, back + 1, 1);
        world.time += 1000;
        do_send(&world, 1, client, 10);
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(transitions_of(result, "requestor", "A", NULL), 2 * rounds);
    assert_int_equal(transitions_of(result, "B", "A", NULL), 0);
    assert_int_equal(count_of(result, "A"), rounds);
    assert_int_equal(count_of(result, "ABA"), rounds);
    for (size_t i = 0; i < result->path_count; i++)
        assert_true((histogram_min(&result->paths[i].latency) >= 1000) ==
                    (strcmp(result->paths[i].string, "A") == 0));
    causality_free(result);
}

/* A server with a thread for each request: between two requests no thread records anything, and it remains the same
 * process. */
static void a_thread_for_each_request(void **state)
{
    const uint32_t requests = 5, first = 10;
    struct world world;

    (void)state;
    begin(&world, 1);
    for (uint32_t i = 0; i < requests; i++) {
        uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
        begin_thread(&world, first + i, 1);
        do_receive(&world, first + i, client, 10);
        do_send(&world, first + i, client, 10);
        add_event(&world.tape, tick(&world), EVENT_TERMINATION, first + i,
                  world.sequences[first + i]++);
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "A"), requests);
    assert_int_equal(result->process_count, 1);
    causality_free(result);
}

/* A connection is created for one request, and first used after another one has come. */
static void connection_is_of_whom_it_was_made_for(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 3);
    uint32_t clients[] = {connect_outside(&world, PATH_ROLE_ACCEPTED),
                          connect_outside(&world, PATH_ROLE_ACCEPTED)};
    uint32_t backs[] = {connect_to(&world), connect_to(&world)};
    uint64_t made[2];
    for (int i = 0; i < 2; i++) {
        do_receive(&world, 1, clients[i], 10);
        made[i] = tick(&world);
    }
    for (uint32_t i = 2; i > 0; i--) {
        struct record *record = add_message(&world.tape, tick(&world), EVENT_CONNECT, 1,
                                            world.sequences[1]++, backs[i - 1], 0, 0);
        record->message.span = (uint32_t)(world.time - made[i - 1]);
        pass(&world, 1, backs[i - 1], 1 + i);
        pass(&world, 1 + i, backs[i - 1] + 1, 1);
        do_send(&world, 1, clients[i - 1], 10);
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->path_count, 2);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(count_of(result, "ACA"), 1);
    causality_free(result);
}

/* A request of `client` creates a connection to process 2. It is first used after `count` requests of `other` have
 * come and been answered. */
static void use_late(struct world *world, uint32_t client, uint32_t other, uint32_t count)
{
    uint32_t back = connect_to(world);

    do_receive(world, 1, client, 10);
    uint64_t made = tick(world);
    for (uint32_t i = 0; i < count; i++) {
        do_receive(world, 1, other, 10);
        do_send(world, 1, other, 10);
    }
    struct record *record =
        add_message(&world->tape, tick(world), EVENT_CONNECT, 1, world->sequences[1]++, back, 0, 0);
    record->message.span = (uint32_t)(world->time - made);
    pass(world, 1, back, 2);
    pass(world, 2, back + 1, 1);
    do_send(world, 1, client, 10);
}

/* The depth of the kept history adapts to how far back connections were created. */
static void connections_are_looked_back_for(void **state)
{
    static const struct {
        uint32_t counts[4];
        uint64_t unknown; /* connections */
    } cases[] = {
        {{100, 200, 400, 800}, 0}, /* it grows before it is needed */
        {{300, 300, 600, 100}, 1}, /* the first connection is too far back */
        {{10, 5000, 10, 20}, 1},
        {{2000, 3000, 4000, 4000}, 4}, /* each of them doubles it */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world world;

        begin(&world, 2);
        uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
        uint32_t other = connect_outside(&world, PATH_ROLE_ACCEPTED);
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].counts); k++)
            use_late(&world, client, other, cases[i].counts[k]);
        struct causality *result = finish_plainly(&world);
        assert_int_equal(result->unknown_connections, cases[i].unknown);
        assert_int_equal(count_of(result, "ABA"), ARRAY_SIZE(cases[i].counts) - cases[i].unknown);
        causality_free(result);
    }
}

/* Process 1 has threads 1 and 10, two clients and a back end. */
static uint32_t begin_two_threads(struct world *world, uint32_t clients[2])
{
    begin(world, 2);
    begin_thread(world, 10, 1);
    clients[0] = connect_outside(world, PATH_ROLE_ACCEPTED);
    clients[1] = connect_outside(world, PATH_ROLE_ACCEPTED);
    return connect_to(world);
}

/* Two threads have one request each. */
static void threads_are_told_apart(void **state)
{
    struct world world;
    uint32_t clients[2], back = begin_two_threads(&world, clients);

    (void)state;
    do_receive(&world, 1, clients[0], 10);
    do_receive(&world, 10, clients[1], 10);
    pass(&world, 1, back, 2);
    pass(&world, 2, back + 1, 1);
    do_send(&world, 10, clients[1], 10);
    do_send(&world, 1, clients[0], 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "A"), 1);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(result->attributed[ATTRIBUTION_THREAD], 1);
    causality_free(result);
}

/* Consecutive sends are one message, however they are received; or each is a message of its own. */
static void streams_split_and_join(void **state)
{
    (void)state;
    for (int each = 0; each < 2; each++) {
        const struct causality_options options = {.each_send = each};
        struct world world;

        begin(&world, 2);
        uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
        uint32_t back = connect_to(&world);
        do_receive(&world, 1, client, 10);
        do_send(&world, 1, back, 10);
        do_send(&world, 1, back, 10);
        do_send(&world, 1, back, 10);
        do_receive(&world, 2, back + 1, 25);
        do_receive(&world, 2, back + 1, 5);
        do_send(&world, 2, back + 1, 10);
        do_send(&world, 2, back + 1, 10);
        do_receive(&world, 1, back, 20);
        do_send(&world, 1, client, 10);
        struct causality *result = finish(&world, &options);
        assert_int_equal(result->requests, 1);
        assert_int_equal(result->arcs, each ? 5 : 2);
        assert_int_equal(count_of(result, "ABA"), each ? 2 : 1);
        assert_int_equal(result->each_send, each);
        causality_free(result);
    }
}

/* One receive causes two sends: a tree of two paths, which share the first letter. */
static void fan_out_is_a_tree(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 3);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t backs[] = {connect_to(&world), connect_to(&world)};
    do_receive(&world, 1, client, 10);
    do_send(&world, 1, backs[0], 10);
    do_send(&world, 1, backs[1], 10);
    do_receive(&world, 2, backs[0] + 1, 10);
    do_receive(&world, 3, backs[1] + 1, 10);
    pass(&world, 2, backs[0] + 1, 1);
    pass(&world, 3, backs[1] + 1, 1);
    do_send(&world, 1, client, 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->requests, 1);
    assert_int_equal(result->path_count, 2);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(count_of(result, "ACA"), 1);
    assert_int_equal(result->arcs, 4);
    assert_int_equal(transition_of(result, "requestor", "A", "B")->of, 2);
    assert_int_equal(result->replies, 1);
    causality_free(result);
}

/* Pipes have no answers: what one receive takes is a message. */
static void pipelines(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 3);
    uint32_t pipes[] = {connect_kind(&world, PATH_PIPE), connect_kind(&world, PATH_PIPE)};
    for (int i = 0; i < 3; i++) {
        do_send(&world, 1, pipes[0], 10);
        do_send(&world, 1, pipes[0], 10);
        do_receive(&world, 2, pipes[0] + 1, 20);
        if (i < 2)
            pass(&world, 2, pipes[1], 3);
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->requests, 3);
    assert_int_equal(count_of(result, "AB"), 2);
    assert_int_equal(count_of(result, "A"), 1);
    for (size_t i = 0; i < result->path_count; i++)
        assert_false(result->paths[i].answered);
    assert_int_equal(result->processes[2].role, ROLE_REQUESTOR);
    causality_free(result);
}

/* Only named processes are server processes. */
static void servers_can_be_named(void **state)
{
    static const char *const names[] = {"p2", "103"};
    const struct causality_options options = {.servers = names, .server_count = 2};
    struct world world;

    (void)state;
    begin(&world, 4);
    uint32_t first = connect_to(&world), second = connect_to(&world), third = connect_to(&world);
    pass(&world, 1, first, 2); /* no process calls 1; 4 is called, but not named */
    pass(&world, 2, second, 3);
    pass(&world, 3, third, 4);
    pass(&world, 4, third + 1, 3);
    pass(&world, 3, second + 1, 2);
    pass(&world, 2, first + 1, 1);
    struct causality *result = finish(&world, &options);
    assert_int_equal(result->path_count, 1);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(result->system_receives, 1);
    assert_int_equal(result->processes[2].role, ROLE_REQUESTOR);
    assert_int_equal(result->processes[3].role, ROLE_SYSTEM);
    causality_free(result);
}

/* A process that is created for a request and sends has a letter, although nothing was sent to it. */
static void created_processes_inherit(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 1);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t pipe = connect_kind(&world, PATH_PIPE);
    do_receive(&world, 1, client, 10);
    add_event(&world.tape, tick(&world), EVENT_CREATEPROCESS, 1, world.sequences[1]++)
        ->create.child = 2;
    struct stream_record child = {
        .header = {.time = tick(&world), .id = EVENT_STREAM, .flags = 16, .stream = 2},
        .process = 2,
        .parent = 1,
        .pid = 102};
    tape_add(&world.tape, &child);
    add_event(&world.tape, tick(&world), EVENT_STARTPROCESS, 2, world.sequences[2]++);
    pass(&world, 2, pipe, 1);
    do_send(&world, 1, client, 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "ABA"), 1);
    assert_int_equal(result->attributed[ATTRIBUTION_CREATION], 1);
    assert_int_equal(result->requests, 1);
    causality_free(result);
}

/* With more processes than letters, names are a letter and a number. */
static void letters_go_on_with_numbers(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 120);
    for (uint32_t i = 1; i <= 120; i++) {
        uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
        do_receive(&world, i, client, 10);
        do_send(&world, i, client, 10);
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->path_count, 120);
    assert_string_equal(result->processes[25].letter, "Z");
    assert_string_equal(result->processes[26].letter, "a");
    assert_string_equal(result->processes[51].letter, "z");
    assert_string_equal(result->processes[52].letter, "A1");
    assert_string_equal(result->processes[104].letter, "A2");
    assert_int_equal(count_of(result, "A"), 1);
    assert_int_equal(count_of(result, "z1"), 1);
    causality_free(result);
}

/* Two processes send the request to each other a thousand times: only its last letters are kept, and yet every
 * sequence is counted. */
static void long_strings_lose_no_sequence(void **state)
{
    const uint32_t rounds = 10000;
    struct world world;

    (void)state;
    begin(&world, 2);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t back = connect_to(&world);
    do_receive(&world, 1, client, 10);
    for (uint32_t i = 0; i < rounds; i++) {
        pass(&world, 1, back, 2);
        pass(&world, 2, back + 1, 1);
    }
    do_send(&world, 1, client, 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->path_count, 1);
    assert_string_equal(result->paths[0].string, "...BABABABABABABABA");
    assert_int_equal(result->long_strings, 1);
    assert_int_equal(substrings_of(result, "AB"), rounds);
    assert_int_equal(substrings_of(result, "ABABABABABABABAB"), rounds - 7);
    assert_int_equal(result->cut_requests, 1);
    assert_int_equal(result->other_strings, 0);
    assert_int_equal(transitions_of(result, "B", "A", "B"), rounds - 1);
    causality_free(result);
}

/* The server and the processes it calls are on two machines, whose clocks are hours apart; calls are answered or
 * not. `apart`: NULL, or a tape for the trace of a third machine, which is given first and communicates with no
 * other. */
static struct causality *cross_machines(struct tape tapes[2], struct tape *apart, bool answers)
{
    const uint64_t hours = 7200000000000;
    struct source *sources[3] = {apart == NULL ? NULL : &apart->source, &tapes[0].source,
                                 &tapes[1].source};
    const struct causality_options options = {.slowest = 1};
    struct problem problem = {""};
    struct causality *result;
    struct history *history;
    uint32_t skipped = apart == NULL;

    for (uint8_t i = 0; i < 2; i++) {
        tape_init(&tapes[i]);
        add_machine(&tapes[i], i * hours + 1, (uint8_t)(i + 1), UINT32_MAX);
        add_stream(&tapes[i], i * hours + 2, 1, 1, 0);
    }
    add_internet(&tapes[0], 3, 1, PATH_TCP, 1, 80, 200, 5000)->role = PATH_ROLE_ACCEPTED;
    const uint8_t kind = answers ? PATH_TCP : PATH_UDP;
    add_internet(&tapes[0], 4, 2, kind, 1, 6000, 2, 81)->role = PATH_ROLE_CONNECTED;
    add_internet(&tapes[1], hours + 3, 1, kind, 2, 81, 1, 6000)->role = PATH_ROLE_ACCEPTED;
    uint32_t here = 0, there = 0;
    for (uint32_t i = 0; i < 100; i++) {
        uint64_t time = 1000 + i * 1000ULL;
        uint32_t position = answers ? 10 * i : i; /* for datagrams, a number */
        add_message(&tapes[0], time, EVENT_RECEIVE, 1, here++, 1, 10 * i, 10);
        add_message(&tapes[0], time + 100, EVENT_SEND, 1, here++, 2, position, 10);
        add_message(&tapes[1], hours + time + 200, EVENT_RECEIVE, 1, there++, 1, position, 10);
        if (answers) {
            add_message(&tapes[1], hours + time + 300, EVENT_SEND, 1, there++, 1, position, 10);
            add_message(&tapes[0], time + 400, EVENT_RECEIVE, 1, here++, 2, position, 10);
        }
        add_message(&tapes[0], time + 500, EVENT_SEND, 1, here++, 1, 10 * i, 10);
    }
    assert_int_equal(history_new(sources + skipped, 3 - skipped, &history, &problem), 0);
    assert_int_equal(causality_read_history(history, 3 - skipped, &options, &result, &problem), 0);
    assert_int_equal(result->traces, 3 - skipped);
    assert_int_equal(result->path_count, 1);
    history_free(history);
    tape_done(&tapes[0]);
    tape_done(&tapes[1]);
    return result;
}

static void machines_are_crossed(void **state)
{
    struct tape tapes[2], apart;

    (void)state;
    for (unsigned third = 0; third < 2; third++) {
        tape_init(&apart);
        add_machine(&apart, 1, 9, UINT32_MAX);
        struct causality *result = cross_machines(tapes, third ? &apart : NULL, true);
        assert_int_equal(count_of(result, "ABA"), 100);
        assert_int_equal(histogram_min(&result->paths[0].latency), 500);
        assert_int_equal(histogram_max(&result->paths[0].latency), 500);
        assert_int_equal(proved(result), 200);
        assert_int_equal(result->unknown_clocks, 0);
        causality_free(result);
        tape_done(&apart);
    }
}

/* Without answers the clock difference is unknown, and no latency is reported. */
static void clocks_are_not_known(void **state)
{
    struct tape tapes[2];

    (void)state;
    struct causality *result = cross_machines(tapes, NULL, false);
    assert_int_equal(count_of(result, "AB"), 100);
    assert_int_equal(histogram_count(&result->paths[0].latency), 0);
    assert_int_equal(result->unknown_clocks, 100);
    assert_int_equal(result->slowest_count, 0);
    causality_free(result);
}

/* Each datagram is a message, and if several are open, the latest is answered. */
static void datagrams_overlap(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 3);
    uint32_t client = connect_kind(&world, PATH_UNIX_SEQPACKET);
    for (int i = 0; i < 2; i++) { /* positions count messages */
        add_message(&world.tape, tick(&world), EVENT_SEND, 3, world.sequences[3]++, client,
                    (uint32_t)i, 10);
        add_message(&world.tape, tick(&world), EVENT_RECEIVE, 1, world.sequences[1]++, client + 1,
                    (uint32_t)i, 10);
    }
    add_message(&world.tape, tick(&world), EVENT_SEND, 1, world.sequences[1]++, client + 1, 0, 10);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->requests, 2);
    assert_int_equal(count_of(result, "A"), 2);
    assert_int_equal(result->replies, 1);
    assert_int_equal(result->joined, 0);
    causality_free(result);
}

/* A process has the name of its creator until it executes another program: it is not the named one. */
static void names_are_those_of_the_first_message(void **state)
{
    static const char *const names[] = {"p1"};
    const struct causality_options options = {.servers = names, .server_count = 1};
    struct world world;

    (void)state;
    begin(&world, 2);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t other = connect_outside(&world, PATH_ROLE_ACCEPTED);
    for (int i = 0; i < 2; i++) {
        struct stream_record record = {
            .header = {.time = tick(&world), .id = EVENT_STREAM, .flags = 16, .stream = 9},
            .process = 9,
            .pid = 109,
            .name = "p1"};
        if (i > 0)
            strcpy(record.name, "other");
        tape_add(&world.tape, &record);
        add_event(&world.tape, tick(&world), EVENT_STARTPROCESS, 9, world.sequences[9]++);
    }
    do_receive(&world, 9, other, 10);
    do_receive(&world, 1, client, 10);
    struct causality *result = finish(&world, &options);
    assert_int_equal(result->requests, 1);
    assert_int_equal(result->process_count, 2);
    assert_string_equal(result->processes[0].name, "p1");
    assert_string_equal(result->processes[1].name, "other");
    assert_int_equal(result->processes[1].role, ROLE_SYSTEM);
    causality_free(result);
}

/* ---- a pool of one connection ---- */

enum { POOLED_CLIENTS = 5, POOLED_REQUESTS = 200 };

/* Clients whose requests wait for the connection, in order; the first of them has it. */
struct pool_queue {
    uint32_t clients[POOLED_CLIENTS];
    uint64_t since[POOLED_CLIENTS]; /* when each request came */
    uint32_t count;
    uint64_t waits, time; /* of requests that did not get it at once */
};

/* The request at the head of the queue is answered, and the next one calls. */
static void answer_and_go_on(struct world *world, uint32_t back, struct pool_queue *queue)
{
    world->time += 1000;
    pass(world, 2, back + 1, 1);
    do_send(world, 1, queue->clients[0], 10);
    queue->count--;
    memmove(queue->clients, queue->clients + 1, queue->count * sizeof(*queue->clients));
    memmove(queue->since, queue->since + 1, queue->count * sizeof(*queue->since));
    if (queue->count == 0)
        return;
    queue->waits++;
    queue->time += world->time + 10 - queue->since[0];
    pass(world, 1, back, 2);
}

/* Requests of several connections queue for one connection to another server: each calls it once, when its turn has
 * come, and is answered then. */
static void requests_queue_for_a_pooled_connection(void **state)
{
    struct world world;
    struct pool_queue queue = {.count = 0};
    uint32_t clients[POOLED_CLIENTS];

    (void)state;
    uint64_t seed = seed_of_run("requests that queue");
    begin(&world, 2);
    for (int i = 0; i < POOLED_CLIENTS; i++)
        clients[i] = connect_outside(&world, PATH_ROLE_ACCEPTED);
    uint32_t back = connect_to(&world);
    for (int left = POOLED_REQUESTS; left > 0 || queue.count > 0;) {
        uint32_t client = clients[random_below(&seed, POOLED_CLIENTS)];
        bool waits = false;
        for (uint32_t i = 0; i < queue.count; i++)
            waits = waits || queue.clients[i] == client;
        if (left > 0 && !waits) {
            do_receive(&world, 1, client, 10);
            queue.since[queue.count] = world.time;
            queue.clients[queue.count++] = client;
            left--;
            if (queue.count == 1)
                pass(&world, 1, back, 2);
        } else if (queue.count > 0) {
            answer_and_go_on(&world, back, &queue);
        }
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(result->requests, POOLED_REQUESTS);
    assert_int_equal(count_of(result, "ABA"), POOLED_REQUESTS);
    assert_int_equal(result->path_count, 1);
    assert_true(result->paths[0].answered);
    assert_int_equal(result->attributed[ATTRIBUTION_PATH], POOLED_REQUESTS);
    assert_true(result->attributed[ATTRIBUTION_WAITING] > 0);
    assert_int_equal(result->pool_count, 1);
    assert_int_equal(result->pools[0].connections, 1);
    assert_int_equal(result->pools[0].requests, POOLED_REQUESTS);
    assert_int_equal(histogram_count(&result->pools[0].waits), queue.waits);
    assert_int_equal(histogram_sum(&result->pools[0].waits), queue.time);
    assert_in_range(result->pools[0].waited, 1, world.time);
    causality_free(result);
}

/* Two requests come at once, and the first one's call follows: only the replies show that it is not the latest one's. */
static void requests_that_come_together_are_answered_in_order(void **state)
{
    const uint32_t rounds = 10;
    struct world world;

    (void)state;
    begin(&world, 2);
    uint32_t clients[] = {connect_outside(&world, PATH_ROLE_ACCEPTED),
                          connect_outside(&world, PATH_ROLE_ACCEPTED),
                          connect_outside(&world, PATH_ROLE_ACCEPTED)};
    uint32_t back = connect_to(&world);
    for (uint32_t i = 0; i < rounds; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(clients); k++)
            do_receive(&world, 1, clients[k], 10);
        for (size_t k = 0; k < ARRAY_SIZE(clients); k++) {
            pass(&world, 1, back, 2);
            world.time += 1000;
            pass(&world, 2, back + 1, 1);
            do_send(&world, 1, clients[k], 10);
        }
    }
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "ABA"), 3 * rounds);
    assert_int_equal(result->path_count, 1);
    assert_int_equal(result->attributed[ATTRIBUTION_LATEST], rounds);
    causality_free(result);
}

/* With no other request open, what is sent after the reply still belongs to the request that was answered. */
static void work_goes_on_after_the_reply(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 2);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED), back = connect_to(&world);
    do_receive(&world, 1, client, 10);
    do_send(&world, 1, client, 10);
    pass(&world, 1, back, 2);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "AB"), 1);
    assert_int_equal(result->attributed[ATTRIBUTION_ALONE], 1);
    causality_free(result);
}

/* The thread that serves a request ends without an answer: its request is not taken for one that waits. */
static void ended_threads_wait_for_nothing(void **state)
{
    struct world world;
    uint32_t clients[2], back = begin_two_threads(&world, clients);

    (void)state;
    do_receive(&world, 10, clients[1], 10);
    add_event(&world.tape, tick(&world), EVENT_TERMINATION, 10, world.sequences[10]++);
    do_receive(&world, 1, clients[0], 10);
    do_send(&world, 1, clients[0], 10);
    pass(&world, 1, back, 2);
    struct causality *result = finish_plainly(&world);
    assert_int_equal(count_of(result, "AB"), 1);
    assert_int_equal(result->attributed[ATTRIBUTION_ALONE], 1);
    causality_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_ends_with_the_reply),
        cmocka_unit_test(system_processes_are_ignored),
        cmocka_unit_test(event_loop_keeps_requests_apart),
        cmocka_unit_test(a_thread_for_each_request),
        cmocka_unit_test(what_comes_late_is_of_its_own_request),
        cmocka_unit_test(connection_is_of_whom_it_was_made_for),
        cmocka_unit_test(connections_are_looked_back_for),
        cmocka_unit_test(threads_are_told_apart),
        cmocka_unit_test(streams_split_and_join),
        cmocka_unit_test(fan_out_is_a_tree),
        cmocka_unit_test(pipelines),
        cmocka_unit_test(servers_can_be_named),
        cmocka_unit_test(created_processes_inherit),
        cmocka_unit_test(letters_go_on_with_numbers),
        cmocka_unit_test(long_strings_lose_no_sequence),
        cmocka_unit_test(machines_are_crossed),
        cmocka_unit_test(clocks_are_not_known),
        cmocka_unit_test(datagrams_overlap),
        cmocka_unit_test(requests_queue_for_a_pooled_connection),
        cmocka_unit_test(requests_that_come_together_are_answered_in_order),
        cmocka_unit_test(work_goes_on_after_the_reply),
        cmocka_unit_test(ended_threads_wait_for_nothing),
        cmocka_unit_test(names_are_those_of_the_first_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
