/* SPDX-License-Identifier: MIT */
/* top_table_test.c: lines of dpm top, of snapshots that are made here. */
#include "command/live/top_table.h"
#include "show/live/live_face.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WIDTH  80 /* columns: CPU, WAITED, REQ/S, P99, SENT/S */
#define SECOND 1000000000u
#define US     1000u

struct scene {
    struct live_row row[2]; /* before, and now */
    struct live_snapshot snapshot[2];
    struct top_look look;
};

/* A process, at the end of two intervals of a second. */
static void begin(struct scene *scene)
{
    *scene = (struct scene){0};
    top_look_init(&scene->look);
    scene->look.changes = true;
    for (size_t i = 0; i < 2; i++) {
        scene->row[i] =
            (struct live_row){.key = 7, .rows = 1, .name = "a[1]", .wait.kind = ELAPSED_UNKNOWN};
        scene->snapshot[i].length = SECOND;
        scene->snapshot[i].tables[LIVE_PROCESSES] =
            (struct live_rows){.at = &scene->row[i], .count = 1, .all = 1};
    }
}

static void check_line(const char *line, const char *name, const char *cells)
{
    char expected[TOP_LINE_SIZE];

    snprintf(expected, sizeof(expected), "%-20s%s", name, cells);
    assert_int_equal(0, strncmp(line, expected, strlen(expected)));
}

static void check_row(const struct scene *scene, const char *cells)
{
    char line[TOP_LINE_SIZE];

    top_row(&scene->look, &scene->snapshot[1], &scene->snapshot[0], &scene->row[1], WIDTH, line);
    check_line(line, "a[1]", cells);
}

/* An interval without requests has no P99: what comes after it is no change. */
static void test_changes_of_quantiles(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    scene.row[0].interval[LIVE_SENT] = 10;
    scene.row[1].interval[LIVE_SENT] = 30;
    scene.row[1].interval[LIVE_P99] = 188 * US;
    check_row(&scene, "     0%     0%      0      -    +20");
    scene.row[0].interval[LIVE_P99] = 88 * US;
    check_row(&scene, "     0%     0%      0 +100us    +20");
}

/* The others are not the same ones in each snapshot. */
static void test_changes_of_others(void **state)
{
    struct scene scene;
    char line[TOP_LINE_SIZE];

    (void)state;
    begin(&scene);
    for (size_t i = 0; i < 2; i++) {
        scene.snapshot[i].tables[LIVE_PROCESSES].others.rows = 3;
        scene.snapshot[i].tables[LIVE_PROCESSES].others.interval[LIVE_SENT] = 50;
    }
    assert_true(top_others(&scene.look, &scene.snapshot[1], WIDTH, line));
    check_line(line, "others (3)", "      -      -      -      -      -");
    scene.look.changes = false;
    assert_true(top_others(&scene.look, &scene.snapshot[1], WIDTH, line));
    check_line(line, "others (3)", "     0%     0%      0      -     50");
}

/* While no record comes, what threads do is not known; nor is how it differs from before. */
static void test_shares_while_nothing_comes(void **state)
{
    const char *const unknown = "      -      -      0      -      0";
    struct scene scene;

    (void)state;
    begin(&scene);
    scene.look.changes = false;
    scene.snapshot[1].stands = true;
    check_row(&scene, unknown);
    scene.look.changes = true;
    check_row(&scene, unknown);
    scene.snapshot[1].stands = false;
    scene.snapshot[0].stands = true;
    check_row(&scene, unknown);
}

/* What is not known of a row at all, as CPU time of a converted recording. */
static void test_unknown_values(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    scene.look.changes = false;
    scene.row[1].interval[LIVE_CPU] = SECOND / 2;
    scene.row[1].unknown = 1ull << LIVE_CPU;
    check_row(&scene, "      -     0%      0      -      0");
}

