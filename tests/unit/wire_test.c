/* SPDX-License-Identifier: MIT */
/* wire_test.c: plans and values come out of JSON as they went in; what is damaged is refused. */
#include "monitor/central.h"
#include "monitor/states.h"
#include "monitor/wire.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seeded.h"

static const char text[] =
    "VIEW DEF V (a: 1) ACTIVE WHEN Q[1].a > 1 AND Q[2].a > 1 AND R.b = \"x\"; "
    "END VIEW DEF VIEW DEF W (a: 1) ACTIVE WHEN Q[1].a > 1 AND Q[1].b < 2; END VIEW DEF";

/* As it is on the way: written and read again. */
static json_t *carried(json_t *json)
{
    char *line = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    json_t *read = json_loads(line, JSON_DECODE_ANY, NULL);

    assert_non_null(read);
    free(line);
    json_decref(json);
    return read;
}

static struct view_file *parse(void)
{
    struct view_file *file = NULL;

    assert_int_equal(0, view_parse("wire", text, strlen(text), &file, NULL));
    assert_int_equal(3, file->views[0].entity_count);
    return file;
}

static struct view_plan random_plan(uint64_t *random, const struct view *view)
{
    struct view_plan plan = {.top = (enum view_site)random_below(random, VIEW_SITES),
                             .period = (double)random_below(random, 1000000000)};

    for (size_t i = 0; i < view->entity_count; i++) {
        plan.parts[i].collection = (enum view_collection)random_below(random, VIEW_COLLECTIONS);
        plan.parts[i].evaluates = (enum view_site)random_below(random, VIEW_SITES);
    }
    return plan;
}

static void plans_survive(void **state)
{
    uint64_t random = seed_of_run("plans as JSON");
    struct view_file *file = parse();
    const struct view *view = &file->views[0];

    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct view_plan plan = random_plan(&random, view), taken;
        json_t *json = carried(wire_plan(view, &plan));
        assert_int_equal(0, wire_take_plan(json, view, &taken));
        assert_int_equal(plan.top, taken.top);
        assert_true(plan.period == taken.period);
        for (size_t i = 0; i < view->entity_count; i++) {
            assert_int_equal(plan.parts[i].collection, taken.parts[i].collection);
            assert_int_equal(plan.parts[i].evaluates, taken.parts[i].evaluates);
        }
        json_decref(json);
    }
    view_file_free(file);
}

/* Each member is taken away, or is of another type. */
static void damaged_plans_are_refused(void **state)
{
    static const char *const keys[] = {"top", "instances"}, *const parts[] = {"collection",
                                                                              "evaluated"};
    struct view_file *file = parse();
    const struct view *view = &file->views[0];
    struct view_plan plan = {.top = VIEW_IN_CENTRAL}, taken = {.period = 7};

    (void)state;
    for (int i = 0; i < 4; i++) {
        json_t *json = wire_plan(view, &plan);
        json_t *part = json_array_get(json_object_get(json, "instances"), 2);
        json_object_set_new(i < 2 ? json : part, i < 2 ? keys[i] : parts[i - 2], json_integer(1));
        assert_int_equal(-EINVAL, wire_take_plan(json, view, &taken));
        json_object_del(i < 2 ? json : part, i < 2 ? keys[i] : parts[i - 2]);
        assert_int_equal(-EINVAL, wire_take_plan(json, view, &taken));
        json_decref(json);
    }
    json_t *json = wire_plan(view, &plan);
    json_object_set_new(json, "period", json_real(-1));
    assert_int_equal(-EINVAL, wire_take_plan(json, view, &taken));
    json_object_set_new(json, "period", json_real(1));
    json_array_remove(json_object_get(json, "instances"), 0);
    assert_int_equal(-EINVAL, wire_take_plan(json, view, &taken));
    assert_int_equal(-EINVAL, wire_take_plan(NULL, view, &taken));
    assert_true(taken.period == 7); /* an error writes nothing */
    json_decref(json);
    view_file_free(file);
}

