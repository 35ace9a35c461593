/* SPDX-License-Identifier: MIT */
/*
 * strips_test.c: what a monitor says becomes strips: states as JSON in, lines of text and the page's JSON out. The answers are
 * what src/monitor/states.c prints, shortened.
 */
#include "strips/strips.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1000000000ll

/* A view with one row. */
static const char *view(const char *name, const char *row, const char *more)
{
    static char text[4][1024];
    static unsigned turn;
    char *to = text[turn++ % 4];

    snprintf(to, sizeof(text[0]),
             "{\"view\":\"%s\",\"predicate\":\"Q.size >= 15\",\"on\":true,\"rows\":[%s],"
             "\"rows_left_out\":0,\"rows_quiet\":0,\"delay\":2000000%s}",
             name, row, more);
    return to;
}

static const char notifies[] =
    ",\"correct\":25000000,\"correct_is\":\"kept\",\"within\":875000000,\"receiver\":\"me port "
    "119\",\"notifications\":{\"queued\":5,\"sent\":4,\"late\":1,\"latest\":12000000,\"dropped\":"
    "1}";

/* An answer at this second. */
static int take(struct strips *strips, int second, const char *views, const char *changes,
                const char *more)
{
    char line[8192];
    static int last;

    last += 10;
    int size = snprintf(line, sizeof(line),
                        "{\"id\":1,\"result\":{\"time\":%lld,\"begin\":0,\"behind\":0,\"lost\":0,"
                        "\"unread\":0,\"machines\":[],\"views\":[%s],\"changes\":[%s],\"missed\":0,"
                        "\"last\":%d%s}}",
                        second * SECOND, views, changes, last, more);
    return strips_take(strips, line, (size_t)size);
}

static const char none_left[] = ",\"more\":false";

/* "name|state|since|times|notified|values|past" of each row. */
static const char *drawn(const struct strips *strips)
{
    static char text[2048];
    struct strip_cells cells;

    text[0] = '\0';
    for (size_t i = 0; strips_row(strips, i, &cells); i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s|%s|%s|%s|%s|%s|%s\n", cells.name,
                 cells.state, cells.since, cells.times, cells.notified, cells.values, cells.past);
    }
    return text;
}

#define INACTIVE "{\"state\":\"inactive\",\"since\":1000000000,\"times\":0}"
#define ACTIVE                                                                                     \
    "{\"state\":\"active\",\"since\":3500000000,\"times\":1,\"values\":{\"size\":17.0,\"who\":"    \
    "\"a\\nb\",\"x\":null}}"
#define CHANGE_ACTIVE                                                                              \
    "{\"number\":1,\"time\":3500000000,\"view\":\"Long\",\"change\":\"active\",\"notified\":true," \
    "\"values\":{\"size\":15.0}}"
#define CHANGE_INACTIVE                                                                            \
    "{\"number\":2,\"time\":4200000000,\"view\":\"Long\",\"change\":\"inactive\"}"

#define MEASURED(load, replanned)                                                                  \
    ",\"measured\":{\"changes\":4400.0,\"load\":" load ",\"replanned\":" replanned                 \
    ",\"why\":\"Q[1] changes 4400 times/s\"}"

