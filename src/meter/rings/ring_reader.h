/* SPDX-License-Identifier: MIT */
/*
 * ring_reader.h: the records of a meter in order of time. Reading needs no privilege, only the rings' descriptors.
 *
 *      control ring --+
 *      data ring -----+--> the oldest, once no older one can arrive --> ring_reader_next
 *      own records ---+
 *        ^ ring_reader_add: records that no ring holds. The loader of the meter makes them, unasked or when struct
 *          ring_extra calls it; it may be another process.
 */
#ifndef DPM_RING_READER_H
#define DPM_RING_READER_H

#include "event/record_queue.h"
#include "meter/rings/ring.h"

/* Calls to the loader. Each returns 0 or a negative errno. */
struct ring_extra {
    void *loader;
    /* Before the rings are read: adds records that are due, if any. */
    int (*look)(void *loader);
    /* When a record is handed out. */
    int (*note)(void *loader, const struct record_header *record);
    /* At the end, when everything has been handed out: adds the last records, with this time. `told_lost`: for each
     * ring, the records lost because it was full, as reported by the LOST records handed out. */
    int (*end)(void *loader, uint64_t time, const uint64_t told_lost[RING_COUNT]);
};

/* All zero: not open. */
struct ring_reader {
    struct ring rings[RING_COUNT];
    struct record_queue own; /* in order of time */
    struct ring_extra extra;
    int64_t wall_offset;
    uint64_t records;               /* handed out */
    uint64_t told_lost[RING_COUNT]; /* full-ring losses in the LOST records handed out */
    bool collected;                 /* since next() last returned SOURCE_NONE_YET */
    bool ending;                    /* the rings get no more records */
    bool ended;                     /* ... and the last records have been added */
    int watch;                      /* epoll: both rings; see ring_reader_watch */
    bool watched;
};

/* Maps a ring of `size` bytes. Errors: those of mmap. Call it for each ring before anything else. */
int ring_reader_open(struct ring_reader *reader, enum ring_id ring, int descriptor, size_t size);
void ring_reader_close(struct ring_reader *reader);

/* Watches a ring, which is open, for wake-ups by the meter. Returns 0 or a negative errno. */
int ring_reader_watch(struct ring_reader *reader, int descriptor);

/* As struct source's: readable from a wake-up until next() has looked into the rings. -1: nothing is watched. */
int ring_reader_descriptor(const struct ring_reader *reader);

/* Appends a copy of a record. It must not be older than the last one added, nor than the last one handed out. Returns 0
 * or -ENOMEM. */
int ring_reader_add(struct ring_reader *reader, const struct record_header *record);

/* Declares that the rings get no more records: next() returns what is left, then the last records, then the end. */
void ring_reader_end(struct ring_reader *reader);

/* As struct source's next. The record stays in the ring, and is valid until the next call. */
int ring_reader_next(struct ring_reader *reader, struct event *ret_event, uint64_t *ret_complete,
                     struct problem *problem);

/* After a call of next() with this result: writes the reader's state, as far as it is known. `skipped`: records that
 * skipped hooks may have made; `lost`: all that are lost, these included. */
void ring_reader_describe(const struct ring_reader *reader, int result, uint64_t skipped,
                          uint64_t lost, struct source_state *state);

/* Number of records made so far: those in the rings, read or not (approximate), and those added. */
uint64_t ring_reader_made(const struct ring_reader *reader);

#endif
