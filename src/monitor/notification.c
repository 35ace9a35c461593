/* SPDX-License-Identifier: MIT */
/* notification.c: a change as a line of JSON. See notification.h. */
#include "monitor/notification.h"

#include <jansson.h>
#include <math.h>

#define ROW_MOST 256

static json_t *json_of(const struct view_value *value)
{
    if (value->kind == VIEW_IS_TEXT) {
        json_t *text = json_string(value->text);
        return text != NULL ? text : json_null(); /* no UTF-8 */
    }
    if (value->kind != VIEW_IS_NUMBER)
        return json_null();
    return value->number == rint(value->number) && fabs(value->number) < 9e15
               ? json_integer((json_int_t)value->number)
               : json_real(value->number);
}

/* Names of processes are any bytes, and are cut after 15: what is not ASCII becomes '?' if the whole is no UTF-8. */
static json_t *json_of_row(const char *row)
{
    json_t *name = json_string(row);
    char plain[ROW_MOST];
    size_t i = 0;

    if (name != NULL)
        return name;
    for (; row[i] != '\0' && i + 1 < sizeof(plain); i++)
        plain[i] = (unsigned char)row[i] < 0x80 ? row[i] : '?';
    plain[i] = '\0';
    return json_string(plain);
}

char *notification_text(const struct view_change *change)
{
    json_t *values = json_object(), *line;
    char *text = NULL;

    for (size_t i = 0; i < change->view->target_count; i++)
        json_object_set_new(values, change->view->targets[i].name, json_of(&change->values[i]));
    line = json_pack("{s:s, s:o*, s:I, s:o}", "view", change->view->name, "row",
                     change->row[0] == '\0' ? NULL : json_of_row(change->row), "time",
                     (json_int_t)change->time, "values", values);
    if (line != NULL)
        text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    return text;
}
