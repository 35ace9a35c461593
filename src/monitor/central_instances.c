/* SPDX-License-Identifier: MIT */
/* central_instances.c: instances, which entities of views they are, and the plans of rows for where they are. See central.h. */
#include "monitor/central_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GENERATIONS (UINT32_MAX / MONITOR_ROWS_MOST) /* then numbers of rows begin again */
#define LACKS_MOST  3000000000u                      /* ns, and two readings */

/* ---- planning and binding ---- */

static void bind_entity(struct central_row *row, uint32_t entity)
{
    struct central *central = row->central;
    const struct known_instance *instance = central_instance(central, row->bound[entity]);
    struct problem problem = {""};
    size_t i = 0;

    while (i < row->opened_count && row->opened[i] != instance->link)
        i++;
    if (i == row->opened_count) {
        int result = central_step(
            central, instance->link,
            &(struct row_step){
                .kind = STEP_OPEN, .row = row->number, .view = row->view, .plan = &row->plan},
            &problem);
        central_fail(central, result, &problem);
        if (result < 0)
            return;
        row->opened[row->opened_count++] = instance->link;
    }
    row->links[entity] = instance->link;
    row->linked |= 1u << entity;
    central_step(central, instance->link,
                 &(struct row_step){
                     .kind = STEP_BIND, .row = row->number, .entity = entity, .pid = instance->pid},
                 NULL);
    if ((row->asked & 1u << entity) != 0)
        central_ask(row, entity, true);
}

/* Nothing else will answer what is asked of an instance that is no longer there, or of an earlier plan. */
static void answer_unknown(struct central_row *row, uint32_t entity)
{
    central_answer(row->central, row->number, entity, clock_now(CLOCK_REALTIME), NULL, 0);
}

static void unbind_entity(struct central_row *row, uint32_t entity)
{
    if (row->bound[entity] == 0)
        return;
    central_take_held(row);
    central_store_row(row);
    if ((row->linked & 1u << entity) != 0)
        central_step(row->central, row->links[entity],
                     &(struct row_step){.kind = STEP_BIND, .row = row->number, .entity = entity},
                     NULL);
    row->bound[entity] = 0;
    row->linked &= ~(1u << entity);
    row->returning &= ~(1u << entity);
    central_forget_rate(row, entity);
    central_record_unknown(row, entity); /* the resident monitor may be gone, too */
    answer_unknown(row, entity);
}

static void close_shares(struct central_row *row)
{
    for (size_t i = 0; i < row->opened_count; i++)
        central_step(row->central, row->opened[i],
                     &(struct row_step){.kind = STEP_CLOSE, .row = row->number}, NULL);
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        answer_unknown(row, i);
    row->opened_count = 0;
    row->linked = 0;
    row->asked = 0;
    view_monitor_free(row->monitor);
    row->monitor = NULL;
}

/* Where the row's instances are, or could be. */
void central_find_places(const struct central_row *row, struct planning_place *places)
{
    const struct central *central = row->central;

    for (size_t i = 0; i < central_view_of(row)->entity_count; i++) {
        const struct known_instance *instance = central_instance(central, row->bound[i]);
        places[i] = (struct planning_place){0};
        if (instance != NULL)
            places[i] = (struct planning_place){central->links[instance->link].machine,
                                                (uint32_t)instance->pid};
        else if (row->planned) /* it ended: the next one is likely to be there, too */
            places[i] = row->places[i];
        else if (central->link_count == 1)
            places[i].machine = central->links[0].machine;
    }
    central_add_measured(row, places);
}

/* Only machines matter: processes change whenever an instance is started again. */
static bool is_planned_for(const struct central_row *row, const struct planning_place *places)
{
    for (size_t i = 0; row->planned && i < central_view_of(row)->entity_count; i++)
        if (places[i].machine != row->places[i].machine)
            return false;
    return row->planned;
}

