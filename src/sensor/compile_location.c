/* SPDX-License-Identifier: MIT */
/*
 * compile_location.c: where the debug information says that a variable is.
 *
 *      DW_OP_addr 0x4010             in memory, at 0x4010 + bias
 *      DW_OP_fbreg -20               in memory, 20 bytes below the frame's base
 *      DW_OP_reg5                    in register rdi
 *      DW_OP_breg5 8, stack_value    its value is rdi + 8
 *      nothing at this place         optimized away here
 */
#include "sensor/compile.h"
#include "sensor/debug_names.h"

#include <errno.h>
#include <stdlib.h>

#define FLOATING_REGISTERS 17 /* from this number on: xmm0 ... */

struct location {
    struct compiler *compiler;
    const struct c_expression *name;
    Dwarf_Addr bias;
    Dwarf_Attribute *attribute; /* that has the operations */
    unsigned base;              /* the register of its first value ... */
    unsigned to;                /* ... and of the next one */
    bool in_memory;
    unsigned depth; /* of frame bases in each other */
};

static int add(struct location *location, unsigned operation, unsigned to, int64_t constant)
{
    return compile_step(location->compiler, location->name,
                        (struct sensor_step){.operation = (uint8_t)operation,
                                             .to = (uint8_t)to,
                                             .constant = constant});
}

static int unknown(struct location *location, const char *why)
{
    return compile_problem(location->compiler, location->name, -ENOTSUP, "'%s' %s",
                           location->name->name, why);
}

static int add_operations(struct location *location, const Dwarf_Op *operations, size_t count);

/* The address that a call of this function has left above its frame. */
static int add_frame_address(struct location *location)
{
    const struct place *place = location->compiler->place;
    Dwarf_Addr bias;
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *operations;
    size_t count;
    Dwarf_CFI *rules = dwfl_module_eh_cfi(place->module, &bias);

    if (rules == NULL || dwarf_cfi_addrframe(rules, place->address - bias, &frame) != 0) {
        rules = dwfl_module_dwarf_cfi(place->module, &bias);
        if (rules == NULL || dwarf_cfi_addrframe(rules, place->address - bias, &frame) != 0)
            return unknown(location, "is in a frame that the program does not describe");
    }
    int result = dwarf_frame_cfa(frame, &operations, &count) != 0 || count == 0
                     ? unknown(location, "is in a frame that the program does not describe")
                     : add_operations(location, operations, count);
    free(frame);
    return result;
}

/* Go's compiler writes locations as blocks, which libdw takes for location lists; short ones are written like expressions. */
static bool location_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret_attribute)
{
    if (dwarf_attr_integrate(die, name, ret_attribute) == NULL)
        return false;
    if (ret_attribute->form == DW_FORM_block1 && *ret_attribute->valp < 128)
        ret_attribute->form = DW_FORM_exprloc;
    return true;
}

/* What describes the function of the place. Returns whether there is one. */
static bool find_function(const struct compiler *compiler, Dwarf_Die *ret_function)
{
    return lookup_function_at(compiler->program, compiler->place->module, compiler->place->address,
                              ret_function);
}

