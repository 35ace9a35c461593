/* SPDX-License-Identifier: MIT */
/*
 * expression.h: C expressions that only read: variables, members, elements, constants, casts and operators; neither
 * calls nor assignments.
 *
 *      requests[0].end - *begin      C_SUBTRACT -- C_MEMBER end -- C_INDEX -- C_NAME requests
 *                                         |                           '----- C_NUMBER 0
 *                                         '------ C_DEREFERENCE -- C_NAME begin
 *
 * The caller decides what names mean and whether types fit.
 */
#ifndef DPM_EXPRESSION_H
#define DPM_EXPRESSION_H

#include "base/base.h"

enum c_kind {
    C_NUMBER,
    C_REAL,
    C_NAME,
    C_MEMBER, /* left.name; left->name is the same of a C_DEREFERENCE */
    C_INDEX,
    C_DEREFERENCE,
    C_ADDRESS,
    C_CAST,
    C_SIZEOF, /* of left; NULL: of the type */
    C_PLUS,
    C_NEGATE,
    C_NOT,
    C_COMPLEMENT,
    C_MULTIPLY, /* this and all up to C_OR: binary */
    C_DIVIDE,
    C_REMAINDER,
    C_ADD,
    C_SUBTRACT,
    C_SHIFT_LEFT,
    C_SHIFT_RIGHT,
    C_LESS,
    C_GREATER,
    C_LESS_EQUAL,
    C_GREATER_EQUAL,
    C_EQUAL,
    C_NOT_EQUAL,
    C_BIT_AND,
    C_BIT_EXCLUSIVE,
    C_BIT_OR,
    C_AND,
    C_OR,
    C_CONDITIONAL, /* left ? right : other */
};

/* The type of a cast. */
struct c_type {
    enum { C_TYPE_INTEGER, C_TYPE_REAL, C_TYPE_NAMED, C_TYPE_VOID } kind;
    bool is_signed;
    uint8_t size;     /* bytes; C_TYPE_NAMED: 0 */
    uint8_t pointers; /* stars */
    const char *name; /* C_TYPE_NAMED: "struct request", "request_t"; "bool": that integer */
};

struct c_expression {
    enum c_kind kind;
    uint32_t at; /* bytes from the beginning: of its name, operator or first byte */
    struct c_expression *left, *right, *other;
    const char *name;          /* C_NAME, C_MEMBER */
    uint64_t number;           /* C_NUMBER */
    bool is_unsigned, is_long; /* C_NUMBER: its type, also by its size */
    double real;
    struct c_type type; /* C_CAST, C_SIZEOF */
};

#define C_EXPRESSION_SIZE_MOST    4096 /* bytes of its text */
#define C_EXPRESSION_NESTING_MOST 100

struct c_fault {
    size_t at; /* bytes from the beginning */
    size_t size;
    const char *expected;
};

/* Parses an expression; the tree is in `memory`. Returns 0; -EINVAL with *ret_fault; or -ENOMEM. */
int c_expression_parse(const char *text, size_t size, struct arena *memory,
                       struct c_expression **ret_expression, struct c_fault *ret_fault);

/* Calls `variable` for each variable (not for members), from left to right, until it returns a negative errno, which it
 * returns; else 0. */
int c_expression_each_name(const struct c_expression *expression,
                           int (*variable)(void *context, const char *name), void *context);

#endif
