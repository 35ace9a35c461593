/* SPDX-License-Identifier: MIT */
/*
 * trace.h: the trace store: a directory in Common Trace Format 1.8, which other tools can read, too.
 *
 *      TRACE/metadata    the types and fields (TSDL text, generated from the event table)
 *      TRACE/control     CTF stream 0: identities and process events
 *      TRACE/data        CTF stream 1: messages and waits
 *
 * A trace that keeps only the newest records has several such pairs: control, control.1, control.2 ... without the
 * oldest ones.
 *
 * A stream file is a sequence of packets. Each packet is written by one write at a page boundary:
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
    uint32_t stream;  /* enum ring_id: CTF stream instance; both have CTF stream class 0 */
};

/* Bytes 24-87. */
struct trace_packet_context {
    uint64_t timestamp_begin;  /* time of the first record */
    uint64_t timestamp_end;    /* time of the last record */
    uint64_t content_size;     /* bits, headers included */
    uint64_t packet_size;      /* bits, padding included */
    uint64_t packet_seq_num;   /* 0, 1, 2 ... in each stream */
    uint64_t events_discarded; /* records of this ring lost so far, from the meter's counters */
    uint64_t monotonic;        /* ns; both clocks are read when the packet is written */
    uint64_t real_time;
};

/* ---- writing ---- */

struct trace_writer;

#define TRACE_SMALLEST_MAX_SIZE 65536u

/*
 * Creates the directory `path` (mode 0700; it must not exist) and its metadata, and writes the MACHINE record
 * `machine` with its header.time; ID and stream are set here. Nothing is ever written outside that directory.
 * `max_size` is the maximum size of all files together in bytes; it includes space reserved for END and the record
 * before it.
 *
 * Errors: -EEXIST, -ENOSPC, -EINVAL (max_size below TRACE_SMALLEST_MAX_SIZE) ..., with a line in `problem`. What was
 * created is removed again.
 */
int trace_writer_new(const char *path, const struct machine_record *machine, uint64_t max_size,
                     struct trace_writer **ret_writer, struct problem *problem);

/* The same for records of the past, perhaps of another machine: `wall_offset` (struct event) is that of their clock, and
 * trace_writer_wall_offset sets a new one, which later packets contain. */
int trace_writer_new_of_past(const char *path, const struct machine_record *machine,
                             uint64_t max_size, int64_t wall_offset,
                             struct trace_writer **ret_writer, struct problem *problem);
void trace_writer_wall_offset(struct trace_writer *writer, int64_t wall_offset);

/*
 * Appends a record of a known type (event_size() != 0) to its stream. Times must not decrease within a ring. Full
 * packets are written.
 *
 * Errors: -EFBIG (the trace has its maximum size), -ENOSPC and others of the file system. After an error the files end
 * with their last whole packet, further records are refused (-EPIPE), and trace_writer_close still writes END if there
 * is space.
 */
int trace_writer_append(struct trace_writer *writer, const struct record_header *record,
                        struct problem *problem);

/* The same for a record of which a selection has removed the fields `absent` (struct event). In each file, the first
 * one of a type and set of fields is preceded by a CLASS record; the metadata is replaced by one that describes the class. Further
 * errors: -EINVAL: the type has no such fields, or they identify the record; -E2BIG: too many different sets. */
int trace_writer_append_without(struct trace_writer *writer, const struct record_header *record,
                                uint64_t absent, struct problem *problem);

/* What a trace keeps. Besides, it keeps to its max_size. */
struct trace_limits {
    uint32_t max_files; /* pairs of files, at least 2; 0: as many as the others allow */
    uint64_t max_age;   /* ns between the oldest record and the newest; 0: any */
};

#define TRACE_SMALLEST_KEPT (1u << 20) /* bytes */
#define TRACE_FILES_MOST    256u

/* From now on, the trace keeps only the newest records that these limits and max_size allow, whole files at a time: the
 * oldest are removed, and identities that are still valid are repeated. Call it right after trace_writer_new, with the
 * same `machine`. trace_writer_append then returns -EFBIG only if the identities alone do not fit. A record whose time is
 * before that of the other ring's last one may get that time. Errors: -ENOMEM; -EINVAL: max_size is below
 * TRACE_SMALLEST_KEPT. */
int trace_writer_keep_newest(struct trace_writer *writer, const struct trace_limits *limits,
                             const struct machine_record *machine, struct problem *problem);

/* Pairs of files begun so far. Names of users and cgroups are to be appended again as they are needed when this has
 * changed: those that nothing uses are not repeated for long. */
uint32_t trace_writer_files(const struct trace_writer *writer);

/* Why it accepts nothing more: END_SIZE or END_DISK; 0: it goes on. */
enum end_reason trace_writer_stopped(const struct trace_writer *writer);

/* Before the last records of a trace that keeps only the newest: removes files until `bytes` are free, if possible, and
 * none from now on. Returns how many bytes there are; UINT64_MAX: the trace keeps everything. */
