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

/* Reads at most `most` bytes. Returns how many, or a negative errno. */
static ssize_t read_private(const char *path, char *to, size_t most, struct problem *problem)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error = 0;
    ssize_t size = 0;

    if (file < 0 || fstat(file, &status) < 0)
        error =
            problem_set(problem, -errno, "cannot read the token in %s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        error = problem_set(problem, -EINVAL, "%s: the token must be in a regular file", path);
    else if ((status.st_mode & 077) != 0)
        error = problem_set(problem, -EPERM,
                            "%s: others may read this token: chmod 600, and make a new one", path);
    else if ((size = read(file, to, most)) < 0)
        error =
            problem_set(problem, -errno, "cannot read the token in %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return error < 0 ? error : size;
}

int live_server_read_token(const char *path, char token[LIVE_TOKEN_SIZE], struct problem *problem)
{
    char text[LIVE_TOKEN_SIZE + 1]; /* a newline follows the longest one */
    ssize_t size = read_private(path, text, sizeof(text) - 1, problem);

    if (size < 0)
        return (int)size;
    text[size] = '\0';
    size_t length = strcspn(text, "\r\n");
    bool fits = length >= TOKEN_LEAST && length < LIVE_TOKEN_SIZE;
    if (fits) {
        memcpy(token, text, length);
        token[length] = '\0';
    }
    explicit_bzero(text, sizeof(text));
    return fits ? 0
                : problem_set(problem, -EINVAL, "%s: a token is a line of %d to %d characters",
                              path, TOKEN_LEAST, LIVE_TOKEN_SIZE - 1);
}

#ifdef DPM_HAS_MICROHTTPD

#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <pthread.h>

#define CONNECTIONS_MOST 16
#define FROM_ONE_ADDRESS 8
#define PATIENCE         10000000000u /* ns */
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

/* A connection, which is dropped if it ends without an answer. */
struct reader {
    int file;       /* -1: no connection */
    uint64_t since; /* CLOCK_MONOTONIC: it began, or was answered */
    bool was_answered;
};

struct live_server {
    struct MHD_Daemon *daemon;
    char token[LIVE_TOKEN_SIZE];
    char name[INET6_ADDRSTRLEN + 2]; /* its address, as in a URL */
    pthread_t watch;
    bool watches;
    pthread_mutex_t mutex; /* of the rest */
    pthread_cond_t changed;
    bool ends;
    struct reader readers[CONNECTIONS_MOST];
    struct page *pages[LIVE_FORMATS]; /* NULL: there is none yet */
    struct live_served served;
};

/* An answer in progress. */
struct answer {
    struct live_server *server;
    struct page *page;
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
        return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                         "No figures yet: ask again soon.\n");
    }
    *answer = (struct answer){server, page};
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

/* "localhost", "127.0.0.1:9465", "[::1]:9465", or no name at all. A web page may have a name of its own for our address. */
static bool names_this_host(const struct live_server *server, struct MHD_Connection *connection)
{
    const char *host =
        mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    const char *const names[] = {"localhost", "127.0.0.1", "[::1]", server->name};

    for (size_t i = 0; host != NULL && i < ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 &&
            (host[length] == '\0' || host[length] == ':'))
            return true;
    }
    return host == NULL;
}

static struct reader *reader_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

/* The head of a request is whole: what it waited for is not part of the time for its answer. */
static void begin_answer(struct live_server *server, struct MHD_Connection *connection)
{
    struct reader *reader = reader_of(connection);

    pthread_mutex_lock(&server->mutex);
    if (reader != NULL)
        reader->since = clock_now(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&server->mutex);
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
        begin_answer(server, connection);
        return MHD_YES;
    }
    if (*upload_size > 0) { /* an answer before the end of a body would be cut */
        *upload_size = 0;
        return MHD_YES;
    }
    if (server->token[0] != '\0' && !has_token(server, connection))
        return send_text(connection, MHD_HTTP_UNAUTHORIZED,
                         "Send the token: Authorization: Bearer TOKEN\n");
    if (server->token[0] == '\0' && !names_this_host(server, connection))
        return send_text(connection, MHD_HTTP_FORBIDDEN,
                         "Name this host localhost, or by its address, in the URL.\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Send GET or HEAD.\n");
    if (strcmp(url, "/metrics") != 0)
        return send_text(connection, MHD_HTTP_NOT_FOUND, "Ask for /metrics.\n");
    return send_metrics(server, connection);
}

