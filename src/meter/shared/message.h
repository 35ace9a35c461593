/* SPDX-License-Identifier: MIT */
/*
 * message.h: what a meter knows of a SEND, RECEIVE or similar event before it makes the record. Shared by both meters.
 *
 *      begin ----- span ----- the record's time
 *
 * A record stores a span of up to 4.29 s in ns. A longer one is stored in units of 16, 256, ... ns, rounded up, so that
 * no event appears later than it happened:
 *
 *      span  | < 2^32 ns | < 2^36 ns | < 2^40 ns | ... 2^60 ns
 *      unit  |    1 ns   |   16 ns   |   256 ns  | ... 16^7 ns
 */
#ifndef DPM_MESSAGE_H
#define DPM_MESSAGE_H

#include "event/record.h"

struct message {
    uint32_t path;
    uint32_t offset;
    uint32_t bytes;
    uint32_t flags; /* RECORD_... */
    uint64_t begin; /* when it happened; 0 = at the record's time */
};

#define SPAN_UNIT_MOST (RECORD_SPAN_UNIT >> SPAN_UNIT_SHIFT)

/* Sets the span since `begin`; 0: the beginning is unknown. The record's time and flags must be set. */
static inline __attribute__((always_inline)) void set_span(struct record *record, uint64_t begin)
{
    uint64_t now = record->header.time;
    uint64_t span = begin == 0 || begin > now ? 0 : now - begin;
    uint32_t unit = 0;

    for (; span > 0xffffffff && unit < SPAN_UNIT_MOST; unit++)
        span = (span + 15) >> 4;
    if (unit > 0)
        record->header.flags |= unit << SPAN_UNIT_SHIFT;
    record->message.span = (uint32_t)span;
}

/* How long before the record's time its event happened, in ns. */
static inline __attribute__((always_inline)) uint64_t message_span(const struct record *record)
{
    unsigned unit = (record->header.flags & RECORD_SPAN_UNIT) >> SPAN_UNIT_SHIFT;

    return (uint64_t)record->message.span << 4 * unit;
}

#endif
