/* SPDX-License-Identifier: MIT */
/* stats.c: `dpm stats`: who sent how much to whom. See dpm-stats(1). */
#include "control/command.h"
#include "show/show.h"
#include "trace/trace.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

/* JSON has no place for what the tables say below. */
static void warn_unknown(const struct communication *communication)
{
    if (communication->unknown_streams + communication->unknown_paths > 0)
        fprintf(stderr,
                "dpm: %" PRIu64 " messages are of streams and %" PRIu64
                " of paths whose identity was lost\n",
                communication->unknown_streams, communication->unknown_paths);
}

static int show_traces(const char *const *traces, size_t count, const struct show_options *options)
{
    struct communication *communication = NULL;
    struct problem problem;
    struct source *source = NULL;

    int result = trace_open(traces, count, &source, &problem);
    if (result == 0)
        result = communication_read(source, &communication, &problem);
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

enum { OPTION_ALL, OPTION_JSON, OPTION_HELP };

static const struct option options[] = {
    {"all", no_argument, NULL, OPTION_ALL},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

int command_stats(int argc, char **argv)
{
    struct show_options show = {0};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case OPTION_ALL:
            show.all = true;
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
    return show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &show);
}
