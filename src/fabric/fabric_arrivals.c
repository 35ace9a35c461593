/* SPDX-License-Identifier: MIT */
/* fabric_arrivals.c: what threads of libnats put into the queue, and the caller's thread takes out. */
#include "fabric/fabric_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REQUESTS_MOST 256 /* that wait for fabric_next; then libnats keeps them, and the server */
#define TROUBLES_MOST 32

void fabric_arrival_free(struct arrival *arrival)
{
    if (arrival == NULL)
        return;
    natsMsg_Destroy(arrival->message);
    free(arrival);
}

void fabric_wake(struct fabric *fabric)
{
    uint64_t one = 1;

    if (write(fabric->events, &one, sizeof(one)) < 0)
        return; /* it is full: readable anyway */
}

/* In a thread of libnats. Requests wait for space: their subscription has a thread of its own. */
static void arrived(struct fabric *fabric, enum arrival_kind kind, natsMsg *message,
                    enum fabric_state state, const char *text)
{
    struct arrival *arrival = calloc(1, sizeof(*arrival));

    if (arrival == NULL) { /* a lost acknowledgement is sent again, a lost reply takes too long */
        natsMsg_Destroy(message);
        return;
    }
    *arrival = (struct arrival){.kind = kind, .message = message, .state = state};
    snprintf(arrival->text, sizeof(arrival->text), "%s", text);
    pthread_mutex_lock(&fabric->lock);
    while (kind == ARRIVAL_REQUEST && fabric->waiting >= REQUESTS_MOST && !fabric->closing)
        pthread_cond_wait(&fabric->changed, &fabric->lock);
    if (fabric->closing || (kind == ARRIVAL_TROUBLE && fabric->troubles >= TROUBLES_MOST)) {
        pthread_mutex_unlock(&fabric->lock);
        fabric_arrival_free(arrival);
        return;
    }
    fabric->troubles += kind == ARRIVAL_TROUBLE;
    *fabric->arrivals_end = arrival;
    fabric->arrivals_end = &arrival->next;
    fabric->waiting++;
    pthread_cond_broadcast(&fabric->changed);
    pthread_mutex_unlock(&fabric->lock);
    fabric_wake(fabric);
}

/* Under the lock. */
static struct arrival *unlink_wanted(struct fabric *fabric,
                                     bool (*wanted)(const struct arrival *, const void *),
                                     const void *context)
{
    struct arrival **link = &fabric->arrivals;

    while (*link != NULL && wanted != NULL && !wanted(*link, context))
        link = &(*link)->next;
    struct arrival *arrival = *link;
    if (arrival == NULL)
        return NULL;
    *link = arrival->next;
    if (*link == NULL)
        fabric->arrivals_end = link;
    arrival->next = NULL;
    fabric->waiting--;
    fabric->troubles -= arrival->kind == ARRIVAL_TROUBLE;
    pthread_cond_broadcast(&fabric->changed);
    return arrival;
}

struct arrival *fabric_take(struct fabric *fabric,
                            bool (*wanted)(const struct arrival *arrival, const void *context),
                            const void *context, int timeout_ms)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000l;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&fabric->lock);
    struct arrival *arrival = unlink_wanted(fabric, wanted, context);
    while (arrival == NULL && timeout_ms > 0 && error == 0) {
        error = pthread_cond_timedwait(&fabric->changed, &fabric->lock, &until);
        arrival = unlink_wanted(fabric, wanted, context);
    }
    pthread_mutex_unlock(&fabric->lock);
    return arrival;
}

struct held *fabric_hold(struct fabric_message *message, struct arrival *arrival,
                         const char *machine)
{
    struct held *held = calloc(1, sizeof(*held));

    if (held == NULL)
        return NULL;
    held->message = arrival->message;
    arrival->message = NULL;
    snprintf(held->machine, sizeof(held->machine), "%s", machine);
    message->machine = held->machine;
    message->held = held;
    return held;
}

void fabric_on_reply(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *context)
{
    (void)nc;
    (void)sub;
    arrived(context, ARRIVAL_REPLY, message, 0, "");
}

void fabric_on_request(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *context)
{
    (void)nc;
    (void)sub;
    arrived(context, ARRIVAL_REQUEST, message, 0, "");
}

void fabric_on_error(natsConnection *connection, natsSubscription *sub, natsStatus error,
                     void *context)
{
    const char *text = NULL;

    (void)sub;
    if (natsConnection_GetLastError(connection, &text) == NATS_OK || text == NULL)
        text = natsStatus_GetText(error);
    arrived(context, ARRIVAL_TROUBLE, NULL, 0, text);
}

void fabric_on_disconnected(natsConnection *nc, void *context)
{
    (void)nc;
    arrived(context, ARRIVAL_STATE, NULL, FABRIC_DISCONNECTED, "");
}

void fabric_on_reconnected(natsConnection *nc, void *context)
{
    struct fabric *fabric = context;

    (void)nc;
    pthread_mutex_lock(&fabric->lock);
    fabric->reconnections++;
    pthread_mutex_unlock(&fabric->lock);
    arrived(fabric, ARRIVAL_STATE, NULL, FABRIC_CONNECTED, "");
}

/* A callback that may be the last one of its kind. */
void fabric_finished(void *context)
{
    struct fabric *fabric = context;

    pthread_mutex_lock(&fabric->lock);
    fabric->running--;
    pthread_cond_broadcast(&fabric->changed);
    pthread_mutex_unlock(&fabric->lock);
}

void fabric_on_closed(natsConnection *connection, void *context)
{
    const char *text = NULL;

    natsConnection_GetLastError(connection, &text);
    arrived(context, ARRIVAL_STATE, NULL, FABRIC_ENDED, text == NULL ? "" : text);
    fabric_finished(context);
}
