/* SPDX-License-Identifier: MIT */
/* control_lines.c: requests to a running monitor. See control_lines.h. */
#include "monitor/control_lines.h"

#include "monitor/central.h"
#include "monitor/states.h"
#include "monitor/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MOST 64

/* A probe that waits for its answer. */
struct asked {
    bool open;
    uint64_t client;
    json_t *id;
};

struct control_lines {
    const struct view_file *file;
    struct monitor *monitor;
    struct control_lines_calls calls;
    struct view_states *states;
    struct asked asked[ASKED_MOST];
};

/* ---- answers ---- */

/* Takes over `line`. A text of a problem may be cut within a character, and then is none for JSON. */
static void send_line(struct control_lines *lines, uint64_t client, json_t *id, json_t *line)
{
    if (line == NULL)
        line = json_pack("{s:O?, s:s}", "id", id, "error", "the answer cannot be written as JSON");
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT);

    if (text != NULL)
        lines->calls.answer(lines->calls.context, client, text);
    free(text);
    json_decref(line);
}

static void answer(struct control_lines *lines, uint64_t client, json_t *id, json_t *result)
{
    send_line(lines, client, id,
              json_pack("{s:O?, s:o}", "id", id, "result", result == NULL ? json_null() : result));
}

static void refuse(struct control_lines *lines, uint64_t client, json_t *id, const char *text)
{
    send_line(lines, client, id, json_pack("{s:O?, s:s}", "id", id, "error", text));
}

static json_t *json_of_value(const struct view_value *value, uint64_t time)
{
    return json_pack("{s:o, s:I}", "value", view_value_json(value), "time", (json_int_t)time);
}

/* ---- methods: each returns 0 and *ret_result, or a negative errno with a line in `problem` ---- */

static int find_view(const struct control_lines *lines, json_t *params, struct problem *problem)
{
    const char *name = json_string_value(json_object_get(params, "view"));

    for (size_t i = 0; name != NULL && i < lines->file->view_count; i++)
        if (view_same_name(lines->file->views[i].name, name))
            return (int)i;
    return problem_set(problem, -ENOENT, "there is no view '%s'", name == NULL ? "" : name);
}

struct listing {
    json_t *rows;
    const struct view *view;
    bool is_on;
};

static void list_row(void *context, const struct central_row_state *state)
{
    struct listing *listing = context;
    const char *word = view_row_state(state, listing->is_on);
    bool is_active = strcmp(word, "active") == 0;
    json_t *row = json_pack("{s:o}", "active",
                            strcmp(word, "unknown") == 0 ? json_null() : json_boolean(is_active));
    json_t *shown = json_object();

    if (state->name[0] != '\0')
        json_object_set_new(row, "row", view_text_json(state->name));
    for (size_t i = 0; is_active && i < listing->view->target_count; i++)
        json_object_set_new(shown, listing->view->targets[i].name,
                            view_value_json(&state->values[i]));
    json_object_set_new(row, "values", shown);
    json_array_append_new(listing->rows, row);
}

static int do_views(struct control_lines *lines, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    json_t *views = json_array();

    (void)params;
    (void)problem;
    for (size_t i = 0; i < lines->file->view_count; i++) {
        const struct central *central = monitor_central(lines->monitor);
        struct listing listing = {json_array(), &lines->file->views[i],
                                  central_is_on(central, (uint32_t)i)};
        central_each_row(central, (uint32_t)i, list_row, &listing);
        json_array_append_new(
            views, json_pack("{s:s, s:o}", "view", listing.view->name, "rows", listing.rows));
    }
    *ret_result = views;
    return 0;
}

static int do_counts(struct control_lines *lines, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    struct monitor_counts counts;

    (void)params;
    (void)problem;
    monitor_count(lines->monitor, &counts);
    *ret_result = json_pack("{s:I, s:I}", "passed", (json_int_t)counts.passed, "requests",
                            (json_int_t)counts.requests);
    const struct {
        const char *key;
        uint64_t count;
    } collected[] = {{"hits", counts.hits},
                     {"records", counts.records},
                     {"refused", counts.refused},
                     {"lost", counts.lost},
                     {"reads", counts.reads},
                     {"unread", counts.unread},
                     {"filtered", counts.filtered},
                     {"late_starts", counts.late_starts},
                     {"latest_start", counts.latest_start},
                     {"unseen", counts.unseen}};
    /* other machines say what they have counted only at the end */
    for (size_t i = 0; monitor_collects(lines->monitor) && i < ARRAY_SIZE(collected); i++)
        json_object_set_new(*ret_result, collected[i].key,
                            json_integer((json_int_t)collected[i].count));
    return 0;
}

