/* SPDX-License-Identifier: MIT */
/* path_command.c: `dpm path`: the longest path through the program history. See dpm-path(1). */
#include "control/command.h"
#include "control/placements.h"
#include "control/readings.h"
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
    struct path_picture picture;
};

/* ---- showing ---- */

static int write_folded(const void *what, FILE *file)
{
    show_critical_path_folded(what, file);
    return 0;
}

static int write_picture(const void *what, FILE *file)
{
    const struct asked *asked = what;
    size_t length = strlen(asked->file);
    bool dot = length > 4 && strcmp(asked->file + length - 4, ".dot") == 0;

    return history_graph_write(asked->picture.graph, dot ? GRAPH_DOT : GRAPH_SVG, file);
}

static int show(const struct critical_path *path, uint64_t lost, struct asked *asked,
                struct problem *problem)
{
    int result = 0;

    if (asked->file != NULL)
        result = command_write_file(asked->file, write_picture, asked, problem);
    if (result == 0 && asked->folded != NULL)
        result = command_write_file(asked->folded, write_folded, path, problem);
    if (result < 0 || (asked->folded != NULL && strcmp(asked->folded, "-") == 0))
        return result;
    result = show_critical_path(path, lost, stdout, &asked->show);
    return result < 0 ? problem_set(problem, result, "out of memory")
                      : command_flush_output(problem);
}

static int show_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct critical_path *path = NULL;
    struct problem problem = {""};
    uint64_t lost = 0;
    const struct trace_names traces = {.at = names, .count = count};
    int result = asked->file == NULL ? 0 : path_picture_want(&asked->picture, &problem);

    if (result == 0)
        result = read_path(&traces, &asked->options, &asked->picture, &path, &lost, &problem);
    if (result == 0)
        result = show(path, lost, asked, &problem);
    critical_path_free(path);
    path_picture_done(&asked->picture);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_ALL = OPTION_HELP + 1,
    OPTION_AS_RECORDED,
    OPTION_ASSIGN,
    OPTION_DELAYS,
    OPTION_EDGES,
    OPTION_FOLDED,
    OPTION_FROM,
    OPTION_GRAPH,
    OPTION_JSON,
    OPTION_LOCAL_DELAY,
    OPTION_MOST,
    OPTION_ONE_MACHINE,
    OPTION_PROCESSES,
    OPTION_REMOTE_DELAY,
    OPTION_TO,
    OPTION_WHAT_IF,
};

