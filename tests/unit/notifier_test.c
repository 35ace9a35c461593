/* SPDX-License-Identifier: MIT */
/*
 * notifier_test.c: notifications arrive as they were queued; a receiver that does not read, refuses, or is not there
 * blocks nothing, and what it misses is counted.
 */
#include "monitor/notifier.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull

static struct view receiver_view(uint16_t port)
{
    return (struct view){.name = "V", .notifies = true, .port = port, .host = "me@127.0.0.1"};
}

static int listen_somewhere(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(0, bind(listener, (struct sockaddr *)&address, size));
    assert_int_equal(0, listen(listener, 4));
    assert_int_equal(0, getsockname(listener, (struct sockaddr *)&address, &size));
    *ret_port = ntohs(address.sin_port);
    return listener;
}

static struct monitor_notified counts_of(const struct notifier *notifier)
{
    struct monitor_notified counts;

    assert_true(notifier_look(notifier, 0, &counts));
    return counts;
}

/* Works until a descriptor is readable, at most a minute. */
static void work_until(struct notifier *notifier, int descriptor)
{
    uint64_t end = clock_now(CLOCK_MONOTONIC) + 60 * SECOND;

    for (;;) {
        struct pollfd ready[] = {{descriptor, POLLIN, 0},
                                 {notifier_descriptor(notifier), POLLIN, 0}};
        uint64_t now = clock_now(CLOCK_MONOTONIC), next = notifier_next(notifier);
        assert_true(now < end);
        poll(ready, 2, poll_timeout(next < end ? next : end, now));
        if (ready[0].revents != 0)
            return;
        notifier_work(notifier, clock_now(CLOCK_MONOTONIC));
    }
}

static void read_lines(struct notifier *notifier, int connection, const char *expected)
{
    char text[100] = "";
    size_t size = 0;

    while (size < strlen(expected)) {
        work_until(notifier, connection);
        ssize_t got = read(connection, text + size, sizeof(text) - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
    }
    assert_string_equal(expected, text);
}

static void the_first_line_goes_at_once_and_others_together_when_one_is_due(void **state)
{
    struct notifier *notifier;
    uint16_t port;
    int listener = listen_somewhere(&port);
    const struct view view = receiver_view(port);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    char more;

    (void)state;
    assert_int_equal(0, notifier_new(&notifier, NULL));
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL));
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL)); /* the same one */
    notifier_notify(notifier, 0, "one", now + 600 * SECOND, now + 700 * SECOND, NULL);
    work_until(notifier, listener);
    int connection = accept(listener, NULL, NULL);
    read_lines(notifier, connection, "one\n");
    notifier_notify(notifier, 0, "two", now + 600 * SECOND, now + 700 * SECOND, NULL);
    for (int i = 0; i < 100; i++)
        notifier_work(notifier, clock_now(CLOCK_MONOTONIC));
    assert_int_equal(1, counts_of(notifier).waiting); /* not due */
    notifier_notify(notifier, 0, "three", now, now + 700 * SECOND, NULL);
    read_lines(notifier, connection, "two\nthree\n");
    assert_int_equal(3, counts_of(notifier).sent);
    assert_int_equal(0, counts_of(notifier).late + counts_of(notifier).dropped);
    notifier_free(notifier);
    assert_int_equal(0, read(connection, &more, 1));
    close(connection);
    close(listener);
}

static void a_silent_receiver_loses_the_oldest(void **state)
{
    enum { LINES = 5000, SIZE = 4000 };
    struct notifier *notifier;
    uint16_t port;
    int listener = listen_somewhere(&port); /* never accepts, never reads */
    const struct view view = receiver_view(port);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    char line[SIZE + 1];

    (void)state;
    memset(line, 'x', SIZE);
    line[SIZE] = '\0';
    assert_int_equal(0, notifier_new(&notifier, NULL));
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL));
    for (int i = 0; i < LINES; i++) {
        notifier_notify(notifier, 0, line, now, now + 60 * SECOND, NULL);
        notifier_work(notifier, clock_now(CLOCK_MONOTONIC));
    }
    const struct monitor_notified counts = counts_of(notifier);
    assert_int_equal(LINES, counts.queued);
    assert_true(counts.dropped > 0);
    assert_true(counts.waiting <= NOTIFIER_QUEUE_MOST);
    assert_int_equal(LINES, counts.sent + counts.dropped + counts.waiting);
    notifier_free(notifier);
    close(listener);
}

struct noted {
    size_t count;
    char line[200];
};

static void take_note(void *context, const char *line)
{
    struct noted *noted = context;

    noted->count++;
    snprintf(noted->line, sizeof(noted->line), "%s", line);
}

