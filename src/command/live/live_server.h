/* SPDX-License-Identifier: MIT */
/*
 * live_server.h: serves the latest metrics, and a page that follows the snapshots, over HTTP, in a thread of its own: who makes
 * them waits for no reader. Private to command/.
 *
 *      live_server_publish(text) ---------> the latest text <-- GET /metrics, HEAD /metrics
 *      live_server_add_snapshot(json) --+-> the latest 600  <-- GET /events, with the id of the last one that a reader has
 *                                       '-> the latest one  <-- GET /snapshot.json
 *      a child of live_why.h                                <-- GET /why
 *      the page                                             <-- GET /
 *
 * Anything else is refused: other paths, other methods, who may not ask (live_access.h). A reader that takes longer than 10 s for
 * a request and its answer, or between two of them, or for 16 KiB of events, loses its connection; without an answer, or with
 * events left, it is counted.
 */
#ifndef DPM_LIVE_SERVER_H
#define DPM_LIVE_SERVER_H

#include "base/base.h"
#include "command/live/live_access.h"
#include "show/live/live_face.h"

#include <sys/socket.h>

struct live_server;
struct live_why;

struct live_server_options {
    const struct sockaddr *address;
    const char *name;  /* of the address in a URL: "127.0.0.1", "[::1]" */
    const char *token; /* what readers of metrics must show; NULL: nothing */
    const char *about; /* JSON that a page gets first (show_live_about); NULL: there is no page */
    struct live_why *
        why; /* answers its questions, and ends before the server stops; NULL: there are no answers */
};

/* Whether this program was built with it. */
bool live_server_is_there(void);

/* Listens. `options` need not outlive it. Returns 0, or a negative errno with a line in `problem`. *ret_port: where it listens. */
int live_server_start(const struct live_server_options *options, struct live_server **ret_server,
                      uint16_t *ret_port, struct problem *problem);

/* The formats of metrics: readers ask for OpenMetrics by its name (Accept); others get the older text format. */
enum live_format { LIVE_OPENMETRICS, LIVE_TEXT, LIVE_FORMATS };

/* The next answers have this text, which becomes the server's. */
void live_server_publish(struct live_server *server, enum live_format format, char *text,
                         size_t size);

/* A snapshot as a line of JSON, with its newline, for the page; `number` is greater than that of the one before. The text stays the caller's. */
void live_server_add_snapshot(struct live_server *server, uint64_t number, const char *json);

/* The token of the page's address, at first, and each time that one was used. Returns whether there is one to print. */
bool live_server_new_token(struct live_server *server, char token[LIVE_SECRET_SIZE]);

void live_server_counts(struct live_server *server, struct live_served *ret_served);

/* NULL is allowed. */
void live_server_stop(struct live_server *server);

#endif
