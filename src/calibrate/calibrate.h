/* SPDX-License-Identifier: MIT */
/*
 * calibrate.h: how `dpm calibrate` measures. Private to control/.
 *
 *      calibrate_command.c   what is asked for, and what is written
 *      calibrate_local.c     within this machine       calibrate_network.c   between machines
 *      calibrate_messages.c  sending, echoing, timing  calibrate_listen.c    the side that echoes
 *
 * All return 0 or a negative errno; those with a `problem` put a line there.
 */
#ifndef DPM_CALIBRATE_H
#define DPM_CALIBRATE_H

#include "base/base.h"
#include "event/event.h"

#include <signal.h>

struct addrinfo;

#define CALIBRATE_SIZES     6
#define CALIBRATE_SIZE_MOST 1000000u
#define CALIBRATE_PATIENCE  5 /* seconds for each header, each message, and for waiting on either */

extern const uint32_t calibrate_sizes[CALIBRATE_SIZES]; /* bytes */

/* ---- calibrate_messages.c ---- */

/* Two directions, which of a socket are one. */
struct link {
    int in, out;
};

/* Set by the signals that end the side that listens; whatever it does then fails with -EINTR. */
extern volatile sig_atomic_t calibrate_interrupted;

/* Echoes what one asks for; 1: he has closed. `buffer` has room for CALIBRATE_SIZE_MOST. -EPROTO: it is no such peer;
 * -ETIMEDOUT: he, or a message of his, took too long. */
int calibrate_echo(struct link link, char *buffer);

/* The median delivery time of messages of each length, ns: half of the time there and back, for `time` ns each. */
int calibrate_measure(struct link link, uint64_t time, uint64_t medians[CALIBRATE_SIZES]);

/* ---- calibrate_local.c ---- */

enum calibrate_kind { CALIBRATE_TCP, CALIBRATE_UNIX, CALIBRATE_PIPE, CALIBRATE_KINDS };

/* The same, with a child. */
int calibrate_local(enum calibrate_kind kind, uint64_t time, uint64_t medians[CALIBRATE_SIZES]);

/* ---- calibrate_network.c ---- */

/* A machine as it was asked for. */
struct calibrate_host {
    char text[256];   /* cut in two, to which these point: */
    const char *name; /* by which it stands in what is written */
    const char *port;
    struct addrinfo *found; /* its addresses */
};

/* Nobody is asked yet, but for what resolves names; `found` is to be freed by freeaddrinfo. -EINVAL: wrong usage. */
int calibrate_read_host(const char *address, struct calibrate_host *host, struct problem *problem);

/* The same, with `dpm calibrate --listen` there. */
int calibrate_remote(const struct calibrate_host *host, uint64_t time,
                     uint64_t medians[CALIBRATE_SIZES], struct problem *problem);

/* A socket that listens on "port", "address:port" or "[address]:port", and does not block. */
int calibrate_open_listener(const char *address, struct problem *problem);

/* No call on the socket waits longer than CALIBRATE_PATIENCE; small messages go at once. */
void calibrate_set_patience(int socket);

/* ---- calibrate_listen.c ---- */

/* Answers one peer after the other, until SIGINT or SIGTERM. */
int calibrate_answer(const char *address, struct problem *problem);

#endif
