/* SPDX-License-Identifier: MIT */
/*
 * packets.h: a trace as whole packets: to send it to another machine while it grows, and to store it there as a copy that
 * is byte for byte the same trace.
 *
 *      TRACE/metadata, control, data ... --> trace_packets_next --> (network) --> trace_copy_add --> COPY/metadata, control ...
 *
 * A packet has a position: its ring, the number of its pair of files, and its own number. Numbers count the packets of a
 * ring from 0 over all its files, without a gap. The trace is the spool: the sender keeps nothing but positions.
 */
#ifndef DPM_PACKETS_H
#define DPM_PACKETS_H

#include "trace/trace.h"

/* A packet of a trace, or its metadata. */
struct trace_packet {
    uint8_t uuid[16];  /* of the trace */
    bool is_metadata;  /* `bytes` is the text of the metadata; `ring` and `file` are 0 */
    enum ring_id ring; /* RING_CONTROL or RING_DATA */
    uint32_t file;     /* number of the pair of files: 1 for control.1 and data.1 */
    uint64_t number;   /* packet_seq_num; of metadata: a hash of the text */
    bool ends;         /* the packet contains END: it is the trace's last one */
    const void *bytes; /* the whole packet as it stands in the file, padding included */
    size_t size;       /* bytes, at most 1 MiB; usually at most TRACE_PACKET_SIZE */
};

/* The last packet of a ring that is stored somewhere. */
struct trace_position {
    bool known; /* false: none is stored */
    uint32_t file;
    uint64_t number;
};

/* ---- reading ---- */

struct trace_packets;

enum trace_packets_result {
    TRACE_PACKETS_END = 0,      /* the recording has ended, and all has been returned */
    TRACE_PACKETS_ONE = 1,      /* *ret_packet is set */
    TRACE_PACKETS_NONE_YET = 2, /* ask again later: the writer adds packets at least each second */
};

/* Opens a trace, which may be growing, for its packets. Returns 0, or a negative errno with a line in `problem`. */
int trace_packets_open(const char *path, struct trace_packets **ret_packets,
                       struct problem *problem);
void trace_packets_close(struct trace_packets *packets); /* NULL is allowed */

/*
 * Returns an enum trace_packets_result, or a negative errno with a line in `problem`. Never waits.
 *
 * The metadata come first, and again when they have changed, before the first packet that needs them. Packets come in the
 * order in which they were written, so a copy is readable at any time, as the trace itself was. A partial packet at the
 * end (kill -9) is never returned. The packet is valid until the next call with `packets`.
 *
 * Packets are checked as far as needed to find the next one; their records are not. -EBADMSG: the file is damaged; what
 * was before it has been returned.
 */
int trace_packets_next(struct trace_packets *packets, struct trace_packet *ret_packet,
                       struct problem *problem);

/* Before the first trace_packets_next: goes on after these positions, as another reader left them. Metadata still come.
 * Positions that the trace does not have any more are no error: reading begins with the first packet that is left. */
void trace_packets_skip_to(struct trace_packets *packets,
                           const struct trace_position positions[RING_COUNT]);

/* Packets that rotation removed before they were read, so far: the numbers missing before and between those returned.
 * A reader of the copy counts how many records these had. */
uint64_t trace_packets_overtaken(const struct trace_packets *packets);

/* The uuid of the trace. Valid as long as `packets`. */
const uint8_t *trace_packets_uuid(const struct trace_packets *packets);

/* ---- writing a copy ---- */

struct trace_copy;

struct trace_copy_limits {
    uint64_t max_bytes; /* of all files of the copy; 0: no limit */
    /* The copy keeps only the newest records within max_bytes and `kept`, whole pairs of files at a time, as a trace does
     * (trace_writer_keep_newest). The last pair always stays. */
    bool newest;
    struct trace_limits kept;
};

/* What became of the packets, since the copy was opened. */
struct trace_copy_counts {
    uint64_t stored;  /* packets */
    uint64_t doubles; /* packets that were there already */
    uint64_t missing; /* packets that never came: numbers skipped by those stored */
    uint64_t refused; /* packets of which trace_copy_add returned an error */
    uint64_t bytes;   /* of all files of the copy, with those of earlier runs */
    /* ns since 1970 by the recorded machine's clock: all records up to here are stored, or counted as lost. 0: this run has
     * stored none */
    uint64_t until;
};

/*
 * Creates the directory `path` (mode 0700) for a copy of the trace with this metadata, or opens a copy of the same trace
 * there that is unfinished: then it cuts off a partial packet (kill -9 of an earlier run) and goes on after the last whole
 * packet of each ring. The copy is locked as a trace that is being written: it can be followed, and `dpm repair` refuses
 * it.
 *
 * `limits` may be NULL. Errors, with a line in `problem`: -EBUSY: another process writes the copy; -EEXIST: `path` is
 * something else, or a copy of another trace; -EBADMSG: the metadata are not those of a trace, or the copy is damaged;
 * -EMFILE: too few files can still be opened for a new one, and for what the others may need; and those of the file system.
 */
int trace_copy_open(const char *path, const char *metadata, size_t length,
                    const struct trace_copy_limits *limits, struct trace_copy **ret_copy,
                    struct problem *problem);

/* Closes the copy, which stays as it is: finished or to be continued. NULL is allowed. */
int trace_copy_close(struct trace_copy *copy, struct problem *problem);

/* Replaces the metadata by newer ones of the same trace. Returns 1, 0: these, or newer ones, are there already; or a
 * negative errno with a line in `problem` (-EBADMSG: impossible; -EFBIG; -ENOSPC ...). */
int trace_copy_metadata(struct trace_copy *copy, const char *metadata, size_t length,
                        struct problem *problem);

/*
 * Adds a packet. `bytes` are untrusted. Packets of a ring are to come in order; those of both rings in the order of
 * trace_packets_next. Returns
 *
 *       1        stored
 *       0        not newer than the last one of its ring: a double, ignored
 *      -EBADMSG  impossible: not a packet of this trace, ring and pair of files, or after END
 *      -ENODATA  cannot be stored because the beginning of its pair of files is missing; the next pair can be again
 *      -EFBIG    does not fit into max_bytes; only END is stored from then on; with `newest`: not even if the last pair is
 *                alone; what follows may fit
 *      -ENOSPC   or another error of the file system
 *
 * After an error, nothing of the packet is stored, the line is in `problem`, and the copy takes other packets. The same
 * packet may be tried again after -ENOSPC ...; if a later one of its ring is stored instead, it is missing.
 * Missing packets are counted; readers of the copy report the records that were in them as lost.
 */
int trace_copy_add(struct trace_copy *copy, enum ring_id ring, uint32_t file, const void *bytes,
                   size_t size, struct problem *problem);

/* The last packet of a ring that is stored, in earlier runs, too. */
struct trace_position trace_copy_position(const struct trace_copy *copy, enum ring_id ring);

/* Whether END is stored: the copy is finished. */
bool trace_copy_ended(const struct trace_copy *copy);

struct trace_copy_counts trace_copy_counts(const struct trace_copy *copy);

#endif
