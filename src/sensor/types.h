/* SPDX-License-Identifier: MIT */
/* types.h: types of C, from debug information and from casts. Private to sensor/. */
#ifndef DPM_SENSOR_TYPES_H
#define DPM_SENSOR_TYPES_H

#include "expression/expression.h"
#include "sensor/program.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

enum type_kind {
    TYPE_INTEGER, /* also bool and enum */
    TYPE_REAL,
    TYPE_POINTER,
    TYPE_REFERENCE, /* C++ */
    TYPE_ARRAY,
    TYPE_STRUCT,  /* also union and class */
    TYPE_VOID,    /* also functions */
    TYPE_UNTYPED, /* a symbol without debug information */
};

struct type {
    enum type_kind kind;
    bool is_signed;
    bool is_bool;
    bool is_char;
    uint64_t size; /* bytes */
    const char *name;
    const struct type *to; /* pointers and arrays; NULL: from `die` */
    Dwarf_Die die;         /* without typedefs and qualifiers */
    unsigned
        row; /* of an array's dimensions, how many have been indexed: grid[1] of int grid[3][4] */
};

extern const struct type type_int, type_unsigned, type_long, type_unsigned_long, type_double,
    type_untyped;

/* The type of a variable, member ...: its DW_AT_type. NULL: out of memory. */
const struct type *type_of(struct sensor_program *program, Dwarf_Die *die);

/* What a pointer or an array leads to. NULL: out of memory. */
const struct type *type_target(struct sensor_program *program, const struct type *type);

const struct type *type_pointer_to(struct sensor_program *program, const struct type *type);

/* The type of a cast. NULL and *ret_result: -ENOMEM, or -ENOENT: there is no such type. */
const struct type *type_of_cast(struct sensor_program *program, const struct c_type *cast,
                                int *ret_result);

/* "unsigned long", "struct request *". The name stays the program's. */
const char *type_name(struct sensor_program *program, const struct type *type);

/* The whole declaration of a struct that is only named here; itself, if there is none. */
Dwarf_Die type_complete(struct sensor_program *program, Dwarf_Die die);

struct type_member {
    const struct type *type;
    uint64_t offset;              /* bytes */
    uint32_t bit_shift, bit_size; /* of a bit field, in `type`; bit_size 0: none */
};

/* Calls `each` for the members and base classes of a struct in order, until it returns a negative number, which is returned. `name`:
 * NULL, if it is anonymous. A member of no type that is known has none. Returns 0, -ENOMEM, or that number. */
int type_each_member(struct sensor_program *program, const struct type *type,
                     int (*each)(void *context, const char *name, const struct type_member *member),
                     void *context);

struct nearest;

/* A member of a struct, also of its anonymous members and of its base classes. Returns 0, -ENOENT, or -ENOMEM. */
int type_find_member(struct sensor_program *program, const struct type *type, const char *name,
                     struct type_member *ret_member, struct nearest *nearest);

#endif
