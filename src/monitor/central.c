/* SPDX-License-Identifier: MIT */
/* central.c: the central monitor. See central.h. */
#include "monitor/central.h"

#include "monitor/planning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_SIZE      128 /* of a value that is kept; longer ones are cut */
#define QUESTIONS_MOST 64
#define NAME_SIZE      160 /* of an instance: "web1:redis-server 811" */

struct known_instance {
    const char *object; /* of the view file */
    uint32_t number;    /* 1, 2 ... in order of appearance */
    int link;
    pid_t pid;
    char program[64];
    char name[NAME_SIZE];
    int64_t stored; /* in the model */
    uint64_t id;    /* unique */
};

struct central_row {
    struct central *central;
    uint32_t
        number; /* of its shares: its place, and a multiple of MONITOR_ROWS_MOST that changes with the plan */
    uint32_t view;
    uint64_t each; /* id of the instance that [*] stands for; 0: the view has none */
    char name[NAME_SIZE];
    struct view_plan plan;
    bool planned;
    struct planning_place places[VIEW_ENTITIES_MOST]; /* that it was planned for */
    uint64_t bound[VIEW_ENTITIES_MOST];               /* ids of instances; 0: none */
    int links[VIEW_ENTITIES_MOST];                    /* where these are */
    int opened[VIEW_ENTITIES_MOST];                   /* links with a share of this row */
    size_t opened_count;
    uint32_t asked;               /* set of entities that are probed now */
    struct view_monitor *monitor; /* if the predicate is evaluated here */
    bool active;
    int64_t stored;            /* in the model; 0: not yet */
    struct view_value *values; /* of the targets, while active */
    char (*texts)[TEXT_SIZE];
};

struct central {
    struct monitor_options options;
    struct central_calls calls;
    struct view_conditions *conditions; /* of each view */
    struct view_model *model;
    struct central_link links[CENTRAL_LINKS_MOST];
    int link_count;
    struct known_instance *instances; /* that live */
    size_t instance_count, instance_capacity;
    uint64_t last_id;
    uint32_t generation; /* of the numbers of rows */
    struct numbered {
        const char *object;
        uint32_t last;
    } * numbers; /* of each object */
    size_t number_count, number_capacity;
    struct central_row **rows; /* NULL: its instance has ended */
    size_t row_count, row_capacity;
    struct intern notes; /* that were made */
    const struct view_plan **plans;
    int failed;
    struct problem problem;
    uint64_t passed, requests;
    struct question {
        bool open;
        uint64_t number;
        uint32_t row, entity, reference;
    } questions[QUESTIONS_MOST];
};

/* ---- construction ---- */

int central_new(const struct monitor_options *options, const struct central_calls *calls,
                struct central **ret_central, struct problem *problem)
{
    struct central *central = calloc(1, sizeof(*central));
    size_t count = options->file->view_count;
    int result = 0;

