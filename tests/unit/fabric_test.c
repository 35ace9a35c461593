/* SPDX-License-Identifier: MIT */
/* fabric_test.c: control messages, notices, output and packets, through a real server. */
#include "fabric/fabric_internal.h"
#include "fabric/outbox.h"
#include "fabric_world.h"
#include "seeded.h"

static uint64_t state;

/* ---- control ---- */

/* Answers one request as the agent: "add" adds, any other is refused. */
static void answer_one(struct fabric *agent)
{
    struct fabric_message message;
    json_int_t a, b;

    world_next(agent, FABRIC_REQUEST, &message);
    if (strcmp(message.method, "add") != 0)
        fabric_refuse(message.request, FABRIC_NO_METHOD, "no such method");
    else if (json_unpack(message.params, "{sI, sI}", "a", &a, "b", &b) != 0)
        fabric_refuse(message.request, FABRIC_INVALID_PARAMS, "a and b are numbers");
    else
        fabric_answer(message.request, json_integer(a + b));
    fabric_message_done(&message);
}

static int64_t begin_add(int a, int b)
{
    json_t *params = json_pack("{si, si}", "a", a, "b", b);
    int64_t call = fabric_call_begin(world.controller, "web1", "add", params, &problem);

    json_decref(params);
    assert_true(call > 0);
    return call;
}

static void test_calls(void **context)
{
    struct fabric_message message;

    need_server(context);
    int64_t first = begin_add(1, 2), second = begin_add(30, 40);
    answer_one(world.agent);
    answer_one(world.agent);
    for (int i = 0; i < 2; i++) {
        world_next(world.controller, FABRIC_REPLY, &message);
        assert_int_equal(message.error, 0);
        assert_string_equal(message.machine, "web1");
        assert_int_equal(json_integer_value(message.result),
                         message.call == (uint64_t)first ? 3 : 70);
        assert_true(message.call == (uint64_t)first || message.call == (uint64_t)second);
        fabric_message_done(&message);
    }
    int64_t call = fabric_call_begin(world.controller, "web1", "fly", NULL, &problem);
    answer_one(world.agent);
    world_next(world.controller, FABRIC_REPLY, &message);
    assert_int_equal(message.call, call);
    assert_int_equal(message.error, -EREMOTEIO);
    assert_int_equal(message.code, FABRIC_NO_METHOD);
    assert_non_null(strstr(message.text, "no such method"));
    fabric_message_done(&message);
}

/* Whether each of this process' other threads blocks SIGTERM. Returns how many there are. */
static unsigned check_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned count = 0;

    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], line[256];
        unsigned long long blocked = 0;
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "re");
        bool found = false;
        while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
            found = sscanf(line, "SigBlk: %llx", &blocked) == 1;
        if (file != NULL)
            fclose(file);
        if (!found)
            continue; /* it has ended */
        assert_true((blocked >> (SIGTERM - 1) & 1) != 0);
        count++;
    }
    closedir(folder);
    return count;
}

/* Else a signal that the program itself takes, in order, would end it in one of them. */
static void test_threads_take_no_signals(void **context)
{
    need_server(context);
    int64_t call = begin_add(1, 2);
    struct fabric_message message;

    assert_true(call > 0);
    answer_one(world.agent);
    world_next(world.controller, FABRIC_REPLY, &message);
    fabric_message_done(&message);
    assert_true(check_threads() > 0);
}

static void test_no_agent(void **context)
{
    json_t *result;

    need_server(context);
    assert_int_equal(
        fabric_call(world.controller, "db1", "add", NULL, LONG_MS, &result, NULL, &problem),
        -EHOSTUNREACH);
    assert_non_null(strstr(problem.text, "db1"));
    /* Nobody calls fabric_next for web1. */
    assert_int_equal(
        fabric_call(world.controller, "web1", "add", NULL, 50, &result, NULL, &problem),
        -ETIMEDOUT);
    /* a reply that comes too late says what it answers */
    struct fabric_message message;
    world_next(world.agent, FABRIC_REQUEST, &message);
    fabric_answer(message.request, NULL);
    fabric_message_done(&message);
    world_next(world.controller, FABRIC_REPLY, &message);
    assert_string_equal(message.machine, "web1");
    assert_int_equal(message.error, 0);
    fabric_message_done(&message);
}

/* ---- notices and output ---- */

