/* SPDX-License-Identifier: MIT */
/* remote_programs_test.c: a program that a machine lacks arrives there whole, wherever the copy was broken off; and a machine
 * that answers anything ends it with one line. */
#include "remote/remote.h"

#include "base/base64.h"
#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE_MOST (3u << 20)

static uint64_t seed;
static char program[] = "/tmp/dpm-program-XXXXXX";
static unsigned char here[SIZE_MOST], there[2 * SIZE_MOST];
static size_t size;

/* The machine. */
static struct {
    size_t bytes; /* that it has */
    char hash[64];
    unsigned asked;
    bool lies;      /* answers anything */
    unsigned fails; /* of a hundred requests */
} machine;

static json_t *any(void)
{
    switch (random_below(&seed, 7)) {
    case 0:
        return json_null();
    case 1:
        return json_array();
    case 2:
        return json_pack("{s:s}", "bytes", "many");
    case 3:
        return json_pack("{s:I, s:i}", "bytes", (json_int_t)-5, "complete", 1);
    case 4:
        return json_pack("{s:I}", "bytes", (json_int_t)random_below(&seed, 2 * SIZE_MOST));
    case 5:
        return json_pack("{s:I, s:b}", "bytes", (json_int_t)0, "complete", 0);
    default:
        return json_object();
    }
}

static json_t *state(void)
{
    return json_pack("{s:I, s:b}", "bytes", (json_int_t)machine.bytes, "complete",
                     machine.bytes == size);
}

static int take(json_t *params, json_t **ret_result)
{
    const char *data = json_string_value(json_object_get(params, "data"));
    json_int_t offset = json_integer_value(json_object_get(params, "offset"));

    assert_int_equal(json_integer_value(json_object_get(params, "size")), (json_int_t)size);
    assert_int_equal(offset, (json_int_t)machine.bytes);
    assert_non_null(data);
    /* there is space for the largest chunk behind the largest program */
    int64_t length = base64_decode(data, strlen(data), there + offset);
    assert_true(length > 0);
    machine.bytes += (size_t)length;
    *ret_result = state();
    return 0;
}

static const char *home_of(json_t *params)
{
    const char *user = json_string_value(json_object_get(params, "user"));

    return user == NULL ? "/home/user" : strcmp(user, "bob") == 0 ? "/home/bob" : "/";
}

static int answer(void *context, const char *method, json_t *params, json_t **ret_result,
                  struct problem *problem)
{
    int result = 0;

    (void)context;
    if (++machine.asked > 1000)
        fail_msg("the machine is asked for ever");
    if (random_below(&seed, 100) < machine.fails)
        result = problem_set(problem, -ENOTCONN, "web1: it cannot be reached any more");
    else if (machine.lies)
        *ret_result = any();
    else if (strcmp(method, "program.find") == 0)
        *ret_result = json_pack("{s:s?}", "directory", home_of(params));
    else if (strcmp(method, "program.has") == 0)
        *ret_result = state();
    else
        result = take(params, ret_result);
    json_decref(params);
    return result;
}

static const struct remote_asking asking = {.host = "web1", .ask = answer};

static int find(char hash[REMOTE_HASH_SIZE], struct problem *problem)
{
    char directory[PATH_MAX];

    machine.asked = 0;
    return remote_find_program(&asking, program, "/here", NULL, hash, directory, problem);
}

static void make_program(void)
{
    size = 1 + (size_t)random_below(&seed, random_below(&seed, 2) == 0 ? 5000 : SIZE_MOST - 1);
    for (size_t i = 0; i < size; i++)
        here[i] = (unsigned char)random_number(&seed);
    FILE *file = fopen(program, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(here, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    memset(&machine, 0, sizeof(machine));
}

static void it_arrives_whole(void **unused)
{
    char hash[REMOTE_HASH_SIZE], first[REMOTE_HASH_SIZE] = "";
    struct problem problem;

    (void)unused;
    seed = seed_of_run("whole");
    for (unsigned round = 0; round < 8; round++) {
        make_program();
        machine.fails = 20;
        int result;
        while ((result = find(hash, &problem)) < 0)
            assert_int_equal(result, -ENOTCONN); /* another controller, or another try */
        assert_int_equal(machine.bytes, size);
        assert_memory_equal(here, there, size);
        assert_int_equal(strspn(hash, "0123456789abcdef"), REMOTE_HASH_SIZE - 1);
        assert_string_not_equal(hash, first);
        memcpy(first, hash, sizeof(first));
    }
}

static void lies_end_it(void **unused)
{
    char hash[REMOTE_HASH_SIZE];
    struct problem problem;

    (void)unused;
    seed = seed_of_run("lies");
    for (unsigned round = 0; round < 300; round++) {
        if (round % 30 == 0)
            make_program();
        machine.lies = true;
        problem.text[0] = '\0';
        int result = find(hash, &problem);
        assert_true(result <= 0);
        assert_true(result == 0 || (problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL));
    }
}

static void what_is_nowhere_is_named(void **unused)
{
    char hash[REMOTE_HASH_SIZE], directory[PATH_MAX];
    struct problem problem;

    (void)unused;
    memset(&machine, 0, sizeof(machine));
    assert_int_equal(
        remote_find_program(&asking, "./none", "/here", NULL, hash, directory, &problem), -ENOENT);
    assert_non_null(strstr(problem.text, "./none"));
    assert_int_equal(remote_find_program(&asking, "none", "/here", NULL, hash, directory, &problem),
                     -ENOENT);
    assert_int_equal(
        remote_find_program(&asking, "/tmp/", "/here", NULL, hash, directory, &problem), -ENOENT);
}

/* A program runs in the home of the user that it runs as, not in the agent's. */
static void the_home_is_that_of_the_user(void **unused)
{
    char hash[REMOTE_HASH_SIZE], directory[PATH_MAX];
    struct problem problem;

    (void)unused;
    seed = seed_of_run("home");
    make_program();
    assert_int_equal(
        remote_find_program(&asking, program, "/here", "bob", hash, directory, &problem), 0);
    assert_string_equal("/home/bob", directory);
    assert_int_equal(
        remote_find_program(&asking, program, "/here", NULL, hash, directory, &problem), 0);
    assert_string_equal("/home/user", directory);
}

static int begin(void **unused)
{
    int file = mkstemp(program);

    (void)unused;
    return file < 0 ? -1 : close(file);
}

static int end(void **unused)
{
    (void)unused;
    return unlink(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_arrives_whole),
        cmocka_unit_test(lies_end_it),
        cmocka_unit_test(what_is_nowhere_is_named),
        cmocka_unit_test(the_home_is_that_of_the_user),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
