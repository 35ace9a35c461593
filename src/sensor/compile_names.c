/* SPDX-License-Identifier: MIT */
/*
 * compile_names.c: what a name in an expression stands for. The first of:
 *
 *      a local variable or argument of the place's function, from the innermost block outwards
 *      a variable of the place's file, then of the program
 *      arg1 ... of the function or USDT probe, a register
 *      a constant of an enum
 *      a variable of a library
 *      a symbol without debug information
 */
#include "sensor/compile.h"
#include "sensor/debug_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- local variables ---- */

static bool find_in_scope(Dwarf_Die *scope, const char *name, Dwarf_Die *ret_die,
                          struct nearest *nearest)
{
    Dwarf_Die child;

    if (dwarf_child(scope, &child) != 0)
        return false;
    do {
        int tag = dwarf_tag(&child);
        const char *found = dwarf_diename(&child);
        if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) || found == NULL)
            continue;
        if (strcmp(found, name) == 0 && !dwarf_hasattr(&child, DW_AT_declaration)) {
            *ret_die = child;
            return true;
        }
        nearest_add(nearest, found);
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

static bool find_local(const struct compiler *compiler, const char *name, Dwarf_Die *ret_die,
                       struct nearest *nearest)
{
    for (int i = 0; i < compiler->scope_count; i++) {
        Dwarf_Die scope = compiler->scopes[i];
        if (dwarf_tag(&scope) == DW_TAG_compile_unit || dwarf_tag(&scope) == DW_TAG_namespace)
            return false;
        if (find_in_scope(&scope, name, ret_die, nearest))
            return true;
    }
    return false;
}

/* ---- variables of the program ---- */

/* A program that uses a variable of a library has a copy of its own, which both use. */
static bool find_copy(struct compiler *compiler, const struct lookup *lookup, const char *name,
                      uint64_t *ret_address)
{
    struct lookup_symbols symbols;
    struct nearest nearest = {.typed = name, .length = SIZE_MAX};
    Dwarf_Attribute attribute;
    Dwarf_Die die = lookup->die;

    if (lookup->module == compiler->program->modules[0] ||
        dwarf_attr_integrate(&die, DW_AT_external, &attribute) == NULL)
        return false;
    lookup_symbols(compiler->program, name, false, &symbols, &nearest);
    *ret_address = symbols.addresses[0];
    return symbols.count == 1 && symbols.module == compiler->program->modules[0];
}

static int compile_variable(struct compiler *compiler, const struct c_expression *name,
                            struct lookup *lookup, unsigned to, struct operand *ret_operand)
{
    uint64_t address;

    if (!find_copy(compiler, lookup, name->name, &address))
        return compile_location(compiler, name, &lookup->die, lookup->bias, false, to, ret_operand);
    *ret_operand =
        (struct operand){.type = type_of(compiler->program, &lookup->die), .in_memory = true};
    if (ret_operand->type == NULL)
        return problem_set(compiler->problem, -ENOMEM, "out of memory");
    return compile_step(compiler, name,
                        (struct sensor_step){.operation = STEP_CONSTANT,
                                             .to = (uint8_t)to,
                                             .is_address = 1,
                                             .constant = (int64_t)address});
}

/* ---- registers ---- */

static const char *const register_names[SENSOR_REGISTERS] = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

/* A variable that only symbols know, of which there may be several: static ones of different files. Returns 1, 0: there is
 * none, or an error. */
static int find_symbol(struct compiler *compiler, const struct c_expression *name,
                       const char *symbol, struct nearest *nearest, uint64_t *ret_address)
{
    struct lookup_symbols symbols;

    lookup_symbols(compiler->program, symbol, false, &symbols, nearest);
    *ret_address = symbols.addresses[0];
    if (symbols.count < 2)
        return (int)symbols.count;
    return compile_problem(compiler, name, -EINVAL,
                           "%zu files have a variable '%s', and without debug information nothing "
                           "tells which is meant; use an address: *(int *)0x%llx, *(int *)0x%llx%s",
                           symbols.count, symbol, (unsigned long long)symbols.addresses[0],
                           (unsigned long long)symbols.addresses[1],
                           symbols.count > 2 ? " ..." : "");
}

