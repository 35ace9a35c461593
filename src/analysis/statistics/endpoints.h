/* SPDX-License-Identifier: MIT */
/*
 * endpoints.h: the endpoints of live connections, and the processes that use them. Private to statistics/.
 *
 *      event --end_place--> endpoint --usages--> usage --> usage ...      one process each
 *                              '--partner--> endpoint ...
 */
#ifndef DPM_ENDPOINTS_H
#define DPM_ENDPOINTS_H

#include "analysis/statistics/answers.h"
#include "analysis/statistics/messages.h"
#include "analysis/statistics/places.h"
#include "analysis/statistics/queues.h"
#include "analysis/statistics/usage_values.h"

/* One process at one endpoint, or at one end of all ended connections that share a row. */
struct usage {
    struct usage *next;
    uint32_t process;   /* index of its row */
    uint8_t last;       /* EVENT_SEND or EVENT_RECEIVE; 0: neither yet */
    bool serves;        /* as the server */
    uint64_t last_time; /* of its last message */
    uint64_t asks;      /* as a client: when its request began that has no answer yet; 0: none */
    uint64_t request;   /* when the one began whose answer is in progress; 0: none is ... */
    uint64_t answered;  /* ... and its latest piece came */
    struct request_parts asked; /* as a client */
    struct answer_checks checks;
    struct traffic sent;
    struct traffic received;
    struct traffic
        unselected; /* of `received`: messages and bytes whose SENDs a selection has removed */
    struct open_messages open;
    struct latest_values latest;
    struct value_histograms *histograms; /* NULL: few values so far */
};

struct endpoint {
    bool present; /* false: its index is free */
    bool known;   /* its PATH record was read */
    bool byte_stream;
    bool numbered;      /* positions count messages */
    bool travels;       /* messages may arrive later than they are sent: TCP, UDP */
    bool waits_for_any; /* a UDP socket without a peer */
    bool unconnected;   /* a listener, or its connection failed */
    bool partner_tells; /* the other end is in use, and its sends are recorded */
    bool older;         /* the connection began before the recording */
    uint8_t kind;       /* enum path_kind */
    uint32_t next[2];   /* positions of the next RECEIVE and SEND if nothing is missing ... */
    bool has_next[2];   /* ... as far as is known */
    uint8_t role;       /* enum path_role; guessed from the ports if unknown */
    uint32_t origin;
    uint32_t number;          /* of the path */
    struct endpoint *partner; /* NULL: not monitored, or not known yet */
    struct usage *usages;
    struct usage *last_used;
    struct strangers *strangers; /* messages of an unmonitored peer; NULL: none */
    struct numbers_seen *seen;   /* UDP from another machine; or NULL */
    uint64_t messages;           /* SEND and RECEIVE records */
    uint64_t closed;             /* when, by its origin's clock; 0: still open */
    uint64_t duplicates;         /* datagrams received twice */
    uint64_t dropped;
    uint64_t refused;
    uint32_t last_dropped; /* counts in the latest DROPPED, modulo 2^32 */
    uint32_t last_refused;
    struct usage first; /* first of `usages`, if there are any */
    struct queue queue; /* of what it sends; valid once begun */
    struct network network;
} __attribute__((aligned(64)));

struct statistics;

/* The endpoint of an event whose end_place is not 0; NULL: out of memory. An older endpoint at that index is counted as
 * ended. `number`: of its path. */
struct endpoint *endpoint_of(struct statistics *statistics, const struct history_event *event,
                             uint32_t number);

/* The usage of this endpoint by a process, which then has a row; NULL: out of memory. */
struct usage *endpoint_usage(struct statistics *statistics, struct endpoint *endpoint,
                             uint32_t process);

/* Whether sends here are recorded. If not, receives at the other end are counted instead. */
bool endpoint_sends_are_metered(const struct statistics *statistics,
                                const struct endpoint *endpoint);

/* Whether receives here are recorded. If not, the length of the receive queue is unknown. */
bool endpoint_receives_are_metered(const struct statistics *statistics,
                                   const struct endpoint *endpoint);

/* Makes the two the ends of one connection. */
void endpoint_join(const struct statistics *statistics, struct endpoint *endpoint,
                   struct endpoint *partner);

/* Its partner was closed, and another one has the same address (UDP): what was counted so far is that of an ended connection.
 * Returns 0 or -ENOMEM. */
int endpoint_begin_again(struct statistics *statistics, struct endpoint *endpoint);

/* Frees all that it has, and its index. */
void endpoint_forget(struct statistics *statistics, struct endpoint *endpoint);

/* Frees what it has, not the usage itself. */
void usage_done(struct usage *usage);

#endif
