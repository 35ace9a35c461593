/* SPDX-License-Identifier: MIT */
/* hosts.c: a recording on several machines: connections, questions, and what happens. See hosts.h. */
#include "command/hosts/hosts.h"

#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000000ULL /* ns */

void hosts_say(struct hosts *hosts, const struct remote_host *host, const char *line)
{
    progress_clear(&hosts->progress);
    command_say_to(hosts->recorder.messages, "%s%s%s", host == NULL ? "" : host->name,
                   host == NULL ? "" : ": ", line);
    fflush(hosts->recorder.messages);
}

/* ---- what happens ---- */

/* Another recording of the agent: a job's, or what an earlier agent has left. */
static bool is_of_another(const struct conduct_notice *notice)
{
    return notice->recording[0] != '\0' && strcmp(notice->recording, HOSTS_RECORDING) != 0;
}

static void take_notice(struct hosts *hosts, struct metered_host *host,
                        const struct conduct_notice *notice)
{
    char line[640];

    switch (notice->kind) {
    case NOTICE_RECORDING_IDLE:
    case NOTICE_RECORDING_BUSY:
        if (is_of_another(notice))
            return;
        host->idle = notice->kind == NOTICE_RECORDING_IDLE;
        return;
    case NOTICE_RECORDING_ENDED:
        if (is_of_another(notice))
            return;
        snprintf(line, sizeof(line), "the recording ended: %.500s", notice->text);
        if (!host->cut) /* else why was said */
            hosts_say(hosts, host->remote, line);
        host->ended = host->cut = true;
        host->agent_died |= strcmp(notice->reason, "agent") == 0;
        return;
    case NOTICE_NOTE:
        hosts_say_note(hosts, host, notice->text);
        return;
    default:
        return;
    }
}

static void take_signal(struct hosts *hosts)
{
    struct signalfd_siginfo info;

    if (read(hosts->recorder.signals, &info, sizeof(info)) != sizeof(info) ||
        info.ssi_signo == SIGCHLD)
        return;
    hosts->last_signal = (int)info.ssi_signo;
    conduct_interrupt(hosts->conduct);
    if (hosts->interrupted != NULL)
        hosts->interrupted(hosts, hosts->last_signal);
}

static void take_whether_same(void *context, struct remote_host *remote,
                              const struct remote_reply *reply)
{
    struct metered_host *host = remote->context;

    if (reply->error != -EREMOTEIO || host->ended)
        return;
    host->ended = host->cut = host->agent_died = true;
    hosts_say(context, remote, "the recording ended: its agent ended, and what it had is gone");
}

/* Another agent that has found what the first one left says so. If that is gone, too, only the question shows it. */
static void ask_whether_same(struct hosts *hosts, struct metered_host *host)
{
    if (host->opened && !host->ended)
        remote_call(conduct_remote(hosts->conduct), host->remote, "recording.state",
                    request_recording(HOSTS_RECORDING), CONDUCT_CALL_MS, take_whether_same, hosts);
}

static void happens(void *context, const struct conduct_event *event)
{
    struct hosts *hosts = context;
    char line[640];

    switch (event->kind) {
    case CONDUCT_SAID:
        hosts_say(hosts, event->host, event->text);
        return;
    case CONDUCT_MISSING:
        hosts->missing = true;
        hosts_say(hosts, NULL, event->text);
        return;
    case CONDUCT_CHANGED:
        if (event->text != NULL && event->host->state == REMOTE_READY)
            ask_whether_same(hosts, event->host->context);
        __attribute__((fallthrough));
    case CONDUCT_TROUBLE:
        if (event->text != NULL)
            hosts_say(hosts, NULL, event->text);
        return;
    case CONDUCT_READABLE:
        take_signal(hosts);
        return;
    case CONDUCT_WRONG:
        snprintf(line, sizeof(line),
                 "its agent says what this version of dpm does not understand: %.500s",
                 event->text);
        hosts_say_note(hosts, event->host->context, line);
        return;
    case CONDUCT_NOTICE:
        take_notice(hosts, event->host->context, event->notice);
        return;
    case CONDUCT_PROCESS:
        hosts->changed = true;
        __attribute__((fallthrough));
    case CONDUCT_OUTPUT:
        if (hosts->happens != NULL)
            hosts->happens(hosts, event);
    }
}