static void test_said(void **context)
{
    struct fabric_message message;
    char text[32];
    uint64_t sequence = 0;

    need_server(context);
    json_t *params = json_pack("{si}", "pid", 4711);
    assert_int_equal(fabric_notice(world.agent, "terminated", params), 0);
    json_decref(params);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "line %d\n", i);
        assert_int_equal(fabric_output(world.agent, 4711, i % 2 != 0,
                                       i == 99 ? FABRIC_AT_UNKNOWN : 10000000000 * (uint64_t)i,
                                       text, strlen(text)),
                         0);
    }
    must(fabric_settle(world.agent, LONG_MS, &problem));

    /* A controller that comes later. */
    must(fabric_listen(world.controller, 0, &problem));
    world_next(world.controller, FABRIC_NOTICE, &message);
    assert_string_equal(message.method, "terminated");
    assert_string_equal(message.machine, "web1");
    assert_int_equal(json_integer_value(json_object_get(message.params, "pid")), 4711);
    fabric_message_done(&message);
    for (int i = 0; i < 100; i++) {
        world_next(world.controller, FABRIC_OUTPUT, &message);
        int length = snprintf(text, sizeof(text), "line %d\n", i);
        assert_int_equal(message.size, length);
        assert_memory_equal(message.bytes, text, message.size);
        assert_int_equal(message.pid, 4711);
        assert_int_equal(message.err, i % 2 != 0);
        assert_true(message.at == (i == 99 ? FABRIC_AT_UNKNOWN : 10000000000 * (uint64_t)i));
        assert_int_equal(message.missed, 0);
        sequence = message.sequence;
        fabric_message_done(&message);
    }
    /* ... and goes on, also while more is said. */
    assert_int_equal(fabric_output(world.agent, 1, false, FABRIC_AT_UNKNOWN, NULL, 0), 0);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    world_next(world.controller, FABRIC_OUTPUT, &message);
    assert_int_equal(message.sequence, sequence + 1);
    assert_int_equal(message.size, 0);
    fabric_message_done(&message);
    must(fabric_listen(world.controller, sequence, &problem));
    world_next(world.controller, FABRIC_OUTPUT, &message);
    assert_int_equal(message.sequence, sequence);
    fabric_message_done(&message);
}

/* The stream keeps so many bytes: a listener learns how many it missed, and the numbers add up. */
static void test_said_discarded(void **context)
{
    static char bytes[FABRIC_OUTPUT_MOST];
    struct fabric_message message;
    uint64_t got = 0, missed = 0;

    need_server(context);
    must(fabric_create_streams(world.controller, &(struct fabric_limits){.said_bytes = 1u << 20},
                               &problem));
    for (int i = 0; i < 40; i++) {
        assert_int_equal(
            fabric_output(world.agent, 1, false, FABRIC_AT_UNKNOWN, bytes, sizeof(bytes)), 0);
        must(fabric_settle(world.agent, LONG_MS, &problem));
    }
    must(fabric_listen(world.controller, 1, &problem));
    while (got + missed < 40) {
        world_next(world.controller, FABRIC_OUTPUT, &message);
        got++;
        missed += message.missed;
        assert_int_equal(message.sequence, got + missed);
        fabric_message_done(&message);
    }
    assert_in_range(got, 10, 16);
}

/* ---- packets ---- */

static struct fabric_place place_of(uint64_t number)
{
    return (struct fabric_place){.uuid = {1, 2, 3}, .file = 0, .number = number};
}

/* A packet's bytes follow from its number. */
static size_t packet_bytes(uint64_t number, uint8_t bytes[65536])
{
    uint64_t seed = number + 1;
    size_t size = (size_t)(4096 * (1 + random_below(&seed, 16)));

    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = random_number(&seed);
        memcpy(bytes + i, &word, sizeof(word));
    }
    return size;
}

static void let_agent_work(int timeout_ms)
{
    struct pollfd polled = {.fd = fabric_descriptor(world.agent), .events = POLLIN};
    struct fabric_message message;

    poll(&polled, 1, timeout_ms);
    while (fabric_next(world.agent, &message) == 1)
        fabric_message_done(&message);
}

static void publish(struct fabric_publisher *publisher, uint64_t number)
{
    uint8_t bytes[65536];
    size_t size = packet_bytes(number, bytes);
    struct fabric_place place = place_of(number);
    int result;

    while ((result = fabric_publish(publisher, FABRIC_DATA, &place, bytes, size)) == -EAGAIN)
        let_agent_work(1000);
    assert_int_equal(result, 0);
}

