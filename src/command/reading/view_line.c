/* SPDX-License-Identifier: MIT */
/* view_line.c: a change of a view as a line. See view_line.h. */
#include "command/reading/view_line.h"

#include "monitor/states.h"
#include "show/show.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#define VALUE_SIZE 256

static const char *const change_words[] = {[VIEW_APPEARED] = "active",
                                           [VIEW_CHANGED] = "changed",
                                           [VIEW_GONE] = "inactive",
                                           [VIEW_UNCLEAR] = "unknown"};

static bool has_values(const struct view_change *change)
{
    return change->kind == VIEW_APPEARED || change->kind == VIEW_CHANGED;
}

static void value_text(const struct view_value *value, char text[VALUE_SIZE])
{
    char safe[VALUE_SIZE - 2];

    switch (value->kind) {
    case VIEW_IS_NUMBER: /* integers in full */
        snprintf(text, VALUE_SIZE,
                 value->number == rint(value->number) && fabs(value->number) <= 0x1p53 ? "%.0f"
                                                                                       : "%.6g",
                 value->number);
        break;
    case VIEW_IS_TEXT:
        show_text(value->text, strnlen(value->text, sizeof(safe) - 1), safe);
        snprintf(text, VALUE_SIZE, "\"%s\"", safe);
        break;
    default:
        snprintf(text, VALUE_SIZE, "unknown");
    }
}

static void print_text(FILE *out, uint64_t begin, const struct view_change *change)
{
    char text[VALUE_SIZE], row[256], receiver[VIEW_RECEIVER_SIZE];
    double seconds = (double)(change->time - begin) / 1e9;

    show_text(change->row, strnlen(change->row, sizeof(row) - 1), row);
    fprintf(out, "%12.6f s  %s%s%s%s  %s", seconds, change->view->name, row[0] != '\0' ? "[" : "",
            row, row[0] != '\0' ? "]" : "", change_words[change->kind]);
    for (size_t i = 0; has_values(change) && i < change->view->target_count; i++) {
        value_text(&change->values[i], text);
        fprintf(out, "  %s: %s", change->view->targets[i].name, text);
    }
    view_receiver_text(change->view, receiver);
    if (change->notifies && receiver[0] != '\0')
        fprintf(out, "  -> %s", receiver);
    fputc('\n', out);
}

static json_t *json_of_receiver(const struct view *view)
{
    json_t *receiver =
        json_pack("{s:s*, s:s*, s:s*, s:I}", "host", view->host, "subject", view->subject,
                  "command", view->command, "within", (json_int_t)view->within);

    if (view->port != 0)
        json_object_set_new(receiver, "port", json_integer(view->port));
    return receiver;
}

static int print_json(FILE *out, uint64_t begin, const struct view_change *change)
{
    json_t *values = json_object();
    json_t *row = change->row[0] == '\0' ? NULL : view_text_json(change->row);
    int failed = 0;

    for (size_t i = 0; has_values(change) && i < change->view->target_count; i++)
        failed |= json_object_set_new(values, change->view->targets[i].name,
                                      view_value_json(&change->values[i]));
    json_t *line =
        json_pack("{s:I, s:I, s:s, s:o*, s:s, s:o}", "time", (json_int_t)change->time,
                  "since_begin", (json_int_t)(change->time - begin), "view", change->view->name,
                  "row", row, "change", change_words[change->kind], "values", values);
    if (change->notifies)
        failed |= json_object_set_new(line, "notify", json_of_receiver(change->view));
    failed |= json_dumpf(line, out, JSON_COMPACT);
    fputc('\n', out);
    json_decref(line);
    return failed;
}

int view_line_print(FILE *out, bool json, uint64_t begin, const struct view_change *change)
{
    if (json)
        return print_json(out, begin, change) == 0 ? 0 : -ENOMEM;
    print_text(out, begin, change);
    return 0;
}
