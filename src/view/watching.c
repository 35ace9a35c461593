/* SPDX-License-Identifier: MIT */
/* watching.c: views over a model. See watching.h. */
#include "view/watching.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    uint32_t view;
    int64_t instance; /* that [*] stands for; 0: none */
    int64_t stored;   /* its own instance in the model; 0: none yet */
    bool active;
    uint64_t evaluated; /* in which evaluation it was seen last */
    char *name;
    struct view_kept *values; /* [target_count] */
};

struct view_watch {
    const struct view_file *file;
    struct view_model *model;
    struct view_watch_calls calls;
    struct intern keys; /* of rows, by view and instance */
    struct row *rows;
    size_t capacity;
    struct intern notes; /* that were made */
    uint64_t evaluation;
};

/* One evaluation of one row. */
struct looking {
    struct view_watch *watch;
    const struct view *view;
    int64_t each; /* instance that [*] stands for */
    int64_t instances[VIEW_ENTITIES_MOST];
    char texts[VIEW_REFERENCES_MOST][VIEW_TEXT_KEPT]; /* the model keeps only the latest */
};

/* Whether DPM's own objects have the attributes that a view names. */
static int check_builtins(const struct view *view, struct problem *problem)
{
    bool messages;

    for (size_t i = 0; i < view->reference_count; i++) {
        const struct view_reference *reference = &view->references[i];
        const struct view_entity *entity = &view->entities[reference->entity];
        if (entity->builtin != VIEW_PROGRAM &&
            !view_builtin_has(entity->builtin, reference->attribute, &messages))
            return problem_set(problem, -EINVAL,
                               "view %s, line %u: the built-in object %s has no attribute %s",
                               view->name, reference->line, entity->object, reference->attribute);
    }
    return 0;
}

int view_watch_new(const struct view_file *file, struct view_model *model,
                   const struct view_watch_calls *calls, struct view_watch **ret_watch,
                   struct problem *problem)
{
    for (size_t i = 0; i < file->view_count; i++) {
        if (view_builtin_of(file->views[i].name) != VIEW_PROGRAM)
            return problem_set(problem, -EINVAL, "view %s: this name is that of a built-in type",
                               file->views[i].name);
        int result = check_builtins(&file->views[i], problem);
        if (result < 0)
            return result;
    }
    struct view_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    watch->file = file;
    watch->model = model;
    watch->calls = *calls;
    *ret_watch = watch;
    return 0;
}

void view_watch_free(struct view_watch *watch)
{
    if (watch == NULL)
        return;
    for (uint32_t i = 0; i < watch->keys.count; i++) {
        free(watch->rows[i].name);
        free(watch->rows[i].values);
    }
    intern_done(&watch->keys);
    intern_done(&watch->notes);
    free(watch->rows);
    free(watch);
}

/* ---- finding values ---- */

static void note(struct view_watch *watch, const struct view *view,
                 const struct view_entity *entity, int64_t found)
{
    char name[VIEW_ENTITY_SIZE], line[512];
    uint32_t known = watch->notes.count;

    view_entity_text(entity, name);
    snprintf(line, sizeof(line), "view %s: %s: %s", view->name, name,
             found == -E2BIG
                 ? "there are several; give one by number or \"machine:name\", or all by [*]"
                 : "there is none yet");
    if (intern_add(&watch->notes, hash_bytes(0, line, strlen(line))) == known &&
        watch->calls.note != NULL)
        watch->calls.note(watch->calls.context, line);
}

static void find_instances(struct looking *looking)
{
    for (size_t i = 0; i < looking->view->entity_count; i++) {
        const struct view_entity *entity = &looking->view->entities[i];
        looking->instances[i] = entity->index == VIEW_EACH
                                    ? looking->each
                                    : view_model_find(looking->watch->model, entity);
        if (looking->instances[i] < 0)
            note(looking->watch, looking->view, entity, looking->instances[i]);
    }
}

static struct view_value look(void *context, uint32_t reference)
{
    struct looking *looking = context;
    const struct view_reference *wanted = &looking->view->references[reference];
    int64_t instance = looking->instances[wanted->entity];
    struct view_value value = {.kind = VIEW_UNKNOWN};

    if (instance > 0)
        view_model_get(looking->watch->model, instance, wanted->attribute, &value, NULL, NULL);
    if (value.kind == VIEW_IS_TEXT) {
        snprintf(looking->texts[reference], VIEW_TEXT_KEPT, "%s", value.text);
        value.text = looking->texts[reference];
    }
    return value;
}

/* ---- rows ---- */

static struct row *row_of(struct view_watch *watch, uint32_t view, int64_t instance,
                          const char *name)
{
    const uint64_t key[] = {view, (uint64_t)instance};
    uint32_t count = watch->keys.count;

    if (array_reserve(&watch->rows, &watch->capacity, (size_t)count + 1, sizeof(*watch->rows)) < 0)
        return NULL;
    struct row made = {.view = view,
                       .instance = instance,
                       .name = strdup(name),
                       .values =
                           calloc(watch->file->views[view].target_count, sizeof(struct view_kept))};
    int64_t index = made.name == NULL || made.values == NULL
                        ? -ENOMEM
                        : intern_add(&watch->keys, hash_bytes(0, key, sizeof(key)));
    if (index == count) {
        watch->rows[index] = made;
    } else {
        free(made.name);
        free(made.values);
    }
    return index < 0 ? NULL : &watch->rows[index];
}

