/* SPDX-License-Identifier: MIT */
/* compile.c: from a C expression to steps of the machine: the tree, from its leaves. See compile.h. */
#include "sensor/compile.h"

#include "base/nearest.h"
#include "sensor/debug_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors and steps ---- */

int compile_problem(const struct compiler *compiler, const struct c_expression *where, int error,
                    const char *format, ...)
{
    uint32_t line = compiler->source.line == 0 ? 1 : compiler->source.line;
    uint32_t column = compiler->source.column == 0 ? 1 : compiler->source.column;
    uint32_t at = where == NULL ? 0 : where->at;
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < at; i++) {
        column = compiler->text[i] == '\n' ? 1 : column + 1;
        line += compiler->text[i] == '\n';
    }
    return problem_set(compiler->problem, error, "%s:%u:%u: %s",
                       compiler->source.file == NULL ? "expression" : compiler->source.file, line,
                       column, text);
}

bool compile_is_elsewhere(const struct compiler *compiler, const struct c_expression *where)
{
    const char *missing = units_missing(compiler->program->modules[0]);

    if (missing != NULL)
        compile_problem(compiler, where, -ENOENT,
                        "what %s has here may be described in %s, which is not there: put "
                        "it where the program was compiled",
                        compiler->program->what, missing);
    return missing != NULL;
}

int compile_step(struct compiler *compiler, const struct c_expression *where,
                 struct sensor_step step)
{
    if (compiler->code->count == SENSOR_STEPS || step.to >= SENSOR_DEPTH)
        return compile_problem(compiler, where, -ENOTSUP,
                               "the expression is too long; use several shorter ones");
    compiler->code->steps[compiler->code->count++] = step;
    return 0;
}

static int no_memory(const struct compiler *compiler)
{
    return problem_set(compiler->problem, -ENOMEM, "out of memory");
}

/* ---- leaves ---- */

static int compile_node(struct compiler *compiler, const struct c_expression *node, unsigned to,
                        struct operand *ret_operand);

static int compile_number(struct compiler *compiler, const struct c_expression *node, unsigned to,
                          struct operand *ret_operand)
{
    const struct type *type = node->is_long ? node->is_unsigned ? &type_unsigned_long : &type_long
                              : node->is_unsigned ? &type_unsigned
                                                  : &type_int;
    uint64_t number = node->number;

    if (node->kind == C_REAL) {
        if (compiler->in_kernel)
            return compile_problem(compiler, node, -ENOTSUP,
                                   "sensors do not calculate with floating point; only probes do");
        memcpy(&number, &node->real, sizeof(number));
        type = &type_double;
    }
    *ret_operand = (struct operand){.type = type};
    return compile_step(compiler, node,
                        (struct sensor_step){.operation = STEP_CONSTANT,
                                             .to = (uint8_t)to,
                                             .constant = (int64_t)number});
}

/* ---- places in memory ---- */

static int compile_dereference(struct compiler *compiler, const struct c_expression *node,
                               unsigned to, struct operand *ret_operand)
{
    struct operand operand;
    int result = compile_node(compiler, node->left, to, &operand);

    if (result == 0)
        result = compile_value(compiler, node->left, to, &operand);
    if (result < 0)
        return result;
    if (operand.type->kind != TYPE_POINTER)
        return compile_problem(compiler, node, -EINVAL, "%s is no pointer",
                               type_name(compiler->program, operand.type));
    const struct type *target = type_target(compiler->program, operand.type);
    if (target == NULL)
        return no_memory(compiler);
    if (target->kind == TYPE_VOID)
        return compile_problem(compiler, node, -EINVAL,
                               "a void * leads to no known type; give it by a cast: (int *)");
    *ret_operand = (struct operand){.type = target, .in_memory = true};
    return 0;
}

static int compile_member(struct compiler *compiler, const struct c_expression *node, unsigned to,
                          struct operand *ret_operand)
{
    struct nearest nearest = {.typed = node->name, .length = strlen(node->name)};
    char text[NEAREST_TEXT_SIZE];
    struct type_member member;
    struct operand operand;
    int result = compile_dotted_name(compiler, node, to, ret_operand);