/* Takes all packets first .. last - 1, each once and in order. */
static void consume(struct fabric_consumer *consumer, uint64_t first, uint64_t last)
{
    uint8_t bytes[65536];
    struct fabric_packet packet;

    for (uint64_t number = first; number < last; number++) {
        int result = fabric_consumer_next(consumer, LONG_MS, &packet, &problem);
        if (result != 1)
            fail_msg("packet %" PRIu64 ": %d: %s", number, result, problem.text);
        assert_int_equal(packet.place.number, number);
        assert_string_equal(packet.machine, "web1");
        assert_string_equal(packet.recording, "main");
        assert_int_equal(packet.part, FABRIC_DATA);
        assert_int_equal(packet.size, packet_bytes(number, bytes));
        assert_memory_equal(packet.bytes, bytes, packet.size);
        fabric_consumer_done(consumer, &packet, true);
    }
}

static void test_packets(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    struct fabric_place place;
    struct fabric_packet packet;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    assert_int_equal(fabric_last(world.agent, "main", FABRIC_DATA, &place, &problem), -ENOENT);
    assert_false(fabric_acknowledged(publisher, FABRIC_DATA, &place));
    for (uint64_t number = 0; number < 300; number++)
        publish(publisher, number);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    assert_true(fabric_acknowledged(publisher, FABRIC_DATA, &place));
    assert_int_equal(place.number, 299);

    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    consume(consumer, 0, 100);
    fabric_consumer_free(consumer); /* it dies, and another one goes on */
    must(fabric_consumer_new(world.controller, "web1", "filter2", 0, &consumer, &problem));
    must(fabric_consumer_remove(consumer, &problem));
    fabric_consumer_free(consumer);
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    place = place_of(99);
    assert_int_equal(fabric_consumer_has(consumer, "web1", "main", FABRIC_DATA, &place), 0);
    consume(consumer, 100, 300);
    assert_int_equal(fabric_consumer_next(consumer, 0, &packet, &problem), 0);
    while (fabric_consumer_left(consumer, &problem) > 0)
        poll(NULL, 0, 10);
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* Parts come in the order in which they were published: data never before the identities that they refer to, which were
 * published before them. */
static void test_parts_in_order(void **context)
{
    static const enum fabric_part parts[] = {FABRIC_METADATA, FABRIC_CONTROL, FABRIC_CONTROL,
                                             FABRIC_DATA,     FABRIC_DATA,    FABRIC_CONTROL,
                                             FABRIC_DATA,     FABRIC_METADATA};
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    uint64_t numbers[FABRIC_PARTS] = {0};
    struct fabric_packet packet;
    uint8_t bytes[65536];

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        struct fabric_place place = place_of(numbers[parts[i]]++);
        assert_int_equal(
            fabric_publish(publisher, parts[i], &place, bytes, packet_bytes(place.number, bytes)),
            0);
    }
    must(fabric_settle(world.agent, LONG_MS, &problem));
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
        assert_int_equal(packet.part, parts[i]);
        fabric_consumer_done(consumer, &packet, true);
    }
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

static void drain(struct fabric *fabric, int timeout_ms)
{
    struct pollfd polled = {.fd = fabric_descriptor(fabric), .events = POLLIN};
    struct fabric_message message;

    poll(&polled, 1, timeout_ms);
    while (fabric_next(fabric, &message) == 1) {
        assert_int_not_equal(message.kind, FABRIC_TROUBLE);
        fabric_message_done(&message);
    }
}

/* How full the stream is can be asked without waiting for a server that does not answer, and its silence is noticed: also by
 * one who may not ask. */
