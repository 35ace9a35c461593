/* SPDX-License-Identifier: MIT */
/*
 * distribution_table.c: distributions of times and sizes, and messages over time, as text. See statistics_face.h.
 *
 *      PROCESS    METRIC       COUNT    MEAN     P50 ...      Service time, server[12]
 *      server[12] service time 1,024 41.2 us 38.9 us             FROM      TO COUNT
 *      server[12] receive wait   998 1.02 ms  998 us          32.0 us 63.9 us 1,000 ##########
 *                                                             64.0 us  127 us    24
 */
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"
#include "show/text/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the times of each row, one per line ---- */

static const enum result_part columns_of_times[] = {PART_COUNT, PART_MEAN, PART_P50,
                                                    PART_P90,   PART_P99,  PART_MAX};

#define TIMES_COLUMNS (2 + ARRAY_SIZE(columns_of_times)) /* row, metric, parts */

static bool is_time(const struct result_column *column)
{
    return column->unit == RESULT_TIMES && (column->flags & RESULT_PEOPLE) == 0;
}

/* Whether the same times stand in the row above: if each answer came in one piece, say. */
static bool repeats(const struct result_column *column, const struct communication *communication,
                    const void *row)
{
    struct result_value values[2];

    if ((column->flags & RESULT_REPEATS) == 0)
        return false;
    for (unsigned i = 0; i < 2; i++)
        result_value(column - i, communication, row, &values[i]);
    return values[0].known && values[1].known &&
           histogram_sum(values[0].object) == histogram_sum(values[1].object);
}

static int add_time(struct table *table, const char *name, const struct result_column *column,
                    const struct communication *communication, const void *row)
{
    const char *cells[TIMES_COLUMNS] = {name};
    char words[HEADING_SIZE], texts[ARRAY_SIZE(columns_of_times)][CELL_SIZE];
    struct result_value value;

    result_words(column, words);
    cells[1] = words;
    for (size_t i = 0; i < ARRAY_SIZE(columns_of_times); i++) {
        struct result_cell cell = {column, columns_of_times[i]};
        result_cell_value(&cell, communication, row, &value);
        if (!value.known)
            return 0;
        result_text(&cell, communication, row, &value, texts[i]);
        cells[2 + i] = texts[i];
    }
    return table_add(table, cells);
}

static int add_times(struct table *table, const struct result_kind *kind, const char *name,
                     const struct communication *communication, const void *row)
{
    int result = 0;

    for (size_t i = 0; i < kind->column_count && result == 0; i++)
        if (is_time(&kind->columns[i]) && !repeats(&kind->columns[i], communication, row))
            result = add_time(table, name, &kind->columns[i], communication, row);
    return result;
}

int print_times_table(const struct result_kind *kind, const struct result_view *view, size_t shown,
                      const char *title, const struct communication *communication, FILE *file,
                      bool all)
{
    const struct table_column columns[] = {
        view->headings[0],
        {"METRIC", false},
        {"COUNT", true, .rank = 1},
        {"MEAN", true, .rank = 2},
        {"P50", true},
        {"P90", true, .rank = 3},
        {"P99", true, .rank = 1},
        {"MAX", true, .rank = 1},
    };
    struct result_line line;
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    table.whole = all;
    for (size_t i = 0; i < shown && result == 0; i++) {
        result_view_line(view, communication, i, &line);
        result = add_times(&table, kind, line.cells[0], communication, view->rows[i]);
    }
    if (result == 0 && !table_is_empty(&table)) {
        print_title(file, title);
        result = table_print(&table, file);
    }
    table_done(&table);
    return result;
}

/* ---- over time ---- */

#define BAR_WIDTH 40

/* Length of the longest bar, after `before` columns of other text. */
static size_t bar_width(FILE *file, size_t before)
{
    size_t room = terminal_width(file);

    return room == 0 || room >= before + BAR_WIDTH ? BAR_WIDTH : room > before ? room - before : 1;
}

