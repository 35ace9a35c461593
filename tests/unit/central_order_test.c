/* SPDX-License-Identifier: MIT */
/* Values of several machines that come in any order: rows become what these were in the order of their times, or are unknown. */
#include "monitor/central.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seeded.h"

#define SECOND 1000000000ull
#define TOLD   4096

/* Both queues are longer than 24. */
static const char text[] =
    "ATTRIBUTE DEFINITION FOR OBJECT Q\n len: length;\n AT \"changed\";\nEND ATTRIBUTE DEF\n"
    "VIEW DEF Both (one: Q[\"web1:q\"].len, two: Q[\"db1:q\"].len)\n"
    " ACTIVE WHEN (Q[\"web1:q\"].len > 24) AND (Q[\"db1:q\"].len > 24);\n"
    " CORRECT TO WITHIN 1 S;\n NOTIFY COMMAND \"true\" WITHIN 2 S;\nEND VIEW DEF\n";

struct world {
    struct view_file *file;
    struct view_costs costs;
    struct central *central;
    uint32_t row; /* as the resident monitors know it */
    pid_t bound;
    uint64_t begin;
    struct {
        enum view_change_kind kind;
        double one, two;
        uint64_t time;
    } told[TOLD];
    size_t told_count, notified, notes, reads;
    char note[256];
};

static int do_step(void *self, const struct row_step *step, struct problem *problem)
{
    struct world *world = self;

    (void)problem;
    world->reads += step->kind == STEP_READ;
    if (step->kind == STEP_OPEN)
        world->row = step->row;
    if (step->kind == STEP_BIND)
        world->bound = step->pid;
    return 0;
}

