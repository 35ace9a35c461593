/* SPDX-License-Identifier: MIT */
/* remote_shell_test.c: what a remote shell prints, and how it ends: whatever it prints, each line comes once and in order;
 * how it ended is one line. */
#include "remote/remote_shell.h"
#include "seeded.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT_MOST 20000

static char heard[2 * TEXT_MOST]; /* the lines that were said, each with a newline */

static void hear(void *context, const char *line)
{
    (void)context;
    assert_true(strlen(line) < REMOTE_LINE_SIZE);
    assert_null(strchr(line, '\n'));
    assert_true(line[0] != '\0');
    strcat(heard, line);
    strcat(heard, "\n");
}

static const char *const agent[] = {"agent", NULL};

/* The shell is `sh -c SCRIPT`, which gets the host's name and the words of dpm as its arguments. */
static void begin(struct remote_shell *shell, const char *script)
{
    struct problem problem;
    char rsh[TEXT_MOST];

    heard[0] = '\0';
    snprintf(rsh, sizeof(rsh), "sh -c '%s'", script);
    if (remote_shell_start(shell, rsh, "web1", "dpm", agent, &problem) < 0)
        fail_msg("%s", problem.text);
}

static void read_all(struct remote_shell *shell)
{
    while (shell->err >= 0) {
        struct pollfd file = {.fd = shell->err, .events = POLLIN};
        poll(&file, 1, 1000);
        remote_shell_read(shell, hear, NULL);
    }
}

/* What is to be heard of a text: without empty lines and carriage returns at their ends; long lines in pieces. */
static void expect(const char *text, size_t length, char *ret_lines)
{
    char line[REMOTE_LINE_SIZE];
    size_t used = 0, out = 0;

    for (size_t i = 0; i <= length; i++) {
        bool ends = i == length || text[i] == '\n';
        if (ends || used == sizeof(line) - 1) {
            while (used > 0 && line[used - 1] == '\r')
                used--;
            memcpy(ret_lines + out, line, used);
            out += used;
            if (used > 0)
                ret_lines[out++] = '\n';
            used = 0;
        }
        if (!ends)
            line[used++] = text[i];
    }
    ret_lines[out] = '\0';
}

static void each_line_comes_once(void **unused)
{
    static char text[TEXT_MOST], expected[2 * TEXT_MOST];
    static const char characters[] = "ab\n\n\rc 0";
    uint64_t seed = seed_of_run("lines");

    (void)unused;
    for (unsigned round = 0; round < 40; round++) {
        struct remote_shell shell;
        char file[] = "/tmp/dpm-shell-XXXXXX", script[100];
        size_t length = (size_t)random_below(&seed, round % 4 == 0 ? TEXT_MOST : 200);
        for (size_t i = 0; i < length; i++)
            text[i] = round % 5 == 0 && random_below(&seed, 100) > 0
                          ? 'x'
                          : characters[random_below(&seed, sizeof(characters) - 1)];
        int descriptor = mkstemp(file);
        assert_true(descriptor >= 0);
        assert_int_equal(write(descriptor, text, length), (ssize_t)length);
        close(descriptor);
        snprintf(script, sizeof(script), "cat %s >&2", file);
        begin(&shell, script);
        bool connected = random_below(&seed, 2) == 0;
        if (connected) /* before the first line or after it */
            remote_shell_connected(&shell, hear, NULL);
        read_all(&shell);
        if (!connected) {
            remote_shell_connected(&shell, hear, NULL);
            assert_string_equal(shell.last, "");
        }
        expect(text, length, expected);
        assert_string_equal(heard, expected);
        remote_shell_end(&shell);
        unlink(file);
    }
}

static void how_it_ended_is_one_line(void **unused)
{
    static const struct {
        const char *script, *line;
    } cases[] = {
        {"exit 127",
         "web1: 'dpm' cannot be run there; install dpm, or give its path with --remote-dpm"},
        {"echo no such thing >&2; exit 127",
         "web1: 'dpm' cannot be run there (no such thing); install dpm, or give its path with "
         "--remote-dpm"},
        {"echo one >&2; echo two >&2; exit 5",
         "web1: the remote shell ended with exit status 5: two"},
        {"kill -9 $$", "web1: the remote shell was killed by signal 9"},
        {"exec >&- 2>&-; sleep 20", "web1: the remote shell closed the connection"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct remote_shell shell;
        struct problem problem;
        char byte;
        begin(&shell, cases[i].script);
        assert_int_equal(read(shell.out, &byte, 1), 0);
        remote_shell_why(&shell, "web1", "dpm", &problem);
        assert_string_equal(problem.text, cases[i].line);
        remote_shell_end(&shell);
        assert_int_equal(shell.pid, 0);
    }
}

/* The words: the remote shell's, options of ssh only for ssh, the host, dpm's, "agent". */
static void words_are_arranged(void **unused)
{
    struct remote_shell shell;
    struct problem problem;

    (void)unused;
    heard[0] = '\0';
    assert_int_equal(remote_shell_start(&shell, "sh -c 'echo \"$0 $*\" >&2' one", "web1",
                                        "sudo '/opt/d p/dpm'", agent, &problem),
                     0);
    remote_shell_connected(&shell, hear, NULL);
    read_all(&shell);
    assert_string_equal(heard, "one web1 sudo /opt/d p/dpm agent\n");
    remote_shell_end(&shell);
}

static void what_cannot_be_started_is_an_error(void **unused)
{
    struct remote_shell shell;
    struct problem problem;
    char many[400] = "true";

    (void)unused;
    assert_int_equal(remote_shell_start(&shell, "/nonexistent/ssh", "web1", "dpm", agent, &problem),
                     -ENOENT);
    assert_non_null(strstr(problem.text, "/nonexistent/ssh"));
    assert_int_equal(remote_shell_start(&shell, "ssh 'open", "web1", "dpm", agent, &problem),
                     -EINVAL);
    assert_int_equal(remote_shell_start(&shell, " ", "web1", "dpm", agent, &problem), -EINVAL);
    assert_int_equal(remote_shell_start(&shell, "ssh", "web1", "", agent, &problem), -EINVAL);
    for (unsigned i = 0; i < 90; i++)
        strcat(many, " x");
    int result = remote_shell_start(&shell, "true", "web1", many, agent, &problem);
    assert_int_equal(result, -E2BIG);
    assert_int_equal(shell.pid, 0);
    remote_shell_end(&shell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_comes_once),
        cmocka_unit_test(how_it_ended_is_one_line),
        cmocka_unit_test(words_are_arranged),
        cmocka_unit_test(what_cannot_be_started_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
