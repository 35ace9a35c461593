/* SPDX-License-Identifier: MIT */
/* last_records.h: what no record has reported when the metering ends. Private to meter/load. */
#ifndef DPM_LAST_RECORDS_H
#define DPM_LAST_RECORDS_H

#include "event/event.h"

struct meter;

/* Adds, at this time, STREAM with its CPU time so far of each stream that lives on, NETWORK and DROPPED of paths that
 * do, and LOST of losses that are in none of the LOST records (`told`: how many are). Returns 0 or a negative errno. */
int last_records_add(struct meter *meter, uint64_t time, const uint64_t told[RING_COUNT]);

#endif
