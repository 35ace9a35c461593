/* SPDX-License-Identifier: MIT */
/*
 * filter_command.c: `dpm filter`: stores what the machines of a session record, in a process of its own. See
 * dpm-filter(1).
 *
 *      session --> filter --> DIR/web1, DIR/db1 ...
 *                     '-- session.ended, from the controller: all is to be stored, then it ends
 *
 * With --rules and traces instead of a session: filter_trace_command.c. With --host: filter_elsewhere.c.
 */
#include "command/filters/custom_filter.h"
#include "command/filters/filter_elsewhere.h"
#include "command/filters/filter_json_command.h"
#include "command/filters/filter_options.h"
#include "command/filters/filter_raw_command.h"
#include "command/filters/filter_report.h"
#include "command/filters/filter_trace_command.h"
#include "command/shared/command.h"
#include "command/shared/json_lines.h"
#include "command/shared/rules_file.h"

#include "filter/filter.h"
#include "recorder/recorder.h"
#include "remote/remote.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS     100
#define CONNECT_MS  10000
#define SECOND      1000000000ULL /* ns */
#define NO_PROGRESS (30 * SECOND) /* after the end of the session */
#define AWAY_MOST   (30 * SECOND) /* the server, which is started again when it dies */
#define LINES_WAIT  (30 * SECOND) /* for the reader of lines of JSON */

/* As NO_PROGRESS, when all that is expected is stored, but the server has more. It may be of recordings that were cut off; or it
 * was on its way to us when a server was killed, or our acknowledgement was: then it comes again. */
#define QUIET (2 * FILTER_AGAIN_MS * 1000000ULL)

/* The same, when the server does not say what it has: it may be started again; or it has ended with the session. */
#define SILENT (2 * SECOND)

struct filtering {
    const struct filter_asked *asked;
    struct fabric_server *server;
    struct relay *relay; /* NULL: the session is this machine's, or a site's server has it */
    struct fabric *fabric;
    struct filter *filter;
    struct rules_file rules_file;
    struct rules *old_rules; /* needed to close the filter; or NULL */
    struct feeding *custom;  /* NULL: none */
    bool *fed;               /* for each copy: whether it gets that one, or never will */
    size_t fed_count, fed_capacity;
    int signals;
    struct json_lines lines;     /* --json */
    char *line;                  /* the last of them */
    char name[FILTER_NAME_SIZE]; /* of its consumer */
    char folder[PATH_MAX];       /* "": nothing is stored */
    bool stopped;                /* by a signal */
    bool ended;                  /* the session */
    int64_t left;                /* packets that the server had at the end; negative: not known */
    uint64_t packets;            /* in this run */
    uint64_t progress;           /* when the last one came */
    uint64_t connected;          /* when the server was last there */
    uint64_t reported;
    size_t looked_at;  /* copies whether they are rejected */
    json_int_t marked; /* number of the mark that the controller waits for; 0: none */
    char told[512];    /* the last problem */
};

/* ---- what the session says ---- */

static bool is_mine(const struct filtering *filtering, const char *machine)
{
    for (size_t i = 0; i < filtering->asked->machine_count; i++)
        if (strcmp(filtering->asked->machines[i], machine) == 0)
            return true;
    return filtering->asked->machine_count == 0;
}

static void take_end(struct filtering *filtering, json_t *params)
{
    json_t *recordings = json_object_get(params, "recordings"), *one;
    size_t i;

    json_array_foreach(recordings, i, one)
    {
        const char *machine = json_string_value(json_object_get(one, "machine"));
        const char *recording = json_string_value(json_object_get(one, "recording"));
        if (machine != NULL && recording != NULL && is_mine(filtering, machine))
            filter_expect(filtering->filter, machine, recording);
    }
    filtering->ended = true;
    filtering->progress = clock_now(CLOCK_MONOTONIC);
}