/* ---- readers ---- */

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    struct live_server *server = context;
    struct reader *reader = reader_of(connection);

    (void)state;
    pthread_mutex_lock(&server->mutex);
    server->served.dropped += code != MHD_REQUEST_TERMINATED_COMPLETED_OK &&
                              code != MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN;
    if (reader != NULL) {
        reader->was_answered = true;
        reader->since = clock_now(CLOCK_MONOTONIC);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* Under the mutex. NULL: there are more than there can be. */
static struct reader *begin_reader(struct live_server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    for (size_t i = 0; info != NULL && i < CONNECTIONS_MOST; i++) {
        struct reader *reader = &server->readers[i];
        if (reader->file >= 0)
            continue;
        *reader = (struct reader){.file = info->connect_fd, .since = clock_now(CLOCK_MONOTONIC)};
        return reader;
    }
    return NULL;
}

static void connected(void *context, struct MHD_Connection *connection, void **socket_context,
                      enum MHD_ConnectionNotificationCode code)
{
    struct live_server *server = context;
    struct reader *reader = *socket_context;

    pthread_mutex_lock(&server->mutex);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = begin_reader(server, connection);
    } else if (reader != NULL) { /* its socket is closed after that */
        server->served.dropped += !reader->was_answered && !server->ends;
        reader->file = -1;
        *socket_context = NULL;
    }
    pthread_mutex_unlock(&server->mutex);
}

/* Ends connections by their age: the library ends those without a byte, and one byte each few seconds would hold them. */
static void *watch_readers(void *context)
{
    struct live_server *server = context;

    pthread_mutex_lock(&server->mutex);
    while (!server->ends) {
        struct timespec next;
        uint64_t now = clock_now(CLOCK_MONOTONIC);
        for (size_t i = 0; i < CONNECTIONS_MOST; i++)
            if (server->readers[i].file >= 0 && now - server->readers[i].since > PATIENCE)
                (void)shutdown(server->readers[i].file, SHUT_RDWR);
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_sec++;
        pthread_cond_timedwait(&server->changed, &server->mutex, &next);
    }
    pthread_mutex_unlock(&server->mutex);
    return NULL;
}

/* ---- begin and end ---- */

static uint16_t port_of(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);

    return info == NULL ? 0 : info->port;
}

static struct live_server *make(const char *name, const char *token)
{
    struct live_server *server = calloc(1, sizeof(*server));
    pthread_condattr_t attributes;

    if (server == NULL)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&server->mutex, NULL);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        server->readers[i].file = -1;
    if (token != NULL)
        snprintf(server->token, sizeof(server->token), "%s", token);
    snprintf(server->name, sizeof(server->name), "%s", name);
    return server;
}

static int listen_at(struct live_server *server, const struct sockaddr *address,
                     struct problem *problem)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
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
        MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_NOTIFY_CONNECTION, connected,
        server, MHD_OPTION_END);
    if (server->daemon != NULL)
        return 0;
    int error = errno == 0 ? EIO : errno;
    return problem_set(problem, -error, "cannot listen at %s:%u: %s%s", server->name, port,
                       strerror(error), error == EADDRINUSE ? ": choose another port" : "");
}

int live_server_start(const struct sockaddr *address, const char *name, const char *token,
                      struct live_server **ret_server, uint16_t *ret_port, struct problem *problem)
{
    struct live_server *server = make(name, token);
    int result =
        server == NULL ? problem_set(problem, -ENOMEM, "out of memory") : load_library(problem);

    if (result == 0)
        result = listen_at(server, address, problem);
    if (result == 0) {
        int error = pthread_create(&server->watch, NULL, watch_readers, server);
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
    pthread_mutex_lock(&server->mutex);
    server->ends = true;
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->mutex);
    if (server->watches)
        pthread_join(server->watch, NULL);
    if (server->daemon != NULL)
        mhd.stop_daemon(server->daemon);
    for (unsigned i = 0; i < LIVE_FORMATS; i++)
        release(server->pages[i]);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->mutex);
    explicit_bzero(server->token, sizeof(server->token));
    free(server);
}

#else /* without libmicrohttpd */

bool live_server_is_there(void)
{
    return false;
}

int live_server_start(const struct sockaddr *address, const char *name, const char *token,
                      struct live_server **ret_server, uint16_t *ret_port, struct problem *problem)
{
    (void)address, (void)name, (void)token, (void)ret_server, (void)ret_port;
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
