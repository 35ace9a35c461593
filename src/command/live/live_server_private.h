/* SPDX-License-Identifier: MIT */
/*
 * live_server_private.h: the parts of the server of dpm live. Private to live_server.c, live_library.c, live_readers.c and
 * live_events.c, which are empty without libmicrohttpd.
 */
#ifndef DPM_LIVE_SERVER_PRIVATE_H
#define DPM_LIVE_SERVER_PRIVATE_H

#include "command/live/live_server.h"

#ifdef DPM_HAS_MICROHTTPD

#include <microhttpd.h>
#include <pthread.h>

/* ---- live_library.c: libmicrohttpd, loaded when a server starts ---- */

#define MHD_FUNCTIONS(F)                                                                           \
    F(add_response_header)                                                                         \
    F(create_response_from_buffer)                                                                 \
    F(create_response_from_callback)                                                               \
    F(destroy_response)                                                                            \
    F(get_connection_info)                                                                         \
    F(get_daemon_info)                                                                             \
    F(lookup_connection_value)                                                                     \
    F(queue_response)                                                                              \
    F(resume_connection)                                                                           \
    F(start_daemon)                                                                                \
    F(stop_daemon)                                                                                 \
    F(suspend_connection)

struct live_library {
#define MHD_MEMBER(name) __typeof__(MHD_##name) *name;
    MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
};

extern struct live_library mhd;

int live_library_load(struct problem *problem);

/* ---- the server ---- */

#define CONNECTIONS_MOST 128
#define FROM_ONE_ADDRESS 120
#define STREAMS_MOST     100          /* so that others are always answered */
#define PATIENCE         10000000000u /* ns */
#define BLOCK            16384
#define COOKIE_NAME_SIZE 32

/* A text that several answers may share. */
struct page {
    unsigned users;
    uint64_t number; /* of the snapshot */
    char *text;
    size_t size;
    size_t json; /* where its JSON begins */
};

/* A connection, which is dropped if it ends without an answer. */
struct reader {
    int file;       /* -1: no connection */
    uint64_t since; /* CLOCK_MONOTONIC: it began, was answered, or took a part of a stream */
    bool was_answered;
    bool is_idle; /* a stream that has sent all there is */
    bool was_cut;
};

/* An answer that goes on: the events for one reader. */
struct stream {
    struct live_server *server;
    struct MHD_Connection *connection;
    struct reader *reader;
    struct page *page; /* that is sent now; NULL: none */
    size_t sent;       /* bytes of it */
    uint64_t next;     /* the least number to be sent after it */
    bool says_hello, pings;
    struct stream *after;
};

/* A question that the page asks, while it is answered. */
struct live_question {
    struct MHD_Connection *connection;
    struct reader *reader; /* NULL: it is not known */
    char *text;            /* the answer */
};

struct live_server {
    struct MHD_Daemon *daemon;
    struct live_why *why;           /* NULL: there are no answers */
    struct live_question *question; /* under the mutex: the only one; NULL: none */
    pthread_t watch;
    bool watches;
    pthread_mutex_t mutex; /* of the rest */
    pthread_cond_t changed;
    bool ends;
    struct live_access access;
    char cookie_name[COOKIE_NAME_SIZE];
    struct reader readers[CONNECTIONS_MOST];
    struct page *pages[LIVE_FORMATS];    /* NULL: there is none yet */
    struct page *about;                  /* NULL: there is no page for browsers */
    struct page *events[LIVE_KEPT_MOST]; /* a ring ... */
    size_t event_begin, event_count, event_bytes;
    struct stream *streams;
    unsigned stream_count;
    struct live_served served;
};

/* A page of one user, with this text, which becomes its own. NULL: out of memory, and the text is freed. */
struct page *live_page_new(char *text, size_t size);

/* Under the mutex. NULL is allowed. */
void live_page_release(struct page *page);

enum MHD_Result live_send_text(struct MHD_Connection *connection, unsigned status,
                               const char *text);

/* A header of the request; NULL: it has none. */
const char *live_header(struct MHD_Connection *connection, const char *name);

/* ---- live_readers.c: how long a connection may take ---- */

struct reader *live_reader_of(struct MHD_Connection *connection);

/* The head of a request is whole: what it waited for is not part of the time for its answer. */
void live_reader_asks(struct live_server *server, struct MHD_Connection *connection);

/* For libmicrohttpd. */
void live_reader_completed(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code);
void live_reader_connected(void *context, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code);

/* A thread: ends those that take too long. */
void *live_readers_watch(void *context);

/* ---- live_questions.c: what is answered later ---- */

/* Begins to answer, or sends the answer that is there. `state`: of libmicrohttpd, for this request. */
enum MHD_Result live_question_answer(struct live_server *server, struct MHD_Connection *connection,
                                     void **state);

/* Whether this state of a request is that of a question; `ends`: and it is over. */
bool live_question_is(struct live_server *server, const void *state, bool ends);

/* ---- live_events.c: snapshots, one after another ---- */

enum MHD_Result live_events_send(struct live_server *server, struct MHD_Connection *connection);

/* Under the mutex. The latest one; NULL: there is none yet. */
struct page *live_events_latest(const struct live_server *server);

/* Under the mutex: each stream that waits says something, so that a reader that is gone is noticed. */
void live_events_ping(struct live_server *server);

/* Under the mutex: all streams end. */
void live_events_end(struct live_server *server);

void live_events_done(struct live_server *server);

#endif
#endif
