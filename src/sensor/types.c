/* SPDX-License-Identifier: MIT */
/* types.c: types of C, from debug information and from casts. See types.h. */
#include "sensor/types.h"

#include "base/nearest.h"
#include "sensor/debug_names.h"

#include <errno.h>
#include <string.h>

/* Debug information is the program's, which may not mean well: a type can contain itself. */
#define NESTING_MOST 16

const struct type type_int = {.kind = TYPE_INTEGER, .is_signed = true, .size = 4, .name = "int"};
const struct type type_unsigned = {.kind = TYPE_INTEGER, .size = 4, .name = "unsigned int"};
const struct type type_long = {.kind = TYPE_INTEGER, .is_signed = true, .size = 8, .name = "long"};
const struct type type_unsigned_long = {.kind = TYPE_INTEGER, .size = 8, .name = "unsigned long"};
const struct type type_double = {.kind = TYPE_REAL, .is_signed = true, .size = 8, .name = "double"};
const struct type type_untyped = {.kind = TYPE_UNTYPED, .name = "symbol without type"};
static const struct type type_void = {.kind = TYPE_VOID, .name = "void"};

static uint64_t number_attribute(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    return dwarf_attr_integrate(die, name, &attribute) != NULL &&
                   dwarf_formudata(&attribute, &value) == 0
               ? value
               : otherwise;
}

static void set_base(struct type *type, Dwarf_Die *die, uint64_t encoding)
{
    const char *name = dwarf_diename(die);

    type->kind = encoding == DW_ATE_float ? TYPE_REAL : TYPE_INTEGER;
    type->is_bool = encoding == DW_ATE_boolean;
    type->is_signed =
        encoding == DW_ATE_signed || encoding == DW_ATE_signed_char || encoding == DW_ATE_float;
    type->is_char = name != NULL && strcmp(name, "char") == 0;
    if (encoding == DW_ATE_complex_float || encoding == DW_ATE_decimal_float || type->size == 0 ||
        type->size > 8)
        type->kind = TYPE_STRUCT; /* no number that the machine knows */
}

static void set_kind(struct type *type, Dwarf_Die *die)
{
    Dwarf_Die underlying;
    Dwarf_Attribute attribute;

    type->size = number_attribute(die, DW_AT_byte_size, 0);
    switch (dwarf_tag(die)) {
    case DW_TAG_base_type:
        set_base(type, die, number_attribute(die, DW_AT_encoding, DW_ATE_unsigned));
        break;
    case DW_TAG_enumeration_type:
        type->kind = TYPE_INTEGER;
        if (dwarf_attr(die, DW_AT_type, &attribute) != NULL &&
            dwarf_formref_die(&attribute, &underlying) != NULL &&
            dwarf_peel_type(&underlying, &underlying) == 0)
            type->is_signed =
                number_attribute(&underlying, DW_AT_encoding, DW_ATE_unsigned) == DW_ATE_signed;
        break;
    case DW_TAG_pointer_type:
        type->kind = TYPE_POINTER;
        type->size = 8;
        break;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        type->kind = TYPE_REFERENCE;
        type->size = 8;
        break;
    case DW_TAG_array_type:
        type->kind = TYPE_ARRAY;
        dwarf_aggregate_size(die, &type->size);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_class_type:
        type->kind = TYPE_STRUCT;
        break;
    default:
        type->kind = TYPE_VOID;
    }
}

/* The name behind const, volatile ... */
static const char *name_of(Dwarf_Die die)
{
    Dwarf_Attribute attribute;
    const char *name;
    unsigned depth = 0;

    while ((name = dwarf_diename(&die)) == NULL && depth++ < NESTING_MOST &&
           (dwarf_tag(&die) == DW_TAG_const_type || dwarf_tag(&die) == DW_TAG_volatile_type ||
            dwarf_tag(&die) == DW_TAG_restrict_type || dwarf_tag(&die) == DW_TAG_atomic_type) &&
           dwarf_attr(&die, DW_AT_type, &attribute) != NULL &&
           dwarf_formref_die(&attribute, &die) != NULL)
        ;
    return name;
}

static const struct type *type_of_die(struct sensor_program *program, Dwarf_Die *die)
{
    struct type *type = arena_allocate(&program->memory, sizeof(*type));

    if (type == NULL)
        return NULL;
    *type = (struct type){.name = name_of(*die)};
    if (dwarf_peel_type(die, &type->die) != 0)
        return &type_void;
    set_kind(type, &type->die);
    if (type->kind == TYPE_STRUCT && dwarf_hasattr_integrate(&type->die, DW_AT_declaration)) {
        type->die = type_complete(program, type->die);
        type->size = number_attribute(&type->die, DW_AT_byte_size, 0);
    }
    return type;
}

const struct type *type_of(struct sensor_program *program, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die named;

    if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == NULL ||
        dwarf_formref_die(&attribute, &named) == NULL)
        return &type_void;
    return type_of_die(program, &named);
}

