/* SPDX-License-Identifier: MIT */
/* recording_report.c: the report after a recording has ended. See recording_report.h. */
#include "control/recording_report.h"

#include "control/command.h"
#include "control/readings.h"
#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *sentence, void *messages)
{
    command_say_to(messages, "%s", sentence);
}

/* Why program counters have no names, which are written after everything else. */
static const char *why_unnamed(enum end_reason reason)
{
    switch (reason) {
    case END_SIZE:
        return "names are written last, and the trace had reached its largest size";
    case END_DISK:
        return "names are written last, and the trace could not be written any more";
    default:
        return "the program's file is gone or unreadable";
    }
}

/* Prints how the recording ended, with figures from the trace itself. */
static void tell_result(const struct recording_command *command, const struct analyses_found *found)
{
    const struct recording *recording = &command->recording;
    uint64_t noted = 0, unnamed = symbols_unnamed(recording->symbols, &noted);
    char skips[SKIPPED_TEXT_SIZE];

    command_say_to(command->messages, "%" PRIu64 " records, %" PRIu64 " lost, in %s",
                   found->records, found->run.recorded.lost, recording->path);
    if (unnamed > 0)
        command_say_to(command->messages, "%" PRIu64 " of %" PRIu64 " call sites have no name: %s",
                       unnamed, noted, why_unnamed(recording->reason));
    if (recording->meter->state.skipped > 0) {
        command_skipped_text(recording->meter->state.skipped, skips);
        say(skips, command->messages);
    }
    uint64_t cgroups = recording_cgroups_left_out(recording);
    if (cgroups > 0)
        command_say_to(command->messages,
                       "the limits of %" PRIu64 " cgroups were not recorded: too many are in use",
                       cgroups);
    recording->meter->report(recording->meter, say, command->messages);
}

/* Up to this many records the report includes the other analyses, which takes half a second. Beyond it, the user runs
 * dpm report. */
#define ANALYSED_MOST 500000

/* If an analysis failed, the report has the others. */
static void say_what_is_missing(const struct recording_command *command,
                                const struct analyses_found *found)
{
    if (found->path_problem.text[0] != '\0')
        command_say_to(command->messages, "the critical path: %s", found->path_problem.text);
    if (found->causality_problem.text[0] != '\0')
        command_say_to(command->messages, "requests: %s", found->causality_problem.text);
}

static int report(const struct recording_command *command, const struct analyses_found *found,
                  const char *traces, struct problem *problem)
{
    const struct report found_in = {
        .communication = found->communication,
        .path = found->path,
        .causality = found->causality,
        .elapsed = found->elapsed,
        .pauses = found->pauses,
        .traces = traces,
    };

    say_what_is_missing(command, found);
    if (show_recorded(&found_in, command->messages) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the report");
    tell_result(command, found);
    if (fflush(command->messages) == EOF || ferror(command->messages))
        return problem_set(problem, -EIO, "cannot write the report: %s", strerror(errno));
    return 0;
}

int recording_report(struct recording_command *command, struct problem *problem)
{
    const char *paths[] = {command->recording.path};
    const struct trace_names names = {.at = paths, .count = 1, .quiet = true};
    const struct causality_options requests = {0};
    bool analysed = command->recording.records <= ANALYSED_MOST;
    const struct analyses_wanted wanted = {
        .statistics = true,
        .path = analysed ? &report_path_options : NULL,
        .causality = analysed ? &requests : NULL,
        .elapsed = analysed,
        .pauses = analysed,
        .goes_on = true,
    };
    char *quoted = trace_names_quoted(&names);
    struct analyses_found found;
    int result = read_analyses(&names, &wanted, &found, problem);

    if (result == 0)
        result = report(command, &found, quoted == NULL ? "" : quoted, problem);
    found_done(&found);
    free(quoted);
    return result;
}
