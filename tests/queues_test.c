/* SPDX-License-Identifier: MIT */
/*
 * queues_test.c: what the statistics say of messages that wait, and of who waits for whom.
 *
 *      process 1 --- path 1 > path 2 ---> process 2        records, told one by one
 *                                         |
 *                                         '--> a row of the paths, rows of the processes
 */
#include "analysis/analysis.h"

#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define ALL_FLAGS UINT32_MAX
#define NO_QUEUED (~EVENT_FLAG(EVENT_MESSAGEQUEUED))

/* ---- a world to tell of ---- */

struct world {
    struct statistics *statistics;
    uint32_t origins;
};

static void tell_at(struct world *world, uint32_t origin, uint64_t time, int64_t clock_offset,
                    void *record)
{
    struct record_header *header = record;
    const struct event event = {header, origin, 0};

    header->time = time;
    assert_int_equal(statistics_add_at(world->statistics, &event, clock_offset), 0);
}

static void tell(struct world *world, uint32_t origin, uint64_t time, void *record)
{
    tell_at(world, origin, time, 0, record);
}

/* Machine `origin`, with the processes 1 to `processes`, each of one stream. */
static void begin_machine(struct world *world, uint32_t meter_flags, uint32_t processes)
{
    uint32_t origin = world->origins++;
    struct machine_record machine = {
        .header = {.id = EVENT_MACHINE},
        .machine_id = {(uint8_t)(origin + 1)},
        .meter_flags = meter_flags,
        .name = "host",
    };

    tell(world, origin, 1, &machine);
    for (uint32_t number = 1; number <= processes; number++) {
        struct stream_record stream = {
            .header = {.id = EVENT_STREAM, .stream = number},
            .process = number,
            .pid = 100 + number,
            .tid = 100 + number,
            .name = "p",
        };
        tell(world, origin, 1, &stream);
    }
}

static void begin(struct world *world, uint32_t meter_flags, uint32_t processes)
{
    memset(world, 0, sizeof(*world));
    assert_int_equal(statistics_new(&world->statistics), 0);
    begin_machine(world, meter_flags, processes);
}

/* Tells of one end of a path; `ports`: its own, then that of the other end. */
static void tell_path(struct world *world, uint32_t origin, uint32_t path, enum path_kind kind,
                      const uint16_t ports[2])
{
    bool internet = kind == PATH_TCP || kind == PATH_UDP;
    struct path_record record = {
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = path,
        .kind = (uint8_t)kind,
        .family = internet ? AF_INET : AF_UNIX,
        .role = ports[0] > ports[1] ? PATH_ROLE_CONNECTED : PATH_ROLE_ACCEPTED,
        .cookie = internet ? 0 : ports[0],
        .peer = internet ? 0 : ports[1],
        .local_port = ports[0],
        .remote_port = ports[1],
        .local = {10, 0, 0, 1},
        .remote = {10, 0, 0, 1},
    };

    tell(world, origin, 1, &record);
}

/* A path from process 1 to process 2 of one machine: its ends are the paths `path` and path + 1. */
static void tell_ends(struct world *world, uint32_t path, enum path_kind kind)
{
    uint16_t port = (uint16_t)(1000 + path);

    tell_path(world, 0, path, kind, (uint16_t[]){port + 1000, port});
    tell_path(world, 0, path + 1, kind, (uint16_t[]){port, port + 1000});
}

static struct record message(enum event_id id, uint32_t stream, uint32_t path, uint32_t offset,
                             uint32_t bytes)
{
    return (struct record){
        .header = {.id = (uint8_t)id,
                   .stream = stream,
                   .flags = id == EVENT_MESSAGEQUEUED ? RECORD_NO_STREAM : 0},
        .message = {.path = path, .offset = offset, .bytes = bytes},
    };
}

static void tell_message(struct world *world, uint64_t time, enum event_id id, uint32_t stream,
                         uint32_t path, uint32_t offset, uint32_t bytes)
{
    struct record record = message(id, stream, path, offset, bytes);

    tell(world, 0, time, &record);
}

static struct communication *result_of(struct world *world)
{
    struct source_state states[2] = {{.complete = true, .end_reason = END_COMPLETE},
                                     {.complete = true, .end_reason = END_COMPLETE}};
    struct communication *result;

    assert_int_equal(statistics_finish(world->statistics, states, world->origins, &result), 0);
    return result;
}

