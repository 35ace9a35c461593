/* SPDX-License-Identifier: MIT */
/* conduct_ask.c: questions to one machine or to several, and their answers. See conduct.h. */
#include "conduct/conduct_private.h"
#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_answer(void *context, struct remote_host *host, const struct remote_reply *reply)
{
    struct conduct_answer *answer = context;
    const char *line = reply->line;
    size_t length = strlen(host->name);

    answer->came = true;
    answer->error = reply->error;
    answer->code = reply->code;
    answer->result = reply->error == 0 ? json_incref(reply->result) : NULL;
    if (line != NULL && strncmp(line, host->name, length) == 0 &&
        strncmp(line + length, ": ", 2) == 0)
        line += length + 2;
    snprintf(answer->why, sizeof(answer->why), "%s", line == NULL ? "" : line);
}

void conduct_ask_later(struct conduct *conduct, struct remote_host *host, const char *method,
                       json_t *params, int timeout_ms, struct conduct_answer *answer)
{
    struct remote_host *again;
    struct problem problem;

    *answer = (struct conduct_answer){.host = host};
    if (conduct->options.again && host->state == REMOTE_OUT)
        remote_add(conduct->remote, host->name, &again, &problem);
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
        snprintf(answers[i].why, sizeof(answers[i].why), "%s",
                 conduct->options.interrupted == NULL ? "interrupted"
                                                      : conduct->options.interrupted);
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

int conduct_answer_take(struct conduct_answer *answer, json_t **ret_result, struct problem *problem)
{
    if (answer->error < 0)
        return problem_set(problem, answer->error, "%s: %s", answer->host->name, answer->why);
    if (ret_result != NULL)
        *ret_result = json_incref(answer->result);
    conduct_answers_done(answer, 1);
    return 0;
}

int conduct_ask(struct conduct *conduct, struct remote_host *host, const char *method,
                json_t *params, json_t **ret_result, struct problem *problem)
{
    struct conduct_answer answer;

    conduct_ask_later(conduct, host, method, params, CONDUCT_CALL_MS, &answer);
    conduct_await(conduct, &answer, 1);
    return conduct_answer_take(&answer, ret_result, problem);
}

json_t *request_recording(const char *recording)
{
    return json_pack("{s:s}", "recording", recording);
}

json_t *request_flags(const char *recording, uint64_t flags)
{
    char text[METER_FLAGS_TEXT_SIZE];

    meter_flags_text(flags, text);
    return json_pack("{s:s, s:s}", "recording", recording, "flags", text);
}

/* ---- all ---- */

int conduct_ask_all(struct conduct *conduct, const struct conduct_question *question)
{
    int timeout_ms = question->timeout_ms != 0 ? question->timeout_ms : CONDUCT_CALL_MS;
    size_t count = remote_count(conduct->remote);
    struct conduct_answer *answers = calloc(count + 1, sizeof(*answers));

    if (answers == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct remote_host *host = remote_at(conduct->remote, i);
        if (question->asks == NULL ? host->state == REMOTE_OUT
                                   : !question->asks(question->context, host))
            continue;
        json_t *params =
            question->params == NULL ? NULL : question->params(question->context, host);
        conduct_ask_later(conduct, host, question->method, params, timeout_ms, &answers[i]);
    }
    int result = conduct_await(conduct, answers, count);
    for (size_t i = 0; question->took != NULL && i < count; i++)
        if (answers[i].host != NULL)
            question->took(question->context, answers[i].host, &answers[i]);
    conduct_answers_done(answers, count);
    free(answers);
    return result;
}

static bool is_ending(void *context, struct remote_host *host)
{
    (void)context;
    return host->ends && host->state == REMOTE_READY;
}

int conduct_end_agents(struct conduct *conduct, const struct conduct_question *question)
{
    struct conduct_question ending = {.timeout_ms = CONDUCT_END_MS};

    if (question != NULL)
        ending = *question;
    for (size_t i = 0; i < remote_count(conduct->remote); i++) {
        struct remote_host *host = remote_at(conduct->remote, i);
        if (host->state == REMOTE_READY &&
            (ending.asks == NULL || ending.asks(ending.context, host)))
            host->ends = true;
    }
    ending.method = "agent.end";
    ending.asks = is_ending;
    ending.params = NULL;
    return conduct_ask_all(conduct, &ending);
}
