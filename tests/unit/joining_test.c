/* SPDX-License-Identifier: MIT */
/*
 * joining_test.c: which ends belong together. statistics_test.c compares the joining of TCP and UNIX sockets with a
 * naive algorithm; this test has examples that the naive algorithm does not cover.
 */
#include "ends/joining.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define ENDS 8

struct ends {
    struct joiner joiner;
    struct path_record records[ENDS];
};

static void add(struct ends *ends, uint32_t index, uint32_t machine, struct path_record record)
{
    ends->records[index] = record;
    assert_int_equal(joiner_add(&ends->joiner, index, &ends->records[index], machine, machine), 0);
}

static void assert_joined(const struct ends *ends, uint32_t a, uint32_t b)
{
    assert_int_equal(joiner_end(&ends->joiner, a).partner, b);
    assert_int_equal(joiner_end(&ends->joiner, b).partner, a);
}

static void assert_alone(const struct ends *ends, uint32_t index)
{
    assert_int_equal(joiner_end(&ends->joiner, index).partner, NO_END);
}

static struct path_record internet(uint8_t kind, uint8_t local, uint16_t local_port, uint8_t remote,
                                   uint16_t remote_port, uint32_t out, uint32_t in)
{
    return (struct path_record){.kind = kind,
                                .family = AF_INET,
                                .local = {10, 0, 0, local},
                                .remote = {10, 0, 0, remote},
                                .local_port = local_port,
                                .remote_port = remote_port,
                                .start_out = out,
                                .start_in = in};
}

static struct path_record pipe_end(uint8_t kind, uint64_t cookie, uint64_t peer)
{
    return (struct path_record){.kind = kind, .cookie = cookie, .peer = peer};
}

/* The server's machine sees the router's address, and so does the client's. */
static void translated_addresses(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, internet(PATH_TCP, 1, 4000, 9, 80, 1111, 2222));
    add(&ends, 1, 1, internet(PATH_TCP, 2, 8080, 8, 51000, 2222, 1112));
    add(&ends, 2, 1, internet(PATH_TCP, 2, 8080, 8, 51001, 2222, 1111));
    assert_joined(&ends, 0, 2);
    assert_alone(&ends, 1);
    joiner_done(&ends.joiner);
}

/* Older ends have no known positions, UDP has none, and 0 means none. */
static void only_positions_that_are_known(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, internet(PATH_TCP, 1, 4000, 9, 80, 1111, 2222));
    struct path_record older = internet(PATH_TCP, 2, 8080, 8, 51001, 2222, 1111);
    older.header.flags = RECORD_OLDER;
    add(&ends, 1, 1, older);
    add(&ends, 2, 0, internet(PATH_UDP, 1, 4000, 9, 80, 1111, 2222));
    add(&ends, 3, 1, internet(PATH_UDP, 2, 8080, 8, 51001, 2222, 1111));
    add(&ends, 4, 0, internet(PATH_TCP, 1, 4001, 9, 80, 0, 2222));
    add(&ends, 5, 1, internet(PATH_TCP, 2, 8080, 8, 51001, 2222, 0));
    for (uint32_t i = 0; i < 6; i++)
        assert_alone(&ends, i);
    joiner_done(&ends.joiner);
}

/* Matching addresses are better than positions alone. */
static void own_addresses_first(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, internet(PATH_TCP, 1, 4000, 2, 80, 5, 6));
    add(&ends, 1, 0, internet(PATH_TCP, 3, 4000, 7, 80, 5, 6));
    add(&ends, 2, 1, internet(PATH_TCP, 2, 80, 1, 4000, 6, 5));
    assert_joined(&ends, 0, 2);
    assert_alone(&ends, 1);
    joiner_done(&ends.joiner);
}

