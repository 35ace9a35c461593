/* SPDX-License-Identifier: MIT */
/*
 * sensor_condition.c: from conditions of a view to steps of the machine, for extended sensors.
 *
 *      q.size > 24.5 AND q.size < q.limit
 *
 *      CONSTANT 0  25      VALUE 1  q.size    LESS_EQUAL 0
 *      VALUE    1  q.size  VALUE 2  q.limit   LESS       1      AND 0
 *
 * Views calculate with doubles, the kernel with integers: constants that are none are rounded to the side on which
 * the comparison has the same truth. There is no NOT in views, so what is unknown may count as false.
 */
#include "sensor/sensors_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct conditions {
    const struct sensor *sensor;
    const uint32_t *value_of;
    struct sensor_code *code;
    struct problem *problem;
};

static int refuse(const struct conditions *conditions, const struct view_expression *where,
                  const char *why)
{
    return problem_set(conditions->problem, -ENOTSUP,
                       "the kernel cannot evaluate the condition at line %u, column %u: %s",
                       where->line, where->column, why);
}

static int add(const struct conditions *conditions, const struct view_expression *where,
               unsigned operation, unsigned to, int64_t constant, bool is_signed)
{
    struct sensor_code *code = conditions->code;

    if (code->count == SENSOR_STEPS || to >= SENSOR_DEPTH)
        return refuse(conditions, where, "it is too long");
    code->steps[code->count++] = (struct sensor_step){.operation = (uint8_t)operation,
                                                      .to = (uint8_t)to,
                                                      .size = SENSOR_EXACT_SIZE,
                                                      .is_signed = is_signed,
                                                      .constant = constant};
    return 0;
}

/* ---- numbers ---- */

static struct view_value look_nothing(void *context, uint32_t reference)
{
    (void)context;
    (void)reference;
    return (struct view_value){.kind = VIEW_UNKNOWN};
}

static bool has_reference(const struct view_expression *expression)
{
    return expression != NULL &&
           (expression->kind == VIEW_REFERENCE || has_reference(expression->left) ||
            has_reference(expression->right));
}

/* Numbers beyond those of the machine compare as its largest do. */
static int64_t integer_of(double number)
{
    return number >= 0x1p62    ? INT64_MAX / 2
           : number <= -0x1p62 ? -(INT64_MAX / 2)
                               : (int64_t)number;
}

static int add_number(const struct conditions *conditions, const struct view_expression *expression,
                      unsigned to);

static int add_constant(const struct conditions *conditions,
                        const struct view_expression *expression, unsigned to)
{
    const struct view_value value = view_evaluate(expression, look_nothing, NULL);

    if (value.kind == VIEW_IS_TEXT)
        return refuse(conditions, expression, "texts");
    if (value.kind != VIEW_IS_NUMBER)
        return refuse(conditions, expression, "a constant that is no number");
    if (value.number != floor(value.number))
        return refuse(conditions, expression, "fractions");
    return add(conditions, expression, STEP_CONSTANT, to, integer_of(value.number), true);
}

static int add_reference(const struct conditions *conditions,
                         const struct view_expression *expression, unsigned to)
{
    uint32_t value = conditions->value_of[expression->reference];

    if (value >= conditions->sensor->value_count)
        return refuse(conditions, expression, "it is no value of this sensor");
    const struct type *type = conditions->sensor->values[value].type;
    if (conditions->sensor->values[value].is_text)
        return refuse(conditions, expression, "texts");
    if (type->kind == TYPE_REAL)
        return refuse(conditions, expression, "floating-point values");
    return add(conditions, expression, STEP_VALUE, to, value,
               type->kind == TYPE_INTEGER && type->is_signed);
}

static int add_number(const struct conditions *conditions, const struct view_expression *expression,
                      unsigned to)
{
    static const uint8_t operations[] = {
        [VIEW_ADD] = STEP_ADD, [VIEW_SUBTRACT] = STEP_SUBTRACT, [VIEW_MULTIPLY] = STEP_MULTIPLY};

    if (!has_reference(expression))
        return add_constant(conditions, expression, to);
    if (expression->kind == VIEW_REFERENCE)
        return add_reference(conditions, expression, to);
    if (expression->kind == VIEW_DIVIDE)
        return refuse(conditions, expression, "divisions");
    int result = add_number(conditions, expression->left, to);
    if (result == 0 && expression->kind == VIEW_NEGATE)
        return add(conditions, expression, STEP_NEGATE, to, 0, true);
    if (result == 0)
        result = add_number(conditions, expression->right, to + 1);
    return result < 0 ? result
                      : add(conditions, expression, operations[expression->kind], to, 0, true);
}

/* ---- comparisons ---- */

/* The comparison with both sides exchanged. */
static enum view_kind mirrored(enum view_kind kind)
{
    switch (kind) {
    case VIEW_GREATER:
        return VIEW_LESS;
    case VIEW_GREATER_EQUAL:
        return VIEW_LESS_EQUAL;
    case VIEW_LESS:
        return VIEW_GREATER;
    case VIEW_LESS_EQUAL:
        return VIEW_GREATER_EQUAL;
    default:
        return kind;
    }
}

