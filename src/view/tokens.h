/* SPDX-License-Identifier: MIT */
/* tokens.h: the words of the attribute and view languages. Private to view/. */
#ifndef DPM_VIEW_TOKENS_H
#define DPM_VIEW_TOKENS_H

#include "view/view.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_TEXT, /* in double quotes, which are not part of it */
    TOKEN_SIGN, /* one or two characters */
    TOKEN_WRONG,
};

struct token {
    enum token_kind kind;
    const char *start;
    size_t size;
    uint32_t line, column; /* from 1; columns count bytes */
};

struct tokens {
    const char *name; /* of the file */
    const char *at, *end;
    const char *line_start;
    uint32_t line;
    struct token token; /* the current one */
};

void tokens_begin(struct tokens *tokens, const char *name, const char *text, size_t size);

/* Reads the next token into tokens->token. */
void tokens_next(struct tokens *tokens);

/* Reads a host from the current token on, which is a name or number: letters, digits and "@.-_:" without blanks. */
void tokens_host(struct tokens *tokens);

/* Reads a C expression from the current token on: all up to the next ';' outside of parentheses, texts and comments.
 * The current token becomes that ';', or the end of the file. Returns the expression. */
struct token tokens_body(struct tokens *tokens);

bool token_is(const struct token *token, const char *word);

/* "FILE:LINE:COLUMN: found 'x', expected WHAT". Returns -EINVAL. */
int token_unexpected(const struct tokens *tokens, const struct token *token, const char *expected,
                     struct problem *problem);

/* "FILE:LINE:COLUMN: " and the text. Returns -EINVAL. */
int token_problem(const struct tokens *tokens, uint32_t line, uint32_t column,
                  struct problem *problem, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
