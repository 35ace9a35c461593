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

#define BATCH_BYTES 400000u /* of one notice, about */
#define SAID_MOST   50000u  /* what waits: then values are dropped ... */
#define SAID_ALL    100000u /* ... and then even what becomes of rows, which is said again later */
#define PENDING     2u      /* notices on their way: what happens meanwhile goes together */
#define BEAT_SLOW                                                                                  \
    500000000 /* ns: how often it says that all has been said, if nothing is compared with others */

struct agent_views {
    struct agent *agent;
    struct view_file *file;
    char *name;
    struct resident *resident;
    json_int_t begin; /* number of view.begin: with all notices */
    json_t *said;     /* what has happened and was not sent yet */
    size_t dropped;   /* values that were not kept for that */
    bool lacks;       /* some were, so what the central monitor has may be out of date */
    json_int_t beat;  /* ns: how often it says up to when all has been said */
    uint64_t due;     /* CLOCK_MONOTONIC: of that */
    uint64_t rated;   /* CLOCK_MONOTONIC: when rates were looked at */
    struct monitor_counts counted; /* by earlier resident monitors of the same run */
};

/* ---- what happens ---- */

static void drop(struct agent_views *views, json_t *what)
{
    json_decref(what);
    views->dropped++;
    views->lacks = true;
}

static void say_one(struct agent_views *views, json_t *what)
{
    if (what != NULL)
        json_array_append_new(views->said, what);
}

/* Unless so many wait already. */
static void say_up_to(struct agent_views *views, size_t most, json_t *what)
{
    if (json_array_size(views->said) < most)
        say_one(views, what);
    else
        drop(views, what);
}

static json_t *values_of(struct agent_views *views, uint32_t row, const struct view_value *values)
{
    int64_t view = resident_view_of(views->resident, row);

    return wire_values(values, values == NULL ? 0 : views->file->views[view].reference_count);
}

static void on_record(void *context, uint32_t row, uint32_t entity, uint64_t time, uint32_t probe,
                      const struct view_value *values)
{
    say_up_to(context, SAID_MOST,
              json_pack("[s, I, I, I, I, o]", "record", (json_int_t)row, (json_int_t)entity,
                        (json_int_t)time, (json_int_t)probe, values_of(context, row, values)));
}

static void on_answer(void *context, uint32_t row, uint32_t entity, uint64_t time,
                      const struct view_value *values)
{
    say_one(context, json_pack("[s, I, I, I, o]", "answer", (json_int_t)row, (json_int_t)entity,
                               (json_int_t)time, values_of(context, row, values)));
}

static void on_result(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                      const struct view_value *targets)
{
    struct agent_views *views = context;
    int64_t view = resident_view_of(views->resident, row);
    size_t count = active ? views->file->views[view].target_count : 0;
    json_t *what = json_pack("[s, I, b, I, o]", "result", (json_int_t)row, active, (json_int_t)time,
                             wire_values(targets, count));

    say_up_to(views, edge ? SAID_ALL : SAID_MOST, what);
}

static void say_instance(struct agent_views *views, const char *what,
                         const struct instance_seen *seen)
{
    json_t *program = json_string(seen->program);

    say_one(views, json_pack("[s, s, i, o]", what, seen->object, (int)seen->pid,
                             program != NULL ? program : json_string("?")));
}

static void on_appeared(void *context, const struct instance_seen *seen)
{
    say_instance(context, "appeared", seen);
}

static void on_ended(void *context, const struct instance_seen *seen)
{
    say_instance(context, "ended", seen);
}

static void on_note(void *context, const char *line)
{
    json_t *text = json_string(line);

    say_one(context, json_pack("[s, o]", "note", text != NULL ? text : json_string("?")));
}

/* ---- ... is said ---- */

/* About: texts may have to be escaped. */
static size_t size_of(json_t *what)
{
    size_t size = 32, i;
    json_t *member;

    json_array_foreach(what, i, member) size += json_is_array(member) ? size_of(member)
                                                : json_is_string(member)
                                                    ? 6 * json_string_length(member)
                                                    : 24;
    return size;
}

static uint64_t count_values(json_t *said)
{
    uint64_t count = 0;
    size_t i;
    json_t *what;

    json_array_foreach(said, i, what)
    {
        const char *word = json_string_value(json_array_get(what, 0));
        count += strcmp(word, "record") == 0 || strcmp(word, "result") == 0;
    }
    return count;
}

/* The first of them, as many as a notice takes. */
static json_t *take_batch(struct agent_views *views)
{
    json_t *all = views->said, *batch, *rest, *what;
    size_t bytes = 0, count = 0, i;

    while (count < json_array_size(all) && bytes < BATCH_BYTES)
        bytes += size_of(json_array_get(all, count++));
    if (count == json_array_size(all)) {
        views->said = json_array();
        return all;
    }
    batch = json_array();
    rest = json_array();
    json_array_foreach(all, i, what) json_array_append(i < count ? batch : rest, what);
    json_decref(all);
    views->said = rest;
    return batch;
}