/* The plan that the row has now. */
static void open_plan(struct central_row *row)
{
    struct central *central = row->central;

    row->planned = true;
    central->generation = (central->generation + 1) % GENERATIONS;
    row->number = row->number % MONITOR_ROWS_MOST + central->generation * MONITOR_ROWS_MOST;
    central->plans[row->view] = &row->plan;
    if (row->plan.top == VIEW_IN_CENTRAL && (row->monitor = central_monitor_new(row)) == NULL)
        central_out_of_memory(central);
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        if (row->bound[i] != 0)
            bind_entity(row, i);
}

/* Plans the row for where its instances are now. If that has changed, shares are opened anew, and the row begins as
 * inactive. */
static void plan_row(struct central_row *row)
{
    struct central *central = row->central;
    struct planning_place places[VIEW_ENTITIES_MOST];
    struct problem problem = {""};
    char line[512] = "";

    central_find_places(row, places);
    if (is_planned_for(row, places))
        return;
    central_set_row(row, false, clock_now(CLOCK_REALTIME), NULL);
    close_shares(row);
    memcpy(row->places, places, sizeof(places));
    int result = planning_choose(&central->conditions[row->view], central->options.costs, places,
                                 central->options.machine, &row->plan, line, &problem);
    central_fail(central, result, &problem);
    if (result < 0)
        return;
    if (line[0] != '\0')
        central_note(central, line);
    row->adapted = false;
    open_plan(row);
    central_set_unknown(row, central_is_unknown(row), clock_now(CLOCK_REALTIME));
}

static void read_entities(struct central_row *row, uint32_t entities)
{
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        if ((entities & 1u << i) != 0)
            central_step(row->central, row->links[i],
                         &(struct row_step){.kind = STEP_READ, .row = row->number, .entity = i},
                         NULL);
}

/* Instances are asked for their values behind all steps: the answers show that what their sensors have now was said. */
static void await_values(struct central_row *row, uint32_t entities)
{
    row->settling |= entities;
    if (row->settled == 0)
        row->settled = 1; /* until the answers have come */
    read_entities(row, entities);
}

/* A value may never be known: its pointer is 0, or its process cannot be read. A figure per second is, two readings later. */
void central_ask_again(struct central *central, uint64_t now)
{
    for (size_t i = 0; i < central->row_count; i++) {
        struct central_row *row = central->rows[i];
        uint32_t lacks = row == NULL ? 0 : row->returning & row->settling & row->linked;
        if (lacks == 0)
            continue;
        if (now >= row->returned + LACKS_MOST + 2 * central->options.every)
            row->returning &= ~lacks; /* the next answer settles them */
        read_entities(row, lacks);
    }
}

void central_replan(struct central_row *row, const struct view_plan *plan)
{
    struct central *central = row->central;

    row->settling = 0;
    row->settled = 0;
    row->returning = 0;
    central_set_unknown(row, true, clock_now(CLOCK_REALTIME));
    central_take_held(row);
    close_shares(row); /* which answers for the earlier plan */
    central_keep_changes(row);
    row->plan = *plan;
    row->edge = row->active ? clock_now(CLOCK_REALTIME) : row->edge;
    row->active = false; /* unknown */
    open_plan(row);
    await_values(row, row->linked);
    if (row->linked == 0)
        central_settle(central);
}

/* ---- which instance an entity is ---- */

static bool is_process(const struct known_instance *instance)
{
    return instance->builtin == VIEW_PROGRAM || instance->builtin == VIEW_PROCESS;
}

#define COMM_SIZE 16 /* the kernel cuts names of processes to this, with the 0 */

/* As instances.c compares programs with names of processes. */
static bool is_named(const struct known_instance *instance, const char *name)
{
    return view_same_name(instance->program, name) ||
           (is_process(instance) && strlen(instance->program) == COMM_SIZE - 1 &&
            strncasecmp(instance->program, name, COMM_SIZE - 1) == 0);
}

