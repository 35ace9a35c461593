/* SPDX-License-Identifier: MIT */
/*
 * base_test.c: the interning table against a plain array, the growing array, problems.
 */
#include "base/amounts.h"
#include "base/base.h"
#include "base/process.h"
#include "seeded.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the interning table ---- */

/* The model: the keys in order of arrival; -ENOENT for an unknown key. */
static int64_t naive_find(const uint64_t *keys, size_t count, uint64_t key)
{
    for (size_t index = 0; index < count; index++)
        if (keys[index] == key)
            return (int64_t)index;
    return -ENOENT;
}

/* Keys as they occur: small numbers, numbers beyond those of a trace, multiples that all fall into one slot of a
 * poor table, arbitrary numbers. */
static uint64_t random_key(uint64_t *state)
{
    switch (random_below(state, 4)) {
    case 0:
        return random_below(state, 300);
    case 1:
        return random_below(state, 4) << 56 | random_below(state, 300);
    case 2:
        return random_below(state, 300) << 32;
    default:
        return random_number(state);
    }
}

static void check_intern(uint64_t *state, size_t steps)
{
    struct intern table = {0};
    uint64_t *keys = calloc(steps, sizeof(*keys));
    size_t count = 0;

    assert_non_null(keys);
    assert_int_equal(intern_find(&table, 0), -ENOENT);
    for (size_t step = 0; step < steps; step++) {
        uint64_t key = random_key(state);
        int64_t expected = naive_find(keys, count, key);
        assert_int_equal(intern_find(&table, key), expected);
        if (random_below(state, 4) == 0)
            continue;
        if (expected < 0) {
            expected = (int64_t)count;
            keys[count++] = key;
        }
        assert_int_equal(intern_add(&table, key), expected);
        assert_int_equal(table.count, count);
    }
    for (size_t index = 0; index < count; index++) {
        assert_int_equal(intern_find(&table, keys[index]), index);
        assert_int_equal(table.keys[index], keys[index]);
    }
    intern_done(&table);
    assert_int_equal(intern_find(&table, keys[0]), -ENOENT);
    free(keys);
}

static void test_intern_is_a_list_of_keys(void **unused)
{
    uint64_t state = seed_of_run("intern");

    (void)unused;
    for (size_t round = 0; round < 30; round++)
        check_intern(&state, 1 + random_below(&state, 2500));
}

static void test_intern_is_fast_for_many_keys(void **unused)
{
    struct intern table = {0};

    (void)unused;
    /* Quadratic behaviour on consecutive numbers would exceed the test's time limit. */
    for (uint64_t key = 0; key < 2000000; key++)
        assert_int_equal(intern_add(&table, 7ULL << 56 | key), key);
    for (uint64_t key = 0; key < 2000000; key += 1009)
        assert_int_equal(intern_find(&table, 7ULL << 56 | key), key);
    intern_done(&table);
}

/* ---- the growing array ---- */

static void test_array_grows_and_keeps_what_it_has(void **unused)
{
    uint64_t state = seed_of_run("array");
    uint32_t *array = NULL;
    size_t capacity = 0;
    size_t used = 0;

    (void)unused;
    while (used < 20000) {
        size_t count = used + 1 + random_below(&state, 100);
        assert_int_equal(array_reserve(&array, &capacity, count, sizeof(*array)), 0);
        assert_true(capacity >= count);
        for (size_t index = 0; index < capacity; index++)
            assert_int_equal(array[index], index < used ? index + 1 : 0);
        for (; used < count; used++)
            array[used] = (uint32_t)used + 1;
    }
    free(array);
}

static void test_array_refuses_what_overflows(void **unused)
{
    uint64_t *array = NULL;
    size_t capacity = 0;

    (void)unused;
    assert_int_equal(array_reserve(&array, &capacity, 5, sizeof(*array)), 0);
    uint64_t *before = array;
    size_t capacity_before = capacity;
    assert_int_equal(array_reserve(&array, &capacity, SIZE_MAX / 4, sizeof(*array)), -ENOMEM);
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, capacity_before);
    free(array);
}

/* ---- the hash ---- */

static void check_new(struct intern *seen, uint64_t hash)
{
    uint32_t count = seen->count;

    assert_int_equal(intern_add(seen, hash), count);
}

