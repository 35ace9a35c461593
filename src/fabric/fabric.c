/* SPDX-License-Identifier: MIT */
#include "fabric/fabric_internal.h"
#include "fabric/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ASK_TIMEOUT_MS 5000

/* ---- errors of libnats ---- */

int fabric_errno(natsStatus status)
{
    switch (status) {
    case NATS_TIMEOUT:
        return -ETIMEDOUT;
    case NATS_NO_MEMORY:
        return -ENOMEM;
    case NATS_NO_SERVER:
        return -ECONNREFUSED;
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return -EACCES;
    case NATS_NOT_FOUND:
        return -ENOENT;
    case NATS_INVALID_ARG:
    case NATS_ADDRESS_MISSING:
        return -EINVAL;
    case NATS_MAX_PAYLOAD:
        return -E2BIG;
    default:
        return -ENOTCONN;
    }
}

int fabric_problem(struct problem *problem, int error, const char *what, natsStatus status)
{
    natsStatus last = NATS_OK;
    const char *more = nats_GetLastError(&last);

    return problem_set(problem, error, "%s: %s%s%s", what, natsStatus_GetText(status),
                       more != NULL && last == status ? ": " : "",
                       more != NULL && last == status ? more : "");
}

/* What to do about a reason of the server's; NULL: nothing that is known. */
static const char *advice_on(const char *reason)
{
    static const char *const advice[][2] = {
        {"maximum subscriptions", "increase its max_subscriptions"},
        {"maximum connections", "increase its max_connections"},
        {"maximum account active connections", "increase the account's limit of connections"},
        {"maximum payload", "increase its max_payload"},
        {"maximum control line", "increase its max_control_line"},
        {"insufficient storage", "increase its max_file_store"},
        {"JetStream not enabled for account", "enable it for this account"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(advice); i++)
        if (strncasecmp(reason, advice[i][0], strlen(advice[i][0])) == 0)
            return advice[i][1];
    return NULL;
}

/* libnats puts the place in its source before it: "(conn.c:1905): maximum connections exceeded". */
static const char *without_place(const char *text)
{
    const char *end = text[0] == '(' ? strstr(text, "): ") : NULL;

    return end == NULL ? text : end + 3;
}

bool fabric_refusal(const struct fabric *fabric, struct problem *problem)
{
    const char *text = nats_GetLastError(NULL);
    const char *reason = text == NULL ? "" : without_place(text);
    const char *advice = advice_on(reason);

    if (advice != NULL)
        problem_set(problem, -ENOTCONN, "%s: the server refuses the connection: %s: %s",
                    fabric->where, reason, advice);
    return advice != NULL;
}

int fabric_ended_problem(const struct fabric *fabric, struct problem *problem)
{
    const char *reason = NULL;

    natsConnection_GetLastError(fabric->connection, &reason);
    if (reason == NULL || reason[0] == '\0')
        return problem_set(problem, -ENOTCONN, "the server at %s has ended the connection",
                           fabric->where);
    const char *advice = advice_on(reason);
    return problem_set(problem, -ENOTCONN, "the server at %s has ended the connection: %s%s%s",
                       fabric->where, reason, advice == NULL ? "" : ": ",
                       advice == NULL ? "" : advice);
}

int fabric_status_of(natsMsg *message)
{
    const char *text = NULL;

    if (natsMsg_GetDataLength(message) != 0 ||
        natsMsgHeader_Get(message, "Status", &text) != NATS_OK || text == NULL)
        return 0;
    return atoi(text);
}

int fabric_descriptor(const struct fabric *fabric)
{
    return fabric->poll;
}

bool fabric_connected(const struct fabric *fabric)
{
    return natsConnection_Status(fabric->connection) == NATS_CONN_STATUS_CONNECTED;
}

/* ---- JetStream's interface ---- */

static bool is_trouble(const struct arrival *arrival, const void *context)
{
    (void)context;
    return arrival->kind == ARRIVAL_TROUBLE;
}

struct arrival *fabric_take_trouble(struct fabric *fabric)
{
    return fabric_take(fabric, is_trouble, NULL, 0);
}

/* A request that is not permitted is not answered: why comes as an error of the connection. */
static int unanswered(struct fabric *fabric, const char *what, natsStatus status,
                      struct problem *problem)
{
    struct arrival *trouble = fabric_take_trouble(fabric);

    if (trouble == NULL && status == NATS_CONNECTION_CLOSED)
        return fabric_ended_problem(fabric, problem);
    if (trouble == NULL)
        return problem_set(problem, fabric_errno(status), "%s: no answer of the server at %s: %s",
                           what, fabric->where, natsStatus_GetText(status));
    problem_set(problem, -EACCES, "%s: the server at %s: %s", what, fabric->where, trouble->text);
    fabric_arrival_free(trouble);
    return -EACCES;
}

int fabric_ask(struct fabric *fabric, const char *what, const char *subject, const char *body,
               json_t **ret_body, struct problem *problem)
{
    natsMsg *reply = NULL;
    natsStatus status = nats_library_request(&reply, fabric->connection, subject,
                                             body == NULL ? "" : body, ASK_TIMEOUT_MS);

    if (status == NATS_NO_RESPONDERS)
        return problem_set(problem, -EOPNOTSUPP, "%s: the server at %s has no JetStream: enable it",
                           what, fabric->where);
    if (status != NATS_OK)
        return unanswered(fabric, what, status, problem);
    json_t *answer =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    natsMsg_Destroy(reply);
    const json_t *error = json_object_get(answer, "error");
    if (json_is_object(answer) && error == NULL) {
        *ret_body = answer;
        return 0;
    }
    const char *text = json_string_value(json_object_get(error, "description"));
    int result = json_integer_value(json_object_get(error, "code")) == 404 ? -ENOENT : -EIO;
    const char *advice = text == NULL ? NULL : advice_on(text);
    problem_set(problem, result, "%s: the server at %s: %s%s%s", what, fabric->where,
                text != NULL ? text : "not a valid answer", advice == NULL ? "" : ": ",
                advice == NULL ? "" : advice);
    json_decref(answer);
    return result;
}

/* ---- next ---- */

void fabric_arm(struct fabric *fabric)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    uint64_t due = said_due(fabric);

    for (struct outbox *outbox = fabric->outboxes; outbox != NULL; outbox = outbox_next(outbox)) {
        uint64_t its = outbox_due(outbox);
        due = its < due ? its : due;
    }
    uint64_t wait = due == UINT64_MAX ? 0 : due <= now ? 1 : due - now; /* 0: never */
    struct itimerspec timer = {
        .it_value = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)}};
    timerfd_settime(fabric->timer, 0, &timer, NULL);
}

