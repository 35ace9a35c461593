/* SPDX-License-Identifier: MIT */
/*
 * statistics_table.c: the communication statistics as text tables. results.c defines the tables and their columns. See
 * show.h.
 */
#include "show/show.h"
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"

#include <errno.h>
#include <stdlib.h>

/* ---- a table of rows ---- */

static int add_lines(struct table *table, const struct result_view *view,
                     const struct communication *communication, size_t shown)
{
    struct result_line line;
    int result = 0;

    for (size_t i = 0; i < shown && result == 0; i++) {
        result_view_line(view, communication, i, &line);
        result = table_add(table, line.cells);
    }
    if (result < 0 || shown == view->count)
        return result;
    result_view_others(view, communication, shown, &line);
    return table_add(table, line.cells);
}

static int print_view(const struct result_view *view, const char *title, size_t shown,
                      const struct communication *communication, FILE *file, bool all)
{
    struct table table;
    int result = table_init(&table, file, view->headings, view->columns);

    table.leading = view->leading;
    table.whole = all;
    if (result == 0)
        result = add_lines(&table, view, communication, shown);
    if (result == 0) {
        print_title(file, title);
        result = table_print(&table, file);
    }
    table_done(&table);
    return result;
}

static int print_result_table(const struct result_kind *kind, const struct result_table *shown,
                              const struct communication *communication, FILE *file,
                              const struct show_options *options)
{
    size_t most = options->all ? SIZE_MAX : shown->most == 0 ? LARGEST : shown->most;
    const char *title = result_title(communication, shown);
    struct result_view view;
    int result = result_view_open(&view, kind, shown, communication, options->order);
    size_t rows = view.count < most ? view.count : most;

    if (result == 0 && shown->times)
        result = print_times_table(kind, &view, rows, title, communication, file, options->all);
    else if (result == 0 && (view.count > 0 || shown->needs == NULL))
        result = print_view(&view, title, rows, communication, file, options->all);
    result_view_close(&view);
    return result;
}

/* Whether to print a table. Rates are printed for the table that --by selects. */
static bool is_asked_for(const struct result_kind *kind, const struct result_table *table,
                         const struct show_options *options)
{
    bool main = kind->table == TABLE_PROCESSES, alone = options->table == kind->table;

    if (table->keys == NULL || kind->table == TABLE_ALL)
        return false;
    /* names of procedures come at the end of a recording */
    if (kind->table == TABLE_PROCEDURES && options->live)
        return false;
    if (table->rates)
        return options->rates && (alone || (main && options->table == TABLE_ALL));
    return alone || options->table == TABLE_ALL;
}

static int print_kind(const struct result_kind *kind, const struct communication *communication,
                      FILE *file, const struct show_options *options)
{
    int result = 0;

    for (size_t i = 0; i < MOST_RESULT_TABLES && result == 0 && !ferror(file); i++)
        if (is_asked_for(kind, &kind->tables[i], options))
            result = print_result_table(kind, &kind->tables[i], communication, file, options);
    return result;
}

/* ---- everything together ---- */

int print_statistics_tables(const struct communication *communication, FILE *file,
                            const struct show_options *options)
{
    int result = 0;

    for (size_t i = 0; i < RESULT_KINDS && result == 0 && !ferror(file); i++)
        result = print_kind(&result_kinds[i], communication, file, options);
    if (result == 0 && !ferror(file) && communication->interval != 0)
        result = print_interval_table(communication, file);
    if (result == 0 && !ferror(file) && options->histogram)
        result = print_histogram_bars(communication, file, options);
    return result;
}

int show_statistics_tables(const struct communication *communication, FILE *file,
                           const struct show_options *options)
{
    print_statistics_heading(communication, file, options);
    int result = print_statistics_tables(communication, file, options);
    if (result == 0 && !ferror(file))
        print_statistics_grounds(communication, file);
    return result;
}

int show_last_interval(const struct communication *since, FILE *file)
{
    const struct show_options options = {.live = true, .table = TABLE_PROCESSES};
    char duration[UNIT_SIZE], sent[COUNTED_SIZE], bytes[UNIT_SIZE], title[3 * UNIT_SIZE];
    char waiting[COUNTED_SIZE];

    show_duration(since->duration, duration);
    show_counted(since->sent.messages, "message", sent);
    show_bytes(since->sent.bytes, bytes);
    snprintf(title, sizeof(title), "In the last %s", duration);
    print_title(file, title);
    show_counted(since->not_known_yet, "event", waiting);
    fprintf(file, "%s sent, %s", sent, bytes);
    if (since->not_known_yet > 0)
        fprintf(file, "; %s not known yet", waiting);
    fputs(".\n", file);
    return print_statistics_tables(since, file, &options);
}

int show_statistics(const struct communication *communication, FILE *file,
                    const struct show_options *options)
{
    return options->json  ? show_statistics_json(communication, file, options)
           : options->csv ? show_statistics_csv(communication, file, options)
                          : show_statistics_tables(communication, file, options);
}
