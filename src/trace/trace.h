/* SPDX-License-Identifier: MIT */
/*
 * trace.h: the trace store: a directory in Common Trace Format 1.8 that other tools read too.
 *
 *      TRACE/metadata    what the types and fields are (TSDL text, made from the event table)
 *      TRACE/control     CTF stream 0: identities and process events
 *      TRACE/data        CTF stream 1: messages and waits
 *
 * A stream file is a row of packets. A packet is written whole by one write at a page boundary:
 *
 *      | packet header 24 B | packet context 64 B | records ... | zero padding to 4096 |
 *      |<---------------- content_size ------------------------>|
 *      |<---------------- packet_size, at most 64 KiB, a multiple of 4096 ----------->|
 *
 * docs/trace-format.md is the full description.
 */
#ifndef DPM_TRACE_H
#define DPM_TRACE_H

#include "event/event.h"

#define TRACE_PACKET_SIZE 65536u /* largest packet */
#define TRACE_PAGE_SIZE   4096u
#define TRACE_MAGIC       0xC1FC1FC1u

/* Bytes 0-23 of a packet. */
struct trace_packet_header {
    uint32_t magic;
    uint8_t uuid[16]; /* of the trace */
    uint32_t stream;  /* enum ring_id: CTF stream instance; both are of CTF stream class 0 */
};

/* Bytes 24-87. */
struct trace_packet_context {
    uint64_t timestamp_begin;  /* time of the first record */
    uint64_t timestamp_end;    /* time of the last record */
    uint64_t content_size;     /* bits, headers included */
    uint64_t packet_size;      /* bits, padding included */
    uint64_t packet_seq_num;   /* 0, 1, 2 ... in each file */
    uint64_t events_discarded; /* records of this ring lost so far, from the meter's counters */
    uint64_t monotonic;        /* two clocks read together when the packet was written, ns */
    uint64_t real_time;
};

/* ---- writing ---- */

struct trace_writer;

#define TRACE_SMALLEST_MAX_SIZE 65536u

/* Makes the directory `path` (mode 0700; it must not exist), its metadata, and writes the MACHINE
 * record `machine` (header.time is used for it; id and stream are set here). Nothing else is ever
 * written outside that directory. `max_size` is the largest number of bytes all files together may
 * take; room for END and the record before it is kept back.
 * Errors: -EEXIST, -ENOSPC, -EINVAL (max_size below TRACE_SMALLEST_MAX_SIZE) ..., with a line in `problem`; what was
 * made is removed again. */
int trace_writer_new(const char *path, const struct machine_record *machine, uint64_t max_size,
                     struct trace_writer **ret_writer, struct problem *problem);

/* Appends a record of a known type (event_size() != 0) to its stream. Times must not decrease
 * within one ring. Writes packets as they fill.
 * Errors: -EFBIG: the trace has its largest size; -ENOSPC and others from the file system. After
 * an error the files end with their last whole packet, nothing more is accepted (-EPIPE), and
 * trace_writer_close still writes END if there is room. */
int trace_writer_append(struct trace_writer *writer, const struct record_header *record,
                        struct problem *problem);

/* Tells how many records of a ring the meter has lost so far; goes into the packets that follow. */
void trace_writer_lost(struct trace_writer *writer, enum ring_id ring, uint64_t total);

/* Writes what is buffered as short packets, so that a reader or a kill -9 finds it. To be called
 * once a second. */
int trace_writer_flush(struct trace_writer *writer, struct problem *problem);

/* A record of 48 bytes of the control stream that trace_writer_close writes right before END: there is room for it
 * whatever the trace's size. It stands in place of one that was set before. Its time may be made later, so that it
 * follows the others. */
void trace_writer_set_last(struct trace_writer *writer, const struct record *record);

/* Flushes, writes END, closes and frees the writer, also on error. NULL is allowed.
 * `reason` is that of the caller; a write error before or now overrides it. */
int trace_writer_close(struct trace_writer *writer, enum end_reason reason,
                       struct problem *problem);

/* Removes the trace at `path`, the one the writer was made with, and frees the writer: for a
 * recording that never began. NULL is allowed. */
void trace_writer_discard(struct trace_writer *writer, const char *path);

/* Bytes written so far; records appended so far; time of the last one of a ring. */
uint64_t trace_writer_bytes(const struct trace_writer *writer);
uint64_t trace_writer_records(const struct trace_writer *writer);
uint64_t trace_writer_last_time(const struct trace_writer *writer, enum ring_id ring);

/* ---- reading ---- */

/* Opens one or more traces as one source, merged by wall-clock time (each origin in its own order
 * of time). Reads with windows of at most 1 MiB and maps no file; distrusts every byte: whatever
 * the files hold, next() gives whole records of known types in non-decreasing time per file, or a
 * negative errno with a line that names the file, the position and what to do. A partial packet at
 * the end of a file (kill -9, full disk) is not an error: it is left out, and trace_partial_tail
 * tells its size. A trace that is
 * still being recorded ends with what has been flushed.
 * Free with trace_close. */
int trace_open(const char *const *paths, size_t count, struct source **ret_source,
               struct problem *problem);
void trace_close(struct source *source);

/* Begins again with the first record, and ends where it did: a trace that is still being recorded may be read twice,
 * and is the same. Errors: as trace_open. */
int trace_rewind(struct source *source, struct problem *problem);

/* The same for the control records alone: identities and process events. Reading them costs little
 * however long the trace is, so that names that stand at its end can be known at its beginning.
 * The states are then not those of the traces. */
int trace_open_control(const char *const *paths, size_t count, struct source **ret_source,
                       struct problem *problem);

/* Bytes of all files, as they were when they were opened. */
uint64_t trace_size(const struct source *source);

/* Bytes of partial packets left out at the end of the origin's files; known once the source has
 * ended. */
uint64_t trace_partial_tail(const struct source *source, uint32_t origin);

/* ---- repairing ---- */

struct trace_repair {
    uint64_t trimmed; /* bytes of partial packets cut off */
    bool end_written; /* END was missing and has been added */
    uint64_t lost;    /* records that are missing in it, as far as it tells */
    uint64_t skipped; /* of `lost`: hooks that the kernel skipped (source_state) */
};

/* Makes a cut trace readable for other CTF readers: trims partial packets at the ends of the files
 * and adds END with reason END_REPAIRED where it is missing. A whole trace is left as it is.
 * A trace that is still being written is refused (-EBUSY). */
int trace_repair(const char *path, struct trace_repair *ret_repair, struct problem *problem);

#endif