static void work(void *context);

/* ---- the beginning ---- */

/* ./dpm-NAME-PID.traces, and a session NAME-PID. */
static int choose_names(struct hosts *hosts, const char *name, struct problem *problem)
{
    const char *folder = hosts->recorder.options->recording.trace, *slash = strrchr(name, '/');
    char text[NAME_MAX];
    int length = 0;

    if (hosts->options->attach != NULL) {
        snprintf(hosts->session, sizeof(hosts->session), "%s", hosts->options->attach);
        snprintf(hosts->folder, sizeof(hosts->folder), "%s", folder);
        return 0;
    }
    snprintf(text, sizeof(text), "%.40s-%d", slash == NULL ? name : slash + 1, getpid());
    if (hosts->options->session != NULL)
        snprintf(hosts->session, sizeof(hosts->session), "%s", hosts->options->session);
    else
        fabric_name_make(text, hosts->session);
    if (hosts_only_reports(hosts))
        return 0; /* take_session_folder */
    length = folder != NULL
                 ? snprintf(hosts->folder, sizeof(hosts->folder), "%s", folder)
                 : snprintf(hosts->folder, sizeof(hosts->folder), "./dpm-%s.traces", text);
    if (length >= (int)sizeof(hosts->folder))
        return problem_set(problem, -ENAMETOOLONG, "the name of the folder of traces is too long");
    if (mkdir(hosts->folder, 0700) == 0)
        return 0;
    problem_set(problem, -errno, "cannot create %s for the traces: %s%s", hosts->folder,
                strerror(errno), errno == EEXIST ? "; choose another name with -o" : "");
    hosts->folder[0] = '\0'; /* not ours */
    return -EEXIST;
}

/* What only passes through needs a place, too. It is removed at the end, so it is never one that kept state names. */
static int take_session_folder(struct hosts *hosts, struct problem *problem)
{
    if (!hosts_only_reports(hosts))
        return 0;
    int length = snprintf(hosts->folder, sizeof(hosts->folder), "%s/passing",
                          remote_folder(conduct_remote(hosts->conduct)));
    return length < (int)sizeof(hosts->folder)
               ? 0
               : problem_set(problem, -ENAMETOOLONG, "the path of HOME is too long");
}