static void on_changed(void *context, const struct view_change *change)
{
    struct world *world = context;

    if (change->kind == VIEW_CHANGED)
        return;
    assert_true(world->told_count < TOLD);
    world->told[world->told_count].kind = change->kind;
    world->told[world->told_count].time = change->time;
    world->told[world->told_count].one = change->values[0].number;
    world->told[world->told_count++].two = change->values[1].number;
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

static struct world *new_world_of(const char *views)
{
    struct world *world = calloc(1, sizeof(*world));
    const struct central_calls calls = {world, on_changed, on_note, on_notify, NULL};
    static const char costs[] = "probe 900ms\n";
    struct problem problem = {""};

    assert_non_null(world);
    if (view_parse("test", views, strlen(views), &world->file, &problem) < 0)
        fail_msg("%s", problem.text);
    view_costs_init(&world->costs);
    /* so that both are traced */
    assert_int_equal(0, view_costs_parse(&world->costs, "costs", costs, strlen(costs), NULL));
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
    return world;
}

static struct world *new_world(void)
{
    struct world *world = new_world_of(text);

    for (int i = 0; i < 2; i++)
        central_appeared(world->central, i, "Q", 100 + i, "q");
    world->begin = clock_now(CLOCK_REALTIME);
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

/* A value of a machine, `at` ns after the beginning. */
static void say_length(struct world *world, uint32_t machine, uint64_t at, double length)
{
    struct view_value values[2] = {{.kind = VIEW_UNKNOWN}, {.kind = VIEW_UNKNOWN}};

    values[machine] = (struct view_value){.kind = VIEW_IS_NUMBER, .number = length};
    central_record(world->central, world->row, machine, world->begin + at, 0, values, 2);
}

static void said_all(struct world *world, int machine, uint64_t at)
{
    central_said(world->central, machine, world->begin + at);
}

/* ---- in order ---- */

static void a_value_waits_for_earlier_ones_of_the_other_machine(void **state)
{
    struct world *world = new_world();

    (void)state;
    said_all(world, 0, 0);
    said_all(world, 1, 0);
    say_length(world, 0, 10, 30); /* 10: long; 40: short */
    say_length(world, 0, 40, 3);
    said_all(world, 0, 50);
    assert_int_equal(0, world->told_count);
    say_length(world, 1, 20, 31); /* 20: long, so that both are from 20 to 40 */
    assert_int_equal(0, world->told_count);
    said_all(world, 1, 30);
    assert_int_equal(1, world->told_count);
    assert_int_equal(VIEW_APPEARED, world->told[0].kind);
    assert_true(world->told[0].one == 30 && world->told[0].two == 31);
    said_all(world, 1, 40);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_GONE, world->told[1].kind);
    assert_int_equal(1, world->notified);
    free_world(world);
}

#define CHANGES 500

struct change {
    uint64_t at;
    double length;
};

/* Each machine's values, at times that no other has. */
static void make_changes(uint64_t *random, uint32_t machine, struct change changes[CHANGES])
{
    uint64_t at = machine + 1;

    for (size_t i = 0; i < CHANGES; i++) {
        at += 2 * (1 + random_below(random, 1000));
        changes[i] = (struct change){at, (double)random_below(random, 50)};
    }
}

static void say_some(struct world *world, uint32_t machine, const struct change *changes,
                     size_t *said, size_t count)
{
    size_t end = *said + count < CHANGES ? *said + count : CHANGES;

    for (; *said < end; ++*said)
        say_length(world, machine, changes[*said].at, changes[*said].length);
    if (end > 0)
        said_all(world, (int)machine, changes[end - 1].at);
}

/* What both were, one change after the other. */
static void check_told(const struct world *world, struct change changes[2][CHANGES])
{
    size_t next[2] = {0}, told = 0;
    double now[2] = {0};
    bool active = false;

    while (next[0] < CHANGES || next[1] < CHANGES) {
        uint32_t machine = next[1] == CHANGES || (next[0] < CHANGES &&
                                                  changes[0][next[0]].at < changes[1][next[1]].at)
                               ? 0
                               : 1;
        now[machine] = changes[machine][next[machine]++].length;
        if ((now[0] > 24 && now[1] > 24) == active)
            continue;
        active = !active;
        assert_true(told < world->told_count);
        assert_int_equal(active ? VIEW_APPEARED : VIEW_GONE, world->told[told].kind);
        assert_true(!active ||
                    (world->told[told].one == now[0] && world->told[told].two == now[1]));
        told++;
    }
    assert_int_equal(told, world->told_count);
}

static void whatever_comes_first_rows_become_what_they_were(void **state)
{
    static struct change changes[2][CHANGES];

    (void)state;
    uint64_t random = seed_of_run("values in any order");
    for (uint64_t round = 0; round < rounds_of_run(50); round++) {
        struct world *world = new_world();
        size_t said[2] = {0};
        for (uint32_t i = 0; i < 2; i++) {
            make_changes(&random, i, changes[i]);
            said_all(world, (int)i, 0);
        }
        while (said[0] < CHANGES || said[1] < CHANGES) {
            uint32_t machine = (uint32_t)random_below(&random, 2);
            say_some(world, machine, changes[machine], &said[machine], random_below(&random, 40));
        }
        said_all(world, 0, SECOND);
        said_all(world, 1, SECOND);
        check_told(world, changes);
        free_world(world);
    }
}

/* db1's queue got short before web1's got long, but that is on its way. */
static struct world *world_with_a_value_that_waits(void)
{
    struct world *world = new_world();

    said_all(world, 0, 0);
    said_all(world, 1, 0);
    say_length(world, 1, 1, 30);
    said_all(world, 0, 2);
    said_all(world, 1, 2);
    say_length(world, 0, 40, 30);
    said_all(world, 0, 50);
    assert_int_equal(0, world->told_count);
    return world;
}

static void an_end_does_not_make_values_known_before_their_turn(void **state)
{
    struct world *world = world_with_a_value_that_waits();

    (void)state;
    central_ended(world->central, 0, "Q", 100);
    assert_int_equal(1, world->told_count);
    assert_int_equal(VIEW_UNCLEAR, world->told[0].kind);
    say_length(world, 1, 35, 10);
    said_all(world, 1, 45);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_GONE, world->told[1].kind);
    assert_int_equal(0, world->notified);
    free_world(world);
}

static void nor_does_a_machine_that_is_lost(void **state)
{
    struct world *world = world_with_a_value_that_waits();

    (void)state;
    central_lost(world->central, 1);
    assert_int_equal(0, world->notified);
    assert_int_equal(VIEW_GONE, world->told[world->told_count - 1].kind);
    free_world(world);
}

