/* SPDX-License-Identifier: MIT */
/*
 * table_fitting.c: tables that fit the terminal. See table.h.
 *
 *      PROCESS  CPU TIME  %  SENT BYTES RECEIVED    --40 columns-->    PROCESS  CPU TIME  % BYTES RECEIVED
 *               rank 0    1     3              2                       (left out to fit: SENT; --all shows them)
 */
#include "show/text/table_private.h"

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
    {16, true, false}, {16, true, true}, {16, false, true},
    {12, false, true}, {8, false, true}, {4, false, true},
};

#define WITHOUT_BREAKING 2 /* the first steps break only between words */
#define FOR_FIGURES      4 /* the first steps are better than a table in parts */

#define WHOLE_WORD 26 /* columns, e.g. "a-long-program[1234567]" */

/* Widths of the shown columns, by index. */
struct widths {
    size_t of[MAX_TABLE_COLUMNS];
    size_t least[MAX_TABLE_COLUMNS];
    bool hidden[MAX_TABLE_COLUMNS]; /* left out so that the others fit: no width */
};

static const char *heading(const struct table *table, size_t column)
{
    return table_cell(table, HEADING_LINE, column);
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
        const char *text = table_cell(table, k, column);
        widths->of[column] = larger(widths->of[column], text_width(text));
        word = larger(word, step->whole_words ? longest_word(text) : 0);
    }
    widths->least[column] =
        table->columns[column].figures || word > widths->of[column] ? widths->of[column] : word;
}

static void measure(const struct table *table, const struct narrowness *step, struct widths *widths)
{
    for (size_t i = 0; i < table->shown; i++)
        if (!widths->hidden[i])
            measure_column(table, i, step, widths);
}

/* Width of columns `first` to `end` - 1, with the blanks between them. */
static size_t total(const struct widths *widths, size_t first, size_t end)
{
    size_t sum = 0, columns = 0;

    for (size_t i = first; i < end; i++)
        if (!widths->hidden[i]) {
            sum += widths->of[i];
            columns++;
        }
    return columns == 0 ? 0 : sum + columns - 1;
}

