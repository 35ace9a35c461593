/* SPDX-License-Identifier: MIT */
/* rules_test.c: selection rules: what is accepted, what is refused and how, and the verdict on random records. */
#include "rules/rules.h"
#include "rules_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct rules *parse(const char *text)
{
    struct rules *rules = NULL;
    struct problem problem;

    if (rules_parse("r", text, strlen(text), &rules, &problem) < 0)
        fail_msg("%s: %s", text, problem.text);
    return rules;
}

/* ---- the papers ---- */

/* Each line as it stands there. */
static const char *const papers[] = {
    "machine=3, traceType=1, time>10000;",
    "machine=1, type=1, fromTask=20003, toTask=30003, channel=0;",
    "machine=*, traceType=1, time=#*, procTime=#*, code=#*;",
    "type=8, readTask=writeTask, size>1024;",
    "traceType=Send, channel=#*, code=#*, sendLink=#*, passLink=#*;",
    "traceType=Receive, channel=#*, code=#*, passLink=#*;   traceType=ReceiveCall;   "
    "traceType=MessageQueued, channel=#*, code=#*;",
    "traceType=Send, sendLink=#*, passLink=#*;   traceType=Receive, passLink=#*;",
};

static void papers_are_accepted(void **state)
{
    static const uint32_t counts[] = {1, 1, 1, 1, 1, 3, 2};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(papers); i++) {
        struct rules *rules = parse(papers[i]);
        assert_int_equal(rules_count(rules), counts[i]);
        rules_free(rules);
    }
}

static void type_names_are_synonyms(void **state)
{
    static const char *const same[] = {"type=Send;",          "traceType=SENDMESSAGE;",
                                       "type = sendmessage;", "id=1;",
                                       "type=0x1;",           "TYPE==send;"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        struct rules *rules = parse(same[i]);
        assert_int_equal(rules_types(rules), EVENT_FLAG(EVENT_SEND));
        rules_free(rules);
    }
}

/* ---- errors ---- */

static void errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *problem;
    } wrong[] = {
        {"type=send", "r:1:10: the text ends: expected ',' and another condition, or ';'"},
        {"# x\n  type=sned;", "r:2:8: 'sned': expected a type of event"},
        {"typ=1;", "r:1:1: 'typ': expected the name of a field"},
        {"type;", "r:1:5: ';': expected =, !=, <, >, <= or >="},
        {"type=;", "r:1:6: ';': expected a value"},
        {"type=send,;", "r:1:11: ';': expected the name of a field"},
        {"bytes>1x;", "r:1:7: '1x': expected a number (with K, M, G)"},
        {"duration>1K;", "r:1:10: '1K': expected a number (ns, or with ns, us, ms, s, m, h)"},
        {"bytes>-1;", "r:1:7: '-1': expected a number"},
        {"bytes>18446744073709551616;", "r:1:7: '18446744073709551616': expected a number"},
        {"flags=xyz;", "r:1:7: 'xyz': expected a number in base 16"},
        {"process<x;", "r:1:9: 'x': expected = or != before it: process is a text"},
        {"bytes>*;", "r:1:7: '*': expected '=' before '*'"},
        {"pid=#*;", "r:1:5: '#': expected a value without '#': pid cannot be discarded"},
        {"type=path;", "r:1:6: 'path': expected a type of event; rules keep every PATH"},
        {"bytes=pid;", "r:1:7: 'pid': expected a number, or a field with one number of the same"},
        {"command=\"a\nb\";",
         "r:1:11: '?': expected '\"', which ends the text that begins in line 1"},
        {"kind=tpc;", "r:1:6: 'tpc': expected a kind of path, such as tcp, unix-stream or file"},
        {"kind!=\"uni?\";", "r:1:7: '\"': expected a kind of path"},
        {"type!send;", "r:1:5: '!': expected '!='"},
        {"type=send; ;", "r:1:12: ';': expected the name of a field"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct rules *rules = NULL;
        struct problem problem = {""};
        assert_int_equal(rules_parse("r", wrong[i].text, strlen(wrong[i].text), &rules, &problem),
                         -EINVAL);
        if (strncmp(problem.text, wrong[i].problem, strlen(wrong[i].problem)) != 0)
            fail_msg("'%s': '%s' is not '%s'", wrong[i].text, problem.text, wrong[i].problem);
    }
}

static void kinds_are_names_or_patterns(void **state)
{
    static const char *const right[] = {"kind=tcp;",    "kind=\"unix-stream\";",
                                        "kind!=unix*;", "kind=?dp;",
                                        "kind=[tu]*;",  "kind=*;",
                                        "kind=7;",      "kind>=2;",
                                        "kind=unknown;"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(right); i++)
        rules_free(parse(right[i]));
}

static void there_are_limits(void **state)
{
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE), *end = text;
    struct rules *rules;
    struct problem problem;

    (void)state;
    for (unsigned i = 0; i <= RULES_FACTS_MOST; i++)
        end += sprintf(end, "pid=%u;", i);
    assert_int_equal(rules_parse("r", text, (size_t)(end - text), &rules, &problem), -E2BIG);
    end = text;
    for (unsigned i = 0; i <= RULES_CONDITIONS_MOST; i++)
        end += sprintf(end, "bytes>%u,", i);
    end += sprintf(end, "bytes=1;");
    assert_int_equal(rules_parse("r", text, (size_t)(end - text), &rules, &problem), -EINVAL);
    end = text;
    for (unsigned i = 0; i <= RULES_MOST; i++)
        end += sprintf(end, "bytes>%u;", i);
    assert_int_equal(rules_parse("r", text, (size_t)(end - text), &rules, &problem), -EINVAL);
    free(text);
}

