/* SPDX-License-Identifier: MIT */
/*
 * views_fuzz.c: the input is a file of attributes and views, and a file of costs. Any input is accepted, or refused
 * with one line that says where. Predicates that are written and read again stay the same, and views have plans whose
 * figures are finite.
 */
#include "fuzz.h"
#include "view/planner.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void check_refusal(int result, const struct problem *problem)
{
    PROMISE(result == -EINVAL);
    PROMISE(strncmp(problem->text, "input", 5) == 0);
    PROMISE(strchr(problem->text, '\n') == NULL);
}

/* A text constant may contain what the language cannot write again: a line end cannot be in one. */
static void check_written(const struct view *view)
{
    static char text[200000], again[200100], twice[200000];
    struct view_file *file = NULL;
    int size = view_expression_text(view, view->predicate, text, sizeof(text));

    PROMISE(size > 0);
    if ((size_t)size >= sizeof(text))
        return;
    snprintf(again, sizeof(again), "VIEW DEF V (a: 1) ACTIVE WHEN %s; END VIEW DEF", text);
    if (view_parse("again", again, strlen(again), &file, NULL) < 0)
        return; /* parentheses for each operator may exceed the limit */
    view_expression_text(&file->views[0], file->views[0].predicate, twice, sizeof(twice));
    PROMISE(strcmp(text, twice) == 0);
    view_file_free(file);
}

static void check_plans(const struct view *view, const struct view_costs *costs)
{
    struct view_conditions conditions;
    struct view_plans plans = {0};

    if (view->entity_count > 2 || view_conditions_make(view, &conditions, NULL) < 0)
        return;
    PROMISE(view_plans_make(&conditions, costs, &plans, NULL) == 0);
    PROMISE(plans.count <= plans.in_time && plans.in_time <= plans.feasible &&
            plans.feasible <= plans.all);
    for (size_t i = 0; i < plans.count; i++) {
        PROMISE(plans.list[i].window <= plans.correct);
        PROMISE(isfinite(plans.list[i].per_notification));
    }
    view_plans_done(&plans);
    view_conditions_done(&conditions);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    const char *second = size == 0 ? NULL : memchr(text, '%', size);
    size_t first = second == NULL ? size : (size_t)(second - text);
    struct problem problem = {""};
    struct view_file *file = NULL;
    struct view_costs costs;

    view_costs_init(&costs);
    if (second != NULL) {
        int result = view_costs_parse(&costs, "input", second + 1, size - first - 1, &problem);
        if (result < 0)
            check_refusal(result, &problem);
    }
    int result = view_parse("input", text, first, &file, &problem);
    if (result < 0)
        check_refusal(result, &problem);
    for (size_t i = 0; result == 0 && i < file->view_count; i++) {
        check_written(&file->views[i]);
        if (i == 0)
            check_plans(&file->views[i], &costs);
    }
    view_file_free(file);
    view_costs_done(&costs);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "ATTRIBUTE DEFINITION FOR OBJECT Q n: (q->size - 1) * a[2].b; AT \"f\", \"g.c:1\"; END "
        "ATTRIBUTE DEF\n"
        "VIEW DEF S (a: 1) ACTIVE WHEN 1 < 2; NOTIFY SUBJECT \"q\" OF h:1 WITHIN 1 S; END VIEW DEF "
        "VIEW DEF C (a: 1) ACTIVE WHEN 1 < 2; NOTIFY COMMAND \"c\" WITHIN 1 S; END VIEW DEF "
        "VIEW DEF V-1 (a: Q[1].n + 2, b: \"t\") ACTIVE WHEN (Q[1].n > 24) AND Q[2].n <> - 1.5e1 "
        "OR Q[1].m = \"x\"; CORRECT TO WITHIN 25 MS; NOTIFY 119 OF a@b-c.d WITHIN 1000 MSEC; "
        "END VIEW DEF\n%message machine 3ms send 1ms byte 2ns\nprobe 3ms cpu 1ms\nshared 1us 2us\n"
        "place Q[1] sun process 7 changes 10 selectivity 0.5\nsubnet a sun\ncentral sun\n"
        "receive 1ms\n";

    return fuzz_text(bytes, room, example);
}
