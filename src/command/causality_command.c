/* SPDX-License-Identifier: MIT */
/* causality_command.c: `dpm causality`: the paths of requests through a server. See dpm-causality(1). */
#include "command/reading/picture.h"
#include "command/shared/command.h"
#include "command/shared/selection.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parsed command line. */
struct asked {
    struct causality_options options;
    struct causality_face face;
    const char *diagram; /* file; NULL: none */
    enum graph_format format;
    char *list; /* of servers, cut into words; ours */
    const char **servers;
    struct selection selection;
};

/* ---- running ---- */

struct drawing {
    const struct causality *causality;
    const struct asked *asked;
};

static int write_diagram(const void *what, FILE *file)
{
    const struct drawing *drawing = what;

    return show_causality_diagram(drawing->causality, drawing->asked->format,
                                  drawing->asked->face.all ? SIZE_MAX : 0, file);
}

static int show(const struct causality *causality, const struct asked *asked,
                struct problem *problem)
{
    const struct drawing drawing = {causality, asked};
    int result = asked->diagram == NULL
                     ? 0
                     : command_write_file(asked->diagram, write_diagram, &drawing, problem);

    if (result < 0)
        return result;
    if (show_causality(causality, stdout, &asked->face) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    return command_flush_output(problem);
}

/* Notes names of --server that match no process. A process without messages is not in the result. */
static void note_nobody(const struct causality *causality, const struct causality_options *options)
{
    for (size_t i = 0; i < options->server_count; i++) {
        bool found = false;
        for (size_t k = 0; k < causality->process_count && !found; k++)
            found = process_is_meant(options->servers[i], causality->processes[k].pid,
                                     causality->processes[k].name);
        if (!found)
            command_note_nobody("server", options->servers[i]);
    }
}

static int read_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct causality *causality = NULL;
    struct problem problem = {""};
    struct traces traces;

    int result = traces_open(names, count, &asked->selection, &traces, &problem);
    if (result == 0)
        result = causality_read_history(traces.history, (uint32_t)count, &asked->options,
                                        &causality, &problem);
    if (result == 0)
        result = show(causality, asked, &problem);
    if (result == 0) {
        traces_report_losses(&traces);
        selection_say_unmet(&asked->selection);
        note_nobody(causality, &asked->options);
    }
    causality_free(causality);
    traces_close(&traces);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_SERVER,
    OPTION_BY_PROGRAM,
    OPTION_EACH_SEND,
    OPTION_LAST,
    OPTION_STRINGS,
    OPTION_LENGTH,
    OPTION_CONTEXT,
    OPTION_DIAGRAM,
    OPTION_SLOWEST,
    OPTION_ALL,
    OPTION_JSON,
};

static const struct command_option causality_options[] = {
    {"server",
     OPTION_SERVER,
     {"LIST"},
     "server processes: names or pids, separated by commas\n(default: processes that are called)"},
    {"by-program", OPTION_BY_PROGRAM, {0}, "one letter for all processes with the same name"},
    {"each-send",
     OPTION_EACH_SEND,
     {0},
     "each send is a message; do not join sends to a byte stream"},
    {"last",
     OPTION_LAST,
     {0},
     "a send belongs to what its thread received last (the thesis'\nrule), whatever its "
     "connection"},
    {"strings", OPTION_STRINGS, {0}, "also count all message sequences"},
    {"length", OPTION_LENGTH, {"N"}, "longest of these sequences, 2-16 (16)"},
    {"context",
     OPTION_CONTEXT,
     {"N"},
     "context length for predicting the next hop, 1-15\n(2: sender and its predecessor)"},
    {"diagram",
     OPTION_DIAGRAM,
     {"FILE", ARGUMENT_FILE},
     "draw the states of requests to FILE: .svg (picture), or .dot or\n.gv (Graphviz)"},
    {"slowest", OPTION_SLOWEST, {"N"}, "also the N slowest requests with their events, 1-1000"},
    {"all", OPTION_ALL, {0}, "all rows, not only the 100 largest, and all columns"},
    {"json", OPTION_JSON, {0}, "print a JSON object, with all rows"},
    {0},
};

static int bad_value(const char *option, const char *text, const char *wanted)
{
    return command_usage_error("causality", "--%s %s: give %s", option, text, wanted);
}

static int take_number(const char *option, uint64_t least, uint64_t most, unsigned *ret_number)
{
    uint64_t number = *ret_number;
    int status = option_number("causality", option, least, most, &number);

    *ret_number = (unsigned)number;
    return status;
}

static int parse_servers(struct asked *asked)
{
    size_t count = 1;

    for (const char *at = optarg; *at != '\0'; at++)
        count += *at == ',';
    free(asked->list);
    free(asked->servers);
    asked->options.server_count = 0;
    asked->list = strdup(optarg);
    asked->servers = calloc(count, sizeof(*asked->servers));
    if (asked->list == NULL || asked->servers == NULL)
        return command_error("out of memory");
    char *rest = asked->list;
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        if (*word == '\0')
            return bad_value("server", optarg, "names or pids, separated by commas");
        asked->servers[asked->options.server_count++] = word;
    }
    asked->options.servers = asked->servers;
    return -1;
}

/* Returns -1, or the exit status of the command. */
static int take_option(int option, struct asked *asked)
{
    switch (option) {
    case OPTION_SERVER:
        return parse_servers(asked);
    case OPTION_BY_PROGRAM:
        asked->options.by_program = true;
        return -1;
    case OPTION_EACH_SEND:
        asked->options.each_send = true;
        return -1;
    case OPTION_LAST:
        asked->options.last = true;
        return -1;
    case OPTION_STRINGS:
        asked->face.substrings = true;
        return -1;
    case OPTION_LENGTH:
        return take_number("length", 2, CAUSALITY_LENGTH_MOST, &asked->options.length);
    case OPTION_CONTEXT:
        return take_number("context", 1, CAUSALITY_LENGTH_MOST - 1, &asked->options.context);
    case OPTION_DIAGRAM:
        asked->diagram = optarg;
        return picture_file("causality", "diagram", &asked->format);
    case OPTION_SLOWEST:
        return take_number("slowest", 1, CAUSALITY_SLOWEST_MOST, &asked->options.slowest);
    case OPTION_ALL:
        asked->face.all = true;
        return -1;
    case OPTION_JSON:
        asked->face.json = true;
        return -1;
    default:
        if (selection_has_option(option))
            return selection_take("causality", option, &asked->selection);
        return option == OPTION_HELP ? command_help("causality")
                                     : command_usage_error("causality", NULL);
    }
}

static int command_causality(int argc, char **argv)
{
    struct asked asked = {0};
    int status = -1; /* continue */
    int option;

    while (status < 0 && (option = command_next_option(&causality_command, argc, argv)) != -1)
        status = take_option(option, &asked);
    if (status < 0)
        status = command_take_traces("causality", &argc, &argv, optind);
    if (status < 0)
        status = selection_check("causality", &asked.selection, false);
    if (status < 0)
        status = read_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    free(asked.list);
    free(asked.servers);
    selection_done(&asked.selection);
    return status;
}

const struct command causality_command = {
    .name = "causality",
    .description = "show which paths requests take through a server",
    .usage = "[OPTION]... TRACE...",
    .function = command_causality,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = causality_options,
    .selection = selection_options,
    /* a request belongs to all processes that it passes through: --server chooses these */
    .refused = SELECTION_BIT(SELECTION_PROCESS),
};
