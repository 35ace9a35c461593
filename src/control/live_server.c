/* SPDX-License-Identifier: MIT */
/* live_server.c: see live_server.h. */
#include "control/live_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_LEAST 16

int live_server_read_token(const char *path, char token[LIVE_TOKEN_SIZE], struct problem *problem)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error = 0;
    ssize_t size = 0;

    if (file < 0 || fstat(file, &status) < 0)
        error = errno;
    else if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0)
        error = EPERM;
    else if ((size = read(file, token, LIVE_TOKEN_SIZE - 1)) < 0)
        error = errno;
    if (file >= 0)
        close(file);
    if (error == EPERM)
        return problem_set(problem, -EPERM,
                           "%s: others may read this token: chmod 600, and make a new one", path);
    if (error != 0)
        return problem_set(problem, -error, "cannot read the token in %s: %s", path,
                           strerror(error));
    token[size] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    return strlen(token) >= TOKEN_LEAST
               ? 0
               : problem_set(problem, -EINVAL, "%s: a token has at least %d characters", path,
                             TOKEN_LEAST);
}

#ifdef DPM_HAS_MICROHTTPD

#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>

#define CONNECTIONS_MOST 16
#define PATIENCE         10 /* s */
#define BLOCK            16384

/* ---- the library ---- */

/* It brings a library of cryptography, which no other command needs: it is loaded when a server starts. Its SONAME is the same
 * in all releases that have it. */
#define LIBRARY "libmicrohttpd.so.12"
#define PACKAGE "libmicrohttpd12" /* since Debian 13 a name that libmicrohttpd12t64 provides */

#define MHD_FUNCTIONS(F)                                                                           \
    F(add_response_header)                                                                         \
    F(create_response_from_buffer)                                                                 \
    F(create_response_from_callback)                                                               \
    F(destroy_response)                                                                            \
    F(get_connection_info)                                                                         \
    F(get_daemon_info)                                                                             \
    F(lookup_connection_value)                                                                     \
    F(queue_response)                                                                              \
    F(start_daemon)                                                                                \
    F(stop_daemon)

static struct {
#define MHD_MEMBER(name) __typeof__(MHD_##name) *name;
    MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
} mhd;

static int load_library(struct problem *problem)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return problem_set(
            problem, -ELIBACC,
            "metrics need the library libmicrohttpd: apt-get install " PACKAGE " (%s)", dlerror());
#define FIND(name)                                                                                 \
    *(void **)&mhd.name = dlsym(library, "MHD_" #name);                                            \
    if (mhd.name == NULL)                                                                          \
        return problem_set(problem, -ELIBACC, "libmicrohttpd cannot be used: %s", dlerror());
    MHD_FUNCTIONS(FIND)
#undef FIND
    return 0;
}

/* ---- the server ---- */

/* What several answers may share. */
struct page {
    unsigned users;
    char *text;
    size_t size;
};

struct live_server {
    struct MHD_Daemon *daemon;
    pthread_mutex_t mutex;            /* of the rest */
    struct page *pages[LIVE_FORMATS]; /* NULL: there is none yet */
    char token[LIVE_TOKEN_SIZE];
    struct live_served served;
};

/* An answer in progress. */
struct answer {
    struct live_server *server;
    struct page *page;
    uint64_t end; /* CLOCK_MONOTONIC */
};

bool live_server_is_there(void)
{
    return true;
}

/* Under the mutex. */
static void release(struct page *page)
{
    if (page == NULL || --page->users > 0)
        return;
    free(page->text);
    free(page);
}

/* ---- answers ---- */

static ssize_t read_answer(void *context, uint64_t at, char *to, size_t most)
{
    const struct answer *answer = context;
    size_t left = answer->page->size - (size_t)at;

    if (left == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (clock_now(CLOCK_MONOTONIC) > answer->end)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (left > most)
        left = most;
    memcpy(to, answer->page->text + at, left);
    return (ssize_t)left;
}

static void end_answer(void *context)
{
    struct answer *answer = context;

    pthread_mutex_lock(&answer->server->mutex);
    release(answer->page);
    pthread_mutex_unlock(&answer->server->mutex);
    free(answer);
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
                                 const char *text)
{
    struct MHD_Response *response = mhd.create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    if (response == NULL)
        return MHD_NO;
    mhd.add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    if (status == MHD_HTTP_UNAUTHORIZED)
        mhd.add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        mhd.add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = mhd.queue_response(connection, status, response);
    mhd.destroy_response(response);
    return result;
}

static enum live_format format_for(struct MHD_Connection *connection)
{
    const char *accepts =
        mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

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
    struct answer *answer = calloc(1, sizeof(*answer));

    if (answer == NULL)
        return MHD_NO;
    pthread_mutex_lock(&server->mutex);
    struct page *page = server->pages[format];
    if (page != NULL) {
        page->users++;
        server->served.scrapes++;
    }
    pthread_mutex_unlock(&server->mutex);
    if (page == NULL) {
        free(answer);
        return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "Nothing was read yet.\n");
    }
    *answer = (struct answer){server, page, clock_now(CLOCK_MONOTONIC) + PATIENCE * 1000000000ull};
    struct MHD_Response *response =
        mhd.create_response_from_callback(page->size, BLOCK, read_answer, answer, end_answer);
    if (response == NULL) {
        end_answer(answer);
        return MHD_NO;
    }
    mhd.add_response_header(response, "Content-Type", types[format]);
    mhd.add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result result = mhd.queue_response(connection, MHD_HTTP_OK, response);
    mhd.destroy_response(response);
    return result;
}

