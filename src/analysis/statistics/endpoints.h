/* SPDX-License-Identifier: MIT */
/*
 * endpoints.h: the endpoints of connections that live, and who uses them. Private to statistics/.
 *
 *      event --end_place--> endpoint --usages--> usage --> usage ...      one process each
 *                              '--partner--> endpoint ...
 */
#ifndef DPM_ENDPOINTS_H
#define DPM_ENDPOINTS_H

#include "analysis/statistics/messages.h"
#include "analysis/statistics/places.h"
#include "analysis/statistics/queues.h"
#include "analysis/statistics/usage_values.h"

/* One process at one endpoint; or at those of all connections that share a row. */
struct usage {
    struct usage *next;
    uint32_t process;   /* index of its row */
    uint8_t last;       /* EVENT_SEND, EVENT_RECEIVE, 0: nothing yet */
    bool serves;        /* it is the server */
    uint64_t last_time; /* of its last message */
    struct traffic sent;
    struct traffic received;
    struct open_messages open;
    struct latest_values latest;
    struct value_histograms *histograms; /* NULL: it has had few values so far */
};

struct endpoint {
    bool present; /* false: its place is free */
    bool known;   /* there was a PATH record */
    bool byte_stream;
    bool numbered;      /* positions are numbers of messages */
    bool travels;       /* what it sends comes after it was sent: TCP, UDP */
    bool waits_for_any; /* a UDP socket without a peer */
    bool partner_tells; /* the other end is used, and its sends are recorded */
    uint8_t kind;       /* enum path_kind */
    uint8_t role;       /* enum path_role; guessed from the ports if need be */
    uint32_t origin;
    uint32_t number;          /* of the path */
    struct endpoint *partner; /* NULL: it is not monitored, or not known yet */
    struct usage *usages;
    struct usage *last_used;
    struct strangers *strangers; /* what comes from an unmonitored peer; NULL: nothing */
    struct numbers_seen *seen;   /* UDP from another machine; or NULL */
    uint64_t messages;           /* SEND and RECEIVE records */
    uint64_t closed;             /* when it was, by its origin's clock; 0: it is not */
    uint64_t duplicates;         /* datagrams that were received once more */
    uint64_t dropped;
    uint32_t last_dropped; /* as DROPPED said last, modulo 2^32 */
    struct usage first;    /* in the list, if there are any */
    struct queue queue;    /* of what it sends, if it has begun */
    struct network network;
} __attribute__((aligned(64)));

struct statistics;

/* The endpoint of an event that has a place for it; NULL: out of memory. What had the place before is counted with what has
 * ended. `number`: of its path. */
struct endpoint *endpoint_of(struct statistics *statistics, const struct history_event *event,
                             uint32_t number);

/* The process at this endpoint, with a row of the processes; NULL: out of memory. */
struct usage *endpoint_usage(struct statistics *statistics, struct endpoint *endpoint,
                             uint32_t process);

/* Sends are what is counted; where they are not recorded, receives must do. */
bool endpoint_sends_are_metered(const struct statistics *statistics,
                                const struct endpoint *endpoint);

/* Whether the recording shows what is received here; else nothing shows what waits. */
bool endpoint_receives_are_metered(const struct statistics *statistics,
                                   const struct endpoint *endpoint);

/* The two are the ends of one connection. */
void endpoint_join(const struct statistics *statistics, struct endpoint *endpoint,
                   struct endpoint *partner);

/* Gives back all that it has; its place is free then. */
void endpoint_forget(struct statistics *statistics, struct endpoint *endpoint);

/* Gives back what it has. */
void usage_done(struct usage *usage);

#endif
