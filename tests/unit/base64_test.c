/* SPDX-License-Identifier: MIT */
/* base64_test.c: bytes as text, against RFC 4648's examples, and back again. */
#include "base/base64.h"
#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_examples(void **state)
{
    static const char *const examples[][2] = {{"", ""},
                                              {"f", "Zg=="},
                                              {"fo", "Zm8="},
                                              {"foo", "Zm9v"},
                                              {"foob", "Zm9vYg=="},
                                              {"fooba", "Zm9vYmE="},
                                              {"foobar", "Zm9vYmFy"}};
    char text[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
        base64_encode(examples[i][0], strlen(examples[i][0]), text);
        assert_string_equal(text, examples[i][1]);
    }
}

/* Decoding gives back what was encoded, also in place. */
static void test_round_trip(void **state)
{
    uint64_t random = seed_of_run("base64");
    unsigned char bytes[300];
    char text[BASE64_LENGTH(sizeof(bytes)) + 1];

    (void)state;
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)random_below(&random, 256);
        base64_encode(bytes, size, text);
        assert_int_equal(strlen(text), BASE64_LENGTH(size));
        assert_int_equal(base64_decode(text, strlen(text), text), size);
        assert_memory_equal(text, bytes, size);
    }
}

static void test_refused(void **state)
{
    static const char *const wrong[] = {
        "A", "AB", "ABC", "A===", "====", "AB=C", "A=CD", "AB*D", "AB==AAAA", "Zm9v\n"};
    char bytes[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(base64_decode(wrong[i], strlen(wrong[i]), bytes), -EINVAL);
    assert_int_equal(base64_decode("A\0AA", 4, bytes), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
