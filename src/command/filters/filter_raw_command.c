/* SPDX-License-Identifier: MIT */
/*
 * filter_raw_command.c: makes a trace of the raw records of another system. See dpm-filter(1) and dpm-descriptions(5).
 *
 *      dpm filter --descriptions FILE RAW -o TRACE                 one machine
 *      dpm filter --descriptions FILE RAW -o DIR                   several: DIR/3, DIR/5 ...
 */
#include "command/filters/filter_raw_command.h"

#include "command/shared/command.h"
#include "filter/filter.h"
#include "show/show.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void report(const char *raw, const char *output, bool has_rules,
                   const struct filter_raw_result *result)
{
    const struct rules_counts *counts = &result->counts;
    char count[COUNTED_SIZE], machines[COUNTED_SIZE], others[COUNTED_SIZE],
        unselected[COUNTED_SIZE + 40] = "";

    if (result->unknown > 0) {
        show_counted(result->unknown, "record", count);
        command_say("%s: %s of types without a description left out, e.g. type %" PRIu64, raw,
                    count, result->some_unknown);
    }
    if (result->left_out > 0) {
        show_counted(result->left_out, "record", count);
        command_say("%s: %s left out: DPM has no event for their types, or they name no process at "
                    "the other end, e.g. %s",
                    raw, count, result->some_left_out);
    }
    if (result->cut > 0)
        command_say("%s: the file ends inside a record: its %zu byte%s left out, and the trace "
                    "counts as cut",
                    raw, result->cut, result->cut == 1 ? " is" : "s are");
    show_counted(counts->selected, "event", count);
    show_counted(result->machines, "machine", machines);
    show_counted(counts->unselected, "event", others);
    if (has_rules)
        snprintf(unselected, sizeof(unselected), " selected, %s not selected", others);
    command_say("%s: %s%s, %s; written to %s", raw, count, unselected, machines, output);
}

int filter_raw_file(int argc, char **argv, const char *descriptions_file, const char *rules_file,
                    const char *output)
{
    struct descriptions *descriptions;
    struct rules *rules = NULL;
    struct filter_raw_result result;
    struct problem problem;

    if (argc - optind != 1)
        return command_usage_error("filter", "--descriptions: name one file of raw records");
    if (output == NULL)
        return command_usage_error("filter", "name the trace to write: -o TRACE");
    const char *raw = argv[optind];
    if (descriptions_read(descriptions_file, &descriptions, &problem) < 0)
        return command_error("%s", problem.text);
    int status = descriptions_check(descriptions, &problem) < 0
                     ? command_error("%s: %s", descriptions_file, problem.text)
                     : EXIT_SUCCESS;
    if (status == EXIT_SUCCESS && rules_file != NULL &&
        rules_read_raw(rules_file, descriptions, &rules, &problem) < 0)
        status = command_error("%s", problem.text);
    if (status == EXIT_SUCCESS &&
        filter_raw(raw, descriptions, rules, output, &result, &problem) < 0)
        status = command_error("%s", problem.text);
    if (status == EXIT_SUCCESS)
        report(raw, output, rules != NULL, &result);
    rules_free(rules);
    descriptions_free(descriptions);
    return status;
}
