/* SPDX-License-Identifier: MIT */
/* result_file_test.c: files of results: whole or not there, beside the name until then; what is written in place; links, modes,
 * owners; errors leave nothing. */
#include "base/result_file.h"

#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/dpm-results-XXXXXX";

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* "": there is no such file, or it is empty. */
static const char *text_of(const char *path)
{
    static char text[100];
    FILE *file = fopen(path, "re");

    memset(text, 0, sizeof(text));
    if (file != NULL) {
        (void)!fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    return text;
}

/* Entries of the folder, hidden ones too. */
static size_t entries(const char *path)
{
    DIR *directory = opendir(path);
    size_t count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

static mode_t mode_of(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static int into_folder(void **unused)
{
    (void)unused;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) == NULL || chdir(folder) < 0 ? -1 : 0;
}

static int remove_folder(void **unused)
{
    (void)unused;
    folder_remove(folder);
    return chdir("/");
}

static void it_appears_when_complete(void **unused)
{
    static const char *const names[] = {"x.html", "./x.html"};
    struct result_file file;
    char whole[PATH_MAX];

    (void)unused;
    for (int round = 0; round < 3; round++) {
        snprintf(whole, sizeof(whole), "%s/x.html", folder);
        const char *name = round < 2 ? names[round] : whole;
        const char *old = round == 0 ? "" : "new";
        assert_int_equal(result_file_begin(&file, name), 0);
        assert_non_null(file.target);
        put(file.path, round == 0 ? "new" : "half");
        assert_string_equal(text_of("x.html"), old); /* as it was */
        assert_int_equal(access("x.html", F_OK), round == 0 ? -1 : 0);
        put(file.path, "new");
        assert_int_equal(result_file_end(&file, 0), 0);
        assert_string_equal(text_of("x.html"), "new");
        assert_int_equal(entries("."), 1);
    }
}

static void nothing_stays_of_one_that_failed(void **unused)
{
    struct result_file file;

    (void)unused;
    assert_int_equal(result_file_begin(&file, "new"), 0);
    put(file.path, "half");
    assert_int_equal(result_file_end(&file, -ENOSPC), -ENOSPC);
    assert_int_equal(entries("."), 0);
    put("old", "old");
    assert_int_equal(result_file_begin(&file, "old"), 0);
    put(file.path, "half");
    assert_int_equal(result_file_end(&file, -EIO), -EIO);
    assert_string_equal(text_of("old"), "old");
    assert_int_equal(entries("."), 1);
}

static void several_at_a_time(void **unused)
{
    static const char *const texts[] = {"one", "two", "three"};
    struct result_file files[ARRAY_SIZE(texts)];

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        assert_int_equal(result_file_begin(&files[i], "x"), 0);
        put(files[i].path, texts[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        assert_int_equal(result_file_end(&files[i], 0), 0);
        assert_string_equal(text_of("x"), texts[i]);
    }
    assert_int_equal(entries("."), 1);
}

static void modes(void **unused)
{
    struct result_file file;
    mode_t before = umask(027);

    (void)unused;
    assert_int_equal(result_file_begin(&file, "new"), 0);
    assert_int_equal(result_file_end(&file, 0), 0);
    assert_int_equal(mode_of("new"), 0640);
    assert_int_equal(chmod("new", 0604), 0);
    assert_int_equal(result_file_begin(&file, "new"), 0);
    assert_int_equal(result_file_end(&file, 0), 0);
    assert_int_equal(mode_of("new"), 0604);
    umask(before);
}

static void owners(void **unused)
{
    struct result_file file;
    struct stat status;

    (void)unused;
    if (geteuid() != 0)
        skip();
    put("theirs", "old");
    assert_int_equal(chown("theirs", 12345, 23456), 0);
    assert_int_equal(result_file_begin(&file, "theirs"), 0);
    put(file.path, "new");
    assert_int_equal(result_file_end(&file, 0), 0);
    assert_int_equal(stat("theirs", &status), 0);
    assert_int_equal(status.st_uid, 12345);
    assert_int_equal(status.st_gid, 23456);
}

/* A user may not give files away: those of others are written in place. */
static void owners_that_cannot_be_kept(void **unused)
{
    struct result_file file;
    struct stat status;

    (void)unused;
    if (geteuid() != 0)
        skip();
    put("theirs", "old");
    assert_int_equal(chmod("theirs", 0666), 0);
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(seteuid(12345), 0);
    int begun = result_file_begin(&file, "theirs");
    bool in_place = file.target == NULL;
    if (begun == 0) {
        put(file.path, "new");
        result_file_end(&file, 0);
    }
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(begun, 0);
    assert_true(in_place);
    assert_int_equal(stat("theirs", &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_string_equal(text_of("theirs"), "new");
    assert_int_equal(entries("."), 1);
}

static void folders_that_may_not_be_written(void **unused)
{
    struct result_file file;

    (void)unused;
    if (geteuid() != 0)
        skip();
    put("mine", "old");
    put("refused", "old");
    assert_int_equal(chown("mine", 12345, (gid_t)-1), 0);
    assert_int_equal(chmod("refused", 0444), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(seteuid(12345), 0);
    int none = result_file_begin(&file, "none"), refused = result_file_begin(&file, "refused");
    int mine = result_file_begin(&file, "mine");
    if (mine == 0) {
        put(file.path, "new");
        mine = result_file_end(&file, 0);
    }
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(none, -EACCES);
    assert_int_equal(refused, -EACCES);
    assert_int_equal(mine, 0);
    assert_string_equal(text_of("mine"), "new");
    assert_int_equal(entries("."), 2);
}

/* What may not be written is not replaced either, although its folder allows that. */
static void files_that_may_not_be_written(void **unused)
{
    struct result_file file;

    (void)unused;
    if (geteuid() != 0)
        skip();
    put("mine", "old");
    assert_int_equal(chown("mine", 12345, (gid_t)-1), 0);
    assert_int_equal(chmod("mine", 0444), 0);
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(seteuid(12345), 0);
    int result = result_file_begin(&file, "mine");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(result, -EACCES);
    assert_int_equal(entries("."), 1);
}

static void links_stay(void **unused)
{
    static const char *const links[] = {"link", "sub/back", "absolute", "sub/new"};
    struct result_file file;
    struct stat status;
    char whole[PATH_MAX];

    (void)unused;
    snprintf(whole, sizeof(whole), "%s/sub/absolute.html", folder);
    assert_int_equal(mkdir("sub", 0700), 0);
    put("sub/x.html", "old");
    assert_int_equal(symlink("sub/x.html", "link"), 0);
    assert_int_equal(symlink("../link", "sub/back"), 0); /* a link to a link */
    assert_int_equal(symlink(whole, "absolute"), 0);     /* to what is not there yet */
    assert_int_equal(symlink("../new.html", "sub/new"), 0);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        assert_int_equal(result_file_begin(&file, links[i]), 0);
        assert_non_null(file.target);
        put(file.path, links[i]);
        assert_int_equal(result_file_end(&file, 0), 0);
        assert_int_equal(lstat(links[i], &status), 0);
        assert_true(S_ISLNK(status.st_mode));
        assert_string_equal(text_of(links[i]), links[i]);
    }
    assert_string_equal(text_of("sub/x.html"), "sub/back");
    assert_string_equal(text_of(whole), "absolute");
    assert_string_equal(text_of("new.html"), "sub/new");
    assert_int_equal(entries("."), 4);
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_int_equal(result_file_begin(&file, "circle"), -ELOOP);
}

static void in_place(const char *name)
{
    struct result_file file;

    assert_int_equal(result_file_check(name), 0);
    assert_int_equal(result_file_begin(&file, name), 0);
    assert_null(file.target);
    assert_string_equal(file.path, name);
    assert_int_equal(result_file_end(&file, -EIO), -EIO);
    assert_int_equal(access(name, F_OK), 0); /* never removed */
}

static void what_is_no_file_is_written_in_place(void **unused)
{
    char name[64];
    int file = open("open", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)unused;
    in_place("/dev/null");
    in_place("/dev/full");
    assert_int_equal(mkfifo("fifo", 0600), 0); /* without a reader: nothing waits for one */
    in_place("fifo");
    assert_int_equal(symlink("fifo", "link"), 0);
    in_place("link");
    /* an open file, whatever its name */
    assert_true(file >= 0);
    snprintf(name, sizeof(name), "/dev/fd/%d", file);
    in_place(name);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    in_place(name);
    assert_int_equal(unlink("open"), 0);
    in_place(name);
    close(file);
    assert_int_equal(entries("."), 2);
}

static void errors(void **unused)
{
    char name[PATH_MAX + 10];
    struct result_file file;

    (void)unused;
    put("x", "");
    assert_int_equal(result_file_begin(&file, "none/x"), -ENOENT);
    assert_int_equal(result_file_begin(&file, "x/y"), -ENOTDIR);
    assert_int_equal(result_file_begin(&file, "."), -EISDIR);
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(result_file_begin(&file, name), -ENAMETOOLONG);
    assert_int_equal(entries("."), 1);
}

/* The longest name that a folder takes leaves no space for more. */
static void long_names(void **unused)
{
    char name[NAME_MAX + 1];
    struct result_file file;

    (void)unused;
    memset(name, 'a', NAME_MAX);
    name[NAME_MAX] = '\0';
    assert_int_equal(result_file_begin(&file, name), 0);
    put(file.path, "new");
    assert_int_equal(result_file_end(&file, 0), 0);
    assert_string_equal(text_of(name), "new");
}

/* It vanished meanwhile, with its folder. */
static void an_end_that_fails(void **unused)
{
    struct result_file file;

    (void)unused;
    assert_int_equal(mkdir("sub", 0700), 0);
    assert_int_equal(result_file_begin(&file, "sub/x"), 0);
    folder_remove("sub");
    assert_int_equal(result_file_end(&file, 0), -ENOENT);
}

static void a_check_changes_nothing(void **unused)
{
    (void)unused;
    put("old", "old");
    assert_int_equal(result_file_check("old"), 0);
    assert_int_equal(result_file_check("new"), 0);
    assert_int_equal(result_file_check("none/new"), -ENOENT);
    assert_string_equal(text_of("old"), "old");
    assert_int_equal(entries("."), 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, into_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(it_appears_when_complete),
        IN_FOLDER(nothing_stays_of_one_that_failed),
        IN_FOLDER(several_at_a_time),
        IN_FOLDER(modes),
        IN_FOLDER(owners),
        IN_FOLDER(owners_that_cannot_be_kept),
        IN_FOLDER(folders_that_may_not_be_written),
        IN_FOLDER(files_that_may_not_be_written),
        IN_FOLDER(links_stay),
        IN_FOLDER(what_is_no_file_is_written_in_place),
        IN_FOLDER(errors),
        IN_FOLDER(long_names),
        IN_FOLDER(an_end_that_fails),
        IN_FOLDER(a_check_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
