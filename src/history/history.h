/* SPDX-License-Identifier: MIT */
/*
 * history.h: the program history. It ties each RECEIVE to the SENDs whose bytes it took, and hands out all
 * events in an order in which no effect precedes its cause (the causal stream).
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
 * An analysis sees only this, neither files nor rings: the sources may be finished traces or live recordings.
 * Memory is bounded by the streams and paths that live and the messages in flight.
 */
#ifndef DPM_HISTORY_H
#define DPM_HISTORY_H

#include "event/cpu_wait.h"
#include "event/event.h"

struct history;

/* How certain an edge is. */
enum edge_kind {
    EDGE_EXACT, /* never wrong, except for overlapping calls: see dpm-matching(7) */
    /* Several streams were sending into one path, or receiving from it, and the order of their calls is unknown. The
     * true sender is always among these edges, unless its record was lost. */
    EDGE_ORDERED,
    /* Matched by order alone:
     * - UDP between machines over IPv6, which does not number datagrams; and over IPv4 where several datagrams may have
     *   one number (16 bits; some senders use none)
     * - UDP over IPv4 once one call has sent several datagrams (UDP_SEGMENT), also on one machine
     * - UDP while several streams receive from one socket, if it is uncertain which took the datagram
     * - pipes of packets (O_DIRECT), where a read may discard part of a packet
     * - a call in progress after a loss
     * - paths other than TCP after skipped hooks (LOST_SKIPPED), since positions may have been miscounted
     * - pipes older than their metering, at its beginning; such UNIX streams, too, while a send as old may be in
     *   progress
     * - what the ptrace meter cannot see (dpm-meter(7)) */
    EDGE_INFERRED,
    EDGE_CREATION, /* from CREATEPROCESS to the first event of the created process or stream */
    /* From the TERMINATION of a child, or of an orphaned descendant, to the end of its parent's wait (BLOCK). The wait
     * is for a child; or for a signal or in a read of a signalfd, or of what is not known, if the child ended just
     * before the wait did. If WAKEUP shows what ended the wait, only that counts: the TERMINATION is that of the thread
     * that woke the parent, whose value may be missing. */
    EDGE_TERMINATION,
    /* From the RECEIVE at the other end that freed buffer space to the end of a blocked sender's wait: the SEND, or the
     * next SENDCALL of the same call. */
    EDGE_ROOM,
    EDGE_CONNECTION, /* from CONNECT to the other end's ACCEPT */
    /* To a RECEIVE that finds the end of the file, from the latest event of the stream that sent last at the other end:
     * it has closed that end since, or terminated. If no stream has sent into a pipe (or socket pair), or the sender
     * terminated, a relative may have held the other end: the one that ended a poll, if a WAKEUP says so; none, if that was a
     * living thread; else, unless the sender terminated only a little before, the one that terminated last, just before. Then
     * the edge begins at its TERMINATION. Only then is path 0, and only then may there be a value. There is no edge if the
     * sender went on after the RECEIVE, and that is known first: as other records held the RECEIVE back, what came before it is
     * no longer known. */
    EDGE_END,
    /* From a WAKEUP to the first event of the stream that it woke. If the waker has terminated, from its latest event,
     * mostly its TERMINATION; such an edge has no value. A BLOCK may have two: see `earlier`. */
    EDGE_WAKEUP,
    /* To a READ, from the WRITE of another process that had written some of these bytes last; of each thread the latest.
     * Inferred: other processes may have written in between, and nothing shows what is written through a mapping. It ends no
     * wait. */
    EDGE_FILE,
    /* From the WAKEUP with which a rank begins a collective function of MPI, to the BLOCK of a rank that has waited there for
     * it: the last one that came, or the root. Inferred: ranks pass on what others have sent. */
    EDGE_COLLECTIVE,
    EDGE_KIND_COUNT,
};

/* "exact", "ordered", ... */
const char *edge_kind_name(enum edge_kind kind);

/* Where an edge begins. The event there has been handed out before. */
struct history_edge {
    enum edge_kind kind;
    uint8_t id;      /* type of the event at which it begins: SEND, SENDCALL ... */
    uint32_t origin; /* origin of that event */
    uint32_t stream; /* number of its stream there; 0: none */
    uint32_t sequence;
    uint32_t path;  /* of a message: number of the sender's end there */
    uint32_t bytes; /* of the message: upper bound of the bytes taken; exact if the edge is */
    /* The event's number in the causal stream. For a call still in progress that of the SENDCALL; otherwise that of the
     * SEND, or of its first piece (RECORD_CONTINUED) that counts. */
    uint64_t number;
    uint64_t time;      /* when it happened (time - span), ns, its origin's clock */
    uint64_t proc_time; /* CPU time that its stream had used by then, ns, unwrapped */
    bool doubtful;      /* EDGE_FILE: the calls overlapped in time, or one of them was mmap */
    /* EDGE_WAKEUP to a BLOCK: it came before the sleep, and ended the wait before, whose end made no record (a poll that
     * found nothing) */
    bool earlier;
    /* kept with it (history_keep_values), valid until the next call; NULL: none */
    const void *value;
};

