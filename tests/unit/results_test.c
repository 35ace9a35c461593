/* SPDX-License-Identifier: MIT */
/*
 * results_test.c: the table of results: keys are unique, lists name existing columns, CSV has every figure of JSON, and
 * dpm-stats(1) names every key, every column of CSV and every heading.
 */
#include "show/statistics/results.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_CELLS 64

static void keys_are_unique(void **state)
{
    (void)state;
    for (size_t k = 0; k < RESULT_KINDS; k++) {
        const struct result_kind *kind = &result_kinds[k];
        assert_true(kind->column_count > 0);
        for (size_t i = 0; i < kind->column_count; i++) {
            const char *key = kind->columns[i].key;
            if (result_column(kind, key, strlen(key)) != &kind->columns[i])
                fail_msg("%s: key %s is there twice", kind->list, key);
        }
    }
}

/* Every key of the list must be known, and there must be no more than `most`. */
static size_t expect_cells(const struct result_kind *kind, const char *keys, size_t most,
                           struct result_cell *cells)
{
    size_t count = result_cells(kind, keys, cells, MOST_CELLS);

    assert_true(count <= most);
    for (size_t i = 0; i < count; i++)
        if (cells[i].column == NULL)
            fail_msg("%s: key %zu is none: %s", kind->list, i + 1, keys);
    return count;
}

static void expect_table(const struct result_kind *kind, const struct result_table *table)
{
    struct result_cell cells[MOST_CELLS];
    size_t count = expect_cells(kind, table->keys, MAX_TABLE_COLUMNS, cells);

    for (size_t i = 0; i < count; i++)
        if (cells[i].column->heading == NULL)
            fail_msg("%s: %s has no heading", kind->list, cells[i].column->key);
    expect_cells(kind, table->needs, MAX_TABLE_COLUMNS, cells);
}

#define NAME_WIDTH   16
#define FIGURE_WIDTH 8
#define TERMINAL     80

static size_t longest_word(const char *text)
{
    size_t longest = 0;

    for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " "))
        longest = strcspn(text, " ") > longest ? strcspn(text, " ") : longest;
    return longest;
}

/* Width of the columns that no terminal leaves out, with names of ordinary length. */
static void expect_narrow(const struct result_kind *kind, const struct result_table *table)
{
    struct result_cell cells[MOST_CELLS];
    size_t count = expect_cells(kind, table->keys, MAX_TABLE_COLUMNS, cells), width = 0;

    for (size_t i = 0; i < count; i++) {
        const struct result_column *column = cells[i].column;
        bool part = i > 0 && column == cells[i - 1].column;
        bool name = column->unit >= RESULT_NAME && column->unit <= RESULT_END;
        size_t least = name ? NAME_WIDTH : FIGURE_WIDTH, word = longest_word(column->heading);
        if (!part && column->rank == 0 && column->when == WHEN_ALWAYS)
            width += 1 + (word > least ? word : least);
    }
    if (width > TERMINAL + 1)
        fail_msg("%s: what must stay is %zu columns wide: %s", kind->list, width - 1, table->keys);
}

static void tables_fit_a_terminal(void **state)
{
    (void)state;
    for (size_t k = 0; k < RESULT_KINDS; k++) {
        for (size_t i = 0; i < MOST_RESULT_TABLES; i++)
            if (!result_kinds[k].tables[i].times)
                expect_narrow(&result_kinds[k], &result_kinds[k].tables[i]);
        expect_narrow(&result_kinds[k], &result_kinds[k].report);
    }
}

static void lists_name_columns(void **state)
{
    struct result_cell cells[MOST_CELLS];

    (void)state;
    for (size_t k = 0; k < RESULT_KINDS; k++) {
        const struct result_kind *kind = &result_kinds[k];
        for (size_t i = 0; i < MOST_RESULT_TABLES; i++)
            expect_table(kind, &kind->tables[i]);
        expect_table(kind, &kind->report);
        expect_cells(kind, kind->csv, MOST_CELLS, cells);
        for (size_t i = 0; i <= ORDER_NAME; i++)
            expect_cells(kind, kind->order[i], 2, cells);
    }
}

/* ---- CSV and JSON ---- */

static bool is_figure(const struct result_column *column)
{
    return (column->flags & (RESULT_PEOPLE | RESULT_CSV)) == 0 && column->unit != RESULT_SHARE &&
           (column->unit < RESULT_SIGNED || column->unit == RESULT_RATE ||
            column->unit == RESULT_BYTE_RATE || column->unit == RESULT_MEAN ||
            result_is_distribution(column));
}

static bool csv_has(const struct result_kind *kind, const struct result_column *column)
{
    struct result_cell cells[MOST_CELLS];
    size_t count = result_cells(kind, kind->csv, cells, MOST_CELLS);

    for (size_t i = 0; i < count; i++)
        if (cells[i].column == column)
            return true;
    return false;
}

static void csv_has_every_figure_of_json(void **state)
{
    (void)state;
    for (size_t k = 0; k < RESULT_KINDS; k++) {
        const struct result_kind *kind = &result_kinds[k];
        for (size_t i = 0; kind->csv != NULL && i < kind->column_count; i++)
            if (is_figure(&kind->columns[i]) && !csv_has(kind, &kind->columns[i]))
                fail_msg("%s: CSV lacks %s", kind->list, kind->columns[i].key);
    }
}

