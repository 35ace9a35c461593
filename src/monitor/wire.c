/* SPDX-License-Identifier: MIT */
/* wire.c: plans and values as JSON. See wire.h. */
#include "monitor/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const collection_words[VIEW_COLLECTIONS] = {
    [VIEW_TRACED] = "traced", [VIEW_SAMPLED] = "sampled", [VIEW_PROBED] = "probed"};
static const char *const site_words[VIEW_SITES] = {
    [VIEW_IN_SENSOR] = "sensor", [VIEW_IN_RESIDENT] = "resident", [VIEW_IN_CENTRAL] = "central"};

/* ---- plans ---- */

json_t *wire_plan(const struct view *view, const struct view_plan *plan)
{
    json_t *parts = json_array();

    for (size_t i = 0; i < view->entity_count; i++)
        json_array_append_new(parts, json_pack("{s:s, s:s}", "collection",
                                               collection_words[plan->parts[i].collection],
                                               "evaluated", site_words[plan->parts[i].evaluates]));
    return json_pack("{s:s, s:f, s:o}", "top", site_words[plan->top], "period", plan->period,
                     "instances", parts);
}

/* The index of a member among the words, or -EINVAL. */
static int take_word(json_t *from, const char *key, const char *const *words, size_t count)
{
    const char *word = json_string_value(json_object_get(from, key));

    for (size_t i = 0; word != NULL && i < count; i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
    return -EINVAL;
}

int wire_take_plan(json_t *from, const struct view *view, struct view_plan *ret_plan)
{
    struct view_plan plan = {.notifies = VIEW_IN_CENTRAL};
    json_t *parts = json_object_get(from, "instances");
    int top = take_word(from, "top", site_words, VIEW_SITES);

    plan.period = json_number_value(json_object_get(from, "period"));
    if (top < 0 || json_array_size(parts) != view->entity_count ||
        !(plan.period >= 0 && plan.period < 1e15))
        return -EINVAL;
    plan.top = (enum view_site)top;
    for (size_t i = 0; i < view->entity_count; i++) {
        json_t *part = json_array_get(parts, i);
        int collection = take_word(part, "collection", collection_words, VIEW_COLLECTIONS);
        int evaluated = take_word(part, "evaluated", site_words, VIEW_SITES);
        if (collection < 0 || evaluated < 0)
            return -EINVAL;
        plan.parts[i].collection = (enum view_collection)collection;
        plan.parts[i].evaluates = (enum view_site)evaluated;
    }
    *ret_plan = plan;
    return 0;
}

/* ---- values ---- */

/* "...gr\xc3" of "...gr\xc3\xbc": 1 byte less. */
static size_t whole_size(const char *text)
{
    size_t size = strlen(text), begin = size;

    if (size < WIRE_TEXT_MOST)
        return size;
    while (size - begin < 3 && ((unsigned char)text[begin - 1] & 0xc0) == 0x80)
        begin--;
    unsigned char first = (unsigned char)text[--begin];
    size_t whole = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return size - begin < whole ? begin : size;
}

json_t *wire_text(const char *text)
{
    return text == NULL ? NULL : json_stringn(text, whole_size(text));
}

json_t *wire_values(const struct view_value *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *value = NULL;
        if (values[i].kind == VIEW_IS_NUMBER)
            value = json_real(values[i].number);
        else if (values[i].kind == VIEW_IS_TEXT)
            value = wire_text(values[i].text);
        json_array_append_new(array, value != NULL ? value : json_null());
    }
    return array;
}

int wire_take_values(json_t *from, size_t count, struct view_value *ret_values)
{
    if (json_array_size(from) != count)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_array_get(from, i);
        ret_values[i] = (struct view_value){.kind = VIEW_UNKNOWN};
        if (json_is_number(value))
            ret_values[i] =
                (struct view_value){.kind = VIEW_IS_NUMBER, .number = json_number_value(value)};
        else if (json_is_string(value))
            ret_values[i] =
                (struct view_value){.kind = VIEW_IS_TEXT, .text = json_string_value(value)};
        else if (!json_is_null(value))
            return -EINVAL;
    }
    return 0;
}

