/* SPDX-License-Identifier: MIT */
/* why_command.c: `dpm why`: where the elapsed time went. See dpm-why(1). */
#include "command/reading/readings.h"
#include "command/shared/command.h"
#include "show/show.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static int write_folded(const void *what, FILE *file)
{
    show_profile_folded(what, file);
    return 0;
}

static int show_found(const struct analyses_found *found, const struct show_options *options,
                      enum elapsed_view view, const char *folded, struct problem *problem)
{
    if (folded != NULL)
        return command_write_file(folded, write_folded, found->lanes, problem);
    return show_elapsed(found->elapsed, &found->run.recorded, stdout, options, view) < 0
               ? problem_set(problem, -1, "out of memory")
               : command_flush_output(problem);
}

/* `folded`: a file to write instead; or NULL. */
static int show_traces(const char *const *names, size_t count, const struct show_options *options,
                       enum elapsed_view view, const char *folded, struct selection *selection)
{
    struct problem problem = {""};
    struct analyses_found found;
    const struct trace_names traces = {.at = names, .count = count};
    const struct analyses_wanted wanted = {
        .elapsed = true, .lanes = folded != NULL, .selection = selection};
    int result = read_analyses(&traces, &wanted, &found, &problem);

    if (result == 0)
        result = show_found(&found, options, view, folded, &problem);
    if (result == 0)
        selection_say_unmet(selection);
    found_done(&found);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

enum {
    OPTION_ALL = OPTION_HELP + 1,
    OPTION_FOLDED,
    OPTION_JSON,
    OPTION_REQUESTS,
    OPTION_WAITS,
};

static const struct command_option why_options[] = {
    {"all", OPTION_ALL, {0}, "all rows, not only the 30 largest, and all columns"},
    {"folded",
     OPTION_FOLDED,
     {"FILE", ARGUMENT_FILE},
     "write all time of all threads as folded stacks for a flame\ngraph; '-' is standard output"},
    {"json", OPTION_JSON, {0}, "print a JSON object, with all rows"},
    {"requests", OPTION_REQUESTS, {0}, "account for requests, also if a command was recorded"},
    {"waits", OPTION_WAITS, {0}, "what threads waited for, each by itself"},
    {0},
};

static int command_why(int argc, char **argv)
{
    struct show_options options = {0};
    struct selection selection = {0};
    enum elapsed_view view = ELAPSED_VIEW_BEST;
    const char *folded = NULL;
    int status = -1, option; /* -1: continue */

    while (status < 0 && (option = command_next_option(&why_command, argc, argv)) != -1) {
        if (option == OPTION_ALL)
            options.all = true;
        else if (option == OPTION_FOLDED)
            folded = optarg;
        else if (option == OPTION_JSON)
            options.json = true;
        else if (selection_has_option(option))
            status = selection_take("why", option, &selection);
        else if (option == OPTION_REQUESTS || option == OPTION_WAITS)
            view = option == OPTION_WAITS ? ELAPSED_VIEW_WAITS : ELAPSED_VIEW_REQUESTS;
        else
            status = option == OPTION_HELP ? command_help("why") : command_usage_error("why", NULL);
    }
    if (status < 0)
        status = command_take_traces("why", &argc, &argv, optind);
    if (status < 0)
        status = selection_check("why", &selection, false);
    if (status < 0 && view != ELAPSED_VIEW_BEST && selection.choice.processes.count > 0)
        status = command_usage_error("why", "--process does not go with --requests or --waits");
    if (status < 0 && folded != NULL && options.json)
        status = command_usage_error("why", "--json and --folded: give only one");
    if (status < 0)
        status = show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &options,
                             view, folded, &selection);
    selection_done(&selection);
    return status;
}

const struct command why_command = {
    .name = "why",
    .description = "where the elapsed time went",
    .usage = "[OPTION]... TRACE...",
    .function = command_why,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = why_options,
    .selection = selection_options,
    .refused = SELECTION_BIT(
        SELECTION_PATH), /* waits for other connections would count as something else */
};
