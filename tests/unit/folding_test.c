/* SPDX-License-Identifier: MIT */
/*
 * folding_test.c: the statistics forget nothing that counts when they take out what has ended.
 *
 *      one life of processes and connections, from a seed
 *        |-- statistics that never fold ------------+
 *        '-- statistics that fold all the time -----+--> the same rows, or the same sums
 */
#include "analysis/statistics/statistics_private.h"

#include "communication_lines.h"
#include "seeded.h"

#include <sys/socket.h>

static uint64_t seed;

static uint32_t pick(uint32_t limit)
{
    return (uint32_t)random_below(&seed, limit);
}

#define MOST_PROCESSES 10
#define MOST_PATHS     30

/* A connection: its ends have the numbers `path` and path + 1; an end without stream is not metered. */
struct connection {
    uint32_t path;
    uint32_t streams[2];
    bool open[2];
    struct traffic sent[2]; /* by each end */
    struct traffic received[2];
};

struct life {
    struct statistics *statistics;
    uint64_t time;
    uint32_t last_stream;
    uint32_t last_path;
    uint32_t streams[MOST_PROCESSES];
    uint32_t process_count;
    struct connection connections[MOST_PATHS];
    uint32_t connection_count;
    uint64_t opened;
    bool port_was_used[64]; /* of a client, from 40000 on */
    uint64_t reused;
    uint64_t bytes;
    uint64_t messages;
};

static void tell(struct life *life, void *record)
{
    struct record_header *header = record;
    const struct event event = {header, 0, 0};

    header->time = life->time += 1 + pick(1000000);
    assert_int_equal(statistics_add(life->statistics, &event), 0);
}

static void tell_event(struct life *life, enum event_id id, uint32_t stream, uint32_t path,
                       uint32_t bytes)
{
    struct record record = {
        .header = {.id = (uint8_t)id,
                   .stream = stream,
                   .proc_time_and_pc = (life->time & 0xffffffffffffULL) | (uint64_t)pick(9) << 48,
                   .flags = stream == 0 ? RECORD_NO_STREAM : 0},
        .message = {.path = path, .bytes = bytes},
    };

    tell(life, &record);
}

static void create_process(struct life *life)
{
    struct stream_record stream = {.header = {.id = EVENT_STREAM}};

    if (life->process_count == MOST_PROCESSES)
        return;
    stream.header.stream = stream.process = ++life->last_stream;
    stream.pid = stream.tid = 100 + life->last_stream;
    stream.parent = life->process_count == 0 ? 0 : life->streams[pick(life->process_count)];
    snprintf(stream.name, sizeof(stream.name), "p%u", life->last_stream % 5);
    life->streams[life->process_count++] = life->last_stream;
    tell(life, &stream);
}

static void tell_path(struct life *life, const struct connection *connection, unsigned end)
{
    struct path_record path = {
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = connection->path + end,
        .kind = PATH_TCP,
        .family = AF_INET,
        .role = end == 0 ? PATH_ROLE_CONNECTED : PATH_ROLE_ACCEPTED,
        .local_port = (uint16_t)(end == 0 ? 40000 + connection->path % 64 : 80),
        .remote_port = (uint16_t)(end == 0 ? 80 : 40000 + connection->path % 64),
        .local = {127, 0, 0, 1},
        .remote = {127, 0, 0, 1},
        .start_out = connection->path * 1000 + end,
        .start_in = connection->path * 1000 + 1 - end,
    };

    tell(life, &path);
}

static void open_connection(struct life *life)
{
    if (life->connection_count == MOST_PATHS || life->process_count == 0)
        return;
    struct connection *connection = &life->connections[life->connection_count++];
    *connection = (struct connection){.path = life->last_path + 1};
    life->last_path += 2;
    life->opened++;
    life->reused += life->port_was_used[connection->path % 64];
    life->port_was_used[connection->path % 64] = true;
    for (unsigned end = 0; end < 2; end++) {
        if (end == 1 && pick(4) == 0)
            continue; /* not metered */
        connection->streams[end] = life->streams[pick(life->process_count)];
        connection->open[end] = true;
        tell_path(life, connection, end);
    }
}

static void use_connection(struct life *life)
{
    if (life->connection_count == 0)
        return;
    struct connection *connection = &life->connections[pick(life->connection_count)];
    unsigned end = pick(2);
    if (!connection->open[end])
        return;
    uint32_t bytes = 1 + pick(1u << pick(20));
    bool send = pick(2);
    tell_event(life, send ? EVENT_SEND : EVENT_RECEIVE, connection->streams[end],
               connection->path + end, bytes);
    struct traffic *traffic = send ? &connection->sent[end] : &connection->received[end];
    traffic->messages++;
    traffic->bytes += bytes;
}

