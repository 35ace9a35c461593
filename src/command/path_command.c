/* SPDX-License-Identifier: MIT */
/* path_command.c: `dpm path`: the critical path through the program history. See dpm-path(1). */
#include "command/reading/readings.h"
#include "command/shared/command.h"
#include "command/shared/placement_options.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    struct critical_path_options options;
    struct placements placements;
    struct show_options show;
    struct what_if_asked *what_ifs;
    size_t what_if_room;
    const char *folded; /* file */
    const char *file;   /* of the picture */
    enum graph_format format;
    struct picture picture;
    struct selection selection;
    bool chosen;   /* an option selects what is in the picture */
    bool of_graph; /* an option asks about the path in the graph, also if there are requests */
};

/* ---- showing ---- */

/* What was found. */
struct path_found {
    const struct critical_path *path;
    const struct elapsed *elapsed; /* NULL: the path in the graph is meant */
};

static int write_folded(const void *what, FILE *file)
{
    const struct path_found *found = what;

    show_critical_path_folded(found->path, found->elapsed, file);
    return 0;
}

static int write_picture(const void *what, FILE *file)
{
    const struct asked *asked = what;

    return history_graph_write(asked->picture.graph, asked->format, file);
}

static int show(const struct analyses_found *from, struct asked *asked, struct problem *problem)
{
    bool of_graph = asked->of_graph && !asked->show.json; /* JSON has both */
    const struct path_found found = {from->path, of_graph ? NULL : from->elapsed};
    int result = 0;

    if (asked->file != NULL)
        result = command_write_file(asked->file, write_picture, asked, problem);
    if (result == 0 && asked->folded != NULL)
        result = command_write_file(asked->folded, write_folded, &found, problem);
    if (result < 0 || (asked->folded != NULL && strcmp(asked->folded, "-") == 0))
        return result;
    result =
        show_critical_path(found.path, found.elapsed, &from->run.recorded, stdout, &asked->show);
    return result < 0 ? problem_set(problem, result, "out of memory")
                      : command_flush_output(problem);
}

static int show_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct problem problem = {""};
    struct analyses_found found;
    const struct trace_names traces = {.at = names, .count = count};
    const struct analyses_wanted wanted = {
        .path = &asked->options,
        .elapsed = true,
        .selection = &asked->selection,
        .picture = asked->file == NULL ? NULL : &asked->picture,
    };
    int result = read_analyses(&traces, &wanted, &found, &problem);

    if (result == 0)
        result = show(&found, asked, &problem);
    if (result == 0)
        placements_note_nobody(&asked->placements,
                               &(struct parallelism_run){.threads = found.path->parallelism}, 1);
    if (result == 0)
        selection_say_unmet(&asked->selection);
    found_done(&found);
    picture_done(&asked->picture);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_ALL = OPTION_HELP + 1,
    OPTION_FOLDED,
    OPTION_GRAPH,
    OPTION_JSON,
    OPTION_LONGEST,
    OPTION_MOST,
    OPTION_PROCESSES,
    OPTION_WHAT_IF,
};

static const struct command_option path_options[] = {
    {"what-if",
     OPTION_WHAT_IF,
     {"NAME=SPEED|NAME>NAME"},
     "predict: NAME is SPEED times as fast, or messages from the\nfirst NAME to the second take no "
     "time; repeatable"},
    {"folded",
     OPTION_FOLDED,
     {"FILE", ARGUMENT_FILE},
     "write folded stacks for a flame graph; '-' is standard output"},
    {"graph",
     OPTION_GRAPH,
     {"FILE", ARGUMENT_FILE},
     "draw the history with the path in red to FILE: .svg (picture),\nor .dot or .gv (Graphviz)"},
    {"most", OPTION_MOST, {"N"}, "draw at most N events (2000)"},
    {"processes", OPTION_PROCESSES, {0}, "treat each process as one thread"},
    {"longest",
     OPTION_LONGEST,
     {0},
     "the longest path of the whole graph (t_max), even if a helper's\ntimers are that path"},
    {"all", OPTION_ALL, {0}, "all rows, not only the 100 largest, and all columns"},
    {"json", OPTION_JSON, {0}, "print a JSON object, with all rows"},
    {0},
};

