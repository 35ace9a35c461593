/* SPDX-License-Identifier: MIT */
/* conduct_ask.c: questions to one machine or to several, and their answers. See conduct.h. */
#include "conduct/conduct_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void take_answer(void *context, struct remote_host *host, int error, int code,
                        json_t *result, const char *line)
{
    struct conduct_answer *answer = context;
    size_t length = strlen(host->name);

    answer->came = true;
    answer->error = error;
    answer->code = code;
    answer->result = error == 0 ? json_incref(result) : NULL;
    if (line != NULL && strncmp(line, host->name, length) == 0 &&
        strncmp(line + length, ": ", 2) == 0)
        line += length + 2;
    snprintf(answer->why, sizeof(answer->why), "%s", line == NULL ? "" : line);
}

void conduct_ask_later(struct conduct *conduct, struct remote_host *host, const char *method,
                       json_t *params, int timeout_ms, struct conduct_answer *answer)
{
    *answer = (struct conduct_answer){.host = host};
    remote_call(conduct->remote, host, method, params, timeout_ms, take_answer, answer);
}

/* They would be answered to a caller that has gone. */
static void give_up(struct conduct *conduct, struct conduct_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (answers[i].host == NULL || answers[i].came)
            continue;
        remote_drop_call(conduct->remote, &answers[i]);
        answers[i].error = -EINTR;
        snprintf(answers[i].why, sizeof(answers[i].why), "interrupted");
    }
}

int conduct_await(struct conduct *conduct, struct conduct_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (answers[i].host != NULL && !answers[i].came) {
            if (conduct_is_interrupted(conduct)) {
                give_up(conduct, answers, count);
                return -EINTR;
            }
            conduct_step(conduct, 50);
        }
    return 0;
}

void conduct_answers_done(struct conduct_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_decref(answers[i].result);
        answers[i].result = NULL;
    }
}

int conduct_ask(struct conduct *conduct, struct remote_host *host, const char *method,
                json_t *params, json_t **ret_result, struct problem *problem)
{
    struct conduct_answer answer;

    conduct_ask_later(conduct, host, method, params, CONDUCT_CALL_MS, &answer);
    conduct_await(conduct, &answer, 1);
    if (answer.error < 0)
        return problem_set(problem, answer.error, "%s: %s", host->name, answer.why);
    if (ret_result != NULL)
        *ret_result = answer.result;
    else
        json_decref(answer.result);
    return 0;
}

int conduct_end_agents(struct conduct *conduct, struct remote_host *const *hosts, size_t count,
                       struct conduct_answer *answers)
{
    for (size_t i = 0; i < count; i++) {
        answers[i] = (struct conduct_answer){.host = NULL};
        if (hosts[i] == NULL || hosts[i]->state != REMOTE_READY)
            continue;
        hosts[i]->ends = true;
        conduct_ask_later(conduct, hosts[i], "agent.end", NULL, 5000, &answers[i]);
    }
    return conduct_await(conduct, answers, count);
}
