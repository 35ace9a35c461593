/* SPDX-License-Identifier: MIT */
/*
 * monitor_plans_test.c: central and resident monitors carry out random views over random values, on one or several
 * machines, while instances end and appear again, and machines are lost and come back. The collector is a double: it has the values that the test sets,
 * and works as sensors do. After each change, a row is active if and only if a naive evaluator says so.
 */
#include "monitor/central.h"
#include "monitor/resident.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seeded.h"

#define MACHINES   3
#define INSTANCES  3
#define ATTRIBUTES 2
#define OPEN_MOST  256

/* ---- the double ---- */

struct collection {
    struct collect_wish wish;
    collect_values *values;
    void *context;
    bool used, on, filters;
    struct view_filter filter;
};

struct instance {
    pid_t pid; /* 0: it does not live */
    double values[ATTRIBUTES];
};

struct world;

struct double_ {
    struct world *world;
    struct collection open[OPEN_MOST];
};

/* To a resident monitor. */
struct link {
    struct world *world;
    struct resident **resident;
};

struct world {
    struct view_file *file;
    const struct view *view;
    struct view_costs costs;
    struct central *central;
    struct resident *residents[MACHINES];
    struct link links[MACHINES];
    struct double_ doubles[MACHINES];
    struct instance instances[INSTANCES];
    int machine_of[INSTANCES];
    bool lost[MACHINES];
    uint64_t returns;
    pid_t last_pid;
    uint64_t random;
    int active, notified; /* rows */
    int edges;
    int without; /* answers without values */
    bool cannot_trace, cannot_filter;
};

static const char *const machine_names[MACHINES] = {"m0", "m1", "m2"};
static const char *const programs[INSTANCES] = {"p1", "p2", "p3"};

static struct instance *instance_of(struct world *world, pid_t pid)
{
    for (int i = 0; i < INSTANCES; i++)
        if (world->instances[i].pid == pid)
            return &world->instances[i];
    return NULL;
}

static int attribute_of(const struct view *view, uint32_t reference)
{
    return view->references[reference].attribute[1] - '0';
}

static struct view_value look(void *context, uint32_t reference)
{
    return ((const struct view_value *)context)[reference];
}

static void give(struct double_ *self, struct collection *collection, bool sensed)
{
    const struct view *view = self->world->view;
    const struct instance *instance = instance_of(self->world, collection->wish.pid);
    struct view_value values[VIEW_REFERENCES_MOST] = {{0}};

    for (uint32_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == collection->wish.entity)
            values[i] = (struct view_value){.kind = VIEW_IS_NUMBER,
                                            .number = instance->values[attribute_of(view, i)]};
    if (sensed && collection->filters &&
        !view_filter_passes(&collection->filter, collection->wish.conditions,
                            collection->wish.entity, look, values))
        return;
    collection->values(collection->context, clock_now(CLOCK_MONOTONIC), values);
}

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    (void)begun;
    (void)self;
    (void)ended;
    (void)context;
}

static bool has(void *self, const struct view_file *file, const struct view_entity *entity)
{
    (void)self;
    (void)file;
    (void)entity;
    return true;
}

static int open_collection(void *context, const struct collect_wish *wish, collect_values *values,
                           void *values_context, struct collection **ret_collection,
                           struct collected_how *ret_how, struct problem *problem)
{
    struct double_ *self = context;
    size_t at = 0;

    (void)problem;
    while (at < OPEN_MOST && self->open[at].used)
        at++;
    assert_true(at < OPEN_MOST);
    assert_non_null(instance_of(self->world, wish->pid));
    self->open[at] = (struct collection){.wish = *wish,
                                         .values = values,
                                         .context = values_context,
                                         .used = true,
                                         .filters = wish->filter && !self->world->cannot_filter};
    *ret_collection = &self->open[at];
    ret_how->traced = wish->traced && !self->world->cannot_trace;
    ret_how->filtered = ret_how->traced && self->open[at].filters;
    return 0;
}

static void close_collection(void *self, struct collection *collection)
{
    (void)self;
    assert_true(collection->used);
    collection->used = false;
}

