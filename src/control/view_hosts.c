/* SPDX-License-Identifier: MIT */
/* view_hosts.c: resident monitors on other machines. See view_hosts.h. */
#include "control/view_hosts.h"

#include "monitor/central.h"
#include "monitor/wire.h"
#include "remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 30000
#define CALL_MS    30000
#define CLOCK_ASKS 5 /* the quickest answer tells most about a clock */

struct view_host {
    struct view_hosts *hosts;
    struct remote_host *remote;
    int link;       /* its number for the central monitor; -1: not added yet */
    bool begun;     /* its resident monitor has */
    bool lost;      /* it is away: its instances have ended, for the central monitor */
    int64_t ahead;  /* ns that its clock is ahead of ours */
    uint64_t bound; /* ns that `ahead` can be wrong */
    unsigned asked; /* how often its clock was */
    uint64_t asked_at;
    json_t *steps; /* that were not sent yet */
    bool waits;    /* for the answer to some */
    bool ended;
};

struct view_hosts {
    struct view_hosts_options options;
    char session[FABRIC_NAME_MOST + 1];
    char *text; /* of the file of views */
    struct remote *remote;
    struct view_host *list;
    size_t count;
    struct central *central;
    struct monitor_counts *counts; /* at the end */
    json_int_t begins;
    size_t waiting; /* answers */
    int failed;
    struct problem problem;
};

/* ---- what resident monitors report ---- */

static uint64_t time_of(const struct view_host *host, json_t *params)
{
    return (uint64_t)(json_integer_value(json_object_get(params, "time")) - host->ahead);
}

static uint32_t number_of(json_t *params, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(params, key));

    return number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* A record, or the answer to a question. */
static void take_values(struct view_host *host, json_t *params, bool answer)
{
    json_t *list = json_object_get(params, "values");
    struct view_value values[VIEW_REFERENCES_MOST];
    size_t count = json_array_size(list);

    if (count <= VIEW_REFERENCES_MOST && wire_take_values(list, count, values) == 0)
        (answer ? central_answer : central_record)(host->hosts->central, number_of(params, "row"),
                                                   number_of(params, "entity"),
                                                   time_of(host, params), values, count);
}

static void take_result(struct view_host *host, json_t *params)
{
    json_t *list = json_object_get(params, "values");
    struct view_value values[VIEW_REFERENCES_MOST];
    size_t count = json_array_size(list);

    if (count <= VIEW_REFERENCES_MOST && wire_take_values(list, count, values) == 0)
        central_result(host->hosts->central, number_of(params, "row"),
                       json_is_true(json_object_get(params, "active")), time_of(host, params),
                       values, count);
}

static void take_instance(struct view_host *host, json_t *params, bool appeared)
{
    const char *object = json_string_value(json_object_get(params, "object"));
    const char *program = json_string_value(json_object_get(params, "program"));
    pid_t pid = (pid_t)json_integer_value(json_object_get(params, "pid"));

    if (object == NULL || program == NULL)
        return;
    if (appeared)
        central_appeared(host->hosts->central, host->link, object, pid, program);
    else
        central_ended(host->hosts->central, host->link, object, pid);
}

static void take_notice(struct view_host *host, const char *method, json_t *params)
{
    if (strcmp(method, "view.record") == 0)
        take_values(host, params, false);
    else if (strcmp(method, "view.answer") == 0)
        take_values(host, params, true);
    else if (strcmp(method, "view.result") == 0)
        take_result(host, params);
    else if (strcmp(method, "view.appeared") == 0 || strcmp(method, "view.ended") == 0)
        take_instance(host, params, strcmp(method, "view.appeared") == 0);
    else if (strcmp(method, "view.note") == 0 && json_is_string(json_object_get(params, "text")))
        command_say("note: %s: %s", host->remote->name,
                    json_string_value(json_object_get(params, "text")));
}

static void message(void *context, struct remote_host *remote, const struct fabric_message *message)
{
    struct view_hosts *hosts = context;
    struct view_host *host = remote->context;

    /* notices of an earlier beginning are about rows that are gone */
    if (message->kind == FABRIC_NOTICE && hosts->central != NULL && host->link >= 0 &&
        !host->lost &&
        json_integer_value(json_object_get(message->params, "begin")) == hosts->begins)
        take_notice(host, message->method, message->params);
}

static void said(void *context, struct remote_host *host, const char *line)
{
    (void)context;
    command_say("%s: %s", host->name, line);
}

static void trouble(void *context, const char *line)
{
    (void)context;
    command_say("%s", line);
}

