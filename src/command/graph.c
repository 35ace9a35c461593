/* SPDX-License-Identifier: MIT */
/* graph.c: `dpm graph`: draws the program history of traces, as a picture or a graph. See dpm-graph(1). */
#include "command/reading/picture.h"
#include "command/reading/traces.h"
#include "command/shared/command.h"
#include "command/shared/dump_choice.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct graph_options {
    const char *file; /* NULL: standard output */
    enum graph_format format;
    bool format_is_asked;
    struct picture picture;
    struct selection selection;
};

/* What to write, and how. */
struct drawing {
    struct history_graph *graph;
    enum graph_format format;
};

static int write_drawing(const void *what, FILE *file)
{
    const struct drawing *drawing = what;

    return history_graph_write(drawing->graph, drawing->format, file);
}

static int write_graph(struct history_graph *graph, const struct graph_options *options,
                       struct problem *problem)
{
    const struct drawing drawing = {graph, options->format};

    return command_write_file(options->file, write_drawing, &drawing, problem);
}

static void report_left_out(const struct history_graph *graph, const struct selection *selection)
{
    const struct dump_choice *choice = &selection->choice;
    bool selects =
        selection_has_times(selection) || choice->processes.count > 0 || choice->paths.count > 0;
    char left[UNIT_SIZE], drawn[COUNTED_SIZE];

    if (!dump_choice_say_unmet(choice) && history_graph_events(graph) == 0)
        command_say(selects ? "no event matches --process, --from and --to"
                            : "there is no event to draw");
    if (history_graph_left_out(graph) == 0)
        return;
    show_count(history_graph_left_out(graph), left);
    show_counted(history_graph_events(graph), "event", drawn);
    command_say("drew %s, left out %s; choose with --from, --to or --process, or raise --most",
                drawn, left);
}

/* Learns the clock offsets first, so that events of several machines are at the right times. */
static int draw(struct traces *traces, struct graph_options *options, struct problem *problem)
{
    struct picture *picture = &options->picture;
    int result = traces_learn_clocks(traces, problem);

    picture->processes = &options->selection.choice;
    if (result == 0)
        result = picture_begin(picture, traces, NULL, problem);
    if (result == 0) {
        const struct analysis drawing = picture_analysis(picture);
        result = analyses_read_all(traces->history, &drawing, 1, problem);
    }
    return result;
}

static int graph_traces(const char *const *names, size_t count, struct graph_options *options)
{
    struct problem problem = {""};
    struct traces traces;
    int result = traces_open(names, count, NULL, &traces, &problem);

    if (result == 0)
        result = draw(&traces, options, &problem);
    if (result == 0)
        result = write_graph(options->picture.graph, options, &problem);
    if (result == 0) {
        report_left_out(options->picture.graph, &options->selection);
        traces_report_state(&traces);
    }
    picture_done(&options->picture);
    traces_close(&traces);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum { OPTION_FORMAT = OPTION_HELP + 1, OPTION_MOST };

static const char *format_word(size_t index)
{
    static const char *const words[] = {"svg", "dot"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

static const struct command_option graph_options[] = {
    {"output", 'o', {"FILE", ARGUMENT_FILE}, "write to FILE: .svg, .dot or .gv (standard output)"},
    {"format",
     OPTION_FORMAT,
     {"FORMAT", ARGUMENT_WORD, format_word},
     "svg (picture) or dot (Graphviz) (svg)"},
    {"most", OPTION_MOST, {"N"}, "draw at most N events (2000)"},
    {0},
};

static int parse_format(struct graph_options *options)
{
    size_t word = 0;
    int status = option_word("graph", "format", format_word, &word);

    options->format = word == 1 ? GRAPH_DOT : GRAPH_SVG;
    options->format_is_asked = true;
    return status;
}

/* The file name's suffix decides; without one, and for standard output, --format. */
static int choose_format(struct graph_options *options)
{
    enum graph_format named;

    if (options->file == NULL || strcmp(options->file, "-") == 0)
        return -1;
    if (picture_format(options->file, &named)) {
        if (options->format_is_asked && options->format != named)
            return command_usage_error("graph", "--output %s: its suffix contradicts --format",
                                       options->file);
        options->format = named;
    } else if (!options->format_is_asked) {
        return command_usage_error("graph",
                                   "--output %s: use a suffix .svg, .dot or .gv, or give --format",
                                   options->file);
    }
    return -1;
}

/* Returns -1, or the exit status of the command. */
static int take_option(int option, struct graph_options *options)
{
    switch (option) {
    case 'o':
        options->file = optarg;
        return -1;
    case OPTION_FORMAT:
        return parse_format(options);
    case OPTION_MOST:
        return picture_most("graph", &options->picture.choice);
    default:
        if (selection_has_option(option))
            return selection_take("graph", option, &options->selection);
        return option == OPTION_HELP ? command_help("graph") : command_usage_error("graph", NULL);
    }
}

static int command_graph(int argc, char **argv)
{
    struct graph_options options = {.format = GRAPH_SVG};
    int status = -1; /* continue */
    int option;

    while (status < 0 && (option = command_next_option(&graph_command, argc, argv)) != -1)
        status = take_option(option, &options);
    if (status < 0)
        status = command_take_traces("graph", &argc, &argv, optind);
    if (status < 0)
        status = choose_format(&options);
    if (status < 0)
        status = selection_check("graph", &options.selection, true);
    options.picture.choice.from = (int64_t)options.selection.from;
    options.picture.choice.to = (int64_t)options.selection.to;
    if (status < 0)
        status =
            graph_traces((const char *const *)argv + optind, (size_t)(argc - optind), &options);
    selection_done(&options.selection);
    return status;
}

const struct command graph_command = {
    .name = "graph",
    .description = "draw processes, messages and waits over time",
    .usage = "[OPTION]... TRACE...",
    .function = command_graph,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = graph_options,
    .selection = selection_options,
};