static void end(struct world *world, struct communication *result)
{
    communication_free(result);
    statistics_free(world->statistics);
}

static uint64_t count_of(const struct communication_path *path, enum time_kind kind)
{
    return histogram_count(&path->times.of[kind]);
}

/* ---- what is lost ---- */

/* A hundred datagrams in a row are lost, and then one in ten: all others are found. */
static void queue_recovers_from_losses(void **state)
{
    uint64_t time = 1000;
    uint64_t lost = 0;
    struct world world;

    (void)state;
    for (unsigned told = 0; told < 2; told++) {
        begin(&world, told ? ALL_FLAGS : NO_QUEUED, 2);
        tell_ends(&world, 1, PATH_UDP);
        lost = 0;
        for (uint32_t number = 0; number < 3000; number++) {
            bool arrives = number >= 100 && number % 10 != 0;
            tell_message(&world, time += 10, EVENT_SEND, 1, 1, number, 50);
            lost += !arrives;
            if (arrives && told)
                tell_message(&world, time += 3, EVENT_MESSAGEQUEUED, 0, 2, number, 50);
            if (arrives)
                tell_message(&world, time += 10, EVENT_RECEIVE, 2, 2, number, 50);
        }
        struct communication *result = result_of(&world);
        const struct queue_length *queue = &result->paths[0].queue;
        assert_int_equal(count_of(&result->paths[0], TIME_MESSAGE_WAIT), 3000 - lost);
        assert_int_equal(result->paths[0].times.of[TIME_MESSAGE_WAIT].sum, 10 * (3000 - lost));
        assert_int_equal(queue->unreceived, lost);
        assert_in_range(queue->messages, 0, told ? 0 : 7);
        assert_in_range(queue->messages_max, 1, told ? 1 : 102);
        assert_int_equal(result->processes[1].queue.unreceived, lost);
        end(&world, result);
    }
}

/* Datagrams overtake each other, and numbers jump back, as identifications of IPv4 may. */
static void queue_follows_numbers_that_jump(void **state)
{
    uint32_t number = 5000;
    uint64_t time = 1000;
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_UDP);
    for (unsigned i = 0; i < 1000; i++) {
        for (uint32_t k = 0; k < 20; k++)
            tell_message(&world, time += 10, EVENT_SEND, 1, 1, number + k, 50);
        for (uint32_t k = 0; k < 20; k++)
            tell_message(&world, time += 10, EVENT_RECEIVE, 2, 2, number + (k * 7) % 20, 50);
        number += i % 2 == 0 ? 30000 : (uint32_t)-29000;
    }
    struct communication *result = result_of(&world);
    assert_int_equal(count_of(&result->paths[0], TIME_MESSAGE_WAIT), 20000);
    assert_int_equal(result->paths[0].queue.unreceived, 0);
    assert_int_equal(result->paths[0].queue.messages_max, 20);
    end(&world, result);
}

/* Nobody receives: what is given up counts as never received, and its bytes wait no longer. */
static void queue_gives_up_bytes_too(void **state)
{
    const uint64_t messages = 70000, most = 65536;
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_UDP);
    for (uint32_t number = 0; number < messages; number++)
        tell_message(&world, 1000 + number, EVENT_SEND, 1, 1, number, 100);
    struct communication *result = result_of(&world);
    const struct queue_length *queue = &result->paths[0].queue;
    assert_int_equal(queue->messages, most);
    assert_int_equal(queue->bytes, 100 * most);
    assert_int_equal(queue->bytes_max, 100 * most);
    assert_int_equal(queue->unreceived, messages);
    end(&world, result);
}

/* ---- what comes twice ---- */

#define DATAGRAMS 3000
#define AT_ONCE   32
#define LONGEST   30 /* how much later one may come than those sent with it */

/* A network that loses, doubles and delays datagrams. Each has the identification of its number's last 16
 * bits, and the receiver's meter makes a number of it, as docs/trace-format.md has it. */
struct network_test {
    struct world world;
    uint64_t seed;
    uint32_t first;                                      /* number of the first datagram */
    uint32_t arrivals[DATAGRAMS + LONGEST + 1][AT_ONCE]; /* numbers, by time */
    uint32_t arrival_counts[DATAGRAMS + LONGEST + 1];
    uint32_t last; /* the receiver's last number */
    bool any;
    uint64_t lost;
    uint64_t doubled;
};