/* What an end sends is counted there, or, if it was never seen in use, where it is received. */
static void sum_up(struct life *life, const struct connection *connection)
{
    for (unsigned end = 0; end < 2; end++) {
        bool used = connection->sent[end].messages + connection->received[end].messages > 0;
        const struct traffic *traffic =
            used ? &connection->sent[end] : &connection->received[1 - end];
        life->messages += traffic->messages;
        life->bytes += traffic->bytes;
    }
}

static void close_end(struct life *life, uint32_t index, unsigned end)
{
    struct connection *connection = &life->connections[index];

    if (connection->open[end])
        tell_event(life, EVENT_DESTROYPATH, 0, connection->path + end, 0);
    connection->open[end] = false;
    if (connection->open[1 - end])
        return;
    sum_up(life, connection);
    *connection = life->connections[--life->connection_count];
}

/* Its ends are closed as it ends. */
static void end_process(struct life *life)
{
    if (life->process_count < 2)
        return;
    uint32_t index = pick(life->process_count);
    uint32_t stream = life->streams[index];
    life->streams[index] = life->streams[--life->process_count];
    for (uint32_t i = life->connection_count; i-- > 0;)
        for (unsigned end = 0; end < 2; end++)
            if (i < life->connection_count && life->connections[i].open[end] &&
                life->connections[i].streams[end] == stream)
                close_end(life, i, end);
    struct record record = {.header = {.id = EVENT_TERMINATION, .stream = stream},
                            .termination = {.last = 1, .failed_sends = pick(3)}};
    record.header.proc_time_and_pc = life->time & 0xffffffffffffULL;
    tell(life, &record);
}

static struct communication *live(struct life *life, uint64_t first_seed, unsigned steps,
                                  struct statistics_limits limits)
{
    struct communication *result;
    struct source_state state = {.complete = true, .end_reason = END_COMPLETE};

    memset(life, 0, sizeof(*life));
    seed = first_seed;
    assert_int_equal(statistics_new(&life->statistics), 0);
    life->statistics->limits = limits;
    for (unsigned i = 0; i < steps; i++) {
        switch (pick(12)) {
        case 0:
            create_process(life);
            break;
        case 1:
            if (pick(3) == 0)
                end_process(life);
            break;
        case 2:
            open_connection(life);
            break;
        case 3:
            if (life->connection_count > 0)
                close_end(life, pick(life->connection_count), pick(2));
            break;
        default:
            use_connection(life);
        }
    }
    for (uint32_t i = 0; i < life->connection_count; i++)
        sum_up(life, &life->connections[i]);
    assert_int_equal(statistics_finish(life->statistics, &state, 1, &result), 0);
    return result;
}

#define NO_LIMIT UINT32_MAX

static const struct statistics_limits never = {NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT};

static void add_queue_line(struct lines *lines, const char *whose, const struct queue_length *queue,
                           const struct times *times)
{
    line(lines,
         "queue of a %s: %" PRIu32 " %" PRIu64 ", most %" PRIu32 " %" PRIu64 ", operations %" PRIu64
         " %" PRIu64 ", wait %" PRIu64 " %" PRIu64 ", unreceived %" PRIu64,
         whose, queue->messages, queue->bytes, queue->messages_max, queue->bytes_max,
         queue->operations, queue->messages_sum, queue->wait,
         histogram_sum(&times->of[TIME_MESSAGE_WAIT]), queue->unreceived);
}

static void add_size_line(struct lines *lines, const char *whose, const struct histogram *sizes)
{
    line(lines, "sizes of a %s: %" PRIu64 " to %" PRIu64 ", %" PRIu64 " with %" PRIu64 " bytes",
         whose, histogram_min(sizes), histogram_max(sizes), histogram_count(sizes),
         histogram_sum(sizes));
}

