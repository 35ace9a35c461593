/* SPDX-License-Identifier: MIT */
/*
 * report_command.c: `dpm report`: every analysis of a recording, and what they have found. See dpm-report(1).
 *
 *      TRACE... --+--> statistics --> the busiest stretch of time
 *                 +--> parallelism (twice if there are threads)
 *                 +--> the longest path (twice, the second time with the picture of that stretch)
 *                 '--> causality --> report
 */
#include "control/command.h"
#include "control/placements.h"
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
};

struct reading {
    struct trace_names names;
    const struct asked *asked;
    struct placements placements;
    struct parallelism_options options;
    /* results */
    struct communication *communication;
    struct parallelism_run run;
    struct critical_path *path;
    struct causality *causality;
    char *traces; /* names, quoted */
    struct path_picture picture;
};

/* ---- the four analyses: each reads the traces from their beginning ---- */

#define STRETCH 1000000 /* ns: in such stretches the busiest is looked for */
#define DRAWN   200     /* events */

static int read_statistics(struct reading *reading, struct problem *problem)
{
    struct traces traces;
    int result = traces_open(reading->names.at, reading->names.count, &traces, problem);

    if (result == 0)
        result = communication_read_history(traces.history, (uint32_t)reading->names.count,
                                            reading->asked->html == NULL ? 0 : STRETCH,
                                            &reading->communication, problem);
    if (result == 0)
        traces_report_losses(&traces);
    reading->names.quiet = true;
    traces_close(&traces);
    return result;
}

static int read_factors(struct reading *reading, struct problem *problem)
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
    return read_parallelism(&reading->names, &reading->options, STREAMS_BOTH, &reading->run,
                            problem);
}

/* Everything if that is little, else from the stretch of time in which most messages were sent. */
static int prepare_picture(struct reading *reading, struct problem *problem)
{
    struct communication *communication = reading->communication;
    size_t busiest = 0;

    for (size_t i = 1; i < communication->interval_count; i++)
        if (communication->intervals[i].messages > communication->intervals[busiest].messages)
            busiest = i;
    reading->picture.choice.most = DRAWN;
    if (communication->events > DRAWN)
        reading->picture.choice.from =
            communication->interval_begin + (int64_t)(busiest * communication->interval);
    return path_picture_want(&reading->picture, problem);
}

static int read_longest(struct reading *reading, struct problem *problem)
{
    return read_longest_path(&reading->names, &reading->picture, &reading->path, problem);
}

static int read_all(struct reading *reading, struct problem *problem)
{
    int result = read_statistics(reading, problem);

    if (result == 0)
        result = read_factors(reading, problem);
    if (result == 0 && reading->asked->html != NULL)
        result = prepare_picture(reading, problem);
    if (result == 0)
        result = read_longest(reading, problem);
    if (result == 0)
        result = read_requests(&reading->names, &reading->causality, problem);
    return result;
}

/* ---- what is shown ---- */

static int write_html(const void *what, FILE *file)
{
    return show_report_html(what, file);
}

static int show(struct reading *reading, struct problem *problem)
{
    const struct asked *asked = reading->asked;
    const struct parallelism_runs runs = {&reading->options, &reading->run, 1};
    const struct report report = {
        .communication = reading->communication,
        .parallelism = &runs,
        .path = reading->path,
        .causality = reading->causality,
        .recorded = reading->run.recorded,
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

static int show_traces(const char *const *names, size_t count, const struct asked *asked)
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
    communication_free(reading.communication);
    parallelism_free(reading.run.threads);
    parallelism_free(reading.run.processes);
    critical_path_free(reading.path);
    causality_free(reading.causality);
    path_picture_done(&reading.picture);
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

static int command_report(int argc, char **argv)
{
    struct asked asked = {0};
    int option;

    while ((option = command_next_option(&report_command, argc, argv)) != -1) {
        if (option == OPTION_HELP)
            return command_help("report");
        if (option == OPTION_HTML)
            asked.html = optarg;
        else if (option == OPTION_JSON)
            asked.json = true;
        else
            return command_usage_error("report", NULL);
    }
    if (asked.html != NULL && asked.json)
        return command_usage_error("report", "--html and --json: give only one");
    if (optind == argc)
        return command_usage_error("report", "name a trace");
    return show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
}

const struct command report_command = {
    .name = "report",
    .description = "summarize what all analyses find in a recording",
    .usage = "[OPTION]... TRACE...",
    .function = command_report,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = report_options,
};
