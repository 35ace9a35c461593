/* SPDX-License-Identifier: MIT */
/*
 * history.h: the program history: ties each RECEIVE to the SENDs whose bytes it took, and hands out all
 * events in an order in which no effect stands before its cause (the causal stream).
 *
 *      source of machine A --+                      +--> event, with the edges that lead to it
 *      source of machine B --+--> history_next() ---+
 *      ...                   |                      '--> event ...
 *                            '- matched by positions, never by clocks
 *
 *      stream 1  o------o SEND [0,100)-------------o
 *                        \ edge: 60 bytes, exact
 *      stream 2  o--------o RECEIVE [0,60) ---o RECEIVE [60,100)
 *
 * An analysis sees this, and neither files nor rings: the sources may be finished traces or live ones.
 * Memory is bounded by what lives: streams, paths, and messages in flight.
 */
#ifndef DPM_HISTORY_H
#define DPM_HISTORY_H

#include "event/event.h"

struct history;

/* How sure an edge is. */
enum edge_kind {
    EDGE_EXACT, /* never wrong, but for what dpm-matching(7) tells of calls that overlap */
    EDGE_ORDERED, /* several were sending into one path, or receiving from it, and whose call came first
                         cannot be told: the true sender is always among these, unless its record was lost */
    EDGE_INFERRED, /* by order alone: UDP between machines over IPv6, which does not number datagrams, and over
                      IPv4 where several may have one number (of 16 bits; some senders use none); UDP over IPv4
                      once a call has sent several (UDP_SEGMENT), on one machine, too; UDP while several receive from
                      one socket, if it is not certain who took it; pipes of packets (O_DIRECT),
                      of which a read may leave a part; a call in progress after a loss; paths other than TCP after hooks were
                      skipped (LOST_SKIPPED), as positions may have been miscounted since; pipes that are older than
                      their metering, at its beginning; UNIX streams that are, as long as a send may be in progress
                      that is, too; what the ptrace meter cannot tell (dpm-meter(7)) */
    EDGE_CREATION, /* from CREATEPROCESS to the first event of what it created */
    EDGE_TERMINATION, /* from the TERMINATION of a child, or of one below whose parent had ended, to the end of its
                         parent's wait (BLOCK): for a child; or for a signal or in a read, if the child ended just
                         before the wait did */
    EDGE_ROOM, /* from the RECEIVE at the other end that made room to the end of a sender's wait: the SEND, or the
                  next SENDCALL of the same call */
    EDGE_CONNECTION, /* from CONNECT to the ACCEPT of the other end */
    EDGE_END, /* to a RECEIVE that finds the end of the file, from the latest event of the stream that sent last at
                 the other end: it has closed that since, or ended. Where nobody has sent into a pipe (or a pair of
                 sockets), or who sent has ended long before, from the TERMINATION, just before it, of a relative,
                 which is taken to have held the other end (path is 0, and only then there is a value) */
    EDGE_WAKEUP, /* from a WAKEUP to the first event of the stream whose sleep it has ended; or, without a value, from the
                    latest event, mostly the TERMINATION, of who has done so when he had ended */
    EDGE_KIND_COUNT,
};

/* "exact", "ordered", ... */
const char *edge_kind_name(enum edge_kind kind);

/* From where an event comes. The event at its other end has been handed out before. */
struct history_edge {
    enum edge_kind kind;
    uint8_t id;      /* type of the event it begins at: SEND, SENDCALL ... */
    uint32_t origin; /* of that event ... */
    uint32_t stream; /* ... the number of its stream there; 0: of no stream ... */
    uint32_t sequence;
    uint32_t path;  /* ... of a message: the number of the sender's end there */
    uint32_t bytes; /* of the message, how many may be its: of an exact one, how many are */
    uint64_t
        number; /* ... its number in the causal stream. Of a call still in progress it is that of the
                           SENDCALL, else of the SEND, or of its first piece (RECORD_CONTINUED) that counts */
    uint64_t time;      /* ... when it happened (time - span), ns, its origin's clock */
    uint64_t proc_time; /* ... CPU time its stream had used then, ns, unwrapped */
    const void *
        value; /* ... what was kept with it (history_keep_values), NULL: nothing; valid until the next call */
};

/* Why bytes of a RECEIVE have no edge. */
enum history_rest {
    REST_NONE,       /* all have one */
    REST_EXTERNAL,   /* the other end is not metered, or was used before the metering began */
    REST_UNSELECTED, /* a selection has removed what sent them (DISCARDED) */
    REST_UNMATCHED,  /* lost, or sent by somebody who is not metered and shares the path */
};

/* "external", "unselected", "unmatched"; "none". */
const char *history_rest_name(enum history_rest rest);

struct history_event {
    struct event event; /* the record; origin is the index of its source */
    uint64_t number;    /* in the causal stream: 0, 1, 2 ... */
    uint64_t when;      /* it happened: time - span, ns, its origin's clock */
    /* RECEIVE over TCP or UDP, of another machine or who is not metered: when all that it took had come, as far as
     * MESSAGEQUEUED tells; else its time */
    uint64_t came;
    uint64_t proc_time; /* CPU time its stream has used, ns, unwrapped; 0: it has no stream */
    const struct history_edge *edges; /* [edge_count], by position; valid until the next call */
    uint32_t edge_count;
    /* + 1, 0: none. Its stream and the end of its path in tables without gaps, whose places are used again: where
     * an analysis may look first */
    uint32_t stream_place, end_place;
    void *
        value; /* to be filled with what its edges shall bring (history_keep_values), all zero; valid until the
                    next call; NULL: no edge will begin here */
    bool
        joined; /* SEND, RECEIVE, SENDCALL, RECEIVECALL: the other end of the path is metered, too */
    uint32_t rest_bytes;    /* RECEIVE: bytes without an edge ... */
    enum history_rest rest; /* ... and why */
};

