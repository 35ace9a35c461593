/* SPDX-License-Identifier: MIT */
/*
 * descriptions_test.c: descriptions of raw records: the papers' own examples, errors with their place, DPM's own from the event
 * table, and values of random fields against a naive reader. raw_test.c converts records.
 */
#include "rules/descriptions.h"

#include "event/event.h"
#include "rules/rules.h"
#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HEADER "header 0, machine,0,4,16 traceType,4,4,10 time,8,4,10 procTime,12,4,10;\n"

static struct descriptions *parsed(const char *text)
{
    struct descriptions *descriptions = NULL;
    struct problem problem = {""};

    if (descriptions_parse("d", text, strlen(text), &descriptions, &problem) < 0)
        fail_msg("%s", problem.text);
    return descriptions;
}

static void refuses(const char *text, const char *expected)
{
    struct descriptions *descriptions;
    struct problem problem = {""};

    assert_int_equal(descriptions_parse("d", text, strlen(text), &descriptions, &problem), -EINVAL);
    assert_string_equal(problem.text, expected);
}

/* ---- the papers' ---- */

/* Figure 3.3 of the thesis, mended. */
static void test_figure(void **state)
{
    struct descriptions *all = parsed(
        HEADER "SENDMESSAGE 1,  fromTask,0,4,16  toTask,4,4,16  channel,8,4,10  code,12,4,10  "
               "sendLink,16,4,10  passLink,20,4,10;");

    (void)state;
    assert_int_equal(descriptions_count(all), 1);
    const struct description *send = descriptions_find(all, 1);
    assert_string_equal(send->name, "SENDMESSAGE");
    assert_int_equal(send->event, EVENT_SEND);
    assert_int_equal(descriptions_header(all)->size, 16);
    assert_int_equal(send->size, 24);
    const struct description_field *to = descriptions_meaning(all, send, MEANS_TO);
    assert_string_equal(to->name, "toTask");
    assert_int_equal(to->base, 16);
    assert_null(descriptions_meaning(all, send, MEANS_BYTES)); /* the figure has no length */
    assert_ptr_equal(descriptions_type_named(all, "send"), send);
    assert_ptr_equal(descriptions_type_named(all, "SendMessage"), send);
    assert_null(descriptions_type_named(all, "receive"));
    descriptions_free(all);
}

/* Figures 3.4 to 3.6, mended; readTask, writeTask and size are of a type that they do not describe. */
static void test_rules_of_figures(void **state)
{
    static const char text[] =
        "machine=3, traceType=1, time>10000;\n"
        "machine=1, type=1, fromTask=20003, toTask=30003, channel=0;\n"
        "machine=*, traceType=1, time=#*, procTime=#*, code=#*;\n"
        "type=8, readTask=writeTask, size>1024;\n"
        "traceType=Send, channel=#*, code=#*, sendLink=#*, passLink=#*;\n"
        "traceType=Receive, channel=#*, code=#*, passLink=#*;   traceType=ReceiveCall;   "
        "traceType=MessageQueued, channel=#*, code=#*;\n"
        "traceType=Send, sendLink=#*, passLink=#*;   traceType=Receive, passLink=#*;\n";
    struct descriptions *all =
        parsed(HEADER "SENDMESSAGE 1, fromTask,0,4,16 toTask,4,4,16 channel,8,4,10 code,12,4,10 "
                      "sendLink,16,4,10 passLink,20,4,10;"
                      "RECEIVECALL 2, task,0,4,16:process; RECEIVE 3, fromTask,0,4,16 "
                      "toTask,4,4,16 channel,8,4,10;"
                      "MESSAGEQUEUED 4, fromTask,0,4,16 toTask,4,4,16 channel,8,4,10;"
                      "MOVE 8, readTask,0,4,16 writeTask,4,4,16 size,8,4,10;");
    struct rules *rules;
    struct problem problem = {""};

    (void)state;
    if (rules_parse_raw("r", text, strlen(text), all, &rules, &problem) < 0)
        fail_msg("%s", problem.text);
    assert_int_equal(rules_count(rules), 10);
    /* constants are read in the field's base */
    const struct rule_condition *second = rules_conditions(rules, rules_at(rules, 1));
    assert_int_equal(second[2].value, 0x20003);
    /* time is kept, procTime goes */
    assert_int_equal(rules_discards(rules, 2, EVENT_SEND), 1u << 5);
    rules_free(rules);
    descriptions_free(all);
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    (void)state;
    refuses("", "d:1:1: the text ends: expected 'header', a number and fields");
    refuses("SEND 1, a,0,4,10;", "d:1:1: 'SEND': expected 'header' before all types");
    refuses(HEADER "SEND 1, a,0,4;", "d:2:14: ';': expected ',' and the field's number base");
    refuses(HEADER "SEND 1, a,0,0,10;",
            "d:2:9: 'a': expected a field of 1 byte or more that ends within 4096 bytes");
    refuses(HEADER "SEND 1, a,99999999999999999999,4,10;",
            "d:2:11: '99999999999999999999': expected the field's offset, at most 4096");
    refuses(HEADER "SEND 1, a,0,4,77;",
            "d:2:15: '77': expected a number base, 2 to 36 (-10: a signed "
            "number), or 'text'");
    refuses(HEADER "SEND 1, a,0,4,10 a,4,4,10;",
            "d:2:18: 'a': expected another name: SEND has such a field already");
    refuses(
        HEADER "SEND 1, a,0,4,10:from b,4,4,10:from;",
        "d:2:23: 'b': expected another meaning: a is from already (':none' if this one is not)");
    refuses(HEADER "SEND 1, a,0,16,10:from;", "d:2:9: 'a': expected at most 8 bytes for from");
    refuses(HEADER "SEND 1; SEND 2;",
            "d:2:9: 'SEND': expected another name and number: SEND has number 1");
    refuses(HEADER "SEND 1", "d:2:7: the text ends: expected the name of a field, or ';'");
    refuses(HEADER "MOVE 1:sned;", "d:2:8: 'sned': expected an event: send, receive, receivecall, "
                                   "messagequeued, createpath, connect, accept, destroypath, "
                                   "createprocess, termination ..., or none");
    refuses("header 0, time,0,4,10;",
            "d:1:1: 'header': expected a header with the type of the record: traceType, type");
    refuses("set timeUnit=fortnight;",
            "d:1:14: 'fortnight': expected a unit of time: ns, us, ms, s, or e.g. 10ms");
    refuses("set colour=red;",
            "d:1:5: 'colour': expected system, byteOrder, timeUnit, cpuTimeUnit or paths");
}