    if (central == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the monitor");
    central->options = *options;
    central->calls = *calls;
    central->conditions = calloc(count + 1, sizeof(*central->conditions));
    central->plans = calloc(count + 1, sizeof(*central->plans));
    if (central->conditions == NULL || central->plans == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory for the monitor");
    for (size_t i = 0; i < count && result == 0; i++)
        result = view_conditions_make(&options->file->views[i], &central->conditions[i], problem);
    if (result == 0)
        result = view_model_new(&central->model, problem);
    if (result < 0) {
        central_free(central);
        return result;
    }
    *ret_central = central;
    return 0;
}

static void free_row(struct central_row *row)
{
    if (row == NULL)
        return;
    view_monitor_free(row->monitor);
    free(row->values);
    free(row->texts);
    free(row);
}

void central_free(struct central *central)
{
    if (central == NULL)
        return;
    for (size_t i = 0; i < central->row_count; i++)
        free_row(central->rows[i]);
    for (size_t i = 0; central->conditions != NULL && i < central->options.file->view_count; i++)
        view_conditions_done(&central->conditions[i]);
    view_model_free(central->model);
    intern_done(&central->notes);
    free(central->conditions);
    free(central->plans);
    free(central->instances);
    free(central->numbers);
    free(central->rows);
    free(central);
}

int central_add_link(struct central *central, const struct central_link *link)
{
    if (central->link_count == CENTRAL_LINKS_MOST)
        return -ENOMEM;
    central->links[central->link_count] = *link;
    return central->link_count++;
}

struct view_model *central_model(struct central *central)
{
    return central->model;
}

void central_count(const struct central *central, struct monitor_counts *counts)
{
    counts->passed += central->passed;
    counts->requests += central->requests;
}

const struct view_plan *central_plan(const struct central *central, size_t view)
{
    return central->plans[view];
}

int central_failed(const struct central *central, struct problem *problem)
{
    return central->failed < 0 ? problem_set(problem, central->failed, "%s", central->problem.text)
                               : 0;
}

/* Notes the first error. */
static void failed(struct central *central, int result, const struct problem *problem)
{
    if (result >= 0 || central->failed < 0)
        return;
    central->failed = result;
    central->problem = *problem;
}

static void out_of_memory(struct central *central)
{
    struct problem problem = {""};

    failed(central, problem_set(&problem, -ENOMEM, "out of memory for views"), &problem);
}

static const struct view *view_of(const struct central_row *row)
{
    return &row->central->options.file->views[row->view];
}

/* A line for the user, once. */
static void note(struct central *central, const char *line)
{
    uint32_t known = central->notes.count;

    if (intern_add(&central->notes, hash_bytes(0, line, strlen(line))) == known)
        central->calls.note(central->calls.context, line);
}

/* ---- what becomes of a row ---- */

static void store(struct central_row *row, uint64_t time)
{
    struct central *central = row->central;
    const struct view *view = view_of(row);
    struct problem problem = {""};
    int result = 0;

    if (row->stored == 0)
        row->stored = view_model_instance(central->model, view->name, 0, row->name, NULL, &problem);
    if (row->stored < 0)
        result = (int)row->stored;
    for (size_t i = 0; i < view->target_count && result == 0; i++)
        result = view_model_set(central->model, row->stored, view->targets[i].name, &row->values[i],
                                time, NULL, &problem);
    if (result == 0)
        result = view_model_end(central->model, row->stored, !row->active, &problem);
    failed(central, result, &problem);
}

static void keep_targets(struct central_row *row, const struct view_value *targets)
{
    for (size_t i = 0; i < view_of(row)->target_count; i++) {
        row->values[i] = targets[i];
        if (targets[i].kind == VIEW_IS_TEXT) {
            snprintf(row->texts[i], TEXT_SIZE, "%s", targets[i].text);
            row->values[i].text = row->texts[i];
        }
    }
}

static void set_row(struct central_row *row, bool active, uint64_t time,
                    const struct view_value *targets)
{
    const struct central_calls *calls = &row->central->calls;
    bool edge = active != row->active;

    if (!active && !edge)
        return;
    if (active)
        keep_targets(row, targets);
    row->active = active;
    const struct view_change change = {!active ? VIEW_GONE
                                       : edge  ? VIEW_APPEARED
                                               : VIEW_CHANGED,
                                       view_of(row), row->name, time, row->values};
    store(row, time);
    calls->changed(calls->context, &change);
    if (active && edge && view_of(row)->notifies)
        calls->notify(calls->context, &change, (uint64_t)row->plan.flush);
}

static struct central_row *row_at(const struct central *central, uint32_t row)
{
    uint32_t place = row % MONITOR_ROWS_MOST;
    struct central_row *at = place < central->row_count ? central->rows[place] : NULL;

    return at != NULL && at->number == row ? at : NULL; /* else of an earlier plan */
}

void central_result(struct central *central, uint32_t number, bool active, uint64_t time,
                    const struct view_value *targets, size_t count)
{
    struct central_row *row = row_at(central, number);

    central->passed++;
    if (row != NULL && row->monitor == NULL && (!active || count == view_of(row)->target_count))
        set_row(row, active, time, targets);
}

/* ---- values ---- */

static struct view_value look(void *context, uint32_t reference)
{
    return ((const struct view_value *)context)[reference];
}

static struct known_instance *instance_with(const struct central *central, uint64_t id)
{
    for (size_t i = 0; i < central->instance_count && id != 0; i++)
        if (central->instances[i].id == id)
            return &central->instances[i];
    return NULL;
}

static void store_values(struct central_row *row, uint32_t entity, uint64_t time,
                         const struct view_value *values)
{
    struct central *central = row->central;
    const struct view *view = view_of(row);
    const struct known_instance *instance = instance_with(central, row->bound[entity]);
    struct problem problem = {""};
    int result = 0;

    if (instance == NULL)
        return;
    const struct view_place place = {central->links[instance->link].machine,
                                     (uint32_t)instance->pid};
    for (uint32_t i = 0; i < view->reference_count && result == 0; i++)
        if (view->references[i].entity == entity)
            result = view_model_set(central->model, instance->stored, view->references[i].attribute,
                                    &values[i], time, &place, &problem);
    failed(central, result, &problem);
}

void central_record(struct central *central, uint32_t number, uint32_t entity, uint64_t time,
                    const struct view_value *values, size_t count)
{
    struct central_row *row = row_at(central, number);

    central->passed++;
    if (row == NULL || entity >= view_of(row)->entity_count ||
        count != view_of(row)->reference_count)
        return;
    store_values(row, entity, time, values);
    if (row->monitor != NULL &&
        view_monitor_record(row->monitor, entity, time, look, (void *)(uintptr_t)values) < 0)
        out_of_memory(central);
}

static void monitor_changed(void *context, bool active, bool edge, uint64_t time,
                            const struct view_value *targets)
{
    (void)edge;
    set_row(context, active, time, targets);
}

static void ask(struct central_row *row, uint32_t entity, bool probe)
{
    struct central *central = row->central;

    row->asked = probe ? row->asked | 1u << entity : row->asked & ~(1u << entity);
    if (row->bound[entity] == 0) {
        /* an instance that is not there: a predicate with OR may not need it */
        struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};
        if (probe &&
            view_monitor_record(row->monitor, entity, clock_now(CLOCK_REALTIME), look, unknown) < 0)
            out_of_memory(central);
        return;
    }
    const struct central_link *link = &central->links[row->links[entity]];
    central->requests++;
    (probe ? link->probe : link->release)(link->self, row->number, entity);
}

static void monitor_probe(void *context, uint32_t entity)
{
    ask(context, entity, true);
}

static void monitor_release(void *context, uint32_t entity)
{
    ask(context, entity, false);
}

/* ---- planning and binding ---- */

static void bind_entity(struct central_row *row, uint32_t entity)
{
    struct central *central = row->central;
    const struct known_instance *instance = instance_with(central, row->bound[entity]);
    const struct central_link *link = &central->links[instance->link];
    struct problem problem = {""};
    size_t i = 0;

    while (i < row->opened_count && row->opened[i] != instance->link)
        i++;
    if (i == row->opened_count) {
        central->requests++;
        int result = link->open(link->self, row->number, row->view, &row->plan, &problem);
        failed(central, result, &problem);
        if (result < 0)
            return;
        row->opened[row->opened_count++] = instance->link;
    }
    row->links[entity] = instance->link;
    central->requests++;
    link->bind(link->self, row->number, entity, instance->pid);
    if ((row->asked & 1u << entity) != 0)
        ask(row, entity, true);
}

static void unbind_entity(struct central_row *row, uint32_t entity)
{
    struct central *central = row->central;
    const struct central_link *link = &central->links[row->links[entity]];

    if (row->bound[entity] == 0)
        return;
    central->requests++;
    link->unbind(link->self, row->number, entity);
    row->bound[entity] = 0;
    /* the resident monitor may be gone, too */
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};
    if (row->monitor != NULL &&
        view_monitor_record(row->monitor, entity, clock_now(CLOCK_REALTIME), look, unknown) < 0)
        out_of_memory(central);
}