static void arrive(struct network_test *test, uint32_t when, uint32_t number)
{
    assert_true(test->arrival_counts[when] < AT_ONCE);
    test->arrivals[when][test->arrival_counts[when]++] = number;
}

static void cross_the_network(struct network_test *test, uint32_t index)
{
    uint32_t delay =
        random_below(&test->seed, 4) == 0 ? (uint32_t)random_below(&test->seed, LONGEST) : 0;

    if (random_below(&test->seed, 20) == 0) {
        test->lost++;
        return;
    }
    arrive(test, index + delay, test->first + index);
    if (random_below(&test->seed, 30) != 0)
        return;
    test->doubled++;
    delay += (uint32_t)random_below(&test->seed, LONGEST - delay);
    arrive(test, index + delay, test->first + index);
}

static uint32_t receivers_number(struct network_test *test, uint32_t sent)
{
    int16_t step = (int16_t)(uint16_t)(sent - test->last);

    test->last = !test->any ? (uint16_t)sent : test->last + (step == 0 ? 65536 : (uint32_t)step);
    test->any = true;
    return test->last;
}

static void receive_all(struct network_test *test, uint32_t when)
{
    for (uint32_t i = 0; i < test->arrival_counts[when]; i++) {
        uint32_t number = receivers_number(test, test->arrivals[when][i]);
        struct record queued = message(EVENT_MESSAGEQUEUED, 0, 1, number, 9);
        struct record receive = message(EVENT_RECEIVE, 1, 1, number, 9);
        tell(&test->world, 1, 1000 * when + 1500 + i, &queued);
        tell(&test->world, 1, 1000 * when + 1700 + i, &receive);
    }
}

static void duplicates_are_counted(void **state)
{
    struct network_test *test = malloc(sizeof(*test));
    uint64_t first = seed_of_run("duplicates");

    (void)state;
    assert_non_null(test);
    for (uint64_t round = 0; round < 50; round++) {
        memset(test, 0, sizeof(*test));
        test->seed = first + round;
        test->first = (uint32_t)random_below(&test->seed, 200000);
        begin(&test->world, ALL_FLAGS, 1);
        begin_machine(&test->world, ALL_FLAGS, 1);
        tell_path(&test->world, 0, 1, PATH_UDP, (uint16_t[]){2000, 1000});
        tell_path(&test->world, 1, 1, PATH_UDP, (uint16_t[]){1000, 2000});
        for (uint32_t i = 0; i < DATAGRAMS + LONGEST; i++) {
            struct record send = message(EVENT_SEND, 1, 1, test->first + i, 9);
            if (i < DATAGRAMS) {
                tell(&test->world, 0, 1000 * i + 1000, &send);
                cross_the_network(test, i);
            }
            receive_all(test, i);
        }
        struct communication *result = result_of(&test->world);
        const struct communication_path *path = &result->paths[0];
        if (path->duplicates != test->doubled ||
            count_of(path, TIME_MESSAGE_WAIT) != DATAGRAMS - test->lost ||
            path->queue.unreceived != test->lost)
            fail_msg("DPM_SEED=%" PRIu64 ": %" PRIu64 " of %" PRIu64 " doubled, %" PRIu64
                     " of %" PRIu64 " received, %" PRIu64 " lost",
                     first + round, path->duplicates, test->doubled,
                     count_of(path, TIME_MESSAGE_WAIT), DATAGRAMS - test->lost,
                     path->queue.unreceived);
        assert_int_equal(result->duplicates, path->duplicates);
        end(&test->world, result);
    }
    free(test);
}

/* ---- how long messages are on their way ---- */

/* Sender and receiver are recorded apart: whether a message's coming is told the receiver's flags say. */
static void delivery_is_told_by_the_receiver(void **state)
{
    struct world world;

    (void)state;
    for (unsigned told = 0; told < 2; told++) {
        begin(&world, told ? NO_QUEUED : ALL_FLAGS, 1);
        begin_machine(&world, told ? ALL_FLAGS : NO_QUEUED, 1);
        tell_path(&world, 0, 1, PATH_TCP, (uint16_t[]){2000, 1000});
        tell_path(&world, 1, 1, PATH_TCP, (uint16_t[]){1000, 2000});
        for (uint32_t i = 0; i < 10; i++) {
            struct record send = message(EVENT_SEND, 1, 1, 100 * i, 100);
            struct record queued = message(EVENT_MESSAGEQUEUED, 0, 1, 100 * i, 100);
            struct record receive = message(EVENT_RECEIVE, 1, 1, 100 * i, 100);
            tell(&world, 0, 1000 * i + 1000, &send);
            if (told)
                tell(&world, 1, 1000 * i + 1300, &queued);
            tell(&world, 1, 1000 * i + 1400, &receive);
        }
        struct communication *result = result_of(&world);
        const struct communication_path *path = &result->paths[0];
        assert_int_equal(count_of(path, TIME_DELIVERY), told ? 10 : 0);
        assert_int_equal(path->times.of[TIME_DELIVERY].sum, told ? 3000 : 0);
        assert_int_equal(count_of(path, TIME_MESSAGE_WAIT), 10);
        assert_int_equal(path->times.of[TIME_MESSAGE_WAIT].sum, told ? 1000 : 4000);
        assert_int_equal(path->queue.messages_max, 1);
        end(&world, result);
    }
}