/* Whether it is that of a message, however it was matched. */
static inline bool edge_is_message(const struct history_edge *edge)
{
    return edge->kind <= EDGE_INFERRED;
}

/* Why bytes of a RECEIVE have no edge. */
enum history_rest {
    REST_NONE,     /* every byte has an edge */
    REST_EXTERNAL, /* the other end is not metered, or they were sent before metering began */
    REST_UNSELECTED, /* a selection has removed what sent them (DISCARDED), or its flag was off then (FLAGS) */
    REST_UNMATCHED, /* lost, or sent by an unmonitored process that shares the path */
    /* as REST_EXTERNAL; or the other end is metered, and not recognized, as its address is translated on the way (NAT) */
    REST_NOT_FOUND,
};

/* "external", "unselected", "unmatched", "not_found"; "none". */
const char *history_rest_name(enum history_rest rest);

struct history_event {
    struct event event; /* the record; origin is the index of its source */
    uint64_t number;    /* in the causal stream: 0, 1, 2 ... */
    uint64_t when;      /* when it happened: time - span, ns, its origin's clock */
    /* RECEIVE over TCP or UDP from another machine or an unmonitored peer: when all that it took had arrived, as
     * MESSAGEQUEUED reports. SEND: see history_follow_queues. Otherwise its own time. */
    uint64_t came;
    uint64_t
        proc_time; /* CPU time that its stream has used, ns, unwrapped, but for what it spun in waits for messages of
                         * MPI; 0: no stream */
    uint64_t spun;        /* what it spun so far, ns */
    struct no_cpu no_cpu; /* event/cpu_wait.h; all 0: none, or not known */
    uint64_t
        runnable; /* ns that its stream had waited for CPUs by then, as its latest SCHEDULE said; 0: none so far */
    const struct history_edge *edges; /* [edge_count], by position; valid until the next call */
    uint32_t edge_count;
    /* Dense indexes of its stream, of its end of the path and of the partner of that end, + 1; 0: none. Indexes are
     * reused. An analysis may look there first. STREAM and SCHEDULE have one, too, and so have events without a stream that
     * refer to an end: PATH, MESSAGEQUEUED, DROPPED, NETWORK and DESTROYPATH, after which the index may be another end's. */
    uint32_t stream_place, end_place, partner_place;
    uint32_t left;      /* SEND: how much of it may still be received: bytes, or 1 datagram */
    void *const *whole; /* [whole_count], valid until the next call: see history_follow_queues */
    uint32_t whole_count;
    /* To be filled with what its edges shall carry (history_keep_values), all zero, valid until the next call. NULL: no
     * edge will begin here. */
    void *value;
    /* SEND, RECEIVE, SENDCALL, RECEIVECALL: the other end of the path is metered, too ... */
    bool joined;
    bool not_found;         /* ... or may be, and is not recognized: REST_NOT_FOUND */
    uint32_t rest_bytes;    /* RECEIVE: bytes without an edge ... */
    enum history_rest rest; /* ... and the reason */
};

/* Whether it is the first event of a stream, or of a process, whose creation was recorded. */
static inline bool event_is_created(const struct history_event *event)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].kind == EDGE_CREATION)
            return true;
    return false;
}

/* The overhead of recordings, summed over those that report it. */
struct own_cost {
    uint32_t recordings;
    uint64_t cpu;   /* ns, of the recorders */
    uint32_t loads; /* recordings that report what it took to load the meter */
    uint64_t load;  /* ns, of these: part of `cpu` */
    uint64_t wakeups;
    uint64_t records;      /* in these recordings */
    uint64_t hook_records; /* of these, the ones whose overhead in the kernel is known */
    uint64_t hook;         /* ns in the kernel for hook_records */
};

/* What COST records say of the hooks in the kernel: the time for each record that the kernel has made so far, in whole ns. With the
 * number of these that is a sum, which does not become less when the time for each does. */
struct hook_cost {
    uint64_t time;    /* ns; 0: not known */
    uint64_t records; /* when a COST said so last ... */
    uint64_t each;    /* ... and what it said, ns */
};

