/* SPDX-License-Identifier: MIT */
/* evaluate.c: values of expressions, and expressions as text. See view.h. */
#include "view/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct view_value number_value(double number)
{
    return isfinite(number) ? (struct view_value){.kind = VIEW_IS_NUMBER, .number = number}
                            : (struct view_value){.kind = VIEW_UNKNOWN};
}

static double calculate(enum view_kind kind, double left, double right)
{
    switch (kind) {
    case VIEW_ADD:
        return left + right;
    case VIEW_SUBTRACT:
        return left - right;
    case VIEW_MULTIPLY:
        return left * right;
    default:
        return left / right;
    }
}

struct view_value view_evaluate(const struct view_expression *expression, view_look *look,
                                void *context)
{
    const struct view_value unknown = {.kind = VIEW_UNKNOWN};

    switch (expression->kind) {
    case VIEW_NUMBER:
        return number_value(expression->number);
    case VIEW_TEXT:
        return (struct view_value){.kind = VIEW_IS_TEXT, .text = expression->text};
    case VIEW_REFERENCE:
        return look(context, expression->reference);
    default:
        break;
    }
    struct view_value left = view_evaluate(expression->left, look, context);
    if (left.kind != VIEW_IS_NUMBER)
        return unknown;
    if (expression->kind == VIEW_NEGATE)
        return number_value(-left.number);
    struct view_value right = view_evaluate(expression->right, look, context);
    return right.kind == VIEW_IS_NUMBER
               ? number_value(calculate(expression->kind, left.number, right.number))
               : unknown;
}

/* A constant that is to be compared with the reference, of another kind. */
static const struct view_expression *other_kind(const struct view_expression *one,
                                                const struct view_expression *other,
                                                uint32_t reference, enum view_value_kind kind)
{
    bool is_text = other->kind == VIEW_TEXT, is_number = other->kind == VIEW_NUMBER;

    if (one->kind != VIEW_REFERENCE || one->reference != reference)
        return NULL;
    return (kind == VIEW_IS_TEXT && is_number) || (kind == VIEW_IS_NUMBER && is_text) ? other
                                                                                      : NULL;
}

static const struct view_expression *find_mismatch(const struct view_expression *expression,
                                                   uint32_t reference, enum view_value_kind kind)
{
    const struct view_expression *found = NULL;

    if (expression->kind < VIEW_EQUAL)
        return NULL;
    if (expression->kind < VIEW_AND) {
        found = other_kind(expression->left, expression->right, reference, kind);
        return found != NULL ? found
                             : other_kind(expression->right, expression->left, reference, kind);
    }
    found = find_mismatch(expression->left, reference, kind);
    return found != NULL ? found : find_mismatch(expression->right, reference, kind);
}

const struct view_expression *view_mismatch(const struct view *view, uint32_t reference,
                                            enum view_value_kind kind)
{
    return find_mismatch(view->predicate, reference, kind);
}

/* Negative, 0 or positive. */
static int compare(const struct view_value *left, const struct view_value *right)
{
    if (left->kind == VIEW_IS_TEXT)
        return strcasecmp(left->text, right->text);
    return (left->number > right->number) - (left->number < right->number);
}

static enum view_truth compared(const struct view_expression *expression, view_look *look,
                                void *context)
{
    const struct view_value left = view_evaluate(expression->left, look, context);
    const struct view_value right = view_evaluate(expression->right, look, context);

    if (left.kind == VIEW_UNKNOWN || left.kind != right.kind)
        return VIEW_MAYBE;
    int order = compare(&left, &right);
    switch (expression->kind) {
    case VIEW_EQUAL:
        return order == 0 ? VIEW_TRUE : VIEW_FALSE;
    case VIEW_NOT_EQUAL:
        return order != 0 ? VIEW_TRUE : VIEW_FALSE;
    case VIEW_GREATER:
        return order > 0 ? VIEW_TRUE : VIEW_FALSE;
    case VIEW_GREATER_EQUAL:
        return order >= 0 ? VIEW_TRUE : VIEW_FALSE;
    case VIEW_LESS:
        return order < 0 ? VIEW_TRUE : VIEW_FALSE;
    default:
        return order <= 0 ? VIEW_TRUE : VIEW_FALSE;
    }
}

enum view_truth view_holds(const struct view_expression *predicate, view_look *look, void *context)
{
    if (predicate->kind != VIEW_AND && predicate->kind != VIEW_OR)
        return compared(predicate, look, context);
    /* the value that decides alone */
    const enum view_truth decides = predicate->kind == VIEW_AND ? VIEW_FALSE : VIEW_TRUE;
    enum view_truth left = view_holds(predicate->left, look, context);
    if (left == decides)
        return left;
    enum view_truth right = view_holds(predicate->right, look, context);
    return right == decides ? right : left == VIEW_MAYBE ? left : right;
}

/* ---- as text ---- */

