/* SPDX-License-Identifier: MIT */
/* conduct_test.c: lines of output come whole, in whatever pieces they were sent; what agents report is read. Questions and answers
 * are tested with real agents, by tests/command. */
#include "conduct/agent_requests.h"
#include "conduct/session_kept.h"
#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT_SIZE 20000
#define CASES     200

/* ---- lines ---- */

struct taken {
    char text[2 * TEXT_SIZE];
    size_t length, longest;
};

static void take(void *context, const char *text, size_t length)
{
    struct taken *taken = context;

    assert_int_equal(length, strlen(text));
    memcpy(taken->text + taken->length, text, length);
    taken->length += length;
    taken->text[taken->length++] = '\n';
    taken->longest = length > taken->longest ? length : taken->longest;
}

/* Random pieces of a random text: its lines, and an end that the last one may lack. */
static void test_lines(void **state)
{
    uint64_t random = seed_of_run("conduct");
    struct conduct_line *line = calloc(1, sizeof(*line));
    struct taken *taken = calloc(1, sizeof(*taken));
    char *text = malloc(TEXT_SIZE);

    (void)state;
    for (int i = 0; i < CASES; i++) {
        size_t length = random_below(&random, 3000), at = 0;
        for (size_t k = 0; k < length; k++)
            text[k] = random_below(&random, 20) == 0 ? '\n' : 'x';
        taken->length = 0;
        while (at < length) {
            size_t piece = 1 + random_below(&random, length - at);
            conduct_line_add(line, text + at, piece, take, taken);
            at += piece;
        }
        conduct_line_add(line, NULL, 0, take, taken);
        assert_int_equal(line->length, 0);
        assert_true(taken->length == length || taken->length == length + 1);
        assert_memory_equal(taken->text, text, length);
    }
    free(text);
    free(taken);
    free(line);
}

/* One without an end would need any memory: it is split, and nothing is lost. */
static void test_long_line(void **state)
{
    struct conduct_line *line = calloc(1, sizeof(*line));
    struct taken *taken = calloc(1, sizeof(*taken));
    char *text = malloc(TEXT_SIZE);
    size_t letters = 0;

    (void)state;
    memset(text, 'y', TEXT_SIZE);
    conduct_line_add(line, text, TEXT_SIZE, take, taken);
    conduct_line_add(line, NULL, 0, take, taken);
    for (size_t i = 0; i < taken->length; i++)
        letters += taken->text[i] == 'y';
    assert_int_equal(letters, TEXT_SIZE);
    assert_int_equal(taken->longest, CONDUCT_LINE_MOST - 1);
    free(text);
    free(taken);
    free(line);
}

/* ---- notices ---- */

static int read_text(const char *method, const char *text, struct conduct_notice *notice,
                     json_t **ret_params)
{
    struct problem problem = {""};

    *ret_params = json_loads(text, 0, NULL);
    assert_non_null(*ret_params);
    int result = notice_read(method, *ret_params, notice, &problem);
    assert_true(result == 0 || problem.text[0] != '\0');
    return result;
}

static void test_notices(void **state)
{
    static const struct {
        const char *method, *text;
        int result;
        enum notice_kind kind;
    } cases[] = {
        {"process.ended", "{\"pid\": 812, \"status\": 3}", 0, NOTICE_ENDED},
        {"process.ended", "{\"pid\": 812, \"signal\": 9}", 0, NOTICE_ENDED},
        {"process.ended", "{\"pid\": 812, \"signal\": 65}", -EPROTO, NOTICE_ENDED},
        {"process.ended", "{\"pid\": 0, \"status\": 3}", -EPROTO, NOTICE_ENDED},
        {"process.stopped", "{\"pid\": 812}", 0, NOTICE_STOPPED},
        {"process.continued", "{}", -EPROTO, NOTICE_CONTINUED},
        {"recording.idle", "{\"recording\": \"main\"}", 0, NOTICE_RECORDING_IDLE},
        {"recording.ended", "{\"reason\": \"agent\", \"message\": \"m\"}", 0,
         NOTICE_RECORDING_ENDED},
        {"recording.ended", "{\"reason\": \"agent\"}", -EPROTO, NOTICE_RECORDING_ENDED},
        {"note", "{\"text\": \"t\"}", 0, NOTICE_NOTE},
        {"view.record", "{\"row\": 1}", 0, NOTICE_OTHER},
    };
    struct conduct_notice notice;
    json_t *params;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(cases[i].result,
                         read_text(cases[i].method, cases[i].text, &notice, &params));
        assert_int_equal(cases[i].kind, notice.kind);
        json_decref(params);
    }
    read_text("recording.ended", cases[7].text, &notice, &params);
    assert_string_equal("agent", notice.reason);
    json_decref(params);
    read_text("process.ended", cases[1].text, &notice, &params);
    assert_true(notice.end.by_signal && notice.end.number == 9 && notice.pid == 812);
    json_decref(params);
}

