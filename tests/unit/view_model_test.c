/* SPDX-License-Identifier: MIT */
/* view_model_test.c: the database of entities, relationships and values; views over it as values change. */
#include "view/figures.h"
#include "view/watching.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct view_place web = {"web1", 71}, db = {"db1", 5};

static struct view_model *new_model(void)
{
    struct view_model *model = NULL;

    assert_int_equal(0, view_model_new(&model, NULL));
    return model;
}

static void set(struct view_model *model, int64_t instance, const char *attribute, double number)
{
    const struct view_value value = {.kind = VIEW_IS_NUMBER, .number = number};

    assert_int_equal(0, view_model_set(model, instance, attribute, &value, 12, &web, NULL));
}

static void instances_and_values(void **state)
{
    struct view_model *model = new_model();
    struct view_value value;
    uint64_t time = 0;

    (void)state;
    int64_t one = view_model_instance(model, "QueueManager", 1, "queue", &web, NULL);
    int64_t two = view_model_instance(model, "queuemanager", 2, "queue", &db, NULL);
    assert_true(one > 0 && two > 0 && one != two);
    assert_int_equal(one, view_model_instance(model, "QUEUEMANAGER", 1, "queue", &web, NULL));
    set(model, one, "queueSize", 25);
    assert_int_equal(0, view_model_get(model, one, "QueueSize", &value, &time, NULL));
    assert_int_equal(VIEW_IS_NUMBER, value.kind);
    assert_true(value.number == 25 && time == 12);
    view_model_get(model, two, "queueSize", &value, NULL, NULL);
    assert_int_equal(VIEW_UNKNOWN, value.kind);
    const struct view_value text = {.kind = VIEW_IS_TEXT, .text = "it's"};
    assert_int_equal(0, view_model_set(model, two, "a-b \"c\"", &text, 1, NULL, NULL));
    view_model_get(model, two, "a-b \"c\"", &value, NULL, NULL);
    assert_string_equal("it's", value.text);

    struct view_entity entity = {.object = "QueueManager", .index = VIEW_NUMBER_INDEX, .number = 2};
    assert_int_equal(two, view_model_find(model, &entity));
    entity.index = VIEW_ONLY;
    assert_int_equal(-E2BIG, view_model_find(model, &entity));
    view_model_end(model, one, true, NULL);
    assert_int_equal(two, view_model_find(model, &entity));
    view_model_end(model, one, false, NULL);
    entity.index = VIEW_NAME;
    entity.name = "queue";
    assert_int_equal(-E2BIG, view_model_find(model, &entity));
    entity.name = "WEB1:queue";
    assert_int_equal(one, view_model_find(model, &entity));
    int64_t both = view_model_relate(model, "Communicates-With", one, two, NULL);
    assert_int_equal(both, view_model_relate(model, "Communicates-With", one, two, NULL));
    const struct view_entity pair = {.object = "communicates-with",
                                     .index = VIEW_NAME,
                                     .name = "web1:queue",
                                     .other = "db1:queue"};
    assert_int_equal(both, view_model_find(model, &pair));
    view_model_free(model);
}

static void ended_instances_can_be_forgotten(void **state)
{
    struct view_model *model = new_model();
    struct view_value value;

    (void)state;
    assert_int_equal(0, view_model_begin(model, NULL));
    for (int i = 0; i < VIEW_INSTANCES_MOST + 5; i++) { /* more than fit at a time */
        int64_t instance = view_model_instance(model, "Q", (uint32_t)i, "queue", NULL, NULL);
        assert_true(instance == i + 1); /* no number is used twice */
        if (i % 1000 == 0) {
            set(model, instance, "size", i);
            assert_int_equal(0, view_model_forget(model, instance, NULL)); /* it is in its set */
            view_model_get(model, instance, "size", &value, NULL, NULL);
            assert_true(value.kind == VIEW_IS_NUMBER && value.number == i);
        }
        view_model_end(model, instance, true, NULL);
        assert_int_equal(0, view_model_forget(model, instance, NULL));
        view_model_get(model, instance, "size", &value, NULL, NULL);
        assert_int_equal(VIEW_UNKNOWN, value.kind);
    }
    assert_int_equal(0, view_model_commit(model, NULL));
    view_model_free(model);
}

struct rows {
    char text[2000];
    size_t count;
};

