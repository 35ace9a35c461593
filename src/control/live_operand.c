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

/* All traces in a folder. Returns how many, or a negative errno. */
static int add_all_in(struct live_operand *operand, const char *folder)
{
    struct dirent **list;
    int count = scandir(folder, &list, NULL, alphasort), found = 0;
    char path[PATH_MAX];

    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 300, folder, list[i]->d_name);
        if (found >= 0 && list[i]->d_name[0] != '.' && is_trace(path)) {
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

/* Where a session's controller stores what comes from its machines. Returns whether it says so. */
static bool folder_of(const struct remote_session *session, char folder[PATH_MAX])
{
    char file[PATH_MAX + 32];

    snprintf(file, sizeof(file), "%s/hosts.json", session->folder);
    json_t *hosts = json_load_file(file, 0, NULL);
    const char *text = json_string_value(json_object_get(hosts, "folder"));
    if (text != NULL)
        snprintf(folder, PATH_MAX, "%s", text);
    json_decref(hosts);
    return text != NULL;
}

static int add_session(struct live_operand *operand, const char *name, struct problem *problem)
{
    struct remote_session *list = NULL;
    ssize_t count = remote_sessions(&list, problem);
    char folder[PATH_MAX];
    int result = -ENOENT;

    for (ssize_t i = 0; i < count && result < 0; i++)
        if (strcmp(list[i].name, name) == 0 && folder_of(&list[i], folder))
            result = add_all_in(operand, folder);
    free(list);
    return result >= 0 || result == -ENOMEM
               ? result
               : problem_set(problem, result, "%s: there is no such trace, folder or session",
                             name);
}

static int take_operand(const char *name, struct live_operand *operand)
{
    struct problem problem;
    struct stat status;
    int result;

    if (stat(name, &status) < 0)
        result = add_session(operand, name, &problem);
    else if (is_trace(name))
        result = add_trace(operand, name);
    else if ((result = add_all_in(operand, name)) < 0)
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
        return command_usage_error(command, "name either processes or traces, not both");
    for (int i = first; status < 0 && i < argc; i++)
        status = take_operand(argv[i], operand);
    operand->reads_traces = first < argc;
    operand->all = !chosen && first == argc;
    if (status < 0 && operand->folder[0] != '\0' && argc - first > 1)
        return command_usage_error(command, "name one folder or session, or else traces");
    if (operand->all)
        strcpy(operand->subject, "all processes");
    return status;
}

void live_operand_feed(const struct live_operand *operand, struct live_feed_options *options)
{
    options->traces = (const char *const *)operand->traces;
    options->trace_count = operand->trace_count;
    options->folder = operand->folder[0] == '\0' ? NULL : operand->folder;
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
