/* SPDX-License-Identifier: MIT */
/* clock_origins.h: clocks of machines. See history_types.h. */
#ifndef DPM_CLOCK_ORIGINS_H
#define DPM_CLOCK_ORIGINS_H

#include "history/history_types.h"

/* An origin has reported its machine. */
void history_clock_share(struct history *history, uint32_t origin);

/* Notes an exact edge between two machines: sent at `sent` by the one's clock, received by `received` of the other's.
 * Returns 0 or -ENOMEM. */
int history_clock_note(struct history *history, uint32_t from, uint64_t sent, uint32_t to,
                       uint64_t received);

/* Whether both are origins of one machine, as far as is known. */
bool history_have_one_clock(const struct history *history, uint32_t a, uint32_t b);

#define UNRELATED (UINT64_MAX - 1)

/* The progress of `origin` beyond which none of its records can be from before `time` of another origin (`number`).
 * UNRELATED: no message relates their clocks. */
uint64_t history_known_beyond(const struct history *history, uint32_t number, uint32_t origin,
                              uint64_t time);

#endif