/* ---- the table ---- */

/* A condition has one place for all types: the fields of one name are at the same bytes everywhere, and a path is the
 * first field of all that have one. */
static void fields_have_one_place(void **state)
{
    (void)state;
    for (unsigned a = 1; a < EVENT_ID_END; a++) {
        if (event_type(a) != NULL && rules_decide_about(a))
            assert_int_equal(event_size(a), sizeof(struct record));
        for (unsigned b = 1; b < EVENT_ID_END; b++) {
            if (event_type(a) == NULL || event_type(b) == NULL || !rules_decide_about(a) ||
                !rules_decide_about(b))
                continue;
            for (const struct event_field *one = event_type(a)->fields; one->name != NULL; one++) {
                assert_true(strcmp(one->name, "path") != 0 || one == event_type(a)->fields);
                for (const struct event_field *two = event_type(b)->fields; two->name != NULL;
                     two++)
                    if (strcmp(one->name, two->name) == 0) {
                        assert_int_equal(one->offset, two->offset);
                        assert_int_equal(one->size, two->size);
                        assert_int_equal(one->kind, two->kind);
                    }
            }
        }
    }
}

/* ---- verdicts ---- */

#define RULES_OF_ROUND 6
#define RECORDS        400

static void check_verdict(const struct world *world, const struct naive_rule *naive, unsigned count,
                          const struct record *record, const struct rules_verdict *verdict,
                          const char *text)
{
    uint64_t absent;
    int rule = naive_judge(world, naive, count, record, &absent);

    if (verdict->accepted == (rule >= 0) && (rule < 0 || verdict->rule == (uint32_t)rule) &&
        verdict->absent == absent)
        return;
    fail_msg("a record of type %u, stream %u, path %u: rule %d, absent 0x%" PRIx64
             "; naively %d, 0x%" PRIx64 "; rules:\n%s",
             record->header.id, record->header.stream, record->message.path,
             verdict->accepted ? (int)verdict->rule : -1, verdict->absent, rule, absent, text);
}

static void run_round(uint64_t seed, uint64_t *accepted, uint64_t *judged)
{
    struct world world = {.seed = seed, .time = 1000};
    struct naive_rule naive[RULES_OF_ROUND];
    unsigned count = (unsigned)world_below(&world, RULES_OF_ROUND + 1);
    char text[4096] = "", *end = text;
    struct rules_judge *judge;
    struct problem problem;

    for (unsigned i = 0; i < count; i++)
        naive_make_rule(&world, &naive[i]);
    for (unsigned i = 0; i < count; i++)
        end = naive_text(&world, &naive[i], end);
    struct rules *rules = parse(text);
    assert_int_equal(rules_count(rules), count);
    assert_int_equal(rules_judge_new(rules, &judge), 0);
    for (unsigned i = 0; i < RECORDS; i++) {
        union world_record record;
        struct rules_verdict verdict;
        world_make(&world, i, &record);
        const struct event event = {.header = &record.header};
        assert_int_equal(rules_judge(judge, &event, &verdict, &problem), 0);
        if (!rules_decide_about(record.header.id) || count == 0) {
            assert_true(verdict.accepted && verdict.rule == RULES_NONE && verdict.absent == 0);
            continue;
        }
        check_verdict(&world, naive, count, &record.event, &verdict, text);
        *accepted += verdict.accepted;
        (*judged)++;
    }
    rules_judge_free(judge);
    rules_free(rules);
}

static void verdict_is_that_of_a_naive_evaluator(void **state)
{
    uint64_t seed = seed_of_run("rules"), accepted = 0, judged = 0;
    uint64_t rounds = rounds_of_run(9000);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++)
        run_round(random_number(&seed), &accepted, &judged);
    /* else the test would show nothing */
    assert_true(accepted > judged / 20 && accepted < judged / 20 * 19);
}

/* A field that an earlier selection has removed makes a condition on it false. */
static void absent_fields_make_conditions_false(void **state)
{
    struct record send = {.header = {.id = EVENT_SEND, .stream = 1}, .message.bytes = 0};
    const struct event whole = {.header = &send.header};
    const struct event lacking = {.header = &send.header, .absent = EVENT_BODY_FIELD_BIT(2)};
    static const char *const texts[] = {"bytes=0;", "bytes=*;", "size<1;", "bytes!=1;"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct rules *rules = parse(texts[i]);
        struct rules_judge *judge;
        struct rules_verdict verdict;
        assert_int_equal(rules_judge_new(rules, &judge), 0);
        assert_int_equal(rules_judge(judge, &whole, &verdict, NULL), 0);
        assert_true(verdict.accepted);
        assert_int_equal(rules_judge(judge, &lacking, &verdict, NULL), 0);
        assert_false(verdict.accepted);
        rules_judge_free(judge);
        rules_free(rules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(papers_are_accepted),
        cmocka_unit_test(type_names_are_synonyms),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(kinds_are_names_or_patterns),
        cmocka_unit_test(there_are_limits),
        cmocka_unit_test(fields_have_one_place),
        cmocka_unit_test(verdict_is_that_of_a_naive_evaluator),
        cmocka_unit_test(absent_fields_make_conditions_false),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
