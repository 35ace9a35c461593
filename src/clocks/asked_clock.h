/* SPDX-License-Identifier: MIT */
/*
 * asked_clock.h: how far another machine's clock is ahead of ours, from questions and answers, as in Cristian's algorithm:
 * an answer's time is right to half of the round trip. An answer grows old, since clocks drift.
 *
 *      bound |\      .|\         the drift since the answer
 *            | \ . '  | \ . '
 *            '--------'----------> time: of an old and a new answer, the one that bounds more counts
 */
#ifndef DPM_ASKED_CLOCK_H
#define DPM_ASKED_CLOCK_H

#include "base/base.h"

/* All zero: nothing is known. */
struct asked_clock {
    int64_t ahead;  /* ns that it is ahead of ours */
    uint64_t bound; /* ns that `ahead` could be wrong at `time` */
    uint64_t time;  /* CLOCK_MONOTONIC, ns, of the answer that counts */
};

enum asked_answer {
    ASKED_WORSE, /* it says less than what is known */
    ASKED_BETTER,
    ASKED_JUMP, /* it contradicts what is known: one of the two clocks was set. It counts. */
};

/* Takes an answer: `answer.time` is when it came. */
enum asked_answer asked_clock_take(struct asked_clock *clock, const struct asked_clock *answer);

/* How far `ahead` can be wrong at `now`, ns; UINT64_MAX if nothing is known. */
uint64_t asked_clock_bound(const struct asked_clock *clock, uint64_t now);

#endif
