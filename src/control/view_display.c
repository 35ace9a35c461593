/* SPDX-License-Identifier: MIT */
/* view_display.c: views over intervals, printed as they change. See view_display.h. */
#include "control/view_display.h"

#include "control/command.h"
#include "show/show.h"
#include "view/figures.h"
#include "view/watching.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct view_display {
    FILE *out;
    bool json;
    struct view_file *file;
    struct view_model *model;
    struct view_figures *figures;
    struct view_watch *watch;
    uint64_t begin;
    uint64_t stored; /* up to when the model has figures */
    bool failed;     /* out of memory for a line */
};

/* ---- printing ---- */

#define VALUE_SIZE 256

static const char *const change_words[] = {
    [VIEW_APPEARED] = "active", [VIEW_CHANGED] = "changed", [VIEW_GONE] = "inactive"};

static void value_text(const struct view_value *value, char text[VALUE_SIZE])
{
    char safe[VALUE_SIZE - 2];

    switch (value->kind) {
    case VIEW_IS_NUMBER:
        snprintf(text, VALUE_SIZE, "%.6g", value->number);
        break;
    case VIEW_IS_TEXT:
        show_text(value->text, strnlen(value->text, sizeof(safe) - 1), safe);
        snprintf(text, VALUE_SIZE, "\"%s\"", safe);
        break;
    default:
        snprintf(text, VALUE_SIZE, "unknown");
    }
}

static void print_line(const struct view_display *display, const struct view_change *change)
{
    char text[VALUE_SIZE], row[256];
    double seconds = (double)(change->time - display->begin) / 1e9;

    show_text(change->row, strnlen(change->row, sizeof(row) - 1), row);
    fprintf(display->out, "%12.6f s  %s%s%s%s  %s", seconds, change->view->name,
            row[0] != '\0' ? "[" : "", row, row[0] != '\0' ? "]" : "", change_words[change->kind]);
    for (size_t i = 0; change->kind != VIEW_GONE && i < change->view->target_count; i++) {
        value_text(&change->values[i], text);
        fprintf(display->out, "  %s: %s", change->view->targets[i].name, text);
    }
    if (change->kind == VIEW_APPEARED && change->view->notifies)
        fprintf(display->out, "  -> %s port %u", change->view->host, change->view->port);
    fputc('\n', display->out);
}

static json_t *json_of_value(const struct view_value *value)
{
    if (value->kind == VIEW_IS_NUMBER)
        return json_real(value->number);
    if (value->kind != VIEW_IS_TEXT)
        return json_null();
    json_t *text = json_string(value->text);
    return text != NULL ? text : json_string(""); /* no UTF-8 */
}

static int print_json(const struct view_display *display, const struct view_change *change)
{
    json_t *values = json_object();
    json_t *row = json_string(change->row);
    int failed = 0;

    for (size_t i = 0; change->kind != VIEW_GONE && i < change->view->target_count; i++)
        failed |= json_object_set_new(values, change->view->targets[i].name,
                                      json_of_value(&change->values[i]));
    json_t *line = json_pack("{s:I, s:I, s:s, s:o*, s:s, s:o}", "time", (json_int_t)change->time,
                             "since_begin", (json_int_t)(change->time - display->begin), "view",
                             change->view->name, "row",
                             change->row[0] == '\0' || row == NULL ? (json_decref(row), NULL) : row,
                             "change", change_words[change->kind], "values", values);
    if (change->kind == VIEW_APPEARED && change->view->notifies)
        failed |= json_object_set_new(line, "notify",
                                      json_pack("{s:i, s:s, s:I}", "port", (int)change->view->port,
                                                "host", change->view->host, "within",
                                                (json_int_t)change->view->within));
    failed |= json_dumpf(line, display->out, JSON_COMPACT);
    fputc('\n', display->out);
    json_decref(line);
    return failed;
}

static void changed(void *context, const struct view_change *change)
{
    struct view_display *display = context;

    if (!display->json)
        print_line(display, change);
    else if (print_json(display, change) != 0)
        display->failed = true;
}

static void note(void *context, const char *line)
{
    (void)context;
    command_say("note: %s", line);
}

/* ---- intervals ---- */

static int prepare(struct view_display *display, const char *file, struct problem *problem)
{
    const struct view_watch_calls calls = {display, changed, note};
    int result = view_read(file, &display->file, problem);

    if (result == 0)
        result = view_model_new(&display->model, problem);
    if (result == 0 && (display->figures = view_figures_new(display->model)) == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory for views");
    return result < 0
               ? result
               : view_watch_new(display->file, display->model, &calls, &display->watch, problem);
}

int view_display_new(const char *file, FILE *out, bool json, struct view_display **ret_display,
                     struct problem *problem)
{
    struct view_display *display = calloc(1, sizeof(*display));

    if (display == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    display->out = out;
    display->json = json;
    int result = prepare(display, file, problem);
    if (result < 0) {
        view_display_free(display);
        return result;
    }
    *ret_display = display;
    return 0;
}

void view_display_free(struct view_display *display)
{
    if (display == NULL)
        return;
    view_watch_free(display->watch);
    view_figures_free(display->figures);
    view_model_free(display->model);
    view_file_free(display->file);
    free(display);
}

void view_display_begin(struct view_display *display, uint64_t time)
{
    display->begin = display->stored = time;
}

uint64_t view_display_time(const struct view_display *display)
{
    return display->stored;
}

int view_display_tick(struct view_display *display, const struct communication *communication,
                      uint64_t time, struct problem *problem)
{
    if (time <= display->stored)
        return 0;
    int result =
        view_figures_store(display->figures, communication, time, time - display->stored, problem);
    display->stored = time;
    if (result == 0)
        result = view_watch_evaluate(display->watch, time, problem);
    return result == 0 && display->failed ? problem_set(problem, -ENOMEM, "out of memory for views")
                                          : result;
}

struct view_model *view_display_model(struct view_display *display)
{
    return display->model;
}
