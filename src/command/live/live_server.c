/* SPDX-License-Identifier: MIT */
/* live_server.c: see live_server.h. */
#include "command/live/live_server_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DPM_HAS_MICROHTTPD

#include "show/live/live_page.h"

#include <arpa/inet.h>

bool live_server_is_there(void)
{
    return true;
}

/* ---- texts ---- */

struct page *live_page_new(char *text, size_t size)
{
    struct page *page = text == NULL ? NULL : calloc(1, sizeof(*page));

    if (page == NULL)
        free(text);
    else
        *page = (struct page){.users = 1, .text = text, .size = size};
    return page;
}

void live_page_release(struct page *page)
{
    if (page == NULL || --page->users > 0)
        return;
    free(page->text);
    free(page);
}

/* ---- answers ---- */

/* An answer in progress. */
struct answer {
    struct live_server *server;
    struct page *page;
    const char *text; /* of the page */
    size_t size;
};

static ssize_t read_answer(void *context, uint64_t at, char *to, size_t most)
{
    const struct answer *answer = context;
    size_t left = answer->size - (size_t)at;

    if (left == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (left > most)
        left = most;
    memcpy(to, answer->text + at, left);
    return (ssize_t)left;
}

static void end_answer(void *context)
{
    struct answer *answer = context;

    pthread_mutex_lock(&answer->server->mutex);
    live_page_release(answer->page);
    pthread_mutex_unlock(&answer->server->mutex);
    free(answer);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)mhd.add_response_header(response, name, value);
}

const char *live_header(struct MHD_Connection *connection, const char *name)
{
    return mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status,
                             struct MHD_Response *response)
{
    enum MHD_Result result = mhd.queue_response(connection, status, response);

    mhd.destroy_response(response);
    return result;
}

enum MHD_Result live_send_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response = mhd.create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    if (response == NULL)
        return MHD_NO;
    add_header(response, "Content-Type", "text/plain; charset=utf-8");
    if (status == MHD_HTTP_UNAUTHORIZED)
        add_header(response, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        add_header(response, "Allow", "GET, HEAD");
    return queue(connection, status, response);
}

/* A part of a text, from `from` to its end. The caller has made itself a user of it. */
static enum MHD_Result send_page(struct live_server *server, struct MHD_Connection *connection,
                                 struct page *page, size_t from, const char *type)
{
    struct answer *answer = page == NULL ? NULL : calloc(1, sizeof(*answer));

    if (page == NULL)
        return live_send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                              "No figures yet: ask again soon.\n");
    if (answer == NULL)
        return MHD_NO;
    *answer = (struct answer){server, page, page->text + from, page->size - from};
    struct MHD_Response *response =
        mhd.create_response_from_callback(answer->size, BLOCK, read_answer, answer, end_answer);
    if (response == NULL) {
        end_answer(answer);
        return MHD_NO;
    }
    add_header(response, "Content-Type", type);
    add_header(response, "Cache-Control", "no-store");
    return queue(connection, MHD_HTTP_OK, response);
}

/* ---- metrics ---- */

static enum live_format format_for(struct MHD_Connection *connection)
{
    const char *accepts = live_header(connection, MHD_HTTP_HEADER_ACCEPT);

    return accepts != NULL && strstr(accepts, "application/openmetrics-text") != NULL
               ? LIVE_OPENMETRICS
               : LIVE_TEXT;
}

