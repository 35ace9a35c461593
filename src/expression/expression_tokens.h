/* SPDX-License-Identifier: MIT */
/* expression_tokens.h: the words of a C expression. Private to expression/. */
#ifndef DPM_EXPRESSION_TOKENS_H
#define DPM_EXPRESSION_TOKENS_H

#include "expression/expression.h"

struct c_reader {
    const char *text;
    size_t size;
    size_t at;    /* of the current token ... */
    size_t token; /* ... and its size; 0: the end */
    unsigned depth;
    struct arena *memory;
    struct c_fault *fault;
};

/* The character at a position; 0 behind the end. */
char c_reader_at(const struct c_reader *reader, size_t position);

/* Goes to the next token. */
void c_reader_next(struct c_reader *reader);

/* Whether the current token is this one; is a name. */
bool c_reader_is(const struct c_reader *reader, const char *sign);
bool c_reader_is_name(const struct c_reader *reader);

/* Reports that something else was expected here. Returns -EINVAL. */
int c_reader_fault(struct c_reader *reader, const char *expected);

#endif
