/* SPDX-License-Identifier: MIT */
/* stats.c: `dpm stats`: who sent how much to whom. See dpm-stats(1). */
#include "control/command.h"
#include "show/show.h"
#include "trace/trace.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* JSON has no place for what the tables say below. */
static void warn_unknown(const struct communication *communication)
{
    if (communication->unknown_streams + communication->unknown_paths > 0)
        fprintf(stderr,
                "dpm: %" PRIu64 " messages are of streams and %" PRIu64
                " of paths whose identity was lost\n",
                communication->unknown_streams, communication->unknown_paths);
}

/* Replaces the result by that of groups. */
static int group(struct communication **communication, enum communication_by by,
                 struct problem *problem)
{
    struct communication *grouped = NULL;

    if (by == BY_PROCESS)
        return 0;
    int result = communication_group(*communication, by, &grouped);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    communication_free(*communication);
    *communication = grouped;
    return 0;
}

/* What the command line asks for. */
struct stats_options {
    struct show_options show;
    enum communication_by by;
    uint64_t every; /* ns, 0: not asked for */
};

static int show_traces(const char *const *traces, size_t count, const struct stats_options *options)
{
    struct communication *communication = NULL;
    struct problem problem;
    struct source *source = NULL;

    int result = trace_open(traces, count, &source, &problem);
    if (result == 0)
        result = communication_read(source, options->every, &communication, &problem);
    if (result == 0)
        result = group(&communication, options->by, &problem);
    if (result == 0) {
        result = show_statistics(communication, stdout, &options->show);
        if (result < 0)
            problem_set(&problem, result, "out of memory");
        else
            result = command_flush_output(&problem);
    }
    if (result == 0) {
        command_report_state(source, traces);
        if (options->show.json || options->show.csv)
            warn_unknown(communication);
    }
    communication_free(communication);
    trace_close(source);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* Of the things there is a table of, one is all that is shown. */
static int read_by(const char *text, struct stats_options *options)
{
    static const struct {
        const char *name;
        enum show_table table;
    } tables[] = {{"pair", TABLE_PAIRS}, {"path", TABLE_PATHS}};

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (strcmp(text, tables[i].name) == 0) {
            options->show.table = tables[i].table;
            return 0;
        }
    for (unsigned by = BY_PROCESS; by <= BY_MACHINE; by++)
        if (strcmp(text, communication_by_name(by)) == 0) {
            options->by = by;
            return 0;
        }
    return command_usage_error(
        "stats", "--by '%s': there are process, user, container, program, machine, pair, path",
        text);
}

static int read_order(const char *text, struct stats_options *options)
{
    static const char *const orders[] = {
        [ORDER_BYTES] = "bytes",       [ORDER_MESSAGES] = "messages", [ORDER_CPU] = "cpu",
        [ORDER_RESPONSE] = "response", [ORDER_NAME] = "name",
    };

    for (unsigned order = 0; order < ARRAY_SIZE(orders); order++)
        if (strcmp(text, orders[order]) == 0) {
            options->show.order = order;
            return 0;
        }
    return command_usage_error("stats",
                               "--sort '%s': there are bytes, messages, cpu, response, name", text);
}

static int read_every(const char *text, struct stats_options *options)
{
    return parse_duration(text, &options->every) == 0 && options->every > 0
               ? 0
               : command_usage_error("stats", "--every '%s': a time as 100ms, 1s, 5m", text);
}

enum {
    OPTION_ALL,
    OPTION_BY,
    OPTION_CSV,
    OPTION_EVERY,
    OPTION_HISTOGRAM,
    OPTION_JSON,
    OPTION_SORT,
    OPTION_HELP,
};

static const struct option options[] = {
    {"all", no_argument, NULL, OPTION_ALL},
    {"by", required_argument, NULL, OPTION_BY},
    {"csv", no_argument, NULL, OPTION_CSV},
    {"every", required_argument, NULL, OPTION_EVERY},
    {"histogram", no_argument, NULL, OPTION_HISTOGRAM},
    {"json", no_argument, NULL, OPTION_JSON},
    {"sort", required_argument, NULL, OPTION_SORT},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

int command_stats(int argc, char **argv)
{
    struct stats_options asked = {0};
    int option, error = 0;

    while (error == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case OPTION_ALL:
            asked.show.all = true;
            break;
        case OPTION_BY:
            error = read_by(optarg, &asked);
            break;
        case OPTION_CSV:
            asked.show.csv = true;
            break;
        case OPTION_EVERY:
            error = read_every(optarg, &asked);
            break;
        case OPTION_HISTOGRAM:
            asked.show.histogram = true;
            break;
        case OPTION_JSON:
            asked.show.json = true;
            break;
        case OPTION_SORT:
            error = read_order(optarg, &asked);
            break;
        case OPTION_HELP:
            return command_help("stats");
        default:
            return command_usage_error("stats", NULL);
        }
    }
    if (error != 0)
        return error;
    if (asked.show.json && asked.show.csv)
        return command_usage_error("stats", "--json and --csv: one of them");
    if (optind == argc)
        return command_usage_error("stats", "which trace?");
    return show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
}
