/* SPDX-License-Identifier: MIT */
/* live_operand.c: see live_operand.h. */
#include "command/live/live_operand.h"

#include "base/process.h"
#include "remote/remote.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "redis-benchmark, redis-server[4711]"; what has no space is "..." */
static void add_subject(struct live_operand *operand, const char *name)
{
    size_t used = strlen(operand->subject), space = sizeof(operand->subject) - used;

    if ((size_t)snprintf(operand->subject + used, space, "%s%s", used == 0 ? "" : ", ", name) >=
        space)
        strcpy(operand->subject + sizeof(operand->subject) - 4, "...");
}

int live_operand_take(const char *command, bool by_name, struct live_operand *operand)
{
    struct problem problem;
    int result = by_name ? process_choice_name(&operand->choice, optarg, &problem)
                         : process_choice_pid(&operand->choice, optarg, &problem);

    if (result == -EINVAL)
        return command_usage_error(command, "%s", problem.text);
    if (result < 0)
        return command_error("%s", problem.text);
    char shown[PROCESS_SHOWN_SIZE];
    if (!by_name)
        process_shown(operand->choice.pids[operand->choice.pid_count - 1], shown);
    add_subject(operand, by_name ? optarg : shown);
    return -1;
}

int live_operand_kinds(const char *command, struct live_operand *operand)
{
    struct problem problem;

    operand->kinds = 0;
    if (meter_kinds_parse(optarg, &operand->kinds, &problem) < 0)
        return command_usage_error(command, "--kinds: %s", problem.text);
    return operand->kinds != 0
               ? -1
               : command_usage_error(command, "--kinds leaves no connection to record");
}

uint32_t live_operand_recorded(const struct live_operand *operand)
{
    return operand->kinds != 0 ? operand->kinds : METER_ALL_KINDS & ~(METER_PIPE | METER_MQ);
}

/* ---- traces ---- */

static bool is_trace(const char *path)
{
    char file[PATH_MAX];
    struct stat status;

    snprintf(file, sizeof(file), "%.*s/metadata", PATH_MAX - 16, path);
    return stat(file, &status) == 0;
}

static int add_trace(struct live_operand *operand, const char *path)
{
    if (array_reserve(&operand->traces, &operand->trace_room, operand->trace_count + 1,
                      sizeof(*operand->traces)) < 0)
        return -ENOMEM;
    operand->traces[operand->trace_count] = strdup(path);
    return operand->traces[operand->trace_count] == NULL ? -ENOMEM : (int)++operand->trace_count;
}

/* All traces in a folder. Returns how many, or a negative errno. */
static int add_all_in(struct live_operand *operand, const char *folder, struct problem *problem)
{
    struct dirent **list;
    int count = scandir(folder, &list, NULL, alphasort), found = 0;
    char path[PATH_MAX];

    if (count < 0)
        return problem_set(problem, -errno, "%s: cannot be listed: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 300, folder, list[i]->d_name);
        if (found >= 0 &&
            live_feed_takes(list[i]->d_name, operand->job[0] == '\0' ? NULL : operand->job) &&
            is_trace(path)) {
            int result = add_trace(operand, path);
            found = result < 0 ? result : found + 1;
        }
        free(list[i]);
    }
    free(list);
    snprintf(operand->folder, sizeof(operand->folder), "%s", folder);
    return found;
}

/* ---- sessions of this user ---- */

/* Takes a session, or one of its jobs. */
static int add_session(struct live_operand *operand, const struct remote_session *session,
                       const char *job, struct problem *problem)
{
    char folder[PATH_MAX];

    int result = job_where(session->name, job, folder, operand->job, problem);
    if (result < 0)
        return result;
    return add_all_in(operand, folder, problem);
}