/* ---- who may ask ---- */

/* Takes the same time wherever they differ. */
static bool are_equal(const char *asked, const char *token)
{
    size_t length = strlen(token);
    unsigned char differs = strlen(asked) != length;

    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)(token[i] ^ asked[i < strlen(asked) ? i : 0]);
    return !differs;
}

static bool has_token(const struct live_server *server, struct MHD_Connection *connection)
{
    const char *given =
        mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    static const char scheme[] = "Bearer ";

    return given != NULL && strncasecmp(given, scheme, sizeof(scheme) - 1) == 0 &&
           are_equal(given + sizeof(scheme) - 1, server->token);
}

/* "localhost", "127.0.0.1:9465", "[::1]:9465", or no name at all. */
static bool names_this_host(struct MHD_Connection *connection)
{
    const char *host =
        mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; host != NULL && i < ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 &&
            (host[length] == '\0' || host[length] == ':'))
            return true;
    }
    return host == NULL;
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
        return MHD_YES;
    }
    *upload_size = 0;
    if (server->token[0] != '\0' && !has_token(server, connection))
        return send_text(connection, MHD_HTTP_UNAUTHORIZED, "A token is needed.\n");
    if (server->token[0] == '\0' && !names_this_host(connection))
        return send_text(connection, MHD_HTTP_FORBIDDEN, "Ask for localhost.\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET.\n");
    if (strcmp(url, "/metrics") != 0)
        return send_text(connection, MHD_HTTP_NOT_FOUND, "There is /metrics.\n");
    return send_metrics(server, connection);
}

static void count_dropped(struct live_server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->served.dropped++;
    pthread_mutex_unlock(&server->mutex);
}

/* A connection, which is dropped if it ends without an answer. */
struct reader {
    bool was_answered;
};

static struct reader *reader_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    struct reader *reader = reader_of(connection);

    (void)state;
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK &&
        code != MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN)
        count_dropped(context);
    if (reader != NULL)
        reader->was_answered = true;
}

static void connected(void *context, struct MHD_Connection *connection, void **socket_context,
                      enum MHD_ConnectionNotificationCode code)
{
    struct reader *reader = *socket_context;

    (void)connection;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = calloc(1, sizeof(struct reader));
        return;
    }
    if (reader != NULL && !reader->was_answered)
        count_dropped(context);
    free(reader);
    *socket_context = NULL;
}

/* ---- begin and end ---- */

static uint16_t port_of(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);

    return info == NULL ? 0 : info->port;
}

int live_server_start(const struct sockaddr *address, const char *token,
                      struct live_server **ret_server, uint16_t *ret_port, struct problem *problem)
{
    struct live_server *server = calloc(1, sizeof(*server));
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;

    if (server == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int error = load_library(problem);
    if (error < 0) {
        free(server);
        return error;
    }
    pthread_mutex_init(&server->mutex, NULL);
    if (token != NULL)
        snprintf(server->token, sizeof(server->token), "%s", token);
    if (address->sa_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    server->daemon = mhd.start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)PATIENCE, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
        MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_NOTIFY_CONNECTION, connected,
        server, MHD_OPTION_END);
    if (server->daemon == NULL) {
        error = errno == 0 ? EIO : errno;
        live_server_stop(server);
        return problem_set(problem, -error, "cannot listen: %s", strerror(error));
    }
    *ret_port = port_of(server->daemon);
    *ret_server = server;
    return 0;
}

void live_server_publish(struct live_server *server, enum live_format format, char *text,
                         size_t size)
{
    struct page *page = calloc(1, sizeof(*page));

    if (page == NULL) { /* the old one stays */
        free(text);
        return;
    }
    *page = (struct page){1, text, size};
    pthread_mutex_lock(&server->mutex);
    struct page *old = server->pages[format];
    server->pages[format] = page;
    release(old);
    pthread_mutex_unlock(&server->mutex);
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
    if (server->daemon != NULL)
        mhd.stop_daemon(server->daemon);
    for (unsigned i = 0; i < LIVE_FORMATS; i++)
        release(server->pages[i]);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

#else /* without libmicrohttpd */

bool live_server_is_there(void)
{
    return false;
}

int live_server_start(const struct sockaddr *address, const char *token,
                      struct live_server **ret_server, uint16_t *ret_port, struct problem *problem)
{
    (void)address, (void)token, (void)ret_server, (void)ret_port;
    return problem_set(problem, -ENOSYS, "this dpm was built without libmicrohttpd");
}

void live_server_publish(struct live_server *server, enum live_format format, char *text,
                         size_t size)
{
    (void)server, (void)format, (void)size;
    free(text);
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
