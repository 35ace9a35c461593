/* SPDX-License-Identifier: MIT */
/*
 * view_watch.c: `dpm view watch`: views over the intervals of traces.
 *
 *      history --> statistics --at the end of each interval--> figures --> model --> views --> lines
 */
#include "control/view_watch.h"

#include "control/traces.h"
#include "show/show.h"
#include "view/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct watching {
    const struct view_watch_options *options;
    struct view_file *file;
    struct view_model *model;
    struct view_figures *figures;
    struct view_watch *watch;
    struct traces traces;
    struct statistics *statistics;
    uint64_t begin; /* wall clock, ns, of the first event; 0: none yet */
    uint64_t stored; /* up to when the model has figures */
    uint64_t last;   /* of the latest event */
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

static void print_line(const struct watching *watching, const struct view_change *change)
{
    char text[VALUE_SIZE], row[256];
    double seconds = (double)(change->time - watching->begin) / 1e9;

    show_text(change->row, strnlen(change->row, sizeof(row) - 1), row);
    printf("%12.6f s  %s%s%s%s  %s", seconds, change->view->name, row[0] != '\0' ? "[" : "", row,
           row[0] != '\0' ? "]" : "", change_words[change->kind]);
    for (size_t i = 0; change->kind != VIEW_GONE && i < change->view->target_count; i++) {
        value_text(&change->values[i], text);
        printf("  %s: %s", change->view->targets[i].name, text);
    }
    if (change->kind == VIEW_APPEARED && change->view->notifies)
        printf("  -> %s port %u", change->view->host, change->view->port);
    putchar('\n');
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

static int print_json(const struct watching *watching, const struct view_change *change)
{
    json_t *values = json_object();
    json_t *row = json_string(change->row);
    int failed = 0;

    for (size_t i = 0; change->kind != VIEW_GONE && i < change->view->target_count; i++)
        failed |= json_object_set_new(values, change->view->targets[i].name,
                                      json_of_value(&change->values[i]));
    json_t *line =
        json_pack("{s:I, s:I, s:s, s:o*, s:s, s:o}", "time", (json_int_t)change->time, "since_begin",
                  (json_int_t)(change->time - watching->begin), "view", change->view->name, "row",
                  change->row[0] == '\0' || row == NULL ? (json_decref(row), NULL) : row, "change",
                  change_words[change->kind], "values", values);
    if (change->kind == VIEW_APPEARED && change->view->notifies)
        failed |= json_object_set_new(
            line, "notify",
            json_pack("{s:i, s:s, s:I}", "port", (int)change->view->port, "host",
                      change->view->host, "within", (json_int_t)change->view->within));
    failed |= json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
    return failed;
}

static void changed(void *context, const struct view_change *change)
{
    struct watching *watching = context;

    if (!watching->options->json)
        print_line(watching, change);
    else if (print_json(watching, change) != 0)
        watching->failed = true;
}

static void note(void *context, const char *line)
{
    (void)context;
    command_say("note: %s", line);
}

/* ---- intervals ---- */

static int tick(struct watching *watching, uint64_t time, struct problem *problem)
{
    struct communication *communication = NULL;

    if (time <= watching->stored)
        return 0;
    int result = statistics_finish(watching->statistics, (uint32_t)watching->traces.count,
                                   &communication);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    result = view_figures_store(watching->figures, communication, time, time - watching->stored,
                                problem);
    communication_free(communication);
    watching->stored = time;
    if (result == 0)
        result = view_watch_evaluate(watching->watch, time, problem);
    if (result == 0 && watching->failed)
        result = problem_set(problem, -ENOMEM, "out of memory");
    return result;
}

/* What came before the event's interval ends with its interval; intervals without events are one. */
static int tick_until(struct watching *watching, uint64_t time, struct problem *problem)
{
    uint64_t every = watching->options->every;
    uint64_t passed = (time - watching->stored) / every;
    int result = 0;

    if (passed > 0)
        result = tick(watching, watching->stored + every, problem);
    if (result == 0 && passed > 1)
        result = tick(watching, watching->stored + (passed - 1) * every, problem);
    return result;
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct watching *watching = self;
    const struct event *record = &event->event;
    uint64_t time = record->header->time +
                    (uint64_t)traces_wall_offset(&watching->traces, record);
    int result = 0;

    if (watching->begin == 0) {
        watching->begin = watching->stored = watching->last = time;
    } else if (time > watching->last) {
        watching->last = time;
        result = tick_until(watching, time, problem);
    }
    if (result < 0)
        return result;
    result = statistics_add(watching->statistics, event);
    return result < 0 ? problem_set(problem, result, "out of memory") : 0;
}

static int read_traces(struct watching *watching, const char *const *names, size_t count,
                       struct problem *problem)
{
    const struct analysis analysis = {"views", watching, add};
    int result = traces_open(names, count, NULL, &watching->traces, problem);

    if (result == 0)
        result = traces_learn_clocks(&watching->traces, problem);
    if (result < 0)
        return result;
    result = statistics_new(watching->traces.history, 0, &watching->statistics);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    result = analyses_read_all(watching->traces.history, &analysis, 1, problem);
    if (result == 0)
        result = tick(watching, watching->last, problem);
    if (result == 0 && watching->options->save != NULL)
        result = view_model_save(watching->model, watching->options->save, problem);
    return result;
}

static int begin(struct watching *watching, const char *file, struct problem *problem)
{
    const struct view_watch_calls calls = {watching, changed, note};
    int result = view_read(file, &watching->file, problem);

    if (result == 0)
        result = view_model_new(&watching->model, problem);
    if (result == 0 && (watching->figures = view_figures_new(watching->model)) == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        result =
            view_watch_new(watching->file, watching->model, &calls, &watching->watch, problem);
    return result;
}

static void done(struct watching *watching)
{
    statistics_free(watching->statistics);
    traces_close(&watching->traces);
    view_watch_free(watching->watch);
    view_figures_free(watching->figures);
    view_model_free(watching->model);
    view_file_free(watching->file);
}

int view_watch_traces(const char *file, const char *const *traces, size_t count,
                      const struct view_watch_options *options)
{
    struct watching watching = {.options = options};
    struct problem problem = {""};
    int result = begin(&watching, file, &problem);

    if (result == 0)
        result = read_traces(&watching, traces, count, &problem);
    if (result == 0)
        result = command_flush_output(&problem);
    if (result == 0)
        traces_report_losses(&watching.traces);
    done(&watching);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}
