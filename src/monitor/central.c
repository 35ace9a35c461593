/* SPDX-License-Identifier: MIT */
/* central.c: the central monitor: its beginning and end, changes and questions from outside. See central.h. */
#include "monitor/central_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    central->retired = calloc(RETIRED_MOST, sizeof(*central->retired));
    central->off = calloc(count + 1, sizeof(*central->off));
    if (central->conditions == NULL || central->plans == NULL || central->retired == NULL ||
        central->off == NULL)
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

void central_free_row(struct central_row *row)
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
        central_free_row(central->rows[i]);
    for (size_t i = 0; central->conditions != NULL && i < central->options.file->view_count; i++)
        view_conditions_done(&central->conditions[i]);
    central_order_done(&central->order);
    view_model_free(central->model);
    intern_done(&central->notes);
    free(central->conditions);
    free(central->plans);
    free(central->retired);
    free(central->off);
    free(central->instances);
    free(central->numbers);
    free(central->rows);
    free(central);
}

struct view_model *central_model(struct central *central)
{
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL)
            central_store_row(central->rows[i]);
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
void central_fail(struct central *central, int result, const struct problem *problem)
{
    if (result >= 0 || central->failed < 0)
        return;
    central->failed = result;
    central->problem = *problem;
}

void central_out_of_memory(struct central *central)
{
    struct problem problem = {""};

    central_fail(central, problem_set(&problem, -ENOMEM, "out of memory for views"), &problem);
}

void central_retire(struct central *central, int64_t stored)
{
    struct problem problem = {""};
    int64_t *slot =
        &central->retired[(central->retired_first + central->retired_count) % RETIRED_MOST];

    if (central->retired_count < RETIRED_MOST) {
        central->retired_count++;
    } else { /* `slot` is the oldest one */
        central_fail(central, view_model_forget(central->model, *slot, &problem), &problem);
        central->retired_first = (central->retired_first + 1) % RETIRED_MOST;
    }
    *slot = stored;
}

/* A line for the user, once. */
void central_note(struct central *central, const char *line)
{
    uint32_t known = central->notes.count;

    if (intern_add(&central->notes, hash_bytes(0, line, strlen(line))) == known)
        central->calls.note(central->calls.context, line);
}

void central_finish(struct central *central)
{
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL)
            central_take_held(central->rows[i]);
}

/* ---- changes and questions from outside ---- */

int central_turn(struct central *central, uint32_t view, bool on)
{
    if (view >= central->options.file->view_count)
        return -ENOENT;
    central->off[view] = !on;
    for (int i = 0; i < central->link_count; i++)
        central_step(central, i, &(struct row_step){.kind = STEP_TURN, .view = view, .on = on},
                     NULL);
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
    for (int i = 0; i < central->link_count; i++)
        central_step(
            central, i,
            &(struct row_step){.kind = STEP_CONSTANT, .view = view, .index = index, .value = value},
            NULL);
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
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++) {
        int reference = reference_of(central_view_of(row), i, attribute);
        if (row->bound[i] != instance || reference < 0 || (row->linked & 1u << i) == 0)
            continue;
        question->open = true;
        question->row = row->number;
        question->entity = i;
        question->reference = (uint32_t)reference;
        central_step(row->central, row->links[i],
                     &(struct row_step){.kind = STEP_READ, .row = row->number, .entity = i}, NULL);
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
        if (!central_is_entity(central, &central->instances[i], entity))
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
    struct central_row *settling = central_row_at(central, row);

    if (settling != NULL && !central_lacks_values(settling, entity, values, count))
        central_settle_entity(settling, entity, time);
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

/* An entity without which the predicate is not true: one of it that is not there. With OR it need not be. */
static const struct view_entity *missing_entity(const struct central_row *row)
{
    const struct view *view = central_view_of(row);

    for (size_t i = 0; i < view->entity_count; i++)
        if (row->bound[i] == 0 && row->central->conditions[row->view].of[i].predicate)
            return &view->entities[i];
    return NULL;
}

/* One of the predicate that several instances could be. */
static const struct view_entity *ambiguous_entity(const struct central_row *row)
{
    uint32_t several = row->several & row->needed;

    return several == 0 ? NULL : &central_view_of(row)->entities[__builtin_ctz(several)];
}

void central_each_row(const struct central *central, uint32_t view,
                      void (*each)(void *context, const struct central_row_state *state),
                      void *context)
{
    for (size_t i = 0; i < central->row_count; i++) {
        const struct central_row *row = central->rows[i];
        if (row == NULL || row->view != view)
            continue;
        const struct central_row_state state = {.name = row->name,
                                                .active = row->active,
                                                .late = row->unknown && !central_is_changing(row) &&
                                                        !central_is_ambiguous(row),
                                                .changing = central_is_changing(row),
                                                .missing = row->active ? NULL : missing_entity(row),
                                                .several = ambiguous_entity(row),
                                                .since = row->since,
                                                .times = row->times,
                                                .delay = row->delay,
                                                .in_order = central_is_ordered(row),
                                                .values = row->values};
        each(context, &state);
    }
}

bool central_has_lost(const struct central *central)
{
    return central->lost;
}

bool central_is_on(const struct central *central, uint32_t view)
{
    return view < central->options.file->view_count && !central->off[view];
}

const struct view_conditions *central_conditions(const struct central *central, uint32_t view)
{
    return &central->conditions[view];
}