static void nor_does_the_end_of_all(void **state)
{
    struct world *world = world_with_a_value_that_waits();

    (void)state;
    central_finish(world->central);
    assert_int_equal(1, world->told_count);
    assert_int_equal(VIEW_UNCLEAR, world->told[0].kind);
    assert_int_equal(0, world->notified);
    free_world(world);
}

/* ---- who is late ---- */

static void a_row_of_a_machine_that_is_late_is_unknown(void **state)
{
    struct world *world = new_world();

    (void)state;
    world->begin -= 10 * SECOND;
    say_length(world, 0, 10, 30);
    say_length(world, 1, 20, 30);
    assert_int_equal(1, world->told_count);
    assert_int_equal(VIEW_APPEARED, world->told[0].kind);
    said_all(world, 0, 10 * SECOND);
    said_all(world, 1, 30);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_UNCLEAR, world->told[1].kind);
    assert_string_equal(
        world->note, "db1: its values arrive more than 2 s late: views that use them are unknown");
    say_length(world, 1, SECOND, 3); /* late: what the row becomes is told when db1 is in time */
    say_length(world, 1, 2 * SECOND, 31);
    assert_int_equal(2, world->told_count);
    said_all(world, 1, 10 * SECOND);
    assert_string_equal(world->note, "db1: its values arrive in time again");
    assert_int_equal(3, world->told_count);
    assert_int_equal(VIEW_APPEARED, world->told[2].kind);
    assert_true(world->told[2].two == 31);
    free_world(world);
}

static void what_a_row_became_while_unknown_has_the_time_of_its_values(void **state)
{
    struct world *world = new_world();

    (void)state;
    world->begin -= 10 * SECOND;
    said_all(world, 0, 10 * SECOND);
    said_all(world, 1, 0);
    assert_int_equal(VIEW_UNCLEAR, world->told[0].kind);
    say_length(world, 0, 1 * SECOND, 30);
    say_length(world, 1, 2 * SECOND, 31);
    said_all(world, 1, 10 * SECOND);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_APPEARED, world->told[1].kind);
    assert_true(world->told[1].time == world->begin + 2 * SECOND);
    assert_int_equal(1, world->notified);
    free_world(world);
}

/* While web1 was late, values of db1 were evaluated; what web1 had at their time is on its way when it is in time again. */
static void a_row_is_unknown_until_who_was_late_has_caught_up(void **state)
{
    struct world *world = new_world();
    const uint64_t now = 10 * SECOND;

    (void)state;
    world->begin -= now;
    said_all(world, 0, 0);
    said_all(world, 1, now);
    assert_int_equal(VIEW_UNCLEAR, world->told[0].kind);
    say_length(world, 1, now - SECOND / 10, 30);
    said_all(world, 1, now);
    say_length(world, 0, now - SECOND / 3, 30); /* until now - 0.2 s: never both */
    said_all(world, 0, now - SECOND / 4);
    assert_string_equal(world->note, "web1: its values arrive in time again");
    assert_int_equal(1, world->told_count);
    say_length(world, 0, now - SECOND / 5, 10);
    said_all(world, 0, now);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_GONE, world->told[1].kind);
    assert_int_equal(0, world->notified);
    free_world(world);
}

static void who_has_dropped_values_is_unknown_until_it_has_said_all(void **state)
{
    struct world *world = new_world();

    (void)state;
    said_all(world, 0, 0);
    said_all(world, 1, 0);
    central_dropped(world->central, 1, 12345);
    assert_int_equal(1, world->told_count);
    assert_int_equal(VIEW_UNCLEAR, world->told[0].kind);
    said_all(world, 1, 1);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_GONE, world->told[1].kind);
    assert_string_equal(world->note,
                        "db1: its values arrive in time again; 12345 values were dropped");
    assert_int_equal(2, world->notes);
    central_dropped(world->central, 1, 1);
    said_all(world, 1, 2);
    assert_string_equal(world->note, "db1: its values arrive in time again; 1 value was dropped");
    free_world(world);
}

