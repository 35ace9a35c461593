/* SPDX-License-Identifier: MIT */
/* view_command.c: `dpm view`: views over a running program, and plans for them. See dpm-view(1). */
#include "command/reading/view_watch.h"
#include "command/views/view_control.h"
#include "command/views/view_explain.h"
#include "command/views/view_load.h"
#include "command/views/view_probe.h"
#include "command/views/view_run.h"
#include "view/model.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* ---- sql ---- */

static int print_row(void *context, const char *const *cells, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        const char *cell = cells[i] == NULL ? "" : cells[i];
        if (i > 0)
            putchar('\t');
        for (; *cell != '\0'; cell++) /* a row is a line */
            putchar((unsigned char)*cell < ' ' || *cell == 127 ? '?' : *cell);
    }
    putchar('\n');
    return 0;
}

static int view_sql(const char *file, const char *query)
{
    struct view_model *model = NULL;
    struct problem problem = {""};
    int result = view_model_open(file, &model, &problem);

    if (result == 0)
        result = view_model_query(model, query, print_row, NULL, &problem);
    if (result == 0)
        result = command_flush_output(&problem);
    view_model_free(model);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_COSTS = OPTION_HELP + 1,
    OPTION_CONTROL,
    OPTION_EVERY,
    OPTION_FOR,
    OPTION_JSON,
    OPTION_OBJECT,
    OPTION_SAVE,
    OPTION_WHEN,
    OPTION_CHANGES,
    OPTION_COUNT,
    OPTION_UNDER,
    OPTION_HOSTS, /* any of those that several commands share */
};

#define OPTION_BIT(option) (1u << ((option)-OPTION_COSTS))

static const struct command_option view_options[] = {
    {"costs",
     OPTION_COSTS,
     {"FILE", ARGUMENT_FILE, NULL},
     "explain, run: costs of messages, sensors ..., and where instances are; see dpm-view(5)"},
    {"control",
     OPTION_CONTROL,
     {"SOCKET", ARGUMENT_FILE, NULL},
     "run: a new socket for requests: dpm view control SOCKET ..."},
    {"every",
     OPTION_EVERY,
     {"TIME", ARGUMENT_OTHER, NULL},
     "watch: length of the intervals whose figures views see (1s)\n"
     "run: the same (1s), and how often values are read that cannot be traced (100ms)\n"
     "load: between tables (2s)\n"
     "probe: read again and again"},
    {"for", OPTION_FOR, {"TIME", ARGUMENT_OTHER, NULL}, "run, load: end after this time"},
    {"object",
     OPTION_OBJECT,
     {"NAME=PROGRAM,PID...", ARGUMENT_OTHER, NULL},
     "run: which processes are instances of an object (those with its name); repeatable"},
    {"save",
     OPTION_SAVE,
     {"FILE", ARGUMENT_FILE, NULL},
     "watch, run: write the database to FILE at the end, for dpm view sql"},
    {"when",
     OPTION_WHEN,
     {"PREDICATE", ARGUMENT_OTHER, NULL},
     "sense: only when this holds, as in 'sensor.value1 > 24'"},
    {"changes", OPTION_CHANGES, {0}, "sense: only when a value has changed"},
    {"count", OPTION_COUNT, {"NUMBER", ARGUMENT_OTHER, NULL}, "sense: end after so many lines"},
    {"under",
     OPTION_UNDER,
     {"PID", ARGUMENT_OTHER, NULL},
     "sense PROGRAM: only in this process and what descends from it"},
    {"json", OPTION_JSON, {0}, "print a JSON object for each line"},
    {0},
};

/* The number of words after "--", which getopt removes. */
static size_t words_after_dashes(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return (size_t)(argc - i - 1);
    return 0;
}

static int refuse_options(const char *action, unsigned given, const char *takes)
{
    for (const struct command_option *option = view_options; option->name != NULL; option++)
        if ((given & OPTION_BIT(option->value)) != 0 && strstr(takes, option->name) == NULL)
            return command_usage_error("view", "%s does not take --%s", action, option->name);
    return (given & OPTION_BIT(OPTION_HOSTS)) != 0 && strstr(takes, "host") == NULL
               ? command_usage_error("view", "%s does not take --host", action)
               : -1;
}