/* Threads without a record may have computed. */
static void test_silent_threads(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    scene.look.changes = false;
    scene.row[1].interval[LIVE_SILENT] = SECOND / 2 - 1;
    check_row(&scene, "     0%     0%      0      -      0 -");
    scene.row[1].interval[LIVE_SILENT] = SECOND / 2;
    check_row(&scene, "    0%+     0%      0      -      0 silent threads");
    scene.row[1].interval[LIVE_CPU] = SECOND / 4;
    scene.row[1].wait = (struct live_wait){.kind = ELAPSED_TIMER, .time = SECOND / 8};
    check_row(&scene, "   25%+     0%      0      -      0 timer, silent threads");
    scene.row[1].wait.is_silent = true;
    check_row(&scene, "   25%+     0%      0      -      0 (silent)");
    /* longer than it waited, but not for most of the interval */
    scene.row[1].interval[LIVE_SILENT] = SECOND / 2 - 1;
    check_row(&scene, "    25%     0%      0      -      0 timer");
}

/* A message is one of its sender; a peer is the peer itself. */
static void test_what_waits_are_for(void **state)
{
    struct live_wait wait = {
        .kind = ELAPSED_IN_FLIGHT, .time = SECOND, .call = NO_SYSTEM_CALL, .what = "app[12]"};
    char text[LIVE_WAIT_SIZE];

    (void)state;
    show_live_wait(&wait, text);
    assert_string_equal(text, "message of app[12]");
    wait = (struct live_wait){.kind = ELAPSED_OUTSIDE, .time = SECOND, .what = "10.0.0.7:5432"};
    show_live_wait(&wait, text);
    assert_string_equal(text, "unmonitored peer: 10.0.0.7:5432");
    wait.kind = ELAPSED_CONNECT;
    show_live_wait(&wait, text);
    assert_string_equal(text, "connecting: 10.0.0.7:5432");
}

/* Of a recording of hours, most of the others may have ended. */
static void test_others_that_have_ended(void **state)
{
    struct scene scene;
    char line[TOP_LINE_SIZE];

    (void)state;
    begin(&scene);
    struct live_rows *rows = &scene.snapshot[1].tables[LIVE_PROCESSES];
    rows->others.rows = 30;
    rows->others_ended = 30;
    assert_true(top_others(&scene.look, &scene.snapshot[1], WIDTH, line));
    check_line(line, "others (30 ended)", "      -");
    rows->others_ended = 9;
    assert_true(top_others(&scene.look, &scene.snapshot[1], WIDTH, line));
    check_line(line, "others (21)", "      -");
}

/* While CPUs do no more than rows say, they sleep. */
static void test_an_idle_machine(void **state)
{
    struct live_machine machines[2] = {{.hides_cpu = false}, {.hides_cpu = true}};
    struct scene scene;
    char line[TOP_LINE_SIZE];

    (void)state;
    begin(&scene);
    scene.look.changes = false;
    scene.row[1].interval[LIVE_SILENT] = SECOND;
    scene.snapshot[1].machines = machines;
    scene.snapshot[1].machine_count = 2;
    check_row(&scene, "     0%     0%      0      -      0 -");
    scene.row[1].machine = 1;
    check_row(&scene, "    0%+     0%      0      -      0 silent threads");
    struct live_row *others = &scene.snapshot[1].tables[LIVE_PROCESSES].others;
    others->rows = 3;
    others->interval[LIVE_SILENT] = SECOND;
    assert_true(top_others(&scene.look, &scene.snapshot[1], WIDTH, line));
    check_line(line, "others (3)", "    0%+     0%      0      -      0");
    machines[1].hides_cpu = false;
    assert_true(top_others(&scene.look, &scene.snapshot[1], WIDTH, line));
    check_line(line, "others (3)", "     0%     0%      0      -      0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_of_quantiles),
        cmocka_unit_test(test_changes_of_others),
        cmocka_unit_test(test_shares_while_nothing_comes),
        cmocka_unit_test(test_unknown_values),
        cmocka_unit_test(test_silent_threads),
        cmocka_unit_test(test_what_waits_are_for),
        cmocka_unit_test(test_others_that_have_ended),
        cmocka_unit_test(test_an_idle_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
