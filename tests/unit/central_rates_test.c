/* SPDX-License-Identifier: MIT */
/*
 * central_rates_test.c: the central monitor changes the plan of a row whose values come faster than they are carried, after two
 * seconds of that, not twice within five; it is unknown meanwhile; it changes back when rates have been low for long.
 */
#include "monitor/central.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1000000000ull

static const char text[] =
    "ATTRIBUTE DEFINITION FOR OBJECT Q\n len: length;\n AT \"changed\";\nEND ATTRIBUTE DEF\n"
    "VIEW DEF Longer (one: Q[\"web1:q\"].len)\n"
    " ACTIVE WHEN Q[\"web1:q\"].len > Q[\"db1:q\"].len;\n"
    " CORRECT TO WITHIN %s;\n NOTIFY COMMAND \"true\" WITHIN 2 S;\nEND VIEW DEF\n";

struct world {
    struct view_file *file;
    struct view_costs costs;
    struct central *central;
    uint32_t row; /* as the resident monitors know it */
    enum view_collection collections[2];
    uint64_t now; /* of reviews */
    size_t opened, reads, unclear, notified, notes;
    char note[700];
};

static int do_step(void *self, const struct row_step *step, struct problem *problem)
{
    struct world *world = self;

    (void)problem;
    world->reads += step->kind == STEP_READ;
    if (step->kind != STEP_OPEN)
        return 0;
    world->opened++;
    world->row = step->row;
    for (int i = 0; i < 2; i++)
        world->collections[i] = step->plan->parts[i].collection;
    return 0;
}

static void on_changed(void *context, const struct view_change *change)
{
    ((struct world *)context)->unclear += change->kind == VIEW_UNCLEAR;
}

static void on_note(void *context, const char *line)
{
    struct world *world = context;

    world->notes++;
    snprintf(world->note, sizeof(world->note), "%s", line);
}

static void on_notify(void *context, const struct view_change *change, uint64_t flush)
{
    (void)change;
    (void)flush;
    ((struct world *)context)->notified++;
}

static struct world *new_world(const char *correct, const char *costs)
{
    struct world *world = calloc(1, sizeof(*world));
    const struct central_calls calls = {world, on_changed, on_note, on_notify, NULL};
    struct problem problem = {""};
    char views[1000];

    assert_non_null(world);
    snprintf(views, sizeof(views), text, correct);
    if (view_parse("test", views, strlen(views), &world->file, &problem) < 0)
        fail_msg("%s", problem.text);
    view_costs_init(&world->costs);
    if (view_costs_parse(&world->costs, "costs", costs, strlen(costs), &problem) < 0)
        fail_msg("%s", problem.text);
    const struct monitor_options options = {.file = world->file,
                                            .file_name = "test",
                                            .costs = &world->costs,
                                            .machine = "controller",
                                            .every = SECOND};
    assert_int_equal(0, central_new(&options, &calls, &world->central, NULL));
    for (int i = 0; i < 2; i++) {
        const struct central_link link = {world, i == 0 ? "web1" : "db1", do_step};
        assert_int_equal(i, central_add_link(world->central, &link));
    }
    assert_int_equal(0, central_begin(world->central, NULL));
    for (int i = 0; i < 2; i++)
        central_appeared(world->central, i, "Q", 100 + i, "q");
    world->now = clock_now(CLOCK_MONOTONIC);
    central_review(world->central, world->now);
    return world;
}

static void free_world(struct world *world)
{
    struct problem problem = {""};

    if (central_failed(world->central, &problem) < 0)
        fail_msg("%s", problem.text);
    central_free(world->central);
    view_costs_done(&world->costs);
    view_file_free(world->file);
    free(world);
}

static void say_length(struct world *world, uint32_t machine, double length)
{
    struct view_value values[2] = {{.kind = VIEW_UNKNOWN}, {.kind = VIEW_UNKNOWN}};

    values[machine] = (struct view_value){.kind = VIEW_IS_NUMBER, .number = length};
    central_record(world->central, world->row, machine, clock_now(CLOCK_REALTIME), 0, values, 2);
}

static void said_all(struct world *world)
{
    for (int i = 0; i < 2; i++)
        central_said(world->central, i, clock_now(CLOCK_REALTIME) + 1);
}

/* A second in which each instance that is traced changed so often, and so many of that arrived. */
static void pass_second(struct world *world, double changes, unsigned arrive)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool traced = world->collections[i] == VIEW_TRACED;
        double made = traced ? changes : 5;
        const struct row_rate rate = {
            .changes = traced ? changes : -1, .records = made, .handed = made};
        central_rate(world->central, world->row, i, &rate);
        for (unsigned k = 0; k < arrive && k < made; k++)
            say_length(world, i, i == 0 ? 9 : 3);
        if (arrive < made)
            central_dropped(world->central, (int)i, 1);
    }
    said_all(world);
    world->now += SECOND;
    central_review(world->central, world->now);
}

static struct central_measured_state measured(const struct world *world)
{
    struct central_measured_state state;

    central_measured(world->central, 0, &state);
    return state;
}

static void take_state(void *context, const struct central_row_state *state)
{
    *(struct central_row_state *)context = *state;
}

static struct central_row_state row_of(const struct world *world)
{
    struct central_row_state state = {0};

    central_each_row(world->central, 0, take_state, &state);
    return state;
}