void view_entity_text(const struct view_entity *entity, char text[VIEW_ENTITY_SIZE])
{
    switch (entity->index) {
    case VIEW_ONLY:
        snprintf(text, VIEW_ENTITY_SIZE, "%s", entity->object);
        break;
    case VIEW_NUMBER_INDEX:
        snprintf(text, VIEW_ENTITY_SIZE, "%s[%u]", entity->object, entity->number);
        break;
    case VIEW_EACH:
        snprintf(text, VIEW_ENTITY_SIZE, "%s[*]", entity->object);
        break;
    case VIEW_NAME:
        if (entity->other == NULL)
            snprintf(text, VIEW_ENTITY_SIZE, "%s[\"%s\"]", entity->object, entity->name);
        else
            snprintf(text, VIEW_ENTITY_SIZE, "%s[\"%s\",\"%s\"]", entity->object, entity->name,
                     entity->other);
    }
}

static double *find_constant(struct view_expression *expression, uint32_t *left)
{
    if (expression == NULL)
        return NULL;
    if (expression->kind == VIEW_NUMBER)
        return (*left)-- == 0 ? &expression->number : NULL;
    double *found = find_constant(expression->left, left);
    return found != NULL ? found : find_constant(expression->right, left);
}

double *view_constant(const struct view *view, uint32_t index)
{
    return find_constant(view->predicate, &index);
}

void view_receiver_text(const struct view *view, char text[VIEW_RECEIVER_SIZE])
{
    if (view->command != NULL)
        snprintf(text, VIEW_RECEIVER_SIZE, "command '%s'", view->command);
    else if (view->subject != NULL)
        snprintf(text, VIEW_RECEIVER_SIZE, "subject '%s' of %s", view->subject, view->host);
    else if (view->notifies)
        snprintf(text, VIEW_RECEIVER_SIZE, "%s port %u", view->host, view->port);
    else
        text[0] = '\0';
}

/* What is written of a text that grows: as far as it fits. */
struct written {
    char *text;
    size_t size, used;
};

static void write_word(struct written *written, const char *word)
{
    for (; *word != '\0'; word++, written->used++)
        if (written->used + 1 < written->size)
            written->text[written->used] = *word;
}

static void write_expression(struct written *written, const struct view *view,
                             const struct view_expression *expression)
{
    static const char *const words[] = {
        [VIEW_ADD] = " + ",         [VIEW_SUBTRACT] = " - ",       [VIEW_MULTIPLY] = " * ",
        [VIEW_DIVIDE] = " / ",      [VIEW_EQUAL] = " = ",          [VIEW_NOT_EQUAL] = " <> ",
        [VIEW_GREATER] = " > ",     [VIEW_GREATER_EQUAL] = " >= ", [VIEW_LESS] = " < ",
        [VIEW_LESS_EQUAL] = " <= ", [VIEW_AND] = " AND ",          [VIEW_OR] = " OR "};
    char entity[VIEW_ENTITY_SIZE], number[64];

    switch (expression->kind) {
    case VIEW_NUMBER:
        snprintf(number, sizeof(number), "%.15g", expression->number);
        if (strtod(number, NULL) != expression->number) /* 0.1 is not 0.10000000000000001 */
            snprintf(number, sizeof(number), "%.17g", expression->number);
        write_word(written, number);
        return;
    case VIEW_TEXT:
        write_word(written, "\"");
        write_word(written, expression->text);
        write_word(written, "\"");
        return;
    case VIEW_REFERENCE: {
        const struct view_reference *reference = &view->references[expression->reference];
        view_entity_text(&view->entities[reference->entity], entity);
        write_word(written, entity);
        write_word(written, ".");
        write_word(written, reference->attribute);
        return;
    }
    case VIEW_NEGATE:
        write_word(written, "(- ");
        break;
    default:
        write_word(written, "(");
        break;
    }
    write_expression(written, view, expression->left);
    if (expression->kind != VIEW_NEGATE) {
        write_word(written, words[expression->kind]);
        write_expression(written, view, expression->right);
    }
    write_word(written, ")");
}

int view_expression_text(const struct view *view, const struct view_expression *expression,
                         char *text, size_t size)
{
    struct written written = {text, size, 0};

    write_expression(&written, view, expression);
    if (size > 0)
        text[written.used < size ? written.used : size - 1] = '\0';
    return (int)written.used;
}

bool view_keep(struct view_kept *kept, const struct view_value *value)
{
    struct view_kept now = {.kind = value->kind};

    if (value->kind == VIEW_IS_NUMBER)
        now.number = value->number;
    else if (value->kind == VIEW_IS_TEXT)
        snprintf(now.text, sizeof(now.text), "%s", value->text);
    bool same =
        now.kind == kept->kind && now.number == kept->number && strcmp(now.text, kept->text) == 0;
    *kept = now;
    return !same;
}
