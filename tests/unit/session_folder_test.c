/* SPDX-License-Identifier: MIT */
/* session_folder_test.c: folders of sessions: made once, found by their names, with one controller each, and removed when
 * nothing has happened in them for a week. */
#include "remote/session_folder.h"

#include "base/folder.h"
#include "remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char home[] = "/tmp/dpm-sessions-XXXXXX";

static void made_once_and_found(void **unused)
{
    char path[PATH_MAX], again[PATH_MAX];
    struct problem problem;
    struct stat status;

    (void)unused;
    assert_int_equal(remote_session_find("one", path, &problem), -ENOENT);
    assert_non_null(strstr(problem.text, "there is none at all"));
    assert_int_equal(session_folder_make("one", path, &problem), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(session_folder_make("one", again, &problem), -EEXIST);
    assert_int_equal(remote_session_find("one", again, &problem), 0);
    assert_string_equal(path, again);
    assert_int_equal(remote_session_find("two", again, &problem), -ENOENT);
    assert_non_null(strstr(problem.text, "; your sessions: one"));
}

static void bad_names_are_not_found(void **unused)
{
    static const char *const names[] = {"", "..", "../one", "one/..", "One", "a b", "one\n"};
    char path[PATH_MAX];
    struct problem problem;

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(remote_session_find(names[i], path, &problem), -ENOENT);
}

/* Two hosts that share a home folder do not share sessions: the host's name is in the path. */
static void it_belongs_to_this_host(void **unused)
{
    char path[PATH_MAX], host[FOLDER_HOST_SIZE], part[FOLDER_HOST_SIZE + 16];
    struct problem problem;

    (void)unused;
    folder_of_host(host);
    assert_true(host[0] != '\0' && strchr(host, '/') == NULL);
    snprintf(part, sizeof(part), "/dpm/%s/sessions/", host);
    assert_int_equal(remote_session_find("one", path, &problem), 0);
    assert_non_null(strstr(path, part));
}

static void one_controller(void **unused)
{
    char path[PATH_MAX], expected[64];
    struct problem problem;
    struct remote_session *list;
    int begins[2], ends[2], status;
    char byte;

    (void)unused;
    assert_int_equal(remote_session_find("one", path, &problem), 0);
    assert_int_equal(pipe(begins), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t other = fork();
    if (other == 0) {
        int lock = session_folder_lock("one", path, &problem);
        if (write(begins[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
            _exit(2);
        _exit(lock < 0);
    }
    assert_int_equal(read(begins[0], &byte, 1), 1);
    assert_int_equal(session_folder_lock("one", path, &problem), -EBUSY);
    snprintf(expected, sizeof(expected), "process %d;", (int)other);
    assert_non_null(strstr(problem.text, expected));
    assert_int_equal(remote_sessions(&list, &problem), 1);
    assert_true(list[0].controlled);
    free(list);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    int lock = session_folder_lock("one", path, &problem);
    assert_true(lock >= 0);
    close(lock);
}

static void set_changed(const char *path, time_t when)
{
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    char file[PATH_MAX + 16];

    snprintf(file, sizeof(file), "%s/controller", path);
    utimensat(AT_FDCWD, file, times, 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Not those that have a controller, or in which something has changed: a file's time may be ahead of the clock's, by a
 * tick (the file system's is finer) or by far (the clock was set back). */
static void old_ones_are_removed(void **unused)
{
    char one[PATH_MAX], young[PATH_MAX], ahead[PATH_MAX], found[PATH_MAX];
    struct problem problem;

    (void)unused;
    assert_int_equal(remote_session_find("one", one, &problem), 0);
    assert_int_equal(session_folder_make("young", young, &problem), 0);
    assert_int_equal(session_folder_make("ahead", ahead, &problem), 0);
    set_changed(one, 1000);
    set_changed(ahead, time(NULL) + 60);
    session_folders_remove_old();
    assert_int_equal(remote_session_find("one", found, &problem), -ENOENT);
    assert_int_equal(remote_session_find("young", found, &problem), 0);
    assert_int_equal(remote_session_find("ahead", found, &problem), 0);
}

static int begin(void **unused)
{
    (void)unused;
    return mkdtemp(home) == NULL ? -1 : setenv("XDG_STATE_HOME", home, 1);
}

static int end(void **unused)
{
    (void)unused;
    folder_remove(home);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_once_and_found),     cmocka_unit_test(bad_names_are_not_found),
        cmocka_unit_test(it_belongs_to_this_host), cmocka_unit_test(one_controller),
        cmocka_unit_test(old_ones_are_removed),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
