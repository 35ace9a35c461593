/* SPDX-License-Identifier: MIT */
/*
 * queues_test.c: statistics of waiting messages and waiting processes: small histories with known results, and random
 * ones against a naive model.
 *
 *      process 1 --- path 1 > path 2 ---> process 2        records, added one by one
 *                                         |
 *                                         '--> a row of the paths, rows of the processes
 */
#include "analysis/statistics/statistics.h"
#include "meter/shared/message.h"

#include "tapes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define ALL_FLAGS UINT32_MAX
#define NO_QUEUED (~EVENT_FLAG(EVENT_MESSAGEQUEUED))

/* ---- a world of recordings ---- */

#define MOST_STREAMS 8

struct world {
    struct tape tapes[2];
    uint32_t sequences[2][MOST_STREAMS];
    uint32_t origins;
};

/* Adds a record of an origin, no older than the one before. */
static void tell(struct world *world, uint32_t origin, uint64_t time, void *record)
{
    struct tape *tape = &world->tapes[origin];
    struct record_header *header = record;

    header->time = time > tape->last_time ? time : tape->last_time;
    if (header->stream != 0 && event_size(header->id) == sizeof(struct record))
        header->sequence = world->sequences[origin][header->stream]++;
    tape_add(tape, record);
}

/* Begins a recording of machine `id`, with the processes 1 to `processes`, each with one stream. */
static void begin_machine(struct world *world, uint8_t id, uint64_t meter_flags, uint32_t processes)
{
    uint32_t origin = world->origins++;
    struct machine_record machine = {
        .header = {.id = EVENT_MACHINE, .flags = RECORD_NO_STREAM},
        .machine_id = {id},
        .meter_flags = meter_flags,
        .name = "host",
    };

    tape_init(&world->tapes[origin]);
    world->tapes[origin].state =
        (struct source_state){.complete = true, .end_reason = END_COMPLETE};
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

static void begin(struct world *world, uint64_t meter_flags, uint32_t processes)
{
    memset(world, 0, sizeof(*world));
    begin_machine(world, 1, meter_flags, processes);
}

/* Adds the PATH record of one end. `ports`: its own, then that of the other end. */
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

/* Adds both ends of a path from process 1 to process 2 of one machine: paths `path` and path + 1. */
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
    struct source *sources[] = {&world->tapes[0].source, &world->tapes[1].source};
    struct communication *result;
    struct statistics *statistics;
    struct history *history;
    struct problem problem;

    assert_int_equal(history_new(sources, world->origins, &history, &problem), 0);
    assert_int_equal(statistics_new(history, 0, &statistics), 0);
    statistics_each_connection(statistics); /* the naive model has a row for each */
    const struct analysis analysis = statistics_analysis(statistics);
    assert_int_equal(analyses_read_all(history, &analysis, 1, &problem), 0);
    history_finish(history);
    assert_int_equal(statistics_finish(statistics, world->origins, &result), 0);
    statistics_free(statistics);
    history_free(history);
    return result;
}

static void end(struct world *world, struct communication *result)
{
    communication_free(result);
    for (uint32_t i = 0; i < world->origins; i++)
        tape_done(&world->tapes[i]);
}

static uint64_t count_of(const struct communication_path *path, enum time_kind kind)
{
    return histogram_count(&path->times.of[kind]);
}

/* ---- lost messages ---- */

/* A hundred datagrams in a row are lost, then one in ten. All others are matched. */
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
        assert_int_equal(histogram_sum(&result->paths[0].times.of[TIME_MESSAGE_WAIT]),
                         10 * (3000 - lost));
        assert_int_equal(queue->unreceived, lost);
        assert_in_range(queue->messages, 0, told ? 0 : 7);
        assert_in_range(queue->messages_max, 1, told ? 1 : 102);
        assert_int_equal(result->processes[1].queue.unreceived, lost);
        end(&world, result);
    }
}

/* Datagrams overtake each other, and their numbers jump back, as IPv4 identifications may. */
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

/* Messages to an unmonitored peer count in no queue, since nothing shows whether they wait. */
static void strangers_have_no_queue(void **state)
{
    static const enum path_kind kinds[] = {PATH_TCP, PATH_UDP, PATH_UNIX_STREAM, PATH_PIPE};
    struct world world;

    (void)state;
    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        begin(&world, kind % 2 == 0 ? ALL_FLAGS : NO_QUEUED, 2);
        tell_path(&world, 0, 1, kinds[kind], (uint16_t[]){2000, 1000});
        for (uint32_t number = 0; number < 3000; number++)
            tell_message(&world, 1000 + number, EVENT_SEND, 1, 1, number, 1);
        struct communication *result = result_of(&world);
        const struct queue_length *queue = &result->paths[0].queue;
        assert_int_equal(result->paths[0].sent.messages, 3000);
        assert_int_equal(queue->messages + queue->bytes + queue->messages_max, 0);
        assert_int_equal(queue->operations + queue->unreceived, 0);
        end(&world, result);
    }
}

/* Nor do messages to a process whose receives are not recorded, whether the PATH of its end comes first or later. */
static void receives_that_are_not_told_leave_no_queue(void **state)
{
    static const enum path_kind kinds[] = {PATH_TCP, PATH_UDP, PATH_UNIX_STREAM, PATH_PIPE};
    struct world world;

    (void)state;
    for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
        begin(&world, ~EVENT_FLAG(EVENT_RECEIVE), 2);
        tell_path(&world, 0, 1, kinds[kind], (uint16_t[]){2000, 1000});
        tell_message(&world, 1000, EVENT_SEND, 1, 1, 0, 1);
        tell_path(&world, 0, 2, kinds[kind], (uint16_t[]){1000, 2000});
        for (uint32_t number = 1; number < 100; number++)
            tell_message(&world, 1000 + number, EVENT_SEND, 1, 1, number, 1);
        struct communication *result = result_of(&world);
        const struct queue_length *queue = &result->paths[0].queue;
        assert_int_equal(result->paths[0].sent.messages, 100);
        assert_int_equal(queue->messages + queue->bytes + queue->messages_max, 0);
        assert_int_equal(queue->operations + queue->unreceived, 0);
        end(&world, result);
    }
}

