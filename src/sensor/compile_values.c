/* SPDX-License-Identifier: MIT */
/* compile_values.c: loads, conversions and arithmetic, as C does them. See compile.h. */
#include "sensor/compile.h"

#include <errno.h>

static int add_step(struct compiler *compiler, const struct c_expression *where, unsigned operation,
                    unsigned to, int64_t constant)
{
    return compile_step(compiler, where,
                        (struct sensor_step){.operation = (uint8_t)operation,
                                             .to = (uint8_t)to,
                                             .constant = constant});
}

static int extend(struct compiler *compiler, const struct c_expression *where,
                  const struct type *type, unsigned to)
{
    if (type->size >= 8)
        return 0;
    return compile_step(compiler, where,
                        (struct sensor_step){.operation = STEP_EXTEND,
                                             .to = (uint8_t)to,
                                             .size = (uint8_t)type->size,
                                             .is_signed = type->is_signed});
}

/* ---- loads ---- */

static int load(struct compiler *compiler, const struct c_expression *where, unsigned to,
                const struct operand *operand)
{
    const struct type *type = operand->type;
    bool bits = operand->bit_size > 0;

    if (type->size != 1 && type->size != 2 && type->size != 4 && type->size != 8)
        return compile_problem(compiler, where, -ENOTSUP, "a number of %u bytes cannot be read",
                               (unsigned)type->size);
    if (operand->bit_shift + operand->bit_size > type->size * 8)
        return compile_problem(compiler, where, -ENOTSUP,
                               "this bit field lies in more bytes than its type has");
    int result = compile_step(compiler, where,
                              (struct sensor_step){.operation = STEP_LOAD,
                                                   .to = (uint8_t)to,
                                                   .size = (uint8_t)type->size,
                                                   .is_signed = type->is_signed && !bits,
                                                   .constant = operand->offset});
    if (result == 0 && bits)
        result = compile_step(compiler, where,
                              (struct sensor_step){.operation = STEP_BITS,
                                                   .to = (uint8_t)to,
                                                   .size = (uint8_t)operand->bit_size,
                                                   .is_signed = type->is_signed,
                                                   .constant = operand->bit_shift});
    return result;
}

/* char, short, bool and bit fields become int. */
static const struct type *promoted(const struct operand *operand)
{
    const struct type *type = operand->type;

    if (type->kind != TYPE_INTEGER || (type->size >= 4 && operand->bit_size == 0))
        return type;
    if (operand->bit_size > 32 || (operand->bit_size == 32 && !type->is_signed))
        return type;
    return &type_int;
}

int compile_value(struct compiler *compiler, const struct c_expression *where, unsigned to,
                  struct operand *operand)
{
    const struct type *type = operand->type;
    int result = 0;

    switch (type->kind) {
    case TYPE_ARRAY: {
        const struct type *target = type_target(compiler->program, type);
        const struct type *pointer =
            target == NULL ? NULL : type_pointer_to(compiler->program, target);
        if (pointer == NULL)
            return problem_set(compiler->problem, -ENOMEM, "out of memory");
        result = add_step(compiler, where, STEP_ADD_CONSTANT, to, operand->offset);
        *operand = (struct operand){.type = pointer};
        return result;
    }
    case TYPE_UNTYPED:
        if (compile_is_elsewhere(compiler, where))
            return -ENOENT;
        return compile_problem(compiler, where, -EINVAL,
                               "there is no debug information for %s; give its type by a cast: "
                               "*(int *)&%s",
                               where->kind == C_NAME ? where->name : "this symbol",
                               where->kind == C_NAME ? where->name : "SYMBOL");
    case TYPE_STRUCT:
    case TYPE_VOID:
        if (type->kind == TYPE_STRUCT && !operand->in_memory)
            return compile_problem(compiler, where, -ENOTSUP,
                                   "%s is in registers here, where it cannot be read",
                                   type_name(compiler->program, type));
        return compile_problem(compiler, where, -EINVAL, "%s is no value; name a member",
                               type_name(compiler->program, type));
    default:
        break;
    }
    if (type->kind == TYPE_REAL && compiler->in_kernel)
        return compile_problem(compiler, where, -ENOTSUP,
                               "sensors do not calculate with floating point; a variable alone is "
                               "possible");
    if (operand->in_memory)
        result = load(compiler, where, to, operand);
    if (result == 0 && type->kind == TYPE_REAL && type->size == 4 && operand->in_memory)
        result = add_step(compiler, where, STEP_REAL, to, C_CAST);
    type = type->kind == TYPE_REAL ? &type_double : promoted(operand);
    *operand = (struct operand){.type = type};
    return result;
}

