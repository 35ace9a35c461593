/* SPDX-License-Identifier: MIT */
/*
 * result_view.c: rows and columns of a text table. See results.h.
 *
 *      rows, in order --> those that the table needs --> the first ones, a line each
 *                                                    '-> the others, one line of sums
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/statistics/results.h"

#include "show/statistics/statistics_face.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What rows of processes and groups are called. */
static const struct {
    const char *title;
    const char *heading;
} words[] = {
    [BY_PROCESS] = {"Processes", "PROCESS"},      [BY_USER] = {"Users", "USER"},
    [BY_CONTAINER] = {"Containers", "CONTAINER"}, [BY_PROGRAM] = {"Programs", "PROGRAM"},
    [BY_MACHINE] = {"Machines", "MACHINE"},       [BY_NAMESPACE] = {"PID namespaces", "NAMESPACE"},
};

const char *result_title(const struct communication *all, const struct result_table *table)
{
    return table->title == NULL ? words[all->by].title : table->title;
}

/* ---- rows ---- */

static bool has_some(const struct result_cell *cells, size_t count, const struct communication *all,
                     const void *row)
{
    struct result_value value;

    for (size_t i = 0; i < count; i++) {
        result_cell_value(&cells[i], all, row, &value);
        if (value.known && value.amount > 0)
            return true;
    }
    return false;
}

static void keep_needed(struct result_view *view, const struct result_kind *kind, const char *needs,
                        const struct communication *all)
{
    struct result_cell cells[MAX_TABLE_COLUMNS];
    size_t count = result_cells(kind, needs, cells, ARRAY_SIZE(cells));
    size_t kept = 0;

    if (needs == NULL)
        return;
    for (size_t i = 0; i < view->count; i++)
        if (has_some(cells, count, all, view->rows[i]))
            view->rows[kept++] = view->rows[i];
    view->count = kept;
}

/* ---- columns ---- */

/* Whether two rows have different values, so that the column adds information. */
static bool differs(const struct result_view *view, const struct result_cell *cell,
                    const struct communication *all)
{
    char first[CELL_SIZE] = "", text[CELL_SIZE];
    struct result_value value;

    for (size_t i = 0; i < view->count; i++) {
        result_cell_value(cell, all, view->rows[i], &value);
        if (!value.known)
            continue;
        result_text(cell, all, view->rows[i], &value, text);
        if (first[0] == '\0')
            strcpy(first, text);
        else if (strcmp(first, text) != 0)
            return true;
    }
    return false;
}

/* Whether a row has at least this value. */
static bool has_at_least(const struct result_view *view, const struct result_cell *cell,
                         const struct communication *all, uint64_t least)
{
    struct result_value value;

    for (size_t i = 0; i < view->count; i++) {
        result_cell_value(cell, all, view->rows[i], &value);
        if (value.known && value.amount >= least)
            return true;
    }
    return false;
}

static bool is_shown(const struct result_view *view, const struct result_cell *cell,
                     const struct communication *all)
{
    bool groups = all->by != BY_PROCESS;

    if ((cell->column->flags & RESULT_PROCESSES) != 0 && groups)
        return false;
    if ((cell->column->flags & RESULT_GROUPS) != 0 && groups)
        return true;
    switch (cell->column->when) {
    case WHEN_KNOWN:
        return has_at_least(view, cell, all, 0);
    case WHEN_SOME:
        return has_at_least(view, cell, all, 1);
    case WHEN_SEVERAL:
        return has_at_least(view, cell, all, 2);
    case WHEN_DIFFERENT:
        return differs(view, cell, all);
    case WHEN_MACHINES:
        return all->machine_count > 1 && all->by != BY_MACHINE;
    default:
        return true;
    }
}

static bool is_name(enum result_unit unit)
{
    return unit == RESULT_NAME || unit == RESULT_TEXT || unit == RESULT_FILE ||
           unit == RESULT_PROCESS || unit == RESULT_PARTY || unit == RESULT_END;
}

