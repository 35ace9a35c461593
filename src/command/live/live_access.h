/* SPDX-License-Identifier: MIT */
/*
 * live_access.h: who may read what dpm live serves. Private to command/.
 *
 *      GET /?token=4f0c...       once      --> the page, Set-Cookie: dpm-live-9465-7c02d1e9=81ab...; SameSite=Strict
 *      GET /events               with that cookie, from a page of this host (Host, Origin)
 *      GET /metrics              Host, or the token of --token
 *
 * The token of an address is worth nothing once it was used: it may stay in a browser's history, or be seen in a list of
 * processes. Texts of requests may be NULL: they have no such header.
 */
#ifndef DPM_LIVE_ACCESS_H
#define DPM_LIVE_ACCESS_H

#include "base/base.h"

#include <arpa/inet.h>

#define LIVE_TOKEN_SIZE  256
#define LIVE_SECRET_SIZE 33 /* 128 bits in hexadecimal digits */
#define LIVE_MARK_SIZE   9  /* 32 bits */

struct live_access {
    char name[INET6_ADDRSTRLEN + 2]; /* the server's address, as in a URL */
    char token[LIVE_TOKEN_SIZE];     /* "": none is needed for metrics */
    char once[LIVE_SECRET_SIZE];     /* the token of the page's address */
    char cookie[LIVE_SECRET_SIZE];
    char mark[LIVE_MARK_SIZE]; /* of the cookie's name: random, no secret */
    bool was_used;             /* `once` is new, and was not printed yet */
};

/* Reads a token of 16 to 255 characters from a file that only its owner may read. Returns 0, or a negative errno with a line in
 * `problem`. */
int live_access_read_token(const char *path, char token[LIVE_TOKEN_SIZE], struct problem *problem);

/* `token` may be NULL. Returns 0, or a negative errno. */
int live_access_init(struct live_access *access, const char *name, const char *token);

/* Forgets the secrets. */
void live_access_done(struct live_access *access);

/* Whether this is the secret; it takes the same time wherever they differ. An empty secret is never right. */
bool live_access_is(const char *given, const char *secret);

/* "localhost", "127.0.0.1:9465", "[::1]:9465", or no name at all. A web page may have a name of its own for our address. */
bool live_access_names_host(const struct live_access *access, const char *host);

/* Whether a request comes from a page of the host that it asks, or from no page. */
bool live_access_fits_origin(const char *origin, const char *host);

/* "Bearer TOKEN" */
bool live_access_has_token(const struct live_access *access, const char *authorization);

/* Whether this is the token of the page's address. If so, there is a new one. */
bool live_access_redeem(struct live_access *access, const char *given);

#endif
