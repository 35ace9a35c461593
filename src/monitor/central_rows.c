/* SPDX-License-Identifier: MIT */
/* central_rows.c: what resident monitors report, and what becomes of rows. See central.h. */
#include "monitor/central_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what becomes of a row ---- */

/* A target of the row, and if it is an attribute whose values do not come by themselves, that one, too. */
static int store_target(struct central_row *row, size_t target, uint64_t time,
                        struct problem *problem)
{
    struct central *central = row->central;
    const struct view *view = central_view_of(row);
    const struct view_expression *value = view->targets[target].expression;
    const struct view_reference *reference =
        value->kind == VIEW_REFERENCE ? &view->references[value->reference] : NULL;
    const struct known_instance *instance =
        reference == NULL ? NULL : central_instance(central, row->bound[reference->entity]);
    const struct view_place place = instance != NULL
                                        ? central_place(central, instance)
                                        : (struct view_place){central->options.machine, 0};
    int result = view_model_set(central->model, row->stored, view->targets[target].name,
                                &row->values[target], time, &place, problem);

    if (result < 0 || instance == NULL || row->monitor != NULL || !row->active)
        return result;
    return view_model_set(central->model, instance->stored, reference->attribute,
                          &row->values[target], time, &place, problem);
}

static void store(struct central_row *row, uint64_t time)
{
    struct central *central = row->central;
    const struct view *view = central_view_of(row);
    struct problem problem = {""};
    int result = 0;

    if (row->stored == 0)
        row->stored = view_model_instance(central->model, view->name, 0, row->name, NULL, &problem);
    if (row->stored < 0)
        result = (int)row->stored;
    for (size_t i = 0; i < view->target_count && result == 0; i++)
        result = store_target(row, i, time, &problem);
    if (result == 0)
        result =
            view_model_end(central->model, row->stored, !row->active || row->unknown, &problem);
    central_fail(central, result, &problem);
}

static void keep_targets(struct central_row *row, const struct view_value *targets)
{
    for (size_t i = 0; i < central_view_of(row)->target_count; i++) {
        row->values[i] = targets[i];
        if (targets[i].kind == VIEW_IS_TEXT) {
            snprintf(row->texts[i], TEXT_SIZE, "%s", targets[i].text);
            row->values[i].text = row->texts[i];
        }
    }
}

void central_store_row(struct central_row *row)
{
    if (row->newer != 0)
        store(row, row->newer);
    row->newer = 0;
}

/* What is active again after it was unknown is not notified again. */
static void tell(struct central_row *row, enum view_change_kind kind, uint64_t time)
{
    const struct central_calls *calls = &row->central->calls;
    bool begins = row->active && !row->unknown && !row->told;
    const struct view_change change = {.kind = kind,
                                       .view = central_view_of(row),
                                       .row = row->name,
                                       .time = time,
                                       .values = row->values,
                                       .notifies = begins && central_view_of(row)->notifies};

    row->newer = time;
    if (kind != VIEW_CHANGED) { /* a changed value is stored only when the model is asked */
        central_store_row(row);
        row->since = time;
    }
    row->times += begins;
    calls->changed(calls->context, &change);
    if (change.notifies)
        calls->notify(calls->context, &change, (uint64_t)row->plan.flush);
    if (!row->unknown)
        row->told = row->active;
}

void central_set_row(struct central_row *row, bool active, uint64_t time,
                     const struct view_value *targets)
{
    bool edge = active != row->active;

    if (!active && !edge)
        return;
    if (active)
        keep_targets(row, targets);
    row->active = active;
    if (edge)
        row->edge = time;
    if (!row->unknown)
        tell(row, !active ? VIEW_GONE : edge ? VIEW_APPEARED : VIEW_CHANGED, time);
}

/* What it has become while it was unknown happened at the time of its values: its notification may be late by now. */
void central_set_unknown(struct central_row *row, bool unknown, uint64_t time)
{
    if (row->unknown == unknown)
        return;
    row->unknown = unknown;
    if (!unknown && row->active != row->told)
        time = row->edge != 0 ? row->edge : time;
    tell(row, unknown ? VIEW_UNCLEAR : row->active ? VIEW_APPEARED : VIEW_GONE, time);
}

struct central_row *central_row_at(const struct central *central, uint32_t row)
{
    uint32_t place = row % MONITOR_ROWS_MOST;
    struct central_row *at = place < central->row_count ? central->rows[place] : NULL;

    return at != NULL && at->number == row ? at : NULL; /* else of an earlier plan */
}

/* How late a value is evaluated. */
static void note_delay(struct central_row *row, uint64_t time)
{
    uint64_t now = clock_now(CLOCK_REALTIME), delay = now > time ? now - time : 0;

    if (delay > row->delay)
        row->delay = delay;
}

