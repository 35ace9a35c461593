/* SPDX-License-Identifier: MIT */
/*
 * ring_reader.h: the records of a meter in order of time. Reading needs no privilege: the rings' descriptors are
 * enough.
 *
 *      control ring --+
 *      data ring -----+--> the oldest, once no older one can come --> ring_reader_next
 *      own records ---+
 *        ^ ring_reader_add: what no ring holds. Whoever has loaded the meter makes them, now or when it is asked for
 *          them (struct ring_extra); it may be another process.
 */
#ifndef DPM_RING_READER_H
#define DPM_RING_READER_H

#include "event/record_queue.h"
#include "meter/rings/ring.h"

/* What is asked of the loader. Each returns 0 or a negative errno. */
struct ring_extra {
    void *loader;
    /* The rings are about to be read: adds what is to be reported now, if anything. */
    int (*look)(void *loader);
    /* A record is handed out. */
    int (*note)(void *loader, const struct record_header *record);
    /* The end was asked for, and everything has been handed out: adds the last records, of this time. `told_lost`:
     * records that found each ring full, as far as LOST records have been handed out. */
    int (*end)(void *loader, uint64_t time, const uint64_t told_lost[RING_COUNT]);
};

/* All zero is one that is not open. */
struct ring_reader {
    struct ring rings[RING_COUNT];
    struct record_queue own; /* in order of time */
    struct ring_extra extra;
    int64_t wall_offset;
    uint64_t records;               /* handed out */
    uint64_t told_lost[RING_COUNT]; /* by the LOST records handed out, of full rings */
    bool collected;                 /* since next() last said "none yet" */
    bool ending;                    /* nothing more comes into the rings */
    bool ended;                     /* ... and the last records have been added */
};

/* Maps a ring of so many bytes. Errors: those of mmap. To be called for each before anything else. */
int ring_reader_open(struct ring_reader *reader, enum ring_id ring, int descriptor, size_t size);
void ring_reader_close(struct ring_reader *reader);

/* Appends a copy of a record that is no older than the last one added, and no older than what has been handed out.
 * Returns 0 or -ENOMEM. */
int ring_reader_add(struct ring_reader *reader, const struct record_header *record);

/* Nothing more comes into the rings: what is left is handed out, then the last records, then the end. */
void ring_reader_end(struct ring_reader *reader);

/* As struct source's next. The record lies in the ring, and stays there until the next call. */
int ring_reader_next(struct ring_reader *reader, struct event *ret_event, uint64_t *ret_complete,
                     struct problem *problem);

/* How many records have come into the rings, or been added, so far; those that were not read yet, too, about. */
uint64_t ring_reader_made(const struct ring_reader *reader);

#endif