/* The hash depends on the bytes, their number and the hash before them. */
static void test_hash_tells_apart(void **unused)
{
    uint8_t bytes[200] = {0};
    struct intern seen = {0};

    (void)unused;
    for (size_t size = 0; size <= sizeof(bytes); size++)
        for (uint64_t before = 0; before < 3; before++)
            check_new(&seen, hash_bytes(before, bytes, size));
    for (size_t at = 0; at < sizeof(bytes); at++) {
        bytes[at] = 1;
        check_new(&seen, hash_bytes(0, bytes, sizeof(bytes)));
        assert_int_equal(hash_bytes(7, bytes, at), hash_bytes(7, bytes, at));
        bytes[at] = 0;
    }
    intern_done(&seen);
}

/* ---- the arena ---- */

static void test_arena_gives_memory_of_its_own_to_each(void **unused)
{
    enum { PIECES = 3000 };
    static uint8_t *pieces[PIECES];
    static size_t sizes[PIECES];
    struct arena arena = {0};
    uint64_t state = seed_of_run("arena");

    (void)unused;
    for (size_t i = 0; i < PIECES; i++) {
        sizes[i] = random_below(&state, random_below(&state, 100) == 0 ? 200000 : 300);
        pieces[i] = arena_allocate(&arena, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(pieces[i][at], i % 251);
    arena_done(&arena);
    assert_null(arena.block);
}

/* ---- problems ---- */

/* Resident memory of the process, in bytes. */
static size_t resident(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*s %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_reserved_memory_is_zero_and_takes_no_more_than_is_used(void **unused)
{
    size_t size = 1UL << 30, before = resident();
    uint64_t *memory = memory_reserve(size);

    (void)unused;
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    for (size_t i = 0; i < size / sizeof(*memory); i += size / 16 / sizeof(*memory)) {
        assert_int_equal(memory[i], 0);
        memory[i] = i + 1;
        assert_int_equal(memory[i], i + 1);
    }
    assert_in_range(resident() - before, 1, size / 8);
    memory_release(memory, size);
    memory_release(NULL, size);
    assert_null(memory_reserve(SIZE_MAX / 2));
}

static void test_problem_is_one_line_and_returns_the_error(void **unused)
{
    struct problem problem;
    char large[2 * sizeof(problem.text)];

    (void)unused;
    assert_int_equal(problem_set(&problem, -EINVAL, "%s: line %d", "file", 7), -EINVAL);
    assert_string_equal(problem.text, "file: line 7");
    problem_set(&problem, -EINVAL, "%s: none", "a\nb\x1b[31m\x7f");
    assert_string_equal(problem.text, "a?b?[31m?: none");
    assert_int_equal(problem_set(NULL, -ENOSPC, "%s", "nobody reads this"), -ENOSPC);
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    assert_int_equal(problem_set(&problem, -EIO, "%s", large), -EIO);
    assert_int_equal(strlen(problem.text), sizeof(problem.text) - 1);
}

/* ---- rights ---- */

/* Becomes the user nobody, with CAP_PERFMON, as by file capabilities. */
static bool become_nobody(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    struct __user_cap_data_struct *half = &data[CAP_PERFMON / 32];

    half->effective = half->permitted = 1u << CAP_PERFMON % 32;
    return prctl(PR_SET_KEEPCAPS, 1) == 0 && setresgid(65534, 65534, 65534) == 0 &&
           setresuid(65534, 65534, 65534) == 0 && syscall(SYS_capset, &header, data) == 0;
}

/* 0: cannot be read, as it must be; 1: it can; 2: could not be tried; 3: nor can its own. */
static int read_maps_of_root(pid_t root)
{
    FILE *file;

    if (!become_nobody())
        return 2;
    file = process_maps(root);
    if (file != NULL)
        return 1;
    prctl(PR_SET_DUMPABLE, 1);
    file = process_maps(getpid());
    return file != NULL ? 0 : 3;
}

static void test_maps_are_read_with_the_users_rights_only(void **state)
{
    pid_t root = getpid(), child;
    int status;

    (void)state;
    if (getuid() != 0)
        skip();
    child = fork();
    if (child == 0)
        _exit(read_maps_of_root(root));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the end of a process ---- */

static int go;

static void *exit_later(void *context)
{
    char byte;

    (void)context;
    (void)read(go, &byte, 1);
    _exit(4);
}

/* A process whose first thread ends before another one, which ends when `go` says so. */
static pid_t start_ending(void)
{
    pid_t pid = fork();
    pthread_t thread;

    if (pid == 0 && pthread_create(&thread, NULL, exit_later, NULL) == 0)
        pthread_exit(NULL);
    if (pid == 0)
        _exit(1);
    return pid;
}

/* It is not reaped. */
static void await_zombie(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void test_a_status_is_that_of_all_threads(void **state)
{
    int ends[2], status = 0;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    go = ends[0];
    pid_t pid = start_ending();
    assert_true(pid > 0);
    while (process_started(pid) != 0)
        usleep(1000);
    assert_false(process_has_ended(pid, &status));
    assert_false(process_await_end(pid, 20, &status));
    assert_true(process_lives(pid));
    assert_int_equal(write(ends[1], "", 1), 1);
    await_zombie(pid);
    assert_false(process_lives(pid));
    assert_true(process_await_end(pid, -1, &status));
    assert_false(process_lives(pid));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
    assert_false(process_await_end(pid, -1, &status));       /* reaped */
    assert_false(process_await_end(getppid(), -1, &status)); /* no child of ours */
    close(ends[0]);
    close(ends[1]);
}

/* The wait never ends before its time, and at most a millisecond after it. */
static void test_a_timeout_ends_at_its_time_or_soon_after(void **state)
{
    uint64_t seed = seed_of_run("poll_timeout");

    (void)state;
    assert_int_equal(poll_timeout(UINT64_MAX, 5), -1);
    assert_int_equal(poll_timeout(5, 5), 0);
    assert_int_equal(poll_timeout(5, 6), 0);
    assert_int_equal(poll_timeout(6, 5), 1);
    assert_int_equal(poll_timeout(UINT64_MAX - 1, 0), INT_MAX);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = random_below(&seed, 1ULL << 62), pause = random_below(&seed, 1ULL << 40);
        uint64_t timeout = (uint64_t)poll_timeout(now + pause, now) * 1000000;
        assert_true(timeout >= pause && timeout < pause + 1000000);
    }
}

static void test_times_have_any_unit(void **state)
{
    static const struct {
        const char *text;
        int result;
        uint64_t ns;
    } cases[] = {{"2", 0, 2000000000},     {"7ns", 0, 7},         {"1.5us", 0, 1500},
                 {"3ms", 0, 3000000},      {"4s", 0, 4000000000}, {"2.5m", 0, 150000000000},
                 {"1h", 0, 3600000000000}, {"5msec", -EINVAL, 0}, {"5M", -EINVAL, 0},
                 {"h", -EINVAL, 0},        {"1e9h", -ERANGE, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t ns = 0;
        assert_int_equal(parse_duration(cases[i].text, &ns), cases[i].result);
        assert_int_equal(ns, cases[i].ns);
    }
}

static bool advises_to_be_root(void)
{
    return strstr(privilege_advice(), "run dpm as root") != NULL;
}

static void test_only_other_users_are_to_be_root(void **state)
{
    int status;

    (void)state;
    assert_int_equal(advises_to_be_root(), geteuid() != 0);
    pid_t child = fork();
    if (child == 0) /* nobody, if we may */
        _exit(seteuid(65534) == 0 && !advises_to_be_root());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern_is_a_list_of_keys),
        cmocka_unit_test(test_intern_is_fast_for_many_keys),
        cmocka_unit_test(test_array_grows_and_keeps_what_it_has),
        cmocka_unit_test(test_array_refuses_what_overflows),
        cmocka_unit_test(test_hash_tells_apart),
        cmocka_unit_test(test_arena_gives_memory_of_its_own_to_each),
        cmocka_unit_test(test_reserved_memory_is_zero_and_takes_no_more_than_is_used),
        cmocka_unit_test(test_problem_is_one_line_and_returns_the_error),
        cmocka_unit_test(test_a_timeout_ends_at_its_time_or_soon_after),
        cmocka_unit_test(test_times_have_any_unit),
        cmocka_unit_test(test_only_other_users_are_to_be_root),
        cmocka_unit_test(test_maps_are_read_with_the_users_rights_only),
        cmocka_unit_test(test_a_status_is_that_of_all_threads),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