void fabric_pump(struct fabric *fabric)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    pthread_mutex_lock(&fabric->lock);
    bool again = fabric->reconnections != fabric->reconnections_seen;
    fabric->reconnections_seen = fabric->reconnections;
    pthread_mutex_unlock(&fabric->lock);
    for (struct outbox *outbox = fabric->outboxes; outbox != NULL; outbox = outbox_next(outbox)) {
        if (again)
            outbox_go_back(outbox);
        outbox_pump(outbox, now);
    }
    if (again)
        said_reconnected(fabric);
    said_pump(fabric, now);
}

static int state_message(struct fabric *fabric, const struct arrival *arrival,
                         struct fabric_message *ret_message)
{
    ret_message->kind = FABRIC_STATE;
    ret_message->state = arrival->state;
    if (arrival->state == FABRIC_CONNECTED) {
        snprintf(ret_message->text, sizeof(ret_message->text), "%s: connected again",
                 fabric->where);
    } else if (arrival->state == FABRIC_DISCONNECTED) {
        snprintf(ret_message->text, sizeof(ret_message->text),
                 "%s: the connection was lost; trying again", fabric->where);
    } else {
        snprintf(ret_message->text, sizeof(ret_message->text), "%s: the connection has ended: %s",
                 fabric->where, arrival->text[0] == '\0' ? "closed" : arrival->text);
    }
    return 1;
}

/* PREFIX.TOKEN.c.MACHINE.NUMBER, .o.OUTBOX.NUMBER, .l.GENERATION, .u */
static int handle_reply(struct fabric *fabric, struct arrival *arrival,
                        struct fabric_message *ret_message)
{
    const char *rest = natsMsg_GetSubject(arrival->message);
    size_t inbox = strlen(fabric->inbox);
    char machine[FABRIC_NAME_MOST + 1];
    unsigned generation;
    uint64_t id, number;
    char end;