static void a_dead_receiver_is_counted(void **state)
{
    struct monitor_notified of = {0};
    struct noted noted = {0};
    char expected[200];
    struct notifier *notifier;
    uint16_t port;
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int listener = listen_somewhere(&port);
    const struct view view = receiver_view(port);

    (void)state;
    close(listener); /* nobody has the port now */
    assert_int_equal(0, notifier_new(&notifier, NULL));
    notifier_listen(notifier, take_note, &noted);
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL));
    notifier_notify(notifier, 0, "one", now, now + SECOND, &of);
    for (uint64_t end = now + 60 * SECOND;
         counts_of(notifier).failed < 2 && clock_now(CLOCK_MONOTONIC) < end;) {
        struct pollfd ready = {notifier_descriptor(notifier), POLLIN, 0};
        uint64_t at = clock_now(CLOCK_MONOTONIC), next = notifier_next(notifier);
        poll(&ready, 1, poll_timeout(next < end ? next : end, at));
        notifier_work(notifier, clock_now(CLOCK_MONOTONIC));
    }
    notifier_finish(notifier, 0);
    assert_int_equal(0, counts_of(notifier).sent);
    assert_int_equal(1, counts_of(notifier).dropped);
    assert_true(counts_of(notifier).failed > 1);
    assert_int_equal(counts_of(notifier).failed, of.failed);
    assert_int_equal(1, noted.count);
    snprintf(expected, sizeof(expected), "me@127.0.0.1 port %u: Connection refused; trying again",
             port);
    assert_string_equal(expected, noted.line);
    notifier_free(notifier);
}

static void a_late_line_is_counted(void **state)
{
    struct notifier *notifier;
    uint16_t port;
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int listener = listen_somewhere(&port);
    const struct view view = receiver_view(port);

    (void)state;
    assert_int_equal(0, notifier_new(&notifier, NULL));
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL));
    notifier_notify(notifier, 0, "one", now - 2, now - 1, NULL);
    notifier_finish(notifier, 60 * SECOND);
    assert_int_equal(1, counts_of(notifier).sent);
    assert_int_equal(1, counts_of(notifier).late);
    assert_true(counts_of(notifier).latest > 0);
    notifier_free(notifier);
    close(listener);
}

static void a_command_gets_each_line(void **state)
{
    char folder[] = "/tmp/notifier-test-XXXXXX", command[400], text[100] = "", name[64];
    struct notifier *notifier;
    uint64_t now = clock_now(CLOCK_MONOTONIC), end = now + 60 * SECOND;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof(name), "%s/lines", folder);
    snprintf(command, sizeof(command), "n=$(cat %s 2> /dev/null | wc -l); cat >> %s; test $n != 1",
             name, name);
    const struct view view = {.name = "V", .notifies = true, .command = command};
    assert_int_equal(0, notifier_new(&notifier, NULL));
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL));
    notifier_notify(notifier, 0, "one", now, end, NULL);
    notifier_notify(notifier, 0, "two", now, end, NULL);
    notifier_notify(notifier, 0, "three", now, end, NULL);
    notifier_finish(notifier, 60 * SECOND);
    assert_int_equal(3, counts_of(notifier).sent);
    assert_int_equal(1, counts_of(notifier).failed); /* the second one exited with 1 */
    while (strcmp(text, "one\ntwo\nthree\n") != 0 && clock_now(CLOCK_MONOTONIC) < end) {
        FILE *file = fopen(name, "re");
        text[file == NULL ? 0 : fread(text, 1, sizeof(text) - 1, file)] = '\0';
        if (file != NULL)
            fclose(file);
    }
    assert_string_equal("one\ntwo\nthree\n", text);
    notifier_free(notifier);
    unlink(name);
    rmdir(folder);
}

/* To start one takes a while. */
static void a_command_is_sent_once_it_runs(void **state)
{
    const struct view view = {.name = "V", .notifies = true, .command = "true"};
    struct notifier *notifier;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    (void)state;
    assert_int_equal(0, notifier_new(&notifier, NULL));
    assert_int_equal(0, notifier_receiver(notifier, &view, NULL));
    notifier_notify(notifier, 0, "one", now, now, NULL);
    notifier_work(notifier, now);
    assert_int_equal(1, counts_of(notifier).sent);
    assert_int_equal(1, counts_of(notifier).late);
    notifier_free(notifier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_goes_at_once_and_others_together_when_one_is_due),
        cmocka_unit_test(a_silent_receiver_loses_the_oldest),
        cmocka_unit_test(a_dead_receiver_is_counted),
        cmocka_unit_test(a_late_line_is_counted),
        cmocka_unit_test(a_command_gets_each_line),
        cmocka_unit_test(a_command_is_sent_once_it_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