static void choose_columns(struct result_view *view, const struct communication *all)
{
    size_t shown = 0;

    for (size_t i = 0; i < view->columns; i++) {
        const struct result_cell *cell = &view->cells[i];
        if (!is_shown(view, cell, all))
            continue;
        result_heading(cell, i == 0 ? NULL : cell - 1, view->texts[i]);
        bool part = i > 0 && cell->column == cell[-1].column;
        view->headings[i] = (struct table_column){view->texts[i], !is_name(cell->column->unit),
                                                  part ? result_rank(cell) : cell->column->rank,
                                                  part || cell->column->detail};
        shown++;
        if (cell->column->unit == RESULT_NUMBER) /* e.g. a pid, which is part of the name */
            view->leading = shown;
    }
    if (strcmp(view->texts[0], words[BY_PROCESS].heading) == 0) /* rename for groups */
        strcpy(view->texts[0], words[all->by].heading);
}

int result_view_open(struct result_view *view, const struct result_kind *kind,
                     const struct result_table *table, const struct communication *all,
                     enum show_order order)
{
    memset(view, 0, sizeof(*view));
    view->count = result_rows(kind, all);
    view->rows = table->by_wait ? (const void **)pairs_by_wait(all)
                                : result_order(kind, all, order, &view->count);
    if (view->rows == NULL)
        return -ENOMEM;
    keep_needed(view, kind, table->needs, all);
    view->columns = result_cells(kind, table->keys, view->cells, ARRAY_SIZE(view->cells));
    choose_columns(view, all);
    return 0;
}

void result_view_close(struct result_view *view)
{
    free(view->rows);
    view->rows = NULL;
}

/* ---- lines ---- */

void result_view_line(const struct result_view *view, const struct communication *all, size_t index,
                      struct result_line *line)
{
    const void *row = view->rows[index];
    struct result_value value;

    for (size_t i = 0; i < view->columns; i++) {
        line->cells[i] = line->texts[i];
        if (view->headings[i].heading == NULL)
            continue;
        result_cell_value(&view->cells[i], all, row, &value);
        result_text(&view->cells[i], all, row, &value, line->texts[i]);
    }
}

/* Of a distribution's parts, only sum, count and maximum can be combined. */
static enum result_sum sum_of(const struct result_cell *cell)
{
    if (cell->part == PART_ALL)
        return cell->column->sum;
    if (cell->part == PART_SUM || cell->part == PART_COUNT)
        return SUM_ADD;
    return cell->part == PART_MAX ? SUM_MAX : SUM_NONE;
}

/* Over the lives of rows. */
static bool is_rate(enum result_unit unit)
{
    return unit == RESULT_RATE || unit == RESULT_BYTE_RATE || unit == RESULT_MEAN;
}

static void sum_text(const struct result_view *view, const struct communication *all, size_t first,
                     const struct result_cell *cell, char text[CELL_SIZE])
{
    struct result_value sum = {.known = false}, value;
    enum result_sum how = sum_of(cell);

    text[0] = '\0';
    if (how == SUM_NONE)
        return;
    for (size_t i = first; i < view->count; i++) {
        result_cell_value(cell, all, view->rows[i], &value);
        sum.whole = value.whole > sum.whole ? value.whole : sum.whole;
        if (!value.known)
            continue;
        sum.known = true;
        if (how == SUM_ADD)
            sum.amount += value.amount;
        else if (value.amount > sum.amount)
            sum.amount = value.amount;
    }
    /* 1,000 processes, one after the other, did this in a minute, not in the second that the longest of them lived */
    if (how == SUM_ADD && is_rate(cell->column->unit) && view->count - first > 1)
        sum.whole = all->duration;
    result_text(cell, all, NULL, &sum, text);
}

void result_view_others(const struct result_view *view, const struct communication *all,
                        size_t first, struct result_line *line)
{
    for (size_t i = 0; i < view->columns; i++) {
        line->cells[i] = line->texts[i];
        if (view->headings[i].heading != NULL)
            sum_text(view, all, first, &view->cells[i], line->texts[i]);
    }
    others_text(view->count - first, line->texts[0]);
}
