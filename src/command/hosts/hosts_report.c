/* SPDX-License-Identifier: MIT */
/* hosts_report.c: one report over the recordings of several machines. See hosts.h. */
#include "command/hosts/hosts.h"
#include "command/recording/recording_report.h"

#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void free_paths(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

static int add_path(struct hosts *hosts, json_t *copy, char **ret_path)
{
    const char *name = json_string_value(json_object_get(copy, "name"));

    return name == NULL ? 0 : asprintf(ret_path, "%s/%s", hosts->folder, name);
}

/* The copies that were stored; the caller frees the list. */
static int list_paths(struct hosts *hosts, char ***ret_paths, size_t *ret_count,
                      struct problem *problem)
{
    json_t *list = json_object_get(hosts->storing.state, "copies"), *copy;
    char **paths = calloc(json_array_size(list) + 1, sizeof(*paths));
    size_t count = 0, j;
    int result = paths == NULL ? -1 : 0;

    for (size_t i = 0; i < hosts->count; i++) /* in the order of the command line */
        json_array_foreach(list, j, copy)
        {
            const char *machine = json_string_value(json_object_get(copy, "machine"));
            if (result < 0 || machine == NULL ||
                strcmp(machine, hosts->list[i].remote->machine) != 0)
                continue;
            result = add_path(hosts, copy, &paths[count]);
            count += result > 0;
        }
    if (result < 0) {
        free_paths(paths, count);
        return problem_set(problem, -ENOMEM, "out of memory for the report");
    }
    *ret_paths = paths;
    *ret_count = count;
    return 0;
}

static void tell_refused_copy(struct hosts *hosts, json_t *copy)
{
    uint64_t count = fabric_count(copy, "refused");
    const char *machine = json_string_value(json_object_get(copy, "machine"));
    const char *why = json_string_value(json_object_get(copy, "why"));
    char line[640], refused[COUNTED_SIZE];

    if (count == 0)
        return;
    show_counted(count, "packet", refused);
    snprintf(line, sizeof(line), "%.63s: %s could not be stored: %.300s",
             machine == NULL ? "" : machine, refused, why == NULL ? "" : why);
    hosts_say(hosts, NULL, line);
}

/* What could not be stored. What never came is told by those who read the copies. */
static void tell_refused(struct hosts *hosts)
{
    json_t *state = hosts->storing.state, *copy;
    uint64_t malformed = fabric_count(state, "malformed");
    const char *why = json_string_value(json_object_get(state, "malformed_why"));
    char line[640], messages[COUNTED_SIZE];

    for (size_t i = 0; (copy = hosts_storing_copy(hosts, i)) != NULL; i++)
        tell_refused_copy(hosts, copy);
    if (malformed == 0)
        return;
    show_counted(malformed, "message", messages);
    snprintf(line, sizeof(line), "dropped %s in place of packets: %.300s", messages,
             why == NULL ? "" : why);
    hosts_say(hosts, NULL, line);
}

/* " since 14:03:07", " since 2026-11-28 23:59:58" if that is not today; "" if `time` (ns) is 0. */
static void since(uint64_t time, char *text, size_t size)
{
    time_t second = (time_t)(time / 1000000000),
           now = (time_t)(clock_now(CLOCK_REALTIME) / 1000000000);
    struct tm local, today;

    text[0] = '\0';
    if (time == 0 || localtime_r(&second, &local) == NULL || localtime_r(&now, &today) == NULL)
        return;
    bool is_today = local.tm_year == today.tm_year && local.tm_yday == today.tm_yday;
    strftime(text, size, is_today ? " since %H:%M:%S" : " since %Y-%m-%d %H:%M:%S", &local);
}

/* "unknown on web1 since 14:03:07 by its clock (web1 was cut)": from then on, nothing of it is stored. */
static int account_of(const struct metered_host *host, const char *before, char *text, size_t size)
{
    char clock[64];

    since(host->until, clock, sizeof(clock));
    return snprintf(text, size, "%sunknown on %.200s%s%s (%.200s %s)", before, host->remote->name,
                    clock, clock[0] == '\0' ? "" : " by its clock", host->remote->name,
                    host->cut ? "was cut" : "is not stored whole");
}

/* "12 lost"; "lost: unknown on web1 since 14:03:07 by its clock (web1 was cut), besides 12 that were counted". */
static void account(const struct hosts *hosts, uint64_t lost, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < hosts->count && length < size; i++)
        if (!hosts_loss_known(&hosts->list[i]))
            length += (size_t)account_of(&hosts->list[i], length == 0 ? "lost: " : ", ",
                                         text + length, size - length);
    if (length == 0)
        snprintf(text, size, "%" PRIu64 " lost", lost);
    else if (lost > 0 && length < size)
        snprintf(text + length, size - length, ", besides %" PRIu64 " that were counted", lost);
}

static void tell_result(const struct hosts *hosts, const struct analyses_found *found,
                        size_t traces)
{
    char lost[2048];

    account(hosts, found->run.recorded.lost, lost, sizeof(lost));
    command_say_to(hosts->recorder.messages, "%" PRIu64 " records of %zu host%s, %s, %s%s",
                   found->records, traces, traces == 1 ? "" : "s", lost,
                   hosts_only_reports(hosts) ? "not stored" : "in ",
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

/* A controller has taken the place of another one. */
static void tell_removed(const struct hosts *hosts, const struct analyses_found *found)
{
    char text[REMOVED_TEXT_SIZE];

    if (found->removed == 0)
        return;
    command_removed_text(found->removed, found->removed_time, text);
    command_say_to(hosts->recorder.messages, "%s", text);
}

static void end_lines(struct hosts *hosts)
{
    struct problem problem; /* was printed */

    if (!hosts_live_is_whole(hosts))
        return;
    hosts_live_finish(hosts, &problem);
    hosts_live_end(hosts);
}

static int report_what_was_read(struct hosts *hosts, struct problem *problem)
{
    tell_refused(hosts);
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
    tell_refused(hosts);
    end_lines(hosts);
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
    int result = hosts_only_reports(hosts) ? report_what_was_read(hosts, problem)
                                           : report_on_copies(hosts, problem);

    return result >= 0 && hosts->lines_failed
               ? problem_set(problem, -EIO, "lines of JSON are missing, the report is not")
               : result;
}