static void close_shares(struct central_row *row)
{
    for (size_t i = 0; i < row->opened_count; i++) {
        const struct central_link *link = &row->central->links[row->opened[i]];
        row->central->requests++;
        link->close(link->self, row->number);
    }
    row->opened_count = 0;
    row->asked = 0;
    view_monitor_free(row->monitor);
    row->monitor = NULL;
}

/* Where the row's instances are, or could be. */
static void find_places(const struct central_row *row, struct planning_place *places)
{
    const struct central *central = row->central;

    for (size_t i = 0; i < view_of(row)->entity_count; i++) {
        const struct known_instance *instance = instance_with(central, row->bound[i]);
        places[i] = (struct planning_place){0};
        if (instance != NULL)
            places[i] = (struct planning_place){central->links[instance->link].machine,
                                                (uint32_t)instance->pid};
        else if (row->planned) /* it ended: the next one is likely to be there, too */
            places[i] = row->places[i];
        else if (central->link_count == 1)
            places[i].machine = central->links[0].machine;
    }
}

/* Only machines matter: processes change whenever an instance is started again. */
static bool is_planned_for(const struct central_row *row, const struct planning_place *places)
{
    for (size_t i = 0; row->planned && i < view_of(row)->entity_count; i++)
        if (places[i].machine != row->places[i].machine)
            return false;
    return row->planned;
}

