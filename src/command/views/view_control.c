/* SPDX-License-Identifier: MIT */
/* view_control.c: `dpm view control`: one request to a running monitor. See view_controlled.h. */
#include "command/views/view_control.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_S 30

/* The parameters of a method, of the words behind it; NULL: they are wrong. */
static json_t *make_params(const char *method, char *const *words, size_t count)
{
    char *end = NULL;

    if ((strcmp(method, "views") == 0 || strcmp(method, "state") == 0 ||
         strcmp(method, "counts") == 0) &&
        count == 0)
        return json_object();
    if (strcmp(method, "sensor") == 0 && count == 2 &&
        (strcmp(words[1], "on") == 0 || strcmp(words[1], "off") == 0))
        return json_pack("{s:s, s:b}", "view", words[0], "on", strcmp(words[1], "on") == 0);
    if (strcmp(method, "threshold") == 0 && count == 3) {
        long long constant = strtoll(words[1], &end, 10);
        if (end == words[1] || *end != '\0')
            return NULL;
        double value = strtod(words[2], &end);
        return end == words[2] || *end != '\0'
                   ? NULL
                   : json_pack("{s:s, s:I, s:f}", "view", words[0], "constant",
                               (json_int_t)constant, "value", value);
    }
    if ((strcmp(method, "probe") == 0 || strcmp(method, "value") == 0) && count == 1)
        return json_pack("{s:s}", "attribute", words[0]);
    return NULL;
}

static int connect_to(const char *path, struct problem *problem)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = ANSWER_S};

    if (strlen(path) >= sizeof(address.sun_path))
        return problem_set(problem, -ENAMETOOLONG, "%s: this name is too long for a socket", path);
    strcpy(address.sun_path, path);
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int error = -errno;
        if (socket_ >= 0)
            close(socket_);
        return problem_set(problem, error, "%s: no monitor listens there: %s", path,
                           strerror(-error));
    }
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return socket_;
}

/* Sends the request, and reads the answer: a line. */
static int ask(const char *path, json_t *request, json_t **ret_answer, struct problem *problem)
{
    char *text = json_dumps(request, JSON_COMPACT);
    int end =
        text == NULL ? problem_set(problem, -ENOMEM, "out of memory") : connect_to(path, problem);
    int result = end < 0 ? end : 0;
    FILE *file = end < 0 ? NULL : fdopen(end, "r+");

    if (file != NULL) {
        fprintf(file, "%s\n", text);
        fflush(file);
        *ret_answer = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
        if (*ret_answer == NULL)
            result = problem_set(problem, -EPROTO, "%s: the monitor has not answered", path);
        fclose(file);
    }
    free(text);
    return result;
}

int view_control(char *const *words, size_t count)
{
    json_t *params = count < 2 ? NULL : make_params(words[1], words + 2, count - 2), *answer = NULL;
    struct problem problem = {""};

    if (params == NULL)
        return command_usage_error("view", "control: give the socket, and one of: views; state; "
                                           "counts; sensor VIEW on|off; threshold "
                                           "VIEW NUMBER VALUE; probe ATTRIBUTE; value ATTRIBUTE");
    json_t *request = json_pack("{s:i, s:s, s:o}", "id", 1, "method", words[1], "params", params);
    int result = ask(words[0], request, &answer, &problem);
    json_decref(request);
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (result == 0 && error != NULL)
        result = problem_set(&problem, -EREMOTEIO, "%s", error);
    if (result == 0 && !json_is_null(json_object_get(answer, "result"))) {
        json_dumpf(json_object_get(answer, "result"), stdout, JSON_COMPACT);
        putchar('\n');
        result = command_flush_output(&problem);
    }
    json_decref(answer);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}