static int turn(void *self, struct collection *collection, bool on, struct problem *problem)
{
    (void)self;
    (void)problem;
    collection->on = on;
    collection->filter =
        (struct view_filter){.pass_next = true}; /* the first record passes, as in the kernel */
    return 0;
}

static int read_values(void *self, struct collection *collection)
{
    if (instance_of(((struct double_ *)self)->world, collection->wish.pid) == NULL)
        return -ESRCH;
    give(self, collection, false);
    return 0;
}

static int refilter(void *self, struct collection *collection, struct problem *problem)
{
    (void)self;
    (void)problem;
    collection->filter = (struct view_filter){.pass_next = true};
    return 0;
}

static int descriptor(void *self)
{
    (void)self;
    return -1;
}

static bool work(void *self)
{
    (void)self;
    return false;
}

static void count(void *self, struct monitor_counts *counts)
{
    (void)self;
    (void)counts;
}

static void free_double(void *self)
{
    for (size_t i = 0; i < OPEN_MOST; i++)
        assert_false(((struct double_ *)self)->open[i].used); /* all was closed */
}

static struct collector collector_of(struct double_ *self)
{
    return (struct collector){self,  listen_for,  has,      open_collection, close_collection,
                              turn,  read_values, refilter, descriptor,      work,
                              count, free_double};
}

/* ---- links, without any delay ---- */

/* As between machines: written, and read. */
static int do_step(void *self, const struct row_step *step, struct problem *problem)
{
    const struct link *link = self;
    json_t *sent = wire_step(link->world->file, step);
    struct row_step received;
    struct view_plan plan;

    assert_non_null(sent);
    assert_int_equal(0, wire_take_step(sent, link->world->file, &received, &plan, problem));
    json_decref(sent);
    return resident_step(*link->resident, &received, problem);
}

static void on_record(void *context, uint32_t row, uint32_t entity, uint64_t time, uint32_t probe,
                      const struct view_value *values)
{
    struct world *world = context;

    central_record(world->central, row, entity, time, probe, values, world->view->reference_count);
}

static void on_result(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                      const struct view_value *targets)
{
    struct world *world = context;

    (void)edge;
    central_result(world->central, row, active, time, targets, active ? 1 : 0);
}

static void on_answer(void *context, uint32_t row, uint32_t entity, uint64_t time,
                      const struct view_value *values)
{
    struct world *world = context;

    world->without += values == NULL;
    central_answer(world->central, row, entity, time, values,
                   values == NULL ? 0 : world->view->reference_count);
}

static void on_seen(void *context, const struct instance_seen *seen)
{
    (void)context;
    (void)seen;
}