    if (result != 0)
        return result < 0 ? result : 0;
    result = compile_node(compiler, node->left, to, &operand);
    if (result < 0)
        return result;
    if (operand.type->kind == TYPE_UNTYPED && compile_is_elsewhere(compiler, node))
        return -ENOENT;
    if (operand.type->kind != TYPE_STRUCT)
        return compile_problem(compiler, node, -EINVAL, "%s has no members%s",
                               type_name(compiler->program, operand.type),
                               operand.type->kind == TYPE_POINTER ? "; write -> for ."
                               : operand.type->kind == TYPE_UNTYPED
                                   ? ": the program has no debug information for it; read a "
                                     "part of it as *(TYPE *)((char *)&NAME + OFFSET)"
                                   : "");
    result = type_find_member(compiler->program, operand.type, node->name, &member, &nearest);
    if (result == -ENOMEM)
        return no_memory(compiler);
    if (result < 0) {
        nearest_text(&nearest, "", text);
        return compile_problem(compiler, node, -ENOENT, "%s has no member '%s'%s",
                               type_name(compiler->program, operand.type), node->name, text);
    }
    if (!operand.in_memory)
        return compile_problem(
            compiler, node, -ENOTSUP,
            "this struct is in registers here, where its members cannot be read");
    *ret_operand = (struct operand){.type = member.type,
                                    .in_memory = true,
                                    .offset = operand.offset + (int64_t)member.offset,
                                    .bit_shift = member.bit_shift,
                                    .bit_size = member.bit_size};
    return 0;
}

static int compile_index(struct compiler *compiler, const struct c_expression *node, unsigned to,
                         struct operand *ret_operand)
{
    struct operand left, right, sum;
    int result = compile_node(compiler, node->left, to, &left);

    if (result == 0)
        result = compile_value(compiler, node->left, to, &left);
    if (result == 0)
        result = compile_node(compiler, node->right, to + 1, &right);
    if (result == 0)
        result = compile_value(compiler, node->right, to + 1, &right);
    if (result < 0)
        return result;
    if (left.type->kind != TYPE_POINTER || right.type->kind != TYPE_INTEGER)
        return compile_problem(compiler, node, -EINVAL, "%s [%s] is no element of an array",
                               type_name(compiler->program, left.type),
                               type_name(compiler->program, right.type));
    const struct c_expression add = {.kind = C_ADD, .at = node->at};
    result = compile_binary(compiler, &add, &left, &right, to, &sum);
    if (result < 0)
        return result;
    const struct type *target = type_target(compiler->program, left.type);
    if (target == NULL)
        return no_memory(compiler);
    *ret_operand = (struct operand){.type = target, .in_memory = true};
    return 0;
}

static int compile_address(struct compiler *compiler, const struct c_expression *node, unsigned to,
                           struct operand *ret_operand)
{
    struct operand operand;
    int result = compile_node(compiler, node->left, to, &operand);

    if (result < 0)
        return result;
    if (!operand.in_memory || operand.bit_size > 0)
        return compile_problem(compiler, node, -EINVAL, "what is not in memory has no address");
    const struct type *pointer = type_pointer_to(compiler->program, operand.type);
    if (pointer == NULL)
        return no_memory(compiler);
    *ret_operand = (struct operand){.type = pointer};
    return compile_step(compiler, node,
                        (struct sensor_step){.operation = STEP_ADD_CONSTANT,
                                             .to = (uint8_t)to,
                                             .constant = operand.offset});
}

/* ---- operators ---- */

static int compile_cast(struct compiler *compiler, const struct c_expression *node, unsigned to,
                        struct operand *ret_operand)
{
    struct operand operand;
    int result = compile_node(compiler, node->left, to, &operand);