/* ---- conversions ---- */

static int convert_real(struct compiler *compiler, const struct c_expression *where,
                        const struct type *from, const struct type *type, unsigned to)
{
    if (compiler->in_kernel)
        return compile_problem(compiler, where, -ENOTSUP,
                               "sensors do not calculate with floating point; only probes do");
    if (from->kind == TYPE_REAL && type->kind == TYPE_REAL)
        return 0;
    const struct type *integer = from->kind == TYPE_REAL ? type : from;
    int result = compile_step(
        compiler, where,
        (struct sensor_step){.operation = from->kind == TYPE_REAL ? STEP_TO_INTEGER : STEP_TO_REAL,
                             .to = (uint8_t)to,
                             .is_signed = integer->is_signed});
    return result < 0 || type->kind == TYPE_REAL ? result : extend(compiler, where, type, to);
}

int compile_convert(struct compiler *compiler, const struct c_expression *where,
                    const struct type *from, const struct type *type, unsigned to)
{
    if (from->kind == TYPE_REAL || type->kind == TYPE_REAL) {
        if (from->kind == TYPE_POINTER || type->kind == TYPE_POINTER)
            return compile_problem(compiler, where, -EINVAL, "a pointer is no number");
        return convert_real(compiler, where, from, type, to);
    }
    if (type->is_bool)
        return add_step(compiler, where, STEP_TRUTH, to, 0);
    if (from->size == type->size && from->is_signed == type->is_signed && from != &type_long)
        return 0;
    return extend(compiler, where, type, to);
}

/* ---- arithmetic ---- */

static const struct type *common_type(const struct type *left, const struct type *right)
{
    if (left->kind == TYPE_REAL || right->kind == TYPE_REAL)
        return &type_double;
    uint64_t size = left->size > right->size ? left->size : right->size;
    bool is_unsigned =
        (left->size == size && !left->is_signed) || (right->size == size && !right->is_signed);
    if (size == 8)
        return is_unsigned ? &type_unsigned_long : &type_long;
    return is_unsigned ? &type_unsigned : &type_int;
}

/* The machine's operation, and whether its result must be negated. */
static unsigned operation_of(enum c_kind kind, bool *ret_negate)
{
    static const uint8_t operations[] = {
        [C_MULTIPLY] = STEP_MULTIPLY,           [C_DIVIDE] = STEP_DIVIDE,
        [C_REMAINDER] = STEP_REMAINDER,         [C_ADD] = STEP_ADD,
        [C_SUBTRACT] = STEP_SUBTRACT,           [C_SHIFT_LEFT] = STEP_SHIFT_LEFT,
        [C_SHIFT_RIGHT] = STEP_SHIFT_RIGHT,     [C_LESS] = STEP_LESS,
        [C_GREATER] = STEP_LESS_EQUAL,          [C_LESS_EQUAL] = STEP_LESS_EQUAL,
        [C_GREATER_EQUAL] = STEP_LESS,          [C_EQUAL] = STEP_EQUAL,
        [C_NOT_EQUAL] = STEP_NOT_EQUAL,         [C_BIT_AND] = STEP_BIT_AND,
        [C_BIT_EXCLUSIVE] = STEP_BIT_EXCLUSIVE, [C_BIT_OR] = STEP_BIT_OR};

    *ret_negate = kind == C_GREATER || kind == C_GREATER_EQUAL;
    return operations[kind];
}

static bool is_comparison(enum c_kind kind)
{
    return kind >= C_LESS && kind <= C_NOT_EQUAL;
}

static int add_operation(struct compiler *compiler, const struct c_expression *node, unsigned to,
                         bool is_signed)
{
    bool negate;
    unsigned operation = operation_of(node->kind, &negate);
    int result = compile_step(compiler, node,
                              (struct sensor_step){.operation = (uint8_t)operation,
                                                   .to = (uint8_t)to,
                                                   .is_signed = is_signed});

    return result < 0 || !negate ? result : add_step(compiler, node, STEP_NOT, to, 0);
}