static uint64_t most_in_interval(const struct communication *communication)
{
    uint64_t most = 1;

    for (size_t i = 0; i < communication->interval_count; i++)
        if (communication->intervals[i].bytes > most)
            most = communication->intervals[i].bytes;
    return most;
}

#define BAR_TEXT_SIZE (BAR_WIDTH + 1)

static void bar_text(uint64_t amount, uint64_t most, size_t longest, char text[BAR_TEXT_SIZE])
{
    size_t width = (size_t)(show_share(amount, most) * (double)longest + 0.5);

    memset(text, '#', width);
    text[width] = '\0';
}

/* Whether their beginnings, which have three digits, look different: "120 s" of 120.1 s, "2 h 05 min" of 2 h 05 min 10 s. */
static bool differ(uint64_t interval, size_t count)
{
    char before[UNIT_SIZE] = "", text[UNIT_SIZE];

    for (size_t i = 0; i < count; i++) {
        show_duration(i * interval, text);
        if (strcmp(text, before) == 0)
            return false;
        strcpy(before, text);
    }
    return true;
}

/* As --from takes it: "120.1 s", if each interval is 100 ms. */
static void exact_text(uint64_t time, uint64_t interval, char text[UNIT_SIZE])
{
    uint64_t unit = 1000000000;
    int digits = 0;

    for (; interval % unit != 0; unit /= 10)
        digits++;
    snprintf(text, UNIT_SIZE, "%.*f s", digits, (double)time / 1e9);
}

static int add_intervals(struct table *table, const struct result_view *view,
                         const struct communication *communication, FILE *file)
{
    size_t longest = bar_width(file, BAR_WIDTH - 1);
    uint64_t most = most_in_interval(communication);
    bool short_times = differ(communication->interval, view->count);
    struct result_line line;
    char bar[BAR_TEXT_SIZE], time[UNIT_SIZE];
    int result = 0;

    for (size_t i = 0; i < view->count && result == 0; i++) {
        result_view_line(view, communication, i, &line);
        if (!short_times) {
            exact_text(i * communication->interval, communication->interval, time);
            line.cells[0] = time;
        }
        bar_text(communication->intervals[i].bytes, most, longest, bar);
        line.cells[view->columns] = bar;
        result = table_add(table, line.cells);
    }
    return result;
}

int print_interval_table(const struct communication *communication, FILE *file)
{
    const struct result_kind *kind = &result_kinds[RESULTS_INTERVALS];
    char title[2 * UNIT_SIZE], every[UNIT_SIZE];
    struct result_view view;
    struct table table = {0};
    int result = result_view_open(&view, kind, &kind->tables[0], communication, ORDER_BYTES);

    view.headings[view.columns] = (struct table_column){"", false};
    if (result == 0)
        result = table_init(&table, file, view.headings, view.columns + 1);
    if (result == 0)
        result = add_intervals(&table, &view, communication, file);
    if (result == 0) {
        show_duration(communication->interval, every);
        snprintf(title, sizeof(title), "Sent in each %s", every);
        print_title(file, title);
        result = table_print(&table, file);
    }
    table_done(&table);
    result_view_close(&view);
    return result;
}

/* ---- histograms ---- */

static uint64_t most_in_bar(const struct histogram *histogram)
{
    uint64_t most = 1;

    for (unsigned i = 0; i < histogram_bars(histogram); i++)
        if (histogram_bar(histogram, i).count > most)
            most = histogram_bar(histogram, i).count;
    return most;
}

static int add_bars(struct table *table, const struct histogram *histogram, FILE *file,
                    void (*show)(uint64_t, char[UNIT_SIZE]))
{
    size_t longest = bar_width(file, BAR_WIDTH - 1);
    uint64_t most = most_in_bar(histogram);
    char from[UNIT_SIZE], to[UNIT_SIZE], count[UNIT_SIZE], text[BAR_TEXT_SIZE];
    int result = 0;

    for (unsigned i = 0; i < histogram_bars(histogram) && result == 0; i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        show(bar.from, from);
        show(bar.to, to);
        show_count(bar.count, count);
        bar_text(bar.count, most, longest, text);
        result = table_add(table, (const char *[]){from, to, count, text});
    }
    return result;
}