static int add_frame_base(struct location *location)
{
    const struct compiler *compiler = location->compiler;
    Dwarf_Die function;
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;

    if (location->depth++ > 0 || !find_function(compiler, &function) ||
        !location_attribute(&function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation_addr(&attribute, compiler->place->address - location->bias, &operations,
                               &count, 1) != 1)
        return unknown(location, "is in a frame that the program does not describe");
    bool in_memory = location->in_memory;
    Dwarf_Attribute *before = location->attribute;
    location->attribute = &attribute;
    int result = add_operations(location, operations, count);
    location->attribute = before;
    location->in_memory = in_memory;
    location->depth--;
    return result;
}

/* The top of the stack is in register to - 1. */
static int add_register(struct location *location, uint64_t number, int64_t offset, bool address)
{
    if (number >= FLOATING_REGISTERS)
        return unknown(location, "is in a floating-point register here, which cannot be read");
    int result = add(location, STEP_REGISTER, location->to, (int64_t)number);
    if (result == 0 && offset != 0)
        result = add(location, STEP_ADD_CONSTANT, location->to, offset);
    location->to++;
    location->in_memory = address;
    return result;
}

static int add_binary(struct location *location, uint8_t atom)
{
    unsigned operation = atom == DW_OP_plus    ? STEP_ADD
                         : atom == DW_OP_minus ? STEP_SUBTRACT
                         : atom == DW_OP_mul   ? STEP_MULTIPLY
                         : atom == DW_OP_and   ? STEP_BIT_AND
                         : atom == DW_OP_or    ? STEP_BIT_OR
                         : atom == DW_OP_shl   ? STEP_SHIFT_LEFT
                                               : STEP_SHIFT_RIGHT;

    if (location->to < location->base + 2)
        return unknown(location, "has a location that is not understood");
    location->to--;
    return compile_step(location->compiler, location->name,
                        (struct sensor_step){.operation = (uint8_t)operation,
                                             .to = (uint8_t)(location->to - 1),
                                             .is_signed = atom == DW_OP_shra});
}

static int add_memory(struct location *location, const Dwarf_Op *operation)
{
    uint64_t size = operation->atom == DW_OP_deref ? 8 : operation->number;

    if (location->to == location->base || (size != 1 && size != 2 && size != 4 && size != 8))
        return unknown(location, "has a location that is not understood");
    return compile_step(location->compiler, location->name,
                        (struct sensor_step){.operation = STEP_LOAD,
                                             .to = (uint8_t)(location->to - 1),
                                             .size = (uint8_t)size});
}

/* Of the module, as its debug information has it. */
static int add_address(struct location *location, uint64_t address)
{
    location->in_memory = true;
    return compile_step(location->compiler, location->name,
                        (struct sensor_step){.operation = STEP_CONSTANT,
                                             .to = (uint8_t)location->to++,
                                             .is_address = 1,
                                             .constant = (int64_t)(address + location->bias)});
}

/* An address or constant that stands in a table of the unit. */
static int add_indexed(struct location *location, const Dwarf_Op *operation, bool address)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr value;

    if (dwarf_getlocation_attr(location->attribute, operation, &attribute) != 0 ||
        (address ? dwarf_formaddr(&attribute, &value) : dwarf_formudata(&attribute, &value)) != 0)
        return unknown(location, "has a location that is not understood");
    if (!address)
        return add(location, STEP_CONSTANT, location->to++, (int64_t)value);
    return add_address(location, value);
}

/* The thread-local memory of the program: what each thread has of it, and where that is in its file. */
struct thread_block {
    uint64_t address, size;
    uint64_t below; /* where it begins, below where the processor points to */
};

/* As the dynamic linker, and the C library of a static program, place it. Returns whether the program has any. */
static bool find_thread_block(const struct sensor_program *program, struct thread_block *ret_block)
{
    GElf_Addr bias;
    Elf *file = dwfl_module_getelf(program->modules[0], &bias);
    GElf_Phdr header;
    size_t count;

    if (file == NULL || elf_getphdrnum(file, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(file, (int)i, &header) == NULL || header.p_type != PT_TLS)
            continue;
        uint64_t align = header.p_align == 0 ? 1 : header.p_align;
        if ((align & (align - 1)) != 0)
            return false;
        uint64_t first = -header.p_vaddr & (align - 1);
        *ret_block = (struct thread_block){
            .address = header.p_vaddr,
            .size = header.p_memsz,
            .below = ((header.p_memsz - first + align - 1) & ~(align - 1)) + first};
        return true;
    }
    return false;
}

/* The top of the stack is an offset in the thread-local memory of the variable's module; of gcc's split debug information, an
 * address of the file, which stands for it. */
static bool make_thread_offset(struct location *location, const struct thread_block *block)
{
    struct sensor_code *code = location->compiler->code;
    struct sensor_step *last = code->count == 0 ? NULL : &code->steps[code->count - 1];

    if (location->to == location->base || last == NULL || last->operation != STEP_CONSTANT)
        return false;
    uint64_t offset = (uint64_t)last->constant - (location->in_memory ? location->bias : 0);
    if (offset >= block->size)
        offset -= block->address;
    last->constant = (int64_t)(offset - block->below);
    last->is_address = 0;
    return offset < block->size;
}

