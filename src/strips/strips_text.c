/* SPDX-License-Identifier: MIT */
/* strips_text.c: strips as text. See strips.h. */
#include "strips/strips_private.h"

#include "show/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static uint64_t count_at(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static double number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Appends; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format,
                                                      ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void add_safe(char *text, size_t size, const char *from)
{
    char safe[STRIPS_NAME_SIZE];
    size_t length = strlen(from);

    show_text(from, length < sizeof(safe) ? length : sizeof(safe) - 1, safe);
    add(text, size, "%s", safe);
}

static void add_time(char *text, size_t size, double ns)
{
    char time[UNIT_SIZE];

    show_duration(ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18, time);
    add(text, size, "%s", time);
}

static void add_values(char *text, size_t size, const json_t *values)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)values, name, value)
    {
        add(text, size, "%s", text[0] == '\0' ? "" : "  ");
        add_safe(text, size, name);
        double number = json_number_value(value);
        if (json_is_string(value)) {
            add(text, size, ": ");
            add_safe(text, size, json_string_value(value));
        } else if (json_is_null(value)) {
            add(text, size, ": unknown");
        } else { /* integers in full */
            add(text, size, number == rint(number) && fabs(number) < 1e15 ? ": %.0f" : ": %.6g",
                number);
        }
    }
}

/* Row number `number` of all views, and its view; NULL, and a view: the line for all of its rows that were never active. */
static const json_t *find_row(const struct strips *strips, size_t number, const json_t **ret_view)
{
    const json_t *views = json_object_get(strips->state, "views");

    *ret_view = NULL;
    for (size_t i = 0; i < json_array_size(views); i++) {
        const json_t *view = json_array_get(views, i), *rows = json_object_get(view, "rows");
        size_t count = json_array_size(rows) + (count_at(view, "rows_quiet") > 0);
        if (number < count) {
            *ret_view = view;
            return json_array_get(rows, number);
        }
        number -= count;
    }
    return NULL;
}

static void set_quiet(const struct strips *strips, const json_t *view, struct strip_cells *cells)
{
    bool is_lost = strips->lost[0] != '\0';

    *cells = (struct strip_cells){.times = "0", .is_unknown = is_lost};
    add(cells->state, sizeof(cells->state), "%s", is_lost ? "unknown" : "inactive");
    add_safe(cells->name, STRIPS_NAME_SIZE, text_at(view, "view"));
    add(cells->name, STRIPS_NAME_SIZE, "[*]");
    if (is_lost)
        add_safe(cells->values, STRIPS_VALUES_SIZE, strips->lost);
    else
        add(cells->values, STRIPS_VALUES_SIZE, "%" PRIu64 " never active",
            count_at(view, "rows_quiet"));
}

static void set_past(const struct strips *strips, const json_t *view, const json_t *row,
                     char text[STRIPS_PAST + 1])
{
    const struct strip_past *past = strips_past_of(strips, text_at(view, "view"), row);
    size_t at = 0;

    for (size_t i = 0; past != NULL && i < STRIPS_PAST; i++)
        if (past->marks[i] != '\0')
            text[at++] = past->marks[i];
    text[at] = '\0';
}

/* A view counts the notifications of all its rows together. */
static bool is_first_of_view(const struct strips *strips, size_t number, const json_t *view)
{
    const json_t *before = NULL;

    if (number > 0)
        (void)find_row(strips, number - 1, &before);
    return before != view;
}

/* "4 of 5": in time, of all that have left or were dropped. */
static void set_notified(const json_t *view, char *text, size_t size)
{
    const json_t *of = json_object_get(view, "notifications");
    uint64_t sent = count_at(of, "sent"), late = count_at(of, "late");
    uint64_t in_time = sent > late ? sent - late : 0;

    if (of != NULL)
        add(text, size, "%" PRIu64 " of %" PRIu64, in_time, sent + count_at(of, "dropped"));
}

