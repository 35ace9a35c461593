/* SPDX-License-Identifier: MIT */
/*
 * gate.h: a source that waits at a time: a finished trace is read as if it grew, so that a snapshot is of that time.
 *
 *      trace   SEND 0.9 s   RECEIVE 0.95 s  |  SEND 1.1 s          gate_open(gate, begin + 1 s)
 *                                           '-- SOURCE_NONE_YET, complete up to 1 s
 */
#ifndef DPM_GATE_H
#define DPM_GATE_H

#include "event/event.h"

struct gate {
    struct source source; /* must be first */
    struct source *of;
    struct event
        held; /* read already, of a later time: a copy, since it may have to wait for long */
    _Alignas(8) char record[RECORD_SIZE_MOST];
    bool holds;
    bool ended;
    int64_t until;     /* wall clock, ns since 1970 */
    bool is_tied;      /* that is known */
    int64_t ahead;     /* ns that its wall clock is taken to be ahead of the others' */
    uint64_t heard;    /* CLOCK_MONOTONIC: when it last had a record, or was made; ... */
    uint64_t held_for; /* ... and since when it holds this one; 0: none */
};

/* Its clock is as far ahead of the others' as the record that it holds is beyond its time, unless more is known: it may pass. */
void gate_let_pass(struct gate *gate);

/* It is known how far its clock is ahead of the others': ns. */
void gate_set_ahead(struct gate *gate, int64_t ahead);

/* `of` has one origin, stays the caller's and must outlive the gate. It is closed at first. */
void gate_init(struct gate *gate, struct source *of);

/* Records up to this time of the wall clock, as `of` says it, may pass. */
void gate_open(struct gate *gate, int64_t until);

/* The time of the next record; INT64_MAX: there is none yet. Errors: those of the source. */
int gate_next_time(struct gate *gate, int64_t *ret_time, struct problem *problem);

#endif