static int watch_traces(char **operands, size_t count, const struct view_watch_options *options)
{
    int argc = (int)count, status = command_take_traces("view", &argc, &operands, 1);

    return status >= 0 ? status
                       : view_watch_traces(operands[0], (const char *const *)operands + 1,
                                           (size_t)argc - 1, options);
}

static int watch(char **operands, size_t count, size_t words,
                 const struct view_watch_options *options)
{
    bool command = words > 0 && words == count - 1; /* all but VIEWFILE */

    if (count < 2)
        return command_usage_error("view",
                                   "watch: give a file of views, and traces or -- and a command");
    if (!command)
        return watch_traces(operands, count, options);
    if (options->json || options->save != NULL)
        return command_usage_error("view", "--json and --save need traces, not a command");
    return view_watch_command(operands[0], operands + 1, count - 1, options);
}

/* What the command line says. */
struct given {
    struct view_watch_options watch;
    struct view_run_options run;
    struct view_probe_options probe;
    unsigned options; /* OPTION_BIT of each */
    size_t words;     /* behind "--" */
};

#define WATCH_EVERY  1000000000u
#define RUN_EVERY    100000000u
#define RUN_INTERVAL 1000000000u

static int run(char **operands, size_t count, struct given *given)
{
    if (count == 0 || given->words != count - 1)
        return command_usage_error("view", "run: give a file of views, and maybe -- and a command");
    if (given->run.hosts.count > 0 && count > 1)
        return command_usage_error("view",
                                   "run: a command is for this machine only, not for --host");
    if (given->run.hosts.count == 0 && (given->options & OPTION_BIT(OPTION_HOSTS)) != 0)
        return command_usage_error("view", "run: give hosts: --host HOST");
    for (size_t i = 0; i < given->run.hosts.count; i++)
        if (given->run.hosts.list[i].command != NULL)
            return command_usage_error("view", "run: --host %s: a host has no command here",
                                       given->run.hosts.list[i].name);
    bool every = (given->options & OPTION_BIT(OPTION_EVERY)) != 0;
    given->run.interval = every ? given->run.every : RUN_INTERVAL;
    if (!every)
        given->run.every = RUN_EVERY;
    return view_run(operands[0], count > 1 ? operands + 1 : NULL, &given->run);
}

#define LOAD_EVERY 2000000000u

static int load(size_t count, struct given *given)
{
    const struct view_load_options options = {
        .site = &given->run.hosts,
        .every = (given->options & OPTION_BIT(OPTION_EVERY)) != 0 ? given->run.every : LOAD_EVERY,
        .limit = given->run.limit,
        .json = given->run.json};

    if (count > 0 || given->run.hosts.count > 0 || given->run.hosts.fabric == NULL)
        return command_usage_error("view", "load: give --fabric URL, where agents that are "
                                           "services send their summaries, and no host or file");
    return view_load(&options);
}

/* Values of a running process. */
static int look(const char *action, char **operands, size_t count, struct given *given)
{
    bool probe = strcmp(action, "probe") == 0;
    int status = refuse_options(action, given->options,
                                probe ? "every json" : "when changes count under json");

    if (status >= 0)
        return status;
    if ((given->options & OPTION_BIT(OPTION_EVERY)) != 0)
        given->probe.every = given->watch.every;
    if (probe && count < 2)
        return command_usage_error("view", "probe: give a process and C expressions");
    if (!probe && count < 3)
        return command_usage_error("view",
                                   "sense: give a process or a program, a place and C expressions");
    return probe ? view_probe(operands[0], operands + 1, count - 1, &given->probe)
                 : view_sense(operands[0], operands[1], operands + 2, count - 2, &given->probe);
}

