/* SPDX-License-Identifier: MIT */
/*
 * live_questions.c: GET /why?from=NS&to=NS&pid=PID: the connection sleeps in the library until a child has answered (live_why.h).
 * See live_server_private.h.
 */
#include "command/live/live_server_private.h"

#ifdef DPM_HAS_MICROHTTPD

#include "command/live/live_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_MOST 60000000000u /* ns */

/* Digits alone. Returns whether the argument is there and at most `most`. */
static bool take_number(struct MHD_Connection *connection, const char *name, uint64_t most,
                        uint64_t *ret_number)
{
    const char *text = mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    size_t length = text == NULL ? 0 : strspn(text, "0123456789");

    if (length == 0 || length > 18 || text[length] != '\0')
        return false;
    *ret_number = strtoull(text, NULL, 10);
    return *ret_number <= most;
}

static bool take_question(struct MHD_Connection *connection, struct live_why_question *question)
{
    uint64_t pid = 0;
    bool has_pid = mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "pid") != NULL;

    if (!take_number(connection, "from", INT64_MAX, &question->from) ||
        !take_number(connection, "to", INT64_MAX, &question->to) ||
        (has_pid && !take_number(connection, "pid", INT32_MAX, &pid)))
        return false;
    question->pid = (uint32_t)pid;
    return question->from < question->to && question->to - question->from <= SPAN_MOST;
}

/* In the thread of the answer. */
static void take_answer(void *context, char *text)
{
    struct live_server *server = context;

    pthread_mutex_lock(&server->mutex);
    struct live_question *question = server->question;
    question->text = text;
    if (question->reader != NULL) {
        question->reader->is_idle = false;
        question->reader->since = clock_now(CLOCK_MONOTONIC);
    }
    struct MHD_Connection *connection = question->connection;
    pthread_mutex_unlock(&server->mutex);
    mhd.resume_connection(connection);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, const char *text)
{
    struct MHD_Response *response = mhd.create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

    if (response == NULL)
        return MHD_NO;
    mhd.add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    mhd.add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result result = mhd.queue_response(connection, MHD_HTTP_OK, response);
    mhd.destroy_response(response);
    return result;
}

static void end_question(struct live_server *server, struct live_question *question)
{
    pthread_mutex_lock(&server->mutex);
    server->question = NULL;
    pthread_mutex_unlock(&server->mutex);
    free(question->text);
    free(question);
}

/* The library must know that it sleeps before it can be woken. */
static enum MHD_Result begin_question(struct live_server *server, struct MHD_Connection *connection,
                                      const struct live_why_question *asked, void **state)
{
    struct live_question *question = calloc(1, sizeof(*question));
    void *before = *state;

    if (question == NULL)
        return MHD_NO;
    *question =
        (struct live_question){.connection = connection, .reader = live_reader_of(connection)};
    pthread_mutex_lock(&server->mutex);
    server->question = question;
    if (question->reader != NULL)
        question->reader->is_idle = true;
    pthread_mutex_unlock(&server->mutex);
    *state = question;
    mhd.suspend_connection(connection);
    int result = live_why_ask(server->why, asked, take_answer, server);
    if (result == 0)
        return MHD_YES;
    *state = before;
    mhd.resume_connection(connection);
    end_question(server, question);
    return live_send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                          result == -ENOENT ? "There are no traces yet.\n"
                                            : "Another question is being answered: ask again.\n");
}

enum MHD_Result live_question_answer(struct live_server *server, struct MHD_Connection *connection,
                                     void **state)
{
    struct live_why_question asked = {0};

    pthread_mutex_lock(&server->mutex);
    struct live_question *open = server->question;
    bool is_it = open != NULL && *state == open;
    pthread_mutex_unlock(&server->mutex);
    if (is_it)
        return send_answer(connection, open->text == NULL ? "Out of memory.\n" : open->text);
    if (server->why == NULL)
        return live_send_text(connection, MHD_HTTP_NOT_FOUND, "Nothing answers this here.\n");
    if (!take_question(connection, &asked))
        return live_send_text(connection, MHD_HTTP_BAD_REQUEST,
                              "Ask /why?from=NS&to=NS, of at most 60 s, and maybe &pid=PID.\n");
    if (open != NULL)
        return live_send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                              "Another question is being answered: ask again.\n");
    return begin_question(server, connection, &asked, state);
}

bool live_question_is(struct live_server *server, const void *state, bool ends)
{
    pthread_mutex_lock(&server->mutex);
    struct live_question *open = server->question;
    pthread_mutex_unlock(&server->mutex);
    bool is_it = open != NULL && state == open;
    if (is_it && ends)
        end_question(server, open);
    return is_it;
}

#endif
