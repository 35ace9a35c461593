/* SPDX-License-Identifier: MIT */
/* statistics_order.c: sorts the rows of the statistics. See results.h. */
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"

#include <stdlib.h>
#include <string.h>

/* Sort key: larger amounts first, then by name, then in the order of the result. */
struct sort_key {
    const void *row;
    uint64_t amount;
    const char *name;
    size_t size; /* of `name` at most */
};

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left;
    const struct sort_key *b = right;

    if (a->amount != b->amount)
        return a->amount > b->amount ? -1 : 1;
    int names = strncmp(a->name, b->name, a->size < b->size ? a->size : b->size);
    return names != 0 ? names : ((a->row > b->row) - (a->row < b->row));
}

/* Frees the keys (NULL: out of memory). */
static const void **sorted(struct sort_key *keys, size_t count)
{
    const void **rows = keys == NULL ? NULL : calloc(count + 1, sizeof(*rows));

    if (rows != NULL) {
        qsort(keys, count, sizeof(*keys), compare_keys);
        for (size_t i = 0; i < count; i++)
            rows[i] = keys[i].row;
    }
    free(keys);
    return rows;
}

/* ---- by columns ---- */

#define MOST_SORT_CELLS 2

struct sorting {
    struct result_cell cells[MOST_SORT_CELLS];
    size_t count;
    bool by_name;
    bool first; /* sort by the first known cell, not by the sum of all */
};

/* Sorts a party by its first process, or by its address. */
static void name_key(const struct communication *all, const struct result_cell *cell,
                     const void *row, struct sort_key *key)
{
    static const struct result_kind *const kind = &result_kinds[RESULTS_PROCESSES];
    struct result_value value;

    result_cell_value(cell, all, row, &value);
    const struct party *party = cell->column->unit == RESULT_PARTY ? value.object : NULL;
    if (party != NULL && party->count > 0) {
        struct result_cell name;
        result_cells(kind, kind->order[ORDER_NAME], &name, 1);
        result_cell_value(&name, all, &all->processes[party->processes[0]], &value);
    } else if (party != NULL) {
        value.text = party->address == NULL ? "" : party->address;
        value.size = SIZE_MAX;
    }
    key->name = value.text;
    key->size = value.size;
}

static uint64_t amount_of(const struct sorting *sorting, const struct communication *all,
                          const void *row)
{
    struct result_value value;
    uint64_t amount = 0;

    for (size_t i = 0; i < sorting->count; i++) {
        result_cell_value(&sorting->cells[i], all, row, &value);
        amount += value.amount;
        if (sorting->first && value.known)
            break;
    }
    return amount;
}

static bool is_aside(const struct result_kind *kind, const void *row)
{
    return kind == &result_kinds[RESULTS_PROCESSES] &&
           ((const struct communication_process *)row)->aside;
}

const void **result_order(const struct result_kind *kind, const struct communication *all,
                          enum show_order order, size_t *ret_count)
{
    size_t count = result_rows(kind, all), kept = 0;
    struct sort_key *keys = calloc(count + 1, sizeof(*keys));
    struct sorting sorting = {.by_name = order == ORDER_NAME, .first = order == ORDER_RESPONSE};

    sorting.count = result_cells(kind, kind->order[order], sorting.cells, MOST_SORT_CELLS);
    for (size_t i = 0; keys != NULL && i < count; i++) {
        const void *row = result_row(kind, all, i);
        if (is_aside(kind, row))
            continue;
        struct sort_key *key = &keys[kept++];
        *key = (struct sort_key){row, 0, "", 1};
        if (!sorting.by_name)
            key->amount = amount_of(&sorting, all, row);
        else if (sorting.count > 0)
            name_key(all, &sorting.cells[0], row, key);
    }
    *ret_count = kept;
    return sorted(keys, kept);
}
