/* SPDX-License-Identifier: MIT */
/* passing_test.c: messages with descriptors arrive whole, or not at all; no descriptor is left behind. */
#include "base/passing.h"

#include "seeded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 2000
#define ROOM   64 /* bytes of a message */

static uint64_t state;
static int ends[2];

static int open_ends(void **context)
{
    (void)context;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_ends(void **context)
{
    (void)context;
    passing_close(ends, 2);
    return 0;
}

/* Descriptors that we have open. */
static unsigned count_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static bool is_same(int one, int other)
{
    struct stat first, second;

    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

/* Sends so many bytes and pipes, to a receiver that takes so many. */
static void exchange(size_t size, size_t count, size_t size_most, size_t most)
{
    unsigned before = count_open();
    uint8_t sent[ROOM], received[ROOM] = {0};
    int pipes[PASSING_MOST][2], came[PASSING_MOST];
    int writers[PASSING_MOST];

    for (size_t i = 0; i < size; i++)
        sent[i] = (uint8_t)random_number(&state);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
        writers[i] = pipes[i][1];
    }
    assert_int_equal(passing_send(ends[0], sent, size, writers, count), 0);
    size_t got_descriptors = most;
    ssize_t got = passing_receive(ends[1], received, size_most, came, &got_descriptors);
    if (size > size_most || count > most) {
        assert_int_equal(got, -EMSGSIZE);
        assert_int_equal(got_descriptors, 0);
    } else {
        assert_int_equal(got, size);
        assert_memory_equal(sent, received, size);
        assert_int_equal(got_descriptors, count);
        for (size_t i = 0; i < count; i++) {
            assert_true(is_same(came[i], writers[i]));
            assert_true(came[i] != writers[i]);
            assert_true(fcntl(came[i], F_GETFD) & FD_CLOEXEC);
        }
        passing_close(came, got_descriptors);
    }
    for (size_t i = 0; i < count; i++)
        passing_close(pipes[i], 2);
    assert_int_equal(count_open(), before);
}

static void test_random(void **context)
{
    (void)context;
    for (unsigned round = 0; round < ROUNDS; round++)
        exchange(1 + random_below(&state, ROOM), random_below(&state, PASSING_MOST + 1),
                 1 + random_below(&state, ROOM), random_below(&state, PASSING_MOST + 1));
}

/* More descriptors than passing_send sends, in one piece or in several. */
static void test_flood(void **context)
{
    union {
        char bytes[2 * CMSG_SPACE(100 * sizeof(int))];
        struct cmsghdr alignment;
    } control = {{0}};
    char byte = 1;
    struct iovec part = {&byte, 1};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
    unsigned before = count_open();

    (void)context;
    for (size_t count = 1; count <= 100; count++) {
        size_t most = PASSING_MOST;
        int came[PASSING_MOST];
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        *rights = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS,
                                   .cmsg_len = CMSG_LEN(count * sizeof(int))};
        for (size_t i = 0; i < count; i++)
            memcpy(CMSG_DATA(rights) + i * sizeof(int), &ends[0], sizeof(int));
        assert_int_equal(sendmsg(ends[0], &header, 0), 1);
        ssize_t got = passing_receive(ends[1], &byte, 1, came, &most);
        assert_int_equal(got, count <= PASSING_MOST ? 1 : -EMSGSIZE);
        assert_int_equal(most, count <= PASSING_MOST ? count : 0);
        passing_close(came, most);
        assert_int_equal(count_open(), before);
    }
}

static void test_end(void **context)
{
    char bytes[ROOM];
    int came[PASSING_MOST];
    size_t count = PASSING_MOST;

    (void)context;
    close(ends[0]);
    assert_int_equal(passing_receive(ends[1], bytes, sizeof(bytes), came, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(passing_send(ends[1], bytes, sizeof(bytes), NULL, 0), -EPIPE); /* no SIGPIPE */
    ends[0] = dup(ends[1]); /* for close_ends */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(test_flood, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(test_end, open_ends, close_ends),
    };

    state = seed_of_run("passing");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
