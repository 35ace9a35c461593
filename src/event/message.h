/* SPDX-License-Identifier: MIT */
/*
 * message.h: what a meter knows of a SEND, RECEIVE or the like before its record is made: the same for both meters.
 *
 *      begin ----- span ----- the record's time
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

/* ns, as a record holds them: 0 if it began at no known time, and the most there can be if it took longer. */
static inline __attribute__((always_inline)) uint32_t span_since(uint64_t begin, uint64_t now)
{
    uint64_t span = begin == 0 || begin > now ? 0 : now - begin;

    return span > 0xffffffff ? 0xffffffff : (uint32_t)span;
}

#endif
