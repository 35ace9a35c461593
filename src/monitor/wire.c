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