/* Two messages are left when their receiver closes its end, long before the recording ends. */
static void what_is_left_waits_until_the_end_is_closed(void **state)
{
    struct record closing = message(EVENT_DESTROYPATH, 0, 2, 0, 0);
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_UNIX_STREAM);
    for (uint32_t i = 0; i < 3; i++)
        tell_message(&world, 1000 + i, EVENT_SEND, 1, 1, i, 1);
    tell_message(&world, 1100, EVENT_RECEIVE, 2, 2, 0, 1);
    closing.header.flags = RECORD_NO_STREAM;
    tell(&world, 0, 2000, &closing);
    tell_message(&world, 900000, EVENT_BLOCK, 1, 0, 0, 0);
    struct communication *result = result_of(&world);
    const struct queue_length *queues[] = {&result->paths[0].queue, &result->processes[1].queue};
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        assert_int_equal(queues[i]->messages + queues[i]->bytes, 0);
        assert_int_equal(queues[i]->messages_max, 3);
        assert_int_equal(queues[i]->unreceived, 2);
        assert_int_equal(queues[i]->wait, 100 + 999 + 998);
    }
    end(&world, result);
}

/* Closing a pipe's end is not recorded; it counts as closed once all its users have ended. */
static void what_is_left_waits_until_its_receiver_ends(void **state)
{
    struct record end_of_receiver = {.header = {.id = EVENT_TERMINATION, .stream = 2},
                                     .termination = {.last = 1}};
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_PIPE);
    for (uint32_t i = 0; i < 3; i++)
        tell_message(&world, 1000, EVENT_SEND, 1, 1, 100 * i, 100);
    tell_message(&world, 1500, EVENT_RECEIVE, 2, 2, 0, 100);
    tell(&world, 0, 2000, &end_of_receiver);
    tell_message(&world, 9000, EVENT_RECEIVECALL, 1, 0, 0, 0);
    struct communication *result = result_of(&world);
    const struct queue_length *queues[] = {&result->paths[0].queue, &result->processes[1].queue};
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        assert_int_equal(queues[i]->messages, 0);
        assert_int_equal(queues[i]->bytes, 0);
        assert_int_equal(queues[i]->unreceived, 2);
        assert_int_equal(queues[i]->wait, 500 + 2 * 1000);
    }
    end(&world, result);
}

/* No process receives, so all messages wait. */
static void what_is_never_received_waits(void **state)
{
    const uint64_t messages = 70000;
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_UDP);
    for (uint32_t number = 0; number < messages; number++)
        tell_message(&world, 1000 + number, EVENT_SEND, 1, 1, number, 100);
    struct communication *result = result_of(&world);
    const struct queue_length *queue = &result->paths[0].queue;
    assert_int_equal(queue->messages, messages);
    assert_int_equal(queue->bytes, 100 * messages);
    assert_int_equal(queue->bytes_max, 100 * messages);
    assert_int_equal(queue->unreceived, messages);
    end(&world, result);
}

/* A process owns a connection from its first receive on. Messages that arrived on all of them before waited at the same
 * time, although its first receive from one comes when another is already empty. */
static void what_came_before_the_first_receive_counts(void **state)
{
    const uint32_t paths = 3, messages = 4;
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    for (uint32_t i = 0; i < paths; i++) {
        tell_ends(&world, 1 + 2 * i, PATH_UNIX_STREAM);
        for (uint32_t k = 0; k < messages; k++)
            tell_message(&world, 1000 + 10 * i + k, EVENT_SEND, 1, 1 + 2 * i, 100 * k, 100);
    }
    for (uint32_t i = 0; i < paths; i++)
        for (uint32_t k = 0; k < messages; k++)
            tell_message(&world, 2000 + 10 * i + k, EVENT_RECEIVE, 2, 2 + 2 * i, 100 * k, 100);
    struct communication *result = result_of(&world);
    assert_int_equal(result->processes[1].queue.messages_max, paths * messages);
    assert_int_equal(result->processes[1].queue.bytes_max, 100 * paths * messages);
    assert_int_equal(result->processes[1].queue.messages, 0);
    end(&world, result);
}

/* ---- duplicates ---- */

#define DATAGRAMS 3000
#define AT_ONCE   32
#define LONGEST   30 /* how much later one may arrive than those sent with it */

/* A network that loses, duplicates and delays datagrams. The identification of a datagram is the last 16 bits of its
 * number. The receiver's meter extends it to a number, as in docs/trace-format.md. */
