/* SPDX-License-Identifier: MIT */
/*
 * sends.h: the SENDs of one direction that are under way, by position, and who shares the direction. Private to history/.
 *
 *      positions   |---- SEND ----|-- SEND --|------ SEND ------|        struct sends
 *                        order of two that overlap in time: before, after
 */
#ifndef DPM_SENDS_H
#define DPM_SENDS_H

#include "base/lookup.h"

struct end;
struct history;

/* A SEND; of a pipe also a RECEIVE, by which other RECEIVEs are put in order. */
struct sent {
    uint64_t position; /* unwrapped; the number of a datagram */
    uint64_t number;   /* NO_NUMBER: not handed out yet, and the next two are not known */
    uint64_t when;
    uint64_t proc_time : 61;
    uint64_t concurrent : 1; /* its position may be another one's */
    uint64_t doubtful : 1;   /* its position may be wrong */
    uint64_t repeated : 1;   /* UDP: another number may be its */
    uint32_t value;          /* index + 1 */
    uint64_t time;           /* of its record: the end of the call */
    uint64_t began;          /* when the call had not begun yet; 0: not known */
    uint32_t bytes;
    uint32_t left;   /* of its length: not received yet */
    uint32_t stream; /* number ... */
    uint32_t sequence;
    uint32_t before; /* length of those with smaller positions which may have been later, */
    uint32_t after;  /* of those with larger ones which may have been earlier */
};

/* Sorted by position: at[first .. end). */
struct sends {
    struct sent *at;
    uint32_t first;
    uint32_t end;
    uint32_t capacity;
    uint32_t most_before; /* the largest of them, since there were none */
    uint32_t most_after;
};

struct range {
    uint64_t from;
    uint64_t to;
};

/* A stream that may have ended since. */
struct who {
    uint32_t index;
    uint32_t life;
};

/* What only few directions need. */
struct sharing {
    struct who *senders; /* streams that send here, if positions are counted when a call ends */
    uint32_t sender_count;
    size_t sender_capacity;
    struct range *ahead; /* received before its SEND was noted, on the word of a SENDCALL */
    uint32_t ahead_count;
    size_t ahead_capacity;
    struct sends takes; /* of a pipe: RECEIVEs that count for the order of others ... */
    struct who *takers; /* ... and who receives */
    uint32_t taker_count;
    size_t taker_capacity;
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

/* Inserts it at its position. Returns its index, or -ENOMEM; -ERANGE: it is too far out of order (OVERTAKEN_BY_MOST).
 * `rooms`: of lists of SENDs. */
int64_t sends_insert(struct rooms *rooms, struct sends *sends, const struct sent *sent);

/* Notes of the one at `index`, and of others, between which the order is not certain. */
void sends_compare_order(struct end *end, struct sends *sends, uint32_t index);
/* The same of all that there are, none of which has been compared. */
void sends_compare_all(struct end *end, struct sends *sends);

/* An empty list takes no memory. */
void sends_reset_if_empty(struct rooms *rooms, struct sends *sends);

/* ---- sharing.c ---- */

/* The end's; made if it has none. NULL: out of memory. */
struct sharing *sharing_of(struct end *end);

static inline bool is_same_who(struct who a, struct who b)
{
    return a.index == b.index && a.life == b.life;
}

/* Adds a stream to those that use a direction; those that have ended leave their place. Returns 0 or -ENOMEM. */
int sharing_add_who(struct history *history, struct who **list, uint32_t *count, size_t *capacity,
                    struct who who);

/* [from, to) was received before its SEND is told. Returns 0 or -ENOMEM. */
int sharing_note_ahead(struct history *history, struct end *end, uint64_t from, uint64_t to);

/* Takes [from, to) out of what was received ahead. Returns how much of it there was, or -ENOMEM. */
int64_t sharing_take_back(struct history *history, struct sharing *sharing, uint64_t from,
                          uint64_t to);

#endif
