/* SPDX-License-Identifier: MIT */
/* table_private.h: what table.c (rows, lines) and table_fitting.c (widths) share. */
#ifndef DPM_TABLE_PRIVATE_H
#define DPM_TABLE_PRIVATE_H

#include "show/text/table.h"

#define HEADING_LINE 0 /* an ordinary line, because libsmartcols does not fold its own headings */

/* Text of a shown column in a line; "" if it has none. */
const char *table_cell(const struct table *table, size_t line, size_t column);

/* Prints the columns that are not hidden. Returns 0 or -ENOMEM. */
int table_print_lines(struct table *table, FILE *file);

/* Prints no line wider than `room`, and which columns were left out. Returns 0 or -ENOMEM. */
int table_print_fitting(struct table *table, size_t room, FILE *file);

#endif