/* What web1 said meanwhile is an hour ahead. */
static void values_count_again_once_a_clock_that_was_set_is_known(void **state)
{
    struct world *world = new_world();

    (void)state;
    said_all(world, 0, 0);
    said_all(world, 1, 0);
    say_length(world, 0, 3600 * SECOND, 3);
    central_clock_set(world->central, 0);
    assert_int_equal(1, world->told_count);
    assert_int_equal(VIEW_UNCLEAR, world->told[0].kind);
    say_length(world, 0, 10, 30);
    say_length(world, 1, 20, 31);
    for (uint32_t i = 0; i < 2; i++)
        central_answer(world->central, world->row, i, world->begin + 30, NULL, 0);
    for (int i = 0; i < 2; i++)
        said_all(world, i, SECOND);
    assert_int_equal(2, world->told_count);
    assert_int_equal(VIEW_APPEARED, world->told[1].kind);
    assert_int_equal(1, world->notified);
    free_world(world);
}

/* ---- instances ---- */

#define DEFINITION                                                                                 \
    "ATTRIBUTE DEFINITION FOR OBJECT Q\n len: length;\n AT \"changed\";\nEND ATTRIBUTE DEF\n"

/* The kernel cuts names of processes after 15 bytes. */
static void a_long_name_is_that_of_a_process_whose_name_was_cut(void **state)
{
    struct world *world = new_world_of(
        DEFINITION "VIEW DEF Long (one: Q[\"elasticsearch-server\"].len)\n"
                   " ACTIVE WHEN Q[\"elasticsearch-server\"].len > 24;\nEND VIEW DEF\n");

    (void)state;
    central_appeared(world->central, 0, "Q", 6, "elasticsearch");
    assert_int_equal(0, world->bound);
    central_appeared(world->central, 0, "Q", 7, "elasticsearch-s");
    assert_int_equal(7, world->bound);
    free_world(world);
}

static void a_view_has_a_plan_while_an_instance_lives(void **state)
{
    struct world *world = new_world_of(
        DEFINITION "VIEW DEF Each (one: Q[*].len)\n ACTIVE WHEN Q[*].len > 24;\nEND VIEW DEF\n");

    (void)state;
    assert_null(central_plan(world->central, 0));
    central_appeared(world->central, 0, "Q", 6, "q");
    central_appeared(world->central, 1, "Q", 7, "q");
    central_ended(world->central, 1, "Q", 7);
    assert_non_null(central_plan(world->central, 0));
    central_ended(world->central, 0, "Q", 6);
    assert_null(central_plan(world->central, 0));
    free_world(world);
}

/* Of the only instance, as its resident monitor reports it, wherever the plan has the predicate evaluated. */
static void say_only(struct world *world, double length)
{
    const struct view_value value = {.kind = VIEW_IS_NUMBER, .number = length};
    uint64_t now = clock_now(CLOCK_REALTIME);

    central_record(world->central, world->row, 0, now, 0, &value, 1);
    central_result(world->central, world->row, length > 24, now, &value, length > 24 ? 1 : 0);
}

static void check_several(void *context, const struct central_row_state *state)
{
    assert_int_equal(*(const bool *)context, state->several != NULL);
    assert_false(state->late);
}

static void check_kind(const struct world *world, size_t count, enum view_change_kind kind)
{
    const bool several = kind == VIEW_UNCLEAR;

    assert_int_equal(count, world->told_count);
    assert_int_equal(kind, world->told[count - 1].kind);
    central_each_row(world->central, 0, check_several, (void *)(uintptr_t)&several);
}