/* How many dimensions an array has, and how many elements are in those after number `row`; 0: unknown. */
static unsigned count_dimensions(Dwarf_Die die, unsigned row, uint64_t *ret_elements)
{
    Dwarf_Die child;
    unsigned count = 0;
    uint64_t elements = 1;

    if (dwarf_child(&die, &child) != 0)
        return 0;
    do {
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        uint64_t last = number_attribute(&child, DW_AT_upper_bound, UINT64_MAX);
        uint64_t own = number_attribute(&child, DW_AT_count, last + 1);
        if (count++ > row && __builtin_mul_overflow(elements, own, &elements))
            elements = 0;
    } while (dwarf_siblingof(&child, &child) == 0);
    *ret_elements = elements;
    return count;
}

/* The target of an array with several dimensions is an array with one dimension less: the same DIE, and the next dimension. */
const struct type *type_target(struct sensor_program *program, const struct type *type)
{
    uint64_t elements = 0;
    Dwarf_Die die = type->die;

    if (type->to != NULL)
        return type->to;
    const struct type *target = type_of(program, &die);
    if (target == NULL || type->kind != TYPE_ARRAY ||
        count_dimensions(type->die, type->row, &elements) < type->row + 2)
        return target;
    struct type *rows = arena_allocate(&program->memory, sizeof(*rows));
    if (rows != NULL)
        *rows = (struct type){.kind = TYPE_ARRAY,
                              .size = target->size * elements,
                              .die = type->die,
                              .row = type->row + 1};
    return rows;
}

const struct type *type_pointer_to(struct sensor_program *program, const struct type *type)
{
    struct type *pointer = arena_allocate(&program->memory, sizeof(*pointer));

    if (pointer != NULL)
        *pointer = (struct type){.kind = TYPE_POINTER, .size = 8, .to = type};
    return pointer;
}

/* ---- casts ---- */

static const struct type *basic_type(struct sensor_program *program, const struct c_type *cast)
{
    static const char *const names[2][9] = {
        {[1] = "unsigned char",
         [2] = "unsigned short",
         [4] = "unsigned int",
         [8] = "unsigned long"},
        {[1] = "char", [2] = "short", [4] = "int", [8] = "long"}};
    struct type *type = arena_allocate(&program->memory, sizeof(*type));

    if (type == NULL)
        return NULL;
    *type =
        (struct type){.kind = cast->kind == C_TYPE_REAL ? TYPE_REAL : TYPE_INTEGER,
                      .is_signed = cast->is_signed,
                      .size = cast->size,
                      .is_char = cast->kind == C_TYPE_INTEGER && cast->size == 1 && cast->is_signed,
                      .name = names[cast->is_signed][cast->size]};
    if (cast->name != NULL) {
        type->is_bool = true;
        type->name = cast->name;
    }
    if (cast->kind == C_TYPE_REAL)
        type->name = cast->size == 4 ? "float" : "double";
    return type;
}

const struct type *type_of_cast(struct sensor_program *program, const struct c_type *cast,
                                int *ret_result)
{
    const struct type *type = NULL;
    Dwarf_Die die;

    *ret_result = -ENOMEM;
    if (cast->kind == C_TYPE_VOID) {
        type = &type_void;
    } else if (cast->kind != C_TYPE_NAMED) {
        type = basic_type(program, cast);
    } else if (lookup_type(program, cast->name, &die)) {
        type = type_of_die(program, &die);
    } else {
        *ret_result = -ENOENT;
    }
    for (unsigned i = 0; type != NULL && i < cast->pointers; i++)
        type = type_pointer_to(program, type);
    return type;
}

/* "struct ", "enum ", or "" before the name of a typedef or of C++'s classes. */
static const char *tag_of(const struct type *type)
{
    Dwarf_Die die = type->die;
    const char *own = die.addr == NULL ? NULL : dwarf_diename(&die);

    if (own == NULL || type->name == NULL || strcmp(own, type->name) != 0)
        return "";
    switch (dwarf_tag(&die)) {
    case DW_TAG_structure_type:
        return "struct ";
    case DW_TAG_union_type:
        return "union ";
    case DW_TAG_enumeration_type:
        return "enum ";
    default:
        return "";
    }
}

static const char *name_within(struct sensor_program *program, const struct type *type,
                               unsigned depth)
{
    const char *before = "", *name = type->name, *behind = "";

    if (name != NULL) {
        before = tag_of(type);
        if (before[0] == '\0')
            return name;
    } else if (type->kind == TYPE_POINTER || type->kind == TYPE_REFERENCE ||
               type->kind == TYPE_ARRAY) {
        const struct type *target = type_target(program, type);
        name =
            target == NULL || depth == NESTING_MOST ? "?" : name_within(program, target, depth + 1);
        behind = type->kind == TYPE_ARRAY ? " []" : type->kind == TYPE_REFERENCE ? " &" : " *";
        if (type->kind == TYPE_POINTER && name[strlen(name) - 1] == '*')
            behind = "*";
    } else {
        return type->kind == TYPE_STRUCT ? "struct" : type->kind == TYPE_INTEGER ? "enum" : "void";
    }
    size_t size = strlen(before) + strlen(name) + strlen(behind) + 1;
    char *text = arena_allocate(&program->memory, size);
    if (text == NULL)
        return "?";
    snprintf(text, size, "%s%s%s", before, name, behind);
    return text;
}