static void readable(void *context)
{
    (void)context; /* the caller looks after each wait */
}

static void changed(void *context, struct remote_host *remote, const char *line)
{
    struct view_hosts *hosts = context;
    struct view_host *host = remote->context;

    if (line != NULL && !remote->ends)
        command_say("%s", line);
    if (host == NULL || remote->state == REMOTE_READY || !host->begun || hosts->central == NULL ||
        host->lost || remote->ends)
        return;
    command_say("note: %s: its instances count as ended", remote->name);
    host->lost = true;
    central_lost(hosts->central, host->link);
}

static const struct remote_callbacks callbacks = {
    .said = said,
    .changed = changed,
    .message = message,
    .trouble = trouble,
    .readable = readable,
};

/* ---- requests ---- */

static void failed(struct view_hosts *hosts, int error, const char *line)
{
    if (hosts->failed == 0)
        hosts->failed = problem_set(&hosts->problem, error, "%s", line);
}

static void took_steps(void *context, struct remote_host *remote, int error, int code,
                       json_t *result, const char *line)
{
    struct view_host *host = context;

    (void)remote;
    (void)code;
    (void)result;
    host->waits = false;
    if (error < 0 && !host->ended)
        command_say("note: %s", line);
}

/* One request at a time, so that steps arrive in order. Returns whether there is one to send. */
static bool send_steps(struct view_host *host)
{
    if (host->waits || host->lost || json_array_size(host->steps) == 0)
        return false;
    json_t *params = json_pack("{s:o}", "steps", host->steps);
    host->steps = json_array();
    host->waits = true;
    remote_call(host->hosts->remote, host->remote, "view.steps", params, CALL_MS, took_steps, host);
    return true;
}

static void send_all_steps(struct view_hosts *hosts)
{
    bool any = false;

    for (size_t i = 0; i < hosts->count; i++)
        any = send_steps(&hosts->list[i]) || any;
    if (any)
        remote_poll(hosts->remote, 0); /* which sends them at once */
}

static int link_open(void *self, uint32_t row, uint32_t view, const struct view_plan *plan,
                     struct problem *problem)
{
    struct view_host *host = self;

    (void)problem;
    json_array_append_new(host->steps,
                          json_pack("[s, I, I, o]", "open", (json_int_t)row, (json_int_t)view,
                                    wire_plan(&host->hosts->options.file->views[view], plan)));
    return 0;
}

static void step(struct view_host *host, const char *name, uint32_t row, uint32_t entity, pid_t pid)
{
    json_array_append_new(host->steps, json_pack("[s, I, I, i]", name, (json_int_t)row,
                                                 (json_int_t)entity, (int)pid));
}

static void link_close(void *self, uint32_t row)
{
    step(self, "close", row, 0, 0);
}

static void link_bind(void *self, uint32_t row, uint32_t entity, pid_t pid)
{
    step(self, "bind", row, entity, pid);
}

/* The resident monitor says that its values are unknown only when it has heard of it; the central one knows already. */
static void link_unbind(void *self, uint32_t row, uint32_t entity)
{
    step(self, "bind", row, entity, 0);
}

static void link_probe(void *self, uint32_t row, uint32_t entity)
{
    step(self, "probe", row, entity, 0);
}

static void link_release(void *self, uint32_t row, uint32_t entity)
{
    step(self, "release", row, entity, 0);
}

static void link_read(void *self, uint32_t row, uint32_t entity)
{
    step(self, "read", row, entity, 0);
}

static void link_turn(void *self, uint32_t view, bool on)
{
    json_array_append_new(((struct view_host *)self)->steps,
                          json_pack("[s, I, b]", "turn", (json_int_t)view, on));
}

static void link_constant(void *self, uint32_t view, uint32_t index, double value)
{
    json_array_append_new(
        ((struct view_host *)self)->steps,
        json_pack("[s, I, I, f]", "constant", (json_int_t)view, (json_int_t)index, value));
}

/* ---- begin ---- */

static int read_text(struct view_hosts *hosts, struct problem *problem)
{
    int file = open(hosts->options.file_name, O_RDONLY | O_CLOEXEC);
    ssize_t size = 0, got = 1;

    hosts->text = calloc(1, VIEW_FILE_MOST + 1);
    while (file >= 0 && hosts->text != NULL && got > 0 && size < VIEW_FILE_MOST) {
        got = read(file, hosts->text + size, VIEW_FILE_MOST - (size_t)size);
        size += got > 0 ? got : 0;
    }
    if (file >= 0)
        close(file);
    return file < 0 || hosts->text == NULL || got < 0
               ? problem_set(problem, -EIO, "cannot read %s again", hosts->options.file_name)
               : 0;
}

