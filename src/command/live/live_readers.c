/* SPDX-License-Identifier: MIT */
/* live_readers.c: connections, and how long they may take. See live_server_private.h. */
#include "command/live/live_server_private.h"

#ifdef DPM_HAS_MICROHTTPD

#include <sys/socket.h>

struct reader *live_reader_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

void live_reader_asks(struct live_server *server, struct MHD_Connection *connection)
{
    struct reader *reader = live_reader_of(connection);

    pthread_mutex_lock(&server->mutex);
    if (reader != NULL)
        reader->since = clock_now(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&server->mutex);
}

/* A reader of a stream ends it as it likes. */
static bool was_dropped(const struct reader *reader, bool streamed,
                        enum MHD_RequestTerminationCode code)
{
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK ||
        code == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN)
        return false;
    return !streamed || (reader != NULL && reader->was_cut);
}

void live_reader_completed(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code)
{
    struct live_server *server = context;
    struct reader *reader = live_reader_of(connection);

    (void)live_question_is(server, *state, true);
    pthread_mutex_lock(&server->mutex);
    server->served.dropped += was_dropped(reader, *state == server, code);
    if (reader != NULL) {
        reader->was_answered = true;
        reader->is_idle = false;
        reader->since = clock_now(CLOCK_MONOTONIC);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* What a reader does not take stays here, where all share it and its age is known: the kernel would take megabytes for each. */
static void limit_buffer(int file)
{
    int size = 131072;

    (void)setsockopt(file, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
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
        limit_buffer(info->connect_fd);
        *reader = (struct reader){.file = info->connect_fd, .since = clock_now(CLOCK_MONOTONIC)};
        return reader;
    }
    return NULL;
}

void live_reader_connected(void *context, struct MHD_Connection *connection, void **socket_context,
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

#define PING_EACH 15 /* s */

/* Ends connections by their age: the library ends those without a byte, and one byte each few seconds would hold them. */
void *live_readers_watch(void *context)
{
    struct live_server *server = context;

    pthread_mutex_lock(&server->mutex);
    for (unsigned second = 1; !server->ends; second++) {
        struct timespec next;
        uint64_t now = clock_now(CLOCK_MONOTONIC);
        for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
            struct reader *reader = &server->readers[i];
            if (reader->file < 0 || reader->is_idle || now - reader->since <= PATIENCE)
                continue;
            reader->was_cut = true;
            (void)shutdown(reader->file, SHUT_RDWR);
        }
        if (second % PING_EACH == 0)
            live_events_ping(server);
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_sec++;
        pthread_cond_timedwait(&server->changed, &server->mutex, &next);
    }
    pthread_mutex_unlock(&server->mutex);
    return NULL;
}

#endif
