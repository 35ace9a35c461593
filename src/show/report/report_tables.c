/* SPDX-License-Identifier: MIT */
/*
 * report_tables.c: the first rows of each analysis's tables, and the command that shows the whole table. See
 * report_face.h.
 *
 *      processes             dpm stats
 *      pairs                 dpm stats --by pair
 *      connections           dpm stats --by path
 *      parallelism           dpm parallelism
 *      critical path         dpm path
 *      request paths         dpm causality
 *      machine, cgroups      dpm stats --by load, --by cgroup
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/causality/causality_face.h"
#include "show/elapsed/elapsed_face.h"
#include "show/parallelism/critical_path_face.h"
#include "show/parallelism/parallelism_face.h"
#include "show/report/report_face.h"
#include "show/statistics/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- making tables ---- */

static struct report_table *begin_table(struct report_content *content, enum report_part part,
                                        const char *title, const char *command,
                                        const struct table_column *columns, size_t column_count)
{
    struct report_table *table = &content->tables[content->table_count++];

    *table = (struct report_table){.part = part,
                                   .title = title,
                                   .command = command,
                                   .columns = columns,
                                   .column_count = column_count};
    return table;
}

/* A copy; NULL if the text is NULL or memory ran out. */
static const char *keep_text(struct report_content *content, const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text) + 1;
    char *copy = size == 0 ? NULL : arena_allocate(&content->memory, size);

    if (copy != NULL)
        memcpy(copy, text, size);
    else if (text != NULL)
        content->failed = true;
    return copy;
}

static void add_row(struct report_content *content, struct report_table *table,
                    const char *const *cells)
{
    const char **kept = arena_allocate(&content->memory, table->column_count * sizeof(*kept));

    if (kept == NULL || array_reserve(&table->rows, &table->row_capacity, table->row_count + 1,
                                      sizeof(*table->rows)) < 0) {
        content->failed = true;
        return;
    }
    for (size_t i = 0; i < table->column_count; i++)
        kept[i] = keep_text(content, cells[i]);
    table->rows[table->row_count++].cells = kept;
}

static size_t first_rows(const struct report_content *content, struct report_table *table,
                         size_t count)
{
    size_t shown = count < content->most ? count : content->most;

    table->left_out = count - shown;
    return shown;
}

static void quantile_text(const struct histogram *times, double share, char text[UNIT_SIZE])
{
    if (histogram_bars(times) == 0)
        strcpy(text, "-");
    else
        show_duration(histogram_quantile(times, share), text);
}

/* ---- communication: tables that results.c describes ---- */

static int fill_results(const struct communication *communication, struct report_content *content,
                        const struct result_table *from, const struct result_view *view)
{
    size_t size = view->columns * sizeof(*view->headings);
    struct table_column *columns = arena_allocate(&content->memory, size);
    struct result_line line;

    if (columns == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < view->columns; i++) {
        columns[i] = view->headings[i];
        columns[i].heading = keep_text(content, columns[i].heading);
    }
    struct report_table *table =
        begin_table(content, REPORT_COMMUNICATION, from->title, from->more, columns, view->columns);
    size_t shown = first_rows(content, table, view->count);
    for (size_t i = 0; i < shown; i++) {
        result_view_line(view, communication, i, &line);
        add_row(content, table, line.cells);
    }
    return 0;
}

static int add_results(const struct communication *communication, enum result_kind_id id,
                       struct report_content *content)
{
    const struct result_kind *kind = &result_kinds[id];
    struct result_view view;
    int result = result_view_open(&view, kind, &kind->report, communication, kind->report.order);
    bool empty = view.count == 0 && kind->report.needs != NULL;

    if (result == 0 && !empty)
        result = fill_results(communication, content, &kind->report, &view);
    result_view_close(&view);
    return result;
}

/* ---- parallelism and the critical path ---- */

bool report_tells_row(const struct parallelism *parallelism, size_t row)
{
    const struct parallelism_row *is = &parallelism->rows[row];

    if (is->step == STEP_SHARING || row == 0)
        return true;
    return is->longest != parallelism->rows[0].longest;
}

static void add_parallelism(const struct parallelism_runs *runs, struct report_content *content)
{
    static const struct table_column with_threads[] = {
        {"ASSIGNMENT", false},    {"STEP", false}, {"P", true},
        {"P OF PROCESSES", true}, {"T_MAX", true},
    };
    static const struct table_column columns[] = {
        {"ASSIGNMENT", false}, {"STEP", false}, {"P", true}, {NULL, true}, {"T_MAX", true},
    };
    bool threads = runs->at[0].processes != NULL;
    const struct parallelism *of = runs->at[0].threads;
    struct report_table *table =
        begin_table(content, REPORT_PARALLELISM, "Parallelism", "dpm parallelism",
                    threads ? with_threads : columns, ARRAY_SIZE(columns));
    char cells[3][UNIT_SIZE];

    for (size_t i = 0; i < of->row_count; i++) {
        if (!report_tells_row(of, i))
            continue;
        snprintf(cells[0], UNIT_SIZE, "%.2f", parallelism_spread(runs, i, false).median);
        snprintf(cells[1], UNIT_SIZE, "%.2f", parallelism_spread(runs, i, true).median);
        show_duration(of->rows[i].longest, cells[2]);
        add_row(content, table,
                (const char *[]){runs->options->assignments[of->rows[i].assignment].name,
                                 parallelism_step_name(of->rows[i].step), cells[0], cells[1],
                                 cells[2]});
    }
}