/* Plans the row for where its instances are now. If that has changed, shares are opened anew, and the row begins as
 * inactive. */
static void plan_row(struct central_row *row)
{
    struct central *central = row->central;
    const struct view_monitor_calls calls = {row, monitor_probe, monitor_release, monitor_changed};
    struct planning_place places[VIEW_ENTITIES_MOST];
    struct problem problem = {""};
    char line[512] = "";

    find_places(row, places);
    if (is_planned_for(row, places))
        return;
    set_row(row, false, clock_now(CLOCK_REALTIME), NULL);
    close_shares(row);
    memcpy(row->places, places, sizeof(places));
    int result = planning_choose(&central->conditions[row->view], central->options.costs, places,
                                 central->options.machine, &row->plan, line, &problem);
    failed(central, result, &problem);
    if (result < 0)
        return;
    if (line[0] != '\0')
        note(central, line);
    row->planned = true;
    row->number = row->number % MONITOR_ROWS_MOST + ++central->generation * MONITOR_ROWS_MOST;
    central->plans[row->view] = &row->plan;
    if (row->plan.top == VIEW_IN_CENTRAL &&
        (row->monitor = view_monitor_new(&central->conditions[row->view], &row->plan, &calls)) ==
            NULL)
        out_of_memory(central);
    for (uint32_t i = 0; i < view_of(row)->entity_count; i++)
        if (row->bound[i] != 0)
            bind_entity(row, i);
}

/* ---- which instance an entity is ---- */

static bool is_entity(const struct central *central, const struct known_instance *instance,
                      const struct view_entity *entity)
{
    const char *colon = entity->index == VIEW_NAME ? strchr(entity->name, ':') : NULL;
    const char *machine = central->links[instance->link].machine;

    if (!view_same_name(instance->object, entity->object))
        return false;
    switch (entity->index) {
    case VIEW_NUMBER_INDEX:
        return instance->number == entity->number;
    case VIEW_NAME:
        if (entity->other != NULL)
            return false;
        if (view_same_name(instance->program, entity->name))
            return true;
        return colon != NULL && view_same_name(instance->program, colon + 1) &&
               strlen(machine) == (size_t)(colon - entity->name) &&
               strncasecmp(machine, entity->name, strlen(machine)) == 0;
    default:
        return true;
    }
}