/* Where an argument is, or begins to be. */
static int compile_usdt_base(struct compiler *compiler, const struct c_expression *name,
                             const struct usdt_argument *argument, unsigned to)
{
    struct nearest nearest = {.typed = argument->symbol, .length = SIZE_MAX};
    uint64_t address;

    if (argument->symbol[0] == '\0')
        return compile_step(compiler, name,
                            (struct sensor_step){.operation = STEP_REGISTER,
                                                 .to = (uint8_t)to,
                                                 .constant = argument->from});
    int result = find_symbol(compiler, name, argument->symbol, &nearest, &address);
    if (result <= 0)
        return result < 0 ? result
                          : compile_problem(compiler, name, -ENOENT,
                                            "'%s' is the variable '%s', which has no symbol",
                                            name->name, argument->symbol);
    return compile_step(compiler, name,
                        (struct sensor_step){.operation = STEP_CONSTANT,
                                             .to = (uint8_t)to,
                                             .is_address = 1,
                                             .constant = (int64_t)address});
}

static int compile_usdt(struct compiler *compiler, const struct c_expression *name,
                        const struct usdt_argument *argument, unsigned to,
                        struct operand *ret_operand)
{
    int result;

    *ret_operand = (struct operand){.type = argument->is_signed ? &type_long : &type_unsigned_long};
    if (argument->is_constant)
        return compile_step(compiler, name,
                            (struct sensor_step){.operation = STEP_CONSTANT,
                                                 .to = (uint8_t)to,
                                                 .constant = argument->constant});
    result = compile_usdt_base(compiler, name, argument, to);
    if (result == 0 && argument->has_index) {
        const struct sensor_step steps[] = {
            {.operation = STEP_REGISTER, .to = (uint8_t)(to + 1), .constant = argument->index},
            {.operation = STEP_CONSTANT, .to = (uint8_t)(to + 2), .constant = argument->scale},
            {.operation = STEP_MULTIPLY, .to = (uint8_t)(to + 1)},
            {.operation = STEP_ADD, .to = (uint8_t)to}};
        for (size_t i = 0; result == 0 && i < ARRAY_SIZE(steps); i++)
            result = compile_step(compiler, name, steps[i]);
    }
    return result < 0 ? result
                      : compile_step(compiler, name,
                                     (struct sensor_step){
                                         .operation = argument->is_memory ? STEP_LOAD : STEP_EXTEND,
                                         .to = (uint8_t)to,
                                         .size = argument->size,
                                         .is_signed = argument->is_signed,
                                         .constant = argument->is_memory ? argument->constant : 0});
}

/* arg1 ... arg6, of a USDT probe arg1 ... arg12. Returns 1 if it is one, 0, or an error. */
static int compile_argument(struct compiler *compiler, const struct c_expression *name, unsigned to,
                            struct operand *ret_operand)
{
    static const uint8_t registers[] = {5, 4, 1, 2, 8, 9};
    const struct place *place = compiler->place;
    char *end;

    if (strncmp(name->name, "arg", 3) != 0 || name->name[3] < '1' || name->name[3] > '9')
        return 0;
    unsigned long number = strtoul(name->name + 3, &end, 10);
    if (*end != '\0')
        return 0;
    if (place == NULL || (!place->usdt && !place->entry))
        return compile_problem(compiler, name, -EINVAL,
                               "'%s' is known only at the entry of a function and at a USDT probe",
                               name->name);
    size_t most = place->usdt ? place->argument_count : ARRAY_SIZE(registers);
    if (number > most)
        return compile_problem(compiler, name, -EINVAL,
                               "there are only %zu arguments that can be "
                               "read here",
                               most);
    int result;
    if (place->usdt) {
        result = compile_usdt(compiler, name, &place->arguments[number - 1], to, ret_operand);
    } else {
        *ret_operand = (struct operand){.type = &type_long};
        result = compile_step(compiler, name,
                              (struct sensor_step){.operation = STEP_REGISTER,
                                                   .to = (uint8_t)to,
                                                   .constant = registers[number - 1]});
    }
    return result < 0 ? result : 1;
}