struct network_test {
    struct world world;
    uint64_t seed;
    uint32_t first;                                      /* number of the first datagram */
    uint32_t arrivals[DATAGRAMS + LONGEST + 1][AT_ONCE]; /* numbers, by time */
    uint32_t arrival_counts[DATAGRAMS + LONGEST + 1];
    uint32_t last; /* latest number at the receiver */
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
        begin_machine(&test->world, 2, ALL_FLAGS, 1);
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

/* ---- delivery latency ---- */

/* Sender and receiver are in separate recordings. The receiver's flags decide whether arrivals are recorded. */
static void delivery_is_told_by_the_receiver(void **state)
{
    struct world world;

    (void)state;
    for (unsigned told = 0; told < 2; told++) {
        begin(&world, told ? NO_QUEUED : ALL_FLAGS, 1);
        begin_machine(&world, 1, told ? ALL_FLAGS : NO_QUEUED, 1); /* a recording of its own */
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
        assert_int_equal(histogram_sum(&path->times.of[TIME_DELIVERY]), told ? 3000 : 0);
        assert_int_equal(count_of(path, TIME_MESSAGE_WAIT), 10);
        assert_int_equal(histogram_sum(&path->times.of[TIME_MESSAGE_WAIT]), told ? 1000 : 4000);
        assert_int_equal(path->queue.messages_max, 1);
        end(&world, result);
    }
}

static void tell_queued(struct world *world, uint64_t time, uint32_t path, uint32_t offset,
                        uint32_t bytes, uint32_t queue)
{
    struct record record = message(EVENT_MESSAGEQUEUED, 0, path, offset, bytes);

    record.queued.queue = queue;
    tell(world, 0, time, &record);
}

/* A call that sends a file sends it in pieces, which are received one by one. Its message enters the queue with its
 * last piece, however much earlier the first one arrived. */
static void message_of_many_pieces(void **state)
{
    const uint32_t pieces = 10;
    struct world world;

    (void)state;
    begin(&world, ALL_FLAGS, 2);
    tell_ends(&world, 1, PATH_TCP);
    for (uint32_t i = 0; i < pieces; i++) {
        struct record send = message(EVENT_SEND, 1, 1, 100 * i, 100);
        send.header.flags = i == 0 ? 0 : RECORD_CONTINUED;
        tell(&world, 0, 1000 * i + 1000, &send);
        tell_queued(&world, 1000 * i + 1030, 2, 100 * i, 100, i == 0 ? 100 : 150);
        tell_message(&world, 1000 * i + 1050, EVENT_RECEIVE, 2, 2, i == 0 ? 0 : 100 * i - 50,
                     i == 0 ? 50 : 100);
    }
    tell_message(&world, 1000 * pieces + 50, EVENT_RECEIVE, 2, 2, 100 * pieces - 50, 50);
    struct communication *result = result_of(&world);
    const struct communication_path *path = &result->paths[0];
    const struct queue_length *queues[] = {&path->queue, &result->processes[1].queue};
    assert_int_equal(count_of(path, TIME_MESSAGE_WAIT), 1);
    assert_int_equal(histogram_sum(&path->times.of[TIME_MESSAGE_WAIT]), 20);
    assert_int_equal(histogram_sum(&path->times.of[TIME_DELIVERY]), 1000 * (pieces - 1) + 30);
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        assert_int_equal(queues[i]->bytes_max, 150);
        assert_int_equal(queues[i]->messages_max, 1);
        assert_int_equal(queues[i]->messages + queues[i]->bytes, 0);
    }
    end(&world, result);
}

/* The receiver's recording begins later. Messages received before that do not count as waiting. */
static void receiver_is_recorded_later(void **state)
{
    struct world world;

    (void)state;
    begin(&world, ALL_FLAGS, 2);
    tell_ends(&world, 1, PATH_TCP);
    for (uint32_t i = 0; i < 10; i++)
        tell_message(&world, 1000 + 10 * i, EVENT_SEND, 1, 1, 45 * i, 45);
    tell_queued(&world, 1100, 2, 0, 450, 90);
    tell_message(&world, 1150, EVENT_RECEIVE, 2, 2, 360, 90);
    struct communication *result = result_of(&world);
    assert_int_equal(result->paths[0].queue.messages_max, 2);
    assert_int_equal(result->paths[0].queue.bytes_max, 90);
    assert_int_equal(result->paths[0].queue.unreceived, 0);
    assert_int_equal(count_of(&result->paths[0], TIME_MESSAGE_WAIT), 2);
    end(&world, result);
}

/* For UNIX sockets, MESSAGEQUEUED comes before the SEND. Without it, a message is queued when it is sent. */
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
        assert_int_equal(histogram_sum(&path->times.of[TIME_DELIVERY]), 75 * 20);
        assert_int_equal(count_of(path, TIME_MESSAGE_WAIT), 100);
        assert_int_equal(path->queue.messages_max, 100);
        assert_int_equal(path->queue.messages, 0);
        assert_int_equal(path->queue.bytes_max, 10000);
        assert_int_equal(path->queue.bytes, 0);
        end(&world, result);
    }
}

/* A few outliers do not make the quantiles of the other values less precise. */
static void quantiles_beside_outliers(void **state)
{
    const uint32_t messages = 2000;
    struct world world;
    uint64_t time = 1000;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_UNIX_STREAM);
    for (uint32_t i = 0; i < messages; i++) {
        uint64_t wait = i % 20 == 0 ? 1ULL << i / 20 % 20 : 32768 + 8 * (uint64_t)i; /* to 48768 */
        tell_message(&world, time, EVENT_SEND, 1, 1, i, 1);
        tell_message(&world, time + wait, EVENT_RECEIVE, 2, 2, i, 1);
        time += 1 << 21;
    }
    struct communication *result = result_of(&world);
    const struct histogram *waits = &result->paths[0].times.of[TIME_MESSAGE_WAIT];
    assert_int_equal(histogram_count(waits), messages);
    assert_in_range(histogram_quantile(waits, 0.5), 39500, 42000);
    assert_in_range(histogram_quantile(waits, 0.25), 35500, 38000);
    end(&world, result);
}

/* ---- waits that end without a message ---- */

static void tell_used(struct world *world, uint64_t time, enum event_id id, uint32_t stream,
                      uint32_t path, uint32_t offset, uint64_t used)
{
    struct record record = message(id, stream, path, offset, id == EVENT_RECEIVECALL ? 0 : 10);

    record.header.proc_time_and_pc = used;
    tell(world, 0, time, &record);
}