/* Of UNIX sockets it is told before the SEND; of what nothing is told, it was queued when it was sent. */
static void delivery_of_unix_sockets(void **state)
{
    static const enum path_kind kinds[] = {PATH_UNIX_STREAM, PATH_UNIX_DATAGRAM};
    struct world world;

    (void)state;
    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        uint32_t step = kinds[kind] == PATH_UNIX_STREAM ? 100 : 1;
        begin(&world, ALL_FLAGS, 2);
        tell_ends(&world, 1, kinds[kind]);
        for (uint32_t i = 0; i < 100; i++) {
            struct record send = message(EVENT_SEND, 1, 1, step * i, 100);
            send.message.span = 50;
            if (i % 4 != 0)
                tell_message(&world, 1000 * i + 1020, EVENT_MESSAGEQUEUED, 0, 2, step * i, 100);
            tell(&world, 0, 1000 * i + 1050, &send);
        }
        for (uint32_t i = 0; i < 100; i++)
            tell_message(&world, 200000, EVENT_RECEIVE, 2, 2, step * i, 100);
        struct communication *result = result_of(&world);
        const struct communication_path *path = &result->paths[0];
        assert_int_equal(count_of(path, TIME_DELIVERY), 75);
        assert_int_equal(path->times.of[TIME_DELIVERY].sum, 75 * 20);
        assert_int_equal(count_of(path, TIME_MESSAGE_WAIT), 100);
        assert_int_equal(path->queue.messages_max, 100);
        assert_int_equal(path->queue.messages, 0);
        assert_int_equal(path->queue.bytes_max, 10000);
        assert_int_equal(path->queue.bytes, 0);
        end(&world, result);
    }
}

/* ---- clocks ---- */

/* Machine 1 sent before machine 0, whose clock counts, had booted. */
static void times_before_the_first_boot(void **state)
{
    const uint64_t second = 1000000000;
    struct record sends[2] = {message(EVENT_SEND, 1, 1, 0, 1), message(EVENT_SEND, 1, 1, 1, 1)};
    struct record receive = message(EVENT_RECEIVE, 2, 2, 0, 1);
    struct record last = message(EVENT_BLOCK, 1, 0, 0, 0);
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 1);
    begin_machine(&world, NO_QUEUED, 2);
    tell_path(&world, 1, 1, PATH_UNIX_STREAM, (uint16_t[]){1, 2});
    tell_path(&world, 1, 2, PATH_UNIX_STREAM, (uint16_t[]){2, 1});
    tell_at(&world, 1, 5 * second, -(int64_t)(9 * second), &sends[0]);
    tell_at(&world, 1, 5 * second, -(int64_t)(9 * second), &sends[1]);
    tell_at(&world, 1, 6 * second, -(int64_t)(9 * second), &receive);
    tell(&world, 0, 2 * second, &last);
    struct communication *result = result_of(&world);
    assert_int_equal(result->paths[0].times.of[TIME_MESSAGE_WAIT].max, second);
    assert_int_equal(result->paths[0].queue.unreceived, 1);
    assert_int_equal(result->paths[0].queue.wait, (1 + 6) * second);
    end(&world, result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_recovers_from_losses),
        cmocka_unit_test(queue_follows_numbers_that_jump),
        cmocka_unit_test(queue_gives_up_bytes_too),
        cmocka_unit_test(duplicates_are_counted),
        cmocka_unit_test(delivery_is_told_by_the_receiver),
        cmocka_unit_test(delivery_of_unix_sockets),
        cmocka_unit_test(times_before_the_first_boot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
