/* SPDX-License-Identifier: MIT */
/*
 * sends.h: the SENDs of one direction that are in flight, by position, and the streams that share the direction.
 * Private to history/.
 *
 *      positions   |---- SEND ----|-- SEND --|------ SEND ------|        struct sends
 *                        order of two that overlap in time: before, after
 */
#ifndef DPM_SENDS_H
#define DPM_SENDS_H

#include "base/lookup.h"

struct end;
struct history;
struct path_record;

/* A SEND. In a pipe's list of takes: a RECEIVE, by which other RECEIVEs are ordered. */
struct sent {
    uint64_t position; /* unwrapped; for datagrams the number */
    uint64_t number;   /* NO_NUMBER: not handed out yet, and the next two are unknown */
    uint64_t when;
    uint64_t proc_time : 60;
    uint64_t come : 1;       /* MESSAGEQUEUED has shown that all of it has arrived */
    uint64_t concurrent : 1; /* its position may belong to another SEND */
    uint64_t doubtful : 1;   /* its position may be wrong */
    uint64_t repeated : 1;   /* UDP: its number may belong to another datagram, too */
    uint32_t value;          /* index + 1 */
    uint32_t path;           /* number of the end, which may have been another one then (UDP) */
    uint64_t time;           /* of its record: end of the call */
    uint64_t began;          /* the call began no earlier; 0: not known */
    uint32_t bytes;
    uint32_t left;   /* part of its length that has not been received yet */
    uint32_t stream; /* number ... */
    uint32_t sequence;
    uint32_t before; /* length of SENDs with smaller positions which may have been later */
    uint32_t after;  /* length of SENDs with larger positions which may have been earlier */
};

/* Sorted by position: at[first .. end). */
struct sends {
    struct sent *at;
    uint32_t first;
    uint32_t end;
    uint32_t capacity;
    uint32_t most_before; /* largest `before` since the list was last empty */
    uint32_t most_after;
};

struct range {
    uint64_t from;
    uint64_t to;
};

/* A stream, which may have terminated since. */
struct who {
    uint32_t index;
    uint32_t life;
};

/* What only few directions need. */
struct sharing {
    struct who *senders; /* streams that send here, if positions are counted at the end of calls */
    uint32_t sender_count;
    size_t sender_capacity;
    struct range *ahead; /* received before its SEND was noted, as a SENDCALL reported it */
    uint32_t ahead_count;
    size_t ahead_capacity;
    struct sends takes; /* pipe: RECEIVEs that count for the order of others ... */
    struct who *takers; /* ... and the streams that receive */
    uint32_t taker_count;
    size_t taker_capacity;
    /* copies.h: */
    struct end *next_copy;      /* of the same original; or, of an original, the first one */
    struct end *original;       /* of a copy; NULL: forgotten */
    struct path_record *record; /* of a copy: its own */
};

static inline uint32_t sends_count(const struct sends *sends)
{
    return sends->end - sends->first;
}

/* ---- sends.c ---- */

/* Index of the first whose position is at least this. */
uint32_t sends_search(const struct sends *sends, uint64_t position);

/* Index of the first that ends behind `position`. */
uint32_t sends_first_behind(const struct end *end, uint64_t position);

/* Whether a SEND on a UNIX stream has positions that its thread has used before: when the other end begins to be metered, the
 * meter counts anew. */
bool sends_count_anew(const struct end *end, const struct sent *sent);

/* Inserts it at its position. Returns its index, or -ENOMEM; -ERANGE: too far out of order (OVERTAKEN_BY_MOST). `rooms`
 * holds the lists of SENDs. */
int64_t sends_insert(struct rooms *rooms, struct sends *sends, const struct sent *sent);

/* Updates `before` and `after` of the SEND at `index`, and of those whose order with it is uncertain. */
void sends_compare_order(struct end *end, struct sends *sends, uint32_t index);
/* The same for all SENDs, none of which has been compared before. */
void sends_compare_all(struct end *end, struct sends *sends);

/* An empty list takes no memory. */
void sends_reset_if_empty(struct rooms *rooms, struct sends *sends);

/* ---- sharing.c ---- */

/* The end's sharing, made if it has none. NULL: out of memory. */
struct sharing *sharing_of(struct end *end);

static inline bool is_same_who(struct who a, struct who b)
{
    return a.index == b.index && a.life == b.life;
}

/* Adds a stream to those that use a direction, at the index of an ended one if there is any. Returns 0 or -ENOMEM. */
int sharing_add_who(struct history *history, struct who **list, uint32_t *count, size_t *capacity,
                    struct who who);

/* Notes that [from, to) was received before its SEND was reported. Returns 0 or -ENOMEM. */
int sharing_note_ahead(struct history *history, struct end *end, uint64_t from, uint64_t to);

/* Removes [from, to) from what was received ahead. Returns how much of it was there, or -ENOMEM. */
int64_t sharing_take_back(struct history *history, struct sharing *sharing, uint64_t from,
                          uint64_t to);

#endif