/* Adds the overhead of a recording with so many records, from its last COST record, from its first one if that says what it took
 * to load the meter (`load`), and of its hooks. Does nothing if `cost` has id 0: the recording does not report it; `load`
 * likewise. */
void own_cost_add(struct own_cost *sum, const struct record *cost, const struct record *load,
                  const struct hook_cost *hook, uint64_t records);

/* What has become of messages so far. Each edge is counted once. Bytes without an edge are counted once for each
 * RECEIVE or SEND that they belong to. */
struct history_counts {
    uint64_t events; /* handed out */
    /* read, and not handed out yet, of types that are metered: what they belong to is not known yet. 0 at the end */
    uint64_t held;
    uint64_t exact; /* edges, as are the next two */
    uint64_t ordered;
    uint64_t inferred;
    uint64_t external;   /* RECEIVEs, and SENDs to unmonitored peers */
    uint64_t not_found;  /* the same where the other end may be metered: REST_NOT_FOUND */
    uint64_t unselected; /* RECEIVEs and SENDs */
    /* Not received as far as is known, on paths with two metered ends or whose PATH was lost. Final at the end. */
    uint64_t unmatched_sends;
    uint64_t unmatched_receives;
    /* How often a further stream sent in one direction, or received from a pipe, when more than 4,096 live streams
     * already did. Nothing waits for its calls, so edges there may be wrong whatever their kind. */
    uint64_t forgotten_streams;
    /* Received while 256 other ranges of the direction wait for their SENDs, which may therefore count as
     * unmatched_sends. */
    uint64_t forgotten_ranges;
    uint64_t file_edges;          /* EDGE_FILE; of these ... */
    uint64_t doubtful_file_edges; /* ... doubtful ones */
    /* WRITEs that began before a READ of the same file had ended, which is handed out without an edge from them */
    uint64_t overlapping_writes;
    uint64_t
        forgotten_pieces; /* of files, whose writer is not known any more: READs of them lack an edge */
    uint64_t lost;        /* records lost, as LOST records report */
    uint64_t discarded; /* records removed by a selection, as DISCARDED records report */
    bool has_rules;     /* selection rules were in force in some recording */
    /* RECEIVEs released because nothing else could proceed, or because too many waited for clocks that no message
     * relates. 0 for lossless traces. */
    uint64_t stalls;
    uint64_t
        late; /* records read after the history had gone on without their origin (history_be_patient) */
    struct own_cost own_cost; /* final at the end */
};

/* `sources` has one source for each machine or trace, each with one origin. They stay the caller's, must outlive the
 * history, and are read on demand, none far ahead of the others. Several may be traces of one machine (same machine id
 * and boot id): their paths are joined, too. Errors: -ENOMEM; -EINVAL: a source with several origins. */
int history_new(struct source *const *sources, size_t count, struct history **ret_history,
                struct problem *problem);
void history_free(struct history *history);

/* Another machine joins: its source becomes the next origin. Its records are read from the first one on, until they are as
 * far as the others'. Messages that were handed out before as coming from, or going to, an unmonitored peer stay so.
 * Errors: those of history_new; -EPIPE: history_next has returned SOURCE_END. */
int history_add(struct history *history, struct source *source, struct problem *problem);

/* Whether origins may still join: history_next then returns SOURCE_NONE_YET, rather than SOURCE_END, when all sources have
 * ended. False at first. */
void history_expect_more(struct history *history, bool expected);

/* Live sources: the others' records wait for an origin that has none now, up to what it is known to be complete to, so that
 * all are read in the order of time. If it has given no sign of life for `patience` ns, the history goes on without it;
 * what it then brings too late is counted (late). If no messages tie two clocks and the wall clocks are wrong, it goes on
 * after twice that. `now` is a clock, as clock_now. patience 0, as at first: nothing waits. */
void history_be_patient(struct history *history, uint64_t patience,
                        uint64_t (*now)(clockid_t clock));

/* The next event. Returns an enum source_result, or a negative errno with a line in `problem` (a source's errno, or
 * -ENOMEM). SOURCE_NONE_YET: live sources have nothing now, ask again later. Every record of every source is handed out
 * once; the records of one stream keep their order. */
int history_next(struct history *history, struct history_event *ret_event, struct problem *problem);

/* To be called after the last event: frees what only events needed. Identities, counts, source states and clocks can
 * still be asked for. */
void history_finish(struct history *history);