static int add_comparison_step(const struct conditions *conditions,
                               const struct view_expression *where, enum view_kind kind,
                               unsigned to)
{
    unsigned operation = kind == VIEW_EQUAL       ? STEP_EQUAL
                         : kind == VIEW_NOT_EQUAL ? STEP_NOT_EQUAL
                         : kind == VIEW_LESS      ? STEP_LESS
                                                  : STEP_LESS_EQUAL;

    return add(conditions, where, operation, to, 0, true);
}

/* left <kind> right, of which > and >= exchange their sides. */
static int add_two(const struct conditions *conditions, const struct view_expression *where,
                   enum view_kind kind, const struct view_expression *left,
                   const struct view_expression *right, unsigned to)
{
    bool exchanged = kind == VIEW_GREATER || kind == VIEW_GREATER_EQUAL;
    int result = add_number(conditions, exchanged ? right : left, to);

    if (result == 0)
        result = add_number(conditions, exchanged ? left : right, to + 1);
    return result < 0
               ? result
               : add_comparison_step(conditions, where, exchanged ? mirrored(kind) : kind, to);
}

/* x > 2.5 is x >= 3; x = 2.5 is never true; x <> 2.5 always, if x is known: x = x. */
static int add_with_fraction(const struct conditions *conditions,
                             const struct view_expression *where, enum view_kind kind,
                             const struct view_expression *left, double number, unsigned to)
{
    struct view_expression constant = *where;
    bool above = kind == VIEW_GREATER || kind == VIEW_GREATER_EQUAL;

    if (kind == VIEW_EQUAL) {
        /* refused if it has fractions itself */
        int result = add_number(conditions, left, to);
        return result < 0 ? result : add(conditions, where, STEP_CONSTANT, to, 0, true);
    }
    if (kind == VIEW_NOT_EQUAL)
        return add_two(conditions, where, VIEW_EQUAL, left, left, to);
    constant.kind = VIEW_NUMBER;
    constant.left = constant.right = NULL;
    constant.number = above ? ceil(number) : floor(number);
    return add_two(conditions, where, above ? VIEW_GREATER_EQUAL : VIEW_LESS_EQUAL, left, &constant,
                   to);
}

static int add_comparison(const struct conditions *conditions,
                          const struct view_expression *expression, unsigned to)
{
    const struct view_expression *left = expression->left, *right = expression->right;
    enum view_kind kind = expression->kind;

    if (!has_reference(left)) {
        left = expression->right;
        right = expression->left;
        kind = mirrored(kind);
    }
    if (!has_reference(right)) {
        const struct view_value value = view_evaluate(right, look_nothing, NULL);
        if (value.kind == VIEW_UNKNOWN) /* never true */
            return add(conditions, expression, STEP_CONSTANT, to, 0, true);
        if (value.kind == VIEW_IS_NUMBER && value.number != floor(value.number))
            return add_with_fraction(conditions, expression, kind, left, value.number, to);
    }
    return add_two(conditions, expression, kind, left, right, to);
}

static int add_truth(const struct conditions *conditions, const struct view_expression *expression,
                     unsigned to)
{
    if (expression->kind != VIEW_AND && expression->kind != VIEW_OR)
        return add_comparison(conditions, expression, to);
    int result = add_truth(conditions, expression->left, to);
    if (result == 0)
        result = add_truth(conditions, expression->right, to + 1);
    return result < 0 ? result
                      : add(conditions, expression,
                            expression->kind == VIEW_AND ? STEP_AND : STEP_OR, to, 0, true);
}

/* ---- all ---- */

/* One of an instance's conditions is enough. */
static int add_conditions(const struct conditions *conditions,
                          const struct view_entity_conditions *of)
{
    int result = add_truth(conditions, of->list[0], 0);

    for (size_t i = 1; result == 0 && i < of->count; i++) {
        result = add_truth(conditions, of->list[i], 1);
        if (result == 0)
            result = add(conditions, of->list[i], STEP_OR, 0, 0, true);
    }
    return result;
}

/* Replaces the code of a place. */
static int put(struct sensor *sensor, struct sensor_place *place, const struct sensor_code *code,
               struct problem *problem)
{
    *place->code = *code;
    return sensor_put_code(sensor, place, problem);
}

int sensor_condition(struct sensor *sensor, const struct view_conditions *conditions,
                     uint32_t entity, const uint32_t *value_of, struct problem *problem)
{
    struct sensor_code code;
    struct conditions with = {sensor, value_of, &code, problem};
    int result = 0;

    if (conditions != NULL && conditions->of[entity].count == 0)
        return problem_set(problem, -EINVAL,
                           "view %s has no condition that concerns this instance alone",
                           conditions->view->name);
    /* all first: a condition that is refused changes nothing */
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; result == 0 && i < sensor->place_count; i++) {
            code = *sensor->places[i].code;
            code.count = sensor->places[i].value_steps;
            code.conditional = conditions == NULL                 ? SENSOR_ALL
                               : conditions->of[entity].crossings ? SENSOR_CROSSINGS
                                                                  : SENSOR_TRUE;
            if (conditions != NULL)
                result = add_conditions(&with, &conditions->of[entity]);
            if (result == 0 && pass == 1)
                result = put(sensor, &sensor->places[i], &code, problem);
        }
    }
    return result;
}

void sensor_pass_next(struct sensor *sensor)
{
    __atomic_store_n(&sensor->state->memory.has_last, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&sensor->state->memory.was_true, SENSOR_UNTOLD, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&sensor->state->turn, 1, __ATOMIC_SEQ_CST); /* by file: of all processes */
}
