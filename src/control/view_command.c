/* SPDX-License-Identifier: MIT */
/* view_command.c: `dpm view`: views over a running program, and plans for them. See dpm-view(1). */
#include "control/view_explain.h"
#include "control/view_probe.h"
#include "control/view_watch.h"
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
    OPTION_EVERY,
    OPTION_JSON,
    OPTION_SAVE,
    OPTION_WHEN,
    OPTION_CHANGES,
    OPTION_COUNT,
};

#define OPTION_BIT(option) (1u << ((option)-OPTION_COSTS))

static const struct command_option view_options[] = {
    {"costs",
     OPTION_COSTS,
     {"FILE", ARGUMENT_FILE, NULL},
     "explain: costs of messages, sensors ..., and where instances are; see dpm-view(5)"},
    {"every",
     OPTION_EVERY,
     {"TIME", ARGUMENT_OTHER, NULL},
     "watch: length of the intervals whose figures views see (1s); probe: read again and again"},
    {"save",
     OPTION_SAVE,
     {"FILE", ARGUMENT_FILE, NULL},
     "watch: write the database of the last interval to FILE, for dpm view sql"},
    {"when",
     OPTION_WHEN,
     {"PREDICATE", ARGUMENT_OTHER, NULL},
     "sense: only when this holds, as in 'sensor.value1 > 24'"},
    {"changes", OPTION_CHANGES, {0}, "sense: only when a value has changed"},
    {"count", OPTION_COUNT, {"NUMBER", ARGUMENT_OTHER, NULL}, "sense: end after so many lines"},
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
    return -1;
}

static int watch(char **operands, size_t count, size_t words,
                 const struct view_watch_options *options)
{
    bool command = words > 0 && words == count - 1; /* all but VIEWFILE */

    if (count < 2)
        return command_usage_error("view",
                                   "watch: give a file of views, and traces or -- and a command");
    if (!command)
        return view_watch_traces(operands[0], (const char *const *)operands + 1, count - 1,
                                 options);
    if (options->json || options->save != NULL)
        return command_usage_error("view", "--json and --save need traces, not a command");
    return view_watch_command(operands[0], operands + 1, count - 1, options);
}

/* Values of a running process. */
static int look(const char *action, char **operands, int count, unsigned given,
                struct view_probe_options *options)
{
    bool probe = strcmp(action, "probe") == 0;
    int status = refuse_options(action, given, probe ? "every json" : "when changes count json");

    if (status >= 0)
        return status;
    if ((given & OPTION_BIT(OPTION_EVERY)) == 0)
        options->every = 0;
    if (probe && count < 2)
        return command_usage_error("view", "probe: give a process and C expressions");
    if (!probe && count < 3)
        return command_usage_error("view", "sense: give a process, a place and C expressions");
    return probe ? view_probe(operands[0], operands + 1, (size_t)count - 1, options)
                 : view_sense(operands[0], operands[1], operands + 2, (size_t)count - 2, options);
}

static int run_action(int argc, char **argv, size_t words, unsigned given,
                      const struct view_watch_options *options, const char *costs,
                      struct view_probe_options *probe_options)
{
    const char *action = optind < argc ? argv[optind] : "";
    int count = argc - optind - 1, status;
    char **operands = argv + optind + 1;

    if (strcmp(action, "watch") == 0) {
        status = refuse_options(action, given, "every save json");
        return status < 0 ? watch(operands, (size_t)count, words, options) : status;
    }
    if (strcmp(action, "explain") == 0) {
        if ((status = refuse_options(action, given, "costs json")) >= 0)
            return status;
        if (count != 1)
            return command_usage_error("view", "explain: give one file of views");
        return view_explain(operands[0], costs, options->json);
    }
    if (strcmp(action, "sql") == 0) {
        if ((status = refuse_options(action, given, "")) >= 0)
            return status;
        if (count != 2)
            return command_usage_error("view", "sql: give a saved database and a query");
        return view_sql(operands[0], operands[1]);
    }
    if (strcmp(action, "probe") == 0 || strcmp(action, "sense") == 0)
        return look(action, operands, count, given, probe_options);
    return command_usage_error("view", "'%s': say watch, explain, sql, probe or sense", action);
}

static int command_view(int argc, char **argv)
{
    struct view_watch_options options = {.every = 1000000000u};
    struct view_probe_options probe_options = {0};
    const char *costs = NULL;
    size_t words = words_after_dashes(argc, argv); /* before getopt changes the order */
    unsigned given = 0;
    int option, status = -1;

    while (status < 0 && (option = command_next_option(&view_command, argc, argv)) != -1) {
        given |= option >= OPTION_COSTS ? OPTION_BIT(option) : 0;
        switch (option) {
        case OPTION_COSTS:
            costs = optarg;
            break;
        case OPTION_EVERY:
            status = option_time("view", "every", &options.every);
            if (status < 0 && options.every == 0)
                status = command_usage_error("view", "--every 0: give a time greater than 0");
            break;
        case OPTION_SAVE:
            options.save = optarg;
            break;
        case OPTION_JSON:
            options.json = probe_options.json = true;
            break;
        case OPTION_WHEN:
            probe_options.when = optarg;
            break;
        case OPTION_CHANGES:
            probe_options.changes = true;
            break;
        case OPTION_COUNT:
            status = option_number("view", "count", 1, UINT64_MAX, &probe_options.count);
            break;
        case OPTION_HELP:
            status = command_help("view");
            break;
        default:
            status = command_usage_error("view", NULL);
        }
    }
    probe_options.every = options.every;
    return status < 0 ? run_action(argc, argv, words, given, &options, costs, &probe_options)
                      : status;
}

const struct command view_command = {
    .name = "view",
    .description = "conditions over a running program, and plans to find out when they hold",
    .usage = "[OPTION]... watch VIEWFILE TRACE... | watch VIEWFILE -- COMMAND |\n       explain "
             "VIEWFILE | sql FILE QUERY | probe PID EXPRESSION... |\n       sense PID PLACE "
             "EXPRESSION...",
    .function = command_view,
    .operand = {"FILE", ARGUMENT_FILE},
    .options = view_options,
};
