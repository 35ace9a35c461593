/* SPDX-License-Identifier: MIT */
/* report_command.c: `dpm report`: all analyses of a recording, and their findings. See dpm-report(1). */
#include "command/reading/whole_report.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

struct asked {
    const char *html; /* file */
    bool json;
    uint64_t threads;
    bool all; /* findings */
    bool secrets;
    unsigned parts;
    struct selection selection;
};

static int show(const struct whole_report *whole, const struct asked *asked,
                struct problem *problem)
{
    if (asked->html != NULL)
        return whole_report_write_html(whole, asked->html, problem);
    int result = asked->json ? show_report_json(&whole->report, stdout)
                             : show_report_text(&whole->report, stdout);
    return result < 0 ? problem_set(problem, result, "out of memory")
                      : command_flush_output(problem);
}

static int show_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct whole_report whole = {
        .names = {.at = names, .count = count},
        .selection = &asked->selection,
        .parts = asked->parts,
        .draws = asked->html != NULL,
        .shows_secrets = asked->secrets,
        .json = asked->json,
        .threads = (unsigned)asked->threads,
    };
    struct problem problem = {""};
    int result = whole_report_read(&whole, &problem);

    whole.report.all = asked->all;
    if (result == 0)
        result = show(&whole, asked, &problem);
    if (result == 0)
        selection_say_unmet(&asked->selection);
    whole_report_done(&whole);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_ANALYSES = OPTION_HELP + 1,
    OPTION_ALL,
    OPTION_HTML,
    OPTION_JSON,
    OPTION_SECRETS,
    OPTION_THREADS
};

static const struct command_option report_options[] = {
    {"analyses",
     OPTION_ANALYSES,
     {"LIST", ARGUMENT_LIST, report_part_word},
     "only these: why, path, parallelism, causality; stats is always there (all)"},
    {"html",
     OPTION_HTML,
     {"FILE", ARGUMENT_FILE},
     "write a page with a chart of time and drawings; '-' is\nstandard output"},
    {"all",
     OPTION_ALL,
     {0},
     "also findings that explain nothing: silent, created and idle\nprocesses; all columns"},
    {"json", OPTION_JSON, {0}, "print a JSON object with findings and all analyses"},
    {"secrets", OPTION_SECRETS, {0}, "do not hide passwords in command lines"},
    {"threads",
     OPTION_THREADS,
     {"N", ARGUMENT_OTHER},
     "read with at most N threads (as many as there are processors)"},
    {0},
};

static int command_report(int argc, char **argv)
{
    struct asked asked = {.parts = PARTS_ALL};
    int option, status = -1; /* continue */

    while (status < 0 && (option = command_next_option(&report_command, argc, argv)) != -1) {
        if (option == OPTION_ALL)
            asked.all = true;
        else if (option == OPTION_HTML)
            asked.html = optarg;
        else if (option == OPTION_JSON)
            asked.json = true;
        else if (option == OPTION_SECRETS)
            asked.secrets = true;
        else if (option == OPTION_THREADS)
            status = option_number("report", "threads", 1, 1024, &asked.threads);
        else if (option == OPTION_ANALYSES)
            status = report_parts_take("report", &asked.parts);
        else if (selection_has_option(option))
            status = selection_take("report", option, &asked.selection);
        else
            status = option == OPTION_HELP ? command_help("report")
                                           : command_usage_error("report", NULL);
    }
    if (status < 0 && asked.html != NULL && asked.json)
        status = command_usage_error("report", "--html and --json: give only one");
    if (status < 0)
        status = selection_check("report", &asked.selection, false);
    if (status < 0)
        status = command_take_traces("report", &argc, &argv, optind);
    if (status < 0)
        status = show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    selection_done(&asked.selection);
    return status;
}

const struct command report_command = {
    .name = "report",
    .description = "summarize what all analyses find in a recording",
    .usage = "[OPTION]... TRACE...",
    .function = command_report,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = report_options,
    .selection = selection_options,
    /* what concerns one process or connection is not all that was found: the commands for each analysis show it */
    .refused = SELECTION_BIT(SELECTION_PROCESS) | SELECTION_BIT(SELECTION_PATH),
};
