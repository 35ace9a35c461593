/* SPDX-License-Identifier: MIT */
/*
 * view_plans_test.c: random views over random values. Each plan that keeps the meaning and is in time is carried out
 * in a simulated network, whose messages take any time up to what the costs say. A naive evaluator sees all values at
 * once:
 *
 *      active at T  =>  each comparison was true of values within [T - window, T]      no plan invents
 *      nothing has changed for `latency`  =>  active if and only if the predicate is true    no plan misses
 */
#include "view/planner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seeded.h"

#define ENTITIES     3
#define ATTRIBUTES   2
#define CHANGES_MOST 60
#define EVENTS_MOST  4096

/* ---- values over time ---- */

struct change {
    double time;
    double values[ATTRIBUTES]; /* from then on */
};

struct history {
    struct change list[CHANGES_MOST];
    int count;
};

struct case_ {
    struct view_file *file;
    const struct view *view;
    struct view_conditions conditions;
    struct view_costs costs;
    struct history of[ENTITIES]; /* by entity of the view */
    double end;
    uint64_t *random;
};

static double uniform(uint64_t *random)
{
    return (double)random_below(random, 1000001) / 1e6;
}

static int at_time(const struct history *history, double time)
{
    int at = 0;

    while (at + 1 < history->count && history->list[at + 1].time <= time)
        at++;
    return at;
}

/* The attribute's number, from its name: "a0", "a1". */
static int attribute_of(const struct view *view, uint32_t reference)
{
    return view->references[reference].attribute[1] - '0';
}

/* Values of all instances, each from some change of its history. */
struct chosen {
    const struct case_ *of;
    int at[ENTITIES];
};

static struct view_value look_chosen(void *context, uint32_t reference)
{
    const struct chosen *chosen = context;
    const struct view *view = chosen->of->view;
    uint32_t entity = view->references[reference].entity;

    return (struct view_value){
        .kind = VIEW_IS_NUMBER,
        .number =
            chosen->of->of[entity].list[chosen->at[entity]].values[attribute_of(view, reference)]};
}

static bool holds_at(const struct case_ *of, double time)
{
    struct chosen chosen = {.of = of};

    for (size_t i = 0; i < of->view->entity_count; i++)
        chosen.at[i] = at_time(&of->of[i], time);
    return view_holds(of->conditions.predicate, look_chosen, &chosen) == VIEW_TRUE;
}

/* Whether a comparison is true of some values within the window. */
static bool compares_within(const struct case_ *of, const struct view_expression *comparison,
                            double from, double to, struct chosen *chosen, size_t entity)
{
    if (entity == ENTITIES || entity == of->view->entity_count)
        return view_holds(comparison, look_chosen, chosen) == VIEW_TRUE;
    int last = at_time(&of->of[entity], to);
    for (int at = at_time(&of->of[entity], from); at <= last; at++) {
        chosen->at[entity] = at;
        if (compares_within(of, comparison, from, to, chosen, entity + 1))
            return true;
    }
    return false;
}

static bool holds_within(const struct case_ *of, const struct view_expression *predicate,
                         double from, double to)
{
    struct chosen chosen = {.of = of};

    if (predicate->kind == VIEW_AND)
        return holds_within(of, predicate->left, from, to) &&
               holds_within(of, predicate->right, from, to);
    if (predicate->kind == VIEW_OR)
        return holds_within(of, predicate->left, from, to) ||
               holds_within(of, predicate->right, from, to);
    return compares_within(of, predicate, from, to, &chosen, 0);
}

/* ---- the simulated network ---- */

enum event_kind {
    CHANGE,      /* at the process */
    SAMPLE,      /* the same, asked for by the resident monitor */
    AT_RESIDENT, /* a record */
    AT_CENTRAL,
    PROBE, /* a request, at the resident monitor */
    RELEASE,
    PROBED, /* the value was read */
};

struct event {
    double time;
    uint64_t order; /* of those at one time */
    enum event_kind kind;
    uint32_t entity;
    int at; /* the change whose values it carries */
    double made;
    bool first;     /* what a probe has read: no filter drops it */
    uint32_t probe; /* its number, also of values that it let come */
};

struct run {
    const struct case_ *of;
    const struct view_plan *plan;
    struct view_monitor *monitor;
    struct event events[EVENTS_MOST];
    size_t count;
    uint64_t order;
    double now;
    double latest[ENTITIES]
                 [3]; /* arrival of the latest message on each link: none overtakes another */
    struct view_filter filters[ENTITIES];
    bool armed[ENTITIES];
    uint32_t probes[ENTITIES]; /* numbers of those that the resident monitor carries out */
    bool active;
    uint64_t *random;
};