    if (result < 0)
        return result;
    const struct type *type = type_of_cast(compiler->program, &node->type, &result);
    if (type == NULL && result == -ENOENT)
        return compile_problem(compiler, node, -ENOENT, "the program has no type '%s'",
                               node->type.name);
    if (type == NULL)
        return no_memory(compiler);
    if (operand.type->kind == TYPE_UNTYPED && type->kind == TYPE_POINTER) {
        /* a symbol is an array of unknown type: its address */
        *ret_operand = (struct operand){.type = type};
        return compile_step(compiler, node,
                            (struct sensor_step){.operation = STEP_ADD_CONSTANT,
                                                 .to = (uint8_t)to,
                                                 .constant = operand.offset});
    }
    if (type->kind != TYPE_INTEGER && type->kind != TYPE_REAL && type->kind != TYPE_POINTER)
        return compile_problem(compiler, node, -EINVAL, "a cast to %s gives no value",
                               type_name(compiler->program, type));
    result = compile_value(compiler, node->left, to, &operand);
    if (result == 0)
        result = compile_convert(compiler, node, operand.type, type, to);
    *ret_operand = (struct operand){.type = type};
    return result;
}

/* What is measured is not read. */
static int compile_sizeof(struct compiler *compiler, const struct c_expression *node, unsigned to,
                          struct operand *ret_operand)
{
    uint32_t count = compiler->code->count;
    struct operand operand = {0};
    int result = 0;

    if (node->left != NULL)
        result = compile_node(compiler, node->left, to, &operand);
    else if ((operand.type = type_of_cast(compiler->program, &node->type, &result)) == NULL)
        return result == -ENOENT ? compile_problem(compiler, node, result,
                                                   "the program has no type '%s'", node->type.name)
                                 : no_memory(compiler);
    compiler->code->count = count;
    if (node->left != NULL && result < 0)
        return result;
    if (operand.bit_size > 0 || operand.type->kind == TYPE_UNTYPED || operand.type->size == 0)
        return compile_problem(compiler, node, -EINVAL, "%s has no size that is known",
                               type_name(compiler->program, operand.type));
    *ret_operand = (struct operand){.type = &type_unsigned_long};
    return compile_step(compiler, node,
                        (struct sensor_step){.operation = STEP_CONSTANT,
                                             .to = (uint8_t)to,
                                             .constant = (int64_t)operand.type->size});
}

/* Makes a register 0 or 1. */
static int compile_truth(struct compiler *compiler, const struct c_expression *node, unsigned to,
                         bool negated)
{
    struct operand operand;
    int result = compile_node(compiler, node, to, &operand);

    if (result == 0)
        result = compile_value(compiler, node, to, &operand);
    if (result == 0 && operand.type->kind == TYPE_REAL)
        return compile_problem(compiler, node, -EINVAL,
                               "a floating-point number is no condition; compare it with 0");
    if (result == 0)
        result = compile_step(
            compiler, node,
            (struct sensor_step){.operation = negated ? STEP_NOT : STEP_TRUTH, .to = (uint8_t)to});
    return result;
}

static int compile_connection(struct compiler *compiler, const struct c_expression *node,
                              unsigned to, struct operand *ret_operand)
{
    int result = compile_truth(compiler, node->left, to, false);

    if (result == 0)
        result = compile_truth(compiler, node->right, to + 1, false);
    if (result == 0)
        result =
            compile_step(compiler, node,
                         (struct sensor_step){.operation = node->kind == C_AND ? STEP_AND : STEP_OR,
                                              .to = (uint8_t)to});
    *ret_operand = (struct operand){.type = &type_int};
    return result;
}