static void check_values(const struct view_value *values, size_t count)
{
    struct view_value taken[VIEW_REFERENCES_MOST];
    json_t *json = carried(wire_values(values, count));

    assert_int_equal(0, wire_take_values(json, count, taken));
    assert_int_equal(-EINVAL, wire_take_values(json, count + 1, taken));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(values[i].kind, taken[i].kind);
        if (values[i].kind == VIEW_IS_NUMBER)
            assert_true(values[i].number == taken[i].number);
        if (values[i].kind == VIEW_IS_TEXT)
            assert_string_equal(values[i].text, taken[i].text);
    }
    json_decref(json);
}

static void values_survive(void **state)
{
    static const char *const texts[] = {"", "full", "it's \"q\"", "gr\xc3\xbc\xc3\x9f",
                                        "a\nb\t\x01"};
    uint64_t random = seed_of_run("values as JSON");
    struct view_value values[VIEW_REFERENCES_MOST];

    (void)state;
    for (int round = 0; round < 1000; round++) {
        size_t count = random_below(&random, VIEW_REFERENCES_MOST + 1);
        for (size_t i = 0; i < count; i++) {
            values[i] = (struct view_value){.kind = (enum view_value_kind)random_below(&random, 3)};
            if (values[i].kind == VIEW_IS_NUMBER)
                values[i].number = ((double)random_number(&random) - 9e18) /
                                   (double)(1ull << random_below(&random, 64));
            if (values[i].kind == VIEW_IS_TEXT)
                values[i].text = texts[random_below(&random, ARRAY_SIZE(texts))];
        }
        check_values(values, count);
    }
    json_t *json = json_pack("[{}]");
    assert_int_equal(-EINVAL, wire_take_values(json, 1, values));
    json_decref(json);
}

/* A text that is no UTF-8 is unknown elsewhere, not an error. */
static void rates_survive(void **state)
{
    static const char *const wrong[] = {"[7, 1, 1, 1, 1]",
                                        "[7, 16, 1, 1, 1, 1, false]",
                                        "[-1, 1, 1, 1, 1, 1, false]",
                                        "[7, 1, \"1\", 1, 1, 1, 0]",
                                        "[7, 1, -2, 1, 1, 1, false]",
                                        "[7, 1, 1e13, 1, 1, 1, 0]",
                                        "{}",
                                        "[]"};
    const struct row_rate rate = {
        .changes = -1, .records = 4400, .handed = 4400.5, .lost = 3, .sensor_passes = true};
    struct row_rate taken;
    uint32_t row, entity;
    json_t *json = wire_rate(70, 1, &rate);

    (void)state;
    assert_int_equal(0, wire_take_rate(json, &row, &entity, &taken));
    json_decref(json);
    assert_true(row == 70 && entity == 1 && taken.changes == rate.changes &&
                taken.records == rate.records && taken.handed == rate.handed &&
                taken.lost == rate.lost && taken.sensor_passes);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        json = json_loads(wrong[i], 0, NULL);
        assert_int_equal(-EINVAL, wire_take_rate(json, &row, &entity, &taken));
        json_decref(json);
    }
}

static void other_texts_are_unknown(void **state)
{
    const struct view_value value = {.kind = VIEW_IS_TEXT, .text = "\xff"};
    struct view_value taken;
    json_t *json = wire_values(&value, 1);

    (void)state;
    assert_int_equal(0, wire_take_values(json, 1, &taken));
    assert_int_equal(VIEW_UNKNOWN, taken.kind);
    json_decref(json);
}

