/* SPDX-License-Identifier: MIT */
/* repair_command.c: `dpm repair`: closes a truncated trace so that other tools can read it. See dpm-repair(1). */
#include "command/shared/command.h"
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
        printf("%s: removed %" PRIu64 " byte%s of unfinished packets\n", trace, repair.trimmed,
               repair.trimmed == 1 ? "" : "s");
    if (repair.end_written)
        printf("%s: %s the end record\n", trace, repair.end_corrected ? "corrected" : "added");
    if (repair.trimmed == 0 && !repair.end_written)
        printf("%s is complete; nothing was changed\n", trace);
    if (command_flush_output(&problem) < 0)
        return command_error("%s", problem.text);
    command_report_lost(trace, repair.lost, repair.skipped);
    return EXIT_SUCCESS;
}

static int command_repair(int argc, char **argv)
{
    int option = command_next_option(&repair_command, argc, argv);

    if (option == OPTION_HELP)
        return command_help("repair");
    if (option != -1)
        return command_usage_error("repair", NULL);
    if (argc - optind != 1)
        return command_usage_error("repair", "name one trace");
    return repair_trace(argv[optind]);
}

const struct command repair_command = {
    .name = "repair",
    .description = "close a truncated trace so that other tools can read it",
    .usage = "TRACE",
    .function = command_repair,
    .operand = {"TRACE", ARGUMENT_TRACE},
};
