/* SPDX-License-Identifier: MIT */
/*
 * ring.h: reads one BPF ring buffer in order of time. Private to meter/rings.
 *
 *      data area (mapped twice in a row, so that no record is ever cut)
 *      | released | handed out | collected, waiting for their time | not yet seen | free |
 *                 ^consumer                                        ^read          ^producer
 *
 * Records are handed out where they lie; their room is given back to the meter at the next
 * collection. libbpf's own reader hands records out in the order of reservation and releases each
 * at once; order of time needs both positions, which it does not show.
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
    uint64_t read;              /* everything before has been collected */
    uint64_t complete;          /* no record older than this time will come */
    struct ring_entry *entries; /* collected and not handed out: entries[first .. count) by time */
    size_t first;
    size_t count;
    size_t capacity;
};

int ring_open(struct ring *ring, int map_fd, size_t size);
void ring_close(struct ring *ring);

/* Gives back the room of what was handed out and collects what has come since. */
int ring_collect(struct ring *ring);

/* How many records are in it that were not handed out; of those that are not collected yet, all but a few being of the
 * usual size, about. */
uint64_t ring_waiting(const struct ring *ring);

/* The oldest collected record, NULL: none. */
const struct record_header *ring_peek(const struct ring *ring);

/* Takes the record that ring_peek showed; it stays valid until the next ring_collect. */
void ring_take(struct ring *ring);

#endif
