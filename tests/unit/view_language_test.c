/* SPDX-License-Identifier: MIT */
/*
 * view_language_test.c: the attribute and view languages: the examples of the Issos paper, errors with their places,
 * random expressions that are written and read again, and Kleene's logic.
 */
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "seeded.h"

static struct view_file *parse(const char *text)
{
    struct view_file *file = NULL;
    struct problem problem = {""};

    if (view_parse("test", text, strlen(text), &file, &problem) < 0)
        fail_msg("%s: %s", text, problem.text);
    return file;
}

/* Ogle, Schwan, Snodgrass 1993, pages 768 and 773; what the scan of the paper has lost is mended. */
static const char paper[] = "ATTRIBUTE DEFINITION FOR OBJECT\n"
                            "    QueueManager\n"
                            "requestDuration: (endRequestTime -\n"
                            "    beginRequestTime);\n"
                            "queuesize: q_size;\n"
                            "END ATTRIBUTE DEF\n"
                            "VIEW DEF Both-Queue-Limits-Exceeded\n"
                            "    (thisqueuesize:\n"
                            "    QueueManager[1].queueSize)\n"
                            "ACTIVE WHEN (QueueManager[1].\n"
                            "    queueSize > 24)\n"
                            "    AND (QueueManager[2].\n"
                            "    queuesize > 24);\n"
                            "CORRECT TO WITHIN 25 MS;\n"
                            "NOTIFY 119 OF seventh@cis.ohio-state.edu\n"
                            "    WITHIN 1000 MS;\n"
                            "END VIEW DEF\n"
                            "VIEW DEF Queue-size (Queuesize:\n"
                            "    Queue-manager.Queuesize)\n"
                            "ACTIVE WHEN (Queue-manager.Queuesize\n"
                            "    >= 15);\n"
                            "CORRECT TO WITHIN 25 MSEC;\n"
                            "NOTIFY 119 OF seventh@cis.ohio-state.edu\n"
                            "    WITHIN 875 MS;\n"
                            "END VIEW DEF\n";

static void examples_of_the_paper(void **state)
{
    struct view_file *file = parse(paper);

    (void)state;
    assert_int_equal(1, file->object_count);
    const struct view_object *object = &file->objects[0];
    assert_string_equal("QueueManager", object->name);
    assert_int_equal(2, object->attribute_count);
    assert_string_equal("requestDuration", object->attributes[0].name);
    assert_string_equal("(endRequestTime -     beginRequestTime)", object->attributes[0].body);
    assert_int_equal(2, object->attributes[0].variable_count);
    assert_string_equal("beginRequestTime", object->attributes[0].variables[1]);
    assert_string_equal("q_size", object->attributes[1].variables[0]);

    assert_int_equal(2, file->view_count);
    const struct view *view = &file->views[0];
    assert_string_equal("Both-Queue-Limits-Exceeded", view->name);
    assert_int_equal(1, view->target_count);
    assert_string_equal("thisqueuesize", view->targets[0].name);
    assert_int_equal(2, view->entity_count);
    assert_int_equal(2, view->reference_count); /* names are compared without case */
    assert_int_equal(VIEW_AND, view->predicate->kind);
    assert_true(view->has_correct && view->notifies);
    assert_int_equal(25000000, view->correct);
    assert_int_equal(119, view->port);
    assert_string_equal("seventh@cis.ohio-state.edu", view->host);
    assert_int_equal(1000000000, view->within);

    view = &file->views[1];
    assert_string_equal("Queue-manager", view->entities[0].object);
    assert_int_equal(VIEW_ONLY, view->entities[0].index);
    assert_int_equal(VIEW_GREATER_EQUAL, view->predicate->kind);
    assert_int_equal(875000000, view->within);
    view_file_free(file);
}

static void what_may_be_left_out(void **state)
{
    struct view_file *file =
        parse("# a comment\nview def V (a: Q[*].n, b: Q[*].n - 1 /* two */, c: \"text\")"
              " active when Communicates-With[\"a\",\"b\"].bytes < 0.5e1 OR q[*].n = -1;"
              " end view def");
    const struct view *view = &file->views[0];

    (void)state;
    assert_false(view->has_correct);
    assert_false(view->notifies);
    assert_int_equal(3, view->target_count);
    assert_int_equal(VIEW_SUBTRACT, view->targets[1].expression->kind);
    assert_int_equal(2, view->entity_count);
    assert_int_equal(VIEW_EACH, view->entities[0].index);
    assert_string_equal("b", view->entities[1].other);
    view_file_free(file);
    view_file_free(parse(""));
}