static int run_action(int argc, char **argv, struct given *given)
{
    const char *action = optind < argc ? argv[optind] : "";
    size_t count = (size_t)(argc - optind - 1);
    char **operands = argv + optind + 1;
    int status;

    if (strcmp(action, "watch") == 0) {
        status = refuse_options(action, given->options, "every save json");
        return status < 0 ? watch(operands, count, given->words, &given->watch) : status;
    }
    if (strcmp(action, "run") == 0) {
        status =
            refuse_options(action, given->options, "costs control every for object save json host");
        return status < 0 ? run(operands, count, given) : status;
    }
    if (strcmp(action, "control") == 0) {
        status = refuse_options(action, given->options, "");
        return status < 0 ? view_control(operands, count) : status;
    }
    if (strcmp(action, "load") == 0) {
        status = refuse_options(action, given->options, "every for json host");
        return status < 0 ? load(count, given) : status;
    }
    if (strcmp(action, "explain") == 0) {
        if ((status = refuse_options(action, given->options, "costs json")) >= 0)
            return status;
        if (count != 1)
            return command_usage_error("view", "explain: give one file of views");
        return view_explain(operands[0], given->run.costs, given->run.json);
    }
    if (strcmp(action, "sql") == 0) {
        if ((status = refuse_options(action, given->options, "")) >= 0)
            return status;
        if (count != 2)
            return command_usage_error("view", "sql: give a saved database and a query");
        return view_sql(operands[0], operands[1]);
    }
    if (strcmp(action, "probe") == 0 || strcmp(action, "sense") == 0)
        return look(action, operands, count, given);
    return command_usage_error(
        "view", "'%s': say watch, run, control, load, explain, sql, probe or sense", action);
}

static int take_time(const char *name, uint64_t *ret_time)
{
    int status = option_time("view", name, ret_time);

    return status < 0 && *ret_time == 0
               ? command_usage_error("view", "--%s 0: give a time greater than 0", name)
               : status;
}

static int take_object(struct given *given)
{
    if (given->run.object_count == VIEW_RUN_OBJECTS_MOST)
        return command_usage_error("view", "--object: at most %d", VIEW_RUN_OBJECTS_MOST);
    given->run.objects[given->run.object_count++] = optarg;
    return -1;
}

/* Returns -1, or the exit status. */
static int take_option(int option, struct given *given)
{
    given->options |= option >= OPTION_COSTS && option < OPTION_HOSTS ? OPTION_BIT(option) : 0;
    switch (option) {
    case OPTION_COSTS:
        given->run.costs = optarg;
        return -1;
    case OPTION_CONTROL:
        given->run.control = optarg;
        return -1;
    case OPTION_EVERY: {
        int status = take_time("every", &given->watch.every);
        given->run.every = given->watch.every;
        return status;
    }
    case OPTION_FOR:
        return take_time("for", &given->run.limit);
    case OPTION_OBJECT:
        return take_object(given);
    case OPTION_SAVE:
        given->watch.save = given->run.save = optarg;
        return -1;
    case OPTION_JSON:
        given->watch.json = given->run.json = given->probe.json = true;
        return -1;
    case OPTION_WHEN:
        given->probe.when = optarg;
        return -1;
    case OPTION_CHANGES:
        given->probe.changes = true;
        return -1;
    case OPTION_COUNT:
        return option_number("view", "count", 1, UINT64_MAX, &given->probe.count);
    case OPTION_UNDER:
        return view_process(optarg, &given->probe.under);
    case OPTION_HELP:
        return command_help("view");
    default:
        return hosts_has_option(option) ? (given->options |= OPTION_BIT(OPTION_HOSTS),
                                           hosts_take_option("view", option, &given->run.hosts))
                                        : command_usage_error("view", NULL);
    }
}

static int command_view(int argc, char **argv)
{
    struct given given = {.watch = {.every = WATCH_EVERY}};
    int option, status = -1;

    given.words = words_after_dashes(argc, argv); /* before getopt changes the order */
    while (status < 0 && (option = command_next_option(&view_command, argc, argv)) != -1)
        status = take_option(option, &given);
    if (status < 0)
        status = run_action(argc, argv, &given);
    hosts_options_done(&given.run.hosts);
    return status;
}

const struct command view_command = {
    .name = "view",
    .description = "conditions over a running program, and plans to find out when they hold",
    .usage =
        "[OPTION]... watch VIEWFILE TRACE... | watch VIEWFILE -- COMMAND |\n       run VIEWFILE "
        "[-- COMMAND] | control SOCKET REQUEST | load |\n       explain VIEWFILE | sql FILE "
        "QUERY | probe PID EXPRESSION... |\n       sense PID|PROGRAM PLACE EXPRESSION...",
    .function = command_view,
    .operand = {"FILE", ARGUMENT_FILE},
    .options = view_options,
    .shared_options = hosts_option_rows,
};
