/* SPDX-License-Identifier: MIT */
/* monitor_check.c: whether views can be carried out, before anything is done. See monitor.h. */
#include "monitor/monitor.h"

#include "fabric/subject.h"

#include <errno.h>

static const struct view_object *find_object(const struct view_file *file, const char *name)
{
    for (size_t i = 0; i < file->object_count; i++)
        if (view_same_name(file->objects[i].name, name))
            return &file->objects[i];
    return NULL;
}

static bool has_attribute(const struct view_object *object, const char *name)
{
    for (size_t i = 0; i < object->attribute_count; i++)
        if (view_same_name(object->attributes[i].name, name))
            return true;
    return false;
}

/* A resident monitor reads /proc; messages are counted by a meter. */
static int check_builtin(const struct monitor_options *options, enum view_builtin builtin,
                         const char *name, const struct view_reference *reference,
                         struct problem *problem)
{
    bool messages;

    if (!view_builtin_has(builtin, reference->attribute, &messages))
        return problem_set(problem, -EINVAL, "%s:%u:%u: the built-in object %s has no attribute %s",
                           options->file_name, reference->line, reference->column, name,
                           reference->attribute);
    return messages ? problem_set(problem, -EINVAL,
                                  "%s:%u:%u: %s.%s is a figure of messages, which needs a meter: "
                                  "use dpm view watch",
                                  options->file_name, reference->line, reference->column, name,
                                  reference->attribute)
                    : 0;
}

static int check_reference(const struct monitor_options *options, const struct view *view,
                           const struct view_reference *reference, struct problem *problem)
{
    const char *name = view->entities[reference->entity].object;
    const struct view_object *object = find_object(options->file, name);

    if (view->entities[reference->entity].builtin != VIEW_PROGRAM)
        return check_builtin(options, view->entities[reference->entity].builtin, name, reference,
                             problem);
    if (object == NULL)
        return problem_set(problem, -EINVAL,
                           "%s:%u:%u: there is no ATTRIBUTE DEFINITION FOR OBJECT %s",
                           options->file_name, reference->line, reference->column, name);
    if (!has_attribute(object, reference->attribute))
        return problem_set(problem, -EINVAL, "%s:%u:%u: object %s has no attribute %s",
                           options->file_name, reference->line, reference->column, name,
                           reference->attribute);
    return 0;
}

/* A receiver that can never be reached. */
static int check_receiver(const struct monitor_options *options, const struct view *view,
                          struct problem *problem)
{
    struct problem why = {""};
    int result = view->subject == NULL ? 0 : fabric_subject_check(&why);

    return result == 0
               ? 0
               : problem_set(problem, result, "%s:%u:%u: view %s: NOTIFY SUBJECT: %s",
                             options->file_name, view->line, view->column, view->name, why.text);
}

int monitor_check(const struct monitor_options *options, struct problem *problem)
{
    if (options->file->view_count == 0)
        return problem_set(problem, -EINVAL, "%s: there is no view", options->file_name);
    for (size_t i = 0; i < options->file->view_count; i++) {
        const struct view *view = &options->file->views[i];
        if (view_builtin_of(view->name) != VIEW_PROGRAM)
            return problem_set(problem, -EINVAL,
                               "%s:%u:%u: view %s: this name is that of a built-in object",
                               options->file_name, view->line, view->column, view->name);
        int result = check_receiver(options, view, problem);
        for (size_t k = 0; k < view->reference_count && result == 0; k++)
            result = check_reference(options, view, &view->references[k], problem);
        if (result < 0)
            return result;
    }
    return 0;
}
