/* SPDX-License-Identifier: MIT */
/* notices.c: what agents answer and report. See notices.h. */
#include "conduct/notices.h"

#include "fabric/fabric.h"
#include "show/show.h"

#include <errno.h>
#include <stdio.h>
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

int notice_pid(json_t *said, pid_t *ret_pid, struct problem *problem)
{
    json_int_t number = 0;
    int result = take_number(said, "pid", 1, PID_MOST, &number, problem);

    *ret_pid = (pid_t)number;
    return result;
}

int notice_end(json_t *said, struct process_end *ret_end, struct problem *problem)
{
    json_int_t number = 0;
    bool by_signal = json_object_get(said, "signal") != NULL;
    int result = by_signal ? take_number(said, "signal", 1, SIGNAL_MOST, &number, problem)
                           : take_number(said, "status", 0, 255, &number, problem);

    *ret_end = (struct process_end){.by_signal = by_signal, .number = (int)number};
    return result;
}

/* "" if it is missing. */
static const char *text_of(json_t *said, const char *key)
{
    const char *text = json_string_value(json_object_get(said, key));

    return text == NULL ? "" : text;
}

struct recording_said notice_recording(json_t *said)
{
    return (struct recording_said){
        .active = json_is_true(json_object_get(said, "active")),
        .begun = json_is_true(json_object_get(said, "begun")),
        .caught_up = json_is_true(json_object_get(said, "caught_up")),
        .failed = json_is_true(json_object_get(said, "failed")),
        .reason = text_of(said, "reason"),
        .records = fabric_count(said, "records"),
        .lost = fabric_count(said, "lost"),
        .processes = fabric_count(said, "processes"),
    };
}

const char *notice_early_end(const struct recording_said *said)
{
    static const struct {
        const char *reason, *text;
    } ends[] = {
        {"size", "its trace has reached its largest size"},
        {"disk", "its trace could not be written"},
        {"meter", "the meter or DPM itself failed, or dpmd ended the session"},
        {"agent", "its agent ended"},
    };

    if (!said->begun || said->active)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (strcmp(said->reason, ends[i].reason) == 0)
            return ends[i].text;
    if (said->failed)
        return "not all of it could be sent";
    return said->reason[0] == '\0' || strcmp(said->reason, "complete") == 0 ? NULL
                                                                            : "reason unknown";
}

const char *process_state_word(enum process_state state)
{
    static const char *const words[PROCESS_STATES] = {
        [PROCESS_NEW] = "new",       [PROCESS_RUNNING] = "running",   [PROCESS_STOPPED] = "stopped",
        [PROCESS_KILLED] = "killed", [PROCESS_ACQUIRED] = "acquired",
    };

    return words[state];
}

static int take_state(json_t *said, enum process_state *ret_state, struct problem *problem)
{
    static const char *const words[] = {"new", "running", "stopped", "ended"};
    const char *word = NULL;
    int result = take_text(said, "state", &word, problem);

    if (result < 0)
        return result;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i], word) == 0) {
            *ret_state = (enum process_state)i;
            return 0;
        }
    return problem_set(problem, -EPROTO, "\"state\" is '%.40s'", word);
}

int notice_listed(json_t *said, struct listed_process *ret_listed, struct problem *problem)
{
    struct listed_process listed = {0};
    const char *command = NULL;
    int result = notice_pid(said, &listed.pid, problem);

    if (result == 0)
        result = take_text(said, "recording", &listed.recording, problem);
    if (result == 0)
        result = take_text(said, "command", &command, problem);
    if (result == 0)
        result = take_state(said, &listed.state, problem);
    if (result == 0 && listed.state == PROCESS_KILLED)
        result = notice_end(said, &listed.end, problem);
    if (result < 0)
        return result;
    const char *slash = strrchr(command, '/'), *name = slash == NULL ? command : slash + 1;
    show_text(name, strnlen(name, LISTED_NAME_SIZE - 1), listed.name);
    *ret_listed = listed;
    return 0;
}

static enum notice_kind kind_of(const char *method)
{
    static const struct {
        const char *method;
        enum notice_kind kind;
    } kinds[] = {
        {"process.ended", NOTICE_ENDED},
        {"process.stopped", NOTICE_STOPPED},
        {"process.continued", NOTICE_CONTINUED},
        {"recording.ended", NOTICE_RECORDING_ENDED},
        {"recording.idle", NOTICE_RECORDING_IDLE},
        {"recording.busy", NOTICE_RECORDING_BUSY},
        {"note", NOTICE_NOTE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].method, method) == 0)
            return kinds[i].kind;
    return NOTICE_OTHER;
}

int notice_read(const char *method, json_t *params, struct conduct_notice *ret_notice,
                struct problem *problem)
{
    struct conduct_notice notice = {
        .kind = kind_of(method), .recording = text_of(params, "recording"), .reason = ""};
    struct problem why;
    int result = 0;

    switch (notice.kind) {
    case NOTICE_ENDED:
        result = notice_end(params, &notice.end, &why);
        if (result < 0)
            break;
        __attribute__((fallthrough));
    case NOTICE_STOPPED:
    case NOTICE_CONTINUED:
        result = notice_pid(params, &notice.pid, &why);
        break;
    case NOTICE_RECORDING_ENDED:
        result = take_text(params, "message", &notice.text, &why);
        notice.reason = text_of(params, "reason");
        break;
    case NOTICE_NOTE:
        result = take_text(params, "text", &notice.text, &why);
        break;
    default:
        break;
    }
    *ret_notice = notice;
    return result < 0 ? problem_set(problem, result, "%.40s: %s", method, why.text) : 0;
}
