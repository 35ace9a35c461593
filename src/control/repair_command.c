/* SPDX-License-Identifier: MIT */
/* repair_command.c: `dpm repair`: makes a trace that was cut whole for other tools. See dpm-repair(1). */
#include "control/command.h"
#include "trace/trace.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int repair_trace(const char *trace)
{
    struct trace_repair repair = {0};
    struct problem problem;

    if (trace_repair(trace, &repair, &problem) < 0)
        return command_error("%s", problem.text);
    if (repair.trimmed > 0)
        printf("%s: cut off %" PRIu64 " bytes of unfinished packets\n", trace, repair.trimmed);
    if (repair.end_written)
        printf("%s: wrote the end record\n", trace);
    if (repair.trimmed == 0 && !repair.end_written)
        printf("%s is whole, nothing was changed\n", trace);
    return EXIT_SUCCESS;
}

enum { OPTION_HELP };

static const struct option options[] = {
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

int command_repair(int argc, char **argv)
{
    int option = getopt_long(argc, argv, "", options, NULL);

    if (option == OPTION_HELP)
        return command_help("repair");
    if (option != -1)
        return command_usage_error("repair", NULL);
    if (argc - optind != 1)
        return command_usage_error("repair", "name one trace");
    return repair_trace(argv[optind]);
}
