/* SPDX-License-Identifier: MIT */
/* recording_command.c: a command that records. See recording_command.h. */
#include "command/recording/recording_command.h"

#include "base/result_file.h"
#include "command/filters/custom_filter.h"
#include "command/reading/report_so_far.h"
#include "command/reading/view_display.h"
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Per call that stops the program; from OVERHEAD in dpm-meter(7). */
#define PTRACE_COST "about 50 us"

/* Whether the page can be written after the recording. */
static bool can_write_page(const char *name)
{
    int result = name == NULL || strcmp(name, "-") == 0 ? 0 : result_file_check(name);

    if (result < 0)
        command_error("cannot write the report to %s: %s", name, strerror(-result));
    return result == 0;
}

int recording_command_init(struct recording_command *command,
                           const struct recording_command_options *options, const char *subject,
                           sigset_t *ret_old_mask)
{
    *command = (struct recording_command){
        .options = options,
        .subject = subject,
        .recording.options = &options->recording,
        .origins = 1,
        .messages = stderr,
        .lines.file = -1,
    };
    struct problem problem;
    rules_file_init(&command->rules_file, options->rules_file);
    if (options->json && json_lines_open(&command->lines, options->report, &problem) < 0) {
        command_error("%s", problem.text);
        return -1;
    }
    if (!options->json && options->report != NULL &&
        (command->messages = fopen(options->report, "we")) == NULL) {
        command_error("cannot write the report to %s: %s", options->report, strerror(errno));
        return -1;
    }
    if (!can_write_page(options->html))
        return -1;
    command->signals = recording_signals(ret_old_mask);
    if (command->signals < 0) {
        command_error("cannot watch signals: %s", strerror(-command->signals));
        return -1;
    }
    return 0;
}

int recording_command_begin_intervals(struct recording_command *command, struct history *history,
                                      struct problem *problem)
{
    int result = command->options->json ? live_new(history, &command->live)
                                        : statistics_new(history, 0, &command->statistics);

    return result < 0 ? problem_set(problem, result, "out of memory for reports while it goes on")
                      : 0;
}

/* Without a trace, the report is made while the recording runs. What it takes has a limit if nothing was asked for. */
int recording_command_begin_whole(struct recording_command *command, struct history *history,
                                  struct problem *problem)
{
    unsigned asked = recording_parts_asked(command->options);

    command->whole = calloc(1, sizeof(*command->whole));
    if (command->whole == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the report");
    command->whole->parts = asked != 0 ? asked : PART_STATS | PART_CAUSALITY;
    command->whole->goes_on = true;
    return whole_report_begin(command->whole, history, problem);
}

/* Starts the analyses that follow the recording. */
static int follow(struct recording_command *command, struct problem *problem)
{
    int result = recording_follow(&command->recording, &command->history, problem);

    if (result == 0 && command->options->interval != 0)
        result = recording_command_begin_intervals(command, command->history, problem);
    if (result == 0 && command->options->recording.store == STORE_NONE)
        result = recording_command_begin_whole(command, command->history, problem);
    return result;
}

int recording_command_open(struct recording_command *command, const char *name, pid_t pid,
                           struct problem *problem)
{
    int result = recording_open(&command->recording, name, pid, problem);

    if (result < 0)
        return result;
    if (command->recording.meter->left_out != NULL)
        command_error("%s", command->recording.meter->left_out);
    bool follows =
        command->options->interval != 0 || command->options->recording.store == STORE_NONE;
    return follows ? follow(command, problem) : 0;
}

void recording_command_announce(const struct recording_command *command, const char *name)
{
    const struct meter_interface *meter = command->recording.meter;
    const char *refused = command->recording.kernel_refused;

    if (meter->kind == METER_KERNEL && meter->left_out != NULL)
        command_say_to(command->messages,
                       "--meter ptrace meters it, too, but each call takes " PTRACE_COST " longer");
    if (meter->kind == METER_PTRACE && refused[0] != '\0')
        command_say_to(
            command->messages,
            "metering with ptrace because the kernel meter does not work here (%s); each call "
            "that sends, receives or waits takes " PTRACE_COST " longer",
            refused);
    if (meter->holds_descendants)
        command_say_to(
            command->messages,
            "if dpm is killed, %s and its descendants are killed, too; --survive prevents "
            "this, but is slower",
            name);
}

void recording_command_begin(struct recording_command *command)
{
    recording_begin(&command->recording);
    if (command->options->filter != NULL)
        command->filter = custom_filter_begin(command->options->filter, command->recording.path,
                                              command->messages);
    command->last_report = clock_now(CLOCK_MONOTONIC);
}

/* ---- while recording ---- */

void recording_command_stop_intervals(struct recording_command *command)
{
    statistics_free(command->statistics);
    command->statistics = NULL;
    live_free(command->live);
    command->live = NULL;
    communication_free(command->before);
    command->before = NULL;
    view_display_free(command->views);
    command->views = NULL;
}

void recording_command_stop_following(struct recording_command *command)
{
    recording_command_stop_intervals(command);
    if (command->whole != NULL)
        whole_report_done(command->whole);
    free(command->whole);
    command->whole = NULL;
    recording_unfollow(&command->recording);
}

#define SILENCE                                                                                    \
    3000000000ULL /* ns without any record, not even of the machine's state: nothing happens */

static int begin_views(struct recording_command *command, uint64_t begin, struct problem *problem)
{
    int result = view_display_new(command->options->views, command->messages, false,
                                  &command->views, problem);

    command->views_begin = begin;
    if (result == 0)
        view_display_begin(command->views, begin);
    return result;
}

/* The analyses may be behind the program, so an interval ends with the latest record that they have seen: otherwise its
 * figures would be too small, and the next ones too large. */
static int report_views(struct recording_command *command,
                        const struct communication *communication, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_REALTIME), seen = communication->duration;
    int result = command->views == NULL ? begin_views(command, now - seen, problem) : 0;

