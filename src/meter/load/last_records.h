/* SPDX-License-Identifier: MIT */
/* last_records.h: the records that are made when metering ends. Private to meter/load. */
#ifndef DPM_LAST_RECORDS_H
#define DPM_LAST_RECORDS_H

#include "event/event.h"

struct meter;

/* Adds records of this time for everything that no record has reported yet: STREAM with the CPU time of each live
 * stream, NETWORK and DROPPED of live paths, and LOST for losses that no LOST record has reported (`told`: those that
 * have been). Returns 0 or a negative errno. */
int last_records_add(struct meter *meter, uint64_t time, const uint64_t told[RING_COUNT]);

#endif
