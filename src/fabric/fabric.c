/* SPDX-License-Identifier: MIT */
#include "fabric/fabric_internal.h"
#include "fabric/fabric_names.h"
#include "fabric/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define REQUESTS_MOST 256 /* that wait for fabric_next; then libnats keeps them, and the server */
#define TROUBLES_MOST 32
#define SERVERS_MOST  16

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

int fabric_status_of(natsMsg *message)
{
    const char *text = NULL;

    if (natsMsg_GetDataLength(message) != 0 ||
        natsMsgHeader_Get(message, "Status", &text) != NATS_OK || text == NULL)
        return 0;
    return atoi(text);
}

/* ---- arrivals ---- */

void fabric_arrival_free(struct arrival *arrival)
{
    if (arrival == NULL)
        return;
    natsMsg_Destroy(arrival->message);
    free(arrival);
}

void fabric_wake(struct fabric *fabric)
{
    uint64_t one = 1;

    if (write(fabric->events, &one, sizeof(one)) < 0)
        return; /* it is full: readable anyway */
}

/* In a thread of libnats. Requests wait for space: their subscription has a thread of its own. */
static void arrived(struct fabric *fabric, enum arrival_kind kind, natsMsg *message,
                    enum fabric_state state, const char *text)
{
    struct arrival *arrival = calloc(1, sizeof(*arrival));

    if (arrival == NULL) { /* a lost acknowledgement is sent again, a lost reply takes too long */
        natsMsg_Destroy(message);
        return;
    }
    *arrival = (struct arrival){.kind = kind, .message = message, .state = state};
    snprintf(arrival->text, sizeof(arrival->text), "%s", text);
    pthread_mutex_lock(&fabric->lock);
    while (kind == ARRIVAL_REQUEST && fabric->waiting >= REQUESTS_MOST && !fabric->closing)
        pthread_cond_wait(&fabric->changed, &fabric->lock);
    if (fabric->closing || (kind == ARRIVAL_TROUBLE && fabric->troubles >= TROUBLES_MOST)) {
        pthread_mutex_unlock(&fabric->lock);
        fabric_arrival_free(arrival);
        return;
    }
    fabric->troubles += kind == ARRIVAL_TROUBLE;
    *fabric->arrivals_end = arrival;
    fabric->arrivals_end = &arrival->next;
    fabric->waiting++;
    pthread_cond_broadcast(&fabric->changed);
    pthread_mutex_unlock(&fabric->lock);
    fabric_wake(fabric);
}

/* Under the lock. */
static struct arrival *unlink_wanted(struct fabric *fabric,
                                     bool (*wanted)(const struct arrival *, const void *),
                                     const void *context)
{
    struct arrival **link = &fabric->arrivals;

    while (*link != NULL && wanted != NULL && !wanted(*link, context))
        link = &(*link)->next;
    struct arrival *arrival = *link;
    if (arrival == NULL)
        return NULL;
    *link = arrival->next;
    if (*link == NULL)
        fabric->arrivals_end = link;
    arrival->next = NULL;
    fabric->waiting--;
    fabric->troubles -= arrival->kind == ARRIVAL_TROUBLE;
    pthread_cond_broadcast(&fabric->changed);
    return arrival;
}

struct arrival *fabric_take(struct fabric *fabric,
                            bool (*wanted)(const struct arrival *arrival, const void *context),
                            const void *context, int timeout_ms)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000l;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&fabric->lock);
    struct arrival *arrival = unlink_wanted(fabric, wanted, context);
    while (arrival == NULL && timeout_ms > 0 && error == 0) {
        error = pthread_cond_timedwait(&fabric->changed, &fabric->lock, &until);
        arrival = unlink_wanted(fabric, wanted, context);
    }
    pthread_mutex_unlock(&fabric->lock);
    return arrival;
}