static int add_thread(struct location *location)
{
    const struct compiler *compiler = location->compiler;
    struct thread_block block;
    Dwarf_Addr bias;

    if (compiler->place == NULL)
        return compile_problem(compiler, location->name, -EINVAL,
                               "'%s' is thread-local: only a sensor at a place in the code reads "
                               "it, of the thread that is there",
                               location->name->name);
    if (dwfl_module_getdwarf(compiler->program->modules[0], &bias) == NULL ||
        bias != location->bias)
        return unknown(location, "is thread-local in a library, where it cannot be read");
    if (!find_thread_block(compiler->program, &block) || !make_thread_offset(location, &block))
        return unknown(location, "is thread-local in a way that is not understood");
    location->in_memory = true;
    int result = add(location, STEP_REGISTER, location->to, SENSOR_THREAD);
    return result < 0 ? result : add(location, STEP_ADD, location->to - 1, 0);
}

static int add_other(struct location *location, const Dwarf_Op *operation)
{
    const char *why = "has a location that is not understood";
    int result;

    switch (operation->atom) {
    case DW_OP_addr:
        return add_address(location, operation->number);
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        return add_indexed(location, operation, true);
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        return add_indexed(location, operation, false);
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return add(location, STEP_CONSTANT, location->to++, (int64_t)operation->number);
    case DW_OP_regx:
        return add_register(location, operation->number, 0, false);
    case DW_OP_bregx:
        return add_register(location, operation->number, (int64_t)operation->number2, true);
    case DW_OP_fbreg:
        result = add_frame_base(location);
        location->in_memory = true;
        return result < 0
                   ? result
                   : add(location, STEP_ADD_CONSTANT, location->to - 1, (int64_t)operation->number);
    case DW_OP_call_frame_cfa:
        result = add_frame_address(location);
        location->in_memory = true;
        return result;
    case DW_OP_plus_uconst:
        return location->to == location->base
                   ? unknown(location, why)
                   : add(location, STEP_ADD_CONSTANT, location->to - 1, (int64_t)operation->number);
    case DW_OP_stack_value:
        location->in_memory = false;
        return 0;
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        return add_thread(location);
    case DW_OP_piece:
    case DW_OP_bit_piece:
        return unknown(location, "is in pieces here, which cannot be read");
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return unknown(location, "is no longer known here; try the entry of the function");
    default:
        return unknown(location, why);
    }
}

static int add_operations(struct location *location, const Dwarf_Op *operations, size_t count)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < count; i++) {
        uint8_t atom = operations[i].atom;
        if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
            result = add(location, STEP_CONSTANT, location->to++, atom - DW_OP_lit0);
        else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
            result = add_register(location, atom - DW_OP_reg0, 0, false);
        else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
            result =
                add_register(location, atom - DW_OP_breg0, (int64_t)operations[i].number, true);
        else if (atom == DW_OP_plus || atom == DW_OP_minus || atom == DW_OP_mul ||
                 atom == DW_OP_and || atom == DW_OP_or || atom == DW_OP_shl || atom == DW_OP_shr ||
                 atom == DW_OP_shra)
            result = add_binary(location, atom);
        else if (atom == DW_OP_deref || atom == DW_OP_deref_size)
            result = add_memory(location, &operations[i]);
        else if (atom != DW_OP_nop)
            result = add_other(location, &operations[i]);
    }
    return result;
}

/* Registers of the calling convention, as DWARF numbers them: rdi rsi rdx rcx r8 r9. */
static const uint8_t argument_registers[] = {5, 4, 1, 2, 8, 9};

/* Code that is not optimized stores arguments into its frame first: at the entry they are still where the calling
 * convention has them. Returns whether this one is in a register. */