static int add_row(void *context, const char *const *cells, size_t count)
{
    struct rows *rows = context;

    for (size_t i = 0; i < count; i++)
        snprintf(rows->text + strlen(rows->text), 200, "%s|", cells[i] == NULL ? "-" : cells[i]);
    strcat(rows->text, "\n");
    rows->count++;
    return 0;
}

static const char *query(struct view_model *model, const char *sql)
{
    static struct rows rows;
    struct problem problem = {""};

    rows = (struct rows){{0}, 0};
    if (view_model_query(model, sql, add_row, &rows, &problem) < 0)
        return strcpy(rows.text, problem.text);
    return rows.text;
}

static void queries(void **state)
{
    struct view_model *model = new_model(), *saved = NULL;
    char file[] = "/tmp/dpm-view-XXXXXX";
    struct problem problem = {""};

    (void)state;
    set(model, view_model_instance(model, "process", 71, "nginx", &web, NULL), "cpu", 0.5);
    set(model, view_model_instance(model, "process", 5, "post\"gres", &db, NULL), "queue-size", 3);
    assert_string_equal(
        "name|cpu|queue-size|place|\nnginx|0.5|-|web1|\npost\"gres|-|3.0|db1|\n",
        query(model, "SELECT name, cpu, \"queue-size\", place FROM process ORDER BY instance"));
    assert_non_null(strstr(query(model, "DELETE FROM stored"), "not authorized"));
    assert_non_null(strstr(query(model, "ATTACH '/etc/passwd' AS x"), "not authorized"));
    assert_non_null(strstr(query(model, "SELECT 1; SELECT 2"), "give one SELECT"));
    assert_non_null(strstr(query(model, "SELECT load_extension('x')"), "not authorized"));
    assert_non_null(strstr(query(model, "SELECT x FROM process"), "no such column"));
    int descriptor = mkstemp(file);
    close(descriptor);
    assert_int_equal(0, view_model_save(model, file, &problem));
    view_model_free(model);
    assert_int_equal(0, view_model_open(file, &saved, &problem));
    assert_string_equal("n|\n2|\n", query(saved, "SELECT count(*) AS n FROM process"));
    view_model_free(saved);
    FILE *out = fopen(file, "w");
    fputs("no database, but long enough to be told apart from an empty file", out);
    fclose(out);
    assert_true(view_model_open(file, &saved, &problem) < 0);
    assert_non_null(strstr(problem.text, file));
    unlink(file);
    model = new_model();
    assert_true(view_model_save(model, "/no/such/folder", &problem) < 0);
    view_model_free(model);
}

static void numbers_have_all_their_digits(void **state)
{
    struct view_model *model = new_model();
    int64_t instance = view_model_instance(model, "Q", 1, "q", &web, NULL);

    (void)state;
    set(model, instance, "id", 4503599627370497); /* 2^52 + 1 */
    set(model, instance, "least", -9007199254740991);
    set(model, instance, "sum", 0.1 + 0.2);
    set(model, instance, "half", 0.5);
    set(model, instance, "three", 3);
    assert_string_equal("id|least|sum|half|three|\n4503599627370497.0|-9007199254740991.0|"
                        "0.30000000000000004|0.5|3.0|\n",
                        query(model, "SELECT id, least, sum, half, three FROM Q"));
    view_model_free(model);
}

/* A name of a type that is one of the database's own tables does no harm. */
static void odd_names(void **state)
{
    struct view_model *model = new_model();

    (void)state;
    set(model, view_model_instance(model, "stored", 1, "a", NULL, NULL), "value", 1);
    set(model, view_model_instance(model, "x", 1, "a", NULL, NULL), "name", 2);
    set(model, view_model_instance(model, "x\"; DROP TABLE stored; --", 1, "'", NULL, NULL), "'",
        3);
    assert_string_equal("n|\n3|\n", query(model, "SELECT count(*) AS n FROM stored"));
    view_model_free(model);
}

/* ---- views ---- */

struct seen {
    char text[2000];
};

static void changed(void *context, const struct view_change *change)
{
    static const char *const words[] = {"+", "~", "-"};
    struct seen *seen = context;

    snprintf(seen->text + strlen(seen->text), 200, "%s%s[%s]", words[change->kind],
             change->view->name, change->row);
    if (change->kind != VIEW_GONE)
        snprintf(seen->text + strlen(seen->text), 200, "=%g", change->values[0].number);
    strcat(seen->text, " ");
}

