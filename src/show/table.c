/* SPDX-License-Identifier: MIT */
/* table.c: aligned tables. See table.h. */
#include "show/table.h"

#include <errno.h>
#include <libsmartcols.h>
#include <string.h>
#include <unistd.h>

static int add_column(struct libscols_table *lines, const struct table_column *column)
{
    struct libscols_column *added =
        scols_table_new_column(lines, column->heading, 0, column->figures ? SCOLS_FL_RIGHT : 0);

    if (added == NULL)
        return -ENOMEM;
    return scols_cell_set_color(scols_column_get_header(added), "bold") < 0 ? -ENOMEM : 0;
}

int table_init(struct table *table, FILE *file, const struct table_column *columns, size_t count)
{
    memset(table, 0, sizeof(*table));
    table->column_count = count;
    table->lines = scols_new_table();
    if (table->lines == NULL)
        return -ENOMEM;
    scols_table_set_stream(table->lines, file);
    scols_table_enable_colors(table->lines, isatty(fileno(file)));
    /* Never squeezed to the width of a terminal: whole names matter more than straight lines. */
    scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_NEVER);
    for (size_t i = 0; i < count; i++) {
        table->left_out[i] = columns[i].heading == NULL;
        if (!table->left_out[i] && add_column(table->lines, &columns[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

int table_add(struct table *table, const char *const cells[])
{
    struct libscols_line *line = scols_table_new_line(table->lines, NULL);
    size_t at = 0;

    if (line == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < table->column_count; i++)
        if (!table->left_out[i] && scols_line_set_data(line, at++, cells[i]) < 0)
            return -ENOMEM;
    return 0;
}

int table_print(struct table *table, FILE *file)
{
    if (scols_table_get_nlines(table->lines) == 0) {
        fputs("none\n", file);
        return 0;
    }
    return scols_print_table(table->lines) < 0 ? -ENOMEM : 0;
}

void table_done(struct table *table)
{
    scols_unref_table(table->lines);
    table->lines = NULL;
}