/* The remote shells, side by side. */
static int add_hosts(struct hosts *hosts, struct problem *problem)
{
    struct remote *remote = conduct_remote(hosts->conduct);
    int result = hosts_options_add(hosts->options, remote, problem);

    hosts->list = calloc(remote_count(remote) + 1, sizeof(*hosts->list));
    if (hosts->list == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (; hosts->count < remote_count(remote); hosts->count++) {
        struct metered_host *host = &hosts->list[hosts->count];
        host->remote = remote_at(remote, hosts->count);
        host->remote->context = host;
    }
    return result;
}

static void show_connecting(struct hosts *hosts)
{
    char line[80];

    if (!progress_due(&hosts->progress))
        return;
    snprintf(line, sizeof(line), "%zu of %zu host%s connected",
             remote_count_in(conduct_remote(hosts->conduct), REMOTE_READY), hosts->count,
             hosts->count == 1 ? "" : "s");
    progress_show(&hosts->progress, line);
}

/* Whether the hosts that are left are enough. `what`: "cannot connect to", of the others. */
static int enough(const struct hosts *hosts, const char *what, struct problem *problem)
{
    size_t out = remote_count_in(conduct_remote(hosts->conduct), REMOTE_OUT);

    if (out == hosts->count)
        return problem_set(problem, -EHOSTUNREACH, "%s %s", what,
                           out == 1 ? "this host" : "any host");
    if (out > 0 && hosts->all_or_none)
        return problem_set(problem, -EHOSTUNREACH, "%s %zu of %zu hosts; nothing was started", what,
                           out, hosts->count);
    return 0;
}

static void say_same_machines(struct hosts *hosts)
{
    char line[640];

    for (size_t i = 1; i < hosts->count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct remote_host *a = hosts->list[j].remote, *b = hosts->list[i].remote;
            if (a->own_name == NULL || b->own_name == NULL || a->machine_id == NULL ||
                b->machine_id == NULL || strcmp(a->machine_id, b->machine_id) != 0 ||
                strcmp(a->own_name, b->own_name) != 0)
                continue;
            snprintf(
                line, sizeof(line),
                "note: %.200s and %.200s are the same machine: what both meter is counted twice",
                a->name, b->name);
            hosts_say(hosts, NULL, line);
        }
}

int hosts_begin(struct hosts *hosts, const char *name, struct problem *problem)
{
    const struct remote_options options =
        hosts_session_options(hosts->options, hosts->session, hosts->recorder.signals);
    const struct conduct_options conduct = {
        .session = &options, .event = happens, .work = work, .context = hosts};
    int result = choose_names(hosts, name, problem);

    progress_init(&hosts->progress, hosts->recorder.messages);
    hosts->storing.lines = -1;
    if (result < 0)
        return result;
    result = conduct_open(&conduct, &hosts->conduct, problem);
    if (result == 0)
        result = take_session_folder(hosts, problem);
    if (result == 0)
        result = add_hosts(hosts, problem);
    if (result == 0 && conduct_connect(hosts->conduct) < 0)
        result = problem_set(problem, -EINTR, "interrupted while connecting");
    if (result == 0)
        result = enough(hosts, "cannot connect to", problem);
    if (result == 0)
        say_same_machines(hosts);
    return result;
}

/* ---- questions ---- */

struct asking {
    struct hosts *hosts;
    json_t *(*params)(struct hosts *hosts, struct metered_host *host);
    void (*took)(struct hosts *hosts, struct metered_host *host, json_t *result);
};

static json_t *params_of(void *context, struct remote_host *remote)
{
    const struct asking *asking = context;

    return asking->params == NULL ? NULL : asking->params(asking->hosts, remote->context);
}

/* One that refuses has its agent ended by leave_out: else it would wait for us, without anything to do. */
static void take_answer(void *context, struct remote_host *remote,
                        const struct conduct_answer *answer)
{
    const struct asking *asking = context;
    struct metered_host *host = remote->context;
    char line[sizeof(answer->why) + 300];

    if (answer->error == -EINTR)
        return;
    snprintf(line, sizeof(line), "%.250s: %s", remote->name, answer->why);
    if (answer->error == -EREMOTEIO) {
        host->refused = host->opened && answer->code != FABRIC_NONE;
        host->opened = false; /* and has recorded nothing */
        host->leaves = true;
        hosts_say(asking->hosts, NULL, line);
    } else if (answer->error < 0) {
        remote_leave_out(conduct_remote(asking->hosts->conduct), remote, line);
    } else if (asking->took != NULL) {
        asking->took(asking->hosts, host, answer->result);
    }
}

static bool leaves(void *context, struct remote_host *remote)
{
    const struct metered_host *host = remote->context;

    (void)context;
    return host->leaves;
}

static int leave_out(struct hosts *hosts)
{
    int result = conduct_end_agents(
        hosts->conduct, &(struct conduct_question){.asks = leaves, .timeout_ms = CONDUCT_END_MS});

    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->list[i].leaves) /* why was said */
            remote_leave_out(conduct_remote(hosts->conduct), hosts->list[i].remote, NULL);
    return result;
}

int hosts_ask(struct hosts *hosts, const char *method,
              json_t *(*params)(struct hosts *hosts, struct metered_host *host),
              void (*took)(struct hosts *hosts, struct metered_host *host, json_t *result),
              struct problem *problem)
{
    struct asking asking = {hosts, params, took};
    const struct conduct_question question = {
        .method = method, .params = params_of, .took = take_answer, .context = &asking};