static int argument_register(struct compiler *compiler, Dwarf_Die *argument)
{
    Dwarf_Die function, child;
    size_t number = 0;

    if (compiler->scope_count == 0)
        return -ENOENT;
    function = compiler->scopes[compiler->scope_count - 1];
    for (int i = 0; i < compiler->scope_count; i++)
        if (dwarf_tag(&compiler->scopes[i]) == DW_TAG_subprogram)
            function = compiler->scopes[i];
    /* a struct that is returned in memory has its address in rdi, which no parameter describes */
    const struct type *returned = type_of(compiler->program, &function);
    if (returned == NULL || returned->kind == TYPE_STRUCT)
        return -ENOTSUP;
    if (dwarf_child(&function, &child) != 0)
        return -ENOENT;
    do {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        const struct type *type = type_of(compiler->program, &child);
        bool integer = type != NULL && (type->kind == TYPE_INTEGER || type->kind == TYPE_POINTER ||
                                        type->kind == TYPE_REFERENCE);
        if (dwarf_dieoffset(&child) == dwarf_dieoffset(argument))
            return integer && number < ARRAY_SIZE(argument_registers) ? argument_registers[number]
                                                                      : -ENOTSUP;
        if (type == NULL || type->kind == TYPE_STRUCT || type->kind == TYPE_VOID)
            return -ENOTSUP; /* in any number of registers; C++ has others that are not known here */
        number += integer;
    } while (dwarf_siblingof(&child, &child) == 0);
    return -ENOENT;
}

/* Whether the frame's base is in a register, which the function has not set yet at its entry. */
static bool has_register_base(const struct compiler *compiler)
{
    Dwarf_Die function;
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;

    return find_function(compiler, &function) &&
           location_attribute(&function, DW_AT_frame_base, &attribute) &&
           dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1 &&
           operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31;
}

/* Whether it is in the part of the frame that the function makes for itself. */
static bool is_below_frame(const struct compiler *compiler, const Dwarf_Op *operations,
                           size_t count)
{
    return count == 1 && operations[0].atom == DW_OP_fbreg &&
           ((int64_t)operations[0].number < 0 || has_register_base(compiler));
}

static int constant_value(struct location *location, Dwarf_Die *die, struct operand *ret_operand)
{
    Dwarf_Attribute attribute;
    Dwarf_Sword value;

    if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute) == NULL ||
        dwarf_formsdata(&attribute, &value) != 0)
        return unknown(location, "is optimized away here");
    ret_operand->in_memory = false;
    return add(location, STEP_CONSTANT, location->to, value);
}

static int at_entry(struct location *location, Dwarf_Die *die, struct operand *ret_operand)
{
    int number = dwarf_tag(die) == DW_TAG_formal_parameter
                     ? argument_register(location->compiler, die)
                     : -ENOENT;

    if (number < 0)
        return unknown(location,
                       "has no value yet at the entry of the function; give a line in it");
    ret_operand->in_memory = false;
    return add(location, STEP_REGISTER, location->to, number);
}

int compile_location(struct compiler *compiler, const struct c_expression *name, Dwarf_Die *die,
                     Dwarf_Addr bias, bool at_place, unsigned to, struct operand *ret_operand)
{
    struct location location = {
        .compiler = compiler, .name = name, .bias = bias, .base = to, .to = to};
    struct operand operand = {.type = type_of(compiler->program, die), .in_memory = true};
    Dwarf_Attribute attribute;
    Dwarf_Op *operations = NULL;
    size_t count = 0;
    int result;

    if (operand.type == NULL)
        return problem_set(compiler->problem, -ENOMEM, "out of memory");
    bool described = location_attribute(die, DW_AT_location, &attribute);
    location.attribute = &attribute;
    if (described && at_place)
        described = dwarf_getlocation_addr(&attribute, compiler->place->address - bias, &operations,
                                           &count, 1) == 1;
    else if (described)
        described = dwarf_getlocation(&attribute, &operations, &count) == 0;
    if (!described || count == 0) {
        result = constant_value(&location, die, &operand);
    } else if (at_place && compiler->place->entry && is_below_frame(compiler, operations, count)) {
        result = at_entry(&location, die, &operand);
    } else {
        result = add_operations(&location, operations, count);
        operand.in_memory = location.in_memory;
        if (result == 0 && location.to != to + 1)
            result = unknown(&location, "has a location that is not understood");
    }
    if (result == 0 && !operand.in_memory && operand.type->kind == TYPE_REAL)
        result = unknown(&location, "is in a floating-point register here, which cannot be read");
    if (result == 0 && !operand.in_memory && operand.type->kind == TYPE_INTEGER &&
        operand.type->size < 8)
        result = compile_step(compiler, name,
                              (struct sensor_step){.operation = STEP_EXTEND,
                                                   .to = (uint8_t)to,
                                                   .size = (uint8_t)operand.type->size,
                                                   .is_signed = operand.type->is_signed});
    *ret_operand = operand;
    return result;
}