static int compile_conditional(struct compiler *compiler, const struct c_expression *node,
                               unsigned to, struct operand *ret_operand)
{
    struct operand one, other;
    int result = compile_truth(compiler, node->left, to, false);

    if (result == 0)
        result = compile_node(compiler, node->right, to + 1, &one);
    if (result == 0)
        result = compile_value(compiler, node->right, to + 1, &one);
    if (result == 0)
        result = compile_node(compiler, node->other, to + 2, &other);
    if (result == 0)
        result = compile_value(compiler, node->other, to + 2, &other);
    if (result < 0)
        return result;
    const struct type *type = one.type;
    if (one.type->kind != other.type->kind)
        return compile_problem(
            compiler, node, -EINVAL, "%s and %s: both sides of ':' need one type",
            type_name(compiler->program, one.type), type_name(compiler->program, other.type));
    if (other.type->size > one.type->size ||
        (other.type->size == one.type->size && !other.type->is_signed))
        type = other.type;
    result = compile_convert(compiler, node, one.type, type, to + 1);
    if (result == 0)
        result = compile_convert(compiler, node, other.type, type, to + 2);
    *ret_operand = (struct operand){.type = type};
    return result < 0
               ? result
               : compile_step(compiler, node,
                              (struct sensor_step){.operation = STEP_SELECT, .to = (uint8_t)to});
}

static int compile_unary(struct compiler *compiler, const struct c_expression *node, unsigned to,
                         struct operand *ret_operand)
{
    struct operand operand;
    int result = compile_node(compiler, node->left, to, &operand);

    if (result == 0)
        result = compile_value(compiler, node->left, to, &operand);
    if (result < 0)
        return result;
    if (operand.type->kind != TYPE_INTEGER &&
        (operand.type->kind != TYPE_REAL || node->kind == C_COMPLEMENT))
        return compile_problem(compiler, node, -EINVAL, "this operator does not take %s",
                               type_name(compiler->program, operand.type));
    *ret_operand = operand;
    if (node->kind == C_PLUS)
        return 0;
    struct sensor_step step = {.operation = node->kind == C_NEGATE ? STEP_NEGATE : STEP_COMPLEMENT,
                               .to = (uint8_t)to};
    if (operand.type->kind == TYPE_REAL)
        step =
            (struct sensor_step){.operation = STEP_REAL, .to = (uint8_t)to, .constant = C_NEGATE};
    result = compile_step(compiler, node, step);
    if (result == 0 && operand.type->kind == TYPE_INTEGER)
        result = compile_convert(compiler, node, &type_long, operand.type, to);
    return result;
}

static int compile_operation(struct compiler *compiler, const struct c_expression *node,
                             unsigned to, struct operand *ret_operand)
{
    struct operand left, right;
    int result = compile_node(compiler, node->left, to, &left);

    if (result == 0)
        result = compile_value(compiler, node->left, to, &left);
    if (result == 0)
        result = compile_node(compiler, node->right, to + 1, &right);
    if (result == 0)
        result = compile_value(compiler, node->right, to + 1, &right);
    return result < 0 ? result : compile_binary(compiler, node, &left, &right, to, ret_operand);
}

static int compile_node(struct compiler *compiler, const struct c_expression *node, unsigned to,
                        struct operand *ret_operand)
{
    if (to >= SENSOR_DEPTH)
        return compile_problem(compiler, node, -ENOTSUP,
                               "more than %d operands wait for each other; use fewer parentheses",
                               SENSOR_DEPTH);
    switch (node->kind) {
    case C_NUMBER:
    case C_REAL:
        return compile_number(compiler, node, to, ret_operand);
    case C_NAME:
        return compile_name(compiler, node, to, ret_operand);
    case C_MEMBER:
        return compile_member(compiler, node, to, ret_operand);
    case C_INDEX:
        return compile_index(compiler, node, to, ret_operand);
    case C_DEREFERENCE:
        return compile_dereference(compiler, node, to, ret_operand);
    case C_ADDRESS:
        return compile_address(compiler, node, to, ret_operand);
    case C_CAST:
        return compile_cast(compiler, node, to, ret_operand);
    case C_SIZEOF:
        return compile_sizeof(compiler, node, to, ret_operand);
    case C_NOT:
        *ret_operand = (struct operand){.type = &type_int};
        return compile_truth(compiler, node->left, to, true);
    case C_PLUS:
    case C_NEGATE:
    case C_COMPLEMENT:
        return compile_unary(compiler, node, to, ret_operand);
    case C_AND:
    case C_OR:
        return compile_connection(compiler, node, to, ret_operand);
    case C_CONDITIONAL:
        return compile_conditional(compiler, node, to, ret_operand);
    default:
        return compile_operation(compiler, node, to, ret_operand);
    }
}