    if (strncmp(rest, fabric->inbox, inbox) != 0) /* a stored message keeps its subject */
        return said_stored(fabric, arrival, ret_message);
    rest += inbox;
    if (sscanf(rest, ".c.%63[a-z0-9-].%" SCNu64 "%c", machine, &number, &end) == 2)
        return calls_reply(machine, number, arrival, ret_message);
    if (strcmp(rest, ".u") == 0) {
        usage_reply(fabric, arrival->message);
        return 0;
    }
    if (sscanf(rest, ".l.%u%c", &generation, &end) == 1)
        return said_reply(fabric, generation, arrival->message);
    if (sscanf(rest, ".o.%" SCNu64 ".%" SCNu64 "%c", &id, &number, &end) != 2)
        return 0;
    struct outbox *outbox = outbox_find(fabric, id);
    if (outbox == NULL || outbox_reply(outbox, number, arrival->message, ret_message->text) == 0)
        return 0;
    ret_message->kind = FABRIC_TROUBLE;
    return 1;
}

/* Returns 1 if the caller is to see it. */
static int handle(struct fabric *fabric, struct arrival *arrival,
                  struct fabric_message *ret_message)
{
    switch (arrival->kind) {
    case ARRIVAL_REPLY:
        return handle_reply(fabric, arrival, ret_message);
    case ARRIVAL_REQUEST:
        return calls_request(fabric, arrival, ret_message);
    case ARRIVAL_STATE:
        return state_message(fabric, arrival, ret_message);
    case ARRIVAL_TROUBLE:
        if (usage_is_refused(fabric, arrival->text))
            return 0;
        ret_message->kind = FABRIC_TROUBLE;
        snprintf(ret_message->text, sizeof(ret_message->text), "%s: %s", fabric->where,
                 arrival->text);
        return 1;
    }
    return 0;
}

static void drain(int descriptor)
{
    uint64_t count;

    if (read(descriptor, &count, sizeof(count)) < 0)
        return; /* nothing was there */
}

int fabric_next(struct fabric *fabric, struct fabric_message *ret_message)
{
    int found = 0;

    drain(fabric->events);
    drain(fabric->timer);
    *ret_message = (struct fabric_message){.held = NULL};
    for (struct arrival *arrival;
         found == 0 && (arrival = fabric_take(fabric, NULL, NULL, 0)) != NULL;) {
        found = handle(fabric, arrival, ret_message);
        fabric_arrival_free(arrival);
    }
    fabric_pump(fabric);
    fabric_arm(fabric);
    if (found != 0)
        fabric_wake(fabric); /* there may be more */
    return found;
}

void fabric_message_done(struct fabric_message *message)
{
    struct held *held = message->held;

    if (held != NULL) {
        natsMsg_Destroy(held->message);
        json_decref(held->body);
        free(held);
    }
    *message = (struct fabric_message){.held = NULL};
}

/* ---- settling ---- */

struct settling {
    const char *prefix; /* of replies to outboxes */
};

static bool is_acknowledgement(const struct arrival *arrival, const void *context)
{
    const struct settling *settling = context;

    return arrival->kind == ARRIVAL_REPLY &&
           strncmp(natsMsg_GetSubject(arrival->message), settling->prefix,
                   strlen(settling->prefix)) == 0;
}

/* Returns how many messages are not stored, and the reason of the last outbox that has one. */
static unsigned count_pending(const struct fabric *fabric, char reason[256])
{
    unsigned pending = 0;

    reason[0] = '\0';
    for (struct outbox *outbox = fabric->outboxes; outbox != NULL; outbox = outbox_next(outbox)) {
        struct fabric_publisher_state state;
        outbox_look(outbox, &state);
        pending += state.pending;
        if (state.reason[0] != '\0')
            memcpy(reason, state.reason, sizeof(state.reason));
    }
    return pending;
}

int fabric_settle(struct fabric *fabric, int timeout_ms, struct problem *problem)
{
    char prefix[FABRIC_SUBJECT_SIZE], reason[256];
    struct settling settling = {prefix};
    struct fabric_message message = {.held = NULL};
    uint64_t until = clock_now(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * MILLISECONDS;
    unsigned pending;

    snprintf(prefix, sizeof(prefix), "%s.o.", fabric->inbox);
    while ((pending = count_pending(fabric, reason)) > 0 && clock_now(CLOCK_MONOTONIC) < until) {
        fabric_pump(fabric);
        struct arrival *arrival = fabric_take(fabric, is_acknowledgement, &settling, 50);
        if (arrival != NULL)
            handle_reply(fabric, arrival, &message);
        fabric_arrival_free(arrival);
    }
    fabric_arm(fabric);
    fabric_wake(fabric);
    if (pending == 0)
        return 0;
    return problem_set(problem, -ETIMEDOUT, "%s: %u message%s not stored yet%s%s", fabric->where,
                       pending, pending == 1 ? " is" : "s are", reason[0] == '\0' ? "" : ": ",
                       reason);
}