static void receivers_and_places(void **state)
{
    struct view_file *file =
        parse("attribute definition for object Q n: a; at \"enqueue\", \"queue.c:12\"; at: b;"
              " AT \"redis:call_end\"; end attribute def"
              " view def S (a: Q.n) active when Q.n > 1;"
              " notify subject \"queue.full\" of h:4222 within 1 s; end view def"
              " view def C (a: Q.n) active when Q.n > 1;"
              " notify command \"logger -t 'q'\" within 1 s; end view def");
    char text[VIEW_RECEIVER_SIZE];

    (void)state;
    assert_int_equal(2, file->objects[0].attribute_count); /* one is called "at" */
    assert_int_equal(3, file->objects[0].place_count);
    assert_string_equal("queue.c:12", file->objects[0].places[1].text);
    assert_int_equal(55, file->objects[0].places[1].column);
    assert_string_equal("redis:call_end", file->objects[0].places[2].text);
    view_receiver_text(&file->views[0], text);
    assert_string_equal("subject 'queue.full' of h:4222", text);
    view_receiver_text(&file->views[1], text);
    assert_string_equal("command 'logger -t 'q''", text);
    assert_true(file->views[1].notifies && file->views[1].within == 1000000000);
    view_file_free(file);
}

#define V(rest) "VIEW DEF V (a: Q.n)\n " rest
#define A(body) "ATTRIBUTE DEFINITION FOR OBJECT Q\n n: " body ";\nEND ATTRIBUTE DEF"

static void errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"VIEWS", "test:1:1: found 'VIEWS', expected ATTRIBUTE DEFINITION FOR OBJECT or VIEW DEF"},
        {V("WHEN Q.n > 1;"), "test:2:2: found 'WHEN', expected ACTIVE"},
        {V("ACTIVE WHEN Q.n;"), "test:2:14: this is a value, expected a comparison"},
        {V("ACTIVE WHEN (Q.n > 1) > 2;"), "test:2:15: this is a comparison, expected a value"},
        {V("ACTIVE WHEN Q.n > 1 > 2;"), "test:2:22: found '>', expected AND, OR or the end"},
        {V("ACTIVE WHEN Q.n > ;"), "test:2:20: found ';', expected a value"},
        {V("ACTIVE WHEN Q > 1;"), "test:2:16: found '>', expected '.' and the name"},
        {V("ACTIVE WHEN Q[x].n > 1;"), "test:2:16: found 'x', expected a number, a name"},
        {V("ACTIVE WHEN Q[1.5].n > 1;"), "test:2:16: found '1.5', expected a whole number"},
        {V("ACTIVE WHEN (Q.n > 1;"), "test:2:22: found ';', expected an operator or ')'"},
        {V("ACTIVE WHEN Q.n > 1;\nCORRECT TO WITHIN 25;"),
         "test:3:21: found ';', expected a unit of time"},
        {V("ACTIVE WHEN Q.n > 1;\nNOTIFY 70000 OF h WITHIN 1 S;"),
         "test:3:8: found '70000', expected the number of a port"},
        {V("ACTIVE WHEN Q.n > 1;\nNOTIFY SUBJECT queue OF h WITHIN 1 S;"),
         "test:3:16: found 'queue', expected a subject of NATS in double quotes"},
        {V("ACTIVE WHEN Q.n > 1;\nNOTIFY SUBJECT \"a.*\" OF h WITHIN 1 S;"),
         "test:3:8: a subject has neither blanks nor '*' nor '>'"},
        {V("ACTIVE WHEN Q.n > 1;\nNOTIFY COMMAND \"\" WITHIN 1 S;"),
         "test:3:16: found '', expected a command in double quotes"},
        {V("ACTIVE WHEN Q.n > 1;\nNOTIFY COMMAND \"logger\" OF h WITHIN 1 S;"),
         "test:3:25: found 'OF', expected WITHIN"},
        {V("ACTIVE WHEN Q.n > 1;\nNOTIFY 7 OF ; WITHIN 1 S;"),
         "test:3:13: found ';', expected a host"},
        {V("ACTIVE WHEN Q.n > 1; END"), "test:2:26: the text ends here, expected VIEW"},
        {V("ACTIVE WHEN Q.n > 1; CORRET"), "test:2:23: found 'CORRET', expected CORRECT, NOTIFY"},
        {V("ACTIVE WHEN Q[*].n > R[*].n;"), "test:2:23: Q[*] and R[*] in one view"},
        {V("ACTIVE WHEN Q.n > 1 & 2;"), "test:2:22: found '&', expected an operator, AND, OR"},
        {V("ACTIVE WHEN process[1].cpu > \"x\"; END VIEW DEF"),
         "test:2:31: process.cpu is a number: it cannot be compared with a text"},
        {V("ACTIVE WHEN Q.n > \"x\" OR 1 = process[1].machine; END VIEW DEF"),
         "test:2:27: process.machine is a text: it cannot be compared with a number"},
        {"VIEW DEF V (a: Q.n, A: 1)", "test:1:21: V has two values with the name A"},
        {"VIEW DEF V (a: \"x)", "test:1:16: found 'x)', expected a value"},
        {A(""), "test:2:5: found ';', expected a variable, a constant or '('"},
        {A("(a\n + b"), "test:3:5: found ';', expected ')'"},
        {A("f(x)"), "test:2:6: found '(', expected an operator or ';': an attribute cannot call"},
        {A("x = 1"), "test:2:7: found '=', expected an operator or ';': an attribute only reads"},
        {"ATTRIBUTE DEFINITION FOR OBJECT Q n: a; AT \"f\", g; END ATTRIBUTE DEF",
         "test:1:49: found 'g', expected a place in the program in double quotes"},
        {A("a b"), "test:2:7: found 'b', expected an operator or ';'"},
        {"ATTRIBUTE DEFINITION FOR OBJECT Q n: a;", "test:1:40: the text ends here, expected the"},
        {"ATTRIBUTE DEFINITION FOR OBJECT Q n: a; N: b; END ATTRIBUTE DEF",
         "test:1:41: attribute n of Q is defined twice"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct view_file *file = NULL;
        struct problem problem = {""};
        int result = view_parse("test", cases[i].text, strlen(cases[i].text), &file, &problem);
        if (result != -EINVAL ||
            strncmp(problem.text, cases[i].problem, strlen(cases[i].problem)) != 0)
            fail_msg("%s\ngives %d '%s'\nnot    '%s'", cases[i].text, result, problem.text,
                     cases[i].problem);
    }
}