static enum MHD_Result send_metrics(struct live_server *server, struct MHD_Connection *connection)
{
    static const char *const types[LIVE_FORMATS] = {
        [LIVE_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [LIVE_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    };
    enum live_format format = format_for(connection);

    pthread_mutex_lock(&server->mutex);
    struct page *page = server->pages[format];
    if (page != NULL) {
        page->users++;
        server->served.scrapes++;
    }
    pthread_mutex_unlock(&server->mutex);
    return send_page(server, connection, page, 0, types[format]);
}

static enum MHD_Result answer_metrics(struct live_server *server, struct MHD_Connection *connection,
                                      const char *url, const char *method)
{
    const char *host = live_header(connection, MHD_HTTP_HEADER_HOST);
    bool needs_token = server->access.token[0] != '\0';

    if (needs_token && !live_access_has_token(
                           &server->access, live_header(connection, MHD_HTTP_HEADER_AUTHORIZATION)))
        return live_send_text(connection, MHD_HTTP_UNAUTHORIZED,
                              "Send the token: Authorization: Bearer TOKEN\n");
    if (!needs_token && !live_access_names_host(&server->access, host))
        return live_send_text(connection, MHD_HTTP_FORBIDDEN,
                              "Name this host localhost, or by its address, in the URL.\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return live_send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Send GET or HEAD.\n");
    if (strcmp(url, "/metrics") != 0)
        return live_send_text(connection, MHD_HTTP_NOT_FOUND, "Ask for /metrics.\n");
    return send_metrics(server, connection);
}

/* ---- the page ---- */

/* The port, which is part of it, is known after the library's thread has begun. */
static void copy_cookie_name(struct live_server *server, char name[COOKIE_NAME_SIZE])
{
    pthread_mutex_lock(&server->mutex);
    memcpy(name, server->cookie_name, COOKIE_NAME_SIZE);
    pthread_mutex_unlock(&server->mutex);
}

static enum MHD_Result send_document(struct live_server *server, struct MHD_Connection *connection,
                                     bool sets_cookie)
{
    char name[COOKIE_NAME_SIZE], cookie[COOKIE_NAME_SIZE + LIVE_SECRET_SIZE + 48];
    struct MHD_Response *response = mhd.create_response_from_buffer(
        strlen(live_page), (void *)(uintptr_t)live_page, MHD_RESPMEM_PERSISTENT);

    if (response == NULL)
        return MHD_NO;
    if (sets_cookie) {
        copy_cookie_name(server, name);
        snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict", name,
                 server->access.cookie);
        add_header(response, "Set-Cookie", cookie);
        explicit_bzero(cookie, sizeof(cookie));
    }
    add_header(response, "Content-Type", "text/html; charset=utf-8");
    add_header(response, "Content-Security-Policy", live_page_policy);
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "X-Frame-Options", "DENY");
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    add_header(response, "Cache-Control", "no-store");
    return queue(connection, MHD_HTTP_OK, response);
}

static enum MHD_Result send_latest(struct live_server *server, struct MHD_Connection *connection)
{
    pthread_mutex_lock(&server->mutex);
    struct page *page = live_events_latest(server);
    if (page != NULL)
        page->users++;
    pthread_mutex_unlock(&server->mutex);
    return send_page(server, connection, page, page == NULL ? 0 : page->json, "application/json");
}

static bool redeem(struct live_server *server, struct MHD_Connection *connection)
{
    const char *token = mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");

    pthread_mutex_lock(&server->mutex);
    bool is_right = live_access_redeem(&server->access, token);
    pthread_mutex_unlock(&server->mutex);
    return is_right;
}

static bool has_cookie(struct live_server *server, struct MHD_Connection *connection)
{
    char name[COOKIE_NAME_SIZE];

    copy_cookie_name(server, name);
    return live_access_is(mhd.lookup_connection_value(connection, MHD_COOKIE_KIND, name),
                          server->access.cookie);
}

/* What a reader of metrics may have, too, except questions: these make this machine work. */
static bool may_see(struct live_server *server, struct MHD_Connection *connection, const char *url)
{
    return has_cookie(server, connection) ||
           (strcmp(url, "/why") != 0 &&
            live_access_has_token(&server->access,
                                  live_header(connection, MHD_HTTP_HEADER_AUTHORIZATION)));
}