/* A machine that measures itself (dpm agent --service) sends summaries: each becomes a line of DIR/MACHINE.summaries.jsonl. */
static void keep_summary(struct filtering *filtering, const struct fabric_message *message)
{
    char path[PATH_MAX];

    if (!filtering->asked->stores || !is_mine(filtering, message->machine))
        return;
    snprintf(path, sizeof(path), "%.*s/%s.summaries.jsonl", PATH_MAX - 100, filtering->folder,
             message->machine);
    FILE *file = fopen(path, "ae");
    bool failed = file == NULL || json_dumpf(message->params, file, JSON_COMPACT) < 0;
    if (file != NULL) {
        fputc('\n', file);
        failed |= fclose(file) != 0;
    }
    if (failed)
        command_say("cannot write %s: %s", path, strerror(errno));
}

/* The controller of a job wants to know when what has come is selected. */
static void take_mark(struct filtering *filtering, json_t *params)
{
    const char *prefix = json_string_value(json_object_get(params, "recordings"));

    if (filtering->asked->rules == NULL || filtering->asked->prefix == NULL || prefix == NULL ||
        strcmp(prefix, filtering->asked->prefix) != 0)
        return;
    filtering->marked = json_integer_value(json_object_get(params, "number"));
    filter_mark(filtering->filter);
}

/* It reads this line in the log. */
static int look_at_mark(struct filtering *filtering, struct problem *problem)
{
    int result = filtering->marked == 0 ? 0 : filter_reached_mark(filtering->filter, problem);

    if (result <= 0)
        return result;
    command_say(REMOTE_FILTER_REACHED "%" JSON_INTEGER_FORMAT, filtering->marked);
    filtering->marked = 0;
    return 0;
}

static void take_messages(struct filtering *filtering)
{
    struct fabric_message message;

    while (fabric_next(filtering->fabric, &message) == 1) {
        if (message.kind == FABRIC_NOTICE && strcmp(message.machine, REMOTE_CONTROLLER) == 0 &&
            strcmp(message.method, "session.ended") == 0)
            take_end(filtering, message.params);
        else if (message.kind == FABRIC_NOTICE && strcmp(message.machine, REMOTE_CONTROLLER) == 0 &&
                 strcmp(message.method, "filter.mark") == 0)
            take_mark(filtering, message.params);
        else if (message.kind == FABRIC_NOTICE && strcmp(message.method, "summary") == 0)
            keep_summary(filtering, &message);
        else if (message.kind == FABRIC_TROUBLE ||
                 (message.kind == FABRIC_STATE && message.state != FABRIC_CONNECTED))
            command_say("%s", message.text);
        fabric_message_done(&message);
    }
}

static void take_signals(struct filtering *filtering)
{
    struct signalfd_siginfo info;
    struct pollfd file = {.fd = filtering->signals, .events = POLLIN};

    while (poll(&file, 1, 0) > 0 && read(filtering->signals, &info, sizeof(info)) == sizeof(info))
        filtering->stopped |= info.ssi_signo != SIGCHLD;
}

/* ---- reports ---- */

static void report_interval(struct filtering *filtering)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (filtering->asked->interval == 0 || now - filtering->reported < filtering->asked->interval)
        return;
    filtering->reported = now;
    filter_report_copies(filtering->filter, filtering->asked->rules != NULL);
}

/* Once, until it is another one. */
static void tell_problem(struct filtering *filtering, const char *text)
{
    if (strcmp(text, filtering->told) == 0)
        return;
    snprintf(filtering->told, sizeof(filtering->told), "%s", text);
    command_say("%s%s", text[0] == '\0' ? "the traces can be written again" : text,
                text[0] == '\0' ? "" : "; tried again, and until then nothing is acknowledged");
}

/* The report at the end counts what was refused; that nothing is stored of a machine shows at once. */
static void tell_rejected(struct filtering *filtering)
{
    struct filter_copy copy;

    for (; filtering->looked_at < filter_count(filtering->filter); filtering->looked_at++) {
        filter_look(filtering->filter, filtering->looked_at, &copy);
        if (copy.rejected)
            command_say("%s: a trace cannot be stored: %s", copy.machine, copy.why);
    }
}

