/* SPDX-License-Identifier: MIT */
/*
 * table.h: aligned tables, a thin layer over libsmartcols. Private to show/.
 *
 * On a terminal no row is wider than the screen. Names and headings are folded first. If that is not enough, the least
 * useful columns are left out, and a line below the table names them. If those that must stay are still too wide, or all
 * columns are asked for, the table is split into parts, each of which begins with the names. No text is cut off. In files
 * and pipes nothing is folded or left out.
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
    bool figures;       /* right-aligned */
    unsigned char rank; /* 0: always shown; the others stay while they fit, 1 before 2 */
    bool detail;        /* of the column before it, whose heading its own needs: SENT, % */
};

#define MAX_TABLE_COLUMNS 20

struct shown_column {
    bool figures;
    bool detail;
    unsigned char rank;
};

/* A column whose heading is NULL is left out with its cells. */
struct table {
    struct libscols_table *lines;
    size_t column_count;
    bool left_out[MAX_TABLE_COLUMNS];
    size_t shown; /* number of columns that are not left out */
    struct shown_column columns[MAX_TABLE_COLUMNS];
    size_t leading; /* number of columns that identify a row; 0: all up to the first figures */
    bool whole;     /* all columns, in parts if need be; set it before table_print */
};

/* Makes an empty table that will be printed to `file`. Returns 0 or -ENOMEM. Call table_done in any case. */
int table_init(struct table *table, FILE *file, const struct table_column *columns, size_t count);

/* Adds a row with one cell per column; copies the texts. Returns 0 or -ENOMEM. */
int table_add(struct table *table, const char *const cells[]);

bool table_is_empty(const struct table *table);

/* Prints heading and rows, or "none". Returns 0 or -ENOMEM. */
int table_print(struct table *table, FILE *file);

void table_done(struct table *table);

#endif