static int do_state(struct control_lines *lines, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    uint64_t since = STATES_FIRST;

    if (json_object_get(params, "since") != NULL &&
        wire_take_number(params, "since", UINT64_MAX, &since) < 0)
        return problem_set(problem, -EINVAL,
                           "state: since: number of the last change that is known");
    *ret_result = view_states_json(lines->states, since);
    return *ret_result == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

static int do_sensor(struct control_lines *lines, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    json_t *on = json_object_get(params, "on");
    int view = find_view(lines, params, problem);

    (void)ret_result;
    if (view < 0)
        return view;
    if (!json_is_boolean(on))
        return problem_set(problem, -EINVAL, "sensor: on: true or false");
    return central_turn(monitor_central(lines->monitor), (uint32_t)view, json_is_true(on));
}

static int do_threshold(struct control_lines *lines, json_t *params, json_t **ret_result,
                        struct problem *problem)
{
    json_t *value = json_object_get(params, "value");
    uint64_t constant = 0;
    int view = find_view(lines, params, problem);

    (void)ret_result;
    if (view < 0)
        return view;
    if (!json_is_number(value) || wire_take_number(params, "constant", UINT32_MAX, &constant) < 0 ||
        constant == 0)
        return problem_set(problem, -EINVAL, "threshold: constant: 1, 2 ...; value: a number");
    return central_constant(monitor_central(lines->monitor), (uint32_t)view, (uint32_t)constant - 1,
                            json_number_value(value)) < 0
               ? problem_set(problem, -ENOENT, "the predicate of %s has no constant number %llu",
                             lines->file->views[view].name, (unsigned long long)constant)
               : 0;
}

/* "QueueManager[1].size", as in views. The caller frees the file. */
static int parse_attribute(json_t *params, struct view_file **ret_file, struct problem *problem)
{
    const char *text = json_string_value(json_object_get(params, "attribute"));
    char view[1000];
    int size = snprintf(view, sizeof(view), "VIEW DEF V (a: %s) ACTIVE WHEN 1 < 2; END VIEW DEF",
                        text == NULL ? "" : text);

    if (text == NULL || size >= (int)sizeof(view) ||
        view_parse("attribute", view, (size_t)size, ret_file, NULL) < 0)
        return problem_set(problem, -EINVAL, "'%.100s' is no attribute: write Object[1].attribute",
                           text == NULL ? "" : text);
    if ((*ret_file)->views[0].reference_count == 1 &&
        (*ret_file)->views[0].entities[0].index != VIEW_EACH &&
        (*ret_file)->views[0].targets[0].expression->kind == VIEW_REFERENCE)
        return 0;
    view_file_free(*ret_file);
    return problem_set(problem, -EINVAL, "'%.100s' is not one attribute", text);
}

/* *ret_result is NULL if the database has no value. */
static int do_value(struct control_lines *lines, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    struct view_model *model = monitor_model(lines->monitor);
    struct view_file *file = NULL;
    struct view_value value = {.kind = VIEW_UNKNOWN};
    struct view_place place = {0};
    uint64_t time = 0;
    int result = parse_attribute(params, &file, problem);

    if (result < 0)
        return result;
    int64_t instance = view_model_find(model, &file->views[0].entities[0]);
    if (instance > 0)
        view_model_get(model, instance, file->views[0].references[0].attribute, &value, &time,
                       &place);
    view_file_free(file);
    if (instance <= 0)
        return problem_set(problem, -ENOENT, "there is no such instance, or there are several");
    if (value.kind == VIEW_UNKNOWN)
        return 0;
    *ret_result = json_of_value(&value, time);
    json_object_set_new(*ret_result, "machine",
                        place.machine == NULL ? json_null() : json_string(place.machine));
    if (place.process != 0)
        json_object_set_new(*ret_result, "pid", json_integer(place.process));
    return 0;
}

static int do_probe(struct control_lines *lines, json_t *params, uint64_t question,
                    struct problem *problem)
{
    struct view_file *file = NULL;
    int result = parse_attribute(params, &file, problem);

    if (result < 0)
        return result;
    result = central_read(monitor_central(lines->monitor), &file->views[0].entities[0],
                          file->views[0].references[0].attribute, question, problem);
    view_file_free(file);
    return result;
}

/* ---- requests ---- */

static void ask_probe(struct control_lines *lines, uint64_t client, json_t *id, json_t *params)
{
    struct problem problem = {""};
    size_t i = 0;

    while (i < ASKED_MOST && lines->asked[i].open)
        i++;
    if (i == ASKED_MOST) {
        refuse(lines, client, id, "too many probes wait for their answers");
        return;
    }
    lines->asked[i] = (struct asked){true, client, json_incref(id)};
    if (do_probe(lines, params, i, &problem) < 0) {
        lines->asked[i].open = false;
        refuse(lines, client, id, problem.text);
        json_decref(id);
    }
}

void control_lines_answered(struct control_lines *lines, uint64_t question,
                            const struct view_value *value, uint64_t time)
{
    struct asked *asked = question < ASKED_MOST ? &lines->asked[question] : NULL;

    if (asked == NULL || !asked->open)
        return;
    asked->open = false;
    answer(lines, asked->client, asked->id, json_of_value(value, time));
    json_decref(asked->id);
}

void control_lines_changed(struct control_lines *lines, const struct view_change *change)
{
    view_states_add(lines->states, change);
}

void control_lines_take(struct control_lines *lines, uint64_t client, const char *line, size_t size)
{
    static const struct {
        const char *name;
        int (*run)(struct control_lines *lines, json_t *params, json_t **ret_result,
                   struct problem *problem);
    } methods[] = {{"views", do_views}, {"counts", do_counts},       {"sensor", do_sensor},
                   {"state", do_state}, {"threshold", do_threshold}, {"value", do_value}};
    json_t *request = json_loadb(line, size, 0, NULL), *result = NULL;
    json_t *id = json_object_get(request, "id"), *params = json_object_get(request, "params");
    const char *method = json_string_value(json_object_get(request, "method"));
    struct problem problem = {"this is no request: {\"id\": 1, \"method\": \"views\"}"};
    int done = -EINVAL;

    if (method != NULL && strcmp(method, "probe") == 0) {
        ask_probe(lines, client, id, params);
        json_decref(request);
        return;
    }
    if (method != NULL)
        problem_set(&problem, done,
                    "there is no method '%s': views, state, counts, sensor, threshold, value "
                    "or probe",
                    method);
    for (size_t i = 0; method != NULL && i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i].name, method) == 0)
            done = methods[i].run(lines, params, &result, &problem);
    bool reads = done == 0 && result == NULL && strcmp(method, "value") == 0;
    if (reads)
        ask_probe(lines, client, id, params);
    else if (done < 0)
        refuse(lines, client, id, problem.text);
    else
        answer(lines, client, id, result);
    json_decref(request);
}

/* ---- begin and end ---- */

int control_lines_new(const struct view_file *file, struct monitor *monitor,
                      const struct control_lines_calls *calls, struct control_lines **ret_lines)
{
    struct control_lines *lines = calloc(1, sizeof(*lines));

    if (lines == NULL)
        return -ENOMEM;
    lines->file = file;
    lines->monitor = monitor;
    lines->calls = *calls;
    int result = view_states_new(file, monitor, &lines->states);
    if (result < 0) {
        free(lines);
        return result;
    }
    *ret_lines = lines;
    return 0;
}

void control_lines_free(struct control_lines *lines)
{
    if (lines == NULL)
        return;
    for (size_t i = 0; i < ASKED_MOST; i++)
        if (lines->asked[i].open)
            json_decref(lines->asked[i].id);
    view_states_free(lines->states);
    free(lines);
}
