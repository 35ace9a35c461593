/* SPDX-License-Identifier: MIT */
/* hosts_live.c: interval reports over all machines. See hosts_live.h. */
#include "control/hosts.h"

#include "analysis/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* With a machine from which nothing comes: agents flush each second. */
#define PATIENCE 3000000000ull /* ns */

/* ---- begin and end ---- */

static bool has_copy(const struct hosts *hosts, const struct metered_host *host,
                     char path[PATH_MAX])
{
    char file[PATH_MAX];

    snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - 100, hosts->folder, host->remote->machine);
    snprintf(file, sizeof(file), "%.*s/control", PATH_MAX - 20, path);
    return access(file, R_OK) == 0;
}

static bool takes_part(const struct metered_host *host)
{
    return host->opened && host->remote->state != REMOTE_OUT;
}

/* Its copy becomes an origin; the first one begins the history. */
static int follow(struct hosts *hosts, const char *path, struct problem *problem)
{
    struct hosts_live *live = &hosts->live;
    struct source *source;
    int result = trace_follow(path, &source, problem);

    if (result < 0)
        return result;
    live->sources[live->count++] = source;
    if (live->count > 1)
        return history_add(live->history, source, problem);
    result = history_new(live->sources, 1, &live->history, problem);
    if (result < 0)
        return result;
    history_be_patient(live->history, PATIENCE, clock_now);
    if (statistics_new(live->history, 0, &hosts->recorder.statistics) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for interval reports");
    hosts->recorder.last_report = clock_now(CLOCK_MONOTONIC);
    return 0;
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

    recording_command_stop_intervals(&hosts->recorder);
    history_free(live->history);
    for (size_t i = 0; i < live->count; i++)
        trace_close(live->sources[i]);
    free(live->sources);
    free(live->joined);
    *live = (struct hosts_live){.failed = live->failed};
}

/* ---- while it goes on ---- */

static int read_and_report(struct hosts *hosts, struct problem *problem)
{
    struct recording_command *command = &hosts->recorder;
    const struct analysis analysis = statistics_analysis(command->statistics);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int result = analyses_read(hosts->live.history, &analysis, 1, problem);

    if (result < 0 || now - command->last_report < command->options->interval)
        return result;
    command->last_report = now;
    hosts_progress_clear(&hosts->progress);
    return recording_command_report_so_far(command, problem);
}

void hosts_live_step(struct hosts *hosts)
{
    struct hosts_live *live = &hosts->live;
    struct problem problem;
    char line[600];
    int result = 0;

    if (hosts->recorder.options->interval == 0 || live->failed)
        return;
    result = follow_new(hosts, &problem);
    if (result >= 0 && live->history == NULL)
        return; /* nobody has begun */
    if (result >= 0)
        result = read_and_report(hosts, &problem);
    if (result >= 0)
        return;
    snprintf(line, sizeof(line), "no more interval reports: %.500s", problem.text);
    hosts_say(hosts, NULL, line);
    hosts_live_end(hosts);
    live->failed = true;
}