/* Keeps `size` bytes of the caller with each event of these types (EVENT_FLAG), for as long as an edge may begin there.
 * To be called before the first event is asked for; several analyses of one reading may each call it. Returns the
 * offset of the caller's bytes: see history_value_at. Values are also kept with event types that only other callers
 * asked for. */
size_t history_keep_values(struct history *history, size_t size, uint64_t event_flags);

/* The bytes at `offset`, which history_keep_values returned, in the value of an event or an edge. NULL: none. */
static inline void *history_value_at(const void *value, size_t offset)
{
    return value == NULL ? NULL : (char *)(uintptr_t)value + offset;
}

/* Also finds the SENDs that have arrived whole with a MESSAGEQUEUED, the latest first, and those that are received whole
 * with a RECEIVE, by their positions: the values that are kept with them are in its event's `whole`. A MESSAGEQUEUED
 * before its SEND is remembered: `came` of the SEND is its time, by the clock of the other end; 0: none yet. To be
 * called before the first event is asked for. */
void history_follow_queues(struct history *history);

/* Also finds edges to the end of a wait for buffer space or for a connection (EDGE_ROOM, EDGE_CONNECTION), which takes
 * memory for each end of a path. To be called before the first event is asked for. All analyses that read this history
 * see these edges. */
void history_find_rooms(struct history *history);

/* The identities that the events refer to, each noted when its record is handed out. The latest 8,192 closed paths and
 * ended streams stay known, older ones are forgotten. */
const struct identities *history_identities(const struct history *history);
/* The same, for callers that need paths for longer: identities_keep_path. They live as long as the history. */
struct identities *history_share_identities(struct history *history);

void history_counts(const struct history *history, struct history_counts *ret_counts);

/* Up to the latest COST of an origin. */
const struct hook_cost *history_hook_cost(const struct history *history, uint32_t origin);

/* Records that lack fields, because a selection has removed these, or another system does not record them. PC and load
 * are then unknown; the CPU time used is that of the stream's record before; the size of a message in a channel of
 * another system is unknown; TERMINATION and DESTROYPATH are still ends; of records that lack anything else, nothing is
 * known: they are among `discarded`. */
struct history_lacking {
    uint64_t absent[EVENT_ID_END]; /* fields that records of a type lack (struct event) */
    uint64_t records[EVENT_ID_END];
    uint64_t unsized[EVENT_ID_END]; /* of these, messages of unknown size ... */
    uint64_t useless[EVENT_ID_END]; /* ... those that count as discarded */
    uint64_t untimed, timed;        /* of all of these: those without their CPU time, and with it */
};

const struct history_lacking *history_lacking(const struct history *history, uint32_t origin);

/* Whether no CPU time is known, because another system records none. */
bool history_lacks_cpu_time(const struct history *history, uint32_t origin);

/* Index of the machine of an origin: 0, 1, 2 ... Origins of one machine share it; NO_MACHINE: the origin has not
 * reported one. */
#define NO_MACHINE UINT32_MAX
uint32_t history_machine(const struct history *history, uint32_t origin);

/* Whether the other end of a path, which has none that is recorded, may be recorded all the same: REST_NOT_FOUND. */
bool history_peer_not_found(const struct history *history, uint32_t origin, uint32_t path);

/* [count]: what the sources report of themselves */
const struct source_state *history_state(const struct history *history, uint32_t origin);

/* ns: how long after its TERMINATION a process that has used so much CPU time closes its files, at most. */
uint64_t history_closing_most(uint64_t proc_time);

/* ---- clocks ---- */

/* Add this to times of this origin to get ns since 1970, as its latest record said. */
int64_t history_wall_offset(const struct history *history, uint32_t origin);

/* Converts times of this origin to the clock of the first origin: adding *ret_offset ns to `time` gives the time there,
 * wrong by at most *ret_error ns. Based on messages in both directions so far. UINT64_MAX: no messages went both ways,
 * so the offset is that of the wall clocks; machines that messages tie to each other share that of one of them. Origins
 * of one machine have one clock. Returns the first of the origins whose clocks messages tie to this one at that time;
 * its own number if none do. Two times can be compared if both have the same one. */
uint32_t history_clock(const struct history *history, uint32_t origin, uint64_t time,
                       int64_t *ret_offset, uint64_t *ret_error);

/* A time of an origin by the first origin's clock. */
uint64_t history_common_time(const struct history *history, uint32_t origin, uint64_t time);

/* The same as history_clock from one origin to another, by whatever messages tie their machines. Returns whether any do;
 * if not, both results are 0. */
bool history_clock_between(const struct history *history, uint32_t from, uint64_t time, uint32_t to,
                           int64_t *ret_offset, uint64_t *ret_error);

#endif
