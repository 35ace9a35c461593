/* SPDX-License-Identifier: MIT */
/* arrivals.h: when received data had arrived from another machine. See history_types.h. */
#ifndef DPM_ARRIVALS_H
#define DPM_ARRIVALS_H

#include "history/history_types.h"

/* Notes a MESSAGEQUEUED of this end. Returns 0 or -ENOMEM. */
int arrivals_note(const struct history *history, struct end *end, const struct record *record);

/* When the byte at this position, or the datagram with this number, had arrived at the latest, by the clock of the
 * end's machine; `received` if nothing reports it. */
uint64_t arrivals_time(const struct end *end, uint32_t position, uint64_t received);
/* The same for all that a RECEIVE took. */
uint64_t arrivals_of_all(const struct end *end, const struct record *record);

#endif
