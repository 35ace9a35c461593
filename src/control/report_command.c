/* SPDX-License-Identifier: MIT */
/*
 * report_command.c: `dpm report`: all analyses of a recording, and their findings. See dpm-report(1).
 *
 *      TRACE... --+--> statistics ------------------------> the busiest interval
 *                 +--> parallelism                                   |
 *                 +--> critical path: found --> TRACE... --+--> critical path: what it consists of
 *                 '--> causality                           '--> picture of that interval
 */
#include "control/command.h"
#include "control/placement_options.h"
#include "control/readings.h"
#include "control/traces.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    const char *html; /* file */
    bool json;
    struct selection selection;
};

struct reading {
    struct trace_names names;
    struct asked *asked;
    struct placements placements;
    struct parallelism_options options;
    struct picture picture;
    /* results */
    struct analyses_found found;
    char *traces; /* names, quoted */
};

/* ---- the analyses ---- */

#define INTERVAL 1000000 /* ns: length of the intervals among which the busiest is found */
#define DRAWN    200     /* events */

static int choose_assignments(struct reading *reading, struct problem *problem)
{
    int result = placements_add(&reading->placements, "one-each", ONE_EACH, 0);

    if (result == 0)
        result = placements_add(&reading->placements, "as-recorded", AS_RECORDED, 0);
    if (result == 0)
        result = placements_add(&reading->placements, "one-machine", ONE_MACHINE, 0);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    reading->options.assignments = reading->placements.assignments;
    reading->options.assignment_count = reading->placements.count;
    reading->options.sharing = true;
    return 0;
}

static int read_all(struct reading *reading, struct problem *problem)
{
    bool draws = reading->asked->html != NULL;
    const struct causality_options requests = {0};
    const struct analyses_wanted wanted = {
        .selection = &reading->asked->selection,
        .statistics = true,
        .every = draws ? INTERVAL : 0,
        .parallelism = &reading->options,
        .path = &report_path_options,
        .causality = &requests,
        .elapsed = true,
        .picture = draws ? &reading->picture : NULL,
        .busiest = true,
    };
    int result = choose_assignments(reading, problem);

    reading->picture.choice.most = DRAWN;
    return result < 0 ? result : read_analyses(&reading->names, &wanted, &reading->found, problem);
}

/* ---- output ---- */

static int write_html(const void *what, FILE *file)
{
    return show_report_html(what, file);
}

static int show(struct reading *reading, struct problem *problem)
{
    const struct asked *asked = reading->asked;
    const struct analyses_found *found = &reading->found;
    const struct parallelism_runs runs = {&reading->options, &found->run, 1};
    const struct report report = {
        .communication = found->communication,
        .parallelism = &runs,
        .path = found->path,
        .causality = found->causality,
        .elapsed = found->elapsed,
        .recorded = found->run.recorded,
        .graph = reading->picture.graph,
        .traces = reading->traces,
    };

    if (asked->html != NULL)
        return command_write_file(asked->html, write_html, &report, problem);
    int result =
        asked->json ? show_report_json(&report, stdout) : show_report_text(&report, stdout);
    return result < 0 ? problem_set(problem, result, "out of memory")
                      : command_flush_output(problem);
}

static int show_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct reading reading = {.names = {.at = names, .count = count}, .asked = asked};
    struct problem problem = {""};
    int result = 0;

    reading.traces = trace_names_quoted(&reading.names);
    if (reading.traces == NULL)
        result = problem_set(&problem, -ENOMEM, "out of memory");
    if (result == 0)
        result = read_all(&reading, &problem);
    if (result == 0)
        result = show(&reading, &problem);
    free(reading.traces);
    found_done(&reading.found);
    picture_done(&reading.picture);
    placements_done(&reading.placements);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum { OPTION_HTML = OPTION_HELP + 1, OPTION_JSON };

static const struct command_option report_options[] = {
    {"html",
     OPTION_HTML,
     {"FILE", ARGUMENT_FILE},
     "write a page with drawings; '-' is standard output"},
    {"json", OPTION_JSON, {0}, "print a JSON object with findings and all analyses"},
    {0},
};

/* What concerns one process or connection is not all that was found: the commands for each analysis show it. */
#define REFUSED (SELECTION_BIT(SELECTION_PROCESS) | SELECTION_BIT(SELECTION_PATH))

static int command_report(int argc, char **argv)
{
    struct asked asked = {0};
    int option, status = -1; /* continue */

    while (status < 0 && (option = command_next_option(&report_command, argc, argv)) != -1) {
        if (option == OPTION_HTML)
            asked.html = optarg;
        else if (option == OPTION_JSON)
            asked.json = true;
        else if (selection_has_option(option))
            status = selection_take("report", option, &asked.selection);
        else
            status = option == OPTION_HELP ? command_help("report")
                                           : command_usage_error("report", NULL);
    }
    if (status < 0 && asked.html != NULL && asked.json)
        status = command_usage_error("report", "--html and --json: give only one");
    if (status < 0)
        status = selection_check("report", &asked.selection, REFUSED);
    if (status < 0 && optind == argc)
        status = command_usage_error("report", "name a trace");
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
};
