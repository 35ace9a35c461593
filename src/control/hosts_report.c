/* SPDX-License-Identifier: MIT */
/* hosts_report.c: one report over the recordings of several machines. See hosts.h. */
#include "control/hosts.h"
#include "control/recording_report.h"

#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void free_paths(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

/* The copies that were stored; the caller frees the list. */
static int list_paths(struct hosts *hosts, char ***ret_paths, size_t *ret_count,
                      struct problem *problem)
{
    struct filter *filter = hosts_copies_stop(hosts->copies);
    size_t most = filter_count(filter), count = 0;
    char **paths = calloc(most + 1, sizeof(*paths));
    struct filter_copy copy;

    if (paths == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the report");
    for (size_t i = 0; i < hosts->count; i++) /* in the order of the command line */
        for (size_t j = 0; j < most; j++) {
            filter_look(filter, j, &copy);
            if (copy.path == NULL || strcmp(copy.machine, hosts->list[i].remote->machine) != 0)
                continue;
            paths[count] = strdup(copy.path);
            if (paths[count] == NULL) {
                free_paths(paths, count);
                return problem_set(problem, -ENOMEM, "out of memory for the report");
            }
            count++;
        }
    *ret_paths = paths;
    *ret_count = count;
    return 0;
}

/* What could not be stored. What never came is told by those who read the copies. */
static void tell_refused(struct hosts *hosts)
{
    struct filter *filter = hosts_copies_stop(hosts->copies);
    struct filter_copy copy;
    char line[640], refused[COUNTED_SIZE], why[FILTER_WHY_SIZE];

    for (size_t i = 0; i < filter_count(filter); i++) {
        filter_look(filter, i, &copy);
        show_counted(copy.refused, "packet", refused);
        if (copy.refused > 0) {
            snprintf(line, sizeof(line), "%s: %s could not be stored: %.300s", copy.machine,
                     refused, copy.why);
            hosts_say(hosts, NULL, line);
        }
    }
    uint64_t malformed = filter_malformed(filter, why);
    if (malformed > 0) {
        show_counted(malformed, "message", refused);
        snprintf(line, sizeof(line), "dropped %s in place of packets: %s", refused, why);
        hosts_say(hosts, NULL, line);
    }
}

/* The names of hosts whose recordings were cut: " (web2 was cut)"; "": none was. */
static void name_cut(const struct hosts *hosts, char *text, size_t size)
{
    size_t length = 0, count = 0;

    text[0] = '\0';
    for (size_t i = 0; i < hosts->count && length < size; i++)
        if (hosts->list[i].cut)
            length += (size_t)snprintf(text + length, size - length, "%s%s",
                                       count++ > 0 ? ", " : " (", hosts->list[i].remote->name);
    if (count > 0 && length < size)
        snprintf(text + length, size - length, count > 1 ? " were cut)" : " was cut)");
}

static void tell_result(const struct hosts *hosts, const struct analyses_found *found,
                        size_t traces)
{
    char cut[256];

    name_cut(hosts, cut, sizeof(cut));
    command_say_to(hosts->recorder.messages,
                   "%" PRIu64 " records of %zu host%s, %s%" PRIu64 " lost%s, %s%s", found->records,
                   traces, traces == 1 ? "" : "s", cut[0] == '\0' ? "" : "at least ",
                   found->run.recorded.lost, cut, hosts_only_reports(hosts) ? "not stored" : "in ",
                   hosts_only_reports(hosts) ? "" : hosts->folder);
}

/* After whole_report_... Shows it, and how the recording ended. */
static int show(struct hosts *hosts, const struct whole_report *whole, size_t traces,
                struct problem *problem)
{
    int result = recording_report_show(&hosts->recorder, whole, problem);

    if (result < 0)
        return result;
    tell_result(hosts, &whole->found, traces);
    return recording_report_finish(&hosts->recorder, whole, problem);
}

/* While they are open, a copy without an end counts as still being recorded. */
static void close_copies(struct hosts *hosts)
{
    struct problem problem;

    tell_refused(hosts);
    if (hosts_copies_close(hosts->copies, &problem) < 0)
        command_error("%s", problem.text);
    hosts->copies = NULL;
}

/* A controller has taken the place of another one. */
static void tell_removed(const struct hosts *hosts, const struct analyses_found *found)
{
    char text[REMOVED_TEXT_SIZE];

    if (found->removed == 0)
        return;
    command_removed_text(found->removed, found->removed_time, text);
    command_say_to(hosts->recorder.messages, "%s", text);
}

static int report_what_was_read(struct hosts *hosts, struct problem *problem)
{
    close_copies(hosts);
    int result = hosts_live_finish(hosts, problem);
    if (result == 0)
        result = show(hosts, hosts->recorder.whole, hosts->live.count, problem);
    if (result == 0)
        tell_removed(hosts, &hosts->recorder.whole->found);
    return result;
}

static int report_on_copies(struct hosts *hosts, struct problem *problem)
{
    const struct recording_command *command = &hosts->recorder;
    char **paths = NULL;
    size_t count = 0;
    uint64_t records = 0;
    int result = list_paths(hosts, &paths, &count, problem);

    if (result < 0)
        return result;
    close_copies(hosts);
    for (size_t i = 0; i < hosts->count; i++)
        records += hosts->list[i].records;
    struct whole_report whole = {
        .names = {.at = (const char *const *)paths, .count = count},
        .parts = recording_report_parts(command->options, records),
        .draws = command->options->html != NULL,
        .goes_on = true,
    };
    result = count == 0 ? problem_set(problem, -ENODATA, "nothing was recorded on any host")
                        : whole_report_read(&whole, problem);
    if (result == 0)
        result = show(hosts, &whole, count, problem);
    whole_report_done(&whole);
    free_paths(paths, count);
    return result;
}

int hosts_report(struct hosts *hosts, struct problem *problem)
{
    return hosts_only_reports(hosts) ? report_what_was_read(hosts, problem)
                                     : report_on_copies(hosts, problem);
}
