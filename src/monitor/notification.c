/* SPDX-License-Identifier: MIT */
/* notification.c: a change as a line of JSON. See notification.h. */
#include "monitor/notification.h"

#include "monitor/states.h"

#include <jansson.h>

char *notification_text(const struct view_change *change)
{
    json_t *values = json_object(), *line;
    char *text = NULL;

    for (size_t i = 0; i < change->view->target_count; i++)
        json_object_set_new(values, change->view->targets[i].name,
                            view_value_json(&change->values[i]));
    line = json_pack("{s:s, s:o*, s:I, s:o}", "view", change->view->name, "row",
                     change->row[0] == '\0' ? NULL : view_text_json(change->row), "time",
                     (json_int_t)change->time, "values", values);
    if (line != NULL)
        text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    return text;
}