/* Sensors read 127 bytes, which may end within a character. */
static void a_text_that_was_cut_has_whole_characters(void **state)
{
    static const char *const characters[] = {"\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    char cut[WIRE_TEXT_MOST + 1], expected[WIRE_TEXT_MOST + 1];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(characters); i++)
        for (size_t had = 0; had <= strlen(characters[i]); had++) {
            const size_t before = WIRE_TEXT_MOST - had;
            memset(cut, 'x', sizeof(cut));
            memcpy(cut + before, characters[i], had);
            cut[WIRE_TEXT_MOST] = '\0';
            snprintf(expected, sizeof(expected), "%.*s",
                     (int)(had == strlen(characters[i]) ? WIRE_TEXT_MOST : before), cut);
            json_t *json = wire_text(cut);
            assert_string_equal(expected, json_string_value(json));
            json_decref(json);
        }
}

/* The members that steps of this kind have. */
static struct row_step random_step(uint64_t *random, enum row_step_kind kind,
                                   const struct view_plan *plan)
{
    bool of_view = kind == STEP_TURN || kind == STEP_CONSTANT;
    bool of_entity =
        kind == STEP_BIND || kind == STEP_PROBE || kind == STEP_RELEASE || kind == STEP_READ;

    return (struct row_step){
        .kind = kind,
        .row = of_view ? 0 : (uint32_t)random_number(random),
        .view = of_view || kind == STEP_OPEN ? (uint32_t)random_below(random, 2) : 0,
        .plan = plan,
        .entity = of_entity ? (uint32_t)random_number(random) : 0,
        .pid = kind == STEP_BIND ? (pid_t)random_below(random, INT32_MAX) : 0,
        .on = kind == STEP_TURN && random_below(random, 2) == 0,
        .index = kind == STEP_CONSTANT ? (uint32_t)random_below(random, 2) : 0,
        .value = kind == STEP_CONSTANT ? (double)random_number(random) / 1024 - 1e15 : 0,
    };
}

static void check_step(const struct row_step *step, const struct view_file *file)
{
    struct view_plan plan;
    struct row_step taken;
    struct problem problem = {""};
    json_t *json = carried(wire_step(file, step));

    if (wire_take_step(json, file, &taken, &plan, &problem) < 0)
        fail_msg("%s", problem.text);
    assert_int_equal(step->kind, taken.kind);
    assert_int_equal(step->row, taken.row);
    assert_int_equal(step->view, taken.view);
    assert_int_equal(step->entity, taken.entity);
    assert_int_equal(step->pid, taken.pid);
    assert_int_equal(step->on, taken.on);
    assert_int_equal(step->index, taken.index);
    assert_true(step->value == taken.value);
    for (size_t i = 0; step->kind == STEP_OPEN && i < file->views[step->view].entity_count; i++) {
        assert_ptr_equal(&plan, taken.plan);
        assert_int_equal(step->plan->parts[i].collection, plan.parts[i].collection);
        assert_int_equal(step->plan->parts[i].evaluates, plan.parts[i].evaluates);
    }
    json_decref(json);
}

static void steps_survive(void **state)
{
    uint64_t random = seed_of_run("steps as JSON");
    struct view_file *file = parse();

    (void)state;
    for (int round = 0; round < 1000; round++)
        for (enum row_step_kind kind = 0; kind < STEP_KINDS; kind++) {
            struct view_plan plan;
            struct row_step step = random_step(&random, kind, &plan);
            plan = random_plan(&random, &file->views[step.view]);
            check_step(&step, file);
        }
    view_file_free(file);
}

/* The error names the member and its value. */
static void other_steps_are_refused(void **state)
{
    static const struct {
        const char *step, *says;
    } cases[] = {
        {"7", "view.steps: there is no step ''"},
        {"[\"jump\", 3]", "view.steps: there is no step 'jump'"},
        {"[\"close\"]", "close: ROW is missing, not a whole number from 0 to 4294967295"},
        {"[\"close\", -1]", "close: ROW is -1, not"},
        {"[\"bind\", 3, 1, \"812\"]",
         "bind: PID is \"812\", not a whole number from 0 to 2147483647"},
        {"[\"bind\", 3, 1.5, 812]", "bind: ENTITY is 1.5, not"},
        {"[\"bind\", 3, 1]", "bind: PID is missing, not"},
        {"[\"read\", 3]", "read: ENTITY is missing, not"},
        {"[\"turn\", 2, true]", "turn: VIEW is 2, not a whole number from 0 to 1"},
        {"[\"turn\", 1, 1]", "turn: ON is 1, not true or false"},
        {"[\"constant\", 0, 5, 1]", "constant: INDEX is 5, not a constant of its view"},
        {"[\"constant\", 0, 0, null]", "constant: VALUE is null, not a number"},
        {"[\"open\", 1, 0, {}]", "open: PLAN is {}, not one of its view"},
        {"[\"probe\", 3, \"\\u00e9\\u001b\"]", "probe: ENTITY is \"\\u00E9\\u001B\", not"},
    };
    struct view_file *file = parse();
    struct row_step step = {.row = 7};
    struct view_plan plan;
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *json = json_loads(cases[i].step, JSON_DECODE_ANY, NULL);
        assert_non_null(json);
        assert_int_equal(-EINVAL, wire_take_step(json, file, &step, &plan, &problem));
        if (strstr(problem.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].step, problem.text);
        json_decref(json);
    }
    assert_int_equal(7, step.row); /* an error writes nothing */
    view_file_free(file);
}

