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

static int show_traces(const char *const *traces, size_t count, enum communication_by by,
                       const struct show_options *options)
{
    struct communication *communication = NULL;
    struct problem problem;
    struct source *source = NULL;

    int result = trace_open(traces, count, &source, &problem);
    if (result == 0)
        result = communication_read(source, &communication, &problem);
    if (result == 0)
        result = group(&communication, by, &problem);
    if (result == 0) {
        result = show_statistics(communication, stdout, options);
        if (result < 0)
            problem_set(&problem, result, "out of memory");
        else
            result = command_flush_output(&problem);
    }
    if (result == 0) {
        command_report_state(source, traces);
        if (options->json)
            warn_unknown(communication);
    }
    communication_free(communication);
    trace_close(source);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

static int read_by(const char *text, enum communication_by *ret_by)
{
    for (unsigned by = BY_PROCESS; by <= BY_PROGRAM; by++)
        if (strcmp(text, communication_by_name(by)) == 0) {
            *ret_by = by;
            return 0;
        }
    return -EINVAL;
}

static const char *by_word(size_t index)
{
    return index <= BY_PROGRAM ? communication_by_name((enum communication_by)index) : NULL;
}

enum { OPTION_ALL, OPTION_BY, OPTION_JSON };

static const struct command_option stats_options[] = {
    {"by",
     OPTION_BY,
     {"WHAT", ARGUMENT_WORD, by_word},
     "one row for each process (as without it), user, container or program"},
    {"all", OPTION_ALL, {0}, "every row of the tables, not the 100 largest and a row of others"},
    {"json", OPTION_JSON, {0}, "one JSON object, always with everything"},
    {0},
};

static int command_stats(int argc, char **argv)
{
    struct show_options show = {0};
    enum communication_by by = BY_PROCESS;
    int option;

    while ((option = command_next_option(&stats_command, argc, argv)) != -1) {
        switch (option) {
        case OPTION_ALL:
            show.all = true;
            break;
        case OPTION_BY:
            if (read_by(optarg, &by) < 0)
                return command_usage_error(
                    "stats", "--by '%s': there are process, user, container, program", optarg);
            break;
        case OPTION_JSON:
            show.json = true;
            break;
        case OPTION_HELP:
            return command_help("stats");
        default:
            return command_usage_error("stats", NULL);
        }
    }
    if (optind == argc)
        return command_usage_error("stats", "which trace?");
    return show_traces((const char *const *)argv + optind, (size_t)(argc - optind), by, &show);
}

const struct command stats_command = {
    .name = "stats",
    .description = "show who sent how much to whom",
    .usage = "[OPTION]... TRACE...",
    .function = command_stats,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = stats_options,
};