/* Two recordings on one machine: each numbers its pipes and message queues separately, but not its sockets. */
static void pipes_of_another_recording(void **state)
{
    const uint8_t kinds[] = {PATH_PIPE, PATH_FIFO, PATH_MQ_SYSV, PATH_MQ_POSIX, PATH_UNIX_STREAM};

    (void)state;
    for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct ends ends = {0};
        const struct path_record one = pipe_end(kinds[i], 1, 2), other = pipe_end(kinds[i], 2, 1);
        ends.records[0] = one;
        ends.records[1] = other;
        assert_int_equal(joiner_add(&ends.joiner, 0, &ends.records[0], 0, 0), 0);
        assert_int_equal(joiner_add(&ends.joiner, 1, &ends.records[1], 0, 1), 0);
        if (kinds[i] == PATH_UNIX_STREAM)
            assert_joined(&ends, 0, 1);
        else
            assert_alone(&ends, 0);
        joiner_done(&ends.joiner);
    }
}

static void pipes(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, pipe_end(PATH_PIPE, 1, 2));
    add(&ends, 1, 1, pipe_end(PATH_PIPE, 2, 1)); /* of another machine */
    add(&ends, 2, 0, pipe_end(PATH_FIFO, 2, 1)); /* no pipe */
    add(&ends, 3, 0, pipe_end(PATH_PIPE, 2, 1));
    add(&ends, 4, 0, pipe_end(PATH_FIFO, 5, 6));
    add(&ends, 5, 0, pipe_end(PATH_FIFO, 6, 0)); /* its writer is unknown */
    assert_joined(&ends, 0, 3);
    assert_joined(&ends, 4, 5);
    assert_alone(&ends, 1);
    assert_alone(&ends, 2);
    joiner_done(&ends.joiner);
}

static void datagrams(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, internet(PATH_UDP, 1, 53, 2, 0, 0, 0)); /* waits for any peer */
    add(&ends, 1, 0, internet(PATH_UDP, 1, 53, 2, 4000, 0, 0));
    add(&ends, 2, 1, internet(PATH_UDP, 2, 4000, 1, 53, 0, 0));
    assert_alone(&ends, 0);
    assert_joined(&ends, 1, 2);
    joiner_done(&ends.joiner);
}

/* Containers of two machines have the same addresses: the ends of one machine belong together, whichever was met last. */
static void addresses_of_each_machine(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, internet(PATH_UDP, 2, 4000, 3, 53, 0, 0));
    add(&ends, 1, 1, internet(PATH_UDP, 2, 4000, 3, 53, 0, 0));
    add(&ends, 2, 0, internet(PATH_UDP, 3, 53, 2, 4000, 0, 0));
    add(&ends, 3, 1, internet(PATH_UDP, 3, 53, 2, 4000, 0, 0));
    assert_joined(&ends, 0, 2);
    assert_joined(&ends, 1, 3);
    joiner_done(&ends.joiner);
}

static struct path_record client(void)
{
    return internet(PATH_UDP, 1, 4000, 1, 53, 0, 0);
}

static struct path_record server(void)
{
    return internet(PATH_UDP, 1, 53, 1, 4000, 0, 0);
}

/* Its partner waits for another one once, however often it is closed. */
static void closed_again(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, client());
    add(&ends, 1, 0, server());
    joiner_destroyed(&ends.joiner, 0);
    size_t count = ends.joiner.waiting_count;
    for (unsigned i = 0; i < 1000; i++)
        joiner_destroyed(&ends.joiner, 0);
    assert_int_equal(ends.joiner.waiting_count, count);
    add(&ends, 2, 0, client());
    assert_joined(&ends, 1, 2);
    joiner_done(&ends.joiner);
}

/* A closed end that another one has succeeded is nobody's partner, although it was never forgotten. */
static void former_is_not_joined_again(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, client());
    add(&ends, 1, 0, server());
    joiner_destroyed(&ends.joiner, 0);
    add(&ends, 2, 0, client());
    joiner_destroyed(&ends.joiner, 2);
    joiner_destroyed(&ends.joiner, 1);
    add(&ends, 3, 0, server());
    assert_joined(&ends, 1, 2);
    assert_alone(&ends, 3);
    add(&ends, 4, 0, client());
    assert_joined(&ends, 3, 4);
    joiner_done(&ends.joiner);
}