    conduct_set_patience(hosts->conduct, 1);
    int result = conduct_ask_all(hosts->conduct, &question);
    if (result == 0)
        result = leave_out(hosts);
    if (result == -EINTR)
        return problem_set(problem, result, "interrupted");
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    return enough(hosts, "cannot meter on", problem);
}

/* ---- the recording ---- */

static json_t *open_params(struct hosts *hosts, struct metered_host *host)
{
    const struct recording_command_options *options = hosts->recorder.options;
    json_t *params =
        json_pack("{s:s, s:s, s:s, s:s}", "recording", HOSTS_RECORDING, "flags", options->flags,
                  "kinds", options->kinds, "meter", meter_wish_word(options->recording.meter.wish));

    (void)host;
    if (options->recording.meter.options.ring_size != 0)
        json_object_set_new(params, "ring_size",
                            json_integer(options->recording.meter.options.ring_size));
    hosts_set_spool(hosts, params);
    if (options->recording.rules != NULL)
        json_object_set_new(params, "rules", hosts_rules(hosts));
    return params;
}

static void opened(struct hosts *hosts, struct metered_host *host, json_t *result)
{
    const char *meter = json_string_value(json_object_get(result, "meter"));

    host->opened = true;
    host->notes = json_array();
    json_array_extend(host->notes, json_object_get(result, "notes"));
    if (meter != NULL && strcmp(meter, "ptrace") == 0 &&
        hosts->recorder.options->recording.meter.wish == WISH_AUTO)
        json_array_append_new(host->notes,
                              json_string("metering with ptrace: each call that sends, receives or "
                                          "waits takes about 50 us longer"));
}

int hosts_record(struct hosts *hosts, struct problem *problem)
{
    int result = hosts_rules_check(hosts->recorder.options->recording.rules, problem);

    if (result == 0)
        result = hosts_keep(hosts, problem);
    if (result == 0)
        result = hosts_storing_begin(hosts, problem);
    if (result < 0)
        return result;
    result = hosts_ask(hosts, "recording.open", open_params, opened, problem);
    hosts_say_common_notes(hosts);
    struct problem other;
    if (result == 0 && hosts_keep(hosts, &other) < 0) {
        hosts_say(hosts, NULL, other.text); /* and tries again: the recording goes on */
        hosts->changed = true;
    }
    return result;
}

static void resumed(struct hosts *hosts, struct metered_host *host, json_t *result)
{
    const struct recording_said said = notice_recording(result);

    (void)hosts;
    host->opened = true;
    host->ended |= !said.active;
    host->processes = said.processes;
}

static json_t *name_recording(struct hosts *hosts, struct metered_host *host)
{
    (void)hosts;
    (void)host;
    return request_recording(HOSTS_RECORDING);
}

int hosts_resume(struct hosts *hosts, struct problem *problem)
{
    hosts_kept_take(hosts);
    int result = hosts_storing_begin(hosts, problem);
    if (result == 0)
        result = hosts_ask(hosts, "recording.state", name_recording, resumed, problem);
    return result < 0 ? result : hosts_keep(hosts, problem);
}

size_t hosts_recording(const struct hosts *hosts)
{
    size_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->list[i].opened && !hosts->list[i].ended &&
                 hosts->list[i].remote->state != REMOTE_OUT;
    return count;
}

size_t hosts_idle(const struct hosts *hosts)
{
    size_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->list[i].opened && !hosts->list[i].ended && hosts->list[i].idle &&
                 hosts->list[i].remote->state != REMOTE_OUT;
    return count;
}

uint64_t hosts_processes(const struct hosts *hosts)
{
    uint64_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->list[i].remote->state == REMOTE_OUT ? 0 : hosts->list[i].processes;
    return count;
}

/* ---- while it goes on ---- */

static void take_state(void *context, struct remote_host *remote, const struct remote_reply *reply)
{
    const struct recording_said said = notice_recording(reply->result);
    struct metered_host *host = remote->context;

    (void)context;
    if (reply->error < 0)
        return;
    host->records = said.records;
    host->lost = said.lost;
    host->processes = said.processes;
}

