/* SPDX-License-Identifier: MIT */
/*
 * conditions.c: reorders a predicate so that what concerns the same instance stands together, and lists the conditions
 * of each instance.
 *
 *      (a.x > 1 AND b.y > 2) AND a.z > 3    becomes    (a.x > 1 AND a.z > 3) AND b.y > 2
 */
#include "view/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t view_entities_of(const struct view *view, const struct view_expression *expression)
{
    if (expression == NULL)
        return 0;
    if (expression->kind == VIEW_REFERENCE)
        return 1u << view->references[expression->reference].entity;
    return view_entities_of(view, expression->left) | view_entities_of(view, expression->right);
}

static bool is_one(uint32_t set)
{
    return set != 0 && (set & (set - 1)) == 0;
}

struct operands {
    struct view_expression **list;
    size_t count, capacity;
};

static struct view_expression *reorder(struct view_conditions *conditions,
                                       const struct view_expression *expression);

/* The operands of a chain of the same operator, each reordered. */
static int flatten(struct view_conditions *conditions, const struct view_expression *expression,
                   enum view_kind kind, struct operands *operands)
{
    if (expression->kind == kind) {
        int result = flatten(conditions, expression->left, kind, operands);
        return result < 0 ? result : flatten(conditions, expression->right, kind, operands);
    }
    if (array_reserve(&operands->list, &operands->capacity, operands->count + 1,
                      sizeof(*operands->list)) < 0)
        return -ENOMEM;
    struct view_expression *ordered = reorder(conditions, expression);
    if (ordered == NULL)
        return -ENOMEM;
    operands->list[operands->count++] = ordered;
    return 0;
}

static struct view_expression *join(struct view_conditions *conditions, enum view_kind kind,
                                    struct view_expression *left, struct view_expression *right)
{
    if (left == NULL)
        return right;
    struct view_expression *joined = arena_allocate(&conditions->memory, sizeof(*joined));
    if (joined != NULL)
        *joined = (struct view_expression){
            .kind = kind, .left = left, .right = right, .line = left->line, .column = left->column};
    return joined;
}

/* Those of one instance first, instance by instance, then the others. */
static struct view_expression *join_grouped(struct view_conditions *conditions, enum view_kind kind,
                                            const struct operands *operands)
{
    struct view_expression *whole = NULL;

    for (size_t entity = 0; entity <= conditions->view->entity_count; entity++) {
        struct view_expression *group = NULL;
        for (size_t i = 0; i < operands->count; i++) {
            uint32_t set = view_entities_of(conditions->view, operands->list[i]);
            bool mine =
                entity < conditions->view->entity_count ? set == 1u << entity : !is_one(set);
            if (!mine)
                continue;
            group = join(conditions, kind, group, operands->list[i]);
            if (group == NULL)
                return NULL;
        }
        if (group != NULL && (whole = join(conditions, kind, whole, group)) == NULL)
            return NULL;
    }
    return whole;
}

static struct view_expression *reorder(struct view_conditions *conditions,
                                       const struct view_expression *expression)
{
    struct operands operands = {0};
    struct view_expression *ordered = NULL;

    if (expression->kind != VIEW_AND && expression->kind != VIEW_OR)
        return (struct view_expression *)(uintptr_t)expression;
    if (flatten(conditions, expression, expression->kind, &operands) == 0)
        ordered = join_grouped(conditions, expression->kind, &operands);
    free(operands.list);
    return ordered;
}

static int add_condition(struct view_conditions *conditions, struct view_expression *expression,
                         uint32_t set)
{
    struct view_entity_conditions *of = &conditions->of[__builtin_ctz(set)];
    struct view_expression **grown = of->list;

    if ((of->count & (of->count - 1)) == 0) { /* no room left */
        grown = arena_allocate(&conditions->memory,
                               (of->count == 0 ? 1 : of->count * 2) * sizeof(*grown));
        if (grown == NULL)
            return -ENOMEM;
        if (of->count > 0)
            memcpy(grown, of->list, of->count * sizeof(*grown));
    }
    grown[of->count++] = expression;
    of->list = grown;
    of->predicate = true;
    return 0;
}

/* Lists the largest parts that concern one instance. */
static int list_conditions(struct view_conditions *conditions, struct view_expression *expression)
{
    uint32_t set = view_entities_of(conditions->view, expression);

    if (is_one(set))
        return add_condition(conditions, expression, set);
    if (expression->kind == VIEW_AND || expression->kind == VIEW_OR) {
        int result = list_conditions(conditions, expression->left);
        return result < 0 ? result : list_conditions(conditions, expression->right);
    }
    for (uint32_t i = 0; i < conditions->view->entity_count; i++)
        if ((set & 1u << i) != 0)
            conditions->of[i].raw = conditions->of[i].predicate = true;
    return 0;
}

/* Which instances pass on crossings only. */
static void find_crossings(struct view_conditions *conditions)
{
    const struct view *view = conditions->view;
    uint32_t shown = 0;

    for (size_t i = 0; i < view->target_count; i++)
        shown |= view_entities_of(view, view->targets[i].expression);
    for (size_t i = 0; i < view->entity_count; i++)
        conditions->of[i].crossings =
            conditions->of[i].count == 1 && !conditions->of[i].raw && (shown & 1u << i) == 0;
}

int view_conditions_make(const struct view *view, struct view_conditions *ret_conditions,
                         struct problem *problem)
{
    struct view_conditions conditions = {.view = view};

    if (view_entities_of(view, view->predicate) == 0)
        return problem_set(problem, -EINVAL,
                           "view %s: its predicate depends on no attribute, so it has no plan",
                           view->name);
    conditions.predicate = reorder(&conditions, view->predicate);
    if (conditions.predicate == NULL || list_conditions(&conditions, conditions.predicate) < 0) {
        view_conditions_done(&conditions);
        return problem_set(problem, -ENOMEM, "view %s: out of memory", view->name);
    }
    find_crossings(&conditions);
    *ret_conditions = conditions;
    return 0;
}

void view_conditions_done(struct view_conditions *conditions)
{
    arena_done(&conditions->memory);
}
