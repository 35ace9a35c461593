/* SPDX-License-Identifier: MIT */
/* launch_test.c: what is said of a program that cannot be run. */
#include "launch/launch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A script of this name whose interpreter is missing. */
static void make_script(char *path)
{
    int file = mkstemp(path);
    FILE *script = fdopen(file, "w");

    assert_non_null(script);
    fputs("#!/no/such/interpreter\n", script);
    assert_int_equal(fchmod(file, 0700), 0);
    assert_int_equal(fclose(script), 0);
}

/* Asserts that it cannot be run, for this error and with this line. */
static void cannot_run(const char *name, const char *user, int error, const char *line)
{
    char *arguments[] = {(char *)(uintptr_t)name, NULL};
    const struct launch_options options = {.arguments = arguments, .user = user};
    struct launched launched;
    struct problem problem = {""};

    assert_int_equal(launch_suspended(&options, &launched, &problem), 0);
    assert_int_equal(launch_release(&launched, &problem), error);
    assert_string_equal(problem.text, line);
}

static void test_what_is_missing_is_named(void **state)
{
    char script[] = "/tmp/dpm-launch-XXXXXX";

    (void)state;
    make_script(script);
    cannot_run(script, NULL, -ENOENT,
               "cannot run it: the interpreter in its first line, or its loader, is missing");
    assert_int_equal(chdir("/tmp"), 0);
    cannot_run(script + strlen("/tmp/"), NULL, -ENOENT,
               "cannot run it: No such file in PATH; for the one in this folder, write ./ before "
               "its name");
    assert_int_equal(unlink(script), 0);
    cannot_run(script, NULL, -ENOENT, "cannot run it: No such file or directory");
    cannot_run("no-such-program", NULL, -ENOENT,
               "cannot run it: No such file in PATH, or its interpreter is missing");
    cannot_run("/", NULL, -EACCES, "cannot run it: Permission denied");
}

/* In a process of its own, which becomes nobody if it is root. */
static void test_another_user_takes_root(void **state)
{
    int status;

    (void)state;
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) < 0)
            _exit(0);
        cannot_run("true", "root", -EPERM,
                   "cannot become the user: that takes root (CAP_SETUID and CAP_SETGID)");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_another_user_takes_root),
    };

    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