static void test_silence(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_usage usage = {0};

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    publish(publisher, 0);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    must(fabric_listen(world.controller, 0, &problem));
    fabric_usage_ask(world.controller);
    while (!fabric_usage_answered(world.controller, &usage))
        drain(world.controller, 100);
    assert_int_equal(usage.packets, 1);
    assert_true(usage.packet_bytes > 0 && usage.packet_bytes < usage.packet_bytes_most);
    assert_false(fabric_usage_answered(world.controller, &usage));
    pid_t server = world_server_process(&world);
    assert_int_equal(kill(server, SIGSTOP), 0);
    uint64_t before = fabric_silence(world.controller), least = 1500000000;
    uint64_t stopped = clock_now(CLOCK_MONOTONIC);
    while (fabric_silence(world.controller) < least) { /* what is on its way may still come */
        fabric_usage_ask(world.controller);
        drain(world.controller, 50);
        fabric_usage_answered(world.controller, &usage);
    }
    assert_true(clock_now(CLOCK_MONOTONIC) - stopped + before >= least / 2);
    fabric_usage_ask(world.controller);
    drain(world.controller, 50);
    assert_false(fabric_usage_answered(world.controller, &usage));
    assert_int_equal(kill(server, SIGCONT), 0);
    while (fabric_silence(world.controller) >= least)
        drain(world.controller, 50);
    fabric_usage_ask(world.agent); /* it may not */
    assert_int_equal(fabric_notice(world.agent, "note", NULL), 0);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    drain(world.agent, 0);
    assert_false(fabric_usage_answered(world.agent, &usage));
    fabric_publisher_free(publisher);
}

