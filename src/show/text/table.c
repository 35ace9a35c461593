/* SPDX-License-Identifier: MIT */
/* table.c: aligned tables. See table.h. */
#include "show/text/table.h"

#include "show/show.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <libsmartcols.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How far a terminal may narrow the columns, step by step. */
static const struct narrowness {
    size_t least;         /* columns that a name keeps */
    bool whole_words;     /* do not break words of names up to WHOLE_WORD long */
    bool folded_headings; /* break headings of figures at their blanks, too */
} steps[] = {
    {16, true, false}, {16, false, false}, {12, false, false},
    {12, false, true}, {8, false, true},   {4, false, true},
};

#define WHOLE_WORD 26 /* columns, e.g. "a-long-program[1234567]" */

#define HEADING_LINE 0 /* an ordinary line, because libsmartcols does not fold its own headings */

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
        table->figures[table->shown++] = columns[i].figures;
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

/* ---- on a terminal ---- */

/* Widths of the shown columns, by index. */
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

static const char *heading(const struct table *table, size_t column)
{
    return cell(table, HEADING_LINE, column);
}

/* Width of the longest word that must stay whole. */
static size_t longest_word(const char *text)
{
    size_t longest = 0;

    for (const char *at = text; *at != '\0';) {
        char word[WHOLE_WORD * MB_LEN_MAX + 1] = "";
        size_t length = strcspn(at, " ");
        if (length < sizeof(word)) {
            memcpy(word, at, length);
            word[length] = '\0';
        }
        size_t width = text_width(word);
        if (width > longest && width <= WHOLE_WORD)
            longest = width;
        at += length + strspn(at + length, " ");
    }
    return longest;
}

static size_t larger(size_t value, size_t other)
{
    return value > other ? value : other;
}

static void measure_column(const struct table *table, size_t column, const struct narrowness *step,
                           struct widths *widths)
{
    size_t title = step->folded_headings ? longest_word(heading(table, column))
                                         : text_width(heading(table, column));
    size_t word = larger(title, step->least);

    widths->of[column] = title;
    for (size_t k = HEADING_LINE + 1; k < scols_table_get_nlines(table->lines); k++) {
        const char *text = cell(table, k, column);
        widths->of[column] = larger(widths->of[column], text_width(text));
        word = larger(word, step->whole_words ? longest_word(text) : 0);
    }
    widths->least[column] =
        table->figures[column] || word > widths->of[column] ? widths->of[column] : word;
}

static void measure(const struct table *table, const struct narrowness *step, struct widths *widths)
{
    for (size_t i = 0; i < table->shown; i++)
        measure_column(table, i, step, widths);
}

/* Width of columns `first` to `end` - 1, with the blanks between them. */
static size_t total(const struct widths *widths, size_t first, size_t end)
{
    size_t sum = 0;

    for (size_t i = first; i < end; i++)
        sum += widths->of[i] + (i > first);
    return sum;
}

/* Narrows the widest of the first columns until they fit into `room`. Returns whether they do. */
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

/* A copy with each line right-aligned to `width`; no line is wider. NULL: out of memory. */
static char *moved_right(const char *lines, size_t width)
{
    char *moved = NULL;
    size_t size;
    FILE *memory = open_memstream(&moved, &size);
    bool failed = memory == NULL;

    for (const char *line = lines; !failed;) {
        size_t length = strcspn(line, "\n");
        char *text = strndup(line, length);
        failed = text == NULL;
        if (!failed)
            fprintf(memory, "%*s%s%s", (int)(width - text_width(text)), "", text,
                    line[length] == '\0' ? "" : "\n");
        free(text);
        if (line[length] == '\0')
            break;
        line += length + 1;
    }
    failed = memory == NULL || fclose(memory) != 0 || failed;
    if (!failed)
        return moved;
    free(moved);
    return NULL;
}

/* Folds a cell. libsmartcols right-aligns only the first line of a cell, so `right` aligns them all here. */
static char *fold_cell(const char *text, size_t width, bool right)
{
    char *folded = text_fold(text, width);

    if (!right || folded == NULL)
        return folded;
    char *moved = moved_right(folded, width);
    free(folded);
    return moved;
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
        char *folded = fold_cell(cell(table, k, number), width, table->figures[number]);
        result = folded == NULL
                     ? -ENOMEM
                     : scols_line_refer_data(scols_table_get_line(table->lines, k), number, folded);
    }
    return result < 0 ? -ENOMEM : 0;
}

/* Folds the columns of names, and headings of figures that are too wide. */
static int fold_columns(struct table *table, const struct widths *widths)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < table->shown; i++)
        if (!table->figures[i] || text_width(heading(table, i)) > widths->of[i])
            result = fold_column(table, i, widths->of[i]);
    return result;
}

/* Number of columns that each part of a table repeats because they identify the row: the names at its beginning, or
 * table->leading. */
