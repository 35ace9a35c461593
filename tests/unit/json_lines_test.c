/* SPDX-License-Identifier: MIT */
/*
 * json_lines_test.c: lines for a reader that takes them when it likes come whole and in order; what was dropped is what found
 * four MiB waiting, and the next line says how many.
 */
#include "command/shared/json_lines.h"

#include "show/live/live_face.h"

#include "seeded.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define QUEUE (4u << 20) /* bytes that may wait */

static char folder[] = "/tmp/json_lines_test.XXXXXX", path[64], said[200];

/* Doubles of what writes for people, and of the snapshot's line. */

void command_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
}

int show_live_json(const struct live_snapshot *snapshot, uint64_t dropped, bool in_line, FILE *out)
{
    (void)snapshot;
    (void)in_line;
    fprintf(out, "dropped %" PRIu64 "\n", dropped);
    return 0;
}

/* A pipe with a name; its reading end is `ret_reader`. */
static void open_lines(struct json_lines *lines, int *ret_reader)
{
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(0, mkfifo(path, 0600));
    *ret_reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(*ret_reader >= 0);
    assert_int_equal(0, json_lines_open(lines, path, NULL));
    said[0] = '\0';
}

static void remove_pipe(void)
{
    unlink(path);
    rmdir(folder);
    strcpy(strrchr(folder, '.') + 1, "XXXXXX");
}

/* What the reader has got so far. */
struct taken {
    char *bytes;
    size_t size, room;
};

static void take(struct taken *taken, int reader, size_t most)
{
    ssize_t got;

    if (taken->room < taken->size + most) {
        taken->room = 2 * (taken->size + most);
        taken->bytes = realloc(taken->bytes, taken->room);
        assert_non_null(taken->bytes);
    }
    while (most > 0 && (got = read(reader, taken->bytes + taken->size, most)) > 0) {
        taken->size += (size_t)got;
        most -= (size_t)got;
    }
}

static void take_all(struct taken *taken, struct json_lines *lines, int reader)
{
    while (!json_lines_taken(lines)) {
        take(taken, reader, 100000);
        json_lines_flush(lines);
    }
    take(taken, reader, 100000);
}

/* "17 ......\n": a line of so many bytes that begins with its number. */
static size_t write_line(char *line, uint64_t number, size_t size)
{
    int begin = sprintf(line, "%" PRIu64 " ", number);

    memset(line + begin, '.', size);
    line[(size_t)begin + size] = '\n';
    return (size_t)begin + size + 1;
}

/* All lines are whole, and rise by one but where some were dropped. Returns how many there are. */
static uint64_t check_lines(const struct taken *taken)
{
    uint64_t count = 0, next = 0;

    for (const char *at = taken->bytes, *end = at + taken->size; at < end; count++) {
        char *rest;
        uint64_t number = strtoull(at, &rest, 10);
        assert_true(number >= next);
        next = number + 1;
        size_t size = strspn(rest + 1, ".");
        assert_int_equal('\n', rest[1 + size]);
        at = rest + size + 2;
    }
    return count;
}

static void whole_and_in_order(void **context)
{
    uint64_t state = seed_of_run("lines for a slow reader"), number = 0;
    char *line = malloc(QUEUE / 4 + 32);
    struct taken taken = {0};
    struct json_lines lines;
    int reader;

    (void)context;
    open_lines(&lines, &reader);
    while (number < rounds_of_run(500) || lines.dropped == 0) {
        size_t size = write_line(line, number++, (size_t)random_below(&state, QUEUE / 8));
        uint64_t dropped = lines.dropped;
        assert_int_equal(0, json_lines_put(&lines, line, size));
        if (lines.dropped > dropped) /* only what did not fit */
            assert_true(lines.end - lines.begin + size > QUEUE);
        assert_true(lines.end - lines.begin <= QUEUE);
        if (random_below(&state, 3) == 0)
            take(&taken, reader, (size_t)random_below(&state, 100000));
    }
    take_all(&taken, &lines, reader);
    assert_int_equal(number, check_lines(&taken) + lines.dropped);
    assert_int_equal(0, json_lines_close(&lines, 0, NULL));
    assert_non_null(strstr(said, "dropped: the reader was too slow"));
    close(reader);
    remove_pipe();
    free(taken.bytes);
    free(line);
}

static void the_next_line_says_how_many(void **context)
{
    static char line[QUEUE / 2];
    struct taken taken = {0};
    struct json_lines lines;
    int reader;

    (void)context;
    open_lines(&lines, &reader);
    memset(line, '.', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 5;
         i++) /* two wait, and what the pipe has taken of them may let in no third */
        assert_int_equal(0, json_lines_put(&lines, line, sizeof(line)));
    assert_int_equal(3, lines.dropped);
    assert_int_equal(0, json_lines_add(&lines, NULL));
    take_all(&taken, &lines, reader);
    assert_memory_equal("dropped 3\n", taken.bytes + taken.size - 10, 10);
    assert_int_equal(0, json_lines_close(&lines, 0, NULL));
    close(reader);
    remove_pipe();
    free(taken.bytes);
}

/* No signal, no error: the recording goes on. */
static void a_reader_that_goes(void **context)
{
    struct json_lines lines;
    int reader;

    (void)context;
    open_lines(&lines, &reader);
    assert_int_equal(0, json_lines_put(&lines, "1\n", 2));
    assert_false(json_lines_abandoned(&lines));
    close(reader);
    assert_int_equal(0, json_lines_put(&lines, "2\n", 2));
    assert_true(json_lines_abandoned(&lines));
    assert_int_equal(0, json_lines_close(&lines, 0, NULL));
    assert_string_equal("", said);
    remove_pipe();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_in_order),
        cmocka_unit_test(the_next_line_says_how_many),
        cmocka_unit_test(a_reader_that_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