static struct view_value value_of(const struct view_kept *kept)
{
    return (struct view_value){.kind = kept->kind, .number = kept->number, .text = kept->text};
}

static void report(struct view_watch *watch, const struct row *row, enum view_change_kind kind,
                   uint64_t time)
{
    const struct view *view = &watch->file->views[row->view];
    struct view_value values[VIEW_REFERENCES_MOST];

    for (size_t i = 0; i < view->target_count; i++)
        values[i] = value_of(&row->values[i]);
    const struct view_change change = {.kind = kind,
                                       .view = view,
                                       .row = row->name,
                                       .time = time,
                                       .values = values,
                                       .notifies = kind == VIEW_APPEARED && view->notifies};
    if (watch->calls.changed != NULL)
        watch->calls.changed(watch->calls.context, &change);
}

/* Stores what is active as an instance of the view, with its values. */
static int store(struct view_watch *watch, struct row *row, uint64_t time, struct problem *problem)
{
    const struct view *view = &watch->file->views[row->view];

    if (row->stored == 0)
        row->stored = view_model_instance(watch->model, view->name, 0, row->name, NULL, problem);
    int result = row->stored < 0 ? (int)row->stored : 0;
    for (size_t i = 0; i < view->target_count && result == 0; i++) {
        const struct view_value value = value_of(&row->values[i]);
        result = view_model_set(watch->model, row->stored, view->targets[i].name, &value, time,
                                NULL, problem);
    }
    return result;
}

static int row_inactive(struct view_watch *watch, struct row *row, uint64_t time,
                        struct problem *problem)
{
    if (!row->active)
        return 0;
    row->active = false;
    report(watch, row, VIEW_GONE, time);
    return row->stored > 0 ? view_model_end(watch->model, row->stored, true, problem) : 0;
}

static int evaluate_row(struct view_watch *watch, uint32_t index, int64_t instance,
                        const char *name, uint64_t time, struct problem *problem)
{
    const struct view *view = &watch->file->views[index];
    struct looking looking = {.watch = watch, .view = view, .each = instance};
    struct row *row = row_of(watch, index, instance, name);

    if (row == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the rows of view %s", view->name);
    row->evaluated = watch->evaluation;
    find_instances(&looking);
    if (view_holds(view->predicate, look, &looking) != VIEW_TRUE)
        return row_inactive(watch, row, time, problem);
    bool before = row->active, changed = false;
    row->active = true;
    for (size_t i = 0; i < view->target_count; i++) {
        const struct view_value value = view_evaluate(view->targets[i].expression, look, &looking);
        changed = view_keep(&row->values[i], &value) || changed;
    }
    if (before && !changed)
        return 0;
    report(watch, row, before ? VIEW_CHANGED : VIEW_APPEARED, time);
    int result = store(watch, row, time, problem);
    return result < 0 || before ? result
                                : view_model_end(watch->model, row->stored, false, problem);
}

struct collected {
    int64_t *list;
    char **names;
    size_t count, capacity, name_capacity;
};

static int collect(void *context, int64_t instance, const char *name)
{
    struct collected *collected = context;

    if (array_reserve(&collected->list, &collected->capacity, collected->count + 1,
                      sizeof(*collected->list)) < 0 ||
        array_reserve(&collected->names, &collected->name_capacity, collected->count + 1,
                      sizeof(*collected->names)) < 0 ||
        (collected->names[collected->count] = strdup(name)) == NULL)
        return -ENOMEM;
    collected->list[collected->count++] = instance;
    return 0;
}

/* Instances are collected before, since rows change the model. */
static int evaluate_each(struct view_watch *watch, uint32_t index, const char *object,
                         uint64_t time, struct problem *problem)
{
    struct collected collected = {0};
    int result = view_model_each(watch->model, object, collect, &collected, problem);

    for (size_t i = 0; i < collected.count; i++) {
        if (result == 0)
            result =
                evaluate_row(watch, index, collected.list[i], collected.names[i], time, problem);
        free(collected.names[i]);
    }
    free(collected.names);
    free(collected.list);
    return result;
}

static int evaluate_view(struct view_watch *watch, uint32_t index, uint64_t time,
                         struct problem *problem)
{
    const struct view *view = &watch->file->views[index];

    for (size_t i = 0; i < view->entity_count; i++)
        if (view->entities[i].index == VIEW_EACH)
            return evaluate_each(watch, index, view->entities[i].object, time, problem);
    return evaluate_row(watch, index, 0, "", time, problem);
}

int view_watch_evaluate(struct view_watch *watch, uint64_t time, struct problem *problem)
{
    int result = view_model_begin(watch->model, problem);

    watch->evaluation++;
    for (uint32_t i = 0; i < watch->file->view_count && result == 0; i++)
        result = evaluate_view(watch, i, time, problem);
    /* instances that are no longer in their set */
    for (uint32_t i = 0; i < watch->keys.count && result == 0; i++)
        if (watch->rows[i].evaluated != watch->evaluation)
            result = row_inactive(watch, &watch->rows[i], time, problem);
    int committed = view_model_commit(watch->model, problem);
    return result < 0 ? result : committed;
}
