/* SPDX-License-Identifier: MIT */
/* recording_report.c: the report after a recording has ended. See recording_report.h. */
#include "command/recording/recording_report.h"

#include "command/reading/whole_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *sentence, void *messages)
{
    command_say_to(messages, "%s", sentence);
}

/* Why program counters have no names, which are written after everything else. */
static const char *why_unnamed(const struct recording *recording)
{
    if (recording->names_cut)
        return "names may take a quarter of a trace that keeps only the newest (--max-size)";
    switch (recording->reason) {
    case END_SIZE:
        return "names are written last, and the trace had reached its largest size";
    case END_DISK:
        return "names are written last, and the trace could not be written any more";
    default:
        return "the program's file is gone or unreadable";
    }
}

/* Without a record of a sensor it matters whether there could have been one. */
static void say_probes(const struct recording_command *command)
{
    const struct recording *recording = &command->recording;

    if (recording->probe_problem[0] != '\0')
        command_say_to(command->messages, "not all probes in libraries are in force: %s",
                       recording->probe_problem);
    else if (recording->options->sensors && recording->probes == 0)
        command_say_to(command->messages, "--sensors: no metered process loaded a library with "
                                          "probes that dpm knows (libjvm.so of OpenJDK)");
}

/* Prints how the recording ended, with figures from the trace itself. */
static void tell_result(const struct recording_command *command, const struct analyses_found *found)
{
    const struct recording *recording = &command->recording;
    uint64_t noted = 0, unnamed = symbols_unnamed(recording->symbols, &noted);
    char skips[SKIPPED_TEXT_SIZE], removed[REMOVED_TEXT_SIZE];

    command_say_to(command->messages, "%" PRIu64 " records, %" PRIu64 " lost, %s%s", found->records,
                   found->run.recorded.lost, recording->path[0] == '\0' ? "not stored" : "in ",
                   recording->path);
    if (recording->stage != NULL) {
        const struct rules_counts counts = rules_stage_counts(recording->stage);
        command_say_to(command->messages,
                       "rules: %" PRIu64 " event%s selected, %" PRIu64
                       " not: results cover only the selected ones",
                       counts.selected, counts.selected == 1 ? "" : "s", counts.unselected);
        if (counts.reduced > 0)
            command_say_to(command->messages,
                           "rules: %" PRIu64 " of these lack%s discarded fields; dpm stats says "
                           "what results miss",
                           counts.reduced, counts.reduced == 1 ? "s" : "");
    }
    if (found->removed > 0) {
        command_removed_text(found->removed, found->removed_time, removed);
        say(removed, command->messages);
    }
    if (unnamed > 0)
        command_say_to(command->messages, "%" PRIu64 " of %" PRIu64 " call site%s %s no name: %s",
                       unnamed, noted, noted == 1 ? "" : "s", unnamed == 1 ? "has" : "have",
                       why_unnamed(recording));
    if (recording->meter->state.skipped > 0) {
        command_skipped_text(recording->meter->state.skipped, skips);
        say(skips, command->messages);
    }
    uint64_t cgroups = recording_cgroups_left_out(recording);
    if (cgroups > 0)
        command_say_to(command->messages,
                       "the limits of %" PRIu64 " cgroup%s were not recorded: too many are in use",
                       cgroups, cgroups == 1 ? "" : "s");
    recording->meter->report(recording->meter, say, command->messages);
    say_probes(command);
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
    if (found->parallelism_problem.text[0] != '\0')
        command_say_to(command->messages, "parallelism: %s", found->parallelism_problem.text);
    if (found->causality_problem.text[0] != '\0')
        command_say_to(command->messages, "requests: %s", found->causality_problem.text);
    if (found->elapsed_problem.text[0] != '\0')
        command_say_to(command->messages, "where the time went: %s", found->elapsed_problem.text);
}

/* Without a trace, no later command can add the rest. */
static void say_how_to_get_the_rest(const struct recording_command *command)
{
    if (command->options->recording.store == STORE_NONE &&
        recording_parts_asked(command->options) == 0)
        say("left out: where the time went (--analyses all adds it) and the critical path (it "
            "needs "
            "a trace: --store all)",
            command->messages);
}

int recording_report_show(const struct recording_command *command, const struct whole_report *whole,
                          struct problem *problem)
{
    bool asked = command->options->parts != 0;

    say_what_is_missing(command, &whole->found);
    int result = asked ? show_report_text(&whole->report, command->messages)
                       : show_recorded(&whole->report, command->messages);
    return result < 0 ? problem_set(problem, -ENOMEM, "out of memory for the report") : 0;
}

int recording_report_finish(const struct recording_command *command,
                            const struct whole_report *whole, struct problem *problem)
{
    int result = 0;

    say_how_to_get_the_rest(command);
    bool written = fflush(command->messages) != EOF && !ferror(command->messages);
    int error = errno;
    /* a closed pipe ends the text, not the page */
    if (command->options->html != NULL)
        result = whole_report_write_html(whole, command->options->html, problem);
    return result == 0 && !written
               ? problem_set(problem, -EIO, "cannot write the report: %s", strerror(error))
               : result;
}

static int report(const struct recording_command *command, const struct whole_report *whole,
                  struct problem *problem)
{
    int result = recording_report_show(command, whole, problem);

    if (result < 0)
        return result;
    tell_result(command, &whole->found);
    return recording_report_finish(command, whole, problem);
}

unsigned recording_report_parts(const struct recording_command_options *options, uint64_t records)
{
    unsigned asked = recording_parts_asked(options);

    if (asked != 0)
        return asked;
    return records <= ANALYSED_MOST ? PART_WHY | PART_PATH | PART_CAUSALITY : 0;
}

static int report_on_trace(const struct recording_command *command, struct problem *problem)
{
    const char *paths[] = {command->recording.path};
    struct whole_report whole = {
        .names = {.at = paths, .count = 1, .quiet = true},
        .parts = recording_report_parts(command->options, command->recording.records),
        .draws = command->options->html != NULL,
        .goes_on = true,
        .ends_recording = true,
    };
    int result = whole_report_read(&whole, problem);

    if (result == 0)
        result = report(command, &whole, problem);
    whole_report_done(&whole);
    return result;
}

int recording_report(struct recording_command *command, struct problem *problem)
{
    if (command->options->recording.store != STORE_NONE)
        return report_on_trace(command, problem);
    if (command->whole == NULL)
        return problem_set(problem, -ENODATA, "there is no report: the analyses ended early");
    int result = recording_command_finish_report(command, problem);
    return result < 0 ? result : report(command, command->whole, problem);
}