/* A server forks a child of the same name: for a moment nothing says which one is meant. */
static void a_child_of_the_same_name_does_not_notify_again(void **state)
{
    struct world *world =
        new_world_of(DEFINITION "VIEW DEF Only (one: Q.len)\n ACTIVE WHEN Q.len > 24;\n"
                                " NOTIFY COMMAND \"true\" WITHIN 2 S;\nEND VIEW DEF\n");

    (void)state;
    central_appeared(world->central, 0, "Q", 6, "q");
    say_only(world, 30);
    check_kind(world, 1, VIEW_APPEARED);
    central_appeared(world->central, 0, "Q", 7, "q");
    check_kind(world, 2, VIEW_UNCLEAR);
    assert_int_equal(0, world->bound);
    say_only(world, 0);
    central_ended(world->central, 0, "Q", 7);
    assert_int_equal(6, world->bound);
    assert_int_equal(2, world->told_count); /* its values are on their way */
    const struct view_value unknown = {.kind = VIEW_UNKNOWN};
    const struct view_value known = {.kind = VIEW_IS_NUMBER, .number = 31};
    central_answer(world->central, world->row, 0, clock_now(CLOCK_REALTIME), &unknown, 1);
    assert_int_equal(2, world->told_count);
    assert_int_equal(1, world->reads);
    central_review(world->central, clock_now(CLOCK_MONOTONIC));
    assert_int_equal(2, world->reads); /* it is asked again */
    say_only(world, 31);
    central_answer(world->central, world->row, 0, clock_now(CLOCK_REALTIME), &known, 1);
    check_kind(world, 3, VIEW_APPEARED);
    assert_int_equal(1, world->notified);

    central_appeared(world->central, 0, "Q", 8, "q"); /* this one stays */
    check_kind(world, 4, VIEW_UNCLEAR);
    say_only(world, 0);
    central_ended(world->central, 0, "Q", 6);
    assert_int_equal(8, world->bound);
    say_only(world, 32);
    central_answer(world->central, world->row, 0, clock_now(CLOCK_REALTIME), NULL, 0);
    check_kind(world, 5, VIEW_APPEARED);
    assert_int_equal(2, world->notified);
    free_world(world);
}

/* Nothing else would ever say that its pointer is 0. */
static void a_value_that_is_never_known_does_not_leave_a_row_unknown(void **state)
{
    struct world *world =
        new_world_of(DEFINITION "VIEW DEF Only (one: Q.len)\n ACTIVE WHEN Q.len > 24;\n"
                                "END VIEW DEF\n");
    const struct view_value unknown = {.kind = VIEW_UNKNOWN};

    (void)state;
    central_appeared(world->central, 0, "Q", 6, "q");
    say_only(world, 30);
    central_appeared(world->central, 0, "Q", 7, "q");
    say_only(world, 0);
    central_ended(world->central, 0, "Q", 7);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < 4; i++) { /* two readings would take 2 s */
        central_review(world->central, now + i * SECOND);
        central_answer(world->central, world->row, 0, clock_now(CLOCK_REALTIME), &unknown, 1);
        assert_int_equal(2, world->told_count); /* unknown */
    }
    central_review(world->central, now + 6 * SECOND);
    central_answer(world->central, world->row, 0, clock_now(CLOCK_REALTIME), &unknown, 1);
    check_kind(world, 3, VIEW_GONE);
    free_world(world);
}

/* The other condition is enough. */
static void several_of_an_entity_that_is_not_needed_leave_a_row_known(void **state)
{
    struct world *world =
        new_world_of(DEFINITION "VIEW DEF Either (one: Q[\"a\"].len)\n ACTIVE WHEN Q[\"a\"].len "
                                "> 24 OR Q[\"b\"].len > 24;\nEND VIEW DEF\n");

    (void)state;
    central_appeared(world->central, 0, "Q", 6, "a");
    central_appeared(world->central, 0, "Q", 7, "b");
    central_appeared(world->central, 0, "Q", 8, "b");
    assert_int_equal(0, world->told_count);
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_waits_for_earlier_ones_of_the_other_machine),
        cmocka_unit_test(whatever_comes_first_rows_become_what_they_were),
        cmocka_unit_test(an_end_does_not_make_values_known_before_their_turn),
        cmocka_unit_test(nor_does_a_machine_that_is_lost),
        cmocka_unit_test(nor_does_the_end_of_all),
        cmocka_unit_test(a_row_of_a_machine_that_is_late_is_unknown),
        cmocka_unit_test(what_a_row_became_while_unknown_has_the_time_of_its_values),
        cmocka_unit_test(a_row_is_unknown_until_who_was_late_has_caught_up),
        cmocka_unit_test(who_has_dropped_values_is_unknown_until_it_has_said_all),
        cmocka_unit_test(values_count_again_once_a_clock_that_was_set_is_known),
        cmocka_unit_test(a_long_name_is_that_of_a_process_whose_name_was_cut),
        cmocka_unit_test(a_view_has_a_plan_while_an_instance_lives),
        cmocka_unit_test(a_child_of_the_same_name_does_not_notify_again),
        cmocka_unit_test(a_value_that_is_never_known_does_not_leave_a_row_unknown),
        cmocka_unit_test(several_of_an_entity_that_is_not_needed_leave_a_row_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
