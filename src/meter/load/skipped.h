/* SPDX-License-Identifier: MIT */
/* skipped.h: counts hooks that the kernel skipped, and messages without a path. Private to meter/load. */
#ifndef DPM_SKIPPED_H
#define DPM_SKIPPED_H

#include "event/event.h"

struct meter;

struct skipped_hooks {
    uint64_t before;   /* initial count; for tests */
    uint64_t reported; /* number in LOST records so far */
    uint64_t pathless; /* the same of messages that no path was stored for */
    uint64_t next;     /* when to look again */
    /* the last count of live streams, which is made when hooks were skipped: */
    uint64_t next_count;
    uint32_t live; /* what the hooks had counted by then */
    bool all_dead; /* ... although none was alive */
};

/* Adds LOST records for the hooks that the kernel has skipped, and the messages that it had no path for, since the last
 * look. Does nothing if the last look was a moment ago, unless the meter is detached. Call it before reading the rings:
 * its records are then no newer than the time up to which they are complete. Returns 0 or -ENOMEM. */
int skipped_look(struct meter *meter);

/* Whether the hooks count live streams although all have ended, because exit hooks were skipped. */
bool skipped_ends(const struct meter *meter);

#endif