bool central_is_entity(const struct central *central, const struct known_instance *instance,
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
        if (is_named(instance, entity->name))
            return true;
        return colon != NULL && is_named(instance, colon + 1) &&
               strlen(machine) == (size_t)(colon - entity->name) &&
               strncasecmp(machine, entity->name, strlen(machine)) == 0;
    default:
        return true;
    }
}

/* The id of the instance, or 0: there is none, or `ret_several`. */
static uint64_t resolve(struct central_row *row, const struct view_entity *entity,
                        bool *ret_several)
{
    struct central *central = row->central;
    char name[VIEW_ENTITY_SIZE], line[512];
    uint64_t found = 0;
    size_t count = 0;

    *ret_several = false;
    if (entity->index == VIEW_EACH)
        return row->each;
    for (size_t i = 0; i < central->instance_count; i++)
        if (central_is_entity(central, &central->instances[i], entity)) {
            found = central->instances[i].id;
            count++;
        }
    if (count <= 1)
        return found;
    *ret_several = true;
    view_entity_text(entity, name);
    snprintf(line, sizeof(line),
             "view %s: %s: there are several; give one by number, or all by [*]",
             central_view_of(row)->name, name);
    central_note(central, line);
    return 0;
}

/* The row is unknown before its instance is unbound: a child of it that lives for a second does not end the condition. */
static void resolve_all(struct central_row *row, uint64_t resolved[VIEW_ENTITIES_MOST])
{
    const struct view *view = central_view_of(row);

    for (uint32_t i = 0; i < view->entity_count; i++) {
        bool several;
        resolved[i] = resolve(row, &view->entities[i], &several);
        if (several && (row->several & 1u << i) == 0)
            row->was[i] = row->bound[i];
        row->several = several ? row->several | 1u << i : row->several & ~(1u << i);
    }
    if (central_is_ambiguous(row))
        central_set_unknown(row, true, clock_now(CLOCK_REALTIME));
}

static void return_entity(struct central_row *row, uint32_t entity)
{
    row->returning |= 1u << entity;
    row->returned = clock_now(CLOCK_MONOTONIC);
}

/* These are no longer several. With the instance of before, the row is what it was as soon as its values are known; with another
 * one, what becomes active is news. */
static void end_several(struct central_row *row, uint32_t entities)
{
    entities &= row->needed;
    if (entities == 0)
        return;
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        if ((entities & 1u << i) != 0 && row->bound[i] != row->was[i])
            row->told = false;
        else if ((entities & 1u << i) != 0 && row->bound[i] != 0)
            return_entity(row, i);
    if ((entities & row->linked) != 0)
        await_values(row, entities & row->linked);
    central_set_unknown(row, central_is_unknown(row), clock_now(CLOCK_REALTIME));
}

static void bind_row(struct central_row *row)
{
    const struct view *view = central_view_of(row);
    uint64_t resolved[VIEW_ENTITIES_MOST];
    uint32_t fresh = 0, several = row->several;

    resolve_all(row, resolved);
    for (uint32_t i = 0; i < view->entity_count; i++) {
        if (row->bound[i] != resolved[i]) {
            unbind_entity(row, i);
            fresh |= resolved[i] != 0 ? 1u << i : 0;
        }
        row->bound[i] = resolved[i];
    }
    uint32_t before = row->planned ? fresh : 0;
    struct planning_place places[VIEW_ENTITIES_MOST];
    central_find_places(row, places);
    if (is_planned_for(row, places)) {
        for (uint32_t i = 0; i < view->entity_count; i++)
            if ((before & 1u << i) != 0)
                bind_entity(row, i);
    } else {
        plan_row(row); /* which binds all */
    }
    end_several(row, several & ~row->several);
}

/* ---- rows and instances ---- */

