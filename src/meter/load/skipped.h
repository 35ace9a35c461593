/* SPDX-License-Identifier: MIT */
/* skipped.h: hooks that the kernel skipped. Private to meter/load. */
#ifndef DPM_SKIPPED_H
#define DPM_SKIPPED_H

#include "event/event.h"

struct meter;

struct skipped_hooks {
    uint64_t before;   /* counted before the first; for tests */
    uint64_t reported; /* in LOST records */
    uint64_t next;     /* when to look again */
    /* of the last count of living streams, if any was skipped: */
    uint64_t next_count;
    uint32_t live; /* what the hooks had counted then ... */
    bool all_dead; /* ... and none was alive */
};

/* Adds what the kernel has skipped since the last look to the reader's own records; does nothing if that was a moment
 * ago, unless the meter is detached. To be called before the rings are read: a record that it adds is no newer than
 * they are complete for. Returns 0 or -ENOMEM. */
int skipped_look(struct meter *meter);

/* Whether the hooks count living streams though all have ended: hooks at their ends were skipped. */
bool skipped_ends(const struct meter *meter);

#endif
