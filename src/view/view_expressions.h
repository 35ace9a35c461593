/* SPDX-License-Identifier: MIT */
/* view_expressions.h: the parser's state, and its rules for predicates and values. Private to view/. */
#ifndef DPM_VIEW_EXPRESSIONS_H
#define DPM_VIEW_EXPRESSIONS_H

#include "view/tokens.h"

#include <stdio.h>

struct view_parser {
    struct tokens tokens;
    struct view_file *file;
    struct problem *problem;
    size_t name_most;
    unsigned depth;     /* of parentheses */
    size_t expressions; /* in the predicate or value that is read */
};

/* language.c. All return 0, -EINVAL or -ENOMEM, with a line in parser->problem; on success they read the next token. */
int parser_expect(struct view_parser *parser, const char *word);
int parser_name(struct view_parser *parser, const char *expected, const char **ret_name);
int parser_number(struct view_parser *parser, const char *expected, double most,
                  double *ret_number);
int parser_time(struct view_parser *parser, uint64_t *ret_ns); /* "25 MS" */
int parser_no_memory(struct view_parser *parser);

/* A copy of a text. NULL: out of memory. */
const char *parser_keep(struct view_parser *parser, const char *start, size_t size);

/* Memory for one more element of a list that has `count`; only grown by one at a time. NULL: out of memory. */
void *parser_grow(struct view_parser *parser, const void *list, size_t count, size_t size);

/* notify_clause.c: from NOTIFY to ';'. */
int parser_notify(struct view_parser *parser, struct view *view);

/* view_expressions.c: an arithmetic expression; a predicate. */
int parser_value(struct view_parser *parser, struct view *view, struct view_expression **ret_value);
int parser_predicate(struct view_parser *parser, struct view *view,
                     struct view_expression **ret_predicate);

#endif