static void ask_states(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct metered_host *host = &hosts->list[i];
        if (host->opened && !host->ended && host->remote->state == REMOTE_READY)
            remote_call(conduct_remote(hosts->conduct), host->remote, "recording.state",
                        request_recording(HOSTS_RECORDING), 5000, take_state, NULL);
    }
}

static void show_recording(struct hosts *hosts)
{
    char line[256], processes[COUNTED_SIZE], records[COUNTED_SIZE], bytes[UNIT_SIZE];
    uint64_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->list[i].records;
    show_counted(hosts_processes(hosts), "process", processes);
    show_counted(count, "record", records);
    show_bytes(hosts_storing_bytes(hosts), bytes);
    snprintf(line, sizeof(line), "%zu of %zu host%s, %s, %s, %s %s",
             remote_count_in(conduct_remote(hosts->conduct), REMOTE_READY), hosts->count,
             hosts->count == 1 ? "" : "s", processes, records, bytes,
             hosts_only_reports(hosts) ? "received" : "stored");
    progress_show(&hosts->progress, line);
}

/* What notices would have said that are missing: as an agent's recording.state and process.list have it. */
static void take_missed_state(void *context, struct remote_host *remote,
                              const struct remote_reply *reply)
{
    const struct recording_said said = notice_recording(reply->result);
    struct metered_host *host = remote->context;
    const char *why = notice_early_end(&said);
    char line[200];

    if (reply->error < 0 || host->ended)
        return;
    host->idle = said.begun && said.processes == 0;
    if (why == NULL)
        return;
    snprintf(line, sizeof(line), "the recording ended: %s", why);
    if (!host->cut)
        hosts_say(context, remote, line);
    host->ended = host->cut = true;
    host->agent_died |= strcmp(said.reason, "agent") == 0;
}

static void take_missed_ends(void *context, struct remote_host *remote,
                             const struct remote_reply *reply)
{
    struct hosts *hosts = context;
    struct listed_process listed;
    struct problem ignored;
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(reply->result, "processes"), i, one)
    {
        struct conduct_process *process =
            notice_listed(one, &listed, &ignored) < 0
                ? NULL
                : conduct_find_process(hosts->conduct, remote, listed.pid);
        if (process != NULL)
            conduct_take_listed(process, &listed);
    }
}

static void ask_for_missed(struct hosts *hosts)
{
    struct remote *remote = conduct_remote(hosts->conduct);

    hosts->missing = false;
    for (size_t i = 0; i < hosts->count; i++) {
        struct metered_host *host = &hosts->list[i];
        if (!host->opened || host->ended)
            continue;
        remote_call(remote, host->remote, "process.list", NULL, CONDUCT_CALL_MS, take_missed_ends,
                    hosts);
        remote_call(remote, host->remote, "recording.state", request_recording(HOSTS_RECORDING),
                    CONDUCT_CALL_MS, take_missed_state, hosts);
    }
}

#define LOOK_EVERY (2 * SECOND)

static void work(void *context)
{
    struct hosts *hosts = context;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (conduct_connecting(hosts->conduct) > 0 && !hosts->storing.runs)
        show_connecting(hosts);
    if (hosts->storing.state == NULL && !hosts->storing.runs)
        return;
    hosts_storing_step(hosts);
    hosts_keep_step(hosts);
    if (hosts->shows && progress_due(&hosts->progress))
        show_recording(hosts);
    hosts_rules_step(hosts);
    if (hosts->shows || hosts_only_reports(hosts) || hosts->recorder.live != NULL)
        hosts_live_step(hosts);
    if (now - hosts->looked < LOOK_EVERY)
        return;
    hosts_look_at_server(hosts, now - hosts->looked);
    hosts->looked = now;
    if (hosts->missing)
        ask_for_missed(hosts);
    if (hosts->shows && hosts->progress.file != NULL)
        ask_states(hosts);
}

void hosts_poll(struct hosts *hosts, int timeout_ms)
{
    conduct_step(hosts->conduct, timeout_ms);
}