static void add_details(const struct communication *result, struct lines *lines)
{
    for (size_t i = 0; i < result->pair_count; i++)
        add_size_line(lines, "pair", &result->pairs[i].sizes);
    for (size_t i = 0; i < result->path_count; i++)
        add_size_line(lines, "path", &result->paths[i].sizes);
    for (size_t i = 0; i < result->process_count; i++)
        add_size_line(lines, "process", &result->processes[i].sizes);
    for (size_t i = 0; i < result->path_count; i++)
        line(lines, "answers %" PRIu64 " %" PRIu64 " ended %" PRIu64 "/%" PRIu64,
             histogram_sum(&result->paths[i].times.of[TIME_RESPONSE]),
             histogram_sum(&result->paths[i].times.of[TIME_REQUEST]), result->paths[i].ended,
             result->paths[i].connections);
    for (size_t i = 0; i < result->process_count; i++)
        line(lines, "failed %" PRIu64 " ended %d, %" PRIu64, result->processes[i].failed_sends,
             result->processes[i].ended,
             histogram_quantile(&result->processes[i].times.of[TIME_RESPONSE], 0.5));
    for (size_t i = 0; i < result->path_count; i++)
        add_queue_line(lines, "path", &result->paths[i].queue, &result->paths[i].times);
    for (size_t i = 0; i < result->process_count; i++)
        add_queue_line(lines, "process", &result->processes[i].queue, &result->processes[i].times);
    for (size_t i = 0; i < result->procedure_count; i++)
        line(lines, "procedure %s " TRAFFIC " " TRAFFIC, result->procedures[i].name,
             TRAFFIC_OF(result->procedures[i].sent), TRAFFIC_OF(result->procedures[i].received));
    qsort(lines->text, lines->count, LINE_SIZE, compare_lines);
}

/* All that a result says. */
static void all_lines(const struct communication *result, struct lines *lines)
{
    result_lines(result, lines);
    add_details(result, lines);
}

static bool both_metered(const struct communication_pair *pair)
{
    return pair->from.count > 0 && pair->to.count > 0;
}

/* Of processes, and of pairs of which both are metered: others are called by addresses, and those that share a row
 * leave out ports. */
static void parties_lines(const struct communication *result, struct lines *lines)
{
    char from[300], to[300];

    lines->count = 0;
    for (uint32_t i = 0; i < result->process_count; i++) {
        const struct communication_process *process = &result->processes[i];
        line(lines, "process %u: %s parent %u cpu %" PRIu64 " " TRAFFIC " " TRAFFIC, i,
             process->name, process->parent, process->cpu, TRAFFIC_OF(process->sent),
             TRAFFIC_OF(process->received));
        snprintf(from, sizeof(from), "process %u", i);
        add_size_line(lines, from, &process->sizes);
        add_queue_line(lines, from, &process->queue, &process->times);
    }
    for (size_t i = 0; i < result->pair_count; i++) {
        const struct communication_pair *pair = &result->pairs[i];
        if (!both_metered(pair))
            continue;
        party_text(&pair->from, from);
        party_text(&pair->to, to);
        line(lines, "pair %s > %s " TRAFFIC " %d, waits %" PRIu64 "/%" PRIu64, from, to,
             TRAFFIC_OF(pair->sent), pair->shared,
             histogram_count(&pair->times.of[TIME_MESSAGE_WAIT]),
             histogram_sum(&pair->times.of[TIME_MESSAGE_WAIT]));
        add_size_line(lines, from, &pair->sizes);
    }
    qsort(lines->text, lines->count, LINE_SIZE, compare_lines);
}

#define ROUNDS 60

/* One life after the other, with limits that hang on the number of its round, and without: the same lines. */
static void limits_are_not_seen(const char *name,
                                struct statistics_limits limits_of(unsigned round),
                                void to_lines(const struct communication *, struct lines *),
                                void check(const struct communication *limited,
                                           const struct communication *free_of_limits))
{
    struct lines *expected = malloc(sizeof(*expected));
    struct lines *found = malloc(sizeof(*found));
    struct life *lives = malloc(2 * sizeof(*lives));
    uint64_t first = seed_of_run(name);

    assert_true(expected != NULL && found != NULL && lives != NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct communication *whole = live(&lives[0], first + round, 1500, never);
        struct communication *limited = live(&lives[1], first + round, 1500, limits_of(round));
        check(limited, whole);
        to_lines(whole, expected);
        to_lines(limited, found);
        for (size_t i = 0; i < found->count && i < expected->count; i++)
            if (strcmp(found->text[i], expected->text[i]) != 0)
                fail_msg("DPM_SEED=%" PRIu64 ": found '%s', expected '%s'", first + round,
                         found->text[i], expected->text[i]);
        assert_int_equal(found->count, expected->count);
        communication_free(whole);
        communication_free(limited);
        statistics_free(lives[0].statistics);
        statistics_free(lives[1].statistics);
    }
    free(expected);
    free(found);
    free(lives);
}

static struct statistics_limits rows_for_all(unsigned round)
{
    struct statistics_limits limits = never;

    limits.ended = round % 7;
    return limits;
}

static void check_rows(const struct communication *limited, const struct communication *whole)
{
    assert_int_equal(limited->path_count, whole->path_count);
}