static void add_rate(void *context, uint32_t row, uint32_t entity, const struct row_rate *rate)
{
    json_array_append_new(context, wire_rate(row, entity, rate));
}

#define RATES_EVERY 1000000000u /* ns */

/* Once a second, and before what waits to be said: that there is too much of it must be known soon. */
static void add_rates(struct agent_views *views, json_t *params, uint64_t now)
{
    if (now < views->rated + RATES_EVERY)
        return;
    json_t *rates = json_array();
    views->rated = now;
    resident_rates(views->resident, add_rate, rates);
    json_object_set_new(params, "rates", rates);
}

/* What has happened since, with the time up to which that is all. */
static void say_all(struct agent_views *views)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    bool feeds = resident_feeds(views->resident);

    if ((json_array_size(views->said) == 0 && views->dropped == 0 && now < views->due) ||
        !agent_may_notice(views->agent, PENDING))
        return;
    json_t *batch = take_batch(views);
    bool all = json_array_size(views->said) == 0 && !views->lacks;
    json_t *params = json_pack("{s:I, s:o, s:I, s:I}", "begin", views->begin, "said", batch,
                               "until", all ? (json_int_t)resident_until(views->resident) : 0,
                               "dropped", (json_int_t)views->dropped);
    add_rates(views, params, now);
    agent_notice(views->agent, "view.said", params);
    views->dropped = 0;
    views->due = now + (uint64_t)(feeds ? views->beat : BEAT_SLOW);
    if (json_array_size(views->said) == 0 && views->lacks) {
        views->lacks = false;
        resident_refresh(views->resident);
    }
}

/* ---- begin and end ---- */

void agent_views_free(struct agent_views *views)
{
    if (views == NULL)
        return;
    resident_free(views->resident);
    view_file_free(views->file);
    json_decref(views->said);
    free(views->name);
    free(views);
}

static int add_objects(struct agent_views *views, json_t *objects, struct problem *problem)
{
    json_t *object;
    size_t i;
    int result = 0;

    json_array_foreach(objects, i, object)
    {
        const char *text = json_string_value(object);
        if (result == 0)
            result = text == NULL ? problem_set(problem, -EINVAL, "view.begin: objects are strings")
                                  : resident_define(views->resident, text, problem);
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

    if (json_unpack_ex(params, &error, 0, "{s:s, s:s, s?s, s:I, s:I, s?I, s?I, s:o}", "name", &name,
                       "text", &text, "machine", &machine, "begin", &views->begin, "every", &every,
                       "interval", &interval, "beat", &views->beat, "objects", &objects) < 0)
        return problem_set(problem, -EINVAL, "view.begin: %s", error.text);
    if (every <= 0 || interval <= 0 || views->beat <= 0)
        return problem_set(problem, -EINVAL,
                           "view.begin: every %lld, interval %lld, beat %lld: not possible",
                           (long long)every, (long long)interval, (long long)views->beat);
    if ((views->name = strdup(name)) == NULL || (views->said = json_array()) == NULL)
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

/* All that this agent has counted since the run began. */
static void count_all(const struct agent_views *views, struct monitor_counts *ret_counts)
{
    *ret_counts = views->counted;
    resident_count(views->resident, ret_counts);
    ret_counts->unsent += count_values(views->said) + views->dropped;
}

int agent_views_begin(struct agent *agent, json_t *params, json_t **ret_result,
                      struct problem *problem)
{
    struct agent_views *views = calloc(1, sizeof(*views));

    if (views == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    views->agent = agent;
    views->beat = BEAT_SLOW;
    int result = fill(views, params, problem);
    if (result < 0) {
        agent_views_free(views);
        return result;
    }
    if (agent->views != NULL && views->begin > 1) /* the connection was lost and is back */
        count_all(agent->views, &views->counted);
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
        count_all(agent->views, &counts);
    agent_views_free(agent->views);
    agent->views = NULL;
    *ret_result = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hits", (json_int_t)counts.hits,
        "records", (json_int_t)counts.records, "refused", (json_int_t)counts.refused, "lost",
        (json_int_t)counts.lost, "reads", (json_int_t)counts.reads, "unread",
        (json_int_t)counts.unread, "filtered", (json_int_t)counts.filtered, "unsent",
        (json_int_t)counts.unsent, "late_starts", (json_int_t)counts.late_starts, "latest_start",
        (json_int_t)counts.latest_start, "unseen", (json_int_t)counts.unseen);
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
    uint64_t next = resident_next(agent->views->resident);
    if (agent->views->due < next && agent_may_notice(agent->views->agent, PENDING))
        next = agent->views->due;
    int timeout = poll_timeout(next, clock_now(CLOCK_MONOTONIC));
    return timeout < 0 || timeout > most ? most : timeout;
}

void agent_views_work(struct agent *agent)
{
    struct problem problem = {""};

    if (agent->views == NULL)
        return;
    if (resident_work(agent->views->resident, &problem) < 0)
        on_note(agent->views, problem.text);
    say_all(agent->views);
}