static void test_a_strip(void **state)
{
    struct strips *strips = strips_new("4711");
    char details[STRIPS_DETAILS_SIZE];

    (void)state;
    assert_string_equal("", drawn(strips));
    assert_int_equal(0, take(strips, 2, view("Long", INACTIVE, notifies), "", none_left));
    strips_tick(strips);
    assert_string_equal("Long|inactive|1.00 s|0|3 of 5||.\n", drawn(strips));
    assert_int_equal(0, take(strips, 4, view("Long", ACTIVE, notifies), CHANGE_ACTIVE, none_left));
    strips_tick(strips);
    assert_string_equal("Long|active|500 ms|1|3 of 5|size: 17  who: a?b  x: unknown|.!\n",
                        drawn(strips));
    /* active and inactive between two intervals is seen; a notification is marked once */
    assert_int_equal(0,
                     take(strips, 5, view("Long", INACTIVE, notifies), CHANGE_INACTIVE, none_left));
    strips_tick(strips);
    assert_int_equal(0, take(strips, 6, view("Long", ACTIVE, ""), "", none_left));
    strips_tick(strips);
    assert_non_null(strstr(drawn(strips), "|.!.#\n"));
    strips_details(strips, 0, details);
    assert_string_equal("Long:", details);
    take(strips, 7, view("Long", ACTIVE, notifies), "", none_left);
    strips_details(strips, 0, details);
    assert_string_equal(
        "Long:  CORRECT 25.0 ms kept  WITHIN 875 ms: 1 late by up to 12.0 ms, 1 dropped", details);
    take(strips, 7, view("Long", ACTIVE, ",\"correct\":25000000,\"correct_is\":\"doubtful\""), "",
         none_left);
    strips_details(strips, 0, details);
    assert_string_equal("Long:  CORRECT 25.0 ms perhaps not kept: records were lost", details);
    take(strips, 8, view("Long", ACTIVE, MEASURED("3.7", "0")), "", none_left);
    strips_details(strips, 0, details);
    assert_string_equal("Long:  cannot be kept: Q[1] changes 4400 times/s", details);
    take(strips, 9, view("Long", ACTIVE, MEASURED("0.5", "1")), "", none_left);
    strips_details(strips, 0, details);
    assert_string_equal("Long:  the plan has changed: Q[1] changes 4400 times/s", details);
    take(strips, 10, view("Long", ACTIVE, MEASURED("1.0", "0")), "", none_left);
    strips_details(strips, 0, details);
    assert_string_equal("Long:", details);
    take(strips, 11,
         view("Long", ACTIVE,
              ",\"measured\":{\"changes\":4400.0,\"load\":3.7,\"replanned\":0,\"why\":\"\"}"),
         "", none_left);
    strips_details(strips, 0, details);
    assert_string_equal("Long:", details);
    strips_free(strips);
}

static void test_unknown(void **state)
{
    struct strips *strips = strips_new("4711");
    char text[STRIPS_DETAILS_SIZE];

    (void)state;
    take(strips, 5,
         view("Far",
              "{\"state\":\"unknown\",\"since\":1000000000,\"times\":2,\"reason\":\"no Q[2]\"}",
              ""),
         "", none_left);
    strips_tick(strips);
    assert_string_equal("Far|unknown|4.00 s|2||no Q[2]|?\n", drawn(strips));
    take(strips, 6, view("Far", INACTIVE, ""), "", none_left);
    strips_tick(strips);
    strips_warning(strips, text);
    assert_string_equal("", text);
    /* a monitor that is gone says nothing: what it said last is not true any more */
    strips_lose(strips, "the monitor has ended");
    strips_tick(strips);
    assert_string_equal("Far|unknown||0||the monitor has ended|?.?\n", drawn(strips));
    strips_warning(strips, text);
    assert_string_equal("4711: the monitor has ended", text);
    take(strips, 7, view("Far", INACTIVE, ""), "", none_left);
    assert_non_null(strstr(drawn(strips), "Far|inactive|"));
    strips_free(strips);
}

/* Rows that were never active are a line together, of which nothing is known either when the monitor has ended. */
static void test_never_active(void **state)
{
    static const char quiet[] = ",\"rows_quiet\":3"; /* the latter of two members counts */
    struct strips *strips = strips_new("4711");
    struct strip_cells cells;

    (void)state;
    take(strips, 5, view("Busy", "", quiet), "", none_left);
    assert_string_equal("Busy[*]|inactive||0||3 never active|\n", drawn(strips));
    strips_lose(strips, "the monitor has ended");
    assert_string_equal("Busy[*]|unknown||0||the monitor has ended|\n", drawn(strips));
    assert_true(strips_row(strips, 0, &cells) && cells.is_unknown);
    strips_free(strips);
}

#define NAMED(row, state)                                                                          \
    "{\"row\":\"" row "\",\"state\":\"" state "\",\"since\":1000000000,\"times\":1}"

/* Notifications are counted for each view: its first row has them. */
static void test_notified(void **state)
{
    struct strips *strips = strips_new("4711");
    char views[4096], more[1024];

    (void)state;
    snprintf(more, sizeof(more), "%s,\"rows_quiet\":3", notifies);
    snprintf(views, sizeof(views), "%s,%s,%s",
             view("Busy", NAMED("a", "active") "," NAMED("b", "inactive"), more),
             view("Long", INACTIVE, notifies), view("Idle", "", more));
    take(strips, 2, views, "", none_left);
    assert_string_equal("Busy[a]|active|1.00 s|1|3 of 5||\n"
                        "Busy[b]|inactive|1.00 s|1|||\n"
                        "Busy[*]|inactive||0||3 never active|\n"
                        "Long|inactive|1.00 s|0|3 of 5||\n"
                        "Idle[*]|inactive||0|3 of 5|3 never active|\n",
                        drawn(strips));
    strips_free(strips);
}