/* A call times out, which is not recorded, and its stream does something else before it receives. */
static void waits_that_end_in_vain(void **state)
{
    struct record block = {.header = {.id = EVENT_BLOCK, .stream = 2},
                           .block = {.state = 1, .duration = 100}};
    struct record end_of_file = message(EVENT_RECEIVE, 2, 2, 40, 0);
    struct world world;

    (void)state;
    end_of_file.header.flags = RECORD_END_OF_FILE;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_PIPE);
    tell_ends(&world, 3, PATH_PIPE);
    for (uint32_t i = 0; i < 4; i++)
        tell_message(&world, 1000 + i, EVENT_SEND, 1, 1, 10 * i, 10);
    tell_used(&world, 2000, EVENT_RECEIVECALL, 2, 2, 0, 50);
    tell_used(&world, 2900, EVENT_WAKEUP, 2, 1, 0, 300);  /* within the receiving call */
    tell_used(&world, 3000, EVENT_RECEIVE, 2, 2, 0, 350); /* 700 of it asleep */
    tell_used(&world, 4000, EVENT_RECEIVECALL, 2, 4, 0, 350);
    tell_used(&world, 5000, EVENT_RECEIVE, 2, 2, 10, 350); /* not on that path */
    tell_used(&world, 6000, EVENT_RECEIVECALL, 2, 2, 0, 350);
    block.header.proc_time_and_pc = 350;
    tell(&world, 0, 6500, &block);
    tell_used(&world, 7000, EVENT_RECEIVE, 2, 2, 20, 350); /* it has slept in another call since */
    tell_used(&world, 8000, EVENT_RECEIVECALL, 2, 0, 0, 350);
    tell_used(&world, 8400, EVENT_RECEIVE, 2, 2, 30, 350); /* it waited for any path */
    tell_used(&world, 9000, EVENT_RECEIVECALL, 2, 2, 0, 350);
    end_of_file.header.proc_time_and_pc = 350;
    tell(&world, 0, 9900, &end_of_file); /* not a message */
    struct communication *result = result_of(&world);
    const struct histogram *waits = &result->processes[1].times.of[TIME_RECEIVER_WAIT];
    assert_int_equal(histogram_count(waits), 2);
    assert_int_equal(histogram_sum(waits), 700 + 400);
    end(&world, result);
}

/* A wait for messages that ends without one, a disk wait, then the message: only the first part was a wait for
 * messages. A send that times out while the buffer is full, then a wait for messages: does not count as send
 * blocked. */
static void waits_for_something_else(void **state)
{
    struct record disk = {.header = {.id = EVENT_BLOCK, .stream = 2},
                          .block = {.state = 2, .duration = 600}};
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_UNIX_STREAM);
    tell_used(&world, 1000, EVENT_RECEIVECALL, 2, 0, 0, 50);
    disk.header.proc_time_and_pc = 60;
    tell(&world, 0, 1800, &disk);
    tell_used(&world, 1700, EVENT_SEND, 1, 1, 0, 50);
    tell_used(&world, 1900, EVENT_RECEIVE, 2, 2, 0, 70);
    tell_used(&world, 3000, EVENT_SENDCALL, 2, 2, 0, 70);
    tell_used(&world, 4000, EVENT_RECEIVECALL, 2, 2, 0, 70);
    tell_used(&world, 5000, EVENT_SEND, 1, 1, 10, 50);
    tell_used(&world, 5100, EVENT_RECEIVE, 2, 2, 10, 70);
    tell_used(&world, 5200, EVENT_SEND, 2, 2, 0, 70);
    struct communication *result = result_of(&world);
    const struct histogram *waits = &result->processes[1].times.of[TIME_RECEIVER_WAIT];
    assert_int_equal(histogram_count(waits), 2);
    assert_int_equal(histogram_sum(waits), (900 - 600 - 20) + 1100);
    assert_int_equal(histogram_count(&result->processes[1].times.of[TIME_SENDER_BLOCKED]), 0);
    end(&world, result);
}

/* A STREAM record at the end may be read before older events. */
static void an_identity_comes_early(void **state)
{
    struct stream_record identity = {
        .header = {.id = EVENT_STREAM, .stream = 2, .proc_time_and_pc = 90000},
        .process = 2,
        .name = "p",
    };
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_PIPE);
    tell_message(&world, 1000, EVENT_SEND, 1, 1, 0, 10);
    tell_used(&world, 2000, EVENT_RECEIVECALL, 2, 2, 0, 50);
    tell(&world, 0, 2500, &identity);
    tell_used(&world, 3000, EVENT_RECEIVE, 2, 2, 0, 350);
    struct communication *result = result_of(&world);
    assert_int_equal(histogram_sum(&result->processes[1].times.of[TIME_RECEIVER_WAIT]), 700);
    assert_int_equal(result->processes[1].cpu, 90000);
    end(&world, result);
}

/* Two sends of a pipe, each of them longer than the pipe: the second one's first bytes are in it when the last ones of the
 * first are taken, but its record comes later. */
static void a_long_send_is_told_late(void **state)
{
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 2);
    tell_ends(&world, 1, PATH_PIPE);
    tell_message(&world, 1000, EVENT_SEND, 1, 1, 0, 100);
    tell_message(&world, 2000, EVENT_RECEIVE, 2, 2, 0, 100);
    struct record second = message(EVENT_SEND, 1, 1, 100, 100);
    second.header.time = 3000;
    set_span(&second, 1500);
    tell(&world, 0, 3000, &second);
    tell_message(&world, 4000, EVENT_RECEIVE, 2, 2, 100, 100);
    struct communication *result = result_of(&world);
    assert_int_equal(result->processes[1].queue.wait, 1000 + 2500);
    assert_int_equal(result->processes[1].queue.messages_max, 2);
    assert_int_equal(result->paths[0].queue.messages_max, 2);
    end(&world, result);
}

/* ---- clocks ---- */

