/* SPDX-License-Identifier: MIT */
/*
 * client_requests.h: requests as the client feels them: from the moment when it begins to connect, or sends, to the answer.
 *
 *      client   CONNECT......o  SEND . . (no answer) . . SEND . . . . . RECEIVE . . RECEIVE     SEND
 *               | connecting |  |      retries           | waits for the answer | ...      |    the next request
 *               begin           first_sent               sent
 *
 * Connecting belongs to a request if the connection was made for it: the thread that connected sends the first message, and
 * has received nothing and waited for nothing in between.
 *
 * A datagram is sent again if its thread waited for the answer in vain, and then sends as many bytes to the same end, or to
 * the same port of another one (the next name server). All tries are one request; each try without an answer is a question
 * that had none, for the time until the next one.
 *
 *      name server 1   o SEND . . 1 s . .                        1 question without an answer
 *      name server 2                     o SEND . . RECEIVE      1 request of 1 s, of which nearly all is retries
 *
 * A connect of 1 s or more, on a connection that has retransmitted something, has waited until TCP sent its SYN again.
 *
 * What an event loop sends may be meant to have no answer (a metric, a sign of life). So a question counts as one without
 * an answer only if its thread waited for this connection alone or in poll or select, if it goes to the port of name
 * servers, or if the same end has answered before; and if that thread gave up by itself: it asked again, or closed.
 * Two sockets that were made together: neither is known to ask (programs use one pair for each direction), so what is
 * sent there counts as a question only once the other end has answered.
 *
 * Where FLAGS stop the recording of all processes' messages for a time, what was open before has no end that is known.
 *
 * All times are ns of the origin's clock. Memory is bounded by the ends and threads that live.
 */
#ifndef DPM_CLIENT_REQUESTS_H
#define DPM_CLIENT_REQUESTS_H

#include "history/history.h"

enum asking_side { ASKING_SIDE_NOT_KNOWN, ASKING_CALLS, ASKING_SERVES, ASKING_NO_SIDE };

/* What the client at an end asks. */
struct question {
    /* of the request: its thread called connect, or sent the first byte of the first try */
    uint64_t begin;
    uint64_t connected;  /* the connection that was made for it was established; 0: none was */
    uint64_t first_sent; /* the first byte of the first try ... */
    uint64_t sent;       /* ... and of the latest one */
    uint32_t tries;      /* at all ends; more than 1: the datagram was sent again */
    bool is_open;        /* the request has begun */
    bool is_answered;    /* at least one piece of its answer was received */
    /* state of client_requests.c */
    bool was_used, was_answered, is_superseded, is_datagram, is_connecting;
    bool is_of_pair; /* no record shows which end asks */
    uint8_t side;
    uint16_t port;           /* of the server; 0: none */
    uint32_t origin, number; /* of the path */
    uint32_t size;           /* bytes of the latest try */
    uint32_t asker;          /* place of the thread that sent it */
    uint32_t from, to;       /* places of the ends that were asked before and next */
    uint32_t parts, answers; /* datagrams of the latest try; received for it */
    uint64_t connect_begin, connect_end;
    bool was_made; /* the connection, for its first request */
    uint32_t connector, connector_waits;
    uint64_t left; /* its thread does something else since then; 0: it does not, or never waited */
    bool is_evident;     /* ... and it was a question */
    uint32_t vain_count; /* tries of this request without an answer, so far ... */
    uint64_t vain_time;  /* ... the latest of which was waited for so long */
};

/* The part of a connect that passed until its SYN was sent again: TCP's time limits are whole seconds, 1 s at first. */
uint64_t asking_resent(uint64_t connecting);

enum asking_what {
    ASKING_NOTHING, /* no message of a client, or of no request that is known: it began before the recording, or the answer
                      * came twice */
    ASKING_BEGINS,  /* SEND: a request */
    ASKING_GOES_ON, /* SEND: more of it */
    ASKING_REPEATS, /* SEND: the same again */
    ASKING_ANSWERED, /* RECEIVE: the first piece of its answer */
    ASKING_MORE,     /* RECEIVE: a further one */
    ASKING_GIVES_UP, /* DESTROYPATH: the thread has waited for the answer in vain */
};

struct asking_step {
    enum asking_what what;
    const struct question *question; /* at the event's end, after it; NULL: it has none */
    enum asking_side side;           /* of a SEND or RECEIVE */
    /* BEGINS, REPEATS: place of the end that was asked in vain just before: another, or the same; 0: none */
    uint32_t from;
    bool from_closed;   /* ... or its thread had closed that end (GIVES_UP) */
    uint64_t from_sent; /* ... and when */
    /* ANSWERED: place of an end that was asked again, but the first one has answered: its request begins with its own
     * try; 0: none */
    uint32_t instead;
    /* place of the end whose latest question had no answer, as its thread waits no longer; 0: none ... */
    uint32_t vain_end;
    uint64_t vain_time; /* ... and for how long it was waited for */
    bool may_ask_again; /* DESTROYPATH: it was what its thread asked last (from_closed) */
    /* RECEIVE: a question that counted as one without an answer has one, so late */
    bool is_late;
    uint64_t late_time; /* its vain_time */
    /* NETWORK: the connection was made for a request (`question` has the times), and its SYN was lost and sent again */
    bool is_resent;
    uint64_t connecting; /* ... so long did connecting take */
};

struct asker;

/* All zero at first. */
struct askings {
    struct question *questions; /* [end_place - 1] */
    size_t question_room;
    struct asker *askers; /* [stream_place - 1] */
    size_t asker_room;
    struct message_gap *gaps; /* [origin] */
    size_t gap_room;
};

/* To be called with every event. Returns 0 or -ENOMEM. */
int askings_see(struct askings *askings, const struct identities *identities,
                const struct history_event *event, struct asking_step *ret_step);

/*
 * The side of the end where a message was sent or received; `path` may be NULL. If no record shows which end called, it is
 * the one that sends first: so to be asked for the first message of an end.
 */
enum asking_side asking_side_of(const struct path_record *path, const struct record *record);

/* When an origin recorded messages again after a time in which it recorded none, its clock, ns; 0: that was never so. */
uint64_t askings_gap(const struct askings *askings, uint32_t origin);

/* Whether the thread that asked at this end still waits for the answer. After the last event. */
bool askings_waits(const struct askings *askings, uint32_t end_place);

void askings_done(struct askings *askings);

#endif