/* One record is not many. */
static void test_lost_records(void **state)
{
    static const char lost[] = ",\"lost\":1";
    struct strips *strips = strips_new("4711");
    char text[STRIPS_DETAILS_SIZE], more[64];

    (void)state;
    snprintf(more, sizeof(more), "%s%s", none_left, lost);
    take(strips, 2, view("Long", INACTIVE, ""), "", more);
    strips_warning(strips, text);
    assert_string_equal("1 record of sensors was lost: rows may be wrong", text);
    strips_free(strips);
}

static void test_rows_that_end(void **state)
{
    struct strips *strips = strips_new("4711");
    char quiet[1024];

    (void)state;
    snprintf(quiet, sizeof(quiet), "%s,%s", view("Long", ACTIVE, ""), view("Far", INACTIVE, ""));
    take(strips, 5, quiet, "", none_left);
    strips_tick(strips);
    take(strips, 6, view("Far", INACTIVE, ""), "", none_left);
    strips_tick(strips);
    assert_string_equal("Far|inactive|5.00 s|0|||..\n", drawn(strips));
    take(strips, 7, quiet, "", none_left);
    strips_tick(strips); /* it begins anew */
    assert_non_null(strstr(drawn(strips), "x: unknown|#\n"));
    strips_free(strips);
}

/* What the page gets: each change once; members that are not known are left out. */
static void test_json(void **state)
{
    struct strips *strips = strips_new("4711");

    (void)state;
    assert_null(strips_json(strips));
    take(strips, 4, view("Long", ACTIVE, ",\"evil\":\"<b>\""), CHANGE_ACTIVE,
         ",\"more\":true,\"evil\":1");
    take(strips, 5, view("Long", INACTIVE, ""), CHANGE_INACTIVE, none_left);
    json_t *json = strips_json(strips);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_null(strstr(text, "evil"));
    assert_int_equal(2, json_array_size(json_object_get(json, "changes")));
    assert_null(json_object_get(json, "unanswered"));
    free(text);
    json_decref(json);
    strips_lose(strips, "x");
    json = strips_json(strips);
    assert_int_equal(0, json_array_size(json_object_get(json, "changes")));
    assert_string_equal("x", json_string_value(json_object_get(json, "unanswered")));
    json_decref(json);
    strips_free(strips);
}

/* A monitor whose first answer is not understood is not passed over. */
static void test_never_answered(void **state)
{
    struct strips *strips = strips_new("4711");

    (void)state;
    strips_lose(strips, "x");
    json_t *json = strips_json(strips);
    assert_string_equal("x", json_string_value(json_object_get(json, "unanswered")));
    assert_true(json_is_array(json_object_get(json, "views")));
    assert_true(json_is_array(json_object_get(json, "machines")));
    assert_true(json_is_array(json_object_get(json, "changes")));
    json_decref(json);
    strips_free(strips);
}

/* What has another form is refused, and what was known stays. */
static void test_hostile(void **state)
{
    struct strips *strips = strips_new("4711");
    static const char *const wrong[] = {
        "", "{", "null", "{\"result\":null}", "{\"error\":\"no\"}", "{\"id\":1,\"result\":{}}"};

    (void)state;
    assert_int_equal(1, take(strips, 4, view("Long", ACTIVE, ""), "", ",\"more\":true"));
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(-EPROTO, strips_take(strips, wrong[i], strlen(wrong[i])));
    assert_int_equal(
        -EPROTO, take(strips, 5, view("Long", "{\"state\":\"maybe\",\"since\":1,\"times\":0}", ""),
                      "", none_left));
    assert_int_equal(-EPROTO,
                     take(strips, 5,
                          view("Long", "{\"state\":\"active\",\"since\":-1,\"times\":0}", ""), "",
                          none_left));
    assert_int_equal(-EPROTO, take(strips, 5, "", "", ",\"more\":1"));
    assert_int_equal(-EPROTO, take(strips, 5, view("Long", "1", ""), "", none_left));
    assert_non_null(strstr(drawn(strips), "Long|active|500 ms"));
    strips_free(strips);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_strip),      cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_never_active), cmocka_unit_test(test_notified),
        cmocka_unit_test(test_lost_records), cmocka_unit_test(test_rows_that_end),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_never_answered),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