struct held *fabric_hold(struct fabric_message *message, struct arrival *arrival,
                         const char *machine)
{
    struct held *held = calloc(1, sizeof(*held));

    if (held == NULL)
        return NULL;
    held->message = arrival->message;
    arrival->message = NULL;
    snprintf(held->machine, sizeof(held->machine), "%s", machine);
    message->machine = held->machine;
    message->held = held;
    return held;
}

static void on_reply(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *context)
{
    (void)nc;
    (void)sub;
    arrived(context, ARRIVAL_REPLY, message, 0, "");
}

static void on_request(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *context)
{
    (void)nc;
    (void)sub;
    arrived(context, ARRIVAL_REQUEST, message, 0, "");
}

static void on_error(natsConnection *connection, natsSubscription *sub, natsStatus error,
                     void *context)
{
    const char *text = NULL;

    (void)sub;
    if (natsConnection_GetLastError(connection, &text) == NATS_OK || text == NULL)
        text = natsStatus_GetText(error);
    arrived(context, ARRIVAL_TROUBLE, NULL, 0, text);
}

static void on_disconnected(natsConnection *nc, void *context)
{
    (void)nc;
    arrived(context, ARRIVAL_STATE, NULL, FABRIC_DISCONNECTED, "");
}

static void on_reconnected(natsConnection *nc, void *context)
{
    struct fabric *fabric = context;

    (void)nc;
    pthread_mutex_lock(&fabric->lock);
    fabric->reconnections++;
    pthread_mutex_unlock(&fabric->lock);
    arrived(fabric, ARRIVAL_STATE, NULL, FABRIC_CONNECTED, "");
}

/* A callback that may be the last one of its kind. */
static void finished(void *context)
{
    struct fabric *fabric = context;

    pthread_mutex_lock(&fabric->lock);
    fabric->running--;
    pthread_cond_broadcast(&fabric->changed);
    pthread_mutex_unlock(&fabric->lock);
}

static void on_closed(natsConnection *connection, void *context)
{
    const char *text = NULL;

    natsConnection_GetLastError(connection, &text);
    arrived(context, ARRIVAL_STATE, NULL, FABRIC_ENDED, text == NULL ? "" : text);
    finished(context);
}

/* ---- opening ---- */

static natsStatus set_servers(natsOptions *options, char *urls)
{
    const char *servers[SERVERS_MOST];
    int count = 0;

    for (char *save, *url = strtok_r(urls, ",", &save); url != NULL && count < SERVERS_MOST;
         url = strtok_r(NULL, ",", &save))
        servers[count++] = url;
    return natsOptions_SetServers(options, servers, count);
}

/* The first line of a file of credentials: the beginning of a .creds file, or user:password. */
static int read_credentials(const char *path, char *line, size_t size, struct problem *problem)
{
    FILE *file = fopen(path, "re");

    if (file == NULL)
        return problem_set(problem, -errno, "%s: %s", path, strerror(errno));
    if (fgets(line, (int)size, file) == NULL)
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    return 0;
}

static int set_credentials(struct fabric *fabric, const struct fabric_options *options,
                           struct problem *problem)
{
    char line[512];
    natsStatus status;

    if (options->credentials == NULL) {
        status = options->user == NULL
                     ? NATS_OK
                     : natsOptions_SetUserInfo(fabric->options, options->user, options->password);
        return status == NATS_OK ? 0 : fabric_problem(problem, -EINVAL, "credentials", status);
    }
    int error = read_credentials(options->credentials, line, sizeof(line), problem);
    if (error != 0)
        return error;
    char *colon = strchr(line, ':');
    if (strstr(line, "BEGIN NATS USER JWT") != NULL) {
        status =
            natsOptions_SetUserCredentialsFromFiles(fabric->options, options->credentials, NULL);
    } else if (colon != NULL) {
        *colon = '\0';
        status = natsOptions_SetUserInfo(fabric->options, line, colon + 1);
    } else {
        return problem_set(problem, -EINVAL,
                           "%s: neither a .creds file of NATS nor a line user:password",
                           options->credentials);
    }
    explicit_bzero(line, sizeof(line));
    return status == NATS_OK ? 0 : fabric_problem(problem, -EINVAL, options->credentials, status);
}