static void numbers_have_bounds(void **state)
{
    json_t *json =
        json_pack("{s:i, s:i, s:f, s:s}", "a", 7, "negative", -1, "real", 1.0, "text", "7");
    uint64_t number = 3;

    (void)state;
    assert_int_equal(-EINVAL, wire_take_number(json, "a", 6, &number));
    assert_int_equal(-EINVAL, wire_take_number(json, "negative", 6, &number));
    assert_int_equal(-EINVAL, wire_take_number(json, "real", 6, &number));
    assert_int_equal(-EINVAL, wire_take_number(json, "text", 6, &number));
    assert_int_equal(-EINVAL, wire_take_number(json, "none", 6, &number));
    assert_int_equal(3, number);
    assert_int_equal(0, wire_take_number(json, "a", 7, &number));
    assert_int_equal(7, number);
    json_decref(json);
}

/* ---- for readers ---- */

static void check_json(json_t *json, const char *expected)
{
    char *made = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

    assert_string_equal(expected, made);
    free(made);
    json_decref(json);
}

static void whole_numbers_are_integers(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{25, "25"},
                 {-3, "-3"},
                 {1234567890123456.0, "1234567890123456"},
                 {2.5, "2.5"},
                 {0x1p54, "18014398509481984.0"},
                 {INFINITY, "null"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_json(view_value_json(
                       &(struct view_value){.kind = VIEW_IS_NUMBER, .number = cases[i].number}),
                   cases[i].text);
    check_json(view_value_json(&(struct view_value){.kind = VIEW_UNKNOWN}), "null");
}

static void texts_that_are_no_utf8_are_shown(void **state)
{
    (void)state;
    check_json(view_text_json("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
    check_json(view_text_json("gr\xc3\xbc\xc3"), "\"gr???\"");
    check_json(view_value_json(&(struct view_value){.kind = VIEW_IS_TEXT, .text = "\xff"}),
               "\"?\"");
}

static void what_is_not_known_is_neither_active_nor_inactive(void **state)
{
    const struct view_entity entity = {0};
    const struct central_row_state active = {.active = true}, inactive = {0}, late = {.late = true};
    const struct central_row_state changing = {.changing = true}, missing = {.missing = &entity};

    (void)state;
    assert_string_equal("active", view_row_state(&active, true));
    assert_string_equal("inactive", view_row_state(&inactive, true));
    assert_string_equal("unknown", view_row_state(&active, false));
    assert_string_equal("unknown", view_row_state(&late, true));
    assert_string_equal("unknown", view_row_state(&changing, true));
    assert_string_equal("unknown", view_row_state(&missing, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_survive),
        cmocka_unit_test(damaged_plans_are_refused),
        cmocka_unit_test(values_survive),
        cmocka_unit_test(a_text_that_was_cut_has_whole_characters),
        cmocka_unit_test(other_texts_are_unknown),
        cmocka_unit_test(rates_survive),
        cmocka_unit_test(numbers_have_bounds),
        cmocka_unit_test(steps_survive),
        cmocka_unit_test(other_steps_are_refused),
        cmocka_unit_test(whole_numbers_are_integers),
        cmocka_unit_test(texts_that_are_no_utf8_are_shown),
        cmocka_unit_test(what_is_not_known_is_neither_active_nor_inactive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