int wire_take_number(json_t *from, const char *key, uint64_t most, uint64_t *ret_number)
{
    json_t *value = json_object_get(from, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return -EINVAL;
    *ret_number = (uint64_t)json_integer_value(value);
    return 0;
}

/* ---- rates ---- */

json_t *wire_rate(uint32_t row, uint32_t entity, const struct row_rate *rate)
{
    return json_pack("[I, I, f, f, f, f, b]", (json_int_t)row, (json_int_t)entity, rate->changes,
                     rate->records, rate->handed, rate->lost, (int)rate->sensor_passes);
}

#define RATE_MOST 1e12 /* per second */

int wire_take_rate(json_t *from, uint32_t *ret_row, uint32_t *ret_entity, struct row_rate *ret_rate)
{
    json_int_t row = json_integer_value(json_array_get(from, 0));
    json_int_t entity = json_integer_value(json_array_get(from, 1));
    double numbers[4];

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        json_t *number = json_array_get(from, 2 + i);
        numbers[i] = json_number_value(number);
        if (!json_is_number(number) || !(numbers[i] >= -1 && numbers[i] <= RATE_MOST))
            return -EINVAL;
    }
    if (!json_is_integer(json_array_get(from, 0)) || row < 0 || row > UINT32_MAX ||
        !json_is_integer(json_array_get(from, 1)) || entity < 0 || entity >= VIEW_ENTITIES_MOST)
        return -EINVAL;
    *ret_row = (uint32_t)row;
    *ret_entity = (uint32_t)entity;
    *ret_rate = (struct row_rate){.changes = numbers[0],
                                  .records = numbers[1] < 0 ? 0 : numbers[1],
                                  .handed = numbers[2] < 0 ? 0 : numbers[2],
                                  .lost = numbers[3] < 0 ? 0 : numbers[3],
                                  .sensor_passes = json_is_true(json_array_get(from, 6))};
    return 0;
}

/* ---- steps ---- */

static const char *const step_words[STEP_KINDS] = {
    [STEP_OPEN] = "open",   [STEP_CLOSE] = "close",      [STEP_BIND] = "bind",
    [STEP_PROBE] = "probe", [STEP_RELEASE] = "release",  [STEP_READ] = "read",
    [STEP_TURN] = "turn",   [STEP_CONSTANT] = "constant"};

json_t *wire_step(const struct view_file *file, const struct row_step *step)
{
    const char *word = step_words[step->kind];
    json_int_t row = step->row, view = step->view;

    switch (step->kind) {
    case STEP_OPEN:
        return json_pack("[s, I, I, o]", word, row, view,
                         wire_plan(&file->views[step->view], step->plan));
    case STEP_CLOSE:
        return json_pack("[s, I]", word, row);
    case STEP_BIND:
        return json_pack("[s, I, I, i]", word, row, (json_int_t)step->entity, (int)step->pid);
    case STEP_PROBE:
        return json_pack("[s, I, I, I]", word, row, (json_int_t)step->entity,
                         (json_int_t)step->number);
    case STEP_TURN:
        return json_pack("[s, I, b]", word, view, step->on);
    case STEP_CONSTANT:
        return json_pack("[s, I, I, f]", word, view, (json_int_t)step->index, step->value);
    default:
        return json_pack("[s, I, I]", word, row, (json_int_t)step->entity);
    }
}

/* A member that makes no sense. */
static int refuse(json_t *from, size_t place, const char *what, const char *expected,
                  struct problem *problem)
{
    json_t *value = json_array_get(from, place);
    char *text = value == NULL
                     ? NULL
                     : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);

    problem_set(problem, -EINVAL, "view.steps: %s: %s is %.60s, not %s",
                json_string_value(json_array_get(from, 0)), what, text == NULL ? "missing" : text,
                expected);
    free(text);
    return -EINVAL;
}

static int take_number(json_t *from, size_t place, const char *what, int64_t most,
                       uint32_t *ret_number, struct problem *problem)
{
    json_t *value = json_array_get(from, place);
    json_int_t number = json_integer_value(value);
    char expected[64];

    snprintf(expected, sizeof(expected), "a whole number from 0 to %" PRId64, most);
    if (!json_is_integer(value) || number < 0 || number > most)
        return refuse(from, place, what, expected, problem);
    *ret_number = (uint32_t)number;
    return 0;
}