static int set_options(struct fabric *fabric, const struct fabric_options *options, char *prefix,
                       int timeout_ms, struct problem *problem)
{
    char *urls = strdup(options->url);
    natsStatus status = urls == NULL ? NATS_NO_MEMORY : natsOptions_Create(&fabric->options);
    natsOptions *to = fabric->options;

    if (status == NATS_OK)
        status = set_servers(to, urls);
    free(urls);
    /* What cannot be sent while there is no connection is not kept by libnats: it would be sent behind its successors. */
    if (status != NATS_OK || (status = natsOptions_SetReconnectBufSize(to, 0)) != NATS_OK ||
        (status = natsOptions_SetTimeout(to, timeout_ms)) != NATS_OK ||
        (status = natsOptions_SetAllowReconnect(to, true)) != NATS_OK ||
        (status = natsOptions_SetMaxReconnect(to, -1)) != NATS_OK ||
        (status = natsOptions_SetReconnectWait(to, 250)) != NATS_OK ||
        (status = natsOptions_SetPingInterval(to, 10000)) != NATS_OK ||
        (status = natsOptions_SetMaxPingsOut(to, 3)) != NATS_OK ||
        (status = natsOptions_SetCustomInboxPrefix(to, prefix)) != NATS_OK ||
        (status = natsOptions_SetErrorHandler(to, on_error, fabric)) != NATS_OK ||
        (status = natsOptions_SetDisconnectedCB(to, on_disconnected, fabric)) != NATS_OK ||
        (status = natsOptions_SetReconnectedCB(to, on_reconnected, fabric)) != NATS_OK ||
        (status = natsOptions_SetClosedCB(to, on_closed, fabric)) != NATS_OK)
        return fabric_problem(problem, fabric_errno(status), options->url, status);
    return set_credentials(fabric, options, problem);
}

static int connect_problem(const struct fabric *fabric, natsStatus status, struct problem *problem)
{
    int error = fabric_errno(status);

    if (status == NATS_CONNECTION_AUTH_FAILED)
        return problem_set(problem, error,
                           "%s: the server refuses the credentials of user %s: check them",
                           fabric->where, fabric->user[0] == '\0' ? "(none)" : fabric->user);
    if (status == NATS_NO_SERVER)
        return problem_set(problem, error, "%s: no server answers: start it, or check the address",
                           fabric->where);
    if (status == NATS_TIMEOUT)
        return problem_set(problem, error, "%s: the server did not answer in time", fabric->where);
    return fabric_problem(problem, error, fabric->where, status);
}

static natsStatus subscribe(struct fabric *fabric, natsSubscription **ret_subscription,
                            const char *subject, natsMsgHandler handler)
{
    natsStatus status =
        natsConnection_Subscribe(ret_subscription, fabric->connection, subject, handler, fabric);

    if (status != NATS_OK)
        return status;
    status = natsSubscription_SetOnCompleteCB(*ret_subscription, finished, fabric);
    if (status == NATS_OK) {
        pthread_mutex_lock(&fabric->lock);
        fabric->running++;
        pthread_mutex_unlock(&fabric->lock);
    }
    return status;
}

static int connect_now(struct fabric *fabric, int timeout_ms, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    natsStatus status = natsConnection_Connect(&fabric->connection, fabric->options);

    if (status != NATS_OK)
        return connect_problem(fabric, status, problem);
    fabric->running++; /* on_closed */
    snprintf(subject, sizeof(subject), "%s.>", fabric->inbox);
    status = subscribe(fabric, &fabric->replies, subject, on_reply);
    snprintf(subject, sizeof(subject), "dpm.%s.%s.control", fabric->session, fabric->machine);
    if (status == NATS_OK && fabric->machine[0] != '\0')
        status = subscribe(fabric, &fabric->requests, subject, on_request);
    if (status == NATS_OK)
        status = natsConnection_JetStream(&fabric->jetstream, fabric->connection, NULL);
    if (status == NATS_OK) /* the server knows the subscriptions when this returns */
        status = natsConnection_FlushTimeout(fabric->connection, timeout_ms);
    return status == NATS_OK ? 0 : connect_problem(fabric, status, problem);
}