static int real_operation(struct compiler *compiler, const struct c_expression *node, unsigned to,
                          struct operand *ret_operand)
{
    bool arithmetic = node->kind == C_ADD || node->kind == C_SUBTRACT || node->kind == C_MULTIPLY ||
                      node->kind == C_DIVIDE;

    if (!arithmetic && !is_comparison(node->kind))
        return compile_problem(compiler, node, -EINVAL,
                               "this operator does not take floating-point numbers");
    *ret_operand = (struct operand){.type = arithmetic ? &type_double : &type_int};
    return add_step(compiler, node, STEP_REAL, to, node->kind);
}

static int number_operation(struct compiler *compiler, const struct c_expression *node,
                            const struct operand *left, const struct operand *right, unsigned to,
                            struct operand *ret_operand)
{
    bool shift = node->kind == C_SHIFT_LEFT || node->kind == C_SHIFT_RIGHT;
    const struct type *type = shift ? left->type : common_type(left->type, right->type);
    int result = compile_convert(compiler, node, left->type, type, to);

    if (result == 0 && !shift)
        result = compile_convert(compiler, node, right->type, type, to + 1);
    if (result < 0)
        return result;
    if (type->kind == TYPE_REAL)
        return real_operation(compiler, node, to, ret_operand);
    result = add_operation(compiler, node, to, type->is_signed);
    if (is_comparison(node->kind))
        type = &type_int;
    else if (result == 0)
        result = extend(compiler, node, type, to);
    *ret_operand = (struct operand){.type = type};
    return result;
}

/* ---- pointers ---- */

static int pointer_step(struct compiler *compiler, const struct c_expression *node,
                        const struct operand *left, unsigned to, uint64_t size,
                        struct operand *ret_operand)
{
    int result = 0;

    if (size != 1) {
        result = add_step(compiler, node, STEP_CONSTANT, to + 2, (int64_t)size);
        if (result == 0)
            result = add_step(compiler, node, STEP_MULTIPLY, to + 1, 0);
    }
    *ret_operand = (struct operand){.type = left->type};
    return result < 0 ? result : add_operation(compiler, node, to, false);
}

static int pointer_distance(struct compiler *compiler, const struct c_expression *node, unsigned to,
                            uint64_t size, struct operand *ret_operand)
{
    int result = add_operation(compiler, node, to, true);

    if (result == 0)
        result = add_step(compiler, node, STEP_CONSTANT, to + 1, (int64_t)size);
    *ret_operand = (struct operand){.type = &type_long};
    return result < 0
               ? result
               : compile_step(compiler, node,
                              (struct sensor_step){
                                  .operation = STEP_DIVIDE, .to = (uint8_t)to, .is_signed = 1});
}

static int pointer_operation(struct compiler *compiler, const struct c_expression *node,
                             const struct operand *left, const struct operand *right, unsigned to,
                             struct operand *ret_operand)
{
    bool both = left->type->kind == right->type->kind;
    const struct type *target =
        left->type->kind == TYPE_POINTER ? type_target(compiler->program, left->type) : NULL;
    uint64_t size = target == NULL || target->size == 0 ? 1 : target->size;

    if (is_comparison(node->kind) && left->type->kind != TYPE_REAL &&
        right->type->kind != TYPE_REAL) {
        *ret_operand = (struct operand){.type = &type_int};
        return add_operation(compiler, node, to, false);
    }
    if ((node->kind == C_ADD || node->kind == C_SUBTRACT) && left->type->kind == TYPE_POINTER &&
        right->type->kind == TYPE_INTEGER)
        return pointer_step(compiler, node, left, to, size, ret_operand);
    if (node->kind == C_SUBTRACT && both)
        return pointer_distance(compiler, node, to, size, ret_operand);
    return compile_problem(compiler, node, -EINVAL, "this operator does not take %s and %s",
                           type_name(compiler->program, left->type),
                           type_name(compiler->program, right->type));
}

int compile_binary(struct compiler *compiler, const struct c_expression *node,
                   const struct operand *left, const struct operand *right, unsigned to,
                   struct operand *ret_operand)
{
    if (left->type->kind == TYPE_POINTER || right->type->kind == TYPE_POINTER)
        return pointer_operation(compiler, node, left, right, to, ret_operand);
    return number_operation(compiler, node, left, right, to, ret_operand);
}