static void on_note(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static void on_changed(void *context, const struct view_change *change)
{
    struct world *world = context;

    assert_true(change->kind == VIEW_GONE || change->values[0].kind == VIEW_IS_NUMBER);
    world->active += (change->kind == VIEW_APPEARED) - (change->kind == VIEW_GONE);
    world->edges += change->kind == VIEW_APPEARED;
}

static void on_notify(void *context, const struct view_change *change, uint64_t flush)
{
    struct world *world = context;

    assert_true(flush <= change->view->within);
    world->notified++;
}

/* ---- a world ---- */

static void write_value(FILE *out, struct world *world, bool each)
{
    if (each)
        fprintf(out, "Q[*].a%" PRIu64, random_below(&world->random, ATTRIBUTES));
    else
        fprintf(out, "Q[\"p%" PRIu64 "\"].a%" PRIu64, random_below(&world->random, INSTANCES) + 1,
                random_below(&world->random, ATTRIBUTES));
}

static void write_predicate(FILE *out, struct world *world, bool each, unsigned depth)
{
    static const char *const signs[] = {" > ", " >= ", " < ", " <= ", " = ", " <> "};

    if (depth == 0 || random_below(&world->random, 4) == 0) {
        write_value(out, world, each && random_below(&world->random, 2) == 0);
        fputs(signs[random_below(&world->random, 6)], out);
        if (random_below(&world->random, 4) == 0)
            write_value(out, world, false);
        else
            fprintf(out, "%" PRIu64, random_below(&world->random, 6));
        return;
    }
    fputc('(', out);
    write_predicate(out, world, each, depth - 1);
    fputs(random_below(&world->random, 3) > 0 ? " AND " : " OR ", out);
    write_predicate(out, world, each, depth - 1);
    fputc(')', out);
}

static void make_view(struct world *world, bool each)
{
    struct problem problem = {""};
    char *text = NULL, costs[200];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    fputs("VIEW DEF V (a: 1) ACTIVE WHEN ", out);
    if (each)
        fputs("Q[*].a0 > 1 AND ", out);
    write_predicate(out, world, each, (unsigned)random_below(&world->random, 4));
    fprintf(out, "; CORRECT TO WITHIN 10 S; NOTIFY 119 OF h WITHIN %" PRIu64 " MS; END VIEW DEF",
            random_below(&world->random, 2000) + 1);
    fclose(out);
    if (view_parse("random", text, size, &world->file, &problem) < 0)
        fail_msg("%s: %s", text, problem.text);
    free(text);
    world->view = &world->file->views[0];
    /* so that all kinds of plans are chosen, now and then */
    view_costs_init(&world->costs);
    int written = snprintf(
        costs, sizeof(costs), "selectivity %s\nevaluate %" PRIu64 "us\nprobe %" PRIu64 "us\n",
        random_below(&world->random, 2) == 0 ? "0.001" : "1", random_below(&world->random, 2) * 100,
        random_below(&world->random, 2) * 1000);
    assert_int_equal(0, view_costs_parse(&world->costs, "costs", costs, (size_t)written, &problem));
}

static void make_resident(struct world *world, int machine)
{
    const struct resident_calls calls = {world,   on_record, on_result, on_answer,
                                         on_seen, on_seen,   on_note};
    const struct collector collector = collector_of(&world->doubles[machine]);
    const struct resident_options options = {
        .file = world->file, .every = 100000000, .collectors = &collector, .collector_count = 1};

    world->doubles[machine].world = world;
    assert_int_equal(0, resident_new(&options, &calls, &world->residents[machine], NULL));
}

static void add_machine(struct world *world, int machine)
{
    make_resident(world, machine);
    world->links[machine] = (struct link){world, &world->residents[machine]};
    const struct central_link link = {
        .self = &world->links[machine], .machine = machine_names[machine], .step = do_step};

    assert_int_equal(machine, central_add_link(world->central, &link));
}

static struct world *make_world(uint64_t random, bool each)
{
    struct world *world = calloc(1, sizeof(*world));
    const struct central_calls calls = {world, on_changed, on_note, on_notify};

    world->random = random;
    make_view(world, each);
    world->cannot_trace = random_below(&world->random, 6) == 0;
    world->cannot_filter = random_below(&world->random, 3) == 0;
    const struct monitor_options options = {
        .file = world->file, .file_name = "random", .costs = &world->costs, .machine = "m0"};
    struct problem problem = {""};
    int result = central_new(&options, &calls, &world->central, &problem);
    if (result == -EINVAL) { /* a predicate without any reference */
        view_costs_done(&world->costs);
        view_file_free(world->file);
        free(world);
        return NULL;
    }
    assert_int_equal(0, result);
    int machines = (int)random_below(&world->random, MACHINES) + 1;
    for (int i = 0; i < machines; i++)
        add_machine(world, i);
    for (int i = 0; i < INSTANCES; i++)
        world->machine_of[i] = (int)random_below(&world->random, (uint64_t)machines);
    assert_int_equal(0, central_begin(world->central, &problem));
    return world;
}

static void free_world(struct world *world)
{
    for (int i = 0; i < MACHINES; i++)
        resident_free(world->residents[i]);
    central_free(world->central);
    view_costs_done(&world->costs);
    view_file_free(world->file);
    free(world);
}

/* ---- the naive evaluator ---- */

struct naive {
    const struct world *world;
    int each;
};

/* As far as the central monitor can see. */
static bool lives(const struct world *world, int at)
{
    return world->instances[at].pid != 0 && !world->lost[world->machine_of[at]];
}

static struct view_value look_naive(void *context, uint32_t reference)
{
    const struct naive *naive = context;
    const struct view *view = naive->world->view;
    const struct view_entity *entity = &view->entities[view->references[reference].entity];
    int at = entity->index == VIEW_EACH ? naive->each : entity->name[1] - '1';
    const struct instance *instance = &naive->world->instances[at];

    if (!lives(naive->world, at))
        return (struct view_value){.kind = VIEW_UNKNOWN};
    return (struct view_value){.kind = VIEW_IS_NUMBER,
                               .number = instance->values[attribute_of(view, reference)]};
}

static int count_naive(const struct world *world, bool each)
{
    int active = 0;

    for (int i = 0; i < (each ? INSTANCES : 1); i++) {
        struct naive naive = {world, i};
        if (!each || lives(world, i))
            active += view_holds(world->view->predicate, look_naive, &naive) == VIEW_TRUE;
    }
    return active;
}

/* ---- steps ---- */

static void begin_instance(struct world *world, int at)
{
    struct instance *instance = &world->instances[at];

    instance->pid = ++world->last_pid;
    for (int i = 0; i < ATTRIBUTES; i++)
        instance->values[i] = (double)random_below(&world->random, 6);
    if (lives(world, at))
        central_appeared(world->central, world->machine_of[at], "Q", instance->pid, programs[at]);
}

static void end_instance(struct world *world, int at)
{
    pid_t pid = world->instances[at].pid;
    bool lived = lives(world, at);

    world->instances[at].pid = 0;
    if (lived)
        central_ended(world->central, world->machine_of[at], "Q", pid);
}

static void change_value(struct world *world, int at)
{
    struct instance *instance = &world->instances[at];
    struct double_ *machine = &world->doubles[world->machine_of[at]];

    instance->values[random_below(&world->random, ATTRIBUTES)] =
        (double)random_below(&world->random, 6);
    for (size_t i = 0; i < OPEN_MOST; i++) {
        struct collection *collection = &machine->open[i];
        if (!collection->used || collection->wish.pid != instance->pid || !lives(world, at))
            continue;
        if (world->cannot_trace || !collection->wish.traced)
            give(machine, collection, false); /* as if just now it were read */
        else if (collection->on)
            give(machine, collection, true);
    }
    if (!world->lost[world->machine_of[at]]) /* a reading waits for what was earlier */
        assert_int_equal(0, resident_work(world->residents[world->machine_of[at]], NULL));
}

static void lose_machine(struct world *world, int machine)
{
    world->lost[machine] = true;
    central_lost(world->central, machine);
    resident_free(world->residents[machine]);
    world->residents[machine] = NULL; /* from now on nothing is asked of it */
}

static void return_machine(struct world *world, int machine)
{
    world->lost[machine] = false;
    world->returns++;
    make_resident(world, machine);
    central_returned(world->central, machine);
    for (int i = 0; i < INSTANCES; i++)
        if (world->machine_of[i] == machine && world->instances[i].pid != 0)
            central_appeared(world->central, machine, "Q", world->instances[i].pid, programs[i]);
}

static void step(struct world *world)
{
    int at = (int)random_below(&world->random, INSTANCES), machine = world->machine_of[at];

    if (world->lost[machine] && random_below(&world->random, 5) == 0)
        return_machine(world, machine);
    else if (!world->lost[machine] && random_below(&world->random, 60) == 0)
        lose_machine(world, machine);
    else if (world->instances[at].pid == 0)
        begin_instance(world, at);
    else if (random_below(&world->random, 20) == 0)
        end_instance(world, at);
    else
        change_value(world, at);
}

static void carry_out(uint64_t random, bool each, uint64_t *edges, uint64_t *returns)
{
    struct world *world = make_world(random, each);

    if (world == NULL)
        return;
    each = false; /* the predicate may have lost its [*] */
    for (size_t i = 0; i < world->view->entity_count; i++)
        each = each || world->view->entities[i].index == VIEW_EACH;
    for (int i = 0; i < 200; i++) {
        step(world);
        if (world->active != count_naive(world, each)) {
            char text[2000];
            view_expression_text(world->view, world->view->predicate, text, sizeof(text));
            const struct view_plan *plan = central_plan(world->central, 0);
            fail_msg("step %d: %d rows active, expected %d: %s; top %d, %zu entities", i,
                     world->active, count_naive(world, each), text,
                     plan == NULL ? -1 : (int)plan->top, world->view->entity_count);
        }
        assert_int_equal(world->edges, world->notified);
    }
    *edges += (uint64_t)world->edges;
    *returns += world->returns;
    free_world(world);
}

static void rows_are_those_of_a_naive_evaluator(void **state)
{
    uint64_t random = seed_of_run("views carried out"), edges = 0, returns = 0;

    (void)state;
    /* until enough has happened, too: most views are seldom true */
    for (uint64_t round = 0; round < rounds_of_run(400) || edges <= 1000 || returns <= 100; round++)
        carry_out(random_number(&random), random_below(&random, 2) == 0, &edges, &returns);
}

/* ---- instances that have ended ---- */

static int take_count(void *context, const char *const *cells, size_t count)
{
    (void)count;
    *(long *)context = strtol(cells[0], NULL, 10); /* of the last row */
    return 0;
}

static long count_rows(struct world *world, const char *query)
{
    struct problem problem = {""};
    long count = -1;

    if (view_model_query(central_model(world->central), query, take_count, &count, &problem) < 0)
        fail_msg("%s", problem.text);
    return count;
}

/* Processes come and go, with a row for each. The database keeps the latest, and no more. */
static void ended_instances_are_forgotten(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    const struct central_calls calls = {world, on_changed, on_note, on_notify};
    struct monitor_options options = {
        .file_name = "ended", .costs = &world->costs, .machine = "m0"};
    static const char text[] = "VIEW DEF V (a: Q[*].a0) ACTIVE WHEN Q[*].a0 >= 0; END VIEW DEF";
    struct problem problem = {""};

    (void)state;
    view_costs_init(&world->costs);
    assert_int_equal(0, view_parse("ended", text, strlen(text), &world->file, NULL));
    world->view = &world->file->views[0];
    options.file = world->file;
    assert_int_equal(0, central_new(&options, &calls, &world->central, &problem));
    add_machine(world, 0);
    view_model_begin(central_model(world->central), NULL); /* faster */
    for (int i = 0; i < 5200; i++) {                       /* with as many rows */
        begin_instance(world, 0);
        assert_int_equal(1, world->active);
        end_instance(world, 0);
        assert_int_equal(0, world->active);
    }
    view_model_commit(central_model(world->central), NULL);
    if (central_failed(world->central, &problem) < 0)
        fail_msg("%s", problem.text);
    assert_int_equal(10000, count_rows(world, "SELECT count(*) FROM instances"));
    begin_instance(world, 0);
    assert_int_equal(1, count_rows(world, "SELECT count(*) FROM Q WHERE ended = 0"));
    assert_int_equal(1,
                     count_rows(world, "SELECT count(*) FROM V WHERE a IS NOT NULL AND ended = 0"));
    free_world(world);
}

/* The central monitor waits for an answer when it has changed a plan. */
static void a_row_that_could_not_be_opened_answers(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    const struct central_calls calls = {world, on_changed, on_note, on_notify};
    static const char text[] = "VIEW DEF V (a: Q[*].a0) ACTIVE WHEN Q[*].a0 >= 0; END VIEW DEF";
    struct row_step step = {.kind = STEP_READ, .row = 7};
    struct problem problem = {""};

    (void)state;
    view_costs_init(&world->costs);
    assert_int_equal(0, view_parse("open", text, strlen(text), &world->file, NULL));
    world->view = &world->file->views[0];
    const struct monitor_options options = {
        .file = world->file, .file_name = "open", .costs = &world->costs, .machine = "m0"};
    assert_int_equal(0, central_new(&options, &calls, &world->central, &problem));
    add_machine(world, 0);
    assert_int_equal(-EINVAL, resident_step(world->residents[0], &step, &problem));
    assert_int_equal(1, world->without);
    step.kind = STEP_PROBE;
    assert_int_equal(-EINVAL, resident_step(world->residents[0], &step, &problem));
    assert_int_equal(1, world->without);
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_that_could_not_be_opened_answers),
        cmocka_unit_test(rows_are_those_of_a_naive_evaluator),
        cmocka_unit_test(ended_instances_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
