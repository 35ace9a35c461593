/* SPDX-License-Identifier: MIT */
/* view_explain.c: `dpm view explain`: the plans of views, with their figures. */
#include "command/views/view_explain.h"

#include "monitor/states.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MOST 100 /* plans in text */

static const char *const site_words[] = {"in the sensor", "in the resident monitor",
                                         "in the central monitor"};

/* "14.5 ms" */
static const char *time_text(double ns, char text[32])
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    size_t i = 0;

    while (i + 1 < ARRAY_SIZE(units) && ns < units[i].ns)
        i++;
    snprintf(text, 32, "%.4g %s", ns / units[i].ns, units[i].name);
    return text;
}

static bool has_condition(const struct view_conditions *conditions, size_t entity)
{
    return conditions->of[entity].count > 0 && !conditions->of[entity].raw;
}

static void print_plan(const struct view_conditions *conditions, const struct view_plan *plan)
{
    const struct view *view = conditions->view;
    char entity[VIEW_ENTITY_SIZE], part[VIEW_PART_SIZE], one[32], two[32], three[32];

    for (size_t i = 0; i < view->entity_count; i++) {
        view_entity_text(&view->entities[i], entity);
        view_part_text(&plan->parts[i], view->entities[i].builtin, has_condition(conditions, i),
                       part);
        printf("     %s: %s\n", entity, part);
    }
    printf("     the view is evaluated %s; %s the %s monitor\n", site_words[plan->top],
           view->notifies ? "notifications come from" : "the database learns it from",
           plan->notifies == VIEW_IN_RESIDENT ? "resident" : "central");
    if (plan->dedicated)
        printf("     resident monitors have a processor of their own\n");
    printf("     values up to %s apart; known after %s", time_text(plan->window, one),
           time_text(plan->latency, two));
    if (view->notifies)
        printf(", notified after %s", time_text(plan->notice, three));
    if (plan->flush > 0)
        printf(", queued up to %s more", time_text(plan->flush, one));
    if (plan->period > 0)
        printf("; a sample every %s", time_text(plan->period, one));
    printf(
        "\n     overhead: %s of CPU time for each record, %s for each notification; %.4g records/s,"
        " %.4g messages/s to the central monitor",
        time_text(plan->per_record, one), time_text(plan->per_notification, two), plan->records,
        plan->traffic);
    if (plan->load >= 0.01)
        printf(", %.0f%% of what can be %s", 100 * plan->load,
               plan->by_reading ? "read" : "carried");
    putchar('\n');
}

static void print_plans(const struct view_conditions *conditions, const struct view_plans *plans)
{
    char text[32], other[32];

    printf("VIEW %s\n", conditions->view->name);
    printf("   plans: %.0f in all, %s%.0f keep the meaning, %.0f in time (values within %s), %zu "
           "differ in the number of records\n",
           plans->all, plans->pruned ? "at least " : "", plans->feasible, plans->in_time,
           time_text(plans->correct, text), plans->count);
    if (plans->pruned)
        printf("   too many instances to look at all plans: a better one may be missing\n");
    if (plans->count == 0 && plans->latest.load > 1)
        printf(
            "   none is in time: the one with the fewest records makes %.3g times as many as can "
            "be %s\n",
            plans->latest.load, plans->latest.by_reading ? "read" : "carried");
    else if (plans->count == 0)
        printf("   none is in time: the values of the quickest one are up to %s apart, and it "
               "notifies after %s\n",
               time_text(plans->latest.window, text), time_text(plans->latest.notice, other));
    for (size_t i = 0; i < plans->count && i < SHOWN_MOST; i++) {
        printf("%s %zu%s\n", i == 0 ? "->" : "  ", i + 1, i == 0 ? ", chosen" : "");
        print_plan(conditions, &plans->list[i]);
    }
    if (plans->count > SHOWN_MOST)
        printf("   ... and %zu more (--json has all)\n", plans->count - SHOWN_MOST);
    putchar('\n');
}

static int print_json(const struct view_conditions *conditions, const struct view_plans *plans)
{
    json_t *list = json_array();
    int failed = 0;

    for (size_t i = 0; i < plans->count; i++)
        failed |= json_array_append_new(list, view_plan_json(conditions, &plans->list[i]));
    json_t *object =
        json_pack("{s:s, s:f, s:f, s:f, s:b, s:f, s:o}", "view", conditions->view->name, "plans",
                  plans->all, "feasible", plans->feasible, "in_time", plans->in_time, "pruned",
                  (int)plans->pruned, "correct", plans->correct, "groups", list);
    failed |= json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
    return failed;
}

static int explain(const struct view *view, const struct view_costs *costs, bool json,
                   struct problem *problem)
{
    struct view_conditions conditions;
    struct view_plans plans = {0};
    int result = view_conditions_make(view, &conditions, problem);

    if (result < 0)
        return result;
    result = view_plans_make(&conditions, costs, &plans, problem);
    if (result == 0 && !json)
        print_plans(&conditions, &plans);
    else if (result == 0 && print_json(&conditions, &plans) != 0)
        result = problem_set(problem, -ENOMEM, "out of memory");
    view_plans_done(&plans);
    view_conditions_done(&conditions);
    return result;
}

int view_explain(const char *file, const char *costs_file, bool json)
{
    struct view_file *views = NULL;
    struct problem problem = {""};
    struct view_costs costs;

    view_costs_init(&costs);
    int result = view_read(file, &views, &problem);
    if (result == 0 && costs_file != NULL)
        result = view_costs_read(&costs, costs_file, &problem);
    for (size_t i = 0; result == 0 && i < views->view_count; i++)
        result = explain(&views->views[i], &costs, json, &problem);
    if (result == 0)
        result = command_flush_output(&problem);
    view_file_free(views);
    view_costs_done(&costs);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}