const char *type_name(struct sensor_program *program, const struct type *type)
{
    return name_within(program, type, 0);
}

Dwarf_Die type_complete(struct sensor_program *program, Dwarf_Die die)
{
    const char *name = dwarf_diename(&die);
    char text[256];
    Dwarf_Die found;

    if (name == NULL)
        return die;
    snprintf(text, sizeof(text), "%s %s", dwarf_tag(&die) == DW_TAG_union_type ? "union" : "struct",
             name);
    return lookup_type(program, text, &found) ? found : die;
}

/* ---- members ---- */

static void set_bits(Dwarf_Die *die, struct type_member *member)
{
    uint64_t size = number_attribute(die, DW_AT_bit_size, 0);
    uint64_t bits = number_attribute(die, DW_AT_data_bit_offset, UINT64_MAX);

    if (size == 0 || size > 64 || member->type->size == 0)
        return;
    if (bits == UINT64_MAX) { /* DWARF 2 and 3 count from the most significant bit */
        uint64_t from_top = number_attribute(die, DW_AT_bit_offset, 0);
        uint64_t storage = number_attribute(die, DW_AT_byte_size, member->type->size) * 8;
        bits = member->offset * 8 + (storage - size - from_top);
    }
    member->offset = bits / (member->type->size * 8) * member->type->size;
    if (bits + size > (member->offset + member->type->size) * 8)
        member->offset = bits / 8; /* of a packed struct */
    member->bit_shift = (uint32_t)(bits - member->offset * 8);
    member->bit_size = (uint32_t)size;
}

static int found_member(struct sensor_program *program, Dwarf_Die *die, uint64_t offset,
                        struct type_member *ret_member)
{
    struct type_member member = {.type = type_of(program, die), .offset = offset};

    if (member.type == NULL)
        return -ENOMEM;
    set_bits(die, &member);
    *ret_member = member;
    return 0;
}

static int find_member(struct sensor_program *program, const struct type *type, const char *name,
                       unsigned depth, struct type_member *ret_member, struct nearest *nearest);

/* Anonymous structs have members of their own, as have base classes. */
static int find_inside(struct sensor_program *program, Dwarf_Die *die, uint64_t offset,
                       const char *name, unsigned depth, struct type_member *ret_member,
                       struct nearest *nearest)
{
    const struct type *inner = type_of(program, die);
    int result = inner == NULL ? -ENOMEM : -ENOENT;

    if (inner != NULL && inner->kind == TYPE_STRUCT && depth < NESTING_MOST)
        result = find_member(program, inner, name, depth + 1, ret_member, nearest);
    if (result == 0)
        ret_member->offset += offset;
    return result;
}

static int find_member(struct sensor_program *program, const struct type *type, const char *name,
                       unsigned depth, struct type_member *ret_member, struct nearest *nearest)
{
    Dwarf_Die die = type->die, child;

    if (dwarf_child(&die, &child) != 0)
        return -ENOENT;
    do {
        int tag = dwarf_tag(&child), result = -ENOENT;
        const char *found = dwarf_diename(&child);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
            continue;
        uint64_t offset = number_attribute(&child, DW_AT_data_member_location, 0);
        if (found != NULL && strcmp(found, name) == 0)
            return found_member(program, &child, offset, ret_member);
        if (found != NULL)
            nearest_add(nearest, found);
        if (found == NULL || tag == DW_TAG_inheritance)
            result = find_inside(program, &child, offset, name, depth, ret_member, nearest);
        if (result != -ENOENT)
            return result;
    } while (dwarf_siblingof(&child, &child) == 0);
    return -ENOENT;
}

int type_find_member(struct sensor_program *program, const struct type *type, const char *name,
                     struct type_member *ret_member, struct nearest *nearest)
{
    return find_member(program, type, name, 0, ret_member, nearest);
}

int type_each_member(struct sensor_program *program, const struct type *type,
                     int (*each)(void *context, const char *name, const struct type_member *member),
                     void *context)
{
    Dwarf_Die die = type->die, child;
    int result = 0;

    if (die.addr == NULL || dwarf_child(&die, &child) != 0)
        return 0;
    do {
        int tag = dwarf_tag(&child);
        struct type_member member = {0};
        if (tag == DW_TAG_variant_part) { /* of an enum of Rust */
            result = each(context, NULL, &member);
            continue;
        }
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
            dwarf_hasattr(&child, DW_AT_external)) /* static */
            continue;
        result = found_member(program, &child,
                              number_attribute(&child, DW_AT_data_member_location, 0), &member);
        if (result == 0)
            result =
                each(context, tag == DW_TAG_inheritance ? member.type->name : dwarf_diename(&child),
                     &member);
    } while (result == 0 && dwarf_siblingof(&child, &child) == 0);
    return result;
}
