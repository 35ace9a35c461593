/* SPDX-License-Identifier: MIT */
/*
 * last_records.h: the records that are made when metering ends: STREAM and SCHEDULE of live streams, DROPPED of live UDP
 * sockets, NETWORK of live TCP connections, and losses that no record has reported yet.
 */
#ifndef DPM_LAST_RECORDS_H
#define DPM_LAST_RECORDS_H

#include "event/event.h"

struct meter;
struct survey_stream;

/* Adds them to the meter's reader, with this time. Returns 0, -ENOMEM, or the error of an iterator. */
int last_records_add(struct meter *meter, uint64_t time, const uint64_t told[RING_COUNT]);

/* Adds a SCHEDULE of a live stream, if the flag is in force. Returns 0 or -ENOMEM. */
int schedule_add(struct meter *meter, const struct survey_stream *stream, uint64_t time);

/* Adds NAMEs of kinds of sockets that are in use, but not metered; of each once. Returns 0 or -ENOMEM. */
int unmetered_add(struct meter *meter, uint64_t time);

/* Adds LOST of a stream (0: of none) for a ring that was full, unless `count` is 0. Returns 0 or -ENOMEM. */
int lost_add(struct meter *meter, uint32_t stream, uint32_t sequence, uint64_t time, uint32_t ring,
             uint64_t count);

#endif
