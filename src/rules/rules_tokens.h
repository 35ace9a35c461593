/* SPDX-License-Identifier: MIT */
/*
 * rules_tokens.h: words, quoted texts and errors of the languages of rules and descriptions. Private to rules/.
 *
 * One character of look-ahead; `#` begins a comment, which ends with the line.
 */
#ifndef DPM_RULES_TOKENS_H
#define DPM_RULES_TOKENS_H

#include "base/base.h"

#define WORD_MOST 200 /* bytes */

struct tokens {
    const char *name; /* of the file, for errors */
    const char *text, *end, *at;
    struct problem *problem;
};

struct token {
    const char *begin;
    char text[WORD_MOST + 1];
    bool quoted;
};

/* Makes the line for `problem`: "FILE:2:14: 'sned': expected a type of event". Returns -EINVAL. */
int tokens_refuse(const struct tokens *tokens, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tokens_no_memory(const struct tokens *tokens);

void tokens_skip_blanks(struct tokens *tokens);
void tokens_skip_comments(struct tokens *tokens); /* and blanks */

/* Takes this character if it is next. */
bool tokens_accept(struct tokens *tokens, char wanted);

/* Takes a word or quoted text. Returns 0, or -EINVAL with a line in `problem`. */
int tokens_take(struct tokens *tokens, struct token *token, const char *expected);

/* Reads a file of at most RULES_TEXT_MOST bytes; "-": standard input. `what` is in it: "rules". Free *ret_text. */
int tokens_read_file(const char *path, const char *what, char **ret_text, size_t *ret_length,
                     struct problem *problem);

#endif