static int add_path(const struct critical_path *path, struct report_content *content)
{
    struct report_table *table =
        begin_table(content, REPORT_PATH, "Critical path", "dpm path --all",
                    critical_process_columns, CRITICAL_PROCESS_COLUMNS);
    uint32_t *order = critical_order_processes(path);
    size_t shown = first_rows(content, table, path->parallelism->process_count);
    struct critical_row row;

    if (order == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < shown; i++) {
        critical_process_row(path, order[i], &row);
        add_row(content, table, row.cells);
    }
    free(order);
    return 0;
}

static void add_procedures(const struct critical_path *path, struct report_content *content)
{
    struct critical_row row;

    if (path->procedure_count == 0)
        return;
    struct report_table *table =
        begin_table(content, REPORT_PATH, "Procedures on the critical path", "dpm path --all",
                    critical_procedure_columns, CRITICAL_PROCEDURE_COLUMNS);
    size_t shown = first_rows(content, table, path->procedure_count);
    for (size_t i = 0; i < shown; i++) {
        critical_procedure_row(path, &path->procedures[i], &row);
        add_row(content, table, row.cells);
    }
}

struct request_rows {
    struct report_content *content;
    struct report_table *table;
};

static int add_request_row(void *context, const char *const *cells)
{
    struct request_rows *rows = context;

    add_row(rows->content, rows->table, cells);
    return 0;
}

static int add_path_of_requests(const struct elapsed *elapsed, struct report_content *content)
{
    struct request_rows rows = {
        content,
        begin_table(content, REPORT_PATH, "Critical path of all requests, their times added up",
                    "dpm path --all", elapsed_path_columns, ELAPSED_PATH_COLUMNS)};

    return elapsed_path_rows(&elapsed->requests, content->most, add_request_row, &rows,
                             &rows.table->left_out);
}

static int add_paths(const struct report *report, struct report_content *content)
{
    if (report->elapsed != NULL && elapsed_is_of_requests(report->elapsed))
        return add_path_of_requests(report->elapsed, content);
    int result = add_path(report->path, content);
    if (result == 0)
        add_procedures(report->path, content);
    return result;
}

/* ---- requests ---- */

/* Whether some have no latency, as they were not answered. */
static bool lack_latencies(const struct causality_path *const *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (histogram_count(&rows[i]->latency) < rows[i]->count)
            return true;
    return false;
}

static int add_requests(const struct causality *causality, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"STRING", false},  {"COUNT", true},          {"%", true, .rank = 2, .detail = true},
        {"P50", true},      {"P99", true, .rank = 1}, {"MAX", true, .rank = 1},
        {"LETTERS", false}, {"WITH LATENCY", true},
    };
    size_t count = 0;
    const struct causality_path **rows = causality_answered(causality, &count);
    char cells[6][UNIT_SIZE], letters[REPORT_LETTERS_SIZE], string[SIGNATURE_SIZE];
    uint64_t all = 0;

    if (rows == NULL || count == 0) {
        free(rows);
        return rows == NULL ? -ENOMEM : 0;
    }
    size_t shown_columns = ARRAY_SIZE(columns) - (lack_latencies(rows, count) ? 0 : 1);
    struct report_table *table = begin_table(content, REPORT_REQUESTS, "Paths of requests",
                                             "dpm causality --all", columns, shown_columns);
    size_t shown = first_rows(content, table, count);
    for (size_t i = 0; i < count; i++)
        all += rows[i]->count;
    for (size_t i = 0; i < shown; i++) {
        report_letters(causality, rows[i]->string, letters, sizeof(letters));
        signature_fold(rows[i]->string, string, sizeof(string));
        show_count(rows[i]->count, cells[0]);
        show_percent(rows[i]->count, all, cells[1]);
        quantile_text(&rows[i]->latency, 0.5, cells[2]);
        quantile_text(&rows[i]->latency, 0.99, cells[3]);
        quantile_text(&rows[i]->latency, 1, cells[4]);
        show_count(histogram_count(&rows[i]->latency), cells[5]);
        add_row(content, table,
                (const char *[]){string, cells[0], cells[1], cells[2], cells[3], cells[4], letters,
                                 cells[5]});
    }
    free(rows);
    return 0;
}

int report_tabulate_heaviest(const struct report *report, struct report_content *content)
{
    int result = add_results(report->communication, RESULTS_PROCESSES, content);

    if (result == 0)
        result = add_results(report->communication, RESULTS_PAIRS, content);
    return result < 0 || content->failed ? -ENOMEM : 0;
}

int report_tabulate(const struct report *report, struct report_content *content)
{
    int result = 0;

    for (unsigned id = 0; id < RESULT_KINDS && result == 0; id++)
        if (result_kinds[id].report.keys != NULL)
            result = add_results(report->communication, (enum result_kind_id)id, content);
    if (result == 0 && report->parallelism != NULL)
        add_parallelism(report->parallelism, content);
    if (result == 0 && report->path != NULL)
        result = add_paths(report, content);
    if (result == 0 && report->causality != NULL)
        result = add_requests(report->causality, content);
    return result < 0 || content->failed ? -ENOMEM : 0;
}
