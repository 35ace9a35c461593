/* SPDX-License-Identifier: MIT */
/* table.c: aligned tables. See table.h. */
#include "show/text/table.h"

#include "show/show.h"
#include "show/text/table_private.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

static int add_column(struct libscols_table *lines, const struct table_column *column)
{
    return scols_table_new_column(lines, NULL, 0, column->figures ? SCOLS_FL_RIGHT : 0) == NULL
               ? -ENOMEM
               : 0;
}

static int add_heading(struct libscols_line *line, size_t column, const char *text)
{
    if (line == NULL || scols_line_set_data(line, column, text) < 0)
        return -ENOMEM;
    return scols_cell_set_color(scols_line_get_cell(line, column), "bold") < 0 ? -ENOMEM : 0;
}

int table_init(struct table *table, FILE *file, const struct table_column *columns, size_t count)
{
    struct libscols_line *line;
    size_t at = 0;

    memset(table, 0, sizeof(*table));
    table->column_count = count;
    table->lines = scols_new_table();
    if (table->lines == NULL)
        return -ENOMEM;
    scols_table_enable_colors(table->lines, show_has_colours(file));
    scols_table_enable_noheadings(table->lines, 1);
    /* libsmartcols would cut figures off, and a cut figure is a wrong one */
    scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_NEVER);
    for (size_t i = 0; i < count; i++) {
        table->left_out[i] = columns[i].heading == NULL;
        if (table->left_out[i])
            continue;
        table->columns[table->shown++] = (struct shown_column){
            .figures = columns[i].figures, .detail = columns[i].detail, .rank = columns[i].rank};
        if (add_column(table->lines, &columns[i]) < 0)
            return -ENOMEM;
    }
    line = scols_table_new_line(table->lines, NULL); /* has one cell per shown column */
    for (size_t i = 0; i < count; i++)
        if (!table->left_out[i] && add_heading(line, at++, columns[i].heading) < 0)
            return -ENOMEM;
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

/* Bytes of an escape sequence such as "\033[1m" at the end of a line; 0: none. */
static size_t escape_length(const char *line, size_t length)
{
    size_t at = length;

    if (length == 0 || line[--at] != 'm')
        return 0;
    while (at > 0 && strchr("0123456789;", line[at - 1]) != NULL)
        at--;
    return at >= 2 && line[at - 1] == '[' && line[at - 2] == '\033' ? length - at + 2 : 0;
}

/* Prints a line without the padding of its last column. */
static void print_line(const char *line, size_t length, FILE *file)
{
    bool coloured = false;

    for (;;) {
        size_t escape = escape_length(line, length);
        if (escape == 0 && (length == 0 || line[length - 1] != ' '))
            break;
        coloured = coloured || escape > 0;
        length -= escape > 0 ? escape : 1;
    }
    fwrite(line, 1, length, file);
    fputs(coloured ? "\033[0m\n" : "\n", file);
}

const char *table_cell(const struct table *table, size_t line, size_t column)
{
    const char *text = scols_line_get_column_data(scols_table_get_line(table->lines, line),
                                                  scols_table_get_column(table->lines, column));

    return text == NULL ? "" : text;
}

/* Whether `text` contains the first line of `folded`. */
static bool has_first_line(const char *text, const char *folded)
{
    return memmem(text, strlen(text), folded, strcspn(folded, "\n")) != NULL;
}

int table_print_lines(struct table *table, FILE *file)
{
    char *text = NULL;

    /* without memory, libsmartcols may succeed but print nothing, or leave out the first cell */
    if (scols_print_table_to_string(table->lines, &text) < 0 || text == NULL ||
        !has_first_line(text, table_cell(table, HEADING_LINE, 0))) {
        free(text);
        return -ENOMEM;
    }
    for (char *line = text, *next; *line != '\0'; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        print_line(line, length, file);
    }
    free(text);
    return 0;
}

bool table_is_empty(const struct table *table)
{
    return scols_table_get_nlines(table->lines) == HEADING_LINE + 1;
}

int table_print(struct table *table, FILE *file)
{
    size_t room = terminal_width(file);

    if (table_is_empty(table)) {
        fputs("none\n", file);
        return 0;
    }
    if (room > 0)
        return table_print_fitting(table, room, file);
    return table_print_lines(table, file);
}

void table_done(struct table *table)
{
    scols_unref_table(table->lines);
    table->lines = NULL;
}