/* What recordings cost: of those that say it. */
struct own_cost {
    uint32_t recordings;
    uint64_t cpu; /* ns, of the recorders */
    uint64_t wakeups;
    uint64_t records;      /* in these recordings */
    uint64_t hook_records; /* of them, those whose cost in the kernel is known: */
    uint64_t hook;         /* ns in the kernel, of these */
};

/* Adds what a recording with so many records has cost, as its COST record says; nothing if `cost` is none (its id is 0:
 * the recording does not say). */
void own_cost_add(struct own_cost *sum, const struct record *cost, uint64_t records);

/* What became of messages so far. An edge is counted once; what has none, once for each RECEIVE or SEND
 * of which bytes are left over. */
struct history_counts {
    uint64_t events; /* handed out */
    uint64_t exact;  /* edges */
    uint64_t ordered;
    uint64_t inferred;
    uint64_t external;   /* RECEIVEs, and SENDs that will not be received by anybody metered */
    uint64_t unselected; /* RECEIVEs and SENDs */
    uint64_t
        unmatched_sends; /* never received as far as is known, of paths with two metered ends or whose PATH
                            was lost; final at the end */
    uint64_t unmatched_receives;
    uint64_t
        forgotten_streams; /* of a direction with more than 4,096 that live: how often another one sent, or received
                              from a pipe, whose calls nothing waits for. Edges there may be wrong whatever their kind */
    uint64_t
        forgotten_ranges; /* received while 256 others of the direction wait for their SENDs, which may count
                                  among unmatched_sends therefore */
    uint64_t lost;      /* records that were lost, as LOST records tell */
    uint64_t discarded; /* removed by a selection, as DISCARDED records tell */
    uint64_t stalls; /* RECEIVEs released because nothing else could go on, or too much waited for
                        clocks that no message relates; 0 of lossless traces */
    struct own_cost own_cost; /* final at the end */
};

/* `sources`: one for each machine or trace, each with one origin; they stay the caller's, must live as
 * long as the history, and are read as they are needed, none far ahead of the others. Traces of one machine
 * (machine id and boot id) may be several: their paths are joined, too.
 * Errors: -ENOMEM, -EINVAL (a source with several origins). */
int history_new(struct source *const *sources, size_t count, struct history **ret_history,
                struct problem *problem);
void history_free(struct history *history);

/* The next event. Returns an enum source_result, or a negative errno with a line in `problem` (a source's,
 * or -ENOMEM). SOURCE_NONE_YET: of live sources, ask again later. Every record of every source is
 * handed out once, and those of one stream in their order. */
int history_next(struct history *history, struct history_event *ret_event, struct problem *problem);

/* After the last event: gives back what events needed. What stays can be asked for as before: identities, counts, what
 * the sources say, and clocks. */
void history_finish(struct history *history);

/* Keeps `size` bytes of the caller's with each event of these types (EVENT_FLAG) at which an edge may begin, as long
 * as one may. To be called before the first event is asked for; several analyses of one reading may each call it. Returns
 * where the caller's bytes begin: see history_value_at. Values are also kept with event types that only others asked for. */
size_t history_keep_values(struct history *history, size_t size, uint32_t event_flags);

/* The bytes of who was told `offset` by history_keep_values, in the value of an event or an edge. NULL: there is none. */
static inline void *history_value_at(const void *value, size_t offset)
{
    return value == NULL ? NULL : (char *)(uintptr_t)value + offset;
}

/* Also finds edges to the end of a wait for buffer space or for a connection (EDGE_ROOM, EDGE_CONNECTION), for which each
 * end of a path takes memory. To be called before the first event is asked for. Others who read the same history see
 * these edges, too. */
void history_find_rooms(struct history *history);

/* Who and what the events speak of; identities are noted when their record is handed out. Paths that are
 * closed and streams that have ended are known for a while, the latest 8,192 of them, and then forgotten. */
const struct identities *history_identities(const struct history *history);
/* The same for who needs paths for longer: identities_keep_path. They live as long as the history. */
struct identities *history_share_identities(struct history *history);

void history_counts(const struct history *history, struct history_counts *ret_counts);

/* What the sources say of themselves, [count]. */
const struct source_state *history_state(const struct history *history, uint32_t origin);

/* ---- clocks ---- */

/* What to add to times of this origin for ns since 1970, as its latest record said. */
int64_t history_wall_offset(const struct history *history, uint32_t origin);

/* What to add to a time of this origin to have that of the first origin's clock, as messages in both
 * directions tell so far: *ret_offset ns, at most *ret_error ns wrong (UINT64_MAX: no messages went both ways, and the
 * offset is that of the wall clocks; of those that messages tie to each other that of one of them). Origins of one
 * machine have one clock. Returns the first origin of those whose clocks messages tie to this one's at that time, its own
 * number if none do: where two have the same one, such times can be compared. */
uint32_t history_clock(const struct history *history, uint32_t origin, uint64_t time,
                       int64_t *ret_offset, uint64_t *ret_error);

/* The same from one origin to another, by whatever messages tie their machines to each other. Returns whether any do; if
 * not, both are 0. */
bool history_clock_between(const struct history *history, uint32_t from, uint64_t time, uint32_t to,
                           int64_t *ret_offset, uint64_t *ret_error);

#endif
