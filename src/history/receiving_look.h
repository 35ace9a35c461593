/* SPDX-License-Identifier: MIT */
/*
 * receiving_look.h: one look at a RECEIVE, inside history/.
 *
 *      receiving.c ---> receiving_order.c    order is not certain: candidates
 *         |    \------> receiving_counts.c   numbers are not certain: sizes
 *           \____________/
 *                 |
 *               receiving_look.c                  edges, waiting, gaps
 */
#ifndef DPM_HISTORY_RECEIVING_LOOK_H
#define DPM_HISTORY_RECEIVING_LOOK_H

#include "history/receiving.h"

struct look {
    struct history *history;
    struct end *end;
    struct end *from; /* its partner */
    const struct record *record;
    uint64_t low; /* what it took: [low, high), in positions of `from` */
    uint64_t high;
    struct wait *wait;
    bool forced;
    bool waits;
    bool one_clock;
    bool gave_up; /* a wait ended after PATIENCE, without proof */
    int error;
    uint32_t missing;       /* bytes, or messages */
    enum history_rest rest; /* of the missing */
};
#define PATIENCE 4096u /* records held until what is likely is accepted without proof */

/*
 * Look at it again when the progress of `origin` is beyond `deadline`; of several calls the earliest deadline counts.
 */
void look_wait(struct look *look, uint32_t origin, uint64_t deadline);

/* Whether the progress of an origin is more than MOMENT beyond `time`; if not, the look waits for that. */
bool look_moment_over(struct look *look, uint32_t number, uint64_t time);

/* Notes bytes without an edge, and why. If a RECEIVE has several gaps, the most specific reason counts. */
void look_note_missing(struct look *look, uint64_t bytes, enum history_rest rest);

/* `bytes` of a SEND, or of a call in progress (by its SENDCALL), were received. Waits for a SEND that is not handed
 * out. Without memory look->error is set. */
void look_add_send(struct look *look, enum edge_kind kind, const struct sent *sent, uint64_t bytes);
void look_add_call(struct look *look, enum edge_kind kind, const struct stream *stream,
                   uint64_t bytes);

/* No SEND has [low, high); `next` is one behind it, or NULL. look_gap also tries calls in progress. */
void look_missing(struct look *look, uint64_t low, uint64_t high, const struct sent *next);
void look_gap(struct look *look, uint64_t low, uint64_t high, const struct sent *next);

/* Whether a gap will never be filled, and the reason. */
bool look_is_missing(struct look *look, const struct sent *next);
enum history_rest look_why_missing(const struct look *look);
/* Nothing arrived and nothing announced it: unless that may be lost, no metered process sends here. */
void look_note_silence(struct look *look);

/* Whether the kernel meter reports that another receive of the same UDP socket may have taken the datagram. */
bool look_is_confused(const struct look *look);

static inline uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- receiving_counts.c ---- */

/* Whether the numbers of datagrams are counts, which are wrong after a loss; and the look for that case. */
bool look_counts(const struct look *look);
void look_at_counts(struct look *look);

/* ---- receiving_order.c ---- */

/* Whether the order of what may have been received is uncertain; and the look for that case. */
bool look_needs_order(const struct look *look);
void look_order(struct look *look);

#endif
