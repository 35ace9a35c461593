/* SPDX-License-Identifier: MIT */
/* remote_words_test.c: command lines are split as a shell splits them: random ones, and the shell says what is right. */
#include "remote/remote.h"
#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LENGTH_MOST 24
#define CASES       300

/* A text of the characters that matter; it does not end with a backslash, which would take the end of our own command. */
static void make_text(uint64_t *state, char text[LENGTH_MOST + 1])
{
    static const char characters[] = "aab  \t''\"\"\\\\";
    size_t length = random_below(state, LENGTH_MOST);

    for (size_t i = 0; i < length; i++)
        text[i] = characters[random_below(state, sizeof(characters) - 1)];
    while (length > 0 && text[length - 1] == '\\')
        length--;
    text[length] = '\0';
}

/* "word|word|", as the shell has it. */
static void ask_shell(const char *text, char *words, size_t size)
{
    char script[] = "/tmp/remote_words_XXXXXX", command[64];
    int descriptor = mkstemp(script);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    size_t got = 0;

    assert_non_null(file);
    snprintf(command, sizeof(command), "sh %s", script);
    fprintf(file, "set -f -- %s\nfor word; do printf '%%s|' \"$word\"; done\n", text);
    assert_int_equal(0, fclose(file));
    file = popen(command, "r");
    assert_non_null(file);
    got = fread(words, 1, size - 1, file);
    assert_int_equal(0, pclose(file));
    words[got] = '\0';
    remove(script);
}

static void test_shell(void **unused)
{
    uint64_t state = seed_of_run("remote_words_test");
    char text[LENGTH_MOST + 1], expected[256], found[256];
    unsigned compared = 0;

    (void)unused;
    for (unsigned i = 0; i < CASES; i++) {
        char **words = NULL;
        make_text(&state, text);
        int count = remote_words(text, &words);
        if (count == -EINVAL)
            continue; /* a quote is open: the shell would wait for more */
        assert_true(count >= 0);
        found[0] = '\0';
        for (int j = 0; j < count; j++)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s|", words[j]);
        assert_null(words[count]);
        free(words);
        ask_shell(text, expected, sizeof(expected));
        assert_string_equal(found, expected);
        compared++;
    }
    assert_true(compared > CASES / 10);
}

static void test_open_quotes(void **unused)
{
    static const char *const open[] = {"'", "a \"b", "a'b c", "\"a\\\""};
    char **words;

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        assert_int_equal(-EINVAL, remote_words(open[i], &words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shell),
        cmocka_unit_test(test_open_quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
