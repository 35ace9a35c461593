/* SPDX-License-Identifier: MIT */
/*
 * resident_test.c: what a process did just before its end comes before its end. The collector is a double: a child of the test
 * ends while the collector is asked, and leaves a value that only the next question hands over.
 */
#include "monitor/resident.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct last_value {
    pid_t child;
    bool found, killed, handed_over, ended;
};

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    (void)begun;
    (void)self;
    (void)ended;
    (void)context;
}

static int descriptor(void *self)
{
    (void)self;
    return -1;
}

static bool work(void *self)
{
    struct last_value *test = self;

    if (test->killed)
        test->handed_over = true;
    if (!test->found || test->killed)
        return false;
    kill(test->child, SIGKILL);
    waitpid(test->child, NULL, 0);
    test->killed = true;
    return false;
}

static void count(void *self, struct monitor_counts *counts)
{
    (void)self;
    (void)counts;
}

static void free_nothing(void *self)
{
    (void)self;
}

static void on_appeared(void *context, const struct instance_seen *seen)
{
    struct last_value *test = context;

    test->found = test->found || seen->pid == test->child;
}

static void on_ended(void *context, const struct instance_seen *seen)
{
    struct last_value *test = context;

    assert_int_equal(test->child, seen->pid);
    assert_true(test->handed_over);
    test->ended = true;
}

static void on_note(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static void the_last_values_come_before_the_end(void **state)
{
    struct last_value test = {.child = fork()};
    const struct resident_calls calls = {
        .context = &test, .appeared = on_appeared, .ended = on_ended, .note = on_note};
    const struct collector collector = {.self = &test,
                                        .listen = listen_for,
                                        .descriptor = descriptor,
                                        .work = work,
                                        .count = count,
                                        .free = free_nothing};
    static const char text[] = "VIEW DEF V (a: Q.a) ACTIVE WHEN Q.a >= 0; END VIEW DEF";
    struct view_file *file;
    struct resident_options options = {
        .every = 100000000, .collectors = &collector, .collector_count = 1};
    struct resident *resident;
    char wish[32];

    (void)state;
    if (test.child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
        for (;;)
            pause();
    }
    assert_true(test.child > 0);
    assert_int_equal(0, view_parse("ending", text, strlen(text), &file, NULL));
    options.file = file;
    assert_int_equal(0, resident_new(&options, &calls, &resident, NULL));
    assert_true(instances_object(resident_instances(resident), "Q", VIEW_PROGRAM) >= 0);
    snprintf(wish, sizeof(wish), "Q=%d", (int)test.child);
    assert_int_equal(0, instances_define(resident_instances(resident), wish, NULL));
    while (!test.ended) {
        assert_int_equal(0, resident_work(resident, NULL));
        usleep(300000); /* the next look is due */
    }
    resident_free(resident);
    view_file_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_values_come_before_the_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
