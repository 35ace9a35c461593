/* SPDX-License-Identifier: MIT */
/*
 * ring.h: reads one BPF ring buffer in order of time. Private to meter/rings.
 *
 *      data area (mapped twice in a row, so that every record is contiguous)
 *      | released | handed out | collected, waiting for their turn | not yet seen | free |
 *                 ^consumer                                        ^read          ^producer
 *
 * Records are handed out in place. The next collection, or ring_release, gives their space back to the kernel. libbpf's own reader hands
 * records out in order of reservation and releases each one at once. Sorting by time needs both positions, which libbpf
 * does not expose.
 */
#ifndef DPM_RING_H
#define DPM_RING_H

#include "event/event.h"

struct ring_entry {
    uint64_t time;
    uint64_t position; /* of the record's ring header */
};

struct ring {
    unsigned long *consumer;
    const unsigned long *producer;
    const char *data;
    size_t size;
    uint64_t read;     /* everything before this position has been collected */
    uint64_t complete; /* no record older than this time can still arrive */
    /* collected and not handed out: entries[first .. count), sorted by time */
    struct ring_entry *entries;
    size_t first;
    size_t count;
    size_t capacity;
};

int ring_open(struct ring *ring, int map_fd, size_t size);
void ring_close(struct ring *ring);

/* Releases the space of the records that were handed out, and collects new ones. */
int ring_collect(struct ring *ring);

/* Releases the space of the records that were handed out, which are not valid any longer. */
void ring_release(struct ring *ring);

/* Number of records in the ring that were not handed out. Approximate: the uncollected ones are counted as if nearly
 * all had the usual size. */
uint64_t ring_waiting(const struct ring *ring);

/* The oldest collected record; NULL: none. */
const struct record_header *ring_peek(const struct ring *ring);

/* Consumes the record that ring_peek returned; it stays valid until the next ring_collect or
 * ring_release. */
void ring_take(struct ring *ring);

#endif
