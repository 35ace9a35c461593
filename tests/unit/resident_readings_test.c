/* SPDX-License-Identifier: MIT */
/* The resident monitor with values that it reads periodically, next to others that are traced, if it is too busy to read in time. The
 * collector is a double: its times are what a test says, in seconds after a first one. */
#include "monitor/resident.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define EVERY  1000000u /* ns */

enum { QUEUE, WORKER, INSTANCES };

static const char text[] =
    "ATTRIBUTE DEFINITION FOR OBJECT queue\n len: length;\n AT \"changed\";\nEND ATTRIBUTE DEF\n"
    "ATTRIBUTE DEFINITION FOR OBJECT worker\n busy: busy;\n AT \"changed\";\nEND ATTRIBUTE DEF\n"
    "VIEW DEF Stuck (len: queue[1].len, busy: worker[1].busy)\n"
    " ACTIVE WHEN queue[1].len > 5 AND worker[1].busy = 1;\n"
    " CORRECT TO WITHIN 25 S;\nEND VIEW DEF\n";

struct record {
    uint64_t second;
    int instance;
    double value;
};

struct collection {
    struct world *world;
    int instance;
    collect_values *values;
    void *context;
};

struct world {
    struct view_file *file;
    struct resident *resident;
    struct collection collections[INSTANCES];
    uint64_t begun, now, /* s after `begun` */
        tick;            /* added with each reading */
    double read[INSTANCES];
    struct record ring[8], /* of sensors */
        at_reading;        /* comes while something is read, if it has a time */
    size_t count;
    char said[512]; /* "queue 3 at 0, worker 1 at 20, " */
    size_t activations;
};

/* ---- the double ---- */

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    (void)self;
    (void)ended;
    (void)begun;
    (void)context;
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
    struct collection *collection = &world->collections[wish->entity];

    (void)problem;
    *collection = (struct collection){world, (int)wish->entity, values, context};
    *ret_collection = collection;
    *ret_how = (struct collected_how){.traced = wish->traced};
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

static void give(const struct collection *collection, uint64_t second, double value)
{
    struct view_value values[INSTANCES] = {{0}};

    values[collection->instance] = (struct view_value){.kind = VIEW_IS_NUMBER, .number = value};
    collection->values(collection->context, collection->world->begun + second * SECOND, values);
}

static int read_values(void *self, struct collection *collection)
{
    struct world *world = self;

    if (world->at_reading.second != 0)
        world->ring[world->count++] = world->at_reading;
    world->at_reading.second = 0;
    give(collection, world->now, world->read[collection->instance]);
    world->now += world->tick;
    return 0;
}

static int descriptor(void *self)
{
    (void)self;
    return -1;
}

static bool work(void *self)
{
    struct world *world = self;
    size_t count = world->count;

    world->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct record record = world->ring[i];
        give(&world->collections[record.instance], record.second, record.value);
    }
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

static void on_record(void *context, uint32_t row, uint32_t entity, uint64_t time, uint32_t probe,
                      const struct view_value *values)
{
    struct world *world = context;
    const struct view_value *value = &values[entity];
    uint64_t begun = world->begun + clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC);
    size_t at = strlen(world->said);
    char number[16] = "?";

    (void)row;
    (void)probe;
    if (value->kind == VIEW_IS_NUMBER)
        snprintf(number, sizeof(number), "%g", value->number);
    snprintf(world->said + at, sizeof(world->said) - at, "%s %s at %" PRIu64 ", ",
             entity == QUEUE ? "queue" : "worker", number, (time + SECOND / 2 - begun) / SECOND);
}

static void on_changed(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                       const struct view_value *targets)
{
    (void)row;
    (void)edge;
    (void)time;
    (void)targets;
    ((struct world *)context)->activations += active;
}

static void on_note(void *context, const char *line)
{
    (void)context;
    fail_msg("%s", line);
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
                                        .descriptor = descriptor,
                                        .work = work,
                                        .count = count,
                                        .free = free_double};
    const struct resident_options options = {.file = world->file,
                                             .file_name = "test",
                                             .every = EVERY,
                                             .collectors = &collector,
                                             .collector_count = 1};
    const struct resident_calls calls = {
        .context = world, .record = on_record, .changed = on_changed, .note = on_note};
    assert_int_equal(0, resident_new(&options, &calls, &world->resident, NULL));
    world->begun =
        clock_now(CLOCK_MONOTONIC) + 10 * SECOND; /* later than all that comes by itself */
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

