/* SPDX-License-Identifier: MIT */
/* view_command.c: `dpm view`: views over a running program, and plans for them. See dpm-view(1). */
#include "control/view_explain.h"
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

enum { OPTION_COSTS = OPTION_HELP + 1, OPTION_EVERY, OPTION_JSON, OPTION_SAVE };

static const struct command_option view_options[] = {
    {"costs",
     OPTION_COSTS,
     {"FILE", ARGUMENT_FILE, NULL},
     "explain: costs of messages, sensors ..., and where instances are; see dpm-view(5)"},
    {"every",
     OPTION_EVERY,
     {"TIME", ARGUMENT_OTHER, NULL},
     "watch: length of the intervals whose figures views see (1s)"},
    {"save",
     OPTION_SAVE,
     {"FILE", ARGUMENT_FILE, NULL},
     "watch: write the database of the last interval to FILE, for dpm view sql"},
    {"json", OPTION_JSON, {0}, "print a JSON object for each line"},
    {0},
};

/* Whether "--" stands before COMMAND. getopt removes it. */
static bool has_command(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return true;
    return false;
}

static int watch(char **operands, size_t count, bool command,
                 const struct view_watch_options *options)
{
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

static int run_action(int argc, char **argv, bool command, const struct view_watch_options *options,
                      const char *costs)
{
    const char *action = optind < argc ? argv[optind] : "";
    int count = argc - optind - 1;
    char **operands = argv + optind + 1;

    if (strcmp(action, "watch") == 0)
        return watch(operands, (size_t)count, command, options);
    if (strcmp(action, "explain") == 0) {
        if (count != 1)
            return command_usage_error("view", "explain: give one file of views");
        return view_explain(operands[0], costs, options->json);
    }
    if (strcmp(action, "sql") == 0) {
        if (count != 2)
            return command_usage_error("view", "sql: give a saved database and a query");
        return view_sql(operands[0], operands[1]);
    }
    return command_usage_error("view", "'%s': say watch, explain or sql", action);
}

static int command_view(int argc, char **argv)
{
    struct view_watch_options options = {.every = 1000000000u};
    const char *costs = NULL;
    bool command = has_command(argc, argv); /* before getopt changes the order */
    int option, status = -1;

    while (status < 0 && (option = command_next_option(&view_command, argc, argv)) != -1) {
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
            options.json = true;
            break;
        case OPTION_HELP:
            status = command_help("view");
            break;
        default:
            status = command_usage_error("view", NULL);
        }
    }
    return status < 0 ? run_action(argc, argv, command, &options, costs) : status;
}

const struct command view_command = {
    .name = "view",
    .description = "conditions over a running program, and plans to find out when they hold",
    .usage = "[OPTION]... watch VIEWFILE TRACE... | watch VIEWFILE -- COMMAND |\n       explain "
             "VIEWFILE | sql FILE QUERY",
    .function = command_view,
    .operand = {"FILE", ARGUMENT_FILE},
    .options = view_options,
};
