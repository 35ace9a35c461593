/* SPDX-License-Identifier: MIT */
/*
 * nats_library_test.c: what is said where libnats is not as it should be. Each case is a process whose folder of libraries has
 * other contents; the C library it has already.
 */
#include "fabric/nats_library.h"
#include "monitor/monitor.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_PRIVILEGE 77

struct here {
    const char *
        library; /* instead of libnats: a file of this name, which is a library of another kind; NULL: none */
    bool broken;         /* ... or is no library at all */
    const char *release; /* the contents of /etc/os-release */
    int error;
    const char *line;
};

static char folder[] = "/tmp/dpm-nats-XXXXXX";

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* The folder of the C library's part that loads nothing else, and that part. */
static bool find_libraries(char libraries[PATH_MAX], char plain[PATH_MAX])
{
    Dl_info info;

    if (dladdr((void *)dlopen, &info) == 0 || realpath(info.dli_fname, libraries) == NULL)
        return false;
    *strrchr(libraries, '/') = '\0';
    return snprintf(plain, PATH_MAX, "%s/libdl.so.2", libraries) < PATH_MAX;
}

/* What needs the library. */
static int (*asks)(struct problem *problem) = nats_library_load;

static int load_in(const struct here *here)
{
    char libraries[PATH_MAX], plain[PATH_MAX], path[PATH_MAX], copy[2 * PATH_MAX + 16];
    struct problem problem = {.text = ""};

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        !find_libraries(libraries, plain))
        return NO_PRIVILEGE;
    if (here->library != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, here->library);
        snprintf(copy, sizeof(copy), "cp '%s' '%s'", plain, path);
        if (!(here->broken ? write_file(path, "no library\n") : system(copy) == 0))
            return NO_PRIVILEGE;
    }
    snprintf(path, sizeof(path), "%s/os-release", folder);
    if (!write_file(path, here->release) ||
        mount(path, "/etc/os-release", NULL, MS_BIND, NULL) != 0 ||
        mount(folder, libraries, NULL, MS_BIND, NULL) != 0)
        return NO_PRIVILEGE;
    int error = asks(&problem);
    bool right = error == here->error && strcmp(problem.text, here->line) == 0;
    if (!right)
        fprintf(stderr, "# %d: %s\n", error, problem.text);
    return right ? 0 : 1;
}

static void try(const struct here *here)
{
    char path[PATH_MAX];
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(load_in(here));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (here->library != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, here->library);
        unlink(path);
    }
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_PRIVILEGE) {
        print_message("# needs root, to hide libraries\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define DEBIAN_12 "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n"
#define MISSING                                                                                    \
    "commands for several machines need the library libnats, which is not installed: apt-get "     \
    "install "

/* The package's name is that of the release. */
static void test_missing(void **context)
{
    (void)context;
    try(&(struct here){NULL, false, DEBIAN_12, -ELIBACC, MISSING "libnats3.4"});
    try(&(struct here){NULL, false, "ID=debian\nVERSION_ID=\"13\"\n", -ELIBACC,
                       MISSING "libnats3.10"});
    try(&(struct here){NULL, false, "VERSION_ID=\"24.04\"\nID=ubuntu\n", -ELIBACC,
                       MISSING "libnats3.7t64"});
    try(&(struct here){NULL, false, "ID=debian\n", -ELIBACC, MISSING "libnats-dev"}); /* sid */
}

static void test_unknown_version(void **context)
{
    (void)context;
    try(&(struct here){"libnats.so.3.15", false, DEBIAN_12, -ELIBACC,
                       "commands for several machines need libnats 3.4 to 3.14, here is 3.15: try "
                       "apt-get install libnats3.4"});
}

static void test_broken(void **context)
{
    (void)context;
    try(&(struct here){"libnats.so.3.10", true, DEBIAN_12, -ELIBACC,
                       "libnats cannot be loaded: /lib/x86_64-linux-gnu/libnats.so.3.10: file too "
                       "short"});
}

/* One function is missing: the file is not what its name says. */
static void test_other_library(void **context)
{
    (void)context;
    try(&(struct here){"libnats.so.3.10", false, DEBIAN_12, -ELIBACC,
                       "libnats cannot be used: /lib/x86_64-linux-gnu/libnats.so.3.10: undefined "
                       "symbol: nats_GetLastError"});
}

static int check_views(struct problem *problem)
{
    static const char text[] =
        "ATTRIBUTE DEFINITION FOR OBJECT Q\n len: length;\n AT \"changed\";\nEND ATTRIBUTE DEF\n"
        "VIEW DEF Long (one: Q.len)\n ACTIVE WHEN Q.len > 24;\n"
        " NOTIFY SUBJECT \"queue.long\" OF me@127.0.0.1 WITHIN 2 S;\nEND VIEW DEF\n";
    struct view_file *file = NULL;
    int result = view_parse("long.view", text, strlen(text), &file, problem);

    if (result == 0)
        result = monitor_check(&(struct monitor_options){.file = file, .file_name = "long.view"},
                               problem);
    view_file_free(file);
    return result;
}

/* Before anything is done: it would be found only when the view becomes active. */
static void test_a_subject_that_is_notified(void **context)
{
    (void)context;
    asks = check_views;
    try(&(struct here){NULL, false, DEBIAN_12, -ELIBACC,
                       "long.view:5:1: view Long: NOTIFY SUBJECT: " MISSING "libnats3.4"});
    asks = nats_library_load;
}

/* Last, as the other cases inherit what is loaded. */
static void test_installed(void **context)
{
    struct problem problem;

    (void)context;
    assert_int_equal(nats_library_load(&problem), 0);
    assert_int_equal(nats_library_load(&problem), 0);
    assert_string_equal(natsStatus_GetText(NATS_OK), "OK");
}

static int begin(void **context)
{
    (void)context;
    return mkdtemp(folder) == NULL;
}

static int end(void **context)
{
    char path[PATH_MAX];

    (void)context;
    snprintf(path, sizeof(path), "%s/os-release", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_unknown_version),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_other_library),
        cmocka_unit_test(test_a_subject_that_is_notified),
        cmocka_unit_test(test_installed),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
