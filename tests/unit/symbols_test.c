/* SPDX-License-Identifier: MIT */
/*
 * symbols_test.c: names for program counters. The test names its own functions: it knows where they are from their
 * addresses, and for libraries from dladdr.
 *
 *      IMAGE, STREAM, events with PCs --> symbols --> MODULE, PROCEDURE: the names are right
 *      files with any content, processes that have ended --> no names, counted
 */
#include "seeded.h"
#include "symbols/symbols_private.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char scratch[100];

/* ---- functions whose names are known ---- */

__attribute__((noipa, used, aligned(16))) static int static_function(int number)
{
    return number * 3 + 1;
}

__attribute__((noipa, aligned(16))) int global_function(int number);
int global_function(int number)
{
    return static_function(number) + 2;
}

/* A C++ compiler's symbol for zoo::Cage::open(int). */
int mangled(int number) __asm__("_ZN3zoo4Cage4openEi");
__attribute__((noipa, aligned(16))) int mangled(int number)
{
    return global_function(number) + 3;
}

static pthread_cond_t condition;
static pthread_mutex_t mutex;
static struct timespec until;

/* Never called. */
__attribute__((noipa, aligned(16))) int waits_for_condition(int number);
int waits_for_condition(int number)
{
    return pthread_cond_timedwait(&condition, &mutex, &until) + number;
}

/* ---- records ---- */

/* Where the text of this program begins: the 26th field of its line. */
static uint64_t start_of_text(void)
{
    char line[2048];
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = read(file, line, sizeof(line) - 1);

    close(file);
    assert_true(size > 0);
    line[size] = '\0';
    char *at = strrchr(line, ')');
    for (int field = 2; field < 26; field++)
        at = strchr(at + 1, ' ');
    return strtoull(at, NULL, 10);
}

static void note_image(struct symbols *symbols, uint32_t number, const char *path, uint64_t load)
{
    struct image_record image = {
        .header = {.id = EVENT_IMAGE, .flags = RECORD_NO_STREAM}, .image = number, .load = load};
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    image.device = major(status.st_dev) << 20 | minor(status.st_dev);
    image.inode = status.st_ino;
    snprintf(image.name, sizeof(image.name), "%s", path);
    symbols_note(symbols, &image.header);
}

static void note_stream(struct symbols *symbols, uint32_t number, uint32_t image, pid_t pid)
{
    struct stream_record stream = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = number},
        .pid = (uint32_t)pid,
        .image = image,
    };

    symbols_note(symbols, &stream.header);
}

static void note_pc(struct symbols *symbols, uint32_t stream, uint64_t pc, bool library)
{
    struct record record = {.header = {
                                .time = 1000,
                                .id = EVENT_SEND,
                                .flags = library ? RECORD_LIBRARY : 0,
                                .proc_time_and_pc = pc << 48,
                                .pc_high = (uint32_t)(pc >> 16),
                                .stream = stream,
                            }};

    assert_int_equal(record_pc(&record.header), pc);
    symbols_note(symbols, &record.header);
}

static uint64_t address_of(int (*function)(int))
{
    return (uint64_t)(uintptr_t)function;
}

/* The records that came out, in order. */
struct found_names {
    struct module_record modules[8];
    size_t module_count;
    struct procedure_record procedures[64];
    size_t procedure_count;
};

static void read_names(struct symbols *symbols, struct found_names *names)
{
    const struct record_header *record;

    *names = (struct found_names){0};
    while ((record = symbols_next(symbols)) != NULL) {
        assert_int_equal(record->time, 1000);
        assert_true(record->flags & RECORD_NO_STREAM);
        if (record->id == EVENT_MODULE) {
            assert_true(names->module_count < ARRAY_SIZE(names->modules));
            names->modules[names->module_count++] = *(const struct module_record *)record;
        } else {
            assert_int_equal(record->id, EVENT_PROCEDURE);
            assert_true(names->procedure_count < ARRAY_SIZE(names->procedures));
            assert_true(names->module_count > 0);
            names->procedures[names->procedure_count++] = *(const struct procedure_record *)record;
        }
    }
}

/* The name that was found for a function, at an offset from its beginning. */
static const char *name_of(const struct found_names *names, int (*function)(int), uint64_t offset)
{
    uint64_t address = address_of(function) + offset - start_of_text() + names->modules[0].text;

    for (size_t i = 0; i < names->procedure_count; i++)
        if (names->procedures[i].image == 0 && names->procedures[i].address == address) {
            assert_int_equal(names->procedures[i].offset, offset);
            return names->procedures[i].name;
        }
    return "not found";
}