/* The worker is elsewhere if it is not bound. */
static void open_row(struct world *world, enum view_site top, enum view_collection of_worker,
                     bool with_worker)
{
    const struct view_plan plan = {
        .top = top, .parts = {{VIEW_SAMPLED, VIEW_IN_CENTRAL, 0}, {of_worker, VIEW_IN_CENTRAL, 0}}};
    const struct row_step steps[] = {{.kind = STEP_OPEN, .plan = &plan},
                                     {.kind = STEP_BIND, .entity = QUEUE, .pid = getpid()},
                                     {.kind = STEP_BIND, .entity = WORKER, .pid = getpid()}};

    for (size_t i = 0; i < (with_worker ? 3 : 2); i++)
        assert_int_equal(0, resident_step(world->resident, &steps[i], NULL));
}

static void work_once(struct world *world)
{
    usleep(2 * EVERY / 1000); /* what is read periodically is due */
    assert_int_equal(0, resident_work(world->resident, NULL));
}

static void add_records(struct world *world, const struct record *records, size_t number)
{
    memcpy(&world->ring[world->count], records, number * sizeof(*records));
    world->count += number;
}

/* ---- tests ---- */

static void what_was_read_too_late_is_unknown_in_between(void **state)
{
    struct world *world = *state;
    const struct record records[] = {{20, WORKER, 1}, {60, WORKER, 0}};

    world->read[QUEUE] = 3;
    open_row(world, VIEW_IN_CENTRAL, VIEW_TRACED, true);
    add_records(world, records, 2);
    world->now = 80;
    world->read[QUEUE] = 9;
    work_once(world);
    assert_string_equal("queue 3 at 0, worker 0 at 0, worker 1 at 20, queue ? at 25, "
                        "worker 0 at 60, queue 9 at 80, ",
                        world->said);
}

static void what_is_no_different_was_the_same_in_between(void **state)
{
    struct world *world = *state;
    const struct record records[] = {{20, WORKER, 1}, {60, WORKER, 0}};

    world->read[QUEUE] = 3;
    open_row(world, VIEW_IN_CENTRAL, VIEW_TRACED, true);
    add_records(world, records, 2);
    world->now = 80;
    work_once(world);
    assert_string_equal("queue 3 at 0, worker 0 at 0, worker 1 at 20, worker 0 at 60, ",
                        world->said);
}

static void a_reading_waits_for_what_was_earlier(void **state)
{
    struct world *world = *state;

    world->read[QUEUE] = 3;
    open_row(world, VIEW_IN_CENTRAL, VIEW_TRACED, true);
    world->now = 10;
    world->read[QUEUE] = 9;
    world->at_reading = (struct record){9, WORKER, 1};
    work_once(world);
    assert_string_equal("queue 3 at 0, worker 0 at 0, worker 1 at 9, queue 9 at 10, ", world->said);
}

static void two_readings_are_not_compared_with_earlier_ones(void **state)
{
    struct world *world = *state;

    world->tick = 1;
    world->read[QUEUE] = 3;
    open_row(world, VIEW_IN_CENTRAL, VIEW_SAMPLED, true);
    world->now = 80;
    world->read[QUEUE] = 9;
    world->read[WORKER] = 1;
    work_once(world);
    assert_string_equal("queue 3 at 0, worker 0 at 1, worker ? at 26, queue 9 at 80, "
                        "worker 1 at 81, ",
                        world->said);
}

static void other_machines_are_told_for_how_long_it_was_known(void **state)
{
    struct world *world = *state;

    world->read[QUEUE] = 3;
    open_row(world, VIEW_IN_CENTRAL, VIEW_TRACED, false);
    world->now = 80;
    world->read[QUEUE] = 9;
    work_once(world);
    assert_string_equal("queue 3 at 0, queue ? at 25, queue 9 at 80, ", world->said);
}

/* The queue is short by then. */
static void a_view_is_not_active_by_what_was_known_too_long_ago(void **state)
{
    struct world *world = *state;
    const struct record records[] = {{40, WORKER, 1}, {60, WORKER, 0}};

    world->read[QUEUE] = 9;
    open_row(world, VIEW_IN_RESIDENT, VIEW_TRACED, true);
    add_records(world, records, 2);
    world->now = 80;
    world->read[QUEUE] = 3;
    work_once(world);
    assert_int_equal(0, world->activations);
    add_records(world, &(struct record){90, WORKER, 1}, 1);
    world->now = 100;
    world->read[QUEUE] = 7;
    work_once(world);
    assert_int_equal(1, world->activations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_read_too_late_is_unknown_in_between, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_different_was_the_same_in_between, begin, end),
        cmocka_unit_test_setup_teardown(a_reading_waits_for_what_was_earlier, begin, end),
        cmocka_unit_test_setup_teardown(two_readings_are_not_compared_with_earlier_ones, begin,
                                        end),
        cmocka_unit_test_setup_teardown(other_machines_are_told_for_how_long_it_was_known, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_view_is_not_active_by_what_was_known_too_long_ago, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
