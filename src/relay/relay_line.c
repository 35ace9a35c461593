/* SPDX-License-Identifier: MIT */
/*
 * relay_line.c: the first line each way.
 *
 *      controller -> agent   {"dpm":1,"session":"tsp","machine":"web1","user":"machine.web1","password":"0f3a..."}
 *      agent -> controller   {"dpm":1,"version":"0.1.0","host":"web1.example.org"}    or with "error": "..."
 */
#include "relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 60 /* characters of what came instead of a line */

static int wait_for(int descriptor, short events, uint64_t until)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct pollfd polled = {.fd = descriptor, .events = events};
    int result = poll(&polled, 1, until > now ? (int)((until - now) / 1000000 + 1) : 0);

    if (result < 0)
        return errno == EINTR ? 0 : -errno;
    return result == 0 ? -ETIMEDOUT : 0;
}

static uint64_t deadline(int timeout_ms)
{
    return clock_now(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000000u;
}

/* ---- writing ---- */

/* As write, without a SIGPIPE. */
static ssize_t write_quietly(int descriptor, const char *bytes, size_t size)
{
    const struct timespec none = {0};
    sigset_t pipe, before;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t result = write(descriptor, bytes, size);
    int error = errno;
    if (result < 0 && error == EPIPE && !sigismember(&before, SIGPIPE))
        sigtimedwait(&pipe, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return result;
}

static int write_all(int descriptor, const char *bytes, size_t size, uint64_t until)
{
    while (size > 0) {
        int error = wait_for(descriptor, POLLOUT, until);
        if (error != 0)
            return error;
        ssize_t result = write_quietly(descriptor, bytes, size);
        if (result < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        bytes += result > 0 ? result : 0;
        size -= result > 0 ? (size_t)result : 0;
    }
    return 0;
}

/* Takes over `body`. */
static int send_line(int out, json_t *body, int timeout_ms, struct problem *problem)
{
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    size_t length = text == NULL ? 0 : strlen(text);

    json_decref(body);
    if (text == NULL || length + 1 > RELAY_LINE_MOST) {
        free(text);
        return problem_set(problem, -EINVAL, "the first line to the other machine cannot be made");
    }
    text[length] = '\n'; /* in place of the end */
    int error = write_all(out, text, length + 1, deadline(timeout_ms));
    explicit_bzero(text, length);
    free(text);
    return error == 0
               ? 0
               : problem_set(problem, error, "the other side does not take its first line: %s",
                             strerror(-error));
}

static void add_if_there(json_t *body, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(body, key, json_string(text));
}

int relay_send_hello(int out, const struct relay_hello *hello, int timeout_ms,
                     struct problem *problem)
{
    json_t *body =
        json_pack("{si, ss, ss, ss, ss}", "dpm", (int)FABRIC_VERSION, "session", hello->session,
                  "machine", hello->machine, "user", hello->user, "password", hello->password);

    if (hello->alone != 0)
        json_object_set_new(body, "alone", json_integer(hello->alone));
    add_if_there(body, "id", hello->id);
    add_if_there(body, "tls", hello->tls_name);
    add_if_there(body, "credentials", hello->credentials);
    add_if_there(body, "authorities", hello->authorities);
    return send_line(out, body, timeout_ms, problem);
}

int relay_send_answer(int out, const struct relay_answer *answer, int timeout_ms,
                      struct problem *problem)
{
    json_t *body = json_pack("{si, ss, ss}", "dpm", (int)FABRIC_VERSION, "version", answer->version,
                             "host", answer->host);

    if (answer->error[0] != '\0')
        json_object_set_new(body, "error", json_string(answer->error));
    return send_line(out, body, timeout_ms, problem);
}

/* ---- reading ---- */

/* Byte by byte, for what follows belongs to others. Returns the length, or a negative errno; *ret_length: how much came. */
static int read_line(int in, char line[RELAY_LINE_MOST], uint64_t until, size_t *ret_length)
{
    size_t length = 0;
    int error = 0;

    while (error == 0) {
        char c;
        error = wait_for(in, POLLIN, until);
        ssize_t result = error != 0 ? 0 : read(in, &c, 1);
        if (error != 0 || (result < 0 && (errno == EAGAIN || errno == EINTR)))
            continue;
        if (result <= 0)
            error = result == 0 ? -EPIPE : -errno;
        else if (c == '\n')
            break;
        else if (length + 1 >= RELAY_LINE_MOST)
            error = -EMSGSIZE;
        else
            line[length++] = c;
    }
    line[length] = '\0';
    *ret_length = length;
    return error;
}

static int line_problem(int error, const char *line, size_t length, struct problem *problem)
{
    if (length > 0 && line[0] != '{')
        return problem_set(problem, -EPROTO,
                           "not dpm, but something else answers: \"%.*s\"; does a start-up file of "
                           "the remote shell print this?",
                           SHOWN, line);
    if (error == -EPIPE)
        return problem_set(problem, error, "the other side ended before its first line");
    if (error == -ETIMEDOUT)
        return problem_set(problem, error, "the other side did not send its first line in time");
    if (error == -EMSGSIZE || error == 0)
        return problem_set(problem, -EPROTO, "the first line of the other side is not valid");
    return problem_set(problem, error, "the first line of the other side: %s", strerror(-error));
}

static int receive_line(int in, int timeout_ms, json_t **ret_body, struct problem *problem)
{
    char line[RELAY_LINE_MOST];
    size_t length;
    int error = read_line(in, line, deadline(timeout_ms), &length);
    json_t *body = error != 0 ? NULL : json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *version = json_object_get(body, "dpm");

    if (!json_is_integer(version)) {
        error = line_problem(error, line, length, problem);
    } else if (json_integer_value(version) != FABRIC_VERSION) {
        error =
            problem_set(problem, -EPROTONOSUPPORT,
                        "the other side speaks version %lld of dpm's control protocol, this one "
                        "version %u: install the same version of dpm on both machines",
                        (long long)json_integer_value(version), FABRIC_VERSION);
    } else {
        *ret_body = body;
        body = NULL;
    }
    json_decref(body);
    explicit_bzero(line, sizeof(line));
    return error;
}

/* Copies a string member. Returns false if it is missing or too long. */
static bool copy(const json_t *body, const char *key, char *to, size_t size)
{
    const json_t *value = json_object_get(body, key);

    if (!json_is_string(value) || json_string_length(value) >= size)
        return false;
    snprintf(to, size, "%s", json_string_value(value));
    return true;
}

/* It may be missing. */
static bool copy_if_there(const json_t *body, const char *key, char *to, size_t size)
{
    return json_object_get(body, key) == NULL || copy(body, key, to, size);
}

static bool copy_seconds(const json_t *body, const char *key, unsigned *to)
{
    const json_t *value = json_object_get(body, key);

    if (value == NULL)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT32_MAX)
        return false;
    *to = (unsigned)json_integer_value(value);
    return true;
}

int relay_receive_hello(int in, int timeout_ms, struct relay_hello *ret_hello,
                        struct problem *problem)
{
    struct relay_hello hello = {""};
    json_t *body;
    int error = receive_line(in, timeout_ms, &body, problem);

    if (error != 0)
        return error;
    bool good = copy(body, "session", hello.session, sizeof(hello.session)) &&
                copy(body, "machine", hello.machine, sizeof(hello.machine)) &&
                copy(body, "user", hello.user, sizeof(hello.user)) &&
                copy(body, "password", hello.password, sizeof(hello.password)) &&
                copy_if_there(body, "id", hello.id, sizeof(hello.id)) &&
                (hello.id[0] == '\0' || fabric_name_valid(hello.id)) &&
                copy_if_there(body, "tls", hello.tls_name, sizeof(hello.tls_name)) &&
                copy_if_there(body, "credentials", hello.credentials, sizeof(hello.credentials)) &&
                copy_if_there(body, "authorities", hello.authorities, sizeof(hello.authorities)) &&
                copy_seconds(body, "alone", &hello.alone) && fabric_name_valid(hello.session) &&
                fabric_name_valid(hello.machine);
    json_decref(body);
    if (!good)
        return line_problem(0, "{", 1, problem);
    *ret_hello = hello;
    explicit_bzero(&hello, sizeof(hello));
    return 0;
}

int relay_receive_answer(int in, int timeout_ms, struct relay_answer *ret_answer,
                         struct problem *problem)
{
    struct relay_answer answer = {""};
    json_t *body;
    int error = receive_line(in, timeout_ms, &body, problem);

    if (error != 0)
        return error;
    bool good = copy_if_there(body, "version", answer.version, sizeof(answer.version)) &&
                copy_if_there(body, "host", answer.host, sizeof(answer.host)) &&
                copy_if_there(body, "error", answer.error, sizeof(answer.error)) &&
                (answer.host[0] != '\0' || answer.error[0] != '\0');
    json_decref(body);
    if (!good)
        return line_problem(0, "{", 1, problem);
    *ret_answer = answer;
    return 0;
}