static const char *edges_word(size_t index)
{
    static const char *const words[] = {"all", "messages"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

static const struct command_option path_options[] = {
    {"what-if",
     OPTION_WHAT_IF,
     {"NAME=SPEED|NAME>NAME"},
     "P if these processes were so many times as fast, or messages from the first\n"
     "to the second took no time; repeatable (those with most on the path, twice as fast)"},
    {"folded", OPTION_FOLDED, {"FILE", ARGUMENT_FILE}, "write folded stacks for a flame graph"},
    {"graph",
     OPTION_GRAPH,
     {"FILE", ARGUMENT_FILE},
     "draw the program history with the path in it, SVG or, by its name, .dot"},
    {"from", OPTION_FROM, {"TIME"}, "in it only from this time after the first event"},
    {"to", OPTION_TO, {"TIME"}, "in it only up to this time"},
    {"most", OPTION_MOST, {"N"}, "in it at most N events (2000)"},
    {"as-recorded", OPTION_AS_RECORDED, {0}, "delays of the machines where it was recorded"},
    {"one-machine", OPTION_ONE_MACHINE, {0}, "delays within one machine (of one for each process)"},
    {"assign", OPTION_ASSIGN, {"FILE", ARGUMENT_FILE}, "delays and speeds of an assignment"},
    {"local-delay", OPTION_LOCAL_DELAY, {"DELAY"}, "how long a message takes within a machine (0)"},
    {"remote-delay", OPTION_REMOTE_DELAY, {"DELAY"}, "the same, between machines (0)"},
    {"delays", OPTION_DELAYS, {"FILE", ARGUMENT_FILE}, "delays, also of pairs of machines"},
    {"edges",
     OPTION_EDGES,
     {"WHICH", ARGUMENT_WORD, edges_word},
     "all arcs, or those of messages only, as in Miller's thesis (all)"},
    {"processes", OPTION_PROCESSES, {0}, "each process is one stream, not each thread"},
    {"all", OPTION_ALL, {0}, "all rows, not the 100 largest"},
    {"json", OPTION_JSON, {0}, "one JSON object, always with everything"},
    {0},
};

static int bad_value(const char *option, const char *text, const char *wanted)
{
    return command_usage_error("path", "--%s %s: give %s", option, text, wanted);
}

/* The text is cut in two. */
static int parse_what_if(struct asked *asked)
{
    char *sign = optarg + strcspn(optarg, "=>"), *end = NULL;
    size_t count = asked->options.asked_count;
    static const char wanted[] = "NAME=SPEED, as gzip=2, or NAME>NAME";

    if (sign == optarg || *sign == '\0' || sign[1] == '\0')
        return bad_value("what-if", optarg, wanted);
    if (array_reserve(&asked->what_ifs, &asked->what_if_room, count + 1, sizeof(*asked->what_ifs)) <
        0)
        return command_error("out of memory");
    struct what_if_asked what_if = {.process = optarg, .to = sign + 1};
    if (*sign == '=') {
        what_if.speed = strtod(sign + 1, &end);
        if (*end != '\0' || !(what_if.speed > 0.000001 && what_if.speed < 1e9))
            return bad_value("what-if", optarg, wanted);
    }
    *sign = '\0';
    asked->what_ifs[asked->options.asked_count++] = what_if;
    return -1;
}

static int parse_time(const char *option, int64_t *ret_time)
{
    uint64_t time;

    if (parse_duration(optarg, &time) < 0 || time > INT64_MAX)
        return bad_value(option, optarg, "a time, as in 10ms or 2s");
    *ret_time = (int64_t)time;
    return -1;
}

static int parse_most(size_t *ret_most)
{
    uint64_t most;

    if (parse_size(optarg, &most) < 0 || most == 0 || most > 1000000)
        return bad_value("most", optarg, "a number of events up to 1000000");
    *ret_most = (size_t)most;
    return -1;
}

static int parse_edges(struct asked *asked)
{
    asked->options.parallelism.messages_only = strcmp(optarg, "messages") == 0;
    return asked->options.parallelism.messages_only || strcmp(optarg, "all") == 0
               ? -1
               : bad_value("edges", optarg, "all or messages");
}

/* One assignment: the last one that is asked for. */
static int set_assignment(struct asked *asked, const char *name, enum assignment_kind kind)
{
    placements_forget(&asked->placements);
    return placements_add(&asked->placements, name, kind, 0) < 0 ? command_error("out of memory")
                                                                 : -1;
}

static int read_assignment(struct asked *asked)
{
    struct problem problem;

    placements_forget(&asked->placements);
    asked->options.delays = true;
    return placements_read(&asked->placements, optarg, &problem) < 0
               ? command_error("%s", problem.text)
               : -1;
}

static int take_delay(int option, struct asked *asked)
{
    struct delays *delays = &asked->placements.delays;
    struct problem problem;

    asked->options.delays = true;
    if (option == OPTION_DELAYS)
        return placements_read_delays(&asked->placements, optarg, &problem) < 0
                   ? command_error("%s", problem.text)
                   : -1;
    bool local = option == OPTION_LOCAL_DELAY;
    return delay_parse(optarg, local ? &delays->local : &delays->remote) == 0
               ? -1
               : bad_value(local ? "local-delay" : "remote-delay", optarg,
                           "a time as 13ms, 13ms+22us/B or 1:4.2ms,1000:12.8ms");
}

/* Returns -1, or the exit status with which the command ends. */
static int take_option(int option, struct asked *asked)
{
    switch (option) {
    case OPTION_ALL:
        asked->show.all = true;
        return -1;
    case OPTION_AS_RECORDED:
        return set_assignment(asked, "as-recorded", AS_RECORDED);
    case OPTION_ONE_MACHINE:
        return set_assignment(asked, "one-machine", ONE_MACHINE);
    case OPTION_ASSIGN:
        return read_assignment(asked);
    case OPTION_DELAYS:
    case OPTION_LOCAL_DELAY:
    case OPTION_REMOTE_DELAY:
        return take_delay(option, asked);
    case OPTION_EDGES:
        return parse_edges(asked);
    case OPTION_FOLDED:
        asked->folded = optarg;
        return -1;
    case OPTION_FROM:
        return parse_time("from", &asked->picture.choice.from);
    case OPTION_TO:
        return parse_time("to", &asked->picture.choice.to);
    case OPTION_GRAPH:
        asked->file = optarg;
        return -1;
    case OPTION_JSON:
        asked->show.json = true;
        return -1;
    case OPTION_MOST:
        return parse_most(&asked->picture.choice.most);
    case OPTION_PROCESSES:
        asked->options.parallelism.threads = false;
        return -1;
    case OPTION_WHAT_IF:
        return parse_what_if(asked);
    default:
        return option == OPTION_HELP ? command_help("path") : command_usage_error("path", NULL);
    }
}

#define OFFERED 5 /* what-ifs, if none are asked for */

static int command_path(int argc, char **argv)
{
    struct asked asked = {.options = {.parallelism = {.threads = true}, .offered = OFFERED}};
    int option, status = set_assignment(&asked, "one-each", ONE_EACH);

    while (status < 0 && (option = command_next_option(&path_command, argc, argv)) != -1)
        status = take_option(option, &asked);
    if (status < 0 && optind == argc)
        status = command_usage_error("path", "which trace?");
    if (status < 0 && asked.file != NULL && strcmp(asked.file, "-") == 0)
        status = command_usage_error("path", "--graph needs a file");
    if (status < 0 && asked.picture.choice.to != 0 &&
        asked.picture.choice.to <= asked.picture.choice.from)
        status = command_usage_error("path", "--to is not after --from");
    if (status < 0) {
        asked.options.parallelism.assignments = asked.placements.assignments;
        asked.options.parallelism.assignment_count = 1;
        asked.options.parallelism.delays = asked.placements.delays;
        asked.options.asked = asked.what_ifs;
        status = show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    }
    placements_done(&asked.placements);
    free(asked.what_ifs);
    return status;
}

const struct command path_command = {
    .name = "path",
    .description = "show the longest path through the program history",
    .usage = "[OPTION]... TRACE...",
    .function = command_path,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = path_options,
};
