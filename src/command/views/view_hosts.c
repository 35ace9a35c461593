/* SPDX-License-Identifier: MIT */
/* view_hosts.c: resident monitors on other machines. See view_hosts.h. */
#include "command/views/view_hosts_private.h"

#include "monitor/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what resident monitors report ---- */

static uint64_t time_of(const struct view_host *host, json_t *time)
{
    return (uint64_t)(json_integer_value(time) - host->clock.ahead);
}

static uint32_t number_of(json_t *what, size_t place)
{
    json_int_t number = json_integer_value(json_array_get(what, place));

    return number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* The values stand at the end. Returns how many; -1: they make no sense. */
static int values_of(json_t *what, struct view_value *values)
{
    json_t *list = json_array_get(what, json_array_size(what) - 1);
    size_t count = json_array_size(list);

    return count <= VIEW_REFERENCES_MOST && wire_take_values(list, count, values) == 0 ? (int)count
                                                                                       : -1;
}

/* ["record", ROW, ENTITY, TIME, PROBE, VALUES] */
static void take_record(struct view_host *host, json_t *what)
{
    struct view_value values[VIEW_REFERENCES_MOST];
    int count = values_of(what, values);

    if (count >= 0)
        central_record(host->hosts->central, number_of(what, 1), number_of(what, 2),
                       time_of(host, json_array_get(what, 3)), number_of(what, 4), values,
                       (size_t)count);
}

/* ["answer", ROW, ENTITY, TIME, VALUES] */
static void take_answer(struct view_host *host, json_t *what)
{
    struct view_value values[VIEW_REFERENCES_MOST];
    int count = values_of(what, values);

    if (count >= 0)
        central_answer(host->hosts->central, number_of(what, 1), number_of(what, 2),
                       time_of(host, json_array_get(what, 3)), values, (size_t)count);
}

/* ["result", ROW, ACTIVE, TIME, VALUES] */
static void take_result(struct view_host *host, json_t *what)
{
    struct view_value values[VIEW_REFERENCES_MOST];
    int count = values_of(what, values);

    if (count >= 0)
        central_result(host->hosts->central, number_of(what, 1),
                       json_is_true(json_array_get(what, 2)),
                       time_of(host, json_array_get(what, 3)), values, (size_t)count);
}

/* ["appeared", OBJECT, PID, PROGRAM] */
static void take_instance(struct view_host *host, json_t *what, bool appeared)
{
    const char *object = json_string_value(json_array_get(what, 1));
    const char *program = json_string_value(json_array_get(what, 3));
    pid_t pid = (pid_t)json_integer_value(json_array_get(what, 2));

    if (object == NULL || program == NULL)
        return;
    if (appeared)
        central_appeared(host->hosts->central, host->link, object, pid, program);
    else
        central_ended(host->hosts->central, host->link, object, pid);
}

static void take_one(struct view_host *host, json_t *what)
{
    const char *word = json_string_value(json_array_get(what, 0));
    const char *text = json_string_value(json_array_get(what, 1));

    if (word == NULL)
        return;
    if (strcmp(word, "record") == 0)
        take_record(host, what);
    else if (strcmp(word, "answer") == 0)
        take_answer(host, what);
    else if (strcmp(word, "result") == 0)
        take_result(host, what);
    else if (strcmp(word, "appeared") == 0 || strcmp(word, "ended") == 0)
        take_instance(host, what, strcmp(word, "appeared") == 0);
    else if (strcmp(word, "note") == 0 && text != NULL)
        command_say("note: %s: %s", host->remote->name, text);
}

static void take_rate(struct view_host *host, json_t *from)
{
    struct row_rate rate;
    uint32_t row, entity;

    if (wire_take_rate(from, &row, &entity, &rate) == 0)
        central_rate(host->hosts->central, row, entity, &rate);
}

static void take_said(struct view_host *host, json_t *params)
{
    struct central *central = host->hosts->central;
    json_int_t dropped = json_integer_value(json_object_get(params, "dropped"));
    json_t *until = json_object_get(params, "until"), *what;
    size_t i;

    json_array_foreach(json_object_get(params, "rates"), i, what) take_rate(host, what);
    json_array_foreach(json_object_get(params, "said"), i, what) take_one(host, what);
    if (dropped > 0)
        central_dropped(central, host->link, (uint64_t)dropped);
    if (json_integer_value(until) > 0)
        central_said(central, host->link, time_of(host, until));
}

static void lose(struct view_host *host)
{
    command_say("note: %s: its instances count as ended", host->remote->name);
    host->lost = true;
    central_lost(host->hosts->central, host->link);
}

static void take_change(struct view_hosts *hosts, struct remote_host *remote, const char *line)
{
    struct view_host *host = remote->context;

    if (line != NULL && !remote->ends)
        command_say("%s", line);
    if (host == NULL || !host->begun || hosts->central == NULL || remote->ends)
        return;
    if (remote->state == REMOTE_READY)
        view_host_return(host);
    else if (!host->lost)
        lose(host);
}

static void happens(void *context, const struct conduct_event *event)
{
    struct view_hosts *hosts = context;
    struct view_host *host = event->host == NULL ? NULL : event->host->context;

    if (event->kind == CONDUCT_SAID)
        command_say("%s: %s", event->host->name, event->text);
    else if (event->kind == CONDUCT_TROUBLE || event->kind == CONDUCT_MISSING)
        command_say("%s", event->text);
    else if (event->kind == CONDUCT_READABLE && !hosts->goes_on &&
             hosts->options.stops(hosts->options.context))
        conduct_interrupt(hosts->conduct);
    else if (event->kind == CONDUCT_CHANGED)
        take_change(hosts, event->host, event->text);
    /* notices of an earlier beginning are about rows that are gone */
    else if (event->kind == CONDUCT_NOTICE && hosts->central != NULL && host->link >= 0 &&
             !host->lost && strcmp(event->message->method, "view.said") == 0 &&
             json_integer_value(json_object_get(event->message->params, "begin")) == host->begin)
        take_said(host, event->message->params);
}

static void failed(struct view_hosts *hosts, int error, const char *line)
{
    if (hosts->failed == 0)
        hosts->failed = problem_set(&hosts->problem, error, "%s", line);
}

int view_hosts_interrupted(const struct view_hosts *hosts, struct problem *problem)
{
    return conduct_is_interrupted(hosts->conduct)
               ? problem_set(problem, -EINTR, "interrupted before the hosts were ready")
               : 0;
}

/* ---- begin ---- */

static int add_hosts(struct view_hosts *hosts, struct problem *problem)
{
    struct remote *remote = conduct_remote(hosts->conduct);
    int result = hosts_options_add(hosts->options.hosts, remote, problem);

    hosts->list = calloc(remote_count(remote) + 1, sizeof(*hosts->list));
    if (hosts->list == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (; hosts->count < remote_count(remote); hosts->count++) {
        struct view_host *host = &hosts->list[hosts->count];
        *host = (struct view_host){.hosts = hosts,
                                   .remote = remote_at(remote, hosts->count),
                                   .link = -1,
                                   .steps = json_array()};
        host->remote->context = host;
    }
    return result;
}

static int connect_all(struct view_hosts *hosts, struct problem *problem)
{
    const struct hosts_options *given = hosts->options.hosts;
    char name[64];

    snprintf(name, sizeof(name), "view-%d", getpid());
    snprintf(hosts->session, sizeof(hosts->session), "%s",
             given->session == NULL ? name : given->session);
    const struct remote_options options =
        hosts_session_options(given, hosts->session, hosts->options.descriptor);
    const struct conduct_options conduct = {
        .session = &options, .event = happens, .context = hosts};
    int result = conduct_open(&conduct, &hosts->conduct, problem);
    if (result == 0)
        result = add_hosts(hosts, problem);
    if (result == 0 && conduct_connect(hosts->conduct) < 0)
        result = view_hosts_interrupted(hosts, problem);
    if (result < 0)
        return result;
    const size_t out = hosts->count - remote_count_in(conduct_remote(hosts->conduct), REMOTE_READY);
    if (out == 0)
        return 0;
    return hosts->count == 1 ? problem_set(problem, -EHOSTUNREACH, "cannot connect to this host")
                             : problem_set(problem, -EHOSTUNREACH,
                                           "cannot connect to %zu of %zu hosts", out, hosts->count);
}

static void took_begin(void *context, struct remote_host *remote, const struct remote_reply *reply)
{
    struct view_host *host = context;

    (void)remote;
    host->hosts->waiting--;
    host->begun = reply->error == 0;
    if (host->begun)
        central_said(host->hosts->central, host->link, clock_now(CLOCK_REALTIME));
    else
        failed(host->hosts, reply->error, reply->line);
}

#define BEAT_LEAST 10000000u  /* ns */
#define BEAT_MOST  100000000u /* ns */

/* How often machines say up to when they have said all: values that are compared wait for it, and notifications for them. */
static uint64_t beat_of(const struct view_file *file)
{
    uint64_t beat = BEAT_MOST;

    for (size_t i = 0; i < file->view_count; i++)
        if (file->views[i].notifies && file->views[i].within / 5 < beat)
            beat = file->views[i].within / 5;
    return beat < BEAT_LEAST ? BEAT_LEAST : beat;
}

/* Its resident monitor begins anew. */
static void begin_host(struct view_host *host, remote_answer took)
{
    struct view_hosts *hosts = host->hosts;
    json_t *objects = json_array();

    for (size_t i = 0; i < hosts->options.object_count; i++)
        json_array_append_new(objects, json_string(hosts->options.objects[i]));
    json_t *params = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "name", hosts->options.file_name, "text",
        hosts->options.file->text, "machine", host->remote->name, "begin", ++host->begin, "every",
        (json_int_t)hosts->options.every, "interval", (json_int_t)hosts->options.interval, "beat",
        (json_int_t)beat_of(hosts->options.file), "objects", objects);
    remote_call(conduct_remote(hosts->conduct), host->remote, "view.begin", params, VIEW_CALL_MS,
                took, host);
}

static void took_begin_again(void *context, struct remote_host *remote,
                             const struct remote_reply *reply)
{
    struct view_host *host = context;

    host->waits = false;
    if (host->ended)
        return;
    if (reply->error < 0) {
        command_say("note: %s", reply->line);
        if (!host->lost)
            lose(host);
    }
    if (reply->error == 0)
        central_said(host->hosts->central, host->link, clock_now(CLOCK_REALTIME));
    if (remote->state == REMOTE_READY && reply->error != -EREMOTEIO) /* else it has refused */
        view_host_return(host);
}

void view_host_return(struct view_host *host)
{
    if (!host->lost ||
        host->waits) /* what still waits was for the earlier one: its answer ends that */
        return;
    host->lost = false;
    host->waits = true;
    json_array_clear(host->steps);
    begin_host(host, took_begin_again);
    central_returned(host->hosts->central, host->link);
    host->ask_next = 0; /* its clock */
    command_say("note: %s: it is back, and its instances appear again", host->remote->name);
}

int view_hosts_begin(const struct view_hosts_options *options, struct view_hosts **ret_hosts,
                     struct problem *problem)
{
    struct view_hosts *hosts = calloc(1, sizeof(*hosts));

    if (hosts == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    hosts->options = *options;
    int result = connect_all(hosts, problem);
    if (result == 0)
        result = view_clocks_begin(hosts, problem);
    if (result < 0) {
        view_hosts_end(hosts, NULL);
        return result;
    }
    *ret_hosts = hosts;
    return 0;
}

int view_hosts_link(struct view_hosts *hosts, struct monitor *monitor, struct problem *problem)
{
    hosts->central = monitor_central(monitor);
    for (size_t i = 0; i < hosts->count; i++) {
        struct view_host *host = &hosts->list[i];
        const struct central_link link = view_host_link(host);
        host->link = central_add_link(hosts->central, &link);
        if (host->link < 0)
            return problem_set(problem, host->link, "too many hosts");
        hosts->waiting++;
        begin_host(host, took_begin);
    }
    while (hosts->waiting > 0 && !conduct_is_interrupted(hosts->conduct))
        conduct_step(hosts->conduct, 100);
    hosts->goes_on = true;
    return hosts->failed < 0 ? problem_set(problem, hosts->failed, "%s", hosts->problem.text)
                             : view_hosts_interrupted(hosts, problem);
}

void view_hosts_poll(struct view_hosts *hosts, int timeout_ms)
{
    view_hosts_send(hosts);
    conduct_step(hosts->conduct, timeout_ms);
    view_clocks_work(hosts);
    central_settle(hosts->central);
    view_hosts_send(hosts);
}

/* ---- end ---- */

static void add_counts(struct monitor_counts *counts, json_t *result)
{
    const struct {
        const char *key;
        uint64_t *sum;
    } sums[] = {{"hits", &counts->hits},
                {"records", &counts->records},
                {"refused", &counts->refused},
                {"lost", &counts->lost},
                {"reads", &counts->reads},
                {"unread", &counts->unread},
                {"filtered", &counts->filtered},
                {"unsent", &counts->unsent},
                {"late_starts", &counts->late_starts},
                {"unseen", &counts->unseen}};
    uint64_t latest = fabric_count(result, "latest_start");

    for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
        *sums[i].sum += fabric_count(result, sums[i].key);
    if (latest > counts->latest_start)
        counts->latest_start = latest;
}

static void took_end(void *context, struct remote_host *remote, const struct conduct_answer *answer)
{
    if (answer->error < 0)
        command_say("%s: %s: what it has counted is missing", remote->name, answer->why);
    else
        add_counts(context, answer->result);
}

static bool is_ready(void *context, struct remote_host *remote)
{
    (void)context;
    return remote->state == REMOTE_READY;
}

/* Those that are not asked. */
static void note_not_there(const struct view_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (!is_ready(NULL, hosts->list[i].remote))
            command_say("%s: it is not there: what it has counted is missing",
                        hosts->list[i].remote->name);
}

void view_hosts_end(struct view_hosts *hosts, struct monitor_counts *counts)
{
    if (hosts == NULL)
        return;
    if (counts != NULL)
        note_not_there(hosts);
    for (size_t i = 0; i < hosts->count; i++)
        hosts->list[i].ended = true;
    hosts->goes_on = false;
    if (hosts->conduct != NULL)
        conduct_set_patience(hosts->conduct, 1);
    if (hosts->conduct != NULL && counts != NULL)
        conduct_ask_all(hosts->conduct, &(struct conduct_question){.method = "view.end",
                                                                   .asks = is_ready,
                                                                   .took = took_end,
                                                                   .context = counts,
                                                                   .timeout_ms = VIEW_CALL_MS});
    hosts->central = NULL;
    for (size_t i = 0; i < hosts->count; i++)
        hosts->list[i].remote->ends = true;
    if (hosts->conduct != NULL) {
        conduct_set_patience(hosts->conduct, 1);
        conduct_end_agents(hosts->conduct, NULL);
    }
    conduct_close(hosts->conduct);
    for (size_t i = 0; i < hosts->count; i++)
        json_decref(hosts->list[i].steps);
    free(hosts->list);
    free(hosts);
}
