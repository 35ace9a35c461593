/* SPDX-License-Identifier: MIT */
/*
 * instances_test.c: which processes are instances, by looks into /proc: those of this test, which it begins and ends.
 */
#include "monitor/instances.h"

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

#define MOST 8

struct world {
    struct instances *instances;
    pid_t pids[2];
    size_t appeared, ended;
    pid_t order[MOST];
};

static void on_appeared(void *context, const struct instance_seen *seen)
{
    struct world *world = context;

    assert_true(world->appeared < MOST);
    world->order[world->appeared++] = seen->pid;
}

static void on_ended(void *context, const struct instance_seen *seen)
{
    (void)seen;
    ((struct world *)context)->ended++;
}

static pid_t begin_process(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Two processes, which are instances of Worker. */
static int begin(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    const struct instances_calls calls = {world, on_appeared, on_ended};
    struct problem problem = {""};
    char text[64];

    world->instances = instances_new(&calls);
    world->pids[0] = begin_process();
    usleep(20000); /* the kernel counts beginnings in 10 ms */
    world->pids[1] = begin_process();
    snprintf(text, sizeof(text), "Worker=%d,%d", world->pids[1], world->pids[0]);
    assert_int_equal(instances_object(world->instances, "Worker", VIEW_PROGRAM), 0);
    assert_int_equal(instances_define(world->instances, text, &problem), 0);
    *state = world;
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;

    for (int i = 0; i < 2; i++)
        if (world->pids[i] != 0)
            end_process(world->pids[i]);
    instances_free(world->instances);
    free(world);
    return 0;
}

static void look(struct world *world, bool appear)
{
    struct problem problem = {""};

    assert_int_equal(instances_look(world->instances, true, &problem), 0);
    if (appear)
        assert_int_equal(instances_appear(world->instances, &problem), 0);
}

static void they_appear_in_the_order_of_their_beginning(void **state)
{
    struct world *world = *state;

    look(world, true);
    assert_int_equal(world->appeared, 2);
    assert_memory_equal(world->order, world->pids, sizeof(world->pids));
    look(world, true);
    assert_int_equal(world->appeared, 2);
    end_process(world->pids[0]);
    world->pids[0] = 0;
    look(world, true);
    assert_int_equal(world->ended, 1);
}

static void what_does_not_appear_is_found_again(void **state)
{
    struct world *world = *state;

    look(world, false);
    assert_int_equal(world->appeared, 0);
    assert_true(instances_lives(world->instances, world->pids[0]));
    end_process(world->pids[0]);
    pid_t gone = world->pids[0];
    world->pids[0] = 0;
    look(world, true);
    assert_int_equal(world->appeared, 1);
    assert_int_equal(world->order[0], world->pids[1]);
    assert_int_equal(world->ended, 0);
    assert_false(instances_lives(world->instances, gone));
}

/* A process that has ended is an instance until the next look, and there is no other one of its object before. */
static void one_that_has_ended_appears_until_the_next_look(void **state)
{
    const struct file_identity file = {0};
    struct world *world = *state;

    assert_true(instances_object(world->instances, "brief", VIEW_PROGRAM) > 0);
    assert_true(instances_may_begin(world->instances, "brief", &file));
    assert_false(instances_may_begin(world->instances, "other", &file));
    assert_false(instances_has_other(world->instances, "brief", &file));
    instances_insert(world->instances, 7, "brief", &file);
    assert_int_equal(world->appeared, 1);
    assert_true(instances_has_other(world->instances, "brief", &file));
    assert_false(instances_has_other(world->instances, "other", &file));
    look(world, false);
    assert_int_equal(world->ended, 1);
    assert_false(instances_has_other(world->instances, "brief", &file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_appear_in_the_order_of_their_beginning, begin, end),
        cmocka_unit_test_setup_teardown(what_does_not_appear_is_found_again, begin, end),
        cmocka_unit_test_setup_teardown(one_that_has_ended_appears_until_the_next_look, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
