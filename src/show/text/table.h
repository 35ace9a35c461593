/* SPDX-License-Identifier: MIT */
/*
 * table.h: aligned tables, a thin layer over libsmartcols. Private to show/.
 *
 * On a terminal no row is longer than a line: names are folded, and if the figures alone are too many the
 * table comes in parts that each begin with the names. Nothing is cut, and elsewhere nothing is folded.
 *
 *      PATH LOCAL            REMOTE             SENT      PATH LOCAL            REMOTE              RTT
 *      tcp  client[7]        server[12]       58,788      tcp  client[7]        server[12]      64.0 us
 *           127.0.0.1:56888  127.0.0.1:6379                    127.0.0.1:56888  127.0.0.1:6379
 */
#ifndef DPM_TABLE_H
#define DPM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_column {
    const char *heading;
    bool figures; /* aligned to the right */
};

#define MAX_TABLE_COLUMNS 16

/* A column whose heading is NULL is left out, and so are its cells. */
struct table {
    struct libscols_table *lines;
    size_t column_count;
    bool left_out[MAX_TABLE_COLUMNS];
    size_t shown;                    /* the columns that are not left out, */
    bool figures[MAX_TABLE_COLUMNS]; /* ... and of each of these what it holds */
    size_t leading; /* so many of them say whose a row is; 0: the names that it begins with */
};

/* An empty table, to be printed into `file`. Returns 0 or -ENOMEM; table_done either way. */
int table_init(struct table *table, FILE *file, const struct table_column *columns, size_t count);

/* Adds a row of as many cells as there are columns; texts are copied. Returns 0 or -ENOMEM. */
int table_add(struct table *table, const char *const cells[]);

bool table_is_empty(const struct table *table);

/* Prints heading and rows, or "none". Returns 0 or -ENOMEM. */
int table_print(struct table *table, FILE *file);

void table_done(struct table *table);

#endif