uint64_t trace_writer_settle(struct trace_writer *writer, uint64_t bytes);

/* A record that is not stored: a selection has removed it. What it says of identities counts: a stream or path that has
 * ended is not repeated any more. Returns 0, or -ENOMEM with a line in `problem`. */
int trace_writer_omit(struct trace_writer *writer, const struct record_header *record,
                      struct problem *problem);

/* Sets how many records of a ring the meter has lost so far. Later packets contain this number. */
void trace_writer_lost(struct trace_writer *writer, enum ring_id ring, uint64_t total);

/* Writes buffered records as short packets, so that readers find them and kill -9 spares them. Call it each second. */
int trace_writer_flush(struct trace_writer *writer, struct problem *problem);

/* Sets a 48-byte record of the control stream that trace_writer_close writes just before END, replacing any earlier
 * one. Space is reserved for it, whatever the size of the trace. Its time may be increased to follow the other
 * records. */
void trace_writer_set_last(struct trace_writer *writer, const struct record *record);

/* Flushes, writes END, closes and frees the writer, even on error. NULL is allowed. `reason` is overridden by a write
 * error, before or now. */
int trace_writer_close(struct trace_writer *writer, enum end_reason reason,
                       struct problem *problem);

/* Removes the trace at `path`, where the writer was created, and frees the writer: for a recording that never began.
 * NULL is allowed. */
void trace_writer_discard(struct trace_writer *writer, const char *path);

/* The time of a ring's last record. */
uint64_t trace_writer_last_time(const struct trace_writer *writer, enum ring_id ring);

/* ---- reading ---- */

/*
 * Opens one or more traces as one source, merged by wall-clock time; each origin keeps its own time order. Free it
 * with trace_close.
 *
 * Reads with windows of at most 1 MiB and maps no file. The files are untrusted: whatever they contain, next() returns
 * complete records of known types in non-decreasing time per file, or a negative errno with a line that names the
 * file, the offset and what to do. A partial packet at the end of a file (kill -9, full disk) is not an error: it is
 * skipped, and trace_partial_tail returns its size. A trace that is still being recorded ends with what has been
 * flushed.
 */
int trace_open(const char *const *paths, size_t count, struct source **ret_source,
               struct problem *problem);
void trace_close(struct source *source);

/* Whether a folder has the metadata of a trace and a control file, of whatever number, with at least one packet: not
 * before, it can be opened. */
bool trace_has_records(const char *path);

/* Starts again from the first record. The source ends at the same record as before, even if the trace is still being
 * recorded. Errors: as trace_open. */
int trace_rewind(struct source *source, struct problem *problem);

/* The same for the control records only: identities and process events. This is fast even for a long trace, so that
 * names which occur at its end can be known at its beginning. The states then do not describe the whole traces. */
int trace_open_control(const char *const *paths, size_t count, struct source **ret_source,
                       struct problem *problem);

/* Opens one trace to read it while it grows. next() returns SOURCE_NONE_YET while nothing more has been flushed (once a
 * second), and SOURCE_END when the recording has ended. If files are removed before they were read, the state has how
 * many records that concerns, and what is still valid comes again, beginning with another MACHINE and BEGIN. It
 * cannot be rewound. */
int trace_follow(const char *path, struct source **ret_source, struct problem *problem);

/* The same for a copy (packets.h), to which packets of control and data come one by one: records of control are returned
 * when the data that were written with them have come, or later ones of control, or END; so all come in order of time. */
int trace_follow_copy(const char *path, struct source **ret_source, struct problem *problem);

/* For a trace that is followed and is a copy, or may be continued as one: while END is missing, next() returns
 * SOURCE_NONE_YET, even if nothing writes it now. Another process may go on with the copy. `waits`: false: no longer; what is
 * there is all. */
void trace_follow_until_end(struct source *source, bool waits);

/* Bytes of partial packets that were skipped at the ends of the origin's files; known once the source has ended. */
uint64_t trace_partial_tail(const struct source *source, uint32_t origin);

/* How far a trace that trace_open has opened is read: bytes of all its files, and of those that were read. */
void trace_position(const struct source *source, uint64_t *ret_read, uint64_t *ret_size);

/* ---- repairing ---- */

struct trace_repair {
    uint64_t trimmed;   /* bytes of partial packets cut off */
    bool end_written;   /* END was missing or wrong, and has been written ... */
    bool end_corrected; /* ... in place of the wrong one */
    uint64_t lost;      /* records missing in the trace, as far as is known */
    uint64_t skipped;   /* of `lost`: hooks that the kernel skipped (source_state) */
};

/* Closes a truncated trace so that other CTF readers can read it: cuts partial packets off the ends of the files, and
 * writes END with reason END_REPAIRED if it is missing. A complete trace is not changed. A trace that is still being
 * written is refused (-EBUSY). */
int trace_repair(const char *path, struct trace_repair *ret_repair, struct problem *problem);

#endif
