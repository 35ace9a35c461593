/* SPDX-License-Identifier: MIT */
/*
 * table_test.c: tables on narrow terminals. Properties of random tables: no line is too wide, each column is there or
 * named as left out, no figure is cut, a detail stays with its column; and examples.
 */
#include "base/base.h"
#include "seeded.h"
#include "show/text/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TABLES  400
#define MOST    12 /* columns of a random table */
#define ROWS    4
#define WORD    24
#define NO_NOTE NULL

static uint64_t seed;

static size_t below(uint64_t limit)
{
    return (size_t)random_below(&seed, limit);
}

/* ---- printing ---- */

/* What table_print prints into a file while COLUMNS is `room`; 0: COLUMNS is not set. The caller frees it. */
static char *printed(struct table *table, unsigned room)
{
    FILE *file = tmpfile();
    char width[16];

    assert_non_null(file);
    snprintf(width, sizeof(width), "%u", room);
    if (room > 0)
        setenv("COLUMNS", width, 1);
    else
        unsetenv("COLUMNS");
    assert_int_equal(table_print(table, file), 0);
    unsetenv("COLUMNS");
    size_t size = (size_t)ftell(file);
    char *text = calloc(1, size + 1);
    rewind(file);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;

    for (; *text != '\0'; text += strcspn(text, "\n") + 1) {
        size_t width = strcspn(text, "\n");
        widest = width > widest ? width : widest;
        if (text[width] == '\0')
            break;
    }
    return widest;
}

/* Cuts off the note on what was left out, and returns it; NO_NOTE: there is none. */
static char *cut_note(char *text)
{
    char *note = strstr(text, "(left out to fit: ");

    if (note != NULL && note > text)
        note[-1] = '\0';
    return note;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        if ((at == text || strchr(" \n", at[-1]) != NULL) && strchr(" \n,;", at[length]) != NULL)
            return true;
    return false;
}

/* ---- random tables ---- */

struct random_table {
    struct table_column columns[MOST];
    size_t count;
    char headings[MOST][WORD];
    char cells[ROWS][MOST][WORD];
};

/* Names first, then figures. Each heading and each cell is a word of its own: h3, c1x3yyyy. */
static void make_table(struct random_table *made)
{
    size_t names = 1 + below(2);

    memset(made, 0, sizeof(*made));
    made->count = names + 1 + below(MOST - names);
    for (size_t i = 0; i < made->count; i++) {
        bool figures = i >= names;
        snprintf(made->headings[i], WORD, "h%zu", i);
        made->columns[i] = (struct table_column){
            .heading = made->headings[i],
            .figures = figures,
            .rank = figures ? (unsigned char)below(5) : 0,
            .detail = i > names && below(3) == 0,
        };
        for (size_t k = 0; k < ROWS; k++) {
            int padding = (int)below(figures ? 6 : 7);
            snprintf(made->cells[k][i], WORD, "c%ux%u%.*s", (unsigned)k % 100, (unsigned)i % 100,
                     padding, "yyyyyyyyyyyy");
        }
    }
}

static void fill(struct table *table, const struct random_table *made)
{
    assert_int_equal(table_init(table, stdout, made->columns, made->count), 0);
    for (size_t k = 0; k < ROWS; k++) {
        const char *cells[MOST];
        for (size_t i = 0; i < made->count; i++)
            cells[i] = made->cells[k][i];
        assert_int_equal(table_add(table, cells), 0);
    }
}

static size_t detailed(const struct random_table *made, size_t column)
{
    while (made->columns[column].detail)
        column--;
    return column;
}

static void expect_column(const struct random_table *made, size_t i, const char *text,
                          const char *note)
{
    bool shown = has_word(text, made->headings[i]);
    size_t of = detailed(made, i);

    for (size_t k = 0; k < ROWS; k++)
        if (has_word(text, made->cells[k][i]) != shown)
            fail_msg("column %s is shown in part:\n%s", made->headings[i], text);
    if (shown && !has_word(text, made->headings[of]))
        fail_msg("%s details %s, which is not there:\n%s", made->headings[i], made->headings[of],
                 text);
    if (!shown && made->columns[i].rank == 0 && made->columns[of].rank == 0)
        fail_msg("%s has no rank, but is left out:\n%s", made->headings[i], text);
    bool named =
        note != NO_NOTE &&
        (has_word(note, made->headings[i]) ||
         (of != i && has_word(note, made->headings[of]) && !has_word(text, made->headings[of])));
    if (!shown && !named)
        fail_msg("%s is neither shown nor named:\n%s\n%s", made->headings[i], text, note);
}

static void every_column_is_shown_or_named(void **state)
{
    struct random_table made;

    (void)state;
    for (unsigned n = 0; n < TABLES; n++) {
        unsigned room = 40 + (unsigned)below(80);
        struct table table;
        make_table(&made);
        fill(&table, &made);
        table.whole = below(4) == 0;
        bool whole = table.whole;
        char *text = printed(&table, room);
        if (widest_line(text) > room)
            fail_msg("wider than %u:\n%s", room, text);
        char *note = cut_note(text);
        if (whole && note != NO_NOTE)
            fail_msg("all columns were asked for: %s", note);
        for (size_t i = 0; i < made.count; i++)
            expect_column(&made, i, text, note);
        free(text);
        table_done(&table);
    }
}

static void a_table_that_fits_is_as_in_a_file(void **state)
{
    struct random_table made;

    (void)state;
    for (unsigned n = 0; n < TABLES; n++) {
        struct table table;
        make_table(&made);
        fill(&table, &made);
        char *unfolded = printed(&table, 0);
        unsigned width = (unsigned)widest_line(unfolded);
        if (cut_note(unfolded) != NO_NOTE)
            fail_msg("a file gets all columns:\n%s", unfolded);
        char *text = printed(&table, width < 40 ? 40 : width);
        assert_string_equal(text, unfolded);
        free(text);
        free(unfolded);
        table_done(&table);
    }
}

/* ---- examples ---- */

static void the_least_useful_go_first(void **state)
{
    static const struct table_column columns[] = {{"PROCESS", false},
                                                  {"CPU TIME", true},
                                                  {"%", true, .rank = 2, .detail = true},
                                                  {"BYTES", true},
                                                  {"ELSEWHERE", true, .rank = 3},
                                                  {"FAILED", true, .rank = 1}};
    struct table table;

    (void)state;
    assert_int_equal(table_init(&table, stdout, columns, ARRAY_SIZE(columns)), 0);
    assert_int_equal(table_add(&table, (const char *[]){"a-server[123456]", "12.5 ms", "100",
                                                        "1.25 MiB", "1234567890123", "7"}),
                     0);
    char *text = printed(&table, 44);
    assert_string_equal(text, "PROCESS              CPU   %    BYTES FAILED\n"
                              "                    TIME\n"
                              "a-server[123456] 12.5 ms 100 1.25 MiB      7\n"
                              "(left out to fit: ELSEWHERE; --all shows\n"
                              "them)\n");
    free(text);
    table_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_is_shown_or_named),
        cmocka_unit_test(a_table_that_fits_is_as_in_a_file),
        cmocka_unit_test(the_least_useful_go_first),
    };

    seed = seed_of_run("table_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