static int add_hosts(struct view_hosts *hosts, struct problem *problem)
{
    const struct hosts_options *options = hosts->options.hosts;

    hosts->list = calloc(options->count, sizeof(*hosts->list));
    if (hosts->list == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->count; i++) {
        struct view_host *host = &hosts->list[hosts->count];
        int result = remote_add(hosts->remote, options->list[i].name, &host->remote, problem);
        if (result < 0)
            return result;
        if (host->remote->context != NULL)
            continue;
        host->hosts = hosts;
        host->link = -1;
        host->bound = UINT64_MAX;
        host->steps = json_array();
        host->remote->context = host;
        hosts->count++;
    }
    return 0;
}

static int connect_all(struct view_hosts *hosts, struct problem *problem)
{
    const struct hosts_options *given = hosts->options.hosts;
    const struct remote_options options = {
        .session = hosts->session,
        .rsh = given->rsh == NULL ? REMOTE_RSH : given->rsh,
        .dpm = given->dpm == NULL ? REMOTE_DPM : given->dpm,
        .disk_bytes = given->disk,
        .url = given->fabric,
        .credentials = given->credentials,
        .agent_credentials = given->agent_credentials,
        .authorities = given->authorities,
        .alone = (unsigned)((given->alone + 999999999) / 1000000000),
        .connect_ms = CONNECT_MS,
        .descriptor = hosts->options.descriptor,
        .callbacks = &callbacks,
        .context = hosts,
    };
    char name[64];

    snprintf(name, sizeof(name), "view-%d", getpid());
    snprintf(hosts->session, sizeof(hosts->session), "%s",
             given->session == NULL ? name : given->session);
    int result = remote_new(&options, &hosts->remote, problem);
    if (result == 0)
        result = add_hosts(hosts, problem);
    while (result == 0 && remote_count_in(hosts->remote, REMOTE_STARTING) +
                                  remote_count_in(hosts->remote, REMOTE_LINKED) >
                              0)
        remote_poll(hosts->remote, 100);
    if (result == 0 && remote_count_in(hosts->remote, REMOTE_READY) < hosts->count)
        result = problem_set(problem, -EHOSTUNREACH, "cannot connect to all hosts");
    return result;
}

static void took_begin(void *context, struct remote_host *remote, int error, int code,
                       json_t *result, const char *line)
{
    struct view_host *host = context;

    (void)remote;
    (void)code;
    (void)result;
    host->hosts->waiting--;
    host->begun = error == 0;
    if (error < 0)
        failed(host->hosts, error, line);
}

static void took_time(void *context, struct remote_host *remote, int error, int code,
                      json_t *result, const char *line)
{
    struct view_host *host = context;
    uint64_t now = clock_now(CLOCK_REALTIME), bound = (now - host->asked_at) / 2;

    (void)remote;
    (void)code;
    host->hosts->waiting--;
    if (error < 0) {
        failed(host->hosts, error, line);
    } else if (bound < host->bound) {
        host->bound = bound;
        host->ahead = json_integer_value(json_object_get(result, "time")) -
                      (json_int_t)(host->asked_at + bound);
    }
}

static void wait_for_answers(struct view_hosts *hosts)
{
    while (hosts->waiting > 0)
        remote_poll(hosts->remote, 100);
}

/* As in Cristian's algorithm: the answer's time is right to half of the round trip. */
static void ask_clocks(struct view_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        for (unsigned ask = 0; ask < CLOCK_ASKS && hosts->failed == 0; ask++) {
            struct view_host *host = &hosts->list[i];
            hosts->waiting++;
            host->asked_at = clock_now(CLOCK_REALTIME);
            remote_call(hosts->remote, host->remote, "view.time", NULL, CALL_MS, took_time, host);
            remote_poll(hosts->remote, 0); /* which sends it at once */
            wait_for_answers(hosts);
        }
}

static void begin_host(struct view_host *host)
{
    struct view_hosts *hosts = host->hosts;
    json_t *objects = json_array();

    for (size_t i = 0; i < hosts->options.object_count; i++)
        json_array_append_new(objects, json_string(hosts->options.objects[i]));
    json_t *params = json_pack("{s:s, s:s, s:I, s:I, s:o}", "name", hosts->options.file_name,
                               "text", hosts->text, "begin", hosts->begins, "every",
                               (json_int_t)hosts->options.every, "objects", objects);
    hosts->waiting++;
    remote_call(hosts->remote, host->remote, "view.begin", params, CALL_MS, took_begin, host);
}