static void check_unnamed(const struct symbols *symbols, uint64_t unnamed, uint64_t of)
{
    uint64_t noted;

    assert_int_equal(symbols_unnamed(symbols, &noted), unnamed);
    assert_int_equal(noted, of);
}

/* ---- tests ---- */

static void test_functions_of_the_program_have_their_names(void **unused)
{
    struct symbols *symbols;
    struct found_names names;

    (void)unused;
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 7, "/proc/self/exe", start_of_text());
    note_stream(symbols, 3, 7, getpid());
    for (int turn = 0; turn < 3; turn++) { /* one record for each PC */
        note_pc(symbols, 3, address_of(static_function) + 3, false);
        note_pc(symbols, 3, address_of(global_function) + 4, false);
        note_pc(symbols, 3, address_of(global_function), false); /* nothing called: interrupted */
        note_pc(symbols, 3, address_of(mangled) + 6, false);
    }
    read_names(symbols, &names);
    assert_int_equal(names.module_count, 1);
    assert_int_equal(names.procedure_count, 4);
    assert_string_equal(name_of(&names, static_function, 3), "static_function");
    assert_string_equal(name_of(&names, global_function, 4), "global_function");
    assert_string_equal(name_of(&names, global_function, 0), "global_function");
    assert_string_equal(name_of(&names, mangled, 6), "zoo::Cage::open");
    check_unnamed(symbols, 0, 4);
    symbols_free(symbols);
}

/* ---- locks ---- */

static struct {
    int before, lock;
} known_data;

static void note_lock(struct symbols *symbols, uint32_t stream, uint32_t number,
                      const void *address)
{
    struct name_record name = {
        .header = {.time = 1000, .id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = number,
        .kind = NAME_OBJECT,
        .what = WAIT_ON_LOCK};
    struct record record = {.header = {.time = 1000, .id = EVENT_BLOCK, .stream = stream}};

    snprintf(name.name, sizeof(name.name), "0x%llx", (unsigned long long)(uintptr_t)address);
    record.block.object = number & 0xffff;
    symbols_note(symbols, &name.header);
    symbols_note(symbols, &record.header);
    symbols_note(symbols, &record.header);
}

static void test_locks_have_the_names_of_variables(void **unused)
{
    struct symbols *symbols;
    struct found_names names;
    int on_stack = 0, *on_heap = malloc(sizeof(*on_heap));

    (void)unused;
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 7, "/proc/self/exe", start_of_text());
    note_stream(symbols, 3, 7, getpid());
    note_lock(symbols, 3, 1, &known_data.lock);
    note_lock(symbols, 3, 2, &on_stack);
    note_lock(symbols, 3, 3, on_heap);
    note_lock(symbols, 3, NAMED_OBJECTS_MOST + 1, &known_data.before);
    note_lock(symbols, 4, 4, &known_data.before); /* of no process that is known */
    note_pc(symbols, 3, address_of(global_function) + 4, false);
    read_names(symbols, &names);
    assert_int_equal(names.procedure_count, 2);
    assert_string_equal(names.procedures[0].name, "known_data");
    assert_int_equal(names.procedures[0].offset, sizeof(int));
    assert_int_equal(names.procedures[0].address, (uint64_t)(uintptr_t)&known_data.lock -
                                                      start_of_text() + names.modules[0].text);
    assert_string_equal(names.procedures[1].name, "global_function");
    check_unnamed(symbols, 0, 1); /* they are no PCs */
    symbols_free(symbols);
    free(on_heap);
}

static void test_processes_of_one_program_share_its_names(void **unused)
{
    struct symbols *symbols;
    struct found_names names;

    (void)unused;
    assert_int_equal(symbols_new(&symbols), 0);
    for (uint32_t number = 1; number <= 5; number++) {
        uint64_t moved = 0x10000 * number; /* as if the kernel had loaded each one elsewhere */
        note_image(symbols, number, "/proc/self/exe", start_of_text() + moved);
        note_stream(symbols, number, number, getpid());
        note_pc(symbols, number, address_of(global_function) + 4 + moved, false);
    }
    read_names(symbols, &names);
    assert_int_equal(names.procedure_count, 1);
    assert_string_equal(name_of(&names, global_function, 4), "global_function");
    check_unnamed(symbols, 0, 1);
    symbols_free(symbols);
}