/* A line, if it is another one than before and the reader has taken that one; or the last one. `left`: packets that the server has
 * still; negative: not known. */
static void add_line(struct filtering *filtering, bool last, int64_t left)
{
    json_t *all = filter_report_json(filtering->filter);

    json_object_set_new(all, "problem", json_string(filtering->told));
    json_object_set_new(
        all, "complete",
        json_boolean(last && filtering->ended && left <= 0 && filter_whole(filtering->filter)));
    json_object_set_new(all, "left", last && left >= 0 ? json_integer(left) : json_null());
    json_object_set_new(all, "last", json_boolean(last));
    char *line = all == NULL ? NULL : json_dumps(all, JSON_COMPACT);
    json_decref(all);
    if (line == NULL || (filtering->line != NULL && strcmp(line, filtering->line) == 0)) {
        free(line);
        return;
    }
    free(filtering->line);
    filtering->line = line;
    json_lines_put(&filtering->lines, line, strlen(line));
    json_lines_put(&filtering->lines, "\n", 1);
}

static void report_line(struct filtering *filtering)
{
    if (!filtering->asked->json)
        return;
    json_lines_flush(&filtering->lines);
    if (json_lines_taken(&filtering->lines))
        add_line(filtering, false, -1);
}

static void report_last_line(struct filtering *filtering)
{
    struct problem problem;

    if (filtering->asked->json)
        add_line(filtering, true, filter_left(filtering->filter, &problem));
}

/* The reader of its output is gone. */
static bool is_abandoned(struct filtering *filtering)
{
    return filtering->asked->json && json_lines_abandoned(&filtering->lines);
}

/* A program of --program has ended, before all was handed over. */
static bool program_has_ended(const struct filtering *filtering)
{
    return filtering->asked->program_words > 0 && filtering->custom != NULL &&
           feeding_has_ended(filtering->custom);
}

/* ---- until it ends ---- */

