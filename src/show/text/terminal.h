/* SPDX-License-Identifier: MIT */
/*
 * terminal.h: text that fits the terminal it is printed on. Private to show/.
 *
 *      "Matched receives: 12 exact; 2 inferred."   --text_fold, 20 columns-->   "Matched receives:\n"
 *                                                                               "12 exact;\n"
 *                                                                               "2 inferred."
 *
 * What goes into a file or a pipe is never folded: whole lines are easier to search.
 */
#ifndef DPM_TERMINAL_H
#define DPM_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal: what COLUMNS says, else what the terminal does; at least 40. 0: the file is no
 * terminal. */
size_t terminal_width(FILE *file);

/* Columns that a text takes, as libsmartcols prints it: what the locale does not have as "\x..". */
size_t text_width(const char *text);

/* A copy whose lines have at most so many columns, broken at blanks where there are any, and within a word rather
 * before than in "[pid]". NULL: out of memory. The caller frees it. */
char *text_fold(const char *text, size_t width);

/* What is printed between beginning and end is folded if the file is a terminal, and there is memory. */
struct folding {
    FILE *file;
    FILE *memory; /* NULL: nothing is folded */
    char *text;
    size_t size;
};

/* Returns where to print meanwhile. */
FILE *folding_begin(struct folding *folding, FILE *file);

/* Errors of writing are left in the file. */
void folding_end(struct folding *folding);

#endif