static int make_descriptors(struct fabric *fabric)
{
    struct epoll_event in = {.events = EPOLLIN};

    fabric->events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fabric->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    fabric->poll = epoll_create1(EPOLL_CLOEXEC);
    if (fabric->events < 0 || fabric->timer < 0 || fabric->poll < 0 ||
        epoll_ctl(fabric->poll, EPOLL_CTL_ADD, fabric->events, &in) != 0 ||
        epoll_ctl(fabric->poll, EPOLL_CTL_ADD, fabric->timer, &in) != 0)
        return -errno;
    return 0;
}

static int check_options(const struct fabric_options *options, struct problem *problem)
{
    if (options->url == NULL || options->url[0] == '\0')
        return problem_set(problem, -EINVAL, "no address of a NATS server");
    if (!fabric_name_valid(options->session))
        return problem_set(problem, -EINVAL,
                           "%s: not the name of a session: use a-z, 0-9 and '-', at most %u",
                           options->session == NULL ? "" : options->session, FABRIC_NAME_MOST);
    if (options->machine != NULL && !fabric_name_valid(options->machine))
        return problem_set(problem, -EINVAL,
                           "%s: not the name of a machine: use a-z, 0-9 and '-', at most %u",
                           options->machine, FABRIC_NAME_MOST);
    return 0;
}

/* The address without a password that may be in it. */
static void describe_server(struct fabric *fabric, const char *url)
{
    const char *at = strrchr(url, '@');

    snprintf(fabric->where, sizeof(fabric->where), "%s", at != NULL ? at + 1 : url);
}

static void name_inbox(struct fabric *fabric, const struct fabric_options *options, char *prefix,
                       size_t size)
{
    if (options->inbox != NULL)
        snprintf(prefix, size, "%s", options->inbox);
    else if (options->machine != NULL)
        snprintf(prefix, size, "_INBOX_%s", options->machine);
    else if (options->user != NULL)
        snprintf(prefix, size, "_INBOX.%s", options->user);
    else
        snprintf(prefix, size, "_INBOX");
    /* Unique for this connection; no secret. */
    snprintf(fabric->inbox, sizeof(fabric->inbox), "%s.%d-%" PRIx64, prefix, (int)getpid(),
             clock_now(CLOCK_REALTIME));
}

int fabric_open(const struct fabric_options *options, int timeout_ms, struct fabric **ret_fabric,
                struct problem *problem)
{
    char prefix[FABRIC_NAME_MOST + 32];
    int error = check_options(options, problem);
    struct fabric *fabric = error != 0 ? NULL : calloc(1, sizeof(*fabric));

