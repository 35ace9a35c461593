/* SPDX-License-Identifier: MIT */
/*
 * fabric_internal.h: what the files of the fabric share. Private to fabric/.
 *
 *      threads of libnats                         the caller's thread
 *      arrived(), errors, state --> arrivals ---> fabric_next --> outboxes, listener --> messages
 *
 * Replies come to one subscription, PREFIX.TOKEN.>, and the rest of the subject says what they reply to:
 *      c.MACHINE.CALL    o.OUTBOX.NUMBER    l.GENERATION    u
 */
#ifndef DPM_FABRIC_INTERNAL_H
#define DPM_FABRIC_INTERNAL_H

#include "fabric/fabric.h"
#include "fabric/nats_library.h"

#include <pthread.h>

#define FABRIC_SUBJECT_SIZE 320
#define MILLISECONDS        1000000ull /* ns */

/* ---- what libnats' threads put into the queue ---- */

enum arrival_kind { ARRIVAL_REPLY, ARRIVAL_REQUEST, ARRIVAL_STATE, ARRIVAL_TROUBLE };

struct arrival {
    struct arrival *next;
    enum arrival_kind kind;
    natsMsg *message; /* REPLY, REQUEST */
    enum fabric_state state;
    char text[256];
};

struct fabric {
    char session[FABRIC_NAME_MOST + 1];
    char machine[FABRIC_NAME_MOST + 1]; /* "": not an agent */
    char user[128];
    char where[128];                     /* the server, for problems */
    char inbox[FABRIC_SUBJECT_SIZE / 2]; /* PREFIX.TOKEN */
    char streams[3][FABRIC_NAME_MOST + 16];

    natsConnection *connection;
    natsOptions *options;
    natsSubscription *replies, *requests;

    int events, timer, poll; /* an eventfd and a timerfd in an epoll */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct arrival *arrivals, **arrivals_end;
    size_t waiting;    /* arrivals */
    unsigned troubles; /* of these */
    unsigned running;  /* callbacks that may still come */
    bool closing;
    unsigned reconnections;

    /* the caller's thread */
    uint64_t call_number;
    unsigned reconnections_seen;
    struct outbox *outboxes;
    uint32_t outbox_number;
    struct outbox *said;
    struct listener *listener;
    uint64_t answered; /* when JetStream has answered last, or could begin to */
    bool usage_came, usage_refused;
    struct fabric_usage usage; /* of packets, as the last answer said */
};

enum { STREAM_PACKETS, STREAM_SAID, STREAM_KEPT }; /* of fabric.streams */

#define KEPT_SUBJECT "dpm.%s.controller.kept." /* a key follows */

/* A problem's line for an error of libnats: "what: why". Returns `error`. */
int fabric_problem(struct problem *problem, int error, const char *what, natsStatus status);

/* The line of a connection that the server has ended: its reason, and what to do about it. Returns -ENOTCONN. */
int fabric_ended_problem(const struct fabric *fabric, struct problem *problem);

/* Whether the latest error in this thread is a limit of the server's: then `problem` gets a line. */
bool fabric_refusal(const struct fabric *fabric, struct problem *problem);

/* The error of the connection that has come first and was not reported yet: what the server does not permit. It is the
 * caller's; NULL: none. */
struct arrival *fabric_take_trouble(struct fabric *fabric);

/* A negative errno for an error of libnats. */
int fabric_errno(natsStatus status);

/* Arms the timer for what is due next. */
void fabric_arm(struct fabric *fabric);

/* Takes the oldest arrival that is `wanted` (NULL: any), for which it waits at most `timeout_ms`; or returns NULL. */
struct arrival *fabric_take(struct fabric *fabric,
                            bool (*wanted)(const struct arrival *arrival, const void *context),
                            const void *context, int timeout_ms);
void fabric_arrival_free(struct arrival *arrival);

/* Called by libnats, in its threads. */
void fabric_on_reply(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *context);
void fabric_on_request(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *context);
void fabric_on_error(natsConnection *nc, natsSubscription *sub, natsStatus error, void *context);
void fabric_on_disconnected(natsConnection *nc, void *context);
void fabric_on_reconnected(natsConnection *nc, void *context);
void fabric_on_closed(natsConnection *nc, void *context);
void fabric_finished(
    void *context); /* a callback that was counted in `running` does not come again */

/* What a message holds until fabric_message_done. */
struct held {
    natsMsg *message;
    json_t *body;
    char machine[FABRIC_NAME_MOST + 1];
};

/* Moves the arrival's message into what `message` holds. Returns it, or NULL: no memory. */
struct held *fabric_hold(struct fabric_message *message, struct arrival *arrival,
                         const char *machine);

/* Whether a reply is a status without a body, such as 503: nobody listens. Returns it, or 0. */
int fabric_status_of(natsMsg *message);

/* Wakes up the caller's thread. */
void fabric_wake(struct fabric *fabric);

/* Does what is due: sends what may be sent, or again after a reconnection. */
void fabric_pump(struct fabric *fabric);

/* A request to JetStream's interface. Returns 0, and the caller owns *ret_body; or a negative errno with a line in
 * `problem`. `body` may be NULL. */
int fabric_ask(struct fabric *fabric, const char *what, const char *subject, const char *body,
               json_t **ret_body, struct problem *problem);

/* ---- usage.c ---- */

/* JetStream has answered something. */
void usage_note_answer(struct fabric *fabric);

/* What the server says of the stream of packets; the other members stay as they are. */
void usage_of_packets(const json_t *info, struct fabric_usage *ret_usage);

/* Whether this is the server's line that fabric_usage_ask is not permitted. It does not ask again then. */
bool usage_is_refused(struct fabric *fabric, const char *text);

/* Handles the reply to fabric_usage_ask. */
void usage_reply(struct fabric *fabric, natsMsg *reply);

/* ---- remote_calls.c ---- */

/* Handles the reply to a call. Returns 1: `ret_message` is a REPLY; 0: out of memory. */
int calls_reply(const char *machine, uint64_t number, struct arrival *arrival,
                struct fabric_message *ret_message);

/* Makes a REQUEST of what came. Returns 1, or 0: it was malformed, and has been refused. */
int calls_request(struct fabric *fabric, struct arrival *arrival,
                  struct fabric_message *ret_message);

/* ---- said.c ---- */

/* Handles a reply to the listener's requests. Returns 0: nothing for the caller. */
int said_reply(struct fabric *fabric, unsigned generation, natsMsg *reply);

/* Handles a stored message that came. Returns 1 and a NOTICE or an OUTPUT, or 0. */
int said_stored(struct fabric *fabric, struct arrival *arrival, struct fabric_message *ret_message);
void said_reconnected(struct fabric *fabric);
void said_pump(struct fabric *fabric, uint64_t now);
uint64_t said_due(const struct fabric *fabric);
void said_free(struct fabric *fabric);

#endif