static void add_event(struct run *run, const struct event *event)
{
    assert_true(run->count < EVENTS_MOST);
    run->events[run->count] = *event;
    run->events[run->count++].order = run->order++;
}

static struct event take_event(struct run *run)
{
    size_t first = 0;

    for (size_t i = 1; i < run->count; i++)
        if (run->events[i].time < run->events[first].time ||
            (run->events[i].time == run->events[first].time &&
             run->events[i].order < run->events[first].order))
            first = i;
    struct event event = run->events[first];
    run->events[first] = run->events[--run->count];
    return event;
}

/* Some delay of at most `most`, in order with earlier messages of the link. */
static double arrival(struct run *run, uint32_t entity, unsigned link, double most)
{
    double time = run->now + most * (0.2 + 0.8 * uniform(run->random));

    time = fmax(time, run->latest[entity][link]);
    run->latest[entity][link] = time;
    return time;
}

static double message(const struct run *run, enum view_distance distance)
{
    const struct view_costs *costs = &run->of->costs;

    return costs->messages[distance].time + costs->receive;
}

/* In this world, instances are on machines m0, m1 ...; the central monitor on its own, on the subnet. */
static double to_central(const struct run *run)
{
    return message(run, VIEW_ON_SUBNET);
}

static struct chosen values_of(const struct run *run, uint32_t entity, int at)
{
    struct chosen chosen = {.of = run->of};

    chosen.at[entity] = at;
    return chosen;
}

static bool passes(struct run *run, uint32_t entity, int at)
{
    struct chosen values = values_of(run, entity, at);

    return view_filter_passes(&run->filters[entity], &run->of->conditions, entity, look_chosen,
                              &values);
}

static void evaluate(struct run *run, const struct event *event)
{
    struct chosen values = values_of(run, event->entity, event->at);

    assert_int_equal(0, view_monitor_record(run->monitor, event->entity, (uint64_t)event->made,
                                            event->probe, look_chosen, &values));
}

/* The sensor of an instance sees a value. */
static void sensor(struct run *run, struct event event)
{
    const struct view_part_plan *part = &run->plan->parts[event.entity];
    const struct view_costs *costs = &run->of->costs;

    event.made = run->now;
    event.probe = run->probes[event.entity];
    if (run->plan->top == VIEW_IN_SENSOR) {
        evaluate(run, &event);
        return;
    }
    if (part->evaluates == VIEW_IN_SENSOR && !passes(run, event.entity, event.at))
        return;
    event.kind = part->route == VIEW_STRAIGHT ? AT_CENTRAL : AT_RESIDENT;
    event.time = arrival(run, event.entity, 0,
                         costs->sensor + (part->route == VIEW_STRAIGHT ? to_central(run)
                                          : part->route == VIEW_SHARED
                                              ? costs->shared_queue + costs->shared_retrieve
                                              : message(run, VIEW_ON_MACHINE)));
    add_event(run, &event);
}

static void at_resident(struct run *run, struct event event)
{
    if (run->plan->top == VIEW_IN_RESIDENT) {
        evaluate(run, &event);
        return;
    }
    if (run->plan->parts[event.entity].evaluates == VIEW_IN_RESIDENT && !event.first &&
        !passes(run, event.entity, event.at))
        return;
    event.kind = AT_CENTRAL;
    event.time = arrival(run, event.entity, 1, to_central(run));
    add_event(run, &event);
}

static void probed(struct run *run, struct event event)
{
    event.at = at_time(&run->of->of[event.entity], run->now);
    event.made = run->now;
    event.probe = run->probes[event.entity];
    event.first = true;
    run->filters[event.entity] = (struct view_filter){false};
    passes(run, event.entity, event.at); /* from here on, the filter compares with this value */
    at_resident(run, event);
}

