/* SPDX-License-Identifier: MIT */
/* c_expression.c: the C expressions of attributes. See c_expression.h. */
#include "view/c_expression.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct c_reader {
    const char *text;
    size_t size;
    size_t at;    /* of the current token ... */
    size_t token; /* ... and its size; 0: the end */
    unsigned depth;
    int (*variable)(void *context, const char *name, size_t size);
    void *context;
    struct c_fault *fault;
};

static char at(const struct c_reader *reader, size_t position)
{
    return position < reader->size ? reader->text[position] : '\0';
}

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static size_t skip_space(const struct c_reader *reader, size_t position)
{
    for (;;) {
        if (isspace((unsigned char)at(reader, position)) != 0) {
            position++;
        } else if (at(reader, position) == '/' && at(reader, position + 1) == '*') {
            position += 2;
            while (position < reader->size &&
                   !(at(reader, position) == '*' && at(reader, position + 1) == '/'))
                position++;
            position = position + 2 < reader->size ? position + 2 : reader->size;
        } else {
            return position;
        }
    }
}

static size_t operator_size(const struct c_reader *reader, size_t position)
{
    static const char *const operators[] = {"<<=", ">>=", "->", "++", "--", "<<", ">>",
                                            "<=",  ">=",  "==", "!=", "&&", "||", "+=",
                                            "-=",  "*=",  "/=", "%=", "&=", "|=", "^="};

    for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
        size_t size = strlen(operators[i]);
        if (reader->size - position >= size &&
            memcmp(reader->text + position, operators[i], size) == 0)
            return size;
    }
    return 1;
}

static size_t token_size(const struct c_reader *reader, size_t position)
{
    char first = at(reader, position);
    size_t size = 1;

    if (position >= reader->size)
        return 0;
    if (is_name_character(first) ||
        (first == '.' && isdigit((unsigned char)at(reader, position + 1)) != 0)) {
        while (is_name_character(at(reader, position + size)) ||
               (isdigit((unsigned char)first) != 0 && at(reader, position + size) == '.'))
            size++;
        return size;
    }
    if (first == '\'') {
        while (position + size < reader->size && at(reader, position + size) != '\'')
            size += at(reader, position + size) == '\\' ? 2 : 1;
        return position + size < reader->size ? size + 1 : reader->size - position;
    }
    return operator_size(reader, position);
}

static void next(struct c_reader *reader)
{
    reader->at = skip_space(reader, reader->at + reader->token);
    reader->token = token_size(reader, reader->at);
}

static bool is(const struct c_reader *reader, const char *sign)
{
    return reader->token == strlen(sign) &&
           memcmp(reader->text + reader->at, sign, reader->token) == 0;
}

static int fault(struct c_reader *reader, const char *expected)
{
    *reader->fault = (struct c_fault){reader->at, reader->token, expected};
    return -EINVAL;
}

static bool is_any(const struct c_reader *reader, const char *const *signs)
{
    for (; *signs != NULL; signs++)
        if (is(reader, *signs))
            return true;
    return false;
}

static bool is_name(const struct c_reader *reader)
{
    return reader->token > 0 && is_name_character(at(reader, reader->at)) &&
           isdigit((unsigned char)at(reader, reader->at)) == 0;
}

static int read_conditional(struct c_reader *reader);

static int read_close(struct c_reader *reader, const char *sign, const char *expected)
{
    if (!is(reader, sign))
        return fault(reader, expected);
    next(reader);
    return 0;
}

/* "(int)", "(unsigned long *)": only names of C itself, since others may be variables. */
static bool skip_cast(struct c_reader *reader)
{
    static const char *const words[] = {"int",    "unsigned", "signed", "long",   "short", "char",
                                        "double", "float",    "_Bool",  "struct", "const", NULL};
    struct c_reader ahead = *reader;
    size_t count = 0;

    for (next(&ahead); is_any(&ahead, words); next(&ahead)) {
        bool tag = is(&ahead, "struct");
        count++;
        if (tag)
            next(&ahead);
    }
    while (is(&ahead, "*"))
        next(&ahead);
    if (count == 0 || !is(&ahead, ")"))
        return false;
    next(&ahead);
    reader->at = ahead.at;
    reader->token = ahead.token;
    return true;
}

static int read_primary(struct c_reader *reader)
{
    char first = at(reader, reader->at);

    if (is(reader, "(")) {
        next(reader);
        int result = read_conditional(reader);
        return result < 0 ? result : read_close(reader, ")", "')'");
    }
    if (is_name(reader)) {
        int result = reader->variable(reader->context, reader->text + reader->at, reader->token);
        next(reader);
        return result;
    }
    if (reader->token == 0 || (isdigit((unsigned char)first) == 0 && first != '\'' &&
                               !(first == '.' && reader->token > 1)))
        return fault(reader, "a variable, a constant or '('");
    if (first == '\'' && (reader->token < 3 || at(reader, reader->at + reader->token - 1) != '\''))
        return fault(reader, "a character in quotes");
    next(reader);
    return 0;
}

static int read_postfix(struct c_reader *reader)
{
    int result = read_primary(reader);

    while (result == 0) {
        if (is(reader, "[")) {
            next(reader);
            result = read_conditional(reader);
            if (result == 0)
                result = read_close(reader, "]", "']'");
        } else if (is(reader, ".") || is(reader, "->")) {
            next(reader);
            if (!is_name(reader))
                return fault(reader, "the name of a member");
            next(reader);
        } else {
            break;
        }
    }
    return result;
}

static int read_unary(struct c_reader *reader)
{
    static const char *const signs[] = {"-", "+", "!", "~", "*", "&", NULL};

    for (;;) {
        if (is_any(reader, signs))
            next(reader);
        else if (!is(reader, "(") || !skip_cast(reader))
            break;
    }
    return read_postfix(reader);
}

static int read_binary(struct c_reader *reader)
{
    static const char *const signs[] = {"+",  "-",  "*",  "/", "%", "<<", ">>", "<",  ">", "<=",
                                        ">=", "==", "!=", "&", "|", "^",  "&&", "||", NULL};
    int result = read_unary(reader);

    /* Precedence does not matter for what is accepted. */
    while (result == 0 && is_any(reader, signs)) {
        next(reader);
        result = read_unary(reader);
    }
    return result;
}

static int read_conditional(struct c_reader *reader)
{
    if (++reader->depth > VIEW_NESTING_MOST)
        return fault(reader, "fewer parentheses in each other");
    int result = read_binary(reader);

    if (result == 0 && is(reader, "?")) {
        next(reader);
        result = read_conditional(reader);
        if (result == 0)
            result = read_close(reader, ":", "':'");
        if (result == 0)
            result = read_conditional(reader);
    }
    reader->depth--;
    return result;
}

int c_expression_check(const char *text, size_t size,
                       int (*variable)(void *context, const char *name, size_t size), void *context,
                       struct c_fault *ret_fault)
{
    struct c_reader reader = {
        .text = text, .size = size, .variable = variable, .context = context, .fault = ret_fault};

    next(&reader);
    int result = read_conditional(&reader);
    if (result == 0 && is(&reader, "("))
        return fault(&reader, "an operator or ';': an attribute cannot call functions");
    if (result == 0 && (is(&reader, "=") || is(&reader, "++") || is(&reader, "--")))
        return fault(&reader, "an operator or ';': an attribute only reads variables");
    if (result == 0 && reader.token > 0)
        return fault(&reader, "an operator or ';'");
    return result;
}