static int take_view(json_t *from, size_t place, const struct view_file *file,
                     struct row_step *step, struct problem *problem)
{
    return take_number(from, place, "VIEW", (int64_t)file->view_count - 1, &step->view, problem);
}

static int take_open(json_t *from, const struct view_file *file, struct row_step *step,
                     struct view_plan *ret_plan, struct problem *problem)
{
    int result = take_view(from, 2, file, step, problem);

    step->plan = ret_plan;
    if (result == 0 &&
        wire_take_plan(json_array_get(from, 3), &file->views[step->view], ret_plan) < 0)
        result = refuse(from, 3, "PLAN", "one of its view", problem);
    return result;
}

static int take_bind(json_t *from, struct row_step *step, struct problem *problem)
{
    uint32_t pid = 0;
    int result = take_number(from, 2, "ENTITY", UINT32_MAX, &step->entity, problem);

    if (result == 0)
        result = take_number(from, 3, "PID", INT32_MAX, &pid, problem);
    step->pid = (pid_t)pid;
    return result;
}

static int take_probe(json_t *from, struct row_step *step, struct problem *problem)
{
    int result = take_number(from, 2, "ENTITY", UINT32_MAX, &step->entity, problem);

    return result < 0 ? result : take_number(from, 3, "NUMBER", UINT32_MAX, &step->number, problem);
}

static int take_turn(json_t *from, const struct view_file *file, struct row_step *step,
                     struct problem *problem)
{
    json_t *on = json_array_get(from, 2);
    int result = take_view(from, 1, file, step, problem);

    if (result == 0 && !json_is_boolean(on))
        result = refuse(from, 2, "ON", "true or false", problem);
    step->on = json_is_true(on);
    return result;
}

static int take_constant(json_t *from, const struct view_file *file, struct row_step *step,
                         struct problem *problem)
{
    json_t *value = json_array_get(from, 3);
    int result = take_view(from, 1, file, step, problem);

    if (result == 0)
        result = take_number(from, 2, "INDEX", UINT32_MAX - 1, &step->index, problem);
    if (result == 0 && view_constant(&file->views[step->view], step->index) == NULL)
        result = refuse(from, 2, "INDEX", "a constant of its view", problem);
    if (result == 0 && !json_is_number(value))
        result = refuse(from, 3, "VALUE", "a number", problem);
    step->value = json_number_value(value);
    return result;
}

static int take_members(json_t *from, const struct view_file *file, struct row_step *step,
                        struct view_plan *ret_plan, struct problem *problem)
{
    if (step->kind == STEP_TURN)
        return take_turn(from, file, step, problem);
    if (step->kind == STEP_CONSTANT)
        return take_constant(from, file, step, problem);
    int result = take_number(from, 1, "ROW", UINT32_MAX, &step->row, problem);
    if (result < 0 || step->kind == STEP_CLOSE)
        return result;
    if (step->kind == STEP_OPEN)
        return take_open(from, file, step, ret_plan, problem);
    if (step->kind == STEP_BIND)
        return take_bind(from, step, problem);
    if (step->kind == STEP_PROBE)
        return take_probe(from, step, problem);
    return take_number(from, 2, "ENTITY", UINT32_MAX, &step->entity, problem);
}

int wire_take_step(json_t *from, const struct view_file *file, struct row_step *ret_step,
                   struct view_plan *ret_plan, struct problem *problem)
{
    const char *word = json_string_value(json_array_get(from, 0));
    struct row_step step = {.kind = STEP_KINDS};

    for (unsigned kind = 0; word != NULL && kind < STEP_KINDS; kind++)
        if (strcmp(step_words[kind], word) == 0)
            step.kind = (enum row_step_kind)kind;
    if (step.kind == STEP_KINDS)
        return problem_set(problem, -EINVAL, "view.steps: there is no step '%.40s'",
                           word == NULL ? "" : word);
    int result = take_members(from, file, &step, ret_plan, problem);
    if (result < 0)
        return result;
    *ret_step = step;
    return 0;
}