void central_result(struct central *central, uint32_t number, bool active, uint64_t time,
                    const struct view_value *targets, size_t count)
{
    struct central_row *row = central_row_at(central, number);

    central->passed++;
    if (row != NULL && row->monitor == NULL &&
        (!active || count == central_view_of(row)->target_count)) {
        note_delay(row, time);
        central_set_row(row, active, time, targets);
    }
}

/* ---- values ---- */

static struct view_value look(void *context, uint32_t reference)
{
    return ((const struct view_value *)context)[reference];
}

struct known_instance *central_instance(const struct central *central, uint64_t id)
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
    const struct view *view = central_view_of(row);
    const struct known_instance *instance = central_instance(central, row->bound[entity]);
    struct problem problem = {""};
    int result = 0;

    if (instance == NULL)
        return;
    const struct view_place place = central_place(central, instance);
    for (uint32_t i = 0; i < view->reference_count && result == 0; i++)
        if (view->references[i].entity == entity)
            result = view_model_set(central->model, instance->stored, view->references[i].attribute,
                                    &values[i], time, &place, &problem);
    central_fail(central, result, &problem);
}

/* The row, if such values are of it; NULL: of an earlier plan. */
static struct central_row *row_of_values(const struct central *central, uint32_t number,
                                         uint32_t entity, size_t count)
{
    struct central_row *row = central_row_at(central, number);

    return row == NULL || entity >= central_view_of(row)->entity_count ||
                   count != central_view_of(row)->reference_count
               ? NULL
               : row;
}

void central_take_record(struct central *central, uint32_t number, uint32_t entity, uint64_t time,
                         uint32_t probe, const struct view_value *values, size_t count)
{
    struct central_row *row = row_of_values(central, number, entity, count);

    if (row == NULL)
        return;
    store_values(row, entity, time, values);
    note_delay(row, time);
    if (row->monitor != NULL &&
        view_monitor_record(row->monitor, entity, time, probe, look, (void *)(uintptr_t)values) < 0)
        central_out_of_memory(central);
}

void central_record(struct central *central, uint32_t number, uint32_t entity, uint64_t time,
                    uint32_t probe, const struct view_value *values, size_t count)
{
    struct central_row *row = row_of_values(central, number, entity, count);

    central->passed++;
    if (row != NULL && (row->linked & 1u << entity) != 0)
        central->rates[row->links[entity]].arrived++;
    if (row != NULL && !central_hold(row, entity, time, values, count))
        central_take_record(central, number, entity, time, probe, values, count);
}

static bool depends_on(const struct view_expression *expression, uint32_t reference)
{
    if (expression == NULL || expression->kind == VIEW_REFERENCE)
        return expression != NULL && expression->reference == reference;
    return depends_on(expression->left, reference) || depends_on(expression->right, reference);
}

bool central_lacks_values(const struct central_row *row, uint32_t entity,
                          const struct view_value *values, size_t count)
{
    const struct view *view = central_view_of(row);

    if (entity >= view->entity_count || (row->returning & 1u << entity) == 0 ||
        count != view->reference_count ||
        view_holds(view->predicate, look, (void *)(uintptr_t)values) != VIEW_MAYBE)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (view->references[i].entity == entity && values[i].kind == VIEW_UNKNOWN &&
            depends_on(view->predicate, i))
            return true;
    return false;
}

static void monitor_changed(void *context, bool active, bool edge, uint64_t time,
                            const struct view_value *targets)
{
    (void)edge;
    central_set_row(context, active, time, targets);
}

void central_ask(struct central_row *row, uint32_t entity, bool probe)
{
    row->asked = probe ? row->asked | 1u << entity : row->asked & ~(1u << entity);
    if (row->bound[entity] == 0) {
        if (probe) /* a predicate with OR may not need it */
            central_record_unknown(row, entity);
        return;
    }
    if ((row->linked & 1u << entity) == 0)
        return; /* it is asked when its resident monitor knows of it */
    central_step(row->central, row->links[entity],
                 &(struct row_step){.kind = probe ? STEP_PROBE : STEP_RELEASE,
                                    .row = row->number,
                                    .entity = entity,
                                    .number = row->probes[entity]},
                 NULL);
}

static void monitor_probe(void *context, uint32_t entity, uint32_t number)
{
    ((struct central_row *)context)->probes[entity] = number;
    central_ask(context, entity, true);
}

static void monitor_release(void *context, uint32_t entity)
{
    central_ask(context, entity, false);
}

struct view_monitor *central_monitor_new(struct central_row *row)
{
    const struct view_monitor_calls calls = {row, monitor_probe, monitor_release, monitor_changed};

    return view_monitor_new(&row->central->conditions[row->view], &row->plan, &calls);
}

void central_record_unknown(struct central_row *row, uint32_t entity)
{
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    if (row->monitor != NULL &&
        view_monitor_record(row->monitor, entity, clock_now(CLOCK_REALTIME), 0, look, unknown) < 0)
        central_out_of_memory(row->central);
}
