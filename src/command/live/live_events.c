/* SPDX-License-Identifier: MIT */
/*
 * live_events.c: snapshots as server-sent events. See live_server_private.h.
 *
 *      id: 17              the number of the snapshot: a reader that was cut off asks for what comes after it
 *      data: {"time": {"number": 17, ...
 *
 * A stream that has sent all there is sleeps in the library until the next snapshot. One that falls behind by more than the ring
 * holds misses the oldest.
 */
#include "command/live/live_server_private.h"

#ifdef DPM_HAS_MICROHTTPD

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ring ---- */

static struct page *event_at(const struct live_server *server, size_t index)
{
    return server->events[(server->event_begin + index) % LIVE_KEPT_MOST];
}

/* The first one from this number on; NULL: there is none yet. */
static struct page *find_event(const struct live_server *server, uint64_t number)
{
    for (size_t i = 0; i < server->event_count; i++)
        if (event_at(server, i)->number >= number)
            return event_at(server, i);
    return NULL;
}

static void drop_oldest(struct live_server *server)
{
    struct page *oldest = event_at(server, 0);

    server->event_begin = (server->event_begin + 1) % LIVE_KEPT_MOST;
    server->event_count--;
    server->event_bytes -= oldest->size;
    live_page_release(oldest);
}

static void keep_event(struct live_server *server, struct page *page)
{
    while (server->event_count > 0 && (server->event_count == LIVE_KEPT_MOST ||
                                       server->event_bytes + page->size > LIVE_KEPT_BYTES))
        drop_oldest(server);
    server->events[(server->event_begin + server->event_count) % LIVE_KEPT_MOST] = page;
    server->event_count++;
    server->event_bytes += page->size;
}

/* ---- streams ---- */

/* Under the mutex. */
static void wake(struct stream *stream)
{
    if (stream->reader == NULL || !stream->reader->is_idle)
        return;
    stream->reader->is_idle = false;
    stream->reader->since = clock_now(CLOCK_MONOTONIC);
    mhd.resume_connection(stream->connection);
}

static void wake_all(struct live_server *server)
{
    for (struct stream *stream = server->streams; stream != NULL; stream = stream->after)
        wake(stream);
}

/* Under the mutex. What to send next; NULL: nothing. */
static struct page *next_page(struct stream *stream)
{
    struct live_server *server = stream->server;
    struct page *page = stream->says_hello ? server->about : find_event(server, stream->next);

    if (page == NULL)
        return NULL;
    if (!stream->says_hello)
        stream->next = page->number + 1;
    stream->says_hello = false;
    page->users++;
    return page;
}

static ssize_t read_on(struct stream *stream, char *to, size_t most)
{
    static const char ping[] = ":\n\n"; /* a comment */

    if (stream->server->ends)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (stream->page == NULL) {
        stream->page = next_page(stream);
        stream->sent = 0;
    }
    stream->reader->since = clock_now(CLOCK_MONOTONIC);
    if (stream->page == NULL && stream->pings && most >= sizeof(ping) - 1) {
        stream->pings = false;
        memcpy(to, ping, sizeof(ping) - 1);
        return sizeof(ping) - 1;
    }
    if (stream->page == NULL) {
        stream->reader->is_idle = true;
        mhd.suspend_connection(stream->connection);
        return 0;
    }
    size_t left = stream->page->size - stream->sent, size = left < most ? left : most;
    memcpy(to, stream->page->text + stream->sent, size);
    stream->sent += size;
    if (size == left) {
        live_page_release(stream->page);
        stream->page = NULL;
    }
    return (ssize_t)size;
}

static ssize_t read_stream(void *context, uint64_t at, char *to, size_t most)
{
    struct stream *stream = context;

    (void)at;
    pthread_mutex_lock(&stream->server->mutex);
    ssize_t result = read_on(stream, to, most);
    pthread_mutex_unlock(&stream->server->mutex);
    return result;
}

static void end_stream(void *context)
{
    struct stream *stream = context;
    struct live_server *server = stream->server;

    pthread_mutex_lock(&server->mutex);
    for (struct stream **at = &server->streams; *at != NULL; at = &(*at)->after)
        if (*at == stream) {
            *at = stream->after;
            server->stream_count--;
            break;
        }
    live_page_release(stream->page);
    pthread_mutex_unlock(&server->mutex);
    free(stream);
}

/* What comes after the last one that the reader has; all that is kept, if it has none, or one of an earlier server. */
static uint64_t first_for(const struct live_server *server, const char *last)
{
    char *end;
    uint64_t number = last == NULL ? 0 : strtoull(last, &end, 10);

    if (last == NULL || *last < '0' || *last > '9' || *end != '\0' || server->event_count == 0 ||
        number > event_at(server, server->event_count - 1)->number)
        return 0;
    return number + 1;
}

/* The last one that the reader has: of a page that was not seen for a while, in its address. */
static const char *last_of(struct MHD_Connection *connection)
{
    const char *last = live_header(connection, "Last-Event-ID");

    return last != NULL ? last
                        : mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "last");
}

/* NULL: there are too many, or out of memory. */
static struct stream *begin_stream(struct live_server *server, struct MHD_Connection *connection)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    pthread_mutex_lock(&server->mutex);
    bool fits =
        stream != NULL && server->stream_count < STREAMS_MOST && live_reader_of(connection) != NULL;
    if (fits) {
        *stream = (struct stream){.server = server,
                                  .connection = connection,
                                  .reader = live_reader_of(connection),
                                  .next = first_for(server, last_of(connection)),
                                  .says_hello = true,
                                  .after = server->streams};
        server->streams = stream;
        server->stream_count++;
    }
    pthread_mutex_unlock(&server->mutex);
    if (fits)
        return stream;
    free(stream);
    return NULL;
}

enum MHD_Result live_events_send(struct live_server *server, struct MHD_Connection *connection)
{
    struct stream *stream = begin_stream(server, connection);

    if (stream == NULL)
        return live_send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                              "Too many pages are open: close one.\n");
    struct MHD_Response *response =
        mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, end_stream);
    if (response == NULL) {
        end_stream(stream);
        return MHD_NO;
    }
    mhd.add_response_header(response, "Content-Type", "text/event-stream");
    mhd.add_response_header(response, "Cache-Control", "no-store");
    mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = mhd.queue_response(connection, MHD_HTTP_OK, response);
    mhd.destroy_response(response);
    return result;
}

struct page *live_events_latest(const struct live_server *server)
{
    return server->event_count == 0 ? NULL : event_at(server, server->event_count - 1);
}

void live_events_ping(struct live_server *server)
{
    for (struct stream *stream = server->streams; stream != NULL; stream = stream->after)
        stream->pings = true;
    wake_all(server);
}

void live_events_end(struct live_server *server)
{
    wake_all(server);
}

void live_events_done(struct live_server *server)
{
    while (server->event_count > 0)
        drop_oldest(server);
}

/* ---- snapshots ---- */

void live_server_add_snapshot(struct live_server *server, uint64_t number, const char *json)
{
    char head[48], *text = NULL;
    int head_size = snprintf(head, sizeof(head), "id: %" PRIu64 "\ndata: ", number);
    int size = asprintf(&text, "%s%s\n", head, json);
    struct page *page = size < 0 ? NULL : live_page_new(text, (size_t)size);

    if (page == NULL) /* readers miss this one */
        return;
    page->number = number;
    page->json = (size_t)head_size;
    pthread_mutex_lock(&server->mutex);
    keep_event(server, page);
    wake_all(server);
    pthread_mutex_unlock(&server->mutex);
}

#endif
