/* SPDX-License-Identifier: MIT */
/* expression_tokens.c: the words of a C expression. See expression_tokens.h. */
#include "expression/expression_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

char c_reader_at(const struct c_reader *reader, size_t position)
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
        if (isspace((unsigned char)c_reader_at(reader, position)) != 0) {
            position++;
        } else if (c_reader_at(reader, position) == '/' &&
                   c_reader_at(reader, position + 1) == '*') {
            position += 2;
            while (position < reader->size && !(c_reader_at(reader, position) == '*' &&
                                                c_reader_at(reader, position + 1) == '/'))
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

/* 10  0x1fUL  1.5e-3 */
static size_t number_size(const struct c_reader *reader, size_t position)
{
    bool hexadecimal = tolower((unsigned char)c_reader_at(reader, position + 1)) == 'x';
    size_t size = 1;

    for (;; size++) {
        char c = c_reader_at(reader, position + size),
             before = c_reader_at(reader, position + size - 1);
        bool exponent = !hexadecimal && (before == 'e' || before == 'E') && (c == '-' || c == '+');
        if (!is_name_character(c) && c != '.' && !exponent)
            return size;
    }
}

/* "::" with a name behind it, as C++ and Rust write it. */
static bool is_within(const struct c_reader *reader, size_t position)
{
    char next = c_reader_at(reader, position + 2);

    return c_reader_at(reader, position) == ':' && c_reader_at(reader, position + 1) == ':' &&
           is_name_character(next) && isdigit((unsigned char)next) == 0;
}

static size_t token_size(const struct c_reader *reader, size_t position)
{
    char first = c_reader_at(reader, position);
    size_t size = 1;

    if (position >= reader->size)
        return 0;
    if (isdigit((unsigned char)first) != 0 ||
        (first == '.' && isdigit((unsigned char)c_reader_at(reader, position + 1)) != 0))
        return number_size(reader, position);
    if (is_name_character(first)) {
        for (;;) {
            while (is_name_character(c_reader_at(reader, position + size)))
                size++;
            if (!is_within(reader, position + size))
                return size;
            size += 2;
        }
    }
    if (first == '\'') {
        while (position + size < reader->size && c_reader_at(reader, position + size) != '\'')
            size += c_reader_at(reader, position + size) == '\\' ? 2 : 1;
        return position + size < reader->size ? size + 1 : reader->size - position;
    }
    return operator_size(reader, position);
}

void c_reader_next(struct c_reader *reader)
{
    reader->at = skip_space(reader, reader->at + reader->token);
    reader->token = token_size(reader, reader->at);
}

bool c_reader_is(const struct c_reader *reader, const char *sign)
{
    return reader->token == strlen(sign) &&
           memcmp(reader->text + reader->at, sign, reader->token) == 0;
}

bool c_reader_is_name(const struct c_reader *reader)
{
    return reader->token > 0 && is_name_character(c_reader_at(reader, reader->at)) &&
           isdigit((unsigned char)c_reader_at(reader, reader->at)) == 0;
}

int c_reader_fault(struct c_reader *reader, const char *expected)
{
    *reader->fault = (struct c_fault){reader->at, reader->token, expected};
    return -EINVAL;
}
