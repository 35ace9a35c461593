/* SPDX-License-Identifier: MIT */
/* The resident monitor with processes that have begun a short time ago. The collector is a double, which has records of them. */
#include "monitor/resident.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull

static const char text[] = "ATTRIBUTE DEFINITION FOR OBJECT brief\n len: length;\n"
                           " AT \"changed\";\nEND ATTRIBUTE DEF\n"
                           "VIEW DEF Long (name: brief[*].len)\n ACTIVE WHEN brief[*].len > 24;\n"
                           "END VIEW DEF\n";

struct world {
    struct view_file *file;
    struct resident *resident;
    collect_begun *begun;
    void *begun_context;
    pid_t held; /* records of this process wait */
    pid_t appeared;
};

/* ---- the double ---- */

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    struct world *world = self;

    (void)ended;
    world->begun = begun;
    world->begun_context = context;
}

static bool has(void *self, const struct view_file *file, const struct view_entity *entity)
{
    (void)self;
    (void)file;
    (void)entity;
    return true;
}

static bool holds(void *self, pid_t pid)
{
    return ((struct world *)self)->held == pid;
}

static int descriptor(void *self)
{
    (void)self;
    return -1;
}

static bool work(void *self)
{
    (void)self;
    return false;
}

static void count(void *self, struct monitor_counts *counts)
{
    (void)self;
    (void)counts;
}

static void free_double(void *self)
{
    (void)self;
}

/* ---- the world ---- */

static void on_appeared(void *context, const struct instance_seen *seen)
{
    ((struct world *)context)->appeared = seen->pid;
}

static void on_ended(void *context, const struct instance_seen *seen)
{
    (void)context;
    (void)seen;
}

static void on_note(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static int begin(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct problem problem = {""};

    assert_non_null(world);
    if (view_parse("test", text, strlen(text), &world->file, &problem) < 0)
        fail_msg("%s", problem.text);
    const struct collector collector = {.self = world,
                                        .listen = listen_for,
                                        .has = has,
                                        .holds = holds,
                                        .descriptor = descriptor,
                                        .work = work,
                                        .count = count,
                                        .free = free_double};
    const struct resident_options options = {.file = world->file,
                                             .file_name = "test",
                                             .every = SECOND,
                                             .collectors = &collector,
                                             .collector_count = 1};
    const struct resident_calls calls = {
        .context = world, .appeared = on_appeared, .ended = on_ended, .note = on_note};
    assert_int_equal(0, resident_new(&options, &calls, &world->resident, NULL));
    *state = world;
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;

    resident_free(world->resident);
    view_file_free(world->file);
    free(world);
    return 0;
}

/* A process that has ended, until something waits for it. */
static pid_t begin_zombie(void)
{
    siginfo_t how;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(0, waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT));
    return pid;
}

/* The kernel reports that it has begun. Returns when, as the wall clock has it. */
static uint64_t hear_beginning(struct world *world, pid_t pid)
{
    const struct collected_beginning beginning = {
        .pid = pid, .name = "brief", .time = clock_now(CLOCK_MONOTONIC), .covered = true};

    world->begun(world->begun_context, &beginning);
    return clock_now(CLOCK_REALTIME);
}

/* ---- tests ---- */

static void a_zombie_has_ended_and_appears_with_its_records(void **state)
{
    struct world *world = *state;
    pid_t pid = begin_zombie();

    world->held = pid;
    hear_beginning(world, pid);
    for (int i = 0; i < 3 && world->appeared == 0; i++) {
        usleep(10000);
        assert_int_equal(0, resident_work(world->resident, NULL));
    }
    assert_int_equal(pid, world->appeared);
    waitpid(pid, NULL, 0);
}

static void what_waits_for_its_process_is_not_handed_over(void **state)
{
    struct world *world = *state;

    uint64_t heard = hear_beginning(world, getpid());
    world->held = getpid();
    usleep(10000);
    assert_int_equal(0, resident_work(world->resident, NULL));
    assert_true(resident_until(world->resident) <= heard);
    world->held = 0;
    assert_int_equal(0, resident_work(world->resident, NULL));
    assert_true(resident_until(world->resident) > heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_zombie_has_ended_and_appears_with_its_records, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_waits_for_its_process_is_not_handed_over, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