    if (result < 0)
        return result;
    uint64_t time = command->views_begin + seen, before = view_display_time(command->views);
    if (time <= before && now > before + SILENCE && now > before + 3 * command->options->interval)
        time = now;
    result = view_display_tick(command->views, communication, time, problem);
    fflush(command->messages);
    return result;
}

static int report_views_so_far(struct recording_command *command, struct problem *problem)
{
    struct communication *communication;
    int result = statistics_finish(command->statistics, command->origins, &communication);

    if (result < 0)
        return problem_set(problem, result, "out of memory for the report");
    result = report_views(command, communication, problem);
    communication_free(communication);
    return result;
}

static int summarize_so_far(struct recording_command *command, struct problem *problem)
{
    struct communication *communication;
    int result = statistics_finish(command->statistics, command->origins, &communication);

    if (result == 0) {
        result = command->summarize(command, communication);
        communication_free(communication);
    }
    return result < 0 ? problem_set(problem, result, "out of memory for the summary") : 0;
}

/* How far records of other machines have come is not known. */
static int print_line(struct recording_command *command, bool last, struct problem *problem)
{
    uint64_t analysed = command->history == NULL ? 0 : recording_analysed(&command->recording);
    uint64_t time = live_analysed(command->live, analysed, &command->analysed);
    int result = live_take(command->live, command->origins, time, last);

    if (result == 0)
        result = json_lines_add(&command->lines, live_snapshot(command->live, 0));
    return result < 0 ? problem_set(problem, result, "out of memory for the lines of JSON") : 0;
}

int recording_command_report_so_far(struct recording_command *command, struct problem *problem)
{
    if (command->live != NULL)
        return print_line(command, false, problem);
    if (command->options->views != NULL)
        return report_views_so_far(command, problem);
    if (command->summarize != NULL)
        return summarize_so_far(command, problem);
    return report_so_far(command->statistics, command->origins, &command->before, command->messages,
                         problem);
}

size_t recording_command_analyses(const struct recording_command *command,
                                  struct analysis ret_analyses[RECORDING_ANALYSES_MOST])
{
    size_t count = 0;

    if (command->statistics != NULL)
        ret_analyses[count++] = statistics_analysis(command->statistics);
    if (command->live != NULL)
        ret_analyses[count++] = live_analysis(command->live);
    if (command->whole != NULL)
        count += readings_analyses(command->whole->readings, ret_analyses + count);
    return count;
}

/* Feeds the analyses that follow the recording. Returns as recording_analyse. */
static int analyse(struct recording_command *command, struct problem *problem)
{
    struct analysis analyses[RECORDING_ANALYSES_MOST];
    size_t count = recording_command_analyses(command, analyses);

    return recording_analyse(&command->recording, analyses, count, problem);
}

static bool reports_intervals(const struct recording_command *command)
{
    return command->statistics != NULL || command->live != NULL;
}

bool recording_command_is_due(struct recording_command *command)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    json_lines_flush(&command->lines);
    if (!reports_intervals(command) || now - command->last_report < command->options->interval)
        return false;
    command->last_report = now;
    return true;
}

static int analyse_so_far(struct recording_command *command, struct problem *problem)
{
    int result = analyse(command, problem);

    return result < 0 || !recording_command_is_due(command)
               ? result
               : recording_command_report_so_far(command, problem);
}

static void say_stopped(const struct recording_command *command, const struct problem *problem)
{
    command_say_to(command->messages, "recording stopped: %s; %s", problem->text, command->subject);
}

void recording_command_wait(struct recording_command *command, struct pollfd *files, size_t count,
                            uint64_t until)
{
    uint64_t report =
        reports_intervals(command) ? command->last_report + command->options->interval : UINT64_MAX;

    (void)recording_wait(&command->recording, files, count, report < until ? report : until);
}