static void handle(struct run *run, struct event event)
{
    const struct view_costs *costs = &run->of->costs;
    bool traced = run->plan->parts[event.entity].collection == VIEW_TRACED;

    switch (event.kind) {
    case CHANGE:
        if (traced || run->armed[event.entity])
            sensor(run, event);
        break;
    case SAMPLE:
        event.at = at_time(&run->of->of[event.entity], run->now);
        sensor(run, event);
        break;
    case AT_RESIDENT:
        at_resident(run, event);
        break;
    case AT_CENTRAL:
        evaluate(run, &event);
        break;
    case PROBE:
        run->armed[event.entity] = true;
        run->probes[event.entity] = event.probe;
        event.kind = PROBED;
        event.time = run->now + costs->turn + costs->probe_time * uniform(run->random);
        add_event(run, &event);
        break;
    case RELEASE:
        run->armed[event.entity] = false;
        break;
    case PROBED:
        if (run->armed[event.entity])
            probed(run, event);
    }
}

static void ask(struct run *run, uint32_t entity, enum event_kind kind, uint32_t number)
{
    double most = run->plan->top == VIEW_IN_CENTRAL ? to_central(run) : 0;

    add_event(run, &(struct event){.time = arrival(run, entity, 2, most),
                                   .kind = kind,
                                   .entity = entity,
                                   .probe = number});
}

static void probe(void *context, uint32_t entity, uint32_t number)
{
    ask(context, entity, PROBE, number);
}

static void release(void *context, uint32_t entity)
{
    ask(context, entity, RELEASE, 0);
}

static void changed(void *context, bool active, bool edge, uint64_t time,
                    const struct view_value *targets)
{
    struct run *run = context;

    (void)time;
    assert_true(edge == (active != run->active));
    assert_true(!active || targets[0].kind == VIEW_IS_NUMBER);
    run->active = active;
}

/* ---- one plan against the naive evaluator ---- */

static void fail_plan(const struct run *run, const char *what)
{
    char text[2000];

    view_expression_text(run->of->view, run->of->conditions.predicate, text, sizeof(text));
    fprintf(stderr, "# %s\n# at %.0f ns: %s; window %.0f, latency %.0f, period %.0f; top %d\n",
            text, run->now, what, run->plan->window, run->plan->latency, run->plan->period,
            run->plan->top);
    for (size_t i = 0; i < run->of->view->entity_count; i++) {
        const struct view_part_plan *part = &run->plan->parts[i];
        fprintf(stderr, "# %zu: collection %d, evaluates %d, route %d\n", i, part->collection,
                part->evaluates, part->route);
    }
    fail();
}

#define ROUNDING 10 /* ns: the monitor's times are whole ones */

static double last_change(const struct case_ *of, double time)
{
    double last = 0;

    for (size_t i = 0; i < of->view->entity_count; i++)
        last = fmax(last, of->of[i].list[at_time(&of->of[i], time)].time);
    return last;
}

static void check(struct run *run, double time)
{
    const struct case_ *of = run->of;

    run->now = time;
    if (run->active &&
        !holds_within(of, of->conditions.predicate, time - run->plan->window - ROUNDING, time))
        fail_plan(run, "active, but no values within the window make it true");
    if (time > last_change(of, time) + run->plan->latency + ROUNDING &&
        run->active != holds_at(of, time))
        fail_plan(run, run->active ? "active, but long false" : "not active, but long true");
}

static void begin(struct run *run)
{
    for (uint32_t i = 0; i < run->of->view->entity_count; i++) {
        bool samples = run->plan->parts[i].collection == VIEW_SAMPLED;
        for (int k = 0; k < run->of->of[i].count && !samples; k++)
            add_event(run, &(struct event){.time = run->of->of[i].list[k].time,
                                           .kind = CHANGE,
                                           .entity = i,
                                           .at = k});
        for (double time = 0; samples && time <= run->of->end; time += run->plan->period)
            add_event(run, &(struct event){.time = time, .kind = SAMPLE, .entity = i});
    }
}

static void carry_out(const struct case_ *of, const struct view_plan *plan)
{
    struct run *run = calloc(1, sizeof(*run));
    const struct view_monitor_calls calls = {run, probe, release, changed};

    run->of = of;
    run->plan = plan;
    run->random = of->random;
    run->monitor = view_monitor_new(&of->conditions, plan, &calls);
    assert_non_null(run->monitor);
    begin(run);
    double looked = 0, pause = of->end / 40;
    while (run->count > 0) {
        struct event event = take_event(run);
        for (; looked < event.time && looked < of->end; looked += pause)
            check(run, looked);
        run->now = event.time;
        handle(run, event);
        if (run->count == 0 || run->events[0].time != run->now)
            check(run, run->now);
    }
    check(run, of->end);
    view_monitor_free(run->monitor);
    free(run);
}

/* ---- random cases ---- */