    if (error != 0)
        return error;
    if (fabric == NULL || nats_Open(-1) != NATS_OK) {
        free(fabric);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    fabric->arrivals_end = &fabric->arrivals;
    fabric->events = fabric->timer = fabric->poll = -1;
    pthread_mutex_init(&fabric->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fabric->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    snprintf(fabric->session, sizeof(fabric->session), "%s", options->session);
    snprintf(fabric->machine, sizeof(fabric->machine), "%s",
             options->machine == NULL ? "" : options->machine);
    snprintf(fabric->user, sizeof(fabric->user), "%s", options->user == NULL ? "" : options->user);
    snprintf(fabric->streams[STREAM_PACKETS], sizeof(fabric->streams[0]), "dpm-%s-packets",
             options->session);
    snprintf(fabric->streams[STREAM_SAID], sizeof(fabric->streams[0]), "dpm-%s-said",
             options->session);
    describe_server(fabric, options->url);
    name_inbox(fabric, options, prefix, sizeof(prefix));
    error = make_descriptors(fabric);
    if (error != 0)
        problem_set(problem, error, "no descriptors for a connection: %s", strerror(-error));
    if (error == 0)
        error = set_options(fabric, options, prefix, timeout_ms, problem);
    if (error == 0)
        error = connect_now(fabric, timeout_ms, problem);
    if (error != 0) {
        fabric_close(fabric);
        return error;
    }
    *ret_fabric = fabric;
    return 0;
}

/* ---- closing ---- */

static void close_connection(struct fabric *fabric)
{
    pthread_mutex_lock(&fabric->lock);
    fabric->closing = true;
    pthread_cond_broadcast(&fabric->changed);
    pthread_mutex_unlock(&fabric->lock);
    if (fabric->connection != NULL)
        natsConnection_Close(fabric->connection);
    /* No callback may come when the fabric is freed. */
    pthread_mutex_lock(&fabric->lock);
    while (fabric->running > 0)
        pthread_cond_wait(&fabric->changed, &fabric->lock);
    pthread_mutex_unlock(&fabric->lock);
}

void fabric_close(struct fabric *fabric)
{
    if (fabric == NULL)
        return;
    close_connection(fabric);
    calls_free(fabric);
    said_free(fabric);
    while (fabric->outboxes != NULL)
        outbox_free(fabric->outboxes);
    for (struct arrival *arrival; (arrival = fabric_take(fabric, NULL, NULL, 0)) != NULL;)
        fabric_arrival_free(arrival);
    jsCtx_Destroy(fabric->jetstream);
    natsSubscription_Destroy(fabric->replies);
    natsSubscription_Destroy(fabric->requests);
    natsConnection_Destroy(fabric->connection);
    natsOptions_Destroy(fabric->options);
    const int descriptors[] = {fabric->events, fabric->timer, fabric->poll};
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    pthread_mutex_destroy(&fabric->lock);
    pthread_cond_destroy(&fabric->changed);
    free(fabric);
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

int fabric_ask(struct fabric *fabric, const char *what, const char *subject, const char *body,
               json_t **ret_body, struct problem *problem)
{
    natsMsg *reply = NULL;
    natsStatus status = natsConnection_RequestString(&reply, fabric->connection, subject,
                                                     body == NULL ? "" : body, ASK_TIMEOUT_MS);

    if (status == NATS_NO_RESPONDERS)
        return problem_set(problem, -EOPNOTSUPP, "%s: the server at %s has no JetStream: enable it",
                           what, fabric->where);
    if (status != NATS_OK) /* a refused request is not answered */
        return problem_set(problem, fabric_errno(status), "%s: no answer of the server at %s: %s",
                           what, fabric->where, natsStatus_GetText(status));
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
    problem_set(problem, result, "%s: the server at %s: %s", what, fabric->where,
                text != NULL ? text : "not a valid answer");
    json_decref(answer);
    return result;
}

/* ---- next ---- */

void fabric_arm(struct fabric *fabric)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    uint64_t due = calls_due(fabric);
    uint64_t said = said_due(fabric);

    due = said < due ? said : due;
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

/* PREFIX.TOKEN.c.CALL, .o.OUTBOX.NUMBER, .l.GENERATION */
static int handle_reply(struct fabric *fabric, struct arrival *arrival,
                        struct fabric_message *ret_message)
{
    const char *rest = natsMsg_GetSubject(arrival->message);
    size_t inbox = strlen(fabric->inbox);
    unsigned generation;
    uint64_t id, number;
    char end;

    if (strncmp(rest, fabric->inbox, inbox) != 0) /* a stored message keeps its subject */
        return said_stored(fabric, arrival, ret_message);
    rest += inbox;
    if (sscanf(rest, ".c.%" SCNu64 "%c", &number, &end) == 1)
        return calls_reply(fabric, number, arrival, ret_message);
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
    if (found == 0)
        found = calls_overdue(fabric, clock_now(CLOCK_MONOTONIC), ret_message);
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
    return problem_set(problem, -ETIMEDOUT, "%s: %u messages are not stored yet%s%s", fabric->where,
                       pending, reason[0] == '\0' ? "" : ": ", reason);
}