static void bodies_of_attributes(void **state)
{
    static const char *const bodies[] = {
        "q->size",          "a[i + 1].b * 2",      "(int)x & ~3u",     "n ? p : 0x1f",
        "*p + ';' - '\\''", "sum / (double)count", "a /* b; c */ + d", "x.y.z",
        "!done && (size_t)"};

    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_SIZE(bodies); i++) {
        char text[200];
        snprintf(text, sizeof(text), A("%s"), bodies[i]);
        struct view_file *file = parse(text);
        assert_string_equal(bodies[i], file->objects[0].attributes[0].body);
        view_file_free(file);
    }
    struct view_file *file = parse(A("a->b + a->c * i"));
    assert_int_equal(2, file->objects[0].attributes[0].variable_count); /* a, i: no members */
    view_file_free(file);
}

/* ---- random expressions ---- */

static void write_value(FILE *out, uint64_t *random, unsigned depth)
{
    static const char *const signs[] = {" + ", " - ", " * ", " / "};

    switch (depth == 0 ? random_below(random, 3) : random_below(random, 5)) {
    case 0:
        fprintf(out, "%" PRIu64, random_below(random, 100));
        break;
    case 1:
        fprintf(out, "Q[%" PRIu64 "].a%" PRIu64, random_below(random, 3), random_below(random, 3));
        break;
    case 2:
        fprintf(out, "process[\"x-%" PRIu64 "\"].n-m", random_below(random, 3));
        break;
    case 3:
        fputs("- ", out);
        write_value(out, random, depth - 1);
        break;
    default:
        fputs(depth % 2 == 0 ? "(" : "", out);
        write_value(out, random, depth - 1);
        fputs(signs[random_below(random, 4)], out);
        write_value(out, random, depth - 1);
        fputs(depth % 2 == 0 ? ")" : "", out);
    }
}

static void write_predicate(FILE *out, uint64_t *random, unsigned depth)
{
    static const char *const signs[] = {" = ", "<>", ">", " >= ", "<", "<="};

    if (depth == 0 || random_below(random, 3) == 0) {
        write_value(out, random, depth);
        fputs(signs[random_below(random, 6)], out);
        write_value(out, random, depth);
        return;
    }
    bool nested = random_below(random, 2) == 0;
    fputs(nested ? "(" : "", out);
    write_predicate(out, random, depth - 1);
    fputs(random_below(random, 2) == 0 ? " AND " : " or ", out);
    write_predicate(out, random, depth - 1);
    fputs(nested ? ")" : "", out);
}

