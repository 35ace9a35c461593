/* SPDX-License-Identifier: MIT */
/* job_said.c: what agents answer and report. See job_said.h. */
#include "job/job_said.h"

#include "show/show.h"

#include <errno.h>
#include <string.h>

#define PID_MOST    4194304 /* PID_MAX_LIMIT of Linux */
#define SIGNAL_MOST 64

/* A whole number in these bounds. */
static int take_number(json_t *said, const char *key, json_int_t least, json_int_t most,
                       json_int_t *ret_number, struct problem *problem)
{
    json_t *number = json_object_get(said, key);

    if (!json_is_integer(number))
        return problem_set(problem, -EPROTO, "\"%s\" is not a number, or missing", key);
    *ret_number = json_integer_value(number);
    if (*ret_number < least || *ret_number > most)
        return problem_set(problem, -EPROTO, "\"%s\" is %" JSON_INTEGER_FORMAT, key, *ret_number);
    return 0;
}

static int take_text(json_t *said, const char *key, const char **ret_text, struct problem *problem)
{
    *ret_text = json_string_value(json_object_get(said, key));
    return *ret_text == NULL
               ? problem_set(problem, -EPROTO, "\"%s\" is not a text, or missing", key)
               : 0;
}

int job_said_pid(json_t *said, pid_t *ret_pid, struct problem *problem)
{
    json_int_t number = 0;
    int result = take_number(said, "pid", 1, PID_MOST, &number, problem);

    *ret_pid = (pid_t)number;
    return result;
}

int job_said_end(json_t *said, struct job_end *ret_end, struct problem *problem)
{
    json_int_t number = 0;
    bool by_signal = json_object_get(said, "signal") != NULL;
    int result = by_signal ? take_number(said, "signal", 1, SIGNAL_MOST, &number, problem)
                           : take_number(said, "status", 0, 255, &number, problem);

    *ret_end = (struct job_end){.by_signal = by_signal, .number = (int)number};
    return result;
}

static int take_state(json_t *said, enum job_said_state *ret_state, struct problem *problem)
{
    static const char *const words[] = {"new", "running", "stopped", "ended"};
    const char *word = NULL;
    int result = take_text(said, "state", &word, problem);

    if (result < 0)
        return result;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i], word) == 0) {
            *ret_state = (enum job_said_state)i;
            return 0;
        }
    return problem_set(problem, -EPROTO, "\"state\" is '%.40s'", word);
}

int job_said_listed(json_t *said, struct job_listed *ret_listed, struct problem *problem)
{
    struct job_listed listed = {0};
    const char *command = NULL;
    int result = job_said_pid(said, &listed.pid, problem);

    if (result == 0)
        result = take_text(said, "recording", &listed.recording, problem);
    if (result == 0)
        result = take_text(said, "command", &command, problem);
    if (result == 0)
        result = take_state(said, &listed.state, problem);
    if (result == 0 && listed.state == JOB_SAID_ENDED)
        result = job_said_end(said, &listed.end, problem);
    if (result < 0)
        return result;
    const char *slash = strrchr(command, '/'), *name = slash == NULL ? command : slash + 1;
    show_text(name, strnlen(name, JOB_NAME_SIZE - 1), listed.name);
    *ret_listed = listed;
    return 0;
}

static enum job_notice_kind kind_of(const char *method)
{
    static const struct {
        const char *method;
        enum job_notice_kind kind;
    } kinds[] = {
        {"process.ended", JOB_NOTICE_ENDED},
        {"process.stopped", JOB_NOTICE_STOPPED},
        {"process.continued", JOB_NOTICE_CONTINUED},
        {"recording.ended", JOB_NOTICE_RECORDING_ENDED},
        {"note", JOB_NOTICE_NOTE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].method, method) == 0)
            return kinds[i].kind;
    return JOB_NOTICE_OTHER;
}

int job_said_notice(const char *method, json_t *params, struct job_notice *ret_notice,
                    struct problem *problem)
{
    struct job_notice notice = {.kind = kind_of(method)};
    struct problem why;
    int result = 0;

    switch (notice.kind) {
    case JOB_NOTICE_ENDED:
        result = job_said_end(params, &notice.end, &why);
        if (result < 0)
            break;
        __attribute__((fallthrough));
    case JOB_NOTICE_STOPPED:
    case JOB_NOTICE_CONTINUED:
        result = job_said_pid(params, &notice.pid, &why);
        break;
    case JOB_NOTICE_RECORDING_ENDED:
        result = take_text(params, "message", &notice.text, &why);
        break;
    case JOB_NOTICE_NOTE:
        result = take_text(params, "text", &notice.text, &why);
        break;
    default:
        break;
    }
    *ret_notice = notice;
    return result < 0 ? problem_set(problem, result, "%.40s: %s", method, why.text) : 0;
}