static bool is_of_page(const struct live_server *server, const char *url)
{
    return server->about != NULL &&
           (strcmp(url, "/") == 0 || strcmp(url, "/events") == 0 || strcmp(url, "/why") == 0 ||
            strcmp(url, "/snapshot.json") == 0);
}

static enum MHD_Result answer_page(struct live_server *server, struct MHD_Connection *connection,
                                   const char *url, const char *method, void **state)
{
    const char *host = live_header(connection, MHD_HTTP_HEADER_HOST);
    bool is_document = strcmp(url, "/") == 0;

    if ((server->access.token[0] == '\0' && !live_access_names_host(&server->access, host)) ||
        !live_access_fits_origin(live_header(connection, MHD_HTTP_HEADER_ORIGIN), host))
        return live_send_text(connection, MHD_HTTP_FORBIDDEN,
                              "Name this host localhost, or by its address, in the URL.\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return live_send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Send GET or HEAD.\n");
    /* a reader of heads alone (a preview of links) must not use the token up */
    bool redeems =
        is_document && strcmp(method, MHD_HTTP_METHOD_GET) == 0 && redeem(server, connection);
    if (!redeems && !may_see(server, connection, url))
        return live_send_text(
            connection, MHD_HTTP_UNAUTHORIZED,
            "Open the latest address that dpm live has printed: each can be used once.\n");
    if (is_document)
        return send_document(server, connection, redeems);
    if (strcmp(url, "/snapshot.json") == 0)
        return send_latest(server, connection);
    if (strcmp(url, "/why") == 0 && strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return live_send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Send GET.\n");
    if (strcmp(url, "/why") == 0)
        return live_question_answer(server, connection, state);
    *state = server; /* it is a stream */
    return live_events_send(server, connection);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    static int seen;
    struct live_server *server = context;

    (void)version, (void)upload;
    if (*state == NULL) { /* only its head has come */
        *state = &seen;
        live_reader_asks(server, connection);
        return MHD_YES;
    }
    if (*upload_size > 0) { /* an answer before the end of a body would be cut */
        *upload_size = 0;
        return MHD_YES;
    }
    return is_of_page(server, url) ? answer_page(server, connection, url, method, state)
                                   : answer_metrics(server, connection, url, method);
}

/* ---- begin and end ---- */

static uint16_t port_of(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);

    return info == NULL ? 0 : info->port;
}

/* As the first event. A reader that is cut off asks again after a second. */
static int make_about(struct live_server *server, const char *about)
{
    char *text = NULL;
    int size = asprintf(&text, "retry: 1000\nevent: about\ndata: %s\n", about);

    server->about = size < 0 ? NULL : live_page_new(text, (size_t)size);
    return server->about == NULL ? -ENOMEM : 0;
}

static int make(const struct live_server_options *options, struct live_server **ret_server)
{
    struct live_server *server = calloc(1, sizeof(*server));
    pthread_condattr_t attributes;

    if (server == NULL)
        return -ENOMEM;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&server->mutex, NULL);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        server->readers[i].file = -1;
    *ret_server = server;
    server->why = options->why;
    int result = live_access_init(&server->access, options->name, options->token);
    server->access.was_used = result == 0; /* the first token is to be printed, too */
    return result == 0 && options->about != NULL ? make_about(server, options->about) : result;
}

static int listen_at(struct live_server *server, const struct sockaddr *address,
                     struct problem *problem)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    uint16_t port =
        ntohs(address->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                             : ((const struct sockaddr_in *)address)->sin_port);

    if (address->sa_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    server->daemon = mhd.start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)FROM_ONE_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
        MHD_OPTION_NOTIFY_COMPLETED, live_reader_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        live_reader_connected, server, MHD_OPTION_END);
    if (server->daemon != NULL) {
        pthread_mutex_lock(&server->mutex);
        /* browsers keep cookies by host: several servers with one port may all be 127.0.0.1, through tunnels */
        snprintf(server->cookie_name, COOKIE_NAME_SIZE, "dpm-live-%u-%s", port_of(server->daemon),
                 server->access.mark);
        pthread_mutex_unlock(&server->mutex);
        return 0;
    }
    int error = errno == 0 ? EIO : errno;
    return problem_set(problem, -error, "cannot listen at %s:%u: %s%s", server->access.name, port,
                       strerror(error), error == EADDRINUSE ? ": choose another port" : "");
}