/* The id of the instance, or 0. */
static uint64_t resolve(struct central_row *row, const struct view_entity *entity)
{
    struct central *central = row->central;
    char name[VIEW_ENTITY_SIZE], line[512];
    uint64_t found = 0;
    size_t count = 0;

    if (entity->index == VIEW_EACH)
        return row->each;
    for (size_t i = 0; i < central->instance_count; i++)
        if (is_entity(central, &central->instances[i], entity)) {
            found = central->instances[i].id;
            count++;
        }
    if (count <= 1)
        return found;
    view_entity_text(entity, name);
    snprintf(line, sizeof(line),
             "view %s: %s: there are several; give one by number, or all by [*]",
             view_of(row)->name, name);
    note(central, line);
    return 0;
}

static void bind_row(struct central_row *row)
{
    const struct view *view = view_of(row);
    uint64_t resolved[VIEW_ENTITIES_MOST];
    uint32_t fresh = 0;

    for (uint32_t i = 0; i < view->entity_count; i++) {
        resolved[i] = resolve(row, &view->entities[i]);
        if (row->bound[i] != resolved[i]) {
            unbind_entity(row, i);
            fresh |= resolved[i] != 0 ? 1u << i : 0;
        }
        row->bound[i] = resolved[i];
    }
    uint32_t before = row->planned ? fresh : 0;
    struct planning_place places[VIEW_ENTITIES_MOST];
    find_places(row, places);
    if (is_planned_for(row, places)) {
        for (uint32_t i = 0; i < view->entity_count; i++)
            if ((before & 1u << i) != 0)
                bind_entity(row, i);
    } else {
        plan_row(row); /* which binds all */
    }
}

/* ---- rows and instances ---- */

static struct central_row *new_row(struct central *central, uint32_t view,
                                   const struct known_instance *each)
{
    size_t targets = central->options.file->views[view].target_count;
    struct central_row *row = calloc(1, sizeof(*row));

    if (row == NULL)
        return NULL;
    *row = (struct central_row){.central = central,
                                .view = view,
                                .each = each == NULL ? 0 : each->id,
                                .values = calloc(targets + 1, sizeof(*row->values)),
                                .texts = calloc(targets + 1, TEXT_SIZE)};
    if (each != NULL)
        snprintf(row->name, sizeof(row->name), "%s", each->name);
    if (row->values == NULL || row->texts == NULL) {
        free_row(row);
        return NULL;
    }
    return row;
}

static void add_row(struct central *central, uint32_t view, const struct known_instance *each)
{
    uint32_t number = 0;

    while (number < central->row_count && central->rows[number] != NULL)
        number++;
    if (number == MONITOR_ROWS_MOST) {
        note(central, "views have more than 10000 rows: what comes now is left out");
        return;
    }
    struct central_row *row = array_reserve(&central->rows, &central->row_capacity,
                                            (size_t)number + 1, sizeof(struct central_row *)) < 0
                                  ? NULL
                                  : new_row(central, view, each);
    if (row == NULL) {
        out_of_memory(central);
        return;
    }
    row->number = number;
    central->rows[number] = row;
    if (number == central->row_count)
        central->row_count++;
    bind_row(row);
}

static void remove_row(struct central *central, struct central_row *row)
{
    for (uint32_t i = 0; i < view_of(row)->entity_count; i++)
        unbind_entity(row, i);
    set_row(row, false, clock_now(CLOCK_REALTIME), NULL);
    close_shares(row);
    if (central->plans[row->view] == &row->plan)
        central->plans[row->view] = NULL;
    central->rows[row->number % MONITOR_ROWS_MOST] = NULL;
    free_row(row);
}

/* The object that [*] of a view stands for; NULL: it has none. */
static const char *each_object(const struct view *view)
{
    for (size_t i = 0; i < view->entity_count; i++)
        if (view->entities[i].index == VIEW_EACH)
            return view->entities[i].object;
    return NULL;
}

