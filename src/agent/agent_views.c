/* SPDX-License-Identifier: MIT */
/*
 * agent_views.c: the resident monitor of this machine, for a central monitor at the controller. Requests and notices
 * view.*; see docs/control-protocol.md.
 */
#include "agent/agent_private.h"

#include "monitor/collector.h"
#include "monitor/resident.h"
#include "monitor/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct agent_views {
    struct agent *agent;
    struct view_file *file;
    char *name;
    struct resident *resident;
    json_int_t begin; /* number of view.begin: with all notices */
};

static void notice(struct agent_views *views, const char *method, json_t *params)
{
    json_object_set_new(params, "begin", json_integer(views->begin));
    agent_notice(views->agent, method, params);
}

/* ---- notices ---- */

static void notice_values(struct agent_views *views, const char *method, uint32_t row,
                          uint32_t entity, uint64_t time, const struct view_value *values)
{
    const struct view *view = &views->file->views[resident_view_of(views->resident, row)];

    notice(views, method,
           json_pack("{s:I, s:I, s:I, s:o}", "row", (json_int_t)row, "entity", (json_int_t)entity,
                     "time", (json_int_t)time, "values",
                     wire_values(values, view->reference_count)));
}

static void on_record(void *context, uint32_t row, uint32_t entity, uint64_t time,
                      const struct view_value *values)
{
    notice_values(context, "view.record", row, entity, time, values);
}

static void on_answer(void *context, uint32_t row, uint32_t entity, uint64_t time,
                      const struct view_value *values)
{
    struct agent_views *views = context;

    notice_values(views, "view.answer", row, entity, time, values);
}

static void on_result(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                      const struct view_value *targets)
{
    struct agent_views *views = context;
    uint64_t view = resident_view_of(views->resident, row);
    size_t count = active ? views->file->views[view].target_count : 0;

    (void)edge;
    notice(views, "view.result",
           json_pack("{s:I, s:b, s:I, s:o}", "row", (json_int_t)row, "active", active, "time",
                     (json_int_t)time, "values", wire_values(targets, count)));
}

static void tell_instance(struct agent_views *views, const char *method,
                          const struct instance_seen *seen)
{
    json_t *program = json_string(seen->program);

    notice(views, method,
           json_pack("{s:s, s:i, s:o}", "object", seen->object, "pid", (int)seen->pid, "program",
                     program != NULL ? program : json_string("?")));
}

static void on_appeared(void *context, const struct instance_seen *seen)
{
    tell_instance(context, "view.appeared", seen);
}

static void on_ended(void *context, const struct instance_seen *seen)
{
    tell_instance(context, "view.ended", seen);
}

static void on_note(void *context, const char *line)
{
    struct agent_views *views = context;
    json_t *text = json_string(line);

    notice(views, "view.note", json_pack("{s:o}", "text", text != NULL ? text : json_string("?")));
}

/* ---- begin and end ---- */

void agent_views_free(struct agent_views *views)
{
    if (views == NULL)
        return;
    resident_free(views->resident);
    view_file_free(views->file);
    free(views->name);
    free(views);
}

static int add_objects(struct agent_views *views, json_t *objects, struct problem *problem)
{
    struct instances *instances = resident_instances(views->resident);
    json_t *object;
    size_t i;
    int result = 0;

    json_array_foreach(objects, i, object)
    {
        const char *text = json_string_value(object);
        if (result == 0)
            result = text == NULL ? problem_set(problem, -EINVAL, "view.begin: objects are strings")
                                  : instances_define(instances, text, problem);
    }
    return result;
}

