/* SPDX-License-Identifier: MIT */
/* recording_report.c: what a recording that has ended says. See recording_report.h. */
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

/* Why program counters have no names: these are written when all else is. */
static const char *why_unnamed(enum end_reason reason)
{
    switch (reason) {
    case END_SIZE:
        return "these are written last, and the trace had reached its largest size";
    case END_DISK:
        return "these are written last, and the trace could not be written any more";
    default:
        return "the program's file had gone or cannot be read";
    }
}

/* What became of the recording, in figures of the trace itself. */
static void tell_result(const struct recording_command *command, const struct source_state *state)
{
    const struct recording *recording = &command->recording;
    uint64_t noted = 0, unnamed = symbols_unnamed(recording->symbols, &noted);
    char skips[SKIPPED_TEXT_SIZE];

    command_say_to(command->messages, "%" PRIu64 " records, %" PRIu64 " lost, in %s",
                   state->records, state->lost, recording->path);
    if (unnamed > 0)
        command_say_to(command->messages,
                       "%" PRIu64 " of %" PRIu64 " program counters have no name: %s", unnamed,
                       noted, why_unnamed(recording->reason));
    if (recording->meter->state.skipped > 0) {
        command_skipped_text(recording->meter->state.skipped, skips);
        say(skips, command->messages);
    }
    recording->meter->report(recording->meter, say, command->messages);
}

/* So many take half a second; of more the report waits until it is asked for. */
#define ANALYSED_MOST 500000

/* The analyses besides the statistics: they read the trace three times, the path in a scratch file. If one of them
 * cannot be made, that is said, and is no reason not to report the others. */
static void analyse(const struct recording_command *command, const struct trace_names *names,
                    struct critical_path **path, struct causality **causality)
{
    struct path_picture no_picture = {0};
    struct problem problem = {""};

    if (command->recording.records > ANALYSED_MOST)
        return;
    if (read_longest_path(names, &no_picture, path, &problem) < 0)
        command_say_to(command->messages, "the longest path: %s", problem.text);
    if (read_requests(names, causality, &problem) < 0)
        command_say_to(command->messages, "requests: %s", problem.text);
}

static int report(const struct recording_command *command, const struct report *found,
                  struct problem *problem)
{
    const char *paths[] = {command->recording.path};
    struct show_options options = {.findings = found};
    struct source *source;
    int result = trace_open(paths, 1, &source, problem);

    if (result < 0)
        return result;
    result = show_report(source, command->messages, &options, problem);
    if (result >= 0)
        tell_result(command, &source->states[0]);
    trace_close(source);
    if (result >= 0 && (fflush(command->messages) == EOF || ferror(command->messages)))
        return problem_set(problem, -EIO, "the report could not be written: %s", strerror(errno));
    return result;
}

int recording_report(struct recording_command *command, struct problem *problem)
{
    const char *paths[] = {command->recording.path};
    const struct trace_names names = {.at = paths, .count = 1, .quiet = true};
    struct critical_path *path = NULL;
    struct causality *causality = NULL;
    char *quoted = trace_names_quoted(&names);

    analyse(command, &names, &path, &causality);
    const struct report found = {
        .path = path, .causality = causality, .traces = quoted == NULL ? "" : quoted};
    int result = report(command, &found, problem);
    critical_path_free(path);
    causality_free(causality);
    free(quoted);
    return result;
}