/* CSV calls "sent.bytes" sent_bytes, or by its last part alone. */
static bool names_agree(const char *csv, const char *key)
{
    const char *dot = strchr(key, '.');
    size_t length = strlen(key);

    if (dot != NULL && strcmp(csv, dot + 1) == 0)
        return true;
    for (size_t i = 0; i < length; i++)
        if (csv[i] != (key[i] == '.' ? '_' : key[i]))
            return false;
    return csv[length] == '\0';
}

/* Columns of a distribution that CSV calls "size_p99". */
static bool is_part_of(const char *csv, const struct result_column *column)
{
    size_t length = strlen(column->key);

    return result_is_distribution(column) && strncmp(csv, column->key, length) == 0 &&
           csv[length] == '_';
}

static bool is_in_json(const struct result_kind *kind, const char *csv)
{
    for (size_t i = 0; i < kind->column_count; i++)
        if (names_agree(csv, kind->columns[i].key) || is_part_of(csv, &kind->columns[i]))
            return true;
    return false;
}

/* The printed heading of each table. RESULT_CSV marks columns whose CSV name is no key of JSON. */
static void csv_headings_are_keys_of_json(void **state)
{
    static const enum show_table tables[] = {TABLE_PROCESSES, TABLE_PAIRS, TABLE_PATHS,
                                             TABLE_FAILURES, TABLE_PROCEDURES};
    const struct communication nothing = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        const struct show_options options = {.csv = true, .table = tables[i]};
        char *text = NULL, *rest = NULL;
        size_t size = 0, count = 0;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        assert_int_equal(show_statistics(&nothing, file, &options), 0);
        assert_int_equal(fclose(file), 0);
        for (char *name = strtok_r(text, ",\n", &rest); name != NULL;
             name = strtok_r(NULL, ",\n", &rest), count++)
            if (!is_in_json(result_kind_of(tables[i]), name))
                fail_msg("CSV has %s, and JSON has no such key", name);
        assert_true(count >= 6);
        free(text);
    }
}

/* ---- the manual page ---- */

static char *page;

static int read_page(void **state)
{
    FILE *file = fopen(SOURCE_ROOT "/man/dpm-stats.1", "r");
    size_t size = 0;

    (void)state;
    if (file == NULL)
        return -1;
    bool read = getdelim(&page, &size, '\0', file) > 0;
    fclose(file);
    return read ? 0 : -1;
}

static int forget_page(void **state)
{
    (void)state;
    free(page);
    return 0;
}

static bool is_part_of_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* Asserts that the page has this as separate words. */
static void expect_words(const char *words)
{
    size_t length = strlen(words);

    for (const char *at = page; (at = strstr(at, words)) != NULL; at++)
        if ((at == page || !is_part_of_word(at[-1])) && !is_part_of_word(at[length]))
            return;
    fail_msg("dpm-stats(1) does not name: %s", words);
}

static void expect_key(const char *key)
{
    char copy[HEADING_SIZE], *rest = NULL;

    snprintf(copy, sizeof(copy), "%s", key);
    for (char *part = strtok_r(copy, ".", &rest); part != NULL; part = strtok_r(NULL, ".", &rest))
        expect_words(part);
}

static void the_page_names_keys(void **state)
{
    (void)state;
    for (size_t k = 0; k < RESULT_KINDS; k++) {
        const struct result_kind *kind = &result_kinds[k];
        expect_words(kind->list);
        for (size_t i = 0; i < kind->column_count; i++)
            if ((kind->columns[i].flags & (RESULT_PEOPLE | RESULT_CSV)) == 0)
                expect_key(kind->columns[i].key);
            else if (csv_has(kind, &kind->columns[i]))
                expect_key(kind->columns[i].csv != NULL ? kind->columns[i].csv
                                                        : kind->columns[i].key);
    }
}

static void the_page_names_headings(void **state)
{
    (void)state;
    for (size_t k = 0; k < RESULT_KINDS; k++) {
        const struct result_kind *kind = &result_kinds[k];
        struct result_cell cells[MOST_CELLS];
        char words[HEADING_SIZE];
        for (size_t i = 0; i < MOST_RESULT_TABLES; i++) {
            size_t count = result_cells(kind, kind->tables[i].keys, cells, MOST_CELLS);
            for (size_t at = 0; at < count; at++)
                expect_words(cells[at].column->heading);
        }
        for (size_t i = 0; i < kind->column_count; i++)
            if (kind->columns[i].unit == RESULT_TIMES &&
                !(kind->columns[i].flags & RESULT_PEOPLE)) {
                result_words(&kind->columns[i], words);
                expect_words(words);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_unique),
        cmocka_unit_test(lists_name_columns),
        cmocka_unit_test(tables_fit_a_terminal),
        cmocka_unit_test(csv_has_every_figure_of_json),
        cmocka_unit_test(csv_headings_are_keys_of_json),
        cmocka_unit_test_setup_teardown(the_page_names_keys, read_page, forget_page),
        cmocka_unit_test_setup_teardown(the_page_names_headings, read_page, forget_page),
    };

    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
