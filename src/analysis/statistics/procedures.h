/* SPDX-License-Identifier: MIT */
/* procedures.h: the procedures of the programs that send and receive. Private to statistics/. */
#ifndef DPM_STATISTICS_PROCEDURES_H
#define DPM_STATISTICS_PROCEDURES_H

#include "analysis/statistics/statistics.h"

/* Traffic sent and received at a program counter. */
struct statistics_pc {
    uint32_t origin;
    uint32_t image;
    uint64_t pc;
    struct traffic sent;
    struct traffic received;
};

#define MOST_PCS 65536

struct procedures {
    struct intern keys;
    struct statistics_pc *counters; /* by index */
    size_t capacity;
    struct statistics_pc others; /* all program counters beyond MOST_PCS */
};

/* The counter that a stream used last for one type of record. */
struct recent_pc {
    uint64_t pc;
    uint32_t image;
    uint32_t index_and_1; /* 0: none */
};

/* These return 0 or -ENOMEM. */

/* Counts a SEND or RECEIVE for its program counter. `recent` is the stream's. */
int procedures_count(struct procedures *procedures, struct recent_pc *recent, uint32_t origin,
                     uint32_t image, const struct record *record);

/* Fills in the procedures of a result. */
int procedures_build(const struct procedures *procedures, const struct identities *identities,
                     struct communication *result);

void procedures_done(struct procedures *procedures);

#endif
