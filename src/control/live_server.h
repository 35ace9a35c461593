/* SPDX-License-Identifier: MIT */
/*
 * live_server.h: serves the latest metrics over HTTP, in a thread of its own: who makes them waits for no reader. Private to
 * control/.
 *
 *      live_server_publish(text) --> the latest text <-- GET /metrics, HEAD /metrics
 *
 * Anything else is refused: other paths, other methods; without a token, names of other hosts (so that a web page cannot make a
 * browser ask); with one, requests that lack it. A reader that takes longer than 10 s for a request and its answer, or between
 * two of them, loses its connection; without an answer it is counted.
 */
#ifndef DPM_LIVE_SERVER_H
#define DPM_LIVE_SERVER_H

#include "base/base.h"
#include "show/live/live_face.h"

#include <sys/socket.h>

struct live_server;

#define LIVE_TOKEN_SIZE 256

/* Whether this program was built with it. */
bool live_server_is_there(void);

/* Reads a token of 16 to 255 characters from a file that only its owner may read. Returns 0, or a negative errno with a line in
 * `problem`. */
int live_server_read_token(const char *path, char token[LIVE_TOKEN_SIZE], struct problem *problem);

/* Listens at this address, which is `name` in a URL ("127.0.0.1", "[::1]"). `token`: what readers must show; NULL: nothing.
 * Returns 0, or a negative errno with a line in `problem`. *ret_port: where it listens. */
int live_server_start(const struct sockaddr *address, const char *name, const char *token,
                      struct live_server **ret_server, uint16_t *ret_port, struct problem *problem);

/* The formats of a page: readers ask for OpenMetrics by its name (Accept); others get the older text format. */
enum live_format { LIVE_OPENMETRICS, LIVE_TEXT, LIVE_FORMATS };

/* The next answers have this text, which becomes the server's. */
void live_server_publish(struct live_server *server, enum live_format format, char *text,
                         size_t size);

void live_server_counts(struct live_server *server, struct live_served *ret_served);

/* NULL is allowed. */
void live_server_stop(struct live_server *server);

#endif