/* Machine 1 sent before machine 0 had booted, whose clock is the reference. */
static void times_before_the_first_boot(void **state)
{
    const uint64_t second = 1000000000;
    struct record sends[2] = {message(EVENT_SEND, 1, 1, 0, 1), message(EVENT_SEND, 1, 1, 1, 1)};
    struct record receive = message(EVENT_RECEIVE, 2, 2, 0, 1);
    struct record last = message(EVENT_BLOCK, 1, 0, 0, 0);
    struct world world;

    (void)state;
    begin(&world, NO_QUEUED, 1);
    begin_machine(&world, 2, NO_QUEUED, 2);
    world.tapes[1].wall_offset = -(int64_t)(9 * second);
    tell_path(&world, 1, 1, PATH_UNIX_STREAM, (uint16_t[]){1, 2});
    tell_path(&world, 1, 2, PATH_UNIX_STREAM, (uint16_t[]){2, 1});
    tell(&world, 1, 5 * second, &sends[0]);
    tell(&world, 1, 5 * second, &sends[1]);
    tell(&world, 1, 6 * second, &receive);
    tell(&world, 0, 2 * second, &last);
    struct communication *result = result_of(&world);
    assert_int_equal(histogram_max(&result->paths[0].times.of[TIME_MESSAGE_WAIT]), second);
    assert_int_equal(result->paths[0].queue.unreceived, 1);
    assert_int_equal(result->paths[0].queue.wait, (1 + 6) * second);
    end(&world, result);
}

/* ---- against a naive model ----
 *
 *      random_history --> records --> statistics ---------------------------------+
 *                            |                                                    +-- equal?
 *                            '--> length of each queue, recomputed at each record -+
 */

#define MOST_RECORDS 500
#define MOST_PATHS   5
#define PROCESSES    4

struct naive_path {
    enum path_kind kind;
    uint32_t sender; /* streams */
    uint32_t receiver;
    bool numbered;
    bool travels; /* MESSAGEQUEUED comes after its SEND, if at all */
    bool loses;   /* some never arrived: the length of its queue is approximate */
    /* for making the history */
    uint32_t sent;     /* position after the last message */
    uint32_t arrived;  /* position up to which data has arrived ... */
    uint32_t received; /* ... and up to which it is received */
};

struct naive_world {
    uint64_t seed;
    uint64_t time;
    bool told;
    struct record records[MOST_RECORDS];
    uint32_t count;
    struct naive_path paths[MOST_PATHS];
    uint32_t path_count;
};

static uint32_t below(struct naive_world *world, uint32_t limit)
{
    return (uint32_t)random_below(&world->seed, limit);
}

/* The ends of path `index` have the numbers 2 * index + 1 (sender) and 2 * index + 2 (receiver). */
static uint32_t senders_end(uint32_t index)
{
    return 2 * index + 1;
}

static void note_record(struct naive_world *world, enum event_id id, uint32_t stream, uint32_t path,
                        uint32_t offset, uint32_t bytes)
{
    if (world->count == MOST_RECORDS)
        return;
    struct record *record = &world->records[world->count++];
    *record = message(id, stream, path, offset, bytes);
    record->header.time = world->time += 1 + below(world, 1000);
    if (id == EVENT_SEND || id == EVENT_RECEIVE)
        set_span(record, world->time - (below(world, 16) > 0 ? below(world, 500)
                                                             : below(world, 20000000) * 1000ULL));
}

static uint32_t step_of(const struct naive_path *path, uint32_t bytes)
{
    return path->numbered ? 1 : bytes;
}

static void send_one(struct naive_world *world, uint32_t index)
{
    struct naive_path *path = &world->paths[index];
    uint32_t bytes = 1 + below(world, 300);

    for (uint32_t calls = below(world, 4) == 0 ? 1 + below(world, 2) : 0; calls > 0; calls--)
        note_record(world, EVENT_SENDCALL, path->sender, senders_end(index), path->sent, 0);
    if (!path->travels && path->kind != PATH_PIPE && world->told && below(world, 5) != 0)
        note_record(world, EVENT_MESSAGEQUEUED, 0, senders_end(index) + 1, path->sent, bytes);
    note_record(world, EVENT_SEND, path->sender, senders_end(index), path->sent, bytes);
    path->sent += step_of(path, bytes);
    if (!path->travels)
        path->arrived = path->sent;
}

/* Data in flight arrives, in part or all. Sometimes this is not recorded. */
static void let_arrive(struct naive_world *world, uint32_t index)
{
    struct naive_path *path = &world->paths[index];
    uint32_t more = path->sent - path->arrived;

    if (more == 0)
        return;
    more = path->numbered ? 1 : 1 + below(world, more);
    if (world->told && below(world, 8) != 0)
        note_record(world, EVENT_MESSAGEQUEUED, 0, senders_end(index) + 1, path->arrived, more);
    path->arrived += more;
}

static void receive_one(struct naive_world *world, uint32_t index)
{
    struct naive_path *path = &world->paths[index];
    uint32_t more = path->arrived - path->received;

    if (below(world, 3) == 0)
        note_record(world, EVENT_RECEIVECALL, path->receiver,
                    below(world, 2) == 0 ? 0 : senders_end(index) + 1, 0, 0);
    if (below(world, 6) == 0)
        note_record(world, EVENT_BLOCK, path->receiver, 0, 0, 0);
    if (below(world, 9) == 0)
        note_record(world, EVENT_ACCEPT, path->receiver, senders_end(index) + 1, 0, 0);
    if (more == 0)
        return;
    more = path->numbered ? 1 : 1 + below(world, more);
    note_record(world, EVENT_RECEIVE, path->receiver, senders_end(index) + 1, path->received, more);
    path->received += more;
}

/* Loses a random number of datagrams in a row. */
static void lose_some(struct naive_world *world, uint32_t index)
{
    struct naive_path *path = &world->paths[index];
    uint32_t most = path->sent - path->received;

    if (path->kind != PATH_UDP || most == 0)
        return;
    path->loses = true;
    path->received += 1 + below(world, most);
    if ((int32_t)(path->received - path->arrived) > 0)
        path->arrived = path->received;
}