static void test_functions_of_libraries_have_their_names(void **unused)
{
    uint64_t pc = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "sendmmsg");
    struct symbols *symbols;
    struct found_names names;
    Dl_info library;

    (void)unused;
    assert_true(pc != 0 && dladdr((void *)(uintptr_t)pc, &library) != 0);
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 9, "/proc/self/exe", start_of_text());
    note_stream(symbols, 1, 9, getpid());
    note_pc(symbols, 1, pc + 8, true);
    read_names(symbols, &names);
    assert_int_equal(names.procedure_count, 1);
    assert_int_equal(names.procedures[0].image, 9);
    assert_int_equal(names.procedures[0].address, pc + 8);
    assert_int_equal(names.procedures[0].offset, 8);
    assert_non_null(strstr(names.procedures[0].name, "sendmmsg")); /* or __sendmmsg, an alias */
    const char *file = strrchr(library.dli_fname, '/');
    assert_non_null(file);
    assert_non_null(strstr(names.modules[0].name, file));
    symbols_free(symbols);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    ssize_t got;

    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof(bytes))) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    close(in);
    close(out);
}

/* The process has ended: its file is found by name if that is still the same file. */
static void test_a_file_that_is_replaced_keeps_its_names(void **unused)
{
    char path[PATH_MAX], other[PATH_MAX];
    struct symbols *symbols;
    struct found_names names;
    pid_t gone = fork();

    (void)unused;
    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    snprintf(path, sizeof(path), "%s/program", scratch);
    snprintf(other, sizeof(other), "%s/other", scratch);
    copy_file("/proc/self/exe", path);
    copy_file("/bin/true", other);
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 1, path, start_of_text());
    note_stream(symbols, 1, 1, gone);
    assert_int_equal(rename(other, path), 0);
    note_pc(symbols, 1, address_of(global_function) + 4, false);
    read_names(symbols, &names);
    assert_string_equal(name_of(&names, global_function, 4), "global_function");
    symbols_free(symbols);

    /* replaced before it could be opened: the wrong file must not name anything */
    copy_file("/proc/self/exe", other);
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 1, path, start_of_text());
    assert_int_equal(rename(other, path), 0);
    note_stream(symbols, 1, 1, gone);
    note_pc(symbols, 1, address_of(global_function) + 4, false);
    note_pc(symbols, 1, address_of(global_function) + 5, true);
    note_pc(symbols, 2, address_of(global_function) + 4, false); /* no such stream */
    read_names(symbols, &names);
    assert_int_equal(names.module_count, 0);
    check_unnamed(symbols, 2, 2); /* the one in a library is not counted */
    symbols_free(symbols);
}

/* The address after the only call of the function, from its beginning. */
static uint64_t offset_of_call(int (*function)(int))
{
    const unsigned char *code = (const unsigned char *)(uintptr_t)address_of(function);

    for (uint64_t at = 0; at < 100; at++) {
        if (code[at] == 0xe8)
            return at + 5;
        if (code[at] == 0xff && code[at + 1] == 0x15)
            return at + 6;
    }
    fail_msg("the function calls nothing");
    return 0;
}

/* The procedure that the call of pthread_cond_timedwait gets in a copy of this program that has no symbols. */
static void name_in_stripped(const char *file, struct procedure_record *ret_procedure)
{
    char path[PATH_MAX], command[PATH_MAX + 100];
    struct symbols *symbols;
    struct found_names names;
    pid_t gone = fork();

    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    snprintf(path, sizeof(path), "%s/%s", scratch, file);
    snprintf(command, sizeof(command), "strip -o %s /proc/%d/exe 2> /dev/null", path, getpid());
    if (system(command) != 0) /* NOLINT */
        skip();
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 1, path, start_of_text());
    note_stream(symbols, 1, 1, gone);
    note_pc(symbols, 1, address_of(waits_for_condition) + offset_of_call(waits_for_condition),
            false);
    read_names(symbols, &names);
    assert_int_equal(names.procedure_count, 1);
    *ret_procedure = names.procedures[0];
    symbols_free(symbols);
    unlink(path);
}

/* It waits for a condition only to take its interpreter lock. */
static void test_a_stripped_python_takes_its_lock(void **unused)
{
    struct procedure_record procedure;

    (void)unused;
    name_in_stripped("python3.11", &procedure);
    assert_string_equal(procedure.name, "take_gil");
    assert_int_equal(procedure.offset, 0);
    name_in_stripped("pylon", &procedure);
    assert_string_equal(procedure.name, "");
}

static void test_places_are_bounded(void **unused)
{
    enum { PLACES = 300000 };
    struct symbols *symbols;
    uint64_t noted, named = 0;

    (void)unused;
    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 1, "/proc/self/exe", start_of_text());
    note_stream(symbols, 1, 1, getpid());
    for (uint64_t i = 0; i < PLACES; i++)
        note_pc(symbols, 1, address_of(global_function) + i, false);
    while (symbols_next(symbols) != NULL)
        named++;
    assert_true(named > 1000 && named < PLACES);
    uint64_t unnamed = symbols_unnamed(symbols, &noted);
    assert_int_equal(noted, PLACES);
    assert_int_equal(noted - unnamed, named - 1); /* one is the MODULE */
    symbols_free(symbols);
}

