/* SPDX-License-Identifier: MIT */
/* compile.h: from a C expression to steps of the machine (kernel/sensor_code.h). Private to sensor/. */
#ifndef DPM_SENSOR_COMPILE_H
#define DPM_SENSOR_COMPILE_H

#include "sensor/kernel/sensor_code.h"
#include "sensor/shapes.h"
#include "sensor/types.h"

/* An argument of a USDT probe: 4 bytes, signed, in memory at a register + 8, or at a symbol + 8. */
struct usdt_argument {
    char symbol[64]; /* "": none */
    uint8_t size;
    bool is_signed;
    bool is_constant, is_memory;
    bool has_index;       /* memory at register + index * scale + constant */
    uint32_t from, index; /* registers, as DWARF numbers them */
    uint32_t scale;
    int64_t constant;
};

#define USDT_ARGUMENTS_MOST 12

/* A place in the code. */
struct place {
    Dwfl_Module *module;
    uint64_t address;   /* in the process */
    uint64_t offset;    /* in the module's file */
    uint64_t semaphore; /* offset in the file; 0: none */
    bool
        entry; /* of a function that is called: arguments are where the calling convention has them */
    bool usdt;
    bool is_return; /* where this function returns to its caller: only its result is known */
    struct usdt_argument arguments[USDT_ARGUMENTS_MOST];
    size_t argument_count;
};

struct compiler {
    struct sensor_program *program;
    const struct place *place; /* NULL: none, so only variables of the program */
    const char *text;
    struct sensor_source source;
    bool in_kernel; /* only what the kernel can evaluate */
    struct sensor_code *code;
    struct problem *problem;
    /* of the place */
    Dwarf_Die unit;
    bool has_unit;
    Dwarf_Addr bias;
    Dwarf_Die *scopes; /* innermost first */
    int scope_count;
};

/* Where a value is. */
struct operand {
    const struct type *type;
    bool in_memory; /* at register `to` + offset; false: register `to` is the value */
    int64_t offset;
    uint32_t bit_shift, bit_size; /* bit field; bit_size 0: none */
};

/* What a whole expression is. */
struct compiled {
    const struct type *type;
    bool is_text;              /* the value is the address of a text ... */
    uint64_t text_most;        /* ... of at most so many bytes; 0: up to its 0 ... */
    const struct shape *shape; /* ... or, if not NULL, of a struct */
    /* the kernel has kept a float or double as it is in memory, of so many bytes; 0: the machine has made it a double */
    uint8_t real_size;
};

/* Adds the steps of an expression, which keep its value as number `value`. Returns 0; or -EINVAL, -ENOENT, -ENOTSUP
 * ... with a line in `problem`. */
int compile_expression(struct sensor_program *program, const struct place *place, const char *text,
                       const struct sensor_source *source, bool in_kernel, unsigned value,
                       struct sensor_code *code, struct compiled *ret_compiled,
                       struct problem *problem);

/* ---- for the files of the compiler ---- */

/* "FILE:LINE:COLUMN: " and the text. Returns `error`. */
int compile_problem(const struct compiler *compiler, const struct c_expression *where, int error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether the debug information of the program is in a file that is not there: then that is the problem. */
bool compile_is_elsewhere(const struct compiler *compiler, const struct c_expression *where);

/* Adds a step. Returns 0, or -ENOTSUP: too many. */
int compile_step(struct compiler *compiler, const struct c_expression *where,
                 struct sensor_step step);

/* compile_names.c: adds the steps that lead to what a name stands for. */
int compile_name(struct compiler *compiler, const struct c_expression *name, unsigned to,
                 struct operand *ret_operand);

/* A variable of Go, "main.Jobs", which looks like a member. Returns 1; 0: it is none; or an error. */
int compile_dotted_name(struct compiler *compiler, const struct c_expression *member, unsigned to,
                        struct operand *ret_operand);

/* compile_location.c: the same for a variable or argument of the debug information, at the place. */
int compile_location(struct compiler *compiler, const struct c_expression *name, Dwarf_Die *die,
                     Dwarf_Addr bias, bool at_place, unsigned to, struct operand *ret_operand);

/* compile_values.c: makes register `to` the value of an operand, and its type one that can be calculated with. */
int compile_value(struct compiler *compiler, const struct c_expression *where, unsigned to,
                  struct operand *operand);
int compile_convert(struct compiler *compiler, const struct c_expression *where,
                    const struct type *from, const struct type *type, unsigned to);
int compile_binary(struct compiler *compiler, const struct c_expression *node,
                   const struct operand *left, const struct operand *right, unsigned to,
                   struct operand *ret_operand);

#endif
