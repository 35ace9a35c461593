/* SPDX-License-Identifier: MIT */
/* clock_origins.h: clocks of machines. See history_types.h. */
#ifndef DPM_CLOCK_ORIGINS_H
#define DPM_CLOCK_ORIGINS_H

#include "history/history_types.h"

/* An origin has said which machine it is. */
void history_clock_share(struct history *history, uint32_t origin);

/* An exact edge between two machines: sent at `sent` of the one's clock, received by `received` of the
 * other's. Returns 0 or -ENOMEM. */
int history_clock_note(struct history *history, uint32_t from, uint64_t sent, uint32_t to,
                       uint64_t received);

/* Of one machine, as far as is known. */
bool history_have_one_clock(const struct history *history, uint32_t a, uint32_t b);

#define UNRELATED (UINT64_MAX - 1)

/* How far an origin must be known for that nothing of it comes any more that was before `time` of another
 * one; UNRELATED: their clocks are not known to each other. */
uint64_t history_known_beyond(const struct history *history, uint32_t number, uint32_t origin,
                              uint64_t time);

#endif
