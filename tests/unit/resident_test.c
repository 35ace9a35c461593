/* SPDX-License-Identifier: MIT */
/* The resident monitor with processes that have begun a short time ago, and conditions that a sensor cannot evaluate. The collector is
 * a double. */
#include "monitor/resident.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull

/* The wall clock was set back by so many seconds. */
static time_t set_back;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, ret_time);

    if (clock == CLOCK_REALTIME)
        ret_time->tv_sec -= set_back;
    return result;
}

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
    bool cannot_trace;
    collect_values *values;
    void *values_context;
    size_t records;
    uint64_t recorded; /* time of the latest */
    char note[256];
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

static int open_collection(void *self, const struct collect_wish *wish, collect_values *values,
                           void *context, struct collection **ret_collection,
                           struct collected_how *ret_how, struct problem *problem)
{
    struct world *world = self;

    (void)problem;
    world->values = values;
    world->values_context = context;
    *ret_collection = self;
    *ret_how = (struct collected_how){.traced = !world->cannot_trace, .filtered = wish->filter};
    return 0;
}

static void close_collection(void *self, struct collection *collection)
{
    (void)self;
    (void)collection;
}

static int turn(void *self, struct collection *collection, bool on, struct problem *problem)
{
    (void)self;
    (void)collection;
    (void)on;
    (void)problem;
    return 0;
}

static int read_values(void *self, struct collection *collection)
{
    (void)self;
    (void)collection;
    return -ENOTSUP;
}

/* It cannot evaluate any other condition than the first one. */
static int refilter(void *self, struct collection *collection, struct problem *problem)
{
    (void)self;
    (void)collection;
    return problem_set(problem, -ENOTSUP, "fractions");
}

/* The program has no such place. */
static int expect(void *self, const struct collect_wish *wish, const char *path,
                  struct problem *problem)
{
    (void)self;
    (void)wish;
    return problem_set(problem, -EINVAL, "%s: there is no changed", path);
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
    snprintf(((struct world *)context)->note, sizeof(((struct world *)context)->note), "%s", line);
}

static void on_record(void *context, uint32_t row, uint32_t entity, uint64_t time, uint32_t probe,
                      const struct view_value *values)
{
    (void)row;
    (void)entity;
    (void)probe;
    (void)values;
    ((struct world *)context)->records++;
    ((struct world *)context)->recorded = time;
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
                                        .open = open_collection,
                                        .close = close_collection,
                                        .turn = turn,
                                        .read = read_values,
                                        .refilter = refilter,
                                        .expect = expect,
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
    const struct resident_calls calls = {.context = world,
                                         .record = on_record,
                                         .appeared = on_appeared,
                                         .ended = on_ended,
                                         .note = on_note};
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

static void kill_and_await(pid_t pid)
{
    siginfo_t how;

    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(0, waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT));
}

/* The kernel reports that it has begun. Returns when, as the wall clock has it. */
static uint64_t hear_beginning(struct world *world, pid_t pid, bool covered)
{
    const struct collected_beginning beginning = {
        .pid = pid, .name = "brief", .time = clock_now(CLOCK_MONOTONIC), .covered = covered};

    world->begun(world->begun_context, &beginning);
    return clock_now(CLOCK_REALTIME);
}

/* ---- tests ---- */

static void a_zombie_has_ended_and_appears_with_its_records(void **state)
{
    struct world *world = *state;
    pid_t pid = begin_zombie();

    world->held = pid;
    hear_beginning(world, pid, true);
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

    uint64_t heard = hear_beginning(world, getpid(), true);
    world->held = getpid();
    usleep(10000);
    assert_int_equal(0, resident_work(world->resident, NULL));
    assert_true(resident_until(world->resident) <= heard);
    world->held = 0;
    assert_int_equal(0, resident_work(world->resident, NULL));
    assert_true(resident_until(world->resident) > heard);
}