int live_server_start(const struct live_server_options *options, struct live_server **ret_server,
                      uint16_t *ret_port, struct problem *problem)
{
    struct live_server *server = NULL;
    int result = make(options, &server);

    if (result < 0)
        problem_set(problem, result, "cannot start the server: %s", strerror(-result));
    else
        result = live_library_load(problem);
    if (result == 0)
        result = listen_at(server, options->address, problem);
    if (result == 0) {
        int error = pthread_create(&server->watch, NULL, live_readers_watch, server);
        server->watches = error == 0;
        if (error != 0)
            result = problem_set(problem, -error, "cannot start a thread: %s", strerror(error));
    }
    if (result < 0) {
        live_server_stop(server);
        return result;
    }
    *ret_port = port_of(server->daemon);
    *ret_server = server;
    return 0;
}

void live_server_publish(struct live_server *server, enum live_format format, char *text,
                         size_t size)
{
    struct page *page = live_page_new(text, size);

    if (page == NULL) /* the old one stays */
        return;
    pthread_mutex_lock(&server->mutex);
    struct page *old = server->pages[format];
    server->pages[format] = page;
    live_page_release(old);
    pthread_mutex_unlock(&server->mutex);
}

bool live_server_new_token(struct live_server *server, char token[LIVE_SECRET_SIZE])
{
    pthread_mutex_lock(&server->mutex);
    bool is_new = server->about != NULL && server->access.was_used;
    if (is_new)
        memcpy(token, server->access.once, LIVE_SECRET_SIZE);
    server->access.was_used = false;
    pthread_mutex_unlock(&server->mutex);
    return is_new;
}

void live_server_counts(struct live_server *server, struct live_served *ret_served)
{
    pthread_mutex_lock(&server->mutex);
    *ret_served = server->served;
    pthread_mutex_unlock(&server->mutex);
}

void live_server_stop(struct live_server *server)
{
    if (server == NULL)
        return;
    pthread_mutex_lock(&server->mutex);
    server->ends = true;
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->mutex);
    if (server->watches)
        pthread_join(server->watch, NULL);
    pthread_mutex_lock(&server->mutex);
    live_events_end(server);
    pthread_mutex_unlock(&server->mutex);
    if (server->daemon != NULL)
        mhd.stop_daemon(server->daemon);
    for (unsigned i = 0; i < LIVE_FORMATS; i++)
        live_page_release(server->pages[i]);
    live_page_release(server->about);
    live_events_done(server);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->mutex);
    live_access_done(&server->access);
    free(server);
}

#else /* without libmicrohttpd */

bool live_server_is_there(void)
{
    return false;
}

int live_server_start(const struct live_server_options *options, struct live_server **ret_server,
                      uint16_t *ret_port, struct problem *problem)
{
    (void)options, (void)ret_server, (void)ret_port;
    return problem_set(problem, -ENOSYS, "this dpm was built without libmicrohttpd");
}

void live_server_publish(struct live_server *server, enum live_format format, char *text,
                         size_t size)
{
    (void)server, (void)format, (void)size;
    free(text);
}

void live_server_add_snapshot(struct live_server *server, uint64_t number, const char *json)
{
    (void)server, (void)number, (void)json;
}

bool live_server_new_token(struct live_server *server, char token[LIVE_SECRET_SIZE])
{
    (void)server, (void)token;
    return false;
}

void live_server_counts(struct live_server *server, struct live_served *ret_served)
{
    (void)server;
    *ret_served = (struct live_served){0};
}

void live_server_stop(struct live_server *server)
{
    (void)server;
}

#endif