static void random_history(struct naive_world *world)
{
    static const enum path_kind kinds[] = {PATH_TCP, PATH_UDP, PATH_UNIX_STREAM, PATH_UNIX_DATAGRAM,
                                           PATH_PIPE};

    world->told = below(world, 3) != 0;
    world->time = 20000000000;
    world->path_count = 1 + below(world, MOST_PATHS);
    for (uint32_t i = 0; i < world->path_count; i++) {
        struct naive_path *path = &world->paths[i];
        path->kind = kinds[below(world, ARRAY_SIZE(kinds))];
        path->sender = 1 + below(world, PROCESSES);
        path->receiver = 1 + (path->sender - 1 + 1 + below(world, PROCESSES - 1)) % PROCESSES;
        path->travels = path->kind == PATH_TCP || path->kind == PATH_UDP;
        path->numbered = path->kind == PATH_UDP || path->kind == PATH_UNIX_DATAGRAM;
        path->sent = path->arrived = path->received = below(world, 2) == 0 ? 0 : 0xffffff00;
    }
    while (world->count < MOST_RECORDS) {
        uint32_t index = below(world, world->path_count), what = below(world, 40);
        uint32_t times = below(world, 30) == 0 ? below(world, 90) : 1; /* bursts */
        for (; times > 0; times--) {
            if (what < 15)
                send_one(world, index);
            else if (what < 25)
                let_arrive(world, index);
            else if (what < 39)
                receive_one(world, index);
            else if (times == 1)
                lose_some(world, index);
        }
    }
}

/* ---- the naive model ---- */

static bool is_of(const struct naive_world *world, uint32_t at, enum event_id id, uint32_t path)
{
    return world->records[at].header.id == id && world->records[at].message.path == path;
}

static uint64_t when(const struct record *record)
{
    bool has_span = record->header.id <= EVENT_RECEIVE;

    return record->header.time - (has_span ? message_span(record) : 0);
}

static uint32_t end_of(const struct naive_path *path, const struct record *record)
{
    return record->message.offset + step_of(path, record->message.bytes);
}

/* Whether the record's data contains the end of the message that ends at `position`. */
static bool holds(const struct naive_path *path, const struct record *record, uint32_t position)
{
    int32_t more = (int32_t)(end_of(path, record) - position);

    return path->numbered ? more == 0 : more >= 0;
}

#define NEVER UINT32_MAX

/* What happened to a message. */
struct fate {
    uint32_t put; /* index of the record with which it enters the queue ... */
    uint32_t out; /* ... and leaves it: received whole, or given up */
    bool received;
    bool told;       /* its arrival is recorded */
    uint64_t queued; /* ns */
};

static uint32_t next_of(const struct naive_world *world, uint32_t index, enum event_id id,
                        uint32_t position)
{
    for (uint32_t i = 0; i < world->count; i++)
        if (is_of(world, i, id, senders_end(index) + 1) &&
            holds(&world->paths[index], &world->records[i], position))
            return i;
    return NEVER;
}

/* A datagram counts as lost when one 65 or more numbers later is received. */
static uint32_t given_up(const struct naive_world *world, uint32_t index, uint32_t position)
{
    for (uint32_t i = 0; i < world->count && world->paths[index].numbered; i++)
        if (is_of(world, i, EVENT_RECEIVE, senders_end(index) + 1) &&
            (int32_t)(end_of(&world->paths[index], &world->records[i]) - position) > 64)
            return i;
    return NEVER;
}

static struct fate fate_of(const struct naive_world *world, uint32_t index, uint32_t sent)
{
    const struct naive_path *path = &world->paths[index];
    uint32_t position = end_of(path, &world->records[sent]);
    uint32_t arrived = next_of(world, index, EVENT_MESSAGEQUEUED, position);
    uint32_t taken = next_of(world, index, EVENT_RECEIVE, position);
    bool told = arrived != NEVER && (path->travels ? arrived < taken : arrived < sent);
    struct fate fate = {.put = sent, .out = taken, .received = taken != NEVER, .told = told};

    if (taken == NEVER)
        fate.out = given_up(world, index, position);
    if (told && arrived > sent)
        fate.put = arrived;
    else if (!told && path->travels && world->told)
        fate.put = taken; /* its arrival was not recorded */
    fate.queued = when(&world->records[told ? arrived : sent]);
    if (fate.queued < when(&world->records[sent]))
        fate.queued = when(&world->records[sent]);
    return fate;
}

/* Bytes of a message that were not received before record `now`. */
static uint32_t left_at(const struct naive_world *world, uint32_t index, uint32_t sent,
                        uint32_t now)
{
    const struct naive_path *path = &world->paths[index];
    uint32_t bytes = world->records[sent].message.bytes;
    uint32_t position = end_of(path, &world->records[sent]);
    uint32_t least = bytes;

    for (uint32_t i = 0; i < now && !path->numbered; i++)
        if (is_of(world, i, EVENT_RECEIVE, senders_end(index) + 1)) {
            int32_t left = (int32_t)(position - end_of(path, &world->records[i]));
            if (left < (int32_t)least)
                least = left < 0 ? 0 : (uint32_t)left;
        }
    return least;
}

/* Adds the length of the queue before record `now`. `by_time`: a message is in it from the time when it was queued, though
 * the record of a long send comes later. */
static void add_length(const struct naive_world *world, uint32_t index, uint32_t now, bool by_time,
                       struct queue_length *length)
{
    uint32_t sends = by_time ? world->count : now;

    for (uint32_t i = 0; i < sends; i++) {
        if (!is_of(world, i, EVENT_SEND, senders_end(index)))
            continue;
        struct fate fate = fate_of(world, index, i);
        bool is_in = fate.put < now || (by_time && now < world->count &&
                                        fate.queued <= world->records[now].header.time);
        if (is_in && fate.out >= now) {
            length->messages++;
            length->bytes += left_at(world, index, i, now);
        }
    }
}

static void note_most(struct queue_length *sum, const struct queue_length *now)
{
    if (now->messages > sum->messages_max)
        sum->messages_max = now->messages;
    if (now->bytes > sum->bytes_max)
        sum->bytes_max = now->bytes;
}

static void operate(struct queue_length *sum, struct queue_length *now, int messages, int64_t bytes)
{
    now->messages += (uint64_t)(int64_t)messages;
    now->bytes += (uint64_t)bytes;
    note_most(sum, now);
    sum->operations++;
    sum->messages_sum += now->messages;
}