/* ---- whole expressions ---- */

/* The unit and the scopes of the place, if it has debug information. */
static void find_scopes(struct compiler *compiler)
{
    const struct place *place = compiler->place;

    if (place == NULL || place->is_return)
        return;
    compiler->has_unit =
        units_of_address(place->module, place->address, &compiler->unit, &compiler->bias);
    if (compiler->has_unit)
        compiler->scope_count =
            scopes_of_address(&compiler->unit, place->address - compiler->bias, &compiler->scopes);
}

static bool is_text(struct compiler *compiler, const struct operand *operand)
{
    if (operand->type->kind != TYPE_POINTER && operand->type->kind != TYPE_ARRAY)
        return false;
    const struct type *target = type_target(compiler->program, operand->type);
    return target != NULL && target->is_char;
}

/* The value of the whole: the kernel keeps floating-point numbers as they are, and texts are read by their address. */
static int compile_result(struct compiler *compiler, const struct c_expression *tree,
                          struct operand *operand, struct compiled *compiled)
{
    compiled->type = operand->type;
    if (operand->type->kind == TYPE_UNTYPED)
        return compile_value(compiler, tree, 0, operand);
    if (operand->type->kind == TYPE_STRUCT && operand->in_memory && operand->type->size > 0) {
        int made = shape_make(compiler->program, operand->type, &compiled->shape);
        if (made == -ENOMEM)
            return no_memory(compiler);
        compiled->is_text = made == 0;
        if (made == 0)
            return compile_step(
                compiler, tree,
                (struct sensor_step){.operation = STEP_ADD_CONSTANT, .constant = operand->offset});
    }
    if (is_text(compiler, operand)) {
        compiled->is_text = true;
        compiled->text_most = operand->type->kind == TYPE_ARRAY ? operand->type->size : 0;
    }
    if (operand->type->kind == TYPE_REAL && operand->in_memory && compiler->in_kernel) {
        compiled->real_size = (uint8_t)operand->type->size;
        return compile_step(compiler, tree,
                            (struct sensor_step){.operation = STEP_LOAD,
                                                 .size = compiled->real_size,
                                                 .constant = operand->offset});
    }
    const struct type *type = operand->type;
    int result = compile_value(compiler, tree, 0, operand);
    if (result == 0 && operand->bit_size == 0 && type->kind == TYPE_INTEGER)
        operand->type = type; /* as declared, not as promoted */
    return result;
}

int compile_expression(struct sensor_program *program, const struct place *place, const char *text,
                       const struct sensor_source *source, bool in_kernel, unsigned value,
                       struct sensor_code *code, struct compiled *ret_compiled,
                       struct problem *problem)
{
    struct compiler compiler = {.program = program,
                                .place = place,
                                .text = text,
                                .source = source == NULL ? (struct sensor_source){0} : *source,
                                .in_kernel = in_kernel,
                                .code = code,
                                .problem = problem};
    struct compiled compiled = {0};
    struct c_expression *tree = NULL;
    struct arena memory = {0};
    struct c_fault fault;
    struct operand operand;
    int result = c_expression_parse(text, strlen(text), &memory, &tree, &fault);

    if (result == -EINVAL) {
        const struct c_expression where = {.at = (uint32_t)fault.at};
        compile_problem(&compiler, &where, result, "found '%.*s', expected %s",
                        fault.size > 0 ? (int)fault.size : 3,
                        fault.size > 0 ? text + fault.at : "end", fault.expected);
    }
    if (result == 0) {
        find_scopes(&compiler);
        result = compile_node(&compiler, tree, 0, &operand);
        if (result == 0)
            result = compile_result(&compiler, tree, &operand, &compiled);
        free(compiler.scopes);
    }
    if (result == 0)
        result =
            compile_step(&compiler, tree,
                         (struct sensor_step){.operation = STEP_KEEP, .constant = (int64_t)value});
    if (result == 0)
        *ret_compiled = compiled;
    arena_done(&memory);
    return result;
}