static void lacks(const char *text, const char *expected)
{
    struct descriptions *all = parsed(text);
    struct problem problem = {""};

    assert_int_equal(descriptions_check(all, &problem), -EINVAL);
    assert_string_equal(problem.text, expected);
    descriptions_free(all);
}

/* What a trace cannot do without. */
static void test_check(void **state)
{
    (void)state;
    lacks(HEADER, "nothing says in which unit times are: add 'set timeUnit=ms;' (ns, us, ms, s, "
                  "10ms ...)");
    lacks("set timeUnit=us; header 0, type,0,4,10;",
          "the header has no time: add ':time' to a field");
    lacks("set timeUnit=us;" HEADER "SEND 1, channel,0,4,10;",
          "SEND: no field says which process it is: add ':process' to one");
    lacks("set timeUnit=us;" HEADER "SEND 1, pid,0,4,10;",
          "SEND: no fields say between whom the message goes: add ':from' and ':to', or ':source' "
          "and ':destination'");
    lacks("set timeUnit=us, paths=bytes;" HEADER "SEND 1, fromTask,0,4,10 toTask,4,4,10;",
          "SEND: paths=bytes needs the bytes of each message: add ':bytes' to a field");
    lacks("set timeUnit=us;" HEADER "FORK 1, pid,0,4,10;",
          "FORK: no field says which process is created: add ':child' to one");
}

/* ---- DPM's own ---- */

/* Every field of the event table is described, at its place. */
static void test_own(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    (void)state;
    descriptions_print_own(file);
    fclose(file);
    struct descriptions *all = parsed(text);
    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        const struct event_type *type = event_type(id);
        const struct description *own = descriptions_find(all, id);
        if (type == NULL)
            continue;
        assert_non_null(own);
        assert_string_equal(own->name, type->name);
        for (uint32_t i = 0; type->fields[i].name != NULL; i++) {
            const struct description_field *field = descriptions_field(all, own, i);
            assert_true(i < own->count);
            assert_string_equal(field->name, type->fields[i].name);
            assert_int_equal(descriptions_header(all)->size + field->offset,
                             type->fields[i].offset);
            assert_int_equal(field->length, type->fields[i].size);
        }
    }
    descriptions_free(all);
    free(text);
}

/* ---- values ---- */

/* A number of 1 to 8 bytes at any place, in either order, signed or not. */
static void test_values(void **state)
{
    uint64_t seed = seed_of_run("descriptions");
    unsigned char bytes[64];

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct description_field field = {.length = (uint16_t)(1 + random_below(&seed, 8)),
                                          .offset = (uint16_t)random_below(&seed, 56),
                                          .is_signed = random_below(&seed, 2) == 0};
        bool big = random_below(&seed, 2) == 0;
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (unsigned char)random_number(&seed);
        uint64_t expected = 0;
        for (unsigned i = 0; i < field.length; i++)
            expected = expected * 256 + bytes[field.offset + (big ? i : field.length - 1u - i)];
        if (field.is_signed && field.length < 8 && expected >= 1ull << (8 * field.length - 1))
            expected -= 1ull << 8 * field.length;
        assert_int_equal(description_value(&field, big, bytes), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure), cmocka_unit_test(test_rules_of_figures),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_check),
        cmocka_unit_test(test_own),    cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
