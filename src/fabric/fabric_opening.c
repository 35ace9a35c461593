/* SPDX-License-Identifier: MIT */
/* fabric_opening.c: connections begin and end. */
#include "fabric/fabric_internal.h"
#include "fabric/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SERVERS_MOST      16
#define PING_MS           20000 /* a connection without an answer to three is lost */
#define WRITE_DEADLINE_MS 30000 /* one that takes nothing for so long is lost, too */
#define LATE              (5000 * MILLISECONDS) /* one that ends then was not refused, but too slow */

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

/* Encryption, and through a relay no other server than the one at its end. */
static natsStatus set_tls(natsOptions *to, const struct fabric_options *options)
{
    natsStatus status = NATS_OK;

    if (options->relayed)
        status = natsOptions_SetIgnoreDiscoveredServers(to, true);
    if (status == NATS_OK && (strncmp(options->url, "tls://", 6) == 0 || options->tls_name != NULL))
        status = natsOptions_SetSecure(to, true);
    if (status == NATS_OK && options->tls_name != NULL)
        status = natsOptions_SetExpectedHostname(to, options->tls_name);
    if (status == NATS_OK && options->authorities != NULL)
        status = natsOptions_SetCATrustedCertificates(to, options->authorities);
    return status;
}

static int set_credentials(struct fabric *fabric, const struct fabric_options *options,
                           struct problem *problem)
{
    struct fabric_secrets secrets;
    natsStatus status = NATS_OK;

    if (options->credentials == NULL) {
        if (options->user != NULL)
            status = natsOptions_SetUserInfo(fabric->options, options->user, options->password);
        return status == NATS_OK ? 0 : fabric_problem(problem, -EINVAL, "credentials", status);
    }
    int error = fabric_read_secrets(options->credentials, &secrets, problem);
    if (error != 0)
        return error;
    if (secrets.file[0] != '\0') { /* read again for each connection */
        status =
            natsOptions_SetUserCredentialsFromFiles(fabric->options, options->credentials, NULL);
    } else {
        snprintf(fabric->user, sizeof(fabric->user), "%s", secrets.user);
        status = natsOptions_SetUserInfo(fabric->options, secrets.user, secrets.password);
    }
    explicit_bzero(&secrets, sizeof(secrets));
    return status == NATS_OK ? 0 : fabric_problem(problem, -EINVAL, options->credentials, status);
}

/* A session's own server lets each user subscribe to its own inbox only. */
static natsStatus name_inbox(struct fabric *fabric, const struct fabric_options *options)
{
    char prefix[FABRIC_NAME_MOST + 32];

    if (options->inbox != NULL)
        snprintf(prefix, sizeof(prefix), "%s", options->inbox);
    else if (options->machine != NULL)
        snprintf(prefix, sizeof(prefix), "_INBOX_%s", options->machine);
    else if (fabric->user[0] != '\0')
        snprintf(prefix, sizeof(prefix), "_INBOX.%.63s", fabric->user);
    else
        snprintf(prefix, sizeof(prefix), "_INBOX");
    /* Unique for this connection; no secret. */
    snprintf(fabric->inbox, sizeof(fabric->inbox), "%s.%d-%" PRIx64, prefix, (int)getpid(),
             clock_now(CLOCK_REALTIME));
    return natsOptions_SetCustomInboxPrefix(fabric->options, prefix);
}

static int set_options(struct fabric *fabric, const struct fabric_options *options, int timeout_ms,
                       struct problem *problem)
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
        (status = natsOptions_SetPingInterval(to, PING_MS)) != NATS_OK ||
        (status = natsOptions_SetMaxPingsOut(to, 3)) != NATS_OK ||
        (status = natsOptions_SetWriteDeadline(to, WRITE_DEADLINE_MS)) != NATS_OK ||
        (status = natsOptions_SetErrorHandler(to, fabric_on_error, fabric)) != NATS_OK ||
        (status = natsOptions_SetDisconnectedCB(to, fabric_on_disconnected, fabric)) != NATS_OK ||
        (status = natsOptions_SetReconnectedCB(to, fabric_on_reconnected, fabric)) != NATS_OK ||
        (status = natsOptions_SetClosedCB(to, fabric_on_closed, fabric)) != NATS_OK)
        return fabric_problem(problem, fabric_errno(status), options->url, status);
    if ((status = set_tls(to, options)) != NATS_OK)
        return fabric_problem(problem, -EINVAL, options->url, status);
    int error = set_credentials(fabric, options, problem);
    if (error == 0 && (status = name_inbox(fabric, options)) != NATS_OK)
        error = fabric_problem(problem, fabric_errno(status), options->url, status);
    return error;
}