bool strips_row(const struct strips *strips, size_t number, struct strip_cells *ret_cells)
{
    const json_t *view, *row = find_row(strips, number, &view);
    uint64_t now = count_at(strips->state, "time"), since = count_at(row, "since");
    const char *name = text_at(row, "row");
    bool is_lost = strips->lost[0] != '\0', is_first = is_first_of_view(strips, number, view);

    if (view == NULL)
        return false;
    if (row == NULL) {
        set_quiet(strips, view, ret_cells);
        if (is_first)
            set_notified(view, ret_cells->notified, sizeof(ret_cells->notified));
        return true;
    }
    *ret_cells = (struct strip_cells){.is_unknown = is_lost};
    add_safe(ret_cells->name, STRIPS_NAME_SIZE, text_at(view, "view"));
    if (name[0] != '\0') {
        add(ret_cells->name, STRIPS_NAME_SIZE, "[");
        add_safe(ret_cells->name, STRIPS_NAME_SIZE, name);
        add(ret_cells->name, STRIPS_NAME_SIZE, "]");
    }
    const char *state = is_lost ? "unknown" : text_at(row, "state");
    add(ret_cells->state, sizeof(ret_cells->state), "%s", state);
    ret_cells->is_active = strcmp(ret_cells->state, "active") == 0;
    ret_cells->is_unknown = strcmp(ret_cells->state, "unknown") == 0;
    if (!is_lost)
        add_time(ret_cells->since, sizeof(ret_cells->since),
                 now > since ? (double)(now - since) : 0);
    add(ret_cells->times, sizeof(ret_cells->times), "%" PRIu64, count_at(row, "times"));
    if (is_first)
        set_notified(view, ret_cells->notified, sizeof(ret_cells->notified));
    if (ret_cells->is_unknown)
        add_safe(ret_cells->values, STRIPS_VALUES_SIZE,
                 is_lost ? strips->lost : text_at(row, "reason"));
    else
        add_values(ret_cells->values, STRIPS_VALUES_SIZE, json_object_get(row, "values"));
    set_past(strips, view, row, ret_cells->past);
    return true;
}

static void add_correct(const json_t *view, char text[STRIPS_DETAILS_SIZE])
{
    const char *word = text_at(view, "correct_is");

    if (json_object_get(view, "correct") == NULL)
        return;
    add(text, STRIPS_DETAILS_SIZE, "  CORRECT ");
    add_time(text, STRIPS_DETAILS_SIZE, number_at(view, "correct"));
    if (strcmp(word, "kept") == 0) {
        add(text, STRIPS_DETAILS_SIZE, " kept");
    } else if (strcmp(word, "doubtful") == 0 &&
               number_at(view, "delay") <= number_at(view, "correct")) {
        add(text, STRIPS_DETAILS_SIZE, " perhaps not kept: records were lost");
    } else if (word[0] != '\0') {
        add(text, STRIPS_DETAILS_SIZE,
            strcmp(word, "doubtful") == 0 ? " perhaps not kept: values up to "
                                          : " no plan keeps it: up to ");
        add_time(text, STRIPS_DETAILS_SIZE,
                 strcmp(word, "doubtful") == 0
                     ? number_at(view, "delay")
                     : number_at(json_object_get(view, "plan"), "window"));
        add(text, STRIPS_DETAILS_SIZE, strcmp(word, "doubtful") == 0 ? " old" : " apart");
    }
}

static void add_within(const json_t *view, char text[STRIPS_DETAILS_SIZE])
{
    const json_t *of = json_object_get(view, "notifications");

    if (of == NULL)
        return;
    add(text, STRIPS_DETAILS_SIZE, "  WITHIN ");
    add_time(text, STRIPS_DETAILS_SIZE, number_at(view, "within"));
    if (count_at(of, "late") > 0) {
        add(text, STRIPS_DETAILS_SIZE, ": %" PRIu64 " late by up to ", count_at(of, "late"));
        add_time(text, STRIPS_DETAILS_SIZE, number_at(of, "latest"));
    } else if (count_at(of, "sent") > 0) {
        add(text, STRIPS_DETAILS_SIZE, " kept");
    }
    if (count_at(of, "dropped") > 0)
        add(text, STRIPS_DETAILS_SIZE, ", %" PRIu64 " dropped", count_at(of, "dropped"));
}