static size_t leading_columns(const struct table *table)
{
    size_t count = 1;

    if (table->leading > 0)
        return table->leading;
    while (count < table->shown && !table->figures[0] && !table->figures[count])
        count++;
    return count;
}

/* Shows the leading columns, and of the others only `first` to `end` - 1. */
static void choose(struct table *table, size_t leading, size_t first, size_t end)
{
    for (size_t i = leading; i < table->shown; i++) {
        struct libscols_column *column = scols_table_get_column(table->lines, i);
        int flags = scols_column_get_flags(column) & ~SCOLS_FL_HIDDEN;
        scols_column_set_flags(column, i >= first && i < end ? flags : flags | SCOLS_FL_HIDDEN);
    }
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

/* Whether `text` contains the first line of `folded`. */
static bool has_first_line(const char *text, const char *folded)
{
    return memmem(text, strlen(text), folded, strcspn(folded, "\n")) != NULL;
}

static int print_lines(struct table *table, FILE *file)
{
    char *text = NULL;

    /* without memory, libsmartcols may succeed but print nothing, or leave out the first cell */
    if (scols_print_table_to_string(table->lines, &text) < 0 || text == NULL ||
        !has_first_line(text, heading(table, 0))) {
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

/* Whether a column details the column before it. */
static bool belongs_to_the_last(const struct table *table, size_t column)
{
    static const char *const words[] = {"MEAN", "P50", "P90", "P99", "MAX", "%", "BYTES/S"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(heading(table, column), words[i]) == 0)
            return true;
    return false;
}

/* End of the part that begins with column `first`: as many columns as fit, without separating a column from its
 * details. With columns SENT MEAN P99 RTT MEAN and room for four, the part is SENT MEAN P99. */
static size_t part_end(const struct table *table, const struct widths *widths, size_t first,
                       size_t room)
{
    size_t end = first + 1, whole = 0;

    for (; end < table->shown && total(widths, first, end + 1) <= room; end++)
        whole = belongs_to_the_last(table, end) ? whole : end;
    return end == table->shown || !belongs_to_the_last(table, end) || whole == 0 ? end : whole;
}

/* Prints the table in parts: the leading columns, and each time as many of the others as fit. */
static int print_parts(struct table *table, const struct widths *widths, size_t room, FILE *file)
{
    size_t leading = leading_columns(table);
    size_t names = total(widths, 0, leading);
    int result = 0;

    for (size_t first = leading, end; result == 0 && first < table->shown; first = end) {
        end = part_end(table, widths, first, room > names ? room - names - 1 : 0);
        choose(table, leading, first, end);
        if (first > leading)
            fputc('\n', file);
        result = print_lines(table, file);
    }
    return result;
}

/* Width of the widest column that is not a leading one. */
static size_t widest_beside(const struct table *table, const struct widths *widths)
{
    size_t widest = 0;

    for (size_t i = leading_columns(table); i < table->shown; i++)
        widest = larger(widest, widths->least[i]);
    return widest;
}

/* Narrows names outside the leading columns to the width that those leave. */
static void narrow_others(const struct table *table, size_t room, struct widths *widths)
{
    size_t names = total(widths, 0, leading_columns(table)) + 1;
    size_t left = room > names ? room - names : 1;

    for (size_t i = leading_columns(table); i < table->shown; i++)
        if (widths->of[i] > left)
            widths->of[i] = larger(left, widths->least[i]);
}

/* Narrows the leading columns until each other column fits next to them. */
static void narrow_for_parts(const struct table *table, size_t room, struct widths *widths)
{
    size_t leading = leading_columns(table);

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        measure(table, &steps[i], widths);
        narrow(widths, leading, room / 2);
        if (total(widths, 0, leading) + 1 + widest_beside(table, widths) <= room)
            break;
    }
    narrow_others(table, room, widths);
}

/* Narrows all columns until they fit. Returns false if the table must be split instead. */
static bool narrow_all(const struct table *table, size_t room, struct widths *widths)
{
    measure(table, &steps[0], widths);
    if (narrow(widths, table->shown, room))
        return true;
    if (leading_columns(table) < table->shown)
        return false;
    for (size_t i = 1; i < ARRAY_SIZE(steps) && total(widths, 0, table->shown) > room; i++) {
        measure(table, &steps[i], widths);
        narrow(widths, table->shown, room);
    }
    return true; /* no figures, so nothing to split */
}

/* Cuts nothing off: folds names, and splits the table if that is not enough. */
static int print_fitting(struct table *table, size_t room, FILE *file)
{
    struct widths widths;
    bool fits = narrow_all(table, room, &widths);

    if (!fits)
        narrow_for_parts(table, room, &widths);
    int result = fold_columns(table, &widths);
    if (result < 0 || !fits)
        return result < 0 ? result : print_parts(table, &widths, room, file);
    return print_lines(table, file);
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
        return print_fitting(table, room, file);
    return print_lines(table, file);
}

void table_done(struct table *table)
{
    scols_unref_table(table->lines);
    table->lines = NULL;
}