/* A socket that is first seen when it blocks has no cookie yet, but knows its peer. */
static void one_knows_the_other(void **state)
{
    struct ends ends = {0};

    (void)state;
    add(&ends, 0, 0, pipe_end(PATH_UNIX_STREAM, 0, 0));
    add(&ends, 1, 0, pipe_end(PATH_UNIX_STREAM, 0, 7));
    add(&ends, 2, 1, pipe_end(PATH_UNIX_STREAM, 7, 8));
    assert_alone(&ends, 1);
    add(&ends, 0, 0, pipe_end(PATH_UNIX_STREAM, 7, 8));
    assert_joined(&ends, 0, 1);
    add(&ends, 3, 0, pipe_end(PATH_UNIX_DATAGRAM, 0, 9));
    add(&ends, 4, 0, pipe_end(PATH_UNIX_DATAGRAM, 9, 0));
    assert_alone(&ends, 3);
    joiner_done(&ends.joiner);
}

/* Entries are reused a hundred thousand times, and memory does not grow. */
static void forgets(void **state)
{
    struct ends ends = {0};

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        add(&ends, 0, 0, internet(PATH_TCP, 1, 4000, 2, 80, i + 1, 1));
        if (i % 3 != 0)
            add(&ends, 1, 1, internet(PATH_TCP, 2, 80, 1, 4000, 1, i + 1));
        if (i % 3 != 0)
            assert_joined(&ends, 0, 1);
        else
            assert_alone(&ends, 0);
        joiner_forget(&ends.joiner, 0);
        assert_alone(&ends, 1);
        joiner_forget(&ends.joiner, 1);
    }
    assert_true(ends.joiner.waiting_capacity <= 16384);
    assert_true(ends.joiner.keys.count <= 16384);
    joiner_done(&ends.joiner);
}

#define MANY 50000u

/* Joined ends are in no chains, although all of them live; a few wait long, and are found nevertheless. */
static void many_are_joined(void **state)
{
    struct path_record *records = calloc(2 * MANY, sizeof(*records));
    struct joiner joiner = {0};

    (void)state;
    assert_non_null(records);
    for (uint32_t i = 0; i < MANY; i++) {
        records[2 * i] = internet(PATH_TCP, 1, 4000, 2, 80, i + 1, 7);
        records[2 * i + 1] = internet(PATH_TCP, 2, 80, 1, 4000, 7, i + 1);
        assert_int_equal(joiner_add(&joiner, 2 * i, &records[2 * i], 0, 0), 0);
        if (i % 100 != 0)
            assert_int_equal(joiner_add(&joiner, 2 * i + 1, &records[2 * i + 1], 1, 1), 0);
    }
    assert_true(joiner.waiting_capacity <= 16384);
    assert_true(joiner.keys.count <= 16384);
    for (uint32_t i = 0; i < MANY; i += 100)
        assert_int_equal(joiner_add(&joiner, 2 * i + 1, &records[2 * i + 1], 1, 1), 0);
    for (uint32_t i = 0; i < 2 * MANY; i++)
        assert_int_equal(joiner_end(&joiner, i).partner, i ^ 1);
    joiner_done(&joiner);
    free(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(translated_addresses),
        cmocka_unit_test(only_positions_that_are_known),
        cmocka_unit_test(own_addresses_first),
        cmocka_unit_test(pipes),
        cmocka_unit_test(pipes_of_another_recording),
        cmocka_unit_test(datagrams),
        cmocka_unit_test(addresses_of_each_machine),
        cmocka_unit_test(closed_again),
        cmocka_unit_test(former_is_not_joined_again),
        cmocka_unit_test(one_knows_the_other),
        cmocka_unit_test(forgets),
        cmocka_unit_test(many_are_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