static void written_and_read_again(void **state)
{
    uint64_t random = seed_of_run("views");

    (void)state;
    for (uint64_t round = 0; round < rounds_of_run(3000); round++) {
        static char once[100000], twice[100000], again[100100];
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        fputs("VIEW DEF V (a: 1) ACTIVE WHEN ", out);
        write_predicate(out, &random, (unsigned)random_below(&random, 5));
        fputs("; END VIEW DEF", out);
        fclose(out);
        struct view_file *first = parse(text);
        view_expression_text(&first->views[0], first->views[0].predicate, once, sizeof(once));
        snprintf(again, sizeof(again), "VIEW DEF V (a: 1) ACTIVE WHEN %s; END VIEW DEF", once);
        struct view_file *second = parse(again);
        view_expression_text(&second->views[0], second->views[0].predicate, twice, sizeof(twice));
        assert_string_equal(once, twice);
        view_file_free(first);
        view_file_free(second);
        free(text);
    }
}

/* ---- evaluation ---- */

static struct view_value look(void *context, uint32_t reference)
{
    return ((const struct view_value *)context)[reference];
}

static enum view_truth holds(const char *predicate, const struct view_value *values)
{
    char text[300];

    snprintf(text, sizeof(text), "VIEW DEF V (a: 1) ACTIVE WHEN %s; END VIEW DEF", predicate);
    struct view_file *file = parse(text);
    enum view_truth truth = view_holds(file->views[0].predicate, look, (void *)values);
    view_file_free(file);
    return truth;
}

static void unknown_values(void **state)
{
    /* in order of appearance */
    const struct view_value values[] = {{.kind = VIEW_UNKNOWN},
                                        {.kind = VIEW_IS_NUMBER, .number = 7}};
    const struct view_value text[] = {{.kind = VIEW_IS_TEXT, .text = "Running"}};

    (void)state;
    assert_int_equal(VIEW_MAYBE, holds("Q.u > 1", values));
    assert_int_equal(VIEW_TRUE, holds("Q.u > 1 OR Q.n = 7", values));
    assert_int_equal(VIEW_FALSE, holds("Q.u > 1 AND Q.n < 7", values));
    assert_int_equal(VIEW_MAYBE, holds("Q.u > 1 AND Q.n = 7", values));
    assert_int_equal(VIEW_MAYBE, holds("Q.u > 1 OR Q.n / 0 > 1", values));
    assert_int_equal(VIEW_TRUE, holds("Q.u > 1 OR 2 + 3 * 4 - 6 / 2 = 11", values));
    assert_int_equal(VIEW_TRUE, holds("p.state = \"running\"", text));
    assert_int_equal(VIEW_MAYBE, holds("p.state = 1", text));
    assert_int_equal(VIEW_TRUE, holds("1 < 2 OR 1 > 2 AND 2 > 3", text)); /* AND binds more */
}

static void limits_hold(void **state)
{
    static char text[300000];
    struct view_file *file = NULL;
    struct problem problem = {""};
    size_t size = (size_t)sprintf(text, "VIEW DEF V (a: 1) ACTIVE WHEN ");

    (void)state;
    memset(text + size, '(', 200000);
    assert_int_equal(-EINVAL, view_parse("test", text, size + 200000, &file, &problem));
    assert_non_null(strstr(problem.text, "more than 100 parentheses"));
    for (size_t i = 0; i < 20000; i++)
        memcpy(text + size + 6 * i, "1 - - ", 6);
    assert_int_equal(-EINVAL, view_parse("test", text, size + 120000, &file, &problem));
    assert_int_equal(-ENOENT, view_read("/no/such.view", &file, &problem));
    assert_string_equal("/no/such.view: No such file or directory", problem.text);
}

/* Other machines get the text of a file that cannot be read twice. */
static void a_pipe_is_read_once(void **state)
{
    static const char text[] = "VIEW DEF V (a: Q.n) ACTIVE WHEN Q.n > 1; END VIEW DEF\n";
    struct view_file *file = NULL;
    struct problem problem = {""};
    char name[40];
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(ends[1]);
    snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
    if (view_read(name, &file, &problem) < 0)
        fail_msg("%s", problem.text);
    close(ends[0]);
    assert_string_equal(file->text, text);
    view_file_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_paper), cmocka_unit_test(what_may_be_left_out),
        cmocka_unit_test(receivers_and_places),  cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(bodies_of_attributes),  cmocka_unit_test(written_and_read_again),
        cmocka_unit_test(unknown_values),        cmocka_unit_test(limits_hold),
        cmocka_unit_test(a_pipe_is_read_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