int central_begin(struct central *central, struct problem *problem)
{
    for (size_t i = 0; i < central->options.file->view_count; i++)
        if (each_object(&central->options.file->views[i]) == NULL)
            add_row(central, (uint32_t)i, NULL);
    return central_failed(central, problem);
}

static uint32_t next_number(struct central *central, const char *object)
{
    for (size_t i = 0; i < central->number_count; i++)
        if (view_same_name(central->numbers[i].object, object))
            return ++central->numbers[i].last;
    if (array_reserve(&central->numbers, &central->number_capacity, central->number_count + 1,
                      sizeof(*central->numbers)) < 0)
        return 0;
    central->numbers[central->number_count++] = (struct numbered){object, 1};
    return 1;
}

static void bind_all(struct central *central)
{
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL)
            bind_row(central->rows[i]);
}

/* The name of an object as views write it, which outlives the caller's; NULL: no view speaks of it. */
static const char *object_name(const struct central *central, const char *object)
{
    for (size_t i = 0; i < central->options.file->view_count; i++) {
        const struct view *view = &central->options.file->views[i];
        for (size_t k = 0; k < view->entity_count; k++)
            if (view_same_name(view->entities[k].object, object))
                return view->entities[k].object;
    }
    return NULL;
}

void central_appeared(struct central *central, int link, const char *object, pid_t pid,
                      const char *program)
{
    struct problem problem = {""};
    const char *name = object_name(central, object);

    if (name == NULL)
        return;
    if (array_reserve(&central->instances, &central->instance_capacity, central->instance_count + 1,
                      sizeof(*central->instances)) < 0) {
        out_of_memory(central);
        return;
    }
    struct known_instance *instance = &central->instances[central->instance_count];
    const struct view_place place = {central->links[link].machine, (uint32_t)pid};
    *instance = (struct known_instance){.object = name,
                                        .number = next_number(central, name),
                                        .link = link,
                                        .pid = pid,
                                        .id = ++central->last_id};
    snprintf(instance->program, sizeof(instance->program), "%s", program);
    snprintf(instance->name, sizeof(instance->name), "%s%s%s %d",
             central->link_count > 1 ? place.machine : "", central->link_count > 1 ? ":" : "",
             instance->program, pid);
    instance->stored = view_model_instance(central->model, name, instance->number,
                                           instance->program, &place, &problem);
    failed(central, instance->stored < 0 ? (int)instance->stored : 0, &problem);
    central->instance_count++;
    for (size_t i = 0; i < central->options.file->view_count; i++) {
        const char *each = each_object(&central->options.file->views[i]);
        if (each != NULL && view_same_name(each, name))
            add_row(central, (uint32_t)i, instance);
    }
    bind_all(central);
}

static void end_instance(struct central *central, size_t at)
{
    struct problem problem = {""};
    const struct known_instance gone = central->instances[at];
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL && central->rows[i]->each == gone.id)
            remove_row(central, central->rows[i]);
    memmove(&central->instances[at], &central->instances[at + 1],
            (central->instance_count - at - 1) * sizeof(gone));
    central->instance_count--;
    failed(central, view_model_end(central->model, gone.stored, true, &problem), &problem);
    bind_all(central);
}

void central_ended(struct central *central, int link, const char *object, pid_t pid)
{
    for (size_t i = central->instance_count; i-- > 0;) {
        const struct known_instance *instance = &central->instances[i];
        if (instance->link == link && instance->pid == pid &&
            view_same_name(instance->object, object)) {
            end_instance(central, i);
            return;
        }
    }
}

/* What a resident monitor has evaluated is unknown without it. */
static void lose_results(struct central *central, int link)
{
    for (size_t i = 0; i < central->row_count; i++) {
        struct central_row *row = central->rows[i];
        for (size_t k = 0; row != NULL && row->monitor == NULL && k < view_of(row)->entity_count;
             k++)
            if (row->bound[k] != 0 && row->links[k] == link)
                set_row(row, false, clock_now(CLOCK_REALTIME), NULL);
    }
}