static void write_sum(FILE *out, uint64_t *random, uint64_t entities)
{
    fprintf(out, "Q[%" PRIu64 "].a%" PRIu64, random_below(random, entities) + 1,
            random_below(random, ATTRIBUTES));
}

static void write_predicate(FILE *out, uint64_t *random, uint64_t entities, unsigned depth)
{
    static const char *const signs[] = {" > ", " >= ", " < ", " <= ", " = ", " <> "};

    if (depth == 0 || random_below(random, 4) == 0) {
        write_sum(out, random, entities);
        fputs(signs[random_below(random, 6)], out);
        if (random_below(random, 4) == 0)
            write_sum(out, random, entities);
        else
            fprintf(out, "%" PRIu64, random_below(random, 6));
        return;
    }
    fputc('(', out);
    write_predicate(out, random, entities, depth - 1);
    fputs(random_below(random, 3) > 0 ? " AND " : " OR ", out);
    write_predicate(out, random, entities, depth - 1);
    fputc(')', out);
}

static void make_history(struct history *history, uint64_t *random, double end)
{
    double time = 0;

    history->count = 0;
    while (time < end && history->count < CHANGES_MOST) {
        struct change *change = &history->list[history->count++];
        change->time = time;
        for (int i = 0; i < ATTRIBUTES; i++)
            change->values[i] = (double)random_below(random, 6);
        /* many at once, and long silence */
        time += end / 20 * uniform(random) * uniform(random) * uniform(random) * 4 + 1;
    }
}

static void make_case(struct case_ *of, uint64_t *random)
{
    uint64_t entities = random_below(random, ENTITIES) + 1;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct problem problem = {""};

    fputs("VIEW DEF V (a: 1) ACTIVE WHEN ", out);
    write_predicate(out, random, entities, (unsigned)random_below(random, 4));
    fprintf(out, "; CORRECT TO WITHIN %" PRIu64 " MS; END VIEW DEF", random_below(random, 40) + 1);
    fclose(out);
    *of = (struct case_){.random = random, .end = 1e9};
    if (view_parse("random", text, size, &of->file, &problem) < 0 ||
        view_conditions_make(&of->file->views[0], &of->conditions, &problem) < 0)
        fail_msg("%s: %s", text, problem.text);
    free(text);
    of->view = &of->file->views[0];
    for (size_t i = 0; i < of->view->entity_count; i++)
        make_history(&of->of[i], random, of->end);
}

static void make_costs(struct case_ *of)
{
    uint64_t *random = of->random;
    struct problem problem = {""};
    char text[1000];
    int size =
        snprintf(text, sizeof(text),
                 "message machine %" PRIu64 "us\nmessage subnet %" PRIu64 "us\nreceive "
                 "%" PRIu64 "us\nsensor %" PRIu64 "us\nevaluate 0ns\nprobe %" PRIu64
                 "us\nswitch %" PRIu64 "us\nrecord 0\n%s%s",
                 random_below(random, 4000), random_below(random, 9000), random_below(random, 500),
                 random_below(random, 300), random_below(random, 2000), random_below(random, 500),
                 random_below(random, 2) == 0 ? "shared 100us 200us\n" : "",
                 random_below(random, 2) == 0 ? "spare\n" : "");

    uint64_t machines = random_below(random, 3) + 1, processes = random_below(random, 2) + 1;
    for (int i = 1; i <= ENTITIES; i++)
        size += snprintf(text + size, sizeof(text) - (size_t)size,
                         "place Q[%d] m%" PRIu64 " process %" PRIu64 "\n", i,
                         random_below(random, machines), random_below(random, processes) + 1);
    view_costs_init(&of->costs);
    if (view_costs_parse(&of->costs, "random", text, (size_t)size, &problem) < 0)
        fail_msg("%s: %s", text, problem.text);
}

static struct view_plan random_plan(uint64_t *random)
{
    struct view_plan plan = {.top = (enum view_site)random_below(random, VIEW_SITES),
                             .notifies =
                                 random_below(random, 2) == 0 ? VIEW_IN_RESIDENT : VIEW_IN_CENTRAL,
                             .dedicated = random_below(random, 2) == 0};

    for (int i = 0; i < ENTITIES; i++)
        plan.parts[i] =
            (struct view_part_plan){(enum view_collection)random_below(random, VIEW_COLLECTIONS),
                                    (enum view_site)random_below(random, VIEW_SITES),
                                    (enum view_route)random_below(random, VIEW_ROUTES)};
    return plan;
}