static void note(void *context, const char *line)
{
    snprintf(((struct seen *)context)->text + strlen(((struct seen *)context)->text), 200, "!%s! ",
             line);
}

static void views_over_changing_values(void **state)
{
    static const char text[] =
        "VIEW DEF Long (size: Q[*].n + 100) ACTIVE WHEN Q[*].n > 24; END VIEW DEF\n"
        "VIEW DEF Both (a: Q[1].n) ACTIVE WHEN Q[1].n > 24 AND Q[2].n > 24; END VIEW DEF";
    struct view_model *model = new_model();
    struct view_file *file = NULL;
    struct view_watch *watch = NULL;
    struct seen seen = {""};
    const struct view_watch_calls calls = {&seen, changed, note};

    (void)state;
    assert_int_equal(0, view_parse("test", text, strlen(text), &file, NULL));
    assert_int_equal(0, view_watch_new(file, model, &calls, &watch, NULL));
#define EXPECT(expected)                                                                           \
    do {                                                                                           \
        seen.text[0] = '\0';                                                                       \
        assert_int_equal(0, view_watch_evaluate(watch, 5, NULL));                                  \
        assert_string_equal(expected, seen.text);                                                  \
    } while (0)
    EXPECT("!view Both: Q[1]: there is none yet! !view Both: Q[2]: there is none yet! ");
    EXPECT("");
    int64_t one = view_model_instance(model, "Q", 1, "", NULL, NULL);
    set(model, one, "n", 25);
    EXPECT("+Long[1]=125 ");
    int64_t two = view_model_instance(model, "Q", 2, "", NULL, NULL); /* appears at run time */
    set(model, two, "n", 30);
    EXPECT("+Long[2]=130 +Both[]=25 ");
    assert_string_equal("name|size|\n1|125.0|\n2|130.0|\n",
                        query(model, "SELECT name, size FROM Long WHERE NOT ended ORDER BY name"));
    EXPECT("");
    set(model, one, "n", 26);
    EXPECT("~Long[1]=126 ~Both[]=26 ");
    set(model, one, "n", 24);
    EXPECT("-Long[1] -Both[] ");
    assert_string_equal("name|\n2|\n",
                        query(model, "SELECT name FROM Long WHERE NOT ended ORDER BY name"));
    set(model, one, "n", 27);
    EXPECT("+Long[1]=127 +Both[]=27 ");
    view_model_end(model, two, true, NULL);
    EXPECT("-Both[] -Long[2] ");
    view_watch_free(watch);
    view_file_free(file);
    view_model_free(model);
}

/* ---- built-in types ---- */