/* Narrows the widest of the first columns until they fit into `room`. Returns whether they do. */
static bool narrow(struct widths *widths, size_t columns, size_t room)
{
    for (size_t sum = total(widths, 0, columns); sum > room; sum--) {
        size_t widest = columns;
        for (size_t i = 0; i < columns; i++)
            if (!widths->hidden[i] && widths->of[i] > widths->least[i] &&
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
        char *folded =
            fold_cell(table_cell(table, k, number), width, table->columns[number].figures);
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
        if (!widths->hidden[i] &&
            (!table->columns[i].figures || text_width(heading(table, i)) > widths->of[i]))
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
    while (count < table->shown && !table->columns[0].figures && !table->columns[count].figures)
        count++;
    return count;
}

/* Shows the leading columns, and of the others only `first` to `end` - 1. */
static void choose(struct table *table, const struct widths *widths, size_t first, size_t end)
{
    size_t leading = leading_columns(table);

    for (size_t i = 0; i < table->shown; i++) {
        struct libscols_column *column = scols_table_get_column(table->lines, i);
        int flags = scols_column_get_flags(column) & ~SCOLS_FL_HIDDEN;
        bool chosen = !widths->hidden[i] && (i < leading || (i >= first && i < end));
        scols_column_set_flags(column, chosen ? flags : flags | SCOLS_FL_HIDDEN);
    }
}

/* ---- leaving out the least useful columns ---- */

/* The column that this one details; itself if it details none. */
static size_t detailed_column(const struct table *table, size_t column)
{
    while (column > 0 && table->columns[column].detail)
        column--;
    return column;
}

/* A detail is no more useful than what it details. */
static unsigned rank_of(const struct table *table, size_t column)
{
    return (unsigned)larger(table->columns[column].rank,
                            table->columns[detailed_column(table, column)].rank);
}

static bool fits(const struct table *table, const struct widths *widths, size_t room)
{
    struct widths narrowed = *widths;

    return narrow(&narrowed, table->shown, room);
}

/* Leaves out all columns that have a rank, or none. */
static void hide_ranked(const struct table *table, struct widths *widths, bool hide)
{
    for (size_t i = 1; i < table->shown; i++)
        widths->hidden[i] = hide && rank_of(table, i) > 0;
}

/* The first step at which the columns without a rank fit, else the last one that is good enough. */
static const struct narrowness *step_for_the_rest(const struct table *table, size_t room,
                                                  struct widths *widths)
{
    for (size_t i = WITHOUT_BREAKING - 1; i + 1 < FOR_FIGURES; i++) {
        measure(table, &steps[i], widths);
        if (fits(table, widths, room))
            return &steps[i];
    }
    return &steps[FOR_FIGURES - 1];
}

/* Takes columns back in the order of their ranks, each if it fits. */
static void leave_out(const struct table *table, size_t room, struct widths *widths)
{
    const struct narrowness *step;

    hide_ranked(table, widths, true);
    step = step_for_the_rest(table, room, widths);
    hide_ranked(table, widths, false);
    measure(table, step, widths);
    hide_ranked(table, widths, true);
    for (unsigned rank = 1; rank <= UCHAR_MAX; rank++)
        for (size_t i = 1; i < table->shown; i++) {
            if (rank_of(table, i) != rank ||
                (table->columns[i].detail && widths->hidden[detailed_column(table, i)]))
                continue;
            widths->hidden[i] = false;
            widths->hidden[i] = !fits(table, widths, room);
        }
}

/* "(left out to fit: PARENT, CPU TIME %; --all shows them)"; "" if nothing is left out. To be made before the headings
 * are folded. The caller frees it; NULL: out of memory. */
static char *left_out_text(const struct table *table, const struct widths *widths)
{
    const char *before = "(left out to fit: ";
    char *text = NULL;
    size_t size;
    FILE *into = open_memstream(&text, &size);

    for (size_t i = 0; into != NULL && i < table->shown; i++) {
        size_t of = detailed_column(table, i);
        if (!widths->hidden[i] || (of != i && widths->hidden[of]))
            continue;
        fprintf(into, "%s%s%s%s", before, of == i ? "" : heading(table, of), of == i ? "" : " ",
                heading(table, i));
        before = ", ";
    }
    if (into != NULL && before[0] == ',')
        fputs("; --all shows them)\n", into);
    if (into == NULL || fclose(into) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- parts ---- */

/* End of the part that begins with column `first`: as many columns as fit, without separating a column from its
 * details. With columns SENT MEAN P99 RTT MEAN and room for four, the part is SENT MEAN P99. */
static size_t part_end(const struct table *table, const struct widths *widths, size_t first,
                       size_t room)
{
    size_t end = first + 1, whole = 0;

    for (; end < table->shown && total(widths, first, end + 1) <= room; end++)
        whole = table->columns[end].detail ? whole : end;
    return end == table->shown || !table->columns[end].detail || whole == 0 ? end : whole;
}

/* Prints the table in parts: the leading columns, and each time as many of the others as fit. */
static int print_parts(struct table *table, const struct widths *widths, size_t room, FILE *file)
{
    size_t leading = leading_columns(table);
    size_t names = total(widths, 0, leading);
    bool later = false;
    int result = 0;

    for (size_t first = leading, end; result == 0 && first < table->shown; first = end) {
        end = part_end(table, widths, first, room > names ? room - names - 1 : 0);
        if (total(widths, first, end) == 0) /* all of them are left out */
            continue;
        choose(table, widths, first, end);
        if (later)
            fputc('\n', file);
        later = true;
        result = table_print_lines(table, file);
    }
    return result;
}

/* Width of the widest column that is not a leading one. */
static size_t widest_beside(const struct table *table, const struct widths *widths)
{
    size_t widest = 0;

    for (size_t i = leading_columns(table); i < table->shown; i++)
        widest = larger(widest, widths->hidden[i] ? 0 : widths->least[i]);
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

/* Narrows all columns until they fit, in the first `most` steps. Returns whether they do. */
static bool narrow_all(const struct table *table, size_t most, size_t room, struct widths *widths)
{
    bool fit = false;

    for (size_t i = 0; i < most && !fit; i++) {
        measure(table, &steps[i], widths);
        fit = narrow(widths, table->shown, room);
    }
    return fit;
}

/* Narrows the columns until they fit; leaves some out if that is not enough. Returns false if the table must be split
 * into parts instead. */
static bool make_fit(const struct table *table, size_t room, struct widths *widths)
{
    if (narrow_all(table, WITHOUT_BREAKING, room, widths))
        return true;
    if (leading_columns(table) == table->shown) { /* no figures, so nothing to split */
        narrow_all(table, ARRAY_SIZE(steps), room, widths);
        return true;
    }
    if (table->whole)
        return false;
    leave_out(table, room, widths);
    return narrow_all(table, FOR_FIGURES, room, widths);
}

int table_print_fitting(struct table *table, size_t room, FILE *file)
{
    struct widths widths = {0};
    bool fit = make_fit(table, room, &widths);
    char *left_out = left_out_text(table, &widths);
    struct folding folding;

    if (!fit)
        narrow_for_parts(table, room, &widths);
    int result = left_out == NULL ? -ENOMEM : fold_columns(table, &widths);
    choose(table, &widths, 0, table->shown);
    if (result == 0)
        result = fit ? table_print_lines(table, file) : print_parts(table, &widths, room, file);
    if (result == 0) {
        fputs(left_out, folding_begin(&folding, file));
        folding_end(&folding);
    }
    free(left_out);
    return result;
}