void central_lost(struct central *central, int link)
{
    lose_results(central, link);
    for (size_t i = central->instance_count; i-- > 0;)
        if (central->instances[i].link == link)
            end_instance(central, i);
}

/* ---- changes and questions from outside ---- */

int central_turn(struct central *central, uint32_t view, bool on)
{
    if (view >= central->options.file->view_count)
        return -ENOENT;
    for (int i = 0; i < central->link_count; i++) {
        central->requests++;
        central->links[i].turn(central->links[i].self, view, on);
    }
    return 0;
}

int central_constant(struct central *central, uint32_t view, uint32_t index, double value)
{
    double *constant = view < central->options.file->view_count
                           ? view_constant(&central->options.file->views[view], index)
                           : NULL;

    if (constant == NULL)
        return -ENOENT;
    *constant = value;
    for (int i = 0; i < central->link_count; i++) {
        central->requests++;
        central->links[i].constant(central->links[i].self, view, index, value);
    }
    return 0;
}

static int reference_of(const struct view *view, uint32_t entity, const char *attribute)
{
    for (size_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == entity &&
            view_same_name(view->references[i].attribute, attribute))
            return (int)i;
    return -ENOENT;
}

static struct question *free_question(struct central *central)
{
    for (size_t i = 0; i < QUESTIONS_MOST; i++)
        if (!central->questions[i].open)
            return &central->questions[i];
    return NULL;
}

/* Asks through a row that has the instance and its attribute. */
static bool ask_row(struct central_row *row, uint64_t instance, const char *attribute,
                    struct question *question)
{
    for (uint32_t i = 0; i < view_of(row)->entity_count; i++) {
        int reference = reference_of(view_of(row), i, attribute);
        if (row->bound[i] != instance || reference < 0)
            continue;
        const struct central_link *link = &row->central->links[row->links[i]];
        question->open = true;
        question->row = row->number;
        question->entity = i;
        question->reference = (uint32_t)reference;
        row->central->requests++;
        link->read(link->self, row->number, i);
        return true;
    }
    return false;
}

int central_read(struct central *central, const struct view_entity *entity, const char *attribute,
                 uint64_t number, struct problem *problem)
{
    struct question *question = free_question(central);
    char name[VIEW_ENTITY_SIZE];

    if (question == NULL)
        return problem_set(problem, -EBUSY, "%d probes wait for their answers", QUESTIONS_MOST);
    question->number = number;
    view_entity_text(entity, name);
    for (size_t i = 0; i < central->instance_count; i++) {
        if (!is_entity(central, &central->instances[i], entity))
            continue;
        for (size_t k = 0; k < central->row_count; k++)
            if (central->rows[k] != NULL &&
                ask_row(central->rows[k], central->instances[i].id, attribute, question))
                return 0;
    }
    return problem_set(problem, -ENOENT,
                       "%s.%s: there is no such instance, or no view speaks of it", name,
                       attribute);
}

void central_answer(struct central *central, uint32_t row, uint32_t entity, uint64_t time,
                    const struct view_value *values, size_t count)
{
    for (size_t i = 0; i < QUESTIONS_MOST; i++) {
        struct question *question = &central->questions[i];
        if (!question->open || question->row != row || question->entity != entity)
            continue;
        const struct view_value unknown = {.kind = VIEW_UNKNOWN};
        question->open = false;
        central->calls.answered(
            central->calls.context, question->number,
            question->reference < count ? &values[question->reference] : &unknown, time);
    }
}

void central_each_row(const struct central *central, uint32_t view,
                      void (*each)(void *context, const char *name, bool active,
                                   const struct view_value *values),
                      void *context)
{
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL && central->rows[i]->view == view)
            each(context, central->rows[i]->name, central->rows[i]->active,
                 central->rows[i]->values);
}
