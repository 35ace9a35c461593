/* SPDX-License-Identifier: MIT */
/* hosts_live.c: reports over all machines while they record. See hosts_live.h. */
#include "command/hosts/hosts.h"

#include "analysis/analysis.h"
#include "show/show.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* With a machine from which nothing comes: agents flush each second. */
#define PATIENCE 3000000000ull /* ns */
#define PATIENCE_OF_ALL                                                                            \
    10000000000ull /* the same, if what is printed of the whole rests on it, too */

/* ---- begin and end ---- */

static bool has_copy(const struct hosts *hosts, const struct metered_host *host,
                     char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - 100, hosts->folder, host->remote->machine);
    return trace_has_records(path);
}

static bool takes_part(const struct metered_host *host)
{
    return host->opened && host->remote->state != REMOTE_OUT;
}

static int begin_analyses(struct hosts *hosts, struct problem *problem)
{
    struct recording_command *command = &hosts->recorder;
    struct history *history = hosts->live.history;

    history_be_patient(history, hosts_live_is_whole(hosts) ? PATIENCE_OF_ALL : PATIENCE, clock_now);
    command->last_report = clock_now(CLOCK_MONOTONIC);
    if (command->options->interval != 0 &&
        recording_command_begin_intervals(command, history, problem) < 0)
        return -ENOMEM;
    return hosts_only_reports(hosts) ? recording_command_begin_whole(command, history, problem) : 0;
}

/* Its copy becomes an origin; the first one begins the history. */
static int follow(struct hosts *hosts, const char *path, struct problem *problem)
{
    struct hosts_live *live = &hosts->live;
    struct source *source;
    int result = trace_follow_copy(path, &source, problem);

    if (result < 0)
        return result;
    trace_follow_until_end(source, true); /* a filter that was killed is started again */
    live->sources[live->count++] = source;
    if (live->count > 1)
        return history_add(live->history, source, problem);
    result = history_new(live->sources, 1, &live->history, problem);
    return result < 0 ? result : begin_analyses(hosts, problem);
}

/* Those that have begun since the last time: a machine may join late. */
static int follow_new(struct hosts *hosts, struct problem *problem)
{
    struct hosts_live *live = &hosts->live;
    bool more = false;
    char path[PATH_MAX];
    int result = 0;

    if (live->sources == NULL) {
        live->sources = calloc(hosts->count, sizeof(struct source *));
        live->joined = calloc(hosts->count, sizeof(bool));
    }
    if (live->sources == NULL || live->joined == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for interval reports");
    for (size_t i = 0; result == 0 && i < hosts->count; i++) {
        if (live->joined[i] || !takes_part(&hosts->list[i]))
            continue;
        live->joined[i] = has_copy(hosts, &hosts->list[i], path);
        more |= !live->joined[i];
        if (live->joined[i])
            result = follow(hosts, path, problem);
    }
    if (live->history != NULL)
        history_expect_more(live->history, more);
    hosts->recorder.origins = (uint32_t)live->count;
    return result;
}

void hosts_live_end(struct hosts *hosts)
{
    struct hosts_live *live = &hosts->live;

    recording_command_stop_following(&hosts->recorder);
    history_free(live->history);
    for (size_t i = 0; i < live->count; i++)
        trace_close(live->sources[i]);
    free(live->sources);
    free(live->joined);
    *live = (struct hosts_live){.failed = live->failed};
}

bool hosts_live_is_whole(const struct hosts *hosts)
{
    return hosts_only_reports(hosts) || (hosts->recorder.options->json && !hosts->live.failed);
}

/* ---- while it goes on ---- */

/* Copies that keep only the newest may remove records before they are read. */
static void say_overtaken(struct hosts *hosts)
{
    struct hosts_live *live = &hosts->live;
    char records[COUNTED_SIZE], line[160];
    uint64_t overtaken = 0;

    for (size_t i = 0; i < live->count; i++)
        overtaken += live->sources[i]->states[0].overtaken;
    if (overtaken == live->overtaken)
        return;
    show_counted(overtaken - live->overtaken, "record", records);
    snprintf(line, sizeof(line), "%s came faster than the report reads; it is without them",
             records);
    hosts_say(hosts, NULL, line);
    live->overtaken = overtaken;
}

/* Returns as analyses_read does. */
static int read_on(struct hosts *hosts, struct problem *problem)
{
    struct analysis analyses[RECORDING_ANALYSES_MOST];
    size_t count = recording_command_analyses(&hosts->recorder, analyses);
    int result = analyses_read(hosts->live.history, analyses, count, problem);

    say_overtaken(hosts);
    return result;
}

static int read_and_report(struct hosts *hosts, struct problem *problem)
{
    struct recording_command *command = &hosts->recorder;
    int result = read_on(hosts, problem);

    if (result < 0 || !recording_command_is_due(command))
        return result;
    progress_clear(&hosts->progress);
    return recording_command_report_so_far(command, problem);
}

void hosts_live_step(struct hosts *hosts)
{
    struct hosts_live *live = &hosts->live;
    struct problem problem;
    char line[600];
    int result = 0;

    if (live->failed || (hosts->recorder.options->interval == 0 && !hosts_only_reports(hosts)))
        return;
    result = follow_new(hosts, &problem);
    if (result >= 0 && live->history == NULL)
        return; /* nobody has begun */
    if (result >= 0)
        result = read_and_report(hosts, &problem);
    if (result >= 0)
        return;
    snprintf(line, sizeof(line), "no more reports: %.500s", problem.text);
    hosts_say(hosts, NULL, line);
    hosts_live_end(hosts);
    live->failed = true;
}

/* ---- the end ---- */

/* Returns as analyses_read does. */
static int read_rest(struct hosts *hosts, struct problem *problem)
{
    struct hosts_live *live = &hosts->live;
    int result = live->failed ? 0 : follow_new(hosts, problem);

    if (result < 0 || live->history == NULL)
        return result;
    history_expect_more(live->history, false);
    for (size_t i = 0; i < live->count; i++)
        trace_follow_until_end(live->sources[i], false);
    while ((result = read_on(hosts, problem)) == SOURCE_NONE_YET)
        poll(NULL, 0, 20); /* what waited for a machine that gave no sign of life */
    return result;
}

int hosts_live_finish(struct hosts *hosts, struct problem *problem)
{
    struct recording_command *command = &hosts->recorder;
    int result = read_rest(hosts, problem), lines = 0;

    if (command->live != NULL)
        lines = recording_command_print_last(command, result, problem);
    if (lines < 0)
        hosts->lines_failed = true; /* was said; the report is printed all the same */
    if (result < 0 || !hosts_only_reports(hosts))
        return result;
    if (command->whole == NULL)
        return problem_set(problem, -ENODATA,
                           hosts->live.failed ? "there is no report: the analyses ended early"
                                              : "nothing was recorded on any host");
    return whole_report_end(command->whole, command->origins, problem);
}
