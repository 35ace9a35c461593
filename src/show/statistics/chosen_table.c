/* SPDX-License-Identifier: MIT */
/*
 * chosen_table.c: tables of those rows that have something to show in them. See statistics_face.h.
 *
 *      rows, in their order --> has() --> the first LARGEST of them --> add() --> title, heading, lines
 */
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/table.h"

#include <errno.h>
#include <stdlib.h>

int print_chosen_table(const struct chosen_table *chosen, const struct communication *communication,
                       const void **rows, size_t count, FILE *file,
                       const struct show_options *options)
{
    size_t shown = 0;
    struct table table;
    int result = table_init(&table, file, chosen->columns, chosen->column_count);

    if (rows == NULL)
        result = -ENOMEM;
    for (size_t i = 0; result == 0 && i < count && (shown < LARGEST || options->all); i++) {
        if (!chosen->has(rows[i]))
            continue;
        shown++;
        result = chosen->add(&table, communication, rows[i]);
    }
    if (result == 0 && shown > 0) {
        print_title(file, chosen->title);
        result = table_print(&table, file);
    }
    table_done(&table);
    free(rows);
    return result;
}
