/* SPDX-License-Identifier: MIT */
/*
 * filter_trace_command.c: selects records of finished traces. See dpm-filter(1) and dpm-rules(5).
 *
 *      dpm filter -r RULES TRACE -o TRACE2         one trace
 *      dpm filter -r RULES DIR -o DIR2             all traces in DIR: DIR2/web1, DIR2/db1 ...
 */
#include "command/filters/filter_trace_command.h"

#include "command/shared/command.h"
#include "filter/filter.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void report(const char *trace, const char *output, const struct filter_trace_result *result)
{
    const struct rules_counts *counts = &result->counts;
    char selected[COUNTED_SIZE], unselected[COUNTED_SIZE], reduced[COUNTED_SIZE], lacks[120] = "";

    show_counted(counts->selected, "event", selected);
    show_counted(counts->unselected, "event", unselected);
    show_counted(counts->reduced, "event", reduced);
    if (counts->reduced > 0)
        snprintf(lacks, sizeof(lacks), "; %s lack%s discarded fields", reduced,
                 counts->reduced == 1 ? "s" : "");
    command_say("%s: %s selected, %s not selected%s; written to %s", trace, selected, unselected,
                lacks, output);
}

static int filter_one(char *trace, const struct rules *rules, const char *output)
{
    struct filter_trace_result result;
    struct problem problem;
    const char *const names[] = {trace};

    if (filter_trace(trace, rules, output, &result, &problem) < 0)
        return command_error("%s", problem.text);
    const struct source source = {.origins = 1, .states = &result.state};
    command_report_state(&source, names);
    report(trace, output, &result);
    return EXIT_SUCCESS;
}

/* The last part of a trace's name. */
static const char *base_of(char *trace)
{
    size_t length = strlen(trace);

    while (length > 1 && trace[length - 1] == '/')
        trace[--length] = '\0';
    const char *slash = strrchr(trace, '/');
    return slash == NULL || slash[1] == '\0' ? trace : slash + 1;
}

static int filter_several(char **traces, int count, const struct rules *rules, const char *output)
{
    char path[PATH_MAX];
    int status = EXIT_SUCCESS;

    if (mkdir(output, 0700) < 0)
        return command_error("%s: cannot be created: %s%s", output, strerror(errno),
                             errno == EEXIST ? "; remove it or choose another name" : "");
    for (int i = 0; i < count; i++) {
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", output, base_of(traces[i])) >=
            sizeof(path))
            return command_error("%s: the name is too long", output);
        int one = filter_one(traces[i], rules, path);
        status = one != EXIT_SUCCESS ? one : status;
    }
    return status;
}

int filter_traces(int argc, char **argv, const char *rules_file, const char *output)
{
    int first = optind, status = command_take_traces("filter", &argc, &argv, first);
    struct rules *rules;
    struct problem problem;

    if (status >= 0)
        return status;
    if (output == NULL)
        return command_usage_error("filter", "name the trace to write: -o TRACE2");
    if (rules_read(rules_file, &rules, &problem) < 0)
        return command_error("%s", problem.text);
    status = argc - first == 1 ? filter_one(argv[first], rules, output)
                               : filter_several(argv + first, argc - first, rules, output);
    rules_free(rules);
    return status;
}