/* Whether it is not true as long as nothing is known of the entity. */
static bool needs(const struct view *view, const struct view_expression *expression,
                  uint32_t entity)
{
    if (expression->kind != VIEW_AND && expression->kind != VIEW_OR)
        return (view_entities_of(view, expression) & 1u << entity) != 0;
    bool left = needs(view, expression->left, entity);
    bool right = needs(view, expression->right, entity);
    return expression->kind == VIEW_AND ? left || right : left && right;
}

static uint32_t needed_of(const struct view *view)
{
    uint32_t needed = 0;

    for (uint32_t i = 0; i < view->entity_count; i++)
        needed |= needs(view, view->predicate, i) ? 1u << i : 0;
    return needed;
}

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
                                .needed = needed_of(&central->options.file->views[view]),
                                .since = clock_now(CLOCK_REALTIME),
                                .values = calloc(targets + 1, sizeof(*row->values)),
                                .texts = calloc(targets + 1, TEXT_SIZE)};
    if (each != NULL)
        snprintf(row->name, sizeof(row->name), "%s", each->name);
    if (row->values == NULL || row->texts == NULL) {
        central_free_row(row);
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
        central_note(central, "views have more than 10000 rows: what comes now is left out");
        return;
    }
    struct central_row *row = array_reserve(&central->rows, &central->row_capacity,
                                            (size_t)number + 1, sizeof(struct central_row *)) < 0
                                  ? NULL
                                  : new_row(central, view, each);
    if (row == NULL) {
        central_out_of_memory(central);
        return;
    }
    row->number = number;
    central->rows[number] = row;
    if (number == central->row_count)
        central->row_count++;
    bind_row(row);
}

/* The plan of another row of its view, for those who ask; NULL: there is none. */
static const struct view_plan *other_plan(const struct central_row *row)
{
    const struct central *central = row->central;

    for (size_t i = 0; i < central->row_count; i++) {
        const struct central_row *other = central->rows[i];
        if (other != NULL && other != row && other->view == row->view && other->planned)
            return &other->plan;
    }
    return NULL;
}

static void remove_row(struct central *central, struct central_row *row)
{
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        unbind_entity(row, i);
    central_set_row(row, false, clock_now(CLOCK_REALTIME), NULL);
    central_set_unknown(row, false, clock_now(CLOCK_REALTIME));
    close_shares(row);
    if (central->plans[row->view] == &row->plan)
        central->plans[row->view] = other_plan(row);
    central->rows[row->number % MONITOR_ROWS_MOST] = NULL;
    if (row->stored > 0)
        central_retire(central, row->stored);
    central_free_row(row);
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
    central->begun = clock_now(CLOCK_MONOTONIC);
    return central_failed(central, problem);
}

#define MISSING_AFTER 1000000000u /* ns */

static size_t count_instances(const struct central *central, const char *object)
{
    size_t count = 0;

    for (size_t i = 0; i < central->instance_count; i++)
        count += view_same_name(central->instances[i].object, object);
    return count;
}

static void note_missing(struct central *central, const struct view *view,
                         const struct view_entity *entity)
{
    char name[VIEW_ENTITY_SIZE], line[512];
    size_t count = count_instances(central, entity->object), matching = 0;

    for (size_t i = 0; i < central->instance_count; i++)
        matching += central_is_entity(central, &central->instances[i], entity);
    if (matching > 0)
        return; /* several, which another note says */
    view_entity_text(entity, name);
    snprintf(line, sizeof(line), "view %s: waiting for %s: %s has %zu instance%s so far%s",
             view->name, name, entity->object, count, count == 1 ? "" : "s",
             count == 0 && entity->builtin == VIEW_PROGRAM ? "; see --object" : "");
    central_note(central, line);
}

