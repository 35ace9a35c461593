/* SPDX-License-Identifier: MIT */
/* wire.c: plans and values as JSON. See wire.h. */
#include "monitor/wire.h"

#include <errno.h>
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

json_t *wire_values(const struct view_value *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *value = NULL;
        if (values[i].kind == VIEW_IS_NUMBER)
            value = json_real(values[i].number);
        else if (values[i].kind == VIEW_IS_TEXT)
            value = json_string(values[i].text);
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
    case STEP_TURN:
        return json_pack("[s, I, b]", word, view, step->on);
    case STEP_CONSTANT:
        return json_pack("[s, I, I, f]", word, view, (json_int_t)step->index, step->value);
    default:
        return json_pack("[s, I, I]", word, row, (json_int_t)step->entity);
    }
}

/* A whole number from 0 to `most`; nothing counts as 0. */
static int number_at(json_t *from, size_t place, int64_t most, uint32_t *ret_number)
{
    json_int_t number = json_integer_value(json_array_get(from, place));

    *ret_number = (uint32_t)number;
    return number >= 0 && number <= most ? 0 : -EINVAL;
}

static int take_fields(json_t *from, const struct view_file *file, struct row_step *step,
                       struct view_plan *ret_plan)
{
    bool of_view = step->kind == STEP_TURN || step->kind == STEP_CONSTANT;
    uint32_t pid = 0;
    int result = number_at(from, 1, UINT32_MAX, of_view ? &step->view : &step->row);

    if (step->kind == STEP_OPEN)
        result |= number_at(from, 2, UINT32_MAX, &step->view);
    else if (step->kind == STEP_CONSTANT)
        result |= number_at(from, 2, UINT32_MAX - 1, &step->index);
    else if (step->kind != STEP_CLOSE && step->kind != STEP_TURN)
        result |= number_at(from, 2, UINT32_MAX, &step->entity);
    if (step->kind == STEP_BIND)
        result |= number_at(from, 3, INT32_MAX, &pid);
    if (result < 0 || ((of_view || step->kind == STEP_OPEN) && step->view >= file->view_count))
        return -EINVAL;
    step->pid = (pid_t)pid;
    step->on = json_is_true(json_array_get(from, 2));
    step->value = json_number_value(json_array_get(from, 3));
    step->plan = ret_plan;
    if (step->kind == STEP_OPEN)
        return wire_take_plan(json_array_get(from, 3), &file->views[step->view], ret_plan);
    return step->kind == STEP_CONSTANT &&
                   view_constant(&file->views[step->view], step->index) == NULL
               ? -EINVAL
               : 0;
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
    if (take_fields(from, file, &step, ret_plan) < 0)
        return problem_set(
            problem, -EINVAL,
            "%s: there is no such view or constant, or the plan is not one of it, or "
            "a number is not possible",
            word);
    *ret_step = step;
    return 0;
}
