/* SPDX-License-Identifier: MIT */
/*
 * feeding.h: a custom filter: any program that takes the packets of traces from its standard input, while these grow.
 *
 *      TRACE --trace_packets--> thread --pipe--> program
 *
 * The trace is the spool, and the thread waits for the filter, so one that is slow or stands still delays nobody else. It gets
 * everything as long as it goes on taking. It misses what removes itself from a trace that keeps the newest, and what is left when
 * it has ended, or takes nothing for FEEDING_PATIENCE after the recording's end. What it misses is counted.
 *
 * The stream is described in docs/trace-format.md; include/dpm/stream.h reads it.
 */
#ifndef DPM_FEEDING_H
#define DPM_FEEDING_H

#include "base/base.h"

#include <sys/types.h>

#define FEEDING_PATIENCE    5000000000ull  /* ns without anything taken, after the end */
#define FEEDING_FAREWELL    60000000000ull /* ns to end, once everything is taken */
#define FEEDING_TRACES_MOST 1024u

/* Before the text of the metadata in the stream, as in Common Trace Format 1.8, section 7.1. */
#define FEEDING_METADATA_MAGIC 0x75D11D57u
struct feeding_metadata_header {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t checksum;                                /* 0: none */
    uint32_t content_size;                            /* bits, with this header */
    uint32_t packet_size;                             /* bits */
    uint8_t compression, encryption, checksum_scheme; /* 0 */
    uint8_t major, minor;                             /* 1, 8 */
} __attribute__((packed));

struct feeding;

/* Starts a program, found as a shell finds it, in a process group of its own, and a thread. `words`: NULL at the end. `output`
 * becomes its standard output. Returns 0, or a negative errno with a line in `problem`. */
int feeding_new(const char *const *words, int output, struct feeding **ret_feeding,
                struct problem *problem);

/* Another FEEDING_PATIENCE; before feeding_end. */
void feeding_be_patient(struct feeding *feeding, uint64_t patience);

/* Hands over the packets of this trace from its beginning on, until its END, or until feeding_end. Returns 0, or a negative errno
 * with a line in `problem`: of trace_packets_open; -E2BIG. */
int feeding_add(struct feeding *feeding, const char *trace, struct problem *problem);

/* Whether the filter has ended: it takes nothing more. */
bool feeding_has_ended(const struct feeding *feeding);

/* What a filter took, and missed. A packet counts as taken when the filter has read all of it. */
struct feeding_result {
    uint64_t packets, records;
    uint64_t missed_packets, missed_records;
    uint64_t
        overtaken; /* packets that were removed from their trace before; their records are not known */
    const char *why; /* it missed something: "it had ended" ... */
    bool killed;     /* it did not end by itself */
    bool has_status;
    int status;      /* has_status: as of waitpid(2) */
    char wrong[200]; /* a trace could not be read: why; else "" */
};

/* The recordings have ended: hands over the rest, and waits until the filter ends. `is_told_to_stop` ends that early; it is asked
 * ten times a second. Frees `feeding`. */
void feeding_end(struct feeding *feeding, bool (*is_told_to_stop)(void *context), void *context,
                 struct feeding_result *ret_result);

#endif