/* An agent that comes back goes on where the stream has got to, even if it does not know that itself. */
static void test_resume(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    struct fabric_place place;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 8, &publisher, &problem));
    for (uint64_t number = 0; number < 40; number++)
        publish(publisher, number);
    fabric_publisher_free(publisher); /* without waiting: what was under way may be stored or not */

    must(fabric_last(world.agent, "main", FABRIC_DATA, &place, &problem));
    assert_in_range(place.number, 0, 39);
    must(fabric_publisher_new(world.agent, "main", 8, &publisher, &problem));
    fabric_publisher_resume(publisher, FABRIC_DATA, &place);
    for (uint64_t number = place.number + 1; number < 80; number++)
        publish(publisher, number);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    must(fabric_last(world.agent, "main", FABRIC_DATA, &place, &problem));
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    consume(consumer, 0, 80);
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* What the caller could not store comes again, before its successors. The agent may leave packets out. */
static void test_not_stored(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    struct fabric_packet packet;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    for (uint64_t number = 0; number < 10; number++)
        publish(publisher, number);
    publish(publisher, 20);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
    assert_int_equal(packet.place.number, 0);
    fabric_consumer_done(consumer, &packet, false);
    consume(consumer, 0, 10);
    assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
    assert_int_equal(packet.place.number, 20);
    fabric_consumer_done(consumer, &packet, true);
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* The next one of its name begins with it, too: nothing else tells what the first packet is. */
static void test_not_stored_earlier(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    struct fabric_packet packet;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    for (uint64_t number = 0; number < 10; number++)
        publish(publisher, number);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
    fabric_consumer_done(consumer, &packet, false);
    fabric_consumer_free(consumer);
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    consume(consumer, 0, 10);
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* The server is killed twice in the middle of a flow of packets, notices and output. */
static void test_server_killed(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    struct fabric_message message;
    char text[32];
    uint64_t published = 0, consumed = 0;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    must(fabric_consumer_new(world.controller, NULL, "filter1", 2000, &consumer, &problem));
    for (int round = 0; round < 3; round++) {
        for (uint64_t more = 100 + random_below(&state, 100); more > 0; more--) {
            publish(publisher, published);
            snprintf(text, sizeof(text), "line %" PRIu64, published++);
            while (fabric_output(world.agent, 1, false, FABRIC_AT_UNKNOWN, text, strlen(text)) ==
                   -EAGAIN)
                let_agent_work(1000);
        }
        if (round < 2)
            world_kill_server(&world);
        uint64_t most =
            published > 70 ? published - 70 : 0; /* what must be stored, beside the window */
        for (; consumed < most; consumed++) {
            let_agent_work(0);
            consume(consumer, consumed, consumed + 1);
        }
    }
    must(fabric_settle(world.agent, LONG_MS, &problem));
    consume(consumer, consumed, published);
    struct fabric_consumer_state seen;
    fabric_consumer_look(consumer, &seen);
    assert_int_equal(seen.packets, published);
    assert_int_equal(seen.malformed, 0);

    must(fabric_listen(world.controller, 0, &problem));
    for (uint64_t number = 0; number < published; number++) {
        world_next(world.controller, FABRIC_OUTPUT, &message);
        size_t length = (size_t)snprintf(text, sizeof(text), "line %" PRIu64, number);
        assert_int_equal(message.size, length);
        assert_memory_equal(message.bytes, text, length);
        fabric_message_done(&message);
    }
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* A server is killed while an acknowledgement is on its way: what that was for comes again and is dropped, then nothing is left. */
static void test_acknowledgement_lost(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *consumer;
    struct fabric_packet packet;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    must(fabric_consumer_new(world.controller, NULL, "filter1", 1000, &consumer, &problem));
    for (uint64_t number = 0; number < 3; number++)
        publish(publisher, number);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    consume(consumer, 0, 2);
    assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
    pid_t server = world_server_process(&world);
    assert_true(server > 0);
    assert_int_equal(kill(server, SIGSTOP), 0);
    fabric_consumer_done(consumer, &packet, true);
    assert_int_equal(kill(server, SIGKILL), 0);
    while (fabric_consumer_left(consumer, &problem) !=
           0) /* nor is it known while there is no server */
        assert_int_equal(fabric_consumer_next(consumer, 100, &packet, &problem), 0);
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* A server may lose one of the streams. */
static void test_has_streams(void **context)
{
    char subject[FABRIC_SUBJECT_SIZE];
    json_t *answer = NULL;

    need_server(context);
    assert_int_equal(1, fabric_has_streams(world.controller, &problem));
    assert_int_equal(1, fabric_has_said(world.controller, &problem));
    snprintf(subject, sizeof(subject), "$JS.API.STREAM.DELETE.%s",
             world.controller->streams[STREAM_SAID]);
    must(fabric_ask(world.controller, "said", subject, NULL, &answer, &problem));
    json_decref(answer);
    assert_int_equal(1, fabric_has_streams(world.controller, &problem));
    assert_int_equal(0, fabric_has_said(world.controller, &problem));
    must(fabric_create_streams(world.controller, NULL, &problem));
    assert_int_equal(1, fabric_has_said(world.controller, &problem));
}

/* What is kept: the latest value of each name, and nothing of one that was removed; removing the streams removes all. */
static void test_kept(void **context)
{
    json_t *kept = NULL, *value = json_pack("{s:[i, s]}", "list", 7, "\xc3\xa4\" \\");

    need_server(context);
    must(fabric_kept(world.controller, &kept, &problem)); /* there is no stream */
    assert_int_equal(json_object_size(kept), 0);
    json_decref(kept);
    must(fabric_create_streams(world.controller, NULL, &problem));
    must(fabric_keep(world.controller, "job.1", value, &problem));
    json_object_set_new(value, "more", json_true());
    must(fabric_keep(world.controller, "job.1", value, &problem));
    must(fabric_keep(world.controller, "job.12", value, &problem));
    must(fabric_keep(world.controller, "job.12", NULL, &problem));
    must(fabric_kept(world.controller, &kept, &problem));
    assert_int_equal(json_object_size(kept), 1);
    assert_true(json_equal(json_object_get(kept, "job.1"), value));
    json_decref(kept);
    must(fabric_remove_streams(world.controller, &problem));
    must(fabric_kept(world.controller, &kept, &problem));
    assert_int_equal(json_object_size(kept), 0);
    json_decref(kept);
    json_decref(value);
}

/* A full stream is reported; when there is space again, everything comes, in order. */
static void test_full(void **context)
{
    struct fabric_limits limits = {.packet_bytes = 1u << 20};
    struct fabric_publisher *publisher;
    struct fabric_publisher_state look;
    struct fabric_consumer *consumer, *idle;
    struct fabric_slowest slowest;
    struct fabric_usage usage;
    uint8_t bytes[65536];
    uint64_t published = 0;
    int result = 0;

    need_server(context);
    must(fabric_create_streams(world.controller, &limits, &problem));
    must(fabric_publisher_new(world.agent, "main", 16, &publisher, &problem));
    while (result != -ENOSPC) {
        struct fabric_place place = place_of(published);
        size_t size = packet_bytes(published, bytes);
        result = fabric_publish(publisher, FABRIC_DATA, &place, bytes, size);
        published += result == 0;
        if (result == -EAGAIN)
            let_agent_work(LONG_MS);
        else
            assert_true(result == 0 || result == -ENOSPC);
    }
    fabric_publisher_look(publisher, &look);
    assert_true(look.full);
    assert_non_null(strstr(look.reason, "maximum bytes"));
    assert_int_equal(fabric_settle(world.agent, 100, &problem), -ETIMEDOUT);
    assert_non_null(strstr(problem.text, "maximum bytes"));
    must(fabric_usage(world.controller, &usage, &problem));
    assert_int_equal(usage.packet_bytes_most, 1u << 20);
    assert_in_range(usage.packet_bytes, 1u << 19, 1u << 20);

    /* Consumers make space, and the controller trims. */
    assert_int_equal(0, fabric_slowest(world.controller, &slowest, &problem));
    must(fabric_consumer_new(world.controller, "web2", "idle", 0, &idle, &problem));
    assert_int_equal(1, fabric_slowest(world.controller, &slowest, &problem));
    assert_int_equal(0, slowest.left);
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    consume(consumer, 0, 1);
    assert_int_equal(1, fabric_slowest(world.controller, &slowest, &problem));
    assert_string_equal("filter1", slowest.name);
    assert_in_range(slowest.left, 1, published);
    int64_t trimmed = 0; /* what `idle` gets none of */
    for (uint64_t number = 1; number < published; number++) {
        struct fabric_packet packet;
        for (int tries = 0; (result = fabric_consumer_next(consumer, 100, &packet, &problem)) == 0;
             tries++) {
            assert_in_range(tries, 0, 200);
            result = (int)fabric_trim(world.controller, &problem);
            assert_true(result >= 0);
            trimmed += result;
            let_agent_work(100);
        }
        assert_int_equal(result, 1);
        assert_int_equal(packet.place.number, number);
        fabric_consumer_done(consumer, &packet, true);
    }
    must(fabric_settle(world.agent, LONG_MS, &problem));
    assert_true(trimmed > 0);
    must(fabric_consumer_remove(idle, &problem));
    fabric_consumer_free(idle);
    fabric_consumer_free(consumer);
    fabric_publisher_free(publisher);
}

/* What a consumer of one machine has not acknowledged stays, whatever others have. */
static void test_trimmed_behind_all(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_consumer *all, *one;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    for (uint64_t number = 0; number < 20; number++)
        publish(publisher, number);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    assert_int_equal(0, fabric_trim(world.controller, &problem)); /* no one has them */
    must(fabric_consumer_new(world.controller, NULL, "all", 0, &all, &problem));
    must(fabric_consumer_new(world.controller, "web1", "one", 0, &one, &problem));
    consume(all, 0, 20);
    while (fabric_left(world.controller, "all", &problem) > 0)
        poll(NULL, 0, 10);
    assert_int_equal(0, fabric_trim(world.controller, &problem));
    consume(one, 0, 20);
    while (fabric_left(world.controller, "one", &problem) > 0)
        poll(NULL, 0, 10);
    assert_int_equal(19, fabric_trim(world.controller, &problem)); /* the last one stays */
    fabric_consumer_free(all);
    fabric_consumer_free(one);
    fabric_publisher_free(publisher);
}

/* What is large may take long over a slow link: sending it again meanwhile would make it longer still. */
static void test_slow_link(void **context)
{
    static const uint8_t bytes[900000];
    const struct fabric_place place = place_of(0);
    struct fabric_publisher *publisher;
    struct fabric_publisher_state look;
    const uint64_t second = 1000 * MILLISECONDS;

    need_server(context);
    must(fabric_publisher_new(world.agent, "main", 0, &publisher, &problem));
    assert_int_equal(fabric_publish(publisher, FABRIC_DATA, &place, bytes, sizeof(bytes)), 0);
    uint64_t now = clock_now(CLOCK_MONOTONIC); /* what the server answers is not looked at */
    outbox_pump(world.agent->outboxes, now + 60 * second);
    fabric_publisher_look(publisher, &look);
    assert_int_equal(look.resent, 0);
    assert_int_equal(look.pending, 1);
    outbox_pump(world.agent->outboxes, now + 100 * second);
    fabric_publisher_look(publisher, &look);
    assert_int_equal(look.resent, 1);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    fabric_publisher_free(publisher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_threads_take_no_signals, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_no_agent, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_said, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_said_discarded, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_packets, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_parts_in_order, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_silence, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_resume, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_not_stored, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_not_stored_earlier, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_server_killed, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_acknowledgement_lost, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_full, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_trimmed_behind_all, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_slow_link, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_kept, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_has_streams, begin_pair, end_world),
    };

    state = seed_of_run("fabric");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