/* ---- files that may hold anything ---- */

static void try_file(const char *path)
{
    struct symbols *symbols;
    uint64_t noted;

    assert_int_equal(symbols_new(&symbols), 0);
    note_image(symbols, 1, path, start_of_text());
    note_stream(symbols, 1, 1, 0x7ffffffe);
    for (uint64_t i = 0; i < 20; i++)
        note_pc(symbols, 1, address_of(global_function) + 64 * i, false);
    const struct record_header *record;
    while ((record = symbols_next(symbols)) != NULL)
        assert_true(record->id == EVENT_MODULE || record->id == EVENT_PROCEDURE);
    assert_true(symbols_unnamed(symbols, &noted) <= noted);
    assert_int_equal(noted, 20);
    symbols_free(symbols);
}

static void test_files_may_hold_anything(void **unused)
{
    enum { TURNS = 60 };
    uint64_t state = seed_of_run("symbols");
    char path[PATH_MAX];
    struct stat status;

    (void)unused;
    snprintf(path, sizeof(path), "%s/damaged", scratch);
    for (int turn = 0; turn < TURNS; turn++) {
        copy_file("/proc/self/exe", path);
        int file = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(fstat(file, &status), 0);
        uint64_t size = (uint64_t)status.st_size;
        /* the headers of the file and its sections are the sensitive parts */
        for (int i = 0; i < 8; i++) {
            uint64_t bytes = random_number(&state);
            uint64_t at = random_below(&state, 3) == 0   ? random_below(&state, 1024)
                          : random_below(&state, 2) == 0 ? size - 1 - random_below(&state, 3000)
                                                         : random_below(&state, size);
            assert_true(pwrite(file, &bytes, 1 + random_below(&state, 8), (off_t)at) > 0);
        }
        if (turn % 4 == 0)
            assert_int_equal(ftruncate(file, (off_t)random_below(&state, size)), 0);
        close(file);
        try_file(path);
    }
}

static void test_lines_of_mappings_are_read(void **unused)
{
    static const char *const wrong[] = {
        "",
        "-",
        "1000",
        "1000-2000",
        "1000-2000 r-xp",
        "1000-2000 r-x",
        "2000-1000 r-xp 0 0:0 1 ",
        "g-2000 r-xp 0 00:00 1 ",
        "1000-2000 r-xp 0 00 1 ",
        "1000-2000 r-xp 0 fff00000:00 1 ",
        "1000-10000000000000000 r-xp 0 00:00 1 ",
        "-1000-2000 r-xp 0 00:00 1 ",
    };
    struct mapping mapping;

    (void)unused;
    assert_true(mapping_read("7f00-7fff r-xp 00026000 fd:01 131   /usr/lib/libc.so.6", &mapping));
    assert_int_equal(mapping.begin, 0x7f00);
    assert_int_equal(mapping.end, 0x7fff);
    assert_int_equal(mapping.offset, 0x26000);
    assert_int_equal(mapping.file.device, 0xfd << 20 | 1);
    assert_int_equal(mapping.file.inode, 131);
    assert_true(mapping.executable);
    assert_true(mapping_read("7f00-7fff rw-p 00000000 00:00 0 ", &mapping));
    assert_false(mapping.executable);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_false(mapping_read(wrong[i], &mapping));
}

static int make_scratch(void **unused)
{
    (void)unused;
    strcpy(scratch, "/tmp/dpm-symbols-XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int remove_scratch(void **unused)
{
    static const char *const names[] = {"program", "other", "damaged"};
    char path[PATH_MAX];

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
        unlink(path);
    }
    return rmdir(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_of_the_program_have_their_names),
        cmocka_unit_test(test_locks_have_the_names_of_variables),
        cmocka_unit_test(test_processes_of_one_program_share_its_names),
        cmocka_unit_test(test_functions_of_libraries_have_their_names),
        cmocka_unit_test(test_a_file_that_is_replaced_keeps_its_names),
        cmocka_unit_test(test_a_stripped_python_takes_its_lock),
        cmocka_unit_test(test_places_are_bounded),
        cmocka_unit_test(test_files_may_hold_anything),
        cmocka_unit_test(test_lines_of_mappings_are_read),
    };

    return cmocka_run_group_tests_name("symbols", tests, make_scratch, remove_scratch);
}