/* Cuts the text in two. */
static int parse_what_if(struct asked *asked)
{
    char *sign = optarg + strcspn(optarg, "=>"), *end = NULL;
    size_t count = asked->options.asked_count;
    static const char wanted[] = "NAME=SPEED, e.g. gzip=2, or NAME>NAME";

    if (sign == optarg || *sign == '\0' || sign[1] == '\0')
        return command_usage_error("path", "--what-if '%s': give %s", optarg, wanted);
    if (array_reserve(&asked->what_ifs, &asked->what_if_room, count + 1, sizeof(*asked->what_ifs)) <
        0)
        return command_error("out of memory");
    struct what_if_asked what_if = {.process = optarg, .to = sign + 1};
    if (*sign == '=') {
        what_if.speed = strtod(sign + 1, &end);
        if (*end != '\0' || !(what_if.speed > 0.000001 && what_if.speed < 1e9))
            return command_usage_error("path", "--what-if '%s': give %s", optarg, wanted);
    }
    *sign = '\0';
    asked->what_ifs[asked->options.asked_count++] = what_if;
    return -1;
}

/* Returns -1, or the exit status of the command. */
static int take_option(int option, struct asked *asked)
{
    switch (option) {
    case OPTION_ALL:
        asked->show.all = true;
        return -1;
    case OPTION_FOLDED:
        asked->folded = optarg;
        return -1;
    case OPTION_GRAPH:
        asked->file = optarg;
        return picture_file("path", "graph", &asked->format);
    case OPTION_JSON:
        asked->show.json = true;
        return -1;
    case OPTION_LONGEST:
        asked->options.whole = asked->of_graph = true;
        return -1;
    case OPTION_MOST:
        asked->chosen = true;
        return picture_most("path", &asked->picture.choice);
    case OPTION_PROCESSES:
        asked->options.parallelism.threads = false;
        asked->of_graph = true;
        return -1;
    case OPTION_WHAT_IF:
        asked->of_graph = true;
        return parse_what_if(asked);
    default:
        if (selection_has_option(option))
            return selection_take("path", option, &asked->selection);
        asked->of_graph = true;
        return placements_take("path", option, &asked->placements);
    }
}

/* The assignment that was requested. It makes no difference without delays and with machines as they were. */
static void choose_assignment(const struct placements *placements,
                              struct critical_path_options *options)
{
    const struct assignment *last = &placements->assignments[placements->count - 1];
    const struct delays *delays = &placements->delays;

    options->parallelism.assignments = last;
    options->parallelism.assignment_count = 1;
    options->parallelism.delays = *delays;
    options->parallelism.messages_only = placements->messages_only;
    options->delays = last->kind == ASSIGNED ||
                      delays->local.count + delays->remote.count + delays->between_count > 0;
}

#define OFFERED 5 /* what-ifs, if none are requested */

/* Options that need another one, or exclude it. */
static int check_together(const struct asked *asked)
{
    if (asked->file == NULL && asked->chosen)
        return command_usage_error("path", "--most needs --graph");
    if (asked->show.json && asked->folded != NULL && strcmp(asked->folded, "-") == 0)
        return command_usage_error("path", "--json and --folded -: give only one");
    if (asked->placements.count > 2) /* the first one is always there */
        return command_usage_error("path",
                                   "--as-recorded, --one-machine and --assign: give only one");
    return selection_check("path", &asked->selection, false);
}

static int command_path(int argc, char **argv)
{
    struct asked asked = {.options = {.parallelism = {.threads = true}, .offered = OFFERED}};
    int option, status = placements_add(&asked.placements, "one-each", ONE_EACH, 0) < 0
                             ? command_error("out of memory")
                             : -1;

    while (status < 0 && (option = command_next_option(&path_command, argc, argv)) != -1)
        status = take_option(option, &asked);
    if (status < 0)
        status = command_take_traces("path", &argc, &argv, optind);
    if (status < 0)
        status = check_together(&asked);
    if (status < 0) {
        choose_assignment(&asked.placements, &asked.options);
        placements_leave_out(&asked.placements, &asked.options.parallelism);
        asked.options.asked = asked.what_ifs;
        status = show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    }
    placements_done(&asked.placements);
    free(asked.what_ifs);
    selection_done(&asked.selection);
    return status;
}

const struct command path_command = {
    .name = "path",
    .description = "show the critical path, and what would shorten it",
    .usage = "[OPTION]... TRACE...",
    .function = command_path,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = path_options,
    .shared_options = placement_options,
    .selection = selection_options,
    .refused =
        SELECTION_BIT(SELECTION_PATH), /* without some messages it would be another computation */
};
