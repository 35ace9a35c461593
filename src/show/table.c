/* SPDX-License-Identifier: MIT */
/* table.c: aligned tables. See table.h. */
#include "show/table.h"

#include "show/terminal.h"

#include <errno.h>
#include <libsmartcols.h>
#include <string.h>
#include <unistd.h>

#define LEAST_NAME 16 /* columns of a terminal that names have at least, if they need them */

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
    /* It would cut figures, and what is left of a figure is another one. */
    scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_NEVER);
    for (size_t i = 0; i < count; i++) {
        table->left_out[i] = columns[i].heading == NULL;
        if (table->left_out[i])
            continue;
        table->figures[table->shown++] = columns[i].figures;
        if (add_column(table->lines, &columns[i]) < 0)
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

/* ---- on a terminal ---- */

/* Of the columns that are shown, by number. */
struct widths {
    size_t of[MAX_TABLE_COLUMNS];
    size_t least[MAX_TABLE_COLUMNS];
};

static const char *cell(const struct table *table, size_t line, size_t column)
{
    const char *text = scols_line_get_column_data(scols_table_get_line(table->lines, line),
                                                  scols_table_get_column(table->lines, column));

    return text == NULL ? "" : text;
}

static void measure(const struct table *table, struct widths *widths)
{
    for (size_t i = 0; i < table->shown; i++) {
        struct libscols_column *column = scols_table_get_column(table->lines, i);
        size_t heading = text_width(scols_cell_get_data(scols_column_get_header(column)));
        widths->of[i] = heading;
        for (size_t k = 0; k < scols_table_get_nlines(table->lines); k++) {
            size_t width = text_width(cell(table, k, i));
            if (width > widths->of[i])
                widths->of[i] = width;
        }
        widths->least[i] = widths->of[i];
        if (!table->figures[i] && widths->of[i] > LEAST_NAME)
            widths->least[i] = heading > LEAST_NAME ? heading : LEAST_NAME;
    }
}

/* Of these columns and the blanks between them. */
static size_t total(const struct widths *widths, size_t first, size_t end)
{
    size_t sum = 0;

    for (size_t i = first; i < end; i++)
        sum += widths->of[i] + (i > first);
    return sum;
}

/* Makes the widest names narrower until so many columns fit; returns whether they do. */
static bool narrow(struct widths *widths, size_t columns, size_t room)
{
    for (size_t sum = total(widths, 0, columns); sum > room; sum--) {
        size_t widest = columns;
        for (size_t i = 0; i < columns; i++)
            if (widths->of[i] > widths->least[i] &&
                (widest == columns || widths->of[i] > widths->of[widest]))
                widest = i;
        if (widest == columns)
            return false;
        widths->of[widest]--;
    }
    return true;
}

static int fold_column(struct table *table, size_t number, size_t width)
{
    struct libscols_column *column = scols_table_get_column(table->lines, number);
    int result = scols_column_set_flags(column, SCOLS_FL_WRAP);

    if (result == 0)
        result =
            scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
    if (result == 0)
        result = scols_column_set_safechars(column, "\n");
    for (size_t k = 0; result == 0 && k < scols_table_get_nlines(table->lines); k++) {
        char *folded = text_fold(cell(table, k, number), width);
        result = folded == NULL
                     ? -ENOMEM
                     : scols_line_refer_data(scols_table_get_line(table->lines, k), number, folded);
    }
    return result < 0 ? -ENOMEM : 0;
}

/* Names go on in the next line. */
static int fold_names(struct table *table, const struct widths *widths)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < table->shown; i++)
        if (!table->figures[i])
            result = fold_column(table, i, widths->of[i]);
    return result;
}

/* The names that a row begins with, which each part of a table repeats. */
static size_t leading_columns(const struct table *table)
{
    size_t count = 1;

    while (count < table->shown && !table->figures[0] && !table->figures[count])
        count++;
    return count;
}

/* Shows the leading columns and of the others only these. */
static void choose(struct table *table, size_t leading, size_t first, size_t end)
{
    for (size_t i = leading; i < table->shown; i++) {
        struct libscols_column *column = scols_table_get_column(table->lines, i);
        int flags = scols_column_get_flags(column) & ~SCOLS_FL_HIDDEN;
        scols_column_set_flags(column, i >= first && i < end ? flags : flags | SCOLS_FL_HIDDEN);
    }
}

/* Prints as many columns as fit beside the leading ones, then the next ones, until all are printed. */
static int print_parts(struct table *table, const struct widths *widths, size_t room, FILE *file)
{
    size_t leading = leading_columns(table);
    size_t names = total(widths, 0, leading);
    int result = 0;

    for (size_t first = leading, end; result == 0 && first < table->shown; first = end) {
        end = first + 1;
        while (end < table->shown && names + 1 + total(widths, first, end + 1) <= room)
            end++;
        choose(table, leading, first, end);
        if (first > leading)
            fputc('\n', file);
        result = scols_print_table(table->lines);
    }
    return result < 0 ? -ENOMEM : 0;
}

/* Nothing is cut: names are folded, and if that is not enough there are several tables. */
static int print_fitting(struct table *table, size_t room, FILE *file)
{
    struct widths widths;

    measure(table, &widths);
    bool fits = narrow(&widths, table->shown, room) ||
                leading_columns(table) == table->shown; /* no figures */
    if (!fits) {
        measure(table, &widths);
        narrow(&widths, leading_columns(table), room / 2);
    }
    int result = fold_names(table, &widths);
    if (result < 0 || !fits)
        return result < 0 ? result : print_parts(table, &widths, room, file);
    return scols_print_table(table->lines) < 0 ? -ENOMEM : 0;
}

int table_print(struct table *table, FILE *file)
{
    size_t room = terminal_width(file);

    if (scols_table_get_nlines(table->lines) == 0) {
        fputs("none\n", file);
        return 0;
    }
    if (room > 0)
        return print_fitting(table, room, file);
    return scols_print_table(table->lines) < 0 ? -ENOMEM : 0;
}

void table_done(struct table *table)
{
    scols_unref_table(table->lines);
    table->lines = NULL;
}