/* How many count as unseen of one that began and cannot be traced; if it lives, it is killed then. */
static uint64_t unseen_of(struct world *world, pid_t pid, bool lives)
{
    const struct view_plan plan = {.top = VIEW_IN_CENTRAL,
                                   .parts = {{VIEW_TRACED, VIEW_IN_CENTRAL, 0}}};
    const struct row_step open = {.kind = STEP_OPEN, .plan = &plan};
    const struct row_step bind = {.kind = STEP_BIND, .pid = pid};
    struct monitor_counts counts = {0};

    world->cannot_trace = true;
    hear_beginning(world, pid, false);
    assert_int_equal(0, resident_step(world->resident, &open, NULL));
    assert_int_equal(0, resident_step(world->resident, &bind, NULL));
    if (lives)
        kill_and_await(pid);
    usleep(10000);
    assert_int_equal(0, resident_work(world->resident, NULL));
    resident_count(world->resident, &counts);
    return counts.unseen;
}

/* It is read now and then. */
static void what_is_read_was_seen(void **state)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    assert_int_equal(0, unseen_of(*state, pid, true));
    waitpid(pid, NULL, 0);
}

static void what_ended_before_it_could_be_read_was_not_seen(void **state)
{
    pid_t pid = begin_zombie();

    assert_int_equal(1, unseen_of(*state, pid, false));
    waitpid(pid, NULL, 0);
}

static void give_length(struct world *world, double length)
{
    const struct view_value value = {.kind = VIEW_IS_NUMBER, .number = length};

    world->values(world->values_context, clock_now(CLOCK_MONOTONIC), &value);
}

static void what_a_sensor_cannot_filter_is_filtered_here(void **state)
{
    struct world *world = *state;
    const struct view_plan plan = {.top = VIEW_IN_CENTRAL,
                                   .parts = {{VIEW_TRACED, VIEW_IN_SENSOR, 0}}};
    const struct row_step steps[] = {{.kind = STEP_OPEN, .plan = &plan},
                                     {.kind = STEP_BIND, .pid = getpid()},
                                     {.kind = STEP_CONSTANT, .value = 2.5}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        assert_int_equal(0, resident_step(world->resident, &steps[i], NULL));
    assert_string_equal("view Long: fractions; all its records are read instead", world->note);
    give_length(world, 1); /* the first one passes */
    give_length(world, 2);
    assert_int_equal(1, world->records);
    give_length(world, 3);
    give_length(world, 1);
    assert_int_equal(3, world->records);
    give_length(world, 2);
    assert_int_equal(3, world->records);
}

/* By an hour. */
static void a_clock_that_is_set_back_does_not_stop_times(void **state)
{
    struct world *world = *state;
    const struct view_plan plan = {.top = VIEW_IN_CENTRAL,
                                   .parts = {{VIEW_TRACED, VIEW_IN_CENTRAL, 0}}};
    const struct row_step steps[] = {{.kind = STEP_OPEN, .plan = &plan},
                                     {.kind = STEP_BIND, .pid = getpid()}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        assert_int_equal(0, resident_step(world->resident, &steps[i], NULL));
    give_length(world, 1);
    uint64_t before = world->recorded;
    set_back = 3600;
    usleep(20000);
    assert_int_equal(0, resident_work(world->resident, NULL));
    assert_int_equal(1, resident_set_back(world->resident));
    assert_non_null(strstr(world->note, "the wall clock was set back by 3600.0"));
    give_length(world, 2);
    set_back = 0;
    assert_int_equal(2, world->records);
    assert_true(world->recorded < before - 3500 * SECOND);
}

static void a_place_that_does_not_exist_is_noted_at_once(void **state)
{
    struct world *world = *state;

    assert_int_equal(0, resident_define(world->resident, "brief=/bin/cat", NULL));
    assert_non_null(strstr(world->note, "cat has no sensors before its processes are found: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_zombie_has_ended_and_appears_with_its_records, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_waits_for_its_process_is_not_handed_over, begin, end),
        cmocka_unit_test_setup_teardown(what_is_read_was_seen, begin, end),
        cmocka_unit_test_setup_teardown(what_ended_before_it_could_be_read_was_not_seen, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_a_sensor_cannot_filter_is_filtered_here, begin, end),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_does_not_stop_times, begin, end),
        cmocka_unit_test_setup_teardown(a_place_that_does_not_exist_is_noted_at_once, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