/* Applies record `now` to a queue of that `length` before it. */
static void operate_at(const struct naive_world *world, uint32_t index, uint32_t now,
                       struct queue_length *length, struct queue_length *sum)
{
    /* messages are first given up, then received; both in the order of their positions */
    for (uint32_t i = 0; i <= now; i++)
        if (is_of(world, i, EVENT_SEND, senders_end(index))) {
            struct fate fate = fate_of(world, index, i);
            if (fate.out == now && !fate.received && fate.put < now) {
                length->messages--;
                length->bytes -= left_at(world, index, i, now);
            }
        }
    for (uint32_t i = 0; i <= now; i++) {
        if (!is_of(world, i, EVENT_SEND, senders_end(index)))
            continue;
        struct fate fate = fate_of(world, index, i);
        int64_t left = left_at(world, index, i, now);
        if (fate.put == now)
            operate(sum, length, 1, left);
        if (fate.out == now && fate.received)
            operate(sum, length, -1, -left);
    }
}

static uint64_t latest_of(const struct naive_world *world)
{
    uint64_t latest = 0;

    for (uint32_t i = 0; i < world->count; i++)
        if (when(&world->records[i]) > latest)
            latest = when(&world->records[i]);
    return latest;
}

static uint64_t between(uint64_t begin, uint64_t now)
{
    return now > begin ? now - begin : 0;
}

/* Numbers and sums of times. */
struct naive_times {
    uint64_t count[TIME_KINDS];
    uint64_t sum[TIME_KINDS];
};

static void add_time(struct naive_times *times, enum time_kind kind, uint64_t time)
{
    times->count[kind]++;
    times->sum[kind] += time;
}

/* Receive-queue delays and delivery latencies. Messages still in the queue have waited until the end. */
static void naive_waits(const struct naive_world *world, uint32_t index, struct queue_length *sum,
                        struct naive_times *times)
{
    for (uint32_t i = 0; i < world->count; i++) {
        if (!is_of(world, i, EVENT_SEND, senders_end(index)))
            continue;
        struct fate fate = fate_of(world, index, i);
        sum->unreceived += !fate.received;
        if (fate.received) {
            uint64_t wait = between(fate.queued, when(&world->records[fate.out]));
            add_time(times, TIME_MESSAGE_WAIT, wait);
            sum->wait += wait;
            if (fate.told)
                add_time(times, TIME_DELIVERY, fate.queued - when(&world->records[i]));
        } else if (fate.out == NEVER && fate.put != NEVER) {
            sum->wait += between(fate.queued, latest_of(world));
        }
    }
}

/* The stream's record before this one that is neither a pause nor only about a path; NEVER: there is none. */
static uint32_t before(const struct naive_world *world, uint32_t at)
{
    for (uint32_t i = at; i-- > 0;)
        if (world->records[i].header.stream == world->records[at].header.stream &&
            world->records[i].header.id != EVENT_BLOCK &&
            world->records[i].header.id != EVENT_ACCEPT)
            return i;
    return NEVER;
}

static bool is_on_same_path(const struct naive_world *world, uint32_t a, uint32_t b)
{
    return world->records[a].message.path == world->records[b].message.path;
}

static void naive_blocks(const struct naive_world *world, uint32_t index, struct naive_times *times)
{
    for (uint32_t i = 0; i < world->count; i++) {
        const struct record *record = &world->records[i];
        uint32_t call = NEVER;
        if (is_of(world, i, EVENT_RECEIVE, senders_end(index) + 1)) {
            call = before(world, i);
            if (call != NEVER && world->records[call].header.id == EVENT_RECEIVECALL &&
                (world->records[call].message.path == 0 || is_on_same_path(world, call, i)))
                add_time(times, TIME_RECEIVER_WAIT,
                         between(when(&world->records[call]), when(record)));
        }
        if (!is_of(world, i, EVENT_SEND, senders_end(index)))
            continue;
        for (uint32_t k = i; k-- > 0;) {
            unsigned id = world->records[k].header.id;
            if (world->records[k].header.stream != record->header.stream)
                continue;
            if (id == EVENT_SEND || (id == EVENT_SENDCALL && !is_on_same_path(world, k, i)))
                break;
            call = id == EVENT_SENDCALL ? k : call;
        }
        if (call != NEVER)
            add_time(times, TIME_SENDER_BLOCKED,
                     between(when(&world->records[call]), record->header.time));
    }
}

/* `most`: by time, an upper bound. */
static void naive_path(const struct naive_world *world, uint32_t index, struct queue_length *sum,
                       struct queue_length *most, struct naive_times *times)
{
    for (uint32_t now = 0; now < world->count; now++) {
        struct queue_length length = {0}, by_time = {0};
        add_length(world, index, now, false, &length);
        operate_at(world, index, now, &length, sum);
        add_length(world, index, now, true, &by_time);
        note_most(most, &by_time);
    }
    note_most(most, sum);
    add_length(world, index, world->count, false, sum);
    naive_waits(world, index, sum, times);
    naive_blocks(world, index, times);
}

/* The queues of a process: of paths from which it has received, from its first receive on; `always`: from the start, and
 * by time, for upper bounds. */
static void naive_process(const struct naive_world *world, uint32_t stream, bool always,
                          struct queue_length *sum)
{
    uint32_t first[MOST_PATHS];

    for (uint32_t p = 0; p < world->path_count; p++) {
        first[p] = NEVER;
        for (uint32_t i = world->count; i-- > 0;)
            if (world->paths[p].receiver == stream &&
                is_of(world, i, EVENT_RECEIVE, senders_end(p) + 1))
                first[p] = always ? 0 : i;
    }
    for (uint32_t now = 0; now < world->count; now++) {
        struct queue_length length = {0};
        for (uint32_t p = 0; p < world->path_count; p++)
            if (first[p] <= now)
                add_length(world, p, now, always, &length);
        note_most(sum, &length);
        for (uint32_t p = 0; p < world->path_count; p++)
            if (first[p] <= now)
                operate_at(world, p, now, &length, sum);
    }
    for (uint32_t p = 0; p < world->path_count; p++)
        if (first[p] != NEVER)
            add_length(world, p, world->count, false, sum);
}