void central_note_missing(struct central *central)
{
    if (central->begun == 0 || clock_now(CLOCK_MONOTONIC) - central->begun < MISSING_AFTER)
        return;
    central->begun = 0;
    for (size_t i = 0; i < central->options.file->view_count; i++) {
        const struct view *view = &central->options.file->views[i];
        for (size_t k = 0; k < view->entity_count; k++)
            note_missing(central, view, &view->entities[k]);
    }
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

/* The object as views speak of it, which outlives the caller's name; NULL: no view does. */
static const struct view_entity *find_entity(const struct central *central, const char *object)
{
    for (size_t i = 0; i < central->options.file->view_count; i++) {
        const struct view *view = &central->options.file->views[i];
        for (size_t k = 0; k < view->entity_count; k++)
            if (view_same_name(view->entities[k].object, object))
                return &view->entities[k];
    }
    return NULL;
}

static void name_instance(const struct central *central, struct known_instance *instance,
                          const char *program)
{
    const char *machine = central->links[instance->link].machine;
    bool prefix = central->link_count > 1 && instance->builtin != VIEW_MACHINE;
    char number[16] = "";

    snprintf(instance->program, sizeof(instance->program), "%s",
             instance->builtin == VIEW_MACHINE ? machine : program);
    if (is_process(instance))
        snprintf(number, sizeof(number), " %d", instance->pid);
    snprintf(instance->name, sizeof(instance->name), "%s%s%s%s", prefix ? machine : "",
             prefix ? ":" : "", instance->program, number);
}

struct view_place central_place(const struct central *central,
                                const struct known_instance *instance)
{
    return (struct view_place){central->links[instance->link].machine,
                               is_process(instance) ? (uint32_t)instance->pid : 0};
}

/* In the database, as figures.c has it. */
static void store_instance(struct central *central, struct known_instance *instance)
{
    const struct view_place place = central_place(central, instance);
    struct problem problem = {""};
    uint32_t number = is_process(instance) ? instance->number : 0;

    instance->stored = view_model_instance(central->model, instance->object, number,
                                           instance->program, &place, &problem);
    int result = instance->stored < 0
                     ? (int)instance->stored
                     /* one like it may have ended, and is back */
                     : view_model_end(central->model, instance->stored, false, &problem);
    central_fail(central, result, &problem);
}

void central_appeared(struct central *central, int link, const char *object, pid_t pid,
                      const char *program)
{
    const struct view_entity *entity = find_entity(central, object);

    if (entity == NULL)
        return;
    if (array_reserve(&central->instances, &central->instance_capacity, central->instance_count + 1,
                      sizeof(*central->instances)) < 0) {
        central_out_of_memory(central);
        return;
    }
    struct known_instance *instance = &central->instances[central->instance_count];
    *instance = (struct known_instance){.object = entity->object,
                                        .builtin = entity->builtin,
                                        .number = entity->builtin == VIEW_PROCESS
                                                      ? (uint32_t)pid
                                                      : next_number(central, entity->object),
                                        .link = link,
                                        .pid = pid,
                                        .id = ++central->last_id};
    name_instance(central, instance, program);
    store_instance(central, instance);
    central->instance_count++;
    for (size_t i = 0; i < central->options.file->view_count; i++) {
        const char *each = each_object(&central->options.file->views[i]);
        if (each != NULL && view_same_name(each, entity->object))
            add_row(central, (uint32_t)i, instance);
    }
    bind_all(central);
}

void central_end_instance(struct central *central, size_t at)
{
    struct problem problem = {""};
    const struct known_instance gone = central->instances[at];
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL && central->rows[i]->each == gone.id)
            remove_row(central, central->rows[i]);
    memmove(&central->instances[at], &central->instances[at + 1],
            (central->instance_count - at - 1) * sizeof(gone));
    central->instance_count--;
    central_fail(central, view_model_end(central->model, gone.stored, true, &problem), &problem);
    central_retire(central, gone.stored);
    bind_all(central);
}

void central_ended(struct central *central, int link, const char *object, pid_t pid)
{
    for (size_t i = central->instance_count; i-- > 0;) {
        const struct known_instance *instance = &central->instances[i];
        if (instance->link == link && instance->pid == pid &&
            view_same_name(instance->object, object)) {
            central_end_instance(central, i);
            return;
        }
    }
}