static int compile_register(struct compiler *compiler, const struct c_expression *name, unsigned to,
                            struct operand *ret_operand)
{
    for (unsigned i = 0; compiler->place != NULL && i < SENSOR_REGISTERS; i++) {
        if (strcmp(name->name, register_names[i]) != 0)
            continue;
        *ret_operand = (struct operand){.type = &type_long};
        int result = compile_step(compiler, name,
                                  (struct sensor_step){.operation = STEP_REGISTER,
                                                       .to = (uint8_t)to,
                                                       .constant = (int64_t)i});
        return result < 0 ? result : 1;
    }
    return 0;
}

/* What the function returns, if it fits into a register. Returns 1, 0: the name is another, or an error. */
static int compile_returned(struct compiler *compiler, const struct c_expression *name, unsigned to,
                            struct operand *ret_operand)
{
    const struct place *place = compiler->place;
    const struct type *type = &type_long;
    Dwarf_Die function;

    if (strcmp(name->name, "retval") != 0)
        return 0;
    if (place == NULL || !place->is_return)
        return compile_problem(compiler, name, -EINVAL,
                               "'retval' is known only where a function returns: FUNCTION:return");
    if (lookup_function_at(compiler->program, place->module, place->address, &function))
        type = type_of(compiler->program, &function);
    if (type == NULL)
        return problem_set(compiler->problem, -ENOMEM, "out of memory");
    if (type->kind == TYPE_VOID)
        return compile_problem(compiler, name, -EINVAL, "the function returns nothing");
    if (type->kind != TYPE_INTEGER && type->kind != TYPE_POINTER && type->kind != TYPE_REFERENCE)
        return compile_problem(compiler, name, -ENOTSUP,
                               "the function returns a %s, which cannot be read",
                               type_name(compiler->program, type));
    *ret_operand = (struct operand){.type = type};
    int result = compile_step(compiler, name,
                              (struct sensor_step){.operation = STEP_REGISTER, .to = (uint8_t)to});
    if (result == 0 && type->kind == TYPE_INTEGER && type->size < 8)
        result = compile_step(compiler, name,
                              (struct sensor_step){.operation = STEP_EXTEND,
                                                   .to = (uint8_t)to,
                                                   .size = (uint8_t)type->size,
                                                   .is_signed = type->is_signed});
    return result < 0 ? result : 1;
}

/* ---- all ---- */

static int compile_enumerator(struct compiler *compiler, const struct c_expression *name,
                              unsigned to, struct operand *ret_operand)
{
    int64_t number;

    if (!lookup_enumerator(compiler->program, name->name, &number))
        return 0;
    *ret_operand = (struct operand){.type = number == (int32_t)number ? &type_int : &type_long};
    int result = compile_step(
        compiler, name,
        (struct sensor_step){.operation = STEP_CONSTANT, .to = (uint8_t)to, .constant = number});
    return result < 0 ? result : 1;
}

static int compile_symbol(struct compiler *compiler, const struct c_expression *name, unsigned to,
                          struct operand *ret_operand, struct nearest *nearest)
{
    uint64_t address;
    int result = find_symbol(compiler, name, name->name, nearest, &address);

    if (result <= 0)
        return result;
    *ret_operand = (struct operand){.type = &type_untyped, .in_memory = true};
    result = compile_step(compiler, name,
                          (struct sensor_step){.operation = STEP_CONSTANT,
                                               .to = (uint8_t)to,
                                               .is_address = 1,
                                               .constant = (int64_t)address});
    return result < 0 ? result : 1;
}

static int compile_unknown(struct compiler *compiler, const struct c_expression *name,
                           const struct nearest *nearest)
{
    char text[NEAREST_TEXT_SIZE];
    Dwarf_Addr bias;
    bool described = dwfl_module_getdwarf(compiler->program->modules[0], &bias) != NULL;
    const char *missing = units_missing(compiler->program->modules[0]);

    if (lookup_thread_local(compiler->program, name->name))
        return compile_problem(compiler, name, -ENOENT,
                               "'%s' is thread-local, and can only be read with debug information",
                               name->name);
    nearest_text(nearest, "", text);
    return compile_problem(
        compiler, name, -ENOENT, "%s has no variable '%s'%s%s%s%s%s", compiler->program->what,
        name->name, compiler->place == NULL ? "" : " here", text,
        described ? "" : "; its program has no debug information, only symbols",
        missing == NULL ? "" : "; it may be described in a file that is not there: ",
        missing == NULL ? "" : missing);
}

