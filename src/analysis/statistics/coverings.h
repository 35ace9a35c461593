/* SPDX-License-Identifier: MIT */
/*
 * coverings.h: how much of the elapsed time at least one of many waits takes. Private to statistics/.
 *
 *      wait --(kind, process, peer)--> struct covered        sums of waits that overlap exceed the elapsed time
 *
 * Times are by the clock of the process's origin. Beyond MOST_COVERINGS, only the sums of waits are known.
 */
#ifndef DPM_STATISTICS_COVERINGS_H
#define DPM_STATISTICS_COVERINGS_H

#include "base/base.h"
#include "base/covered.h"
#include "base/lookup.h"

enum covering_kind {
    COVERING_RECEIVER_WAIT,  /* process: receiver, peer: sender */
    COVERING_MESSAGE_WAIT,   /* the same */
    COVERING_SENDER_BLOCKED, /* process: sender, peer: receiver; NO_PROCESS: not known yet */
    COVERING_RESPONSE, /* requests that a server answers; without a peer, as are the following */
    COVERING_REQUEST,  /* that a client waits for */
    COVERING_READS,    /* of files */
    COVERING_WRITES,
    COVERING_HELD, /* messages that a sender's kernel held back (nagle.h) */
    /* COVERING_RECEIVER_WAIT and COVERING_MESSAGE_WAIT at an end that several processes use; process: its first user */
    COVERING_SHARED_RECEIVER_WAIT,
    COVERING_SHARED_MESSAGE_WAIT,
};

#define MOST_COVERINGS 4096

/* All zero: empty. */
struct coverings {
    struct lookup keys;
    struct covered *list; /* [count] */
    size_t capacity;
    uint32_t count;
};

/* `process` and `peer` are rows of processes, or NO_PROCESS. Returns 0 or -ENOMEM. */
int coverings_add(struct coverings *coverings, enum covering_kind kind, uint32_t process,
                  uint32_t peer, uint64_t from, uint64_t to);

/* What is covered of waits of which the sum is known: at most that. */
uint64_t coverings_time(const struct coverings *coverings, enum covering_kind kind,
                        uint32_t process, uint32_t peer, uint64_t sum);

/* The same, but 0 where only the sum is known. */
uint64_t coverings_known(const struct coverings *coverings, enum covering_kind kind,
                         uint32_t process, uint32_t peer);

void coverings_done(struct coverings *coverings);

#endif