static void test_notes_are_printed_once(void **state)
{
    json_t *printed = json_object();
    char text[40];

    (void)state;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 3 * NOTICE_NOTES_MOST; i++) {
            snprintf(text, sizeof(text), "note %u", i);
            const char *note = notice_note_once(printed, text);
            if (round == 0 && i < NOTICE_NOTES_MOST)
                assert_ptr_equal(note, text);
            else if (round == 0 && i == NOTICE_NOTES_MOST)
                assert_string_equal(note, "it has more notes; they are not printed");
            else
                assert_null(note);
        }
    assert_int_equal(json_object_size(printed), NOTICE_NOTES_MOST + 1);
    json_decref(printed);
}

/* ---- what is kept, and what is asked ---- */

static void test_kept_filter(void **state)
{
    struct kept_filter filter = {.number = 3,
                                 .name = "big",
                                 .machine = "store1",
                                 .folder = "/data/a b",
                                 .program = (char *)"filter",
                                 .files = {NULL, (char *)"/etc/rules"},
                                 .prefix = "f3-",
                                 .limits = {.max_bytes = 1ull << 40,
                                            .newest = true,
                                            .kept = {.max_files = 7, .max_age = 9000000000}},
                                 .process = {3, 812, 123456789012},
                                 .watched = true,
                                 .lacks = true},
                       again;
    json_t *kept = kept_filter_json(&filter);

    (void)state;
    assert_int_equal(kept_filter_read(kept, &again), 0);
    json_t *written = kept_filter_json(&again);
    assert_true(json_equal(kept, written));
    assert_int_equal(again.limits.kept.max_age, 9000000000);
    assert_int_equal(again.process.start, 123456789012);
    kept_filter_done(&again);
    json_object_del(kept, "folder");
    assert_int_equal(kept_filter_read(kept, &again), -EBADMSG);
    kept_filter_done(&again);
    json_decref(written);
    json_decref(kept);
}

/* The next controller may be started in another folder. */
static void test_kept_reach(void **state)
{
    json_t *reach = json_object();

    (void)state;
    assert_int_equal(chdir("/usr"), 0);
    kept_reach_set(reach, "rsh", "bin/ssh -v");
    assert_string_equal(kept_text(reach, "rsh") + strlen(kept_text(reach, "rsh")) -
                            strlen("/bin/ssh -v"),
                        "/bin/ssh -v");
    assert_true(kept_text(reach, "rsh")[0] == '/' || kept_text(reach, "rsh")[0] == '\'');
    kept_reach_set(reach, "rsh", "ssh -F x/y");
    assert_string_equal(kept_text(reach, "rsh"), "ssh -F x/y");
    kept_reach_set(reach, "dpm", "bin/dpm");
    assert_string_equal(kept_text(reach, "dpm"), "bin/dpm");
    json_decref(reach);
}

/* What an agent says too little of counts as nothing. */
static void test_recordings(void **state)
{
    json_t *said = json_pack("{s:b, s:I, s:i, s:s}", "active", 1, "records", (json_int_t)1 << 40,
                             "lost", -1, "processes", "many");
    const struct recording_said read = notice_recording(said), none = notice_recording(NULL);

    (void)state;
    assert_true(read.active && !read.begun && read.records == 1ull << 40 && read.lost == 0 &&
                read.processes == 0);
    assert_true(!none.active && !none.caught_up && none.records == 0);
    json_decref(said);
}

static void test_input(void **state)
{
    json_t *input = request_input(812, "a\0b", 3, true);

    (void)state;
    assert_int_equal(kept_number(input, "pid"), 812);
    assert_string_equal(kept_text(input, "data"), "YQBi");
    assert_true(json_is_true(json_object_get(input, "end")));
    json_decref(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_notices),     cmocka_unit_test(test_notes_are_printed_once),
        cmocka_unit_test(test_kept_filter), cmocka_unit_test(test_kept_reach),
        cmocka_unit_test(test_recordings),  cmocka_unit_test(test_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
