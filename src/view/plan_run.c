/* SPDX-License-Identifier: MIT */
/* plan_run.c: what sensors and monitors call to carry out a plan. See planner.h. */
#include "view/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool view_filter_passes(struct view_filter *filter, const struct view_conditions *conditions,
                        uint32_t entity, view_look *look, void *context)
{
    const struct view_entity_conditions *of = &conditions->of[entity];
    const struct view_filter before = *filter;

    *filter = (struct view_filter){false, false};
    for (size_t i = 0; i < of->count && !filter->was_true; i++)
        filter->was_true = view_holds(of->list[i], look, context) == VIEW_TRUE;
    return before.pass_next || (of->crossings ? filter->was_true != before.was_true
                                              : filter->was_true || before.was_true);
}

struct known {
    struct view_value value;
    char *text; /* of the value */
};

struct view_monitor {
    const struct view_conditions *conditions;
    const struct view_plan *plan;
    struct view_monitor_calls calls;
    struct known *known; /* by reference */
    struct known *told;  /* by target: as reported last */
    struct {
        bool fresh;     /* has values that count */
        uint64_t time;  /* of these */
        uint32_t probe; /* number of the latest */
    } entities[VIEW_ENTITIES_MOST];
    uint32_t probed; /* set of instances */
    bool triggered;  /* these were asked for */
    bool active;
};

struct view_monitor *view_monitor_new(const struct view_conditions *conditions,
                                      const struct view_plan *plan,
                                      const struct view_monitor_calls *calls)
{
    struct view_monitor *monitor = calloc(1, sizeof(*monitor));

    if (monitor == NULL)
        return NULL;
    *monitor = (struct view_monitor){
        .conditions = conditions,
        .plan = plan,
        .calls = *calls,
        .known = calloc(conditions->view->reference_count + 1, sizeof(struct known)),
        .told = calloc(conditions->view->target_count + 1, sizeof(struct known))};
    for (uint32_t i = 0; i < conditions->view->entity_count; i++)
        if (plan->parts[i].collection == VIEW_PROBED)
            monitor->probed |= 1u << i;
    if (monitor->known == NULL || monitor->told == NULL) {
        view_monitor_free(monitor);
        return NULL;
    }
    return monitor;
}

static void free_known(struct known *known, size_t count)
{
    for (size_t i = 0; known != NULL && i < count; i++)
        free(known[i].text);
    free(known);
}

void view_monitor_free(struct view_monitor *monitor)
{
    if (monitor == NULL)
        return;
    free_known(monitor->known, monitor->conditions->view->reference_count);
    free_known(monitor->told, monitor->conditions->view->target_count);
    free(monitor);
}

static bool is_same(const struct view_value *one, const struct view_value *other)
{
    if (one->kind != other->kind || one->kind == VIEW_UNKNOWN)
        return one->kind == other->kind;
    return one->kind == VIEW_IS_TEXT ? strcmp(one->text, other->text) == 0
                                     : one->number == other->number;
}

/* Returns whether it differs from before, or -ENOMEM. */
static int keep(struct known *known, const struct view_value *value)
{
    char *text = NULL;

    if (is_same(&known->value, value))
        return 0;
    if (value->kind == VIEW_IS_TEXT && (text = strdup(value->text)) == NULL)
        return -ENOMEM;
    free(known->text);
    *known = (struct known){*value, text};
    known->value.text = text;
    return 1;
}

static struct view_value look_known(void *context, uint32_t reference)
{
    return ((const struct view_monitor *)context)->known[reference].value;
}

/* Whether the predicate could be true, whatever the instances that are probed have. */
static bool could_hold(struct view_monitor *monitor, const struct view_expression *expression)
{
    if (expression->kind == VIEW_AND)
        return could_hold(monitor, expression->left) && could_hold(monitor, expression->right);
    if (expression->kind == VIEW_OR)
        return could_hold(monitor, expression->left) || could_hold(monitor, expression->right);
    return (view_entities_of(monitor->conditions->view, expression) & monitor->probed) != 0 ||
           view_holds(expression, look_known, monitor) == VIEW_TRUE;
}

/* Values that were probed count only as long as their instance is watched. */
static void forget(struct view_monitor *monitor, uint32_t entity)
{
    const struct view *view = monitor->conditions->view;
    const struct view_value unknown = {.kind = VIEW_UNKNOWN};

    monitor->entities[entity].fresh = false;
    for (size_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == entity)
            keep(&monitor->known[i], &unknown); /* needs no memory */
}

/* Asks for the instances that are probed, or for no more of them. */
static void trigger(struct view_monitor *monitor)
{
    bool wanted = could_hold(monitor, monitor->conditions->predicate);

    if (monitor->probed == 0 || wanted == monitor->triggered)
        return;
    monitor->triggered = wanted;
    for (uint32_t i = 0; i < monitor->conditions->view->entity_count; i++) {
        if ((monitor->probed & 1u << i) == 0)
            continue;
        forget(monitor, i);
        if (wanted)
            monitor->calls.probe(monitor->calls.context, i, ++monitor->entities[i].probe);
        else
            monitor->calls.release(monitor->calls.context, i);
    }
}

static bool holds(struct view_monitor *monitor)
{
    for (uint32_t i = 0; i < monitor->conditions->view->entity_count; i++)
        if ((monitor->probed & 1u << i) != 0 && !monitor->entities[i].fresh)
            return false;
    return view_holds(monitor->conditions->predicate, look_known, monitor) == VIEW_TRUE;
}

/* Reports what has changed, or (`repeats`) what is. */
static int evaluate(struct view_monitor *monitor, uint64_t time, bool repeats)
{
    const struct view *view = monitor->conditions->view;
    struct view_value targets[VIEW_REFERENCES_MOST];
    bool active = holds(monitor), edge = active != monitor->active, changed = edge || repeats;

    monitor->active = active;
    for (size_t i = 0; active && i < view->target_count; i++) {
        targets[i] = view_evaluate(view->targets[i].expression, look_known, monitor);
        int differs = keep(&monitor->told[i], &targets[i]);
        if (differs < 0)
            return differs;
        changed = changed || differs > 0;
    }
    if (changed)
        monitor->calls.changed(monitor->calls.context, active, edge, time, targets);
    return 0;
}

/* Values that were on their way when their instance was released, even if it is probed again by now, or were overtaken. */
static bool is_late(const struct view_monitor *monitor, uint32_t entity, uint64_t time,
                    uint32_t probe)
{
    bool probed = (monitor->probed & 1u << entity) != 0;

    return (probed && !monitor->triggered) ||
           (probed && probe != 0 && probe != monitor->entities[entity].probe) ||
           (monitor->entities[entity].fresh && time < monitor->entities[entity].time);
}

int view_monitor_record(struct view_monitor *monitor, uint32_t entity, uint64_t time,
                        uint32_t probe, view_look *look, void *context)
{
    const struct view *view = monitor->conditions->view;

    if (is_late(monitor, entity, time, probe))
        return 0;
    for (uint32_t i = 0; i < view->reference_count; i++) {
        if (view->references[i].entity != entity)
            continue;
        const struct view_value value = look(context, i);
        int result = keep(&monitor->known[i], &value);
        if (result < 0)
            return result;
    }
    monitor->entities[entity].fresh = true;
    monitor->entities[entity].time = time;
    trigger(monitor);
    return evaluate(monitor, time, false);
}

int view_monitor_repeat(struct view_monitor *monitor, uint64_t time)
{
    return evaluate(monitor, time, true);
}