/* Samples that are nearly as frequent as the end is far would be too many events. */
static bool is_feasible_here(const struct case_ *of, struct view_plan *plan)
{
    bool in_time = false;
    bool feasible = view_plan_figures(&of->conditions, &of->costs, plan, &in_time);

    return feasible && in_time && (plan->period == 0 || of->end / plan->period < 800);
}

static void every_plan_gives_the_same_answers(void **state)
{
    uint64_t random = seed_of_run("plans of views"), carried_out = 0, probes = 0, samples = 0;

    (void)state;
    /* as many more as it takes to have met enough of each kind */
    for (uint64_t round = 0;
         round < rounds_of_run(900) || carried_out < 1000 || probes < 50 || samples < 50; round++) {
        assert_true(round < 10 * rounds_of_run(900));
        struct case_ *of = calloc(1, sizeof(*of));
        struct view_plans plans = {0};
        make_case(of, &random);
        make_costs(of);
        assert_int_equal(0, view_plans_make(&of->conditions, &of->costs, &plans, NULL));
        for (size_t i = 0; i < plans.count && i < 8; i++)
            if (is_feasible_here(of, &plans.list[i]))
                carry_out(of, &plans.list[i]);
        /* plans that are not the best of their group, too */
        for (int tries = 0, found = 0; tries < 2000 && found < 12; tries++) {
            struct view_plan plan = random_plan(&random);
            if (!is_feasible_here(of, &plan))
                continue;
            carry_out(of, &plan);
            found++;
            carried_out++;
            for (size_t i = 0; i < of->view->entity_count; i++) {
                probes += plan.parts[i].collection == VIEW_PROBED;
                samples += plan.parts[i].collection == VIEW_SAMPLED;
            }
        }
        view_plans_done(&plans);
        view_conditions_done(&of->conditions);
        view_costs_done(&of->costs);
        view_file_free(of->file);
        free(of);
    }
}

/* ---- an instance that is probed again while an answer is on its way ---- */

struct probing {
    uint32_t probe; /* number of the latest */
    bool active;
};

static void note_probe(void *context, uint32_t entity, uint32_t number)
{
    (void)entity;
    ((struct probing *)context)->probe = number;
}

static void note_release(void *context, uint32_t entity)
{
    (void)context;
    (void)entity;
}

static void note_change(void *context, bool active, bool edge, uint64_t time,
                        const struct view_value *targets)
{
    (void)edge;
    (void)time;
    (void)targets;
    ((struct probing *)context)->active = active;
}

static struct view_value look_number(void *context, uint32_t reference)
{
    (void)reference;
    return (struct view_value){.kind = VIEW_IS_NUMBER, .number = *(const double *)context};
}

static void take(struct view_monitor *monitor, uint32_t entity, uint64_t time, uint32_t probe,
                 double value)
{
    assert_int_equal(0, view_monitor_record(monitor, entity, time, probe, look_number, &value));
}

static void an_answer_to_an_earlier_probe_does_not_count(void **state)
{
    static const char text[] = "VIEW DEF V (a: 1) ACTIVE WHEN Q[1].a0 > 0 AND Q[2].a0 > 0; "
                               "END VIEW DEF";
    const struct view_plan plan = {.parts = {[1] = {.collection = VIEW_PROBED}},
                                   .top = VIEW_IN_CENTRAL};
    struct probing probing = {0};
    const struct view_monitor_calls calls = {&probing, note_probe, note_release, note_change};
    struct view_conditions conditions;
    struct problem problem = {""};
    struct view_file *file;

    (void)state;
    assert_int_equal(0, view_parse("probed", text, sizeof(text) - 1, &file, &problem));
    assert_int_equal(0, view_conditions_make(&file->views[0], &conditions, &problem));
    struct view_monitor *monitor = view_monitor_new(&conditions, &plan, &calls);
    take(monitor, 0, 1, 0, 1);
    uint32_t first = probing.probe;
    assert_int_not_equal(0, first);
    take(monitor, 0, 2, 0, 0);
    take(monitor, 0, 3, 0, 1);
    assert_int_not_equal(first, probing.probe);
    take(monitor, 1, 2, first, 1);
    assert_false(probing.active);
    take(monitor, 1, 4, probing.probe, 1);
    assert_true(probing.active);
    view_monitor_free(monitor);
    view_conditions_done(&conditions);
    view_file_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_to_an_earlier_probe_does_not_count),
        cmocka_unit_test(every_plan_gives_the_same_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
