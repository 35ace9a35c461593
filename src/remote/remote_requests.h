/* SPDX-License-Identifier: MIT */
/* remote_requests.h: requests that wait for their answers, or for their hosts to come back. Private to remote/. */
#ifndef DPM_REMOTE_REQUESTS_H
#define DPM_REMOTE_REQUESTS_H

#include "remote/remote.h"

struct remote_call {
    int64_t number; /* of the fabric; 0: not sent yet, or to be sent again */
    struct remote_host *host;
    const char *method; /* a constant */
    json_t *params;
    uint64_t deadline, due;
    remote_answer answer;
    void *context;
};

struct remote_calls {
    struct remote_call *list;
    size_t count, capacity;
};

/* Takes the REPLY to one of them. */
void remote_calls_take(struct remote *remote, const struct fabric_message *message);

/* Sends those that are due, and ends those that have waited too long. */
void remote_calls_step(struct remote *remote);

/* The host is connected again: what it was asked, or has answered, when the connection broke may be lost. Asks again what may be
 * asked twice. */
void remote_calls_again(struct remote *remote, const struct remote_host *host);

/* An error of the connection, in the server's words: ends those whose requests it does not permit. */
void remote_calls_refused(struct remote *remote, const char *text);

void remote_calls_done(struct remote_calls *calls);

#endif
