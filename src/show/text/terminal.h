/* SPDX-License-Identifier: MIT */
/*
 * terminal.h: text that fits the terminal it is printed on. Private to show/.
 *
 *      "Matched receives: 12 exact; 3 inferred."   --text_fold, 20 columns-->   "Matched receives: 12\n"
 *                                                                               "exact; 3 inferred."
 *
 * Output to a file or a pipe is not folded unless COLUMNS says so: whole lines are easier to search.
 */
#ifndef DPM_TERMINAL_H
#define DPM_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Width of the output in columns: COLUMNS, else what the terminal reports, else 80; at least 40. 0: any, because the file
 * is no terminal and COLUMNS is not set, or because it is memory. */
size_t terminal_width(FILE *file);

/* Width of a text in columns, as libsmartcols prints it: characters that the locale cannot show count as "\x..". */
size_t text_width(const char *text);

/* Bytes of the longest beginning that fits into so many columns, with what takes none; *ret_width: its columns. */
size_t text_fitting(const char *text, size_t columns, size_t *ret_width);

/* A copy with lines of at most `width` columns. Lines break at blanks; a word that is too long breaks before its
 * "[pid]" rather than within it. The caller frees it; NULL: out of memory. */
char *text_fold(const char *text, size_t width);

/* Folds what is printed between folding_begin and folding_end, if the file is a terminal and memory suffices. */
struct folding {
    FILE *file;
    FILE *memory; /* NULL: nothing is folded */
    char *text;
    size_t size;
};

/* Returns the stream to print to until folding_end. */
FILE *folding_begin(struct folding *folding, FILE *file);

/* Write errors stay in the file. */
void folding_end(struct folding *folding);

#endif
