/* SPDX-License-Identifier: MIT */
/*
 * receiver_command.c: a command for each notification, one at a time. It gets the line on its standard input, and what is
 * in it as variables of its environment:
 *
 *      {"view": "Slow", "row": "redis-server 811", "time": 17..., "values": {"queue-size": 15}}
 *      DPM_VIEW=Slow  DPM_ROW=redis-server 811  DPM_TIME=17...  DPM_VALUE_queue_size=15
 */
#include "monitor/receiver.h"

#include "base/process.h"
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void forget(struct receiver *receiver)
{
    if (receiver->descriptor >= 0)
        close(receiver->descriptor);
    receiver->descriptor = -1;
    receiver->pid = 0;
}

void receiver_command_done(struct receiver *receiver)
{
    forget(receiver);
}

/* A pipe that holds the line already; the command reads it when it wants. */
static int pipe_with(const struct receiver_line *line)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    ssize_t put = write(ends[1], line->text, line->size);
    close(ends[1]);
    if (put == (ssize_t)line->size && fcntl(ends[0], F_SETFL, 0) == 0)
        return ends[0];
    close(ends[0]);
    return -EIO;
}

struct environment {
    char **list; /* NULL at its end */
    size_t count, capacity;
};

static void environment_done(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->list[i]);
    free(environment->list);
}

/* "DPM_VALUE_queue_size=15". An unknown value has no variable. */
static int add_variable(struct environment *environment, const char *prefix, const char *name,
                        json_t *value)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY);
    char *line = NULL;

    if (value == NULL || json_is_null(value)) {
        free(text);
        return 0;
    }
    if (text == NULL || asprintf(&line, "DPM_%s%s=%s", prefix, name, text) < 0 ||
        array_reserve(&environment->list, &environment->capacity, environment->count + 2,
                      sizeof(*environment->list)) < 0) {
        free(text);
        free(line);
        return -ENOMEM;
    }
    free(text);
    for (char *at = line; *at != '='; at++)
        if (*at == '-')
            *at = '_';
    environment->list[environment->count++] = line;
    environment->list[environment->count] = NULL;
    return 0;
}

static int make_environment(const struct receiver_line *line, struct environment *ret_environment)
{
    json_t *notification = json_loadb(line->text, line->size, 0, NULL), *value;
    struct environment environment = {0};
    const char *name;

    int result = add_variable(&environment, "", "VIEW", json_object_get(notification, "view"));
    if (result == 0)
        result = add_variable(&environment, "", "ROW", json_object_get(notification, "row"));
    if (result == 0)
        result = add_variable(&environment, "", "TIME", json_object_get(notification, "time"));
    json_object_foreach(json_object_get(notification, "values"), name, value)
    {
        if (result == 0)
            result = add_variable(&environment, "VALUE_", name, value);
    }
    json_decref(notification);
    if (result < 0)
        environment_done(&environment);
    else
        *ret_environment = environment;
    return result;
}

static int start(struct receiver *receiver)
{
    char shell[] = "sh", option[] = "-c", command[VIEW_COMMAND_MOST + 1];
    char *arguments[] = {shell, option, command, NULL};
    const struct receiver_line *line = &receiver->lines[receiver->first];
    int files[] = {-1, STDERR_FILENO, STDERR_FILENO};
    struct environment environment = {0};
    struct launched launched;

    int result = make_environment(line, &environment);
    if (result == 0)
        result = files[0] = pipe_with(line);
    const struct launch_options options = {.arguments = arguments,
                                           .files = files,
                                           .environment = environment.list,
                                           .own_session = true};
    snprintf(command, sizeof(command), "%s", receiver->view->command);
    if (result >= 0)
        result = launch_suspended(&options, &launched, NULL);
    if (files[0] >= 0)
        close(files[0]);
    environment_done(&environment);
    if (result == 0)
        result = launch_release(&launched, NULL);
    if (result < 0)
        return result;
    receiver->pid = launched.pid;
    receiver->of = line->of;
    receiver->descriptor = launched.pid_fd;
    receiver_watch(receiver, false);
    return 0;
}

uint64_t receiver_command_work(struct receiver *receiver, uint64_t now)
{
    int status = 0;

    if (receiver->pid != 0 && process_has_ended(receiver->pid, &status)) {
        bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        receiver->counts.failed += failed;
        if (receiver->of != NULL)
            receiver->of->failed += failed;
        forget(receiver);
    }
    while (receiver->count > 0 && receiver->pid == 0 && receiver->flush <= now) {
        if (receiver->retry > now)
            return receiver->retry;
        int result = start(receiver);
        if (result < 0) {
            receiver_failed(receiver, strerror(-result), now);
            return receiver->retry;
        }
        receiver_sent(receiver);
    }
    return receiver->count > 0 && receiver->pid == 0 ? receiver->flush : UINT64_MAX;
}