#define MOST_HISTOGRAMS 10

/* Merges the values into at most HISTOGRAM_SOME buckets: fewer bars are easier to read than 160. */
static int print_histogram(const struct histogram *values, FILE *file, const char *title,
                           void (*show)(uint64_t, char[UNIT_SIZE]))
{
    static const struct table_column columns[] = {
        {"FROM", true}, {"TO", true}, {"COUNT", true}, {"", false}};
    struct histogram coarse = {0};
    struct table table = {0};

    if (histogram_bars(values) == 0)
        return 0;
    int result = histogram_merge(&coarse, values, HISTOGRAM_SOME);
    if (result == 0)
        result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    if (result == 0)
        result = add_bars(&table, &coarse, file, show);
    if (result == 0) {
        print_title(file, title);
        result = table_print(&table, file);
    }
    table_done(&table);
    histogram_done(&coarse);
    return result;
}

#define ROW_NAME_SIZE (2 * CELL_SIZE)

/* "server[12]", "client[7] to server[12]". */
static void row_name(const struct result_kind *kind, const struct communication *communication,
                     const void *row, char name[ROW_NAME_SIZE])
{
    struct result_value value;
    char text[CELL_SIZE];
    size_t length = 0;

    for (size_t i = 0; i < kind->column_count; i++) {
        struct result_cell cell = {&kind->columns[i], PART_ALL};
        if ((cell.column->flags & RESULT_NAMES) == 0 || cell.column->unit == RESULT_JSON ||
            cell.column->unit == RESULT_TEXT)
            continue;
        result_value(cell.column, communication, row, &value);
        result_text(&cell, communication, row, &value, text);
        length += (size_t)snprintf(name + length, ROW_NAME_SIZE - length, "%s%s",
                                   length == 0 ? "" : " to ", text);
    }
}

/* Prints all distributions of a row. */
static int print_row_bars(const struct result_kind *kind, const struct communication *communication,
                          const void *row, FILE *file)
{
    char name[ROW_NAME_SIZE], words[HEADING_SIZE], title[ROW_NAME_SIZE + 2 * HEADING_SIZE];
    struct result_value value;
    int result = 0;

    row_name(kind, communication, row, name);
    for (size_t i = 0; i < kind->column_count && result == 0; i++) {
        const struct result_column *column = &kind->columns[i];
        if ((!is_time(column) && column->unit != RESULT_SIZES) ||
            repeats(column, communication, row))
            continue;
        result_value(column, communication, row, &value);
        result_words(column, words);
        snprintf(title, sizeof(title), "%c%s, %s", toupper(words[0]), words + 1, name);
        result = print_histogram(value.object, file, title,
                                 is_time(column) ? show_duration : show_bytes);
    }
    return result;
}

static int print_bars_of(const struct result_kind *kind, const struct communication *communication,
                         FILE *file, const struct show_options *options)
{
    size_t count = 0;
    const void **rows = result_order(kind, communication, options->order, &count);
    int result = rows == NULL ? -ENOMEM : 0;

    for (size_t i = 0; result == 0 && i < count && i < MOST_HISTOGRAMS; i++)
        result = print_row_bars(kind, communication, rows[i], file);
    free(rows);
    return result;
}

int print_histogram_bars(const struct communication *communication, FILE *file,
                         const struct show_options *options)
{
    int result = 0;

    for (size_t i = 0; i < RESULT_KINDS && result == 0; i++)
        if (result_kinds[i].histograms != NULL)
            result = print_bars_of(&result_kinds[i], communication, file, options);
    return result;
}