/* A C++ reference stands for what it refers to. */
static int follow_reference(struct compiler *compiler, const struct c_expression *name, unsigned to,
                            struct operand *operand)
{
    int result = 0;

    if (operand->type->kind != TYPE_REFERENCE)
        return 0;
    if (operand->in_memory)
        result = compile_step(
            compiler, name,
            (struct sensor_step){
                .operation = STEP_LOAD, .to = (uint8_t)to, .size = 8, .constant = operand->offset});
    const struct type *target = type_target(compiler->program, operand->type);
    if (target == NULL)
        return problem_set(compiler->problem, -ENOMEM, "out of memory");
    *operand = (struct operand){.type = target, .in_memory = true};
    return result;
}

/* Returns 1 if the program, or one of its libraries, has this variable, 0, or an error. */
static int compile_program_variable(struct compiler *compiler, const struct c_expression *name,
                                    bool libraries, unsigned to, struct operand *ret_operand,
                                    struct nearest *nearest)
{
    char others[LOOKUP_OTHERS_SIZE];
    struct lookup lookup;
    int result =
        lookup_variable(compiler->program, libraries, compiler->has_unit ? &compiler->unit : NULL,
                        name->name, &lookup, nearest, others);

    if (result == -ENOENT)
        return 0;
    if (result == -ENODATA)
        return compile_problem(compiler, name, -ENOTSUP,
                               "'%s' is nowhere: the compiler has removed it", name->name);
    if (result == -EEXIST)
        return compile_problem(
            compiler, name, -EINVAL,
            "several files or namespaces have a variable '%s': %s; use a place in the one that "
            "is meant, or write its namespace",
            name->name, others);
    result = compile_variable(compiler, name, &lookup, to, ret_operand);
    if (result == 0)
        result = follow_reference(compiler, name, to, ret_operand);
    return result < 0 ? result : 1;
}

int compile_dotted_name(struct compiler *compiler, const struct c_expression *member, unsigned to,
                        struct operand *ret_operand)
{
    struct nearest nearest = {.typed = member->name, .length = SIZE_MAX};
    char text[256];

    if (member->left->kind != C_NAME || !program_is_go(compiler->program))
        return 0;
    snprintf(text, sizeof(text), "%s.%s", member->left->name, member->name);
    const struct c_expression name = {.kind = C_NAME, .at = member->left->at, .name = text};
    return compile_program_variable(compiler, &name, false, to, ret_operand, &nearest);
}

int compile_name(struct compiler *compiler, const struct c_expression *name, unsigned to,
                 struct operand *ret_operand)
{
    struct nearest nearest = {.typed = name->name, .length = strlen(name->name)};
    Dwarf_Die die;
    int result;

    if (find_local(compiler, name->name, &die, &nearest)) {
        result = compile_location(compiler, name, &die, compiler->bias, true, to, ret_operand);
        return result < 0 ? result : follow_reference(compiler, name, to, ret_operand);
    }
    result = compile_program_variable(compiler, name, false, to, ret_operand, &nearest);
    if (result == 0)
        result = compile_argument(compiler, name, to, ret_operand);
    if (result == 0)
        result = compile_returned(compiler, name, to, ret_operand);
    if (result == 0)
        result = compile_register(compiler, name, to, ret_operand);
    if (result == 0)
        result = compile_enumerator(compiler, name, to, ret_operand);
    if (result == 0)
        result = compile_program_variable(compiler, name, true, to, ret_operand, &nearest);
    if (result == 0)
        result = compile_symbol(compiler, name, to, ret_operand, &nearest);
    return result == 0 ? compile_unknown(compiler, name, &nearest) : result < 0 ? result : 0;
}