/* ---- the comparison ---- */

static void expect_same(const struct naive_world *world, const char *what, uint64_t found,
                        uint64_t expected, uint64_t round_seed)
{
    if (found != expected)
        fail_msg("DPM_SEED=%" PRIu64 ", %s, %s: found %" PRIu64 ", expected %" PRIu64, round_seed,
                 world->told ? "told" : "not told", what, found, expected);
}

static void expect_between(const struct naive_world *world, const char *what, uint64_t found,
                           uint64_t least, uint64_t most, uint64_t round_seed)
{
    if (found < least || found > most)
        fail_msg("DPM_SEED=%" PRIu64 ", %s, %s: found %" PRIu64 ", not from %" PRIu64
                 " to %" PRIu64,
                 round_seed, world->told ? "told" : "not told", what, found, least, most);
}

/* `most`: upper bounds of the maximum lengths. */
static void compare_lengths(const struct naive_world *world, const struct queue_length *found,
                            const struct queue_length *expected, const struct queue_length *most,
                            uint64_t round_seed)
{
    expect_same(world, "messages now", found->messages, expected->messages, round_seed);
    expect_same(world, "bytes now", found->bytes, expected->bytes, round_seed);
    expect_between(world, "messages at most", found->messages_max, expected->messages_max,
                   most->messages_max, round_seed);
    expect_between(world, "bytes at most", found->bytes_max, expected->bytes_max, most->bytes_max,
                   round_seed);
    expect_same(world, "operations", found->operations, expected->operations, round_seed);
    expect_same(world, "sum at operations", found->messages_sum, expected->messages_sum,
                round_seed);
}

static void compare_path(const struct naive_world *world, uint32_t index,
                         const struct communication *result, uint64_t round_seed)
{
    const struct communication_path *row = NULL;
    struct queue_length length = {0}, most = {0};
    struct naive_times times = {0};

    for (size_t i = 0; i < result->path_count; i++)
        if (result->paths[i].number == senders_end(index))
            row = &result->paths[i];
    assert_non_null(row);
    naive_path(world, index, &length, &most, &times);
    expect_same(world, "unreceived", row->queue.unreceived, length.unreceived, round_seed);
    if (world->paths[index].loses) {
        expect_between(world, "messages now", row->queue.messages, 0,
                       length.messages + length.unreceived, round_seed);
    } else {
        compare_lengths(world, &row->queue, &length, &most, round_seed);
        expect_same(world, "wait", row->queue.wait, length.wait, round_seed);
    }
    for (enum time_kind kind = TIME_MESSAGE_WAIT; kind < TIME_KINDS; kind++) {
        expect_same(world, "count of times", count_of(row, kind), times.count[kind], round_seed);
        expect_same(world, "sum of times", histogram_sum(&row->times.of[kind]), times.sum[kind],
                    round_seed);
    }
}

/* Whether any path from which the process has received has lost messages. */
static bool loses(const struct naive_world *world, uint32_t stream)
{
    for (uint32_t i = 0; i < world->path_count; i++)
        if (world->paths[i].loses && world->paths[i].receiver == stream)
            return true;
    return false;
}

static void queues_agree_with_naive(void **state)
{
    struct naive_world *naive = malloc(sizeof(*naive));
    uint64_t first = seed_of_run("queues");
    struct world world;

    (void)state;
    assert_non_null(naive);
    for (uint64_t round = 0; round < rounds_of_run(15); round++) {
        memset(naive, 0, sizeof(*naive));
        naive->seed = first + round;
        random_history(naive);
        begin(&world, naive->told ? ALL_FLAGS : NO_QUEUED, PROCESSES);
        for (uint32_t i = 0; i < naive->path_count; i++)
            tell_ends(&world, senders_end(i), naive->paths[i].kind);
        for (uint32_t i = 0; i < naive->count; i++)
            tell(&world, 0, naive->records[i].header.time, &naive->records[i]);
        struct communication *result = result_of(&world);
        for (uint32_t i = 0; i < naive->path_count; i++)
            compare_path(naive, i, result, first + round);
        for (uint32_t i = 0; i < result->process_count; i++) {
            struct queue_length length = {0}, most = {0};
            if (loses(naive, result->processes[i].stream))
                continue;
            naive_process(naive, result->processes[i].stream, false, &length);
            naive_process(naive, result->processes[i].stream, true, &most);
            compare_lengths(naive, &result->processes[i].queue, &length, &most, first + round);
        }
        end(&world, result);
    }
    free(naive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_recovers_from_losses),
        cmocka_unit_test(queue_follows_numbers_that_jump),
        cmocka_unit_test(what_is_never_received_waits),
        cmocka_unit_test(strangers_have_no_queue),
        cmocka_unit_test(receives_that_are_not_told_leave_no_queue),
        cmocka_unit_test(what_is_left_waits_until_the_end_is_closed),
        cmocka_unit_test(what_is_left_waits_until_its_receiver_ends),
        cmocka_unit_test(what_came_before_the_first_receive_counts),
        cmocka_unit_test(duplicates_are_counted),
        cmocka_unit_test(delivery_is_told_by_the_receiver),
        cmocka_unit_test(message_of_many_pieces),
        cmocka_unit_test(receiver_is_recorded_later),
        cmocka_unit_test(delivery_of_unix_sockets),
        cmocka_unit_test(quantiles_beside_outliers),
        cmocka_unit_test(waits_that_end_in_vain),
        cmocka_unit_test(waits_for_something_else),
        cmocka_unit_test(an_identity_comes_early),
        cmocka_unit_test(a_long_send_is_told_late),
        cmocka_unit_test(times_before_the_first_boot),
        cmocka_unit_test(queues_agree_with_naive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