/* A job that is named without its session: the session of this user that has it. */
static int add_job(struct live_operand *operand, const struct remote_session *list, ssize_t count,
                   const char *job, struct problem *problem)
{
    const struct remote_session *found = NULL;
    struct problem ignored;
    char folder[PATH_MAX], recording[JOB_RECORDING_SIZE];

    for (ssize_t i = 0; i < count; i++) {
        int result = job_where(list[i].name, job, folder, recording, &ignored);
        if (result == -ENOENT || (result < 0 && result != -EREMOTE))
            continue;
        if (found != NULL)
            return problem_set(problem, -EEXIST, "sessions %s and %s have a job '%s': name %s/%s",
                               found->name, list[i].name, job, list[i].name, job);
        found = &list[i];
    }
    if (found != NULL)
        return add_session(operand, found, job, problem);
    return problem_set(problem, -ENOENT, "%s: there is no such trace, folder, session or job", job);
}

static int add_session_or_job(struct live_operand *operand, const char *name,
                              struct problem *problem)
{
    const char *slash = strchr(name, '/');
    size_t length = slash == NULL ? strlen(name) : (size_t)(slash - name);
    struct remote_session *list = NULL;
    ssize_t count = remote_sessions(&list, problem), i = 0;
    int result;

    while (i < count &&
           (strlen(list[i].name) != length || strncmp(list[i].name, name, length) != 0))
        i++;
    if (count < 0)
        result = (int)count;
    else if (i < count)
        result = add_session(operand, &list[i], slash == NULL ? NULL : slash + 1, problem);
    else
        result = add_job(operand, list, count, name, problem);
    free(list);
    return result;
}

static int take_operand(const char *name, struct live_operand *operand)
{
    struct problem problem;
    struct stat status;
    int result;

    if (stat(name, &status) < 0)
        result = add_session_or_job(operand, name, &problem);
    else if (is_trace(name))
        result = add_trace(operand, name);
    else
        result = add_all_in(operand, name, &problem);
    if (result == -ENOMEM)
        return command_error("out of memory");
    if (result < 0)
        return command_error("%s", problem.text);
    snprintf(operand->subject, sizeof(operand->subject), "%.*s", (int)sizeof(operand->subject) - 1,
             name);
    return -1;
}

int live_operand_done(const char *command, int argc, char **argv, int first,
                      struct live_operand *operand)
{
    bool chosen = operand->choice.pid_count + operand->choice.word_count > 0;
    int status = -1;

    if (chosen && first < argc)
        return command_usage_error(command, "name either processes or traces, not both");
    if (operand->kinds != 0 && first < argc)
        return command_usage_error(command, "--kinds is for processes; a trace has what it has");
    for (int i = first; status < 0 && i < argc; i++)
        status = take_operand(argv[i], operand);
    operand->reads_traces = first < argc;
    operand->all = !chosen && first == argc;
    if (status < 0 && operand->folder[0] != '\0' && argc - first > 1)
        return command_usage_error(command, "name one folder or session, or else traces");
    if (status < 0 && argc - first > 1)
        snprintf(operand->subject, sizeof(operand->subject), "%.100s and %d more", argv[first],
                 argc - first - 1);
    if (operand->all)
        strcpy(operand->subject, "all processes");
    return status;
}

void live_operand_feed(const struct live_operand *operand, struct live_feed_options *options)
{
    options->kinds = live_operand_recorded(operand);
    options->traces = (const char *const *)operand->traces;
    options->trace_count = operand->trace_count;
    options->folder = operand->folder[0] == '\0' ? NULL : operand->folder;
    options->job = operand->job[0] == '\0' ? NULL : operand->job;
    options->acquiring = (struct acquiring){.choice = (struct process_choice *)&operand->choice,
                                            .all = operand->all,
                                            .waits = true,
                                            .below = BELOW_MASTERS};
}

void live_operand_free(struct live_operand *operand)
{
    for (size_t i = 0; i < operand->trace_count; i++)
        free(operand->traces[i]);
    free(operand->traces);
    process_choice_done(&operand->choice);
}