/* As long as there are rows for all, nobody sees that it was folded. */
static void folding_is_not_seen(void **state)
{
    (void)state;
    limits_are_not_seen("folding", rows_for_all, all_lines, check_rows);
}

static struct statistics_limits few_rows(unsigned round)
{
    struct statistics_limits limits = never;

    limits.ended = round % 7;
    limits.largest = round % 3;
    return limits;
}

static unsigned rounds_shared;

static void check_shared(const struct communication *limited, const struct communication *whole)
{
    assert_int_equal(limited->connections, whole->connections);
    assert_in_range(limited->path_count, 1, whole->connections);
    rounds_shared += limited->path_count < whole->connections;
}

/* Connections that share rows are counted for their processes and pairs as if they had their own. */
static void sharing_is_not_seen(void **state)
{
    (void)state;
    limits_are_not_seen("sharing", few_rows, parties_lines, check_shared);
    assert_true(rounds_shared > 0);
}

static bool same_party(const struct party *a, const struct party *b)
{
    return a->count == b->count && a->processes == b->processes &&
           (a->count > 0 || strcmp(a->address, b->address) == 0);
}

/* Connections that share a row share it with all their like. */
static void check_no_two_alike(const struct communication *result)
{
    for (size_t i = 0; i < result->path_count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct communication_path *a = &result->paths[i];
            const struct communication_path *b = &result->paths[k];
            assert_false(a->connections > 1 && b->connections > 1 && a->kind == b->kind &&
                         strcmp(a->local, b->local) == 0 && strcmp(a->remote, b->remote) == 0 &&
                         same_party(&a->ends[0], &b->ends[0]) &&
                         same_party(&a->ends[1], &b->ends[1]));
        }
}

/* Each message has a size, and what was sent is the sum of them. */
static void check_sizes(const struct histogram *sizes, uint64_t messages, uint64_t bytes)
{
    assert_int_equal(histogram_count(sizes), messages);
    assert_int_equal(histogram_sum(sizes), bytes);
}

/* With few rows the sums stay right, and neither rows nor tables grow with the length. */
static void memory_is_bounded(void **state)
{
    struct life *life = malloc(sizeof(*life));
    uint64_t first = seed_of_run("bounded");

    (void)state;
    assert_non_null(life);
    for (uint64_t round = 0; round < 6; round++) {
        const struct statistics_limits few = {20, 16, 16, 4, 16};
        struct communication *result = live(life, first + round, 60000, few);
        uint64_t sums[5] = {0};
        for (size_t i = 0; i < result->pair_count; i++) {
            sums[0] += result->pairs[i].sent.messages;
            check_sizes(&result->pairs[i].sizes, result->pairs[i].sent.messages,
                        result->pairs[i].sent.bytes);
        }
        for (size_t i = 0; i < result->process_count; i++)
            check_sizes(&result->processes[i].sizes, result->processes[i].sent.messages,
                        result->processes[i].sent.bytes);
        for (size_t i = 0; i < result->path_count; i++) {
            const struct communication_path *path = &result->paths[i];
            check_sizes(&path->sizes, path->sent.messages + path->received.messages,
                        path->sent.bytes + path->received.bytes);
            sums[1] += result->paths[i].sent.messages + result->paths[i].received.messages;
            sums[2] += result->paths[i].sent.bytes + result->paths[i].received.bytes;
            sums[3] += result->paths[i].connections;
            sums[4] += result->paths[i].reused;
        }
        assert_int_equal(sums[0], life->messages);
        assert_int_equal(sums[1], life->messages);
        assert_int_equal(sums[2], life->bytes);
        assert_int_equal(sums[3], life->opened);
        assert_int_equal(sums[4], life->reused);
        assert_int_equal(result->reused, life->reused);
        assert_true(life->reused > 0 && life->reused < life->opened);
        check_no_two_alike(result);
        /* the limits, and beside them what lives, what has ended since the last folding, and of connections what waits
         * for a second to be told of its other end */
        assert_in_range(result->path_count, 1, 16 + MOST_PATHS + 20 + 40 + 60);
        assert_in_range(result->process_count, 1, 16 + MOST_PROCESSES + 20 + 40);
        assert_in_range(life->statistics->path_numbers.numbers.count, 1,
                        2 * MOST_PATHS + 4 * 21 + 60);
        assert_in_range(life->statistics->process_numbers.numbers.count, 1,
                        MOST_PROCESSES + 4 * 21);
        assert_in_range(life->statistics->rows->piece_keys.count, 1, 1000);
        communication_free(result);
        statistics_free(life->statistics);
    }
    free(life);
}

