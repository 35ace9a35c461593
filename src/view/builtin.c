/* SPDX-License-Identifier: MIT */
/* builtin.c: DPM's own objects and their attributes. See view.h. */
#include "view/builtin.h"

#include <string.h>

#define ATTRIBUTES_MOST 8

static const struct {
    const char *name;
    const char *state[ATTRIBUTES_MOST];    /* of a process, a machine or a network */
    const char *messages[ATTRIBUTES_MOST]; /* figures of messages */
} builtins[] = {
    [VIEW_PROCESS] = {"process",
                      {"Process-Id", "machine", "state", "cpu"},
                      {"sent", "received", "frequency", "queue"}},
    [VIEW_PAIR] = {"Communicates-With", {NULL}, {"frequency", "bytes", "queue"}},
    [VIEW_MACHINE] = {"machine", {"processes", "job-load", "cpu"}, {NULL}},
    [VIEW_SUBNET] = {"subnet", {"traffic"}, {NULL}},
};

enum view_builtin view_builtin_of(const char *name)
{
    for (size_t i = VIEW_PROGRAM + 1; i < ARRAY_SIZE(builtins); i++)
        if (view_same_name(builtins[i].name, name))
            return (enum view_builtin)i;
    return VIEW_PROGRAM;
}

static bool has(const char *const *list, const char *name)
{
    for (size_t i = 0; i < ATTRIBUTES_MOST && list[i] != NULL; i++)
        if (view_same_name(list[i], name))
            return true;
    return false;
}

bool view_builtin_has(enum view_builtin builtin, const char *attribute, bool *ret_messages)
{
    *ret_messages = has(builtins[builtin].messages, attribute);
    return *ret_messages || has(builtins[builtin].state, attribute);
}

bool view_builtin_is_text(enum view_builtin builtin, const char *attribute)
{
    return builtin == VIEW_PROCESS &&
           (view_same_name(attribute, "machine") || view_same_name(attribute, "state"));
}

void view_find_builtins(struct view_file *file)
{
    for (size_t i = 0; i < file->view_count; i++)
        for (size_t k = 0; k < file->views[i].entity_count; k++) {
            struct view_entity *entity = &file->views[i].entities[k];
            entity->builtin = view_builtin_of(entity->object);
            for (size_t j = 0; j < file->object_count; j++)
                if (view_same_name(file->objects[j].name, entity->object))
                    entity->builtin = VIEW_PROGRAM;
        }
}