static void add_plan(const json_t *view, char text[STRIPS_DETAILS_SIZE])
{
    const json_t *plan = json_object_get(view, "plan");
    const json_t *instances = json_object_get(plan, "instances");

    if (plan == NULL)
        return;
    add(text, STRIPS_DETAILS_SIZE, "  plan: ");
    for (size_t i = 0; i < json_array_size(instances) && i < 3; i++) {
        const json_t *one = json_array_get(instances, i);
        add(text, STRIPS_DETAILS_SIZE, "%s", i == 0 ? "" : "; ");
        add_safe(text, STRIPS_DETAILS_SIZE, text_at(one, "instance"));
        add(text, STRIPS_DETAILS_SIZE, " ");
        add_safe(text, STRIPS_DETAILS_SIZE, text_at(one, "how"));
    }
    add(text, STRIPS_DETAILS_SIZE, ", ");
    add_time(text, STRIPS_DETAILS_SIZE, number_at(plan, "per_record"));
    add(text, STRIPS_DETAILS_SIZE, " of CPU time for each record");
}

/* What rates have made of the plan. A second with too much is no reason yet. */
static void add_measured(const json_t *view, char text[STRIPS_DETAILS_SIZE])
{
    const json_t *of = json_object_get(view, "measured");
    const char *why = of == NULL ? "" : text_at(of, "why");
    bool cannot = number_at(of, "load") > 1;

    if (why[0] == '\0' || (!cannot && count_at(of, "replanned") == 0))
        return;
    add(text, STRIPS_DETAILS_SIZE, cannot ? "  cannot be kept: " : "  the plan has changed: ");
    add_safe(text, STRIPS_DETAILS_SIZE, why);
}

void strips_details(const struct strips *strips, size_t row, char text[STRIPS_DETAILS_SIZE])
{
    const json_t *view;

    text[0] = '\0';
    (void)find_row(strips, row, &view);
    if (view == NULL)
        return;
    add_safe(text, STRIPS_DETAILS_SIZE, text_at(view, "view"));
    add(text, STRIPS_DETAILS_SIZE, ":");
    add_correct(view, text);
    add_within(view, text);
    add_plan(view, text);
    add_measured(view, text);
}

void strips_warning(const struct strips *strips, char text[STRIPS_DETAILS_SIZE])
{
    const json_t *machines = json_object_get(strips->state, "machines");
    uint64_t lost = count_at(strips->state, "lost");
    char records[COUNTED_SIZE];

    text[0] = '\0';
    if (strips->lost[0] != '\0')
        add(text, STRIPS_DETAILS_SIZE, "%s: %s", strips->name, strips->lost);
    for (size_t i = 0; strips->lost[0] == '\0' && i < json_array_size(machines); i++) {
        const json_t *machine = json_array_get(machines, i);
        if (!json_is_true(json_object_get(machine, "late")))
            continue;
        add(text, STRIPS_DETAILS_SIZE, "%s", text[0] == '\0' ? "" : "; ");
        add_safe(text, STRIPS_DETAILS_SIZE, text_at(machine, "machine"));
        add(text, STRIPS_DETAILS_SIZE, " is late");
    }
    show_counted(lost, "record", records);
    if (lost > 0)
        add(text, STRIPS_DETAILS_SIZE, "%s%s of sensors %s lost: rows may be wrong",
            text[0] == '\0' ? "" : "; ", records, lost == 1 ? "was" : "were");
}
