/* SPDX-License-Identifier: MIT */
/* decisions.h: what `dpm steer` has decided, from DECISION records. Private to statistics/. */
#ifndef DPM_DECISIONS_H
#define DPM_DECISIONS_H

#include "analysis/statistics/statistics.h"

struct statistics;

struct decisions {
    struct decision {
        uint32_t origin;
        struct decision_record record;
    } * list;
    size_t count, capacity;
    uint64_t left_out;
};

/* Returns 0 or -ENOMEM. */
int decision_note(struct decisions *decisions, uint32_t origin,
                  const struct decision_record *record);

/* `begin`: the time of the first record. Returns 0 or -ENOMEM. */
int decisions_build(const struct statistics *statistics, uint64_t begin,
                    struct communication *result);
void decisions_done(struct decisions *decisions);

#endif
