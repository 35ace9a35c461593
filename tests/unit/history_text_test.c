/* SPDX-License-Identifier: MIT */
/*
 * history_text_test.c: a case that is malformed or fails reports where and why (history_text.h).
 */
#include "history_text.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define PIPE "name: what it shows\nSTREAM s1, s2 / PATH p1>p2 pipe\n"

struct told {
    const char *text;
    const char *problem; /* beginning of the report; NULL: the case holds */
};

static void assert_told(const struct told *told, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *problem = history_text_check(told[i].text);
        const char *expected = told[i].problem;
        bool is_as_expected =
            expected == NULL ? problem == NULL
                             : problem != NULL && strncmp(problem, expected, strlen(expected)) == 0;
        if (!is_as_expected)
            fprintf(stderr, "# %s\n# expected: %s\n# found: %s\n", told[i].text,
                    expected == NULL ? "it holds" : expected,
                    problem == NULL ? "it holds" : problem);
        free(problem);
        assert_true(is_as_expected);
    }
}

static void malformed(void **state)
{
    static const struct told cases[] = {
        {"no colon\n", "line 1, column 1: no line \"name: what the case shows\": \"no colon\""},
        {PIPE "@10 s1#1 SENT p1 [0,10)\n",
         "line 3, column 10: no type of record: \"SENT p1 [0,10)\""},
        {PIPE "@10 s1#1 SEND [0,10)\n", "line 3, column 15: p and a number are missing"},
        {PIPE "@10 s1#1 SEND p3 [0,10)\n", "line 3, column 15: no PATH before: \"p3"},
        {PIPE "@10 s1#1 SEND p1\n", "line 3, column 17: [FROM,TO) or dNUMBER:BYTES is missing"},
        {PIPE "@10 s1#1 SEND p1 [0,10]\n", "line 3, column 23: \")\" is missing"},
        {PIPE "@10 s1#1 SEND p1 [0,10) LOUD\n", "line 3, column 25: not understood: \"LOUD\""},
        {PIPE "@10 s1 SEND p1 [0,10)\n", "line 3, column 8: \"#\" is missing"},
        {PIPE "@10x s1#1 EXEC\n", "line 3, column 4: no unit of time"},
        {PIPE "@10 s1#1 EXEC\n@9 s1#2 EXEC\n", "line 4, column 1: goes back in time"},
        {PIPE "@10..9 s1#1 SEND p1 [0,1)\n", "line 3, column 1: ends before it begins"},
        {PIPE "@1..2 s1#1 EXEC\n", "line 3, column 1: no type of record that takes time"},
        {PIPE "@10 s1#1 BLOCK wait4\n", "line 3, column 1: @BEGIN..END is missing"},
        {PIPE "@5..10 s1#1 BLOCK sleep\n", "line 3, column 19: no system call that is known here"},
        {PIPE "@10 s1#1 EXEC <-\n", "line 3, column 17: s and a number are missing"},
        {PIPE "@10 s1#1 EXEC <- s2#1:5\n", "line 3, column 18: means no record: \"s2#1:5\""},
        {PIPE "@10 s1#1 EXEC\n@10 s1#1 EXEC <- s1#1:5\n",
         "line 4, column 18: means several records"},
        {PIPE "@10 s1#1 EXEC <- s1#1\n", "line 3, column 22: BYTES, or a kind of edge, is missing"},
        {PIPE "@10 s1#1 EXEC <- s1#1:5 sure\n", "line 3, column 25: not understood: \"sure\""},
        {PIPE "@10 s1#1 EXEC <- 5\n", "line 3, column 19: why these bytes have no edge is missing"},
        {PIPE "@10 s1#1 EXEC <- 5 external, s1#1:5\n", "line 3, column 28: not understood"},
        {PIPE "@10 LOST 1\n", "line 3, column 11: \"before\" is missing"},
        {PIPE "@10 LOST 4294967296 before s1#2\n", "line 3, column 10: more than 32 bits"},
        {PIPE "@10 s1#1 PATH\n",
         "line 3, column 14: no type of record that a stream or the kernel"},
        {PIPE "s1#1 EXEC\n", "line 3, column 1: no statement"},
        {PIPE "order s1#1\n", "line 3, column 6: means no record"},
        {PIPE "then 1 surprise\n", "line 3, column 8: no such count: \"surprise\""},
        {PIPE "PATH p3 pipe\n", "line 3, column 13: \"to\" is missing"},
        {PIPE "PATH p3>p4 tube\n", "line 3, column 12: no kind of path"},
        {PIPE "MACHINE A\n", "line 3, column 1: comes too late"},
    };

    (void)state;
    assert_told(cases, ARRAY_SIZE(cases));
}

#define SENT PIPE "@10 s1#1 SEND p1 [0,10)\n@20 s2#1 RECEIVE p2 [0,10)"

static void differs(void **state)
{
    static const struct told cases[] = {
        {SENT " <- s1#1:10\n", NULL},
        {SENT " <- s1#1:10 exact / order s1#1 s2#1\n", NULL},
        {SENT "\n",
         "  @20 s2#1 RECEIVE p2 [0,10)\n    expected <- nothing\n    found    <- s1#1:10\n"},
        {SENT " <- s1#1:9\n",
         "  @20 s2#1 RECEIVE p2 [0,10) \n    expected <- s1#1:9\n    found    <- s1#1:10\n"},
        {SENT " <- s1#1:10 ordered\n", "  @20 s2#1 RECEIVE p2 [0,10) \n    expected <- s1#1:10 "
                                       "ordered\n    found    <- s1#1:10\n"},
        {SENT " <- s1#1:10, 5 external\n", "  @20 s2#1 RECEIVE p2 [0,10) \n"
                                           "    expected <- s1#1:10, 5 external\n"},
        {SENT " <- s1#1:10 / order s2#1 s1#1\n", "  order: s1#1 came out before s2#1\n"},
        {SENT " <- s1#1:10 / then 1 lost, 2 stalls\n",
         "    expected then 1 lost, 2 stalls\n    found    then nothing\n"},
    };

    (void)state;
    assert_told(cases, ARRAY_SIZE(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed),
        cmocka_unit_test(differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