static void answer(struct world *world)
{
    struct view_value values[2] = {{.kind = VIEW_IS_NUMBER, .number = 9},
                                   {.kind = VIEW_IS_NUMBER, .number = 3}};

    for (uint32_t i = 0; i < 2; i++) {
        say_length(world, i, values[i].number);
        assert_true(row_of(world).changing);
        central_answer(world->central, world->row, i, clock_now(CLOCK_REALTIME), values, 2);
    }
    said_all(world);
}

static void a_plan_that_does_not_hold_is_changed(void **state)
{
    struct world *world = new_world("200 MS", "");
    size_t opened = world->opened, notes;

    (void)state;
    pass_second(world, 100, UINT32_MAX);
    assert_int_equal(VIEW_TRACED, world->collections[0]);
    assert_int_equal(VIEW_TRACED, world->collections[1]);
    assert_true(row_of(world).active);
    assert_int_equal(1, world->notified);
    assert_int_equal(0, measured(world).replanned);

    /* the first second of which may be the last one, the second one is measured, and the third one decides */
    pass_second(world, 4400, 1200);
    assert_int_equal(0, measured(world).replanned);
    for (int i = 0; i < 3 && measured(world).replanned == 0; i++)
        pass_second(world, 4400, 1200);
    assert_int_equal(1, measured(world).replanned);
    assert_true(world->opened > opened);
    assert_int_equal(VIEW_SAMPLED, world->collections[0]);
    assert_int_equal(VIEW_SAMPLED, world->collections[1]);
    assert_non_null(strstr(world->note,
                           "view Longer: its plan changes: Q[\"web1:q\"] changes 4400 "
                           "times/s, and the way from web1 can carry 1200 records/s; "));

    /* what the row is meanwhile is not known, and is not notified again */
    assert_true(row_of(world).changing);
    assert_int_equal(2, world->reads);
    answer(world);
    assert_false(row_of(world).changing);
    assert_true(row_of(world).active);
    assert_int_equal(1, world->notified);

    /* it holds, and stays */
    notes = world->notes;
    for (int i = 0; i < 50; i++)
        pass_second(world, 4400, 1200);
    assert_int_equal(1, measured(world).replanned);
    assert_true(measured(world).load < 1);
    assert_true(world->notes <= notes + 2); /* the machines are in time again */

    /* after a minute, what was measured may not be true any more: it is tried, and measured anew */
    for (int i = 0; i < 30 && measured(world).replanned == 1; i++)
        pass_second(world, 4400, 1200);
    assert_int_equal(2, measured(world).replanned);
    assert_int_equal(VIEW_TRACED, world->collections[0]);
    assert_non_null(strstr(world->note, "its plan changes back"));
    answer(world);
    for (int i = 0; i < 4; i++) /* not within five seconds */
        pass_second(world, 4400, 1200);
    assert_int_equal(2, measured(world).replanned);
    for (int i = 0; i < 4; i++)
        pass_second(world, 4400, 1200);
    assert_int_equal(3, measured(world).replanned);
    free_world(world);
}

static void what_no_plan_carries_is_said_once(void **state)
{
    struct world *world = new_world("200 US", "");
    size_t notes = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        pass_second(world, 4400, 1200);
        notes +=
            strstr(world->note, "view Longer: cannot be kept: Q[\"web1:q\"] changes 4400 "
                                "times/s, and the way from web1 can carry 1200 records/s") != NULL;
        world->note[0] = '\0';
    }
    assert_int_equal(1, notes);
    assert_int_equal(0, measured(world).replanned);
    assert_true(measured(world).load > 3);
    assert_int_equal(8800, (int)measured(world).changes);
    free_world(world);
}

/* As costs say it, which have another figure for each distance. */
static void what_a_way_can_carry_is_that_of_its_distance(void **state)
{
    struct world *world = new_world("200 MS", "subnet near controller db1\nsubnet far web1\n"
                                              "changes 1\nmessage network 1ms send 1ms\n");

    (void)state;
    for (int i = 0; i < 3; i++)
        pass_second(world, 4400, UINT32_MAX);
    assert_int_equal(1, measured(world).replanned);
    assert_non_null(strstr(world->note, "and the way from web1 can carry 1000 records/s; "));
    free_world(world);
}

static void what_is_wrong_is_ignored(void **state)
{
    struct world *world = new_world("200 MS", "");
    const struct row_rate rate = {.changes = 1e12, .records = 1e12, .handed = 1e12, .lost = 1e12};

    (void)state;
    central_rate(world->central, world->row + 1, 0, &rate);
    central_rate(world->central, world->row, 2, &rate);
    central_rate(world->central, world->row, UINT32_MAX, &rate);
    for (int i = 0; i < 5; i++)
        pass_second(world, 100, UINT32_MAX);
    assert_int_equal(0, measured(world).replanned);
    assert_int_equal(200, (int)measured(world).changes);
    free_world(world);
}

static void what_a_machine_has_lost_is_known(void **state)
{
    struct world *world = new_world("200 MS", "");
    const struct row_rate rate = {.changes = 100, .records = 90, .handed = 90, .lost = 10};

    (void)state;
    pass_second(world, 100, UINT32_MAX);
    assert_false(central_has_lost(world->central));
    central_rate(world->central, world->row, 1, &rate);
    pass_second(world, 100, UINT32_MAX); /* later ones may lose nothing */
    assert_true(central_has_lost(world->central));
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_does_not_hold_is_changed),
        cmocka_unit_test(what_no_plan_carries_is_said_once),
        cmocka_unit_test(what_a_way_can_carry_is_that_of_its_distance),
        cmocka_unit_test(what_is_wrong_is_ignored),
        cmocka_unit_test(what_a_machine_has_lost_is_known)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
