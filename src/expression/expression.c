/* SPDX-License-Identifier: MIT */
/* expression.c: parses C expressions that only read. See expression.h. */
#include "expression/expression_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *copy_text(struct c_reader *reader, const char *text, size_t size)
{
    char *copy = arena_allocate(reader->memory, size + 1);

    if (copy != NULL) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

static struct c_expression *add_node(struct c_reader *reader, enum c_kind kind)
{
    struct c_expression *node = arena_allocate(reader->memory, sizeof(*node));

    if (node != NULL)
        *node = (struct c_expression){.kind = kind, .at = (uint32_t)reader->at};
    return node;
}

/* ---- casts ---- */

/* Words of C itself and of <stdint.h>. */
static const struct basic {
    const char *word;
    struct c_type type;
} basics[] = {
    {"_Bool", {C_TYPE_INTEGER, false, 1, 0, "bool"}},
    {"bool", {C_TYPE_INTEGER, false, 1, 0, "bool"}},
    {"char", {C_TYPE_INTEGER, true, 1, 0, NULL}},
    {"short", {C_TYPE_INTEGER, true, 2, 0, NULL}},
    {"int", {C_TYPE_INTEGER, true, 4, 0, NULL}},
    {"long", {C_TYPE_INTEGER, true, 8, 0, NULL}},
    {"float", {C_TYPE_REAL, true, 4, 0, NULL}},
    {"double", {C_TYPE_REAL, true, 8, 0, NULL}},
    {"void", {C_TYPE_VOID, false, 0, 0, NULL}},
    {"int8_t", {C_TYPE_INTEGER, true, 1, 0, NULL}},
    {"int16_t", {C_TYPE_INTEGER, true, 2, 0, NULL}},
    {"int32_t", {C_TYPE_INTEGER, true, 4, 0, NULL}},
    {"int64_t", {C_TYPE_INTEGER, true, 8, 0, NULL}},
    {"uint8_t", {C_TYPE_INTEGER, false, 1, 0, NULL}},
    {"uint16_t", {C_TYPE_INTEGER, false, 2, 0, NULL}},
    {"uint32_t", {C_TYPE_INTEGER, false, 4, 0, NULL}},
    {"uint64_t", {C_TYPE_INTEGER, false, 8, 0, NULL}},
    {"size_t", {C_TYPE_INTEGER, false, 8, 0, NULL}},
    {"ssize_t", {C_TYPE_INTEGER, true, 8, 0, NULL}},
};

/* "unsigned long int", in any order. Returns whether there was a word of a type. */
static bool read_basic(struct c_reader *ahead, struct c_type *type)
{
    bool found = false, given = false, is_unsigned = false;

    *type = (struct c_type){C_TYPE_INTEGER, true, 4, 0, NULL};
    for (bool more = true; more;) {
        more = false;
        if (c_reader_is(ahead, "unsigned") || c_reader_is(ahead, "signed") ||
            c_reader_is(ahead, "const") || c_reader_is(ahead, "volatile")) {
            is_unsigned = is_unsigned || c_reader_is(ahead, "unsigned");
            found = found || c_reader_is(ahead, "unsigned") || c_reader_is(ahead, "signed");
            more = true;
        }
        for (size_t i = 0; i < ARRAY_SIZE(basics) && !more; i++) {
            if (!c_reader_is(ahead, basics[i].word))
                continue;
            if (!given || !c_reader_is(ahead, "int")) /* "long int" is a long */
                *type = basics[i].type;
            found = given = more = true;
        }
        if (more)
            c_reader_next(ahead);
    }
    if (is_unsigned)
        type->is_signed = false;
    return found;
}

/* "struct request", or "request_t", which is a type only if a star follows: (queue) is a variable. */
static bool read_named(struct c_reader *ahead, struct c_type *type)
{
    bool tagged =
        c_reader_is(ahead, "struct") || c_reader_is(ahead, "union") || c_reader_is(ahead, "enum");
    size_t begin = ahead->at;

    if (tagged)
        c_reader_next(ahead);
    if (!c_reader_is_name(ahead))
        return false;
    *type = (struct c_type){.kind = C_TYPE_NAMED};
    size_t end = ahead->at + ahead->token;
    c_reader_next(ahead);
    if (!tagged && !c_reader_is(ahead, "*"))
        return false;
    type->name = copy_text(ahead, ahead->text + begin, end - begin);
    return type->name != NULL;
}

/* "(int)", "(unsigned long *)", "(struct request *)", "(request_t *)". */
static bool read_cast(struct c_reader *reader, struct c_type *ret_type)
{
    struct c_reader ahead = *reader;
    struct c_type type;

    c_reader_next(&ahead);
    if (!read_basic(&ahead, &type) && !read_named(&ahead, &type))
        return false;
    for (; c_reader_is(&ahead, "*") || c_reader_is(&ahead, "const"); c_reader_next(&ahead))
        if (c_reader_is(&ahead, "*") && type.pointers < UINT8_MAX)
            type.pointers++;
    if (!c_reader_is(&ahead, ")"))
        return false;
    c_reader_next(&ahead);
    reader->at = ahead.at;
    reader->token = ahead.token;
    *ret_type = type;
    return true;
}

/* ---- constants ---- */

static int read_character(struct c_reader *reader, uint64_t *ret_number)
{
    static const char escapes[] = "n\nt\tr\r0\0a\ab\bf\fv\v\\\\''\"\"";
    const char *token = reader->text + reader->at;
    size_t size = reader->token;
    char second = size > 3 ? token[2] : '\0';

    if (size < 3 || token[size - 1] != '\'' || (token[1] == '\\' ? size != 4 : size != 3))
        return c_reader_fault(reader, "a character in quotes");
    if (token[1] != '\\') {
        *ret_number = (uint64_t)(int64_t)token[1];
        return 0;
    }
    for (size_t i = 0; i + 1 < sizeof(escapes); i += 2) {
        if (escapes[i] == second) {
            *ret_number = (uint64_t)escapes[i + 1];
            return 0;
        }
    }
    return c_reader_fault(reader, "a character in quotes");
}

static bool is_suffix(const char *suffix)
{
    static const char *const suffixes[] = {"", "u", "l", "ul", "lu", "ll", "ull", "llu", NULL};

    for (size_t i = 0; suffixes[i] != NULL; i++)
        if (strcasecmp(suffix, suffixes[i]) == 0)
            return true;
    return false;
}

static int read_number(struct c_reader *reader, struct c_expression *node)
{
    char text[64], *end = NULL;

    if (reader->token >= sizeof(text))
        return c_reader_fault(reader, "a shorter number");
    memcpy(text, reader->text + reader->at, reader->token);
    text[reader->token] = '\0';
    errno = 0;
    node->number = strtoull(text, &end, 0);
    if (errno == 0 && is_suffix(end)) {
        bool decimal = text[0] != '0';
        node->is_unsigned = strpbrk(end, "uU") != NULL || node->number > INT64_MAX;
        node->is_long = strpbrk(end, "lL") != NULL ||
                        node->number > (node->is_unsigned || !decimal ? UINT32_MAX : INT32_MAX);
        if (!decimal && !node->is_long && node->number > INT32_MAX)
            node->is_unsigned = true; /* 0xffffffff */
        return 0;
    }
    node->kind = C_REAL;
    node->real = strtod(text, &end);
    if (end == text || (*end != '\0' && strcasecmp(end, "f") != 0))
        return c_reader_fault(reader, "a number");
    return 0;
}

/* ---- grammar ---- */

static int read_conditional(struct c_reader *reader, struct c_expression **ret_node);

static int read_sign(struct c_reader *reader, const char *sign, const char *expected)
{
    if (!c_reader_is(reader, sign))
        return c_reader_fault(reader, expected);
    c_reader_next(reader);
    return 0;
}

static int read_constant(struct c_reader *reader, struct c_expression **ret_node)
{
    char first = c_reader_at(reader, reader->at);

    if (reader->token == 0 || (isdigit((unsigned char)first) == 0 && first != '\'' &&
                               !(first == '.' && reader->token > 1)))
        return c_reader_fault(reader, "a variable, a constant or '('");
    struct c_expression *node = add_node(reader, C_NUMBER);
    if (node == NULL)
        return -ENOMEM;
    int result = first == '\'' ? read_character(reader, &node->number) : read_number(reader, node);
    if (result == 0)
        c_reader_next(reader);
    *ret_node = node;
    return result;
}

static int read_name(struct c_reader *reader, struct c_expression *node)
{
    node->name = copy_text(reader, reader->text + reader->at, reader->token);
    c_reader_next(reader);
    return node->name == NULL ? -ENOMEM : 0;
}

static int read_primary(struct c_reader *reader, struct c_expression **ret_node)
{
    if (c_reader_is(reader, "(")) {
        c_reader_next(reader);
        int result = read_conditional(reader, ret_node);
        return result < 0 ? result : read_sign(reader, ")", "')'");
    }
    if (!c_reader_is_name(reader))
        return read_constant(reader, ret_node);
    struct c_expression *node = add_node(reader, C_NAME);
    *ret_node = node;
    return node == NULL ? -ENOMEM : read_name(reader, node);
}

static int read_member(struct c_reader *reader, struct c_expression **node)
{
    bool arrow = c_reader_is(reader, "->");

    if (arrow) {
        struct c_expression *pointed = add_node(reader, C_DEREFERENCE);
        if (pointed == NULL)
            return -ENOMEM;
        pointed->left = *node;
        *node = pointed;
    }
    c_reader_next(reader);
    if (!c_reader_is_name(reader))
        return c_reader_fault(reader, "the name of a member");
    struct c_expression *member = add_node(reader, C_MEMBER);
    if (member == NULL)
        return -ENOMEM;
    member->left = *node;
    *node = member;
    return read_name(reader, member);
}

static int read_postfix(struct c_reader *reader, struct c_expression **node)
{
    int result = read_primary(reader, node);

    while (result == 0) {
        if (c_reader_is(reader, "[")) {
            struct c_expression *element = add_node(reader, C_INDEX);
            if (element == NULL)
                return -ENOMEM;
            element->left = *node;
            c_reader_next(reader);
            result = read_conditional(reader, &element->right);
            if (result == 0)
                result = read_sign(reader, "]", "']'");
            *node = element;
        } else if (c_reader_is(reader, ".") || c_reader_is(reader, "->")) {
            result = read_member(reader, node);
        } else {
            break;
        }
    }
    return result;
}

static int read_unary(struct c_reader *reader, struct c_expression **ret_node)
{
    static const struct {
        const char *sign;
        enum c_kind kind;
    } signs[] = {{"-", C_NEGATE},     {"+", C_PLUS},        {"!", C_NOT},
                 {"~", C_COMPLEMENT}, {"*", C_DEREFERENCE}, {"&", C_ADDRESS}};
    struct c_expression **place = ret_node;

    for (unsigned count = 0;; count++) {
        struct c_expression *node = NULL;
        struct c_type type;
        size_t begin = reader->at;
        if (count == C_EXPRESSION_NESTING_MOST)
            return c_reader_fault(reader, "fewer operators in each other");
        for (size_t i = 0; i < ARRAY_SIZE(signs) && node == NULL; i++) {
            if (!c_reader_is(reader, signs[i].sign))
                continue;
            if ((node = add_node(reader, signs[i].kind)) == NULL)
                return -ENOMEM;
            c_reader_next(reader);
        }
        if (node == NULL && c_reader_is(reader, "sizeof")) {
            if ((node = add_node(reader, C_SIZEOF)) == NULL)
                return -ENOMEM;
            c_reader_next(reader);
            if (c_reader_is(reader, "(") && read_cast(reader, &node->type)) {
                *place = node;
                return 0;
            }
        }
        if (node == NULL && c_reader_is(reader, "(") && read_cast(reader, &type)) {
            if ((node = add_node(reader, C_CAST)) == NULL)
                return -ENOMEM;
            node->type = type;
            node->at = (uint32_t)begin;
        }
        if (node == NULL)
            return read_postfix(reader, place);
        *place = node;
        place = &node->left;
    }
}

static const struct binary {
    const char *sign;
    enum c_kind kind;
    unsigned binds; /* the greater, the tighter */
} binaries[] = {{"*", C_MULTIPLY, 10},    {"/", C_DIVIDE, 10},        {"%", C_REMAINDER, 10},
                {"+", C_ADD, 9},          {"-", C_SUBTRACT, 9},       {"<<", C_SHIFT_LEFT, 8},
                {">>", C_SHIFT_RIGHT, 8}, {"<", C_LESS, 7},           {">", C_GREATER, 7},
                {"<=", C_LESS_EQUAL, 7},  {">=", C_GREATER_EQUAL, 7}, {"==", C_EQUAL, 6},
                {"!=", C_NOT_EQUAL, 6},   {"&", C_BIT_AND, 5},        {"^", C_BIT_EXCLUSIVE, 4},
                {"|", C_BIT_OR, 3},       {"&&", C_AND, 2},           {"||", C_OR, 1}};

static const struct binary *find_binary(const struct c_reader *reader)
{
    for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
        if (c_reader_is(reader, binaries[i].sign))
            return &binaries[i];
    return NULL;
}

/* Operators that bind at least as tightly as `binds`. */
static int read_binary(struct c_reader *reader, unsigned binds, struct c_expression **ret_node)
{
    const struct binary *binary;
    int result = read_unary(reader, ret_node);

    while (result == 0 && (binary = find_binary(reader)) != NULL && binary->binds >= binds) {
        struct c_expression *node = add_node(reader, binary->kind);
        if (node == NULL)
            return -ENOMEM;
        node->left = *ret_node;
        *ret_node = node;
        c_reader_next(reader);
        result = read_binary(reader, binary->binds + 1, &node->right);
    }
    return result;
}

static int read_conditional(struct c_reader *reader, struct c_expression **ret_node)
{
    if (++reader->depth > C_EXPRESSION_NESTING_MOST)
        return c_reader_fault(reader, "fewer parentheses in each other");
    int result = read_binary(reader, 1, ret_node);

    if (result == 0 && c_reader_is(reader, "?")) {
        struct c_expression *node = add_node(reader, C_CONDITIONAL);
        if (node == NULL)
            return -ENOMEM;
        node->left = *ret_node;
        *ret_node = node;
        c_reader_next(reader);
        result = read_conditional(reader, &node->right);
        if (result == 0)
            result = read_sign(reader, ":", "':'");
        if (result == 0)
            result = read_conditional(reader, &node->other);
    }
    reader->depth--;
    return result;
}

int c_expression_parse(const char *text, size_t size, struct arena *memory,
                       struct c_expression **ret_expression, struct c_fault *ret_fault)
{
    struct c_reader reader = {.text = text, .size = size, .memory = memory, .fault = ret_fault};
    struct c_expression *expression = NULL;

    if (size > C_EXPRESSION_SIZE_MOST)
        return c_reader_fault(&reader, "a shorter expression");
    c_reader_next(&reader);
    int result = read_conditional(&reader, &expression);
    if (result == 0 && c_reader_is(&reader, "("))
        return c_reader_fault(&reader, "an operator or ';': an attribute cannot call functions");
    if (result == 0 &&
        (c_reader_is(&reader, "=") || c_reader_is(&reader, "++") || c_reader_is(&reader, "--")))
        return c_reader_fault(&reader, "an operator or ';': an attribute only reads variables");
    if (result == 0 && reader.token > 0)
        return c_reader_fault(&reader, "an operator or ';'");
    if (result == 0)
        *ret_expression = expression;
    return result;
}

/* Trees lean to the left, and can be as high as the text is long. */
int c_expression_each_name(const struct c_expression *expression,
                           int (*variable)(void *context, const char *name), void *context)
{
    int result = 0;

    if (expression == NULL || expression->kind == C_SIZEOF)
        return 0;
    if (expression->kind == C_NAME)
        return variable(context, expression->name);
    result = c_expression_each_name(expression->left, variable, context);
    if (result >= 0)
        result = c_expression_each_name(expression->right, variable, context);
    return result < 0 ? result : c_expression_each_name(expression->other, variable, context);
}