static int fill(struct agent_views *views, json_t *params, struct problem *problem)
{
    const char *text = NULL, *name = NULL;
    const char *machine = "localhost";
    json_t *objects = NULL;
    json_int_t every = 0, interval = 1000000000;
    json_error_t error;
    struct collector collectors[RESIDENT_COLLECTORS];
    const struct resident_calls calls = {views,       on_record, on_result, on_answer,
                                         on_appeared, on_ended,  on_note};

    if (json_unpack_ex(params, &error, 0, "{s:s, s:s, s?s, s:I, s:I, s?I, s:o}", "name", &name,
                       "text", &text, "machine", &machine, "begin", &views->begin, "every", &every,
                       "interval", &interval, "objects", &objects) < 0)
        return problem_set(problem, -EINVAL, "view.begin: %s", error.text);
    if (every <= 0 || interval <= 0)
        return problem_set(problem, -EINVAL, "view.begin: every %lld, interval %lld: not possible",
                           (long long)every, (long long)interval);
    if ((views->name = strdup(name)) == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    int result = view_parse(views->name, text, strlen(text), &views->file, problem);
    if (result == 0)
        result = collectors_new(machine, (uint64_t)interval, collectors, problem);
    if (result < 0)
        return result;
    const struct resident_options options = {.file = views->file,
                                             .file_name = views->name,
                                             .every = (uint64_t)every,
                                             .collectors = collectors,
                                             .collector_count = RESIDENT_COLLECTORS};
    result = resident_new(&options, &calls, &views->resident, problem);
    return result < 0 ? result : add_objects(views, objects, problem);
}

int agent_views_begin(struct agent *agent, json_t *params, json_t **ret_result,
                      struct problem *problem)
{
    struct agent_views *views = calloc(1, sizeof(*views));

    if (views == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    views->agent = agent;
    int result = fill(views, params, problem);
    if (result < 0) {
        agent_views_free(views);
        return result;
    }
    agent_views_free(agent->views);
    agent->views = views;
    *ret_result = json_pack("{s:I}", "time", (json_int_t)clock_now(CLOCK_REALTIME));
    return 0;
}

int agent_views_end(struct agent *agent, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    struct monitor_counts counts = {0};

    (void)params;
    (void)problem;
    if (agent->views != NULL)
        resident_count(agent->views->resident, &counts);
    agent_views_free(agent->views);
    agent->views = NULL;
    *ret_result =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hits", (json_int_t)counts.hits, "records",
                  (json_int_t)counts.records, "refused", (json_int_t)counts.refused, "lost",
                  (json_int_t)counts.lost, "reads", (json_int_t)counts.reads, "unread",
                  (json_int_t)counts.unread, "filtered", (json_int_t)counts.filtered);
    return 0;
}

int agent_views_time(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    (void)agent;
    (void)params;
    (void)problem;
    *ret_result = json_pack("{s:I}", "time", (json_int_t)clock_now(CLOCK_REALTIME));
    return 0;
}

/* ---- rows ---- */

static int do_step(struct agent_views *views, json_t *from, struct problem *problem)
{
    struct view_plan plan;
    struct row_step step;
    int result = wire_take_step(from, views->file, &step, &plan, problem);

    return result < 0 ? result : resident_step(views->resident, &step, problem);
}

/* All steps are done, in order; the first that failed is the answer. */
int agent_views_steps(struct agent *agent, json_t *params, json_t **ret_result,
                      struct problem *problem)
{
    json_t *steps = json_object_get(params, "steps"), *step;
    struct problem other;
    size_t i;
    int result = 0;

    (void)ret_result;
    if (agent->views == NULL)
        return problem_set(problem, -ENOENT, "no views have begun: view.begin first");
    if (!json_is_array(steps))
        return problem_set(problem, -EINVAL, "view.steps: steps: an array");
    json_array_foreach(steps, i, step)
    {
        int done = do_step(agent->views, step, result == 0 ? problem : &other);
        result = result < 0 ? result : done;
    }
    return result;
}

/* ---- the loop ---- */

int agent_views_descriptor(const struct agent *agent)
{
    return agent->views == NULL ? -1 : resident_descriptor(agent->views->resident);
}

int agent_views_timeout(const struct agent *agent, int most)
{
    if (agent->views == NULL)
        return most;
    int timeout = poll_timeout(resident_next(agent->views->resident), clock_now(CLOCK_MONOTONIC));
    return timeout < 0 || timeout > most ? most : timeout;
}

void agent_views_work(struct agent *agent)
{
    struct problem problem = {""};

    if (agent->views != NULL && resident_work(agent->views->resident, &problem) < 0)
        on_note(agent->views, problem.text);
}
