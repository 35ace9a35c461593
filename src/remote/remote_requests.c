/* SPDX-License-Identifier: MIT */
/* remote_requests.c: requests that wait for their answers. See remote_requests.h. */
#include "remote/remote_requests.h"
#include "remote/remote_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_AFTER 100000000ULL /* ns */
#define LAST_WORDS                                                                                 \
    2000000000ULL /* ns: for an answer that was on its way when the connection was given up */

void remote_call(struct remote *remote, struct remote_host *host, const char *method,
                 json_t *params, int timeout_ms, remote_answer answer, void *context)
{
    struct remote_calls *calls = &remote->calls;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (array_reserve(&calls->list, &calls->capacity, calls->count + 1, sizeof(*calls->list)) < 0) {
        json_decref(params);
        if (answer != NULL)
            answer(context, host,
                   &(struct remote_reply){.error = -ENOMEM, .line = "out of memory"});
        return;
    }
    calls->list[calls->count++] = (struct remote_call){
        .host = host,
        .method = method,
        .params = params,
        .deadline = now + (uint64_t)timeout_ms * 1000000,
        .due = now,
        .answer = answer,
        .context = context,
    };
}

/* The list may change while the answer is taken: it may call again. */
static void finish(struct remote *remote, size_t index, int error, int code, json_t *result,
                   const char *text)
{
    struct remote_calls *calls = &remote->calls;
    struct remote_call call = calls->list[index];
    size_t length = strlen(call.host->machine);
    char line[640];

    calls->list[index] = calls->list[--calls->count];
    if (text != NULL && strncmp(text, call.host->machine, length) == 0 &&
        strncmp(text + length, ": ", 2) == 0)
        text += length + 2; /* the fabric knows the machine's name, the user the host's */
    snprintf(line, sizeof(line), "%s: %s", call.host->name, text == NULL ? "" : text);
    const struct remote_reply reply = {error, code, result, line};
    if (call.answer != NULL)
        call.answer(call.context, call.host, &reply);
    json_decref(call.params);
}

/* Nobody has heard it: the agent is not connected yet, or not now. */
static bool unheard(int error)
{
    return error == -EHOSTUNREACH || error == -ENOTCONN;
}

static void send(struct remote *remote, struct remote_call *call, uint64_t now)
{
    struct problem problem = {""};
    int64_t number = fabric_call_begin(remote->fabric, call->host->machine, call->method,
                                       call->params, &problem);

    call->number = number > 0 ? number : 0;
    call->due = now + AGAIN_AFTER;
    if (number < 0 && !unheard((int)number))
        finish(remote, (size_t)(call - remote->calls.list), (int)number, 0, NULL, problem.text);
}

void remote_calls_take(struct remote *remote, const struct fabric_message *message)
{
    for (size_t i = 0; i < remote->calls.count; i++) {
        struct remote_call *call = &remote->calls.list[i];
        if (call->number != (int64_t)message->call)
            continue;
        call->number = 0;
        call->due = clock_now(CLOCK_MONOTONIC) + AGAIN_AFTER;
        if (!unheard(message->error))
            finish(remote, i, message->error, message->code, message->result, message->text);
        return;
    }
}

void remote_calls_step(struct remote *remote)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (size_t i = remote->calls.count; i-- > 0;) {
        if (i >= remote->calls.count)
            continue; /* others ended, too */
        struct remote_call *call = &remote->calls.list[i];
        bool out = call->host->state == REMOTE_OUT;
        if (out && call->deadline > now + LAST_WORDS)
            call->deadline = now + LAST_WORDS;
        if (now >= call->deadline && !out)
            finish(remote, i, -ETIMEDOUT, 0, NULL, "its agent does not answer");
        else if (out && (call->number == 0 || now >= call->deadline))
            finish(remote, i, -ENOTCONN, 0, NULL, "it cannot be reached any more");
        else if (call->number == 0 && now >= call->due &&
                 (call->host->state == REMOTE_READY || call->host->state == REMOTE_LINKED))
            send(remote, call, now);
    }
}

/* Those that do no harm if the agent has heard them already, and only its answer was lost. */
static bool may_be_repeated(const struct remote_call *call)
{
    static const char *const methods[] = {
        "recording.end", "recording.state", "recording.rules", "recording.flush",
        "process.list",  "program.has",     "agent.end",
    };

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i], call->method) == 0)
            return true;
    return strcmp(call->method, "process.input") == 0 &&
           json_object_get(call->params, "at") != NULL;
}

void remote_calls_again(struct remote *remote, const struct remote_host *host)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (size_t i = 0; i < remote->calls.count; i++) {
        struct remote_call *call = &remote->calls.list[i];
        if (call->host != host || !may_be_repeated(call))
            continue;
        call->number = 0;
        call->due = now;
    }
}

void remote_calls_refused(struct remote *remote, const char *text)
{
    struct remote_calls *calls = &remote->calls;
    char subject[FABRIC_NAME_MOST * 2 + 40], line[480];

    for (size_t i = calls->count; i-- > 0;) {
        if (i >= calls->count)
            continue; /* others ended, too */
        snprintf(subject, sizeof(subject), "for Publish to \"dpm.%s.%s.control\"", remote->session,
                 calls->list[i].host->machine);
        if (strstr(text, subject) == NULL)
            continue;
        snprintf(line, sizeof(line),
                 "the server does not pass on what its agent is asked: %s: allow it", text);
        finish(remote, i, -EACCES, 0, NULL, line);
    }
}

void remote_drop_call(struct remote *remote, const void *context)
{
    struct remote_calls *calls = &remote->calls;

    for (size_t i = calls->count; i-- > 0;)
        if (calls->list[i].context == context) {
            json_decref(calls->list[i].params);
            calls->list[i] = calls->list[--calls->count];
        }
}

void remote_calls_done(struct remote_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        json_decref(calls->list[i].params);
    free(calls->list);
    *calls = (struct remote_calls){0};
}