/* The recording goes on with the rules from before if the new ones are wrong. */
static void look_at_rules(struct recording_command *command)
{
    struct rules_file *file = &command->rules_file;
    struct problem problem;
    struct rules *rules = NULL;
    int result = command->recording.active ? rules_file_look(file, &rules, &problem) : 0;

    if (result == 0)
        return;
    if (result > 0)
        result = recording_select(&command->recording, rules, &problem);
    if (result < 0) {
        if (command->recording.active)
            command_say_to(command->messages, "%s; the rules stay as they were", problem.text);
        else
            say_stopped(command, &problem);
        rules_free(rules);
    } else {
        rules_file_take(file, rules);
        command_say_to(command->messages, "rules: %s has changed, and is in force from now on",
                       file->path);
    }
    fflush(command->messages);
}

void recording_command_step(struct recording_command *command)
{
    struct problem problem;

    look_at_rules(command);
    if (recording_step(&command->recording, &problem) < 0)
        say_stopped(command, &problem);
    if (!command->recording.active || command->recording.followed == NULL)
        return;
    if (analyse_so_far(command, &problem) < 0) {
        command_say_to(command->messages, "no more reports: %s", problem.text);
        recording_command_stop_following(command);
    }
}

void recording_command_catch_up(struct recording_command *command)
{
    struct problem problem;

    if (recording_catch_up(&command->recording, &problem) < 0)
        say_stopped(command, &problem);
}

/* ---- the end ---- */

#define NAMED_MOST 10

static void name_the_living(struct recording_command *command, bool offers_wait)
{
    char names[NAMED_MOST * (STREAM_NAME_SIZE + sizeof(" [-2147483648]"))] = "";
    struct meter_interface *meter = command->recording.meter;
    size_t used = 0, count;
    struct meter_process *list;
    struct problem problem;

    if (meter->live(meter) == 0 || meter->processes(meter, &list, &count, &problem) < 0)
        return;
    for (size_t i = 0; i < count && i < NAMED_MOST; i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, " %.*s[%d]", STREAM_NAME_SIZE,
                                 list[i].name, list[i].pid);
    const char *hint = !offers_wait ? ""
                       : count == 1 ? " (--wait records until it ends)"
                                    : " (--wait records until they end)";
    if (count > 0)
        command_say_to(
            command->messages, "%zu metered process%s still running, no longer metered:%s%s%s",
            count, count == 1 ? " is" : "es are", names, count > NAMED_MOST ? " ..." : "", hint);
    free(list);
}

static void end_filter(struct recording_command *command)
{
    fflush(command->messages);
    custom_filter_end(command->filter, command->signals, command->messages);
    command->filter = NULL;
}

#define READER_PATIENCE 2000000000u /* ns */

int recording_command_print_last(struct recording_command *command, int result,
                                 struct problem *problem)
{
    struct problem of_lines;

    if (result >= 0)
        result = print_line(command, true, problem);
    if (result < 0)
        command_say_to(command->messages, "there is no last line: %s", problem->text);
    int closed = json_lines_close(&command->lines, READER_PATIENCE, &of_lines);
    if (closed < 0)
        command_say_to(command->messages, "%s", of_lines.text);
    live_free(command->live);
    command->live = NULL;
    return closed; /* a last line that a slow reader does not get is no error: what was recorded is whole */
}

/* Returns 0 or a negative errno, which it has said. */
static int end_lines(struct recording_command *command)
{
    struct problem problem;
    int result = SOURCE_NONE_YET;

    while (result == SOURCE_NONE_YET)
        result = analyse(command, &problem);
    result = recording_command_print_last(command, result, &problem);
    if (command->whole == NULL)
        recording_command_stop_following(command);
    return result;
}

int recording_command_end(struct recording_command *command, bool names_the_rest, bool offers_wait)
{
    struct problem problem;

    if (command->recording.active && names_the_rest)
        name_the_living(command, offers_wait);
    if (command->whole == NULL && command->live == NULL)
        recording_command_stop_following(
            command); /* the report on the trace covers what comes now */
    int result = recording_end(&command->recording, &problem);
    if (result < 0)
        say_stopped(command, &problem);
    int lines = command->live == NULL ? 0 : end_lines(command);
    end_filter(command);
    return result < 0 ? result : lines;
}

int recording_command_finish_report(struct recording_command *command, struct problem *problem)
{
    int result = SOURCE_NONE_YET;

    while (result == SOURCE_NONE_YET)
        result = analyse(command, problem);
    /* the last interval, however short */
    if (result >= 0 && command->statistics != NULL && command->options->views != NULL)
        result = recording_command_report_so_far(command, problem);
    return result < 0 ? result : whole_report_end(command->whole, command->origins, problem);
}

void recording_command_close(struct recording_command *command)
{
    struct problem problem;

    recording_command_stop_following(command);
    (void)json_lines_close(&command->lines, 0, &problem);
    end_filter(command); /* the command was not started */
    recording_close(&command->recording);
    rules_file_done(&command->rules_file);
    if (command->signals >= 0)
        close(command->signals);
    if (command->messages != stderr)
        fclose(command->messages);
}