/* There are more processes than rows, and not one path. */
static void processes_without_paths(void **state)
{
    struct source_state end = {.complete = true, .end_reason = END_COMPLETE};
    struct life *life = calloc(1, sizeof(*life));
    struct communication *result;
    uint64_t processes = 0;

    (void)state;
    assert_non_null(life);
    seed = seed_of_run("processes");
    assert_int_equal(statistics_new(&life->statistics), 0);
    life->statistics->limits = (struct statistics_limits){20, 16, 16, 4, 16};
    for (unsigned i = 0; i < 300; i++) {
        create_process(life);
        end_process(life);
    }
    assert_int_equal(statistics_finish(life->statistics, &end, 1, &result), 0);
    for (size_t i = 0; i < result->process_count; i++)
        processes += result->processes[i].group_size;
    assert_int_equal(processes, life->last_stream);
    assert_in_range(result->process_count, 1, 100);
    communication_free(result);
    statistics_free(life->statistics);
    free(life);
}

/* That a path is closed is told within a second after its users have ended, when many others have ended, too. */
static void closings_told_late(void **state)
{
    struct source_state end = {.complete = true, .end_reason = END_COMPLETE};
    struct life *life = calloc(1, sizeof(*life));
    const uint32_t count = 2000, later = 100;
    struct communication *result;

    (void)state;
    assert_non_null(life);
    seed = seed_of_run("closings");
    assert_int_equal(statistics_new(&life->statistics), 0);
    life->statistics->limits = (struct statistics_limits){20, 16, 16, 4, 16};
    for (uint32_t i = 0; i < count + later; i++) {
        const struct connection connection = {.path = 1 + 2 * i};
        if (i < count) {
            create_process(life);
            tell_path(life, &connection, 0);
            tell_path(life, &connection, 1);
            tell_event(life, EVENT_SEND, life->last_stream, connection.path, 10);
            tell_event(life, EVENT_RECEIVE, life->last_stream, connection.path + 1, 10);
            end_process(life);
        }
        for (uint32_t side = 0; i >= later && side < 2; side++)
            tell_event(life, EVENT_DESTROYPATH, 0, connection.path - 2 * later + side, 0);
    }
    assert_int_equal(statistics_finish(life->statistics, &end, 1, &result), 0);
    assert_int_equal(result->connections, count);
    assert_int_equal(result->ended, count);
    communication_free(result);
    statistics_free(life->statistics);
    free(life);
}

static void tell_pipe(struct life *life, uint32_t path, uint64_t own, uint64_t other)
{
    struct path_record record = {
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = path,
        .kind = PATH_PIPE,
        .cookie = own,
        .peer = other,
        .inode = path,
    };

    tell(life, &record);
}

/* The numbers of pipes say nothing: those between the same processes share a row, and so it has none. */
static void pipes_share_a_row(void **state)
{
    struct source_state end = {.complete = true, .end_reason = END_COMPLETE};
    struct life *life = calloc(1, sizeof(*life));
    const uint32_t count = 300;
    struct communication *result;
    uint64_t shared = 0;

    (void)state;
    assert_non_null(life);
    seed = seed_of_run("pipes");
    assert_int_equal(statistics_new(&life->statistics), 0);
    life->statistics->limits = (struct statistics_limits){20, 16, 16, 4, 16};
    create_process(life);
    for (uint32_t path = 1; path < 1 + 2 * count; path += 2) {
        tell_pipe(life, path, path, path + 1);
        tell_pipe(life, path + 1, path + 1, path);
        tell_event(life, EVENT_SEND, life->last_stream, path, 10);
        tell_event(life, EVENT_RECEIVE, life->last_stream, path + 1, 10);
        tell_event(life, EVENT_DESTROYPATH, 0, path, 0);
        tell_event(life, EVENT_DESTROYPATH, 0, path + 1, 0);
    }
    assert_int_equal(statistics_finish(life->statistics, &end, 1, &result), 0);
    assert_int_equal(result->connections, count);
    for (size_t i = 0; i < result->path_count; i++)
        if (result->paths[i].connections > 1) {
            assert_string_equal(result->paths[i].local, "pipe:*");
            assert_string_equal(result->paths[i].remote, "pipe:*");
            shared += result->paths[i].connections;
        }
    assert_true(shared > count / 2 && result->path_count < count / 2);
    communication_free(result);
    statistics_free(life->statistics);
    free(life);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_is_not_seen), cmocka_unit_test(sharing_is_not_seen),
        cmocka_unit_test(memory_is_bounded),   cmocka_unit_test(processes_without_paths),
        cmocka_unit_test(closings_told_late),  cmocka_unit_test(pipes_share_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
