/* SPDX-License-Identifier: MIT */
/* live_operand.c: see live_operand.h. */
#include "control/live_operand.h"

#include "remote/remote.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int live_operand_take(const char *command, bool by_name, struct live_operand *operand)
{
    struct problem problem;
    int result = by_name ? process_choice_name(&operand->choice, optarg, &problem)
                         : process_choice_pid(&operand->choice, optarg, &problem);

    if (result == -EINVAL)
        return command_usage_error(command, "%s", problem.text);
    if (result < 0)
        return command_error("%s", problem.text);
    snprintf(operand->subject, sizeof(operand->subject), "%s%s",
             operand->choice.pid_count + operand->choice.word_count > 1 ? "... " : "", optarg);
    return -1;
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

/* All traces in a folder; with `ending` those whose names end so. Returns how many, or a negative errno. */
static int add_all_in(struct live_operand *operand, const char *folder, const char *ending)
{
    struct dirent **list;
    int count = scandir(folder, &list, NULL, alphasort), found = 0;
    char path[PATH_MAX];

    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        const char *name = list[i]->d_name;
        size_t length = strlen(name);
        snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 300, folder, name);
        bool fits = name[0] != '.' && length >= strlen(ending) &&
                    strcmp(name + length - strlen(ending), ending) == 0;
        if (found >= 0 && fits && is_trace(path)) {
            int result = add_trace(operand, path);
            found = result < 0 ? result : found + 1;
        }
        free(list[i]);
    }
    free(list);
    return found;
}

/* ---- sessions and jobs of this user ---- */

/* The folders in which a session's controller, or the filters of its jobs, store. */
static int add_of_session(struct live_operand *operand, const struct remote_session *session,
                          const char *ending)
{
    char file[PATH_MAX + 32];
    size_t index;
    json_t *filter;
    int found = 0;

    snprintf(file, sizeof(file), "%s/hosts.json", session->folder);
    json_t *hosts = json_load_file(file, 0, NULL);
    const char *folder = json_string_value(json_object_get(hosts, "folder"));
    if (folder != NULL && ending[0] == '\0')
        found = add_all_in(operand, folder, ending);
    json_decref(hosts);
    snprintf(file, sizeof(file), "%s/jobs.json", session->folder);
    json_t *jobs = json_load_file(file, 0, NULL);
    json_array_foreach(json_object_get(jobs, "filters"), index, filter)
    {
        folder = json_string_value(json_object_get(filter, "folder"));
        int result = folder == NULL ? 0 : add_all_in(operand, folder, ending);
        found += result > 0 ? result : 0;
    }
    json_decref(jobs);
    return found;
}

/* A session of this name; else the copies of a job of this name in any session. */
static int add_named(struct live_operand *operand, const char *name, struct problem *problem)
{
    struct remote_session *list = NULL;
    ssize_t count = remote_sessions(&list, problem);
    char ending[NAME_SIZE];
    int found = 0;

    for (ssize_t i = 0; i < count && found == 0; i++)
        if (strcmp(list[i].name, name) == 0)
            found = add_of_session(operand, &list[i], "");
    snprintf(ending, sizeof(ending), ".%.200s", name);
    for (ssize_t i = 0; i < count && found == 0; i++)
        found = add_of_session(operand, &list[i], ending);
    free(list);
    return found > 0 ? 0
                     : problem_set(problem, -ENOENT,
                                   "%s: there is no such trace, session or job with records", name);
}

static int take_operand(const char *name, struct live_operand *operand)
{
    struct problem problem;
    struct stat status;
    int result;

    if (stat(name, &status) < 0)
        result = add_named(operand, name, &problem);
    else if (is_trace(name))
        result = add_trace(operand, name);
    else if ((result = add_all_in(operand, name, "")) == 0)
        result =
            problem_set(&problem, -ENOENT,
                        "%s: has no traces; name a trace, or a directory that holds some", name);
    else if (result < 0)
        problem_set(&problem, result, "%s: cannot be listed: %s", name, strerror(-result));
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
        return command_usage_error(command, "name processes, or traces: not both");
    for (int i = first; status < 0 && i < argc; i++)
        status = take_operand(argv[i], operand);
    operand->all = !chosen && first == argc;
    if (operand->all)
        strcpy(operand->subject, "all processes");
    return status;
}

void live_operand_feed(const struct live_operand *operand, struct live_feed_options *options)
{
    options->traces = (const char *const *)operand->traces;
    options->trace_count = operand->trace_count;
    options->acquiring = (struct acquiring){.choice = (struct process_choice *)&operand->choice,
                                            .all = operand->all,
                                            .below = BELOW_MASTERS};
}

void live_operand_free(struct live_operand *operand)
{
    for (size_t i = 0; i < operand->trace_count; i++)
        free(operand->traces[i]);
    free(operand->traces);
    process_choice_done(&operand->choice);
}