static bool may_pass(int error)
{
    return error == -ENOSPC || error == -EDQUOT || error == -EIO || error == -ETIMEDOUT ||
           error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* Whether everything that the session had for us is stored. */
static bool has_all(struct filtering *filtering)
{
    struct problem problem;

    if (!filtering->ended)
        return false;
    uint64_t quiet = clock_now(CLOCK_MONOTONIC) - filtering->progress;
    if (!filter_complete(filtering->filter))
        return quiet >= NO_PROGRESS;
    filtering->left = filter_left(filtering->filter, &problem);
    return filtering->left == 0 || quiet >= (filtering->left < 0 ? SILENT : QUIET);
}

static int check_connection(struct filtering *filtering, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (fabric_connected(filtering->fabric) || filtering->asked->json) /* whose reader decides */
        filtering->connected = now;
    return now - filtering->connected < AWAY_MOST
               ? 0
               : problem_set(
                     problem, -ENOTCONN,
                     "session %s: its server has not answered for %llu s; if it comes back, "
                     "the same command goes on where this one stops",
                     filtering->asked->from, AWAY_MOST / SECOND);
}

static bool feed_copy(struct filtering *filtering, size_t index)
{
    struct filter_copy copy;
    struct problem problem;

    filter_look(filtering->filter, index, &copy);
    if (copy.path == NULL || !trace_has_records(copy.path))
        return false; /* not yet: its metadata come first, and rules select later */
    if (feeding_add(filtering->custom, copy.path, &problem) < 0)
        command_say("the filter does not get %s: %s", copy.path, problem.text);
    return true;
}

/* A custom filter gets the packets of new copies, too. */
static void feed_copies(struct filtering *filtering)
{
    size_t count = filter_count(filtering->filter);

    if (filtering->custom == NULL || array_reserve(&filtering->fed, &filtering->fed_capacity, count,
                                                   sizeof(*filtering->fed)) < 0)
        return;
    while (filtering->fed_count < count)
        filtering->fed[filtering->fed_count++] = false;
    for (size_t i = 0; i < count; i++)
        filtering->fed[i] = filtering->fed[i] || feed_copy(filtering, i);
}

/* The filter goes on with the rules from before if the new ones are wrong. */
static int look_at_rules(struct filtering *filtering, struct problem *problem)
{
    struct rules_file *file = &filtering->rules_file;
    struct rules *rules = NULL, *before = file->rules;
    int result = rules_file_look(file, &rules, problem);

    if (result < 0)
        command_say("%s; the rules stay as they were", problem->text);
    if (result <= 0)
        return 0;
    result = filter_select(filtering->filter, rules, problem);
    if (result < 0) { /* closing the filter needs both */
        filtering->old_rules = before;
        file->rules = rules;
        return result;
    }
    rules_file_take(file, rules);
    command_say("rules: %s has changed, and is in force from now on", file->path);
    return 0;
}

static int filter_all(struct filtering *filtering, struct problem *problem)
{
    int result = 0;

    while (!filtering->stopped && !has_all(filtering) && !program_has_ended(filtering) &&
           !is_abandoned(filtering) &&
           (filtering->relay == NULL || !relay_ended(filtering->relay))) {
        result = filter_step(filtering->filter, STEP_MS, problem);
        if (result < 0 && !may_pass(result))
            return result;
        if (result > 0) {
            filtering->packets += (uint64_t)result;
            filtering->progress = clock_now(CLOCK_MONOTONIC);
        }
        tell_problem(filtering, result < 0 ? problem->text : "");
        if (result < 0)
            poll(&(struct pollfd){.fd = filtering->signals, .events = POLLIN}, 1, 500);
        take_messages(filtering);
        take_signals(filtering);
        tell_rejected(filtering);
        feed_copies(filtering);
        report_interval(filtering);
        report_line(filtering);
        result = look_at_rules(filtering, problem);
        if (result == 0)
            result = look_at_mark(filtering, problem);
        if (result == 0)
            result = check_connection(filtering, problem);
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- begin and end ---- */

static int connect_it(struct filtering *filtering, struct problem *problem)
{
    const struct filter_asked *asked = filtering->asked;
    char authorities[FABRIC_AUTHORITIES_SIZE];
    const struct fabric_options options = {.url = asked->url,
                                           .credentials = asked->credentials,
                                           .session = asked->from,
                                           .authorities =
                                               asked->authorities == NULL ? NULL : authorities};
    int result = asked->authorities == NULL
                     ? 0
                     : fabric_read_authorities(asked->authorities, authorities, problem);

    if (result < 0)
        return result;

    if (asked->place.relayed != NULL)
        result = filter_open_relayed(&filtering->relay, &filtering->fabric, problem);
    else if (asked->url != NULL)
        result = fabric_open(&options, CONNECT_MS, &filtering->fabric, problem);
    else
        result = remote_open(asked->from, FABRIC_FILTER, &filtering->server, &filtering->fabric,
                             problem);
    return result == 0 ? fabric_listen(filtering->fabric, 0, problem) : result;
}

static bool has_machine(const struct fabric_server *server, const char *name)
{
    const char *machine;

    for (size_t i = 0; (machine = fabric_server_machine(server, i)) != NULL; i++)
        if (strcmp(machine, name) == 0)
            return true;
    return false;
}

/* A machine that the session does not have may come later; or its name is wrong. */
static void note_missing_machines(const struct filtering *filtering)
{
    const struct filter_asked *asked = filtering->asked;
    const char *machine;
    char there[400] = "";
    size_t length = 0;

    if (filtering->server == NULL)
        return;
    for (size_t i = 0; (machine = fabric_server_machine(filtering->server, i)) != NULL; i++)
        if (length < sizeof(there))
            length += (size_t)snprintf(there + length, sizeof(there) - length, "%s%s",
                                       i == 0 ? "" : ", ", machine);
    for (size_t i = 0; i < asked->machine_count; i++)
        if (!has_machine(filtering->server, asked->machines[i]))
            command_say("note: the session has no machine %s yet; it has %s", asked->machines[i],
                        length == 0 ? "none" : there);
}

static int begin(struct filtering *filtering, struct problem *problem)
{
    const struct filter_asked *asked = filtering->asked;
    char *name = filtering->name, folder[128];
    sigset_t old_mask;

    snprintf(folder, sizeof(folder), "./dpm-%s.traces", asked->from);
    snprintf(filtering->folder, sizeof(filtering->folder), "%s",
             asked->folder != NULL ? asked->folder : folder);
    const char *where = !asked->stores ? NULL : asked->folder != NULL ? asked->folder : folder;
    rules_file_init(&filtering->rules_file, asked->rules_file);
    filtering->signals = recording_signals(&old_mask); /* before there are threads */
    filtering->lines.file = -1;
    int result = asked->json ? json_lines_open(&filtering->lines, NULL, problem) : 0;
    if (result == 0)
        result = connect_it(filtering, problem);
    if (result < 0)
        return result;
    if (asked->place.relayed != NULL)
        snprintf(name, sizeof(filtering->name), "%s", asked->place.relayed);
    else
        filter_name(where, name);
    const struct filter_options options = {
        .folder = where,
        .machines = asked->machines,
        .machine_count = asked->machine_count,
        .durable = name,
        .prefix = asked->prefix,
        .limits = asked->limits,
        .rules = asked->rules,
    };
    return filter_new(filtering->fabric, &options, &filtering->filter, problem);
}

static int begin_custom(struct filtering *filtering, struct problem *problem)
{
    const struct filter_asked *asked = filtering->asked;
    const char *const shell[] = {"sh", "-c", asked->custom, NULL};
    /* what it prints must not get into the connection of a filter that is --relayed */
    int output = asked->place.relayed != NULL ? STDERR_FILENO : STDOUT_FILENO;

    if (asked->custom == NULL && asked->program_words == 0)
        return 0;
    return feeding_new(asked->program_words > 0 ? asked->program : shell, output,
                       &filtering->custom, problem);
}

/* The status of a program that has ended `early` is ours, except where the other side would take it for a broken connection. One
 * whose connection was lost is started again, however this one has ended. */
static int end_custom(struct filtering *filtering, bool early, int status)
{
    struct feeding_result result;

    if (!early || filtering->asked->place.relayed != NULL) {
        bool good = custom_filter_end(filtering->custom, filtering->signals, stderr);
        bool again = status == REMOTE_FILTER_AGAIN || status == REMOTE_FILTER_BUSY;
        return good || again ? status : EXIT_FAILURE;
    }
    feeding_end(filtering->custom, NULL, NULL, &result);
    return WIFSIGNALED(result.status) ? 128 + WTERMSIG(result.status) : WEXITSTATUS(result.status);
}

/* One that the user has stopped. A controller knows of its own filters. */
static void say_kept(const struct filtering *filtering)
{
    const struct filter_asked *asked = filtering->asked;

    if (filtering->stopped && asked->prefix == NULL && asked->place.relayed == NULL)
        command_say("the server keeps what comes from now on for this filter (%s) until the same "
                    "command goes on, or the session ends; when it is full, nothing more is "
                    "recorded",
                    filtering->name);
}

/* The other side makes another connection, and starts a filter again. */
static bool lost_connection(const struct filtering *filtering)
{
    return filtering->relay != NULL && !filtering->ended && !filtering->stopped &&
           (relay_ended(filtering->relay) || filtering->fabric == NULL ||
            !fabric_connected(filtering->fabric));
}

static int run(const struct filter_asked *asked)
{
    struct filtering filtering = {.asked = asked};
    struct problem problem, of_end;
    int status = EXIT_SUCCESS, result = begin(&filtering, &problem);
    bool early = false; /* the program has ended: its last line is the last one */

    filtering.reported = filtering.connected = clock_now(CLOCK_MONOTONIC);
    if (result == 0)
        result = begin_custom(&filtering, &problem);
    if (result == 0) {
        command_say("filtering session %s", asked->from);
        note_missing_machines(&filtering);
        result = filter_all(&filtering, &problem);
        early = result == 0 && program_has_ended(&filtering);
        if (!early)
            filter_report_copies(filtering.filter, asked->rules != NULL);
        filter_report_malformed(filtering.filter);
        report_last_line(&filtering);
    }
    if (!early && result == 0 && filtering.ended &&
        (!filter_complete(filtering.filter) || filtering.left > 0))
        status = command_error("not everything that was recorded has arrived");
    if (result < 0)
        status = command_error("%s", problem.text);
    if (result == -EBUSY && asked->place.relayed != NULL)
        status = REMOTE_FILTER_BUSY;
    else if (!early && lost_connection(&filtering))
        status = REMOTE_FILTER_AGAIN;
    status = end_custom(&filtering, early, status);
    bool forget = result == 0 && (filtering.ended || !asked->stores);
    if (result == 0 && !forget)
        say_kept(&filtering);
    if (filter_close(filtering.filter, forget, &of_end) < 0)
        status = command_error("%s", of_end.text);
    if (json_lines_close(&filtering.lines, LINES_WAIT, &of_end) < 0)
        status = command_error("%s", of_end.text);
    free(filtering.line);
    free(filtering.fed);
    rules_file_done(&filtering.rules_file);
    rules_free(filtering.old_rules);
    fabric_close(filtering.fabric);
    relay_close(filtering.relay);
    fabric_server_detach(filtering.server);
    return status;
}

/* ---- the command ---- */

static int run_there(const struct filter_asked *asked)
{
    const struct filter_there there = {
        .session = asked->from,
        .folder = asked->folder,
        .prefix = asked->prefix,
        .rules = asked->rules_file,
        .machines = asked->machines,
        .machine_count = asked->machine_count,
        .program = asked->program,
        .program_words = asked->program_words,
    };

    return filter_run_there(&asked->place, &there);
}

static int read_rules(struct filter_asked *asked)
{
    struct problem problem;

    if (asked->rules_file == NULL || rules_read(asked->rules_file, &asked->rules, &problem) == 0)
        return -1;
    return command_error("%s", problem.text);
}

/* Without a session. */
static int run_on_files(int argc, char **argv, const struct filter_asked *asked)
{
    if (asked->descriptions != NULL)
        return filter_raw_file(argc, argv, asked->descriptions, asked->rules_file, asked->folder);
    if (asked->to_json)
        return filter_to_json(argc, argv);
    if (asked->custom != NULL)
        return filter_by_command(argc, argv, asked->custom);
    if (asked->rules_file != NULL)
        return filter_traces(argc, argv, asked->rules_file, asked->folder);
    return filter_options_check(asked);
}

static int command_filter(int argc, char **argv)
{
    struct filter_asked asked = {.stores = true};
    int option, result = -1;

    while (result < 0 && (option = command_next_option(&filter_command, argc, argv)) != -1)
        result = filter_take_option(option, &asked);
    if (result < 0)
        result = filter_options_check_kind(&asked);
    if (result >= 0 || asked.from == NULL) {
        if (result < 0)
            result = run_on_files(argc, argv, &asked);
        free(asked.machines);
        return result;
    }
    if (result < 0 && optind < argc)
        result = command_usage_error("filter", "unexpected argument '%s'", argv[optind]);
    if (result < 0)
        result = filter_options_check(&asked);
    if (result < 0 && asked.place.host == NULL)
        result = read_rules(&asked);
    if (result < 0) {
        signal(SIGPIPE, SIG_IGN);
        result = asked.place.host != NULL ? run_there(&asked) : run(&asked);
    }
    rules_free(asked.rules);
    free(asked.machines);
    return result;
}

const struct command filter_command = {
    .name = "filter",
    .description = "store what the machines of a session record, or select from traces",
    .usage = "--from SESSION [OPTION]...\n"
             "       dpm filter --rules FILE TRACE... -o TRACE2\n"
             "       dpm filter --descriptions FILE RAW -o TRACE\n"
             "       dpm filter --filter COMMAND TRACE...\n"
             "       dpm filter --to-json < PACKETS",
    .function = command_filter,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = filter_option_rows,
};