/* `took`: ns, until that. */
static int connect_problem(const struct fabric *fabric, natsStatus status, uint64_t took,
                           struct problem *problem)
{
    int error = fabric_errno(status);

    if (status == NATS_CONNECTION_AUTH_FAILED)
        return problem_set(problem, error,
                           "%s: the server refuses the credentials of user %s: check them",
                           fabric->where, fabric->user[0] == '\0' ? "(none)" : fabric->user);
    if (status == NATS_NO_SERVER)
        return problem_set(problem, error, "%s: no server answers: start it, or check the address",
                           fabric->where);
    if (status == NATS_SECURE_CONNECTION_REQUIRED)
        return problem_set(problem, error, "%s: the server wants encryption: write tls://HOST:PORT",
                           fabric->where);
    if (status == NATS_SECURE_CONNECTION_WANTED)
        return problem_set(problem, error,
                           "%s: the server has no encryption: write nats://HOST:PORT",
                           fabric->where);
    if (status == NATS_ERR && fabric_refusal(fabric, problem))
        return error;
    if (status == NATS_CONNECTION_CLOSED && fabric->connection != NULL)
        return fabric_ended_problem(fabric, problem);
    /* that a relay has ended (relay.c) */
    bool closed = status == NATS_CONNECTION_CLOSED || status == NATS_PROTOCOL_ERROR;
    if (status == NATS_TIMEOUT || (closed && took >= LATE))
        return problem_set(problem, error, "%s: the server did not answer in time", fabric->where);
    if (closed)
        return problem_set(
            problem, error,
            "%s: it ends new connections at once: check that it is a NATS server; if it "
            "is, see its log, and increase max_connections if it has that many",
            fabric->where);
    return fabric_problem(problem, error, fabric->where, status);
}

static natsStatus subscribe(struct fabric *fabric, natsSubscription **ret_subscription,
                            const char *subject, natsMsgHandler handler)
{
    natsStatus status =
        natsConnection_Subscribe(ret_subscription, fabric->connection, subject, handler, fabric);

    if (status != NATS_OK)
        return status;
    status = natsSubscription_SetOnCompleteCB(*ret_subscription, fabric_finished, fabric);
    if (status == NATS_OK) {
        pthread_mutex_lock(&fabric->lock);
        fabric->running++;
        pthread_mutex_unlock(&fabric->lock);
    }
    return status;
}

/* bytes: a packet with its headers; a control message has none, and is no longer */
#define PAYLOAD_LEAST (FABRIC_PACKET_MOST + 4096)

/* A server that takes only smaller messages would refuse requests, answers and packets one by one. */
static int check_payload(const struct fabric *fabric, struct problem *problem)
{
    int64_t most = natsConnection_GetMaxPayload(fabric->connection);

    if (most >= PAYLOAD_LEAST)
        return 0;
    return problem_set(problem, -E2BIG,
                       "the server at %s takes messages of at most %" PRId64
                       " bytes, and dpm needs %u: increase its max_payload",
                       fabric->where, most, PAYLOAD_LEAST);
}

/* of a connection: replies, requests or packets, and the answers that libnats itself awaits */
#define SUBSCRIPTIONS_LEAST 3