static int begin_all(struct view_hosts *hosts, double *ret_clocks, struct problem *problem)
{
    double most = 0;

    ask_clocks(hosts);
    for (size_t i = 0; i < hosts->count && hosts->failed == 0; i++) {
        const struct view_host *host = &hosts->list[i];
        command_say("%s: its clock is %.3f ms %s, to %.3f ms", host->remote->name,
                    fabs((double)host->ahead) / 1e6, host->ahead < 0 ? "behind" : "ahead",
                    (double)host->bound / 1e6);
        if ((double)host->bound > most)
            most = (double)host->bound;
    }
    *ret_clocks = most;
    return hosts->failed < 0 ? problem_set(problem, hosts->failed, "%s", hosts->problem.text) : 0;
}

int view_hosts_begin(const struct view_hosts_options *options, struct view_hosts **ret_hosts,
                     double *ret_clocks, struct problem *problem)
{
    struct view_hosts *hosts = calloc(1, sizeof(*hosts));

    if (hosts == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    hosts->options = *options;
    hosts->begins = 1;
    int result = read_text(hosts, problem);
    if (result == 0)
        result = connect_all(hosts, problem);
    if (result == 0)
        result = begin_all(hosts, ret_clocks, problem);
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
        const struct central_link link = {.self = host,
                                          .machine = host->remote->name,
                                          .open = link_open,
                                          .close = link_close,
                                          .bind = link_bind,
                                          .unbind = link_unbind,
                                          .probe = link_probe,
                                          .release = link_release,
                                          .read = link_read,
                                          .turn = link_turn,
                                          .constant = link_constant};
        host->link = central_add_link(hosts->central, &link);
        if (host->link < 0)
            return problem_set(problem, host->link, "too many hosts");
        begin_host(host);
    }
    wait_for_answers(hosts);
    return hosts->failed < 0 ? problem_set(problem, hosts->failed, "%s", hosts->problem.text) : 0;
}

void view_hosts_poll(struct view_hosts *hosts, int timeout_ms)
{
    send_all_steps(hosts);
    remote_poll(hosts->remote, timeout_ms);
    send_all_steps(hosts);
}

/* ---- end ---- */

static void took_counts(void *context, struct remote_host *remote, int error, int code,
                        json_t *result, const char *line)
{
    struct view_host *host = context;
    struct monitor_counts *counts = host->hosts->counts;
    const struct {
        const char *key;
        uint64_t *sum;
    } sums[] = {{"hits", &counts->hits},        {"records", &counts->records},
                {"refused", &counts->refused},  {"lost", &counts->lost},
                {"reads", &counts->reads},      {"unread", &counts->unread},
                {"filtered", &counts->filtered}};

    (void)remote;
    (void)code;
    host->hosts->waiting--;
    if (error < 0)
        command_say("%s", line);
    for (size_t i = 0; error == 0 && i < ARRAY_SIZE(sums); i++)
        *sums[i].sum += (uint64_t)json_integer_value(json_object_get(result, sums[i].key));
}

static void took_end(void *context, struct remote_host *remote, int error, int code, json_t *result,
                     const char *line)
{
    struct view_host *host = context;

    (void)remote;
    (void)error;
    (void)code;
    (void)result;
    (void)line;
    host->hosts->waiting--;
}

static void ask_all(struct view_hosts *hosts, const char *method, remote_answer took)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct view_host *host = &hosts->list[i];
        if (host->remote->state != REMOTE_READY)
            continue;
        hosts->waiting++;
        remote_call(hosts->remote, host->remote, method, NULL, CALL_MS, took, host);
    }
    wait_for_answers(hosts);
}

void view_hosts_end(struct view_hosts *hosts, struct monitor_counts *counts)
{
    if (hosts == NULL)
        return;
    for (size_t i = 0; i < hosts->count; i++)
        hosts->list[i].ended = true;
    hosts->counts = counts;
    if (hosts->remote != NULL && counts != NULL)
        ask_all(hosts, "view.end", took_counts);
    hosts->central = NULL;
    for (size_t i = 0; i < hosts->count; i++)
        hosts->list[i].remote->ends = true;
    if (hosts->remote != NULL)
        ask_all(hosts, "agent.end", took_end);
    remote_free(hosts->remote);
    for (size_t i = 0; i < hosts->count; i++)
        json_decref(hosts->list[i].steps);
    free(hosts->list);
    free(hosts->text);
    free(hosts);
}