static void figures_of_intervals(void **state)
{
    struct view_model *model = new_model();
    struct view_figures *figures = view_figures_new(model);
    struct communication_machine machine = {.name = "vm"};
    struct communication_process processes[2] = {
        {.pid = 10, .stream = 1, .name = "client", .cpu = 500000000, .sent = {100, 5000}},
        {.pid = 11,
         .stream = 2,
         .name = "server",
         .received = {100, 5000},
         .queue = {.messages = 7}},
    };
    uint32_t ends[] = {0, 1};
    struct communication_pair pair = {
        .from = {&ends[0], 1, NULL}, .to = {&ends[1], 1, NULL}, .sent = {100, 5000}};
    struct communication_path path = {.local = "10.1.2.3:4444",
                                      .remote = "10.1.9.1:80",
                                      .ends = {{&ends[0], 1, NULL}, {&ends[1], 1, NULL}},
                                      .queue = {.messages = 7},
                                      .sent = {100, 5000}};
    struct communication communication = {.processes = processes,
                                          .process_count = 2,
                                          .pairs = &pair,
                                          .pair_count = 1,
                                          .paths = &path,
                                          .path_count = 1,
                                          .machines = &machine,
                                          .machine_count = 1};

    (void)state;
    assert_int_equal(0, view_figures_store(figures, &communication, 1000, 2000000000, NULL));
    assert_string_equal(
        "name|cpu|sent|received|state|queue|\nclient|0.25|2500.0|0.0|running|0.0|\n"
        "server|0.0|0.0|2500.0|running|7.0|\n",
        query(model, "SELECT name, cpu, sent, received, state, queue FROM process ORDER BY 1"));
    assert_string_equal(
        "name|frequency|bytes|queue|\nclient -> server|50.0|2500.0|7.0|\n",
        query(model, "SELECT name, frequency, bytes, queue FROM \"Communicates-With\""));
    assert_string_equal("name|traffic|\n10.1.2.0/24|2500.0|\n10.1.9.0/24|2500.0|\n",
                        query(model, "SELECT name, traffic FROM subnet ORDER BY name"));
    assert_string_equal("processes|\n2.0|\n", query(model, "SELECT processes FROM machine"));
    /* the next interval: only what is new */
    processes[0].cpu += 1000000000;
    processes[0].sent.bytes += 1000;
    path.sent.bytes += 1000;
    processes[1].ended = true;
    strcpy(processes[0].name, "caller"); /* exec: its relationships get its new name, too */
    assert_int_equal(0, view_figures_store(figures, &communication, 2000, 1000000000, NULL));
    assert_string_equal("name|\ncaller -> server|\n",
                        query(model, "SELECT name FROM \"Communicates-With\" WHERE NOT ended"));
    assert_string_equal("state|\nended|\n",
                        query(model, "SELECT state FROM process WHERE number = 11 AND NOT ended"));
    assert_string_equal("traffic|\n1000.0|\n1000.0|\n", query(model, "SELECT traffic FROM subnet"));
    path.sent.bytes =
        100; /* addresses that no longer have one subnet in common are not counted: less than before */
    assert_int_equal(0, view_figures_store(figures, &communication, 3000, 1000000000, NULL));
    assert_string_equal("traffic|\n0.0|\n0.0|\n", query(model, "SELECT traffic FROM subnet"));
    assert_string_equal("name|cpu|sent|\ncaller|0.0|0.0|\n",
                        query(model, "SELECT name, cpu, sent FROM process WHERE NOT ended"));
    assert_string_equal("n|\n0|\n", query(model, "SELECT count(*) AS n FROM \"Communicates-With\""
                                                 " WHERE NOT ended"));
    view_figures_free(figures);
    view_model_free(model);
}

/* A meter without CPU times and sizes, with rules. */
static void what_traces_do_not_record_is_unknown(void **state)
{
    struct view_model *model = new_model();
    struct view_figures *figures = view_figures_new(model);
    struct communication_machine machine = {.name = "vm"};
    struct communication_process processes[2] = {
        {.pid = 10, .stream = 1, .name = "client", .sent = {100, 0}},
        {.pid = 11, .stream = 2, .name = "server", .queue = {.messages = 7, .unknown = true}},
    };
    uint32_t ends[] = {0, 1};
    struct communication_pair pair = {
        .from = {&ends[0], 1, NULL}, .to = {&ends[1], 1, NULL}, .sent = {100, 0}};
    struct communication_path path = {.local = "10.1.2.3:4444",
                                      .remote = "10.1.9.1:80",
                                      .ends = {{&ends[0], 1, NULL}, {&ends[1], 1, NULL}},
                                      .queue = {.messages = 7},
                                      .sent = {100, 0}};
    struct communication communication = {.processes = processes,
                                          .process_count = 2,
                                          .pairs = &pair,
                                          .pair_count = 1,
                                          .paths = &path,
                                          .path_count = 1,
                                          .machines = &machine,
                                          .machine_count = 1,
                                          .sizes_unknown = true,
                                          .cpu_unknown = true};

    (void)state;
    assert_int_equal(0, view_figures_store(figures, &communication, 1000, 2000000000, NULL));
    assert_string_equal("n|\n2|\n",
                        query(model, "SELECT count(*) AS n FROM process WHERE cpu IS NULL AND "
                                     "sent IS NULL AND received IS NULL"));
    assert_string_equal("name|\nserver|\n",
                        query(model, "SELECT name FROM process WHERE queue IS NULL"));
    assert_string_equal("n|\n1|\n",
                        query(model, "SELECT count(*) AS n FROM \"Communicates-With\" WHERE "
                                     "frequency = 50 AND bytes IS NULL AND queue IS NULL"));
    assert_string_equal("n|\n2|\n",
                        query(model, "SELECT count(*) AS n FROM subnet WHERE traffic IS NULL"));
    view_figures_free(figures);
    view_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_and_values),
        cmocka_unit_test(ended_instances_can_be_forgotten),
        cmocka_unit_test(queries),
        cmocka_unit_test(numbers_have_all_their_digits),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(views_over_changing_values),
        cmocka_unit_test(figures_of_intervals),
        cmocka_unit_test(what_traces_do_not_record_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