/* A server that allows fewer ends the connection when it gets one more, which may be much later. So they are tried. */
static natsStatus try_subscriptions(struct fabric *fabric, int timeout_ms)
{
    natsSubscription *tried[SUBSCRIPTIONS_LEAST] = {NULL};
    size_t first = fabric->requests == NULL ? 1 : 2;
    char subject[FABRIC_SUBJECT_SIZE + 16];
    natsStatus status = NATS_OK;

    for (size_t i = first; status == NATS_OK && i < SUBSCRIPTIONS_LEAST; i++) {
        snprintf(subject, sizeof(subject), "%s.trial.%zu", fabric->inbox, i);
        status = natsConnection_SubscribeSync(&tried[i], fabric->connection, subject);
    }
    if (status == NATS_OK) /* the server knows the subscriptions when this returns */
        status = natsConnection_FlushTimeout(fabric->connection, timeout_ms);
    for (size_t i = first; i < SUBSCRIPTIONS_LEAST; i++)
        natsSubscription_Destroy(tried[i]);
    return status;
}

/* The server reports what it does not permit, and goes on. libnats calls back later, but knows it now. */
static int check_permissions(const struct fabric *fabric, struct problem *problem)
{
    const char *text = NULL;

    if (natsConnection_GetLastError(fabric->connection, &text) != NATS_NOT_PERMITTED)
        return 0;
    return problem_set(problem, -EACCES, "the server at %s: %s: allow it for user %s",
                       fabric->where, text == NULL ? "not permitted" : text,
                       fabric->user[0] == '\0' ? "(none)" : fabric->user);
}

static int connect_now(struct fabric *fabric, int timeout_ms, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    uint64_t begun = clock_now(CLOCK_MONOTONIC);
    natsStatus status = natsConnection_Connect(&fabric->connection, fabric->options);
    uint64_t took = clock_now(CLOCK_MONOTONIC) - begun;

    if (status != NATS_OK)
        return connect_problem(fabric, status, took, problem);
    fabric->running++; /* on_closed */
    snprintf(subject, sizeof(subject), "%s.>", fabric->inbox);
    status = subscribe(fabric, &fabric->replies, subject, fabric_on_reply);
    snprintf(subject, sizeof(subject), "dpm.%s.%s.control", fabric->session, fabric->machine);
    if (status == NATS_OK && fabric->machine[0] != '\0')
        status = subscribe(fabric, &fabric->requests, subject, fabric_on_request);
    if (status == NATS_OK)
        status = try_subscriptions(fabric, timeout_ms);
    if (status != NATS_OK)
        return connect_problem(fabric, status, took, problem);
    int error = check_permissions(fabric, problem);
    return error == 0 ? check_payload(fabric, problem) : error;
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

int fabric_available(struct problem *problem)
{
    return nats_library_load(problem);
}

static int open_fabric(const struct fabric_options *options, int timeout_ms,
                       struct fabric **ret_fabric, struct problem *problem)
{
    int error = check_options(options, problem);
    if (error == 0)
        error = nats_library_load(problem);
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
    snprintf(fabric->streams[STREAM_KEPT], sizeof(fabric->streams[0]), "dpm-%s-kept",
             options->session);
    describe_server(fabric, options->url);
    error = make_descriptors(fabric);
    if (error != 0)
        problem_set(problem, error, "no descriptors for a connection: %s", strerror(-error));
    if (error == 0)
        error = set_options(fabric, options, timeout_ms, problem);
    if (error == 0)
        error = connect_now(fabric, timeout_ms, problem);
    if (error != 0) {
        fabric_close(fabric);
        return error;
    }
    *ret_fabric = fabric;
    return 0;
}

int fabric_open(const struct fabric_options *options, int timeout_ms, struct fabric **ret_fabric,
                struct problem *problem)
{
    sigset_t before;

    nats_library_without_signals(&before);
    int result = open_fabric(options, timeout_ms, ret_fabric, problem);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
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
    said_free(fabric);
    while (fabric->outboxes != NULL)
        outbox_free(fabric->outboxes);
    for (struct arrival *arrival; (arrival = fabric_take(fabric, NULL, NULL, 0)) != NULL;)
        fabric_arrival_free(arrival);
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
